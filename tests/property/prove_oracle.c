/* prove against enumeration: random programs of the core language, with sessions, aborts, locks,
 * symbolic indices, inputs; each level asked together with the others and apart. Their rules are
 * made so that levels differ: "not this state", of a state that some levels reach and others do
 * not. What holds or breaks stays so when names change and when the calls come in another order,
 * and what a level allows every weaker one does.
 *
 * prove_oracle [--programs N] [--seed S] [--show N] [--progress N]
 *
 * --progress: a line after every N programs, for runs of hours.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "prove/prove.h"
#include "prove_page/cycle.h"
#include "tests/oracle/program_oracle.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"

enum { MOST = 150000, CALLS = 4 };

struct program {
    struct iso_text head, calls[CALLS], rules;
    unsigned call_count, session; /* the first `session` calls are one session's */
};

static struct {
    uint64_t violated[ISO_PROVE_LEVELS], programs, differ, aborts, locks, executions, dull,
        many; /* dull: nothing breaks at ser; many: executions */
} statistics;

static uint64_t seed = 1, programs = 300, show, progress;

/* ---- a random program ---- */

static const char *const cells[] = {"x", "y", "t[0]", "t[1]"};

static void put_operand(struct random *random, struct iso_text *text, bool body)
{
    uint32_t kind = random_below(random, body ? 10 : 6);
    if (kind < 4)
        iso_text_put(text, cells[random_below(random, 4)]);
    else if (kind < 6)
        iso_text_format(text, "%u", random_below(random, 3));
    else if (kind < 8)
        iso_text_put(text, "p");
    else if (kind < 9)
        iso_text_put(text, "t[p]");
    else
        iso_text_put(text, random_percent(random, 50) ? "t[x]" : "(sum(i in 0..1: t[i]))");
}

static void put_value(struct random *random, struct iso_text *text)
{
    static const char *const signs[] = {" + ", " - ", " + ", " * "};
    if (random_percent(random, 15)) {
        iso_text_put(text, "(");
        put_operand(random, text, true);
        iso_text_put(text, " > ");
        put_operand(random, text, true);
        iso_text_put(text, ") ? ");
        put_operand(random, text, true);
        iso_text_put(text, " : ");
        put_operand(random, text, true);
        return;
    }
    put_operand(random, text, true);
    if (random_percent(random, 55)) {
        iso_text_put(text, signs[random_below(random, 4)]);
        put_operand(random, text, true);
    }
}

static void put_condition(struct random *random, struct iso_text *text)
{
    static const char *const signs[] = {" == ", " != ", " < ", " >= "};
    put_operand(random, text, true);
    iso_text_put(text, signs[random_below(random, 4)]);
    put_operand(random, text, true);
}

static void put_target(struct random *random, struct iso_text *text)
{
    uint32_t kind = random_below(random, 10);
    iso_text_put(text, kind < 8 ? cells[kind % 4] : kind < 9 ? "t[p]" : "t[y]");
}

static void put_statement(struct random *random, struct iso_text *text, unsigned depth)
{
    uint32_t kind = random_below(random, 20);
    if (kind < 9) {
        put_target(random, text);
        iso_text_put(text, " := ");
        put_value(random, text);
    } else if (kind < 12) {
        iso_text_put(text, "let p = ");
        put_value(random, text);
    } else if (kind < 14) {
        iso_text_put(text, "lock ");
        put_target(random, text);
    } else if (kind < 15) {
        iso_text_put(text, "abort if ");
        put_condition(random, text);
    } else if (depth < 2) {
        iso_text_put(text, "if ");
        put_condition(random, text);
        iso_text_put(text, " { ");
        put_statement(random, text, depth + 1);
        iso_text_put(text, " }");
        if (random_percent(random, 30)) {
            iso_text_put(text, " else { ");
            put_statement(random, text, depth + 1);
            iso_text_put(text, " }");
        }
    } else {
        iso_text_put(text, "x := x + 1");
    }
}

