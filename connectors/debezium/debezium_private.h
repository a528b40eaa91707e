#ifndef ISO_DEBEZIUM_PRIVATE_H
#define ISO_DEBEZIUM_PRIVATE_H

#include "connectors/debezium/debezium.h"
#include "connectors/envelope/change.h"
#include "connectors/envelope/identity.h"
#include "io/marker.h"
#include "io/native.h"
#include "io/payload.h"

enum debezium_database { DEBEZIUM_POSTGRESQL, DEBEZIUM_BINLOG };

struct debezium {
    struct iso_decoder decoder;
    char *value, *tables; /* the options, or NULL */
    enum iso_row_identity identity;
    struct iso_marker marker;
    struct iso_envelope_reader *reader;
    struct iso_envelope envelope;
    struct iso_identities identities;
    struct iso_native native; /* records in logical messages */
    struct iso_native_fault fault;
    struct iso_payload content;
    struct iso_row names; /* only its text: names of tables */
};

/* What the message at hand is about; texts are the envelope's. */
struct debezium_place {
    enum debezium_database database;
    struct iso_json_text schema, table; /* MySQL: the database's name as the schema */
    bool is_snapshot, is_incremental;
};

/* Fills in what all events of a change have: source, table, id, position, order, origin. */
enum iso_status debezium_place(struct debezium *debezium, const struct iso_message *message, struct iso_history *block,
                               struct debezium_place *place, struct iso_event *event, struct iso_error *error);

/* A logical message; `event` has the place. */
enum iso_status debezium_take_message(struct debezium *debezium, struct iso_events *events, struct iso_event *event,
                                      struct iso_error *error);

#endif
