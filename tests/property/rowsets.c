/* What queries did not find, against the definitions (tests/oracle/table_oracle.h): random small
 * tables of columns of several types, with rows that are inserted, deleted and inserted again, cells
 * that nobody wrote, NULLs, writers that abort or of whom nobody knows it. Conditions come in every
 * form that there is of one (tests/oracle/table_spelling.h). Answers are right, or have something planted. Of
 * each history three judgements: as a finished one; online, in a random order with watermarks,
 * outcomes that are told later, saved and restored at random; and the oracle's. Some are asked of
 * several tables, whose keys differ, each of which has to be judged as if it were alone: on one
 * shard, on two, or on four.
 *
 *     rowsets [--histories N] [--seed N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paged.h"
#include "base/text.h"
#include "base/team.h"
#include "rowsets/shards.h"
#include "tests/oracle/table_oracle.h"
#include "tests/oracle/table_spelling.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"

enum { MOST_TABLES = 3, APART = 1000 };

static const char *const columns[TABLE_COLUMNS] = {"a", "B", "c"};
static uint32_t tables; /* of the history at hand: each operation is done in each of them */
static enum table_family families[TABLE_COLUMNS]; /* likewise */
static struct iso_team *team;

static struct {
    uint64_t queries, faults, planted, unjudged[4], aggregates, bags, partial, own, held, kept,
        restored, paged, early, retracted, parted;
} statistics;

/* ---- random histories ---- */

static uint32_t below(struct random *random, uint32_t bound)
{
    return random_below(random, bound);
}

static int random_value(struct random *random, uint32_t column)
{
    int value = (int)below(random, 4) - 1;
    return families[column] == TABLE_TRUTHS ? value & 1 : value;
}

static void random_cells(struct random *random, struct table_cell *cells, uint32_t percent)
{
    for (uint32_t c = 0; c < TABLE_COLUMNS; c++)
        cells[c] =
            (struct table_cell){.is_given = random_percent(random, c == 2 ? percent / 3 : percent),
                                .is_null = random_percent(random, 20),
                                .value = random_value(random, c)};
}

static bool are_compared(enum table_family one, enum table_family other)
{
    return one == other || (one <= TABLE_DECIMALS && other <= TABLE_DECIMALS);
}

static void random_condition(struct random *random, struct table_query *query)
{
    query->node_count = 1;
    for (uint32_t i = 0; i < query->node_count; i++) {
        struct table_node *node = &query->nodes[i];
        uint32_t room = TABLE_NODES - query->node_count;
        enum table_node_kind kind = (enum table_node_kind)below(random, TABLE_OR + 1);
        node->kind = kind < TABLE_NOT || room < (kind < TABLE_AND ? 1u : 2u)
                         ? (enum table_node_kind)below(random, TABLE_NOT)
                         : kind;
        node->column = random_percent(random, 15) ? 2 : below(random, 2);
        node->other = below(random, TABLE_COLUMNS);
        node->relation = random_percent(random, 40) ? 2 : 1 + below(random, 6);
        node->constant = random_value(random, node->column);
        node->spelling = random_percent(random, 50) ? 7 : below(random, 64);
        if (node->kind == TABLE_AGAINST &&
            !are_compared(families[node->column], families[node->other]))
            node->kind = TABLE_COMPARE;
        if (node->kind >= TABLE_NOT)
            node->left = query->node_count++;
        if (node->kind >= TABLE_AND)
            node->right = query->node_count++;
    }
}

static struct table_key random_bound(struct random *random, const struct table_history *history)
{
    struct table_key key = history->keys[below(random, TABLE_ROWS)];
    if (random_percent(random, 30))
        key.parts[key.count - 1] += 1;
    if (random_percent(random, 30))
        key.count = below(random, key.count + 1);
    if (random_percent(random, 40))
        key.count = 0;
    return key;
}

static bool is_backwards(const struct table_query *query)
{
    for (uint32_t i = 0; i < query->from.count && i < query->to.count; i++)
        if (query->from.parts[i] != query->to.parts[i])
            return query->from.parts[i] > query->to.parts[i];
    return false;
}

static void random_query(struct random *random, const struct table_history *history,
                         const struct table_transaction *transaction, struct table_query *query)
{
    query->asked = (enum table_asked)(random_percent(random, 50) ? 0 : 1 + below(random, 2));
    query->is_partial = random_percent(random, 10);
    if (random_percent(random, 70))
        random_condition(random, query);
    query->from = random_bound(random, history);
    query->to = random_bound(random, history);
    if (is_backwards(query))
        query->to.count = 0;
    if (random_percent(random, 25) && transaction->status != ISO_UNKNOWN) {
        query->time = random_percent(random, 50) ? TABLE_AT_OTS : TABLE_AT_LOCK;
        query->ots =
            transaction->sts + below(random, (uint32_t)(transaction->cts - transaction->sts) + 1);
    }
    query->aggregate_count = 1 + below(random, 2);
    for (uint32_t i = 0; i < query->aggregate_count; i++) {
        enum table_function function = (enum table_function)below(random, TABLE_MAX + 1);
        uint32_t column = random_percent(random, 10) ? 2 : below(random, 2);
        bool is_added = function == TABLE_SUM || function == TABLE_AVERAGE;
        query->aggregates[i].function =
            is_added && families[column] > TABLE_DECIMALS ? TABLE_MAX : function;
        query->aggregates[i].column = column;
    }
    if (query->aggregates[0].function == query->aggregates[1].function)
        query->aggregate_count = 1; /* one name twice */
    query->bag_column = random_percent(random, 25) ? TABLE_COLUMNS : below(random, 2);
}

