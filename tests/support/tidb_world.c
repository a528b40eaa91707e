#include "tests/support/tidb_world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { STEPS = 90, DDL_PERCENT = 9, BASE_TABLE_ID = 104 };
static const uint64_t start_of_time = 447984099187490720u;

struct transaction {
    bool is_active, is_pessimistic, is_withheld, writes, reads;
    bool names; /* labels, rather than number them */
    bool lists; /* the columns that its updates write; else the stream says them */
    uint32_t number, session;
    uint64_t sts;
    struct own {
        bool is_touched, exists, was_there;
        uint64_t ots; /* of its first write */
        struct tidb_values values, before;
        bool is_known[TIDB_COLUMNS]; /* of what was there */
        bool was_read[TIDB_COLUMNS], is_set[TIDB_COLUMNS];
    } own[TIDB_TABLES][TIDB_ROWS];
    struct iso_text operations;
    uint32_t lie_count;
    struct tidb_lie lies[8];
};

struct run {
    struct tidb_world *world;
    struct transaction active[TIDB_ACTIVE];
};

static uint32_t below(struct tidb_world *world, uint32_t limit)
{
    return random_below(&world->random, limit);
}

static bool percent(struct tidb_world *world, uint32_t share)
{
    return random_percent(&world->random, share);
}

static const struct tidb_schema *schema_of(const struct tidb_world *world, uint32_t table)
{
    return &world->schemas[world->tables[table].schema];
}

static bool is_full(const struct tidb_world *world)
{
    bool full = world->event_count + 60 > TIDB_EVENTS || world->schema_count + 4 > TIDB_SCHEMAS ||
                world->line_count + 8 > TIDB_LINES || world->lie_count + 20 > TIDB_LIES;
    for (uint32_t t = 0; t < TIDB_TABLES; t++)
        for (uint32_t r = 0; r < TIDB_ROWS; r++)
            full |= world->tables[t].rows[r].count + 4 > TIDB_VERSIONS;
    return full;
}

/* ---- versions ---- */

static const struct tidb_version *newest(const struct tidb_row *row, uint64_t at)
{
    static const struct tidb_version nothing = {.exists = false};
    for (uint32_t i = row->count; i-- > 0;)
        if (row->list[i].cts <= at)
            return &row->list[i];
    return &nothing;
}

static struct tidb_version *add_version(struct tidb_row *row, const struct tidb_version *like,
                                        uint64_t cts)
{
    struct tidb_version copy = *like;
    assert(row->count < TIDB_VERSIONS);
    copy.cts = cts;
    row->list[row->count] = copy;
    return &row->list[row->count++];
}

/* ---- tables ---- */

static void shuffle(struct tidb_world *world, uint8_t *list, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = below(world, i);
        uint8_t swapped = list[i - 1];
        list[i - 1] = list[other];
        list[other] = swapped;
    }
}

/* The next form of the one table of types, so that all occur; some columns have a default. */
static void add_column(struct tidb_world *world, struct tidb_schema *schema)
{
    assert(schema->column_count < TIDB_COLUMNS);
    struct tidb_column *column = &schema->columns[schema->column_count];
    *column = (struct tidb_column){.type = &tidb_types[below(world, TIDB_FORMS)]};
    snprintf(column->name, sizeof column->name, "v%u", schema->column_count++);
    column->has_default = column->type->form == TIDB_INTEGER && percent(world, 50);
}

static bool is_csv(const struct tidb_world *world)
{
    return !strcmp(world->format, "csv");
}

/* Of the types that the format spells as clients do. A label's and a moment's pool has fewer
 * values, or none that a key could have without zone=same. */
static const struct tidb_type *key_type(struct tidb_world *world)
{
    static const uint8_t forms[] = {TIDB_UNSIGNED, TIDB_BYTES,  TIDB_BIT,      TIDB_SET,
                                    TIDB_VARCHAR,  TIDB_DATE,   TIDB_DATETIME, TIDB_TIME,
                                    TIDB_YEAR,     TIDB_DECIMAL};
    bool counts = !strcmp(world->format, "debezium");
    uint8_t form = forms[below(world, counts ? 5 : sizeof forms)];
    return percent(world, 50)                                            ? &tidb_types[TIDB_INTEGER]
           : form == TIDB_VARCHAR || (form == TIDB_SET && is_csv(world)) ? &tidb_key_text
                                                                         : &tidb_types[form];
}

