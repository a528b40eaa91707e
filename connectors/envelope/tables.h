/* What a source's tables have shown: their columns, whether their rows have keys, and whether
 * before images are whole.
 *
 * Columns. Rows of a table have the columns of its newest schema; where a row has others, or one of
 * another type, that is a new schema, if the row is no older one that came late. Order does not
 * matter, and in doubt columns are the same: a null has no type, without schemas numbers are of one
 * type, and bytes of a decimal are read as its digits are.
 *
 * Before images. PostgreSQL sends what the table's replica identity has: DEFAULT the key, INDEX the
 * index's columns, FULL the row. What it leaves out arrives as null where the column may be null,
 * else as a placeholder (0, "", 1970, the column's default), as deletes do in the first two. So
 * only an update shows that an identity is FULL, by a value in a column that may be null, which
 * neither key nor index can have; before images are whole from then on, until an update comes
 * without one. That is told by positions, so that a row that is sent again says what it said
 * before. MySQL's and MariaDB's connectors insist on full row images.
 *
 * Bounded: ISO_TABLES_MAX tables and their columns; beyond that all are forgotten. Threads: one at
 * a time.
 */
#pragma once

#include "values/row.h"
#include "values/source.h"

enum { ISO_TABLES_MAX = 4096, ISO_TABLES_COLUMNS_MAX = 1 << 17, ISO_TABLES_BYTES_MAX = 1 << 22 };

struct iso_table_column {
    uint32_t name, length; /* in the texts */
    uint32_t type;         /* values/row.h; 0: only nulls were seen */
    uint16_t nullable, is_key;
    struct iso_value_type value; /* ANY: its schemas do not agree */
};

struct iso_table {
    uint64_t began[2];     /* position of the first row of these columns */
    uint64_t newest[2];    /* of the changes with a before image */
    uint64_t full[2];      /* whole before images begin here, */
    uint64_t over[2];      /* and end here */
    uint32_t name, length; /* in the texts */
    uint32_t first, count; /* of the columns */
    uint8_t has_columns, is_full, is_over, is_keyless, is_signed,
        unused[3]; /* signed: see iso_decoder */
};

struct iso_tables {
    struct iso_text texts;
    uint32_t count, capacity, last;
    struct iso_table *list;
    uint32_t types; /* times that a type of values was learned, or lost */
    uint32_t column_count, column_capacity;
    struct iso_table_column *columns;
};

void iso_tables_release(struct iso_tables *tables); /* zeroed ones are empty */
void iso_tables_archive(struct iso_archive *archive, struct iso_tables *tables);

/* The table of that name, added if it is new; valid until the next call. */
struct iso_table *iso_tables_find(struct iso_tables *tables, const char *name, size_t length);

/* The table's entry, or NULL if none of its rows came so far. */
const struct iso_table *iso_tables_seen(const struct iso_tables *tables, const char *name,
                                        size_t length);

/* Called of each column that rows do not show from here on, or show in another type: what rows had
 * in it may have been rewritten before. The name is the tables' own. */
typedef void iso_table_respelt(void *context, const char *name, size_t length);

/* Takes the columns of a row. True: the table's rows look otherwise from here on. `position`: of
 * the row within the feed; NULL: not known, rows are in order. `typed`: its values tell types,
 * where no schema does. */
bool iso_table_changes(struct iso_tables *tables, struct iso_table *table,
                       const struct iso_row *row, const uint64_t *position, bool typed,
                       iso_table_respelt *respelt, void *context);

/* Type of the column's values by the schemas of all rows so far. UNKNOWN: none gave one. */
struct iso_value_type iso_table_value(const struct iso_tables *tables,
                                      const struct iso_table *table, struct iso_json_text column);

/* The column that is the key, by the rows so far; `at` NULL: there are several, or none. */
struct iso_json_text iso_table_key(const struct iso_tables *tables, const struct iso_table *table);

/* Whether the row before, which has cells unless the source sent null, can be relied on. Learns
 * from updates. `position`: zeros if it is not known. */
bool iso_table_is_whole(const struct iso_tables *tables, struct iso_table *table,
                        const struct iso_row *before, const uint64_t position[2], bool is_update);
