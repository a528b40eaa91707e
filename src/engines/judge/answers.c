/* Queries of which nothing is asked of an order beforehand (rowsets/imply_any.c): aggregates, rows
 * without keys, commits that wrote a part of what a condition asks for. An order that was found may
 * explain them all the same. At snapshot isolation there are many: a transaction may begin behind
 * any commit where it reads what it read, and each of these places is tried for who asked.
 *
 *     | x = 1 | y = 2 |       | z = 3 | x = 4 |       who read x = 1 and y = 2, and counted rows,
 *                     ^ begin         ^               may begin at either mark
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/radix.h"
#include "base/sorted.h"
#include "judge/judge_private.h"
#include "rowsets/rowsets.h"

enum { MOST_PLACES = 1 << 12 };

struct places {
    const struct iso_history *history;
    uint64_t *moments;         /* where each transaction begins, and is committed */
    uint64_t *commits;         /* when any is committed, ascending; the first is before all */
    struct iso_radix versions; /* key << 32 | commit, ascending, and the operations */
    uint32_t commit_count, version_count;
    uint32_t *earlier; /* by transaction: the one before it in its session, or ISO_NONE */
    uint32_t *written; /* by key: the last of the looks that found the transaction's own write */
    uint32_t looks;
    struct place {
        uint32_t next, end; /* of `commits`: those that it has not been tried behind */
        bool is_known;
    } * of; /* by transaction */
};

static bool is_committed(const struct iso_history *history, uint32_t transaction)
{
    return iso_status_of(history, transaction) == ISO_COMMITTED;
}

static uint64_t *commit_of(const struct places *places, uint32_t transaction)
{
    return &places->moments[2 * (size_t)transaction + 1];
}

/* Positions in the order; commits lie behind the begins beside them. False: it has not all of the
 * committed transactions. */
static bool find_moments(const struct iso_history *history, const struct iso_evidence *evidence,
                         uint64_t *moments)
{
    bool is_one = iso_level_is_one_event(evidence->level), has_all = true;
    for (uint32_t i = 0; i < evidence->event_count; i++) {
        uint32_t event = evidence->events[i];
        moments[event] = 2 * (uint64_t)i + 1 + event % 2;
        if (is_one)
            moments[event + 1] = 2 * (uint64_t)i + 2;
    }
    for (uint32_t t = 0; t < history->txns.count; t++)
        has_all &= !is_committed(history, t) || moments[2 * (size_t)t + 1];
    return has_all;
}

/* ---- other begins ---- */

static void find_versions(struct places *places)
{
    const struct iso_history *history = places->history;
    struct iso_radix versions = iso_radix_allocate(history->ops.count);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (!is_committed(history, t))
            continue;
        places->commits[places->commit_count++] = *commit_of(places, t);
        ISO_EACH(o, history->txns.first_op, t) {
            if (!iso_kind_writes(history->ops.kind[o]))
                continue;
            versions.keys[places->version_count] =
                (uint64_t)history->ops.key[o] << 32 | *commit_of(places, t);
            versions.payloads[places->version_count++] = o;
        }
    }
    qsort(places->commits, places->commit_count, sizeof *places->commits, iso_order_u64);
    places->versions = iso_radix_sorted(versions, places->version_count);
}

static void open_places(struct places *places)
{
    const struct iso_history *history = places->history;
    uint32_t count = history->txns.count;
    places->commits = iso_allocate((count + (size_t)1) * sizeof *places->commits);
    places->commits[places->commit_count++] = 0;
    places->earlier = iso_allocate((count + (size_t)1) * sizeof *places->earlier);
    places->written = iso_allocate_zeroed(history->keys.count + (size_t)1, sizeof(uint32_t));
    places->of = iso_allocate_zeroed(count + (size_t)1, sizeof *places->of);
    for (uint32_t s = 0; s < history->sessions.count; s++) {
        uint32_t earlier = ISO_NONE;
        for (uint32_t i = history->sessions.first[s]; i < history->sessions.first[s + 1]; i++) {
            uint32_t t = history->sessions.order[i];
            places->earlier[t] = earlier;
            earlier = is_committed(history, t) ? t : earlier;
        }
    }
    find_versions(places);
}

/* The key's newest version as of a moment; ISO_NONE: there is none. */
static uint32_t version_at(const struct places *places, uint32_t key, uint64_t moment)
{
    uint32_t from = 0, to = places->version_count;
    uint64_t wanted = (uint64_t)key << 32 | moment;
    ISO_BISECT(from, to, middle, places->versions.keys[middle] <= wanted);
    return from && places->versions.keys[from - 1] >> 32 == key ? from - 1 : ISO_NONE;
}

/* Whether the operation reads behind that commit what it read. */
static bool reads_alike(const struct places *places, uint32_t operation, uint64_t begin,
                        uint64_t moment)
{
    const struct iso_history *history = places->history;
    uint32_t key = history->ops.key[operation], version = version_at(places, key, moment);
    if (iso_kind_of(history, operation) != ISO_READ)
        return version == version_at(places, key, begin);
    iso_atom found =
        version == ISO_NONE ? ISO_ABSENT : history->ops.value[places->versions.payloads[version]];
    return found == history->ops.value[operation];
}

