#include "connectors/yugabyte/yugabyte.h"

#include <string.h>

#include "base/memory.h"
#include "connectors/envelope/source.h"
#include "connectors/envelope/unchanged.h"
#include "base/payload.h"

/* Numbers from here on are HybridTimes, of December 1978 and later: no slot counts so far. Those at
 * the very top stand for no time. */
#define HYBRID_TIME_MIN ((uint64_t)1 << 60)
#define HYBRID_TIME_MAX (UINT64_MAX - 2)

/* iso_change_place's `connector`. */
enum { LOGICAL, GRPC };

/* ---- where a change belongs ---- */

static enum iso_status check_time(uint64_t time, enum iso_member member, struct iso_error *error)
{
    if (time >= HYBRID_TIME_MIN && time <= HYBRID_TIME_MAX)
        return ISO_OK;
    return iso_error_set(error, ISO_BAD_INPUT, "%s: expected a HybridTime, microseconds << 12",
                         iso_member_name(member));
}

/* "term:index:key:write_id:time": the write's number within its transaction and tablet, from 1; 0
 * if there is none. */
static uint64_t write_of(struct iso_json_text lsn)
{
    const char *at = lsn.at, *end = lsn.at + lsn.length;
    uint64_t number = 0;
    for (int part = 0; part < 3 && at; part++) {
        at = memchr(at, ':', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    const char *colon = at ? memchr(at, ':', (size_t)(end - at)) : NULL;
    return colon && iso_bytes_decimal(at, (size_t)(colon - at), &number) && number < UINT64_MAX
               ? number + 1
               : 0;
}

/* A tablet's rows come in the order of their commit times; what is between tablets is in none. */
static uint32_t tablet_of(struct iso_json_text tablet)
{
    uint32_t digest = 0x811c9dc5u;
    for (size_t i = 0; i < tablet.length; i++)
        digest = (digest ^ (uint8_t)tablet.at[i]) * 0x01000193u;
    return digest;
}

static enum iso_status take_grpc(const struct iso_envelope *envelope,
                                 const struct iso_change_place *place, struct iso_history *block,
                                 struct iso_event *event, struct iso_error *error)
{
    struct iso_json_text id, lsn, tablet;
    if (!iso_envelope_text(envelope, ISO_MEMBER_TX_ID, &id, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_LSN, &lsn, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_TABLET_ID, &tablet, error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_COMMIT_TIME, &event->position[0], error) ||
        !iso_envelope_number(envelope, ISO_MEMBER_RECORD_TIME, &event->position[1], error))
        return error->status;
    if (place->is_snapshot)
        return ISO_OK;
    if (check_time(event->position[0], ISO_MEMBER_COMMIT_TIME, error) != ISO_OK)
        return error->status;
    event->cts.physical = event->position[0];
    event->order = write_of(lsn);
    event->domain = tablet_of(tablet);
    event->flags |= ISO_EVENT_HAS_CTS | ISO_EVENT_HAS_POSITION;
    if (id.length) {
        event->flags |= ISO_EVENT_HAS_ID;
        event->transaction_id = iso_change_text(block, id);
    }
    return ISO_OK;
}

static enum iso_status take_logical(const struct iso_envelope *envelope,
                                    const struct iso_change_place *place, struct iso_history *block,
                                    struct iso_event *event, struct iso_error *error)
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

static enum iso_status take_place(struct iso_change_source *source, struct iso_history *block,
                                  struct iso_change_place *place, struct iso_event *event,
                                  struct iso_error *error)
{
    const struct iso_envelope *envelope = &source->envelope;
    struct iso_json_text connector, name;
    if (!iso_envelope_text(envelope, ISO_MEMBER_CONNECTOR, &connector, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_NAME, &name, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_SCHEMA, &place->schema, error) ||
        !iso_envelope_text(envelope, ISO_MEMBER_TABLE, &place->table, error) ||
        iso_change_snapshot(envelope, &place->is_snapshot, &place->snapshot_flags, error) != ISO_OK)
        return error->status;
    place->connector = ISO_PAYLOAD_IS(connector, "yugabytedb") ? GRPC : LOGICAL;
    if (place->connector != GRPC && !ISO_PAYLOAD_IS(connector, "postgresql"))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "source.connector: \"%.*s\", expected yugabytedb or postgresql",
                             (int)(connector.length < 64 ? connector.length : 64), connector.at);
    event->source = iso_change_name(source, block, name);
    return place->connector == GRPC ? take_grpc(envelope, place, block, event, error)
                                    : take_logical(envelope, place, block, event, error);
}

/* ---- rows ---- */

/* A column that is null outside of cells: in the gRPC connector's updates (its transforms take
 * cells away) it may be one that did not change. */
static void doubt_nulls(struct iso_row *row)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (row->cells[i].kind == ISO_CELL_NULL && !row->cells[i].in_cell) {
            row->cells[i].kind = ISO_CELL_UNKNOWN;
            row->cells[i].is_doubted = true;
        }
}