static void make_tables(struct tidb_world *world)
{
    struct tidb_schema schema = {.key_count = 1 + below(world, TIDB_KEYS),
                                 .is_unique = percent(world, 25)};
    uint32_t keys[TIDB_ROWS][TIDB_KEYS];
    for (uint32_t i = 0; i < schema.key_count; i++) {
        schema.order[i] = (uint8_t)i;
        schema.key[i] = key_type(world);
    }
    shuffle(world, schema.order, schema.key_count);
    for (uint32_t c = 1 + below(world, 4); c; c--)
        add_column(world, &schema);
    world->first_columns = schema.column_count;
    for (uint32_t r = 0; r < TIDB_ROWS; r++) { /* permutations of each other */
        static const uint32_t permutations[TIDB_ROWS][3] = {{1, 2, 3}, {2, 3, 1}, {3, 1, 2},
                                                            {1, 3, 2}, {2, 1, 3}, {3, 2, 1}};
        memcpy(keys[r], permutations[r], sizeof permutations[r]);
        keys[r][3] = 0;
        if (schema.key_count == 1)
            keys[r][0] = r % TIDB_POOL;
    }
    for (uint32_t t = 0; t < TIDB_TABLES; t++) {
        struct tidb_table *table = &world->tables[t];
        snprintf(schema.name, sizeof schema.name, "t%u", t);
        schema.version = ++world->now;
        schema.id = BASE_TABLE_ID + t;
        table->schema = world->schema_count;
        memcpy(table->keys, keys, sizeof keys);
        world->schemas[world->schema_count++] = schema;
        for (uint32_t r = 0; r < TIDB_ROWS; r++)
            table->rows[r].count = 0;
        struct iso_text sql = {0};
        tidb_put_create(&sql, &schema);
        struct tidb_event *event = &world->events[world->event_count++];
        *event = (struct tidb_event){.kind = TIDB_DDL,
                                     .cts = schema.version,
                                     .table = t,
                                     .schema = table->schema,
                                     .before_schema = ISO_NONE,
                                     .type = "CREATE",
                                     .open_type = 3};
        snprintf(event->sql, sizeof event->sql, "%.*s", (int)sql.used, sql.bytes);
        iso_text_release(&sql);
    }
}

static uint32_t row_count(const struct tidb_schema *schema)
{
    return schema->key_count == 1 ? TIDB_POOL : TIDB_ROWS;
}

/* "shop.t0/1,2": the key as records name it. */
static void put_row_name(struct iso_text *text, const struct tidb_world *world, uint32_t table,
                         uint32_t row)
{
    const struct tidb_schema *schema = schema_of(world, table);
    iso_text_format(text, "shop.%s/", schema->name);
    for (uint32_t i = 0; i < schema->key_count; i++) {
        const char *part = schema->key[i]->pool[world->tables[table].keys[row][i]];
        iso_text_put(text, i ? "," : "");
        for (; *part; part++)
            if (*part == '%' || *part == '/' || *part == ',')
                iso_text_format(text, "%%%02X", (unsigned)*part);
            else
                iso_text_put_bytes(text, part, 1);
    }
}

/* ---- statements ---- */

static struct tidb_event *add_statement(struct tidb_world *world, uint32_t table, const char *type,
                                        unsigned open_type)
{
    struct tidb_event *event = &world->events[world->event_count++];
    uint32_t before = world->tables[table].schema;
    world->schemas[world->schema_count] = world->schemas[before];
    world->schemas[world->schema_count].version = world->altered = world->now;
    world->tables[table].schema = world->schema_count;
    *event = (struct tidb_event){.kind = TIDB_DDL,
                                 .cts = world->now,
                                 .table = table,
                                 .before_schema = before,
                                 .schema = world->schema_count++,
                                 .type = type,
                                 .open_type = open_type};
    return event;
}

