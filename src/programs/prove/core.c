/* The core language:
 *
 *     file  = { var N [= e | in n..n] | table N[n] [= e | in n..n] | input N in n..n | txn N(N,..)
 *           block
 *             | run call,.. | session N: call,.. | assume e | assert e | invariant e }
 *     block = { { let N = e | cell := e | if e block [else block] | for N in e..e block | abort [if
 *       e] | lock cell } }
 *     e     = ?: || && == != < <= > >= + - * ! -, cell, (sum|count|max|forall|exists)(N in e..e :
 *           e)
 *     cell  = N | N[e]
 *
 * A let of a name that is known already gives it a new value; the name ends with its block. One
 * token is looked at ahead, and its text is compared: files are small.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/error.h"
#include "prove/program.h"

enum {
    DEPTH = 200,       /* of nested parentheses and blocks */
    OPERATORS = 10000, /* of a statement */
    ROWS = 4096,       /* of a table */
    CALLS = 1000,      /* of a file, repeats included */
    NAME = 64
};

enum token_kind { END, NAMED, NUMBER, SIGN };

struct name {
    char text[NAME + 1];
    uint32_t local;
};

struct call {
    uint32_t template, first_argument;
    uint32_t session; /* of the file; ISO_NONE */
    struct iso_prove_span span;
};

struct reader {
    struct iso_prove_program *program;
    const char *text;
    uint32_t length, at, last; /* `last`: where the token before ended */
    struct {
        enum token_kind kind;
        uint32_t begin, end;
        int64_t number;
    } token;
    struct {
        struct name *list; /* locals that can be seen, the innermost last */
        uint32_t count, capacity;
    } scope;
    struct {
        struct call *list;
        uint32_t count, capacity;
    } calls;
    struct {
        char **list;
        uint32_t count, capacity;
    } sessions;
    uint32_t template;   /* whose body is read; ISO_NONE */
    uint32_t bound;      /* outside of bodies: locals of the rule so far */
    bool cells, inputs;  /* what an expression may name here */
    const char *without; /* why not, for a message */
    unsigned depth, operators;
    uint32_t tokens; /* read: now and then the program's `stop` is asked */
    struct iso_error *error;
};

static bool fine(const struct reader *reader)
{
    return reader->error->status == ISO_OK;
}

static struct iso_prove_span here(const struct reader *reader)
{
    return (struct iso_prove_span){reader->token.begin, reader->token.end};
}

static struct iso_prove_span since(const struct reader *reader, uint32_t begin)
{
    return (struct iso_prove_span){begin, reader->last};
}

static bool letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static void skip_space(struct reader *reader)
{
    const char *text = reader->text;
    while (reader->at < reader->length) {
        if (text[reader->at] == '-' && reader->at + 1 < reader->length &&
            text[reader->at + 1] == '-') {
            while (reader->at < reader->length && text[reader->at] != '\n')
                reader->at++;
        } else if (text[reader->at] == ' ' ||
                   (text[reader->at] >= '\t' && text[reader->at] <= '\r')) {
            reader->at++;
        } else {
            return;
        }
    }
}

static void take_number(struct reader *reader)
{
    int64_t number = 0;
    bool large = false;
    while (reader->at < reader->length && digit(reader->text[reader->at])) {
        large = large || number > (INT64_MAX >> 2) / 10;
        number = large ? 0 : number * 10 + (reader->text[reader->at] - '0');
        reader->at++;
    }
    reader->token.kind = NUMBER;
    reader->token.number = number;
    reader->token.end = reader->at;
    bool dot = reader->at < reader->length && reader->text[reader->at] == '.';
    if (large || number > INT64_MAX >> 2)
        iso_prove_refuse(reader->program, reader->error, here(reader),
                         "a number of more than 62 bits");
    else if (dot && !(reader->at + 1 < reader->length && reader->text[reader->at + 1] == '.'))
        iso_prove_refuse(reader->program, reader->error, here(reader),
                         "numbers are integers, without a decimal point");
    else if (reader->at < reader->length && letter(reader->text[reader->at]))
        iso_prove_refuse(reader->program, reader->error, here(reader),
                         "a letter right behind a number");
}

