/* What readers of binary formats share: nested values as JSON in a text of the reader's, which
 * moves while it grows, and UTF-8. A cell with such a value has its place in `bits`, and its text
 * after wire_settle.
 */
#pragma once

#include "base/text.h"
#include "connectors/envelope/envelope.h"

/* The cell becomes the JSON that stands in the text from `start` on. */
static inline void wire_json(struct iso_cell *cell, const struct iso_text *text, size_t start)
{
    cell->kind = ISO_CELL_JSON;
    cell->text = NULL;
    cell->bits = start;
    cell->length = (uint32_t)(text->used - start);
}

static inline void wire_settle_row(struct iso_row *row, const struct iso_text *text)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (row->cells[i].kind == ISO_CELL_JSON)
            row->cells[i].text = text->bytes + row->cells[i].bits;
}

static inline void wire_settle(struct iso_envelope *envelope, const struct iso_text *text)
{
    struct iso_cell *collections = &envelope->member[ISO_MEMBER_DATA_COLLECTIONS];
    if (iso_envelope_saw(envelope, ISO_MEMBER_DATA_COLLECTIONS) &&
        collections->kind == ISO_CELL_JSON)
        collections->text = text->bytes + collections->bits;
    wire_settle_row(&envelope->before, text);
    wire_settle_row(&envelope->after, text);
    wire_settle_row(&envelope->key, text);
}

static inline void wire_text(struct iso_cell *cell, enum iso_cell_kind kind, const void *bytes,
                             size_t size)
{
    cell->kind = (uint8_t)kind;
    cell->text = bytes;
    cell->length = (uint32_t)size;
}

static inline void wire_signed(struct iso_cell *cell, int64_t number)
{
    cell->kind = ISO_CELL_INTEGER;
    cell->bits = (uint64_t)number;
    cell->negative = number < 0;
}
