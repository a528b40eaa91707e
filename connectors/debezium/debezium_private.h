#pragma once

#include "connectors/debezium/debezium.h"
#include "connectors/envelope/source.h"
#include "native/native.h"
#include "base/payload.h"

/* iso_change_place's `connector`. */
enum { DEBEZIUM_POSTGRESQL, DEBEZIUM_BINLOG };

struct debezium {
    struct iso_change_source source; /* first */
    struct iso_native native;        /* records in logical messages */
    struct iso_native_fault fault;
    struct iso_payload content;
};

/* The rules' `place`, `alone` and `message`. MySQL's schema is the database's name. */
enum iso_status debezium_place(struct iso_change_source *source, struct iso_history *block,
                               struct iso_change_place *place, struct iso_event *event,
                               struct iso_error *error);
bool debezium_take_alone(const struct iso_change_source *source,
                         const struct iso_change_place *place, struct iso_history *block,
                         struct iso_event *event);
/* Corrects a BEGIN or END: its GTID. */
void debezium_metadata(const struct iso_envelope *envelope, struct iso_event *event);
enum iso_status debezium_take_message(struct iso_change_source *source, struct iso_events *events,
                                      struct iso_event *event, struct iso_error *error);
