/* Viper's JSON logs: a directory, each `J*.log` a session, each line a committed transaction.
 *
 * Deletes write their tombstone and inserts their value, after the read that they carry. A file whose only
 * line is marked `isInitial` gives the initial values. Where there is none, a read of a value that nobody
 * wrote is that key's initial value: the first such read of a key decides. Failed writes are dropped. Range
 * queries are refused.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/format_private.h"
#include "io/tokens.h"
#include "io/whole_file.h"

struct reader {
    const char *path;
    struct iso_history *history;
    struct iso_error *error;
    struct tokens tokens;
    uint32_t session;
    bool has_initial;
};

static enum iso_status fail(struct reader *reader, const char *expected)
{
    return iso_error_set(reader->error, ISO_BAD_INPUT, "%s:%u: expected %s", reader->path,
                         reader->tokens.line, expected);
}

static bool take_value(struct reader *reader, iso_atom *value)
{
    struct tokens *tokens = &reader->tokens;
    bool absent = tokens->kind == TOKEN_NIL || tokens_is(tokens, "nil");
    if (!absent && tokens->kind != TOKEN_NUMBER && tokens->kind != TOKEN_TEXT)
        return false;
    *value = absent ? ISO_ABSENT : iso_atoms_text(&reader->history->atoms, tokens->text, tokens->length);
    tokens_next(tokens);
    return true;
}

static bool take_flag(struct reader *reader, bool *flag)
{
    *flag = tokens_is(&reader->tokens, "true");
    if (!*flag && !tokens_is(&reader->tokens, "false"))
        return false;
    tokens_next(&reader->tokens);
    return true;
}

/* `["w", key, value, success]` and its fellows, with the bracket at hand. */
static enum iso_status take_operation(struct reader *reader, bool initial)
{
    struct tokens *tokens = &reader->tokens;
    struct iso_history *history = reader->history;
    iso_atom key, value, seen = ISO_ABSENT;
    bool dead, success = true, fine;
    if (tokens->kind != TOKEN_OPEN_LIST || tokens_next(tokens) != TOKEN_TEXT || tokens->length == 0)
        return fail(reader, "an operation [\"r\", ...], [\"w\", ...], [\"d\", ...] or [\"i\", ...]");
    char kind = tokens->length == 1 ? *tokens->text : 0;
    if (tokens_is(tokens, "range"))
        return fail(reader, "no range queries: they cannot be judged yet");
    tokens_next(tokens);
    fine = take_value(reader, &key) && take_value(reader, &value);
    if (kind == 'r')
        fine = fine && take_flag(reader, &dead);
    else if (kind == 'w')
        fine = fine && take_flag(reader, &success);
    else if (kind == 'd' || kind == 'i')
        fine = fine && take_value(reader, &seen) && take_flag(reader, &dead) && take_flag(reader, &success);
    else
        fine = false;
    while (fine && tokens->kind != TOKEN_CLOSE_LIST)
        fine = tokens_skip(tokens);
    if (!fine)
        return fail(reader, "the members of an operation of this kind");
    tokens_next(tokens);
    if (initial && kind == 'w')
        iso_history_initial(history, key, value, false);
    if (initial)
        return kind == 'w' ? ISO_OK : fail(reader, "only writes in the initial transaction");
    if (kind != 'w')
        iso_history_operation(history, ISO_READ, key, kind == 'r' ? value : seen);
    if (kind != 'r' && success)
        iso_history_operation(history, ISO_WRITE, key, value);
    return ISO_OK;
}

