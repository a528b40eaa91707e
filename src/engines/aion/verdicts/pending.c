/* Pending verdicts: EXT verdicts that are, or once were, not plainly right; their life until they
 * are final. */
#include "aion/shard/shard_private.h"

#include <assert.h>

#include "base/memory.h"

static struct aion_observed *observed_of(struct aion_pending *subject)
{
    return subject->more ? subject->more : &subject->observed;
}

uint32_t aion_pending_new(struct iso_aion_shard *shard, uint32_t key, uint32_t transaction,
                          const struct aion_observed *observed)
{
    assert(key < shard->keys.count);
    assert(transaction < shard->transactions.count);
    struct aion_cold *cold = aion_cold_of(shard, &shard->keys.list[key]);
    uint32_t number = shard->pending.free - 1, generation = 0;
    if (shard->pending.free) {
        shard->pending.free = shard->pending.list[number].next;
        generation = shard->pending.list[number].generation + 1;
    } else {
        ISO_GROW_COLUMN(shard->pending.list, shard->pending.count, shard->pending.capacity);
        number = shard->pending.count++;
    }
    shard->pending.list[number] =
        (struct aion_pending){.key = key,
                              .transaction = aion_transaction_reference(shard, transaction),
                              .next = cold->first_pending,
                              .observed_count = 1,
                              .observed = *observed,
                              .visible_below = observed->visible_below,
                              .deadline = UINT64_MAX,
                              .generation = generation};
    if (shard->options.finality_timeout_ms)
        shard->pending.list[number].deadline =
            shard->transactions.list[transaction].arrival + shard->options.finality_timeout_ms;
    aion_value_reference(shard, &shard->keys.list[key], observed->value);
    if (cold->first_pending)
        shard->pending.list[cold->first_pending - 1].previous = number + 1;
    cold->first_pending = number + 1;
    cold->pending++;
    aion_row_join(shard, number);
    return number;
}

void aion_pending_add(struct iso_aion_shard *shard, uint32_t number,
                      const struct aion_observed *observed)
{
    struct aion_pending *subject = &shard->pending.list[number];
    assert(number < shard->pending.count && subject->observed_count);
    struct aion_observed *more =
        iso_reallocate(subject->more, (subject->observed_count + 1) * sizeof *more);
    if (!subject->more)
        more[0] = subject->observed;
    more[subject->observed_count] = *observed;
    aion_row_note(shard, number, &more[subject->observed_count++]);
    subject->more = more;
    subject->visible_below = observed->visible_below > subject->visible_below
                                 ? observed->visible_below
                                 : subject->visible_below;
    aion_value_reference(shard, &shard->keys.list[subject->key], observed->value);
}

static void free_pending(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_pending *subject = &shard->pending.list[number];
    struct aion_key *key = &shard->keys.list[subject->key];
    uint32_t row = subject->row;
    assert(number < shard->pending.count && subject->observed_count && key->cold);
    bool leaves_cells = aion_row_leave(shard, number);
    if (subject->next)
        shard->pending.list[subject->next - 1].previous = subject->previous;
    if (subject->previous)
        shard->pending.list[subject->previous - 1].next = subject->next;
    else
        shard->cold.list[key->cold].first_pending = subject->next;
    shard->cold.list[key->cold].pending--;
    if (!shard->cold.list[key->cold].pending)
        shard->cold.list[key->cold].stale = 0;
    for (uint32_t i = 0; i < subject->observed_count; i++)
        aion_value_drop(shard, key, observed_of(subject)[i].value);
    aion_transaction_drop(shard, subject->transaction);
    iso_free(subject->more);
    subject->more = NULL;
    subject->observed_count = 0;
    subject->next = shard->pending.free;
    shard->pending.free = number + 1;
    if (leaves_cells)
        aion_row_gone(shard, row - 1);
}

/* ---- events ---- */

