#include "prove/report.h"

#include <string.h>

void iso_prove_put_scope(const struct iso_prove_program *program, struct iso_text *text)
{
    uint32_t count = program->instances.count;
    if (count == 0)
        iso_text_put(text, "before its transactions were known");
    else if (count == 1)
        iso_text_put(text, "for this one transaction");
    else
        iso_text_format(text, "for these %u transactions", count);
}

void iso_prove_put_levels(const bool *levels, struct iso_text *text)
{
    bool any = false;
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        if (!levels[i])
            continue;
        iso_text_format(text, "%s%s", any ? ", " : "", iso_prove_level_name(i));
        any = true;
    }
    if (!any)
        iso_text_put(text, "none of those asked");
}

static void put_location(const struct iso_prove_program *program, struct iso_text *text,
                         struct iso_prove_span span)
{
    uint32_t line, column;
    iso_prove_location(program, span.begin, &line, &column);
    iso_text_format(text, "%s:%u:%u", program->file, line, column);
}

/* ---- text ---- */

static void put_inputs(const struct iso_prove_execution *execution, struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    for (uint32_t i = 0; i < program->inputs.count; i++)
        iso_text_format(text, "%s%s = %lld", i ? ", " : "    with ", program->inputs.list[i].name,
                        (long long)execution->inputs[i]);
    if (program->inputs.count)
        iso_text_put(text, "\n");
}

/* A row of SQL, if it is there: "room 1: id 1, seats 10". The columns behind "exists" are its values,
 * then which of them are NULL; a value that is NULL is 0. */
static bool put_row(const struct iso_prove_table *table, uint32_t row, const int64_t *values,
                    const char *before, struct iso_text *text)
{
    const char *comma = ":";
    if (!values[0])
        return false;
    iso_text_format(text, "%s%s", before, table->row_names[row]);
    for (uint32_t i = 1; i < table->columns; i++) {
        bool flag = strstr(table->column_names[i], " is null") != NULL;
        if (flag && !values[i])
            continue;
        iso_text_format(text, "%s %s", comma, table->column_names[i]);
        if (!flag)
            iso_text_format(text, " %lld", (long long)values[i]);
        comma = ",";
    }
    return true;
}

static bool put_cell(const struct iso_prove_program *program, uint32_t cell, const int64_t *values,
                     bool any, struct iso_text *text)
{
    const struct iso_prove_table *table = iso_prove_table_of(program, cell);
    uint32_t row = cell - table->first_cell;
    if (table->row_names[row])
        return put_row(table, row, values, any ? "; " : "", text);
    for (uint32_t i = 0; i < table->columns; i++) {
        iso_text_put(text, any || i ? ", " : "");
        iso_prove_put_column(program, text, cell, i);
        iso_text_format(text, " = %lld", (long long)values[i]);
    }
    return true;
}

static void put_state(const struct iso_prove_execution *execution, const int64_t *values,
                      struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    bool any = false;
    for (uint32_t cell = 0; cell < program->cells; cell++)
        if (!iso_prove_table_of(program, cell)->hidden)
            any |= put_cell(program, cell, &values[execution->slot[cell]], any, text);
}

/* Each once. */
void iso_prove_put_accesses(const struct iso_prove_execution *execution,
                            const struct iso_prove_item *item, const char *before,
                            struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    for (uint32_t i = item->first; i < item->end; i++) {
        const struct iso_prove_event *event = &execution->events.list[i];
        bool read = event->kind == ISO_PROVE_READS, write = event->kind == ISO_PROVE_WRITES,
             again = false;
        for (uint32_t j = item->first; j < i; j++) {
            const struct iso_prove_event *other = &execution->events.list[j];
            again = again || (other->kind == event->kind && other->cell == event->cell &&
                              other->column == event->column && other->value == event->value);
        }
        if ((!read && !write) || again || iso_prove_table_of(program, event->cell)->hidden)
            continue;
        iso_text_format(text, "%s%s", before, read ? "reads " : "writes ");
        iso_prove_put_column(program, text, event->cell, event->column);
        iso_text_format(text, " = %lld", (long long)event->value);
        if (read && event->from != ISO_NONE && event->from != event->instance)
            iso_text_format(text, " of T%u", event->from + 1);
        before = ", ";
    }
    if (item->waits_for != ISO_NONE)
        iso_text_format(text, "%swaits for T%u", before, item->waits_for + 1);
}

void iso_prove_put_sees(const struct iso_prove_execution *execution, uint32_t instance,
                        struct iso_text *text)
{
    bool any = false;
    for (uint32_t i = 0; i < execution->count; i++) {
        uint32_t at = execution->order[i];
        if (!execution->visible[at * execution->count + instance] || execution->aborted[at])
            continue;
        iso_text_format(text, "%sT%u", any ? ", " : ", sees ", at + 1);
        any = true;
    }
    if (!any)
        iso_text_put(text, ", sees nobody");
}

