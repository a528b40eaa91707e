#define _GNU_SOURCE
#include "suite/records.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suite/operation.h"
#include "suite/told.h"

void suite_records_release(struct suite_records *records)
{
    iso_json_release(&records->json);
    iso_text_release(&records->name);
    iso_text_release(&records->test);
    iso_free(records->xids);
}

/* ---- which table an operation is of ---- */

/* The name in an operation's text, a JSON string: {"t":"r","row":"public.a~16385/1",... Its table,
 * and behind it. */
struct meant {
    const char *mark, *behind; /* the '~', and what stands behind the number; NULL: there is none */
    uint32_t oid;
};

static struct meant find_meant(const char *name, const char *end)
{
    const char *at = name;
    struct meant meant = {.mark = NULL};
    while (at < end && *at != '/' && *at != '"')
        at += *at == '\\' ? 2 : 1;
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
    static const char *const members[] = {"\"row\":\"", "\"table\":\"", "\"k\":\""};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        size_t length = strlen(members[i]);
        const char *found = memmem(at, (size_t)(end - at), members[i], length);
        if (found)
            return found + length;
    }
    return NULL;
}

/* PostgreSQL shows snapshots from before a TRUNCATE an empty table, once it is over. */
static bool may_be_emptied(const struct suite_table *table, const char *line, size_t length)
{
    static const char member[] = ",\"snapshot\":\"";
    const char *at = table->truncated ? memmem(line, length, member, sizeof member - 1) : NULL;
    return at &&
           (int32_t)(table->truncated - (uint32_t)strtoull(at + sizeof member - 1, NULL, 10)) >= 0;
}

/* The table that the statement surely meant. Of one that held what nobody knows, single rows.
 *
 * Of a transaction that wrote, the one that had the name until it was over: what it changed of
 * another is nobody's (tables.c), and neither what it says that it wrote nor what it read behind
 * that can be compared with anything. */
static const struct suite_table *table_of(const struct suite_records *records,
                                          const struct suite_tables *tables, uint32_t oid,
                                          const struct suite_operation *operation)
{
    int64_t answered = records->ended        ? records->ended
                       : operation->answered ? (int64_t)operation->answered
                                             : INT64_MAX;
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
                          const char *from, const struct suite_operation *operation,
                          struct iso_text *put)
{
    bool reads = suite_operation_reads(operation);
    const char *end = records->json.at, *name = find_name(from, end);
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
        struct suite_operation operation = suite_operation_take(json);
        if (!has_rolled_back || (suite_operation_reads(&operation) && !operation.is_own))
            is_whole &= put_operation(records, tables, from, &operation, put);
    }
    iso_text_put(put, "]");
    return is_whole;
}

/* Of one that rolled back neither its outcome is said, nor what the change stream would know it
 * by. */
static bool is_left_out(const struct iso_json_text *member)
{
    return iso_json_is(member, "xid") || iso_json_is(member, "writes") ||
           iso_json_is(member, "status");
}

/* What stands behind the operations and is asked before them. */
static void look_ahead(struct suite_records *records)
{
    struct iso_json *json = &records->json;
    struct iso_json_text member, text;
    bool has_written = false;
    uint64_t answered = 0;
    records->test.used = 0;
    iso_json_start(json, records->line, records->length);
    iso_json_enter_object(json);
    while (iso_json_member(json, &member)) {
        has_written |= iso_json_is(&member, "xid");
        if (iso_json_is(&member, "answered"))
            answered = suite_take_number(json);
        else if (iso_json_is(&member, "test") && iso_json_string(json, &text))
            iso_text_put_bytes(&records->test, text.at, text.length);
        else
            iso_json_skip(json);
    }
    records->ended = !has_written ? 0 : answered ? (int64_t)answered : INT64_MAX;
}

/* With the test behind it. */
static void put_id(struct suite_records *records, const struct iso_json_text *id,
                   struct iso_text *put)
{
    records->name.used = 0;
    iso_text_put_bytes(&records->name, id->at, id->length);
    iso_text_put(&records->name, records->test.used ? " " : "");
    iso_text_put_bytes(&records->name, records->test.bytes, records->test.used);
    iso_text_put_string(put, records->name.bytes, records->name.used);
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
                         bool has_rolled_back, struct iso_text *put)
{
    struct iso_json *json = &records->json;
    struct iso_json_text member, text;
    bool is_added = false; /* "writes" */
    while (iso_json_member(json, &member)) {
        const char *name = member.at - 1, *value = json->at;
        size_t before = put->used;
        iso_text_format(put, "%s%.*s", before > 1 ? "," : "", (int)(value - name), name);
        if (iso_json_is(&member, "ops")) {
            if (!take_operations(records, tables, has_rolled_back, put) && !has_rolled_back)
                iso_text_put(put, ",\"writes\":\"cdc\""), is_added = true;
            continue;
        }
        if (iso_json_is(&member, "tid") && iso_json_string(json, &text)) {
            put_id(records, &text, put);
            continue;
        }
        if (iso_json_is(&member, "xid") && iso_json_string(json, &text))
            note_xid(records, &text);
        else
            iso_json_skip(json);
        if ((has_rolled_back && is_left_out(&member)) ||
            (is_added && iso_json_is(&member, "writes")))
            put->used = before;
        else
            iso_text_put_bytes(put, value, (size_t)(json->at - value));
    }
}

void suite_records_take(struct suite_records *records, struct suite_tables *tables,
                        const char *line, size_t length, struct iso_text *put)
{
    bool has_rolled_back = ends_with(line, length, ",\"status\":\"aborted\"}");
    records->line = line;
    records->length = length;
    look_ahead(records);
    records->ended = has_rolled_back ? 0 : records->ended;
    iso_json_start(&records->json, line, length);
    put->used = 0;
    iso_text_put(put, "{");
    if (iso_json_enter_object(&records->json))
        take_members(records, tables, has_rolled_back, put);
    iso_text_put(put, has_rolled_back ? ",\"" SUITE_ROLLED_BACK "\":true}" : "}");
    if (records->json.code != ISO_JSON_FINE) {
        put->used = 0;
        iso_text_put_bytes(put, line, length);
    }
}