static void make_program(struct random *random, struct program *program)
{
    unsigned bodies = 1 + random_below(random, 3);
    *program = (struct program){.call_count =
                                    2 + random_below(random, 10) / 5 + random_percent(random, 12)};
    iso_text_put(&program->head, "var x = 0\n");
    iso_text_put(&program->head, random_percent(random, 20) ? "var y in 0..1\n" : "var y = 1\n");
    iso_text_format(&program->head, "table t[2] = %u\ninput a in 0..%u\n", random_below(random, 2),
                    random_below(random, 3));
    if (random_percent(random, 20))
        iso_text_put(&program->head, "assume a > 0 || y == 1\n");
    for (unsigned i = 0; i < bodies; i++) {
        unsigned count = 1 + random_below(random, 3);
        iso_text_format(&program->head, "txn f%u(p) { ", i);
        for (unsigned j = 0; j < count; j++) {
            put_statement(random, &program->head, 0);
            iso_text_put(&program->head, "\n  ");
        }
        iso_text_put(&program->head, "}\n");
    }
    program->session = random_percent(random, 35) ? 2 : 0;
    for (unsigned i = 0; i < program->call_count; i++)
        iso_text_format(&program->calls[i], random_percent(random, 40) ? "f%u(a)" : "f%u(%u)",
                        i < bodies ? i : random_below(random, bodies), random_below(random, 2));
}

/* As a text; `turned`: the calls that are nobody's session in another order. */
static void put_program(const struct program *program, bool turned, const char *rules,
                        size_t length, struct iso_text *text)
{
    text->used = 0;
    iso_text_put_bytes(text, program->head.bytes, program->head.used);
    for (unsigned i = 0; i < program->session; i++) {
        iso_text_put(text, i ? ", " : "session s: ");
        iso_text_put_bytes(text, program->calls[i].bytes, program->calls[i].used);
    }
    for (unsigned i = program->session; i < program->call_count; i++) {
        unsigned at = turned ? program->call_count - 1 - (i - program->session) : i;
        iso_text_put(text, i == program->session ? "\nrun " : ", ");
        iso_text_put_bytes(text, program->calls[at].bytes, program->calls[at].used);
    }
    iso_text_put(text, "\n");
    iso_text_put_bytes(text, rules, length);
}

static void release_program(struct program *program)
{
    iso_text_release(&program->head);
    for (unsigned i = 0; i < CALLS; i++)
        iso_text_release(&program->calls[i]);
}

/* ---- judging ---- */

static bool read_program(struct iso_prove_program *program, const struct iso_text *text,
                         struct iso_error *error)
{
    iso_prove_program_init(program);
    return iso_prove_read_core(program, "random", text->bytes, text->used, 1, error) == ISO_OK;
}

/* What the page says of a violation: a cycle, unless it breaks at ser, too. Why a stronger level
 * forbids it is put, and not asked for: not every axiom has words for it. */
static bool explains(const struct iso_prove_result *result, enum iso_prove_level level)
{
    const struct iso_prove_execution *execution = &result->answers[level].execution;
    struct prove_page_cycle cycle;
    struct iso_text words = {0};
    prove_page_cycle_init(&cycle, execution);
    bool is_free = result->locks; /* locks, and what makes somebody abort, are no part of a cycle */
    for (uint32_t i = 0; i < execution->count; i++)
        is_free |= execution->aborted[i];
    bool good = cycle.count || is_free || result->answers[ISO_PROVE_SER].outcome == ISO_IS_VIOLATED;
    for (uint32_t i = 0; i < cycle.count; i++)
        good = good && cycle.list[i].to == cycle.list[(i + 1) % cycle.count].from;
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        if (i != level && result->answers[i].outcome == ISO_HOLDS &&
            iso_prove_level_implies(i, level))
            prove_page_put_axiom(execution, i, &words);
    prove_page_cycle_release(&cycle);
    iso_text_release(&words);
    return good;
}

/* Levels at which it is violated; bit 31: undecided, bit 30: bad input. */
static unsigned ask(const struct iso_prove_program *program, bool apart, struct iso_error *error)
{
    struct iso_prove_result result;
    struct iso_prove_options options = {.apart = apart};
    unsigned violated = 0;
    iso_prove_result_init(&result);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        options.levels[i] = true;
    if (iso_prove(program, &options, &result, error) != ISO_OK)
        violated = 1u << 30;
    for (uint32_t i = 0; !violated && i < ISO_PROVE_LEVELS; i++)
        if (result.answers[i].outcome == ISO_IS_UNDECIDED) {
            fprintf(stderr, "undecided at %s: %s\n", iso_prove_level_name(i),
                    result.answers[i].reason);
            violated = 1u << 31;
        }
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && !violated; i++)
        if (result.answers[i].shown && !explains(&result, i)) {
            fprintf(stderr, "no reason why it is not %s\n", iso_prove_level_name(i));
            violated = 1u << 31;
        }
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && violated < 1u << 30; i++)
        violated |= result.answers[i].outcome == ISO_IS_VIOLATED ? 1u << i : 0;
    iso_prove_result_release(&result);
    return violated;
}

