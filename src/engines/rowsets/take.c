/* From a history's transactions to versions and queries. */
#include <assert.h>
#include <string.h>

#include "base/cell_key.h"
#include "history/moment.h"
#include "rowsets/rowsets_private.h"
#include "verdict/unjudged.h"

/* ---- keys ---- */

static uint32_t table_of(struct iso_rowsets *engine, const char *name, size_t length)
{
    uint32_t last = engine->block.table;
    if (last &&
        iso_atom_is_still(&engine->atoms, engine->store.tables[last - 1].name, name, length))
        return last - 1;
    uint32_t table = rowsets_table(engine, name, length);
    engine->block.table = table == ISO_NONE ? 0 : table + 1;
    return table;
}

static void look_key_up(struct iso_rowsets *engine, struct rowsets_known *known, iso_atom key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text text = rowsets_text(&engine->block.history->atoms, key, buffer), row,
                         column;
    bool is_cell = text.at && iso_cell_key_split(text, &row, &column);
    const char *slash = text.at && row.length ? memchr(row.at, '/', row.length) : NULL;
    *known = (struct rowsets_known){.table = ISO_NONE, .cell = ISO_NONE};
    if (!slash)
        return;
    size_t table = (size_t)(slash - row.at);
    uint32_t number = table_of(engine, row.at, table);
    if (number == ISO_NONE)
        return;
    known->table = number + 1;
    known->parts = iso_atoms_text(&engine->atoms, slash + 1, row.length - table - 1);
    if (!is_cell)
        return;
    engine->text.used = 0;
    iso_cell_key_decode(&engine->text, column);
    known->column = rowsets_column(engine, number, engine->text.bytes, engine->text.used);
}

static void look_plain_key_up(struct iso_rowsets *engine, struct rowsets_known *known, iso_atom key)
{
    *known = (struct rowsets_known){
        .table = rowsets_plain(engine) + 1,
        .cell = ISO_NONE,
        .parts = iso_atoms_copy(&engine->atoms, &engine->block.history->atoms, key)};
}

/* `*list` has an entry for each key of the block, new ones zeroed. */
static void widen(const struct iso_history *block, struct rowsets_known **list, uint32_t *count,
                  uint32_t *capacity)
{
    if (*count >= block->keys.count)
        return;
    ISO_RESERVE(*list, block->keys.count, *capacity);
    memset(*list + *count, 0, (block->keys.count - *count) * sizeof **list);
    *count = block->keys.count;
}

/* The meaning of the block's key as a row of all keys. */
static struct rowsets_known *plain_key_of(struct iso_rowsets *engine, uint32_t key)
{
    if (key >= engine->block.plain_count)
        widen(engine->block.history, &engine->block.plain, &engine->block.plain_count,
              &engine->block.plain_capacity);
    struct rowsets_known *known = &engine->block.plain[key];
    if (!known->table)
        look_plain_key_up(engine, known, engine->block.history->keys.atom[key]);
    return known;
}

struct rowsets_known *rowsets_key_of(struct iso_rowsets *engine, uint32_t key)
{
    if (key >= engine->block.known_count)
        widen(engine->block.history, &engine->block.known, &engine->block.known_count,
              &engine->block.known_capacity);
    struct rowsets_known *known = &engine->block.known[key];
    if (!known->table)
        look_key_up(engine, known, engine->block.history->keys.atom[key]);
    return known->table == ISO_NONE ? NULL : known;
}

static struct rowsets_target target_of(struct iso_rowsets *engine, struct rowsets_known *known)
{
    struct rowsets_target target = {known->table - 1, known->row, known->column, known->cell};
    if (known->cell != ISO_NONE && engine->store.rows[known->row].serial == known->serial)
        return target;
    target = rowsets_target(engine, known->table - 1, known->column, known->parts);
    known->row = target.row;
    known->cell = target.cell;
    known->serial = engine->store.rows[target.row].serial;
    return target;
}

static iso_atom copy_atom(struct iso_rowsets *engine, iso_atom atom)
{
    return iso_atoms_copy(&engine->atoms, &engine->block.history->atoms, atom);
}

