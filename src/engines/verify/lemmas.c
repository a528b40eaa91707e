/* Reject by lemmas: each clause is checked and then joins the database; the last one must be empty.
 *
 * A transaction of unknown outcome counts as if it had committed: it constrains nothing but the
 * reads of what it wrote (it may come last of all), so if any order explains the history, one does
 * that has it in.
 */

#include "base/hash.h"
#include "base/index.h"
#include "verify/verify_private.h"

struct name {
    uint32_t kind, a, b, key; /* a literal's variable; kind ISO_LITERAL_ORDER, READS or BEFORE */
    uint32_t read; /* READS: 1 + the operation, where each read is one of its own; else 0 */
};

struct checker {
    const struct iso_history *history;
    const struct iso_evidence *evidence;
    struct iso_error *error;
    struct clauses *clauses;
    struct finals finals;
    uint32_t *position; /* by transaction: in session_order */
    struct name *names; /* by variable */
    uint32_t name_capacity;
    struct iso_index table; /* of names */
    uint32_t lemma;
};

static enum iso_verification refuse_lemma(struct checker *checker, const char *what)
{
    return VERIFY_REFUSE(checker->error, "lemma %u: %s", checker->lemma, what);
}

/* ---- the history ---- */

static bool writes_key(const struct checker *checker, uint32_t t, uint32_t key)
{
    uint32_t value;
    return t < checker->history->txns.count && iso_status_of(checker->history, t) != ISO_ABORTED &&
           verify_final_write(checker->history, t, key, &value);
}

/* ---- variables ---- */

static uint64_t hash_of(const struct name *name)
{
    return iso_hash_number(iso_hash_pair((uint32_t)name->a, (uint32_t)name->b) ^
                           iso_hash_pair((uint32_t)name->key, (uint32_t)name->kind) ^ name->read);
}

static int find_variable(struct checker *checker, struct name name, bool *is_new)
{
    uint64_t hash = hash_of(&name);
    uint32_t at = iso_index_home(hash), number;
    *is_new = false;
    for (; iso_index_next(&checker->table, &at, hash, &number); at++) {
        const struct name *other = &checker->names[number];
        if (other->kind == name.kind && other->a == name.a && other->b == name.b &&
            other->key == name.key && other->read == name.read)
            return (int)number;
    }
    *is_new = true;
    int variable = clauses_variable(checker->clauses);
    iso_index_add(&checker->table, hash, (uint32_t)variable);
    ISO_RESERVE(checker->names, variable + 1, checker->name_capacity);
    checker->names[variable] = name;
    return variable;
}

/* The operation that a choice is about: its number tells reads of a key apart where each is one of
 * its own. */
static uint32_t read_name(const struct checker *checker, uint32_t operation)
{
    return checker->finals.each_read ? operation + 1 : 0;
}

static int read_variable(struct checker *checker, uint32_t reader, uint32_t writer, uint32_t key,
                         uint32_t operation)
{
    bool is_new;
    struct name name = {ISO_LITERAL_READS, reader, writer, key, read_name(checker, operation)};
    return find_variable(checker, name, &is_new);
}

/* The read sees that writer. */
static void add_sole(struct checker *checker, uint32_t reader, uint32_t writer, uint32_t key,
                     uint32_t operation)
{
    int sole = read_variable(checker, reader, writer, key, operation);
    clauses_add(checker->clauses, &sole, 1);
}

static void add_list_choice(struct checker *checker, uint32_t reader, uint32_t key,
                            uint32_t operation)
{
    const struct iso_history *history = checker->history;
    uint32_t prefix =
                 verify_read_shape(history, reader, operation, checker->finals.each_read).prefix,
             end;
    uint32_t writer = ISO_NONE, count = 0;
    if (prefix == checker->finals.initial_length[key]) {
        add_sole(checker, reader, ISO_NONE, key, operation);
        return;
    }
    writer = prefix ? lists_last_writer(&checker->finals, key, operation, prefix) : ISO_NONE;
    if (writer != ISO_NONE && writer != reader) {
        add_sole(checker, reader, writer, key, operation);
        return;
    }
    /* else whoever's elements may end it, all of them */
    iso_atom last =
        prefix ? history->lists
                     .element[history->lists.first[history->ops.value[operation]] + prefix - 1]
               : ISO_ABSENT;
    uint32_t first = finals_find(&checker->finals, key, last, &end);
    int *clause = iso_allocate(((size_t)end - first + 1) * sizeof *clause);
    for (uint32_t i = first; i < end; i++) {
        writer = checker->finals.items[i].transaction;
        uint32_t length = lists_appended(history, writer, key);
        if (writer != reader &&
            !(i > first && checker->finals.items[i - 1].transaction == writer) &&
            length <= prefix &&
            lists_hold(&checker->finals, operation, prefix, writer, prefix - length))
            clause[count++] = read_variable(checker, reader, writer, key, operation);
    }
    clauses_add(checker->clauses, clause, count);
    iso_free(clause);
}

