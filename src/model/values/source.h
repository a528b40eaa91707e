/* Sources: what decoders make of messages. Bytes in, events out.
 *
 * A decoder turns one message into events, in the message's order, and whole client transactions
 * into transactions of a history block, whose atoms the events' texts are. It does no I/O (schemas
 * come from a provider that it is given), keeps bounded state, and knows no other message than the
 * one at hand. What it cannot decode is ISO_BAD_INPUT, and then the events are as they were.
 *
 * Ownership: events own their block and list; strings in events are static. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "history/history.h"
#include "base/message.h"
#include "values/type.h"

enum iso_event_type {
    ISO_EVENT_TRANSACTIONS, /* whole client transactions: `first`, `count` of the block */
    ISO_EVENT_ROW,   /* a change of one row or value; `count` CELLs follow, `first` is a digest of
                        them */
    ISO_EVENT_CELL,  /* a change of one column of the ROW before: no message of its own */
    ISO_EVENT_BEGIN, /* of the transaction `transaction_id` */
    ISO_EVENT_END,   /* with `count` rows, as the source claims */
    ISO_EVENT_WATERMARK, /* no later event with cts <= `cts` in this partition */
    ISO_EVENT_DROP,      /* deletes every key of `table`; absent: all */
    ISO_EVENT_DELETE_IF, /* deletes `key` if its value is `before` */
    ISO_EVENT_HEARTBEAT,
    ISO_EVENT_SCHEMA, /* a change of `table`'s schema; ISO_EVENT_EPOCH: its rows look otherwise from
                         here on, or, with a `key`, "table#column", this column does: it is of
                         another type, or not shown any more */
    ISO_EVENT_COUNTED,    /* of clients: session `key`, or all of recorder `source`, has had `cts`
                             records; `operation`:    and will have no more; else it says so again
                             within    `order` milliseconds of `time`;    `count`: its records mean
                             something only    beside a change stream */
    ISO_EVENT_COLLECTION, /* of the END that follows: `count` of its events are of `table`, as the
                           * source names it; without one: are logical messages */
    ISO_EVENT_COLUMN,     /* not all rows of `table` have the column `key`, "table#column" */
    ISO_EVENT_IGNORED     /* nothing to check in it: `reason`; ISO_EVENT_EPOCH: it is told */
};

enum iso_row_operation { ISO_ROW_INSERT, ISO_ROW_UPDATE, ISO_ROW_DELETE, ISO_ROW_SNAPSHOT };

/* Effect of a statement on the rows of a table: a SCHEMA's `operation`. An emptied table is a
 * DROP. */
enum iso_table_change {
    ISO_TABLE_SAME,
    ISO_TABLE_EMPTIED,
    ISO_TABLE_PARTLY_EMPTIED, /* some of its rows are gone, and it is not known which */
    ISO_TABLE_RESPELT,        /* values are spelt otherwise */
    ISO_TABLE_REPLACED, /* its rows are those that another table had: the one that `key` names, if
                           it does */
    ISO_TABLE_LOST      /* the join's: changes of it are missing (join/extent.h) */
};

/* Which members of an event are set. */
#define ISO_EVENT_HAS_STS 0x01u
#define ISO_EVENT_HAS_CTS 0x02u
#define ISO_EVENT_HAS_ID 0x04u /* transaction_id */
#define ISO_EVENT_HAS_POSITION 0x08u
#define ISO_EVENT_HAS_BEFORE 0x10u /* the whole row before, or its absence, is known */
#define ISO_EVENT_HAS_AFTER 0x20u  /* absent: written, but the source does not say what */
#define ISO_EVENT_HAS_COUNT 0x40u
/* TRANSACTIONS: the record travelled inside `transaction_id`, which it describes */
#define ISO_EVENT_IN_BAND 0x80u
/* ROW, IGNORED: the client's own id of the transaction stands in it */
#define ISO_EVENT_HAS_MARKER 0x100u
/* DROP, SCHEMA: it is the whole of `transaction_id`, which nothing ends */
#define ISO_EVENT_ALONE 0x200u
/* ROW of a snapshot: the last one of all tables of the sender */
#define ISO_EVENT_SNAPSHOT_ENDS 0x400u
#define ISO_EVENT_TABLE_ENDS 0x800u /* ROW of a snapshot: the last one of its table */
/* ROW of a snapshot: its sender marks the last row of each table */
#define ISO_EVENT_SNAPSHOT_MARKS ISO_EVENT_HAS_COUNT
/* ROW of a change: what it says of its columns it wrote itself; else some may be what they were */
#define ISO_EVENT_WRITTEN ISO_EVENT_HAS_COUNT
#define ISO_EVENT_INCREMENTAL 0x1000u /* ROW of a snapshot that is taken while changes stream */
#define ISO_EVENT_UNREPORTED                                                                       \
    0x2000u /* ROW, CELL, DROP, DELETE_IF: clients do not report what is written there             \
               (reported=no) */
