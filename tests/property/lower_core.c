/* SQL against the core language: random programs are written in both, statement by statement, and
 * every level has the same verdict. The enumeration of the core one gives rules that tell levels
 * apart, and says the same as both.
 *
 * Metamorphic, of the SQL: other names of tables, columns, functions and variables; calls in
 * another order; what a level allows every weaker one does. At rc what the core language cannot say
 * (a WHERE that is asked again at the newest version) is left out of the comparison, and of it
 * alone.
 *
 *     UPDATE stock SET amount = amount + v WHERE id = p       t[p] := t[p] + v
 *     SELECT .. FOR UPDATE                                    lock t[p]  let v = t[p]
 *     INSERT INTO journal (n) VALUES (v)                      je[slot] := 1  jn[slot] := v
 *     UPDATE stock SET .. WHERE amount > 1                    for i in 0..1 { if t[i] > 1 { .. } }
 *                                                             (not rc)
 *     DELETE FROM depot WHERE id = 0                          if ue[0] == 1 { ue[0] := 0 uw[0] :=
 *                                                             uw[0] } (not rc)
 *
 * lower_core [--programs N] [--seed S] [--show N]
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "prove/prove.h"
#include "lower/read.h"
#include "tests/oracle/program_oracle.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"

enum { MOST = 60000, CALLS = 3, FUNCTIONS = 2, RC = 1u << ISO_PROVE_RC };

static uint64_t seed = 1, programs = 100, show;

struct texts {
    struct iso_text sql, core;
};

struct program {
    struct texts functions[FUNCTIONS];
    unsigned count, calls, call[CALLS], argument[CALLS]; /* argument 2: 0..1 */
    bool journal;                                        /* else the depot */
    bool not_rc, inserts;
};

static struct {
    uint64_t programs, differ, at_rc, ranges, inserts;
} statistics;

/* ---- making ---- */

struct maker {
    struct random *random;
    struct program *program;
    struct texts *text;
    bool inserted;
};

static uint32_t below(struct maker *maker, uint32_t count)
{
    return random_below(maker->random, count);
}

static void put(struct maker *maker, const char *sql, const char *core)
{
    iso_text_put(&maker->text->sql, sql);
    iso_text_put(&maker->text->core, core);
}

static const char *key(struct maker *maker)
{
    static const char *const keys[] = {"0", "1", "p", "p"};
    return keys[below(maker, 4)];
}

/* An operand that is the same text in both. */
static const char *operand(struct maker *maker)
{
    static const char *const operands[] = {"v", "v", "p", "0", "1", "2"};
    return operands[below(maker, 6)];
}

static void put_condition(struct maker *maker)
{
    static const char *const sql_signs[] = {">", "=", "<", "<>"}, *const core_signs[] = {
                                                                      ">", "==", "<", "!="};
    uint32_t sign = below(maker, 4);
    const char *right = operand(maker), *at = key(maker);
    uint32_t kind = below(maker, 4);
    if (kind == 0 && maker->program->journal) {
        iso_text_format(&maker->text->sql, "EXISTS (SELECT 1 FROM journal WHERE n = %s)", right);
        iso_text_format(&maker->text->core, "(exists(i in 0..%u: je[i] == 1 && jn[i] == %s))",
                        maker->program->calls - 1, right);
    } else if (kind == 1) {
        iso_text_format(&maker->text->sql, "(SELECT amount FROM stock WHERE id = %s) %s %s", at,
                        sql_signs[sign], right);
        iso_text_format(&maker->text->core, "t[%s] %s %s", at, core_signs[sign], right);
    } else {
        iso_text_format(&maker->text->sql, "v %s %s", sql_signs[sign], right);
        iso_text_format(&maker->text->core, "v %s %s", core_signs[sign], right);
    }
}

