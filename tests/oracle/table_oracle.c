#include "tests/oracle/table_oracle.h"

#include <string.h>

enum { TRUE = 1, FALSE = 2, NONE = 4, MOST_OPTIONS = TABLE_TRANSACTIONS + 2 };

/* ---- moments ---- */

/* What is committed below it is seen. */
static uint64_t bound_of(const struct table_transaction *reader, const struct table_query *query,
                         enum iso_level level)
{
    if (level == ISO_SER || query->time == TABLE_AT_LOCK)
        return reader->cts + reader->is_point;
    return (query->time == TABLE_AT_OTS ? query->ots : reader->sts) + 1;
}

static bool may_see_unknown(const struct table_transaction *reader, const struct table_query *query,
                            enum iso_level level, const struct table_transaction *writer)
{
    uint64_t limit = level == ISO_SER || query->time == TABLE_AT_LOCK
                         ? reader->cts
                         : bound_of(reader, query, level) - 1;
    return writer->sts < limit;
}

/* ---- tables ---- */

static void apply(struct table_row *rows, const struct table_operation *operation, bool is_own)
{
    struct table_row *row = &rows[operation->row];
    if (operation->kind == TABLE_QUERY)
        return;
    row->is_own |= is_own;
    row->is_there = operation->kind == TABLE_WRITE;
    for (uint32_t c = 0; c < TABLE_COLUMNS; c++) {
        if (operation->kind == TABLE_DELETE)
            row->cells[c].is_given = false;
        else if (operation->cells[c].is_given)
            row->cells[c] = operation->cells[c];
    }
}

/* In the order of versions. */
static bool comes_before(const struct table_transaction *one, const struct table_transaction *other)
{
    if (one->cts != other->cts)
        return one->cts < other->cts;
    return one->sts != other->sts ? one->sts < other->sts : one->tid < other->tid;
}

void table_state(const struct table_history *history, enum iso_level level, uint32_t t,
                 uint32_t operation, struct table_row rows[TABLE_ROWS])
{
    const struct table_transaction *reader = &history->transactions[t], *last = NULL;
    uint64_t bound = bound_of(reader, &reader->operations[operation].query, level);
    memset(rows, 0, TABLE_ROWS * sizeof *rows);
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        rows[r].is_there = history->was_there[r];
        if (rows[r].is_there)
            memcpy(rows[r].cells, history->cells[r], sizeof rows[r].cells);
    }
    for (;;) {
        const struct table_transaction *next = NULL;
        for (uint32_t i = 0; i < history->transaction_count; i++) {
            const struct table_transaction *writer = &history->transactions[i];
            if (i != t && writer->status == ISO_COMMITTED && writer->cts < bound &&
                (!last || comes_before(last, writer)) && (!next || comes_before(writer, next)))
                next = writer;
        }
        if (!next)
            break;
        for (uint32_t o = 0; o < next->operation_count; o++)
            apply(rows, &next->operations[o], false);
        last = next;
    }
    for (uint32_t o = 0; o < reader->operation_count; o++)
        if (o < operation || reader->cdc_writes)
            apply(rows, &reader->operations[o], true);
}

/* ---- conditions ---- */

static unsigned negation(unsigned one)
{
    return one == TRUE ? FALSE : one == FALSE ? TRUE : NONE;
}

static unsigned conjunction(unsigned one, unsigned other)
{
    if (one == FALSE || other == FALSE)
        return FALSE;
    return one == TRUE && other == TRUE ? TRUE : NONE;
}

static unsigned compare(const struct table_cell *cell, uint32_t relation,
                        const struct table_cell *other)
{
    unsigned order = cell->value < other->value ? 1 : cell->value == other->value ? 2 : 4;
    if ((cell->is_given && cell->is_null) || (other->is_given && other->is_null))
        return NONE;
    return !cell->is_given || !other->is_given ? TRUE | FALSE | NONE
           : order & relation                  ? TRUE
                                               : FALSE;
}

