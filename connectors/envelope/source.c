#include "connectors/envelope/source.h"

#include <string.h>

#include "base/memory.h"
#include "io/ddl.h"
#include "io/payload.h"

enum { SHOWN = 64 }; /* bytes of what is refused */

enum iso_status iso_change_source_init(struct iso_change_source *source, const struct iso_decoder_class *class,
                                       const struct iso_change_rules *rules, const struct iso_decoder_options *options,
                                       struct iso_error *error)
{
    source->decoder.class = class;
    source->rules = rules;
    source->identity = options->identity;
    source->value = options->value ? iso_copy_text(options->value, strlen(options->value)) : NULL;
    source->tables = options->tables ? iso_copy_text(options->tables, strlen(options->tables)) : NULL;
    iso_marker_init(&source->marker, options->marker);
    iso_envelope_init(&source->envelope);
    iso_identities_init(&source->identities);
    source->reader = iso_envelope_reader_new(options, rules->cells, error);
    return error->status;
}

void iso_change_source_release(struct iso_change_source *source)
{
    iso_envelope_reader_free(source->reader);
    iso_envelope_release(&source->envelope);
    iso_identities_release(&source->identities);
    iso_row_names_release(&source->names);
    iso_marker_release(&source->marker);
    iso_free(source->value);
    iso_free(source->tables);
}

iso_atom iso_change_name(struct iso_change_source *source, struct iso_history *block, struct iso_json_text name)
{
    if (!iso_atom_is_still(&block->atoms, source->name, name.at, name.length))
        source->name = iso_atoms_text(&block->atoms, name.at, name.length);
    return source->name;
}

bool iso_change_is_whole(struct iso_change_source *source, bool is_update)
{
    struct iso_json_text table = source->table->name;
    return iso_identities_is_whole(&source->identities, table.at, table.length, &source->envelope.before, source->value,
                                   is_update);
}

static enum iso_status ignore(struct iso_events *events, struct iso_event *event, const char *reason)
{
    event->type = ISO_EVENT_IGNORED;
    event->reason = reason;
    iso_events_add(events, event);
    return ISO_OK;
}

static bool is_listed(const struct iso_change_source *source)
{
    return iso_table_listed(source->tables, source->table->name.at, source->table->name.length);
}

static enum iso_status take_row(struct iso_change_source *source, char op, const struct iso_change_place *place,
                                struct iso_events *events, struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &source->envelope;
    struct iso_history *block = &events->block;
    bool is_snapshot = op == 'r' || (op == 'c' && place->is_snapshot);
    if (iso_change_form(envelope, op, error) != ISO_OK)
        return error->status;
    if (iso_change_marker(&source->marker, source->table->name, envelope, op == 'd' || is_snapshot, events, event))
        return ISO_OK;
    if (!envelope->has_key)
        return ignore(events, event, "row without a key");
    event->operation = is_snapshot ? ISO_ROW_SNAPSHOT
                       : op == 'c' ? ISO_ROW_INSERT
                       : op == 'u' ? ISO_ROW_UPDATE
                                   : ISO_ROW_DELETE;
    event->key = iso_row_key(&envelope->key, &block->atoms, source->table);
    if (event->key == ISO_ABSENT)
        return iso_error_set(error, ISO_BAD_INPUT, "key: a column of it is null");
    if (source->rules->images(source, place, block, event, error) == ISO_OK)
        iso_events_add(events, event);
    return error->status;
}

