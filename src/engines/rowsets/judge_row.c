/* One row as a query had to see it: versions below its bound, the transaction's own writes over
 * them, and what transactions of unknown outcome may have put in their place. */
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "rowsets/judged_private.h"
#include "verdict/unjudged.h"

enum { MOST_MIXTURES = 256, MOST_OPTIONS = 16, MOST_CHOICES = 8 };

static struct judge_cell doubtful(enum iso_unjudged reason)
{
    return (struct judge_cell){ISO_ABSENT, 1 + (uint32_t)reason};
}

static uint32_t reason_bit(enum iso_unjudged reason)
{
    return 1u << reason;
}

/* ---- what stands there ---- */

static struct judge_cell cell_of(const struct judge *judge, iso_atom value)
{
    const struct iso_atoms *atoms = &judge->engine->atoms;
    if (iso_atom_is_unknown(atoms, value))
        return doubtful(iso_value_unjudged(atoms, value));
    return (struct judge_cell){value, 0};
}

/* Where nothing is known of the row itself. */
static struct judge_cell default_row(const struct judge *judge)
{
    const struct rowsets_table *table = &judge->engine->store.tables[judge->table];
    return table->is_whole ? (struct judge_cell){ISO_ABSENT, 0}
                           : doubtful(ISO_UNJUDGED_BEFORE_START);
}

/* A cell that nobody wrote since the row was there has its column's default, whatever that is. */
static struct judge_cell default_cell(const struct judge *judge, uint32_t column)
{
    const struct rowsets_table *table = &judge->engine->store.tables[judge->table];
    bool is_shown = column != ISO_NONE && (table->columns[column].has_initial ||
                                           table->columns[column].first_cts < judge->query->bound);
    return doubtful(is_shown ? ISO_UNJUDGED_UNKNOWN_VALUE : ISO_UNJUDGED_COLUMN);
}

/* The version that the query had to see, and what it says; NULL: there is none. */
struct seen {
    const struct rowsets_version *version;
    uint64_t cts;
    iso_atom value;
};

/* What its cell says of the newest one will do: versions lie anywhere. */
static struct seen find_version(const struct judge *judge, const struct rowsets_cell *cell)
{
    const struct rowsets_query *query = judge->query;
    if (cell->count && cell->newest_cts < query->bound && cell->newest_cts != query->cts)
        return (struct seen){judge->engine->store.versions + cell->first + cell->count - 1,
                             cell->newest_cts, cell->newest};
    const struct rowsets_version *version =
        rowsets_version_at(judge->engine, cell, query->bound, query->tid);
    return version ? (struct seen){version, version->cts, version->value} : (struct seen){0};
}

/* The version's writer decides, unless a later one decides, too. */
static void note_writer(struct judge *judge, const struct seen *seen)
{
    struct judge_row *row = &judge->row;
    if (row->writer && seen->cts <= row->writer_cts)
        return;
    row->writer = seen->version;
    row->writer_cts = seen->cts;
}

/* Whether the row was there, and when it was deleted last. */
static void see_existence(struct judge *judge, const struct rowsets_cell *cell)
{
    assert(!cell->column);
    struct judge_row *row = &judge->row;
    struct seen seen = find_version(judge, cell);
    const struct rowsets_version *version = seen.version,
                                 *first = judge->engine->store.versions + cell->first;
    if (version)
        note_writer(judge, &seen);
    if (version || cell->has_initial)
        row->there = cell_of(judge, version ? seen.value : cell->initial);
    for (; version && judge->engine->store.rows[row->row].was_deleted && !row->died; version--) {
        if (version->value == ISO_ABSENT && version->tid != judge->query->tid)
            row->died = version;
        if (version == first)
            break;
    }
}

