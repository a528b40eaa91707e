/* What the files of the pipeline share: its parts, each in a header of its own, and what works on
 * several of them. */
#pragma once

#include <stddef.h>

#include "pipeline/counted.h"
#include "pipeline/batch.h"
#include "pipeline/accounting.h"
#include "pipeline/findings.h"
#include "pipeline/order.h"
#include "pipeline/pipeline.h"
#include "pipeline/report_state.h"
#include "pipeline/routes.h"
#include "pipeline/id_set.h"
#include "base/number_map.h"
#include "verdict/verdict.h"
#include "pipeline/options.h"
#include "base/inputs.h"
#include "base/stairs.h"

/* The pipeline's inputs: how far each has promised, and what became of its records (watermark.c,
 * doubt.c). */
struct input {
    bool counts; /* its watermark is waited for */
    bool idle;
    bool has_watermark;
    bool is_change_stream, is_known; /* the first, once it was looked up */
    bool takes_part;                 /* it was declared, or has begun */
    bool at_end;                     /* no message has arrived since the caller said that it is */
    bool timeless;                   /* records arrived without Kafka's message time */
    uint64_t reached;                /* the largest message time so far, in milliseconds; 0: none */
    uint64_t watermark;
    uint64_t latest; /* when its last message arrived */
    bool begun;      /* its first message has arrived */
    bool far_ahead;  /* it was reported that one of its timestamps was */
    bool lacks;      /* records in it were left out */
    bool late;       /* a transaction of it arrived below the watermark */
    uint64_t ahead;  /* messages since its watermark passed the pipeline's */
    uint32_t route;  /* + 1; 0: not looked up; NO_ROUTE */
};

#define NO_ROUTE UINT32_MAX

struct inputs {
    struct iso_inputs names;
    struct input *list; /* by number; there may be fewer than names */
    uint32_t count;
};

void inputs_release(struct inputs *inputs);

/* Timestamps that arrived (far_ahead.c). */
struct clock_state {
    enum iso_clock kind; /* of all records */
    uint64_t year;       /* in units of the watermark; 0: not known */
    /* the latest timestamp that arrived, of records, rows and watermarks; 0: none */
    uint64_t highest;
    uint32_t beyond; /* records in a row that lie too far above it */
};

/* Promises of inputs that make none themselves (grace.c). */
struct grace {
    struct iso_stairs promise; /* of clients that make none */
    uint64_t stream_time,
        stream_seen;  /* the largest message time of change streams, and when it arrived; 0: none */
    uint64_t reached; /* T */
};

/* Reasons to suppress contradictions: tables that were altered (altered.c), values in two spellings
 * (spelling_doubt.c). */
enum { ISO_ALTERED_TIMES = 256 };

/* Tables that were truncated or rewritten, and verdicts that wait for word whether theirs was. */
struct altered {
    struct altered_table {
        char *name;
        size_t length;
        uint64_t times[ISO_ALTERED_TIMES]; /* the latest, in order */
        uint32_t time_count;
    } * tables;
    uint32_t table_count;
    struct absent { /* EXT, absent, final */
        uint64_t bound, id;
        uint64_t origin; /* of its transaction */
        uint8_t doubt;   /* enum pipeline_doubt */
        bool unlisted;   /* its line is not written */
        char *tid, *key, *line;
        size_t tid_length, key_length, length, start;
    } * deferred_missing;
    uint32_t absent_count, absent_capacity;
};

void altered_release(struct altered *altered);

/* Columns whose values' spellings are not clear. */
struct spellings {
    struct iso_pipeline_spelling *list;
    uint32_t count;
    struct iso_text column; /* of the key at hand */
};

void spellings_release(struct spellings *spellings);

/* Queries of tables, which an engine of their own judges (queries.c). */
struct queries {
    struct iso_rowsets_shards *engine; /* NULL: nothing has needed one */
    bool is_whole;  /* it has been told that all that was there at first has been said; not saved */
    bool of_ranges; /* row sets of plain keys may come: all keys are kept for them */
    struct reported_ids reported;
    uint64_t *again; /* ids, once for each further query that shows the instance: those found by a
                        deadline */
    uint32_t again_count, again_capacity;
    uint64_t found[ISO_AXIOMS];
    struct iso_atoms texts; /* of a finding, one event long */
};

