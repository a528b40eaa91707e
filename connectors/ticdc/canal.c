/* canal-json: one JSON object a message, every column as text or null.
 *
 *     {"id":0,"database":"test","table":"t","pkNames":["id"],"isDdl":false,"type":"UPDATE","es":..,"ts":..,"sql":"",
 *      "sqlType":{"id":4,"v":4},"mysqlType":{"id":"int","v":"int"},"old":[{"id":"1","v":"10"}],
 *      "data":[{"id":"1","v":"11"}],"_tidb":{"commitTs":447984099186180098}}
 *
 * What a text stands for says mysqlType, else sqlType (Java's codes). Bytes of binary columns are
 * the characters of ISO-8859-1 with the same codes. `data` of a DELETE is the old row; `old` of an
 * UPDATE may have only what changed.
 */
#include "base/memory.h"
#include "connectors/ticdc/tables.h"

enum { TABLES = 8 };

/* Nearly all messages of a table have the same preamble: where it is byte for byte the last one,
 * it is not read again. */
struct canal_state {
    struct canal_table {
        struct iso_json_again codes, keys, types;
        struct iso_json json; /* of `types`, whose names may be its own */
        struct iso_row row;   /* `types`, with each column's class in its bits */
        uint32_t key_count;
        struct iso_json_text key_names[TICDC_KEYS_MAX]; /* in `keys` */
    } tables[TABLES]; /* by some of the table's name, if that stands before */
};

struct canal {
    struct ticdc *ticdc;
    struct iso_json_text database, table, type, sql;
    bool is_ddl, only_keys, too_many_keys;
    bool has_data, has_old;
    struct ticdc_number commit_ts, watermark;
    struct canal_table *known;   /* what was said of the table, maybe */
    const struct iso_row *types; /* columns' classes; NULL: none are said */
    const char *codes;           /* where sqlType's object stands, if mysqlType did not come */
};

/* ---- members ---- */

static void read_keys(struct iso_json *json, void *into)
{
    struct canal *canal = into;
    struct ticdc *ticdc = canal->ticdc;
    struct canal_table *known = canal->known;
    struct iso_json_text name;
    const char *from;
    if (iso_json_take_null(json))
        return;
    if (iso_json_again(json, &known->keys)) {
        memcpy(ticdc->key_names, known->key_names, known->key_count * sizeof *known->key_names);
        ticdc->key_count = known->key_count;
        return;
    }
    from = json->at;
    iso_json_enter_array(json);
    while (json->code == ISO_JSON_FINE && iso_json_element(json))
        if (iso_json_string(json, &name))
            canal->too_many_keys |= !ticdc_add_key(ticdc, name);
    if (canal->too_many_keys || !iso_json_again_note(json, from, &known->keys))
        return;
    known->key_count = ticdc->key_count;
    for (uint32_t i = 0; i < ticdc->key_count; i++)
        known->key_names[i] = (struct iso_json_text){
            known->keys.text + (ticdc->key_names[i].at - from), ticdc->key_names[i].length};
}

/* An array of one row, or null. */
static bool read_row(struct iso_json *json, struct iso_row *row)
{
    iso_row_clear(row);
    if (iso_json_take_null(json))
        return false;
    if (!iso_json_enter_array(json) || !iso_json_element(json)) {
        iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at - 1, "one row");
        return false;
    }
    if (iso_row_read_json(row, json) && iso_json_element(json))
        iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "one row, ']'");
    return true;
}

static enum ticdc_class class_of_code(uint64_t bits, bool negative)
{
    switch (negative ? -(int)(0 - bits) : (int)bits) {
    case -7:
    case -6:
    case -5:
    case 4:
    case 5:
        return TICDC_INTEGER;
    case 7:
        return TICDC_FLOAT;
    case 8:
        return TICDC_DOUBLE;
    case 2004:
        return TICDC_BYTES;
    default:
        return TICDC_TEXT;
    }
}

