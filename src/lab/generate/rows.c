/* Transactions on rows: what they do, what they see, and what the other level makes of that. */
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "generate/generate_private.h"

enum { MATCHES = 8 }; /* rows that an equality finds, about */

/* ---- choosing ---- */

/* The values of a column are 1 to this number; 0: unique ones. */
static uint64_t domain_of(const struct tables *tables, uint32_t column)
{
    uint64_t rows = table_size(tables, 0);
    return column % 3 == 0 ? rows / MATCHES + 2 : column % 3 == 1 ? 0 : rows;
}

static uint64_t choose_value(struct store *store, uint32_t column)
{
    uint64_t domain = domain_of(&store->tables, column);
    if (!domain)
        return store->next_value++;
    if (column % 3 == 2 && iso_rng_below(&store->rng, MATCHES) == 0)
        return 0;
    return 1 + iso_rng_below(&store->rng, domain);
}

/* At least one column. */
static uint32_t choose_columns(struct store *store)
{
    uint64_t most = ((uint64_t)1 << store->tables.columns) - 1;
    return (uint32_t)(1 + iso_rng_below(&store->rng, most));
}

static struct condition choose_condition(struct store *store)
{
    struct iso_rng *rng = &store->rng;
    bool amounts = store->tables.columns > 2 && iso_rng_below(rng, 2);
    uint32_t same = (store->tables.columns - (amounts ? 3 : 1)) / 3; /* other columns of the kind */
    struct condition where = {.column =
                                  (amounts ? 2 : 0) + 3 * (uint32_t)iso_rng_below(rng, same + 1u)};
    uint64_t domain = domain_of(&store->tables, where.column);
    where.low = 1 + iso_rng_below(rng, domain);
    where.form = amounts ? CONDITION_BETWEEN : CONDITION_EQUAL;
    if (iso_rng_below(rng, 4) == 0)
        where.form = amounts ? CONDITION_NULL : CONDITION_EITHER;
    where.high = amounts ? where.low + MATCHES - 1 : 1 + iso_rng_below(rng, domain);
    return where;
}

static void choose_range(struct store *store, struct row_step *step, uint64_t around)
{
    uint64_t span = store->options->span;
    uint64_t before = iso_rng_below(&store->rng, span);
    step->from = around > before ? around - before : 1;
    step->to = step->from + span - 1;
}

static void choose_query(struct store *store, struct row_step *step, uint64_t lot, uint64_t around)
{
    const struct iso_generate_options *options = store->options;
    uint64_t keyless = options->range_share + options->condition_share + options->aggregate_share;
    bool is_range = lot < options->range_share, is_bag = options->bag_share && lot >= keyless;
    bool is_aggregate = !is_bag && lot - options->range_share >= options->condition_share;
    step->columns = choose_columns(store);
    if (is_range || iso_rng_below(&store->rng, 4) == 0)
        choose_range(store, step, around);
    if (!is_range && (!is_aggregate || iso_rng_below(&store->rng, 2)))
        step->where = choose_condition(store);
    step->is_partial = is_range && iso_rng_below(&store->rng, 8) == 0;
    if (is_bag)
        step->kind = STEP_BAG;
    if (!is_range && is_aggregate) {
        step->kind = STEP_AGGREGATES;
        step->columns = 1u << iso_rng_below(&store->rng, store->tables.columns);
    }
}

static void choose_read(struct store *store, struct transaction *transaction)
{
    const struct iso_generate_options *options = store->options;
    uint32_t at = iso_draw_key(&store->draw, &store->rng), tables = store->tables.count;
    uint64_t lot = iso_rng_next(&store->rng) >> 32;
    bool is_row = lot >= options->range_share + options->condition_share +
                             options->aggregate_share + options->bag_share;
    struct row_step *step =
        transaction_step(transaction, is_row ? STEP_READ : STEP_QUERY, at % tables);
    step->texts = options->texts;
    step->key = at / tables + 1;
    if (is_row)
        step->columns = choose_columns(store);
    else
        choose_query(store, step, lot, step->key);
}

/* ---- workloads of ranges ---- */

enum range_kind { RANGE_QUERY, RANGE_INSERT, RANGE_DELETE, RANGE_READ, RANGE_UPDATE };

