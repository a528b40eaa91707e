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

static iso_atom cell_atom(struct iso_history *block, uint64_t cell, bool is_text)
{
    char text[NAME];
    if (!cell || !is_text)
        return cell ? iso_atoms_unsigned(&block->atoms, cell) : ISO_ABSENT;
    snprintf(text, sizeof text, "v%" PRIu64, cell);
    return atom_of(block, text);
}

static void put_row(struct iso_history *block, const char *table, uint64_t key,
                    enum iso_operation_kind kind, iso_atom value)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s/%" PRIu64, table, key);
    iso_history_operation(block, kind, atom_of(block, name), value);
}

/* The cells of a row; returns what stands behind them. */
static const uint64_t *put_cells(struct iso_history *block, const struct row_step *step,
                                 const char *table, uint64_t key, enum iso_operation_kind kind,
                                 const uint64_t *cell)
{
    char name[NAME];
    for (uint32_t left = step->columns; left; left &= left - 1) {
        uint32_t column = (uint32_t)__builtin_ctz(left);
        snprintf(name, sizeof name, "%s/%" PRIu64 "#c%u", table, key, column + 1);
        iso_history_operation(block, kind, atom_of(block, name),
                              cell_atom(block, *cell++, step_has_texts(step, column)));
    }
    return cell;
}

static void put_set(struct iso_history *block, struct iso_range *set, enum iso_set_form form,
                    uint32_t rows)
{
    set->form = (uint8_t)form;
    iso_history_range(block, set, rows);
}

static iso_atom where_atom(struct iso_history *block, const struct row_step *step)
{
    static const char *const formats[] = {
        NULL, "c%u = %" PRIu64, "c%u in (%" PRIu64 ", %" PRIu64 ")",
        "c%u between %" PRIu64 " and %" PRIu64, "c%u is null"}; /* by enum condition_form */
    static const char *const of_texts[] = {NULL, "c%u = 'v%" PRIu64 "'",
                                           "c%u in ('v%" PRIu64 "', 'v%" PRIu64 "')"};
    const struct condition *where = &step->where;
    char text[NAME + 32];
    if (where->form == CONDITION_NONE)
        return ISO_ABSENT;
    bool is_text = step_has_texts(step, where->column) && where->form <= CONDITION_EITHER;
    snprintf(text, sizeof text, is_text ? of_texts[where->form] : formats[where->form],
             where->column + 1, where->low, where->high);
    return atom_of(block, text);
}

/* {"count":3,"sum(c3)":28}; of texts those that are not null are counted. */
static iso_atom aggregates_atom(struct iso_history *block, const struct row_step *step,
                                const uint64_t told[2])
{
    char text[NAME + 64], second[24] = "null";
    uint32_t column = (uint32_t)__builtin_ctz(step->columns);
    bool is_text = step_has_texts(step, column);
    if (told[1] || is_text)
        snprintf(second, sizeof second, "%" PRIu64, told[1]);
    int length = snprintf(text, sizeof text, "{\"count\":%" PRIu64 ",\"%s(c%u)\":%s}", told[0],
                          is_text ? "count" : "sum", column + 1, second);
    return iso_atoms_add_string(&block->atoms, text, (size_t)length);
}

/* {"columns":["c1","c3"],"bag":[["v7",null]]} */
static iso_atom bag_atom(struct iso_history *block, const struct row_step *step,
                         const uint64_t *cell)
{
    struct iso_text text = {0};
    for (uint32_t left = step->columns; left; left &= left - 1)
        iso_text_format(&text, "%s\"c%d\"", left == step->columns ? "{\"columns\":[" : ",",
                        __builtin_ctz(left) + 1);
    iso_text_put(&text, "],\"bag\":[");
    for (uint32_t i = 0; i < step->rows; i++) {
        iso_text_put(&text, i ? ",[" : "[");
        for (uint32_t left = step->columns; left; left &= left - 1, cell++) {
            bool is_text = step_has_texts(step, (uint32_t)__builtin_ctz(left));
            iso_text_put(&text, left == step->columns ? "" : ",");
            if (*cell)
                iso_text_format(&text, is_text ? "\"v%" PRIu64 "\"" : "%" PRIu64, *cell);
            else
                iso_text_put(&text, "null");
        }
        iso_text_put(&text, "]");
    }
    iso_text_put(&text, "]}");
    iso_atom atom = iso_atoms_add_string(&block->atoms, text.bytes, text.used);
    iso_text_release(&text);
    return atom;
}

static void put_query(struct iso_history *block, const struct row_step *step, const char *table,
                      const uint64_t *returned)
{
    struct iso_range set = {
        .from = step->from ? iso_atoms_unsigned(&block->atoms, step->from) : ISO_ABSENT,
        .to = step->to ? iso_atoms_unsigned(&block->atoms, step->to) : ISO_ABSENT,
        .table = atom_of(block, table),
        .where = where_atom(block, step),
        .returned = ISO_ABSENT,
        .is_partial = step->is_partial};
    char header[NAME];
    snprintf(header, sizeof header, "%s#", table);
    iso_history_operation(block, ISO_READ, atom_of(block, header), ISO_ABSENT);
    if (step->kind == STEP_AGGREGATES)
        set.returned = aggregates_atom(block, step, returned);
    if (step->kind == STEP_BAG)
        set.returned = bag_atom(block, step, returned);
    uint32_t rows = step->kind == STEP_QUERY ? step->rows : 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t key = *returned++;
        put_row(block, table, key, ISO_READ, atom_of(block, "true"));
        returned = put_cells(block, step, table, key, ISO_READ, returned);
    }
    put_set(block, &set, ISO_SET_QUERY, 1 + rows * (1 + cells_of(step)));
}

static void put_step(struct iso_history *block, const struct row_step *step,
                     const uint64_t *elements)
{
    struct iso_range set = {.from = ISO_ABSENT,
                            .to = ISO_ABSENT,
                            .table = ISO_ABSENT,
                            .where = ISO_ABSENT,
                            .returned = ISO_ABSENT};
    char table[ISO_TABLE_NAME];
    iso_generated_table(table, step->is_planted, step->table);
    bool reads = step->kind == STEP_READ;
    if (step->kind == STEP_QUERY || step->kind == STEP_AGGREGATES || step->kind == STEP_BAG) {
        put_query(block, step, table, elements);
    } else if (step->kind == STEP_DELETE) {
        put_row(block, table, step->key, ISO_DELETE, ISO_ABSENT);
    } else if (reads && !step->is_there) {
        put_row(block, table, step->key, ISO_READ, ISO_ABSENT);
    } else {
        put_row(block, table, step->key, reads ? ISO_READ : ISO_WRITE, atom_of(block, "true"));
        put_cells(block, step, table, step->key, reads ? ISO_READ : ISO_WRITE, elements);
        put_set(block, &set, ISO_SET_ROW, 1 + cells_of(step));
    }
}

void rows_put(struct iso_history *block, const struct transaction *transaction)
{
    for (uint32_t i = 0; i < transaction->step_count; i++)
        put_step(block, &transaction->steps[i],
                 transaction->elements + transaction->steps[i].first);
}
