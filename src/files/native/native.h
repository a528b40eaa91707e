/* Reading one transaction in the native format (JSON; a superset of TimeKiller's), from a text in
 * memory.
 *
 *     {"tid":67,"sid":19,"sno":4,"sts":"41","cts":{"p":44,"l":1},"status":"committed",
 *      "ops":[{"t":"w","k":7,"v":2},{"t":"r","k":"user:8","v":null},{"t":"r","k":5,"v":1,"ots":"42"},
 *             {"t":"a","k":3,"v":1},{"t":"r","k":3,"v":[4,1]},{"t":"d","k":9},{"t":"w","k":1,"v":2,"lock":true}]}
 *
 * tid, sid and ops must be there, other members may be missing or null; members come in any order.
 * Ids, keys and values are integers of 64 bits or strings, timestamps are unsigned numbers, decimal
 * strings, or pairs {p,l} of either. Kinds are r, w, a, d or read, write, append, delete, in any
 * letter case. Members that are not known are checked to be JSON and then ignored; a known one that
 * stands twice is an error. An operation that has `ots` needs neither its `snapshot` nor its
 * `lock`: they are ignored there. Knows no files: Kafka records are read by the same code. Values
 * that begin with U+0002 are refused; in histories of files a write may have `"unknown":"REASON"`
 * in place of `v`, and is one of that byte and the reason (base/atom.h). Threads: one at a time for
 * each reader.
 */
#pragma once

#include "base/json.h"
#include "history/history.h"

enum iso_native_fault_kind {
    ISO_FAULT_NONE,
    ISO_FAULT_TEXT, /* something wrong at `position` */
    ISO_FAULT_END,  /* the text ends too early; as above */
    ISO_FAULT_CLOCK /* all is well but for timestamps of a kind other than the history's */
};

/* The fault, without the name of the place, which the caller knows. */
struct iso_native_fault {
    enum iso_native_fault_kind kind;
    size_t position; /* in the text, from 0 */
    char text[384];  /* what was wrong, what was expected */
};

struct iso_native {
    struct iso_json json;
    struct iso_native_fault *fault;
    struct iso_history *history; /* that is read into */
    bool leaves_cells;           /* the transaction that is read wrote a row with "cells":{} */
    bool takes_ranges; /* beside files: records have row sets of plain keys; false at first */
    bool of_file; /* takes what records of topics must not have: values that nobody knows, row sets;
                     false at first */
};

void iso_native_init(struct iso_native *native);
void iso_native_release(struct iso_native *native);

/* Adds the transaction that `text` is (followed by ISO_JSON_PADDING readable bytes), with the given
 * origin. On ISO_BAD_INPUT `fault` is filled in and the history's transactions are as they were. */
enum iso_status iso_native_read_transaction(struct iso_native *native, const char *text,
                                            size_t length, uint64_t origin,
                                            struct iso_history *history,
                                            struct iso_native_fault *fault);

/* Reads a transaction inside a larger text, which native->json was started on; leaves the cursor
 * behind it. */
enum iso_status iso_native_read_value(struct iso_native *native, uint64_t origin,
                                      struct iso_history *history, struct iso_native_fault *fault);

/* Adds the writes of an initial transaction, {"ops":[...]}: "w" of a value, or of a list of
 * elements, and "a". */
enum iso_status iso_native_read_initial(struct iso_native *native, const char *text, size_t length,
                                        struct iso_history *history,
                                        struct iso_native_fault *fault);
