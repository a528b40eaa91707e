/* Protobuf schemas (proto3, as Confluent's converter writes them and a registry returns them) as
 * tables.
 *
 * protobuf-c decodes only what was compiled in, so the schema's text is read here: messages, nested
 * ones too, with their fields' numbers, types and presence. Options are passed over. Specification:
 * proto3, "Language Specification".
 */
#pragma once

#include "base/names.h"
#include "base/number_map.h"
#include "connectors/envelope/envelope.h"

enum { PROTO_DEPTH_MAX = 64, PROTO_SCOPES = 4 };

enum proto_kind {
    PROTO_DOUBLE,
    PROTO_FLOAT,
    PROTO_INT32, /* int32, int64 and enumerations: varints, negative ones in ten bytes */
    PROTO_INT64,
    PROTO_UINT32,
    PROTO_UINT64,
    PROTO_SINT32, /* zig-zag */
    PROTO_SINT64,
    PROTO_FIXED32,
    PROTO_FIXED64,
    PROTO_SFIXED32,
    PROTO_SFIXED64,
    PROTO_BOOL,
    PROTO_STRING,
    PROTO_BYTES,
    PROTO_MESSAGE
};

enum proto_meaning {
    PROTO_PLAIN,
    PROTO_DECIMAL,          /* confluent.type.Decimal */
    PROTO_VARIABLE_DECIMAL, /* a message of scale and value */
    PROTO_WRAPPER,          /* google.protobuf.*Value: field 1, of `wrapped` */
    PROTO_CELL,             /* a message of value and set, and nothing else */
    PROTO_ENUMERATION       /* no message: its fields are varints */
};

struct proto_field {
    char *name;
    uint32_t length, number;
    uint8_t kind; /* enum proto_kind */
    bool is_repeated, is_map;
    bool has_presence;            /* absent is null and not 0 */
    uint32_t message;             /* PROTO_MESSAGE: its number */
    char *type;                   /* its name, until it is resolved */
    uint8_t member[PROTO_SCOPES]; /* enum iso_member, in each scope */
};

struct proto_message {
    char *name; /* full, from the file's top: "Envelope.Value" */
    uint8_t meaning;
    uint8_t wrapped;       /* PROTO_WRAPPER: enum proto_kind */
    uint32_t first, count; /* of `fields` */
};

struct proto_schema {
    uint32_t message_count, message_capacity;
    struct proto_message *messages;
    uint32_t root; /* the file's first message, which is the one that is sent */
    uint32_t field_count, field_capacity;
    struct proto_field *fields;
    struct iso_names names; /* of messages, while the schema is read */
    /* a message's first field and a field's number, to its index within the message */
    struct iso_number_map numbers;
};

/* The index within its message of the field of that number, `count` if there is none. */
uint32_t proto_field_find(const struct proto_schema *schema, const struct proto_message *message,
                          uint32_t number);

/* An iso_schema_parse and its iso_schema_forget. */
void *proto_schema_parse(const char *text, size_t length, struct iso_error *error);
void proto_schema_forget(void *schema);
