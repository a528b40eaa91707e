/* The join's parts. */
#ifndef ISO_JOIN_PRIVATE_H
#define ISO_JOIN_PRIVATE_H

#include "base/text.h"
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
    bool commit_order;    /* transactions that are serializable are so in the order of their commits */
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
bool join_map_refill(struct join_map *map); /* after slots of another process were read; false: too many are full */

/* ---- rows ---- */

#define JOIN_ROW_BEFORE 0x01u     /* `before` is known */
#define JOIN_ROW_AFTER 0x02u      /* `after` is known */
#define JOIN_ROW_WITHOUT 0x04u    /* a conditional delete whose condition did not hold: changes nothing */
#define JOIN_ROW_CLAIMED 0x08u    /* final: a client says that it wrote the key */
#define JOIN_ROW_DROPPED 0x10u    /* the whole table went: no client lists its keys */
#define JOIN_ROW_UNREPORTED 0x20u /* of a table of which clients do not say what they write */

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
#define JOIN_COLLECTED 0x400u   /* END says of which tables its events are: `expected` counts those of covered ones */
#define JOIN_STARTED_BEFORE 0x800u /* its BEGIN, and maybe some of its rows, came before the stream was read */

struct join_transaction {
    struct join_identity identity; /* tag 0: free */
    struct join_chain rows;
    struct join_chain markers;     /* `after` is a client's tid */
    uint32_t older, newer;         /* by arrival; `newer` also chains free ones */
    uint32_t stamp;                /* its number among all, see struct join_key */
    uint32_t cursor;               /* row behind the one found last */
    uint32_t others;               /* events that END counts and that are no rows ... */
    uint32_t covered_others;       /* ... of them, those of a table that is covered */
    uint32_t unreported;           /* rows of tables of which clients do not say what they write */
    struct join_chain altered;     /* tables that it dropped rows of, or that have other columns from it on: `key` */
    struct join_chain others_seen; /* the place of the last of them in each input, which is its `key` */
    uint32_t flags;
    uint64_t expected;
    uint64_t collected; /* of covered tables, by the collections of the END to come */
    uint64_t sts, cts;
    uint64_t position;  /* of the commit; without END one above the commit before */
    uint64_t committed; /* milliseconds since 1970, as END says; 0: it does not */
    uint32_t dropped;   /* rows that no message is about */
    uint64_t origin, arrived;
};

/* ---- what a client said ---- */

#define JOIN_RECORD_STS 0x01u
#define JOIN_RECORD_CTS 0x02u
#define JOIN_RECORD_GIVEN 0x04u  /* the engine has it */
#define JOIN_RECORD_PLACED 0x08u /* gets its position by snapshots */
#define JOIN_RECORD_LISTS 0x10u  /* appends: not compared */
#define JOIN_RECORD_FREE 0x20u
#define JOIN_RECORD_COMMITTED 0x40u  /* placed: its commit is among those that wait for a place */
#define JOIN_RECORD_BOUND 0x80u      /* a marker has told its identity, the first one */
#define JOIN_RECORD_TAKES 0x100u     /* what it wrote, beyond what it lists, the stream knows */
#define JOIN_RECORD_DELIVERED 0x400u /* placed: rows of it came */
#define JOIN_RECORD_BEFORE 0x200u    /* it read from a snapshot of before the stream's start */

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
    uint32_t reads;    /* that may still be judged */
    uint8_t status;
    uint16_t flags;
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
    iso_atom table;    /* of `keys` */
    iso_atom value;    /* as delivered last; where nothing asks for it, only whether there is one */
    uint32_t content;  /* digest of what was delivered last; 0: not known */
    uint32_t lane;     /* the input that it came from */
    uint32_t of_table; /* number in `tables` */
    uint8_t initial;   /* enum join_initial */
    uint64_t first;    /* place of its first version in a log of whole transactions; 0: none has come */
    bool asked;        /* a client has read it since tables change (change.c) */
    bool was_changed;  /* some transaction has told of it */
};

/* What is known of what a key held before the stream (initial.c). */
enum join_initial {
    JOIN_INITIAL_DEFAULT, /* the engine has what it has of every key: nothing */
    JOIN_INITIAL_ASKED,   /* the engine was told that it is not known yet */
    JOIN_INITIAL_UNKNOWN, /* ... and never will be */
    JOIN_INITIAL_LEARNED, /* a change's before image said it */
    JOIN_INITIAL_TOLD     /* a row of a snapshot, or an insert, said it */
};

