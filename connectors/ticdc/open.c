/* open-protocol: a batch of events, keys in the Kafka key, values in the payload, each behind its
 * length.
 *
 *     key      version (1) | length | {"ts":..,"scm":"test","tbl":"t","t":1} | length | ...
 *     payload  length | {"u":{"id":{"t":3,"h":true,"f":11,"v":1},"v":{"t":15,"f":64,"v":"aa"}}} |
 *              length | ...
 *
 * All lengths are 8 bytes, high ones first. `t`: 1 a row, 2 a DDL, 3 a watermark. A row is `u`
 * (with `p`, the old row, for an update) or `d`. Without old values an update looks like an insert,
 * so that a `u` alone is taken for one only if options->identity says that old values are sent.
 * Compression is of each value by itself.
 */
#include "base/utf8.h"
#include "connectors/ticdc/tables.h"

enum { VERSION = 1, WORD = 8, ROW = 1, DDL = 2, WATERMARK = 3 };
enum { FLAG_BINARY = 1, DDL_DROP_TABLE = 4, DDL_TRUNCATE_TABLE = 11 };

/* The part of a key or payload that is still to be read. */
struct rest {
    const uint8_t *at;
    size_t size;
};

struct open_key {
    struct ticdc_number ts, type;
    struct iso_json_text database, table;
    bool keys_only;
};

static bool take_word(struct rest *rest, uint64_t *word)
{
    if (rest->size < WORD)
        return false;
    *word = __builtin_bswap64(iso_bytes_load8((const char *)rest->at));
    rest->at += WORD;
    rest->size -= WORD;
    return true;
}

static bool take_part(struct rest *rest, struct iso_bytes *part)
{
    uint64_t length;
    if (!take_word(rest, &length) || length > rest->size)
        return false;
    *part = (struct iso_bytes){rest->at, (uint32_t)length};
    rest->at += length;
    rest->size -= length;
    return true;
}

/* ---- columns ---- */

/* Hexadecimal digits, `count` of them. */
static bool take_code(struct iso_json_text text, size_t at, unsigned count, uint32_t *code)
{
    *code = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned char byte = at + i < text.length ? (unsigned char)text.at[at + i] : 0,
                      letter = byte | 0x20;
        if (byte >= '0' && byte <= '9')
            *code = *code << 4 | (uint32_t)(byte - '0');
        else if (letter >= 'a' && letter <= 'f')
            *code = *code << 4 | (uint32_t)(letter - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* Go's strconv.Quote, without its quotes, to bytes. */
static bool set_quoted(struct ticdc *ticdc, struct iso_cell *cell, struct iso_json_text text)
{
    static const char meaning[] = "a\ab\bf\fn\nr\rt\tv\v\\\\\"\"''";
    char *bytes = ticdc_room(ticdc, text.length);
    size_t size = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] != '\\') {
            bytes[size++] = text.at[i];
            continue;
        }
        char letter = ++i < text.length ? text.at[i] : 0;
        unsigned digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
        uint32_t code;
        if (digits) {
            if (!take_code(text, i + 1, digits, &code) || code > 0x10ffff ||
                (code >= 0xd800 && code <= 0xdfff))
                return false;
            i += digits;
            size +=
                letter == 'x' ? (bytes[size] = (char)code, 1) : iso_utf8_encode(code, bytes + size);
            continue;
        }
        const char *pair = meaning;
        while (*pair && *pair != letter)
            pair += 2;
        if (!letter || !*pair)
            return false;
        bytes[size++] = pair[1];
    }
    ticdc_set_bytes(cell, bytes, size);
    return true;
}

struct column {
    struct ticdc_number type, flags;
    struct iso_cell *cell;
    bool has_value, is_key;
};

