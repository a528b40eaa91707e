/* The text of a condition as a program: by recursive descent, each test's steps where it is
 * read. */
#include <assert.h>
#include <strings.h>

#include "base/base64.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number_map.h"
#include "predicate/condition_private.h"
#include "predicate/lexer.h"

/* An operand before it is known what it is compared with: a literal's type is its column's. */
struct operand {
    bool is_literal;
    uint16_t number; /* of a column, or of what is derived of one */
    struct condition_literal literal;
};

/* The text between brackets may turn out to be an operand, of which there are no steps yet. */
struct expression {
    bool is_operand;
    struct operand operand;
};

struct parser {
    struct predicate_lexer lexer;
    struct condition_step *steps;
    uint32_t capacity, columns, literals, derived, paths; /* of the lists */
    struct iso_condition *condition;
    struct iso_number_map constants, tests; /* by hash, by operands: where it stood first */
    uint32_t repeated;
    uint32_t depth;
};

static bool parse_chain(struct parser *parser, struct expression *expression, bool any);

static bool is_at(const struct parser *parser, enum predicate_word_kind kind)
{
    return parser->lexer.word.kind == kind;
}

static bool next_word(struct parser *parser)
{
    return predicate_lexer_next(&parser->lexer);
}

static bool refuse(struct parser *parser, const char *expected)
{
    return predicate_lexer_refuse(&parser->lexer, expected);
}

/* Takes the word; false if it is another. */
static bool expect(struct parser *parser, enum predicate_word_kind kind, const char *expected)
{
    return is_at(parser, kind) ? next_word(parser) : refuse(parser, expected);
}

static bool deeper(struct parser *parser)
{
    return ++parser->depth <= ISO_CONDITION_DEPTH ||
           refuse(parser, "at most 64 brackets and NOTs within one another");
}

/* ---- the program ---- */

static uint32_t emit(struct parser *parser, struct condition_step step)
{
    struct iso_condition *condition = parser->condition;
    ISO_GROW(condition->steps, condition->step_count, parser->capacity);
    condition->steps[condition->step_count] = step;
    return condition->step_count++;
}

static uint16_t add_constant(struct parser *parser, const struct condition_literal *literal,
                             uint16_t column)
{
    struct iso_condition *condition = parser->condition;
    ISO_GROW(condition->literals, condition->constant_count, parser->literals);
    condition->literals[condition->constant_count] = *literal;
    condition->literals[condition->constant_count].column = column;
    assert(condition->constant_count <
           CONDITION_CONSTANT); /* each has a byte of its own, and one beside it */
    return (uint16_t)condition->constant_count++;
}

static bool is_constant(const struct iso_condition *condition, uint32_t number,
                        const struct condition_literal *literal, uint16_t column)
{
    const struct condition_literal *known = &condition->literals[number];
    const char *names = condition->names.bytes;
    return known->kind == literal->kind && predicate_call_same(known->call, literal->call) &&
           known->column == column && known->length == literal->length &&
           !memcmp(names + known->start, names + literal->start, literal->length);
}

/* One that is the same as another is that one. */
static uint16_t find_constant(struct parser *parser, const struct condition_literal *literal,
                              uint16_t column)
{
    struct iso_condition *condition = parser->condition;
    uint64_t hash = iso_hash_text(condition->names.bytes + literal->start, literal->length) +
                    iso_hash_number(iso_number_pair(literal->kind, column));
    uint32_t known = iso_number_map_add(&parser->constants, hash, condition->constant_count);
    if (known < condition->constant_count && is_constant(condition, known, literal, column)) {
        condition->is_fixed = true;
        return (uint16_t)known;
    }
    return add_constant(parser, literal, column);
}

static uint16_t column_of(const struct operand *operand)
{
    return operand->is_literal ? CONDITION_NO_COLUMN : operand->number;
}

/* As a step names it, if it is compared with `other`. */
static uint16_t operand_of(struct parser *parser, const struct operand *operand,
                           const struct operand *other)
{
    if (!operand->is_literal)
        return operand->number;
    return CONDITION_CONSTANT |
           find_constant(parser, &operand->literal, other ? column_of(other) : CONDITION_NO_COLUMN);
}

static void add_path(struct parser *parser, struct iso_condition_path path)
{
    struct iso_condition *condition = parser->condition;
    ISO_PUSH(condition->paths, condition->path_count, parser->paths, path);
}

/* The sides' paths stand from `start` and `middle` on. What has none on one side is found by the
 * other, if both sides have to be true. */
