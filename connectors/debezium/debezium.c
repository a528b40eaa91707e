#include "connectors/debezium/debezium.h"

#include <string.h>

#include "base/memory.h"
#include "connectors/debezium/debezium_private.h"

static void destroy(struct iso_decoder *decoder)
{
    struct debezium *debezium = (struct debezium *)decoder;
    if (!debezium)
        return;
    iso_envelope_reader_free(debezium->reader);
    iso_envelope_release(&debezium->envelope);
    iso_identities_release(&debezium->identities);
    iso_native_release(&debezium->native);
    iso_payload_release(&debezium->content);
    iso_row_release(&debezium->names);
    iso_marker_release(&debezium->marker);
    iso_free(debezium->value);
    iso_free(debezium->tables);
    iso_free(debezium);
}

static struct iso_decoder *create(const struct iso_decoder_options *options, struct iso_error *error)
{
    struct debezium *debezium = iso_allocate_zeroed(1, sizeof *debezium);
    debezium->decoder.class = &iso_debezium_decoder;
    debezium->identity = options->identity;
    if (options->value)
        debezium->value = iso_copy_text(options->value, strlen(options->value));
    if (options->tables)
        debezium->tables = iso_copy_text(options->tables, strlen(options->tables));
    iso_marker_init(&debezium->marker, options->marker);
    iso_envelope_init(&debezium->envelope);
    iso_identities_init(&debezium->identities);
    iso_native_init(&debezium->native);
    iso_row_init(&debezium->names);
    debezium->reader = iso_envelope_reader_new(options, false, error);
    if (debezium->reader)
        return &debezium->decoder;
    destroy(&debezium->decoder);
    return NULL;
}

/* ---- rows ---- */

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

static enum iso_status take_before(struct debezium *debezium, const struct debezium_place *place,
                                   struct iso_history *block, struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &debezium->envelope;
    struct iso_row *before = &envelope->before;
    const struct iso_text *name = &debezium->names.text; /* the table's, made last */
    bool whole = before->count && debezium->identity != ISO_IDENTITY_DEFAULT;
    iso_row_set_keys(before, &envelope->key);
    iso_marker_hide(&debezium->marker, before);
    if (debezium->identity == ISO_IDENTITY_LEARN && place->database == DEBEZIUM_POSTGRESQL)
        whole = iso_identities_is_whole(&debezium->identities, name->bytes, name->used, before, debezium->value,
                                        event->operation == ISO_ROW_UPDATE);
    if (!whole && debezium->identity == ISO_IDENTITY_FULL)
        return iso_error_set(error, ISO_BAD_INPUT, "before: null, expected the whole row because of identity=full");
    return whole ? iso_change_value(before, "before", debezium->value, block, &event->before, ISO_EVENT_HAS_BEFORE,
                                    event, error)
                 : ISO_OK;
}

static enum iso_status take_images(struct debezium *debezium, const struct debezium_place *place,
                                   struct iso_history *block, struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &debezium->envelope;
    switch (event->operation) {
    case ISO_ROW_INSERT:
        event->flags |= ISO_EVENT_HAS_BEFORE;
        break; /* there was no row */
    case ISO_ROW_SNAPSHOT:
        break;
    default:
        if (take_before(debezium, place, block, event, error) != ISO_OK)
            return error->status;
    }
    if (event->operation == ISO_ROW_DELETE) {
        event->flags |= ISO_EVENT_HAS_AFTER;
        return ISO_OK;
    }
    mark_unchanged(&envelope->after);
    if (!iso_row_set_keys(&envelope->after, &envelope->key))
        return iso_error_set(error, ISO_BAD_INPUT, "after: lacks a column of the key");
    iso_marker_take(&debezium->marker, &envelope->after, &block->atoms, event);
    return iso_change_value(&envelope->after, "after", debezium->value, block, &event->after, ISO_EVENT_HAS_AFTER,
                            event, error);
}

static enum iso_status take_row(struct debezium *debezium, char op, const struct debezium_place *place,
                                struct iso_events *events, struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &debezium->envelope;
    struct iso_history *block = &events->block;
    bool is_snapshot = op == 'r' || (op == 'c' && place->is_snapshot);
    if (iso_change_form(envelope, op, error) != ISO_OK)
        return error->status;
    if (iso_change_marker(&debezium->marker, &debezium->names.text, envelope, op == 'd' || is_snapshot, events, event))
        return ISO_OK;
    if (!envelope->has_key) {
        event->type = ISO_EVENT_IGNORED;
        event->reason = "row without a key";
        iso_events_add(events, event);
        return ISO_OK;
    }
    event->type = ISO_EVENT_ROW;
    event->operation = is_snapshot ? ISO_ROW_SNAPSHOT
                       : op == 'c' ? ISO_ROW_INSERT
                       : op == 'u' ? ISO_ROW_UPDATE
                                   : ISO_ROW_DELETE;
    event->key = iso_row_key(&envelope->key, &block->atoms, place->schema, place->table);
    if (event->key == ISO_ABSENT)
        return iso_error_set(error, ISO_BAD_INPUT, "key: a column of it is null");
    if (take_images(debezium, place, block, event, error) == ISO_OK)
        iso_events_add(events, event);
    return error->status;
}

