/* The weak levels against two oracles that share no idea, on random small histories; every verdict
 * is verified.
 *
 * Histories come from sessions that read more or less stale versions, so that each level holds of
 * some and not of others: in the order in which they were made or in another one, with deletes,
 * lists, initial values, aborted transactions and such of unknown outcome, and (in a part of them)
 * repeated values. Beside that: the levels that a level implies hold where it does, and names and
 * the order of the file change nothing. A disagreement is shrunk and printed.
 *
 * weak_oracle [--histories N] [--seed S] [--level LEVEL]: histories a level
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "weak/weak.h"
#include "judge/split.h"
#include "tests/oracle/weak_oracle.h"
#include "tests/support/arguments.h"
#include "verify/verify.h"

enum {
    TRANSACTIONS = WEAK_ORACLE_MANY,
    FEW = WEAK_ORACLE_TRANSACTIONS,
    OPERATIONS = 4,
    KEYS = 3,
    SESSIONS = 6,
    LIST = 16,
    ABSENT = -1
};

struct operation {
    int kind, key, value; /* ABSENT: null */
    int list[LIST], length;
};

struct transaction {
    int session, sno, status, count;
    struct operation operations[OPERATIONS];
};

struct plan {
    int count, initial, shift; /* shift: added to names, which changes nothing */
    bool backwards; /* sessions' transactions stand in the file from the last on, with sno */
    struct transaction transactions[TRANSACTIONS];
};

static uint64_t random_state;

static unsigned draw(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state * 0x2545f4914f6cdd1du >> 33) % below);
}

/* ---- making histories ---- */

/* All versions of a key, one behind another. */
struct versions {
    int count, value[32], length[32]; /* lists: elements up to here */
    int element[LIST];
};

struct store {
    struct versions keys[KEYS];
    int next;
    bool repeats;
    unsigned staleness, writes, sessions, keys_used; /* writes: of five operations */
};

static void make_operation(struct store *store, struct operation *operation, const int *seen,
                           bool *own, int *own_value, struct operation *own_list)
{
    int key = operation->key = (int)draw(store->keys_used);
    struct versions *versions = &store->keys[key];
    bool list = key == KEYS - 1, write = draw(5) < store->writes;
    bool wild = store->staleness > 3;
    int at = wild ? (int)draw((unsigned)versions->count)
                  : versions->count - 1 - (draw(3) ? 0 : (int)draw(store->staleness + 1));
    at = at < seen[key] && !wild && draw(4) ? seen[key]
                                            : at; /* mostly not older than what the session saw */
    at = at < 0 ? 0 : at;
    if (list && write) {
        operation->kind = ISO_APPEND;
        operation->value = store->next++;
        own_list->list[own_list->length++] = operation->value;
    } else if (list) {
        operation->kind = ISO_READ_LIST;
        operation->length = versions->length[at];
        memcpy(operation->list, versions->element, sizeof operation->list);
        for (int i = 0; i < own_list->length && operation->length < LIST; i++)
            operation->list[operation->length++] = own_list->list[i];
    } else if (write) {
        operation->kind = store->repeats && draw(6) == 0 ? ISO_DELETE : ISO_WRITE;
        operation->value = operation->kind == ISO_DELETE    ? ABSENT
                           : store->repeats && draw(3) == 0 ? (int)draw(3)
                                                            : store->next++;
        own[key] = true;
        own_value[key] = operation->value;
    } else {
        operation->kind = ISO_READ;
        operation->value = own[key] && draw(12) ? own_value[key] : versions->value[at];
    }
}

