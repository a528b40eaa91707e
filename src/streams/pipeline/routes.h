/* Which source delivers what: topics with their decoders, which the routes own. Sources are few:
 * all are asked in turn.
 *
 * The functions whose first parameter is `void *context` are the join's questions (join/join.h); it
 * is a struct routes.
 */
#pragma once

#include "base/json.h"
#include "base/text.h"
#include "pipeline/options.h"

struct route {
    char *topic;    /* or what the names of its topics begin with, if `is_prefix` */
    bool is_there;  /* a partition of it is known */
    bool is_prefix; /* `topics` are those of them that are known, `others` those that turned out to
                       be none, `tables` what the stream says will have one */
    struct route_names {
        char **list;
        uint32_t count, capacity;
    } topics, others, tables;
    struct iso_decoder *decoder;
    bool whole_rows; /* its values are whole rows */
    struct iso_route_traits traits;
};

struct routes {
    struct route *list;
    uint32_t count;
    bool has_caseless;    /* one of them is */
    bool expects_records; /* inside transactions: a topic of logical messages is among them */
};

/* A topic that ends in ".*" is a prefix, with its point. True: it is a topic of logical
 * messages, by which records inside transactions arrive. */
bool routes_add(struct routes *routes, const char *topic, struct iso_decoder *decoder,
                bool whole_rows);
/* Debezium's topics beside those of its tables, PREFIX.SCHEMA.TABLE: of ENDs, PREFIX.transaction,
 * and of statements that change tables, PREFIX. */
bool routes_have_ends(const struct routes *routes);
bool routes_have_statements(const struct routes *routes);
void routes_release(struct routes *routes);

/* Number of the route of a topic: its own, or that of its longest prefix. ISO_NONE: there is
 * none. */
uint32_t routes_find_topic(const struct routes *routes, const char *topic);

/* The topic of a prefix is none of its connector's. */
void routes_leave_topic(struct routes *routes, const char *topic);
bool routes_has_left(const struct routes *routes, const char *topic);

/* A topic is there, or a table that the stream names will have one. True: now a table may be
 * covered that was not. */
bool routes_note_topic(struct routes *routes, const char *topic);
bool routes_note_table(struct routes *routes, const char *table, size_t length);

/* The source that delivers changes of the table, or of a key's table; or NULL. */
const struct route *routes_find(const struct routes *routes, const char *table, size_t length);
const struct route *routes_find_key(const struct routes *routes, const char *key, size_t length);

/* Whether a topic is there that delivers changes of the key's table. */
bool routes_have_topic_of(const struct routes *routes, const char *key, size_t length);

/* A key in its parts; of none that is a cell's the column is NULL. `name`: the column's, without
 * escapes. */
struct route_key {
    const struct route *route; /* or NULL */
    struct iso_json_text table, column;
};
struct route_key routes_split_key(const struct routes *routes, const char *key, size_t length,
                                  struct iso_text *name);

bool routes_cover(void *context, const char *table, size_t length);
bool routes_have_whole_row(void *context, const char *key, size_t length);
bool routes_are_caseless(void *context, const char *key, size_t length);
bool routes_are_unreported(void *context, const char *key, size_t length);
struct iso_value_type route_value_type(const struct route *route, /* or NULL */
                                       struct iso_json_text table, struct iso_json_text column);
struct iso_value_type routes_value_type(void *context, const char *table, size_t length,
                                        const char *column, size_t column_length);
bool routes_have_cells(void *context, const char *table, size_t length);
enum iso_column_coverage routes_cover_column(void *context, const char *table, size_t length,
                                             const char *column, size_t column_length);
uint32_t routes_types_known(const struct routes *routes); /* as iso_join_types_known */