static bool set_string(struct ticdc *ticdc, struct iso_cell *cell, const struct column *column,
                       enum ticdc_class class)
{
    struct iso_json_text text = {cell->text, cell->length};
    if (column->type.is >= 249 && column->type.is <= 252)
        return ticdc_set_base64(ticdc, cell, text, !(column->flags.is & FLAG_BINARY));
    if (column->type.is == 15 || column->type.is == 253 || column->type.is == 254) {
        if (!column->flags.has) /* an encoder of before flags, which wrote base64 */
            return ticdc_set_base64(ticdc, cell, text, true);
        if (column->flags.is & FLAG_BINARY)
            return set_quoted(ticdc, cell, text);
    }
    ticdc_set_text(cell, class, text);
    return true;
}

/* Makes the cell what its column's type says; false: the value does not fit the type. */
static bool apply_type(struct ticdc *ticdc, struct iso_cell *cell, const struct column *column)
{
    bool is_number = cell->kind == ISO_CELL_INTEGER || cell->kind == ISO_CELL_NUMBER;
    if (cell->kind == ISO_CELL_NULL)
        return true;
    switch (column->type.is) {
    case 247:
    case 248:
        cell->value.kind = ISO_VALUE_LABEL;
        cell->value.detail = column->type.is == 248 ? ISO_LABELS_SET : 0;
        return cell->kind == ISO_CELL_INTEGER;
    case 1:
    case 2:
    case 3:
    case 8:
    case 9:
    case 16:
        return cell->kind == ISO_CELL_INTEGER;
    case 13: /* a year, of which 0 is 0000 */
        cell->value.kind = ISO_VALUE_INTEGER;
        return cell->kind == ISO_CELL_INTEGER;
    case 4:
    case 5:
        cell->value.kind = column->type.is == 4 ? ISO_VALUE_FLOAT : ISO_VALUE_DOUBLE;
        if (cell->kind == ISO_CELL_NUMBER)
            ticdc_set_text(cell, column->type.is == 4 ? TICDC_FLOAT : TICDC_DOUBLE,
                           (struct iso_json_text){cell->text, cell->length});
        return is_number;
    case 7:
        cell->value.kind = ISO_VALUE_INSTANT;
        return cell->kind == ISO_CELL_TEXT;
    case 245:
    case 246:
        cell->value.kind = column->type.is == 245 ? ISO_VALUE_JSON : ISO_VALUE_NUMERIC;
        return cell->kind == ISO_CELL_TEXT;
    case 6:
        return false;
    case 0:
    case 10:
    case 11:
    case 12:
    case 14:
    case 15:
    case 225:
    case 249:
    case 250:
    case 251:
    case 252:
    case 253:
    case 254:
        return cell->kind == ISO_CELL_TEXT && set_string(ticdc, cell, column, TICDC_TEXT);
    default:
        return false;
    }
}

static void read_value(struct iso_json *json, void *into)
{
    struct column *column = into;
    column->has_value = iso_cell_read_json(column->cell, json);
}

static enum iso_status read_column(struct ticdc *ticdc, struct iso_json *json, uint32_t number,
                                   struct column *column, struct iso_error *error)
{
    static const struct ticdc_member members[] = {
        {"t", ticdc_member_number, offsetof(struct column, type)},
        {"f", ticdc_member_number, offsetof(struct column, flags)},
        {"h", ticdc_member_flag, offsetof(struct column, is_key)},
        {"v", read_value, 0},
        {NULL, NULL, 0}};
    struct iso_cell *cell = column->cell;
    ticdc_read_shaped(json, &ticdc->shapes[TICDC_COLUMN + number % TICDC_COLUMNS], members, column);
    struct iso_json_text column_name = {cell->name, cell->name_length};
    if (json->code != ISO_JSON_FINE)
        return iso_payload_fault(json, error);
    if (!column->type.has || !column->has_value)
        return ticdc_refuse(error, "column", column_name, "its type t and value v");
    if (!apply_type(ticdc, cell, column))
        return iso_error_set(error, ISO_BAD_INPUT, "column \"%.*s\": not a value of type %llu",
                             column_name.length < 100 ? (int)column_name.length : 100,
                             column_name.at, (unsigned long long)column->type.is);
    return ISO_OK;
}

