/* Logical messages. With the prefix `isochron` their content is a client's record of the
 * transaction that they are part of, or a watermark; all others belong to somebody else. */
#include <string.h>

#include "base/base64.h"
#include "connectors/debezium/debezium_private.h"
#include "native/watermark.h"

static bool is_record(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size &&
           (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r'))
        at++;
    return at < size && text[at] == '{';
}

static bool decode_hex(const char *text, size_t length, char *bytes, size_t *size)
{
    for (size_t i = 0; i + 1 < length; i += 2) {
        int high = iso_hex_digit(text[i]), low = iso_hex_digit(text[i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (char)(high << 4 | low);
    }
    *size = length / 2;
    return length % 2 == 0;
}

/* base64, and what is meant for URLs. */
static bool decode_base64(const char *text, size_t length, char *bytes, size_t *size)
{
    memcpy(bytes, text, length);
    for (size_t i = 0; i < length; i++)
        bytes[i] = bytes[i] == '-' ? '+' : bytes[i] == '_' ? '/' : bytes[i];
    size_t padded = length;
    for (; padded % 4; padded++)
        bytes[padded] = '=';
    return iso_base64_decode(bytes, padded, (uint8_t *)bytes, size);
}

/* The record as text with the scanner's padding. binary.handling.mode decides what a content is:
 * bytes (base64 in JSON), base64, base64-url-safe or hex; only one of them makes an object of it.
 * NULL: none does. */
static const char *content(struct debezium *debezium, const struct iso_cell *cell, size_t *size)
{
    char *room = iso_payload_reserve(&debezium->content, cell->length + 4u);
    bool found = false;
    *size = cell->length;
    if (cell->kind == ISO_CELL_BYTES || is_record(cell->text, cell->length)) {
        memcpy(room, cell->text, cell->length);
        found = is_record(room, *size);
    } else if (cell->kind == ISO_CELL_TEXT) {
        found = (decode_base64(cell->text, cell->length, room, size) && is_record(room, *size)) ||
                (decode_hex(cell->text, cell->length, room, size) && is_record(room, *size));
    }
    if (found)
        memset(room + *size, 0, ISO_JSON_PADDING);
    return found ? room : NULL;
}

/* Outside of transactions; inside of one it is an event that its END counts. */
static enum iso_status take_watermark(struct debezium *debezium, const char *text, size_t size,
                                      struct iso_events *events, struct iso_event *event,
                                      struct iso_error *error)
{
    uint64_t watermark;
    if (iso_watermark_read(&debezium->native, text, size, &watermark, error) != ISO_OK)
        return error->status;
    if (event->flags & ISO_EVENT_HAS_ID) {
        event->type = ISO_EVENT_IGNORED;
        event->reason = "watermark inside of a transaction";
        iso_events_add(events, event);
    }
    iso_events_add(events, &(struct iso_event){.type = ISO_EVENT_WATERMARK,
                                               .flags = ISO_EVENT_HAS_CTS,
                                               .cts = {.physical = watermark},
                                               .origin = event->origin});
    return ISO_OK;
}

static enum iso_status take_record(struct debezium *debezium, struct iso_events *events,
                                   struct iso_event *event, struct iso_error *error)
{
    const struct iso_cell *cell = &debezium->source.envelope.member[ISO_MEMBER_CONTENT];
    size_t size = 0;
    const char *text = iso_envelope_has(&debezium->source.envelope, ISO_MEMBER_CONTENT)
                           ? content(debezium, cell, &size)
                           : NULL;
    if (!text)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "message.content: expected a transaction in JSON, as bytes, base64 or hex");
    if (iso_watermark_is(text))
        return take_watermark(debezium, text, size, events, event, error);
    if (!(event->flags & ISO_EVENT_HAS_ID))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "a record outside of any transaction: expected "
                             "pg_logical_emit_message(true, 'isochron', record)");
    uint32_t index = events->block.txns.count;
    if (iso_native_read_transaction(&debezium->native, text, size, event->origin, &events->block,
                                    &debezium->fault) != ISO_OK)
        return iso_error_set(error, ISO_BAD_INPUT, "message.content, byte %zu: %s",
                             debezium->fault.position + 1, debezium->fault.text);
    event->type = ISO_EVENT_TRANSACTIONS;
    event->flags |= ISO_EVENT_IN_BAND;
    event->first = index;
    event->count = 1;
    iso_events_add(events, event);
    return ISO_OK;
}

enum iso_status debezium_take_message(struct iso_change_source *source, struct iso_events *events,
                                      struct iso_event *event, struct iso_error *error)
{
    struct iso_json_text prefix;
    if (!iso_envelope_has(&source->envelope, ISO_MEMBER_MESSAGE))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "op m without message, expected {prefix, content}");
    if (!iso_envelope_text(&source->envelope, ISO_MEMBER_PREFIX, &prefix, error))
        return error->status;
    if (ISO_PAYLOAD_IS(prefix, "isochron"))
        return take_record((struct debezium *)source, events, event, error);
    event->type = ISO_EVENT_IGNORED;
    event->reason = "logical message of another prefix than isochron";
    iso_events_add(events, event);
    return ISO_OK;
}
