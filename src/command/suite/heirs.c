#define _GNU_SOURCE
#include "suite/heirs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "connectors/envelope/tuple.h"

enum { WORDS = 5 }; /* of a change, before its table: OP XID LSN PREVIOUS ORDER */

struct heirs {
    const struct suite_changes *changes;
    struct iso_capture_writer *writer;
    struct iso_number_map by_label; /* what the table was, and its heir */
    uint32_t order;                 /* of the transaction at hand */
    struct iso_text line, key;
    int64_t offset; /* of run.changes */
    struct iso_error *error;
};

static void find_heirs(struct heirs *heirs)
{
    const struct suite_tables *tables = &heirs->changes->tables;
    for (uint32_t i = 0; i < tables->count; i++) {
        const struct suite_table *table = &tables->list[i];
        if (!table->is_heir || !suite_table_is_judged(table))
            continue;
        const char *label = tables->list[table->keyless].label;
        iso_number_map_put(&heirs->by_label, iso_hash_text(label, strlen(label)), i);
    }
}

/* Behind so many words. */
static const char *behind(const char *at, const char *end, int words)
{
    for (const char *space; words--; at = space + 1)
        if (!(space = memchr(at, ' ', (size_t)(end - at))))
            return end;
    return at;
}

/* The line at hand with another number as its word. */
static void put_numbered(struct heirs *heirs, struct iso_json_text line, int word)
{
    const char *end = line.at + line.length, *at = behind(line.at, end, word),
               *rest = behind(at, end, 1);
    heirs->line.used = 0;
    iso_text_put_bytes(&heirs->line, line.at, (size_t)(at - line.at));
    iso_text_format(&heirs->line, "%" PRIu32 " ", heirs->order);
    iso_text_put_bytes(&heirs->line, rest, (size_t)(end - rest));
}

/* False: the table has no heir. Its line becomes the heir's. */
static bool inherit(struct heirs *heirs, struct iso_json_text line)
{
    const char *end = line.at + line.length, *from = behind(line.at, end, WORDS);
    struct iso_json_text label = tuple_name(from, end, ' ');
    const char *row = label.at + label.length + (label.at + label.length < end);
    uint32_t number = iso_number_map_get(&heirs->by_label, iso_hash_text(label.at, label.length));
    const struct suite_table *heir =
        number == ISO_NUMBER_NONE ? NULL : &heirs->changes->tables.list[number];
    heirs->key.used = 0;
    if (!heir || (row < end && !suite_find_key(&heirs->key, heir->columns, row, end)))
        return false;
    heirs->order++;
    put_numbered(heirs, (struct iso_json_text){line.at, (size_t)(from - line.at)}, WORDS - 1);
    iso_text_put(&heirs->line, heir->label);
    iso_text_put(&heirs->line, row < end ? " " : "");
    iso_text_put_bytes(&heirs->line, row, (size_t)(end - row));
    return true;
}

/* Of changes, where each stands in its transaction, and how many these are. */
static void number(struct heirs *heirs, struct iso_json_text line)
{
    char op = *line.at;
    heirs->order = op == 'B' ? 0 : heirs->order + (op != 'E' && op != 's' && op != 'r');
    heirs->line.used = 0;
    if (op == 'B' || op == 's' || op == 'r')
        iso_text_put_bytes(&heirs->line, line.at, line.length);
    else
        put_numbered(heirs, line, op == 'E' ? 3 : WORDS - 1);
}

static enum iso_status take(struct heirs *heirs, const struct iso_message *message)
{
    bool is_change = !strcmp(message->topic, SUITE_CHANGES),
         is_keyless = !strcmp(message->topic, SUITE_KEYLESS);
    struct iso_json_text line = {(const char *)message->payload.data, message->payload.size};
    struct iso_message next = *message;
    next.headers = NULL;
    next.header_count = 0;
    if (is_keyless && !inherit(heirs, line))
        return ISO_OK;
    if (is_change)
        number(heirs, line);
    if (is_keyless && heirs->key.used)
        next.key = (struct iso_bytes){(const uint8_t *)heirs->key.bytes, (uint32_t)heirs->key.used};
    if (is_change || is_keyless) {
        next.topic = SUITE_CHANGES;
        next.input = 0;
        next.offset = heirs->offset++;
        next.payload =
            (struct iso_bytes){(const uint8_t *)heirs->line.bytes, (uint32_t)heirs->line.used};
    }
    return iso_capture_write(heirs->writer, &next, heirs->error);
}

static void copy(struct heirs *heirs, const char *path, struct iso_error *error)
{
    struct iso_inputs inputs;
    const struct iso_message *messages;
    uint32_t count;
    iso_inputs_init(&inputs);
    struct iso_capture_reader *reader = iso_capture_reader_new(path, &inputs, error);
    while (reader && iso_capture_read(reader, &messages, &count, error) == ISO_OK && count)
        for (uint32_t i = 0; i < count && error->status == ISO_OK; i++)
            take(heirs, &messages[i]);
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
}

enum iso_status suite_heirs_write(const struct suite_changes *changes, const char *path,
                                  struct iso_error *error)
{
    struct heirs heirs = {.changes = changes, .error = error};
    struct iso_text next = {0};
    struct iso_error closing = {.status = ISO_OK};
    iso_text_format(&next, "%.*s.next.zst", (int)(strlen(path) - strlen(".zst")), path);
    *iso_text_reserve(&next, 1) = 0;
    find_heirs(&heirs);
    heirs.writer = iso_capture_writer_new(next.bytes, error);
    if (heirs.writer) {
        copy(&heirs, path, error);
        iso_capture_writer_close(heirs.writer, &closing);
    }
    if (error->status == ISO_OK && closing.status != ISO_OK)
        *error = closing;
    if (error->status == ISO_OK && rename(next.bytes, path))
        iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
    if (error->status != ISO_OK)
        unlink(next.bytes);
    iso_number_map_release(&heirs.by_label);
    iso_text_release(&heirs.line);
    iso_text_release(&heirs.key);
    iso_text_release(&next);
    return error->status;
}
