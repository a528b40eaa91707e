#include "connectors/ticdc/avro_schema.h"

#include "base/memory.h"

enum { DEPTH_MAX = 2 }; /* a row, and the row before in it */

static struct avro_record *read_record(struct iso_json *json, unsigned depth);

void ticdc_avro_record_free(struct avro_record *record)
{
    if (!record)
        return;
    for (uint32_t i = 0; i < record->count; i++) {
        iso_free(record->fields[i].name);
        ticdc_avro_record_free(record->fields[i].record);
    }
    iso_free(record->fields);
    iso_free(record->name);
    iso_free(record->space);
    iso_free(record);
}

/* ---- types ---- */

static bool take_kind(struct iso_json_text name, enum avro_kind *kind)
{
    static const struct {
        const char *name;
        enum avro_kind kind;
    } kinds[] = {{"null", AVRO_NULL},   {"boolean", AVRO_BOOLEAN}, {"int", AVRO_LONG},      {"long", AVRO_LONG},
                 {"float", AVRO_FLOAT}, {"double", AVRO_DOUBLE},   {"string", AVRO_STRING}, {"bytes", AVRO_BYTES}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (iso_payload_is(name, kinds[i].name, strlen(kinds[i].name))) {
            *kind = kinds[i].kind;
            return true;
        }
    return false;
}

/* {"tidb_type":"BIGINT UNSIGNED"} */
static void read_parameters(struct iso_json *json, struct avro_type *type)
{
    struct iso_json_text name, text;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "tidb_type") && ticdc_read_text(json, &text)) {
            type->is_unsigned = text.length > 8 && !memcmp(text.at + text.length - 8, "UNSIGNED", 8);
            type->is_bit = ISO_PAYLOAD_IS(text, "BIT");
        } else {
            iso_json_skip(json);
        }
    }
}

/* An object that is a type:
 * {"type":"bytes","logicalType":"decimal","precision":10,"scale":2,"connect.parameters":{..}}. */
static void read_attributes(struct iso_json *json, struct avro_type *type)
{
    struct iso_json_text name, text;
    bool decimal = false, known = false;
    uint64_t scale = 0;
    const char *start = json->at;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "type"))
            known = iso_json_string(json, &text) && take_kind(text, &type->kind);
        else if (ISO_PAYLOAD_IS(name, "logicalType"))
            decimal = ticdc_read_text(json, &text) && ISO_PAYLOAD_IS(text, "decimal");
        else if (ISO_PAYLOAD_IS(name, "scale"))
            ticdc_read_unsigned(json, &scale);
        else if (ISO_PAYLOAD_IS(name, "connect.parameters") && iso_json_peek(json) == ISO_JSON_OBJECT)
            read_parameters(json, type);
        else
            iso_json_skip(json);
    }
    if (json->code != ISO_JSON_FINE)
        return;
    if (!known || scale > ISO_CELL_SCALE_MAX) {
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "a column's type: a primitive one, or a decimal");
        return;
    }
    if (decimal && type->kind == AVRO_BYTES) {
        type->kind = AVRO_DECIMAL;
        type->scale = (int32_t)scale;
    }
}

/* Whether the object that the cursor stands before is a record. */
static bool is_record(struct iso_json *json)
{
    struct iso_json look = *json;
    struct iso_json_text name, text;
    bool found = false;
    look.scratch = NULL; /* the names looked for have no escapes */
    look.scratch_capacity = 0;
    iso_json_enter_object(&look);
    while (look.code == ISO_JSON_FINE && iso_json_member(&look, &name)) {
        if (ISO_PAYLOAD_IS(name, "type") && iso_json_peek(&look) == ISO_JSON_STRING)
            found = iso_json_string(&look, &text) && ISO_PAYLOAD_IS(text, "record");
        else
            iso_json_skip(&look);
    }
    iso_free(look.scratch);
    return found;
}

