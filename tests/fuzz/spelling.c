/* Any two texts as values of any type: canonical spellings stay, comparing does not depend on the
 * order, and values whose canonical spellings are equal are one. The first bytes are the type; a
 * NUL stands between the texts. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "values/spelling.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spelling(struct iso_value_type type, struct iso_json_text text,
                           struct iso_text *once)
{
    struct iso_text twice = {0};
    bool spelt = iso_value_spell(type, text, once);
    if (!spelt && once->used)
        abort();
    if (spelt &&
        (!iso_value_spell(type, (struct iso_json_text){once->bytes ? once->bytes : "", once->used},
                          &twice) ||
         once->used != twice.used ||
         (once->used && memcmp(once->bytes, twice.bytes, once->used) != 0)))
        abort();
    iso_text_release(&twice);
}

static void check_pair(struct iso_value_type type, struct iso_json_text one,
                       struct iso_json_text other)
{
    struct iso_text left = {0}, right = {0};
    for (int spellers = 0; spellers < 3; spellers++) {
        struct iso_spellers who = {.client = spellers > 0, .write = spellers > 1};
        if (iso_values_compare(type, one, other, who) != iso_values_compare(type, other, one, who))
            abort();
    }
    check_spelling(type, one, &left);
    check_spelling(type, other, &right);
    if (left.used && left.used == right.used && !memcmp(left.bytes, right.bytes, left.used) &&
        iso_values_compare(type, one, other, (struct iso_spellers){.client = true}) ==
            ISO_VALUES_DIFFER)
        abort();
    iso_text_release(&left);
    iso_text_release(&right);
}

static struct iso_value_type type_of(void *context, struct iso_json_text column)
{
    const struct iso_value_type *type = context;
    return column.length % 2 ? *type : (struct iso_value_type){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEAD = 2 };
    if (size < HEAD)
        return 0;
    struct iso_value_type type = {.kind = data[0] % ISO_VALUE_KINDS,
                                  .detail = (int16_t)(data[1] % 10)};
    char *texts = iso_allocate(size);
    memcpy(texts, data + HEAD, size - HEAD);
    const char *gap = memchr(texts, 0, size - HEAD);
    size_t first = gap ? (size_t)(gap - texts) : size - HEAD, from = gap ? first + 1 : first;
    struct iso_json_text one = {texts, first}, other = {texts + from, size - HEAD - from};
    check_pair(type, one, other);
    struct iso_column_types types = {type_of, &type};
    struct iso_row_difference difference;
    struct iso_text row = {0};
    iso_row_spell(&types, one, &row);
    iso_rows_compare(&types, one, other, (struct iso_spellers){.client = true}, &difference);
    iso_text_release(&row);
    iso_free(texts);
    return 0;
}
