/* Shared by the judge's files. */
#pragma once

#include "judge/judge.h"

struct iso_rowsets_options;

/* stream.c: of a history that is not finished; leaves out its reads where what they read stands in
 * a change stream. */
void judge_leave_to_stream(struct iso_history *history);

/* queries.c */
/* Tells row sets what a file's columns are. */
void judge_know_columns(struct iso_rowsets_options *options);

/* Judges the queries at their moments, into a verdict that is not concluded. */
void judge_queries(const struct iso_judge_options *options, const struct iso_check_options *times,
                   struct iso_verdict *verdict);
void judge_count_queries(struct iso_verdict *verdict,
                         const struct iso_verdict *asked); /* in a verdict of their own */

/* An order without timestamps says nothing of what queries did not return, unless it explains all
 * of them. */
void judge_leave_queries(const struct iso_history *history, bool allow_unjudged,
                         struct iso_polygraph_result *result);

/* answers.c: as iso_judge_order_answers, of an order that may have its begins elsewhere then. */
bool judge_order_answers(const struct iso_history *history, struct iso_evidence *evidence);
