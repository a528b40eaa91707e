/* Records in Protobuf as our reader takes them from the wire, against what protobuf-c makes of the
 * same bytes: of random transactions, with fields in any order, parts apart, unknown fields, and
 * bytes changed. */
#include <stdio.h>
#include <stdlib.h>

#include <transaction.pb-c.h>

#include "base/text.h"
#include "connectors/history/build.h"
#include "connectors/history/record.h"
#include "connectors/protobuf/wire.h"
#include "tests/support/random.h"
#include "tests/support/test.h"
#include "tests/support/block_text.h"

/* ---- by protobuf-c ---- */

/* False: it holds nothing, or no UTF-8. */
static bool take_value(struct iso_history *block, const Isochron__Value *value, iso_atom *atom)
{
    if (!value)
        return false;
    switch (value->value_case) {
    case ISOCHRON__VALUE__VALUE_NUMBER:
        *atom = build_number(block, value->number);
        return true;
    case ISOCHRON__VALUE__VALUE_TEXT:
        return build_text(block, value->text.data, value->text.len, atom);
    default:
        return false;
    }
}

static const char *take_stamp(struct iso_history *block, const Isochron__Timestamp *timestamp,
                              struct iso_stamp *stamp)
{
    *stamp = (struct iso_stamp){timestamp->physical, timestamp->logical};
    return build_clock(block, timestamp->pair_case == ISOCHRON__TIMESTAMP__PAIR_LOGICAL
                                  ? ISO_CLOCK_PAIR
                                  : ISO_CLOCK_SCALAR)
               ? NULL
               : "timestamps of two kinds, expected single numbers or pairs throughout";
}

static const char *take_list(struct iso_history *block, const Isochron__List *list, uint32_t *index)
{
    iso_atom element;
    *index = iso_history_list(block);
    for (size_t i = 0; i < list->n_elements; i++) {
        if (!take_value(block, list->elements[i], &element))
            return "an element of list: expected a number or UTF-8 text";
        iso_history_element(block, element);
    }
    return NULL;
}

static const char *take_operation(struct iso_history *block, const Isochron__Operation *read)
{
    static const enum iso_operation_kind kinds[] = {ISO_READ, ISO_WRITE, ISO_DELETE, ISO_APPEND};
    struct build_operation operation = {.value = ISO_ABSENT, .lock = read->lock};
    const char *wrong = NULL;
    if (read->kind < 0 || read->kind > ISOCHRON__KIND__APPEND)
        return "kind of an operation: expected READ, WRITE, DELETE or APPEND";
    operation.kind = kinds[read->kind];
    if (!take_value(block, read->key, &operation.key))
        return "key: expected a number or UTF-8 text";
    if (read->value && read->list)
        return "value and list in one operation, expected one of them";
    if (read->value && read->value->value_case != ISOCHRON__VALUE__VALUE__NOT_SET &&
        !take_value(block, read->value, &operation.value))
        return "value: expected a number or UTF-8 text";
    if (read->list) {
        operation.is_list = true;
        wrong = take_list(block, read->list, &operation.list);
    }
    if (!wrong && read->ots) {
        operation.has_ots = true;
        wrong = take_stamp(block, read->ots, &operation.ots);
    }
    return wrong ? wrong : build_add_operation(block, &operation);
}

static const char *take_transaction(struct iso_history *block, const Isochron__Transaction *read,
                                    uint64_t origin)
{
    static const uint8_t statuses[] = {ISO_COMMITTED, ISO_ABORTED, ISO_UNKNOWN};
    iso_atom tid, sid;
    struct iso_stamp stamp;
    const char *wrong = NULL;
    if (!take_value(block, read->tid, &tid))
        return "tid: expected a number or UTF-8 text";
    if (!take_value(block, read->sid, &sid))
        return "sid: expected a number or UTF-8 text";
    if (read->status < 0 || read->status > ISOCHRON__STATUS__UNKNOWN)
        return "status: expected COMMITTED, ABORTED or UNKNOWN";
    if (read->writes < 0 || read->writes > ISOCHRON__WRITES__CDC)
        return "writes: expected ALL or CDC";
    iso_history_begin(block, tid, sid, statuses[read->status], origin);
    if (read->writes == ISOCHRON__WRITES__CDC)
        iso_history_set_marks(block, ISO_MARK_CDC_WRITES);
    if (read->position_case == ISOCHRON__TRANSACTION__POSITION_SNO)
        iso_history_set_sno(block, read->sno);
    if (read->sts && !(wrong = take_stamp(block, read->sts, &stamp)))
        iso_history_set_sts(block, stamp);
    if (!wrong && read->cts && !(wrong = take_stamp(block, read->cts, &stamp)))
        iso_history_set_cts(block, stamp);
    if (!wrong && read->snapshot.len)
        wrong =
            build_snapshot(block, (const char *)read->snapshot.data, read->snapshot.len, read->sts);
    for (size_t i = 0; i < read->n_ops && !wrong; i++)
        wrong = take_operation(block, read->ops[i]);
    return wrong;
}

