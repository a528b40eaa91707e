/* Changes as `isochron run` takes them from PostgreSQL's plugin test_decoding, a line each:
 *
 *     c XID LSN PREVIOUS ORDER TABLE after           a row inserted
 *     u XID LSN PREVIOUS ORDER TABLE after           updated
 *     u XID LSN PREVIOUS ORDER TABLE old-key: before new-tuple: after      what it was is known
 *     d XID LSN PREVIOUS ORDER TABLE before          deleted
 *     t XID LSN PREVIOUS ORDER TABLE                 the table emptied
 *     s XID LSN PREVIOUS 0 TABLE                     what it holds where it begins is not known
 *     r XID LSN PREVIOUS true|last TABLE after       a row that was there at the start
 *     B XID LSN                                      a transaction begins; LSN is that of its end
 *     E XID LSN COUNT MILLISECONDS                   and ends, after so many of these rows
 *
 * PREVIOUS is where the transaction before ended. The message's key is the columns of the row's
 * identity, as a row is printed (tuple.h). The topic is the sender's name, a point and
 * a word. */
#include <string.h>

#include "base/memory.h"
#include "base/payload.h"
#include "connectors/envelope/change.h"
#include "connectors/envelope/envelope_private.h"
#include "connectors/envelope/tuple.h"

/* Names and values without their quotes: together no longer than the message. */
struct texts {
    struct iso_payload text;
    size_t used;
};

struct text_reader {
    struct iso_envelope_reader reader;
    struct texts payload, key;
    struct iso_text together; /* of several words */
};

/* What the types' values are, as Debezium's schemas would say; other types' are any. All but
 * integers are made canonical where they are put. */
static const struct text_type {
    const char *name;
    enum iso_value_kind kind;
    int16_t detail;
} types[] = {
    {"integer", ISO_VALUE_INTEGER, 0},
    {"bigint", ISO_VALUE_INTEGER_64, 0},
    {"smallint", ISO_VALUE_INTEGER, 0},
    {"boolean", ISO_VALUE_BOOLEAN, 0},
    {"text", ISO_VALUE_TEXT, 0},
    {"character varying", ISO_VALUE_TEXT, 0},
    {"character", ISO_VALUE_TEXT, 0},
    {"name", ISO_VALUE_TEXT, 0},
    {"inet", ISO_VALUE_TEXT, 0},
    {"cidr", ISO_VALUE_TEXT, 0},
    {"uuid", ISO_VALUE_UUID, 0},
    {"numeric", ISO_VALUE_NUMERIC, 0},
    {"real", ISO_VALUE_FLOAT, 0},
    {"double precision", ISO_VALUE_DOUBLE, 0},
    {"date", ISO_VALUE_DATE, 0},
    {"timestamp without time zone", ISO_VALUE_TIMESTAMP, 6},
    {"timestamp with time zone", ISO_VALUE_INSTANT, 0},
    {"time without time zone", ISO_VALUE_TIME, 6},
    {"time with time zone", ISO_VALUE_ZONED_TIME, 0},
    {"interval", ISO_VALUE_TIME, 6},
    {"bytea", ISO_VALUE_BYTES, 0},
    {"json", ISO_VALUE_JSON, 0},
    {"jsonb", ISO_VALUE_JSON, 0},
};

static struct iso_envelope_reader *create(const struct iso_decoder_options *options,
                                          struct iso_error *error)
{
    (void)options, (void)error;
    struct text_reader *text = iso_allocate_zeroed(1, sizeof *text);
    return &text->reader;
}

static void destroy(struct iso_envelope_reader *reader)
{
    struct text_reader *text = (struct text_reader *)reader;
    iso_payload_release(&text->payload.text);
    iso_payload_release(&text->key.text);
    iso_text_release(&text->together);
    iso_free(text);
}

static void texts_reserve(struct texts *texts, size_t size)
{
    iso_payload_reserve(&texts->text, size);
    texts->used = 0;
}

/* ---- columns ---- */

static struct iso_value_type value_type(struct iso_json_text name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == name.length && !memcmp(types[i].name, name.at, name.length))
            return (struct iso_value_type){types[i].kind, types[i].kind != ISO_VALUE_TEXT,
                                           types[i].detail};
    return (struct iso_value_type){ISO_VALUE_ANY, false, 0};
}

static struct iso_json_text undouble(struct texts *texts, struct iso_json_text quoted, char quote)
{
    char *into = texts->text.text + texts->used;
    size_t length = tuple_undouble(quoted, quote, into);
    texts->used += length;
    return (struct iso_json_text){into, length};
}

