/* Where a change belongs: its table, its transaction, its position. */
#include <string.h>

#include "connectors/debezium/debezium_private.h"

enum { ROW_BITS = 24 };

bool debezium_digits(const char *at, size_t length, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned char)at[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(*number, 10u, number) || __builtin_add_overflow(*number, digit, number))
            return false;
    }
    return length > 0;
}

iso_atom debezium_transaction(struct iso_history *block, struct iso_json_text id, uint64_t *lsn)
{
    uint64_t xid, rest;
    const char *colon = memchr(id.at, ':', id.length);
    if (lsn)
        *lsn = 0;
    if (!colon || !debezium_digits(id.at, (size_t)(colon - id.at), &xid) ||
        !debezium_digits(colon + 1, (size_t)(id.at + id.length - colon - 1), &rest))
        return debezium_text(block, id);
    if (lsn)
        *lsn = rest;
    return iso_atoms_unsigned(&block->atoms, xid);
}

static enum iso_status take_database(const struct iso_envelope *envelope, struct debezium_place *place,
                                     struct iso_error *error)
{
    struct iso_json_text connector;
    if (!iso_envelope_text(envelope, ISO_MEMBER_CONNECTOR, &connector, error))
        return error->status;
    place->database = DEBEZIUM_BINLOG;
    if (ISO_PAYLOAD_IS(connector, "postgresql"))
        place->database = DEBEZIUM_POSTGRESQL;
    else if (!ISO_PAYLOAD_IS(connector, "mysql") && !ISO_PAYLOAD_IS(connector, "mariadb"))
        return iso_error_set(error, ISO_BAD_INPUT, "source.connector: \"%.*s\", expected postgresql, mysql or mariadb%s",
                             (int)(connector.length < 64 ? connector.length : 64), connector.at,
                             ISO_PAYLOAD_IS(connector, "TiCDC")        ? " (TiCDC: a source of kind ticdc)"
                             : ISO_PAYLOAD_IS(connector, "yugabytedb") ? " (YugabyteDB: a source of kind yugabyte)"
                                                                       : "");
    return ISO_OK;
}

/* "false", null, false and nothing at all are no snapshot. */
static enum iso_status take_snapshot(const struct iso_envelope *envelope, struct debezium_place *place,
                                     struct iso_error *error)
{
    const struct iso_cell *cell = &envelope->member[ISO_MEMBER_SNAPSHOT];
    struct iso_json_text text;
    place->is_snapshot = place->is_incremental = false;
    if (iso_envelope_has(envelope, ISO_MEMBER_SNAPSHOT) && cell->kind == ISO_CELL_BOOLEAN) {
        place->is_snapshot = cell->bits;
        return ISO_OK;
    }
    if (!iso_envelope_text(envelope, ISO_MEMBER_SNAPSHOT, &text, error))
        return error->status;
    place->is_snapshot = text.length && !ISO_PAYLOAD_IS(text, "false");
    place->is_incremental = ISO_PAYLOAD_IS(text, "incremental");
    return ISO_OK;
}

/* ["24023119","24023128"]: the previous transaction's end and this change; null and numbers may stand there. */
static bool parse_sequence(struct iso_json_text text, uint64_t numbers[2])
{
    const char *at = text.at, *end = at + text.length;
    numbers[0] = numbers[1] = 0;
    if (at == end || *at++ != '[')
        return false;
    for (int i = 0; i < 2; i++) {
        while (at < end && *at == ' ')
            at++;
        bool quoted = at < end && *at == '"';
        at += quoted;
        const char *from = at;
        while (at < end && *at != '"' && *at != ',' && *at != ']' && *at != ' ')
            at++;
        bool null = !quoted && at - from == 4 && !memcmp(from, "null", 4);
        if (!null && !debezium_digits(from, (size_t)(at - from), &numbers[i]))
            return false;
        if (quoted && (at == end || *at++ != '"'))
            return false;
        if (at == end || *at++ != (i ? ']' : ','))
            return false;
    }
    return at == end;
}

