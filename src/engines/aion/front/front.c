/* One transaction: may it be taken at all, and what can be judged of it alone or in its session. */
#include <assert.h>
#include <stdio.h>

#include "aion/levels/deferred.h"
#include "base/log.h"
#include "history/moment.h"

/* ---- what may be taken ---- */

static const char *lacking_timestamp(const struct iso_aion *engine, uint8_t flags)
{
    bool foreign = engine->options.host.foreign && (flags & (ISO_WRITES | ISO_HAS_CTS));
    if ((flags & ISO_STATUS_MASK) != ISO_COMMITTED)
        return NULL;
    if (engine->options.level != ISO_SER && aion_needs_start(engine) && !(flags & ISO_HAS_STS) &&
        !foreign)
        return "start timestamp (sts)";
    if (flags & ISO_HAS_CTS || (!aion_needs_start(engine) && !(flags & ISO_WRITES)))
        return NULL;
    if (flags & ISO_WRITES)
        return "commit timestamp (cts), and writes";
    return flags & ISO_HAS_STS ? NULL : "timestamp, neither sts nor cts";
}

static enum iso_status refuse_transaction(const struct iso_history *history, uint32_t t,
                                          struct iso_error *error, const char *what,
                                          const char *expected)
{
    char location[512], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *tid = iso_atom_text(&history->atoms, history->txns.tid[t], buffer, &length);
    iso_history_location_text(history, t, location, sizeof location);
    return iso_error_set(error, ISO_BAD_INPUT, "%s: transaction %.*s %s; %s", location,
                         (int)(length < 100 ? length : 100), tid, what, expected);
}

static enum iso_status refuse_lacking(const struct iso_history *history, uint32_t t,
                                      const char *lacks, struct iso_error *error)
{
    char what[96];
    snprintf(what, sizeof what, "is committed and has no %s", lacks);
    return refuse_transaction(history, t, error, what, "timestamps cannot judge it");
}

static uint8_t use_of(const struct iso_history *history, uint32_t operation)
{
    uint8_t kind = iso_kind_of(history, operation);
    if (kind == ISO_APPEND || kind == ISO_READ_LIST)
        return ISO_KEY_LIST;
    return kind == ISO_READ && history->ops.value[operation] == ISO_ABSENT ? 0 : ISO_KEY_SCALAR;
}

static enum iso_status learn_use(struct iso_aion *engine, const struct iso_history *history,
                                 uint32_t t, uint32_t operation, struct aion_cached_key *key,
                                 struct iso_error *error)
{
    assert(key->number);
    uint8_t use = use_of(history, operation) |
                  iso_aion_shard_use(engine->shards.list[key->shard], key->number - 1);
    engine->group.misused = use == (ISO_KEY_LIST | ISO_KEY_SCALAR) ? operation : ISO_NONE;
    if (engine->group.misused != ISO_NONE)
        return refuse_transaction(history, t, error,
                                  "uses a key as a list and as a single value, or another one does",
                                  "a key is one or the other");
    iso_aion_shard_set_use(engine->shards.list[key->shard], key->number - 1, use);
    key->use = use;
    return ISO_OK;
}

/* The findings of the first walk over the operations. */
struct survey {
    uint64_t content; /* digest */
    uint32_t reads;
    bool plain; /* as in `struct aion_taking` */
};

/* An operation that is more than a read or write of a small value, or a key not yet known as a
 * register. */
static enum iso_status survey_with_care(struct iso_aion *engine, struct aion_key_cache *cache,
                                        uint32_t t, uint32_t operation, struct survey *survey,
                                        struct iso_error *error)
{
    const struct iso_history *history = cache->history;
    struct aion_cached_key *key = aion_cached_key(engine, cache, history->ops.key[operation]);
    uint8_t use = use_of(history, operation);
    if ((key->use | use) != key->use) {
        enum iso_status status = learn_use(engine, history, t, operation, key, error);
        if (status != ISO_OK)
            return status;
    }
    survey->plain &= history->ops.kind[operation] <= ISO_WRITE && !(key->use & ISO_KEY_LIST) &&
                     key->stamp != cache->stamp;
    key->stamp = cache->stamp;
    survey->content = aion_content_fold(history, survey->content, key->digest, operation);
    survey->reads += !iso_kind_writes(history->ops.kind[operation]);
    return ISO_OK;
}

