/* What decoders of JSON messages share: a payload with the padding that the scanner reads, the
 * scanner's error as a located one, and the choice of tables.
 *
 * Ownership: a payload owns its copy, valid until the next one. Threads: one at a time.
 */
#pragma once

#include "base/json.h"
#include "base/error.h"

struct iso_payload {
    char *text;
    size_t capacity;
};

void iso_payload_release(struct iso_payload *payload); /* a zeroed one is empty */

/* A copy with ISO_JSON_PADDING zero bytes behind it. */
const char *iso_payload_copy(struct iso_payload *payload, const void *bytes, size_t size);

/* Room for `size` bytes that the caller puts there. */
char *iso_payload_reserve(struct iso_payload *payload, size_t size);

/* "byte 17: found 'x', expected ',' or '}'"; always ISO_BAD_INPUT. */
enum iso_status iso_payload_fault(const struct iso_json *json, struct iso_error *error);

static inline bool iso_payload_is(struct iso_json_text text, const char *word, size_t length)
{
    return text.length == length && !memcmp(text.at, word, length);
}
#define ISO_PAYLOAD_IS(text, word) iso_payload_is(text, word, sizeof(word) - 1)

/* Whether a list "db.a;db.b" of the tables to look at has this one, as identities name it. NULL: it
 * has all. */
bool iso_table_listed(const char *list, const char *table, size_t length);
