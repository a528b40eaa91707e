/* A check from start to end: what can be judged at all, the phases, one verdict from many. */
#include <assert.h>

#include "base/clock.h"
#include "base/team.h"
#include "chronos/chronos_private.h"
#include "chronos/gaps.h"
#include "chronos/version_index.h"
#include "history/snapshot.h"

/* ---- refusals ---- */

static enum iso_status refuse_history(const struct iso_history *history, uint32_t t,
                                      const char *lacks, struct iso_error *error)
{
    char location[512], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *tid = iso_atom_text(&history->atoms, history->txns.tid[t], buffer, &length);
    iso_history_location_text(history, t, location, sizeof location);
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "%s: committed transaction %.*s has no %s; timestamps cannot judge it, --engine polygraph can",
        location, (int)(length < 100 ? length : 100), tid, lacks);
}

/* The timestamp that the transaction lacks to be judged by, or NULL. */
static const char *lacking_timestamp(const struct iso_history *history, enum iso_level level,
                                     uint32_t t)
{
    uint8_t flags = history->txns.flags[t];
    if ((flags & ISO_STATUS_MASK) != ISO_COMMITTED)
        return NULL;
    bool looks_at_start = level == ISO_SI || level == ISO_PC || level == ISO_STALE_READS;
    if (looks_at_start && !(flags & ISO_HAS_STS))
        return "start timestamp (sts)";
    if (flags & ISO_HAS_CTS || (level != ISO_SER && !(flags & ISO_WRITES)))
        return NULL;
    return flags & ISO_WRITES ? "commit timestamp (cts), and writes"
                              : "timestamp, neither sts nor cts";
}

/* Names the first transaction, in the order of the input, that cannot be judged. */
static enum iso_status check_timestamps_given(const struct iso_history *history,
                                              enum iso_level level, struct iso_error *error)
{
    bool all = history->totals.without_sts == ISO_NONE && history->totals.without_cts == ISO_NONE;
    for (uint32_t t = 0; !all && t < history->txns.count; t++) {
        const char *lacks = lacking_timestamp(history, level, t);
        if (lacks)
            return refuse_history(history, t, lacks, error);
    }
    return ISO_OK;
}

/* ---- what shards need to know beforehand ---- */

static void survey_operations(struct chronos *check)
{
    const struct iso_history *history = check->history;
    bool inverted = false;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint32_t operations = history->txns.first_op[t + 1] - history->txns.first_op[t];
        check->most_operations =
            operations > check->most_operations ? operations : check->most_operations;
        check->own_times |=
            (history->txns.flags[t] & (ISO_STATUS_MASK | ISO_OWN_TIMES)) == ISO_OWN_TIMES;
        inverted |= (history->txns.flags[t] & (ISO_STATUS_MASK | ISO_WRITES)) == ISO_WRITES &&
                    history->txns.cts[t] <= history->txns.sts[t];
    }
    check->inverted = check->si && (inverted || check->own_times);
    if (!history->snapshots.violation_count)
        return;
    check->first_snapshot_violation =
        iso_allocate(((size_t)history->txns.count + 1) * sizeof *check->first_snapshot_violation);
    for (uint32_t t = 0; t < history->txns.count; t++)
        check->first_snapshot_violation[t] = ISO_NONE;
    for (uint32_t i = history->snapshots.violation_count; i-- > 0;)
        check->first_snapshot_violation[history->snapshots.violations[i].transaction] = i;
}

/* All versions, and each transaction's position in its session. One part has all keys. */
static void index_versions(struct chronos *check)
{
    const struct iso_history *history = check->history;
    check->slices = check->shards;
    check->parts = 1;
    check->index = chronos_index_new(check);
    check->position_in_session =
        iso_allocate(((size_t)history->txns.count + 1) * sizeof *check->position_in_session);
    for (uint32_t i = 0; i < history->txns.count; i++)
        check->position_in_session[history->sessions.order[i]] = i;
}

