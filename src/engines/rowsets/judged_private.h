/* One query while it is judged: what it asks, made ready; what it returned; and rows as it saw
 * them. */
#pragma once

#include "predicate/aggregate.h"
#include "rowsets/rowsets_private.h"

/* A column that is asked for: of `where`, of an aggregate, of rows without keys. */
struct judge_slot {
    struct iso_scalar_type type;
    uint32_t column; /* ISO_NONE: nobody ever wrote it, */
    uint32_t part;   /* unless it is this part of the key (else ISO_NONE) */
    bool is_integer; /* an integer of it is one, whatever else there is */
    char buffer[ISO_ATOM_TEXT_MAX];
};

/* The content of a cell: an atom, or why it is not known. */
struct judge_cell {
    iso_atom value;
    uint32_t doubt; /* 1 + enum iso_unjudged; 0: none */
};

/* A row as the query had to see it. */
struct judge_row {
    uint32_t row; /* ISO_NONE: only the transaction itself wrote it */
    iso_atom parts;
    bool is_own, is_reinserted;
    struct judge_cell there, *cells;      /* by slot */
    uint64_t writer_cts;                  /* of the newest version that decides, */
    const struct rowsets_version *writer; /* this one; NULL: none */
    const struct rowsets_version
        *died; /* its last deletion before; what its cells held until then is no longer there */
    iso_truth covered; /* by the bounds */
};

/* Whether it is there, and whether it matches: sets of ISO_TRUTH_TRUE and _FALSE. */
struct judge_outcome {
    unsigned there, matches;
    uint32_t reasons; /* enum iso_unjudged, bits by number */
};

struct judge_aggregate {
    struct iso_aggregate aggregate;
    struct iso_json_text name, reported;
    uint32_t slot;
    struct iso_aggregation total;
};

/* Rows without keys, as texts: ["x",null]. */
struct judge_bag {
    uint32_t first_slot, column_count;
    struct iso_text text;
    uint64_t *spans;                    /* start << 32 | length, in `text` */
    uint32_t count, capacity, reported; /* the first `told` are what was returned */
};

/* The query's question, ready to be compared. */
struct judge_asked {
    const struct iso_condition *where; /* NULL: none */
    struct iso_rowsets_key key;
    struct iso_bounds bounds;
    bool has_bounds;
    bool of_integers; /* keys of one integer lie between these two, others as `bounds` say */
    int64_t least, most;
    struct judge_slot *slots;
    uint32_t slot_count;
};

/* Its answer beside rows (judge_returned.c). */
struct judge_returned {
    bool has_aggregates, has_bag;
    struct judge_aggregate *aggregates;
    uint32_t aggregate_count, aggregate_capacity;
    struct judge_bag bag;
    char **copies; /* of numbers that aggregates refer to */
    uint32_t copy_count, copy_capacity;
};

/* Which rows are looked at. */
struct judge_scope {
    struct rowsets_cursor from, to; /* the rows that the bounds may cover, */
    bool is_indexed;                /* or those of these lists: */
    struct judge_entries {
        uint32_t index, entry; /* of the table; the first entry */
    } * lists;
    uint32_t list_count;
    uint32_t looked_at, counted;
};

/* Findings of the query that were reported before, by its deadline. */
struct judge_reported {
    iso_atom *rows;
    uint32_t row_count;
    bool aggregate, bag;
};

struct judge_texts {
    struct iso_text room, parts, returned, json;
    char parts_buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json reader;
};

struct judge {
    struct iso_rowsets *engine;
    struct rowsets_query *query;
    uint32_t table;
    bool is_last, is_altered;
    bool is_retracting;
    bool is_early; /* by the deadline: what is found may be retracted */
    struct judge_asked asked;
    struct judge_returned returned;
    struct judge_scope scope;
    struct judge_reported reported;
    struct judge_row row;
    struct iso_scalar *scalars; /* by slot, of the row */
    struct rowsets_room room;   /* the engine's, for as long */
    struct judge_texts texts;
    uint32_t reasons; /* why it is undecided: bits by enum iso_unjudged */
    uint64_t doubtful_rows;
    uint32_t blocker; /* the transaction of unknown outcome that a fault waits for; ISO_NONE */
};

