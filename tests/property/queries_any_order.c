/* Queries without timestamps (rowsets/imply_any.c) against all orders tried one by one. Random small
 * histories of a table, at ser and at si, as a store gives them or with a changed answer. Whatever
 * is said, verify confirms.
 *
 * The history does not say which writes are inserts. So orders are tried in two ways: *strictly* the
 * first one of a row leaves NULL in other columns, and no update of a row that is gone happens,
 * which has to find no order either where a history is said to be violated; *loosely* it makes a
 * row of whose other columns nothing is known, which has to find one where it is said to hold.
 *
 * Each history is judged once more with its reads of rows as queries by their keys: alike.
 *
 * queries_any_order [--histories N] [--seed S]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "judge/judge.h"
#include "native/native.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"
#include "tests/support/test.h"
#include "verify/verify.h"

enum {
    TRANSACTIONS = 5,
    OPERATIONS = 3,
    ROWS = 3,
    COLUMNS = 2,
    VALUES = 3,
    NOT_KNOWN = -1,
    NOTHING = -2
};

enum kind { PUT, DELETE, READ, QUERY };

struct row {
    bool is_there, was_there; /* was_there: ever */
    int cells[COLUMNS];
};

/* `a = v`, `b IS NULL`, ..., or nothing; two with AND or OR between, or NOT before. */
struct condition {
    enum { ANY, EQUAL, LESS, UNEQUAL, IS_NULL, SAME } of[COLUMNS];
    int value[COLUMNS];
    bool is_or, is_not;
};

/* Of the rows that a query finds: count(*), count(a), sum(a), and how often each a is there. */
struct totals {
    int rows, cells, sum, values[VALUES + 1];
};

struct operation {
    enum kind kind;
    int row, from, to; /* from, to: of a query */
    bool is_partial;   /* rows that were not returned say nothing */
    enum { ROWS_ASKED, TOTALS_ASKED, BAG_ASKED } asked;
    struct totals totals;
    bool writes[COLUMNS];  /* of PUT */
    struct row read[ROWS]; /* what was found; of PUT the first: what is written */
    struct condition where;
};

struct transaction {
    struct operation operations[OPERATIONS];
    int count, session;
};

struct story {
    struct transaction list[TRANSACTIONS];
    int count;
    bool is_serial;
};

/* ---- a store ---- */

static bool writes(const struct operation *operation)
{
    return operation->kind == PUT || operation->kind == DELETE;
}

/* False: it deletes a row that is not there, or updates one that is gone, and may not. */
static bool apply(const struct operation *operation, struct row *rows, bool is_strict)
{
    struct row *row = &rows[operation->row];
    if (operation->kind == DELETE) {
        bool was_there = row->is_there;
        row->is_there = false;
        return was_there || !is_strict;
    }
    bool is_whole = operation->writes[0] && operation->writes[1];
    if (is_strict && !is_whole && !row->is_there && row->was_there)
        return false;
    for (int c = 0; c < COLUMNS; c++)
        row->cells[c] = operation->writes[c] ? operation->read[0].cells[c]
                        : row->is_there      ? row->cells[c]
                        : is_strict          ? NOTHING
                                             : NOT_KNOWN;
    row->is_there = row->was_there = true;
    return true;
}

enum { TRUE = 1, FALSE = 2, NEITHER = 4 };

static unsigned test(const struct condition *where, int column, int cell)
{
    int value = where->value[column];
    bool is_sure = where->of[column] == IS_NULL || where->of[column] == SAME;
    if (where->of[column] == ANY)
        return TRUE;
    if (cell == NOT_KNOWN)
        return is_sure ? TRUE | FALSE : TRUE | FALSE | NEITHER;
    if (where->of[column] == IS_NULL)
        return cell == NOTHING ? TRUE : FALSE;
    if (cell == NOTHING)
        return is_sure ? FALSE : NEITHER;
    bool fits = where->of[column] == LESS      ? cell < value
                : where->of[column] == UNEQUAL ? cell != value
                                               : cell == value;
    return fits ? TRUE : FALSE;
}

static unsigned turn(unsigned outcomes)
{
    return (outcomes & NEITHER) | (outcomes & TRUE ? FALSE : 0u) | (outcomes & FALSE ? TRUE : 0u);
}