/* Looks up every key, and refuses one that would be a list and a register. */
static enum iso_status survey_operations(struct iso_aion *engine, struct aion_key_cache *cache,
                                         uint32_t t, struct survey *survey, struct iso_error *error)
{
    const struct iso_history *history = cache->history;
    const uint8_t *kind = history->ops.kind; /* keys are written: no reloading of these */
    const uint32_t *keys = history->ops.key, *value = history->ops.value;
    uint16_t stamp = aion_key_cache_stamp(cache);
    uint32_t end = history->txns.first_op[t + 1];
    *survey = (struct survey){.content = aion_content_start(cache, t), .plain = true};
    for (uint32_t o = history->txns.first_op[t]; o < end; o++) {
        struct aion_cached_key *key = keys[o] < cache->key_count ? &cache->keys[keys[o]] : NULL;
        if (!key || key->use != ISO_KEY_SCALAR || kind[o] > ISO_WRITE ||
            aion_value_is_entry(value[o])) {
            enum iso_status status = survey_with_care(engine, cache, t, o, survey, error);
            if (status != ISO_OK)
                return status;
            continue;
        }
        survey->plain &= key->stamp != stamp;
        survey->reads += kind[o] == ISO_READ;
        key->stamp = stamp;
        survey->content = aion_content_fold_plain(survey->content, key->digest, kind[o], value[o]);
    }
    return ISO_OK;
}

/* ---- times ---- */

static struct aion_times times_of(const struct iso_history *history, uint32_t t)
{
    uint8_t flags = history->txns.flags[t];
    struct aion_times times = {.sts = history->txns.sts[t], .cts = history->txns.cts[t]};
    if (flags & ISO_WRITES)
        return times;
    if (history->finished || (flags & ISO_HAS_CTS)) {
        times.point = flags & ISO_POINT ||
                      (!history->finished && (flags & ISO_HAS_STS) && times.cts == times.sts);
        return times;
    }
    times.point = true;
    times.cts = flags & ISO_OWN_TIMES ? iso_history_latest_time(history, t) : times.sts;
    return times;
}

/* ---- a transaction ---- */

/* The first operation whose own timestamp does not lie between sts and cts, or ISO_NONE. */
static uint32_t stray_operation(const struct iso_history *history, uint32_t t,
                                const struct aion_times *times, uint64_t latest)
{
    ISO_EACH(o, history->txns.first_op, t) {
        if ((history->ops.kind[o] & ISO_OPERATION_OTS) &&
            (history->ops.ots[o] < times->sts || history->ops.ots[o] > latest))
            return o - history->txns.first_op[t];
    }
    uint32_t end, first = iso_history_sets_of(history, t, &end);
    for (uint32_t i = first; i < end; i++) { /* one that found nothing has no operation */
        const struct iso_range *set = &history->ranges.list[i];
        if (set->form == ISO_SET_RANGE && set->kind & ISO_OPERATION_OTS &&
            (set->ots < times->sts || set->ots > latest))
            return set->first;
    }
    return ISO_NONE;
}

static void check_timestamps(const struct aion_taking *taking)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    const struct aion_times *times = &taking->times;
    uint32_t t = taking->transaction, stray = ISO_NONE;
    uint8_t flags = history->txns.flags[t];
    uint32_t snapshot_violation = t < taking->cache->snapshot_violation_count
                                      ? taking->cache->snapshot_violation[t]
                                      : ISO_NONE;
    /* A snapshot at the place of the commit in the log would show it. */
    uint64_t latest =
        times->cts - (engine->deferred.boundaries.is_on && !times->point && times->cts);
    if (flags & ISO_OWN_TIMES && (flags & ISO_HAS_STS || !aion_needs_start(engine)))
        engine->stats.per_operation = true;
    if (!(flags & ISO_HAS_STS) && snapshot_violation == ISO_NONE)
        return;
    if (flags & ISO_HAS_STS && flags & ISO_OWN_TIMES)
        stray = stray_operation(history, t, times, latest);
    bool interval = flags & ISO_HAS_STS && (stray != ISO_NONE || times->sts > latest ||
                                            ((flags & ISO_WRITES) && times->sts == times->cts));
    if (!interval && snapshot_violation == ISO_NONE)
        return;
    struct iso_aion_event event = aion_event_of(engine, ISO_TIMESTAMP);
    event.kind = interval ? ISO_INTERVAL : ISO_SNAPSHOT_ORDER;
    event.transaction = aion_party_in(engine, taking->cache, t);
    event.transaction.cts = times->cts;
    event.operation = stray;
    event.snapshot_violation = interval ? ISO_NONE : snapshot_violation;
    engine->stats.counts[ISO_TIMESTAMP]++;
    aion_emit(engine, &event);
}

