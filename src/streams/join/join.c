/* The join from outside: events in, batches, watermarks, patience, the end. */
#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "join/join_private.h"

struct iso_join *iso_join_new(const struct iso_join_options *options)
{
    struct iso_join *join = iso_allocate_zeroed(1, sizeof *join);
    join->options = *options;
    join->options.kind = NULL;
    join->capability = join_capability_of(options->kind);
    iso_history_init(&join->out.block);
    iso_history_init(&join->out.joined);
    iso_history_init(&join->keys.names);
    iso_history_init(&join->records.kept);
    iso_history_init(&join->log.records);
    iso_history_init(&join->extent.reached);
    iso_atoms_init(&join->texts.atoms);
    join->out.block.clock = join->out.joined.clock = join->records.kept.clock = ISO_CLOCK_SCALAR;
    join->out.block.txns.are_numbered = join->records.kept.txns.are_numbered = true;
    join->rows.free = join->open.free = join->records.free = ISO_NONE;
    join->open.oldest = join->open.newest = join->records.oldest = join->records.newest = ISO_NONE;
    join->counters.out_blocks = 1;
    join->positions.position = ISO_JOIN_START;
    join->positions.reference = options->snapshots_from;
    join->positions.active = options->snapshots_from > 0;
    return join;
}

void iso_join_free(struct iso_join *join)
{
    if (!join)
        return;
    iso_history_release(&join->out.block);
    iso_history_release(&join->out.joined);
    iso_free(join->out.steps);
    iso_history_release(&join->keys.names);
    iso_history_release(&join->records.kept);
    iso_atoms_release(&join->texts.atoms);
    iso_column_free(join->keys.list, join->keys.capacity * sizeof *join->keys.list);
    iso_column_free(join->rows.list, join->rows.capacity * sizeof *join->rows.list);
    iso_column_free(join->open.list, join->open.capacity * sizeof *join->open.list);
    iso_column_free(join->records.list, join->records.capacity * sizeof *join->records.list);
    join_map_release(&join->open.by_identity);
    join_map_release(&join->records.by_claim);
    join_tables_release(&join->tables);
    iso_free(join->changes.list);
    iso_free(join->carried.list);
    iso_free(join->end.counted);
    iso_free(join->log.list);
    iso_free(join->log.alone);
    iso_history_release(&join->log.records);
    iso_text_release(&join->scratch.normalised);
    iso_text_release(&join->scratch.column);
    ISO_FREE_COLUMN(join->scratch.places, join->scratch.place_capacity);
    ISO_FREE_ALL(join->scratch.tallies, join->scratch.of_kept.list);
    iso_free(join->scratch.own.changes);
    iso_free(join->scratch.own.seen);
    join_dedup_release(&join->dedup);
    join_positions_release(&join->positions);
    join_extent_release(&join->extent);
    iso_free(join->partitions.list);
    iso_free(join->scratch.cache.texts);
    iso_free(join->scratch.cache.keys);
    iso_free(join);
}

bool iso_join_has_watermarks(const struct iso_join *join)
{
    return join->capability->closing == JOIN_CLOSES_AT_WATERMARK;
}

void iso_join_declare(struct iso_join *join, uint32_t input, bool declared)
{
    join_input(join, input)->declared = declared;
}

void iso_join_expect_ends(struct iso_join *join)
{
    join->source.expects_ends = true;
}

void iso_join_expect_statements(struct iso_join *join)
{
    join->source.expects_statements = true;
}

void iso_join_expect_in_band(struct iso_join *join)
{
    join->source.expects_in_band = true;
}

/* ---- events ---- */

/* A record that travelled inside the transaction that it describes. */
static void take_in_band(struct iso_join *join, const struct iso_history *block,
                         const struct iso_event *event)
{
    struct join_identity identity;
    join->source.in_band = true;
    bool known = join_identity_of(join, block, event, &identity);
    for (uint32_t t = event->first; t < event->first + event->count; t++)
        join_take_record(join, block, t, known ? &identity : NULL);
    if (known)
        join_take_other(join, block, event);
}

static enum iso_status check_scales(struct iso_join *join, const struct iso_history *block,
                                    const struct iso_event *event, struct iso_error *error)
{
    for (uint32_t t = event->first; t < event->first + event->count; t++)
        if (iso_join_check_record(join, block, t, error) != ISO_OK)
            return error->status;
    return ISO_OK;
}

/* Two connectors have two first snapshots, and nothing orders what they send: their streams are no
 * one feed, even where their topics begin alike. */
