/* Shared by the parts of lists: lists.c, and repeats.c for lists whose elements repeat. */
#pragma once

#include "base/index.h"
#include "problem/problem.h"

/* One append of any transaction, found by key and element. */
struct append {
    uint32_t key, element, transaction;
    uint32_t write;  /* that it is part of; ISO_NONE: its transaction takes no part */
    uint32_t offset; /* appends of its transaction to the key before it */
    uint32_t head;   /* the first of those, an entry */
    uint32_t rest;   /* the next of those, an entry, or ISO_NONE */
    uint32_t same; /* the next append of the same element to the same key, an entry, or ISO_NONE */
};

/* The appends of one element to one key. */
struct appended {
    uint32_t first, last; /* entries */
    uint32_t likely;      /* the first of those that take part, else the first */
    bool several;         /* more than one takes part */
};

struct appends {
    struct append *entries;    /* by transaction and operation */
    struct appended *elements; /* by key and element */
    uint32_t count, element_count;
    struct iso_index by_element; /* of a key: positions in `elements` */
};

struct lists {
    struct problem *problem;
    struct appends appends;
    bool *repeats;           /* by key: an element is appended twice, or more often */
    bool *several;           /* by key: and not by aborted transactions alone */
    uint32_t *longest;       /* by key: the external read with the longest prefix, or ISO_NONE */
    uint32_t *initial_first; /* by key, keys + 1: into initial_elements */
    iso_atom *initial_elements;
    uint32_t *boundary; /* of the key at hand, by length: the write that ends there, or ISO_NONE */
    uint8_t *observed;  /* by write */
    uint32_t *position; /* repeats.c, by write */
};

/* Reads or writes of a key. */
struct numbers {
    const uint32_t *items;
    uint32_t count;
};

/* The appenders of an element; NULL: none. */
const struct appended *lists_appended_of(const struct lists *lists, uint32_t key, iso_atom element);

/* The one append of an element that did not abort, else one that did; `*several`: more than one did
 * not abort. */
const struct append *lists_find_append(const struct lists *lists, uint32_t key, iso_atom element,
                                       bool *several);

/* All of them: the first one, and the one behind another; NULL: none. */
const struct append *lists_first_append(const struct lists *lists, uint32_t key, iso_atom element);
const struct append *lists_next_append(const struct lists *lists, const struct append *append);

const iso_atom *lists_elements(const struct lists *lists, uint32_t read);
void lists_report(struct lists *lists, enum iso_finding_kind kind, uint32_t read, uint32_t other);

/* True if a read returned a prefix of the longest one, behind the `start` initial elements; else a
 * finding. */
bool lists_agree(struct lists *lists, uint32_t read, uint32_t start);

/* The finding for a read that ends with no transaction's last append. */
void lists_report_part(struct lists *lists, uint32_t read);

/* A list read (its operation) shows the order of two writes. */
void lists_add_pair(struct problem *problem, uint32_t earlier, uint32_t later, uint32_t operation);

/* How many elements from `at` are all the appends of one's transaction to its key, in order; 0 if
 * they are not. */
uint32_t lists_block_length(const struct lists *lists, const struct append *append,
                            const iso_atom *at, uint32_t left);

/* repeats.c: whether the longest read of a key has an element that several appends made; and what
 * then follows. */
bool lists_repeat_in(const struct lists *lists, uint32_t key, uint32_t start);
void lists_resolve_repeats(struct lists *lists, uint32_t key, uint32_t start, struct numbers reads,
                           struct numbers writes);
