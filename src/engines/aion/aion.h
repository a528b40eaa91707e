/* aion: the same question as chronos, online, whatever order transactions arrive in.
 *
 * Idea (the Aion paper; what is promised: docs/semantics.md): per key, in timestamp order, the
 * versions and the external reads that saw them. A late version re-checks exactly the reads whose
 * newest visible version it has become; a late writer meets exactly the writers whose intervals
 * overlap its own. Checks of one transaction or one session stand in front (TIMESTAMP, INT,
 * SESSION, repeats); the rest is a set of shards by key hash that know nothing of each other
 * (aion/shard/shard.h). README.md draws the structures and says what they cost.
 *
 * Life of a verdict. TIMESTAMP at SI, SESSION, INT and NOCONFLICT cannot be undone by later data:
 * they are reported once, as final (SESSION with one predecessor that shows it, the first that
 * arrived). An EXT verdict is tentative until the watermark reaches its timestamp; then it is final
 * and sound, and its kind and writers are reported. (What is set right by a later transaction of
 * the same iso_aion_add, up to some 4096 of them, is only counted.) Without watermarks it is final
 * `finality_timeout_ms` after arrival and may still be retracted. TIMESTAMP at SER waits for the
 * watermark or the end, since kind and `other` depend on every transaction with that cts.
 *
 * What one iso_aion_add brings is judged in the order of commits, up to 4096 transactions at a
 * time: the more it brings, the fewer are late. With `settle_ms`, transactions of a stream that
 * arrives out of order also wait for those that they overtook: then few verdicts flip and few steps
 * are late, and EXT, SESSION and NOCONFLICT are reported that much later; but never after a
 * watermark has reached what they stand on. Cost of a transaction, whatever its size: three cache
 * lines and about 1,100 instructions; of an operation: two lines (key, end of a run) and about 250
 * in order, twice that where others have overtaken it. Memory: README.md.
 *
 * Timestamps are any of 64 bits; only of the very last one, 2^64-1, who reads there does not see
 * what was committed there. Time is passed in (milliseconds, from any origin, never decreasing).
 * The engine opens no socket and starts no thread. Calls come from one thread at a time; events are
 * delivered on it, inside the call that caused them.
 */
#pragma once

#include "verdict/verdict.h"

struct iso_aion;

enum iso_aion_state { ISO_AION_TENTATIVE, ISO_AION_FINAL, ISO_AION_RETRACTED };

/* A transaction as events name it. */
struct iso_aion_party {
    const struct iso_atoms *atoms; /* of `tid` */
    iso_atom tid;                  /* ISO_ABSENT: nobody (or the initial transaction) */
    uint64_t origin; /* as its history gave it (or its index there, see `origin_is_index`) */
    uint64_t sts, cts;
};

/* A value: one atom (null: ISO_ABSENT), or a list. */
struct iso_aion_value {
    const struct iso_atoms *atoms;
    const iso_atom *elements;
    uint32_t count; /* 1 if not a list */
    bool is_list;
};

/* One step in the life of one instance. Everything it points to lives as long as the callback. */
#define ISO_AION_OF_QUERY 0x20000000u
#define ISO_AION_OF_RANGE 0x10000000u

struct iso_aion_event {
    enum iso_aion_state state;
    enum iso_level level;
    enum iso_axiom axiom;
    enum iso_violation_kind kind; /* EXT: reported when final */
    bool by_deadline;             /* EXT, final: no watermark vouches for it, it may be retracted */
    bool unpromised; /* EXT, TIMESTAMP, final: memory was short, no watermark had passed it (fit.c)
                      */
    bool assumed;    /* EXT, final: rests on an initial value that only another read reported */
    bool is_first;   /* EXT, final: another read of the key in it is wrong, with other values */
    uint64_t id;     /* digest of level, axiom, transactions and key: the same in every run */
    struct iso_aion_party transaction, other; /* as in struct iso_violation */
    const struct iso_atoms *key_atoms;
    iso_atom key;                /* ISO_ABSENT where the axiom has none */
    uint32_t operation;          /* position in the transaction, from 0, or ISO_NONE */
    uint64_t visible_below;      /* EXT: the read had to see what was committed below it */
    uint32_t snapshot_violation; /* SNAPSHOT_ORDER: index into the history's `snapshot_violations`,
                                    else ISO_NONE */
    struct iso_aion_value expected, actual; /* INT and EXT; count 0 and not a list: none */
    struct iso_aion_party writer_expected, writer_actual; /* EXT, final */
    uint64_t unlisted; /* not 0: so many violations over what is listed of the key, or session
                        * (max_per_key). Of these only state, axiom, key, session and, of one of
                        * them, transaction and other are reported (and see `grounds`) */
    /* of `unlisted`, NOCONFLICT: pairs outside of each other's `conflict_window` */
    uint64_t excused;
    uint64_t doubtful; /* of the others: pairs with a tid that `is_doubted` */
    const struct iso_atoms *session_atoms;
    iso_atom session;            /* SESSION: the transaction's; else ISO_ABSENT */
    struct iso_aion_party cause; /* retracted, or wrong after its deadline: the transaction that
                                    changed the verdict */
};

