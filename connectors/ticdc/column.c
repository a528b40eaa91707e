/* What columns hold. */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "connectors/ticdc/decoder_private.h"

/* An integer as numbers are written: no leading zero, no plus, 64 bits. */
static bool set_digits(struct iso_cell *cell, struct iso_json_text text)
{
    bool negative = text.length && text.at[0] == '-';
    uint64_t bits;
    if (text.length == negative || (text.at[negative] == '0' && text.length > 1))
        return false;
    if (!iso_bytes_decimal(text.at + negative, text.length - negative, &bits) ||
        (negative && bits > (uint64_t)1 << 63))
        return false;
    ticdc_set_integer(cell, negative ? 0 - bits : bits, negative);
    return true;
}

static size_t count_digits(struct iso_json_text text, size_t at)
{
    size_t count = 0;
    while (at + count < text.length && (unsigned char)(text.at[at + count] - '0') <= 9)
        count++;
    return count;
}

/* Whether the text is a JSON number. */
static bool is_number(struct iso_json_text text)
{
    size_t at = text.length && text.at[0] == '-', digits = count_digits(text, at);
    if (!digits || (text.at[at] == '0' && digits > 1))
        return false;
    at += digits;
    if (at < text.length && text.at[at] == '.') {
        digits = count_digits(text, ++at);
        if (!digits)
            return false;
        at += digits;
    }
    if (at < text.length && (text.at[at] | 0x20) == 'e') {
        at++;
        at += at < text.length && (text.at[at] == '+' || text.at[at] == '-');
        digits = count_digits(text, at);
        if (!digits)
            return false;
        at += digits;
    }
    return at == text.length;
}

/* The number that the text is, as the column has it: several texts are one. */
static void set_number(struct iso_cell *cell, enum ticdc_class class, struct iso_json_text text)
{
    enum { MOST = 400 };
    char digits[MOST];
    double number;
    if (text.length >= sizeof digits)
        return;
    memcpy(digits, text.at, text.length);
    digits[text.length] = 0;
    cell->bits = 0;
    if (class == TICDC_FLOAT) {
        float single = strtof(digits, NULL);
        cell->kind = ISO_CELL_FLOAT;
        memcpy(&cell->bits, &single, sizeof single);
        return;
    }
    number = strtod(digits, NULL);
    cell->kind = ISO_CELL_DOUBLE;
    memcpy(&cell->bits, &number, sizeof number);
}

void ticdc_set_text(struct iso_cell *cell, enum ticdc_class class, struct iso_json_text text)
{
    bool floats = class == TICDC_FLOAT || class == TICDC_DOUBLE;
    if ((class == TICDC_INTEGER || floats) && set_digits(cell, text))
        return;
    cell->kind = ISO_CELL_TEXT;
    cell->text = text.at;
    cell->length = (uint32_t)text.length;
    if (floats && is_number(text))
        set_number(cell, class, text);
}

void ticdc_set_bytes(struct iso_cell *cell, const void *bytes, size_t size)
{
    cell->kind = ISO_CELL_BYTES;
    cell->text = size ? bytes : "";
    cell->length = (uint32_t)size;
}

void ticdc_set_moment(struct ticdc *ticdc, struct iso_cell *cell, struct iso_json_text zone,
                      struct iso_json_text text)
{
    char *room = ticdc_room(ticdc, text.length + 1);
    bool zeros = text.length >= 4 && !memcmp(text.at, "0000", 4);
    memcpy(room, text.at, text.length);
    if (ISO_PAYLOAD_IS(zone, "UTC") && !ticdc->one_zone && !zeros)
        room[text.length++] = 'Z';
    ticdc_set_text(cell, TICDC_TEXT, (struct iso_json_text){room, text.length});
}

char *ticdc_room(struct ticdc *ticdc, size_t size)
{
    /* reserved when the message came: enough but for what becomes longer */
    struct iso_text *bytes = &ticdc->room.bytes;
    if (bytes->capacity - bytes->used < size) {
        ISO_GROW(ticdc->room.blocks, ticdc->room.count, ticdc->room.capacity);
        return ticdc->room.blocks[ticdc->room.count++] = iso_allocate(size);
    }
    bytes->used += size;
    return bytes->bytes + bytes->used - size;
}

bool ticdc_set_base64(struct ticdc *ticdc, struct iso_cell *cell, struct iso_json_text text,
                      bool is_text)
{
    size_t size;
    char *room = ticdc_room(ticdc, text.length / 4 * 3);
    if (!iso_base64_decode(text.at, text.length, (uint8_t *)room, &size))
        return false;
    if (is_text && !iso_utf8_valid((const uint8_t *)room, size))
        return false;
    if (is_text)
        ticdc_set_text(cell, TICDC_TEXT, (struct iso_json_text){room, size});
    else
        ticdc_set_bytes(cell, room, size);
    return true;
}
