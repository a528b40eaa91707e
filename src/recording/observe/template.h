/* A statement's text without its constants: what statements that differ in values alone have in
 * common, by which they are parsed once, cached and counted. No value of anybody's data is in it.
 *
 *     UPDATE t SET v = 'x' WHERE k = 12        -> UPDATE t SET v = $30001 WHERE k = $30002 and
 *                                              {'x', 12}
 *
 * Constants are cut out where they are plain: numbers, and strings in single quotes. Others (E'',
 * U&'', B'', X'', N'', $$ $$) are cut out as of unknown value. Comments are spaces. Parameters of
 * the client's own ($1) stay. A text whose template is no statement (FETCH 5, INTERVAL '1 day') is
 * one that PostgreSQL reads only with its constants in place.
 *
 * Ownership: a template owns its texts. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum { TEMPLATE_FIRST = 30001 }; /* the number of the first constant */

enum constant_kind { CONSTANT_NUMBER, CONSTANT_TEXT, CONSTANT_OPAQUE };

struct constant {
    enum constant_kind kind;
    uint32_t position, length; /* in `values` */
};

struct constants {
    struct constant *list;
    uint32_t count, capacity;
    struct iso_text values; /* each ends in a zero byte */
};

void constants_release(struct constants *constants);

/* `backslashes`: a plain string has escapes (standard_conforming_strings is off), and its value is
 * unknown. */
void template_make(const char *text, size_t length, bool backslashes, struct iso_text *template,
                   struct constants *constants);
