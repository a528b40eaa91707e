/* Verdicts written and read: whatever members a verdict has, in whatever order, the reader takes
 * all of them, finds its violations as they were written, and takes nothing of the verdict for a
 * violation's. Each member that the writers write is in the reader's table.
 *
 * reported [--histories N] [--seed S]
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"
#include "verdict/reported.h"

enum { DEFAULT_VERDICTS = 2000, MOST = 4 };

static const char *const words[] = {
    "a", "x/1#v", "7", "\"", "\xc3\xa9", "a longer name, with a comma", "\x01"};

static struct iso_reported_atom draw_atom(struct random *random, struct iso_atoms *atoms)
{
    const char *word = words[random_below(random, sizeof words / sizeof *words)];
    return (struct iso_reported_atom){
        atoms, random_percent(random, 10) ? ISO_ABSENT : iso_atoms_text(atoms, word, strlen(word))};
}

static struct iso_reported_atom may_draw(struct random *random, struct iso_atoms *atoms)
{
    return random_percent(random, 50) ? draw_atom(random, atoms) : (struct iso_reported_atom){0};
}

static void draw_stamp(struct random *random, char *stamp)
{
    snprintf(stamp, ISO_REPORTED_STAMP, random_percent(random, 50) ? "%u" : "{%u,2}",
             random_below(random, 1000));
}

struct drawn {
    struct iso_atoms atoms;
    struct iso_reported_atom tids[MOST];
    iso_atom elements[MOST];
    struct iso_reported_edge edges[MOST];
    struct iso_reported_location locations[MOST];
    struct iso_reported_commit commits[MOST];
    struct iso_reported reported;
};

static void draw_cycle(struct random *random, struct drawn *drawn)
{
    struct iso_reported *reported = &drawn->reported;
    reported->is_cycle = true;
    reported->axiom = "CYCLE";
    reported->kind = "lost-update";
    reported->edges = drawn->edges;
    reported->edge_count = 1 + random_below(random, MOST);
    reported->lemmas = random_below(random, 3);
    for (uint32_t i = 0; i < reported->edge_count; i++)
        drawn->edges[i] = (struct iso_reported_edge){draw_atom(random, &drawn->atoms),
                                                     draw_atom(random, &drawn->atoms),
                                                     draw_atom(random, &drawn->atoms), "wr"};
}

static void draw_read(struct random *random, struct drawn *drawn)
{
    struct iso_reported *reported = &drawn->reported;
    for (uint32_t i = 0; i < MOST; i++)
        drawn->elements[i] = draw_atom(random, &drawn->atoms).atom;
    bool is_list = random_percent(random, 30);
    reported->axiom = "EXT";
    reported->kind = "stale";
    reported->expected = (struct iso_reported_value){
        &drawn->atoms, drawn->elements, is_list ? random_below(random, MOST) : 1, true, is_list};
    reported->actual =
        (struct iso_reported_value){&drawn->atoms, drawn->elements + 1, 1, true, false};
    reported->writer_expected = may_draw(random, &drawn->atoms);
    reported->writer_actual = may_draw(random, &drawn->atoms);
    reported->own.is_given = true;
    draw_stamp(random, reported->own.sts);
    draw_stamp(random, reported->own.cts);
    reported->note = random_percent(random, 50) ? "what \"it\" means" : NULL;
    reported->commits = drawn->commits;
    reported->commit_count = random_below(random, MOST);
    for (uint32_t i = 0; i < reported->commit_count; i++) {
        drawn->commits[i] = (struct iso_reported_commit){.tid = draw_atom(random, &drawn->atoms)};
        draw_stamp(random, drawn->commits[i].xid);
    }
}

static void draw_violation(struct random *random, struct drawn *drawn)
{
    struct iso_reported *reported = &drawn->reported;
    *reported =
        (struct iso_reported){.tids = drawn->tids, .tid_count = 1 + random_below(random, MOST)};
    for (uint32_t i = 0; i < reported->tid_count; i++)
        drawn->tids[i] = draw_atom(random, &drawn->atoms);
    if (random_percent(random, 30))
        draw_cycle(random, drawn);
    else
        draw_read(random, drawn);
    reported->key = may_draw(random, &drawn->atoms);
    reported->cause = may_draw(random, &drawn->atoms);
    if (reported->cause.atom == ISO_ABSENT) /* whatever changed a verdict has a tid */
        reported->cause.atoms = NULL;
    reported->locations = drawn->locations;
    reported->location_count = 1 + random_below(random, MOST);
    for (uint32_t i = 0; i < reported->location_count; i++)
        drawn->locations[i] =
            (struct iso_reported_location){.name = "h.jsonl",
                                           .length = 7,
                                           .position = random_below(random, 99),
                                           .is_message = random_percent(random, 50),
                                           .operation = random_percent(random, 50) ? 3 : ISO_NONE};
}

