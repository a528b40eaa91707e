#include "base/json_shape.h"

#include "base/memory.h"

void iso_json_again_release(struct iso_json_again *again)
{
    iso_free(again->text);
    *again = (struct iso_json_again){0};
}

bool iso_json_again_note(const struct iso_json *json, const char *from,
                         struct iso_json_again *again)
{
    size_t length = (size_t)(json->at - from);
    again->length = 0;
    if (json->code != ISO_JSON_FINE || memchr(from, '\\', length))
        return false;
    if (again->capacity < length + ISO_JSON_PADDING) {
        again->capacity = iso_column_capacity(again->capacity, length + ISO_JSON_PADDING);
        again->text = iso_reallocate(again->text, again->capacity);
    }
    memcpy(again->text, from, length);
    memset(again->text + length, 0, ISO_JSON_PADDING);
    again->length = length;
    return true;
}

/* Names with escapes do not stand in the text; they and long ones are not remembered. */
static void remember_name(struct iso_json_shape_member *member, const struct iso_json *json,
                          const char *from, struct iso_json_text name, uint8_t meaning)
{
    size_t length = (size_t)(json->at - from);
    bool inside = name.at > from && name.at + name.length < json->at;
    member->mask = 0;
    if (!inside || length > ISO_JSON_SHAPE_BYTES)
        return;
    memcpy(member->bytes, from, length);
    uint32_t mask = UINT32_MAX >> (ISO_JSON_SHAPE_BYTES - length);
    member->mask = (uint16_t)mask;
    member->rest = (uint16_t)(mask >> 16);
    member->length = (uint8_t)length;
    member->name_at = (uint8_t)(name.at - from);
    member->name_length = (uint8_t)name.length;
    member->meaning = meaning;
}

bool iso_json_shape_other(struct iso_json *json, struct iso_json_shape *shape,
                          iso_json_meaning *find, const void *of, struct iso_json_text *name,
                          uint8_t *meaning)
{
    const char *from = json->at;
    struct iso_json_text found;
    if (from < json->end && *from == '}')
        return iso_json_leave(json);
    if (!iso_json_member(json, &found))
        return false;
    *meaning = find ? find(of, found.at, found.length) : 0;
    if (name)
        *name = found;
    if (shape->next < ISO_JSON_SHAPE_MEMBERS)
        remember_name(&shape->members[shape->next++], json, from, found, *meaning);
    return true;
}
