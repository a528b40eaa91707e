/* Rows whose columns are registers, through change streams: transactions run on a small table at snapshot isolation,
 * clients record which cells they read and wrote, the feed has the rows; and the pipeline must find what chronos finds in
 * a file that has every cell.
 *
 * Triggers write columns that no client lists, some clients list no column at all, updates change nothing, rows are
 * inserted, deleted and inserted again; some clients' records are withheld. Some reads are lies, some databases let two
 * transactions update one row. Between batches the pipeline is saved and restored at times. Where a stream comes alone,
 * it must fit together.
 *
 * cell_feeds [--histories N] [--seed S] [--format F]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "chronos/chronos.h"
#include "connectors/debezium/debezium.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "pipeline/pipeline.h"
#include "rowsets/rowsets.h"
#include "tests/support/arguments.h"
#include "tests/support/feed_debezium.h"
#include "tests/support/feed_ticdc.h"
#include "tests/support/feed_yugabyte.h"
#include "tests/support/random.h"
#include "tests/support/restored.h"

enum {
    TRANSACTIONS = 24,
    ACTIVE = 4,
    OPERATIONS = 5,
    ROWS = 4,
    TEXT = 120,
    FOUND = 2000,
    FIRST_XID = 700,
    MAX_REPORTS = 3,
    NULL_VALUE = -1
};

struct format {
    const char *name, *kind, *protocol;
    enum feed_debezium_format encoding;
    bool alone, binlog, logical;
};

static const struct format formats[] = {
    {"debezium-json", "debezium", NULL, FEED_JSON, false, false, false},
    {"debezium-json-schemas", "debezium", NULL, FEED_JSON_SCHEMAS, false, false, false},
    {"debezium-avro", "debezium", NULL, FEED_AVRO, false, false, false},
    {"debezium-protobuf", "debezium", NULL, FEED_PROTOBUF, false, false, false},
    {"mariadb-alone", "debezium", NULL, FEED_JSON, true, true, false},
    {"mariadb-avro-alone", "debezium", NULL, FEED_AVRO, true, true, false},
    {"ticdc-canal-json", "ticdc", "canal-json", FEED_JSON, false, false, false},
    {"ticdc-open-protocol", "ticdc", "open-protocol", FEED_JSON, false, false, false},
    {"ticdc-simple", "ticdc", "simple", FEED_JSON, false, false, false},
    {"ticdc-debezium", "ticdc", "debezium", FEED_JSON, false, false, false},
    {"ticdc-alone", "ticdc", "canal-json", FEED_JSON, true, false, false},
    {"yugabyte", "yugabyte", NULL, FEED_JSON, false, false, false},
    {"yugabyte-alone", "yugabyte", NULL, FEED_JSON, true, false, false},
};

struct cells {
    bool exists;
    int v, w; /* NULL_VALUE: null */
};

struct version {
    uint64_t cts;
    struct cells cells;
};

/* What a transaction did to a row. `lists_v`, `lists_w`: the client says so. */
struct operation {
    enum { READ, INSERT, UPDATE, DELETE, QUERY } kind;
    uint32_t row;
    bool lists_v, lists_w;
    bool sets_v, sets_w;
    struct cells seen, before, after; /* READ: what was found; else the row's, at its commit */
    /* QUERY of the table of `row`: v >= least, or, 0, of all rows; which rows it returned, and what they were. */
    int least;
    bool returned[ROWS];
    struct cells rows[ROWS];
};

struct transaction {
    uint64_t sts, cts; /* cts 0: it aborted */
    bool withheld, is_active, writes;
    uint64_t xmin, xmax, xip[ACTIVE];
    uint32_t xip_count, operation_count;
    struct operation operations[OPERATIONS];
    struct cells view[ROWS]; /* its own */
    bool wrote[ROWS];
};

struct run {
    const struct format *format;
    struct random random;
    bool lies, conflicts; /* reads do; the database lets writers of one row overlap */
    uint64_t now;
    uint32_t count;
    struct transaction list[TRANSACTIONS];
    struct cells initial[ROWS], now_of[ROWS];
    uint64_t changed[ROWS][2]; /* the newest commit to v, to w */
    uint64_t base;             /* of timestamps */
    struct {
        uint32_t count;
        char list[FOUND][TEXT];
    } expected, found;
    uint32_t of_chronos; /* of those expected */
    char failure[ISO_ERROR_TEXT];
    uint64_t violated, adopted, repeats, queries, of_queries;
};

static bool is_of(const struct run *run, const char *kind)
{
    return !strcmp(run->format->kind, kind);
}

/* ---- the database ---- */

static bool writes(const struct operation *operation)
{
    return operation->kind != READ && operation->kind != QUERY;
}

static int draw_value(struct run *run)
{
    return random_percent(&run->random, 15) ? NULL_VALUE : (int)random_below(&run->random, 4);
}

