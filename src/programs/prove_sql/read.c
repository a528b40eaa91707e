/* A file of SQL read: parsed, its directives taken, and lowered in rounds until all bounds are
 * known. */
#include "prove_sql/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "iso/error.h"
#include "prove_sql/lower_private.h"

enum { MOST_ROUNDS = 100 }; /* of a FOR, where --unroll says nothing */

void refuse(struct lowering *lowering, size_t byte, const char *format, ...)
{
    char text[ISO_ERROR_TEXT];
    uint32_t line, column;
    va_list arguments;
    if (failed(lowering))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    iso_sql_place(lowering->source, byte < lowering->length ? byte : lowering->length, &line,
                  &column);
    iso_error_set(lowering->error, ISO_BAD_INPUT, "%s:%u:%u: %.900s", lowering->file, line, column,
                  text);
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

const PgQuery__Node *parse_part(struct lowering *lowering, uint32_t begin, uint32_t end,
                                const char *before, uint32_t blank_begin, uint32_t blank_end)
{
    size_t ahead = strlen(before);
    struct iso_sql_fault fault;
    struct iso_sql_tree tree;
    lowering->delta = (int64_t)begin - (int64_t)ahead;
    for (uint32_t i = 0; i < lowering->tree_count; i++)
        if (lowering->trees[i].begin == begin && lowering->trees[i].kind == before[0])
            return lowering->trees[i].tree.statements[0]->stmt;
    char *text = iso_allocate(ahead + end - begin + 1);
    memcpy(text, before, ahead);
    memcpy(text + ahead, lowering->source + begin, end - begin);
    if (blank_end)
        memset(text + ahead + (blank_begin - begin), ' ', blank_end - blank_begin);
    bool fine = iso_sql_parse(&tree, text, ahead + end - begin, &fault);
    if (!fine)
        refuse(lowering, begin + (fault.byte > ahead ? fault.byte - ahead : 0), "%s", fault.text);
    else if (tree.count != 1)
        refuse(lowering, begin, "one statement was expected here");
    iso_free(text);
    if (failed(lowering)) {
        if (fine)
            iso_sql_tree_release(&tree);
        return NULL;
    }
    ISO_GROW(lowering->trees, lowering->tree_count, lowering->tree_capacity);
    lowering->trees[lowering->tree_count++] = (struct cached_tree){begin, before[0], tree};
    return tree.statements[0]->stmt;
}

const PgQuery__Node *parse_expression(struct lowering *lowering, uint32_t begin, uint32_t end)
{
    const PgQuery__Node *node = parse_part(lowering, begin, end, "SELECT ", 0, 0);
    if (!node)
        return NULL;
    const PgQuery__SelectStmt *select =
        node->node_case == PG_QUERY__NODE__NODE_SELECT_STMT ? node->select_stmt : NULL;
    if (!select || select->n_target_list != 1 || select->n_from_clause || select->where_clause ||
        !plain_select(lowering, select) || *select->target_list[0]->res_target->name) {
        refuse(lowering, begin, "one expression was expected here");
        return NULL;
    }
    return select->target_list[0]->res_target->val;
}

/* ---- what runs ---- */

static uint32_t argument_value(struct lowering *lowering, const struct function *function,
                               uint32_t parameter, const struct argument *argument,
                               struct iso_prove_span span)
{
    if (argument->low == argument->high)
        return make_constant(lowering, argument->low);
    char name[200];
    uint32_t twins = 0;
    struct iso_prove_program *program = lowering->program;
    int used = snprintf(name, sizeof name, "%.80s.%.80s", function->name,
                        function->parameter_names[parameter]);
    for (uint32_t i = 0; i < program->inputs.count; i++) {
        const char *other = program->inputs.list[i].name;
        twins += !strncmp(other, name, (size_t)used) && (!other[used] || other[used] == '#');
    }
    if (twins)
        snprintf(name + used, sizeof name - (size_t)used, "#%u", twins + 1);
    uint32_t input = iso_prove_input(program, name, argument->low, argument->high, span);
    return make(lowering, ISO_PROVE_INPUT, input, NONE, NONE);
}

static void add_instance(struct lowering *lowering, const struct call *call, uint32_t session,
                         uint32_t *slots)
{
    struct function *function = &lowering->functions[call->function];
    struct iso_prove_program *program = lowering->program;
    uint32_t capacity = 2 * function->parameters + function->slot_count + 1, count = 0;
    uint32_t *values = iso_allocate(iso_list_bytes(capacity, sizeof *values));
    lowering->span = call->span;
    for (uint32_t i = 0; i < function->parameters; i++)
        values[count++] = argument_value(
            lowering, function, i, &lowering->arguments[call->first_argument + i], call->span);
    for (uint32_t i = 0; i < function->parameters; i++)
        if (function->null_arguments[i])
            values[count++] =
                make_constant(lowering, lowering->arguments[call->first_argument + i].null);
    for (uint32_t i = 0; i < function->slot_count && i < function->known_slots; i++) {
        uint32_t table = function->slots[i].table;
        values[count++] =
            make_constant(lowering, lowering->tables[table].initial_count + slots[table]++);
    }
    uint32_t first = iso_prove_values(program, values, count);
    add_prologue(lowering, function, call, first);
    char *name =
        iso_copy_text(lowering->source + call->span.begin, call->span.end - call->span.begin);
    iso_prove_instance(program, function->template, first, session, name, call->span);
    iso_free(name);
    iso_free(values);
}

static void add_instances(struct lowering *lowering)
{
    uint32_t *slots = iso_allocate_zeroed(lowering->table_count + 1, sizeof *slots);
    lowering->program->repeats = lowering->repeats;
    lowering->program->sessions = lowering->sessions * lowering->repeats;
    for (uint32_t repeat = 0; repeat < lowering->repeats; repeat++)
        for (uint32_t i = 0; i < lowering->call_count; i++) {
            const struct call *call = &lowering->calls[i];
            uint32_t session =
                call->session == NONE ? NONE : repeat * lowering->sessions + call->session;
            add_instance(lowering, call, session, slots);
        }
    iso_free(slots);
}

static void add_ranges(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->function_count; i++) {
        const struct function *function = &lowering->functions[i];
        if (!function->called)
            continue;
        struct iso_prove_template *template =
            &lowering->program->templates.list[function->template];
        template->least = iso_allocate_zeroed(template->parameters + 1, sizeof *template->least);
        template->most = iso_allocate_zeroed(template->parameters + 1, sizeof *template->most);
        uint32_t at = 0;
        for (uint32_t j = 0; j < function->parameters; j++, at++) {
            template->least[at] = function->arguments[j].low;
            template->most[at] = function->arguments[j].high;
        }
        for (uint32_t j = 0; j < function->parameters; j++)
            if (function->null_arguments[j])
                template->most[at++] = 1;
        for (uint32_t j = 0; j < function->known_slots; j++, at++) {
            const struct table *table = &lowering->tables[function->slots[j].table];
            template->least[at] = table->initial_count;
            template->most[at] = rows_of(table) ? rows_of(table) - 1 : 0;
        }
    }
}