/* The content of a cell of the row, as the query had to see it. */
static struct judge_cell see_cell(struct judge *judge, const struct rowsets_cell *cell)
{
    assert(cell->column);
    struct seen seen = find_version(judge, cell);
    const struct rowsets_version *died = judge->row.died;
    if (!seen.version || (died && !rowsets_outlives(judge->engine, seen.version, died)))
        return cell->has_initial && !died ? cell_of(judge, cell->initial)
                                          : default_cell(judge, cell->column);
    note_writer(judge, &seen);
    return cell_of(judge, seen.value);
}

/* The part of the key that the slot stands for is read when it is needed. */
static bool is_part(const struct judge_slot *slot)
{
    return slot->column == ISO_NONE && slot->part != ISO_NONE;
}

static void lay_own_over(struct judge *judge)
{
    const struct rowsets_query *query = judge->query;
    uint32_t low = 0, high = query->own_count;
    ISO_BISECT(low, high, middle, query->owns[middle].parts < judge->row.parts);
    for (; low < query->own_count && query->owns[low].parts == judge->row.parts; low++) {
        const struct rowsets_own *own = &query->owns[low]; /* the row before its cells */
        judge->row.is_own = true;
        judge->row.is_reinserted |= own->is_reinserted;
        if (!own->column)
            judge->row.there = cell_of(judge, own->value);
        for (uint32_t s = 0; s < judge->asked.slot_count; s++) {
            if (own->column && judge->asked.slots[s].column == own->column)
                judge->row.cells[s] = cell_of(judge, own->value);
            else if (own->is_reinserted)
                judge->row.cells[s] = default_cell(judge, judge->asked.slots[s].column);
        }
    }
}

iso_truth judge_covers(struct judge *judge, uint32_t row, iso_atom parts)
{
    const struct iso_rowsets *engine = judge->engine;
    char buffer[ISO_ATOM_TEXT_MAX];
    if (!judge->asked.has_bounds)
        return ISO_TRUTH_TRUE;
    if (judge->asked.of_integers && row != ISO_NONE && engine->store.rows[row].is_number) {
        int64_t number = engine->store.rows[row].number;
        return iso_truth_of(judge->asked.least <= number && number <= judge->asked.most);
    }
    return iso_bounds_cover(&judge->asked.bounds, rowsets_text(&engine->atoms, parts, buffer),
                            &judge->texts.room);
}

void judge_see(struct judge *judge, uint32_t number, iso_atom parts)
{
    assert(number == ISO_NONE || judge->engine->store.rows[number].table == judge->table);
    struct iso_rowsets *engine = judge->engine;
    struct judge_row *row = &judge->row;
    struct judge_cell *cells = row->cells;
    *row = (struct judge_row){.row = number, .parts = parts, .cells = cells};
    row->there = default_row(judge);
    for (uint32_t at = number == ISO_NONE ? ISO_NONE : engine->store.rows[number].cells;
         at != ISO_NONE; at = engine->store.cells[at].next) {
        const struct rowsets_cell *cell = &engine->store.cells[at];
        if (!cell->column) {
            see_existence(judge, cell);
            if (row->there.value == ISO_ABSENT && !row->there.doubt && !judge->query->own_count &&
                engine->store.rows[number].candidates == ISO_NONE)
                return; /* gone */
            for (uint32_t s = 0; s < judge->asked.slot_count; s++)
                cells[s] = default_cell(judge, judge->asked.slots[s].column);
        }
        for (uint32_t s = 0; cell->column && s < judge->asked.slot_count; s++)
            if (judge->asked.slots[s].column == cell->column)
                cells[s] = see_cell(judge, cell);
    }
    for (uint32_t s = 0; number == ISO_NONE && s < judge->asked.slot_count; s++)
        cells[s] = default_cell(judge, judge->asked.slots[s].column);
    lay_own_over(judge);
    row->covered = judge_covers(judge, number, parts);
}

void judge_see_own(struct judge *judge, uint32_t number, iso_atom parts)
{
    struct judge_row *row = &judge->row;
    struct judge_cell *cells = row->cells;
    *row = (struct judge_row){.row = number, .parts = parts, .cells = cells};
    row->there = doubtful(ISO_UNJUDGED_UNKNOWN_VALUE);
    for (uint32_t s = 0; s < judge->asked.slot_count; s++)
        cells[s] = row->there;
    lay_own_over(judge);
    row->covered = judge_covers(judge, number, parts);
}