/* Variables of all possible writers of a read; the clause "one of them". */
static void add_choice(struct checker *checker, uint32_t reader, uint32_t key, uint32_t operation)
{
    const struct iso_history *history = checker->history;
    uint32_t value = history->ops.value[operation], count = 0, end;
    if (iso_kind_of(history, operation) == ISO_READ_LIST) {
        add_list_choice(checker, reader, key, operation);
        return;
    }
    uint32_t seen, first = finals_find(&checker->finals, key, value, &end);
    if (checker->evidence->versions_by_commit &&
        versions_seen(&checker->finals, reader, operation, &seen)) {
        add_sole(checker, reader, seen, key, operation);
        return;
    }
    int *clause = iso_allocate(((size_t)end - first + 2) * sizeof *clause);
    if (checker->finals.initial_value[key] == value)
        clause[count++] = read_variable(checker, reader, ISO_NONE, key, operation);
    for (uint32_t i = first; i < end; i++) {
        uint32_t writer = checker->finals.items[i].transaction;
        if (writer != reader && !(i > first && checker->finals.items[i - 1].transaction == writer))
            clause[count++] = read_variable(checker, reader, writer, key, operation);
    }
    clauses_add(checker->clauses, clause, count);
    iso_free(clause);
}

/* The external read that a literal is about, or ISO_NONE. */
static uint32_t read_meant(const struct checker *checker, const struct iso_literal *literal)
{
    const struct iso_history *history = checker->history;
    if (!checker->finals.each_read)
        return literal->read ? ISO_NONE : verify_external_read(history, literal->a, literal->key);
    return literal->read && literal->read <= history->ops.count &&
                   history->ops.key[literal->read - 1] == literal->key &&
                   verify_is_external(history, literal->a, literal->read - 1)
               ? literal->read - 1
               : ISO_NONE;
}

/* 0: no such literal. New reads bring their choice with them; so this is for the root only. */
static int literal_of(struct checker *checker, struct iso_literal literal)
{
    bool is_new, reads = literal.kind == ISO_LITERAL_READS,
                 orders = literal.kind == ISO_LITERAL_ORDER;
    if (orders || literal.kind == ISO_LITERAL_BEFORE) {
        if (literal.a == literal.b || (orders && !(writes_key(checker, literal.a, literal.key) &&
                                                   writes_key(checker, literal.b, literal.key))))
            return 0;
        bool up = literal.a < literal.b;
        uint32_t low = up ? literal.a : literal.b, high = up ? literal.b : literal.a;
        int variable =
            find_variable(checker, (struct name){literal.kind, low, high, 0, 0}, &is_new);
        return up ? variable : -variable;
    }
    if (literal.kind == ISO_LITERAL_PLACED || literal.kind == ISO_LITERAL_NOT_PLACED) {
        if (!writes_key(checker, literal.a, literal.key) ||
            !iso_key_is_list(checker->history, literal.key))
            return 0;
        int variable = find_variable(
            checker, (struct name){ISO_LITERAL_PLACED, literal.a, literal.b, literal.key, 0},
            &is_new);
        return literal.kind == ISO_LITERAL_PLACED ? variable : -variable;
    }
    uint32_t operation = read_meant(checker, &literal);
    if (operation == ISO_NONE || literal.a == literal.b)
        return 0;
    /* a marker of the read says whether its choice is there */
    find_variable(checker,
                  (struct name){ISO_LITERAL_READS, literal.a, literal.a, literal.key, literal.read},
                  &is_new);
    if (is_new)
        add_choice(checker, literal.a, literal.key, operation);
    int variable = find_variable(
        checker, (struct name){ISO_LITERAL_READS, literal.a, literal.b, literal.key, literal.read},
        &is_new);
    return reads ? variable : -variable;
}

/* ---- edges ---- */

static bool is_begin(uint32_t event)
{
    return !(event & 1);
}

static bool is_commit(const struct checker *checker, uint32_t event)
{
    return iso_level_is_one_event(checker->evidence->level) ? !(event & 1) : event & 1;
}

