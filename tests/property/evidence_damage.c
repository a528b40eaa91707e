/* Damaged evidence is not confirmed. Every value of an evidence file is taken out, doubled, swapped
 * with its neighbour and replaced by every word that evidence knows, every transaction and every
 * key; every line likewise; and the file is cut off everywhere. `verify` must not confirm what is
 * left, unless that is evidence again, of a verdict that is true: trying every schedule says so.
 * Which kinds of damage may leave evidence is told below; all others never may. Evidence against a
 * history is also held, whole and damaged, against histories that differ by one operation and hold.
 *
 * All levels of judging without timestamps take turns. At the weak ones the truth is every order
 * tried against the axiom (tests/oracle/weak_oracle.h); damage to the members `op` and `saw` is
 * counted by itself.
 *
 * evidence_damage [--histories N] [--seed S]
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evidence/evidence.h"
#include "polygraph/polygraph.h"
#include "weak/weak.h"
#include "judge/split.h"
#include "tests/oracle/schedule_oracle.h"
#include "tests/oracle/weak_oracle.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"
#include "tests/support/random_history.h"
#include "verify/verify.h"

enum damage {
    REMOVED,
    DOUBLED,
    SWAPPED,
    REPLACED,
    LINE_REMOVED,
    LINE_DOUBLED,
    LINES_SWAPPED,
    CUT,
    DAMAGES
};

static const char *const damage_names[DAMAGES] = {
    "value removed", "value doubled", "neighbours swapped", "value replaced",
    "line removed",  "line doubled",  "lines swapped",      "cut off"};

enum { NODES = 20000, WORDS = 96, TEXT = 1 << 16, FEW = 2000 };

/* Members that only the weak levels have. */
enum { OP, SAW, MEMBERS };

static const char *const member_names[MEMBERS] = {"op", "saw"};

static const enum iso_level models[] = {ISO_SI, ISO_SER, ISO_ADYA_SI, ISO_RC,  ISO_RA,
                                        ISO_CC, ISO_PC,  ISO_PRAM,    ISO_RYW, ISO_MR,
                                        ISO_MW, ISO_WFR, ISO_ADYA_RC, ISO_PSI};

enum { LEVELS = sizeof models / sizeof models[0] };

/* A value of an array, or a member of an object, by its place in the text. */
struct node {
    uint32_t start, value, end,
        before;    /* value: behind a member's name; before: the neighbour's number + 1, or 0 */
    char name[16]; /* of the nearest member around it */
};

struct run {
    struct iso_history history;
    int descriptor; /* of a file in memory */
    char path[64], text[TEXT], damaged[2 * TEXT];
    size_t length;
    struct node nodes[NODES];
    uint32_t node_count;
    char words[WORDS][PLAIN_TEXT + 3];
    uint32_t word_count;
    bool asked[ISO_LEVELS], holds[ISO_LEVELS]; /* the truth, where it is asked for */
    bool mixed;                                /* a key is a register and a list: no level holds */
    uint64_t seed;
    uint64_t tried[2][DAMAGES], confirmed[2][DAMAGES]; /* of a reject, of an accept */
    uint64_t unsound, unexpected, evidences[2], foreign, solved;
    uint64_t of_level[2][ISO_LEVELS], damages[ISO_LEVELS], confirmed_of[ISO_LEVELS],
        members[MEMBERS][2];
    enum iso_level level; /* the level at hand */
};

/* ---- the text as a tree ---- */

static uint32_t scan_text(const struct run *run, uint32_t at)
{
    while (run->text[++at] != '"')
        at += run->text[at] == '\\';
    return at + 1;
}

static uint32_t scan(struct run *run, uint32_t at, const char *name);

static uint32_t scan_members(struct run *run, uint32_t at, const char *name, bool object)
{
    uint32_t before = 0;
    for (at++; run->text[at] != '}' && run->text[at] != ']'; at += run->text[at] == ',') {
        struct node node = {.start = at, .before = before};
        uint32_t number = run->node_count++;
        snprintf(node.name, sizeof node.name, "%s", name);
        if (object) {
            uint32_t end = scan_text(run, at);
            snprintf(node.name, sizeof node.name, "%.*s", (int)(end - at - 2), run->text + at + 1);
            at = end + 1;
        }
        node.value = at;
        node.end = at = scan(run, at, node.name);
        if (number >= NODES)
            abort();
        run->nodes[number] = node;
        before = number + 1;
    }
    return at + 1;
}