static enum iso_status check_connector(struct iso_join *join, const struct iso_history *block,
                                       const struct iso_event *event, struct iso_error *error)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    struct join_cache *cache = &join->scratch.cache;
    if (event->type != ISO_EVENT_ROW || event->source == ISO_ABSENT ||
        (cache->block == block && cache->connector == event->source))
        return ISO_OK;
    uint32_t name = join_digest(&block->atoms, event->source);
    if (!join->source.connector)
        join->source.connector = name;
    if (join->source.connector == name) {
        cache->connector = cache->block == block ? event->source : ISO_ABSENT;
        return ISO_OK;
    }
    const char *text = iso_atom_text(&block->atoms, event->source, buffer, &length);
    join->stats.row_events++;
    join->stats.rows_gone[ISO_ROWS_BAD]++;
    join->cells = (struct join_cells){.disposition = JOIN_CELLS_DROPPED, .left = event->count};
    return iso_error_set(error, ISO_BAD_INPUT,
                         "a row of connector \"%.*s\" behind rows of another one: a run checks one "
                         "stream; have a run for each connector, with the sources of its topics",
                         (int)length, text);
}

enum iso_status iso_join_take(struct iso_join *join, const struct iso_history *block,
                              const struct iso_event *event, uint64_t now, struct iso_error *error)
{
    join->progress.now = now;
    join->counters.work++;
    if (event->type == ISO_EVENT_CELL) {
        join_take_cell(join, block, event);
        return ISO_OK;
    }
    if (check_connector(join, block, event, error) != ISO_OK)
        return error->status;
    bool is_change = event->type != ISO_EVENT_TRANSACTIONS || event->flags & ISO_EVENT_IN_BAND;
    if (is_change && !join->source.scales)
        join_note_scale(join, block, event);
    if (is_change)
        join_note_start(join, iso_origin_input(event->origin), event);
    if ((event->flags & ISO_EVENT_HAS_POSITION) && join_is_of_domain(join, event))
        join_log_note(join, event);
    if (event->type == ISO_EVENT_SCHEMA || event->flags & ISO_EVENT_ALONE)
        join_log_note_told(join, event);
    switch ((enum iso_event_type)event->type) {
    case ISO_EVENT_ROW:
    case ISO_EVENT_DELETE_IF:
        return join_take_row(join, block, event, error);
    case ISO_EVENT_TRANSACTIONS:
        if (check_scales(join, block, event, error) != ISO_OK)
            return error->status;
        if (event->flags & ISO_EVENT_IN_BAND)
            take_in_band(join, block, event);
        else
            iso_join_take_records(join, block, event->first, event->count, now);
        break;
    case ISO_EVENT_BEGIN:
        join_take_begin(join, block, event);
        break;
    case ISO_EVENT_END:
        join_take_end(join, block, event);
        break;
    case ISO_EVENT_DROP:
        join_take_drop(join, block, event);
        break;
    case ISO_EVENT_IGNORED:
        join_take_other(join, block, event);
        break;
    case ISO_EVENT_COLLECTION:
        join_take_collection(join, block, event);
        break;
    case ISO_EVENT_SCHEMA:
        join_take_schema(join, block, event);
        break;
    case ISO_EVENT_COLUMN:
        join_take_column(join, block, event);
        break;
    case ISO_EVENT_CELL:
    case ISO_EVENT_COUNTED:
    case ISO_EVENT_WATERMARK:
    case ISO_EVENT_HEARTBEAT:
        break;
    }
    return ISO_OK;
}

void iso_join_take_records(struct iso_join *join, const struct iso_history *block, uint32_t first,
                           uint32_t count, uint64_t now)
{
    join->progress.now = now;
    join->counters.work += count;
    for (uint32_t t = first; t < first + count; t++)
        if (!join_log_keep(join, block, t))
            join_take_record(join, block, t, NULL);
}

/* Over the limit the oldest go as they are. */
static void shed(struct iso_join *join)
{
    while (join->options.waiting_limit && join->rows.in_use > join->options.waiting_limit &&
           (join->open.oldest != ISO_NONE || join->records.oldest != ISO_NONE)) {
        join->stats.forced++;
        if (join->open.oldest != ISO_NONE)
            join_finish(join, join->open.oldest, JOIN_ROWS_FINAL | JOIN_RECORDS_FINAL);
        else
            join_finish_undelivered(join, join->records.oldest);
    }
}

/* ---- time ---- */

static void finish_transactions(struct iso_join *join, uint64_t timestamp)
{
    for (uint32_t i = join->open.oldest, next; i != ISO_NONE; i = next) {
        const struct join_transaction *transaction = &join->open.list[i];
        next = transaction->newer;
        if ((transaction->flags & JOIN_HAS_CTS) && transaction->cts <= timestamp)
            join_finish(join, i, JOIN_ROWS_FINAL | JOIN_RECORDS_FINAL);
    }
}

