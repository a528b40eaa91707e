/* The conditions of table_oracle.h as SQL. Its values are small integers; here each
 * column has a family of values in the same order, and each test one of the spellings that mean the
 * same, so that all forms of a condition are met.
 *
 *     B < 2       B < 'c'       NOT ('c' <= lower("B"))       "B" < ANY (ARRAY['c']::text[])
 */
#ifndef TESTS_ORACLE_TABLE_SPELLING_H
#define TESTS_ORACLE_TABLE_SPELLING_H

#include "base/text.h"
#include "tests/oracle/table_oracle.h"

enum table_family {
    TABLE_INTEGERS,
    TABLE_DECIMALS,
    TABLE_DAYS,
    TABLE_TEXTS,
    TABLE_TRUTHS /* of these only 0 and 1 */
};

/* The canonical text of a value, as a change stream has it. */
void table_put_value(struct iso_text *text, enum table_family family, int value);

/* As JSON of what a client was told. */
void table_put_told(struct iso_text *text, enum table_family family, const struct table_cell *cell);

/* What stands behind WHERE; `families` and `columns`: of all of them. */
void table_put_where(struct iso_text *text, const struct table_query *query,
                     const enum table_family *families, const char *const *columns);

#endif
