/* The file sink: a thread takes records from the ring and appends them, page by page.
 *
 * A killed process's write may end after any page of the file, so a line must not cross a page's
 * end. Lines are gathered in `page`, which stands for the rest of the file's current page; one that
 * does not fit any more goes to the next page, and a blank line fills this one. A line that is
 * longer than a page is written as it is.
 */
#define _GNU_SOURCE
#include "recorder/recorder_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "recorder/ring.h"

enum { PAGE = ISO_RECORDER_WHOLE_LINE, FREE_SECONDS = 5 };

static const char record_start[] = "{\"sid\":"; /* what every line of ours starts with */

struct file_sink {
    struct iso_recorder *recorder;
    struct recorder_ring ring;
    pthread_t writer;
    int descriptor;
    int counts; /* of the file of counts beside it; -1: none */
    bool regular;
    char page[PAGE];
    size_t used;     /* of `page` */
    uint64_t lines;  /* in `page` */
    uint64_t last;   /* how many lines the file has, blank ones, too */
    uint64_t offset; /* of the file, where `page` goes */
    pthread_mutex_t lock;
    bool abandoned; /* guarded by `lock`: nobody waits for the writer any more, it frees everything
                     */
    bool ended;     /* guarded by `lock`: the writer is about to return */
    pthread_cond_t ending;  /* ... and this is told */
    uint64_t written, lost; /* guarded by `lock` */
    char trouble[256];      /* guarded by `lock` */
};

static bool is_abandoned(struct file_sink *sink)
{
    pthread_mutex_lock(&sink->lock);
    bool is = sink->abandoned;
    pthread_mutex_unlock(&sink->lock);
    return is;
}

/* How many bytes were written; fewer than `size`: errno says why. */
static size_t write_bytes(struct file_sink *sink, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t wrote = write(sink->descriptor, bytes + done, size - done);
        if (wrote >= 0) {
            done += (size_t)wrote;
        } else if (errno == EAGAIN) { /* a pipe whose reader is slow */
            struct pollfd room = {.fd = sink->descriptor, .events = POLLOUT};
            if (is_abandoned(sink)) {
                errno = ETIMEDOUT;
                break;
            }
            poll(&room, 1, 100);
        } else if (errno != EINTR) {
            break;
        }
    }
    return done;
}

/* Counts `lines` as written or lost; of lost ones nothing stays in a regular file. */
static void count_lines(struct file_sink *sink, uint64_t lines, size_t size, size_t done)
{
    int reason = errno;
    bool whole = done == size;
    if (whole)
        sink->offset += size;
    else if (done > 0 && (!sink->regular || ftruncate(sink->descriptor, (off_t)sink->offset) != 0))
        sink->offset += done;
    pthread_mutex_lock(&sink->lock);
    if (whole)
        sink->written += lines;
    else
        sink->lost += lines;
    if (!whole)
        snprintf(sink->trouble, sizeof sink->trouble, "%s", strerrordesc_np(reason));
    pthread_mutex_unlock(&sink->lock);
}

static void write_page(struct file_sink *sink)
{
    if (sink->used == 0)
        return;
    size_t size = sink->used;
    for (size_t i = 0; i < size; i++)
        sink->last += sink->page[i] == '\n';
    count_lines(sink, sink->lines, size, write_bytes(sink, sink->page, size));
    sink->used = sink->lines = 0;
}

static size_t room_in_page(const struct file_sink *sink)
{
    return sink->regular ? PAGE - sink->offset % PAGE - sink->used : PAGE - sink->used;
}

/* Goes on to the next page of the file. */
static void turn_page(struct file_sink *sink)
{
    if (sink->regular) {
        size_t rest = room_in_page(sink);
        memset(sink->page + sink->used, ' ', rest);
        sink->used += rest;
        if (rest > 0)
            sink->page[sink->used - 1] = '\n';
    }
    write_page(sink);
}

static void write_long(struct file_sink *sink, uint64_t place, size_t size)
{
    write_page(sink);
    char *line = malloc(size);
    errno = ENOMEM;
    if (line)
        recorder_ring_copy(&sink->ring, place, 0, line, size);
    sink->last++;
    count_lines(sink, 1, size, line ? write_bytes(sink, line, size) : 0);
    free(line);
}

static void write_record(struct file_sink *sink, uint64_t place)
{
    size_t size = recorder_ring_size(&sink->ring, place);
    if (size > PAGE) {
        write_long(sink, place, size);
        return;
    }
    if (size > room_in_page(sink)) {
        turn_page(sink);
        recorder_ring_done(&sink->ring, place);
    }
    recorder_ring_copy(&sink->ring, place, 0, sink->page + sink->used, size);
    sink->lines++;
    sink->used += size;
}

static void sink_release(struct file_sink *sink)
{
    close(sink->descriptor);
    if (sink->counts >= 0)
        close(sink->counts);
    recorder_ring_release(&sink->ring);
    pthread_cond_destroy(&sink->ending);
    pthread_mutex_destroy(&sink->lock);
    free(sink);
}

