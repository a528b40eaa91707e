#include "prove_page/page.h"

#include "base/memory.h"
#include "draw/drawing.h"
#include "draw/escape.h"
#include "draw/frame.h"
#include "draw/sequence.h"
#include "iso/version.h"
#include "prove/report.h"
#include "prove_page/cycle.h"

enum { PAGE_BYTES = 5000000, STATE_ROWS = 2000 };

struct page {
    const struct iso_prove_program *program;
    const struct iso_prove_result *result;
    struct iso_text *text;
    struct iso_text words; /* what is being put together; escaped when it is put */
    uint32_t pictures;
};

static void put(struct page *page, const char *string)
{
    iso_text_put(page->text, string);
}

/* The words so far, escaped, between two tags. */
static void put_words(struct page *page, const char *begin, const char *end)
{
    put(page, begin);
    iso_escape_xml(page->text, page->words.bytes, page->words.used);
    put(page, end);
    page->words.used = 0;
}

/* The words put so far as a string, which stands until the next ones begin. */
static const char *end_words(struct page *page)
{
    iso_text_put_bytes(&page->words, "", 1);
    page->words.used = 0;
    return page->words.bytes;
}

/* ---- statements in order ---- */

static void lane_names(struct page *page, const struct iso_prove_execution *execution,
                       struct iso_sequence *sequence, uint32_t *lanes)
{
    for (uint32_t i = 0; i < execution->count; i++) {
        const struct iso_prove_instance *instance = &page->program->instances.list[i];
        lanes[i] = ISO_NONE;
        for (uint32_t j = 0; j < i && instance->session != ISO_NONE && lanes[i] == ISO_NONE; j++)
            if (page->program->instances.list[j].session == instance->session)
                lanes[i] = lanes[j];
        if (lanes[i] != ISO_NONE)
            continue;
        lanes[i] = sequence->lane_count;
        if (instance->session == ISO_NONE)
            iso_text_format(&page->words, "T%u is %s", i + 1, instance->name);
        else
            iso_text_format(&page->words, "session %u", instance->session + 1);
        iso_sequence_lane(sequence, end_words(page));
    }
}

static void put_item_words(struct page *page, const struct iso_prove_execution *execution,
                           const struct iso_prove_item *item, bool accesses)
{
    iso_text_format(&page->words, "T%u ", item->instance + 1);
    if (item->kind != ISO_PROVE_STATEMENT) {
        iso_text_put(&page->words, item->kind == ISO_PROVE_COMMITS ? "commits" : "aborts");
        return;
    }
    uint32_t step = execution->events.list[item->first].step;
    iso_prove_put_span(page->program, &page->words, page->program->steps.list[step].span);
    if (accesses)
        iso_prove_put_accesses(execution, item, " -- ", &page->words);
}

/* Where who looks stands: behind the last commit that it sees, if there is a time line; else at the
 * end. */
static uint32_t verdict_position(const struct iso_prove_execution *execution,
                                 const struct iso_prove_schedule *schedule)
{
    uint32_t position = schedule->count;
    if (!schedule->timeline ||
        execution->program->rules.list[execution->rule].kind != ISO_PROVE_INVARIANT)
        return position;
    while (position > 0 && !(schedule->list[position - 1].kind == ISO_PROVE_COMMITS &&
                             execution->moment[schedule->list[position - 1].instance]))
        position--;
    return position;
}

/* One arrow from each who wrote what the statement reads. */
static void put_arrows(struct page *page, const struct iso_prove_execution *execution,
                       const struct iso_prove_item *item, uint32_t row, const uint32_t *ends,
                       struct iso_sequence *sequence)
{
    for (uint32_t from = 0; from < execution->count; from++) {
        bool any = false;
        for (uint32_t i = item->first; i < item->end && from != item->instance; i++) {
            const struct iso_prove_event *event = &execution->events.list[i];
            if (event->kind != ISO_PROVE_READS || event->from != from ||
                iso_prove_table_of(page->program, event->cell)->hidden)
                continue;
            iso_text_put(&page->words, any ? ", " : "");
            iso_prove_put_column(page->program, &page->words, event->cell, event->column);
            iso_text_format(&page->words, " = %lld", (long long)event->value);
            any = true;
        }
        if (any)
            iso_text_format(&page->words, " of T%u", from + 1);
        if (any && ends[from] != ISO_NONE)
            iso_sequence_arrow(sequence, ends[from], row, end_words(page));
        page->words.used = 0;
    }
}