static enum range_kind draw_kind(struct store *store)
{
    static const uint8_t shares[][3] = {[ISO_WORKLOAD_RANGE_B] = {20, 20, 20},
                                        [ISO_WORKLOAD_RANGE_RQH] = {50, 12, 12},
                                        [ISO_WORKLOAD_RANGE_IDH] = {10, 35, 35}};
    const uint8_t *share = shares[store->options->workload];
    uint32_t lot = (uint32_t)iso_rng_below(&store->rng, 100), kind = RANGE_QUERY;
    for (; kind < RANGE_READ && lot >= share[kind]; kind++)
        lot -= share[kind];
    return kind < RANGE_READ ? (enum range_kind)kind : RANGE_READ + lot % 2;
}

/* Locks a row that nobody else writes, and that is there if `is_there`. */
static bool choose_row(struct store *store, uint32_t tid, bool is_there, uint32_t *chosen)
{
    struct tables *tables = &store->tables;
    enum { TRIES = 32 };
    for (int i = 0; i < TRIES; i++) {
        uint32_t at = iso_draw_key(&store->draw, &store->rng),
                 number = row_number(tables, at % tables->count, at / tables->count + 1);
        struct slot *slot = &store->slots[at];
        if ((slot->held && slot->held != tid) ||
            row_see(tables, number, NEVER).is_there != is_there)
            continue;
        slot->held = tid;
        *chosen = at;
        return true;
    }
    return false;
}

/* Where no row is found for it, one is read. */
static void choose_of_kind(struct store *store, struct transaction *transaction,
                           enum range_kind kind)
{
    uint32_t at, tables = store->tables.count;
    bool writes = kind != RANGE_QUERY && kind != RANGE_READ &&
                  choose_row(store, transaction->tid, kind != RANGE_INSERT, &at);
    if (!writes)
        at = iso_draw_key(&store->draw, &store->rng);
    struct row_step *step = transaction_step(transaction,
                                             writes                ? STEP_WRITE
                                             : kind == RANGE_QUERY ? STEP_QUERY
                                                                   : STEP_READ,
                                             at % tables);
    step->texts = store->options->texts;
    step->key = at / tables + 1;
    step->deletes = kind == RANGE_DELETE;
    step->columns = choose_columns(store);
    if (kind == RANGE_QUERY)
        choose_range(store, step, step->key);
}

static void choose_mixed(struct store *store, struct transaction *transaction)
{
    const struct iso_generate_options *options = store->options;
    uint32_t at;
    if (iso_rng_chance(&store->rng, options->read_share) ||
        !store_choose_written(store, transaction->tid, &at)) {
        choose_read(store, transaction);
        return;
    }
    struct row_step *step = transaction_step(transaction, STEP_WRITE, at % store->tables.count);
    step->key = at / store->tables.count + 1;
    step->texts = options->texts;
    step->deletes = iso_rng_chance(&store->rng, options->delete_share);
}

void rows_choose(struct store *store, struct transaction *transaction)
{
    const struct iso_generate_options *options = store->options;
    bool is_mixed = options->workload == ISO_WORKLOAD_MIXED;
    enum range_kind kind = is_mixed ? RANGE_QUERY : draw_kind(store);
    for (uint32_t i = 0; i < options->operations; i++)
        if (is_mixed)
            choose_mixed(store, transaction);
        else
            choose_of_kind(store, transaction, kind);
}

/* ---- seeing ---- */

static bool matches(const struct tables *tables, const struct row_view *view,
                    const struct condition *where)
{
    if (where->form == CONDITION_NONE)
        return true;
    uint64_t cell = row_cell(tables, view, where->column);
    switch (where->form) {
    case CONDITION_EQUAL:
        return cell == where->low;
    case CONDITION_EITHER:
        return cell == where->low || cell == where->high;
    case CONDITION_BETWEEN:
        return cell >= where->low && cell <= where->high; /* NULL is 0, and bounds are not */
    default:
        return cell == 0;
    }
}

/* The keys that a query looks at. */
static void bounds_of(const struct tables *tables, const struct row_step *step, uint64_t *from,
                      uint64_t *to)
{
    uint64_t last = table_size(tables, (uint32_t)step->table);
    *from = step->from ? step->from : 1;
    *to = step->to && step->to < last ? step->to : last;
}

struct aggregates {
    uint64_t count, summed, sum;
    bool is_doubtful; /* it counts what a transaction of unknown outcome wrote */
};

/* The second aggregate of a query: the sum of a column of numbers, or how many texts of a column
 * are not NULL. */
static uint64_t second_of(const struct row_step *step, const struct aggregates *found)
{
    if (step_has_texts(step, (uint32_t)__builtin_ctz(step->columns)))
        return found->summed;
    return found->summed ? found->sum : 0;
}

