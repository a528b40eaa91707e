/* Rows as PostgreSQL's plugin test_decoding prints them:
 *
 *     id[integer]:1 v[text]:'it''s' w[date]:null
 *
 * Names and types are quoted as SQL quotes them; a value is a bare word or stands in quotes, in
 * which only a quote is doubled. Ownership: texts point into what is read. Threads: any; no state.
 */
#pragma once

#include "base/json.h"

struct tuple_column {
    struct iso_json_text name, value; /* within their quotes, if they have any */
    struct iso_json_text type;        /* as it stands */
    bool is_quoted, is_null;
    bool is_unchanged; /* a long value that the change left out */
};

/* Takes the column that `*at` begins with, and the space behind it. False: there is none. */
bool tuple_next(const char **at, const char *end, struct tuple_column *column);

/* The name or type that a text begins with, up to the mark behind it, outside of quotes and
 * brackets; all of the text where there is none. */
struct iso_json_text tuple_name(const char *at, const char *end, char mark);

/* Behind the last column from `at` on, and the space behind that. */
const char *tuple_end(const char *at, const char *end);

/* Writes a text that stood in quotes with each doubled quote once, at most `length` bytes; returns
 * how many. */
size_t tuple_undouble(struct iso_json_text text, char quote, char *into);