static void join_paths(struct parser *parser, uint32_t start, uint32_t middle,
                       enum iso_condition_path_kind kind)
{
    uint32_t end = parser->condition->path_count;
    assert(start <= middle && middle <= end);
    if (start < middle && middle < end)
        add_path(parser, (struct iso_condition_path){.kind = (uint8_t)kind, .left = middle - 1});
    else if (kind == ISO_PATH_BOTH)
        parser->condition->path_count = start;
}

/* A comparison that stood before has that one's number, and is made once a row. */
static void emit_numbered(struct parser *parser, struct condition_step step)
{
    uint64_t operands = iso_number_pair(step.left << 8 | step.set, step.right);
    uint32_t at = emit(parser, step), first = iso_number_map_add(&parser->tests, operands, at);
    struct condition_step *steps = parser->condition->steps;
    if (first == at)
        return;
    if (!steps[first].count && parser->repeated < CONDITION_REPEATED)
        steps[first].count = (uint16_t)++parser->repeated;
    steps[at].count = steps[first].count;
}

/* The column is one of the constants. One of another type (DATE '2024-02-29') is not where an index
 * would look for it. */
static void add_equality(struct parser *parser, uint16_t column, uint32_t constant, uint16_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (parser->condition->literals[constant + i].call.function)
            return;
    add_path(parser, (struct iso_condition_path){
                         .column = column, .constant = (uint16_t)constant, .count = count});
}

static void emit_test(struct parser *parser, uint16_t left, unsigned accepted, uint16_t right)
{
    bool is_column = left < CONDITION_DERIVED;
    uint16_t other = is_column ? right : left;
    emit_numbered(parser,
                  (struct condition_step){CONDITION_COMPARE, (uint8_t)accepted, left, right, 0});
    if (accepted == ISO_ORDER_EQUAL && other & CONDITION_CONSTANT &&
        (is_column || right < CONDITION_DERIVED))
        add_equality(parser, is_column ? left : right, other & ~(unsigned)CONDITION_CONSTANT, 1);
}

static void emit_compare(struct parser *parser, const struct operand *left, unsigned accepted,
                         const struct operand *right)
{
    uint16_t one = operand_of(parser, left, right), other = operand_of(parser, right, left);
    emit_test(parser, one, accepted, other);
}

static void emit_not(struct parser *parser, bool is_not)
{
    if (is_not)
        emit(parser, (struct condition_step){.code = CONDITION_NOT});
}

/* An operand that is compared with nothing has to be true itself. */
static void emit_truth(struct parser *parser, const struct expression *expression)
{
    if (expression->is_operand)
        emit(parser,
             (struct condition_step){.code = CONDITION_IS,
                                     .left = operand_of(parser, &expression->operand, NULL)});
}

/* ---- columns and constants ---- */

bool iso_condition_column_is(const struct iso_condition_column *column, struct iso_json_text name)
{
    return column->name.length == name.length &&
           !(column->is_exact ? memcmp(column->name.at, name.at, name.length)
                              : strncasecmp(column->name.at, name.at, name.length));
}

/* Until the next one is read. */
static struct iso_json_text read_name(struct parser *parser)
{
    struct iso_text *names = &parser->condition->names;
    const struct predicate_word *word = &parser->lexer.word;
    size_t start = names->used;
    if (word->kind == PREDICATE_NAME)
        iso_text_put_bytes(names, word->text.at, word->text.length);
    else
        predicate_word_unquote(word, names);
    return (struct iso_json_text){names->bytes + start, names->used - start};
}

static bool parse_column(struct parser *parser, struct operand *operand)
{
    struct iso_condition *condition = parser->condition;
    struct iso_condition_column column = {.location = predicate_lexer_location(&parser->lexer),
                                          .is_exact = is_at(parser, PREDICATE_QUOTED)};
    size_t before = condition->names.used;
    column.name = read_name(parser);
    uint32_t i = 0;
    while (i < condition->column_count &&
           (condition->columns[i].is_exact != column.is_exact ||
            !iso_condition_column_is(&condition->columns[i], column.name)))
        i++;
    if (i == ISO_CONDITION_COLUMNS)
        return refuse(parser, "at most 256 columns");
    *operand = (struct operand){.number = (uint16_t)i};
    if (i == condition->column_count) {
        column.name.at = iso_copy_text(column.name.at, column.name.length);
        ISO_PUSH(condition->columns, condition->column_count, parser->columns, column);
    }
    condition->names.used = before;
    return next_word(parser);
}

static struct condition_literal literal_at(struct parser *parser, enum condition_literal_kind kind)
{
    return (struct condition_literal){.kind = (uint8_t)kind,
                                      .location = predicate_lexer_location(&parser->lexer),
                                      .start = (uint32_t)parser->condition->names.used};
}

