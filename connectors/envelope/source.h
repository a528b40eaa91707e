/* What decoders of Debezium's envelope share, whoever sends it: options, the reader, and the way
 * from a message to its event. A connector says in `iso_change_rules` what its members mean; a
 * source of a connector starts with `iso_change_source`.
 *
 *     op c u d r          a row: `place` says where it belongs, `images` what was before and after
 *                         it
 *     op t                every key of the table is gone
 *     op s                nobody knows what the table holds (test_decoding.c alone has it)
 *     op m                `message`, where the connector has logical messages
 *     status              BEGIN or END of a transaction: `metadata` may correct it
 *     ddl, databaseName   a change of a schema
 *     ts_ms alone         a heartbeat
 *
 * Rows of the markers' table say whose transaction they are of and nothing else. Ignored with a
 * reason: tombstones, rows without a key, rows of tables that are not asked for. All else is bad
 * input. Threads: one at a time for each source.
 */
#pragma once

#include "connectors/envelope/change.h"
#include "connectors/envelope/tables.h"
#include "connectors/cdc_common/cells.h"
#include "connectors/cdc_common/marker.h"
#include "base/payload.h"

struct iso_change_source;

/* Which table and transaction the message at hand is about; texts are the envelope's. */
struct iso_change_place {
    struct iso_json_text schema, table;
    bool is_snapshot;
    uint16_t snapshot_flags; /* ISO_EVENT_SNAPSHOT_ENDS, TABLE_ENDS, INCREMENTAL */
    int connector;           /* the rules' own: which of their connectors it is */
};

struct iso_change_rules {
    const char *senders;      /* "Debezium", for messages that are nobody's */
    const char *operations;   /* letters of op */
    const char *expected;     /* the same in words */
    bool cells;               /* columns are {value, set} */
    bool schema_change_place; /* schema changes say their table as rows do */

    /* Fills in what all events of a change have: source, id, times, position, order. */
    enum iso_status (*place)(struct iso_change_source *source, struct iso_history *block,
                             struct iso_change_place *place, struct iso_event *event,
                             struct iso_error *error);

    /* Sets before and after of a row whose key is known; with cells, whether it existed, and
     * `before_known`. */
    enum iso_status (*images)(struct iso_change_source *source,
                              const struct iso_change_place *place, struct iso_history *block,
                              struct iso_event *event, struct iso_error *error);

    /* A drop that commits by itself: names its transaction. False: it is part of one. NULL: all
     * are. */
    bool (*alone)(const struct iso_change_source *source, const struct iso_change_place *place,
                  struct iso_history *block, struct iso_event *event);

    /* NULL: there are none. */
    enum iso_status (*message)(struct iso_change_source *source, struct iso_events *events,
                               struct iso_event *event, struct iso_error *error);

    /* Corrects a BEGIN or END; NULL: nothing to correct. */
    void (*metadata)(const struct iso_envelope *envelope, struct iso_event *event);
};

struct iso_change_source {
    struct iso_decoder decoder;
    const struct iso_change_rules *rules;
    char *value, *tables; /* the options, or NULL */
    enum iso_row_identity identity;
    bool unreported; /* the option */
    struct iso_marker marker;
    struct iso_cells cells;
    bool before_known; /* what the row at hand has before is what was there, where it says something
                        */
    struct iso_envelope_reader *reader;
    struct iso_envelope envelope;
    struct iso_tables seen;
    iso_atom name; /* of the sender, as it was in some block */
    struct iso_row_names names;
    struct iso_json json; /* of an END's collections */
    struct iso_payload collections;
    const struct iso_row_name *table; /* at hand */
};

/* Release it also where it fails. */
enum iso_status iso_change_source_init(struct iso_change_source *source,
                                       const struct iso_decoder_class *class,
                                       const struct iso_change_rules *rules,
                                       const struct iso_decoder_options *options,
                                       struct iso_error *error);
void iso_change_source_release(struct iso_change_source *source);

/* A decoder's `decode`. */
enum iso_status iso_change_source_decode(struct iso_decoder *decoder,
                                         const struct iso_message *message,
                                         struct iso_events *events, struct iso_error *error);

/* A decoder's `covers`. */
bool iso_change_source_covers(const struct iso_decoder *decoder, const char *topic,
                              const char *table, size_t length);

/* A decoder's `covers_column`. */
enum iso_column_coverage iso_change_source_covers_column(const struct iso_decoder *decoder,
                                                         const char *table, size_t length,
                                                         const char *column, size_t column_length);

/* A decoder's `value_type` and `types_known`. */
struct iso_value_type iso_change_source_value_type(const struct iso_decoder *decoder,
                                                   const char *table, size_t length,
                                                   const char *column, size_t column_length);
const char *iso_change_source_key_column(const struct iso_decoder *decoder, const char *table,
                                         size_t length, size_t *column_length);
uint32_t iso_change_source_types_known(const struct iso_decoder *decoder);

/* A decoder's `archive`: what its tables have shown. */
void iso_change_source_archive(struct iso_decoder *decoder, struct iso_archive *archive);

/* The class of a decoder that begins with a struct iso_change_source. */
#define ISO_CHANGE_SOURCE_CLASS(name, creates, destroys)                                           \
    {                                                                                              \
        .kind = name, .create = creates, .decode = iso_change_source_decode, .destroy = destroys,  \
        .archive = iso_change_source_archive, .covers = iso_change_source_covers,                  \
        .covers_column = iso_change_source_covers_column,                                          \
        .value_type = iso_change_source_value_type, .key_column = iso_change_source_key_column,    \
        .types_known = iso_change_source_types_known                                               \
    }

/* The atom of the sender's name, which mostly is that of the message before. */
iso_atom iso_change_name(struct iso_change_source *source, struct iso_history *block,
                         struct iso_json_text name);

/* Whether the row before can be relied on, by what the table has shown so far (tables.h). */
bool iso_change_is_whole(struct iso_change_source *source, const struct iso_event *event);
