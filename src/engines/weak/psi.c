/* Parallel snapshot isolation: visible is also what a visible writer overwrote, or the reader
 * itself. That follows from the order of versions, so it is a search, but a short one: an order
 * that the input or causality proposes breaks little or nothing.
 *
 * 1. *Causality*, the sweep of cc: what it notes holds in every order.
 * 2. *Sweep* with what the order overwrites in the rows. Where the version t2 is visible to a
 *    reader of t1, and stands behind t1, one of the pairs of writers on the way from t2 to the
 *    reader stands the other way, or t2 before t1: a *lemma*, a clause of the orders of pairs. One
 *    literal alone is a bond.
 * 3. The solver says which way the pairs stand; the order is *sorted* with them, as near to the one
 *    before as can be. A cycle is a lemma, too. On from 2.
 *
 * No hit: the order is the evidence. No model: the lemmas are, those that the contradiction needs,
 * with what the solver learned from them. Reads with several possible writers are choices of the
 * same solver.
 */
#include "base/number_map.h"
#include "weak/choices.h"
#include "weak/visibility_paths.h"

/* The grounds of a lemma, beside its literals. */
struct needs {
    uint32_t first, count; /* bonds */
};

struct pair {
    uint32_t earlier, later, key; /* as the variable says, if it is true */
};

struct psi {
    struct weak *weak;
    struct iso_solver *solver;
    struct weak_choices choices;
    struct visibility_paths visibility_paths;
    uint32_t kept; /* bonds of every order: those behind are tried */

    struct iso_evidence lemmas; /* all of them */
    int *literals; /* of the lemmas: as the solver's; 0: of a bond, which it is not told */
    uint32_t literal_capacity;
    struct needs *needs; /* by lemma */
    uint32_t need_lemmas, *need, need_count, need_capacity;

    ISO_LIST(struct pair) pairs;   /* by variable, behind the choices' */
    struct iso_number_map pair_of; /* of two transactions, the lower number first: 1 + the pair */

    ISO_LIST(struct bond) fresh;   /* bonds that are found: kept once the tried ones are gone */
    struct iso_number_map bond_of; /* of two transactions: the bond that was found */
    uint32_t contradiction;        /* the lemma without literals; ISO_NONE: not yet */
    bool saturates;                /* bonds are sought, and no clauses */
    bool asks;                     /* the solver has new clauses */
    bool has_model;                /* it has a model of those before */
};

/* ---- literals ---- */

/* "`earlier` comes before `later`" as the solver's literal. A new variable is true as the order
 * stands. */
static int literal_of_order(struct psi *psi, uint32_t earlier, uint32_t later, uint32_t key)
{
    bool up = earlier < later;
    uint64_t name = iso_number_pair(up ? earlier : later, up ? later : earlier);
    uint32_t pair = iso_number_map_get(&psi->pair_of, name);
    if (pair == ISO_NUMBER_NONE) {
        const uint32_t *position = psi->weak->order.position;
        bool stands = position[earlier] < position[later];
        ISO_GROW(psi->pairs.list, psi->pairs.count, psi->pairs.capacity);
        psi->pairs.list[psi->pairs.count] =
            stands ? (struct pair){earlier, later, key} : (struct pair){later, earlier, key};
        pair = psi->pairs.count++;
        iso_number_map_put(&psi->pair_of, name, pair);
    }
    int variable = (int)(psi->choices.variables + pair);
    return psi->pairs.list[pair].earlier == earlier ? variable : -variable;
}

static struct iso_literal literal_of(const struct psi *psi, int literal)
{
    uint32_t variable = (uint32_t)(literal < 0 ? -literal : literal);
    if (variable < psi->choices.variables)
        return weak_choices_literal(&psi->choices, literal);
    const struct pair *pair = &psi->pairs.list[variable - psi->choices.variables];
    return literal > 0
               ? (struct iso_literal){ISO_LITERAL_ORDER, pair->earlier, pair->later, pair->key, 0}
               : (struct iso_literal){ISO_LITERAL_ORDER, pair->later, pair->earlier, pair->key, 0};
}

/* The write that a choice's literal is about. */
static uint32_t write_read(const struct weak *weak, const struct iso_literal *literal)
{
    uint32_t write = literal->b == ISO_NONE ? INITIAL : weak->problem.writes.first[literal->b];
    while (write != INITIAL && weak->problem.writes.key[write] != literal->key)
        write++;
    return write;
}

