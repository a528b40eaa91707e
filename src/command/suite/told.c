#define _GNU_SOURCE
#include "suite/told.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suite/changes.h"
#include "suite/operation.h"

const char *const suite_level_names[SUITE_LEVELS] = {"READ COMMITTED", "REPEATABLE READ",
                                                     "SERIALIZABLE"};

void suite_told_release(struct suite_told *told)
{
    iso_json_release(&told->json);
    iso_text_release(&told->texts);
    iso_number_map_release(&told->by_text);
    iso_number_map_release(&told->by_tid);
    suite_snapshots_release(&told->snapshots);
    ISO_FREE_ALL(told->list, told->reads, told->statements);
}

/* ---- a record ---- */

/* A query's name is that of its header. */
static uint64_t hash_of(const struct suite_operation *operation)
{
    struct iso_text header = {0};
    if (!operation->is_query)
        return iso_hash_text(operation->name.at, operation->name.length);
    iso_text_format(&header, "%.*s#", (int)operation->name.length, operation->name.at);
    uint64_t hash = iso_hash_text(header.bytes, header.used);
    iso_text_release(&header);
    return hash;
}

/* The text that the operation has, or the one that the statement before it had, if it is its. */
static uint32_t text_of(struct suite_told *told, const struct suite_operation *operation)
{
    if (operation->sql.length) {
        uint64_t hash = iso_hash_text(operation->sql.at, operation->sql.length);
        told->text = iso_number_map_get(&told->by_text, hash);
        if (told->text == ISO_NUMBER_NONE) {
            told->text = (uint32_t)told->texts.used;
            iso_number_map_put(&told->by_text, hash, told->text);
            iso_text_put_bytes(&told->texts, operation->sql.at, operation->sql.length);
            iso_text_put_bytes(&told->texts, "", 1);
        }
    } else if (operation->sent != told->sent) {
        told->text = ISO_NUMBER_NONE;
    }
    told->sent = operation->sent;
    return told->text;
}

static void note_statement(struct suite_told *told, const struct suite_operation *operation)
{
    uint32_t text = text_of(told, operation);
    if (text != ISO_NUMBER_NONE)
        ISO_PUSH(told->statements, told->statement_count, told->statement_capacity,
                 ((struct suite_statement){hash_of(operation), text}));
}

static void note_read(struct suite_told *told, const struct suite_operation *operation)
{
    ISO_PUSH(told->reads, told->read_count, told->read_capacity,
             ((struct suite_read){hash_of(operation), operation->sent, operation->answered}));
}

static void take_operations(struct suite_told *told)
{
    struct iso_json *json = &told->json;
    iso_json_enter_array(json);
    while (iso_json_element(json)) {
        struct suite_operation operation = suite_operation_take(json);
        note_statement(told, &operation);
        if (suite_operation_reads(&operation))
            note_read(told, &operation);
    }
}

void suite_take_level(struct iso_json *json, struct suite_record *record)
{
    struct iso_json_text name;
    iso_json_string(json, &name);
    for (int level = 0; level < SUITE_LEVELS; level++)
        if (iso_json_is(&name, suite_level_names[level])) {
            record->level = (enum suite_level)level;
            record->is_known = true;
        }
}

static void take_members(struct suite_told *told, struct suite_record *record, uint64_t *tid)
{
    struct iso_json *json = &told->json;
    struct iso_json_text member, text;
    while (iso_json_member(json, &member)) {
        if (iso_json_is(&member, "ops"))
            take_operations(told);
        else if (iso_json_is(&member, "tid") && iso_json_string(json, &text))
            *tid = iso_hash_text(text.at, text.length);
        else if (iso_json_is(&member, "level"))
            suite_take_level(json, record);
        else if (iso_json_is(&member, "sent"))
            record->sent = suite_take_number(json);
        else if (iso_json_is(&member, "answered"))
            record->answered = suite_take_number(json);
        else if (iso_json_is(&member, SUITE_ROLLED_BACK))
            iso_json_boolean(json, &record->has_rolled_back);
        else
            iso_json_skip(json);
    }
}

