#include "connectors/yugabyte/yugabyte.h"

#include <string.h>

#include "base/memory.h"
#include "connectors/envelope/change.h"
#include "connectors/envelope/identity.h"
#include "io/marker.h"
#include "io/payload.h"

/* Numbers from here on are HybridTimes, of December 1978 and later: no slot counts so far. Those at the very top stand
 * for no time. */
#define HYBRID_TIME_MIN ((uint64_t)1 << 60)
#define HYBRID_TIME_MAX (UINT64_MAX - 2)

struct yugabyte {
    struct iso_decoder decoder;
    char *value, *tables; /* the options, or NULL */
    enum iso_row_identity identity;
    struct iso_marker marker;
    struct iso_envelope_reader *reader;
    struct iso_envelope envelope;
    struct iso_identities identities;
    struct iso_row names; /* only its text: names of tables */
};

/* What the message at hand is about. */
struct place {
    bool is_grpc, is_snapshot, is_incremental;
    struct iso_json_text schema, table;
};

static void destroy(struct iso_decoder *decoder)
{
    struct yugabyte *yugabyte = (struct yugabyte *)decoder;
    if (!yugabyte)
        return;
    iso_envelope_reader_free(yugabyte->reader);
    iso_envelope_release(&yugabyte->envelope);
    iso_identities_release(&yugabyte->identities);
    iso_row_release(&yugabyte->names);
    iso_marker_release(&yugabyte->marker);
    iso_free(yugabyte->value);
    iso_free(yugabyte->tables);
    iso_free(yugabyte);
}

static struct iso_decoder *create(const struct iso_decoder_options *options, struct iso_error *error)
{
    struct yugabyte *yugabyte = iso_allocate_zeroed(1, sizeof *yugabyte);
    yugabyte->decoder.class = &iso_yugabyte_decoder;
    yugabyte->identity = options->identity;
    if (options->value)
        yugabyte->value = iso_copy_text(options->value, strlen(options->value));
    if (options->tables)
        yugabyte->tables = iso_copy_text(options->tables, strlen(options->tables));
    iso_marker_init(&yugabyte->marker, options->marker);
    iso_envelope_init(&yugabyte->envelope);
    iso_identities_init(&yugabyte->identities);
    iso_row_init(&yugabyte->names);
    yugabyte->reader = iso_envelope_reader_new(options, true, error);
    if (yugabyte->reader)
        return &yugabyte->decoder;
    destroy(&yugabyte->decoder);
    return NULL;
}

/* ---- where a change belongs ---- */

static enum iso_status check_time(uint64_t time, enum iso_member member, struct iso_error *error)
{
    if (time >= HYBRID_TIME_MIN && time <= HYBRID_TIME_MAX)
        return ISO_OK;
    return iso_error_set(error, ISO_BAD_INPUT, "%s: expected a HybridTime, microseconds << 12",
                         iso_member_name(member));
}

