/* A row of a change stream, column by column, and what becomes of it: the text of its identity and
 * of its value.
 *
 *     iso_row_clear(&row);
 *     iso_row_add(&row, "k", 1)->...                a cell a column, in any order; or
 *                                                   iso_row_read_json(&row, &json)
 *     iso_row_set_keys(&row, &keys)                 which columns identify it
 *     iso_row_key(&keys, atoms, table)              "public.kv/23"
 *     iso_row_value(&row, atoms, column, &value)    the column `v`, or canonical JSON of all
 *                                                   columns but the key
 *
 * Identity: `schema.table/pk`, for MySQL and TiDB `db.table/pk`. The parts of a composite key are
 * joined by `,` in the order of the key's columns; `%`, `/` and `,` inside a part or a name stand
 * as %25, %2F and %2C, and `.` in the schema's or database's name as %2E.
 *
 * Value: one column (its NULL is ISO_ABSENT, as a client reads nothing either way), or
 * `{"a":1,"b":"x"}`: all columns but the key's, by name in byte order, without white space. In both
 * a decimal is its digits with all places of its scale, `1.50` (in JSON as a string, since JSON's
 * numbers are rounded by those who read them), bytes are base64, a floating-point number is the
 * shortest that reads as the same, and a nested object or array stays as it arrived, without white
 * space. So a row has one text, whatever the format it travelled in.
 *
 * Nothing is allocated once rows have reached their size. Ownership: a row owns its list of cells
 * and a text of its own; names and texts of cells are the caller's, until the row is cleared.
 * Threads: one at a time for each row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_shape.h"
#include "base/text.h"
#include "base/atom.h"
#include "values/type.h"

enum iso_cell_kind {
    ISO_CELL_NULL,
    ISO_CELL_INTEGER, /* `bits`, `negative` */
    ISO_CELL_BOOLEAN, /* `bits` is 0 or 1 */
    ISO_CELL_TEXT,    /* `text`, UTF-8, without escapes */
    ISO_CELL_NUMBER,  /* `text`: a JSON number that is no integer of 64 bits */
    ISO_CELL_JSON,    /* `text`: a JSON object or array, known to be one */
    ISO_CELL_BYTES,   /* `text`: any bytes */
    ISO_CELL_DECIMAL, /* `text`: big-endian two's complement bytes, `scale` places (negative: zeros)
                         behind the point */
    ISO_CELL_DOUBLE,  /* `bits` of a double */
    ISO_CELL_FLOAT,   /* the low `bits` of a float */
    ISO_CELL_UNKNOWN  /* there is such a column, the source does not say what it holds */
};

enum {
    ISO_CELL_DECIMAL_BYTES = 64,
    ISO_CELL_SCALE_MAX = 1000
}; /* longer ones are not made cells */

struct iso_cell {
    const char *name;
    const char *text;
    uint32_t name_length;
    uint32_t length; /* of text */
    uint64_t bits;
    int32_t scale;
    uint32_t type; /* of the column, by its schema; 0: there is none */
    /* the same of its values; `is_respelt`: made canonical where it is put */
    struct iso_value_type value;
    uint8_t kind; /* enum iso_cell_kind */
    bool negative;
    bool is_plain;          /* no byte of `text` needs an escape in JSON, */
    bool is_plain_name : 1; /* of `name` neither */
    bool is_key : 1;        /* the identity has it, the value does not */
    bool in_cell : 1;    /* it came as {value, set}: a null is one, and not a column that the source
                            left out */
    bool is_doubted : 1; /* it is unknown, and an update may have changed it; else one did not */
    bool is_nullable : 1; /* by its schema: it may be null, and has no default that would stand
                             there instead */
};

/* Types of columns, as far as rows look otherwise with another. Below ISO_TYPE_DECLARED: what a
 * value without a schema tells; from there on: a schema's, digests but for these. */
enum { ISO_TYPE_DECLARED = 16, ISO_TYPE_STRING = 16 };
#define ISO_TYPE_DECIMAL 0x80000000u /* with a digest of its scale */

/* The digest of a schema's type: what it is called, and what its values mean (or NULL). */
uint32_t iso_type_digest(const char *type, size_t length, const char *meaning,
                         size_t meaning_length);

/* The type that the value of a cell without a schema suggests; 0: none. */
uint32_t iso_cell_type(const struct iso_cell *cell);

struct iso_row {
    uint32_t count, capacity;
    struct iso_cell *cells; /* as they came */
    uint32_t *order;      /* cells by name; kept from row to row, since columns come in one order */
    uint32_t order_count; /* of how many cells it is an order */
    struct iso_text text; /* put together here */
    struct iso_text spelt;       /* a canonical value, until it is put */
    struct iso_json_shape shape; /* of the objects that were read */
};

