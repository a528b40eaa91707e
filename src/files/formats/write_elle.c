/* Elle's EDN and JSON: each transaction as an invocation and its completion, one a line. A session
 * is a process; but Jepsen's threads never go on after :info, so a transaction of unknown outcome
 * that others follow gets a process of its own. The order of lines is that of the history's input,
 * which says nothing about real time.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "formats/plain.h"
#include "formats/write_history_private.h"

struct elle_writer {
    struct iso_output *output;
    const struct iso_history *history;
    struct iso_history_loss *loss;
    const iso_atom *initial; /* by key */
    bool json;
    uint64_t index;     /* of the next line */
    uint32_t processes; /* taken */
    uint32_t *next;     /* by session: how many of its transactions are written */
    uint32_t
        *last; /* by session: the place in it of what nobody of it may follow, once it is unknown */
};

static void put_atom(struct elle_writer *writer, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        iso_output_text(writer->output, writer->json ? "null" : "nil");
        return;
    }
    const char *text = iso_atom_text(&writer->history->atoms, atom, buffer, &length);
    if (iso_atom_is_string(&writer->history->atoms, atom))
        iso_output_string(writer->output, text, length);
    else
        iso_output_bytes(writer->output, text, length);
}

static void put_value(struct elle_writer *writer, uint32_t operation)
{
    const struct iso_history *history = writer->history;
    if (iso_kind_of(history, operation) != ISO_READ_LIST) {
        iso_atom value = history->ops.value[operation];
        put_atom(writer,
                 value == writer->initial[history->ops.key[operation]] ? ISO_ABSENT : value);
        return;
    }
    uint32_t list = history->ops.value[operation];
    iso_output_char(writer->output, '[');
    for (uint64_t i = history->lists.first[list]; i < history->lists.first[list + 1]; i++) {
        if (i > history->lists.first[list])
            iso_output_char(writer->output, writer->json ? ',' : ' ');
        put_atom(writer, history->lists.element[i]);
    }
    iso_output_char(writer->output, ']');
}

/* [:r x 1]; an invocation does not know yet what it reads. */
static void put_mop(struct elle_writer *writer, uint32_t operation, bool invocation)
{
    static const char *const names[] = {"r", "w", "w", "append", "r"};
    uint8_t kind = iso_kind_of(writer->history, operation);
    iso_output_format(writer->output, writer->json ? "[\"%s\"," : "[:%s ", names[kind]);
    put_atom(writer, writer->history->keys.atom[writer->history->ops.key[operation]]);
    iso_output_char(writer->output, writer->json ? ',' : ' ');
    if (invocation && !iso_kind_writes(kind))
        put_atom(writer, ISO_ABSENT);
    else
        put_value(writer, operation);
    iso_output_char(writer->output, ']');
}

/* `time`: 1 + nanoseconds, 0: not known. */
static void put_line(struct elle_writer *writer, uint32_t t, uint32_t process, const char *type,
                     bool reads_known, uint64_t time)
{
    const struct iso_history *history = writer->history;
    const char *form =
        writer->json ? "%s{\"type\":\"%s\",\"f\":\"txn\",\"process\":%" PRIu32 ",\"index\":%" PRIu64
                     : "%s{:type :%s, :f :txn, :process %" PRIu32 ", :index %" PRIu64;
    iso_output_format(writer->output, form, writer->json && writer->index ? ",\n" : "", type,
                      process, writer->index);
    writer->index++;
    if (time)
        iso_output_format(writer->output, writer->json ? ",\"time\":%" PRIu64 : ", :time %" PRIu64,
                          time - 1);
    iso_output_text(writer->output, writer->json ? ",\"value\":[" : ", :value [");
    ISO_EACH(o, history->txns.first_op, t) {
        if (o > history->txns.first_op[t])
            iso_output_char(writer->output, writer->json ? ',' : ' ');
        put_mop(writer, o, !reads_known);
    }
    iso_output_text(writer->output, writer->json ? "]}" : "]}\n");
}

