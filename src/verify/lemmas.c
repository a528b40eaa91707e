/* Reject by lemmas: each clause is checked and then joins the database; the last one must be empty.
 *
 * A transaction of unknown outcome counts as if it had committed: it constrains nothing but the reads of what
 * it wrote (it may come last of all), so if any order explains the history, one does that has it in.
 */
#include <stdlib.h>
#include <string.h>

#include "verify/verify_private.h"

/* A final write that did not abort. */
struct final {
    uint32_t key, value, transaction;
};

struct name {
    uint32_t kind, a, b, key; /* a literal's variable; kind ISO_LITERAL_ORDER, READS or BEFORE */
};

struct checker {
    const struct iso_history *history;
    const struct iso_evidence *evidence;
    struct iso_error *error;
    struct clauses *clauses;
    struct final *finals;
    uint32_t final_count;
    uint32_t *place;    /* by transaction: in session_order */
    struct name *names; /* by variable */
    uint32_t *slots, name_count, name_capacity;
    uint64_t mask;
    uint32_t lemma;
};

static enum iso_status refuse(struct checker *checker, const char *what)
{
    return iso_error_set(checker->error, ISO_VIOLATED, "lemma %u: %s", checker->lemma, what);
}

/* ---- the history ---- */

static int compare_finals(const void *left, const void *right)
{
    const struct final *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return (a->transaction > b->transaction) - (a->transaction < b->transaction);
}

static void collect_finals(struct checker *checker)
{
    const struct iso_history *history = checker->history;
    checker->finals = iso_allocate(((size_t)history->operation_count + 1) * sizeof *checker->finals);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (iso_status_of(history, t) == ISO_ABORTED)
            continue;
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            uint32_t value;
            if (!iso_kind_writes(history->kind[o]))
                continue;
            bool list = iso_kind_of(history, o) == ISO_APPEND;
            if (!list &&
                (!verify_final_write(history, t, history->key[o], &value) || value != history->value[o]))
                continue;
            checker->finals[checker->final_count++] = (struct final){history->key[o], history->value[o], t};
        }
    }
    if (checker->final_count)
        qsort(checker->finals, checker->final_count, sizeof *checker->finals, compare_finals);
}

static bool writes(const struct checker *checker, uint32_t t, uint32_t key)
{
    uint32_t value;
    return t < checker->history->transaction_count && iso_status_of(checker->history, t) != ISO_ABORTED &&
           verify_final_write(checker->history, t, key, &value);
}

/* The external read of a key by a committed transaction, or ISO_NONE. */
static uint32_t external_read(const struct checker *checker, uint32_t t, uint32_t key)
{
    const struct iso_history *history = checker->history;
    if (t >= history->transaction_count || iso_status_of(history, t) != ISO_COMMITTED)
        return ISO_NONE;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        uint8_t kind = iso_kind_of(history, o);
        if (history->key[o] != key)
            continue;
        if (kind == ISO_READ_LIST) {
            struct read_shape shape = verify_read_shape(history, t, o);
            if (shape.consistent && !shape.internal)
                return o;
        } else if (kind != ISO_APPEND) {
            return kind == ISO_READ ? o : ISO_NONE;
        }
    }
    return ISO_NONE;
}

/* ---- variables ---- */

