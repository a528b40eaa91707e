/* Where a change belongs: its table, its transaction, its position. */
#include <inttypes.h>
#include <stdio.h>

#include "connectors/debezium/debezium_private.h"
#include "history/gtid.h"

enum { ROW_BITS = 24, SHOWN = 400, ALONE_MAX = 2 * SHOWN + 32 };

static enum iso_status take_connector(struct iso_change_source *source,
                                      struct iso_change_place *place, struct iso_error *error)
{
    struct iso_json_text connector;
    if (!iso_envelope_text(&source->envelope, ISO_MEMBER_CONNECTOR, &connector, error))
        return error->status;
    place->connector = DEBEZIUM_BINLOG;
    if (ISO_PAYLOAD_IS(connector, "postgresql"))
        place->connector = DEBEZIUM_POSTGRESQL;
    else if (!ISO_PAYLOAD_IS(connector, "mysql") && !ISO_PAYLOAD_IS(connector, "mariadb"))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "source.connector: \"%.*s\", expected postgresql, mysql or mariadb%s",
                             (int)(connector.length < 64 ? connector.length : 64), connector.at,
                             ISO_PAYLOAD_IS(connector, "TiCDC") ? " (TiCDC: a source of kind ticdc)"
                             : ISO_PAYLOAD_IS(connector, "yugabytedb")
                                 ? " (YugabyteDB: a source of kind yugabyte)"
                                 : "");
    source->decoder.only_signed = place->connector == DEBEZIUM_POSTGRESQL;
    return ISO_OK;
}

static enum iso_status take_binlog_position(const struct iso_envelope *envelope,
                                            struct iso_event *event, struct iso_error *error)
{
    struct iso_json_text file;
    uint64_t offset, row;
    if (!iso_envelope_text(envelope, ISO_MEMBER_FILE, &file, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_POS, &offset, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_ROW, &row, error))
        return error->status;
    if (!file.length)
        return ISO_OK;
    size_t dot = file.length;
    while (dot && file.at[dot - 1] != '.')
        dot--;
    if (!iso_bytes_decimal(file.at + dot, file.length - dot, &event->position[0]))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "source.file: expected a name that ends in a number, like binlog.000003");
    if (offset >> (64 - ROW_BITS) || row >> ROW_BITS)
        return iso_error_set(error, ISO_BAD_INPUT, "source.pos or source.row: too large");
    event->position[1] = offset << ROW_BITS | row;
    event->flags |= ISO_EVENT_HAS_POSITION;
    return ISO_OK;
}

static void take_gtid(struct iso_json_text text, struct iso_event *event)
{
    struct iso_gtid gtid;
    if (!iso_gtid_read(text.at, text.length, &gtid))
        return;
    event->domain = gtid.domain;
    event->commit = gtid.number;
}

void debezium_metadata(const struct iso_envelope *envelope, struct iso_event *event)
{
    const struct iso_cell *id = &envelope->member[ISO_MEMBER_ID];
    take_gtid((struct iso_json_text){id->text, id->length}, event);
}

static enum iso_status take_transaction(const struct iso_envelope *envelope,
                                        const struct iso_change_place *place,
                                        struct iso_history *block, struct iso_event *event,
                                        struct iso_error *error)
{
    struct iso_json_text id, gtid;
    uint64_t xid;
    if (!iso_envelope_text(envelope, ISO_MEMBER_TRANSACTION_ID, &id, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_GTID, &gtid, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_TX_ID, &xid, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_TOTAL_ORDER, &event->order, error))
        return error->status;
    bool has_xid = place->connector == DEBEZIUM_POSTGRESQL && xid; /* Protobuf may say 0 for null */
    if (!has_xid && !place->is_snapshot)
        take_gtid(id.length ? id : gtid, event);
    if (place->is_snapshot || (!has_xid && !gtid.length && !id.length))
        return ISO_OK;
    event->flags |= ISO_EVENT_HAS_ID;
    event->transaction_id = has_xid     ? iso_atoms_unsigned(&block->atoms, xid)
                            : id.length ? iso_change_transaction(block, id, NULL)
                                        : iso_change_text(block, gtid);
    return ISO_OK;
}

/* A change's snapshot is not said, and has the default "false": where that stands in the message,
 * the converter puts defaults in the place of NULL, in columns too. */
static void note_defaults(const struct iso_envelope *envelope, struct iso_event *event)
{
    const struct iso_cell *cell = &envelope->member[ISO_MEMBER_SNAPSHOT];
    struct iso_json_text text = {cell->text, cell->length};
    if (iso_envelope_has(envelope, ISO_MEMBER_SNAPSHOT) && cell->kind == ISO_CELL_TEXT &&
        ISO_PAYLOAD_IS(text, "false"))
        event->reason = "NULL is sent as its column's default: set "
                        "value.converter.replace.null.with.default=false (Avro: "
                        "value.converter.ignore.default.for.nullables=true) on the connector, and "
                        "let it read the tables again";
}

enum iso_status debezium_place(struct iso_change_source *source, struct iso_history *block,
                               struct iso_change_place *place, struct iso_event *event,
                               struct iso_error *error)
{
    const struct iso_envelope *envelope = &source->envelope;
    struct iso_json_text name;
    bool has_schema = iso_envelope_has(envelope, ISO_MEMBER_SCHEMA);
    if (take_connector(source, place, error) != ISO_OK ||
        iso_change_snapshot(envelope, &place->is_snapshot, &place->snapshot_flags, error) !=
            ISO_OK ||
        !iso_envelope_text(envelope, ISO_MEMBER_NAME, &name, error) ||
        !iso_envelope_text(envelope, has_schema ? ISO_MEMBER_SCHEMA : ISO_MEMBER_DB, &place->schema,
                           error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_TABLE, &place->table, error))
        return error->status;
    event->source = iso_change_name(source, block, name);
    note_defaults(envelope, event);
    if (take_transaction(envelope, place, block, event, error) != ISO_OK)
        return error->status;
    return place->connector == DEBEZIUM_POSTGRESQL ? iso_change_lsn(envelope, event, error)
                                                   : take_binlog_position(envelope, event, error);
}

/* In MySQL and MariaDB a statement that drops or truncates commits by itself, outside of any BEGIN
 * and END. One that drops several tables comes once for each, at one place: "GTID or file, offset
 * and table" is its transaction. */
bool debezium_take_alone(const struct iso_change_source *source,
                         const struct iso_change_place *place, struct iso_history *block,
                         struct iso_event *event)
{
    char name[ALONE_MAX];
    const struct iso_cell *members = source->envelope.member;
    bool has_gtid = iso_envelope_has(&source->envelope, ISO_MEMBER_GTID);
    const struct iso_cell *cell = &members[has_gtid ? ISO_MEMBER_GTID : ISO_MEMBER_FILE];
    struct iso_json_text table = source->table->name;
    if (place->connector != DEBEZIUM_BINLOG || !(event->flags & ISO_EVENT_HAS_POSITION))
        return false;
    int length = snprintf(name, sizeof name, "%.*s:%" PRIu64 " %.*s",
                          (int)(cell->length < SHOWN ? cell->length : SHOWN), cell->text,
                          event->position[1] >> ROW_BITS,
                          (int)(table.length < SHOWN ? table.length : SHOWN), table.at);
    event->transaction_id = iso_atoms_add_string(&block->atoms, name, (size_t)length);
    event->flags |= ISO_EVENT_HAS_ID | ISO_EVENT_ALONE;
    return true;
}
