/* The names in evidence files, in the order of their enums. Private to reading and writing
 * evidence. */
#pragma once

enum { EVIDENCE_LITERALS = 6, EVIDENCE_EDGES = 7, EVIDENCE_LEMMAS = 4 };

static const char *const evidence_literal_names[EVIDENCE_LITERALS] = {
    "order", "reads", "not_reads", "before", "placed", "not_placed"};
static const char *const evidence_edge_names[EVIDENCE_EDGES] = {"own", "so", "rt",    "wr",
                                                                "ww",  "rw", "before"};
static const char *const evidence_lemma_names[EVIDENCE_LEMMAS] = {"cycle", "list", "propagation",
                                                                  "versions"};