static void put_update(struct maker *maker)
{
    const char *at = key(maker), *other = key(maker), *right = operand(maker);
    uint32_t kind = below(maker, 5);
    iso_text_format(&maker->text->sql, "UPDATE stock SET amount = ");
    iso_text_format(&maker->text->core, "t[%s] := ", at);
    if (kind < 2) {
        iso_text_format(&maker->text->sql, "amount %c %s", "+-"[kind], right);
        iso_text_format(&maker->text->core, "t[%s] %c %s", at, "+-"[kind], right);
    } else if (kind == 2) { /* of the row itself it would be that of the snapshot: the core language
                               reads the newest */
        maker->program->not_rc |= *at == *other || *at == 'p' || *other == 'p';
        iso_text_format(&maker->text->sql,
                        "amount + (SELECT other.amount FROM stock other WHERE other.id = %s)",
                        other);
        iso_text_format(&maker->text->core, "t[%s] + t[%s]", at, other);
    } else {
        iso_text_format(&maker->text->sql, "%s + %u", right, kind - 3);
        iso_text_format(&maker->text->core, "%s + %u", right, kind - 3);
    }
    iso_text_format(&maker->text->sql, " WHERE id = %s;\n", at);
    iso_text_put(&maker->text->core, "\n");
}

static void put_depot(struct maker *maker)
{
    const char *at = key(maker);
    maker->program->not_rc = true;
    if (below(maker, 2)) {
        iso_text_format(&maker->text->sql, "DELETE FROM depot WHERE id = %s;\n", at);
        iso_text_format(&maker->text->core, "if ue[%s] == 1 { ue[%s] := 0 uw[%s] := uw[%s] }\n", at,
                        at, at, at);
    } else {
        const char *right = operand(maker);
        iso_text_format(&maker->text->sql, "UPDATE depot SET w = w + %s WHERE id = %s;\n", right,
                        at);
        iso_text_format(&maker->text->core,
                        "if ue[%s] == 1 { uw[%s] := uw[%s] + %s ue[%s] := ue[%s] }\n", at, at, at,
                        right, at, at);
    }
}

/* Once in a function: it has one slot. */
static void put_insert(struct maker *maker)
{
    const char *right = operand(maker);
    maker->inserted = maker->program->inserts = true;
    iso_text_format(&maker->text->sql, "INSERT INTO journal (n) VALUES (%s);\n", right);
    iso_text_format(&maker->text->core, "je[slot] := 1  jn[slot] := %s\n", right);
}

static void put_journal(struct maker *maker, unsigned depth)
{
    const char *right = operand(maker);
    uint32_t most = maker->program->calls - 1;
    if (!maker->inserted && !depth && below(maker, 2)) {
        put_insert(maker);
    } else if (below(maker, 2)) {
        iso_text_put(&maker->text->sql, "SELECT count(*) INTO v FROM journal;\n");
        iso_text_format(&maker->text->core, "let v = (sum(i in 0..%u: je[i]))\n", most);
    } else {
        iso_text_format(&maker->text->sql,
                        "SELECT coalesce(sum(n), 0) INTO v FROM journal WHERE n > %s;\n", right);
        iso_text_format(&maker->text->core,
                        "let v = (sum(i in 0..%u: je[i] == 1 && jn[i] > %s ? jn[i] : 0))\n", most,
                        right);
    }
}

