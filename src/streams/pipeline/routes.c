#include "pipeline/routes.h"

#include <assert.h>
#include <string.h>

#include "base/cell_key.h"
#include "base/memory.h"

bool routes_add(struct routes *routes, const char *topic, struct iso_decoder *decoder,
                bool whole_rows)
{
    static const char messages[] = ".message"; /* Debezium's topic of logical messages */
    size_t length = strlen(topic);
    bool is_prefix = iso_topic_is_prefix(topic);
    length -= is_prefix;
    routes->list = iso_reallocate(routes->list, (routes->count + 1) * sizeof *routes->list);
    routes->list[routes->count++] = (struct route){.topic = iso_copy_text(topic, length),
                                                   .is_prefix = is_prefix,
                                                   .decoder = decoder,
                                                   .whole_rows = whole_rows};
    return !is_prefix && length >= sizeof messages &&
           !strcmp(topic + length + 1 - sizeof messages, messages);
}

/* Whether topics of tables are among them whose names begin so. */
static bool have_tables_of(const struct routes *routes, const char *prefix, size_t length)
{
    for (uint32_t i = 0; i < routes->count; i++) {
        const char *topic = routes->list[i].topic;
        if (strncmp(topic, prefix, length) || topic[length] != '.')
            continue;
        if (routes->list[i].is_prefix ? !topic[length + 1]
                                      : strchr(topic + length + 1, '.') != NULL)
            return true;
    }
    return false;
}

bool routes_have_ends(const struct routes *routes)
{
    static const char ends[] = ".transaction";
    for (uint32_t i = 0; i < routes->count; i++) {
        const char *topic = routes->list[i].topic;
        size_t length = strlen(topic);
        if (length >= sizeof ends && !strcmp(topic + length + 1 - sizeof ends, ends) &&
            have_tables_of(routes, topic, length + 1 - sizeof ends))
            return true;
    }
    return false;
}

bool routes_have_statements(const struct routes *routes)
{
    for (uint32_t i = 0; i < routes->count; i++)
        if (!routes->list[i].is_prefix &&
            have_tables_of(routes, routes->list[i].topic, strlen(routes->list[i].topic)))
            return true;
    return false;
}

static void release_names(struct route_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        iso_free(names->list[i]);
    iso_free(names->list);
}

void routes_release(struct routes *routes)
{
    for (uint32_t i = 0; i < routes->count; i++) {
        release_names(&routes->list[i].topics);
        release_names(&routes->list[i].others);
        release_names(&routes->list[i].tables);
        routes->list[i].decoder->class->destroy(routes->list[i].decoder);
        iso_free(routes->list[i].topic);
    }
    iso_free(routes->list);
    *routes = (struct routes){0};
}

static bool has_name(const struct route_names *names, const char *name, size_t length)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (strlen(names->list[i]) == length && !memcmp(names->list[i], name, length))
            return true;
    return false;
}

static void add_name(struct route_names *names, const char *name, size_t length)
{
    ISO_GROW(names->list, names->count, names->capacity);
    names->list[names->count++] = iso_copy_text(name, length);
}

uint32_t routes_find_topic(const struct routes *routes, const char *topic)
{
    uint32_t found = ISO_NONE;
    size_t longest = 0;
    for (uint32_t i = 0; i < routes->count; i++) {
        const struct route *route = &routes->list[i];
        size_t length = strlen(route->topic);
        if (!route->is_prefix && !strcmp(route->topic, topic))
            return i;
        if (!route->is_prefix || length < longest || strncmp(route->topic, topic, length) ||
            has_name(&route->others, topic, strlen(topic)))
            continue;
        found = i;
        longest = length;
    }
    return found;
}

bool routes_has_left(const struct routes *routes, const char *topic)
{
    for (uint32_t i = 0; i < routes->count; i++)
        if (has_name(&routes->list[i].others, topic, strlen(topic)))
            return true;
    return false;
}

void routes_leave_topic(struct routes *routes, const char *topic)
{
    uint32_t number = routes_find_topic(routes, topic);
    if (number == ISO_NONE || !routes->list[number].is_prefix)
        return;
    struct route_names *names = &routes->list[number].topics;
    add_name(&routes->list[number].others, topic, strlen(topic));
    for (uint32_t i = 0; i < names->count; i++)
        if (!strcmp(names->list[i], topic)) {
            iso_free(names->list[i]);
            names->list[i] = names->list[--names->count];
        }
}

bool routes_note_topic(struct routes *routes, const char *topic)
{
    uint32_t number = routes_find_topic(routes, topic);
    struct route *route = number == ISO_NONE ? NULL : &routes->list[number];
    if (route)
        route->is_there = true;
    if (!route || !route->is_prefix || has_name(&route->topics, topic, strlen(topic)))
        return false;
    add_name(&route->topics, topic, strlen(topic));
    return true;
}