static void begin(struct run *run, uint32_t t)
{
    struct transaction *transaction = &run->list[t];
    *transaction = (struct transaction){.sts = ++run->now, .is_active = true};
    transaction->xmin = transaction->xmax = FIRST_XID + t;
    for (uint32_t i = 0; i < t; i++)
        if (run->list[i].is_active) {
            transaction->xip[transaction->xip_count++] = FIRST_XID + i;
            transaction->xmin = FIRST_XID + i < transaction->xmin ? FIRST_XID + i : transaction->xmin;
        }
    memcpy(transaction->view, run->now_of, sizeof run->now_of);
}

static bool wrote_row(const struct transaction *transaction, uint32_t row)
{
    return transaction->wrote[row];
}

static bool matches(const struct operation *query, uint32_t row, const struct cells *cells)
{
    return row % 2 == query->row % 2 && cells->exists &&
           (!query->least || (cells->v != NULL_VALUE && cells->v >= query->least));
}

static void ask(struct run *run, const struct transaction *transaction, struct operation *query)
{
    query->kind = QUERY;
    query->least = (int)random_below(&run->random, 4);
    for (uint32_t row = 0; row < ROWS; row++) {
        query->rows[row] = transaction->view[row];
        query->returned[row] = matches(query, row, &query->rows[row]);
    }
}

static void operate(struct run *run, struct transaction *transaction)
{
    struct operation *operation = &transaction->operations[transaction->operation_count++];
    struct random *random = &run->random;
    uint32_t row = random_below(random, ROWS);
    struct cells *view = &transaction->view[row];
    *operation = (struct operation){.row = row, .lists_v = random_percent(random, 70), .seen = *view};
    operation->lists_w = random_percent(random, 70);
    /* net changes: one write of a row for each transaction has its place */
    bool reads = random_percent(random, 45) || (!is_of(run, "debezium") && wrote_row(transaction, row));
    if (reads && random_percent(random, 40))
        ask(run, transaction, operation);
    if (reads)
        return;
    operation->kind = !view->exists ? INSERT : random_percent(random, 75) ? UPDATE : DELETE;
    operation->before = *view;
    if (operation->kind == INSERT)
        *view = (struct cells){true, draw_value(run), draw_value(run)};
    operation->sets_v = operation->kind == INSERT || (operation->kind == UPDATE && operation->lists_v);
    operation->sets_w =
        operation->kind == INSERT || (operation->kind == UPDATE && (operation->lists_w || random_percent(random, 30)));
    if (operation->kind == UPDATE && operation->sets_v)
        view->v = draw_value(run);
    if (operation->kind == UPDATE && operation->sets_w)
        view->w = draw_value(run);
    if (operation->kind == DELETE)
        *view = (struct cells){false, NULL_VALUE, NULL_VALUE};
    operation->after = *view;
    transaction->wrote[row] = transaction->writes = true;
}

/* Columns are locked, not rows, unless a row comes or goes. */
static bool may_commit(const struct run *run, const struct transaction *transaction)
{
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        const struct operation *operation = &transaction->operations[i];
        const uint64_t *changed = run->changed[operation->row];
        bool by_column = is_of(run, "yugabyte") && operation->kind == UPDATE && run->now_of[operation->row].exists;
        if (!writes(operation))
            continue;
        if (by_column ? (operation->sets_v && changed[0] > transaction->sts) ||
                            (operation->sets_w && changed[1] > transaction->sts)
                      : changed[0] > transaction->sts || changed[1] > transaction->sts)
            return false;
    }
    return true;
}

/* Writes what it wrote on what is there; false: it cannot be. */
static bool apply(struct run *run, struct transaction *transaction)
{
    struct cells rows[ROWS];
    memcpy(rows, run->now_of, sizeof rows);
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        struct operation *operation = &transaction->operations[i];
        struct cells *row = &rows[operation->row];
        if (!writes(operation))
            continue;
        if (row->exists != (operation->kind != INSERT))
            return false;
        struct cells set = operation->after;
        operation->before = *row;
        row->exists = operation->kind != DELETE;
        row->v = operation->sets_v || operation->kind == DELETE ? set.v : row->v;
        row->w = operation->sets_w || operation->kind == DELETE ? set.w : row->w;
        operation->after = *row;
    }
    memcpy(run->now_of, rows, sizeof rows);
    return true;
}

static void commit(struct run *run, struct transaction *transaction)
{
    transaction->is_active = false;
    run->now++;
    if (!transaction->writes) {
        transaction->cts = run->now;
        return;
    }
    bool fits = may_commit(run, transaction) || (run->conflicts && random_percent(&run->random, 50));
    if (!fits || random_percent(&run->random, 5) || !apply(run, transaction))
        return;
    transaction->cts = run->now;
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        const struct operation *operation = &transaction->operations[i];
        uint64_t *changed = run->changed[operation->row];
        bool all = operation->kind == INSERT || operation->kind == DELETE || !is_of(run, "yugabyte");
        if (!writes(operation))
            continue;
        changed[0] = all || operation->sets_v ? run->now : changed[0];
        changed[1] = all || operation->sets_w ? run->now : changed[1];
    }
    transaction->withheld = random_percent(&run->random, 15) && !is_of(run, "yugabyte");
}

