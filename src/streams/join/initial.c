/* What keys had before the stream.
 *
 * A connector's first snapshot says it, row by row, before it sends any change; an incremental one
 * says it while changes stream. A row of either is initial state: a version before all others,
 * whenever it arrives. Until the snapshot is complete the engine learns, of each key that a client
 * reads, that its initial value is not known, so that such reads wait.
 *
 * Complete: nothing of a first snapshot will arrive any more. In a partition its rows stand before
 * all changes; so it is once every partition has shown something else, or stands at its end while
 * changes stream elsewhere. Then a key that no row names had no value. Without any snapshot nobody
 * says what was there: the first change's whole before image does, else the read lowest in position
 * (the engine's affair).
 */
#include <assert.h>

#include "join/join_private.h"
#include "verdict/unjudged.h"

/* ---- whether it is complete ---- */

void iso_join_begun(struct iso_join *join, uint32_t input)
{
    join_input(join, input)->begun = true;
}

void iso_join_at_end(struct iso_join *join, uint32_t input, bool at_end)
{
    join_input(join, input)->at_end = at_end;
}

bool iso_join_is_at_end(const struct iso_join *join, uint32_t input)
{
    return input < join->partitions.count && join->partitions.list[input].at_end;
}

/* The snapshot is over. What stood at its end while it was taken may have got rows of it since. */
static void pass_snapshot(struct iso_join *join, bool *how)
{
    for (uint32_t i = 0; !*how && i < join->partitions.count; i++) {
        join->partitions.list[i].begun |=
            join->partitions.list[i].at_end; /* it was known to have no value */
        join->partitions.list[i].at_end = false;
    }
    *how = true;
}

void join_note_start(struct iso_join *join, uint32_t input, const struct iso_event *event)
{
    struct join_start *start = &join->start;
    bool is_row = event->type == ISO_EVENT_ROW && event->operation == ISO_ROW_SNAPSHOT;
    struct join_input *partition = join_input(join, input);
    partition->begun = true;
    if (is_row && (event->flags & ISO_EVENT_INCREMENTAL))
        return;
    if (!is_row) {
        bool speaks = event->type == ISO_EVENT_ROW || event->type == ISO_EVENT_END ||
                      event->type == ISO_EVENT_BEGIN || event->type == ISO_EVENT_DROP ||
                      (event->flags & ISO_EVENT_HAS_ID);
        partition->beyond_snapshot |= speaks;
        partition->snapshot_again &= !speaks;
        if (speaks)
            pass_snapshot(join, &start->streams);
        return;
    }
    join->stats.snapshots_again += partition->beyond_snapshot && !partition->snapshot_again;
    partition->snapshot_again |= partition->beyond_snapshot;
    start->snapshots = true;
    if (event->flags & ISO_EVENT_SNAPSHOT_ENDS)
        pass_snapshot(join, &start->ended);
    partition->beyond_snapshot |= event->flags & ISO_EVENT_SNAPSHOT_ENDS;
    if ((event->flags & ISO_EVENT_SNAPSHOT_XID) && (!start->xid || event->position[0] < start->xid))
        start->xid = event->position[0];
}

static void check_lanes(struct iso_join *join, bool *begun, bool *all_beyond)
{
    struct join_start *start = &join->start;
    uint32_t declared = 0;
    *begun = *all_beyond = true;
    for (uint32_t i = 0; i < join->partitions.count; i++) {
        const struct join_input *partition = &join->partitions.list[i];
        if (!partition->declared)
            continue;
        declared++;
        *begun &= partition->begun || partition->at_end;
        *all_beyond &=
            partition->beyond_snapshot || (partition->at_end && (start->streams || start->ended));
    }
    *all_beyond &= declared && *begun && (start->streams || start->ended);
}

/* A cell of a column that not all rows have, or anything of a table that had rows which did not
 * come: what was there before is nobody's to say. */
static bool varies(const struct iso_join *join, uint32_t key)
{
    const struct join_key *state = &join->keys.list[key];
    return (state->of_table != ISO_NONE && join->tables.list[state->of_table].varies) ||
           (state->part == JOIN_PART_CELL && join->tables.list[state->of_column].varies);
}