/* The condition within another one. */
static void wrap_condition(struct table_query *query, enum table_node_kind kind)
{
    uint32_t inner = query->node_count++;
    query->nodes[inner] = query->nodes[0];
    query->nodes[0] = (struct table_node){.kind = kind, .left = inner};
}

/* Where there is room the same is asked of NOT and of IS UNKNOWN. */
static bool part_query(struct random *random, struct table_operation *operation)
{
    struct table_query *query = &operation->query;
    if (query->asked != TABLE_ASKED_ROWS || query->is_partial || !query->node_count ||
        query->node_count == TABLE_NODES || random_percent(random, 50))
        return false;
    operation[1] = operation[2] = *operation;
    wrap_condition(&operation[1].query, TABLE_NOT);
    wrap_condition(&operation[2].query, TABLE_UNKNOWN);
    query->is_parted = true;
    return true;
}

static void random_transaction(struct random *random, struct table_history *history, uint32_t t)
{
    struct table_transaction *transaction = &history->transactions[t];
    uint32_t outcome = below(random, 100);
    transaction->tid = 1 + t;
    transaction->status = outcome < 80 ? ISO_COMMITTED : outcome < 88 ? ISO_ABORTED : ISO_UNKNOWN;
    transaction->sts = 2 + below(random, 20);
    transaction->cts = transaction->sts + 1 + below(random, 6);
    transaction->cdc_writes = random_percent(random, 8);
    transaction->comes_unknown = transaction->status != ISO_UNKNOWN && random_percent(random, 12);
    transaction->operation_count = 1 + below(random, TABLE_OPERATIONS);
    bool reads_only = random_percent(random, 25);
    if (reads_only && random_percent(random, 60) && transaction->status == ISO_COMMITTED) {
        transaction->cts = transaction->sts;
        transaction->is_point = true;
    }
    for (uint32_t o = 0; o < transaction->operation_count; o++) {
        struct table_operation *operation = &transaction->operations[o];
        operation->kind = reads_only || random_percent(random, 35) ? TABLE_QUERY
                          : random_percent(random, 30)             ? TABLE_DELETE
                                                                   : TABLE_WRITE;
        operation->row = below(random, TABLE_ROWS);
        random_cells(random, operation->cells, 80);
        if (operation->kind != TABLE_QUERY)
            continue;
        random_query(random, history, transaction, &operation->query);
        if (o + 2 < transaction->operation_count && part_query(random, operation))
            o += 2;
    }
}

static void random_keys(struct random *random, struct table_history *history)
{
    bool composite = random_percent(random, 50);
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        struct table_key *key = &history->keys[r];
        key->count = composite ? 2 : 1;
        key->parts[0] = composite ? (int)r / 2 + 9 : (int)r * 3 + 5;
        key->parts[1] = (int)(r % 2) * 90 + 9;
    }
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        history->was_there[r] = random_percent(random, 20);
        random_cells(random, history->cells[r], 90);
    }
}

/* ---- answers ---- */

static struct table_cell told_of(const struct table_history *history,
                                 const struct table_query *query, const struct table_row *rows,
                                 const struct table_aggregate *aggregate, bool is_right)
{
    struct table_cell told;
    if (!table_aggregate(history, query, rows, aggregate, &told))
        told = (struct table_cell){.is_given = true};
    bool is_truth = aggregate->function >= TABLE_MIN && families[aggregate->column] == TABLE_TRUTHS;
    if (!is_right)
        told.value = is_truth ? !told.value : told.value + 1;
    return told;
}

static void answer(struct random *random, const struct table_history *history, enum iso_level level,
                   uint32_t t, uint32_t o, struct table_query *query)
{
    struct table_row rows[TABLE_ROWS];
    bool planted = random_percent(random, 25);
    table_state(history, level, t, o, rows);
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        bool matches = rows[r].is_there && table_within(query, &history->keys[r]) &&
                       table_matches(query, &rows[r]) & 1;
        query->returned[r] = matches != (planted && random_percent(random, 25));
        if (matches != (planted && random_percent(random, 15))) {
            struct table_cell told = {.is_given = true};
            if (query->bag_column < TABLE_COLUMNS)
                told = rows[r].cells[query->bag_column];
            told.is_null |= !told.is_given;
            query->bag[query->bag_count++] = told;
        }
    }
    for (uint32_t i = 0; i < query->aggregate_count; i++)
        query->aggregates[i].told = told_of(history, query, rows, &query->aggregates[i],
                                            !(planted && random_percent(random, 40)));
    statistics.planted += planted;
}

