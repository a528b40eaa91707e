/* What a change says of itself in every connector's envelope: its form, snapshot, order,
 * transaction, value.
 */
#pragma once

#include "base/bytes.h"
#include "connectors/envelope/envelope.h"
#include "connectors/cdc_common/marker.h"

/* As iso_bytes_decimal. */
static inline bool iso_change_digits(const char *at, size_t length, uint64_t *number)
{
    return iso_bytes_decimal(at, length, number);
}

/* source.snapshot: whether the row is of a snapshot, and which flags of events say where in it. */
enum iso_status iso_change_snapshot(const struct iso_envelope *envelope, bool *is_snapshot,
                                    uint16_t *flags, struct iso_error *error);

/* source.sequence and source.lsn as the event's position: {end of the transaction before, this
 * change}. */
enum iso_status iso_change_lsn(const struct iso_envelope *envelope, struct iso_event *event,
                               struct iso_error *error);

/* The atom of a transaction's id: of "571:53195829" that is 571, and `*lsn` the rest (if not
 * NULL). */
iso_atom iso_change_transaction(struct iso_history *block, struct iso_json_text id, uint64_t *lsn);

/* Whether before and after are what the operation must have. */
enum iso_status iso_change_form(const struct iso_envelope *envelope, char op,
                                struct iso_error *error);

/* Sets `*value`, and `flag` in the event, where the row's value is known. `part`: "before" or
 * "after". */
enum iso_status iso_change_value(struct iso_row *row, const char *part, const char *column,
                                 struct iso_history *block, iso_atom *value, uint16_t flag,
                                 struct iso_event *event, struct iso_error *error);

/* Whether the row is of the markers' table, whose name `table` is; then that is its event.
 * `says_nothing`: it is gone, or was there before. */
bool iso_change_marker(const struct iso_marker *marker, struct iso_json_text table,
                       struct iso_envelope *envelope, bool says_nothing, struct iso_events *events,
                       struct iso_event *event);

/* Transaction metadata as a BEGIN or an END. */
enum iso_status iso_change_metadata(const struct iso_envelope *envelope,
                                    const struct iso_message *message, struct iso_history *block,
                                    struct iso_event *event, struct iso_error *error);

static inline iso_atom iso_change_text(struct iso_history *block, struct iso_json_text text)
{
    return iso_atoms_text(&block->atoms, text.at, text.length);
}
