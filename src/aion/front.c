/* One transaction: may it be taken at all, and what can be judged of it alone or in its session. */
#include <stdio.h>

#include "aion/front_private.h"

/* ---- what may be taken ---- */

static const char *lacking(const struct iso_aion *engine, uint8_t flags)
{
    bool foreign = engine->options.foreign && (flags & ISO_WRITES);
    if ((flags & ISO_STATUS_MASK) != ISO_COMMITTED)
        return NULL;
    if (engine->options.level == ISO_SI && !(flags & ISO_HAS_STS) && !foreign)
        return "start timestamp (sts)";
    if (flags & ISO_HAS_CTS)
        return NULL;
    if (flags & ISO_WRITES)
        return "commit timestamp (cts), and writes";
    return flags & ISO_HAS_STS ? NULL : "timestamp, neither sts nor cts";
}

static enum iso_status refuse(const struct iso_history *history, uint32_t t, struct iso_error *error, const char *what,
                              const char *expected)
{
    char place[512], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *tid = iso_atom_text(&history->atoms, history->tid[t], buffer, &length);
    iso_history_place_text(history, t, place, sizeof place);
    return iso_error_set(error, ISO_BAD_INPUT, "%s: transaction %.*s %s; %s", place, (int)(length < 100 ? length : 100),
                         tid, what, expected);
}

static enum iso_status refuse_lacking(const struct iso_history *history, uint32_t t, const char *lacks,
                                      struct iso_error *error)
{
    char what[96];
    snprintf(what, sizeof what, "is committed and has no %s", lacks);
    return refuse(history, t, error, what, "timestamps cannot judge it");
}

static uint8_t use_of(const struct iso_history *history, uint32_t operation)
{
    uint8_t kind = iso_kind_of(history, operation);
    if (kind == ISO_APPEND || kind == ISO_READ_LIST)
        return ISO_KEY_LIST;
    return kind == ISO_READ && history->value[operation] == ISO_ABSENT ? 0 : ISO_KEY_SCALAR;
}

static enum iso_status learn_use(struct iso_aion *engine, const struct iso_history *history, uint32_t t,
                                 struct aion_block_key *key, uint8_t use, struct iso_error *error)
{
    use |= iso_aion_shard_use(engine->shard[key->shard], key->number - 1);
    if (use == (ISO_KEY_LIST | ISO_KEY_SCALAR))
        return refuse(history, t, error, "uses a key as a list and as a single value, or another one does",
                      "a key is one or the other");
    iso_aion_shard_set_use(engine->shard[key->shard], key->number - 1, use);
    key->use = use;
    return ISO_OK;
}

/* What the first walk over the operations finds. */
struct survey {
    uint64_t content; /* digest */
    bool plain;       /* as in `struct aion_taking` */
};

/* An operation that is more than a read or write of a small value, or a key not yet known as a register. */
static enum iso_status survey_rare(struct iso_aion *engine, struct aion_block *block, uint32_t t, uint32_t operation,
                                   struct survey *survey, struct iso_error *error)
{
    const struct iso_history *history = block->history;
    struct aion_block_key *key = aion_block_key(engine, block, history->key[operation]);
    uint8_t use = use_of(history, operation);
    if ((key->use | use) != key->use) {
        enum iso_status status = learn_use(engine, history, t, key, use, error);
        if (status != ISO_OK)
            return status;
    }
    survey->plain &= history->kind[operation] <= ISO_WRITE && !(key->use & ISO_KEY_LIST) && key->stamp != block->stamp;
    key->stamp = block->stamp;
    survey->content = aion_content_fold(history, survey->content, key->digest, operation);
    return ISO_OK;
}

/* Looks up every key, and refuses one that would be a list and a register. */
static enum iso_status survey_operations(struct iso_aion *engine, struct aion_block *block, uint32_t t,
                                         struct survey *survey, struct iso_error *error)
{
    const struct iso_history *history = block->history;
    const uint8_t *kind = history->kind; /* keys are written: no reloading of these */
    const uint32_t *keys = history->key, *value = history->value;
    uint16_t stamp = aion_block_stamp(block);
    uint32_t end = history->first_operation[t + 1];
    *survey = (struct survey){aion_content_start(block, t), true};
    for (uint32_t o = history->first_operation[t]; o < end; o++) {
        struct aion_block_key *key = keys[o] < block->key_count ? &block->keys[keys[o]] : NULL;
        if (!key || key->use != ISO_KEY_SCALAR || kind[o] > ISO_WRITE || aion_value_is_entry(value[o])) {
            enum iso_status status = survey_rare(engine, block, t, o, survey, error);
            if (status != ISO_OK)
                return status;
            continue;
        }
        survey->plain &= key->stamp != stamp;
        key->stamp = stamp;
        survey->content = aion_content_fold_plain(survey->content, key->digest, kind[o], value[o]);
    }
    return ISO_OK;
}