/* The columns' types, each with its class as its bits. */
static bool read_types(struct ticdc *ticdc, struct iso_json *json, struct iso_row *types)
{
    iso_row_clear(types);
    if (iso_json_peek(json) == ISO_JSON_NULL)
        return iso_json_null(json);
    if (!iso_row_read_json(types, json))
        return false;
    for (uint32_t i = 0; i < types->count; i++) {
        struct iso_cell *type = &types->cells[i];
        type->bits = type->kind == ISO_CELL_INTEGER ? class_of_code(type->bits, type->negative)
                     : type->kind == ISO_CELL_TEXT
                         ? ticdc_class_of((struct iso_json_text){type->text, type->length})
                         : TICDC_TEXT;
        if (type->kind == ISO_CELL_TEXT)
            type->value =
                ticdc_value_listed(ticdc, (struct iso_json_text){type->text, type->length});
    }
    return true;
}

/* Where they are not those of a message before, they are read from the copy that stays. */
static void read_known_types(struct iso_json *json, void *into)
{
    struct canal *canal = into;
    struct ticdc *ticdc = canal->ticdc;
    struct canal_table *known = canal->known;
    canal->types = &known->row;
    if (iso_json_again(json, &known->types))
        return;
    iso_json_space(json);
    const char *from = json->at;
    if (iso_json_peek(json) == ISO_JSON_OBJECT && iso_json_skip(json) &&
        iso_json_again_note(json, from, &known->types)) {
        iso_json_start(&known->json, known->types.text, known->types.length);
        if (read_types(ticdc, &known->json, &known->row))
            return;
        known->types.length = 0;
    }
    if (json->code == ISO_JSON_FINE) {
        json->at = from;
        canal->types = &ticdc->types;
        read_types(ticdc, json, &ticdc->types);
    }
}

static void skip_codes(struct iso_json *json, void *into)
{
    struct canal *canal = into;
    bool is_object = iso_json_peek(json) == ISO_JSON_OBJECT;
    canal->codes = json->at;
    if (iso_json_again(json, &canal->known->codes))
        return;
    if (iso_json_skip(json) && is_object)
        iso_json_again_note(json, canal->codes, &canal->known->codes);
}

static void read_table(struct iso_json *json, void *into)
{
    struct canal *canal = into;
    struct canal_state *state = canal->ticdc->state;
    if (ticdc_read_text(json, &canal->table) && canal->table.length)
        canal->known = &state->tables[(canal->table.length ^
                                       (unsigned char)canal->table.at[canal->table.length - 1]) %
                                      TABLES];
}

static void read_data(struct iso_json *json, void *into)
{
    struct canal *canal = into;
    canal->has_data = read_row(json, &canal->ticdc->now);
}

static void read_old(struct iso_json *json, void *into)
{
    struct canal *canal = into;
    canal->has_old = read_row(json, &canal->ticdc->old);
}

static void read_extension(struct iso_json *json, void *into)
{
    static const struct ticdc_member members[] = {
        {"commitTs", ticdc_member_number, offsetof(struct canal, commit_ts)},
        {"watermarkTs", ticdc_member_number, offsetof(struct canal, watermark)},
        {"onlyHandleKey", ticdc_member_flag, offsetof(struct canal, only_keys)},
        {"claimCheckLocation", ticdc_member_location, offsetof(struct canal, only_keys)},
        {NULL, NULL, 0}};
    struct canal *canal = into;
    if (!iso_json_take_null(json))
        ticdc_read_shaped(json, &canal->ticdc->shapes[TICDC_INSIDE], members, canal);
}

static const struct ticdc_member message_members[] = {
    {"database", NULL, offsetof(struct canal, database)},
    {"table", read_table, 0},
    {"pkNames", read_keys, 0},
    {"isDdl", ticdc_member_flag, offsetof(struct canal, is_ddl)},
    {"type", ticdc_member_string, offsetof(struct canal, type)},
    {"mysqlType", read_known_types, 0},
    {"sqlType", skip_codes, 0},
    {"sql", NULL, offsetof(struct canal, sql)},
    {"data", read_data, 0},
    {"old", read_old, 0},
    {"_tidb", read_extension, 0},
    {NULL, NULL, 0}};

