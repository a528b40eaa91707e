#define _GNU_SOURCE
#include "app/publish.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "run/input/consume.h"
#include "base/heap.h"
#include "base/memory.h"
#include "base/normal.h"
#include "formats/write_history.h"

enum { FLUSH_SECONDS = 60, FAST_RATE = 1000000 };

/* A record that waits for its time. */
struct record {
    uint64_t cts;
    int32_t partition;
    uint32_t length;
    char text[];
};

struct app_publisher {
    struct app_publish_options options;
    struct iso_kafka_properties properties;
    struct iso_kafka_producer *producer;
    int32_t partitions;
    struct iso_rng rng;
    struct iso_output memory; /* a file in memory, into which the writer writes a block */
    int memory_file;
    struct iso_history_writer writer;
    struct iso_heap waiting;  /* records, by the seconds since the start at which they are due */
    struct iso_history names; /* of no transaction: numbers the sessions of all blocks */
    uint64_t *snos;           /* by session: the next position */
    size_t session_capacity;
    uint64_t taken, sent;
    uint64_t latest; /* cts of what was taken last; nothing that comes later is below */
    double started;
};

struct app_publisher *app_publisher_new(const struct app_publish_options *options,
                                        struct iso_error *error)
{
    struct app_publisher *publisher = iso_allocate_zeroed(1, sizeof *publisher);
    publisher->options = *options;
    iso_history_init(&publisher->names);
    publisher->memory_file = memfd_create("isochron", MFD_CLOEXEC);
    if (publisher->memory_file < 0)
        iso_error_set(error, ISO_FAILED, "a file in memory could not be created");
    else if (run_properties(&publisher->properties, &options->properties, error) == ISO_OK)
        publisher->producer = iso_kafka_producer_new(&publisher->properties, options->topic,
                                                     (int32_t)options->partitions, error);
    iso_output_to(&publisher->memory, publisher->memory_file, "memory");
    iso_history_writer_init(&publisher->writer, &publisher->memory, ISO_FORMAT_NATIVE);
    iso_rng_seed(&publisher->rng, options->seed);
    publisher->started = iso_clock_seconds();
    if (error->status != ISO_OK) {
        app_publisher_close(publisher, NULL, error);
        return NULL;
    }
    publisher->partitions = iso_kafka_producer_partitions(publisher->producer);
    return publisher;
}

/* ---- what waits ---- */

/* Doubles that are not negative have the order of their bits. */
static uint64_t key_of(double due)
{
    uint64_t key;
    memcpy(&key, &due, sizeof key);
    return key;
}

static double due_of(const struct iso_heap_item *item)
{
    double due;
    memcpy(&due, &item->key, sizeof due);
    return due;
}

static struct record *record_of(const struct iso_heap_item *item)
{
    return (struct record *)(uintptr_t)item->value;
}

/* ---- sending ---- */

static enum iso_status send_text(struct app_publisher *publisher, int32_t partition,
                                 const char *text, uint32_t length, struct iso_error *error)
{
    struct iso_message message = {.partition = partition,
                                  .payload = {(const uint8_t *)text, length}};
    return iso_kafka_producer_send(publisher->producer, &message, error);
}

/* The largest timestamp up to which everything was sent, to every partition. */
static enum iso_status send_watermarks(struct app_publisher *publisher, struct iso_error *error)
{
    char text[64];
    uint64_t least = publisher->latest;
    for (uint32_t i = 0; i < publisher->waiting.count; i++) {
        uint64_t cts = record_of(&publisher->waiting.items[i])->cts;
        least = cts < least ? cts : least;
    }
    if (least == 0)
        return ISO_OK;
    uint32_t length = (uint32_t)snprintf(text, sizeof text, "{\"watermark\":\"%llu\"}",
                                         (unsigned long long)least - 1);
    for (int32_t partition = 0; partition < publisher->partitions && error->status == ISO_OK;
         partition++)
        send_text(publisher, partition, text, length, error);
    return error->status;
}

static void sleep_until(double time)
{
    double left = time - iso_clock_seconds();
    if (left <= 0)
        return;
    struct timespec pause = {(time_t)left, (long)((left - floor(left)) * 1e9)};
    nanosleep(&pause, NULL);
}

static enum iso_status send_first(struct app_publisher *publisher, struct iso_error *error)
{
    struct iso_heap_item first = iso_heap_pop(&publisher->waiting);
    struct record *record = record_of(&first);
    if (publisher->options.rate)
        sleep_until(publisher->started + due_of(&first));
    send_text(publisher, record->partition, record->text, record->length, error);
    iso_free(record);
    publisher->sent++;
    if (publisher->options.watermarks && publisher->sent % publisher->options.watermarks == 0 &&
        error->status == ISO_OK)
        send_watermarks(publisher, error);
    return error->status;
}

/* ---- taking ---- */

/* Never negative. */
static double draw_delay(struct app_publisher *publisher)
{
    double deviation = iso_rng_normal(&publisher->rng) * (double)publisher->options.deviation;
    double delay = ((double)publisher->options.delay + deviation) / 1000;
    return delay > 0 ? delay : 0;
}

