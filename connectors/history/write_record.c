#include "history/gtid.h"
#include "connectors/history/write_record.h"

#include <assert.h>
#include <string.h>

#include "connectors/history/record_fields.h"

/* ---- what both encodings are made of ---- */

static void put_varint(struct iso_text *text, uint64_t number)
{
    char *at = iso_text_reserve(text, 10);
    size_t used = 0;
    for (; number >= 0x80; number >>= 7)
        at[used++] = (char)(number | 0x80);
    at[used++] = (char)number;
    text->used += used;
}

static uint64_t zigzag(int64_t number)
{
    return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static void put_long(struct iso_text *text, int64_t number)
{
    put_varint(text, zigzag(number));
}

/* Whether an atom is an integer that a signed 64-bit number can hold. */
static bool is_long(const struct iso_history *history, iso_atom atom, int64_t *number)
{
    const struct iso_atoms *atoms = &history->atoms;
    uint32_t entry = atom & ~ISO_ATOM_TABLE;
    *number = (int64_t)atom;
    if (!(atom & ISO_ATOM_TABLE))
        return true;
    if (iso_atom_is_string(atoms, atom))
        return false;
    *number = (int64_t)atoms->entries[entry].payload;
    return atoms->entries[entry].form == ISO_FORM_NEGATIVE ||
           atoms->entries[entry].payload <= INT64_MAX;
}

/* The schemas' Kind; a read of a list is a read. */
static const uint8_t kinds[] = {
    [ISO_READ] = 0, [ISO_WRITE] = 1, [ISO_DELETE] = 2, [ISO_APPEND] = 3, [ISO_READ_LIST] = 0};

static iso_atom tid_of(const struct iso_history *history, uint32_t t)
{
    return history->txns.tid[t];
}

static iso_atom session_of(const struct iso_history *history, uint32_t t)
{
    return history->sessions.atom[history->txns.session[t]];
}

static iso_atom key_of(const struct iso_history *history, uint32_t o)
{
    return history->keys.atom[history->ops.key[o]];
}

/* ---- Avro: values in the order of the schema; a union's value behind the number of its branch
 * ---- */

enum { AVRO_LONG, AVRO_STRING };                           /* of [long, string] */
enum { AVRO_NULL, AVRO_SOME };                             /* of [null, long] */
enum { VALUE_NULL, VALUE_LONG, VALUE_STRING, VALUE_LIST }; /* of an operation's v */

static void avro_atom(struct iso_text *text, const struct iso_history *history, iso_atom atom,
                      int long_branch)
{
    int64_t number;
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    bool numeric = is_long(history, atom, &number);
    put_long(text, numeric ? long_branch : long_branch + 1);
    if (numeric) {
        put_long(text, number);
        return;
    }
    const char *bytes = iso_atom_text(&history->atoms, atom, buffer, &length);
    put_long(text, (int64_t)length);
    iso_text_put_bytes(text, bytes, length);
}

static void avro_optional(struct iso_text *text, bool there, uint64_t number)
{
    put_long(text, there ? AVRO_SOME : AVRO_NULL);
    if (there)
        put_long(text, (int64_t)number);
}

static void avro_list(struct iso_text *text, const struct iso_history *history, uint32_t list)
{
    uint64_t first = history->lists.first[list], end = history->lists.first[list + 1];
    put_long(text, VALUE_LIST);
    if (end > first)
        put_long(text, (int64_t)(end - first));
    for (uint64_t i = first; i < end; i++)
        avro_atom(text, history, history->lists.element[i], AVRO_LONG);
    put_long(text, 0);
}

static void avro_operation(struct iso_text *text, const struct iso_history *history, uint32_t o)
{
    enum iso_operation_kind kind = (enum iso_operation_kind)iso_kind_of(history, o);
    bool has_ots = history->ops.kind[o] & ISO_OPERATION_OTS;
    put_long(text, kinds[kind]);
    avro_atom(text, history, key_of(history, o), AVRO_LONG);
    if (kind == ISO_READ_LIST)
        avro_list(text, history, history->ops.value[o]);
    else if (history->ops.value[o] == ISO_ABSENT)
        put_long(text, VALUE_NULL);
    else
        avro_atom(text, history, history->ops.value[o], VALUE_LONG);
    avro_optional(text, has_ots, has_ots ? history->ops.ots[o] : 0);
    *iso_text_reserve(text, 1) = history->ops.kind[o] & ISO_OPERATION_LOCK ? 1 : 0;
    text->used++;
}

static bool fits_avro(const struct iso_history *history, uint32_t t)
{
    uint8_t flags = history->txns.flags[t];
    bool fits = !iso_marks_of(history, t) &&
                (!(flags & ISO_HAS_STS) || history->txns.sts[t] <= INT64_MAX) &&
                (!(flags & ISO_HAS_CTS) || history->txns.cts[t] <= INT64_MAX) &&
                (!(flags & ISO_HAS_SNO) || history->txns.sno[t] <= INT64_MAX);
    ISO_EACH(o, history->txns.first_op, t)
        fits = fits &&
               (!(history->ops.kind[o] & ISO_OPERATION_OTS) || history->ops.ots[o] <= INT64_MAX);
    return fits;
}

bool iso_record_write_avro(const struct iso_history *history, uint32_t t, struct iso_text *text)
{
    uint8_t flags = history->txns.flags[t];
    uint32_t first = history->txns.first_op[t], end = history->txns.first_op[t + 1];
    assert(history->clock != ISO_CLOCK_PAIR || history->finished);
    if (!fits_avro(history, t))
        return false;
    put_long(text, 0); /* the schema's first: Transaction */
    avro_atom(text, history, tid_of(history, t), AVRO_LONG);
    avro_atom(text, history, session_of(history, t), AVRO_LONG);
    avro_optional(text, flags & ISO_HAS_SNO, flags & ISO_HAS_SNO ? history->txns.sno[t] : 0);
    avro_optional(text, flags & ISO_HAS_STS, history->txns.sts[t]);
    avro_optional(text, flags & ISO_HAS_CTS, history->txns.cts[t]);
    put_long(text, flags & ISO_STATUS_MASK);
    if (end > first)
        put_long(text, end - first);
    for (uint32_t o = first; o < end; o++)
        avro_operation(text, history, o);
    put_long(text, 0);
    return true;
}

/* ---- Protobuf: members behind their number and wire type; what holds its default is left out
 * ---- */

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };
static void put_tag(struct iso_text *text, unsigned member, unsigned wire)
{
    put_varint(text, member << 3 | wire);
}

