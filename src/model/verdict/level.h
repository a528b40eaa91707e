/* Isolation levels: the one table of them. What a level is called, which engine judges it, which
 * level implies which, and what kind of question it is: options, engines, evidence and reports ask
 * here and keep no lists of their own.
 *
 * docs/semantics.md has the definitions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* In the order of the option's words. A new level goes to the end, and has a row in
 * src/model/verdict/level.c. */
#define ISO_LEVEL_LIST(LEVEL)                                                                      \
    LEVEL(SI, "si")                                                                                \
    LEVEL(SER, "|ser")                                                                             \
    LEVEL(ADYA_SI, "|adya-si")                                                                     \
    LEVEL(GSI, "|gsi")                                                                             \
    LEVEL(STRONG_SI, "|strong-si")                                                                 \
    LEVEL(STRICT_SER, "|strict-ser")                                                               \
    LEVEL(ADYA_RC, "|adya-rc")                                                                     \
    LEVEL(RC, "|rc")                                                                               \
    LEVEL(RA, "|ra")                                                                               \
    LEVEL(CC, "|cc")                                                                               \
    LEVEL(PSI, "|psi")                                                                             \
    LEVEL(PC, "|pc")                                                                               \
    LEVEL(PRAM, "|pram")                                                                           \
    LEVEL(RYW, "|ryw")                                                                             \
    LEVEL(MR, "|mr")                                                                               \
    LEVEL(MW, "|mw")                                                                               \
    LEVEL(WFR, "|wfr")                                                                             \
    LEVEL(STALE_READS, "|stale")

#define ISO_LEVEL_NUMBER(name, word) ISO_##name,
enum iso_level { ISO_LEVEL_LIST(ISO_LEVEL_NUMBER) ISO_LEVELS };
#undef ISO_LEVEL_NUMBER

/* All names, with bars between: for options. */
#define ISO_LEVEL_WORD(name, word) word
#define ISO_LEVEL_WORDS ISO_LEVEL_LIST(ISO_LEVEL_WORD)

/* The room that a name takes. */
#define ISO_LEVEL_NAME_MAX 12

/* The events that an order of transactions consists of. */
enum iso_level_shape {
    ISO_SHAPE_ONE_EVENT,  /* a transaction is one event: all of it happens at once */
    ISO_SHAPE_TWO_EVENTS, /* begin and commit; writers of a key do not overlap */
    ISO_SHAPE_SPLIT, /* a reading half and a writing half, each one event, nothing said of overlaps
                      */
    ISO_SHAPE_ARBITRATION, /* one order of the commits, which readers need not have seen: levels
                              below PC */
    ISO_SHAPE_NONE         /* judged by timestamps alone */
};

/* Engines, as bits. */
enum iso_level_engine {
    ISO_BY_CHRONOS = 1,
    ISO_BY_AION = 2,      /* streams, too */
    ISO_BY_POLYGRAPH = 4, /* any order, by search */
    ISO_BY_WEAK = 8,      /* any order, by sweeps */
    ISO_BY_ANY_ORDER = ISO_BY_POLYGRAPH | ISO_BY_WEAK
};

struct iso_level_row {
    const char *name;  /* "rc" */
    const char *title; /* "read committed": as headlines say it */
    const char *elle;  /* as Elle calls it; NULL: it does not */
    enum iso_level_shape shape;
    bool keeps_sessions; /* a session's transactions have their order */
    bool needs_times;    /* of clients' clocks */
    bool is_ranked;      /* takes part in `strongest` */
    uint32_t implies; /* directly: a bit for each weaker level; iso_level_implies has the closure */
};

const struct iso_level_row *iso_level_row(enum iso_level level);

/* "si". */
const char *iso_level_name(enum iso_level level);

/* A transaction is one event. */
static inline bool iso_level_is_serial(enum iso_level level)
{
    return iso_level_row(level)->shape == ISO_SHAPE_ONE_EVENT;
}

/* Readers need not have seen all that comes before them. */
static inline bool iso_level_is_weak(enum iso_level level)
{
    return iso_level_row(level)->shape == ISO_SHAPE_ARBITRATION;
}

/* Evidence names transactions by one event, their begin: at the weak levels an order is one of
 * whole transactions, too. */
static inline bool iso_level_is_one_event(enum iso_level level)
{
    return iso_level_is_serial(level) || iso_level_is_weak(level);
}

/* Each read of a key is one of its own, but for those of the transaction's own writes. */
static inline bool iso_level_has_each_read(enum iso_level level)
{
    return level == ISO_RC || level == ISO_ADYA_RC;
}

static inline bool iso_level_keeps_sessions(enum iso_level level)
{
    return iso_level_row(level)->keeps_sessions;
}

/* gsi: U's commit comes before T's, if U had ended when T began. The others: before T's begin. */
static inline bool iso_level_needs_times(enum iso_level level)
{
    return iso_level_row(level)->needs_times;
}

/* True if some of those engines judge the level. */
bool iso_level_judged_by(enum iso_level level, unsigned engines);

/* Whether a history at which `strong` holds is one at which `weak` holds; each level implies
 * itself. Between levels of black-box judging: by timestamps a level asks for more. */
bool iso_level_implies(enum iso_level strong, enum iso_level weak);

/* The names of the levels that some of the engines judge, "si, ser and pc", at most `size`
 * bytes. */
void iso_level_list(unsigned engines, char *text, size_t size);

/* Takes a name; false: it is none. */
bool iso_level_parse(const char *name, size_t length, enum iso_level *level);

/* Why a well-known name is not among the levels, and what to ask for instead; NULL: not known. */
const char *iso_level_refusal(const char *name);

/* ISO_BAD_INPUT, with what the engines have and who else has it, if none of them judges the level.
 * `who` is their name, `option` what stands before the level in the message, "--level". */
enum iso_status iso_level_check(enum iso_level level, unsigned engines, const char *who,
                                const char *option, struct iso_error *error);