static unsigned test(const struct table_node *node, const struct table_row *row)
{
    const struct table_cell *cell = &row->cells[node->column],
                            constant = {.is_given = true, .value = node->constant};
    switch (node->kind) {
    case TABLE_COMPARE:
        return compare(cell, node->relation, &constant);
    case TABLE_AGAINST:
        return compare(cell, node->relation, &row->cells[node->other]);
    case TABLE_SAME:
        return !cell->is_given                                   ? TRUE | FALSE
               : !cell->is_null && cell->value == constant.value ? TRUE
                                                                 : FALSE;
    default:
        return !cell->is_given ? TRUE | FALSE : cell->is_null ? TRUE : FALSE;
    }
}

static unsigned evaluate(const struct table_node *nodes, uint32_t number,
                         const struct table_row *row)
{
    const struct table_node *node = &nodes[number];
    unsigned found = 0;
    if (node->kind < TABLE_NOT)
        return test(node, row);
    unsigned left = evaluate(nodes, node->left, row);
    unsigned right = node->kind < TABLE_AND ? TRUE : evaluate(nodes, node->right, row);
    for (unsigned one = TRUE; one <= NONE; one *= 2) {
        for (unsigned other = TRUE; other <= NONE; other *= 2) {
            if (!(left & one) || !(right & other))
                continue;
            found |= node->kind == TABLE_NOT       ? negation(one)
                     : node->kind == TABLE_UNKNOWN ? (one == NONE ? TRUE : FALSE)
                     : node->kind == TABLE_AND
                         ? conjunction(one, other)
                         : negation(conjunction(negation(one), negation(other)));
        }
    }
    return found;
}

unsigned table_matches(const struct table_query *query, const struct table_row *row)
{
    return query->node_count ? evaluate(query->nodes, 0, row) : TRUE;
}

static int compare_keys(const struct table_key *key, const struct table_key *bound)
{
    for (uint32_t i = 0; i < bound->count; i++)
        if (key->parts[i] != bound->parts[i])
            return key->parts[i] < bound->parts[i] ? -1 : 1;
    return 0;
}

bool table_within(const struct table_query *query, const struct table_key *key)
{
    return compare_keys(key, &query->from) >= 0 && compare_keys(key, &query->to) <= 0;
}

/* ---- what transactions of unknown outcome may have left ---- */

/* What a row may be to a query: whether it belongs to the answer, and what it adds to it. */
struct part {
    bool surely, never;
    struct table_cell cells[TABLE_COLUMNS]; /* only those that are asked for */
};

static bool is_asked(const struct table_query *query, uint32_t column)
{
    for (uint32_t i = 0; query->asked == TABLE_ASKED_AGGREGATES && i < query->aggregate_count; i++)
        if (query->aggregates[i].function != TABLE_COUNT_ROWS &&
            query->aggregates[i].column == column)
            return true;
    return query->asked == TABLE_ASKED_BAG && query->bag_column == column;
}

static bool is_in_condition(const struct table_query *query, uint32_t column)
{
    for (uint32_t i = 0; i < query->node_count; i++)
        if (query->nodes[i].kind < TABLE_NOT &&
            (query->nodes[i].column == column ||
             (query->nodes[i].kind == TABLE_AGAINST && query->nodes[i].other == column)))
            return true;
    return false;
}

static struct part part_of(const struct table_query *query, const struct table_key *key,
                           const struct table_row *row)
{
    struct part part = {0};
    unsigned matches = table_within(query, key) ? table_matches(query, row) : FALSE;
    part.surely = row->is_there && matches == TRUE;
    part.never = !row->is_there || !(matches & TRUE);
    for (uint32_t c = 0; part.surely && c < TABLE_COLUMNS; c++)
        if (is_asked(query, c)) {
            part.cells[c] = row->cells[c];
            part.cells[c].value =
                row->cells[c].is_null || !row->cells[c].is_given ? 0 : row->cells[c].value;
        }
    return part;
}

