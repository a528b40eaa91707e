/* A second opinion on polygraph: Z3, asked in the plainest way. Each event of a history has a place
 * on a line, an integer; that the places explain every read and keep every session, and that
 * writers of a key do not overlap, is written down as it stands in the definition of the level, in
 * SMT-LIB. Random histories too large to try every schedule, some with reads spoilt, with duplicate
 * values, deletes, aborted and unknown transactions. Without a program `z3` it is skipped.
 *
 * polygraph_z3 [--histories N] [--seed S]
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/property/judge.h"
#include "tests/support/arguments.h"
#include "tests/support/blackbox_workload.h"
#include "tests/support/random.h"
#include "tests/support/temporary.h"

struct question {
    const struct iso_history *history;
    bool serial, sessions;
    FILE *file;
};

/* ---- what a transaction is ---- */

static bool takes_part(const struct iso_history *history, uint32_t t)
{
    return iso_status_of(history, t) != ISO_ABORTED;
}

/* The value that a transaction leaves behind; false if it does not write the key. */
static bool final_write(const struct iso_history *history, uint32_t t, uint32_t key,
                        uint32_t *value)
{
    bool writes = false;
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
        if (history->ops.key[o] != key || !iso_kind_writes(history->ops.kind[o]))
            continue;
        writes = true;
        *value = history->ops.value[o];
    }
    return writes;
}

static bool writes_key(const struct iso_history *history, uint32_t t, uint32_t key)
{
    uint32_t value;
    return takes_part(history, t) && final_write(history, t, key, &value);
}

/* ---- the constraints ---- */

static char begin_of(const struct question *question)
{
    return question->serial ? 'p' : 'b';
}

static char commit_of(const struct question *question)
{
    return question->serial ? 'p' : 'c';
}

static void declare(const struct question *question)
{
    FILE *file = question->file;
    for (uint32_t t = 0; t < question->history->txns.count; t++) {
        if (!takes_part(question->history, t))
            continue;
        if (question->serial)
            fprintf(file, "(declare-const p%u Int)\n", t);
        else
            fprintf(file, "(declare-const b%u Int)(declare-const c%u Int)(assert (< b%u c%u))\n", t,
                    t, t, t);
        /* of unknown outcome: it happened or not */
        fprintf(file, "(declare-const in%u Bool)\n", t);
        if (iso_status_of(question->history, t) == ISO_COMMITTED)
            fprintf(file, "(assert in%u)\n", t);
    }
    fprintf(file, "(assert (distinct");
    for (uint32_t t = 0; t < question->history->txns.count; t++) {
        if (takes_part(question->history, t))
            fprintf(file, question->serial ? " p%u" : " b%u c%u", t, t);
    }
    fprintf(file, "))\n");
}

static void keep_sessions(const struct question *question)
{
    const struct iso_history *history = question->history;
    for (uint32_t s = 0; s < history->sessions.count && question->sessions; s++) {
        for (uint32_t i = history->sessions.first[s]; i < history->sessions.first[s + 1]; i++) {
            for (uint32_t j = history->sessions.first[s]; j < i; j++) {
                uint32_t earlier = history->sessions.order[j], later = history->sessions.order[i];
                if (iso_status_of(history, earlier) == ISO_COMMITTED && takes_part(history, later))
                    fprintf(question->file, "(assert (< %c%u %c%u))\n", commit_of(question),
                            earlier, begin_of(question), later);
            }
        }
    }
}

static void keep_writers_apart(const struct question *question, uint32_t t, uint32_t key)
{
    for (uint32_t u = 0; u < t && !question->serial; u++) {
        if (writes_key(question->history, u, key))
            fprintf(question->file, "(assert (or (not in%u) (not in%u) (< c%u b%u) (< c%u b%u)))\n",
                    t, u, t, u, u, t);
    }
}

/* The reader saw `writer` (ISO_NONE: nobody): every other writer came before that one, or after the
 * reader began. */
