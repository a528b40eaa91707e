/* Parts of the native reader: values, stamps and operations. All return false with the
 * fault set.
 */
#pragma once

#include "native/native.h"

/* One operation as it was written. */
struct native_operation {
    enum iso_operation_kind kind;
    bool has_value, is_list, is_unknown, has_ots, has_snapshot, lock;
    bool is_set; /* a row set, or a row with its cells: `range`, and it is the last `rows`
                    operations of the history */
    struct iso_range range;
    uint32_t rows;
    bool has_cells;
    iso_atom row; /* of a row with its cells */
    iso_atom columns,
        bag; /* of a query that returned rows without keys: how many columns each has, or 0 */
    uint32_t column_count, width;
    iso_atom key, value; /* value: or the index of a list */
    struct iso_stamp ots;
    uint32_t snapshot;
    enum iso_clock clock; /* of the timestamps so far, also before this operation */
};

/* Sets the fault at `at`. Returns false. */
bool native_refuse(struct iso_native *native, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Turns the scanner's error, if any, into the fault. Returns false. */
bool native_scanner_fault(struct iso_native *native);

/* A value of the wrong type; where there is no value at all, the scanner says so. Returns false. */
bool native_wrong_type(struct iso_native *native, const char *what, const char *expected);

/* Notes that member `bit` was seen; a second time is an error. */
bool native_once(struct iso_native *native, unsigned *seen, unsigned bit,
                 const struct iso_json_text *name);

bool native_read_atom(struct iso_native *native, const char *what, iso_atom *atom);
bool native_read_unsigned(struct iso_native *native, const char *what, uint64_t *number);
/* A string: returns its place. NULL: it is none, `expected` is what had to be. */
const char *native_read_word(struct iso_native *native, const char *what, const char *expected,
                             struct iso_json_text *word);
bool native_read_boolean(struct iso_native *native, const char *what, bool *value);
bool native_read_writes(struct iso_native *native,
                        uint8_t *marks); /* "all" or "cdc": ISO_MARK_CDC_WRITES, or none */
bool native_read_stamp(struct iso_native *native, const char *what, struct iso_stamp *stamp,
                       enum iso_clock *clock);
/* The text, which stands at `at`, as a snapshot of PostgreSQL. */
bool native_take_snapshot(struct iso_native *native, const char *at, struct iso_json_text text,
                          uint32_t *snapshot);
bool native_read_snapshot(struct iso_native *native, uint32_t *snapshot);
bool native_read_operation(struct iso_native *native, struct native_operation *operation);

/* The cells of the row, `{"balance":150}`, and a row of a query: as operations that wait for the
 * rest of their keys, which native_take_row or native_take_query put in (cells.c). */
bool native_read_cells(struct iso_native *native, struct native_operation *operation);
bool native_read_query_row(struct iso_native *native, struct native_operation *operation,
                           iso_atom key);
bool native_has_query_rows(const struct iso_history *history,
                           uint32_t rows); /* the last ones are such */

/* Once all of it is known: the operations of a row with its cells, and those of a query. */
void native_take_row(struct iso_history *history, struct native_operation *operation);
void native_take_query(struct iso_history *history, struct native_operation *operation);
void native_take_bag(struct iso_history *history, struct native_operation *operation);

/* Reads the other members of a query; texts become canonical JSON. */
bool native_read_where(struct iso_native *native, iso_atom *where);
bool native_read_aggregates(struct iso_native *native, struct native_operation *operation);
bool native_read_columns(struct iso_native *native, iso_atom *columns, uint32_t *count);
bool native_read_bag(struct iso_native *native, iso_atom *bag, uint32_t *width);

/* "from", "to" and "rows" of a row set. Rows are added to the history; a set without "rows" is
 * refused by native_check_set, as what else does not fit. `at`: where the set begins. */
bool native_read_bound(struct iso_native *native, const char *what, iso_atom *bound);
bool native_read_rows(struct iso_native *native, struct native_operation *operation);
bool native_check_set(struct iso_native *native, const char *at,
                      const struct native_operation *operation);
bool native_read_value(struct iso_native *native, struct native_operation *operation);

/* Adds the operation at the cursor if it is of a usual shape, and those behind it as long as they
 * are. False: it is not, and nothing was taken. */
bool native_read_plain(struct iso_json *json, struct iso_history *history);

/* True if null stands here, and passes over it. */
static inline bool native_is_null(struct iso_native *native)
{
    return iso_json_peek(&native->json) == ISO_JSON_NULL && iso_json_null(&native->json);
}

/* For "%.*s" in messages: texts are cut. */
static inline int native_shown(const struct iso_json_text *text)
{
    return (int)(text->length < 60 ? text->length : 60);
}
