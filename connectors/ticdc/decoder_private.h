/* What the protocols share: a message taken apart, and the events that come of it. */
#pragma once

#include <stddef.h>

#include "connectors/ticdc/members.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/cdc_common/cells.h"
#include "connectors/cdc_common/ddl.h"
#include "connectors/cdc_common/marker.h"
#include "base/number_map.h"
#include "base/payload.h"
#include "values/labels.h"
#include "values/row.h"

struct ticdc_table;
struct ticdc_index;

enum {
    TICDC_PAYLOAD_MAX = 64 << 20, /* bytes, also after decompression */
    TICDC_KEYS_MAX = 64           /* columns of a key */
};

struct ticdc;

struct ticdc_protocol {
    const char *format;
    enum iso_status (*create)(struct ticdc *ticdc, const struct iso_decoder_options *options,
                              struct iso_error *error);
    enum iso_status (*decode)(struct ticdc *ticdc, struct iso_error *error);
    void (*destroy)(struct ticdc *ticdc); /* of `state`, which may be NULL */
    void (*archive)(struct ticdc *ticdc,
                    struct iso_archive *archive); /* of `state`; NULL: nothing was learned */
    bool compressed_inside; /* not the payload is compressed, but the values in it */
};

extern const struct ticdc_protocol ticdc_canal, ticdc_open, ticdc_simple, ticdc_simple_avro,
    ticdc_avro, ticdc_debezium, ticdc_csv;

/* Objects of a message whose members are remembered; columns are different ones, but the same in
 * each row. */
enum {
    TICDC_MESSAGE,
    TICDC_INSIDE,
    TICDC_KEY,
    TICDC_COLUMN,
    TICDC_COLUMNS = 8,
    TICDC_SHAPES = TICDC_COLUMN + TICDC_COLUMNS
};

enum ticdc_compression { TICDC_PLAIN, TICDC_LZ4, TICDC_SNAPPY };

/* Schemas of tables (tables.h). */
struct ticdc_tables {
    uint32_t count, latest;
    bool has_caseless; /* columns whose texts are equal whatever their case */
    struct ticdc_table **list;
};

/* Types of tables' columns, as rows have shown them: of those whose values have several spellings
 * (types.c). */
struct ticdc_types {
    uint32_t count, capacity, last, known;
    struct iso_labels labels;
    struct iso_number_map by_name; /* hash of a table's name: the last one's place in the list */
    struct ticdc_typed {
        char *table;
        uint32_t table_length, count;
        uint32_t next; /* of another name with that hash; ISO_NUMBER_NONE: there is none */
        struct ticdc_typed_column {
            char *name;
            uint32_t length;
            struct iso_value_type value;
        } * columns;
    } * list;
};

/* What columns decode to; does not move within a message (column.c). */
struct ticdc_room {
    struct iso_text bytes;
    char **blocks; /* what has no room there */
    uint32_t count, capacity;
};

struct ticdc {
    struct iso_decoder decoder;
    const struct ticdc_protocol *protocol;
    const struct iso_message *message; /* at hand; `decode` alone has one */
    struct iso_events *events;         /* where its events go */
    void *state;                       /* the protocol's own */
    char *value, *tables, *key_option;
    struct ticdc_tables known;
    struct ticdc_types typed;
    struct iso_text told; /* tables that are passed over, and columns, "table#column", that lose
                             values; NUL behind each */
    enum iso_row_identity identity;
    bool unreported, one_zone, caseless; /* the options */
    struct iso_marker marker;
    struct iso_cells cells;
    enum ticdc_compression compression;
    void *inflater; /* LZ4's, made when it is needed */
    struct iso_json json, key_json;
    struct iso_payload payload, key; /* with padding, for the scanners */
    struct iso_payload unpacked, unpacked_key;
    struct ticdc_room room;
    struct iso_row now, old, keys, types;
    struct iso_row_names names;
    struct iso_json_shape shapes[TICDC_SHAPES];
    struct iso_json_text key_names[TICDC_KEYS_MAX];
    uint32_t key_count;
};

/* One row's change; its columns are ticdc->now and ticdc->old, its key's columns
 * ticdc->key_names. */
struct ticdc_change {
    struct iso_json_text database, table;
    uint64_t commit_ts, start_ts;
    bool has_commit, has_start;
    bool has_now, has_old;
    bool old_is_partial; /* `old` has only what changed */
    bool keys_only;      /* values were left out */
    bool is_lossy;       /* what cells that are unknown hold was lost by the encoder */
    bool is_ordered;     /* the key's columns stand as in its index */
    bool created;        /* an insert, and not an update whose old row was left out */
};

/* ---- events (events.c) ---- */

/* Sets the scanner to the payload. False: there is none, and an event says so. */
bool ticdc_start_json(struct ticdc *ticdc);
enum iso_status ticdc_add_row(struct ticdc *ticdc, const struct ticdc_change *change,
                              struct iso_error *error);
void ticdc_add_watermark(struct ticdc *ticdc, uint64_t timestamp);
void ticdc_add_ignored(struct ticdc *ticdc, const char *reason);

/* Whether the table is none to be looked at; then that is the event. */
bool ticdc_pass_over(struct ticdc *ticdc, struct iso_json_text database,
                     struct iso_json_text table);

/* A DDL, as far as the message says what it is. */
struct ticdc_ddl {
    struct iso_json_text database, table; /* that it is of; may be empty */
    struct iso_json_text sql;
    uint64_t commit_ts;
    bool empties; /* the message says that all rows of the table are gone */
    /* The schemas that the message has; NULL: those that are known. */
    const struct ticdc_table *before, *after;
};

