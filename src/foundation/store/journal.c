#include "store/journal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

#include "store/record.h"

enum { FORMAT = 1 };
static const char magic[16] = "isochron journal";

_Static_assert(sizeof(struct journal_head) == 40 && sizeof(struct journal_record) == 24,
               "they are the format");

struct journal_head journal_head_of(uint64_t generation)
{
    struct journal_head head = {.format = FORMAT, .generation = generation};
    memcpy(head.magic, magic, sizeof head.magic);
    head.checksum = XXH3_64bits(&head, offsetof(struct journal_head, checksum));
    return head;
}

struct journal_record journal_record_of(uint64_t generation, uint32_t type, uint64_t number,
                                        const void *bytes, uint32_t size)
{
    struct journal_record record = {.size = size, .type = type, .number = number};
    uint64_t seed =
        XXH3_64bits_withSeed(&record, offsetof(struct journal_record, checksum), generation);
    record.checksum = XXH3_64bits_withSeed(bytes, size, seed);
    return record;
}

/* Whether a whole record stands at `at`, of any number from `least` to `most`. */
static bool is_record(const struct journal_in *in, size_t at, uint64_t least, uint64_t most,
                      struct journal_record *record)
{
    if (in->size - at < sizeof *record)
        return false;
    memcpy(record, in->bytes + at, sizeof *record);
    if (record->number < least || record->number > most || record->size > ISO_STORE_RECORD_MAX ||
        record->size > in->size - at - sizeof *record)
        return false;
    struct journal_record expected =
        journal_record_of(in->generation, record->type, record->number,
                          in->bytes + at + sizeof *record, record->size);
    return expected.checksum == record->checksum;
}

enum journal_step journal_open(struct journal_in *in, uint8_t *bytes, size_t size,
                               uint64_t generation)
{
    struct journal_head head = journal_head_of(generation);
    *in = (struct journal_in){.bytes = bytes, .size = size, .generation = generation};
    if (size < sizeof head)
        return JOURNAL_TORN;
    if (memcmp(bytes, &head, sizeof head))
        return JOURNAL_DAMAGED;
    in->at = sizeof head;
    return JOURNAL_RECORD;
}

/* Behind a torn record there is nothing: what was appended later would stand there whole. */
static bool is_last(const struct journal_in *in)
{
    struct journal_record record;
    uint64_t most = in->number + in->size / sizeof record;
    for (size_t at = in->at + 1; at < in->size; at++)
        if (is_record(in, at, in->number + 1, most, &record))
            return false;
    return true;
}

/* Zeros from the end of a page to the end of the file: the file had become longer, its last pages
 * had not been written.
 */
static bool has_hole(const struct journal_in *in)
{
    enum { PAGE = 4096 };
    size_t zeros = in->size;
    while (zeros > in->at && !in->bytes[zeros - 1])
        zeros--;
    return (zeros + PAGE - 1) / PAGE * PAGE < in->size;
}

bool journal_is_altered(const struct journal_in *in)
{
    struct journal_record record;
    if (in->size - in->at < sizeof record || has_hole(in))
        return false;
    memcpy(&record, in->bytes + in->at, sizeof record);
    const uint8_t *content = in->bytes + in->at + sizeof record;
    size_t size = in->size - in->at - sizeof record;
    if (record.size == size)
        return true;
    /* It is its size that is another. */
    return size <= ISO_STORE_RECORD_MAX &&
           journal_record_of(in->generation, record.type, in->number, content, (uint32_t)size)
                   .checksum == record.checksum;
}

enum journal_step journal_next(struct journal_in *in, struct journal_record *record,
                               const uint8_t **bytes)
{
    if (in->at == in->size)
        return JOURNAL_END;
    if (in->rolled)
        return JOURNAL_DAMAGED;
    if (!is_record(in, in->at, in->number, in->number, record))
        return is_last(in) ? JOURNAL_TORN : JOURNAL_DAMAGED;
    *bytes = in->bytes + in->at + sizeof *record;
    in->at += sizeof *record + record->size;
    in->number++;
    in->rolled = record->type == JOURNAL_ROLL;
    return JOURNAL_RECORD;
}
