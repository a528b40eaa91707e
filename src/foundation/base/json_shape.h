/* What members an object had the last time, so that those of the next one are known at a glance.
 *
 * Messages of a feed are alike: the same members, in the same order, written in the same way. A
 * shape remembers the bytes between two values, `,"name":`, and what the caller made of the name;
 * where they stand again, one comparison replaces scanning, checking and looking up. Nothing else
 * is assumed: bytes that are the same mean the same, and any others are scanned as ever (and
 * remembered in turn).
 *
 *     iso_json_shape_enter(&json, &shape);         one shape for each kind of object, none inside
 *                                                  itself
 *     while (iso_json_shape_member(&json, &shape, find, of, &name, &meaning))
 *         ...
 *
 * Threads: one at a time for each shape.
 */
#pragma once

#include "base/json.h"

enum { ISO_JSON_SHAPE_MEMBERS = 48, ISO_JSON_SHAPE_BYTES = 32 };

struct iso_json_shape {
    uint32_t next;
    struct iso_json_shape_member {
        char bytes[ISO_JSON_SHAPE_BYTES]; /* up to the value; the first member's begin without a
                                             comma */
        uint16_t mask, rest; /* bit i: byte i (16 + i) is one of them; mask 0: none is remembered */
        uint8_t length, name_at, name_length, meaning;
    } members[ISO_JSON_SHAPE_MEMBERS];
};

/* The caller's meaning of a member's name; `of` is the caller's own. */
typedef uint8_t iso_json_meaning(const void *of, const char *name, size_t length);

/* A whole object, array or string as it stood in an earlier text: where the same bytes stand again,
 * what was made of them still holds. A zeroed one is none. */
struct iso_json_again {
    char *text; /* a copy, with the scanner's padding */
    size_t length, capacity;
};

void iso_json_again_release(struct iso_json_again *again);

/* Keeps what stands between `from`, where no white space is, and the cursor. False: a backslash is
 * in it, so that what was read of it may be the scanner's; then nothing is kept. */
bool iso_json_again_note(const struct iso_json *json, const char *from,
                         struct iso_json_again *again);

/* Whether it stands at the cursor; passes over it. */
static inline bool iso_json_again(struct iso_json *json, const struct iso_json_again *again)
{
    size_t length = again->length;
    if (!length || (size_t)(json->end - json->at) < length || memcmp(json->at, again->text, length))
        return false;
    json->at += length;
    return true;
}

/* Just after the object was entered. */
static inline void iso_json_shape_start(struct iso_json_shape *shape)
{
    shape->next = 0;
}

static inline bool iso_json_shape_enter(struct iso_json *json, struct iso_json_shape *shape)
{
    iso_json_shape_start(shape);
    return iso_json_enter_object(json);
}

/* The way of members that stand elsewhere than the last time. `find` NULL: all mean 0. */
bool iso_json_shape_other(struct iso_json *json, struct iso_json_shape *shape,
                          iso_json_meaning *find, const void *of, struct iso_json_text *name,
                          uint8_t *meaning);

/* As iso_json_member; `name` may be NULL. */
static inline bool iso_json_shape_member(struct iso_json *json, struct iso_json_shape *shape,
                                         iso_json_meaning *find, const void *of,
                                         struct iso_json_text *name, uint8_t *meaning)
{
    struct iso_json_shape_member *member = &shape->members[shape->next];
    if (shape->next == ISO_JSON_SHAPE_MEMBERS || !member->mask ||
        json->end - json->at < member->length ||
        (iso_bytes_same(json->at, member->bytes) & member->mask) != member->mask ||
        (member->rest &&
         (iso_bytes_same(json->at + 16, member->bytes + 16) & member->rest) != member->rest))
        return iso_json_shape_other(json, shape, find, of, name, meaning);
    if (name)
        *name = (struct iso_json_text){json->at + member->name_at, member->name_length};
    *meaning = member->meaning;
    json->at += member->length;
    json->fresh = false;
    shape->next++;
    return true;
}
