/* Which columns identify a row, and in which order.
 *
 * A key's parts stand in the order of its index: so people write them, and so records name rows.
 * The simple protocol says it; the others have the columns in the table's order or by name, and
 * none at all where the key is not primary. What they leave open says `key=`, else the table's
 * CREATE TABLE, if the stream had it. Where nothing does, rows cannot be told from those whose keys
 * are permutations of theirs: they are passed over, and so are rows without a key.
 */
#include <string.h>

#include "connectors/cdc_common/ddl_words.h"
#include "connectors/ticdc/tables.h"

static const char *const no_order =
    "key-order: in which order its key's columns stand is not known, for which "
    "key=COLUMN;COLUMN of its source is, as its index has them";
static const char *const no_key =
    "its rows have no key that their messages name: if it has one that is unique and "
    "never null, set key=COLUMN;COLUMN of its source";

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text, strlen(text)};
}

/* ---- the option ---- */

/* Up to the sign, or the end; passes over it. */
static struct iso_json_text take_part(struct iso_json_text *rest, char sign)
{
    const char *end = memchr(rest->at, sign, rest->length);
    struct iso_json_text part = {rest->at, end ? (size_t)(end - rest->at) : rest->length};
    size_t taken = part.length + (end != NULL);
    *rest = (struct iso_json_text){rest->at + taken, rest->length - taken};
    return part;
}

enum iso_status ticdc_check_key_option(const char *option, struct iso_error *error)
{
    struct iso_json_text rest = text_of(option);
    while (rest.length) {
        struct iso_json_text entry = take_part(&rest, '|');
        const char *colon = memchr(entry.at, ':', entry.length);
        size_t table = colon ? (size_t)(colon - entry.at) + 1 : 0;
        struct iso_json_text columns = {entry.at + table, entry.length - table};
        bool named = !colon || (table > 1 && memchr(entry.at, '.', table));
        bool some = columns.length;
        for (unsigned count = 1; columns.length; count++)
            some &= take_part(&columns, ';').length && count <= TICDC_KEYS_MAX;
        if (!named || !some)
            return iso_error_set(
                error, ISO_BAD_INPUT,
                "key=%.200s of a ticdc source: expected COLUMN;COLUMN, or DB.TABLE:COLUMN;COLUMN, and "
                "between tables |",
                option);
    }
    return ISO_OK;
}

static bool is_among(const struct ticdc *ticdc, struct iso_json_text name)
{
    for (uint32_t i = 0; i < ticdc->key_count; i++)
        if (iso_ddl_same_name(ticdc->key_names[i], name))
            return true;
    return false;
}

static uint32_t count_parts(struct iso_json_text list)
{
    uint32_t count = 0;
    for (; list.length; count++)
        take_part(&list, ';');
    return count;
}

/* The column's name as the row has it. */
static struct iso_json_text spelt(const struct iso_row *row, struct iso_json_text name)
{
    for (uint32_t i = 0; i < row->count; i++) {
        struct iso_json_text own = {row->cells[i].name, row->cells[i].name_length};
        if (iso_ddl_same_name(own, name))
            return own;
    }
    return name;
}

/* Whether these are the columns that the message names as its key's, or some of the row's if it
 * names none. */
static bool are_of_message(const struct ticdc *ticdc, const struct iso_row *row,
                           struct iso_json_text columns)
{
    if (ticdc->key_count && count_parts(columns) != ticdc->key_count)
        return false;
    while (columns.length) {
        struct iso_json_text column = spelt(row, take_part(&columns, ';'));
        if (ticdc->key_count ? !is_among(ticdc, column)
                             : !iso_row_find(row, column.at, column.length))
            return false;
    }
    return true;
}

static bool take_option(struct ticdc *ticdc, const struct iso_row *row, struct iso_json_text table)
{
    struct iso_json_text rest = text_of(ticdc->key_option);
    while (rest.length) {
        struct iso_json_text entry = take_part(&rest, '|');
        bool named = memchr(entry.at, ':', entry.length);
        if (named && !iso_ddl_same_name(take_part(&entry, ':'), table))
            continue;
        if (!named && !are_of_message(ticdc, row, entry))
            continue;
        for (ticdc->key_count = 0; entry.length;)
            ticdc_add_key(ticdc, spelt(row, take_part(&entry, ';')));
        return true;
    }
    return false;
}

/* ---- the schema ---- */

static bool is_same_set(const struct ticdc *ticdc, const struct ticdc_index *index)
{
    if (index->unordered || index->count != ticdc->key_count)
        return false;
    for (uint32_t i = 0; i < index->count; i++)
        if (!is_among(ticdc, text_of(index->columns[i])))
            return false;
    return true;
}

bool ticdc_take_index(struct ticdc *ticdc, const struct ticdc_index *index)
{
    bool fits = true;
    ticdc->key_count = 0;
    for (uint32_t i = 0; i < index->count; i++)
        fits &= ticdc_add_key(ticdc, text_of(index->columns[i]));
    return fits;
}

static const char *const no_case =
    "a text in its key is equal to others that differ in case: set collation=ci of its source";

/* As of the row. */
static const struct ticdc_table *find_schema(const struct ticdc *ticdc,
                                             const struct ticdc_change *change)
{
    return ticdc_tables_at(&ticdc->known, change->database, change->table,
                           change->has_commit ? change->commit_ts : UINT64_MAX);
}

/* NULL, or that clients may write a key in other letters than the row has. */
static const char *check_case(const struct ticdc *ticdc, const struct ticdc_change *change)
{
    bool caseless = false;
    if (ticdc->caseless || !ticdc->known.has_caseless)
        return NULL;
    const struct ticdc_table *schema = find_schema(ticdc, change);
    for (uint32_t i = 0; schema && i < ticdc->key_count; i++) {
        struct iso_cell cell = {.name = ticdc->key_names[i].at,
                                .name_length = (uint32_t)ticdc->key_names[i].length};
        const struct ticdc_column *column = ticdc_table_column(schema, &cell, i);
        caseless |= column && ticdc_column_is_caseless(column);
    }
    return caseless ? no_case : NULL;
}

static const char *take_schema(struct ticdc *ticdc, const struct iso_row *row,
                               const struct ticdc_table *schema)
{
    const struct ticdc_index *key =
        schema && !ticdc->key_count ? ticdc_table_key(schema, row) : NULL;
    if (!ticdc->key_count && !key)
        return no_key;
    for (uint32_t i = 0; schema && !key && i < schema->index_count; i++)
        if (is_same_set(ticdc, &schema->indexes[i]))
            key = &schema->indexes[i];
    if (!key || (key->unordered && key->count > 1))
        return no_order;
    ticdc_take_index(ticdc, key);
    return NULL;
}

const char *ticdc_settle_key(struct ticdc *ticdc, const struct ticdc_change *change,
                             struct iso_json_text table)
{
    const struct iso_row *row = change->has_now ? &ticdc->now : &ticdc->old;
    bool is_settled = (ticdc->key_option && take_option(ticdc, row, table)) ||
                      ticdc->key_count == 1 || (change->is_ordered && ticdc->key_count);
    const char *unknown = is_settled ? NULL : take_schema(ticdc, row, find_schema(ticdc, change));
    return unknown ? unknown : check_case(ticdc, change);
}
