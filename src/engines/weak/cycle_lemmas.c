/* Evidence: why the constraints close a cycle, in lemmas that src/engines/verify confirms by a rule
 * of its own.
 *
 * A note "t2 before t1" rests on a read of t1's version by r, to which t2 is visible: were t1
 * before t2, r's read would be overwritten by what r could see. So it is a lemma whose cycle has
 * one rw, r -> t2, and a way by which t2 is visible to r. The last note of a cycle is turned round:
 * the rest of the cycle says that t1 comes before t2, and its own cycle ends the proof. That one is
 * shown to people.
 */
#include <assert.h>

#include "weak/weak_private.h"

static uint32_t read_name(const struct weak *weak, uint32_t read)
{
    assert(read < weak->problem.reads.count);
    return weak->each_read ? weak->problem.reads.operation[read] + 1 : 0;
}

void weak_put_session(struct proof *proof, uint32_t from, uint32_t to)
{
    assert(from < proof->weak->history->txns.count);
    struct iso_evidence *evidence = proof->evidence;
    struct iso_lemma *lemma = &evidence->lemmas[evidence->lemma_count - 1];
    struct iso_edge *last = lemma->edge_count ? &evidence->edges[evidence->edge_count - 1] : NULL;
    if (last && last->kind == ISO_EDGE_SESSION) /* one edge spans several neighbours */
        last->to = iso_event_begin(to);
    else
        iso_evidence_edge(evidence, (struct iso_edge){.kind = ISO_EDGE_SESSION,
                                                      .from = iso_event_begin(from),
                                                      .to = iso_event_begin(to),
                                                      .key = ISO_NONE,
                                                      .via = ISO_NONE});
}

struct iso_literal weak_literal_reads(const struct weak *weak, uint32_t read, uint32_t write,
                                      bool reads)
{
    assert(read < weak->problem.reads.count);
    return (struct iso_literal){
        reads ? ISO_LITERAL_READS : ISO_LITERAL_NOT_READS,
        iso_history_owner(weak->history, weak->problem.reads.operation[read]),
        write == INITIAL ? ISO_NONE : weak->problem.writes.transaction[write], read_key(weak, read),
        read_name(weak, read)};
}

/* The lemma at hand rests on the choice, and so does the whole. */
static void use_choice(struct proof *proof, uint32_t read)
{
    struct weak *weak = proof->weak;
    struct iso_evidence *evidence = proof->evidence;
    if (weak->problem.reads.set[read] == ISO_NONE)
        return;
    struct iso_literal literal =
        weak_literal_reads(weak, read, weak->problem.reads.writer[read], false);
    const struct iso_lemma *lemma = &evidence->lemmas[evidence->lemma_count - 1];
    bool said = false, known = false;
    for (uint32_t i = lemma->first_literal; i < lemma->first_literal + lemma->literal_count; i++)
        said |= !memcmp(&evidence->literals[i], &literal, sizeof literal);
    if (!said)
        iso_evidence_literal(evidence, literal);
    for (uint32_t i = 0; i < weak->found.used_count; i++)
        known |= weak->found.used[i] == read;
    if (known)
        return;
    ISO_PUSH(weak->found.used, weak->found.used_count, weak->found.used_capacity, read);
}

void weak_put_read(struct proof *proof, uint32_t from, uint32_t to, uint32_t read)
{
    assert(from < proof->weak->history->txns.count);
    use_choice(proof, read);
    iso_evidence_edge(proof->evidence, (struct iso_edge){.kind = ISO_EDGE_WR,
                                                         .from = iso_event_begin(from),
                                                         .to = iso_event_begin(to),
                                                         .key = read_key(proof->weak, read),
                                                         .via = ISO_NONE,
                                                         .read = read_name(proof->weak, read)});
}

