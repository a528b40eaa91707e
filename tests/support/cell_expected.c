#include "tests/support/cell_world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chronos/chronos.h"
#include "rowsets/rowsets.h"

static void put_cell(struct cell_world *world, struct iso_history *history,
                     enum iso_operation_kind kind, uint32_t row, bool is_w, int value, bool lock)
{
    char key[CELL_TEXT], cell[CELL_TEXT * 2];
    snprintf(cell, sizeof cell, "%s#%s", cell_key_of(world, row, key),
             is_w ? cell_second_column(world) : "v");
    iso_atom atom = cell_atom_of(world, history, is_w, value);
    iso_history_operation(history, kind == ISO_WRITE && atom == ISO_ABSENT ? ISO_DELETE : kind,
                          cell_atom(history, cell), atom);
    if (lock)
        iso_history_set_lock(history);
}

static void put_register(struct cell_world *world, struct iso_history *history,
                         enum iso_operation_kind kind, uint32_t row, const struct cells *cells,
                         bool lock)
{
    char key[CELL_TEXT];
    iso_history_operation(history, kind, cell_atom(history, cell_key_of(world, row, key)),
                          cells->exists ? cell_atom_of(world, history, false, cells->v)
                                        : ISO_ABSENT);
    if (lock)
        iso_history_set_lock(history);
}

static void put_row(struct cell_world *world, struct iso_history *history,
                    enum iso_operation_kind kind, uint32_t row, bool exists, bool lock)
{
    char key[CELL_TEXT];
    iso_history_operation(history, kind, cell_atom(history, cell_key_of(world, row, key)),
                          exists ? cell_atom(history, "true") : ISO_ABSENT);
    if (lock)
        iso_history_set_lock(history);
}

/* An update that left all as it was has no row in a stream of net changes. */
bool cell_has_row(const struct cell_world *world, const struct cell_operation *operation)
{
    return !cell_is_of(world, "ticdc") || operation->kind != CELL_UPDATE ||
           operation->before.v != operation->after.v || operation->before.w != operation->after.w;
}

static void tell_write(struct cell_world *world, struct iso_history *history,
                       const struct cell_operation *operation, bool foreign)
{
    uint32_t row = operation->row;
    bool insert = operation->kind == CELL_INSERT, update = operation->kind == CELL_UPDATE,
         lists = !foreign;
    bool changes_v = operation->before.v != operation->after.v,
         changes_w = operation->before.w != operation->after.w;
    bool columns_only = cell_is_of(world, "yugabyte") && update;
    if (!cell_has_row(world, operation) &&
        (foreign || !world->format->registers)) /* a record tells of it, if it lists values */
        return;
    if (world->format->registers) {
        put_register(world, history, operation->kind == CELL_DELETE ? ISO_DELETE : ISO_WRITE, row,
                     &operation->after, foreign);
        return;
    }
    if (operation->kind == CELL_DELETE) {
        put_row(world, history, ISO_DELETE, row, false, foreign);
        return;
    }
    if (!columns_only)
        put_row(world, history, ISO_WRITE, row, true, foreign);
    if (insert || changes_v || (lists && operation->lists_v && operation->sets_v))
        put_cell(world, history, ISO_WRITE, row, false, operation->after.v, foreign);
    if (insert || changes_w || (lists && operation->lists_w && operation->sets_w))
        put_cell(world, history, ISO_WRITE, row, true, operation->after.w, foreign);
    world->adopted +=
        lists && ((changes_v && !operation->lists_v) || (changes_w && !operation->lists_w));
}

static void tell_read(struct cell_world *world, struct iso_history *history,
                      const struct cell_operation *operation)
{
    if (world->format->registers) {
        put_register(world, history, ISO_READ, operation->row, &operation->seen, false);
        return;
    }
    put_row(world, history, ISO_READ, operation->row, operation->seen.exists, false);
    if (operation->seen.exists && operation->lists_v)
        put_cell(world, history, ISO_READ, operation->row, false, operation->seen.v, false);
    if (operation->seen.exists && operation->lists_w)
        put_cell(world, history, ISO_READ, operation->row, true, operation->seen.w, false);
}

/* As the native reader makes it of a record. */
static void tell_query(struct cell_world *world, struct iso_history *history,
                       const struct cell_operation *query)
{
    char key[CELL_TEXT], table[CELL_TEXT], where[CELL_TEXT], header[CELL_TEXT * 2];
    struct iso_range set = {
        .from = ISO_ABSENT, .to = ISO_ABSENT, .where = ISO_ABSENT, .returned = ISO_ABSENT};
    uint32_t before = history->ops.count;
    snprintf(table, sizeof table, "%.*s", (int)strcspn(cell_key_of(world, query->row, key), "/"),
             key);
    snprintf(header, sizeof header, "%s#", table);
    iso_history_operation(history, ISO_READ, cell_atom(history, header), ISO_ABSENT);
    for (uint32_t row = 0; row < world->rows; row++) {
        if (!query->returned[row])
            continue;
        put_row(world, history, ISO_READ, row, true, false);
        if (query->lists_v)
            put_cell(world, history, ISO_READ, row, false, query->rows[row].v, false);
    }
    snprintf(where, sizeof where, "v >= %d", query->least);
    set.form = ISO_SET_QUERY;
    set.table = cell_atom(history, table);
    if (query->least)
        set.where = cell_atom(history, where);
    iso_history_range(history, &set, history->ops.count - before);
}