static struct aggregates count_rows(struct tables *tables, const struct row_step *step,
                                    uint64_t moment)
{
    struct aggregates found = {0};
    uint64_t key, to;
    uint32_t column = (uint32_t)__builtin_ctz(step->columns);
    for (bounds_of(tables, step, &key, &to); key <= to; key++) {
        struct row_view view =
            row_see(tables, row_number(tables, (uint32_t)step->table, key), moment);
        if (!view.is_there || !matches(tables, &view, &step->where))
            continue;
        uint64_t cell = row_cell(tables, &view, column);
        found.count++;
        found.summed += cell != 0;
        found.sum += cell;
        found.is_doubtful |= row_is_doubtful(&view, column);
    }
    return found;
}

/* ---- running ---- */

static void put_cells(const struct tables *tables, struct transaction *transaction,
                      const struct row_view *view, uint32_t columns)
{
    for (; columns; columns &= columns - 1)
        transaction_element(transaction, row_cell(tables, view, (uint32_t)__builtin_ctz(columns)));
}

/* Counts cells of the row that a transaction of unknown outcome may have written, each once. */
static void count_doubtful(struct transaction *transaction, const struct row_view *view,
                           uint32_t columns)
{
    for (; columns; columns &= columns - 1) {
        uint32_t column = (uint32_t)__builtin_ctz(columns);
        transaction->unjudged +=
            !(view->row->seen >> 1 >> column & 1) && row_is_doubtful(view, column);
        view->row->seen |= 2u << column;
    }
}

/* The cells of rows without their keys. */
static void run_bag(struct tables *tables, struct transaction *transaction, struct row_step *step)
{
    bool is_doubtful = false;
    uint64_t key, to;
    for (bounds_of(tables, step, &key, &to); key <= to; key++) {
        struct row_view view =
            row_see(tables, row_number(tables, (uint32_t)step->table, key), NEVER);
        if (!view.is_there || !matches(tables, &view, &step->where))
            continue;
        put_cells(tables, transaction, &view, step->columns);
        for (uint32_t column = 0; column < tables->columns; column++)
            is_doubtful |= step->columns >> column & 1 && row_is_doubtful(&view, column);
        step->rows++;
    }
    transaction->unjudged += is_doubtful;
}

static void run_query(struct tables *tables, struct transaction *transaction, struct row_step *step)
{
    uint64_t key, to;
    for (bounds_of(tables, step, &key, &to); key <= to; key++) {
        struct row_view view =
            row_see(tables, row_number(tables, (uint32_t)step->table, key), NEVER);
        if (!view.is_there || !matches(tables, &view, &step->where))
            continue;
        if (step->is_partial && step->rows > step->key % MATCHES)
            break;
        transaction_element(transaction, key);
        put_cells(tables, transaction, &view, step->columns);
        count_doubtful(transaction, &view, step->columns);
        step->rows++;
    }
}

/* A transaction of unknown outcome changes the unique values of rows that are there, so that it is
 * known what may explain what; other rows it reads. */
static void run_unknown_write(struct store *store, struct transaction *transaction,
                              struct row_step *step, const struct row_view *view)
{
    step->kind = view->is_there ? STEP_WRITE : STEP_READ;
    step->is_there = view->is_there;
    step->columns = 2;
    if (!view->is_there)
        return;
    uint64_t value = choose_value(store, 1);
    transaction_element(transaction, value);
    row_write_cell(&store->tables, view->row, 1, value);
    row_write(view->row, true);
}

static void run_write(struct store *store, struct transaction *transaction, struct row_step *step,
                      const struct row_view *view)
{
    struct tables *tables = &store->tables;
    if (view->is_there && step->deletes) {
        step->kind = STEP_DELETE;
        row_write(view->row, false);
        return;
    }
    step->columns =
        view->is_there ? choose_columns(store) : (uint32_t)(((uint64_t)1 << tables->columns) - 1);
    for (uint32_t column = 0; column < tables->columns; column++) {
        if (!(step->columns >> column & 1))
            continue;
        uint64_t value = choose_value(store, column);
        transaction_element(transaction, value);
        row_write_cell(tables, view->row, column, value);
    }
    row_write(view->row, true);
}

