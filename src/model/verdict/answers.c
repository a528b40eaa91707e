#include "verdict/answers.h"

#include <assert.h>

void iso_answers_init(struct iso_answers *answers, bool infers)
{
    *answers = (struct iso_answers){.infers = infers};
}

static bool follows(enum iso_level asked, enum iso_outcome outcome, enum iso_level other)
{
    return outcome == ISO_HOLDS ? iso_level_implies(asked, other) : iso_level_implies(other, asked);
}

void iso_answers_note(struct iso_answers *answers, enum iso_level level, enum iso_outcome outcome,
                      const char *reason)
{
    struct iso_answer answer = {
        .is_known = true, .outcome = outcome, .since = level, .reason = reason};
    for (int i = 0; i < ISO_LEVELS; i++) {
        enum iso_level other = (enum iso_level)i;
        bool is_said = other == level || (answers->infers && outcome != ISO_IS_UNDECIDED &&
                                          follows(level, outcome, other));
        /* An engine decided both, and they contradict each other: one of them is wrong. */
        assert(!is_said || !answers->of[i].is_known || answers->of[i].outcome == ISO_IS_UNDECIDED ||
               answers->of[i].outcome == outcome || outcome == ISO_IS_UNDECIDED);
        if (!is_said || (answers->of[i].is_known && answers->of[i].outcome != ISO_IS_UNDECIDED))
            continue;
        answer.is_candidate = answers->of[i].is_candidate;
        answers->of[i] = answer;
    }
}

enum iso_outcome iso_answers_outcome(const struct iso_answers *answers, enum iso_level level)
{
    return answers->of[level].is_known ? answers->of[level].outcome : ISO_IS_UNDECIDED;
}

/* The levels in a set that no other level in it implies. */
static uint32_t strongest_of(uint32_t set)
{
    uint32_t strongest = set;
    for (int strong = 0; strong < ISO_LEVELS; strong++) {
        for (int weak = 0; set >> strong & 1 && weak < ISO_LEVELS; weak++) {
            if (weak != strong && iso_level_implies((enum iso_level)strong, (enum iso_level)weak))
                strongest &= ~(1u << weak);
        }
    }
    return strongest;
}

static uint32_t candidates(const struct iso_answers *answers, enum iso_outcome outcome)
{
    uint32_t set = 0;
    for (int level = 0; level < ISO_LEVELS; level++) {
        if (answers->of[level].is_candidate &&
            iso_answers_outcome(answers, (enum iso_level)level) == outcome)
            set |= 1u << level;
    }
    return set;
}

uint32_t iso_answers_strongest(const struct iso_answers *answers)
{
    return strongest_of(candidates(answers, ISO_HOLDS));
}

uint32_t iso_answers_open(const struct iso_answers *answers)
{
    return candidates(answers, ISO_IS_UNDECIDED);
}
