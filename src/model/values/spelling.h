/* One value, spelt in several ways: its canonical spelling by its column's type, and whether two
 * texts are one value.
 *
 * Canonical is what a change stream's decoder makes of a row (values/row.h): a client's text, be it
 * the stream's own spelling, the server's or a driver's, becomes the same where its type leaves no
 * doubt. It does so in both directions only where another text could not be meant: what is not a
 * value of the type, or may be several, stays as it is.
 *
 *     DECIMAL(2)  1.5, 1.500, +1.5e0, Decimal('1.5')        1.50
 *     TIMESTAMP   2024-02-29 12:34:56.5                     1709210096500000
 *     INSTANT     2024-02-29 12:34:56.500+01                2024-02-29T11:34:56.5Z; without an
 *                                                           offset: as it is
 *     BYTES       \xff00, b'\xff\x00', /wA=                 /wA=
 *
 * Comparing says more than equal or not: a time without an offset may be the same moment as one in
 * UTC, a FLOAT with six digits the same as one with nine. Then it is not clear, and neither may be
 * said. Threads: any; no state.
 */
#pragma once

#include "base/json.h"
#include "base/text.h"
#include "values/type.h"

/* Adds the canonical spelling to `out`. False: the text is no value of the type, or it is not sure
 * which; `out` is as it was. Kinds that no text has but one spelling of are left alone, too. */
bool iso_value_spell(struct iso_value_type type, struct iso_json_text text, struct iso_text *out);

enum iso_likeness { ISO_VALUES_EQUAL, ISO_VALUES_UNCLEAR, ISO_VALUES_DIFFER };

struct iso_labels;

/* The writers of two texts. */
struct iso_spellers {
    bool client;      /* one of them is a client's; else both are the stream's */
    bool write;       /* and is what it wrote, before the column rounded it */
    bool only_signed; /* the database has no integers without a sign, of which the stream would have
                         a negative one */
    const struct iso_labels *labels; /* to which types refer; NULL: to none */
};

enum iso_likeness iso_values_compare(struct iso_value_type type, struct iso_json_text one,
                                     struct iso_json_text other, struct iso_spellers spellers);

/* ---- texts of no type ---- */

/* A letter before it, as a status or a name has. Two words are two values, whatever type they have,
 * unless they may meet: base64 may be another's bytes, or their hex digits, and a UUID has two
 * forms. */
struct iso_word {
    size_t length; /* 0: it is none, or as long as ISO_WORD_LENGTH */
    bool is_code;  /* of letters of base64 and of UUIDs alone */
};
enum { ISO_WORD_LENGTH = 256 };
struct iso_word iso_word_of(struct iso_json_text text);
bool iso_words_may_meet(struct iso_word one, struct iso_word other);

/* ---- whole rows: objects of columns ---- */

struct iso_column_types {
    struct iso_value_type (*type_of)(void *context, struct iso_json_text column);
    void *context;
};

/* As iso_value_spell. */
bool iso_row_spell(const struct iso_column_types *types, struct iso_json_text row,
                   struct iso_text *out);

enum { ISO_SPELLING_NAME = 192, ISO_SPELLING_TEXT = 64 };

/* The difference of two rows: the first column that differs, or, if none does, one that is not
 * clear. Texts are cut to fit, and empty where the difference is not in one column. */
struct iso_row_difference {
    char column[ISO_SPELLING_NAME], one[ISO_SPELLING_TEXT], other[ISO_SPELLING_TEXT];
};

/* Rows of other columns differ. */
enum iso_likeness iso_rows_compare(const struct iso_column_types *types, struct iso_json_text one,
                                   struct iso_json_text other, struct iso_spellers spellers,
                                   struct iso_row_difference *difference);

/* As much of a text as `size` bytes and a NUL have room for, and no half of a letter. */
void iso_spelling_cut(char *into, size_t size, struct iso_json_text text);