/* `keys`: the row names the key's columns. */
static enum iso_status read_row(struct ticdc *ticdc, struct iso_row *row, bool keys,
                                struct iso_error *error)
{
    struct iso_json *json = &ticdc->json;
    struct iso_json_text name;
    uint8_t meaning;
    iso_row_clear(row);
    iso_json_shape_enter(json, &row->shape);
    while (iso_json_shape_member(json, &row->shape, NULL, NULL, &name, &meaning)) {
        if (!keys && iso_json_peek(json) != ISO_JSON_OBJECT && json->code == ISO_JSON_FINE)
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "the row before has no column of the name it gives: TiCDC's new "
                                 "architecture writes it so with only-output-updated-columns=true: "
                                 "expected only-output-updated-columns=false");
        uint32_t number = row->count;
        struct column column = {.cell = iso_row_add(row, name.at, name.length)};
        if (read_column(ticdc, json, number, &column, error) != ISO_OK)
            return error->status;
        if (keys && column.is_key && !ticdc_add_key(ticdc, name))
            return ticdc_too_many_keys(error);
    }
    return json->code == ISO_JSON_FINE ? ISO_OK : iso_payload_fault(json, error);
}

/* ---- events ---- */

static enum iso_status read_key(struct ticdc *ticdc, struct iso_bytes part, struct open_key *key,
                                struct iso_error *error)
{
    static const struct ticdc_member members[] = {
        {"ts", ticdc_member_number, offsetof(struct open_key, ts)},
        {"scm", NULL, offsetof(struct open_key, database)},
        {"tbl", NULL, offsetof(struct open_key, table)},
        {"t", ticdc_member_number, offsetof(struct open_key, type)},
        {"ohk", ticdc_member_flag, offsetof(struct open_key, keys_only)},
        {"ccl", ticdc_member_location, offsetof(struct open_key, keys_only)},
        {NULL, NULL, 0}};
    struct iso_json *json = &ticdc->key_json;
    *key = (struct open_key){.database = {"", 0}, .table = {"", 0}};
    iso_json_start(json, iso_payload_copy(&ticdc->key, part.data, part.size), part.size);
    ticdc_read_shaped(json, &ticdc->shapes[TICDC_KEY], members, key);
    if (!iso_json_finish(json))
        return iso_payload_fault(json, error);
    if (!key->ts.has)
        return iso_error_set(error, ISO_BAD_INPUT, "an event's key: expected its member ts");
    return ISO_OK;
}

static enum iso_status decode_row(struct ticdc *ticdc, const struct open_key *key,
                                  struct iso_error *error)
{
    struct iso_json *json = &ticdc->json;
    struct iso_json_text name;
    struct ticdc_change change = {.database = key->database,
                                  .table = key->table,
                                  .commit_ts = key->ts.is,
                                  .has_commit = true,
                                  .keys_only = key->keys_only,
                                  .old_is_partial = true};
    bool has_previous = false;
    ticdc->key_count = 0;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        bool deletes = ISO_PAYLOAD_IS(name, "d"), previous = ISO_PAYLOAD_IS(name, "p");
        bool *has = previous || deletes ? &change.has_old : &change.has_now;
        if (!deletes && !previous && !ISO_PAYLOAD_IS(name, "u")) {
            iso_json_skip(json);
            continue;
        }
        if (*has)
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "a row: expected u, p with u, or d, each once");
        *has = true;
        has_previous |= previous;
        if (read_row(ticdc, has == &change.has_old ? &ticdc->old : &ticdc->now, !previous, error) !=
            ISO_OK)
            return error->status;
    }
    if (!iso_json_finish(json))
        return iso_payload_fault(json, error);
    if (has_previous ? !change.has_now : change.has_now == change.has_old)
        return iso_error_set(error, ISO_BAD_INPUT, "a row: expected u, p with u, or d, each once");
    change.created = change.has_now && !change.has_old && ticdc->identity == ISO_IDENTITY_FULL;
    return ticdc_add_row(ticdc, &change, error);
}