static uint32_t scan(struct run *run, uint32_t at, const char *name)
{
    if (run->text[at] == '{' || run->text[at] == '[')
        return scan_members(run, at, name, run->text[at] == '{');
    if (run->text[at] == '"')
        return scan_text(run, at);
    while (!strchr(",]}\n", run->text[at]))
        at++;
    return at;
}

/* ---- the truth ---- */

/* What is below SI has an oracle of its own. */
static bool is_below_si(enum iso_level level)
{
    return iso_level_is_weak(level) || level == ISO_PC;
}

/* The truth of the levels below SI can be found out. */
static bool is_small(const struct run *run)
{
    return run->history.txns.count <= WEAK_ORACLE_TRANSACTIONS;
}

static void forget_truth(struct run *run)
{
    const struct iso_history *history = &run->history;
    memset(run->asked, 0, sizeof run->asked);
    run->mixed = false;
    for (uint32_t o = 0; o < history->ops.count; o++) {
        uint8_t kind = iso_kind_of(history, o);
        bool list = kind == ISO_APPEND || kind == ISO_READ_LIST;
        run->mixed |= list != iso_key_is_list(history, history->ops.key[o]);
    }
}

static bool is_true_at(struct run *run, enum iso_level level)
{
    if (!run->asked[level]) {
        run->asked[level] = true;
        run->holds[level] = is_below_si(level)
                                ? !run->mixed && weak_oracle_by_orders(&run->history, level)
                                : schedule_oracle_holds(&run->history, level, 0);
    }
    return run->holds[level];
}

static bool is_known(enum iso_level level)
{
    for (int i = 0; i < LEVELS; i++) {
        if (models[i] == level)
            return true;
    }
    return false;
}

/* ---- what is said of the damaged text ---- */

static bool is_confirmed(struct run *run, const char *text, size_t length,
                         struct iso_evidence *evidence)
{
    struct iso_error error = {.status = ISO_OK};
    if (pwrite(run->descriptor, text, length, 0) != (ssize_t)length ||
        ftruncate(run->descriptor, (off_t)length) != 0)
        abort();
    enum iso_status status = iso_evidence_read(run->path, &run->history, evidence, &error);
    if (status == ISO_OK)
        status =
            iso_verify(&run->history, evidence, &error) == ISO_CONFIRMED ? ISO_OK : ISO_VIOLATED;
    if (status != ISO_OK && (error.status != status || !error.text[0])) {
        printf("not ok - status %d without a reason, seed %llu\n", status,
               (unsigned long long)run->seed);
        run->unexpected++;
    }
    return status == ISO_OK;
}

/* Damage that may leave other evidence. Of an order: events that change places and nothing else, an
 * event less, or in place of another, of a transaction of unknown outcome, another level at which
 * it does, another writer of a value that several wrote; choices of writers are said twice, or
 * elsewhere. Of a reject: names that are as true as those that they replace; lemmas, literals and
 * edges in another order; what is said twice. Nothing is left out without harm, but at the weak
 * levels, whose proofs are not trimmed. */
static bool may_be_evidence(const struct run *run, enum damage damage, const char *name,
                            const struct iso_evidence *evidence)
{
    bool order = !strcmp(name, "order"),
         missing = damage == REMOVED || damage == LINE_REMOVED || damage == CUT;
    if (!evidence->accepts)
        return !missing || iso_level_is_weak(evidence->level);
    if (damage == LINE_DOUBLED || damage == LINES_SWAPPED)
        return evidence->choice_count;
    bool spare = order && run->history.totals.unknown && iso_level_is_one_event(evidence->level);
    if (damage == REPLACED)
        return spare || !strcmp(name, "level") || !strcmp(name, "saw");
    return (order && damage == SWAPPED) || (damage == REMOVED && spare);
}

static void print_text(const char *text, size_t length)
{
    for (const char *end = text + length; text < end;) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        line = line ? line : end;
        printf("#   %.*s\n", (int)(line - text), text);
        text = line + 1;
    }
}

static void complain(struct run *run, enum damage damage, const char *name, const char *why,
                     size_t length)
{
    printf("not ok - %s (%s): %s, seed %llu\n", damage_names[damage], name, why,
           (unsigned long long)run->seed);
    print_text(run->text, run->length);
    printf("# damaged:\n");
    print_text(run->damaged, length);
}

