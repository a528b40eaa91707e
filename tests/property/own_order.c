/* What a client wrote without listing it gets a place by what its reads show
 * (src/streams/join/own.h).
 *
 * A transaction writes and reads a few rows of few values. Its record lists all of its reads, and
 * of its writes none, some or all; the stream has each change. In some cases one value of a read is
 * another one. The model tries every order of a row's states that the record leaves: if there is
 * one in which all reads of the row are right, none of what the join gives may contradict the
 * writes in front of it, or what the snapshot had; if there is none, some read of it must. Nothing
 * is left out.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arguments.h"
#include "tests/support/join_bench.h"
#include "tests/support/random.h"

enum { ROWS = 3, COLUMNS = 2, STEPS_MOST = 12, TEXT = 8192 };

struct row {
    bool there;
    uint32_t cells[COLUMNS];
};

struct seen {
    struct row row;
    uint32_t listed; /* writes of the row that the record lists in front of it */
    uint32_t state;  /* the true one */
};

struct model {
    struct row states[ROWS][STEPS_MOST + 1];
    uint32_t changes[ROWS], listed[ROWS], seen_count[ROWS];
    struct seen seen[ROWS][STEPS_MOST];
    char operations[TEXT];
};

static bool covers(void *context, const char *table, size_t length)
{
    (void)context;
    return length == 1 && *table == 't';
}

static enum iso_column_coverage covers_column(void *context, const char *table, size_t length,
                                              const char *column, size_t column_length)
{
    (void)context;
    (void)table;
    (void)length;
    (void)column;
    (void)column_length;
    return ISO_COLUMN_SHOWN;
}

/* ---- what happens ---- */

static void put(struct model *model, const char *format, ...)
{
    size_t used = strlen(model->operations);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->operations + used, TEXT - used, format, arguments);
    va_end(arguments);
}

static void put_row(struct model *model, const struct row *row)
{
    put(model, "{");
    for (uint32_t c = 0; c < COLUMNS; c++)
        put(model, "%s'%c':'%u'", c ? "," : "", 'a' + c, row->cells[c]);
    put(model, "}");
}

static struct row *now_of(struct model *model, uint32_t r)
{
    return &model->states[r][model->changes[r]];
}

static void write_row(struct random *random, struct model *model, struct join_bench *bench,
                      uint64_t lsn, uint32_t r)
{
    struct row before = *now_of(model, r), after = before;
    char cells[64] = "", key[8];
    bool deletes = before.there && random_percent(random, 25),
         shows_all = random_percent(random, 50);
    after.there = !deletes;
    for (uint32_t c = 0; !deletes && c < COLUMNS; c++) {
        if (!before.there || random_percent(random, 60))
            after.cells[c] = 1 + random_below(random, 3);
        if (!before.there || shows_all || after.cells[c] != before.cells[c])
            sprintf(cells + strlen(cells), "%s%c:?>%u", *cells ? " " : "", 'a' + c, after.cells[c]);
    }
    model->states[r][++model->changes[r]] = after;
    sprintf(key, "t/%u", r + 1);
    struct iso_event row = join_bench_row(bench, key, NULL, NULL);
    row.transaction_id = 700;
    row.position[0] = 10;
    row.position[1] = lsn;
    row.flags = ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION;
    join_bench_row_of_cells(bench, row, deletes ? 'd' : before.there ? 'u' : 'c', cells);
}

static void note_seen(struct random *random, struct model *model, uint32_t r, bool lies)
{
    struct seen *seen = &model->seen[r][model->seen_count[r]++];
    *seen = (struct seen){*now_of(model, r), model->listed[r], model->changes[r]};
    if (lies && seen->row.there)
        seen->row.cells[random_below(random, COLUMNS)] = 1 + random_below(random, 3);
}

static void read_rows(struct random *random, struct model *model, uint32_t r, bool lies)
{
    bool asks = random_percent(random, 30), is_first = true;
    put(model, asks ? ",{'t':'q','table':'t','partial':true,'rows':{" : ",");
    for (uint32_t i = asks ? 0 : r; i < (asks ? ROWS : r + 1); i++) {
        if (asks && !now_of(model, i)->there)
            continue;
        note_seen(random, model, i, lies && i == r);
        const struct row *row = &model->seen[i][model->seen_count[i] - 1].row;
        if (asks)
            put(model, "%s'%u':", is_first ? "" : ",", i + 1);
        else
            put(model,
                row->there ? "{'t':'r','row':'t/%u','cells':" : "{'t':'r','row':'t/%u','v':null}",
                i + 1);
        if (row->there)
            put_row(model, row);
        if (!asks && row->there)
            put(model, "}");
        is_first = false;
    }
    put(model, asks ? "}}" : "");
}

/* ---- what it means ---- */

static bool same(const struct row *one, const struct row *other)
{
    return one->there == other->there &&
           (!one->there || !memcmp(one->cells, other->cells, sizeof one->cells));
}

/* Whether some order of states explains what was seen from number `i` on, none of it before state
 * `from`. */
