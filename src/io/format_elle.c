/* Elle's and Jepsen's histories, EDN and JSON: invocations and completions of processes.
 *
 * `ok` is a committed transaction, `fail` an aborted one, `info` and an invocation that nothing completes are
 * of unknown outcome. A process is a session; without processes every transaction is one. Registers start at
 * nil, lists empty. Reads of transactions that are not `ok` say nothing and are dropped.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/format_private.h"
#include "io/tokens.h"
#include "io/whole_file.h"

enum type { INVOKE, OK, FAIL, INFO, OTHER };

/* One map of the file. */
struct entry {
    enum type type;
    bool has_value, has_process, is_client, is_txn;
    iso_atom process;
    struct tokens value; /* standing at the value */
    uint32_t line;
};

struct reader {
    const char *path;
    struct iso_history *history;
    struct iso_error *error;
    struct tokens tokens;
    struct entry *entries;
    uint32_t count, capacity;
    char other[40]; /* an `:f` that is not txn */
};

static enum iso_status fail(struct reader *reader, uint32_t line, const char *expected)
{
    return iso_error_set(reader->error, ISO_BAD_INPUT, "%s:%u: expected %s", reader->path, line, expected);
}

static void note_type(struct reader *reader, struct entry *entry)
{
    static const char *const names[] = {"invoke", "ok", "fail", "info"};
    for (int type = 0; type < 4; type++) {
        if (tokens_is(&reader->tokens, names[type]))
            entry->type = (enum type)type;
    }
}

static void note_member(struct reader *reader, struct entry *entry, const struct tokens *name)
{
    struct tokens *tokens = &reader->tokens;
    if (tokens_is(name, "type")) {
        note_type(reader, entry);
    } else if (tokens_is(name, "f") && !tokens_is(tokens, "txn") && tokens->kind == TOKEN_TEXT) {
        size_t length = tokens->length < sizeof reader->other ? tokens->length : sizeof reader->other - 1;
        entry->is_txn = false;
        memcpy(reader->other, tokens->text, length);
        reader->other[length] = 0;
    } else if (tokens_is(name, "process")) {
        entry->has_process = true;
        entry->is_client = tokens->kind == TOKEN_NUMBER;
        entry->process = iso_atoms_text(&reader->history->atoms, tokens->text, tokens->length);
    } else if (tokens_is(name, "value") && tokens->kind != TOKEN_NIL) {
        entry->has_value = true;
        entry->value = *tokens;
    }
}

/* A map whose opening brace is at hand. */
static enum iso_status read_entry(struct reader *reader)
{
    struct tokens *tokens = &reader->tokens;
    struct entry entry = {.type = OTHER, .is_txn = true, .is_client = true, .line = tokens->line};
    for (tokens_next(tokens); tokens->kind != TOKEN_CLOSE_MAP;) {
        struct tokens name = *tokens;
        if (tokens->kind != TOKEN_TEXT)
            return fail(reader, tokens->line, "a map of members with names");
        tokens_next(tokens);
        note_member(reader, &entry, &name);
        if (tokens->kind == TOKEN_CLOSE_MAP || tokens->kind == TOKEN_CLOSE_LIST || !tokens_skip(tokens))
            return fail(reader, tokens->line, "a value after each member's name, and the map's end");
    }
    if (entry.type == OTHER)
        return fail(reader, entry.line, "a member :type of invoke, ok, fail or info");
    tokens_next(tokens);
    if (reader->count == reader->capacity) {
        size_t old = reader->capacity, next = iso_column_capacity(old, old + 1);
        reader->entries = iso_column_grow(reader->entries, old * sizeof entry, next * sizeof entry);
        reader->capacity = (uint32_t)next;
    }
    reader->entries[reader->count++] = entry;
    return ISO_OK;
}

