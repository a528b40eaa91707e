/* Watermarks of a PostgreSQL that nobody else has to help with: which snapshots are over, by what
 * the server says of its transactions.
 *
 * A watermark W promises that no record will arrive whose snapshot has an xmin below W. The xmin of
 * new snapshots never goes back, so in each *round* the caller's own snapshot gives an xmin x that
 * all later snapshots keep to, and a time c at which it was noted. Who has an older snapshot began
 * before c:
 *
 *     it is open             xact_start says since when: only what was noted before the oldest of
 *                            these is allowed. (Its backend_xmin does not: between two statements
 *                            at READ COMMITTED there is none.)
 *     it is prepared         nothing says since when: nothing beyond what was allowed in the round
 *                            before it was first seen, when it was open still, or had not begun
 *     it is over             its record arrives within the grace
 *
 * So what a round allows is sent a grace later, and never goes back.
 *
 * Time is passed in, of the server's clock. If that goes back, or the server was away, what was
 * noted is forgotten, and nothing is sent again until it was seen anew. Memory: 16 bytes a round
 * since the oldest open transaction began, at most TICK_ROUNDS of them; beyond that rounds are
 * thinned out, which makes watermarks late and not wrong. Ownership: the struct owns its lists.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TICK_ROUNDS = 65536 };

struct iso_tick_round {
    uint64_t clock_us, xmin;
};

struct iso_tick_prepared {
    char *name;
    uint64_t limit; /* what was allowed before it was first seen */
    bool is_seen;   /* in this round */
};

struct iso_tick {
    uint64_t grace_us;
    struct iso_tick_round *noted; /* by clock */
    uint32_t noted_count, noted_capacity;
    struct iso_tick_round *allowed; /* not sent yet: when it was allowed, and what */
    uint32_t allowed_count, allowed_capacity;
    struct iso_tick_prepared *prepared;
    uint32_t prepared_count, prepared_capacity;
    uint64_t last_allowed, last_sent;
};

void iso_tick_init(struct iso_tick *tick, uint64_t grace_us);
void iso_tick_release(struct iso_tick *tick);

/* One round. `oldest_us`: xact_start of the oldest open transaction, 0 for none. `prepared`: names
 * of those that are prepared. */
void iso_tick_note(struct iso_tick *tick, uint64_t clock_us, uint64_t xmin, uint64_t oldest_us,
                   const char *const *prepared, uint32_t prepared_count);

/* The watermark that may be sent now, if it is larger than the last one. */
bool iso_tick_due(struct iso_tick *tick, uint64_t clock_us, uint64_t *watermark);

/* The server was away: times noted there compare with nothing any more. */
void iso_tick_forget(struct iso_tick *tick);

void iso_tick_validate(const struct iso_tick *tick);
