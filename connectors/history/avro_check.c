#include "connectors/history/avro_check.h"

enum { DEPTH_MAX = 64 };

struct cursor {
    const uint8_t *at, *end;
    uint64_t items; /* that arrays may still have: no more than the message has bytes, also where items are empty */
};

static bool take_long(struct cursor *cursor, int64_t *value)
{
    uint64_t bits = 0;
    for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        uint8_t byte = *cursor->at++;
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = (int64_t)(bits >> 1 ^ (0u - (bits & 1)));
            return true;
        }
    }
    return false;
}

static bool skip(struct cursor *cursor, int64_t size)
{
    if (size < 0 || size > cursor->end - cursor->at)
        return false;
    cursor->at += size;
    return true;
}

static bool skip_text(struct cursor *cursor)
{
    int64_t size;
    return take_long(cursor, &size) && skip(cursor, size);
}

/* An index below `count`. */
static bool take_index(struct cursor *cursor, size_t count, int64_t *index)
{
    return take_long(cursor, index) && *index >= 0 && (uint64_t)*index < count;
}

static bool check(avro_schema_t schema, struct cursor *cursor, int depth);

/* Blocks of items, each behind its count; a negative count is followed by the block's size in bytes. */
static bool check_blocks(avro_schema_t items, bool named, struct cursor *cursor, int depth)
{
    int64_t count, size;
    for (;;) {
        if (!take_long(cursor, &count) || count == INT64_MIN)
            return false;
        if (count == 0)
            return true;
        if (count < 0) {
            count = -count;
            if (!take_long(cursor, &size))
                return false;
        }
        if ((uint64_t)count > cursor->items)
            return false;
        cursor->items -= (uint64_t)count;
        for (; count > 0; count--)
            if ((named && !skip_text(cursor)) || !check(items, cursor, depth))
                return false;
    }
}

static bool check_record(avro_schema_t schema, struct cursor *cursor, int depth)
{
    size_t count = avro_schema_record_size(schema);
    for (size_t i = 0; i < count; i++)
        if (!check(avro_schema_record_field_get_by_index(schema, (int)i), cursor, depth))
            return false;
    return true;
}

static bool check(avro_schema_t schema, struct cursor *cursor, int depth)
{
    int64_t index;
    if (depth == DEPTH_MAX)
        return false;
    switch (avro_typeof(schema)) {
    case AVRO_NULL: return true;
    case AVRO_BOOLEAN: return cursor->at < cursor->end && *cursor->at <= 1 && skip(cursor, 1);
    case AVRO_INT32: return take_long(cursor, &index) && index >= INT32_MIN && index <= INT32_MAX;
    case AVRO_INT64: return take_long(cursor, &index);
    case AVRO_FLOAT: return skip(cursor, 4);
    case AVRO_DOUBLE: return skip(cursor, 8);
    case AVRO_STRING:
    case AVRO_BYTES: return skip_text(cursor);
    case AVRO_FIXED: return skip(cursor, avro_schema_fixed_size(schema));
    case AVRO_ENUM: return take_index(cursor, (size_t)avro_schema_enum_number_of_symbols(schema), &index);
    case AVRO_RECORD: return check_record(schema, cursor, depth + 1);
    case AVRO_ARRAY: return check_blocks(avro_schema_array_items(schema), false, cursor, depth + 1);
    case AVRO_MAP: return check_blocks(avro_schema_map_values(schema), true, cursor, depth + 1);
    case AVRO_UNION:
        return take_index(cursor, avro_schema_union_size(schema), &index) &&
               check(avro_schema_union_branch(schema, (int)index), cursor, depth + 1);
    case AVRO_LINK: return check(avro_schema_link_target(schema), cursor, depth + 1);
    default: return false;
    }
}

bool record_avro_check(avro_schema_t schema, const uint8_t *bytes, size_t size)
{
    struct cursor cursor = {bytes, bytes + size, size};
    return check(schema, &cursor, 0) && cursor.at == cursor.end;
}