#define ISO_EVENT_EPOCH                                                                            \
    0x4000u /* SCHEMA: `table`'s rows have other columns, or columns of other types. IGNORED: from \
             * here on `table` cannot be judged, or with a `key`, "table#column", not always that  \
             * column: for `reason` */
/* ROW of a snapshot: `position[0]` is the xid that took it */
#define ISO_EVENT_SNAPSHOT_XID 0x8000u

struct iso_event {
    uint8_t type;      /* enum iso_event_type */
    uint8_t operation; /* ROW: enum iso_row_operation; SCHEMA: enum iso_table_change */
    uint16_t flags;
    uint32_t first; /* TRANSACTIONS: index in the block; ROW: see there */
    uint32_t count; /* TRANSACTIONS: how many; END: rows; ROW: cells */
    iso_atom source, table,
        key; /* a ROW's key is its whole identity, `db.table/pk`; a CELL's `db.table/pk#column` */
    iso_atom before, after; /* values; ISO_ABSENT: no row */
    iso_atom transaction_id;
    iso_atom marker; /* the `tid` of the client's record */
    struct iso_stamp sts, cts;
    uint64_t position[2]; /* order within the feed, high part first (Debezium: previous END's LSN,
                             own LSN; END: 0, its LSN) */
    uint64_t commit; /* place of its transaction among all of `domain`, where the source numbers
                        them (MariaDB's GTID); 0: none */
    uint32_t domain; /* without `commit`: what is sent in the order of commits, of all that comes
                        (YugabyteDB's tablet) */
    uint8_t unknown; /* ROW, CELL without HAS_AFTER: why (enum iso_unjudged), if not
                        ISO_UNJUDGED_UNKNOWN_VALUE; DROP: why some keys may be there still */
    /* END: when its transaction committed, in milliseconds since 1970; 0: not said */
    uint64_t time;
    uint64_t order; /* ROW, IGNORED: its place within its transaction, from 1, as the source counts;
                       0: not said */
    uint64_t origin;    /* iso_origin(input of the message, offset) */
    const char *reason; /* static text; IGNORED: why. ROW: why what is NULL may have come as another
                           value, in all rows of its sender */
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
/* Transaction `index` of the block as an event, joined with the event before where that is
 * possible. */
void iso_events_add_transaction(struct iso_events *events, uint32_t index, uint64_t origin);

/* Marks rows and drops from event `first` on: clients do not report what is written to their
 * tables. */
void iso_events_unreported(struct iso_events *events, uint32_t first);

/* A schema, as a registry or a file has it. */
enum iso_schema_type { ISO_SCHEMA_AVRO, ISO_SCHEMA_PROTOBUF, ISO_SCHEMA_JSON };

struct iso_schema {
    enum iso_schema_type type;
    const char *text; /* NUL-terminated; the provider's, until it is asked again */
    size_t length;
};

/* Contents of a source's before images (PostgreSQL's replica identity). */
enum iso_row_identity {
    ISO_IDENTITY_LEARN,   /* whole rows only where the source says so, or has shown so */
    ISO_IDENTITY_DEFAULT, /* the key alone */
    ISO_IDENTITY_FULL     /* whole rows */
};

/* Gives the schema with a registry's id; the same answer for the same id, for ever. */
struct iso_schema_provider {
    enum iso_status (*find)(void *context, uint32_t id, struct iso_schema *schema,
                            struct iso_error *error);
    void *context;
};

struct iso_decoder_options {
    const char *format; /* "json", "avro", "protobuf"; NULL: the kind's default */
    const struct iso_schema_provider *registry; /* NULL: none; framed messages are refused */
    const char *schema; /* Avro without framing: the writer's schema; NULL: the published one */
    bool framed;        /* Confluent framing stands before each payload */
    const char *value;  /* a row's value is this column; NULL: canonical JSON of all but the key */
    const char *cells;  /* "true": columns are values of their own; "a;b": these; NULL: rows are
                           whole. Not with `value` */
    bool ranges;        /* of clients: records may have row sets of plain keys */
    enum iso_row_identity identity;
    const char *tables; /* rows of these only, "db.a;db.b" as events name them; NULL: of all */
    const char *key; /* the columns of composite keys in their index's order, "z;a", or of one table
                      * "db.t:z;a", of several with `|` between; NULL: not given */
    bool unreported; /* clients do not report what is written to these tables (reported=no) */
    bool one_zone;   /* texts of times that need a time zone are of the clients' (zone=same) */
    bool caseless;   /* keys are equal whatever their case (collation=ci) */
    const char *marker; /* where rows say whose transaction they are
                           (connectors/cdc_common/marker.h); NULL: nowhere */
    const char *delimiter, *quote,
        *null; /* csv; NULL: "," and "\"" and "\\N"; quote "": escapes instead of quotes */
    const char *compression; /* of payloads: "none", "gzip", "lz4", "snappy", "zstd"; NULL: none */
};

/* Coverage of a column by a decoder with cells. */
enum iso_column_coverage {
    ISO_COLUMN_UNLISTED,  /* its changes are not asked for */
    ISO_COLUMN_NOT_SHOWN, /* rows of the table came, and none had it */
    ISO_COLUMN_UNSEEN,    /* no row of the table came so far */
    ISO_COLUMN_SHOWN
};

struct iso_decoder;
struct iso_labels;
struct iso_archive;

/* One kind of source. */
struct iso_decoder_class {
    const char *kind; /* "history", ... */
    struct iso_decoder *(*create)(const struct iso_decoder_options *options,
                                  struct iso_error *error);
    enum iso_status (*decode)(struct iso_decoder *decoder, const struct iso_message *message,
                              struct iso_events *events, struct iso_error *error);
    void (*destroy)(struct iso_decoder *decoder);
    /* Saves or restores (into a new decoder) what it has learned from messages that are not read
     * again (base/archive.h). NULL: what it has learned, the next message can teach it as well. */
    void (*archive)(struct iso_decoder *decoder, struct iso_archive *archive);
    /* Whether changes of `table`, as it stands in keys before the first '/', come through messages
     * of `topic`. NULL: no table's do. */
    bool (*covers)(const struct iso_decoder *decoder, const char *topic, const char *table,
                   size_t length);
    /* Type of a column of `table` by the schemas of messages so far; without a `column` (NULL),
     * of a row's value: ISO_VALUE_ROW where that is the whole row. NULL: not known. */
    struct iso_value_type (*value_type)(const struct iso_decoder *decoder, const char *table,
                                        size_t length, const char *column, size_t column_length);
    /* The name of the column that is the key of `table`, or NULL: it is not known, or there are
     * several. Valid until the next message. NULL: it never is known. */
    const char *(*key_column)(const struct iso_decoder *decoder, const char *table, size_t length,
                              size_t *column_length);
    /* Where the decoder has cells: what it says of a column of a table that it covers. */
    enum iso_column_coverage (*covers_column)(const struct iso_decoder *decoder, const char *table,
                                              size_t length, const char *column,
                                              size_t column_length);
    /* A number that is another whenever `value_type` may say something else. NULL: it never
     * does. */
    uint32_t (*types_known)(const struct iso_decoder *decoder);
};

/* The members that every decoder starts with. */
struct iso_decoder {
    const struct iso_decoder_class *class;
    const char *value; /* the column that is a row's value; NULL: all, or it has none */
    bool cells;        /* columns are values of their own */
    bool ranges;      /* its records may have row sets of plain keys, for which all keys are kept */
    bool is_foreign;  /* what it refused last is whole, and of nobody of its kind */
    bool only_signed; /* its database has no integers without a sign, as far as messages have shown
                       */
    const struct iso_labels *labels; /* to which the types of its columns refer; NULL: to none */
};