static void execute(struct run *run)
{
    uint32_t begun = 0, active = 0, wanted = 3 + random_below(&run->random, TRANSACTIONS - 3);
    for (uint32_t row = 0; row < ROWS; row++) {
        bool exists = !row || random_percent(&run->random, 50); /* one, so that there is a snapshot */
        run->initial[row] =
            (struct cells){exists, exists ? draw_value(run) : NULL_VALUE, exists ? draw_value(run) : NULL_VALUE};
        run->now_of[row] = run->initial[row];
        run->changed[row][0] = run->changed[row][1] = 0;
    }
    run->count = wanted;
    while (begun < wanted || active) {
        uint32_t t = random_below(&run->random, begun + 1);
        if (t == begun) {
            if (begun == wanted || active == ACTIVE)
                continue;
            begin(run, begun++);
            active++;
        } else if (run->list[t].is_active) {
            if (run->list[t].operation_count < OPERATIONS && random_percent(&run->random, 70))
                operate(run, &run->list[t]);
            else if (run->list[t].operation_count)
                active--, commit(run, &run->list[t]);
        }
    }
}

/* Reads of what was not there, or is not what a client reads. */
static void lie(struct run *run)
{
    for (uint32_t t = 0; run->lies && t < run->count; t++)
        for (uint32_t i = 0; i < run->list[t].operation_count; i++) {
            struct operation *operation = &run->list[t].operations[i];
            if (writes(operation) || random_percent(&run->random, 85))
                continue;
            if (operation->kind == QUERY) {
                uint32_t row = random_below(&run->random, ROWS / 2) * 2 + operation->row % 2;
                operation->returned[row] = !operation->returned[row];
                operation->rows[row].exists = true;
                continue;
            }
            operation->seen.exists |= random_percent(&run->random, 30);
            if (operation->seen.exists) {
                operation->seen.v = draw_value(run);
                operation->seen.w = random_percent(&run->random, 50) ? draw_value(run) : operation->seen.w;
            }
        }
}

/* ---- texts ---- */

static const char *key_of(const struct run *run, uint32_t row, char key[TEXT])
{
    snprintf(key, TEXT, is_of(run, "ticdc") ? "test.t%u/%u" : "public.t%u/%u", row % 2, row + 1);
    return key;
}

static const char *second_column(const struct run *run)
{
    return is_of(run, "debezium") ? "amt" : "w";
}

/* As the stream has it. `w` of Debezium's feed is a decimal, which only schemas tell. */
static const char *text_of(const struct run *run, bool is_w, int value, char text[TEXT])
{
    const char bytes[] = {0, (char)value};
    if (!is_w || !is_of(run, "debezium"))
        snprintf(text, TEXT, "%d", value);
    else if (run->format->encoding == FEED_JSON) {
        iso_base64_encode((const uint8_t *)bytes, 2, text);
        text[4] = 0;
    } else
        snprintf(text, TEXT, "%d.%02d", value / 100, value % 100);
    return text;
}

static iso_atom atom_of(struct run *run, struct iso_history *history, bool is_w, int value)
{
    char text[TEXT];
    if (value == NULL_VALUE)
        return ISO_ABSENT;
    text_of(run, is_w, value, text);
    return iso_atoms_text(&history->atoms, text, strlen(text));
}

static iso_atom add_text(struct iso_history *history, const char *text)
{
    return iso_atoms_text(&history->atoms, text, strlen(text));
}

static void name_of(const struct run *run, uint32_t t, char name[TEXT])
{
    if (is_of(run, "yugabyte"))
        feed_yugabyte_id(t, name);
    else
        snprintf(name, TEXT, "%u", t + 1);
}

/* ---- what the join must make of it ---- */

static void put_cell(struct run *run, struct iso_history *history, enum iso_operation_kind kind, uint32_t row,
                     bool is_w, int value, bool lock)
{
    char key[TEXT], cell[TEXT * 2];
    snprintf(cell, sizeof cell, "%s#%s", key_of(run, row, key), is_w ? second_column(run) : "v");
    iso_atom atom = atom_of(run, history, is_w, value);
    iso_history_operation(history, kind == ISO_WRITE && atom == ISO_ABSENT ? ISO_DELETE : kind, add_text(history, cell),
                          atom);
    if (lock)
        iso_history_set_lock(history);
}

static void put_row(struct run *run, struct iso_history *history, enum iso_operation_kind kind, uint32_t row,
                    bool exists, bool lock)
{
    char key[TEXT];
    iso_history_operation(history, kind, add_text(history, key_of(run, row, key)),
                          exists ? add_text(history, "true") : ISO_ABSENT);
    if (lock)
        iso_history_set_lock(history);
}

/* An update that left all as it was has no row in a stream of net changes. */
static bool has_row(const struct run *run, const struct operation *operation)
{
    return !is_of(run, "ticdc") || operation->kind != UPDATE || operation->before.v != operation->after.v ||
           operation->before.w != operation->after.w;
}