static void try_damage(struct run *run, enum damage damage, const char *name, bool accepts,
                       size_t length)
{
    struct iso_evidence evidence;
    if (length == run->length && !memcmp(run->damaged, run->text, length))
        return;
    iso_evidence_init(&evidence);
    run->tried[accepts][damage]++;
    run->damages[run->level]++;
    for (int member = 0; member < MEMBERS; member++)
        run->members[member][0] += !strcmp(name, member_names[member]);
    if (is_confirmed(run, run->damaged, length, &evidence)) {
        run->confirmed[accepts][damage]++;
        for (int member = 0; member < MEMBERS; member++)
            run->members[member][1] += !strcmp(name, member_names[member]);
        run->confirmed_of[run->level]++;
        bool sound =
            is_known(evidence.level) && is_true_at(run, evidence.level) == evidence.accepts;
        bool expected = may_be_evidence(run, damage, name, &evidence);
        if (!sound && run->unsound++ < 3)
            complain(run, damage, name, "a verdict that is not true is confirmed", length);
        else if (!expected && run->unexpected++ < 6)
            complain(run, damage, name, "confirmed", length);
    }
    iso_evidence_release(&evidence);
}

/* ---- all kinds of damage ---- */

struct piece {
    const char *text;
    size_t length;
};

static size_t join(struct run *run, const struct piece *pieces, int count)
{
    size_t length = 0;
    for (int i = 0; i < count; i++) {
        memcpy(run->damaged + length, pieces[i].text, pieces[i].length);
        length += pieces[i].length;
    }
    return length;
}

static struct piece between(const struct run *run, size_t start, size_t end)
{
    return (struct piece){run->text + start, end - start};
}

static void damage_node(struct run *run, const struct node *node, bool accepts)
{
    const struct piece tail = between(run, node->end, run->length);
    const struct piece self = between(run, node->start, node->end), comma = {",", 1};
    bool comma_follows = run->text[node->end] == ',',
         comma_leads = run->text[node->start - 1] == ',';
    struct piece without[] = {between(run, 0, node->start - (comma_leads && !comma_follows)),
                              between(run, node->end + comma_follows, run->length)};
    try_damage(run, REMOVED, node->name, accepts, join(run, without, 2));
    struct piece doubled[] = {between(run, 0, node->end), comma, self, tail};
    try_damage(run, DOUBLED, node->name, accepts, join(run, doubled, 4));
    if (node->before && node->value == node->start) { /* members have no order */
        const struct node *other = &run->nodes[node->before - 1];
        struct piece swapped[] = {between(run, 0, other->start), self,
                                  between(run, other->end, node->start),
                                  between(run, other->start, other->end), tail};
        try_damage(run, SWAPPED, node->name, accepts, join(run, swapped, 5));
    }
    for (uint32_t i = 0; i < run->word_count && node->end - node->value < 40; i++) {
        struct piece replaced[] = {
            between(run, 0, node->value), {run->words[i], strlen(run->words[i])}, tail};
        try_damage(run, REPLACED, node->name, accepts, join(run, replaced, 3));
    }
}

static size_t line_end(const struct run *run, size_t at)
{
    return (size_t)((const char *)memchr(run->text + at, '\n', run->length - at) - run->text) + 1;
}

static void damage_lines(struct run *run, bool accepts)
{
    for (size_t start = 0, before = 0; start < run->length;
         before = start, start = line_end(run, start)) {
        size_t end = line_end(run, start);
        struct piece head = between(run, 0, start), self = between(run, start, end),
                     tail = between(run, end, run->length);
        struct piece without[] = {head, tail}, doubled[] = {head, self, self, tail};
        struct piece swapped[] = {between(run, 0, before), self, between(run, before, start), tail};
        try_damage(run, LINE_REMOVED, "", accepts, join(run, without, 2));
        try_damage(run, LINE_DOUBLED, "", accepts, join(run, doubled, 4));
        try_damage(run, LINES_SWAPPED, "", accepts, join(run, swapped, 4));
    }
    /* but for the last line's end, which is not needed */
    for (size_t end = 0; end + 1 < run->length; end++) {
        struct piece rest = between(run, 0, end);
        try_damage(run, CUT, "", accepts, join(run, &rest, 1));
    }
}

