#include "tests/oracle/weak_oracle.h"

#include <assert.h>
#include <string.h>

enum { N = WEAK_ORACLE_MANY, READS = 64, CANDIDATES = N + 1, KEYS = 16, INITIALLY = N };

/* An external read, and who may have written what it saw: transactions, or INITIALLY. */
struct read {
    int reader, operation, key;
    int count, candidate[CANDIDATES], from;
};

struct question {
    const struct iso_history *history;
    enum iso_level level;
    int n;
    bool so[N][N], writes[N][KEYS], part[N];
    struct read reads[READS];
    int read_count;
    int order[N], position[N];
    bool impossible; /* a transaction contradicts itself, or a read has no writer */
};

static bool is_each(const struct question *question)
{
    return question->level == ISO_RC || question->level == ISO_ADYA_RC;
}

static uint32_t initial_of(const struct iso_history *history, uint32_t key)
{
    uint32_t value = history->initial.other_value;
    for (uint32_t i = 0; i < history->initial.count; i++)
        value = history->initial.key[i] == key ? history->initial.value[i] : value;
    return value;
}

/* What the transaction left in a register; false: nothing. */
static bool left_in(const struct iso_history *history, int t, uint32_t key, uint32_t *value)
{
    bool found = false;
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
        if (history->ops.key[o] != key || !iso_kind_writes(history->ops.kind[o]))
            continue;
        *value = history->ops.value[o];
        found = true;
    }
    return found;
}

/* Lists stand as they would after the first `count` transactions of the order, and behind them what
 * the reader had appended itself. Whether a list read returned that. */
static bool list_is(const struct question *question, int reader, uint32_t operation, int last)
{
    const struct iso_history *history = question->history;
    uint32_t key = history->ops.key[operation], list = history->ops.value[operation];
    uint64_t at = history->lists.first[list], end = history->lists.first[list + 1];
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (history->initial.key[i] == key && history->initial.is_append[i] &&
            (at == end || history->lists.element[at++] != history->initial.value[i]))
            return false;
    }
    for (int place = 0; last != INITIALLY && place <= question->position[last]; place++) {
        int t = question->order[place];
        for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
            if (t != reader && iso_kind_of(history, o) == ISO_APPEND &&
                history->ops.key[o] == key &&
                (at == end || history->lists.element[at++] != history->ops.value[o]))
                return false;
        }
    }
    for (uint32_t o = history->txns.first_op[reader]; o < operation; o++) {
        if (iso_kind_of(history, o) == ISO_APPEND && history->ops.key[o] == key &&
            (at == end || history->lists.element[at++] != history->ops.value[o]))
            return false;
    }
    return at == end;
}

/* How long a list read is without what its transaction appended before; -1: too short. */
static int prefix_of(const struct iso_history *history, int t, uint32_t operation)
{
    uint32_t list = history->ops.value[operation];
    int length = (int)(history->lists.first[list + 1] - history->lists.first[list]);
    for (uint32_t o = history->txns.first_op[t]; o < operation; o++)
        length -= iso_kind_of(history, o) == ISO_APPEND &&
                  history->ops.key[o] == history->ops.key[operation];
    return length;
}

static void add_read(struct question *question, int t, uint32_t o)
{
    const struct iso_history *history = question->history;
    struct read read = {.reader = t, .operation = (int)o, .key = (int)history->ops.key[o]};
    bool list = iso_kind_of(history, o) == ISO_READ_LIST;
    uint32_t value;
    assert(question->read_count < READS);
    if (list || initial_of(history, history->ops.key[o]) == history->ops.value[o])
        read.candidate[read.count++] = INITIALLY;
    for (int w = 0; w < question->n; w++) {
        if (w != t && question->part[w] && question->writes[w][read.key] &&
            (list ||
             (left_in(history, w, history->ops.key[o], &value) && value == history->ops.value[o])))
            read.candidate[read.count++] = w;
    }
    question->impossible |= !read.count;
    question->reads[question->read_count++] = read;
}

