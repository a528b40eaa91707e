/* Rows to transactions.
 *
 * A row is known by its key and its ordinal within its transaction: its position in the log; where
 * keys change once a transaction, what was done; where the source has nothing (Dgraph), how often
 * the key was changed before in the same *span*, a stretch of one transaction's messages in one
 * partition. So a sender that starts again from an earlier position, or from the middle of a
 * transaction, repeats rows that are known, whatever it interleaves them with; and a transaction
 * that writes a, b, a keeps all three. A repeat of equal content is ignored, one of other content
 * is a violation.
 */
#include <assert.h>
#include <inttypes.h>

#include "history/gtid.h"
#include "join/join_private.h"
#include "verdict/unjudged.h"

/* ---- one row ---- */

struct arrival {
    const struct iso_history *block;
    const struct iso_event *event;
    uint32_t key;
    uint64_t ordinal;
    uint32_t content;
    bool conditional, again;
};

static uint64_t ordinal_of(struct iso_join *join, const struct arrival *arrival,
                           const struct join_input *partition)
{
    const struct iso_event *event = arrival->event;
    struct join_key *state = &join->keys.list[arrival->key];
    if (join->capability->spans) {
        state->occurrences = state->span == partition->span ? state->occurrences + 1 : 1;
        state->span = partition->span;
        return state->occurrences;
    }
    if (event->flags & ISO_EVENT_HAS_POSITION)
        return join->capability->positions
                   ? event->position[1]
                   : event->position[0] * 0x9e3779b97f4a7c15u + event->position[1];
    return event->operation == ISO_ROW_DELETE ? 0 : 1;
}

static uint32_t content_of(const struct arrival *arrival)
{
    const struct iso_event *event = arrival->event;
    const struct iso_atoms *atoms = &arrival->block->atoms;
    uint64_t digest = event->flags & (ISO_EVENT_HAS_BEFORE | ISO_EVENT_HAS_AFTER);
    digest += ((uint64_t)event->count << 32) + event->first; /* its cells */
    digest += (uint64_t)event->type << 8 | (uint64_t)(event->operation == ISO_ROW_DELETE) << 16;
    if ((event->flags & ISO_EVENT_HAS_BEFORE) || arrival->conditional)
        digest = (digest + join_digest(atoms, event->before)) * 0x9e3779b97f4a7c15u;
    if (event->flags & ISO_EVENT_HAS_AFTER)
        digest = (digest + join_digest(atoms, event->after)) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(digest >> 32 ^ digest);
}

/* Notes the value that the row before left, as it is delivered: a conditional delete depends on
 * it, and a drop. */
void join_note_value(struct iso_join *join, const struct iso_history *block, iso_atom table,
                     uint32_t key, iso_atom value)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    if (state->table == ISO_ABSENT && table != ISO_ABSENT)
        state->table = iso_atoms_copy(&join->keys.names.atoms, &block->atoms, table);
    state->value =
        value == ISO_ABSENT || join->capability->spans || join->capability->net ? value : 0;
}

/* A row of a source of net changes: what its key has from its commit on, whatever order they arrive
 * in. */
static void note_net(struct iso_join *join, const struct arrival *arrival,
                     const struct join_row *row)
{
    struct join_key *state = &join->keys.list[arrival->key];
    uint64_t cts = arrival->event->cts.physical;
    if (!join->capability->net || !(arrival->event->flags & ISO_EVENT_HAS_CTS))
        return;
    if (cts > state->last || (cts == state->last && row->operation != ISO_ROW_DELETE)) {
        join_note_value(join, arrival->block, arrival->event->table, arrival->key, row->after);
        state->last = cts;
    }
    join_carry_row(join, arrival->key, cts, row->after, row->operation != ISO_ROW_DELETE);
    if (!state->first || cts < state->first)
        state->was_there = false;
    if (!state->first || cts <= state->first)
        state->was_there |= row->operation != ISO_ROW_INSERT;
    join_note_version(join, arrival->key, cts, false);
}

/* YugabyteDB numbers the writes of a transaction, those of a row in its tablet. */
static bool counts_writes(const struct iso_join *join, const struct iso_event *event)
{
    return join->capability->early_images && event->order;
}

/* Whether ordinals say which row of a key arrived last. Where they do not, the one that was
 * delivered last did, also when it was repeated: a sender that starts over ends with what was
 * last. */