static bool takes_part(const struct checker *checker, uint32_t event)
{
    return event / 2 < checker->history->txns.count &&
           iso_status_of(checker->history, event / 2) != ISO_ABORTED &&
           !((event & 1) && iso_level_is_one_event(checker->evidence->level));
}

/* The literals that an edge needs, at most two; false if the edge is none. */
static bool needs_of(struct checker *checker, const struct iso_edge *edge, int needs[2])
{
    const struct iso_history *history = checker->history;
    uint32_t from = edge->from / 2, to = edge->to / 2;
    needs[0] = needs[1] = 0;
    if (!takes_part(checker, edge->from) || !takes_part(checker, edge->to))
        return false;
    bool commit_begin = is_commit(checker, edge->from) && is_begin(edge->to);
    switch (edge->kind) {
    case ISO_EDGE_OWN:
        return from == to && edge->from + 1 == edge->to;
    case ISO_EDGE_SESSION:
        return commit_begin && iso_level_keeps_sessions(checker->evidence->level) &&
               history->txns.session[from] == history->txns.session[to] &&
               checker->position[from] < checker->position[to] &&
               iso_status_of(history, from) == ISO_COMMITTED;
    case ISO_EDGE_WR:
        needs[0] = literal_of(
            checker, (struct iso_literal){ISO_LITERAL_READS, to, from, edge->key, edge->read});
        return commit_begin && needs[0];
    case ISO_EDGE_WW:
        needs[0] =
            literal_of(checker, (struct iso_literal){ISO_LITERAL_ORDER, from, to, edge->key, 0});
        if (checker->evidence->level == ISO_PC) /* writers may overlap */
            return is_commit(checker, edge->from) && is_commit(checker, edge->to) && needs[0];
        return commit_begin && needs[0];
    case ISO_EDGE_RW:
        needs[0] = literal_of(checker, (struct iso_literal){ISO_LITERAL_READS, from, edge->via,
                                                            edge->key, edge->read});
        if (edge->via != ISO_NONE)
            needs[1] = literal_of(
                checker, (struct iso_literal){ISO_LITERAL_ORDER, edge->via, to, edge->key, 0});
        return is_begin(edge->from) && is_commit(checker, edge->to) && from != to && needs[0] &&
               (edge->via == ISO_NONE || needs[1]) && writes_key(checker, to, edge->key);
    case ISO_EDGE_BEFORE:
        needs[0] = literal_of(
            checker, (struct iso_literal){ISO_LITERAL_BEFORE, edge->from, edge->to, ISO_NONE, 0});
        return needs[0];
    case ISO_EDGE_TIME:
        return iso_level_needs_times(checker->evidence->level) && is_commit(checker, edge->from) &&
               (checker->evidence->level == ISO_GSI ? is_commit(checker, edge->to)
                                                    : is_begin(edge->to)) &&
               iso_status_of(history, from) == ISO_COMMITTED &&
               iso_history_ended_before(history, from, to, checker->evidence->drift);
    }
    return false;
}

/* ---- lemmas ---- */

static enum iso_verification check_cycle(struct checker *checker, const struct iso_lemma *lemma,
                                         const int (*needs)[2])
{
    const struct iso_edge *edges = checker->evidence->edges + lemma->first_edge;
    if (!lemma->edge_count)
        return refuse_lemma(checker, "a cycle without edges");
    if (iso_level_is_weak(checker->evidence->level) &&
        !verify_weak_cycle(checker->evidence->level, edges, lemma->edge_count))
        return refuse_lemma(checker, "at this level such a cycle says nothing");
    for (uint32_t i = 0; i < lemma->edge_count; i++) {
        if (edges[i].to != edges[(i + 1) % lemma->edge_count].from)
            return refuse_lemma(checker, "its edges do not follow one another");
        for (int n = 0; n < 2; n++) {
            if (needs[i][n] && !clauses_true(checker->clauses, needs[i][n]))
                return refuse_lemma(checker, "an edge follows from nothing that is known");
        }
    }
    return ISO_CONFIRMED;
}

static bool is_said_by_list(const struct checker *checker, const struct iso_lemma *lemma)
{
    if (lemma->literal_count == 0)
        return false;
    const struct iso_literal *clause = &checker->evidence->literals[lemma->first_literal];
    return (lemma->literal_count == 1 && lists_order(&checker->finals, clause, lemma->operation)) ||
           list_positions_imply(&checker->finals, clause, lemma->literal_count, lemma->operation);
}

