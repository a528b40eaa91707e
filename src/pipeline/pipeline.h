/* The pipeline: messages in, verdicts out. The same object judges a live run (`watch`) and its capture (`replay`).
 *
 *   messages -> decoder of their topic -> events -> join (of change streams) -> watermarks, aion -> verdict lines -> sinks
 *
 * Everything it does follows from the order in which messages, ends of inputs and clock readings are passed in; time is
 * a number that the caller gives. Without deadlines (finality_timeout_ms 0) and idle inputs, final verdicts follow from
 * the messages, and how they were divided into batches: how late a transaction is, and so how often a verdict changes
 * and is emitted, depends on what is judged with it. A recording keeps the batches, so that a run on it says the same,
 * byte for byte.
 *
 * Watermarks. Each input (topic, partition) has its own, from the records in it; the pipeline's is the least of all
 * inputs that were declared to it. An input that ended, or that is idle by the caller's choice (idle_timeout_ms after
 * its last message), is left out; being idle is reported and counted, and ends with the next message. Beside change
 * streams, inputs whose clients promise nothing get a promise from Kafka's message times (grace_ms; grace.c).
 *
 * Records that cannot be taken (they do not decode, or contradict an earlier one) stop the pipeline, or are counted and
 * passed to `on_bad`. After that, what they wrote is unknown: EXT and CDC verdicts are emitted as doubtful and are no
 * reason for the verdict "violated" any more. The same is true of everything once a transaction has arrived that a
 * watermark had excluded: a sender broke its promise, or an idle input that was left behind sent something after all.
 *
 * A stream that is not read from its beginning lacks versions. Unless initial values were given, an EXT verdict is
 * sound then only if it rests on two versions that arrived: one where either writer is not known, or of a list, is
 * emitted as doubtful, and is no reason for "violated".
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
#include "values/spelling.h"
#include "iso/inputs.h"
#include "iso/source.h"
#include "join/join.h"
#include "pipeline/order.h"
#include "pipeline/books.h"

enum iso_on_bad_record { ISO_BAD_FAIL, ISO_BAD_SKIP, ISO_BAD_DEAD_LETTER };

/* What befell a table, by its own stream. */
enum iso_table_news {
    ISO_NEWS_COLUMNS,   /* its rows have other columns */
    ISO_NEWS_EMPTIED,   /* truncated, dropped, or renamed away */
    ISO_NEWS_PARTLY,    /* a part of it was */
    ISO_NEWS_REWRITTEN, /* its values are spelt otherwise, or its rows are those of another */
    ISO_NEWS_LEFT_OUT,  /* nothing covers it from now on, for a reason */
    ISO_TABLE_NEWS
};
const char *iso_table_news_name(enum iso_table_news news);

/* Takes a line (with its newline). ISO_FAILED stops the pipeline. */
typedef enum iso_status (*iso_pipeline_sink)(void *context, const char *line, size_t length, struct iso_error *error);

enum { ISO_SPELLINGS_MAX = 256 };

/* A column of which contradictions are not judged, since their texts may be one value. */
struct iso_pipeline_spelling {
    char column[ISO_SPELLING_NAME];                           /* "public.acct.balance" */
    char stream[ISO_SPELLING_TEXT], other[ISO_SPELLING_TEXT]; /* of the first; cut to that */
    uint64_t count;
    uint8_t kind;         /* enum iso_value_kind: what a schema says of the column */
    bool of_client;       /* a client's text; else the stream has both */
    bool may_have_schema; /* messages of its source can bring one */
};