static unsigned ask_text(const struct iso_text *text, bool apart)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_program program;
    unsigned violated = 1u << 30;
    if (read_program(&program, text, &error))
        violated = ask(&program, apart, &error);
    if (error.status != ISO_OK)
        fprintf(stderr, "%s\n", error.text);
    iso_prove_program_release(&program);
    return violated;
}

static void put_levels(const char *who, unsigned levels)
{
    fprintf(stderr, "%s violated at:", who);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        if (levels >> i & 1)
            fprintf(stderr, " %s", iso_prove_level_name(i));
    fprintf(stderr, levels >> 30 ? " (nothing said)\n" : "\n");
}

/* Rules of one state: not reached, or never seen, or a sum of it. */
static void put_rules(struct random *random, const struct program_oracle *oracle,
                      struct iso_text *text)
{
    static const char *const names[] = {"x", "y", "t[0]", "t[1]"};
    uint32_t best = random_below(random, oracle->state_count);
    bool invariant = random_percent(random, 25);
    text->used = 0;
    for (uint32_t i = 0; i < 40; i++) { /* one that not all levels reach, if there is one */
        uint32_t at = random_below(random, oracle->state_count);
        unsigned levels = oracle->states[at].levels;
        if (levels != (1u << ISO_PROVE_LEVELS) - 1 &&
            (!(levels >> ISO_PROVE_SER & 1) || random_percent(random, 10)))
            best = at;
    }
    const int64_t *values = oracle->states[best].values;
    uint32_t from = random_below(random, 4), until = from + 2 + random_below(random, 3);
    if (random_percent(random, 70)) {
        from = 0;
        until = 4;
    }
    iso_text_put(text, invariant ? "invariant !(" : "assert !(");
    for (uint32_t i = from; i < until; i++)
        iso_text_format(text, "%s%s == %" PRId64, i > from ? " && " : "", names[i % 4],
                        values[i % 4]);
    iso_text_put(text, ")\n");
    if (random_percent(random, 20))
        iso_text_format(text, "assert x + y + t[0] + t[1] <= %" PRId64 "\n",
                        values[0] + values[1] + values[2] + values[3] +
                            (int64_t)random_below(random, 4));
}

static bool fail(const struct iso_text *text, uint64_t own, const char *what, unsigned found,
                 unsigned expected)
{
    fprintf(stderr,
            "%s; repeat: build/tests/property/prove_oracle --programs 1 --seed %" PRIu64 "\n%.*s",
            what, own, (int)text->used, text->bytes);
    put_levels("prove:", found);
    put_levels("enumeration:", expected);
    return false;
}

