/* Expressions and queries. A query is expanded over all rows of its tables: each combination of rows has a condition. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "iso/error.h"
#include "prove_sql/lower_private.h"

/* ---- trees ---- */

void each_node(const ProtobufCMessage *message, bool (*visit)(void *with, const PgQuery__Node *node), void *with)
{
    if (message->descriptor == &pg_query__node__descriptor && !visit(with, (const PgQuery__Node *)message))
        return;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *place = (const char *)message + field->offset;
        const void *quantifier = (const char *)message + field->quantifier_offset;
        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF && *(const uint32_t *)quantifier != field->id)
            continue;
        bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        size_t count = repeated ? *(const size_t *)quantifier : 1;
        ProtobufCMessage *const *list = repeated ? *(ProtobufCMessage *const *const *)place : (const void *)place;
        for (size_t j = 0; j < count; j++)
            if (list[j])
                each_node(list[j], visit, with);
    }
}

/* The first location below a message. */
static int32_t location_below(const ProtobufCMessage *message)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, "location");
    if (field && field->type == PROTOBUF_C_TYPE_INT32)
        return *(const int32_t *)((const char *)message + field->offset);
    return -1;
}

struct first_place {
    int32_t location;
};

static bool take_place(void *with, const PgQuery__Node *node)
{
    struct first_place *first = with;
    int32_t found = -1;
    for (unsigned i = 0; i < node->base.descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &node->base.descriptor->fields[i];
        if ((uint32_t)node->node_case == field->id)
            found = location_below(*(ProtobufCMessage *const *)((const char *)node + field->offset));
    }
    if (found >= 0 && (first->location < 0 || found < first->location))
        first->location = found;
    return true;
}

int32_t location_of(const PgQuery__Node *node)
{
    struct first_place first = {-1};
    if (node)
        each_node(&node->base, take_place, &first);
    return first.location;
}

void refuse_node(struct lowering *lowering, const PgQuery__Node *node, const char *what)
{
    refuse(lowering, place_of(lowering, location_of(node)), "%s: not in the subset that can be proved", what);
}

/* What a node is called in messages. */
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

const char *name_of(const PgQuery__Node *string)
{
    return string->node_case == PG_QUERY__NODE__NODE_STRING ? string->string->sval : "";
}

/* ---- names ---- */

struct table *find_table(struct lowering *lowering, const PgQuery__RangeVar *range)
{
    for (uint32_t i = 0; i < lowering->table_count; i++)
        if (!strcmp(lowering->tables[i].name, range->relname) && !*range->catalogname &&
            (!*range->schemaname || !strcmp(range->schemaname, "public")))
            return &lowering->tables[i];
    refuse(lowering, place_of(lowering, range->location), "there is no table \"%s\" before this", range->relname);
    return NULL;
}

uint32_t find_column(const struct table *table, const char *name)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].name, name))
            return i;
    return NONE;
}

uint32_t rows_of(const struct table *table)
{
    return table->initial_count + table->slots;
}

uint32_t presence(struct lowering *lowering, const struct table *table, uint32_t row)
{
    if (row < table->initial_count && !table->deletes)
        return make_constant(lowering, 1);
    return make(lowering, ISO_PROVE_READ, table->ir, make_constant(lowering, row), 0);
}

struct value read_column(struct lowering *lowering, const struct entry *entry, uint32_t column)
{
    const struct table *table = entry->table;
    const struct column *read = &table->columns[column];
    if (entry->values)
        return entry->values[column];
    if (!read->changes && read->serial)
        return value_constant(lowering, read->type, (int64_t)entry->row + 1);
    if (!read->changes && entry->row < table->initial_count) {
        int64_t number = table->initial[entry->row * table->column_count + column];
        if (number != INT64_MIN)
            return value_constant(lowering, read->type, number);
        struct value null = value_null(lowering);
        null.type = read->type;
        return null;
    }
    bool known = read->known.low <= read->known.high;
    struct value value = {.type = read->type,
                          .null = NONE,
                          .fails = NONE,
                          .low = known ? read->known.low : 0,
                          .high = known ? read->known.high : 0};
    uint32_t row = make_constant(lowering, entry->row);
    value.at = make(lowering, ISO_PROVE_READ, table->ir, row, 1 + column);
    if (read->flag != NONE)
        value.null = make(lowering, ISO_PROVE_READ, table->ir, row, read->flag);
    return value;
}

struct named {
    struct entry *entry;
    uint32_t column, found;
};

static void find_named(struct named *named, const struct from *from, const char *alias, const char *name)
{
    for (uint32_t i = 0; from && i < from->count; i++) {
        uint32_t column = find_column(from->entries[i].table, name);
        if (column == NONE || (alias && strcmp(alias, from->entries[i].alias)))
            continue;
        named->entry = &from->entries[i];
        named->column = column;
        named->found++;
    }
}

static bool names_of(const PgQuery__ColumnRef *reference, const char **alias, const char **name)
{
    if (reference->n_fields < 1 || reference->n_fields > 2)
        return false;
    for (size_t i = 0; i < reference->n_fields; i++)
        if (reference->fields[i]->node_case != PG_QUERY__NODE__NODE_STRING)
            return false;
    *alias = reference->n_fields == 2 ? name_of(reference->fields[0]) : NULL;
    *name = name_of(reference->fields[reference->n_fields - 1]);
    return true;
}

static struct value variable_value(struct lowering *lowering, uint32_t variable)
{
    const struct variable *read = &lowering->variables[variable];
    const struct state *state = &lowering->states[variable];
    struct value value = {
        .type = read->type, .null = NONE, .fails = NONE, .low = state->interval.low, .high = state->interval.high};
    if (!state->may_be_null && value.low == value.high)
        return value_constant(lowering, read->type, value.low);
    value.at = make(lowering, ISO_PROVE_LOCAL, read->local, NONE, NONE);
    if (state->may_be_null)
        value.null = make(lowering, ISO_PROVE_LOCAL, read->null, NONE, NONE);
    return value;
}

