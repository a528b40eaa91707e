#include "base/json_shape.h"

/* Names with escapes do not stand in the text; they and long ones are not remembered. */
static void note(struct iso_json_shape_member *member, const struct iso_json *json, const char *from,
                 struct iso_json_text name, uint8_t meaning)
{
    size_t length = (size_t)(json->at - from);
    bool inside = name.at > from && name.at + name.length < json->at;
    member->mask = 0;
    if (!inside || length > ISO_JSON_SHAPE_BYTES)
        return;
    memcpy(member->bytes, from, length);
    member->mask = UINT32_MAX >> (ISO_JSON_SHAPE_BYTES - length);
    member->length = (uint8_t)length;
    member->name_at = (uint8_t)(name.at - from);
    member->name_length = (uint8_t)name.length;
    member->meaning = meaning;
}

bool iso_json_shape_other(struct iso_json *json, struct iso_json_shape *shape, iso_json_meaning *find,
                          struct iso_json_text *name, uint8_t *meaning)
{
    const char *from = json->at;
    if (!iso_json_member(json, name))
        return false;
    *meaning = find ? find(name->at, name->length) : 0;
    if (shape->next < ISO_JSON_SHAPE_MEMBERS)
        note(&shape->members[shape->next++], json, from, *name, *meaning);
    return true;
}