/* ---- what texts stand for ---- */

/* Characters up to U+00FF, in UTF-8, to the bytes of their codes. */
static bool set_latin(struct ticdc *ticdc, struct iso_cell *cell)
{
    uint8_t *bytes = (uint8_t *)ticdc_room(ticdc, cell->length);
    size_t size = 0;
    for (uint32_t i = 0; i < cell->length; i++) {
        uint8_t byte = (uint8_t)cell->text[i];
        if (byte >= 0x80) {
            if (byte > 0xc3)
                return false;
            byte = (uint8_t)(byte << 6 | ((uint8_t)cell->text[++i] & 0x3f)); /* known to be UTF-8 */
        }
        bytes[size++] = byte;
    }
    ticdc_set_bytes(cell, bytes, size);
    return true;
}

/* The column's type; NULL: none is said. */
static const struct iso_cell *type_of(const struct iso_row *types, const struct iso_cell *cell,
                                      uint32_t guess)
{
    const struct iso_cell *type = guess < types->count ? &types->cells[guess] : NULL;
    if (!type || type->name_length != cell->name_length ||
        !iso_bytes_equal(type->name, cell->name, cell->name_length))
        type = iso_row_find(types, cell->name, cell->name_length);
    return type;
}

static enum iso_status apply_types(struct ticdc *ticdc, const struct iso_row *types,
                                   struct iso_row *row, struct iso_error *error)
{
    for (uint32_t i = 0; i < row->count; i++) {
        struct iso_cell *cell = &row->cells[i];
        struct iso_json_text name = {cell->name, cell->name_length};
        const struct iso_cell *type = type_of(types, cell, i);
        enum ticdc_class class = type ? (enum ticdc_class)type->bits : TICDC_TEXT;
        if (type)
            cell->value = type->value;
        if (cell->kind == ISO_CELL_NULL)
            continue;
        if (cell->kind != ISO_CELL_TEXT)
            return ticdc_refuse(error, "column", name, "a string or null");
        if (class != TICDC_BYTES)
            ticdc_set_text(cell, class, (struct iso_json_text){cell->text, cell->length});
        else if (!set_latin(ticdc, cell))
            return ticdc_refuse(error, "binary column", name, "characters up to U+00FF");
    }
    return ISO_OK;
}

/* ---- messages ---- */

/* Finds the types of the columns: sqlType counts only where there is no mysqlType. */
static const struct iso_row *find_types(struct ticdc *ticdc, const struct canal *canal,
                                        struct iso_error *error)
{
    struct iso_json *json = &ticdc->json;
    if (canal->types && canal->types->count)
        return canal->types;
    iso_row_clear(&ticdc->types);
    if (!canal->codes)
        return &ticdc->types;
    json->at = canal->codes; /* it was skipped, so that it is JSON */
    read_types(ticdc, json, &ticdc->types);
    if (json->code != ISO_JSON_FINE)
        iso_payload_fault(json, error);
    return &ticdc->types;
}

static enum iso_status decode_row(struct ticdc *ticdc, const struct canal *canal,
                                  struct iso_error *error)
{
    struct ticdc_change change = {.database = canal->database,
                                  .table = canal->table,
                                  .commit_ts = canal->commit_ts.is,
                                  .has_commit = canal->commit_ts.has,
                                  .keys_only = canal->only_keys,
                                  .has_now = true,
                                  .old_is_partial = true};
    if (ISO_PAYLOAD_IS(canal->type, "INSERT"))
        change.created = true;
    else if (ISO_PAYLOAD_IS(canal->type, "UPDATE"))
        change.has_old = canal->has_old;
    else if (ISO_PAYLOAD_IS(canal->type, "DELETE"))
        change.has_now = false;
    else
        return ticdc_refuse(error, "type", canal->type,
                            "INSERT, UPDATE, DELETE, TIDB_WATERMARK or a DDL's");
    if (ticdc_pass_over(ticdc, canal->database, canal->table))
        return ISO_OK;
    if (!canal->has_data)
        return ticdc_refuse(error, "type", canal->type, "a row in data");
    const struct iso_row *types = find_types(ticdc, canal, error);
    if (error->status != ISO_OK || apply_types(ticdc, types, &ticdc->now, error) != ISO_OK ||
        (change.has_old && apply_types(ticdc, types, &ticdc->old, error) != ISO_OK))
        return error->status;
    if (!change.has_now) { /* `data` is the old row */
        iso_row_swap(&ticdc->old, &ticdc->now);
        change.has_old = true;
    }
    return ticdc_add_row(ticdc, &change, error);
}

