/* What the files of this module share.
 *
 *     table -> order: rows by key      row -> register (the row itself) -> register (a cell) -> ...
 *                                      register -> versions by commit: | 5 true | 9 absent |
 *
 * All of it are numbers into columns, so that it can be archived. Moments are exclusive bounds: a
 * version is visible iff its cts is below it.
 */
#pragma once

#include "base/fetch.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number_map.h"
#include "base/paged.h"
#include "base/text.h"
#include "predicate/condition.h"
#include "predicate/place.h"
#include "rowsets/rowsets.h"

/* ---- the store ---- */

struct rowsets_version {
    uint64_t cts, opened; /* versions of one cts stand in the order of the bounds of their first
                             writes, then of tids */
    iso_atom tid, value;
};

/* A row's existence (column 0) or a cell. Versions stand in a block of 2^class of them. */
struct rowsets_cell {
    uint32_t next;        /* of the row's; ISO_NONE: the last */
    uint32_t column : 26; /* ROWSETS_NO_COLUMN: of a free one */
    uint32_t class : 5;
    uint32_t has_initial : 1; /* somebody said what there was before */
    uint32_t first, count;    /* versions */
    iso_atom initial;
    iso_atom newest;     /* the last version's value, */
    uint64_t newest_cts; /* and its commit: as a rule they are all that is asked for */
};

#define ROWSETS_NO_COLUMN ((1u << 26) - 1)

struct rowsets_row {
    uint32_t table;           /* ISO_NONE: free, and `registers` is the next one that is */
    iso_atom parts;           /* the key behind the table's name */
    uint32_t cells;           /* the first is the row's own */
    uint32_t candidates;      /* what transactions of unknown outcome wrote; ISO_NONE: nothing */
    uint32_t serial : 29;     /* counts the rows that had this number */
    uint32_t was_deleted : 1; /* it has a version that is absent */
    uint32_t is_list : 1;     /* a plain key that somebody appends to: versions are elements */
    uint32_t is_number : 1;   /* the key is one integer, `number` */
    uint32_t visit;           /* the last visit that came by */
    int64_t number;
};
/* Each query looks at several of both: no line of the cache more than they need. */
_Static_assert(sizeof(struct rowsets_cell) == 32 && sizeof(struct rowsets_row) == 32,
               "a half line");

/* One final write of a transaction of unknown outcome. */
struct rowsets_candidate {
    uint32_t next; /* of the row's, or the next free one */
    uint32_t unknown, column;
    iso_atom value;
    bool is_reinserted; /* a row that it deleted before it wrote it again */
};

struct rowsets_column {
    iso_atom name;
    uint64_t first_cts; /* the least of its versions; UINT64_MAX: none */
    bool has_initial;
};

enum { ROWSETS_CHUNK = 128 };
struct rowsets_chunk {
    uint32_t count;
    uint32_t rows[ROWSETS_CHUNK];
};

/* Counts of the kinds of keys' parts at one position: where there is one kind only, the order of
 * the index is that of the type. */
struct rowsets_part {
    uint32_t integers, texts, negatives;
};

/* Rows by the value of a column (equal.c). */
struct rowsets_index {
    struct rowsets_indexed { /* after a restore it is made anew, and this is as it was */
        uint32_t column;
        struct iso_scalar_type type;
        uint64_t added, placed; /* what was added so far, and of it by its hash */
        uint64_t unasked;       /* since a query asked last */
    } of;
    struct iso_number_map heads; /* by hash: the first entry */
    struct rowsets_entry {
        uint32_t row, next; /* ISO_NONE: the last */
        uint32_t length;    /* entries from here on */
    } * entries;
    uint32_t count, capacity;
    uint32_t classes[ISO_SCALAR_CLASSES]; /* the first entry of each */
    uint32_t unindexed;                   /* of rows that are always looked at */
};

struct rowsets_table {
    iso_atom name; /* ISO_ABSENT: its rows are all keys, as they stand */
    bool is_whole;
    bool is_plain;    /* those of ranges */
    bool is_given_up; /* memory was short: nothing of it is kept */
    /* the highest moment at which it was asked by a query that is provisional */
    uint64_t judged_below;
    uint64_t changes; /* what came after the deadline of a query that may have asked for it */