static uint32_t read_meant(const struct weak *weak, const struct iso_literal *literal)
{
    uint32_t read = weak->problem.reads.first[literal->a];
    while (read_key(weak, read) != literal->key)
        read++;
    return read;
}

/* ---- lemmas ---- */

static struct proof begin_lemma(struct psi *psi)
{
    iso_evidence_lemma(&psi->lemmas, ISO_LEMMA_CYCLE, ISO_NONE);
    psi->weak->found.used_count = 0;
    return (struct proof){psi->weak, &psi->lemmas};
}

static void say(struct psi *psi, uint32_t earlier, uint32_t later, uint32_t key)
{
    const struct iso_evidence *lemmas = &psi->lemmas;
    const struct iso_lemma *lemma = &lemmas->lemmas[lemmas->lemma_count - 1];
    for (uint32_t i = lemma->first_literal; i < lemma->first_literal + lemma->literal_count; i++) {
        const struct iso_literal *literal = &lemmas->literals[i];
        if (literal->kind == ISO_LITERAL_ORDER && literal->a == earlier && literal->b == later)
            return;
    }
    struct proof proof = {psi->weak, &psi->lemmas};
    weak_say_order(&proof, earlier, later, key);
}

static void need_bond(struct psi *psi, uint32_t bond)
{
    ISO_PUSH(psi->need, psi->need_count, psi->need_capacity, bond);
}

static const struct bond *bond_at(const struct psi *psi, uint32_t bond)
{
    return bond < psi->kept ? &psi->weak->order.bonds[bond] : &psi->fresh.list[bond - psi->kept];
}

static void add_bond(struct psi *psi, const struct iso_literal *literal, uint32_t lemma)
{
    if (iso_number_map_add(&psi->bond_of, iso_number_pair(literal->a, literal->b),
                           psi->kept + psi->fresh.count) != psi->kept + psi->fresh.count)
        return;
    ISO_APPEND(psi->fresh, (struct bond){literal->a, literal->b, BOND_LEMMA, lemma, literal->key});
}

static void drop_lemma(struct psi *psi, uint32_t first_need)
{
    struct iso_evidence *lemmas = &psi->lemmas;
    const struct iso_lemma *lemma = &lemmas->lemmas[--lemmas->lemma_count];
    lemmas->literal_count = lemma->first_literal;
    lemmas->edge_count = lemma->first_edge;
    psi->need_count = first_need;
}

/* One literal that orders two writers is a bond. The solver is told what else it has variables
 * for. */
static void end_lemma(struct psi *psi)
{
    struct iso_evidence *lemmas = &psi->lemmas;
    uint32_t number = lemmas->lemma_count - 1,
             first_need = number ? psi->needs[number - 1].first + psi->needs[number - 1].count : 0;
    const struct iso_lemma *lemma = &lemmas->lemmas[number];
    if (psi->saturates && lemma->literal_count > 1) {
        drop_lemma(psi, first_need);
        return;
    }
    ISO_GROW(psi->needs, number, psi->need_lemmas);
    psi->needs[number] = (struct needs){first_need, psi->need_count - first_need};
    ISO_RESERVE(psi->literals, lemmas->literal_count + 1u, psi->literal_capacity);
    for (uint32_t i = lemma->first_literal; i < lemma->first_literal + lemma->literal_count; i++) {
        const struct iso_literal *literal = &lemmas->literals[i];
        psi->literals[i] = 0;
        if (literal->kind == ISO_LITERAL_NOT_READS)
            psi->literals[i] = -weak_choices_variable(&psi->choices, read_meant(psi->weak, literal),
                                                      write_read(psi->weak, literal));
        else if (lemma->literal_count > 1 ||
                 iso_number_map_get(
                     &psi->pair_of,
                     iso_number_pair(literal->a < literal->b ? literal->a : literal->b,
                                     literal->a < literal->b ? literal->b : literal->a)) !=
                     ISO_NUMBER_NONE)
            psi->literals[i] = literal_of_order(psi, literal->a, literal->b, literal->key);
    }
    if (!lemma->literal_count)
        psi->contradiction = number;
    if (lemma->literal_count == 1 &&
        lemmas->literals[lemma->first_literal].kind == ISO_LITERAL_ORDER)
        add_bond(psi, &lemmas->literals[lemma->first_literal], number);
    if (lemma->literal_count && psi->literals[lemma->first_literal]) {
        iso_solver_clause(psi->solver, psi->literals + lemma->first_literal, lemma->literal_count);
        psi->asks = true;
    }
}