/* "term:index:key:write_id:time": the write's number within its transaction and tablet, from 1; 0 if there is none. */
static uint64_t write_of(struct iso_json_text lsn)
{
    const char *at = lsn.at, *end = lsn.at + lsn.length;
    uint64_t number = 0;
    for (int part = 0; part < 3 && at; part++) {
        at = memchr(at, ':', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    const char *colon = at ? memchr(at, ':', (size_t)(end - at)) : NULL;
    return colon && iso_change_digits(at, (size_t)(colon - at), &number) && number < UINT64_MAX ? number + 1 : 0;
}

static enum iso_status take_grpc(const struct iso_envelope *envelope, const struct place *place,
                                 struct iso_history *block, struct iso_event *event, struct iso_error *error)
{
    struct iso_json_text id, lsn;
    if (!iso_envelope_text(envelope, ISO_MEMBER_TX_ID, &id, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_LSN, &lsn, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_COMMIT_TIME, &event->position[0], error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_RECORD_TIME, &event->position[1], error))
        return error->status;
    if (place->is_snapshot)
        return ISO_OK;
    if (check_time(event->position[0], ISO_MEMBER_COMMIT_TIME, error) != ISO_OK)
        return error->status;
    event->cts.physical = event->position[0];
    event->order = write_of(lsn);
    event->flags |= ISO_EVENT_HAS_CTS | ISO_EVENT_HAS_POSITION;
    if (id.length) {
        event->flags |= ISO_EVENT_HAS_ID;
        event->transaction_id = iso_change_text(block, id);
    }
    return ISO_OK;
}

static enum iso_status take_logical(const struct iso_envelope *envelope, const struct place *place,
                                    struct iso_history *block, struct iso_event *event, struct iso_error *error)
{
    uint64_t number;
    if (!iso_envelope_number(envelope, ISO_MEMBER_TX_ID, &number, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_TOTAL_ORDER, &event->order, error) ||
        iso_change_lsn(envelope, event, error) != ISO_OK)
        return error->status;
    if (place->is_snapshot)
        return ISO_OK;
    if (number) {
        event->flags |= ISO_EVENT_HAS_ID;
        event->transaction_id = iso_atoms_unsigned(&block->atoms, number);
    }
    if (!iso_envelope_number(envelope, ISO_MEMBER_LSN, &number, error))
        return error->status;
    if (number >= HYBRID_TIME_MIN) {
        event->cts.physical = number;
        event->flags |= ISO_EVENT_HAS_CTS;
        return check_time(number, ISO_MEMBER_LSN, error);
    }
    return ISO_OK;
}

static enum iso_status take_place(struct yugabyte *yugabyte, struct iso_history *block, struct place *place,
                                  struct iso_event *event, struct iso_error *error)
{
    const struct iso_envelope *envelope = &yugabyte->envelope;
    struct iso_json_text connector, name;
    if (!iso_envelope_text(envelope, ISO_MEMBER_CONNECTOR, &connector, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_NAME, &name, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_SCHEMA, &place->schema, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_TABLE, &place->table, error) ||
        iso_change_snapshot(envelope, &place->is_snapshot, &place->is_incremental, error) != ISO_OK)
        return error->status;
    place->is_grpc = ISO_PAYLOAD_IS(connector, "yugabytedb");
    if (!place->is_grpc && !ISO_PAYLOAD_IS(connector, "postgresql"))
        return iso_error_set(error, ISO_BAD_INPUT, "source.connector: \"%.*s\", expected yugabytedb or postgresql",
                             (int)(connector.length < 64 ? connector.length : 64), connector.at);
    event->source = iso_change_text(block, name);
    return place->is_grpc ? take_grpc(envelope, place, block, event, error)
                          : take_logical(envelope, place, block, event, error);
}

/* ---- rows ---- */

/* A column that is null outside of cells: in the gRPC connector's updates (its transforms take cells away) it may be
 * one that did not change. */
static void doubt_nulls(struct iso_row *row)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (row->cells[i].kind == ISO_CELL_NULL && !row->cells[i].in_cell)
            row->cells[i].kind = ISO_CELL_UNKNOWN;
}

/* Cells say of each column whether it is known; without them it is as with PostgreSQL. */
static enum iso_status take_before(struct yugabyte *yugabyte, const struct place *place, struct iso_history *block,
                                   struct iso_event *event, struct iso_error *error)
{
    struct iso_row *before = &yugabyte->envelope.before;
    const struct iso_text *name = &yugabyte->names.text; /* the table's, made last */
    bool whole = before->count && yugabyte->identity != ISO_IDENTITY_DEFAULT;
    iso_row_set_keys(before, &yugabyte->envelope.key);
    iso_marker_hide(&yugabyte->marker, before);
    if (whole && yugabyte->identity == ISO_IDENTITY_LEARN) {
        if (place->is_grpc)
            doubt_nulls(before);
        else
            whole = iso_identities_is_whole(&yugabyte->identities, name->bytes, name->used, before, yugabyte->value,
                                            event->operation == ISO_ROW_UPDATE);
    }
    if (!before->count && yugabyte->identity == ISO_IDENTITY_FULL)
        return iso_error_set(error, ISO_BAD_INPUT, "before: null, expected the whole row because of identity=full");
    return whole ? iso_change_value(before, "before", yugabyte->value, block, &event->before, ISO_EVENT_HAS_BEFORE,
                                    event, error)
                 : ISO_OK;
}

static enum iso_status take_after(struct yugabyte *yugabyte, const struct place *place, struct iso_history *block,
                                  struct iso_event *event, struct iso_error *error)
{
    struct iso_row *after = &yugabyte->envelope.after;
    if (!iso_row_set_keys(after, &yugabyte->envelope.key))
        return iso_error_set(error, ISO_BAD_INPUT, "after: lacks a column of the key");
    if (place->is_grpc && event->operation == ISO_ROW_UPDATE && yugabyte->identity != ISO_IDENTITY_FULL)
        doubt_nulls(after);
    iso_marker_take(&yugabyte->marker, after, &block->atoms, event);
    return iso_change_value(after, "after", yugabyte->value, block, &event->after, ISO_EVENT_HAS_AFTER, event, error);
}

/* The gRPC connector says c where it has a whole new row, which need not be the first: only where before images are
 * declared to be there is none of them a sign that there was no row. */
static bool was_absent(const struct yugabyte *yugabyte, const struct place *place)
{
    return !place->is_grpc || yugabyte->identity == ISO_IDENTITY_FULL;
}

static enum iso_status take_images(struct yugabyte *yugabyte, const struct place *place, struct iso_history *block,
                                   struct iso_event *event, struct iso_error *error)
{
    if (event->operation == ISO_ROW_INSERT && was_absent(yugabyte, place))
        event->flags |= ISO_EVENT_HAS_BEFORE;
    bool has_image = event->operation == ISO_ROW_UPDATE || event->operation == ISO_ROW_DELETE;
    if (has_image && take_before(yugabyte, place, block, event, error) != ISO_OK)
        return error->status;
    if (event->operation != ISO_ROW_DELETE)
        return take_after(yugabyte, place, block, event, error);
    event->flags |= ISO_EVENT_HAS_AFTER;
    return ISO_OK;
}

static enum iso_status take_row(struct yugabyte *yugabyte, char op, const struct place *place,
                                struct iso_events *events, struct iso_event *event, struct iso_error *error)
{
    struct iso_envelope *envelope = &yugabyte->envelope;
    struct iso_history *block = &events->block;
    if (iso_change_form(envelope, op, error) != ISO_OK)
        return error->status;
    bool is_snapshot = op == 'r' || (op == 'c' && place->is_snapshot);
    if (iso_change_marker(&yugabyte->marker, &yugabyte->names.text, envelope, op == 'd' || is_snapshot, events, event))
        return ISO_OK;
    if (!envelope->has_key) {
        event->type = ISO_EVENT_IGNORED;
        event->reason = "row without a key";
        iso_events_add(events, event);
        return ISO_OK;
    }
    event->operation = is_snapshot ? ISO_ROW_SNAPSHOT
                       : op == 'c' ? ISO_ROW_INSERT
                       : op == 'u' ? ISO_ROW_UPDATE
                                   : ISO_ROW_DELETE;
    event->key = iso_row_key(&envelope->key, &block->atoms, place->schema, place->table);
    if (event->key == ISO_ABSENT)
        return iso_error_set(error, ISO_BAD_INPUT, "key: a column of it is null");
    if (take_images(yugabyte, place, block, event, error) == ISO_OK)
        iso_events_add(events, event);
    return error->status;
}

/* ---- messages ---- */

static enum iso_status take_change(struct yugabyte *yugabyte, struct iso_events *events, struct iso_event *event,
                                   struct iso_error *error)
{
    const struct iso_envelope *envelope = &yugabyte->envelope;
    struct place place;
    struct iso_json_text op;
    if (!iso_envelope_text(envelope, ISO_MEMBER_OP, &op, error))
        return error->status;
    if (!iso_envelope_has(envelope, ISO_MEMBER_SOURCE))
        return iso_error_set(error, ISO_BAD_INPUT, "no source, expected one beside op");
    char letter = op.length == 1 ? *op.at : 0;
    if (!letter || !strchr("curdt", letter))
        return iso_error_set(error, ISO_BAD_INPUT, "op: \"%.*s\", expected c, u, d, r or t",
                             (int)(op.length < 64 ? op.length : 64), op.at);
    if (take_place(yugabyte, &events->block, &place, event, error) != ISO_OK)
        return error->status;
    if (!place.table.length)
        return iso_error_set(error, ISO_BAD_INPUT, "source.table: expected the table's name");
    event->type = letter == 't' ? ISO_EVENT_DROP : ISO_EVENT_ROW;
    event->table = iso_row_table(&yugabyte->names, &events->block.atoms, place.schema, place.table);
    if (!iso_table_listed(yugabyte->tables, yugabyte->names.text.bytes, yugabyte->names.text.used) &&
        !iso_marker_is_table(&yugabyte->marker, yugabyte->names.text.bytes, yugabyte->names.text.used)) {
        event->type = ISO_EVENT_IGNORED;
        event->reason = "a table that is not in tables=";
    } else if (letter != 't') {
        return take_row(yugabyte, letter, &place, events, event, error);
    }
    iso_events_add(events, event);
    return ISO_OK;
}

/* BEGIN and END of the gRPC connector are a tablet's, and nothing says how many tablets there are: its counts are of no
 * use. The logical connector's are the transaction's. */
static enum iso_status take_metadata(struct yugabyte *yugabyte, const struct iso_message *message,
                                     struct iso_events *events, struct iso_event *event, struct iso_error *error)
{
    if (iso_change_metadata(&yugabyte->envelope, message, &events->block, event, error) != ISO_OK)
        return error->status;
    if (iso_envelope_has(&yugabyte->envelope, ISO_MEMBER_PARTITION_ID)) {
        event->flags &= (uint16_t)~ISO_EVENT_HAS_COUNT;
        event->count = 0;
    }
    if (event->position[1] >= HYBRID_TIME_MIN && event->type == ISO_EVENT_END) {
        event->cts.physical = event->position[1];
        event->flags |= ISO_EVENT_HAS_CTS;
    }
    iso_events_add(events, event);
    return ISO_OK;
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message, struct iso_events *events,
                              struct iso_error *error)
{
    struct yugabyte *yugabyte = (struct yugabyte *)decoder;
    struct iso_envelope *envelope = &yugabyte->envelope;
    struct iso_event event = iso_event_of(message, ISO_EVENT_HEARTBEAT);
    if (iso_envelope_read(yugabyte->reader, message, envelope, error) != ISO_OK)
        return error->status;
    if (!envelope->is_tombstone && iso_envelope_saw(envelope, ISO_MEMBER_OP))
        return take_change(yugabyte, events, &event, error);
    if (!envelope->is_tombstone && iso_envelope_saw(envelope, ISO_MEMBER_STATUS))
        return take_metadata(yugabyte, message, events, &event, error);
    if (envelope->is_tombstone) {
        event.type = ISO_EVENT_IGNORED;
        event.reason = "tombstone";
    } else if (iso_envelope_saw(envelope, ISO_MEMBER_DDL) || iso_envelope_saw(envelope, ISO_MEMBER_DATABASE_NAME)) {
        event.type = ISO_EVENT_SCHEMA;
    } else if (envelope->seen != (uint64_t)1 << ISO_MEMBER_TS_MS) {
        return iso_error_set(error, ISO_BAD_INPUT,
                             "not a message of YugabyteDB's connectors: expected op, status, ddl, or "
                             "ts_ms alone");
    }
    iso_events_add(events, &event);
    return ISO_OK;
}

const struct iso_decoder_class iso_yugabyte_decoder = {"yugabyte", create, decode, destroy};