/* ---- messages ---- */

static enum iso_status take_change(struct debezium *debezium, const struct iso_message *message,
                                   struct iso_events *events, struct iso_error *error)
{
    struct debezium_place place;
    struct iso_event event;
    struct iso_json_text op;
    if (!iso_envelope_text(&debezium->envelope, ISO_MEMBER_OP, &op, error))
        return error->status;
    if (!iso_envelope_has(&debezium->envelope, ISO_MEMBER_SOURCE))
        return iso_error_set(error, ISO_BAD_INPUT, "no source, expected one beside op");
    if (debezium_place(debezium, message, &events->block, &place, &event, error) != ISO_OK)
        return error->status;
    char letter = op.length == 1 ? *op.at : 0;
    if (letter == 'm')
        return debezium_take_message(debezium, events, &event, error);
    if (!letter || !strchr("curdt", letter))
        return iso_error_set(error, ISO_BAD_INPUT, "op: \"%.*s\", expected c, u, d, r, t or m",
                             (int)(op.length < 64 ? op.length : 64), op.at);
    if (!place.table.length)
        return iso_error_set(error, ISO_BAD_INPUT, "source.table: expected the table's name");
    event.table = iso_row_table(&debezium->names, &events->block.atoms, place.schema, place.table);
    event.type = ISO_EVENT_DROP;
    if (!iso_table_listed(debezium->tables, debezium->names.text.bytes, debezium->names.text.used) &&
        !iso_marker_is_table(&debezium->marker, debezium->names.text.bytes, debezium->names.text.used)) {
        event.type = ISO_EVENT_IGNORED;
        event.reason = "a table that is not in tables=";
    } else if (letter != 't') {
        return take_row(debezium, letter, &place, events, &event, error);
    }
    iso_events_add(events, &event);
    return ISO_OK;
}

static enum iso_status take_schema_change(struct debezium *debezium, const struct iso_message *message,
                                          struct iso_events *events, struct iso_error *error)
{
    struct debezium_place place;
    struct iso_event event;
    if (debezium_place(debezium, message, &events->block, &place, &event, error) != ISO_OK)
        return error->status;
    if (place.table.length)
        event.table = iso_row_table(&debezium->names, &events->block.atoms, place.schema, place.table);
    event.type = ISO_EVENT_SCHEMA;
    iso_events_add(events, &event);
    return ISO_OK;
}

static enum iso_status take_metadata(struct debezium *debezium, const struct iso_message *message,
                                     struct iso_events *events, struct iso_error *error)
{
    struct iso_event event;
    if (iso_change_metadata(&debezium->envelope, message, &events->block, &event, error) == ISO_OK)
        iso_events_add(events, &event);
    return error->status;
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message, struct iso_events *events,
                              struct iso_error *error)
{
    struct debezium *debezium = (struct debezium *)decoder;
    struct iso_envelope *envelope = &debezium->envelope;
    struct iso_event event = iso_event_of(message, ISO_EVENT_HEARTBEAT);
    if (iso_envelope_read(debezium->reader, message, envelope, error) != ISO_OK)
        return error->status;
    if (envelope->is_tombstone) {
        event.type = ISO_EVENT_IGNORED;
        event.reason = "tombstone";
        iso_events_add(events, &event);
        return ISO_OK;
    }
    if (iso_envelope_saw(envelope, ISO_MEMBER_OP))
        return take_change(debezium, message, events, error);
    if (iso_envelope_saw(envelope, ISO_MEMBER_STATUS))
        return take_metadata(debezium, message, events, error);
    if (iso_envelope_saw(envelope, ISO_MEMBER_DDL) || iso_envelope_saw(envelope, ISO_MEMBER_DATABASE_NAME))
        return take_schema_change(debezium, message, events, error);
    if (envelope->seen != (uint64_t)1 << ISO_MEMBER_TS_MS)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "not a message of Debezium: expected op, status, ddl, or ts_ms alone");
    iso_events_add(events, &event);
    return ISO_OK;
}

const struct iso_decoder_class iso_debezium_decoder = {"debezium", create, decode, destroy};