static struct value lower_reference(struct lowering *lowering, const struct scope *scope,
                                    const PgQuery__ColumnRef *reference)
{
    const char *alias, *name;
    size_t place = place_of(lowering, reference->location);
    if (!names_of(reference, &alias, &name)) {
        refuse(lowering, place, "a name of this form (* or three parts): not in the subset that can be proved");
        return value_null(lowering);
    }
    struct named named = {0};
    const struct scope *found = scope;
    for (; found && !named.found; found = named.found ? found : found->outer)
        find_named(&named, found->from, alias, name);
    uint32_t variable = NONE;
    if (lowering->function && (!alias || !strcmp(alias, lowering->function->name)))
        variable = find_variable(lowering, name);
    if (named.found > 1) {
        refuse(lowering, place, "column \"%s\" is ambiguous: name its table", name);
    } else if (named.found && variable != NONE) {
        refuse(lowering, place, "\"%s\" is a column and a variable: PostgreSQL refuses that, too", name);
    } else if (named.found) {
        if (found && found->combos)
            refuse(lowering, place,
                   "column \"%s\" beside an aggregate: GROUP BY is not in the subset that can be proved", name);
        else
            return read_column(lowering, named.entry, named.column);
    } else if (variable != NONE) {
        note_use(lowering, place, variable);
        return variable_value(lowering, variable);
    } else {
        refuse(lowering, place, "there is no column or variable \"%s%s%s\"", alias ? alias : "", alias ? "." : "",
               name);
    }
    return value_null(lowering);
}

/* ---- types ---- */

enum type type_of(struct lowering *lowering, const PgQuery__TypeName *name, bool *serial)
{
    static const struct {
        const char *name;
        enum type type;
        bool serial;
    } types[] = {{"int4", TYPE_INT, false},       {"int8", TYPE_BIGINT, false},     {"bool", TYPE_BOOLEAN, false},
                 {"text", TYPE_TEXT, false},      {"varchar", TYPE_TEXT, false},    {"serial", TYPE_INT, true},
                 {"serial4", TYPE_INT, true},     {"bigserial", TYPE_BIGINT, true}, {"serial8", TYPE_BIGINT, true},
                 {"integer", TYPE_INT, false},    {"int", TYPE_INT, false},         {"bigint", TYPE_BIGINT, false},
                 {"boolean", TYPE_BOOLEAN, false}};
    const char *last = name && name->n_names ? name_of(name->names[name->n_names - 1]) : "";
    if (name && !name->setof && !name->pct_type && !name->n_array_bounds)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (!strcmp(types[i].name, last) && (serial || !types[i].serial)) {
                if (serial)
                    *serial = types[i].serial;
                return types[i].type;
            }
    refuse(lowering, place_of(lowering, name ? name->location : -1),
           "the type %s%s: int, bigint, boolean and text are those that can be proved", last,
           name && name->n_array_bounds ? "[]" : "");
    return TYPE_INT;
}

/* ---- operators ---- */

static uint32_t null_of(struct lowering *lowering, const struct value *a, const struct value *b)
{
    return either(lowering, a->null, b->null);
}

static bool is_number(const struct value *value)
{
    return value->type == TYPE_INT || value->type == TYPE_BIGINT || value->type == TYPE_NULL;
}

static int64_t narrow(__int128 number)
{
    return number > INT64_MAX ? INT64_MAX : number < INT64_MIN ? INT64_MIN : (int64_t)number;
}

static struct value arithmetic(struct lowering *lowering, enum iso_prove_op op, struct value a, struct value b,
                               size_t place)
{
    if (!is_number(&a) || !is_number(&b)) {
        refuse(lowering, place, "arithmetic with %s and %s", type_name(a.type), type_name(b.type));
        return value_null(lowering);
    }
    if (a.type == TYPE_NULL || b.type == TYPE_NULL)
        return value_null(lowering);
    struct value value = {.null = null_of(lowering, &a, &b), .fails = either(lowering, a.fails, b.fails)};
    __int128 ends[4];
    if (op == ISO_PROVE_MULTIPLY) {
        ends[0] = (__int128)a.low * b.low;
        ends[1] = (__int128)a.low * b.high;
        ends[2] = (__int128)a.high * b.low;
        ends[3] = (__int128)a.high * b.high;
    } else {
        int64_t sign = op == ISO_PROVE_ADD ? 1 : -1;
        ends[0] = ends[2] = (__int128)a.low + (sign > 0 ? (__int128)b.low : -(__int128)b.high);
        ends[1] = ends[3] = (__int128)a.high + (sign > 0 ? (__int128)b.high : -(__int128)b.low);
    }
    __int128 low = ends[0], high = ends[0];
    for (int i = 1; i < 4; i++) {
        low = ends[i] < low ? ends[i] : low;
        high = ends[i] > high ? ends[i] : high;
    }
    value.low = narrow(low);
    value.high = narrow(high);
    value.at = make(lowering, op, a.at, b.at, NONE);
    fit(lowering, &value, a.type == TYPE_BIGINT || b.type == TYPE_BIGINT ? TYPE_BIGINT : TYPE_INT);
    return value;
}

/* What the bounds show already: 1, 0, or -1 for neither. */
static int known_order(enum iso_prove_op op, const struct value *a, const struct value *b)
{
    switch (op) {
    case ISO_PROVE_EQUAL:
        return a->low > b->high || a->high < b->low ? 0 : -1;
    case ISO_PROVE_UNEQUAL:
        return a->low > b->high || a->high < b->low ? 1 : -1;
    case ISO_PROVE_LESS:
        return a->high < b->low ? 1 : a->low >= b->high ? 0 : -1;
    case ISO_PROVE_LESS_EQUAL:
        return a->high <= b->low ? 1 : a->low > b->high ? 0 : -1;
    case ISO_PROVE_GREATER:
        return a->low > b->high ? 1 : a->high <= b->low ? 0 : -1;
    default:
        return a->low >= b->high ? 1 : a->high < b->low ? 0 : -1;
    }
}

