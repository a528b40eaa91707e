/* Expressions: each kind of node as a value (operator.c), NULL and what fails in it. */
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "lower/lower_private.h"

/* The name of a node's construct in messages. */
static const char *construct_of(const PgQuery__Node *node)
{
    switch ((int)node->node_case) {
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
        return "the current time, date or user";
    case PG_QUERY__NODE__NODE_ROW_EXPR:
        return "a row of values";
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
    case PG_QUERY__NODE__NODE_A_INDIRECTION:
        return "an array or a field of a value";
    case PG_QUERY__NODE__NODE_PARAM_REF:
        return "a parameter by its number";
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
        return "COLLATE";
    case PG_QUERY__NODE__NODE_GROUPING_FUNC:
        return "GROUPING";
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT:
        return "DEFAULT";
    default:
        return "this expression";
    }
}

static struct value need_condition(struct lowering *lowering, struct value value,
                                   const PgQuery__Node *node)
{
    if (value.type != TYPE_BOOLEAN && value.type != TYPE_NULL)
        lower_refuse(lowering, location_of(lowering, lower_location_of(node)),
                     "a condition is needed here, this is %s", lower_type_name(value.type));
    value.type = TYPE_BOOLEAN;
    return value;
}

static struct value lower_bool(struct lowering *lowering, const struct scope *scope,
                               const PgQuery__BoolExpr *node)
{
    struct value value =
        need_condition(lowering, lower_expression(lowering, scope, node->args[0]), node->args[0]);
    if (node->boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR)
        return lower_negation(lowering, value);
    bool or = node->boolop == PG_QUERY__BOOL_EXPR_TYPE__OR_EXPR; /* by De Morgan */
    value = or ? lower_negation(lowering, value) : value;
    for (size_t i = 1; i < node->n_args && !failed(lowering); i++) {
        struct value next = need_condition(
            lowering, lower_expression(lowering, scope, node->args[i]), node->args[i]);
        value = lower_conjunction(lowering, value, or ? lower_negation(lowering, next) : next);
    }
    return or ? lower_negation(lowering, value) : value;
}

/* What an expression is made of beside constants. */
struct parts {
    const struct lowering *lowering;
    bool variables, columns;
};

static bool find_parts(void *with, const PgQuery__Node *node)
{
    struct parts *parts = with;
    const char *alias, *name;
    if (node->node_case == PG_QUERY__NODE__NODE_SUB_LINK)
        parts->columns = true;
    if (node->node_case != PG_QUERY__NODE__NODE_COLUMN_REF)
        return true;
    bool variable = parts->lowering->body.function &&
                    lower_names_of(node->column_ref, &alias, &name) &&
                    lower_find_variable(parts->lowering, name) != NONE;
    parts->variables = parts->variables || variable;
    parts->columns = parts->columns || !variable;
    return true;
}

/* What is known to be NULL before a query, or of literals anywhere, is all that an operator looks
 * at: the other operand is not computed. */
static void pass_beside(struct lowering *lowering, const PgQuery__Node *node,
                        const struct value *value, struct value *other)
{
    struct parts parts = {lowering, false, false};
    if (value->null == NONE || other->fails == NONE)
        return;
    lower_each_node(&node->base, find_parts, &parts);
    if (!parts.columns && (lowering->at.planned || !parts.variables))
        other->fails = lower_and(lowering, other->fails, lower_not(lowering, value->null));
}

static struct value lower_operator(struct lowering *lowering, const struct scope *scope,
                                   const PgQuery__AExpr *node)
{
    static const struct {
        const char *name;
        enum iso_prove_op op;
    } operators[] = {
        {"+", ISO_PROVE_ADD},         {"-", ISO_PROVE_SUBTRACT}, {"*", ISO_PROVE_MULTIPLY},
        {"=", ISO_PROVE_EQUAL},       {"<>", ISO_PROVE_UNEQUAL}, {"<", ISO_PROVE_LESS},
        {"<=", ISO_PROVE_LESS_EQUAL}, {">", ISO_PROVE_GREATER},  {">=", ISO_PROVE_GREATER_EQUAL}};
    size_t location = location_of(lowering, node->location);
    const char *name = node->n_name == 1 ? lower_name_of(node->name[0]) : "";
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        enum iso_prove_op op = operators[i].op;
        if (strcmp(operators[i].name, name))
            continue;
        if (!node->lexpr && (op == ISO_PROVE_SUBTRACT || op == ISO_PROVE_ADD))
            return lower_arithmetic(lowering, op, lower_constant(lowering, TYPE_INT, 0),
                                    lower_expression(lowering, scope, node->rexpr), location);
        if (!node->lexpr)
            break;
        struct value a = lower_expression(lowering, scope, node->lexpr),
                     b = lower_expression(lowering, scope, node->rexpr);
        pass_beside(lowering, node->lexpr, &a, &b);
        pass_beside(lowering, node->rexpr, &b, &a);
        if (op <= ISO_PROVE_MULTIPLY)
            return lower_arithmetic(lowering, op, a, b, location);
        return lower_compare(lowering, op, a, b, location);
    }
    lower_refuse_form(lowering, location, "the operator %s", name);
    return lower_null(lowering);
}

