/* Keys, their tables, and texts (pool.c, table.c, initial.c). */
#ifndef ISO_JOIN_KEY_STATE_H
#define ISO_JOIN_KEY_STATE_H

#include "history/history.h"
#include "values/source.h"
#include "join/map.h"

struct join_key {
    uint32_t stamp;             /* of the youngest transaction that used it ... */
    uint64_t ordinal;           /* ... and its last row's */
    uint32_t span, occurrences; /* in the span of that number */
    uint32_t mark, row;         /* scratch of comparisons */
    uint32_t out_block; /* the number of the output's block of which `out` is the key's atom */
    iso_atom out;
    iso_atom table;   /* of `keys` */
    iso_atom value;   /* as delivered last; where nothing asks for it, only whether there is one */
    uint32_t content; /* digest of what was delivered last; 0: not known */
    uint32_t partition; /* the input that it came from */
    uint32_t channel;   /* + 1; of the extent's channels (extent.h) */
    uint32_t of_table;  /* number in `tables` */
    uint32_t of_row,
        of_column;     /* of a cell: the key of its row, the number of its column in `tables` */
    uint8_t part;      /* enum join_part */
    uint8_t initial;   /* enum join_initial */
    uint64_t first;    /* position of its first version, where statements change tables; 0: none has
                          arrived */
    uint64_t last;     /* commit timestamp of `value`, where rows are net changes */
    bool asked;        /* a client has read it since tables change (change.c) */
    bool was_changed;  /* some transaction has changed it */
    bool is_missed;    /* no snapshot has the initial value that it had, nor that of its cells */
    bool lost;         /* PostgreSQL: of unknown value since a change of it was lost (lost.c) */
    bool was_there;    /* its first version replaced something, where rows are net changes */
    bool is_misplaced; /* a change of it has no moment: its record did not come with it (in-band) */
    bool is_header;    /* `TABLE#`, of queries (history/history.h): it never has a value */
};

/* Parts of a row that a key may stand for (cell.c). */
enum join_part {
    JOIN_PART_ALL,
    JOIN_PART_ROW, /* whether it is there: its columns are cells */
    JOIN_PART_CELL
};

/* Knowledge of the key's value before the stream (initial.c). */
enum join_initial {
    JOIN_INITIAL_DEFAULT,  /* the engine has what it has of every key: nothing */
    JOIN_INITIAL_ASKED,    /* the engine knows that it is not known yet */
    JOIN_INITIAL_UNKNOWN,  /* ... and never will be */
    JOIN_INITIAL_LEARNED,  /* a change's before image said it */
    JOIN_INITIAL_DELIVERED /* a row of a snapshot, or an insert, said it */
};

static const struct join_key join_key_new = {.table = ISO_ABSENT,
                                             .value = ISO_ABSENT,
                                             .of_table = ISO_NONE,
                                             .of_row = ISO_NONE,
                                             .of_column = ISO_NONE};

struct join_keys {
    struct iso_history names; /* numbers and atoms */
    struct join_key *list;    /* by number */
    uint32_t capacity;
};

/* Texts of values and names: kept as long as something refers to them. */
struct join_texts {
    struct iso_atoms atoms;
    uint32_t kept; /* of the last rebuild */
};

/* ---- tables (table.c), and columns that are cells (cell.c): a column is a table of a name
 * "table#column" ---- */

enum join_coverage { JOIN_NOT_ASKED, JOIN_COVERED, JOIN_UNCOVERED };

/* Progress of a table's first snapshot. One row may be all: that of the first table is marked as
 * the first alone. */
enum join_table_start { JOIN_START_UNSEEN, JOIN_START_ONE, JOIN_START_ROWS, JOIN_START_WHOLE };

struct join_table {
    iso_atom name;          /* of `keys`: what stands in a key before the first '/' */
    uint8_t coverage;       /* enum join_coverage */
    uint64_t since;         /* how many records came before a source covered it */
    bool collected;         /* the stream names it among its collections */
    bool asked_again;       /* the stream has shown that it cannot be covered */
    bool has_rows;          /* rows of it arrive all the same */
    bool is_column, varies; /* not all rows of its table have the column; or, of a table, some of
                               its rows did not come */
    uint8_t cells;          /* enum join_coverage: whether its columns are cells */
    uint8_t start;          /* enum join_table_start */
    uint32_t lacks;    /* the mark of the incomplete transaction that lacks rows of it (lost.c) */
    bool is_misplaced; /* rows of it may be lost of a transaction that has no moment */
    bool has_lost;     /* some transaction may lack rows of it, and nobody says of which keys */
    uint64_t left_out; /* clients' operations on its keys that were not judged */
    uint64_t unseen;   /* of a column: those from before anything of it was known */
    struct iso_value_type value; /* of its rows' values, as it was when `types` types were known */
    uint32_t types;
    uint64_t newest;  /* the largest position of a commit with rows of it, where no event tells of
                         statements */
    uint64_t respelt; /* from this position on nobody knows what older rows have (of a column: in
                         it); 0: no such */
};

struct join_tables {
    struct join_table *list;
    uint32_t count, capacity;
    struct join_map by_name; /* atom of `keys` */
    bool collections;        /* the stream has named some */
    bool varies;             /* a column does */
    bool grow;               /* one without a topic may get one, and is no wrong name for that */
    uint32_t types;          /* iso_join_types_known */
};

#endif
