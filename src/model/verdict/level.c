/* The table of levels. */
#include "verdict/level.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BIT(level) (1u << ISO_##level)

/* One row a level: what stands in no row is no level's. */
static const struct iso_level_row rows[] = {
    [ISO_SI] = {"si", "snapshot isolation", "strong-session-snapshot-isolation",
                ISO_SHAPE_TWO_EVENTS, .keeps_sessions = true, .is_ranked = true,
                .implies = BIT(PSI) | BIT(PC) | BIT(ADYA_SI)},
    [ISO_SER] = {"ser", "serializability", "strong-session-serializable", ISO_SHAPE_ONE_EVENT,
                 .keeps_sessions = true, .is_ranked = true, .implies = BIT(SI)},
    [ISO_ADYA_SI] = {"adya-si", "snapshot isolation without session order", "snapshot-isolation",
                     ISO_SHAPE_TWO_EVENTS, .implies = BIT(ADYA_RC)},
    [ISO_GSI] = {"gsi", "generalised snapshot isolation", "snapshot-isolation",
                 ISO_SHAPE_TWO_EVENTS, .needs_times = true, .implies = BIT(ADYA_SI)},
    [ISO_STRONG_SI] = {"strong-si", "strong snapshot isolation", "strong-snapshot-isolation",
                       ISO_SHAPE_TWO_EVENTS, .keeps_sessions = true, .needs_times = true,
                       .is_ranked = true, .implies = BIT(SI) | BIT(GSI)},
    [ISO_STRICT_SER] = {"strict-ser", "strict serializability", "strict-serializable",
                        ISO_SHAPE_ONE_EVENT, .keeps_sessions = true, .needs_times = true,
                        .is_ranked = true, .implies = BIT(SER) | BIT(STRONG_SI)},
    [ISO_ADYA_RC] = {"adya-rc", "read committed without session order", "read-committed",
                     ISO_SHAPE_ARBITRATION, .is_ranked = true},
    [ISO_RC] = {"rc", "read committed", "monotonic-atomic-view", ISO_SHAPE_ARBITRATION,
                .keeps_sessions = true, .is_ranked = true, .implies = BIT(ADYA_RC)},
    [ISO_RA] = {"ra", "read atomicity", "read-atomic", ISO_SHAPE_ARBITRATION,
                .keeps_sessions = true, .is_ranked = true, .implies = BIT(RC) | BIT(RYW)},
    [ISO_CC] = {"cc", "causal consistency", "causal-cerone", ISO_SHAPE_ARBITRATION,
                .keeps_sessions = true, .is_ranked = true,
                .implies = BIT(RA) | BIT(PRAM) | BIT(WFR)},
    [ISO_PSI] = {"psi", "parallel snapshot isolation", "parallel-snapshot-isolation",
                 ISO_SHAPE_ARBITRATION, .keeps_sessions = true, .is_ranked = true,
                 .implies = BIT(CC)},
    [ISO_PC] = {"pc", "prefix consistency", "prefix", ISO_SHAPE_SPLIT, .keeps_sessions = true,
                .is_ranked = true, .implies = BIT(CC)},
    [ISO_PRAM] = {"pram", "PRAM consistency", "PRAM", ISO_SHAPE_ARBITRATION, .keeps_sessions = true,
                  .is_ranked = true, .implies = BIT(RYW) | BIT(MR) | BIT(MW)},
    [ISO_RYW] = {"ryw", "read your writes", "read-your-writes", ISO_SHAPE_ARBITRATION,
                 .keeps_sessions = true, .is_ranked = true},
    [ISO_MR] = {"mr", "monotonic reads", "monotonic-reads", ISO_SHAPE_ARBITRATION,
                .keeps_sessions = true, .is_ranked = true},
    [ISO_MW] = {"mw", "monotonic writes", "monotonic-writes", ISO_SHAPE_ARBITRATION,
                .keeps_sessions = true, .is_ranked = true},
    [ISO_WFR] = {"wfr", "writes follow reads", "writes-follow-reads", ISO_SHAPE_ARBITRATION,
                 .keeps_sessions = true, .is_ranked = true},
    [ISO_STALE_READS] = {.name = "stale",
                         .title = "reads of one past moment",
                         .shape = ISO_SHAPE_NONE},
};
/* Which engine judges which levels. */
static const struct {
    unsigned engine;
    uint32_t levels;
} judges[] = {
    {ISO_BY_CHRONOS, BIT(SI) | BIT(SER) | BIT(RC) | BIT(PC) | BIT(STALE_READS) | BIT(RA) | BIT(CC) |
                         BIT(PSI) | BIT(RYW) | BIT(MR)},
    {ISO_BY_AION, BIT(SI) | BIT(SER) | BIT(PC) | BIT(RC) | BIT(STALE_READS) | BIT(RYW) | BIT(MR)},
    {ISO_BY_POLYGRAPH,
     BIT(PC) | BIT(SI) | BIT(SER) | BIT(ADYA_SI) | BIT(GSI) | BIT(STRONG_SI) | BIT(STRICT_SER)},
    {ISO_BY_WEAK, BIT(ADYA_RC) | BIT(RC) | BIT(RA) | BIT(CC) | BIT(PSI) | BIT(PRAM) | BIT(RYW) |
                      BIT(MR) | BIT(MW) | BIT(WFR)},
};
_Static_assert(sizeof rows / sizeof *rows == ISO_LEVELS, "each level has a row");