static void next(struct reader *reader)
{
    static const char *const pairs[] = {":=", "..", "||", "&&", "==", "!=", "<=", ">="};
    reader->last = reader->token.end;
    if (!(++reader->tokens & 4095) && fine(reader) && iso_prove_stop_asked(&reader->program->stop))
        iso_error_set(reader->error, ISO_UNDECIDED, "%s: the time is up", reader->program->file);
    skip_space(reader);
    reader->token.begin = reader->token.end = reader->at;
    reader->token.kind = END;
    if (reader->at == reader->length)
        return;
    char byte = reader->text[reader->at];
    if (letter(byte)) {
        while (reader->at < reader->length &&
               (letter(reader->text[reader->at]) || digit(reader->text[reader->at])))
            reader->at++;
        reader->token.kind = NAMED;
    } else if (digit(byte)) {
        take_number(reader);
        return;
    } else {
        reader->token.kind = SIGN;
        reader->at++;
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            if (reader->at < reader->length && byte == pairs[i][0] &&
                reader->text[reader->at] == pairs[i][1]) {
                reader->at++;
                break;
            }
    }
    reader->token.end = reader->at;
}

static bool is(const struct reader *reader, const char *word)
{
    size_t length = strlen(word);
    return (reader->token.kind == NAMED || reader->token.kind == SIGN) &&
           reader->token.end - reader->token.begin == length &&
           !memcmp(reader->text + reader->token.begin, word, length);
}

static void refuse_token(struct reader *reader, const char *expected)
{
    uint32_t length = reader->token.end - reader->token.begin;
    unsigned char first = length ? (unsigned char)reader->text[reader->token.begin] : 0;
    if (reader->token.kind == END)
        iso_prove_refuse(reader->program, reader->error, here(reader), "the file ends, expected %s",
                         expected);
    else if (first < ' ' || first >= 0x7f)
        iso_prove_refuse(reader->program, reader->error, here(reader),
                         "found the byte %u, expected %s", first, expected);
    else
        iso_prove_refuse(reader->program, reader->error, here(reader), "found '%.*s', expected %s",
                         (int)(length < NAME ? length : NAME), reader->text + reader->token.begin,
                         expected);
}

static bool take(struct reader *reader, const char *word)
{
    if (!fine(reader) || !is(reader, word))
        return false;
    next(reader);
    return true;
}

static bool expect(struct reader *reader, const char *word)
{
    char expected[NAME];
    if (take(reader, word))
        return true;
    snprintf(expected, sizeof expected, "'%s'", word);
    if (fine(reader))
        refuse_token(reader, expected);
    return false;
}

static const char *const words[] = {"var",    "table",  "input",     "txn",  "run", "session",
                                    "assume", "assert", "invariant", "let",  "if",  "else",
                                    "for",    "in",     "abort",     "lock", "sum", "count",
                                    "max",    "forall", "exists"};

static bool reserved(const char *name)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

/* A name that is no word of the language, into `name`. */
static bool take_name(struct reader *reader, char name[NAME + 1], const char *what)
{
    uint32_t length = reader->token.end - reader->token.begin;
    if (!fine(reader))
        return false;
    if (reader->token.kind != NAMED) {
        refuse_token(reader, what);
        return false;
    }
    if (length > NAME) {
        iso_prove_refuse(reader->program, reader->error, here(reader),
                         "a name of more than %d letters", NAME);
        return false;
    }
    memcpy(name, reader->text + reader->token.begin, length);
    name[length] = '\0';
    if (reserved(name)) {
        iso_prove_refuse(reader->program, reader->error, here(reader),
                         "'%s' is a word of the language, expected %s", name, what);
        return false;
    }
    next(reader);
    return true;
}

static bool enter(struct reader *reader)
{
    if (++reader->depth > DEPTH && fine(reader))
        iso_prove_refuse(reader->program, reader->error, here(reader), "nested more than %d deep",
                         DEPTH);
    return fine(reader);
}