static void *write_records(void *context)
{
    struct file_sink *sink = context;
    uint64_t place = 0, head;
    while ((head = recorder_ring_wait(&sink->ring)) != place && !is_abandoned(sink)) {
        for (; place < head; place = recorder_ring_next(&sink->ring, place))
            write_record(sink, place);
        write_page(sink);
        recorder_ring_done(&sink->ring, place);
    }
    pthread_mutex_lock(&sink->lock);
    bool mine = sink->abandoned;
    sink->ended = true;
    pthread_cond_signal(&sink->ending);
    pthread_mutex_unlock(&sink->lock);
    if (mine)
        sink_release(sink);
    return NULL;
}

static enum recorder_fate file_take(void *context, const char *sid, const char *line, size_t size)
{
    struct file_sink *sink = context;
    (void)sid;
    return recorder_ring_put(&sink->ring, line, size) ? RECORDER_TAKEN : RECORDER_FULL;
}

/* Says beside the file how many records there are. */
static bool write_count(const struct iso_recorder *recorder, const struct file_sink *sink,
                        enum recorder_word word, uint64_t line)
{
    char text[RECORDER_COUNT_BYTES];
    int size = recorder_put_count(recorder, word, line, text);
    return write(sink->counts, text, (size_t)size) == size;
}

static bool file_flush(void *context, unsigned seconds)
{
    struct file_sink *sink = context;
    struct timespec deadline = recorder_deadline(seconds);
    return recorder_ring_drained(&sink->ring, &deadline);
}

static void file_count(void *context, struct iso_recorder_statistics *statistics)
{
    struct file_sink *sink = context;
    pthread_mutex_lock(&sink->ring.lock);
    statistics->waiting_bytes = sink->ring.head - sink->ring.tail;
    pthread_mutex_unlock(&sink->ring.lock);
    pthread_mutex_lock(&sink->lock);
    statistics->written = sink->written;
    statistics->lost = sink->lost;
    memcpy(statistics->trouble, sink->trouble, sizeof statistics->trouble);
    pthread_mutex_unlock(&sink->lock);
}

/* A writer that hangs in the file system is left to itself: it frees the sink if it ever
 * returns. */
static void file_free(void *context)
{
    struct file_sink *sink = context;
    pthread_t writer = sink->writer;
    if (sink->counts >= 0 && file_flush(sink, FREE_SECONDS))
        write_count(sink->recorder, sink, RECORDER_ENDS, sink->last);
    recorder_ring_close(&sink->ring);
    struct timespec deadline = recorder_deadline(FREE_SECONDS);
    pthread_mutex_lock(&sink->lock);
    int status = 0;
    while (!sink->ended && status != ETIMEDOUT)
        status = pthread_cond_timedwait(&sink->ending, &sink->lock, &deadline);
    bool ended = sink->ended;
    sink->abandoned = !ended;
    pthread_mutex_unlock(&sink->lock);
    if (!ended) {
        pthread_detach(writer);
        return;
    }
    pthread_join(writer, NULL);
    sink_release(sink);
}

static const struct recorder_sink file_functions = {file_take, file_flush, file_count,
                                                    file_free, NULL,       false};

/* Where the last line starts, in a file of `size` bytes. */
static off_t last_line(int descriptor, off_t size)
{
    char bytes[PAGE];
    while (size > 0) {
        size_t count = size < PAGE ? (size_t)size : PAGE;
        if (pread(descriptor, bytes, count, size - (off_t)count) != (ssize_t)count)
            return -1;
        const char *newline = memrchr(bytes, '\n', count);
        if (newline)
            return size - (off_t)count + (newline - bytes) + 1;
        size -= (off_t)count;
    }
    return 0;
}

/* Whether the line starts so; of a longer start as much as there is of the line. */
static bool starts_with(const char *line, size_t length, const char *start)
{
    return !strncmp(line, start, length < strlen(start) ? length : strlen(start));
}

/* Cuts off what a killed recorder left of a line; a last line of anybody else is ended. */
static bool mend_end(struct file_sink *sink, off_t size)
{
    off_t start = last_line(sink->descriptor, size);
    char line[sizeof record_start - 1];
    size_t count =
        start >= 0 && size - start < (off_t)sizeof line ? (size_t)(size - start) : sizeof line;
    if (start < 0 || pread(sink->descriptor, line, count, start) != (ssize_t)count)
        return false;
    bool ours = starts_with(line, count, record_start);
    if (size > start && ours && ftruncate(sink->descriptor, start) != 0)
        return false;
    sink->offset = (uint64_t)(ours ? start : size);
    if (size == start || ours)
        return true;
    sink->offset++;
    return write(sink->descriptor, "\n", 1) == 1;
}