static struct value compare(struct lowering *lowering, enum iso_prove_op op, struct value a, struct value b,
                            size_t place)
{
    bool equality = op == ISO_PROVE_EQUAL || op == ISO_PROVE_UNEQUAL;
    if (!types_meet(a.type, b.type) || (!equality && (a.type == TYPE_TEXT || b.type == TYPE_TEXT))) {
        refuse(lowering, place, "a comparison of %s and %s%s", type_name(a.type), type_name(b.type),
               a.type == TYPE_TEXT && b.type == TYPE_TEXT ? ": of texts only equality is known" : "");
        return value_null(lowering);
    }
    struct value value = {.type = TYPE_BOOLEAN,
                          .null = null_of(lowering, &a, &b),
                          .low = 0,
                          .high = 1,
                          .fails = either(lowering, a.fails, b.fails)};
    int known = known_order(op, &a, &b);
    value.at = known >= 0 ? make_constant(lowering, known) : make(lowering, op, a.at, b.at, NONE);
    return value;
}

struct value compare_equal(struct lowering *lowering, struct value a, struct value b, size_t place)
{
    return compare(lowering, ISO_PROVE_EQUAL, a, b, place);
}

static struct value conjunction(struct lowering *lowering, struct value a, struct value b)
{
    uint32_t true_a = truth_of(lowering, &a), true_b = truth_of(lowering, &b);
    struct value value = value_condition(lowering, both(lowering, true_a, true_b));
    value.fails = either(lowering, a.fails, b.fails);
    uint32_t null = null_of(lowering, &a, &b);
    if (null != NONE) { /* neither is false */
        uint32_t maybe = both(lowering, either(lowering, true_a, a.null), either(lowering, true_b, b.null));
        value.null = both(lowering, null, maybe);
    }
    return value;
}

static struct value negation(struct lowering *lowering, struct value a)
{
    uint32_t fails = a.fails, null = a.null;
    a = value_condition(lowering, inverse(lowering, both(lowering, a.at, make_constant(lowering, 1))));
    a.fails = fails;
    a.null = null;
    return a;
}

static struct value need_condition(struct lowering *lowering, struct value value, const PgQuery__Node *node)
{
    if (value.type != TYPE_BOOLEAN && value.type != TYPE_NULL)
        refuse(lowering, place_of(lowering, location_of(node)), "a condition is needed here, this is %s",
               type_name(value.type));
    value.type = TYPE_BOOLEAN;
    return value;
}

static struct value lower_bool(struct lowering *lowering, const struct scope *scope, const PgQuery__BoolExpr *node)
{
    struct value value = need_condition(lowering, lower(lowering, scope, node->args[0]), node->args[0]);
    if (node->boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR)
        return negation(lowering, value);
    bool or = node->boolop == PG_QUERY__BOOL_EXPR_TYPE__OR_EXPR; /* by De Morgan */
    value = or ? negation(lowering, value) : value;
    for (size_t i = 1; i < node->n_args && !failed(lowering); i++) {
        struct value next = need_condition(lowering, lower(lowering, scope, node->args[i]), node->args[i]);
        value = conjunction(lowering, value, or ? negation(lowering, next) : next);
    }
    return or ? negation(lowering, value) : value;
}

static struct value lower_operator(struct lowering *lowering, const struct scope *scope, const PgQuery__AExpr *node)
{
    static const struct {
        const char *name;
        enum iso_prove_op op;
    } operators[] = {{"+", ISO_PROVE_ADD},         {"-", ISO_PROVE_SUBTRACT}, {"*", ISO_PROVE_MULTIPLY},
                     {"=", ISO_PROVE_EQUAL},       {"<>", ISO_PROVE_UNEQUAL}, {"<", ISO_PROVE_LESS},
                     {"<=", ISO_PROVE_LESS_EQUAL}, {">", ISO_PROVE_GREATER},  {">=", ISO_PROVE_GREATER_EQUAL}};
    size_t place = place_of(lowering, node->location);
    const char *name = node->n_name == 1 ? name_of(node->name[0]) : "";
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        enum iso_prove_op op = operators[i].op;
        if (strcmp(operators[i].name, name))
            continue;
        if (!node->lexpr && (op == ISO_PROVE_SUBTRACT || op == ISO_PROVE_ADD))
            return arithmetic(lowering, op, value_constant(lowering, TYPE_INT, 0), lower(lowering, scope, node->rexpr),
                              place);
        if (!node->lexpr)
            break;
        struct value a = lower(lowering, scope, node->lexpr), b = lower(lowering, scope, node->rexpr);
        if (op <= ISO_PROVE_MULTIPLY)
            return arithmetic(lowering, op, a, b, place);
        return compare(lowering, op, a, b, place);
    }
    refuse(lowering, place, "the operator %s: not in the subset that can be proved", name);
    return value_null(lowering);
}

static struct value lower_between(struct lowering *lowering, const struct scope *scope, const PgQuery__AExpr *node)
{
    size_t place = place_of(lowering, node->location);
    const PgQuery__List *bounds = node->rexpr->list;
    struct value value = lower(lowering, scope, node->lexpr);
    struct value low = lower(lowering, scope, bounds->items[0]), high = lower(lowering, scope, bounds->items[1]);
    value = conjunction(lowering, compare(lowering, ISO_PROVE_GREATER_EQUAL, value, low, place),
                        compare(lowering, ISO_PROVE_LESS_EQUAL, value, high, place));
    return node->kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN ? value : negation(lowering, value);
}

static struct value lower_in(struct lowering *lowering, const struct scope *scope, const PgQuery__AExpr *node)
{
    size_t place = place_of(lowering, node->location);
    struct value value = lower(lowering, scope, node->lexpr), result = value_constant(lowering, TYPE_BOOLEAN, 1);
    if (node->rexpr->node_case != PG_QUERY__NODE__NODE_LIST) {
        refuse_node(lowering, node->rexpr, "IN without a list");
        return value;
    }
    for (size_t i = 0; i < node->rexpr->list->n_items && !failed(lowering); i++) {
        struct value one = lower(lowering, scope, node->rexpr->list->items[i]);
        result = conjunction(lowering, result, compare(lowering, ISO_PROVE_UNEQUAL, value, one, place));
    }
    bool in = node->n_name && !strcmp(name_of(node->name[0]), "=");
    return in ? negation(lowering, result) : result;
}

