/* Row sets against what they mean: a read of each key of the range that the history names. Random small histories get
 * reads of all keys between two bounds, spelt out here one by one; the same with row sets in their place must finish as
 * the same operations, and be judged alike, but for the words that row sets have. What a page shows of a set differs in
 * the rows that are wrong.
 *
 * ranges [--histories N] [--seed S]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chronos/chronos.h"
#include "explain/row_set.h"
#include "report/report.h"
#include "tests/support/arguments.h"
#include "tests/support/capture.h"
#include "tests/support/random.h"
#include "tests/support/random_history.h"
#include "tests/support/test.h"

enum { KEYS = 16, SETS = 2 * PLAIN_TRANSACTIONS };

/* A row set as it stands in the history that is spelt out: operations `first` to `first + count - 1` of its transaction, of
 * which the first `rows` are what it returned. */
struct set {
    uint32_t transaction, first, rows, count;
    struct plain_text from, to; /* absent: open */
    struct plain_operation time;
    bool is_partial;
};

struct trial {
    struct random random;
    struct plain_history plain;
    struct plain_text keys[KEYS]; /* in their order */
    uint32_t key_count;
    struct set sets[SETS];
    uint32_t set_count;
};

static struct {
    uint64_t sets, empty, partial, open, timed, missing, extra, refused, rows;
} statistics;

/* ---- keys ---- */

static void add_key(struct trial *trial, const struct plain_text *key)
{
    uint32_t at = trial->key_count;
    for (uint32_t i = 0; i < trial->key_count; i++)
        if (!plain_compare(&trial->keys[i], key))
            return;
    if (at == KEYS)
        return;
    for (; at && plain_compare(&trial->keys[at - 1], key) > 0; at--)
        trial->keys[at] = trial->keys[at - 1];
    trial->keys[at] = *key;
    trial->key_count++;
}

static void find_keys(struct trial *trial)
{
    const struct plain_history *plain = &trial->plain;
    trial->key_count = 0;
    for (uint32_t i = 0; i < plain->initial_count; i++)
        add_key(trial, &plain->initials[i].key);
    for (uint32_t t = 0; t < plain->transaction_count; t++)
        for (uint32_t i = 0; i < plain->transactions[t].operation_count; i++)
            add_key(trial, &plain->transactions[t].operations[i].key);
}

/* ---- reads of all keys between two bounds ---- */

static bool is_within(const struct set *set, const struct plain_text *key)
{
    return (set->from.absent || plain_compare(&set->from, key) <= 0) &&
           (set->to.absent || plain_compare(key, &set->to) <= 0);
}

/* A value that somebody wrote to the key; absent: nobody did. */
static struct plain_text some_value(struct trial *trial, const struct plain_text *key)
{
    struct plain_text value = {.absent = true};
    for (uint32_t t = 0; t < trial->plain.transaction_count; t++) {
        const struct plain_transaction *transaction = &trial->plain.transactions[t];
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct plain_operation *operation = &transaction->operations[i];
            if (operation->kind == ISO_WRITE && !plain_compare(&operation->key, key) &&
                (value.absent || random_percent(&trial->random, 50)))
                value = operation->value;
        }
    }
    return value;
}

static void choose_bounds(struct trial *trial, struct set *set)
{
    struct plain_text one = trial->keys[random_below(&trial->random, trial->key_count)];
    struct plain_text other = trial->keys[random_below(&trial->random, trial->key_count)];
    bool in_order = plain_compare(&one, &other) <= 0;
    set->from = in_order ? one : other;
    set->to = in_order ? other : one;
    if (random_percent(&trial->random, 20))
        set->from = plain_text(NULL);
    if (random_percent(&trial->random, 20))
        set->to = plain_text(NULL);
}

