/* Answers at several levels, and what follows from them: what holds at a level holds at all weaker
 * ones, and what is violated at one is violated at all stronger ones. Of black-box judging only; by
 * timestamps a level asks for more, and nothing follows.
 *
 * Threads: one struct, one thread.
 */
#pragma once

#include "verdict/level.h"
#include "iso/status.h"

enum { ISO_ANSWER_ANOMALY = 32 };

struct iso_answer {
    bool is_candidate;        /* the question is about this level, too */
    bool is_known;            /* asked, or follows from another answer */
    enum iso_outcome outcome; /* if it is known; undecided only if it was asked */
    /* the level that was asked: itself, or the one that the answer follows from */
    enum iso_level since;
    const char *reason;               /* of undecided */
    char anomaly[ISO_ANSWER_ANOMALY]; /* of violated, if it was asked: what was found,
                                         "lost-update"; may be empty */
};

struct iso_answers {
    struct iso_answer of[ISO_LEVELS];
    bool infers; /* one answer says something of other levels */
};

/* Nothing is known; candidates are for the caller to set. */
void iso_answers_init(struct iso_answers *answers, bool infers);

/* The answer of an engine, and what follows from it. An answer that is known stays. */
void iso_answers_note(struct iso_answers *answers, enum iso_level level, enum iso_outcome outcome,
                      const char *reason);

/* The strongest candidates that hold: none of them implies another. As bits. */
uint32_t iso_answers_strongest(const struct iso_answers *answers);

/* The undecided candidates that none of those implies: the answer may be one of these. As bits. */
uint32_t iso_answers_open(const struct iso_answers *answers);

/* The outcome at a level, also one that is no candidate. */
enum iso_outcome iso_answers_outcome(const struct iso_answers *answers, enum iso_level level);