void queries_release(struct queries *queries);

/* What is doubtful (doubt.c). */
/* Why a verdict is doubtful. */
enum pipeline_doubt {
    PIPELINE_CERTAIN,
    PIPELINE_CONTRADICTION,
    PIPELINE_SKIPPED,
    PIPELINE_LATE,
    PIPELINE_BEFORE_START,
    PIPELINE_MEMORY,
    PIPELINE_LOST
};

enum { PIPELINE_DOUBTED_MOST = 1 << 19 };

struct doubts {
    struct id_set doubted; /* digests of transactions, keys and writes */
    bool all;              /* there was no room for more */
    bool midway;           /* some input's first messages were not read */
    bool lacks, late;      /* some input does, or is */
    bool lacks_rows;       /* some change stream's does */
    bool loses;            /* no stream, and clients' records that were counted did not come */
    /* Keys whose pairs the engine has just counted as doubtful: digests, for as long as a
     * contradiction is reported. */
    uint64_t *counted;
    size_t counted_count, counted_capacity;
};

void doubts_release(struct doubts *doubts);

struct iso_archive;
struct iso_rowsets_stats;

/* A change stream has other values in place of NULL: where it showed first, and why; NULL: not said
 * since the state was restored. */
struct replaced_null {
    bool is, is_told;
    uint64_t origin;
    const char *reason;
};

struct iso_pipeline {
    struct iso_pipeline_options options;
    struct iso_aion *engine;
    struct iso_join *join; /* NULL: no change streams */
    struct routes routes;
    struct inputs inputs;
    struct clock_state clock;
    struct grace grace;
    struct pipeline_batch batch;
    struct altered altered;
    struct spellings spellings;
    struct doubts doubts;
    struct reports reports;
    struct lost lost;
    struct queries queries;
    struct counted counted;
    bool is_stopped; /* by its caller: what came since is missing */
    struct replaced_null replaced_null;
    uint64_t memory_limit;           /* as the engine was told last; 0: none */
    struct iso_pipeline_order order; /* if one is sought */
    struct iso_pipeline_stats stats;
};

/* validate.c: with ISO_VALIDATE all that is true between two batches is asserted; else it does
 * nothing. */
void pipeline_validate(const struct iso_pipeline *pipeline);

/* order_accounting.c */
void pipeline_order_init(struct iso_pipeline *pipeline);
void pipeline_order_release(struct iso_pipeline *pipeline);
/* why it is undecided; or NULL */
const char *pipeline_order_reason(const struct iso_pipeline *pipeline);
/* Reads without a time, which only the order explains. */
uint64_t pipeline_order_reads(const struct iso_pipeline *pipeline,
                              const struct iso_pipeline_stats *stats);
/* Moves in the books what waits for it, and what it has judged since. */
void pipeline_order_open(const struct iso_pipeline *pipeline,
                         const struct iso_pipeline_stats *stats, struct iso_accounting *accounting);

/* pipeline.c: says what happened to a table, or to columns. */
void pipeline_report_table(const struct iso_pipeline *pipeline, uint64_t origin, const char *name,
                           size_t length, enum iso_table_news news, const char *reason);

/* watermark.c */
struct input *pipeline_input(struct iso_pipeline *pipeline, uint32_t input);
/* The least watermark of all inputs of change streams; false: none ever came, as with CSV. */
bool pipeline_whole(const struct iso_pipeline *pipeline, uint64_t *whole);
/* The topic of a prefix is none of its connector's: its partitions are not waited for. */
void pipeline_leave_topic(struct iso_pipeline *pipeline, const char *topic);
void pipeline_arrived(struct iso_pipeline *pipeline, uint32_t input, uint64_t now);
/* Whether it is above what its input has promised so far. */
bool pipeline_note_watermark(struct iso_pipeline *pipeline, uint64_t origin, uint64_t timestamp);
void pipeline_advance(struct iso_pipeline *pipeline,
                      uint64_t now);                             /* if the inputs' promises allow */
bool pipeline_idle(struct iso_pipeline *pipeline, uint64_t now); /* whether one became idle */

/* spelling_doubt.c: the text of a value that is one, and known; false: a list, nothing, or a value
 * that nobody knows. */
bool pipeline_text_of(const struct iso_aion_value *value, char buffer[ISO_ATOM_TEXT_MAX],
                      struct iso_json_text *text);

