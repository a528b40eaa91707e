#include "connectors/envelope/source.h"

#include <string.h>

#include "base/archive.h"
#include "base/memory.h"
#include "connectors/envelope/topic.h"
#include "connectors/cdc_common/ddl.h"

enum { SHOWN = 64 }; /* bytes of what is refused */

enum iso_status iso_change_source_init(struct iso_change_source *source,
                                       const struct iso_decoder_class *class,
                                       const struct iso_change_rules *rules,
                                       const struct iso_decoder_options *options,
                                       struct iso_error *error)
{
    source->decoder.class = class;
    source->rules = rules;
    source->identity = options->identity;
    source->unreported = options->unreported;
    source->value = options->value ? iso_copy_text(options->value, strlen(options->value)) : NULL;
    source->decoder.value = source->value;
    source->tables =
        options->tables ? iso_copy_text(options->tables, strlen(options->tables)) : NULL;
    iso_marker_init(&source->marker, options->marker);
    iso_cells_init(&source->cells, options->cells);
    source->decoder.cells = source->names.marks = source->cells.on;
    iso_envelope_init(&source->envelope);
    iso_json_init(&source->json);
    source->reader = iso_envelope_reader_new(options, rules->cells, error);
    return error->status;
}

void iso_change_source_release(struct iso_change_source *source)
{
    iso_envelope_reader_free(source->reader);
    iso_envelope_release(&source->envelope);
    iso_tables_release(&source->seen);
    iso_row_names_release(&source->names);
    iso_marker_release(&source->marker);
    iso_cells_release(&source->cells);
    iso_json_release(&source->json);
    iso_payload_release(&source->collections);
    iso_free(source->value);
    iso_free(source->tables);
}

iso_atom iso_change_name(struct iso_change_source *source, struct iso_history *block,
                         struct iso_json_text name)
{
    if (!iso_atom_is_still(&block->atoms, source->name, name.at, name.length))
        source->name = iso_atoms_text(&block->atoms, name.at, name.length);
    return source->name;
}

static struct iso_table *table_seen(struct iso_change_source *source)
{
    struct iso_table *seen =
        iso_tables_find(&source->seen, source->table->name.at, source->table->name.length);
    seen->is_signed = source->decoder.only_signed;
    return seen;
}

bool iso_change_is_whole(struct iso_change_source *source, const struct iso_event *event)
{
    return iso_table_is_whole(&source->seen, table_seen(source), &source->envelope.before,
                              event->position, event->operation == ISO_ROW_UPDATE);
}

static enum iso_status ignore(struct iso_events *events, struct iso_event *event,
                              const char *reason)
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

struct respelling {
    struct iso_change_source *source;
    struct iso_events *events;
    const struct iso_event *event; /* of the table */
};

static void add_respelt(void *context, const char *name, size_t length)
{
    const struct respelling *respelling = context;
    struct iso_event event = *respelling->event;
    event.operation = ISO_TABLE_RESPELT;
    event.key = iso_cells_column(&respelling->source->cells, &respelling->events->block.atoms,
                                 event.table, name, length);
    iso_events_add(respelling->events, &event);
}

static void become_epoch(struct iso_event *event)
{
    event->type = ISO_EVENT_SCHEMA;
    event->operation = ISO_TABLE_SAME;
    event->flags = (uint16_t)((event->flags &
                               (ISO_EVENT_HAS_ID | ISO_EVENT_HAS_CTS | ISO_EVENT_HAS_POSITION)) |
                              ISO_EVENT_EPOCH);
    event->key = ISO_ABSENT;
    event->order = 0;
}

/* Tells, before the row's event, that from here on the table's rows look otherwise. Rows of a
 * snapshot are not always written as those of changes are, and those of an incremental one stand
 * outside of the order. */
static void add_epoch(struct iso_change_source *source, const struct iso_event *row_event,
                      struct iso_events *events)
{
    struct iso_envelope *envelope = &source->envelope;
    const struct iso_row *row = envelope->after.count ? &envelope->after : &envelope->before;
    struct iso_event event = *row_event;
    struct respelling respelling = {source, events, &event};
    bool placed = event.flags & ISO_EVENT_HAS_POSITION, typed = event.operation != ISO_ROW_SNAPSHOT;
    if ((event.flags & ISO_EVENT_INCREMENTAL) || !iso_row_has_values(row))
        return;
    become_epoch(&event);
    if (iso_table_changes(&source->seen, table_seen(source), row, placed ? event.position : NULL,
                          typed, add_respelt, &respelling))
        iso_events_add(events, &event);
}