static bool has_rows(const struct iso_join *join, const struct join_record *record)
{
    for (uint32_t i = 0; i < record->identity_count; i++)
        if (join_map_get(&join->open.by_identity, record->identity[i]) != ISO_NONE)
            return true;
    return false;
}

/* Whether a row of it would have arrived by now. Of unknown outcome: it was on its way when
 * `horizon` was the newest timestamp, which says nothing of a record out of a file. (Should it
 * commit after all, it is a transaction without a record.) Committed at a time that only the stream
 * knows: the end of the stream alone can say. */
static bool is_due(const struct iso_join *join, const struct join_record *record,
                   uint64_t timestamp)
{
    if (record->flags & JOIN_RECORD_CTS)
        return record->cts <= timestamp;
    if (record->flags & JOIN_RECORD_COMMITTED)
        return false;
    return record->status == ISO_UNKNOWN && !join->options.records_first &&
           record->horizon <= timestamp && !has_rows(join, record);
}

static void finish_records(struct iso_join *join, uint64_t timestamp)
{
    for (uint32_t i = join->records.oldest, next; i != ISO_NONE; i = next) {
        next = join->records.list[i].newer;
        if (is_due(join, &join->records.list[i], timestamp))
            join_finish_undelivered(join, i);
    }
}

/* Where several partitions are used nothing is known: they are sent side by side. A sender that is
 * behind what is whole repeats what arrived: until it has caught up, the row delivered last of a
 * key need not be its last. */
static bool is_behind(const struct iso_join *join)
{
    uint32_t used = 0;
    bool behind = false;
    for (uint32_t i = 0; i < join->partitions.count; i++) {
        used += join->partitions.list[i].used;
        behind |=
            join->partitions.list[i].used && join->partitions.list[i].cts <= join->progress.closed;
    }
    return used != 1 || behind;
}

/* Dgraph's watermark, see join.h. */
static void close_group(struct iso_join *join)
{
    uint64_t watermark = join->progress.closed;
    if (!join->options.one_group || is_behind(join))
        return;
    if (join->options.clients && !join->options.records_first && join->progress.clients < watermark)
        watermark = join->progress.clients;
    for (uint32_t i = join->records.oldest; join->records.unknown && i != ISO_NONE;
         i = join->records.list[i].newer) {
        const struct join_record *record = &join->records.list[i];
        if (record->status == ISO_UNKNOWN && !record->identity_count && record->sts <= watermark)
            watermark = record->sts ? record->sts - 1 : 0;
    }
    if (watermark <= join->progress.promised)
        return;
    join->progress.promised = watermark;
    finish_transactions(join, watermark);
    finish_records(join, watermark);
    join_emit_watermark(join, watermark);
}

void iso_join_advance(struct iso_join *join, uint64_t timestamp, uint64_t now)
{
    join->progress.now = now;
    join->progress.clients = timestamp;
    if (join->capability->positions) {
        join->positions.clients = timestamp; /* at the end of the batch */
    } else if (iso_join_has_watermarks(join)) {
        finish_transactions(join, timestamp);
        finish_records(join, timestamp);
        join_emit_carried(join, timestamp);
        join_emit_watermark(join, timestamp);
    }
}

uint64_t iso_join_closed(const struct iso_join *join)
{
    return join->progress.closed;
}

void iso_join_recheck(struct iso_join *join)
{
    join->counters.work = UINT64_MAX;
    iso_join_end_batch(join);
}

void iso_join_end_batch(struct iso_join *join)
{
    join_close_passed(join);
    join_check_start(join, false);
    join_miss_cells(join);
    if (join->counters.work >=
        (join->open.waiting + join->positions.link_count + join->log.waiting) / 8) {
        join->counters.work = 0;
        join_log_release(join, false);
        join_place(join, false);
        join_promise(join);
        close_group(join);
        join_validate(join);
    }
    shed(join);
    join_rebuild_texts(join);
    join->scratch.cache.block = NULL;
    join->scratch.cache.count = 0;
}

void iso_join_tick(struct iso_join *join, uint64_t now)
{
    uint64_t patience = join->options.patience_ms;
    join->progress.now = now;
    while (patience && join->open.oldest != ISO_NONE &&
           now - join->open.list[join->open.oldest].arrived >= patience) {
        join->stats.forced += !(join->open.list[join->open.oldest].flags & JOIN_CLOSED);
        join_finish(join, join->open.oldest, JOIN_ROWS_FINAL | JOIN_RECORDS_FINAL);
    }
}

