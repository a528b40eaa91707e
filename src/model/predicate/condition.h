/* A condition: what stands behind WHERE, judged of one row at a time.
 *
 *     account_id = 7 AND status IN ('open', 'paid') AND (amount > 10 OR note IS NULL)
 *
 *     iso_condition_parse(&condition, text, length, &error)     columns and paths are listed
 *     iso_condition_bind(&condition, types)                      a type a column; again when a
 *                                                                schema changes
 *     iso_condition_judge(&condition, cells)                     a cell a column
 *
 * Grammar, keywords in any case:
 *
 *     condition  = term { OR term } term = factor { AND factor } factor = NOT factor | test
 *     test       = operand ( = | <> | != | < | <= | > | >= ) operand
 *                | operand [NOT] BETWEEN operand AND operand
 *                | operand [NOT] IN ( [ constant, ... ] )
 *                | operand ( = | ... ) ( ANY | SOME | ALL ) "(" ARRAY "[" [ constant, ... ] "]"
 *                  [ :: type "[" "]" ] ")"
 *                | operand [NOT] LIKE 'a_%'                    the backslash escapes
 *                | operand IS [NOT] DISTINCT FROM operand
 *                | operand IS [NOT] NULL
 *                | ( operand | "(" condition ")" ) [ IS [NOT] ( TRUE | FALSE | UNKNOWN ) ]
 *     operand    = ( column | constant | "(" operand ")" | ( LOWER | UPPER ) "(" operand ")"
 *                | CAST "(" operand AS type ")" | type 'text' ) { :: type }
 *     type       = smallint | int | bigint | numeric [ "(" 12 [ , 12 ] ")" ] | real
 *                | double precision | boolean | text | varchar [ "(" 12 ")" ] | date | timestamp
 *                | timestamptz | time | uuid, by their other names, too       (function.h)
 *     column     = name, "name" with "" for a quote, `name` with `` for one
 *     constant   = [+|-] 12 | 1.5 | .5 | 1e3 | 'text' with '' for a quote | X'00ff' | TRUE | FALSE
 *                | NULL
 *
 * A column without double quotes is meant in any case of letters, one with them as it is written.
 * There are no comments, other functions, arithmetic, parameters and no qualified names: they are
 * refused, with the location and with what could stand there.
 *
 * The program is flat: steps of eight bytes that push truths on a stack (truth.h) or skip what no
 * longer matters,
 *
 *     COMPARE account_id {equal} 7 | SKIP unless it may match | IN status 2 constants | AND | SKIP
 *       ... | AND
 *
 * and refer to columns and constants by number. What a constant means depends on its column's type:
 * '2024-02-29' is a date's count of days, 1.50 is 1.5. A constant that is no value of that type
 * makes its test unjudged.
 *
 * Limits: ISO_CONDITION_TEXT bytes, _COLUMNS columns, as many functions and casts of them, _DEPTH
 * levels of brackets and NOTs. Beyond
 * them it is refused.
 *
 * Errors: ISO_BAD_INPUT, "byte 17: found 'x', expected ...", bytes from 1. Cost: parsing and
 * binding are linear in the text; judging is linear in the steps that are not skipped, and
 * allocates nothing (but for functions and casts; and see scalar.h, of texts without a type).
 * Ownership: a condition owns all
 * that it lists, constants too, until it is bound again or released; cells are the caller's.
 * Threads: one to parse and bind; any number to judge.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "predicate/scalar.h"
#include "base/json.h"
#include "base/text.h"

enum { ISO_CONDITION_TEXT = 1 << 16, ISO_CONDITION_COLUMNS = 256, ISO_CONDITION_DEPTH = 64 };

struct iso_condition_column {
    struct iso_json_text name; /* without quotes */
    uint32_t location;         /* its first byte in the text, from 1 */
    bool is_exact;             /* as it is written, not in any case of letters */
    bool meets_numbers;        /* once it is bound: of no type, and compared with numbers only:
                                  iso_scalar_integer will do */
};

/* How an index finds all rows that match, in postfix order: the last path is the whole's. */
enum iso_condition_path_kind {
    ISO_PATH_EQUAL,  /* rows where the column is one of the constants */
    ISO_PATH_EITHER, /* rows of one side: either will do */
    ISO_PATH_BOTH    /* rows of both sides */
};
struct iso_condition_path {
    uint8_t kind;
    uint16_t column, constant, count; /* of ISO_PATH_EQUAL */
    uint32_t left;                    /* the path of one side; the other's is the one before this */
};

struct iso_condition {
    uint32_t column_count, constant_count, path_count, step_count;
    struct iso_condition_column *columns; /* each once, as they come */
    struct iso_scalar *constants;         /* once it is bound */
    struct iso_condition_path *paths;     /* none: every row has to be looked at */
    uint32_t misfit; /* once it is bound: where the first constant stands that is no value of its
                        column; 0: none */

    /* The rest is the module's. */
    struct condition_step *steps;
    struct condition_literal *literals; /* of constants */
    struct condition_derived *derived;
    uint32_t derived_count;
    bool is_fixed;                /* the program depends on what its constants are */
    struct iso_text names, spelt; /* what names and literals refer to; what constants do */
};

enum iso_status iso_condition_parse(struct iso_condition *condition, const char *text,
                                    size_t length, struct iso_error *error);
/* From the condition of the text `was` to that of `text`, which has to be bound; false: they differ
 * in more than numbers and strings, or may, and what is left can only be released. Linear in the
 * text. Columns keep the locations that they had in the text that was parsed. */
bool iso_condition_restate(struct iso_condition *condition, struct iso_json_text was,
                           struct iso_json_text text);
void iso_condition_release(struct iso_condition *condition); /* a zeroed one is empty */

/* Whether the column is the one of that name. */
bool iso_condition_column_is(const struct iso_condition_column *column, struct iso_json_text name);

void iso_condition_bind(struct iso_condition *condition, const struct iso_scalar_type *types);

iso_truth iso_condition_judge(const struct iso_condition *condition,
                              const struct iso_scalar *cells);

/* A condition without its constants: `a = 7 AND b IN (1, 2)` is of the shape `a = ? AND b IN (?)`,
 * as are all that differ in what they look for. */
/* Adds the shape; of a text that is no condition, as far as it has words. */
void iso_condition_shape(struct iso_text *shape, struct iso_json_text where);
