/* The text formats without a library of their own: one operation a line, AWDIT's, .hist, newer
 * dbcop's JSON. */
#include <inttypes.h>

#include "formats/plain.h"
#include "formats/write_history_private.h"

#define LITERAL(output, text) iso_output_bytes(output, text, sizeof text - 1)

/* How a format writes: what stands around sessions, transactions and operations. */
struct style {
    void (*begin)(struct iso_output *output, const struct plain *plain, uint32_t position,
                  bool first);
    void (*operation)(struct iso_output *output, const struct plain *plain, uint32_t position,
                      uint32_t operation, bool first);
    void (*end)(struct iso_output *output, const struct plain *plain, uint32_t position, bool last);
    const char *head, *tail;
    unsigned abilities;
};

static bool writes(const struct plain *plain, uint32_t operation)
{
    return iso_kind_writes(plain->history->ops.kind[operation]);
}

static bool aborted(const struct plain *plain, uint32_t position)
{
    return iso_status_of(plain->history, plain->positions[position].transaction) == ISO_ABORTED;
}

static void nothing(struct iso_output *output, const struct plain *plain, uint32_t position,
                    bool edge)
{
    (void)output, (void)plain, (void)position, (void)edge;
}

/* ---- w(key,value,session,txn) ---- */

static void text_operation(struct iso_output *output, const struct plain *plain, uint32_t position,
                           uint32_t operation, bool first)
{
    uint64_t value;
    (void)first;
    plain_value(plain, operation, &value);
    iso_output_format(output, "%c(%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",",
                      writes(plain, operation) ? 'w' : 'r', plain_key(plain, operation), value,
                      plain->positions[position].session);
    if (aborted(plain, position))
        LITERAL(output, "-1)\n");
    else
        iso_output_format(output, "%" PRIu64 ")\n",
                          plain_tid(plain, plain->positions[position].transaction));
}

/* ---- AWDIT ---- */

static void awdit_begin(struct iso_output *output, const struct plain *plain, uint32_t position,
                        bool first)
{
    if (position)
        iso_output_text(output, first ? "=====\n" : "-----\n");
    (void)plain;
}

static void awdit_operation(struct iso_output *output, const struct plain *plain, uint32_t position,
                            uint32_t operation, bool first)
{
    uint64_t value;
    (void)position, (void)first;
    plain_value(plain, operation, &value);
    iso_output_format(output, "%c %" PRIu64 " %" PRIu64 "\n", writes(plain, operation) ? 'w' : 'r',
                      plain_key(plain, operation), value);
}

/* ---- .hist ---- */

static void hist_begin(struct iso_output *output, const struct plain *plain, uint32_t position,
                       bool first)
{
    iso_output_text(output, position && first ? "---\n[" : "[");
    (void)plain;
}

static void hist_operation(struct iso_output *output, const struct plain *plain, uint32_t position,
                           uint32_t operation, bool first)
{
    uint64_t value;
    (void)position;
    iso_output_format(output, "%s%" PRIu64 "%s", first ? "" : " ", plain_key(plain, operation),
                      writes(plain, operation) ? ":=" : "==");
    if (plain_value(plain, operation, &value))
        iso_output_number(output, value);
    else
        iso_output_char(output, '?');
}

static void hist_end(struct iso_output *output, const struct plain *plain, uint32_t position,
                     bool last)
{
    (void)last;
    iso_output_text(output, aborted(plain, position) ? "]!\n" : "]\n");
}

/* ---- newer dbcop's JSON ---- */

static void json_begin(struct iso_output *output, const struct plain *plain, uint32_t position,
                       bool first)
{
    (void)plain;
    if (position)
        iso_output_text(output, ",\n");
    iso_output_text(output, first ? "[{\"events\":[" : " {\"events\":[");
}

static void json_operation(struct iso_output *output, const struct plain *plain, uint32_t position,
                           uint32_t operation, bool first)
{
    uint64_t value;
    (void)position;
    iso_output_format(output, "%s{\"%s\":{\"variable\":%" PRIu64 ",\"version\":", first ? "" : ",",
                      writes(plain, operation) ? "Write" : "Read", plain_key(plain, operation));
    if (plain_value(plain, operation, &value))
        iso_output_number(output, value);
    else
        LITERAL(output, "null");
    LITERAL(output, "}}");
}

static void json_end(struct iso_output *output, const struct plain *plain, uint32_t position,
                     bool last)
{
    iso_output_format(output, "],\"committed\":%s}%s", aborted(plain, position) ? "false" : "true",
                      last ? "]" : "");
}

/* ---- all of them ---- */

static const struct style *style_of(enum iso_format format)
{
    static const struct style text = {nothing, text_operation, nothing, "", "", PLAIN_ABORTED};
    static const struct style awdit = {awdit_begin, awdit_operation, nothing, "", "", 0};
    static const struct style hist = {hist_begin, hist_operation, hist_end, "", "", PLAIN_ABORTED};
    static const struct style json = {json_begin, json_operation, json_end,
                                      "[",        "]\n",          PLAIN_ABORTED};
    switch (format) {
    case ISO_FORMAT_TEXT:
        return &text;
    case ISO_FORMAT_AWDIT:
        return &awdit;
    case ISO_FORMAT_HIST:
        return &hist;
    default:
        return &json;
    }
}

/* Returns how many operations are there. */
static uint32_t write_transaction(struct iso_output *output, const struct style *style,
                                  const struct plain *plain, uint32_t position)
{
    const struct iso_history *history = plain->history;
    uint32_t t = plain->positions[position].transaction;
    uint32_t count = 0;
    style->begin(output, plain, position, plain_starts_session(plain, position));
    ISO_EACH(o, history->txns.first_op, t) {
        if (!plain_says(plain, t, o))
            continue;
        style->operation(output, plain, position, o, count == 0);
        count++;
    }
    style->end(output, plain, position,
               position + 1 == plain->position_count || plain_starts_session(plain, position + 1));
    return count;
}

enum iso_status write_text(struct iso_history_writer *writer, const struct iso_history *history,
                           struct iso_error *error)
{
    struct plain plain;
    const struct style *style = style_of(writer->format);
    enum iso_status status =
        plain_init(&plain, history, writer->format, style->abilities, &writer->loss, error);
    if (status == ISO_OK) {
        iso_output_text(writer->output, style->head);
        bool keeps_empty = style->begin == hist_begin || style->begin == json_begin;
        for (uint32_t i = 0; i < plain.position_count; i++)
            writer->loss.empty +=
                write_transaction(writer->output, style, &plain, i) == 0 && !keeps_empty;
        iso_output_text(writer->output, style->tail);
        writer->count += plain.position_count;
        writer->loss.tids =
            writer->format != ISO_FORMAT_TEXT || plain.rename_tids ? plain.position_count : 0;
    }
    plain_release(&plain);
    return status;
}