static bool is_ranked(const struct iso_join *join, const struct iso_event *event)
{
    return counts_writes(join, event) ||
           (!join->capability->spans &&
            (join->capability->positions || !(event->flags & ISO_EVENT_HAS_POSITION)));
}

/* An update of a row whose columns are cells, as far as the row itself is concerned. */
static bool is_untouched(const struct iso_join *join, const struct arrival *arrival)
{
    const struct iso_event *event = arrival->event;
    return join->capability->locks_columns && join->keys.list[arrival->key].part == JOIN_PART_ROW &&
           event->operation == ISO_ROW_UPDATE;
}

/* A cell of which nobody knows whether it changed: where columns are locked, not its row's writer
 * need have it. */
static bool is_anybodys(const struct iso_join *join, const struct arrival *arrival)
{
    const struct iso_event *event = arrival->event;
    return join->capability->locks_columns && event->type == ISO_EVENT_CELL &&
           event->operation == ISO_ROW_UPDATE && !(event->flags & ISO_EVENT_HAS_BEFORE);
}

/* A table that no source covered when the client's record came: what it says of the table was left
 * out. */
static bool is_before_coverage(const struct iso_join *join, uint32_t number, uint32_t key)
{
    uint64_t since = join->tables.list[join->keys.list[key].of_table].since;
    uint32_t record =
        since ? join_map_get(&join->records.by_claim, join->open.list[number].identity) : ISO_NONE;
    return record != ISO_NONE && join->records.list[record].taken < since;
}

/* A cell with a before image differs from it, so it was written. */
static bool was_written(const struct iso_join *join, const struct iso_event *event)
{
    return join->cells.written ||
           (event->type == ISO_EVENT_CELL && event->flags & ISO_EVENT_HAS_BEFORE);
}

static void append(struct iso_join *join, uint32_t number, const struct arrival *arrival)
{
    assert(number < join->open.count);
    const struct iso_event *event = arrival->event;
    uint32_t row = join_new_row(join, &join->open.list[number].rows);
    struct join_row *it = &join->rows.list[row];
    bool is_cell = event->type == ISO_EVENT_CELL;
    it->key = arrival->key;
    it->ordinal = arrival->ordinal;
    it->rank = is_cell                      ? join->cells.rank
               : counts_writes(join, event) ? event->order
               : is_ranked(join, event)     ? arrival->ordinal
                                            : ++join->counters.arrivals;
    it->content = arrival->content;
    it->origin = event->origin;
    it->operation = arrival->conditional ? ISO_ROW_DELETE : event->operation;
    if (it->operation == ISO_ROW_DELETE) {
        it->flags |= JOIN_ROW_AFTER;
    } else if (event->flags & ISO_EVENT_HAS_AFTER) {
        it->after = join_text(join, arrival->block, event->after);
        it->flags |= JOIN_ROW_AFTER;
    } else {
        join->stats.unknown_values++;
        it->after =
            iso_value_unknown(&join->texts.atoms, event->unknown ? (enum iso_unjudged)event->unknown
                                                                 : ISO_UNJUDGED_UNKNOWN_VALUE);
    }
    it->flags |= is_untouched(join, arrival) ? JOIN_ROW_UNTOUCHED : 0;
    if (event->flags & ISO_EVENT_UNREPORTED || is_anybodys(join, arrival) ||
        is_before_coverage(join, number, arrival->key)) {
        it->flags |= JOIN_ROW_UNREPORTED;
        join->open.list[number].unreported++;
    }
    if (arrival->conditional &&
        join->keys.list[arrival->key].value != join_text(join, arrival->block, event->before))
        it->flags |= JOIN_ROW_WITHOUT;
    if ((event->flags & ISO_EVENT_HAS_BEFORE) && !arrival->conditional) {
        it->before = join_text(join, arrival->block, event->before);
        it->flags |= JOIN_ROW_BEFORE;
    }
    it->flags |= was_written(join, event) ? JOIN_ROW_WRITTEN : 0;
    bool is_sure =
        !join->cells.again || it->flags & JOIN_ROW_WRITTEN || it->operation != ISO_ROW_UPDATE;
    join->open.list[number].flags |= join->cells.again ? JOIN_UNWEIGHED : 0;
    if (join->open.list[number].identity.tag == JOIN_BY_TEXT && join->capability->positions)
        join_note_version(join, arrival->key,
                          join_commit_position(join->open.list[number].identity, event),
                          (it->flags & JOIN_ROW_BEFORE) && it->before != ISO_ABSENT);
    it = &join->rows.list[row];
    struct join_key *state = &join->keys.list[arrival->key];
    if (!state->was_changed)
        join_learn_initial(join, arrival->key, event, it);
    state->was_changed = true;
    state->partition = iso_origin_input(event->origin);
    it = &join->rows.list[row];
    state->content = it->flags & JOIN_ROW_AFTER && is_sure
                         ? join_content(&arrival->block->atoms,
                                        it->operation == ISO_ROW_DELETE ? ISO_ABSENT : event->after)
                         : 0;
    note_net(join, arrival, &(struct join_row){.operation = it->operation, .after = it->after});
    it = &join->rows.list[row];
    if (!(it->flags & JOIN_ROW_WITHOUT) && !join->capability->net)
        join_note_value(join, arrival->block, event->table, arrival->key,
                        it->flags & JOIN_ROW_AFTER || join->capability->spans ? it->after : 0);
    join->open.list[number].cells += is_cell;
    join->open.list[number].uncovered += !is_cell && !join_is_key_covered(join, arrival->key);
    join->stats.rows += !is_cell;
    join->cells.rank = it->rank;
}

