/* Functions that put a brief together. Private to explain.
 *
 * Sentences have a format of their own, so that they can be read where they are written:
 *   %a  const struct iso_reported_atom *: a name, or nothing if it is not said
 *   %c  the same, of a transaction: " (session 3, h.jsonl:7, xid 748, LSN 0/19282C0,
 *       2026-01-02T03:04:05.678Z)" as far as that is known, or nothing
 *   %k  the same, of a key: "key x"
 *   %v  const struct iso_reported_value *
 *   %t  const char *: a text of the violation, as it is shown
 *   %s  const char *                             %u  uint64_t
 * and, without an argument: %B "transaction t1", that is blamed; %N its key; %E and %F what was
 * expected and what was found; %O the other transaction.
 */
#pragma once

#include "explain/brief.h"

struct briefing {
    struct iso_brief *brief;
    const struct iso_reported *reported;
    bool is_cell; /* its key is a column of a row */
};

/* Adds to a text, which brief_end closes; its offset is where `text` ended before. */
void brief_put(struct briefing *briefing, const char *format, ...);
uint32_t brief_end(struct briefing *briefing, uint32_t offset);
uint32_t brief_text(struct briefing *briefing, const char *format, ...); /* both */

bool brief_is_named(const struct iso_reported_atom *name);

/* The time line, where the violation says enough for one. */
void brief_draw_line(struct briefing *briefing);
