/* Sources: what decoders make of messages. Bytes in, events out.
 *
 * A decoder turns one message into events, in the message's order, and whole client transactions into transactions of
 * a history block, whose atoms the events' texts are. It does no I/O (schemas come from a provider that it is given),
 * keeps bounded state, and knows no other message than the one at hand. What it cannot decode is ISO_BAD_INPUT, and
 * then the events are as they were.
 *
 * Ownership: events own their block and list; strings in events are static. Threads: one at a time.
 */
#ifndef ISO_SOURCE_H
#define ISO_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "iso/error.h"
#include "iso/history.h"
#include "iso/message.h"

enum iso_event_type {
    ISO_EVENT_TRANSACTIONS, /* whole client transactions: `first`, `count` of the block */
    ISO_EVENT_ROW,          /* a change of one row or value */
    ISO_EVENT_BEGIN,        /* of the transaction `transaction_id` */
    ISO_EVENT_END,          /* with `count` rows, as the source claims */
    ISO_EVENT_WATERMARK,    /* no later event with cts <= `cts` in this partition */
    ISO_EVENT_DROP,         /* deletes every key of `table`; absent: all */
    ISO_EVENT_DELETE_IF,    /* deletes `key` if its value is `before` */
    ISO_EVENT_HEARTBEAT,
    ISO_EVENT_SCHEMA, /* a change of `table`'s schema */
    ISO_EVENT_IGNORED /* nothing to check in it: `reason` */
};

enum iso_row_operation { ISO_ROW_INSERT, ISO_ROW_UPDATE, ISO_ROW_DELETE, ISO_ROW_SNAPSHOT };

/* Which members of an event hold something. */
#define ISO_EVENT_HAS_STS 0x01u
#define ISO_EVENT_HAS_CTS 0x02u
#define ISO_EVENT_HAS_ID 0x04u /* transaction_id */
#define ISO_EVENT_HAS_POSITION 0x08u
#define ISO_EVENT_HAS_BEFORE 0x10u /* the whole row before, or its absence, is known */
#define ISO_EVENT_HAS_AFTER 0x20u  /* absent: written, but the source does not say what */
#define ISO_EVENT_HAS_COUNT 0x40u
#define ISO_EVENT_IN_BAND 0x80u     /* TRANSACTIONS: the record travelled inside `transaction_id`, which it describes */
#define ISO_EVENT_HAS_MARKER 0x100u /* ROW, IGNORED: the client's own id of the transaction stands in it */
#define ISO_EVENT_ALONE 0x200u      /* DROP: it is the whole of `transaction_id`, which nothing ends */

struct iso_event {
    uint8_t type;      /* enum iso_event_type */
    uint8_t operation; /* ROW: enum iso_row_operation */
    uint16_t flags;
    uint32_t first;              /* TRANSACTIONS: index in the block */
    uint32_t count;              /* TRANSACTIONS: how many; END: rows */
    iso_atom source, table, key; /* a ROW's key is its whole identity, `db.table/pk` */
    iso_atom before, after;      /* values; ISO_ABSENT: no row */
    iso_atom transaction_id;
    iso_atom marker; /* the `tid` of the client's record */
    struct iso_stamp sts, cts;
    uint64_t position[2]; /* order within the feed, high part first (Debezium: previous END's LSN, own LSN; END: 0, its
                             LSN) */
    uint64_t order;     /* ROW, IGNORED: its place within its transaction, from 1, as the source counts; 0: not said */
    uint64_t origin;    /* iso_origin(input of the message, offset) */
    const char *reason; /* IGNORED: static text */
};

struct iso_events {
    struct iso_history block; /* building, never finished */
    uint32_t count, capacity;
    struct iso_event *list;
};

/* An event of the message, with nothing in it yet. */
struct iso_event iso_event_of(const struct iso_message *message, enum iso_event_type type);

void iso_events_init(struct iso_events *events);
void iso_events_release(struct iso_events *events);
void iso_events_clear(struct iso_events *events);
void iso_events_add(struct iso_events *events, const struct iso_event *event);

/* Adds an event of the message, to be filled in where it stands, until the next is added. */
struct iso_event *iso_events_start(struct iso_events *events, const struct iso_message *message,
                                   enum iso_event_type type);
/* Transaction `index` of the block as an event, joined with the event before where that is possible. */
void iso_events_add_transaction(struct iso_events *events, uint32_t index, uint64_t origin);

/* A schema, as a registry or a file has it. */
enum iso_schema_type { ISO_SCHEMA_AVRO, ISO_SCHEMA_PROTOBUF, ISO_SCHEMA_JSON };

struct iso_schema {
    enum iso_schema_type type;
    const char *text; /* NUL-terminated; the provider's, as long as it lives */
    size_t length;
};

/* What a source's before images hold (PostgreSQL's replica identity). */
enum iso_row_identity {
    ISO_IDENTITY_LEARN,   /* whole rows only where the source says so, or has shown so */
    ISO_IDENTITY_DEFAULT, /* the key alone */
    ISO_IDENTITY_FULL     /* whole rows */
};

/* Gives the schema with a registry's id; the same answer for the same id, for ever. */
struct iso_schema_provider {
    enum iso_status (*find)(void *context, uint32_t id, struct iso_schema *schema, struct iso_error *error);
    void *context;
};

struct iso_decoder_options {
    const char *format;                         /* "json", "avro", "protobuf"; NULL: the kind's default */
    const struct iso_schema_provider *registry; /* NULL: none; framed messages are refused */
    const char *schema;                         /* Avro without framing: the writer's schema; NULL: the published one */
    bool framed;                                /* Confluent framing stands before each payload */
    const char *value; /* a row's value is this column; NULL: canonical JSON of all but the key */
    enum iso_row_identity identity;
    const char *tables;                   /* rows of these only, "db.a;db.b" as events name them; NULL: of all */
    const char *marker;                   /* where rows say whose transaction they are (io/marker.h); NULL: nowhere */
    const char *delimiter, *quote, *null; /* csv; NULL: "," and "\"" and "\\N"; quote "": escapes instead of quotes */
    const char *compression;              /* of payloads: "none", "gzip", "lz4", "snappy", "zstd"; NULL: none */
};

struct iso_decoder;
struct iso_archive;

/* One kind of source. */
struct iso_decoder_class {
    const char *kind; /* "history", ... */
    struct iso_decoder *(*create)(const struct iso_decoder_options *options, struct iso_error *error);
    enum iso_status (*decode)(struct iso_decoder *decoder, const struct iso_message *message, struct iso_events *events,
                              struct iso_error *error);
    void (*destroy)(struct iso_decoder *decoder);
    /* Saves or restores (into a new decoder) what it has learned from messages that are not read again
     * (base/archive.h). NULL: what it has learned, the next message can teach it as well. */
    void (*archive)(struct iso_decoder *decoder, struct iso_archive *archive);
};

/* What every decoder starts with. */
struct iso_decoder {
    const struct iso_decoder_class *class;
};

#endif
