/* The pipeline: messages in, verdicts out. The same object judges a live run (`watch`) and its
 * capture (`replay`).
 *
 *   messages -> decoder of their topic -> events -> join (of change streams) -> watermarks, aion ->
 *   verdict lines -> sinks
 *
 * Everything it does follows from the order in which messages, ends of inputs and clock readings
 * are passed in; time is a number that the caller gives. Without deadlines (finality_timeout_ms 0)
 * and idle inputs, final verdicts follow from the messages, and how they were divided into batches:
 * how late a transaction is, and so how often a verdict changes and is emitted, depends on what is
 * judged with it. A recording keeps the batches, so that a run on it says the same, byte for byte.
 *
 * Watermarks. Each input (topic, partition) has its own, from the records in it; the pipeline's is
 * the least of all inputs that were declared to it. An input that ended, or that is idle by the
 * caller's choice (idle_timeout_ms after its last message), is left out; being idle is reported and
 * counted, and ends with the next message. Beside change streams, inputs whose clients promise
 * nothing get a promise from Kafka's message times (grace_ms; grace.c).
 *
 * Records that cannot be taken (they do not decode, or contradict an earlier one) stop the
 * pipeline, or are counted and passed to `on_bad`. After that, what they wrote is unknown: EXT and
 * CDC verdicts are emitted as doubtful and are no reason for the verdict "violated" any more. The
 * same is true of everything once a transaction has arrived that a watermark had excluded: a sender
 * broke its promise, or an idle input that was left behind sent something after all.
 *
 * A stream that is not read from its beginning lacks versions. Unless initial values were given, an
 * EXT verdict is sound then only if it rests on two versions that arrived: one where either writer
 * is not known, or of a list, is emitted as doubtful, and is no reason for "violated".
 *
 * Memory: one batch of decoded messages, the engine's state, at most twice max_violations verdicts.
 * Threads: one at a time; the engine's shards run where the caller says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "base/inputs.h"
#include "values/source.h"
#include "pipeline/accounting.h"
#include "pipeline/options.h"
#include "pipeline/order.h"
#include "pipeline/stats.h"

struct iso_pipeline;

enum { ISO_PIPELINE_FILE = -1 };

const char *iso_table_news_name(enum iso_table_news news);

/* SI, SESSION on, one shard, no timeouts, fail, 1000 violations. */
void iso_pipeline_options_init(struct iso_pipeline_options *options);

struct iso_pipeline *iso_pipeline_new(const struct iso_pipeline_options *options);
void iso_pipeline_free(struct iso_pipeline *pipeline);

struct iso_rowsets_options;
/* Of columns and keys what messages say: for who judges the same rows otherwise, as long as the
 * pipeline is there. */
void iso_pipeline_know_columns(struct iso_pipeline *pipeline, struct iso_rowsets_options *options);

/* The table in which sources number their partitions. */
struct iso_inputs *iso_pipeline_inputs(struct iso_pipeline *pipeline);

/* Messages of `topic` go through `decoder`, which the pipeline then owns. `whole_rows`: its values
 * are whole rows. */
void iso_pipeline_route(struct iso_pipeline *pipeline, const char *topic,
                        struct iso_decoder *decoder, bool whole_rows);

/* Sets properties of the route added last. */
void iso_pipeline_route_traits(struct iso_pipeline *pipeline,
                               const struct iso_route_traits *traits);

/* Initial values: `initial_*` of a history. Before any message. */
void iso_pipeline_initial(struct iso_pipeline *pipeline, const struct iso_history *history);

/* An input whose watermark counts from now on. Those that are not declared count from their first
 * message. */
void iso_pipeline_declare(struct iso_pipeline *pipeline, uint32_t input, uint64_t now);

/* An input, or ISO_NONE: of records that are not joined, is read from `offset` on: if there were
 * messages below, they are not known. (An input whose first message has an offset above 0 says so
 * itself.) */
void iso_pipeline_begins(struct iso_pipeline *pipeline, uint32_t input, int64_t offset);

/* Messages that arrived from an input since its watermark passed the pipeline's: what the engine
 * keeps open because other inputs lag. 0 for those that lag. */
uint64_t iso_pipeline_ahead(const struct iso_pipeline *pipeline, uint32_t input);

/* An input's promise, and whether the watermark waits for it. Zeroed for an input that is not
 * known. */
struct iso_pipeline_input {
    uint64_t watermark;
    bool has_watermark, is_idle, at_end;
    bool is_change_stream;
    bool holds_back; /* no other has promised less: it is this one that the rest waits for */
};
struct iso_pipeline_input iso_pipeline_input(const struct iso_pipeline *pipeline, uint32_t input);

/* Client records out of files; origins name inputs of the pipeline's table, of partition
 * ISO_PIPELINE_FILE. Before any message. Pairs {p,l} become scalars. */
enum iso_status iso_pipeline_records(struct iso_pipeline *pipeline, struct iso_history *block,
                                     uint64_t now, struct iso_error *error);

enum iso_status iso_pipeline_feed(struct iso_pipeline *pipeline, const struct iso_message *messages,
                                  uint32_t count, uint64_t now, struct iso_error *error);

/* Between batches: all that an input has was fed, until its next message. Of change streams it is
 * to be called again as long as their start is awaited, since changes make the state before them
 * known. */
enum iso_status iso_pipeline_at_end(struct iso_pipeline *pipeline, uint32_t input, uint64_t now,
                                    struct iso_error *error);