static void put_schedule(const struct iso_prove_execution *execution, struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    struct iso_prove_schedule schedule;
    iso_prove_schedule_init(&schedule, execution);
    for (uint32_t i = 0; i < execution->count; i++) {
        iso_text_format(text, "    T%u is %s", i + 1, program->instances.list[i].name);
        if (!schedule.timeline)
            iso_prove_put_sees(execution, i, text);
        iso_text_put(text, "\n");
    }
    for (uint32_t i = 0; i < schedule.count; i++) {
        const struct iso_prove_item *item = &schedule.list[i];
        iso_text_format(text, "    %3u  T%u  ", i + 1, item->instance + 1);
        if (item->kind == ISO_PROVE_STATEMENT) {
            uint32_t step = execution->events.list[item->first].step;
            iso_prove_put_span(program, text, program->steps.list[step].span);
            iso_prove_put_accesses(execution, item, "   -- ", text);
        } else {
            iso_text_put(text, item->kind == ISO_PROVE_COMMITS ? "commits" : "aborts");
        }
        iso_text_put(text, "\n");
    }
    iso_prove_schedule_release(&schedule);
}

static const char *rule_word(const struct iso_prove_rule *rule)
{
    return rule->kind == ISO_PROVE_ASSERT ? "assert" : "invariant";
}

void iso_prove_put_moment(const struct iso_prove_execution *execution, struct iso_text *text)
{
    bool any = false;
    if (execution->program->rules.list[execution->rule].kind != ISO_PROVE_INVARIANT) {
        iso_text_put(text, "at the end");
        return;
    }
    for (uint32_t i = 0; i < execution->count; i++) {
        uint32_t at = execution->order[i];
        if (!execution->moment[at] || execution->aborted[at])
            continue;
        iso_text_format(text, "%sT%u", any ? ", " : "a transaction that sees ", at + 1);
        any = true;
    }
    iso_text_put(text, any ? " would find" : "a transaction that sees nobody would find");
}

void iso_prove_put_rule(const struct iso_prove_execution *execution, struct iso_text *text)
{
    const struct iso_prove_rule *rule = &execution->program->rules.list[execution->rule];
    iso_text_format(text, "%s%s%s ", rule_word(rule), rule->name ? " " : "",
                    rule->name ? rule->name : "");
    iso_prove_put_span(execution->program, text, rule->span);
}

void iso_prove_put_rule_location(const struct iso_prove_execution *execution, struct iso_text *text)
{
    put_location(execution->program, text, execution->program->rules.list[execution->rule].span);
}

static void put_violation(const struct iso_prove_execution *execution, struct iso_text *text)
{
    iso_text_format(text, "\nviolated at %s: ", iso_prove_level_name(execution->level));
    iso_prove_put_rule(execution, text);
    iso_text_put(text, " (");
    iso_prove_put_rule_location(execution, text);
    iso_text_put(text, ")\n");
    put_inputs(execution, text);
    put_schedule(execution, text);
    iso_text_put(text, "    ");
    iso_prove_put_moment(execution, text);
    iso_text_put(text, ": ");
    put_state(execution, execution->found, text);
    iso_text_put(text, "\n");
}

bool iso_prove_shown_above(const struct iso_prove_result *result, enum iso_prove_level level)
{
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && level != ISO_PROVE_RC; i++)
        if (i != level && result->asked[i] && result->answers[i].shown &&
            iso_prove_level_implies(i, level))
            return true;
    return false;
}

static const enum iso_prove_level postgresql_first[ISO_PROVE_LEVELS] = {
    ISO_PROVE_RC, ISO_PROVE_SI, ISO_PROVE_SER, ISO_PROVE_PSI,
    ISO_PROVE_PC, ISO_PROVE_CC, ISO_PROVE_RA};