static enum iso_status read_line(struct reader *reader)
{
    struct tokens *tokens = &reader->tokens, value = {0};
    bool initial = false;
    uint32_t line = tokens->line;
    for (tokens_next(tokens); tokens->kind != TOKEN_CLOSE_MAP;) {
        struct tokens name = *tokens;
        if (tokens->kind != TOKEN_TEXT)
            return fail(reader, "an object with members");
        tokens_next(tokens);
        if (tokens_is(&name, "value"))
            value = *tokens;
        initial |= tokens_is(&name, "isInitial") && tokens_is(tokens, "true");
        if (tokens->kind == TOKEN_CLOSE_MAP || !tokens_skip(tokens))
            return fail(reader, "a whole JSON object");
    }
    if (value.kind != TOKEN_OPEN_LIST)
        return fail(reader, "an object with a list \"value\"");
    *tokens = value;
    if (!initial)
        iso_history_begin(reader->history, reader->history->transaction_count, reader->session, ISO_COMMITTED,
                          iso_origin(reader->history->input_count - 1, line));
    reader->has_initial |= initial;
    enum iso_status status = ISO_OK;
    for (tokens_next(tokens); status == ISO_OK && tokens->kind != TOKEN_CLOSE_LIST;)
        status = take_operation(reader, initial);
    return status;
}

static enum iso_status read_log(struct reader *reader, const char *path)
{
    struct iso_whole_file file;
    enum iso_status status = iso_whole_file_read(&file, path, reader->error);
    if (status != ISO_OK)
        return status;
    iso_history_input(reader->history, path);
    reader->path = path;
    const char *at = file.bytes, *end = at + file.length;
    for (uint32_t line = 1; status == ISO_OK && at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        tokens_start(&reader->tokens, at, (size_t)(stop - at), true);
        reader->tokens.line = line;
        if (tokens_next(&reader->tokens) == TOKEN_OPEN_MAP)
            status = read_line(reader);
        else if (reader->tokens.kind != TOKEN_END)
            status = fail(reader, "a JSON object a line");
        at = stop < end ? stop + 1 : end;
    }
    iso_whole_file_release(&file);
    reader->session++;
    return status;
}

/* Values that somebody wrote, as key and value; then the first foreign read of each key is its initial value.
 */
static void guess_initial(struct iso_history *history)
{
    uint64_t slots = 64;
    while (slots < 2 * (uint64_t)history->operation_count)
        slots *= 2;
    uint32_t *written = iso_allocate_zeroed(slots, sizeof *written);
    uint8_t *done = iso_allocate_zeroed((size_t)history->key_count + 1, 1);
    for (int look = 0; look < 2; look++) {
        for (uint32_t o = 0; o < history->operation_count; o++) {
            uint32_t key = history->key[o], value = history->value[o];
            bool write = iso_kind_of(history, o) == ISO_WRITE;
            if (write == look || (look && (done[key] || value == ISO_ABSENT)))
                continue;
            uint64_t slot = (((uint64_t)key << 32 | value) * 0x9e3779b97f4a7c15u >> 20) & (slots - 1);
            while (written[slot] &&
                   (history->key[written[slot] - 1] != key || history->value[written[slot] - 1] != value))
                slot = (slot + 1) & (slots - 1);
            if (!look) {
                written[slot] = o + 1;
            } else if (!written[slot]) {
                done[key] = 1;
                iso_history_initial(history, history->key_atom[key], value, false);
            }
        }
    }
    iso_free(written);
    iso_free(done);
}

enum iso_status format_viper_read(const char *path, struct iso_history *history, struct iso_error *error)
{
    struct iso_paths paths;
    enum iso_status status = iso_paths_list(&paths, path, ".log", error);
    if (status != ISO_OK)
        return status;
    struct reader reader = {.history = history, .error = error};
    if (paths.count == 0 || paths.count > 65535)
        status =
            iso_error_set(error, ISO_BAD_INPUT, "%s: %u *.log files; expected one a session, at most 65535",
                          path, paths.count);
    for (uint32_t i = 0; status == ISO_OK && i < paths.count; i++)
        status = read_log(&reader, paths.paths[i]);
    if (status == ISO_OK && !reader.has_initial)
        guess_initial(history);
    iso_paths_release(&paths);
    return status;
}
