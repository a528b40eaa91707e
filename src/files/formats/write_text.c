/* The text formats without a library of their own: one operation a line, AWDIT's, .hist, newer
 * dbcop's JSON. */
#include <inttypes.h>

#include "formats/plain.h"
#include "formats/write_history_private.h"

/* How a format writes: what stands around the whole, sessions, transactions and operations; NULL:
 * nothing. */
struct style {
    const char *head, *tail;
    const char *first, *session, *next; /* before a transaction: the first of all, the first of a
                                           session, each other one */
    const char *committed, *aborted;    /* behind one, by its outcome */
    const char *session_end;
    const char *between, *read, *write; /* between operations, and before the key of each */
    const char *sees, *sets;            /* from the key of a read, a write, to the value */
    const char *initial;                /* a value that its key starts with */
    const char *operation_end;
    unsigned abilities;
    bool says_place;  /* behind each operation: ",SESSION,TID" */
    bool keeps_empty; /* a transaction without operations can be seen */
};

static const struct style text_style = {.read = "r(",
                                        .write = "w(",
                                        .sees = ",",
                                        .sets = ",",
                                        .initial = "0",
                                        .operation_end = ")\n",
                                        .abilities = PLAIN_ABORTED,
                                        .says_place = true};

static const struct style awdit_style = {.session = "=====\n",
                                         .next = "-----\n",
                                         .read = "r ",
                                         .write = "w ",
                                         .sees = " ",
                                         .sets = " ",
                                         .initial = "0",
                                         .operation_end = "\n"};

static const struct style hist_style = {.first = "[",
                                        .session = "---\n[",
                                        .next = "[",
                                        .committed = "]\n",
                                        .aborted = "]!\n",
                                        .between = " ",
                                        .sees = "==",
                                        .sets = ":=",
                                        .initial = "?",
                                        .abilities = PLAIN_ABORTED,
                                        .keeps_empty = true};

static const struct style json_style = {.head = "[",
                                        .tail = "]\n",
                                        .first = "[{\"events\":[",
                                        .session = ",\n[{\"events\":[",
                                        .next = ",\n {\"events\":[",
                                        .committed = "],\"committed\":true}",
                                        .aborted = "],\"committed\":false}",
                                        .session_end = "]",
                                        .between = ",",
                                        .read = "{\"Read\":{\"variable\":",
                                        .write = "{\"Write\":{\"variable\":",
                                        .sees = ",\"version\":",
                                        .sets = ",\"version\":",
                                        .initial = "null",
                                        .operation_end = "}}",
                                        .abilities = PLAIN_ABORTED,
                                        .keeps_empty = true};

static const struct style *const styles[ISO_FORMATS] = {[ISO_FORMAT_TEXT] = &text_style,
                                                        [ISO_FORMAT_AWDIT] = &awdit_style,
                                                        [ISO_FORMAT_HIST] = &hist_style,
                                                        [ISO_FORMAT_DBCOP_JSON] = &json_style};

static void put(struct iso_output *output, const char *text)
{
    iso_output_text(output, text ? text : "");
}

static void write_operation(struct iso_output *output, const struct style *style,
                            const struct plain *plain, uint32_t operation)
{
    uint64_t value;
    bool writes = iso_kind_writes(plain->history->ops.kind[operation]);
    put(output, writes ? style->write : style->read);
    iso_output_number(output, plain_key(plain, operation));
    put(output, writes ? style->sets : style->sees);
    if (plain_value(plain, operation, &value))
        iso_output_number(output, value);
    else
        put(output, style->initial);
}

static void write_place(struct iso_output *output, const struct plain *plain,
                        const struct plain_position *place)
{
    iso_output_format(output, ",%" PRIu32 ",", place->session);
    if (iso_status_of(plain->history, place->transaction) == ISO_ABORTED)
        iso_output_text(output, "-1");
    else
        iso_output_format(output, "%" PRIu64, plain_tid(plain, place->transaction));
}

/* Returns how many operations are there. */
static uint32_t write_operations(struct iso_output *output, const struct style *style,
                                 const struct plain *plain, const struct plain_position *place)
{
    uint32_t count = 0;
    ISO_EACH(o, plain->history->txns.first_op, place->transaction) {
        if (!plain_says(plain, place->transaction, o))
            continue;
        put(output, count++ ? style->between : NULL);
        write_operation(output, style, plain, o);
        if (style->says_place)
            write_place(output, plain, place);
        put(output, style->operation_end);
    }
    return count;
}

static uint32_t write_transaction(struct iso_output *output, const struct style *style,
                                  const struct plain *plain, uint32_t position)
{
    const struct plain_position *place = &plain->positions[position];
    bool is_aborted = iso_status_of(plain->history, place->transaction) == ISO_ABORTED;
    bool is_last =
        position + 1 == plain->position_count || plain_starts_session(plain, position + 1);
    put(output, !position                               ? style->first
                : plain_starts_session(plain, position) ? style->session
                                                        : style->next);
    uint32_t count = write_operations(output, style, plain, place);
    put(output, is_aborted ? style->aborted : style->committed);
    put(output, is_last ? style->session_end : NULL);
    return count;
}

enum iso_status write_text(struct iso_history_writer *writer, const struct iso_history *history,
                           struct iso_error *error)
{
    struct plain plain;
    const struct style *style = styles[writer->format];
    enum iso_status status =
        plain_init(&plain, history, writer->format, style->abilities, &writer->loss, error);
    if (status == ISO_OK) {
        put(writer->output, style->head);
        for (uint32_t i = 0; i < plain.position_count; i++)
            writer->loss.empty +=
                write_transaction(writer->output, style, &plain, i) == 0 && !style->keeps_empty;
        put(writer->output, style->tail);
        writer->count += plain.position_count;
        writer->loss.tids =
            writer->format != ISO_FORMAT_TEXT || plain.rename_tids ? plain.position_count : 0;
    }
    plain_release(&plain);
    return status;
}