/* Each row as it is; what the feed does not tell from now on is not known. */
static void carry_rows(struct tidb_world *world, uint32_t table, bool known)
{
    for (uint32_t r = 0; r < TIDB_ROWS; r++) {
        struct tidb_row *row = &world->tables[table].rows[r];
        struct tidb_version *version = add_version(row, newest(row, UINT64_MAX), world->now);
        for (uint32_t c = 0; c < TIDB_COLUMNS; c++)
            version->is_known[c] &= known;
    }
}

static void empty_rows(struct tidb_world *world, uint32_t table)
{
    static const struct tidb_version nothing = {.exists = false};
    for (uint32_t r = 0; r < TIDB_ROWS; r++)
        add_version(&world->tables[table].rows[r], &nothing, world->now);
}

static void rename_table(struct tidb_world *world, uint32_t table)
{
    struct tidb_event *event = add_statement(world, table, "RENAME", 14);
    struct tidb_schema *schema = &world->schemas[event->schema];
    snprintf(event->sql, sizeof event->sql, "RENAME TABLE `shop`.`%s` TO `shop`.`r%u_%u`",
             schema->name, table, world->schema_count);
    snprintf(schema->name, sizeof schema->name, "r%u_%u", table, world->schema_count);
    carry_rows(world, table, !is_csv(world));
}

static void truncate_table(struct tidb_world *world, uint32_t table)
{
    struct tidb_event *event = add_statement(world, table, "TRUNCATE", 11);
    world->schemas[event->schema].id += 100;
    snprintf(event->sql, sizeof event->sql, "TRUNCATE TABLE `%s`",
             world->schemas[event->schema].name);
    empty_rows(world, table);
}

/* Dropped and made again; or back again, with rows that nobody sends. */
static void drop_table(struct tidb_world *world, uint32_t table)
{
    bool recovers = percent(world, 40) && !is_csv(world);
    struct tidb_event *event = add_statement(world, table, "ERASE", 4);
    struct tidb_schema *schema = &world->schemas[event->schema];
    snprintf(event->sql, sizeof event->sql, "DROP TABLE `shop`.`%s`", schema->name);
    schema->is_gone = true;
    world->now++;
    event = add_statement(world, table, recovers ? "QUERY" : "CREATE", recovers ? 31 : 3);
    schema = &world->schemas[event->schema];
    schema->is_gone = false;
    if (recovers) {
        snprintf(event->sql, sizeof event->sql,
                 percent(world, 50) ? "RECOVER TABLE `%s`" : "FLASHBACK TABLE `%s` TO BEFORE DROP",
                 schema->name);
        carry_rows(world, table, false);
        return;
    }
    struct iso_text sql = {0};
    schema->id += 200;
    event->before_schema = ISO_NONE;
    tidb_put_create(&sql, schema);
    snprintf(event->sql, sizeof event->sql, "%.*s", (int)sql.used, sql.bytes);
    iso_text_release(&sql);
    empty_rows(world, table);
}

/* A column of the key gets another type: rows have other names. */
static void alter_key(struct tidb_world *world, uint32_t table)
{
    struct tidb_event *event = add_statement(world, table, "ALTER", 12);
    struct tidb_schema *schema = &world->schemas[event->schema];
    schema->key[0] = &tidb_key_decimal;
    snprintf(event->sql, sizeof event->sql, "ALTER TABLE `%s` MODIFY COLUMN `%s` %s NOT NULL",
             schema->name, tidb_key_name(0), schema->key[0]->sql);
    carry_rows(world, table, false);
}

