/* The readers of history formats, one file each. A reader fills a history that is empty and leaves
 * it unfinished. What a format cannot say (an aborted transaction's place, a failed statement) is
 * put into the history model's terms where it is read; each file's head says how. */
#pragma once

#include "base/json.h"
#include "formats/format.h"
#include "bytes/whole_file.h"
#include "history/history.h"

enum iso_status format_dbcop_read(const char *path, struct iso_history *history,
                                  struct iso_error *error);
enum iso_status format_cobra_read(const char *path, struct iso_history *history,
                                  struct iso_error *error);
enum iso_status format_text_read(const char *path, unsigned threads, struct iso_history *history,
                                 struct iso_error *error);
enum iso_status format_viper_read(const char *path, struct iso_history *history,
                                  struct iso_error *error);

/* A format of one text reads it whole; who calls them opens it and says to the history which file
 * it is. */
typedef enum iso_status format_text_reader(const char *path, const struct iso_whole_file *file,
                                           struct iso_history *history, struct iso_error *error);
format_text_reader format_awdit_read, format_elle_edn_read, format_elle_json_read,
    format_dbcop_json_read, format_hist_read;

/* The first bytes of a regular file, unpacked; none of what cannot be read twice, or not at all. */
enum { FORMAT_HEAD = 1 << 16 };
size_t format_head(const char *path, char head[FORMAT_HEAD]);

/* The format of a directory, by its files. ISO_BAD_INPUT: no history, several, or a *.log that is
 * none of Cobra's and Viper's. */
enum iso_status format_directory_guess(const char *path, enum iso_format *format,
                                       struct iso_error *error);

/* Every key starts at 0, unless a transaction that did not abort writes 0 to it: then no read of 0
 * is initial. */
void format_set_initial_zero(struct iso_history *history);

/* The line of a place, for places that come in order: counts on from the last one. Zeroed at the
 * start of a file. */
struct format_line {
    const char *at;
    uint64_t line;
};
uint64_t format_line_of(struct format_line *cursor, const struct iso_whole_file *file,
                        const char *at);

/* ---- what JSON readers share ---- */

/* An integer or a string as an atom; null, or the text "nil", as ISO_ABSENT if `nil` allows it.
 * False: json is in error, with `expected`. */
bool format_json_atom(struct iso_json *json, struct iso_history *history, bool nil,
                      const char *expected, iso_atom *atom);

/* ---- operations that wait until their transaction's outcome is known: Elle and Viper ---- */

struct format_mop {
    uint8_t kind;          /* enum iso_operation_kind */
    bool failed;           /* a write that did not happen although its transaction committed */
    iso_atom key, value;   /* value: of ISO_READ_LIST none */
    uint32_t first, count; /* ISO_READ_LIST: of `elements` */
};

struct format_mops {
    struct format_mop *items;
    uint32_t count, capacity;
    iso_atom *elements;
    uint32_t element_count, element_capacity;
};

void format_mops_release(struct format_mops *mops);
void format_mops_add(struct format_mops *mops, struct format_mop mop);
void format_mops_element(struct format_mops *mops,
                         iso_atom element); /* of the list read added last */

/* Adds a transaction with these operations. Reads of one that did not commit say nothing and are
 * left out. The failed writes of a committed one become an aborted transaction ("TID.failed"), so
 * that a read of what they wrote is a read of something never committed. */
void format_mops_emit(const struct format_mops *mops, struct iso_history *history, iso_atom tid,
                      iso_atom session, uint8_t status, uint64_t origin);
