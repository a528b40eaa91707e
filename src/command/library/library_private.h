/* What the library's files share: the handles behind iso/isochron.h. */
#pragma once

#include "base/text.h"
#include "history/history.h"
#include "iso/isochron.h"
#include "judge/judge.h"
#include "native/native.h"
#include "pipeline/pipeline.h"

/* ---- options ---- */

struct iso_options {
    int level, engine, on_bad_record; /* which word of the option's choices */
    bool no_session_order, midway, ranges;
    unsigned threads; /* 0: as many as there are processors */
    uint64_t memory, timeout_ms;
    struct iso_judge_options judge;
    struct iso_pipeline_options stream;
    char *evidence, *spill;   /* owned; or NULL */
    struct iso_error refused; /* the first option that was not taken */
};

void library_options_init(struct iso_options *options);
/* An error if an option was refused: the others are not what was asked for. */
enum iso_status library_options_need_all(const struct iso_options *options,
                                         struct iso_error *error);
/* The engines' own options, with what several of them share filled in. */
struct iso_judge_options library_judge_options(const struct iso_options *options);
struct iso_pipeline_options library_stream_options(const struct iso_options *options);

/* ---- transactions ---- */

struct iso_transactions {
    struct iso_history history;
    uint64_t repeats;        /* taken out when it was finished */
    uint32_t input;          /* of what does not come from a file; ISO_NONE: not named yet */
    uint32_t unfiled;        /* transactions so far that do not */
    struct iso_error broken; /* why nothing can be done with it but clear it */
    /* the first error that a call told, until it is cleared or forgiven, */
    struct iso_error refused;
    uint32_t refusals; /* and how many calls did */
    struct iso_native native;
    struct iso_text padded;
    struct library_building { /* the transaction that is being built */
        bool is_open, has_sts, has_cts;
        uint64_t sts, cts;
        iso_atom tid, sid;
        struct iso_history_mark mark;
    } building;
    /* the first thing that is wrong with it, or with calls outside of any */
    struct iso_error wrong;
};

/* An error if a call was refused: what is in the set may not be all that was meant. */
enum iso_status library_need_all(const struct iso_transactions *transactions,
                                 struct iso_error *error);

/* Leaves out a transaction that is open; an error if the set cannot be added to. */
enum iso_status library_need_building(struct iso_transactions *transactions,
                                      struct iso_error *error);

/* Ends reading and building, the first time; `drops_repeats`: a transaction that stands there twice
 * counts once. */
enum iso_status library_finish(struct iso_transactions *transactions, bool drops_repeats,
                               struct iso_error *error);

/* ---- reports ---- */

/* A report and what it points to. All zero: none. */
struct library_report {
    struct iso_report report;
    char *json, *texts;
    size_t text_used;
    struct library_strings {
        const char **list;
        size_t count, capacity;
    } tids, expected, actual;
    struct iso_report_place *places;
    size_t place_capacity;
    struct iso_report_edge *edges;
    size_t edge_capacity;
};

/* Takes a violation's JSON object apart; `level` where it does not say its own. What was read
 * before is gone. */
void library_report_read(struct library_report *report, const char *json, size_t length,
                         const char *level);
void library_report_release(struct library_report *report);
