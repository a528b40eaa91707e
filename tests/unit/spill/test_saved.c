/* A store that is saved and restored: after a crash at any moment it holds what it held when the
 * archive was made that was committed last; and a file that is not the archive's is noticed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spill/inspect.h"
#include "spill/spill_private.h"
#include "spill/spill.h"
#include "tests/support/temporary.h"
#include "tests/support/test.h"

enum { DIGESTS = 300, BITS = 12, STEPS = 60000, LARGEST = 1000, BLOCK = 512 };

/* What a disk holds, and may still hold instead of it. */
struct image {
    uint8_t *bytes;
    size_t size;
};

struct saved {
    int archive; /* 0: none */
    uint32_t turns[DIGESTS];
};

struct fixture {
    char folder[TEST_PATH], path[2 * TEST_PATH];
    struct iso_spill *spill;
    uint32_t turns[DIGESTS], turn; /* of each record; 0: there is none */
    struct saved pending, committed;
    struct image synced;
    uint64_t random;
    uint32_t crashes;
};

static uint32_t below(struct fixture *fixture, uint32_t bound)
{
    return (uint32_t)(test_random(&fixture->random) >> 16) % bound;
}

static uint64_t digest_of(uint32_t number)
{
    uint64_t state = number + 1;
    for (int i = 0; i < 8; i++)
        test_random(&state);
    return number % 8 ? state
                      : (state & 0xff00000000) | (uint64_t)number << 40 |
                            7; /* some of one tag and table */
}

static uint32_t record_of(uint32_t number, uint32_t turn, uint8_t *record)
{
    uint64_t state = number * 31 + turn * 7919 + 1;
    uint32_t size = (uint32_t)(test_random(&state) % (turn % 20 ? 100 : LARGEST));
    for (uint32_t i = 0; i < size; i++)
        record[i] = (uint8_t)test_random(&state);
    return size;
}

/* ---- the disk ---- */

static struct image read_image(const char *path)
{
    struct image image = {0};
    struct stat status;
    int file = open(path, O_RDONLY);
    if (file < 0)
        return image;
    assert_int_equal(fstat(file, &status), 0);
    image.size = (size_t)status.st_size;
    image.bytes = malloc(image.size + 1);
    assert_int_equal(read(file, image.bytes, image.size), image.size);
    close(file);
    return image;
}

static void write_image(const char *path, const struct image *image)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, image->bytes, image->size), image->size);
    close(file);
}

/* Blocks that were written since the last sync may be on the disk or not; the process alone dies:
 * they are. */
static void lose_blocks(struct fixture *fixture)
{
    struct image image = read_image(fixture->path);
    if (below(fixture, 2)) {
        for (size_t block = 0; block < image.size; block += BLOCK) {
            size_t size = image.size - block < BLOCK ? image.size - block : BLOCK;
            if (below(fixture, 2) && block + size <= fixture->synced.size)
                memcpy(image.bytes + block, fixture->synced.bytes + block, size);
            else if (below(fixture, 4) == 0 && block >= fixture->synced.size)
                memset(image.bytes + block, 0, size);
        }
        if (below(fixture, 2) && image.size > fixture->synced.size)
            image.size = fixture->synced.size;
        write_image(fixture->path, &image);
    }
    free(image.bytes);
}

/* ---- saving ---- */

static struct iso_spill *open_store(struct fixture *fixture, unsigned bits)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill *spill;
    struct iso_spill_options options = {
        .folder = fixture->folder, .name = "store", .segment_bits = bits};
    assert_int_equal(iso_spill_open(&options, &spill, &error), ISO_OK);
    return spill;
}

static void forget(struct saved *saved)
{
    if (saved->archive)
        close(saved->archive);
    saved->archive = 0;
}

static void save(struct fixture *fixture)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_archive archive;
    forget(&fixture->pending);
    iso_spill_fork(fixture->spill);
    fixture->pending.archive = memfd_create("archive", MFD_CLOEXEC);
    memcpy(fixture->pending.turns, fixture->turns, sizeof fixture->turns);
    iso_archive_save(&archive, fixture->pending.archive, "archive", &error);
    iso_spill_archive(&archive, fixture->spill);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    free(fixture->synced.bytes);
    /* the walk has synced the file: what is in it now stays */
    fixture->synced = read_image(fixture->path);
}

static void commit(struct fixture *fixture)
{
    if (!fixture->pending.archive)
        return;
    forget(&fixture->committed);
    fixture->committed = fixture->pending;
    fixture->pending.archive = 0;
    iso_spill_commit(fixture->spill);
}