static void make_transaction(struct store *store, struct transaction *transaction,
                             int seen[SESSIONS][KEYS])
{
    bool own[KEYS] = {false};
    int own_value[KEYS];
    struct operation own_list = {.length = 0};
    transaction->session = (int)draw(store->sessions);
    transaction->status = draw(8) ? ISO_COMMITTED : draw(2) ? ISO_ABORTED : ISO_UNKNOWN;
    transaction->count = 1 + (int)draw(OPERATIONS);
    for (int o = 0; o < transaction->count; o++) {
        make_operation(store, &transaction->operations[o], seen[transaction->session], own,
                       own_value, &own_list);
        for (int key = 0; key < KEYS && draw(3); key++) /* reads go forward mostly */
            seen[transaction->session][key] = store->keys[key].count - 1;
    }
    bool lands = transaction->status == ISO_COMMITTED || draw(2) ||
                 (transaction->status == ISO_ABORTED && !draw(4));
    for (int key = 0; key < KEYS && lands; key++) {
        struct versions *versions = &store->keys[key];
        int last = versions->count - 1,
            room = key == KEYS - 1 && own_list.length ? versions->length[last] : LIST;
        if (key < KEYS - 1 && own[key]) {
            versions->value[versions->count++] = own_value[key];
        } else if (room + own_list.length <= LIST - OPERATIONS) {
            memcpy(versions->element + room, own_list.list, (size_t)own_list.length * sizeof(int));
            versions->length[versions->count++] = room + own_list.length;
        }
    }
}

static void make_plan(struct plan *plan, bool repeats, bool many)
{
    struct store store = {.next = 10,
                          .repeats = repeats,
                          .staleness = draw(6),
                          .writes = 2 + draw(2),
                          .sessions = draw(3) ? 3 : 6,
                          .keys_used = !many && draw(3) ? KEYS : KEYS - 1};
    int seen[SESSIONS][KEYS] = {{0}};
    memset(plan, 0, sizeof *plan);
    plan->initial = draw(2) ? ABSENT : 0;
    for (int key = 0; key < KEYS; key++) {
        store.keys[key].count = 1;
        store.keys[key].value[0] = plan->initial;
    }
    plan->count = 2 + (int)draw((many ? TRANSACTIONS : FEW) - 1);
    bool shuffled = draw(2);
    for (int t = 0; t < plan->count; t++)
        make_transaction(&store, &plan->transactions[t], seen);
    for (int t = 0; t < plan->count; t++)
        plan->transactions[t].sno = t;
    for (int t = plan->count - 1; t > 0 && shuffled; t--) {
        int other = (int)draw((unsigned)t + 1);
        struct transaction swapped = plan->transactions[t];
        plan->transactions[t] = plan->transactions[other];
        plan->transactions[other] = swapped;
    }
}

/* ---- to histories ---- */

static iso_atom atom_of(struct iso_history *history, char letter, int number)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%c%d", letter, number);
    return number == ABSENT ? ISO_ABSENT : iso_atoms_text(&history->atoms, text, (size_t)length);
}

static bool build(const struct plan *plan, struct iso_history *history)
{
    struct iso_error error = {0};
    iso_history_init(history);
    history->initial.other_value =
        plan->initial == ABSENT ? ISO_ABSENT : atom_of(history, 'v', plan->initial);
    uint32_t input = iso_history_input(history, "plan");
    for (int i = 0; i < plan->count; i++) {
        int t = plan->backwards ? plan->count - 1 - i : i;
        const struct transaction *transaction = &plan->transactions[t];
        iso_history_begin(history, atom_of(history, 't', t + plan->shift),
                          atom_of(history, 's', transaction->session + plan->shift),
                          (uint8_t)transaction->status, iso_origin(input, (uint64_t)i + 1));
        iso_history_set_sno(history, (uint64_t)transaction->sno);
        for (int o = 0; o < transaction->count; o++) {
            const struct operation *operation = &transaction->operations[o];
            uint32_t value = ISO_ABSENT;
            if (operation->kind == ISO_READ_LIST) {
                value = iso_history_list(history);
                for (int e = 0; e < operation->length; e++)
                    iso_history_element(history, atom_of(history, 'v', operation->list[e]));
            } else if (operation->kind != ISO_DELETE) {
                value = atom_of(history, 'v', operation->value);
            }
            iso_history_operation(history, (enum iso_operation_kind)operation->kind,
                                  atom_of(history, 'k', operation->key + plan->shift), value);
        }
    }
    return iso_history_finish(history, &error) == ISO_OK;
}

/* ---- comparing ---- */

struct tally {
    unsigned holds, violated, undecided, empty, lemmas, searched, refuted;
};