/* ---- as scalars ---- */

static struct iso_json_text key_part(struct judge *judge, uint32_t number)
{
    struct iso_json_text rest = rowsets_text(&judge->engine->atoms, judge->row.parts,
                                             judge->texts.parts_buffer),
                         part;
    uint32_t count = 0;
    while (iso_key_take_part(&rest, &part) && count < number)
        count++;
    return part;
}

static struct iso_scalar scalar_of_part(struct judge *judge, const struct judge_slot *slot)
{
    struct iso_json_text part = key_part(judge, slot->part);
    if (memchr(part.at, '%', part.length)) /* rare: not worth room for what stands there */
        return iso_scalar_of_kind(ISO_SCALAR_UNKNOWN);
    return iso_scalar_read(slot->type, part);
}

struct iso_scalar judge_scalar(struct judge *judge, uint32_t number, struct judge_cell cell)
{
    assert(number < judge->asked.slot_count);
    struct judge_slot *slot = &judge->asked.slots[number];
    if (is_part(slot))
        return scalar_of_part(judge, slot);
    if (cell.doubt)
        return iso_scalar_of_kind(ISO_SCALAR_UNKNOWN);
    if (cell.value == ISO_ABSENT)
        return iso_scalar_of_kind(ISO_SCALAR_NULL);
    if (!(cell.value & ISO_ATOM_TABLE) && slot->is_integer)
        return iso_scalar_integer((int64_t)cell.value);
    return iso_scalar_read(slot->type,
                           rowsets_text(&judge->engine->atoms, cell.value, slot->buffer));
}

/* ---- deciding ---- */

static const enum iso_unjudged reasons[ISO_PREDICATE_REASONS] = {
    [ISO_PREDICATE_UNKNOWN] = ISO_UNJUDGED_UNKNOWN_VALUE,
    [ISO_PREDICATE_TYPE] = ISO_UNJUDGED_TYPE,
    [ISO_PREDICATE_COLLATION] = ISO_UNJUDGED_COLLATION,
    [ISO_PREDICATE_SPELLING] = ISO_UNJUDGED_SPELLING,
    [ISO_PREDICATE_SIGN] = ISO_UNJUDGED_SIGN,
};

/* Why it is not known: of an unknown cell, all that cells say. */
static uint32_t reasons_of(const struct judge *judge, iso_truth truth,
                           const struct judge_cell *cells)
{
    enum iso_predicate_reason reason = iso_truth_reason(truth);
    uint32_t found = 0;
    if (!reason)
        return 0;
    for (uint32_t s = 0; cells && reason == ISO_PREDICATE_UNKNOWN && s < judge_where_columns(judge);
         s++)
        if (!is_part(&judge->asked.slots[s]) && cells[s].doubt)
            found |= reason_bit((enum iso_unjudged)(cells[s].doubt - 1));
    return found ? found : reason_bit(reasons[reason]);
}

struct judge_outcome judge_decide(struct judge *judge, struct judge_cell there,
                                  const struct judge_cell *cells)
{
    struct judge_outcome outcome = {.there = there.value == ISO_ABSENT ? ISO_TRUTH_FALSE
                                                                       : ISO_TRUTH_TRUE,
                                    .matches = ISO_TRUTH_FALSE};
    if (there.doubt) {
        outcome.there = ISO_TRUTH_TRUE | ISO_TRUTH_FALSE;
        outcome.reasons = reason_bit((enum iso_unjudged)(there.doubt - 1));
    }
    iso_truth covered = judge->row.covered, where = ISO_TRUTH_TRUE;
    if (outcome.there == ISO_TRUTH_FALSE || iso_truth_outcomes(covered) == ISO_TRUTH_FALSE)
        return outcome;
    if (judge->asked.where) {
        for (uint32_t s = 0; s < judge_where_columns(judge); s++)
            judge->scalars[s] = judge_scalar(judge, s, cells[s]);
        where = iso_truth_matches(iso_condition_judge(judge->asked.where, judge->scalars));
    }
    iso_truth both = iso_truth_and(covered, where);
    outcome.matches = iso_truth_outcomes(both);
    if (outcome.matches != ISO_TRUTH_TRUE && outcome.matches != ISO_TRUTH_FALSE)
        outcome.reasons |= reasons_of(judge, covered, NULL) | reasons_of(judge, where, cells);
    return outcome;
}