static void fill_sequence(struct page *page, const struct iso_prove_execution *execution,
                          const struct iso_prove_schedule *schedule, struct iso_sequence *sequence)
{
    uint32_t *lanes = iso_allocate((execution->count + 1) * sizeof *lanes);
    uint32_t *ends = iso_allocate((execution->count + 1) * sizeof *ends); /* rows */
    struct iso_text name = {0};
    uint32_t verdict = verdict_position(execution, schedule);
    bool moment = page->program->rules.list[execution->rule].kind == ISO_PROVE_INVARIANT;
    for (uint32_t i = 0; i < execution->count; i++)
        ends[i] = ISO_NONE;
    lane_names(page, execution, sequence, lanes);
    for (uint32_t i = 0; i <= schedule->count; i++) {
        if (i == verdict) {
            iso_prove_put_moment(execution, &page->words);
            iso_text_put(&page->words, moment ? " it broken: " : " it is broken: ");
            iso_prove_put_rule(execution, &page->words);
            const char *words = end_words(page);
            iso_sequence_row(sequence, ISO_SEQUENCE_VERDICT, 0, ISO_NONE, words, words);
        }
        if (i == schedule->count)
            break;
        const struct iso_prove_item *item = &schedule->list[i];
        name.used = 0;
        put_item_words(page, execution, item, false);
        iso_text_put(&name, end_words(page));
        iso_text_put_bytes(&name, "", 1);
        put_item_words(page, execution, item, true);
        if (item->kind != ISO_PROVE_STATEMENT)
            ends[item->instance] = i + (i >= verdict);
        iso_sequence_row(sequence,
                         item->kind == ISO_PROVE_STATEMENT ? ISO_SEQUENCE_STEP
                         : item->kind == ISO_PROVE_COMMITS ? ISO_SEQUENCE_END
                                                           : ISO_SEQUENCE_FAILS,
                         lanes[item->instance], item->instance, name.bytes, end_words(page));
    }
    for (uint32_t i = 0; i < schedule->count; i++)
        if (schedule->list[i].kind == ISO_PROVE_STATEMENT)
            put_arrows(page, execution, &schedule->list[i], i + (i >= verdict), ends, sequence);
    for (uint32_t i = 0; i < execution->count; i++)
        if (!execution->aborted[i] && (!moment || execution->moment[i]) && ends[i] != ISO_NONE &&
            ends[i] < verdict)
            iso_sequence_arrow(sequence, ends[i], verdict, "seen by who looks");
    iso_text_release(&name);
    ISO_FREE_ALL(lanes, ends);
}

static void put_statements(struct page *page, const struct iso_prove_execution *execution)
{
    struct iso_sequence *sequence = iso_allocate(sizeof *sequence);
    struct iso_prove_schedule schedule;
    iso_prove_schedule_init(&schedule, execution);
    iso_sequence_init(sequence);
    fill_sequence(page, execution, &schedule, sequence);
    put(page,
        schedule.timeline
            ? "<h2>Statements in order</h2>\n"
            : "<h2>Statements in the order of the transactions; there is no time at this level</h2>\n");
    if (sequence->too_large || page->text->used > PAGE_BYTES / 2) {
        put(page, "<p class=\"dim\">There are too many for a picture.</p>\n");
    } else {
        put(page, "<div class=\"picture\">");
        iso_sequence_svg(sequence, ++page->pictures, page->text);
        put(page, "</div>\n");
    }
    put(page, "<ol>\n");
    for (uint32_t i = 0; i < schedule.count && page->text->used < PAGE_BYTES; i++) {
        put_item_words(page, execution, &schedule.list[i], true);
        put_words(page, "<li><code>", "</code></li>\n");
    }
    put(page, "</ol>\n");
    iso_sequence_release(sequence);
    iso_free(sequence);
    iso_prove_schedule_release(&schedule);
}

/* ---- why only there ---- */

static void put_axioms(struct page *page, const struct iso_prove_execution *execution)
{
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        if (i == execution->level || !page->result->asked[i] ||
            page->result->answers[i].outcome != ISO_HOLDS ||
            !iso_prove_level_implies(i, execution->level))
            continue;
        iso_text_format(&page->words, "Not at %s: ", iso_prove_level_name(i));
        if (prove_page_put_axiom(execution, i, &page->words))
            put_words(page, "<p>", ".</p>\n");
        page->words.used = 0;
    }
}

