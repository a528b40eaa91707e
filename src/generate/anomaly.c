#include "generate/anomaly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FINDING(axiom, kind, transaction, other, key)                                                                  \
    {                                                                                                                  \
        true, axiom, kind, transaction, other, key                                                                     \
    }
#define EXT(kind, transaction, key) FINDING(ISO_EXT, kind, transaction, ISO_SCRIPT_NOBODY, key)
#define INT(transaction, key) FINDING(ISO_INT, ISO_KIND_NONE, transaction, ISO_SCRIPT_NOBODY, key)

/* Members of a transaction: operations, session, sts, cts, status. */
static const struct iso_anomaly anomalies[] = {
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
};

enum { ANOMALIES = sizeof anomalies / sizeof anomalies[0] };

const struct iso_anomaly *iso_anomalies(uint32_t *count)
{
    *count = ANOMALIES;
    return anomalies;
}

static const struct iso_anomaly *find(const char *name, size_t length)
{
    for (uint32_t i = 0; i < ANOMALIES; i++) {
        if (strlen(anomalies[i].name) == length && !memcmp(anomalies[i].name, name, length))
            return &anomalies[i];
    }
    return NULL;
}

static enum iso_status unknown_name(const char *text, struct iso_error *error)
{
    char names[512] = "";
    for (uint32_t i = 0; i < ANOMALIES; i++) {
        strcat(names, i ? ", " : "");
        strcat(names, anomalies[i].name);
    }
    return iso_error_set(error, ISO_BAD_INPUT, "--anomaly %s: no such anomaly; there are %s", text, names);
}

static bool parse_count(const char **at, uint32_t *count)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(*at, &end, 10);
    if (end == *at || **at < '0' || **at > '9' || errno || number < 1 || number > 1000000)
        return false;
    *at = end;
    *count = (uint32_t)number;
    return true;
}

static bool parse_place(const char **at, uint32_t transactions, uint64_t *place)
{
    char *end;
    errno = 0;
    if (**at < '0' || **at > '9')
        return false;
    if (strchr(*at, '.')) {
        double share = strtod(*at, &end);
        if (!(share >= 0.0 && share <= 1.0))
            return false;
        *place = (uint64_t)(share * transactions);
    } else {
        *place = strtoull(*at, &end, 10);
        if (errno || *place > transactions)
            return false;
    }
    *at = end;
    return true;
}

enum iso_status iso_plant_parse(const char *text, uint32_t transactions, struct iso_plant *plant,
                                struct iso_error *error)
{
    size_t length = strcspn(text, ":@");
    const char *at = text + length;
    *plant = (struct iso_plant){.anomaly = find(text, length), .count = 1, .everywhere = true};
    if (!plant->anomaly)
        return unknown_name(text, error);
    if (*at == ':' && (at++, !parse_count(&at, &plant->count)))
        return iso_error_set(error, ISO_BAD_INPUT, "--anomaly %s: the count must be a number from 1 to 1000000", text);
    if (*at == '@') {
        at++;
        plant->everywhere = false;
        if (!parse_place(&at, transactions, &plant->place))
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "--anomaly %s: the place must be a share of the run from 0.0 to 1.0, or a number of "
                                 "transactions up to %u",
                                 text, transactions);
    }
    if (*at)
        return iso_error_set(error, ISO_BAD_INPUT, "--anomaly %s: expected NAME[:COUNT][@PLACE]", text);
    return ISO_OK;
}
