/* Jepsen's operations to transactions: what EDN and JSON share. Private to the readers of Elle's
 * formats.
 *
 * An operation comes as an invocation or a completion of a client process. A process's completion
 * belongs to its last invocation. :ok committed. :fail did not happen: an aborted transaction, so
 * that reads of its writes are found. :info, or no completion at all: of unknown outcome. Where the
 * process is not said, nothing can be paired: each :ok is a session of its own, and invocations say
 * nothing. Operations of processes that are no integers (:nemesis) and of other functions than :txn
 * are no transactions. Reads of what did not commit are left out: they constrain nothing. :time, in
 * nanoseconds, is the client's clock: of the invocation, when the transaction began; of :ok, when
 * it ended.
 */
#pragma once

#include "base/number_map.h"
#include "formats/format_private.h"

enum elle_type { ELLE_NO_TYPE, ELLE_INVOKE, ELLE_OK, ELLE_FAIL, ELLE_INFO };

/* One operation as it stands in the file. Its operations are in `elle.mops`. */
struct elle_operation {
    enum elle_type type;
    bool has_function, is_transaction; /* :f is there; it is :txn */
    bool has_process, is_client;       /* :process is there; it is an integer */
    bool has_value;                    /* :value is a vector of operations */
    bool other_value;                  /* :value is neither that nor nil */
    uint64_t time;                     /* 1 + nanoseconds; 0: not said */
    iso_atom process, index;           /* index: ISO_ABSENT if there is none */
    uint64_t line;                     /* line */
};

struct elle {
    const char *path;
    struct iso_history *history;
    struct iso_error *error;
    struct format_mops mops; /* of the operation that is being read */
    struct elle_process *processes;
    uint32_t process_count, process_capacity;
    struct iso_number_map by_process; /* its index */
    uint64_t count;                   /* operations, of all kinds */
    uint64_t others;                  /* completed client operations that are no transactions */
    char other[64];                   /* the function of the first of them */
};

void elle_release(struct elle *elle);

/* Before an operation is read. */
void elle_start(struct elle *elle);

/* Names an operation's function that is not :txn. */
void elle_other(struct elle *elle, const char *name, size_t length);

enum elle_type elle_type_of(const char *text, size_t length);

/* The kind of an operation inside a transaction, by its name; false: not one of r, w, append. */
bool elle_kind_of(const char *text, size_t length, uint8_t *kind);

/* After it was read. */
enum iso_status elle_take(struct elle *elle, const struct elle_operation *operation);

/* After the last one: what never completed. ISO_BAD_INPUT if the file holds operations, but no
 * transaction. */
enum iso_status elle_end(struct elle *elle);