/* ---- times ---- */

static struct aion_times times_of(const struct iso_history *history, uint32_t t)
{
    uint8_t flags = history->flags[t];
    struct aion_times times = {.sts = history->sts[t], .cts = history->cts[t]};
    if (flags & ISO_WRITES)
        return times;
    if (history->finished || (flags & ISO_HAS_CTS)) {
        times.point = flags & ISO_POINT || (!history->finished && (flags & ISO_HAS_STS) && times.cts == times.sts);
        return times;
    }
    times.point = true;
    times.cts = times.sts;
    for (uint32_t o = history->first_operation[t]; (flags & ISO_OWN_TIMES) && o < history->first_operation[t + 1];
         o++) {
        if ((history->kind[o] & ISO_OPERATION_OTS) && history->ots[o] > times.cts)
            times.cts = history->ots[o];
    }
    return times;
}

/* ---- a transaction ---- */

/* The first operation whose own timestamp does not lie between sts and cts, or ISO_NONE. */
static uint32_t stray_operation(const struct iso_history *history, uint32_t t, const struct aion_times *times)
{
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        if ((history->kind[o] & ISO_OPERATION_OTS) && (history->ots[o] < times->sts || history->ots[o] > times->cts))
            return o - history->first_operation[t];
    }
    return ISO_NONE;
}

static void check_timestamps(const struct aion_taking *taking)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    const struct aion_times *times = &taking->times;
    uint32_t t = taking->transaction, stray = ISO_NONE;
    uint8_t flags = history->flags[t];
    uint32_t breach = t < taking->block->breach_count ? taking->block->breach[t] : ISO_NONE;
    if (!(flags & ISO_HAS_STS))
        return;
    if (flags & ISO_OWN_TIMES) {
        engine->stats.per_operation = true;
        stray = stray_operation(history, t, times);
    }
    bool interval = stray != ISO_NONE || times->sts > times->cts || ((flags & ISO_WRITES) && times->sts == times->cts);
    if (!interval && breach == ISO_NONE)
        return;
    struct iso_aion_event event = aion_event_of(engine, ISO_TIMESTAMP);
    event.kind = interval ? ISO_INTERVAL : ISO_SNAPSHOT_ORDER;
    event.transaction = aion_party_in(engine, taking->block, t);
    event.transaction.cts = times->cts;
    event.operation = stray;
    event.breach = interval ? ISO_NONE : breach;
    engine->stats.counts[ISO_TIMESTAMP]++;
    aion_emit(engine, &event);
}

/* SER: what a breach is called depends on who shares the cts. */
static void note_breach(const struct aion_taking *taking)
{
    const struct iso_history *history = taking->history;
    uint32_t t = taking->transaction;
    if (t >= taking->block->breach_count || taking->block->breach[t] == ISO_NONE)
        return;
    struct aion_tie tie = {.cts = taking->times.cts,
                           .sts = taking->times.sts,
                           .origin = aion_party_in(taking->engine, taking->block, t).origin,
                           .breach = taking->block->breach[t],
                           .what = AION_TIE_BREACH};
    aion_tie_add(taking->engine, &tie, &history->atoms, history->tid[t]);
}

/* Its member waits here as its parts do in the shards. */
static void wait(const struct aion_taking *taking, const struct aion_entrant *entrant)
{
    bool by_start = taking->engine->options.level == ISO_SI && taking->flags & ISO_HAS_STS;
    struct aion_turn turn = {.time = taking->times.cts, .start = by_start ? taking->times.sts : taking->times.cts};
    aion_apart_add(taking->engine, &turn, entrant);
}

static void judge_alone(const struct aion_taking *taking, const struct aion_accepted *accepted)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    uint32_t t = taking->transaction, session = history->session[t];
    bool foreign = aion_is_foreign(engine, history->flags[t]);
    engine->stats.foreign += foreign;
    if (engine->options.level == ISO_SI)
        check_timestamps(taking);
    else
        note_breach(taking);
    bool has_session = engine->options.session_order && session != ISO_NONE && !foreign;
    struct aion_entrant entrant = {.sno = accepted->sno, .number = accepted->number};
    if (has_session) {
        entrant.session = aion_block_session(engine, taking->block, session);
        entrant.member = aion_member_new(engine, taking->block, accepted);
    }
    if (engine->group.waits)
        wait(taking, has_session ? &entrant : NULL);
    else if (has_session)
        aion_session_add(engine, &entrant);
}

/* What there is of a commit, or of a start. */
static uint64_t last_moment(const struct aion_times *times)
{
    return times->cts > times->sts ? times->cts : times->sts;
}