static bool is_explained(const struct model *model, uint32_t r, uint32_t i, uint32_t from)
{
    if (i == model->seen_count[r])
        return true;
    const struct seen *seen = &model->seen[r][i];
    bool in_order = model->listed[r] == model->changes[r];
    for (uint32_t state = from; state <= model->changes[r]; state++)
        if ((!in_order || state == seen->listed) && same(&model->states[r][state], &seen->row) &&
            is_explained(model, r, i + 1, state))
            return true;
    return false;
}

static const char *value_of(struct row *row, const char *key, char text[16])
{
    if (!key[3])
        return row->there ? "true" : "-";
    sprintf(text, "%u", row->cells[key[4] - 'a']);
    return text;
}

/* Which rows are read otherwise than as what stands in front of it says. */
static uint32_t contradicted(const struct model *model, const char *steps)
{
    struct row rows[ROWS];
    uint32_t wrong = 0;
    char *copy = strdup(strchr(steps, '{') + 1), *rest = copy, text[16];
    for (uint32_t r = 0; r < ROWS; r++)
        rows[r] = model->states[r][0];
    *strchr(copy, '}') = 0;
    for (char *operation = strsep(&rest, ","); operation && *operation;
         operation = strsep(&rest, ",")) {
        char *key = operation + 2, *value = strchr(key, '=');
        if (value)
            *value++ = 0;
        if (key[1] == '#')
            continue;
        struct row *row = &rows[key[2] - '1'];
        if (*operation == 'r')
            wrong |= (uint32_t)(strcmp(value, value_of(row, key, text)) != 0) << (key[2] - '1');
        else if (!key[3])
            row->there = *operation == 'w';
        else
            row->cells[key[4] - 'a'] = (uint32_t)atoi(value);
    }
    free(copy);
    return wrong;
}

/* ---- one case ---- */

static bool try_case(uint64_t seed, uint64_t *lies_found)
{
    struct random random = {seed};
    struct iso_join_options options = {.kind = "debezium",
                                       .initial_known = true,
                                       .clients = true,
                                       .records_first = true,
                                       .covers = covers,
                                       .has_cells = covers,
                                       .covers_column = covers_column};
    struct join_bench bench;
    struct model model = {0};
    uint32_t steps = 2 + random_below(&random, STEPS_MOST - 2), rows = 0,
             listed = random_below(&random, 3) * 50;
    uint32_t lie = random_percent(&random, 50) ? random_below(&random, steps) : ISO_NONE,
             explained = 0;
    char record[TEXT + 256];
    join_bench_open(&bench, &options);
    for (uint32_t r = 0; r < ROWS; r++)
        model.states[r][0] =
            (struct row){random_percent(&random, 70), {1 + random_below(&random, 3), 1}};
    put(&model, "{'t':'r','k':'u/0','v':1}");
    for (uint32_t s = 0; s < steps; s++) {
        uint32_t r = random_below(&random, ROWS);
        if (random_percent(&random, 60)) {
            read_rows(&random, &model, r, s == lie);
            continue;
        }
        write_row(&random, &model, &bench, 20 + rows++, r);
        if (!random_percent(&random, listed))
            continue;
        model.listed[r]++;
        put(&model,
            now_of(&model, r)->there ? ",{'t':'w','row':'t/%u'}" : ",{'t':'d','row':'t/%u'}",
            r + 1);
    }
    /* Who has an xid, and of whom no row came, may have written what is still on its way: it would
     * wait. */
    snprintf(record, sizeof record, "{'tid':1,'sid':1,%s%s,'writes':'cdc','ops':[%s]}",
             rows ? "'xid':700," : "",
             random_percent(&random, 50) ? "'sts':5" : "'snapshot':'700:700:'", model.operations);
    join_bench_record(&bench, record);
    if (rows)
        join_bench_end(&bench, 700, rows, 30);
    iso_join_end(bench.join, bench.now);
    const char *given = join_bench_steps(&bench);
    for (uint32_t r = 0; r < ROWS; r++)
        explained |= (uint32_t)is_explained(&model, r, 0, 0) << r;
    uint32_t wrong = contradicted(&model, given);
    bool fine = (wrong ^ explained) == (1u << ROWS) - 1 &&
                !stats_of(&bench).reads_gone[ISO_READS_OWN_ORDER];
    *lies_found += wrong != 0;
    if (!fine)
        fprintf(stderr, "# seed %" PRIu64 ": explained %x, wrong %x\n# %s\n# %s\n", seed, explained,
                wrong, record, given);
    join_bench_close(&bench);
    return fine;
}

int main(int count, char **words)
{
    uint64_t seed = 1, histories = 2000, lies = 0;
    const struct argument known[] = {
        {"--seed", &seed, NULL}, {"--histories", &histories, NULL}, {NULL, NULL, NULL}};
    if (!arguments_read(known, count, words))
        return 2;
    bool fine = true;
    for (uint64_t i = 0; fine && i < histories; i++)
        fine = try_case(seed * 1000003 + i, &lies);
    printf("1..2\n%sok 1 - own writes stand where reads show them\n", fine ? "" : "not ");
    printf("%sok 2 - what no order explains is found: %" PRIu64 " of %" PRIu64 "\n",
           lies ? "" : "not ", lies, histories);
    return !fine || !lies;
}
