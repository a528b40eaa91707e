#include "generate/anomaly.h"

#define FINDING(axiom, kind, transaction, other, key)                                                                  \
    {                                                                                                                  \
        true, axiom, kind, transaction, other, false, key                                                              \
    }
#define QUERY(kind, transaction, key)                                                                                  \
    {                                                                                                                  \
        true, ISO_EXT, kind, transaction, ISO_SCRIPT_NOBODY, true, key                                                 \
    }
#define EXT(kind, transaction, key) FINDING(ISO_EXT, kind, transaction, ISO_SCRIPT_NOBODY, key)
#define INT(transaction, key) FINDING(ISO_INT, ISO_KIND_NONE, transaction, ISO_SCRIPT_NOBODY, key)

/* Members of a transaction: operations, session, sts, cts, status. */
static const struct iso_anomaly_script anomalies[] = {
    {"stale-read",
     "a read returns an older version than its snapshot holds",
     {{"wx1", 0, 0, 1, ISO_COMMITTED}, {"wx2", 1, 2, 3, ISO_COMMITTED}, {"rx1", 2, 4, 5, ISO_COMMITTED}},
     {{EXT(ISO_STALE, 2, 'x')}, {EXT(ISO_STALE, 2, 'x')}}},
    {"future-read",
     "a read returns a version that is committed only later",
     {{"wx1", 0, 0, 1, ISO_COMMITTED}, {"rx2", 1, 2, 4, ISO_COMMITTED}, {"wx2", 2, 3, 5, ISO_COMMITTED}},
     {{EXT(ISO_FUTURE, 1, 'x')}, {EXT(ISO_FUTURE, 1, 'x')}}},
    {"lost-update",
     "two overlapping transactions read a key and both write it",
     {{"wx1", 0, 0, 1, ISO_COMMITTED}, {"rx1 wx2", 1, 2, 4, ISO_COMMITTED}, {"rx1 wx3", 2, 3, 5, ISO_COMMITTED}},
     {{FINDING(ISO_NOCONFLICT, ISO_KIND_NONE, 2, 1, 'x')}, {EXT(ISO_STALE, 2, 'x')}}},
    {"long-fork",
     "two readers see two independent writes in opposite orders",
     {{"wx1 wy1", 0, 0, 1, ISO_COMMITTED},
      {"wx2", 1, 2, 4, ISO_COMMITTED},
      {"wy2", 2, 3, 6, ISO_COMMITTED},
      {"rx2 ry1", 3, 5, 5, ISO_COMMITTED},
      {"rx1 ry2", 4, 7, 7, ISO_COMMITTED}},
     {{EXT(ISO_STALE, 4, 'x')}, {EXT(ISO_STALE, 4, 'x')}}},
    {"write-skew",
     "two overlapping transactions read two keys and write one each: right at si, wrong at ser",
     {{"wx1 wy1", 0, 0, 1, ISO_COMMITTED},
      {"rx1 ry1 wx2", 1, 2, 4, ISO_COMMITTED},
      {"rx1 ry1 wy2", 2, 3, 5, ISO_COMMITTED}},
     {{{0}}, {EXT(ISO_STALE, 2, 'x')}}},
    {"aborted-read",
     "a read returns what an aborted transaction wrote",
     {{"wx1", 0, 0, 1, ISO_COMMITTED}, {"wx2", 1, 2, 3, ISO_ABORTED}, {"rx2", 2, 4, 5, ISO_COMMITTED}},
     {{EXT(ISO_UNCOMMITTED, 2, 'x')}, {EXT(ISO_UNCOMMITTED, 2, 'x')}}},
    {"intermediate-read",
     "a read returns a value that its writer replaced before it committed",
     {{"wx1 wx2", 0, 0, 1, ISO_COMMITTED}, {"rx1", 1, 2, 3, ISO_COMMITTED}},
     {{EXT(ISO_INTERMEDIATE, 1, 'x')}, {EXT(ISO_INTERMEDIATE, 1, 'x')}}},
    {"non-repeatable-read",
     "a transaction reads a key twice and sees two values",
     {{"wx1", 0, 0, 1, ISO_COMMITTED}, {"rx1 rx2", 1, 2, 5, ISO_COMMITTED}, {"wx2", 2, 3, 4, ISO_COMMITTED}},
     {{INT(1, 'x')}, {INT(1, 'x'), EXT(ISO_STALE, 1, 'x')}}},
    {"session-break",
     "a transaction starts and commits before an earlier one of its session commits",
     {{"wx1", 0, 0, 1, ISO_COMMITTED}, {"wx2", 1, 2, 6, ISO_COMMITTED}, {"rx1 wy1", 1, 3, 5, ISO_COMMITTED}},
     {{FINDING(ISO_SESSION, ISO_KIND_NONE, 2, 1, 0)}, {FINDING(ISO_SESSION, ISO_KIND_NONE, 2, 1, 0)}}},
    {"timestamp-inversion",
     "a writer's commit timestamp lies before its start timestamp: wrong at si, not looked at at ser",
     {{"wx1", 0, 2, 1, ISO_COMMITTED}},
     {{FINDING(ISO_TIMESTAMP, ISO_INTERVAL, 0, ISO_SCRIPT_NOBODY, 0)}, {{0}}}},
    {"stale-cell",
     "a read of a row returns one column as it was before its snapshot, and another as it is",
     {{"ix1", 0, 0, 1, ISO_COMMITTED}, {"ux2", 1, 2, 3, ISO_COMMITTED}, {"gx1", 2, 4, 5, ISO_COMMITTED}},
     {{EXT(ISO_STALE, 2, 'X')}, {EXT(ISO_STALE, 2, 'X')}}},
    {"missing-row",
     "a range lacks a row that was there",
     {{"ix1", 0, 0, 1, ISO_COMMITTED}, {"iy1", 1, 2, 3, ISO_COMMITTED}, {"q10", 2, 4, 5, ISO_COMMITTED}},
     {{QUERY(ISO_MISSING_ROW, 2, 'y')}, {QUERY(ISO_MISSING_ROW, 2, 'y')}}},
    {"extra-row",
     "a query returns a row that does not match its condition any more",
     {{"ix1", 0, 0, 1, ISO_COMMITTED}, {"vx2", 1, 2, 3, ISO_COMMITTED}, {"m10", 2, 4, 5, ISO_COMMITTED}},
     {{QUERY(ISO_EXTRA_ROW, 2, 'x')}, {QUERY(ISO_EXTRA_ROW, 2, 'x')}}},
    {"wrong-aggregate",
     "a sum is one of values that were replaced before its snapshot",
     {{"ix1 iy1", 0, 0, 1, ISO_COMMITTED}, {"ux2", 1, 2, 3, ISO_COMMITTED}, {"s11", 2, 4, 5, ISO_COMMITTED}},
     {{QUERY(ISO_AGGREGATE, 2, 'T')}, {QUERY(ISO_AGGREGATE, 2, 'T')}}},
    {"phantom",
     "a transaction asks twice, and finds a row that was inserted in between",
     {{"ix1", 0, 0, 1, ISO_COMMITTED}, {"q10 q11", 1, 2, 5, ISO_COMMITTED}, {"iy1", 2, 3, 4, ISO_COMMITTED}},
     {{EXT(ISO_EXTRA_ROW, 1, 'y'), EXT(ISO_FUTURE, 1, 'Y')}, {QUERY(ISO_MISSING_ROW, 1, 'y')}}},
    {"predicate-skew",
     "two overlapping transactions ask for rows, and each inserts or changes one: right at si, wrong at ser",
     {{"ix1", 0, 0, 1, ISO_COMMITTED}, {"q10 iy1", 1, 2, 4, ISO_COMMITTED}, {"s10 ux2", 2, 3, 5, ISO_COMMITTED}},
     {{{0}}, {QUERY(ISO_AGGREGATE, 2, 'T')}}},
};

enum { ANOMALIES = sizeof anomalies / sizeof anomalies[0] };

const struct iso_anomaly_script *iso_anomalies(uint32_t *count)
{
    *count = ANOMALIES;
    return anomalies;
}
