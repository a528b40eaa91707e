/* A file of SQL read: parsed, its directives taken, and lowered in rounds until all bounds are
 * known. */
#include "lower/read.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"
#include "lower/lower_private.h"

enum { MOST_ROUNDS = 100 }; /* of a FOR, where --unroll says nothing */

static void refuse(struct lowering *lowering, size_t byte, const char *format, va_list arguments,
                   const char *behind)
{
    char text[ISO_ERROR_TEXT];
    uint32_t line, column;
    const struct source_file *file = &lowering->file;
    if (failed(lowering))
        return;
    vsnprintf(text, sizeof text, format, arguments);
    iso_sql_location(file->text, byte < file->length ? byte : file->length, &line, &column);
    iso_error_set(lowering->error, ISO_BAD_INPUT, "%s:%u:%u: %.900s%s", file->name, line, column,
                  text, behind);
}

void lower_refuse(struct lowering *lowering, size_t byte, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refuse(lowering, byte, format, arguments, "");
    va_end(arguments);
}

void lower_refuse_form(struct lowering *lowering, size_t byte, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refuse(lowering, byte, format, arguments, ": not in the subset that can be proved");
    va_end(arguments);
}

/* ---- told apart ---- */

bool iso_prove_is_sql(const char *source, size_t length)
{
    static const char *const words[] = {"create", "insert", "drop", "comment", "begin",
                                        "set",    "alter",  "do",   "grant"};
    for (size_t at = 0; at < length;) {
        bool pair = at + 1 < length;
        if (pair && source[at] == '-' && source[at + 1] == '-') {
            if (at + 2 < length && source[at + 2] == '@')
                return true;
            while (at < length && source[at] != '\n')
                at++;
        } else if (pair && source[at] == '/' && source[at + 1] == '*') {
            return true;
        } else if (strchr(" \t\r\n\f\v", source[at])) {
            at++;
        } else {
            for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                size_t size = strlen(words[i]);
                if (length - at > size && !strncasecmp(source + at, words[i], size) &&
                    strchr(" \t\r\n;", source[at + size]))
                    return true;
            }
            return false;
        }
    }
    return false;
}

/* ---- parts of the file ---- */

const PgQuery__Node *lower_parse_part(struct lowering *lowering, uint32_t begin, uint32_t end,
                                      const char *before, uint32_t blank_begin, uint32_t blank_end)
{
    size_t ahead = strlen(before);
    assert(begin <= end && end <= lowering->file.length);
    assert(!blank_end || (begin <= blank_begin && blank_begin <= blank_end && blank_end <= end));
    struct iso_sql_fault fault;
    struct iso_sql_tree tree;
    lowering->at.delta = (int64_t)begin - (int64_t)ahead;
    for (uint32_t i = 0; i < lowering->trees.count; i++)
        if (lowering->trees.list[i].begin == begin && lowering->trees.list[i].kind == before[0])
            return lowering->trees.list[i].tree.statements[0]->stmt;
    char *text = iso_allocate(ahead + end - begin + 1);
    memcpy(text, before, ahead);
    memcpy(text + ahead, lowering->file.text + begin, end - begin);
    if (blank_end)
        memset(text + ahead + (blank_begin - begin), ' ', blank_end - blank_begin);
    bool fine = iso_sql_parse(&tree, text, ahead + end - begin, &fault);
    if (!fine)
        lower_refuse(lowering, begin + (fault.byte > ahead ? fault.byte - ahead : 0), "%s",
                     fault.text);
    else if (tree.count != 1)
        lower_refuse(lowering, begin, "one statement was expected here");
    iso_free(text);
    if (failed(lowering)) {
        if (fine)
            iso_sql_tree_release(&tree);
        return NULL;
    }
    ISO_APPEND(lowering->trees, (struct cached_tree){begin, before[0], tree});
    return tree.statements[0]->stmt;
}

const PgQuery__Node *lower_parse_expression(struct lowering *lowering, uint32_t begin, uint32_t end)
{
    const PgQuery__Node *node = lower_parse_part(lowering, begin, end, "SELECT ", 0, 0);
    if (!node)
        return NULL;
    const PgQuery__SelectStmt *select =
        node->node_case == PG_QUERY__NODE__NODE_SELECT_STMT ? node->select_stmt : NULL;
    if (!select || select->n_target_list != 1 || select->n_from_clause || select->where_clause ||
        !lower_is_plain_select(lowering, select) || *select->target_list[0]->res_target->name) {
        lower_refuse(lowering, begin, "one expression was expected here");
        return NULL;
    }
    return select->target_list[0]->res_target->val;
}

/* ---- what runs ---- */