/* External reads; internal ones must agree with what the transaction did before. */
static void look_at(struct question *question, int t)
{
    const struct iso_history *history = question->history;
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
        bool wrote = false, external = true, list = iso_kind_of(history, o) == ISO_READ_LIST;
        uint32_t read = ISO_NONE, value = 0;
        if (iso_kind_writes(history->ops.kind[o]))
            continue;
        for (uint32_t before = history->txns.first_op[t]; before < o; before++) {
            if (history->ops.key[before] != history->ops.key[o])
                continue;
            if (iso_kind_writes(history->ops.kind[before])) {
                read = list && !wrote && is_each(question)
                           ? ISO_NONE
                           : read; /* what was read before binds nothing */
                wrote = true;
            } else if (!is_each(question) || wrote) {
                read = read == ISO_NONE ? before : read;
            }
            value = history->ops.value[before];
        }
        if (list && read != ISO_NONE) {
            int length = prefix_of(history, t, o);
            external = false;
            question->impossible |=
                length < 0 || length != prefix_of(history, t, read) ||
                memcmp(history->lists.element + history->lists.first[history->ops.value[o]],
                       history->lists.element + history->lists.first[history->ops.value[read]],
                       (size_t)length * sizeof(iso_atom));
            /* and behind that its own appends: the order of all cannot say it for an internal
             * read */
            uint64_t at =
                history->lists.first[history->ops.value[o]] + (uint64_t)(length < 0 ? 0 : length);
            for (uint32_t own = history->txns.first_op[t]; own < o && length >= 0; own++)
                question->impossible |= iso_kind_of(history, own) == ISO_APPEND &&
                                        history->ops.key[own] == history->ops.key[o] &&
                                        history->lists.element[at++] != history->ops.value[own];
        } else if (!list && (wrote || read != ISO_NONE)) {
            external = false;
            question->impossible |= value != history->ops.value[o];
        }
        if (external)
            add_read(question, t, o);
    }
}

static void ask(struct question *question, const struct iso_history *history, enum iso_level level)
{
    *question =
        (struct question){.history = history, .level = level, .n = (int)history->txns.count};
    assert(question->n <= N && history->keys.count <= KEYS);
    for (int t = 0; t < question->n; t++) {
        question->part[t] = iso_status_of(history, (uint32_t)t) != ISO_ABORTED;
        for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
            question->writes[t][history->ops.key[o]] |= iso_kind_writes(history->ops.kind[o]);
    }
    for (uint32_t i = 0; i < history->txns.count && iso_level_keeps_sessions(level); i++) {
        for (uint32_t j = i + 1; j < history->txns.count; j++) {
            uint32_t a = history->sessions.order[i], b = history->sessions.order[j];
            question->so[a][b] = history->txns.session[a] == history->txns.session[b] &&
                                 iso_status_of(history, a) == ISO_COMMITTED && question->part[b];
        }
    }
    for (int t = 0; t < question->n; t++) {
        if (iso_status_of(history, (uint32_t)t) == ISO_COMMITTED)
            look_at(question, t);
    }
}

/* ---- by orders ---- */

static void close_over(int n, bool relation[N][N])
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                relation[i][j] |= relation[i][k] && relation[k][j];
}

/* What is visible to the reader at one of its reads, as the level says. */
static bool is_visible(const struct question *question, const struct read *at, int t2,
                       bool wr[N][N], bool causal[N][N], bool with_ww[N][N])
{
    int r = at->reader, n = question->n;
    const bool(*so)[N] = (const bool(*)[N])question->so;
    bool found = false;
    switch (question->level) {
    case ISO_RC:
        for (int i = 0; i < question->read_count; i++)
            found |= question->reads[i].reader == r &&
                     question->reads[i].operation < at->operation && question->reads[i].from == t2;
        return found;
    case ISO_RA:
        return so[t2][r] || wr[t2][r];
    case ISO_RYW:
        return so[t2][r];
    case ISO_MR:
        for (int a = 0; a < n; a++)
            found |= wr[t2][a] && so[a][r];
        return found;
    case ISO_MW:
        for (int a = 0; a < n; a++)
            found |= so[t2][a] && wr[a][r];
        return found;
    case ISO_WFR:
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                found |= wr[t2][a] && (a == b || so[a][b]) && wr[b][r];
        return found;
    case ISO_PRAM:
        found = so[t2][r];
        for (int a = 0; a < n; a++) {
            found |= (wr[t2][a] && so[a][r]) || (so[t2][a] && wr[a][r]);
            for (int b = 0; b < n; b++)
                found |= so[t2][a] && wr[a][b] && so[b][r];
        }
        return found;
    case ISO_CC:
        return causal[t2][r];
    case ISO_PSI:
        return with_ww[t2][r];
    case ISO_PC:
        for (int a = 0; a < n; a++)
            found |= (a == t2 ||
                      (question->part[a] && question->position[t2] < question->position[a])) &&
                     (so[a][r] || wr[a][r]);
        return found;
    default:
        return false; /* adya-rc */
    }
}

