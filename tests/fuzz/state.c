/* The files of a state directory: whatever stands in them, reading ends, and in no more than an
 * error.
 *
 * An input's first byte says what it is. Even: a journal, its head put right or not. Odd: changes,
 * of four bytes each (a place in three, a value), to a saved engine or, with the next bit, to a
 * pipeline amid joined streams, which is then restored without its checksums being compared, and
 * gone through item by item with them. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "aion/archive.h"
#include "pipeline/archive.h"
#include "store/journal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/midway.h"
#include "tests/support/random_history.h"

enum { LARGEST = 1 << 20 };

struct saved {
    uint8_t bytes[LARGEST];
    size_t size;
};

static struct iso_aion *new_engine(void)
{
    struct iso_aion_options options;
    iso_aion_options_init(&options);
    options.shards = 2;
    return iso_aion_new(&options);
}

static int in_memory(const uint8_t *bytes, size_t size)
{
    int file = memfd_create("state", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0 && write(file, bytes, size) == (ssize_t)size &&
               lseek(file, 0, SEEK_SET) == 0);
    return file;
}

static void add_all(struct iso_aion *engine, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    struct plain_history *plain = calloc(1, sizeof *plain);
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    random_history(seed, &options, plain);
    if (plain_history_build(plain, &history, &error) == ISO_OK) {
        iso_aion_block(engine, &history);
        iso_aion_add(engine, 0, history.txns.count, 1, NULL, &error);
    }
    iso_history_release(&history);
    free(plain);
}

static void walk_engine(struct iso_archive *archive)
{
    struct iso_aion *engine = new_engine();
    for (uint64_t seed = 1; seed < 40 && !archive->restoring; seed++)
        add_all(engine, seed);
    iso_aion_archive(archive, engine);
    iso_aion_free(engine);
}

static void walk_pipeline(struct iso_archive *archive)
{
    struct iso_pipeline *pipeline = midway_new();
    if (!archive->restoring)
        midway_fill(pipeline);
    iso_pipeline_archive(archive, pipeline);
    iso_pipeline_free(pipeline);
}

static void save(struct saved *saved, void (*walk)(struct iso_archive *))
{
    struct iso_archive archive;
    struct iso_error error = {.status = ISO_OK};
    int file = in_memory((const uint8_t *)"", 0);
    iso_archive_save(&archive, file, "state", &error);
    walk(&archive);
    FUZZ_CHECK(iso_archive_close(&archive) == ISO_OK);
    ssize_t size = pread(file, saved->bytes, LARGEST, 0);
    FUZZ_CHECK(size > 0 && size < LARGEST);
    saved->size = (size_t)size;
    close(file);
}

static void restore(const struct saved *changed, void (*walk)(struct iso_archive *))
{
    struct iso_archive archive;
    struct iso_error error = {.status = ISO_OK};
    int file = in_memory(changed->bytes, changed->size);
    iso_archive_restore(&archive, file, "state", &error);
    archive.unchecked = true;
    walk(&archive);
    FUZZ_CHECK(iso_archive_close(&archive) == error.status);
    close(file);
}

/* With checksums every change is noticed. */
static void go_through(const struct saved *changed, bool is_changed)
{
    struct iso_archive archive;
    struct iso_archive_item item;
    struct iso_error error = {.status = ISO_OK};
    int file = in_memory(changed->bytes, changed->size);
    iso_archive_restore(&archive, file, "state", &error);
    while (iso_archive_next(&archive, &item, NULL, NULL))
        ;
    iso_archive_release(&archive);
    FUZZ_CHECK((error.status != ISO_OK) == is_changed);
    close(file);
}

static void change(bool engine, const uint8_t *data, size_t size)
{
    static struct saved both[2], changed;
    struct saved *saved = &both[engine];
    void (*walk)(struct iso_archive *) = engine ? walk_engine : walk_pipeline;
    if (!saved->size)
        save(saved, walk);
    changed.size = saved->size;
    memcpy(changed.bytes, saved->bytes, saved->size);
    for (; size >= 4; data += 4, size -= 4) {
        size_t at = (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % changed.size;
        changed.bytes[at] = data[3];
    }
    restore(&changed, walk);
    go_through(&changed, memcmp(changed.bytes, saved->bytes, saved->size) != 0);
}

static void read_journal(const uint8_t *data, size_t size, bool headed)
{
    struct journal_head head = journal_head_of(1);
    struct journal_record record;
    struct journal_in in;
    const uint8_t *bytes;
    uint8_t *copy = malloc(size + 1);
    FUZZ_CHECK(copy);
    if (size)
        memcpy(copy, data, size);
    if (headed)
        memcpy(copy, &head, size < sizeof head ? size : sizeof head);
    enum journal_step step = journal_open(&in, copy, size, 1);
    while (step == JOURNAL_RECORD) {
        step = journal_next(&in, &record, &bytes);
        FUZZ_CHECK(in.at <= size);
        if (step == JOURNAL_RECORD)
            FUZZ_CHECK(bytes >= copy && bytes + record.size <= copy + size);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] % 2)
        change(!(data[0] & 2), data + 1, size - 1);
    else if (size)
        read_journal(data + 1, size - 1, data[0] & 2);
    return 0;
}