static void alter_table(struct tidb_world *world, uint32_t table)
{
    const struct tidb_schema *before = schema_of(world, table);
    if (before->key[0] == &tidb_types[TIDB_INTEGER] && strcmp(world->format, "debezium") &&
        percent(world, 30)) {
        alter_key(world, table);
        return;
    }
    uint32_t last = before->column_count - 1;
    bool adds = before->column_count < TIDB_COLUMNS && percent(world, 50),
         drops = !adds && last && percent(world, 50);
    if (!adds && before->columns[last].is_dropped)
        return;
    struct tidb_event *event = add_statement(world, table, "ALTER", adds ? 5 : drops ? 6 : 12);
    struct tidb_schema *schema = &world->schemas[event->schema];
    if (adds) {
        add_column(world, schema);
        const struct tidb_column *column = &schema->columns[schema->column_count - 1];
        snprintf(event->sql, sizeof event->sql, "ALTER TABLE `shop`.`%s` ADD COLUMN `%s` %s%s%s",
                 schema->name, column->name, column->type->sql,
                 column->has_default ? " DEFAULT " : "",
                 column->has_default ? column->type->pool[2] : "");
    } else if (drops) {
        schema->columns[last].is_dropped = true;
        snprintf(event->sql, sizeof event->sql, "ALTER TABLE `%s` DROP COLUMN `%s`", schema->name,
                 schema->columns[last].name);
    } else {
        snprintf(event->sql, sizeof event->sql, "ALTER TABLE `%s` MODIFY COLUMN `%s` %s",
                 schema->name, schema->columns[last].name, schema->columns[last].type->sql);
        schema->columns[last].has_default = false;
    }
    carry_rows(world, table, false);
    for (uint32_t r = 0; adds && r < TIDB_ROWS; r++) {
        struct tidb_row *row = &world->tables[table].rows[r];
        row->list[row->count - 1].values.of[last + 1] =
            schema->columns[last + 1].has_default ? 2 : -1;
    }
}

/* A partition of the first with the second: each has what the other had. */
static void exchange_tables(struct tidb_world *world)
{
    const struct tidb_schema *one = schema_of(world, 0), *other = schema_of(world, 1);
    if (one->column_count != other->column_count ||
        memcmp(one->columns, other->columns, sizeof one->columns))
        return;
    struct tidb_event *event = add_statement(world, 0, "ALTER", 42);
    snprintf(event->sql, sizeof event->sql,
             "ALTER TABLE `%s` EXCHANGE PARTITION `p0` WITH TABLE `%s`", schema_of(world, 0)->name,
             schema_of(world, 1)->name);
    if (is_csv(world)) { /* a new file of each */
        world->schemas[world->schema_count] = *schema_of(world, 1);
        world->schemas[world->schema_count].version = world->now;
        world->tables[1].schema = world->schema_count++;
    }
    for (uint32_t r = 0; r < TIDB_ROWS; r++) {
        struct tidb_row *left = &world->tables[0].rows[r], *right = &world->tables[1].rows[r];
        struct tidb_version kept = *newest(left, UINT64_MAX);
        add_version(left, newest(right, UINT64_MAX), world->now);
        add_version(right, &kept, world->now);
        memset(left->list[left->count - 1].is_known, 0, TIDB_COLUMNS);
        memset(right->list[right->count - 1].is_known, 0, TIDB_COLUMNS);
    }
}

static void make_statement(struct tidb_world *world)
{
    uint32_t table = below(world, TIDB_TABLES);
    world->now++;
    switch (below(world, 6)) {
    case 0:
        rename_table(world, table);
        break;
    case 1:
        truncate_table(world, table);
        break;
    case 2:
        drop_table(world, table);
        break;
    case 3:
        exchange_tables(world);
        break;
    default:
        alter_table(world, table);
    }
}

/* ---- what clients do ---- */

/* Of a label its number, or its name, a transaction all in one way, but where clients mix. */
static void put_value(struct tidb_world *world, struct transaction *transaction,
                      const struct tidb_column *column, int value)
{
    struct tidb_cell cell = {.type = column->type};
    struct iso_text *text = &transaction->operations;
    if (value < 0) {
        iso_text_put(text, "null");
        return;
    }
    const char *spelt = cell.text = column->type->pool[value];
    if (tidb_is_label(&cell) && (world->mixes ? percent(world, 50) : transaction->names)) {
        spelt = tidb_label_of(&cell);
        world->labels++;
    }
    iso_text_put_string(text, spelt, strlen(spelt));
}

/* Another value of the type; -1 is NULL. */
static int another_value(struct tidb_world *world, const struct tidb_column *column, int value)
{
    for (int tries = 0; tries < 20; tries++) {
        int other = (int)below(world, TIDB_POOL + 1) - 1;
        if (other != value && (other < 0 || value < 0 ||
                               strcmp(column->type->pool[other], column->type->pool[value])))
            return other;
    }
    return value;
}

