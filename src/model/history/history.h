/* A history: transactions of sessions, their operations, and what they are made of, as columns.
 *
 * A transaction, an operation, a key, a session is an index of 32 bits. Nothing is an object:
 * column X of transaction `t` is `history->txns.X[t]`. Operations of transaction t are
 * `first_op[t]` to `first_op[t + 1] - 1`, in the order in which they ran. Optional columns are NULL
 * until something needs them.
 *
 * Two lives. While it is *built* (iso_history_begin, iso_history_operation, ..., or
 * iso_history_append of whole blocks), columns contain what was read. iso_history_finish then
 * checks what only the whole can show, fills in defaults, turns timestamp pairs and snapshots into
 * plain ranks, and orders the sessions; engines take finished histories only, and read them only.
 *
 * Costs: 9 bytes an operation (17 with operation timestamps), 42 bytes a transaction.
 * Ownership: a history owns its columns and atoms. Threads: one writer, or any number of readers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/atom.h"
#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

/* The column `kind`: one of these ... */
enum iso_operation_kind { ISO_READ, ISO_WRITE, ISO_DELETE, ISO_APPEND, ISO_READ_LIST };
#define ISO_KIND_MASK 0x07u
/* ... and any of these. */
/* `ots` holds its own timestamp (while building, with the next bit: a snapshot) */
#define ISO_OPERATION_OTS 0x10u
#define ISO_OPERATION_SNAPSHOT                                                                     \
    0x20u /* `ots` holds an index of `snapshots.list`; only while building                         \
           */
/* under a lock held until commit, and no ots: it stands just below cts */
#define ISO_OPERATION_LOCK 0x40u

/* The column `flags` of a transaction: status ... */
#define ISO_COMMITTED 0x00u
#define ISO_ABORTED 0x01u
#define ISO_UNKNOWN 0x02u
#define ISO_STATUS_MASK 0x03u
/* ... and any of these. */
#define ISO_HAS_STS 0x04u
#define ISO_HAS_CTS 0x08u   /* after finish also where cts was filled in (points) */
#define ISO_HAS_SNO 0x10u   /* an explicit sno */
#define ISO_WRITES 0x20u    /* writes, deletes or appends something */
#define ISO_OWN_TIMES 0x40u /* some operation has OTS, SNAPSHOT or LOCK */
#define ISO_POINT 0x80u     /* set by finish: no writes, and no cts or cts = sts */

/* The column `marks` of a transaction. */
/* "writes":"cdc": what it wrote beyond what it lists, the change stream knows */
#define ISO_MARK_CDC_WRITES 0x01u
/* sts is a position in MariaDB's binlog: only its change stream makes a timestamp of it */
#define ISO_MARK_LOG_START 0x02u
/* sts is one of MariaDB's GTIDs */
#define ISO_MARK_GTID_START 0x08u

/* The column `use` of a key: how a key is used; finish distinguishes lists and registers by it. */
#define ISO_KEY_SCALAR 0x01u /* written, deleted, or read as a value that is not null */
#define ISO_KEY_LIST 0x02u   /* appended to or read as a list; null reads of it are empty lists */

/* of a row that it wrote "cells":{}: which cells, the change stream knows */
#define ISO_MARK_CELLS_OF_STREAM 0x04u
/* says nothing without one */
#define ISO_MARKS_OF_STREAM (ISO_MARK_CDC_WRITES | ISO_MARK_CELLS_OF_STREAM)

/* Meaning of the numbers in sts, cts and ots. A history has one kind. */
enum iso_clock {
    ISO_CLOCK_NONE,   /* none seen yet: black-box */
    ISO_CLOCK_SCALAR, /* 64-bit unsigned integers */
    ISO_CLOCK_PAIR, /* {p,l}: while building `p` stands in the column and `l` in its twin; finished:
                       ranks */
    ISO_CLOCK_SNAPSHOT /* PostgreSQL snapshots: finished: positions */
};