static uint32_t argument_value(struct lowering *lowering, const struct function *function,
                               uint32_t parameter, const struct argument *argument,
                               struct iso_prove_span span)
{
    assert(argument->low <= argument->high);
    if (argument->low == argument->high)
        return lower_number(lowering, argument->low);
    char name[200];
    uint32_t twins = 0;
    struct iso_prove_program *program = lowering->program;
    int used = snprintf(name, sizeof name, "%.80s.%.80s", function->name,
                        function->parameters.list[parameter].name);
    for (uint32_t i = 0; i < program->inputs.count; i++) {
        const char *other = program->inputs.list[i].name;
        twins += !strncmp(other, name, (size_t)used) && (!other[used] || other[used] == '#');
    }
    if (twins)
        snprintf(name + used, sizeof name - (size_t)used, "#%u", twins + 1);
    uint32_t input = iso_prove_input(program, name, argument->low, argument->high, span);
    return lower_make(lowering, ISO_PROVE_INPUT, input, NONE, NONE);
}

static void add_instance(struct lowering *lowering, const struct call *call, uint32_t session,
                         uint32_t *slots)
{
    struct function *function = &lowering->functions.list[call->function];
    struct iso_prove_program *program = lowering->program;
    uint32_t capacity = 2 * function->parameters.count + function->slots.count + 1, count = 0;
    uint32_t *values = iso_allocate(iso_list_bytes(capacity, sizeof *values));
    lowering->at.span = call->span;
    for (uint32_t i = 0; i < function->parameters.count; i++)
        values[count++] =
            argument_value(lowering, function, i,
                           &lowering->runs.arguments.list[call->first_argument + i], call->span);
    for (uint32_t i = 0; i < function->parameters.count; i++)
        if (function->parameters.list[i].null)
            values[count++] = lower_number(
                lowering, lowering->runs.arguments.list[call->first_argument + i].null);
    for (uint32_t i = 0; i < function->slots.count && i < function->known_slots; i++) {
        uint32_t table = function->slots.list[i];
        values[count++] =
            lower_number(lowering, lowering->tables.list[table].initial_count + slots[table]++);
    }
    uint32_t first = iso_prove_values(program, values, count);
    assert(count < capacity);
    lower_put_prologue(lowering, function, call, first);
    char *name =
        iso_copy_text(lowering->file.text + call->span.begin, call->span.end - call->span.begin);
    iso_prove_instance(program, function->template, first, session, name, call->span);
    ISO_FREE_ALL(name, values);
}

static void add_instances(struct lowering *lowering)
{
    assert(lowering->final);
    uint32_t *slots = iso_allocate_zeroed(lowering->tables.count + 1, sizeof *slots);
    lowering->program->repeats = lowering->limits.repeats;
    lowering->program->sessions = lowering->runs.sessions * lowering->limits.repeats;
    for (uint32_t repeat = 0; repeat < lowering->limits.repeats; repeat++)
        for (uint32_t i = 0; i < lowering->runs.calls.count; i++) {
            const struct call *call = &lowering->runs.calls.list[i];
            uint32_t session =
                call->session == NONE ? NONE : repeat * lowering->runs.sessions + call->session;
            add_instance(lowering, call, session, slots);
        }
    iso_free(slots);
}

static void add_ranges(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->functions.count; i++) {
        const struct function *function = &lowering->functions.list[i];
        if (!function->called)
            continue;
        struct iso_prove_template *template =
            &lowering->program->templates.list[function->template];
        template->least = iso_allocate_zeroed(template->parameters + 1, sizeof *template->least);
        template->most = iso_allocate_zeroed(template->parameters + 1, sizeof *template->most);
        uint32_t at = 0;
        for (uint32_t j = 0; j < function->parameters.count; j++, at++) {
            template->least[at] = function->parameters.list[j].range.low;
            template->most[at] = function->parameters.list[j].range.high;
        }
        for (uint32_t j = 0; j < function->parameters.count; j++)
            if (function->parameters.list[j].null)
                template->most[at++] = 1;
        for (uint32_t j = 0; j < function->known_slots; j++, at++) {
            const struct table *table = &lowering->tables.list[function->slots.list[j]];
            template->least[at] = table->initial_count;
            template->most[at] = lower_rows_of(table) ? lower_rows_of(table) - 1 : 0;
        }
        assert(at == template->parameters);
    }
}

static void add_rules(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->runs.rules.count && !failed(lowering); i++) {
        const struct rule *rule = &lowering->runs.rules.list[i];
        assert(!lowering->body.function);
        lowering->at.span = rule->span;
        const PgQuery__Node *node =
            lower_parse_expression(lowering, rule->expression.begin, rule->expression.end);
        if (!node)
            return;
        struct value value = lower_expression(lowering, NULL, node);
        if (value.type != TYPE_BOOLEAN && value.type != TYPE_NULL)
            lower_refuse(lowering, rule->expression.begin, "a condition is needed here, this is %s",
                         lower_type_name(value.type));
        if (failed(lowering))
            return;
        uint32_t holds = lower_or(lowering, lower_truth(lowering, &value), value.null);
        int64_t always;
        if (lower_constant_of(lowering, holds, &always) && always)
            iso_prove_warn(lowering->program, rule->expression, "this rule holds whatever runs%s",
                           lower_constant_of(lowering, value.null, &always) && always
                               ? ": it is NULL, which counts as true"
                               : "");
        if (holds == NONE)
            holds = lower_number(lowering, 0);
        iso_prove_rule(lowering->program, rule->kind, rule->name, holds, rule->expression);
    }
}