/* SER: what a snapshot-order violation is called depends on who shares the cts. */
static void note_snapshot_order(const struct aion_taking *taking)
{
    const struct iso_history *history = taking->history;
    uint32_t t = taking->transaction;
    if (t >= taking->cache->snapshot_violation_count ||
        taking->cache->snapshot_violation[t] == ISO_NONE)
        return;
    struct aion_tie tie = {.cts = taking->times.cts,
                           .sts = taking->times.sts,
                           .origin = aion_party_in(taking->engine, taking->cache, t).origin,
                           .snapshot_violation = taking->cache->snapshot_violation[t],
                           .what = AION_TIE_SNAPSHOT_ORDER};
    aion_tie_add(taking->engine, &tie, &history->atoms, history->txns.tid[t]);
}

/* Its member waits here as its parts do in the shards. */
static void wait_in_order(const struct aion_taking *taking, const struct aion_entrant *entrant)
{
    bool by_start = taking->engine->options.level != ISO_SER && taking->flags & ISO_HAS_STS;
    struct aion_turn turn = {.time = taking->times.cts,
                             .start = by_start ? taking->times.sts : taking->times.cts};
    aion_reorder_add(taking->engine, &turn, entrant);
}

static void judge_alone(const struct aion_taking *taking, const struct aion_accepted *accepted)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    uint32_t t = taking->transaction, session = history->txns.session[t];
    bool foreign = aion_is_foreign(engine, history->txns.flags[t]);
    engine->stats.foreign +=
        foreign || (session == ISO_NONE && !(history->txns.flags[t] & ISO_HAS_STS));
    if (engine->options.level != ISO_SER)
        check_timestamps(taking);
    else
        note_snapshot_order(taking);
    bool has_session = engine->options.session_order && session != ISO_NONE && !foreign &&
                       (!aion_holds(engine) || engine->options.level == ISO_RC);
    if (aion_holds(engine))
        aion_deferred_add(taking, accepted);
    struct aion_entrant entrant = {.sno = accepted->sno, .number = accepted->number};
    if (has_session) {
        entrant.session = aion_cached_session(engine, taking->cache, session);
        entrant.member = aion_member_new(engine, taking->cache, accepted);
    }
    if (engine->group.waits)
        wait_in_order(taking, has_session ? &entrant : NULL);
    else if (has_session)
        aion_session_add(engine, &entrant);
}

/* The later one of start and commit, as far as they are given. */
static uint64_t last_moment(const struct aion_times *times)
{
    return times->cts > times->sts ? times->cts : times->sts;
}

static uint64_t cursor_in_session(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t t,
                                  const struct aion_times *times, bool resolved)
{
    const struct iso_history *history = cache->history;
    uint32_t session = history->txns.session[t];
    if (session == ISO_NONE)
        return 0;
    uint32_t number = aion_cached_session(engine, cache, session); /* the list may move */
    struct aion_session *entry = &engine->sessions.list[number];
    uint64_t arrived = resolved ? 0 : entry->arrived++, moment = last_moment(times);
    entry->latest = moment > entry->latest ? moment : entry->latest;
    engine->sessions.due++;
    if (history->finished) /* without snos the order of the file rules, whatever the order of
                              arrival */
        return history->txns.sno ? history->txns.sno[t] : t;
    return history->txns.flags[t] & ISO_HAS_SNO || history->txns.are_numbered ? history->txns.sno[t]
                                                                              : arrived;
}

/* Whether the transaction stands for the state before everything else. */
static bool is_start(const struct iso_aion *engine, const struct iso_history *history, uint32_t t,
                     const struct aion_times *times)
{
    return engine->options.host.foreign && history->txns.session[t] == ISO_NONE &&
           times->cts <= ISO_AION_START;
}

/* A writer without a start has no moment at which its reads could be judged, but for those that
 * bring their own. */
static uint32_t reads_without_time(const struct iso_aion *engine, const struct iso_history *history,
                                   uint32_t t)
{
    uint32_t reads = 0;
    if (!aion_is_foreign(engine, history->txns.flags[t]))
        return 0;
    ISO_EACH(o, history->txns.first_op, t)
        reads += !iso_kind_writes(history->ops.kind[o]) &&
                 !(history->ops.kind[o] & (ISO_OPERATION_OTS | ISO_OPERATION_LOCK));
    return reads;
}