struct iso_pipeline_options {
    enum iso_level level;
    bool session_order;
    bool seeks_order; /* SER, where commits give the order of versions only: order.h */
    uint32_t shards;
    iso_aion_run run; /* of the shards, as in struct iso_aion_options; or NULL */
    void *runner;
    /* 0: no deadlines. Beside change streams and clients it begins with the end of the grace, and settling, if it is
     * on, also keeps tentative verdicts back until the grace has passed and half of it. */
    uint64_t finality_timeout_ms;
    uint64_t settle_ms;               /* as in struct iso_aion_options; without deadlines untimed */
    uint64_t idle_timeout_ms;         /* 0: every input is waited for */
    uint64_t grace_ms;                /* of message time; 0: nothing follows from message times */
    uint64_t retention, memory_limit; /* as in struct iso_aion_options, and so are these: */
    const char *spill;
    bool spill_stays;
    bool spill_all;
    unsigned spill_segment_bits;
    uint64_t (*memory_in_use)(void);
    const char *changes; /* kind of the change streams, all of one database; NULL: none, and no join */
    bool clients;        /* as in struct iso_join_options, if there are changes */
    bool records_first;
    enum iso_join_markers markers;
    bool one_group;
    bool xa; /* as in struct iso_join_options */
    uint64_t patience_ms, waiting_limit;
    void (*on_joined)(void *context, const struct iso_history *block); /* the joined history, block by block */
    uint64_t
        max_ahead; /* a watermark that lies further above every timestamp before it is a bad record; 0: clock.c says */
    unsigned hlc_bits; /* timestamps {p,l} become p << hlc_bits | l; 0: pairs are refused */
    enum iso_on_bad_record on_bad_record;
    uint32_t max_violations; /* in the summary; 0: all */
    uint32_t max_per_key;    /* as in struct iso_aion_options */
    bool judge_uncovered;    /* as in struct iso_join_options */
    bool strict_coverage;    /* operations on tables without a source make the verdict undecided */
    bool level_given;        /* the level was asked for, and is not just the default */
    bool initial_known;      /* what was there before the streams begin, be it nothing */
    bool final_only;         /* no tentative and no retracted lines but for what had been final */
    /* Sees transactions of the block before the engine does; true: it takes them, and the engine is not to. Or NULL. */
    bool (*on_transactions)(void *context, const struct iso_history *block, uint32_t first, uint32_t count,
                            struct iso_error *error);
    iso_pipeline_sink sink; /* verdict lines; NULL: only the summary */
    void *sink_context;
    /* `message` NULL: it came earlier than what is being fed. */
    void (*on_bad)(void *context, const struct iso_message *message, const char *place, const char *reason);
    /* As on_bad, of a record that is judged and contradicts another, which came earlier. */
    void (*on_doubtful)(void *context, const struct iso_message *message, const char *place, const char *reason);
    /* As often as the stream says it. `reason`: of ISO_NEWS_LEFT_OUT, else NULL; no name: all tables. */
    void (*on_table)(void *context, const char *place, const char *table, size_t length, enum iso_table_news news,
                     const char *reason);
    void (*on_idle)(void *context, const struct iso_inputs_entry *input, bool idle);
    /* Once for each column: two texts may be one value, and nothing says whether they are. */
    void (*on_spelling)(void *context, const struct iso_pipeline_spelling *spelling);
    /* Once for each input of clients: its messages have no time, so that nothing follows from theirs. */
    void (*on_timeless)(void *context, const struct iso_inputs_entry *input);
    /* Once for each input: a timestamp in it lies a year or more above the watermark. */
    void (*on_far_ahead)(void *context, const struct iso_inputs_entry *input, uint64_t offset, uint64_t timestamp,
                         uint64_t watermark);
    /* Once: memory was short, and all below `timestamp` was made final without a watermark (aion/fit.c). */
    void (*on_closed_early)(void *context, uint64_t timestamp);
    /* Once: memory was short, and so many transactions were given up as in iso_aion_given_up. */
    void (*on_given_up)(void *context, uint64_t transactions);
    void *context; /* of those above */
};

struct iso_pipeline_stats {
    uint64_t messages, bytes;
    struct iso_pipeline_intake { /* one side of the books (pipeline/books.h) */
        uint64_t messages;       /* all of them; of those, that held rows or records, only what is protocol, nothing: */
        uint64_t telling, protocol, empty, undecodable;
        uint64_t rows, records, reads;       /* in them; reads: of records */
        uint64_t given, given_reads;         /* transactions to the engine */
        uint64_t refused, refused_reads;     /* of these, by it */
        uint64_t elsewhere, elsewhere_reads; /* records that on_transactions took */
    } intake;
    uint64_t watermarks; /* records */
    uint64_t ignored;    /* tombstones and the like */
    uint64_t unrouted;   /* of topics that no source names */
    uint64_t bad_records;
    uint64_t contradictions;      /* records that contradict another, both of them judged (pipeline/doubt.c) */
    uint64_t far_ahead;           /* transactions and watermarks a year or more above the watermark; wall clocks only */
    uint64_t before_start;        /* final EXT and CDC verdicts that what came before the streams begin may explain */
    uint64_t doubted[ISO_AXIOMS]; /* final verdicts that are doubtful, for whatever reason */
    uint64_t absent_altered;      /* reads of nothing, unjudged since their table was altered after their snapshot */
    uint64_t unjudged[ISO_UNJUDGED_REASONS]; /* reads, by reason, whoever found it */
    uint64_t excused[ISO_UNJUDGED_REASONS];  /* contradictions that were not told, by why (pipeline/excuse.c) */
    uint64_t excused_reads;                  /* of them, the engine's that are not probes */
    uint64_t left_out[ISO_AXIOMS]; /* found by the engine and not told: these, and of tables that are not covered */
    uint64_t left_out_reads;       /* of those tables */
    uint64_t went_idle;            /* times that an input was left behind */
    uint64_t final, tentative, retracted; /* lines told */
    uint64_t final_doubtful;              /* of those final */
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

/* Messages of `topic` go through `decoder`, which the pipeline then owns. `whole_rows`: its values are whole rows. */
void iso_pipeline_route(struct iso_pipeline *pipeline, const char *topic, struct iso_decoder *decoder, bool whole_rows);

/* What a source says of its tables. */
struct iso_route_traits {
    bool lossy;      /* the log lacks changes of them: contradictions of their rows are unjudged */
    bool caseless;   /* keys are equal whatever their case and the blanks behind them */
    bool unreported; /* clients do not say what they write there, or in another transaction than the log has it */
};

/* Of the route added last. */
void iso_pipeline_route_traits(struct iso_pipeline *pipeline, const struct iso_route_traits *traits);

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
    bool has_watermark, is_idle, at_end;
    bool is_change_stream;
    bool holds_back; /* no other has promised less: it is this one that the rest waits for */
};
struct iso_pipeline_input iso_pipeline_input(const struct iso_pipeline *pipeline, uint32_t input);