/* Rows first, in the order in which they are drawn; then, unless the set is partial, what it lacks, in the order of keys. */
static uint32_t spell_out(struct trial *trial, struct set *set, struct plain_operation *operations)
{
    bool returned[KEYS] = {false};
    uint32_t count = 0;
    for (uint32_t k = 0; k < trial->key_count; k++) {
        struct plain_text value = some_value(trial, &trial->keys[k]);
        if (!is_within(set, &trial->keys[k]) || value.absent || random_percent(&trial->random, 40))
            continue;
        returned[k] = true;
        operations[count] = set->time;
        operations[count].key = trial->keys[k];
        operations[count++].value = value;
    }
    set->rows = count;
    set->time.snapshot.given &= count > 0; /* add_ranges takes it from a row */
    for (uint32_t k = 0; k < trial->key_count && !set->is_partial; k++) {
        if (returned[k] || !is_within(set, &trial->keys[k]))
            continue;
        operations[count] = set->time;
        operations[count].key = trial->keys[k];
        operations[count++].value = plain_text(NULL);
    }
    return set->count = count;
}

/* When the set was read: as one of the transaction's own reads was, or as the transaction. */
static struct plain_operation time_of(struct trial *trial, const struct plain_transaction *transaction)
{
    struct plain_operation time = {.kind = ISO_READ};
    if (transaction->operation_count) {
        const struct plain_operation *like =
            &transaction->operations[random_below(&trial->random, transaction->operation_count)];
        time.ots = like->ots;
        time.snapshot = like->snapshot;
        time.lock = like->lock;
    }
    return time;
}

/* Puts a set among the operations of transaction t, if there is room. Those of aborted and unknown ones are not judged. */
static void add_set(struct trial *trial, uint32_t t)
{
    struct plain_transaction *transaction = &trial->plain.transactions[t];
    struct plain_operation operations[KEYS];
    struct set set = {
        .transaction = t, .is_partial = random_percent(&trial->random, 15), .time = time_of(trial, transaction)};
    uint32_t lowest = 0;
    for (uint32_t i = 0; i < trial->set_count; i++) /* sets stand in their order */
        if (trial->sets[i].transaction == t)
            lowest = trial->sets[i].first + trial->sets[i].count;
    set.first = lowest + random_below(&trial->random, transaction->operation_count - lowest + 1);
    choose_bounds(trial, &set);
    if (transaction->status != ISO_COMMITTED)
        set.is_partial = true;
    uint32_t count = spell_out(trial, &set, operations), tail = transaction->operation_count - set.first;
    if (transaction->operation_count + count > PLAIN_OPERATIONS)
        return;
    memmove(&transaction->operations[set.first + count], &transaction->operations[set.first],
            tail * sizeof *transaction->operations);
    memcpy(&transaction->operations[set.first], operations, count * sizeof *operations);
    transaction->operation_count += count;
    trial->sets[trial->set_count++] = set;
    statistics.sets++;
    statistics.empty += !set.rows;
    statistics.partial += set.is_partial;
    statistics.open += set.from.absent || set.to.absent;
    statistics.timed += set.time.ots.given || set.time.snapshot.given || set.time.lock;
}

/* ---- the same with row sets ---- */

static iso_atom atom_of(struct iso_history *history, const struct plain_text *text)
{
    return text->absent ? ISO_ABSENT : iso_atoms_text(&history->atoms, text->text, strlen(text->text));
}

/* Without what sets lack. */
static void take_back(const struct trial *trial, struct plain_history *short_one)
{
    *short_one = trial->plain;
    for (uint32_t i = trial->set_count; i-- > 0;) {
        const struct set *set = &trial->sets[i];
        struct plain_transaction *transaction = &short_one->transactions[set->transaction];
        uint32_t lacks = set->count - set->rows, behind = set->first + set->count;
        memmove(&transaction->operations[set->first + set->rows], &transaction->operations[behind],
                (transaction->operation_count - behind) * sizeof *transaction->operations);
        transaction->operation_count -= lacks;
    }
}