void ticdc_add_ddl(struct ticdc *ticdc, const struct ticdc_ddl *ddl);
/* The same of a format without schemas: what the statement says of the tables is kept. */
void ticdc_take_ddl(struct ticdc *ticdc, const struct ticdc_ddl *ddl);

/* Adds a name to the key's columns; false: there are too many. */
bool ticdc_add_key(struct ticdc *ticdc, struct iso_json_text name);

/* "found X: expected ...", X cut where it is long. */
enum iso_status ticdc_refuse(struct iso_error *error, const char *what, struct iso_json_text found,
                             const char *expected);
enum iso_status ticdc_too_many_keys(struct iso_error *error);

/* ---- keys (identity.c) ---- */

enum iso_status ticdc_check_key_option(const char *option, struct iso_error *error);
/* Makes the key's columns those that identify a row of the table, in their order. NULL, or why
 * nobody can say which. */
const char *ticdc_settle_key(struct ticdc *ticdc, const struct ticdc_change *change,
                             struct iso_json_text table);

/* Makes the key's columns the index's; false: there are too many. */
bool ticdc_take_index(struct ticdc *ticdc, const struct ticdc_index *index);

/* ---- what cannot be judged (told.c) ---- */

/* A row of the table whose rows cannot be told apart: none of it is covered. */
void ticdc_leave_out(struct ticdc *ticdc, const struct iso_row_name *table, const char *reason);
bool ticdc_is_left_out(const struct ticdc *ticdc, const char *table, size_t length);

/* Makes what the rows' texts of times mean in no zone that is known what nobody knows. Whether the
 * new row has some. */
bool ticdc_lose_zones(struct ticdc *ticdc, const struct ticdc_change *change);
/* Tells of each column of the new row that lost its value, once. */
void ticdc_tell_lost(struct ticdc *ticdc, const struct ticdc_change *change,
                     const struct iso_row_name *table);
/* Why rows cannot be told apart by the key's texts, or NULL. */
const char *ticdc_key_is_doubted(const struct ticdc *ticdc, const struct iso_row *row);

/* ---- columns (column.c) ---- */

enum ticdc_class { TICDC_TEXT, TICDC_INTEGER, TICDC_FLOAT, TICDC_DOUBLE, TICDC_BYTES };

/* Makes the cell what its text stands for: an integer or a number if that is what it looks like,
 * else text. */
void ticdc_set_text(struct iso_cell *cell, enum ticdc_class class, struct iso_json_text text);
void ticdc_set_bytes(struct iso_cell *cell, const void *bytes, size_t size);

static inline void ticdc_set_integer(struct iso_cell *cell, uint64_t bits, bool negative)
{
    cell->kind = ISO_CELL_INTEGER;
    cell->bits = bits;
    cell->negative = negative && bits;
}

/* A text of a time in the zone; "UTC" becomes a Z behind it. */
void ticdc_set_moment(struct ticdc *ticdc, struct iso_cell *cell, struct iso_json_text zone,
                      struct iso_json_text text);

/* Room for `size` bytes that stay where they are until the next message. */
char *ticdc_room(struct ticdc *ticdc, size_t size);

/* Base64 to bytes, or to text if `is_text`; false if it is not base64 (or that is no UTF-8). */
bool ticdc_set_base64(struct ticdc *ticdc, struct iso_cell *cell, struct iso_json_text text,
                      bool is_text);

/* ---- types (types.c) ---- */

/* Class of a MySQL type's values ("int unsigned", "VARBINARY(16)"). */
enum ticdc_class ticdc_class_of(struct iso_json_text mysql_type);
struct iso_value_type ticdc_value_of(struct iso_json_text mysql_type);
bool ticdc_is_unsigned(struct iso_json_text mysql_type);
struct iso_value_type ticdc_value_listed(struct ticdc *ticdc,
                                         struct iso_json_text mysql_type); /* with its labels */

/* Lists of labels that the message did not bring, from the table's schema; names of labels become
 * their numbers. What is none of them stays. */
void ticdc_settle_labels(struct ticdc *ticdc, const struct ticdc_change *change);

/* Keeps the types of the row's columns that have one. */
void ticdc_note_types(struct ticdc *ticdc, struct iso_json_text table, const struct iso_row *row);
/* Of its columns of which the schema says more than rows do: those that have labels, or had some,
 * or zeros before their numbers. */
void ticdc_note_schema(struct ticdc *ticdc, struct iso_json_text table,
                       const struct ticdc_table *schema);
/* Of a table that has another name now. */
void ticdc_copy_types(struct ticdc *ticdc, struct iso_json_text from, struct iso_json_text to);
void ticdc_types_release(struct ticdc *ticdc);
void ticdc_types_archive(struct ticdc *ticdc, struct iso_archive *archive);
struct iso_value_type ticdc_value_type(const struct iso_decoder *decoder, const char *table,
                                       size_t length, const char *column,
                                       size_t column_length);  /* the decoder's */
uint32_t ticdc_types_known(const struct iso_decoder *decoder); /* the same */

/* A text with its NUL; restoring: a new one, or NULL after an error (tables_archive.c). */
char *ticdc_archive_text(struct iso_archive *archive, const char *name, char *text);

/* ---- JSON members (members.h) ---- */

/* A row, or null; false: null, or the scanner's error. */
static inline bool ticdc_read_row(struct iso_json *json, struct iso_row *row)
{
    iso_row_clear(row);
    return !iso_json_take_null(json) && iso_row_read_json(row, json);
}

/* ---- compression (compression.c) ---- */

enum iso_status ticdc_unpack(struct ticdc *ticdc, struct iso_payload *room, struct iso_bytes packed,
                             struct iso_bytes *unpacked, struct iso_error *error);
void ticdc_compression_release(struct ticdc *ticdc);