static void put_bond(struct psi *psi, struct proof *proof, uint32_t number)
{
    const struct bond *bond = &psi->weak->order.bonds[number];
    weak_put_order(proof, bond->from, bond->to, bond->key);
    if (bond->kind == BOND_TRIED)
        say(psi, bond->to, bond->from, bond->key);
    else
        need_bond(psi, number);
}

/* A way as edges: what it rests on becomes literals and needs. */
static void put_way(struct psi *psi, struct proof *proof)
{
    for (uint32_t i = 0; i < psi->visibility_paths.step_count; i++) {
        const struct way_step *step = &psi->visibility_paths.step[i];
        switch (step->kind) {
        case WAY_SESSION:
            weak_put_session(proof, step->from, step->to);
            break;
        case WAY_READ:
            weak_put_read(proof, step->from, step->to, step->why);
            break;
        case WAY_BOND:
            put_bond(psi, proof, step->why);
            break;
        case WAY_ORDER:
            weak_put_order(proof, step->from, step->to, step->why);
            say(psi, step->to, step->from, step->why);
            break;
        }
    }
}

/* Whether the one comes before the other in every order. Then a bond says so. */
static bool is_certain(struct psi *psi, uint32_t earlier, uint32_t later, uint32_t key,
                       uint32_t *bond)
{
    if (!visibility_paths_find(&psi->visibility_paths, earlier, later, VISIBILITY_PATHS_CERTAIN))
        return false;
    *bond = iso_number_map_get(&psi->bond_of, iso_number_pair(earlier, later));
    if (psi->visibility_paths.step_count == 1 && psi->visibility_paths.step[0].kind == WAY_BOND)
        *bond = psi->visibility_paths.step[0].why;
    if (*bond != ISO_NUMBER_NONE)
        return true;
    struct proof proof = begin_lemma(psi);
    weak_say_order(&proof, earlier, later, key);
    put_way(psi, &proof);
    weak_put_order(&proof, later, earlier, key);
    *bond = psi->kept + psi->fresh.count;
    end_lemma(psi);
    return true;
}

static void learn_hit(struct psi *psi, const struct hit *hit)
{
    struct weak *weak = psi->weak;
    uint32_t visible = weak->problem.writes.transaction[hit->write],
             source = read_source(weak, hit->read), key = read_key(weak, hit->read);
    uint32_t reader = iso_history_owner(weak->history, weak->problem.reads.operation[hit->read]),
             bond = ISO_NONE;
    bool certain = source != ISO_NONE && is_certain(psi, source, visible, key, &bond);
    bool found =
        visibility_paths_find(&psi->visibility_paths, visible, reader, VISIBILITY_PATHS_ORDERED);
    assert(found);
    (void)found;
    struct proof proof = begin_lemma(psi);
    weak_put_overwritten(&proof, reader, hit->read, visible);
    if (certain)
        need_bond(psi, bond);
    else if (source != ISO_NONE)
        say(psi, visible, source, key);
    put_way(psi, &proof);
    end_lemma(psi);
}

/* A round's searches take no longer than some sweeps. */
static uint64_t most_steps(const struct psi *psi)
{
    const struct weak *weak = psi->weak;
    return psi->visibility_paths.steps +
           8 * (uint64_t)(weak->chains.part_count + weak->problem.reads.count +
                          weak->problem.writes.count) +
           1000;
}

/* Learns from the sweep's hits: from all, or as many as take no longer than some sweeps. The rest
 * comes again. */
static void learn_hits(struct psi *psi)
{
    struct weak *weak = psi->weak;
    uint64_t most = most_steps(psi);
    visibility_paths_renew(&psi->visibility_paths, psi->kept);
    for (uint32_t i = 0; i < weak->found.hit_count && psi->visibility_paths.steps < most &&
                         psi->contradiction == ISO_NONE;
         i++)
        learn_hit(psi, &weak->found.hits[i]);
}

