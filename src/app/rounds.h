/* Transactions of a stream that polygraph judges: those without timestamps, and, where any order is asked
 * for, all.
 *
 * The first committed transaction decides for the stream: if it carries no timestamp, all transactions are
 * collected and the online engine gets none. They are judged at the end, or also every `--round` of them, all
 * that have come so far. In between, what is not here yet may still come: a round leaves out reads of values
 * that nobody wrote so far, and what it finds is *tentative*, since a later writer of the same value may
 * explain it. The end is *final*, unless it came before its time: what was found then is undecided. Memory:
 * all transactions; above `--memory` nothing more is taken, and the verdict is undecided.
 */
#ifndef ISO_APP_ROUNDS_H
#define ISO_APP_ROUNDS_H

#include "app/stream.h"
#include "base/archive.h"

enum app_rounds_kind { APP_ROUNDS_OPEN, APP_ROUNDS_TIMED, APP_ROUNDS_UNTIMED };

struct app_rounds {
    struct app_stream *stream;
    bool enabled; /* there is an end, or are rounds, at which they can be judged */
    enum app_rounds_kind kind;
    struct iso_history collected; /* in building */
    uint64_t since;               /* transactions since the last round */
    uint32_t number;              /* of rounds so far */
    bool full;                    /* --memory is used up */
};

void app_rounds_init(struct app_rounds *rounds, struct app_stream *stream, bool enabled);
void app_rounds_release(struct app_rounds *rounds);

/* For --state: saves or restores (app/durable.h). */
void app_rounds_archive(struct iso_archive *archive, struct app_rounds *rounds);

/* For the pipeline: takes transactions of a block. True: they are not the online engine's. */
bool app_rounds_take(struct app_rounds *rounds, const struct iso_history *block, uint32_t first, uint32_t count);

/* Keeps transactions of a block for --any-order. */
void app_rounds_keep(struct app_rounds *rounds, const struct iso_history *block, uint32_t first, uint32_t count);

/* The end of a stream without timestamps: judges, tells, sums up. */
enum iso_status app_rounds_conclude(struct app_rounds *rounds, double seconds);

/* What polygraph says of all that has come: "holds", "violated", "undecided". */
const char *app_rounds_any_order(struct app_rounds *rounds);

#endif