/* The slots before it are the condition's. */
static inline uint32_t judge_where_columns(const struct judge *judge)
{
    return judge->asked.where ? judge->asked.where->column_count : 0;
}

static inline bool judge_counts(const struct judge *judge)
{
    return judge->returned.has_aggregates || judge->returned.has_bag;
}

/* judge_row.c */
void judge_see(struct judge *judge, uint32_t row, iso_atom parts);
/* The same where nothing is known of it but what the query's transaction wrote before. */
void judge_see_own(struct judge *judge, uint32_t row, iso_atom parts);
/* Whether the row lies between the bounds. */
iso_truth judge_covers(struct judge *judge, uint32_t row, iso_atom parts);
/* `there` and `cells` in place of the row's. */
struct judge_outcome judge_decide(struct judge *judge, struct judge_cell there,
                                  const struct judge_cell *cells);
struct iso_scalar judge_scalar(struct judge *judge, uint32_t slot, struct judge_cell cell);
/* Whether a transaction of unknown outcome may explain that the row did not do what `fault` is
 * called for; then it is the blocker. */
enum judge_fault { JUDGE_MISSING, JUDGE_EXTRA, JUDGE_CHANGED };
bool judge_excuses(struct judge *judge, enum judge_fault fault);
/* Whether one may have written to the rows of the table that are between the bounds what changes
 * the answer. */
bool judge_excuses_table(struct judge *judge);
void judge_put_row(struct judge *judge, struct iso_text *text);

/* judge_returned.c */
uint32_t judge_add_slot(struct judge *judge, struct iso_json_text name, bool is_exact);
bool judge_read_returned(struct judge *judge);
void judge_count_row(struct judge *judge, const struct judge_outcome *outcome);
/* The scalar of the row's slot is still there when the next row is looked at. */
void judge_keep_text(struct judge *judge, uint32_t slot, struct iso_scalar *scalar);
void judge_returned(struct judge *judge);
void judge_release_returned(struct judge *judge);

/* judge_access.c */
typedef void (*judge_visitor)(struct judge *judge, uint32_t row, iso_atom parts);
/* Each row of the table that the bounds may cover, also those that are not there at the query's
 * moment. */
void judge_visit(struct judge *judge, judge_visitor visitor);
/* As many rows lie between the bounds, and the transaction's own; or it is more than `limit`. */
uint64_t judge_count_rows(const struct judge *judge, uint64_t limit);
/* From now on judge_visit_matches asks indexes of the condition's columns, where they find few. */
void judge_choose_access(struct judge *judge);
/* Each row that may belong to the answer; and those that nobody but the transaction itself wrote so
 * far, or wrote again. */
void judge_visit_matches(struct judge *judge, judge_visitor visitor);

/* judge_query.c */
/* For who judges otherwise: false: it cannot be judged, for reasons that it has by then. Close it
 * in any case. */
bool judge_open(struct judge *judge, struct iso_rowsets *engine, struct rowsets_query *query);
void judge_conclude(struct judge *judge);
void judge_close(struct judge *judge);
bool judge_was_returned(const struct rowsets_query *query, iso_atom parts);
/* The row at hand is wrong, unless it is not known: whether the transaction wrote before it read,
 * or what another one did. */
void judge_fault_of(struct judge *judge, enum judge_fault fault);
void judge_doubt(struct judge *judge, uint32_t reasons, uint64_t rows);
void judge_report(struct judge *judge, struct iso_rowsets_finding *finding);

/* imply.c */
/* When the row, or a cell of it, has a version, each moment once, in order. */
struct implied_moments {
    uint64_t *list;
    uint32_t count, capacity;
};
void implied_moments_of(const struct iso_rowsets *engine, uint32_t row,
                        struct implied_moments *moments);
/* The history's key `ROW#?PREFIXREST`. */
uint32_t implied_key(const struct judge *judge, struct iso_history *history, iso_atom parts,
                     const char *prefix, struct iso_json_text rest);

/* imply_any.c */
/* Takes all queries of an engine that is timeless, and adds what they mean for any order. */
void imply_any_order(struct iso_rowsets *engine, struct iso_history *history);
