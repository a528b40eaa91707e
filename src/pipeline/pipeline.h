/* The pipeline: messages in, verdicts out. The same object judges a live run (`watch`) and its capture (`replay`).
 *
 *   messages -> decoder of their topic -> events -> join (of change streams) -> watermarks, aion -> verdict lines ->
 * sinks
 *
 * Everything it does follows from the order in which messages, ends of inputs and clock readings are passed in; time
 * is a number that the caller gives. Without deadlines (finality_timeout_ms 0) and idle inputs, final verdicts follow
 * from the messages, and how they were divided into batches: how late a transaction is, and so how often a verdict
 * changes and is told, depends on what is judged with it. A recording keeps the batches, so that a run on it says the
 * same, byte for byte.
 *
 * Watermarks. Each input (topic, partition) has its own, from the records in it; the pipeline's is the least of all
 * inputs that it was told of. An input that ended, or that is idle by the caller's choice (idle_timeout_ms after its
 * last message), is left out; being idle is reported and counted, and ends with the next message.
 *
 * Records that cannot be taken (they do not decode, or contradict an earlier one) stop the pipeline, or are counted
 * and passed to `on_bad`. After that, what they wrote is unknown: EXT and CDC verdicts are told as doubtful and are no
 * reason for the verdict "violated" any more. The same holds for the whole once a transaction has come that a watermark
 * had excluded: a sender that broke its word, or an idle input that was left behind and had something to say after all.
 *
 * A stream that is not read from its beginning lacks versions. Unless initial values were given, an EXT verdict is
 * sound then only if it rests on two versions that came: one where either writer is not known, or of a list, is told
 * as doubtful, and is no reason for "violated".
 *
 * Memory: one batch of decoded messages, the engine's state, at most twice max_violations verdicts.
 * Threads: one at a time; the engine's shards run where the caller says.
 */
#ifndef ISO_PIPELINE_H
#define ISO_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "aion/aion.h"
#include "base/text.h"
#include "iso/inputs.h"
#include "iso/source.h"
#include "join/join.h"

enum iso_on_bad_record { ISO_BAD_FAIL, ISO_BAD_SKIP, ISO_BAD_DEAD_LETTER };

/* Takes a line (with its newline). ISO_FAILED stops the pipeline. */
typedef enum iso_status (*iso_pipeline_sink)(void *context, const char *line, size_t length, struct iso_error *error);

struct iso_pipeline_options {
    enum iso_level level;
    bool session_order;
    uint32_t shards;
    iso_aion_run run; /* of the shards, as in struct iso_aion_options; or NULL */
    void *runner;
    uint64_t finality_timeout_ms;     /* 0: no deadlines */
    uint64_t settle_ms;               /* as in struct iso_aion_options; without deadlines untimed */
    uint64_t idle_timeout_ms;         /* 0: every input is waited for */
    uint64_t retention, memory_limit; /* as in struct iso_aion_options, and so are these: */
    const char *spill;
    bool spill_stays;
    void (*spill_at)(void *context, const char *point); /* of `context` below */
    bool spill_all;
    unsigned spill_segment_bits;
    uint64_t (*memory_in_use)(void);
    const char *changes; /* kind of the change streams, all of one database; NULL: none, and no join */
    bool clients;        /* as in struct iso_join_options, if there are changes */
    bool records_first;
    enum iso_join_markers markers;
    bool one_group;
    uint64_t patience_ms, waiting_limit;
    void (*on_joined)(void *context, const struct iso_history *block); /* the joined history, block by block */
    unsigned hlc_bits; /* timestamps {p,l} become p << hlc_bits | l; 0: pairs are refused */
    enum iso_on_bad_record on_bad_record;
    uint32_t max_violations; /* in the summary; 0: all */
    bool initial_known;      /* what was there before the streams begin, be it nothing */
    bool final_only;         /* no tentative and no retracted lines but for what had been final */
    /* Sees transactions of the block before the engine does; true: it takes them, and the engine is not to. Or NULL. */
    bool (*on_transactions)(void *context, const struct iso_history *block, uint32_t first, uint32_t count);
    iso_pipeline_sink sink; /* verdict lines; NULL: only the summary */
    void *sink_context;
    void (*on_bad)(void *context, const struct iso_message *message, const char *reason);
    void (*on_idle)(void *context, const struct iso_inputs_entry *input, bool idle);
    /* Once for each input: a timestamp in it lies a year or more above the watermark. */
    void (*on_far_ahead)(void *context, const struct iso_inputs_entry *input, uint64_t offset, uint64_t timestamp,
                         uint64_t watermark);
    void *context; /* of those above */
};

