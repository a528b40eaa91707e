/* Judging a finished history: which engine does it, and what the answers of several mean together.
 *
 * With timestamps (or snapshots) chronos or aion says whether the claimed order explains every read
 * and write; without them polygraph asks whether any order does. Between the two stands ser of
 * PostgreSQL, MySQL and MariaDB, whose commits give the order of versions while nobody promised
 * that they give that of transactions: versions and snapshots are judged as at si, then the order
 * is sought.
 *
 * Ownership: a judgement owns verdict and result, and borrows the history. Threads: one at a time;
 * different judgements of one finished history may be made at the same time.
 */
#pragma once

#include "rowsets/scans.h"
#include "verdict/verdict.h"
#include "verdict/polygraph.h"

struct iso_rowsets_options;

enum iso_judge_engine { ISO_JUDGE_AUTO, ISO_JUDGE_CHRONOS, ISO_JUDGE_AION, ISO_JUDGE_POLYGRAPH };

struct iso_judge_options {
    enum iso_judge_engine engine;
    struct iso_check_options times; /* `level` and `overlaps` follow from `order.level` */
    /* `level` is the one that is asked for; `versions_by_commit` follows */
    struct iso_polygraph_options order;
    bool allow_unjudged;
    bool any_order;          /* when timestamps say violated, polygraph says which it is */
    struct iso_scans *scans; /* counts conditions that no index serves; borrowed; or NULL */
    /* What is known of columns and keys; borrowed; NULL: what a file says of them. */
    const struct iso_rowsets_options *columns;
};

/* SI, sessions in order, one thread, 1000 violations listed, 1000 of them of one key. */
void iso_judge_options_init(struct iso_judge_options *options);

struct iso_judgement {
    const struct iso_history *history;
    enum iso_outcome outcome;
    const char *reason; /* of undecided */
    bool has_verdict;   /* chronos or aion judged */
    struct iso_verdict verdict;
    bool has_result; /* polygraph was asked: what, and what it says */
    struct iso_polygraph_options order;
    struct iso_polygraph_result result;
    bool is_of_order; /* what is said is the result, with the verdict (if there is one) beside it;
                         else the verdict */
};

/* A record that says of what it wrote only which rows, or whose reader saw what only a change
 * stream has; ISO_NONE: there is none. */
uint32_t iso_judge_needs_stream(struct iso_history *history);

/* The end of reading: takes repeats out (`repeats`, or NULL: they are an error) and finishes the
 * history. Records that only a change stream completes are an error: of such a history nothing can
 * be said without the stream. */
enum iso_status iso_judge_finish(struct iso_history *history, uint64_t *repeats,
                                 struct iso_error *error);

/* ISO_BAD_INPUT: what cannot go together, whatever the history is. */
enum iso_status iso_judge_check_options(const struct iso_judge_options *options,
                                        struct iso_error *error);

enum iso_judge_route {
    ISO_JUDGE_TIMES, /* chronos or aion; polygraph only for `any_order` */
    ISO_JUDGE_ORDER, /* polygraph */
    ISO_JUDGE_BOTH   /* the order of versions is known and that of transactions is sought: chronos,
                        then polygraph */
};
enum iso_judge_route iso_judge_route(const struct iso_judge_options *options,
                                     const struct iso_history *finished);

/* ISO_OK: the judgement says the outcome, whatever it is. Release in any case. */
enum iso_status iso_judge(const struct iso_history *finished,
                          const struct iso_judge_options *options, struct iso_judgement *judgement,
                          struct iso_error *error);

/* Whether any order explains the history, by the engine that has the level: polygraph, weak, or
 * polygraph on halves. */
enum iso_status iso_judge_any_order(const struct iso_history *finished,
                                    const struct iso_polygraph_options *options,
                                    struct iso_polygraph_result *result, struct iso_error *error);

/* Whether the order that was found for a history without timestamps answers each of its queries as
 * it was answered, also where nothing of that could be asked of the order beforehand (aggregates,
 * rows without keys, commits that wrote a part of what a condition asks for). */
bool iso_judge_order_answers(const struct iso_history *finished,
                             const struct iso_evidence *evidence);

void iso_judgement_release(struct iso_judgement *judgement);

/* All that was found, also what is not listed. */
uint64_t iso_judgement_violations(const struct iso_judgement *judgement);
