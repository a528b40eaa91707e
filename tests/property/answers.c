/* Queries against one another: what is so whatever the database holds.
 *
 *     partition    the answers to p, NOT p and (p) IS NULL are all rows, each once: told so, they
 *                  hold; with one row moved to another of the three, that row is missing there and
 *                  too much here
 *     key          a query whose bounds are one key is judged as a read of that row, also where
 *                  either was told something else
 *
 * Random small histories of one table: rows that are inserted, changed, deleted and inserted again,
 * cells with NULLs, a reader at a random moment between the commits.
 *
 *     answers [--histories N] [--seed N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge.h"
#include "native/native.h"
#include "predicate/condition.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"

enum { ROWS = 6, CELLS = 2, WRITERS = 12, ANSWERS = 3, NONE = -1 };

struct row {
    bool is_there;
    int cells[CELLS]; /* NONE: NULL */
};

struct trial {
    struct random random;
    struct iso_text lines; /* each with a zero byte behind it */
    uint32_t line_count, commits;
    struct row rows[ROWS]; /* as the reader has to see them */
    struct iso_text condition;
};

static struct {
    uint64_t empty, moved, told_otherwise, violated;
} statistics;

static uint32_t below(struct trial *trial, uint32_t bound)
{
    return random_below(&trial->random, bound);
}

static void fail(const struct trial *trial, const char *what)
{
    printf("not ok 1 - %s: %.*s\n", what, (int)trial->condition.used, trial->condition.bytes);
    const char *line = trial->lines.bytes;
    for (uint32_t i = 0; i < trial->line_count; i++, line += strlen(line) + 1)
        printf("# %s\n", line);
    exit(1);
}

/* ---- writing ---- */

static void put_cell(struct iso_text *text, int cell)
{
    if (cell == NONE)
        iso_text_put(text, "null");
    else
        iso_text_put_signed(text, cell);
}

static void put_cells(struct iso_text *text, const struct row *row)
{
    iso_text_put(text, "{\"a\":");
    put_cell(text, row->cells[0]);
    iso_text_put(text, ",\"b\":");
    put_cell(text, row->cells[1]);
    iso_text_put(text, "}");
}

static void begin_line(struct trial *trial, uint64_t sts, uint64_t cts)
{
    iso_text_format(&trial->lines,
                    "{\"tid\":\"t%u\",\"sid\":\"s%u\",\"sts\":%" PRIu64 ",\"cts\":%" PRIu64
                    ",\"ops\":[",
                    trial->line_count, trial->line_count, sts, cts);
}

static void end_line(struct trial *trial)
{
    iso_text_put(&trial->lines, "]}");
    iso_text_put_bytes(&trial->lines, "", 1);
    trial->line_count++;
}

static void write_row(struct trial *trial, struct row *rows)
{
    uint32_t key = below(trial, ROWS);
    struct row *row = &rows[key];
    uint64_t cts = 2 * ++trial->commits;
    begin_line(trial, cts - 1, cts);
    if (row->is_there && !below(trial, 3)) {
        row->is_there = false;
        iso_text_format(&trial->lines, "{\"t\":\"d\",\"row\":\"t/%u\"}", key);
    } else {
        row->is_there = true;
        for (int c = 0; c < CELLS; c++)
            row->cells[c] = (int)below(trial, 5) - 1;
        iso_text_format(&trial->lines, "{\"t\":\"w\",\"row\":\"t/%u\",\"cells\":", key);
        put_cells(&trial->lines, row);
        iso_text_put(&trial->lines, "}");
    }
    end_line(trial);
}

/* The reader stands behind some of them: its moment is between two commits. */
static void make_history(struct trial *trial)
{
    struct row rows[ROWS] = {{0}};
    uint32_t seen = below(trial, WRITERS + 1);
    trial->lines.used = trial->condition.used = 0;
    trial->line_count = trial->commits = 0;
    memcpy(trial->rows, rows, sizeof rows);
    for (uint32_t i = 0; i < WRITERS; i++) {
        write_row(trial, rows);
        if (i + 1 == seen)
            memcpy(trial->rows, rows, sizeof rows);
    }
    trial->commits = seen;
}

static void begin_reader(struct trial *trial)
{
    uint64_t moment = 2 * (uint64_t)trial->commits + 1;
    iso_text_format(&trial->lines,
                    "{\"tid\":\"reader\",\"sid\":\"reader\",\"sts\":%" PRIu64 ",\"cts\":%" PRIu64
                    ",\"ops\":[",
                    moment, moment);
}

/* ---- judging ---- */

static bool is_of_reader(const struct iso_history *history, const struct iso_violation *violation)
{
    return violation->transaction == history->txns.count - 1;
}

