#include "tests/support/decoding.h"

#include "base/memory.h"
#include "base/text.h"
#include "tests/support/test.h"

void decoding_start(struct decoding *decoding, const struct iso_decoder_class *class,
                    const struct iso_decoder_options *options)
{
    *decoding = (struct decoding){0};
    iso_events_init(&decoding->events);
    decoding->decoder = class->create(options, &decoding->error);
    assert_string_equal(decoding->error.text, "");
    assert_non_null(decoding->decoder);
}

void decoding_end(struct decoding *decoding)
{
    decoding->decoder->class->destroy(decoding->decoder);
    iso_events_release(&decoding->events);
    iso_free(decoding->text);
}

const char *decoding_refused(const struct iso_decoder_class *class,
                             const struct iso_decoder_options *options)
{
    static struct iso_error error;
    error = (struct iso_error){0};
    assert_null(class->create(options, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    return error.text;
}

static void put_atom(struct iso_text *text, const struct iso_atoms *atoms, iso_atom atom,
                     const char *absent)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        iso_text_put(text, absent);
        return;
    }
    const char *bytes = iso_atom_text(atoms, atom, buffer, &length);
    iso_text_put_bytes(text, bytes, length);
}

static void put_stamps(struct iso_text *text, const struct iso_event *event)
{
    if (event->flags & ISO_EVENT_HAS_STS) {
        iso_text_put(text, " sts ");
        iso_text_put_unsigned(text, event->sts.physical);
    }
    if (event->flags & ISO_EVENT_HAS_CTS) {
        iso_text_put(text, " cts ");
        iso_text_put_unsigned(text, event->cts.physical);
    }
}

static void put_unreported(struct iso_text *text, const struct iso_event *event)
{
    if (event->flags & ISO_EVENT_UNREPORTED)
        iso_text_put(text, " unreported");
}

static void put_row(struct iso_text *text, const struct iso_atoms *atoms,
                    const struct iso_event *event)
{
    static const char *const operations[] = {"insert ", "update ", "delete ", "snapshot "};
    iso_text_put(text, operations[event->operation]);
    put_atom(text, atoms, event->key, "NO KEY");
    iso_text_put(text, ": ");
    put_atom(text, atoms, event->before, event->flags & ISO_EVENT_HAS_BEFORE ? "-" : "?");
    iso_text_put(text, " -> ");
    put_atom(text, atoms, event->after, event->flags & ISO_EVENT_HAS_AFTER ? "-" : "?");
}

static void put_event(struct iso_text *text, const struct iso_atoms *atoms,
                      const struct iso_event *event)
{
    static const char *const names[] = {[ISO_EVENT_TRANSACTIONS] = "TRANSACTIONS ",
                                        [ISO_EVENT_ROW] = "ROW ",
                                        [ISO_EVENT_CELL] = "CELL ",
                                        [ISO_EVENT_COLUMN] = "COLUMN ",
                                        [ISO_EVENT_BEGIN] = "BEGIN ",
                                        [ISO_EVENT_END] = "END ",
                                        [ISO_EVENT_COUNTED] = "COUNTED ",
                                        [ISO_EVENT_WATERMARK] = "WATERMARK ",
                                        [ISO_EVENT_DROP] = "DROP ",
                                        [ISO_EVENT_DELETE_IF] = "DELETE_IF ",
                                        [ISO_EVENT_HEARTBEAT] = "HEARTBEAT ",
                                        [ISO_EVENT_SCHEMA] = "SCHEMA ",
                                        [ISO_EVENT_COLLECTION] = "COLLECTION ",
                                        [ISO_EVENT_IGNORED] = "IGNORED "};
    iso_text_put(text, names[event->type]);
    if (event->type == ISO_EVENT_ROW || event->type == ISO_EVENT_CELL) {
        put_row(text, atoms, event);
    } else if (event->type == ISO_EVENT_WATERMARK) {
        assert_true(event->flags & ISO_EVENT_HAS_CTS);
        iso_text_put_unsigned(text, event->cts.physical);
    } else if (event->type == ISO_EVENT_DELETE_IF) {
        put_atom(text, atoms, event->key, "NO KEY");
        iso_text_put(text, ": ");
        put_atom(text, atoms, event->before, "-");
    } else if (event->type == ISO_EVENT_DROP || event->type == ISO_EVENT_SCHEMA ||
               event->type == ISO_EVENT_COLLECTION) {
        put_atom(text, atoms, event->table, "*");
    } else if (event->type == ISO_EVENT_COLUMN) {
        put_atom(text, atoms, event->key, "NO KEY");
    } else if (event->type == ISO_EVENT_IGNORED) {
        iso_text_put(text, event->reason);
    }
    put_unreported(text, event);
    if (event->type != ISO_EVENT_WATERMARK && event->type != ISO_EVENT_IGNORED)
        put_stamps(text, event);
    iso_text_put(text, "\n");
}

char *decoding_describe(const struct iso_events *events)
{
    struct iso_text text = {0};
    for (uint32_t i = 0; i < events->count; i++)
        put_event(&text, &events->block.atoms, &events->list[i]);
    *iso_text_reserve(&text, 1) = 0;
    return text.bytes;
}

const char *decoding_of(struct decoding *decoding, const void *key, size_t key_size,
                        const void *payload, size_t size)
{
    struct iso_message message = {.topic = "t",
                                  .input = 3,
                                  .offset = 41,
                                  .key = {key, (uint32_t)key_size},
                                  .payload = {payload, (uint32_t)size}};
    iso_events_clear(&decoding->events);
    decoding->error = (struct iso_error){0};
    enum iso_status status = decoding->decoder->class->decode(decoding->decoder, &message,
                                                              &decoding->events, &decoding->error);
    iso_free(decoding->text);
    if (status == ISO_OK) {
        assert_string_equal(decoding->error.text, "");
        assert_true(decoding->events.count > 0);
        for (uint32_t i = 0; i < decoding->events.count; i++)
            assert_true(decoding->events.list[i].origin == iso_origin(3, 41));
        return decoding->text = decoding_describe(&decoding->events);
    }
    assert_int_equal(status, decoding->error.status);
    assert_int_equal(decoding->events.count, 0);
    struct iso_text text = {0};
    iso_text_put(&text, status == ISO_BAD_INPUT ? "ERROR " : "FAILED ");
    iso_text_put(&text, decoding->error.text);
    iso_text_put_bytes(&text, "\n", 2);
    return decoding->text = text.bytes;
}

const char *decoding_of_text(struct decoding *decoding, const char *payload)
{
    return decoding_of(decoding, NULL, 0, payload, payload ? strlen(payload) : 0);
}
