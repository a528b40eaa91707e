#define _GNU_SOURCE
#include "suite/records.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { TEST_MOST = 4096 };

const char *const suite_level_names[SUITE_LEVELS] = {"READ COMMITTED", "REPEATABLE READ",
                                                     "SERIALIZABLE"};

void suite_records_release(struct suite_records *records)
{
    iso_json_release(&records->json);
    iso_text_release(&records->name);
    iso_text_release(&records->test);
    iso_text_release(&records->texts);
    iso_number_map_release(&records->by_text);
    iso_number_map_release(&records->by_tid);
    suite_snapshots_release(&records->snapshots);
    ISO_FREE_ALL(records->list, records->reads, records->statements, records->xids);
}

/* ---- a line ---- */

struct operation {
    struct iso_json_text kind, name, sql;
    bool is_query, is_own;
    uint64_t sent, answered;
};

static uint64_t take_number(struct iso_json *json)
{
    struct iso_json_number number = {0};
    iso_json_integer(json, &number);
    return number.bits;
}

static struct operation take_operation(struct iso_json *json)
{
    struct operation operation = {.is_own = false};
    struct iso_json_text member;
    iso_json_enter_object(json);
    while (iso_json_member(json, &member)) {
        bool is_table = iso_json_is(&member, "table");
        if (iso_json_is(&member, "t"))
            iso_json_string(json, &operation.kind);
        else if (is_table || iso_json_is(&member, "row"))
            operation.is_query = is_table, iso_json_string(json, &operation.name);
        else if (iso_json_is(&member, "sent"))
            operation.sent = take_number(json);
        else if (iso_json_is(&member, "answered"))
            operation.answered = take_number(json);
        else if (iso_json_is(&member, "sql"))
            iso_json_string(json, &operation.sql);
        else if (iso_json_is(&member, "own"))
            iso_json_boolean(json, &operation.is_own);
        else
            iso_json_skip(json);
    }
    return operation;
}

/* A query's name is that of its header. */
static uint64_t hash_of(const struct operation *operation)
{
    struct iso_text header = {0};
    if (!operation->is_query)
        return iso_hash_text(operation->name.at, operation->name.length);
    iso_text_format(&header, "%.*s#", (int)operation->name.length, operation->name.at);
    uint64_t hash = iso_hash_text(header.bytes, header.used);
    iso_text_release(&header);
    return hash;
}

static bool is_read(const struct operation *operation)
{
    return iso_json_is(&operation->kind, "r") || iso_json_is(&operation->kind, "q");
}

/* The text that the operation has, or the one that the statement before it had, if it is its. */
static uint32_t text_of(struct suite_records *records, const struct operation *operation)
{
    if (operation->sql.length) {
        uint64_t hash = iso_hash_text(operation->sql.at, operation->sql.length);
        records->text = iso_number_map_get(&records->by_text, hash);
        if (records->text == ISO_NUMBER_NONE) {
            records->text = (uint32_t)records->texts.used;
            iso_number_map_put(&records->by_text, hash, records->text);
            iso_text_put_bytes(&records->texts, operation->sql.at, operation->sql.length);
            iso_text_put_bytes(&records->texts, "", 1);
        }
    } else if (operation->sent != records->sent) {
        records->text = ISO_NUMBER_NONE;
    }
    records->sent = operation->sent;
    return records->text;
}

static void note_statement(struct suite_records *records, const struct operation *operation)
{
    uint32_t text = text_of(records, operation);
    if (text != ISO_NUMBER_NONE)
        ISO_PUSH(records->statements, records->statement_count, records->statement_capacity,
                 ((struct suite_statement){hash_of(operation), text}));
}

static void note_read(struct suite_records *records, const struct operation *operation)
{
    ISO_GROW(records->reads, records->read_count, records->read_capacity);
    records->reads[records->read_count++] =
        (struct suite_read){hash_of(operation), operation->sent, operation->answered};
}

/* ---- which table an operation is of ---- */

/* The name in an operation's text: {"t":"r","row":"public.a~16385/1",... Its table, and behind it. */
struct meant {
    const char *mark, *behind; /* the '~', and what stands behind the number; NULL: there is none */
    uint32_t oid;
};

