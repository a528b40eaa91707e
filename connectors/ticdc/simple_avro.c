/* The simple protocol as Avro: no frame, no registry; one fixed schema, a union of named records of which each message
 * is the last, `Message`. The schema's order is the encoding, so that it stands here as code:
 *
 *     union 11 | Message: enum {WATERMARK, BOOTSTRAP, DDL, DML} | union of the four:
 *     Watermark  version int, commitTs long, buildTs long
 *     Bootstrap  version int, buildTs long, TableSchema
 *     DDL        version int, enum type, string sql, commitTs long, buildTs long, [null, TableSchema] twice
 *     DML        version int, string database, string table, tableID long, enum type, commitTs long, buildTs long,
 *                schemaVersion long, [null, string claimCheckLocation], [null, boolean handleKeyOnly], [null,
 * Checksum], [null, map data], [null, map old]
 *
 * A column is one of [null, long, float, double, string, bytes, Timestamp, UnsignedBigint].
 */
#include "connectors/ticdc/avro_bytes.h"
#include "connectors/ticdc/simple.h"

enum { UNION_RECORDS = 12, MESSAGE = 11, KINDS = 4, DDL_TYPES = 8, DML_TYPES = 3, VALUES = 8 };
enum { DDL_ERASE = 2, DDL_TRUNCATE = 4 };

static bool is_present(struct avro_bytes *bytes)
{
    return avro_choice(bytes, 2) == 1;
}

/* ---- schemas of tables ---- */

static void skip_strings(struct avro_bytes *bytes)
{
    for (uint64_t count; (count = avro_block(bytes)) && !bytes->wrong;)
        while (count-- && !bytes->wrong)
            avro_run(bytes);
}

static void read_column(struct avro_bytes *bytes, struct ticdc_table *table)
{
    struct iso_json_text name = avro_string(bytes), type = avro_string(bytes);
    avro_run(bytes);  /* charset */
    avro_run(bytes);  /* collate */
    avro_long(bytes); /* length */
    if (is_present(bytes))
        avro_long(bytes); /* decimal */
    if (is_present(bytes))
        skip_strings(bytes); /* elements */
    if (is_present(bytes))
        avro_boolean(bytes); /* unsigned */
    if (is_present(bytes))
        avro_boolean(bytes); /* zerofill */
    avro_boolean(bytes);     /* nullable */
    if (is_present(bytes))
        avro_run(bytes); /* default */
    if (!bytes->wrong)
        ticdc_table_add_column(table, name, type);
}

static void read_index(struct avro_bytes *bytes, struct ticdc_table *table)
{
    avro_run(bytes); /* name */
    bool unique = avro_boolean(bytes), primary = avro_boolean(bytes), nullable = avro_boolean(bytes);
    bool takes = !bytes->wrong && ticdc_table_start_index(table, primary, unique, nullable);
    for (uint64_t count; (count = avro_block(bytes)) && !bytes->wrong;)
        while (count-- && !bytes->wrong) {
            struct iso_json_text name = avro_string(bytes);
            if (takes && !bytes->wrong)
                ticdc_table_add_key(table, name);
        }
}

static void read_list(struct avro_bytes *bytes, struct ticdc_table *table,
                      void read(struct avro_bytes *bytes, struct ticdc_table *table))
{
    for (uint64_t count; (count = avro_block(bytes)) && !bytes->wrong;)
        while (count-- && !bytes->wrong)
            read(bytes, table);
}

static struct ticdc_table *read_schema(struct avro_bytes *bytes)
{
    struct ticdc_table *table = ticdc_table_new();
    struct iso_json_text database = avro_string(bytes), name = avro_string(bytes);
    ticdc_table_name(table, database, name);
    avro_long(bytes); /* tableID */
    table->version = (uint64_t)avro_long(bytes);
    read_list(bytes, table, read_column);
    read_list(bytes, table, read_index);
    return table;
}

/* ---- rows ---- */

static void read_value(struct avro_bytes *bytes, struct iso_cell *cell)
{
    struct iso_json_text run;
    int64_t number;
    switch (avro_choice(bytes, VALUES)) {
    case 0:
        cell->kind = ISO_CELL_NULL;
        break;
    case 1:
        number = avro_long(bytes);
        ticdc_set_integer(cell, (uint64_t)number, number < 0);
        break;
    case 2:
        cell->kind = ISO_CELL_FLOAT;
        cell->bits = avro_word(bytes, 4);
        break;
    case 3:
        cell->kind = ISO_CELL_DOUBLE;
        cell->bits = avro_word(bytes, 8);
        break;
    case 4:
        ticdc_set_text(cell, TICDC_TEXT, avro_string(bytes));
        break;
    case 5:
        run = avro_run(bytes);
        ticdc_set_bytes(cell, run.at, run.length);
        break;
    case 6:
        avro_run(bytes); /* the time zone, one for the changefeed */
        ticdc_set_text(cell, TICDC_TEXT, avro_string(bytes));
        break;
    default:
        ticdc_set_integer(cell, (uint64_t)avro_long(bytes), false);
    }
}

