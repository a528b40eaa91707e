/* Dgraph's change stream: one JSON message for each value that a transaction set or deleted, and
 * for each drop.
 *
 * A key is `predicate/0xUID` (README.md: other namespaces). The stream says commit timestamps and
 * nothing of snapshots, reads, or where a transaction ends; it has no watermark. What becomes of a
 * message:
 *
 *     set, ovr                    ROW, update: whether there was a value before is not known
 *         of a password or    ROW, update to a value that the stream does not say, as also after
 *         bigfloat            their deletes
 *     del of "_STAR_ALL"          ROW, delete
 *     del of a value              DELETE_IF: it counts only where the key holds that value
 *     drop of a predicate, all    DROP
 *     drop of a type              IGNORED: types hold no data
 *
 * options->schema is Dgraph's schema, as `schema {}` or an export prints it. It tells which
 * predicates hold several values; theirs are IGNORED, with the predicate as table, since the stream
 * says neither which values a set adds to nor what a delete leaves. Without it predicates count as
 * single-valued, but those of edges, which are IGNORED too. No predicate that was is covered any
 * more. State: the names of edges that came without a schema. Threads: one at a time for each
 * decoder.
 */
#pragma once

#include "values/source.h"

/* Kind "dgraph". */
extern const struct iso_decoder_class iso_dgraph_decoder;