static enum iso_status take_lsn(const struct iso_envelope *envelope, struct iso_event *event, struct iso_error *error)
{
    struct iso_json_text sequence;
    uint64_t numbers[2], lsn;
    if (!iso_envelope_text(envelope, ISO_MEMBER_SEQUENCE, &sequence, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_LSN, &lsn, error))
        return error->status;
    if (!sequence.length)
        return ISO_OK;
    if (!parse_sequence(sequence, numbers))
        return iso_error_set(error, ISO_BAD_INPUT, "source.sequence: expected [\"LSN\",\"LSN\"], either of them maybe null");
    event->position[0] = numbers[0];
    event->position[1] = iso_envelope_has(envelope, ISO_MEMBER_LSN) ? lsn : numbers[1];
    event->flags |= ISO_EVENT_HAS_POSITION;
    return ISO_OK;
}

static enum iso_status take_binlog_position(const struct iso_envelope *envelope, struct iso_event *event,
                                            struct iso_error *error)
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
    if (!debezium_digits(file.at + dot, file.length - dot, &event->position[0]))
        return iso_error_set(error, ISO_BAD_INPUT, "source.file: expected a name that ends in a number, like binlog.000003");
    if (offset >> (64 - ROW_BITS) || row >> ROW_BITS)
        return iso_error_set(error, ISO_BAD_INPUT, "source.pos or source.row: too large");
    event->position[1] = offset << ROW_BITS | row;
    event->flags |= ISO_EVENT_HAS_POSITION;
    return ISO_OK;
}

static enum iso_status take_transaction(const struct iso_envelope *envelope, const struct debezium_place *place,
                                        struct iso_history *block, struct iso_event *event, struct iso_error *error)
{
    struct iso_json_text id, gtid;
    uint64_t xid;
    if (!iso_envelope_text(envelope, ISO_MEMBER_TRANSACTION_ID, &id, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_GTID, &gtid, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_TX_ID, &xid, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_TOTAL_ORDER, &event->order, error))
        return error->status;
    bool has_xid = place->database == DEBEZIUM_POSTGRESQL && iso_envelope_has(envelope, ISO_MEMBER_TX_ID);
    if (place->is_snapshot || (!has_xid && !gtid.length && !id.length))
        return ISO_OK;
    event->flags |= ISO_EVENT_HAS_ID;
    event->transaction_id = has_xid       ? iso_atoms_unsigned(&block->atoms, xid)
                            : id.length   ? debezium_transaction(block, id, NULL)
                                          : debezium_text(block, gtid);
    return ISO_OK;
}

enum iso_status debezium_place(struct debezium *debezium, const struct iso_message *message,
                               struct iso_history *block, struct debezium_place *place, struct iso_event *event,
                               struct iso_error *error)
{
    const struct iso_envelope *envelope = &debezium->envelope;
    struct iso_json_text name;
    bool has_schema = iso_envelope_has(envelope, ISO_MEMBER_SCHEMA);
    *event = (struct iso_event){.source = ISO_ABSENT, .table = ISO_ABSENT, .key = ISO_ABSENT, .before = ISO_ABSENT,
                                .after = ISO_ABSENT, .transaction_id = ISO_ABSENT,
                                .origin = iso_origin(message->input, (uint64_t)message->offset)};
    if (take_database(envelope, place, error) != ISO_OK || take_snapshot(envelope, place, error) != ISO_OK ||
        !iso_envelope_text(envelope, ISO_MEMBER_NAME, &name, error) ||
        !iso_envelope_text(envelope, has_schema ? ISO_MEMBER_SCHEMA : ISO_MEMBER_DB, &place->schema, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_TABLE, &place->table, error))
        return error->status;
    event->source = debezium_text(block, name);
    if (take_transaction(envelope, place, block, event, error) != ISO_OK)
        return error->status;
    return place->database == DEBEZIUM_POSTGRESQL ? take_lsn(envelope, event, error)
                                                  : take_binlog_position(envelope, event, error);
}
