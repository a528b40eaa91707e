/* A random history on its way through a change stream: what clients publish, what the database did
 * and its feed tells, and what the join must make of both, worked out from the rules alone by
 * looking at everything.
 *
 * tests/property/feeds.c carries them through the pipeline.
 */
#ifndef TESTS_CARRIAGE_H
#define TESTS_CARRIAGE_H

#include "verdict/verdict.h"
#include "pipeline/pipeline.h"
#include "tests/support/feed_debezium.h"
#include "tests/support/feeder.h"
#include "tests/support/random.h"
#include "tests/support/random_history.h"

enum { MAX_FOUND = 400, FOUND_TEXT = 120 };

/* Violations as texts, sorted: "EXT 3 x", "NOCONFLICT 3,4 x". */
struct found {
    uint32_t count;
    char list[MAX_FOUND][FOUND_TEXT];
};

enum mode { BY_TIMESTAMPS, BY_SNAPSHOTS, IN_BAND, BY_BEFORE_IMAGES };

/* How the stream and a client know a transaction to be the same. */
enum identity { BY_COMMIT_TIMESTAMP, BY_SHARED_COMMIT_TIMESTAMP, BY_START_TIMESTAMP, BY_XID };

/* Records lack what the stream knows them by; a marker tells. */
enum carriage_marker { NO_MARKER, MARKER_COLUMN, MARKER_ROWS };

struct format {
    const char *name, *changes, *keys;
    enum mode mode;
    enum identity identity;
    enum feed_debezium_format encoding;
    bool binlog, default_identity;
    const char *protocol; /* TiCDC's */
    enum carriage_marker marker;
    bool one_group; /* Dgraph's, said to the pipeline; clients promise */
};

struct statistics {
    uint64_t carried, foreign, committed, aborted, unresolved, altered, repeats, violated, online,
        restored, held, timeless;
};

/* One history on its way through one format. */
struct carriage {
    const struct format *format;
    enum iso_level level;
    struct random random;
    struct plain_history client;          /* what clients publish */
    struct plain_history source;          /* what the database did, which the feed tells */
    struct plain_history told;            /* what the join must make of both */
    bool withheld[PLAIN_TRANSACTIONS];    /* its client publishes nothing */
    uint64_t commits[PLAIN_TRANSACTIONS]; /* cts as the feed is ordered by; 0: it never committed */
    uint64_t first_xid;
    bool snapshot_rows;
    bool places_left_out; /* records come in the order of their sessions and do not say it */
    bool drops;           /* the feed has no row where nothing changed */
    bool online;          /* clients' promises come between their records */
    bool lost;         /* a row of the feed was left out: what is found is not told beforehand, but
                          something must be */
    uint64_t beyond;   /* reads that differed beyond what surely came, or that are not clear */
    uint32_t restores; /* percent of batches after which the pipeline is saved and restored */
    enum iso_status outcome;
    bool from_file; /* records come before everything else */
    struct random strangers;
    uint32_t stranger_count;
    struct feeder feeder;
    struct found expected, found;
    struct statistics *statistics;
    char failure[ISO_ERROR_TEXT];
};

struct value_of_key {
    struct plain_text key;
    struct plain_text source, client; /* newest version on either side */
};

/* Whether the format's change streams are of that kind. */
bool carriage_is_of(const struct format *format, const char *kind);

void carriage_add_found(struct found *found, const char *text);
void carriage_put_atom(char *text, size_t size, const struct iso_history *history, iso_atom atom);

/* ---- carriage.c: histories that a feed can carry ---- */

bool carriage_can_carry(const struct carriage *carriage, const struct plain_history *history);
void carriage_print_key(const struct format *format, char key[PLAIN_TEXT], uint32_t table,
                        uint32_t number);
void carriage_rename_keys(const struct carriage *carriage, struct plain_history *history);

/* Times with room between them, in the order in which they were; writers' starts and commits are
 * made unique. */
void carriage_spread_times(struct plain_history *history);

/* Two of a session at one place have the order of the file, or of arrival: lets there be none. */
void carriage_spread_places(struct carriage *carriage);

/* Who committed, and when, whose record is withheld; an unknown transaction may have committed. */
void carriage_draw_outcomes(struct carriage *carriage);

/* Lets the feed tell something else than the client wrote: a value altered, or a write too many. */
void carriage_alter(struct carriage *carriage);

/* ---- carriage_rules.c: what must be found ---- */

/* The last write of a key, or NULL. */
const struct plain_operation *carriage_final_write(const struct plain_transaction *transaction,
                                                   const struct plain_text *key);
bool carriage_same_value(const struct plain_operation *left, const struct plain_operation *right);
struct plain_text carriage_written(const struct plain_operation *write);
bool carriage_same_text(const struct plain_text *left, const struct plain_text *right);
struct value_of_key *carriage_value_of(struct value_of_key *values, uint32_t *count,
                                       const struct carriage *carriage,
                                       const struct plain_text *key);

/* Instances of CDC: final writes of one side that the other does not have, or has otherwise; before
 * images. */
void carriage_compare_writes(struct carriage *carriage, const struct plain_transaction *client,
                             const struct plain_transaction *source);
void carriage_compare_before_images(struct carriage *carriage);

/* Transaction `t` of the source as a version and nothing else. */
void carriage_make_foreign(struct carriage *carriage, struct plain_transaction *told, uint32_t t);

/* Takes out of records what the marker or the order of their arrival has to tell. After what is
 * expected was worked out. */
void carriage_strip(struct carriage *carriage);

/* Fills `told`, where clients say timestamps. */
void carriage_expect_by_timestamps(struct carriage *carriage);

/* ---- carriage_places.c ---- */

/* Fills everything, where clients say snapshots; false: not this one. */
bool carriage_by_snapshots(struct carriage *carriage);

/* ---- carriage_stream.c ---- */

extern const struct format carriage_formats[]; /* a NULL name at the end */

/* Feed and records through the pipeline: fills `found`, `outcome`, `beyond` and `failure`. The
 * caller releases its feeder. */
void carriage_run(struct carriage *carriage);

/* ---- carriage_alone.c ---- */

/* The same where records travel in the transactions, and where nobody tells anything but the
 * stream. */
bool carriage_in_band(struct carriage *carriage);
bool carriage_by_before_images(struct carriage *carriage);

#endif