/* From level, axiom, transactions and key. */
uint64_t iso_aion_event_id(const struct iso_aion_event *event);

typedef void (*iso_aion_emit)(void *context, const struct iso_aion_event *event);

/* Calls task(argument, 0) to task(argument, shards - 1), in any order or at the same time, and
 * returns when all have returned. How a caller puts the shards on threads of its own. */
typedef void (*iso_aion_run)(void *runner, void (*task)(void *argument, uint32_t shard),
                             void *argument, uint32_t shards);

#define ISO_AION_FOREVER UINT64_MAX

/* The part that drives the engine sets these: how its stream is, what it wants to be told, and what
 * the engine may ask it. Callbacks get `context`; each may be NULL but `emit`. */
struct iso_aion_host {
    bool settle_untimed; /* the clock has no say in `settle_ms`: arrivals alone bound the wait
                            (aion/reorder/reorder_window.h) */
    bool spill_stays; /* its files have names and stay: the engine can be saved (aion/archive.h) */
    bool provenance;  /* unlisted EXT, each reported by itself, say what they rest on: values, kind
                       * and writers of a single value; of a list only that it is one, and whether
                       * nothing was read */
    bool are_positions;           /* rc, stale: commits of one timestamp become visible one by one
                                     (docs/semantics.md) */
    bool has_snapshot_boundaries; /* and so do those between two snapshots: timestamps are positions
                                     in a log */
    bool foreign;      /* SI: take writers without sts; each is a version and nothing else */
    bool counts_steps; /* Operations are counted as iso_history_step has it. Those that read a row
                        * which a query returned have ISO_AION_OF_QUERY beside their number, those
                        * of a range ISO_AION_OF_RANGE. */
    bool origin_is_index; /* events carry the index of a transaction in its history in place of its
                             origin */
    /* The caller keeps things of its own under the same memory limit and floor (iso_aion_floor):
     * their bytes; and a call when the floor has risen for want of memory. */
    uint64_t (*bytes_beside)(void *context);
    void (*on_floor)(void *context, uint64_t floor);
    /* anonymous bytes of the process; NULL: only the engine's own state counts */
    uint64_t (*memory_in_use)(void);
    /* Whether values of the key are whole rows: those that cannot be compared (verdict/unjudged.h)
     * say nothing of each other. Asked on any shard's thread. NULL: none are. */
    bool (*is_whole_row)(void *context, const char *key, size_t length);
    /* A transaction came whose tid has been another's, which came from `first`. It is judged like
     * every other, and so is that one: up to eight of one tid. NULL: it is refused. */
    void (*on_contradiction)(void *context, const struct iso_history *history, uint32_t transaction,
                             uint64_t first);
    /* For pairs of writers that are counted and not reported. is_doubted: whether a tid is
     * contradicted. conflict_window: which commits one at `cts` may be in conflict with over a key,
     * those from `*from` to `*to`, itself one of them. Both are asked on any shard's thread.
     * on_doubted_pairs, before on_contradiction: so many counted pairs of the key have a side that
     * is contradicted now and was not before. */
    bool (*is_doubted)(void *context, const struct iso_atoms *atoms, iso_atom tid);
    void (*conflict_window)(void *context, const char *key, size_t length, uint64_t cts,
                            uint64_t *from, uint64_t *to);
    void (*on_doubted_pairs)(void *context, const struct iso_atoms *atoms, iso_atom key,
                             uint64_t pairs);
    /* A committed transaction came below the watermark, taken or not: what is final of its keys
     * was judged without its writes. `was_promised`: a watermark had passed it; else memory was
     * short, and nobody has broken a promise. */
    void (*on_late)(void *context, const struct iso_history *block, uint32_t transaction,
                    bool was_promised);
    /* A transaction of the block was taken, whatever its outcome: it is no repeat, and lies within
     * the retention. */
    void (*on_taken)(void *context, const struct iso_history *block, uint32_t transaction);
    iso_aion_emit emit;
    void *context;
    iso_aion_run run_shards; /* NULL: the shards run one after another on the caller's thread */
    void *runner;
};