static const char *judge(const struct iso_history *history, enum iso_level level,
                         enum iso_outcome *outcome, struct tally *tally)
{
    static char wrong[1200];
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    struct iso_error error = {0};
    iso_polygraph_options_init(&options);
    options.level = level;
    iso_polygraph_result_init(&result);
    wrong[0] = 0;
    enum iso_status status = iso_level_judged_by(level, ISO_BY_WEAK)
                                 ? iso_weak_check(history, &options, &result, &error)
                                 : iso_split_check(history, &options, &result, &error);
    if (status != ISO_OK)
        snprintf(wrong, sizeof wrong, "%s", error.text);
    *outcome = result.outcome;
    tally->holds += result.outcome == ISO_HOLDS;
    tally->violated += result.outcome == ISO_IS_VIOLATED;
    tally->undecided += result.outcome == ISO_IS_UNDECIDED;
    tally->lemmas += result.evidence.lemma_count;
    tally->searched += result.counters.solver_calls > 0;
    tally->refuted +=
        result.outcome == ISO_IS_VIOLATED && result.counters.solver_calls > 0 &&
        result.evidence.lemma_count &&
        result.evidence.lemmas[result.evidence.lemma_count - 1].kind == ISO_LEMMA_PROPAGATION;
    if (!wrong[0] && result.outcome != ISO_IS_UNDECIDED &&
        iso_verify(history, &result.evidence, &error) != ISO_CONFIRMED)
        snprintf(wrong, sizeof wrong, "says %s, and that is not confirmed: %s",
                 iso_outcome_name(result.outcome), error.text);
    iso_polygraph_result_release(&result);
    return wrong[0] ? wrong : NULL;
}

/* What is wrong with the verdict on a plan; NULL: nothing. */
static const char *compare(const struct plan *plan, enum iso_level level, struct tally *tally)
{
    static char wrong[1400];
    struct iso_history history;
    struct plan other = *plan;
    enum iso_outcome outcome, again;
    wrong[0] = 0;
    if (!build(plan, &history) || !history.totals.committed) {
        tally->empty++;
        iso_history_release(&history);
        return NULL;
    }
    const char *found = judge(&history, level, &outcome, tally);
    bool is_many = history.txns.count > FEW;
    bool by_orders =
             is_many ? weak_oracle_by_versions(&history) : weak_oracle_by_orders(&history, level),
         decided = outcome != ISO_IS_UNDECIDED;
    if (found)
        snprintf(wrong, sizeof wrong, "%s", found);
    else if (decided && by_orders != (outcome == ISO_HOLDS))
        snprintf(wrong, sizeof wrong, "the engine says %s, every order tried says %s",
                 iso_outcome_name(outcome), by_orders ? "holds" : "violated");
    else if (weak_oracle_knows_visibility(level) && history.txns.count <= 5 &&
             weak_oracle_by_visibility(&history, level) != by_orders)
        snprintf(wrong, sizeof wrong,
                 "every order tried says %s, every visibility tried says the opposite",
                 by_orders ? "holds" : "violated");
    for (int weak = 0; weak < ISO_LEVELS && !wrong[0] && by_orders && !is_many; weak++) {
        enum iso_level weaker = (enum iso_level)weak;
        if (iso_level_judged_by(weaker, ISO_BY_WEAK) && iso_level_implies(level, weaker) &&
            !weak_oracle_by_orders(&history, weaker))
            snprintf(wrong, sizeof wrong, "it holds, and %s, which it implies, does not",
                     iso_level_name(weaker));
    }
    iso_history_release(&history);
    other.shift = 7;
    other.backwards = true;
    struct tally none = {0};
    if (!wrong[0] && build(&other, &history)) {
        found = judge(&history, level, &again, &none);
        if (found || again != outcome)
            snprintf(wrong, sizeof wrong, "with other names, from back to front: %s",
                     found ? found : iso_outcome_name(again));
        iso_history_release(&history);
    }
    return wrong[0] ? wrong : NULL;
}

/* ---- printing and shrinking ---- */

