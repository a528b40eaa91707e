#include "prove/advice.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

enum { CANDIDATES = 12, ROWS = 16, BOUND = 16 };

struct search {
    struct iso_prove_program *program;
    struct iso_prove_remedy list[2 * CANDIDATES]; /* locks, then updates */
    uint32_t count;
    uint32_t template, step;
    uint32_t bound[BOUND], bound_count; /* locals of the quantifiers around */
};

/* ---- candidates ---- */

static bool same(const struct iso_prove_program *program, uint32_t a, uint32_t b)
{
    if (a == b || a == ISO_NONE || b == ISO_NONE)
        return a == b;
    const struct iso_prove_expression *x = &program->expressions.list[a],
                                      *y = &program->expressions.list[b];
    bool is_named = x->op == ISO_PROVE_LOCAL || x->op == ISO_PROVE_INPUT || x->op == ISO_PROVE_READ;
    uint32_t left[3], right[3], count = iso_prove_operands(x, left);
    if (x->op != y->op || x->value != y->value || x->op >= ISO_PROVE_CHOOSE ||
        (is_named && x->a != y->a) || (x->op == ISO_PROVE_READ && x->c != y->c))
        return false;
    iso_prove_operands(y, right);
    for (uint32_t i = 0; i < count; i++)
        if (!same(program, left[i], right[i]))
            return false;
    return true;
}

/* Something bound by a quantifier is in it: then it is of no use before the statement. */
static bool is_bound(const struct search *search, uint32_t expression)
{
    const struct iso_prove_expression *node = &search->program->expressions.list[expression];
    uint32_t operands[3], count = iso_prove_operands(node, operands);
    bool bound = node->op >= ISO_PROVE_CHOOSE;
    for (uint32_t i = 0; node->op == ISO_PROVE_LOCAL && i < search->bound_count; i++)
        bound |= search->bound[i] == node->a;
    for (uint32_t i = 0; i < count && !bound; i++)
        bound = is_bound(search, operands[i]);
    return bound;
}

static void add_candidate(struct search *search, uint32_t table, uint32_t index)
{
    const struct iso_prove_table *of = &search->program->tables.list[table];
    if (is_bound(search, index))
        index = ISO_NONE;
    if (!of->rows || (index == ISO_NONE && of->rows > ROWS) || search->count == CANDIDATES ||
        of->hidden)
        return;
    for (uint32_t i = 0; i < search->count; i++)
        if (search->list[i].template == search->template && search->list[i].table == table &&
            same(search->program, search->list[i].index, index))
            return;
    search->list[search->count++] = (struct iso_prove_remedy){
        .template = search->template, .table = table, .step = search->step, .index = index};
}

static void look_at(struct search *search, uint32_t expression)
{
    if (expression == ISO_NONE)
        return;
    const struct iso_prove_expression *node = &search->program->expressions.list[expression];
    uint32_t operands[3], count = iso_prove_operands(node, operands);
    bool binds = node->op >= ISO_PROVE_SUM;
    if (binds && search->bound_count == BOUND)
        return;
    if (binds)
        search->bound[search->bound_count++] = node->a;
    for (uint32_t i = 0; i < count; i++)
        look_at(search, operands[i]);
    search->bound_count -= binds;
    if (node->op == ISO_PROVE_READ)
        add_candidate(search, node->a, node->b);
}

static void look_through(struct search *search, uint32_t step)
{
    for (; step != ISO_NONE; step = search->program->steps.list[step].next) {
        const struct iso_prove_step *at = &search->program->steps.list[step];
        search->step = step;
        look_at(search, at->value);
        look_at(search, at->where);
        for (uint32_t i = 0;
             at->kind == ISO_PROVE_WRITE && i < search->program->tables.list[at->table].columns;
             i++)
            look_at(search, search->program->values.list[at->first_value + i]);
        look_through(search, at->block);
        look_through(search, at->otherwise);
    }
}

static void find_candidates(struct search *search)
{
    for (uint32_t i = 0; i < search->program->templates.count; i++) {
        search->template = i;
        if (search->program->templates.list[i].block == ISO_NONE)
            continue;
        look_through(search, search->program->templates.list[i].block);
    }
    uint32_t locks = search->count;
    for (uint32_t i = 0; i < locks; i++) {
        search->list[search->count] = search->list[i];
        search->list[search->count++].update = true;
    }
}

/* ---- trying ---- */

/* The location that names a step: its template, a step before it, or the step around it. */
static uint32_t *link_to(struct iso_prove_program *program, uint32_t template, uint32_t step)
{
    if (program->templates.list[template].block == step)
        return &program->templates.list[template].block;
    for (uint32_t i = 0; i < program->steps.count; i++) {
        struct iso_prove_step *at = &program->steps.list[i];
        if (at->next == step)
            return &at->next;
        if (at->block == step)
            return &at->block;
        if (at->otherwise == step)
            return &at->otherwise;
    }
    return NULL;
}

