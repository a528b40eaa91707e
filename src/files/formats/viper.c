/* Viper's JSON logs: a directory whose `*.log` files are sessions, one JSON object a line; or one
 * such file.
 *
 *     {"value":[["r",key,value,dead],["w",key,value,success],["d",key,tombstone,read,dead,success],
 *               ["i",key,value,read,dead,success],["range",from,to,[{"id":key,"val":value},...],[dead,...]]]}
 *
 * Deletes write a marked value of their own: plain writes here; inserts and deletes read before
 * they write. A file whose one line has "isInitial" holds the initial values. Without such a file a
 * value that nobody wrote is the initial value of its key; a second such value of the key stays one
 * that nobody wrote.
 *
 * A range read is a read of every key from `from` to `to` (null: no bound): those in its two lists
 * were read so, all others that the logs know were read as *absent*. Which keys those are is known
 * at the end only: logs with range reads are read twice.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "base/number_map.h"
#include "base/memory.h"
#include "base/sorted.h"
#include "formats/format_private.h"

enum { OPERATIONS_MAX = 1 << 30 };

struct viper_reader {
    const char *path;
    struct iso_whole_file file;
    struct iso_history *history;
    struct iso_error *error;
    struct iso_json json;
    struct format_mops mops;
    uint32_t input, transactions; /* transactions: of this file */
    bool initial_line;            /* the line at hand has isInitial */
    bool has_initial;             /* some file had */
    bool range_in_line, has_ranges;
    bool again;     /* the second reading */
    iso_atom *keys; /* all that the logs know, in order; filled by the first */
    uint32_t key_count;
};

static bool read_atom(struct viper_reader *reader, bool nil, iso_atom *atom)
{
    if (!iso_json_element(&reader->json))
        return iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at - 1,
                             "one more member of the operation");
    return format_json_atom(&reader->json, reader->history, nil, "an integer, a string or null",
                            atom);
}

static bool read_flag(struct viper_reader *reader, bool *flag)
{
    if (!iso_json_element(&reader->json))
        return iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at - 1,
                             "true or false");
    return iso_json_boolean(&reader->json, flag);
}

/* Passes over the members that do not matter: `ready`, `actual_op`. */
static bool skip_rest(struct viper_reader *reader)
{
    while (iso_json_element(&reader->json)) {
        if (!iso_json_skip(&reader->json))
            return false;
    }
    return reader->json.code == ISO_JSON_FINE;
}

static bool read_access(struct viper_reader *reader, bool write)
{
    struct format_mop mop = {.kind = write ? ISO_WRITE : ISO_READ};
    bool flag;
    if (!read_atom(reader, false, &mop.key) || !read_atom(reader, true, &mop.value) ||
        !read_flag(reader, &flag))
        return false;
    mop.failed = write && !flag;
    format_mops_add(&reader->mops, mop);
    return skip_rest(reader);
}

/* An insert or a delete. */
static bool read_replacement(struct viper_reader *reader)
{
    struct format_mop read = {.kind = ISO_READ}, write = {.kind = ISO_WRITE};
    bool dead, success;
    if (!read_atom(reader, false, &write.key) || !read_atom(reader, true, &write.value) ||
        !read_atom(reader, true, &read.value) || !read_flag(reader, &dead) ||
        !read_flag(reader, &success))
        return false;
    read.key = write.key;
    write.failed = !success;
    format_mops_add(&reader->mops, read);
    format_mops_add(&reader->mops, write);
    return skip_rest(reader);
}

/* ---- range reads ---- */

static bool read_record(struct viper_reader *reader)
{
    struct format_mop read = {.kind = ISO_READ};
    struct iso_json_text name;
    bool key = false;
    if (!iso_json_enter_object(&reader->json))
        return false;
    while (iso_json_member(&reader->json, &name)) {
        bool id = iso_json_is(&name, "id"), value = iso_json_is(&name, "val");
        key |= id;
        if (!(id || value
                  ? format_json_atom(&reader->json, reader->history, value,
                                     "an integer, a string or null", id ? &read.key : &read.value)
                  : iso_json_skip(&reader->json)))
            return false;
    }
    if (reader->json.code == ISO_JSON_FINE && !key)
        return iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at - 1,
                             "a member \"id\" in the record");
    format_mops_add(&reader->mops, read);
    return reader->json.code == ISO_JSON_FINE;
}

static bool read_records(struct viper_reader *reader)
{
    if (!iso_json_element(&reader->json))
        return iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at - 1,
                             "a list of records");
    return ISO_JSON_EACH(&reader->json, read_record(reader));
}

