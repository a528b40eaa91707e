/* The simple protocol as Avro: no frame, no registry; one fixed schema, a union of named records of
 * which each message is the last, `Message`. The schema's order is the encoding, so that it stands
 * here as code:
 *
 *     union 11 | Message: enum {WATERMARK, BOOTSTRAP, DDL, DML} | union of the four:
 *     Watermark  version int, commitTs long, buildTs long
 *     Bootstrap  version int, buildTs long, TableSchema
 *     DDL        version int, enum type, string sql, commitTs long, buildTs long, [null,
 *                TableSchema] twice
 *     DML        version int, string database, string table, tableID long, enum type, commitTs
 *                long, buildTs long, schemaVersion long, [null, string claimCheckLocation], [null,
 *                boolean handleKeyOnly], [null, Checksum], [null, map data], [null, map old]
 *
 * A column is one of [null, long, float, double, string, bytes, Timestamp, UnsignedBigint].
 */
#include "connectors/avro/cursor.h"
#include "connectors/ticdc/simple.h"

enum { UNION_RECORDS = 12, MESSAGE = 11, KINDS = 4, DDL_TYPES = 8, DML_TYPES = 3, VALUES = 8 };
enum { DDL_ERASE = 2, DDL_TRUNCATE = 4 };

static bool is_present(struct iso_avro_cursor *cursor)
{
    return iso_avro_choice(cursor, 2) == 1;
}

/* ---- schemas of tables ---- */

static void read_elements(struct iso_avro_cursor *cursor, struct iso_text *elements)
{
    for (uint64_t count; (count = iso_avro_block(cursor)) && !cursor->expected;)
        while (count-- && !cursor->expected) {
            struct iso_json_text element = iso_avro_string(cursor);
            if (!cursor->expected)
                ticdc_put_element(elements, element);
        }
}

static void read_column(struct iso_avro_cursor *cursor, struct ticdc_table *table)
{
    struct iso_json_text name = iso_avro_string(cursor), type = iso_avro_string(cursor);
    iso_avro_run(cursor); /* charset */
    struct iso_json_text collation = iso_avro_string(cursor);
    struct iso_text elements = {0};
    bool is_padded = false;
    iso_avro_long(cursor); /* length */
    if (is_present(cursor))
        iso_avro_long(cursor); /* decimal */
    if (is_present(cursor))
        read_elements(cursor, &elements);
    if (is_present(cursor))
        iso_avro_boolean(cursor); /* unsigned */
    if (is_present(cursor))
        is_padded = iso_avro_boolean(cursor);
    bool nullable = iso_avro_boolean(cursor);
    if (is_present(cursor))
        iso_avro_run(cursor); /* default */
    if (!cursor->expected) {
        struct ticdc_column *column = ticdc_table_add_column(table, name, type);
        column->nullable = nullable;
        ticdc_column_define(column, &elements, is_padded);
        ticdc_column_collate(column, collation);
    }
    iso_text_release(&elements);
}

static void read_index(struct iso_avro_cursor *cursor, struct ticdc_table *table)
{
    iso_avro_run(cursor); /* name */
    bool unique = iso_avro_boolean(cursor), primary = iso_avro_boolean(cursor),
         nullable = iso_avro_boolean(cursor);
    bool takes = !cursor->expected && (primary || unique);
    if (takes)
        ticdc_table_add_index(table, primary, nullable);
    for (uint64_t count; (count = iso_avro_block(cursor)) && !cursor->expected;)
        while (count-- && !cursor->expected) {
            struct iso_json_text name = iso_avro_string(cursor);
            if (takes && !cursor->expected)
                ticdc_table_add_key(table, name);
        }
}

static void read_list(struct iso_avro_cursor *cursor, struct ticdc_table *table,
                      void read(struct iso_avro_cursor *cursor, struct ticdc_table *table))
{
    for (uint64_t count; (count = iso_avro_block(cursor)) && !cursor->expected;)
        while (count-- && !cursor->expected)
            read(cursor, table);
}

static struct ticdc_table *read_schema(struct iso_avro_cursor *cursor)
{
    struct ticdc_table *table = ticdc_table_new();
    struct iso_json_text database = iso_avro_string(cursor), name = iso_avro_string(cursor);
    ticdc_table_name(table, database, name);
    table->id = (uint64_t)iso_avro_long(cursor);
    table->version = (uint64_t)iso_avro_long(cursor);
    read_list(cursor, table, read_column);
    read_list(cursor, table, read_index);
    return table;
}

/* ---- rows ---- */

static void read_value(struct ticdc *ticdc, struct iso_avro_cursor *cursor, struct iso_cell *cell)
{
    struct iso_json_text run;
    int64_t number;
    switch (iso_avro_choice(cursor, VALUES)) {
    case 0:
        cell->kind = ISO_CELL_NULL;
        break;
    case 1:
        number = iso_avro_long(cursor);
        ticdc_set_integer(cell, (uint64_t)number, number < 0);
        break;
    case 2:
        cell->kind = ISO_CELL_FLOAT;
        cell->bits = iso_avro_word(cursor, 4);
        break;
    case 3:
        cell->kind = ISO_CELL_DOUBLE;
        cell->bits = iso_avro_word(cursor, 8);
        break;
    case 4:
        ticdc_set_text(cell, TICDC_TEXT, iso_avro_string(cursor));
        break;
    case 5:
        run = iso_avro_run(cursor);
        ticdc_set_bytes(cell, run.at, run.length);
        break;
    case 6:
        run = iso_avro_string(cursor);
        ticdc_set_moment(ticdc, cell, run, iso_avro_string(cursor));
        break;
    default:
        ticdc_set_integer(cell, (uint64_t)iso_avro_long(cursor), false);
    }
}