/* ---- times ---- */

struct times {
    uint64_t sts, cts;
    bool has_sts, has_cts, is_point;
};

static struct times times_of(const struct iso_rowsets *engine, uint32_t transaction)
{
    const struct iso_history *history = engine->block.history;
    if (engine->moments)
        return (struct times){.sts = engine->moments[2 * (size_t)transaction],
                              .cts = engine->moments[2 * (size_t)transaction + 1],
                              .has_sts = true,
                              .has_cts = true};
    if (engine->is_timeless)
        return (struct times){.sts = rowsets_time_of(transaction) - 1,
                              .cts = rowsets_time_of(transaction),
                              .has_sts = true,
                              .has_cts = true};
    uint8_t flags = history->txns.flags[transaction];
    struct times times = {.has_sts = flags & ISO_HAS_STS, .has_cts = flags & ISO_HAS_CTS};
    times.sts = times.has_sts ? history->txns.sts[transaction] : 0;
    times.cts = times.has_cts ? history->txns.cts[transaction] : times.sts;
    if (history->finished)
        times.is_point = flags & ISO_POINT;
    else if (flags & ISO_WRITES || !times.has_sts)
        times.is_point = false;
    else if (times.has_cts)
        times.is_point = times.cts == times.sts;
    else
        times.is_point = true;
    if (times.is_point && !times.has_cts && !history->finished && flags & ISO_OWN_TIMES)
        times.cts = iso_history_latest_time(history, transaction);
    times.has_cts |= times.is_point;
    return times;
}

/* As an exclusive bound: from when the transaction had the key to itself. */
static uint64_t opened_at(const struct iso_rowsets *engine, const struct times *times,
                          uint32_t operation)
{
    uint8_t kind = engine->block.history->ops.kind[operation];
    if (kind & ISO_OPERATION_OTS)
        return engine->block.history->ops.ots[operation] + 1;
    if (kind & ISO_OPERATION_LOCK)
        return ROWSETS_LOCK;
    if (times->has_sts || engine->options.level == ISO_SER)
        return times->sts + 1;
    return ROWSETS_LOCK;
}

/* ---- writes ---- */

/* The transaction's write of the register, new or known. */
static struct rowsets_write *write_of(struct iso_rowsets *engine, uint32_t key,
                                      struct rowsets_known *known)
{
    if (known->mark == engine->block.mark)
        return &engine->block.writes[known->write];
    known->mark = engine->block.mark;
    known->write = engine->block.write_count;
    ISO_GROW(engine->block.writes, engine->block.write_count, engine->block.write_capacity);
    struct rowsets_write *write = &engine->block.writes[engine->block.write_count++];
    *write = (struct rowsets_write){
        .table = known->table - 1, .column = known->column, .parts = known->parts, .key = key};
    return write;
}

static void clear_writes(struct iso_rowsets *engine)
{
    engine->block.write_count = 0;
    if (++engine->block.mark)
        return;
    for (uint32_t i = 0; i < engine->block.known_count; i++)
        engine->block.known[i].mark = 0;
    for (uint32_t i = 0; i < engine->block.plain_count; i++)
        engine->block.plain[i].mark = 0;
    engine->block.mark = 1;
}

/* Writes to cells of a row before the transaction deleted it do not count. */
static void forget_cells(struct iso_rowsets *engine, const struct rowsets_write *row)
{
    for (uint32_t i = 0; i < engine->block.write_count; i++)
        if (engine->block.writes[i].table == row->table &&
            engine->block.writes[i].parts == row->parts && engine->block.writes[i].column)
            engine->block.writes[i].value =
                iso_value_unknown(&engine->atoms, ISO_UNJUDGED_UNKNOWN_VALUE);
}

/* Something came that queries may have to see which were judged by their deadlines already. */
static void note_change(struct iso_rowsets *engine, uint32_t table, uint64_t cts)
{
    assert(table < engine->store.table_count);
    engine->store.tables[table].changes += cts < engine->store.tables[table].judged_below;
}