/* Outcomes of both: false if one is, true if both are. */
static unsigned both(unsigned left, unsigned right)
{
    unsigned found = ((left | right) & FALSE) | (left & right & TRUE);
    bool neither = (left & NEITHER && right & (TRUE | NEITHER)) || (right & NEITHER && left & TRUE);
    return found | (neither ? NEITHER : 0u);
}

static bool joins(const struct condition *where)
{
    return where->of[0] != ANY && where->of[1] != ANY;
}

/* 1: it meets the condition, 0: it does not, NOT_KNOWN. */
static int meets(const struct condition *where, const struct row *row)
{
    unsigned one = test(where, 0, row->cells[0]), other = test(where, 1, row->cells[1]);
    bool is_or = where->is_or && joins(where);
    unsigned found = is_or ? turn(both(turn(one), turn(other))) : both(one, other);
    if (where->is_not && (where->of[0] != ANY || where->of[1] != ANY))
        found = turn(found);
    if (!row->is_there || !(found & TRUE))
        return 0;
    return found == TRUE ? 1 : NOT_KNOWN;
}

static bool same_cells(const struct row *row, const struct row *read)
{
    for (int c = 0; c < COLUMNS; c++)
        if (row->cells[c] != NOT_KNOWN && row->cells[c] != read->cells[c])
            return false;
    return true;
}

/* False: they are not known. */
static bool add_up(const struct operation *operation, const struct row *rows, struct totals *totals)
{
    *totals = (struct totals){0};
    for (int r = operation->from; r <= operation->to; r++) {
        int met = meets(&operation->where, &rows[r]), cell = rows[r].cells[0];
        if (met == NOT_KNOWN || (met && cell == NOT_KNOWN))
            return false;
        totals->rows += met;
        totals->cells += met && cell != NOTHING;
        totals->sum += met && cell != NOTHING ? cell : 0;
        totals->values[cell == NOTHING || !met ? VALUES : cell] += met;
    }
    return true;
}

static bool same_totals(const struct operation *operation, const struct totals *one,
                        const struct totals *other)
{
    return operation->asked == BAG_ASKED
               ? !memcmp(one->values, other->values, sizeof one->values)
               : one->rows == other->rows && one->cells == other->cells && one->sum == other->sum;
}

static bool finds(const struct operation *operation, const struct row *rows)
{
    struct totals totals;
    if (operation->kind == QUERY && operation->asked != ROWS_ASKED)
        return !add_up(operation, rows, &totals) ||
               same_totals(operation, &totals, &operation->totals);
    if (operation->kind == READ)
        return rows[operation->row].is_there == operation->read[0].is_there &&
               (!operation->read[0].is_there ||
                same_cells(&rows[operation->row], &operation->read[0]));
    for (int r = operation->from; r <= operation->to; r++) {
        int met = meets(&operation->where, &rows[r]);
        bool is_returned = operation->read[r].is_there;
        if (is_returned && (!rows[r].is_there || !same_cells(&rows[r], &operation->read[r])))
            return false;
        if (met != NOT_KNOWN && met != is_returned && (is_returned || !operation->is_partial))
            return false;
    }
    return true;
}

static void find(struct operation *operation, const struct row *rows)
{
    if (operation->kind == READ)
        operation->read[0] = rows[operation->row];
    if (operation->kind == QUERY)
        add_up(operation, rows, &operation->totals);
    for (int r = 0; operation->kind == QUERY && r < ROWS; r++) {
        operation->read[r] = rows[r];
        operation->read[r].is_there =
            r >= operation->from && r <= operation->to && meets(&operation->where, &rows[r]) == 1;
    }
}

/* ---- all orders ---- */

struct trial {
    const struct story *story;
    bool is_strict;
    struct row rows[ROWS];
    int changed[ROWS]; /* when it was committed last */
    int steps;
    enum { TO_COME, OPEN, DONE } state[TRANSACTIONS];
    int began[TRANSACTIONS];
};

static bool fits(const struct trial *trial, int t)
{
    const struct transaction *it = &trial->story->list[t];
    struct row rows[ROWS];
    memcpy(rows, trial->rows, sizeof rows);
    for (int o = 0; o < it->count; o++)
        if (writes(&it->operations[o]) ? !apply(&it->operations[o], rows, trial->is_strict)
                                       : !finds(&it->operations[o], rows))
            return false;
    return true;
}

