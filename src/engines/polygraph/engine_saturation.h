/* Saturation: what the rules know beside the graph.
 *
 * The rules look at a node when its clock has moved; `seen` is what they had looked at before. Each
 * pair of versions that a rule looked at is noted as a successor, so that a read that loses its
 * last-but-one candidate finds the later versions.
 */
#pragma once

#include "polygraph/saturation/agenda.h"
#include "polygraph/engine_graph.h"

struct successor {
    uint32_t version, next;
};

struct saturation {
    stamp *seen;               /* the clocks that the rules have seen */
    struct agenda agenda;      /* nodes whose clocks moved since */
    uint64_t *moved_groups;    /* by node: groups of vectors that moved since */
    uint32_t empty_read;       /* a read without a possible writer, or ISO_NONE */
    uint32_t *first_successor; /* by version: versions noted to come after it */
    struct successor *successors;
    uint32_t successor_count, successor_capacity;
    float *chain_scale;   /* by chain: 1 / its length */
    uint64_t *key_chains; /* by key: the chains that write it, folded to 64 */
    /* scratch */
    uint32_t *latest;     /* a version a chain */
    stamp *meet, *before; /* clocks; before: what the rules had seen of the chains that moved */
    uint64_t *moved, *all_chains; /* sets of chains: where the clock at hand has moved; all */
};

/* saturate.c, in this order: the first round, after which candidates are listed; another round,
 * with `order` sorted by what it found; all others. STEP_DONE: at last, that nothing more follows.
 * STEP_CONTRADICTION: `conflict`, or `empty_read` has no writer left. STEP_STOPPED: out of time */
enum step_result saturate_start(struct engine *engine);
enum step_result saturate_round(struct engine *engine);
enum step_result saturate(struct engine *engine);
bool graph_add_edge(struct engine *engine, struct fact fact); /* at once, with clocks */

/* rules.c */
void rules_apply(struct engine *engine, uint32_t node, uint64_t groups);
bool rules_apply_open(struct engine *engine, uint32_t read); /* false: the read is open no more */
bool rules_narrow(struct engine *engine, uint32_t read);     /* the same, without meet and join */
/* True, with the reason, if a read cannot have seen a version. */
bool rules_rule_out(const struct engine *engine, uint32_t read, uint32_t version,
                    struct fact *reason);
void rules_prune(struct engine *engine, uint32_t read, uint32_t index, enum fact_kind kind,
                 uint32_t other);
void rules_resolve(struct engine *engine, uint32_t read);
void rules_add_rw(struct engine *engine, uint32_t read, uint32_t later);