/* Client records out of files; origins name inputs of the pipeline's table, of partition ISO_PIPELINE_FILE. Before any
 * message. Pairs {p,l} become scalars. */
enum iso_status iso_pipeline_records(struct iso_pipeline *pipeline, struct iso_history *block, uint64_t now,
                                     struct iso_error *error);

enum iso_status iso_pipeline_feed(struct iso_pipeline *pipeline, const struct iso_message *messages, uint32_t count,
                                  uint64_t now, struct iso_error *error);

/* Between batches: all that an input holds was fed, until its next message. Of change streams it is to be told again
 * as long as their start is awaited, since changes make the state before them known. */
enum iso_status iso_pipeline_at_end(struct iso_pipeline *pipeline, uint32_t input, uint64_t now,
                                    struct iso_error *error);

/* Up to which message time (milliseconds since 1970) all inputs of clients were read; false: to tell it would change
 * nothing. */
bool iso_pipeline_time(const struct iso_pipeline *pipeline, uint64_t now, uint64_t *time);

/* Between batches: that message time was reached. Never goes back. */
enum iso_status iso_pipeline_reached(struct iso_pipeline *pipeline, uint64_t time, uint64_t now,
                                     struct iso_error *error);

/* Lets deadlines and idle timeouts pass. */
enum iso_status iso_pipeline_tick(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error);

/* Nothing more will come: everything becomes final. */
enum iso_status iso_pipeline_end(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error);

/* As iso_aion_memory. */
void iso_pipeline_memory(struct iso_pipeline *pipeline, uint64_t limit, uint64_t in_use, bool anew);
uint64_t iso_pipeline_memory_needed(const struct iso_pipeline *pipeline); /* as iso_aion_memory_needed */

void iso_pipeline_stats(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats);

/* Final violations that are not doubtful. */
uint64_t iso_pipeline_certain(const struct iso_pipeline_stats *stats, enum iso_axiom axiom);

/* The lines of final violations that stand, as far as they are listed (max_violations): what was told before a restart,
 * too. */
void iso_pipeline_standing(struct iso_pipeline *pipeline, void (*tell)(void *context, const char *line, size_t length),
                           void *context);

/* The level that is checked: "cdc" where change streams come alone and no level was asked for. */
const char *iso_pipeline_level_name(const struct iso_pipeline *pipeline);

/* Columns whose values' spellings are not clear, in the order in which they were met; the pipeline's. Beyond
 * ISO_SPELLINGS_MAX columns they are only counted, as unjudged. */
const struct iso_pipeline_spelling *iso_pipeline_spellings(const struct iso_pipeline *pipeline, uint32_t *count);

/* Values of a history that is building, and came out of the pipeline, as the schemas that are known by now spell them:
 * some left before that. */
void iso_pipeline_spell(struct iso_pipeline *pipeline, struct iso_history *history);

/* The same, then of what is read and nobody wrote: what may be a version in another spelling is taken out; returns how
 * many reads. */
uint64_t iso_pipeline_drop_unclear(struct iso_pipeline *pipeline, struct iso_history *history);

/* As iso_join_left_out, with names that stay; false also where there are no change streams. */
bool iso_pipeline_left_out(const struct iso_pipeline *pipeline, uint32_t number, struct iso_join_left_out *left_out);

/* What is known so far: violated (1), undecided (3), or holds (0). Opens the books (pipeline/books.h); or by books that
 * are open. */
enum iso_status iso_pipeline_outcome(const struct iso_pipeline *pipeline, bool allow_unjudged, const char **reason);
enum iso_status iso_pipeline_outcome_of(const struct iso_pipeline *pipeline, const struct iso_books *books,
                                        bool allow_unjudged, const char **reason);

/* The object of `check --json` without its times, with the stream's own counts; one line. `any_order`: what polygraph
 * says of all orders, or NULL. */
void iso_pipeline_summary(struct iso_pipeline *pipeline, const struct iso_books *books, bool allow_unjudged,
                          const char *any_order, struct iso_text *text);

#endif
