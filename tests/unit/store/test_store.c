/* A state directory: what comes back, what damage is noticed, who may use it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"
#include "tests/support/test.h"

enum { NUMBERS = 500, RECORDS = 40 };

/* A state of two columns and a value; `fails` breaks the walk. */
struct numbers {
    uint64_t sum;
    uint32_t *list, *twin;
    uint32_t count, capacity;
    bool fails;
};

static void walk(void *context, struct iso_archive *archive)
{
    struct numbers *numbers = context;
    ISO_ARCHIVE_VALUE(archive, numbers->sum);
    ISO_ARCHIVE_ANY(archive, "list", ISO_ARCHIVE_HEAP, numbers->list, numbers->count,
                    numbers->capacity);
    ISO_ARCHIVE_ANY(archive, "twin", ISO_ARCHIVE_HEAP, numbers->twin, numbers->count,
                    numbers->capacity);
    iso_archive_expect(archive, !numbers->fails);
}

static struct numbers some_numbers(void)
{
    struct numbers numbers = {.count = NUMBERS, .capacity = NUMBERS + 7};
    numbers.list = calloc(numbers.capacity, sizeof *numbers.list);
    numbers.twin = calloc(numbers.capacity, sizeof *numbers.twin);
    for (uint32_t i = 0; i < NUMBERS; i++)
        numbers.sum += numbers.list[i] = numbers.twin[i] = i * 2654435761u;
    return numbers;
}

static void release(struct numbers *numbers)
{
    free(numbers->list);
    free(numbers->twin);
    *numbers = (struct numbers){0};
}

