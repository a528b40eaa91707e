/* The names of cycles. */
#include <stdbool.h>
#include <string.h>

#include "verdict/evidence.h"

const char *iso_anomaly_name(enum iso_anomaly anomaly)
{
    static const char *const names[] = {"G0",      "G1c",         "G-single",   "G-SIb",
                                        "G2-item", "lost-update", "write-skew", "long-fork"};
    return names[anomaly];
}

struct shape {
    uint32_t ww, wr, rw, other,
        edges; /* without the edges inside a transaction; other: session, time, implied */
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
static const struct iso_edge *edge_at(const struct iso_evidence *evidence,
                                      const struct iso_lemma *lemma, uint32_t index)
{
    const struct iso_edge *edge = evidence->edges + lemma->first_edge;
    for (;; edge++) {
        if (edge->kind != ISO_EDGE_OWN && index-- == 0)
            return edge;
    }
}

static enum iso_anomaly name_pair(const struct iso_evidence *evidence,
                                  const struct iso_lemma *lemma, struct shape shape)
{
    const struct iso_edge *first = edge_at(evidence, lemma, 0),
                          *second = edge_at(evidence, lemma, 1);
    if (shape.rw == 1 && shape.ww == 1 && first->key == second->key)
        return ISO_LOST_UPDATE;
    if (shape.rw == 2)
        return first->key == second->key ? ISO_LOST_UPDATE : ISO_WRITE_SKEW;
    return ISO_ANOMALIES;
}

/* Two writers, two readers that each saw one of the writes and not the other. */
static bool is_long_fork(const struct iso_evidence *evidence, const struct iso_lemma *lemma,
                         struct shape shape)
{
    if (shape.edges != 4 || shape.rw != 2 || shape.wr != 2)
        return false;
    return edge_at(evidence, lemma, 0)->kind == edge_at(evidence, lemma, 2)->kind;
}

/* The edges behind the rw, which make what it leads to visible: s sessions (of a row one), r reads,
 * w orders of versions. */
static void way_back(const struct iso_evidence *evidence, const struct iso_lemma *lemma, char *way,
                     size_t size)
{
    const struct iso_edge *edges = evidence->edges + lemma->first_edge;
    uint32_t rw = 0, length = 0;
    while (edges[rw].kind != ISO_EDGE_RW)
        rw++;
    for (uint32_t i = 1; i < lemma->edge_count && length + 1 < size; i++) {
        enum iso_edge_kind kind = edges[(rw + i) % lemma->edge_count].kind;
        char letter = kind == ISO_EDGE_SESSION ? 's' : kind == ISO_EDGE_WR ? 'r' : 'w';
        if (letter != 's' || !length || way[length - 1] != 's')
            way[length++] = letter;
    }
    way[length] = 0;
}

const char *iso_cycle_guarantee(const struct iso_evidence *evidence, uint32_t lemma_index)
{
    static const struct {
        const char *way, *guarantee;
    } guarantees[] = {{"s", "read-your-writes"},
                      {"rs", "monotonic-reads"},
                      {"sr", "monotonic-writes"},
                      {"rsr", "writes-follow-reads"},
                      {"rr", "writes-follow-reads"}};
    const struct iso_lemma *lemma = &evidence->lemmas[lemma_index];
    char way[8];
    if (!iso_level_is_weak(evidence->level) || shape_of(evidence, lemma).rw != 1)
        return NULL;
    way_back(evidence, lemma, way, sizeof way);
    for (size_t i = 0; i < sizeof guarantees / sizeof *guarantees; i++)
        if (!strcmp(way, guarantees[i].way))
            return guarantees[i].guarantee;
    return NULL;
}

/* At the weak levels a cycle with one rw is named by how the writer that was missed is visible. */
static const char *name_of_weak(const struct iso_evidence *evidence, const struct iso_lemma *lemma,
                                struct shape shape)
{
    char way[8];
    if (shape.rw == 0)
        return iso_anomaly_name(shape.wr || shape.other ? ISO_G1C : ISO_G0);
    if (evidence->level == ISO_RC)
        return "non-monotonic-read";
    if (shape.edges == 2 && name_pair(evidence, lemma, shape) == ISO_LOST_UPDATE)
        return iso_anomaly_name(ISO_LOST_UPDATE);
    way_back(evidence, lemma, way, sizeof way);
    return strcmp(way, "r")
               ? strchr(way, 'w') ? iso_anomaly_name(ISO_G_SINGLE) : "causality-violation"
               : "fractured-read";
}

const char *iso_cycle_anomaly(const struct iso_evidence *evidence, uint32_t lemma_index)
{
    const struct iso_lemma *lemma = &evidence->lemmas[lemma_index];
    struct shape shape = shape_of(evidence, lemma);
    if (shape.edges == 0)
        return NULL;
    if (iso_level_is_weak(evidence->level))
        return name_of_weak(evidence, lemma, shape);
    enum iso_anomaly pair =
        shape.edges == 2 && !shape.other ? name_pair(evidence, lemma, shape) : ISO_ANOMALIES;
    if (pair != ISO_ANOMALIES)
        return iso_anomaly_name(pair);
    if (is_long_fork(evidence, lemma, shape))
        return iso_anomaly_name(ISO_LONG_FORK);
    if (shape.rw == 0)
        return iso_anomaly_name(shape.wr || shape.other ? ISO_G1C : ISO_G0);
    if (shape.rw == 1)
        return iso_anomaly_name(ISO_G_SINGLE);
    return iso_anomaly_name(iso_level_is_serial(evidence->level) ? ISO_G2_ITEM : ISO_G_SIB);
}