static enum iso_status read_entries(struct reader *reader)
{
    enum iso_status status = ISO_OK;
    tokens_next(&reader->tokens);
    bool vector = reader->tokens.kind == TOKEN_OPEN_LIST;
    if (vector)
        tokens_next(&reader->tokens);
    while (status == ISO_OK && reader->tokens.kind == TOKEN_OPEN_MAP)
        status = read_entry(reader);
    if (status == ISO_OK && vector && reader->tokens.kind != TOKEN_CLOSE_LIST)
        return fail(reader, reader->tokens.line, "a map, or the vector's end");
    if (status == ISO_OK && vector)
        tokens_next(&reader->tokens);
    if (status == ISO_OK && reader->tokens.kind != TOKEN_END)
        return fail(reader, reader->tokens.line, "a map, or the end of the file");
    return status;
}

/* ---- operations ---- */

static bool take_atom(struct iso_history *history, struct tokens *tokens, iso_atom *atom)
{
    if (tokens->kind != TOKEN_NUMBER && tokens->kind != TOKEN_TEXT)
        return false;
    *atom = iso_atoms_text(&history->atoms, tokens->text, tokens->length);
    tokens_next(tokens);
    return true;
}

static bool take_list(struct iso_history *history, struct tokens *tokens, uint32_t *list)
{
    *list = iso_history_list(history);
    for (tokens_next(tokens); tokens->kind != TOKEN_CLOSE_LIST;) {
        iso_atom element;
        if (!take_atom(history, tokens, &element))
            return false;
        iso_history_element(history, element);
    }
    tokens_next(tokens);
    return true;
}

/* `[:r key value]`, with the bracket at hand. */
static bool take_operation(struct iso_history *history, struct tokens *tokens, bool with_reads)
{
    enum iso_operation_kind kind;
    iso_atom key, value = ISO_ABSENT;
    if (tokens->kind != TOKEN_OPEN_LIST || tokens_next(tokens) != TOKEN_TEXT)
        return false;
    if (tokens_is(tokens, "r"))
        kind = ISO_READ;
    else if (tokens_is(tokens, "w"))
        kind = ISO_WRITE;
    else if (tokens_is(tokens, "append"))
        kind = ISO_APPEND;
    else
        return false;
    tokens_next(tokens);
    if (!take_atom(history, tokens, &key))
        return false;
    if (kind == ISO_READ && tokens->kind == TOKEN_OPEN_LIST) {
        kind = ISO_READ_LIST;
        if (!take_list(history, tokens, &value))
            return false;
    } else if (kind == ISO_READ && tokens->kind == TOKEN_NIL) {
        tokens_next(tokens);
    } else if (tokens->kind != TOKEN_CLOSE_LIST || kind != ISO_READ) {
        if (!take_atom(history, tokens, &value))
            return false;
    }
    if (tokens->kind != TOKEN_CLOSE_LIST)
        return false;
    tokens_next(tokens);
    if (with_reads || iso_kind_writes((uint8_t)kind))
        iso_history_operation(history, kind, key, value);
    return true;
}

static enum iso_status add_transaction(struct reader *reader, uint32_t number, enum type type,
                                       struct tokens tokens)
{
    static const uint8_t statuses[] = {ISO_UNKNOWN, ISO_COMMITTED, ISO_ABORTED, ISO_UNKNOWN};
    struct iso_history *history = reader->history;
    const struct entry *entry = &reader->entries[number];
    char text[32];
    size_t length = (size_t)(snprintf(text, sizeof text, "transaction:%u", number));
    iso_atom session =
        entry->has_process ? entry->process : iso_atoms_add_string(&history->atoms, text, length);
    iso_history_begin(history, number, session, statuses[type], iso_origin(0, entry->line));
    if (tokens.kind != TOKEN_OPEN_LIST)
        return fail(reader, entry->line,
                    "a :value that is a list of operations [:r key value], [:w ...], [:append ...]");
    for (tokens_next(&tokens); tokens.kind != TOKEN_CLOSE_LIST;) {
        if (!take_operation(history, &tokens, type == OK))
            return fail(reader, entry->line,
                        "operations [:r key value], [:w key value] or [:append key value]; other "
                        "models are no read/write histories");
    }
    return ISO_OK;
}