/* Cells say of each column whether it is known; without them it is as with PostgreSQL. */
static enum iso_status take_before(struct iso_change_source *source,
                                   const struct iso_change_place *place, struct iso_history *block,
                                   struct iso_event *event, struct iso_error *error)
{
    struct iso_row *before = &source->envelope.before;
    bool whole = before->count && source->identity != ISO_IDENTITY_DEFAULT;
    iso_row_mark_unchanged(before);
    iso_row_set_keys(before, &source->envelope.key);
    iso_marker_hide(&source->marker, before);
    if (whole && source->identity == ISO_IDENTITY_LEARN) {
        if (place->connector == GRPC)
            doubt_nulls(before);
        else
            whole = iso_change_is_whole(source, event);
    }
    source->before_known = whole;
    if (source->cells.on)
        return ISO_OK;
    return whole ? iso_change_value(before, "before", source->value, block, &event->before,
                                    ISO_EVENT_HAS_BEFORE, event, error)
                 : ISO_OK;
}

static enum iso_status take_after(struct iso_change_source *source,
                                  const struct iso_change_place *place, struct iso_history *block,
                                  struct iso_event *event, struct iso_error *error)
{
    struct iso_row *after = &source->envelope.after;
    iso_row_mark_unchanged(after);
    if (!iso_row_set_keys(after, &source->envelope.key))
        return iso_error_set(error, ISO_BAD_INPUT, "after: lacks a column of the key");
    if (place->connector == GRPC && event->operation == ISO_ROW_UPDATE &&
        source->identity != ISO_IDENTITY_FULL)
        doubt_nulls(after);
    iso_marker_take(&source->marker, after, &block->atoms, event);
    if (source->cells.on)
        return ISO_OK;
    return iso_change_value(after, "after", source->value, block, &event->after,
                            ISO_EVENT_HAS_AFTER, event, error);
}

static bool leaves_out_columns(const struct iso_row *row)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (row->cells[i].kind == ISO_CELL_UNKNOWN && !row->cells[i].is_doubted)
            return true;
    return false;
}

/* The columns that an update leaves alone are not shown, or as its transaction found them: then
 * only one that differs from the row before was surely written. */
static bool shows_what_it_wrote(const struct iso_change_source *source,
                                const struct iso_event *event)
{
    const uint16_t both = ISO_EVENT_HAS_BEFORE | ISO_EVENT_HAS_AFTER;
    if (event->operation != ISO_ROW_UPDATE)
        return event->operation == ISO_ROW_INSERT;
    if (!source->envelope.before.count)
        return leaves_out_columns(&source->envelope.after);
    return source->value && !source->cells.on && (event->flags & both) == both &&
           event->before != event->after;
}

/* An insert says nothing of what was there: upserts, and updates of all columns of a packed row,
 * are sent as inserts, too. */
static enum iso_status take_images(struct iso_change_source *source,
                                   const struct iso_change_place *place, struct iso_history *block,
                                   struct iso_event *event, struct iso_error *error)
{
    bool has_image = event->operation == ISO_ROW_UPDATE || event->operation == ISO_ROW_DELETE;
    if (source->cells.on)
        iso_cells_exist(&source->cells, &block->atoms, event, has_image);
    if (has_image && take_before(source, place, block, event, error) != ISO_OK)
        return error->status;
    event->flags |= event->operation == ISO_ROW_DELETE ? ISO_EVENT_HAS_AFTER : 0;
    if (event->operation != ISO_ROW_DELETE &&
        take_after(source, place, block, event, error) != ISO_OK)
        return error->status;
    event->flags |= shows_what_it_wrote(source, event) ? ISO_EVENT_WRITTEN : 0;
    return ISO_OK;
}

/* ---- messages ---- */

/* BEGIN and END of the gRPC connector are a tablet's, and nothing says how many tablets there are:
 * its counts are of no use. The logical connector's are the transaction's. */
static void correct_metadata(const struct iso_envelope *envelope, struct iso_event *event)
{
    if (iso_envelope_has(envelope, ISO_MEMBER_PARTITION_ID)) {
        event->flags &= (uint16_t)~ISO_EVENT_HAS_COUNT;
        event->count = 0;
    }
    if (event->position[1] >= HYBRID_TIME_MIN && event->type == ISO_EVENT_END) {
        event->cts.physical = event->position[1];
        event->flags |= ISO_EVENT_HAS_CTS;
    }
}

static const struct iso_change_rules rules = {
    .senders = "YugabyteDB's connectors",
    .operations = "curdt",
    .expected = "c, u, d, r or t",
    .cells = true,
    .place = take_place,
    .images = take_images,
    .metadata = correct_metadata,
};

static void destroy(struct iso_decoder *decoder)
{
    struct iso_change_source *source = (struct iso_change_source *)decoder;
    if (!source)
        return;
    iso_change_source_release(source);
    iso_free(source);
}

static struct iso_decoder *create(const struct iso_decoder_options *options,
                                  struct iso_error *error)
{
    struct iso_change_source *source = iso_allocate_zeroed(1, sizeof *source);
    if (iso_change_source_init(source, &iso_yugabyte_decoder, &rules, options, error) == ISO_OK) {
        source->decoder.only_signed = true;
        return &source->decoder;
    }
    destroy(&source->decoder);
    return NULL;
}

const struct iso_decoder_class iso_yugabyte_decoder =
    ISO_CHANGE_SOURCE_CLASS("yugabyte", create, destroy);