static void set_value(struct texts *texts, const struct tuple_column *column, struct iso_cell *cell)
{
    struct iso_json_text text =
        column->is_quoted ? undouble(texts, column->value, '\'') : column->value;
    bool negative = text.length && *text.at == '-';
    cell->kind = ISO_CELL_TEXT;
    cell->text = text.at;
    cell->length = (uint32_t)text.length;
    if ((cell->value.kind == ISO_VALUE_INTEGER || cell->value.kind == ISO_VALUE_INTEGER_64) &&
        iso_change_digits(text.at + negative, text.length - negative, &cell->bits)) {
        cell->kind = ISO_CELL_INTEGER;
        cell->bits = negative ? 0 - cell->bits : cell->bits;
        cell->negative = negative;
        cell->value.is_respelt = false;
    }
}

/* The columns up to `end`; false: something else stands there. */
static bool read_row(struct texts *texts, const char *at, const char *end, struct iso_row *row)
{
    struct tuple_column column;
    while (at < end && tuple_next(&at, end, &column)) {
        struct iso_json_text name = undouble(texts, column.name, '"');
        struct iso_cell *cell = iso_row_add(row, name.at, name.length);
        cell->value = value_type(column.type);
        cell->type = iso_type_digest(column.type.at, column.type.length, NULL, 0);
        if (column.is_unchanged)
            cell->kind = ISO_CELL_UNKNOWN;
        else if (!column.is_null)
            set_value(texts, &column, cell);
    }
    return at == end;
}

/* ---- lines ---- */

static struct iso_json_text take_word(const char **at, const char *end)
{
    const char *from = *at, *space = memchr(from, ' ', (size_t)(end - from));
    *at = space ? space + 1 : end;
    return (struct iso_json_text){from, (size_t)((space ? space : end) - from)};
}

static void set_text(struct iso_envelope *envelope, enum iso_member member,
                     struct iso_json_text text)
{
    envelope_note(envelope, member);
    envelope->member[member] =
        (struct iso_cell){.kind = ISO_CELL_TEXT, .text = text.at, .length = (uint32_t)text.length};
}

static bool set_number(struct iso_envelope *envelope, enum iso_member member,
                       struct iso_json_text text)
{
    envelope_note(envelope, member);
    envelope->member[member] = (struct iso_cell){.kind = ISO_CELL_INTEGER};
    return iso_change_digits(text.at, text.length, &envelope->member[member].bits);
}

static bool set_row(struct texts *texts, struct iso_envelope *envelope, enum iso_member member,
                    const char *at, const char *end)
{
    envelope_note(envelope, member);
    envelope->member[member] = (struct iso_cell){.kind = ISO_CELL_JSON};
    return at < end && read_row(texts, at, end, envelope_row(envelope, member));
}

static struct iso_json_text take_name(struct texts *texts, const char **at, const char *end,
                                      char mark)
{
    struct iso_json_text name = tuple_name(*at, end, mark);
    *at = name.at + name.length;
    bool is_quoted = name.length > 2 && *name.at == '"';
    name = (struct iso_json_text){name.at + is_quoted, name.length - 2 * is_quoted};
    return undouble(texts, name, '"');
}

/* Up to the images: the operation, its transaction, its place and its table. */
static bool read_head(struct text_reader *text, const char *topic, const char **at, const char *end,
                      struct iso_envelope *envelope)
{
    const char *dot = strrchr(topic, '.');
    struct iso_json_text op = take_word(at, end), xid = take_word(at, end),
                         lsn = take_word(at, end), previous = take_word(at, end),
                         order = take_word(at, end);
    bool at_start = ISO_PAYLOAD_IS(op, "r");
    struct iso_json_text schema = take_name(&text->payload, at, end, '.');
    *at += *at < end;
    struct iso_json_text table = take_name(&text->payload, at, end, ' ');
    *at += *at < end;
    text->together.used = 0;
    iso_text_format(&text->together, "[\"%.*s\",\"%.*s\"]", (int)previous.length, previous.at,
                    (int)lsn.length, lsn.at);
    set_text(envelope, ISO_MEMBER_OP, op);
    envelope_note(envelope, ISO_MEMBER_SOURCE);
    envelope->member[ISO_MEMBER_SOURCE] = (struct iso_cell){.kind = ISO_CELL_JSON};
    set_text(envelope, ISO_MEMBER_NAME,
             (struct iso_json_text){topic, dot ? (size_t)(dot - topic) : strlen(topic)});
    set_text(envelope, ISO_MEMBER_CONNECTOR, (struct iso_json_text){"postgresql", 10});
    set_text(envelope, ISO_MEMBER_SCHEMA, schema);
    set_text(envelope, ISO_MEMBER_TABLE, table);
    set_text(envelope, ISO_MEMBER_SEQUENCE,
             (struct iso_json_text){text->together.bytes, text->together.used});
    if (at_start)
        set_text(envelope, ISO_MEMBER_SNAPSHOT, order);
    return op.length == 1 && table.length && xid.length < 20 && lsn.length < 20 &&
           previous.length < 20 && set_number(envelope, ISO_MEMBER_TX_ID, xid) &&
           set_number(envelope, ISO_MEMBER_LSN, lsn) &&
           (at_start || set_number(envelope, ISO_MEMBER_TOTAL_ORDER, order));
}