static const char *take_record(struct iso_events *events, const Isochron__Record *record,
                               const struct iso_message *message)
{
    struct iso_history_mark mark = iso_history_mark(&events->block);
    uint64_t origin = iso_origin(message->input, (uint64_t)message->offset);
    const char *wrong;
    switch (record->record_case) {
    case ISOCHRON__RECORD__RECORD_WATERMARK:
        iso_events_add(events, &(struct iso_event){.type = ISO_EVENT_WATERMARK,
                                                   .cts = {.physical = record->watermark}});
        return NULL;
    case ISOCHRON__RECORD__RECORD_TRANSACTION:
        wrong = take_transaction(&events->block, record->transaction, origin);
        if (wrong) {
            iso_history_rewind(&events->block, &mark);
            return wrong;
        }
        iso_history_close(&events->block);
        iso_events_add_transaction(events, mark.transactions, origin);
        return NULL;
    default:
        return "a record without a transaction or a watermark";
    }
}

static bool decode_with_library(const struct iso_message *message, struct iso_events *events)
{
    Isochron__Record *record =
        isochron__record__unpack(NULL, message->payload.size, message->payload.data);
    bool fine = record && !take_record(events, record, message);
    if (record)
        isochron__record__free_unpacked(record, NULL);
    return fine;
}

/* ---- random records, as no serializer writes them ---- */

static void put_varint(struct iso_text *text, uint64_t bits)
{
    uint8_t bytes[10], count = 0;
    for (; bits > 127; bits >>= 7)
        bytes[count++] = (uint8_t)(bits | 128);
    bytes[count++] = (uint8_t)bits;
    iso_text_put_bytes(text, bytes, count);
}

static uint64_t draw_number(struct random *random)
{
    return random_percent(random, 60) ? random_below(random, 5)
                                      : random_bits(random) >> random_below(random, 64);
}

static void put_number(struct iso_text *text, uint32_t field, uint64_t number)
{
    put_varint(text, field << 3);
    put_varint(text, number);
}

static void put_sized(struct iso_text *text, uint32_t field, struct iso_text *content)
{
    put_varint(text, field << 3 | 2);
    put_varint(text, content->used);
    iso_text_put_bytes(text, content->bytes, content->used);
    iso_text_release(content);
}

static void put_unknown(struct random *random, struct iso_text *text)
{
    struct iso_text bytes = {0};
    uint32_t field;
    iso_text_put_bytes(&bytes, "12345678", random_below(random, 9));
    switch (random_below(random, 12)) {
    case 0:
        field = 9 + random_below(random, 2000);
        put_number(text, field, random_bits(random));
        break;
    case 1:
        put_varint(text, 77 << 3 | 5);
        iso_text_put_bytes(text, "1234", 4);
        break;
    case 2:
        put_varint(text, 78 << 3 | 1);
        iso_text_put_bytes(text, "12345678", 8);
        break;
    case 3:
        put_sized(text, 79, &bytes);
        break;
    default:
        break;
    }
    iso_text_release(&bytes);
}

static void put_value(struct random *random, struct iso_text *text, uint32_t field)
{
    struct iso_text value = {0}, bytes = {0};
    for (uint32_t times = random_percent(random, 95) ? 1 : random_below(random, 4); times;
         times--) {
        put_unknown(random, &value);
        if (random_percent(random, 60)) {
            put_number(&value, 1, draw_number(random));
        } else {
            static const char *const texts[] = {"x", "7", "", "caf\xc3\xa9", "\xff"};
            iso_text_put(&bytes, texts[random_percent(random, 90) ? random_below(random, 4) : 4]);
            put_sized(&value, 2, &bytes);
        }
    }
    put_sized(text, field, &value);
}

static void put_timestamp(struct random *random, struct iso_text *text, uint32_t field)
{
    struct iso_text timestamp = {0};
    if (random_percent(random, 95))
        put_number(&timestamp, 1, draw_number(random));
    if (random_percent(random, 3))
        put_number(&timestamp, 2, draw_number(random));
    put_sized(text, field, &timestamp);
}

