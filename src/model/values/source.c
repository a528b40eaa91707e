#include "values/source.h"

#include "base/memory.h"

void iso_events_init(struct iso_events *events)
{
    *events = (struct iso_events){0};
    iso_history_init(&events->block);
}

void iso_events_release(struct iso_events *events)
{
    iso_history_release(&events->block);
    iso_free(events->list);
    *events = (struct iso_events){0};
}

void iso_events_clear(struct iso_events *events)
{
    iso_history_clear(&events->block);
    events->count = 0;
}

static struct iso_event *next_event(struct iso_events *events)
{
    ISO_GROW(events->list, events->count, events->capacity);
    return &events->list[events->count++];
}

void iso_events_add(struct iso_events *events, const struct iso_event *event)
{
    *next_event(events) = *event;
}

void iso_events_add_transaction(struct iso_events *events, uint32_t index, uint64_t origin)
{
    struct iso_event *last = events->count ? &events->list[events->count - 1] : NULL;
    if (last && last->type == ISO_EVENT_TRANSACTIONS && last->first + last->count == index)
        last->count++;
    else
        iso_events_add(events, &(struct iso_event){.type = ISO_EVENT_TRANSACTIONS,
                                                   .first = index,
                                                   .count = 1,
                                                   .origin = origin});
}

static inline void start(struct iso_event *event, const struct iso_message *message,
                         enum iso_event_type type)
{
    *event = (struct iso_event){.type = (uint8_t)type,
                                .source = ISO_ABSENT,
                                .table = ISO_ABSENT,
                                .key = ISO_ABSENT,
                                .before = ISO_ABSENT,
                                .after = ISO_ABSENT,
                                .transaction_id = ISO_ABSENT,
                                .marker = ISO_ABSENT,
                                .origin = iso_origin(message->input, (uint64_t)message->offset)};
}

struct iso_event iso_event_of(const struct iso_message *message, enum iso_event_type type)
{
    struct iso_event event;
    start(&event, message, type);
    return event;
}

struct iso_event *iso_events_start(struct iso_events *events, const struct iso_message *message,
                                   enum iso_event_type type)
{
    struct iso_event *event = next_event(events);
    start(event, message, type);
    return event;
}

void iso_events_unreported(struct iso_events *events, uint32_t first)
{
    for (uint32_t i = first; i < events->count; i++) {
        struct iso_event *event = &events->list[i];
        if (event->type == ISO_EVENT_ROW || event->type == ISO_EVENT_CELL ||
            event->type == ISO_EVENT_DROP || event->type == ISO_EVENT_DELETE_IF)
            event->flags |= ISO_EVENT_UNREPORTED;
    }
}
