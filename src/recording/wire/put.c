#include "wire/put.h"

void wire_put_u32(struct iso_text *text, uint32_t number)
{
    const unsigned char bytes[] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                   (unsigned char)(number >> 8), (unsigned char)number};
    iso_text_put_bytes(text, bytes, sizeof bytes);
}

void wire_put_u16(struct iso_text *text, uint16_t number)
{
    const unsigned char bytes[] = {(unsigned char)(number >> 8), (unsigned char)number};
    iso_text_put_bytes(text, bytes, sizeof bytes);
}

void wire_put_text(struct iso_text *text, const char *string)
{
    iso_text_put_bytes(text, string, strlen(string) + 1);
}

size_t wire_put_begin(struct iso_text *text, char type)
{
    iso_text_put_bytes(text, &type, 1);
    wire_put_u32(text, 0);
    return text->used - 4;
}

void wire_put_end(struct iso_text *text, size_t begun)
{
    uint32_t length = (uint32_t)(text->used - begun);
    for (int i = 0; i < 4; i++)
        text->bytes[begun + (size_t)i] = (char)(length >> (24 - 8 * i));
}

static void put_close(struct iso_text *text, char what, const char *name)
{
    size_t begun = wire_put_begin(text, 'C');
    iso_text_put_bytes(text, &what, 1);
    wire_put_text(text, name);
    wire_put_end(text, begun);
}

void wire_put_statement(struct iso_text *text, const char *name, const char *portal,
                        const char *query)
{
    /* those of one that failed are there still, where its transaction has failed with it */
    put_close(text, 'P', portal);
    put_close(text, 'S', name);
    size_t begun = wire_put_begin(text, 'P');
    wire_put_text(text, name);
    wire_put_text(text, query);
    wire_put_u16(text, 0);
    wire_put_end(text, begun);
    begun = wire_put_begin(text, 'B');
    wire_put_text(text, portal);
    wire_put_text(text, name);
    wire_put_u16(text, 0);
    wire_put_u16(text, 0);
    wire_put_u16(text, 0);
    wire_put_end(text, begun);
    begun = wire_put_begin(text, 'E');
    wire_put_text(text, portal);
    wire_put_u32(text, 0);
    wire_put_end(text, begun);
    put_close(text, 'P', portal);
    put_close(text, 'S', name);
}

void wire_put_fatal(struct iso_text *text, const char *sqlstate, const char *message)
{
    size_t begun = wire_put_begin(text, 'E');
    wire_put_text(text, "SFATAL");
    wire_put_text(text, "VFATAL");
    iso_text_put(text, "C");
    wire_put_text(text, sqlstate);
    iso_text_put(text, "M");
    wire_put_text(text, message);
    iso_text_put_bytes(text, "", 1);
    wire_put_end(text, begun);
}
