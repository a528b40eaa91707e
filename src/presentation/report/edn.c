/* EDN in the form of Elle's results: anomalies by type, a cycle as its operations with the first
 * one again at the end and the steps between them. What Elle has no name for goes by ours. */
#include <string.h>

#include "explain/record.h"
#include "verdict/level.h"
#include "report/tools.h"

static void put_atom(struct iso_text *text, const struct iso_atoms *atoms, iso_atom atom)
{
    iso_explain_atom(atoms, atom, "nil", text);
}

static void put_elements(struct iso_text *text, const struct iso_atoms *atoms,
                         const iso_atom *elements, uint64_t count)
{
    iso_text_put(text, "[");
    for (uint64_t i = 0; i < count; i++) {
        iso_text_put(text, i ? " " : "");
        put_atom(text, atoms, elements[i]);
    }
    iso_text_put(text, "]");
}

static void put_value(struct iso_text *text, const struct iso_history *history, uint32_t operation)
{
    uint32_t value = history->ops.value[operation];
    if (iso_kind_of(history, operation) == ISO_READ_LIST)
        put_elements(text, &history->atoms, history->lists.element + history->lists.first[value],
                     history->lists.first[value + 1] - history->lists.first[value]);
    else
        put_atom(text, &history->atoms, value);
}

/* [:append x 1] */
static void put_operation(struct iso_text *text, const struct iso_history *history,
                          uint32_t operation)
{
    uint8_t kind = iso_kind_of(history, operation);
    iso_text_put(text, kind == ISO_APPEND ? "[:append " : iso_kind_writes(kind) ? "[:w " : "[:r ");
    put_atom(text, &history->atoms, history->keys.atom[history->ops.key[operation]]);
    iso_text_put(text, " ");
    put_value(text, history, operation);
    iso_text_put(text, "]");
}

static void put_transaction(struct iso_text *text, const struct iso_history *history,
                            uint32_t transaction)
{
    static const char *const types[] = {":ok", ":fail", ":info"};
    iso_text_format(text, "{:type %s, :f :txn, :process ",
                    types[iso_status_of(history, transaction)]);
    put_atom(text, &history->atoms, history->sessions.atom[history->txns.session[transaction]]);
    iso_text_put(text, ", :index ");
    put_atom(text, &history->atoms, history->txns.tid[transaction]);
    iso_text_put(text, ", :value [");
    ISO_EACH(o, history->txns.first_op, transaction) {
        iso_text_put(text, o > history->txns.first_op[transaction] ? " " : "");
        put_operation(text, history, o);
    }
    iso_text_put(text, "]}");
}

/* ---- names ---- */

static void put_type(struct iso_text *text, const struct iso_wrong *wrong)
{
    static const struct {
        const char *axiom, *name;
    } elle[] = {
        {"INT", "internal"}, {"INCOMPATIBLE", "incompatible-order"}, {"LOSTUPDATE", "lost-update"}};
    const char *name = wrong->axiom;
    for (size_t i = 0; i < sizeof elle / sizeof *elle; i++)
        if (!strcmp(elle[i].axiom, wrong->axiom))
            name = elle[i].name;
    iso_text_put(text, ":");
    if (!strcmp(wrong->axiom, "CYCLE") && wrong->kind) {
        iso_text_put(text, wrong->kind);
        return;
    }
    iso_text_format(text, "%s%s%s", name, wrong->kind ? "-" : "", wrong->kind ? wrong->kind : "");
}

static const char *model_of(const char *level)
{
    enum iso_level known;
    if (iso_level_parse(level, strlen(level), &known) && iso_level_row(known)->elle)
        return iso_level_row(known)->elle;
    return "snapshot-isolation";
}

/* ---- one anomaly ---- */

static void put_step(const struct iso_facts *facts, const struct iso_claim_edge *edge,
                     struct iso_text *text)
{
    static const struct {
        const char *type, *name;
    } names[] = {{"so", "process"}, {"rt", "realtime"}};
    const char *name = edge->type;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].type, edge->type))
            name = names[i].name;
    iso_text_format(text, "{:type :%s", name[0] ? name : "implied");
    if (edge->key != ISO_NONE) {
        iso_text_put(text, ", :key ");
        put_atom(text, &facts->history->atoms, facts->history->keys.atom[edge->key]);
    }
    iso_text_put(text, "}");
}