static void count_reads(struct iso_aion *engine, const struct iso_history *history, uint32_t t,
                        uint32_t reads, bool resolved)
{
    uint64_t *of = engine->stats.reads_of;
    uint8_t status = iso_status_of(history, t);
    uint32_t timeless = status == ISO_COMMITTED ? reads_without_time(engine, history, t) : 0;
    if (resolved)
        of[ISO_AION_READS_UNKNOWN] -= reads;
    of[status == ISO_COMMITTED ? ISO_AION_READS_COMMITTED
       : status == ISO_ABORTED ? ISO_AION_READS_ABORTED
                               : ISO_AION_READS_UNKNOWN] += reads - timeless;
    of[ISO_AION_READS_NO_START] += timeless;
}

static void report_late(const struct iso_aion *engine, const struct iso_history *history,
                        uint32_t t, uint64_t stamp)
{
    assert(iso_status_of(history, t) == ISO_COMMITTED);
    if (engine->options.host.on_late)
        engine->options.host.on_late(engine->options.host.context, history, t,
                                     stamp < engine->time.promised);
}

/* One whose outcome came later was counted as unknown, with its operations. */
static void count_transaction(struct iso_aion *engine, const struct iso_history *history,
                              uint32_t t, const struct aion_times *times, bool resolved)
{
    uint8_t status = iso_status_of(history, t);
    engine->stats.transactions += status == ISO_COMMITTED;
    engine->stats.aborted += status == ISO_ABORTED;
    engine->stats.unknown += status == ISO_UNKNOWN;
    if (!resolved)
        engine->stats.operations += history->txns.first_op[t + 1] - history->txns.first_op[t];
    if (status != ISO_COMMITTED || times->cts >= engine->time.limit ||
        is_start(engine, history, t, times) || (!last_moment(times) && !aion_needs_start(engine)))
        return;
    engine->stats.below_watermark++;
    report_late(engine, history, t, times->cts);
}

/* True if it is a repeat, or comes from below what is kept; `*status` says if it contradicts what
 * came before. */
static bool is_refused(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t t,
                       const struct aion_times *times, const struct survey *survey,
                       enum iso_status *status, struct iso_error *error)
{
    const struct iso_history *history = cache->history;
    uint64_t tid = aion_tid_digest(history, t);
    uint64_t stamp = last_moment(times);
    bool has_time = stamp || aion_needs_start(engine); /* rc: who only reads need not have one */
    bool below = has_time && (stamp < engine->time.floor ||
                              (stamp < engine->time.limit && stamp >= engine->time.promised));
    if (below && iso_status_of(history, t) == ISO_COMMITTED &&
        !is_start(engine, history, t, times)) {
        engine->stats.beyond_retention++;
        engine->stats.reads_of[ISO_AION_READS_BEYOND_RETENTION] += survey->reads;
        report_late(engine, history, t, stamp);
        return true;
    }
    if (stamp)
        aion_recent_note(&engine->time.recent, stamp);
    struct aion_dedup_entry entry = {tid, survey->content, stamp ? stamp : aion_recent(engine),
                                     history->txns.origin[t]};
    const struct iso_aion_options *options = &engine->options;
    enum aion_dedup_result dedup =
        aion_dedup_note(&engine->dedup, &entry, engine->time.floor,
                        options->host.on_contradiction ? AION_CONTENTS : 1);
    if (dedup == AION_OTHER_CONTENT)
        *status = refuse_transaction(history, t, error, "arrived before with other content",
                                     "a tid names one transaction");
    engine->stats.repeats += dedup == AION_REPEAT;
    if (dedup == AION_REPEAT)
        engine->stats.reads_of[ISO_AION_READS_REPEATED] += survey->reads;
    if (dedup == AION_CONTRADICTION) {
        for (uint32_t s = 0; s < engine->shards.count && options->host.on_doubted_pairs; s++)
            iso_aion_shard_doubt(engine->shards.list[s], &history->atoms, history->txns.tid[t],
                                 options->host.on_doubted_pairs, options->host.context);
        options->host.on_contradiction(options->host.context, history, t,
                                       engine->dedup.contradicted);
    }
    engine->dedup.contradicted =
        dedup == AION_OTHER_CONTENT ? engine->dedup.contradicted : UINT64_MAX;
    return dedup == AION_REPEAT || dedup == AION_OTHER_CONTENT;
}