static void note_write_of(struct iso_rowsets *engine, const struct times *times, uint32_t operation,
                          struct rowsets_known *known, bool is_plain)
{
    const struct iso_history *history = engine->block.history;
    uint8_t kind = iso_kind_of(history, operation);
    uint32_t before = engine->block.write_count;
    struct rowsets_write *write = write_of(engine, history->ops.key[operation], known);
    bool is_new = engine->block.write_count > before;
    write->is_plain = is_plain;
    write->is_list |= kind == ISO_APPEND;
    if (is_new)
        write->opened = opened_at(engine, times, operation);
    if (!is_plain && !is_new && !known->column && kind == ISO_DELETE)
        forget_cells(engine, write);
    if (!is_plain && !is_new && !known->column && kind == ISO_WRITE && write->value == ISO_ABSENT)
        write->is_reinserted = true;
    write->value =
        kind == ISO_DELETE ? ISO_ABSENT : copy_atom(engine, history->ops.value[operation]);
}

static void note_write(struct iso_rowsets *engine, const struct times *times, uint32_t operation)
{
    const struct iso_history *history = engine->block.history;
    uint8_t kind = iso_kind_of(history, operation);
    uint32_t key = history->ops.key[operation];
    struct rowsets_known *known =
        kind == ISO_WRITE || kind == ISO_DELETE ? rowsets_key_of(engine, key) : NULL;
    if (known)
        note_write_of(engine, times, operation, known, false);
    if (engine->options.ranges && iso_kind_writes(kind))
        note_write_of(engine, times, operation, plain_key_of(engine, key), true);
}

static void note_writes(struct iso_rowsets *engine, uint32_t transaction, const struct times *times)
{
    const struct iso_history *history = engine->block.history;
    clear_writes(engine);
    if (!(history->txns.flags[transaction] & ISO_WRITES))
        return;
    ISO_EACH(o, history->txns.first_op, transaction)
        note_write(engine, times, o);
}

static struct rowsets_known *known_of(const struct iso_rowsets *engine,
                                      const struct rowsets_write *write)
{
    return write->is_plain ? &engine->block.plain[write->key] : &engine->block.known[write->key];
}

/* The deletion of a row that was deleted and written again stays, since it ended its cells. */
static void put_versions(struct iso_rowsets *engine, const struct rowsets_write *writes,
                         uint32_t count, iso_atom tid, uint64_t cts)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct rowsets_write *write = &writes[i];
        if (engine->store.tables[write->table].is_given_up)
            continue;
        note_change(engine, write->table, cts);
        struct rowsets_target target =
            write->key == ISO_NONE
                ? rowsets_target(engine, write->table, write->column, write->parts)
                : target_of(engine, known_of(engine, write));
        engine->store.rows[target.row].is_list |= write->is_list;
        struct rowsets_version version = {cts, write->opened == ROWSETS_LOCK ? cts : write->opened,
                                          tid, ISO_ABSENT};
        if (write->is_reinserted)
            rowsets_put_version(engine, target, version);
        version.value = write->value;
        if (rowsets_put_version(engine, target, version))
            rowsets_index_birth(engine, target, write, writes + count);
    }
}

void rowsets_take_versions(struct iso_rowsets *engine, uint32_t transaction)
{
    assert(transaction < engine->block.history->txns.count);
    const struct iso_history *history = engine->block.history;
    struct times times = times_of(engine, transaction);
    engine->stats.transactions++;
    if (!times.has_cts || !(history->txns.flags[transaction] & ISO_WRITES))
        return;
    note_writes(engine, transaction, &times);
    put_versions(engine, engine->block.writes, engine->block.write_count,
                 copy_atom(engine, history->txns.tid[transaction]), times.cts);
}

/* ---- queries ---- */

