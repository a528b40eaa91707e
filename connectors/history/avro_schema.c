#include "connectors/history/avro_schema.h"

#include <string.h>
#include <strings.h>

#include "history/history.h"

static enum avro_role role_of(const char *name)
{
    static const char *const names[ROLES] = {
        "",         "tid", "sid",       "sno", "sts", "cts", "status", "writes",
        "snapshot", "ops", "watermark", "t",   "k",   "v",   "ots",    "lock"};
    for (int role = 1; role < ROLES; role++)
        if (!strcmp(names[role], name))
            return (enum avro_role)role;
    return ROLE_NONE;
}

static bool is_word(const char *name, size_t size, const char *word)
{
    return size == strlen(word) && !strncasecmp(name, word, size);
}

uint8_t avro_kind_of(const char *word, size_t size)
{
    static const char *const words[] = {"read", "write", "delete", "append"};
    static const uint8_t kinds[] = {ISO_READ, ISO_WRITE, ISO_DELETE, ISO_APPEND};
    for (int i = 0; i < 4; i++)
        if (is_word(word, size, words[i]) || (size == 1 && (*word | 0x20) == *words[i]))
            return kinds[i];
    return AVRO_NO_WORD;
}

uint8_t avro_status_of(const char *word, size_t size)
{
    static const char *const words[] = {"committed", "aborted", "unknown"};
    static const uint8_t statuses[] = {ISO_COMMITTED, ISO_ABORTED, ISO_UNKNOWN};
    for (int i = 0; i < 3; i++)
        if (is_word(word, size, words[i]))
            return statuses[i];
    return AVRO_NO_WORD;
}

uint8_t avro_writes_of(const char *word, size_t size)
{
    return is_word(word, size, "all")   ? 0
           : is_word(word, size, "cdc") ? ISO_MARK_CDC_WRITES
                                        : AVRO_NO_WORD;
}

void *history_avro_parse(const char *text, size_t length, struct iso_error *error)
{
    struct iso_avro_schema *schema = iso_avro_schema_parse(text, length, error);
    if (!schema)
        return NULL;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        struct iso_avro_field *field = &schema->fields[i];
        field->use[USE_ROLE] = (uint8_t)role_of(field->name);
        field->use[USE_KIND] = avro_kind_of(field->name, field->length);
        field->use[USE_STATUS] = avro_status_of(field->name, field->length);
        field->use[USE_WRITES] = avro_writes_of(field->name, field->length);
    }
    for (uint32_t i = 0; i < schema->type_count; i++) {
        struct iso_avro_type *type = &schema->types[i];
        for (uint32_t f = 0; type->shape == ISO_AVRO_RECORD && f < type->count; f++)
            if (type->fields[f].use[USE_ROLE] == ROLE_WATERMARK)
                type->use = AVRO_MAY_BE_WATERMARK;
    }
    return schema;
}