static bool commit(struct trial *trial, int t)
{
    const struct transaction *it = &trial->story->list[t];
    struct row rows[ROWS];
    memcpy(rows, trial->rows, sizeof rows);
    for (int o = 0; o < it->count; o++)
        if (writes(&it->operations[o]) && trial->changed[it->operations[o].row] > trial->began[t])
            return false;
    for (int o = 0; o < it->count; o++)
        if (writes(&it->operations[o])) {
            apply(&it->operations[o], rows, trial->is_strict);
            trial->changed[it->operations[o].row] = trial->steps + 1;
        }
    memcpy(trial->rows, rows, sizeof rows);
    trial->steps++;
    trial->state[t] = DONE;
    return true;
}

static bool begin(struct trial *trial, int t)
{
    for (int other = 0; other < t; other++)
        if (trial->story->list[other].session == trial->story->list[t].session &&
            trial->state[other] != DONE)
            return false;
    trial->began[t] = ++trial->steps;
    trial->state[t] = OPEN;
    return fits(trial, t);
}

static bool some_order(const struct trial *trial)
{
    bool is_done = true;
    for (int t = 0; t < trial->story->count; t++) {
        struct trial next = *trial;
        is_done &= trial->state[t] == DONE;
        if (trial->state[t] == DONE)
            continue;
        bool goes_on = trial->state[t] == OPEN
                           ? commit(&next, t)
                           : begin(&next, t) && (!trial->story->is_serial || commit(&next, t));
        if (goes_on && some_order(&next))
            return true;
    }
    return is_done;
}

static bool has_order(const struct story *story, bool is_strict)
{
    struct trial trial = {.story = story, .is_strict = is_strict};
    return some_order(&trial);
}

/* ---- random histories ---- */

static void draw_condition(struct random *random, struct condition *where)
{
    for (int c = 0; c < COLUMNS; c++) {
        where->of[c] = random_percent(random, 45) ? 1 + random_below(random, SAME) : ANY;
        where->value[c] = (int)random_below(random, VALUES);
    }
    where->is_or = random_percent(random, 40);
    where->is_not = random_percent(random, 25);
}

static void draw_operation(struct random *random, struct operation *operation,
                           const struct row *rows)
{
    operation->row = (int)random_below(random, ROWS);
    bool is_there = rows[operation->row].is_there;
    operation->kind = random_percent(random, 55)               ? QUERY
                      : random_percent(random, 15)             ? READ
                      : is_there && random_percent(random, 30) ? DELETE
                                                               : PUT;
    operation->from = (int)random_below(random, ROWS);
    operation->to = operation->from + (int)random_below(random, (uint32_t)(ROWS - operation->from));
    draw_condition(random, &operation->where);
    if (random_percent(random, 60)) {
        operation->from = 0;
        operation->to = ROWS - 1;
    }
    bool is_gone = !is_there && rows[operation->row].was_there,
         is_whole = is_gone || random_percent(random, is_there ? 40 : 80);
    uint32_t written = is_whole ? 3 : 1 + random_below(random, 2);
    operation->is_partial = random_percent(random, 15);
    operation->asked = random_percent(random, 80) ? ROWS_ASKED : 1 + random_below(random, 2);
    for (int c = 0; c < COLUMNS; c++) {
        operation->writes[c] = written >> c & 1;
        if (operation->kind == PUT)
            operation->read[0].cells[c] =
                random_percent(random, 15) ? NOTHING : (int)random_below(random, VALUES);
    }
}

/* Begins it, with all that it does. */
static void draw_transaction(struct random *random, struct transaction *it, const struct row *now)
{
    struct row rows[ROWS];
    memcpy(rows, now, sizeof rows);
    it->count = 1 + (int)random_below(random, OPERATIONS);
    it->session = (int)random_below(random, 3);
    for (int o = 0; o < it->count; o++) {
        draw_operation(random, &it->operations[o], rows);
        if (writes(&it->operations[o]))
            apply(&it->operations[o], rows, true);
        else
            find(&it->operations[o], rows);
    }
}

/* Two transactions at read committed: each operation of the first sees what the second one had
 * committed before it. False: an update found no row any more. */