static void put_graph(struct page *page, const struct iso_prove_execution *execution,
                      const struct prove_page_cycle *cycle)
{
    struct iso_drawing *drawing = iso_allocate(sizeof *drawing);
    iso_drawing_init(drawing);
    for (uint32_t i = 0; i < cycle->count; i++) {
        struct iso_text name = {0};
        uint32_t node = cycle->list[i].from;
        prove_page_put_node(execution, node, &name);
        iso_text_put_bytes(&name, "", 1);
        if (node == execution->count)
            iso_prove_put_rule(execution, &page->words);
        else
            iso_text_put(&page->words, page->program->instances.list[node].name);
        iso_drawing_put_node(drawing, name.bytes, end_words(page));
        iso_text_release(&name);
    }
    for (uint32_t i = 0; i < cycle->count; i++) {
        const struct prove_page_edge *edge = &cycle->list[i];
        const char *type = prove_page_dependency_name(edge->kind);
        iso_text_put(&page->words, type);
        if (edge->kind != PROVE_PAGE_SESSION) {
            iso_text_put(&page->words, " ");
            iso_prove_put_cell(page->program, &page->words, edge->cell);
        }
        iso_drawing_put_edge(drawing, i, (i + 1) % cycle->count, type, end_words(page));
    }
    put(page, "<div class=\"picture\">");
    iso_drawing_svg(drawing, false, page->text);
    put(page, "</div>\n<ul>\n");
    for (uint32_t i = 0; i < cycle->count; i++) {
        prove_page_put_edge(execution, &cycle->list[i], &page->words);
        put_words(page, "<li>", "</li>\n");
    }
    put(page, "</ul>\n");
    iso_drawing_release(drawing);
    iso_free(drawing);
}

/* Locks and aborts are no part of a cycle: where it has none, they are listed by themselves. */
static void put_no_cycle(struct page *page)
{
    enum iso_outcome serial = page->result->answers[ISO_PROVE_SER].outcome;
    if (!page->result->asked[ISO_PROVE_SER])
        put(page, "<p>There is none of reads and writes alone.</p>\n");
    else if (serial == ISO_IS_VIOLATED)
        put(page,
            "<p>There is none: this also happens when the transactions run one after another.</p>\n");
    else if (serial == ISO_HOLDS)
        put(page,
            "<p>There is none of reads and writes alone: when the transactions run one after another, a lock or "
            "what makes one of them abort keeps this from happening.</p>\n");
    else
        put(page, "<p>There is none of reads and writes alone.</p>\n");
}

static void put_cycle(struct page *page, const struct iso_prove_execution *execution)
{
    struct prove_page_cycle cycle;
    prove_page_cycle_init(&cycle, execution);
    put(page, "<h2>The cycle</h2>\n");
    if (!cycle.count)
        put_no_cycle(page);
    else if (page->text->used > PAGE_BYTES / 2)
        put(page, "<p class=\"dim\">There is no picture of it, as the page is large.</p>\n");
    else
        put_graph(page, execution, &cycle);
    put_axioms(page, execution);
    prove_page_cycle_release(&cycle);
}

/* ---- what is found ---- */

static void put_state(struct page *page, const struct iso_prove_execution *execution)
{
    const struct iso_prove_program *program = page->program;
    uint32_t rows = 0, left = 0;
    iso_prove_put_moment(execution, &page->words);
    put_words(page,
              "<h2>What is found: ", "</h2>\n<div class=\"picture\"><table class=\"rows\">\n");
    put(page, "<tr><th></th><th>at the start</th><th>found</th></tr>\n");
    for (uint32_t cell = 0; cell < program->cells; cell++) {
        const struct iso_prove_table *table = iso_prove_table_of(program, cell);
        for (uint32_t i = 0; i < table->columns && !table->hidden; i++) {
            uint32_t slot = execution->slot[cell] + i;
            bool same = execution->initial[slot] == execution->found[slot];
            if (rows == STATE_ROWS || page->text->used > PAGE_BYTES) {
                left++;
                continue;
            }
            iso_prove_put_column(program, &page->words, cell, i);
            put_words(page, same ? "<tr><td><code>" : "<tr class=\"differs\"><td><code>",
                      "</code></td>");
            iso_text_format(page->text, "<td>%lld</td><td>%lld</td></tr>\n",
                            (long long)execution->initial[slot], (long long)execution->found[slot]);
            rows++;
        }
    }
    put(page, "</table></div>\n");
    if (left)
        iso_text_format(page->text, "<p class=\"dim\">And %u more.</p>\n", left);
}