    struct rowsets_column *columns; /* [0] is the row */
    uint32_t column_count, column_capacity;
    struct rowsets_chunk *chunks; /* rows in the order of their keys */
    uint32_t chunk_count, chunk_capacity;
    uint32_t row_count;
    uint32_t part_count; /* of the first row's key; `odd_keys` have another number of parts */
    uint32_t odd_keys;
    struct rowsets_part parts[ISO_KEY_PARTS];
    uint64_t lost;     /* changes of it are missing from here on; 0: none */
    uint64_t *altered; /* when, in any order */
    uint32_t altered_count, altered_capacity;
    struct rowsets_index *indexes;
    uint32_t index_count, index_capacity;
};

/* ---- transactions ---- */

struct rowsets_write {
    uint32_t table, column;
    iso_atom parts, value;
    uint64_t opened;    /* the bound of its first write; ROWSETS_LOCK: its cts */
    bool is_reinserted; /* a row that the transaction deleted and wrote again */
    uint32_t key;       /* of the block, while its transaction is taken; ISO_NONE later */
    bool is_plain;      /* as a row of all keys */
    bool is_list;       /* that somebody appends to */
};
#define ROWSETS_LOCK UINT64_MAX

/* An own write that lies over a query's moment. */
struct rowsets_own {
    iso_atom parts;
    uint32_t column;
    iso_atom value;
    bool is_reinserted;
};

/* A query's position in the queue: by arrival until its deadline passes, then among the provisional
 * ones. */
struct rowsets_turn {
    uint64_t arrived, number; /* when; counts queries */
    uint64_t seen;            /* `changes` of its table when it was judged last */
    bool is_provisional;      /* judged by its deadline: what it found may be retracted */
    struct rowsets_query *previous, *next;
};

/* A query, with all that is needed to judge it. Archived as it stands. */
struct rowsets_query {
    uint64_t bound,
        start_limit; /* of a transaction of unknown outcome that may have written what it saw */
    uint64_t cts, origin; /* cts: UINT64_MAX of points */
    iso_atom tid, table, from, to, where, returned;
    uint32_t index, operation, step, table_number;
    uint64_t sts, ends; /* of its transaction, as findings report them */
    uint32_t row_count, own_count, emitted_count;
    uint32_t watched; /* held: the transaction of unknown outcome whose outcome it waits for */
    bool is_range;    /* of plain keys */
    bool is_partial, own_order, is_lock, is_point, at_commit, in_aggregate,
        in_bag;     /* in_...: already reported */
    uint64_t at;    /* while its transaction's outcome is unknown: its moment, unless `at_commit` */
    iso_atom *rows; /* returned: parts of keys; behind them those reported */
    struct rowsets_own *owns; /* by parts, column */
    iso_atom *emitted;        /* rows that were reported: a held query reports each once */
    uint32_t emitted_capacity;
    struct rowsets_turn turn;
};

struct rowsets_list {
    struct rowsets_query *first, *last;
};

struct rowsets_unknown {
    iso_atom tid;   /* ISO_ABSENT: free */
    uint64_t start; /* 0: may have started any time */
    struct rowsets_write *writes;
    uint32_t write_count, write_capacity;
    struct rowsets_query **queries;
    uint32_t query_count, query_capacity;
};

/* The meaning of a key of the block, as far as it was looked up. */
struct rowsets_known {
    uint32_t table; /* + 1; 0: not looked up; ISO_NONE: no row's */
    uint32_t column;
    iso_atom parts;
    /* where it was when it was seen last, of that row; `cell` ISO_NONE: nowhere */
    uint32_t row, cell, serial;
    uint32_t mark, write; /* the transaction that is taken wrote it, as its `write` */
};

/* The tables, and what is in them (store.c, row_order.c, equal.c). */
struct rowsets_store {
    struct rowsets_table *tables;
    uint32_t table_count, table_capacity;
    struct iso_number_map table_of; /* by name */

    struct rowsets_row *rows;
    uint32_t row_count, row_capacity, free_row;
    struct iso_number_map row_of; /* by table and parts */

    struct rowsets_cell *cells;
    uint32_t cell_count, cell_capacity, free_cell;

    struct rowsets_version *versions;
    uint32_t version_count, version_capacity;
    uint32_t free_version[32]; /* blocks by class; `tid` is the next */
    uint64_t version_slots;    /* of blocks in use */
    uint64_t living;           /* versions */
    uint64_t living_cells;     /* in use */

    struct iso_heap dead; /* rows (and serials) by the cts of their deletion */
    uint32_t hand;        /* the cell that a sweep looked at last */
    uint64_t put;         /* versions since then */
    uint32_t visit;       /* counts visits of rows */
    bool in_order;        /* no version comes later that belongs before the next one (check.c) */
    bool is_paged;        /* memory was short: large columns have their pages in a file */
};