/* Whether the order and the choice of writers are right. */
static bool order_fits(const struct question *question)
{
    int n = question->n;
    bool wr[N][N] = {{false}}, causal[N][N], with_ww[N][N];
    for (int i = 0; i < question->read_count; i++) {
        const struct read *read = &question->reads[i];
        if (iso_kind_of(question->history, (uint32_t)read->operation) == ISO_READ_LIST &&
            !list_is(question, read->reader, (uint32_t)read->operation, read->from))
            return false;
        if (read->from != INITIALLY)
            wr[read->from][read->reader] = true;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            if ((question->so[i][j] || wr[i][j]) && question->position[i] > question->position[j])
                return false;
            causal[i][j] = with_ww[i][j] = question->so[i][j] || wr[i][j];
            for (int key = 0; key < KEYS; key++)
                with_ww[i][j] |= i != j && question->part[i] && question->part[j] &&
                                 question->writes[i][key] && question->writes[j][key] &&
                                 question->position[i] < question->position[j];
        }
    }
    close_over(n, causal);
    close_over(n, with_ww);
    for (int i = 0; i < question->read_count; i++) {
        const struct read *read = &question->reads[i];
        for (int t2 = 0; t2 < n; t2++) {
            if (t2 == read->from || t2 == read->reader || !question->part[t2] ||
                !question->writes[t2][read->key] ||
                !is_visible(question, read, t2, wr, causal, with_ww))
                continue;
            if (read->from == INITIALLY || question->position[t2] > question->position[read->from])
                return false;
        }
    }
    return true;
}

static bool try_choices(struct question *question, int next, bool (*fits)(const struct question *))
{
    if (next == question->read_count)
        return fits(question);
    struct read *read = &question->reads[next];
    for (int i = 0; i < read->count; i++) {
        read->from = read->candidate[i];
        /* what a read saw comes before it, and a list is read as it stands: else the rest need not
         * be tried */
        if (read->from != INITIALLY &&
            question->position[read->from] > question->position[read->reader])
            continue;
        if (iso_kind_of(question->history, (uint32_t)read->operation) == ISO_READ_LIST &&
            !list_is(question, read->reader, (uint32_t)read->operation, read->from))
            continue;
        if (try_choices(question, next + 1, fits))
            return true;
    }
    return false;
}

/* All orders of those that take part in which sessions go forward. */
static bool try_orders(struct question *question, int placed, int total,
                       bool (*fits)(const struct question *))
{
    if (placed == total)
        return try_choices(question, 0, fits);
    for (int t = 0; t < question->n; t++) {
        bool free = question->part[t] && question->position[t] < 0;
        for (int before = 0; before < question->n && free; before++)
            free = !question->so[before][t] || question->position[before] >= 0;
        if (!free)
            continue;
        question->order[placed] = t;
        question->position[t] = placed;
        if (try_orders(question, placed + 1, total, fits))
            return true;
        question->position[t] = -1;
    }
    return false;
}

static bool any_order(struct question *question, bool (*fits)(const struct question *))
{
    int total = 0;
    assert(question->n <= WEAK_ORACLE_TRANSACTIONS);
    if (question->impossible)
        return false;
    for (int t = 0; t < question->n; t++) {
        question->position[t] = -1;
        total += question->part[t];
    }
    return try_orders(question, 0, total, fits);
}

bool weak_oracle_by_orders(const struct iso_history *history, enum iso_level level)
{
    struct question question;
    ask(&question, history, level);
    return any_order(&question, order_fits);
}

/* ---- by visibility ---- */

bool weak_oracle_knows_visibility(enum iso_level level)
{
    return level == ISO_RA || level == ISO_CC || level == ISO_PSI || level == ISO_PC;
}

/* The relation keeps what the level asks of it. */
static bool relation_fits(const struct question *question, bool vis[N][N])
{
    int n = question->n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            if (question->so[i][j] && !vis[i][j])
                return false;
            for (int k = 0; k < n; k++) {
                if (question->level != ISO_RA && vis[i][j] && vis[j][k] && !vis[i][k])
                    return false;
                if (question->level == ISO_PC && question->part[i] && question->part[j] &&
                    question->position[i] < question->position[j] && vis[j][k] && !vis[i][k])
                    return false;
            }
            for (int key = 0; key < KEYS && question->level == ISO_PSI && i < j; key++) {
                if (question->part[i] && question->part[j] && question->writes[i][key] &&
                    question->writes[j][key] && !vis[i][j] && !vis[j][i])
                    return false;
            }
        }
    }
    return true;
}

