/* A condition's constants by the types of their columns, and the condition of a row. */

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "predicate/condition_private.h"

/* ---- constants ---- */

static bool is_number_type(struct iso_value_type type)
{
    return type.kind == ISO_VALUE_INTEGER || type.kind == ISO_VALUE_INTEGER_64 ||
           type.kind == ISO_VALUE_DECIMAL || type.kind == ISO_VALUE_NUMERIC;
}

static bool is_untyped(struct iso_value_type type)
{
    return type.kind == ISO_VALUE_UNKNOWN || type.kind == ISO_VALUE_ANY;
}

/* Digits, which the database would take for a date and we for a count of days. */
static bool is_count(struct iso_json_text text)
{
    for (size_t i = 0; i < text.length; i++)
        if ((text.at[i] < '0' || text.at[i] > '9') &&
            (i || (text.at[i] != '-' && text.at[i] != '+')))
            return false;
    return true;
}

static struct iso_scalar number_as(struct iso_value_type type, struct iso_json_text text,
                                   struct iso_text *out)
{
    type.kind = type.kind == ISO_VALUE_DOUBLE ? ISO_VALUE_DOUBLE : ISO_VALUE_NUMERIC;
    return iso_scalar_spell((struct iso_scalar_type){.value = type}, text, out);
}

/* In the column's unit, or a finer one. */
static struct iso_scalar time_as(struct iso_scalar_type type, struct iso_json_text text,
                                 struct iso_text *out)
{
    enum { MICROS = 6 };
    size_t start = out->used;
    if (is_count(text))
        return iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    struct iso_scalar time = iso_scalar_spell(type, text, out);
    if (time.kind != ISO_SCALAR_OPAQUE || type.value.kind == ISO_VALUE_DATE ||
        type.value.detail >= MICROS)
        return time;
    out->used = start;
    type.value.detail = MICROS;
    return iso_scalar_spell(type, text, out);
}

static struct iso_scalar string_as(struct iso_scalar_type type, struct iso_json_text text,
                                   struct iso_text *out)
{
    bool begins_with_digit = text.length && *text.at >= '0' && *text.at <= '9';
    bool is_hex = text.length >= 2 && *text.at == '\\';
    switch ((enum iso_value_kind)type.value.kind) {
    case ISO_VALUE_INTEGER:
    case ISO_VALUE_INTEGER_64:
    case ISO_VALUE_DECIMAL:
    case ISO_VALUE_NUMERIC:
        return number_as(type.value, text, out);
    case ISO_VALUE_BOOLEAN:
        return begins_with_digit ? iso_scalar_of_kind(ISO_SCALAR_OPAQUE)
                                 : iso_scalar_spell(type, text, out);
    case ISO_VALUE_DATE:
    case ISO_VALUE_TIMESTAMP:
    case ISO_VALUE_TIME:
        return time_as(type, text, out);
    case ISO_VALUE_BYTES:
        return is_hex ? iso_scalar_spell(type, text, out) : iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    default:
        return iso_scalar_spell(type, text, out);
    }
}

/* Constants that are compared with constants are what they look like. */
static struct iso_scalar constant_as(const struct iso_scalar_type *type,
                                     enum condition_literal_kind kind, struct iso_json_text text,
                                     struct iso_text *out)
{
    static const struct iso_scalar_type plain_text = {.value = {.kind = ISO_VALUE_TEXT}};
    static const struct iso_scalar_type bytes = {.value = {.kind = ISO_VALUE_BYTES}};
    static const struct iso_value_type numeric = {.kind = ISO_VALUE_NUMERIC};
    switch (kind) {
    case CONDITION_NULL:
        return iso_scalar_of_kind(ISO_SCALAR_NULL);
    case CONDITION_BOOLEAN: /* as MySQL's BOOLEAN, a TINYINT, has it */
        if (type && is_number_type(type->value))
            return iso_scalar_integer(*text.at == 't');
        return (struct iso_scalar){.kind = ISO_SCALAR_BOOLEAN, .number = *text.at == 't'};
    case CONDITION_NUMBER:
        if (!type || is_untyped(type->value))
            return number_as(numeric, text, out);
        return is_number_type(type->value) || type->value.kind == ISO_VALUE_DOUBLE
                   ? number_as(type->value, text, out)
                   : iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    case CONDITION_BYTES:
        return !type || type->value.kind == ISO_VALUE_BYTES ? iso_scalar_read(bytes, text)
                                                            : iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    default:
        return string_as(type ? *type : plain_text, text, out);
    }
}

