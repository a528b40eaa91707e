/* Writes transactions as native JSON Lines, one thread's share of a file.
 *
 * A transaction is put together in the thread's own buffer as it runs and is completed or taken
 * back as a whole; full buffers go to the shared file in one locked write, so lines are never
 * mixed. The line's head needs the commit timestamp, which is known last: operations are kept apart
 * until then. Threads: a writer is one thread's; the file is shared.
 */
#ifndef BENCH_WIREDTIGER_WRITER_H
#define BENCH_WIREDTIGER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_file {
    int descriptor;
    int write_error;   /* errno of the first failed write, else 0 */
    size_t flush_size; /* a session writes once it has so many bytes: little for a reader that
                          waits, else much */
};

struct writer {
    struct shared_file *file;
    char *lines;
    size_t lines_size;
    char *operations; /* of the running transaction, without brackets */
    size_t operations_size, operations_capacity;
};

/* Room for transactions of `operations` operations. False: out of memory. */
bool writer_init(struct writer *writer, struct shared_file *file, unsigned operations);
void writer_release(struct writer *writer);
void writer_flush(struct writer *writer);

void writer_begin(struct writer *writer);
void writer_read(struct writer *writer, uint64_t key, bool found, uint64_t value);
void writer_write(struct writer *writer, uint64_t key, uint64_t value);

struct finished_transaction {
    uint64_t tid, sid, sno, sts, cts; /* cts 0: none */
    bool committed;
};
void writer_finish(struct writer *writer, const struct finished_transaction *transaction);

#endif
