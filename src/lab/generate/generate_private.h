/* What the files of this module share: the store, its transactions, the way out. */
#pragma once

#include "base/memory.h"
#include "generate/generate.h"
#include "generate/table.h"

#define NEVER UINT64_MAX
enum { LIST_FULL = 32 };  /* elements, from which a list's slot moves on to a fresh key */
enum { STORE_TRIES = 8 }; /* to find a key to write that nobody holds */

/* A key in use. In list mode `key` changes when the list is full. */
struct slot {
    uint64_t key;
    uint64_t value; /* 0: none yet; registers */
    /* cts of the last commit known to have written it, also under its former key */
    uint64_t changed;
    uint64_t version_cts; /* cts of the newest version known to be committed; 0: none */
    uint64_t taint; /* least sts of the transactions of unknown outcome that what is there rests on,
                       or NEVER */
    uint64_t current;   /* what transaction `seen` sees now */
    uint32_t seen;      /* the transaction that `current` belongs to (lists: that has read it) */
    uint32_t held;      /* the open transaction that will write it; 0: none */
    uint32_t *elements; /* lists: values fit 32 bits there */
    uint32_t count, capacity;
};

struct operation {
    uint32_t slot;
    uint8_t kind;
    bool external;  /* a read of what others wrote */
    uint32_t count; /* list reads: elements */
    uint64_t key, value;
    uint64_t taint;   /* of what it read */
    uint64_t version; /* of what it read: its cts */
    size_t first;     /* list reads: into the transaction's elements */
};

enum row_step_kind { STEP_READ, STEP_WRITE, STEP_DELETE, STEP_QUERY, STEP_AGGREGATES, STEP_BAG };

/* Conditions of a query on a row's cells. A cell that is NULL satisfies none but the last. */
enum condition_form {
    CONDITION_NONE,
    CONDITION_EQUAL,
    CONDITION_EITHER,
    CONDITION_BETWEEN,
    CONDITION_NULL
};

struct condition {
    enum condition_form form;
    uint32_t column;
    uint64_t low, high;
};

/* An operation on rows. What it wrote or returned stands in the transaction's elements: cells by
 * column, of a query the key of each row before its cells, of rows without keys their cells, of
 * aggregates the count and the sum. */
struct row_step {
    uint8_t kind; /* enum row_step_kind */
    bool is_planted, is_partial;
    bool texts;        /* every third column has some */
    bool is_there;     /* of a read */
    bool deletes;      /* of a write that is not run yet: if the row is there */
    uint64_t table;    /* from 0; of anomalies their first key */
    uint64_t key;      /* of one row */
    uint64_t from, to; /* of a query */
    struct condition where;
    uint32_t columns; /* a set of bits: those that are written or returned; of aggregates the one
                         that is summed */
    uint32_t rows;    /* of a query */
    size_t first;
};

static inline bool step_has_texts(const struct row_step *step, uint32_t column)
{
    return step->texts && column % 3 == 0;
}

struct transaction {
    uint32_t tid, session, sno;
    uint8_t status;
    /* its writes take effect; not so: aborted, or unknown and not committed in fact */
    bool applies;
    bool closed; /* may leave */
    bool has_cts;
    uint64_t sts, cts;
    uint64_t unjudged; /* reads and queries that saw what transactions of unknown outcome wrote to
                          rows */
    uint32_t operation_count, operation_capacity;
    struct operation *operations;
    uint32_t step_count, step_capacity;
    struct row_step *steps;
    size_t element_count, element_capacity;
    uint64_t *elements;
};

/* Where transactions wait until they leave in the order that was asked for. */
struct outlet {
    enum iso_generate_order order;
    struct transaction **waiting; /* START: a ring in order of starts; RANDOM: a bag */
    uint32_t head, count, capacity;
    struct transaction **spare; /* to be used again */
    uint32_t spare_count, spare_capacity;
    struct iso_history block;
    iso_generate_sink *sink;
    void *context;
    bool ended;    /* the sink wants no more */
    bool timeless; /* timestamps stay here */
};

struct store {
    const struct iso_generate_options *options;
    struct iso_generated *generated;
    struct iso_rng rng;
    struct iso_draw draw;
    struct slot *slots;
    uint64_t clock, next_value, next_key;
    uint32_t next_tid, next_session;
    uint32_t *snos;                  /* of the ordinary sessions */
    struct transaction *const *open; /* by ordinary session */
    struct tables tables;
    struct sites sites; /* none, where there is one site */
    uint64_t horizon;   /* no open transaction started before it */
    uint32_t commits;   /* since it was last looked for */
    struct outlet outlet;
};

/* outlet.c */
void outlet_init(struct outlet *outlet, enum iso_generate_order order, iso_generate_sink *sink,
                 void *context);
void outlet_release(struct outlet *outlet);
struct transaction *outlet_new(struct outlet *outlet); /* an empty one, which has begun */
void outlet_close(struct outlet *outlet, struct transaction *transaction, struct iso_rng *rng);
void outlet_finish(struct outlet *outlet, struct iso_rng *rng); /* all that wait leave */
struct operation *transaction_add(struct transaction *transaction, uint8_t kind, uint64_t key);
void transaction_element(struct transaction *transaction, uint64_t element);

struct row_step *transaction_step(struct transaction *transaction, enum row_step_kind kind,
                                  uint64_t table);

/* rows.c: the same as store.c, of rows with columns. */
void rows_choose(struct store *store, struct transaction *transaction);
void rows_run(struct store *store, struct transaction *transaction);
void rows_commit(struct store *store, const struct transaction *transaction);

/* rows_block.c */
void rows_put(struct iso_history *block, const struct transaction *transaction);
uint64_t rows_operations(const struct transaction *transaction); /* how many these are */

/* store.c */
bool store_choose_written(struct store *store, uint32_t tid,
                          uint32_t *chosen); /* a slot that is held from now on */
struct transaction *store_begin(struct store *store, uint32_t session);
bool store_is_point(const struct store *store, const struct transaction *transaction);
void store_commit(struct store *store, struct transaction *transaction);

/* replica.c: the same as store.c, of a replicated store. */
void replica_begin(struct store *store, struct transaction *transaction);
void replica_commit(struct store *store, const struct transaction *transaction);

/* script.c */
void store_plant(struct store *store, const struct iso_anomaly_script *anomaly);