/* ---- one history's evidence ---- */

static void add_word(struct run *run, const char *word, bool quoted)
{
    if (run->word_count == WORDS)
        abort();
    snprintf(run->words[run->word_count++], sizeof run->words[0], quoted ? "\"%s\"" : "%s", word);
}

static void collect_words(struct run *run)
{
    static const char *const words[] = {
        "holds",      "violated", "ser",     "si",           "adya-si", "gsi",         "strong-si",
        "strict-ser", "begin",    "commit",  "cycle",        "list",    "propagation", "own",
        "so",         "rt",       "wr",      "ww",           "rw",      "before",      "INT",
        "G1a",        "G1b",      "THINAIR", "INCOMPATIBLE", "nobody",  "op",          "saw"};
    static const char *const weak[] = {"adya-rc", "rc",  "ra", "cc", "psi", "pc",
                                       "pram",    "ryw", "mr", "mw", "wfr"};
    run->word_count = 0;
    for (size_t i = 0; is_small(run) && i < sizeof weak / sizeof weak[0]; i++)
        add_word(run, weak[i], true);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        add_word(run, words[i], true);
    add_word(run, "null", false);
    add_word(run, "[]", false);
    for (int number = 0; number < 6; number++)
        add_word(run, (char[]){(char)('0' + number), 0}, false);
    for (uint32_t t = 0; t < run->history.txns.count + run->history.keys.count; t++) {
        const struct iso_history *history = &run->history;
        bool key = t >= history->txns.count;
        iso_atom atom = key ? history->keys.atom[t - history->txns.count] : history->txns.tid[t];
        char buffer[ISO_ATOM_TEXT_MAX], text[PLAIN_TEXT + 1];
        size_t length;
        const char *name = iso_atom_text(&history->atoms, atom, buffer, &length);
        snprintf(text, sizeof text, "%.*s", (int)length, name);
        if (!strpbrk(text, "\"\\"))
            add_word(run, text, true);
    }
}

static bool write_evidence(struct run *run, const struct iso_evidence *evidence)
{
    struct iso_output output;
    struct iso_error error = {.status = ISO_OK};
    if (ftruncate(run->descriptor, 0) != 0 || lseek(run->descriptor, 0, SEEK_SET) != 0)
        abort();
    iso_output_to(&output, run->descriptor, "evidence");
    iso_evidence_write(&output, &run->history, evidence);
    if (iso_output_close(&output, &error) != ISO_OK)
        abort();
    ssize_t length = pread(run->descriptor, run->text, sizeof run->text, 0);
    run->length = length > 0 ? (size_t)length : 0;
    return run->length > 0 && run->length < sizeof run->text;
}

static void damage_text(struct run *run, bool accepts)
{
    run->evidences[accepts]++;
    for (uint32_t i = 0; i < run->node_count; i++)
        damage_node(run, &run->nodes[i], accepts);
    damage_lines(run, accepts);
}

/* Evidence against a history that is violated, held against others that lack an operation of it and
 * hold: neither it nor what damage leaves of it is confirmed. */
static void damage_foreign(struct run *run, const struct plain_history *plain, enum iso_level level)
{
    static struct plain_history other;
    struct iso_error error = {.status = ISO_OK};
    unsigned found = 0;
    for (uint32_t t = 0; t < plain->transaction_count; t++) {
        for (uint32_t o = 0; o < plain->transactions[t].operation_count && found < 2; o++) {
            struct plain_transaction *transaction = &other.transactions[t];
            other = *plain;
            transaction->operation_count--;
            memmove(&transaction->operations[o], &transaction->operations[o + 1],
                    (transaction->operation_count - o) * sizeof transaction->operations[0]);
            if (plain_history_build(&other, &run->history, &error) != ISO_OK)
                continue;
            forget_truth(run);
            if (!is_true_at(run, level))
                continue;
            struct iso_evidence evidence;
            iso_evidence_init(&evidence);
            found++;
            run->foreign++;
            memcpy(run->damaged, run->text, run->length);
            if (is_confirmed(run, run->text, run->length, &evidence) && run->unsound++ < 3)
                complain(run, REPLACED, "history", "evidence about another history is confirmed",
                         run->length);
            iso_evidence_release(&evidence);
            damage_text(run, false);
        }
    }
}