static enum iso_status add_with_cells(struct iso_change_source *source,
                                      const struct iso_event *event, struct iso_events *events,
                                      struct iso_error *error)
{
    struct iso_envelope *envelope = &source->envelope;
    bool has_cells = event->operation != ISO_ROW_DELETE;
    if (has_cells &&
        iso_cells_note(&source->cells, &envelope->after, event, events, error) != ISO_OK)
        return error->status;
    iso_events_add(events, event);
    if (has_cells)
        iso_cells_add(&source->cells, source->before_known ? &envelope->before : NULL,
                      &envelope->after, events);
    return ISO_OK;
}

static enum iso_status take_row(struct iso_change_source *source, char op,
                                const struct iso_change_place *place, struct iso_events *events,
                                struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &source->envelope;
    struct iso_history *block = &events->block;
    bool is_snapshot = op == 'r' || (op == 'c' && place->is_snapshot);
    if (iso_change_form(envelope, op, error) != ISO_OK)
        return error->status;
    if (iso_change_marker(&source->marker, source->table->name, envelope, op == 'd' || is_snapshot,
                          events, event))
        return ISO_OK;
    if (!envelope->has_key) {
        table_seen(source)->is_keyless = true;
        return ignore(events, event, "row without a key");
    }
    event->operation = is_snapshot ? ISO_ROW_SNAPSHOT
                       : op == 'c' ? ISO_ROW_INSERT
                       : op == 'u' ? ISO_ROW_UPDATE
                                   : ISO_ROW_DELETE;
    event->flags |= is_snapshot ? place->snapshot_flags : 0;
    event->key = iso_row_key(&envelope->key, &block->atoms, source->table);
    if (event->key == ISO_ABSENT)
        return iso_error_set(error, ISO_BAD_INPUT, "key: a column of it is null");
    struct iso_event schema = *event; /* images may use the position for something else */
    source->before_known = false;
    if (source->rules->images(source, place, block, event, error) != ISO_OK)
        return error->status;
    add_epoch(source, &schema, events);
    if (source->cells.on)
        return add_with_cells(source, event, events, error);
    iso_events_add(events, event);
    return ISO_OK;
}

static enum iso_status take_change(struct iso_change_source *source,
                                   const struct iso_message *message, struct iso_events *events,
                                   struct iso_error *error)
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
                             (int)(op.length < SHOWN ? op.length : SHOWN), op.at,
                             source->rules->expected);
    if (source->rules->place(source, &events->block, &place, &event, error) != ISO_OK)
        return error->status;
    if (*op.at == 'm')
        return source->rules->message(source, events, &event, error);
    if (!place.table.length)
        return iso_error_set(error, ISO_BAD_INPUT, "source.table: expected the table's name");
    source->table =
        iso_row_names_find(&source->names, &events->block.atoms, place.schema, place.table);
    event.table = source->table->atom;
    if (!is_listed(source) &&
        !iso_marker_is_table(&source->marker, source->table->name.at, source->table->name.length))
        return ignore(events, &event, "a table that is not in tables=");
    if (*op.at != 't' && *op.at != 's')
        return take_row(source, *op.at, &place, events, &event, error);
    event.type = *op.at == 's' ? ISO_EVENT_COLUMN : ISO_EVENT_DROP;
    event.key = *op.at == 's' ? event.table : ISO_ABSENT;
    if (*op.at == 't' && source->rules->alone)
        source->rules->alone(source, &place, &events->block, &event);
    iso_events_add(events, &event);
    return ISO_OK;
}

