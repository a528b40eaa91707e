#include "connectors/ticdc/members.h"

#include <string.h>

#include "base/payload.h"

bool ticdc_read_unsigned_slow(struct iso_json *json, uint64_t *number)
{
    struct iso_json_number read = {0};
    struct iso_json_text text;
    const char *start = json->at;
    bool fine;
    *number = 0;
    if (iso_json_peek(json) == ISO_JSON_STRING) {
        if (!iso_json_string(json, &text))
            return false;
        fine = (*text.at != '0' || text.length == 1) &&
               iso_bytes_decimal(text.at, text.length, number);
    } else {
        if (!iso_json_integer(json, &read))
            return false;
        *number = read.bits;
        fine = !read.negative;
    }
    return fine || iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "an unsigned integer");
}

/* The member's place in the table from 1, 0: it is not in it. */
static uint8_t find_member(const void *of, const char *name, size_t length)
{
    const struct ticdc_member *members = of;
    for (uint8_t i = 0; members[i].name; i++)
        if (iso_payload_is((struct iso_json_text){name, length}, members[i].name,
                           strlen(members[i].name)))
            return (uint8_t)(i + 1);
    return 0;
}

/* What most members are is read here, without a call. */
__attribute__((always_inline)) static inline void read_member(struct iso_json *json,
                                                              const struct ticdc_member *members,
                                                              uint8_t member, uint32_t *seen,
                                                              void *object)
{
    if (!member) {
        iso_json_skip(json);
    } else if (*seen >> member & 1) {
        iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "each member once");
    } else {
        const struct ticdc_member *found = &members[member - 1];
        void *into = (char *)object + found->offset;
        *seen |= 1u << member;
        if (!found->read)
            ticdc_read_text(json, into);
        else if (found->read == ticdc_member_number)
            ((struct ticdc_number *)into)->has =
                ticdc_read_unsigned(json, &((struct ticdc_number *)into)->is);
        else
            found->read(json, into);
    }
}

bool ticdc_read_members(struct iso_json *json, const struct ticdc_member *members, void *object)
{
    struct iso_json_text name;
    uint32_t seen = 0;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name))
        read_member(json, members, find_member(members, name.at, name.length), &seen, object);
    return json->code == ISO_JSON_FINE;
}

bool ticdc_read_shaped(struct iso_json *json, struct iso_json_shape *shape,
                       const struct ticdc_member *members, void *object)
{
    uint32_t seen = 0;
    uint8_t member;
    iso_json_shape_enter(json, shape);
    while (iso_json_shape_member(json, shape, find_member, members, NULL, &member))
        read_member(json, members, member, &seen, object);
    return json->code == ISO_JSON_FINE;
}

void ticdc_member_string(struct iso_json *json, void *into)
{
    iso_json_string(json, into);
}

void ticdc_member_number(struct iso_json *json, void *into)
{
    struct ticdc_number *number = into;
    number->has = ticdc_read_unsigned(json, &number->is);
}

void ticdc_member_flag(struct iso_json *json, void *into)
{
    bool is = false;
    if (!iso_json_take_null(json))
        iso_json_boolean(json, &is);
    *(bool *)into |= is;
}

void ticdc_member_location(struct iso_json *json, void *into)
{
    struct iso_json_text location;
    *(bool *)into |= ticdc_read_text(json, &location) && location.length;
}