/* The first step of the statement, so that no statement is cut in two. */
static uint32_t start_of(struct iso_prove_program *program, uint32_t template, uint32_t step)
{
    while (program->steps.list[step].continued && program->templates.list[template].block != step) {
        uint32_t before = 0;
        while (before < program->steps.count && program->steps.list[before].next != step)
            before++;
        if (before == program->steps.count)
            break;
        step = before;
    }
    return step;
}

/* One lock or update, in front of a step. */
static void insert(struct iso_prove_program *program, const struct iso_prove_remedy *remedy,
                   uint32_t index, uint32_t before)
{
    const struct iso_prove_table *table = &program->tables.list[remedy->table];
    struct iso_prove_span span = program->steps.list[before].span;
    uint32_t columns = table->columns, kept[64], claim, *link;
    if (columns > 64)
        return;
    for (uint32_t i = 0; i < columns; i++)
        kept[i] = ISO_NONE;
    claim = iso_prove_step(program, remedy->update ? ISO_PROVE_WRITE : ISO_PROVE_LOCK, span);
    program->steps.list[claim].table = remedy->table;
    program->steps.list[claim].index = index;
    if (remedy->update) {
        uint32_t first = iso_prove_values(program, kept, columns);
        program->steps.list[claim].first_value = first;
    }
    link = link_to(program, remedy->template, before);
    assert(link);
    program->steps.list[claim].next = before;
    *link = claim;
}

static void apply(struct iso_prove_program *program, const struct iso_prove_remedy *remedy)
{
    uint32_t before = start_of(program, remedy->template, remedy->step);
    uint32_t rows = program->tables.list[remedy->table].rows;
    if (remedy->index != ISO_NONE) {
        insert(program, remedy, remedy->index, before);
        return;
    }
    for (uint32_t i = 0; i < rows; i++)
        insert(program, remedy, iso_prove_constant(program, i), before);
}

struct kept {
    struct iso_prove_step *steps;
    uint32_t step_count, *blocks;
};

static struct kept keep(const struct iso_prove_program *program)
{
    struct kept kept = {.step_count = program->steps.count};
    kept.steps = iso_allocate((program->steps.count + 1) * sizeof *kept.steps);
    kept.blocks = iso_allocate((program->templates.count + 1) * sizeof *kept.blocks);
    memcpy(kept.steps, program->steps.list, program->steps.count * sizeof *kept.steps);
    for (uint32_t i = 0; i < program->templates.count; i++)
        kept.blocks[i] = program->templates.list[i].block;
    return kept;
}

static void restore(struct iso_prove_program *program, const struct kept *kept)
{
    memcpy(program->steps.list, kept->steps, kept->step_count * sizeof *kept->steps);
    program->steps.count = kept->step_count;
    for (uint32_t i = 0; i < program->templates.count; i++)
        program->templates.list[i].block = kept->blocks[i];
}

/* Whether the program holds with these. */
static bool helps(struct search *search, const struct kept *kept, struct iso_prove_options options,
                  const uint32_t *chosen, uint32_t count, enum iso_prove_level level)
{
    struct iso_prove_result result;
    struct iso_error error = ISO_NO_ERROR;
    bool holds;
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        options.levels[i] = i == level;
    options.any_number = false;
    for (uint32_t i = 0; i < count; i++)
        apply(search->program, &search->list[chosen[i]]);
    iso_prove_result_init(&result);
    holds = iso_prove(search->program, &options, &result, &error) == ISO_OK &&
            result.answers[level].outcome == ISO_HOLDS;
    iso_prove_result_release(&result);
    restore(search->program, kept);
    return holds;
}

bool iso_prove_next_choice(uint32_t *chosen, uint32_t count, uint32_t all)
{
    for (uint32_t i = count; i-- > 0;)
        if (chosen[i] + (count - i) < all) {
            chosen[i]++;
            for (uint32_t j = i + 1; j < count; j++)
                chosen[j] = chosen[j - 1] + 1;
            return true;
        }
    return false;
}

static void advise_level(struct search *search, const struct iso_prove_options *options,
                         double deadline, enum iso_prove_level level,
                         struct iso_prove_advice *advice)
{
    struct kept kept = keep(search->program);
    advice->asked = true;
    for (uint32_t size = 1; size <= ISO_PROVE_ADVISED && size <= search->count && !advice->found;
         size++) {
        uint32_t chosen[ISO_PROVE_ADVISED];
        for (uint32_t i = 0; i < size; i++)
            chosen[i] = i;
        do {
            struct iso_prove_options left = *options;
            left.seconds = deadline > 0 ? deadline - iso_clock_seconds() : 0;
            advice->timeout = deadline > 0 && left.seconds <= 0;
            if (advice->timeout)
                break;
            advice->tried++;
            advice->found = helps(search, &kept, left, chosen, size, level);
            for (uint32_t i = 0; advice->found && i < size; i++)
                advice->remedies[advice->count++] = search->list[chosen[i]];
        } while (!advice->found && iso_prove_next_choice(chosen, size, search->count));
    }
    ISO_FREE_ALL(kept.steps, kept.blocks);
}

