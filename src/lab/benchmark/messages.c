#define _GNU_SOURCE
#include "benchmark/messages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "generate/generate.h"
#include "formats/write_history.h"
#include "connectors/history/write_record.h"

struct sink {
    struct bench_messages *messages;
    enum bench_encoding encoding;
    struct iso_output lines; /* JSON: a file in memory */
    struct iso_history_writer writer;
    size_t timed; /* transactions whose cts is noted */
    struct iso_error *error;
};

static void add_message(struct bench_messages *messages, const char *data, size_t size)
{
    ISO_GROW(messages->list, messages->count, messages->capacity);
    messages->list[messages->count] =
        (struct iso_message){.topic = "generated",
                             .broker = -1,
                             .offset = messages->count,
                             .payload = {(const uint8_t *)data, (uint32_t)size}};
    messages->count++;
    messages->bytes += size;
}

/* A transaction without a cts, which only reads, has that of the one before. */
static void note_transactions(struct sink *sink, const struct iso_history *block)
{
    struct bench_messages *messages = sink->messages;
    size_t count = sink->timed + block->txns.count;
    messages->cts = iso_reallocate(messages->cts, count * sizeof *messages->cts);
    messages->session = iso_reallocate(messages->session, count * sizeof *messages->session);
    for (uint32_t t = 0; t < block->txns.count; t++, sink->timed++) {
        uint64_t before = sink->timed ? messages->cts[sink->timed - 1] : 0,
                 cts = block->txns.cts[t];
        messages->cts[sink->timed] = cts > before ? cts : before;
        /* a small number: its own atom */
        messages->session[sink->timed] = block->sessions.atom[block->txns.session[t]];
    }
}

static bool encode_transaction(void *context, const struct iso_history *block)
{
    struct sink *sink = context;
    note_transactions(sink, block);
    struct iso_text *text = &sink->messages->payloads;
    sink->messages->operations += block->ops.count;
    if (sink->encoding == BENCH_JSON)
        return iso_history_writer_add(&sink->writer, block, sink->error) == ISO_OK &&
               !sink->lines.error;
    for (uint32_t t = 0; t < block->txns.count; t++) {
        size_t start = text->used;
        if (sink->encoding == BENCH_PROTOBUF)
            iso_record_write_protobuf(block, t, text);
        /* generated timestamps fit */
        else
            iso_record_write_avro(block, t, text);
        add_message(sink->messages, NULL, text->used - start);
    }
    return true;
}

/* The lines that were written, each a message. */
static enum iso_status take_lines(struct bench_messages *messages, int file,
                                  struct iso_error *error)
{
    off_t size = lseek(file, 0, SEEK_END);
    char *text = iso_text_reserve(&messages->payloads, (size_t)size);
    for (off_t done = 0; done < size;) {
        ssize_t got = pread(file, text + done, (size_t)(size - done), done);
        if (got <= 0)
            return iso_error_set(error, ISO_FAILED, "a file in memory: %s",
                                 got ? strerror(errno) : "too short");
        done += got;
    }
    messages->payloads.used = (size_t)size;
    for (const char *at = text, *end = text + size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        add_message(messages, at, (size_t)(newline - at));
        at = newline + 1;
    }
    return ISO_OK;
}

static void generate_messages(struct sink *sink, const struct bench *bench)
{
    struct iso_generated generated;
    iso_generate(&bench->generate, encode_transaction, sink, &generated);
    iso_generated_release(&generated);
}

static enum iso_status generate_lines(struct sink *sink, const struct bench *bench)
{
    int file = memfd_create("isochron-bench", MFD_CLOEXEC);
    if (file < 0)
        return iso_error_set(sink->error, ISO_FAILED, "a file in memory could not be created: %s",
                             strerror(errno));
    iso_output_to(&sink->lines, file, "a file in memory");
    iso_history_writer_init(&sink->writer, &sink->lines, ISO_FORMAT_NATIVE);
    generate_messages(sink, bench);
    iso_history_writer_end(&sink->writer);
    if (iso_output_close(&sink->lines, sink->error) == ISO_OK)
        take_lines(sink->messages, file, sink->error);
    close(file);
    return sink->error->status;
}

/* The text has come to rest: where each payload is. */
static void find_payloads(struct bench_messages *messages)
{
    const uint8_t *at = (const uint8_t *)messages->payloads.bytes;
    for (uint32_t i = 0; i < messages->count; i++) {
        messages->list[i].payload.data = at;
        at += messages->list[i].payload.size;
    }
}

enum iso_status bench_messages_init(struct bench_messages *messages, const struct bench *bench,
                                    enum bench_encoding encoding, struct iso_error *error)
{
    struct sink sink = {.messages = messages, .encoding = encoding, .error = error};
    *messages = (struct bench_messages){0};
    if (encoding == BENCH_JSON)
        return generate_lines(&sink, bench);
    generate_messages(&sink, bench);
    find_payloads(messages);
    return ISO_OK;
}

void bench_messages_release(struct bench_messages *messages)
{
    ISO_FREE_ALL(messages->list, messages->cts, messages->session);
    iso_text_release(&messages->payloads);
    *messages = (struct bench_messages){0};
}
