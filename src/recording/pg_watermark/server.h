/* What a PostgreSQL server says of its transactions, as rounds of tick.h; and watermarks in-band.
 *
 * Threads: one at a time.
 */
#pragma once

#include "database/database.h"
#include "pg_watermark/tick.h"

/* ISO_BAD_INPUT: the database cannot tell, or not to this user: with the statement that mends
 * it. */
enum iso_status iso_tick_check(struct iso_database *database, struct iso_error *error);

/* Asks once and notes it; `clock_us` is the server's time. ISO_FAILED: no answer. */
enum iso_status iso_tick_ask(struct iso_tick *tick, struct iso_database *database,
                             uint64_t *clock_us, struct iso_error *error);

/* {"watermark":"748"} in the log, under the prefix `isochron`. */
enum iso_status iso_tick_emit(struct iso_database *database, uint64_t watermark,
                              struct iso_error *error);
