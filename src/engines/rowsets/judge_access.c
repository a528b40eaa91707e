/* Which rows a query has to look at: those between its bounds, or what indexes of its condition's
 * columns find. */
#include <assert.h>
#include <string.h>

#include "rowsets/judged_private.h"

static bool is_before(const struct rowsets_cursor *cursor, const struct rowsets_cursor *end)
{
    return cursor->chunk < end->chunk || (cursor->chunk == end->chunk && cursor->at < end->at);
}

/* Each row that may lie between the bounds. */
void judge_visit(struct judge *judge, judge_visitor function)
{
    const struct iso_rowsets *engine = judge->engine;
    const struct rowsets_table *table = &engine->store.tables[judge->table];
    for (struct rowsets_cursor at = judge->scope.from;
         is_before(&at, &judge->scope.to) && at.chunk < table->chunk_count;) {
        const struct rowsets_chunk *chunk = &table->chunks[at.chunk];
        if (at.at == chunk->count) {
            at = (struct rowsets_cursor){at.chunk + 1, 0};
            continue;
        }
        uint32_t row = chunk->rows[at.at++];
        function(judge, row, engine->store.rows[row].parts);
    }
}

uint64_t judge_count_rows(const struct judge *judge, uint64_t limit)
{
    const struct rowsets_table *table = &judge->engine->store.tables[judge->table];
    uint64_t rows = judge->query->own_count;
    for (uint32_t c = judge->scope.from.chunk;
         c <= judge->scope.to.chunk && c < table->chunk_count && rows <= limit; c++)
        rows += table->chunks[c].count;
    return rows;
}

/* ---- the way that finds the fewest rows ---- */

/* Adds the lists of the path, and how many entries they have; UINT64_MAX: no index finds its
 * rows. */
static uint64_t seek_path(struct judge *judge, const struct iso_condition_path *path)
{
    struct iso_rowsets *engine = judge->engine;
    const struct judge_slot *slot = &judge->asked.slots[path->column];
    uint64_t entries = 0;
    struct iso_scalar_place seek;
    if (slot->column == ISO_NONE)
        return UINT64_MAX;
    for (uint32_t i = 0; i < path->count; i++) {
        uint32_t heads[ROWSETS_HEADS];
        if (!iso_scalar_seek(slot->type, &judge->asked.where->constants[path->constant + i], &seek))
            return UINT64_MAX;
        uint32_t number = rowsets_index(engine, judge->table, slot->column, slot->type);
        const struct rowsets_index *index = &engine->store.tables[judge->table].indexes[number];
        uint32_t count = rowsets_index_seek(index, seek, heads);
        for (uint32_t h = 0; h < count; h++) {
            ISO_GROW(judge->room.lists, judge->scope.list_count, judge->room.lists_capacity);
            judge->scope.lists = judge->room.lists;
            judge->scope.lists[judge->scope.list_count++] =
                (struct judge_entries){number, heads[h]};
            entries += index->entries[heads[h]].length;
        }
    }
    return entries;
}