/* Kinds of operations that were recorded as one. */
enum iso_set_form {
    ISO_SET_RANGE, /* keys from `from` to `to`, and the value of each that was found */
    ISO_SET_QUERY, /* rows of `table` whose keys lie between the bounds and which `where` matches */
    ISO_SET_ROW    /* one row with its cells: its first operation is the row's own */
};

/* A row set: a range of keys, or a condition on a table's rows, and what was found; or a row with
 * its cells. Its operations are `count` from `first` on (of the transaction's, from 0). While
 * building, they are the rows that were found. Finished, a range also has a read of null for each
 * other key that lies in it and that the history names, so that engines see reads and nothing else.
 * Of a query, the first operation is its *header*: a read of the key `TABLE#`, which nobody writes,
 * as null; its moment is the query's. Behind it each row has a read of its key as `true`, and reads
 * of its cells (base/cell_key.h). What a query did not find is judged beside the engines
 * (rowsets/rowsets.h). */
struct iso_range {
    uint32_t transaction;
    uint32_t first, count, rows; /* the first `rows` of its operations are those that were found */
    iso_atom from, to; /* inclusive; ISO_ABSENT: open. Keys are ordered as by iso_atom_compare; of a
                        * query: what stands behind the table's name (predicate/bounds.h) */
    iso_atom table, where; /* of a query; `where` absent: each row */
    iso_atom returned;     /* of a query that returned no rows with keys: canonical JSON,
                            * {"count":3,"sum(amount)":"28.50"} or, of a     bag,
                            * {"columns":["c"],"bag":[["x"],..]}; else absent */
    uint8_t kind;          /* ISO_OPERATION_ bits of its reads, and their time: */
    uint8_t form;          /* enum iso_set_form */
    uint64_t ots, ots_logical;
    bool is_partial; /* other rows may have been there: nothing is said of them */
    bool is_skipped; /* finished: it covers more keys than the limit, so nothing was said of them */
};
#define ISO_SCAN_LIMIT 10000u /* keys of one row set, by default */

/* By transaction and position. */
struct iso_ranges {
    struct iso_range *list;
    uint32_t count, capacity;
    uint32_t limit;       /* of keys; 0: ISO_SCAN_LIMIT */
    uint32_t skipped;     /* finished: how many are */
    bool are_implied;     /* finished: what queries mean for the order of transactions is among its
                             operations, */
    uint32_t not_implied; /* but for that of so many (rowsets/rowsets.h) */
};

/* PostgreSQL's xmin:xmax:xip,... An xid below xmax and not among xip is seen if it committed. */
struct iso_snapshot {
    uint64_t xmin, xmax;
    uint64_t first_xip; /* into `snapshots.xips` */
    uint32_t xip_count;
};

/* Records missing from a file whose recorder counted them (native/counted.h). */
struct iso_history_lost {
    uint64_t records;
    uint64_t recorders; /* that did not say so at their end: they were killed, or run still, and
                           more may be missing */
    uint64_t origin;    /* of the first line that says so */
};

/* Transactions, in the order of the input. */
struct iso_history_txns {
    uint32_t count, capacity;
    uint8_t *flags;
    iso_atom *tid;
    uint32_t *session;                   /* an index, see iso_history_sessions */
    uint64_t *sts, *cts;                 /* where flags has ISO_HAS_STS, ISO_HAS_CTS */
    uint64_t *sts_logical, *cts_logical; /* ISO_CLOCK_PAIR, until finished */
    uint64_t *origin;                    /* where it was read: iso_origin(input, line or offset) */
    uint32_t *first_op;                  /* count + 1 of them */
    bool are_numbered;  /* building: `sno` stands for every transaction of a session, also where
                           no flag says so */
    uint64_t *sno;      /* optional; where flags has ISO_HAS_SNO; finished: never NULL unless
                           file order rules */
    uint64_t *xid;      /* optional; 0: none */
    uint32_t *snapshot; /* optional; index into `snapshots.list`, or ISO_NONE */
    uint64_t *begun, *ended; /* optional; by the client's clock: 1 + nanoseconds; 0: not known */
    uint8_t *marks;          /* optional; ISO_MARK_... */
};