/* Tests force these, so that small streams meet what is rare. */
struct iso_aion_forced {
    uint64_t settle_distance;    /* in units of the timestamps: waits until a commit that much later
                                  * has arrived, also where the stream's disorder asks for less */
    unsigned spill_segment_bits; /* as in spill/spill.h */
    bool spill_all;              /* every key goes there as soon as it can */
    bool throttles_soon;         /* what takes care of thousands does so of two (throttled.c) */
};

/* The engine's user sets these; host and tests have structs of their own. */
struct iso_aion_options {
    enum iso_level level;
    bool session_order;
    bool overlaps;                /* as in struct iso_check_options */
    uint32_t shards;              /* 1 to ISO_AION_SHARDS; 0 counts as 1 */
    uint64_t finality_timeout_ms; /* 0: no deadlines, only watermarks make final */
    uint64_t emit_after_ms; /* a tentative verdict is reported once it has stood for so long: where
                             * versions are known to come that late, it says nothing before. 0: at
                             * once */
    uint64_t settle_ms; /* the most that a transaction waits for others that it overtook, before it
                         * is judged; 0: none waits. No more than the timeout counts.
                         * aion/reorder/reorder_window.h says how long it is in fact */
    uint64_t retention; /* in units of the timestamps: a transaction may start this far below the
                         * watermark; ISO_AION_FOREVER: nothing is dropped */
    uint64_t memory_limit; /* bytes of the engine's own state; 0: none. Over it keys that nobody
                            * asked for lately go to `spill`; if that does not help, the retention
                            * shrinks */
    const char *spill;     /* folder of the spill file of keys that are not in memory (evict.c);
                              NULL: none */
    uint32_t max_per_key;  /* so many violations of a key, and of a session, are reported in full,
                            * others are counted (`unlisted`); 0: all. What a long list takes is as
                            * much as 64 elements each */
    struct iso_aion_host host;
    struct iso_aion_forced forced;
};
enum { ISO_AION_SHARDS = 64 };

/* Levels at which reads are judged once, by watermarks and the end alone (aion/levels/deferred.h).
 * Of these: whether they are about sessions, so that there is nothing to ask without session order;
 * whether reads need no start. */
bool iso_aion_holds(enum iso_level level);
bool iso_aion_is_about_sessions(enum iso_level level);
bool iso_aion_needs_no_start(enum iso_level level);

/* SI or SER, SESSION on, one shard, 5 s, nothing waits, everything kept. */
void iso_aion_options_init(struct iso_aion_options *options);

struct iso_aion *iso_aion_new(const struct iso_aion_options *options);
void iso_aion_free(struct iso_aion *engine);

/* The memory limit from now on, and the anonymous bytes that the process has: for a caller that
 * notes both, to say them again when it does again what was done (without `memory_in_use`). `anew`:
 * another process than the last time, or another limit. What goes to the spill file and what the
 * retention leaves follows from this and from what the engine was given, and from nothing else. */
void iso_aion_memory(struct iso_aion *engine, uint64_t limit, uint64_t in_use, bool anew);

/* Below which nothing is kept but what is newest: no transaction that starts below is taken any
 * more. */
uint64_t iso_aion_floor(const struct iso_aion *engine);

/* The limit that would be enough for what the process has now, if the one that there is is not,
 * after all went to the spill file that can; else 0. */
uint64_t iso_aion_memory_needed(const struct iso_aion *engine);

/* Below this everything was made final since memory was short, without a watermark; 0: that never
 * was. */
uint64_t iso_aion_closed_early(const struct iso_aion *engine);

