/* Advice that makes a program of SQL hold where it does not, as changes of its text.
 *
 * Each change stands at one location of the file: FOR UPDATE behind a SELECT; at the start of a
 * function a SELECT .. FOR UPDATE, or an UPDATE that changes nothing, of the row whose key (all its
 * columns) parameters name, of the rows of which they name one column of the key, or of all rows of
 * a table, the narrow ones first; a UNIQUE INDEX behind a CREATE TABLE. Which parameter is meant
 * where calls give several the same value: the one that the function compares with the column. Sets
 * of them, the small ones first and each of one kind, are put into the text, and what then stands
 * there is read and proved as any other file. So what is advised is proved, to the letter.
 *
 * An index is advised only if the program as it is keeps it at ser: it refuses nothing that these
 * transactions do one after another.
 *
 * Threads: one at a time.
 */
#pragma once

#include "base/text.h"
#include "prove/prove.h"

/* A line for each of rc and si, where they are violated: "  at rc: line 8, in book: SELECT .. FOR
 *                                                           UPDATE". The program is one
 * that iso_prove_read_sql read; --json: ,"advice":{..}. */
void iso_prove_sql_advise(const struct iso_prove_program *program,
                          const struct iso_prove_options *options,
                          const struct iso_prove_result *result, bool json, struct iso_text *text);
