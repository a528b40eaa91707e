/* The readers of history formats, one file each. A reader fills a history that is empty and leaves it
 * unfinished. What a format cannot say (an aborted transaction's place, a failed statement) is put into the
 * history model's terms where it is read; each file's head says how. */
#ifndef ISO_IO_FORMAT_PRIVATE_H
#define ISO_IO_FORMAT_PRIVATE_H

#include "iso/history.h"

enum iso_status format_dbcop_read(const char *path, struct iso_history *history, struct iso_error *error);
enum iso_status format_cobra_read(const char *path, struct iso_history *history, struct iso_error *error);
enum iso_status format_text_read(const char *path, struct iso_history *history, struct iso_error *error);
enum iso_status format_awdit_read(const char *path, struct iso_history *history, struct iso_error *error);
enum iso_status format_viper_read(const char *path, struct iso_history *history, struct iso_error *error);
enum iso_status format_elle_edn_read(const char *path, struct iso_history *history, struct iso_error *error);
enum iso_status format_elle_json_read(const char *path, struct iso_history *history, struct iso_error *error);

#endif