/* Operations. Finished: kind, key and value are never NULL, also where there is no operation. */
struct iso_history_ops {
    uint32_t count, capacity;
    uint8_t *kind;
    uint32_t *key;         /* an index, see iso_history_keys */
    uint32_t *value;       /* an atom; ISO_READ_LIST: index of a list; ISO_DELETE: ISO_ABSENT */
    uint64_t *ots;         /* optional; where kind has ISO_OPERATION_OTS */
    uint64_t *ots_logical; /* ISO_CLOCK_PAIR, until finished */
};

/* Lists that were read: list l is elements first[l] to first[l + 1] - 1. */
struct iso_history_lists {
    uint32_t count, capacity;
    uint64_t *first; /* count + 1 of them, NULL as long as there is no list */
    uint64_t element_count, element_capacity;
    iso_atom *element; /* finished: never NULL */
};

/* Keys, numbered in the order of their first appearance. */
struct iso_history_keys {
    uint32_t count, capacity;
    iso_atom *atom;
    uint8_t *use;                 /* ISO_KEY_... */
    struct iso_atom_index *index; /* atom to index, see history/index.h */
};

/* Sessions, numbered in the order of their first appearance. */
struct iso_history_sessions {
    uint32_t count, capacity;
    iso_atom *atom;
    struct iso_atom_index *index;
    uint32_t *first; /* finished: session s is order[first[s]] to order[first[s + 1] - 1] */
    uint32_t *order; /* finished: transactions by session, then sno, then input order */
};

/* Finished, if timestamps are ranks: rank r, 1 to count, stands for {physical[r], logical[r]}. */
struct iso_history_ranks {
    uint64_t count;
    uint64_t *physical, *logical; /* logical NULL: scalars */
};

/* Snapshots, each as often as it was given. */
struct iso_history_snapshots {
    uint32_t count, capacity;
    struct iso_snapshot *list;
    uint64_t xip_count, xip_capacity;
    uint64_t *xips;
    struct iso_snapshot_violation *violations; /* finished: see history/snapshot.h */
    uint32_t violation_count;
};

/* The inputs that origins name. */
struct iso_history_inputs {
    uint32_t count;
    char **names; /* a file's path, "<stdin>", or topic[partition] */
};

/* The initial transaction; a later write of the same key wins. */
struct iso_history_initial {
    iso_atom other_value; /* of every register not named below; ISO_ABSENT by default */
    uint32_t count;
    uint32_t *key;
    iso_atom *value; /* an element, where is_append */
    bool *is_append;
};

/* Set by finish. */
struct iso_history_totals {
    uint32_t committed, aborted, unknown;
    uint32_t without_sts, without_cts; /* a committed transaction that lacks it (a writer, for cts),
                                          or ISO_NONE */
};

/* Records that mean something only beside a change stream. */
struct iso_history_streamed {
    bool is_needed;    /* who recorded the history says so of it */
    uint32_t writer;   /* set by iso_judge_finish: a record that says of what it wrote only which
                          rows, or ISO_NONE; */
    uint64_t left_out; /* reads of committed transactions that were left out for such records */
};

/* When messages went between clients and the server, by one clock of all; 0: not known. A commit
 * that was answered before a statement was sent is in what that saw, and one that was sent after
 * its answer is not. */
struct iso_history_messages {
    uint64_t *sent, *answered;               /* by operation: its statement */
    uint64_t *commit_sent, *commit_answered; /* by transaction */
};

struct iso_history;
/* Who knows which statements of a transaction meant a key, or a cell's row: adds their texts. */
struct iso_history_told {
    const void *context;
    void (*put)(const void *context, const struct iso_history *history, uint32_t transaction,
                uint32_t key, struct iso_text *text);
};