static bool may_begin(struct places *places, uint32_t transaction, uint64_t moment)
{
    const struct iso_history *history = places->history;
    uint64_t begin = places->moments[2 * (size_t)transaction];
    bool fits = true;
    places->looks++;
    for (uint32_t o = history->txns.first_op[transaction];
         o < history->txns.first_op[transaction + 1] && fits; o++) {
        uint32_t key = history->ops.key[o];
        if (iso_kind_writes(history->ops.kind[o]))
            places->written[key] = places->looks;
        else if (places->written[key] != places->looks)
            fits = reads_alike(places, o, begin, moment);
    }
    return fits;
}

/* Behind its session's transaction before, and the commits whose versions it wrote over; in front
 * of its own commit. */
static void find_places(const struct places *places, uint32_t transaction, struct place *place)
{
    const struct iso_history *history = places->history;
    uint64_t low = 0, begin = places->moments[2 * (size_t)transaction];
    uint32_t earlier = places->earlier[transaction], end = places->commit_count;
    if (earlier != ISO_NONE)
        low = *commit_of(places, earlier);
    ISO_EACH(o, history->txns.first_op, transaction) {
        uint32_t version = iso_kind_writes(history->ops.kind[o])
                               ? version_at(places, history->ops.key[o], begin)
                               : ISO_NONE;
        if (version != ISO_NONE && (uint32_t)places->versions.keys[version] > low)
            low = (uint32_t)places->versions.keys[version];
    }
    place->is_known = true;
    place->next = 0;
    ISO_BISECT(place->next, end, middle, places->commits[middle] < low);
    place->end = place->next;
    end = places->commit_count;
    ISO_BISECT(place->end, end, other, places->commits[other] < *commit_of(places, transaction));
    if (place->end - place->next > MOST_PLACES)
        place->next = place->end - MOST_PLACES;
}

static bool move(void *context, uint32_t transaction)
{
    struct places *places = context;
    if (!places->commits)
        open_places(places);
    struct place *place = &places->of[transaction];
    if (!place->is_known)
        find_places(places, transaction, place);
    while (place->next < place->end) {
        uint64_t moment = places->commits[place->next++];
        if (!may_begin(places, transaction, moment))
            continue;
        places->moments[2 * (size_t)transaction] = moment;
        return true;
    }
    return false;
}

/* Begins that were moved stand behind the commits that they see. */
static void rewrite(struct iso_evidence *evidence, const uint64_t *moments)
{
    struct iso_radix items = iso_radix_allocate(evidence->event_count);
    for (uint32_t i = 0; i < evidence->event_count; i++) {
        uint32_t event = evidence->events[i];
        items.keys[i] = 2 * moments[event] + !(event % 2);
        items.payloads[i] = event;
    }
    uint32_t *events = iso_radix_order(items, evidence->event_count);
    memcpy(evidence->events, events, evidence->event_count * sizeof *events);
    iso_free(events);
}

/* ---- all of it ---- */

static bool is_of_snapshots(const struct iso_history *history, const struct iso_evidence *evidence)
{
    return history->clock == ISO_CLOCK_NONE && evidence->accepts && evidence->level != ISO_PC &&
           !iso_level_judged_by(evidence->level, ISO_BY_WEAK);
}

static bool explain(const struct iso_history *history, const struct iso_evidence *evidence,
                    struct places *places, bool may_move)
{
    struct iso_rowsets_options known;
    judge_know_columns(&known);
    places->history = history;
    places->moments =
        iso_allocate_zeroed(2 * (size_t)history->txns.count + 1, sizeof *places->moments);
    return find_moments(history, evidence, places->moments) &&
           iso_rowsets_explained(history, &known, places->moments, may_move ? move : NULL, places);
}

static void close_places(struct places *places)
{
    ISO_FREE_ALL(places->moments, places->commits, places->versions.keys, places->versions.payloads,
                 places->earlier, places->written, places->of);
}

bool iso_judge_order_answers(const struct iso_history *history, const struct iso_evidence *evidence)
{
    struct places places = {0};
    bool answers = is_of_snapshots(history, evidence) && explain(history, evidence, &places, false);
    close_places(&places);
    return answers;
}

bool judge_order_answers(const struct iso_history *history, struct iso_evidence *evidence)
{
    struct places places = {0};
    bool is_free = (evidence->level == ISO_SI || evidence->level == ISO_ADYA_SI) &&
                   !history->initial.count && history->initial.other_value == ISO_ABSENT,
         answers =
             is_of_snapshots(history, evidence) && explain(history, evidence, &places, is_free);
    if (answers && is_free)
        rewrite(evidence, places.moments);
    close_places(&places);
    return answers;
}