static void put_statement(struct maker *maker, unsigned depth)
{
    uint32_t kind = below(maker, depth ? 7 : 10);
    const char *at = key(maker);
    if (kind == 0) {
        iso_text_format(&maker->text->sql, "SELECT amount INTO v FROM stock WHERE id = %s;\n", at);
        iso_text_format(&maker->text->core, "let v = t[%s]\n", at);
    } else if (kind == 1) {
        iso_text_format(&maker->text->sql,
                        "SELECT amount INTO v FROM stock WHERE id = %s FOR UPDATE;\n", at);
        iso_text_format(&maker->text->core, "lock t[%s]  let v = t[%s]\n", at, at);
    } else if (kind < 4) {
        put_update(maker);
    } else if (kind == 4) {
        put(maker, "SELECT sum(amount) INTO v FROM stock;\n", "let v = (sum(i in 0..1: t[i]))\n");
    } else if (kind == 5 && maker->program->journal) {
        put_journal(maker, depth);
    } else if (kind == 5) {
        if (below(maker, 3))
            put_depot(maker);
        else
            put(maker, "SELECT coalesce(sum(w), 0) INTO v FROM depot;\n",
                "let v = (sum(i in 0..1: ue[i] == 1 ? uw[i] : 0))\n");
    } else if (kind == 6) {
        put(maker, "v := v + p;\n", "let v = v + p\n");
    } else if (kind == 7) {
        put(maker, "IF ", "if ");
        put_condition(maker);
        put(maker, " THEN\n", " {\n");
        put_statement(maker, depth + 1);
        if (below(maker, 3) == 0) {
            put(maker, "ELSE\n", "} else {\n");
            put_statement(maker, depth + 1);
        }
        put(maker, "END IF;\n", "}\n");
    } else if (kind == 8) {
        put(maker, "IF ", "abort if ");
        put_condition(maker);
        put(maker, " THEN RAISE EXCEPTION 'no'; END IF;\n", "\n");
    } else {
        const char *right = operand(maker);
        maker->program->not_rc = true;
        iso_text_format(&maker->text->sql,
                        "UPDATE stock SET amount = amount + 1 WHERE amount < %s;\n", right);
        iso_text_format(&maker->text->core, "for i in 0..1 { if t[i] < %s { t[i] := t[i] + 1 } }\n",
                        right);
    }
}

static void make_program(struct random *random, struct program *program)
{
    *program = (struct program){.count = 1 + random_below(random, FUNCTIONS),
                                .calls = 2 + random_percent(random, 35),
                                .journal = random_percent(random, 60)};
    for (unsigned i = 0; i < program->calls; i++) {
        program->call[i] = i < program->count ? i : random_below(random, program->count);
        program->argument[i] = random_below(random, 3);
    }
    for (unsigned i = 0; i < program->count; i++) {
        struct maker maker = {.random = random, .program = program, .text = &program->functions[i]};
        unsigned statements = 2 + random_below(random, 2);
        for (unsigned j = 0; j < statements; j++)
            put_statement(&maker, 0);
        if (program->journal && !maker.inserted && random_percent(random, 70))
            put_insert(&maker);
    }
}

static void release_program(struct program *program)
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        iso_text_release(&program->functions[i].sql);
        iso_text_release(&program->functions[i].core);
    }
}

static void put_core(const struct program *program, const struct iso_text *rule,
                     struct iso_text *text)
{
    text->used = 0;
    iso_text_put(text, "table t[2] = 1\n");
    if (program->journal)
        iso_text_format(text, "table je[%u] = 0\ntable jn[%u] = 0\n", program->calls,
                        program->calls);
    else
        iso_text_put(text, "table ue[2] = 1\ntable uw[2] = 1\n");
    for (unsigned i = 0; i < program->calls; i++)
        if (program->argument[i] == 2)
            iso_text_format(text, "input a%u in 0..1\n", i);
    for (unsigned i = 0; i < program->count; i++) {
        iso_text_format(text, "txn f%u(p, slot) { let v = 1\n", i);
        iso_text_put_bytes(text, program->functions[i].core.bytes, program->functions[i].core.used);
        iso_text_put(text, "}\n");
    }
    for (unsigned i = 0; i < program->calls; i++) {
        iso_text_format(text, "%sf%u(", i ? ", " : "run ", program->call[i]);
        iso_text_format(text, program->argument[i] == 2 ? "a%u, %u)" : "%u, %u)",
                        program->argument[i] == 2 ? i : program->argument[i], i);
    }
    iso_text_put(text, "\n");
    iso_text_put_bytes(text, rule->bytes, rule->used);
}

