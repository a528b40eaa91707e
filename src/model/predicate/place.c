#include "predicate/place.h"

#include "base/hash.h"
#include "values/spelling.h"

/* Class 0 is of integers, the others are of words by their lengths: of those that may be codes, and
 * of others. */
enum { INTEGERS = 1, WORDS = ~INTEGERS, CODES = 15, OTHERS = ISO_SCALAR_CLASSES - 1 - CODES };

static uint32_t class_of(struct iso_word word)
{
    return word.is_code ? 2u << word.length % CODES : 2u << CODES << word.length % OTHERS;
}

static struct iso_json_text text_of(const struct iso_scalar *scalar)
{
    return (struct iso_json_text){scalar->text, scalar->length};
}

static uint64_t hash_of(const struct iso_scalar *scalar)
{
    uint64_t hash = iso_scalar_has_text(scalar) ? iso_hash_text(scalar->text, scalar->length)
                                                : iso_hash_number((uint64_t)scalar->number);
    return hash + (scalar->kind == ISO_SCALAR_DECIMAL && scalar->is_negative);
}

static bool place_untyped(const struct iso_scalar *value, struct iso_scalar_place *place)
{
    struct iso_scalar integer;
    if (iso_scalar_is_integer(value, &integer)) {
        place->hash = hash_of(&integer);
        place->classes = INTEGERS;
        return integer.kind == ISO_SCALAR_INTEGER && (value->is_signed || integer.number >= 0);
    }
    struct iso_word word = iso_word_of(text_of(value));
    place->hash = hash_of(value);
    place->classes = class_of(word);
    return word.length && value->text_order != ISO_TEXT_COLLATED;
}

bool iso_scalar_place(const struct iso_scalar *value, struct iso_scalar_place *place)
{
    switch ((enum iso_scalar_kind)value->kind) {
    case ISO_SCALAR_TEXT:
        if (value->text_order == ISO_TEXT_COLLATED)
            return false;
        break;
    case ISO_SCALAR_BOOLEAN:
    case ISO_SCALAR_INTEGER:
    case ISO_SCALAR_DECIMAL:
    case ISO_SCALAR_COUNT:
    case ISO_SCALAR_INSTANT:
    case ISO_SCALAR_TOKEN:
        break;
    case ISO_SCALAR_UNTYPED:
        return place_untyped(value, place);
    default:
        return false;
    }
    *place = (struct iso_scalar_place){hash_of(value), 0};
    return true;
}

/* Of all words that may be the same value in another form. */
static uint32_t classes_near(struct iso_word word)
{
    uint32_t classes = 0;
    for (struct iso_word other = {.length = 1}; other.length < ISO_WORD_LENGTH; other.length++)
        for (int is_code = 0; is_code < 2; is_code++) {
            other.is_code = is_code;
            if (iso_words_may_meet(word, other))
                classes |= class_of(other);
        }
    return classes;
}

bool iso_scalar_seek(struct iso_scalar_type type, const struct iso_scalar *constant,
                     struct iso_scalar_place *seek)
{
    bool is_untyped = type.value.kind == ISO_VALUE_UNKNOWN || type.value.kind == ISO_VALUE_ANY;
    if (!iso_scalar_place(constant, seek))
        return false;
    if (!is_untyped)
        return constant->kind != ISO_SCALAR_UNTYPED;
    if (constant->kind == ISO_SCALAR_INTEGER ||
        (constant->kind == ISO_SCALAR_UNTYPED && seek->classes == INTEGERS))
        seek->classes = (uint32_t)WORDS;
    else if (constant->kind == ISO_SCALAR_UNTYPED)
        seek->classes = INTEGERS | classes_near(iso_word_of(text_of(constant)));
    else
        return false;
    return constant->kind == ISO_SCALAR_UNTYPED || type.is_signed || constant->number >= 0;
}