/* Transactions of unknown outcome, and what they may have written (take.c, store.c). */
struct rowsets_outcomes {
    struct rowsets_candidate *candidates;
    uint32_t candidate_count, candidate_capacity, free_candidate;
    struct rowsets_unknown *unknowns;
    uint32_t unknown_count, unknown_capacity, free_unknowns;
    struct iso_number_map unknown_of; /* by tid */
};

/* Queries that wait (queue.c). */
struct rowsets_waiting {
    struct iso_heap queue; /* by bound */
    struct rowsets_list fresh,
        provisional;             /* those of the queue: by arrival; judged by their deadlines */
    struct rowsets_query **held; /* for an outcome */
    uint32_t held_count, held_capacity;
    uint64_t now, numbered; /* the clock; queries so far */
    uint64_t query_bytes;   /* of those that wait */
    uint64_t open_ranges;   /* likewise */
};

struct rowsets_seek {
    const struct rowsets_index *index;
    uint64_t hash;
};

/* Transactions are taken from these (take.c): the block, and lists of the transaction at hand. */
struct rowsets_block {
    const struct iso_history *history;
    struct rowsets_known *known; /* by the block's keys */
    uint32_t known_count, known_capacity;
    struct rowsets_known *plain; /* the same as rows of all keys; empty without ranges */
    uint32_t plain_count, plain_capacity;
    struct rowsets_write *writes; /* of the transaction */
    uint32_t write_count, write_capacity;
    uint32_t mark;            /* of the transaction */
    uint32_t table;           /* + 1, that was named last: those beside it name it, too */
    ISO_LIST(uint32_t) ahead; /* what is fetched now: keys or rows, and */
    ISO_LIST(uint32_t) texts; /* texts by their hashes, and */
    ISO_LIST(struct rowsets_seek) seeks; /* what indexes will be asked for (ahead.c) */
};

/* A condition, `where`, ready to be judged (where.c). */
struct rowsets_condition {
    iso_atom text; /* ISO_ABSENT: none */
    bool is_wrong; /* it is no condition */
    struct iso_condition condition;
    struct iso_scalar_type *types; /* of its columns, as it was bound last; NULL: it was not */
};
enum { ROWSETS_CONDITIONS = 256 };

/* What a query that is judged needs room for, which the next one uses again (judge_query.c). */
struct rowsets_room {
    struct judge_slot *slots;
    struct judge_entries *lists;
    struct judge_cell *cells;
    struct iso_scalar *scalars;
    uint32_t slots_capacity, lists_capacity, width; /* of cells, and of scalars */
};

/* How far things are known (queue.c, forget.c). */
struct rowsets_time {
    uint64_t watermark, floor; /* below the floor only the newest versions are kept */
    bool has_watermark, ended;
};

struct iso_rowsets {
    struct iso_rowsets_options options;
    struct rowsets_block block;
    struct rowsets_store store;
    struct rowsets_outcomes outcomes;
    struct rowsets_waiting waiting;
    struct rowsets_time time;
    struct iso_atoms atoms; /* of all of them */
    uint32_t atoms_kept;    /* how many there were when they were collected last */
    struct iso_rowsets_stats stats;
    struct iso_text text; /* scratch */
    struct rowsets_room room;
    bool is_closed;          /* tables that it does not have are none of its own */
    bool is_timeless;        /* nothing says when transactions ran: rowsets_time_of does */
    const uint64_t *moments; /* NULL, or when they ran for all that (iso_rowsets_explained) */
    struct rowsets_condition conditions[ROWSETS_CONDITIONS]; /* by atom; not archived */
};

/* In place of a commit timestamp: versions are told apart, in no order that means anything. */
static inline uint64_t rowsets_time_of(uint32_t transaction)
{
    return 2 * (uint64_t)transaction + 2;
}

static inline uint32_t rowsets_transaction_at(uint64_t time)
{
    return (uint32_t)(time / 2 - 1);
}

static inline struct iso_json_text rowsets_text(const struct iso_atoms *atoms, iso_atom atom,
                                                char buffer[ISO_ATOM_TEXT_MAX])
{
    struct iso_json_text text = {NULL, 0};
    if (atom != ISO_ABSENT)
        text.at = iso_atom_text(atoms, atom, buffer, &text.length);
    return text;
}

/* Of all rows or cells so many were looked at: their pages do not stay in memory. */
static inline void rowsets_pass(uint32_t count)
{
    if (!(count % (1 << 16)))
        iso_columns_refit();
}