static void shrink(struct plan *plan, enum iso_level level)
{
    struct tally tally = {0};
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (int t = 0; t < plan->count && !smaller; t++) {
            struct plan other = *plan;
            memmove(&other.transactions[t], &other.transactions[t + 1],
                    (size_t)(TRANSACTIONS - t - 1) * sizeof *other.transactions);
            other.count--;
            smaller = other.count && compare(&other, level, &tally);
            for (int o = 0; o < plan->transactions[t].count && !smaller; o++) {
                other = *plan;
                struct transaction *transaction = &other.transactions[t];
                memmove(&transaction->operations[o], &transaction->operations[o + 1],
                        (size_t)(OPERATIONS - o - 1) * sizeof *transaction->operations);
                transaction->count--;
                smaller = compare(&other, level, &tally);
            }
            if (smaller)
                *plan = other;
        }
    }
}

static void print_plan(const struct plan *plan)
{
    static const char *const kinds[] = {"r", "w", "d", "a", "rl"}, *const statuses[] = {
                                                                       "", " aborted", " unknown"};
    printf("# initial %d\n", plan->initial);
    for (int t = 0; t < plan->count; t++) {
        const struct transaction *transaction = &plan->transactions[t];
        printf("# t%d session %d%s:", t, transaction->session, statuses[transaction->status]);
        for (int o = 0; o < transaction->count; o++) {
            const struct operation *operation = &transaction->operations[o];
            printf(" %s(%d)=", kinds[operation->kind], operation->key);
            if (operation->kind != ISO_READ_LIST)
                printf("%d", operation->value);
            for (int i = 0; operation->kind == ISO_READ_LIST && i < operation->length; i++)
                printf("%s%d", i ? "," : "[", operation->list[i]);
        }
        printf("\n");
    }
}

static const char *kind_name(bool repeats, bool many)
{
    return many      ? repeats ? ", more transactions, repeated values" : ", more transactions"
           : repeats ? ", repeated values"
                     : "";
}

static bool check_level(enum iso_level level, bool repeats, bool many, unsigned count,
                        uint64_t seed, int number)
{
    struct tally tally = {0};
    for (unsigned i = 0; i < count; i++) {
        struct plan plan;
        random_state = (seed + i) * 0x9e3779b97f4a7c15u + 1;
        make_plan(&plan, repeats, many);
        if (!compare(&plan, level, &tally))
            continue;
        shrink(&plan, level);
        const char *wrong = compare(&plan, level, &tally);
        printf("not ok %d - %s%s\n# history %u of seed %llu: %s\n", number, iso_level_name(level),
               kind_name(repeats, many), i, (unsigned long long)seed, wrong ? wrong : "?");
        print_plan(&plan);
        return false;
    }
    printf(
        "ok %d - %s%s: %u histories\n# %u hold, %u violated (%u lemmas), %u undecided, %u without a committed transaction; the solver was asked of %u, and refuted %u\n",
        number, iso_level_name(level), kind_name(repeats, many), count, tally.holds, tally.violated,
        tally.lemmas, tally.undecided, tally.empty, tally.searched, tally.refuted);
    fflush(stdout);
    return true;
}

/* The levels of this program: those of weak, and pc. */
static bool is_ours(enum iso_level level, const char *only)
{
    return (level == ISO_PC || iso_level_judged_by(level, ISO_BY_WEAK)) &&
           (!only || !strcmp(only, iso_level_name(level)));
}

int main(int argc, char **argv)
{
    uint64_t histories = 2000, seed = 1;
    const char *only = NULL;
    const struct argument known[] = {{"--histories", .number = &histories},
                                     {"--seed", .number = &seed},
                                     {"--level", .text = &only},
                                     {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    bool fine = true;
    int number = 0, levels = 0;
    for (int level = 0; level < ISO_LEVELS; level++)
        levels += is_ours((enum iso_level)level, only);
    bool psi = is_ours(ISO_PSI, only);
    printf("1..%d\n", 2 * levels + 2 * psi);
    for (int repeats = 0; repeats < 2; repeats++) {
        for (int level = 0; level < ISO_LEVELS; level++) {
            if (is_ours((enum iso_level)level, only))
                fine &= check_level((enum iso_level)level, repeats, false, (unsigned)histories,
                                    seed + (uint64_t)level * histories, ++number);
        }
        if (psi)
            fine &= check_level(ISO_PSI, repeats, true, (unsigned)histories / 8 + 1,
                                seed + (uint64_t)ISO_LEVELS * histories, ++number);
    }
    return !fine;
}
