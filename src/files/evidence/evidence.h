/* Polygraph's evidence as a file: JSON Lines, read by `isochron verify` and by whoever wants to
 * check it otherwise.
 *
 * The first line is a header. Transactions stand by tid and keys by name, so that the evidence also
 * fits the history in another format. An event is ["begin",tid] or ["commit",tid]; at serialisable
 * levels a transaction is one event, "begin".
 *
 *     {"isochron_evidence":1,"level":"si","drift":0,"verdict":"holds"}
 *     {"order":[["begin","1"],["commit","1"],...]}                            all events, over any
 *                                                                             number of lines
 *
 *     {"isochron_evidence":1,"level":"ser","drift":0,"verdict":"violated"}
 *     {"finding":"G1a","read":["7",2],"other":"5"}                            transaction,
 *                                                                             operation from 0; or
 *
 *     {"lemma":"cycle","literals":[{"order":["1","2"],"key":"x"},...],"edges":[{"type":"wr","from":["commit","1"],
 *      "to":["begin","2"],"key":"x"},...]}                                     one a line, the last
 *                                                                              without literals
 *     {"lemma":"list","literals":[...],"read":["7",2]}
 *     {"lemma":"propagation","literals":[]}
 *
 * Literals: {"order":[a,b],"key":k}, {"reads":[reader,writer],"key":k},
 * {"not_reads":[reader,writer],"key":k} (writer null: the initial value), {"before":[event,event]}.
 * An rw edge has "via": whose version was read, null: the initial one. What they mean is in
 * verdict/evidence.h. Threads: one at a time.
 */
#pragma once

#include "bytes/output.h"
#include "verdict/evidence.h"

enum { ISO_EVIDENCE_VERSION = 1 };

/* Evidence of a verdict that holds or is violated, about a finished history. */
void iso_evidence_write(struct iso_output *output, const struct iso_history *history,
                        const struct iso_evidence *evidence);

/* Reads it against a finished history. ISO_BAD_INPUT: not such a file. ISO_VIOLATED: it is broken,
 * or names a transaction, an operation or a key that the history does not have, so it is no
 * evidence about it. */
enum iso_status iso_evidence_read(const char *path, const struct iso_history *history,
                                  struct iso_evidence *evidence, struct iso_error *error);
