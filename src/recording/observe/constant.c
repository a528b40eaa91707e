#include "observe/reading_private.h"

#include <stdio.h>
#include <stdlib.h>

const char *reading_text_of(const struct value *value)
{
    return value->text ? value->text : value->number;
}

/* One that is declared, or stands nowhere else: of another place it could have another type
 * (pad = $1 AND name = $1), in which its value is another. */
static bool has_sure_type(const struct statement_input *input, int number)
{
    return input->parameters->list[number - 1].type ||
           (number <= PLAN_PARAMETERS && input->statement->parameters[number - 1] == 1);
}

static struct value parameter_value(const struct statement_input *input, int number)
{
    struct value value = {.kind = VALUE_UNKNOWN};
    if (number >= TEMPLATE_FIRST) {
        uint32_t position = (uint32_t)(number - TEMPLATE_FIRST);
        if (position >= input->constants->count ||
            input->constants->list[position].kind == CONSTANT_OPAQUE)
            return value;
        const struct constant *constant = &input->constants->list[position];
        const char *text = input->constants->values.bytes + constant->position;
        if (strlen(text) != constant->length) /* a zero byte within */
            return value;
        return (struct value){.kind = constant->kind == CONSTANT_NUMBER ? VALUE_NUMBER : VALUE_TEXT,
                              .text = text};
    }
    if (!input->parameters || number < 1 || (uint32_t)number > input->parameters->count)
        return value;
    const struct parameter *parameter = &input->parameters->list[number - 1];
    if (parameter->is_null)
        value.kind = VALUE_NULL;
    else if (parameter->is_known && has_sure_type(input, number))
        value = (struct value){.kind = VALUE_TEXT,
                               .text = input->parameters->values.bytes + parameter->position,
                               .type = parameter->type};
    return value;
}

static struct value constant_value(const PgQuery__AConst *constant)
{
    struct value value = {.kind = VALUE_UNKNOWN};
    if (constant->isnull) {
        value.kind = VALUE_NULL;
    } else if (constant->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
        value.kind = VALUE_NUMBER;
        snprintf(value.number, sizeof value.number, "%d", constant->ival->ival);
    } else if (constant->val_case == PG_QUERY__A__CONST__VAL_FVAL) {
        value.kind = VALUE_NUMBER;
        value.text = constant->fval->fval;
    } else if (constant->val_case == PG_QUERY__A__CONST__VAL_SVAL) {
        value.kind = VALUE_TEXT;
        value.text = constant->sval->sval;
    } else if (constant->val_case == PG_QUERY__A__CONST__VAL_BOOLVAL) {
        value.kind = VALUE_TRUTH;
        value.text = constant->boolval->boolval ? "true" : "false";
    }
    return value;
}

/* Of a type, or of an array of it, without brackets behind it, or with as many numbers in them. */
static uint32_t find_type(const PgQuery__TypeName *type, size_t bounds, size_t limits)
{
    static const struct {
        const char *name;
        uint32_t type;
    } names[] = {{"int2", PG_INT2}, {"int4", PG_INT4},           {"int8", PG_INT8},
                 {"text", PG_TEXT}, {"varchar", PG_VARCHAR},     {"uuid", PG_UUID},
                 {"date", PG_DATE}, {"timestamp", PG_TIMESTAMP}, {"timestamptz", PG_TIMESTAMPTZ},
                 {"time", PG_TIME}, {"float8", PG_FLOAT8},       {"numeric", PG_NUMERIC},
                 {"bool", PG_BOOL}};
    if (!type || type->n_typmods != limits || type->n_array_bounds != bounds || !type->n_names ||
        type->names[type->n_names - 1]->node_case != PG_QUERY__NODE__NODE_STRING)
        return 0;
    const char *name = type->names[type->n_names - 1]->string->sval;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name))
            return names[i].type;
    return 0;
}

uint32_t reading_type_named(const PgQuery__TypeName *type)
{
    return find_type(type, 0, 0);
}

uint32_t reading_array_named(const PgQuery__TypeName *type)
{
    return find_type(type, 1, 0);
}

bool reading_is_one_kind(uint32_t one, uint32_t other)
{
    return one == other || (pg_is_integer(one) && pg_is_integer(other)) ||
           (pg_is_text(one) && pg_is_text(other));
}

/* A cast that could change the value (1.5::int) is none of ours. */
bool reading_keeps(const struct value *value, uint32_t type)
{
    if (value->type)
        return reading_is_one_kind(type, value->type);
    return value->kind == VALUE_TEXT ||
           (value->kind == VALUE_NUMBER && pg_is_plain_integer(reading_text_of(value)) &&
            (pg_is_integer(type) || type == PG_NUMERIC));
}

struct value reading_value_of(const struct statement_input *input, const PgQuery__Node *node)
{
    struct value value = {.kind = VALUE_UNKNOWN};
    if (!node)
        return value;
    if (node->node_case == PG_QUERY__NODE__NODE_A_CONST)
        return constant_value(node->a_const);
    if (node->node_case == PG_QUERY__NODE__NODE_PARAM_REF)
        return parameter_value(input, node->param_ref->number);
    if (node->node_case == PG_QUERY__NODE__NODE_TYPE_CAST) {
        uint32_t type = reading_type_named(node->type_cast->type_name);
        value = reading_value_of(input, node->type_cast->arg);
        bool keeps = type && reading_keeps(&value, type);
        if (value.kind != VALUE_NULL && !keeps)
            value.kind = VALUE_UNKNOWN;
        value.type = type;
        return value;
    }
    if (node->node_case == PG_QUERY__NODE__NODE_A_EXPR && !node->a_expr->lexpr &&
        node->a_expr->n_name == 1 && node->a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP &&
        !strcmp(node->a_expr->name[0]->string->sval, "-")) {
        struct value inner = reading_value_of(input, node->a_expr->rexpr);
        if (inner.kind == VALUE_NUMBER && *reading_text_of(&inner) != '-' &&
            strlen(reading_text_of(&inner)) < sizeof value.number - 1) {
            value.kind = VALUE_NUMBER;
            *value.number = '-';
            memcpy(value.number + 1, reading_text_of(&inner), strlen(reading_text_of(&inner)) + 1);
        }
    }
    return value;
}

uint32_t reading_type_limited(const struct statement_input *input, const PgQuery__TypeName *type,
                              char limits[READING_LIMITS])
{
    int numbers[2] = {0, 0};
    size_t count = type ? type->n_typmods : 0;
    for (size_t i = 0; i < count && i < 2; i++) {
        struct value value = reading_value_of(input, type->typmods[i]);
        numbers[i] = value.kind == VALUE_NUMBER ? atoi(reading_text_of(&value)) : -1;
    }
    uint32_t found = find_type(type, 0, count);
    bool fits = numbers[0] > 0 && numbers[1] >= 0 && numbers[1] <= numbers[0] &&
                (found == PG_NUMERIC ? numbers[0] <= 1000 : found == PG_VARCHAR && count == 1);
    *limits = 0;
    if (count)
        snprintf(limits, READING_LIMITS, "(%d,%d)", numbers[0], numbers[1]);
    if (count == 1)
        strcpy(strchr(limits, ','), ")");
    return !count || fits ? found : 0;
}
