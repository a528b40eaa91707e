/* A saved store of what does not fit into memory, and its file: whatever stands in them, it is
 * restored, read, written and cleaned, or that ends in an error; and what is got is what was put.
 *
 * An input's first byte says what is changed, in places of three bytes each, with a value: even,
 * the archive, whose checksums are not compared then; odd, the file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spill/inspect.h"
#include "spill/spill.h"
#include "tests/fuzz/fuzz.h"

enum { LARGEST = 1 << 17, RECORDS = 200, BITS = 12 };

struct bytes {
    uint8_t list[LARGEST];
    size_t size;
};

static char folder[64], path[96];

static uint64_t digest_of(uint32_t number)
{
    return (number + 1) * 0x9e3779b97f4a7c15u;
}

static uint32_t record_of(uint32_t number, uint8_t *record)
{
    uint32_t size = number * 7 % 200;
    memset(record, (int)(number + 1), size);
    return size;
}

static struct iso_spill *open_store(void)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill *spill = NULL;
    struct iso_spill_options options = {.folder = folder, .name = "store", .segment_bits = BITS};
    FUZZ_CHECK(iso_spill_open(&options, &spill, &error) == ISO_OK);
    return spill;
}

static void read_all(int file, struct bytes *bytes)
{
    ssize_t size = pread(file, bytes->list, LARGEST, 0);
    FUZZ_CHECK(size > 0 && size < LARGEST);
    bytes->size = (size_t)size;
    close(file);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void save(struct bytes *archived, struct bytes *file)
{
    struct iso_archive archive;
    struct iso_error error = {.status = ISO_OK};
    uint8_t record[256];
    strcpy(folder, "/tmp/iso-fuzz-XXXXXX");
    FUZZ_CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/store", folder);
    atexit(remove_folder);
    struct iso_spill *spill = open_store();
    for (uint32_t i = 0; i < 4 * RECORDS; i++) {
        uint32_t number = i % RECORDS, size = record_of(number, record);
        FUZZ_CHECK(iso_spill_put(spill, digest_of(number), i >= RECORDS,
                                 &(struct iso_spill_record){.bytes = record, .size = size},
                                 &error) == ISO_OK);
    }
    int descriptor = memfd_create("archive", MFD_CLOEXEC);
    iso_archive_save(&archive, descriptor, "archive", &error);
    iso_spill_archive(&archive, spill);
    FUZZ_CHECK(iso_archive_close(&archive) == ISO_OK);
    iso_spill_free(spill);
    read_all(descriptor, archived);
    read_all(open(path, O_RDONLY | O_CLOEXEC), file);
}

static void write_all(int file, const struct bytes *bytes)
{
    FUZZ_CHECK(file >= 0 && pwrite(file, bytes->list, bytes->size, 0) == (ssize_t)bytes->size);
}

/* What is got under a known digest is what was put, unless the archive's own bytes were changed and
 * believed. */
static void use(struct iso_spill *spill, bool sound)
{
    struct iso_error error = {.status = ISO_OK};
    uint8_t wanted[256];
    const uint8_t *record;
    uint32_t size = 0;
    for (uint32_t i = 0; i < RECORDS; i++) {
        error.status = ISO_OK;
        if (iso_spill_get(spill, digest_of(i), &record, &size, &error) != ISO_OK || !sound)
            continue;
        FUZZ_CHECK(record && size == record_of(i, wanted) && !memcmp(record, wanted, size));
    }
    error.status = ISO_OK;
    for (uint32_t i = RECORDS; i < 4 * RECORDS && error.status == ISO_OK; i++) {
        size = record_of(i, wanted);
        iso_spill_get(spill, digest_of(i), &record, &size, &error);
        if (error.status == ISO_OK && !record)
            iso_spill_put(spill, digest_of(i), false,
                          &(struct iso_spill_record){.bytes = wanted, .size = record_of(i, wanted)},
                          &error);
        if (i % 64 == 0) {
            iso_spill_fork(spill);
            iso_spill_commit(spill);
        }
    }
}

static void collect(void *context, const void *bytes, size_t size)
{
    iso_text_put_bytes(context, bytes, size);
}

static void inspect(int file, bool unchecked)
{
    struct iso_archive archive;
    struct iso_archive_item item;
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill_inspection inspection = {.folder = folder};
    struct iso_text content = {0};
    FUZZ_CHECK(lseek(file, 0, SEEK_SET) == 0);
    iso_archive_restore(&archive, file, "archive", &error);
    archive.unchecked = unchecked;
    while (iso_archive_next(&archive, &item, collect, &content)) {
        iso_spill_inspect(&inspection, &item, &content, &error);
        content.used = 0;
    }
    iso_archive_release(&archive);
    iso_spill_inspection_release(&inspection);
    iso_text_release(&content);
}

static void restore(const struct bytes *archived, const struct bytes *file, bool sound)
{
    struct iso_archive archive;
    struct iso_error error = {.status = ISO_OK};
    int descriptor = memfd_create("archive", MFD_CLOEXEC),
        store = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
    write_all(descriptor, archived);
    write_all(store, file);
    close(store);
    inspect(descriptor, !sound);
    struct iso_spill *spill = open_store();
    FUZZ_CHECK(lseek(descriptor, 0, SEEK_SET) == 0);
    iso_archive_restore(&archive, descriptor, "archive", &error);
    archive.unchecked = !sound;
    iso_spill_archive(&archive, spill);
    if (iso_archive_close(&archive) == ISO_OK)
        use(spill, sound);
    iso_spill_free(spill);
    close(descriptor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bytes archived, file, changed;
    if (!archived.size)
        save(&archived, &file);
    if (!size)
        return 0;
    bool sound = data[0] & 1;
    changed = sound ? file : archived;
    for (data++, size--; size >= 4; data += 4, size -= 4)
        changed.list[(data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % changed.size] =
            data[3];
    restore(sound ? &archived : &changed, sound ? &changed : &file, sound);
    return 0;
}
