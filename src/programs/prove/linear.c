#include "prove/linear.h"

#include "base/memory.h"

enum { FALSE_TERM, TRUE_TERM, ITEMS = 96, WORK = 4000 };

/* A sum: each item counts `factor` times the atom if its guard is true. */
struct item {
    uint32_t guard, atom;
    int64_t factor;
};

struct sum {
    struct prove_encoding *encoding;
    const uint32_t *list, *seen;
    struct item items[ITEMS];
    uint32_t count, work;
    int64_t constant;
    bool failed; /* too large, or nothing that telescopes */
    bool any;    /* a cell was replaced */
};

static struct prove_terms *terms_of(const struct sum *sum)
{
    return &sum->encoding->system->terms;
}

static bool implies(const struct prove_terms *terms, uint32_t guard, uint32_t condition)
{
    const struct prove_term *a = &terms->list[guard], *b = &terms->list[condition];
    if (guard == condition || condition == TRUE_TERM)
        return true;
    if (b->op == PROVE_AND)
        return implies(terms, guard, b->a) && implies(terms, guard, b->b);
    return a->op == PROVE_AND &&
           (implies(terms, a->a, condition) || implies(terms, a->b, condition));
}

static void add_item(struct sum *sum, uint32_t guard, uint32_t atom, int64_t factor)
{
    for (uint32_t i = 0; i < sum->count; i++)
        if (sum->items[i].guard == guard && sum->items[i].atom == atom) {
            sum->items[i].factor += factor;
            if (!sum->items[i].factor)
                sum->items[i] = sum->items[--sum->count];
            return;
        }
    if (sum->count == ITEMS)
        sum->failed = true;
    else
        sum->items[sum->count++] = (struct item){guard, atom, factor};
}

static void expand(struct sum *sum, uint32_t guard, uint32_t term, int64_t factor);

/* The slot that this variable is of, if its changes can be added up; their reads are in `reads`, by
 * transaction. */
static bool telescopes(const struct sum *sum, uint32_t variable, uint32_t *slot, uint32_t *reads)
{
    const struct prove_system *system = sum->encoding->system;
    const struct iso_prove_program *program = system->program;
    uint32_t wanted = system->statements ? PROVE_NEWEST : 0, cell = 0, column;
    for (*slot = 0; *slot < system->slots && sum->list[*slot] != variable;)
        ++*slot;
    if (*slot == system->slots || system->initial[*slot] == variable)
        return false;
    while (cell + 1 < program->cells && system->first_slot[cell + 1] <= *slot)
        cell++;
    column = *slot - system->first_slot[cell];
    for (uint32_t u = 0; u < system->count; u++) {
        const struct prove_transaction *transaction = &system->transactions[u];
        reads[u] = ISO_NONE;
        if (transaction->writes[cell] == FALSE_TERM)
            continue;
        for (uint32_t i = 0; i < transaction->reads.count && reads[u] == ISO_NONE; i++) {
            const struct prove_read *read = &transaction->reads.list[i];
            if (read->statement == wanted && read->cell == cell && read->column == column)
                reads[u] = read->variable;
        }
        if (reads[u] == ISO_NONE)
            return false;
    }
    return true;
}

static bool expand_cell(struct sum *sum, uint32_t guard, uint32_t variable, int64_t factor)
{
    const struct prove_system *system = sum->encoding->system;
    const struct iso_prove_program *program = system->program;
    uint32_t slot, cell = 0, *reads = iso_allocate_zeroed(system->count + 1, sizeof *reads);
    bool good = telescopes(sum, variable, &slot, reads);
    while (good && cell + 1 < program->cells && system->first_slot[cell + 1] <= slot)
        cell++;
    if (good) {
        sum->any = true;
        expand(sum, guard, system->initial[slot], factor);
    }
    for (uint32_t u = 0; good && u < system->count; u++) {
        uint32_t writes = system->transactions[u].writes[cell];
        if (reads[u] == ISO_NONE)
            continue;
        writes = prove_and(terms_of(sum), sum->seen ? sum->seen[u] : TRUE_TERM, writes);
        writes = prove_and(terms_of(sum), guard, writes);
        expand(sum, writes, system->transactions[u].values[slot], factor);
        expand(sum, writes, reads[u], -factor);
    }
    iso_free(reads);
    return good;
}