static struct value lower_distinct(struct lowering *lowering, const struct scope *scope, const PgQuery__AExpr *node)
{
    struct value a = lower(lowering, scope, node->lexpr), b = lower(lowering, scope, node->rexpr);
    struct value equal = compare(lowering, ISO_PROVE_EQUAL, a, b, place_of(lowering, node->location));
    uint32_t same = either(lowering, truth_of(lowering, &equal), both(lowering, a.null, b.null));
    struct value value = value_condition(lowering, same);
    value.fails = equal.fails;
    return node->kind == PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT ? negation(lowering, value) : value;
}

static struct value lower_a_expression(struct lowering *lowering, const struct scope *scope, const PgQuery__AExpr *node)
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
        refuse(lowering, place_of(lowering, node->location), "LIKE: not in the subset that can be proved");
        break;
    default:
        refuse(lowering, place_of(lowering, node->location),
               "this form of an operator (ANY, ALL, NULLIF, SYMMETRIC): not in the subset that can be proved");
    }
    return value_null(lowering);
}

static struct value lower_constant(struct lowering *lowering, const PgQuery__AConst *node)
{
    if (node->isnull)
        return value_null(lowering);
    switch ((int)node->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
        return value_constant(lowering, TYPE_INT, node->ival->ival);
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
        return value_constant(lowering, TYPE_BOOLEAN, node->boolval->boolval);
    case PG_QUERY__A__CONST__VAL_SVAL: {
        struct value value = value_constant(lowering, TYPE_TEXT, text_number(lowering, node->sval->sval));
        return value;
    }
    case PG_QUERY__A__CONST__VAL_FVAL: { /* an integer that is no int4 comes as this, too */
        int64_t number = 0;
        bool digits = *node->fval->fval, negative = *node->fval->fval == '-';
        for (const char *at = node->fval->fval + negative; *at && digits; at++)
            digits = *at >= '0' && *at <= '9' && !__builtin_mul_overflow(number, 10, &number) &&
                     !__builtin_add_overflow(number, *at - '0', &number);
        if (digits && number < (int64_t)1 << 61)
            return value_constant(lowering, TYPE_BIGINT, negative ? -number : number);
        refuse(lowering, place_of(lowering, node->location),
               "the number %s: only integers of less than 62 bits can be proved", node->fval->fval);
        break;
    }
    default:
        refuse(lowering, place_of(lowering, node->location), "this constant: not in the subset that can be proved");
    }
    return value_null(lowering);
}

static struct value lower_case(struct lowering *lowering, const struct scope *scope, const PgQuery__CaseExpr *node)
{
    struct value value = node->defresult ? lower(lowering, scope, node->defresult) : value_null(lowering);
    struct value asked = {0};
    if (node->arg)
        asked = lower(lowering, scope, node->arg);
    for (size_t i = node->n_args; i-- > 0 && !failed(lowering);) {
        const PgQuery__CaseWhen *when = node->args[i]->case_when;
        struct value condition = lower(lowering, scope, when->expr), result = lower(lowering, scope, when->result);
        if (node->arg)
            condition = compare(lowering, ISO_PROVE_EQUAL, asked, condition, place_of(lowering, when->location));
        condition = need_condition(lowering, condition, when->expr);
        if (!types_meet(value.type, result.type))
            refuse(lowering, place_of(lowering, when->location), "CASE gives %s and %s", type_name(value.type),
                   type_name(result.type));
        value = value_choose(lowering, truth_of(lowering, &condition), result, value);
        value.fails = either(lowering, condition.fails, value.fails);
    }
    return value;
}

static struct value lower_coalesce(struct lowering *lowering, const struct scope *scope,
                                   PgQuery__Node *const *arguments, size_t count)
{
    struct value first = lower(lowering, scope, arguments[0]);
    if (count == 1 || first.null == NONE)
        return first;
    struct value rest = lower_coalesce(lowering, scope, arguments + 1, count - 1);
    if (!types_meet(first.type, rest.type))
        refuse(lowering, place_of(lowering, location_of(arguments[1])), "COALESCE of %s and %s", type_name(first.type),
               type_name(rest.type));
    uint32_t fails = first.fails, present = inverse(lowering, first.null);
    first.null = first.fails = NONE;
    struct value value = value_choose(lowering, present, first, rest);
    value.fails = either(lowering, fails, value.fails);
    return value;
}

/* GREATEST and LEAST pass over NULL. */
static struct value more_of(struct lowering *lowering, struct value a, struct value b, bool greatest, size_t place)
{
    struct value wins = compare(lowering, greatest ? ISO_PROVE_GREATER_EQUAL : ISO_PROVE_LESS_EQUAL, a, b, place);
    uint32_t first = either(lowering, truth_of(lowering, &wins), both(lowering, b.null, inverse(lowering, a.null)));
    struct value value = value_choose(lowering, first, a, b);
    value.fails = either(lowering, a.fails, b.fails);
    value.null = both(lowering, a.null, b.null);
    if (a.null == NONE && b.null == NONE) {
        int64_t low = a.low > b.low ? a.low : b.low, high = a.high < b.high ? a.high : b.high;
        value.low = greatest ? low : value.low;
        value.high = greatest ? value.high : high;
    }
    return value;
}

static struct value lower_cast(struct lowering *lowering, const struct scope *scope, const PgQuery__TypeCast *node)
{
    struct value value = lower(lowering, scope, node->arg);
    enum type type = type_of(lowering, node->type_name, NULL);
    if (!types_meet(value.type, type))
        refuse(lowering, place_of(lowering, node->location), "a cast of %s to %s: not in the subset that can be proved",
               type_name(value.type), type_name(type));
    if (type == TYPE_INT && value.type == TYPE_BIGINT)
        fit(lowering, &value, TYPE_INT);
    value.type = type;
    return value;
}