/* The observed read that the report is about: the first wrong one. */
static const struct aion_observed *first_wrong_read(struct aion_pending *subject)
{
    const struct aion_observed *observed = observed_of(subject), *first = NULL;
    for (uint32_t i = 0; i < subject->observed_count; i++) {
        if (observed[i].state == AION_WRONG && (!first || observed[i].operation < first->operation))
            first = &observed[i];
    }
    return first ? first : observed;
}

static const struct aion_entry *required_by(const struct iso_aion_shard *shard,
                                            const struct aion_pending *subject,
                                            const struct aion_observed *observed)
{
    return aion_required(shard, &shard->keys.list[subject->key], observed,
                         observed->own ? subject->transaction : ISO_NONE);
}

/* Whether the report leaves out a read that is wrong in another way: whoever finds that what it
 * reports is right has not looked at that one. */
static bool has_another_wrong(const struct iso_aion_shard *shard, struct aion_pending *subject,
                              const struct aion_observed *reported)
{
    const struct aion_observed *observed = observed_of(subject);
    const struct aion_entry *required = required_by(shard, subject, reported);
    for (uint32_t i = 0; i < subject->observed_count; i++)
        if (observed[i].state == AION_WRONG &&
            (observed[i].value != reported->value ||
             required_by(shard, subject, &observed[i]) != required))
            return true;
    return false;
}

static void fill_values(struct iso_aion_shard *shard, struct aion_pending *subject,
                        const struct aion_observed *observed, struct aion_finding *finding)
{
    struct aion_key *key = &shard->keys.list[subject->key];
    if (key->flags & AION_KEY_PAGED)
        aion_page_in_all(shard, key);
    finding->is_first = !aion_key_is_list(key) && has_another_wrong(shard, subject, observed);
    finding->expected =
        aion_expected_words(shard, key, observed, observed->own ? subject->transaction : ISO_NONE);
    finding->actual = aion_value_words(shard, key, observed->value);
    finding->assumed = key->flags & AION_KEY_ASSUMED &&
                       !aion_visible(shard, key, observed->visible_below, ISO_NONE);
}

/* Values, and when it is final why. */
static void fill_finding(struct iso_aion_shard *shard, struct aion_pending *subject,
                         const struct aion_observed *observed, struct aion_finding *finding)
{
    fill_values(shard, subject, observed, finding);
    if (finding->state == ISO_AION_FINAL)
        aion_explain(shard, subject, observed, finding);
}

/* The grounds of a verdict that is not listed, at a cost that does not grow with its key. For a
 * list only that it is one. */
static void fill_provenance(struct iso_aion_shard *shard, struct aion_pending *subject,
                            const struct aion_observed *observed, struct aion_finding *finding)
{
    struct aion_key *key = &shard->keys.list[subject->key];
    if (!aion_key_is_list(key)) {
        fill_values(shard, subject, observed, finding);
        if (finding->state == ISO_AION_FINAL)
            aion_explain_unlisted(shard, subject, observed, finding);
        return;
    }
    finding->expected.is_list = finding->actual.is_list = true;
    finding->kind = observed->value == ISO_ABSENT ? ISO_ABSENT_READ : ISO_KIND_NONE;
}

/* Long lists take more of the key's list of violations, so that this one is bounded in elements,
 * too. */
enum { ELEMENTS = 64 };

static bool is_listed(struct iso_aion_shard *shard, struct aion_pending *subject,
                      const struct aion_observed *observed)
{
    struct aion_key *key = &shard->keys.list[subject->key];
    uint64_t elements = aion_key_is_list(key) ? aion_count_elements(shard, key, observed) : 0;
    if (!subject->emitted) {
        subject->listed = (uint32_t)(1 + elements / ELEMENTS);
        subject->listed = aion_list(shard, key, subject->listed) ? subject->listed : 0;
    }
    return subject->listed;
}