static void put_operation(struct random *random, struct iso_text *text)
{
    struct iso_text operation = {0}, list = {0};
    uint32_t kind = random_below(random, 4);
    if (kind || random_percent(random, 50))
        put_number(&operation, 1, random_percent(random, 98) ? kind : draw_number(random));
    put_value(random, &operation, 2);
    if (kind == 1 || kind == 3 || random_percent(random, 10))
        put_value(random, &operation, 3);
    if (kind == 0 && random_percent(random, 30)) {
        for (uint32_t elements = random_below(random, 4); elements; elements--)
            put_value(random, &list, 1);
        put_sized(&operation, 4, &list);
    }
    if (random_percent(random, 20))
        put_timestamp(random, &operation, 5);
    if (random_percent(random, 20))
        put_number(&operation, 6, random_below(random, 3));
    put_unknown(random, &operation);
    put_sized(text, 7, &operation);
}

static void put_transaction(struct random *random, struct iso_text *text)
{
    struct iso_text transaction = {0};
    bool all = random_percent(random, 90);
    uint32_t first = random_percent(random, 80) ? 0 : random_below(random, 9);
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t field = (first + i) % 9;
        if (!all && random_percent(random, 50))
            continue;
        if (field == 1 || field == 2)
            put_value(random, &transaction, field);
        else if (field == 3 || field == 6)
            put_number(&transaction, field,
                       field == 3 ? draw_number(random) : random_below(random, 3));
        else if (field == 8)
            put_number(&transaction, field,
                       random_percent(random, 98) ? random_below(random, 2) : draw_number(random));
        else if (field == 4 || field == 5)
            put_timestamp(random, &transaction, field);
        for (uint32_t operations = field == 7 ? random_below(random, 5) : 0; operations;
             operations--)
            put_operation(random, &transaction);
        put_unknown(random, &transaction);
    }
    put_sized(text, 1, &transaction);
}

static void put_record(struct random *random, struct iso_text *text)
{
    bool has_transaction = random_percent(random, 85);
    put_unknown(random, text);
    if (has_transaction)
        put_transaction(random, text);
    for (uint32_t times = random_percent(random, has_transaction ? 2 : 98); times; times--)
        put_number(text, 2, draw_number(random));
    put_unknown(random, text);
}

static void change_bytes(struct random *random, struct iso_text *text)
{
    for (uint32_t times = random_below(random, 3); times && text->used; times--) {
        uint32_t at = random_below(random, (uint32_t)text->used);
        uint32_t bit = random_below(random, 8), byte = random_below(random, 256);
        text->bytes[at] =
            random_percent(random, 50) ? (char)(text->bytes[at] ^ 1 << bit) : (char)byte;
    }
    if (random_percent(random, 10))
        text->used = random_below(random, (uint32_t)text->used + 1);
}

/* ---- both ---- */

/* Which messages are inside of which, by their fields. */
enum part { VALUE, TIMESTAMP, LIST, OPERATION, TRANSACTION, RECORD, NOTHING };

static enum part part_of(enum part outer, uint32_t field, bool *repeats)
{
    static const enum part in_transaction[] = {NOTHING,   VALUE,     VALUE,   NOTHING,
                                               TIMESTAMP, TIMESTAMP, NOTHING, OPERATION},
                           in_operation[] = {NOTHING, NOTHING, VALUE, VALUE, LIST, TIMESTAMP};
    *repeats = (outer == TRANSACTION && field == 7) || outer == LIST;
    if (outer == RECORD || outer == LIST)
        return field != 1 ? NOTHING : outer == LIST ? VALUE : TRANSACTION;
    if (outer == TRANSACTION)
        return field < 8 ? in_transaction[field] : NOTHING;
    return outer == OPERATION && field < 6 ? in_operation[field] : NOTHING;
}

/* Whether a message comes twice where one is expected. Both are parts of one, says the format; but
 * protobuf-c then loses operations and refuses values. */
static bool comes_twice(enum part outer, struct iso_wire_span span)
{
    struct iso_wire_field field;
    uint32_t seen = 0;
    while (span.at < span.end && !iso_wire_take(&span, &field)) {
        bool repeats;
        enum part part = part_of(outer, field.number, &repeats);
        if (part == NOTHING || field.encoding != ISO_WIRE_SIZED)
            continue;
        if ((!repeats && seen >> field.number & 1) || comes_twice(part, field.bytes))
            return true;
        seen |= 1u << field.number;
    }
    return false;
}

/* Field 0, which does not exist, numbers above 2^29, and booleans in any encoding protobuf-c lets
 * pass; of a transaction and a watermark it takes the last one. */