/* Whether the partition repeats earlier changes: of a commit behind others, or not behind the last
 * row of this one. After a failover they come from another server's log, where rows stand at other
 * positions. */
static bool goes_back(struct join_input *partition, const struct iso_event *event)
{
    enum { BINLOG_ROW_BITS = 24 };
    if (!event->commit || !(event->flags & ISO_EVENT_HAS_POSITION))
        return false;
    uint64_t position =
        iso_binlog_position(event->position[0], event->position[1] >> BINLOG_ROW_BITS);
    if (event->commit > partition->number)
        partition->goes_back = false;
    else if (event->commit < partition->number || position < partition->position)
        partition->goes_back = true;
    partition->number = event->commit > partition->number ? event->commit : partition->number;
    partition->position = position;
    return partition->goes_back;
}

/* The row of that key and ordinal. In spans counts are shifted where a sender started over within
 * one transaction: there it is a row of that key and content, and one of new content is what was
 * cut off before. */
static uint32_t find_row(const struct iso_join *join, const struct join_transaction *transaction,
                         const struct arrival *arrival, bool by_content)
{
    uint32_t row = transaction->cursor == ISO_NONE ? transaction->rows.first : transaction->cursor;
    for (uint32_t i = 0; i < transaction->rows.count; i++) {
        const struct join_row *it = &join->rows.list[row];
        if (it->key == arrival->key &&
            (by_content ? it->content == arrival->content : it->ordinal == arrival->ordinal))
            return row;
        row = it->next == ISO_NONE || row == transaction->rows.last ? transaction->rows.first
                                                                    : it->next;
    }
    return ISO_NONE;
}

/* A row of the transaction that says the same key and ordinal, or ISO_NONE. Most need no search:
 * their key was not used since the transaction began, or its last row in it stood before. */
static uint32_t known_row(struct iso_join *join, uint32_t number, const struct arrival *arrival)
{
    assert(number < join->open.count);
    struct join_key *state = &join->keys.list[arrival->key];
    struct join_transaction *transaction = &join->open.list[number];
    bool untouched = state->stamp < transaction->stamp;
    bool later =
        untouched || (state->stamp == transaction->stamp && arrival->ordinal > state->ordinal);
    uint32_t row = ISO_NONE;
    if (!later)
        row = find_row(join, transaction, arrival, join->capability->spans);
    if (row == ISO_NONE && arrival->again && !untouched)
        row = find_row(join, transaction, arrival, true);
    if (row == ISO_NONE && later) {
        state->stamp = transaction->stamp;
        state->ordinal = arrival->ordinal;
    }
    if (row != ISO_NONE)
        transaction->cursor = join->rows.list[row].next;
    return row;
}