static void random_history(struct random *random, struct table_history *history,
                           enum iso_level level)
{
    memset(history, 0, sizeof *history);
    history->scan_limit = random_percent(random, 10) ? 1 + below(random, 3) : ISO_SCAN_LIMIT;
    for (uint32_t c = 0; c < TABLE_COLUMNS; c++)
        families[c] = random_percent(random, 50)
                          ? TABLE_INTEGERS
                          : (enum table_family)below(random, TABLE_TRUTHS + 1);
    random_keys(random, history);
    uint32_t unknowns = 0;
    while (history->transaction_count < TABLE_TRANSACTIONS &&
           (history->transaction_count < 4 || below(random, 8))) {
        random_transaction(random, history, history->transaction_count);
        struct table_transaction *added = &history->transactions[history->transaction_count++];
        if (added->status == ISO_UNKNOWN && ++unknowns > 2)
            added->status = ISO_ABORTED;
    }
    for (uint32_t t = 0; t < history->transaction_count; t++)
        for (uint32_t o = 0; o < history->transactions[t].operation_count; o++)
            if (history->transactions[t].operations[o].kind == TABLE_QUERY)
                answer(random, history, level, t, o, &history->transactions[t].operations[o].query);
}

/* ---- as the engine takes them ---- */

static iso_atom atom_of(struct iso_history *history, const struct iso_text *text)
{
    return iso_atoms_text(&history->atoms, text->bytes, text->used);
}

static iso_atom cell_atom(struct iso_history *history, uint32_t column,
                          const struct table_cell *cell)
{
    struct iso_text text = {0};
    if (cell->is_null || !cell->is_given)
        return ISO_ABSENT;
    table_put_value(&text, families[column], cell->value);
    iso_atom atom = atom_of(history, &text);
    iso_text_release(&text);
    return atom;
}

/* Of each table they are others. */
static void put_parts(struct iso_text *text, const struct table_key *key, uint32_t table)
{
    for (uint32_t i = 0; i < key->count; i++) {
        iso_text_put(text, i ? "," : "");
        iso_text_put_signed(text, key->parts[i] + (i ? 0 : (int)table * APART));
    }
}

static void put_table(struct iso_text *text, uint32_t table)
{
    iso_text_format(text, table ? "s.t%u" : "s.t", table);
}

/* Column TABLE_COLUMNS: the row itself. */
static iso_atom key_atom(struct iso_history *history, uint32_t table, const struct table_key *key,
                         uint32_t column)
{
    struct iso_text text = {0};
    put_table(&text, table);
    iso_text_put(&text, "/");
    put_parts(&text, key, table);
    if (column < TABLE_COLUMNS) {
        iso_text_put(&text, "#");
        iso_text_put(&text, columns[column]);
    }
    iso_atom atom = atom_of(history, &text);
    iso_text_release(&text);
    return atom;
}

static iso_atom true_atom(struct iso_history *history)
{
    return iso_atoms_text(&history->atoms, "true", 4);
}

static void put_bag(struct iso_text *text, const struct table_query *query)
{
    bool is_bare = query->bag_column == TABLE_COLUMNS;
    iso_text_format(text, is_bare ? "{\"columns\":[],\"bag\":[" : "{\"columns\":[\"%s\"],\"bag\":[",
                    is_bare ? "" : columns[query->bag_column]);
    for (uint32_t i = 0; i < query->bag_count; i++) {
        iso_text_put(text, i ? ",[" : "[");
        if (!is_bare)
            table_put_told(text, families[query->bag_column], &query->bag[i]);
        iso_text_put(text, "]");
    }
    iso_text_put(text, "]}");
}

static void put_aggregate(struct iso_text *text, const struct table_aggregate *aggregate)
{
    static const char *const functions[] = {"\"count",   "\"count(%s)", "\"count(DISTINCT %s)",
                                            "\"sum(%s)", "\"avg(%s)",   "\"min(%s)",
                                            "\"max(%s)"},
                             *const of_truths[] = {"\"bool_and(%s)", "\"bool_or(%s)"};
    enum table_family family = families[aggregate->column];
    bool is_truth = aggregate->function >= TABLE_MIN && family == TABLE_TRUTHS;
    iso_text_format(text,
                    is_truth ? of_truths[aggregate->function - TABLE_MIN]
                             : functions[aggregate->function],
                    columns[aggregate->column]);
    iso_text_put(text, "\":");
    if (aggregate->function == TABLE_AVERAGE && !aggregate->told.is_null)
        iso_text_format(text, "%.15f", aggregate->told.value / (double)TABLE_PARTS);
    else
        table_put_told(text, aggregate->function <= TABLE_DISTINCT ? TABLE_INTEGERS : family,
                       &aggregate->told);
}

static void put_returned(struct iso_text *text, const struct table_query *query)
{
    if (query->asked == TABLE_ASKED_BAG) {
        put_bag(text, query);
        return;
    }
    for (uint32_t i = 0; i < query->aggregate_count; i++) {
        iso_text_put(text, i ? "," : "{");
        put_aggregate(text, &query->aggregates[i]);
    }
    iso_text_put(text, "}");
}

static iso_atom bound_atom(struct iso_history *history, uint32_t table, const struct table_key *key)
{
    struct iso_text text = {0};
    put_parts(&text, key, table);
    iso_atom atom = key->count ? atom_of(history, &text) : ISO_ABSENT;
    iso_text_release(&text);
    return atom;
}