static enum iso_status judge(struct run *run, const struct iso_polygraph_options *options,
                             struct iso_polygraph_result *result)
{
    struct iso_error error = {.status = ISO_OK};
    if (iso_level_judged_by(options->level, ISO_BY_WEAK))
        return iso_weak_check(&run->history, options, result, &error);
    return options->level == ISO_PC ? iso_split_check(&run->history, options, result, &error)
                                    : iso_polygraph_check(&run->history, options, result, &error);
}

/* Evidence of the history at hand, in every way damaged. */
static void damage_evidence(struct run *run, const struct plain_history *plain,
                            enum iso_level level)
{
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    iso_polygraph_options_init(&options);
    iso_polygraph_result_init(&result);
    options.level = level;
    /* now and then all is left to the solver, whose proofs are of another kind */
    options.no_saturation = options.no_search = options.no_windows = run->seed / LEVELS % 2 == 0;
    bool judged = judge(run, &options, &result) == ISO_OK;
    /* what is common is taken now and then */
    bool taken =
        result.outcome == ISO_IS_VIOLATED && result.evidence.finding.kind == ISO_FINDING_NONE;
    taken |= (run->seed / LEVELS % 8 == 0 || result.evidence.choice_count) &&
             result.outcome != ISO_IS_UNDECIDED;
    if (judged && taken && write_evidence(run, &result.evidence)) {
        run->node_count = 0;
        for (uint32_t at = 0; at < run->length; at++)
            at = scan(run, at, "");
        run->of_level[result.evidence.accepts][level]++;
        damage_text(run, result.evidence.accepts);
        run->solved += !result.evidence.accepts && result.counters.solver_calls;
        if (!result.evidence.accepts)
            damage_foreign(run, plain, level);
    }
    iso_polygraph_result_release(&result);
}

enum { STALE_KEYS = 3, VERSIONS = 32 };

/* All that was left in each key, one behind another: of the last key, a list, its elements. */
struct versions {
    struct plain_text of[STALE_KEYS][VERSIONS];
    uint32_t count[STALE_KEYS], next;
    bool repeats;
};

static void make_operation(struct random *random, struct versions *versions,
                           struct plain_transaction *transaction, uint32_t key)
{
    static const enum iso_operation_kind kinds[2][2] = {{ISO_READ, ISO_WRITE},
                                                        {ISO_READ_LIST, ISO_APPEND}};
    bool list = key == STALE_KEYS - 1, write = random_below(random, 5) < 2;
    struct plain_operation *operation =
        plain_history_operation(transaction, kinds[list][write], "0", NULL);
    uint32_t *count = &versions->count[key];
    operation->key = plain_number(key);
    if (!write)
        return;
    bool repeated = !list && versions->repeats && random_below(random, 4);
    operation->value = plain_number(repeated ? random_below(random, 2) : versions->next++);
    versions->of[key][(*count)++] = operation->value;
}

/* What its reads return: any version, older or newer. */
static void fill_reads(struct random *random, const struct versions *versions,
                       struct plain_transaction *transaction)
{
    for (uint32_t o = 0; o < transaction->operation_count; o++) {
        struct plain_operation *operation = &transaction->operations[o];
        uint32_t key = (uint32_t)(operation->key.text[0] - '0');
        if (operation->kind == ISO_READ_LIST) {
            operation->list_count = random_below(random, versions->count[key] + 1);
            memcpy(operation->list, versions->of[key],
                   operation->list_count * sizeof operation->list[0]);
        } else if (operation->kind == ISO_READ) {
            operation->value = versions->of[key][random_below(random, versions->count[key])];
        }
    }
}

/* Reads of whatever version, seldom of a later one: at the weak levels random histories mostly
 * hold, or read what nobody wrote. No transaction reads a key twice, or what it wrote itself. */
