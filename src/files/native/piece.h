/* A piece of an input: whole transactions, and the block that they are parsed into. Private to
 * reading. */
#pragma once

#include "native/native.h"
#include "native/split.h"

enum { ISO_TRANSACTION_LIMIT = 64 << 20 }; /* bytes */

enum piece_layout {
    PIECE_LINES, /* JSON Lines */
    PIECE_ARRAY, /* elements of an array; the first piece starts with its bracket */
    PIECE_AFTER  /* behind the array: nothing but white space */
};

struct piece {
    uint64_t index; /* in the order of the input */
    char *text;     /* with padding behind `length` */
    size_t capacity, length;
    enum piece_layout layout;
    uint32_t file;
    bool first, last;       /* of its file */
    bool cut;               /* the transaction limit was reached: it ends inside a transaction */
    uint64_t consumed;      /* bytes of all files, up to here */
    struct iso_error error; /* reading failed behind what this piece holds */

    /* filled in by piece_parse */
    struct iso_native native;
    struct iso_history block; /* origins: lines from 1, in this piece */
    struct iso_native_fault fault;
    uint64_t fault_line, fault_column; /* in the piece, both from 1 */
    uint64_t lines;                    /* newlines */
    uint64_t tail;                     /* bytes behind the last newline */
};

void piece_init(struct piece *piece);
void piece_release(struct piece *piece);
void piece_clear(struct piece *piece);

/* Room for `length` bytes and the padding; keeps the first piece->length of them. */
void piece_reserve(struct piece *piece, size_t length);

void piece_parse(struct piece *piece);