static void add_query(struct iso_history *history, uint32_t table,
                      const struct table_history *plain, const struct table_query *query)
{
    struct iso_range range = {.form = ISO_SET_QUERY,
                              .where = ISO_ABSENT,
                              .returned = ISO_ABSENT,
                              .is_partial = query->is_partial};
    struct iso_text text = {0};
    uint32_t rows = 1;
    put_table(&text, table);
    range.table = atom_of(history, &text);
    iso_text_put(&text, "#");
    iso_history_operation(history, ISO_READ, atom_of(history, &text), ISO_ABSENT);
    text.used = 0;
    for (uint32_t r = 0; query->asked == TABLE_ASKED_ROWS && r < TABLE_ROWS; r++) {
        if (!query->returned[r])
            continue;
        iso_history_operation(history, ISO_READ,
                              key_atom(history, table, &plain->keys[r], TABLE_COLUMNS),
                              true_atom(history));
        rows++;
    }
    range.from = bound_atom(history, table, &query->from);
    range.to = bound_atom(history, table, &query->to);
    if (query->node_count) {
        table_put_where(&text, query, families, columns);
        range.where = atom_of(history, &text);
    }
    text.used = 0;
    if (query->asked != TABLE_ASKED_ROWS) {
        put_returned(&text, query);
        range.returned = atom_of(history, &text);
    }
    if (query->time == TABLE_AT_OTS) {
        range.kind = ISO_OPERATION_OTS;
        range.ots = query->ots;
    } else if (query->time == TABLE_AT_LOCK) {
        range.kind = ISO_OPERATION_LOCK;
    }
    iso_history_range(history, &range, rows);
    iso_text_release(&text);
}

static void add_write(struct iso_history *history, uint32_t table,
                      const struct table_history *plain, const struct table_operation *operation)
{
    const struct table_key *key = &plain->keys[operation->row];
    bool is_delete = operation->kind == TABLE_DELETE;
    iso_history_operation(history, is_delete ? ISO_DELETE : ISO_WRITE,
                          key_atom(history, table, key, TABLE_COLUMNS),
                          is_delete ? ISO_ABSENT : true_atom(history));
    for (uint32_t c = 0; !is_delete && c < TABLE_COLUMNS; c++)
        if (operation->cells[c].is_given)
            iso_history_operation(history, ISO_WRITE, key_atom(history, table, key, c),
                                  cell_atom(history, c, &operation->cells[c]));
}

static void add_transaction(struct iso_history *history, const struct table_history *plain,
                            uint32_t t, bool online)
{
    const struct table_transaction *transaction = &plain->transactions[t];
    uint8_t status = online && transaction->comes_unknown ? ISO_UNKNOWN : transaction->status;
    iso_history_begin(history, transaction->tid, transaction->tid, status, t);
    iso_history_set_sts(history, (struct iso_stamp){transaction->sts, 0});
    if (status != ISO_UNKNOWN && !transaction->is_point)
        iso_history_set_cts(history, (struct iso_stamp){transaction->cts, 0});
    if (transaction->cdc_writes)
        iso_history_set_marks(history, ISO_MARK_CDC_WRITES);
    for (uint32_t i = 0; i < transaction->operation_count * tables; i++) {
        const struct table_operation *operation = &transaction->operations[i / tables];
        if (operation->kind == TABLE_QUERY)
            add_query(history, i % tables, plain, &operation->query);
        else
            add_write(history, i % tables, plain, operation);
    }
}

static void build(struct iso_history *history, const struct table_history *plain, bool online)
{
    iso_history_init(history);
    for (uint32_t i = 0; i < TABLE_ROWS * tables; i++) {
        uint32_t r = i / tables, table = i % tables;
        if (!plain->was_there[r])
            continue;
        iso_history_initial(history, key_atom(history, table, &plain->keys[r], TABLE_COLUMNS),
                            true_atom(history), false);
        for (uint32_t c = 0; c < TABLE_COLUMNS; c++)
            if (plain->cells[r][c].is_given)
                iso_history_initial(history, key_atom(history, table, &plain->keys[r], c),
                                    cell_atom(history, c, &plain->cells[r][c]), false);
    }
    for (uint32_t t = 0; t < plain->transaction_count; t++)
        add_transaction(history, plain, t, online);
}

/* ---- what was found ---- */

struct found {
    struct table_judgement judgements[MOST_TABLES][TABLE_TRANSACTIONS][TABLE_OPERATIONS];
    const struct table_history *plain;
    bool has_deadlines;
};

static void fail(const char *what)
{
    printf("not ok 1 - %s\n", what);
    exit(1);
}

/* Which of the transaction's operations it is: those of the engine are more. */
static uint32_t operation_of(const struct table_history *plain, uint32_t t, uint32_t table,
                             uint32_t operation)
{
    uint32_t at = 0;
    for (uint32_t o = 0; o < plain->transactions[t].operation_count; o++) {
        const struct table_operation *own = &plain->transactions[t].operations[o];
        uint32_t width = 1;
        for (uint32_t c = 0; own->kind == TABLE_WRITE && c < TABLE_COLUMNS; c++)
            width += own->cells[c].is_given;
        for (uint32_t r = 0;
             own->kind == TABLE_QUERY && own->query.asked == TABLE_ASKED_ROWS && r < TABLE_ROWS;
             r++)
            width += own->query.returned[r];
        if (at + table * width == operation && own->kind == TABLE_QUERY)
            return o;
        at += width * tables;
    }
    fail("a finding without a query");
    return 0;
}

