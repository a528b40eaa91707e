/* Cases: EXT verdicts that are, or once were, not plainly right; their life until they are final. */
#include "aion/shard_private.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

#define GROW(column, old, next)                                                                                        \
    ((column) = iso_column_grow((column), (size_t)(old) * sizeof *(column), (size_t)(next) * sizeof *(column)))

static struct aion_look *looks_of(struct aion_case *subject)
{
    return subject->more ? subject->more : &subject->look;
}

uint32_t aion_case_new(struct iso_aion_shard *shard, uint32_t key, uint32_t transaction, const struct aion_look *look)
{
    struct aion_rare *rare = aion_rare_of(shard, &shard->keys[key]);
    uint32_t number = shard->free_case - 1, generation = 0;
    if (shard->free_case) {
        shard->free_case = shard->cases[number].next;
        generation = shard->cases[number].generation + 1;
    } else {
        if (shard->case_count == shard->case_capacity) {
            size_t old = shard->case_capacity, next = iso_column_capacity(old, old + 1);
            GROW(shard->cases, old, next);
            shard->case_capacity = (uint32_t)next;
        }
        number = shard->case_count++;
    }
    shard->cases[number] = (struct aion_case){.key = key,
                                              .transaction = aion_transaction_hold(shard, transaction),
                                              .next = rare->first_case,
                                              .look_count = 1,
                                              .look = *look,
                                              .bound = look->bound,
                                              .deadline = UINT64_MAX,
                                              .generation = generation};
    if (shard->timeout)
        shard->cases[number].deadline = shard->transactions[transaction].arrival + shard->timeout;
    aion_value_hold(shard, &shard->keys[key], look->value);
    if (rare->first_case)
        shard->cases[rare->first_case - 1].previous = number + 1;
    rare->first_case = number + 1;
    return number;
}

void aion_case_add(struct iso_aion_shard *shard, uint32_t number, const struct aion_look *look)
{
    struct aion_case *subject = &shard->cases[number];
    struct aion_look *more = iso_reallocate(subject->more, (subject->look_count + 1) * sizeof *more);
    if (!subject->more)
        more[0] = subject->look;
    more[subject->look_count++] = *look;
    subject->more = more;
    subject->bound = look->bound > subject->bound ? look->bound : subject->bound;
    aion_value_hold(shard, &shard->keys[subject->key], look->value);
}

static void free_case(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_case *subject = &shard->cases[number];
    struct aion_key *key = &shard->keys[subject->key];
    if (subject->next)
        shard->cases[subject->next - 1].previous = subject->previous;
    if (subject->previous)
        shard->cases[subject->previous - 1].next = subject->next;
    else
        shard->rares[key->rare].first_case = subject->next;
    for (uint32_t i = 0; i < subject->look_count; i++)
        aion_value_drop(shard, key, looks_of(subject)[i].value);
    aion_transaction_drop(shard, subject->transaction);
    iso_free(subject->more);
    subject->more = NULL;
    subject->look_count = 0;
    subject->next = shard->free_case;
    shard->free_case = number + 1;
}

/* ---- events ---- */

/* The look that the report is about: the first wrong one. */
static const struct aion_look *first_wrong(struct aion_case *subject)
{
    const struct aion_look *looks = looks_of(subject), *first = NULL;
    for (uint32_t i = 0; i < subject->look_count; i++) {
        if (looks[i].state == AION_WRONG && (!first || looks[i].operation < first->operation))
            first = &looks[i];
    }
    return first ? first : looks;
}