static bool lacks_row(const struct iso_join *join, uint32_t key)
{
    const struct join_key *state = &join->keys.list[key];
    return state->part == JOIN_PART_CELL && join->keys.list[state->of_row].is_missed;
}

static void miss(struct iso_join *join, uint32_t key)
{
    join->keys.list[key].is_missed = true;
    if (join->keys.list[key].part == JOIN_PART_ROW)
        join->start.missed = 0;
}

/* Makes cells unknown that the first change of a row did not change: they are of an initial row, or
 * of an earlier change, that did not come. */
void join_miss_cells(struct iso_join *join)
{
    iso_atom unknown = iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_INCOMPLETE);
    for (uint32_t key = join->start.missed; key < join->keys.names.keys.count; key++) {
        struct join_key *state = &join->keys.list[key];
        if (!lacks_row(join, key) || state->is_missed || state->initial != JOIN_INITIAL_DELIVERED)
            continue;
        state->is_missed = true;
        join_emit_table_version(join, key, unknown, ISO_JOIN_START + 1, UINT64_MAX);
    }
    join->start.missed = ISO_NONE;
}

/* Keys whose initial value is asked for and was not delivered. */
static void answer(struct iso_join *join)
{
    bool known = join->start.snapshots;
    iso_atom value =
        known ? ISO_ABSENT : iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_BEFORE_START);
    for (uint32_t key = 0; join->start.asked && key < join->keys.names.keys.count; key++) {
        if (join->keys.list[key].initial != JOIN_INITIAL_ASKED)
            continue;
        bool unsaid = varies(join, key);
        join->keys.list[key].initial =
            known && !unsaid ? JOIN_INITIAL_DELIVERED : JOIN_INITIAL_UNKNOWN;
        join->start.asked--;
        join_emit_start(
            join, key, unsaid ? iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_SCHEMA) : value);
    }
}

/* Marks tables whose snapshot is not whole yet: a row that stood before theirs may be missing. */
static uint32_t mark_open(struct iso_join *join)
{
    uint32_t mark = ++join->counters.marks;
    for (uint32_t i = join->open.oldest; i != ISO_NONE; i = join->open.list[i].newer) {
        const struct join_chain *rows = &join->open.list[i].rows;
        for (uint32_t j = 0, r = rows->first;
             j < rows->count && !(join->open.list[i].flags & JOIN_COMPLETE);
             j++, r = join->rows.list[r].next)
            join->keys.list[join->rows.list[r].key].mark = mark;
    }
    return mark;
}

/* Marks tables of which rows are missing. */
static void note_lacking(struct iso_join *join)
{
    for (uint32_t i = join->open.oldest; i != ISO_NONE; i = join->open.list[i].newer)
        if (join_mark_lacking(join, &join->open.list[i]))
            for (uint32_t table = 0; table < join->tables.count; table++)
                join->tables.list[table].has_lost |= join_is_table_lacking(join, table);
}

static bool is_open(const struct iso_join *join, uint32_t table, bool proven)
{
    const struct join_start *start = &join->start;
    /* whoever marks no table's last row marks the last of all */
    bool tells = start->marks || !start->ended;
    return start->snapshots && tells && !proven &&
           join->tables.list[table].start != JOIN_START_WHOLE;
}

bool join_start_is_open(const struct iso_join *join, uint32_t table)
{
    return is_open(join, table, join->start.proven);
}

bool iso_join_start_is_open(struct iso_join *join, const struct iso_atoms *atoms, iso_atom key,
                            bool has_topic)
{
    uint32_t table = join->keys.list[join_key_find(join, atoms, key)].of_table;
    return is_open(join, table, join->start.proven && has_topic);
}

static void set_initial(struct iso_join *join, uint32_t key, enum join_initial how)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    join->start.asked -= state->initial == JOIN_INITIAL_ASKED;
    join->start.learned -= state->initial == JOIN_INITIAL_LEARNED;
    join->start.learned += how == JOIN_INITIAL_LEARNED;
    state->initial = (uint8_t)how;
}

/* A snapshot was sent, and a key of it that changed was not in it: its row is lost, or arrived with
 * another table's. Where a statement in front of the change has not been delivered yet, nobody
 * knows. */