static void emit_pending(struct iso_aion_shard *shard, struct aion_pending *subject,
                         enum iso_aion_state state, uint32_t cause)
{
    assert(state == ISO_AION_RETRACTED ? subject->emitted : !subject->emitted_final);
    const struct aion_observed *observed = first_wrong_read(subject);
    bool listed = is_listed(shard, subject, observed);
    struct aion_finding *finding = aion_finding_new(shard, AION_FOUND_EXT, subject->key);
    finding->state = state;
    finding->unlisted.count = !listed;
    finding->operation = observed->operation;
    finding->visible_below = observed->visible_below;
    finding->transaction = aion_party_of(shard, subject->transaction);
    finding->cause = aion_party_of(shard, cause);
    if (listed)
        fill_finding(shard, subject, observed, finding);
    else if (shard->options.host.provenance)
        fill_provenance(shard, subject, observed, finding);
    if (state == ISO_AION_RETRACTED && listed)
        shard->cold.list[shard->keys.list[subject->key].cold].listed -= subject->listed;
    shard->stats.standing -= subject->emitted && !subject->emitted_final;
    shard->stats.standing += state == ISO_AION_TENTATIVE;
    subject->emitted = state != ISO_AION_RETRACTED;
    if (subject->emitted_final)
        shard->stats.counts[ISO_EXT]--;
    subject->emitted_final = state == ISO_AION_FINAL;
    if (subject->emitted_final)
        shard->stats.counts[ISO_EXT]++;
    shard->stats.tentative += state == ISO_AION_TENTATIVE;
    shard->stats.retracted += state == ISO_AION_RETRACTED;
}

static void emit_by_deadline(struct iso_aion_shard *shard, struct aion_pending *subject,
                             uint32_t cause)
{
    emit_pending(shard, subject, ISO_AION_FINAL, cause);
    shard->findings.list[shard->findings.count - 1].by_deadline = true;
}

/* ---- states ---- */

static enum aion_state state_of(struct aion_pending *subject)
{
    enum aion_state state = AION_RIGHT;
    for (uint32_t i = 0; i < subject->observed_count; i++) {
        enum aion_state observed = observed_of(subject)[i].state;
        if (observed == AION_WRONG)
            return AION_WRONG;
        if (observed == AION_DEFERRED)
            state = AION_DEFERRED;
    }
    return state;
}

static void count_duration(struct iso_aion_shard *shard, uint64_t ms)
{
    int at = 0;
    for (uint64_t end = 1; at < ISO_AION_DURATIONS - 1 && ms >= end; end *= 10)
        at++;
    shard->stats.wrong_for[at]++;
}

static void add_fresh(struct iso_aion_shard *shard, struct aion_pending *subject)
{
    struct aion_dues *fresh = &shard->pending.fresh;
    if (subject->fresh)
        return;
    ISO_PUSH(fresh->heap, fresh->count, fresh->capacity,
             (struct aion_due){0, (uint32_t)(subject - shard->pending.list), subject->generation});
    subject->fresh = true;
}

static const char *const state_names[] = {"right", "wrong", "deferred", "undecided"};

static void change_state(struct iso_aion_shard *shard, struct aion_pending *subject,
                         enum aion_state state, uint32_t cause)
{
    enum aion_state old = subject->state;
    AION_LOG(shard, subject->transaction, "its read of key %" PRIu32 " of the shard is %s",
             subject->key, state_names[state]);
    subject->state = state;
    if (state == AION_WRONG && old != AION_WRONG) {
        subject->wrong_since = shard->time.now;
        if (subject->visible_below <= shard->time.limit)
            return; /* final in a moment */
        if (shard->time.now >= subject->deadline)
            emit_by_deadline(shard, subject, cause);
        else
            add_fresh(shard, subject);
    } else if (old == AION_WRONG && state != AION_WRONG) {
        count_duration(shard, shard->time.now - subject->wrong_since);
        if (subject->emitted)
            emit_pending(shard, subject, ISO_AION_RETRACTED, cause);
    }
}

