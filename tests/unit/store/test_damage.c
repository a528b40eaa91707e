/* A checkpoint that somebody or something altered: one byte of every kind in every item of a real
 * snapshot, cut at and within every item, items exchanged, left out and repeated, the lock. It is
 * refused by name, and nothing is used. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/archive.h"
#include "store/store.h"
#include "tests/support/midway.h"
#include "tests/support/test.h"

enum { MOST_ITEMS = 1000, LARGEST = 1 << 20, NOBODY = 65534 };

struct place {
    char path[128], snapshot[160];
    struct iso_store *store;
    uint8_t *bytes; /* of the snapshot */
    size_t size;
    size_t item[MOST_ITEMS + 1]; /* where each begins; the end */
    uint32_t items, tried;
};

static void walk(void *context, struct iso_archive *archive)
{
    iso_pipeline_archive(archive, context);
}

static void write_snapshot(const struct place *place, const uint8_t *bytes, size_t size)
{
    int file = open(place->snapshot, O_WRONLY); /* not O_TRUNC: file systems then write at once */
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    assert_int_equal(ftruncate(file, (off_t)size), 0);
    close(file);
}

static struct iso_store *open_store(const struct place *place, struct iso_error *error)
{
    *error = (struct iso_error){.status = ISO_OK};
    return iso_store_open(&(struct iso_store_options){.path = place->path}, error);
}

static enum iso_status restore(struct iso_store *store, struct iso_error *error)
{
    struct iso_pipeline *pipeline = midway_new();
    *error = (struct iso_error){.status = ISO_OK};
    iso_store_restore(store, walk, pipeline, error);
    iso_pipeline_free(pipeline);
    return error->status;
}

/* As `state verify` does. */
static void examine(void *context, struct iso_archive *archive)
{
    struct iso_archive_item item;
    (void)context;
    while (iso_archive_next(archive, &item, NULL, NULL))
        continue;
}

static bool is_refusal(const struct iso_error *error)
{
    return error->status == ISO_FAILED && strstr(error->text, "/snapshot-1: ") &&
           (strstr(error->text, "damaged at byte") ||
            strstr(error->text, "written by another version"));
}

/* Altered like this it is refused, and the file named: when it is verified, and, each 31st time,
 * restored. */
static void refuses(struct place *place, const char *what, size_t at)
{
    struct iso_error error = {.status = ISO_OK};
    iso_store_examine(place->store, examine, NULL, &error);
    bool refused = is_refusal(&error);
    if (refused && place->tried++ % 31 == 0) {
        restore(place->store, &error);
        refused = is_refusal(&error);
    }
    if (refused)
        return;
    print_error("%s at byte %zu of %zu: status %d, %s\n", what, at, place->size, (int)error.status,
                error.text);
    fail();
}

