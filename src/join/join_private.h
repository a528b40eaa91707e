/* The join's parts. */
#ifndef ISO_JOIN_PRIVATE_H
#define ISO_JOIN_PRIVATE_H

#include "join/join.h"

struct iso_atom_index;

/* ---- capability.c: what a kind of source promises ---- */

enum join_closing {
    JOIN_CLOSES_AT_END,    /* END says so, or a later position */
    JOIN_CLOSES_BY_LARGER, /* a larger commit timestamp in its partition; never complete before the end */
    JOIN_CLOSES_AT_WATERMARK,
    JOIN_CLOSES_WITH_RECORD /* nothing says so but what the client wrote; never complete before the end */
};

struct join_capability {
    const char *kind;
    enum join_closing closing;
    bool by_id;           /* rows of one transaction share an id; else a start timestamp where there is one, else cts */
    bool unique_cts;      /* no two transactions share a commit timestamp */
    bool sends_unchanged; /* a write of the value that was there has a row */
    bool runs;            /* rows have no identity: what is repeated is repeated from where it began */
    bool positions;       /* no commit timestamps: positions in a log order commits */
};

const struct join_capability *join_capability_of(const char *kind);

/* ---- identities and maps (map.c) ---- */

enum join_tag { JOIN_BY_CTS = 1, JOIN_BY_STS, JOIN_BY_XID, JOIN_BY_TEXT, JOIN_BY_MARKER };

struct join_identity {
    uint64_t number; /* a timestamp, the low 32 bits of an xid, an atom of `texts` */
    uint32_t tag;
};

struct join_map {
    struct join_entry {
        uint64_t number;
        uint32_t tag; /* 0: free */
        uint32_t value;
    } * slots;
    uint32_t mask, used;
};

uint32_t join_map_get(const struct join_map *map, struct join_identity identity); /* ISO_NONE: not there */
void join_map_put(struct join_map *map, struct join_identity identity, uint32_t value);
void join_map_remove(struct join_map *map, struct join_identity identity);
void join_map_release(struct join_map *map);

/* ---- rows ---- */

#define JOIN_ROW_BEFORE 0x01u  /* `before` is known */
#define JOIN_ROW_AFTER 0x02u   /* `after` is known */
#define JOIN_ROW_WITHOUT 0x04u /* a conditional delete whose condition did not hold: changes nothing */
#define JOIN_ROW_CLAIMED 0x08u /* final: a client says that it wrote the key */
#define JOIN_ROW_DROPPED 0x10u /* the whole table went: no client lists its keys */

struct join_row {
    uint32_t next;
    uint32_t key;           /* number in `keys` */
    iso_atom before, after; /* of `texts` */
    uint64_t ordinal;       /* with the key: the row's identity within its transaction */
    uint64_t rank;          /* the highest of a key is its final row */
    uint64_t origin;
    uint32_t content; /* digest of all that it says */
    uint8_t operation, flags;
};

struct join_chain {
    uint32_t first, last, count;
};

/* ---- a transaction as the source delivers it ---- */

#define JOIN_CLOSED 0x01u
#define JOIN_COMPLETE 0x02u /* nothing can be added */
#define JOIN_ENDED 0x04u    /* END came, with `expected` */
#define JOIN_HAS_STS 0x08u
#define JOIN_HAS_CTS 0x10u
#define JOIN_HAS_POSITION 0x20u
#define JOIN_IN_BAND 0x40u
#define JOIN_PLACING 0x80u      /* settled, waits for its position */
#define JOIN_COMMIT_SAID 0x100u /* `position` is the commit's own: END said it */
#define JOIN_SHARED 0x200u      /* markers say that it is several */

struct join_transaction {
    struct join_identity identity; /* tag 0: free */
    struct join_chain rows;
    struct join_chain markers;     /* `after` is a client's tid */
    uint32_t older, newer;         /* by arrival; `newer` also chains free ones */
    uint32_t stamp;                /* its number among all, see struct join_key */
    uint32_t cursor;               /* row behind the one found last */
    uint32_t others;               /* events that END counts and that are no rows */
    struct join_chain others_seen; /* the place of the last of them in each input, which is its `key` */
    uint32_t flags;
    uint64_t expected;
    uint64_t sts, cts;
    uint64_t position; /* of the commit; without END one above the commit before */
    uint32_t dropped;  /* rows that no message is about */
    uint64_t origin, arrived;
};