/* What the encoder of debezium may have put in place of another value, what has no time zone, and
 * what csv names, or has in base64 or hexadecimal, without saying so. */
static bool may_be_lost(const struct tidb_world *world, const struct tidb_column *column, int value,
                        int other)
{
    enum tidb_form form = column->type->form;
    if (form == TIDB_TIMESTAMP && !world->one_zone)
        return true;
    if (form == TIDB_JSON) /* of another name's first rows nobody knows the type: an object and a
                              text may be one */
        return true;
    if (is_csv(world))
        return form == TIDB_ENUM || form == TIDB_SET || form == TIDB_BYTES || form == TIDB_BLOB;
    if (strcmp(world->format, "debezium"))
        return false;
    bool plain = form == TIDB_INTEGER || form == TIDB_VARCHAR || form == TIDB_TEXT;
    return !plain || column->has_default || value < 0 || other < 0;
}

static void lie(struct tidb_world *world, struct transaction *transaction, uint32_t table,
                uint32_t row, uint32_t c, int *value, bool is_known)
{
    const struct tidb_column *column = &schema_of(world, table)->columns[c];
    int other = another_value(world, column, *value);
    if (other == *value || transaction->lie_count == 8)
        return;
    struct tidb_lie *told = &transaction->lies[transaction->lie_count++];
    struct iso_text name = {0};
    put_row_name(&name, world, table, row);
    snprintf(told->text, sizeof told->text, "x%u %.*s#%s", transaction->number, (int)name.used,
             name.bytes, column->name);
    iso_text_release(&name);
    /* What is read of a column that no row has shown is left out. */
    told->must_find =
        is_known && c < world->first_columns && !may_be_lost(world, column, *value, other);
    bool plain = column->type->form == TIDB_INTEGER || column->type->form == TIDB_VARCHAR;
    told->may_be_doubt = !plain && transaction->own[table][row].was_read[c];
    *value = other;
}

static struct iso_text *begin_operation(struct transaction *transaction, const char *kind)
{
    iso_text_format(&transaction->operations, "%s{\"t\":\"%s\",\"row\":\"",
                    transaction->operations.used ? "," : "", kind);
    return &transaction->operations;
}

/* A plain SELECT reads at its start, FOR UPDATE what is newest, and has the row's lock from then
 * on. */
static void read_row(struct tidb_world *world, struct transaction *transaction, uint32_t table,
                     uint32_t r, bool locks, uint64_t at)
{
    const struct tidb_schema *schema = schema_of(world, table);
    struct tidb_row *row = &world->tables[table].rows[r];
    const struct own *own = &transaction->own[table][r];
    struct tidb_version seen = *newest(row, locks ? ++world->now : at);
    if (own->is_touched) {
        seen.exists = own->exists;
        seen.values = own->values;
    }
    struct iso_text *text = begin_operation(transaction, "r");
    transaction->reads = true;
    put_row_name(text, world, table, r);
    iso_text_put(text, "\"");
    if (!seen.exists) {
        iso_text_put(text, ",\"v\":null");
    } else {
        const char *between = "";
        iso_text_put(text, ",\"cells\":{");
        for (uint32_t c = 0; c < schema->column_count; c++) {
            int value = seen.values.of[c];
            if (schema->columns[c].is_dropped || percent(world, 20))
                continue;
            world->has_lossy |= may_be_lost(world, &schema->columns[c], value, value);
            if (world->lies && !own->is_touched && percent(world, 10))
                lie(world, transaction, table, r, c, &value, seen.is_known[c]);
            iso_text_format(text, "%s\"%s\":", between, schema->columns[c].name);
            put_value(world, transaction, &schema->columns[c], value);
            transaction->own[table][r].was_read[c] = true;
            between = ",";
        }
        iso_text_put(text, "}");
    }
    if (locks) {
        iso_text_format(text, ",\"ots\":\"%" PRIu64 "\"", world->now);
        row->locked = transaction;
        world->locks++;
    } else if (own->is_touched && own->ots) {
        iso_text_format(text, ",\"ots\":\"%" PRIu64 "\"",
                        own->ots); /* the rest of its row is of then */
    }
    iso_text_put(text, "}");
}