static uint32_t find_table(const struct reader *reader, const char *name)
{
    for (uint32_t i = 0; i < reader->program->tables.count; i++)
        if (!strcmp(reader->program->tables.list[i].name, name))
            return i;
    return ISO_NONE;
}

static uint32_t find_input(const struct reader *reader, const char *name)
{
    for (uint32_t i = 0; i < reader->program->inputs.count; i++)
        if (!strcmp(reader->program->inputs.list[i].name, name))
            return i;
    return ISO_NONE;
}

static uint32_t find_template(const struct reader *reader, const char *name)
{
    for (uint32_t i = 0; i < reader->program->templates.count; i++)
        if (!strcmp(reader->program->templates.list[i].name, name))
            return i;
    return ISO_NONE;
}

static uint32_t find_local(const struct reader *reader, const char *name)
{
    for (uint32_t i = reader->scope.count; i-- > 0;)
        if (!strcmp(reader->scope.list[i].text, name))
            return reader->scope.list[i].local;
    return ISO_NONE;
}

static uint32_t new_local(struct reader *reader, const char *name)
{
    uint32_t local = reader->template == ISO_NONE
                         ? reader->bound++
                         : iso_prove_local(reader->program, reader->template, name);
    ISO_GROW(reader->scope.list, reader->scope.count, reader->scope.capacity);
    struct name *known = &reader->scope.list[reader->scope.count++];
    snprintf(known->text, sizeof known->text, "%s", name);
    known->local = local;
    return local;
}

static uint32_t read_expression(struct reader *reader);

static uint32_t zero(struct reader *reader)
{
    return iso_prove_constant(reader->program, 0);
}

static uint32_t number_here(struct reader *reader, int64_t number, struct iso_prove_span span)
{
    uint32_t made = iso_prove_constant(reader->program, number);
    reader->program->expressions.list[made].span = span;
    return made;
}

/* The index of a cell whose name has been read, or 0 of a var. */
static uint32_t read_index(struct reader *reader, uint32_t table, const char *name)
{
    bool indexed = reader->program->tables.list[table].indexed;
    uint32_t index;
    if (!indexed) {
        if (fine(reader) && is(reader, "["))
            iso_prove_refuse(reader->program, reader->error, here(reader),
                             "'%s' is a var and has no index", name);
        return zero(reader);
    }
    if (!expect(reader, "["))
        return zero(reader);
    index = read_expression(reader);
    expect(reader, "]");
    return index;
}

static uint32_t read_quantifier(struct reader *reader, enum iso_prove_op op)
{
    char name[NAME + 1] = "";
    uint32_t begin = reader->token.begin, from, to, body, local;
    next(reader);
    expect(reader, "(");
    take_name(reader, name, "the name of a bound variable");
    expect(reader, "in");
    from = read_expression(reader);
    expect(reader, "..");
    to = read_expression(reader);
    expect(reader, ":");
    if (!fine(reader))
        return zero(reader);
    local = new_local(reader, name);
    body = read_expression(reader);
    reader->scope.count--;
    expect(reader, ")");
    return iso_prove_quantifier(reader->program, op, local, from, to, body, since(reader, begin));
}

static uint32_t read_named(struct reader *reader)
{
    char name[NAME + 1];
    uint32_t begin = reader->token.begin, local, table, input;
    struct iso_prove_span span = here(reader);
    if (!take_name(reader, name, "an expression"))
        return zero(reader);
    if ((local = find_local(reader, name)) != ISO_NONE)
        return iso_prove_expression(reader->program, ISO_PROVE_LOCAL, local, ISO_NONE, ISO_NONE,
                                    span);
    table = find_table(reader, name);
    input = find_input(reader, name);
    if (table != ISO_NONE && reader->cells) {
        uint32_t index = read_index(reader, table, name);
        return iso_prove_expression(reader->program, ISO_PROVE_READ, table, index, 0,
                                    since(reader, begin));
    }
    if (input != ISO_NONE && reader->inputs)
        return iso_prove_expression(reader->program, ISO_PROVE_INPUT, input, ISO_NONE, ISO_NONE,
                                    span);
    if (table != ISO_NONE)
        iso_prove_refuse(reader->program, reader->error, span, "'%s' is a cell, and %s", name,
                         reader->without);
    else if (input != ISO_NONE)
        iso_prove_refuse(
            reader->program, reader->error, span,
            "'%s' is an input, and inputs are not visible in bodies: make it a parameter", name);
    else
        iso_prove_refuse(reader->program, reader->error, span, "unknown name '%s'", name);
    return zero(reader);
}