static void tell_write(struct run *run, struct iso_history *history, const struct operation *operation, bool foreign)
{
    uint32_t row = operation->row;
    bool insert = operation->kind == INSERT, update = operation->kind == UPDATE, lists = !foreign;
    bool changes_v = operation->before.v != operation->after.v, changes_w = operation->before.w != operation->after.w;
    bool columns_only = is_of(run, "yugabyte") && update;
    if (!has_row(run, operation))
        return;
    if (operation->kind == DELETE) {
        put_row(run, history, ISO_DELETE, row, false, foreign);
        return;
    }
    if (!columns_only)
        put_row(run, history, ISO_WRITE, row, true, foreign);
    if (insert || changes_v || (lists && operation->lists_v && operation->sets_v))
        put_cell(run, history, ISO_WRITE, row, false, operation->after.v, foreign);
    if (insert || changes_w || (lists && operation->lists_w && operation->sets_w))
        put_cell(run, history, ISO_WRITE, row, true, operation->after.w, foreign);
    run->adopted += lists && ((changes_v && !operation->lists_v) || (changes_w && !operation->lists_w));
}

static void tell_read(struct run *run, struct iso_history *history, const struct operation *operation)
{
    put_row(run, history, ISO_READ, operation->row, operation->seen.exists, false);
    if (operation->seen.exists && operation->lists_v)
        put_cell(run, history, ISO_READ, operation->row, false, operation->seen.v, false);
    if (operation->seen.exists && operation->lists_w)
        put_cell(run, history, ISO_READ, operation->row, true, operation->seen.w, false);
}

/* As the native reader makes it of a record. */
static void tell_query(struct run *run, struct iso_history *history, const struct operation *query)
{
    char key[TEXT], table[TEXT], where[TEXT], header[TEXT * 2];
    struct iso_range set = {.from = ISO_ABSENT, .to = ISO_ABSENT, .where = ISO_ABSENT, .returned = ISO_ABSENT};
    uint32_t before = history->operation_count;
    snprintf(table, sizeof table, "%.*s", (int)strcspn(key_of(run, query->row, key), "/"), key);
    snprintf(header, sizeof header, "%s#", table);
    iso_history_operation(history, ISO_READ, add_text(history, header), ISO_ABSENT);
    for (uint32_t row = 0; row < ROWS; row++) {
        if (!query->returned[row])
            continue;
        put_row(run, history, ISO_READ, row, true, false);
        if (query->lists_v)
            put_cell(run, history, ISO_READ, row, false, query->rows[row].v, false);
    }
    snprintf(where, sizeof where, "v >= %d", query->least);
    set.form = ISO_SET_QUERY;
    set.table = add_text(history, table);
    if (query->least)
        set.where = add_text(history, where);
    iso_history_range(history, &set, history->operation_count - before);
}

static void tell_transaction(struct run *run, struct iso_history *history, uint32_t t)
{
    const struct transaction *transaction = &run->list[t];
    char name[TEXT], foreign[TEXT];
    bool withheld = transaction->withheld;
    name_of(run, t, name);
    uint64_t id = is_of(run, "debezium") ? FIRST_XID + t
                  : run->format->protocol && run->format->protocol[0] != 'c' && run->format->protocol[0] != 'o'
                      ? run->base + transaction->sts
                      : run->base + transaction->cts;
    snprintf(foreign, sizeof foreign, "cdc:%" PRIu64, id);
    iso_history_begin(history, add_text(history, withheld ? foreign : name),
                      add_text(history, withheld ? foreign : name), ISO_COMMITTED, iso_origin(0, t + 1));
    iso_history_set_sts(
        history, (struct iso_stamp){.physical = run->base + (withheld ? transaction->cts - 1 : transaction->sts)});
    iso_history_set_cts(history, (struct iso_stamp){.physical = run->base + transaction->cts});
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        if (writes(&transaction->operations[i]))
            tell_write(run, history, &transaction->operations[i], withheld);
        else if (!withheld && transaction->operations[i].kind == QUERY)
            tell_query(run, history, &transaction->operations[i]);
        else if (!withheld)
            tell_read(run, history, &transaction->operations[i]);
}

static void add_found(struct run *run, bool expected, const char *text)
{
    uint32_t *count = expected ? &run->expected.count : &run->found.count;
    if (*count < FOUND)
        snprintf((expected ? run->expected.list : run->found.list)[(*count)++], TEXT, "%.*s", TEXT - 1, text);
}

static void put_atom(char *text, const struct iso_history *history, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *at = iso_atom_text(&history->atoms, atom, buffer, &length);
    snprintf(text + strlen(text), TEXT - strlen(text), "%.*s", (int)length, at);
}

static void expect_of_query(void *context, const struct iso_rowsets_finding *finding)
{
    struct run *run = context;
    char text[TEXT * 3];
    snprintf(text, sizeof text, "%s %.*s %.*s", iso_axiom_name(finding->axiom), (int)finding->transaction.tid.length,
             finding->transaction.tid.at, (int)finding->key.length, finding->key.at);
    for (uint32_t i = run->of_chronos; i < run->expected.count; i++)
        if (!strcmp(run->expected.list[i], text)) /* another query of the transaction: one instance */
            return;
    add_found(run, true, text);
}