/* ---- tables (table.c) ---- */

enum join_coverage { JOIN_NOT_ASKED, JOIN_COVERED, JOIN_UNCOVERED };

struct join_table {
    iso_atom name;               /* of `keys`: what stands in a key before the first '/' */
    uint8_t coverage;            /* enum join_coverage */
    bool collected;              /* the stream names it among its collections */
    bool asked_again;            /* the stream has shown that it cannot be covered */
    bool has_rows;               /* rows of it come all the same */
    uint64_t left_out;           /* clients' operations on its keys that were not judged */
    struct iso_value_type value; /* of its rows' values, as it was when `types` types were known */
    uint32_t types;
};

struct join_tables {
    struct join_table *list;
    uint32_t count, capacity;
    struct join_map by_name; /* atom of `keys` */
    bool collections;        /* the stream has named some */
};

/* ---- what happened to whole tables (change.c) ---- */

struct join_change {
    uint64_t place, origin;
    uint32_t table; /* number in `tables` */
    uint8_t kind;   /* enum iso_table_change */
    bool is_database;
};

struct join_changes {
    struct join_change *list;
    uint32_t count, capacity;
};

/* ---- what was settled (settled.c) ---- */

enum { JOIN_SETTLED_ENTRIES = 1 << 20, JOIN_SETTLED_DIGESTS = 1 << 22 };

