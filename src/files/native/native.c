#include "history/gtid.h"
#include "native/native_private.h"

/* Members of a transaction. */
enum {
    HAS_TID = 1,
    HAS_SID = 2,
    HAS_OPS = 4,
    HAS_STS = 8,
    HAS_CTS = 16,
    HAS_SNO = 32,
    HAS_STATUS = 64,
    HAS_XID = 128,
    HAS_SNAPSHOT = 256,
    HAS_BEGIN = 512,
    HAS_END = 1024,
    HAS_WRITES = 2048,
    HAS_WHOLE = 4096
};

struct transaction {
    unsigned seen, present; /* members that were named; those of them that were not null */
    iso_atom tid, sid;
    uint8_t status, marks;
    bool whole;
    struct iso_stamp sts, cts;
    uint64_t sno, xid, begin, end;
    uint32_t snapshot;
    enum iso_clock clock; /* of all its timestamps */
    bool is_start;        /* `snapshot` was MariaDB's: a start, not one of `snapshots` */
    uint64_t start;
    uint8_t start_marks;
};

void iso_native_init(struct iso_native *native)
{
    iso_json_init(&native->json);
    native->fault = NULL;
    native->of_file = native->takes_ranges = native->leaves_cells = false;
}

void iso_native_release(struct iso_native *native)
{
    iso_json_release(&native->json);
}

/* ---- operations ---- */

/* Its rows have the set's time. */
static bool add_set(struct iso_history *history, const struct native_operation *read)
{
    struct iso_range range = read->range;
    if (read->has_ots)
        range.kind = ISO_OPERATION_OTS;
    else
        range.kind = (uint8_t)((read->has_snapshot ? ISO_OPERATION_SNAPSHOT : 0) |
                               (read->lock ? ISO_OPERATION_LOCK : 0));
    range.ots = read->has_ots ? read->ots.physical : read->has_snapshot ? read->snapshot : 0;
    range.ots_logical = read->has_ots ? read->ots.logical : 0;
    iso_history_range(history, &range, read->rows);
    if (range.form == ISO_SET_ROW && read->rows == 1 && read->kind != ISO_WRITE)
        history->ranges.count--; /* as any other operation, but for its time */
    return true;
}

static bool add_operation(struct iso_native *native, struct transaction *transaction)
{
    struct native_operation read = {.clock = transaction->clock};
    const char *at = native->json.at;
    if (!native_read_operation(native, &read))
        return false;
    if (read.is_list && read.kind == ISO_WRITE)
        return native_refuse(native, at,
                             "a write of a list, expected an integer, a string or null");
    if (native->history->clock == ISO_CLOCK_NONE)
        native->history->clock = read.clock;
    transaction->clock = read.clock;
    if (read.is_set)
        return add_set(native->history, &read);
    if (native->history->ops.count == native->history->ops.capacity)
        iso_history_reserve_operations(native->history, 1);
    uint32_t operation = native->history->ops.count++;
    native->history->ops.kind[operation] = (uint8_t)(read.is_list ? ISO_READ_LIST : read.kind);
    native->history->ops.key[operation] = iso_history_key(native->history, read.key);
    native->history->ops.value[operation] = read.value;
    if (read.has_ots) {
        iso_history_set_ots(native->history, read.ots);
        return true;
    }
    if (read.has_snapshot)
        iso_history_set_operation_snapshot(native->history, read.snapshot);
    if (read.lock)
        iso_history_set_lock(native->history);
    return true;
}

static bool read_operations(struct iso_native *native, struct transaction *transaction)
{
    struct iso_json *json = &native->json;
    if (iso_json_take_null(json)) /* an empty list, as some languages print it */
        return true;
    if (iso_json_peek(json) != ISO_JSON_ARRAY)
        return native_wrong_type(native, "ops", "a list of operations");
    if (!iso_json_enter_array(json))
        return native_scanner_fault(native);
    while (iso_json_element(json)) {
        iso_json_space(json);
        if (!native_read_plain(json, native->history) && !add_operation(native, transaction))
            return false;
    }
    return json->code == ISO_JSON_FINE || native_scanner_fault(native);
}

/* ---- the transaction ---- */