static uint32_t table_of(struct iso_json_text name)
{
    for (uint32_t table = 0; table < tables; table++) {
        struct iso_text text = {0};
        put_table(&text, table);
        bool same = text.used == name.length && !memcmp(text.bytes, name.at, name.length);
        iso_text_release(&text);
        if (same)
            return table;
    }
    fail("a table that there is not");
    return 0;
}

static uint32_t row_of(const struct table_history *plain, uint32_t table, struct iso_json_text key)
{
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        struct iso_text text = {0};
        put_table(&text, table);
        iso_text_put(&text, "/");
        put_parts(&text, &plain->keys[r], table);
        bool same = text.used == key.length && !memcmp(text.bytes, key.at, key.length);
        iso_text_release(&text);
        if (same)
            return r;
    }
    return TABLE_ROWS;
}

/* Of rows without keys both counts, since one report stands for them. */
static void retract(struct table_judgement *judgement, const struct iso_rowsets_finding *finding,
                    uint32_t row, bool own)
{
    uint32_t *rows =
        finding->kind == ISO_MISSING_ROW ? &judgement->missing[own] : &judgement->extra[own];
    bool was_there = row < TABLE_ROWS ? *rows >> row & 1
                     : finding->kind == ISO_AGGREGATE
                         ? judgement->aggregate
                         : judgement->bag_missing || judgement->bag_extra;
    if (!was_there)
        fail("what nobody found is retracted");
    if (row < TABLE_ROWS)
        *rows &= ~(1u << row);
    else if (finding->kind == ISO_AGGREGATE)
        judgement->aggregate = false;
    else
        judgement->bag_missing = judgement->bag_extra = 0;
    statistics.retracted++;
}

/* A bag that was found wrong by a deadline is not reported again when other rows of it are. */
static void forget_counts(struct table_judgement *judgement)
{
    judgement->bag_missing = judgement->bag_missing || judgement->bag_extra;
    judgement->bag_extra = 0;
}

static void on_finding(void *context, const struct iso_rowsets_finding *finding)
{
    struct found *found = context;
    uint32_t t = (uint32_t)finding->transaction.origin, table = table_of(finding->table);
    uint32_t row = row_of(found->plain, table, finding->key);
    struct table_judgement *judgement =
        &found->judgements[table][t][operation_of(found->plain, t, table, finding->operation)];
    bool own = finding->axiom == ISO_INT;
    uint32_t *rows =
        finding->kind == ISO_MISSING_ROW ? &judgement->missing[own] : &judgement->extra[own];
    uint32_t *count =
        finding->kind == ISO_MISSING_ROW ? &judgement->bag_missing : &judgement->bag_extra;
    if (finding->state == ISO_ROWSETS_RETRACTED) {
        retract(judgement, finding, row, own);
        return;
    }
    statistics.early += finding->state == ISO_ROWSETS_BY_DEADLINE;
    if (finding->kind == ISO_AGGREGATE ? judgement->aggregate
        : row < TABLE_ROWS             ? *rows >> row & 1
                                       : *count)
        fail("a finding twice");
    if (finding->kind == ISO_AGGREGATE)
        judgement->aggregate = true;
    else if (row < TABLE_ROWS)
        *rows |= 1u << row;
    else
        *count = (uint32_t)finding->rows;
}

static void on_unjudged(void *context, const struct iso_rowsets_unjudged *unjudged)
{
    struct found *found = context;
    uint32_t t = (uint32_t)unjudged->transaction.origin, table = table_of(unjudged->table),
             known = 0;
    struct table_judgement *judgement =
        &found->judgements[table][t][operation_of(found->plain, t, table, unjudged->operation)];
    static const struct {
        enum iso_unjudged reason;
        uint32_t bit;
    } reasons[] = {{ISO_UNJUDGED_UNKNOWN_VALUE, TABLE_VALUE},
                   {ISO_UNJUDGED_COLUMN, TABLE_VALUE},
                   {ISO_UNJUDGED_UNKNOWN_WRITER, TABLE_UNKNOWN_WRITER},
                   {ISO_UNJUDGED_OWN_ORDER, TABLE_OWN_ORDER},
                   {ISO_UNJUDGED_SCAN_LIMIT, TABLE_SCAN_LIMIT}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        known |= 1u << reasons[i].reason;
        if (unjudged->reasons >> reasons[i].reason & 1)
            judgement->reasons |= reasons[i].bit;
    }
    if (unjudged->reasons & ~known || !(unjudged->reasons >> unjudged->reason & 1))
        fail("unjudged for another reason");
}

static struct iso_scalar_type type_of(void *context, struct iso_json_text table,
                                      struct iso_json_text column)
{
    static const struct iso_scalar_type types[] = {
        [TABLE_INTEGERS] = {.value = {.kind = ISO_VALUE_INTEGER}},
        [TABLE_DECIMALS] = {.value = {.kind = ISO_VALUE_DECIMAL, .detail = 2}},
        [TABLE_DAYS] = {.value = {.kind = ISO_VALUE_DATE}},
        [TABLE_TEXTS] = {.value = {.kind = ISO_VALUE_TEXT}, .text = ISO_TEXT_ORDERED},
        [TABLE_TRUTHS] = {.value = {.kind = ISO_VALUE_BOOLEAN}}};
    uint32_t c = 0;
    (void)context;
    (void)table;
    while (c + 1 < TABLE_COLUMNS && !iso_json_is(&column, columns[c]))
        c++;
    return types[families[c]];
}