static uint32_t read_simple(struct reader *reader)
{
    static const struct {
        const char *word;
        enum iso_prove_op op;
    } quantifiers[] = {{"sum", ISO_PROVE_SUM},
                       {"count", ISO_PROVE_COUNT},
                       {"max", ISO_PROVE_MAXIMUM},
                       {"forall", ISO_PROVE_FORALL},
                       {"exists", ISO_PROVE_EXISTS}};
    if (reader->token.kind == NUMBER) {
        uint32_t made = number_here(reader, reader->token.number, here(reader));
        next(reader);
        return made;
    }
    if (take(reader, "(")) {
        uint32_t inside = read_expression(reader);
        expect(reader, ")");
        return inside;
    }
    for (size_t i = 0; i < sizeof quantifiers / sizeof *quantifiers; i++)
        if (is(reader, quantifiers[i].word))
            return read_quantifier(reader, quantifiers[i].op);
    if (reader->token.kind == NAMED)
        return read_named(reader);
    refuse_token(reader, "an expression");
    return zero(reader);
}

static uint32_t read_unary(struct reader *reader)
{
    uint32_t begin = reader->token.begin, made;
    bool not = is(reader, "!"), minus = is(reader, "-");
    if (!fine(reader) || !enter(reader)) {
        made = zero(reader);
    } else if (not || minus) {
        next(reader);
        uint32_t inside = read_unary(reader);
        made = iso_prove_expression(reader->program, not ? ISO_PROVE_NOT : ISO_PROVE_NEGATE, inside,
                                    ISO_NONE, ISO_NONE, since(reader, begin));
    } else {
        made = read_simple(reader);
    }
    reader->depth--;
    return made;
}

static const struct operator
{
    const char *word;
    unsigned level; /* 0 binds loosest */
    enum iso_prove_op op;
}
operators[] = {
    {"||", 0, ISO_PROVE_OR},      {"&&", 1, ISO_PROVE_AND},
    {"==", 2, ISO_PROVE_EQUAL},   {"!=", 2, ISO_PROVE_UNEQUAL},
    {"<", 2, ISO_PROVE_LESS},     {"<=", 2, ISO_PROVE_LESS_EQUAL},
    {">", 2, ISO_PROVE_GREATER},  {">=", 2, ISO_PROVE_GREATER_EQUAL},
    {"+", 3, ISO_PROVE_ADD},      {"-", 3, ISO_PROVE_SUBTRACT},
    {"*", 4, ISO_PROVE_MULTIPLY},
};

static const struct operator* operator_here(const struct reader *reader)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (is(reader, operators[i].word))
            return &operators[i];
    return NULL;
}

/* Operators of at least this level, from the left. */
static uint32_t read_level(struct reader *reader, unsigned level)
{
    uint32_t begin = reader->token.begin, left = read_unary(reader);
    const struct operator* operator;
    while (fine(reader) && (operator= operator_here(reader)) && operator->level >= level) {
        next(reader);
        if (++reader->operators > OPERATORS)
            iso_prove_refuse(reader->program, reader->error, since(reader, begin),
                             "more than %d operators", OPERATORS);
        uint32_t right = read_level(reader, operator->level + 1);
        left = iso_prove_expression(reader->program, operator->op, left, right, ISO_NONE,
                                    since(reader, begin));
    }
    return left;
}