static uint64_t place_in_session(struct iso_aion *engine, struct aion_block *block, uint32_t t,
                                 const struct aion_times *times, bool resolved)
{
    const struct iso_history *history = block->history;
    uint32_t session = history->session[t];
    if (session == ISO_NONE)
        return 0;
    uint32_t number = aion_block_session(engine, block, session); /* the list may move */
    struct aion_session *entry = &engine->sessions.list[number];
    uint64_t arrived = resolved ? 0 : entry->arrived++, moment = last_moment(times);
    entry->latest = moment > entry->latest ? moment : entry->latest;
    engine->sessions.due++;
    if (history->finished) /* without snos the order of the file rules, whatever the order of arrival */
        return history->sno ? history->sno[t] : t;
    return history->flags[t] & ISO_HAS_SNO || history->places_known ? history->sno[t] : arrived;
}

/* One whose outcome came later was counted as unknown, with its operations. */
static void count(struct iso_aion *engine, const struct iso_history *history, uint32_t t,
                  const struct aion_times *times, bool resolved)
{
    uint8_t status = iso_status_of(history, t);
    engine->stats.transactions += status == ISO_COMMITTED;
    engine->stats.aborted += status == ISO_ABORTED;
    engine->stats.unknown += status == ISO_UNKNOWN;
    if (!resolved)
        engine->stats.operations += history->first_operation[t + 1] - history->first_operation[t];
    if (status == ISO_COMMITTED)
        engine->stats.below_watermark += times->cts < engine->limit;
}

/* True if it is a repeat, or comes from below what is kept; `*status` says if it contradicts what came
 * before. */
static bool is_refused(struct iso_aion *engine, struct aion_block *block, uint32_t t, const struct aion_times *times,
                       uint64_t content, enum iso_status *status, struct iso_error *error)
{
    const struct iso_history *history = block->history;
    uint64_t tid = aion_tid_digest(history, t);
    uint64_t stamp = last_moment(times);
    if (iso_status_of(history, t) == ISO_COMMITTED && stamp < engine->floor) {
        engine->stats.beyond_retention++;
        return true;
    }
    enum aion_seen_as seen = aion_seen_note(&engine->seen, tid, content, stamp, engine->floor);
    if (seen == AION_OTHER_CONTENT)
        *status = refuse(history, t, error, "came before with other content", "a tid names one transaction");
    engine->stats.repeats += seen == AION_REPEAT;
    return seen != AION_NEW;
}

enum iso_status aion_accept(struct iso_aion *engine, struct aion_block *block, uint32_t t, bool resolved,
                            struct aion_accepted *accepted, struct iso_error *error)
{
    const struct iso_history *history = block->history;
    uint8_t flags = history->flags[t], state = flags & ISO_STATUS_MASK;
    const char *lacks = lacking(engine, flags);
    *accepted = (struct aion_accepted){.transaction = ISO_NONE};
    if (lacks)
        return refuse_lacking(history, t, lacks, error);
    struct survey survey;
    enum iso_status status = survey_operations(engine, block, t, &survey, error);
    if (engine->budget.failure.status != ISO_OK) /* a key is in the store and cannot be had */
        return iso_error_set(error, ISO_FAILED, "%s", engine->budget.failure.text);
    if (status != ISO_OK)
        return status;
    struct aion_times times = times_of(history, t);
    if (!resolved && is_refused(engine, block, t, &times, survey.content, &status, error))
        return status;
    *accepted =
        (struct aion_accepted){.times = times,
                               .sno = place_in_session(engine, block, t, &times, resolved),
                               .transaction = t,
                               .number = engine->accepted++,
                               .plain = survey.plain && state == ISO_COMMITTED && !aion_is_foreign(engine, flags)};
    count(engine, history, t, &times, resolved);
    return ISO_OK;
}

void aion_take(struct iso_aion *engine, struct aion_block *block, const struct aion_accepted *accepted,
               uint64_t arrival)
{
    const struct iso_history *history = block->history;
    uint32_t t = accepted->transaction;
    uint8_t flags = history->flags[t], state = flags & ISO_STATUS_MASK;
    struct aion_taking taking = {.engine = engine,
                                 .block = block,
                                 .history = history,
                                 .transaction = t,
                                 .flags = flags & (ISO_STATUS_MASK | ISO_HAS_STS),
                                 .times = accepted->times,
                                 .arrival = arrival,
                                 .plain = accepted->plain};
    taking.flags |= taking.times.point ? ISO_POINT : 0;
    if (state == ISO_COMMITTED)
        judge_alone(&taking, accepted);
    aion_touch_operations(&taking);
    if (state == ISO_UNKNOWN)
        aion_hold(engine, block, t, accepted->sno);
}

/* Takes back what the shards know of it as unknown: called after it was taken with its outcome. */
void aion_forget_unknown(struct iso_aion *engine, struct aion_block *block, uint32_t t, uint64_t arrival)
{
    struct aion_taking taking = {engine,  block, block->history, t, AION_FORGET, times_of(block->history, t),
                                 arrival, false};
    taking.flags |= ISO_UNKNOWN;
    aion_touch_operations(&taking);
}