/* Transactions of unknown outcome without a start that were given up since memory was short: what
 * they wrote may explain any read of their keys from then on. */
uint64_t iso_aion_given_up(const struct iso_aion *engine);

/* Initial values: `initial_*` of a history (its transactions do not matter). Before anything is
 * added. */
void iso_aion_initial(struct iso_aion *engine, const struct iso_history *history);

/* The block's key `key` (iso_aion_block), a register, had `value`, an atom of the block, before its
 * first version; a value that is unknown (verdict/unjudged.h) is one too. May be said at any time
 * and again: open reads of it are judged again. Versions with cts <= ISO_AION_START of transactions
 * without a session are such state, too: they are never late, and never below what is kept. */
void iso_aion_set_initial(struct iso_aion *engine, uint32_t key, iso_atom value, uint64_t now);
#define ISO_AION_START 1u

/* From now on transactions are of `history`: a finished history, or a block as it was read (scalar
 * timestamps, no snapshots). Call it again when another history takes its place or it has been
 * cleared; not when it has only grown. The engine borrows it until then. */
void iso_aion_block(struct iso_aion *engine, const struct iso_history *history);

/* Takes transactions `first` to `first + count - 1` of the block, arrived at `now`. A session of
 * ISO_NONE is none. Repeats of equal content are counted and ignored. ISO_BAD_INPUT, with location:
 * the same tid with other content, a key used as a list and as a register, a committed
 * transaction without the timestamps that the level needs. The transaction at fault was not
 * taken, those before it were; `*taken` (may be NULL) says how many, the one at fault not
 * counted. */
enum iso_status iso_aion_add(struct iso_aion *engine, uint32_t first, uint32_t count, uint64_t now,
                             uint32_t *taken, struct iso_error *error);

/* Where the record came from that the last refused transaction contradicts: UINT64_MAX where it was
 * refused for another reason than having another content. */
uint64_t iso_aion_contradicted(const struct iso_aion *engine);

/* The operation of the block by which the last refused transaction uses a key as a list that is a
 * single value, or the other way round: ISO_NONE where it was refused for another reason. */
uint32_t iso_aion_misused(const struct iso_aion *engine);

/* No later transaction (or resolution) has cts <= `timestamp`. Going back is ignored. */
void iso_aion_watermark(struct iso_aion *engine, uint64_t timestamp, uint64_t now);

/* The first failure of the spill file: it is reported by every iso_aion_add from then on, which
 * takes nothing; status ISO_OK: none. Nothing is reported after it: what was reported is how a run
 * begins in which the spill file does not fail. */
const struct iso_error *iso_aion_failure(const struct iso_aion *engine);

/* Lets deadlines pass, and lets go what waits (settle_ms). */
void iso_aion_tick(struct iso_aion *engine, uint64_t now);

/* A transaction of unknown outcome committed at `cts`, or aborted. False if no such transaction is
 * open. */
bool iso_aion_resolve(struct iso_aion *engine, const struct iso_atoms *atoms, iso_atom tid,
                      bool committed, uint64_t cts, uint64_t now);

/* Nothing will come any more: everything becomes final, reads of writers of unknown outcome stay
 * unjudged. */
void iso_aion_end(struct iso_aion *engine, uint64_t now);

enum { ISO_AION_FLIPS = 8, ISO_AION_DURATIONS = 8 };

/* Reads are counted by their transaction's outcome when it came; where an unknown outcome becomes
 * known later, its reads move. */
enum iso_aion_reads_of {
    ISO_AION_READS_COMMITTED,
    ISO_AION_READS_ABORTED,
    ISO_AION_READS_UNKNOWN,
    ISO_AION_READS_NO_START, /* committed, without a moment to judge the read at */
    ISO_AION_READS_REPEATED,
    ISO_AION_READS_BEYOND_RETENTION,
    ISO_AION_READS_CLASSES
};