/* `turned`: the calls from the last one to the first one. */
static void put_sql(const struct program *program, bool turned, const struct iso_text *rule,
                    struct iso_text *text)
{
    text->used = 0;
    iso_text_put(
        text,
        "CREATE TABLE stock (id int PRIMARY KEY, amount int NOT NULL);\n"
        "CREATE TABLE journal (num serial PRIMARY KEY, n int NOT NULL);\n"
        "CREATE TABLE depot (id int PRIMARY KEY, w int NOT NULL);\n"
        "INSERT INTO stock VALUES (0, 1), (1, 1);\nINSERT INTO depot VALUES (0, 1), (1, 1);\n");
    for (unsigned i = 0; i < program->count; i++) {
        iso_text_format(
            text,
            "CREATE FUNCTION f%u(p int) RETURNS void LANGUAGE plpgsql AS $$\nDECLARE v int := 1;\nBEGIN\n",
            i);
        iso_text_put_bytes(text, program->functions[i].sql.bytes, program->functions[i].sql.used);
        iso_text_put(text, "END $$;\n");
    }
    for (unsigned i = 0; i < program->calls; i++) {
        unsigned at = turned ? program->calls - 1 - i : i;
        iso_text_format(text, "%sf%u(", i ? ", " : "--@ run ", program->call[at]);
        if (program->argument[at] == 2)
            iso_text_put(text, "0..1)");
        else
            iso_text_format(text, "%u)", program->argument[at]);
    }
    iso_text_put(text, "\n");
    iso_text_put_bytes(text, rule->bytes, rule->used);
}

/* Every word that the program made up gets another one, which sorts the other way. */
static void rename_all(const struct iso_text *from, struct iso_text *text)
{
    static const char *const names[][2] = {
        {"stock", "a_table"}, {"journal", "zeta"}, {"depot", "beta"},    {"amount", "b2"},
        {"id", "z_id"},       {"n", "y_n"},        {"w", "a_w"},         {"f0", "second"},
        {"f1", "first"},      {"v", "x_value"},    {"p", "an_argument"}, {"num", "zz"}};
    text->used = 0;
    for (size_t i = 0, end; i < from->used; i = end) {
        for (end = i; end < from->used &&
                      (isalnum((unsigned char)from->bytes[end]) || from->bytes[end] == '_');)
            end++;
        if (end == i) {
            iso_text_put_bytes(text, from->bytes + end++, 1);
            continue;
        }
        const char *word = NULL;
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            if (strlen(names[j][0]) == end - i && !memcmp(names[j][0], from->bytes + i, end - i))
                word = names[j][1];
        if (word)
            iso_text_put(text, word);
        else
            iso_text_put_bytes(text, from->bytes + i, end - i);
    }
}

/* ---- rules ---- */

struct state {
    int64_t amounts[2], count, sum; /* of the journal or the depot */
};

static struct state state_of(const struct program *program, const struct program_oracle_state *from)
{
    const int64_t *values = from->values;
    unsigned rows = program->journal ? program->calls : 2;
    struct state state = {.amounts = {values[0], values[1]}};
    for (unsigned i = 0; i < rows; i++) {
        state.count += values[2 + i] == 1;
        state.sum += values[2 + i] == 1 ? values[2 + rows + i] : 0;
    }
    return state;
}

