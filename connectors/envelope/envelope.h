/* Debezium's envelope, and the other messages that its connectors send, as one structure, whatever
 * their format.
 *
 * Debezium's own connectors and those derived from it (YugabyteDB's two) share the envelope and
 * differ in what its members mean. A reader takes a message's payload and key apart and judges
 * nothing but the form: which members are there, which columns a row has and what they contain.
 * Members are found by name in every format, unknown ones are passed over, a member that occurs
 * twice is refused.
 *
 *     JSON      with and without schemas, which each message shows; decimals by the schema, if
 *               there is one;
 *               also as CloudEvents (envelope_json.c)
 *     Avro      by the writer's schema: from a registry, or given
 *     Protobuf  by the schema's text, the same way
 *
 * Ownership: an envelope owns its rows; texts of cells are the reader's, until it reads the next
 * message. Memory: what the largest message needs, and at most ISO_SCHEMAS_MAX schemas. Threads:
 * one at a time.
 */
#pragma once

#include "values/row.h"
#include "values/source.h"

enum iso_member {
    ISO_MEMBER_NONE, /* not looked at */
    /* of the envelope */
    ISO_MEMBER_OP,
    ISO_MEMBER_BEFORE,
    ISO_MEMBER_AFTER,
    ISO_MEMBER_SOURCE,
    ISO_MEMBER_TRANSACTION,
    ISO_MEMBER_MESSAGE,
    ISO_MEMBER_DATA, /* of CloudEvents: before and after */
    /* of messages of other kinds */
    ISO_MEMBER_TS_MS,
    ISO_MEMBER_STATUS, /* transaction metadata */
    ISO_MEMBER_ID,
    ISO_MEMBER_EVENT_COUNT,
    ISO_MEMBER_DATA_COLLECTIONS, /* as JSON */
    ISO_MEMBER_PARTITION_ID,     /* also of the source */
    ISO_MEMBER_DDL,              /* schema changes */
    ISO_MEMBER_DATABASE_NAME,
    /* of `source` */
    ISO_MEMBER_CONNECTOR,
    ISO_MEMBER_NAME,
    ISO_MEMBER_SNAPSHOT,
    ISO_MEMBER_DB,
    ISO_MEMBER_SCHEMA,
    ISO_MEMBER_TABLE,
    ISO_MEMBER_SEQUENCE,
    ISO_MEMBER_TX_ID,
    ISO_MEMBER_LSN,
    ISO_MEMBER_GTID,
    ISO_MEMBER_FILE,
    ISO_MEMBER_POS,
    ISO_MEMBER_ROW,
    ISO_MEMBER_COMMIT_TIME,
    ISO_MEMBER_RECORD_TIME,
    ISO_MEMBER_TABLET_ID,
    /* of `transaction` */
    ISO_MEMBER_TRANSACTION_ID,
    ISO_MEMBER_TOTAL_ORDER,
    /* of `message` */
    ISO_MEMBER_PREFIX,
    ISO_MEMBER_CONTENT,
    ISO_MEMBERS
};

/* In which struct a member is looked for. */
enum iso_member_scope {
    ISO_SCOPE_TOP,
    ISO_SCOPE_SOURCE,
    ISO_SCOPE_TRANSACTION,
    ISO_SCOPE_MESSAGE,
    ISO_SCOPES
};

struct iso_envelope {
    uint64_t seen; /* bit m: member m was there, maybe null */
    /* where seen; structs are ISO_CELL_JSON, their members stand apart */
    struct iso_cell member[ISO_MEMBERS];
    struct iso_row before, after, key; /* no cells where null or not there */
    bool is_tombstone;                 /* no payload */
    bool has_key;
};

struct iso_envelope_reader;

/* NULL: the error says why. `cells`: columns are {"value":..,"set":..}, null where the source says
 * nothing of them. */
struct iso_envelope_reader *iso_envelope_reader_new(const struct iso_decoder_options *options,
                                                    bool cells, struct iso_error *error);
void iso_envelope_reader_free(struct iso_envelope_reader *reader); /* NULL is none */

/* Reads the payload, and the key where the payload is a row's. */
enum iso_status iso_envelope_read(struct iso_envelope_reader *reader,
                                  const struct iso_message *message, struct iso_envelope *envelope,
                                  struct iso_error *error);

void iso_envelope_init(struct iso_envelope *envelope);
void iso_envelope_release(struct iso_envelope *envelope);

/* ---- members ---- */

static inline bool iso_envelope_saw(const struct iso_envelope *envelope, enum iso_member member)
{
    return envelope->seen >> member & 1;
}

/* There, and not null. */
static inline bool iso_envelope_has(const struct iso_envelope *envelope, enum iso_member member)
{
    return iso_envelope_saw(envelope, member) && envelope->member[member].kind != ISO_CELL_NULL;
}

/* The member's name, "source.lsn". */
const char *iso_member_name(enum iso_member member);

enum iso_member iso_member_find(enum iso_member_scope scope, const char *name, size_t length);

/* Reads the member's value; absent and null are the empty text and 0. False: it has another
 * type, and the error says so. */
bool iso_envelope_text(const struct iso_envelope *envelope, enum iso_member member,
                       struct iso_json_text *text, struct iso_error *error);
bool iso_envelope_number(const struct iso_envelope *envelope, enum iso_member member,
                         uint64_t *number, struct iso_error *error);
