#include "suite/changes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "connectors/envelope/tuple.h"
#include "suite/slot.h"

enum { INITIAL_ROWS = 5000 };

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum iso_status suite_capture_put(struct suite_capture *capture, const char *topic, const char *key,
                                  size_t key_length, const char *payload, size_t length,
                                  struct iso_error *error)
{
    uint32_t input = !strcmp(topic, SUITE_RECORDS)     ? 1
                     : !strcmp(topic, SUITE_SNAPSHOTS) ? 2
                     : !strcmp(topic, SUITE_KEYLESS)   ? 3
                                                       : 0;
    struct iso_message message = {.topic = topic,
                                  .broker = -1,
                                  .offset = capture->messages[input]++,
                                  .timestamp = milliseconds(),
                                  .timestamp_type = ISO_TIMESTAMP_CREATE,
                                  .input = input,
                                  .key = {(const uint8_t *)key, (uint32_t)key_length},
                                  .payload = {(const uint8_t *)payload, (uint32_t)length}};
    return iso_capture_write(capture->writer, &message, error);
}

enum iso_status suite_capture_read(const char *path,
                                   void (*take)(void *context, const char *topic, const char *text,
                                                size_t length),
                                   void *context, struct iso_error *error)
{
    struct iso_inputs inputs;
    struct iso_text text = {0};
    const struct iso_message *messages;
    uint32_t count;
    iso_inputs_init(&inputs);
    struct iso_capture_reader *reader = iso_capture_reader_new(path, &inputs, error);
    while (reader && iso_capture_read(reader, &messages, &count, error) == ISO_OK && count)
        for (uint32_t i = 0; i < count; i++) {
            text.used = 0;
            iso_text_put_bytes(&text, messages[i].payload.data, messages[i].payload.size);
            *iso_text_reserve(&text, ISO_JSON_PADDING) = 0;
            take(context, messages[i].topic, text.bytes, text.used);
        }
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
    iso_text_release(&text);
    return error->status;
}

void suite_changes_release(struct suite_changes *changes)
{
    suite_tables_release(&changes->tables);
    iso_text_release(&changes->line);
    iso_text_release(&changes->key);
    iso_number_map_release(&changes->seen);
}

static enum iso_status put_line(struct suite_changes *changes, bool has_key,
                                struct iso_error *error)
{
    return suite_capture_put(changes->capture, SUITE_CHANGES, has_key ? changes->key.bytes : NULL,
                             has_key ? changes->key.used : 0, changes->line.bytes,
                             changes->line.used, error);
}

/* "OP XID LSN PREVIOUS ORDER TABLE". */
static void start_line(struct suite_changes *changes, char op, uint32_t order, const char *label)
{
    changes->line.used = 0;
    iso_text_format(&changes->line, "%c %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %s", op,
                    changes->xid, changes->place, changes->previous, order, label);
}

bool suite_find_key(struct iso_text *key, const char *columns, const char *row, const char *end)
{
    const char *last = columns + strlen(columns);
    key->used = 0;
    for (const char *at = columns; at < last; at++) {
        struct iso_json_text wanted = tuple_name(at, last, ',');
        struct tuple_column column;
        const char *from = row, *next = row;
        bool found = false;
        while (!found && next < end && tuple_next(&next, end, &column)) {
            struct iso_json_text name = tuple_name(from, end, '[');
            found = name.length == wanted.length && !memcmp(name.at, wanted.at, name.length);
            if (found)
                iso_text_format(key, "%s%.*s", key->used ? " " : "",
                                (int)(next - from - (next < end)), from);
            from = next;
        }
        if (!found)
            return false;
        at = wanted.at + wanted.length;
    }
    return true;
}