void suite_told_take(struct suite_told *told, const char *line, size_t length)
{
    uint64_t tid = 0;
    struct suite_record record = {.first = told->read_count,
                                  .first_statement = told->statement_count};
    told->text = ISO_NUMBER_NONE;
    iso_json_start(&told->json, line, length);
    if (iso_json_enter_object(&told->json))
        take_members(told, &record, &tid);
    if (told->json.code != ISO_JSON_FINE || !tid) { /* how many records there are */
        told->read_count = record.first;
        told->statement_count = record.first_statement;
        return;
    }
    record.count = told->read_count - record.first;
    record.statement_count = told->statement_count - record.first_statement;
    iso_number_map_put(&told->by_tid, tid, told->count);
    ISO_PUSH(told->list, told->count, told->capacity, record);
}

static void take_line(void *context, const char *topic, const char *line, size_t length)
{
    struct suite_told *told = context;
    if (!strcmp(topic, SUITE_RECORDS))
        suite_told_take(told, line, length);
    else if (!strcmp(topic, SUITE_SNAPSHOTS))
        suite_snapshots_read(&told->snapshots, line);
}

enum iso_status suite_told_read(struct suite_told *told, const char *path, struct iso_error *error)
{
    return suite_capture_read(path, take_line, told, error);
}

/* ---- a history ---- */

const struct suite_record *suite_told_find(const struct suite_told *told,
                                           const struct iso_history *history, uint32_t transaction)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *tid =
        iso_atom_text(&history->atoms, history->txns.tid[transaction], buffer, &length);
    uint32_t found = iso_number_map_get(&told->by_tid, iso_hash_text(tid, length));
    return found == ISO_NUMBER_NONE ? NULL : &told->list[found];
}

uint64_t suite_told_end(const struct suite_told *told, const struct suite_record *record)
{
    uint64_t end = record->answered;
    for (uint32_t i = 0; i < record->count; i++)
        if (told->reads[record->first + i].answered > end)
            end = told->reads[record->first + i].answered;
    return end;
}

static uint64_t key_of(const struct iso_history *history, uint32_t operation)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *key = iso_atom_text(
        &history->atoms, history->keys.atom[history->ops.key[operation]], buffer, &length);
    return iso_hash_text(key, length);
}

/* ---- statements ---- */

/* Of the key of a row's cell, "public.a/1#v", that of the row, and of the queries of its table. */
static void hash_row(const char *key, size_t length, uint64_t *row, uint64_t *query)
{
    const char *slash = memchr(key, '/', length), *cell = memchr(key, '#', length);
    struct iso_text header = {0};
    *row = iso_hash_text(key, cell && slash ? (size_t)(cell - key) : length);
    iso_text_put_bytes(&header, key, slash ? (size_t)(slash - key) : length);
    iso_text_put(&header, slash ? "#" : "");
    *query = iso_hash_text(header.bytes, header.used);
    iso_text_release(&header);
}

void suite_told_put_statements(const void *context, const struct iso_history *history,
                               uint32_t transaction, uint32_t key, struct iso_text *text)
{
    const struct suite_told *told = context;
    const struct suite_record *record = suite_told_find(told, history, transaction);
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    uint64_t row, query;
    const char *name = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &length);
    uint32_t last = ISO_NUMBER_NONE;
    hash_row(name, length, &row, &query);
    for (uint32_t i = 0; record && i < record->statement_count; i++) {
        const struct suite_statement *statement = &told->statements[record->first_statement + i];
        if ((statement->key != row && statement->key != query) || statement->text == last)
            continue;
        last = statement->text;
        iso_text_format(text, "%s%s", text->used ? "; " : "", told->texts.bytes + last);
    }
}

/* The operation behind the row or query that begins with this one. */
static uint32_t end_of(const struct iso_history *history, uint32_t transaction, uint32_t operation)
{
    const struct iso_range *set = iso_history_set_of(history, operation);
    return set && set->count ? history->txns.first_op[transaction] + set->first + set->count
                             : operation + 1;
}

static void tell_operations(struct iso_history_messages *messages, uint32_t from, uint32_t end,
                            uint64_t sent, uint64_t answered)
{
    for (uint32_t o = from; o < end; o++) {
        messages->sent[o] = sent;
        messages->answered[o] = answered;
    }
}