struct iso_history {
    struct iso_atoms atoms;
    struct iso_history_txns txns;
    struct iso_history_ops ops;
    struct iso_ranges ranges;
    struct iso_history_lists lists;
    struct iso_history_keys keys;
    struct iso_history_sessions sessions;
    enum iso_clock clock;
    struct iso_history_ranks ranks;
    struct iso_history_snapshots snapshots;
    struct iso_history_inputs inputs;
    struct iso_history_lost lost;
    struct iso_history_initial initial;
    struct iso_history_totals totals;
    struct iso_history_streamed streamed;
    const struct iso_history_messages *messages; /* finished: who knows of them has them; or NULL */
    const struct iso_history_told *told;         /* the same */
    bool whole_rows; /* values are whole rows as JSON: those of unequal columns say nothing of each
                        other */
    bool finished;
};

void iso_history_init(struct iso_history *history);
void iso_history_release(struct iso_history *history);
/* empty and buildable again, keeps the memory */
void iso_history_clear(struct iso_history *history);

/* The reason of verdicts where records are known to be missing: in a file, as below, or in a stream
 * (pipeline/counted.h). */
#define ISO_RECORDS_LOST "records-lost"
static inline bool iso_history_lacks(const struct iso_history *history)
{
    return history->lost.records || history->lost.recorders;
}

/* Names an input; returns its number for origins. */
uint32_t iso_history_input(struct iso_history *history, const char *name);

/* Line (from 1) or Kafka offset `place` of input `input` (at most 65,535). */
static inline uint64_t iso_origin(uint32_t input, uint64_t place)
{
    return (uint64_t)input << 48 | place;
}
static inline uint32_t iso_origin_input(uint64_t origin)
{
    return (uint32_t)(origin >> 48);
}
static inline uint64_t iso_origin_offset(uint64_t origin)
{
    return origin & 0xffffffffffffu;
}

/* A timestamp as it was given. */
struct iso_stamp {
    uint64_t physical, logical; /* a scalar: physical */
};

/* Adds an empty transaction and returns its index. Flags: a status; HAS_ bits come with the setters
 * below. */
uint32_t iso_history_begin(struct iso_history *history, iso_atom tid, iso_atom session,
                           uint8_t status, uint64_t origin);

/* All of these act on the transaction begun last. The clock is the caller's to keep to one kind
 * (`history->clock`). */
void iso_history_set_sts(struct iso_history *history, struct iso_stamp stamp);
void iso_history_set_cts(struct iso_history *history, struct iso_stamp stamp);
void iso_history_set_sno(struct iso_history *history, uint64_t sno);
void iso_history_set_xid(struct iso_history *history, uint64_t xid);
void iso_history_set_snapshot(struct iso_history *history, uint32_t snapshot);
void iso_history_set_begun(struct iso_history *history, uint64_t nanoseconds); /* below 2^64 - 1 */
void iso_history_set_ended(struct iso_history *history, uint64_t nanoseconds);
void iso_history_set_marks(struct iso_history *history, uint8_t marks);

/* Adds an operation on a key to the transaction begun last; returns its index. `value`: an atom, or
 * for ISO_READ_LIST what iso_history_list returned. */
uint32_t iso_history_operation(struct iso_history *history, enum iso_operation_kind kind,
                               iso_atom key, uint32_t value);

/* For the operation added last. */
void iso_history_set_ots(struct iso_history *history, struct iso_stamp stamp);
void iso_history_set_operation_snapshot(struct iso_history *history, uint32_t snapshot);
void iso_history_set_lock(struct iso_history *history);

/* The `rows` operations added last, of the transaction begun last, are a row set: all rows from
 * `from` to `to`, unless it is partial. If the set has a time of its own, its operations have it,
 * too: `kind` has its bits, `ots` is the stamp or the snapshot. */