/* The line at hand with its images, under the key of the row `key_row`. */
static enum iso_status put_row(struct suite_changes *changes, struct suite_table *table,
                               struct iso_json_text image, struct iso_json_text key_row,
                               struct iso_error *error)
{
    const char *end = key_row.at + key_row.length;
    if (!suite_find_key(&changes->key, table->columns, key_row.at, end)) {
        table->is_unknown = true; /* its key was another one then */
        changes->order--;
        return ISO_OK;
    }
    iso_text_put_bytes(&changes->line, " ", 1);
    iso_text_put_bytes(&changes->line, image.at, image.length);
    return put_line(changes, true, error);
}

/* ---- rows that were there ---- */

/* How its rows are printed as test_decoding would. */
static enum iso_status ask_expression(struct iso_database *database,
                                      const struct suite_table *table, struct iso_text *sql,
                                      struct iso_error *error)
{
    char question[700];
    snprintf(
        question, sizeof question,
        "SELECT string_agg(format('%%L || CASE WHEN num_nulls(%%I) = 1 THEN ''null'' ELSE "
        "'''''''' || replace(concat(%%I), '''''''', '''''''''''') || '''''''' END', "
        "quote_ident(attname) || '[' || format_type(atttypid, NULL) || ']:', attname, "
        "attname), ' || '' '' || ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = %" PRIu32
        " AND attnum > 0 AND NOT attisdropped",
        table->oid);
    if (suite_ask(database, question, error) != ISO_OK)
        return error->status;
    const char *expression = iso_database_value(database, 0, 0);
    sql->used = 0;
    iso_text_format(sql, "DECLARE isochron_rows NO SCROLL CURSOR FOR SELECT %s FROM ONLY %s",
                    expression ? expression : "''", table->name);
    *iso_text_reserve(sql, 1) = 0;
    return ISO_OK;
}

enum iso_status suite_changes_put_initial(struct suite_changes *changes,
                                          struct iso_database *database, struct suite_table *table,
                                          uint64_t start, struct iso_error *error)
{
    char fetch[60];
    struct iso_text sql = {0};
    uint32_t rows = 1;
    changes->place = changes->previous = start;
    snprintf(fetch, sizeof fetch, "FETCH %d FROM isochron_rows", INITIAL_ROWS);
    if (!table->columns || ask_expression(database, table, &sql, error) != ISO_OK ||
        suite_ask(database, sql.bytes, error) != ISO_OK) {
        iso_text_release(&sql);
        return error->status;
    }
    while (rows && suite_ask(database, fetch, error) == ISO_OK) {
        rows = iso_database_rows(database);
        for (uint32_t i = 0; i < rows && error->status == ISO_OK; i++) {
            const char *text = iso_database_value(database, i, 0);
            struct iso_json_text row = {text, strlen(text)};
            changes->line.used = 0;
            iso_text_format(&changes->line, "r 0 %" PRIu64 " %" PRIu64 " true %s", start, start,
                            table->label);
            put_row(changes, table, row, row, error);
        }
    }
    iso_text_release(&sql);
    return error->status == ISO_OK ? suite_ask(database, "CLOSE isochron_rows", error)
                                   : error->status;
}

/* ---- changes ---- */

static enum iso_status put_of_table(struct suite_changes *changes, char op, uint32_t order,
                                    const struct suite_table *table, struct iso_error *error)
{
    start_line(changes, op, order, table->label);
    return put_line(changes, false, error);
}

/* No change of it is missing from its making to where it got its key. */
static bool is_known(const struct suite_tables *tables, const struct suite_table *table)
{
    const struct suite_table *before =
        table->keyless == ISO_NUMBER_NONE ? NULL : &tables->list[table->keyless];
    return before && before->has_begun && !before->is_met && !before->is_missed &&
           !table->is_missed && before->changed <= before->place;
}

/* It was made by this transaction, or got a key; or nobody knows what it holds. */
static enum iso_status start_table(struct suite_changes *changes, struct suite_table *table,
                                   bool is_made, struct iso_error *error)
{
    changes->tables.beginning -= !table->has_begun;
    table->has_begun = true;
    table->is_heir = !is_made && is_known(&changes->tables, table);
    table->is_met = !is_made && !table->is_heir;
    changes->has_heirs |= table->is_heir;
    if (table->is_heir)
        table->truncated = changes->tables.list[table->keyless].truncated;
    return !table->is_met || !suite_table_is_judged(table)
               ? ISO_OK
               : put_of_table(changes, 's', 0, table, error);
}

