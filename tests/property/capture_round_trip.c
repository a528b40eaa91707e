/* Any message comes back from a capture byte for byte: random bytes, texts, nulls, empties,
 * headers, numbers. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "tests/support/arguments.h"
#include "tests/support/temporary.h"

enum { MESSAGES = 20000, TEXT_MAX = 300, HEADERS_MAX = 5 };

static uint64_t next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Null, empty, ASCII, UTF-8 pieces, or any bytes. */
static struct iso_bytes random_bytes(uint64_t *state, uint8_t *room)
{
    static const char *const pieces[] = {
        "\"", "\\", "\n", "\x01", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "{}", "\x7f"};
    uint64_t form = next(state) % 8;
    uint32_t wanted = (uint32_t)(next(state) % TEXT_MAX), size = 0;
    if (form == 0)
        return (struct iso_bytes){0};
    if (form == 1)
        return (struct iso_bytes){room, 0};
    while (size < wanted) {
        const char *piece = pieces[next(state) % (sizeof pieces / sizeof *pieces)];
        if (form < 4) {
            room[size++] = (uint8_t)(' ' + next(state) % 95);
        } else if (form < 6) {
            memcpy(room + size, piece, strlen(piece));
            size += (uint32_t)strlen(piece);
        } else {
            room[size++] = (uint8_t)next(state);
        }
    }
    return (struct iso_bytes){room, size};
}

struct sample {
    struct iso_message message;
    struct iso_header headers[HEADERS_MAX];
    uint8_t room[2 + 2 * HEADERS_MAX][TEXT_MAX + 8];
};

static void make(uint64_t seed, struct sample *sample)
{
    static const char *const topics[] = {"t", "a.b-c_d", "caf\xc3\xa9"};
    uint64_t state = seed;
    struct iso_message *message = &sample->message;
    *message = (struct iso_message){
        .topic = topics[next(&state) % 3],
        .partition = (int32_t)(next(&state) % 9),
        .broker = (int32_t)(next(&state) % 4) - 1,
        .offset = (int64_t)(next(&state) >> (1 + next(&state) % 63)),
        .timestamp_type = (enum iso_timestamp_type)(next(&state) % 3),
        .header_count = (uint32_t)(next(&state) % HEADERS_MAX),
        .headers = sample->headers,
    };
    message->timestamp = message->timestamp_type == ISO_TIMESTAMP_NONE ? 0 : (int64_t)next(&state);
    if (message->timestamp == INT64_MIN)
        message->timestamp = 0;
    message->key = random_bytes(&state, sample->room[0]);
    message->payload = random_bytes(&state, sample->room[1]);
    for (uint32_t i = 0; i < message->header_count; i++) {
        sample->headers[i].value = random_bytes(&state, sample->room[2 + 2 * i]);
        do
            sample->headers[i].name = random_bytes(&state, sample->room[3 + 2 * i]);
        while (!sample->headers[i].name.data);
    }
}

static int same_bytes(struct iso_bytes a, struct iso_bytes b)
{
    return a.size == b.size && !a.data == !b.data && (!a.size || !memcmp(a.data, b.data, a.size));
}

static int same(const struct iso_message *a, const struct iso_message *b)
{
    int fine = !strcmp(a->topic, b->topic) && a->partition == b->partition &&
               a->broker == b->broker && a->offset == b->offset &&
               a->timestamp_type == b->timestamp_type && a->timestamp == b->timestamp &&
               same_bytes(a->key, b->key) && same_bytes(a->payload, b->payload) &&
               a->header_count == b->header_count;
    for (uint32_t i = 0; fine && i < a->header_count; i++)
        fine = same_bytes(a->headers[i].name, b->headers[i].name) &&
               same_bytes(a->headers[i].value, b->headers[i].value);
    return fine;
}

static void write_all(const char *path, uint64_t seed, struct iso_error *error)
{
    static struct sample sample;
    struct iso_capture_writer *writer = iso_capture_writer_new(path, error);
    for (uint64_t i = 0; writer && i < MESSAGES; i++) {
        make(seed + i, &sample);
        iso_capture_write(writer, &sample.message, error);
    }
    iso_capture_writer_close(writer, error);
}

/* How many came back as they were, from the first on. */
static uint64_t read_all(const char *path, uint64_t seed, struct iso_error *error)
{
    static struct sample sample;
    struct iso_inputs inputs;
    const struct iso_message *messages;
    uint32_t count;
    uint64_t good = 0, all = 0;
    iso_inputs_init(&inputs);
    struct iso_capture_reader *reader = iso_capture_reader_new(path, &inputs, error);
    while (reader && iso_capture_read(reader, &messages, &count, error) == ISO_OK && count)
        for (uint32_t i = 0; i < count; i++, all++) {
            make(seed + all, &sample);
            good += good == all && same(&sample.message, &messages[i]);
        }
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
    return good == all ? good : 0;
}

int main(int argument_count, char **arguments)
{
    static const char *const suffixes[] = {"", ".zst"};
    uint64_t seed = 20251121;
    const struct argument known[] = {{"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argument_count, arguments))
        return 2;
    int failed = 0;
    printf("1..2\n# seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX];
        struct iso_error error = {0};
        snprintf(path, sizeof path, "%s/isochron-round-trip-XXXXXX%s", temporary_folder(),
                 suffixes[i]);
        close(mkstemps(path, (int)strlen(suffixes[i])));
        write_all(path, seed, &error);
        uint64_t good = read_all(path, seed, &error);
        unlink(path);
        failed |= good != MESSAGES;
        printf("%s %d - %d messages through a%s capture %s\n", good == MESSAGES ? "ok" : "not ok",
               i + 1, MESSAGES, i ? " compressed" : " plain", error.text);
    }
    return failed;
}