/* Each read saw the last of the visible writers of its key. */
static bool reads_fit(const struct question *question, bool vis[N][N])
{
    for (int i = 0; i < question->read_count; i++) {
        const struct read *read = &question->reads[i];
        int last = INITIALLY;
        for (int place = 0; place < question->n; place++) {
            int t = question->order[place];
            if (t >= 0 && question->part[t] && question->position[t] == place &&
                vis[t][read->reader] && question->writes[t][read->key])
                last = t;
        }
        if (last != read->from)
            return false;
    }
    return true;
}

/* Pairs of the order one after another: visible or not. What the reads saw has to be. */
static bool try_relations(const struct question *question, bool vis[N][N], int i, int j, int total)
{
    if (j == total)
        return relation_fits(question, vis) && reads_fit(question, vis);
    int next_i = i + 1 < j ? i + 1 : 0, next_j = i + 1 < j ? j : j + 1;
    if (j == 0 || i >= j)
        return try_relations(question, vis, 0, j + 1, total);
    int from = question->order[i], to = question->order[j];
    for (int seen = 0; seen < 2; seen++) {
        vis[from][to] = seen;
        if (try_relations(question, vis, next_i, next_j, total))
            return true;
    }
    vis[from][to] = false;
    return false;
}

static bool visibility_fits(const struct question *question)
{
    bool vis[N][N] = {{false}};
    int total = 0;
    for (int t = 0; t < question->n; t++)
        total += question->part[t];
    return try_relations(question, vis, 0, total > 1 ? 1 : total, total);
}

bool weak_oracle_by_visibility(const struct iso_history *history, enum iso_level level)
{
    struct question question;
    ask(&question, history, level);
    return any_order(&question, visibility_fits);
}

/* ---- psi by versions ---- */

/* No cycle of what is known of the order so far, nor one with one rw. `rank`: by transaction and
 * key, of those that are ordered; -1: it is not. */
static bool versions_fit(const struct question *question, int rank[N][KEYS])
{
    int n = question->n;
    bool before[N][N];
    memcpy(before, question->so, sizeof before);
    for (int i = 0; i < question->read_count; i++) {
        if (question->reads[i].from != INITIALLY)
            before[question->reads[i].from][question->reads[i].reader] = true;
    }
    for (int key = 0; key < KEYS; key++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                before[i][j] |= rank[i][key] >= 0 && rank[i][key] < rank[j][key];
    close_over(n, before);
    for (int i = 0; i < n; i++) {
        if (before[i][i])
            return false;
    }
    for (int i = 0; i < question->read_count; i++) {
        const struct read *read = &question->reads[i];
        for (int t = 0; t < n; t++) {
            bool later =
                rank[t][read->key] >= 0 && t != read->reader &&
                (read->from == INITIALLY || (rank[read->from][read->key] >= 0 &&
                                             rank[t][read->key] > rank[read->from][read->key]));
            if (later && before[t][read->reader])
                return false;
        }
    }
    return true;
}

/* The versions of one key after another, each in every order. */
static bool try_versions(const struct question *question, int rank[N][KEYS], int key, int ranked)
{
    bool last = true;
    if (key == KEYS)
        return true;
    for (int t = 0; t < question->n; t++) {
        if (!question->part[t] || !question->writes[t][key] || rank[t][key] >= 0)
            continue;
        last = false;
        rank[t][key] = ranked;
        bool found = versions_fit(question, rank) && try_versions(question, rank, key, ranked + 1);
        rank[t][key] = -1;
        if (found)
            return true;
    }
    return last && versions_fit(question, rank) && try_versions(question, rank, key + 1, 0);
}

static bool try_writers(struct question *question, int next)
{
    int rank[N][KEYS];
    memset(rank, -1, sizeof rank);
    if (next == question->read_count)
        return try_versions(question, rank, 0, 0);
    struct read *read = &question->reads[next];
    for (int i = 0; i < read->count; i++) {
        read->from = read->candidate[i];
        if (try_writers(question, next + 1))
            return true;
    }
    return false;
}

bool weak_oracle_by_versions(const struct iso_history *history)
{
    struct question question;
    ask(&question, history, ISO_PSI);
    return !question.impossible && try_writers(&question, 0);
}
