/* The pipeline's parts. */
#ifndef ISO_PIPELINE_PRIVATE_H
#define ISO_PIPELINE_PRIVATE_H

#include "pipeline/pipeline.h"

/* One input's place in the pipeline. */
struct input {
    bool counts; /* its watermark is waited for */
    bool idle;
    bool has_watermark;
    bool is_change_stream, is_known; /* the first, once it was looked up */
    uint64_t watermark;
    uint64_t latest; /* when its last message came */
    bool begun;      /* its first message has come */
    bool far_ahead;  /* told that one of its timestamps was */
    uint64_t ahead;  /* messages since its watermark passed the pipeline's */
    uint32_t route;  /* + 1; 0: not looked up; NO_ROUTE */
};

#define NO_ROUTE UINT32_MAX

struct route {
    char *topic;
    struct iso_decoder *decoder;
};

/* A final violation, kept for the summary. */
struct finding {
    uint64_t id;
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

struct iso_pipeline {
    struct iso_pipeline_options options;
    struct iso_aion *engine;
    struct iso_join *join;      /* NULL: no change streams */
    struct iso_atoms names;     /* of probes' transactions, one event long */
    struct told cdc, snapshots; /* CDC; TIMESTAMP of snapshots */
    struct iso_inputs inputs;
    struct input *states; /* by input */
    uint32_t state_count;
    struct route *routes;
    uint32_t route_count;
    struct iso_events events;
    uint32_t named_inputs;           /* inputs of the block that have their names */
    const struct iso_message *batch; /* being fed */
    uint32_t batch_count;
    enum iso_clock clock; /* of all records */
    bool midway;          /* some input's first messages were not read */
    uint64_t year;        /* in units of the watermark; 0: not known */
    struct iso_pipeline_stats stats;
    struct iso_text line;
    struct findings findings;
    struct iso_error failure; /* of a sink, met inside the engine's callback */
};

/* watermark.c */
struct input *pipeline_input(struct iso_pipeline *pipeline, uint32_t input);
void pipeline_arrived(struct iso_pipeline *pipeline, uint32_t input, uint64_t now);
void pipeline_watermark(struct iso_pipeline *pipeline, uint64_t origin, uint64_t timestamp, uint64_t now);
void pipeline_idle(struct iso_pipeline *pipeline, uint64_t now);

/* changes.c: what the join gives, to the engine; what the engine says of its probes. */
enum iso_status pipeline_drain(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error);
void pipeline_tell_change(struct iso_pipeline *pipeline, const struct iso_aion_event *event); /* cdc mode: as CDC too */
bool pipeline_translate(struct iso_pipeline *pipeline, struct iso_aion_event *event);         /* false: told before */
void pipeline_correct(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats);
void told_release(struct told *told);

/* pipeline.c */
enum iso_status pipeline_add(struct iso_pipeline *pipeline, const struct iso_history *block, uint32_t first,
                             uint32_t count, uint64_t now, struct iso_error *error);
bool pipeline_is_change_stream(const struct iso_pipeline *pipeline, uint32_t input);
bool pipeline_has_watermarks(struct iso_pipeline *pipeline, uint32_t input);

/* clock.c: notices timestamps a year above the watermark. */
void pipeline_set_year(struct iso_pipeline *pipeline); /* the watermark has moved */
void pipeline_look_ahead(struct iso_pipeline *pipeline, uint64_t timestamp, uint64_t origin);
void pipeline_look_ahead_all(struct iso_pipeline *pipeline, uint32_t first,
                             uint32_t end); /* transactions of the block */

/* line.c: the engine's callback, and the JSON object of an event. */
bool pipeline_may_doubt(const struct iso_pipeline *pipeline, enum iso_axiom axiom);
void pipeline_emit(void *context, const struct iso_aion_event *event);
void pipeline_tell(struct iso_pipeline *pipeline, const struct iso_aion_event *event);

/* findings.c */
void findings_add(struct findings *findings, const struct iso_aion_event *event, const char *text, size_t length);
void findings_remove(struct findings *findings, uint64_t id);
void findings_index(struct findings *findings); /* makes `slots` anew */
void findings_sort(struct findings *findings);  /* into the order of reports, cut to the limit */
void findings_release(struct findings *findings);

#endif
