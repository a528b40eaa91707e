/* A finished history as other checkers' formats can say it: sessions of transactions, keys and
 * values as numbers, and one state that every key starts in. Private to writing histories.
 *
 * Names that are not all unsigned numbers are numbered by their first appearance, from 1. The
 * initial value of a key becomes the format's initial state, so nobody may write it, unless the
 * format can tell. A transaction of unknown outcome that writes becomes a committed one without its
 * reads: it constrains nothing but the reads of what it wrote, and may come last of all. It stays
 * in its session if nothing committed follows it there; else it gets a session of its own, and that
 * it comes after those before it is lost. Lists have no place.
 */
#pragma once

#include "history/index.h"
#include "formats/format.h"
#include "formats/loss.h"

struct plain_position {
    uint32_t transaction, session; /* session: numbered from 0 */
};

struct plain {
    const struct iso_history *history;
    iso_atom *initial; /* by key */
    bool rename_keys, rename_values, rename_tids;
    struct iso_atom_index *values;
    uint32_t value_count;
    struct plain_position *positions; /* session after session, in session order */
    uint32_t position_count, session_count;
};

/* The initial value of each key. The caller frees it. */
iso_atom *plain_initial_values(const struct iso_history *history);

/* An error about a transaction: "PLACE: WHAT, which format F cannot say". */
enum iso_status plain_refuse(const struct iso_history *history, uint32_t transaction,
                             enum iso_format format, const char *what, struct iso_error *error);

/* An error unless all writes are known, and all that they wrote: other formats cannot say that
 * something is not. */
enum iso_status plain_check_known(const struct iso_history *history, enum iso_format format,
                                  struct iso_error *error);

/* Abilities of a format; SIGNED: its numbers end at 2^63 - 1. */
enum { PLAIN_REWRITES_INITIAL = 1, PLAIN_ABORTED = 2, PLAIN_SIGNED = 4 };

/* ISO_BAD_INPUT: lists, or writes of the initial value without PLAIN_REWRITES_INITIAL. Aborted
 * transactions have places only with PLAIN_ABORTED. Counts into `loss`. */
enum iso_status plain_init(struct plain *plain, const struct iso_history *history,
                           enum iso_format format, unsigned abilities,
                           struct iso_history_loss *loss, struct iso_error *error);
void plain_release(struct plain *plain);

uint64_t plain_key(const struct plain *plain, uint32_t operation);
uint64_t plain_tid(const struct plain *plain, uint32_t transaction);

/* The value of an operation; false: it is the initial one. */
bool plain_value(const struct plain *plain, uint32_t operation, uint64_t *number);

/* Reads of transactions that did not commit say nothing. */
bool plain_says(const struct plain *plain, uint32_t transaction, uint32_t operation);

/* True if the place is the first of its session, or the last. */
static inline bool plain_starts_session(const struct plain *plain, uint32_t position)
{
    return position == 0 ||
           plain->positions[position - 1].session != plain->positions[position].session;
}