static void run_step(struct store *store, struct transaction *transaction, struct row_step *step)
{
    struct tables *tables = &store->tables;
    step->first = transaction->element_count;
    if (step->kind == STEP_QUERY) {
        run_query(tables, transaction, step);
        return;
    }
    if (step->kind == STEP_BAG) {
        run_bag(tables, transaction, step);
        return;
    }
    if (step->kind == STEP_AGGREGATES) {
        struct aggregates found = count_rows(tables, step, NEVER);
        transaction_element(transaction, found.count);
        transaction_element(transaction, second_of(step, &found));
        transaction->unjudged += found.is_doubtful;
        return;
    }
    struct row_view view =
        row_see(tables, row_number(tables, (uint32_t)step->table, step->key), NEVER);
    if (step->kind == STEP_WRITE) {
        (transaction->status == ISO_UNKNOWN ? run_unknown_write : run_write)(store, transaction,
                                                                             step, &view);
        return;
    }
    step->is_there = view.is_there;
    if (!view.is_there)
        return;
    put_cells(tables, transaction, &view, step->columns);
    count_doubtful(transaction, &view, step->columns);
}

void rows_run(struct store *store, struct transaction *transaction)
{
    tables_start_pass(&store->tables);
    for (uint32_t i = 0; i < transaction->step_count; i++)
        run_step(store, transaction, &transaction->steps[i]);
}

/* ---- what the other level makes of it ---- */

struct pass {
    struct tables *tables;
    const struct transaction *transaction;
    struct iso_expectation *expected;
    uint64_t moment;
};

/* A read of the row itself, which counts once. */
static void judge_existence(const struct pass *pass, const struct row_view *view, bool was_there)
{
    bool is_wrong = !(view->row->seen & 1) && version_is_there(view) != was_there;
    pass->expected->counts[ISO_EXT] += is_wrong;
    view->row->is_wrong |= is_wrong;
    view->row->seen |= 1;
}

/* A read of a row that was there, and of its cells: each that was neither read nor written before
 * has to be as it was at the moment, unless the row itself is wrong. Returns what is behind its
 * cells. */
static const uint64_t *judge_cells(const struct pass *pass, const struct row_view *view,
                                   uint32_t columns, const uint64_t *cell)
{
    judge_existence(pass, view, true);
    for (; columns; columns &= columns - 1, cell++) {
        uint32_t column = (uint32_t)__builtin_ctz(columns);
        bool is_wrong =
            !(view->row->seen >> 1 >> column & 1) && *cell != version_cell(view, column);
        pass->expected->counts[ISO_EXT] += is_wrong && !view->row->is_wrong;
        pass->expected->reads_unjudged += is_wrong && view->row->is_wrong;
        view->row->seen |= 2u << column;
    }
    return cell;
}

static void count_of_query(const struct pass *pass)
{
    pass->expected->counts[ISO_EXT]++;
    pass->expected->of_queries++;
}

/* Once for each table. */
static void count_of_table(const struct pass *pass, const struct row_step *step)
{
    if (pass->tables->found[step->table] != pass->tables->pass)
        count_of_query(pass);
    pass->tables->found[step->table] = pass->tables->pass;
}

/* Once for each row, whichever of the transaction's queries shows it. */
static void count_row(const struct pass *pass, struct row *row, bool is_wrong)
{
    if (!is_wrong || row->is_found)
        return;
    row->is_found = true;
    count_of_query(pass);
}

/* A returned row that was not there is a wrong read, one that was there and did not match is wrong
 * beside its cells. */
static void judge_query(const struct pass *pass, const struct row_step *step)
{
    struct tables *tables = pass->tables;
    const uint64_t *returned = pass->transaction->elements + step->first;
    uint32_t left = step->rows;
    uint64_t key, to;
    for (bounds_of(tables, step, &key, &to); key <= to; key++) {
        struct row_view view =
            row_see(tables, row_number(tables, (uint32_t)step->table, key), pass->moment);
        bool belongs = view.is_there && matches(tables, &view, &step->where);
        if (left && *returned == key) {
            count_row(pass, view.row, view.is_there && !belongs);
            returned = judge_cells(pass, &view, step->columns, returned + 1);
            left--;
        } else {
            count_row(pass, view.row, belongs && !step->is_partial);
        }
    }
    assert(!left);
}

static void judge_aggregates(const struct pass *pass, const struct row_step *step)
{
    const uint64_t *told = pass->transaction->elements + step->first;
    struct aggregates found = count_rows(pass->tables, step, pass->moment);
    if (told[0] != found.count || told[1] != second_of(step, &found))
        count_of_table(pass, step);
}

