/* Functions that build an argument. Private to explain.
 *
 * Sentences are put together by a format of their own, so that they can be read where they are
 * written:
 *   %T  uint32_t transaction: "T2", who thereby becomes a party
 *   %P  const struct iso_party *: the same
 *   %K  uint32_t key: "key x"                    %k  uint32_t key: "x"
 *   %A  iso_atom                                 %V  uint32_t operation: its value
 *   %C  const struct iso_claim_value *           %M  uint64_t timestamp
 *   %O  uint32_t transaction, operation: "operation 2"
 *   %W  uint32_t operation: "wrote x = 3"
 *   %s  const char *                             %u  uint64_t
 * and, of the claim, without an argument: %B the transaction that is blamed; %N the name of its
 * key; %E and %F what was expected and what was found; %G who wrote what was found, and %H when
 * that committed.
 */
#pragma once

#include "explain/argument.h"
#include "explain/words.h"

/* The offset of a text of its own. */
uint32_t argue_text(struct iso_argument *argument, const char *format, ...);
void argue_title(struct iso_argument *argument, const char *format, ...);
void argue_step(struct iso_argument *argument, const char *format, ...);

/* A row of the time line, of which the caller fills in all but the texts; `when_text` is needed
 * only of an untimed one. */
void argue_row(struct iso_argument *argument, struct iso_argument_row row, const char *format, ...);

/* A row at a moment; `point`: what a picture says of it, or 0. */
static inline struct iso_argument_row argue_at(uint64_t when, int tie, enum iso_mark mark,
                                               uint32_t transaction, uint32_t point)
{
    return (struct iso_argument_row){
        .when = when, .tie = tie, .mark = mark, .transaction = transaction, .point = point};
}

/* For a row's `point`: what a write left there, "8", "deleted", "+ 3". */
uint32_t argue_written(struct iso_argument *argument, uint32_t write);
void argue_edge(struct iso_argument *argument, uint32_t from, uint32_t to, const char *type,
                const char *format, ...);

/* Writes the value that an operation read or wrote. */
void argue_put_operation_value(struct iso_text *text, const struct iso_history *history,
                               uint32_t operation);
void argue_put_claim_value(struct iso_text *text, const struct iso_argument *argument,
                           const struct iso_claim_value *value);

/* The writer's first write of what a read found (of a list: of one of its elements); ISO_NONE:
 * none. */
uint32_t argue_write_found(const struct iso_history *history, uint32_t read, uint32_t writer);

/* What the two sides of a change stream say, by the kind of their contradiction: in sentences, and
 * at the time line. A brief has the same sentences; they know %B, %N, %E and %F only. */
struct explain_change {
    const char *kind, *first, *second, *expected, *actual;
};
const struct explain_change *explain_change_of(const char *kind);

/* The five ways to argue; a read or an own one may be about a query as a whole. */
bool argue_is_query(const struct iso_argument *argument);
void argue_query(struct iso_argument *argument);
void argue_read(struct iso_argument *argument);
void argue_own(struct iso_argument *argument);
void argue_times(struct iso_argument *argument);
void argue_changes(struct iso_argument *argument);
void argue_order(struct iso_argument *argument);