static void tell(struct iso_aion_shard *shard, struct aion_case *subject, enum iso_aion_state state, uint32_t cause)
{
    const struct aion_look *look = first_wrong(subject);
    struct aion_key *key = &shard->keys[subject->key];
    if (key->flags & AION_KEY_CUT)
        aion_join_all(shard, key);
    struct aion_finding *finding = aion_finding_new(shard, AION_FOUND_EXT, subject->key);
    finding->state = state;
    finding->operation = look->operation;
    finding->bound = look->bound;
    finding->transaction = aion_party_of(shard, subject->transaction);
    finding->cause = aion_party_of(shard, cause);
    finding->expected = aion_expected_words(shard, key, look, look->own ? subject->transaction : ISO_NONE);
    finding->actual = aion_value_words(shard, key, look->value);
    if (state == ISO_AION_FINAL)
        aion_explain(shard, subject, look, finding);
    shard->stats.standing -= subject->told && !subject->told_final;
    shard->stats.standing += state == ISO_AION_TENTATIVE;
    subject->told = state != ISO_AION_RETRACTED;
    if (subject->told_final)
        shard->stats.counts[ISO_EXT]--;
    subject->told_final = state == ISO_AION_FINAL;
    if (subject->told_final)
        shard->stats.counts[ISO_EXT]++;
    shard->stats.tentative += state == ISO_AION_TENTATIVE;
    shard->stats.retracted += state == ISO_AION_RETRACTED;
}

static void tell_by_deadline(struct iso_aion_shard *shard, struct aion_case *subject, uint32_t cause)
{
    tell(shard, subject, ISO_AION_FINAL, cause);
    shard->findings[shard->finding_count - 1].by_deadline = true;
}

/* ---- states ---- */