static void find_items(struct place *place)
{
    struct iso_archive_item item;
    for (size_t at = 0; at < place->size; at += sizeof item + item.count * item.element) {
        assert_true(place->items < MOST_ITEMS && at + sizeof item <= place->size);
        memcpy(&item, place->bytes + at, sizeof item);
        place->item[place->items++] = at;
    }
    place->item[place->items] = place->size;
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline *pipeline = midway_new();
    snprintf(place->path, sizeof place->path, "/tmp/iso-damage-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    snprintf(place->snapshot, sizeof place->snapshot, "%s/snapshot-1", place->path);
    midway_fill(pipeline);
    struct iso_store *store = open_store(place, &error);
    assert_non_null(store);
    assert_int_equal(iso_store_begin(store, walk, pipeline, &error), ISO_OK);
    iso_store_close(store);
    iso_pipeline_free(pipeline);
    place->store = open_store(place, &error);
    assert_non_null(place->store);
    place->bytes = malloc(LARGEST);
    int file = open(place->snapshot, O_RDONLY);
    ssize_t size = read(file, place->bytes, LARGEST);
    close(file);
    assert_true(size > 0 && size < LARGEST);
    place->size = (size_t)size;
    find_items(place);
    *state = place;
    return restore(place->store, &error) == ISO_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[192];
    snprintf(command, sizeof command, "rm -rf %s", place->path);
    iso_store_close(place->store);
    int status = system(command);
    free(place->bytes);
    free(place);
    return status;
}

/* ---- bytes ---- */

static void alter(struct place *place, int file, size_t at, const char *what)
{
    uint8_t altered = place->bytes[at] ^ (uint8_t)(1u << at % 8);
    assert_int_equal(pwrite(file, &altered, 1, (off_t)at), 1);
    refuses(place, what, at);
    assert_int_equal(pwrite(file, &place->bytes[at], 1, (off_t)at), 1);
}

/* Each member of each head: one of its bytes, another one from item to item. */
static void every_member_of_every_head(void **state)
{
    static const struct {
        const char *name;
        size_t at, size;
    } members[] = {
#define MEMBER(name)                                                                               \
    {#name, offsetof(struct iso_archive_item, name), sizeof(((struct iso_archive_item *)0)->name)}
        MEMBER(name),     MEMBER(element), MEMBER(number), MEMBER(count),
        MEMBER(capacity), MEMBER(content), MEMBER(head),
    };
    struct place *place = *state;
    int file = open(place->snapshot, O_RDWR);
    for (uint32_t i = 0; i < place->items; i++)
        for (size_t m = 0; m < sizeof members / sizeof *members; m++)
            alter(place, file, place->item[i] + members[m].at + i % members[m].size,
                  members[m].name);
    print_message("%zu places\n", place->items * (sizeof members / sizeof *members));
    close(file);
}

/* Content: its first and last byte and one in its middle. */
static void content_of_every_item(void **state)
{
    struct place *place = *state;
    int file = open(place->snapshot, O_RDWR);
    uint32_t tried = 0;
    for (uint32_t i = 0; i < place->items; i++) {
        size_t from = place->item[i] + sizeof(struct iso_archive_item), to = place->item[i + 1];
        for (size_t part = 0; part < 3 && from < to; part++, tried++)
            alter(place, file, from + (to - from - 1) * part / 2, "content");
    }
    print_message("%u places\n", tried);
    assert_true(tried > 100);
    close(file);
}

/* ---- lengths and order ---- */

static void every_length_of_an_item(void **state)
{
    struct place *place = *state;
    for (uint32_t i = place->items; i-- > 0;) {
        size_t from = place->item[i], to = place->item[i + 1],
               head = sizeof(struct iso_archive_item);
        const size_t lengths[] = {to - 1, from + head + (to - from - head) / 2, from + head - 1,
                                  from + 1, from};
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            if (lengths[l] >= to)
                continue; /* an item without content */
            assert_int_equal(truncate(place->snapshot, (off_t)lengths[l]), 0);
            refuses(place, "cut", lengths[l]);
        }
    }
    write_snapshot(place, place->bytes, place->size);
    int file = open(place->snapshot, O_WRONLY | O_APPEND);
    assert_int_equal(write(file, "", 1), 1);
    close(file);
    refuses(place, "longer by a byte", place->size);
    write_snapshot(place, place->bytes, place->size);
}

/* Copies items [first, last) to the end of a file that is being put together. */
static size_t put_items(const struct place *place, uint8_t *bytes, size_t used, uint32_t first,
                        uint32_t last)
{
    memcpy(bytes + used, place->bytes + place->item[first], place->item[last] - place->item[first]);
    return used + place->item[last] - place->item[first];
}

static void items_out_of_order(void **state)
{
    struct place *place = *state;
    uint8_t *bytes = malloc(2 * LARGEST);
    for (uint32_t i = 0; i < place->items; i++) {
        size_t used = put_items(place, bytes, 0, 0, i);
        write_snapshot(place, bytes, put_items(place, bytes, used, i + 1, place->items));
        refuses(place, "an item left out", place->item[i]);
        used = put_items(place, bytes, 0, 0, i + 1);
        write_snapshot(place, bytes, put_items(place, bytes, used, i, place->items));
        refuses(place, "an item twice", place->item[i]);
        if (i + 1 == place->items)
            break;
        used = put_items(place, bytes, put_items(place, bytes, 0, 0, i), i + 1, i + 2);
        used = put_items(place, bytes, used, i, i + 1);
        write_snapshot(place, bytes, put_items(place, bytes, used, i + 2, place->items));
        refuses(place, "two items exchanged", place->item[i]);
    }
    free(bytes);
    write_snapshot(place, place->bytes, place->size);
}

/* The same state an hour later, as bytes: as long, and its items stand where they stand here. */
static uint8_t *an_hour_later(const struct place *place)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline *pipeline = midway_new();
    struct iso_archive archive;
    uint8_t *bytes = malloc(LARGEST);
    int file = memfd_create("later", MFD_CLOEXEC);
    assert_true(file >= 0);
    midway_fill(pipeline);
    assert_int_equal(iso_pipeline_tick(pipeline, 3600 * 1000, &error), ISO_OK);
    iso_archive_save(&archive, file, "later", &error);
    iso_pipeline_archive(&archive, pipeline);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    assert_int_equal(pread(file, bytes, LARGEST, 0), place->size);
    close(file);
    iso_pipeline_free(pipeline);
    return bytes;
}