static void expect_of_queries(struct run *run, const struct iso_history *history)
{
    struct iso_rowsets_options options;
    struct iso_rowsets_stats stats;
    run->of_chronos = run->expected.count;
    iso_rowsets_options_init(&options);
    options.on_finding = expect_of_query;
    options.context = run;
    iso_rowsets_check(history, &options, &stats);
    run->queries += stats.judged;
    run->of_queries += stats.missing_rows + stats.extra_rows;
}

static void expect(struct run *run)
{
    struct iso_check_options options = {.level = ISO_SI, .session_order = true, .threads = 1};
    struct iso_history history;
    struct iso_verdict verdict;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    iso_history_input(&history, "told");
    history.clock = ISO_CLOCK_SCALAR;
    for (uint32_t row = 0; row < ROWS; row++) {
        char key[TEXT], cell[TEXT * 2];
        if (!run->initial[row].exists)
            continue;
        iso_history_initial(&history, add_text(&history, key_of(run, row, key)), add_text(&history, "true"), false);
        snprintf(cell, sizeof cell, "%s#v", key);
        iso_history_initial(&history, add_text(&history, cell), atom_of(run, &history, false, run->initial[row].v),
                            false);
        snprintf(cell, sizeof cell, "%s#%s", key, second_column(run));
        iso_history_initial(&history, add_text(&history, cell), atom_of(run, &history, true, run->initial[row].w),
                            false);
    }
    for (uint32_t t = 0; t < run->count; t++)
        if (run->list[t].cts)
            tell_transaction(run, &history, t);
    iso_verdict_init(&verdict, &history, ISO_SI, 0);
    if (iso_history_finish(&history, &error) != ISO_OK ||
        iso_chronos_check(&history, &options, &verdict, &error) != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    for (uint32_t i = 0; i < verdict.violation_count; i++) {
        const struct iso_violation *violation = &verdict.violations[i];
        char text[TEXT];
        snprintf(text, sizeof text, "%s ", iso_axiom_name(violation->axiom));
        put_atom(text, &history, history.tid[violation->transaction]);
        if (violation->axiom == ISO_NOCONFLICT) {
            strcat(text, ",");
            put_atom(text, &history, history.tid[violation->other]);
        }
        strcat(text, " ");
        put_atom(text, &history, history.key_atom[violation->key]);
        add_found(run, true, text);
    }
    expect_of_queries(run, &history);
    iso_verdict_release(&verdict);
    iso_history_release(&history);
}

/* ---- what clients publish ---- */

static void print_value(struct run *run, FILE *file, const char *column, bool is_w, int value, const char *before)
{
    char text[TEXT];
    fprintf(file, "%s\"%s\":", before, column);
    if (value == NULL_VALUE)
        fprintf(file, "null");
    else
        fprintf(file, "\"%s\"", text_of(run, is_w, value, text));
}

static void print_cells(struct run *run, FILE *file, const struct cells *cells, bool lists_v, bool lists_w)
{
    fprintf(file, ",\"cells\":{");
    if (lists_v)
        print_value(run, file, "v", false, cells->v, "");
    if (lists_w)
        print_value(run, file, second_column(run), true, cells->w, lists_v ? "," : "");
    fprintf(file, "}");
}

static void print_query(struct run *run, FILE *file, const struct operation *query)
{
    char key[TEXT];
    const char *between = "";
    key_of(run, query->row, key);
    fprintf(file, "{\"t\":\"q\",\"table\":\"%.*s\"", (int)strcspn(key, "/"), key);
    if (query->least)
        fprintf(file, ",\"where\":\"v >= %d\"", query->least);
    fprintf(file, ",\"rows\":{");
    for (uint32_t row = 0; row < ROWS; row++) {
        if (!query->returned[row])
            continue;
        fprintf(file, "%s\"%u\":{", between, row + 1);
        if (query->lists_v)
            print_value(run, file, "v", false, query->rows[row].v, "");
        fprintf(file, "}");
        between = ",";
    }
    fprintf(file, "}}");
}

static void print_operation(struct run *run, FILE *file, const struct operation *operation)
{
    char key[TEXT];
    if (operation->kind == QUERY) {
        print_query(run, file, operation);
        return;
    }
    static const char letters[] = "rwwd";
    key_of(run, operation->row, key);
    fprintf(file, "{\"t\":\"%c\",\"row\":\"%s\"", letters[operation->kind], key);
    if (operation->kind == READ && !operation->seen.exists)
        fprintf(file, ",\"v\":null");
    else if (operation->kind == READ)
        print_cells(run, file, &operation->seen, operation->lists_v, operation->lists_w);
    else if (operation->kind != DELETE &&
             ((operation->lists_v && operation->sets_v) || (operation->lists_w && operation->sets_w)))
        print_cells(run, file, &operation->after, operation->lists_v && operation->sets_v,
                    operation->lists_w && operation->sets_w);
    fprintf(file, "}");
}

static void print_record(struct run *run, FILE *file, uint32_t t)
{
    const struct transaction *transaction = &run->list[t];
    char name[TEXT];
    name_of(run, t, name);
    fprintf(file, "{\"tid\":\"%s\",\"sid\":\"%s\"", name, name);
    if (is_of(run, "debezium")) {
        if (transaction->writes)
            fprintf(file, ",\"xid\":%u", FIRST_XID + t);
        fprintf(file, ",\"snapshot\":\"%" PRIu64 ":%" PRIu64 ":", transaction->xmin, transaction->xmax);
        for (uint32_t i = 0; i < transaction->xip_count; i++)
            fprintf(file, i ? ",%" PRIu64 : "%" PRIu64, transaction->xip[i]);
        fprintf(file, "\"");
    } else {
        fprintf(file, ",\"sts\":%" PRIu64, run->base + transaction->sts);
        if (transaction->cts)
            fprintf(file, ",\"cts\":%" PRIu64, run->base + transaction->cts);
    }
    if (!transaction->cts)
        fprintf(file, ",\"status\":\"aborted\"");
    fprintf(file, ",\"ops\":[");
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        fprintf(file, i ? "," : "");
        print_operation(run, file, &transaction->operations[i]);
    }
    fprintf(file, "]}");
}

