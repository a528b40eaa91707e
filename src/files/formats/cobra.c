/* Cobra's log directory: each `*.log` is a session, records are big-endian.
 *
 * A read names the write it saw. So the value of an operation is the write's id, which is unique in
 * the history; what the read says besides (writer, key, value hash) is checked against the log of
 * that write, and where it differs the value becomes a text of its own that nobody wrote. Universal
 * logs have no write ids: there the value hash is the value. Initial and null reads read *absent*;
 * so do reads of a deleted key.
 */
#include <stdio.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/memory.h"
#include "formats/format_private.h"

#define INITIAL 0xbebeebeeu
#define NULL_READ 0xdeadbeefu
#define DELETED 0xabcdefabu
#define UNIVERSAL 0xabddefeeu

/* One logged write, for checking what reads say about it. */
struct logged {
    uint64_t write, transaction, key, hash;
};

struct cobra_reader {
    struct iso_history *history;
    struct iso_error *error;
    const char *path;
    const unsigned char *at, *start, *end;
    uint64_t transaction;  /* the one that is open */
    struct logged *writes; /* all files' */
    size_t write_count, write_capacity;
    struct logged *reads; /* `operation` beside it in `read_operations` */
    uint32_t *read_operations;
    size_t read_count, read_capacity;
};

static enum iso_status fail(struct cobra_reader *reader, const char *expected)
{
    return iso_error_set(reader->error, ISO_BAD_INPUT, "%s: byte %zu: expected %s", reader->path,
                         (size_t)(reader->at - reader->start), expected);
}

static uint64_t load(const unsigned char *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return __builtin_bswap64(number);
}

static void note_write(struct cobra_reader *reader, struct logged logged)
{
    ISO_PUSH_COLUMN(reader->writes, reader->write_count, reader->write_capacity, logged);
}

static void note_read(struct cobra_reader *reader, struct logged logged, uint32_t operation)
{
    if (reader->read_count == reader->read_capacity) {
        size_t old = reader->read_capacity, next = iso_column_capacity(old, old + 1);
        ISO_COLUMN_RESIZE(reader->reads, old, next);
        ISO_COLUMN_RESIZE(reader->read_operations, old, next);
        reader->read_capacity = next;
    }
    reader->reads[reader->read_count] = logged;
    reader->read_operations[reader->read_count++] = operation;
}

static void read_write(struct cobra_reader *reader)
{
    struct iso_history *history = reader->history;
    struct logged logged = {load(reader->at + 1), reader->transaction, load(reader->at + 9),
                            load(reader->at + 17)};
    iso_atom key = iso_atoms_unsigned(&history->atoms, logged.key);
    if (logged.write == DELETED) {
        iso_history_operation(history, ISO_DELETE, key, ISO_ABSENT);
    } else if (logged.write == UNIVERSAL) {
        iso_history_operation(history, ISO_WRITE, key,
                              iso_atoms_unsigned(&history->atoms, logged.hash));
    } else {
        iso_history_operation(history, ISO_WRITE, key,
                              iso_atoms_unsigned(&history->atoms, logged.write));
        note_write(reader, logged);
    }
}

static void read_read(struct cobra_reader *reader)
{
    struct iso_history *history = reader->history;
    uint64_t writer = load(reader->at + 1), write = load(reader->at + 9),
             hash = load(reader->at + 25);
    struct logged logged = {write, writer, load(reader->at + 17), hash};
    iso_atom key = iso_atoms_unsigned(&history->atoms, logged.key);
    if (writer == INITIAL || writer == NULL_READ || writer == DELETED || write == DELETED) {
        iso_history_operation(history, ISO_READ, key, ISO_ABSENT);
    } else if (write == UNIVERSAL) {
        iso_history_operation(history, ISO_READ, key, iso_atoms_unsigned(&history->atoms, hash));
    } else {
        iso_atom value = iso_atoms_unsigned(&history->atoms, write);
        note_read(reader, logged, iso_history_operation(history, ISO_READ, key, value));
    }
}

/* `S` and `C` records are 9 bytes, or 17 if the clients wrote their clocks. */
static enum iso_status read_boundary(struct cobra_reader *reader, bool clocks, bool *open)
{
    uint64_t transaction = load(reader->at + 1);
    bool start = *reader->at == 'S';
    if (start == *open)
        return fail(reader, start ? "a commit (C) before the next start (S)"
                                  : "a start (S) before the commit (C)");
    if (!start && transaction != reader->transaction)
        return fail(reader, "the commit to name the transaction that was started");
    if (start) {
        struct iso_history *history = reader->history;
        iso_history_begin(
            history, iso_atoms_unsigned(&history->atoms, transaction), history->inputs.count - 1,
            ISO_COMMITTED,
            iso_origin(history->inputs.count - 1, (uint64_t)(reader->at - reader->start)));
        reader->transaction = transaction;
    }
    *open = start;
    reader->at += clocks ? 17 : 9;
    return ISO_OK;
}