/* Each item is whole, and in its place. */
static void items_of_two_snapshots(void **state)
{
    struct place *place = *state;
    uint8_t *later = an_hour_later(place), *mixed = malloc(LARGEST);
    uint32_t other = 0;
    for (uint32_t i = 0; i + 1 < place->items; i++) {
        size_t from = place->item[i], size = place->item[i + 1] - from;
        const size_t content = sizeof(struct iso_archive_item);
        if (size == content ||
            !memcmp(place->bytes + from + content, later + from + content, size - content))
            continue;
        memcpy(mixed, place->bytes, place->size);
        memcpy(mixed + from, later + from, size);
        write_snapshot(place, mixed, place->size);
        refuses(place, "an item of another snapshot", from);
        memcpy(mixed + from, later + from, place->size - from);
        write_snapshot(place, mixed, place->size);
        if (other++)
            refuses(place, "all items from one on of another snapshot", from);
    }
    assert_true(other > 1);
    free(mixed);
    free(later);
    write_snapshot(place, place->bytes, place->size);
}

/* ---- the lock ---- */

/* What stands in it is for people: it may say anything. But it must be a file that can be
 * locked. */
static void lock(void **state)
{
    struct place *place = *state;
    struct iso_error error = {.status = ISO_OK};
    char path[160], text[300];
    snprintf(path, sizeof path, "%s/lock", place->path);
    memset(text, 0xff, sizeof text);
    iso_store_close(place->store);
    int file = open(path, O_RDWR | O_TRUNC);
    assert_int_equal(write(file, text, sizeof text), sizeof text);
    close(file);
    for (int gone = 0; gone < 2; gone++) {
        place->store = open_store(place, &error);
        assert_non_null(place->store);
        assert_int_equal(restore(place->store, &error), ISO_OK);
        iso_store_close(place->store);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(mkdir(path, 0700), 0);
    place->store = open_store(place, &error);
    assert_null(place->store);
    assert_non_null(strstr(error.text, "/lock: cannot be opened: "));
    assert_int_equal(rmdir(path), 0);
}

/* A copy that may only be read is verified, with the lock that it has, or without one where it has
 * none; it is not gone on with. */
static void only_for_reading(void **state)
{
    struct place *place = *state;
    struct iso_error error = {.status = ISO_OK};
    struct iso_store_options options = {.path = place->path, .must_exist = true};
    char path[160];
    uid_t self = geteuid();
    char command[192];
    snprintf(command, sizeof command, "chmod -R a+rX,a-w %s", place->path);
    snprintf(path, sizeof path, "%s/lock", place->path);
    iso_store_close(place->store);
    place->store = NULL;
    for (int gone = 0; gone < 2; gone++) {
        assert_int_equal(system(command), 0);
        assert_int_equal(seteuid(self ? self : NOBODY), 0);
        struct iso_store *store = iso_store_open(&options, &error);
        assert_non_null(store);
        assert_int_equal(iso_store_examine(store, examine, NULL, &error), ISO_OK);
        struct iso_store *second = iso_store_open(&options, &error);
        assert_true(gone ? second != NULL
                         : second == NULL && strstr(error.text, "in use by another isochron"));
        iso_store_close(second);
        iso_store_close(store);
        assert_null(open_store(place, &error));
        assert_non_null(strstr(error.text, "/lock: cannot be "));
        error.status = ISO_OK;
        assert_int_equal(seteuid(self), 0);
        assert_int_equal(chmod(place->path, 0700), 0);
        assert_int_equal(unlink(path), gone ? -1 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_member_of_every_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(content_of_every_item, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_length_of_an_item, set_up, tear_down),
        cmocka_unit_test_setup_teardown(items_out_of_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(items_of_two_snapshots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_for_reading, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