static struct iso_rowsets_options options_of(const struct table_history *plain,
                                             enum iso_level level, struct found *found)
{
    struct iso_rowsets_options options;
    memset(found, 0, sizeof *found);
    found->plain = plain;
    iso_rowsets_options_init(&options);
    options.level = level;
    options.scan_limit = plain->scan_limit;
    options.type_of = type_of;
    options.on_finding = on_finding;
    options.on_unjudged = on_unjudged;
    options.context = found;
    return options;
}

/* ---- the three judgements ---- */

static void judge_finished(const struct table_history *plain, enum iso_level level,
                           struct found *found)
{
    struct iso_history history;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_rowsets_stats stats;
    struct iso_rowsets_options options = options_of(plain, level, found);
    options.of_few = plain->scan_limit == ISO_SCAN_LIMIT && plain->transaction_count % 2;
    options.shards = 1 + plain->transaction_count % 4;
    build(&history, plain, false);
    if (iso_history_finish(&history, &error) != ISO_OK)
        fail(error.text);
    iso_rowsets_check(&history, &options, &stats);
    iso_history_release(&history);
}

/* What still has to come: up to its transactions, then up to their outcomes. */
static uint64_t allowed_watermark(const struct table_history *plain, const bool *came,
                                  const bool *resolved, uint64_t retention)
{
    uint64_t allowed = UINT64_MAX;
    for (uint32_t t = 0; t < plain->transaction_count; t++) {
        const struct table_transaction *transaction = &plain->transactions[t];
        bool unknown = transaction->status == ISO_UNKNOWN || transaction->comes_unknown;
        uint64_t least = came[t] && (resolved[t] || !transaction->comes_unknown) ? UINT64_MAX
                         : came[t] || !unknown ? transaction->cts - 1
                                               : transaction->sts - 1;
        if (!came[t] && least > transaction->sts + retention && retention != ISO_ROWSETS_FOREVER)
            least = transaction->sts + retention;
        allowed = least < allowed ? least : allowed;
    }
    return allowed;
}

static struct iso_rowsets_shards *new_engine(const struct iso_rowsets_options *options)
{
    return iso_rowsets_shards_new(options, options->of_few ? iso_team_run : NULL, team);
}

/* Another engine, with all that this one has. */
static struct iso_rowsets_shards *restored(struct iso_rowsets_shards *engine,
                                           const struct iso_rowsets_options *options,
                                           const struct iso_history *history)
{
    struct iso_archive archive;
    struct iso_error error = ISO_NO_ERROR;
    static FILE *file;
    uint64_t bytes = iso_rowsets_shards_bytes(engine);
    if (!file && !(file = tmpfile()))
        fail("no temporary file");
    if (ftruncate(fileno(file), 0) || lseek(fileno(file), 0, SEEK_SET))
        fail("the temporary file");
    iso_archive_save(&archive, fileno(file), "state", &error);
    iso_rowsets_shards_archive(&archive, engine);
    iso_archive_close(&archive);
    iso_rowsets_shards_free(engine);
    engine = new_engine(options);
    lseek(fileno(file), 0, SEEK_SET);
    iso_archive_restore(&archive, fileno(file), "state", &error);
    iso_rowsets_shards_archive(&archive, engine);
    if (iso_archive_close(&archive) != ISO_OK)
        fail(error.text);
    if (iso_rowsets_shards_bytes(engine) != bytes)
        fail("what is restored takes another memory, so that other tables are given up");
    iso_rowsets_shards_block(engine, history);
    iso_rowsets_shards_validate(engine);
    statistics.restored++;
    return engine;
}

/* The first time there is less room than what is there takes: it goes to pages, and nothing is
 * lost. */
static void page(struct iso_rowsets_shards *engine, bool *was_paged)
{
    uint64_t bytes = iso_rowsets_shards_bytes(engine), most = bytes - (bytes && !*was_paged);
    if (iso_rowsets_shards_fit(engine, most))
        fail("a table was given up that there is a folder for");
    *was_paged |= bytes;
    statistics.paged += iso_columns_paged() > 0;
}