/* ---- transactions of unknown outcome ---- */

/* One register of the row that one of them may have written: its options are the row's own value
 * and theirs. */
struct choice {
    struct judge_cell *cell;
    struct judge_cell options[MOST_OPTIONS];
    uint32_t count;
};

static bool may_be_seen(const struct judge *judge, uint32_t unknown)
{
    assert(unknown < judge->engine->outcomes.unknown_count);
    const struct rowsets_unknown *writer = &judge->engine->outcomes.unknowns[unknown];
    return writer->start < judge->query->start_limit || !writer->start;
}

static bool is_own_register(const struct judge *judge, uint32_t column)
{
    const struct rowsets_query *query = judge->query;
    for (uint32_t i = 0; judge->row.is_own && i < query->own_count; i++)
        if (query->owns[i].parts == judge->row.parts && query->owns[i].column == column)
            return true;
    return false;
}

static bool add_option(struct choice *choice, struct judge_cell option)
{
    assert(choice->count && choice->count <= MOST_OPTIONS);
    for (uint32_t i = 0; i < choice->count; i++)
        if (choice->options[i].value == option.value && choice->options[i].doubt == option.doubt)
            return true;
    if (choice->count == MOST_OPTIONS)
        return false;
    choice->options[choice->count++] = option;
    return true;
}

static uint32_t slot_of(const struct judge *judge, uint32_t column)
{
    uint32_t s = 0;
    while (s < judge->asked.slot_count && judge->asked.slots[s].column != column)
        s++;
    return s;
}

struct choices {
    struct choice list[MOST_CHOICES];
    uint32_t count;
};

/* False: more than are looked at. */
static bool offer(struct choices *choices, struct judge_cell *cell, struct judge_cell option)
{
    uint32_t i = 0;
    while (i < choices->count && choices->list[i].cell != cell)
        i++;
    if (i == MOST_CHOICES)
        return false;
    if (i == choices->count) {
        choices->list[i].cell = cell;
        choices->list[i].options[0] = *cell;
        choices->list[choices->count++].count = 1;
    }
    return add_option(&choices->list[i], option);
}

/* One that deleted the row and wrote it again left nothing of its cells but what it wrote then. */
static bool offer_reinserted(struct judge *judge, struct choices *choices)
{
    for (uint32_t s = 0; s < judge->asked.slot_count; s++)
        if (judge->asked.slots[s].column != ISO_NONE &&
            slot_of(judge, judge->asked.slots[s].column) == s &&
            !is_own_register(judge, judge->asked.slots[s].column) &&
            !offer(choices, &judge->row.cells[s],
                   default_cell(judge, judge->asked.slots[s].column)))
            return false;
    return true;
}

/* The choices that matter. How many mixtures of them there are; 0: more than are looked at. */
static uint32_t find_choices(struct judge *judge, struct choices *choices, uint32_t *blocker)
{
    assert(judge->row.row != ISO_NONE);
    const struct iso_rowsets *engine = judge->engine;
    uint32_t mixtures = 1;
    choices->count = 0;
    *blocker = ISO_NONE;
    for (uint32_t at = engine->store.rows[judge->row.row].candidates; at != ISO_NONE;
         at = engine->outcomes.candidates[at].next) {
        const struct rowsets_candidate *candidate = &engine->outcomes.candidates[at];
        uint32_t slot = candidate->column ? slot_of(judge, candidate->column) : 0;
        bool is_own = is_own_register(judge, candidate->column);
        if (!may_be_seen(judge, candidate->unknown) || (is_own && !candidate->is_reinserted) ||
            (candidate->column && slot == judge->asked.slot_count))
            continue;
        *blocker = candidate->unknown;
        if ((!is_own &&
             !offer(choices, candidate->column ? &judge->row.cells[slot] : &judge->row.there,
                    cell_of(judge, candidate->value))) ||
            (candidate->is_reinserted && !offer_reinserted(judge, choices)))
            return 0;
    }
    for (uint32_t i = 0; i < choices->count && mixtures <= MOST_MIXTURES; i++)
        mixtures *= choices->list[i].count;
    return mixtures > MOST_MIXTURES ? 0 : mixtures;
}