static size_t varint_size(uint64_t number)
{
    size_t size = 1;
    for (; number >= 0x80; number >>= 7)
        size++;
    return size;
}

/* A message inside another has its size before it, which is known when it is written: it is written
 * at the end, and moved to make room. Messages are small. */
static size_t begin_message(struct iso_text *text, unsigned member)
{
    put_tag(text, member, WIRE_BYTES);
    return text->used;
}

static void end_message(struct iso_text *text, size_t start)
{
    size_t size = text->used - start, head = varint_size(size);
    iso_text_reserve(text, head);
    memmove(text->bytes + start + head, text->bytes + start, size);
    text->used = start;
    put_varint(text, size);
    text->used += size;
}

static void protobuf_atom(struct iso_text *text, unsigned member, const struct iso_history *history,
                          iso_atom atom)
{
    int64_t number;
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length, start = begin_message(text, member);
    if (is_long(history, atom, &number)) {
        put_tag(text, VALUE_NUMBER, WIRE_VARINT);
        put_long(text, number);
    } else {
        const char *bytes = iso_atom_text(&history->atoms, atom, buffer, &length);
        put_tag(text, VALUE_TEXT, WIRE_BYTES);
        put_varint(text, length);
        iso_text_put_bytes(text, bytes, length);
    }
    end_message(text, start);
}

