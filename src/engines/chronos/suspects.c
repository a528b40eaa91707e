/* EXT: what the sweep left as suspects becomes violations with kind and writers, or reads that stay
 * unjudged.
 *
 * Suspects of one (transaction, key) are one instance: the first that no unknown transaction
 * excuses is reported; if all are excused, the pair is one unjudged read. Cells come last: a wrong
 * read of the row, at the same moment, excuses them.
 */
#include "base/cell_key.h"
#include "base/radix.h"
#include "base/sorted.h"
#include "chronos/explain_private.h"
#include "chronos/gaps.h"
#include "chronos/version_index.h"
#include "history/index.h"
#include "verdict/unjudged.h"

void chronos_add_suspect(struct chronos_shard *shard, const struct chronos_suspect *suspect)
{
    ISO_PUSH_COLUMN(shard->suspects, shard->suspect_count, shard->suspect_capacity, *suspect);
}

/* ---- what both registers and lists ask ---- */

bool explain_is_visible(const struct chronos *check, const struct chronos_suspect *suspect,
                        uint32_t writer)
{
    uint64_t bound = suspect->bound
                         ? suspect->bound
                         : chronos_visible_bound(check, suspect->transaction, suspect->operation);
    return check->history->txns.cts[writer] < bound;
}

/* At SER and under a lock it must have started below cts, else below ots; of either number an
 * exclusive bound. */
static uint64_t start_limit(const struct chronos *check, const struct chronos_suspect *suspect)
{
    const struct iso_history *history = check->history;
    if (suspect->bound)
        return suspect->bound - 1;
    if (!check->si || chronos_is_lock(history->ops.kind[suspect->operation]))
        return history->txns.cts[suspect->transaction];
    return chronos_bound(history, suspect->transaction, suspect->operation) - 1;
}

bool explain_is_excused(const struct chronos *check, const struct chronos_suspect *suspect,
                        struct writer_span unknown)
{
    if (!unknown.count)
        return false;
    uint32_t first = unknown.transactions[0]; /* it started before the others */
    return !(check->history->txns.flags[first] & ISO_HAS_STS) ||
           check->history->txns.sts[first] < start_limit(check, suspect);
}

uint32_t explain_smallest(struct writer_span span, uint32_t but)
{
    for (uint32_t i = 0; i < span.count; i++) {
        if (span.transactions[i] != but)
            return span.transactions[i];
    }
    return ISO_NONE;
}

uint32_t explain_smaller(const struct iso_history *history, uint32_t left, uint32_t right)
{
    if (left == ISO_NONE || right == ISO_NONE)
        return left == ISO_NONE ? right : left;
    return iso_atom_compare(&history->atoms, history->txns.tid[left], history->txns.tid[right]) <= 0
               ? left
               : right;
}

/* The smallest tid of those who wrote the pair and whose outcome is unknown. */
uint32_t explain_smallest_unknown(const struct writers *writers, uint32_t key, iso_atom value)
{
    struct writer_span span = writers_of(writers, key, value, WRITER_UNKNOWN);
    uint32_t found =
        explain_smallest(writers_of(writers, key, value, WRITER_UNKNOWN_LOST), ISO_NONE);
    for (uint32_t i = 0; i < span.count; i++)
        found = explain_smaller(writers->history, found, span.transactions[i]);
    return found;
}

/* ---- registers ---- */

/* How many of the versions, which stand in their order, are visible. */
static uint32_t count_visible(const struct chronos *check, const struct chronos_suspect *suspect,
                              struct writer_span versions)
{
    uint32_t low = 0, high = versions.count;
    ISO_BISECT(low, high, middle,
               explain_is_visible(check, suspect, versions.transactions[middle]));
    return low;
}

static uint32_t last_but(struct writer_span versions, uint32_t count, uint32_t but)
{
    while (count && versions.transactions[count - 1] == but)
        count--;
    return count ? versions.transactions[count - 1] : ISO_NONE;
}

