/* The writers of formats that say less than the native one: one file each kind. */
#pragma once

#include "formats/write_history.h"

/* Both write a finished history. */
enum iso_status write_text(struct iso_history_writer *writer, const struct iso_history *history,
                           struct iso_error *error);
enum iso_status write_dbcop(struct iso_history_writer *writer, const struct iso_history *history,
                            struct iso_error *error);
enum iso_status write_elle(struct iso_history_writer *writer, const struct iso_history *history,
                           struct iso_error *error);