/* When it looked; false: nothing says so. */
static bool set_moment(const struct iso_rowsets *engine, struct rowsets_query *query,
                       const struct times *times, uint8_t kind, uint64_t ots, bool is_known)
{
    query->is_lock = (kind & (ISO_OPERATION_LOCK | ISO_OPERATION_OTS)) == ISO_OPERATION_LOCK;
    query->at_commit = engine->options.level == ISO_SER || query->is_lock;
    query->cts = times->is_point ? UINT64_MAX : times->cts;
    query->at = times->sts;
    if (engine->options.level == ISO_RC) {
        query->bound = query->start_limit = UINT64_MAX;
        return true;
    }
    if (query->at_commit) {
        query->bound = times->cts + times->is_point;
        query->start_limit = times->cts;
        return times->has_cts || !is_known;
    }
    query->bound = (kind & ISO_OPERATION_OTS ? ots : times->sts) + 1;
    query->start_limit = query->bound - 1;
    return times->has_sts || kind & ISO_OPERATION_OTS;
}

/* Of what was returned only the rows matter. */
static bool is_cell(const struct iso_history *history, uint32_t key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text text = rowsets_text(&history->atoms, history->keys.atom[key], buffer);
    return text.at && memchr(text.at, ISO_CELL_MARK, text.length);
}

static void take_rows(struct iso_rowsets *engine, struct rowsets_query *query,
                      const struct iso_range *set, uint32_t header)
{
    const struct iso_history *history = engine->block.history;
    query->rows = set->count > 1 ? iso_allocate(set->count * sizeof *query->rows) : NULL;
    for (uint32_t o = header + 1; o < header + set->count; o++) {
        uint32_t key = history->ops.key[o];
        struct rowsets_known *known = is_cell(history, key) ? NULL : rowsets_key_of(engine, key);
        if (known && !known->column && known->table - 1 == query->table_number)
            query->rows[query->row_count++] = known->parts;
    }
}

static bool lies_in(const struct iso_history *history, const struct iso_range *set, uint32_t key)
{
    iso_atom atom = history->keys.atom[key];
    return (set->from == ISO_ABSENT || iso_atom_compare(&history->atoms, set->from, atom) <= 0) &&
           (set->to == ISO_ABSENT || iso_atom_compare(&history->atoms, atom, set->to) <= 0);
}

/* Rows and cells that its transaction names, in the set or elsewhere, are judged as reads and
 * writes of it (iso_history_imply_own). */
static void take_named(struct iso_rowsets *engine, struct rowsets_query *query,
                       const struct iso_range *set)
{
    const struct iso_history *history = engine->block.history;
    uint32_t first = history->txns.first_op[set->transaction],
             end = history->txns.first_op[set->transaction + 1];
    query->rows = end > first ? iso_allocate((end - first) * sizeof *query->rows) : NULL;
    for (uint32_t o = first; o < end; o++)
        if (lies_in(history, set, history->ops.key[o]))
            query->rows[query->row_count++] = plain_key_of(engine, history->ops.key[o])->parts;
}

static void take_owns(struct iso_rowsets *engine, struct rowsets_query *query)
{
    for (uint32_t i = 0; i < engine->block.write_count; i++)
        query->own_count += engine->block.writes[i].table == query->table_number;
    query->owns = query->own_count ? iso_allocate(query->own_count * sizeof *query->owns) : NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine->block.write_count; i++) {
        const struct rowsets_write *write = &engine->block.writes[i];
        if (write->table == query->table_number)
            query->owns[count++] = (struct rowsets_own){write->parts, write->column, write->value,
                                                        write->is_reinserted};
    }
}

static bool set_table(struct iso_rowsets *engine, struct rowsets_query *query,
                      const struct iso_range *set)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text table = rowsets_text(&engine->block.history->atoms, set->table, buffer);
    query->is_range = set->form == ISO_SET_RANGE;
    if (!query->is_range && (!table.at || !set->count))
        return false;
    query->table_number =
        query->is_range ? rowsets_plain(engine) : table_of(engine, table.at, table.length);
    if (query->table_number == ISO_NONE)
        return false;
    query->table = engine->store.tables[query->table_number].name;
    return true;
}

