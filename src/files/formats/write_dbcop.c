/* dbcop's bincode: little-endian numbers of 8 bytes; see dbcop.c. */
#include <string.h>

#include "formats/plain.h"
#include "formats/write_history_private.h"

static void put_number(struct iso_output *output, uint64_t number)
{
    iso_output_bytes(output, (const char *)&number, sizeof number);
}

static void put_text(struct iso_output *output, const char *text)
{
    put_number(output, strlen(text));
    iso_output_text(output, text);
}

/* The times are those of nothing: a history does not know when it was recorded. */
static void put_header(struct iso_output *output, const struct plain *plain)
{
    put_number(output, 0);
    put_number(output, plain->session_count);
    put_number(output, plain->history->keys.count);
    put_number(output, plain->position_count);
    put_number(output, plain->history->ops.count);
    put_text(output, "converted by isochron");
    put_text(output, "1970-01-01T00:00:00+00:00");
    put_text(output, "1970-01-01T00:00:00+00:00");
    put_number(output, plain->session_count);
}

static void put_event(struct iso_output *output, const struct plain *plain, uint32_t operation)
{
    uint64_t value;
    plain_value(plain, operation, &value);
    iso_output_char(output, iso_kind_writes(plain->history->ops.kind[operation]) ? 1 : 0);
    put_number(output, plain_key(plain, operation));
    put_number(output, value);
    iso_output_char(output, 1);
}

static void put_transaction(struct iso_output *output, const struct plain *plain, uint32_t t)
{
    const struct iso_history *history = plain->history;
    uint64_t count = 0;
    ISO_EACH(o, history->txns.first_op, t)
        count += plain_says(plain, t, o);
    put_number(output, count);
    ISO_EACH(o, history->txns.first_op, t) {
        if (plain_says(plain, t, o))
            put_event(output, plain, o);
    }
    iso_output_char(output, iso_status_of(history, t) == ISO_ABORTED ? 0 : 1);
}

static uint64_t session_length(const struct plain *plain, uint32_t position)
{
    uint32_t end = position + 1;
    while (end < plain->position_count && !plain_starts_session(plain, end))
        end++;
    return end - position;
}

enum iso_status write_dbcop(struct iso_history_writer *writer, const struct iso_history *history,
                            struct iso_error *error)
{
    struct plain plain;
    enum iso_status status =
        plain_init(&plain, history, writer->format, PLAIN_REWRITES_INITIAL | PLAIN_ABORTED,
                   &writer->loss, error);
    if (status == ISO_OK) {
        put_header(writer->output, &plain);
        for (uint32_t i = 0; i < plain.position_count; i++) {
            if (plain_starts_session(&plain, i))
                put_number(writer->output, session_length(&plain, i));
            put_transaction(writer->output, &plain, plain.positions[i].transaction);
        }
        writer->count += plain.position_count;
        writer->loss.tids = plain.position_count;
    }
    plain_release(&plain);
    return status;
}
