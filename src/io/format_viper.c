/* Viper's JSON logs: a directory whose `*.log` files are sessions, one JSON object a line; or one such file.
 *
 *     {"value":[["r",key,value,dead],["w",key,value,success],["d",key,tombstone,read,dead,success],
 *               ["i",key,value,read,dead,success]]}
 *
 * Deletes write a marked value of their own: plain writes here; inserts and deletes read before they write. A file whose
 * one line has "isInitial" holds the initial values. Without such a file a value that nobody wrote is the initial value
 * of its key; a second such value of the key stays one that nobody wrote. Range reads are refused: the history model
 * has no predicates yet.
 */
#include "base/memory.h"
#include "io/format_private.h"

struct reader {
    const char *path;
    struct iso_whole_file file;
    struct iso_history *history;
    struct iso_error *error;
    struct iso_json json;
    struct format_mops mops;
    uint32_t input, transactions; /* transactions: of this file */
    bool initial_line;            /* the line at hand has isInitial */
    bool has_initial;             /* some file had */
};

static bool read_atom(struct reader *reader, bool nil, iso_atom *atom)
{
    if (!iso_json_element(&reader->json))
        return iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at - 1, "one more member of the operation");
    return format_json_atom(&reader->json, reader->history, nil, "an integer, a string or null", atom);
}

static bool read_flag(struct reader *reader, bool *flag)
{
    if (!iso_json_element(&reader->json))
        return iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at - 1, "true or false");
    return iso_json_boolean(&reader->json, flag);
}

/* What follows the members that matter: `ready`, `actual_op`. */
static bool skip_rest(struct reader *reader)
{
    while (iso_json_element(&reader->json)) {
        if (!iso_json_skip(&reader->json))
            return false;
    }
    return reader->json.code == ISO_JSON_FINE;
}

static bool read_access(struct reader *reader, bool write)
{
    struct format_mop mop = {.kind = write ? ISO_WRITE : ISO_READ};
    bool flag;
    if (!read_atom(reader, false, &mop.key) || !read_atom(reader, true, &mop.value) || !read_flag(reader, &flag))
        return false;
    mop.failed = write && !flag;
    format_mops_add(&reader->mops, mop);
    return skip_rest(reader);
}

/* An insert or a delete. */
static bool read_replacement(struct reader *reader)
{
    struct format_mop read = {.kind = ISO_READ}, write = {.kind = ISO_WRITE};
    bool dead, success;
    if (!read_atom(reader, false, &write.key) || !read_atom(reader, true, &write.value) ||
        !read_atom(reader, true, &read.value) || !read_flag(reader, &dead) || !read_flag(reader, &success))
        return false;
    read.key = write.key;
    write.failed = !success;
    format_mops_add(&reader->mops, read);
    format_mops_add(&reader->mops, write);
    return skip_rest(reader);
}

static bool read_operation(struct reader *reader)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text kind;
    iso_json_space(json);
    const char *at = json->at;
    if (!iso_json_enter_array(json) || !iso_json_element(json) || !iso_json_string(json, &kind))
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, at, "an operation [\"r\" or \"w\" or \"d\" or \"i\",key,...]");
    if (format_equals(&kind, "r") || format_equals(&kind, "w"))
        return read_access(reader, *kind.at == 'w');
    if (format_equals(&kind, "d") || format_equals(&kind, "i"))
        return read_replacement(reader);
    return iso_json_fail(json, ISO_JSON_UNEXPECTED, at,
                         format_equals(&kind, "range") ? "no range read: predicates are not judged"
                                                       : "an operation \"r\", \"w\", \"d\" or \"i\"");
}

static bool read_value(struct reader *reader)
{
    if (!iso_json_enter_array(&reader->json))
        return false;
    while (iso_json_element(&reader->json)) {
        if (!read_operation(reader))
            return false;
    }
    return reader->json.code == ISO_JSON_FINE;
}

static bool read_line(struct reader *reader, size_t length)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text name;
    bool value = false;
    reader->initial_line = false;
    reader->mops.count = reader->mops.element_count = 0;
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        bool is_value = format_equals(&name, "value");
        value |= is_value;
        if (!(is_value ? read_value(reader)
                       : format_equals(&name, "isInitial") ? iso_json_boolean(json, &reader->initial_line)
                                                           : iso_json_skip(json)))
            return false;
    }
    if (json->code == ISO_JSON_FINE && !value)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->start + length - 1, "a member \"value\" in the transaction");
    return iso_json_finish(json);
}

