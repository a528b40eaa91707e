/* CYCLE: no order of the transactions, argued as Elle does: T1 < T2, because ...; T2 < T1, because
 * ..., a contradiction. At the weak levels, where an order of the transactions is no order of what
 * they saw, one read was wrong: the way to its reader comes first, as what made the version that it
 * missed visible to it, and then the level's rule. */
#include "explain/argument_private.h"

#include <string.h>

/* The reader's read of the key: where its reads differ (rc), the one that returned what the writer
 * left. */
static uint32_t read_from(const struct iso_history *history, uint32_t writer, uint32_t reader,
                          uint32_t key)
{
    uint32_t first = iso_history_external_read(history, reader, key),
             write = iso_history_last_write(history, writer, key);
    for (uint32_t o = first;
         first != ISO_NONE && write != ISO_NONE && o < history->txns.first_op[reader + 1]; o++) {
        if (history->ops.key[o] == key && iso_kind_of(history, o) == ISO_READ &&
            history->ops.value[o] == history->ops.value[write])
            return o;
    }
    return first;
}

/* The write of `writer` whose value `reader` read; its last write of the key if none can be
 * distinguished. */
static uint32_t write_that_was_read(const struct iso_history *history, uint32_t writer,
                                    uint32_t reader, uint32_t key)
{
    uint32_t read = read_from(history, writer, reader, key);
    for (uint32_t o = history->txns.first_op[writer + 1];
         read != ISO_NONE && o-- > history->txns.first_op[writer];)
        if (history->ops.key[o] == key && iso_kind_writes(history->ops.kind[o]) &&
            history->ops.value[o] == history->ops.value[read])
            return o;
    return iso_history_last_write(history, writer, key);
}

/* Why one comes before the other: `bare` where what they did to the key is not known, else `said`
 * of two operations. */
static void put_reason(struct iso_argument *argument, const struct iso_claim_edge *edge,
                       const char *begin, const char *end, uint32_t first, uint32_t second,
                       const char *bare, const char *said)
{
    if (first == ISO_NONE || second == ISO_NONE)
        argue_step(argument, bare, begin, edge->from, edge->to, edge->from, edge->key, edge->to,
                   end);
    else
        argue_step(argument, said, begin, edge->from, edge->to, edge->from, first, edge->to, second,
                   end);
}

static void put_edge(struct iso_argument *argument, const struct iso_claim_edge *edge, bool is_last)
{
    const struct iso_history *history = argument->facts->history;
    const char *begin = is_last ? "However, " : "", *end = is_last ? ": a contradiction" : "",
               *type = edge->type;
    uint32_t from = edge->from, to = edge->to, key = edge->key;
    bool has_key = key != ISO_NONE;
    if (!strcmp(type, "wr") && has_key)
        put_reason(argument, edge, begin, end, write_that_was_read(history, from, to, key),
                   read_from(history, from, to, key),
                   "%s%T < %T, because %T wrote %k and %T read that%s.",
                   "%s%T < %T, because %T %W and %T %W%s.");
    else if (!strcmp(type, "ww") && has_key)
        put_reason(argument, edge, begin, end, iso_history_last_write(history, from, key),
                   iso_history_last_write(history, to, key),
                   "%s%T < %T, because %T wrote %k before %T did%s.",
                   "%s%T < %T, because %T %W and %T %W, in that order%s.");
    else if (!strcmp(type, "rw") && has_key)
        put_reason(argument, edge, begin, end, iso_history_external_read(history, from, key),
                   iso_history_last_write(history, to, key),
                   "%s%T < %T, because %T read %k as it was before the write of %T%s.",
                   "%s%T < %T, because %T %W, and did not see that %T %W%s.");
    else if (!strcmp(type, "so"))
        argue_step(argument, "%s%T < %T, because %T came before %T in session %A%s.", begin, from,
                   to, from, to, history->sessions.atom[history->txns.session[from]], end);
    else if (!strcmp(type, "rt"))
        argue_step(argument,
                   "%s%T < %T, because by their clients' clocks %T had ended when %T began%s.",
                   begin, from, to, from, to, end);
    else
        argue_step(
            argument,
            "%s%T < %T, because %T comes first whichever of the possible writers was read%s.",
            begin, from, to, from, end);
    if (has_key)
        argue_edge(argument, from, to, type, "%s %k", type, key);
    else
        argue_edge(argument, from, to, type, "%s", type);
}

/* ---- at the weak levels ---- */