/* store.c */
/* ISO_NONE: it is another shard's. */
uint32_t rowsets_table(struct iso_rowsets *engine, const char *name, size_t length);
uint32_t rowsets_plain(struct iso_rowsets *engine); /* the table of all keys */
uint32_t rowsets_find_table(const struct iso_rowsets *engine, iso_atom name); /* ISO_NONE */
uint32_t rowsets_column(struct iso_rowsets *engine, uint32_t table, const char *name,
                        size_t length);
uint32_t rowsets_find_row(const struct iso_rowsets *engine, uint32_t table,
                          iso_atom parts); /* ISO_NONE */
/* Rows lie anywhere, and a row's cells beside one another as a rule. */
ISO_FETCH rowsets_fetch_cells(const struct iso_rowsets *engine, uint32_t row)
{
    enum { LINE = 64 };
    const char *cells = (const char *)&engine->store.cells[engine->store.rows[row].cells];
    __builtin_prefetch(cells);
    __builtin_prefetch(cells + LINE);
}
uint32_t rowsets_row(struct iso_rowsets *engine, uint32_t table, iso_atom parts);
void rowsets_free_row(struct iso_rowsets *engine, uint32_t row);
struct rowsets_cell *rowsets_find_cell(const struct iso_rowsets *engine, uint32_t row,
                                       uint32_t column);
struct rowsets_cell *rowsets_cell(struct iso_rowsets *engine, uint32_t row, uint32_t column);
/* Where versions go. */
struct rowsets_target {
    uint32_t table, row, column, cell;
};
struct rowsets_target rowsets_target(struct iso_rowsets *engine, uint32_t table, uint32_t column,
                                     iso_atom parts);
/* True: it was not there before, or may not have been. */
bool rowsets_put_version(struct iso_rowsets *engine, struct rowsets_target target,
                         struct rowsets_version version);
bool rowsets_is_behind(const struct iso_rowsets *engine, const struct rowsets_version *one,
                       const struct rowsets_version *other);
/* Whether a cell's version is still there after the row's deletion. */
bool rowsets_outlives(const struct iso_rowsets *engine, const struct rowsets_version *version,
                      const struct rowsets_version *deletion);
/* The newest below `bound` that is not `but`'s; NULL: none. */
const struct rowsets_version *rowsets_version_at(const struct iso_rowsets *engine,
                                                 const struct rowsets_cell *cell, uint64_t bound,
                                                 iso_atom but);
void rowsets_add_candidate(struct iso_rowsets *engine, uint32_t row,
                           struct rowsets_candidate candidate);
void rowsets_drop_all_candidates(struct iso_rowsets *engine, uint32_t row);
void rowsets_drop_candidates(struct iso_rowsets *engine, uint32_t row, uint32_t unknown);
void rowsets_forget_dead(struct iso_rowsets *engine);
/* Looks at so many cells, on from where it was last: what newer versions hide goes. */
void rowsets_sweep(struct iso_rowsets *engine, uint64_t steps);
void rowsets_release_store(struct iso_rowsets *engine);

/* row_order.c */
struct rowsets_cursor {
    uint32_t chunk, at;
};
void rowsets_order_add(struct iso_rowsets *engine, uint32_t row);
void rowsets_order_remove(struct iso_rowsets *engine, uint32_t row);
/* The rows that the bounds may cover lie from *from up to before *to: all where the index does not
 * know their order. */
void rowsets_order_narrow(const struct iso_rowsets *engine, const struct rowsets_table *table,
                          const struct iso_bounds *bounds, struct rowsets_cursor *from,
                          struct rowsets_cursor *to);
int rowsets_compare_rows(const struct iso_rowsets *engine, const struct rowsets_row *left,
                         const struct rowsets_row *right);
/* As rowsets_order_narrow, between the bounds of a range of plain keys. */
void rowsets_order_narrow_plain(const struct iso_rowsets *engine, const struct rowsets_table *table,
                                iso_atom from, iso_atom to, struct rowsets_cursor *first,
                                struct rowsets_cursor *end);

/* queue.c */
void rowsets_enqueue(struct iso_rowsets *engine, struct rowsets_query *query);
uint64_t rowsets_query_bytes(const struct rowsets_query *query);
void rowsets_free_query(struct rowsets_query *query);
void rowsets_wake(struct iso_rowsets *engine, uint32_t unknown);

void rowsets_conclude_table(struct iso_rowsets *engine, uint32_t table);
void rowsets_conclude_below(struct iso_rowsets *engine, uint64_t floor);
void rowsets_link_all(struct iso_rowsets *engine); /* after a restore */

/* rowsets.c: but for the transactions, which each shard has seen. */
void rowsets_add_stats(struct iso_rowsets_stats *stats, const struct iso_rowsets_stats *more);