static void find_content(struct iso_join *join, const struct arrival *arrival,
                         enum iso_violation_kind kind, iso_atom tid, iso_atom expected,
                         uint64_t earlier, uint64_t cts)
{
    const struct iso_event *event = arrival->event;
    struct iso_join_finding *finding = join_find(join, kind, tid, arrival->key);
    finding->expected = join_out(join, expected);
    finding->actual = event->operation == ISO_ROW_DELETE
                          ? ISO_ABSENT
                          : join_out(join, join_text(join, arrival->block, event->after));
    finding->client = earlier;
    finding->delivered = event->origin;
    finding->cts = cts;
}

/* Takes the outcome of a transaction that did not commit. */
static void take_aborted(struct iso_join *join, struct join_identity identity,
                         const struct arrival *arrival)
{
    const struct iso_event *event = arrival->event;
    struct join_key *state = &join->keys.list[arrival->key];
    struct join_row delivered = {.flags = event->flags & ISO_EVENT_HAS_BEFORE ? JOIN_ROW_BEFORE : 0,
                                 .before = ISO_ABSENT};
    join->stats.rows_gone[join->options.xa ? ISO_ROWS_XA : ISO_ROWS_ABORTED] +=
        event->type != ISO_EVENT_CELL;
    if (event->flags & ISO_EVENT_HAS_MARKER)
        join_undo_marker(join, join_text(join, arrival->block, event->marker));
    if (delivered.flags)
        delivered.before = join_text(join, arrival->block, event->before);
    if (!state->was_changed) /* what it found was there all the same */
        join_learn_initial(join, arrival->key, event, &delivered);
    state->was_changed = true;
    state->content = 0;
    struct join_transaction transaction = {
        .identity = identity, .origin = event->origin, .rows = {ISO_NONE, ISO_NONE, 0}};
    join_note_times(join, &transaction, event);
    uint32_t row = join_new_row(join, &transaction.rows);
    join->rows.list[row].key = arrival->key;
    join->rows.list[row].ordinal = arrival->ordinal;
    join->rows.list[row].after = event->operation == ISO_ROW_DELETE
                                     ? ISO_ABSENT
                                     : join_text(join, arrival->block, event->after);
    join_emit_unknown(join, &transaction);
    join_free_rows(join, &transaction.rows);
}

/* A row of what was finished before. */
static void take_late(struct iso_join *join, struct join_dedup_entry *entry,
                      const struct arrival *arrival)
{
    if (entry->aborted_in_log) {
        join->cells.disposition = JOIN_CELLS_ABORTED;
        join->cells.ordinal = arrival->ordinal;
        join->cells.identity = entry->identity;
        take_aborted(join, entry->identity, arrival);
        return;
    }
    enum join_repeat sight =
        join_dedup_check(join, entry, arrival->key, arrival->ordinal, arrival->content);
    iso_atom tid = entry->tid == ISO_ABSENT ? join_name_of(join, entry->identity) : entry->tid;
    join->stats.rows_gone[sight == JOIN_REPEAT ? ISO_ROWS_REPEATED : ISO_ROWS_LATE]++;
    if (sight == JOIN_REPEAT) {
        join->stats.repeats++;
        return;
    }
    /* The transaction was finished when its rows were what its client wrote; a key that it wrote
     * again has one row more. */
    if (sight == JOIN_NEW && join->capability->closing == JOIN_CLOSES_WITH_RECORD &&
        join_dedup_has_key(join, entry, arrival->key))
        return;
    bool unwritten = sight == JOIN_NEW && entry->tid != ISO_ABSENT;
    find_content(join, arrival, unwritten ? ISO_UNWRITTEN : ISO_OTHER_CONTENT, tid, ISO_ABSENT,
                 UINT64_MAX, entry->cts);
}

static void take_again(struct iso_join *join, uint32_t number, uint32_t row,
                       const struct arrival *arrival)
{
    assert(row < join->rows.count);
    struct join_row *known = &join->rows.list[row];
    struct join_transaction *transaction = &join->open.list[number];
    uint64_t cts = 0;
    join->stats.rows_gone[known->content == arrival->content ? ISO_ROWS_REPEATED : ISO_ROWS_LATE]++;
    if (known->content == arrival->content) {
        join->stats.repeats++;
        if (!is_ranked(join, arrival->event)) {
            known->rank = ++join->counters.arrivals;
            join->cells.disposition = JOIN_CELLS_AGAIN;
            join->cells.rank = known->rank;
        }
        return;
    }
    uint32_t record = join_map_get(&join->records.by_claim, transaction->identity);
    iso_atom tid =
        record == ISO_NONE ? join_name(join, transaction) : join->records.list[record].tid;
    join_commit_timestamp(transaction, &cts);
    find_content(join, arrival, ISO_OTHER_CONTENT, tid, known->after, known->origin, cts);
}