static bool draw_read_committed(struct random *random, struct story *story)
{
    struct trial store = {.story = story, .is_strict = true};
    *story = (struct story){.count = 3};
    draw_transaction(random, &story->list[0], store.rows);
    commit(&store, 0);
    struct transaction *open = &story->list[1];
    struct row own[ROWS];
    draw_transaction(random, open, store.rows);
    draw_transaction(random, &story->list[2], store.rows);
    for (int t = 0; t < story->count; t++)
        story->list[t].session = t;
    uint32_t behind = random_below(random, (uint32_t)open->count + 1);
    for (int o = 0; o < open->count; o++) {
        memcpy(own, store.rows, sizeof own);
        if ((uint32_t)o >= behind) {
            store.began[2] = store.steps;
            for (int w = 0; w < story->list[2].count; w++)
                if (writes(&story->list[2].operations[w]) &&
                    !apply(&story->list[2].operations[w], own, true))
                    return false;
        }
        for (int w = 0; w < o; w++)
            if (writes(&open->operations[w]) && !apply(&open->operations[w], own, true))
                return false;
        find(&open->operations[o], own);
    }
    return true;
}

static void change_answer(struct random *random, struct story *story)
{
    struct transaction *it = &story->list[random_below(random, (uint32_t)story->count)];
    struct operation *operation = &it->operations[random_below(random, (uint32_t)it->count)];
    int r = operation->from +
            (int)random_below(random, (uint32_t)(operation->to - operation->from + 1));
    if (operation->kind != QUERY)
        return;
    operation->read[r].is_there = !operation->read[r].is_there;
    operation->totals.rows += operation->asked == TOTALS_ASKED;
    operation->totals.values[VALUES] += operation->asked == BAG_ASKED;
}

/* As a store gives it that lets transactions overlap and aborts who writes what another one has
 * written since. */
static void draw_story(struct random *random, struct story *story)
{
    struct trial store = {.story = story, .is_strict = true};
    struct trial before;
    *story = (struct story){.is_serial = random_percent(random, 40)};
    int wanted = 2 + (int)random_below(random, TRANSACTIONS - 1), open = NOT_KNOWN;
    while (story->count < wanted) {
        struct transaction *it = &story->list[story->count];
        *it = (struct transaction){0};
        draw_transaction(random, it, store.rows);
        store.began[story->count] = ++store.steps;
        store.state[story->count] = OPEN;
        story->count++;
        bool overlaps = open == NOT_KNOWN && !story->is_serial && random_percent(random, 50) &&
                        (story->count < 2 || it->session != it[-1].session);
        if (overlaps) {
            open = story->count - 1;
            continue;
        }
        before = store;
        if (!commit(&store, story->count - 1)) {
            store = before;
            story->count--;
        } else if (open != NOT_KNOWN && !commit(&store, open)) {
            story->count = open;
            store = (struct trial){.story = story, .is_strict = true};
            for (int t = 0; t < open; t++)
                commit(&store, t);
        }
        open = NOT_KNOWN;
    }
    if (random_percent(random, 50))
        change_answer(random, story);
}

/* ---- as a file ---- */

static void put_cells(struct iso_text *text, const struct row *row, const bool *writes)
{
    const char *between = "";
    iso_text_put(text, "{");
    for (int c = 0; c < COLUMNS; c++) {
        if (writes && !writes[c])
            continue;
        iso_text_format(text, "%s\"%c\":", between, 'a' + c);
        if (row->cells[c] == NOTHING)
            iso_text_put(text, "null");
        else
            iso_text_put_signed(text, row->cells[c]);
        between = ",";
    }
    iso_text_put(text, "}");
}

static void put_test(struct iso_text *text, const struct condition *where, int column)
{
    static const char *const forms[] = {"TRUE",     "%c = %d",    "%c < %d",
                                        "%c <> %d", "%c IS NULL", "%c IS NOT DISTINCT FROM %d"};
    iso_text_format(text, forms[where->of[column]], 'a' + column, where->value[column]);
}

static void put_condition(struct iso_text *text, const struct condition *where)
{
    bool is_joined = joins(where);
    iso_text_put(text, where->is_not ? ",\"where\":\"NOT (" : ",\"where\":\"(");
    if (where->of[0] != ANY)
        put_test(text, where, 0);
    iso_text_put(text, !is_joined ? "" : where->is_or ? " OR " : " AND ");
    if (where->of[1] != ANY)
        put_test(text, where, 1);
    iso_text_put(text, ")\"");
}

static void put_totals(struct iso_text *text, const struct totals *totals)
{
    iso_text_format(text, ",\"agg\":{\"count\":%d,\"count(a)\":%d,\"sum(a)\":", totals->rows,
                    totals->cells);
    iso_text_format(text, totals->cells ? "%d}}" : "null}}", totals->sum);
}