/* shards.c, by the table's name; of plain keys it is empty. */
static inline uint32_t rowsets_shard_of(const char *table, size_t length, uint32_t shards)
{
    uint32_t hash = 2166136261u; /* FNV-1a: it must be the same after a restart */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)table[i]) * 16777619u;
    return shards > 1 ? hash % shards : 0;
}

/* forget.c */
/* Moves what is large to a file, if there is a folder for it. */
void rowsets_page(struct iso_rowsets *engine);
void rowsets_tidy(struct iso_rowsets *engine); /* all that can go without a loss */
uint64_t rowsets_largest(const struct iso_rowsets *engine,
                         uint32_t *table); /* its bytes; 0: there is none */
void rowsets_give_up_largest(
    struct iso_rowsets *engine); /* what it is asked: unjudged (`memory`) */
/* bytes of all that is kept in memory, as far as they follow from what was given */
uint64_t rowsets_needed(const struct iso_rowsets *engine);

/* take.c */
/* The meaning of the block's key; NULL: it is no row's. */
struct rowsets_known *rowsets_key_of(struct iso_rowsets *engine, uint32_t key);
void rowsets_take_queries(struct iso_rowsets *engine, uint32_t transaction);
void rowsets_take_versions(struct iso_rowsets *engine, uint32_t transaction);
void rowsets_take_unknown(struct iso_rowsets *engine, uint32_t transaction);
/* ahead.c: as iso_rowsets_add, many at once. */
void rowsets_add_all(struct iso_rowsets *engine, const uint32_t *transactions, uint32_t count);
/* What the queries ask, and returned, is fetched before the first of it is needed. */
void rowsets_fetch_asked(struct iso_rowsets *engine, struct rowsets_query *const *queries,
                         uint32_t count);
/* check.c: all of a finished history; its queries wait. */
void rowsets_take_all(struct iso_rowsets *engine, const struct iso_history *history);

/* judge_query.c: what it waits for, or ISO_NONE: it is final. */
enum rowsets_finality {
    ROWSETS_BY_DEADLINE, /* what is found may be retracted, and the query is not done with */
    ROWSETS_FINAL,
    ROWSETS_LAST /* no outcome is waited for any more */
};
void rowsets_release_room(struct rowsets_room *room);
uint32_t rowsets_judge(struct iso_rowsets *engine, struct rowsets_query *query,
                       enum rowsets_finality finality);

/* judge_between.c: all queries that wait, by when messages went; every version is there. `commits`
 * are those of the history, by cts. */
void rowsets_judge_between(struct iso_rowsets *engine, const struct iso_history *history,
                           const uint32_t *commits, uint32_t count);

/* equal.c */
/* Its number in the table. */
uint32_t rowsets_index(struct iso_rowsets *engine, uint32_t table, uint32_t column,
                       struct iso_scalar_type type);
/* Where the index has the value; false: it has no place there. */
bool rowsets_index_place(const struct iso_rowsets *engine, const struct rowsets_index *index,
                         iso_atom value, struct iso_scalar_place *place);
bool rowsets_is_type(struct iso_scalar_type one, struct iso_scalar_type other);
enum { ROWSETS_HEADS = ISO_SCALAR_CLASSES + 2 };
/* First entries of the lists in which all rows stand whose value may be the one that is sought. */
uint32_t rowsets_index_seek(const struct rowsets_index *index, struct iso_scalar_place seek,
                            uint32_t heads[ROWSETS_HEADS]);
void rowsets_index_value(struct iso_rowsets *engine, struct rowsets_target target, iso_atom value);
void rowsets_index_loosen(struct iso_rowsets *engine, struct rowsets_target target);
/* The row's cells may follow its write, up to `end`. */
void rowsets_index_birth(struct iso_rowsets *engine, struct rowsets_target target,
                         const struct rowsets_write *write, const struct rowsets_write *end);
void rowsets_release_indexes(struct rowsets_table *table);
uint64_t rowsets_index_bytes(const struct rowsets_table *table);

/* where.c: until the next one is asked for. */
struct rowsets_condition *rowsets_condition(struct iso_rowsets *engine, iso_atom where);
void rowsets_bind_condition(struct rowsets_condition *kept, const struct iso_scalar_type *types);
void rowsets_forget_conditions(struct iso_rowsets *engine);

/* collect.c */
void rowsets_make_maps(struct iso_rowsets *engine);
void rowsets_collect(struct iso_rowsets *engine); /* if there may be many */
void rowsets_collect_now(struct iso_rowsets *engine);