static bool judge(const struct program *made, struct random *random, uint64_t own)
{
    struct iso_text text = {0}, rules = {0};
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_program program;
    struct program_oracle oracle = {0};
    bool good = true, some = false;
    put_program(made, false, "assert 1\n", 9, &text);
    bool read = read_program(&program, &text, &error);
    if (!read)
        good = fail(&text, own, error.text, 0, 0);
    if (read)
        program_oracle_run(&oracle, &program, ~0u, MOST, true);
    iso_prove_program_release(&program);
    for (uint32_t i = 0; i < oracle.state_count; i++)
        some = some || !(oracle.states[i].levels >> ISO_PROVE_SER & 1);
    if (!good || oracle.too_many || !oracle.state_count || (!some && random_percent(random, 90))) {
        statistics.dull += good;
        statistics.many += oracle.too_many;
        goto out;
    }
    put_rules(random, &oracle, &rules);
    put_program(made, false, rules.bytes, rules.used, &text);
    program_oracle_release(&oracle);
    if (!read_program(&program, &text, &error)) {
        good = fail(&text, own, error.text, 0, 0);
    } else {
        program_oracle_run(&oracle, &program, ~0u, MOST, false);
        unsigned found = ask(&program, random_percent(random, 50), &error),
                 expected = oracle.violated;
        if (found >> 30 == 1 &&
            (strstr(error.text, "false at the start") || strstr(error.text, "out of range") ||
             strstr(error.text, "62 bits")))
            goto released;
        if (found >> 30)
            fprintf(stderr, "%s\n", error.text);
        if (show) {
            printf("%.*s", (int)text.used, text.bytes);
            put_levels("both:", expected);
            show--;
        }
        if (found != expected)
            good = fail(&text, own, "not as enumeration says", found, expected);
        statistics.programs++;
        statistics.differ += expected && expected != (1u << ISO_PROVE_LEVELS) - 1;
        statistics.aborts += !!strstr(made->head.bytes, "abort");
        statistics.locks += !!strstr(made->head.bytes, "lock");
        statistics.executions += oracle.executions;
        for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
            statistics.violated[i] += expected >> i & 1;
            for (uint32_t j = 0; good && j < ISO_PROVE_LEVELS; j++)
                if (iso_prove_level_implies(i, j) && expected >> i & 1 && !(expected >> j & 1))
                    good = fail(&text, own, "enumeration is not monotone", found, expected);
        }
        if (good && random_percent(random, 20)) {
            put_program(made, true, rules.bytes, rules.used, &text);
            unsigned turned = ask_text(&text, false);
            if (turned != expected)
                good = fail(&text, own, "another order of calls", turned, expected);
        }
        if (good && random_percent(random, 20)) {
            for (size_t i = 0; i + 1 < text.used; i++) /* x becomes z, wherever it stands alone */
                if (text.bytes[i] == 'x' && (i == 0 || text.bytes[i - 1] != 't' || 1) &&
                    (text.bytes[i + 1] == ' ' || text.bytes[i + 1] == ']' ||
                     text.bytes[i + 1] == '\n' || text.bytes[i + 1] == ')'))
                    text.bytes[i] = 'z';
            unsigned renamed = ask_text(&text, false);
            if (renamed != expected)
                good = fail(&text, own, "another name", renamed, expected);
        }
    }
released:
    iso_prove_program_release(&program);
out:
    program_oracle_release(&oracle);
    iso_text_release(&text);
    iso_text_release(&rules);
    return good;
}

int main(int argc, char **argv)
{
    const struct argument known[] = {{"--programs", &programs, NULL},
                                     {"--seed", &seed, NULL},
                                     {"--show", &show, NULL},
                                     {"--progress", &progress, NULL},
                                     {NULL, NULL, NULL}};
    uint64_t failed = 0;
    if (!arguments_read(known, argc, argv))
        return 2;
    for (uint64_t i = 0; statistics.programs < programs && failed < 5; i++) {
        struct random random = {.state = seed + i};
        /* neighbours have nothing in common */
        random.state = random_bits(&random) * 0xbf58476d1ce4e5b9u;
        struct program program;
        make_program(&random, &program);
        iso_text_put_bytes(&program.head, "", 1);
        program.head.used--;
        uint64_t before = statistics.programs;
        failed += !judge(&program, &random, seed + i);
        if (progress && statistics.programs > before && statistics.programs % progress == 0) {
            printf("# %" PRIu64 " programs, until seed %" PRIu64 ": %" PRIu64
                   " with levels that differ, %" PRIu64 " dull, %" PRIu64
                   " with too many executions, %" PRIu64 " failed\n",
                   statistics.programs, seed + i, statistics.differ, statistics.dull,
                   statistics.many, failed);
            fflush(stdout);
        }
        release_program(&program);
    }
    printf("1..1\n%s 1 - prove says what enumeration says\n", failed ? "not ok" : "ok");
    printf("# %" PRIu64 " programs (seed %" PRIu64 "), %" PRIu64
           " with levels that differ, %" PRIu64 " with aborts, %" PRIu64 " with locks, %" PRIu64
           " executions; violated at",
           statistics.programs, seed, statistics.differ, statistics.aborts, statistics.locks,
           statistics.executions);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        printf(" %s %" PRIu64, iso_prove_level_name(i), statistics.violated[i]);
    printf("\n");
    return failed ? 1 : 0;
}