void aion_pending_excuse(struct iso_aion_shard *shard, uint32_t number,
                         struct aion_observed *observed, bool row_is_wrong, uint32_t cause)
{
    struct aion_pending *subject = &shard->pending.list[number];
    struct aion_key *key = &shard->keys.list[subject->key];
    observed->row_is_wrong = row_is_wrong;
    if (row_is_wrong && observed->state == AION_WRONG) {
        observed->state = AION_DEFERRED;
    } else if (!row_is_wrong && observed->state == AION_DEFERRED) {
        if (key->flags & AION_KEY_PAGED)
            aion_page_in_all(shard, key);
        observed->state = (uint8_t)aion_judge(shard, key, observed, subject->transaction);
    }
    enum aion_state old = subject->state, new = state_of(subject);
    if ((old == AION_WRONG) != (new == AION_WRONG))
        shard->transactions.list[subject->transaction].flips++;
    change_state(shard, subject, new, cause);
}

static void aion_pending_refresh(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_key *key = &shard->keys.list[shard->pending.list[number].key];
    if (!aion_is_stale(shard, &shard->pending.list[number]) || shard->pending.list[number].waiting)
        return;
    if (key->flags & AION_KEY_PAGED)
        aion_page_in_all(shard, key);
    for (uint32_t i = 0; i < shard->pending.list[number].observed_count; i++) {
        struct aion_pending *subject = &shard->pending.list[number];
        const struct aion_observed observed = observed_of(subject)[i];
        const struct aion_entry *seen = aion_visible(
            shard, key, observed.visible_below, observed.own ? subject->transaction : ISO_NONE);
        if (observed.state == AION_UNDECIDED)
            continue;
        uint32_t cause = seen ? seen->transaction : ISO_NONE;
        shard->stats.rechecks++;
        shard->stats.steps++;
        aion_pending_set(shard, number, observed.operation,
                         aion_judge(shard, key, &observed, subject->transaction), cause);
    }
}

/* Before a violation is explained: writers that wait for their turn are known too. Of a cell, its
 * row comes first. */
static void release_writers_of(struct iso_aion_shard *shard, uint32_t number)
{
    uint32_t row = aion_row_before(shard, number), since = shard->pending.list[number].generation;
    if (row != ISO_NONE)
        release_writers_of(shard, row);
    if (!shard->pending.list[number].observed_count ||
        shard->pending.list[number].generation != since)
        return;
    const struct aion_pending *subject = &shard->pending.list[number];
    uint32_t generation = subject->generation;
    if ((subject->state == AION_WRONG && !subject->emitted_final) || subject->throttled)
        iso_aion_shard_release(shard, UINT64_MAX, UINT64_MAX, shard->time.now);
    subject = &shard->pending.list[number];
    if (subject->observed_count && subject->generation == generation)
        aion_pending_refresh(shard, number);
}

/* Why a pending verdict waits: the first of its reads that does says it. */
static bool is_for_value(struct iso_aion_shard *shard, struct aion_pending *subject,
                         enum iso_unjudged *reason, bool *waits)
{
    assert(subject->state == AION_DEFERRED);
    struct aion_key *key = &shard->keys.list[subject->key];
    const struct aion_observed *observed = observed_of(subject);
    while (observed->state != AION_DEFERRED)
        observed++;
    if (observed->row_is_wrong && key->flags & AION_KEY_PAGED)
        aion_page_in_all(shard, key);
    if (observed->row_is_wrong &&
        aion_judge(shard, key, observed, subject->transaction) == AION_WRONG) {
        *reason = ISO_UNJUDGED_WRONG_ROW;
        *waits = false;
        return true;
    }
    return aion_is_unknown_value(shard, &shard->keys.list[subject->key], observed,
                                 subject->transaction, reason, waits);
}

static void finalize_pending(struct iso_aion_shard *shard, uint32_t number);

/* The read waits for a value that nobody has told yet: an initial one, or one of an unknown
 * outcome. */
