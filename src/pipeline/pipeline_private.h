/* The pipeline's parts. */
#ifndef ISO_PIPELINE_PRIVATE_H
#define ISO_PIPELINE_PRIVATE_H

#include "base/number_map.h"
#include "pipeline/books.h"
#include "pipeline/order.h"
#include "pipeline/pipeline.h"

/* One input's place in the pipeline. */
struct input {
    bool counts; /* its watermark is waited for */
    bool idle;
    bool has_watermark;
    bool is_change_stream, is_known; /* the first, once it was looked up */
    bool takes_part;                 /* it was declared, or has begun */
    bool at_end;                     /* since it was told so no message has come */
    bool timeless;                   /* records came without Kafka's message time */
    uint64_t reached;                /* the largest message time so far, in milliseconds; 0: none */
    uint64_t watermark;
    uint64_t latest; /* when its last message came */
    bool begun;      /* its first message has come */
    bool far_ahead;  /* told that one of its timestamps was */
    bool lacks;      /* records in it were left out */
    bool late;       /* a transaction of it came below the watermark */
    uint64_t ahead;  /* messages since its watermark passed the pipeline's */
    uint32_t route;  /* + 1; 0: not looked up; NO_ROUTE */
};

#define NO_ROUTE UINT32_MAX

struct route {
    char *topic;
    struct iso_decoder *decoder;
    bool whole_rows; /* its values are whole rows */
    struct iso_route_traits traits;
};

/* What a verdict rests on (doubt.c). Transactions that it names: its own, the other one, who wrote what was expected,
 * and what was read. */
enum { PIPELINE_PARTIES = 4 };

/* A final violation, kept for the summary. */
struct finding {
    uint64_t id;
    struct pipeline_grounds {
        uint64_t parties[PIPELINE_PARTIES]; /* digests; 0: nobody */
        uint32_t inputs[PIPELINE_PARTIES];  /* of nobody: ISO_NONE */
        bool on_writes;                     /* a write that is not known may make it wrong */
        bool anywhere;                      /* wherever that came from: nobody knows who wrote a version */
    } grounds;
    bool by_deadline;
    uint8_t doubt;         /* enum pipeline_doubt */
    iso_atom tids[2], key; /* in `finding_atoms` */
    enum iso_axiom axiom;
    char *text; /* its JSON object; NULL: removed */
    size_t length;
};

struct findings {
    struct iso_atoms atoms;
    struct finding *list;
    size_t count, capacity;
    size_t *slots;  /* by id, open addressing: 0 free, else place in `list` + 1 */
    size_t mask;    /* of `slots`; 0: there are none */
    uint32_t limit; /* 0: none */
};

/* Violations that are CDC's: told as final, and not retracted. Open addressing; 0: free, 1: removed. */
struct told {
    uint64_t *ids;
    uint32_t mask, used;
    uint64_t count;       /* in it */
    uint64_t from_engine; /* of them, those that the engine counts as EXT */
};

/* Digests of transactions, keys and writes that are doubtful. Open addressing; 0: free. */
struct doubted {
    uint64_t *slots;
    size_t mask, count;
    bool all; /* there was no room for more */
    /* Keys whose pairs the engine has just counted as doubtful: digests, for as long as a contradiction is heard. */
    uint64_t *counted;
    size_t counted_count, counted_capacity;
};
enum { PIPELINE_DOUBTED_MOST = 1 << 19 };

enum { ISO_ALTERED_TIMES = 256 };

/* altered.c: tables that were truncated or rewritten, and verdicts that wait to hear whether theirs was. */
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
        uint8_t doubt; /* enum pipeline_doubt */
        bool unlisted; /* its line is not told */
        char *tid, *key, *line;
        size_t tid_length, key_length, length, start;
    } * absents;
    uint32_t absent_count, absent_capacity;
};

/* spelling.c */
struct spellings {
    struct iso_pipeline_spelling *list;
    uint32_t count;
};

/* grace.c */
struct stairs {
    struct stair {
        uint64_t time, value;
    } * list;
    uint32_t first, count, capacity; /* those before the first were passed */
    uint64_t reached;                /* the value of the last of these; 0: none was */
};

struct grace {
    struct stairs promise;             /* of clients that make none */
    uint64_t stream_time, stream_seen; /* the largest message time of change streams, and when it came; 0: none */
    uint64_t reached;                  /* T */
};