static uint32_t read_expression(struct reader *reader)
{
    uint32_t begin = reader->token.begin, rounds = 0, made;
    if (!enter(reader)) {
        reader->depth--;
        return zero(reader);
    }
    made = read_level(reader, 0);
    while (take(reader, "?")) {
        if (++reader->operators > OPERATORS)
            iso_prove_refuse(reader->program, reader->error, since(reader, begin),
                             "more than %d operators", OPERATORS);
        if (rounds++ == 1)
            iso_prove_warn(
                reader->program, since(reader, begin),
                "?: groups from the left, (a ? b : c) ? d : e: write parentheses to say what you mean");
        uint32_t yes = read_expression(reader);
        expect(reader, ":");
        uint32_t no = read_level(reader, 0);
        made = iso_prove_expression(reader->program, ISO_PROVE_CHOOSE, made, yes, no,
                                    since(reader, begin));
    }
    reader->depth--;
    return made;
}

static uint32_t read_block(struct reader *reader);

static void read_let(struct reader *reader, struct iso_prove_step *step)
{
    char name[NAME + 1] = "";
    next(reader);
    take_name(reader, name, "a name");
    expect(reader, "=");
    step->value = read_expression(reader);
    step->local = find_local(reader, name);
    if (step->local == ISO_NONE && fine(reader))
        step->local = new_local(reader, name);
}

/* A cell that is written or locked. */
static void read_cell(struct reader *reader, struct iso_prove_step *step)
{
    char name[NAME + 1] = "";
    struct iso_prove_span span = here(reader);
    step->index = zero(reader);
    step->table = 0;
    if (!take_name(reader, name, "a statement or '}'"))
        return;
    step->table = find_table(reader, name);
    if (find_local(reader, name) != ISO_NONE)
        iso_prove_refuse(reader->program, reader->error, span,
                         "'%s' is no cell: a let gives a name a new value", name);
    else if (step->table == ISO_NONE)
        iso_prove_refuse(reader->program, reader->error, span, "unknown cell '%s'", name);
    else
        step->index = read_index(reader, step->table, name);
}

static void read_for(struct reader *reader, struct iso_prove_step *step)
{
    char name[NAME + 1] = "";
    next(reader);
    take_name(reader, name, "the name of a bound variable");
    expect(reader, "in");
    step->value = read_expression(reader);
    expect(reader, "..");
    step->bound = read_expression(reader);
    if (!fine(reader))
        return;
    step->local = new_local(reader, name);
    step->span.end = reader->last;
    step->block = read_block(reader);
    reader->scope.count--;
}

static uint32_t read_step(struct reader *reader)
{
    uint32_t begin = reader->token.begin, made;
    struct iso_prove_span span = here(reader);
    enum iso_prove_step_kind kind = is(reader, "let")     ? ISO_PROVE_LET
                                    : is(reader, "if")    ? ISO_PROVE_IF
                                    : is(reader, "for")   ? ISO_PROVE_FOR
                                    : is(reader, "abort") ? ISO_PROVE_ABORT
                                    : is(reader, "lock")  ? ISO_PROVE_LOCK
                                                          : ISO_PROVE_WRITE;
    made = iso_prove_step(reader->program, kind, span);
    struct iso_prove_step step = reader->program->steps.list[made];
    reader->operators = 0;
    if (kind == ISO_PROVE_LET) {
        read_let(reader, &step);
    } else if (kind == ISO_PROVE_IF) {
        next(reader);
        step.value = read_expression(reader);
        step.span.end = reader->last;
        step.block = read_block(reader);
        if (take(reader, "else"))
            step.otherwise = read_block(reader);
    } else if (kind == ISO_PROVE_FOR) {
        read_for(reader, &step);
    } else if (kind == ISO_PROVE_ABORT) {
        next(reader);
        if (take(reader, "if"))
            step.value = read_expression(reader);
    } else if (kind == ISO_PROVE_LOCK) {
        next(reader);
        read_cell(reader, &step);
    } else {
        read_cell(reader, &step);
        expect(reader, ":=");
        uint32_t value = fine(reader) ? read_expression(reader) : zero(reader);
        step.first_value = iso_prove_values(reader->program, &value, 1);
    }
    if (kind != ISO_PROVE_IF && kind != ISO_PROVE_FOR)
        step.span = since(reader, begin);
    reader->program->steps.list[made] = step;
    take(reader, ";");
    return made;
}