static struct value lower_test(struct lowering *lowering, const struct scope *scope, const PgQuery__BooleanTest *node)
{
    struct value value = need_condition(lowering, lower(lowering, scope, node->arg), node->arg);
    uint32_t fails = value.fails, truth = truth_of(lowering, &value), result;
    switch ((int)node->booltesttype) {
    case PG_QUERY__BOOL_TEST_TYPE__IS_TRUE:
    case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE:
        result = truth;
        break;
    case PG_QUERY__BOOL_TEST_TYPE__IS_FALSE:
    case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE:
        result = inverse(lowering, either(lowering, truth, value.null));
        break;
    default:
        result = value.null;
    }
    value = value_condition(lowering, result);
    value.fails = fails;
    bool not = node->booltesttype == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE ||
               node->booltesttype == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE ||
               node->booltesttype == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN;
    return not ? negation(lowering, value) : value;
}

/* ---- queries ---- */

bool plain_select(struct lowering *lowering, const PgQuery__SelectStmt *select)
{
    const char *what = NULL;
    const PgQuery__Node *node = NULL;
    if (select->op != PG_QUERY__SET_OPERATION__SETOP_NONE)
        what = "UNION, INTERSECT or EXCEPT";
    else if (select->n_distinct_clause)
        what = "DISTINCT";
    else if (select->n_group_clause)
        what = "GROUP BY", node = select->group_clause[0];
    else if (select->having_clause)
        what = "HAVING", node = select->having_clause;
    else if (select->n_window_clause)
        what = "WINDOW";
    else if (select->n_values_lists)
        what = "VALUES as a query";
    else if (select->n_sort_clause)
        what = "ORDER BY", node = select->sort_clause[0];
    else if (select->limit_count || select->limit_offset)
        what = "LIMIT or OFFSET", node = select->limit_count ? select->limit_count : select->limit_offset;
    else if (select->with_clause)
        what = "WITH";
    else if (select->into_clause)
        what = "SELECT INTO a table";
    if (!node && select->n_target_list)
        node = select->target_list[0];
    if (what)
        refuse_node(lowering, node, what);
    return !what;
}

static bool add_table(struct lowering *lowering, struct from *from, const PgQuery__RangeVar *range)
{
    struct table *table = find_table(lowering, range);
    if (!table)
        return false;
    const char *alias = range->alias ? range->alias->aliasname : table->name;
    for (uint32_t i = 0; i < from->count; i++)
        if (!strcmp(from->entries[i].alias, alias))
            refuse(lowering, place_of(lowering, range->location), "the name \"%s\" stands twice in this FROM", alias);
    ISO_GROW(from->entries, from->count, from->capacity);
    from->entries[from->count++] = (struct entry){alias, table, NONE, NULL};
    return true;
}

static bool open_item(struct lowering *lowering, struct from *from, const PgQuery__Node *node)
{
    if (node->node_case == PG_QUERY__NODE__NODE_RANGE_VAR)
        return add_table(lowering, from, node->range_var);
    if (node->node_case != PG_QUERY__NODE__NODE_JOIN_EXPR) {
        refuse_node(lowering, node, "a query or a function in FROM");
        return false;
    }
    const PgQuery__JoinExpr *join = node->join_expr;
    if (join->jointype != PG_QUERY__JOIN_TYPE__JOIN_INNER || join->is_natural || join->n_using_clause || join->alias) {
        refuse_node(lowering, node, "an outer or natural JOIN, or one with USING");
        return false;
    }
    if (!open_item(lowering, from, join->larg) || !open_item(lowering, from, join->rarg))
        return false;
    if (join->quals) {
        ISO_GROW(from->conditions, from->condition_count, from->condition_capacity);
        from->conditions[from->condition_count++] = join->quals;
    }
    return true;
}

bool open_from(struct lowering *lowering, struct from *from, PgQuery__Node *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!open_item(lowering, from, list[i]))
            return false;
    return !failed(lowering);
}

void close_from(struct from *from)
{
    iso_free(from->entries);
    iso_free(from->conditions);
    *from = (struct from){0};
}

static void add_condition(struct from *from, const PgQuery__Node *node)
{
    if (!node)
        return;
    ISO_GROW(from->conditions, from->condition_count, from->condition_capacity);
    from->conditions[from->condition_count++] = node;
}

uint32_t lower_condition(struct lowering *lowering, const struct scope *scope, const PgQuery__Node *node,
                         uint32_t *fails)
{
    if (!node)
        return make_constant(lowering, 1);
    struct value value = need_condition(lowering, lower(lowering, scope, node), node);
    *fails = either(lowering, *fails, value.fails);
    return truth_of(lowering, &value);
}

static void add_combo(struct lowering *lowering, const struct scope *scope, struct combos *combos)
{
    struct from *from = scope->from;
    uint32_t match = make_constant(lowering, 1), fails = NONE;
    for (uint32_t i = 0; i < from->count; i++)
        match = both(lowering, match, presence(lowering, from->entries[i].table, from->entries[i].row));
    uint32_t present = match;
    for (uint32_t i = 0; i < from->condition_count && match != NONE; i++)
        match = both(lowering, match, lower_condition(lowering, scope, from->conditions[i], &fails));
    combos->fails = either(lowering, combos->fails, both(lowering, present, fails));
    if (match == NONE)
        return;
    if (combos->count == combos->capacity) {
        combos->capacity = combos->capacity ? 2 * combos->capacity : 16;
        combos->matches = iso_reallocate(combos->matches, iso_list_bytes(combos->capacity, sizeof(uint32_t)));
        combos->rows = iso_reallocate(combos->rows,
                                      iso_list_bytes((size_t)combos->capacity * (from->count + 1), sizeof(uint32_t)));
    }
    for (uint32_t i = 0; i < from->count; i++)
        combos->rows[combos->count * from->count + i] = from->entries[i].row;
    combos->matches[combos->count++] = match;
}

static void add_combos(struct lowering *lowering, const struct scope *scope, struct combos *combos, uint32_t entry)
{
    struct from *from = scope->from;
    if (entry == from->count) {
        add_combo(lowering, scope, combos);
        return;
    }
    for (uint32_t row = 0; row < rows_of(from->entries[entry].table) && !failed(lowering); row++) {
        from->entries[entry].row = row;
        add_combos(lowering, scope, combos, entry + 1);
    }
}