/* Two slots of one column hold one value. */
static void spread(struct judge *judge)
{
    for (uint32_t s = 1; s < judge->asked.slot_count; s++) {
        uint32_t first = slot_of(judge, judge->asked.slots[s].column);
        if (first < s && judge->asked.slots[s].column != ISO_NONE)
            judge->row.cells[s] = judge->row.cells[first];
    }
}

static bool is_excused_by(enum judge_fault fault, const struct judge_outcome *outcome)
{
    if (fault == JUDGE_MISSING)
        return outcome->there & ISO_TRUTH_FALSE || outcome->matches & ISO_TRUTH_FALSE;
    return outcome->there & ISO_TRUTH_TRUE && outcome->matches & ISO_TRUTH_TRUE;
}

static bool surely_counts(const struct judge_outcome *outcome)
{
    return outcome->there == ISO_TRUTH_TRUE && outcome->matches == ISO_TRUTH_TRUE;
}

static bool never_counts(const struct judge_outcome *outcome)
{
    return outcome->there == ISO_TRUTH_FALSE || outcome->matches == ISO_TRUTH_FALSE;
}

/* Whether a mixture changes what the row adds to an aggregate or to rows without keys. */
static bool is_changed(struct judge *judge, const struct judge_outcome *before,
                       const struct judge_outcome *outcome, const struct judge_cell *cells)
{
    bool same = surely_counts(before) == surely_counts(outcome) &&
                never_counts(before) == never_counts(outcome);
    for (uint32_t s = judge_where_columns(judge);
         same && surely_counts(outcome) && s < judge->asked.slot_count; s++)
        same = cells[s].value == judge->row.cells[s].value &&
               !cells[s].doubt == !judge->row.cells[s].doubt;
    return !same;
}

bool judge_excuses(struct judge *judge, enum judge_fault fault)
{
    struct iso_rowsets *engine = judge->engine;
    struct judge_row *row = &judge->row;
    uint32_t blocker;
    if (row->row == ISO_NONE || engine->store.rows[row->row].candidates == ISO_NONE)
        return false;
    struct choices *choices = iso_allocate(sizeof *choices);
    struct judge_cell before = row->there,
                      *kept = iso_allocate((judge->asked.slot_count + 1) * sizeof *kept);
    struct judge_cell *mixed = iso_allocate((judge->asked.slot_count + 1) * sizeof *mixed);
    memcpy(kept, row->cells, judge->asked.slot_count * sizeof *kept);
    struct judge_outcome plain = judge_decide(judge, before, kept);
    uint32_t mixtures = find_choices(judge, choices, &blocker);
    bool excused = !mixtures;
    for (uint32_t m = 0; m < mixtures && !excused; m++) {
        uint32_t rest = m;
        for (uint32_t i = 0; i < choices->count; rest /= choices->list[i++].count)
            *choices->list[i].cell = choices->list[i].options[rest % choices->list[i].count];
        spread(judge);
        memcpy(mixed, row->cells, judge->asked.slot_count * sizeof *mixed);
        struct judge_cell there = row->there;
        memcpy(row->cells, kept, judge->asked.slot_count * sizeof *kept);
        row->there = before;
        struct judge_outcome outcome = judge_decide(judge, there, mixed);
        excused = fault == JUDGE_CHANGED ? is_changed(judge, &plain, &outcome, mixed)
                                         : is_excused_by(fault, &outcome);
    }
    if (excused)
        judge->blocker = blocker;
    ISO_FREE_ALL(choices, kept, mixed);
    return excused;
}