static void say_saw(const struct question *question, uint32_t reader, uint32_t key, uint32_t writer)
{
    char begin = begin_of(question), commit = commit_of(question);
    fprintf(question->file, " (and true");
    if (writer != ISO_NONE)
        fprintf(question->file, " in%u (< %c%u %c%u)", writer, commit, writer, begin, reader);
    for (uint32_t other = 0; other < question->history->txns.count; other++) {
        if (other == writer || other == reader || !writes_key(question->history, other, key))
            continue;
        fprintf(question->file, " (or (not in%u) (> %c%u %c%u)", other, commit, other, begin,
                reader);
        if (writer != ISO_NONE)
            fprintf(question->file, " (< %c%u %c%u)", commit, other, commit, writer);
        fprintf(question->file, ")");
    }
    fprintf(question->file, ")");
}

static void explain_read(const struct question *question, uint32_t reader, uint32_t operation)
{
    const struct iso_history *history = question->history;
    uint32_t key = history->ops.key[operation], value = history->ops.value[operation], left;
    fprintf(question->file, "(assert (or false");
    if (value == history->initial.other_value)
        say_saw(question, reader, key, ISO_NONE);
    for (uint32_t writer = 0; writer < history->txns.count; writer++) {
        if (writer != reader && takes_part(history, writer) &&
            final_write(history, writer, key, &left) && left == value)
            say_saw(question, reader, key, writer);
    }
    fprintf(question->file, "))\n");
}

static void explain_transaction(const struct question *question, uint32_t t)
{
    const struct iso_history *history = question->history;
    uint32_t first = history->txns.first_op[t];
    for (uint32_t o = first; o < history->txns.first_op[t + 1]; o++) {
        uint32_t before = o;
        while (before > first && history->ops.key[before - 1] != history->ops.key[o])
            before--;
        bool write = iso_kind_writes(history->ops.kind[o]);
        bool judged = !write && iso_status_of(history, t) == ISO_COMMITTED;
        if (write)
            keep_writers_apart(question, t, history->ops.key[o]);
        else if (judged && before == first)
            explain_read(question, t, o);
        else if (judged && history->ops.value[before - 1] != history->ops.value[o])
            fprintf(question->file, "(assert false)\n");
    }
}

static void ask(const struct question *question)
{
    fprintf(question->file, "(reset)\n");
    declare(question);
    keep_sessions(question);
    for (uint32_t t = 0; t < question->history->txns.count; t++) {
        if (takes_part(question->history, t))
            explain_transaction(question, t);
    }
    fprintf(question->file, "(check-sat)\n");
}

/* ---- histories ---- */

static void spoil(struct iso_history *history, struct random *random)
{
    uint32_t count = random_below(random, 3);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint32_t fate = random_below(random, 20);
        if (fate < 2)
            history->txns.flags[t] = (uint8_t)((history->txns.flags[t] & ~ISO_STATUS_MASK) |
                                               (fate ? ISO_ABORTED : ISO_UNKNOWN));
    }
    for (uint32_t o = 0; o < history->ops.count; o++) {
        if (iso_kind_of(history, o) == ISO_WRITE && random_below(random, 30) == 0) {
            history->ops.kind[o] = ISO_DELETE;
            history->ops.value[o] = ISO_ABSENT;
        }
    }
    for (uint32_t tries = 0; count > 0 && tries < 200; tries++) {
        uint32_t o = random_below(random, history->ops.count),
                 p = random_below(random, history->ops.count);
        if (iso_kind_writes(history->ops.kind[o]) || history->ops.key[o] != history->ops.key[p])
            continue;
        history->ops.value[o] = history->ops.value[p];
        count--;
    }
}

