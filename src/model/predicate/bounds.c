#include "predicate/bounds.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "values/spelling.h"

/* ---- parts of keys ---- */

struct iso_json_text iso_key_parts(struct iso_json_text key)
{
    const char *slash = key.length ? memchr(key.at, '/', key.length) : NULL;
    size_t before = slash ? (size_t)(slash - key.at) + 1 : 0;
    return (struct iso_json_text){key.at + before, key.length - before};
}

/* Adds the part to `out`, unescaped. False: a % that begins none of the three escapes. */
static bool unescape(struct iso_json_text part, struct iso_text *out)
{
    bool is_damaged = false;
    for (int byte; (byte = iso_key_next_byte(&part, &is_damaged)) >= 0 && !is_damaged;) {
        char one = (char)byte;
        iso_text_put_bytes(out, &one, 1);
    }
    return !is_damaged;
}

/* Without a schema: an integer, or a text. */
static struct iso_scalar read_untyped(struct iso_scalar_type type, struct iso_json_text text)
{
    type.value.kind = iso_key_is_integer(text) ? ISO_VALUE_NUMERIC : ISO_VALUE_TEXT;
    return iso_scalar_read(type, text);
}

/* A schema that says "string" is one: whether digits are in the order of their bytes or by size
 * only both can say. */
static bool is_untyped(const struct iso_scalar_type *type)
{
    return type->value.kind == ISO_VALUE_UNKNOWN;
}

static struct iso_scalar read_part(const struct iso_scalar_type *type, struct iso_json_text text)
{
    return is_untyped(type) ? read_untyped(*type, text) : iso_scalar_read(*type, text);
}

/* ---- comparing ---- */

static iso_order compare_part(const struct iso_scalar_type *type, const struct iso_scalar *left,
                              const struct iso_scalar *right)
{
    bool is_text = left->kind == ISO_SCALAR_TEXT, other_is = right->kind == ISO_SCALAR_TEXT;
    if (is_text == other_is || !is_untyped(type))
        return iso_scalar_compare(left, right);
    if (type->text == ISO_TEXT_ORDERED)
        return is_text ? ISO_ORDER_GREATER : ISO_ORDER_LESS;
    return iso_order_make(ISO_ORDER_LESS | ISO_ORDER_GREATER, ISO_PREDICATE_COLLATION);
}

/* As far as both go, the first part that differs decides. */
static iso_order compare_parts(const struct iso_bounds *bounds, const struct iso_scalar *left,
                               const struct iso_scalar *right, uint32_t count)
{
    unsigned outcomes = ISO_ORDER_EQUAL, reason = 0;
    for (uint32_t i = 0; i < count && outcomes & ISO_ORDER_EQUAL; i++) {
        iso_order order = compare_part(&bounds->types[i], &left[i], &right[i]);
        outcomes = (outcomes & ~(unsigned)ISO_ORDER_EQUAL) | iso_order_outcomes(order);
        reason = reason ? reason : iso_order_reason(order);
    }
    return iso_order_make(outcomes, reason);
}

/* ---- reading ---- */

/* False: it is more parts than the key has, or none where some have to be; `parts` are then not all
 * there. */
static bool split(const struct iso_bounds *bounds, struct iso_json_text text,
                  struct iso_json_text *parts, uint32_t *count)
{
    struct iso_json_text rest = text;
    *count = 0;
    if (bounds->is_plain) {
        parts[(*count)++] = text;
        return true;
    }
    while (iso_key_take_part(&rest, &parts[*count]))
        if (++*count > bounds->part_count)
            return false;
    return true;
}

/* Adds the part as its column spells it. False: it has an escape that is none. */
static bool put_part(const struct iso_bounds *bounds, uint32_t which, struct iso_json_text part,
                     struct iso_text *out)
{
    struct iso_text plain = {0};
    bool fine = true;
    iso_text_reserve(&plain, part.length + 1); /* empty ones have a place, too */
    if (bounds->is_plain)
        iso_text_put_bytes(out, part.at, part.length);
    else if ((fine = unescape(part, &plain)) &&
             !iso_value_spell(bounds->types[which].value,
                              (struct iso_json_text){plain.bytes, plain.used}, out))
        iso_text_put_bytes(out, plain.bytes, plain.used);
    iso_text_release(&plain);
    return fine;
}

static enum iso_status refuse(const char *name, size_t offset, const char *expected,
                              struct iso_error *error)
{
    return iso_error_set(error, ISO_BAD_INPUT, "%s: byte %zu: expected %s", name, offset + 1,
                         expected);
}