/* Notes where in `spelt` the text stands, to which it is added if it was not made there. */
static void keep_text(struct iso_text *spelt, size_t start, struct iso_scalar *scalar)
{
    if (!iso_scalar_has_text(scalar))
        return;
    bool is_there = spelt->used > start && scalar->length;
    size_t at = is_there ? (size_t)(scalar->text - spelt->bytes) : start;
    if (!is_there)
        iso_text_put_bytes(spelt, scalar->text, scalar->length);
    scalar->number = (int64_t)at;
}

/* Whether the operand is a number, or nothing that a column's cells are compared with. */
static bool is_number(const struct iso_condition *condition, uint16_t operand)
{
    uint8_t kind = ISO_SCALAR_OPAQUE;
    if (operand & CONDITION_CONSTANT)
        kind = condition->constants[operand & ~(unsigned)CONDITION_CONSTANT].kind;
    return kind == ISO_SCALAR_INTEGER || kind == ISO_SCALAR_DECIMAL || kind == ISO_SCALAR_DOUBLE;
}

static void meets(struct iso_condition *condition, uint16_t operand, bool number)
{
    if (operand < CONDITION_DERIVED)
        condition->columns[operand].meets_numbers &= number;
}

/* Which columns of no type meet nothing but numbers. */
static void find_numbers(struct iso_condition *condition, const struct iso_scalar_type *types)
{
    for (uint32_t i = 0; i < condition->column_count; i++)
        condition->columns[i].meets_numbers = is_untyped(types[i].value);
    for (uint32_t i = 0; i < condition->derived_count; i++)
        meets(condition, condition->derived[i].operand, false);
    for (uint32_t i = 0; i < condition->step_count; i++) {
        const struct condition_step *step = &condition->steps[i];
        bool number = step->code == CONDITION_IS_NULL;
        if (step->code == CONDITION_COMPARE || step->code == CONDITION_SAME) {
            meets(condition, step->left, is_number(condition, step->right));
            meets(condition, step->right, is_number(condition, step->left));
            continue;
        }
        for (uint32_t c = 0; step->code == CONDITION_IN && c < step->count; c++)
            number = (number || !c) &&
                     is_number(condition, (uint16_t)(CONDITION_CONSTANT | (step->right + c)));
        if (step->code <= CONDITION_IS)
            meets(condition, step->left, number);
    }
}

/* What is derived has a type before the constants that it is compared with. */
static void bind_derived(struct iso_condition *condition, const struct iso_scalar_type *types)
{
    static const struct iso_scalar_type plain_text = {.value = {.kind = ISO_VALUE_TEXT}};
    for (uint32_t i = 0; i < condition->derived_count; i++) {
        struct condition_derived *derived = &condition->derived[i];
        uint16_t of = derived->operand;
        derived->type = predicate_function_type(
            derived->call.function, of & CONDITION_CONSTANT ? plain_text
                                    : of & CONDITION_DERIVED
                                        ? condition->derived[of & ~(unsigned)CONDITION_DERIVED].type
                                        : types[of]);
    }
}

/* What the function makes of the constant, of which `spelt` has the text from `start` on. */
static struct iso_scalar apply_to(struct predicate_call call, struct iso_scalar constant,
                                  struct iso_text *spelt, size_t start)
{
    struct iso_text room = {0};
    struct iso_scalar value = predicate_apply(call, &constant, &room);
    if (room.used) {
        spelt->used = start;
        iso_text_put_bytes(spelt, room.bytes, room.used);
        value.text = spelt->bytes + start + (value.text - room.bytes);
    }
    iso_text_release(&room);
    return value;
}