/* ---- the feed: rows as "V|W" ---- */

static iso_atom row_text(struct iso_history *history, const struct cells *cells)
{
    char text[TEXT], v[16] = "~", w[16] = "~";
    if (cells->v != NULL_VALUE)
        snprintf(v, sizeof v, "%d", cells->v);
    if (cells->w != NULL_VALUE)
        snprintf(w, sizeof w, "%d", cells->w);
    snprintf(text, sizeof text, "%s|%s", v, w);
    return iso_atoms_add_string(&history->atoms, text, strlen(text));
}

static bool write_feed(struct run *run, struct feed *feed)
{
    struct iso_history history;
    uint64_t commits[TRANSACTIONS];
    struct random *random = &run->random;
    char key[TEXT];
    iso_history_init(&history);
    iso_history_input(&history, "feed");
    history.clock = ISO_CLOCK_SCALAR;
    for (uint32_t row = 0; row < ROWS; row++)
        if (run->initial[row].exists)
            iso_history_initial(&history, add_text(&history, key_of(run, row, key)),
                                row_text(&history, &run->initial[row]), false);
    for (uint32_t t = 0; t < run->count; t++) {
        const struct transaction *transaction = &run->list[t];
        char name[TEXT];
        name_of(run, t, name);
        bool committed = transaction->cts && transaction->writes;
        uint64_t offset = is_of(run, "yugabyte") ? 0 : run->base;
        commits[t] = committed ? offset + transaction->cts : 0;
        iso_history_begin(&history, add_text(&history, name), add_text(&history, name),
                          committed ? ISO_COMMITTED : ISO_ABORTED, iso_origin(0, t + 1));
        iso_history_set_sts(&history, (struct iso_stamp){.physical = offset + transaction->sts});
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct operation *operation = &transaction->operations[i];
            if (writes(operation))
                iso_history_operation(&history, operation->kind == DELETE ? ISO_DELETE : ISO_WRITE,
                                      add_text(&history, key_of(run, operation->row, key)),
                                      operation->kind == DELETE ? ISO_ABSENT : row_text(&history, &operation->after));
        }
    }
    uint64_t seed = random_bits(random);
    uint32_t lanes = 1 + random_below(random, 3), restarts = random_below(random, 3);
    bool fits =
        is_of(run, "debezium") ? feed_debezium_write(feed, &history,
                                                     &(struct feed_debezium_options){.seed = seed,
                                                                                     .format = run->format->encoding,
                                                                                     .binlog = run->format->binlog,
                                                                                     .cells = true,
                                                                                     .metadata = true,
                                                                                     .snapshot = true,
                                                                                     .partitions = lanes,
                                                                                     .restarts = restarts,
                                                                                     .first_xid = FIRST_XID,
                                                                                     .commits = commits})
        : is_of(run, "ticdc")
            ? feed_ticdc_write(feed, &history,
                               &(struct feed_ticdc_options){.seed = seed,
                                                            .format = run->format->protocol,
                                                            .topic = "ticdc",
                                                            .partitions = lanes,
                                                            .restarts = restarts,
                                                            .every = 1 + random_below(random, 4),
                                                            .start_ts = true,
                                                            .cells = true,
                                                            .drops_unchanged = true,
                                                            .commits = commits})
            : feed_yugabyte_write(feed, &history,
                                  &(struct feed_yugabyte_options){
                                      .seed = seed, .tablets = lanes, .restarts = restarts, .commits = commits});
    feed_finish(feed);
    iso_history_release(&history);
    return fits;
}

/* ---- the run ---- */

static bool next_string(const char **at, const char *before, char *text, size_t size)
{
    const char *start = strstr(*at, before);
    if (!start)
        return false;
    start += strlen(before);
    const char *end = strchr(start, '"');
    snprintf(text, size, "%.*s", (int)(end - start), start);
    *at = end;
    return true;
}

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct run *run = context;
    char copy[4096], axiom[32], tid[64], other[64], key[64] = "", text[TEXT * 2];
    const char *at = copy;
    (void)error;
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    if (getenv("SHOW_LINES"))
        printf("# %s", copy);
    if (!strstr(copy, "\"state\":\"final\""))
        return ISO_OK;
    next_string(&at, "\"axiom\":\"", axiom, sizeof axiom);
    next_string(&at, "\"tids\":[\"", tid, sizeof tid);
    bool pair = !strcmp(axiom, "NOCONFLICT") && next_string(&at, ",\"", other, sizeof other);
    at = copy;
    next_string(&at, "\"key\":\"", key, sizeof key);
    snprintf(text, sizeof text, pair ? "%s %s,%s %s" : "%s %s%.0s %s", axiom, tid, pair ? other : "", key);
    add_found(run, false, text);
    return ISO_OK;
}