struct iso_aion_stats {
    uint64_t transactions, aborted, unknown,
        foreign; /* taken; `transactions`: committed. Resolved ones move */
    uint64_t operations, sessions, keys;
    uint64_t repeats;          /* equal content, ignored */
    uint64_t below_watermark;  /* came although a watermark had excluded them; taken all the same */
    uint64_t beyond_retention; /* with a cts below what is kept: not judged, not taken */
    uint64_t reads_judged, reads_unjudged, writes_unjudged; /* as in struct iso_verdict */
    uint64_t unjudged[ISO_UNJUDGED_REASONS];                /* of reads_unjudged, by reason */
    uint64_t reads_left; /* the same as reads: several of one key are one of the former */
    /* All reads that came; those of committed ones are reads_judged + reads_left. */
    uint64_t reads_of[ISO_AION_READS_CLASSES];
    uint64_t reads_undecided, writes_undecided,
        sessions_undecided;        /* needed what had been dropped */
    uint64_t counts[ISO_AXIOMS];   /* final violations, less retracted ones */
    uint64_t tentative, retracted; /* events */
    uint64_t standing;             /* tentative violations that stand now */
    uint64_t open_unknown;
    uint64_t aged_unknown;  /* that started below what is kept, and whose outcome nobody reported:
                               forgotten */
    uint64_t outcomes_lost; /* reported later that they had committed: their versions are missing */
    uint64_t closed_early;  /* memory was short: below this everything was made final, without a
                               watermark; 0: never */
    uint64_t waiting_unknown, waiting_initial; /* reads past the watermark that wait: for an
                                                  outcome; for an initial value */
    /* initial values that were reported after a read had reported another one */
    uint64_t disagreeing;
    bool per_operation;
    uint64_t flipped; /* transactions (by shard) whose EXT verdict changed after its first */
    uint64_t flips[ISO_AION_FLIPS]; /* how many of them changed 1, 2, ... times; the last: or more
                                       often */
    uint64_t wrong_for[ISO_AION_DURATIONS]; /* how long a violation stood before it was taken back:
                                             * < 1 ms, < 10 ms, < 100 ms, ... the last: or longer */
    uint64_t rechecks;                      /* reads looked at again */
    uint64_t steps; /* others that transactions were compared with, one by one: in a stream in order
                       next to none */
    uint64_t waiting;              /* transactions that wait to be judged now (settle_ms) */
    uint64_t waiting_from;         /* the least cts among them; UINT64_MAX: none */
    uint64_t open_reads, versions; /* in memory now */
    uint64_t bytes;                /* of engine state in use now */
    struct iso_aion_spilt {        /* keys in the spill file */
        uint64_t hits,
            misses; /* keys asked for: found in memory; brought back from the spill file */
        uint64_t evicted,
            clean; /* keys that went; of them those whose record was good as it stood */
        uint64_t paged_out,
            paged_in; /* segments of older versions that went; keys whose segments came back */
        uint64_t old_reads; /* reads of such versions that were answered out of the spill file */
        /* records in it that lost what was below the retention, or all, there */
        uint64_t compacted;
        uint64_t keys; /* records in it; most keys in memory have one too */
        uint64_t disk; /* bytes of its files */
        uint64_t used,
            living;        /* bytes of records in these; of them what is needed (spill/spill.h) */
        uint64_t archived; /* bytes of these that wait for the next archive (spill/spill.h) */
        uint64_t read, written; /* bytes, so far */
    } spilt;
};

void iso_aion_stats(const struct iso_aion *engine, struct iso_aion_stats *stats);

/* Reads of committed transactions that are not final. Goes over all keys and pending verdicts. */
struct iso_aion_oldest {
    uint64_t since, origin; /* when the transaction arrived, and where it stands; since UINT64_MAX:
                               none waits */
};
struct iso_aion_waiting {
    uint64_t now;
    uint64_t transactions; /* that were overtaken, with all their reads (settle_ms) */
    uint64_t reads;        /* theirs, those above the watermark, those before their deadline */
    uint64_t for_outcome;  /* reads that may see a transaction of unknown outcome */
    uint64_t for_initial;  /* reads of what stood there before the stream, which nobody has reported
                              yet */
    /* The first of `reads`, but for those that were overtaken; of these; and of `transactions`. */
    struct iso_aion_oldest read, outcome, initial, overtaken;
};
void iso_aion_count_waiting(const struct iso_aion *engine, struct iso_aion_waiting *waiting);

/* Judges a finished history in the order of its file, with a watermark only at its end and no
 * deadline. As iso_chronos_check; `verdict->engine` is set. */
enum iso_status iso_aion_check(const struct iso_history *history,
                               const struct iso_check_options *options, struct iso_verdict *verdict,
                               struct iso_error *error);