static struct value lower_between(struct lowering *lowering, const struct scope *scope,
                                  const PgQuery__AExpr *node)
{
    size_t location = location_of(lowering, node->location);
    const PgQuery__List *bounds = node->rexpr->list;
    struct value value = lower_expression(lowering, scope, node->lexpr);
    struct value low = lower_expression(lowering, scope, bounds->items[0]),
                 high = lower_expression(lowering, scope, bounds->items[1]);
    value = lower_conjunction(
        lowering, lower_compare(lowering, ISO_PROVE_GREATER_EQUAL, value, low, location),
        lower_compare(lowering, ISO_PROVE_LESS_EQUAL, value, high, location));
    return node->kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN ? value
                                                                : lower_negation(lowering, value);
}

static struct value lower_in(struct lowering *lowering, const struct scope *scope,
                             const PgQuery__AExpr *node)
{
    size_t location = location_of(lowering, node->location);
    struct value value = lower_expression(lowering, scope, node->lexpr),
                 result = lower_constant(lowering, TYPE_BOOLEAN, 1);
    if (node->rexpr->node_case != PG_QUERY__NODE__NODE_LIST) {
        lower_refuse_node(lowering, node->rexpr, "IN without a list");
        return value;
    }
    for (size_t i = 0; i < node->rexpr->list->n_items && !failed(lowering); i++) {
        struct value one = lower_expression(lowering, scope, node->rexpr->list->items[i]);
        result = lower_conjunction(
            lowering, result, lower_compare(lowering, ISO_PROVE_UNEQUAL, value, one, location));
    }
    bool in = node->n_name && !strcmp(lower_name_of(node->name[0]), "=");
    return in ? lower_negation(lowering, result) : result;
}

static struct value lower_distinct(struct lowering *lowering, const struct scope *scope,
                                   const PgQuery__AExpr *node)
{
    struct value a = lower_expression(lowering, scope, node->lexpr),
                 b = lower_expression(lowering, scope, node->rexpr);
    struct value equal =
        lower_compare(lowering, ISO_PROVE_EQUAL, a, b, location_of(lowering, node->location));
    uint32_t same =
        lower_or(lowering, lower_truth(lowering, &equal), lower_and(lowering, a.null, b.null));
    struct value value = lower_boolean(lowering, same);
    value.fails = equal.fails;
    return node->kind == PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT ? lower_negation(lowering, value)
                                                                 : value;
}

static struct value lower_a_expression(struct lowering *lowering, const struct scope *scope,
                                       const PgQuery__AExpr *node)
{
    switch ((int)node->kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP:
        return lower_operator(lowering, scope, node);
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN:
        return lower_in(lowering, scope, node);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
        return lower_between(lowering, scope, node);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
        return lower_distinct(lowering, scope, node);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR:
        lower_refuse_form(lowering, location_of(lowering, node->location), "LIKE");
        break;
    default:
        lower_refuse_form(lowering, location_of(lowering, node->location),
                          "this form of an operator (ANY, ALL, NULLIF, SYMMETRIC)");
    }
    return lower_null(lowering);
}

static struct value lower_literal(struct lowering *lowering, const PgQuery__AConst *node)
{
    if (node->isnull)
        return lower_null(lowering);
    switch ((int)node->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
        return lower_constant(lowering, TYPE_INT, node->ival->ival);
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
        return lower_constant(lowering, TYPE_BOOLEAN, node->boolval->boolval);
    case PG_QUERY__A__CONST__VAL_SVAL: {
        struct value value =
            lower_constant(lowering, TYPE_TEXT, lower_text_number(lowering, node->sval->sval));
        return value;
    }
    case PG_QUERY__A__CONST__VAL_FVAL: { /* an integer that is no int4 comes as this, too */
        uint64_t number;
        const char *digits = node->fval->fval + (*node->fval->fval == '-');
        if (iso_bytes_decimal(digits, strlen(digits), &number) && number < (uint64_t)1 << 61)
            return lower_constant(lowering, TYPE_BIGINT,
                                  digits > node->fval->fval ? -(int64_t)number : (int64_t)number);
        lower_refuse(lowering, location_of(lowering, node->location),
                     "the number %s: only integers of less than 62 bits can be proved",
                     node->fval->fval);
        break;
    }
    default:
        lower_refuse_form(lowering, location_of(lowering, node->location), "this constant");
    }
    return lower_null(lowering);
}