void iso_history_range(struct iso_history *history, const struct iso_range *range, uint32_t rows);

/* In a stream, of transactions from `from` on: adds to their ranges reads of null of the keys that
 * the transaction names elsewhere, that lie in the range and were not found there, as
 * iso_history_finish does for all keys. */
void iso_history_imply_own(struct iso_history *building, uint32_t from);

/* ISO_BAD_INPUT, with file and line, if there is a range: for who judges streams and does not keep
 * all keys. */
enum iso_status iso_history_refuse_ranges(const struct iso_history *history, const char *expected,
                                          struct iso_error *error);

/* Whether the text is the key of queries' headers: `TABLE#`. */
static inline bool iso_history_is_header(const char *key, size_t length)
{
    return length && key[length - 1] == '#' && !memchr(key, '/', length);
}

/* Makes reads of the writes by which updates touch rows whose columns are cells: where an order of
 * the transactions is sought, and that of versions is given by their commits, such a write says
 * that the row was there, and nothing else. */
void iso_history_read_touches(struct iso_history *finished);

/* The step of a set, also of one without operations. */
uint32_t iso_history_set_step(const struct iso_history *history, const struct iso_range *set);

bool iso_history_has_queries(const struct iso_history *history);

/* Whether an order of the transactions says nothing of what some of its queries did not return. */
bool iso_history_leaves_queries(const struct iso_history *finished);

/* The transaction's sets: `ranges.list` from what is returned up to *end. */
uint32_t iso_history_sets_of(const struct iso_history *history, uint32_t transaction,
                             uint32_t *end);

/* The set that the operation belongs to; NULL: none. */
const struct iso_range *iso_history_set_of(const struct iso_history *history, uint32_t operation);

/* True if the operation belongs to a row set; `is_row`: to one of its rows, not to what it
 * lacks. */
bool iso_history_in_range(const struct iso_history *finished, uint32_t operation, bool *is_row);

/* Where an operation stands among those of its transaction, from 0, a row set being one. */
uint32_t iso_history_step(const struct iso_history *history, uint32_t transaction,
                          uint32_t operation);

/* Starts a list, and adds to the list started last. */
uint32_t iso_history_list(struct iso_history *history);
void iso_history_element(struct iso_history *history, iso_atom element);

/* Adds a snapshot given as text, "xmin:xmax:xip,..."; false if it is not one. */
bool iso_history_snapshot(struct iso_history *history, const char *text, size_t length,
                          uint32_t *snapshot);

/* For readers that fill columns themselves. _open: as iso_history_begin, but tid is ISO_ABSENT and
 * session ISO_NONE until the reader stores them, since members come in any order. Operations then
 * go into `kind`, `key`, `value` of `ops` at `ops.count`, which the reader counts up (room:
 * iso_history_reserve_operations). _close takes them as those of the transaction opened last: what
 * iso_history_operation would have noted of each. */
uint32_t iso_history_open(struct iso_history *history, uint64_t origin);
void iso_history_close(struct iso_history *history);

/* How far a history was built, so that a transaction that turns out to be bad can be taken back.
 * Atoms, keys and sessions stay: they are names only. */
struct iso_history_mark {
    uint32_t transactions, operations, ranges, lists, snapshots;
    uint64_t elements, xips;
    enum iso_clock clock;
    bool whole_rows;
};
struct iso_history_mark iso_history_mark(const struct iso_history *history);
void iso_history_rewind(struct iso_history *history, const struct iso_history_mark *mark);

/* One write (or append) of the initial transaction. */
void iso_history_initial(struct iso_history *history, iso_atom key, iso_atom value, bool is_append);

/* Room for `count` more operations, so that a reader may fill the columns itself. */
void iso_history_reserve_operations(struct iso_history *history, uint32_t count);