static enum iso_status start_tables(struct suite_changes *changes, struct iso_error *error)
{
    const struct suite_tables *tables = &changes->tables;
    for (uint32_t i = tables->count; tables->beginning && i-- && error->status == ISO_OK;) {
        struct suite_table *table = &tables->list[i];
        bool is_made = table->is_new && table->made == changes->xid;
        if (!table->has_begun && (is_made || changes->place >= table->from))
            start_table(changes, table, is_made, error);
    }
    return error->status;
}

static enum iso_status begin(struct suite_changes *changes, uint32_t xid, struct iso_error *error)
{
    changes->xid = xid;
    iso_number_map_put(&changes->seen, xid, 0);
    changes->order = 0;
    changes->line.used = 0;
    iso_text_format(&changes->line, "B %" PRIu32 " %" PRIu64, xid, changes->place);
    return put_line(changes, false, error) == ISO_OK ? start_tables(changes, error) : error->status;
}

static enum iso_status commit(struct suite_changes *changes, struct iso_error *error)
{
    changes->line.used = 0;
    iso_text_format(&changes->line, "E %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRId64, changes->xid,
                    changes->place, changes->order, milliseconds());
    changes->previous = changes->place;
    return put_line(changes, false, error);
}

enum iso_status suite_changes_put_empty(struct suite_changes *changes, uint32_t xid,
                                        struct iso_error *error)
{
    if (iso_number_map_get(&changes->seen, xid) != ISO_NUMBER_NONE)
        return ISO_OK;
    changes->place = changes->previous + 1;
    return begin(changes, xid, error) == ISO_OK ? commit(changes, error) : error->status;
}

/* A change of it, or of another of its name, is nobody's. */
static void miss(const struct suite_tables *tables, struct iso_json_text name)
{
    for (uint32_t i = iso_number_map_get(&tables->by_name, iso_hash_text(name.at, name.length));
         i != ISO_NUMBER_NONE; i = tables->list[i].of_name)
        tables->list[i].is_missed = true;
}

/* The table of a line, if it is judged; it may begin here. What made a table in the place of
 * another may have written that. */
static struct suite_table *find_table(struct suite_changes *changes, struct iso_json_text name,
                                      struct iso_error *error)
{
    struct suite_table *table =
        suite_tables_find(&changes->tables, name.at, name.length, changes->xid, changes->place);
    bool is_another = table && suite_table_is_made_by(table, changes->xid) &&
                      (!table->is_alone || changes->place < table->defined);
    if (!table || is_another)
        miss(&changes->tables, name);
    if (table && !table->is_met && (!table->has_begun || is_another))
        start_table(changes, table, false, error);
    bool may_be = table && (suite_table_is_judged(table) || suite_table_may_be_judged(table));
    return may_be && !is_another && error->status == ISO_OK ? table : NULL;
}

/* Its rows are known once it gets a key, if none of them changes until then. */
static enum iso_status put_keyless(struct suite_changes *changes, struct suite_table *table,
                                   char op, struct iso_json_text image, struct iso_error *error)
{
    table->changed = changes->place;
    table->is_missed |= op == 'u' || op == 'd';
    start_line(changes, op, 0, table->label);
    iso_text_put(&changes->line, image.length ? " " : "");
    iso_text_put_bytes(&changes->line, image.at, image.length);
    return table->is_missed ? error->status
                            : suite_capture_put(changes->capture, SUITE_KEYLESS, NULL, 0,
                                                changes->line.bytes, changes->line.used, error);
}

