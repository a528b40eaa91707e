#include "base/cell_key.h"

#include "base/base64.h"

static bool is_special(char byte)
{
    return byte == '%' || byte == '/' || byte == ',' || byte == ISO_CELL_MARK;
}

void iso_cell_key_put(struct iso_text *text, const char *column, size_t length)
{
    static const char digits[] = "0123456789ABCDEF";
    char *to = iso_text_reserve(text, 3 * length + 1);
    *to++ = ISO_CELL_MARK;
    for (size_t i = 0; i < length; i++) {
        if (!is_special(column[i])) {
            *to++ = column[i];
            continue;
        }
        *to++ = '%';
        *to++ = digits[(unsigned char)column[i] >> 4];
        *to++ = digits[column[i] & 0xf];
    }
    text->used = (size_t)(to - text->bytes);
}

void iso_cell_key_decode(struct iso_text *text, struct iso_json_text column)
{
    for (size_t i = 0; i < column.length; i++) {
        bool escape = column.at[i] == '%' && i + 2 < column.length &&
                      iso_hex_digit(column.at[i + 1]) >= 0 && iso_hex_digit(column.at[i + 2]) >= 0;
        char byte =
            escape ? (char)(iso_hex_digit(column.at[i + 1]) << 4 | iso_hex_digit(column.at[i + 2]))
                   : column.at[i];
        iso_text_put_bytes(text, &byte, 1);
        i += escape ? 2 : 0;
    }
}