/* The next of the record's reads that the history has, too: of tables that are not judged it has
 * none. */
static const struct suite_read *next_of(const struct suite_read **next,
                                        const struct suite_read *end,
                                        const struct iso_number_map *keys)
{
    while (*next < end && iso_number_map_get(keys, (*next)->key) == ISO_NUMBER_NONE)
        ++*next;
    return *next < end ? (*next)++ : NULL;
}

/* Each read's own moments. Where the record's reads are not those of the history, one by one,
 * nothing is known of any. */
static void tell_reads(const struct iso_history *history, uint32_t t,
                       const struct suite_read *reads, uint32_t count,
                       struct iso_history_messages *messages)
{
    struct iso_number_map keys = {0};
    const struct suite_read *next = reads, *end = reads + count, *read;
    uint32_t first = history->txns.first_op[t], last = history->txns.first_op[t + 1];
    bool is_same = true;
    for (uint32_t o = first; o < last; o = end_of(history, t, o))
        if (!iso_kind_writes(history->ops.kind[o]))
            iso_number_map_put(&keys, key_of(history, o), 0);
    for (uint32_t o = first, behind; is_same && o < last; o = behind) {
        behind = end_of(history, t, o);
        if (iso_kind_writes(history->ops.kind[o]))
            continue;
        read = next_of(&next, end, &keys);
        is_same = read && read->key == key_of(history, o);
        if (is_same)
            tell_operations(messages, o, behind, read->sent, read->answered);
    }
    if (!is_same || next_of(&next, end, &keys))
        tell_operations(messages, first, last, 0, 0);
    iso_number_map_release(&keys);
}

static bool begins(struct iso_json_text *text, const char *word)
{
    size_t length = strlen(word);
    if (text->length < length || memcmp(text->at, word, length) != 0)
        return false;
    *text = (struct iso_json_text){text->at + length, text->length - length};
    return true;
}

/* Of a transaction that only the stream tells of: rows that were there before the command began, or
 * an xid. */
static void tell_foreign(const struct suite_told *told, const struct iso_history *history,
                         uint32_t t, struct iso_history_messages *messages)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text tid;
    uint64_t xid = 0;
    size_t digits = 0;
    tid.at = iso_atom_text(&history->atoms, history->txns.tid[t], buffer, &tid.length);
    if (!begins(&tid, ISO_FOREIGN_PREFIX))
        return;
    while (digits < tid.length && tid.at[digits] >= '0' && tid.at[digits] <= '9')
        xid = xid * 10 + (uint64_t)(tid.at[digits++] - '0');
    if (digits && digits == tid.length)
        suite_snapshots_find(&told->snapshots, (uint32_t)xid, &messages->commit_answered[t],
                             &messages->commit_sent[t]);
    else if (begins(&tid, "snapshot:") || begins(&tid, "unknown:"))
        messages->commit_answered[t] = 1;
}

void suite_told_tell(const struct suite_told *told, struct iso_history *history,
                     struct iso_history_messages *messages)
{
    size_t operations = (size_t)history->ops.count + 1,
           transactions = (size_t)history->txns.count + 1;
    *messages = (struct iso_history_messages){iso_allocate_zeroed(operations, sizeof(uint64_t)),
                                              iso_allocate_zeroed(operations, sizeof(uint64_t)),
                                              iso_allocate_zeroed(transactions, sizeof(uint64_t)),
                                              iso_allocate_zeroed(transactions, sizeof(uint64_t))};
    for (uint32_t t = 0; t < history->txns.count; t++) {
        const struct suite_record *record = suite_told_find(told, history, t);
        if (!record) {
            tell_foreign(told, history, t, messages);
            continue;
        }
        messages->commit_sent[t] = record->sent;
        messages->commit_answered[t] = record->answered;
        if (record->is_known && record->level == SUITE_READ_COMMITTED)
            tell_reads(history, t, told->reads + record->first, record->count, messages);
    }
    history->messages = messages;
}

void suite_messages_release(struct iso_history_messages *messages)
{
    ISO_FREE_ALL(messages->sent, messages->answered, messages->commit_sent,
                 messages->commit_answered);
}