/* The number of a block's session among those of all blocks. */
static uint32_t session_number(struct app_publisher *publisher, const struct iso_history *block,
                               uint32_t transaction)
{
    iso_atom name = block->sessions.atom[block->txns.session[transaction]];
    return iso_history_session(&publisher->names,
                               iso_atoms_copy(&publisher->names.atoms, &block->atoms, name));
}

/* Records arrive in any order, so each says its place in its session. */
static uint64_t next_sno(struct app_publisher *publisher, uint32_t session)
{
    if (session >= publisher->session_capacity) {
        size_t capacity = iso_column_capacity(publisher->session_capacity, (size_t)session + 1);
        publisher->snos = iso_reallocate(publisher->snos, capacity * sizeof *publisher->snos);
        memset(publisher->snos + publisher->session_capacity, 0,
               (capacity - publisher->session_capacity) * sizeof *publisher->snos);
        publisher->session_capacity = capacity;
    }
    return publisher->snos[session]++;
}

/* A transaction's line, with `sno` as its first member if it has none. */
static struct record *new_record(const char *line, size_t length, bool numbered, uint64_t sno)
{
    enum { ROOM = 40 };
    struct record *record = iso_allocate(sizeof *record + length + ROOM);
    int head = numbered ? snprintf(record->text, ROOM, "{\"sno\":%" PRIu64 ",", sno) : 1;
    record->text[0] = '{';
    memcpy(record->text + head, line + 1, length - 1);
    record->length = (uint32_t)(length - 1 + (size_t)head);
    return record;
}

static void take_transaction(struct app_publisher *publisher, const struct iso_history *block,
                             uint32_t transaction, const char *text, size_t length)
{
    double rate = (double)(publisher->options.rate ? publisher->options.rate : FAST_RATE);
    double ready = (double)publisher->taken / rate;
    int repeated = iso_rng_chance(&publisher->rng, publisher->options.repeats);
    uint32_t session = session_number(publisher, block, transaction);
    uint64_t sno = next_sno(publisher, session);
    for (int i = 0; i <= repeated; i++) {
        struct record *record =
            new_record(text, length, !(block->txns.flags[transaction] & ISO_HAS_SNO), sno);
        record->cts = block->txns.flags[transaction] & ISO_HAS_CTS ? block->txns.cts[transaction]
                                                                   : publisher->latest;
        record->partition = (int32_t)(session % (uint32_t)publisher->partitions);
        iso_heap_push(&publisher->waiting, key_of(ready + draw_delay(publisher)),
                      (uint64_t)(uintptr_t)record);
    }
    if (block->txns.flags[transaction] & ISO_HAS_CTS)
        publisher->latest = block->txns.cts[transaction];
    publisher->taken++;
}

/* The block as lines of text, and each line to its record. */
static void take_block(struct app_publisher *publisher, const struct iso_history *block,
                       struct iso_error *error)
{
    iso_history_writer_add(&publisher->writer, block, error);
    iso_output_flush(&publisher->memory);
    off_t size = lseek(publisher->memory_file, 0, SEEK_CUR);
    if (size <= 0)
        return;
    char *text = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, publisher->memory_file, 0);
    if (text == MAP_FAILED)
        iso_out_of_memory((size_t)size);
    const char *at = text, *end = text + size;
    for (uint32_t t = 0; t < block->txns.count && at < end; t++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        take_transaction(publisher, block, t, at, (size_t)(stop - at));
        at = stop + 1;
    }
    munmap(text, (size_t)size);
    if (lseek(publisher->memory_file, 0, SEEK_SET) < 0 || ftruncate(publisher->memory_file, 0) < 0)
        iso_error_set(error, ISO_FAILED, "the file in memory could not be emptied");
}

enum iso_status app_publisher_add(struct app_publisher *publisher, const struct iso_history *block,
                                  struct iso_error *error)
{
    double rate = (double)(publisher->options.rate ? publisher->options.rate : FAST_RATE);
    take_block(publisher, block, error);
    /* A transaction that becomes ready later is due later: all up to that moment can go. */
    while (publisher->waiting.count &&
           due_of(publisher->waiting.items) <= (double)publisher->taken / rate &&
           error->status == ISO_OK)
        send_first(publisher, error);
    return error->status;
}

enum iso_status app_publisher_close(struct app_publisher *publisher, uint64_t *sent,
                                    struct iso_error *error)
{
    while (publisher->waiting.count && error->status == ISO_OK)
        send_first(publisher, error);
    if (publisher->producer && error->status == ISO_OK)
        iso_kafka_producer_flush(publisher->producer, FLUSH_SECONDS, error);
    if (sent)
        *sent = publisher->sent;
    for (uint32_t i = 0; i < publisher->waiting.count; i++)
        iso_free(record_of(&publisher->waiting.items[i]));
    iso_heap_release(&publisher->waiting);
    iso_free(publisher->snos);
    iso_history_release(&publisher->names);
    iso_kafka_producer_free(publisher->producer);
    iso_kafka_properties_release(&publisher->properties);
    iso_output_discard(&publisher->memory);
    if (publisher->memory_file >= 0)
        close(publisher->memory_file);
    iso_free(publisher);
    return error->status;
}