static void put_step(struct psi *psi, struct proof *proof, const struct step *step)
{
    struct weak *weak = psi->weak;
    const struct bond *bond = step->bond == ISO_NONE ? NULL : &weak->order.bonds[step->bond];
    if (!bond && step->read != ISO_NONE) {
        weak_put_read(proof, step->from, step->to, step->read);
    } else if (!bond || bond->kind == BOND_SIDE) {
        weak_put_session(proof, step->from, step->to);
    } else {
        put_bond(psi, proof, step->bond);
    }
}

/* A bond that is tried against the order, and a way back. */
static void learn_way_back(struct psi *psi, uint32_t number)
{
    const struct bond *bond = &psi->weak->order.bonds[number];
    if (psi->weak->order.position[bond->from] < psi->weak->order.position[bond->to] ||
        !visibility_paths_find(&psi->visibility_paths, bond->to, bond->from,
                               VISIBILITY_PATHS_TRIED))
        return;
    struct proof proof = begin_lemma(psi);
    put_bond(psi, &proof, number);
    put_way(psi, &proof);
    end_lemma(psi);
}

static void restore_positions(struct weak *weak)
{
    for (uint32_t i = 0; i < weak->chains.part_count; i++)
        weak->order.position[weak->order.list[i]] = i;
}

/* Why what is tried has no order: a cycle, and those by which single bonds break an order that
 * keeps most of them, from which the next round starts. */
static void learn_cycles(struct psi *psi)
{
    struct weak *weak = psi->weak;
    uint32_t count;
    struct step *steps = weak_order_cycle(weak, &count);
    restore_positions(weak);
    struct proof proof = begin_lemma(psi);
    for (uint32_t i = 0; i < count; i++)
        put_step(psi, &proof, &steps[i]);
    end_lemma(psi);
    iso_free(steps);
    if (!weak_order_force(weak)) /* choices of writers close a cycle by themselves */
        restore_positions(weak);
    uint64_t most = most_steps(psi);
    visibility_paths_renew(&psi->visibility_paths, weak->order.bond_count);
    for (uint32_t i = psi->kept; i < weak->order.bond_count && psi->visibility_paths.steps < most;
         i++)
        learn_way_back(psi, i);
}

/* ---- the proof ---- */

/* Clauses that contradict one another; the answer is by lemma. */
static uint8_t *find_core(struct psi *psi)
{
    const struct iso_evidence *lemmas = &psi->lemmas;
    uint8_t *is_needed = iso_allocate_zeroed((size_t)lemmas->lemma_count + 1, 1);
    struct iso_solver *solver = iso_solver_new();
    int *assumed = iso_allocate(((size_t)lemmas->lemma_count + 1) * sizeof *assumed),
        *clause = NULL;
    uint32_t capacity = 0, next = psi->choices.variables + psi->pairs.count;
    weak_choices_add(&psi->choices, solver);
    for (uint32_t i = 0; i < lemmas->lemma_count; i++) {
        const struct iso_lemma *lemma = &lemmas->lemmas[i];
        assumed[i] = (int)(next + i);
        if (!lemma->literal_count || !psi->literals[lemma->first_literal])
            continue;
        ISO_RESERVE(clause, lemma->literal_count + 1u, capacity);
        memcpy(clause, psi->literals + lemma->first_literal, lemma->literal_count * sizeof *clause);
        clause[lemma->literal_count] = -assumed[i];
        iso_solver_clause(solver, clause, lemma->literal_count + 1);
    }
    if (iso_solver_solve(solver, assumed, lemmas->lemma_count) == ISO_SOLVER_FALSE) {
        for (uint32_t i = 0; i < lemmas->lemma_count; i++)
            is_needed[i] = iso_solver_failed(solver, assumed[i]);
    }
    iso_solver_free(solver);
    ISO_FREE_ALL(assumed, clause);
    return is_needed;
}

static void learn(void *context, const int *clause, uint32_t count)
{
    struct psi *psi = context;
    struct iso_evidence *evidence = &psi->weak->result->evidence;
    if (!count) /* the last lemma says it */
        return;
    iso_evidence_lemma(evidence, ISO_LEMMA_PROPAGATION, ISO_NONE);
    for (uint32_t i = 0; i < count; i++)
        iso_evidence_literal(evidence, literal_of(psi, clause[i]));
}