void iso_prove_report_text(const struct iso_prove_program *program,
                           const struct iso_prove_result *result, struct iso_text *text)
{
    iso_text_format(text, "%s, ", program->file);
    iso_prove_put_scope(program, text);
    iso_text_put(text, ":\n");
    for (uint32_t at = 0; at < ISO_PROVE_LEVELS; at++) {
        enum iso_prove_level i = program->sql ? postgresql_first[at] : at;
        const struct iso_prove_answer *answer = &result->answers[i];
        const char *name = program->sql ? iso_prove_level_at_postgresql(i) : NULL;
        if (!result->asked[i])
            continue;
        iso_text_format(text, "  %-4s %s", iso_prove_level_name(i),
                        iso_outcome_name(answer->outcome));
        if (answer->outcome == ISO_IS_UNDECIDED)
            iso_text_format(text, ": %s", answer->reason);
        if (answer->any_number)
            iso_text_put(text,
                         " for any number of transactions, while every value has at most 32 bits");
        else if (answer->not_any)
            iso_text_format(text, " (for any number it is not known: %s)", answer->not_any);
        if (name)
            iso_text_format(text, " (%s)", name);
        iso_text_put(text, "\n");
    }
    if (result->alone != ISO_NONE)
        iso_text_format(text, "%s alone breaks a rule: no level helps\n",
                        program->instances.list[result->alone].name);
    iso_text_put(text, "sufficient: ");
    iso_prove_put_levels(result->sufficient, text);
    iso_text_put(text, "\n");
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        if (result->breaks_above[i])
            iso_text_format(text, "but raising rc to %s breaks it\n", iso_prove_level_name(i));
    if (result->locks &&
        (result->asked[ISO_PROVE_PC] || result->asked[ISO_PROVE_CC] || result->asked[ISO_PROVE_RA]))
        iso_text_put(text, "locks have no force at pc, cc and ra\n");
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        if (!result->asked[i] || !result->answers[i].shown)
            continue;
        if (!iso_prove_shown_above(result, i))
            put_violation(&result->answers[i].execution, text);
    }
}

/* ---- JSON ---- */

static void put_span_string(const struct iso_prove_program *program, struct iso_text *text,
                            struct iso_prove_span span)
{
    struct iso_text words = {0};
    iso_prove_put_span(program, &words, span);
    iso_text_put_string(text, words.bytes, words.used);
    iso_text_release(&words);
}

static void put_name_string(struct iso_text *text, const char *name)
{
    iso_text_put_string(text, name, strlen(name));
}

static void put_column_string(const struct iso_prove_program *program, struct iso_text *text,
                              uint32_t cell, uint32_t column)
{
    struct iso_text words = {0};
    iso_prove_put_column(program, &words, cell, column);
    iso_text_put_string(text, words.bytes, words.used);
    iso_text_release(&words);
}

static void put_line(const struct iso_prove_program *program, struct iso_text *text,
                     struct iso_prove_span span)
{
    uint32_t line, column;
    iso_prove_location(program, span.begin, &line, &column);
    iso_text_format(text, "\"line\":%u,\"column\":%u", line, column);
}

static void json_accesses(const struct iso_prove_execution *execution,
                          const struct iso_prove_item *item, enum iso_prove_event_kind kind,
                          struct iso_text *text)
{
    bool any = false;
    for (uint32_t i = item->first; i < item->end; i++) {
        const struct iso_prove_event *event = &execution->events.list[i];
        if (event->kind != kind)
            continue;
        iso_text_put(text, any ? ",{\"cell\":" : "{\"cell\":");
        put_column_string(execution->program, text, event->cell, event->column);
        iso_text_format(text, ",\"value\":%lld", (long long)event->value);
        if (kind == ISO_PROVE_READS && event->from != ISO_NONE)
            iso_text_format(text, ",\"from\":\"T%u\"", event->from + 1);
        iso_text_put(text, "}");
        any = true;
    }
}

static void json_item(const struct iso_prove_execution *execution,
                      const struct iso_prove_item *item, struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    iso_text_format(text, "{\"transaction\":\"T%u\",", item->instance + 1);
    if (item->kind != ISO_PROVE_STATEMENT) {
        iso_text_put(text, item->kind == ISO_PROVE_COMMITS ? "\"does\":\"commit\"}"
                                                           : "\"does\":\"abort\"}");
        return;
    }
    struct iso_prove_span span = program->steps.list[execution->events.list[item->first].step].span;
    iso_text_put(text, "\"does\":");
    put_span_string(program, text, span);
    iso_text_put(text, ",");
    put_line(program, text, span);
    iso_text_put(text, ",\"reads\":[");
    json_accesses(execution, item, ISO_PROVE_READS, text);
    iso_text_put(text, "],\"writes\":[");
    json_accesses(execution, item, ISO_PROVE_WRITES, text);
    iso_text_put(text, "]");
    if (item->waits_for != ISO_NONE)
        iso_text_format(text, ",\"waits_for\":\"T%u\"", item->waits_for + 1);
    iso_text_put(text, "}");
}

