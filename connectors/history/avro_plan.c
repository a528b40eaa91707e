#include "connectors/history/avro_plan.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "iso/history.h"

enum { DEPTH_MAX = 64, NO_NODE = -1 };

/* ---- making it ---- */

static enum plan_role role_of(const char *name)
{
    static const char *const names[PLAN_ROLES] = {"",    "tid",       "sid", "sno", "sts", "cts", "status",
                                                  "ops", "watermark", "t",   "k",   "v",   "ots", "lock"};
    for (int role = 1; role < PLAN_ROLES; role++)
        if (!strcmp(names[role], name))
            return (enum plan_role)role;
    return PLAN_NONE;
}

static bool is_word(const char *name, size_t size, const char *word)
{
    return size == strlen(word) && !strncasecmp(name, word, size);
}

struct plan_symbol plan_word(const char *word, size_t size)
{
    static const char *const kinds[] = {"read", "write", "delete", "append"}, *const statuses[] = {
                                                                                  "committed", "aborted", "unknown"};
    static const uint8_t kind_of[] = {ISO_READ, ISO_WRITE, ISO_DELETE, ISO_APPEND},
                         status_of[] = {ISO_COMMITTED, ISO_ABORTED, ISO_UNKNOWN};
    struct plan_symbol symbol = {PLAN_NO_WORD, PLAN_NO_WORD};
    for (int i = 0; i < 4; i++)
        if (is_word(word, size, kinds[i]) || (size == 1 && (*word | 0x20) == *kinds[i]))
            symbol.kind = kind_of[i];
    for (int i = 0; i < 3; i++)
        if (is_word(word, size, statuses[i]))
            symbol.status = status_of[i];
    return symbol;
}

static uint32_t add_node(struct plan *plan, struct plan_node node)
{
    plan->nodes = iso_reallocate(plan->nodes, (plan->node_count + 1) * sizeof *plan->nodes);
    plan->nodes[plan->node_count] = node;
    return plan->node_count++;
}

static uint32_t add_children(struct plan *plan, uint32_t count)
{
    uint32_t first = plan->child_count;
    plan->children = iso_reallocate(plan->children, (first + count + 1) * sizeof *plan->children);
    plan->child_count += count;
    return first;
}

static uint32_t add_symbols(struct plan *plan, avro_schema_t schema, uint32_t count)
{
    uint32_t first = plan->symbol_count;
    plan->symbols = iso_reallocate(plan->symbols, (first + count + 1) * sizeof *plan->symbols);
    for (uint32_t i = 0; i < count; i++)
        plan->symbols[first + i] =
            plan_word(avro_schema_enum_get(schema, (int)i), strlen(avro_schema_enum_get(schema, (int)i)));
    plan->symbol_count += count;
    return first;
}

static uint32_t size_of(avro_schema_t schema)
{
    switch (avro_typeof(schema)) {
    case AVRO_RECORD:
        return (uint32_t)avro_schema_record_size(schema);
    case AVRO_UNION:
        return (uint32_t)avro_schema_union_size(schema);
    case AVRO_ENUM:
        return (uint32_t)avro_schema_enum_number_of_symbols(schema);
    case AVRO_ARRAY:
    case AVRO_MAP:
        return 1;
    default:
        return 0;
    }
}

static avro_schema_t child_of(avro_schema_t schema, uint32_t index)
{
    switch (avro_typeof(schema)) {
    case AVRO_RECORD:
        return avro_schema_record_field_get_by_index(schema, (int)index);
    case AVRO_UNION:
        return avro_schema_union_branch(schema, (int)index);
    case AVRO_ARRAY:
        return avro_schema_array_items(schema);
    default:
        return avro_schema_map_values(schema);
    }
}

static int64_t find_named(const struct plan *plan, avro_schema_t schema)
{
    for (uint32_t i = 0; i < plan->node_count; i++)
        if (plan->nodes[i].named == schema)
            return i;
    return NO_NODE;
}

/* The schema's node, or NO_NODE. */
static int64_t add(struct plan *plan, avro_schema_t schema, int depth)
{
    if (avro_typeof(schema) == AVRO_LINK)
        return find_named(plan, avro_schema_link_target(schema));
    avro_type_t type = avro_typeof(schema);
    bool is_named = type == AVRO_RECORD || type == AVRO_ENUM || type == AVRO_FIXED;
    uint32_t count = size_of(schema);
    if (depth == DEPTH_MAX)
        return NO_NODE;
    uint32_t index =
        add_node(plan, (struct plan_node){.type = (uint8_t)type, .count = count, .named = is_named ? schema : NULL});
    if (type == AVRO_FIXED)
        plan->nodes[index].size = avro_schema_fixed_size(schema);
    if (type == AVRO_ENUM) {
        plan->nodes[index].first = add_symbols(plan, schema, count);
        return index;
    }
    uint32_t first = plan->nodes[index].first = add_children(plan, count);
    for (uint32_t i = 0; i < count; i++) {
        enum plan_role role = type == AVRO_RECORD ? role_of(avro_schema_record_field_name(schema, (int)i)) : PLAN_NONE;
        int64_t child = add(plan, child_of(schema, i), depth + 1);
        if (child == NO_NODE)
            return NO_NODE;
        plan->children[first + i] = (struct plan_child){(uint32_t)child, role};
        plan->nodes[index].roles |= 1u << role;
    }
    return index;
}