static void make_stale(uint64_t seed, struct plain_history *plain)
{
    struct random random = {seed};
    struct versions versions = {
        .count = {1, 1, 0}, .next = 10, .repeats = random_below(&random, 2) == 0};
    uint32_t count = 2 + random_below(&random, WEAK_ORACLE_TRANSACTIONS - 1),
             keys = 2 + random_below(&random, 2);
    uint32_t sessions = 1 + random_below(&random, 3), wild = random_below(&random, 3);
    plain_history_clear(plain);
    versions.of[0][0] = versions.of[1][0] = plain->initial_value;
    for (uint32_t t = 0; t < count; t++) {
        struct plain_transaction *transaction = plain_history_begin(plain, "0", "0");
        transaction->tid = plain_number(t);
        transaction->session = plain_number(random_below(&random, sessions));
        transaction->status = random_below(&random, 12) ? ISO_COMMITTED : ISO_UNKNOWN;
        for (uint32_t key = random_below(&random, keys), most = 1 + random_below(&random, keys);
             most > 0; most--) {
            make_operation(&random, &versions, transaction, key);
            key = (key + 1) % keys;
        }
        if (wild || random_below(&random, 8))
            fill_reads(&random, &versions, transaction);
    }
    for (uint32_t t = 0; t < count; t++) { /* some see what is written later */
        if (!wild)
            fill_reads(&random, &versions, &plain->transactions[t]);
    }
}

static void run_seed(struct run *run, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    enum iso_level level = run->level = models[seed % LEVELS];
    static struct plain_history plain;
    struct iso_error error = {.status = ISO_OK};
    options.timestamps = false;
    run->seed = seed;
    if (is_below_si(level) ||
        seed / LEVELS % 2) { /* no more than the oracle of the weak levels takes */
        options.max_transactions = WEAK_ORACLE_TRANSACTIONS;
        options.max_operations = 4;
    }
    if (is_below_si(level) && seed / LEVELS % 4)
        make_stale(seed, &plain);
    else
        random_history(seed, &options, &plain);
    if (plain_history_build(&plain, &run->history, &error) != ISO_OK ||
        run->history.totals.committed == 0 || (is_below_si(level) && !is_small(run)))
        return;
    forget_truth(run);
    collect_words(run);
    damage_evidence(run, &plain, level);
}

int main(int argc, char **argv)
{
    static struct run run;
    uint64_t number = 500, seed = 1;
    const struct argument known[] = {
        {"--histories", .number = &number}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    unsigned histories = (unsigned)number;
    run.descriptor = memfd_create("evidence", MFD_CLOEXEC);
    snprintf(run.path, sizeof run.path, "/proc/self/fd/%d", run.descriptor);
    iso_history_init(&run.history);
    for (unsigned i = 0; i < histories; i++)
        run_seed(&run, seed + i);
    iso_history_release(&run.history);
    close(run.descriptor);
    for (int accepts = 0; accepts < 2; accepts++) {
        for (int damage = 0; damage < DAMAGES; damage++)
            printf("# %s, %s: %llu confirmed of %llu\n", accepts ? "holds" : "violated",
                   damage_names[damage], (unsigned long long)run.confirmed[accepts][damage],
                   (unsigned long long)run.tried[accepts][damage]);
    }
    for (int i = 0; i < LEVELS; i++) {
        enum iso_level level = models[i];
        printf("# %s: %llu rejects, %llu accepts, %llu damages, %llu confirmed\n",
               iso_level_name(level), (unsigned long long)run.of_level[0][level],
               (unsigned long long)run.of_level[1][level], (unsigned long long)run.damages[level],
               (unsigned long long)run.confirmed_of[level]);
    }
    for (int member = 0; member < MEMBERS; member++)
        printf("# member %s: %llu confirmed of %llu\n", member_names[member],
               (unsigned long long)run.members[member][1],
               (unsigned long long)run.members[member][0]);
    bool enough = run.evidences[0] > histories / 50 && run.evidences[1] > histories / 50;
    enough = enough && (run.solved || histories < FEW); /* by the solver are few */
    for (int i = 0; i < LEVELS && histories >= FEW; i++)
        enough &= run.of_level[0][models[i]] && run.of_level[1][models[i]];
    for (int member = 0; member < MEMBERS && histories >= FEW; member++)
        enough &= run.members[member][0] > 0;
    bool good = enough && run.unsound == 0 && run.unexpected == 0;
    printf(
        "%s - damaged evidence of %llu rejects (%llu by the solver, %llu against other histories) and %llu accepts: "
        "%llu untrue verdicts and %llu damages confirmed\n",
        good ? "ok" : "not ok", (unsigned long long)run.evidences[0],
        (unsigned long long)run.solved, (unsigned long long)run.foreign,
        (unsigned long long)run.evidences[1], (unsigned long long)run.unsound,
        (unsigned long long)run.unexpected);
    return !good;
}
