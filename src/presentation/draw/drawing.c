#include "draw/drawing.h"

#include <stdio.h>
#include <string.h>

void iso_drawing_init(struct iso_drawing *drawing)
{
    drawing->text = (struct iso_text){0};
    drawing->node_count = drawing->edge_count = 0;
    drawing->left_out = 0;
}

void iso_drawing_release(struct iso_drawing *drawing)
{
    iso_text_release(&drawing->text);
    iso_drawing_init(drawing);
}

static uint32_t find_node(const struct iso_drawing *drawing, iso_atom tid)
{
    uint32_t i = 0;
    while (i < drawing->node_count && drawing->nodes[i].tid != tid)
        i++;
    return i;
}

static uint32_t put_text(struct iso_drawing *drawing, const char *bytes, size_t length)
{
    uint32_t location = (uint32_t)drawing->text.used;
    iso_text_put_bytes(&drawing->text, bytes, length);
    iso_text_put_bytes(&drawing->text, "", 1);
    return location;
}

/* Writes the bracket of "transaction 9 (session 2, ...)", without the words before it. */
static uint32_t put_location(struct iso_drawing *drawing, const struct iso_argument *argument,
                             uint32_t party, size_t name_length)
{
    struct iso_text text = {0};
    iso_argument_put_party(argument, party, &text);
    size_t before = sizeof "transaction " - 1 + name_length + sizeof " (" - 1;
    uint32_t location = put_text(drawing, text.bytes + before, text.used - before - 1);
    iso_text_release(&text);
    return location;
}

static void add_node(struct iso_drawing *drawing, const struct iso_argument *argument,
                     uint32_t party)
{
    struct iso_text name = {0};
    iso_argument_put_tid(argument, party, &name);
    drawing->nodes[drawing->node_count++] =
        (struct iso_drawing_node){.tid = argument->parties[party].tid,
                                  .name = put_text(drawing, name.bytes, name.used),
                                  .location = put_location(drawing, argument, party, name.used)};
    iso_text_release(&name);
}

static bool has_edge(const struct iso_drawing *drawing, const struct iso_drawing_edge *edge,
                     const char *label)
{
    for (uint32_t i = 0; i < drawing->edge_count; i++) {
        const struct iso_drawing_edge *other = &drawing->edges[i];
        if (other->from == edge->from && other->to == edge->to &&
            !strcmp(other->type, edge->type) && !strcmp(drawing->text.bytes + other->label, label))
            return true;
    }
    return false;
}

static void add_edge(struct iso_drawing *drawing, const struct iso_argument *argument,
                     const struct iso_argument_edge *from)
{
    const char *label = iso_argument_text(argument, from->label);
    struct iso_drawing_edge edge = {.from = find_node(drawing, argument->parties[from->from].tid),
                                    .to = find_node(drawing, argument->parties[from->to].tid)};
    snprintf(edge.type, sizeof edge.type, "%s", from->type);
    if (edge.from == edge.to || has_edge(drawing, &edge, label))
        return;
    edge.label = put_text(drawing, label, strlen(label));
    drawing->edges[drawing->edge_count++] = edge;
}

void iso_drawing_put_node(struct iso_drawing *drawing, const char *name, const char *location)
{
    if (drawing->node_count == ISO_DRAWING_NODES)
        return;
    uint32_t first = put_text(drawing, name, strlen(name));
    drawing->nodes[drawing->node_count++] = (struct iso_drawing_node){
        .name = first, .location = put_text(drawing, location, strlen(location))};
}

void iso_drawing_put_edge(struct iso_drawing *drawing, uint32_t from, uint32_t to, const char *type,
                          const char *label)
{
    struct iso_drawing_edge edge = {.from = from, .to = to};
    if (drawing->edge_count == ISO_DRAWING_EDGES || from >= drawing->node_count ||
        to >= drawing->node_count)
        return;
    snprintf(edge.type, sizeof edge.type, "%s", type);
    edge.label = put_text(drawing, label, strlen(label));
    drawing->edges[drawing->edge_count++] = edge;
}

bool iso_drawing_add(struct iso_drawing *drawing, const struct iso_argument *argument)
{
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < argument->party_count; i++)
        fresh += find_node(drawing, argument->parties[i].tid) == drawing->node_count;
    if (drawing->node_count + fresh > ISO_DRAWING_NODES ||
        drawing->edge_count + argument->edge_count > ISO_DRAWING_EDGES)
        return false;
    for (uint32_t i = 0; i < argument->party_count; i++)
        if (find_node(drawing, argument->parties[i].tid) == drawing->node_count)
            add_node(drawing, argument, i);
    for (uint32_t i = 0; i < argument->edge_count; i++)
        add_edge(drawing, argument, &argument->edges[i]);
    return true;
}

void iso_drawing_add_all(struct iso_drawing *drawing, const struct iso_facts *facts,
                         enum iso_wall wall)
{
    const struct iso_claims *claims = facts->claims;
    for (int cycles = 1; cycles >= 0; cycles--)
        for (uint32_t i = 0; i < claims->count; i++) {
            struct iso_argument argument;
            if ((claims->list[i].wrong->argument == ISO_ARGUE_ORDER) != (cycles == 1))
                continue;
            iso_argument_init(&argument, facts, &claims->list[i], wall);
            drawing->left_out += !iso_drawing_add(drawing, &argument);
            iso_argument_release(&argument);
        }
}