/* Marks lemmas that others rest on; says the bonds of causality and of lists that they rest on. */
static void say_needs(struct psi *psi, uint8_t *is_needed)
{
    struct weak *weak = psi->weak;
    uint8_t *is_said = iso_allocate_zeroed((size_t)psi->kept + psi->fresh.count + 1, 1);
    struct proof proof = {weak, &weak->result->evidence};
    weak_choices_open(&psi->choices);
    for (uint32_t i = psi->lemmas.lemma_count; i-- > 0;) {
        for (uint32_t n = 0; is_needed[i] && n < psi->needs[i].count; n++) {
            uint32_t number = psi->need[psi->needs[i].first + n];
            const struct bond *bond = bond_at(psi, number);
            if (bond->kind == BOND_LEMMA)
                is_needed[bond->why] = 1;
            else if (!is_said[number])
                weak_say_bond(&proof, bond);
            is_said[number] = 1;
        }
    }
    iso_free(is_said);
}

/* Which of two cycles is the one to show: the one that rests on less; then what a read missed; then
 * the shorter one. */
static bool tells_more(const struct iso_evidence *lemmas, uint32_t number, uint32_t other)
{
    uint32_t rank[2][3];
    for (int i = 0; i < 2; i++) {
        const struct iso_lemma *lemma = &lemmas->lemmas[i ? other : number];
        bool misses = false;
        for (uint32_t edge = lemma->first_edge; edge < lemma->first_edge + lemma->edge_count;
             edge++)
            misses |= lemmas->edges[edge].kind == ISO_EDGE_RW;
        rank[i][0] = lemma->literal_count > 0;
        rank[i][1] = !misses;
        rank[i][2] = lemma->edge_count;
    }
    for (int i = 0; i < 3; i++) {
        if (rank[0][i] != rank[1][i])
            return rank[0][i] < rank[1][i];
    }
    return false;
}

static void copy_lemma(struct psi *psi, uint32_t number)
{
    struct iso_evidence *evidence = &psi->weak->result->evidence;
    const struct iso_lemma *lemma = &psi->lemmas.lemmas[number];
    iso_evidence_lemma(evidence, lemma->kind, ISO_NONE);
    for (uint32_t i = 0; i < lemma->literal_count; i++)
        iso_evidence_literal(evidence, psi->lemmas.literals[lemma->first_literal + i]);
    for (uint32_t i = 0; i < lemma->edge_count; i++)
        iso_evidence_edge(evidence, psi->lemmas.edges[lemma->first_edge + i]);
}

static void prove(struct psi *psi)
{
    struct iso_polygraph_result *result = psi->weak->result;
    const struct iso_evidence *lemmas = &psi->lemmas;
    bool by_solver = psi->contradiction == ISO_NONE;
    uint32_t shown = ISO_NONE;
    uint8_t *is_needed =
        by_solver ? find_core(psi) : iso_allocate_zeroed((size_t)lemmas->lemma_count + 1, 1);
    struct iso_solver *solver = iso_solver_new();
    if (by_solver)
        iso_solver_set_learn(solver, learn, psi);
    else
        is_needed[psi->contradiction] = 1;
    weak_choices_add(&psi->choices, solver);
    for (uint32_t i = 0; by_solver && i < lemmas->lemma_count; i++) {
        if (is_needed[i])
            iso_solver_clause(solver, psi->literals + lemmas->lemmas[i].first_literal,
                              lemmas->lemmas[i].literal_count);
    }
    say_needs(psi, is_needed);
    for (uint32_t i = 0; i < lemmas->lemma_count; i++) {
        if (!is_needed[i])
            continue;
        copy_lemma(psi, i);
        if (shown == ISO_NONE || tells_more(lemmas, i, shown)) {
            shown = i;
            result->cycle_lemma = result->evidence.lemma_count - 1;
        }
    }
    if (by_solver) {
        iso_solver_solve(solver, NULL, 0);
        iso_evidence_lemma(&result->evidence, ISO_LEMMA_PROPAGATION, ISO_NONE);
    }
    iso_solver_free(solver);
    iso_free(is_needed);
}

/* ---- the route ---- */