struct said {
    enum iso_outcome outcome;
    uint64_t rows, others; /* rows that are missing, or too much: one of each key */
};

static void count_violations(const struct trial *trial, const struct iso_judgement *judgement,
                             struct said *said)
{
    for (uint32_t i = 0; i < judgement->verdict.violation_count; i++) {
        const struct iso_violation *violation = &judgement->verdict.violations[i];
        if (!is_of_reader(judgement->history, violation))
            fail(trial, "another one is blamed");
        bool is_row = violation->kind == ISO_MISSING_ROW || violation->kind == ISO_EXTRA_ROW;
        *(is_row ? &said->rows : &said->others) += 1;
    }
}

static struct said judge(const struct trial *trial)
{
    struct iso_history history;
    struct iso_native native;
    struct iso_native_fault fault;
    struct iso_text padded = {0};
    struct iso_error error = ISO_NO_ERROR;
    struct iso_judge_options options;
    struct iso_judgement judgement;
    struct said said = {.rows = 0};
    const char *line = trial->lines.bytes;
    iso_history_init(&history);
    iso_native_init(&native);
    for (uint32_t i = 0; i < trial->line_count; i++, line += strlen(line) + 1) {
        padded.used = 0;
        iso_text_put(&padded, line);
        memset(iso_text_reserve(&padded, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
        if (iso_native_read_transaction(&native, padded.bytes, padded.used, iso_origin(0, i + 1),
                                        &history, &fault) != ISO_OK)
            fail(trial, "a line is not read");
    }
    iso_judge_options_init(&options);
    if (iso_judge_finish(&history, NULL, &error) != ISO_OK ||
        iso_judge(&history, &options, &judgement, &error) != ISO_OK)
        fail(trial, error.text);
    said.outcome = judgement.outcome;
    count_violations(trial, &judgement, &said);
    iso_judgement_release(&judgement);
    iso_native_release(&native);
    iso_history_release(&history);
    iso_text_release(&padded);
    return said;
}

/* ---- the three answers ---- */

static void put_test(struct trial *trial)
{
    static const char *const tests[] = {"a = %u",  "b <> %u",      "a < %u",
                                        "b >= %u", "a IN (%u, 3)", "a BETWEEN %u AND 2"};
    static const char *const others[] = {"a = b", "a IS DISTINCT FROM b", "b IS NULL", "a <> b",
                                         "a NOT IN (1, NULL)"};
    if (below(trial, 3))
        iso_text_format(&trial->condition, tests[below(trial, 6)], below(trial, 4));
    else
        iso_text_put(&trial->condition, others[below(trial, 5)]);
}

static void put_condition(struct trial *trial, int depth)
{
    if (!depth || !below(trial, 3)) {
        put_test(trial);
        return;
    }
    iso_text_put(&trial->condition, below(trial, 4) ? "(" : "NOT (");
    put_condition(trial, depth - 1);
    iso_text_put(&trial->condition, below(trial, 2) ? " AND " : " OR ");
    put_condition(trial, depth - 1);
    iso_text_put(&trial->condition, ")");
}

/* To which of the answers the row belongs. */
static int answer_of(const struct iso_condition *condition, const struct row *row)
{
    struct iso_scalar cells[CELLS];
    for (uint32_t i = 0; i < condition->column_count; i++) {
        int cell = row->cells[*condition->columns[i].name.at - 'a'];
        cells[i] = cell == NONE ? iso_scalar_of_kind(ISO_SCALAR_NULL) : iso_scalar_integer(cell);
    }
    iso_truth truth = iso_condition_judge(condition, cells);
    return truth == ISO_TRUTH_TRUE ? 0 : truth == ISO_TRUTH_FALSE ? 1 : 2;
}

static void find_answers(struct trial *trial, int *answers)
{
    static const struct iso_scalar_type types[CELLS] = {{.value = {.kind = ISO_VALUE_INTEGER}},
                                                        {.value = {.kind = ISO_VALUE_INTEGER}}};
    struct iso_condition condition;
    struct iso_error error = ISO_NO_ERROR;
    if (iso_condition_parse(&condition, trial->condition.bytes, trial->condition.used, &error) !=
        ISO_OK)
        fail(trial, error.text);
    iso_condition_bind(&condition, types);
    for (int key = 0; key < ROWS; key++)
        answers[key] = trial->rows[key].is_there ? answer_of(&condition, &trial->rows[key]) : NONE;
    iso_condition_release(&condition);
}

static void ask_three(struct trial *trial, const int *answers)
{
    static const char *const forms[ANSWERS] = {"%.*s", "NOT (%.*s)", "(%.*s) IS NULL"};
    begin_reader(trial);
    for (int answer = 0; answer < ANSWERS; answer++) {
        bool is_first = true;
        iso_text_put(&trial->lines, answer ? "," : "");
        iso_text_put(&trial->lines, "{\"t\":\"q\",\"table\":\"t\",\"where\":\"");
        iso_text_format(&trial->lines, forms[answer], (int)trial->condition.used,
                        trial->condition.bytes);
        iso_text_put(&trial->lines, "\",\"rows\":{");
        for (int key = 0; key < ROWS; key++) {
            if (answers[key] != answer)
                continue;
            iso_text_format(&trial->lines, is_first ? "\"%d\":" : ",\"%d\":", key);
            put_cells(&trial->lines, &trial->rows[key]);
            is_first = false;
        }
        iso_text_put(&trial->lines, "}}");
    }
    end_line(trial);
}

static void try_partition(struct trial *trial)
{
    int answers[ROWS];
    make_history(trial);
    put_condition(trial, 2);
    find_answers(trial, answers);
    uint32_t key = below(trial, ROWS);
    bool is_moved = answers[key] != NONE && below(trial, 2);
    statistics.moved += is_moved;
    statistics.empty += answers[key] == NONE;
    if (is_moved)
        answers[key] = (answers[key] + 1 + (int)below(trial, 2)) % ANSWERS;
    ask_three(trial, answers);
    struct said said = judge(trial);
    if (said.outcome != (is_moved ? ISO_IS_VIOLATED : ISO_HOLDS))
        fail(trial, "three answers that are not all rows hold, or those that are do not");
    if (said.rows != is_moved || said.others)
        fail(trial, "not the row that was moved");
}

/* ---- one key ---- */

static void tell_otherwise(struct trial *trial, struct row *row)
{
    statistics.told_otherwise++;
    if (!row->is_there || !below(trial, 2))
        row->is_there = !row->is_there;
    else
        row->cells[below(trial, CELLS)] = (int)below(trial, 5) - 1;
}

static void ask_row(struct trial *trial, uint32_t key, const struct row *row, bool by_query)
{
    begin_reader(trial);
    iso_text_format(&trial->lines,
                    by_query
                        ? "{\"t\":\"q\",\"table\":\"t\",\"from\":\"%u\",\"to\":\"%u\",\"rows\":{"
                        : "{\"t\":\"r\",\"row\":\"t/%u\"",
                    key, key);
    if (by_query && row->is_there)
        iso_text_format(&trial->lines, "\"%u\":", key);
    else if (!by_query)
        iso_text_put(&trial->lines, row->is_there ? ",\"cells\":" : ",\"v\":null");
    if (row->is_there)
        put_cells(&trial->lines, row);
    iso_text_put(&trial->lines, by_query ? "}}" : "}");
    end_line(trial);
}

static void try_key(struct trial *trial)
{
    make_history(trial);
    uint32_t key = below(trial, ROWS), lines = trial->line_count;
    size_t used = trial->lines.used;
    struct row row = trial->rows[key];
    if (below(trial, 2))
        tell_otherwise(trial, &row);
    ask_row(trial, key, &row, false);
    struct said of_read = judge(trial);
    trial->lines.used = used;
    trial->line_count = lines;
    ask_row(trial, key, &row, true);
    struct said of_query = judge(trial);
    statistics.violated += of_read.outcome == ISO_IS_VIOLATED;
    if (of_read.outcome != of_query.outcome ||
        of_read.rows + of_read.others != of_query.rows + of_query.others)
        fail(trial, "a query by key is another than a read of the row");
}

int main(int count, char **arguments)
{
    uint64_t histories = 2000, seed = 33;
    const struct argument known[] = {
        {"--histories", .number = &histories}, {"--seed", .number = &seed}, {0}};
    struct trial trial = {.line_count = 0};
    if (!arguments_read(known, count, arguments))
        return 2;
    trial.random.state = seed;
    for (uint64_t i = 0; i < histories; i++) {
        try_partition(&trial);
        try_key(&trial);
    }
    iso_text_release(&trial.lines);
    iso_text_release(&trial.condition);
    bool is_enough = statistics.moved > histories / 16 && statistics.violated > histories / 8;
    printf("# %" PRIu64 " rows moved, %" PRIu64 " not there; of %" PRIu64
           " reads that were told otherwise %" PRIu64 " were found\n",
           statistics.moved, statistics.empty, statistics.told_otherwise, statistics.violated);
    printf(
        "%sok 1 - answers to p, NOT p and p IS NULL are all rows; a key's query is its read\n1..1\n",
        is_enough ? "" : "not ");
    return !is_enough;
}