static enum iso_status read_bound(const struct iso_bounds *bounds, const char *name,
                                  struct iso_json_text text, struct iso_bound *bound,
                                  struct iso_error *error)
{
    struct iso_json_text parts[ISO_KEY_PARTS + 1];
    size_t ends[ISO_KEY_PARTS], start = 0;
    if (!text.at)
        return ISO_OK;
    if (!split(bounds, text, parts, &bound->count))
        return refuse(name, (size_t)(parts[bound->count - 1].at - text.at),
                      "no more parts than the key has", error);
    iso_text_reserve(&bound->text, 1);
    for (uint32_t i = 0; i < bound->count; i++) {
        if (!put_part(bounds, i, parts[i], &bound->text))
            return refuse(name, (size_t)(parts[i].at - text.at),
                          "%25, %2F or %2C for each %, / and ,", error);
        ends[i] = bound->text.used;
    }
    bound->parts = iso_allocate(bound->count * sizeof *bound->parts);
    for (uint32_t i = 0; i < bound->count; start = ends[i++]) {
        bound->parts[i] = read_part(
            &bounds->types[i], (struct iso_json_text){bound->text.bytes + start, ends[i] - start});
        if (bound->parts[i].kind == ISO_SCALAR_OPAQUE)
            return refuse(name, (size_t)(parts[i].at - text.at),
                          "a value of the column's type that has an order", error);
    }
    return ISO_OK;
}

static enum iso_status check_order(const struct iso_bounds *bounds, struct iso_error *error)
{
    uint32_t common = bounds->from.count < bounds->to.count ? bounds->from.count : bounds->to.count;
    if (compare_parts(bounds, bounds->from.parts, bounds->to.parts, common) == ISO_ORDER_GREATER)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "to: byte 1: expected a bound that is not before `from`");
    return ISO_OK;
}

enum iso_status iso_bounds_read(struct iso_bounds *bounds, const struct iso_scalar_type *types,
                                uint32_t parts, struct iso_json_text from, struct iso_json_text to,
                                struct iso_error *error)
{
    static const struct iso_scalar_type plain = {.text = ISO_TEXT_ORDERED};
    assert(parts <= ISO_KEY_PARTS);
    *bounds = (struct iso_bounds){.part_count = types ? parts : 1, .is_plain = !types};
    bounds->types = iso_allocate(bounds->part_count * sizeof *bounds->types);
    memcpy(bounds->types, types ? types : &plain, bounds->part_count * sizeof *bounds->types);
    if (read_bound(bounds, "from", from, &bounds->from, error) == ISO_OK &&
        read_bound(bounds, "to", to, &bounds->to, error) == ISO_OK &&
        check_order(bounds, error) == ISO_OK)
        return ISO_OK;
    iso_bounds_release(bounds);
    return error->status;
}

static void release(struct iso_bound *bound)
{
    iso_free(bound->parts);
    iso_text_release(&bound->text);
}

void iso_bounds_release(struct iso_bounds *bounds)
{
    iso_free(bounds->types);
    release(&bounds->from);
    release(&bounds->to);
    *bounds = (struct iso_bounds){0};
}

/* ---- a key ---- */

/* Its parts: unescaped where that has to be, in `room`. */
static bool read_key(const struct iso_bounds *bounds, struct iso_json_text key,
                     struct iso_scalar *parts, struct iso_text *room)
{
    struct iso_json_text texts[ISO_KEY_PARTS + 1];
    uint32_t count;
    if (!split(bounds, key, texts, &count) || count != bounds->part_count)
        return false;
    room->used = 0;
    iso_text_reserve(room, key.length); /* so that no part moves another */
    for (uint32_t i = 0; i < count; i++) {
        size_t start = room->used;
        struct iso_json_text text = texts[i];
        if (!bounds->is_plain && text.length && memchr(text.at, '%', text.length)) {
            if (!unescape(text, room))
                return false;
            text = (struct iso_json_text){room->bytes + start, room->used - start};
        }
        parts[i] = read_part(&bounds->types[i], text);
    }
    return true;
}

static iso_truth test(const struct iso_bounds *bounds, const struct iso_scalar *key,
                      const struct iso_bound *bound, unsigned accepted)
{
    return iso_order_test(compare_parts(bounds, key, bound->parts, bound->count), accepted);
}

iso_truth iso_bounds_cover(const struct iso_bounds *bounds, struct iso_json_text key,
                           struct iso_text *room)
{
    struct iso_scalar parts[ISO_KEY_PARTS];
    if (!read_key(bounds, key, parts, room))
        return iso_truth_make(ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, ISO_PREDICATE_TYPE);
    iso_truth truth = test(bounds, parts, &bounds->from, ISO_ORDER_EQUAL | ISO_ORDER_GREATER);
    return iso_truth_and(truth, test(bounds, parts, &bounds->to, ISO_ORDER_EQUAL | ISO_ORDER_LESS));
}
