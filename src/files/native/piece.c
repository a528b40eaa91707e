#include "native/piece.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/utf8.h"

/* Buffers that had to grow for a large transaction are not kept. */
enum { KEEP_BYTES = 8 << 20 };

void piece_init(struct piece *piece)
{
    memset(piece, 0, sizeof *piece);
    iso_native_init(&piece->native);
    piece->native.of_file = true;
    iso_history_init(&piece->block);
}

void piece_release(struct piece *piece)
{
    iso_native_release(&piece->native);
    iso_history_release(&piece->block);
    iso_column_free(piece->text, piece->capacity);
}

void piece_clear(struct piece *piece)
{
    iso_history_clear(&piece->block);
    piece->fault.kind = ISO_FAULT_NONE;
    piece->error.status = ISO_OK;
    piece->length = 0;
    piece->lines = piece->tail = 0;
    piece->first = piece->last = piece->cut = false;
    if (piece->capacity > KEEP_BYTES) {
        iso_column_free(piece->text, piece->capacity);
        piece->text = NULL;
        piece->capacity = 0;
    }
}

void piece_reserve(struct piece *piece, size_t length)
{
    size_t need = length + ISO_JSON_PADDING;
    if (need <= piece->capacity)
        return;
    piece->text = iso_column_grow(piece->text, piece->capacity, need);
    piece->capacity = need;
}

/* ---- locations ---- */

/* The bytes of [start, at) behind its last newline. */
static uint64_t bytes_behind_newline(const char *start, const char *at)
{
    const char *from = at;
    while (from > start && from[-1] != '\n')
        from--;
    return (uint64_t)(at - from);
}

static void place_fault(struct piece *piece, const char *at)
{
    piece->fault_line = iso_bytes_count(piece->text, at, '\n') + 1;
    piece->fault_column = bytes_behind_newline(piece->text, at) + 1;
}

static void set_fault(struct piece *piece, enum iso_native_fault_kind kind, const char *at,
                      const char *text)
{
    piece->fault.kind = kind;
    snprintf(piece->fault.text, sizeof piece->fault.text, "%s", text);
    place_fault(piece, at);
}

/* A text that was cut at the limit ends too early, or what stands behind its transaction is too
 * long. */
static bool too_large(struct piece *piece, const char *start)
{
    if (!piece->cut || (piece->fault.kind != ISO_FAULT_END && piece->fault.kind != ISO_FAULT_NONE))
        return false;
    char text[100];
    snprintf(text, sizeof text, "a transaction of more than %d MiB, expected less",
             ISO_TRANSACTION_LIMIT >> 20);
    set_fault(piece, ISO_FAULT_TEXT, start, text);
    return true;
}

/* ---- JSON Lines ---- */

static bool is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at == end;
}

/* `whole`: a newline ends the line. */
static void line_fault(struct piece *piece, const char *start, bool whole)
{
    if (!whole && too_large(piece, start))
        return;
    place_fault(piece, start + piece->fault.position);
    if (piece->fault.kind == ISO_FAULT_END && whole) {
        size_t used = strlen(piece->fault.text);
        snprintf(piece->fault.text + used, sizeof piece->fault.text - used,
                 " (in JSON Lines a transaction stands on one line)");
    }
}

static void parse_lines(struct piece *piece, const char *at)
{
    const char *end = piece->text + piece->length;
    uint64_t line = 1;
    for (; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        if (*at != '{' && is_blank(at, stop)) {
            at = stop + 1;
            continue;
        }
        if (iso_native_read_transaction(&piece->native, at, (size_t)(stop - at), line,
                                        &piece->block, &piece->fault) != ISO_OK) {
            line_fault(piece, at, newline != NULL);
            piece->fault_line = line;
            return;
        }
        if (!newline && too_large(piece, at))
            return;
        at = stop + 1;
    }
    piece->lines = at > end ? line - 2 : line - 1;
}

/* ---- an array ---- */

/* A comma, but before the first element; true if an element follows. */
static bool next_element(struct iso_json *json, bool comma, bool *closed)
{
    unsigned char byte = iso_json_space(json);
    *closed = byte == ']';
    if (*closed)
        json->at++;
    if (*closed || json->at == json->end)
        return false;
    if (comma && byte != ',')
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "',' or ']'");
    json->at += comma;
    iso_json_space(json);
    return true;
}

static void array_fault(struct piece *piece, const char *element)
{
    if (too_large(piece, element))
        return;
    place_fault(piece, piece->text + piece->fault.position);
}

static void parse_array(struct piece *piece, const char *at)
{
    struct iso_json *json = &piece->native.json;
    uint64_t line = 1;
    const char *counted = piece->text, *element = at;
    bool comma = !piece->first, closed;
    iso_json_start(json, piece->text, piece->length);
    json->at = at;
    for (; next_element(json, comma, &closed); comma = true) {
        element = json->at;
        line += iso_bytes_count(counted, element, '\n');
        counted = element;
        if (iso_native_read_value(&piece->native, line, &piece->block, &piece->fault) != ISO_OK) {
            array_fault(piece, element);
            piece->fault_line = piece->fault.kind == ISO_FAULT_CLOCK ? line : piece->fault_line;
            return;
        }
    }
    if (json->code == ISO_JSON_FINE && !closed && piece->last)
        iso_json_fail(json, ISO_JSON_END, json->end, "',' or ']'");
    if (json->code != ISO_JSON_FINE) {
        char text[200];
        iso_json_describe(json, text, sizeof text);
        set_fault(piece, ISO_FAULT_TEXT, piece->text + json->position, text);
    } else if (!closed) {
        too_large(piece, json->end);
    }
}

static void parse_after(struct piece *piece)
{
    struct iso_json *json = &piece->native.json;
    iso_json_start(json, piece->text, piece->length);
    if (iso_json_finish(json))
        return;
    set_fault(piece, ISO_FAULT_TEXT, piece->text + json->position,
              "something behind the end of the list, expected nothing");
}

/* ---- any ---- */

void piece_parse(struct piece *piece)
{
    if (piece->error.status != ISO_OK)
        return; /* it holds nothing */
    const char *at = piece->text + (piece->first ? iso_utf8_mark(piece->text, piece->length) : 0),
               *end = piece->text + piece->length;
    if (piece->layout == PIECE_LINES) {
        parse_lines(piece, at);
    } else if (piece->layout == PIECE_AFTER) {
        parse_after(piece);
    } else {
        if (piece->first)
            at = (const char *)memchr(at, '[', (size_t)(end - at)) + 1;
        parse_array(piece, at);
    }
    if (piece->layout != PIECE_LINES)
        piece->lines = iso_bytes_count(piece->text, end, '\n');
    piece->tail = bytes_behind_newline(piece->text, end);
}