static void explain_register(const struct chronos *check, const struct writers *writers,
                             const struct chronos_suspect *suspect, struct iso_violation *violation)
{
    uint32_t key = violation->key, reader = suspect->transaction;
    iso_atom value = check->history->ops.value[suspect->operation];
    struct writer_span versions = writers_of(writers, key, value, WRITER_FINAL);
    uint32_t aborted = explain_smallest(writers_of(writers, key, value, WRITER_ABORTED), reader);
    uint32_t intermediate =
        explain_smallest(writers_of(writers, key, value, WRITER_INTERMEDIATE), reader);
    uint32_t visible = count_visible(check, suspect, versions);
    struct writer_span later = {versions.transactions + visible, versions.count - visible};
    uint32_t future = explain_smallest(later, reader), stale = last_but(versions, visible, reader);
    bool committed = intermediate != ISO_NONE || future != ISO_NONE || stale != ISO_NONE;
    if (aborted != ISO_NONE) {
        violation->kind = ISO_UNCOMMITTED;
        violation->writer_actual = aborted;
    } else if (!committed && value != ISO_ABSENT && value != chronos_initial_value(check, key)) {
        violation->kind = ISO_UNCOMMITTED;
        violation->writer_actual = explain_smallest_unknown(writers, key, value);
    } else if (intermediate != ISO_NONE) {
        violation->kind = ISO_INTERMEDIATE;
        violation->writer_actual = intermediate;
    } else if (future != ISO_NONE) {
        violation->kind = ISO_FUTURE;
        violation->writer_actual = future;
    } else {
        violation->kind = value == ISO_ABSENT ? ISO_ABSENT_READ : ISO_STALE;
        violation->writer_actual = stale;
    }
    violation->expected = iso_value_atom(suspect->expected);
    violation->actual = iso_value_atom(value);
}

static bool register_is_excused(const struct chronos *check, const struct writers *writers,
                                const struct chronos_suspect *suspect, enum iso_unjudged *reason)
{
    const struct iso_history *history = check->history;
    const struct iso_atoms *atoms = &history->atoms;
    bool unknown = iso_value_is_unknown(atoms, suspect->expected);
    *reason = unknown ? iso_value_unjudged(atoms, suspect->expected) : ISO_UNJUDGED_SCHEMA;
    if (unknown ||
        (history->whole_rows && iso_rows_cannot_compare(atoms, suspect->expected, atoms,
                                                        history->ops.value[suspect->operation])))
        return true;
    *reason = ISO_UNJUDGED_UNKNOWN_WRITER;
    return explain_is_excused(check, suspect,
                              writers_of(writers, history->ops.key[suspect->operation],
                                         history->ops.value[suspect->operation], WRITER_UNKNOWN));
}

/* Where positions take the place of timestamps, two writers that share one have no order: at the
 * levels that an index judges. */
static bool list_is_excused(const struct chronos *check, const struct writers *writers,
                            const struct chronos_suspect *suspect, enum iso_unjudged *reason)
{
    *reason = ISO_UNJUDGED_VERSION_ORDER;
    if (check->index &&
        chronos_list_is_tied(check->index, check->history->ops.key[suspect->operation]))
        return true;
    *reason = ISO_UNJUDGED_UNKNOWN_WRITER;
    return explain_list_is_excused(check, writers, suspect);
}

static bool doubt_excuses(const struct chronos_suspect *suspect, enum iso_unjudged *reason)
{
    *reason =
        suspect->doubt == CHRONOS_TIED ? ISO_UNJUDGED_VERSION_ORDER : ISO_UNJUDGED_REPEATED_VALUE;
    return true;
}

/* ---- rows and their cells ---- */

/* Whether it is a cell's key; `row`: the number of its row's, or ISO_NONE. */
static bool is_cell(const struct iso_history *history, uint32_t key, uint32_t *row)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text text, name;
    iso_atom atom;
    text.at = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &text.length);
    *row = ISO_NONE;
    if (!iso_cell_key_row(text, &name))
        return false;
    if (iso_atoms_find(&history->atoms, name.at, name.length, &atom))
        *row = iso_atom_index_find(history->keys.index, atom);
    return true;
}