void find_combos(struct lowering *lowering, const struct scope *outer, struct from *from, struct combos *combos)
{
    struct scope scope = {outer, from, NULL};
    uint64_t product = 1;
    *combos = (struct combos){.width = from->count, .fails = NONE};
    for (uint32_t i = 0; i < from->count && product <= MOST_COMBOS; i++)
        product *= rows_of(from->entries[i].table);
    if (product > MOST_COMBOS) {
        refuse(lowering, lowering->span.begin, "a query of more than %d combinations of rows", MOST_COMBOS);
        return;
    }
    add_combos(lowering, &scope, combos, 0);
}

void release_combos(struct combos *combos)
{
    iso_free(combos->rows);
    iso_free(combos->matches);
    *combos = (struct combos){0};
}

void choose_rows(struct from *from, const struct combos *combos, uint32_t combo)
{
    for (uint32_t i = 0; i < from->count; i++)
        from->entries[i].row = combos->rows[combo * combos->width + i];
}

/* ---- aggregates ---- */

static bool is_aggregate_name(const char *name)
{
    return !strcmp(name, "count") || !strcmp(name, "sum") || !strcmp(name, "min") || !strcmp(name, "max");
}

static bool find_aggregate(void *with, const PgQuery__Node *node)
{
    if (node->node_case == PG_QUERY__NODE__NODE_SUB_LINK)
        return false;
    if (node->node_case == PG_QUERY__NODE__NODE_FUNC_CALL && node->func_call->n_funcname == 1 &&
        is_aggregate_name(name_of(node->func_call->funcname[0])))
        *(bool *)with = true;
    return true;
}

bool is_aggregated(const PgQuery__SelectStmt *select)
{
    bool found = false;
    for (size_t i = 0; i < select->n_target_list; i++)
        each_node(&select->target_list[i]->base, find_aggregate, &found);
    return found;
}

struct folded {
    uint32_t *matches, *values;
    uint32_t count, fails;
    struct interval interval;
    enum type type;
};

/* The argument in each combination of rows: where it counts, and what it is. */
static void fold_rows(struct lowering *lowering, const struct scope *scope, const PgQuery__Node *argument,
                      struct folded *folded)
{
    const struct combos *combos = scope->combos;
    struct scope inner = {scope->outer, scope->from, NULL};
    folded->matches = iso_allocate(iso_list_bytes(combos->count + 1, sizeof(uint32_t)));
    folded->values = iso_allocate(iso_list_bytes(combos->count + 1, sizeof(uint32_t)));
    folded->fails = NONE;
    folded->interval = (struct interval){1, 0};
    for (uint32_t i = 0; i < combos->count && !failed(lowering); i++) {
        choose_rows(scope->from, combos, i);
        uint32_t match = combos->matches[i], at = NONE;
        if (argument) {
            struct value value = lower(lowering, &inner, argument);
            folded->type = value.type > folded->type ? value.type : folded->type;
            folded->fails = either(lowering, folded->fails, both(lowering, match, value.fails));
            if (value.null != NONE)
                match = both(lowering, match, inverse(lowering, value.null));
            at = value.at;
            if (match != NONE)
                hull(&folded->interval, value.low, value.high);
        }
        if (match == NONE)
            continue;
        folded->matches[folded->count] = match;
        folded->values[folded->count++] = at;
    }
}

/* The greatest or least of those that match, with whether one does. */
static void extreme_of(struct lowering *lowering, const struct folded *folded, uint32_t first, uint32_t count,
                       bool greatest, uint32_t *at, uint32_t *any)
{
    if (count == 1) {
        *at = folded->values[first];
        *any = folded->matches[first];
        return;
    }
    uint32_t half = count / 2, one, one_any, other, other_any;
    extreme_of(lowering, folded, first, half, greatest, &one, &one_any);
    extreme_of(lowering, folded, first + half, count - half, greatest, &other, &other_any);
    uint32_t wins = make(lowering, greatest ? ISO_PROVE_GREATER_EQUAL : ISO_PROVE_LESS_EQUAL, one, other, NONE);
    wins = both(lowering, one_any, either(lowering, wins, inverse(lowering, other_any)));
    *at = choose(lowering, wins, one, other);
    *any = either(lowering, one_any, other_any);
}

static struct value fold_up(struct lowering *lowering, const char *name, struct folded *folded, size_t place)
{
    uint32_t zero = make_constant(lowering, 0), any = any_of(lowering, folded->matches, folded->count);
    struct value value = value_constant(lowering, TYPE_BIGINT, 0);
    value.fails = folded->fails;
    if (!strcmp(name, "count")) {
        for (uint32_t i = 0; i < folded->count; i++)
            folded->values[i] = choose(lowering, folded->matches[i], make_constant(lowering, 1), zero);
        value.at = sum_of(lowering, folded->values, folded->count);
        value.high = folded->count;
        return value;
    }
    value.type = folded->type;
    if (folded->type == TYPE_BOOLEAN || folded->type == TYPE_TEXT)
        refuse(lowering, place, "%s of %s: not in the subset that can be proved", name, type_name(folded->type));
    if (!folded->count) {
        value = value_null(lowering);
        value.fails = folded->fails;
    } else if (!strcmp(name, "sum")) {
        for (uint32_t i = 0; i < folded->count; i++)
            folded->values[i] = choose(lowering, folded->matches[i], folded->values[i], zero);
        value.at = sum_of(lowering, folded->values, folded->count);
        value.low = folded->interval.low < 0 ? narrow((__int128)folded->interval.low * folded->count) : 0;
        value.high = folded->interval.high > 0 ? narrow((__int128)folded->interval.high * folded->count) : 0;
        fit(lowering, &value, TYPE_BIGINT);
    } else {
        extreme_of(lowering, folded, 0, folded->count, *name == 'm' && name[1] == 'a', &value.at, &any);
        value.low = folded->interval.low;
        value.high = folded->interval.high;
    }
    if (folded->count)
        value.null = either(lowering, value.null,
                            any == NONE ? make_constant(lowering, 1)
                                        : both(lowering, inverse(lowering, any), make_constant(lowering, 1)));
    return value;
}

