#include "history/gtid.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "history/snapshot.h"
#include "formats/plain.h"
#include "formats/write_history_private.h"
#include "formats/write_sets.h"

void iso_history_writer_init(struct iso_history_writer *writer, struct iso_output *output,
                             enum iso_format format)
{
    *writer = (struct iso_history_writer){.output = output, .format = format};
}

#define LITERAL(output, text) iso_output_bytes(output, text, sizeof text - 1)

/* A timestamp as it was given, of a history in either of its lives. */
static struct iso_stamp stamp_of(const struct iso_history *history, uint64_t number,
                                 const uint64_t *twin, uint32_t at)
{
    if (history->ranks.physical && number && number <= history->ranks.count)
        return (struct iso_stamp){history->ranks.physical[number],
                                  history->ranks.logical ? history->ranks.logical[number] : 0};
    return (struct iso_stamp){number, twin ? twin[at] : 0};
}

/* ---- operations, common to both formats ---- */

static void write_list(struct iso_output *output, const struct iso_history *history, uint32_t list)
{
    iso_output_char(output, '[');
    for (uint64_t i = history->lists.first[list]; i < history->lists.first[list + 1]; i++) {
        if (i > history->lists.first[list])
            iso_output_char(output, ',');
        iso_output_atom(output, &history->atoms, history->lists.element[i]);
    }
    iso_output_char(output, ']');
}

void formats_write_value(struct iso_output *output, const struct iso_history *history,
                         uint32_t operation)
{
    if (iso_kind_of(history, operation) == ISO_READ_LIST)
        write_list(output, history, history->ops.value[operation]);
    else
        iso_output_atom(output, &history->atoms, history->ops.value[operation]);
}

static void write_value(struct iso_output *output, const struct iso_history *history,
                        uint32_t operation)
{
    LITERAL(output, ",\"v\":");
    formats_write_value(output, history, operation);
}

static void write_kind_and_key(struct iso_output *output, const struct iso_history *history,
                               uint32_t operation, const char letters[5])
{
    LITERAL(output, "{\"t\":\"");
    iso_output_char(output, letters[iso_kind_of(history, operation)]);
    LITERAL(output, "\",\"k\":");
    iso_output_atom(output, &history->atoms, history->keys.atom[history->ops.key[operation]]);
}

/* ---- native ---- */

static void write_native_stamp(struct iso_output *output, const struct iso_history *history,
                               const char *member, struct iso_stamp stamp)
{
    iso_output_text(output, member);
    if (history->clock != ISO_CLOCK_PAIR) {
        iso_output_exact(output, stamp.physical);
        return;
    }
    LITERAL(output, "{\"p\":");
    iso_output_exact(output, stamp.physical);
    LITERAL(output, ",\"l\":");
    iso_output_exact(output, stamp.logical);
    iso_output_char(output, '}');
}

static void write_snapshot(struct iso_output *output, const struct iso_history *history,
                           uint32_t snapshot)
{
    const struct iso_snapshot *one = &history->snapshots.list[snapshot];
    size_t size = 48 + 21 * (size_t)one->xip_count;
    char *text = iso_allocate(size);
    iso_snapshot_text(history, one, text, size);
    LITERAL(output, ",\"snapshot\":");
    iso_output_string(output, text, strlen(text));
    iso_free(text);
}

/* Writes a value; of one that nobody knows only why. */
static void write_native_value(struct iso_output *output, const struct iso_history *history,
                               uint32_t operation)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (iso_kind_of(history, operation) != ISO_WRITE ||
        !iso_atom_is_unknown(&history->atoms, history->ops.value[operation])) {
        write_value(output, history, operation);
        return;
    }
    const char *text =
        iso_atom_text(&history->atoms, history->ops.value[operation], buffer, &length);
    LITERAL(output, ",\"unknown\":");
    iso_output_string(output, text + 1, length - 1);
}

static void write_moment(struct iso_output *output, const struct iso_history *history, uint8_t kind,
                         uint64_t ots, struct iso_stamp stamp)
{
    if (kind & ISO_OPERATION_SNAPSHOT)
        write_snapshot(output, history, (uint32_t)ots);
    else if (kind & ISO_OPERATION_OTS)
        write_native_stamp(output, history, ",\"ots\":", stamp);
    if (kind & ISO_OPERATION_LOCK)
        LITERAL(output, ",\"lock\":true");
    iso_output_char(output, '}');
}

