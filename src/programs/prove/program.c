#include "prove/program.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/error.h"

static bool is_late(void *context)
{
    const double *deadline = context;
    return *deadline > 0 && iso_clock_seconds() > *deadline;
}

struct iso_prove_stop iso_prove_stop_at(double *deadline)
{
    return (struct iso_prove_stop){.ask = is_late, .context = deadline};
}

void iso_prove_program_init(struct iso_prove_program *program)
{
    *program = (struct iso_prove_program){.repeats = 1};
}

static void free_names(char **names, uint32_t count)
{
    for (uint32_t i = 0; names && i < count; i++)
        iso_free(names[i]);
    iso_free(names);
}

void iso_prove_program_release(struct iso_prove_program *program)
{
    for (uint32_t i = 0; i < program->tables.count; i++) {
        struct iso_prove_table *table = &program->tables.list[i];
        free_names(table->column_names, table->columns);
        free_names(table->row_names, table->rows);
        ISO_FREE_ALL(table->name, table->initial, table->key);
    }
    for (uint32_t i = 0; i < program->inputs.count; i++)
        iso_free(program->inputs.list[i].name);
    for (uint32_t i = 0; i < program->templates.count; i++) {
        struct iso_prove_template *template = &program->templates.list[i];
        free_names(template->local_names, template->locals);
        ISO_FREE_ALL(template->name, template->least, template->most);
    }
    for (uint32_t i = 0; i < program->instances.count; i++)
        iso_free(program->instances.list[i].name);
    for (uint32_t i = 0; i < program->rules.count; i++)
        iso_free(program->rules.list[i].name);
    free_names(program->warnings.list, program->warnings.count);
    free_names(program->scripts.list, program->scripts.count);
    free_names(program->prologues.list, program->prologues.count);
    ISO_FREE_ALL(program->expressions.list, program->steps.list, program->values.list,
                 program->tables.list, program->inputs.list, program->templates.list,
                 program->instances.list, program->rules.list, program->cell_tables, program->file,
                 program->source, program->ignored);
    *program = (struct iso_prove_program){0};
}

static char *copy(const char *text)
{
    return text ? iso_copy_text(text, strlen(text)) : NULL;
}

uint32_t iso_prove_constant(struct iso_prove_program *program, int64_t value)
{
    uint32_t made = iso_prove_expression(program, ISO_PROVE_CONSTANT, ISO_NONE, ISO_NONE, ISO_NONE,
                                         (struct iso_prove_span){0, 0});
    program->expressions.list[made].value = value;
    return made;
}

uint32_t iso_prove_expression(struct iso_prove_program *program, enum iso_prove_op op, uint32_t a,
                              uint32_t b, uint32_t c, struct iso_prove_span span)
{
    assert(op <= ISO_PROVE_EXISTS);
    ISO_APPEND(program->expressions,
               (struct iso_prove_expression){
                   .op = op, .a = a, .b = b, .c = c, .d = ISO_NONE, .span = span});
    return program->expressions.count - 1;
}

uint32_t iso_prove_quantifier(struct iso_prove_program *program, enum iso_prove_op op,
                              uint32_t local, uint32_t from, uint32_t to, uint32_t body,
                              struct iso_prove_span span)
{
    assert(op >= ISO_PROVE_SUM);
    uint32_t made = iso_prove_expression(program, op, local, from, to, span);
    program->expressions.list[made].d = body;
    return made;
}

uint32_t iso_prove_step(struct iso_prove_program *program, enum iso_prove_step_kind kind,
                        struct iso_prove_span span)
{
    ISO_APPEND(program->steps, (struct iso_prove_step){.kind = kind,
                                                       .next = ISO_NONE,
                                                       .local = ISO_NONE,
                                                       .value = ISO_NONE,
                                                       .bound = ISO_NONE,
                                                       .table = ISO_NONE,
                                                       .index = ISO_NONE,
                                                       .where = ISO_NONE,
                                                       .first_value = ISO_NONE,
                                                       .block = ISO_NONE,
                                                       .otherwise = ISO_NONE,
                                                       .tag = ISO_NONE,
                                                       .span = span});
    return program->steps.count - 1;
}

uint32_t iso_prove_values(struct iso_prove_program *program, const uint32_t *list, uint32_t count)
{
    assert(list || !count);
    uint32_t first = program->values.count;
    ISO_RESERVE(program->values.list, program->values.count + count, program->values.capacity);
    for (uint32_t i = 0; i < count; i++)
        program->values.list[program->values.count++] = list[i];
    return first;
}