static void add_routes(struct run *run, struct iso_pipeline *pipeline, struct iso_error *error)
{
    static const char *const debezium[] = {"dbz.public.t0", "dbz.public.t1", "dbz.transaction", NULL};
    static const char *const yugabyte[] = {"yb.public.t0", "yb.public.t1", "yb.transaction", NULL};
    struct iso_decoder_options options = {.cells = "true", .identity = ISO_IDENTITY_FULL};
    if (is_of(run, "debezium"))
        options = feed_debezium_decoding(run->format->encoding);
    if (is_of(run, "ticdc"))
        feed_ticdc_decoder_options(run->format->protocol, &options);
    options.value = NULL;
    options.cells = "true";
    options.identity = ISO_IDENTITY_FULL;
    const char *const *topics = is_of(run, "debezium") ? debezium : yugabyte;
    const struct iso_decoder_class *class = is_of(run, "debezium") ? &iso_debezium_decoder : &iso_yugabyte_decoder;
    if (is_of(run, "ticdc"))
        iso_pipeline_route(pipeline, "ticdc", iso_ticdc_decoder.create(&options, error), false);
    for (; !is_of(run, "ticdc") && *topics; topics++)
        iso_pipeline_route(pipeline, *topics, class->create(&options, error), false);
    iso_pipeline_route(pipeline, "clients",
                       iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, error), false);
}

static struct iso_pipeline *open_pipeline(struct run *run)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    iso_pipeline_options_init(&options);
    options.engine.level = ISO_SI;
    options.join.kind = run->format->kind;
    options.join.clients = !run->format->alone;
    options.join.initial_known = !is_of(run, "debezium") || run->format->binlog;
    options.sink = sink;
    options.sink_context = options.context = run;
    options.final_only = true;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    add_routes(run, pipeline, &error);
    if (error.status != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    return pipeline;
}

/* Where no snapshot says it. */
static void set_initial(struct run *run, struct iso_pipeline *pipeline)
{
    struct iso_history history;
    char key[TEXT], cell[TEXT * 2];
    iso_history_init(&history);
    for (uint32_t row = 0; row < ROWS && !is_of(run, "debezium"); row++) {
        if (!run->initial[row].exists)
            continue;
        iso_history_initial(&history, add_text(&history, key_of(run, row, key)), add_text(&history, "true"), false);
        for (int is_w = 0; is_w < 2; is_w++) {
            snprintf(cell, sizeof cell, "%s#%s", key, is_w ? second_column(run) : "v");
            iso_history_initial(&history, add_text(&history, cell),
                                atom_of(run, &history, is_w, is_w ? run->initial[row].w : run->initial[row].v), false);
        }
    }
    iso_pipeline_initial(pipeline, &history);
    iso_history_release(&history);
}

static uint32_t print_records(struct run *run, char *lines[TRANSACTIONS])
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < run->count && !run->format->alone; t++) {
        size_t size;
        if (run->list[t].withheld)
            continue;
        FILE *file = open_memstream(&lines[count++], &size);
        print_record(run, file, t);
        fclose(file);
    }
    return count;
}

static void check_books(struct run *run, const struct iso_pipeline *pipeline)
{
    struct iso_books books;
    struct iso_text text = {0};
    iso_pipeline_books(pipeline, &books);
    if (!books.balanced) {
        iso_books_imbalance_text(&books, &text);
        snprintf(run->failure, sizeof run->failure, "books: %.*s", (int)text.used, text.bytes);
    }
    iso_text_release(&text);
}

static struct iso_pipeline *open_again(void *context)
{
    return open_pipeline(context);
}

static void give_messages(struct run *run, struct iso_pipeline **place, const struct feed *feed, char *const *lines,
                          uint32_t line_count, struct iso_error *error)
{
    struct iso_pipeline *pipeline = *place;
    struct random saves = {run->random.state + 1};
    struct iso_message batch[8];
    uint32_t row = 0, record = 0, count = 0, bias = random_below(&run->random, 101);
    for (uint32_t i = 0; i < feed->count; i++) {
        struct iso_message *message = &feed->list[i];
        message->input = iso_inputs_number(iso_pipeline_inputs(pipeline), message->topic, strlen(message->topic),
                                           message->partition);
        iso_pipeline_declare(pipeline, message->input, 0);
        if (getenv("SHOW_FEED"))
            printf("# %s %.*s\n", message->topic, (int)message->payload.size, (const char *)message->payload.data);
    }
    uint32_t client = iso_inputs_number(iso_pipeline_inputs(pipeline), "clients", 7, 0);
    if (line_count)
        iso_pipeline_declare(pipeline, client, 0);
    while ((row < feed->count || record < line_count) && error->status == ISO_OK) {
        if (row < feed->count && (record == line_count || random_percent(&run->random, bias))) {
            batch[count++] = feed->list[row++];
        } else {
            batch[count++] =
                (struct iso_message){.topic = "clients",
                                     .input = client,
                                     .offset = record,
                                     .payload = {(const uint8_t *)lines[record], (uint32_t)strlen(lines[record])}};
            record++;
        }
        if (count == 8 || random_percent(&run->random, 25) || (row == feed->count && record == line_count)) {
            iso_pipeline_feed(*place, batch, count, 0, error);
            count = 0;
            if (error->status == ISO_OK)
                check_books(run, *place);
            if (error->status == ISO_OK && random_percent(&saves, 5))
                *place = test_restored(*place, open_again, run, error);
        }
    }
}