/* Bonds that were tried go, those that were found stay. */
static void keep_ww_pairs(struct psi *psi)
{
    struct weak *weak = psi->weak;
    weak->order.bond_count = psi->kept;
    for (uint32_t i = 0; i < psi->fresh.count; i++)
        weak_order_add_bond(weak, psi->fresh.list[i]);
    psi->kept = weak->order.bond_count;
    psi->fresh.count = 0;
}

static void try_pairs(struct psi *psi)
{
    for (uint32_t i = 0; i < psi->pairs.count; i++) {
        const struct pair *pair = &psi->pairs.list[i];
        bool as_is = iso_solver_value(psi->solver, (int)(psi->choices.variables + i));
        weak_order_add_bond(psi->weak, (struct bond){as_is ? pair->earlier : pair->later,
                                                     as_is ? pair->later : pair->earlier,
                                                     BOND_TRIED, i, pair->key});
    }
}

/* A round learns less than one of choose.c does, and costs one sorting, and a sweep now and
 * then. */
static bool is_over(struct psi *psi, uint32_t round)
{
    enum { MORE_ROUNDS = 4 };
    struct weak *weak = psi->weak;
    if (!budget_is_spent(&weak->budget) && weak->problem.reads.open &&
        round / MORE_ROUNDS >= weak_choices_rounds(weak))
        weak->budget.stop_reason = "repeated-values";
    return weak->budget.stop_reason;
}

static bool stop(void *context)
{
    return budget_is_spent(&((struct weak *)context)->budget);
}

static enum weak_answer search(struct psi *psi)
{
    struct weak *weak = psi->weak;
    for (uint32_t round = 0; !is_over(psi, round); round++) {
        if (psi->choices.first) {
            weak_choices_make(&psi->choices, psi->has_model ? psi->solver : NULL);
            weak_order_readers(weak);
        }
        bool ordered = weak_order_sort(weak);
        weak->rounds++;
        if (ordered && !weak_sweep(weak))
            return weak->budget.stop_reason ? WEAK_STOPPED : WEAK_HOLDS;
        if (ordered)
            learn_hits(psi);
        else
            learn_cycles(psi);
        if (psi->contradiction != ISO_NONE)
            return WEAK_BROKEN;
        psi->saturates &= psi->fresh.count > 0;
        keep_ww_pairs(psi);
        if (psi->asks || psi->pairs.count) {
            enum iso_solver_answer answer = iso_solver_solve(psi->solver, NULL, 0);
            weak->result->counters.solver_calls++;
            psi->asks = false;
            if (answer == ISO_SOLVER_FALSE)
                return WEAK_BROKEN;
            psi->has_model = answer == ISO_SOLVER_TRUE;
            if (psi->has_model)
                try_pairs(psi);
        }
    }
    return WEAK_STOPPED;
}

enum weak_answer weak_psi_judge(struct weak *weak)
{
    weak->level = ISO_CC;
    enum weak_answer answer = weak_judge_order(weak);
    weak->level = ISO_PSI;
    if (answer == WEAK_BROKEN)
        weak_explain_broken(weak);
    if (answer != WEAK_HOLDS)
        return answer;
    struct psi psi = {.weak = weak,
                      .solver = iso_solver_new(),
                      .kept = weak->order.bond_count,
                      .contradiction = ISO_NONE,
                      .saturates = true};
    iso_solver_set_stop(psi.solver, stop, weak);
    iso_evidence_init(&psi.lemmas);
    weak_choices_init(&psi.choices, weak);
    weak_choices_add(&psi.choices, psi.solver);
    visibility_paths_init(&psi.visibility_paths, weak);
    answer = weak->budget.stop_reason ? WEAK_STOPPED : search(&psi);
    if (answer == WEAK_BROKEN)
        prove(&psi);
    weak->result->counters.solver_variables = psi.pairs.count;
    iso_solver_free(psi.solver);
    weak_choices_release(&psi.choices);
    visibility_paths_release(&psi.visibility_paths);
    iso_evidence_release(&psi.lemmas);
    ISO_FREE_ALL(psi.literals, psi.needs, psi.need, psi.pairs.list, psi.fresh.list);
    iso_number_map_release(&psi.pair_of);
    iso_number_map_release(&psi.bond_of);
    return answer;
}