static int find_variable(struct checker *checker, struct name name, bool *is_new)
{
    uint64_t hash =
        ((uint64_t)name.a << 32 | name.b) * 0x9e3779b97f4a7c15u + name.key * 0x85ebca77c2b2ae63u + name.kind;
    if (2 * checker->name_count >= checker->mask) {
        uint64_t size = checker->mask ? 2 * (checker->mask + 1) : 1024;
        iso_free(checker->slots);
        checker->slots = iso_allocate_zeroed(size, sizeof *checker->slots);
        checker->mask = size - 1;
        uint32_t count = checker->name_count;
        for (uint32_t i = 1; i <= count; i++) { /* each finds its empty slot */
            struct name *n = &checker->names[i];
            uint64_t h =
                ((uint64_t)n->a << 32 | n->b) * 0x9e3779b97f4a7c15u + n->key * 0x85ebca77c2b2ae63u + n->kind;
            uint64_t slot = (h ^ h >> 31) & checker->mask;
            while (checker->slots[slot])
                slot = (slot + 1) & checker->mask;
            checker->slots[slot] = i;
        }
    }
    uint64_t slot = (hash ^ hash >> 31) & checker->mask;
    for (; checker->slots[slot]; slot = (slot + 1) & checker->mask) {
        const struct name *other = &checker->names[checker->slots[slot]];
        if (other->kind == name.kind && other->a == name.a && other->b == name.b && other->key == name.key) {
            *is_new = false;
            return (int)checker->slots[slot];
        }
    }
    *is_new = true;
    int variable = clauses_variable(checker->clauses);
    checker->slots[slot] = (uint32_t)variable;
    checker->name_count = (uint32_t)variable;
    if (checker->name_count >= checker->name_capacity) {
        checker->name_capacity = 2 * checker->name_capacity + 64;
        checker->names = iso_reallocate(checker->names, checker->name_capacity * sizeof *checker->names);
    }
    checker->names[variable] = name;
    return variable;
}

/* The first final write of a key and value; `*end` is past the last. */
static uint32_t find_finals(const struct checker *checker, uint32_t key, uint32_t value, uint32_t *end)
{
    uint32_t low = 0, high = checker->final_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct final *final = &checker->finals[middle];
        if (final->key < key || (final->key == key && final->value < value))
            low = middle + 1;
        else
            high = middle;
    }
    *end = low;
    while (*end < checker->final_count && checker->finals[*end].key == key && checker->finals[*end].value == value)
        ++*end;
    return low;
}

/* How many appends to the key a transaction makes before that of the element, and from it on. */
static void append_span(const struct iso_history *history, uint32_t t, uint32_t key, iso_atom element, uint32_t *before,
                        uint32_t *rest)
{
    bool found = false;
    *before = *rest = 0;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        if (history->key[o] != key || iso_kind_of(history, o) != ISO_APPEND)
            continue;
        found |= history->value[o] == element;
        ++*(found ? rest : before);
    }
}

/* The transaction whose appends end a list of `prefix` elements, if one of those appends is nobody else's: ISO_NONE if that
 * cannot be told. */
static uint32_t last_writer(const struct checker *checker, uint32_t key, uint32_t operation, uint32_t prefix)
{
    const struct iso_history *history = checker->history;
    const iso_atom *elements = history->element + history->list_first[history->value[operation]];
    uint32_t initial = verify_initial_length(history, key), before, rest, end;
    for (uint32_t i = prefix; i-- > initial;) {
        uint32_t first = find_finals(checker, key, elements[i], &end);
        if (end - first != 1)
            continue;
        uint32_t writer = checker->finals[first].transaction;
        append_span(history, writer, key, elements[i], &before, &rest);
        return i >= initial + before && i + rest == prefix ? writer : ISO_NONE;
    }
    return ISO_NONE;
}

static int read_variable(struct checker *checker, uint32_t reader, uint32_t writer, uint32_t key)
{
    bool is_new;
    return find_variable(checker, (struct name){ISO_LITERAL_READS, reader, writer, key}, &is_new);
}

static void add_list_choice(struct checker *checker, uint32_t reader, uint32_t key, uint32_t operation)
{
    const struct iso_history *history = checker->history;
    uint32_t prefix = verify_read_shape(history, reader, operation).prefix, end;
    uint32_t writer = ISO_NONE, count = 0;
    if (prefix == verify_initial_length(history, key)) {
        int initial = read_variable(checker, reader, ISO_NONE, key);
        clauses_add(checker->clauses, &initial, 1);
        return;
    }
    writer = prefix ? last_writer(checker, key, operation, prefix) : ISO_NONE;
    if (writer != ISO_NONE && writer != reader) {
        int sole = read_variable(checker, reader, writer, key);
        clauses_add(checker->clauses, &sole, 1);
        return;
    }
    iso_atom last = prefix ? history->element[history->list_first[history->value[operation]] + prefix - 1] : ISO_ABSENT;
    uint32_t first = find_finals(checker, key, last, &end);
    int *clause = iso_allocate(((size_t)end - first + 1) * sizeof *clause);
    for (uint32_t i = first; i < end; i++) {
        writer = checker->finals[i].transaction;
        if (writer != reader && !(i > first && checker->finals[i - 1].transaction == writer))
            clause[count++] = read_variable(checker, reader, writer, key);
    }
    clauses_add(checker->clauses, clause, count);
    iso_free(clause);
}

