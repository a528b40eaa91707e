/* What the kinds of `isochron bench` share. A kind is one file with one `struct bench_kind`, and
 * one row in src/command/app/bench.c.
 *
 * A point is one place in a sweep: a workload, or a file of the user's. It is prepared once and
 * measured a few times, each time in processes of its own (measure/child.h); the median of each
 * column is its row.
 */
#pragma once

#include "aion/aion.h"
#include "base/team.h"
#include "cli/options.h"
#include "generate/generate.h"
#include "history/history.h"
#include "measure/child.h"
#include "measure/figures.h"

/* The settings that options name. */
struct bench {
    struct iso_generate_options generate;
    uint64_t rate;             /* arrivals: transactions a second */
    uint32_t delay, deviation; /* milliseconds */
    uint64_t batch, retention, settle;
    uint64_t memory;     /* spill: the limit */
    const char *spill;   /* and where the store lies; NULL: among temporary files */
    uint64_t every;      /* seconds between two lines of progress; 0: none */
    uint64_t duration;   /* seconds after which a run ends; 0: when all transactions are done */
    int encoding;        /* 0: all of a kind's experiments, else the one of this number */
    uint64_t partitions; /* kafka */
    struct cli_texts properties;
    uint64_t threads; /* 0: as the kind likes */
};

struct bench_point {
    struct bench bench; /* with the swept value in its place */
    const char *experiment;
    const char *file; /* of the user's, or NULL */
    int descriptor;   /* of a file that `prepare` made; -1: none */
    uint64_t bytes;   /* of the file */
};

struct bench_kind {
    const char *name;
    const char *const *experiments; /* NULL at their end: each point is measured for each */
    const char *const *sweeps; /* parameters that --sweep all goes through, NULL at their end */
    const char *file_format;   /* what a FILE holds; NULL: takes none */
    const char *const *takes;  /* options that not all kinds have, NULL at their end */
    bool (*applies)(const struct bench_point
                        *point); /* whether the experiment can be measured there; NULL: always */
    const struct iso_figure_column *columns;
    size_t column_count;
    /* where they are others than most kinds'; may be NULL */
    void (*set_defaults)(struct bench *bench);
    void (*add_settings)(const struct bench *bench, char *text,
                         size_t size); /* its own; may be NULL */
    enum iso_status (*prepare)(struct bench_point *point,
                               struct iso_error *error); /* may be NULL */
    iso_child_run *run;                                  /* measures it in a process of its own, */
    size_t peak; /* whose most memory is this column; 0: none is */
    enum iso_status (*measure)(struct bench_point *point, double *numbers,
                               struct iso_error *error); /* where one process is not enough */
};

extern const struct bench_kind bench_chronos, bench_aion, bench_spill, bench_decode, bench_kafka;

#define BENCH_MEBIBYTES(bytes) ((double)(bytes) / 1048576.0)

/* An engine of these settings, without deadlines, whose events nobody looks at. */
struct iso_aion_options bench_engine_options(const struct bench *bench, struct iso_team *team);

/* Generates the point's workload into `history`, in the order of commits, and finishes it. */
enum iso_status bench_generate(const struct bench *bench, struct iso_history *history,
                               struct iso_error *error);

/* Generates the point's workload into a nameless temporary file (`point->descriptor`). */
enum iso_status bench_generate_file(struct bench_point *point, struct iso_error *error);

/* Reads the point's file, or the one that was prepared, as a history in building. */
enum iso_status bench_load(const struct bench_point *point, unsigned threads,
                           struct iso_history *history, struct iso_error *error);