/* A text that is given to a cast, or compared with one, is of its type. */
static struct iso_scalar constant_of(struct iso_condition *condition,
                                     const struct condition_literal *literal,
                                     const struct iso_scalar_type *types)
{
    struct iso_text *spelt = &condition->spelt;
    size_t start = spelt->used;
    struct iso_json_text text = {condition->names.bytes + literal->start, literal->length};
    bool has_column = literal->column != CONDITION_NO_COLUMN,
         casts = literal->call.function &&
                 predicate_function_sort(literal->call.function) == PREDICATE_CASTS;
    const struct condition_derived *derived =
        has_column && literal->column & CONDITION_DERIVED
            ? &condition->derived[literal->column & ~(unsigned)CONDITION_DERIVED]
            : NULL;
    struct iso_scalar_type type = {0};
    if (casts)
        type = predicate_function_type(literal->call.function, type);
    else if (has_column)
        type = derived ? derived->type : types[literal->column];
    bool is_typed = casts ? literal->kind == CONDITION_STRING : has_column;
    struct iso_scalar constant = constant_as(
        is_typed ? &type : NULL, (enum condition_literal_kind)literal->kind, text, spelt);
    if (literal->call.function)
        return apply_to(literal->call, constant, spelt, start);
    if (derived && literal->kind == CONDITION_STRING &&
        predicate_function_sort(derived->call.function) == PREDICATE_CASTS)
        return apply_to((struct predicate_call){.function = derived->call.function}, constant,
                        spelt, start);
    return constant;
}

void iso_condition_bind(struct iso_condition *condition, const struct iso_scalar_type *types)
{
    struct iso_text *spelt = &condition->spelt;
    spelt->used = 0;
    condition->misfit = 0;
    if (!condition->constants)
        condition->constants =
            iso_allocate(condition->constant_count * sizeof *condition->constants);
    bind_derived(condition, types);
    for (uint32_t i = 0; i < condition->constant_count; i++) {
        const struct condition_literal *literal = &condition->literals[i];
        size_t start = spelt->used;
        condition->constants[i] = constant_of(condition, literal, types);
        keep_text(spelt, start, &condition->constants[i]);
        if (condition->constants[i].kind == ISO_SCALAR_OPAQUE && !condition->misfit)
            condition->misfit = literal->location;
    }
    for (uint32_t i = 0; i < condition->constant_count; i++)
        if (iso_scalar_has_text(&condition->constants[i]))
            condition->constants[i].text =
                condition->constants[i].length ? spelt->bytes + condition->constants[i].number : "";
    find_numbers(condition, types);
}

/* ---- a row ---- */

struct value {
    bool is_known;
    struct iso_scalar scalar;
    struct iso_text room; /* of the scalar's text */
};

struct row {
    const struct iso_condition *condition;
    const struct iso_scalar *cells, *constants;
    struct value *derived;                   /* NULL: there are none */
    uint64_t known[CONDITION_REPEATED / 64]; /* bits of `repeated` */
    iso_truth repeated[CONDITION_REPEATED];
};

static const struct iso_scalar *derived_of(const struct row *row, uint32_t number);

static inline const struct iso_scalar *operand_of(const struct row *row, uint16_t operand)
{
    if (operand & CONDITION_CONSTANT)
        return &row->constants[operand & ~(unsigned)CONDITION_CONSTANT];
    return operand < CONDITION_DERIVED ? &row->cells[operand]
                                       : derived_of(row, operand & ~(unsigned)CONDITION_DERIVED);
}

/* Once a row, and where it is asked for. */
static const struct iso_scalar *derived_of(const struct row *row, uint32_t number)
{
    const struct condition_derived *derived = &row->condition->derived[number];
    struct value *value = &row->derived[number];
    if (!value->is_known)
        value->scalar =
            predicate_apply(derived->call, operand_of(row, derived->operand), &value->room);
    value->is_known = true;
    return &value->scalar;
}

static void release_derived(struct row *row)
{
    for (uint32_t i = 0; row->derived && i < row->condition->derived_count; i++)
        iso_text_release(&row->derived[i].room);
    iso_free(row->derived);
}

static iso_truth test(const struct row *row, const struct condition_step *step)
{
    return iso_scalar_test(operand_of(row, step->left), operand_of(row, step->right), step->set);
}

static iso_truth test_once(struct row *row, const struct condition_step *step)
{
    uint32_t number = step->count - 1u;
    uint64_t bit = 1ull << number % 64, *known = &row->known[number / 64];
    if (!(*known & bit))
        row->repeated[number] = test(row, step);
    *known |= bit;
    return row->repeated[number];
}