/* Variables of all possible writers of a read; the clause "one of them". */
static void add_choice(struct checker *checker, uint32_t reader, uint32_t key, uint32_t operation)
{
    const struct iso_history *history = checker->history;
    uint32_t value = history->value[operation], count = 0, end;
    if (iso_kind_of(history, operation) == ISO_READ_LIST) {
        add_list_choice(checker, reader, key, operation);
        return;
    }
    uint32_t first = find_finals(checker, key, value, &end);
    int *clause = iso_allocate(((size_t)end - first + 2) * sizeof *clause);
    if (verify_initial_value(history, key) == value)
        clause[count++] = read_variable(checker, reader, ISO_NONE, key);
    for (uint32_t i = first; i < end; i++) {
        uint32_t writer = checker->finals[i].transaction;
        if (writer != reader && !(i > first && checker->finals[i - 1].transaction == writer))
            clause[count++] = read_variable(checker, reader, writer, key);
    }
    clauses_add(checker->clauses, clause, count);
    iso_free(clause);
}

/* 0: no such literal. New reads bring their choice with them; so this is for the root only. */
static int literal_of(struct checker *checker, struct iso_literal literal)
{
    bool is_new, reads = literal.kind == ISO_LITERAL_READS;
    if (literal.kind == ISO_LITERAL_ORDER) {
        if (literal.a == literal.b || !writes(checker, literal.a, literal.key) ||
            !writes(checker, literal.b, literal.key))
            return 0;
        bool up = literal.a < literal.b;
        int variable = find_variable(
            checker,
            (struct name){ISO_LITERAL_ORDER, up ? literal.a : literal.b, up ? literal.b : literal.a, 0},
            &is_new);
        return up ? variable : -variable;
    }
    if (literal.kind == ISO_LITERAL_BEFORE) {
        bool up = literal.a < literal.b;
        int variable = find_variable(
            checker,
            (struct name){ISO_LITERAL_BEFORE, up ? literal.a : literal.b, up ? literal.b : literal.a, 0},
            &is_new);
        return literal.a == literal.b ? 0 : up ? variable : -variable;
    }
    uint32_t operation = external_read(checker, literal.a, literal.key);
    if (operation == ISO_NONE || literal.a == literal.b)
        return 0;
    /* a marker of the read says whether its choice is there */
    find_variable(checker, (struct name){ISO_LITERAL_READS, literal.a, literal.a, literal.key}, &is_new);
    if (is_new)
        add_choice(checker, literal.a, literal.key, operation);
    int variable =
        find_variable(checker, (struct name){ISO_LITERAL_READS, literal.a, literal.b, literal.key}, &is_new);
    return reads ? variable : -variable;
}

/* ---- edges ---- */

static bool is_begin(uint32_t event)
{
    return !(event & 1);
}

static bool is_commit(const struct checker *checker, uint32_t event)
{
    return iso_model_is_serial(checker->evidence->model) ? !(event & 1) : event & 1;
}

static bool takes_part(const struct checker *checker, uint32_t event)
{
    return event / 2 < checker->history->transaction_count &&
           iso_status_of(checker->history, event / 2) != ISO_ABORTED &&
           !((event & 1) && iso_model_is_serial(checker->evidence->model));
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
        return commit_begin && iso_model_keeps_sessions(checker->evidence->model) &&
               history->session[from] == history->session[to] && checker->place[from] < checker->place[to] &&
               iso_status_of(history, from) == ISO_COMMITTED;
    case ISO_EDGE_WR:
        needs[0] = literal_of(checker, (struct iso_literal){ISO_LITERAL_READS, to, from, edge->key});
        return commit_begin && needs[0];
    case ISO_EDGE_WW:
        needs[0] = literal_of(checker, (struct iso_literal){ISO_LITERAL_ORDER, from, to, edge->key});
        return commit_begin && needs[0];
    case ISO_EDGE_RW:
        needs[0] = literal_of(checker, (struct iso_literal){ISO_LITERAL_READS, from, edge->via, edge->key});
        if (edge->via != ISO_NONE)
            needs[1] = literal_of(checker, (struct iso_literal){ISO_LITERAL_ORDER, edge->via, to, edge->key});
        return is_begin(edge->from) && is_commit(checker, edge->to) && from != to && needs[0] &&
               (edge->via == ISO_NONE || needs[1]) && writes(checker, to, edge->key);
    case ISO_EDGE_BEFORE:
        needs[0] =
            literal_of(checker, (struct iso_literal){ISO_LITERAL_BEFORE, edge->from, edge->to, ISO_NONE});
        return needs[0];
    case ISO_EDGE_TIME:
        return false;
    }
    return false;
}