/* Events of the tables to whose rows the statement does something; returns how many. */
static uint32_t add_effects(struct iso_change_source *source, const struct iso_change_place *place,
                            struct iso_json_text statement, const struct iso_event *schema_event,
                            struct iso_events *events)
{
    struct iso_ddl_effect effects[ISO_DDL_EFFECTS_MAX];
    uint32_t count = iso_ddl_effects(statement, effects), added = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct iso_event event = *schema_event;
        struct iso_json_text schema = effects[i].schema.length ? effects[i].schema : place->schema;
        source->table =
            iso_row_names_find(&source->names, &events->block.atoms, schema, effects[i].table);
        event.table = source->table->atom;
        if (!is_listed(source) || !source->rules->alone(source, place, &events->block, &event))
            continue;
        event.type = effects[i].change == ISO_TABLE_EMPTIED ? ISO_EVENT_DROP : ISO_EVENT_SCHEMA;
        event.operation = event.type == ISO_EVENT_SCHEMA ? (uint8_t)effects[i].change : 0;
        iso_events_add(events, &event);
        added++;
    }
    return added;
}

/* A snapshot begins with statements that drop what the schema's reader may have had: they are
 * nobody's. */
static enum iso_status take_schema_change(struct iso_change_source *source,
                                          const struct iso_message *message,
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
        source->table =
            iso_row_names_find(&source->names, &events->block.atoms, place.schema, place.table);
        event.table = source->table->atom;
    }
    if (!source->rules->alone || place.is_snapshot ||
        !add_effects(source, &place, statement, &event, events))
        iso_events_add(events, &event);
    return ISO_OK;
}

static enum iso_status expected_collections(struct iso_error *error)
{
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "data_collections: expected [{\"data_collection\":\"SCHEMA.TABLE\",\"event_count\":N},...]");
}

/* {"data_collection":"public.kv","event_count":2} */
static bool read_collection(struct iso_json *json, struct iso_json_text *name,
                            struct iso_json_number *count)
{
    struct iso_json_text member;
    *name = (struct iso_json_text){"", 0};
    *count = (struct iso_json_number){0, false};
    iso_json_enter_object(json);
    while (iso_json_member(json, &member)) {
        if (ISO_PAYLOAD_IS(member, "data_collection"))
            iso_json_string(json, name);
        else if (ISO_PAYLOAD_IS(member, "event_count"))
            iso_json_integer(json, count);
        else
            iso_json_skip(json);
    }
    return json->code == ISO_JSON_FINE && name->length && !count->negative &&
           count->bits <= UINT32_MAX;
}

/* Debezium counts PostgreSQL's logical messages under the name of an object of its own. */
static bool is_of_messages(struct iso_json_text name)
{
    static const char messages[] = "io.debezium.connector.postgresql.LogicalDecodingMessage";
    return name.length >= sizeof messages - 1 && !memcmp(name.at, messages, sizeof messages - 1);
}

/* Notes the counts of each collection in an END, before the END itself. */
static enum iso_status take_collections(struct iso_change_source *source,
                                        const struct iso_event *end, struct iso_events *events,
                                        struct iso_error *error)
{
    const struct iso_cell *cell = &source->envelope.member[ISO_MEMBER_DATA_COLLECTIONS];
    struct iso_json *json = &source->json;
    struct iso_event event = *end;
    struct iso_json_text name;
    struct iso_json_number count;
    if (!iso_envelope_has(&source->envelope, ISO_MEMBER_DATA_COLLECTIONS))
        return ISO_OK;
    if (cell->kind != ISO_CELL_JSON)
        return expected_collections(error);
    iso_json_start(json, iso_payload_copy(&source->collections, cell->text, cell->length),
                   cell->length);
    event.type = ISO_EVENT_COLLECTION;
    iso_json_enter_array(json);
    while (iso_json_element(json)) {
        if (!read_collection(json, &name, &count))
            return expected_collections(error);
        event.table = is_of_messages(name)
                          ? ISO_ABSENT
                          : iso_row_names_find(&source->names, &events->block.atoms,
                                               (struct iso_json_text){"", 0}, name)
                                ->atom;
        event.count = (uint32_t)count.bits;
        iso_events_add(events, &event);
    }
    return iso_json_finish(json) ? ISO_OK : expected_collections(error);
}