struct iso_pipeline_stats {
    uint64_t messages, bytes;
    uint64_t watermarks; /* records */
    uint64_t ignored;    /* tombstones and the like */
    uint64_t unrouted;   /* of topics that no source names */
    uint64_t bad_records;
    uint64_t far_ahead;           /* transactions and watermarks a year or more above the watermark; wall clocks only */
    uint64_t before_start;        /* final EXT and CDC verdicts that what came before the streams begin may explain */
    uint64_t doubted[ISO_AXIOMS]; /* the same, by axiom */
    uint64_t went_idle;           /* times that an input was left behind */
    uint64_t final, tentative, retracted; /* lines told */
    uint64_t watermark;                   /* the pipeline's */
    bool has_watermark;
    struct iso_aion_stats engine; /* without what the join asked of it; CDC violations among its counts */
    struct iso_join_stats join;
    bool has_join;
};

struct iso_pipeline;

enum { ISO_PIPELINE_FILE = -1 };

/* SI, SESSION on, one shard, no timeouts, fail, 1000 violations. */
void iso_pipeline_options_init(struct iso_pipeline_options *options);

struct iso_pipeline *iso_pipeline_new(const struct iso_pipeline_options *options);
void iso_pipeline_free(struct iso_pipeline *pipeline);

/* The table in which sources number their partitions. */
struct iso_inputs *iso_pipeline_inputs(struct iso_pipeline *pipeline);

/* Messages of `topic` go through `decoder`, which the pipeline then owns. */
void iso_pipeline_route(struct iso_pipeline *pipeline, const char *topic, struct iso_decoder *decoder);

/* Initial values: `initial_*` of a history. Before any message. */
void iso_pipeline_initial(struct iso_pipeline *pipeline, const struct iso_history *history);

/* An input whose watermark counts from now on. Those that are not declared count from their first message. */
void iso_pipeline_declare(struct iso_pipeline *pipeline, uint32_t input, uint64_t now);

/* An input is read from `offset` on: if there were messages below, they are not known. (An input whose first message
 * has an offset above 0 says so itself.) */
void iso_pipeline_begins(struct iso_pipeline *pipeline, int64_t offset);

/* Messages that came from an input since its watermark passed the pipeline's: what the engine holds open because other
 * inputs lag. 0 for those that lag. */
uint64_t iso_pipeline_ahead(const struct iso_pipeline *pipeline, uint32_t input);

/* What an input has promised, and whether it is waited for. Zeroed for one that is not known. */
struct iso_pipeline_input {
    uint64_t watermark;
    bool has_watermark, is_idle;
};
struct iso_pipeline_input iso_pipeline_input(const struct iso_pipeline *pipeline, uint32_t input);

/* Client records out of files; origins name inputs of the pipeline's table, of partition ISO_PIPELINE_FILE. Before any
 * message. Pairs {p,l} become scalars. */
enum iso_status iso_pipeline_records(struct iso_pipeline *pipeline, struct iso_history *block, uint64_t now,
                                     struct iso_error *error);

enum iso_status iso_pipeline_feed(struct iso_pipeline *pipeline, const struct iso_message *messages, uint32_t count,
                                  uint64_t now, struct iso_error *error);

/* Lets deadlines and idle timeouts pass. */
enum iso_status iso_pipeline_tick(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error);

/* Nothing more will come: everything becomes final. */
enum iso_status iso_pipeline_end(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error);

/* As iso_aion_memory. */
void iso_pipeline_memory(struct iso_pipeline *pipeline, uint64_t limit, uint64_t in_use, bool anew);
uint64_t iso_pipeline_memory_needed(const struct iso_pipeline *pipeline); /* as iso_aion_memory_needed */

void iso_pipeline_stats(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats);

/* What is known so far: violated (1), undecided (3), or holds (0). */
enum iso_status iso_pipeline_outcome(const struct iso_pipeline *pipeline, bool allow_unjudged, const char **reason);

/* The object of `check --json` without its times, with the stream's own counts; one line. `any_order`: what polygraph
 * says of all orders, or NULL. */
void iso_pipeline_summary(struct iso_pipeline *pipeline, bool allow_unjudged, const char *any_order,
                          struct iso_text *text);

#endif
