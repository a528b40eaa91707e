#include "connectors/envelope/topic.h"

#include <string.h>

#include "base/payload.h"

enum { TOPIC_MAX = 249 }; /* Kafka's */

static bool is_legal(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == '-';
}

/* The name as topics have it: `_` for each UTF-16 unit that is not allowed; its schema's length. 0:
 * it is too long, or has none. */
static size_t make_legal(char *name, const char *table, size_t length, size_t *schema)
{
    size_t used = 0;
    *schema = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)table[i];
        bool escaped = byte == '%' && i + 2 < length;
        if ((byte & 0xc0) == 0x80) /* within a character */
            continue;
        if (used + 2 > TOPIC_MAX)
            return 0;
        if (byte == '.' && !*schema)
            *schema = used;
        name[used++] = escaped && table[i + 2] == 'E' ? '.' : is_legal(table[i]) ? table[i] : '_';
        if (byte >= 0xf0) /* beyond 16 bits */
            name[used++] = '_';
        i += escaped ? 2 : 0;
    }
    return *schema ? used : 0;
}

/* Told by the last byte of both, as of most topics. */
static bool ends_otherwise(const char *topic, size_t size, const char *table, size_t length)
{
    bool escaped = length >= 3 && table[length - 3] == '%';
    return size && length && !escaped && is_legal(table[length - 1]) &&
           topic[size - 1] != table[length - 1];
}

/* Between schema and table stands what stands between the prefix and the schema. */
static bool is_named_after(const char *topic, const char *table, size_t length)
{
    char name[TOPIC_MAX];
    size_t size = strlen(topic), schema, used;
    if (ends_otherwise(topic, size, table, length))
        return false;
    used = make_legal(name, table, length, &schema);
    if (!used || size < used + 2)
        return false;
    const char *at = topic + size - used;
    char delimiter = at[-1];
    return (delimiter == '.' || delimiter == '_' || delimiter == '-') &&
           !memcmp(at, name, schema) && at[schema] == delimiter &&
           !memcmp(at + schema + 1, name + schema + 1, used - schema - 1);
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