/* ---- what a client said ---- */

#define JOIN_RECORD_STS 0x01u
#define JOIN_RECORD_CTS 0x02u
#define JOIN_RECORD_GIVEN 0x04u  /* the engine has it */
#define JOIN_RECORD_PLACED 0x08u /* gets its position by snapshots */
#define JOIN_RECORD_LISTS 0x10u  /* appends: not compared */
#define JOIN_RECORD_FREE 0x20u
#define JOIN_RECORD_COMMITTED 0x40u /* placed: its commit is among those that wait for a place */
#define JOIN_RECORD_BOUND 0x80u     /* a marker has told its identity, the first one */

enum { JOIN_RECORD_IDENTITIES = 3 };

struct join_record {
    iso_atom tid;
    struct join_chain writes; /* final ones, one a key */
    uint32_t identity_count;
    struct join_identity identity[JOIN_RECORD_IDENTITIES];
    uint32_t same; /* the next record of an equal identity */
    uint32_t older, newer;
    uint32_t held;     /* transaction of `held`, or ISO_NONE */
    uint32_t unplaced; /* its snapshots and its commit that have no place yet */
    uint8_t status, flags;
    uint64_t sts, cts, xid;
    uint64_t origin, arrived;
    uint64_t horizon; /* the largest timestamp seen when it came */
};

/* ---- keys ---- */

struct join_key {
    uint32_t stamp;            /* of the youngest transaction that touched it ... */
    uint64_t ordinal;          /* ... and its last row's */
    uint32_t run, occurrences; /* in the run of that number */
    uint32_t mark, row;        /* scratch of comparisons */
    uint32_t out_block;        /* the number of the output's block of which `out` is the key's atom */
    iso_atom out;
    iso_atom table; /* of `keys` */
    iso_atom value; /* as delivered last; where nothing asks for it, only whether there is one */
};

/* ---- what was settled (settled.c) ---- */

enum { JOIN_SETTLED_ENTRIES = 1 << 20, JOIN_SETTLED_DIGESTS = 1 << 22 };

struct join_settled_entry {
    struct join_identity identity;
    iso_atom tid;   /* of `texts`; ISO_ABSENT: foreign */
    uint64_t first; /* into the ring of digests, counted from the beginning */
    uint32_t count, cursor;
    uint64_t cts;
};

struct join_settled {
    struct join_map map;                /* identity to entry */
    struct join_settled_entry *entries; /* a ring */
    uint64_t next_entry, next_digest;   /* counted from the beginning */
    uint64_t *digests;                  /* a ring: identity of the row << 32 | content */
    bool has_texts;                     /* an entry refers to `texts` */
};

enum join_sight { JOIN_NEW, JOIN_REPEAT, JOIN_OTHER_CONTENT };

void join_settled_add(struct iso_join *join, const struct join_transaction *transaction, iso_atom tid, uint64_t cts);
/* The same, of an identity that no row has. */
void join_settled_note(struct iso_join *join, struct join_identity identity, iso_atom tid, uint64_t cts);
struct join_settled_entry *join_settled_find(struct iso_join *join, struct join_identity identity);
enum join_sight join_settled_look(struct iso_join *join, struct join_settled_entry *entry, uint32_t key,
                                  uint64_t ordinal, uint32_t content);
void join_settled_index(struct join_settled *settled); /* identities have changed */
void join_settled_release(struct join_settled *settled);

/* ---- PostgreSQL's positions (place.c) ---- */

struct join_commit {
    uint64_t xid, position;       /* UINT64_MAX: not delivered */
    uint32_t record, transaction; /* or ISO_NONE */
};

struct join_link { /* a snapshot that has no place yet */
    uint32_t record;
    uint32_t operation; /* of the record's transaction, from 0; ISO_NONE: its own snapshot */
    uint64_t seen;      /* commits without a place that it sees */
};

