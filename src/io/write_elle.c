/* Elle's EDN and JSON: each transaction as an invocation and its completion, one a line. A session is a process; one of
 * unknown outcome gets a process of its own, since Jepsen's threads never go on after :info. The order of lines is that of
 * the history's input, which says nothing about real time.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "io/plain.h"

#define LITERAL(output, text) iso_output_bytes(output, text, sizeof text - 1)

struct elle_writer {
    struct iso_output *output;
    const struct iso_history *history;
    struct iso_history_loss *loss;
    const iso_atom *initial; /* by key */
    bool json;
    uint64_t index;     /* of the next line */
    uint32_t processes; /* taken */
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
        iso_atom value = history->value[operation];
        put_atom(writer, value == writer->initial[history->key[operation]] ? ISO_ABSENT : value);
        return;
    }
    uint32_t list = history->value[operation];
    iso_output_char(writer->output, '[');
    for (uint64_t i = history->list_first[list]; i < history->list_first[list + 1]; i++) {
        if (i > history->list_first[list])
            iso_output_char(writer->output, writer->json ? ',' : ' ');
        put_atom(writer, history->element[i]);
    }
    iso_output_char(writer->output, ']');
}

/* [:r x 1]; an invocation does not know yet what it reads. */
static void put_mop(struct elle_writer *writer, uint32_t operation, bool invocation)
{
    static const char *const names[] = {"r", "w", "w", "append", "r"};
    uint8_t kind = iso_kind_of(writer->history, operation);
    iso_output_format(writer->output, writer->json ? "[\"%s\"," : "[:%s ", names[kind]);
    put_atom(writer, writer->history->key_atom[writer->history->key[operation]]);
    iso_output_char(writer->output, writer->json ? ',' : ' ');
    if (invocation && !iso_kind_writes(kind))
        put_atom(writer, ISO_ABSENT);
    else
        put_value(writer, operation);
    iso_output_char(writer->output, ']');
}

static void put_line(struct elle_writer *writer, uint32_t t, uint32_t process, const char *type, bool reads_known)
{
    const struct iso_history *history = writer->history;
    const char *form = writer->json
                           ? "%s{\"type\":\"%s\",\"f\":\"txn\",\"process\":%" PRIu32 ",\"index\":%" PRIu64 ",\"value\":["
                           : "%s{:type :%s, :f :txn, :process %" PRIu32 ", :index %" PRIu64 ", :value [";
    iso_output_format(writer->output, form, writer->json && writer->index ? ",\n" : "", type, process, writer->index);
    writer->index++;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        if (o > history->first_operation[t])
            iso_output_char(writer->output, writer->json ? ',' : ' ');
        put_mop(writer, o, !reads_known);
    }
    iso_output_text(writer->output, writer->json ? "]}" : "]}\n");
}

static void put_transaction(struct elle_writer *writer, uint32_t t)
{
    static const char *const types[] = {"ok", "fail", "info"};
    const struct iso_history *history = writer->history;
    uint8_t status = iso_status_of(history, t);
    uint32_t process = status == ISO_UNKNOWN ? writer->processes++ : history->session[t];
    put_line(writer, t, process, "invoke", false);
    put_line(writer, t, process, types[status], status == ISO_COMMITTED);
    writer->loss->timestamps += (history->flags[t] & ISO_HAS_STS) != 0;
    writer->loss->tids++;
}

static const char *unsayable(const struct elle_writer *writer, uint32_t operation)
{
    const struct iso_history *history = writer->history;
    uint32_t key = history->key[operation];
    if (iso_kind_of(history, operation) == ISO_READ_LIST || iso_kind_of(history, operation) == ISO_APPEND)
        return writer->initial[key] == ISO_ABSENT ? NULL : "a list starts with elements";
    bool starts = history->value[operation] == writer->initial[key];
    if (iso_kind_writes(history->kind[operation]) && starts)
        return "the transaction writes the value that the key starts with";
    return !starts && history->value[operation] == ISO_ABSENT ? "nothing is written or read of a key that starts with a value"
                                                              : NULL;
}

/* Everything starts as nil or [] there, and nobody writes nil. */
static enum iso_status check(const struct elle_writer *writer, enum iso_format format, struct iso_error *error)
{
    const struct iso_history *history = writer->history;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            const char *what = unsayable(writer, o);
            if (what)
                return plain_refuse(history, t, format, what, error);
        }
    }
    return ISO_OK;
}

/* The transaction that stands in place `t`: each session's in session order, in the places that the session has. */
static uint32_t in_session_order(const struct iso_history *history, uint32_t *next, uint32_t t)
{
    uint32_t session = history->session[t];
    return history->session_order[history->session_first[session] + next[session]++];
}

enum iso_status write_elle(struct iso_history_writer *writer, const struct iso_history *history, struct iso_error *error)
{
    struct elle_writer elle = {.output = writer->output,
                               .history = history,
                               .loss = &writer->loss,
                               .json = writer->format == ISO_FORMAT_ELLE_JSON,
                               .processes = history->session_count};
    iso_atom *initial = plain_initial_values(history);
    uint32_t *next = iso_allocate_zeroed((size_t)history->session_count + 1, sizeof *next);
    elle.initial = initial;
    enum iso_status status = check(&elle, writer->format, error);
    if (status == ISO_OK) {
        iso_output_text(elle.output, elle.json ? "[" : "");
        for (uint32_t t = 0; t < history->transaction_count; t++)
            put_transaction(&elle, in_session_order(history, next, t));
        iso_output_text(elle.output, elle.json ? "]\n" : "");
        writer->count += history->transaction_count;
    }
    iso_free(next);
    iso_free(initial);
    return status;
}