static enum iso_status restore(struct fixture *fixture, struct iso_error *error)
{
    struct iso_archive archive;
    iso_spill_free(fixture->spill);
    forget(&fixture->pending);
    fixture->spill = open_store(fixture, 0);
    assert_int_equal(lseek(fixture->committed.archive, 0, SEEK_SET), 0);
    iso_archive_restore(&archive, fixture->committed.archive, "archive", error);
    iso_spill_archive(&archive, fixture->spill);
    memcpy(fixture->turns, fixture->committed.turns, sizeof fixture->turns);
    return iso_archive_close(&archive);
}

/* ---- what is in it ---- */

static enum iso_status get(struct fixture *fixture, uint32_t number, struct iso_error *error)
{
    static uint8_t wanted[LARGEST];
    const uint8_t *record;
    uint32_t size = 0;
    if (iso_spill_get(fixture->spill, digest_of(number), &record, &size, error) != ISO_OK)
        return error->status;
    if (!fixture->turns[number]) {
        assert_null(record);
        return ISO_OK;
    }
    assert_non_null(record);
    assert_int_equal(size, record_of(number, fixture->turns[number], wanted));
    assert_memory_equal(record, wanted, size);
    return ISO_OK;
}

static void get_all(struct fixture *fixture)
{
    struct iso_error error = {.status = ISO_OK};
    for (uint32_t i = 0; i < DIGESTS; i++)
        assert_int_equal(get(fixture, i, &error), ISO_OK);
}

static void change(struct fixture *fixture)
{
    static uint8_t record[LARGEST];
    struct iso_error error = {.status = ISO_OK};
    uint32_t number = below(fixture, below(fixture, 4) ? DIGESTS : DIGESTS / 10),
             what = below(fixture, 8);
    if (what == 0 && fixture->turns[number]) {
        assert_int_equal(iso_spill_remove(fixture->spill, digest_of(number), &error), ISO_OK);
        fixture->turns[number] = 0;
    } else if (what == 1) {
        assert_int_equal(get(fixture, number, &error), ISO_OK);
    } else {
        uint32_t size = record_of(number, ++fixture->turn, record);
        assert_int_equal(iso_spill_put(fixture->spill, digest_of(number), fixture->turns[number],
                                       &(struct iso_spill_record){.bytes = record, .size = size},
                                       &error),
                         ISO_OK);
        fixture->turns[number] = fixture->turn;
    }
}

/* ---- the tests ---- */

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    snprintf(fixture->folder, sizeof fixture->folder, "%s/iso-saved-XXXXXX", temporary_folder());
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->path, sizeof fixture->path, "%s/store", fixture->folder);
    fixture->random = 4711;
    fixture->spill = open_store(fixture, BITS);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    iso_spill_free(fixture->spill);
    forget(&fixture->pending);
    forget(&fixture->committed);
    free(fixture->synced.bytes);
    unlink(fixture->path);
    assert_int_equal(rmdir(fixture->folder), 0);
    free(fixture);
    return 0;
}

static void survives_crashes(void **state)
{
    struct fixture *fixture = *state;
    struct iso_error error = {.status = ISO_OK};
    uint64_t moved = 0, held = 0, abandoned = 0, largest = 0;
    save(fixture);
    commit(fixture);
    for (uint32_t step = 0; step < STEPS; step++) {
        struct iso_spill_stats stats = {0};
        change(fixture);
        if (below(fixture, 300))
            continue;
        iso_spill_stats(fixture->spill, &stats);
        moved += stats.moved > 0;
        held += stats.archived > 0;
        largest = stats.disk > largest ? stats.disk : largest;
        uint32_t what = below(fixture, 4);
        if (what == 0) {
            lose_blocks(fixture);
            assert_int_equal(restore(fixture, &error), ISO_OK);
            get_all(fixture);
            fixture->crashes++;
        } else if (what == 1) {
            commit(fixture);
        } else {
            abandoned += fixture->pending.archive != 0;
            save(fixture);
        }
    }
    get_all(fixture);
    assert_true(fixture->crashes > 20 && moved > 20 && held > 20 && abandoned > 5);
    assert_in_range(largest, 1 << BITS, 1 << 20); /* what is held goes to use again */
}

/* A store with some segments in the file and some records in the buffer, saved. */
static void fill(struct fixture *fixture)
{
    for (uint32_t i = 0; i < 4000; i++)
        change(fixture);
    save(fixture);
    commit(fixture);
}

static void collect(void *context, const void *bytes, size_t size)
{
    iso_text_put_bytes(context, bytes, size);
}