static bool end_literal(struct parser *parser, struct condition_literal *literal)
{
    literal->length = (uint32_t)(parser->condition->names.used - literal->start);
    return next_word(parser);
}

/* X'00ff' to base64. */
static bool read_bytes(struct parser *parser)
{
    struct iso_text *names = &parser->condition->names, bytes = {0};
    struct iso_json_text text = parser->lexer.word.text;
    bool fine = text.length % 2;
    for (size_t i = 2; i + 2 < text.length && fine; i += 2) {
        int high = iso_hex_digit(text.at[i]), low = iso_hex_digit(text.at[i + 1]);
        uint8_t byte = (uint8_t)(high * 16 + low);
        fine = high >= 0 && low >= 0;
        iso_text_put_bytes(&bytes, &byte, 1);
    }
    size_t length = iso_base64_length(bytes.used);
    iso_base64_encode((const uint8_t *)bytes.bytes, bytes.used, iso_text_reserve(names, length));
    names->used += length;
    iso_text_release(&bytes);
    return fine || refuse(parser, "an even number of hex digits between the quotes");
}

static bool parse_number(struct parser *parser, struct condition_literal *literal)
{
    bool negative = is_at(parser, PREDICATE_MINUS);
    *literal = literal_at(parser, CONDITION_NUMBER);
    if ((negative || is_at(parser, PREDICATE_PLUS)) && !next_word(parser))
        return false;
    if (!is_at(parser, PREDICATE_NUMBER))
        return refuse(parser, "a number behind its sign");
    iso_text_put(&parser->condition->names, negative ? "-" : "");
    iso_text_put_bytes(&parser->condition->names, parser->lexer.word.text.at,
                       parser->lexer.word.text.length);
    return end_literal(parser, literal);
}

static bool parse_constant(struct parser *parser, struct condition_literal *literal,
                           const char *expected)
{
    switch (parser->lexer.word.kind) {
    case PREDICATE_NUMBER:
    case PREDICATE_PLUS:
    case PREDICATE_MINUS:
        if (!parse_number(parser, literal))
            return false;
        return !(is_at(parser, PREDICATE_PLUS) || is_at(parser, PREDICATE_MINUS) ||
                 is_at(parser, PREDICATE_STAR)) ||
               refuse(parser, "an operator that compares: there is no arithmetic");
    case PREDICATE_STRING:
        *literal = literal_at(parser, CONDITION_STRING);
        predicate_word_unquote(&parser->lexer.word, &parser->condition->names);
        return end_literal(parser, literal);
    case PREDICATE_BYTES:
        *literal = literal_at(parser, CONDITION_BYTES);
        return read_bytes(parser) && end_literal(parser, literal);
    case PREDICATE_TRUE:
    case PREDICATE_FALSE:
        *literal = literal_at(parser, CONDITION_BOOLEAN);
        iso_text_put(&parser->condition->names, is_at(parser, PREDICATE_TRUE) ? "true" : "false");
        return end_literal(parser, literal);
    case PREDICATE_NULL:
        *literal = literal_at(parser, CONDITION_NULL);
        return end_literal(parser, literal);
    default:
        return refuse(parser, expected);
    }
}

/* ---- functions and casts ---- */

static bool parse_operand(struct parser *parser, struct operand *operand);

/* A text that becomes a text, and a small integer that becomes another kind of number, stay as they
 * are. */
static bool keeps(struct predicate_call call, const struct condition_literal *literal,
                  const char *text)
{
    enum { SMALL = 4 };
    bool is_small = literal->kind == CONDITION_NUMBER && literal->length <= SMALL;
    for (uint32_t i = 0; i < literal->length && is_small; i++)
        is_small = (text[i] >= '0' && text[i] <= '9') || (!i && text[i] == '-');
    enum predicate_function_sort sort = predicate_function_sort(call.function);
    return !call.precision && ((literal->kind == CONDITION_STRING && sort == PREDICATE_IS_TEXT) ||
                               (is_small && predicate_function_is_number(call.function)));
}

static void give(struct iso_condition *condition, struct condition_literal *literal,
                 struct predicate_call call)
{
    bool is_kept = keeps(call, literal, condition->names.bytes + literal->start);
    if (!is_kept)
        literal->call = call;
    condition->is_fixed |= is_kept && literal->kind == CONDITION_NUMBER;
}