static bool read_status(struct iso_native *native, uint8_t *status)
{
    static const struct {
        const char *name;
        uint8_t status;
    } known[] = {{"committed", ISO_COMMITTED}, {"aborted", ISO_ABORTED}, {"unknown", ISO_UNKNOWN}};
    static const char expected[] = "\"committed\", \"aborted\" or \"unknown\"";
    struct iso_json_text text;
    const char *at = native_read_word(native, "status", expected, &text);
    if (!at)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        *status = known[i].status;
        if (iso_json_is(&text, known[i].name))
            return true;
    }
    return native_refuse(native, at, "status is \"%.*s\", expected %s", native_shown(&text),
                         text.at, expected);
}

/* Whether the record lists all that its transaction wrote. */
bool native_read_writes(struct iso_native *native, uint8_t *marks)
{
    static const char expected[] = "\"all\" or \"cdc\"";
    struct iso_json_text text;
    const char *at = native_read_word(native, "writes", expected, &text);
    if (!at)
        return false;
    *marks = iso_json_is(&text, "cdc") ? ISO_MARK_CDC_WRITES : 0;
    return *marks || iso_json_is(&text, "all") ||
           native_refuse(native, at, "writes is \"%.*s\", expected %s", native_shown(&text),
                         text.at, expected);
}

static bool read_xid(struct iso_native *native, uint64_t *xid)
{
    const char *at = native->json.at;
    if (!native_read_unsigned(native, "xid", xid))
        return false;
    return *xid || native_refuse(native, at, "xid is 0, expected an integer from 1 to 2^64-1");
}

/* By a client's clock. */
static bool read_time(struct iso_native *native, const char *what, uint64_t *nanoseconds)
{
    const char *at = native->json.at;
    if (!native_read_unsigned(native, what, nanoseconds))
        return false;
    return *nanoseconds < UINT64_MAX ||
           native_refuse(native, at, "%s is 2^64-1, expected nanoseconds below that", what);
}

static unsigned known_member(const struct iso_json_text *name)
{
    static const struct {
        char name[4];
        unsigned bit;
    } known[] = {{"tid", HAS_TID}, {"sid", HAS_SID}, {"ops", HAS_OPS}, {"sts", HAS_STS},
                 {"cts", HAS_CTS}, {"sno", HAS_SNO}, {"xid", HAS_XID}, {"end", HAS_END}};
    for (size_t i = 0; name->length == 3 && i < sizeof known / sizeof *known; i++) {
        if (!memcmp(name->at, known[i].name, 3))
            return known[i].bit;
    }
    return iso_json_is(name, "status")     ? HAS_STATUS
           : iso_json_is(name, "snapshot") ? HAS_SNAPSHOT
           : iso_json_is(name, "begin")    ? HAS_BEGIN
           : iso_json_is(name, "writes")   ? HAS_WRITES
           : iso_json_is(name, "whole")    ? HAS_WHOLE
                                           : 0;
}

/* PostgreSQL's; or MariaDB's, which is a start, unless the record has one of its own. */
static bool read_snapshot(struct iso_native *native, struct transaction *transaction)
{
    struct iso_json_text text;
    uint8_t marks;
    const char *at = native_read_word(native, "snapshot", "a string \"xmin:xmax:xip,...\"", &text);
    if (!at)
        return false;
    transaction->is_start =
        iso_gtid_snapshot_read(text.at, text.length, &transaction->start, &marks);
    if (!transaction->is_start)
        return native_take_snapshot(native, at, text, &transaction->snapshot);
    transaction->start_marks = marks;
    transaction->clock =
        transaction->clock == ISO_CLOCK_NONE ? ISO_CLOCK_SCALAR : transaction->clock;
    return transaction->clock == ISO_CLOCK_SCALAR ||
           native_refuse(native, at, "snapshot is MariaDB's, and other timestamps are pairs {p,l}");
}

static bool read_member(struct iso_native *native, unsigned member, struct transaction *transaction)
{
    if (member > HAS_OPS && native_is_null(native))
        return true;
    transaction->present |= member;
    switch (member) {
    case HAS_TID:
        return native_read_atom(native, "tid", &transaction->tid);
    case HAS_SID:
        return native_read_atom(native, "sid", &transaction->sid);
    case HAS_OPS:
        return read_operations(native, transaction);
    case HAS_STS:
        return native_read_stamp(native, "sts", &transaction->sts, &transaction->clock);
    case HAS_CTS:
        return native_read_stamp(native, "cts", &transaction->cts, &transaction->clock);
    case HAS_SNO:
        return native_read_unsigned(native, "sno", &transaction->sno);
    case HAS_XID:
        return read_xid(native, &transaction->xid);
    case HAS_BEGIN:
        return read_time(native, "begin", &transaction->begin);
    case HAS_END:
        return read_time(native, "end", &transaction->end);
    case HAS_STATUS:
        return read_status(native, &transaction->status);
    case HAS_SNAPSHOT:
        return read_snapshot(native, transaction);
    case HAS_WRITES:
        return native_read_writes(native, &transaction->marks);
    case HAS_WHOLE:
        return native_read_boolean(native, "whole", &transaction->whole);
    default:
        return iso_json_skip(&native->json) || native_scanner_fault(native);
    }
}

