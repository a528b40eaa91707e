/* Building a transaction out of an Avro or Protobuf record: the checks that the JSON reader makes
 * by itself. */
#pragma once

#include "history/history.h"

struct build_operation {
    enum iso_operation_kind kind; /* as the record says; a read of a list is ISO_READ */
    iso_atom key;
    iso_atom value; /* ISO_ABSENT: none */
    bool is_list;
    uint32_t list;
    bool has_ots, lock;
    struct iso_stamp ots;
};

/* The atom of a text; false if it is not UTF-8. */
bool build_text(struct iso_history *history, const void *bytes, size_t size, iso_atom *atom);
iso_atom build_number(struct iso_history *history, int64_t number);

/* Adds the operation to the transaction begun last, which iso_history_close ends; what is wrong
 * with it, or NULL. */
const char *build_add_operation(struct iso_history *history,
                                const struct build_operation *operation);

/* Sets the snapshot of the transaction that was begun last, as its database prints it; it takes
 * the place of a start, unless there is one. Returns what is wrong with the text, or NULL. */
const char *build_snapshot(struct iso_history *history, const char *text, size_t length,
                           bool has_start);

/* The first timestamp sets the block's clock; false if this one is of another kind. */
bool build_clock(struct iso_history *history, enum iso_clock clock);