uint32_t iso_prove_table(struct iso_prove_program *program, const char *name, uint32_t rows,
                         uint32_t columns, struct iso_prove_span span)
{
    assert(columns);
    ISO_APPEND(program->tables,
               (struct iso_prove_table){
                   .name = copy(name), .rows = rows, .columns = columns, .span = span});
    struct iso_prove_table *table = &program->tables.list[program->tables.count - 1];
    table->column_names = iso_allocate_zeroed(columns, sizeof *table->column_names);
    table->row_names = iso_allocate_zeroed(rows ? rows : 1, sizeof *table->row_names);
    table->initial = iso_allocate_zeroed((size_t)rows * columns + 1, sizeof *table->initial);
    uint32_t zero = iso_prove_constant(program, 0);
    for (size_t i = 0; i < (size_t)rows * columns; i++)
        table->initial[i] = zero;
    return program->tables.count - 1;
}

uint32_t iso_prove_input(struct iso_prove_program *program, const char *name, int64_t least,
                         int64_t most, struct iso_prove_span span)
{
    assert(least <= most);
    ISO_APPEND(
        program->inputs,
        (struct iso_prove_input){.name = copy(name), .least = least, .most = most, .span = span});
    return program->inputs.count - 1;
}

uint32_t iso_prove_template(struct iso_prove_program *program, const char *name,
                            struct iso_prove_span span)
{
    ISO_APPEND(program->templates,
               (struct iso_prove_template){.name = copy(name), .block = ISO_NONE, .span = span});
    return program->templates.count - 1;
}

uint32_t iso_prove_local(struct iso_prove_program *program, uint32_t template, const char *name)
{
    assert(template <program->templates.count);
    struct iso_prove_template *owner = &program->templates.list[template];
    owner->local_names =
        iso_reallocate(owner->local_names, (owner->locals + 1) * sizeof *owner->local_names);
    owner->local_names[owner->locals] = copy(name);
    return owner->locals++;
}

uint32_t iso_prove_instance(struct iso_prove_program *program, uint32_t template,
                            uint32_t first_argument, uint32_t session, const char *name,
                            struct iso_prove_span span)
{
    assert(template <program->templates.count);
    ISO_APPEND(program->instances, (struct iso_prove_instance){.template = template,
                                                               .first_argument = first_argument,
                                                               .session = session,
                                                               .name = copy(name),
                                                               .span = span});
    return program->instances.count - 1;
}

uint32_t iso_prove_rule(struct iso_prove_program *program, enum iso_prove_rule_kind kind,
                        const char *name, uint32_t expression, struct iso_prove_span span)
{
    assert(expression < program->expressions.count && kind <= ISO_PROVE_INVARIANT);
    ISO_APPEND(program->rules,
               (struct iso_prove_rule){
                   .kind = kind, .name = copy(name), .expression = expression, .span = span});
    return program->rules.count - 1;
}

void iso_prove_append(struct iso_prove_program *program, struct iso_prove_block *block,
                      uint32_t step)
{
    assert(step < program->steps.count && program->steps.list[step].next == ISO_NONE);
    assert((block->first == ISO_NONE) == (block->last == ISO_NONE));
    if (block->last == ISO_NONE)
        block->first = step;
    else
        program->steps.list[block->last].next = step;
    block->last = step;
}

void iso_prove_location(const struct iso_prove_program *program, uint32_t byte, uint32_t *line,
                        uint32_t *column)
{
    *line = *column = 1;
    for (uint32_t i = 0; i < byte && i < program->source_length; i++) {
        *column = program->source[i] == '\n' ? 1 : *column + 1;
        *line += program->source[i] == '\n';
    }
}

enum { LINE = 900 };

static void say(const struct iso_prove_program *program, struct iso_prove_span span,
                const char *format, va_list list, char *line, size_t size)
{
    uint32_t row, column;
    iso_prove_location(program, span.begin, &row, &column);
    int used = snprintf(line, size, "%.300s:%u:%u: ", program->file, row, column);
    vsnprintf(line + used, size - (size_t)used, format, list);
}

void iso_prove_warn(struct iso_prove_program *program, struct iso_prove_span span,
                    const char *format, ...)
{
    char line[LINE];
    va_list list;
    va_start(list, format);
    say(program, span, format, list, line, sizeof line);
    va_end(list);
    ISO_APPEND(program->warnings, copy(line));
}

enum iso_status iso_prove_refuse(const struct iso_prove_program *program, struct iso_error *error,
                                 struct iso_prove_span span, const char *format, ...)
{
    char line[LINE];
    va_list list;
    va_start(list, format);
    say(program, span, format, list, line, sizeof line);
    va_end(list);
    return iso_error_set(error, ISO_BAD_INPUT, "%s", line);
}

void iso_prove_put_cell(const struct iso_prove_program *program, struct iso_text *text,
                        uint32_t cell)
{
    const struct iso_prove_table *table = iso_prove_table_of(program, cell);
    uint32_t row = cell - table->first_cell;
    assert(row < table->rows);
    if (table->row_names[row])
        iso_text_put(text, table->row_names[row]);
    else
        iso_text_put(text, table->name);
    if (!table->row_names[row] && table->indexed)
        iso_text_format(text, "[%u]", row);
}