static bool same_part(const struct part *one, const struct part *other)
{
    if (one->surely != other->surely || one->never != other->never)
        return false;
    for (uint32_t c = 0; c < TABLE_COLUMNS; c++)
        if (one->cells[c].is_given != other->cells[c].is_given ||
            one->cells[c].is_null != other->cells[c].is_null ||
            one->cells[c].value != other->cells[c].value)
            return false;
    return true;
}

struct options {
    bool there[MOST_OPTIONS];
    uint32_t there_count;
    struct table_cell cells[TABLE_COLUMNS][MOST_OPTIONS];
    uint32_t cell_count[TABLE_COLUMNS];
};

/* What the reader wrote itself is no option. */
static bool wrote(const struct table_transaction *reader, uint32_t operation, uint32_t row,
                  uint32_t column)
{
    bool cell = false;
    for (uint32_t o = 0; o < reader->operation_count; o++) {
        const struct table_operation *own = &reader->operations[o];
        if (own->kind == TABLE_QUERY || own->row != row || (o >= operation && !reader->cdc_writes))
            continue;
        if (column == TABLE_COLUMNS)
            return true;
        cell |= own->kind == TABLE_WRITE && own->cells[column].is_given;
    }
    return cell;
}

static void add_options(struct options *options, const struct table_transaction *writer,
                        uint32_t row, const struct table_transaction *reader, uint32_t operation)
{
    bool was_written = false, there = false, given[TABLE_COLUMNS] = {false},
         gone[TABLE_COLUMNS] = {false};
    struct table_cell cells[TABLE_COLUMNS];
    for (uint32_t o = 0; o < writer->operation_count; o++) {
        const struct table_operation *write = &writer->operations[o];
        if (write->kind == TABLE_QUERY || write->row != row)
            continue;
        for (uint32_t c = 0; c < TABLE_COLUMNS; c++) {
            bool reborn = write->kind == TABLE_WRITE && was_written && !there;
            if (write->kind == TABLE_DELETE && given[c])
                cells[c].is_given = false;
            if (write->kind == TABLE_WRITE && write->cells[c].is_given) {
                cells[c] = write->cells[c];
                given[c] = true;
            }
            gone[c] |= reborn;
        }
        was_written = true;
        there = write->kind == TABLE_WRITE;
    }
    if (!was_written)
        return;
    if (!wrote(reader, operation, row, TABLE_COLUMNS))
        options->there[options->there_count++] = there;
    for (uint32_t c = 0; c < TABLE_COLUMNS; c++) {
        if (wrote(reader, operation, row, c))
            continue;
        if (given[c])
            options->cells[c][options->cell_count[c]++] = cells[c];
        if (gone[c])
            options->cells[c][options->cell_count[c]++] = (struct table_cell){0};
    }
}

enum fault { MISSING, EXTRA, CHANGED };

/* Whether one of them explains the fault. */
static bool is_excused(const struct table_history *history, enum iso_level level, uint32_t t,
                       uint32_t operation, const struct table_row *rows, uint32_t row,
                       enum fault fault)
{
    const struct table_transaction *reader = &history->transactions[t];
    const struct table_query *query = &reader->operations[operation].query;
    struct options options = {.there = {rows[row].is_there}, .there_count = 1};
    uint32_t mixtures = 1;
    for (uint32_t c = 0; c < TABLE_COLUMNS; c++) {
        options.cells[c][0] = rows[row].cells[c];
        options.cell_count[c] = 1;
    }
    for (uint32_t i = 0; i < history->transaction_count; i++)
        if (history->transactions[i].status == ISO_UNKNOWN && i != t &&
            may_see_unknown(reader, query, level, &history->transactions[i]))
            add_options(&options, &history->transactions[i], row, reader, operation);
    struct part before = part_of(query, &history->keys[row], &rows[row]);
    for (uint32_t c = 0; c < TABLE_COLUMNS; c++) {
        if (!is_in_condition(query, c) && !is_asked(query, c))
            options.cell_count[c] = 1;
        mixtures *= options.cell_count[c];
    }
    for (uint32_t m = 0; m < mixtures * options.there_count; m++) {
        uint32_t rest = m / options.there_count;
        struct table_row mixed = rows[row];
        mixed.is_there = options.there[m % options.there_count];
        for (uint32_t c = 0; c < TABLE_COLUMNS; rest /= options.cell_count[c++])
            mixed.cells[c] = options.cells[c][rest % options.cell_count[c]];
        struct part part = part_of(query, &history->keys[row], &mixed);
        if (fault == MISSING ? !part.surely
            : fault == EXTRA ? !part.never
                             : !same_part(&before, &part))
            return true;
    }
    return false;
}