static void report_learned(struct iso_join *join, bool ended)
{
    uint32_t open = join->start.learned ? mark_open(join) : 0;
    if (open)
        note_lacking(join);
    for (uint32_t key = 0;
         join->start.snapshots && join->start.learned && key < join->keys.names.keys.count; key++) {
        const struct join_key *state = &join->keys.list[key];
        if (state->initial != JOIN_INITIAL_LEARNED)
            continue;
        bool may_lack = state->mark == open || join->tables.list[state->of_table].has_lost;
        bool excused = varies(join, key) || join_was_replaced(join, key) ||
                       join_start_is_open(join, state->of_table) ||
                       (!ended && join_log_lacks_statement(join, state->first));
        if (may_lack) /* and what it found may be forgotten yet (join_unlearn) */
            continue;
        set_initial(join, key, JOIN_INITIAL_DELIVERED);
        miss(join, key);
        if (!excused)
            join_report_gap(join, key, ISO_ABSENT, UINT64_MAX);
    }
}

void join_check_start(struct iso_join *join, bool ended)
{
    bool begun, all_beyond;
    struct join_start *start = &join->start;
    if (start->complete || !join->capability->positions)
        return;
    check_lanes(join, &begun, &all_beyond);
    start->complete = all_beyond || ended;
    start->proven = all_beyond;
    start->begun |= begun || ended;
    if (!start->complete)
        return;
    answer(join);
    report_learned(join, ended);
}

/* ---- keys ---- */

bool join_start_unknown(struct iso_join *join, uint32_t key)
{
    struct join_key *state = &join->keys.list[key];
    if (!varies(join, key) || state->initial != JOIN_INITIAL_DEFAULT || state->is_header)
        return false;
    state->initial = JOIN_INITIAL_UNKNOWN;
    join_emit_start(join, key, iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_SCHEMA));
    return true;
}

void join_ask_initial(struct iso_join *join, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    const struct join_start *start = &join->start;
    if (join_start_unknown(join, key))
        return;
    if (state->initial != JOIN_INITIAL_DEFAULT || state->is_header ||
        !join->capability->positions || join->options.initial_known)
        return;
    if (start->complete && start->snapshots) {
        state->initial = JOIN_INITIAL_DELIVERED;
        if (lacks_row(join, key) && key < join->start.missed)
            join->start.missed = key;
        return;
    }
    bool waits = !start->complete;
    state->initial = waits ? JOIN_INITIAL_ASKED : JOIN_INITIAL_UNKNOWN;
    join->start.asked += waits;
    join_emit_start(join, key,
                    waits ? iso_atoms_add_string(&join->texts.atoms, ISO_UNKNOWN_INITIAL,
                                                 sizeof ISO_UNKNOWN_INITIAL - 1)
                          : iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_BEFORE_START));
}

bool iso_join_initial_is_known(const struct iso_join *join)
{
    return !join->capability->positions || join->options.initial_known ||
           (join->start.complete && join->start.snapshots);
}

bool iso_join_start_is_settled(const struct iso_join *join)
{
    return join->start.complete || iso_join_initial_is_known(join);
}

/* A row of the table's first snapshot. */
static void note_table(struct iso_join *join, uint32_t number, const struct iso_event *event)
{
    assert(number < join->tables.count);
    struct join_table *table = &join->tables.list[number];
    bool ends = event->flags & (ISO_EVENT_TABLE_ENDS | ISO_EVENT_SNAPSHOT_ENDS);
    if (event->type == ISO_EVENT_CELL || event->flags & ISO_EVENT_INCREMENTAL)
        return;
    join->start.marks |= (event->flags & (ISO_EVENT_TABLE_ENDS | ISO_EVENT_SNAPSHOT_MARKS)) != 0;
    if (ends)
        table->start = JOIN_START_WHOLE;
    else if (table->start < JOIN_START_ROWS)
        table->start++;
}

/* The key's initial value becomes unknown: what a change found there may be what another change
 * left that did not come. */