enum iso_status join_take_row(struct iso_join *join, const struct iso_history *block,
                              const struct iso_event *event, struct iso_error *error)
{
    struct join_identity identity;
    struct arrival arrival = {
        .block = block, .event = event, .conditional = event->type == ISO_EVENT_DELETE_IF};
    arrival.key = join_key_number(join, block, event->key);
    join->cells = (struct join_cells){.left = event->type == ISO_EVENT_ROW ? event->count : 0,
                                      .written = event->flags & ISO_EVENT_WRITTEN};
    join->stats.row_events++;
    join_note_rows(join, &join->tables.list[join->keys.list[arrival.key].of_table]);
    if (event->type == ISO_EVENT_ROW && event->operation == ISO_ROW_SNAPSHOT) {
        join->cells.disposition = JOIN_CELLS_INITIAL;
        join_take_initial(join, block, event, arrival.key);
        return ISO_OK;
    }
    if (!join_identity_of(join, block, event, &identity)) {
        join->stats.rows_gone[ISO_ROWS_BAD]++;
        return iso_error_set(error, ISO_BAD_INPUT,
                             "a row of no transaction: neither an id nor a timestamp");
    }
    if (event->commit && join->source.numbered && event->domain != join->source.domain) {
        join->stats.rows_gone[ISO_ROWS_BAD]++;
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "GTIDs of two domains, %" PRIu32 " and %" PRIu32
            ": nothing orders commits of one among those of the other; let all writers use one "
            "gtid_domain_id, or have a run for each with the sources of its tables alone",
            join->source.domain, event->domain);
    }
    join->source.domain = event->commit ? event->domain : join->source.domain;
    join->source.numbered |= event->commit != 0;
    struct join_input *partition = join_input_of(join, event->origin);
    if (join->capability->spans)
        join_follow_span(join, partition, identity, event->cts.physical);
    if (event->flags & ISO_EVENT_HAS_POSITION)
        join_note_reached(partition, identity, event);
    join_extent_pass(join, event, arrival.key);
    arrival.again = goes_back(partition, event);
    arrival.ordinal = ordinal_of(join, &arrival, partition);
    arrival.content = content_of(&arrival);
    struct join_dedup_entry *dedup = join_map_get(&join->open.by_identity, identity) == ISO_NONE
                                         ? join_dedup_find(join, identity)
                                         : NULL;
    if (dedup) {
        take_late(join, dedup, &arrival);
        return ISO_OK;
    }
    uint32_t number = join_open(join, identity, event);
    if (event->flags & ISO_EVENT_HAS_MARKER)
        join_note_marker(join, number, join_text(join, block, event->marker));
    join->cells.again = join->capability->early_images &&
                        join->keys.list[arrival.key].stamp >= join->open.list[number].stamp;
    uint32_t row = known_row(join, number, &arrival);
    join->cells.transaction = number;
    join->cells.ordinal = arrival.ordinal;
    if (row != ISO_NONE) {
        take_again(join, number, row, &arrival);
        return ISO_OK;
    }
    append(join, number, &arrival);
    join->cells.disposition = JOIN_CELLS_NEW;
    if (!join->cells.left)
        join_check_complete(join, number);
    return ISO_OK;
}

/* ---- one cell ---- */

/* Its row was repeated, and arrived last: so did the cell. */
static void take_cell_again(struct iso_join *join, const struct arrival *arrival)
{
    uint32_t row = find_row(join, &join->open.list[join->cells.transaction], arrival, false);
    if (row != ISO_NONE)
        join->rows.list[row].rank = join->cells.rank;
}

