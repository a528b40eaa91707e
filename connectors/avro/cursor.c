#include "connectors/avro/cursor.h"

#include "base/utf8.h"

bool iso_avro_fail(struct iso_avro_cursor *cursor, const char *expected)
{
    if (cursor->expected)
        return false;
    cursor->expected = expected;
    cursor->position = (size_t)(cursor->at - cursor->start);
    cursor->at = cursor->end;
    cursor->items = cursor->steps = 0;
    return false;
}

/* ---- plain values ---- */

int64_t iso_avro_long_of_many(struct iso_avro_cursor *cursor)
{
    uint64_t bits;
    const uint8_t *behind = iso_varint_take_more(cursor->at, cursor->end, &bits);
    if (!behind || (behind - cursor->at == 10 && behind[-1] > 1))
        return iso_avro_fail(cursor, "a number of at most 64 bits");
    cursor->at = behind;
    return iso_varint_signed(bits);
}

uint32_t iso_avro_choice_slow(struct iso_avro_cursor *cursor, uint32_t count)
{
    int64_t choice = iso_avro_long(cursor);
    if (choice >= 0 && choice < count)
        return (uint32_t)choice;
    return iso_avro_fail(cursor, "an index within the union or enumeration");
}

bool iso_avro_string_check(struct iso_avro_cursor *cursor, struct iso_json_text *run)
{
    if (iso_utf8_valid((const uint8_t *)run->at, run->length))
        return true;
    *run = (struct iso_json_text){"", 0};
    return iso_avro_fail(cursor, "UTF-8");
}

/* ---- by the schema ---- */

uint64_t iso_avro_block(struct iso_avro_cursor *cursor)
{
    int64_t number = iso_avro_long(cursor);
    uint64_t count = (uint64_t)number;
    if (number < 0) { /* the block's size in bytes follows */
        iso_avro_long(cursor);
        count = 0 - count;
    }
    if (count > cursor->items)
        return (uint64_t)iso_avro_fail(cursor, "no more items than the message has bytes");
    cursor->items -= count;
    return count;
}

bool iso_avro_enter(struct iso_avro_cursor *cursor)
{
    cursor->depth++;
    if (!cursor->steps)
        return iso_avro_fail(cursor, "fewer values in so few bytes");
    cursor->steps--;
    return cursor->depth <= ISO_AVRO_DEPTH_MAX || iso_avro_fail(cursor, "fewer levels");
}

static void skip_nested(const struct iso_avro_type *type, struct iso_avro_cursor *cursor)
{
    bool entered = iso_avro_enter(cursor);
    for (uint32_t i = 0; entered && type->shape == ISO_AVRO_RECORD && i < type->count; i++)
        iso_avro_skip(type->fields[i].type, cursor);
    for (uint64_t count;
         entered && type->shape != ISO_AVRO_RECORD && (count = iso_avro_block(cursor));)
        for (; count && !cursor->expected; count--) {
            if (type->shape == ISO_AVRO_MAP)
                iso_avro_string(cursor);
            iso_avro_skip(type->items, cursor);
        }
    iso_avro_leave(cursor);
}

void iso_avro_skip(const struct iso_avro_type *type, struct iso_avro_cursor *cursor)
{
    type = iso_avro_inside(type, cursor);
    switch ((enum iso_avro_shape)type->shape) {
    case ISO_AVRO_NULL:
        return;
    case ISO_AVRO_BOOLEAN:
        iso_avro_boolean(cursor);
        return;
    case ISO_AVRO_INT:
        iso_avro_int(cursor);
        return;
    case ISO_AVRO_LONG:
        iso_avro_long(cursor);
        return;
    case ISO_AVRO_FLOAT:
        iso_avro_bytes(cursor, 4);
        return;
    case ISO_AVRO_DOUBLE:
        iso_avro_bytes(cursor, 8);
        return;
    case ISO_AVRO_BYTES:
        iso_avro_run(cursor);
        return;
    case ISO_AVRO_STRING:
        iso_avro_string(cursor);
        return;
    case ISO_AVRO_FIXED:
        iso_avro_bytes(cursor, type->count);
        return;
    case ISO_AVRO_ENUM:
        iso_avro_choice(cursor, type->count);
        return;
    default:
        skip_nested(type, cursor);
    }
}
