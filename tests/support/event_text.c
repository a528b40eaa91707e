#include "tests/support/event_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct line {
    const struct iso_atoms *atoms;
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->used, line->size - line->used, format, arguments);
    va_end(arguments);
    line->used +=
        (size_t)length < line->size - line->used ? (size_t)length : line->size - line->used - 1;
}

static void put_atom(struct line *line, const char *before, iso_atom atom)
{
    char digits[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        put(line, "%s-", before);
    } else {
        const char *text = iso_atom_text(line->atoms, atom, digits, &length);
        put(line, "%s%.*s", before, (int)length, text);
    }
}

static void put_row(struct line *line, const struct iso_event *event)
{
    put(line, "%s %c", event->type == ISO_EVENT_CELL ? "cell" : "row", "cudr"[event->operation]);
    put_atom(line, " ", event->source);
    put_atom(line, " ", event->table);
    put_atom(line, " ", event->key);
    if (event->flags & ISO_EVENT_HAS_BEFORE)
        put_atom(line, " before ", event->before);
    if (event->flags & ISO_EVENT_HAS_AFTER)
        put_atom(line, " after ", event->after);
    else
        put(line, " after ?");
}

static void put_kind(struct line *line, const struct iso_event *event)
{
    static const char *const names[] = {
        [ISO_EVENT_BEGIN] = "begin",         [ISO_EVENT_END] = "end",
        [ISO_EVENT_COUNTED] = "counted",     [ISO_EVENT_WATERMARK] = "watermark",
        [ISO_EVENT_DROP] = "drop",           [ISO_EVENT_DELETE_IF] = "delete-if",
        [ISO_EVENT_HEARTBEAT] = "heartbeat", [ISO_EVENT_COLLECTION] = "collection",
        [ISO_EVENT_SCHEMA] = "schema"};
    switch (event->type) {
    case ISO_EVENT_TRANSACTIONS:
        put(line, "transactions %u+%u", event->first, event->count);
        break;
    case ISO_EVENT_ROW:
    case ISO_EVENT_CELL:
        put_row(line, event);
        break;
    case ISO_EVENT_COLUMN:
        put(line, "column");
        put_atom(line, " ", event->key);
        break;
    case ISO_EVENT_IGNORED:
        put(line, "ignored: %s", event->reason);
        break;
    default:
        put(line, "%s", names[event->type]);
    }
    if (event->type == ISO_EVENT_DROP || event->type == ISO_EVENT_SCHEMA ||
        event->type == ISO_EVENT_COLLECTION)
        put_atom(line, " ", event->table);
}

void event_text(const struct iso_events *events, char *text, size_t size)
{
    struct line line = {&events->block.atoms, text, size, 0};
    text[0] = 0;
    for (uint32_t i = 0; i < events->count; i++) {
        const struct iso_event *event = &events->list[i];
        put(&line, "%s", i ? "\n" : "");
        put_kind(&line, event);
        if (event->flags & ISO_EVENT_IN_BAND)
            put(&line, " in-band");
        if (event->flags & ISO_EVENT_ALONE)
            put(&line, " alone");
        if (event->flags & ISO_EVENT_EPOCH)
            put(&line, " epoch");
        if (event->flags & ISO_EVENT_EPOCH && event->key != ISO_ABSENT)
            put_atom(&line, " of ", event->key);
        if (event->flags & ISO_EVENT_UNREPORTED)
            put(&line, " unreported");
        if (event->flags & ISO_EVENT_INCREMENTAL)
            put(&line, " incremental");
        if (event->flags & ISO_EVENT_TABLE_ENDS)
            put(&line, " ends-table");
        if (event->flags & ISO_EVENT_SNAPSHOT_ENDS)
            put(&line, " ends-snapshot");
        if (event->flags & ISO_EVENT_SNAPSHOT_XID)
            put(&line, " by %" PRIu64, event->position[0]);
        if (event->flags & ISO_EVENT_HAS_MARKER)
            put_atom(&line, " of ", event->marker);
        if (event->flags & ISO_EVENT_HAS_ID)
            put_atom(&line, " id ", event->transaction_id);
        if (event->flags & ISO_EVENT_HAS_COUNT && event->type != ISO_EVENT_ROW)
            put(&line, " count %u", event->count);
        if (event->flags & ISO_EVENT_HAS_CTS)
            put(&line, " cts %" PRIu64, event->cts.physical);
        if (event->flags & ISO_EVENT_HAS_POSITION)
            put(&line, " at %" PRIu64 ",%" PRIu64, event->position[0], event->position[1]);
        if (event->order)
            put(&line, " #%" PRIu64, event->order);
    }
}