static void put_calls(struct page *page, const struct iso_prove_execution *execution)
{
    struct iso_prove_schedule schedule;
    iso_prove_schedule_init(&schedule, execution);
    put(page, "<table>\n");
    for (uint32_t i = 0; i < execution->count; i++) {
        iso_text_format(page->text, "<tr><th>T%u</th>", i + 1);
        iso_text_put(&page->words, page->program->instances.list[i].name);
        if (!schedule.timeline)
            iso_prove_put_sees(execution, i, &page->words);
        iso_text_put(&page->words, execution->aborted[i] ? ", aborts" : "");
        put_words(page, "<td><code>", "</code></td></tr>\n");
    }
    for (uint32_t i = 0; i < page->program->inputs.count; i++) {
        iso_text_put(&page->words, page->program->inputs.list[i].name);
        put_words(page, "<tr><th>", "</th>");
        iso_text_format(page->text, "<td>%lld</td></tr>\n", (long long)execution->inputs[i]);
    }
    put(page, "</table>\n");
    iso_prove_schedule_release(&schedule);
}

static void put_violation(struct page *page, const struct iso_prove_execution *execution,
                          bool is_first)
{
    const char *name = iso_prove_level_name(execution->level);
    iso_text_format(
        page->text,
        "<details class=\"violation\" data-kind=\"%s\"%s>\n<summary><span class=\"kind\">%s</span>",
        name, is_first ? " open" : "", name);
    iso_prove_put_rule(execution, &page->words);
    put_words(page, "", " is broken</summary>\n");
    iso_prove_put_rule_location(execution, &page->words);
    put_words(page, "<p class=\"dim\">", "</p>\n");
    put_calls(page, execution);
    put_statements(page, execution);
    put_cycle(page, execution);
    put_state(page, execution);
    put(page, "</details>\n");
}

/* ---- the whole ---- */

static void put_verdicts(struct page *page)
{
    const struct iso_prove_result *result = page->result;
    put(page, "<table>\n");
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        const struct iso_prove_answer *answer = &result->answers[i];
        if (!result->asked[i])
            continue;
        iso_text_format(page->text, "<tr><th>%s</th><td>%s</td><td>%s", iso_prove_level_name(i),
                        iso_prove_level_words(i), iso_outcome_name(answer->outcome));
        if (answer->any_number)
            put(page, " for any number of transactions, while every value has at most 32 bits");
        iso_text_put(&page->words, answer->outcome == ISO_IS_UNDECIDED ? answer->reason
                                   : answer->not_any                   ? answer->not_any
                                                                       : "");
        if (page->words.used)
            put_words(page, answer->not_any ? " (for any number it is not known: " : ": ",
                      answer->not_any ? ")" : "");
        put(page, "</td></tr>\n");
    }
    put(page, "</table>\n");
    iso_prove_put_levels(result->sufficient, &page->words);
    put_words(page, "<p>Sufficient: ", ".</p>\n");
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        if (result->breaks_above[i])
            iso_text_format(page->text, "<p>But raising rc to %s breaks it.</p>\n",
                            iso_prove_level_name(i));
}

void iso_prove_put_page(const struct iso_prove_program *program,
                        const struct iso_prove_result *result, const char *advice,
                        size_t advice_length, struct iso_text *text)
{
    struct page page = {.program = program, .result = result, .text = text};
    const char *rest = iso_frame_begin(text);
    bool is_first = true;
    iso_text_format(&page.words, "%s, ", program->file);
    iso_prove_put_scope(program, &page.words);
    put_words(&page,
              "<h1>Isochron: ", "</h1>\n<p class=\"dim\">Isochron " ISO_VERSION ", prove</p>\n");
    put_verdicts(&page);
    if (advice_length) {
        iso_text_put_bytes(&page.words, advice, advice_length);
        put_words(&page, "<pre>", "</pre>\n");
    }
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        if (!result->asked[i] || !result->answers[i].shown || iso_prove_shown_above(result, i))
            continue;
        put_violation(&page, &result->answers[i].execution, is_first);
        is_first = false;
    }
    iso_text_put(text, rest);
    iso_text_release(&page.words);
}
