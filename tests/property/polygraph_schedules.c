/* polygraph against "try every schedule", on random small histories, at every level; every verdict
 * is verified.
 *
 * No proof has a lemma to spare, and none may end undecided but those in which nothing is judged. A
 * history is made by running transactions against a toy database (serial, or with stale snapshots)
 * and then spoiling some reads, so that about half of them hold. A disagreement is shrunk and
 * printed. The windows and the solver by themselves get other histories, as many.
 *
 * polygraph_schedules [--histories N] [--seed S] [--way W]: histories a level; the ways in the
 * order of their enum
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evidence/evidence.h"
#include "polygraph/polygraph.h"
#include "tests/oracle/schedule_oracle.h"
#include "tests/support/arguments.h"
#include "verify/verify.h"

enum { TRANSACTIONS = 8, OPERATIONS = 5, KEYS = 5, SESSIONS = 4, LIST = 24, LONG_PROOF = 512 };

struct operation {
    int kind, key;
    int value;              /* -1: absent */
    int list[LIST], length; /* list reads */
};

struct transaction {
    int session, status, count, begun, ended; /* by the client's clock; -1: not known */
    struct operation operations[OPERATIONS];
};

struct plan {
    int count, initial; /* -1: absent */
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

struct database {
    int value[KEYS], list[KEYS][LIST], length[KEYS];
};

struct shape {
    unsigned values, elements, keys, lists, sessions, spoil, stale; /* values, elements 0: unique */
};

static int next_value;

static void make_operation(struct operation *operation, const struct shape *shape,
                           struct database *view)
{
    operation->key = (int)draw(shape->keys);
    bool list = operation->key >= KEYS - (int)shape->lists, write = draw(2);
    int key = operation->key;
    if (list && write) {
        operation->kind = ISO_APPEND;
        operation->value = shape->elements ? (int)draw(shape->elements) : next_value++;
        if (view->length[key] < LIST)
            view->list[key][view->length[key]++] = operation->value;
    } else if (list) {
        operation->kind = ISO_READ_LIST;
        operation->length = view->length[key];
        memcpy(operation->list, view->list[key], sizeof operation->list);
    } else if (write) {
        bool gone = draw(8) == 0;
        operation->kind = gone ? ISO_DELETE : ISO_WRITE;
        operation->value = gone ? -1 : shape->values ? (int)draw(shape->values) : next_value++;
        view->value[key] = operation->value;
    } else {
        operation->kind = ISO_READ;
        operation->value = view->value[key];
    }
}

static void spoil(struct operation *operation, const struct shape *shape)
{
    if (operation->kind == ISO_READ)
        operation->value =
            (int)draw(shape->values ? shape->values + 1 : (unsigned)next_value + 1) - 1;
    if (operation->kind == ISO_READ_LIST && shape->elements && draw(2) && operation->length < LIST)
        operation->list[operation->length++] = (int)draw(shape->elements);
    else if (operation->kind == ISO_READ_LIST && operation->length)
        operation->length -= 1 + (int)draw((unsigned)operation->length);
}

/* Clients' clocks, more or less in the order of running. */
static void make_times(struct plan *plan)
{
    for (int t = 0; t < plan->count; t++) {
        struct transaction *transaction = &plan->transactions[t];
        transaction->begun = draw(10) ? 10 * t + (int)draw(8) : -1;
        transaction->ended = draw(10) ? 10 * t + 8 + (int)draw(25) : -1;
        if (draw(12) == 0)
            transaction->begun = (int)draw(10 * TRANSACTIONS);
        if (transaction->ended >= 0 && transaction->ended < transaction->begun)
            transaction->ended = transaction->begun;
    }
}

static void make_plan(struct plan *plan, bool lists)
{
    struct shape shape = {.values = draw(2) ? 0 : 2 + draw(3),
                          .keys = 1 + draw(KEYS),
                          .lists = draw(3) ? 0 : draw(4),
                          .sessions = 1 + draw(SESSIONS),
                          .spoil = draw(3) ? 0 : 4 + draw(40),
                          .stale = draw(4)};
    if (lists) { /* mostly, and of few elements */
        shape.keys = 2 + draw(2);
        shape.lists = KEYS - draw(2);
        shape.elements = 1 + draw(6);
    }
    struct database databases[TRANSACTIONS + 1];
    memset(plan, 0, sizeof *plan);
    memset(databases, 0, sizeof databases);
    plan->count = 2 + (int)draw(TRANSACTIONS - 1);
    plan->initial = draw(2) ? -1 : 0;
    next_value = 1;
    for (int key = 0; key < KEYS; key++)
        databases[0].value[key] = plan->initial;
    for (int t = 0; t < plan->count; t++) {
        struct transaction *transaction = &plan->transactions[t];
        int back = shape.stale && t ? (int)draw(shape.stale + 1) : 0;
        struct database view = databases[back < t ? t - back : 0], *next = &databases[t + 1];
        transaction->session = (int)draw(shape.sessions);
        unsigned fate = draw(12);
        transaction->status = fate == 0 ? ISO_ABORTED : fate == 1 ? ISO_UNKNOWN : ISO_COMMITTED;
        transaction->count = 1 + (int)draw(OPERATIONS);
        *next = databases[t];
        for (int o = 0; o < transaction->count; o++) {
            struct operation *operation = &transaction->operations[o];
            make_operation(operation, &shape, &view);
            if (shape.spoil && draw(shape.spoil) == 0)
                spoil(operation, &shape);
            bool visible = transaction->status == ISO_COMMITTED ||
                           (transaction->status == ISO_UNKNOWN && draw(2)) || draw(8) == 0;
            if (operation->kind == ISO_APPEND && next->length[operation->key] < LIST && visible)
                next->list[operation->key][next->length[operation->key]++] = operation->value;
            else if ((operation->kind == ISO_WRITE || operation->kind == ISO_DELETE) && visible)
                next->value[operation->key] = operation->value;
        }
    }
    make_times(plan);
    /* the input's order must not help */
    for (int t = plan->count - 1; t > 0 && draw(2); t--) {
        int other = (int)draw((unsigned)t + 1);
        if (plan->transactions[t].session == plan->transactions[other].session)
            continue;
        struct transaction moved = plan->transactions[t];
        plan->transactions[t] = plan->transactions[other];
        plan->transactions[other] = moved;
    }
}

static iso_atom atom(int value)
{
    return value < 0 ? ISO_ABSENT : (iso_atom)value;
}

static void build(const struct plan *plan, struct iso_history *history)
{
    struct iso_error error = {0};
    iso_history_init(history);
    iso_history_input(history, "random");
    history->initial.other_value = atom(plan->initial);
    for (int t = 0; t < plan->count; t++) {
        const struct transaction *transaction = &plan->transactions[t];
        iso_history_begin(history, (iso_atom)t, (iso_atom)transaction->session,
                          (uint8_t)transaction->status, iso_origin(0, (uint64_t)t + 1));
        if (transaction->begun >= 0)
            iso_history_set_begun(history, (uint64_t)transaction->begun);
        if (transaction->ended >= 0)
            iso_history_set_ended(history, (uint64_t)transaction->ended);
        for (int o = 0; o < transaction->count; o++) {
            const struct operation *operation = &transaction->operations[o];
            uint32_t value = atom(operation->value);
            if (operation->kind == ISO_READ_LIST) {
                value = iso_history_list(history);
                for (int i = 0; i < operation->length; i++)
                    iso_history_element(history, (iso_atom)operation->list[i]);
            }
            iso_history_operation(history, (enum iso_operation_kind)operation->kind,
                                  (iso_atom)operation->key, value);
        }
    }
    if (iso_history_finish(history, &error) != ISO_OK) {
        printf("Bail out! %s\n", error.text);
        exit(1);
    }
}

/* ---- comparing ---- */

struct tally {
    unsigned holds, violated, empty, refused, by_graph, by_solver,
        lemmas; /* empty: nothing is judged */
};

/* Verified in the form in which it is written and read back; by one file in memory, since millions
 * are. */
static bool is_confirmed(const struct iso_history *history, const struct iso_evidence *evidence,
                         struct iso_error *error)
{
    static int descriptor;
    static char path[32];
    struct iso_evidence again;
    struct iso_output output;
    if (!descriptor)
        descriptor = memfd_create("evidence", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    bool fine = lseek(descriptor, 0, SEEK_SET) == 0;
    iso_output_to(&output, descriptor, path);
    iso_evidence_write(&output, history, evidence);
    fine = iso_output_close(&output, error) == ISO_OK && fine &&
           ftruncate(descriptor, lseek(descriptor, 0, SEEK_CUR)) ==
               0; /* what is left of the one before */
    iso_evidence_init(&again);
    fine = fine && iso_evidence_read(path, history, &again, error) == ISO_OK &&
           iso_verify(history, &again, error) == ISO_CONFIRMED;
    iso_evidence_release(&again);
    return fine;
}

/* The evidence without a lemma; the columns are shared. */
static struct iso_evidence without(const struct iso_evidence *evidence, uint32_t lemma,
                                   struct iso_lemma *lemmas)
{
    struct iso_evidence part = *evidence;
    memcpy(lemmas, evidence->lemmas, lemma * sizeof *lemmas);
    memcpy(lemmas + lemma, evidence->lemmas + lemma + 1,
           (evidence->lemma_count - lemma - 1) * sizeof *lemmas);
    part.lemmas = lemmas;
    part.lemma_count--;
    return part;
}

/* A proof that is confirmed without one of its lemmas was not trimmed. Of long ones that is not
 * asked. */
static bool has_spare_lemma(const struct iso_history *history, const struct iso_evidence *evidence)
{
    struct iso_lemma *lemmas = calloc(evidence->lemma_count + 1, sizeof *lemmas);
    bool spare = false, is_long = evidence->lemma_count > LONG_PROOF;
    for (uint32_t i = 0; i + 1 < evidence->lemma_count && !spare && !is_long; i++) {
        struct iso_evidence part = without(evidence, i, lemmas);
        struct iso_error error = {0};
        spare = iso_verify(history, &part, &error) == ISO_CONFIRMED;
    }
    free(lemmas);
    return spare;
}

/* NULL if all agrees, else what does not. */
static const char *compare(const struct plan *plan, const struct iso_polygraph_options *options,
                           struct tally *tally)
{
    struct iso_history history;
    struct iso_polygraph_result result;
    struct iso_error error = {0};
    static char text[2048];
    const char *wrong = NULL;
    build(plan, &history);
    iso_polygraph_result_init(&result);
    if (iso_polygraph_check(&history, options, &result, &error) != ISO_OK) {
        tally->refused++;
        if (!iso_level_needs_times(options->level) || (history.txns.begun && history.txns.ended))
            wrong = "refused although nothing is missing";
    } else if (result.outcome == ISO_IS_UNDECIDED) {
        tally->empty++;
        if (history.totals.committed)
            wrong = result.reason ? result.reason : "undecided without a reason";
    } else {
        bool holds = schedule_oracle_holds(&history, options->level, options->drift);
        *(holds ? &tally->holds : &tally->violated) += 1;
        tally->by_graph += result.cycles != 0;
        tally->by_solver += result.counters.solver_calls != 0;
        if (holds != (result.outcome == ISO_HOLDS)) {
            wrong = holds ? "false alarm" : "false accept";
        } else if (!is_confirmed(&history, &result.evidence, &error)) {
            snprintf(text, sizeof text, "evidence is not confirmed: %s", error.text);
            wrong = text;
        } else if (has_spare_lemma(&history, &result.evidence)) {
            wrong = "a lemma of the proof is not needed";
        }
        tally->lemmas += result.evidence.lemma_count;
    }
    iso_polygraph_result_release(&result);
    iso_history_release(&history);
    return wrong;
}

static void shrink(struct plan *plan, const struct iso_polygraph_options *options)
{
    struct tally tally = {0};
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (int t = 0; t < plan->count; t++) {
            struct plan other = *plan;
            memmove(&other.transactions[t], &other.transactions[t + 1],
                    (size_t)(TRANSACTIONS - t - 1) * sizeof other.transactions[0]);
            other.count--;
            if (other.count && compare(&other, options, &tally)) {
                *plan = other;
                smaller = true;
                break;
            }
            for (int o = 0; o < plan->transactions[t].count && !smaller; o++) {
                other = *plan;
                struct transaction *transaction = &other.transactions[t];
                memmove(&transaction->operations[o], &transaction->operations[o + 1],
                        (size_t)(OPERATIONS - o - 1) * sizeof transaction->operations[0]);
                transaction->count--;
                if (compare(&other, options, &tally)) {
                    *plan = other;
                    smaller = true;
                }
            }
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
        printf("# tid %d session %d%s %d to %d:", t, transaction->session,
               statuses[transaction->status], transaction->begun, transaction->ended);
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

/* The whole route; or without what would decide before the windows, the lookahead schedule, the
 * search or the solver have to. */
enum way { ROUTE, WINDOWS, LOOKAHEAD, SEARCH, SOLVER, LISTS, WAYS };

static const char *const names_of_ways[WAYS] = {"",
                                                ", in windows",
                                                ", looking ahead",
                                                ", by search",
                                                ", solver alone",
                                                ", lists that repeat elements"};

/* Whether the way is without some steps always. */
static bool is_part(enum way way)
{
    return way != ROUTE && way != LISTS;
}

static bool check_level(enum iso_level level, unsigned count, uint64_t seed, enum way way,
                        int number)
{
    struct iso_polygraph_options options;
    struct tally tally = {0};
    iso_polygraph_options_init(&options);
    options.level = level;
    options.no_search = is_part(way) && way != SEARCH;
    options.no_windows = way == SOLVER || way == SEARCH;
    options.no_schedule = way == LOOKAHEAD;
    options.no_saturation = options.no_meet = options.no_join = way == SOLVER;
    for (unsigned i = 0; i < count; i++) {
        struct plan plan;
        random_state = (seed + i) * 0x9e3779b97f4a7c15u + 1;
        make_plan(&plan, way == LISTS);
        options.drift = draw(3) ? 0 : draw(12);
        if (way == LISTS)
            options.no_saturation = options.no_meet = options.no_join = draw(4) == 0;
        else if (way == SEARCH || way == LOOKAHEAD)
            options.no_saturation = draw(2);
        options.no_advice = is_part(way) || draw(2);
        const char *wrong = compare(&plan, &options, &tally);
        if (!wrong)
            continue;
        shrink(&plan, &options);
        wrong = compare(&plan, &options, &tally);
        printf("not ok %d - %s%s\n# history %u of seed %llu: %s\n", number, iso_level_name(level),
               names_of_ways[way], i, (unsigned long long)seed, wrong);
        print_plan(&plan);
        return false;
    }
    printf(
        "ok %d - %s%s: %u histories\n# %u hold, %u violated (%u by a graph, %u lemmas), %u without a committed transaction, "
        "%u with the solver\n",
        number, iso_level_name(level), names_of_ways[way], count, tally.holds, tally.violated,
        tally.by_graph, tally.lemmas, tally.empty, tally.by_solver);
    return true;
}

/* pc is polygraph's through split histories: weak_oracle.c has it. */
static bool is_ours(enum iso_level level)
{
    return iso_level_judged_by(level, ISO_BY_POLYGRAPH) && level != ISO_PC;
}

int main(int argc, char **argv)
{
    uint64_t histories = 3000, seed = 1, only = WAYS;
    const struct argument known[] = {{"--histories", .number = &histories},
                                     {"--seed", .number = &seed},
                                     {"--way", .number = &only},
                                     {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    unsigned count = (unsigned)histories;
    bool fine = true;
    int number = 0;
    int first = only < WAYS ? (int)only : 0, end = only < WAYS ? first + 1 : WAYS;
    int models = 0;
    for (int level = 0; level < ISO_LEVELS; level++)
        models += is_ours((enum iso_level)level);
    printf("1..%d\n", (end - first) * models);
    for (int way = first; way < end; way++) {
        for (int level = 0; level < ISO_LEVELS; level++) {
            if (is_ours((enum iso_level)level))
                fine &= check_level((enum iso_level)level, count,
                                    is_part((enum way)way) ? seed + count : seed, (enum way)way,
                                    ++number);
        }
    }
    return !fine;
}