static uint64_t sum(uint64_t one, uint64_t other)
{
    return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

/* What the last paths of a stack find: each its entries, and its lists from `first` on. */
struct way {
    uint64_t entries;
    uint32_t first;
};

/* Of two ways the cheaper one, or both: the lists of the other go. */
static struct way join_ways(struct judge *judge, struct way left, struct way right, bool both)
{
    struct judge_scope *scope = &judge->scope;
    assert(left.first <= right.first && right.first <= scope->list_count);
    if (both)
        return (struct way){sum(left.entries, right.entries), left.first};
    if (left.entries <= right.entries) {
        scope->list_count = right.first;
        return left;
    }
    if (right.first < scope->list_count)
        memmove(scope->lists + left.first, scope->lists + right.first,
                (scope->list_count - right.first) * sizeof *scope->lists);
    scope->list_count -= right.first - left.first;
    return (struct way){right.entries, left.first};
}

void judge_choose_access(struct judge *judge)
{
    enum { FEW = 64 };
    const struct iso_condition *where = judge->asked.where;
    struct iso_rowsets *engine = judge->engine;
    uint64_t few = engine->options.of_few ? 0 : FEW;
    if (!where || !where->path_count || !engine->store.tables[judge->table].is_whole ||
        judge_count_rows(judge, few) <= few)
        return;
    struct way *stack = iso_allocate(where->path_count * sizeof *stack);
    uint32_t used = 0;
    for (uint32_t i = 0; i < where->path_count; i++) {
        const struct iso_condition_path *path = &where->paths[i];
        uint32_t first = judge->scope.list_count;
        if (path->kind == ISO_PATH_EQUAL) {
            uint64_t entries = seek_path(judge, path);
            stack[used++] = (struct way){entries, first};
        } else {
            assert(used >= 2);
            used--;
            stack[used - 1] =
                join_ways(judge, stack[used - 1], stack[used], path->kind == ISO_PATH_BOTH);
        }
    }
    assert(used == 1 && !stack->first);
    judge->scope.is_indexed =
        stack->entries != UINT64_MAX &&
        (engine->options.of_few || judge_count_rows(judge, stack->entries) > stack->entries);
    iso_free(stack);
}

/* ---- looking ---- */

/* Each once; numbers of rows that are gone may be another table's. */
static void visit_entries(struct judge *judge, struct judge_entries list, judge_visitor function)
{
    struct iso_rowsets *engine = judge->engine;
    const struct rowsets_index *index = &engine->store.tables[judge->table].indexes[list.index];
    for (uint32_t entry = list.entry; entry != ISO_NONE; entry = index->entries[entry].next) {
        struct rowsets_row *row = &engine->store.rows[index->entries[entry].row];
        assert(row->table == ISO_NONE || row->table < engine->store.table_count);
        if (row->table != judge->table || row->visit == engine->store.visit)
            continue;
        row->visit = engine->store.visit;
        function(judge, index->entries[entry].row, row->parts);
    }
}

#ifdef ISO_VALIDATE
static void assert_no_match(struct judge *judge, uint32_t row, iso_atom parts)
{
    if (judge->engine->store.rows[row].visit == judge->engine->store.visit)
        return;
    judge_see(judge, row, parts);
    struct judge_outcome outcome = judge_decide(judge, judge->row.there, judge->row.cells);
    assert(outcome.there == ISO_TRUTH_FALSE || outcome.matches == ISO_TRUTH_FALSE);
}
#endif

void judge_visit_matches(struct judge *judge, judge_visitor function)
{
    struct iso_rowsets *engine = judge->engine;
    const struct rowsets_query *query = judge->query;
    if (!++engine->store.visit) {
        for (uint32_t i = 0; i < engine->store.row_count; i++)
            engine->store.rows[i].visit = 0;
        engine->store.visit = 1;
    }
    if (!judge->scope.is_indexed)
        judge_visit(judge, function);
    for (uint32_t i = 0; judge->scope.is_indexed && i < judge->scope.list_count; i++)
        visit_entries(judge, judge->scope.lists[i], function);
    for (uint32_t i = 0; i < query->own_count; i++) {
        uint32_t row = ISO_NONE;
        if (i && query->owns[i - 1].parts == query->owns[i].parts)
            continue;
        row = rowsets_find_row(engine, judge->table, query->owns[i].parts);
        if (row == ISO_NONE ||
            (judge->scope.is_indexed && engine->store.rows[row].visit != engine->store.visit))
            function(judge, row, query->owns[i].parts);
        if (row != ISO_NONE)
            engine->store.rows[row].visit = engine->store.visit;
    }
#ifdef ISO_VALIDATE
    if (judge->scope.is_indexed)
        judge_visit(judge, assert_no_match);
#endif
}