/* Goes through the archive as `isochron state verify` does. */
static enum iso_status inspect(const struct fixture *fixture,
                               struct iso_spill_inspection *inspection, struct iso_error *error)
{
    struct iso_archive archive;
    struct iso_archive_item item;
    struct iso_text content = {0};
    uint32_t stores = 0;
    *inspection = (struct iso_spill_inspection){.folder = fixture->folder};
    assert_int_equal(lseek(fixture->committed.archive, 0, SEEK_SET), 0);
    iso_archive_restore(&archive, fixture->committed.archive, "archive", error);
    while (iso_archive_next(&archive, &item, collect, &content)) {
        stores += iso_spill_inspect(inspection, &item, &content, error);
        content.used = 0;
    }
    iso_archive_release(&archive);
    iso_text_release(&content);
    assert_int_equal(stores, 1);
    return error->status;
}

static void is_inspected(void **state)
{
    struct fixture *fixture = *state;
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill_inspection inspection;
    struct iso_spill_stats stats = {0};
    uint64_t freed;
    fill(fixture);
    iso_spill_stats(fixture->spill, &stats);
    assert_int_equal(inspect(fixture, &inspection, &error), ISO_OK);
    assert_int_equal(inspection.live, stats.records);
    assert_true(inspection.checked > 0 && inspection.needed > 0 &&
                inspection.length >= inspection.needed);
    assert_int_equal(inspection.name.used, strlen("store"));
    uint64_t needed = inspection.needed;
    iso_spill_inspection_release(&inspection);
    struct image image = read_image(fixture->path);
    image.bytes = realloc(image.bytes, image.size + 5000);
    memset(image.bytes + image.size, 1, 5000);
    image.size += 5000;
    write_image(fixture->path, &image); /* left by a run that died */
    assert_int_equal(iso_spill_cut(fixture->folder, "store", needed, &freed, &error), ISO_OK);
    assert_int_equal(freed, image.size - needed);
    free(image.bytes);
    assert_int_equal(restore(fixture, &error), ISO_OK);
    get_all(fixture);
}

static void flip(const char *path, off_t place, uint8_t bits)
{
    uint8_t byte;
    int file = open(path, O_RDWR);
    assert_int_equal(pread(file, &byte, 1, place), 1);
    byte ^= bits;
    assert_int_equal(pwrite(file, &byte, 1, place), 1);
    close(file);
}

/* So many records cannot be got; those that can are what was put. */
static uint32_t count_failing(struct fixture *fixture)
{
    struct iso_error error = {.status = ISO_OK};
    uint32_t failed = 0;
    for (uint32_t i = 0; i < DIGESTS; i++) {
        failed += get(fixture, i, &error) != ISO_OK;
        if (error.status != ISO_OK)
            assert_non_null(strstr(error.text, fixture->path));
        error.status = ISO_OK;
    }
    return failed;
}

/* Any byte of a record's head or content: it is not got, and the whole does not pass for sound. */
static void notices_any_byte(void **state)
{
    struct fixture *fixture = *state;
    struct iso_spill_inspection inspection;
    struct stat status;
    uint32_t noticed = 0, unread = 0;
    fill(fixture);
    assert_int_equal(stat(fixture->path, &status), 0);
    for (off_t place = 0; place < status.st_size; place += 1 + below(fixture, 60)) {
        struct iso_error error = {.status = ISO_OK};
        uint8_t bits = (uint8_t)(1 << below(fixture, 8));
        flip(fixture->path, place, bits);
        assert_int_equal(restore(fixture, &error), ISO_OK);
        uint32_t failed = count_failing(fixture);
        bool damaged = inspect(fixture, &inspection, &error) != ISO_OK;
        iso_spill_inspection_release(&inspection);
        assert_true(damaged || !failed);
        noticed += failed > 0;
        unread += !damaged; /* free, or behind the last record */
        flip(fixture->path, place, bits);
    }
    assert_true(noticed > 20 && unread > 0);
}

/* The file as it was at an earlier archive, and that of another store: no record of it passes for
 * one that is new. */
static void notices_another_time_and_place(void **state)
{
    struct fixture *fixture = *state;
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill_inspection inspection;
    fill(fixture);
    struct image early = read_image(fixture->path);
    for (int i = 0; i < 8; i++)
        fill(fixture);
    struct image now = read_image(fixture->path);
    early.bytes = realloc(early.bytes, now.size);
    if (early.size < now.size)
        memset(early.bytes + early.size, 0, now.size - early.size);
    early.size = early.size < now.size ? now.size : early.size;
    write_image(fixture->path, &early);
    assert_int_equal(restore(fixture, &error), ISO_OK);
    assert_true(count_failing(fixture) > 20);
    assert_int_equal(inspect(fixture, &inspection, &error), ISO_FAILED);
    iso_spill_inspection_release(&inspection);
    write_image(fixture->path, &now);
    error.status = ISO_OK;
    assert_int_equal(restore(fixture, &error), ISO_OK);
    assert_int_equal(count_failing(fixture), 0);
    free(early.bytes);
    free(now.bytes);
}