struct place {
    char path[128], file[192];
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    snprintf(place->path, sizeof place->path, "/tmp/iso-store-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[192];
    snprintf(command, sizeof command, "rm -rf %s", place->path);
    int status = system(command);
    free(place);
    return status;
}

static const char *file_of(struct place *place, const char *name)
{
    snprintf(place->file, sizeof place->file, "%s/%s", place->path, name);
    return place->file;
}

static struct iso_store *open_store(const struct place *place, struct iso_error *error)
{
    *error = (struct iso_error){.status = ISO_OK};
    return iso_store_open(&(struct iso_store_options){.path = place->path}, error);
}

static void append_some(struct iso_store *store, uint32_t first, uint32_t count)
{
    struct iso_error error = {.status = ISO_OK};
    for (uint32_t i = first; i < first + count; i++) {
        char text[64];
        int length = snprintf(text, sizeof text, "record %u", i);
        assert_int_equal(
            iso_store_append(store, 1 + i % 3, text, i % 5 ? (size_t)length : 0, &error), ISO_OK);
    }
    assert_int_equal(iso_store_sync(store, true, &error), ISO_OK);
}

/* Records from `first` on as append_some makes them; how many there are. Any other content fails
 * the test. */
static uint32_t read_records(struct iso_store *store, uint32_t first, struct iso_error *error)
{
    struct iso_store_record record;
    uint32_t i = first;
    for (; iso_store_next(store, &record, error); i++) {
        char text[64];
        int length = snprintf(text, sizeof text, "record %u", i);
        assert_int_equal(record.type, 1 + i % 3);
        assert_int_equal(record.size, i % 5 ? length : 0);
        assert_memory_equal(record.bytes, text, record.size);
    }
    return i - first;
}

/* A directory with a snapshot and records. */
static void fill(const struct place *place)
{
    struct iso_error error;
    struct numbers numbers = some_numbers();
    struct iso_store *store = open_store(place, &error);
    assert_non_null(store);
    assert_true(iso_store_is_new(store));
    assert_int_equal(iso_store_begin(store, walk, &numbers, &error), ISO_OK);
    append_some(store, 0, RECORDS);
    iso_store_close(store);
    release(&numbers);
}

static void test_comes_back(void **state)
{
    struct place *place = *state;
    struct iso_error error;
    struct numbers numbers = {0}, expected = some_numbers();
    uint64_t torn;
    fill(place);
    struct iso_store *store = open_store(place, &error);
    assert_non_null(store);
    assert_false(iso_store_is_new(store));
    assert_int_equal(iso_store_restore(store, walk, &numbers, &error), ISO_OK);
    assert_int_equal(numbers.sum, expected.sum);
    assert_int_equal(numbers.count, NUMBERS);
    assert_int_equal(numbers.capacity, NUMBERS + 7);
    assert_memory_equal(numbers.list, expected.list, NUMBERS * sizeof *numbers.list);
    assert_int_equal(read_records(store, 0, &error), RECORDS);
    iso_store_rewind(store);
    assert_int_equal(read_records(store, 0, &error), RECORDS);
    assert_int_equal(iso_store_resume(store, &torn, &error), ISO_OK);
    assert_int_equal(torn, 0);
    append_some(store, RECORDS, 3);
    iso_store_close(store);
    store = open_store(place, &error);
    assert_int_equal(read_records(store, 0, &error), RECORDS + 3);
    iso_store_close(store);
    release(&numbers);
    release(&expected);
}

/* Until the snapshot is committed a restart begins at the old one and reads both journals. */
static void test_snapshots(void **state)
{
    struct place *place = *state;
    struct iso_error error;
    struct numbers numbers = some_numbers(), found = {0};
    uint64_t torn;
    fill(place);
    struct iso_store *store = open_store(place, &error);
    read_records(store, 0, &error);
    assert_int_equal(iso_store_resume(store, &torn, &error), ISO_OK);
    numbers.sum = 17;
    assert_int_equal(iso_store_snapshot(store, walk, &numbers, &error), ISO_OK);
    numbers.sum = 18; /* after the fork: not in it */
    append_some(store, RECORDS, 5);
    assert_int_equal(iso_store_look(store, true, &error), ISO_STORE_WRITTEN);
    iso_store_close(store);

    store = open_store(place, &error);
    assert_int_equal(iso_store_generation(store), 1);
    assert_int_equal(read_records(store, 0, &error), RECORDS + 5);
    assert_int_equal(iso_store_resume(store, &torn, &error), ISO_OK);
    numbers.sum = 19;
    assert_int_equal(iso_store_snapshot(store, walk, &numbers, &error), ISO_OK);
    append_some(store, 0, 2);
    assert_int_equal(iso_store_look(store, true, &error), ISO_STORE_WRITTEN);
    assert_int_equal(iso_store_commit(store, &error), ISO_OK);
    assert_int_equal(iso_store_look(store, true, &error), ISO_STORE_IDLE);
    assert_int_equal(access(file_of(place, "snapshot-1"), F_OK), -1);
    assert_int_equal(access(file_of(place, "journal-1"), F_OK), -1);
    assert_int_equal(access(file_of(place, "journal-2"), F_OK), -1);
    iso_store_close(store);

    store = open_store(place, &error);
    assert_int_equal(iso_store_generation(store), 3);
    assert_int_equal(iso_store_restore(store, walk, &found, &error), ISO_OK);
    assert_int_equal(found.sum, 19);
    assert_int_equal(read_records(store, 0, &error), 2);
    iso_store_close(store);
    release(&numbers);
    release(&found);
}

static void test_failing_child(void **state)
{
    struct place *place = *state;
    struct iso_error error;
    struct numbers numbers = some_numbers();
    uint64_t torn;
    fill(place);
    struct iso_store *store = open_store(place, &error);
    read_records(store, 0, &error);
    assert_int_equal(iso_store_resume(store, &torn, &error), ISO_OK);
    numbers.fails = true;
    assert_int_equal(iso_store_snapshot(store, walk, &numbers, &error), ISO_OK);
    assert_int_equal(iso_store_look(store, true, &error), ISO_STORE_IDLE);
    assert_int_equal(error.status, ISO_FAILED);
    iso_store_close(store);
    store = open_store(place, &error);
    assert_int_equal(read_records(store, 0, &error), RECORDS);
    assert_int_equal(error.status, ISO_OK);
    iso_store_close(store);
    release(&numbers);
}

static void test_lock(void **state)
{
    struct place *place = *state;
    struct iso_error error, other;
    char number[32];
    struct iso_store *store = open_store(place, &error);
    assert_non_null(store);
    assert_null(open_store(place, &other));
    assert_int_equal(other.status, ISO_FAILED);
    snprintf(number, sizeof number, "process %ld", (long)getpid());
    assert_non_null(strstr(other.text, number));
    iso_store_close(store);
    store = open_store(place, &error);
    assert_non_null(store);
    iso_store_close(store);
}

/* ---- damage ---- */

static void overwrite(const char *path, size_t at, uint8_t byte)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0 && pwrite(file, &byte, 1, (off_t)at) == 1);
    close(file);
}

