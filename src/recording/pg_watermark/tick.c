#include "pg_watermark/tick.h"

#include <string.h>

#include "base/memory.h"

void iso_tick_init(struct iso_tick *tick, uint64_t grace_us)
{
    *tick = (struct iso_tick){.grace_us = grace_us};
}

static void forget_prepared(struct iso_tick *tick, uint32_t index)
{
    iso_free(tick->prepared[index].name);
    tick->prepared[index] = tick->prepared[--tick->prepared_count];
}

void iso_tick_release(struct iso_tick *tick)
{
    while (tick->prepared_count)
        forget_prepared(tick, tick->prepared_count - 1);
    ISO_FREE_ALL(tick->prepared, tick->noted, tick->allowed);
    *tick = (struct iso_tick){0};
}

/* Forgets a watermark that was allowed and not sent: it has to be allowed anew. */
void iso_tick_forget(struct iso_tick *tick)
{
    tick->noted_count = 0;
    tick->allowed_count = 0;
    tick->last_allowed = tick->last_sent;
    for (uint32_t p = 0; p < tick->prepared_count; p++)
        if (tick->prepared[p].limit > tick->last_sent)
            tick->prepared[p].limit = tick->last_sent;
}

void iso_tick_validate(const struct iso_tick *tick)
{
    for (uint32_t i = 1; i < tick->noted_count; i++)
        assert(tick->noted[i - 1].clock_us <= tick->noted[i].clock_us &&
               tick->noted[i - 1].xmin <= tick->noted[i].xmin);
    for (uint32_t i = 1; i < tick->allowed_count; i++)
        assert(tick->allowed[i - 1].clock_us <= tick->allowed[i].clock_us &&
               tick->allowed[i - 1].xmin < tick->allowed[i].xmin);
    for (uint32_t i = 0; i < tick->prepared_count; i++)
        assert(tick->prepared[i].limit <= tick->last_allowed);
    assert(tick->last_sent <= tick->last_allowed);
    (void)tick;
}

/* The least limit of those that are prepared now. */
static uint64_t prepared_limit(struct iso_tick *tick, const char *const *names, uint32_t count)
{
    uint64_t limit = UINT64_MAX;
    for (uint32_t p = 0; p < tick->prepared_count; p++)
        tick->prepared[p].is_seen = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t p = 0;
        while (p < tick->prepared_count && strcmp(tick->prepared[p].name, names[i]))
            p++;
        if (p == tick->prepared_count) {
            ISO_GROW(tick->prepared, tick->prepared_count, tick->prepared_capacity);
            tick->prepared[tick->prepared_count++] = (struct iso_tick_prepared){
                iso_copy_text(names[i], strlen(names[i])), tick->last_allowed, false};
        }
        tick->prepared[p].is_seen = true;
    }
    for (uint32_t p = tick->prepared_count; p-- > 0;)
        if (!tick->prepared[p].is_seen)
            forget_prepared(tick, p);
    for (uint32_t p = 0; p < tick->prepared_count; p++)
        limit = tick->prepared[p].limit < limit ? tick->prepared[p].limit : limit;
    return limit;
}

/* Every second round is left out: what stays is as true. */
static void thin_out(struct iso_tick *tick)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tick->noted_count; i += 2)
        tick->noted[kept++] = tick->noted[i];
    tick->noted_count = kept;
}

/* The watermark noted before `until_us`; older notes are forgotten, since transactions that are
 * still open began later. */
static uint64_t noted_before(struct iso_tick *tick, uint64_t until_us)
{
    uint32_t count = 0;
    while (count < tick->noted_count && tick->noted[count].clock_us < until_us)
        count++;
    if (!count)
        return 0;
    uint64_t xmin = tick->noted[count - 1].xmin;
    memmove(tick->noted, tick->noted + count - 1,
            (tick->noted_count - (count - 1)) * sizeof *tick->noted);
    tick->noted_count -= count - 1;
    return xmin;
}

void iso_tick_note(struct iso_tick *tick, uint64_t clock_us, uint64_t xmin, uint64_t oldest_us,
                   const char *const *prepared, uint32_t prepared_count)
{
    const struct iso_tick_round *last =
        tick->noted_count ? &tick->noted[tick->noted_count - 1] : NULL;
    if (last && (clock_us < last->clock_us || xmin < last->xmin))
        iso_tick_forget(tick);
    if (tick->noted_count >= TICK_ROUNDS)
        thin_out(tick);
    ISO_GROW(tick->noted, tick->noted_count, tick->noted_capacity);
    tick->noted[tick->noted_count++] = (struct iso_tick_round){clock_us, xmin};
    uint64_t limit = prepared_limit(tick, prepared, prepared_count);
    uint64_t allowed = noted_before(tick, oldest_us ? oldest_us : UINT64_MAX);
    allowed = limit < allowed ? limit : allowed;
    if (allowed <= tick->last_allowed)
        return;
    tick->last_allowed = allowed;
    ISO_GROW(tick->allowed, tick->allowed_count, tick->allowed_capacity);
    tick->allowed[tick->allowed_count++] = (struct iso_tick_round){clock_us, allowed};
}

bool iso_tick_due(struct iso_tick *tick, uint64_t clock_us, uint64_t *watermark)
{
    uint32_t due = 0;
    while (due < tick->allowed_count && clock_us >= tick->allowed[due].clock_us &&
           clock_us - tick->allowed[due].clock_us >= tick->grace_us)
        due++;
    if (!due)
        return false;
    *watermark = tick->allowed[due - 1].xmin;
    tick->last_sent = *watermark;
    memmove(tick->allowed, tick->allowed + due,
            (tick->allowed_count - due) * sizeof *tick->allowed);
    tick->allowed_count -= due;
    return true;
}