static void make(struct iso_history *history, uint64_t seed)
{
    static const char *const names[] = {"blindw", "bl", "rh", "wh", "hd", "rmw"};
    struct random random = {seed};
    struct iso_error error = {.status = ISO_OK};
    struct blackbox_workload workload = {.name = names[random_below(&random, 6)],
                                         .transactions = 12 + random_below(&random, 20),
                                         .keys = 3 + random_below(&random, 8),
                                         .sessions = 2 + random_below(&random, 5),
                                         .operations = 2 + random_below(&random, 5),
                                         .seed = seed,
                                         .serial = random_below(&random, 2)};
    if (!blackbox_workload_make(&workload, history))
        abort();
    if (random_below(&random, 4))
        spoil(history, &random);
    if (iso_history_finish(history, &error) != ISO_OK)
        abort();
}

/* ---- comparing ---- */

static const enum iso_level models[] = {ISO_SER, ISO_SI, ISO_ADYA_SI};

static int ask_all(FILE *file, int *said, unsigned histories, uint64_t seed)
{
    int wrong = 0;
    for (unsigned i = 0; i < histories; i++) {
        struct iso_history history;
        struct iso_error error = {.status = ISO_OK};
        enum iso_level level = models[i % 3];
        struct question question = {&history, iso_level_is_serial(level),
                                    iso_level_keeps_sessions(level), file};
        iso_history_init(&history);
        make(&history, seed + i);
        said[i] = judge(&history, level, &error);
        wrong += said[i] == JUDGE_UNCONFIRMED;
        if (said[i] == JUDGE_UNCONFIRMED)
            printf("not ok - history %u at %s: %s\n", i, iso_level_name(level), error.text);
        ask(&question);
        iso_history_release(&history);
    }
    return wrong;
}

static int compare_all(FILE *answers, const int *said, unsigned histories)
{
    char line[64];
    unsigned count[2] = {0}, unknown = 0, undecided = 0;
    int wrong = 0;
    for (unsigned i = 0; i < histories; i++) {
        if (!fgets(line, sizeof line, answers)) {
            printf("not ok - z3 answered %u of %u questions\n", i, histories);
            return 1;
        }
        bool holds = !strcmp(line, "sat\n"), violated = !strcmp(line, "unsat\n");
        unknown += !holds && !violated;
        undecided += said[i] == ISO_IS_UNDECIDED;
        count[violated] += holds || violated;
        if ((holds && said[i] == ISO_IS_VIOLATED) || (violated && said[i] == ISO_HOLDS)) {
            printf("not ok - history %u at %s: polygraph %s, z3 %s", i,
                   iso_level_name(models[i % 3]), judge_name(said[i]), line);
            wrong++;
        }
    }
    bool enough = count[0] > histories / 5 && count[1] > histories / 5 &&
                  unknown <= histories / 20 && !undecided;
    printf(
        "%s - z3 agrees on %u histories that hold and %u that are violated; %u unknown to it, %u to "
        "polygraph\n",
        wrong || !enough ? "not ok" : "ok", count[0], count[1], unknown, undecided);
    return wrong + !enough;
}

int main(int argc, char **argv)
{
    uint64_t number = 150, seed = 1;
    const struct argument known[] = {
        {"--histories", .number = &number}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    unsigned histories = (unsigned)number;
    char path[PATH_MAX], command[PATH_MAX + 32];
    if (system("command -v z3 >/dev/null") != 0) {
        printf("ok 1 - second opinion # SKIP there is no z3\n");
        return 0;
    }
    snprintf(path, sizeof path, "%s/polygraph-z3-XXXXXX", temporary_folder());
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    int *said = calloc(histories + 1u, sizeof *said);
    if (!file || !said)
        return 4;
    int wrong = ask_all(file, said, histories, seed);
    fclose(file);
    snprintf(command, sizeof command, "z3 -t:60000 -smt2 '%s'", path);
    FILE *answers = popen(command, "r");
    wrong += answers ? compare_all(answers, said, histories) : 1;
    if (answers)
        pclose(answers);
    remove(path);
    free(said);
    return wrong != 0;
}