/* The row as a statement finds it, locked; false: it has to wait, and does something else. */
static struct own *touch(struct tidb_world *world, struct transaction *transaction, uint32_t table,
                         uint32_t r)
{
    struct tidb_row *row = &world->tables[table].rows[r];
    struct own *own = &transaction->own[table][r];
    if (transaction->is_pessimistic && row->locked && row->locked != transaction)
        return NULL;
    if (transaction->is_pessimistic)
        row->locked = transaction;
    if (own->is_touched)
        return own;
    if (transaction->is_pessimistic)
        own->ots = world->now;
    const struct tidb_version *found =
        newest(row, transaction->is_pessimistic ? world->now : transaction->sts);
    own->is_touched = true;
    own->exists = own->was_there = found->exists;
    own->values = own->before = found->values;
    memcpy(own->is_known, found->is_known, sizeof own->is_known);
    return own;
}

static void end_operation(struct iso_text *text, const struct own *own)
{
    if (own->ots)
        iso_text_format(text, ",\"ots\":\"%" PRIu64 "\"", own->ots);
    iso_text_put(text, "}");
}

static void delete_row(struct tidb_world *world, struct transaction *transaction, uint32_t table,
                       uint32_t r, struct own *own)
{
    struct iso_text *text = begin_operation(transaction, "d");
    own->exists = false;
    put_row_name(text, world, table, r);
    iso_text_put(text, "\"");
    end_operation(text, own);
    transaction->writes = true;
}

/* A new row with `values`, or with new ones if NULL; else some columns of one that is there. */
static void write_row(struct tidb_world *world, struct transaction *transaction, uint32_t table,
                      uint32_t r, struct own *own, const struct tidb_values *values)
{
    const struct tidb_schema *schema = schema_of(world, table);
    bool inserts = !own->exists, lists = inserts || transaction->lists;
    const char *between = "";
    struct iso_text *text = begin_operation(transaction, "w");
    put_row_name(text, world, table, r);
    iso_text_put(text, lists ? "\",\"cells\":{" : "\"");
    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (schema->columns[c].is_dropped || (!inserts && percent(world, 40)))
            continue;
        own->values.of[c] = (int8_t)(values ? values->of[c] : (int)below(world, TIDB_POOL + 1) - 1);
        if (!lists)
            continue;
        iso_text_format(text, "%s\"%s\":", between, schema->columns[c].name);
        put_value(world, transaction, &schema->columns[c], own->values.of[c]);
        between = ",";
    }
    iso_text_put(text, lists ? "}" : "");
    end_operation(text, own);
    own->exists = transaction->writes = true;
}

static void operate(struct run *run, struct transaction *transaction)
{
    struct tidb_world *world = run->world;
    uint32_t table = below(world, TIDB_TABLES), rows = row_count(schema_of(world, table)),
             r = below(world, rows);
    struct tidb_row *row = &world->tables[table].rows[r];
    if (percent(world, 45)) {
        bool locks = transaction->is_pessimistic && percent(world, 30) &&
                     !transaction->own[table][r].is_touched &&
                     (!row->locked || row->locked == transaction);
        read_row(world, transaction, table, r, locks, transaction->sts);
        return;
    }
    world->now++;
    struct own *own = touch(world, transaction, table, r);
    if (!own)
        return;
    uint32_t to = below(world, rows);
    if (own->exists && percent(world, 25)) { /* to another key, or away */
        struct own *there =
            to != r && percent(world, 60) ? touch(world, transaction, table, to) : NULL;
        struct tidb_values values = own->values;
        if (there && there->exists)
            there = NULL;
        delete_row(world, transaction, table, r, own);
        if (there)
            write_row(world, transaction, table, to, there, &values);
        world->moves += there != NULL;
        return;
    }
    write_row(world, transaction, table, r, own, NULL);
}

/* ---- transactions ---- */

static struct tidb_event *add_row_event(struct tidb_world *world,
                                        const struct transaction *transaction, uint64_t cts,
                                        uint32_t table, uint32_t row)
{
    struct tidb_event *event = &world->events[world->event_count++];
    *event = (struct tidb_event){.kind = TIDB_ROW,
                                 .cts = cts,
                                 .sts = transaction->sts,
                                 .table = table,
                                 .schema = world->tables[table].schema,
                                 .row = row,
                                 .old_row = row};
    return event;
}