/* Whether the order of the value and one of the constants is one of `accepted`. */
static iso_truth is_in(const struct iso_scalar *value, const struct iso_scalar *list,
                       uint32_t count, unsigned accepted)
{
    iso_truth found = ISO_TRUTH_FALSE;
    for (uint32_t i = 0; i < count && found != ISO_TRUTH_TRUE; i++)
        found = iso_truth_or(found, iso_scalar_test(value, &list[i], accepted));
    return found;
}

static iso_truth is_null(const struct iso_scalar *value)
{
    if (value->kind == ISO_SCALAR_UNKNOWN)
        return iso_truth_make(ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, ISO_PREDICATE_UNKNOWN);
    return iso_truth_of(value->kind == ISO_SCALAR_NULL);
}

static iso_truth is_true(const struct iso_scalar *value)
{
    static const struct iso_scalar yes = {.kind = ISO_SCALAR_BOOLEAN, .number = true};
    return iso_scalar_test(value, &yes, ISO_ORDER_EQUAL);
}

/* LIKE with a pattern that is a prefix, or a whole text. */
static iso_truth begins(const struct iso_scalar *text, const struct iso_scalar *prefix, bool open)
{
    iso_truth truth = iso_scalar_begins(text, prefix);
    return truth == ISO_TRUTH_TRUE && !open ? iso_truth_of(text->length == prefix->length) : truth;
}

/* NULL is a value like others. */
static iso_truth are_same(const struct iso_scalar *left, const struct iso_scalar *right)
{
    iso_truth one = is_null(left), other = is_null(right);
    if (one == ISO_TRUTH_FALSE && other == ISO_TRUTH_FALSE)
        return iso_scalar_test(left, right, ISO_ORDER_EQUAL);
    if (left->kind != ISO_SCALAR_UNKNOWN && right->kind != ISO_SCALAR_UNKNOWN)
        return iso_truth_of(one == other);
    return iso_truth_make(ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, ISO_PREDICATE_UNKNOWN);
}

iso_truth iso_condition_judge(const struct iso_condition *condition, const struct iso_scalar *cells)
{
    iso_truth stack[CONDITION_STACK];
    uint32_t used = 0;
    struct row row;
    row.condition = condition;
    row.cells = cells;
    row.constants = condition->constants;
    row.derived = NULL;
    if (condition->derived_count)
        row.derived = iso_allocate_zeroed(condition->derived_count, sizeof *row.derived);
    memset(row.known, 0, sizeof row.known);
    const struct condition_step *end = condition->steps + condition->step_count;
    for (const struct condition_step *step = condition->steps; step < end; step++) {
        iso_truth *top = &stack[used ? used - 1 : 0];
        switch ((enum condition_code)step->code) {
        case CONDITION_COMPARE:
            stack[used++] = step->count ? test_once(&row, step) : test(&row, step);
            break;
        case CONDITION_IN:
            stack[used++] = is_in(operand_of(&row, step->left), &row.constants[step->right],
                                  step->count, step->set);
            break;
        case CONDITION_IS_NULL:
            stack[used++] = is_null(operand_of(&row, step->left));
            break;
        case CONDITION_BEGINS:
            stack[used++] =
                begins(operand_of(&row, step->left), &row.constants[step->right], step->set);
            break;
        case CONDITION_LIKE:
            stack[used++] =
                iso_scalar_like(operand_of(&row, step->left), &row.constants[step->right]);
            break;
        case CONDITION_SAME:
            stack[used++] = are_same(operand_of(&row, step->left), operand_of(&row, step->right));
            break;
        case CONDITION_IS:
            stack[used++] = is_true(operand_of(&row, step->left));
            break;
        case CONDITION_AND:
            top[-1] = iso_truth_and(top[-1], top[0]);
            used--;
            break;
        case CONDITION_OR:
            top[-1] = iso_truth_or(top[-1], top[0]);
            used--;
            break;
        case CONDITION_NOT:
            *top = iso_truth_not(*top);
            break;
        case CONDITION_OUTCOME:
            *top = iso_truth_is(*top, step->set);
            break;
        case CONDITION_SKIP_ALL:
            step += *top == step->set ? step->right : 0;
            break;
        }
        assert(used && used <= CONDITION_STACK);
    }
    release_derived(&row);
    return *stack;
}