static int compare_rows(const void *left, const void *right, void *context)
{
    return memcmp(left, right, *(const size_t *)context);
}

/* Both in one order, whichever that is. */
static bool is_bag(uint64_t *rows, const uint64_t *told, uint32_t count, size_t size)
{
    uint64_t *copy = iso_allocate(count * size + 1);
    if (count)
        memcpy(copy, told, count * size);
    qsort_r(rows, count, size, compare_rows, &size);
    qsort_r(copy, count, size, compare_rows, &size);
    bool same = !count || !memcmp(rows, copy, count * size);
    iso_free(copy);
    return same;
}

static void judge_bag(const struct pass *pass, const struct row_step *step)
{
    struct tables *tables = pass->tables;
    uint32_t width = (uint32_t)__builtin_popcount(step->columns), count = 0;
    uint64_t key, to, used = 0;
    bounds_of(tables, step, &key, &to);
    uint64_t *rows = iso_allocate(((to >= key ? to - key + 1 : 0) * width + 1) * sizeof *rows);
    for (; key <= to; key++) {
        struct row_view view =
            row_see(tables, row_number(tables, (uint32_t)step->table, key), pass->moment);
        if (!view.is_there || !matches(tables, &view, &step->where))
            continue;
        for (uint32_t left = step->columns; left; left &= left - 1)
            rows[used++] = row_cell(tables, &view, (uint32_t)__builtin_ctz(left));
        count++;
    }
    if (count != step->rows ||
        !is_bag(rows, pass->transaction->elements + step->first, count, width * sizeof *rows))
        count_of_table(pass, step);
    iso_free(rows);
}

static void judge_step(const struct pass *pass, const struct row_step *step)
{
    struct tables *tables = pass->tables;
    const uint64_t *cell = pass->transaction->elements + step->first;
    if (step->kind == STEP_QUERY) {
        judge_query(pass, step);
        return;
    }
    if (step->kind == STEP_AGGREGATES) {
        judge_aggregates(pass, step);
        return;
    }
    if (step->kind == STEP_BAG) {
        judge_bag(pass, step);
        return;
    }
    struct row_view view =
        row_see(tables, row_number(tables, (uint32_t)step->table, step->key), pass->moment);
    if (step->kind == STEP_READ && step->is_there) {
        judge_cells(pass, &view, step->columns, cell);
    } else if (step->kind == STEP_READ) {
        judge_existence(pass, &view, false);
    } else {
        uint32_t columns = step->kind == STEP_WRITE ? step->columns : 0;
        for (; columns; columns &= columns - 1)
            row_write_cell(tables, view.row, (uint32_t)__builtin_ctz(columns), *cell++);
        row_write(view.row, step->kind == STEP_WRITE);
    }
}

/* No open transaction started before it: sought from time to time only. */
static uint64_t horizon_of(struct store *store)
{
    const struct iso_generate_options *options = store->options;
    if (store->commits++ % options->sessions)
        return store->horizon;
    store->horizon = store->clock;
    for (uint32_t i = 0; i < options->sessions; i++)
        if (store->open[i] && store->open[i]->sts < store->horizon)
            store->horizon = store->open[i]->sts;
    return store->horizon;
}

void rows_commit(struct store *store, const struct transaction *transaction)
{
    bool is_si = store->options->level == ISO_SI, is_known = transaction->status == ISO_COMMITTED;
    struct iso_expectation *levels = store->generated->levels;
    /* nobody asks what one of unknown outcome has read */
    struct iso_expectation nobody = {.reads_unjudged = 0};
    struct pass pass = {&store->tables, transaction,
                        is_known ? &levels[is_si ? ISO_SER : ISO_SI] : &nobody,
                        is_si ? NEVER : transaction->sts};
    if (!transaction->applies)
        return;
    tables_start_pass(&store->tables);
    for (uint32_t i = 0; i < transaction->step_count; i++)
        judge_step(&pass, &transaction->steps[i]);
    levels[is_si ? ISO_SI : ISO_SER].reads_unjudged += is_known ? transaction->unjudged : 0;
    uint64_t horizon = horizon_of(store);
    for (uint32_t i = 0; i < transaction->step_count; i++) {
        const struct row_step *step = &transaction->steps[i];
        if (step->kind == STEP_WRITE || step->kind == STEP_DELETE)
            row_commit(&store->tables, row_number(&store->tables, (uint32_t)step->table, step->key),
                       transaction->cts, horizon, is_known);
    }
}