static enum iso_status restore_status(const struct place *place)
{
    struct iso_error error;
    struct numbers numbers = {0};
    struct iso_store *store = open_store(place, &error);
    if (store)
        iso_store_restore(store, walk, &numbers, &error);
    iso_store_close(store);
    release(&numbers);
    return error.status;
}

static void test_every_byte_of_a_snapshot(void **state)
{
    struct place *place = *state;
    size_t length;
    fill(place);
    char *bytes = test_read_file(file_of(place, "snapshot-1"), &length);
    for (size_t at = 0; at < length; at++) {
        overwrite(place->file, at, (uint8_t)(bytes[at] ^ (1 << at % 8)));
        assert_int_equal(restore_status(place), ISO_FAILED);
        overwrite(place->file, at, (uint8_t)bytes[at]);
    }
    assert_int_equal(restore_status(place), ISO_OK);
    for (size_t cut = 0; cut < length; cut += 1 + cut / 64) {
        assert_int_equal(truncate(place->file, 0), 0);
        int file = open(place->file, O_WRONLY | O_CLOEXEC);
        assert_int_equal(write(file, bytes, cut), cut);
        close(file);
        assert_int_equal(restore_status(place), ISO_FAILED);
    }
    int file = open(place->file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(file, bytes, length), length);
    assert_int_equal(write(file, "x", 1), 1);
    close(file);
    assert_int_equal(restore_status(place), ISO_FAILED);
    free(bytes);
}

/* A changed record is an error, or the end of what is read, which is told; never other records than
 * were appended. */
static void test_every_byte_of_a_journal(void **state)
{
    struct place *place = *state;
    struct iso_error error;
    size_t length;
    uint32_t refused = 0, torn = 0;
    fill(place);
    char *bytes = test_read_file(file_of(place, "journal-1"), &length);
    for (size_t at = 0; at < length; at++) {
        overwrite(file_of(place, "journal-1"), at, (uint8_t)(bytes[at] ^ (1 << at % 8)));
        struct iso_store *store = open_store(place, &error);
        uint32_t count = read_records(store, 0, &error);
        if (error.status != ISO_OK) {
            refused++;
        } else {
            assert_int_equal(count, RECORDS - 1); /* only the last one can pass for torn */
            assert_true(iso_store_torn(store) > 0);
            assert_true(iso_store_is_altered(store)); /* and even that one is found out */
            torn++;
        }
        iso_store_close(store);
        overwrite(place->file, at, (uint8_t)bytes[at]);
    }
    assert_true(refused > 0 && torn > 0 && torn <= 24 + sizeof "record 99");
    free(bytes);
}

/* A machine that died: the file had its length, and of its last record only the first page. */
static void test_hole_in_a_journal(void **state)
{
    enum { PAGE = 4096, SIZE = 3 * PAGE };
    struct place *place = *state;
    struct iso_error error;
    uint8_t *content = malloc(SIZE);
    size_t length;
    uint64_t torn;
    memset(content, 'x', SIZE);
    fill(place);
    for (int altered = 1; altered >= 0; altered--) {
        struct iso_store *store = open_store(place, &error);
        read_records(store, 0, &error);
        assert_int_equal(iso_store_resume(store, &torn, &error), ISO_OK);
        assert_int_equal(iso_store_append(store, 7, content, SIZE, &error), ISO_OK);
        iso_store_close(store);
        free(test_read_file(file_of(place, "journal-1"), &length));
        for (size_t at = (length / PAGE) * PAGE; at < length && !altered; at++)
            overwrite(place->file, at, 0);
        if (altered)
            overwrite(place->file, length - PAGE, 'y');
        store = open_store(place, &error);
        assert_int_equal(read_records(store, 0, &error), RECORDS);
        assert_true(iso_store_torn(store) > SIZE);
        assert_int_equal(iso_store_is_altered(store), altered);
        iso_store_close(store);
    }
    free(content);
}

