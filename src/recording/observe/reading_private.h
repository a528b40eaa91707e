/* What the files of a reading share: what a statement's text compares with, and what its WHERE
 * says. */
#pragma once

#include "observe/reading.h"

enum { KEY_MOST = 2048 };

enum value_kind { VALUE_UNKNOWN, VALUE_NULL, VALUE_NUMBER, VALUE_TEXT, VALUE_TRUTH };

struct value {
    enum value_kind kind;
    const char *text; /* NULL: `number` */
    uint32_t type;    /* that it was declared to have, 0: none */
    char number[40];
};

/* The table that is asked about, by its name in the statement. */
struct asking {
    const struct statement_input *input;
    const struct catalog_table *table;
    const char *alias;
    bool alone; /* columns need no name before them */
};

/* What WHERE demands: equalities of the key's columns, in its order; bounds of one of them; and all
 * else as a condition, in which no column of the key stands. */
struct demands {
    const struct catalog_table *table;
    struct iso_text *condition; /* NULL: it and bounds are not asked for */
    bool is_said;               /* these are all that WHERE demands */
    uint32_t conjuncts;
    bool has[CATALOG_KEY_MOST], twice;
    struct value values[CATALOG_KEY_MOST];
    uint32_t ranged; /* the part that has bounds; CATALOG_KEY_MOST: none */
    bool has_low, has_high;
    int64_t low, high;
};

/* constant.c */
struct value reading_value_of(const struct statement_input *input, const PgQuery__Node *node);
/* of a number, text or truth; as long as `value` is there */
const char *reading_text_of(const struct value *value);
bool reading_keeps(const struct value *value, uint32_t type); /* as it is, if it is cast to it */
/* 0: no type that is looked at; of an array that of its elements */
uint32_t reading_type_named(const PgQuery__TypeName *type);
uint32_t reading_array_named(const PgQuery__TypeName *type);
/* Also one that stands before brackets that the reader of a condition takes: `(5,2)`, or "". */
enum { READING_LIMITS = 32 };
uint32_t reading_type_limited(const struct statement_input *input, const PgQuery__TypeName *type,
                              char limits[READING_LIMITS]);
bool reading_is_one_kind(uint32_t one, uint32_t other); /* types */

/* condition.c */
/* A column, between double quotes, or a constant: a condition's words are no names. */
void reading_put_quoted(struct iso_text *text, const char *value, char quote);
void reading_put_name(struct iso_text *text, const char *name); /* of an aggregate's column */
/* NULL: the expression is no column of the table. */
const struct catalog_column *reading_column_of(const struct asking *asking,
                                               const PgQuery__Node *node);
/* False: it can't be recorded, and `text` holds a part of it. */
bool reading_put_condition(const struct asking *asking, struct iso_text *text,
                           const PgQuery__Node *node, int depth);

/* key.c: `demands` begins with its first three members, and `ranged` */
void reading_find_demands(const struct asking *asking, const PgQuery__Node *node,
                          struct demands *demands);
/* A value of the column's kind, which no cast changes, as the change stream spells it. */
bool reading_is_spelt(const struct catalog_column *column, const struct value *value);
/* Exactly the whole key, and nothing else. */
bool reading_is_whole_key(const struct demands *demands);
/* The reading's bounds; false: they and the condition do not say all, or are no range of keys. */
bool reading_set_bounds(struct reading *reading, const struct demands *demands);
/* WHERE is the key's one column IN a list: each of them is a point. */
bool reading_find_points(struct reading *reading, const struct asking *asking);

/* first.c */
/* Whether rows that as many as LIMIT allows came say more than a part of the set. */
bool first_find(struct reading *reading, const struct asking *asking);
/* The last row's value of a column of the order, NULL: it is NULL. False: it can't be told in a
 * condition. */
bool first_put_last(struct reading *reading, uint32_t number, const char *value);
bool first_is_last(const struct reading *reading, uint32_t number, const char *value);
/* The reading's condition, and that a row is before the last one, or as far as it. */
void first_put_condition(const struct reading *reading, struct iso_text *text, bool is_before);

/* reading.c: the text and a zero byte; where it is in `text`. */
uint32_t reading_put_text(struct iso_text *text, const char *string);
/* -1: the column is not in the result. */
int reading_field_of(const struct result_fields *fields, uint32_t table, int16_t column);