/* ---- a shard ---- */

static void judge_transactions(struct chronos *check, struct iso_verdict *verdict, unsigned part)
{
    const struct iso_history *history = check->history;
    uint64_t transactions = history->txns.count;
    if (check->si)
        chronos_check_timestamps(check, verdict, (uint32_t)(transactions * part / check->shards),
                                 (uint32_t)(transactions * (part + 1) / check->shards));
    else
        chronos_check_shared_cts(check, verdict, part, check->shards);
    if (check->options->session_order && (!check->index || check->options->level == ISO_RC))
        chronos_check_sessions(check, verdict, part);
}

static void judge_operations(struct chronos_shard *shard)
{
    uint64_t transactions = shard->history->txns.count;
    unsigned shards = shard->check->shards;
    if (chronos_has_moments(shard->check->options->level))
        chronos_judge_moments(shard, (uint32_t)(transactions * shard->index / shards),
                              (uint32_t)(transactions * (shard->index + 1) / shards));
    else if (shard->index == 0) /* what one knows of rests on what others know of */
        chronos_judge_guarantees(shard);
    chronos_explain(shard);
}

static void sweep_operations(struct chronos_shard *shard)
{
    chronos_slice_init(shard);
    chronos_extras_collect(shard);
    chronos_sweep(shard);
    if (shard->check->parts == 1)
        chronos_explain(shard);
    iso_free(shard->keys_memory);
}

static struct chronos_shard open_shard(struct chronos *check, unsigned index)
{
    assert(index < check->shards);
    struct chronos_shard shard = {.check = check,
                                  .history = check->history,
                                  .verdict = &check->verdicts[index].verdict,
                                  .index = index};
    shard.picked = iso_allocate(((size_t)check->most_operations + 1) * sizeof *shard.picked);
    shard.sorted = iso_allocate(((size_t)check->most_operations + 1) * sizeof *shard.sorted);
    return shard;
}

static void close_shard(struct chronos_shard *shard)
{
    chronos_extras_release(shard);
    ISO_FREE_COLUMN(shard->suspects, shard->suspect_capacity);
    ISO_FREE_ALL(shard->picked, shard->sorted);
}

static void judge_shard(void *context, unsigned index)
{
    struct chronos *check = context;
    struct chronos_shard shard = open_shard(check, index);
    judge_transactions(check, shard.verdict, index);
    if (check->index)
        judge_operations(&shard);
    else
        sweep_operations(&shard);
    check->contested[index] = shard.contested;
    if (check->parts > 1) {
        check->swept[index] =
            (struct chronos_swept){shard.suspects, shard.suspect_count, shard.suspect_capacity,
                                   chronos_suspects_cells(&shard)};
        shard.suspects = NULL;
    }
    close_shard(&shard);
}

/* A shard's suspects, where it had its part of the keys. */
static void explain_part(void *context, unsigned index)
{
    struct chronos *check = context;
    struct chronos_shard shard = open_shard(check, index);
    shard.suspects = check->swept[index].suspects;
    shard.suspect_count = check->swept[index].count;
    shard.suspect_capacity = check->swept[index].capacity;
    chronos_explain(&shard);
    close_shard(&shard);
}

/* A row and its cells may be of two parts: all suspects go to the first. */
static void gather_suspects(struct chronos *check)
{
    struct chronos_shard first = {.suspects = check->swept[0].suspects,
                                  .suspect_count = check->swept[0].count,
                                  .suspect_capacity = check->swept[0].capacity};
    for (unsigned i = 1; i < check->parts; i++) {
        for (uint32_t s = 0; s < check->swept[i].count; s++)
            chronos_add_suspect(&first, &check->swept[i].suspects[s]);
        iso_column_free(check->swept[i].suspects,
                        check->swept[i].capacity * sizeof *first.suspects);
    }
    check->swept[0] =
        (struct chronos_swept){first.suspects, first.suspect_count, first.suspect_capacity, true};
}