struct join_places {
    struct join_commit *commits;                          /* by xid */
    uint32_t commit_first, commit_count, commit_capacity; /* those before the first have a place */
    struct join_link *links;
    uint32_t link_count, link_capacity;
    uint64_t position;  /* the last one given */
    uint64_t delivered; /* every xid below it has an outcome */
    uint64_t clients;   /* no later record has a snapshot with a smaller xmin */
    uint64_t reference; /* an xid of now: epochs */
    bool active;
    struct join_map placed;  /* xids that have a place */
    struct iso_history last; /* at most one snapshot: the one placed last */
    bool broken;             /* it lacks what the one before it sees */
};

void join_place_record(struct iso_join *join, uint32_t record);
void join_place_commit(struct iso_join *join, uint32_t record, uint32_t transaction);
void join_place(struct iso_join *join, bool ended);
void join_place_forget(struct iso_join *join, uint32_t record); /* it aborted */
uint64_t join_xid_of(const struct iso_join *join, uint64_t low);
void join_places_release(struct join_places *places);

/* ---- the join ---- */

struct join_lane {                /* an input of rows */
    struct join_identity current; /* tag 0: none */
    uint64_t cts;
    uint32_t run;
    uint64_t reached; /* place in the log: all transactions that commit up to here have come */
    bool used, declared;
};

struct iso_join {
    struct iso_join_options options;
    const struct join_capability *capability;
    struct iso_join_output out;
    struct iso_join_stats stats;
    bool expects_in_band;
    bool in_band;        /* records have come inside transactions */
    bool ends_come;      /* the source says where transactions end */
    bool starts_come;    /* and when they started */
    bool domains_differ; /* clients' commit timestamps are not the source's positions */

    struct iso_history keys; /* its keys: numbers and atoms */
    struct join_key *key_states;
    uint32_t key_capacity;
    struct iso_atoms texts;
    uint32_t texts_kept; /* of the last rebuild */

    struct join_row *rows;
    uint32_t row_count, row_capacity, free_row, rows_in_use;
    struct join_transaction *transactions;
    uint32_t transaction_count, transaction_capacity, free_transaction;
    struct join_map by_identity;
    uint32_t oldest, newest; /* transactions by arrival */
    uint32_t open_count;
    struct join_record *records;
    uint32_t record_count, record_capacity, free_record;
    struct join_map by_claim;
    uint32_t oldest_record, newest_record, waiting_records;
    uint32_t aborted_records;
    uint32_t unknown_count; /* of waiting records: of unknown outcome without an id */
    struct iso_history held;
    uint32_t held_open;
    struct join_settled settled;
    struct join_places places;
    struct join_lane *lanes;
    uint32_t lane_count;
    uint32_t runs, stamps, marks, out_blocks;
    uint64_t tellings;           /* rows that came, where their order is all that there is */
    uint64_t largest;            /* timestamp seen */
    uint64_t taken;              /* records: a record's place in its session, where it does not say one */
    uint64_t work;               /* events since all that is open was looked at: looking pays for itself */
    uint64_t closed;             /* one_group: every transaction up to it was sent, and whole */
    uint64_t clients;            /* no later record has a commit timestamp up to it */
    uint64_t last_end, promised; /* cdc mode: LSN of the last END; the watermark given */
    uint64_t now;

    const struct iso_history *block; /* whose atoms the caches are of */
    iso_atom *text_cache;            /* by entry of the block's atoms; + 1 */
    uint32_t *key_cache;
    uint32_t cache_count, cache_capacity;
    struct join_map snapshot_rows; /* initial values: key to digest of the value */
};

/* pool.c */
uint32_t join_key_number(struct iso_join *join, const struct iso_history *block, iso_atom key);
iso_atom join_text(struct iso_join *join, const struct iso_history *block, iso_atom text);
uint32_t join_digest(const struct iso_atoms *atoms, iso_atom atom);
uint32_t join_new_row(struct iso_join *join, struct join_chain *chain);
void join_free_rows(struct iso_join *join, struct join_chain *chain);
uint32_t join_new_transaction(struct iso_join *join, struct join_identity identity);
void join_forget_transaction(struct iso_join *join, uint32_t transaction); /* frees it and its rows */
void join_leave_open(struct iso_join *join, uint32_t transaction);         /* out of the map and the list */
uint32_t join_new_record(struct iso_join *join);
void join_forget_record(struct iso_join *join, uint32_t record);
void join_enter_claim(struct iso_join *join, uint32_t record);
void join_leave_claim(struct iso_join *join, uint32_t record);
void join_rebuild_texts(struct iso_join *join); /* if it is worth it */