static void put_violation(struct iso_text *text, const struct iso_reported *reported)
{
    iso_text_put(text, "{");
    iso_reported_put_members(text, reported);
    iso_text_put(text, "\n");
}

/* ---- a verdict ---- */

struct verdict {
    uint64_t counts[ISO_AXIOMS], doubtful[ISO_AXIOMS], found, doubted;
    const char *outcome;
    struct iso_text text, violations; /* the whole; and a violation a line */
    uint32_t violation_count;
};

/* What only some engines write. */
static void put_rest(struct random *random, struct iso_text *text)
{
    static const char *const rest[] = {
        ",\"stream\":{\"messages\":7,\"doubtful\":3}",
        ",\"join\":{\"rows\":7,\"at\":[]}",
        ",\"books\":{\"reads\":{\"came\":9}}",
        ",\"uncovered\":[{\"table\":\"t\",\"operations\":1,\"known\":true}]",
        ",\"spellings\":[{\"column\":\"c\",\"count\":1}]",
        ",\"seconds\":{\"total\":0.010}",
        ",\"peak_rss_bytes\":1000",
        ",\"steps\":{\"windows\":1}"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (random_percent(random, 50))
            iso_text_put(text, rest[i]);
}

static void draw_verdict(struct random *random, struct drawn *drawn, struct verdict *verdict)
{
    static const char *const outcomes[] = {"holds", "violated", "undecided"};
    uint64_t unjudged[ISO_UNJUDGED_REASONS] = {random_below(random, 9), random_below(random, 2)};
    struct iso_text *text = &verdict->text;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        verdict->found += verdict->counts[axiom] = random_below(random, 4);
        verdict->doubted += verdict->doubtful[axiom] =
            random_below(random, (uint32_t)verdict->counts[axiom] + 1);
    }
    verdict->outcome = outcomes[random_below(random, 3)];
    struct iso_reported_verdict head = {.level = "si",
                                        .engine = "aion",
                                        .outcome = verdict->outcome,
                                        .order = random_percent(random, 20) ? "holds" : NULL,
                                        .any_order = random_percent(random, 20) ? "holds" : NULL,
                                        .reason = random_percent(random, 50) ? "waiting" : NULL,
                                        .versions_by_commit = random_percent(random, 20)};
    struct iso_reported_totals totals = {.transactions = random_below(random, 99),
                                         .unjudged = unjudged,
                                         .repeats = random_below(random, 2),
                                         .writes_unjudged = random_below(random, 2)};
    iso_text_put(text, "{");
    iso_reported_put_verdict(text, &head);
    iso_reported_put_totals(text, &totals);
    iso_reported_put_counts(text, verdict->counts);
    iso_text_put(text, "}");
    iso_reported_put_doubtful(text, verdict->doubtful);
    put_rest(random, text);
    iso_text_put(text, ",\"violations\":[");
    verdict->violation_count = random_below(random, MOST);
    for (uint32_t i = 0; i < verdict->violation_count; i++) {
        draw_violation(random, drawn);
        iso_text_put(text, i ? ",{" : "{");
        iso_reported_put_members(text, &drawn->reported);
        put_violation(&verdict->violations, &drawn->reported);
    }
    iso_text_put(text, "]");
    put_rest(random, text);
    iso_text_put(text, "}");
}