struct join_settled_entry {
    struct join_identity identity;
    iso_atom tid;   /* of `texts`; ISO_ABSENT: foreign */
    uint64_t first; /* into the ring of digests, counted from the beginning */
    uint32_t count, cursor;
    uint64_t cts;
    bool undone; /* it did not commit (undone.c) */
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

struct join_seat { /* 0: not known */
    uint64_t lsn;
    uint32_t xid, time; /* lower halves */
};

enum { JOIN_SEATS = 1 << 18 };

struct join_seats {
    struct join_seat *list; /* a ring of JOIN_SEATS, by place; NULL: none was taken */
    uint64_t taken;         /* the number of the latest, from 1; 0: none */
    uint64_t latest;        /* time */
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
    struct join_seats seats;
};

void join_place_record(struct iso_join *join, uint32_t record);
void join_place_commit(struct iso_join *join, uint32_t record, uint32_t transaction);
void join_place(struct iso_join *join, bool ended);
void join_place_forget(struct iso_join *join, uint32_t record); /* it aborted */
uint64_t join_xid_of(const struct iso_join *join, uint64_t low);
void join_places_release(struct join_places *places);

/* ---- where in the binlog GTIDs stand (log.c) ---- */

struct join_log_place {
    uint64_t number, place;
};

struct join_log {
    struct join_log_place *list; /* both rise */
    uint32_t count, capacity;
    uint64_t *alone; /* numbers that had a BEGIN alone: the schema topic may still tell where they stand; sorted */
    uint32_t alone_count, alone_capacity;
    uint64_t begun, start; /* the largest number of which BEGIN came; the place of the connector's snapshot, or 0 */
    bool broken, forgot;   /* it is two servers' logs; the list lacks older ones */
    struct iso_history records; /* that wait for their place: those with ISO_MARK_LOG_START; others have gone on */
    uint32_t waiting;
    uint64_t reads; /* of those that wait */
};

/* An event that has a position. */
void join_log_note(struct iso_join *join, const struct iso_event *event);
/* BEGIN of a commit, or one that had no END: a statement of its own, of which the schema topic may tell. */
void join_log_note_begun(struct iso_join *join, uint64_t number, bool without_end);
/* Whether the record waits for its place; it is copied. */
bool join_log_keep(struct iso_join *join, const struct iso_history *block, uint32_t transaction);
/* Whether a statement that commits by itself stands, or may stand, in front of this place of a commit, and has not been
 * told of. */
bool join_log_lacks_statement(const struct iso_join *join, uint64_t place);
void join_log_release(struct iso_join *join, bool ended); /* those whose place is known now */

/* seat.c: a place is given to an xid; `transaction`: its rows, or ISO_NONE. 0: to none. */
void join_seat_take(struct iso_join *join, uint64_t cts, uint64_t xid, uint32_t transaction);

/* ---- the join ---- */

struct join_lane {                /* an input of rows */
    struct join_identity current; /* tag 0: none */
    uint64_t cts;
    uint32_t run;
    uint64_t reached; /* place in the log: all transactions that commit up to here have come */
    uint64_t number;  /* the largest number of a commit that it has told rows of ... */
    uint64_t place;   /* ... and where in the log its last row stands */
    bool goes_back;   /* it tells again what it told, and has not yet come to a larger one */
    bool used, declared;
    bool begun;  /* its first message has come */
    bool past;   /* something that is no row of a snapshot has come */
    bool again;  /* and then such rows, once more */
    bool at_end; /* as it was told last, since the snapshot is over */
    bool left_behind;
};

/* The transaction whose BEGIN came last (undone.c). */
struct join_begun {
    struct join_identity identity;
    uint64_t commit;
    uint32_t input;
    bool open; /* its END has not come */
    bool of_domain;
};

/* The state before the stream (initial.c). */
struct join_start {
    bool streams;     /* changes stream: a first snapshot was sent whole */
    bool snapshots;   /* rows of a first snapshot have come, or its end */
    bool ended;       /* its end has */
    bool complete;    /* nothing of it will come any more */
    bool begun;       /* every partition has shown its first message: whether there is a snapshot is known */
    uint64_t xid;     /* the least that took one; 0: not known */
    uint32_t asked;   /* keys that are JOIN_INITIAL_ASKED */
    uint32_t learned; /* keys that are JOIN_INITIAL_LEARNED */
};

/* ---- what the join holds (pool.c) ---- */

/* Rows of open transactions, and whatever else is chained: places in one list, the free ones chained too. */
struct join_rows {
    struct join_row *list;
    uint32_t count, capacity, free, in_use;
};

/* Transactions of the stream that are not settled, by arrival and by identity. */
struct join_open {
    struct join_transaction *list;
    uint32_t count, capacity, free;
    struct join_map by_identity;
    uint32_t oldest, newest, waiting;
    uint32_t stamps; /* how many there ever were */
};

/* Clients' records that wait for their rows or their place, by arrival and by the identities that they claim. */
struct join_records {
    struct join_record *list;
    uint32_t count, capacity, free;
    struct join_map by_claim;
    uint32_t oldest, newest, waiting;
    uint32_t aborted;
    uint32_t unknown;        /* of those that wait: of unknown outcome without an id */
    struct iso_history held; /* their transactions */
    uint32_t held_open;
};

struct join_keys {
    struct iso_history names; /* numbers and atoms */
    struct join_key *list;    /* by number */
    uint32_t capacity;
};

/* The END to come, of which collections have told `count` events that are covered. */
struct join_end {
    struct join_identity of;
    uint64_t count;
    bool collected;
    uint64_t last; /* cdc mode: LSN of the last END */
};

/* What atoms of the block at hand are among the join's. */
struct join_cache {
    const struct iso_history *block;
    iso_atom *texts; /* by entry of the block's atoms; + 1 */
    uint32_t *keys;
    uint32_t count, capacity;
};

struct iso_join {
    struct iso_join_options options;
    const struct join_capability *capability;
    struct iso_join_output out;
    struct iso_join_stats stats;
    bool expects_in_band;
    bool in_band;     /* records have come inside transactions */
    bool ends_come;   /* the source says where transactions end */
    bool starts_come; /* and when they started */
    bool numbered;    /* commits are, in `domain` */
    uint32_t domain;
    bool domains_differ; /* clients' commit timestamps are not the source's positions */

    struct join_start start;
    struct join_begun begun;
    struct join_log log;
    struct join_changes changes;
    struct join_tables tables;

    struct join_keys keys;
    struct iso_atoms texts;
    uint32_t texts_kept; /* of the last rebuild */

    struct join_rows rows;
    struct join_open open;
    struct join_records records;
    struct join_settled settled;
    struct join_places places;
    struct join_lane *lanes;
    uint32_t lane_count;
    uint32_t runs, marks, out_blocks;
    uint64_t tellings; /* rows that came, where their order is all that there is */
    uint64_t largest;  /* timestamp seen */
    uint64_t taken;    /* records: a record's place in its session, where it does not say one */
    uint64_t work;     /* events since all that is open was looked at: looking pays for itself */
    uint64_t closed;   /* one_group: every transaction up to it was sent, and whole */
    uint64_t clients;  /* no later record has a commit timestamp up to it */
    struct join_end end;
    uint64_t promised; /* cdc mode: the watermark given */
    uint64_t now;