static void check_stream(struct run *run)
{
    struct feed feed;
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline_stats stats;
    char *lines[TRANSACTIONS] = {NULL};
    feed_init(&feed);
    if (!write_feed(run, &feed))
        snprintf(run->failure, sizeof run->failure, "the feed cannot carry it");
    struct iso_pipeline *pipeline = open_pipeline(run);
    set_initial(run, pipeline);
    uint32_t line_count = print_records(run, lines);
    give_messages(run, &pipeline, &feed, lines, line_count, &error);
    if (error.status == ISO_OK)
        iso_pipeline_end(pipeline, 0, &error);
    if (error.status == ISO_OK)
        check_books(run, pipeline);
    else
        snprintf(run->failure, sizeof run->failure, "%s", error.text);
    iso_pipeline_stats(pipeline, &stats);
    run->repeats += stats.join.repeats;
    iso_pipeline_free(pipeline);
    feed_release(&feed);
    for (uint32_t i = 0; i < line_count; i++)
        free(lines[i]);
}

/* ---- one history ---- */

static int compare_found(const void *left, const void *right)
{
    return strcmp(left, right);
}

static bool same_found(struct run *run)
{
    qsort(run->expected.list, run->expected.count, TEXT, compare_found);
    qsort(run->found.list, run->found.count, TEXT, compare_found);
    if (run->expected.count != run->found.count)
        return false;
    for (uint32_t i = 0; i < run->found.count; i++)
        if (strcmp(run->expected.list[i], run->found.list[i]))
            return false;
    return true;
}

static void report(struct run *run, uint64_t seed)
{
    printf("not ok - %s, seed %" PRIu64 ": %s\n", run->format->name, seed, run->failure);
    for (uint32_t i = 0; i < run->expected.count; i++)
        printf("# expected: %s\n", run->expected.list[i]);
    for (uint32_t i = 0; i < run->found.count; i++)
        printf("# found: %s\n", run->found.list[i]);
    for (uint32_t t = 0; t < run->count; t++) {
        printf("# %s[%" PRIu64 ",%" PRIu64 "] ", run->list[t].withheld ? "withheld " : "", run->list[t].sts,
               run->list[t].cts);
        fflush(stdout);
        print_record(run, stdout, t);
        printf("\n");
    }
}

static bool carry(struct run *run, uint64_t seed)
{
    run->random = (struct random){seed * 7919 + 17};
    run->expected.count = run->found.count = 0;
    run->failure[0] = 0;
    run->now = 10;
    run->lies = !run->format->alone && random_percent(&run->random, 50);
    run->conflicts = !run->format->alone && random_percent(&run->random, 30);
    run->base = is_of(run, "yugabyte") ? FEED_YUGABYTE_TIME : 1000;
    execute(run);
    lie(run);
    if (!run->format->alone)
        expect(run);
    check_stream(run);
    run->violated += run->expected.count > 0;
    return !run->failure[0] && same_found(run);
}

static bool run_format(const struct format *format, uint64_t histories, uint64_t seed)
{
    struct run *run = iso_allocate_zeroed(1, sizeof *run);
    uint32_t failed = 0;
    run->format = format;
    for (uint64_t i = 0; i < histories && failed < MAX_REPORTS; i++)
        if (!carry(run, seed + i)) {
            report(run, seed + i);
            failed++;
        }
    bool occurred = (format->alone || (run->violated && run->adopted && run->of_queries)) && run->repeats;
    printf("# %s: %" PRIu64 " violated, %" PRIu64 " writes left to the stream, %" PRIu64 " queries, %" PRIu64
           " of them lies, %" PRIu64 " repeats\n",
           format->name, run->violated, run->adopted, run->queries, run->of_queries, run->repeats);
    printf("%s - %s: what chronos finds in %" PRIu64 " histories\n", !failed && occurred ? "ok" : "not ok",
           format->name, histories);
    iso_free(run);
    return !failed && occurred;
}

int main(int argc, char **argv)
{
    uint64_t histories = 400, seed = 1;
    const char *only = NULL;
    bool good = true;
    const struct argument known[] = {
        {"--histories", .number = &histories}, {"--seed", .number = &seed}, {"--format", .text = &only}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!only || !strcmp(only, formats[i].name))
            good &= run_format(&formats[i], histories, seed);
    return good ? 0 : 1;
}
