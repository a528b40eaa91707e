#include "bench/wiredtiger/writer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPERATION_TEXT = 64, /* the longest operation: {"t":"w","k":<20 digits>,"v":<20 digits>}, */
    HEAD_TEXT = 256
};

/* one write at a time to any shared file */
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;

bool writer_init(struct writer *writer, struct shared_file *file, unsigned operations)
{
    memset(writer, 0, sizeof *writer);
    writer->file = file;
    writer->operations_capacity = (size_t)operations * OPERATION_TEXT;
    writer->operations = malloc(writer->operations_capacity);
    writer->lines = malloc(file->flush_size + HEAD_TEXT + writer->operations_capacity);
    return writer->operations && writer->lines;
}

void writer_release(struct writer *writer)
{
    free(writer->operations);
    free(writer->lines);
}

void writer_flush(struct writer *writer)
{
    size_t done = 0;

    pthread_mutex_lock(&file_lock);
    while (done < writer->lines_size && !writer->file->write_error) {
        ssize_t n =
            write(writer->file->descriptor, writer->lines + done, writer->lines_size - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            writer->file->write_error = n ? errno : EIO;
    }
    pthread_mutex_unlock(&file_lock);
    writer->lines_size = 0;
}

static char *put_text(char *to, const char *text)
{
    size_t length = strlen(text);
    memcpy(to, text, length);
    return to + length;
}

static char *put_number(char *to, uint64_t number)
{
    char digits[20];
    unsigned count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *to++ = digits[--count];
    return to;
}

void writer_begin(struct writer *writer)
{
    writer->operations_size = 0;
}

static void put_operation(struct writer *writer, const char *head, uint64_t key, bool found,
                          uint64_t value)
{
    assert(writer->operations_size + OPERATION_TEXT <= writer->operations_capacity);
    char *start = writer->operations + writer->operations_size, *to = start;

    if (writer->operations_size)
        *to++ = ',';
    to = put_text(to, head);
    to = put_number(to, key);
    to = put_text(to, ",\"v\":");
    to = found ? put_number(to, value) : put_text(to, "null");
    *to++ = '}';
    writer->operations_size += (size_t)(to - start);
}

void writer_read(struct writer *writer, uint64_t key, bool found, uint64_t value)
{
    put_operation(writer, "{\"t\":\"r\",\"k\":", key, found, value);
}

void writer_write(struct writer *writer, uint64_t key, uint64_t value)
{
    put_operation(writer, "{\"t\":\"w\",\"k\":", key, true, value);
}

void writer_finish(struct writer *writer, const struct finished_transaction *transaction)
{
    char *start = writer->lines + writer->lines_size, *to = start;

    to = put_number(put_text(to, "{\"tid\":"), transaction->tid);
    to = put_number(put_text(to, ",\"sid\":"), transaction->sid);
    to = put_number(put_text(to, ",\"sno\":"), transaction->sno);
    to = put_number(put_text(to, ",\"sts\":"), transaction->sts);
    if (transaction->cts)
        to = put_number(put_text(to, ",\"cts\":"), transaction->cts);
    to = put_text(to, transaction->committed ? ",\"status\":\"committed\",\"ops\":["
                                             : ",\"status\":\"aborted\",\"ops\":[");
    memcpy(to, writer->operations, writer->operations_size);
    to = put_text(to + writer->operations_size, "]}\n");
    writer->lines_size += (size_t)(to - start);
    if (writer->lines_size >= writer->file->flush_size)
        writer_flush(writer);
}
