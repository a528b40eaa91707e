/* A join fed with events made by hand, and what it gives as a text.
 *
 * Steps come out as `add TID[STS,CTS]{OPERATIONS}`, `resolve TID CTS` or `resolve TID aborted`,
 * `watermark N`, `KIND TID KEY EXPECTED>ACTUAL` for findings, and `probe KIND TID KEY=VALUE@TIME`
 * for questions to the engine; a blank between steps. Operations are `r:KEY=VALUE`, `w:KEY=VALUE`,
 * `d:KEY`; `^` behind a value: under a lock. `-` is absent.
 */
#ifndef TESTS_JOIN_BENCH_H
#define TESTS_JOIN_BENCH_H

#include "base/text.h"
#include "native/native.h"
#include "join/join.h"

struct join_bench {
    struct iso_join *join;
    struct iso_history block;
    struct iso_native native;
    struct iso_text text;
    uint64_t now, offset, time; /* time: of commits, as ENDs say */
    uint32_t input;
};

void join_bench_open(struct join_bench *bench, const struct iso_join_options *options);
void join_bench_close(struct join_bench *bench);

/* A row without a place in a transaction; the caller adds it. Values of NULL are absent; `-` there:
 * not known. */
struct iso_event join_bench_row(struct join_bench *bench, const char *key, const char *before,
                                const char *after);

/* Takes an event. */
void join_bench_take(struct join_bench *bench, const struct iso_event *event);

/* A row whose columns are cells: as "a:1>2 b:?>3", before and after; `-` is absent, `?` not known.
 * The row is inserted (`c`), updated (`u`; `U`: without the row before) or deleted (`d`). */
void join_bench_row_of_cells(struct join_bench *bench, struct iso_event row, char operation,
                             const char *cells);

/* Rows as the sources send them. */
void join_bench_by_cts(struct join_bench *bench, uint64_t cts, const char *key, const char *after);
void join_bench_by_xid(struct join_bench *bench, uint32_t xid, uint64_t previous, uint64_t lsn,
                       const char *key, const char *before, const char *after);
void join_bench_end(struct join_bench *bench, uint32_t xid, uint32_t count, uint64_t lsn);

/* A client's record, a line of the native format with single quotes for double ones. */
void join_bench_record(struct join_bench *bench, const char *json);

/* One that travels inside of transaction `xid`, as an event that its END counts. */
void join_bench_in_band(struct join_bench *bench, uint32_t xid, uint64_t previous, uint64_t lsn,
                        const char *json);

/* All steps since the last call. */
const char *join_bench_steps(struct join_bench *bench);

static inline struct iso_join_stats stats_of(const struct join_bench *bench)
{
    struct iso_join_stats stats;
    iso_join_stats(bench->join, &stats);
    return stats;
}

/* For tests: what came since the last call, and the end of all that comes. */
#define STEPS(bench, text) assert_string_equal(join_bench_steps(bench), text)
#define END(bench) iso_join_end((bench)->join, (bench)->now)

#endif