static bool open_file(struct file_sink *sink, const char *path, struct iso_error *error)
{
    int flags = O_APPEND | O_NONBLOCK;
    struct stat status;
    struct iso_error refused = {.status = ISO_OK}; /* the caller's may hold one of before */
    bool exists = stat(path, &status) == 0;
    flags |= exists && !S_ISREG(status.st_mode) ? O_WRONLY : O_RDWR | O_CREAT;
    sink->descriptor = iso_own_open(path, flags, &refused);
    if (sink->descriptor < 0) {
        iso_error_set(error, refused.status, "%s", refused.text);
        return false;
    }
    if (fstat(sink->descriptor, &status) != 0 || !iso_own_hide(sink->descriptor)) {
        iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
        return false;
    }
    sink->regular = S_ISREG(status.st_mode);
    if (!sink->regular)
        return true;
    if (flock(sink->descriptor, LOCK_EX | LOCK_NB) != 0) {
        iso_error_set(error, ISO_FAILED, "%s: another recorder writes it", path);
        return false;
    }
    if (fstat(sink->descriptor, &status) != 0 || !mend_end(sink, status.st_size)) {
        iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

/* Lines of the file up to here; blank ones, too. */
static bool count_lines_before(struct file_sink *sink)
{
    char bytes[1 << 16];
    for (uint64_t at = 0; at < sink->offset;) {
        ssize_t got = pread(sink->descriptor, bytes, sizeof bytes, (off_t)at);
        if (got <= 0)
            return false;
        for (ssize_t i = 0; i < got; i++)
            sink->last += bytes[i] == '\n';
        at += (uint64_t)got;
    }
    return true;
}

/* PATH.recorders, for counts (native/recorders.h); those of a file that is new again are of another
 * one. What a killed recorder left of a line is ended. */
static bool open_counts(struct file_sink *sink, const char *path, struct iso_error *error)
{
    char beside[4096];
    bool fits = (size_t)snprintf(beside, sizeof beside, "%s.recorders", path) < sizeof beside;
    errno = ENAMETOOLONG;
    sink->counts = fits ? iso_own_open(beside, O_RDWR | O_CREAT | O_APPEND, error) : -1;
    if (error->status != ISO_OK)
        return false;
    char last = '\n';
    off_t size = sink->counts < 0 ? -1 : lseek(sink->counts, 0, SEEK_END);
    bool good = size >= 0 && iso_own_hide(sink->counts) &&
                (size == 0 || pread(sink->counts, &last, 1, size - 1) == 1) &&
                (sink->offset > 0 || ftruncate(sink->counts, 0) == 0) &&
                (last == '\n' || sink->offset == 0 || write(sink->counts, "\n", 1) == 1) &&
                count_lines_before(sink);
    if (!good)
        iso_error_set(error, ISO_FAILED, "%s: %s", beside, strerror(errno));
    return good;
}

/* Counts of another file that had this name. */
static void forget_counts(const struct file_sink *sink, const char *path)
{
    char beside[4096];
    if (sink->offset == 0 &&
        (size_t)snprintf(beside, sizeof beside, "%s.recorders", path) < sizeof beside)
        unlink(beside);
}

/* Which records are this recorder's: those of lines behind the ones that are there. */
static bool begin_counts(struct iso_recorder *recorder, struct file_sink *sink, const char *path,
                         struct iso_error *error)
{
    struct iso_error refused = {.status = ISO_OK}; /* the caller's may hold one of before */
    recorder_name(recorder);
    if (open_counts(sink, path, &refused) &&
        write_count(recorder, sink, RECORDER_BEGINS, sink->last + 1))
        return true;
    iso_error_set(&refused, ISO_FAILED, "%s.recorders: %s", path, strerror(errno));
    iso_error_set(error, refused.status, "%s", refused.text);
    return false;
}

/* Opens a file, a pipe or a device; the latter two have no counts. */
static bool open_sink(struct iso_recorder *recorder, struct file_sink *sink, const char *path,
                      bool totals, struct iso_error *error)
{
    if (!open_file(sink, path, error))
        return false;
    if (!sink->regular || iso_own_is_device_name(path))
        return true;
    if (totals)
        return begin_counts(recorder, sink, path, error);
    forget_counts(sink, path);
    return true;
}

struct iso_recorder *iso_recorder_new_file(const char *path,
                                           const struct iso_recorder_options *options,
                                           struct iso_error *error)
{
    struct iso_recorder *recorder = recorder_new(options, error);
    struct file_sink *sink = recorder ? calloc(1, sizeof *sink) : NULL;
    if (!sink || !recorder_ring_init(&sink->ring, recorder_buffer_bytes(options),
                                     options ? options->linger_ms : 0)) {
        iso_error_set(error, ISO_FAILED, "no memory for a recorder");
        free(sink);
        iso_recorder_free(recorder);
        return NULL;
    }
    pthread_mutex_init(&sink->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sink->ending, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sink->recorder = recorder;
    sink->counts = -1;
    if (!open_sink(recorder, sink, path, options && options->totals, error) ||
        !recorder_start_thread(&sink->writer, write_records, sink, error)) {
        sink_release(sink);
        iso_recorder_free(recorder);
        return NULL;
    }
    recorder->sink = &file_functions;
    recorder->context = sink;
    return recorder;
}