static void write_own_moment(struct iso_output *output, const struct iso_history *history,
                             uint32_t operation)
{
    uint64_t ots = history->ops.ots ? history->ops.ots[operation] : 0;
    write_moment(output, history, history->ops.kind[operation], ots,
                 stamp_of(history, ots, history->ops.ots_logical, operation));
}

static void write_native_operation(struct iso_output *output, const struct iso_history *history,
                                   uint32_t operation)
{
    write_kind_and_key(output, history, operation, "rwdar");
    if (iso_kind_of(history, operation) != ISO_DELETE)
        write_native_value(output, history, operation);
    write_own_moment(output, history, operation);
}

/* A set has the time of its operations; without any, its own. */
static void write_set(struct iso_output *output, const struct iso_history *history,
                      const struct iso_range *set)
{
    formats_write_set(output, history, set);
    if (set->count)
        write_own_moment(output, history, history->txns.first_op[set->transaction] + set->first);
    else
        write_moment(output, history, set->kind, set->ots,
                     (struct iso_stamp){set->ots, set->ots_logical});
}

static void write_operations(struct iso_output *output, const struct iso_history *history,
                             uint32_t transaction, uint32_t *sets)
{
    uint32_t o = history->txns.first_op[transaction], end = history->txns.first_op[transaction + 1];
    bool is_first = true;
    for (;;) {
        const struct iso_range *set = formats_set_at(history, transaction, o, sets);
        if (!set && o == end)
            return;
        if (!is_first)
            iso_output_char(output, ',');
        is_first = false;
        if (set)
            write_set(output, history, set);
        else
            write_native_operation(output, history, o);
        o += set ? set->count : 1;
    }
}

/* A snapshot's place in a binlog. */
static void write_position(struct iso_output *output, uint64_t position)
{
    char name[ISO_BINLOG_POSITION_MAX];
    iso_binlog_position_text(position, name);
    LITERAL(output, ",\"snapshot\":\"");
    iso_output_text(output, name);
    iso_output_char(output, '"');
}

static void write_native_head(struct iso_output *output, const struct iso_history *history,
                              uint32_t transaction)
{
    static const char *const statuses[] = {NULL, ",\"status\":\"aborted\"",
                                           ",\"status\":\"unknown\""};
    uint8_t flags = history->txns.flags[transaction];
    LITERAL(output, "{\"tid\":");
    iso_output_atom(output, &history->atoms, history->txns.tid[transaction]);
    LITERAL(output, ",\"sid\":");
    iso_output_atom(output, &history->atoms,
                    history->sessions.atom[history->txns.session[transaction]]);
    if (flags & ISO_HAS_SNO) {
        LITERAL(output, ",\"sno\":");
        iso_output_exact(output, history->txns.sno[transaction]);
    }
    if (iso_marks_of(history, transaction) & ISO_MARK_LOG_START)
        write_position(output, history->txns.sts[transaction]);
    else if (flags & ISO_HAS_STS)
        write_native_stamp(output, history, ",\"sts\":",
                           stamp_of(history, history->txns.sts[transaction],
                                    history->txns.sts_logical, transaction));
    if (flags & ISO_HAS_CTS)
        write_native_stamp(output, history, ",\"cts\":",
                           stamp_of(history, history->txns.cts[transaction],
                                    history->txns.cts_logical, transaction));
    if (history->txns.xid && history->txns.xid[transaction]) {
        LITERAL(output, ",\"xid\":");
        iso_output_exact(output, history->txns.xid[transaction]);
    }
    if (history->txns.begun && history->txns.begun[transaction]) {
        LITERAL(output, ",\"begin\":");
        iso_output_exact(output, history->txns.begun[transaction] - 1);
    }
    if (history->txns.ended && history->txns.ended[transaction]) {
        LITERAL(output, ",\"end\":");
        iso_output_exact(output, history->txns.ended[transaction] - 1);
    }
    if (history->txns.snapshot && history->txns.snapshot[transaction] != ISO_NONE)
        write_snapshot(output, history, history->txns.snapshot[transaction]);
    if (flags & ISO_STATUS_MASK)
        iso_output_text(output, statuses[flags & ISO_STATUS_MASK]);
    if (iso_marks_of(history, transaction) & ISO_MARK_CDC_WRITES)
        LITERAL(output, ",\"writes\":\"cdc\"");
    if (history->whole_rows &&
        history->txns.first_op[transaction] < history->txns.first_op[transaction + 1])
        LITERAL(output, ",\"whole\":true");
}