static bool read_members(struct iso_native *native, struct transaction *transaction)
{
    struct iso_json_text name;
    const unsigned needed = HAS_TID | HAS_SID | HAS_OPS;
    if (iso_json_peek(&native->json) != ISO_JSON_OBJECT)
        return native_wrong_type(native, "a transaction", "{\"tid\":..,\"sid\":..,\"ops\":[..]}");
    const char *at = native->json.at;
    if (!iso_json_enter_object(&native->json))
        return native_scanner_fault(native);
    while (iso_json_member(&native->json, &name)) {
        unsigned member = known_member(&name);
        if ((member && !native_once(native, &transaction->seen, member, &name)) ||
            !read_member(native, member, transaction))
            return false;
    }
    if (native->json.code != ISO_JSON_FINE)
        return native_scanner_fault(native);
    if ((transaction->present & needed) == needed)
        return !(transaction->present & HAS_BEGIN) || !(transaction->present & HAS_END) ||
               transaction->begin <= transaction->end ||
               native_refuse(native, at,
                             "a transaction ends before it begins, expected begin <= end");
    const char *lacking = !(transaction->present & HAS_TID)   ? "tid"
                          : !(transaction->present & HAS_SID) ? "sid"
                                                              : "ops";
    return native_refuse(native, at, "a transaction lacks \"%s\", expected tid, sid and ops",
                         lacking);
}

/* The first timestamp of all sets the history's clock. Another kind is refused only when all else
 * is well, so that which error is found first does not depend on how the input was cut into
 * blocks. */
static bool check_clock(struct iso_native *native, enum iso_clock clock)
{
    if (native->history->clock == ISO_CLOCK_NONE)
        native->history->clock = clock;
    if (clock == ISO_CLOCK_NONE || clock == native->history->clock)
        return true;
    native_refuse(native, native->json.start, "timestamps are %s, expected one kind in a history",
                  clock == ISO_CLOCK_PAIR ? "pairs {p,l}" : "single numbers");
    native->fault->kind = ISO_FAULT_CLOCK;
    return false;
}

static void store(struct iso_history *history, uint32_t index,
                  const struct transaction *transaction, bool leaves_cells)
{
    history->txns.tid[index] = transaction->tid;
    history->txns.session[index] = iso_history_session(history, transaction->sid);
    history->txns.flags[index] |= transaction->status;
    if (transaction->present & HAS_STS)
        iso_history_set_sts(history, transaction->sts);
    if (transaction->present & HAS_CTS)
        iso_history_set_cts(history, transaction->cts);
    if (transaction->present & HAS_SNO)
        iso_history_set_sno(history, transaction->sno);
    if (transaction->present & HAS_XID)
        iso_history_set_xid(history, transaction->xid);
    if ((transaction->present & HAS_SNAPSHOT) && !transaction->is_start)
        iso_history_set_snapshot(history, transaction->snapshot);
    bool starts = transaction->is_start && !(transaction->present & HAS_STS);
    if (starts)
        iso_history_set_sts(history, (struct iso_stamp){.physical = transaction->start});
    if (transaction->present & HAS_BEGIN)
        iso_history_set_begun(history, transaction->begin);
    if (transaction->present & HAS_END)
        iso_history_set_ended(history, transaction->end);
    uint8_t marks = transaction->marks | (starts ? transaction->start_marks : 0) |
                    (leaves_cells ? ISO_MARK_CELLS_OF_STREAM : 0);
    if (marks)
        iso_history_set_marks(history, marks);
    history->whole_rows |= transaction->whole;
    iso_history_close(history);
}