static void put_bag(struct iso_text *text, const struct totals *totals)
{
    const char *between = "";
    iso_text_put(text, ",\"columns\":[\"a\"],\"bag\":[");
    for (int value = 0; value <= VALUES; value++)
        for (int i = 0; i < totals->values[value]; i++) {
            iso_text_format(text, value < VALUES ? "%s[%d]" : "%s[null]", between, value);
            between = ",";
        }
    iso_text_put(text, "]}");
}

static void put_query(struct iso_text *text, const struct operation *operation)
{
    const char *between = "";
    iso_text_format(text, "{\"t\":\"q\",\"table\":\"t\",\"from\":%d,\"to\":%d", operation->from,
                    operation->to);
    if (operation->where.of[0] != ANY || operation->where.of[1] != ANY)
        put_condition(text, &operation->where);
    if (operation->asked == TOTALS_ASKED)
        put_totals(text, &operation->totals);
    else if (operation->asked == BAG_ASKED)
        put_bag(text, &operation->totals);
    if (operation->asked != ROWS_ASKED)
        return;
    iso_text_put(text, operation->is_partial ? ",\"partial\":true,\"rows\":{" : ",\"rows\":{");
    for (int r = 0; r < ROWS; r++)
        if (operation->read[r].is_there) {
            iso_text_format(text, "%s\"%d\":", between, r);
            put_cells(text, &operation->read[r], NULL);
            between = ",";
        }
    iso_text_put(text, "}}");
}

static void put_operation(struct iso_text *text, const struct operation *operation)
{
    if (operation->kind == QUERY) {
        put_query(text, operation);
    } else if (operation->kind == DELETE) {
        iso_text_format(text, "{\"t\":\"d\",\"row\":\"t/%d\"}", operation->row);
    } else if (operation->kind == READ && !operation->read[0].is_there) {
        iso_text_format(text, "{\"t\":\"r\",\"k\":\"t/%d\",\"v\":null}", operation->row);
    } else {
        iso_text_format(text, "{\"t\":\"%s\",\"row\":\"t/%d\",\"cells\":",
                        operation->kind == READ ? "r" : "w", operation->row);
        put_cells(text, &operation->read[0], operation->kind == PUT ? operation->writes : NULL);
        iso_text_put(text, "}");
    }
}

static void put_transaction(struct iso_text *text, const struct story *story, int t)
{
    const struct transaction *it = &story->list[t];
    text->used = 0;
    iso_text_format(text, "{\"tid\":%d,\"sid\":%d,\"sno\":%d,\"ops\":[", t, it->session, t);
    for (int o = 0; o < it->count; o++) {
        iso_text_put(text, o ? "," : "");
        put_operation(text, &it->operations[o]);
    }
    iso_text_put(text, "]}");
}

static bool read_story(const struct story *story, struct iso_history *history)
{
    struct iso_native native;
    struct iso_native_fault fault;
    struct iso_text text = {0};
    bool fine = true;
    iso_native_init(&native);
    for (int i = 0; i < story->count && fine; i++) {
        put_transaction(&text, story, story->list[0].count % 2 ? story->count - 1 - i : i);
        char *padded = test_padded(text.bytes, text.used, '}');
        fine = iso_native_read_transaction(&native, padded, text.used, (uint64_t)i + 1, history,
                                           &fault) == ISO_OK;
        free(padded);
    }
    iso_text_release(&text);
    iso_native_release(&native);
    return fine;
}

/* ---- judging ---- */

enum { UNCONFIRMED = 100 };

static struct {
    uint64_t holds, violated, left, loose, weaker, committed;
} statistics;

static int judge_story(const struct story *story, enum iso_level level)
{
    struct iso_history history;
    struct iso_judgement judgement = {0};
    struct iso_judge_options options;
    struct iso_error error = ISO_NO_ERROR;
    int said = UNCONFIRMED;
    iso_history_init(&history);
    iso_judge_options_init(&options);
    options.order.level = level;
    if (read_story(story, &history) && iso_judge_finish(&history, NULL, &error) == ISO_OK &&
        iso_judge(&history, &options, &judgement, &error) == ISO_OK) {
        said = (int)judgement.outcome;
        bool confirms = level <= ISO_SER && said != ISO_IS_UNDECIDED;
        if (confirms && said == ISO_HOLDS && iso_history_leaves_queries(&history) &&
            !iso_judge_order_answers(&history, &judgement.result.evidence))
            said = UNCONFIRMED;
        if (confirms && iso_verify(&history, &judgement.result.evidence, &error) != ISO_CONFIRMED)
            said = UNCONFIRMED;
        if (level <= ISO_SER && said == ISO_IS_UNDECIDED && strcmp(judgement.reason, "row-sets"))
            said = UNCONFIRMED;
    }
    iso_judgement_release(&judgement);
    iso_history_release(&history);
    return said;
}