static enum iso_status add_initial(struct reader *reader, const char *line)
{
    for (uint32_t i = 0; i < reader->mops.count; i++) {
        const struct format_mop *mop = &reader->mops.items[i];
        if (mop->kind != ISO_WRITE || mop->failed)
            return format_fail(reader->path, &reader->file, line, reader->error,
                               "found a read in an initial transaction, expected writes only");
        iso_history_initial(reader->history, mop->key, mop->value, false);
    }
    reader->has_initial = true;
    return ISO_OK;
}

static enum iso_status add_transaction(struct reader *reader, const char *line, uint64_t number)
{
    struct iso_history *history = reader->history;
    if (reader->initial_line)
        return add_initial(reader, line);
    reader->transactions++;
    format_mops_emit(&reader->mops, history, history->transaction_count, reader->input, ISO_COMMITTED,
                     iso_origin(reader->input, number));
    return ISO_OK;
}

static enum iso_status read_lines(struct reader *reader)
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
                status = format_json_fail(reader->path, &reader->file, &reader->json, reader->error);
            }
        }
        at = stop ? stop + 1 : end;
    }
    return status;
}

static enum iso_status read_log(struct reader *reader, const char *path)
{
    enum iso_status status = iso_whole_file_read(&reader->file, path, reader->error);
    if (status != ISO_OK)
        return status;
    reader->path = path;
    reader->input = iso_history_input(reader->history, path);
    reader->transactions = 0;
    status = read_lines(reader);
    iso_whole_file_release(&reader->file);
    return status;
}

/* ---- values that nobody wrote ---- */

struct written {
    uint64_t *slots; /* 0: empty, else key << 32 | value, plus 1 */
    uint64_t mask;
};

static bool find(struct written *written, uint64_t pair, bool add)
{
    uint64_t slot = (pair * 0x9e3779b97f4a7c15u >> 20) & written->mask;
    for (; written->slots[slot]; slot = (slot + 1) & written->mask) {
        if (written->slots[slot] == pair + 1)
            return true;
    }
    if (add)
        written->slots[slot] = pair + 1;
    return false;
}

static void infer_initial(struct iso_history *history)
{
    struct written written = {.mask = 63};
    while (written.mask < 2 * (uint64_t)history->operation_count)
        written.mask = 2 * written.mask + 1;
    written.slots = iso_allocate_zeroed(written.mask + 1, sizeof *written.slots);
    uint8_t *done = iso_allocate_zeroed((size_t)history->key_count + 1, 1);
    for (uint32_t o = 0; o < history->operation_count; o++) {
        if (iso_kind_writes(history->kind[o]))
            find(&written, (uint64_t)history->key[o] << 32 | history->value[o], true);
    }
    for (uint32_t o = 0; o < history->operation_count; o++) {
        uint32_t key = history->key[o], value = history->value[o];
        if (iso_kind_writes(history->kind[o]) || value == ISO_ABSENT || done[key] ||
            find(&written, (uint64_t)key << 32 | value, false))
            continue;
        done[key] = 1;
        iso_history_initial(history, history->key_atom[key], value, false);
    }
    iso_free(done);
    iso_free(written.slots);
}

enum iso_status format_viper_read(const char *path, struct iso_history *history, struct iso_error *error)
{
    struct iso_paths paths = {0};
    struct reader reader = {.history = history, .error = error};
    bool directory = iso_path_is_directory(path);
    enum iso_status status = directory ? iso_paths_list(&paths, path, ".log", error) : ISO_OK;
    if (status == ISO_OK && directory && (paths.count == 0 || paths.count > 65535))
        status = iso_error_set(error, ISO_BAD_INPUT, "%s: %u log files here, expected 1 to 65535, one a session", path,
                               paths.count);
    iso_json_init(&reader.json);
    for (uint32_t i = 0; status == ISO_OK && i < paths.count; i++)
        status = read_log(&reader, paths.paths[i]);
    if (status == ISO_OK && !directory)
        status = read_log(&reader, path);
    if (status == ISO_OK && !reader.has_initial)
        infer_initial(history);
    iso_json_release(&reader.json);
    format_mops_release(&reader.mops);
    iso_paths_release(&paths);
    return status;
}