/* A map, or null. */
static bool read_row(struct ticdc *ticdc, struct iso_avro_cursor *cursor, struct iso_row *row)
{
    iso_row_clear(row);
    if (!is_present(cursor))
        return false;
    for (uint64_t count; (count = iso_avro_block(cursor)) && !cursor->expected;)
        while (count-- && !cursor->expected) {
            struct iso_json_text name = iso_avro_string(cursor);
            read_value(ticdc, cursor, iso_row_add(row, name.at, name.length));
        }
    return true;
}

static enum iso_status convert(struct ticdc *ticdc, struct iso_cell *cell, enum ticdc_class class,
                               struct iso_error *error)
{
    (void)ticdc;
    (void)error;
    if (cell->kind == ISO_CELL_TEXT && class != TICDC_BYTES)
        ticdc_set_text(cell, class, (struct iso_json_text){cell->text, cell->length});
    return ISO_OK;
}

/* ---- messages ---- */

static void read_number(struct iso_avro_cursor *cursor, struct ticdc_number *number)
{
    *number = (struct ticdc_number){(uint64_t)iso_avro_long(cursor), true};
}

static void read_ddl(struct iso_avro_cursor *cursor, struct simple *simple)
{
    read_number(cursor, &simple->version);
    uint32_t type = iso_avro_choice(cursor, DDL_TYPES);
    simple->type = type == DDL_ERASE || type == DDL_TRUNCATE ? SIMPLE_ERASE : SIMPLE_DDL;
    simple->sql = iso_avro_string(cursor);
    read_number(cursor, &simple->commit_ts);
    iso_avro_long(cursor); /* buildTs */
    if (is_present(cursor))
        simple->schema = read_schema(cursor);
    if (is_present(cursor))
        simple->previous_schema = read_schema(cursor);
}

static void read_dml(struct ticdc *ticdc, struct iso_avro_cursor *cursor, struct simple *simple)
{
    static const enum simple_type types[DML_TYPES] = {SIMPLE_INSERT, SIMPLE_UPDATE, SIMPLE_DELETE};
    read_number(cursor, &simple->version);
    simple->database = iso_avro_string(cursor);
    simple->table = iso_avro_string(cursor);
    iso_avro_long(cursor); /* tableID */
    simple->type = types[iso_avro_choice(cursor, DML_TYPES)];
    read_number(cursor, &simple->commit_ts);
    iso_avro_long(cursor); /* buildTs */
    read_number(cursor, &simple->schema_version);
    if (is_present(cursor))
        simple->keys_only |= iso_avro_run(cursor).length > 0; /* claimCheckLocation */
    if (is_present(cursor))
        simple->keys_only |= iso_avro_boolean(cursor);
    if (is_present(cursor)) { /* checksum */
        iso_avro_long(cursor);
        iso_avro_boolean(cursor);
        iso_avro_long(cursor);
        iso_avro_long(cursor);
    }
    simple->has_data = read_row(ticdc, cursor, &ticdc->now);
    simple->has_old = read_row(ticdc, cursor, &ticdc->old);
}

static void read_message(struct ticdc *ticdc, struct iso_avro_cursor *cursor, struct simple *simple)
{
    if (iso_avro_choice(cursor, UNION_RECORDS) != MESSAGE) {
        iso_avro_fail(cursor, "a Message of the simple protocol's schema");
        return;
    }
    uint32_t kind = iso_avro_choice(cursor, KINDS);
    if (iso_avro_choice(cursor, KINDS) != kind) {
        iso_avro_fail(cursor, "a payload of the Message's type");
        return;
    }
    switch (kind) {
    case 0:
        simple->type = SIMPLE_WATERMARK;
        read_number(cursor, &simple->version);
        read_number(cursor, &simple->commit_ts);
        iso_avro_long(cursor); /* buildTs */
        break;
    case 1:
        simple->type = SIMPLE_BOOTSTRAP;
        read_number(cursor, &simple->version);
        iso_avro_long(cursor); /* buildTs */
        simple->schema = read_schema(cursor);
        break;
    case 2:
        read_ddl(cursor, simple);
        break;
    default:
        read_dml(ticdc, cursor, simple);
    }
}

static enum iso_status decode(struct ticdc *ticdc, struct iso_error *error)
{
    struct simple simple = {.database = {"", 0}, .table = {"", 0}, .sql = {"", 0}};
    struct iso_avro_cursor cursor;
    if (!ticdc->message->payload.data) {
        ticdc_add_ignored(ticdc, "tombstone");
        return ISO_OK;
    }
    iso_avro_start(&cursor, ticdc->message->payload.data, ticdc->message->payload.size);
    read_message(ticdc, &cursor, &simple);
    if (!iso_avro_finish(&cursor))
        iso_error_set(error, ISO_BAD_INPUT, "byte %zu: expected %s", cursor.position + 1,
                      cursor.expected);
    return simple_finish(ticdc, &simple, convert, error);
}

const struct ticdc_protocol ticdc_simple_avro = {
    .format = "simple-avro", .create = simple_create, .decode = decode};