static enum aion_state state_of(struct aion_case *subject)
{
    enum aion_state state = AION_RIGHT;
    for (uint32_t i = 0; i < subject->look_count; i++) {
        enum aion_state look = looks_of(subject)[i].state;
        if (look == AION_WRONG)
            return AION_WRONG;
        if (look == AION_HELD)
            state = AION_HELD;
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

static void add_fresh(struct iso_aion_shard *shard, struct aion_case *subject)
{
    struct aion_dues *fresh = &shard->fresh;
    if (subject->fresh)
        return;
    if (fresh->count == fresh->capacity) {
        fresh->capacity = fresh->capacity ? fresh->capacity * 2 : 64;
        fresh->heap = iso_reallocate(fresh->heap, fresh->capacity * sizeof *fresh->heap);
    }
    fresh->heap[fresh->count++] = (struct aion_due){0, (uint32_t)(subject - shard->cases), subject->generation};
    subject->fresh = true;
}

static void become(struct iso_aion_shard *shard, struct aion_case *subject, enum aion_state state, uint32_t cause)
{
    enum aion_state old = subject->state;
    subject->state = state;
    if (state == AION_WRONG && old != AION_WRONG) {
        subject->wrong_since = shard->now;
        if (subject->bound <= shard->limit)
            return; /* final in a moment */
        if (shard->now >= subject->deadline)
            tell_by_deadline(shard, subject, cause);
        else
            add_fresh(shard, subject);
    } else if (old == AION_WRONG && state != AION_WRONG) {
        count_duration(shard, shard->now - subject->wrong_since);
        if (subject->told)
            tell(shard, subject, ISO_AION_RETRACTED, cause);
    }
}

/* Before a violation is explained: writers that wait for their turn are known too. */
static void hear_all(struct iso_aion_shard *shard, uint32_t number)
{
    const struct aion_case *subject = &shard->cases[number];
    if (subject->state == AION_WRONG && !subject->told_final)
        iso_aion_shard_release(shard, UINT64_MAX, UINT64_MAX, shard->now);
}

/* No version to come can change it. */
static void finalise(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_case *subject = &shard->cases[number];
    if (subject->state == AION_HELD && !shard->ended) {
        subject->waiting = true;
        return;
    }
    if (subject->state == AION_WRONG && !subject->told_final)
        tell(shard, subject, ISO_AION_FINAL, ISO_NONE);
    shard->stats.reads_unjudged += subject->state == AION_HELD;
    for (uint32_t i = 0; i < subject->look_count; i++)
        shard->stats.reads_judged -= looks_of(subject)[i].state == AION_HELD;
    free_case(shard, number);
}

void aion_case_start(struct iso_aion_shard *shard, uint32_t number, uint32_t cause)
{
    struct aion_case *subject = &shard->cases[number];
    become(shard, subject, state_of(subject), cause);
    add_fresh(shard, subject);
}

bool aion_case_end(struct iso_aion_shard *shard, uint32_t number)
{
    if (shard->cases[number].look_count > 1)
        return false;
    assert(shard->cases[number].state == AION_RIGHT && !shard->cases[number].told);
    free_case(shard, number);
    return true;
}

void aion_case_set(struct iso_aion_shard *shard, uint32_t number, uint32_t operation, enum aion_state state,
                   uint32_t cause)
{
    struct aion_case *subject = &shard->cases[number];
    struct aion_look *look = looks_of(subject);
    while (look->operation != operation)
        look++;
    if (look->state == state)
        return;
    assert(look < looks_of(subject) + subject->look_count);
    if (state == AION_UNDECIDED)
        shard->stats.reads_undecided++;
    look->state = (uint8_t)state;
    enum aion_state old = subject->state, new = state_of(subject);
    if ((old == AION_WRONG) != (new == AION_WRONG))
        shard->transactions[subject->transaction].flips++;
    become(shard, subject, new, cause);
    if (subject->waiting && new != AION_HELD)
        finalise(shard, number);
}

/* ---- time ---- */

static bool is_current(const struct iso_aion_shard *shard, const struct aion_due *due)
{
    const struct aion_case *subject = &shard->cases[due->subject];
    return subject->look_count && subject->generation == due->generation;
}

static void queue(struct iso_aion_shard *shard, struct aion_case *subject)
{
    uint32_t number = (uint32_t)(subject - shard->cases);
    if (subject->queued)
        return;
    subject->queued = true;
    aion_dues_push(&shard->finals, subject->bound, number, subject->generation);
    if (subject->deadline != UINT64_MAX)
        aion_dues_push(&shard->deadlines, subject->deadline, number, subject->generation);
}

/* What was opened or went wrong since the last time and was not set right. */
void aion_cases_tell_fresh(struct iso_aion_shard *shard)
{
    for (uint32_t i = 0; i < shard->fresh.count; i++) {
        struct aion_case *subject = &shard->cases[shard->fresh.heap[i].subject];
        if (!is_current(shard, &shard->fresh.heap[i]))
            continue;
        subject->fresh = false;
        queue(shard, subject);
        if (subject->state == AION_WRONG && !subject->told && subject->bound > shard->limit)
            tell(shard, subject, ISO_AION_TENTATIVE, ISO_NONE);
    }
    shard->fresh.count = 0;
}

/* Only deadlines speak, and no late version will be compared with it any more. */
static void let_go(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_case *subject = &shard->cases[number];
    if (subject->state == AION_HELD) {
        subject->waiting = true;
        return;
    }
    if (subject->state == AION_WRONG && !subject->told_final)
        tell_by_deadline(shard, subject, ISO_NONE);
    free_case(shard, number);
}

void aion_cases_advance(struct iso_aion_shard *shard)
{
    while (shard->finals.count && shard->finals.heap[0].time <= shard->passed) {
        struct aion_due due = aion_dues_pop(&shard->finals);
        if (!is_current(shard, &due))
            continue;
        hear_all(shard, due.subject);
        if (!is_current(shard, &due))
            continue;
        if (shard->cases[due.subject].bound <= shard->limit)
            finalise(shard, due.subject);
        else
            let_go(shard, due.subject);
    }
}

void aion_cases_tick(struct iso_aion_shard *shard)
{
    while (shard->deadlines.count && shard->deadlines.heap[0].time <= shard->now) {
        struct aion_due due = aion_dues_pop(&shard->deadlines);
        if (!is_current(shard, &due))
            continue;
        hear_all(shard, due.subject);
        if (!is_current(shard, &due))
            continue;
        struct aion_case *subject = &shard->cases[due.subject];
        if (subject->state == AION_WRONG && !subject->told_final)
            tell_by_deadline(shard, subject, ISO_NONE);
    }
}