/* The invocation that each process waits for. */
struct pending {
    uint32_t *entry; /* by process's atom, open addressing: 1 + entry */
    uint32_t mask;
};

static uint32_t *find_pending(const struct reader *reader, const struct pending *pending, iso_atom process)
{
    uint32_t slot = (process * 0x9e3779b1u) & pending->mask;
    while (pending->entry[slot] && reader->entries[pending->entry[slot] - 1].process != process)
        slot = (slot + 1) & pending->mask;
    return &pending->entry[slot];
}

static enum iso_status complete(struct reader *reader, uint32_t number, const struct pending *pending,
                                bool *waits)
{
    const struct entry *entry = &reader->entries[number];
    uint32_t *slot = entry->has_process ? find_pending(reader, pending, entry->process) : NULL;
    if (entry->type == INVOKE) {
        if (slot) {
            *slot = number + 1;
            waits[number] = true;
        }
        return ISO_OK;
    }
    const struct entry *invoked = slot && *slot && waits[*slot - 1] ? &reader->entries[*slot - 1] : NULL;
    if (invoked)
        waits[*slot - 1] = false;
    if (entry->has_value)
        return add_transaction(reader, number, entry->type, entry->value);
    if (invoked && invoked->has_value && entry->type != OK)
        return add_transaction(reader, number, entry->type, invoked->value);
    return entry->type == OK ? fail(reader, entry->line, "a :value of what was done") : ISO_OK;
}

static enum iso_status build(struct reader *reader)
{
    struct pending pending = {.mask = 63};
    enum iso_status status = ISO_OK;
    while (pending.mask < 2 * reader->count)
        pending.mask = 2 * pending.mask + 1;
    pending.entry = iso_allocate_zeroed((size_t)pending.mask + 1, sizeof *pending.entry);
    bool *waits = iso_allocate_zeroed((size_t)reader->count + 1, sizeof *waits);
    for (uint32_t i = 0; i < reader->count && status == ISO_OK; i++) {
        if (reader->entries[i].is_txn && reader->entries[i].is_client)
            status = complete(reader, i, &pending, waits);
    }
    for (uint32_t i = 0; i < reader->count && status == ISO_OK; i++) {
        if (waits[i] && reader->entries[i].has_value)
            status = add_transaction(reader, i, INFO, reader->entries[i].value);
    }
    if (status == ISO_OK && reader->history->transaction_count == 0)
        status = iso_error_set(reader->error, ISO_BAD_INPUT,
                               "%s: no transaction; expected operations with :f :txn%s%s", reader->path,
                               reader->other[0] ? ", found :f :" : "", reader->other);
    iso_free(pending.entry);
    iso_free(waits);
    return status;
}

static enum iso_status read_elle(const char *path, struct iso_history *history, struct iso_error *error,
                                 bool json)
{
    struct iso_whole_file file;
    enum iso_status status = iso_whole_file_read(&file, path, error);
    if (status != ISO_OK)
        return status;
    struct reader reader = {.path = path, .history = history, .error = error};
    iso_history_input(history, path);
    tokens_start(&reader.tokens, file.bytes, file.length, json);
    status = read_entries(&reader);
    if (status == ISO_OK)
        status = build(&reader);
    iso_column_free(reader.entries, reader.capacity * sizeof *reader.entries);
    iso_whole_file_release(&file);
    return status;
}

enum iso_status format_elle_edn_read(const char *path, struct iso_history *history, struct iso_error *error)
{
    return read_elle(path, history, error, false);
}

enum iso_status format_elle_json_read(const char *path, struct iso_history *history, struct iso_error *error)
{
    return read_elle(path, history, error, true);
}