/* public.a, public.b: TRUNCATE: (no-flags) */
static enum iso_status truncate(struct suite_changes *changes, struct iso_json_text names,
                                struct iso_error *error)
{
    const char *at = names.at, *end = names.at + names.length;
    while (at < end && error->status == ISO_OK) {
        struct iso_json_text name = tuple_name(at, end, ',');
        struct suite_table *table = find_table(changes, name, error);
        if (table && !table->columns)
            put_keyless(changes, table, 't', (struct iso_json_text){"", 0}, error);
        else if (table)
            put_of_table(changes, 't', ++changes->order, table, error);
        if (table)
            table->truncated = changes->xid;
        at = name.at + name.length;
        at += at < end ? 2 : 0;
    }
    return error->status;
}

static bool begins(const char **at, const char *end, const char *word)
{
    size_t length = strlen(word);
    bool is = (size_t)(end - *at) >= length && !memcmp(*at, word, length);
    *at += is ? length : 0;
    return is;
}

/* A key that changed is a row deleted and a row inserted. */
static enum iso_status update(struct suite_changes *changes, struct suite_table *table,
                              struct iso_json_text image, struct iso_error *error)
{
    static const char new[] = "new-tuple: ";
    const char *end = image.at + image.length, *at = image.at;
    bool has_old = begins(&at, end, "old-key: ");
    struct iso_json_text before = {at, 0}, after = image;
    if (has_old) {
        const char *middle = tuple_end(at, end);
        before.length = (size_t)(middle - at) - (middle > at);
        after = (struct iso_json_text){middle, (size_t)(end - middle)};
        if (begins(&middle, end, new))
            after = (struct iso_json_text){middle, (size_t)(end - middle)};
    }
    struct iso_text key = {0};
    bool moves =
        has_old && suite_find_key(&key, table->columns, before.at, before.at + before.length) &&
        suite_find_key(&changes->key, table->columns, after.at, after.at + after.length) &&
        (key.used != changes->key.used || memcmp(key.bytes, changes->key.bytes, key.used) != 0);
    iso_text_release(&key);
    if (moves) {
        start_line(changes, 'd', ++changes->order, table->label);
        if (put_row(changes, table, before, before, error) != ISO_OK)
            return error->status;
    }
    start_line(changes, moves ? 'c' : 'u', ++changes->order, table->label);
    return put_row(changes, table, moves || !has_old ? after : image, after, error);
}

/* "table public.a: INSERT: id[integer]:1" */
static enum iso_status take_table(struct suite_changes *changes, const char *at, const char *end,
                                  struct iso_error *error)
{
    struct iso_json_text name = tuple_name(at, end, ':');
    at = name.at + name.length;
    at += end - at < 2 ? end - at : 2;
    if (begins(&at, end, "TRUNCATE: "))
        return truncate(changes, name, error);
    struct suite_table *table = find_table(changes, name, error);
    if (!table)
        return error->status;
    bool inserts = begins(&at, end, "INSERT: "), deletes = !inserts && begins(&at, end, "DELETE: ");
    if (!inserts && !deletes && !begins(&at, end, "UPDATE: "))
        return iso_error_set(error, ISO_FAILED, "a line of test_decoding that is not known: %.60s",
                             at);
    struct iso_json_text image = {at, (size_t)(end - at)};
    if (!table->columns)
        return put_keyless(changes, table, inserts ? 'c' : deletes ? 'd' : 'u', image, error);
    if (!inserts && !deletes)
        return update(changes, table, image, error);
    start_line(changes, inserts ? 'c' : 'd', ++changes->order, table->label);
    return put_row(changes, table, image, image, error);
}

enum iso_status suite_changes_take(struct suite_changes *changes, uint64_t place, const char *line,
                                   struct iso_error *error)
{
    changes->place = place;
    const char *at = line, *end = line + strlen(line);
    if (begins(&at, end, "BEGIN "))
        return begin(changes, (uint32_t)strtoul(at, NULL, 10), error);
    if (begins(&at, end, "COMMIT "))
        return commit(changes, error);
    changes->ended |= begins(&at, end, "message: transactional: 1 prefix: isochron run,");
    return begins(&at, end, "table ") ? take_table(changes, at, end, error) : ISO_OK;
}
