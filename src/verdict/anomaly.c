/* The names of cycles: Adya's, and those of well-known special cases. */
#include <stdbool.h>

#include "iso/evidence.h"

struct shape {
    uint32_t ww, wr, rw, other, edges; /* without the edges inside a transaction; other: session, time, implied */
};

static struct shape shape_of(const struct iso_evidence *evidence, const struct iso_lemma *lemma)
{
    struct shape shape = {0};
    for (uint32_t i = 0; i < lemma->edge_count; i++) {
        enum iso_edge_kind kind = evidence->edges[lemma->first_edge + i].kind;
        shape.ww += kind == ISO_EDGE_WW;
        shape.wr += kind == ISO_EDGE_WR;
        shape.rw += kind == ISO_EDGE_RW;
        shape.other += kind == ISO_EDGE_SESSION || kind == ISO_EDGE_TIME || kind == ISO_EDGE_BEFORE;
    }
    shape.edges = shape.ww + shape.wr + shape.rw + shape.other;
    return shape;
}

/* The edge number `index` of those that lead from one transaction to another. */
static const struct iso_edge *edge_at(const struct iso_evidence *evidence, const struct iso_lemma *lemma,
                                      uint32_t index)
{
    const struct iso_edge *edge = evidence->edges + lemma->first_edge;
    for (;; edge++) {
        if (edge->kind != ISO_EDGE_OWN && index-- == 0)
            return edge;
    }
}

static const char *name_pair(const struct iso_evidence *evidence, const struct iso_lemma *lemma, struct shape shape)
{
    const struct iso_edge *first = edge_at(evidence, lemma, 0), *second = edge_at(evidence, lemma, 1);
    if (shape.rw == 1 && shape.ww == 1 && first->key == second->key)
        return "lost-update";
    if (shape.rw == 2)
        return first->key == second->key ? "lost-update" : "write-skew";
    return NULL;
}

/* Two writers, two readers that each saw one of the writes and not the other. */
static bool is_long_fork(const struct iso_evidence *evidence, const struct iso_lemma *lemma, struct shape shape)
{
    if (shape.edges != 4 || shape.rw != 2 || shape.wr != 2)
        return false;
    return edge_at(evidence, lemma, 0)->kind == edge_at(evidence, lemma, 2)->kind;
}

const char *iso_cycle_anomaly(const struct iso_evidence *evidence, uint32_t lemma_index)
{
    const struct iso_lemma *lemma = &evidence->lemmas[lemma_index];
    struct shape shape = shape_of(evidence, lemma);
    if (shape.edges == 0)
        return NULL;
    const char *name = shape.edges == 2 && !shape.other ? name_pair(evidence, lemma, shape) : NULL;
    if (name)
        return name;
    if (is_long_fork(evidence, lemma, shape))
        return "long-fork";
    if (shape.rw == 0)
        return shape.wr || shape.other ? "G1c" : "G0";
    if (shape.rw == 1)
        return "G-single";
    return iso_model_is_serial(evidence->model) ? "G2-item" : "G-SIb";
}