static bool is_stricter(const struct iso_error *error)
{
    return strstr(error->text, "expected a field's number") ||
           strstr(error->text, "as the schema says") ||
           strstr(error->text, "a transaction and a watermark");
}

static bool compare(struct iso_decoder *decoder, const struct iso_text *text)
{
    static char ours[1 << 16], theirs[1 << 16];
    struct iso_error error = {0};
    struct iso_events read, expected;
    uint8_t *copy = malloc(text->used + 1);
    assert_non_null(copy);
    if (text->used)
        memcpy(copy, text->bytes, text->used);
    struct iso_message message = {.topic = "t", .payload = {copy, (uint32_t)text->used}};
    iso_events_init(&read);
    iso_events_init(&expected);
    bool fine = iso_record_decoder.decode(decoder, &message, &read, &error) == ISO_OK;
    bool is_fine = decode_with_library(&message, &expected);
    bool twice = comes_twice(RECORD, (struct iso_wire_span){copy, copy + text->used});
    if (is_fine != fine && !(is_fine && is_stricter(&error)) && !twice)
        fail_msg("ours: \"%s\", protobuf-c %s it", error.text, is_fine ? "takes" : "refuses");
    block_text(&read.block, ours, sizeof ours);
    block_text(&expected.block, theirs, sizeof theirs);
    if (fine && !twice) {
        assert_string_equal(ours, theirs);
        assert_int_equal(read.count, 1);
        assert_int_equal(expected.count, 1);
        assert_int_equal(read.list[0].type, expected.list[0].type);
        assert_true(read.list[0].cts.physical == expected.list[0].cts.physical);
    } else if (!fine) {
        assert_int_equal(read.block.txns.count + read.count, 0);
        assert_true(error.text[0]);
    }
    iso_events_release(&read);
    iso_events_release(&expected);
    free(copy);
    return fine;
}

static void reads_what_protobuf_c_reads(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_decoder *decoder =
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "protobuf"}, &error);
    struct random random = {2026};
    uint32_t taken = 0, refused = 0;
    assert_non_null(decoder);
    for (int round = 0; round < 20000; round++) {
        struct iso_text text = {0};
        iso_text_reserve(&text, 1);
        put_record(&random, &text);
        bool fine = compare(decoder, &text);
        change_bytes(&random, &text);
        fine &= compare(decoder, &text);
        taken += fine;
        refused += !fine;
        iso_text_release(&text);
    }
    assert_in_range(taken, 4000, 20000);
    assert_in_range(refused, 2000, 20000);
    iso_record_decoder.destroy(decoder);
}

/* A record in two parts, the transaction cut between any two of its fields, and keys and values
 * that come twice: what protoc says of them, and protobuf-c does not. */
static void parts_of_a_transaction_are_one(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_decoder *decoder =
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "protobuf"}, &error);
    static const char fields[] =
        "\x0a\x02\x08\x0e\x12\x02\x08\x02\x2a\x02\x08\x09\x3a\x11\x08\x01\x12\x02\x08\x04"
        "\x1a\x03\x12\x01x\x1a\x04\x08\x03\x08\x02\x3a\x0a\x12\x02\x08\x08\x08\x02\x12\x02\x08\x06";
    static const uint8_t cuts[] = {0, 4, 8, 12, 31, 43};
    for (size_t i = 0; i < sizeof cuts; i++) {
        char text[1024];
        uint8_t bytes[64] = {0x0a, cuts[i]};
        struct iso_events events;
        size_t rest = sizeof fields - 1 - cuts[i];
        memcpy(bytes + 2, fields, cuts[i]);
        bytes[2 + cuts[i]] = 0x0a;
        bytes[3 + cuts[i]] = (uint8_t)rest;
        memcpy(bytes + 4 + cuts[i], fields + cuts[i], rest);
        struct iso_message message = {.topic = "t",
                                      .payload = {bytes, (uint32_t)sizeof fields - 1 + 4}};
        iso_events_init(&events);
        assert_int_equal(iso_record_decoder.decode(decoder, &message, &events, &error), ISO_OK);
        block_text(&events.block, text, sizeof text);
        assert_string_equal(text, "T7 S1 f28 0 9 #0 o0\n 01 2 ots 0 = 1\n 02 3 ots 0\n");
        iso_events_release(&events);
    }
    iso_record_decoder.destroy(decoder);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_what_protobuf_c_reads),
                                       cmocka_unit_test(parts_of_a_transaction_are_one)};
    return cmocka_run_group_tests_name("records protobuf", tests, NULL, NULL);
}
