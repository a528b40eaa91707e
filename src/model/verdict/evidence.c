#include "verdict/evidence.h"

#include <string.h>

#include "base/memory.h"
#include "base/sorted.h"

void iso_evidence_init(struct iso_evidence *evidence)
{
    memset(evidence, 0, sizeof *evidence);
}

void iso_evidence_release(struct iso_evidence *evidence)
{
    ISO_FREE_COLUMN(evidence->events, evidence->event_capacity);
    iso_free(evidence->choices);
    ISO_FREE_COLUMN(evidence->lemmas, evidence->lemma_capacity);
    ISO_FREE_COLUMN(evidence->literals, evidence->literal_capacity);
    ISO_FREE_COLUMN(evidence->edges, evidence->edge_capacity);
    iso_evidence_init(evidence);
}

void iso_evidence_lemma(struct iso_evidence *evidence, enum iso_lemma_kind kind, uint32_t operation)
{
    ISO_GROW_COLUMN(evidence->lemmas, evidence->lemma_count, evidence->lemma_capacity);
    evidence->lemmas[evidence->lemma_count++] =
        (struct iso_lemma){.kind = kind,
                           .first_literal = evidence->literal_count,
                           .first_edge = evidence->edge_count,
                           .operation = operation};
}

void iso_evidence_literal(struct iso_evidence *evidence, struct iso_literal literal)
{
    ISO_PUSH_COLUMN(evidence->literals, evidence->literal_count, evidence->literal_capacity,
                    literal);
    evidence->lemmas[evidence->lemma_count - 1].literal_count++;
}

void iso_evidence_edge(struct iso_evidence *evidence, struct iso_edge edge)
{
    ISO_PUSH_COLUMN(evidence->edges, evidence->edge_count, evidence->edge_capacity, edge);
    evidence->lemmas[evidence->lemma_count - 1].edge_count++;
}

void iso_evidence_event(struct iso_evidence *evidence, uint32_t event)
{
    ISO_PUSH_COLUMN(evidence->events, evidence->event_count, evidence->event_capacity, event);
}

void iso_evidence_add_choice(struct iso_evidence *evidence, struct iso_choice choice)
{
    ISO_PUSH(evidence->choices, evidence->choice_count, evidence->choice_capacity, choice);
}

uint32_t iso_evidence_choice(const struct iso_evidence *evidence, uint32_t operation)
{
    uint32_t low = 0, high = evidence->choice_count;
    ISO_BISECT(low, high, middle, evidence->choices[middle].operation < operation);
    return low < evidence->choice_count && evidence->choices[low].operation == operation
               ? evidence->choices[low].writer
               : ISO_NO_CHOICE;
}

const char *iso_finding_name(enum iso_finding_kind kind)
{
    static const char *const names[] = {NULL,      "INT",          "G1a",       "G1b",
                                        "THINAIR", "INCOMPATIBLE", "LOSTUPDATE"};
    return names[kind];
}