bool plan_init(struct plan *plan, avro_schema_t schema)
{
    *plan = (struct plan){.node_count = 0};
    return add(plan, schema, 0) != NO_NODE;
}

void plan_release(struct plan *plan)
{
    iso_free(plan->nodes);
    iso_free(plan->children);
    iso_free(plan->symbols);
    *plan = (struct plan){.node_count = 0};
}

/* ---- walking it ---- */

bool plan_take_long_slow(struct plan_cursor *cursor, int64_t *value)
{
    uint64_t bits = 0;
    for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        uint8_t byte = *cursor->at++;
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = (int64_t)(bits >> 1 ^ (0u - (bits & 1)));
            return true;
        }
    }
    return false;
}

static bool skip_bytes(struct plan_cursor *cursor, int64_t size)
{
    if (size < 0 || size > cursor->end - cursor->at)
        return false;
    cursor->at += size;
    return true;
}

bool plan_take_text(struct plan_cursor *cursor, const char **text, size_t *size)
{
    int64_t length;
    if (!plan_take_long(cursor, &length) || !skip_bytes(cursor, length))
        return false;
    *text = (const char *)cursor->at - length;
    *size = (size_t)length;
    return true;
}

bool plan_take_block(struct plan_cursor *cursor, int64_t *count)
{
    int64_t size;
    if (!plan_take_long(cursor, count) || *count == INT64_MIN)
        return false;
    if (*count < 0) { /* the block's size in bytes follows */
        *count = -*count;
        if (!plan_take_long(cursor, &size))
            return false;
    }
    if ((uint64_t)*count > cursor->items)
        return false;
    cursor->items -= (uint64_t)*count;
    return true;
}

static bool pass(const struct plan *plan, const struct plan_node *node, struct plan_cursor *cursor, int depth);

static bool skip_blocks(const struct plan *plan, const struct plan_node *node, struct plan_cursor *cursor, int depth)
{
    const struct plan_node *items = &plan->nodes[plan->children[node->first].node];
    int64_t count;
    const char *text;
    size_t size;
    for (;;) {
        if (!plan_take_block(cursor, &count))
            return false;
        if (!count)
            return true;
        for (; count > 0; count--)
            if ((node->type == AVRO_MAP && !plan_take_text(cursor, &text, &size)) || !pass(plan, items, cursor, depth))
                return false;
    }
}

static bool pass(const struct plan *plan, const struct plan_node *node, struct plan_cursor *cursor, int depth)
{
    int64_t number;
    if (depth == DEPTH_MAX || !(node = plan_inside(plan, node, cursor)))
        return false;
    switch ((avro_type_t)node->type) {
    case AVRO_NULL:
        return true;
    case AVRO_BOOLEAN:
        return cursor->at < cursor->end && *cursor->at <= 1 && skip_bytes(cursor, 1);
    case AVRO_INT32:
        return plan_take_long(cursor, &number) && number >= INT32_MIN && number <= INT32_MAX;
    case AVRO_INT64:
        return plan_take_long(cursor, &number);
    case AVRO_FLOAT:
        return skip_bytes(cursor, 4);
    case AVRO_DOUBLE:
        return skip_bytes(cursor, 8);
    case AVRO_STRING:
    case AVRO_BYTES:
        return plan_take_long(cursor, &number) && skip_bytes(cursor, number);
    case AVRO_FIXED:
        return skip_bytes(cursor, node->size);
    case AVRO_ENUM:
        return plan_take_long(cursor, &number) && number >= 0 && number < node->count;
    case AVRO_ARRAY:
    case AVRO_MAP:
        return skip_blocks(plan, node, cursor, depth + 1);
    case AVRO_RECORD:
        for (uint32_t i = 0; i < node->count; i++)
            if (!pass(plan, &plan->nodes[plan->children[node->first + i].node], cursor, depth + 1))
                return false;
        return true;
    default:
        return false;
    }
}

bool plan_skip(const struct plan *plan, const struct plan_node *node, struct plan_cursor *cursor)
{
    return pass(plan, node, cursor, 0);
}