/* unlisted.c */
struct unlisted {
    struct iso_atoms atoms; /* of names */
    struct unlisted_count {
        enum iso_axiom axiom;
        iso_atom name; /* of the key, or the session */
        uint64_t violations;
    } * list;
    uint32_t count, capacity;
    uint32_t *slots, mask; /* 0: empty, else place in `list` + 1 */
};

/* batch.c: the messages that are being fed; the caller's. */
struct pipeline_batch {
    const struct iso_message *messages;
    uint32_t count;
    struct iso_number_map places; /* by origin, once one was looked for */
};

void pipeline_batch_start(struct pipeline_batch *batch, const struct iso_message *messages, uint32_t count);
void pipeline_batch_end(struct pipeline_batch *batch);
/* The first message of that origin, or NULL. */
const struct iso_message *pipeline_batch_find(struct pipeline_batch *batch, uint64_t origin);

static inline uint64_t pipeline_origin_of(const struct iso_message *message)
{
    return iso_origin(message->input, (uint64_t)message->offset);
}

struct iso_archive;

struct iso_pipeline {
    struct iso_pipeline_options options;
    struct altered altered;
    struct grace grace;
    struct iso_aion *engine;
    struct iso_join *join;      /* NULL: no change streams */
    struct iso_atoms names;     /* of probes' transactions, one event long */
    struct told cdc, snapshots; /* CDC; TIMESTAMP of snapshots */
    struct doubted doubted;
    struct iso_inputs inputs;
    struct input *states; /* by input */
    uint32_t state_count;
    struct route *routes;
    uint32_t route_count;
    struct iso_events events;
    uint32_t named_inputs; /* inputs of the block that have their names */
    struct pipeline_batch batch;
    enum iso_clock clock; /* of all records */
    bool midway;          /* some input's first messages were not read */
    bool lacks, late;     /* some input does, or is */
    bool closed_early;    /* that was said */
    bool given_up;        /* likewise */
    bool expects_records; /* inside transactions */
    bool has_caseless;    /* a route is */
    uint64_t year;        /* in units of the watermark; 0: not known */
    uint64_t highest;     /* the latest timestamp that came, of records, rows and watermarks; 0: none */
    uint32_t beyond;      /* records in a row that lie too far above it */
    struct iso_pipeline_stats stats;
    struct iso_text line;
    struct findings findings;
    struct spellings spellings;
    struct unlisted unlisted;
    struct iso_pipeline_order order; /* if one is sought */
    struct iso_error failure;        /* of a sink, met inside the engine's callback */
};

/* Why a verdict is doubtful (doubt.c). */
enum pipeline_doubt {
    PIPELINE_CERTAIN,
    PIPELINE_CONTRADICTION,
    PIPELINE_SKIPPED,
    PIPELINE_LATE,
    PIPELINE_BEFORE_START,
    PIPELINE_MEMORY
};

/* order_books.c */
void pipeline_order_init(struct iso_pipeline *pipeline);
void pipeline_order_release(struct iso_pipeline *pipeline);
uint64_t pipeline_order_found(const struct iso_pipeline *pipeline);
const char *pipeline_order_reason(const struct iso_pipeline *pipeline); /* why it is undecided; or NULL */
/* Reads without a time, which only the order explains. */
uint64_t pipeline_order_reads(const struct iso_pipeline *pipeline, const struct iso_aion_stats *engine);
/* Moves in the books what waits for it, and what it has judged since. */
void pipeline_order_open(const struct iso_pipeline *pipeline, const struct iso_aion_stats *engine,
                         struct iso_books *books);
const char *pipeline_order_outcome(const struct iso_pipeline *pipeline);

/* watermark.c */
struct input *pipeline_input(struct iso_pipeline *pipeline, uint32_t input);
void pipeline_arrived(struct iso_pipeline *pipeline, uint32_t input, uint64_t now);
void pipeline_watermark(struct iso_pipeline *pipeline, uint64_t origin, uint64_t timestamp, uint64_t now);
void pipeline_advance(struct iso_pipeline *pipeline, uint64_t now); /* if the inputs' promises allow */
bool pipeline_idle(struct iso_pipeline *pipeline, uint64_t now);    /* whether one became idle */