static void protobuf_stamp(struct iso_text *text, unsigned member, uint64_t timestamp)
{
    size_t start = begin_message(text, member);
    if (timestamp) {
        put_tag(text, TIMESTAMP_PHYSICAL, WIRE_VARINT);
        put_varint(text, timestamp);
    }
    end_message(text, start);
}

static void protobuf_number(struct iso_text *text, unsigned member, uint64_t number)
{
    put_tag(text, member, WIRE_VARINT);
    put_varint(text, number);
}

static void protobuf_list(struct iso_text *text, const struct iso_history *history, uint32_t list)
{
    size_t start = begin_message(text, OPERATION_LIST);
    for (uint64_t i = history->lists.first[list]; i < history->lists.first[list + 1]; i++)
        protobuf_atom(text, LIST_ELEMENTS, history, history->lists.element[i]);
    end_message(text, start);
}

static void protobuf_operation(struct iso_text *text, const struct iso_history *history, uint32_t o)
{
    enum iso_operation_kind kind = (enum iso_operation_kind)iso_kind_of(history, o);
    size_t start = begin_message(text, TRANSACTION_OPS);
    if (kinds[kind])
        protobuf_number(text, OPERATION_KIND, kinds[kind]);
    protobuf_atom(text, OPERATION_KEY, history, key_of(history, o));
    if (kind == ISO_READ_LIST)
        protobuf_list(text, history, history->ops.value[o]);
    else if (history->ops.value[o] != ISO_ABSENT)
        protobuf_atom(text, OPERATION_VALUE, history, history->ops.value[o]);
    if (history->ops.kind[o] & ISO_OPERATION_OTS)
        protobuf_stamp(text, OPERATION_OTS, history->ops.ots[o]);
    if (history->ops.kind[o] & ISO_OPERATION_LOCK)
        protobuf_number(text, OPERATION_LOCK, 1);
    end_message(text, start);
}

/* A snapshot's place in a binlog. */
static void protobuf_place(struct iso_text *text, uint64_t place)
{
    char name[ISO_BINLOG_POSITION_MAX];
    size_t start = begin_message(text, TRANSACTION_SNAPSHOT);
    iso_text_put_bytes(text, name, iso_binlog_position_text(place, name));
    end_message(text, start);
}

void iso_record_write_protobuf(const struct iso_history *history, uint32_t t, struct iso_text *text)
{
    uint8_t flags = history->txns.flags[t];
    size_t start = begin_message(text, RECORD_TRANSACTION);
    assert(history->clock != ISO_CLOCK_PAIR || history->finished);
    protobuf_atom(text, TRANSACTION_TID, history, tid_of(history, t));
    protobuf_atom(text, TRANSACTION_SID, history, session_of(history, t));
    if (flags & ISO_HAS_SNO)
        protobuf_number(text, TRANSACTION_SNO, history->txns.sno[t]);
    if (iso_marks_of(history, t) & ISO_MARK_LOG_START)
        protobuf_place(text, history->txns.sts[t]);
    else if (flags & ISO_HAS_STS)
        protobuf_stamp(text, TRANSACTION_STS, history->txns.sts[t]);
    if (flags & ISO_HAS_CTS)
        protobuf_stamp(text, TRANSACTION_CTS, history->txns.cts[t]);
    if (flags & ISO_STATUS_MASK)
        protobuf_number(text, TRANSACTION_STATUS, flags & ISO_STATUS_MASK);
    if (iso_marks_of(history, t) & ISO_MARK_CDC_WRITES)
        protobuf_number(text, TRANSACTION_WRITES, 1);
    ISO_EACH(o, history->txns.first_op, t)
        protobuf_operation(text, history, o);
    end_message(text, start);
}
