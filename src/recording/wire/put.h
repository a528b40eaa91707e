/* Messages put together: what the program itself sends to a server or a client. */
#pragma once

#include "base/text.h"

void wire_put_u32(struct iso_text *text, uint32_t number);
void wire_put_u16(struct iso_text *text, uint16_t number);
void wire_put_text(struct iso_text *text, const char *string); /* with its zero byte */

/* Begins a message; returns what wire_put_end needs to write its length. */
size_t wire_put_begin(struct iso_text *text, char type);
void wire_put_end(struct iso_text *text, size_t begun);

/* A statement without parameters, asked by a named statement and portal that are closed again, so
 * that neither the client's unnamed statement nor its unnamed portal is touched. Answered by 1, 2,
 * D..., C, 3, 3, or by E; a Sync is the caller's. */
void wire_put_statement(struct iso_text *text, const char *name, const char *portal,
                        const char *query);

/* An error as a server reports it before it ends a connection. */
void wire_put_fatal(struct iso_text *text, const char *sqlstate, const char *message);