static bool is_table_excused(const struct table_history *history, enum iso_level level, uint32_t t,
                             uint32_t operation, const struct table_row *rows)
{
    for (uint32_t r = 0; r < TABLE_ROWS; r++)
        if (is_excused(history, level, t, operation, rows, r, CHANGED))
            return true;
    return false;
}

/* ---- answers ---- */

static void judge_rows(const struct table_history *history, enum iso_level level, uint32_t t,
                       uint32_t operation, const struct table_row *rows, bool others,
                       struct table_judgement *judgement)
{
    const struct table_transaction *reader = &history->transactions[t];
    const struct table_query *query = &reader->operations[operation].query;
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        struct part part = part_of(query, &history->keys[r], &rows[r]);
        bool is_fault = query->returned[r] ? rows[r].is_there && part.never : part.surely;
        if ((!query->returned[r] && !others) || !rows[r].is_there)
            continue;
        if (!part.surely && !part.never)
            judgement->reasons |= TABLE_VALUE;
        if (!is_fault)
            continue;
        if (reader->cdc_writes && rows[r].is_own)
            judgement->reasons |= TABLE_OWN_ORDER;
        else if (is_excused(history, level, t, operation, rows, r,
                            query->returned[r] ? EXTRA : MISSING))
            judgement->reasons |= TABLE_UNKNOWN_WRITER;
        else if (query->returned[r])
            judgement->extra[rows[r].is_own] |= 1u << r;
        else
            judgement->missing[rows[r].is_own] |= 1u << r;
    }
}

static bool stood_before(const struct table_cell *cells, uint32_t count, int value)
{
    for (uint32_t i = 0; i < count; i++)
        if (cells[i].value == value)
            return true;
    return false;
}

/* What is counted of cells that are not null. */
static int count_cells(enum table_function function, const struct table_cell *cells, uint32_t count)
{
    int value = count ? cells[0].value : 0, sum = 0, distinct = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_further = function == TABLE_MIN ? cells[i].value < value : cells[i].value > value;
        value = is_further ? cells[i].value : value;
        sum += cells[i].value;
        distinct += !stood_before(cells, i, cells[i].value);
    }
    return function <= TABLE_COUNT      ? (int)count
           : function == TABLE_DISTINCT ? distinct
           : function == TABLE_SUM      ? sum
           : function == TABLE_AVERAGE  ? (count ? sum * TABLE_PARTS / (int)count : 0)
                                        : value;
}

bool table_aggregate(const struct table_history *history, const struct table_query *query,
                     const struct table_row *rows, const struct table_aggregate *aggregate,
                     struct table_cell *value)
{
    struct table_cell cells[TABLE_ROWS];
    uint32_t count = 0;
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        struct part part = part_of(query, &history->keys[r], &rows[r]);
        const struct table_cell *cell = &rows[r].cells[aggregate->column];
        if (part.never)
            continue;
        if (!part.surely || (aggregate->function != TABLE_COUNT_ROWS && !cell->is_given))
            return false;
        if (aggregate->function == TABLE_COUNT_ROWS || !cell->is_null)
            cells[count++] = *cell;
    }
    *value = (struct table_cell){.is_given = true,
                                 .is_null = aggregate->function > TABLE_DISTINCT && !count};
    value->value = value->is_null ? 0 : count_cells(aggregate->function, cells, count);
    return true;
}

