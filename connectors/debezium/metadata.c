/* Transaction metadata: BEGIN, and END with its count. */
#include <string.h>

#include "connectors/debezium/debezium_private.h"

/* The connector's name: the topic is "<name>.transaction", and the payload does not say it. */
static iso_atom source_of(struct iso_history *block, const char *topic)
{
    const char *dot = strrchr(topic, '.');
    return iso_atoms_text(&block->atoms, topic, dot ? (size_t)(dot - topic) : strlen(topic));
}

enum iso_status debezium_take_metadata(struct debezium *debezium, const struct iso_message *message,
                                       struct iso_events *events, struct iso_error *error)
{
    const struct iso_envelope *envelope = &debezium->envelope;
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
    struct iso_event event = {.type = is_end ? ISO_EVENT_END : ISO_EVENT_BEGIN, .flags = ISO_EVENT_HAS_ID,
                              .table = ISO_ABSENT, .key = ISO_ABSENT, .before = ISO_ABSENT, .after = ISO_ABSENT,
                              .origin = iso_origin(message->input, (uint64_t)message->offset)};
    event.source = source_of(&events->block, message->topic);
    event.transaction_id = debezium_transaction(&events->block, id, &lsn);
    if (lsn) {
        event.position[1] = lsn;
        event.flags |= ISO_EVENT_HAS_POSITION;
    }
    if (is_end && iso_envelope_has(envelope, ISO_MEMBER_EVENT_COUNT)) {
        event.count = (uint32_t)count;
        event.flags |= ISO_EVENT_HAS_COUNT;
    }
    iso_events_add(events, &event);
    return ISO_OK;
}