    struct join_cache cache;
    uint32_t types;             /* iso_join_types_known */
    struct iso_text spelt;      /* a value, until it is an atom */
    struct iso_history adopted; /* one transaction, while the stream's writes are added to it */
};

/* validate.c: with ISO_VALIDATE all that is true between two batches is asserted; else it does nothing. As long as going
 * over all that waits. */
void join_validate(const struct iso_join *join);

/* Whether its number can be one of those that order commits: rows of another domain are refused. */
static inline bool join_is_of_domain(const struct iso_join *join, const struct iso_event *event)
{
    return !event->commit || !join->numbered || event->domain == join->domain;
}

/* The engine has the record's reads: from now on they are its affair. */
static inline void join_give_reads(struct iso_join *join, struct join_record *record)
{
    join->stats.reads_given += record->reads;
    record->reads = 0;
}

/* table.c */
uint32_t join_table_of_key(struct iso_join *join, iso_atom key); /* atom of `keys` */
struct join_table *join_table_named(struct iso_join *join, const struct iso_atoms *atoms, iso_atom name);
bool join_is_covered(struct iso_join *join, struct join_table *table);
void join_note_rows(struct iso_join *join, struct join_table *table); /* one has come */
/* Whether an operation of a client is to be judged; if not, it is counted with its table. */
bool join_is_judged(struct iso_join *join, uint32_t key);
void join_tables_release(struct join_tables *tables);

/* initial.c */
void join_take_initial(struct iso_join *join, const struct iso_history *block, const struct iso_event *event,
                       uint32_t key);
/* A client reads the key: the engine must know whether its initial value is known. */
void join_ask_initial(struct iso_join *join, uint32_t key);
/* The first change of the key that came. */
void join_learn_initial(struct iso_join *join, uint32_t key, const struct iso_event *event, const struct join_row *row);
void join_note_start(struct iso_join *join, uint32_t input, const struct iso_event *event);
void join_check_start(struct iso_join *join, bool ended); /* whether it is complete now */

/* adopt.c: what a client wrote without listing it */
bool join_takes_writes(const struct iso_history *block, uint32_t transaction);
/* Adds the rows of the transaction to the record that is held; returns how many. */
uint32_t join_adopt(struct iso_join *join, uint32_t record, uint32_t transaction);

/* pool.c */
/* Whether another spelling stands for the key among the join's. */
bool join_is_caseless(const struct iso_join *join, const struct iso_atoms *atoms, iso_atom key);
uint32_t join_key_number(struct iso_join *join, const struct iso_history *block, iso_atom key);
iso_atom join_text(struct iso_join *join, const struct iso_history *block, iso_atom text);
uint32_t join_digest(const struct iso_atoms *atoms, iso_atom atom);
uint32_t join_key_find(struct iso_join *join, const struct iso_atoms *atoms,
                       iso_atom key);                                              /* not of the batch's block */
static inline uint32_t join_content(const struct iso_atoms *atoms, iso_atom value) /* never 0 */
{
    uint32_t digest = join_digest(atoms, value);
    return digest ? digest : 1;
}
uint32_t join_new_row(struct iso_join *join, struct join_chain *chain);
void join_free_rows(struct iso_join *join, struct join_chain *chain);
uint32_t join_new_transaction(struct iso_join *join, struct join_identity identity);
/* Frees it and its rows, which are counted as of `class`. */
void join_forget_transaction(struct iso_join *join, uint32_t transaction, enum iso_row_class class);
void join_leave_open(struct iso_join *join, uint32_t transaction); /* out of the map and the list */
uint32_t join_new_record(struct iso_join *join);
void join_forget_record(struct iso_join *join, uint32_t record); /* counted as it stands ... */
void join_forget_record_as(struct iso_join *join, uint32_t record, enum iso_record_class class); /* ... or so */
void join_enter_claim(struct iso_join *join, uint32_t record);
void join_leave_claim(struct iso_join *join, uint32_t record);
void join_rebuild_texts(struct iso_join *join); /* if it is worth it */

/* assemble.c */
enum iso_status join_take_row(struct iso_join *join, const struct iso_history *block, const struct iso_event *event,
                              struct iso_error *error);
void join_take_end(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
void join_take_other(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
void join_take_drop(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
void join_take_collection(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
void join_take_schema(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
void join_note_value(struct iso_join *join, const struct iso_history *block, iso_atom table, uint32_t key,
                     iso_atom value);
bool join_identity_of(struct iso_join *join, const struct iso_history *block, const struct iso_event *event,
                      struct join_identity *identity);
uint32_t join_open(struct iso_join *join, struct join_identity identity, const struct iso_event *event); /* or known */
void join_check_complete(struct iso_join *join, uint32_t transaction);
uint64_t join_events_of(const struct join_transaction *transaction);
struct join_lane *join_lane(struct iso_join *join, uint32_t input);
void join_close_passed(struct iso_join *join);
/* Where in the log the event's transaction commits, as far as it tells. */
uint64_t join_commit_place(struct join_identity identity, const struct iso_event *event);
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

/* spelt.c: clients' values as the stream spells them, as far as it is known by now */
void join_spell_last(struct iso_join *join, struct iso_history *into); /* of the last transaction */
void join_spell_held(struct iso_join *join, const struct join_record *record);
void join_spell_writes(struct iso_join *join, const struct join_record *record);

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

/* change.c */
void join_take_table_change(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
/* It has a version there; `found_some`: which replaced another one. */
void join_note_version(struct iso_join *join, uint32_t key, uint64_t place, bool found_some);
bool join_was_replaced(const struct iso_join *join, uint32_t key); /* by another table, before its first version */
void join_note_asked(struct iso_join *join, uint32_t key);         /* a client reads it for the first time */

/* undone.c */
void join_take_begin(struct iso_join *join, const struct iso_history *block, const struct iso_event *event);
void join_note_ended(struct iso_join *join, struct join_identity identity);
void join_undo_marker(struct iso_join *join, iso_atom tid);             /* a row of what was undone has it */
void join_forget_without_place(struct iso_join *join, uint32_t record); /* it committed, and not where its rows stand */

/* match.c */
void join_match_unknown(struct iso_join *join);

/* emit.c */
uint64_t join_place_of(const struct iso_join *join, const struct iso_history *block, uint32_t transaction);
void join_give_block(struct iso_join *join, const struct iso_history *block, uint32_t transaction);
void join_give_held(struct iso_join *join, uint32_t record);
void join_give_placed(struct iso_join *join, uint32_t record);
void join_give_joined(struct iso_join *join, const struct iso_history *from, uint32_t transaction, uint64_t place);
void join_give_foreign(struct iso_join *join, const struct join_transaction *transaction, uint64_t cts);
void join_give_unknown(struct iso_join *join,
                       const struct join_transaction *transaction); /* its outcome is not known */
void join_give_changes(struct iso_join *join, const struct join_transaction *transaction, uint64_t cts);
/* A version before all others; `told`: by a row of a snapshot, else by a change's before image. */
void join_give_initial(struct iso_join *join, uint32_t key, iso_atom value, uint64_t origin, bool told);
/* A version of the key that its whole table got at `place`. */
void join_give_table_version(struct iso_join *join, uint32_t key, iso_atom value, uint64_t place, uint64_t origin);
/* What the engine is to take for the initial value of a key that has no such version. */
void join_give_start(struct iso_join *join, uint32_t key, iso_atom value);
/* A row of a snapshot contradicts what was streamed (or, without an origin, was not sent): changes are missing. */
void join_report_gap(struct iso_join *join, uint32_t key, iso_atom value, uint64_t origin);
void join_give_altered(struct iso_join *join, const struct join_transaction *transaction, uint64_t cts);
void join_give_probe(struct iso_join *join, enum iso_violation_kind kind, iso_atom tid, uint32_t key, iso_atom value,
                     uint64_t cts, uint64_t origin);
void join_give_resolution(struct iso_join *join, iso_atom tid, bool committed, uint64_t cts);
void join_give_watermark(struct iso_join *join, uint64_t timestamp);
struct iso_join_finding *join_find(struct iso_join *join, enum iso_violation_kind kind, iso_atom tid, uint32_t key);
iso_atom join_name(struct iso_join *join, const struct join_transaction *transaction); /* atom of `texts` */
iso_atom join_name_of(struct iso_join *join, struct join_identity identity);
iso_atom join_out(struct iso_join *join, iso_atom text); /* the same in the output's block */

/* copy.c */
uint32_t join_copy_head(struct iso_history *into, const struct iso_history *from, uint32_t transaction);
uint32_t join_copy_whole(struct iso_history *into, const struct iso_history *from, uint32_t transaction);
/* The same of a client's transaction of the batch's block: without operations that are not judged. */
uint32_t join_copy_transaction(struct iso_join *join, struct iso_history *into, const struct iso_history *from,
                               uint32_t transaction);
/* The last transaction's place in its session, where it does not say one itself. */
void join_set_place(struct iso_history *into, uint64_t place);

#endif