/* Whether the event is about a before image or another row of the stream, asked as a read; `kind`
 * is then its kind. */
bool pipeline_is_probe(const struct iso_aion_event *event, enum iso_violation_kind *kind);

/* spelling_doubt.c */
void pipeline_note_types(struct iso_pipeline *pipeline); /* after a batch */
/* Whether a contradiction's values are one; `notes`: one that is not clear is reported. */
enum iso_likeness pipeline_compare(struct iso_pipeline *pipeline,
                                   const struct iso_aion_event *event, bool notes);
enum iso_likeness pipeline_compare_read(struct iso_pipeline *pipeline, struct iso_json_text key,
                                        struct iso_json_text version, struct iso_json_text read);

/* grace.c */
void pipeline_note_time(struct iso_pipeline *pipeline, const struct iso_message *message,
                        uint64_t now);
/* Notes snapshots of the block's transactions from `first` on, which are the message's. */
void pipeline_note_snapshots(struct iso_pipeline *pipeline, const struct iso_message *message,
                             uint32_t first);
void pipeline_note_stream(struct iso_pipeline *pipeline); /* after a batch */

/* changes.c: what the join gives, to the engine; what the engine found of its probes. */
enum iso_status pipeline_drain(struct iso_pipeline *pipeline, uint64_t now,
                               struct iso_error *error);
/* Whether the event's table turned out not to be covered after the engine had its records: it is
 * not reported. */
bool pipeline_is_left_out(struct iso_pipeline *pipeline, const struct iso_aion_event *event);
/* Id of a violation by axiom, level, transaction and key, as the engine's are; never a value
 * that slots reserve. */
uint64_t pipeline_id_of(const struct iso_aion_event *event);
bool pipeline_translate(struct iso_pipeline *pipeline,
                        struct iso_aion_event *event); /* false: reported before */
void pipeline_correct(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats);

/* suppress.c: whether the contradiction is counted as unjudged, and not reported; the engine's
 * before it is translated. Of pairs that one event stands for, the others are left in it. */
/* Without a change stream: what a transaction read that leaves to one what was written. */
bool pipeline_suppresses(struct iso_pipeline *pipeline, struct iso_aion_event *event,
                         bool from_engine);

/* queries.c */
/* Whether the key is a cell's, and not a row's. */
bool pipeline_is_cell(const struct iso_atoms *atoms, iso_atom key);
/* A NULL, or a row that is not there. */
static inline bool pipeline_is_null(const struct iso_aion_value *value)
{
    return !value->is_list && value->count == 1 && value->elements[0] == ISO_ABSENT;
}
/* The engine of row sets takes these steps, once something has needed it: */
void pipeline_need_queries(struct iso_pipeline *pipeline);
void pipeline_queries_start(struct iso_pipeline *pipeline, const struct iso_history *initial);
void pipeline_queries_block(struct iso_pipeline *pipeline, const struct iso_history *block);
void pipeline_queries_add(
    void *context, const struct iso_history *block,
    uint32_t transaction); /* the engine's callback, as in struct iso_aion_options */
void pipeline_queries_flush(struct iso_pipeline *pipeline);
void pipeline_queries_initial(struct iso_pipeline *pipeline, iso_atom key, iso_atom value);
void pipeline_queries_altered(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                              iso_atom table, uint64_t cts, bool is_lost);
void pipeline_queries_resolve(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                              iso_atom tid, bool committed, uint64_t cts);
void pipeline_queries_watermark(struct iso_pipeline *pipeline, uint64_t watermark);
/* Names a read that was a row of a query. */
void pipeline_queries_name(struct iso_aion_event *event);
uint64_t pipeline_queries_bytes(void *context);
void pipeline_queries_floor(void *context, uint64_t floor);
void pipeline_queries_clock(struct iso_pipeline *pipeline, uint64_t now);
void pipeline_queries_tick(struct iso_pipeline *pipeline,
                           uint64_t now); /* deadlines, and where the floor is */
void pipeline_queries_fit(struct iso_pipeline *pipeline);
void pipeline_queries_midway(struct iso_pipeline *pipeline);
void pipeline_queries_end(struct iso_pipeline *pipeline);
void pipeline_queries_correct(const struct iso_pipeline *pipeline,
                              struct iso_pipeline_stats *stats);
