/* The store of what does not fit into memory: what was put comes back, whatever was cleaned; and
 * what goes wrong is told. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "spill/spill.h"
#include "tests/support/temporary.h"
#include "tests/support/test.h"

enum { DIGESTS = 20000, PUTS = 150000, LARGE = 40000 };

/* The record of a digest at a turn; mostly some tens of bytes. */
static uint32_t record_of(uint64_t digest, uint32_t turn, uint8_t *record)
{
    uint64_t state = digest * 31 + turn + 1;
    uint32_t size = (uint32_t)(test_random(&state) % (turn % 1000 ? 120 : LARGE));
    for (uint32_t i = 0; i < size; i++)
        record[i] = (uint8_t)test_random(&state);
    return size;
}

static uint64_t digest_of(uint32_t number)
{
    uint64_t state = number + 1;
    for (int i = 0; i < 8; i++)
        test_random(&state);
    return number % 4 ? state
                      : (state & 0xff00000000) | (uint64_t)number << 40 |
                            7; /* many of one tag and table */
}

static void expect(struct iso_spill *spill, uint64_t digest, uint32_t turn)
{
    static uint8_t wanted[LARGE];
    struct iso_error error = {.status = ISO_OK};
    const uint8_t *record;
    uint32_t size = 0;
    assert_int_equal(iso_spill_get(spill, digest, &record, &size, &error), ISO_OK);
    if (!turn) {
        assert_null(record);
        return;
    }
    assert_non_null(record);
    assert_int_equal(size, record_of(digest, turn, wanted));
    assert_memory_equal(record, wanted, size);
}

static enum iso_status open_unnamed(const char *place, struct iso_spill **spill,
                                    struct iso_error *error)
{
    return iso_spill_open(&(struct iso_spill_options){.folder = place}, spill, error);
}

static void keeps_what_was_put(void **state)
{
    static uint8_t record[LARGE];
    static uint32_t turns[DIGESTS];
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill_stats stats = {0};
    struct iso_spill *spill;
    uint64_t random = 42;
    (void)state;
    assert_int_equal(open_unnamed(temporary_folder(), &spill, &error), ISO_OK);
    for (uint32_t turn = 1; turn <= PUTS; turn++) {
        uint32_t number = (uint32_t)(test_random(&random) % DIGESTS);

        uint32_t size = record_of(digest_of(number), turn, record);
        assert_int_equal(iso_spill_put(spill, digest_of(number), turns[number],
                                       &(struct iso_spill_record){.bytes = record, .size = size},
                                       &error),
                         ISO_OK);
        turns[number] = turn;
        if (turn % 7 == 0) {
            assert_int_equal(iso_spill_remove(spill, digest_of(number), &error), ISO_OK);
            turns[number] = 0;
        }
        if (turn % 16 == 0) {
            number = (uint32_t)(test_random(&random) % DIGESTS);
            expect(spill, digest_of(number), turns[number]);
        }
    }
    uint64_t put = 0;
    for (uint32_t number = 0; number < DIGESTS; number++) {
        expect(spill, digest_of(number), turns[number]);
        put += turns[number] > 0;
    }
    expect(spill, UINT64_C(0xab) << 56, 0);
    iso_spill_stats(spill, &stats);
    assert_int_equal(stats.records, put);
    assert_true(stats.moved > 0); /* it was cleaned, */
    assert_true(stats.disk <
                stats.written - stats.moved); /* so that the file is smaller than what was put */
    iso_spill_free(spill);
}

/* Once many records were removed, one put cleans many segments: what is moved may fill the one that
 * it was to go to. */
static void cleans_many_segments_at_once(void **state)
{
    enum { BITS = 12, MOST = 1 << (BITS - 2), KEYS = 3000, ROUNDS = 20 };
    static uint8_t record[MOST];
    static uint32_t sizes[KEYS];
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill_stats stats = {0};
    struct iso_spill_options options = {.folder = temporary_folder(), .segment_bits = BITS};
    struct iso_spill *spill;
    const uint8_t *found;
    uint64_t random = 43;
    (void)state;
    assert_int_equal(iso_spill_open(&options, &spill, &error), ISO_OK);
    for (uint32_t turn = 0; turn < ROUNDS * KEYS; turn++) {
        uint32_t number = turn % KEYS, size = 0;
        assert_int_equal(iso_spill_get(spill, number, &found, &size, &error), ISO_OK);
        assert_int_equal(found ? size : 0, sizes[number]);
        memset(record, (int)(number + sizes[number]), sizes[number]);
        if (found)
            assert_memory_equal(found, record, size);
        size = 1 + (uint32_t)(test_random(&random) % MOST);
        memset(record, (int)(number + size), size);
        assert_int_equal(iso_spill_put(spill, number, sizes[number],
                                       &(struct iso_spill_record){.bytes = record, .size = size},
                                       &error),
                         ISO_OK);
        sizes[number] = size;
        for (uint32_t i = 0; number == KEYS - 1 && i < KEYS; i++) {
            if (test_random(&random) % 3 == 0)
                continue;
            assert_int_equal(iso_spill_remove(spill, i, &error), ISO_OK);
            sizes[i] = 0;
        }
    }
    iso_spill_stats(spill, &stats);
    assert_true(stats.moved > 0);
    iso_spill_free(spill);
}