/* A map, or null. */
static bool read_row(struct avro_bytes *bytes, struct iso_row *row)
{
    iso_row_clear(row);
    if (!is_present(bytes))
        return false;
    for (uint64_t count; (count = avro_block(bytes)) && !bytes->wrong;)
        while (count-- && !bytes->wrong) {
            struct iso_json_text name = avro_string(bytes);
            read_value(bytes, iso_row_add(row, name.at, name.length));
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

static void read_version(struct avro_bytes *bytes, struct simple *simple)
{
    simple->version = (uint64_t)avro_long(bytes);
    simple->has_version = true;
}

static void read_commit(struct avro_bytes *bytes, struct simple *simple)
{
    simple->commit_ts = (uint64_t)avro_long(bytes);
    simple->has_commit = true;
}

static void read_ddl(struct avro_bytes *bytes, struct simple *simple)
{
    read_version(bytes, simple);
    uint32_t type = avro_choice(bytes, DDL_TYPES);
    simple->type = type == DDL_ERASE || type == DDL_TRUNCATE ? SIMPLE_ERASE : SIMPLE_DDL;
    avro_run(bytes); /* sql */
    read_commit(bytes, simple);
    avro_long(bytes); /* buildTs */
    if (is_present(bytes))
        simple->schema = read_schema(bytes);
    if (is_present(bytes))
        simple->previous_schema = read_schema(bytes);
}

static void read_dml(struct ticdc *ticdc, struct avro_bytes *bytes, struct simple *simple)
{
    static const enum simple_type types[DML_TYPES] = {SIMPLE_INSERT, SIMPLE_UPDATE, SIMPLE_DELETE};
    read_version(bytes, simple);
    simple->database = avro_string(bytes);
    simple->table = avro_string(bytes);
    avro_long(bytes); /* tableID */
    simple->type = types[avro_choice(bytes, DML_TYPES)];
    read_commit(bytes, simple);
    avro_long(bytes); /* buildTs */
    simple->schema_version = (uint64_t)avro_long(bytes);
    simple->has_schema_version = true;
    if (is_present(bytes))
        simple->keys_only |= avro_run(bytes).length > 0; /* claimCheckLocation */
    if (is_present(bytes))
        simple->keys_only |= avro_boolean(bytes);
    if (is_present(bytes)) { /* checksum */
        avro_long(bytes);
        avro_boolean(bytes);
        avro_long(bytes);
        avro_long(bytes);
    }
    simple->has_data = read_row(bytes, &ticdc->now);
    simple->has_old = read_row(bytes, &ticdc->old);
}

static void read_message(struct ticdc *ticdc, struct avro_bytes *bytes, struct simple *simple)
{
    if (avro_choice(bytes, UNION_RECORDS) != MESSAGE) {
        avro_fail(bytes, "not a Message of the simple protocol's schema");
        return;
    }
    uint32_t kind = avro_choice(bytes, KINDS);
    if (avro_choice(bytes, KINDS) != kind) {
        avro_fail(bytes, "a Message whose payload is not of its type");
        return;
    }
    switch (kind) {
    case 0:
        simple->type = SIMPLE_WATERMARK;
        read_version(bytes, simple);
        read_commit(bytes, simple);
        avro_long(bytes); /* buildTs */
        break;
    case 1:
        simple->type = SIMPLE_BOOTSTRAP;
        read_version(bytes, simple);
        avro_long(bytes); /* buildTs */
        simple->schema = read_schema(bytes);
        break;
    case 2:
        read_ddl(bytes, simple);
        break;
    default:
        read_dml(ticdc, bytes, simple);
    }
}

static enum iso_status decode(struct ticdc *ticdc, const struct iso_message *message, struct iso_events *events,
                              struct iso_error *error)
{
    struct simple simple = {.database = {"", 0}, .table = {"", 0}};
    struct avro_bytes bytes;
    if (!message->payload.data) {
        ticdc_add_ignored(events, message, "tombstone");
        return ISO_OK;
    }
    avro_start(&bytes, message->payload.data, message->payload.size);
    read_message(ticdc, &bytes, &simple);
    if (!bytes.wrong && bytes.at != bytes.end)
        avro_fail(&bytes, "bytes behind the message");
    if (bytes.wrong)
        iso_error_set(error, ISO_BAD_INPUT, "byte %zu: %s", bytes.position + 1, bytes.wrong);
    return simple_finish(ticdc, message, &simple, convert, events, error);
}

const struct ticdc_protocol ticdc_simple_avro = {
    .format = "simple-avro", .create = simple_create, .decode = decode, .destroy = simple_destroy};