static struct value lower_aggregate(struct lowering *lowering, const struct scope *scope, const char *name,
                                    const PgQuery__FuncCall *node)
{
    size_t place = place_of(lowering, node->location);
    struct folded folded = {0};
    while (scope && !scope->combos)
        scope = scope->outer;
    if (node->n_agg_order || node->agg_filter || node->over || node->agg_distinct || node->agg_within_group ||
        node->func_variadic || node->n_args != (node->agg_star ? 0u : 1u)) {
        refuse(lowering, place, "%s with DISTINCT, FILTER, ORDER BY or OVER: not in the subset that can be proved",
               name);
        return value_null(lowering);
    }
    if (!scope || (node->agg_star && strcmp(name, "count"))) {
        refuse(lowering, place, "an aggregate cannot stand here");
        return value_null(lowering);
    }
    fold_rows(lowering, scope, node->agg_star ? NULL : node->args[0], &folded);
    struct value value = failed(lowering) ? value_null(lowering) : fold_up(lowering, name, &folded, place);
    iso_free(folded.matches);
    iso_free(folded.values);
    return value;
}

static struct value lower_call(struct lowering *lowering, const struct scope *scope, const PgQuery__FuncCall *node)
{
    const char *name = node->n_funcname ? name_of(node->funcname[node->n_funcname - 1]) : "";
    if (is_aggregate_name(name) && node->n_funcname == 1)
        return lower_aggregate(lowering, scope, name, node);
    if (!strcmp(name, "abs") && node->n_args == 1 && !node->over) {
        struct value value = lower(lowering, scope, node->args[0]);
        size_t place = place_of(lowering, node->location);
        struct value less =
            arithmetic(lowering, ISO_PROVE_SUBTRACT, value_constant(lowering, value.type, 0), value, place);
        return more_of(lowering, value, less, true, place);
    }
    refuse(lowering, place_of(lowering, node->location), "the function %s: not in the subset that can be proved", name);
    return value_null(lowering);
}

/* ---- queries as values ---- */

static const PgQuery__Node *only_target(struct lowering *lowering, const PgQuery__SelectStmt *select, size_t place)
{
    if (select->n_target_list == 1 && select->target_list[0]->node_case == PG_QUERY__NODE__NODE_RES_TARGET)
        return select->target_list[0]->res_target->val;
    refuse(lowering, place, "a query as a value has one column");
    return NULL;
}

/* The one row's value; two rows fail. */
static struct value one_of(struct lowering *lowering, const struct scope *scope, const struct combos *combos,
                           const PgQuery__Node *target, bool certain)
{
    struct value value = value_null(lowering);
    uint32_t *ones = iso_allocate(iso_list_bytes(combos->count + 1, sizeof(uint32_t)));
    for (uint32_t i = combos->count; i-- > 0 && !failed(lowering);) {
        choose_rows(scope->from, combos, i);
        value = value_choose(lowering, combos->matches[i], lower(lowering, scope, target), value);
        ones[i] = choose(lowering, combos->matches[i], make_constant(lowering, 1), make_constant(lowering, 0));
    }
    if (!certain && combos->count > 1 && !failed(lowering)) {
        uint32_t many =
            make(lowering, ISO_PROVE_GREATER, sum_of(lowering, ones, combos->count), make_constant(lowering, 1), NONE);
        value.fails = either(lowering, value.fails, both(lowering, many, make_constant(lowering, 1)));
    }
    iso_free(ones);
    return value;
}

static struct value any_equal(struct lowering *lowering, const struct scope *scope, const struct combos *combos,
                              const PgQuery__Node *target, const PgQuery__SubLink *link)
{
    struct value asked = lower(lowering, scope->outer, link->testexpr);
    uint32_t truth = NONE, null = NONE, fails = asked.fails;
    for (uint32_t i = 0; i < combos->count && !failed(lowering); i++) {
        choose_rows(scope->from, combos, i);
        struct value equal = compare(lowering, ISO_PROVE_EQUAL, asked, lower(lowering, scope, target),
                                     place_of(lowering, link->location));
        truth = either(lowering, truth, both(lowering, combos->matches[i], truth_of(lowering, &equal)));
        null = either(lowering, null, both(lowering, combos->matches[i], equal.null));
        fails = either(lowering, fails, both(lowering, combos->matches[i], equal.fails));
    }
    struct value value = value_condition(lowering, truth);
    value.null = both(lowering, null, inverse(lowering, truth));
    value.fails = fails;
    return value;
}

static struct value query_value(struct lowering *lowering, const struct scope *outer, const PgQuery__SubLink *link,
                                const PgQuery__SelectStmt *select, struct from *from)
{
    size_t place = place_of(lowering, link->location);
    struct value value = value_null(lowering);
    struct combos combos;
    add_condition(from, select->where_clause);
    bool certain = at_most_one(lowering, from);
    find_combos(lowering, outer, from, &combos);
    struct scope scope = {outer, from, NULL};
    bool aggregated = is_aggregated(select);
    if (failed(lowering)) {
        release_combos(&combos);
        return value;
    }
    if (link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK) {
        value = value_condition(lowering, aggregated ? make_constant(lowering, 1)
                                                     : any_of(lowering, combos.matches, combos.count));
    } else {
        const PgQuery__Node *target = only_target(lowering, select, place);
        if (target && link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK && !aggregated) {
            value = any_equal(lowering, &scope, &combos, target, link);
        } else if (target && link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK) {
            refuse(lowering, place, "IN of an aggregate: not in the subset that can be proved");
        } else if (target && aggregated) {
            scope.combos = &combos;
            value = lower(lowering, &scope, target);
        } else if (target) {
            value = one_of(lowering, &scope, &combos, target, certain);
        }
    }
    value.fails = either(lowering, value.fails, combos.fails);
    release_combos(&combos);
    return value;
}

static struct value lower_query(struct lowering *lowering, const struct scope *outer, const PgQuery__SubLink *link)
{
    size_t place = place_of(lowering, link->location);
    struct value value = value_null(lowering);
    bool any = link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK;
    if ((link->sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK &&
         link->sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK && !any) ||
        (any && link->n_oper_name) || link->subselect->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
        refuse(lowering, place, "this form of a sub-select: EXISTS, IN and a value are those that can be proved");
        return value;
    }
    const PgQuery__SelectStmt *select = link->subselect->select_stmt;
    if (select->n_locking_clause)
        refuse(lowering, place, "FOR UPDATE in a sub-select: not in the subset that can be proved");
    if (!plain_select(lowering, select))
        return value;
    struct from from = {0};
    if (open_from(lowering, &from, select->from_clause, select->n_from_clause))
        value = query_value(lowering, outer, link, select, &from);
    close_from(&from);
    return value;
}

