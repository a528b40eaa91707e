#include "connectors/envelope/change.h"

#include <string.h>

#include "base/payload.h"

iso_atom iso_change_transaction(struct iso_history *block, struct iso_json_text id, uint64_t *lsn)
{
    uint64_t xid, rest;
    const char *colon = memchr(id.at, ':', id.length);
    if (lsn)
        *lsn = 0;
    if (!colon || !iso_bytes_decimal(id.at, (size_t)(colon - id.at), &xid) ||
        !iso_bytes_decimal(colon + 1, (size_t)(id.at + id.length - colon - 1), &rest))
        return iso_change_text(block, id);
    if (lsn)
        *lsn = rest;
    return iso_atoms_unsigned(&block->atoms, xid);
}

/* "false", null, false and nothing at all are no snapshot. */
enum iso_status iso_change_snapshot(const struct iso_envelope *envelope, bool *is_snapshot,
                                    uint16_t *flags, struct iso_error *error)
{
    const struct iso_cell *cell = &envelope->member[ISO_MEMBER_SNAPSHOT];
    struct iso_json_text text;
    *is_snapshot = false;
    *flags = 0;
    if (iso_envelope_has(envelope, ISO_MEMBER_SNAPSHOT) && cell->kind == ISO_CELL_BOOLEAN) {
        *is_snapshot = cell->bits;
        return ISO_OK;
    }
    if (!iso_envelope_text(envelope, ISO_MEMBER_SNAPSHOT, &text, error))
        return error->status;
    *is_snapshot = text.length && !ISO_PAYLOAD_IS(text, "false");
    *flags = ISO_PAYLOAD_IS(text, "last") ? ISO_EVENT_SNAPSHOT_ENDS | ISO_EVENT_TABLE_ENDS
             : ISO_PAYLOAD_IS(text, "last_in_data_collection") ? ISO_EVENT_TABLE_ENDS
             : ISO_PAYLOAD_IS(text, "incremental")             ? ISO_EVENT_INCREMENTAL
             : ISO_PAYLOAD_IS(text, "first") || ISO_PAYLOAD_IS(text, "first_in_data_collection")
                 ? ISO_EVENT_SNAPSHOT_MARKS
                 : 0;
    return ISO_OK;
}

/* A number of the sequence: digits, in quotes or not, or null, which is 0. NULL: something else. */
static const char *parse_position(const char *at, const char *end, uint64_t *number)
{
    uint64_t bits = 0;
    bool quoted = at < end && *at == '"', beyond = false;
    const char *from = at += quoted;
    for (unsigned count = 8; count == 8 && end - at >= 8 && at - from < 16; at += count) {
        static const uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                          100000, 1000000, 10000000, 100000000};
        uint64_t part;
        count = iso_bytes_digits(at, &part);
        bits = bits * powers[count] + part;
    }
    for (; at < end && (unsigned char)(*at - '0') <= 9; at++) {
        beyond |= bits > UINT64_MAX / 10 || (bits == UINT64_MAX / 10 && *at > '5');
        bits = bits * 10 + (uint64_t)(*at - '0');
    }
    *number = bits;
    if (at == from && !quoted && end - at >= 4 && !memcmp(at, "null", 4))
        return at + 4;
    if (at == from || beyond || (quoted && (at == end || *at++ != '"')))
        return NULL;
    return at;
}

/* ["24023119","24023128"]: the previous transaction's end and this change; null and numbers may
 * stand there. */
static bool parse_sequence(struct iso_json_text text, uint64_t numbers[2])
{
    const char *at = text.at, *end = at + text.length;
    if (at == end || *at++ != '[')
        return false;
    for (int i = 0; i < 2; i++) {
        while (at < end && *at == ' ')
            at++;
        at = parse_position(at, end, &numbers[i]);
        if (!at || at == end || *at++ != (i ? ']' : ','))
            return false;
    }
    return at == end;
}

enum iso_status iso_change_lsn(const struct iso_envelope *envelope, struct iso_event *event,
                               struct iso_error *error)
{
    struct iso_json_text sequence;
    uint64_t numbers[2], lsn;
    if (!iso_envelope_text(envelope, ISO_MEMBER_SEQUENCE, &sequence, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_LSN, &lsn, error))
        return error->status;
    if (!sequence.length)
        return ISO_OK;
    if (!parse_sequence(sequence, numbers))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "source.sequence: expected [\"LSN\",\"LSN\"], either of them maybe null");
    event->position[0] = numbers[0];
    event->position[1] = iso_envelope_has(envelope, ISO_MEMBER_LSN) ? lsn : numbers[1];
    event->flags |= ISO_EVENT_HAS_POSITION;
    return ISO_OK;
}