bool judge_excuses_table(struct judge *judge)
{
    struct iso_rowsets *engine = judge->engine;
    for (uint32_t u = 0; u < engine->outcomes.unknown_count; u++) {
        const struct rowsets_unknown *unknown = &engine->outcomes.unknowns[u];
        if (unknown->tid == ISO_ABSENT || !may_be_seen(judge, u))
            continue;
        for (uint32_t i = 0; i < unknown->write_count; i++) {
            const struct rowsets_write *write = &unknown->writes[i];
            if (write->table != judge->table)
                continue;
            uint32_t row = rowsets_find_row(engine, write->table, write->parts);
            judge_see(judge, row, write->parts);
            if (judge_excuses(judge, JUDGE_CHANGED))
                return true;
        }
    }
    return false;
}

/* ---- for reports ---- */

static void put_value(struct judge *judge, struct iso_text *text, iso_atom value)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    const struct iso_atoms *atoms = &judge->engine->atoms;
    struct iso_json_text plain = rowsets_text(atoms, value, buffer);
    if (!plain.at)
        iso_text_put(text, "null");
    else if (iso_atom_is_string(atoms, value))
        iso_text_put_string(text, plain.at, plain.length);
    else
        iso_text_put_bytes(text, plain.at, plain.length);
}

struct member {
    const struct judge *judge;
    uint32_t column;
    iso_atom value;
};

static int compare_members(const void *left, const void *right)
{
    const struct member *one = left, *other = right;
    const struct iso_rowsets *engine = one->judge->engine;
    const struct rowsets_column *columns = engine->store.tables[one->judge->table].columns;
    return iso_atom_compare(&engine->atoms, columns[one->column].name, columns[other->column].name);
}

static void add_member(struct judge *judge, struct member *members, uint32_t *count,
                       uint32_t column, struct judge_cell cell)
{
    uint32_t i = 0;
    while (i < *count && members[i].column != column)
        i++;
    if (cell.doubt)
        return;
    members[i] = (struct member){judge, column, cell.value};
    *count += i == *count;
}

/* The row's cells as far as they are known. */
void judge_put_row(struct judge *judge, struct iso_text *text)
{
    struct iso_rowsets *engine = judge->engine;
    const struct rowsets_table *table = &engine->store.tables[judge->table];
    struct member *members = iso_allocate((table->column_count + 1) * sizeof *members);
    char buffer[ISO_ATOM_TEXT_MAX];
    struct judge_row kept = judge->row; /* looking up notes a writer */
    uint32_t count = 0;
    for (uint32_t at = kept.row == ISO_NONE ? ISO_NONE : engine->store.rows[kept.row].cells;
         at != ISO_NONE; at = engine->store.cells[at].next)
        if (engine->store.cells[at].column && !kept.is_reinserted)
            add_member(judge, members, &count, engine->store.cells[at].column,
                       see_cell(judge, &engine->store.cells[at]));
    for (uint32_t i = 0; i < judge->query->own_count; i++)
        if (judge->query->owns[i].parts == kept.parts && judge->query->owns[i].column)
            add_member(judge, members, &count, judge->query->owns[i].column,
                       cell_of(judge, judge->query->owns[i].value));
    judge->row = kept;
    assert(count <= table->column_count);
    qsort(members, count, sizeof *members, compare_members);
    iso_text_put(text, "{");
    for (uint32_t i = 0; i < count; i++) {
        struct iso_json_text name =
            rowsets_text(&engine->atoms, table->columns[members[i].column].name, buffer);
        iso_text_put(text, i ? "," : "");
        iso_text_put_string(text, name.at, name.length);
        iso_text_put(text, ":");
        put_value(judge, text, members[i].value);
    }
    iso_text_put(text, "}");
    iso_free(members);
}
