/* Evidence as a text file: what iso/evidence.h says, a line an item.
 *
 *     isochron-evidence 1
 *     level si
 *     drift 0
 *     accept                          or: finding G1a 12 3 7 / reject
 *     events 0 1 4 5 2 3 ...          any number of such lines
 *     lemma cycle                     or: lemma propagation / lemma list OPERATION
 *     literal order 3 5 7             (reads, not-reads, before): a, b, key
 *     edge rw 6 11 7 3                (own, session, time, wr, ww, before): from, to, key, via
 *     end
 *
 * Transactions, operations and keys are numbered from 0 in the order of the history's input; `-` is none.
 */
#ifndef ISO_IO_EVIDENCE_H
#define ISO_IO_EVIDENCE_H

#include <stdio.h>

#include "iso/evidence.h"

enum iso_status iso_evidence_write(const struct iso_evidence *evidence, FILE *file, struct iso_error *error);

/* Into evidence that is initialised and empty. */
enum iso_status iso_evidence_read(struct iso_evidence *evidence, const char *path, struct iso_error *error);

#endif
