/* The parser's trees: all nodes below one, where a node stands in the file, names, and the node
 * that is refused. */
#include <assert.h>

#include "lower/lower_private.h"

void lower_each_node(const ProtobufCMessage *message,
                     bool (*visit)(void *with, const PgQuery__Node *node), void *with)
{
    assert(message);
    if (message->descriptor == &pg_query__node__descriptor &&
        !visit(with, (const PgQuery__Node *)message))
        return;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *location = (const char *)message + field->offset;
        const void *quantifier = (const char *)message + field->quantifier_offset;
        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
            *(const uint32_t *)quantifier != field->id)
            continue;
        bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        size_t count = repeated ? *(const size_t *)quantifier : 1;
        ProtobufCMessage *const *list =
            repeated ? *(ProtobufCMessage *const *const *)location : (const void *)location;
        for (size_t j = 0; j < count; j++)
            if (list[j])
                lower_each_node(list[j], visit, with);
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

struct first_location {
    int32_t location;
};

static bool take_place(void *with, const PgQuery__Node *node)
{
    struct first_location *first = with;
    int32_t found = -1;
    for (unsigned i = 0; i < node->base.descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &node->base.descriptor->fields[i];
        if ((uint32_t)node->node_case == field->id)
            found =
                location_below(*(ProtobufCMessage *const *)((const char *)node + field->offset));
    }
    if (found >= 0 && (first->location < 0 || found < first->location))
        first->location = found;
    return true;
}

int32_t lower_location_of(const PgQuery__Node *node)
{
    struct first_location first = {-1};
    if (node)
        lower_each_node(&node->base, take_place, &first);
    return first.location;
}

void lower_refuse_node(struct lowering *lowering, const PgQuery__Node *node, const char *what)
{
    lower_refuse_form(lowering, location_of(lowering, lower_location_of(node)), "%s", what);
}

const char *lower_name_of(const PgQuery__Node *string)
{
    assert(string);
    return string->node_case == PG_QUERY__NODE__NODE_STRING ? string->string->sval : "";
}
