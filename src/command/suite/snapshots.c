#include "suite/snapshots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sorted.h"
#include "suite/slot.h"

static bool are_equal(const struct suite_snapshots *snapshots, const struct suite_snapshot *one,
                      const struct suite_snapshot *other)
{
    if (one->xmin != other->xmin || one->xmax != other->xmax ||
        one->end - one->first != other->end - other->first)
        return false;
    for (uint32_t i = 0; i < one->end - one->first; i++)
        if (snapshots->running[one->first + i] != snapshots->running[other->first + i])
            return false;
    return true;
}

/* False: the text is no snapshot. What is running is added. */
static bool read_snapshot(struct suite_snapshots *snapshots, const char *text,
                          struct suite_snapshot *snapshot)
{
    char *at;
    snapshot->xmin = strtoull(text, &at, 10);
    if (*at != ':')
        return false;
    snapshot->xmax = strtoull(at + 1, &at, 10);
    if (*at != ':')
        return false;
    while (*++at) {
        ISO_GROW(snapshots->running, snapshots->running_count, snapshots->running_capacity);
        snapshots->running[snapshots->running_count++] = strtoull(at, &at, 10);
        if (*at != ',')
            return !*at;
    }
    return true;
}

/* What is running at the upper end is as if it had not begun. */
static void trim(struct suite_snapshots *snapshots, struct suite_snapshot *snapshot)
{
    while (snapshot->end > snapshot->first &&
           snapshots->running[snapshot->end - 1] + 1 == snapshot->xmax) {
        snapshot->end--;
        snapshot->xmax--;
    }
    snapshot->xmin =
        snapshot->end > snapshot->first ? snapshots->running[snapshot->first] : snapshot->xmax;
}

void suite_snapshots_take(struct suite_snapshots *snapshots, const char *text, uint64_t sent,
                          uint64_t answered)
{
    struct suite_snapshot next = {
        .answered = answered, .sent = sent, .first = snapshots->running_count};
    bool is_one = read_snapshot(snapshots, text, &next);
    next.end = snapshots->running_count;
    trim(snapshots, &next);
    snapshots->running_count = next.end;
    struct suite_snapshot *last = snapshots->count ? &snapshots->list[snapshots->count - 1] : NULL;
    bool is_same = is_one && last && are_equal(snapshots, last, &next);
    if (is_same)
        last->sent = sent;
    if (!is_one || is_same) {
        snapshots->running_count = next.first;
        return;
    }
    ISO_GROW(snapshots->list, snapshots->count, snapshots->capacity);
    snapshots->list[snapshots->count++] = next;
}

enum iso_status suite_snapshots_ask(struct suite_snapshots *snapshots,
                                    struct iso_database *database, struct iso_error *error)
{
    static const char all[] = "SELECT pg_current_snapshot(), pg_current_wal_flush_lsn() - '0/0', "
                              "pg_current_wal_insert_lsn() - '0/0'";
    uint64_t sent = (uint64_t)iso_clock_nanoseconds();
    if (suite_ask(database, all, error) != ISO_OK)
        return error->status;
    suite_snapshots_take(snapshots, iso_database_value(database, 0, 0), sent,
                         (uint64_t)iso_clock_nanoseconds());
    snapshots->flushed = strtoull(iso_database_value(database, 0, 1), NULL, 10);
    snapshots->inserted = strtoull(iso_database_value(database, 0, 2), NULL, 10);
    snapshots->asked = sent;
    return ISO_OK;
}

void suite_snapshots_put(const struct suite_snapshots *snapshots, uint32_t number,
                         struct iso_text *line)
{
    const struct suite_snapshot *snapshot = &snapshots->list[number];
    iso_text_format(line, "%" PRIu64 " %" PRIu64 " %" PRIu64 ":%" PRIu64 ":", snapshot->sent,
                    snapshot->answered, snapshot->xmin, snapshot->xmax);
    for (uint32_t i = snapshot->first; i < snapshot->end; i++)
        iso_text_format(line, "%s%" PRIu64, i > snapshot->first ? "," : "", snapshots->running[i]);
}

void suite_snapshots_read(struct suite_snapshots *snapshots, const char *line)
{
    char *at;
    uint64_t sent = strtoull(line, &at, 10), answered = strtoull(at, &at, 10);
    suite_snapshots_take(snapshots, at + strspn(at, " "), sent, answered);
}

static bool sees(const struct suite_snapshots *snapshots, const struct suite_snapshot *snapshot,
                 uint64_t xid)
{
    for (uint32_t i = snapshot->first; i < snapshot->end; i++)
        if (snapshots->running[i] == xid)
            return false;
    return xid < snapshot->xmax;
}

/* The xid with its epoch, which is that of the last snapshot or the one before. */
static uint64_t whole_of(const struct suite_snapshots *snapshots, uint32_t xid)
{
    uint64_t last = snapshots->count ? snapshots->list[snapshots->count - 1].xmax : 0,
             whole = last >> 32 << 32 | xid;
    return whole > last + (UINT64_C(1) << 31) && whole >> 32 ? whole - (UINT64_C(1) << 32) : whole;
}

bool suite_snapshots_see(const struct suite_snapshots *snapshots, uint32_t count, uint32_t xid)
{
    return count && sees(snapshots, &snapshots->list[count - 1], whole_of(snapshots, xid));
}

void suite_snapshots_find(const struct suite_snapshots *snapshots, uint32_t xid,
                          uint64_t *visible_by, uint64_t *hidden_until)
{
    uint32_t low = 0, high = snapshots->count;
    uint64_t whole = whole_of(snapshots, xid);
    *visible_by = *hidden_until = 0;
    ISO_BISECT(low, high, middle, !sees(snapshots, &snapshots->list[middle], whole));
    if (low < snapshots->count)
        *visible_by = snapshots->list[low].answered;
    if (low)
        *hidden_until = snapshots->list[low - 1].sent;
}

uint64_t suite_snapshots_hash(const struct suite_snapshots *snapshots, uint32_t number)
{
    const struct suite_snapshot *snapshot = &snapshots->list[number];
    uint64_t hash = iso_hash_number(snapshot->xmax);
    for (uint32_t i = snapshot->first; i < snapshot->end; i++)
        hash = iso_hash_number(hash + snapshots->running[i]);
    return hash ? hash : 1;
}

uint64_t suite_snapshots_around(const struct suite_snapshots *snapshots, uint64_t sent,
                                uint64_t answered)
{
    uint32_t low = 0, high = snapshots->count;
    ISO_BISECT(low, high, middle, snapshots->list[middle].answered <= sent);
    bool is_one = sent && low && answered <= snapshots->list[low - 1].sent;
    return is_one ? suite_snapshots_hash(snapshots, low - 1) : 0;
}

void suite_snapshots_release(struct suite_snapshots *snapshots)
{
    ISO_FREE_ALL(snapshots->list, snapshots->running);
}