static void write_native(struct iso_history_writer *writer, const struct iso_history *history)
{
    struct iso_output *output = writer->output;
    uint32_t sets = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        write_native_head(output, history, t);
        LITERAL(output, ",\"ops\":[");
        write_operations(output, history, t, &sets);
        LITERAL(output, "]}\n");
        writer->count++;
    }
}

/* ---- TimeKiller ---- */

static void count_loss(struct iso_history_loss *loss, const struct iso_history *history,
                       uint32_t operation)
{
    bool string_key =
        iso_atom_is_string(&history->atoms, history->keys.atom[history->ops.key[operation]]);
    uint8_t kind = iso_kind_of(history, operation);
    bool string_value = kind != ISO_READ_LIST && history->ops.value[operation] != ISO_ABSENT &&
                        iso_atom_is_string(&history->atoms, history->ops.value[operation]);
    loss->strings += string_key || string_value;
    loss->deletes += kind == ISO_DELETE;
    loss->own_times +=
        (history->ops.kind[operation] & (ISO_OPERATION_OTS | ISO_OPERATION_LOCK)) != 0;
}

static void write_pair(struct iso_output *output, const char *member, struct iso_stamp stamp)
{
    iso_output_text(output, member);
    iso_output_exact(output, stamp.physical);
    LITERAL(output, ",\"l\":");
    iso_output_exact(output, stamp.logical);
    iso_output_char(output, '}');
}

static void write_timekiller_transaction(struct iso_history_writer *writer,
                                         const struct iso_history *history, uint32_t transaction)
{
    struct iso_output *output = writer->output;
    iso_output_text(output, writer->count++ ? ",\n{\"tid\":" : "[\n{\"tid\":");
    iso_output_atom(output, &history->atoms, history->txns.tid[transaction]);
    LITERAL(output, ",\"sid\":");
    iso_output_atom(output, &history->atoms,
                    history->sessions.atom[history->txns.session[transaction]]);
    write_pair(
        output, ",\"sts\":{\"p\":",
        stamp_of(history, history->txns.sts[transaction], history->txns.sts_logical, transaction));
    write_pair(
        output, ",\"cts\":{\"p\":",
        stamp_of(history, history->txns.cts[transaction], history->txns.cts_logical, transaction));
    LITERAL(output, ",\"ops\":[");
    ISO_EACH(o, history->txns.first_op, transaction) {
        if (o > history->txns.first_op[transaction])
            iso_output_char(output, ',');
        write_kind_and_key(output, history, o, "rwwar");
        write_value(output, history, o);
        iso_output_char(output, '}');
        count_loss(&writer->loss, history, o);
    }
    LITERAL(output, "]}");
    writer->loss.snos += (history->txns.flags[transaction] & ISO_HAS_SNO) != 0;
    writer->loss.clocks += (history->txns.begun && history->txns.begun[transaction]) ||
                           (history->txns.ended && history->txns.ended[transaction]);
    writer->loss.snapshots +=
        history->txns.snapshot && history->txns.snapshot[transaction] != ISO_NONE;
}

/* The transaction that stands in the place of transaction `t`: each session's in session order, in
 * the places that the session has. `next` counts the places taken of each session. */
static uint32_t in_session_order(const struct iso_history *history, uint32_t *next, uint32_t t)
{
    if (!next)
        return t;
    uint32_t session = history->txns.session[t];
    return history->sessions.order[history->sessions.first[session] + next[session]++];
}

