#include "connectors/debezium/debezium.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "connectors/debezium/debezium_private.h"
#include "connectors/envelope/unchanged.h"

static enum iso_status take_before(struct iso_change_source *source,
                                   const struct iso_change_place *place, struct iso_history *block,
                                   struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &source->envelope;
    struct iso_row *before = &envelope->before;
    bool whole = before->count && source->identity != ISO_IDENTITY_DEFAULT;
    iso_row_mark_unchanged(before);
    iso_row_set_keys(before, &envelope->key);
    iso_marker_hide(&source->marker, before);
    if (source->identity == ISO_IDENTITY_LEARN && place->connector == DEBEZIUM_POSTGRESQL)
        whole = iso_change_is_whole(source, event);
    if (!whole && source->identity == ISO_IDENTITY_FULL)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "before: null, expected the whole row because of identity=full");
    source->before_known = whole;
    if (source->cells.on)
        return ISO_OK;
    return whole ? iso_change_value(before, "before", source->value, block, &event->before,
                                    ISO_EVENT_HAS_BEFORE, event, error)
                 : ISO_OK;
}

/* PostgreSQL's connector says which transaction of its own read the table; its place in the log
 * orders nothing. */
static enum iso_status take_reader(const struct iso_envelope *envelope, struct iso_event *event,
                                   struct iso_error *error)
{
    uint64_t xid;
    if ((event->flags & ISO_EVENT_INCREMENTAL) ||
        !iso_envelope_number(envelope, ISO_MEMBER_TX_ID, &xid, error) || !xid)
        return error->status;
    event->position[0] = xid;
    event->flags = (uint16_t)((event->flags & ~ISO_EVENT_HAS_POSITION) | ISO_EVENT_SNAPSHOT_XID);
    return ISO_OK;
}

/* Where the row stands that lacks a column: a statement before it changed the table. */
static enum iso_status add_place(const struct iso_change_source *source,
                                 const struct iso_change_place *place,
                                 const struct iso_event *event, struct iso_error *error)
{
    enum { ROW_BITS = 24, SHOWN = 100 };
    const struct iso_cell *members = source->envelope.member;
    const struct iso_cell *file = &members[ISO_MEMBER_FILE], *gtid = &members[ISO_MEMBER_GTID];
    size_t used = strlen(error->text);
    bool has_gtid = iso_envelope_has(&source->envelope, ISO_MEMBER_GTID);
    if (place->connector != DEBEZIUM_BINLOG || !strstr(error->text, "no column") ||
        !(event->flags & ISO_EVENT_HAS_POSITION))
        return error->status;
    snprintf(error->text + used, sizeof error->text - used,
             "; a statement before GTID %.*s, %.*s:%" PRIu64 ", changed the table",
             has_gtid ? (int)(gtid->length < SHOWN ? gtid->length : SHOWN) : 1,
             has_gtid ? gtid->text : "-", (int)(file->length < SHOWN ? file->length : SHOWN),
             file->text, event->position[1] >> ROW_BITS);
    return error->status;
}

static enum iso_status read_images(struct iso_change_source *source,
                                   const struct iso_change_place *place, struct iso_history *block,
                                   struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &source->envelope;
    switch (event->operation) {
    case ISO_ROW_INSERT:
        event->flags |= ISO_EVENT_HAS_BEFORE;
        break; /* there was no row */
    case ISO_ROW_SNAPSHOT:
        if (place->connector == DEBEZIUM_POSTGRESQL &&
            take_reader(envelope, event, error) != ISO_OK)
            return error->status;
        break;
    default:
        if (take_before(source, place, block, event, error) != ISO_OK)
            return error->status;
    }
    if (source->cells.on)
        iso_cells_exist(&source->cells, &block->atoms, event,
                        event->operation == ISO_ROW_UPDATE || event->operation == ISO_ROW_DELETE);
    if (event->operation == ISO_ROW_DELETE) {
        event->flags |= ISO_EVENT_HAS_AFTER;
        return ISO_OK;
    }
    iso_row_mark_unchanged(&envelope->after);
    if (!iso_row_set_keys(&envelope->after, &envelope->key))
        return iso_error_set(error, ISO_BAD_INPUT, "after: lacks a column of the key");
    iso_marker_take(&source->marker, &envelope->after, &block->atoms, event);
    if (source->cells.on)
        return ISO_OK;
    return iso_change_value(&envelope->after, "after", source->value, block, &event->after,
                            ISO_EVENT_HAS_AFTER, event, error);
}

static enum iso_status take_images(struct iso_change_source *source,
                                   const struct iso_change_place *place, struct iso_history *block,
                                   struct iso_event *event, struct iso_error *error)
{
    if (read_images(source, place, block, event, error) == ISO_OK)
        return ISO_OK;
    return add_place(source, place, event, error);
}

static const struct iso_change_rules rules = {
    .senders = "Debezium",
    .operations = "curdtms",
    .expected = "c, u, d, r, t or m",
    .schema_change_place = true,
    .place = debezium_place,
    .images = take_images,
    .alone = debezium_take_alone,
    .message = debezium_take_message,
    .metadata = debezium_metadata,
};

static void destroy(struct iso_decoder *decoder)
{
    struct debezium *debezium = (struct debezium *)decoder;
    if (!debezium)
        return;
    iso_change_source_release(&debezium->source);
    iso_native_release(&debezium->native);
    iso_payload_release(&debezium->content);
    iso_free(debezium);
}

static struct iso_decoder *create(const struct iso_decoder_options *options,
                                  struct iso_error *error)
{
    struct debezium *debezium = iso_allocate_zeroed(1, sizeof *debezium);
    iso_native_init(&debezium->native);
    if (iso_change_source_init(&debezium->source, &iso_debezium_decoder, &rules, options, error) ==
        ISO_OK)
        return &debezium->source.decoder;
    destroy(&debezium->source.decoder);
    return NULL;
}

const struct iso_decoder_class iso_debezium_decoder =
    ISO_CHANGE_SOURCE_CLASS("debezium", create, destroy);
