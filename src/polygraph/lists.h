/* What the parts of lists share: lists.c, and repeats.c for lists whose elements repeat. */
#ifndef ISO_POLYGRAPH_LISTS_H
#define ISO_POLYGRAPH_LISTS_H

#include "polygraph/polygraph_private.h"

/* One append of any transaction, found by key and element. */
struct append {
    uint32_t key, element, transaction, operation;
};

struct appends {
    struct append *entries;
    uint32_t count;
    uint32_t *slots;
    uint64_t mask;
};

struct lists {
    struct engine *engine;
    struct appends appends;
    bool *repeats;           /* by key: an element is appended twice, or more often */
    uint32_t *longest;       /* by key: the external read with the longest prefix, or ISO_NONE */
    uint32_t *initial_first; /* by key, keys + 1: into initial_elements */
    iso_atom *initial_elements;
    uint32_t *boundary; /* of the key at hand, by length: the write that ends there, or ISO_NONE */
    uint8_t *observed;  /* by write */
    uint32_t *writer;   /* by read */
    uint32_t *place;    /* repeats.c, by write */
};

/* Reads or writes of a key. */
struct numbers {
    const uint32_t *items;
    uint32_t count;
};

/* The one append of an element that did not abort, else one that did; `*several`: more than one did not abort. */
const struct append *lists_find_append(const struct lists *lists, uint32_t key, iso_atom element, bool *several);

/* All of them: the one at `*slot` or behind it; NULL: none. */
uint64_t lists_first_slot(const struct lists *lists, uint32_t key, iso_atom element);
const struct append *lists_next_append(const struct lists *lists, uint32_t key, iso_atom element, uint64_t *slot);

const iso_atom *lists_elements(const struct lists *lists, uint32_t read);
void lists_report(struct lists *lists, enum iso_finding_kind kind, uint32_t read, uint32_t other);

/* True if a read returned a prefix of the longest one, behind the `start` initial elements; else a finding. */
bool lists_agree(struct lists *lists, uint32_t read, uint32_t start);

/* The finding for a read that ends with no transaction's last append. */
void lists_report_part(struct lists *lists, uint32_t read);

/* The write of a key by a transaction. */
uint32_t lists_write_of(const struct engine *engine, uint32_t local, uint32_t key);

/* What a list read (its operation) says of the order of two writes. */
void lists_add_pair(struct engine *engine, uint32_t earlier, uint32_t later, uint32_t operation);

/* How many elements from `at` are all the appends of `transaction` to the key, in order; 0 if they are not. */
uint32_t lists_block_length(const struct lists *lists, uint32_t transaction, uint32_t key, const iso_atom *at,
                            uint32_t left);

/* repeats.c: whether the longest read of a key holds an element that several appends made; and what then follows. */
bool repeats_in(const struct lists *lists, uint32_t key, uint32_t start);
void repeats_resolve(struct lists *lists, uint32_t key, uint32_t start, struct numbers reads, struct numbers writes);

#endif