static void judge_online(struct random *random, const struct table_history *plain,
                         enum iso_level level, struct found *found)
{
    struct iso_history history;
    struct iso_rowsets_options options = options_of(plain, level, found);
    struct iso_rowsets_stats stats;
    bool came[TABLE_TRANSACTIONS] = {false}, resolved[TABLE_TRANSACTIONS] = {false}, late = false,
         was_paged = false;
    uint32_t left = plain->transaction_count, outcomes = 0;
    uint64_t now = 1, patience = random_percent(random, 50) ? 1 + below(random, 4) : 0;
    found->has_deadlines = patience;
    for (uint32_t t = 0; t < plain->transaction_count; t++)
        late |= plain->transactions[t].comes_unknown;
    if (!late && random_percent(random, 50)) /* what is held must not become too old */
        options.retention = below(random, 12);
    options.of_few = plain->scan_limit == ISO_SCAN_LIMIT && random_percent(random, 50);
    options.shards = 1u << below(random, 3);
    options.spill = options.of_few && random_percent(random, 50) ? "/dev/shm" : NULL;
    statistics.kept += options.retention != ISO_ROWSETS_FOREVER;
    build(&history, plain, true);
    struct iso_rowsets_shards *engine = new_engine(&options);
    iso_rowsets_shards_block(engine, &history);
    for (uint32_t i = 0; i < history.initial.count; i++)
        iso_rowsets_shards_initial(engine, history.keys.atom[history.initial.key[i]],
                                   history.initial.value[i], false);
    while (left || outcomes) {
        uint32_t t = below(random, plain->transaction_count);
        const struct table_transaction *transaction = &plain->transactions[t];
        if (!came[t]) {
            iso_rowsets_shards_add(engine, t);
            came[t] = true;
            left--;
            outcomes += transaction->comes_unknown;
            if (random_percent(random, 50))
                iso_rowsets_shards_clock(engine, now += below(random, 3), patience);
        } else if (transaction->comes_unknown && !resolved[t]) {
            if (!iso_rowsets_shards_resolve(engine, &history.atoms, transaction->tid,
                                            transaction->status == ISO_COMMITTED, transaction->cts))
                fail("an outcome of nobody");
            resolved[t] = true;
            outcomes--;
        }
        iso_rowsets_shards_validate(engine);
        if (random_percent(random, 2))
            engine = restored(engine, &options, &history);
        if (options.spill && random_percent(random, 20))
            page(engine, &was_paged);
        uint64_t allowed = allowed_watermark(plain, came, resolved, options.retention);
        if (allowed != UINT64_MAX && allowed && random_percent(random, 60))
            iso_rowsets_shards_watermark(engine, allowed - random_percent(random, 30));
        iso_rowsets_shards_validate(engine);
        iso_rowsets_shards_stats(engine, &stats);
        statistics.held += stats.held;
    }
    if (random_percent(random, 50))
        iso_rowsets_shards_watermark(engine, 100);
    iso_rowsets_shards_end(engine);
    iso_rowsets_shards_validate(engine);
    iso_rowsets_shards_free(engine);
    iso_history_release(&history);
}

static void put_judgement(const char *name, const struct table_judgement *judgement)
{
    printf(
        "# %s: EXT missing %x extra %x, INT missing %x extra %x, aggregate %d, bag %u %u, reasons %x\n",
        name, judgement->missing[0], judgement->extra[0], judgement->missing[1],
        judgement->extra[1], judgement->aggregate, judgement->bag_missing, judgement->bag_extra,
        judgement->reasons);
}

static void put_query(const struct table_query *query)
{
    struct iso_text text = {0};
    put_parts(&text, &query->from, 0);
    iso_text_put(&text, " to ");
    put_parts(&text, &query->to, 0);
    iso_text_put(&text, " where ");
    if (query->node_count)
        table_put_where(&text, query, families, columns);
    if (query->asked != TABLE_ASKED_ROWS)
        put_returned(&text, query);
    for (uint32_t r = 0; query->asked == TABLE_ASKED_ROWS && r < TABLE_ROWS; r++)
        iso_text_put(&text, query->returned[r] ? " +" : " -");
    printf("query %.*s%s time %d ots %" PRIu64, (int)text.used, text.bytes,
           query->is_partial ? " partial" : "", query->time, query->ots);
    iso_text_release(&text);
}

static void put_history(const struct table_history *plain)
{
    for (uint32_t r = 0; r < TABLE_ROWS; r++)
        if (plain->was_there[r])
            printf("# initial %u\n", r);
    for (uint32_t t = 0; t < plain->transaction_count; t++) {
        const struct table_transaction *transaction = &plain->transactions[t];
        printf("# T%u status %u%s%s%s %" PRIu64 "-%" PRIu64 "\n", transaction->tid,
               transaction->status, transaction->is_point ? " point" : "",
               transaction->cdc_writes ? " cdc" : "", transaction->comes_unknown ? " late" : "",
               transaction->sts, transaction->cts);
        for (uint32_t o = 0; o < transaction->operation_count; o++) {
            const struct table_operation *operation = &transaction->operations[o];
            struct iso_text text = {0};
            for (uint32_t c = 0; operation->kind == TABLE_WRITE && c < TABLE_COLUMNS; c++) {
                iso_text_put(&text, " ");
                if (operation->cells[c].is_given)
                    table_put_told(&text, families[c], &operation->cells[c]);
                else
                    iso_text_put(&text, "-");
            }
            printf("#   %u ", o);
            if (operation->kind == TABLE_QUERY)
                put_query(&operation->query);
            else
                printf("%s %u%.*s", operation->kind == TABLE_WRITE ? "write" : "delete",
                       operation->row, (int)text.used, text.bytes);
            printf("\n");
            iso_text_release(&text);
        }
    }
}

static void count_judgement(const struct table_query *query,
                            const struct table_judgement *judgement)
{
    statistics.queries++;
    statistics.faults += judgement->missing[0] || judgement->extra[0] || judgement->aggregate ||
                         judgement->bag_missing || judgement->bag_extra;
    statistics.own += judgement->missing[1] || judgement->extra[1];
    statistics.aggregates += judgement->aggregate;
    statistics.bags += judgement->bag_missing || judgement->bag_extra;
    statistics.partial += query->is_partial;
    for (int i = 0; i < 4; i++)
        statistics.unjudged[i] += judgement->reasons >> i & 1;
}