void weak_put_order(struct proof *proof, uint32_t from, uint32_t to, uint32_t key)
{
    assert(from < proof->weak->history->txns.count);
    assert(key < proof->weak->history->keys.count);
    iso_evidence_edge(proof->evidence, (struct iso_edge){.kind = ISO_EDGE_WW,
                                                         .from = iso_event_begin(from),
                                                         .to = iso_event_begin(to),
                                                         .key = key,
                                                         .via = ISO_NONE});
}

void weak_put_overwritten(struct proof *proof, uint32_t reader, uint32_t read, uint32_t later)
{
    assert(reader < proof->weak->history->txns.count);
    use_choice(proof, read);
    iso_evidence_edge(proof->evidence, (struct iso_edge){.kind = ISO_EDGE_RW,
                                                         .from = iso_event_begin(reader),
                                                         .to = iso_event_begin(later),
                                                         .key = read_key(proof->weak, read),
                                                         .via = read_source(proof->weak, read),
                                                         .read = read_name(proof->weak, read)});
}

/* ---- how something is visible ---- */

/* The first read of `t` from `source`, below `end`; ISO_NONE: none. */
static uint32_t read_of(const struct weak *weak, uint32_t t, uint32_t source, uint32_t end)
{
    assert(t < weak->history->txns.count);
    for (uint32_t read = weak->problem.reads.first[t]; read < end; read++) {
        if (read_source(weak, read) == source)
            return read;
    }
    return ISO_NONE;
}

static uint32_t last_of_session(const struct weak *weak, uint32_t t)
{
    assert(t < weak->history->txns.count);
    return is_unknown(weak, t) ? weak->chains.before[t] : t;
}

/* An edge from `from` to `a`, then sessions to `t`, which is `a` or stands behind it: where `a` is
 * one of t's session up to it that read from `from`. */
static bool put_read_in_session(struct proof *proof, uint32_t from, uint32_t t)
{
    assert(from < proof->weak->history->txns.count);
    struct weak *weak = proof->weak;
    for (uint32_t a = last_of_session(weak, t); a != ISO_NONE; a = weak->chains.before[a]) {
        uint32_t read = read_of(weak, a, from, weak->problem.reads.first[a + 1]);
        if (read == ISO_NONE)
            continue;
        weak_put_read(proof, from, a, read);
        if (a != t)
            weak_put_session(proof, a, t);
        return true;
    }
    return false;
}

/* pram: to what comes before the reader, or to what its sources come behind. */
static bool put_pram(struct proof *proof, uint32_t from, uint32_t reader)
{
    assert(from < proof->weak->history->txns.count);
    assert(reader < proof->weak->history->txns.count);
    struct weak *weak = proof->weak;
    for (uint32_t a = reader; a != ISO_NONE; a = weak->chains.before[a]) {
        ISO_EACH(read, weak->problem.reads.first, a) {
            uint32_t source = read_source(weak, read);
            if (source == ISO_NONE || (a == reader && source == from) ||
                (source != from && !is_session_before(weak, from, source)))
                continue;
            if (source != from)
                weak_put_session(proof, from, source);
            weak_put_read(proof, source, a, read);
            if (a != reader)
                weak_put_session(proof, a, reader);
            return true;
        }
    }
    return false;
}

/* cc: the shortest way of sessions and reads, found from its end. */
static void put_causal(struct proof *proof, uint32_t from, uint32_t reader)
{
    assert(from < proof->weak->history->txns.count);
    assert(reader < proof->weak->history->txns.count);
    struct weak *weak = proof->weak;
    uint32_t n = weak->history->txns.count, count = 0;
    uint32_t *to = iso_numbers_none(n), *by = iso_numbers(n), *queue = iso_numbers(n);
    queue[count++] = reader;
    for (uint32_t next = 0; next < count && to[from] == ISO_NONE; next++) {
        uint32_t t = queue[next], before = weak->chains.before[t];
        if (before != ISO_NONE && to[before] == ISO_NONE && before != reader) {
            to[before] = t;
            by[before] = ISO_NONE;
            queue[count++] = before;
        }
        ISO_EACH(read, weak->problem.reads.first, t) {
            uint32_t source = read_source(weak, read);
            if (source == ISO_NONE || to[source] != ISO_NONE || source == reader)
                continue;
            to[source] = t;
            by[source] = read;
            queue[count++] = source;
        }
    }
    for (uint32_t t = from; t != reader; t = to[t]) {
        if (by[t] == ISO_NONE)
            weak_put_session(proof, t, to[t]);
        else
            weak_put_read(proof, t, to[t], by[t]);
    }
    ISO_FREE_ALL(to, by, queue);
}