/* ---- rounds ---- */

static void empty_program(struct lowering *lowering)
{
    struct iso_prove_stop stop = lowering->program->stop;
    iso_prove_program_release(lowering->program);
    iso_prove_program_init(lowering->program);
    lowering->program->stop = stop;
    lowering->program->file = iso_copy_text(lowering->file.name, strlen(lowering->file.name));
    lowering->program->source = iso_copy_text(lowering->file.text, lowering->file.length);
    lowering->program->source_length = lowering->file.length;
    lowering->program->sql = true;
    lowering->zero = lowering->one = NONE;
}

/* Lowers all once; true: as many slots as the round before. */
static bool lower_all(struct lowering *lowering)
{
    bool same = true;
    empty_program(lowering);
    lower_make_tables(lowering);
    lower_make_advisory(lowering);
    for (uint32_t i = 0; i < lowering->functions.count && !failed(lowering); i++)
        if (lowering->functions.list[i].called) {
            lower_function(lowering, &lowering->functions.list[i]);
            same = same && lowering->functions.list[i].slots.count ==
                               lowering->functions.list[i].known_slots;
        }
    if (failed(lowering))
        return false;
    for (uint32_t i = 0; i < lowering->tables.count; i++)
        lowering->tables.list[i].next_slots = 0;
    for (uint32_t i = 0; i < lowering->runs.calls.count; i++) {
        const struct function *function =
            &lowering->functions.list[lowering->runs.calls.list[i].function];
        for (uint32_t j = 0; j < function->slots.count; j++)
            lowering->tables.list[function->slots.list[j]].next_slots += lowering->limits.repeats;
    }
    for (uint32_t i = 0; i < lowering->tables.count; i++) {
        same = same && lowering->tables.list[i].slots == lowering->tables.list[i].next_slots;
        lowering->tables.list[i].slots = lowering->tables.list[i].next_slots;
    }
    return same;
}

static void set_known(struct lowering *lowering, bool frozen)
{
    for (uint32_t i = 0; i < lowering->tables.count; i++)
        for (uint32_t j = 0; j < lowering->tables.list[i].column_count; j++) {
            struct column *column = &lowering->tables.list[i].columns[j];
            if (frozen)
                column->known = column->frozen;
            else
                column->known = column->frozen = column->grown;
        }
}

static void note_passed(struct lowering *lowering)
{
    const struct ignored *passed = &lowering->passed;
    const bool list[] = {passed->references, passed->defaults, passed->locks};
    static const char *const names[] = {"references", "defaults", "locks"};
    struct iso_text text = {0};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i])
            iso_text_format(&text, "%s%s", text.used ? ", " : "with ", names[i]);
    iso_text_put(&text, " ignored");
    if (passed->references || passed->defaults || passed->locks)
        lowering->program->ignored = iso_copy_text(text.bytes, text.used);
    iso_text_release(&text);
}

/* What nothing uses may be what it likes: one line says so. */
static void warn_of_passed(struct lowering *lowering)
{
    uint32_t tables = 0, functions = 0;
    for (uint32_t i = 0; i < lowering->tables.count; i++)
        tables += lowering->tables.list[i].refused != NULL;
    for (uint32_t i = 0; i < lowering->functions.count; i++)
        functions += lowering->functions.list[i].refused != NULL;
    if (tables || functions)
        iso_prove_warn(lowering->program, (struct iso_prove_span){0, 0},
                       "passed over, as nothing that runs uses them: %u table%s, %u function%s",
                       tables, tables == 1 ? "" : "s", functions, functions == 1 ? "" : "s");
}

/* A char(n) is kept without its padding, so that it is equal to what else has no spaces behind. */
static void refuse_spaces(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->texts.count && lowering->pads; i++) {
        const char *text = lowering->texts.list[i];
        if (*text && text[strlen(text) - 1] == ' ')
            lower_refuse_form(lowering, 0, "the text '%.40s', with a space behind, beside char(n)",
                              text);
    }
}

/* After round k the bounds hold for all that a chain of k transactions can write; as many rounds as
 * transactions know all. One more round knows what expressions could make of that, so that no key
 * lies outside of its index. */
