#include "connectors/envelope/topic.h"

#include <string.h>

#include "base/payload.h"

enum { TOPIC_MAX = 249 }; /* Kafka's */

static bool is_legal(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == '-';
}

/* The name as topics have it: `_` for each UTF-16 unit that is not allowed. 0: it is too long. */
static size_t make_legal(char *name, const char *table, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)table[i];
        if ((byte & 0xc0) == 0x80) /* within a character */
            continue;
        if (used + 2 > TOPIC_MAX)
            return 0;
        name[used++] = is_legal(table[i]) ? table[i] : '_';
        if (byte >= 0xf0) /* beyond 16 bits */
            name[used++] = '_';
        if (byte == '%' && i + 2 < length) /* keys escape three characters */
            i += 2;
    }
    return used;
}

/* Between schema and table stands what stands between the prefix and the schema. */
static bool ends_with(const char *topic, const char *name, size_t length)
{
    size_t size = strlen(topic);
    if (!length || size < length + 2)
        return false;
    const char *at = topic + size - length;
    char delimiter = at[-1];
    const char *dot = memchr(name, '.', length);
    if ((delimiter != '.' && delimiter != '_' && delimiter != '-') || !dot)
        return false;
    size_t schema = (size_t)(dot - name);
    return !memcmp(at, name, schema) && at[schema] == delimiter &&
           !memcmp(at + schema + 1, dot + 1, length - schema - 1);
}

static bool is_named_after(const char *topic, const char *table, size_t length)
{
    char name[TOPIC_MAX];
    return ends_with(topic, name, make_legal(name, table, length));
}

static bool is_named_after_one_of(const char *topic, const char *tables)
{
    for (const char *at = tables; *at; at += strspn(at, ";")) {
        size_t length = strcspn(at, ";");
        if (is_named_after(topic, at, length))
            return true;
        at += length;
    }
    return false;
}

/* Transaction metadata, logical messages, heartbeats. */
static bool is_of_no_table(const char *topic)
{
    const char *dot = strrchr(topic, '.');
    return !strncmp(topic, "__debezium-heartbeat", 20) ||
           (dot && (!strcmp(dot, ".transaction") || !strcmp(dot, ".message")));
}

bool iso_topic_covers(const char *topic, const char *tables, const char *table, size_t length)
{
    if (tables && !iso_table_listed(tables, table, length))
        return false;
    if (is_named_after(topic, table, length))
        return true;
    return tables && !is_of_no_table(topic) && !is_named_after_one_of(topic, tables);
}