void iso_prove_put_column(const struct iso_prove_program *program, struct iso_text *text,
                          uint32_t cell, uint32_t column)
{
    const struct iso_prove_table *table = iso_prove_table_of(program, cell);
    iso_prove_put_cell(program, text, cell);
    assert(column < table->columns);
    if (table->column_names[column])
        iso_text_format(text, ".%s", table->column_names[column]);
}

void iso_prove_put_span(const struct iso_prove_program *program, struct iso_text *text,
                        struct iso_prove_span span)
{
    bool space = false, any = false;
    const char *colon = span.begin + 3 < span.end && span.end <= program->source_length &&
                                !memcmp(program->source + span.begin, "--@", 3)
                            ? memchr(program->source + span.begin, ':', span.end - span.begin)
                            : NULL; /* a directive in a comment: what it says */
    for (uint32_t i = colon ? (uint32_t)(colon - program->source) + 1 : span.begin;
         i < span.end && i < program->source_length; i++) {
        char byte = program->source[i];
        if (byte == '-' && i + 1 < span.end && program->source[i + 1] == '-') {
            while (i < span.end && program->source[i] != '\n')
                i++;
            space = true;
        } else if ((unsigned char)byte <= ' ') {
            space = true;
        } else {
            if (space && any)
                iso_text_put_bytes(text, " ", 1);
            iso_text_put_bytes(text, &byte, 1);
            space = false;
            any = true;
        }
    }
}

void iso_prove_program_finish(struct iso_prove_program *program)
{
    program->cells = 0;
    for (uint32_t i = 0; i < program->tables.count; i++) {
        program->tables.list[i].first_cell = program->cells;
        program->cells += program->tables.list[i].rows;
    }
    iso_free(program->cell_tables);
    program->cell_tables = iso_allocate_zeroed(program->cells + 1, sizeof *program->cell_tables);
    for (uint32_t i = 0; i < program->tables.count; i++)
        for (uint32_t row = 0; row < program->tables.list[i].rows; row++)
            program->cell_tables[program->tables.list[i].first_cell + row] = i;
    iso_prove_program_validate(program);
}

static bool known(uint32_t index, uint32_t count)
{
    return index < count;
}

static bool perhaps(uint32_t index, uint32_t count)
{
    return index == ISO_NONE || index < count;
}

static void validate_expression(const struct iso_prove_program *program,
                                const struct iso_prove_expression *node)
{
    uint32_t operands[3], count = iso_prove_operands(node, operands);
    for (uint32_t i = 0; i < count; i++)
        assert(known(operands[i], program->expressions.count));
    assert(node->op != ISO_PROVE_INPUT || known(node->a, program->inputs.count));
    assert(node->op != ISO_PROVE_READ || (known(node->a, program->tables.count) &&
                                          node->c < program->tables.list[node->a].columns));
    (void)program;
}

static void validate_step(const struct iso_prove_program *program,
                          const struct iso_prove_step *step)
{
    uint32_t count = program->expressions.count, steps = program->steps.count;
    (void)count, (void)steps;
    bool claims = step->kind == ISO_PROVE_WRITE || step->kind == ISO_PROVE_LOCK;
    bool needs =
        step->kind == ISO_PROVE_LET || step->kind == ISO_PROVE_IF || step->kind == ISO_PROVE_FOR;
    assert(perhaps(step->next, steps) && perhaps(step->block, steps) &&
           perhaps(step->otherwise, steps));
    assert(needs ? known(step->value, count) : perhaps(step->value, count));
    assert(step->kind == ISO_PROVE_FOR ? known(step->bound, count) : step->bound == ISO_NONE);
    assert((step->kind != ISO_PROVE_LET && step->kind != ISO_PROVE_FOR) || step->local != ISO_NONE);
    assert(!claims || (known(step->table, program->tables.count) && known(step->index, count)));
    assert(!claims || perhaps(step->where, count));
    if (step->kind == ISO_PROVE_WRITE)
        for (uint32_t i = 0; i < program->tables.list[step->table].columns; i++)
            assert(perhaps(program->values.list[step->first_value + i], count));
    (void)claims, (void)needs;
}

void iso_prove_program_validate(const struct iso_prove_program *program)
{
    for (uint32_t i = 0; i < program->expressions.count; i++)
        validate_expression(program, &program->expressions.list[i]);
    for (uint32_t i = 0; i < program->steps.count; i++)
        validate_step(program, &program->steps.list[i]);
    for (uint32_t i = 0; i < program->instances.count; i++) {
        const struct iso_prove_instance *instance = &program->instances.list[i];
        assert(known(instance->template, program->templates.count));
        assert(perhaps(instance->session, program->sessions));
        for (uint32_t j = 0; j < program->templates.list[instance->template].parameters; j++)
            assert(known(program->values.list[instance->first_argument + j],
                         program->expressions.count));
    }
    for (uint32_t i = 0; i < program->rules.count; i++)
        assert(known(program->rules.list[i].expression, program->expressions.count));
    (void)known, (void)perhaps;
}