static void expand(struct sum *sum, uint32_t guard, uint32_t number, int64_t factor)
{
    struct prove_terms *terms = terms_of(sum);
    struct prove_term term = terms->list[number];
    if (++sum->work > WORK || factor > INT32_MAX || factor < INT32_MIN)
        sum->failed = true;
    if (sum->failed || guard == FALSE_TERM)
        return;
    switch (term.op) {
    case PROVE_CONSTANT:
        if (term.low > INT32_MAX || term.low < INT32_MIN)
            sum->failed = true;
        else if (guard == TRUE_TERM)
            sum->constant += factor * term.low;
        else if (term.low)
            add_item(sum, guard, TRUE_TERM, factor * term.low);
        break;
    case PROVE_ADD:
    case PROVE_SUBTRACT:
        expand(sum, guard, term.a, factor);
        expand(sum, guard, term.b, term.op == PROVE_ADD ? factor : -factor);
        break;
    case PROVE_CHOOSE:
        if (implies(terms, guard, term.a)) {
            expand(sum, guard, term.b, factor);
        } else if (implies(terms, guard, prove_not(terms, term.a))) {
            expand(sum, guard, term.c, factor);
        } else {
            uint32_t both = prove_and(terms, guard, term.a);
            expand(sum, guard, term.c, factor);
            expand(sum, both, term.b, factor);
            expand(sum, both, term.c, -factor);
        }
        break;
    case PROVE_VARIABLE:
        if (!expand_cell(sum, guard, number, factor))
            add_item(sum, guard, number, factor);
        break;
    default:
        add_item(sum, guard, number, factor);
    }
}

/* The sum as a term; in the order of its atoms, so that equal sums are one term. */
static uint32_t rebuild(struct sum *sum)
{
    struct prove_terms *terms = terms_of(sum);
    uint32_t made = FALSE_TERM;
    for (uint32_t i = 0; i < sum->count; i++)
        for (uint32_t j = i + 1; j < sum->count; j++)
            if (sum->items[j].atom < sum->items[i].atom ||
                (sum->items[j].atom == sum->items[i].atom &&
                 sum->items[j].guard < sum->items[i].guard)) {
                struct item swapped = sum->items[i];
                sum->items[i] = sum->items[j];
                sum->items[j] = swapped;
            }
    for (uint32_t i = 0; i < sum->count; i++) {
        const struct item *item = &sum->items[i];
        uint32_t part = prove_choose(terms, item->guard, item->atom, FALSE_TERM);
        int64_t factor = item->factor < 0 ? -item->factor : item->factor;
        part = prove_multiply(terms, part, prove_constant(terms, factor));
        made = item->factor < 0 ? prove_subtract(terms, made, part) : prove_add(terms, made, part);
    }
    return prove_add(terms, made, prove_constant(terms, sum->constant));
}

static void compare(struct prove_encoding *encoding, const uint32_t *list, const uint32_t *seen,
                    struct prove_term comparison,
                    void (*tell)(struct prove_encoding *encoding, uint32_t a, uint32_t b))
{
    struct prove_terms *terms = &encoding->system->terms;
    struct sum sum = {.encoding = encoding, .list = list, .seen = seen};
    expand(&sum, TRUE_TERM, comparison.a, 1);
    expand(&sum, TRUE_TERM, comparison.b, -1);
    if (sum.failed || !sum.any || sum.count > 12)
        return;
    uint32_t rest = rebuild(&sum), right = prove_add(terms, comparison.b, rest);
    if (terms->wide) /* an interval of this sum alone: leave it */
        terms->wide = false;
    else
        tell(encoding, comparison.a, right);
}

void prove_telescope(struct prove_encoding *encoding, const uint32_t *list, const uint32_t *seen,
                     uint32_t rule,
                     void (*tell)(struct prove_encoding *encoding, uint32_t a, uint32_t b))
{
    struct prove_terms *terms = &encoding->system->terms;
    uint32_t count = terms->count;
    bool *reached = iso_allocate_zeroed(count + 1, sizeof *reached);
    reached[rule] = true;
    for (uint32_t i = count; i-- > 0;) {
        struct prove_term term = terms->list[i];
        if (!reached[i] || term.op <= PROVE_VARIABLE)
            continue;
        if (term.op == PROVE_EQUAL || term.op == PROVE_LESS)
            compare(encoding, list, seen, term, tell);
        reached[term.a] = true;
        reached[term.b] = reached[term.b] || term.op != PROVE_NOT;
        reached[term.c] = reached[term.c] || term.op == PROVE_CHOOSE;
    }
    iso_free(reached);
}