/* The text of a value that is one, and known; false: a list, nothing, or a value that nobody knows. */
bool pipeline_text_of(const struct iso_aion_value *value, char buffer[ISO_ATOM_TEXT_MAX], struct iso_json_text *text);

/* Whether the event is about a before image or another row of the stream, asked as a read; `kind` is then its kind. */
bool pipeline_is_probe(const struct iso_aion_event *event, enum iso_violation_kind *kind);

/* spelling.c */
struct iso_value_type pipeline_value_type(void *context, const char *table, size_t length, const char *column,
                                          size_t column_length);
void pipeline_note_types(struct iso_pipeline *pipeline); /* after a batch */
/* Whether a contradiction's values are one; `notes`: one that is not clear is told. */
enum iso_likeness pipeline_compare(struct iso_pipeline *pipeline, const struct iso_aion_event *event, bool notes);
enum iso_likeness pipeline_compare_read(struct iso_pipeline *pipeline, struct iso_json_text key,
                                        struct iso_json_text version, struct iso_json_text read);
void spellings_release(struct spellings *spellings);

/* grace.c */
void pipeline_note_time(struct iso_pipeline *pipeline, const struct iso_message *message, uint64_t now);
/* Of the block's transactions from `first` on, which are the message's. */
void pipeline_note_snapshots(struct iso_pipeline *pipeline, const struct iso_message *message, uint32_t first);
void pipeline_note_stream(struct iso_pipeline *pipeline); /* after a batch */
void grace_release(struct grace *grace);

/* changes.c: what the join gives, to the engine; what the engine says of its probes. */
enum iso_status pipeline_drain(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error);
/* Of a table that turned out not to be covered when the engine had its records: nobody hears of it. */
bool pipeline_is_lossy(const struct iso_pipeline *pipeline, const char *key, size_t length);
/* Whether the contradiction is counted as unjudged, and not told; the engine's before it is translated. Of pairs that one
 * event stands for, the others are left in it. */
bool pipeline_excuses(struct iso_pipeline *pipeline, struct iso_aion_event *event, bool from_engine);
bool pipeline_is_left_out(struct iso_pipeline *pipeline, const struct iso_aion_event *event);
bool pipeline_translate(struct iso_pipeline *pipeline, struct iso_aion_event *event); /* false: told before */
void pipeline_correct(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats);
void told_release(struct told *told);
void told_refill(struct told *told); /* into room for more; or after slots of another process were read */

/* unlisted.c */
void pipeline_count_unlisted(struct iso_pipeline *pipeline, const struct iso_aion_event *event);
void pipeline_tell_all_unlisted(struct iso_pipeline *pipeline); /* at the end */
void unlisted_archive(struct iso_archive *archive, struct unlisted *unlisted);
void unlisted_release(struct unlisted *unlisted);

/* pipeline.c */
enum iso_status pipeline_add(struct iso_pipeline *pipeline, struct iso_history *block, uint32_t first, uint32_t count,
                             uint64_t now, struct iso_error *error);
void pipeline_tell_contradiction(struct iso_pipeline *pipeline, const struct iso_history *block, uint32_t transaction,
                                 uint64_t first);
/* The source that delivers changes of the table; or NULL. */
const struct route *pipeline_route_to(const struct iso_pipeline *pipeline, const char *table, size_t length);
bool pipeline_covers(const struct iso_pipeline *pipeline, const char *key, size_t length); /* its table */
bool pipeline_is_change_stream(const struct iso_pipeline *pipeline, uint32_t input);
/* Between batches: what waits in the join is looked at. */
enum iso_status pipeline_look(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error);
bool pipeline_has_watermarks(struct iso_pipeline *pipeline, uint32_t input);

/* clock.c: notices timestamps a year above the watermark, and watermarks that no clock explains. */
bool pipeline_is_explained(const struct iso_pipeline *pipeline, uint64_t watermark, char *reason, size_t size);
void pipeline_note_timestamp(struct iso_pipeline *pipeline, uint64_t timestamp);
void pipeline_note_timestamps(struct iso_pipeline *pipeline, uint32_t first, uint32_t end);
void pipeline_set_year(struct iso_pipeline *pipeline); /* the watermark has moved */
void pipeline_look_ahead(struct iso_pipeline *pipeline, uint64_t timestamp, uint64_t origin);
void pipeline_look_ahead_all(struct iso_pipeline *pipeline, uint32_t first,
                             uint32_t end); /* transactions of the block */