/* As it was read, written once more. What a member alone says is as it was: a cycle has edges, a
 * time is there. */
static bool take(void *context, const struct iso_reported *read)
{
    struct iso_reported again = *read;
    again.is_cycle = !strcmp(read->axiom, "CYCLE");
    again.own.is_given = read->own.sts[0];
    put_violation(context, &again);
    return true;
}

static bool knows_members(const struct iso_text *text)
{
    struct iso_json json;
    struct iso_json_text name;
    bool knows = true;
    iso_json_init(&json);
    iso_json_start(&json, text->bytes, text->used);
    iso_json_enter_object(&json);
    while (iso_json_member(&json, &name)) {
        knows = knows && iso_reported_is_of_verdict(&name);
        iso_json_skip(&json);
    }
    knows = knows && json.code == ISO_JSON_FINE;
    iso_json_release(&json);
    return knows;
}

static const char *fault_of(struct verdict *verdict)
{
    struct iso_atoms atoms;
    struct iso_text again = {0};
    struct iso_reported_object object = {.found = 0};
    struct iso_reported_sink sink = {.violation = take, .context = &again};
    size_t length = verdict->text.used;
    memset(iso_text_reserve(&verdict->text, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    iso_atoms_init(&atoms);
    struct iso_reported_reader *reader = iso_reported_reader_new(&atoms, &sink);
    iso_json_start(iso_reported_json(reader), verdict->text.bytes, length);
    bool is_read = iso_reported_read(reader, &object);
    bool same = again.used == verdict->violations.used &&
                (!again.used || !memcmp(again.bytes, verdict->violations.bytes, again.used));
    const char *fault = !is_read                                        ? "is not read"
                        : !object.is_verdict || object.is_violation     ? "is taken for a violation"
                        : strcmp(object.outcome, verdict->outcome) != 0 ? "has another outcome"
                        : object.found != verdict->found                ? "has other counts"
                        : object.doubtful != verdict->doubted ? "has other doubtful counts"
                        : !same                               ? "has other violations"
                        : !knows_members(&verdict->text)      ? "has a member that the table lacks"
                                                              : NULL;
    if (fault && !same)
        printf("# written: %.*s# read: %.*s", (int)verdict->violations.used,
               verdict->violations.bytes, (int)again.used, again.bytes);
    iso_reported_reader_free(reader);
    iso_atoms_release(&atoms);
    iso_text_release(&again);
    return fault;
}

static bool check_seed(uint64_t seed, uint64_t *violations)
{
    struct random random = {seed};
    struct drawn drawn = {.reported.count = 0};
    struct verdict verdict = {.found = 0};
    iso_atoms_init(&drawn.atoms);
    draw_verdict(&random, &drawn, &verdict);
    size_t length = verdict.text.used;
    const char *fault = fault_of(&verdict);
    if (fault)
        printf("# the verdict %s: reported --histories 1 --seed %" PRIu64 "\n# %.*s\n", fault, seed,
               (int)length, verdict.text.bytes);
    *violations += verdict.violation_count;
    iso_text_release(&verdict.text);
    iso_text_release(&verdict.violations);
    iso_atoms_release(&drawn.atoms);
    return !fault;
}

int main(int count, char **arguments)
{
    uint64_t verdicts = DEFAULT_VERDICTS, seed = 1, faults = 0, violations = 0;
    const struct argument known[] = {
        {"--histories", .number = &verdicts}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, count, arguments))
        return 2;
    for (uint64_t i = 0; i < verdicts; i++)
        faults += !check_seed(seed + i, &violations);
    printf("1..1\n%s 1 - %" PRIu64 " verdicts with %" PRIu64
           " violations are read as they were written\n",
           faults || !violations ? "not ok" : "ok", verdicts, violations);
    return faults || !violations;
}