/* The first step. */
static uint32_t read_block(struct reader *reader)
{
    struct iso_prove_block block = ISO_PROVE_BLOCK;
    uint32_t known = reader->scope.count;
    if (enter(reader) && expect(reader, "{")) {
        while (fine(reader) && !is(reader, "}") && reader->token.kind != END)
            iso_prove_append(reader->program, &block, read_step(reader));
        expect(reader, "}");
    }
    reader->depth--;
    reader->scope.count = known;
    return block.first;
}

/* "in n..n" behind its "in". */
static void read_range(struct reader *reader, int64_t *least, int64_t *most)
{
    int64_t *ends[] = {least, most};
    struct iso_prove_span span = here(reader);
    *least = *most = 0;
    for (int i = 0; i < 2; i++) {
        bool minus = take(reader, "-");
        if (!fine(reader))
            return;
        if (reader->token.kind != NUMBER) {
            refuse_token(reader, "a number");
            return;
        }
        *ends[i] = minus ? -reader->token.number : reader->token.number;
        next(reader);
        if (!i)
            expect(reader, "..");
    }
    if (fine(reader) && *least > *most) {
        span.end = reader->last;
        iso_prove_refuse(reader->program, reader->error, span,
                         "a range without a number: %lld is more than %lld", (long long)*least,
                         (long long)*most);
        *most = *least;
    }
}

static bool name_is_free(struct reader *reader, const char *name, struct iso_prove_span span)
{
    if (fine(reader) &&
        (find_table(reader, name) != ISO_NONE || find_input(reader, name) != ISO_NONE))
        iso_prove_refuse(reader->program, reader->error, span, "'%s' is declared twice", name);
    return fine(reader);
}

static void initialise_by_range(struct reader *reader, uint32_t table, int64_t least, int64_t most)
{
    struct iso_prove_table *made = &reader->program->tables.list[table];
    for (uint32_t i = 0; i < made->rows; i++) {
        char input[NAME + 16];
        snprintf(input, sizeof input, made->indexed ? "%s[%u]" : "%s", made->name, i);
        uint32_t number = iso_prove_input(reader->program, input, least, most, made->span);
        made->initial[i] = iso_prove_expression(reader->program, ISO_PROVE_INPUT, number, ISO_NONE,
                                                ISO_NONE, made->span);
    }
}

static void read_table(struct reader *reader, bool indexed)
{
    char name[NAME + 1] = "";
    uint32_t begin = reader->token.begin, rows = 1, initial = ISO_NONE;
    int64_t least = 0, most = 0;
    bool range = false;
    next(reader);
    struct iso_prove_span span = here(reader);
    take_name(reader, name, indexed ? "a table's name" : "a var's name");
    name_is_free(reader, name, span);
    if (indexed && expect(reader, "[")) {
        if (reader->token.kind != NUMBER)
            refuse_token(reader, "how many cells the table has");
        else if (reader->token.number < 1 || reader->token.number > ROWS)
            iso_prove_refuse(reader->program, reader->error, here(reader),
                             "a table has from 1 to %d cells", ROWS);
        else
            rows = (uint32_t)reader->token.number;
        if (fine(reader))
            next(reader);
        expect(reader, "]");
    }
    if (take(reader, "=")) {
        reader->cells = false;
        reader->inputs = true;
        reader->without = "an initial value is made of constants and inputs";
        initial = read_expression(reader);
    } else if (take(reader, "in")) {
        range = true;
        read_range(reader, &least, &most);
    }
    if (!fine(reader))
        return;
    uint32_t table = iso_prove_table(reader->program, name, rows, 1, since(reader, begin));
    reader->program->tables.list[table].indexed = indexed;
    for (uint32_t i = 0; initial != ISO_NONE && i < rows; i++)
        reader->program->tables.list[table].initial[i] = initial;
    if (range)
        initialise_by_range(reader, table, least, most);
}