enum iso_status aion_accept(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t t,
                            bool resolved, struct aion_accepted *accepted, struct iso_error *error)
{
    assert(t < cache->history->txns.count);
    const struct iso_history *history = cache->history;
    uint8_t flags = history->txns.flags[t], state = flags & ISO_STATUS_MASK;
    const char *lacks = lacking_timestamp(engine, flags);
    *accepted = (struct aion_accepted){.transaction = ISO_NONE};
    if (lacks)
        return refuse_lacking(history, t, lacks, error);
    struct survey survey;
    enum iso_status status = survey_operations(engine, cache, t, &survey, error);
    if (engine->budget.failure.status != ISO_OK) /* a key is in the spill file and cannot be had */
        return iso_error_set(error, ISO_FAILED, "%s", engine->budget.failure.text);
    if (status != ISO_OK)
        return status;
    bool has_steps = engine->options.host.counts_steps && history->ranges.count;
    struct aion_times times = times_of(history, t);
    if (!resolved && is_refused(engine, cache, t, &times, &survey, &status, error)) {
        ISO_LOG(aion, &history->atoms, history->txns.tid[t], "not taken: %s",
                status != ISO_OK ? "it contradicts what came before"
                                 : "a repeat, or from below what is kept");
        return status;
    }
    ISO_LOG(aion, &history->atoms, history->txns.tid[t],
            "accepted: %s, sts %" PRIu64 ", cts %" PRIu64 ", watermark %" PRIu64,
            state == ISO_COMMITTED ? "committed"
            : state == ISO_ABORTED ? "aborted"
                                   : "unknown",
            times.sts, times.cts, engine->time.limit);
    *accepted =
        (struct aion_accepted){.times = times,
                               .sno = cursor_in_session(engine, cache, t, &times, resolved),
                               .transaction = t,
                               .number = engine->group.number++,
                               .plain = survey.plain && !has_steps && state == ISO_COMMITTED &&
                                        !aion_is_foreign(engine, flags)};
    count_transaction(engine, history, t, &times, resolved);
    count_reads(engine, history, t, survey.reads, resolved);
    if (engine->options.host.on_taken && !resolved)
        engine->options.host.on_taken(engine->options.host.context, history, t);
    return ISO_OK;
}

void aion_take(struct iso_aion *engine, struct aion_key_cache *cache,
               const struct aion_accepted *accepted, uint64_t arrival)
{
    assert(accepted->transaction != ISO_NONE);
    const struct iso_history *history = cache->history;
    uint32_t t = accepted->transaction;
    uint8_t flags = history->txns.flags[t], state = flags & ISO_STATUS_MASK;
    struct aion_taking taking = {.engine = engine,
                                 .cache = cache,
                                 .history = history,
                                 .transaction = t,
                                 .flags = flags & (ISO_STATUS_MASK | ISO_HAS_STS),
                                 .times = accepted->times,
                                 .arrival = arrival,
                                 .plain = accepted->plain};
    taking.flags |= taking.times.point ? ISO_POINT : 0;
    ISO_LOG(aion, &history->atoms, history->txns.tid[t], "cut into parts for the shards%s",
            engine->group.waits ? ", held back until earlier ones arrive" : "");
    taking.what = aion_holds(engine) ? AION_TAKE_WRITES : AION_TAKE_ALL;
    if (state == ISO_COMMITTED)
        judge_alone(&taking, accepted);
    aion_access_operations(&taking);
    if (state == ISO_UNKNOWN)
        aion_unknown_add(engine, cache, t, accepted->sno);
}

static void take_back_unknown(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t t,
                              struct aion_times times, uint8_t flags)
{
    flags |= ISO_UNKNOWN | (cache->history->txns.flags[t] & ISO_HAS_STS);
    struct aion_taking taking = {engine,           cache, cache->history, t, flags, times,
                                 engine->time.now, false, AION_TAKE_ALL};
    aion_access_operations(&taking);
}

/* Takes back what the shards know of it as unknown: called after it was taken with its outcome. */
void aion_forget_unknown(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t t)
{
    assert(iso_status_of(cache->history, t) != ISO_UNKNOWN);
    take_back_unknown(engine, cache, t, times_of(cache->history, t), AION_FORGET);
}

void aion_age_unknown(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t t,
                      uint64_t until)
{
    assert(iso_status_of(cache->history, t) == ISO_UNKNOWN);
    struct aion_times times = times_of(cache->history, t);
    times.cts = until;
    take_back_unknown(engine, cache, t, times, AION_FORGET | AION_AGED);
}
