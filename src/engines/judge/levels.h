/* Several levels of one finished history: the strongest that hold, or all of them.
 *
 * Black-box levels imply one another, so few are asked: serializability and snapshot isolation
 * first, which most databases keep and which are cheap where the order of the input explains the
 * history; then causal consistency, and from there up or down. With --engine chronos each level is
 * asked by its own definition, and nothing follows.
 *
 * Threads: one question at a time; the history is only read.
 */
#pragma once

#include "verdict/answers.h"
#include "judge/judge.h"

/* Is told each judgement before it is released; may write the anomaly of its answer. */
typedef void iso_judge_answer_sink(void *context, enum iso_level level,
                                   const struct iso_judgement *judgement,
                                   struct iso_answer *answer);

/* Asks until each candidate is known or undecided. Candidates: the ranked levels that the engines
 * judge; those that need clients' clocks only if the history has them. `options->engine` is
 * ISO_JUDGE_CHRONOS, or any order is sought. */
enum iso_status iso_judge_levels(const struct iso_history *finished,
                                 const struct iso_judge_options *options,
                                 iso_judge_answer_sink *sink, void *context,
                                 struct iso_answers *answers, struct iso_error *error);
