/* Shared by the files of this module. */
#pragma once

#include "base/memory.h"
#include "verify/verify.h"

/* Says why, as printf does. */
#define VERIFY_REFUSE(error, ...) (iso_error_set(error, ISO_VIOLATED, __VA_ARGS__), ISO_REFUSED)

/* accept.c, graphless.c, lemmas.c */
enum iso_verification verify_order(const struct iso_history *history,
                                   const struct iso_evidence *evidence, struct iso_error *error);
enum iso_verification verify_finding(const struct iso_history *history,
                                     const struct iso_evidence *evidence, struct iso_error *error);
enum iso_verification verify_lemmas(const struct iso_history *history,
                                    const struct iso_evidence *evidence, struct iso_error *error);

/* weak_order.c: an order at the weak levels; weak_cycle.c: whether a cycle counts there. */
enum iso_verification verify_weak_order(const struct iso_history *history,
                                        const struct iso_evidence *evidence,
                                        struct iso_error *error);
/* weak_cycle.c */
bool verify_weak_cycle(enum iso_level level, const struct iso_edge *edges, uint32_t count);

/* reads.c: what a read says, by looking at its own transaction only. */
struct read_shape {
    bool internal;   /* its own transaction read or wrote the key before */
    bool consistent; /* internal: it agrees with that; a list ends with the transaction's own
                        appends */
    uint32_t prefix; /* lists: elements before its own */
};
struct read_shape verify_read_shape(const struct iso_history *history, uint32_t transaction,
                                    uint32_t operation, bool each_read);

/* A transaction's use of a list so far: its appends, and the first read that ended with those. */
struct own_list {
    iso_atom *elements;
    uint32_t count, capacity;
    uint32_t read, read_prefix; /* an operation */
    bool has_read;
    bool each_read; /* reads before the first append bind nothing */
};
void own_list_append(struct own_list *own, iso_atom element);
struct read_shape own_list_read(struct own_list *own, const struct iso_history *history,
                                uint32_t operation);

/* Whether the operation is an external read of a committed transaction, where each read is one of
 * its own. */
bool verify_is_external(const struct iso_history *history, uint32_t transaction,
                        uint32_t operation);

/* The external read of a key by a committed transaction, or ISO_NONE. */
uint32_t verify_external_read(const struct iso_history *history, uint32_t transaction,
                              uint32_t key);

/* The value that a transaction leaves in a register; false if it does not write it. */
bool verify_final_write(const struct iso_history *history, uint32_t transaction, uint32_t key,
                        uint32_t *value);

/* finals.c: final writes of transactions that did not abort, and all appends; sorted by key and
 * value. And initial values. */
struct final {
    uint32_t key, value, transaction;
};
struct finals {
    const struct iso_history *history;
    struct final *items;
    uint32_t count;
    uint32_t *first; /* by key: where its items start; behind the last key: count */
    uint32_t *initial_value, *initial_length; /* by key: of a register; of a list, its elements */
    bool each_read; /* each read of a key is one of its own (rc, adya-rc) */
};
void finals_init(struct finals *finals, const struct iso_history *history);
/* As finals_init, of transactions that aborted. */
void finals_init_aborted(struct finals *finals, const struct iso_history *history);
void finals_release(struct finals *finals);
/* All of a key. */
uint32_t finals_of_key(const struct finals *finals, uint32_t key, uint32_t *end);
/* The first of a key and value; `*end` is past the last. */
uint32_t finals_find(const struct finals *finals, uint32_t key, uint32_t value, uint32_t *end);
bool finals_has(const struct finals *finals, uint32_t key, uint32_t value, uint32_t transaction);

/* list_reads.c: how many elements a transaction appends to a key. */
uint32_t lists_appended(const struct iso_history *history, uint32_t transaction, uint32_t key);
/* Whether all of them, and in their order, stand in the first `prefix` elements of a list read,
 * from `position` on, behind the initial ones. */
bool lists_hold(const struct finals *finals, uint32_t operation, uint32_t prefix,
                uint32_t transaction, uint32_t position);
/* The transaction whose appends end a list of `prefix` elements, if one of those appends is nobody
 * else's; ISO_NONE if that is not known. */
uint32_t lists_last_writer(const struct finals *finals, uint32_t key, uint32_t operation,
                           uint32_t prefix);
/* Whether a list read holds a's elements, and b's after them or not at all. */
bool lists_order(const struct finals *finals, const struct iso_literal *literal,
                 uint32_t operation);

/* version_order.c: where commit timestamps give the order of versions, whether they say one
 * of two transactions' versions, and whose version a read saw by the moment at which it looked
 * (ISO_NONE: the initial one; false: that does not say).
 */
bool versions_order(const struct iso_history *history, const struct iso_literal *literal);
bool versions_seen(const struct finals *finals, uint32_t reader, uint32_t operation,
                   uint32_t *writer);

/* list_positions.c: whether a list read says a clause about the positions of transactions'
 * elements. */
bool list_positions_imply(const struct finals *finals, const struct iso_literal *clause,
                          uint32_t count, uint32_t operation);

/* clauses.c: a clause database with unit propagation. A literal is a variable, from 1, or its
 * negation. */
struct clauses;
struct clauses *clauses_new(void);
void clauses_free(struct clauses *clauses);
int clauses_variable(struct clauses *clauses); /* a new one */
void clauses_add(struct clauses *clauses, const int *literals,
                 uint32_t count); /* at the root only */
/* Assumes that a literal is true, and all that follows; false on contradiction. Undone by
 * clauses_undo. */
bool clauses_assume(struct clauses *clauses, int literal);
void clauses_undo(struct clauses *clauses);
bool clauses_true(const struct clauses *clauses, int literal);
bool clauses_contradiction(const struct clauses *clauses); /* at the root, or since the last undo */