/* The first key that is not before the bound. */
static uint32_t find_key(const struct viper_reader *reader, iso_atom bound)
{
    uint32_t low = 0, high = reader->key_count;
    ISO_BISECT(low, high, middle,
               iso_atom_compare(&reader->history->atoms, reader->keys[middle], bound) < 0);
    return low;
}

/* Reads of the keys between the bounds that no record names; records start at `first`. */
static void add_absent(struct viper_reader *reader, iso_atom from, iso_atom to, uint32_t first)
{
    uint32_t start = from == ISO_ABSENT ? 0 : find_key(reader, from),
             records = reader->mops.count - first;
    uint32_t end = to == ISO_ABSENT ? reader->key_count : find_key(reader, to);
    end += end < reader->key_count && reader->keys[end] == to;
    if (start >= end)
        return;
    bool *named = iso_allocate_zeroed(end - start, sizeof *named);
    for (uint32_t i = first; i < first + records; i++) {
        uint32_t position = find_key(reader, reader->mops.items[i].key);
        if (position >= start && position < end)
            named[position - start] = true;
    }
    for (uint32_t i = start; i < end; i++) {
        if (!named[i - start])
            format_mops_add(
                &reader->mops,
                (struct format_mop){.kind = ISO_READ, .key = reader->keys[i], .value = ISO_ABSENT});
    }
    iso_free(named);
}

static bool read_range(struct viper_reader *reader)
{
    iso_atom from, to;
    uint32_t first = reader->mops.count;
    reader->range_in_line = reader->has_ranges = true;
    if (!read_atom(reader, true, &from) || !read_atom(reader, true, &to) || !read_records(reader) ||
        !read_records(reader))
        return false;
    if (reader->again)
        add_absent(reader, from, to, first);
    if (reader->history->ops.count + (uint64_t)reader->mops.count > OPERATIONS_MAX)
        return iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at - 1,
                             "range reads of fewer keys: 2^30 reads are the limit");
    return skip_rest(reader);
}

static bool read_operation(struct viper_reader *reader)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text kind;
    iso_json_space(json);
    const char *at = json->at;
    if (!iso_json_enter_array(json) || !iso_json_element(json) || !iso_json_string(json, &kind))
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, at,
                             "an operation [\"r\" or \"w\" or \"d\" or \"i\",key,...]");
    if (iso_json_is(&kind, "r") || iso_json_is(&kind, "w"))
        return read_access(reader, *kind.at == 'w');
    if (iso_json_is(&kind, "d") || iso_json_is(&kind, "i"))
        return read_replacement(reader);
    if (iso_json_is(&kind, "range"))
        return read_range(reader);
    return iso_json_fail(json, ISO_JSON_UNEXPECTED, at,
                         "an operation \"r\", \"w\", \"d\", \"i\" or \"range\"");
}

static bool read_line(struct viper_reader *reader, size_t length)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text name;
    bool value = false;
    reader->initial_line = reader->range_in_line = false;
    reader->mops.count = reader->mops.element_count = 0;
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        bool is_value = iso_json_is(&name, "value");
        value |= is_value;
        if (!(is_value                          ? ISO_JSON_EACH(json, read_operation(reader))
              : iso_json_is(&name, "isInitial") ? iso_json_boolean(json, &reader->initial_line)
                                                : iso_json_skip(json)))
            return false;
    }
    if (json->code == ISO_JSON_FINE && !value)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->start + length - 1,
                             "a member \"value\" in the transaction");
    return iso_json_finish(json);
}

static enum iso_status add_initial(struct viper_reader *reader, const char *line)
{
    for (uint32_t i = 0; i < reader->mops.count; i++) {
        const struct format_mop *mop = &reader->mops.items[i];
        if ((mop->kind != ISO_WRITE && !reader->range_in_line) || mop->failed)
            return iso_whole_file_fail(
                reader->path, &reader->file, line, reader->error,
                "found a read in an initial transaction, expected writes, or a range read of everything");
        if (!reader->again)
            iso_history_initial(reader->history, mop->key, mop->value, false);
    }
    reader->has_initial = true;
    return ISO_OK;
}

static enum iso_status add_transaction(struct viper_reader *reader, const char *line,
                                       uint64_t number)
{
    struct iso_history *history = reader->history;
    if (reader->initial_line)
        return add_initial(reader, line);
    reader->transactions++;
    format_mops_emit(&reader->mops, history, history->txns.count, reader->input, ISO_COMMITTED,
                     iso_origin(reader->input, number));
    return ISO_OK;
}