static bool has_changed(const struct tidb_schema *schema, const struct own *own, uint32_t c)
{
    int was = own->before.of[c], is = own->values.of[c];
    const struct tidb_type *type = schema->columns[c].type;
    return was != is && (was < 0 || is < 0 || strcmp(type->pool[was], type->pool[is]) != 0);
}

static void apply_row(struct tidb_world *world, const struct transaction *transaction, uint64_t cts,
                      uint32_t table, uint32_t r)
{
    const struct own *own = &transaction->own[table][r];
    const struct tidb_schema *schema = schema_of(world, table);
    struct tidb_row *row = &world->tables[table].rows[r];
    bool changed = own->exists != own->was_there;
    for (uint32_t c = 0; c < schema->column_count && own->exists && own->was_there; c++)
        changed |= !schema->columns[c].is_dropped && has_changed(schema, own, c);
    if (!changed)
        return;
    struct tidb_version *version = add_version(row, newest(row, UINT64_MAX), cts);
    version->exists = own->exists;
    version->values = own->values;
    for (uint32_t c = 0; c < schema->column_count; c++)
        version->is_known[c] =
            own->exists && (!own->was_there || has_changed(schema, own, c) || own->is_known[c]);
    struct tidb_event *event = add_row_event(world, transaction, cts, table, r);
    event->has_before = own->was_there;
    event->has_after = own->exists;
    event->before = own->before;
    event->after = own->values;
}

static void record(struct run *run, struct transaction *transaction, uint64_t cts, bool committed)
{
    struct tidb_world *world = run->world;
    struct iso_text line = {0};
    for (uint32_t t = 0; t < TIDB_TABLES; t++)
        for (uint32_t r = 0; r < TIDB_ROWS; r++)
            if (world->tables[t].rows[r].locked == transaction)
                world->tables[t].rows[r].locked = NULL;
    if (!transaction->is_withheld) {
        iso_text_format(&line, "{\"tid\":\"x%u\",\"sid\":\"c%u\",\"sts\":\"%" PRIu64 "\"",
                        transaction->number, transaction->session, transaction->sts);
        if (committed && transaction->writes)
            iso_text_format(&line, ",\"cts\":\"%" PRIu64 "\"", cts);
        iso_text_format(&line, "%s,\"ops\":[%.*s]}", committed ? "" : ",\"status\":\"aborted\"",
                        (int)transaction->operations.used,
                        transaction->operations.used ? transaction->operations.bytes : "");
        world->recorded_reads += committed && transaction->reads;
        iso_text_put_bytes(&line, "", 1);
        world->lines[world->line_count++] = line.bytes;
        for (uint32_t i = 0; committed && i < transaction->lie_count; i++)
            world->told[world->lie_count++] = transaction->lies[i];
    }
    iso_text_release(&transaction->operations);
    *transaction = (struct transaction){.is_active = false};
}

/* An optimistic one finds out now that it came too late. */
static bool may_commit(const struct tidb_world *world, const struct transaction *transaction)
{
    for (uint32_t t = 0; t < TIDB_TABLES && !transaction->is_pessimistic; t++)
        for (uint32_t r = 0; r < TIDB_ROWS; r++) {
            const struct tidb_row *row = &world->tables[t].rows[r];
            if (transaction->own[t][r].is_touched &&
                ((row->locked && row->locked != transaction) ||
                 newest(row, UINT64_MAX)->cts > transaction->sts))
                return false;
        }
    return true;
}

static bool share_rows(const struct transaction *one, const struct transaction *other)
{
    for (uint32_t t = 0; t < TIDB_TABLES; t++)
        for (uint32_t r = 0; r < TIDB_ROWS; r++)
            if (one->own[t][r].is_touched && other->own[t][r].is_touched)
                return true;
    return false;
}

static void commit(struct run *run, struct transaction *transaction, uint64_t cts)
{
    for (uint32_t t = 0; t < TIDB_TABLES; t++)
        for (uint32_t r = 0; r < TIDB_ROWS; r++)
            if (transaction->own[t][r].is_touched)
                apply_row(run->world, transaction, cts, t, r);
    record(run, transaction, cts, true);
}