static struct rowsets_query *take_query(struct iso_rowsets *engine, const struct iso_range *set,
                                        const struct times *times, uint32_t transaction,
                                        bool is_known)
{
    const struct iso_history *history = engine->block.history;
    uint32_t header = history->txns.first_op[transaction] + set->first;
    struct rowsets_query *query = iso_allocate_zeroed(1, sizeof *query);
    bool is_range = set->form == ISO_SET_RANGE;
    uint8_t kind = is_range ? set->kind : set->count ? history->ops.kind[header] : 0;
    uint64_t ots = is_range                         ? set->ots
                   : history->ops.ots && set->count ? history->ops.ots[header]
                                                    : 0;
    if (!set_table(engine, query, set) || !set_moment(engine, query, times, kind, ots, is_known)) {
        iso_free(query);
        return NULL;
    }
    query->tid = copy_atom(engine, history->txns.tid[transaction]);
    query->origin = history->txns.origin[transaction];
    query->sts =
        history->txns.flags[transaction] & ISO_HAS_STS ? history->txns.sts[transaction] : 0;
    query->ends =
        history->txns.flags[transaction] & ISO_HAS_CTS ? history->txns.cts[transaction] : 0;
    query->index = transaction;
    query->operation = set->first;
    query->step = iso_history_set_step(history, set);
    query->from = copy_atom(engine, set->from);
    query->to = copy_atom(engine, set->to);
    query->where = copy_atom(engine, set->where);
    query->returned = copy_atom(engine, set->returned);
    query->is_partial = set->is_partial;
    query->is_point = !(history->txns.flags[transaction] & ISO_WRITES);
    query->own_order = iso_marks_of(history, transaction) & ISO_MARK_CDC_WRITES;
    query->watched = ISO_NONE;
    if (is_range)
        take_named(engine, query, set);
    else
        take_rows(engine, query, set, header);
    return query;
}

static bool is_taken(const struct iso_rowsets *engine, const struct iso_range *set)
{
    return set->form == ISO_SET_QUERY ||
           (set->form == ISO_SET_RANGE && engine->options.ranges && !set->is_partial);
}

/* Calls `take` with each query of the transaction, in its order, own writes laid over. */
static void take_all(struct iso_rowsets *engine, uint32_t transaction, bool is_known,
                     void (*take)(struct iso_rowsets *engine, void *context,
                                  struct rowsets_query *query),
                     void *context)
{
    const struct iso_history *history = engine->block.history;
    uint32_t end, next = iso_history_sets_of(history, transaction, &end),
                  first = history->txns.first_op[transaction], o = first;
    struct times times = times_of(engine, transaction);
    bool all = iso_marks_of(history, transaction) & ISO_MARK_CDC_WRITES;
    clear_writes(engine);
    if (all)
        note_writes(engine, transaction, &times);
    for (; next < end; next++) {
        const struct iso_range *set = &history->ranges.list[next];
        if (!is_taken(engine, set))
            continue;
        for (; !all && o < first + set->first; o++)
            note_write(engine, &times, o);
        struct rowsets_query *query = take_query(engine, set, &times, transaction, is_known);
        if (!query)
            continue;
        if (!query->is_range)
            take_owns(engine, query);
        engine->stats.queries++;
        take(engine, context, query);
    }
}

static void enqueue(struct iso_rowsets *engine, void *context, struct rowsets_query *query)
{
    (void)context;
    rowsets_enqueue(engine, query);
}

void rowsets_take_queries(struct iso_rowsets *engine, uint32_t transaction)
{
    assert(transaction < engine->block.history->txns.count);
    if (engine->block.history->ranges.count)
        take_all(engine, transaction, true, enqueue, NULL);
}

/* ---- transactions of unknown outcome ---- */

static void keep_query(struct iso_rowsets *engine, void *context, struct rowsets_query *query)
{
    struct rowsets_unknown *unknown = &engine->outcomes.unknowns[*(const uint32_t *)context];
    ISO_PUSH(unknown->queries, unknown->query_count, unknown->query_capacity, query);
}

static uint32_t new_unknown(struct iso_rowsets *engine)
{
    uint32_t number = engine->outcomes.free_unknowns;
    if (number != ISO_NONE) {
        engine->outcomes.free_unknowns = engine->outcomes.unknowns[number].write_count;
    } else {
        ISO_GROW(engine->outcomes.unknowns, engine->outcomes.unknown_count,
                 engine->outcomes.unknown_capacity);
        number = engine->outcomes.unknown_count++;
    }
    engine->outcomes.unknowns[number] = (struct rowsets_unknown){.tid = ISO_ABSENT};
    return number;
}