static enum iso_status take_change(struct iso_change_source *source, const struct iso_message *message,
                                   struct iso_events *events, struct iso_error *error)
{
    const struct iso_envelope *envelope = &source->envelope;
    struct iso_event event = iso_event_of(message, ISO_EVENT_ROW);
    struct iso_change_place place = {.is_snapshot = false};
    struct iso_json_text op;
    if (!iso_envelope_text(envelope, ISO_MEMBER_OP, &op, error))
        return error->status;
    if (!iso_envelope_has(envelope, ISO_MEMBER_SOURCE))
        return iso_error_set(error, ISO_BAD_INPUT, "no source, expected one beside op");
    if (op.length != 1 || !*op.at || !strchr(source->rules->operations, *op.at))
        return iso_error_set(error, ISO_BAD_INPUT, "op: \"%.*s\", expected %s",
                             (int)(op.length < SHOWN ? op.length : SHOWN), op.at, source->rules->expected);
    if (source->rules->place(source, &events->block, &place, &event, error) != ISO_OK)
        return error->status;
    if (*op.at == 'm')
        return source->rules->message(source, events, &event, error);
    if (!place.table.length)
        return iso_error_set(error, ISO_BAD_INPUT, "source.table: expected the table's name");
    source->table = iso_row_names_find(&source->names, &events->block.atoms, place.schema, place.table);
    event.table = source->table->atom;
    if (!is_listed(source) && !iso_marker_is_table(&source->marker, source->table->name.at, source->table->name.length))
        return ignore(events, &event, "a table that is not in tables=");
    if (*op.at != 't')
        return take_row(source, *op.at, &place, events, &event, error);
    event.type = ISO_EVENT_DROP;
    if (source->rules->alone)
        source->rules->alone(source, &place, &events->block, &event);
    iso_events_add(events, &event);
    return ISO_OK;
}

/* A snapshot begins with statements that drop what the schema's reader may have had: they are nobody's. */
static enum iso_status take_schema_change(struct iso_change_source *source, const struct iso_message *message,
                                          struct iso_events *events, struct iso_error *error)
{
    struct iso_event event = iso_event_of(message, ISO_EVENT_SCHEMA);
    struct iso_change_place place = {.is_snapshot = false};
    struct iso_json_text statement;
    if (source->rules->schema_change_place &&
        source->rules->place(source, &events->block, &place, &event, error) != ISO_OK)
        return error->status;
    if (!iso_envelope_text(&source->envelope, ISO_MEMBER_DDL, &statement, error))
        return error->status;
    if (place.table.length) {
        source->table = iso_row_names_find(&source->names, &events->block.atoms, place.schema, place.table);
        event.table = source->table->atom;
        if (source->rules->alone && !place.is_snapshot && iso_ddl_drops_rows(statement) && is_listed(source) &&
            source->rules->alone(source, &place, &events->block, &event))
            event.type = ISO_EVENT_DROP;
    }
    iso_events_add(events, &event);
    return ISO_OK;
}

static enum iso_status take_metadata(struct iso_change_source *source, const struct iso_message *message,
                                     struct iso_events *events, struct iso_error *error)
{
    struct iso_event event;
    if (iso_change_metadata(&source->envelope, message, &events->block, &event, error) != ISO_OK)
        return error->status;
    if (source->rules->metadata)
        source->rules->metadata(&source->envelope, &event);
    iso_events_add(events, &event);
    return ISO_OK;
}

enum iso_status iso_change_source_decode(struct iso_decoder *decoder, const struct iso_message *message,
                                         struct iso_events *events, struct iso_error *error)
{
    struct iso_change_source *source = (struct iso_change_source *)decoder;
    struct iso_envelope *envelope = &source->envelope;
    struct iso_event event = iso_event_of(message, ISO_EVENT_HEARTBEAT);
    if (iso_envelope_read(source->reader, message, envelope, error) != ISO_OK)
        return error->status;
    if (envelope->is_tombstone)
        return ignore(events, &event, "tombstone");
    if (iso_envelope_saw(envelope, ISO_MEMBER_OP))
        return take_change(source, message, events, error);
    if (iso_envelope_saw(envelope, ISO_MEMBER_STATUS))
        return take_metadata(source, message, events, error);
    if (iso_envelope_saw(envelope, ISO_MEMBER_DDL) || iso_envelope_saw(envelope, ISO_MEMBER_DATABASE_NAME))
        return take_schema_change(source, message, events, error);
    if (envelope->seen != (uint64_t)1 << ISO_MEMBER_TS_MS)
        return iso_error_set(error, ISO_BAD_INPUT, "not a message of %s: expected op, status, ddl, or ts_ms alone",
                             source->rules->senders);
    iso_events_add(events, &event);
    return ISO_OK;
}

void iso_change_source_archive(struct iso_decoder *decoder, struct iso_archive *archive)
{
    iso_identities_archive(archive, &((struct iso_change_source *)decoder)->identities);
}