/* The rule by which a reader sees a transaction, as a clause after "at LEVEL". */
static const char *rule_of(const char *level)
{
    static const struct {
        const char *level, *rule;
    } rules[] = {
        {"rc", "whom it has read from at an earlier operation"},
        {"ra", "whom it reads from, and its session's earlier transactions"},
        {"ryw", "its session's earlier transactions"},
        {"mr", "whom its session's earlier transactions read from"},
        {"mw", "whoever comes, in its session, before one that it reads from"},
        {"wfr",
         "whom those that it reads from, or that came earlier in their sessions, had read from"},
        {"pram",
         "its session's earlier transactions, whom it or those read from, and who came in its session before these"},
        {"cc", "whoever leads to it by sessions and reads"},
        {"psi", "whoever leads to it by sessions, reads and overwritten versions"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (!strcmp(rules[i].level, level))
            return rules[i].rule;
    }
    return NULL;
}

/* The one rw edge of a cycle; ISO_NONE: there is none, or more than one. */
static uint32_t only_missed(const struct iso_claims *claims, const struct iso_claim *claim)
{
    uint32_t found = ISO_NONE;
    for (uint32_t i = claim->first_edge; i < claim->first_edge + claim->edge_count; i++) {
        if (strcmp(claims->edges[i].type, "rw") != 0)
            continue;
        if (found != ISO_NONE || claims->edges[i].key == ISO_NONE)
            return ISO_NONE;
        found = i - claim->first_edge;
    }
    return found;
}

/* The read that missed the writer's version. At rc, where reads of a key may differ, it is not said
 * which one is meant: ISO_NONE, unless they agree. */
static uint32_t missing_read(const struct iso_history *history, uint32_t reader, uint32_t key,
                             const char *level)
{
    uint32_t first = iso_history_external_read(history, reader, key);
    for (uint32_t o = first;
         !strcmp(level, "rc") && first != ISO_NONE && o < history->txns.first_op[reader + 1]; o++) {
        if (history->ops.key[o] != key)
            continue;
        if (iso_kind_writes(history->ops.kind[o]))
            break;
        if (history->ops.value[o] != history->ops.value[first])
            return ISO_NONE;
    }
    return first;
}

static void put_missed(struct iso_argument *argument, const struct iso_claim_edge *edge,
                       const char *level, const char *rule)
{
    const struct iso_history *history = argument->facts->history;
    uint32_t read = missing_read(history, edge->from, edge->key, level);
    uint32_t write = iso_history_last_write(history, edge->to, edge->key);
    argue_step(
        argument,
        "So %T was visible to %T: at level %s a transaction sees %s, and of a key the last version that these left.",
        edge->to, edge->from, level, rule);
    if (read == ISO_NONE || write == ISO_NONE)
        argue_step(argument,
                   "However, %T read %k as it was before the write of %T: a contradiction.",
                   edge->from, edge->key, edge->to);
    else
        argue_step(
            argument,
            "However, %T %W, not what %T had left there (%T %W) or a later version: a contradiction.",
            edge->from, read, edge->to, edge->to, write);
    argue_edge(argument, edge->from, edge->to, edge->type, "%s %k", edge->type, edge->key);
}

/* From the missed writer to the reader, then the read. False: the argument is that of an order. */
static bool put_visibility(struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    const struct iso_claims *claims = argument->facts->claims;
    const char *rule = claim->visibility ? rule_of(claim->visibility) : NULL;
    uint32_t missed = rule ? only_missed(claims, claim) : ISO_NONE;
    if (missed == ISO_NONE)
        return false;
    for (uint32_t i = 1; i < claim->edge_count; i++)
        put_edge(argument, &claims->edges[claim->first_edge + (missed + i) % claim->edge_count],
                 false);
    put_missed(argument, &claims->edges[claim->first_edge + missed], claim->visibility, rule);
    return true;
}

void argue_order(struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    const struct iso_claims *claims = argument->facts->claims;
    if (claim->wrong->kind)
        argue_title(argument, "%s: %s (%u transactions)", claim->wrong->kind, claim->wrong->name,
                    (uint64_t)claim->party_count);
    else
        argue_title(argument, "%s", claim->wrong->name);
    bool shown = put_visibility(argument);
    for (uint32_t i = 0; i < claim->edge_count && !shown; i++)
        put_edge(argument, &claims->edges[claim->first_edge + i], i + 1 == claim->edge_count);
    if (!claim->edge_count)
        argue_step(
            argument,
            "Every order of the transactions leaves some read without an explanation, though no single cycle shows it: a "
            "contradiction.");
    if (claim->lemmas)
        argue_step(
            argument,
            "Note: this rests on %u inferred %s, which isochron check --evidence FILE lists and "
            "isochron verify confirms.",
            (uint64_t)claim->lemmas, claim->lemmas == 1 ? "order or writer" : "orders or writers");
}