static void finish(struct run *run, struct transaction *transaction)
{
    struct tidb_world *world = run->world;
    if (!may_commit(world, transaction) || percent(world, 10)) {
        record(run, transaction, 0, false);
        return;
    }
    uint64_t cts = ++world->now;
    for (uint32_t i = 0; i < TIDB_ACTIVE;
         i++) { /* another that has nothing to do with it, at the same timestamp */
        struct transaction *other = &run->active[i];
        if (other == transaction || !other->is_active || !other->writes || !transaction->writes ||
            share_rows(transaction, other) || !may_commit(world, other) || !percent(world, 40))
            continue;
        commit(run, other, cts);
        world->shared_commits++;
        break;
    }
    commit(run, transaction, cts);
}

static void begin(struct run *run, struct transaction *transaction, uint32_t session)
{
    struct tidb_world *world = run->world;
    *transaction = (struct transaction){.is_active = true,
                                        .number = ++world->transactions,
                                        .session = session,
                                        .sts = ++world->now,
                                        .is_pessimistic = percent(world, 60),
                                        .is_withheld = percent(world, 10),
                                        .names = percent(world, 50),
                                        .lists = percent(world, 70)};
}

/* AS OF TIMESTAMP: a transaction of the past, of nobody's session. */
static void read_past(struct run *run)
{
    struct tidb_world *world = run->world;
    struct transaction past;
    begin(run, &past, 100 + world->transactions);
    past.is_withheld = false;
    for (uint32_t i = 0, first = below(world, world->event_count); i < world->event_count; i++) {
        /* nobody else starts there */
        uint64_t cts = world->events[(first + i) % world->event_count].cts;
        if (world->events[(first + i) % world->event_count].kind != TIDB_ROW ||
            cts < world->altered)
            continue;
        past.sts = cts;
        break;
    }
    for (uint32_t i = 1 + below(world, 2); i; i--) {
        uint32_t table = below(world, TIDB_TABLES);
        read_row(world, &past, table, below(world, row_count(schema_of(world, table))), false,
                 past.sts);
    }
    world->past_reads++;
    record(run, &past, 0, true);
}

static void add_watermark(struct tidb_world *world)
{
    world->events[world->event_count++] =
        (struct tidb_event){.kind = TIDB_WATERMARK, .cts = world->now};
}

static void step(struct run *run)
{
    struct tidb_world *world = run->world;
    uint32_t active = 0, chosen = below(world, TIDB_ACTIVE);
    for (uint32_t i = 0; i < TIDB_ACTIVE; i++)
        active += run->active[i].is_active;
    if (!active && world->statements && percent(world, DDL_PERCENT * 3)) {
        make_statement(world);
        return;
    }
    if (percent(world, 8))
        add_watermark(world);
    if (percent(world, 6)) {
        read_past(run);
        return;
    }
    struct transaction *transaction = &run->active[chosen];
    if (!transaction->is_active)
        begin(run, transaction, chosen);
    else if (percent(world, 65))
        operate(run, transaction);
    else
        finish(run, transaction);
}

void tidb_execute(struct tidb_world *world)
{
    struct run run = {.world = world};
    world->now = start_of_time;
    world->transactions = world->schema_count = world->event_count = world->line_count =
        world->lie_count = 0;
    world->was_raw =
        percent(world, 30) && strcmp(world->format, "csv") && strcmp(world->format, "avro");
    world->says_start = percent(world, 50);
    world->has_lossy = world->was_lost = world->reveals = false;
    make_tables(world);
    world->altered = ++world->now;
    for (int i = 0; i < STEPS && !is_full(world); i++)
        step(&run);
    for (uint32_t i = 0; i < TIDB_ACTIVE; i++)
        if (run.active[i].is_active)
            finish(&run, &run.active[i]);
    world->now++;
    add_watermark(world);
}

void tidb_release(struct tidb_world *world)
{
    for (uint32_t i = 0; i < world->line_count; i++)
        iso_free(world->lines[i]);
    world->line_count = 0;
    iso_text_release(&world->texts);
}