void pipeline_queries_open(const struct iso_pipeline *pipeline, struct iso_rowsets_stats *sets);

/* suppress.c: the log lacks changes of the key's table, as its source says: counted as unjudged,
 * and not reported. */
bool pipeline_lacks_changes(struct iso_pipeline *pipeline, const struct iso_aion_event *event);

/* missing_rows.c: what did not come. */
void pipeline_note_lost(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                        const struct iso_join_lost *lost);
void pipeline_put_lost_json(const struct iso_pipeline *pipeline,
                            struct iso_text *text); /* ,"incomplete":[...] */
uint64_t pipeline_beyond_id(const struct iso_atoms *atoms, iso_atom tid);
/* Whether a read that differs lies beyond what surely came: it waits, and is not reported. */
bool pipeline_waits_beyond(struct iso_pipeline *pipeline, const struct iso_aion_event *event);
/* Whether a final read that found no row waits for word that its table was not emptied. */
bool pipeline_waits_for_table(struct iso_pipeline *pipeline, const struct iso_aion_event *event);

/* unlisted.c */
void pipeline_count_unlisted(struct iso_pipeline *pipeline, const struct iso_aion_event *event);
void pipeline_report_all_unlisted(struct iso_pipeline *pipeline); /* at the end */
void unlisted_archive(struct iso_archive *archive, struct unlisted *unlisted);

/* pipeline.c */
enum iso_status pipeline_add(struct iso_pipeline *pipeline, struct iso_history *block,
                             uint32_t first, uint32_t count, uint64_t now, struct iso_error *error);
/* Between batches: as iso_join_recheck. */
enum iso_status pipeline_recheck(struct iso_pipeline *pipeline, uint64_t now,
                                 struct iso_error *error);

/* decode.c: the batch at hand, to the events of its block. */
void pipeline_start_block(struct iso_pipeline *pipeline);
enum iso_status pipeline_decode(struct iso_pipeline *pipeline, uint64_t now,
                                struct iso_error *error);
/* The engine takes plain numbers only. */
enum iso_status pipeline_make_scalar(struct iso_pipeline *pipeline, struct iso_history *block,
                                     struct iso_error *error);
/* The engine's errors name locations by the block's inputs. */
void pipeline_name_inputs(const struct iso_pipeline *pipeline, struct iso_history *block);
uint64_t pipeline_reads_in(const struct iso_history *block, uint32_t first, uint32_t count);
void pipeline_count_records(struct iso_pipeline *pipeline, const struct iso_history *block,
                            uint32_t first, uint32_t count);
void pipeline_note_topic(struct iso_pipeline *pipeline, const char *topic);
bool pipeline_is_change_stream(const struct iso_pipeline *pipeline, uint32_t input);
bool pipeline_has_watermarks(struct iso_pipeline *pipeline, uint32_t input);

/* refuse.c */
enum { LOCATION_BYTES = 400 };
/* "topic clients partition 0 offset 7", or "clients.jsonl line 7". */
void pipeline_put_location(const struct iso_pipeline *pipeline, uint64_t origin, char *text,
                           size_t size);
/* ISO_OK: the record is left out. Otherwise the pipeline stops with its location. */
enum iso_status pipeline_leave_out(struct iso_pipeline *pipeline, const struct iso_message *message,
                                   uint64_t origin, const char *reason, struct iso_error *error);
/* Leaves out a bad record; the transactions and rows that it may have held are missing. */
enum iso_status pipeline_bad_record(struct iso_pipeline *pipeline,
                                    const struct iso_message *message, uint64_t origin,
                                    const char *reason, struct iso_error *error);
/* Leaves out a transaction that the engine did not take. */
enum iso_status pipeline_refuse(struct iso_pipeline *pipeline, const struct iso_history *block,
                                uint32_t transaction, const char *reason, struct iso_error *error);
/* A key that is a list to some and a single value to others becomes two, both of them doubtful:
 * this transaction's operations that do not fit go to a key of another name. False: it was refused
 * for another reason. */
bool pipeline_split_key(struct iso_pipeline *pipeline, struct iso_history *block,
                        uint32_t transaction);
void pipeline_report_contradiction(struct iso_pipeline *pipeline, const struct iso_history *block,
                                   uint32_t transaction, uint64_t first);