static void start_waiting(struct iso_aion_shard *shard, struct aion_pending *subject, bool initial)
{
    if (subject->waiting)
        return;
    subject->waiting = true;
    subject->initial = initial;
    *(initial ? &shard->stats.waiting_initial : &shard->stats.waiting_unknown) += 1;
}

static void stop_waiting(struct iso_aion_shard *shard, struct aion_pending *subject)
{
    if (!subject->waiting)
        return;
    subject->waiting = false;
    *(subject->initial ? &shard->stats.waiting_initial : &shard->stats.waiting_unknown) -= 1;
}

/* A register's value before the stream began, which no stream will say, is assumed to be what the
 * read lowest in position saw. Reads become final in that order. */
static void assume_initial(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_pending *subject = &shard->pending.list[number];
    const struct aion_observed *lowest = NULL;
    for (uint32_t i = 0; i < subject->observed_count; i++)
        if (observed_of(subject)[i].state == AION_DEFERRED &&
            (!lowest || observed_of(subject)[i].visible_below < lowest->visible_below))
            lowest = &observed_of(subject)[i];
    if (lowest)
        aion_set_initial(shard, subject->key, &shard->values.atoms, lowest->value, true);
}

/* `reason`: where the whole pending verdict waits. */
static void count_unjudged(struct iso_aion_shard *shard, struct aion_pending *subject,
                           enum iso_unjudged reason)
{
    shard->stats.reads_unjudged += subject->state == AION_DEFERRED;
    shard->stats.unjudged[reason] += subject->state == AION_DEFERRED;
    for (uint32_t i = 0; i < subject->observed_count; i++) {
        shard->stats.reads_judged -= observed_of(subject)[i].state == AION_DEFERRED;
        shard->stats.reads_left += observed_of(subject)[i].state == AION_DEFERRED;
    }
}

/* A cell's verdict that is known when its row's is: true, and it waits for that. */
static bool waits_for_row(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_pending *subject = &shard->pending.list[number];
    if (shard->time.ended || subject->state != AION_WRONG || !aion_row_waits(shard, number))
        return false;
    start_waiting(shard, subject, false);
    return true;
}

/* At the end a row's verdict is made final before those of its cells. */
static void finalize_row_of(struct iso_aion_shard *shard, uint32_t number)
{
    uint32_t row = aion_row_before(shard, number);
    if (shard->time.ended && row != ISO_NONE)
        finalize_pending(shard, row);
}

/* No version to come can change it. */
static void finalize_pending(struct iso_aion_shard *shard, uint32_t number)
{
    uint32_t generation = shard->pending.list[number].generation;
    finalize_row_of(shard, number);
    struct aion_pending *subject = &shard->pending.list[number];
    if (!subject->observed_count || subject->generation != generation)
        return;
    enum iso_unjudged reason = ISO_UNJUDGED_UNKNOWN_WRITER;
    if (aion_is_stale(shard, subject) && (!subject->waiting || shard->time.ended)) {
        stop_waiting(shard, subject);
        aion_pending_refresh(shard, number);
        subject = &shard->pending.list[number];
    }
    bool waits = false, for_value = subject->state == AION_DEFERRED &&
                                    is_for_value(shard, subject, &reason, &waits);
    if (for_value && reason == ISO_UNJUDGED_BEFORE_START && (!waits || shard->time.ended)) {
        assume_initial(shard, number); /* and the pending verdicts of the key are judged again */
        subject = &shard->pending.list[number];
        if (!subject->observed_count || subject->generation != generation)
            return;
        for_value =
            subject->state == AION_DEFERRED && is_for_value(shard, subject, &reason, &waits);
    }
    bool is_aged = shard->keys.list[subject->key].cold &&
                   shard->cold.list[shard->keys.list[subject->key].cold].aged;
    if (subject->state == AION_DEFERRED && !shard->time.ended && (for_value ? waits : !is_aged)) {
        start_waiting(shard, subject, for_value);
        return;
    }
    if (waits_for_row(shard, number))
        return;
    AION_LOG(shard, subject->transaction, "its read of key %" PRIu32 " of the shard is final: %s",
             subject->key, state_names[subject->state]);
    stop_waiting(shard, subject);
    if (subject->state == AION_WRONG && !subject->emitted_final)
        emit_pending(shard, subject, ISO_AION_FINAL, ISO_NONE);
    count_unjudged(shard, subject, for_value ? reason : ISO_UNJUDGED_UNKNOWN_WRITER);
    if (subject->state == AION_DEFERRED && is_aged)
        aion_row_doubt(shard, number);
    free_pending(shard, number);
}

