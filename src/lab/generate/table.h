/* Tables of the simulated store: rows with columns, their versions, and what a transaction makes of
 * them while it runs.
 *
 *     row 7:   newest -> | cts 12: there, 3 0 9 | -> | cts 5: not there, 3 0 7 | -> ... 0 is SQL's
 *              NULL
 *
 * A *pass* runs or judges one transaction. What it wrote and read so far lies over the versions, by
 * row, and is gone with the next pass. Row i of the store is key i / tables + 1 of table i %
 * tables. Old versions are kept as long as somebody may look at them (`horizon`). Deletes leave the
 * cells as they were: a cell is a register of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TABLE_COLUMNS = 30 };

struct version {
    uint64_t cts;
    struct version *older;
    bool is_there;
    uint32_t doubtful; /* columns, as bits, whose cells are of transactions of unknown outcome */
    uint64_t cells[];  /* by column */
};

struct row {
    struct version *newest; /* NULL: there never was one */
    uint64_t pass;          /* to which the rest belongs */
    uint32_t written,
        seen;      /* bit 0: the row itself, bit 1 + i: its i-th column. `seen`: read or written */
    bool is_there; /* as far as it was written */
    bool is_wrong; /* its existence was read wrongly: its cells do not count */
    bool is_found; /* a query lacks it, or has it too much */
    size_t first;  /* its cells as far as they were written, into `own` */
};

struct tables {
    uint32_t count, columns;
    bool texts;         /* in every third column */
    uint32_t row_count; /* of all tables */
    struct row *rows;
    uint64_t pass;
    uint64_t *found; /* by table: the last pass that found a wrong aggregate */
    uint64_t *own;   /* cells that the pass wrote, a group of `columns` for each row */
    size_t own_count, own_capacity;
};

/* A row as the pass sees it. */
struct row_view {
    struct row *row; /* of this pass */
    const struct version *version;
    bool is_there;
};

void tables_init(struct tables *tables, uint32_t count, uint32_t columns, uint32_t rows);
void tables_release(struct tables *tables);

void tables_start_pass(struct tables *tables);

/* Rows of a table are 1 to this number. */
static inline uint32_t table_size(const struct tables *tables, uint32_t table)
{
    return (tables->row_count - table + tables->count - 1) / tables->count;
}
static inline uint32_t row_number(const struct tables *tables, uint32_t table, uint64_t key)
{
    return (uint32_t)((key - 1) * tables->count + table);
}

/* The row at the moment, the newest version up to it; what the pass wrote lies over it. */
struct row_view row_see(struct tables *tables, uint32_t row, uint64_t moment);
uint64_t row_cell(const struct tables *tables, const struct row_view *view, uint32_t column);
/* The row as others committed it. */
bool version_is_there(const struct row_view *view);
uint64_t version_cell(const struct row_view *view, uint32_t column);

void row_write_cell(struct tables *tables, struct row *row, uint32_t column, uint64_t value);
void row_write(struct row *row, bool is_there);

/* The row's pending write becomes its newest version; versions that no reader at `horizon` or
 * later can see are dropped. */
void row_commit(struct tables *tables, uint32_t row, uint64_t cts, uint64_t horizon, bool is_known);

/* Whether the cell is one that no transaction wrote which is known to be committed. */
bool row_is_doubtful(const struct row_view *view, uint32_t column);