enum iso_status iso_prove_advise(struct iso_prove_program *program,
                                 const struct iso_prove_options *options,
                                 const struct iso_prove_result *result,
                                 struct iso_prove_advice advice[ISO_PROVE_LEVELS],
                                 struct iso_error *error)
{
    static const enum iso_prove_level levels[] = {ISO_PROVE_RC, ISO_PROVE_SI};
    struct search search = {.program = program};
    double deadline = options->seconds > 0 ? iso_clock_seconds() + options->seconds : 0;
    memset(advice, 0, ISO_PROVE_LEVELS * sizeof *advice);
    find_candidates(&search);
    bool wrong =
        result->asked[ISO_PROVE_SER] && result->answers[ISO_PROVE_SER].outcome == ISO_IS_VIOLATED;
    for (size_t i = 0; i < 2 && !wrong; i++) /* what breaks one after another, no lock mends */
        if (result->asked[levels[i]] && result->answers[levels[i]].outcome == ISO_IS_VIOLATED)
            advise_level(&search, options, deadline, levels[i], &advice[levels[i]]);
    return error->status;
}

/* ---- in words ---- */

static void put_remedy(const struct iso_prove_program *program,
                       const struct iso_prove_remedy *remedy, struct iso_text *text)
{
    const struct iso_prove_table *table = &program->tables.list[remedy->table];
    uint32_t line, column;
    iso_prove_location(program, program->steps.list[remedy->step].span.begin, &line, &column);
    iso_text_format(text, "%s %s", remedy->update ? "update" : "lock", table->name);
    if (remedy->index == ISO_NONE)
        iso_text_put(text, table->rows > 1 ? " (all its cells)" : "");
    else if (table->indexed && program->expressions.list[remedy->index].op == ISO_PROVE_CONSTANT)
        iso_text_format(text, "[%lld]", (long long)program->expressions.list[remedy->index].value);
    else if (table->indexed) {
        iso_text_put(text, "[");
        iso_prove_put_span(program, text, program->expressions.list[remedy->index].span);
        iso_text_put(text, "]");
    }
    iso_text_format(text, " in %s, before %s:%u:%u", program->templates.list[remedy->template].name,
                    program->file, line, column);
}

void iso_prove_put_advice(const struct iso_prove_program *program,
                          const struct iso_prove_result *result,
                          const struct iso_prove_advice advice[ISO_PROVE_LEVELS],
                          struct iso_text *text)
{
    bool any = false;
    iso_text_put(text, "\nadvice, each proved for these transactions:\n");
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        if (result->sufficient[i]) {
            iso_text_format(text, "  run at %s: %s\n", iso_prove_level_name(i),
                            iso_prove_level_words(i));
            any = true;
        }
    }
    for (uint32_t i = ISO_PROVE_LEVELS; i-- > 0;) {
        if (!advice[i].asked)
            continue;
        any = true;
        iso_text_format(text, "  at %s: ", iso_prove_level_name(i));
        for (uint32_t j = 0; j < advice[i].count; j++) {
            iso_text_put(text, j ? "; and " : "");
            put_remedy(program, &advice[i].remedies[j], text);
        }
        if (!advice[i].found)
            iso_text_put(text, advice[i].timeout
                                   ? "nothing was found in the time"
                                   : "neither locks nor updates of what is read are enough");
        iso_text_put(text, "\n");
    }
    if (!any)
        iso_text_put(
            text,
            "  none: nothing that was asked is violated, or the program is wrong by itself\n");
}

void iso_prove_put_advice_json(const struct iso_prove_program *program,
                               const struct iso_prove_advice advice[ISO_PROVE_LEVELS],
                               struct iso_text *text)
{
    bool any = false;
    iso_text_put(text, ",\"advice\":{");
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        if (!advice[i].asked)
            continue;
        iso_text_format(text, "%s\"%s\":[", any ? "," : "", iso_prove_level_name(i));
        any = true;
        for (uint32_t j = 0; j < advice[i].count; j++) {
            struct iso_text words = {0};
            put_remedy(program, &advice[i].remedies[j], &words);
            iso_text_put(text, j ? "," : "");
            iso_text_put_string(text, words.bytes, words.used);
            iso_text_release(&words);
        }
        iso_text_put(text, "]");
    }
    iso_text_put(text, "}");
}