/* Each row that is there belongs to one of the three answers: which, the findings say. */
static void check_parts(const struct table_history *plain, enum iso_level level,
                        const struct table_judgement *judgements, uint32_t t, uint32_t o)
{
    struct table_row rows[TABLE_ROWS];
    const struct table_operation *operations = &plain->transactions[t].operations[o];
    if (!operations->query.is_parted ||
        judgements[0].reasons | judgements[1].reasons | judgements[2].reasons)
        return;
    table_state(plain, level, t, o, rows);
    for (uint32_t r = 0; r < TABLE_ROWS; r++) {
        uint32_t answers = 0;
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t wrong = judgements[i].missing[0] | judgements[i].missing[1] |
                             judgements[i].extra[0] | judgements[i].extra[1];
            answers += operations[i].query.returned[r] != (wrong >> r & 1);
        }
        bool is_asked = rows[r].is_there && table_within(&operations->query, &plain->keys[r]);
        statistics.parted += is_asked;
        if (is_asked && answers != 1)
            fail("a row belongs to none, or to several, of p, NOT p and p IS UNKNOWN");
    }
}

static void compare_table(const struct table_history *plain, uint32_t table, enum iso_level level,
                          const struct found *finished, const struct found *online, uint64_t seed)
{
    for (uint32_t t = 0; t < plain->transaction_count; t++) {
        for (uint32_t o = 0; o < plain->transactions[t].operation_count; o++) {
            if (plain->transactions[t].operations[o].kind != TABLE_QUERY)
                continue;
            struct table_judgement expected = {0};
            if (plain->transactions[t].status == ISO_COMMITTED)
                expected = table_oracle(plain, level, t, o);
            count_judgement(&plain->transactions[t].operations[o].query, &expected);
            if (plain->transactions[t].status == ISO_COMMITTED)
                check_parts(plain, level, &finished->judgements[table][t][o], t, o);
            struct table_judgement told = online->judgements[table][t][o], wanted = expected;
            if (online->has_deadlines) {
                forget_counts(&told);
                forget_counts(&wanted);
            }
            bool same = !memcmp(&expected, &finished->judgements[table][t][o], sizeof expected);
            if (same && !memcmp(&wanted, &told, sizeof wanted))
                continue;
            put_history(plain);
            printf("# level %s, T%u operation %u, table %u of %u\n", iso_level_name(level),
                   plain->transactions[t].tid, o, table, tables);
            put_judgement("oracle", &expected);
            put_judgement("finished", &finished->judgements[table][t][o]);
            put_judgement("online", &online->judgements[table][t][o]);
            printf("# to repeat it: --seed %" PRIu64 " --histories 1\n", seed);
            fail(same ? "online is another judgement" : "another judgement than the oracle's");
        }
    }
}

static void try_history(uint64_t seed)
{
    static struct table_history plain;
    static struct found finished, online;
    for (int level = ISO_SI; level <= ISO_SER; level++) {
        struct random random = {seed};
        random_history(&random, &plain, (enum iso_level)level);
        tables = random_percent(&random, 30) ? MOST_TABLES : 1;
        judge_finished(&plain, (enum iso_level)level, &finished);
        judge_online(&random, &plain, (enum iso_level)level, &online);
        for (uint32_t table = 0; table < tables; table++)
            compare_table(&plain, table, (enum iso_level)level, &finished, &online, seed);
    }
}

int main(int count, char **words)
{
    uint64_t histories = 4000, seed = 1;
    const struct argument known[] = {
        {"--histories", &histories, NULL}, {"--seed", &seed, NULL}, {NULL, NULL, NULL}};
    if (!arguments_read(known, count, words))
        return 2;
    team = iso_team_new(4);
    try_history(9080123); /* a commit beside another one that gave the row its cell */
    for (uint64_t i = 0; i < histories; i++)
        try_history(seed + i);
    printf("# %" PRIu64 " queries, %" PRIu64 " planted, %" PRIu64 " with faults (%" PRIu64
           " aggregates, %" PRIu64 " bags), %" PRIu64 " INT, %" PRIu64
           " partial; unjudged: %" PRIu64 " value, %" PRIu64 " writer, %" PRIu64 " own, %" PRIu64
           " limit; held %" PRIu64 ", with a retention %" PRIu64 ", restored %" PRIu64
           ", paged %" PRIu64 "; found by deadlines %" PRIu64 ", retracted %" PRIu64 "; %" PRIu64
           " rows of p, NOT p or p IS UNKNOWN\n",
           statistics.queries, statistics.planted, statistics.faults, statistics.aggregates,
           statistics.bags, statistics.own, statistics.partial, statistics.unjudged[0],
           statistics.unjudged[1], statistics.unjudged[2], statistics.unjudged[3], statistics.held,
           statistics.kept, statistics.restored, statistics.paged, statistics.early,
           statistics.retracted, statistics.parted);
    iso_team_free(team);
    bool enough = histories < 1000 ||
                  (statistics.parted && statistics.faults && statistics.own && statistics.held &&
                   statistics.restored && statistics.paged && statistics.early &&
                   statistics.retracted && statistics.unjudged[0] && statistics.unjudged[1] &&
                   statistics.unjudged[2] && statistics.unjudged[3]);
    printf("%sok 1 - queries are judged as the definitions have it\n1..1\n", enough ? "" : "not ");
    return !enough;
}