static struct meant find_meant(const char *name, const char *end)
{
    const char *at = name;
    struct meant meant = {.mark = NULL};
    while (at < end && *at != '/' && *at != '"')
        at++;
    meant.behind = at;
    while (at > name && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (at > name && at < meant.behind && at[-1] == '~') {
        meant.mark = at - 1;
        meant.oid = (uint32_t)strtoul(at, NULL, 10);
    }
    return meant;
}

/* Where the name of an operation begins. */
static const char *find_name(const char *at, const char *end)
{
    static const char row[] = "\"row\":\"", table[] = "\"table\":\"";
    const char *found = memmem(at, (size_t)(end - at), row, sizeof row - 1);
    if (found)
        return found + sizeof row - 1;
    found = memmem(at, (size_t)(end - at), table, sizeof table - 1);
    return found ? found + sizeof table - 1 : NULL;
}

/* PostgreSQL shows snapshots from before a TRUNCATE an empty table, once it is over. */
static bool may_be_emptied(const struct suite_table *table, const char *line, size_t length)
{
    static const char member[] = ",\"snapshot\":\"";
    const char *at = table->truncated ? memmem(line, length, member, sizeof member - 1) : NULL;
    return at &&
           (int32_t)(table->truncated - (uint32_t)strtoull(at + sizeof member - 1, NULL, 10)) >= 0;
}

/* The table that the statement surely meant. Of one that held what nobody knows, single rows. */
static const struct suite_table *table_of(const struct suite_records *records,
                                          const struct suite_tables *tables, uint32_t oid,
                                          const struct operation *operation)
{
    int64_t answered = operation->answered ? (int64_t)operation->answered : INT64_MAX;
    const struct suite_table *table =
        suite_tables_meant(tables, oid, (int64_t)operation->sent, answered);
    bool is_judged = table && suite_table_is_judged(table) &&
                     !(table->is_met && operation->is_query) &&
                     !may_be_emptied(table, records->line, records->length);
    return is_judged ? table : NULL;
}

static void leave_out(struct suite_records *records, struct suite_tables *tables, uint32_t oid)
{
    uint32_t newest = iso_number_map_get(&tables->by_oid, oid);
    if (newest != ISO_NUMBER_NONE)
        tables->list[newest].left_out++;
    records->left_out++;
}

/* A text in which `mark` and the number behind it make way for the table's own. */
static void put_labelled(struct iso_text *put, const char *from, const char *end,
                         const struct meant *meant, const struct suite_table *table)
{
    if (!meant->mark || !table) {
        iso_text_put_bytes(put, from, (size_t)(end - from));
        return;
    }
    iso_text_put_bytes(put, from, (size_t)(meant->mark - from));
    if (table->of_name != ISO_NUMBER_NONE)
        iso_text_put(put, strrchr(table->identity, '~'));
    iso_text_put_bytes(put, meant->behind, (size_t)(end - meant->behind));
}

/* False: a write is left out. */
static bool put_operation(struct suite_records *records, struct suite_tables *tables,
                          const char *from, struct operation *operation, struct iso_text *put)
{
    bool reads = is_read(operation);
    const char *end = records->json.at, *name = find_name(from, end);
    struct iso_json_text plain = operation->name;
    struct meant meant = {.mark = NULL};
    const struct suite_table *table = NULL;
    if (tables && name)
        meant = find_meant(name, end);
    if (meant.mark && !(table = table_of(records, tables, meant.oid, operation))) {
        if (reads)
            leave_out(records, tables, meant.oid);
        return reads;
    }
    iso_text_put(put, put->used && put->bytes[put->used - 1] == '[' ? "" : ",");
    put_labelled(put, from, end, &meant, table);
    struct meant named = find_meant(plain.at, plain.at + plain.length);
    records->name.used = 0;
    put_labelled(&records->name, plain.at, plain.at + plain.length, &named, table);
    operation->name = (struct iso_json_text){records->name.bytes, records->name.used};
    note_statement(records, operation);
    if (reads)
        note_read(records, operation);
    return true;
}

/* False: writes are left out, of tables that nobody is sure of. */
static bool take_operations(struct suite_records *records, struct suite_tables *tables,
                            bool has_rolled_back, struct iso_text *put)
{
    struct iso_json *json = &records->json;
    bool is_whole = true;
    iso_text_put(put, "[");
    iso_json_enter_array(json);
    while (iso_json_element(json)) {
        const char *from = json->at;
        struct operation operation = take_operation(json);
        if (!has_rolled_back || (is_read(&operation) && !operation.is_own))
            is_whole &= put_operation(records, tables, from, &operation, put);
    }
    iso_text_put(put, "]");
    return is_whole;
}

static void take_level(struct iso_json *json, struct suite_record *record)
{
    struct iso_json_text name;
    iso_json_string(json, &name);
    for (int level = 0; level < SUITE_LEVELS; level++)
        if (iso_json_is(&name, suite_level_names[level])) {
            record->level = (enum suite_level)level;
            record->is_known = true;
        }
}

/* Of one that rolled back neither its outcome is said, nor what the change stream would know it
 * by. */
static bool is_left_out(const struct iso_json_text *member)
{
    return iso_json_is(member, "xid") || iso_json_is(member, "writes") ||
           iso_json_is(member, "status");
}

/* The record ends with ,"test":"NAME","status":"committed"}. */
static void find_test(struct suite_records *records)
{
    static const char member[] = ",\"test\":", behind[] = ",\"status\":\"";
    const char *end = memrchr(records->line, ',', records->length), *at = end;
    struct iso_json *json = &records->json;
    struct iso_json_text text;
    records->test.used = 0;
    if (!end || strncmp(end, behind, sizeof behind - 1) != 0)
        return;
    while (--at > records->line && end - at < TEST_MOST)
        if (!strncmp(at, member, sizeof member - 1))
            break;
    if (strncmp(at, member, sizeof member - 1) != 0)
        return;
    iso_json_start(json, at + sizeof member - 1,
                   records->length - (size_t)(at - records->line) - (sizeof member - 1));
    if (iso_json_string(json, &text) && json->at == end)
        iso_text_put_bytes(&records->test, text.at, text.length);
}

/* With the test behind it. */
static uint64_t put_id(struct suite_records *records, const struct iso_json_text *id,
                       struct iso_text *put)
{
    records->name.used = 0;
    iso_text_put_bytes(&records->name, id->at, id->length);
    iso_text_put(&records->name, records->test.used ? " " : "");
    iso_text_put_bytes(&records->name, records->test.bytes, records->test.used);
    iso_text_put_string(put, records->name.bytes, records->name.used);
    return iso_hash_text(records->name.bytes, records->name.used);
}

static bool ends_with(const char *line, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length >= size && !memcmp(line + length - size, end, size);
}

static void note_xid(struct suite_records *records, const struct iso_json_text *text)
{
    char digits[24] = "";
    if (text->length < sizeof digits &&
        ends_with(records->line, records->length, ",\"status\":\"committed\"}")) {
        memcpy(digits, text->at, text->length);
        ISO_PUSH(records->xids, records->xid_count, records->xid_capacity,
                 (uint32_t)strtoull(digits, NULL, 10));
    }
}

static void take_members(struct suite_records *records, struct suite_tables *tables,
                         struct suite_record *record, uint64_t *tid, struct iso_text *put)
{
    struct iso_json *json = &records->json;
    struct iso_json_text member, text;
    bool is_added = false; /* "writes" */
    while (iso_json_member(json, &member)) {
        const char *name = member.at - 1, *value = json->at;
        size_t before = put->used;
        iso_text_format(put, "%s%.*s", before > 1 ? "," : "", (int)(value - name), name);
        if (iso_json_is(&member, "ops")) {
            if (!take_operations(records, tables, record->has_rolled_back, put) &&
                !record->has_rolled_back)
                iso_text_put(put, ",\"writes\":\"cdc\""), is_added = true;
            continue;
        }
        if (iso_json_is(&member, "tid") && iso_json_string(json, &text)) {
            *tid = put_id(records, &text, put);
            continue;
        }
        if (iso_json_is(&member, "xid") && iso_json_string(json, &text))
            note_xid(records, &text);
        else if (iso_json_is(&member, "level"))
            take_level(json, record);
        else if (iso_json_is(&member, "sent"))
            record->sent = take_number(json);
        else if (iso_json_is(&member, "answered"))
            record->answered = take_number(json);
        else
            iso_json_skip(json);
        if ((record->has_rolled_back && is_left_out(&member)) ||
            (is_added && iso_json_is(&member, "writes")))
            put->used = before;
        else
            iso_text_put_bytes(put, value, (size_t)(json->at - value));
    }
}

void suite_records_take(struct suite_records *records, struct suite_tables *tables,
                        const char *line, size_t length, struct iso_text *put)
{
    uint64_t tid = 0;
    struct suite_record record = {.first = records->read_count,
                                  .first_statement = records->statement_count,
                                  .has_rolled_back =
                                      ends_with(line, length, ",\"status\":\"aborted\"}")};
    records->line = line;
    records->length = length;
    records->text = ISO_NUMBER_NONE;
    find_test(records);
    iso_json_start(&records->json, line, length);
    put->used = 0;
    iso_text_put(put, "{");
    if (iso_json_enter_object(&records->json))
        take_members(records, tables, &record, &tid, put);
    iso_text_put(put, "}");
    if (records->json.code != ISO_JSON_FINE || !tid) { /* how many records there are */
        put->used = 0;
        iso_text_put_bytes(put, line, length);
        records->read_count = record.first;
        records->statement_count = record.first_statement;
        return;
    }
    record.count = records->read_count - record.first;
    record.statement_count = records->statement_count - record.first_statement;
    iso_number_map_put(&records->by_tid, tid, records->count);
    ISO_GROW(records->list, records->count, records->capacity);
    records->list[records->count++] = record;
}

/* ---- a history ---- */

const struct suite_record *suite_records_find(const struct suite_records *records,
                                              const struct iso_history *history,
                                              uint32_t transaction)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *tid =
        iso_atom_text(&history->atoms, history->txns.tid[transaction], buffer, &length);
    uint32_t found = iso_number_map_get(&records->by_tid, iso_hash_text(tid, length));
    return found == ISO_NUMBER_NONE ? NULL : &records->list[found];
}

