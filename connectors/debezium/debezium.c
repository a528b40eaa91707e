#include "connectors/debezium/debezium.h"

#include <string.h>

#include "base/memory.h"
#include "connectors/debezium/debezium_private.h"

/* The placeholder of a column that is stored apart and did not change: PostgreSQL's log does not have it. */
static void mark_unchanged(struct iso_row *row)
{
    static const char plain[] = "__debezium_unavailable_value", base64[] = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==";
    for (uint32_t i = 0; i < row->count; i++) {
        struct iso_cell *cell = &row->cells[i];
        if ((cell->kind == ISO_CELL_TEXT || cell->kind == ISO_CELL_BYTES) &&
            ((cell->length == sizeof plain - 1 && !memcmp(cell->text, plain, sizeof plain - 1)) ||
             (cell->length == sizeof base64 - 1 && !memcmp(cell->text, base64, sizeof base64 - 1))))
            cell->kind = ISO_CELL_UNKNOWN;
    }
}

static enum iso_status take_before(struct iso_change_source *source, const struct iso_change_place *place,
                                   struct iso_history *block, struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &source->envelope;
    struct iso_row *before = &envelope->before;
    bool whole = before->count && source->identity != ISO_IDENTITY_DEFAULT;
    iso_row_set_keys(before, &envelope->key);
    iso_marker_hide(&source->marker, before);
    if (source->identity == ISO_IDENTITY_LEARN && place->connector == DEBEZIUM_POSTGRESQL)
        whole = iso_change_is_whole(source, event->operation == ISO_ROW_UPDATE);
    if (!whole && source->identity == ISO_IDENTITY_FULL)
        return iso_error_set(error, ISO_BAD_INPUT, "before: null, expected the whole row because of identity=full");
    return whole ? iso_change_value(before, "before", source->value, block, &event->before, ISO_EVENT_HAS_BEFORE, event,
                                    error)
                 : ISO_OK;
}

static enum iso_status take_images(struct iso_change_source *source, const struct iso_change_place *place,
                                   struct iso_history *block, struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &source->envelope;
    switch (event->operation) {
    case ISO_ROW_INSERT:
        event->flags |= ISO_EVENT_HAS_BEFORE;
        break; /* there was no row */
    case ISO_ROW_SNAPSHOT:
        break;
    default:
        if (take_before(source, place, block, event, error) != ISO_OK)
            return error->status;
    }
    if (event->operation == ISO_ROW_DELETE) {
        event->flags |= ISO_EVENT_HAS_AFTER;
        return ISO_OK;
    }
    mark_unchanged(&envelope->after);
    if (!iso_row_set_keys(&envelope->after, &envelope->key))
        return iso_error_set(error, ISO_BAD_INPUT, "after: lacks a column of the key");
    iso_marker_take(&source->marker, &envelope->after, &block->atoms, event);
    return iso_change_value(&envelope->after, "after", source->value, block, &event->after, ISO_EVENT_HAS_AFTER, event,
                            error);
}

static const struct iso_change_rules rules = {
    .senders = "Debezium",
    .operations = "curdtm",
    .expected = "c, u, d, r, t or m",
    .schema_change_place = true,
    .place = debezium_place,
    .images = take_images,
    .alone = debezium_take_alone,
    .message = debezium_take_message,
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

static struct iso_decoder *create(const struct iso_decoder_options *options, struct iso_error *error)
{
    struct debezium *debezium = iso_allocate_zeroed(1, sizeof *debezium);
    iso_native_init(&debezium->native);
    if (iso_change_source_init(&debezium->source, &iso_debezium_decoder, &rules, options, error) == ISO_OK)
        return &debezium->source.decoder;
    destroy(&debezium->source.decoder);
    return NULL;
}

const struct iso_decoder_class iso_debezium_decoder = {"debezium", create, iso_change_source_decode, destroy,
                                                       iso_change_source_archive};