/* The same of the same operand is derived once. */
static bool derive(struct parser *parser, struct predicate_call call, struct operand *operand)
{
    struct iso_condition *condition = parser->condition;
    struct condition_literal *literal = &operand->literal;
    if (operand->is_literal && !literal->call.function) {
        give(condition, literal, call);
        return true;
    }
    uint16_t of = operand_of(parser, operand, NULL);
    uint32_t i = 0;
    while (i < condition->derived_count &&
           (!predicate_call_same(condition->derived[i].call, call) ||
            condition->derived[i].operand != of))
        i++;
    if (i == ISO_CONDITION_COLUMNS)
        return refuse(parser, "at most 256 functions and casts");
    if (i == condition->derived_count)
        ISO_PUSH(condition->derived, condition->derived_count, parser->derived,
                 ((struct condition_derived){.call = call, .operand = of}));
    *operand = (struct operand){.number = (uint16_t)(CONDITION_DERIVED | i)};
    return true;
}

/* A number of a type's brackets. */
static bool parse_limit(struct parser *parser, uint64_t most, uint64_t *number)
{
    struct iso_json_text text = parser->lexer.word.text;
    return is_at(parser, PREDICATE_NUMBER) && iso_bytes_number(text.at, text.length, number) &&
                   *number <= most
               ? next_word(parser)
               : refuse(parser, "a number of digits or letters that the type may have");
}

/* (5,2) */
static bool parse_limits(struct parser *parser, struct predicate_call *call)
{
    struct predicate_lexer at = parser->lexer;
    uint64_t precision, scale = 0;
    if (!next_word(parser) || !parse_limit(parser, UINT32_MAX, &precision))
        return false;
    if (is_at(parser, PREDICATE_COMMA) &&
        (!next_word(parser) || !parse_limit(parser, INT16_MAX, &scale)))
        return false;
    call->precision = (uint32_t)precision;
    call->scale = (int16_t)scale;
    if (!precision || !predicate_call_fits(*call))
        return predicate_lexer_refuse(&at, "numeric(1000,1000), varchar(10485760) at most, or a "
                                           "type without brackets");
    return expect(parser, PREDICATE_CLOSE, "')' behind a type");
}