static void forget_initial(struct iso_join *join, uint32_t key)
{
    set_initial(join, key, JOIN_INITIAL_DELIVERED);
    miss(join, key);
    join_emit_table_version(join, key,
                            iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_INCOMPLETE),
                            ISO_JOIN_START + 1, UINT64_MAX);
}

void join_unlearn(struct iso_join *join, uint32_t key)
{
    if (join->keys.list[key].initial == JOIN_INITIAL_LEARNED)
        forget_initial(join, key);
}

void join_learn_initial(struct iso_join *join, uint32_t key, const struct iso_event *event,
                        const struct join_row *row)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    bool delivered =
        state->initial == JOIN_INITIAL_DELIVERED || state->initial == JOIN_INITIAL_LEARNED;
    if (!join->capability->positions || join->options.initial_known || delivered ||
        !(row->flags & JOIN_ROW_BEFORE))
        return;
    bool asked = state->initial != JOIN_INITIAL_DEFAULT;
    if (event->operation == ISO_ROW_INSERT || row->before == ISO_ABSENT) {
        set_initial(join, key, JOIN_INITIAL_DELIVERED);
        if (asked)
            join_emit_start(join, key, ISO_ABSENT);
        return;
    }
    if (state->lost || join->tables.list[state->of_table].has_lost) {
        forget_initial(join, key);
        return;
    }
    set_initial(join, key, JOIN_INITIAL_LEARNED);
    join_emit_initial(join, key, row->before, event->origin, false);
}

/* Behind a change of its key, in the same partition, a row of a snapshot shows the newest version;
 * a slot was lost, and the table read again, where it does not. */
static void take_again(struct iso_join *join, const struct iso_history *block,
                       const struct iso_event *event, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    const struct join_key *state = &join->keys.list[key];
    bool known = (event->flags & ISO_EVENT_HAS_AFTER) && state->content &&
                 join->capability->positions && state->partition == iso_origin_input(event->origin);
    uint32_t content = known ? join_content(&block->atoms, event->after) : 0;
    join->stats.rows_gone[ISO_ROWS_REPEATED] += event->type != ISO_EVENT_CELL;
    join->stats.repeats += event->type != ISO_EVENT_CELL;
    if (known && content != state->content)
        join_report_gap(join, key, join_text(join, block, event->after), event->origin);
}

void join_take_initial(struct iso_join *join, const struct iso_history *block,
                       const struct iso_event *event, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    bool known = event->flags & ISO_EVENT_HAS_AFTER;
    note_table(join, state->of_table, event);
    if (state->was_changed && (state->initial != JOIN_INITIAL_LEARNED || join->start.complete)) {
        take_again(join, block, event, key);
        return;
    }
    if (state->initial == JOIN_INITIAL_DELIVERED) { /* read again before it changed */
        take_again(join, block, event, key);
        return;
    }
    join->stats.rows_gone[ISO_ROWS_INITIAL] += event->type != ISO_EVENT_CELL;
    join->stats.snapshot_rows += event->type != ISO_EVENT_CELL;
    if (state->initial ==
        JOIN_INITIAL_LEARNED) { /* its partition was read later than the change's */
        set_initial(join, key, JOIN_INITIAL_DELIVERED);
        return;
    }
    set_initial(join, key, JOIN_INITIAL_DELIVERED);
    join->stats.unknown_values += !known;
    iso_atom value = known ? join_text(join, block, event->after)
                           : iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_UNKNOWN_VALUE);
    join_note_value(join, block, event->table, key, value);
    state->content = known ? join_content(&block->atoms, event->after) : 0;
    state->partition = iso_origin_input(event->origin);
    join_emit_initial(join, key, value, event->origin, true);
    if (event->flags & ISO_EVENT_INCREMENTAL) /* read while changes stream: after some of them */
        return;
    join_note_version(join, key, ISO_JOIN_START, false);
    uint32_t shown_by = state->part == JOIN_PART_CELL ? state->of_column : state->of_table;
    uint64_t respelt = shown_by == ISO_NONE ? 0 : join->tables.list[shown_by].respelt;
    if (respelt && state->part != JOIN_PART_ROW)
        join_emit_table_version(join, key,
                                iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_SCHEMA), respelt,
                                event->origin);
}