void iso_join_whole(struct iso_join *join, uint64_t timestamp)
{
    assert(iso_join_has_watermarks(join));
    join_extent_close_at(join, timestamp);
}

void iso_join_end(struct iso_join *join, uint64_t now)
{
    join->progress.now = now;
    join->extent.ended = true;
    join_log_release(join, true);
    join_match_unknown(join);
    join_check_start(join, true);
    join_open_begun(join);
    join_extent_close(join);
    for (uint32_t i = join->open.oldest, next; i != ISO_NONE; i = next) {
        next = join->open.list[i].newer;
        if (!join_extent_is_beyond(join, &join->open.list[i]))
            join_finish(join, i, JOIN_ROWS_FINAL | JOIN_RECORDS_FINAL);
        else /* it waits, and empties tables for who came before it */
            join_emit_altered(join, &join->open.list[i], UINT64_MAX);
    }
    join_place(join, true);
    for (uint32_t i = join->records.oldest, next; i != ISO_NONE; i = next) {
        next = join->records.list[i].newer;
        if (!(join->records.list[i].flags & JOIN_RECORD_BEYOND))
            join_finish_undelivered(join, i);
    }
    join_miss_cells(join);
    join_emit_carried(join, UINT64_MAX);
    join_lose_columns(join);
    join_end_columns(join);
    join_validate(join);
}

/* ---- what leaves ---- */

struct iso_join_output *iso_join_output(struct iso_join *join)
{
    return &join->out;
}

void iso_join_drained(struct iso_join *join)
{
    join->out.count = 0;
    join->counters.out_blocks++;
    iso_history_clear(&join->out.block);
    iso_history_clear(&join->out.joined);
    join->out.block.clock = join->out.joined.clock = ISO_CLOCK_SCALAR;
    join->out.block.txns.are_numbered = true;
}

void iso_join_count_waiting(const struct iso_join *join, struct iso_join_stats *stats)
{
    stats->waiting_row_events = stats->waiting_reads = stats->waiting_aborted =
        stats->oldest_record_ms = 0;
    stats->oldest_record = UINT64_MAX;
    for (uint32_t i = 0; i < join->open.count; i++) { /* also those that await their position */
        const struct join_transaction *transaction = &join->open.list[i];
        uint64_t age = join->progress.now - transaction->arrived;
        if (!transaction->identity.tag)
            continue;
        stats->waiting_row_events += join_messages_of(transaction);
        if (transaction->rows.count &&
            (stats->oldest_row == UINT64_MAX || age > stats->oldest_ms)) {
            stats->oldest_ms = age;
            stats->oldest_row = join->rows.list[transaction->rows.first].origin;
        }
    }
    for (uint32_t i = join->records.oldest; i != ISO_NONE; i = join->records.list[i].newer) {
        const struct join_record *record = &join->records.list[i];
        stats->waiting_reads += record->reads;
        stats->waiting_aborted += record->status == ISO_ABORTED;
        if (record->status == ISO_ABORTED || stats->oldest_record != UINT64_MAX)
            continue;
        stats->oldest_record_ms = join->progress.now - record->arrived;
        stats->oldest_record = record->origin;
    }
    stats->waiting_reads += join->log.reads;
}

void iso_join_stats(const struct iso_join *join, struct iso_join_stats *stats)
{
    *stats = join->stats;
    stats->start_complete = join->start.complete || !join->capability->positions;
    stats->open_tables = 0;
    for (uint32_t i = 0; i < join->tables.count; i++)
        stats->open_tables +=
            join->tables.list[i].start == JOIN_START_ROWS && join_start_is_open(join, i);
    stats->start_known = join->start.snapshots || !join->capability->positions;
    stats->waiting_transactions = join->open.waiting;
    stats->waiting_records = join->records.waiting + join->log.waiting;
    stats->waiting_rows = join->rows.in_use;
    stats->oldest_ms = join->open.oldest == ISO_NONE
                           ? 0
                           : join->progress.now - join->open.list[join->open.oldest].arrived;
    stats->oldest_row = UINT64_MAX;
    if (join->open.oldest != ISO_NONE && join->open.list[join->open.oldest].rows.count)
        stats->oldest_row = join->rows.list[join->open.list[join->open.oldest].rows.first].origin;
}

void iso_join_open_table(const struct iso_join *join, char *name, size_t size)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    for (uint32_t i = 0; i < join->tables.count; i++) {
        if (join->tables.list[i].start != JOIN_START_ROWS || !join_start_is_open(join, i))
            continue;
        const char *text =
            iso_atom_text(&join->keys.names.atoms, join->tables.list[i].name, buffer, &length);
        snprintf(name, size, "%.*s", (int)length, text);
        return;
    }
}