/* Not this state: some levels reach it, and others do not. */
static void put_rules(const struct program *program, struct random *random,
                      const struct program_oracle *oracle, struct texts *rules)
{
    uint32_t best = random_below(random, oracle->state_count),
             rows = program->journal ? program->calls : 2;
    const char *table = program->journal ? "journal" : "depot",
               *column = program->journal ? "n" : "w";
    const char *there = program->journal ? "je" : "ue", *value = program->journal ? "jn" : "uw";
    bool invariant = random_percent(random, 20);
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t at = random_below(random, oracle->state_count);
        if (!(oracle->states[at].levels >> ISO_PROVE_SER & 1))
            best = at;
    }
    struct state state = state_of(program, &oracle->states[best]);
    rules->sql.used = rules->core.used = 0;
    iso_text_format(&rules->sql, "--@ %s it: NOT ((SELECT sum(amount) FROM stock) = %" PRId64,
                    invariant ? "invariant" : "assert", state.amounts[0] + state.amounts[1]);
    iso_text_format(&rules->core, "%s !(t[0] + t[1] == %" PRId64,
                    invariant ? "invariant" : "assert", state.amounts[0] + state.amounts[1]);
    if (random_percent(random, 80)) {
        iso_text_format(&rules->sql, " AND (SELECT amount FROM stock WHERE id = 0) = %" PRId64,
                        state.amounts[0]);
        iso_text_format(&rules->core, " && t[0] == %" PRId64, state.amounts[0]);
    }
    if (random_percent(random, 80)) {
        iso_text_format(&rules->sql, " AND (SELECT count(*) FROM %s) = %" PRId64, table,
                        state.count);
        iso_text_format(&rules->core, " && (count(i in 0..%u: %s[i] == 1)) == %" PRId64, rows - 1,
                        there, state.count);
        iso_text_format(&rules->sql, " AND coalesce((SELECT sum(%s) FROM %s), 0) = %" PRId64,
                        column, table, state.sum);
        iso_text_format(&rules->core, " && (sum(i in 0..%u: %s[i] == 1 ? %s[i] : 0)) == %" PRId64,
                        rows - 1, there, value, state.sum);
    }
    iso_text_put(&rules->sql, ")\n");
    iso_text_put(&rules->core, ")\n");
}

/* ---- judging ---- */

/* Levels at which it is violated; bit 31: undecided, bit 30: bad input, which is told. */
static unsigned ask(const struct iso_text *text, struct iso_text *said)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_program program;
    struct iso_prove_result result;
    struct iso_prove_options options = {.apart = false};
    unsigned violated = 0;
    bool sql = iso_prove_is_sql(text->bytes, text->used);
    iso_prove_program_init(&program);
    iso_prove_result_init(&result);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        options.levels[i] = true;
    enum iso_status status =
        sql ? iso_prove_read_sql(&program, "sql", text->bytes, text->used, 1, 0, &error)
            : iso_prove_read_core(&program, "core", text->bytes, text->used, 1, &error);
    if (status != ISO_OK || iso_prove(&program, &options, &result, &error) != ISO_OK)
        violated = 1u << 30;
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && violated < 1u << 30; i++)
        violated |= result.answers[i].outcome == ISO_IS_UNDECIDED  ? 1u << 31
                    : result.answers[i].outcome == ISO_IS_VIOLATED ? 1u << i
                                                                   : 0;
    said->used = 0;
    if (violated >> 30)
        iso_text_put(said, error.status ? error.text : "undecided");
    iso_text_put_bytes(said, "", 1);
    iso_prove_result_release(&result);
    iso_prove_program_release(&program);
    return violated;
}

static bool fail(const char *what, uint64_t own, const struct iso_text *a, unsigned of_a,
                 const struct iso_text *b, unsigned of_b, const struct iso_text *said)
{
    fprintf(stderr,
            "%s (%s); repeat: build/tests/property/lower_core --programs 1 --seed %" PRIu64 "\n",
            what, said->bytes, own);
    fprintf(stderr, "violated at %x:\n%.*s\nviolated at %x:\n%.*s\n", of_a, (int)a->used, a->bytes,
            of_b, (int)b->used, b->bytes);
    return false;
}

static bool monotone(unsigned violated)
{
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        for (uint32_t j = 0; j < ISO_PROVE_LEVELS; j++)
            if (iso_prove_level_implies(i, j) && violated >> i & 1 && !(violated >> j & 1))
                return false;
    return true;
}

struct judging {
    struct iso_text core, sql, other, said;
    struct texts rules;
    struct program_oracle oracle;
};

/* The states that the core program reaches. False: it is none to ask about. */
static bool find_states(struct judging *judging, const struct program *made)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_program program;
    bool some = false;
    iso_text_put(&judging->rules.core, "assert 1\n");
    put_core(made, &judging->rules.core, &judging->core);
    iso_prove_program_init(&program);
    if (iso_prove_read_core(&program, "core", judging->core.bytes, judging->core.used, 1, &error) ==
        ISO_OK)
        program_oracle_run(&judging->oracle, &program, ~0u, MOST, true);
    iso_prove_program_release(&program);
    if (error.status)
        fprintf(stderr, "%s\n%.*s\n", error.text, (int)judging->core.used, judging->core.bytes);
    for (uint32_t i = 0; i < judging->oracle.state_count; i++)
        some = some || !(judging->oracle.states[i].levels >> ISO_PROVE_SER & 1);
    return some && !judging->oracle.too_many;
}