static void explain_parts(struct chronos *check)
{
    bool has_cells = false;
    for (unsigned i = 0; i < check->parts; i++)
        has_cells |= check->swept[i].has_cells;
    if (has_cells) {
        gather_suspects(check);
        explain_part(check, 0);
    } else {
        iso_parallel(check->parts, explain_part, check);
    }
}

static void judge_conflicts(void *context, unsigned index)
{
    struct chronos *check = context;
    struct chronos_shard shard = {.check = check,
                                  .history = check->history,
                                  .verdict = &check->verdicts[index].verdict,
                                  .part = index,
                                  .keys = check->keys};
    chronos_judge_conflicts(&shard);
}

/* ---- all ---- */

static void judge_all(struct chronos *check, struct iso_verdict *verdict)
{
    assert(check->shards == check->slices * check->parts &&
           (check->slices == 1 || check->parts == 1));
    check->verdicts = iso_allocate_zeroed(check->shards, sizeof *check->verdicts);
    for (unsigned i = 0; i < check->shards; i++)
        iso_verdict_init(&check->verdicts[i].verdict, verdict->history, check->options->level,
                         verdict->limit);
    check->contested = iso_allocate_zeroed(check->shards, sizeof *check->contested);
    check->swept = iso_allocate_zeroed(check->shards, sizeof *check->swept);
    iso_parallel(check->shards, judge_shard, check);
    if (check->parts > 1)
        explain_parts(check);
    iso_free(check->swept);
    bool contested = false;
    for (unsigned i = 0; i < check->shards; i++)
        contested |= check->contested[i].count > 0;
    if (contested)
        iso_parallel(check->shards, judge_conflicts, check);
    for (unsigned i = 0; i < check->shards; i++) {
        iso_verdict_merge(verdict, &check->verdicts[i].verdict);
        iso_free(check->contested[i].keys);
    }
    ISO_FREE_ALL(check->contested, check->verdicts);
    if (!check->si && check->first_snapshot_violation) /* needs to know who shares a cts */
        chronos_check_timestamps(check, verdict, 0, check->history->txns.count);
}

enum iso_status iso_chronos_check(const struct iso_history *history,
                                  const struct iso_check_options *options,
                                  struct iso_verdict *verdict, struct iso_error *error)
{
    struct chronos check = {.history = history,
                            .options = options,
                            .si = options->level != ISO_SER,
                            .overlaps = options->overlaps || options->level != ISO_SI,
                            .each_statement = options->level == ISO_RC,
                            .shards = options->threads ? options->threads : 1};
    double start = iso_clock_seconds();
    assert(history->finished && verdict->level == options->level);
    enum iso_status status = check_timestamps_given(history, options->level, error);
    verdict->engine = "chronos";
    if (status == ISO_OK && !options->session_order && chronos_uses_index(options->level) &&
        !chronos_has_moments(options->level))
        status =
            iso_error_set(error, ISO_BAD_INPUT, "--no-session-order: --level %s is about sessions",
                          iso_level_name(options->level));
    if (status != ISO_OK)
        return status;
    if (chronos_has_moments(options->level) && iso_history_has_boundaries(history)) {
        check.gaps = chronos_gaps_new(history);
        check.log_positions = history->txns.cts;
        check.history = &check.gaps->history;
    }
    survey_operations(&check);
    chronos_choose_shards(&check);
    chronos_events_init(&check);
    verdict->seconds_sort = iso_clock_seconds() - start;
    start = iso_clock_seconds();
    chronos_keys_init(&check);
    if (chronos_uses_index(options->level))
        index_versions(&check);
    judge_all(&check, verdict);
    chronos_index_free(check.index);
    iso_free(check.position_in_session);
    chronos_keys_release(&check);
    chronos_events_release(&check);
    chronos_gaps_free(check.gaps);
    iso_free(check.first_snapshot_violation);
    verdict->seconds_check = iso_clock_seconds() - start;
    return ISO_OK;
}