static enum iso_status check_timestamps(const struct iso_history *history, uint32_t transaction,
                                        struct iso_error *error)
{
    char location[512];
    uint8_t missing = (ISO_HAS_STS | ISO_HAS_CTS) & ~history->txns.flags[transaction];
    if (!missing)
        return ISO_OK;
    iso_history_location_text(history, transaction, location, sizeof location);
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "%s: the transaction has no %s timestamp; TimeKiller's format cannot do without", location,
        missing & ISO_HAS_STS ? "start" : "commit");
}

static enum iso_status write_timekiller(struct iso_history_writer *writer,
                                        const struct iso_history *history, struct iso_error *error)
{
    enum iso_status status = ISO_OK;
    uint32_t *next =
        history->finished ? iso_allocate_zeroed(history->sessions.count + 1u, sizeof *next) : NULL;
    for (uint32_t i = 0; i < history->txns.count && status == ISO_OK; i++) {
        uint32_t t = in_session_order(history, next, i);
        writer->loss.aborted += iso_status_of(history, t) == ISO_ABORTED;
        writer->loss.unknown += iso_status_of(history, t) == ISO_UNKNOWN;
        if (iso_status_of(history, t) != ISO_COMMITTED)
            continue;
        status = check_timestamps(history, t, error);
        if (status == ISO_OK)
            write_timekiller_transaction(writer, history, t);
    }
    iso_free(next);
    return status;
}

static uint64_t count_queries(const struct iso_history *history)
{
    uint64_t queries = 0;
    for (uint32_t i = 0; i < history->ranges.count; i++)
        queries += history->ranges.list[i].form == ISO_SET_QUERY;
    return queries;
}

enum iso_status iso_history_writer_add(struct iso_history_writer *writer,
                                       const struct iso_history *history, struct iso_error *error)
{
    assert(history->finished || iso_format_is_native(writer->format));
    if (writer->format != ISO_FORMAT_NATIVE &&
        plain_check_known(history, writer->format, error) != ISO_OK)
        return error->status;
    if (writer->format != ISO_FORMAT_NATIVE)
        writer->loss.queries += count_queries(history);
    switch (writer->format) {
    case ISO_FORMAT_NATIVE:
        write_native(writer, history);
        return ISO_OK;
    case ISO_FORMAT_TIMEKILLER:
        return write_timekiller(writer, history, error);
    case ISO_FORMAT_DBCOP:
        return write_dbcop(writer, history, error);
    case ISO_FORMAT_ELLE_EDN:
    case ISO_FORMAT_ELLE_JSON:
        return write_elle(writer, history, error);
    default:
        return write_text(writer, history, error);
    }
}

void iso_history_writer_end(struct iso_history_writer *writer)
{
    if (writer->format == ISO_FORMAT_TIMEKILLER)
        iso_output_text(writer->output, writer->count ? "\n]\n" : "[]\n");
}

uint64_t iso_history_write_initial(struct iso_output *output, const struct iso_history *history)
{
    iso_atom *initial = plain_initial_values(history);
    uint64_t count = 0;
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (history->initial.is_append[i])
            initial[history->initial.key[i]] = ISO_ABSENT;
    }
    LITERAL(output, "{\"ops\":[");
    for (uint32_t key = 0; key < history->keys.count; key++) {
        if (initial[key] == ISO_ABSENT)
            continue;
        iso_output_text(output, count++ ? ",\n{\"t\":\"w\",\"k\":" : "\n{\"t\":\"w\",\"k\":");
        iso_output_atom(output, &history->atoms, history->keys.atom[key]);
        LITERAL(output, ",\"v\":");
        iso_output_atom(output, &history->atoms, initial[key]);
        iso_output_char(output, '}');
    }
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (!history->initial.is_append[i])
            continue;
        iso_output_text(output, count++ ? ",\n{\"t\":\"a\",\"k\":" : "\n{\"t\":\"a\",\"k\":");
        iso_output_atom(output, &history->atoms, history->keys.atom[history->initial.key[i]]);
        LITERAL(output, ",\"v\":");
        iso_output_atom(output, &history->atoms, history->initial.value[i]);
        iso_output_char(output, '}');
    }
    LITERAL(output, "]}\n");
    iso_free(initial);
    return count;
}