/* ---- lemmas ---- */

static enum iso_status check_cycle(struct checker *checker, const struct iso_lemma *lemma,
                                   const int (*needs)[2])
{
    const struct iso_edge *edges = checker->evidence->edges + lemma->first_edge;
    if (!lemma->edge_count)
        return refuse(checker, "a cycle without edges");
    for (uint32_t i = 0; i < lemma->edge_count; i++) {
        if (edges[i].to != edges[(i + 1) % lemma->edge_count].from)
            return refuse(checker, "its edges do not follow one another");
        for (int n = 0; n < 2; n++) {
            if (needs[i][n] && !clauses_true(checker->clauses, needs[i][n]))
                return refuse(checker, "an edge follows from nothing that is known");
        }
    }
    return ISO_OK;
}

/* Who appended each element of a list read, as far as that is told by elements that are nobody else's: those bring their
 * transaction's others with them. The reader's own appends come last. */
static uint32_t *find_owners(const struct checker *checker, uint32_t reader, uint32_t operation)
{
    const struct iso_history *history = checker->history;
    uint32_t key = history->key[operation], list = history->value[operation], before, rest, end;
    uint64_t first = history->list_first[list], length = history->list_first[list + 1] - first;
    uint32_t prefix = verify_read_shape(history, reader, operation).prefix;
    uint32_t *owners = iso_allocate((length + 1) * sizeof *owners);
    memset(owners, 0xff, (length + 1) * sizeof *owners);
    for (uint64_t i = prefix; i < length; i++)
        owners[i] = reader;
    for (uint32_t i = verify_initial_length(history, key); i < prefix; i++) {
        uint32_t final = find_finals(checker, key, history->element[first + i], &end);
        if (end - final != 1)
            continue;
        uint32_t writer = checker->finals[final].transaction;
        append_span(history, writer, key, history->element[first + i], &before, &rest);
        for (uint32_t at = i - (before < i ? before : i); at < i + rest && at < prefix; at++)
            owners[at] = writer;
    }
    return owners;
}

static bool appends(const struct iso_history *history, uint32_t t, uint32_t key, iso_atom element)
{
    uint32_t before, rest;
    append_span(history, t, key, element, &before, &rest);
    return rest != 0;
}

/* The place of a transaction's elements in a list: first and one past the last; false if an element may be its own or
 * somebody else's. Not there: first = UINT64_MAX. */
static bool span_of(const struct checker *checker, uint32_t t, uint32_t operation, const uint32_t *owners, uint64_t span[2])
{
    const struct iso_history *history = checker->history;
    uint32_t key = history->key[operation], list = history->value[operation];
    uint64_t first = history->list_first[list], length = history->list_first[list + 1] - first;
    span[0] = UINT64_MAX;
    span[1] = 0;
    for (uint64_t i = verify_initial_length(history, key); i < length; i++) {
        if (owners[i] == ISO_NONE && appends(history, t, key, history->element[first + i]))
            return false;
        if (owners[i] != t)
            continue;
        span[0] = i < span[0] ? i : span[0];
        span[1] = i + 1;
    }
    return true;
}