static void read_input(struct reader *reader)
{
    char name[NAME + 1] = "";
    uint32_t begin = reader->token.begin;
    int64_t least = 0, most = 0;
    next(reader);
    struct iso_prove_span span = here(reader);
    take_name(reader, name, "an input's name");
    name_is_free(reader, name, span);
    if (expect(reader, "in"))
        read_range(reader, &least, &most);
    if (fine(reader))
        iso_prove_input(reader->program, name, least, most, since(reader, begin));
}

static void read_transaction(struct reader *reader)
{
    char name[NAME + 1] = "";
    uint32_t begin = reader->token.begin, block;
    next(reader);
    struct iso_prove_span span = here(reader);
    take_name(reader, name, "a transaction's name");
    if (fine(reader) && find_template(reader, name) != ISO_NONE)
        iso_prove_refuse(reader->program, reader->error, span,
                         "the transaction '%s' is declared twice", name);
    if (!expect(reader, "("))
        return;
    reader->template = iso_prove_template(reader->program, name, span);
    while (fine(reader) && !is(reader, ")")) {
        span = here(reader);
        if (take_name(reader, name, "a parameter or ')'")) {
            if (find_local(reader, name) != ISO_NONE)
                iso_prove_refuse(reader->program, reader->error, span,
                                 "the parameter '%s' is declared twice", name);
            new_local(reader, name);
            reader->program->templates.list[reader->template].parameters++;
        }
        if (fine(reader) && !is(reader, ")"))
            expect(reader, ",");
    }
    expect(reader, ")");
    reader->cells = true;
    reader->inputs = false;
    block = fine(reader) ? read_block(reader) : ISO_NONE;
    reader->program->templates.list[reader->template].block = block;
    reader->program->templates.list[reader->template].span = since(reader, begin);
    reader->template = ISO_NONE;
    reader->scope.count = 0;
}

enum { ARGUMENTS = 64 };

static void read_call(struct reader *reader, uint32_t session)
{
    char name[NAME + 1] = "";
    uint32_t arguments[ARGUMENTS], count = 0, begin = reader->token.begin, wanted;
    struct iso_prove_span span = here(reader);
    take_name(reader, name, "the call of a transaction");
    uint32_t template = fine(reader) ? find_template(reader, name) : 0;
    if (fine(reader) && template == ISO_NONE)
        iso_prove_refuse(reader->program, reader->error, span, "unknown transaction '%s'", name);
    expect(reader, "(");
    while (fine(reader) && !is(reader, ")") && count < ARGUMENTS) {
        arguments[count++] = read_expression(reader);
        if (fine(reader) && !is(reader, ")"))
            expect(reader, ",");
    }
    expect(reader, ")");
    if (!fine(reader))
        return;
    wanted = reader->program->templates.list[template].parameters;
    if (count != wanted) {
        iso_prove_refuse(reader->program, reader->error, since(reader, begin),
                         "%s takes %u arguments, not %u", name, wanted, count);
        return;
    }
    ISO_GROW(reader->calls.list, reader->calls.count, reader->calls.capacity);
    reader->calls.list[reader->calls.count++] = (struct call){
        .template = template,
        .first_argument = iso_prove_values(reader->program, arguments, count),
        .session = session,
        .span = since(reader, begin),
    };
}

static void read_calls(struct reader *reader, uint32_t session)
{
    reader->cells = false;
    reader->inputs = true;
    reader->without = "arguments are made of constants and inputs";
    do
        read_call(reader, session);
    while (take(reader, ","));
}

static void read_session(struct reader *reader)
{
    char name[NAME + 1] = "";
    uint32_t session = 0;
    next(reader);
    take_name(reader, name, "a session's name");
    expect(reader, ":");
    if (!fine(reader))
        return;
    while (session < reader->sessions.count && strcmp(reader->sessions.list[session], name))
        session++;
    if (session == reader->sessions.count) {
        ISO_GROW(reader->sessions.list, reader->sessions.count, reader->sessions.capacity);
        reader->sessions.list[reader->sessions.count++] = iso_copy_text(name, strlen(name));
    }
    read_calls(reader, session);
}

