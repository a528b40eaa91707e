/* SQL with functions in PL/pgSQL, lowered to a program to prove (prove/program.h).
 *
 * The file is one that PostgreSQL loads: CREATE TABLE, INSERT of initial rows, CREATE FUNCTION;
 * comments that begin with `--@` say what runs and what must hold. Functions are the transactions.
 * What the lowering does not know is refused with line, column and construct.
 *
 *     --@ run book(1, 1, 1..10), book(1, 2, 3)     a range is a value that is not known
 *     --@ session NAME: book(1, 1, 1), cancel(1)   one after the other
 *     --@ invariant NAME: EXPR                     at every observable moment; a condition that is
 *                                                  NULL holds, as CHECK
 *     --@ assert NAME: EXPR                        at the end
 *     --@ ignore references, defaults, locks       what is passed over instead of refused; nothing
 *                                                  named: all three. Where that matters, nothing
 *                                                  holds any more, and nothing is violated
 *
 * The lowering. A row is a cell with a column for its presence, one for each column, one for each
 * NULL flag. A table has the rows of the file and one *slot* for each INSERT that can run: a slot's
 * number is a parameter of the template, so that no two transactions share one. Queries are
 * expanded over all rows, so that what is not there needs no rule of its own. A unique index is a
 * table with a cell for each value that its key can have; who inserts or deletes writes it. A
 * serial's value is the number of the slot: different, and in no order that a program could rely
 * on. FORs are unrolled.
 *
 * Values are triples: the integer, whether it is NULL, whether computing it fails (an integer out
 * of range, two rows for one). Their bounds come from lowering again and again: round k knows all
 * values that a chain of k transactions can make, so that as many rounds as there are transactions
 * know all.
 *
 * Threads: one at a time for each program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iso/status.h"
#include "prove/program.h"

/* By its content: a directive of SQL, or a word with which its statements begin. */
bool iso_prove_is_sql(const char *source, size_t length);

/* Reads `source`, which it copies, into an empty program, and finishes it. The run list stands
 * `repeats` times. A FOR of more than `unroll` rounds (0: 100) is refused. */
enum iso_status iso_prove_read_sql(struct iso_prove_program *program, const char *file,
                                   const char *source, size_t length, uint32_t repeats,
                                   uint32_t unroll, struct iso_error *error);