static void put_by_sources(struct proof *proof, uint32_t from, uint32_t reader)
{
    assert(from < proof->weak->history->txns.count);
    assert(reader < proof->weak->history->txns.count);
    struct weak *weak = proof->weak;
    ISO_EACH(read, weak->problem.reads.first, reader) {
        uint32_t source = read_source(weak, read);
        if (source == ISO_NONE)
            continue;
        bool found = weak->level == ISO_MW && is_session_before(weak, from, source);
        if (found)
            weak_put_session(proof, from, source);
        else
            found = weak->level == ISO_WFR && put_read_in_session(proof, from, source);
        if (!found)
            continue;
        weak_put_read(proof, source, reader, read);
        return;
    }
}

/* Why `from` is visible to the reader at a read of it. */
static void put_visible(struct proof *proof, uint32_t from, uint32_t reader, uint32_t at)
{
    assert(from < proof->weak->history->txns.count);
    assert(reader < proof->weak->history->txns.count);
    struct weak *weak = proof->weak;
    uint32_t end = weak->each_read ? at : weak->problem.reads.first[reader + 1], read;
    switch (weak->level) {
    case ISO_RC:
    case ISO_RA:
        read = read_of(weak, reader, from, end);
        if (read != ISO_NONE)
            weak_put_read(proof, from, reader, read);
        else
            weak_put_session(proof, from, reader);
        break;
    case ISO_RYW:
        weak_put_session(proof, from, reader);
        break;
    case ISO_MR:
        for (uint32_t before = weak->chains.before[reader]; before != ISO_NONE; before = ISO_NONE) {
            put_read_in_session(proof, from, before);
            weak_put_session(proof, before, reader);
        }
        break;
    case ISO_PRAM:
        if (is_session_before(weak, from, reader))
            weak_put_session(proof, from, reader);
        else
            put_pram(proof, from, reader);
        break;
    case ISO_MW:
    case ISO_WFR:
        put_by_sources(proof, from, reader);
        break;
    default:
        put_causal(proof, from, reader);
    }
}

/* ---- lemmas ---- */

static uint32_t reader_of(const struct weak *weak, uint32_t read)
{
    assert(read < weak->problem.reads.count);
    return iso_history_owner(weak->history, weak->problem.reads.operation[read]);
}

static void begin_lemma(struct proof *proof, enum iso_lemma_kind kind, uint32_t operation)
{
    iso_evidence_lemma(proof->evidence, kind, operation);
}

void weak_say_order(struct proof *proof, uint32_t earlier, uint32_t later, uint32_t key)
{
    assert(key < proof->weak->history->keys.count);
    iso_evidence_literal(proof->evidence,
                         (struct iso_literal){ISO_LITERAL_ORDER, earlier, later, key, 0});
}

/* The cycle that says a note: one rw, and why what it leads to is visible. */
static void put_note_cycle(struct proof *proof, uint32_t read, uint32_t visible)
{
    uint32_t reader = reader_of(proof->weak, read);
    weak_put_overwritten(proof, reader, read, visible);
    put_visible(proof, visible, reader, read);
}

void weak_say_bond(struct proof *proof, const struct bond *bond)
{
    if (bond->kind == BOND_SIDE)
        return;
    begin_lemma(proof, bond->kind == BOND_LIST ? ISO_LEMMA_LIST : ISO_LEMMA_CYCLE,
                bond->kind == BOND_LIST ? bond->why : ISO_NONE);
    weak_say_order(proof, bond->from, bond->to, bond->key);
    if (bond->kind == BOND_NOTE)
        put_note_cycle(proof, bond->why, bond->from);
}

