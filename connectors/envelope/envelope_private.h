/* What the formats of envelopes share. */
#pragma once

#include "connectors/envelope/envelope.h"

/* One format. */
struct envelope_format {
    const char *name;
    struct iso_envelope_reader *(*create)(const struct iso_decoder_options *options,
                                          struct iso_error *error);
    enum iso_status (*read_payload)(struct iso_envelope_reader *reader,
                                    const struct iso_message *message,
                                    struct iso_envelope *envelope, struct iso_error *error);
    enum iso_status (*read_key)(struct iso_envelope_reader *reader,
                                const struct iso_message *message, struct iso_envelope *envelope,
                                struct iso_error *error);
    void (*destroy)(struct iso_envelope_reader *reader);
};

/* What every reader starts with. */
struct iso_envelope_reader {
    const struct envelope_format *format;
    bool cells;
};

extern const struct envelope_format envelope_json, envelope_avro, envelope_protobuf,
    envelope_test_decoding;

/* Notes that the member is there; false: for the second time. */
static inline bool envelope_note(struct iso_envelope *envelope, enum iso_member member)
{
    uint64_t bit = (uint64_t)1 << member;
    bool first = !(envelope->seen & bit);
    envelope->seen |= bit;
    return first;
}

enum iso_status envelope_twice(enum iso_member member, struct iso_error *error);

/* The row that the member holds, or NULL. */
static inline struct iso_row *envelope_row(struct iso_envelope *envelope, enum iso_member member)
{
    return member == ISO_MEMBER_BEFORE  ? &envelope->before
           : member == ISO_MEMBER_AFTER ? &envelope->after
                                        : NULL;
}