static struct value lower_case(struct lowering *lowering, const struct scope *scope,
                               const PgQuery__CaseExpr *node)
{
    struct value value =
        node->defresult ? lower_expression(lowering, scope, node->defresult) : lower_null(lowering);
    struct value asked = {0};
    if (node->arg)
        asked = lower_expression(lowering, scope, node->arg);
    for (size_t i = node->n_args; i-- > 0 && !failed(lowering);) {
        const PgQuery__CaseWhen *when = node->args[i]->case_when;
        struct value condition = lower_expression(lowering, scope, when->expr),
                     result = lower_expression(lowering, scope, when->result);
        if (node->arg)
            condition = lower_compare(lowering, ISO_PROVE_EQUAL, asked, condition,
                                      location_of(lowering, when->location));
        condition = need_condition(lowering, condition, when->expr);
        if (!lower_types_meet(value.type, result.type))
            lower_refuse(lowering, location_of(lowering, when->location), "CASE gives %s and %s",
                         lower_type_name(value.type), lower_type_name(result.type));
        value = lower_value_choose(lowering, lower_truth(lowering, &condition), result, value);
        value.fails = lower_or(lowering, condition.fails, value.fails);
    }
    return value;
}

static struct value lower_coalesce(struct lowering *lowering, const struct scope *scope,
                                   PgQuery__Node *const *arguments, size_t count)
{
    struct value first = lower_expression(lowering, scope, arguments[0]);
    if (count == 1)
        return first;
    struct value rest = lower_coalesce(lowering, scope, arguments + 1, count - 1);
    if (!lower_types_meet(first.type, rest.type))
        lower_refuse(lowering, location_of(lowering, lower_location_of(arguments[1])),
                     "COALESCE of %s and %s", lower_type_name(first.type),
                     lower_type_name(rest.type));
    if (first.null == NONE) { /* the rest is not computed */
        first.type = first.type > rest.type ? first.type : rest.type;
        return first;
    }
    uint32_t fails = first.fails, present = lower_not(lowering, first.null);
    first.null = first.fails = NONE;
    struct value value = lower_value_choose(lowering, present, first, rest);
    value.fails = lower_or(lowering, fails, value.fails);
    return value;
}

static struct value lower_cast(struct lowering *lowering, const struct scope *scope,
                               const PgQuery__TypeCast *node)
{
    struct value value = lower_expression(lowering, scope, node->arg);
    enum type type = lower_type_of(lowering, node->type_name, NULL);
    if (!lower_types_meet(value.type, type))
        lower_refuse_form(lowering, location_of(lowering, node->location), "a cast of %s to %s",
                          lower_type_name(value.type), lower_type_name(type));
    if (type == TYPE_INT && value.type == TYPE_BIGINT)
        lower_fit(lowering, &value, TYPE_INT);
    value.type = type;
    struct value cut = value;
    lower_limit_text(lowering, &cut, lower_limit_of(node->type_name));
    if (cut.at != value.at || cut.fails != value.fails)
        lower_refuse_form(lowering, location_of(lowering, node->location),
                          "a cast that cuts a text");
    return value;
}

static struct value lower_test(struct lowering *lowering, const struct scope *scope,
                               const PgQuery__BooleanTest *node)
{
    struct value value =
        need_condition(lowering, lower_expression(lowering, scope, node->arg), node->arg);
    uint32_t fails = value.fails, truth = lower_truth(lowering, &value), result;
    switch ((int)node->booltesttype) {
    case PG_QUERY__BOOL_TEST_TYPE__IS_TRUE:
    case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE:
        result = truth;
        break;
    case PG_QUERY__BOOL_TEST_TYPE__IS_FALSE:
    case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE:
        result = lower_not(lowering, lower_or(lowering, truth, value.null));
        break;
    default:
        result = value.null;
    }
    value = lower_boolean(lowering, result);
    value.fails = fails;
    bool not = node->booltesttype == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE ||
               node->booltesttype == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE ||
               node->booltesttype == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN;
    return not ? lower_negation(lowering, value) : value;
}

uint32_t lower_condition(struct lowering *lowering, const struct scope *scope,
                         const PgQuery__Node *node, uint32_t *fails)
{
    if (!node)
        return lower_number(lowering, 1);
    struct value value = need_condition(lowering, lower_expression(lowering, scope, node), node);
    *fails = lower_or(lowering, *fails, value.fails);
    return lower_truth(lowering, &value);
}