static void add_ranges(const struct trial *trial, struct iso_history *history)
{
    uint32_t lacked = 0;
    history->ranges.capacity = history->ranges.count = trial->set_count;
    ISO_COLUMN_RESIZE(history->ranges.list, 0, trial->set_count);
    for (uint32_t i = 0; i < trial->set_count; i++) {
        const struct set *set = &trial->sets[i];
        lacked = i && set[-1].transaction == set->transaction ? lacked : 0;
        struct iso_range *range = &history->ranges.list[i];
        *range = (struct iso_range){.transaction = set->transaction,
                                    .first = set->first - lacked,
                                    .count = set->rows,
                                    .rows = set->rows,
                                    .from = atom_of(history, &set->from),
                                    .to = atom_of(history, &set->to),
                                    .is_partial = set->is_partial};
        lacked += set->count - set->rows;
        if (!set->rows) {
            range->kind = set->time.ots.given ? ISO_OPERATION_OTS : set->time.lock ? ISO_OPERATION_LOCK : 0;
            range->ots = set->time.ots.physical;
            range->ots_logical = set->time.ots.logical;
            if (range->kind)
                history->flags[set->transaction] |= ISO_OWN_TIMES;
            continue;
        }
        uint32_t o = history->first_operation[set->transaction] + range->first;
        range->kind = history->kind[o] & (uint8_t)~ISO_KIND_MASK;
        range->ots = history->ots ? history->ots[o] : 0;
        range->ots_logical = history->ots_logical ? history->ots_logical[o] : 0;
    }
}

/* ---- comparing ---- */

static bool same_text(const struct iso_history *a, iso_atom one, const struct iso_history *b, iso_atom other)
{
    char left[ISO_ATOM_TEXT_MAX], right[ISO_ATOM_TEXT_MAX];
    size_t left_length, right_length;
    if (one == ISO_ABSENT || other == ISO_ABSENT)
        return one == other;
    const char *left_text = iso_atom_text(&a->atoms, one, left, &left_length);
    const char *right_text = iso_atom_text(&b->atoms, other, right, &right_length);
    return left_length == right_length && !memcmp(left_text, right_text, left_length);
}

static bool same_operations(const struct iso_history *a, const struct iso_history *b)
{
    if (a->operation_count != b->operation_count ||
        memcmp(a->first_operation, b->first_operation, (a->transaction_count + 1) * sizeof *a->first_operation))
        return false;
    for (uint32_t o = 0; o < a->operation_count; o++) {
        bool is_list = iso_kind_of(a, o) == ISO_READ_LIST;
        if (a->kind[o] != b->kind[o] || !same_text(a, a->key_atom[a->key[o]], b, b->key_atom[b->key[o]]) ||
            (!is_list && !same_text(a, a->value[o], b, b->value[o])) ||
            (a->kind[o] & ISO_OPERATION_OTS && a->ots[o] != b->ots[o]))
            return false;
    }
    return true;
}

/* The word that the violation has if its read belongs to a set. */
static enum iso_violation_kind kind_of(const struct trial *trial, const struct iso_history *history,
                                       const struct iso_violation *violation)
{
    if (violation->axiom != ISO_EXT || violation->operation == ISO_NONE)
        return violation->kind;
    uint32_t at = violation->operation - history->first_operation[violation->transaction];
    for (uint32_t i = 0; i < trial->set_count; i++) {
        const struct set *set = &trial->sets[i];
        if (set->transaction != violation->transaction || at < set->first || at >= set->first + set->count)
            continue;
        bool was_nothing =
            violation->expected.is_list ? !violation->expected.count : violation->expected.atom == ISO_ABSENT;
        return at >= set->first + set->rows ? ISO_MISSING_ROW : was_nothing ? ISO_EXTRA_ROW : violation->kind;
    }
    return violation->kind;
}

/* ---- what a page shows of it ---- */

