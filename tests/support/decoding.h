/* A decoder under test: messages in, events out as lines of text.
 *
 *     ROW update db.t/1: - -> 5 sts 3 cts 4        `-` is no row, `?` is not known
 *     DELETE_IF p/0x1: 777 cts 9
 *     DROP p cts 9                                 or "DROP * cts 9"
 *     WATERMARK 7
 *     SCHEMA db.t cts 4
 *     IGNORED tombstone
 */
#ifndef TESTS_SUPPORT_DECODING_H
#define TESTS_SUPPORT_DECODING_H

#include "values/source.h"

struct decoding {
    struct iso_decoder *decoder;
    struct iso_events events;
    struct iso_error error;
    char *text;
};

/* Fails the test if the decoder cannot be made. */
void decoding_start(struct decoding *decoding, const struct iso_decoder_class *class,
                    const struct iso_decoder_options *options);
void decoding_end(struct decoding *decoding);

/* What creating it says, which must fail; static. */
const char *decoding_refused(const struct iso_decoder_class *class,
                             const struct iso_decoder_options *options);

/* The events of one message, each with a newline, or "ERROR text\n"; valid until the next call.
 * Checks that an error left no event behind, and that a message without an error has one. NULL is a
 * null key or payload. */
const char *decoding_of(struct decoding *decoding, const void *key, size_t key_size,
                        const void *payload, size_t size);
const char *decoding_of_text(struct decoding *decoding, const char *payload);

/* The events as they stand, as text; the caller frees it. */
char *decoding_describe(const struct iso_events *events);

#endif
