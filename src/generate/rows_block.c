/* Steps on rows become operations of a block: a row with its cells, or a query. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "generate/generate_private.h"

enum { NAME = 64 };

static uint32_t cells_of(const struct row_step *step)
{
    return (uint32_t)__builtin_popcount(step->columns);
}

uint64_t rows_operations(const struct transaction *transaction)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < transaction->step_count; i++) {
        const struct row_step *step = &transaction->steps[i];
        bool cells = step->kind == STEP_WRITE || (step->kind == STEP_READ && step->is_there);
        count += 1 + (cells ? cells_of(step) : 0);
        count += step->kind == STEP_QUERY ? (uint64_t)step->rows * (1 + cells_of(step)) : 0;
    }
    return count;
}

static iso_atom atom_of(struct iso_history *block, const char *text)
{
    return iso_atoms_text(&block->atoms, text, strlen(text));
}

static iso_atom cell_atom(struct iso_history *block, uint64_t cell)
{
    return cell ? iso_atoms_unsigned(&block->atoms, cell) : ISO_ABSENT;
}

static void put_row(struct iso_history *block, const char *table, uint64_t key, enum iso_operation_kind kind,
                    iso_atom value)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s/%" PRIu64, table, key);
    iso_history_operation(block, kind, atom_of(block, name), value);
}

/* The cells of a row; returns what stands behind them. */
static const uint64_t *put_cells(struct iso_history *block, const char *table, uint64_t key,
                                 enum iso_operation_kind kind, uint32_t columns, const uint64_t *cell)
{
    char name[NAME];
    for (; columns; columns &= columns - 1) {
        snprintf(name, sizeof name, "%s/%" PRIu64 "#c%d", table, key, __builtin_ctz(columns) + 1);
        iso_history_operation(block, kind, atom_of(block, name), cell_atom(block, *cell++));
    }
    return cell;
}

static void put_set(struct iso_history *block, struct iso_range *set, enum iso_set_form form, uint32_t rows)
{
    set->form = (uint8_t)form;
    iso_history_range(block, set, rows);
}

static iso_atom where_atom(struct iso_history *block, const struct condition *where)
{
    static const char *const formats[] = {NULL, "c%u = %" PRIu64, "c%u in (%" PRIu64 ", %" PRIu64 ")",
                                          "c%u between %" PRIu64 " and %" PRIu64,
                                          "c%u is null"}; /* by enum condition_form */
    char text[NAME + 32];
    if (where->form == CONDITION_NONE)
        return ISO_ABSENT;
    snprintf(text, sizeof text, formats[where->form], where->column + 1, where->low, where->high);
    return atom_of(block, text);
}

/* {"count":3,"sum(c3)":28} */
static iso_atom aggregates_atom(struct iso_history *block, uint32_t columns, const uint64_t told[2])
{
    char text[NAME + 64], sum[24] = "null";
    if (told[1])
        snprintf(sum, sizeof sum, "%" PRIu64, told[1]);
    int length = snprintf(text, sizeof text, "{\"count\":%" PRIu64 ",\"sum(c%d)\":%s}", told[0],
                          __builtin_ctz(columns) + 1, sum);
    return iso_atoms_add_string(&block->atoms, text, (size_t)length);
}

static void put_query(struct iso_history *block, const struct row_step *step, const char *table,
                      const uint64_t *returned)
{
    struct iso_range set = {.from = step->from ? iso_atoms_unsigned(&block->atoms, step->from) : ISO_ABSENT,
                            .to = step->to ? iso_atoms_unsigned(&block->atoms, step->to) : ISO_ABSENT,
                            .table = atom_of(block, table),
                            .where = where_atom(block, &step->where),
                            .returned = ISO_ABSENT,
                            .is_partial = step->is_partial};
    char header[NAME];
    snprintf(header, sizeof header, "%s#", table);
    iso_history_operation(block, ISO_READ, atom_of(block, header), ISO_ABSENT);
    if (step->kind == STEP_AGGREGATES)
        set.returned = aggregates_atom(block, step->columns, returned);
    for (uint32_t i = 0; i < step->rows; i++) {
        uint64_t key = *returned++;
        put_row(block, table, key, ISO_READ, atom_of(block, "true"));
        returned = put_cells(block, table, key, ISO_READ, step->columns, returned);
    }
    put_set(block, &set, ISO_SET_QUERY, 1 + step->rows * (1 + cells_of(step)));
}

static void put_step(struct iso_history *block, const struct row_step *step, const uint64_t *elements)
{
    struct iso_range set = {
        .from = ISO_ABSENT, .to = ISO_ABSENT, .table = ISO_ABSENT, .where = ISO_ABSENT, .returned = ISO_ABSENT};
    char table[ISO_TABLE_NAME];
    iso_generated_table(table, step->is_planted, step->table);
    bool reads = step->kind == STEP_READ;
    if (step->kind == STEP_QUERY || step->kind == STEP_AGGREGATES) {
        put_query(block, step, table, elements);
    } else if (step->kind == STEP_DELETE) {
        put_row(block, table, step->key, ISO_DELETE, ISO_ABSENT);
    } else if (reads && !step->is_there) {
        put_row(block, table, step->key, ISO_READ, ISO_ABSENT);
    } else {
        put_row(block, table, step->key, reads ? ISO_READ : ISO_WRITE, atom_of(block, "true"));
        put_cells(block, table, step->key, reads ? ISO_READ : ISO_WRITE, step->columns, elements);
        put_set(block, &set, ISO_SET_ROW, 1 + cells_of(step));
    }
}

void rows_put(struct iso_history *block, const struct transaction *transaction)
{
    for (uint32_t i = 0; i < transaction->step_count; i++)
        put_step(block, &transaction->steps[i], transaction->elements + transaction->steps[i].first);
}