/* The value that the verdict expects of a read; NULL: it finds nothing wrong with it. */
static const struct iso_value *expected_of(const struct iso_verdict *verdict, uint32_t operation)
{
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        if (verdict->violations[i].axiom == ISO_EXT && verdict->violations[i].operation == operation)
            return &verdict->violations[i].expected;
    return NULL;
}

/* It is the first operation of its transaction on its key, whose timestamps are in order: only the snapshot decides. */
static bool is_plain(const struct iso_history *history, const struct iso_verdict *verdict, uint32_t operation)
{
    uint32_t transaction = iso_history_owner(history, operation);
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        if (verdict->violations[i].axiom == ISO_TIMESTAMP && verdict->violations[i].transaction == transaction)
            return false;
    for (uint32_t o = history->first_operation[transaction]; o < operation; o++)
        if (history->key[o] == history->key[operation])
            return false;
    return true;
}

/* Each row of the set that the verdict finds wrong differs, and no other one, as far as snapshots alone decide. */
static bool is_shown_right(const struct iso_argument *argument, const struct iso_verdict *verdict)
{
    const struct iso_history *history = argument->facts->history;
    struct iso_row_set set;
    bool is_right = true;
    if (iso_row_set_init(&set, argument))
        for (uint32_t i = 0; i < set.row_count && is_right; i++) {
            const struct iso_row_set_row *row = &set.rows[i];
            const struct iso_value *expected = expected_of(verdict, row->operation);
            bool decides = is_plain(history, verdict, row->operation) && !history->unknown_count;
            statistics.rows += expected != NULL;
            if (expected && !iso_key_is_list(history, history->key[row->operation]))
                is_right = row->differs;
            else if (decides && !expected)
                is_right = !row->differs;
        }
    iso_row_set_release(&set);
    return is_right;
}

static bool are_shown_right(struct iso_history *history, const struct iso_verdict *verdict)
{
    struct iso_output output;
    struct iso_claims claims;
    struct iso_facts facts;
    struct iso_error error = ISO_NO_ERROR;
    bool are_right = true;
    test_capture_start(&output);
    iso_report_json(&output, verdict, 0);
    char *json = test_capture_end(&output), *padded = test_padded(json, strlen(json), 'x');
    iso_claims_init(&claims, history);
    are_right = iso_claims_read(&claims, padded, strlen(json), "verdict", &error) == ISO_OK;
    iso_facts_init(&facts, &claims);
    for (uint32_t i = 0; i < claims.count && are_right; i++) {
        struct iso_argument argument;
        iso_argument_init(&argument, &facts, &claims.list[i], ISO_WALL_COUNTER);
        are_right = is_shown_right(&argument, verdict);
        iso_argument_release(&argument);
    }
    iso_facts_release(&facts);
    iso_claims_release(&claims);
    free(padded);
    free(json);
    return are_right;
}

static bool same_verdict(const struct trial *trial, const struct iso_history *spelt, struct iso_history *sets,
                         enum iso_level level)
{
    struct iso_check_options options = {.level = level, .session_order = true, .threads = 1};
    struct iso_verdict one, other;
    struct iso_error error = ISO_NO_ERROR, second = ISO_NO_ERROR;
    iso_verdict_init(&one, spelt, level, 0);
    iso_verdict_init(&other, sets, level, 0);
    iso_chronos_check(spelt, &options, &one, &error);
    iso_chronos_check(sets, &options, &other, &second);
    bool same = error.status == second.status;
    statistics.refused += error.status != ISO_OK;
    if (same && error.status == ISO_OK) {
        iso_verdict_conclude(&one, false);
        iso_verdict_conclude(&other, false);
        same = one.outcome == other.outcome && one.reads_judged == other.reads_judged &&
               one.violation_count == other.violation_count;
    }
    for (uint32_t i = 0; same && error.status == ISO_OK && i < one.violation_count; i++) {
        const struct iso_violation *left = &one.violations[i], *right = &other.violations[i];
        enum iso_violation_kind kind = kind_of(trial, spelt, left);
        same = left->axiom == right->axiom && left->transaction == right->transaction && left->other == right->other &&
               left->operation == right->operation && kind == right->kind &&
               left->writer_expected == right->writer_expected && left->writer_actual == right->writer_actual;
        statistics.missing += kind == ISO_MISSING_ROW;
        statistics.extra += kind == ISO_EXTRA_ROW;
    }
    same = same && (error.status != ISO_OK || are_shown_right(sets, &other));
    iso_verdict_release(&one);
    iso_verdict_release(&other);
    return same;
}