static enum iso_status read_lines(struct viper_reader *reader)
{
    const char *at = reader->file.bytes, *end = at + reader->file.length;
    enum iso_status status = ISO_OK;
    for (uint64_t number = 1; status == ISO_OK && at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        iso_json_start(&reader->json, at, length);
        if (length && iso_json_space(&reader->json)) {
            if (read_line(reader, length)) {
                status = add_transaction(reader, at, number);
            } else {
                reader->json.position += (size_t)(at - reader->file.bytes);
                status = iso_whole_file_json_fail(reader->path, &reader->file, &reader->json,
                                                  reader->error);
            }
        }
        at = stop ? stop + 1 : end;
    }
    return status;
}

static enum iso_status read_log(struct viper_reader *reader, const char *path, uint32_t number)
{
    enum iso_status status = iso_whole_file_read(&reader->file, path, reader->error);
    if (status != ISO_OK)
        return status;
    reader->path = path;
    reader->input = reader->again ? number : iso_history_input(reader->history, path);
    reader->transactions = 0;
    status = read_lines(reader);
    iso_whole_file_release(&reader->file);
    return status;
}

static enum iso_status read_logs(struct viper_reader *reader, const struct iso_paths *logs)
{
    enum iso_status status = ISO_OK;
    for (uint32_t i = 0; status == ISO_OK && i < logs->count; i++)
        status = read_log(reader, logs->paths[i], i);
    return status;
}

static int compare_keys(const void *left, const void *right, void *atoms)
{
    return iso_atom_compare(atoms, *(const iso_atom *)left, *(const iso_atom *)right);
}

/* Now that all keys are known. They stay known; transactions are read anew. */
static enum iso_status read_again(struct viper_reader *reader, const struct iso_paths *logs,
                                  const struct iso_history_mark *nothing)
{
    struct iso_history *history = reader->history;
    reader->again = true;
    reader->key_count = history->keys.count;
    reader->keys = iso_allocate(((size_t)history->keys.count + 1) * sizeof *reader->keys);
    memcpy(reader->keys, history->keys.atom, history->keys.count * sizeof *reader->keys);
    qsort_r(reader->keys, reader->key_count, sizeof *reader->keys, compare_keys, &history->atoms);
    iso_history_rewind(history, nothing);
    enum iso_status status = read_logs(reader, logs);
    iso_free(reader->keys);
    return status;
}

/* ---- values that nobody wrote ---- */

static void infer_initial(struct iso_history *history)
{
    struct iso_number_map written = {0}; /* pairs of key and value */
    uint8_t *done = iso_allocate_zeroed((size_t)history->keys.count + 1, 1);
    for (uint32_t o = 0; o < history->ops.count; o++) {
        if (iso_kind_writes(history->ops.kind[o]))
            iso_number_map_put(&written,
                               iso_number_pair(history->ops.key[o], history->ops.value[o]), 0);
    }
    for (uint32_t o = 0; o < history->ops.count; o++) {
        uint32_t key = history->ops.key[o], value = history->ops.value[o];
        if (iso_kind_writes(history->ops.kind[o]) || value == ISO_ABSENT || done[key] ||
            iso_number_map_get(&written, iso_number_pair(key, value)) != ISO_NUMBER_NONE)
            continue;
        done[key] = 1;
        iso_history_initial(history, history->keys.atom[key], value, false);
    }
    iso_free(done);
    iso_number_map_release(&written);
}

enum iso_status format_viper_read(const char *path, struct iso_history *history,
                                  struct iso_error *error)
{
    char *single = (char *)path;
    struct iso_paths paths = {0}, alone = {&single, 1};
    struct viper_reader reader = {.history = history, .error = error};
    bool directory;
    if (iso_path_look(path, &directory, error) != ISO_OK)
        return error->status;
    const struct iso_paths *logs = directory ? &paths : &alone;
    struct iso_history_mark nothing = iso_history_mark(history);
    enum iso_status status = directory ? iso_paths_list(&paths, path, ".log", error) : ISO_OK;
    if (status == ISO_OK && directory && (paths.count == 0 || paths.count > 65535))
        status = iso_error_set(error, ISO_BAD_INPUT,
                               "%s: %u log files here, expected 1 to 65535, one a session", path,
                               paths.count);
    iso_json_init(&reader.json);
    if (status == ISO_OK)
        status = read_logs(&reader, logs);
    if (status == ISO_OK && reader.has_ranges)
        status = read_again(&reader, logs, &nothing);
    if (status == ISO_OK && !reader.has_initial)
        infer_initial(history);
    iso_json_release(&reader.json);
    format_mops_release(&reader.mops);
    iso_paths_release(&paths);
    return status;
}