static enum iso_status decode_ddl(struct ticdc *ticdc, const struct open_key *key,
                                  struct iso_error *error)
{
    struct value {
        struct ticdc_number type;
        struct iso_json_text sql;
    } value = {.sql = {"", 0}};
    static const struct ticdc_member members[] = {
        {"t", ticdc_member_number, offsetof(struct value, type)},
        {"q", NULL, offsetof(struct value, sql)},
        {NULL, NULL, 0}};
    ticdc_read_members(&ticdc->json, members, &value);
    if (!iso_json_finish(&ticdc->json))
        return iso_payload_fault(&ticdc->json, error);
    uint64_t type = value.type.is;
    struct ticdc_ddl ddl = {.database = key->database,
                            .table = key->table,
                            .sql = value.sql,
                            .commit_ts = key->ts.is,
                            .empties = type == DDL_DROP_TABLE || type == DDL_TRUNCATE_TABLE};
    ticdc_take_ddl(ticdc, &ddl);
    return ISO_OK;
}

/* Readies the value for the scanner. */
static enum iso_status start_value(struct ticdc *ticdc, struct iso_bytes value,
                                   struct iso_error *error)
{
    if (ticdc_unpack(ticdc, &ticdc->unpacked, value, &value, error) != ISO_OK)
        return error->status;
    ticdc->room.bytes.used = 0;
    iso_text_reserve(&ticdc->room.bytes, value.size + 1u);
    iso_json_start(&ticdc->json, iso_payload_copy(&ticdc->payload, value.data, value.size),
                   value.size);
    return ISO_OK;
}

static enum iso_status decode_one(struct ticdc *ticdc, struct iso_bytes key_part,
                                  struct iso_bytes value, struct iso_error *error)
{
    struct open_key key;
    if (read_key(ticdc, key_part, &key, error) != ISO_OK)
        return error->status;
    if (key.type.is == WATERMARK) {
        if (value.size)
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "a watermark with a value of %u bytes, expected none", value.size);
        ticdc_add_watermark(ticdc, key.ts.is);
        return ISO_OK;
    }
    if (key.type.is != ROW && key.type.is != DDL)
        return iso_error_set(error, ISO_BAD_INPUT, "an event of type %llu, expected 1, 2 or 3",
                             (unsigned long long)key.type.is);
    if (ticdc_pass_over(ticdc, key.database, key.table))
        return ISO_OK;
    if (start_value(ticdc, value, error) != ISO_OK)
        return error->status;
    return key.type.is == ROW ? decode_row(ticdc, &key, error) : decode_ddl(ticdc, &key, error);
}

static enum iso_status decode(struct ticdc *ticdc, struct iso_error *error)
{
    struct rest keys = {ticdc->message->key.data, ticdc->message->key.size},
                values = {ticdc->message->payload.data, ticdc->message->payload.size};
    struct iso_bytes key, value;
    uint64_t version;
    unsigned event = 1;
    if (!take_word(&keys, &version) || version != VERSION)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "the message's key: expected version 1 in its first 8 bytes");
    if (!keys.size)
        return iso_error_set(error, ISO_BAD_INPUT, "a message without events");
    for (; keys.size; event++) {
        if (!take_part(&keys, &key))
            return iso_error_set(error, ISO_BAD_INPUT, "event %u: the key is cut off", event);
        if (!take_part(&values, &value))
            return iso_error_set(error, ISO_BAD_INPUT, "event %u: the value is cut off", event);
        if (decode_one(ticdc, key, value, error) != ISO_OK)
            return error->status;
    }
    if (values.size)
        return iso_error_set(error, ISO_BAD_INPUT, "%zu bytes behind the last event's value",
                             values.size);
    return ISO_OK;
}

const struct ticdc_protocol ticdc_open = {
    .format = "open-protocol", .decode = decode, .compressed_inside = true};
