/* count, sum, min and max over the combinations of rows of a query: those that do not match, and
 * NULL, are passed over. */
#include <assert.h>
#include <string.h>

#include "lower/lower_private.h"

bool lower_is_aggregate_name(const char *name)
{
    return !strcmp(name, "count") || !strcmp(name, "sum") || !strcmp(name, "min") ||
           !strcmp(name, "max");
}

static bool find_aggregate(void *with, const PgQuery__Node *node)
{
    if (node->node_case == PG_QUERY__NODE__NODE_SUB_LINK)
        return false;
    if (node->node_case == PG_QUERY__NODE__NODE_FUNC_CALL && node->func_call->n_funcname == 1 &&
        lower_is_aggregate_name(lower_name_of(node->func_call->funcname[0])))
        *(bool *)with = true;
    return true;
}

bool lower_is_aggregated(const PgQuery__SelectStmt *select)
{
    bool found = false;
    for (size_t i = 0; i < select->n_target_list; i++)
        lower_each_node(&select->target_list[i]->base, find_aggregate, &found);
    return found;
}

struct folded {
    uint32_t *matches, *values;
    uint32_t count, fails;
    struct interval interval;
    enum type type;
};

/* The argument in each combination of rows: where it counts, and what it is. */
static void fold_rows(struct lowering *lowering, const struct scope *scope,
                      const PgQuery__Node *argument, struct folded *folded)
{
    assert(scope->combos);
    const struct combos *combos = scope->combos;
    struct scope inner = {scope->outer, scope->from, NULL};
    folded->matches = iso_allocate(iso_list_bytes(combos->count + 1, sizeof(uint32_t)));
    folded->values = iso_allocate(iso_list_bytes(combos->count + 1, sizeof(uint32_t)));
    folded->fails = NONE;
    folded->interval = (struct interval){1, 0};
    if (argument && !combos->count)
        folded->type = lower_read_of_nothing(lowering, &inner, argument).type;
    for (uint32_t i = 0; i < combos->count && !failed(lowering); i++) {
        lower_choose_rows(scope->from, combos, i);
        uint32_t match = combos->matches[i], at = NONE;
        if (argument) {
            struct value value = lower_expression(lowering, &inner, argument);
            folded->type = value.type > folded->type ? value.type : folded->type;
            folded->fails =
                lower_or(lowering, folded->fails, lower_and(lowering, match, value.fails));
            if (value.null != NONE)
                match = lower_and(lowering, match, lower_not(lowering, value.null));
            at = value.at;
            if (match != NONE)
                lower_widen(&folded->interval, value.low, value.high);
        }
        if (match == NONE)
            continue;
        folded->matches[folded->count] = match;
        folded->values[folded->count++] = at;
    }
}

/* The greatest or least of those that match, with whether one does. */
static void extreme_of(struct lowering *lowering, const struct folded *folded, uint32_t first,
                       uint32_t count, bool greatest, uint32_t *at, uint32_t *any)
{
    assert(count && first + count <= folded->count);
    if (count == 1) {
        *at = folded->values[first];
        *any = folded->matches[first];
        return;
    }
    uint32_t half = count / 2, one, one_any, other, other_any;
    extreme_of(lowering, folded, first, half, greatest, &one, &one_any);
    extreme_of(lowering, folded, first + half, count - half, greatest, &other, &other_any);
    uint32_t wins = lower_make(lowering, greatest ? ISO_PROVE_GREATER_EQUAL : ISO_PROVE_LESS_EQUAL,
                               one, other, NONE);
    wins = lower_and(lowering, one_any, lower_or(lowering, wins, lower_not(lowering, other_any)));
    *at = lower_choose(lowering, wins, one, other);
    *any = lower_or(lowering, one_any, other_any);
}

static struct value fold_up(struct lowering *lowering, const char *name, struct folded *folded,
                            size_t location)
{
    uint32_t zero = lower_number(lowering, 0),
             any = lower_any(lowering, folded->matches, folded->count);
    struct value value = lower_constant(lowering, TYPE_BIGINT, 0);
    value.fails = folded->fails;
    if (!strcmp(name, "count")) {
        for (uint32_t i = 0; i < folded->count; i++)
            folded->values[i] =
                lower_choose(lowering, folded->matches[i], lower_number(lowering, 1), zero);
        value.at = lower_sum(lowering, folded->values, folded->count);
        value.high = folded->count;
        return value;
    }
    value.type = folded->type;
    if (folded->type == TYPE_BOOLEAN || folded->type == TYPE_TEXT)
        lower_refuse_form(lowering, location, "%s of %s", name, lower_type_name(folded->type));
    if (!folded->count) {
        value = lower_null(lowering);
        value.type = *name == 's' ? TYPE_BIGINT : folded->type;
        value.fails = folded->fails;
    } else if (!strcmp(name, "sum")) {
        for (uint32_t i = 0; i < folded->count; i++)
            folded->values[i] = lower_choose(lowering, folded->matches[i], folded->values[i], zero);
        value.at = lower_sum(lowering, folded->values, folded->count);
        value.low = folded->interval.low < 0
                        ? lower_narrow((__int128)folded->interval.low * folded->count)
                        : 0;
        value.high = folded->interval.high > 0
                         ? lower_narrow((__int128)folded->interval.high * folded->count)
                         : 0;
        lower_fit(lowering, &value, TYPE_BIGINT);
    } else {
        extreme_of(lowering, folded, 0, folded->count, *name == 'm' && name[1] == 'a', &value.at,
                   &any);
        value.low = folded->interval.low;
        value.high = folded->interval.high;
    }
    if (folded->count)
        value.null = lower_or(
            lowering, value.null,
            any == NONE ? lower_number(lowering, 1)
                        : lower_and(lowering, lower_not(lowering, any), lower_number(lowering, 1)));
    return value;
}

struct value lower_aggregate(struct lowering *lowering, const struct scope *scope, const char *name,
                             const PgQuery__FuncCall *node)
{
    size_t location = location_of(lowering, node->location);
    struct folded folded = {0};
    while (scope && !scope->combos)
        scope = scope->outer;
    if (node->n_agg_order || node->agg_filter || node->over || node->agg_distinct ||
        node->agg_within_group || node->func_variadic ||
        node->n_args != (node->agg_star ? 0u : 1u)) {
        lower_refuse_form(lowering, location, "%s with DISTINCT, FILTER, ORDER BY or OVER", name);
        return lower_null(lowering);
    }
    if (!scope || (node->agg_star && strcmp(name, "count"))) {
        lower_refuse(lowering, location, "an aggregate cannot stand here");
        return lower_null(lowering);
    }
    fold_rows(lowering, scope, node->agg_star ? NULL : node->args[0], &folded);
    struct value value =
        failed(lowering) ? lower_null(lowering) : fold_up(lowering, name, &folded, location);
    ISO_FREE_ALL(folded.matches, folded.values);
    return value;
}
