/* Gives a pipeline the messages of a feed and the records of clients, each in its own order, mixed,
 * in batches of a few. Between batches it is saved and restored at times, as a restart does. After
 * each its accounting must balance, and it may not say that all holds of a record that it has not
 * counted, or of a read that it has not judged.
 *
 * SHOW_FEED in the environment prints the messages.
 */
#ifndef TESTS_SUPPORT_FEEDER_H
#define TESTS_SUPPORT_FEEDER_H

#include "base/text.h"
#include "pipeline/pipeline.h"
#include "tests/support/feed.h"
#include "tests/support/random.h"

enum { FEEDER_TIDS = 1 << 12 };

struct feeder {
    /* Set by the caller before anything is given. */
    struct iso_pipeline *(*open)(void *context); /* routes the topic `clients` to JSON records */
    void (*after_batch)(struct feeder *feeder, struct iso_error *error); /* NULL: nothing */
    void *context;
    uint32_t restores;   /* percent of batches */
    bool counts_records; /* they come as messages, and reads of nothing else are judged */
    bool has_columns;    /* a read counts once for each column that it lists */

    struct iso_pipeline *pipeline;
    struct random saves;
    uint32_t clients; /* the input of records */
    int64_t next_offset;
    uint64_t restored, held; /* how often; it was said that all holds */
    uint64_t records, reads, committed_reads;
    char tids[FEEDER_TIDS];     /* of records that came, each behind a line's end */
    size_t tids_end, tids_held; /* the second: when it was last said that all holds */
    struct iso_text said; /* the lines that the caller's sink was given; at the end the summary */
    char failure[ISO_ERROR_TEXT];
};

/* Opens the pipeline. */
void feeder_open(struct feeder *feeder);

void feeder_give(struct feeder *feeder, struct random *random, struct feed *feed,
                 const struct iso_bytes *records, uint32_t record_count, struct iso_error *error);

/* A record by itself, between two batches. */
void feeder_give_record(struct feeder *feeder, struct iso_bytes record, struct iso_error *error);

/* As if the run were cut off here. */
void feeder_check(struct feeder *feeder);

/* Nothing more comes. */
void feeder_end(struct feeder *feeder, struct iso_error *error);

/* Frees what it said, and the pipeline. */
void feeder_release(struct feeder *feeder);

/* Whether a run that was saved and restored on its way said what one that was not did, to the byte;
 * if not, its failure says where they part. */
bool feeder_said_the_same(struct feeder *restored, const struct feeder *straight);

/* Whether the record had come when it was last said that all holds. */
bool feeder_was_judged(const struct feeder *feeder, const char *tid);

#endif