/* far_ahead.c: notices timestamps a year above the watermark, and watermarks that no clock
 * explains. */
bool pipeline_is_explained(const struct iso_pipeline *pipeline, uint64_t watermark, char *reason,
                           size_t size);
void pipeline_note_timestamp(struct iso_pipeline *pipeline, uint64_t timestamp);
void pipeline_note_timestamps(struct iso_pipeline *pipeline, uint32_t first, uint32_t end);
void pipeline_set_year(struct iso_pipeline *pipeline); /* the watermark has moved */
void pipeline_note_far_ahead(struct iso_pipeline *pipeline, uint64_t timestamp, uint64_t origin);
void pipeline_note_far_ahead_all(struct iso_pipeline *pipeline, uint32_t first,
                                 uint32_t end); /* transactions of the block */

/* altered.c */
void pipeline_note_altered(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                           iso_atom table, uint64_t cts);
/* Whether the key's table was altered behind `after` and before `before`. */
bool pipeline_was_altered(const struct iso_pipeline *pipeline, const char *key, size_t length,
                          uint64_t after, uint64_t before);
/* As in struct iso_aion_options: between the commits that it leaves the key's table was not
 * altered. */
void pipeline_conflict_window(void *context, const char *key, size_t length, uint64_t cts,
                              uint64_t *from, uint64_t *to);
bool pipeline_may_be_altered(const struct iso_pipeline *pipeline,
                             const struct iso_aion_event *event);
/* Its line is deferred; what the summary lists begins at `start`. */
void pipeline_defer_absent(struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                           uint8_t doubt, const char *line, size_t length, size_t start);
/* The first so many, which were deferred before the watermark, or the end, that has now been
 * reached. */
void pipeline_release_absent(struct iso_pipeline *pipeline, uint32_t count);

/* doubt.c */
enum pipeline_doubt pipeline_doubt_of(const struct iso_pipeline *pipeline,
                                      const struct iso_aion_event *event);
const char *pipeline_doubt_name(enum pipeline_doubt doubt); /* NULL: there is none */
struct pipeline_provenance pipeline_provenance_of(const struct iso_pipeline *pipeline,
                                                  const struct iso_aion_event *event);
/* Records of the input were left out. */
void pipeline_lacks(struct iso_pipeline *pipeline, uint32_t input);
/* Nothing more arrives, or the run ends: records that were counted may not have come. */
void pipeline_doubt_lost(struct iso_pipeline *pipeline);
/* The engine's callbacks, as in struct iso_aion_options. */
void pipeline_contradiction(void *context, const struct iso_history *history, uint32_t transaction,
                            uint64_t first);
void pipeline_late(void *context, const struct iso_history *block, uint32_t transaction,
                   bool was_promised);
bool pipeline_is_doubted(void *context, const struct iso_atoms *atoms, iso_atom tid);
void pipeline_doubted_pairs(void *context, const struct iso_atoms *atoms, iso_atom key,
                            uint64_t pairs);
/* Number of doubtful ones among the unlisted violations that the event stands for. */
uint64_t pipeline_doubtful_unlisted(const struct iso_pipeline *pipeline,
                                    const struct iso_aion_event *event, enum pipeline_doubt doubt);
void pipeline_doubt_key(struct iso_pipeline *pipeline, const struct iso_atoms *atoms, iso_atom key);
/* The value that the event's transaction gave its key. */
void pipeline_doubt_write(struct iso_pipeline *pipeline, const struct iso_aion_event *event);

/* line.c: the engine's callback, and the JSON object of an event. */
void pipeline_emit(void *context, const struct iso_aion_event *event);
void pipeline_report(struct iso_pipeline *pipeline, const struct iso_aion_event *event);
void pipeline_report_again(struct iso_pipeline *pipeline, struct finding *finding,
                           enum pipeline_doubt doubt);
/* Counts what is over the list. */
void pipeline_report_unlisted(struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                              enum pipeline_doubt doubt);
/* Counts it and, if it is final, takes the object, the rest of its line, into the summary's
 * list. */
void pipeline_list(struct iso_pipeline *pipeline, const struct iso_aion_event *event, uint8_t doubt,
                   const char *object, size_t length);
/* Whether lines go to the sink: nothing has failed so far. */
bool pipeline_writes(const struct iso_pipeline *pipeline);