static void print(const struct story *story)
{
    struct iso_text text = {0};
    for (int t = 0; t < story->count; t++) {
        put_transaction(&text, story, t);
        printf("#   %.*s\n", (int)text.used, text.bytes);
    }
    iso_text_release(&text);
}

/* What some order explains, weaker levels allow. */
static bool breaks_a_weaker_level(const struct story *story)
{
    static const enum iso_level weaker[] = {ISO_PC,   ISO_PSI, ISO_CC, ISO_RA,
                                            ISO_PRAM, ISO_RC,  ISO_MR, ISO_WFR};
    for (size_t i = 0; i < sizeof weaker / sizeof *weaker; i++) {
        int said = judge_story(story, weaker[i]);
        if (said == ISO_IS_VIOLATED || said == UNCONFIRMED)
            return true;
        statistics.weaker += said == ISO_HOLDS;
    }
    return false;
}

/* Each read of a row as a query by its key. */
static struct story by_queries(const struct story *story)
{
    struct story other = *story;
    for (int t = 0; t < other.count; t++)
        for (int o = 0; o < other.list[t].count; o++) {
            struct operation *operation = &other.list[t].operations[o];
            struct row found = operation->read[0];
            if (operation->kind != READ)
                continue;
            *operation = (struct operation){
                .kind = QUERY, .row = operation->row, .from = operation->row, .to = operation->row};
            operation->read[operation->row] = found;
        }
    return other;
}

static bool differs(const struct story *story)
{
    bool strictly = has_order(story, true), loosely = has_order(story, false);
    int said = judge_story(story, story->is_serial ? ISO_SER : ISO_SI);
    statistics.holds += said == ISO_HOLDS;
    statistics.violated += said == ISO_IS_VIOLATED;
    statistics.left += said == ISO_IS_UNDECIDED;
    statistics.loose += strictly != loosely;
    struct story other = by_queries(story);
    return judge_story(&other, story->is_serial ? ISO_SER : ISO_SI) != said ||
           said == UNCONFIRMED || (said == ISO_HOLDS && !loosely) ||
           (said == ISO_IS_VIOLATED && strictly) || (strictly && breaks_a_weaker_level(story));
}

static bool breaks_read_committed(struct random *random, struct story *story)
{
    if (!draw_read_committed(random, story))
        return false;
    int said = judge_story(story, ISO_RC);
    statistics.committed += said == ISO_HOLDS;
    return said == ISO_IS_VIOLATED || said == UNCONFIRMED;
}

int main(int argc, char **argv)
{
    uint64_t histories = 20000, seed = 1;
    const struct argument known[] = {
        {"--histories", .number = &histories}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    for (uint64_t i = 0; i < histories; i++) {
        struct random random = {(seed + i) * 0x9e3779b97f4a7c15u};
        struct story story;
        draw_story(&random, &story);
        if (!differs(&story) && !breaks_read_committed(&random, &story))
            continue;
        printf("not ok - queries and the trial of all orders disagree, or rc is violated where it "
               "was kept: seed %" PRIu64 "%s\n",
               seed + i, story.is_serial ? ", at ser" : "");
        print(&story);
        return 1;
    }
    bool enough = statistics.holds > histories / 4 && statistics.violated > histories / 8 &&
                  statistics.left < histories / 4 && statistics.weaker > histories &&
                  statistics.committed > histories / 4;
    printf("%s - of %" PRIu64 " histories %" PRIu64 " hold, %" PRIu64 " are violated, %" PRIu64
           " left; of %" PRIu64 " the two ways to try differ; %" PRIu64
           " hold at weaker levels, %" PRIu64 " at rc\n",
           enough ? "ok" : "not ok", histories, statistics.holds, statistics.violated,
           statistics.left, statistics.loose, statistics.weaker, statistics.committed);
    return !enough;
}
