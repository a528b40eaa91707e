#include "connectors/ticdc/avro_schema.h"

#include <string.h>

#include "base/memory.h"
#include "connectors/ticdc/decoder_private.h"

/* ---- types ---- */

static uint8_t use_of_type(struct iso_json_text type)
{
    bool is_unsigned = type.length > 8 && !memcmp(type.at + type.length - 8, "UNSIGNED", 8);
    return is_unsigned ? AVRO_UNSIGNED : ISO_PAYLOAD_IS(type, "BIT") ? AVRO_BIT : AVRO_AS_IT_IS;
}

/* {"tidb_type":"ENUM","allowed":"a,b"} */
static void take_parameters(struct ticdc_avro *avro, struct iso_avro_type *type)
{
    const char *parameters = type->parameters;
    struct iso_payload padded = {0};
    struct iso_json json;
    struct iso_json_text name, text;
    size_t length = strlen(parameters);
    iso_json_init(&json);
    iso_json_start(&json, iso_payload_copy(&padded, parameters, length), length);
    iso_json_enter_object(&json);
    while (iso_json_member(&json, &name)) {
        bool labels = ISO_PAYLOAD_IS(name, "allowed"), of_type = ISO_PAYLOAD_IS(name, "tidb_type");
        if (!(labels || of_type) || iso_json_peek(&json) != ISO_JSON_STRING) {
            iso_json_skip(&json);
        } else if (iso_json_string(&json, &text) && of_type) {
            type->value = ticdc_value_of(text);
            type->use = use_of_type(text);
        } else if (labels) {
            type->digest = (uint32_t)avro->labels.used + 1;
            iso_text_put_bytes(&avro->labels, text.at, text.length);
            iso_text_put_bytes(&avro->labels, "", 1);
        }
    }
    iso_json_release(&json);
    iso_payload_release(&padded);
}

/* ---- columns ---- */

static uint8_t role_of(const struct iso_avro_field *field, bool has_row)
{
    struct iso_json_text name = {field->name, field->length};
    if (ISO_PAYLOAD_IS(name, "_tidb_op"))
        return AVRO_OPERATION;
    if (ISO_PAYLOAD_IS(name, "_tidb_commit_ts"))
        return AVRO_COMMIT;
    if (ISO_PAYLOAD_IS(name, "_ticdc_before") && has_row)
        return AVRO_BEFORE;
    return (name.length > 6 && !memcmp(name.at, "_tidb_", 6)) || has_row ? AVRO_EXTENSION
                                                                         : AVRO_COLUMN;
}

static bool check_record(const struct iso_avro_type *record, bool may_nest,
                         struct iso_error *error);

/* A type without unions in it. */
static bool check_plain(const struct iso_avro_type *type, bool may_nest, bool *has_row,
                        struct iso_error *error)
{
    *has_row |= type->shape == ISO_AVRO_RECORD;
    if (type->shape == ISO_AVRO_RECORD && may_nest)
        return check_record(type, false, error);
    return type->shape <= ISO_AVRO_STRING ||
           !iso_error_set(
               error, ISO_BAD_INPUT,
               "not a schema of TiCDC's: expected columns of primitive types and decimals, and maybe a "
               "record of the row before");
}

static bool check_record(const struct iso_avro_type *record, bool may_nest, struct iso_error *error)
{
    if (record->shape != ISO_AVRO_RECORD || !record->count)
        return !iso_error_set(error, ISO_BAD_INPUT,
                              "not a schema of TiCDC's: expected a record with columns");
    for (uint32_t i = 0; i < record->count; i++) {
        struct iso_avro_field *field = &record->fields[i];
        const struct iso_avro_type *type = field->type;
        bool is_union = type->shape == ISO_AVRO_UNION, has_row = false;
        for (uint32_t b = 0; b < (is_union ? type->count : 1); b++)
            if (!check_plain(is_union ? type->branches[b] : type, may_nest, &has_row, error))
                return false;
        field->use[0] = role_of(field, has_row);
    }
    return true;
}

/* ---- whole schemas ---- */

/* The record is "..database.table". */
static void name_table(struct ticdc_avro *avro, const char *name)
{
    const char *dot = strrchr(name, '.'), *start = dot;
    while (start && start > name && start[-1] != '.')
        start--;
    avro->database =
        dot ? (struct iso_json_text){start, (size_t)(dot - start)} : (struct iso_json_text){"", 0};
    avro->table = dot ? (struct iso_json_text){dot + 1, strlen(dot + 1)}
                      : (struct iso_json_text){name, strlen(name)};
}

/* NULL, and the schema is gone: it is none of TiCDC's. */
static struct ticdc_avro *prepare(struct iso_avro_schema *schema, struct iso_error *error)
{
    if (!schema || !check_record(schema->root, true, error)) {
        iso_avro_schema_free(schema);
        return NULL;
    }
    struct ticdc_avro *avro = iso_allocate_zeroed(1, sizeof *avro);
    avro->schema = schema;
    for (uint32_t i = 0; i < schema->type_count; i++)
        if (schema->types[i].parameters)
            take_parameters(avro, &schema->types[i]);
    name_table(avro, schema->root->name);
    return avro;
}

struct ticdc_avro *ticdc_avro_read(struct iso_json *json, struct iso_error *error)
{
    return prepare(iso_avro_schema_read(json, error), error);
}

void *ticdc_avro_parse(const char *text, size_t length, struct iso_error *error)
{
    return prepare(iso_avro_schema_parse(text, length, error), error);
}

void ticdc_avro_forget(void *schema)
{
    struct ticdc_avro *avro = schema;
    if (!avro)
        return;
    iso_avro_schema_free(avro->schema);
    iso_text_release(&avro->labels);
    iso_free(avro);
}