static struct value lower_call(struct lowering *lowering, const struct scope *scope,
                               const PgQuery__FuncCall *node)
{
    const char *name = node->n_funcname ? lower_name_of(node->funcname[node->n_funcname - 1]) : "";
    if (lower_is_aggregate_name(name) && node->n_funcname == 1)
        return lower_aggregate(lowering, scope, name, node);
    if (!strcmp(name, "abs") && node->n_args == 1 && !node->over) {
        struct value value = lower_expression(lowering, scope, node->args[0]);
        size_t location = location_of(lowering, node->location);
        struct value less = lower_arithmetic(
            lowering, ISO_PROVE_SUBTRACT, lower_constant(lowering, value.type, 0), value, location);
        return lower_more_of(lowering, value, less, true, location);
    }
    lower_refuse_form(lowering, location_of(lowering, node->location), "the function %s", name);
    return lower_null(lowering);
}

static struct value lower_any_expression(struct lowering *lowering, const struct scope *scope,
                                         const PgQuery__Node *node)
{
    if (!(++lowering->limits.work & 63) && iso_prove_stop_asked(&lowering->program->stop))
        iso_error_set(lowering->error, ISO_UNDECIDED, "%s: the time is up", lowering->file.name);
    if (failed(lowering))
        return lower_null(lowering);
    for (uint32_t i = 0; i < lowering->at.hoisted.count; i++)
        if (lowering->at.hoisted.list[i].node == node)
            return lowering->at.hoisted.list[i].value;
    switch ((int)node->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST:
        return lower_literal(lowering, node->a_const);
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        return lower_reference(lowering, scope, node->column_ref);
    case PG_QUERY__NODE__NODE_A_EXPR:
        return lower_a_expression(lowering, scope, node->a_expr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
        return lower_bool(lowering, scope, node->bool_expr);
    case PG_QUERY__NODE__NODE_CASE_EXPR:
        return lower_case(lowering, scope, node->case_expr);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
        return lower_coalesce(lowering, scope, node->coalesce_expr->args,
                              node->coalesce_expr->n_args);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        return lower_call(lowering, scope, node->func_call);
    case PG_QUERY__NODE__NODE_SUB_LINK:
        return lower_query(lowering, scope, node->sub_link);
    case PG_QUERY__NODE__NODE_TYPE_CAST:
        return lower_cast(lowering, scope, node->type_cast);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
        return lower_test(lowering, scope, node->boolean_test);
    case PG_QUERY__NODE__NODE_NULL_TEST: {
        struct value value = lower_expression(lowering, scope, node->null_test->arg);
        uint32_t fails = value.fails;
        value = lower_boolean(lowering, value.null);
        value.fails = fails;
        return node->null_test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL
                   ? value
                   : lower_negation(lowering, value);
    }
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: {
        const PgQuery__MinMaxExpr *extreme = node->min_max_expr;
        struct value value = lower_expression(lowering, scope, extreme->args[0]);
        for (size_t i = 1; i < extreme->n_args; i++)
            value =
                lower_more_of(lowering, value, lower_expression(lowering, scope, extreme->args[i]),
                              extreme->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST,
                              location_of(lowering, extreme->location));
        return value;
    }
    default:
        lower_refuse_node(lowering, node, construct_of(node));
        return lower_null(lowering);
    }
}

/* An expression of the program reads a cell; `left`: so many are looked at. */
static bool reads(const struct iso_prove_program *program, uint32_t expression, uint32_t *left)
{
    const struct iso_prove_expression *node = &program->expressions.list[expression];
    uint32_t operands[3], count = iso_prove_operands(node, operands);
    bool found = node->op == ISO_PROVE_READ;
    for (uint32_t i = 0; i < count && !found && *left; i++, --*left)
        found = reads(program, operands[i], left);
    return found;
}

/* PostgreSQL computes what names no column while it plans a statement, and what is of constants
 * alone always, also where it is not reached then: whether that fails is not known. */
void lower_check_planned(struct lowering *lowering, const PgQuery__Node *node, uint32_t fails)
{
    struct parts parts = {lowering, false, false};
    lower_each_node(&node->base, find_parts, &parts);
    uint32_t left = 10000;
    bool early = !parts.columns || !reads(lowering->program, fails, &left);
    if (early && (lowering->at.planned || (!parts.variables && !parts.columns)))
        lower_refuse_node(lowering, node,
                          "what names no column and can be out of range, in a query");
}

struct value lower_expression(struct lowering *lowering, const struct scope *scope,
                              const PgQuery__Node *node)
{
    struct value value = lower_any_expression(lowering, scope, node);
    bool computes = node->node_case == PG_QUERY__NODE__NODE_A_EXPR ||
                    node->node_case == PG_QUERY__NODE__NODE_FUNC_CALL ||
                    node->node_case == PG_QUERY__NODE__NODE_TYPE_CAST;
    if (computes && value.fails != NONE && !failed(lowering))
        lower_check_planned(lowering, node, value.fails);
    return value;
}