enum iso_status iso_change_form(const struct iso_envelope *envelope, char op,
                                struct iso_error *error)
{
    bool after = iso_envelope_has(envelope, ISO_MEMBER_AFTER),
         before = iso_envelope_has(envelope, ISO_MEMBER_BEFORE);
    if (op != 'd' && !after)
        return iso_error_set(error, ISO_BAD_INPUT, "op %c without after, expected a row", op);
    if (op == 'd' && after)
        return iso_error_set(error, ISO_BAD_INPUT, "op d with after, expected null");
    if ((op == 'c' || op == 'r') && before)
        return iso_error_set(error, ISO_BAD_INPUT, "op %c with before, expected null", op);
    return ISO_OK;
}

enum iso_status iso_change_value(struct iso_row *row, const char *part, const char *column,
                                 struct iso_history *block, iso_atom *value, uint16_t flag,
                                 struct iso_event *event, struct iso_error *error)
{
    switch (iso_row_value(row, &block->atoms, column, value)) {
    case ISO_ROW_KNOWN:
        event->flags |= flag;
        return ISO_OK;
    case ISO_ROW_UNKNOWN:
        return ISO_OK;
    case ISO_ROW_NO_COLUMN:
        return iso_error_set(error, ISO_BAD_INPUT,
                             "%s: no column \"%s\", expected it because of value=%s", part, column,
                             column);
    default:
        return iso_error_set(error, ISO_BAD_INPUT, "%s: two columns of one name", part);
    }
}

bool iso_change_marker(const struct iso_marker *marker, struct iso_json_text table,
                       struct iso_envelope *envelope, bool says_nothing, struct iso_events *events,
                       struct iso_event *event)
{
    if (!iso_marker_is_table(marker, table.at, table.length))
        return false;
    iso_marker_take_row(marker, says_nothing ? NULL : &envelope->after, &events->block.atoms,
                        event);
    iso_events_add(events, event);
    return true;
}

/* The connector's name: the topic is "<name>.transaction", and the payload does not say it. */
static iso_atom source_of(struct iso_history *block, const char *topic)
{
    const char *dot = strrchr(topic, '.');
    return iso_atoms_text(&block->atoms, topic, dot ? (size_t)(dot - topic) : strlen(topic));
}

enum iso_status iso_change_metadata(const struct iso_envelope *envelope,
                                    const struct iso_message *message, struct iso_history *block,
                                    struct iso_event *event, struct iso_error *error)
{
    struct iso_json_text status, id;
    uint64_t count, lsn;
    if (!iso_envelope_text(envelope, ISO_MEMBER_STATUS, &status, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_ID, &id, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_EVENT_COUNT, &count, error))
        return error->status;
    bool is_end = ISO_PAYLOAD_IS(status, "END");
    if (!is_end && !ISO_PAYLOAD_IS(status, "BEGIN"))
        return iso_error_set(error, ISO_BAD_INPUT, "status: \"%.*s\", expected BEGIN or END",
                             (int)(status.length < 64 ? status.length : 64), status.at);
    if (!id.length)
        return iso_error_set(error, ISO_BAD_INPUT, "id: expected the transaction's id");
    if (count > UINT32_MAX)
        return iso_error_set(error, ISO_BAD_INPUT, "event_count: more than 2^32 - 1");
    *event = iso_event_of(message, is_end ? ISO_EVENT_END : ISO_EVENT_BEGIN);
    event->flags = ISO_EVENT_HAS_ID;
    event->source = source_of(block, message->topic);
    event->transaction_id = iso_change_transaction(block, id, &lsn);
    if (lsn) {
        event->position[1] = lsn;
        event->flags |= ISO_EVENT_HAS_POSITION;
    }
    if (is_end && !iso_envelope_number(envelope, ISO_MEMBER_TS_MS, &event->time, error))
        return error->status;
    if (is_end && iso_envelope_has(envelope, ISO_MEMBER_EVENT_COUNT)) {
        event->count = (uint32_t)count;
        event->flags |= ISO_EVENT_HAS_COUNT;
    }
    return ISO_OK;
}