static void tell_transaction(struct cell_world *world, struct iso_history *history, uint32_t t)
{
    const struct cell_transaction *transaction = &world->list[t];
    char name[CELL_TEXT], foreign[CELL_TEXT];
    bool withheld = transaction->withheld;
    cell_name_of(world, t, name);
    uint64_t id = world->format->binlog           ? world->base + transaction->cts
                  : cell_is_of(world, "debezium") ? CELL_FIRST_XID + t
                  : world->format->protocol && world->format->protocol[0] != 'c' &&
                          world->format->protocol[0] != 'o'
                      ? world->base + transaction->sts
                      : world->base + transaction->cts;
    snprintf(foreign, sizeof foreign, world->format->binlog ? "cdc:0-1-%" PRIu64 : "cdc:%" PRIu64,
             id);
    iso_history_begin(history, cell_atom(history, withheld ? foreign : name),
                      cell_atom(history, withheld ? foreign : name), ISO_COMMITTED,
                      iso_origin(0, t + 1));
    iso_history_set_sts(
        history, (struct iso_stamp){.physical = world->base + (withheld ? transaction->cts - 1
                                                                        : transaction->sts)});
    iso_history_set_cts(history, (struct iso_stamp){.physical = world->base + transaction->cts});
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        if (cell_writes(&transaction->operations[i]))
            tell_write(world, history, &transaction->operations[i], withheld);
        else if (!withheld && transaction->operations[i].kind == CELL_QUERY)
            tell_query(world, history, &transaction->operations[i]);
        else if (!withheld)
            tell_read(world, history, &transaction->operations[i]);
}

void cell_add_found(struct cell_found *found, const char *text)
{
    if (found->count < CELL_FOUND)
        snprintf(found->list[found->count++], CELL_TEXT, "%.*s", CELL_TEXT - 1, text);
}

void cell_drop_found(struct cell_found *found, const char *text)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (!strcmp(found->list[i], text)) {
            memmove(found->list[i], found->list[found->count - 1], CELL_TEXT);
            found->count--;
            return;
        }
}

static void put_atom(char *text, const struct iso_history *history, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *at = iso_atom_text(&history->atoms, atom, buffer, &length);
    snprintf(text + strlen(text), CELL_TEXT - strlen(text), "%.*s", (int)length, at);
}

static void expect_of_query(void *context, const struct iso_rowsets_finding *finding)
{
    struct cell_world *world = context;
    char text[CELL_TEXT * 3];
    snprintf(text, sizeof text, "%s %.*s %.*s", iso_axiom_name(finding->axiom),
             (int)finding->transaction.tid.length, finding->transaction.tid.at,
             (int)finding->key.length, finding->key.at);
    for (uint32_t i = world->of_chronos; i < world->expected.count; i++)
        if (!strcmp(world->expected.list[i],
                    text)) /* another query of the transaction: one instance */
            return;
    cell_add_found(&world->expected, text);
}

static void expect_of_queries(struct cell_world *world, const struct iso_history *history)
{
    struct iso_rowsets_options options;
    struct iso_rowsets_stats stats;
    world->of_chronos = world->expected.count;
    iso_rowsets_options_init(&options);
    options.on_finding = expect_of_query;
    options.context = world;
    iso_rowsets_check(history, &options, &stats);
    world->queries += stats.judged;
    world->of_queries += stats.missing_rows + stats.extra_rows;
}

void cell_expect(struct cell_world *world)
{
    struct iso_check_options options = {.level = ISO_SI, .session_order = true, .threads = 1};
    struct iso_history history;
    struct iso_verdict verdict;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    iso_history_input(&history, "told");
    history.clock = ISO_CLOCK_SCALAR;
    cell_tell_initial(world, &history);
    for (uint32_t t = 0; t < world->count; t++)
        if (world->list[t].cts)
            tell_transaction(world, &history, t);
    iso_verdict_init(&verdict, &history, ISO_SI, 0);
    if (iso_history_finish(&history, &error) != ISO_OK ||
        iso_chronos_check(&history, &options, &verdict, &error) != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    for (uint32_t i = 0; i < verdict.violation_count; i++) {
        const struct iso_violation *violation = &verdict.violations[i];
        char text[CELL_TEXT];
        snprintf(text, sizeof text, "%s ", iso_axiom_name(violation->axiom));
        put_atom(text, &history, history.txns.tid[violation->transaction]);
        if (violation->axiom == ISO_NOCONFLICT) {
            strcat(text, ",");
            put_atom(text, &history, history.txns.tid[violation->other]);
        }
        strcat(text, " ");
        put_atom(text, &history, history.keys.atom[violation->key]);
        cell_add_found(&world->expected, text);
    }
    expect_of_queries(world, &history);
    iso_verdict_release(&verdict);
    iso_history_release(&history);
}

static int compare_found(const void *left, const void *right)
{
    return strcmp(left, right);
}

bool cell_same_found(struct cell_found *left, struct cell_found *right)
{
    qsort(left->list, left->count, CELL_TEXT, compare_found);
    qsort(right->list, right->count, CELL_TEXT, compare_found);
    if (left->count != right->count)
        return false;
    for (uint32_t i = 0; i < left->count; i++)
        if (strcmp(left->list[i], right->list[i]))
            return false;
    return true;
}