/* old-key: BEFORE new-tuple: AFTER; or AFTER alone. */
static bool read_update(struct texts *texts, const char *at, const char *end,
                        struct iso_envelope *envelope)
{
    static const char old[] = "old-key: ", new[] = " new-tuple: ";
    if ((size_t)(end - at) < sizeof old || memcmp(at, old, sizeof old - 1))
        return set_row(texts, envelope, ISO_MEMBER_AFTER, at, end);
    at += sizeof old - 1;
    const char *middle = tuple_end(at, end);
    return (size_t)(end - middle) > sizeof new && !memcmp(middle - 1, new, sizeof new - 1) &&
           set_row(texts, envelope, ISO_MEMBER_BEFORE, at, middle - 1) &&
           set_row(texts, envelope, ISO_MEMBER_AFTER, middle - 1 + sizeof new - 1, end);
}

static bool read_boundary(struct text_reader *text, const char *at, const char *end,
                          struct iso_envelope *envelope)
{
    bool is_end = *take_word(&at, end).at == 'E';
    struct iso_json_text xid = take_word(&at, end), lsn = take_word(&at, end);
    text->together.used = 0;
    iso_text_format(&text->together, "%.*s:%.*s", (int)xid.length, xid.at, (int)lsn.length, lsn.at);
    set_text(envelope, ISO_MEMBER_STATUS,
             is_end ? (struct iso_json_text){"END", 3} : (struct iso_json_text){"BEGIN", 5});
    set_text(envelope, ISO_MEMBER_ID,
             (struct iso_json_text){text->together.bytes, text->together.used});
    return xid.length && xid.length < 20 && lsn.length && lsn.length < 20 &&
           (!is_end || (set_number(envelope, ISO_MEMBER_EVENT_COUNT, take_word(&at, end)) &&
                        set_number(envelope, ISO_MEMBER_TS_MS, take_word(&at, end)))) &&
           at == end;
}

static enum iso_status expected(const char *what, struct iso_error *error)
{
    return iso_error_set(error, ISO_BAD_INPUT, "%s", what);
}

static enum iso_status read_payload(struct iso_envelope_reader *reader,
                                    const struct iso_message *message,
                                    struct iso_envelope *envelope, struct iso_error *error)
{
    struct text_reader *text = (struct text_reader *)reader;
    const char *at = (const char *)message->payload.data, *end = at + message->payload.size;
    texts_reserve(&text->payload, message->payload.size);
    if (at < end && (*at == 'B' || *at == 'E'))
        return read_boundary(text, at, end, envelope)
                   ? ISO_OK
                   : expected(
                         "a line of test_decoding: expected B XID LSN, or E XID LSN COUNT MILLISECONDS",
                         error);
    if (!read_head(text, message->topic, &at, end, envelope))
        return expected("a line of test_decoding: expected OP XID LSN PREVIOUS ORDER SCHEMA.TABLE",
                        error);
    char op = *envelope->member[ISO_MEMBER_OP].text;
    bool fine = op == 't' || op == 's' ? at == end
                : op == 'u'            ? read_update(&text->payload, at, end, envelope)
                                       : set_row(&text->payload, envelope,
                                      op == 'd' ? ISO_MEMBER_BEFORE : ISO_MEMBER_AFTER, at, end);
    return fine ? ISO_OK
                : expected("a row of test_decoding: expected NAME[TYPE]:VALUE for each column",
                           error);
}

static enum iso_status read_key(struct iso_envelope_reader *reader,
                                const struct iso_message *message, struct iso_envelope *envelope,
                                struct iso_error *error)
{
    struct text_reader *text = (struct text_reader *)reader;
    const char *at = (const char *)message->key.data;
    texts_reserve(&text->key, message->key.size);
    return read_row(&text->key, at, at + message->key.size, &envelope->key) && envelope->key.count
               ? ISO_OK
               : expected("key: expected NAME[TYPE]:VALUE for each of its columns", error);
}

const struct envelope_format envelope_test_decoding = {"test_decoding", create, read_payload,
                                                       read_key, destroy};