/* ---- what expires ---- */

enum { LAPSING_BITS = 14, NUMBERS = 2000, LASTS = 400, VISITS = 60000 };

/* Of a record, this is what stays; what is behind it expires with it if it is one of every
 * fifth. */
struct stays {
    uint32_t number;
    uint64_t until;
};

struct expiring {
    struct iso_spill *spill;
    uint64_t floor;
    uint64_t until[NUMBERS]; /* 0: nothing was put */
    uint32_t size[NUMBERS];
    uint32_t cut, removed;
};

static bool goes_wholly(uint32_t number)
{
    return number % 5 == 0;
}

static uint32_t expiring_of(uint32_t number, uint32_t size)
{
    return goes_wholly(number) ? size : size - (uint32_t)sizeof(struct stays);
}

static void cut(void *owner, struct iso_spill_record *record)
{
    struct expiring *expiring = owner;
    struct stays stays;
    memcpy(&stays, record->bytes, sizeof stays);
    record->until = stays.until;
    record->expiring = expiring_of(stays.number, record->size);
    if (stays.until >= expiring->floor || !record->expiring)
        return;
    record->size -= record->expiring;
    record->expiring = 0;
    expiring->cut++;
    expiring->removed += !record->size;
}

static void put_expiring(struct expiring *expiring, uint32_t number, uint32_t size, uint64_t until)
{
    static uint8_t bytes[1000];
    struct iso_error error = {.status = ISO_OK};
    struct stays stays = {number, until};
    const uint8_t *found;
    uint32_t found_size;
    memset(bytes, (int)number, size);
    memset(bytes, 0, sizeof stays);
    memcpy(bytes, &stays, sizeof stays);
    assert_int_equal(iso_spill_get(expiring->spill, digest_of(number), &found, &found_size, &error),
                     ISO_OK);
    struct iso_spill_record record = {bytes, size, expiring_of(number, size), until};
    assert_int_equal(iso_spill_put(expiring->spill, digest_of(number), found, &record, &error),
                     ISO_OK);
    expiring->until[number] = until;
    expiring->size[number] = size;
}

/* All of it, or if it has expired, what stays. */
static void expect_rest(const struct expiring *expiring, uint32_t number)
{
    struct iso_error error = {.status = ISO_OK};
    const uint8_t *found;
    uint32_t size = 0;
    struct stays stays;
    bool expired = expiring->until[number] < expiring->floor;
    assert_int_equal(iso_spill_get(expiring->spill, digest_of(number), &found, &size, &error),
                     ISO_OK);
    if (!found) {
        assert_true(!expiring->until[number] || (expired && goes_wholly(number)));
        return;
    }
    memcpy(&stays, found, sizeof stays);
    assert_int_equal(stays.number, number);
    assert_int_equal(stays.until, expiring->until[number]);
    assert_true(size == expiring->size[number] || (expired && size == sizeof stays));
    for (uint32_t i = sizeof stays; i < size; i++)
        assert_int_equal(found[i], number & 255);
}

/* Records that nobody puts any more shrink once the floor has passed them, and the file is bounded
 * by what stays. */
