/* CYCLE: no order of the transactions, argued as Elle does: T1 < T2, because ...; T2 < T1, because ..., a
 * contradiction. */
#include "explain/argument_private.h"

#include <string.h>

struct edge {
    uint32_t from, to, key;
};

/* The write of `writer` whose value `reader` read; its last write of the key if none can be distinguished. */
static uint32_t write_that_was_read(const struct iso_history *history, uint32_t writer, uint32_t reader, uint32_t key)
{
    uint32_t read = argue_external_read(history, reader, key);
    for (uint32_t o = history->first_operation[writer + 1]; read != ISO_NONE && o-- > history->first_operation[writer];)
        if (history->key[o] == key && iso_kind_writes(history->kind[o]) && history->value[o] == history->value[read])
            return o;
    return argue_last_write(history, writer, key);
}

static void put_read(struct iso_argument *argument, const struct edge *edge, const char *begin, const char *end)
{
    const struct iso_history *history = argument->facts->history;
    uint32_t read = argue_external_read(history, edge->to, edge->key);
    uint32_t write = write_that_was_read(history, edge->from, edge->to, edge->key);
    if (read == ISO_NONE || write == ISO_NONE)
        argue_step(argument, "%s%T < %T, because %T wrote %k and %T read that%s.", begin, edge->from, edge->to,
                   edge->from, edge->key, edge->to, end);
    else
        argue_step(argument, "%s%T < %T, because %T %W and %T %W%s.", begin, edge->from, edge->to, edge->from, write,
                   edge->to, read, end);
}

static void put_write(struct iso_argument *argument, const struct edge *edge, const char *begin, const char *end)
{
    const struct iso_history *history = argument->facts->history;
    uint32_t first = argue_last_write(history, edge->from, edge->key);
    uint32_t second = argue_last_write(history, edge->to, edge->key);
    if (first == ISO_NONE || second == ISO_NONE)
        argue_step(argument, "%s%T < %T, because %T wrote %k before %T did%s.", begin, edge->from, edge->to, edge->from,
                   edge->key, edge->to, end);
    else
        argue_step(argument, "%s%T < %T, because %T %W and %T %W, in that order%s.", begin, edge->from, edge->to,
                   edge->from, first, edge->to, second, end);
}

static void put_anti(struct iso_argument *argument, const struct edge *edge, const char *begin, const char *end)
{
    const struct iso_history *history = argument->facts->history;
    uint32_t read = argue_external_read(history, edge->from, edge->key);
    uint32_t write = argue_last_write(history, edge->to, edge->key);
    if (read == ISO_NONE || write == ISO_NONE)
        argue_step(argument, "%s%T < %T, because %T read %k as it was before the write of %T%s.", begin, edge->from,
                   edge->to, edge->from, edge->key, edge->to, end);
    else
        argue_step(argument, "%s%T < %T, because %T %W, and did not see that %T %W%s.", begin, edge->from, edge->to,
                   edge->from, read, edge->to, write, end);
}

static void put_edge(struct iso_argument *argument, const struct iso_claim_edge *claimed, bool is_last)
{
    const struct iso_history *history = argument->facts->history;
    struct edge edge = {claimed->from, claimed->to, claimed->key};
    const char *begin = is_last ? "However, " : "", *end = is_last ? ": a contradiction" : "";
    bool has_key = edge.key != ISO_NONE;
    if (!strcmp(claimed->type, "wr") && has_key)
        put_read(argument, &edge, begin, end);
    else if (!strcmp(claimed->type, "ww") && has_key)
        put_write(argument, &edge, begin, end);
    else if (!strcmp(claimed->type, "rw") && has_key)
        put_anti(argument, &edge, begin, end);
    else if (!strcmp(claimed->type, "so"))
        argue_step(argument, "%s%T < %T, because %T came before %T in session %A%s.", begin, edge.from, edge.to,
                   edge.from, edge.to, history->session_atom[history->session[edge.from]], end);
    else if (!strcmp(claimed->type, "rt"))
        argue_step(argument, "%s%T < %T, because by their clients' clocks %T had ended when %T began%s.", begin,
                   edge.from, edge.to, edge.from, edge.to, end);
    else
        argue_step(argument, "%s%T < %T, because %T comes first whichever of the possible writers was read%s.", begin,
                   edge.from, edge.to, edge.from, end);
    if (has_key)
        argue_edge(argument, edge.from, edge.to, claimed->type, "%s %k", claimed->type, edge.key);
    else
        argue_edge(argument, edge.from, edge.to, claimed->type, "%s", claimed->type);
}

void argue_order(struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    const struct iso_claims *claims = argument->facts->claims;
    if (claim->wrong->kind)
        argue_title(argument, "%s: %s of %u transactions", claim->wrong->kind, claim->wrong->name,
                    (uint64_t)claim->party_count);
    else
        argue_title(argument, "%s", claim->wrong->name);
    if (claim->lemmas)
        argue_step(argument,
                   "This rests on %u %s about orders and writers, which isochron check --evidence FILE lists and "
                   "isochron verify confirms.",
                   (uint64_t)claim->lemmas, claim->lemmas == 1 ? "conclusion" : "conclusions");
    for (uint32_t i = 0; i < claim->edge_count; i++)
        put_edge(argument, &claims->edges[claim->first_edge + i], i + 1 == claim->edge_count);
    if (!claim->edge_count)
        argue_step(
            argument,
            "Every order of the transactions leaves some read without an explanation, though no single cycle shows it: a "
            "contradiction.");
}