void rowsets_take_unknown(struct iso_rowsets *engine, uint32_t transaction)
{
    assert(transaction < engine->block.history->txns.count);
    const struct iso_history *history = engine->block.history;
    iso_atom tid = copy_atom(engine, history->txns.tid[transaction]);
    struct times times = times_of(engine, transaction);
    if (iso_number_map_get(&engine->outcomes.unknown_of, tid) != ISO_NUMBER_NONE)
        return;
    uint32_t number = new_unknown(engine);
    iso_number_map_put(&engine->outcomes.unknown_of, tid, number);
    engine->outcomes.unknowns[number].tid = tid;
    engine->outcomes.unknowns[number].start = times.has_sts ? times.sts : 0;
    engine->stats.open_unknown++;
    if (history->ranges.count)
        take_all(engine, transaction, false, keep_query, &number);
    note_writes(engine, transaction, &times);
    struct rowsets_unknown *unknown = &engine->outcomes.unknowns[number];
    for (uint32_t i = 0; i < engine->block.write_count; i++) {
        const struct rowsets_write *write = &engine->block.writes[i];
        ISO_GROW(unknown->writes, unknown->write_count, unknown->write_capacity);
        unknown->writes[unknown->write_count] = *write;
        unknown->writes[unknown->write_count++].key = ISO_NONE;
        if (engine->store.tables[write->table].is_given_up)
            continue;
        note_change(engine, write->table, 0);
        uint32_t row = rowsets_row(engine, write->table, write->parts);
        rowsets_add_candidate(engine, row,
                              (struct rowsets_candidate){.unknown = number,
                                                         .column = write->column,
                                                         .value = write->value,
                                                         .is_reinserted = write->is_reinserted});
    }
}

static bool is_empty(const struct iso_rowsets *engine, uint32_t row)
{
    assert(row < engine->store.row_count);
    if (engine->store.rows[row].candidates != ISO_NONE)
        return false;
    for (uint32_t at = engine->store.rows[row].cells; at != ISO_NONE;
         at = engine->store.cells[at].next)
        if (engine->store.cells[at].count || engine->store.cells[at].has_initial)
            return false;
    return true;
}

static void settle_writes(struct iso_rowsets *engine, uint32_t number, bool committed, uint64_t cts)
{
    const struct rowsets_unknown *unknown = &engine->outcomes.unknowns[number];
    for (uint32_t i = 0; i < unknown->write_count; i++) {
        const struct rowsets_write *write = &unknown->writes[i];
        uint32_t row = rowsets_find_row(engine, write->table, write->parts);
        note_change(engine, write->table, 0);
        if (row == ISO_NONE)
            continue; /* it was empty without another of these writes */
        rowsets_drop_candidates(engine, row, number);
        if (!committed && is_empty(engine, row))
            rowsets_free_row(engine, row);
    }
    if (committed)
        put_versions(engine, unknown->writes, unknown->write_count, unknown->tid, cts);
}

static void settle_queries(struct iso_rowsets *engine, struct rowsets_unknown *unknown,
                           bool committed, uint64_t cts)
{
    for (uint32_t i = 0; i < unknown->query_count; i++) {
        struct rowsets_query *query = unknown->queries[i];
        bool is_point = query->is_point && cts == query->at;
        if (!committed) {
            engine->stats.queries--;
            rowsets_free_query(query);
            continue;
        }
        query->cts = is_point ? UINT64_MAX : cts;
        if (query->at_commit) {
            query->bound = cts + is_point;
            query->start_limit = cts;
        }
        rowsets_enqueue(engine, query);
    }
}

