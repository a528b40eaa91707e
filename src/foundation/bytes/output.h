/* Buffered output that remembers its first write error: to stdout, to a text in memory, to a file
 * by temporary file and rename, packed by zstd where the name ends in `.zst`.
 *
 * Callers write without looking at a status; iso_output_close says whether everything reached its
 * place. A file appears whole under its name or not at all, and until then it has no name where the
 * file system can do that, so that a process that is killed leaves nothing behind. It is its user's
 * alone, in a folder that is safe (base/own.h). What exists and is no regular file (a device, a
 * FIFO) is written in place. Ownership: the output owns descriptor, buffer and temporary file until
 * it is closed or discarded. Threads: one at a time. The process is expected to ignore SIGPIPE, so
 * that a closed pipe is an error like others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "base/atom.h"
#include "base/error.h"

struct iso_output {
    int descriptor;
    struct iso_text
        *text;    /* the caller's: takes what is written, in place of the descriptor; or NULL */
    bool owned;   /* close the descriptor at the end */
    bool shown;   /* on a terminal: nothing that one obeys goes out (base/shown.h) */
    char rest[4]; /* of a character whose end is to come, when `shown` */
    size_t rest_size;
    int error;    /* errno of the first failure; 0: none */
    char *buffer; /* `used` bytes wait in it */
    size_t used;
    uint64_t written; /* bytes that were handed over, before packing */
    void *packer;     /* a ZSTD_CCtx, or NULL */
    char *packed;     /* what comes out of it */
    char *name;       /* as given, for messages */
    int folder;       /* where the file goes */
    mode_t mode;      /* of the file */
    char *file;       /* its name there; NULL: no rename */
    char *temporary;  /* its name there until it is whole */
    bool unnamed;     /* it has not even that one yet */
};

enum { ISO_OUTPUT_BUFFER = 1 << 17, ISO_OUTPUT_MARGIN = 64 };

/* Writes to an open descriptor, which stays the caller's; `name` is for messages. */
void iso_output_to(struct iso_output *output, int descriptor, const char *name);

/* Writes to the end of a text, which stays the caller's; nothing can go wrong. */
void iso_output_to_text(struct iso_output *output, struct iso_text *text);

/* Opens a file for writing; "-" is stdout. ISO_FAILED if it cannot be created,
 * ISO_BAD_INPUT if it is not to be. */
enum iso_status iso_output_open(struct iso_output *output, const char *path,
                                struct iso_error *error);

/* Writes out what waits and gives the file its name. ISO_FAILED, and no file, if anything went
 * wrong since it was opened. The output is released either way. */
enum iso_status iso_output_close(struct iso_output *output, struct iso_error *error);

/* Releases the output and leaves no file. A closed or zeroed one is left as it is. */
void iso_output_discard(struct iso_output *output);

void iso_output_flush(struct iso_output *output);
void iso_output_bytes(struct iso_output *output, const char *bytes, size_t count);
void iso_output_text(struct iso_output *output, const char *text);
void iso_output_format(struct iso_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A text as a JSON string, quotes included. */
void iso_output_string(struct iso_output *output, const char *text, size_t length);

/* Room for ISO_OUTPUT_MARGIN bytes at the returned place; the caller then adds to `used`. */
static inline char *iso_output_room(struct iso_output *output)
{
    if (output->used > ISO_OUTPUT_BUFFER)
        iso_output_flush(output);
    return output->buffer + output->used;
}

static inline void iso_output_char(struct iso_output *output, char byte)
{
    *iso_output_room(output) = byte;
    output->used++;
}

void iso_output_number(struct iso_output *output, uint64_t number);

/* A number as JSON: bare where every JSON reader keeps it exact (up to 2^53), else as a string. */
void iso_output_exact(struct iso_output *output, uint64_t number);

/* An atom as a JSON string; absent as null. */
void iso_output_atom_string(struct iso_output *output, const struct iso_atoms *atoms,
                            iso_atom atom);

/* An atom as JSON: integers as numbers (as strings beyond 2^53), strings as strings, absent as
 * null. */
void iso_output_atom(struct iso_output *output, const struct iso_atoms *atoms, iso_atom atom);