void join_take_cell(struct iso_join *join, const struct iso_history *block,
                    const struct iso_event *event)
{
    struct join_cells *cells = &join->cells;
    struct arrival arrival = {.block = block, .event = event, .ordinal = cells->ordinal};
    if (!cells->left)
        return;
    cells->left--;
    arrival.key = join_key_number(join, block, event->key);
    switch (cells->disposition) {
    case JOIN_CELLS_NEW:
        append(join, cells->transaction, &arrival);
        if (!cells->left)
            join_check_complete(join, cells->transaction);
        break;
    case JOIN_CELLS_AGAIN:
        take_cell_again(join, &arrival);
        break;
    case JOIN_CELLS_INITIAL:
        join_take_initial(join, block, event, arrival.key);
        break;
    case JOIN_CELLS_ABORTED:
        take_aborted(join, cells->identity, &arrival);
        break;
    case JOIN_CELLS_DROPPED:
        break;
    }
}

/* Drops one key of the table or predicate. */
static void drop_key(struct iso_join *join, uint32_t number, const struct iso_history *block,
                     const struct iso_event *event, uint32_t key)
{
    struct iso_event row = *event;
    row.type = ISO_EVENT_ROW;
    row.operation = ISO_ROW_DELETE;
    bool placed = join->capability->positions && (event->flags & ISO_EVENT_HAS_POSITION);
    struct arrival arrival = {
        .block = block, .event = &row, .key = key, .ordinal = placed ? event->position[1] : 1};
    arrival.content = content_of(&arrival);
    append(join, number, &arrival);
    join->rows.list[join->open.list[number].rows.last].flags |= JOIN_ROW_DROPPED;
    join->open.list[number].dropped++;
}

/* Whether a drop of that name takes a table with it: of none, all of them; of one that ends in a
 * dot, those that begin so; those of "0." begin with no number and a dot. */
static bool takes(const struct iso_join *join, iso_atom dropped, iso_atom table)
{
    char buffer[ISO_ATOM_TEXT_MAX], other[ISO_ATOM_TEXT_MAX];
    size_t length, own;
    if (dropped == ISO_ABSENT || dropped == table)
        return true;
    const char *name = iso_atom_text(&join->keys.names.atoms, dropped, buffer, &length);
    if (!length || name[length - 1] != '.')
        return false;
    const char *text = iso_atom_text(&join->keys.names.atoms, table, other, &own);
    size_t digits = 0;
    while (digits < own && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    bool is_numbered = digits && digits < own && text[digits] == '.';
    return length == 2 && *name == '0' ? !is_numbered : own > length && !memcmp(text, name, length);
}

/* A drop, or a truncate, deletes every key of its table that has a value. It is one event to END;
 * or all of its transaction, and then it is whole. */
void join_take_drop(struct iso_join *join, const struct iso_history *block,
                    const struct iso_event *event)
{
    struct join_identity identity;
    iso_atom table = ISO_ABSENT;
    bool alone = event->flags & ISO_EVENT_ALONE;
    bool counts = join->capability->by_id && (event->flags & ISO_EVENT_HAS_ID);
    if (!join_identity_of(join, block, event, &identity))
        return;
    if (alone) {
        join_take_table_change(join, block, event);
        return;
    }
    bool known = join_map_get(&join->open.by_identity, identity) != ISO_NONE;
    if ((known && !counts) || (!known && join_dedup_find(join, identity))) {
        join->stats.repeats++;
        return;
    }
    if (join->capability->spans)
        join_follow_span(join, join_input_of(join, event->origin), identity, event->cts.physical);
    if (event->flags & ISO_EVENT_HAS_POSITION)
        join_note_reached(join_input_of(join, event->origin), identity, event);
    if (event->table != ISO_ABSENT)
        table = iso_atoms_copy(&join->keys.names.atoms, &block->atoms, event->table);
    uint32_t number = join_open(join, identity, event);
    if (counts && !join_counts_other(join, number, block, event)) {
        join->stats.repeats++;
        return;
    }
    if (event->table != ISO_ABSENT)
        join_note_altered(join, number, join_table_in(join, block, event->table), ISO_NONE);
    for (uint32_t key = 0; key < join->keys.names.keys.count; key++) {
        const struct join_key *state = &join->keys.list[key];
        if (state->value != ISO_ABSENT && state->table != ISO_ABSENT &&
            state->part != JOIN_PART_CELL && takes(join, table, state->table))
            drop_key(join, number, block, event, key);
    }
    if (counts)
        join_check_complete(join, number);
}