/* True if reading the bytes as records of these sizes comes out even. */
static bool comes_out_even(const struct cobra_reader *reader, bool clocks)
{
    const unsigned char *at = reader->start;
    while (at < reader->end) {
        size_t size = *at == 'W'                 ? 25
                      : *at == 'R'               ? 33
                      : *at == 'S' || *at == 'C' ? (clocks ? 17u : 9u)
                                                 : 0;
        if (!size || size > (size_t)(reader->end - at))
            return false;
        at += size;
    }
    return true;
}

static enum iso_status read_records(struct cobra_reader *reader)
{
    bool open = false, clocks = !comes_out_even(reader, false) && comes_out_even(reader, true);
    enum iso_status status = ISO_OK;
    while (status == ISO_OK && reader->at < reader->end) {
        size_t left = (size_t)(reader->end - reader->at);
        unsigned char tag = *reader->at;
        if ((tag == 'S' || tag == 'C') && left >= (clocks ? 17u : 9u)) {
            status = read_boundary(reader, clocks, &open);
        } else if (tag == 'W' && left >= 25 && open) {
            read_write(reader);
            reader->at += 25;
        } else if (tag == 'R' && left >= 33 && open) {
            read_read(reader);
            reader->at += 33;
        } else {
            status = fail(reader, open ? "a whole record W, R or C" : "a whole record S");
        }
    }
    if (status == ISO_OK && open)
        status = fail(reader, "a commit (C) before the end of the file");
    return status;
}

static enum iso_status read_log(struct cobra_reader *reader, const char *path)
{
    struct iso_whole_file file;
    enum iso_status status = iso_whole_file_read(&file, path, reader->error);
    if (status != ISO_OK)
        return status;
    iso_history_input(reader->history, path);
    reader->path = path;
    reader->at = reader->start = (const unsigned char *)file.bytes;
    reader->end = reader->at + file.length;
    status = read_records(reader);
    iso_whole_file_release(&file);
    return status;
}

/* A read whose writer, key or value hash is not that of the write it names reads what nobody
 * wrote. */
static void check_reads(struct cobra_reader *reader)
{
    struct iso_index writes = {0}; /* by write id */
    for (uint32_t i = 0; i < reader->write_count; i++)
        iso_index_add(&writes, iso_hash_number(reader->writes[i].write), i);
    for (size_t i = 0; i < reader->read_count; i++) {
        const struct logged *read = &reader->reads[i];
        bool known = false;
        uint64_t hash = iso_hash_number(read->write);
        uint32_t at = iso_index_home(hash), number;
        for (; !known && iso_index_next(&writes, &at, hash, &number); at++) {
            const struct logged *write = &reader->writes[number];
            known = write->write == read->write && write->transaction == read->transaction &&
                    write->key == read->key && write->hash == read->hash;
        }
        if (known)
            continue;
        char text[80];
        int length =
            snprintf(text, sizeof text, "write %llx of transaction %llx, value %llx",
                     (unsigned long long)read->write, (unsigned long long)read->transaction,
                     (unsigned long long)read->hash);
        reader->history->ops.value[reader->read_operations[i]] =
            iso_atoms_add_string(&reader->history->atoms, text, (size_t)length);
    }
    iso_index_release(&writes);
}

enum iso_status format_cobra_read(const char *path, struct iso_history *history,
                                  struct iso_error *error)
{
    struct iso_paths paths;
    enum iso_status status = iso_paths_list(&paths, path, ".log", error);
    if (status != ISO_OK)
        return status;
    struct cobra_reader reader = {.history = history, .error = error};
    if (paths.count == 0)
        status = iso_error_set(error, ISO_BAD_INPUT,
                               "%s: no *.log file here; expected one a session", path);
    if (paths.count > 65535)
        status = iso_error_set(error, ISO_BAD_INPUT, "%s: %u log files; at most 65535 are read",
                               path, paths.count);
    for (uint32_t i = 0; status == ISO_OK && i < paths.count; i++)
        status = read_log(&reader, paths.paths[i]);
    if (status == ISO_OK)
        check_reads(&reader);
    ISO_FREE_COLUMN(reader.writes, reader.write_capacity);
    ISO_FREE_COLUMN(reader.reads, reader.read_capacity);
    ISO_FREE_COLUMN(reader.read_operations, reader.read_capacity);
    iso_paths_release(&paths);
    return status;
}
