#include "predicate/condition.h"

#include <string.h>

#include "predicate/lexer.h"

static bool is_constant(enum predicate_word_kind kind)
{
    return kind == PREDICATE_NUMBER || kind == PREDICATE_STRING || kind == PREDICATE_BYTES;
}

static bool is_sign(enum predicate_word_kind kind)
{
    return kind == PREDICATE_PLUS || kind == PREDICATE_MINUS;
}

static bool is_closing(enum predicate_word_kind kind)
{
    return kind == PREDICATE_CLOSE || kind == PREDICATE_RIGHT || kind == PREDICATE_COMMA;
}

/* As one writes it: no blank within brackets and before a comma. */
static void put_word(struct iso_text *shape, const struct predicate_word *word, size_t first)
{
    bool is_tight = shape->used == first || strchr("([", shape->bytes[shape->used - 1]) ||
                    is_closing(word->kind) || word->kind == PREDICATE_LEFT;
    iso_text_put(shape, is_tight ? "" : " ");
    if (is_constant(word->kind))
        iso_text_put(shape, "?");
    else
        iso_text_put_bytes(shape, word->text.at, word->text.length);
}

void iso_condition_shape(struct iso_text *shape, struct iso_json_text where)
{
    struct iso_error error = ISO_NO_ERROR;
    struct predicate_lexer lexer;
    size_t first = shape->used;
    bool is_more = predicate_lexer_start(&lexer, where.at, where.length, &error);
    for (; is_more && lexer.word.kind != PREDICATE_END; is_more = predicate_lexer_next(&lexer)) {
        bool is_another = is_constant(lexer.word.kind) && shape->used - first > 3 &&
                          !memcmp(shape->bytes + shape->used - 2, "?,", 2);
        if (is_another)
            shape->used--; /* a list is one constant */
        else if (!is_sign(lexer.word.kind))
            put_word(shape, &lexer.word, first);
    }
}
