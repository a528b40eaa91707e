#include "generate/table.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

void tables_init(struct tables *tables, uint32_t count, uint32_t columns, uint32_t rows)
{
    assert(count && columns <= TABLE_COLUMNS);
    *tables = (struct tables){.count = count, .columns = columns, .row_count = rows};
    tables->rows = iso_allocate_zeroed(rows, sizeof *tables->rows);
    tables->found = iso_allocate_zeroed(count, sizeof *tables->found);
}

static void free_versions(struct version *version)
{
    while (version) {
        struct version *older = version->older;
        iso_free(version);
        version = older;
    }
}

void tables_release(struct tables *tables)
{
    for (uint32_t i = 0; i < tables->row_count; i++)
        free_versions(tables->rows[i].newest);
    ISO_FREE_ALL(tables->rows, tables->found, tables->own);
    memset(tables, 0, sizeof *tables);
}

void tables_start_pass(struct tables *tables)
{
    tables->pass++;
    tables->own_count = 0;
}

struct row_view row_see(struct tables *tables, uint32_t row, uint64_t moment)
{
    struct row_view view = {.row = &tables->rows[row], .version = tables->rows[row].newest};
    if (view.row->pass != tables->pass) {
        view.row->pass = tables->pass;
        view.row->written = view.row->seen = 0;
        view.row->is_found = view.row->is_wrong = false;
    }
    while (view.version && view.version->cts > moment)
        view.version = view.version->older;
    view.is_there = view.row->written & 1 ? view.row->is_there : version_is_there(&view);
    return view;
}

bool version_is_there(const struct row_view *view)
{
    return view->version && view->version->is_there;
}

uint64_t version_cell(const struct row_view *view, uint32_t column)
{
    return view->version ? view->version->cells[column] : 0;
}

uint64_t row_cell(const struct tables *tables, const struct row_view *view, uint32_t column)
{
    return view->row->written >> 1 >> column & 1 ? tables->own[view->row->first + column]
                                                 : version_cell(view, column);
}

void row_write_cell(struct tables *tables, struct row *row, uint32_t column, uint64_t value)
{
    assert(row->pass == tables->pass);
    if (!(row->written >> 1)) {
        row->first = tables->own_count;
        for (uint32_t i = 0; i < tables->columns; i++)
            ISO_PUSH(tables->own, tables->own_count, tables->own_capacity, 0);
    }
    tables->own[row->first + column] = value;
    row->written |= 2u << column;
    row->seen |= 2u << column;
}

void row_write(struct row *row, bool is_there)
{
    row->is_there = is_there;
    row->written |= 1;
    row->seen |= 1;
}

bool row_is_doubtful(const struct row_view *view, uint32_t column)
{
    return view->version && !(view->row->written >> 1 >> column & 1) &&
           view->version->doubtful >> column & 1;
}

void row_commit(struct tables *tables, uint32_t row, uint64_t cts, uint64_t horizon, bool is_known)
{
    struct row_view view = row_see(tables, row, UINT64_MAX);
    if (!view.row->written)
        return;
    struct version *version =
        iso_allocate(sizeof *version + tables->columns * sizeof *version->cells);
    version->cts = cts;
    version->is_there = view.is_there;
    version->doubtful = view.version ? view.version->doubtful : 0;
    version->doubtful = is_known ? version->doubtful & ~(view.row->written >> 1)
                                 : version->doubtful | view.row->written >> 1;
    for (uint32_t i = 0; i < tables->columns; i++)
        version->cells[i] = row_cell(tables, &view, i);
    version->older = view.row->newest;
    view.row->newest = version;
    view.row->written = 0;
    while (version && version->cts > horizon)
        version = version->older;
    if (version) {
        free_versions(version->older);
        version->older = NULL;
    }
}