static bool agrees(struct trial *trial)
{
    static struct plain_history short_one;
    struct iso_history spelt, sets;
    struct iso_error error = ISO_NO_ERROR, second = ISO_NO_ERROR;
    iso_history_init(&spelt);
    iso_history_init(&sets);
    plain_history_build(&trial->plain, &spelt, &error);
    take_back(trial, &short_one);
    plain_history_fill(&short_one, &sets);
    add_ranges(trial, &sets);
    iso_history_finish(&sets, &second);
    bool same = error.status == second.status;
    if (same && error.status == ISO_OK)
        same = same_operations(&spelt, &sets) && same_verdict(trial, &spelt, &sets, ISO_SI) &&
               same_verdict(trial, &spelt, &sets, ISO_SER);
    iso_history_release(&spelt);
    iso_history_release(&sets);
    return same;
}

int main(int argc, char **argv)
{
    static struct trial trial;
    uint64_t histories = 5000, seed = 1;
    const struct argument known[] = {{"--histories", &histories, NULL}, {"--seed", &seed, NULL}, {0}};
    struct random_history_options options = random_history_defaults();
    if (!arguments_read(known, argc, argv))
        return 2;
    options.max_operations = 3;
    for (uint64_t i = 0; i < histories; i++) {
        random_history(seed + i, &options, &trial.plain);
        trial.random = (struct random){seed + i};
        trial.set_count = 0;
        find_keys(&trial);
        for (uint32_t t = 0; t < trial.plain.transaction_count && trial.key_count; t++)
            for (uint32_t n = random_below(&trial.random, 3); n > 0; n--)
                add_set(&trial, t);
        if (agrees(&trial))
            continue;
        printf("not ok 1 - row sets are judged as what they mean, seed %" PRIu64 "\n1..1\n", seed + i);
        for (uint32_t s = 0; s < trial.set_count; s++)
            printf("# transaction %u: operations %u to %u, of which %u are rows, from %s to %s\n",
                   trial.sets[s].transaction, trial.sets[s].first, trial.sets[s].first + trial.sets[s].count - 1,
                   trial.sets[s].rows, trial.sets[s].from.absent ? "" : trial.sets[s].from.text,
                   trial.sets[s].to.absent ? "" : trial.sets[s].to.text);
        plain_history_print(&trial.plain, stdout, "#   ");
        return 1;
    }
    printf("# %" PRIu64 " histories: %" PRIu64 " sets, %" PRIu64 " of them empty, %" PRIu64 " partial, %" PRIu64
           " open, %" PRIu64 " with a time of their own; %" PRIu64 " rows missing, %" PRIu64 " too many, shown %" PRIu64
           " times; %" PRIu64 " checks refused\n",
           histories, statistics.sets, statistics.empty, statistics.partial, statistics.open, statistics.timed,
           statistics.missing, statistics.extra, statistics.rows, statistics.refused);
    bool enough = statistics.rows > histories && statistics.sets > histories && statistics.missing > histories / 4 &&
                  statistics.extra > histories / 20;
    printf("%s 1 - row sets are judged as what they mean\n1..1\n", enough ? "ok" : "not ok");
    return !enough;
}