static void add_rules(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->rule_count && !failed(lowering); i++) {
        const struct rule *rule = &lowering->rules[i];
        lowering->span = rule->span;
        const PgQuery__Node *node =
            parse_expression(lowering, rule->expression.begin, rule->expression.end);
        if (!node)
            return;
        struct value value = lower(lowering, NULL, node);
        if (value.type != TYPE_BOOLEAN && value.type != TYPE_NULL)
            refuse(lowering, rule->expression.begin, "a condition is needed here, this is %s",
                   type_name(value.type));
        if (failed(lowering))
            return;
        uint32_t holds = either(lowering, truth_of(lowering, &value), value.null);
        if (holds == NONE)
            holds = make_constant(lowering, 0);
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
    lowering->program->file = iso_copy_text(lowering->file, strlen(lowering->file));
    lowering->program->source = iso_copy_text(lowering->source, lowering->length);
    lowering->program->source_length = lowering->length;
    lowering->program->sql = true;
    lowering->zero = lowering->one = NONE;
}

/* Lowers all once; true: as many slots as the round before. */
static bool lower_all(struct lowering *lowering)
{
    bool same = true;
    empty_program(lowering);
    make_tables(lowering);
    for (uint32_t i = 0; i < lowering->function_count && !failed(lowering); i++)
        if (lowering->functions[i].called) {
            lower_function(lowering, &lowering->functions[i]);
            same = same && lowering->functions[i].slot_count == lowering->functions[i].known_slots;
        }
    if (failed(lowering))
        return false;
    for (uint32_t i = 0; i < lowering->table_count; i++)
        lowering->tables[i].next_slots = 0;
    for (uint32_t i = 0; i < lowering->call_count; i++) {
        const struct function *function = &lowering->functions[lowering->calls[i].function];
        for (uint32_t j = 0; j < function->slot_count; j++)
            lowering->tables[function->slots[j].table].next_slots += lowering->repeats;
    }
    for (uint32_t i = 0; i < lowering->table_count; i++) {
        same = same && lowering->tables[i].slots == lowering->tables[i].next_slots;
        lowering->tables[i].slots = lowering->tables[i].next_slots;
    }
    return same;
}