/* Up to which message time (milliseconds since 1970) all inputs of clients were read; false: to
 * pass it on would change nothing. */
bool iso_pipeline_time(const struct iso_pipeline *pipeline, uint64_t now, uint64_t *time);

/* Between batches: that message time was reached. Never goes back. */
enum iso_status iso_pipeline_reached(struct iso_pipeline *pipeline, uint64_t time, uint64_t now,
                                     struct iso_error *error);

/* Whether records came that mean something only beside a change stream, and there is none: nothing
 * they read is judged. */
bool iso_pipeline_lacks_stream(const struct iso_pipeline *pipeline);

/* The caller's clock, in milliseconds since 1970: how long recorders have been silent
 * (pipeline/counted.h). */
void iso_pipeline_clock(struct iso_pipeline *pipeline, uint64_t time);

/* Within how many milliseconds all recorders that live will have said what makes an end here whole
 * (pipeline/counted.h); 0: they have. */
uint64_t iso_pipeline_awaited(const struct iso_pipeline *pipeline);

/* Lets deadlines and idle timeouts pass. */
enum iso_status iso_pipeline_tick(struct iso_pipeline *pipeline, uint64_t now,
                                  struct iso_error *error);

/* Nothing more will arrive: everything becomes final. */
/* Something that should have been fed could not be, and nothing is after it: the verdict is not
 * holds. */
void iso_pipeline_stop(struct iso_pipeline *pipeline);

/* Counts records of the input that were left out before they came here, as bad records that are
 * skipped. */
void iso_pipeline_left_out_before(struct iso_pipeline *pipeline, uint32_t input, uint32_t count);

enum iso_status iso_pipeline_end(struct iso_pipeline *pipeline, uint64_t now,
                                 struct iso_error *error);

/* As iso_aion_memory. */
void iso_pipeline_memory(struct iso_pipeline *pipeline, uint64_t limit, uint64_t in_use, bool anew);
/* as iso_aion_memory_needed */
uint64_t iso_pipeline_memory_needed(const struct iso_pipeline *pipeline);

enum { ISO_PIPELINE_LOCATION = 400 };
/* Where a record stands, in words. */
void iso_pipeline_location(const struct iso_pipeline *pipeline, uint64_t origin, char *text,
                           size_t size);

void iso_pipeline_stats(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats);

/* Whether clients' records that were counted did not come. */
bool iso_pipeline_loses(const struct iso_pipeline_stats *stats);

/* Final violations that are not doubtful. */
uint64_t iso_pipeline_certain(const struct iso_pipeline_stats *stats, enum iso_axiom axiom);

/* The sum of these, and of the doubtful ones; and both in words, "2 violations (besides 7
 * doubtful)", with `of_order` more that the search for an order found. */
enum { ISO_FOUND_TEXT = 80 };
void iso_pipeline_found_text(const struct iso_pipeline_stats *stats, uint64_t of_order,
                             char text[ISO_FOUND_TEXT]);

/* The lines of final violations that stand, as far as they are listed (max_violations): what was
 * reported before a restart, too. */
void iso_pipeline_standing(struct iso_pipeline *pipeline,
                           void (*report)(void *context, const char *line, size_t length),
                           void *context);

/* The level that is checked: "cdc" where change streams are alone and no level was asked for. */
const char *iso_pipeline_level_name(const struct iso_pipeline *pipeline);

/* Columns whose values' spellings are not clear, in the order in which they were met; the
 * pipeline's. Beyond ISO_SPELLINGS_MAX columns they are only counted, as unjudged. */
const struct iso_pipeline_spelling *iso_pipeline_spellings(const struct iso_pipeline *pipeline,
                                                           uint32_t *count);

/* Values of a history that is building, and left the pipeline, as the schemas that are known by now
 * spell them: some left before that. */
void iso_pipeline_spell(struct iso_pipeline *pipeline, struct iso_history *history);

/* Drops reads of values that nobody wrote and that may be a version in another spelling; returns
 * their number. */
uint64_t iso_pipeline_drop_unclear(struct iso_pipeline *pipeline, struct iso_history *history);

/* Adds to a finished history of what left the pipeline what its queries mean where an order is
 * sought (rowsets/rowsets.h). */
void iso_pipeline_imply_queries(struct iso_pipeline *pipeline, struct iso_history *finished);

/* As iso_join_left_out, with names that stay; false also where there are no change streams. */
bool iso_pipeline_left_out(const struct iso_pipeline *pipeline, uint32_t number,
                           struct iso_join_left_out *left_out);

/* The outcome so far: violated (1), undecided (3), or holds (0). Makes an accounting
 * (pipeline/accounting.h), or uses one that was made. */
enum iso_status iso_pipeline_outcome(const struct iso_pipeline *pipeline, bool allow_unjudged,
                                     const char **reason);
enum iso_status iso_pipeline_outcome_of(const struct iso_pipeline *pipeline,
                                        const struct iso_accounting *accounting,
                                        bool allow_unjudged, const char **reason);

/* The object of `check --json` without its times, with the stream's own counts; one line.
 * `any_order`: what polygraph says of all orders, or NULL. */
/* Writes the first missing transaction in words. */
void iso_pipeline_put_lost(const struct iso_pipeline *pipeline, struct iso_text *text);

void iso_pipeline_summary(struct iso_pipeline *pipeline, const struct iso_accounting *accounting,
                          bool allow_unjudged, const char *any_order, struct iso_text *text);