static void put_step(struct proof *proof, const struct step *step)
{
    const struct bond *bond = step->bond == ISO_NONE ? NULL : &proof->weak->order.bonds[step->bond];
    if (bond && bond->kind != BOND_SIDE)
        weak_put_order(proof, step->from, step->to, bond->key);
    else if (!bond && step->read != ISO_NONE)
        weak_put_read(proof, step->from, step->to, step->read);
    else
        weak_put_session(proof, step->from, step->to);
}

/* Steps of a session are joined, but not across the ends of the list: it begins behind a step that
 * is none. */
static uint32_t first_step(const struct weak *weak, const struct step *steps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool is_session = steps[i].bond == ISO_NONE
                              ? steps[i].read == ISO_NONE
                              : weak->order.bonds[steps[i].bond].kind == BOND_SIDE;
        if (!is_session)
            return i;
    }
    return 0;
}

static uint32_t last_note(const struct weak *weak, const struct step *steps, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        if (steps[i].bond != ISO_NONE && weak->order.bonds[steps[i].bond].kind == BOND_NOTE)
            return i;
    }
    return ISO_NONE;
}

/* The lemma at hand rests on the choices of all those before. */
static void use_all(struct proof *proof)
{
    for (uint32_t i = 0; i < proof->weak->found.used_count; i++)
        use_choice(proof, proof->weak->found.used[i]);
}

static void weak_explain_cycle(struct weak *weak)
{
    struct proof proof = {weak, &weak->result->evidence};
    uint32_t count;
    struct step *steps = weak_order_cycle(weak, &count);
    uint32_t turned = last_note(weak, steps, count);
    for (uint32_t i = 0; i < count; i++) {
        if (steps[i].bond != ISO_NONE && i != turned)
            weak_say_bond(&proof, &weak->order.bonds[steps[i].bond]);
    }
    begin_lemma(&proof, ISO_LEMMA_CYCLE, ISO_NONE);
    uint32_t start = turned == ISO_NONE ? first_step(weak, steps, count) : turned;
    if (turned != ISO_NONE) {
        const struct bond *bond = &weak->order.bonds[steps[turned].bond];
        weak_say_order(&proof, bond->to, bond->from, bond->key);
    }
    for (uint32_t i = 0; i < count; i++)
        put_step(&proof, &steps[(start + i) % count]);
    use_all(&proof);
    if (turned != ISO_NONE) {
        begin_lemma(&proof, ISO_LEMMA_CYCLE, ISO_NONE);
        put_note_cycle(&proof, weak->order.bonds[steps[turned].bond].why,
                       weak->order.bonds[steps[turned].bond].from);
    }
    use_all(&proof);
    iso_free(steps);
}

static void weak_explain_initial(struct weak *weak)
{
    struct proof proof = {weak, &weak->result->evidence};
    begin_lemma(&proof, ISO_LEMMA_CYCLE, ISO_NONE);
    put_note_cycle(&proof, weak->found.broken_read, weak->found.broken_by);
}

void weak_explain_broken(struct weak *weak)
{
    weak->found.used_count = 0;
    if (weak->found.broken_read != ISO_NONE)
        weak_explain_initial(weak);
    else
        weak_explain_cycle(weak);
    weak->result->cycle_lemma = weak->result->evidence.lemma_count - 1;
}

void weak_explain_accept(struct weak *weak)
{
    for (uint32_t i = 0; i < weak->chains.part_count; i++)
        iso_evidence_event(&weak->result->evidence, iso_event_begin(weak->order.list[i]));
    for (uint32_t read = 0; read < weak->problem.reads.count; read++) {
        if (weak->problem.reads.set[read] != ISO_NONE)
            iso_evidence_add_choice(
                &weak->result->evidence,
                (struct iso_choice){weak->problem.reads.operation[read], read_source(weak, read)});
    }
    weak->result->evidence.accepts = true;
}