const struct iso_level_row *iso_level_row(enum iso_level level)
{
    assert(level < ISO_LEVELS);
    return &rows[level];
}

const char *iso_level_name(enum iso_level level)
{
    return iso_level_row(level)->name;
}

bool iso_level_judged_by(enum iso_level level, unsigned engines)
{
    assert(level < ISO_LEVELS);
    for (size_t i = 0; i < sizeof judges / sizeof *judges; i++)
        if (judges[i].engine & engines && judges[i].levels & 1u << level)
            return true;
    return false;
}

bool iso_level_implies(enum iso_level strong, enum iso_level weak)
{
    uint32_t implied = 1u << strong;
    for (uint32_t before = 0; before != implied;) {
        before = implied;
        for (int level = 0; level < ISO_LEVELS; level++)
            implied |= before >> level & 1 ? rows[level].implies : 0;
    }
    return implied >> weak & 1;
}

void iso_level_list(unsigned engines, char *text, size_t size)
{
    int last = -1, first = -1;
    size_t used = 0;
    text[0] = 0;
    for (int level = 0; level < ISO_LEVELS; level++) {
        if (!iso_level_judged_by((enum iso_level)level, engines))
            continue;
        first = first < 0 ? level : first;
        last = level;
    }
    for (int level = first < 0 ? ISO_LEVELS : first; level < ISO_LEVELS && used < size; level++) {
        if (!iso_level_judged_by((enum iso_level)level, engines))
            continue;
        const char *between = level == first ? "" : level == last ? " and " : ", ";
        int length = snprintf(text + used, size - used, "%s%s", between, rows[level].name);
        used += (size_t)length;
    }
}

bool iso_level_parse(const char *name, size_t length, enum iso_level *level)
{
    for (int i = 0; i < ISO_LEVELS; i++) {
        if (strlen(rows[i].name) != length || memcmp(rows[i].name, name, length))
            continue;
        *level = (enum iso_level)i;
        return true;
    }
    return false;
}

const char *iso_level_refusal(const char *name)
{
    static const struct {
        const char *name, *reason;
    } refused[] = {
        {"ua",
         "update atomicity is not built: psi forbids lost updates too, and asks for causality beside them"},
        {"rr",
         "repeatable read means three things: PL-2.99 (ask for ser), MySQL's and MariaDB's (no snapshot "
         "isolation: ask for rc and ra), and reads that do not change within a transaction (ask for ra)"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (!strcmp(refused[i].name, name))
            return refused[i].reason;
    return NULL;
}

static void put_others(enum iso_level level, char *text, size_t size)
{
    static const struct {
        unsigned engines;
        const char *option;
    } others[] = {{ISO_BY_CHRONOS, "--engine chronos"},
                  {ISO_BY_AION, "--engine aion"},
                  {ISO_BY_ANY_ORDER, "--engine polygraph"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!iso_level_judged_by(level, others[i].engines))
            continue;
        snprintf(text, size, "%s has it", others[i].option);
        return;
    }
    snprintf(text, size, "no engine has it yet");
}

enum iso_status iso_level_check(enum iso_level level, unsigned engines, const char *who,
                                const char *option, struct iso_error *error)
{
    char known[160], others[40];
    if (iso_level_judged_by(level, engines))
        return ISO_OK;
    iso_level_list(engines, known, sizeof known);
    put_others(level, others, sizeof others);
    return iso_error_set(error, ISO_BAD_INPUT, "%s %s: %s has %s; %s", option,
                         iso_level_name(level), who, known, others);
}