uint64_t suite_records_end(const struct suite_records *records, const struct suite_record *record)
{
    uint64_t end = record->answered;
    for (uint32_t i = 0; i < record->count; i++)
        if (records->reads[record->first + i].answered > end)
            end = records->reads[record->first + i].answered;
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

void suite_records_put_statements(const void *context, const struct iso_history *history,
                                  uint32_t transaction, uint32_t key, struct iso_text *text)
{
    const struct suite_records *records = context;
    const struct suite_record *record = suite_records_find(records, history, transaction);
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    uint64_t row, query;
    const char *name = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &length);
    uint32_t last = ISO_NUMBER_NONE;
    hash_row(name, length, &row, &query);
    for (uint32_t i = 0; record && i < record->statement_count; i++) {
        const struct suite_statement *statement = &records->statements[record->first_statement + i];
        if ((statement->key != row && statement->key != query) || statement->text == last)
            continue;
        last = statement->text;
        iso_text_format(text, "%s%s", text->used ? "; " : "", records->texts.bytes + last);
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
static void tell_foreign(const struct suite_records *records, const struct iso_history *history,
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
        suite_snapshots_find(&records->snapshots, (uint32_t)xid, &messages->commit_answered[t],
                             &messages->commit_sent[t]);
    else if (begins(&tid, "snapshot:") || begins(&tid, "unknown:"))
        messages->commit_answered[t] = 1;
}

void suite_records_tell(const struct suite_records *records, struct iso_history *history,
                        struct iso_history_messages *messages)
{
    size_t operations = (size_t)history->ops.count + 1,
           transactions = (size_t)history->txns.count + 1;
    *messages = (struct iso_history_messages){iso_allocate_zeroed(operations, sizeof(uint64_t)),
                                              iso_allocate_zeroed(operations, sizeof(uint64_t)),
                                              iso_allocate_zeroed(transactions, sizeof(uint64_t)),
                                              iso_allocate_zeroed(transactions, sizeof(uint64_t))};
    for (uint32_t t = 0; t < history->txns.count; t++) {
        const struct suite_record *record = suite_records_find(records, history, t);
        if (!record) {
            tell_foreign(records, history, t, messages);
            continue;
        }
        messages->commit_sent[t] = record->sent;
        messages->commit_answered[t] = record->answered;
        if (record->is_known && record->level == SUITE_READ_COMMITTED)
            tell_reads(history, t, records->reads + record->first, record->count, messages);
    }
    history->messages = messages;
}

void suite_messages_release(struct iso_history_messages *messages)
{
    ISO_FREE_ALL(messages->sent, messages->answered, messages->commit_sent,
                 messages->commit_answered);
}