static enum iso_status take_metadata(struct iso_change_source *source,
                                     const struct iso_message *message, struct iso_events *events,
                                     struct iso_error *error)
{
    struct iso_event event;
    if (iso_change_metadata(&source->envelope, message, &events->block, &event, error) != ISO_OK)
        return error->status;
    if (source->rules->metadata)
        source->rules->metadata(&source->envelope, &event);
    if (event.type == ISO_EVENT_END && (event.flags & ISO_EVENT_HAS_COUNT) &&
        take_collections(source, &event, events, error) != ISO_OK)
        return error->status;
    iso_events_add(events, &event);
    return ISO_OK;
}

static enum iso_status decode(struct iso_change_source *source, const struct iso_message *message,
                              struct iso_events *events, struct iso_error *error)
{
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
    if (iso_envelope_saw(envelope, ISO_MEMBER_DDL) ||
        iso_envelope_saw(envelope, ISO_MEMBER_DATABASE_NAME))
        return take_schema_change(source, message, events, error);
    source->decoder.is_foreign = envelope->seen != (uint64_t)1 << ISO_MEMBER_TS_MS;
    if (source->decoder.is_foreign)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "not a message of %s: expected op, status, ddl, or ts_ms alone",
                             source->rules->senders);
    iso_events_add(events, &event);
    return ISO_OK;
}

enum iso_status iso_change_source_decode(struct iso_decoder *decoder,
                                         const struct iso_message *message,
                                         struct iso_events *events, struct iso_error *error)
{
    struct iso_change_source *source = (struct iso_change_source *)decoder;
    uint32_t first = events->count;
    decoder->is_foreign = false;
    if (decode(source, message, events, error) != ISO_OK)
        events->count = first;
    else if (source->unreported)
        iso_events_unreported(events, first);
    return error->status;
}

bool iso_change_source_covers(const struct iso_decoder *decoder, const char *topic,
                              const char *table, size_t length)
{
    const struct iso_change_source *source = (const struct iso_change_source *)decoder;
    const struct iso_table *seen = iso_tables_seen(&source->seen, table, length);
    return !iso_marker_is_table(&source->marker, table, length) && !(seen && seen->is_keyless) &&
           iso_topic_covers(topic, source->tables, table, length);
}

enum iso_column_coverage iso_change_source_covers_column(const struct iso_decoder *decoder,
                                                         const char *table, size_t length,
                                                         const char *column, size_t column_length)
{
    const struct iso_change_source *source = (const struct iso_change_source *)decoder;
    return iso_cells_cover(&source->cells, (struct iso_json_text){table, length},
                           (struct iso_json_text){column, column_length});
}

void iso_change_source_archive(struct iso_decoder *decoder, struct iso_archive *archive)
{
    struct iso_tables *seen = &((struct iso_change_source *)decoder)->seen;
    iso_tables_archive(archive, seen);
    iso_cells_archive(archive, &((struct iso_change_source *)decoder)->cells);
    for (uint32_t i = 0; archive->restoring && i < seen->count; i++)
        decoder->only_signed |= seen->list[i].is_signed;
}

struct iso_value_type iso_change_source_value_type(const struct iso_decoder *decoder,
                                                   const char *table, size_t length,
                                                   const char *column, size_t column_length)
{
    const struct iso_change_source *source = (const struct iso_change_source *)decoder;
    const struct iso_table *seen = iso_tables_seen(&source->seen, table, length);
    if (!seen)
        return (struct iso_value_type){0};
    if (!column && source->cells.on) /* whether there is a row */
        return (struct iso_value_type){0};
    if (!column && !source->value)
        return (struct iso_value_type){ISO_VALUE_ROW, false, 0};
    if (!column)
        return iso_table_value(&source->seen, seen,
                               (struct iso_json_text){source->value, strlen(source->value)});
    return iso_table_value(&source->seen, seen, (struct iso_json_text){column, column_length});
}

const char *iso_change_source_key_column(const struct iso_decoder *decoder, const char *table,
                                         size_t length, size_t *column_length)
{
    const struct iso_tables *tables = &((const struct iso_change_source *)decoder)->seen;
    const struct iso_table *seen = iso_tables_seen(tables, table, length);
    struct iso_json_text column =
        seen ? iso_table_key(tables, seen) : (struct iso_json_text){NULL, 0};
    *column_length = column.length;
    return column.at;
}

uint32_t iso_change_source_types_known(const struct iso_decoder *decoder)
{
    return ((const struct iso_change_source *)decoder)->seen.types;
}