/* ---- which rows a condition fixes ---- */

struct mention {
    const struct from *from;
    const bool *fixed;
    bool other; /* it names a table that is not fixed, or may */
};

static bool find_mention(void *with, const PgQuery__Node *node)
{
    struct mention *mention = with;
    const char *alias, *name;
    if (node->node_case == PG_QUERY__NODE__NODE_SUB_LINK)
        mention->other = true;
    if (node->node_case != PG_QUERY__NODE__NODE_COLUMN_REF)
        return true;
    struct named named = {0};
    if (!names_of(node->column_ref, &alias, &name)) {
        mention->other = true;
        return true;
    }
    find_named(&named, mention->from, alias, name);
    if (named.found && !mention->fixed[named.entry - mention->from->entries])
        mention->other = true;
    return true;
}

static void fix_by(const struct from *from, const bool *fixed, const PgQuery__Node *column, const PgQuery__Node *by,
                   uint64_t *columns)
{
    const char *alias, *name;
    struct named named = {0};
    struct mention mention = {from, fixed, false};
    if (column->node_case != PG_QUERY__NODE__NODE_COLUMN_REF || !names_of(column->column_ref, &alias, &name))
        return;
    find_named(&named, from, alias, name);
    if (named.found != 1)
        return;
    each_node(&by->base, find_mention, &mention);
    if (!mention.other)
        columns[named.entry - from->entries] |= (uint64_t)1 << named.column;
}

static void fix_columns(const struct from *from, const bool *fixed, const PgQuery__Node *node, uint64_t *columns)
{
    if (node->node_case == PG_QUERY__NODE__NODE_BOOL_EXPR &&
        node->bool_expr->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR) {
        for (size_t i = 0; i < node->bool_expr->n_args; i++)
            fix_columns(from, fixed, node->bool_expr->args[i], columns);
    } else if (node->node_case == PG_QUERY__NODE__NODE_A_EXPR &&
               node->a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP && node->a_expr->lexpr &&
               node->a_expr->n_name == 1 && !strcmp(name_of(node->a_expr->name[0]), "=")) {
        fix_by(from, fixed, node->a_expr->lexpr, node->a_expr->rexpr, columns);
        fix_by(from, fixed, node->a_expr->rexpr, node->a_expr->lexpr, columns);
    }
}

static bool is_fixed(const struct table *table, uint64_t columns)
{
    for (uint32_t i = 0; i < table->unique_count; i++) {
        const struct unique *unique = &table->uniques[i];
        bool all = true;
        for (uint32_t j = 0; j < unique->count; j++)
            all = all && columns >> unique->columns[j] & 1;
        if (all)
            return true;
    }
    return rows_of(table) <= 1;
}

bool at_most_one(struct lowering *lowering, const struct from *from)
{
    (void)lowering;
    bool *fixed = iso_allocate_zeroed(from->count + 1, sizeof *fixed);
    uint64_t *columns = iso_allocate_zeroed(from->count + 1, sizeof *columns);
    bool changed = true, all = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < from->condition_count; i++)
            fix_columns(from, fixed, from->conditions[i], columns);
        for (uint32_t i = 0; i < from->count; i++)
            if (!fixed[i] && is_fixed(from->entries[i].table, columns[i]))
                fixed[i] = changed = true;
    }
    for (uint32_t i = 0; i < from->count; i++)
        all = all && fixed[i];
    iso_free(fixed);
    iso_free(columns);
    return all;
}

/* ---- all of them ---- */

struct value lower(struct lowering *lowering, const struct scope *scope, const PgQuery__Node *node)
{
    if (!(++lowering->work & 63) && iso_prove_stop_asked(&lowering->program->stop))
        iso_error_set(lowering->error, ISO_UNDECIDED, "%s: the time is up", lowering->file);
    if (failed(lowering))
        return value_null(lowering);
    for (uint32_t i = 0; i < lowering->hoisted_count; i++)
        if (lowering->hoisted[i].node == node)
            return lowering->hoisted[i].value;
    switch ((int)node->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST:
        return lower_constant(lowering, node->a_const);
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        return lower_reference(lowering, scope, node->column_ref);
    case PG_QUERY__NODE__NODE_A_EXPR:
        return lower_a_expression(lowering, scope, node->a_expr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
        return lower_bool(lowering, scope, node->bool_expr);
    case PG_QUERY__NODE__NODE_CASE_EXPR:
        return lower_case(lowering, scope, node->case_expr);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
        return lower_coalesce(lowering, scope, node->coalesce_expr->args, node->coalesce_expr->n_args);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        return lower_call(lowering, scope, node->func_call);
    case PG_QUERY__NODE__NODE_SUB_LINK:
        return lower_query(lowering, scope, node->sub_link);
    case PG_QUERY__NODE__NODE_TYPE_CAST:
        return lower_cast(lowering, scope, node->type_cast);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
        return lower_test(lowering, scope, node->boolean_test);
    case PG_QUERY__NODE__NODE_NULL_TEST: {
        struct value value = lower(lowering, scope, node->null_test->arg);
        uint32_t fails = value.fails;
        value = value_condition(lowering, value.null);
        value.fails = fails;
        return node->null_test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL ? value : negation(lowering, value);
    }
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: {
        const PgQuery__MinMaxExpr *extreme = node->min_max_expr;
        struct value value = lower(lowering, scope, extreme->args[0]);
        for (size_t i = 1; i < extreme->n_args; i++)
            value = more_of(lowering, value, lower(lowering, scope, extreme->args[i]),
                            extreme->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST, place_of(lowering, extreme->location));
        return value;
    }
    default:
        refuse_node(lowering, node, construct_of(node));
        return value_null(lowering);
    }
}
