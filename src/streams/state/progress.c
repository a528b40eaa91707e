#define _GNU_SOURCE
#include "state/progress.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { DIGEST_BYTES = 8, NUMBER_BYTES = 10 };

void iso_progress_release(struct iso_progress *progress)
{
    iso_column_free(progress->positions, progress->position_capacity * sizeof *progress->positions);
    *progress = (struct iso_progress){0};
}

void iso_progress_archive(struct iso_archive *archive, struct iso_progress *progress)
{
    if (archive->restoring)
        iso_progress_release(progress);
    ISO_ARCHIVE_VALUE(archive, progress->time);
    ISO_ARCHIVE_VALUE(archive, progress->messages);
    ISO_ARCHIVE_VALUE(archive, progress->position);
    ISO_ARCHIVE_VALUE(archive, progress->digest);
    ISO_ARCHIVE_ANY(archive, "places", ISO_ARCHIVE_COLUMN, progress->positions,
                    progress->position_count, progress->position_capacity);
}

struct iso_progress_position *iso_progress_position(struct iso_progress *progress, uint32_t input)
{
    ISO_GROW_COLUMN(progress->positions, input, progress->position_capacity);
    for (; progress->position_count <= input; progress->position_count++)
        progress->positions[progress->position_count] =
            (struct iso_progress_position){.next = -1, .last = -1};
    return &progress->positions[input];
}

uint64_t iso_progress_digest(const struct iso_message *message)
{
    uint64_t seed = (uint64_t)message->offset * 0x9e3779b97f4a7c15u ^ (uint64_t)message->timestamp;
    if (message->key.size)
        seed = XXH3_64bits_withSeed(message->key.data, message->key.size, seed);
    seed = seed * 0xbf58476d1ce4e5b9u + message->key.size + (message->payload.data == NULL);
    return message->payload.size
               ? XXH3_64bits_withSeed(message->payload.data, message->payload.size, seed)
               : seed;
}

enum iso_status iso_progress_digest_file(const char *path, uint64_t *digest,
                                         struct iso_error *error)
{
    uint8_t piece[1 << 14];
    ssize_t got = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        iso_out_of_memory(sizeof *state);
    XXH3_64bits_reset(state);
    while (file >= 0 &&
           ((got = read(file, piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0)
            XXH3_64bits_update(state, piece, (size_t)got);
    *digest = XXH3_64bits_digest(state);
    if (file < 0 || got < 0)
        iso_error_set(error, ISO_FAILED, "%s: cannot be read: %s", path, strerror(errno));
    XXH3_freeState(state);
    if (file >= 0)
        close(file);
    return error->status;
}

void iso_progress_line(struct iso_progress *progress, const char *line, size_t length)
{
    progress->position += length;
    progress->digest = XXH3_64bits_withSeed(line, length, progress->digest);
}

/* ---- putting ---- */

void iso_progress_put_number(struct iso_text *record, uint64_t number)
{
    uint8_t *at = (uint8_t *)iso_text_reserve(record, NUMBER_BYTES);
    for (; number >= 0x80; number >>= 7, record->used++)
        *at++ = (uint8_t)(number | 0x80);
    *at = (uint8_t)number;
    record->used++;
}

/* How many runs of messages of one input there are. */
static uint32_t count_runs(const struct iso_message *messages, uint32_t count)
{
    uint32_t runs = 0;
    for (uint32_t i = 0; i < count; i++)
        runs += !i || messages[i].input != messages[i - 1].input;
    return runs;
}

static uint64_t take_message(struct iso_progress *progress, const struct iso_message *message,
                             uint64_t digest)
{
    struct iso_progress_position *position = iso_progress_position(progress, message->input);
    position->last = message->offset;
    position->next = message->offset + 1;
    position->digest = iso_progress_digest(message);
    return (digest ^ position->digest) * 0x9e3779b97f4a7c15u;
}

void iso_progress_step(struct iso_progress *progress, const struct iso_message *messages,
                       uint32_t count, uint64_t time, struct iso_text *record)
{
    uint64_t digest = 0;
    iso_progress_put_number(record, time - progress->time);
    iso_progress_put_number(record, count_runs(messages, count));
    for (uint32_t i = 0, first = 0; i < count; i++) {
        digest = take_message(progress, &messages[i], digest);
        if (i + 1 < count && messages[i + 1].input == messages[i].input)
            continue;
        iso_progress_put_number(record, messages[i].input);
        iso_progress_put_number(record, i + 1 - first);
        first = i + 1;
    }
    if (count)
        iso_text_put_bytes(record, &digest, sizeof digest);
    progress->time = time;
    progress->messages += count;
}

void iso_progress_put_partition(const struct iso_progress *progress,
                                const struct iso_progress_partition *partition,
                                struct iso_text *record)
{
    iso_progress_put_number(record, partition->time - progress->time);
    iso_progress_put_number(record, partition->input);
    iso_progress_put_number(record, (uint32_t)partition->partition);
    iso_progress_put_number(record, (uint64_t)partition->start);
    iso_text_put_bytes(record, partition->topic, partition->length);
}

void iso_progress_put_check(const struct iso_progress *progress, struct iso_text *record)
{
    iso_progress_put_number(record, progress->position);
    iso_text_put_bytes(record, &progress->digest, sizeof progress->digest);
}

/* ---- getting ---- */

bool iso_progress_get_number(struct iso_progress_reader *reader, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; reader->at < reader->end && shift < 64; shift += 7) {
        uint8_t byte = *reader->at++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

bool iso_progress_get_partition(const struct iso_progress *progress,
                                struct iso_progress_reader reader,
                                struct iso_progress_partition *partition)
{
    uint64_t time, input, number, start;
    if (!iso_progress_get_number(&reader, &time) || !iso_progress_get_number(&reader, &input) ||
        !iso_progress_get_number(&reader, &number) || !iso_progress_get_number(&reader, &start) ||
        input > UINT16_MAX || number > INT32_MAX || start > INT64_MAX || reader.at == reader.end)
        return false;
    *partition = (struct iso_progress_partition){.time = progress->time + time,
                                                 .input = (uint32_t)input,
                                                 .partition = (int32_t)number,
                                                 .start = (int64_t)start,
                                                 .topic = (const char *)reader.at,
                                                 .length = (size_t)(reader.end - reader.at)};
    return true;
}

bool iso_progress_get_check(struct iso_progress_reader reader, uint64_t *position, uint64_t *digest)
{
    if (!iso_progress_get_number(&reader, position) || reader.end - reader.at != sizeof *digest)
        return false;
    memcpy(digest, reader.at, sizeof *digest);
    return true;
}

bool iso_progress_get_step(const struct iso_progress *progress, struct iso_progress_reader *reader,
                           uint64_t *time, uint64_t *runs)
{
    if (!iso_progress_get_number(reader, time) || !iso_progress_get_number(reader, runs))
        return false;
    *time += progress->time;
    return *runs || reader->at == reader->end;
}

bool iso_progress_get_run(struct iso_progress_reader *reader, uint64_t *input, uint64_t *count)
{
    return iso_progress_get_number(reader, input) && iso_progress_get_number(reader, count) &&
           *input <= UINT16_MAX && *count && *count <= UINT32_MAX &&
           reader->end - reader->at >= DIGEST_BYTES;
}