static void test_every_length_of_a_journal(void **state)
{
    struct place *place = *state;
    struct iso_error error;
    size_t length;
    uint64_t torn;
    fill(place);
    char *bytes = test_read_file(file_of(place, "journal-1"), &length);
    for (size_t cut = length; cut-- > 0;) {
        assert_int_equal(truncate(file_of(place, "journal-1"), (off_t)cut), 0);
        struct iso_store *store = open_store(place, &error);
        uint32_t count = read_records(store, 0, &error);
        assert_int_equal(error.status, ISO_OK);
        assert_true(count < RECORDS);
        assert_false(iso_store_is_altered(store));
        if (cut % 97 == 0) { /* goes on from there */
            assert_int_equal(iso_store_resume(store, &torn, &error), ISO_OK);
            append_some(store, count, 2);
            iso_store_close(store);
            store = open_store(place, &error);
            assert_int_equal(read_records(store, 0, &error), count + 2);
            assert_int_equal(truncate(file_of(place, "journal-1"), (off_t)cut), 0);
        }
        iso_store_close(store);
    }
    free(bytes);
}

/* The machine died: the end of a journal is lost, the next one is there. */
static void test_torn_in_the_middle(void **state)
{
    struct place *place = *state;
    struct iso_error error;
    struct numbers numbers = some_numbers();
    struct stat status;
    uint64_t torn;
    fill(place);
    struct iso_store *store = open_store(place, &error);
    read_records(store, 0, &error);
    assert_int_equal(iso_store_resume(store, &torn, &error), ISO_OK);
    assert_int_equal(iso_store_snapshot(store, walk, &numbers, &error), ISO_OK);
    append_some(store, RECORDS, 5);
    iso_store_close(store);
    assert_int_equal(stat(file_of(place, "journal-1"), &status), 0);
    assert_int_equal(truncate(place->file, status.st_size - 30), 0);
    store = open_store(place, &error);
    assert_int_equal(read_records(store, 0, &error), RECORDS - 1);
    assert_int_equal(error.status, ISO_OK);
    assert_int_equal(iso_store_resume(store, &torn, &error), ISO_OK);
    assert_true(torn > 100);
    assert_int_equal(access(file_of(place, "journal-2"), F_OK), -1);
    append_some(store, RECORDS - 1, 1);
    iso_store_close(store);
    store = open_store(place, &error);
    assert_int_equal(read_records(store, 0, &error), RECORDS);
    iso_store_close(store);
    release(&numbers);
}

static void test_missing_files(void **state)
{
    struct place *place = *state;
    struct iso_error error;
    fill(place);
    char other[192];
    snprintf(other, sizeof other, "%s/away", place->path);
    assert_int_equal(rename(file_of(place, "journal-1"), other), 0);
    assert_null(open_store(place, &error));
    assert_int_equal(error.status, ISO_FAILED);
    assert_int_equal(rename(other, file_of(place, "journal-2")), 0);
    assert_int_equal(unlink(file_of(place, "snapshot-1")), 0);
    assert_null(open_store(place, &error));
    assert_int_equal(error.status, ISO_FAILED);
}

/* A journal put under another's name. */
static void test_exchanged_journals(void **state)
{
    struct place *place = *state;
    struct iso_error error;
    char other[192];
    fill(place);
    snprintf(other, sizeof other, "%s/snapshot-2", place->path);
    assert_int_equal(rename(file_of(place, "snapshot-1"), other), 0);
    snprintf(other, sizeof other, "%s/journal-2", place->path);
    assert_int_equal(rename(file_of(place, "journal-1"), other), 0);
    struct iso_store *store = open_store(place, &error);
    assert_non_null(store);
    assert_int_equal(read_records(store, 0, &error), 0);
    assert_int_equal(error.status, ISO_FAILED);
    iso_store_close(store);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_comes_back),
        TEST(test_snapshots),
        TEST(test_failing_child),
        TEST(test_lock),
        TEST(test_every_byte_of_a_snapshot),
        TEST(test_every_byte_of_a_journal),
        TEST(test_hole_in_a_journal),
        TEST(test_every_length_of_a_journal),
        TEST(test_torn_in_the_middle),
        TEST(test_missing_files),
        TEST(test_exchanged_journals),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