static void read_rule(struct reader *reader, enum iso_prove_rule_kind kind)
{
    uint32_t expression, made;
    next(reader);
    reader->cells = reader->inputs = true;
    reader->bound = 0;
    uint32_t begin = reader->token.begin;
    expression = read_expression(reader);
    if (!fine(reader))
        return;
    made = iso_prove_rule(reader->program, kind, NULL, expression, since(reader, begin));
    reader->program->rules.list[made].locals = reader->bound;
}

static void read_file(struct reader *reader)
{
    while (fine(reader) && reader->token.kind != END) {
        if (is(reader, "var"))
            read_table(reader, false);
        else if (is(reader, "table"))
            read_table(reader, true);
        else if (is(reader, "input"))
            read_input(reader);
        else if (is(reader, "txn"))
            read_transaction(reader);
        else if (take(reader, "run"))
            read_calls(reader, ISO_NONE);
        else if (is(reader, "session"))
            read_session(reader);
        else if (is(reader, "assume"))
            read_rule(reader, ISO_PROVE_ASSUME);
        else if (is(reader, "assert"))
            read_rule(reader, ISO_PROVE_ASSERT);
        else if (is(reader, "invariant"))
            read_rule(reader, ISO_PROVE_INVARIANT);
        else if (fine(reader))
            refuse_token(reader,
                         "var, table, input, txn, run, session, assume, assert or invariant");
        take(reader, ";");
        reader->operators = 0;
    }
}

/* The calls of the file, as often as they are to run. */
static void make_instances(struct reader *reader, uint32_t repeats)
{
    struct iso_prove_program *program = reader->program;
    if ((uint64_t)reader->calls.count * repeats > CALLS) {
        iso_prove_refuse(program, reader->error, reader->calls.list[0].span, "more than %d calls",
                         CALLS);
        return;
    }
    for (uint32_t round = 0; round < repeats; round++)
        for (uint32_t i = 0; i < reader->calls.count; i++) {
            const struct call *call = &reader->calls.list[i];
            struct iso_text name = {0};
            iso_prove_put_span(program, &name, call->span);
            iso_text_put_bytes(&name, "", 1);
            uint32_t session = call->session == ISO_NONE
                                   ? ISO_NONE
                                   : round * reader->sessions.count + call->session;
            iso_prove_instance(program, call->template, call->first_argument, session, name.bytes,
                               call->span);
            iso_text_release(&name);
        }
    program->sessions = repeats * reader->sessions.count;
    program->repeats = repeats;
}

static void check_whole(struct reader *reader)
{
    struct iso_prove_program *program = reader->program;
    uint32_t rules = 0;
    for (uint32_t i = 0; i < program->rules.count; i++)
        rules += program->rules.list[i].kind != ISO_PROVE_ASSUME;
    if (!fine(reader))
        return;
    if (!reader->calls.count)
        iso_prove_refuse(program, reader->error, here(reader),
                         "no run: expected run NAME(..) or session NAME: NAME(..)");
    else if (!rules)
        iso_prove_refuse(program, reader->error, here(reader),
                         "nothing to prove: expected assert or invariant");
}

enum iso_status iso_prove_read_core(struct iso_prove_program *program, const char *file,
                                    const char *source, size_t length, uint32_t repeats,
                                    struct iso_error *error)
{
    struct reader reader = {.program = program, .template = ISO_NONE, .error = error};
    assert(repeats);
    program->file = iso_copy_text(file, strlen(file));
    program->source = iso_copy_text(source, length);
    program->source_length = length;
    if (length > UINT32_MAX / 4)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: more than 1 GiB", file);
    reader.text = program->source;
    reader.length = (uint32_t)length;
    next(&reader);
    read_file(&reader);
    check_whole(&reader);
    if (fine(&reader))
        make_instances(&reader, repeats);
    if (fine(&reader))
        iso_prove_program_finish(program);
    for (uint32_t i = 0; i < reader.sessions.count; i++)
        iso_free(reader.sessions.list[i]);
    iso_free(reader.sessions.list);
    iso_free(reader.calls.list);
    iso_free(reader.scope.list);
    return error->status;
}