/* assemble.c */
enum iso_status join_take_row(struct iso_join *join, const struct iso_history *block, const struct iso_event *event,
                              struct iso_error *error);
void join_take_end(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
void join_take_other(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
void join_take_drop(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
bool join_identity_of(struct iso_join *join, const struct iso_history *block, const struct iso_event *event,
                      struct join_identity *identity);
uint32_t join_open(struct iso_join *join, struct join_identity identity, const struct iso_event *event); /* or known */
void join_check_complete(struct iso_join *join, uint32_t transaction);
struct join_lane *join_lane(struct iso_join *join, uint32_t input);
void join_close_passed(struct iso_join *join);
void join_promise(struct iso_join *join); /* cdc mode: a watermark of positions */

/* record.c */
void join_take_record(struct iso_join *join, const struct iso_history *block, uint32_t transaction,
                      const struct join_identity *in_band);

/* settle.c */
uint32_t join_mark_finals(struct iso_join *join, const struct join_transaction *transaction);
bool join_is_final(const struct iso_join *join, uint32_t row, uint32_t mark);
#define JOIN_ROWS_FINAL 0x01u    /* no row will be added */
#define JOIN_RECORDS_FINAL 0x02u /* no record will claim it */
void join_settle(struct iso_join *join, uint32_t transaction, uint32_t final);
void join_settle_undelivered(struct iso_join *join, uint32_t record); /* no row of it came, and none will */
void join_resolve(struct iso_join *join, uint32_t record, bool committed, uint64_t cts);
void join_settle_placed(struct iso_join *join, uint32_t record, uint32_t transaction, uint64_t cts);
bool join_commit_timestamp(const struct join_transaction *transaction, uint64_t *cts);

/* marker.c */
void join_note_marker(struct iso_join *join, uint32_t transaction, iso_atom tid); /* the stream tells it */
void join_await_marker(struct iso_join *join, uint32_t record);                   /* an identity of a new record */
void join_forget_markers(struct iso_join *join, struct join_transaction *transaction);
void join_enter_markers(struct iso_join *join, uint32_t transaction);
/* Those that no record has claimed. */
void join_settle_markers(struct iso_join *join, const struct join_transaction *transaction, uint64_t cts);
bool join_has_all_records(const struct iso_join *join, const struct join_transaction *transaction, uint32_t first);
/* Whether a committed transaction would have been told. */
bool join_leaves_marker(const struct iso_join *join, const struct join_record *record);

/* match.c */
void join_match_unknown(struct iso_join *join);

/* emit.c */
uint64_t join_place_of(const struct iso_join *join, const struct iso_history *block, uint32_t transaction);
void join_give_block(struct iso_join *join, const struct iso_history *block, uint32_t transaction);
void join_give_held(struct iso_join *join, uint32_t record);
void join_give_joined(struct iso_join *join, const struct iso_history *from, uint32_t transaction, uint64_t place);
void join_give_foreign(struct iso_join *join, const struct join_transaction *transaction, uint64_t cts);
void join_give_changes(struct iso_join *join, const struct join_transaction *transaction, uint64_t cts);
void join_give_initial(struct iso_join *join, uint32_t key, iso_atom value, uint64_t origin);
void join_give_probe(struct iso_join *join, enum iso_violation_kind kind, iso_atom tid, uint32_t key, iso_atom value,
                     uint64_t cts, uint64_t origin);
void join_give_resolution(struct iso_join *join, iso_atom tid, bool committed, uint64_t cts);
void join_give_watermark(struct iso_join *join, uint64_t timestamp);
struct iso_join_finding *join_find(struct iso_join *join, enum iso_violation_kind kind, iso_atom tid, uint32_t key);
iso_atom join_name(struct iso_join *join, const struct join_transaction *transaction); /* atom of `texts` */
iso_atom join_name_of(struct iso_join *join, struct join_identity identity);
iso_atom join_out(struct iso_join *join, iso_atom text); /* the same in the output's block */

/* copy.c */
uint32_t join_copy_transaction(struct iso_history *into, const struct iso_history *from, uint32_t transaction);
/* The last transaction's place in its session, where it does not say one itself. */
void join_set_place(struct iso_history *into, uint64_t place);

#endif