/* Reads of the key that wait for an outcome are unjudged from here on: nobody will report it. */
void aion_pending_age(struct iso_aion_shard *shard, const struct aion_key *key)
{
    for (uint32_t at = shard->cold.list[key->cold].first_pending, next; at; at = next) {
        next = shard->pending.list[at - 1].next;
        if (shard->pending.list[at - 1].waiting && !shard->pending.list[at - 1].initial)
            finalize_pending(shard, at - 1);
    }
}

void aion_pending_start(struct iso_aion_shard *shard, uint32_t number, uint32_t cause)
{
    struct aion_pending *subject = &shard->pending.list[number];
    change_state(shard, subject, state_of(subject), cause);
    add_fresh(shard, subject);
    aion_row_changed(shard, number, cause);
}

void aion_pending_settle(struct iso_aion_shard *shard, uint32_t number)
{
    const struct aion_pending *subject = &shard->pending.list[number];
    if (subject->observed_count && subject->waiting)
        finalize_pending(shard, number);
}

bool aion_pending_end(struct iso_aion_shard *shard, uint32_t number)
{
    if (shard->pending.list[number].observed_count > 1)
        return false;
    assert(shard->pending.list[number].state == AION_RIGHT && !shard->pending.list[number].emitted);
    free_pending(shard, number);
    return true;
}

void aion_pending_set(struct iso_aion_shard *shard, uint32_t number, uint32_t operation,
                      enum aion_state state, uint32_t cause)
{
    struct aion_pending *subject = &shard->pending.list[number];
    struct aion_observed *observed = observed_of(subject);
    while (observed->operation != operation)
        observed++;
    if (observed->row_is_wrong && state == AION_WRONG)
        state = AION_DEFERRED;
    if (observed->state == state)
        return;
    assert(observed < observed_of(subject) + subject->observed_count);
    if (state == AION_UNDECIDED)
        shard->stats.reads_undecided++;
    observed->state = (uint8_t)state;
    enum aion_state old = subject->state, new = state_of(subject);
    if ((old == AION_WRONG) != (new == AION_WRONG))
        shard->transactions.list[subject->transaction].flips++;
    change_state(shard, subject, new, cause);
    uint32_t generation = subject->generation;
    aion_row_changed(shard, number, cause);
    if (shard->pending.list[number].generation == generation)
        aion_pending_settle(shard, number);
}

/* ---- looking in ---- */

void aion_pending_count_waiting(const struct iso_aion_shard *shard, uint64_t visible_below,
                                struct iso_aion_waiting *waiting)
{
    for (uint32_t i = 0; i < shard->pending.count; i++) {
        struct aion_pending *subject = &shard->pending.list[i];
        for (uint32_t j = 0; j < subject->observed_count; j++) {
            const struct aion_observed *observed = &observed_of(subject)[j];
            if (observed->visible_below > visible_below && !subject->throttled)
                continue; /* stands among the key's reads */
            if (subject->visible_below > visible_below)
                waiting->reads++;
            if (subject->visible_below > visible_below || !subject->waiting ||
                observed->state != AION_DEFERRED)
                continue;
            *(subject->initial ? &waiting->for_initial : &waiting->for_outcome) += 1;
            aion_note_oldest(subject->initial ? &waiting->initial : &waiting->outcome,
                             &shard->transactions.list[subject->transaction]);
        }
    }
}