static void set_known(struct lowering *lowering, bool frozen)
{
    for (uint32_t i = 0; i < lowering->table_count; i++)
        for (uint32_t j = 0; j < lowering->tables[i].column_count; j++) {
            struct column *column = &lowering->tables[i].columns[j];
            if (frozen)
                column->known = column->frozen;
            else
                column->known = column->frozen = column->grown;
        }
}

/* After round k the bounds hold for all that a chain of k transactions can write; as many rounds as
 * transactions know all. One more round knows what expressions could make of that, so that no key
 * lies outside of its index. */
static void lower_rounds(struct lowering *lowering)
{
    uint32_t transactions = lowering->call_count * lowering->repeats, rounds = 0, all = 0;
    while (rounds <= transactions && !failed(lowering)) {
        set_known(lowering, false);
        rounds = lower_all(lowering) ? rounds + 1 : 0;
        if (++all > 8 * transactions + 64)
            refuse(lowering, 0,
                   "the bounds of these statements cannot be found: they grow with every round");
    }
    lowering->final = true;
    set_known(lowering, true);
    if (!failed(lowering) && !lower_all(lowering) && !failed(lowering))
        refuse(lowering, 0, "the number of rows that are inserted cannot be found");
    if (failed(lowering))
        return;
    for (uint32_t i = 0; i < lowering->table_count; i++)
        lowering->program->frees_keys |= lowering->tables[i].frees && lowering->tables[i].inserts &&
                                         lowering->call_count * lowering->repeats > 1;
    add_instances(lowering);
    add_ranges(lowering);
    add_rules(lowering);
}

/* ---- the whole file ---- */

static void release_tables(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->table_count; i++) {
        struct table *table = &lowering->tables[i];
        for (uint32_t j = 0; j < table->column_count; j++)
            iso_free(table->columns[j].name);
        for (uint32_t j = 0; j < table->unique_count; j++)
            iso_free(table->uniques[j].name);
        iso_free(table->uniques);
        iso_free(table->checks);
        iso_free(table->initial);
        iso_free(table->name);
    }
    iso_free(lowering->tables);
}

static void release_functions(struct lowering *lowering)
{
    for (uint32_t i = 0; i < lowering->function_count; i++) {
        struct function *function = &lowering->functions[i];
        for (uint32_t j = 0; j < function->parameters; j++)
            iso_free(function->parameter_names[j]);
        iso_free(function->parameter_names);
        iso_free(function->parameter_types);
        iso_free(function->arguments);
        iso_free(function->null_arguments);
        iso_free(function->slots);
        iso_free(function->names);
        iso_free(function->name);
        iso_sql_tokens_release(&function->tokens);
    }
    iso_free(lowering->functions);
}

static void release(struct lowering *lowering)
{
    release_tables(lowering);
    release_functions(lowering);
    for (uint32_t i = 0; i < lowering->rule_count; i++)
        iso_free(lowering->rules[i].name);
    for (uint32_t i = 0; i < lowering->text_count; i++)
        iso_free(lowering->texts[i]);
    for (uint32_t i = 0; i < lowering->tree_count; i++)
        iso_sql_tree_release(&lowering->trees[i].tree);
    for (uint32_t i = 0; i < lowering->variable_count; i++)
        iso_free(lowering->variables[i].name);
    iso_free(lowering->calls);
    iso_free(lowering->arguments);
    iso_free(lowering->rules);
    iso_free(lowering->texts);
    iso_free(lowering->trees);
    iso_free(lowering->variables);
    iso_free(lowering->states);
    iso_free(lowering->hoisted);
    iso_free(lowering->uses);
    iso_sql_tree_release(&lowering->schema);
}

enum iso_status iso_prove_read_sql(struct iso_prove_program *program, const char *file,
                                   const char *source, size_t length, uint32_t repeats,
                                   uint32_t unroll, struct iso_error *error)
{
    struct lowering lowering = {.program = program,
                                .error = error,
                                .file = file,
                                .source = source,
                                .length = length,
                                .repeats = repeats,
                                .unroll = unroll ? unroll : MOST_ROUNDS,
                                .zero = NONE,
                                .one = NONE};
    char *copy = iso_copy_text(source, length); /* `source` may end anywhere */
    lowering.source = copy;
    empty_program(&lowering);
    if (read_directives(&lowering, true) && read_schema(&lowering) &&
        read_directives(&lowering, false)) {
        if (!lowering.call_count)
            refuse(&lowering, length,
                   "nothing runs: a line `--@ run FUNCTION(ARGUMENTS)` is needed");
        else
            lower_rounds(&lowering);
    }
    if (!failed(&lowering))
        iso_prove_program_finish(program);
    release(&lowering);
    iso_free(copy);
    return error->status;
}