/* Whether the word goes on with a type's name. */
static bool is_of_type(const struct predicate_word *word)
{
    static const char *const words[] = {"precision", "varying", "with", "without", "time", "zone"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (predicate_word_is(word, words[i]))
            return true;
    return false;
}

/* A type's name, of one word or several, and its brackets. */
static bool parse_type(struct parser *parser, struct predicate_call *call)
{
    struct predicate_lexer at = parser->lexer;
    struct iso_text name = {0};
    bool goes_on = is_at(parser, PREDICATE_NAME);
    for (; goes_on; goes_on = is_of_type(&parser->lexer.word)) {
        iso_text_put(&name, name.used ? " " : "");
        iso_text_put_bytes(&name, parser->lexer.word.text.at, parser->lexer.word.text.length);
        if (!next_word(parser))
            break;
    }
    *call = (struct predicate_call){
        .function = predicate_function_named((struct iso_json_text){name.bytes, name.used}, true)};
    iso_text_release(&name);
    if (goes_on)
        return false;
    if (!call->function)
        return predicate_lexer_refuse(&at, "int, bigint, numeric, double precision, boolean, text, "
                                           "date, timestamp, timestamptz, time or uuid");
    return !is_at(parser, PREDICATE_OPEN) || parse_limits(parser, call);
}

static bool parse_cast(struct parser *parser, struct operand *operand)
{
    struct predicate_call call;
    return next_word(parser) && parse_type(parser, &call) && derive(parser, call, operand);
}

/* Behind `lower`, `upper` or `cast`, which stands before an open bracket. */
static bool parse_call(struct parser *parser, uint8_t function, struct operand *operand)
{
    struct predicate_call call = {.function = function};
    if (!deeper(parser) || !expect(parser, PREDICATE_OPEN, "'('") ||
        !parse_operand(parser, operand))
        return false;
    if (!function && !predicate_word_is(&parser->lexer.word, "as"))
        return refuse(parser, "AS and a type");
    parser->depth--;
    return (function ? derive(parser, call, operand) : parse_cast(parser, operand)) &&
           expect(parser, PREDICATE_CLOSE, "')' behind what is changed");
}

/* A column; a function's name, or a type's before a text. */
static bool parse_named(struct parser *parser, struct operand *operand)
{
    struct predicate_lexer before = parser->lexer;
    struct predicate_word name = before.word;
    struct predicate_call call;
    bool is_plain = is_at(parser, PREDICATE_NAME);
    if (!next_word(parser))
        return false;
    if (is_at(parser, PREDICATE_OPEN) && is_plain) {
        uint8_t function = predicate_function_named(name.text, false);
        if (function || predicate_word_is(&name, "cast"))
            return parse_call(parser, function, operand);
        return refuse(parser, "an operator: of functions only lower, upper and CAST are taken");
    }
    bool is_type = is_plain && predicate_function_named(name.text, true) &&
                   (is_at(parser, PREDICATE_STRING) || is_of_type(&parser->lexer.word));
    parser->lexer = before;
    if (!is_type)
        return parse_column(parser, operand);
    operand->is_literal = true;
    return parse_type(parser, &call) &&
           (is_at(parser, PREDICATE_STRING) || refuse(parser, "a text behind its type")) &&
           parse_constant(parser, &operand->literal, "") && derive(parser, call, operand);
}

static bool parse_plain_operand(struct parser *parser, struct operand *operand)
{
    if (is_at(parser, PREDICATE_NAME) || is_at(parser, PREDICATE_QUOTED) ||
        is_at(parser, PREDICATE_TICKED))
        return parse_named(parser, operand);
    operand->is_literal = true;
    return parse_constant(parser, &operand->literal, "a column or a constant");
}

static bool parse_casts(struct parser *parser, struct operand *operand)
{
    while (is_at(parser, PREDICATE_CAST))
        if (!parse_cast(parser, operand))
            return false;
    return true;
}

/* Parses an operand of a comparison, in brackets, too. */
static bool parse_operand(struct parser *parser, struct operand *operand)
{
    if (!is_at(parser, PREDICATE_OPEN))
        return parse_plain_operand(parser, operand) && parse_casts(parser, operand);
    bool fine = deeper(parser) && next_word(parser) && parse_operand(parser, operand) &&
                expect(parser, PREDICATE_CLOSE, "')': only a column or a constant is compared");
    parser->depth--;
    return fine && parse_casts(parser, operand);
}

/* ---- tests ---- */

static unsigned orders_of(enum predicate_word_kind kind)
{
    switch (kind) {
    case PREDICATE_EQUAL:
        return ISO_ORDER_EQUAL;
    case PREDICATE_UNEQUAL:
        return ISO_ORDER_LESS | ISO_ORDER_GREATER;
    case PREDICATE_LESS:
        return ISO_ORDER_LESS;
    case PREDICATE_LESS_EQUAL:
        return ISO_ORDER_LESS | ISO_ORDER_EQUAL;
    case PREDICATE_GREATER:
        return ISO_ORDER_GREATER;
    case PREDICATE_GREATER_EQUAL:
        return ISO_ORDER_GREATER | ISO_ORDER_EQUAL;
    default:
        return 0;
    }
}

static bool parse_item(struct parser *parser, struct operand *item)
{
    struct predicate_lexer at = parser->lexer;
    return parse_operand(parser, item) &&
           (item->is_literal || predicate_lexer_refuse(&at, "a constant of the list"));
}

/* Constants up to the bracket that closes them. */
struct list {
    uint16_t first, count;
};

static bool parse_list(struct parser *parser, const struct operand *left,
                       enum predicate_word_kind close, struct list *list)
{
    struct operand item;
    *list = (struct list){0};
    while (!(is_at(parser, close) && !list->count)) {
        if (!parse_item(parser, &item))
            return false;
        uint16_t constant = add_constant(parser, &item.literal, column_of(left));
        list->first = list->count++ ? list->first : constant;
        if (!is_at(parser, PREDICATE_COMMA))
            break;
        if (!next_word(parser))
            return false;
    }
    return expect(parser, close, close == PREDICATE_CLOSE ? "',' or ')'" : "',' or ']'");
}

/* The order of the operand and one of the list is one of `accepted`. */
static void emit_list(struct parser *parser, uint16_t operand, unsigned accepted, struct list list)
{
    if (list.count == 1) {
        emit_test(parser, operand, accepted, CONDITION_CONSTANT | list.first);
        return;
    }
    emit(parser,
         (struct condition_step){CONDITION_IN, (uint8_t)accepted, operand, list.first, list.count});
    if (operand < CONDITION_DERIVED && list.count && accepted == ISO_ORDER_EQUAL)
        add_equality(parser, operand, list.first, list.count);
}

/* Behind an array its elements' type. */
static bool parse_array_type(struct parser *parser, struct list list)
{
    struct predicate_lexer at = parser->lexer;
    struct predicate_call call;
    struct iso_condition *condition = parser->condition;
    if (!next_word(parser) || !parse_type(parser, &call) ||
        !expect(parser, PREDICATE_LEFT, "[] behind an array's type") ||
        !expect(parser, PREDICATE_RIGHT, "[] behind an array's type"))
        return false;
    for (uint32_t i = 0; i < list.count; i++) {
        if (condition->literals[list.first + i].call.function)
            return predicate_lexer_refuse(&at, "')': its constants have types of their own");
        give(condition, &condition->literals[list.first + i], call);
    }
    return true;
}

/* ANY or ALL, (ARRAY[1, 2]) */
static bool parse_any(struct parser *parser, const struct operand *left, unsigned accepted)
{
    bool all = predicate_word_is(&parser->lexer.word, "all");
    uint32_t mark = parser->condition->path_count;
    uint16_t operand = operand_of(parser, left, NULL);
    struct list list;
    if (!next_word(parser) || !expect(parser, PREDICATE_OPEN, "'(' and an array"))
        return false;
    if (!predicate_word_is(&parser->lexer.word, "array"))
        return refuse(parser, "ARRAY[...]");
    if (!next_word(parser) || !expect(parser, PREDICATE_LEFT, "'[' and the constants") ||
        !parse_list(parser, left, PREDICATE_RIGHT, &list) ||
        (is_at(parser, PREDICATE_CAST) && !parse_array_type(parser, list)) ||
        !expect(parser, PREDICATE_CLOSE, "')' behind the array"))
        return false;
    emit_list(parser, operand, all ? ISO_ORDER_ANY & ~accepted : accepted, list);
    emit_not(parser, all);
    if (all)
        parser->condition->path_count = mark;
    return true;
}

static bool is_of_array(const struct predicate_word *word)
{
    return word->kind == PREDICATE_NAME &&
           (predicate_word_is(word, "any") || predicate_word_is(word, "some") ||
            predicate_word_is(word, "all"));
}

static bool parse_compare(struct parser *parser, const struct operand *left, unsigned accepted)
{
    struct operand right;
    if (!next_word(parser))
        return false;
    if (is_of_array(&parser->lexer.word))
        return parse_any(parser, left, accepted);
    if (!parse_operand(parser, &right))
        return false;
    emit_compare(parser, left, accepted, &right);
    return true;
}

static bool parse_between(struct parser *parser, const struct operand *left, bool is_not)
{
    struct operand low, high;
    if (!next_word(parser) || !parse_operand(parser, &low) ||
        !expect(parser, PREDICATE_AND, "AND of a BETWEEN") || !parse_operand(parser, &high))
        return false;
    emit_compare(parser, left, ISO_ORDER_GREATER | ISO_ORDER_EQUAL, &low);
    emit_compare(parser, left, ISO_ORDER_LESS | ISO_ORDER_EQUAL, &high);
    emit(parser, (struct condition_step){.code = CONDITION_AND});
    emit_not(parser, is_not);
    return true;
}

static bool parse_in(struct parser *parser, const struct operand *left, bool is_not)
{
    uint32_t mark = parser->condition->path_count;
    struct list list;
    if (!next_word(parser) || !expect(parser, PREDICATE_OPEN, "'(' and the constants of the list"))
        return false;
    uint16_t operand = operand_of(parser, left, NULL);
    if (!parse_list(parser, left, PREDICATE_CLOSE, &list))
        return false;
    emit_list(parser, operand, ISO_ORDER_EQUAL, list);
    emit_not(parser, is_not);
    if (is_not)
        parser->condition->path_count = mark;
    return true;
}

/* Whether LIKE's pattern is a text, with one % at its end or none. */
static bool is_prefix(struct iso_json_text pattern)
{
    size_t open = pattern.length && pattern.at[pattern.length - 1] == '%';
    for (size_t i = 0; i < pattern.length - open; i++)
        if (memchr("%_\\", pattern.at[i], 3))
            return false;
    return true;
}

static bool ends_in_escape(struct iso_json_text pattern)
{
    size_t backslashes = 0;
    while (backslashes < pattern.length && pattern.at[pattern.length - 1 - backslashes] == '\\')
        backslashes++;
    return backslashes % 2;
}

static bool parse_like(struct parser *parser, const struct operand *left, bool is_not)
{
    struct operand pattern;
    if (left->is_literal)
        return refuse(parser, "a column before LIKE");
    if (!next_word(parser))
        return false;
    struct predicate_lexer at = parser->lexer;
    if (!parse_operand(parser, &pattern))
        return false;
    if (!pattern.is_literal || pattern.literal.kind != CONDITION_STRING ||
        (pattern.literal.call.function &&
         predicate_function_sort(pattern.literal.call.function) != PREDICATE_FOLDS))
        return predicate_lexer_refuse(&at, "a pattern: 'text', 'prefix%', '%a_c%'");
    struct iso_json_text text = {parser->condition->names.bytes + pattern.literal.start,
                                 pattern.literal.length};
    if (ends_in_escape(text))
        return predicate_lexer_refuse(&at, "a pattern with something behind its last backslash");
    if (predicate_word_is(&parser->lexer.word, "escape"))
        return refuse(parser, "AND, OR or the end: other escapes than the backslash are not taken");
    bool prefix = is_prefix(text), open = prefix && text.length && text.at[text.length - 1] == '%';
    pattern.literal.length -= open;
    parser->condition->is_fixed = true;
    uint16_t constant = add_constant(parser, &pattern.literal, left->number);
    emit(parser, (struct condition_step){prefix ? CONDITION_BEGINS : CONDITION_LIKE, (uint8_t)open,
                                         left->number, constant, 0});
    emit_not(parser, is_not);
    return true;
}

/* DISTINCT FROM, behind IS [NOT]. */
static bool parse_distinct(struct parser *parser, const struct operand *left, bool is_same)
{
    struct operand right;
    if (!next_word(parser))
        return false;
    if (!predicate_word_is(&parser->lexer.word, "from"))
        return refuse(parser, "FROM behind DISTINCT");
    if (!next_word(parser) || !parse_operand(parser, &right))
        return false;
    uint16_t one = operand_of(parser, left, &right), other = operand_of(parser, &right, left);
    emit(parser, (struct condition_step){CONDITION_SAME, 0, one, other, 0});
    emit_not(parser, !is_same);
    return true;
}

/* IS [NOT] NULL, TRUE, FALSE, UNKNOWN, DISTINCT FROM */
static bool parse_is(struct parser *parser, const struct expression *left)
{
    bool is_not = false, is_null;
    if (!next_word(parser))
        return false;
    if (is_at(parser, PREDICATE_NOT)) {
        is_not = true;
        if (!next_word(parser))
            return false;
    }
    if (left->is_operand && predicate_word_is(&parser->lexer.word, "distinct"))
        return parse_distinct(parser, &left->operand, is_not);
    is_null = is_at(parser, PREDICATE_NULL);
    unsigned outcome = is_at(parser, PREDICATE_TRUE)    ? ISO_TRUTH_TRUE
                       : is_at(parser, PREDICATE_FALSE) ? ISO_TRUTH_FALSE
                       : is_null || predicate_word_is(&parser->lexer.word, "unknown")
                           ? ISO_TRUTH_NULL
                           : 0;
    if (!outcome)
        return refuse(parser, "NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM, or NOT before them");
    if (is_null && left->is_operand) {
        uint16_t operand = operand_of(parser, &left->operand, NULL);
        emit(parser, (struct condition_step){.code = CONDITION_IS_NULL, .left = operand});
    } else {
        emit_truth(parser, left);
        emit(parser, (struct condition_step){.code = CONDITION_OUTCOME, .set = (uint8_t)outcome});
    }
    emit_not(parser, is_not);
    return next_word(parser);
}

static bool parse_brackets(struct parser *parser, struct expression *expression)
{
    bool fine = deeper(parser) && next_word(parser) && parse_chain(parser, expression, true) &&
                expect(parser, PREDICATE_CLOSE,
                       is_at(parser, PREDICATE_COMMA) ? "')': lists stand behind IN only"
                                                      : "an operator, AND, OR or ')'");
    parser->depth--;
    return fine;
}

/* Parses a comparison or a test behind an operand. */
static bool parse_behind(struct parser *parser, const struct operand *left, bool *is_test)
{
    bool is_not = is_at(parser, PREDICATE_NOT);
    unsigned orders = orders_of(parser->lexer.word.kind);
    *is_test = true;
    if (orders)
        return parse_compare(parser, left, orders);
    if (is_not && !next_word(parser))
        return false;
    switch (parser->lexer.word.kind) {
    case PREDICATE_BETWEEN:
        return parse_between(parser, left, is_not);
    case PREDICATE_IN:
        return parse_in(parser, left, is_not);
    case PREDICATE_LIKE:
        return parse_like(parser, left, is_not);
    default:
        *is_test = false;
        return !is_not || refuse(parser, "BETWEEN, IN or LIKE behind NOT");
    }
}

static bool parse_test(struct parser *parser, struct expression *expression)
{
    uint32_t mark = parser->condition->path_count;
    bool is_test = false;
    if (is_at(parser, PREDICATE_OPEN)) {
        if (!parse_brackets(parser, expression) ||
            (expression->is_operand && !parse_casts(parser, &expression->operand)))
            return false;
    } else {
        expression->is_operand = true;
        if (!parse_operand(parser, &expression->operand))
            return false;
    }
    if (expression->is_operand && !parse_behind(parser, &expression->operand, &is_test))
        return false;
    if (!is_test && is_at(parser, PREDICATE_IS)) {
        if (!parse_is(parser, expression))
            return false;
        parser->condition->path_count = mark;
        is_test = true;
    }
    expression->is_operand &= !is_test;
    return true;
}

static bool parse_factor(struct parser *parser, struct expression *expression)
{
    if (!is_at(parser, PREDICATE_NOT))
        return parse_test(parser, expression);
    uint32_t mark = parser->condition->path_count;
    if (!deeper(parser) || !next_word(parser) || !parse_factor(parser, expression))
        return false;
    parser->depth--;
    emit_truth(parser, expression);
    emit_not(parser, true);
    expression->is_operand = false;
    parser->condition->path_count = mark;
    return true;
}

/* Behind the left side of AND or OR: what of it settles the whole is left as it is. Those of one
 * chain are linked by `right` until its end is known. */
static uint32_t emit_skip(struct parser *parser, unsigned outcome, uint32_t before)
{
    return emit(parser, (struct condition_step){.code = CONDITION_SKIP_ALL,
                                                .set = (uint8_t)outcome,
                                                .right = (uint16_t)before});
}

/* Each skips to the end of the chain. */
static void end_chain(struct parser *parser, uint32_t skip)
{
    uint32_t end = parser->condition->step_count;
    assert(end <= UINT16_MAX); /* three steps for five bytes */
    while (skip) {
        struct condition_step *step = &parser->condition->steps[skip];
        skip = step->right;
        step->right = (uint16_t)(end - (uint32_t)(step - parser->condition->steps) - 1);
    }
}

static bool parse_part(struct parser *parser, struct expression *expression, bool any)
{
    return any ? parse_chain(parser, expression, false) : parse_factor(parser, expression);
}

/* Factors with AND between, or with `any` terms with OR between. */
static bool parse_chain(struct parser *parser, struct expression *expression, bool any)
{
    struct expression right;
    uint32_t mark = parser->condition->path_count, skip = 0; /* no chain begins with one */
    if (!parse_part(parser, expression, any))
        return false;
    while (is_at(parser, any ? PREDICATE_OR : PREDICATE_AND)) {
        uint32_t middle = parser->condition->path_count;
        emit_truth(parser, expression);
        skip = emit_skip(parser, any ? ISO_TRUTH_TRUE : ISO_TRUTH_FALSE, skip);
        if (!next_word(parser) || !parse_part(parser, &right, any))
            return false;
        emit_truth(parser, &right);
        expression->is_operand = false;
        emit(parser, (struct condition_step){.code = any ? CONDITION_OR : CONDITION_AND});
        join_paths(parser, mark, middle, any ? ISO_PATH_BOTH : ISO_PATH_EITHER);
    }
    end_chain(parser, skip);
    return true;
}

static bool parse_whole(struct parser *parser)
{
    struct expression expression;
    if (!parse_chain(parser, &expression, true))
        return false;
    emit_truth(parser, &expression);
    return is_at(parser, PREDICATE_END) ||
           refuse(parser, expression.is_operand ? "an operator" : "AND, OR or the end");
}

enum iso_status iso_condition_parse(struct iso_condition *condition, const char *text,
                                    size_t length, struct iso_error *error)
{
    struct parser parser = {.condition = condition};
    *condition = (struct iso_condition){0};
    if (length > ISO_CONDITION_TEXT)
        return iso_error_set(error, ISO_BAD_INPUT, "byte %d: expected at most %d bytes",
                             ISO_CONDITION_TEXT + 1, ISO_CONDITION_TEXT);
    iso_text_reserve(&condition->names, 1); /* empty texts have a place, too */
    bool fine = predicate_lexer_start(&parser.lexer, text, length, error) && parse_whole(&parser);
    iso_number_map_release(&parser.constants);
    iso_number_map_release(&parser.tests);
    if (fine)
        return ISO_OK;
    iso_condition_release(condition);
    return error->status;
}

void iso_condition_release(struct iso_condition *condition)
{
    for (uint32_t i = 0; i < condition->column_count; i++)
        iso_free((char *)(uintptr_t)condition->columns[i].name.at);
    ISO_FREE_ALL(condition->columns, condition->constants, condition->paths, condition->steps,
                 condition->literals, condition->derived);
    iso_text_release(&condition->names);
    iso_text_release(&condition->spelt);
    *condition = (struct iso_condition){0};
}