static void take_ddl(struct ticdc *ticdc, const struct canal *canal, bool drops)
{
    struct ticdc_ddl ddl = {.database = canal->database,
                            .table = canal->table,
                            .sql = canal->sql,
                            .commit_ts = canal->commit_ts.is,
                            .empties = drops};
    ticdc_take_ddl(ticdc, &ddl);
}

static enum iso_status decode_ddl(struct ticdc *ticdc, const struct canal *canal,
                                  struct iso_error *error)
{
    static const char *const types[] = {"CREATE", "RENAME", "CINDEX",   "DINDEX",
                                        "ALTER",  "ERASE",  "TRUNCATE", "QUERY"};
    bool drops = ISO_PAYLOAD_IS(canal->type, "ERASE") || ISO_PAYLOAD_IS(canal->type, "TRUNCATE"),
         known = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        known |= iso_payload_is(canal->type, types[i], strlen(types[i]));
    if (!known)
        return ticdc_refuse(error, "type of a DDL", canal->type,
                            "CREATE, RENAME, CINDEX, DINDEX, ALTER, ERASE, TRUNCATE or QUERY");
    if (canal->commit_ts.has)
        take_ddl(ticdc, canal, drops);
    else if (drops)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "rows dropped at an unknown time: expected _tidb.commitTs "
                             "(enable-tidb-extension=true)");
    else
        ticdc_add_ignored(ticdc, "a DDL at an unknown time");
    return ISO_OK;
}

static enum iso_status decode(struct ticdc *ticdc, struct iso_error *error)
{
    struct canal canal = {.ticdc = ticdc, .database = {"", 0}, .table = {"", 0}, .sql = {"", 0}};
    struct iso_json *json = &ticdc->json;
    if (!ticdc_start_json(ticdc))
        return ISO_OK;
    canal.known = ((struct canal_state *)ticdc->state)->tables;
    ticdc_read_shaped(json, &ticdc->shapes[TICDC_MESSAGE], message_members, &canal);
    if (!iso_json_finish(json))
        return iso_payload_fault(json, error);
    if (canal.too_many_keys)
        return ticdc_too_many_keys(error);
    if (!canal.type.at)
        return iso_error_set(error, ISO_BAD_INPUT, "expected the member \"type\"");
    if (canal.is_ddl)
        return decode_ddl(ticdc, &canal, error);
    if (!ISO_PAYLOAD_IS(canal.type, "TIDB_WATERMARK"))
        return decode_row(ticdc, &canal, error);
    if (!canal.watermark.has)
        return iso_error_set(error, ISO_BAD_INPUT, "a watermark: expected _tidb.watermarkTs");
    ticdc_add_watermark(ticdc, canal.watermark.is);
    return ISO_OK;
}

static enum iso_status create(struct ticdc *ticdc, const struct iso_decoder_options *options,
                              struct iso_error *error)
{
    (void)options;
    ticdc->state = iso_allocate_zeroed(1, sizeof(struct canal_state));
    return error->status;
}

static void destroy(struct ticdc *ticdc)
{
    struct canal_state *state = ticdc->state;
    for (int i = 0; state && i < TABLES; i++) {
        iso_json_again_release(&state->tables[i].codes);
        iso_json_again_release(&state->tables[i].keys);
        iso_json_again_release(&state->tables[i].types);
        iso_json_release(&state->tables[i].json);
        iso_row_release(&state->tables[i].row);
    }
    iso_free(state);
}

const struct ticdc_protocol ticdc_canal = {
    .format = "canal-json", .create = create, .decode = decode, .destroy = destroy};