bool routes_note_table(struct routes *routes, const char *table, size_t length)
{
    uint32_t i = 0;
    while (i < routes->count && !routes->list[i].is_prefix)
        i++;
    if (i == routes->count || routes_find(routes, table, length))
        return false;
    assert(routes->list[i].is_prefix);
    add_name(&routes->list[i].tables, table, length);
    return true;
}

static bool covers_by_topic(const struct route *route, const char *table, size_t length)
{
    assert(route->decoder);
    const struct iso_decoder_class *class = route->decoder->class;
    if (!class->covers)
        return false;
    if (!route->is_prefix)
        return class->covers(route->decoder, route->topic, table, length);
    for (uint32_t i = 0; i < route->topics.count; i++)
        if (class->covers(route->decoder, route->topics.list[i], table, length))
            return true;
    return false;
}

static bool covers(const struct route *route, const char *table, size_t length)
{
    return covers_by_topic(route, table, length) || has_name(&route->tables, table, length);
}

const struct route *routes_find(const struct routes *routes, const char *table, size_t length)
{
    const struct route *found = NULL;
    for (uint32_t i = 0; i < routes->count && (!found || found->is_prefix); i++)
        if (covers(&routes->list[i], table, length))
            found = &routes->list[i];
    return found;
}

static size_t table_length(const char *key, size_t length)
{
    const char *slash = memchr(key, '/', length);
    return slash ? (size_t)(slash - key) : length;
}

const struct route *routes_find_key(const struct routes *routes, const char *key, size_t length)
{
    return routes_find(routes, key, table_length(key, length));
}

bool routes_have_topic_of(const struct routes *routes, const char *key, size_t length)
{
    for (uint32_t i = 0; i < routes->count; i++)
        if (routes->list[i].is_there &&
            covers_by_topic(&routes->list[i], key, table_length(key, length)))
            return true;
    return false;
}

struct route_key routes_split_key(const struct routes *routes, const char *key, size_t length,
                                  struct iso_text *name)
{
    struct route_key split = {.table = {key, table_length(key, length)}};
    struct iso_json_text row, column;
    if (iso_history_is_header(key, length)) { /* of a query: its table's */
        split.table.length--;
        split.route = routes_find(routes, split.table.at, split.table.length);
        return split;
    }
    split.route = routes_find(routes, split.table.at, split.table.length);
    if (!split.route || !split.route->decoder->cells ||
        !iso_cell_key_split((struct iso_json_text){key, length}, &row, &column))
        return split;
    name->used = 0;
    iso_cell_key_decode(name, column);
    split.column = (struct iso_json_text){name->used ? name->bytes : "", name->used};
    return split;
}

/* ---- what the join asks ---- */

bool routes_cover(void *context, const char *table, size_t length)
{
    return routes_find(context, table, length) != NULL;
}

bool routes_have_whole_row(void *context, const char *key, size_t length)
{
    const struct route *route = routes_find_key(context, key, length);
    return route && route->whole_rows;
}

/* Asked of every operation of a client: mostly there is no such source. */
bool routes_are_caseless(void *context, const char *key, size_t length)
{
    const struct routes *routes = context;
    const struct route *route = routes->has_caseless ? routes_find_key(routes, key, length) : NULL;
    return route && route->traits.caseless;
}

bool routes_are_unreported(void *context, const char *key, size_t length)
{
    const struct route *route = routes_find_key(context, key, length);
    return route && route->traits.unreported;
}

struct iso_value_type route_value_type(const struct route *route, struct iso_json_text table,
                                       struct iso_json_text column)
{
    if (!route || !route->decoder->class->value_type)
        return (struct iso_value_type){0};
    struct iso_value_type type = route->decoder->class->value_type(
        route->decoder, table.at, table.length, column.at, column.length);
    if (type.kind == ISO_VALUE_INTEGER_64 && route->decoder->only_signed)
        type.kind = ISO_VALUE_INTEGER;
    return type;
}

struct iso_value_type routes_value_type(void *context, const char *table, size_t length,
                                        const char *column, size_t column_length)
{
    return route_value_type(routes_find(context, table, length),
                            (struct iso_json_text){table, length},
                            (struct iso_json_text){column, column_length});
}

bool routes_have_cells(void *context, const char *table, size_t length)
{
    const struct route *route = routes_find(context, table, length);
    return route && route->decoder->cells;
}

enum iso_column_coverage routes_cover_column(void *context, const char *table, size_t length,
                                             const char *column, size_t column_length)
{
    const struct route *route = routes_find(context, table, length);
    if (!route || !route->decoder->class->covers_column)
        return ISO_COLUMN_UNLISTED;
    return route->decoder->class->covers_column(route->decoder, table, length, column,
                                                column_length);
}

uint32_t routes_types_known(const struct routes *routes)
{
    uint32_t types = 0;
    for (uint32_t i = 0; i < routes->count; i++) {
        const struct iso_decoder *decoder = routes->list[i].decoder;
        types += decoder->class->types_known ? decoder->class->types_known(decoder) : 0;
    }
    return types;
}