static bool is_list_order(const struct checker *checker, const struct iso_lemma *lemma)
{
    const struct iso_history *history = checker->history;
    const struct iso_literal *literal = &checker->evidence->literals[lemma->first_literal];
    uint32_t o = lemma->operation, t = 0;
    uint64_t a[2], b[2];
    if (lemma->literal_count != 1 || literal->kind != ISO_LITERAL_ORDER || o >= history->operation_count ||
        iso_kind_of(history, o) != ISO_READ_LIST || history->key[o] != literal->key)
        return false;
    while (history->first_operation[t + 1] <= o)
        t++;
    if (iso_status_of(history, t) != ISO_COMMITTED || !verify_read_shape(history, t, o).consistent)
        return false;
    uint32_t *owners = find_owners(checker, t, o);
    bool fine = span_of(checker, literal->a, o, owners, a) && span_of(checker, literal->b, o, owners, b) &&
                a[0] != UINT64_MAX && a[1] <= b[0];
    iso_free(owners);
    return fine;
}

static enum iso_status check_justified(struct checker *checker, const struct iso_lemma *lemma,
                                       const int *clause, const int (*needs)[2])
{
    enum iso_status status = ISO_OK;
    if (lemma->kind == ISO_LEMMA_LIST)
        return is_list_order(checker, lemma) ? ISO_OK : refuse(checker, "the list does not say this");
    for (uint32_t i = 0; i < lemma->literal_count; i++)
        clauses_assume(checker->clauses, -clause[i]);
    if (!clauses_contradiction(checker->clauses))
        status = lemma->kind == ISO_LEMMA_CYCLE
                     ? check_cycle(checker, lemma, needs)
                     : refuse(checker, "unit propagation does not refute its negation");
    clauses_undo(checker->clauses);
    return status;
}

static enum iso_status check_lemma(struct checker *checker, const struct iso_lemma *lemma)
{
    const struct iso_evidence *evidence = checker->evidence;
    int *clause = iso_allocate(((size_t)lemma->literal_count + 1) * sizeof *clause);
    int(*needs)[2] = iso_allocate(((size_t)lemma->edge_count + 1) * sizeof *needs);
    enum iso_status status = ISO_OK;
    for (uint32_t i = 0; i < lemma->literal_count && status == ISO_OK; i++) {
        clause[i] = literal_of(checker, evidence->literals[lemma->first_literal + i]);
        if (!clause[i])
            status = refuse(checker, "a literal is none of this history");
    }
    for (uint32_t i = 0; i < lemma->edge_count && status == ISO_OK; i++) {
        if (!needs_of(checker, &evidence->edges[lemma->first_edge + i], needs[i]))
            status = refuse(checker, "an edge is none of this history");
    }
    if (status == ISO_OK)
        status = check_justified(checker, lemma, clause, (const int(*)[2])needs);
    if (status == ISO_OK)
        clauses_add(checker->clauses, clause, lemma->literal_count);
    iso_free(clause);
    iso_free(needs);
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
    return evidence->lemma_count && evidence->lemmas[evidence->lemma_count - 1].literal_count == 0;
}

enum iso_status verify_lemmas(const struct iso_history *history, const struct iso_evidence *evidence,
                              struct iso_error *error)
{
    if (!is_well_formed(evidence))
        return iso_error_set(error, ISO_VIOLATED, "the last lemma is not the empty one");
    struct checker checker = {.history = history, .evidence = evidence, .error = error};
    checker.clauses = clauses_new();
    checker.place = iso_allocate(((size_t)history->transaction_count + 1) * sizeof *checker.place);
    for (uint32_t i = 0; i < history->transaction_count; i++)
        checker.place[history->session_order[i]] = i;
    collect_finals(&checker);
    enum iso_status status = ISO_OK;
    for (; checker.lemma < evidence->lemma_count && status == ISO_OK; checker.lemma++)
        status = check_lemma(&checker, &evidence->lemmas[checker.lemma]);
    clauses_free(checker.clauses);
    iso_free(checker.place);
    iso_free(checker.finals);
    iso_free(checker.names);
    iso_free(checker.slots);
    return status;
}

enum iso_status iso_verify(const struct iso_history *history, const struct iso_evidence *evidence,
                           struct iso_error *error)
{
    if (evidence->accepts)
        return verify_order(history, evidence, error);
    if (evidence->finding.kind != ISO_FINDING_NONE)
        return verify_finding(history, &evidence->finding, error);
    return verify_lemmas(history, evidence, error);
}