bool chronos_suspects_cells(const struct chronos_shard *shard)
{
    uint32_t row;
    for (uint32_t i = 0; i < shard->suspect_count; i++)
        if (is_cell(shard->history, shard->history->ops.key[shard->suspects[i].operation], &row))
            return true;
    return false;
}

/* Below SI a read has no moment that is said beforehand: all of a transaction count as one. */
static uint64_t moment_of(const struct chronos *check, const struct chronos_suspect *suspect)
{
    return check->index ? 0
                        : chronos_visible_bound(check, suspect->transaction, suspect->operation);
}

static void note_wrong(struct chronos_shard *shard, const struct chronos_suspect *suspect)
{
    ISO_PUSH(shard->wrong, shard->wrong_count, shard->wrong_capacity,
             (struct chronos_wrong){shard->history->ops.key[suspect->operation],
                                    moment_of(shard->check, suspect)});
}

static bool row_is_wrong(const struct chronos_shard *shard, uint32_t row,
                         const struct chronos_suspect *suspect)
{
    uint32_t low = 0, high = shard->wrong_count;
    if (row == ISO_NONE)
        return false;
    ISO_BISECT(low, high, middle, shard->wrong[middle].key < row);
    for (; low < shard->wrong_count && shard->wrong[low].key == row; low++)
        if (shard->wrong[low].moment == moment_of(shard->check, suspect))
            return true;
    return false;
}

/* ---- all suspects ---- */

/* The moments as positions of the history that was given. */
static void give_back(const struct chronos_gaps *gaps, struct iso_violation *violation)
{
    violation->first_moment = chronos_gaps_back(gaps, violation->first_moment);
    if (violation->last_moment != UINT64_MAX)
        violation->last_moment = chronos_gaps_back(gaps, violation->last_moment);
}

static void report_suspect(struct chronos_shard *shard, const struct writers *writers,
                           const struct chronos_suspect *suspect)
{
    struct iso_violation violation = iso_violation_of(ISO_EXT, suspect->transaction);
    violation.key = shard->history->ops.key[suspect->operation];
    violation.operation = suspect->operation;
    violation.writer_expected = suspect->writer;
    if (suspect->by_messages) {
        violation.has_moments = true;
        violation.first_moment = suspect->first_moment;
        violation.last_moment = suspect->last_moment;
    } else if (chronos_has_moments(shard->verdict->level)) {
        violation.has_moments = true;
        violation.first_moment = suspect->look ? suspect->look - 1 : 0;
        violation.last_moment = suspect->bound == UINT64_MAX ? UINT64_MAX : suspect->bound - 1;
        if (shard->check->gaps)
            give_back(shard->check->gaps, &violation);
    }
    if (!iso_verdict_keeps(shard->verdict, &violation)) /* only counted */
        violation.kind = ISO_KIND_NONE;
    else if (suspect->prefix == ISO_NONE)
        explain_register(shard->check, writers, suspect, &violation);
    else
        explain_list(shard, writers, suspect, &violation);
    iso_verdict_add(shard->verdict, &violation);
}