static void json_transactions(const struct iso_prove_execution *execution, struct iso_text *text)
{
    for (uint32_t i = 0; i < execution->count; i++) {
        bool any = false;
        iso_text_format(text, "%s\"T%u\":{\"call\":", i ? "," : "", i + 1);
        put_name_string(text, execution->program->instances.list[i].name);
        iso_text_format(text, ",\"aborted\":%s,\"sees\":[",
                        execution->aborted[i] ? "true" : "false");
        for (uint32_t j = 0; j < execution->count; j++)
            if (execution->visible[j * execution->count + i] && !execution->aborted[j]) {
                iso_text_format(text, "%s\"T%u\"", any ? "," : "", j + 1);
                any = true;
            }
        iso_text_put(text, "]}");
    }
}

static void json_violation(const struct iso_prove_execution *execution, struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    const struct iso_prove_rule *rule = &program->rules.list[execution->rule];
    struct iso_prove_schedule schedule;
    bool any = false;
    iso_text_format(text, ",\"rule\":{\"kind\":\"%s\",", rule_word(rule));
    if (rule->name) {
        iso_text_put(text, "\"name\":");
        put_name_string(text, rule->name);
        iso_text_put(text, ",");
    }
    iso_text_put(text, "\"text\":");
    put_span_string(program, text, rule->span);
    iso_text_put(text, ",");
    put_line(program, text, rule->span);
    iso_text_put(text, "},\"inputs\":{");
    for (uint32_t i = 0; i < program->inputs.count; i++) {
        iso_text_put(text, i ? "," : "");
        put_name_string(text, program->inputs.list[i].name);
        iso_text_format(text, ":%lld", (long long)execution->inputs[i]);
    }
    iso_text_put(text, "},\"transactions\":{");
    json_transactions(execution, text);
    iso_prove_schedule_init(&schedule, execution);
    iso_text_format(text, "},\"timeline\":%s,\"schedule\":[", schedule.timeline ? "true" : "false");
    for (uint32_t i = 0; i < schedule.count; i++) {
        iso_text_put(text, i ? "," : "");
        json_item(execution, &schedule.list[i], text);
    }
    iso_prove_schedule_release(&schedule);
    iso_text_put(text, "],\"state\":{");
    for (uint32_t cell = 0; cell < program->cells; cell++) {
        const struct iso_prove_table *table = iso_prove_table_of(program, cell);
        for (uint32_t i = 0; i < table->columns && !table->hidden; i++) {
            iso_text_put(text, any ? "," : "");
            put_column_string(program, text, cell, i);
            iso_text_format(text, ":%lld", (long long)execution->found[execution->slot[cell] + i]);
            any = true;
        }
    }
    iso_text_put(text, "}");
}

static void json_levels(struct iso_text *text, const char *name, const bool *levels)
{
    bool any = false;
    iso_text_format(text, ",\"%s\":[", name);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        if (!levels[i])
            continue;
        iso_text_format(text, "%s\"%s\"", any ? "," : "", iso_prove_level_name(i));
        any = true;
    }
    iso_text_put(text, "]");
}

void iso_prove_report_json(const struct iso_prove_program *program,
                           const struct iso_prove_result *result, struct iso_text *text)
{
    bool any = false;
    iso_text_put(text, "{\"file\":");
    put_name_string(text, program->file);
    iso_text_format(text, ",\"transactions\":%u,\"levels\":{", program->instances.count);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        const struct iso_prove_answer *answer = &result->answers[i];
        if (!result->asked[i])
            continue;
        iso_text_format(text, "%s\"%s\":{\"verdict\":\"%s\",\"scope\":\"%s\"", any ? "," : "",
                        iso_prove_level_name(i), iso_outcome_name(answer->outcome),
                        answer->any_number ? "any number" : "instances");
        if (answer->not_any) {
            iso_text_put(text, ",\"any_number\":");
            put_name_string(text, answer->not_any);
        }
        if (answer->outcome == ISO_IS_UNDECIDED) {
            iso_text_put(text, ",\"reason\":");
            put_name_string(text, answer->reason);
        }
        if (answer->shown)
            json_violation(&answer->execution, text);
        iso_text_put(text, "}");
        any = true;
    }
    iso_text_put(text, "}");
    if (result->alone != ISO_NONE) {
        iso_text_put(text, ",\"alone\":");
        put_name_string(text, program->instances.list[result->alone].name);
    }
    json_levels(text, "sufficient", result->sufficient);
    json_levels(text, "breaks_above", result->breaks_above);
    iso_text_format(text, ",\"locks_without_force\":[%s],\"warnings\":[",
                    result->locks ? "\"pc\",\"cc\",\"ra\"" : "");
    for (uint32_t i = 0; i < program->warnings.count + result->warnings.count; i++) {
        iso_text_put(text, i ? "," : "");
        put_name_string(text, i < program->warnings.count
                                  ? program->warnings.list[i]
                                  : result->warnings.list[i - program->warnings.count]);
    }
    iso_text_put(text, "]}\n");
}