/* Of no two records is the checksum seeded alike: neither place nor serial number makes up for the
 * other. */
static void seeds_differ(void **state)
{
    (void)state;
    enum { SIDE = 64 };
    uint32_t seeds[SIDE * SIDE];
    for (uint32_t i = 0; i < SIDE * SIDE; i++)
        seeds[i] = spill_check_of(UINT64_MAX - 30 + i / SIDE, i % SIDE * 16, 7, "", 0);
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(seeds[i], seeds[j]);
    }
}

static void needs_its_file(void **state)
{
    struct fixture *fixture = *state;
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill_inspection inspection;
    fill(fixture);
    assert_int_equal(inspect(fixture, &inspection, &error), ISO_OK);
    off_t needed = (off_t)inspection.needed;
    iso_spill_inspection_release(&inspection);
    assert_int_equal(truncate(fixture->path, needed - 1), 0);
    assert_int_equal(restore(fixture, &error), ISO_FAILED);
    assert_non_null(strstr(error.text, "it was cut"));
    error.status = ISO_OK;
    assert_int_equal(inspect(fixture, &inspection, &error), ISO_FAILED);
    iso_spill_inspection_release(&inspection);
    unlink(fixture->path);
    error.status = ISO_OK;
    assert_int_equal(restore(fixture, &error), ISO_FAILED);
    assert_non_null(strstr(error.text, "cannot be opened"));
    assert_non_null(strstr(error.text, fixture->path));
}

/* An archive whose checksums fit and whose parts do not: bytes of a segment, of which there is
 * none. */
static void refuses_a_buffer_of_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct iso_error error = {.status = ISO_OK};
    struct iso_archive archive;
    struct spill_state stored = {.filled = 16, .segment = 1 << BITS};
    uint64_t count = 16, none = 0, length = strlen("store");
    char name[] = "store", bytes[16] = "";
    int descriptor = memfd_create("archive", MFD_CLOEXEC);
    iso_archive_save(&archive, descriptor, "archive", &error);
    iso_archive_column(&archive, SPILL_ITEM_NAME, ISO_ARCHIVE_HEAP, name, &length, &length, 1);
    iso_archive_column(&archive, SPILL_ITEM_SEGMENTS, ISO_ARCHIVE_HEAP, NULL, &none, &none,
                       sizeof(struct spill_segment));
    iso_archive_value(&archive, SPILL_ITEM_STATE, &stored, sizeof stored);
    iso_archive_column(&archive, "spill buffer", ISO_ARCHIVE_HEAP, bytes, &count, &count, 1);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    lseek(descriptor, 0, SEEK_SET);
    iso_spill_free(fixture->spill);
    fixture->spill = open_store(fixture, BITS);
    iso_archive_restore(&archive, descriptor, "archive", &error);
    iso_spill_archive(&archive, fixture->spill);
    iso_archive_close(&archive);
    close(descriptor);
    assert_int_equal(error.status, ISO_FAILED);
    assert_non_null(strstr(error.text, "its parts do not fit each other"));
}

/* A disk that is full fails a put; what was saved before can be gone on with once it is not. */
static void goes_on_after_a_full_disk(void **state)
{
    static uint8_t record[LARGEST];
    struct fixture *fixture = *state;
    struct iso_error error = {.status = ISO_OK};
    struct rlimit limit, small;
    fill(fixture);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = (2 << BITS) + 100; /* in the middle of a segment */
    setrlimit(RLIMIT_FSIZE, &small);
    for (uint32_t i = 0; i < 4000 && error.status == ISO_OK; i++)
        iso_spill_put(fixture->spill, digest_of(DIGESTS + i), false,
                      &(struct iso_spill_record){.bytes = record, .size = LARGEST}, &error);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(error.status, ISO_FAILED);
    assert_non_null(strstr(error.text, "cannot be written"));
    error.status = ISO_OK;
    assert_int_equal(restore(fixture, &error), ISO_OK);
    get_all(fixture);
    fill(fixture);
    get_all(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(survives_crashes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_inspected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notices_any_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notices_another_time_and_place, set_up, tear_down),
        cmocka_unit_test(seeds_differ),
        cmocka_unit_test_setup_teardown(needs_its_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_a_buffer_of_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(goes_on_after_a_full_disk, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