bool iso_rowsets_resolve(struct iso_rowsets *engine, const struct iso_atoms *atoms, iso_atom atom,
                         bool committed, uint64_t cts)
{
    iso_atom tid = iso_atoms_copy(&engine->atoms, atoms, atom);
    uint32_t number = iso_number_map_get(&engine->outcomes.unknown_of, tid);
    if (number == ISO_NUMBER_NONE)
        return false;
    settle_writes(engine, number, committed, cts);
    struct rowsets_unknown unknown = engine->outcomes.unknowns[number];
    engine->stats.open_unknown--;
    engine->stats.transactions += committed;
    iso_number_map_remove(&engine->outcomes.unknown_of, tid);
    engine->outcomes.unknowns[number] =
        (struct rowsets_unknown){.tid = ISO_ABSENT, .write_count = 0};
    settle_queries(engine, &unknown, committed, cts);
    ISO_FREE_ALL(unknown.writes, unknown.queries);
    rowsets_wake(engine, number);
    engine->outcomes.unknowns[number].write_count = engine->outcomes.free_unknowns;
    engine->outcomes.free_unknowns = number;
    return true;
}

/* ---- the rest of what is said ---- */

void iso_rowsets_block(struct iso_rowsets *engine, const struct iso_history *history)
{
    engine->block.history = history;
    engine->block.known_count = engine->block.plain_count = engine->block.table = 0;
}

void iso_rowsets_add(struct iso_rowsets *engine, uint32_t transaction)
{
    assert(transaction < engine->block.history->txns.count);
    uint8_t status = iso_status_of(engine->block.history, transaction);
    if (status == ISO_UNKNOWN) {
        rowsets_take_unknown(engine, transaction);
    } else if (status == ISO_COMMITTED) {
        rowsets_take_versions(engine, transaction);
        rowsets_take_queries(engine, transaction);
    }
}

static void set_initial(struct iso_rowsets *engine, struct rowsets_known *known, iso_atom value,
                        bool is_list)
{
    if (engine->store.tables[known->table - 1].is_given_up)
        return;
    note_change(engine, known->table - 1, 0);
    struct rowsets_target target = target_of(engine, known);
    struct rowsets_cell *cell = &engine->store.cells[target.cell];
    cell->has_initial = true;
    cell->initial = copy_atom(engine, value);
    engine->store.tables[known->table - 1].columns[known->column].has_initial = true;
    engine->store.rows[target.row].is_list |= is_list;
    rowsets_index_loosen(engine, target);
}

bool iso_rowsets_initial(struct iso_rowsets *engine, iso_atom key, iso_atom value, bool is_list)
{
    struct rowsets_known known;
    if (engine->options.ranges) {
        look_plain_key_up(engine, &known, key);
        set_initial(engine, &known, value, is_list);
    }
    if (is_list)
        return false;
    look_key_up(engine, &known, key);
    if (known.table == ISO_NONE)
        return false;
    set_initial(engine, &known, value, false);
    return true;
}

void iso_rowsets_unknown_keys(struct iso_rowsets *engine)
{
    uint32_t number = rowsets_plain(engine); /* tables move */
    engine->store.tables[number].is_whole = false;
    note_change(engine, number, 0);
}

void iso_rowsets_whole(struct iso_rowsets *engine)
{
    engine->options.initial_is_known = true; /* of tables that are still to come */
    for (uint32_t i = 0; i < engine->store.table_count; i++) {
        if (!engine->store.tables[i].is_whole)
            note_change(engine, i, 0);
        engine->store.tables[i].is_whole |= !engine->store.tables[i].is_plain;
    }
}

void iso_rowsets_lost(struct iso_rowsets *engine, struct iso_json_text name, uint64_t cts)
{
    uint32_t number = rowsets_table(engine, name.at, name.length); /* tables move */
    if (number == ISO_NONE)
        return;
    struct rowsets_table *table = &engine->store.tables[number];
    table->lost = table->lost && table->lost < cts ? table->lost : cts;
    note_change(engine, number, 0);
}

void iso_rowsets_altered(struct iso_rowsets *engine, struct iso_json_text name, uint64_t cts)
{
    uint32_t number = rowsets_table(engine, name.at, name.length); /* tables move */
    if (number == ISO_NONE)
        return;
    struct rowsets_table *table = &engine->store.tables[number];
    ISO_PUSH(table->altered, table->altered_count, table->altered_capacity, cts);
    note_change(engine, number, 0);
}