static bool is_said_by_commits(const struct checker *checker, const struct iso_lemma *lemma)
{
    return checker->evidence->versions_by_commit && lemma->literal_count == 1 &&
           versions_order(checker->history, &checker->evidence->literals[lemma->first_literal]);
}

static enum iso_verification check_justified(struct checker *checker, const struct iso_lemma *lemma,
                                             const int *clause, const int (*needs)[2])
{
    enum iso_verification status = ISO_CONFIRMED;
    if (lemma->kind == ISO_LEMMA_LIST)
        return is_said_by_list(checker, lemma)
                   ? ISO_CONFIRMED
                   : refuse_lemma(checker, "the list does not say this");
    if (lemma->kind == ISO_LEMMA_VERSIONS)
        return is_said_by_commits(checker, lemma)
                   ? ISO_CONFIRMED
                   : refuse_lemma(checker, "commit timestamps do not say this");
    for (uint32_t i = 0; i < lemma->literal_count; i++)
        clauses_assume(checker->clauses, -clause[i]);
    if (!clauses_contradiction(checker->clauses))
        status = lemma->kind == ISO_LEMMA_CYCLE
                     ? check_cycle(checker, lemma, needs)
                     : refuse_lemma(checker, "unit propagation does not refute its negation");
    clauses_undo(checker->clauses);
    return status;
}

static enum iso_verification check_lemma(struct checker *checker, const struct iso_lemma *lemma)
{
    const struct iso_evidence *evidence = checker->evidence;
    int *clause = iso_allocate(((size_t)lemma->literal_count + 1) * sizeof *clause);
    int(*needs)[2] = iso_allocate(((size_t)lemma->edge_count + 1) * sizeof *needs);
    enum iso_verification status = ISO_CONFIRMED;
    for (uint32_t i = 0; i < lemma->literal_count && status == ISO_CONFIRMED; i++) {
        clause[i] = literal_of(checker, evidence->literals[lemma->first_literal + i]);
        if (!clause[i])
            status = refuse_lemma(checker, "a literal is none of this history");
    }
    for (uint32_t i = 0; i < lemma->edge_count && status == ISO_CONFIRMED; i++) {
        if (!needs_of(checker, &evidence->edges[lemma->first_edge + i], needs[i]))
            status = refuse_lemma(checker, "an edge is none of this history");
    }
    if (status == ISO_CONFIRMED)
        status = check_justified(checker, lemma, clause, (const int(*)[2])needs);
    if (status == ISO_CONFIRMED)
        clauses_add(checker->clauses, clause, lemma->literal_count);
    ISO_FREE_ALL(clause, needs);
    return status;
}

static bool is_well_formed(const struct iso_evidence *evidence)
{
    for (uint32_t i = 0; i < evidence->lemma_count; i++) {
        const struct iso_lemma *lemma = &evidence->lemmas[i];
        if (lemma->literal_count > evidence->literal_count ||
            lemma->first_literal > evidence->literal_count - lemma->literal_count ||
            lemma->edge_count > evidence->edge_count ||
            lemma->first_edge > evidence->edge_count - lemma->edge_count)
            return false;
    }
    uint32_t empty = 0;
    while (empty < evidence->lemma_count && evidence->lemmas[empty].literal_count)
        empty++;
    return empty + 1 == evidence->lemma_count;
}

enum iso_verification verify_lemmas(const struct iso_history *history,
                                    const struct iso_evidence *evidence, struct iso_error *error)
{
    if (!is_well_formed(evidence))
        return VERIFY_REFUSE(error, "not the last lemma, and that alone, is the empty one");
    struct checker checker = {.history = history, .evidence = evidence, .error = error};
    checker.clauses = clauses_new();
    checker.position = iso_allocate(((size_t)history->txns.count + 1) * sizeof *checker.position);
    for (uint32_t i = 0; i < history->txns.count; i++)
        checker.position[history->sessions.order[i]] = i;
    finals_init(&checker.finals, history);
    checker.finals.each_read = iso_level_has_each_read(evidence->level);
    enum iso_verification status = ISO_CONFIRMED;
    for (; checker.lemma < evidence->lemma_count && status == ISO_CONFIRMED; checker.lemma++)
        status = check_lemma(&checker, &evidence->lemmas[checker.lemma]);
    clauses_free(checker.clauses);
    iso_free(checker.position);
    finals_release(&checker.finals);
    iso_free(checker.names);
    iso_index_release(&checker.table);
    return status;
}