/* How much of a row's value is known. */
enum iso_row_value {
    ISO_ROW_KNOWN,
    ISO_ROW_UNKNOWN,   /* a cell of it is ISO_CELL_UNKNOWN */
    ISO_ROW_NO_COLUMN, /* the row does not have the column */
    ISO_ROW_TWICE      /* two columns have one name */
};

void iso_row_init(struct iso_row *row);
void iso_row_release(struct iso_row *row);

/* No cells. */
static inline void iso_row_clear(struct iso_row *row)
{
    row->count = 0;
}

/* Each gets the other's cells. */
void iso_row_swap(struct iso_row *left, struct iso_row *right);

void iso_row_grow(struct iso_row *row);

/* A new cell, ISO_CELL_NULL and no key; valid until the next one is added. */
static inline struct iso_cell *iso_row_add(struct iso_row *row, const char *name, size_t length)
{
    if (row->count == row->capacity)
        iso_row_grow(row);
    struct iso_cell *cell = &row->cells[row->count++];
    *cell = (struct iso_cell){.name = name, .name_length = (uint32_t)length, .kind = ISO_CELL_NULL};
    return cell;
}

/* Adds the members of the object that the cursor stands before. False: the scanner's error. */
bool iso_row_read_json(struct iso_row *row, struct iso_json *json);

/* Fills in a cell with the JSON value that the cursor stands before. False: the scanner's error. */
bool iso_cell_read_json_slow(struct iso_cell *cell, struct iso_json *json);

static inline bool iso_cell_read_json(struct iso_cell *cell, struct iso_json *json)
{
    struct iso_json_text text;
    if (!iso_json_short_string(json, &text))
        return iso_cell_read_json_slow(cell, json);
    cell->kind = ISO_CELL_TEXT;
    cell->text = text.at;
    cell->length = (uint32_t)text.length;
    cell->is_plain = true;
    return true;
}

/* Adds the cell, which is not unknown, to a text as JSON. */
void iso_cell_put_json(struct iso_text *text, const struct iso_cell *cell);

/* Marks the columns of `row` that `keys` has as the key's, all others as not. False: `row` lacks
 * one of them. */
bool iso_row_set_keys(struct iso_row *row, const struct iso_row *keys);

/* Whether there is something beside the key. */
bool iso_row_has_values(const struct iso_row *row);

const struct iso_cell *iso_row_find(const struct iso_row *row, const char *name, size_t length);

/* Names of tables as identities begin, "schema.table", put together once each; the last few are
 * known at a glance. */
enum { ISO_ROW_NAMES = 8 };
struct iso_row_names {
    struct iso_row_name {
        uint32_t schema_length, table_length;
        struct iso_text text; /* schema and table as they were given, and behind them the name */
        struct iso_json_text name; /* in `text` */
        iso_atom atom;
        bool marks;        /* as below */
    } list[ISO_ROW_NAMES]; /* by some of their bytes */
    bool marks; /* a `#` in a name or in a part of a key is encoded, since cells have keys
                   (base/cell_key.h) */
};

void iso_row_names_release(struct iso_row_names *names); /* zeroed ones are empty */

/* The table's name, and its atom in `atoms`; valid until the next one. `schema` may be empty:
 * "table". */
const struct iso_row_name *iso_row_names_find(struct iso_row_names *names, struct iso_atoms *atoms,
                                              struct iso_json_text schema,
                                              struct iso_json_text table);

/* The identity, of all cells of `keys` with is_key, or of all cells if none has it, in the table of
 * that name. ISO_ABSENT: a part of the key is NULL or unknown, or there is none. */
iso_atom iso_row_key(struct iso_row *keys, struct iso_atoms *atoms,
                     const struct iso_row_name *table);

/* The text of one cell, which is not unknown; NULL is ISO_ABSENT. It may be another row's. */
iso_atom iso_row_cell(struct iso_row *row, struct iso_atoms *atoms, const struct iso_cell *cell);

/* The value: `column`, or all but the key if that is NULL. `*value` is set with ISO_ROW_KNOWN
 * only. */
enum iso_row_value iso_row_value(struct iso_row *row, struct iso_atoms *atoms, const char *column,
                                 iso_atom *value);

/* Adds what the cell holds, without quotes and escapes. The cell is neither NULL nor unknown. */
void iso_cell_put(struct iso_text *text, const struct iso_cell *cell);
