/* Objects of JSON by a table: what each member is called, what reads it, and where it goes.
 *
 * Other members are skipped, and one that comes twice is the scanner's error. A reader is given the
 * scanner and what the table says of the object: `into` is `offset` bytes behind its begin. Of
 * objects that come with each message a shape remembers the last one's members.
 */
#pragma once

#include "base/json_shape.h"

struct ticdc_member {
    const char *name;                                /* NULL: the end of the table */
    void (*read)(struct iso_json *json, void *into); /* NULL: a struct iso_json_text, which is empty
                                                        where the member is null */
    size_t offset;
};

/* An unsigned integer, quoted or not. False: the scanner's error. */
bool ticdc_read_unsigned_slow(struct iso_json *json, uint64_t *number);

static inline bool ticdc_read_unsigned(struct iso_json *json, uint64_t *number)
{
    return iso_json_short_integer(json, number) || ticdc_read_unsigned_slow(json, number);
}

/* A string, or null: an empty text. */
static inline bool ticdc_read_text(struct iso_json *json, struct iso_json_text *text)
{
    if (iso_json_short_string(json, text))
        return true;
    *text = (struct iso_json_text){"", 0};
    return iso_json_peek(json) == ISO_JSON_NULL ? iso_json_null(json) : iso_json_string(json, text);
}

/* A number that may be missing. */
struct ticdc_number {
    uint64_t is;
    bool has;
};

/* Reads the object that follows, and with a shape fast. False: the scanner's error. */
bool ticdc_read_members(struct iso_json *json, const struct ticdc_member *members, void *object);
bool ticdc_read_shaped(struct iso_json *json, struct iso_json_shape *shape,
                       const struct ticdc_member *members, void *object);

/* Read a struct iso_json_text, and null is an error; a struct ticdc_number, quoted or not; a bool,
 * which becomes true where the member is; the same where the member is a text that is not empty
 * (the location of a value that is elsewhere). */
void ticdc_member_string(struct iso_json *json, void *into);
void ticdc_member_number(struct iso_json *json, void *into);
void ticdc_member_flag(struct iso_json *json, void *into);
void ticdc_member_location(struct iso_json *json, void *into);