static void judge_aggregates(const struct table_history *history, const struct table_query *query,
                             const struct table_row *rows, struct table_judgement *judgement)
{
    for (uint32_t i = 0; i < query->aggregate_count; i++) {
        struct table_cell value, told = query->aggregates[i].told;
        if (!table_aggregate(history, query, rows, &query->aggregates[i], &value))
            judgement->reasons |= TABLE_VALUE;
        else if (value.is_null != told.is_null || (!told.is_null && value.value != told.value))
            judgement->aggregate = true;
    }
}

static bool same_cell(const struct table_cell *one, const struct table_cell *other)
{
    return one->is_null == other->is_null && (one->is_null || one->value == other->value);
}

static void judge_bag(const struct table_history *history, const struct table_query *query,
                      const struct table_row *rows, struct table_judgement *judgement)
{
    bool taken[TABLE_BAG] = {false};
    uint32_t matched = 0;
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        struct part part = part_of(query, &history->keys[r], &rows[r]);
        bool is_bare = query->bag_column == TABLE_COLUMNS;
        static const struct table_cell nothing = {.is_given = true};
        const struct table_cell *cell = is_bare ? &nothing : &part.cells[query->bag_column];
        uint32_t i = 0;
        if (part.never)
            continue;
        if (!part.surely || !cell->is_given) {
            judgement->reasons |= TABLE_VALUE;
            continue;
        }
        while (i < query->bag_count && (taken[i] || !same_cell(cell, &query->bag[i])))
            i++;
        if (i < query->bag_count)
            taken[i] = true;
        matched += i < query->bag_count;
        judgement->bag_missing += i == query->bag_count;
    }
    judgement->bag_extra = query->bag_count - matched;
    if (query->is_partial)
        judgement->bag_missing = 0;
}

struct table_judgement table_oracle(const struct table_history *history, enum iso_level level,
                                    uint32_t t, uint32_t operation)
{
    const struct table_transaction *reader = &history->transactions[t];
    const struct table_query *query = &reader->operations[operation].query;
    struct table_judgement judgement = {0};
    struct table_row rows[TABLE_ROWS];
    bool counts = query->asked != TABLE_ASKED_ROWS, own = false;
    uint32_t seen = 0;
    table_state(history, level, t, operation, rows);
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        own |= rows[r].is_own;
        seen += rows[r].is_there && table_within(query, &history->keys[r]) &&
                (counts || !query->returned[r]);
    }
    /* a bag's rows were there */
    bool says_little = query->is_partial && query->asked != TABLE_ASKED_BAG;
    bool is_over = !says_little && seen > history->scan_limit;
    if (!counts)
        judge_rows(history, level, t, operation, rows, !query->is_partial && !is_over, &judgement);
    if (says_little)
        return judgement;
    if (counts && reader->cdc_writes && own) {
        judgement.reasons |= TABLE_OWN_ORDER;
        return judgement;
    }
    if (is_over) {
        judgement.reasons |= TABLE_SCAN_LIMIT;
        return judgement;
    }
    if (query->asked == TABLE_ASKED_AGGREGATES)
        judge_aggregates(history, query, rows, &judgement);
    else if (counts)
        judge_bag(history, query, rows, &judgement);
    if (judgement.reasons & TABLE_VALUE)
        judgement.bag_extra = 0;
    if ((judgement.aggregate || judgement.bag_missing || judgement.bag_extra) &&
        is_table_excused(history, level, t, operation, rows)) {
        judgement.aggregate = false;
        judgement.bag_missing = judgement.bag_extra = 0;
        judgement.reasons |= TABLE_UNKNOWN_WRITER;
    }
    return judgement;
}