/* ---- time ---- */

static bool is_current_due(const struct iso_aion_shard *shard, const struct aion_due *due)
{
    const struct aion_pending *subject = &shard->pending.list[due->subject];
    return subject->observed_count && subject->generation == due->generation;
}

static void schedule_pending(struct iso_aion_shard *shard, struct aion_pending *subject)
{
    uint32_t number = (uint32_t)(subject - shard->pending.list);
    if (subject->queued)
        return;
    subject->queued = true;
    aion_dues_push(&shard->pending.finals, subject->visible_below, number, subject->generation);
    if (subject->deadline != UINT64_MAX)
        aion_dues_push(&shard->pending.deadlines, subject->deadline, number, subject->generation);
}

/* Reports verdicts that were opened or went wrong since the last time and were not set right; the
 * rest stays among the fresh. */
void iso_aion_shard_emit(struct iso_aion_shard *shard)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < shard->pending.fresh.count; i++) {
        struct aion_due due = shard->pending.fresh.heap[i];
        struct aion_pending *subject = &shard->pending.list[due.subject];
        if (!is_current_due(shard, &due))
            continue;
        schedule_pending(shard, subject);
        bool wrong = subject->state == AION_WRONG && !subject->emitted &&
                     subject->visible_below > shard->time.limit && !subject->throttled &&
                     subject->tentatives < AION_TENTATIVES;
        subject->fresh =
            wrong && shard->time.now - subject->wrong_since < shard->options.emit_after_ms;
        if (subject->fresh)
            shard->pending.fresh.heap[left++] = due;
        else if (wrong) {
            subject->tentatives++;
            emit_pending(shard, subject, ISO_AION_TENTATIVE, ISO_NONE);
        }
    }
    shard->pending.fresh.count = left;
}

/* Only deadlines speak, and no late version will be compared with it any more. */
static void release_by_deadline(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_pending *subject = &shard->pending.list[number];
    enum iso_unjudged reason;
    bool waits;
    bool is_deferred = subject->state == AION_DEFERRED,
         for_value = is_deferred && is_for_value(shard, subject, &reason, &waits);
    if (is_deferred && !(for_value && reason == ISO_UNJUDGED_WRONG_ROW)) {
        start_waiting(shard, subject, for_value);
        return;
    }
    if (waits_for_row(shard, number))
        return;
    if (is_deferred)
        count_unjudged(shard, subject, reason);
    if (subject->state == AION_WRONG && !subject->emitted_final)
        emit_by_deadline(shard, subject, ISO_NONE);
    free_pending(shard, number);
}

void aion_pending_advance(struct iso_aion_shard *shard)
{
    while (shard->pending.finals.count &&
           shard->pending.finals.heap[0].time <= shard->time.passed) {
        struct aion_due due = aion_dues_pop(&shard->pending.finals);
        if (!is_current_due(shard, &due))
            continue;
        release_writers_of(shard, due.subject);
        if (!is_current_due(shard, &due))
            continue;
        if (shard->pending.list[due.subject].visible_below <= shard->time.limit)
            finalize_pending(shard, due.subject);
        else
            release_by_deadline(shard, due.subject);
    }
}

void aion_pending_tick(struct iso_aion_shard *shard)
{
    while (shard->pending.deadlines.count &&
           shard->pending.deadlines.heap[0].time <= shard->time.now) {
        struct aion_due due = aion_dues_pop(&shard->pending.deadlines);
        if (!is_current_due(shard, &due))
            continue;
        release_writers_of(shard, due.subject);
        if (!is_current_due(shard, &due))
            continue;
        struct aion_pending *subject = &shard->pending.list[due.subject];
        if (subject->state == AION_WRONG && !subject->emitted_final)
            emit_by_deadline(shard, subject, ISO_NONE);
    }
    if (shard->options.emit_after_ms && shard->pending.fresh.count)
        iso_aion_shard_emit(shard);
}