static void read_branch(struct iso_json *json, struct avro_field *field, unsigned depth)
{
    struct iso_json_text name;
    if (field->branch_count == AVRO_BRANCHES_MAX) {
        iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "a union of fewer types");
        return;
    }
    struct avro_type *type = &field->branches[field->branch_count++];
    if (iso_json_peek(json) == ISO_JSON_STRING) {
        const char *start = json->at;
        if (iso_json_string(json, &name) && !take_kind(name, &type->kind))
            iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "a primitive type");
    } else if (iso_json_peek(json) == ISO_JSON_OBJECT && is_record(json)) {
        type->kind = AVRO_ROW;
        if (field->record || depth == DEPTH_MAX)
            iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "no more records");
        else
            field->record = read_record(json, depth + 1);
    } else {
        read_attributes(json, type);
    }
}

static void read_type(struct iso_json *json, struct avro_field *field, unsigned depth)
{
    field->branch_count = 0;
    field->is_union = iso_json_peek(json) == ISO_JSON_ARRAY;
    if (!field->is_union) {
        read_branch(json, field, depth);
        return;
    }
    iso_json_enter_array(json);
    while (json->code == ISO_JSON_FINE && iso_json_element(json))
        read_branch(json, field, depth);
    if (json->code == ISO_JSON_FINE && !field->branch_count)
        iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at - 1, "a type");
}

/* ---- records ---- */

static enum avro_role role_of(struct iso_json_text name, bool has_row)
{
    if (ISO_PAYLOAD_IS(name, "_tidb_op"))
        return AVRO_OPERATION;
    if (ISO_PAYLOAD_IS(name, "_tidb_commit_ts"))
        return AVRO_COMMIT;
    if (ISO_PAYLOAD_IS(name, "_ticdc_before") && has_row)
        return AVRO_BEFORE;
    return (name.length > 6 && !memcmp(name.at, "_tidb_", 6)) || has_row ? AVRO_EXTENSION : AVRO_COLUMN;
}

static void read_field(struct iso_json *json, struct avro_record *record, unsigned depth)
{
    struct iso_json_text name, own = {"", 0};
    const char *start = json->at;
    record->fields = iso_reallocate(record->fields, (record->count + 1) * sizeof *record->fields);
    struct avro_field *field = &record->fields[record->count++];
    *field = (struct avro_field){0};
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "name"))
            iso_json_string(json, &own);
        else if (ISO_PAYLOAD_IS(name, "type"))
            read_type(json, field, depth);
        else
            iso_json_skip(json);
    }
    if (json->code == ISO_JSON_FINE && (!own.length || !field->branch_count))
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "a column with a name and a type");
    if (json->code != ISO_JSON_FINE)
        return;
    field->name = iso_copy_text(own.at, own.length);
    field->length = (uint32_t)own.length;
    field->role = role_of(own, field->record != NULL);
}

static struct avro_record *read_record(struct iso_json *json, unsigned depth)
{
    struct avro_record *record = iso_allocate_zeroed(1, sizeof *record);
    struct iso_json_text name, own = {"", 0}, space = {"", 0}, type = {"", 0};
    iso_json_space(json);
    const char *start = json->at;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "name"))
            ticdc_read_text(json, &own);
        else if (ISO_PAYLOAD_IS(name, "namespace"))
            ticdc_read_text(json, &space);
        else if (ISO_PAYLOAD_IS(name, "type"))
            ticdc_read_text(json, &type);
        else if (ISO_PAYLOAD_IS(name, "fields") && !record->count) {
            iso_json_enter_array(json);
            while (json->code == ISO_JSON_FINE && iso_json_element(json))
                read_field(json, record, depth);
        } else
            iso_json_skip(json);
    }
    if (json->code == ISO_JSON_FINE && (!own.length || !record->count || !ISO_PAYLOAD_IS(type, "record")))
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "a record with a name and fields");
    record->name = iso_copy_text(own.at, own.length);
    record->space = iso_copy_text(space.at, space.length);
    return record;
}

struct avro_record *ticdc_avro_record_read(struct iso_json *json)
{
    struct avro_record *record = read_record(json, 1);
    if (json->code == ISO_JSON_FINE)
        return record;
    ticdc_avro_record_free(record);
    return NULL;
}