static void lower_rounds(struct lowering *lowering)
{
    uint32_t transactions = lowering->runs.calls.count * lowering->limits.repeats, rounds = 0,
             all = 0;
    while (rounds <= transactions && !failed(lowering)) {
        set_known(lowering, false);
        rounds = lower_all(lowering) ? rounds + 1 : 0;
        if (++all > 8 * transactions + 64)
            lower_refuse(
                lowering, 0,
                "the bounds of these statements cannot be found: they grow with every round");
    }
    lowering->final = true;
    set_known(lowering, true);
    if (!failed(lowering) && !lower_all(lowering) && !failed(lowering))
        lower_refuse(lowering, 0, "the number of rows that are inserted cannot be found");
    if (failed(lowering))
        return;
    for (uint32_t i = 0; i < lowering->tables.count; i++)
        lowering->program->frees_keys |= lowering->tables.list[i].frees &&
                                         lowering->tables.list[i].inserts &&
                                         lowering->runs.calls.count * lowering->limits.repeats > 1;
    refuse_spaces(lowering);
    note_passed(lowering);
    warn_of_passed(lowering);
    add_instances(lowering);
    add_ranges(lowering);
    add_rules(lowering);
}

/* ---- the whole file ---- */

static void release_tables(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->tables.count; i++) {
        struct table *table = &lowering->tables.list[i];
        for (uint32_t j = 0; j < table->column_count; j++)
            iso_free(table->columns[j].name);
        for (uint32_t j = 0; j < table->uniques.count; j++)
            iso_free(table->uniques.list[j].name);
        ISO_FREE_ALL(table->uniques.list, table->checks.list, table->references.list,
                     table->initial, table->name, table->refused);
    }
    iso_free(lowering->tables.list);
}

static void release_functions(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->functions.count; i++) {
        struct function *function = &lowering->functions.list[i];
        for (uint32_t j = 0; j < function->parameters.count; j++)
            iso_free(function->parameters.list[j].name);
        ISO_FREE_ALL(function->parameters.list, function->slots.list, function->names,
                     function->name, function->refused);
        iso_sql_tokens_release(&function->tokens);
    }
    iso_free(lowering->functions.list);
}

static void release(struct lowering *lowering)
{
    release_tables(lowering);
    release_functions(lowering);
    for (uint32_t i = 0; i < lowering->runs.rules.count; i++)
        iso_free(lowering->runs.rules.list[i].name);
    for (uint32_t i = 0; i < lowering->texts.count; i++)
        iso_free(lowering->texts.list[i]);
    for (uint32_t i = 0; i < lowering->trees.count; i++)
        iso_sql_tree_release(&lowering->trees.list[i].tree);
    for (uint32_t i = 0; i < lowering->body.variables.count; i++)
        ISO_FREE_ALL(lowering->body.variables.list[i].name, lowering->body.variables.list[i].told);
    ISO_FREE_ALL(lowering->runs.calls.list, lowering->runs.arguments.list,
                 lowering->runs.rules.list, lowering->texts.list, lowering->trees.list,
                 lowering->body.variables.list, lowering->body.states.list,
                 lowering->at.hoisted.list, lowering->at.uses.list);
    iso_sql_tree_release(&lowering->schema);
}

/* Nothing runs: then what was passed over is told. */
static void refuse_idle(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->tables.count; i++)
        if (lowering->tables.list[i].refused)
            iso_error_set(lowering->error, ISO_BAD_INPUT, "%s", lowering->tables.list[i].refused);
    for (uint32_t i = 0; i < lowering->functions.count; i++)
        if (lowering->functions.list[i].refused)
            iso_error_set(lowering->error, ISO_BAD_INPUT, "%s",
                          lowering->functions.list[i].refused);
    lower_refuse(lowering, lowering->file.length,
                 "nothing runs: a line `--@ run FUNCTION(ARGUMENTS)` is needed");
}

enum iso_status iso_prove_read_sql(struct iso_prove_program *program, const char *file,
                                   const char *source, size_t length, uint32_t repeats,
                                   uint32_t unroll, struct iso_error *error)
{
    char *copy = iso_copy_text(source, length); /* `source` may end anywhere */
    struct lowering lowering = {.program = program,
                                .error = error,
                                .file = {file, copy, length},
                                .limits = {repeats, unroll ? unroll : MOST_ROUNDS, 0},
                                .zero = NONE,
                                .one = NONE,
                                .advisory = {.grown = {1, 0}}};
    empty_program(&lowering);
    if (lower_read_directives(&lowering, true) && lower_read_schema(&lowering) &&
        lower_read_directives(&lowering, false)) {
        if (!lowering.runs.calls.count)
            refuse_idle(&lowering);
        else
            lower_rounds(&lowering);
    }
    if (!failed(&lowering))
        iso_prove_program_finish(program);
    release(&lowering);
    iso_free(copy);
    return error->status;
}