static void put_cycle(const struct iso_facts *facts, const struct iso_claim *claim,
                      struct iso_text *text)
{
    const struct iso_claim_edge *edges =
        claim->edge_count ? &facts->claims->edges[claim->first_edge] : NULL;
    iso_text_put(text, ", :cycle [");
    for (uint32_t i = 0; i <= claim->edge_count && claim->edge_count; i++) {
        iso_text_put(text, i ? "\n   " : "");
        put_transaction(text, facts->history, edges[i % claim->edge_count].from);
    }
    iso_text_put(text, "], :steps [");
    for (uint32_t i = 0; i < claim->edge_count; i++) {
        iso_text_put(text, i ? " " : "");
        put_step(facts, &edges[i], text);
    }
    iso_text_put(text, "]");
}

static void put_claim_value(const struct iso_facts *facts, const char *name,
                            const struct iso_claim_value *value, struct iso_text *text)
{
    const iso_atom *elements = iso_claim_elements(facts->claims, value);
    if (!value->given)
        return;
    iso_text_put(text, name);
    if (value->is_list)
        put_elements(text, &facts->history->atoms, elements, value->count);
    else
        put_atom(text, &facts->history->atoms, elements[0]);
}

static void put_read(const struct iso_facts *facts, const struct iso_claim *claim,
                     struct iso_text *text)
{
    for (uint32_t i = 0; i < claim->party_count; i++) {
        uint32_t transaction = iso_claim_party(facts->claims, claim, i)->transaction;
        if (transaction == ISO_NONE)
            continue;
        bool is_writer = !strcmp(claim->wrong->axiom, "G1a") || !strcmp(claim->wrong->axiom, "G1b");
        iso_text_put(text, !i ? ", :op " : is_writer ? ", :writer " : ", :other ");
        put_transaction(text, facts->history, transaction);
    }
    if (claim->operation != ISO_NONE) {
        iso_text_put(text, ", :mop ");
        put_operation(text, facts->history, claim->operation);
    }
    put_claim_value(facts, ", :expected ", &claim->expected, text);
    put_claim_value(facts, ", :actual ", &claim->actual, text);
}

static void put_anomaly(const struct iso_facts *facts, const struct iso_claim *claim,
                        enum iso_wall wall, struct iso_text *text)
{
    struct iso_argument argument;
    struct iso_text lines = {0};
    iso_argument_init(&argument, facts, claim, wall);
    report_put_lines(&argument, &lines);
    iso_text_put(text, "{:type ");
    put_type(text, claim->wrong);
    if (claim->wrong->argument == ISO_ARGUE_ORDER)
        put_cycle(facts, claim, text);
    else
        put_read(facts, claim, text);
    iso_text_put(text, ",\n   :explanation ");
    iso_text_put_string(text, lines.bytes, lines.used);
    iso_text_put(text, "}");
    iso_text_release(&lines);
    iso_argument_release(&argument);
}

static bool is_first_of_type(const struct iso_claims *claims, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (claims->list[i].wrong == claims->list[index].wrong)
            return false;
    return true;
}

static void put_anomalies(const struct iso_facts *facts, enum iso_wall wall, struct iso_text *text)
{
    const struct iso_claims *claims = facts->claims;
    const char *between = "";
    for (uint32_t i = 0; i < claims->count; i++) {
        if (!is_first_of_type(claims, i))
            continue;
        iso_text_put(text, between);
        put_type(text, claims->list[i].wrong);
        iso_text_put(text, " [");
        for (uint32_t j = i; j < claims->count; j++) {
            if (claims->list[j].wrong != claims->list[i].wrong)
                continue;
            iso_text_put(text, j > i ? "\n  " : "");
            put_anomaly(facts, &claims->list[j], wall, text);
        }
        iso_text_put(text, "]");
        between = ",\n ";
    }
}

void iso_report_edn(const struct iso_facts *facts, enum iso_wall wall, struct iso_text *text)
{
    const struct iso_claims *claims = facts->claims;
    bool is_undecided = !strcmp(claims->outcome, "undecided");
    iso_text_put(text, is_undecided    ? "{:valid? :unknown"
                       : claims->count ? "{:valid? false"
                                       : "{:valid? true");
    if (claims->count) {
        iso_text_put(text, ",\n :anomaly-types (");
        for (uint32_t i = 0; i < claims->count; i++) {
            if (!is_first_of_type(claims, i))
                continue;
            iso_text_put(text, i ? " " : "");
            put_type(text, claims->list[i].wrong);
        }
        iso_text_put(text, "),\n :anomalies {");
        put_anomalies(facts, wall, text);
        iso_text_format(text, "},\n :not #{:%s}", model_of(claims->level));
    }
    iso_text_put(text, "}\n");
}