/* The index of a key or a session, new or known. */
uint32_t iso_history_key(struct iso_history *history, iso_atom key);
uint32_t iso_history_session(struct iso_history *history, iso_atom session);

/* Appends all transactions of `block` (its own atoms, keys, sessions; `line_base` is added to every
 * origin's place, and `input` replaces its input). The block stays as it is. Its clock must fit. */
void iso_history_append(struct iso_history *history, const struct iso_history *block,
                        uint32_t input, uint64_t line_base);

/* Before the end of building: takes out transactions that repeat an earlier one of the same tid in
 * all but their origin, and returns their number. Those of other content stay, for
 * iso_history_finish to refuse. */
uint32_t iso_history_drop_repeats(struct iso_history *history);

/* Before the end of building: takes out the operations o for which `drops[o]`. */
void iso_history_drop_operations(struct iso_history *history, const bool *drops);

/* Ends building. ISO_BAD_INPUT, with file and line, if a tid occurs twice, a key is both list and
 * register, or kinds of timestamps are mixed. */
enum iso_status iso_history_finish(struct iso_history *history, struct iso_error *error);

/* A finished history's timestamp as it was given, "41" or "{41,2}". At most ISO_STAMP_TEXT bytes
 * with its NUL. */
enum { ISO_STAMP_TEXT = 48 };
void iso_history_stamp_text(const struct iso_history *history, uint64_t timestamp,
                            char text[ISO_STAMP_TEXT]);

/* "file:line" of a transaction. */
void iso_history_location_text(const struct iso_history *history, uint32_t transaction, char *text,
                               size_t size);

/* True if the clients' clocks say that transaction `a` had ended when `b` began, however far they
 * differ up to `drift`.
 */
static inline bool iso_history_ended_before(const struct iso_history *history, uint32_t a,
                                            uint32_t b, uint64_t drift)
{
    return history->txns.ended && history->txns.begun && history->txns.ended[a] &&
           history->txns.begun[b] && history->txns.begun[b] > history->txns.ended[a] &&
           history->txns.begun[b] - history->txns.ended[a] > drift;
}

static inline uint8_t iso_marks_of(const struct iso_history *history, uint32_t transaction)
{
    return history->txns.marks ? history->txns.marks[transaction] : 0;
}

static inline uint8_t iso_status_of(const struct iso_history *history, uint32_t transaction)
{
    return history->txns.flags[transaction] & ISO_STATUS_MASK;
}

/* The transaction of an operation, by a search. */
uint32_t iso_history_owner(const struct iso_history *history, uint32_t operation);

static inline uint8_t iso_kind_of(const struct iso_history *history, uint32_t operation)
{
    return history->ops.kind[operation] & ISO_KIND_MASK;
}

static inline bool iso_kind_writes(uint8_t kind)
{
    kind &= ISO_KIND_MASK;
    return kind == ISO_WRITE || kind == ISO_DELETE || kind == ISO_APPEND;
}

static inline bool iso_key_is_list(const struct iso_history *history, uint32_t key)
{
    return history->keys.use[key] & ISO_KEY_LIST;
}

/* Transactions that only a change stream tells of: the join names them so, and nobody recorded what
 * they read. */
#define ISO_FOREIGN_PREFIX "cdc:" /* begins their tids */
bool iso_tid_is_foreign(const struct iso_atoms *atoms, iso_atom tid);

/* What registers had before anything was written; `of_lists`: of lists their last initial element.
 * The caller frees them. */
iso_atom *iso_history_initial_values(const struct iso_history *history, bool of_lists);

/* The transaction's first, or last, write of a key, and its first read of it before any write;
 * ISO_NONE: none. */
uint32_t iso_history_first_write(const struct iso_history *history, uint32_t transaction,
                                 uint32_t key);
uint32_t iso_history_last_write(const struct iso_history *history, uint32_t transaction,
                                uint32_t key);
uint32_t iso_history_external_read(const struct iso_history *history, uint32_t transaction,
                                   uint32_t key);