/* altered.c */
void pipeline_note_altered(struct iso_pipeline *pipeline, const struct iso_atoms *atoms, iso_atom table, uint64_t cts);
/* Whether the key's table was altered behind `after` and before `before`. */
bool pipeline_was_altered(const struct iso_pipeline *pipeline, const char *key, size_t length, uint64_t after,
                          uint64_t before);
/* As in struct iso_aion_options: between the commits that it leaves the key's table was not altered. */
void pipeline_conflict_window(void *context, const char *key, size_t length, uint64_t cts, uint64_t *from,
                              uint64_t *to);
bool pipeline_may_be_altered(const struct iso_pipeline *pipeline, const struct iso_aion_event *event);
/* Its line waits; what the summary lists begins at `start`. */
void pipeline_hold_absent(struct iso_pipeline *pipeline, const struct iso_aion_event *event, uint8_t doubt,
                          const char *line, size_t length, size_t start);
void pipeline_release_absent(struct iso_pipeline *pipeline, uint32_t count); /* the first so many */
void altered_release(struct altered *altered);

/* doubt.c */
enum pipeline_doubt pipeline_doubt_of(const struct iso_pipeline *pipeline, const struct iso_aion_event *event);
const char *pipeline_doubt_name(enum pipeline_doubt doubt); /* NULL: there is none */
struct pipeline_grounds pipeline_grounds_of(const struct iso_pipeline *pipeline, const struct iso_aion_event *event);
/* Records of the input were left out. */
void pipeline_lacks(struct iso_pipeline *pipeline, uint32_t input);
/* The engine's callbacks, as in struct iso_aion_options. */
void pipeline_contradiction(void *context, const struct iso_history *history, uint32_t transaction, uint64_t first);
void pipeline_late(void *context, uint64_t origin);
bool pipeline_is_doubted(void *context, const struct iso_atoms *atoms, iso_atom tid);
void pipeline_doubted_pairs(void *context, const struct iso_atoms *atoms, iso_atom key, uint64_t pairs);
/* Of the violations over the list that the event stands for. */
uint64_t pipeline_doubtful_unlisted(const struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                                    enum pipeline_doubt doubt);
void pipeline_doubt_key(struct iso_pipeline *pipeline, const struct iso_atoms *atoms, iso_atom key);
/* The value that the event's transaction gave its key. */
void pipeline_doubt_write(struct iso_pipeline *pipeline, const struct iso_aion_event *event);
void doubted_refill(struct doubted *doubted); /* into slots of this process */
void doubted_release(struct doubted *doubted);

/* line.c: the engine's callback, and the JSON object of an event. */
void pipeline_emit(void *context, const struct iso_aion_event *event);
void pipeline_tell(struct iso_pipeline *pipeline, const struct iso_aion_event *event);
void pipeline_tell_again(struct iso_pipeline *pipeline, struct finding *finding, enum pipeline_doubt doubt);
/* Counts what is over the list. */
void pipeline_tell_unlisted(struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                            enum pipeline_doubt doubt);
/* To the sink, and to the summary's list: the object that begins at `start` of the line. */
void pipeline_say(struct iso_pipeline *pipeline, const struct iso_aion_event *event, bool told, uint8_t doubt,
                  const char *line, size_t length, size_t start);

/* findings.c */
struct finding *findings_add(struct findings *findings, const struct iso_aion_event *event, const char *text,
                             size_t length);
void findings_trim(struct findings *findings); /* those above the limit go, if they are many */
/* False: it is not among them. */
bool findings_remove(struct findings *findings, uint64_t id, bool *doubtful);
void findings_index(struct findings *findings); /* makes `slots` anew */
/* validate.c: asserted where ISO_VALIDATE is defined, after each batch. */
#ifdef ISO_VALIDATE
void pipeline_validate_clocks(const struct iso_pipeline *pipeline);
#else
static inline void pipeline_validate_clocks(const struct iso_pipeline *pipeline)
{
    (void)pipeline;
}
#endif

/* With ISO_VALIDATE: each that stands is found by its id. Else it does nothing. */
void findings_validate(const struct findings *findings);
void findings_sort(struct findings *findings); /* into the order of reports, cut to the limit */
void findings_release(struct findings *findings);

#endif