/* Suspects of one transaction and key, in the order of their operations. */
static void decide_suspect(struct chronos_shard *shard, const struct writers *writers,
                           const uint32_t *suspects, uint32_t count, bool of_cell, uint32_t row)
{
    const struct chronos_suspect *wrong = NULL;
    enum iso_unjudged reason = ISO_UNJUDGED_UNKNOWN_WRITER, first = ISO_UNJUDGED_REASONS;
    for (uint32_t i = 0; i < count; i++) {
        const struct chronos_suspect *suspect = &shard->suspects[suspects[i]];
        bool excused = suspect->doubt != CHRONOS_WRONG ? doubt_excuses(suspect, &reason)
                       : suspect->prefix == ISO_NONE
                           ? register_is_excused(shard->check, writers, suspect, &reason)
                           : list_is_excused(shard->check, writers, suspect, &reason);
        if (!excused && row_is_wrong(shard, row, suspect)) {
            excused = true;
            reason = ISO_UNJUDGED_WRONG_ROW;
        }
        if (excused)
            shard->verdict->reads_judged--;
        else if (!wrong)
            wrong = suspect;
        if (excused && first == ISO_UNJUDGED_REASONS)
            first = reason;
        if (!excused && !of_cell)
            note_wrong(shard, suspect);
    }
    if (count)
        ISO_LOG(chronos, &shard->history->atoms,
                shard->history->txns.tid[shard->suspects[suspects[0]].transaction],
                "%" PRIu32 " suspect reads of a key: %s", count,
                wrong ? "a violation" : "each may come from a writer of unknown outcome");
    if (wrong) {
        report_suspect(shard, writers, wrong);
        return;
    }
    shard->verdict->reads_unjudged++;
    shard->verdict->unjudged[first]++;
}

/* Suspects `order[0..count)`, all of one transaction: those of cells, or all others. */
static bool settle_some(struct chronos_shard *shard, const struct writers *writers,
                        const uint32_t *order, uint32_t count, bool of_cells)
{
    bool left = false;
    for (uint32_t i = 0, end; i < count; i = end) {
        uint32_t key = chronos_key_of(shard->sorted[i]), row;
        for (end = i; end < count && chronos_key_of(shard->sorted[end]) == key; end++)
            shard->picked[end] = order[chronos_operation_of(shard->sorted[end])];
        if (is_cell(shard->history, key, &row) == of_cells)
            decide_suspect(shard, writers, shard->picked + i, end - i, of_cells, row);
        else
            left = true;
    }
    return left;
}

static void settle_transaction(struct chronos_shard *shard, const struct writers *writers,
                               const uint32_t *order, uint32_t count)
{
    const uint32_t *keys = shard->history->ops.key;
    for (uint32_t i = 0; i < count; i++)
        shard->sorted[i] = (uint64_t)keys[shard->suspects[order[i]].operation] << 32 | i;
    chronos_sort_numbers(shard->sorted, count);
    shard->wrong_count = 0;
    if (settle_some(shard, writers, order, count, false))
        settle_some(shard, writers, order, count, true);
}

/* The suspects' indices by operation, hence by transaction. */
static uint32_t *sort_suspects(const struct chronos_shard *shard)
{
    uint32_t count = shard->suspect_count;
    struct iso_radix items = iso_radix_allocate(count);
    for (uint32_t i = 0; i < count; i++) {
        items.keys[i] = shard->suspects[i].operation;
        items.payloads[i] = i;
    }
    return iso_radix_order(items, count);
}

void chronos_explain(struct chronos_shard *shard)
{
    const struct iso_history *history = shard->history;
    if (!shard->suspect_count)
        return;
    struct writers writers;
    writers_init(&writers, history);
    for (uint32_t i = 0; i < shard->suspect_count; i++) {
        const struct chronos_suspect *suspect = &shard->suspects[i];
        if (suspect->prefix == ISO_NONE)
            writers_need(&writers, history->ops.key[suspect->operation],
                         history->ops.value[suspect->operation]);
        else
            explain_list_need(&writers, suspect);
    }
    writers_find(&writers, shard);
    uint32_t *order = sort_suspects(shard);
    for (uint32_t i = 0, end; i < shard->suspect_count; i = end) {
        uint32_t transaction = shard->suspects[order[i]].transaction;
        for (end = i + 1;
             end < shard->suspect_count && shard->suspects[order[end]].transaction == transaction;)
            end++;
        settle_transaction(shard, &writers, order + i, end - i);
    }
    ISO_FREE_ALL(order, shard->wrong);
    shard->wrong = NULL;
    shard->wrong_count = shard->wrong_capacity = 0;
    writers_release(&writers);
}