enum iso_status iso_native_read_value(struct iso_native *native, uint64_t origin,
                                      struct iso_history *history, struct iso_native_fault *fault)
{
    struct transaction transaction = {0};
    struct iso_history_mark mark = iso_history_mark(history);
    native->fault = fault;
    native->history = history;
    native->leaves_cells = false;
    fault->kind = ISO_FAULT_NONE;
    uint32_t index = iso_history_open(history, origin);
    if (!read_members(native, &transaction) || !check_clock(native, transaction.clock)) {
        iso_history_rewind(history, &mark);
        return ISO_BAD_INPUT;
    }
    store(history, index, &transaction, native->leaves_cells);
    return ISO_OK;
}

enum iso_status iso_native_read_transaction(struct iso_native *native, const char *text,
                                            size_t length, uint64_t origin,
                                            struct iso_history *history,
                                            struct iso_native_fault *fault)
{
    struct iso_history_mark mark = iso_history_mark(history);
    iso_json_start(&native->json, text, length);
    enum iso_status status = iso_native_read_value(native, origin, history, fault);
    if ((status == ISO_OK || fault->kind == ISO_FAULT_CLOCK) && !iso_json_finish(&native->json)) {
        iso_history_rewind(history, &mark);
        fault->kind = ISO_FAULT_NONE;
        native_scanner_fault(native);
        return ISO_BAD_INPUT;
    }
    return status;
}

/* ---- the initial transaction ---- */

static bool add_initial(struct iso_native *native)
{
    struct native_operation read = {.clock = ISO_CLOCK_NONE};
    iso_json_space(&native->json);
    const char *at = native->json.at;
    if (!native_read_operation(native, &read))
        return false;
    if (read.kind != ISO_WRITE && read.kind != ISO_APPEND)
        return native_refuse(native, at,
                             "a %s in the initial transaction, expected writes and appends only",
                             read.kind == ISO_DELETE ? "delete" : "read");
    for (uint32_t o = native->history->ops.count - read.rows; o < native->history->ops.count; o++)
        iso_history_initial(native->history,
                            native->history->keys.atom[native->history->ops.key[o]],
                            native->history->ops.value[o], false);
    native->history->ops.count -= read.rows;
    if (!read.is_list && !read.is_set)
        iso_history_initial(native->history, read.key, read.value, read.kind == ISO_APPEND);
    for (uint64_t i = read.is_list ? native->history->lists.first[read.value] : 0;
         read.is_list && i < native->history->lists.first[read.value + 1]; i++)
        iso_history_initial(native->history, read.key, native->history->lists.element[i], true);
    return true;
}

static bool read_initial_operations(struct iso_native *native)
{
    if (iso_json_peek(&native->json) != ISO_JSON_ARRAY)
        return native_wrong_type(native, "ops", "a list of operations");
    if (!iso_json_enter_array(&native->json))
        return native_scanner_fault(native);
    while (iso_json_element(&native->json)) {
        if (!add_initial(native))
            return false;
    }
    return native->json.code == ISO_JSON_FINE || native_scanner_fault(native);
}

static bool read_initial(struct iso_native *native)
{
    struct iso_json_text name;
    unsigned seen = 0;
    if (iso_json_peek(&native->json) != ISO_JSON_OBJECT)
        return native_wrong_type(native, "the initial transaction", "{\"ops\":[..]}");
    if (!iso_json_enter_object(&native->json))
        return native_scanner_fault(native);
    while (iso_json_member(&native->json, &name)) {
        if (known_member(&name) != HAS_OPS) {
            if (!iso_json_skip(&native->json))
                return native_scanner_fault(native);
        } else if (!native_once(native, &seen, HAS_OPS, &name) ||
                   !read_initial_operations(native)) {
            return false;
        }
    }
    if (!iso_json_finish(&native->json))
        return native_scanner_fault(native);
    return seen || native_refuse(native, native->json.start,
                                 "the initial transaction lacks \"ops\", expected {\"ops\":[..]}");
}

enum iso_status iso_native_read_initial(struct iso_native *native, const char *text, size_t length,
                                        struct iso_history *history, struct iso_native_fault *fault)
{
    struct iso_history_mark mark = iso_history_mark(history);
    native->fault = fault;
    native->history = history;
    fault->kind = ISO_FAULT_NONE;
    iso_json_start(&native->json, text, length);
    bool fine = read_initial(native);
    iso_history_rewind(history, &mark); /* lists and snapshots only passed through */
    return fine ? ISO_OK : ISO_BAD_INPUT;
}