static void drops_what_has_expired(void **state)
{
    static struct expiring expiring;
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill_stats stats = {0};
    struct iso_spill_options options = {
        .folder = temporary_folder(), .segment_bits = LAPSING_BITS, .cut = cut, .owner = &expiring};
    uint64_t random = 44;
    (void)state;
    assert_int_equal(iso_spill_open(&options, &expiring.spill, &error), ISO_OK);
    for (uint32_t turn = 1; turn <= VISITS; turn++) { /* some numbers at a time, and on */
        uint32_t number = (turn / 20 + (uint32_t)(test_random(&random) % 10)) % NUMBERS;
        expiring.floor = turn;
        iso_spill_advance(expiring.spill, turn);
        put_expiring(&expiring, number, 500 + (uint32_t)(test_random(&random) % 500), turn + LASTS);
        expect_rest(&expiring, (uint32_t)(test_random(&random) % NUMBERS));
    }
    for (uint32_t number = 0; number < NUMBERS; number++)
        expect_rest(&expiring, number);
    iso_spill_stats(expiring.spill, &stats);
    assert_int_equal(stats.cut, expiring.cut);
    assert_true(expiring.cut > 1000 && expiring.removed > 100);
    assert_in_range(stats.records, NUMBERS * 4 / 5, NUMBERS * 9 / 10);
    uint64_t stays = NUMBERS * 32,
             lasts = LASTS * 1016; /* with their heads; all that was put lately */
    assert_in_range(stats.disk, stays, 2 * (stays + lasts) + 4 * (1 << LAPSING_BITS));
    assert_in_range(stats.living, stays / 2, stays + lasts);
    assert_in_range(stats.used, stats.living, 2 * stats.living + (1 << LAPSING_BITS));
    assert_true(stats.written > 20 * stats.disk);
    iso_spill_free(expiring.spill);
}

/* The store's file, which has no name. */
static int file_of_store(void)
{
    DIR *files = opendir("/proc/self/fd");
    struct dirent *entry;
    int found = -1;
    assert_non_null(files);
    while ((entry = readdir(files))) {
        char link[512];
        ssize_t length = readlinkat(dirfd(files), entry->d_name, link, sizeof link - 1);
        link[length > 0 ? length : 0] = 0;
        if (strstr(link, "isochron-spill-"))
            found = atoi(entry->d_name);
    }
    closedir(files);
    return found;
}

static void put_many(struct iso_spill *spill, uint32_t count, struct iso_error *error)
{
    static uint8_t record[4096];
    for (uint32_t i = 0; i < count && error->status == ISO_OK; i++)
        iso_spill_put(spill, digest_of(i * 4 + 1), false,
                      &(struct iso_spill_record){.bytes = record, .size = sizeof record}, error);
}

static void notices_damage(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill *spill;
    const uint8_t *record;
    uint32_t size;
    (void)state;
    for (off_t at = 0; at < 40; at += 3) { /* its size, its checksum, its digest, its content */
        assert_int_equal(open_unnamed(temporary_folder(), &spill, &error), ISO_OK);
        put_many(spill, 400, &error);
        assert_int_equal(error.status, ISO_OK);
        uint8_t byte;
        assert_int_equal(pread(file_of_store(), &byte, 1, at), 1);
        byte ^= 0x40;
        assert_int_equal(pwrite(file_of_store(), &byte, 1, at), 1);
        assert_int_equal(iso_spill_get(spill, digest_of(1), &record, &size, &error), ISO_FAILED);
        assert_non_null(strstr(error.text, temporary_folder()));
        assert_non_null(strstr(error.text, "not contain what was written"));
        error.status = ISO_OK;
        iso_spill_free(spill);
    }
}

static void notices_a_short_file(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill *spill;
    const uint8_t *record;
    uint32_t size;
    (void)state;
    assert_int_equal(open_unnamed(temporary_folder(), &spill, &error), ISO_OK);
    put_many(spill, 400, &error);
    assert_int_equal(ftruncate(file_of_store(), 0), 0);
    assert_int_equal(iso_spill_get(spill, digest_of(1), &record, &size, &error), ISO_FAILED);
    assert_non_null(strstr(error.text, "cannot be read"));
    iso_spill_free(spill);
}

static void tells_of_a_full_disk(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    struct rlimit limit, small;
    struct iso_spill *spill;
    (void)state;
    assert_int_equal(open_unnamed(temporary_folder(), &spill, &error), ISO_OK);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = (5 << 20) / 2;
    setrlimit(RLIMIT_FSIZE, &small);
    put_many(spill, 4000, &error);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(error.status, ISO_FAILED);
    assert_non_null(strstr(error.text, "cannot be written"));
    assert_non_null(strstr(error.text, temporary_folder()));
    iso_spill_free(spill);
}

static void needs_a_folder(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_spill *spill = NULL;
    (void)state;
    assert_int_equal(open_unnamed("/nowhere/at/all", &spill, &error), ISO_FAILED);
    assert_null(spill);
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_was_put),     cmocka_unit_test(cleans_many_segments_at_once),
        cmocka_unit_test(drops_what_has_expired), cmocka_unit_test(notices_damage),
        cmocka_unit_test(notices_a_short_file),   cmocka_unit_test(tells_of_a_full_disk),
        cmocka_unit_test(needs_a_folder),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