static bool compare(struct judging *judging, const struct program *made, struct random *random,
                    uint64_t own)
{
    unsigned mask = made->not_rc ? ~(unsigned)RC : ~0u;
    put_rules(made, random, &judging->oracle, &judging->rules);
    put_core(made, &judging->rules.core, &judging->core);
    put_sql(made, false, &judging->rules.sql, &judging->sql);
    if (show) {
        printf("%.*s\n%.*s\n", (int)judging->core.used, judging->core.bytes, (int)judging->sql.used,
               judging->sql.bytes);
        show--;
    }
    unsigned core = ask(&judging->core, &judging->said);
    if (core >> 30 == 1 && strstr(judging->said.bytes, "false at the start"))
        return true;
    unsigned sql = ask(&judging->sql, &judging->said);
    if ((core ^ sql) & mask)
        return fail("SQL and core differ", own, &judging->core, core, &judging->sql, sql,
                    &judging->said);
    if (!monotone(sql))
        return fail("a weaker level holds", own, &judging->core, core, &judging->sql, sql,
                    &judging->said);
    rename_all(&judging->sql, &judging->other);
    unsigned renamed = ask(&judging->other, &judging->said);
    if (renamed != sql)
        return fail("other names", own, &judging->sql, sql, &judging->other, renamed,
                    &judging->said);
    put_sql(made, true, &judging->rules.sql, &judging->other);
    unsigned turned = ask(&judging->other, &judging->said);
    if (turned != sql)
        return fail("another order of calls", own, &judging->sql, sql, &judging->other, turned,
                    &judging->said);
    statistics.programs++;
    statistics.differ += sql && sql != (1u << ISO_PROVE_LEVELS) - 1;
    statistics.at_rc += !made->not_rc;
    statistics.inserts += made->inserts;
    for (unsigned i = 0; i < made->calls; i++)
        if (made->argument[i] == 2) {
            statistics.ranges++;
            break;
        }
    return true;
}

static bool judge(const struct program *made, struct random *random, uint64_t own)
{
    struct judging judging = {.oracle = {0}};
    bool good = !find_states(&judging, made) || compare(&judging, made, random, own);
    program_oracle_release(&judging.oracle);
    iso_text_release(&judging.core);
    iso_text_release(&judging.sql);
    iso_text_release(&judging.other);
    iso_text_release(&judging.said);
    iso_text_release(&judging.rules.sql);
    iso_text_release(&judging.rules.core);
    return good;
}

int main(int argc, char **argv)
{
    const struct argument known[] = {{"--programs", &programs, NULL},
                                     {"--seed", &seed, NULL},
                                     {"--show", &show, NULL},
                                     {NULL, NULL, NULL}};
    uint64_t failed = 0;
    if (!arguments_read(known, argc, argv))
        return 2;
    for (uint64_t i = 0; statistics.programs < programs && failed < 3; i++) {
        struct random random = {.state = seed + i};
        struct program program;
        /* neighbours have nothing in common */
        random.state = random_bits(&random) * 0xbf58476d1ce4e5b9u;
        make_program(&random, &program);
        failed += !judge(&program, &random, seed + i);
        release_program(&program);
    }
    printf("1..1\n%s 1 - SQL and what it means in the core language have the same verdicts\n",
           failed ? "not ok" : "ok");
    printf("# %" PRIu64 " programs (seed %" PRIu64 "), %" PRIu64
           " with levels that differ, %" PRIu64 " compared at rc, too, %" PRIu64
           " with ranges, %" PRIu64 " with rows inserted\n",
           statistics.programs, seed, statistics.differ, statistics.at_rc, statistics.ranges,
           statistics.inserts);
    return failed ? 1 : 0;
}