/* The process of the transaction at a place of its session. */
static uint32_t process_of(struct elle_writer *writer, uint32_t t, uint32_t position)
{
    uint32_t session = writer->history->txns.session[t];
    if (iso_status_of(writer->history, t) != ISO_UNKNOWN)
        return session;
    if (position >= writer->last[session]) {
        writer->last[session] = ISO_NONE;
        return session;
    }
    writer->loss->unknown_moved++;
    return writer->processes++;
}

static void put_transaction(struct elle_writer *writer, uint32_t t, uint32_t position)
{
    static const char *const types[] = {"ok", "fail", "info"};
    const struct iso_history *history = writer->history;
    uint8_t status = iso_status_of(history, t);
    uint32_t process = process_of(writer, t, position);
    put_line(writer, t, process, "invoke", false, history->txns.begun ? history->txns.begun[t] : 0);
    put_line(writer, t, process, types[status], status == ISO_COMMITTED,
             history->txns.ended ? history->txns.ended[t] : 0);
    writer->loss->timestamps += (history->txns.flags[t] & ISO_HAS_STS) != 0;
    writer->loss->tids++;
}

static const char *unsayable(const struct elle_writer *writer, uint32_t operation)
{
    const struct iso_history *history = writer->history;
    uint32_t key = history->ops.key[operation];
    if (iso_kind_of(history, operation) == ISO_READ_LIST ||
        iso_kind_of(history, operation) == ISO_APPEND)
        return writer->initial[key] == ISO_ABSENT ? NULL : "a list starts with elements";
    bool starts = history->ops.value[operation] == writer->initial[key];
    if (iso_kind_writes(history->ops.kind[operation]) && starts)
        return "the transaction writes the value that the key starts with";
    return !starts && history->ops.value[operation] == ISO_ABSENT
               ? "nothing is written or read of a key that starts with a value"
               : NULL;
}

/* Everything starts as nil or [] there, and nobody writes nil. */
static enum iso_status check(const struct elle_writer *writer, enum iso_format format,
                             struct iso_error *error)
{
    const struct iso_history *history = writer->history;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        ISO_EACH(o, history->txns.first_op, t) {
            const char *what = unsayable(writer, o);
            if (what)
                return plain_refuse(history, t, format, what, error);
        }
    }
    return ISO_OK;
}

/* The last place of each session that did not stay unknown. */
static void find_last(struct elle_writer *writer)
{
    const struct iso_history *history = writer->history;
    for (uint32_t s = 0; s < history->sessions.count; s++) {
        ISO_EACH(i, history->sessions.first, s) {
            if (iso_status_of(history, history->sessions.order[i]) != ISO_UNKNOWN)
                writer->last[s] = i - history->sessions.first[s];
        }
    }
}

/* Each session's transactions in session order, in the places of the input that the session has. */
static void put_transactions(struct elle_writer *writer)
{
    const struct iso_history *history = writer->history;
    find_last(writer);
    iso_output_text(writer->output, writer->json ? "[" : "");
    for (uint32_t i = 0; i < history->txns.count; i++) {
        uint32_t session = history->txns.session[i], position = writer->next[session]++;
        put_transaction(
            writer, history->sessions.order[history->sessions.first[session] + position], position);
    }
    iso_output_text(writer->output, writer->json ? "]\n" : "");
}

enum iso_status write_elle(struct iso_history_writer *writer, const struct iso_history *history,
                           struct iso_error *error)
{
    size_t sessions = (size_t)history->sessions.count + 1;
    struct elle_writer elle = {.output = writer->output,
                               .history = history,
                               .loss = &writer->loss,
                               .json = writer->format == ISO_FORMAT_ELLE_JSON,
                               .processes = history->sessions.count};
    iso_atom *initial = plain_initial_values(history);
    elle.initial = initial;
    elle.next = iso_allocate_zeroed(sessions, sizeof *elle.next);
    elle.last = iso_allocate_zeroed(sessions, sizeof *elle.last);
    enum iso_status status = check(&elle, writer->format, error);
    if (status == ISO_OK) {
        put_transactions(&elle);
        writer->count += history->txns.count;
    }
    ISO_FREE_ALL(elle.next, elle.last, initial);
    return status;
}
