/* History records as Protobuf, by the code that protoc-c made of deploy/schemas/transaction.proto.
 *
 * A record is unpacked into one reusable region, so that no field costs a malloc. */
#include <string.h>

#include "base/memory.h"
#include "connectors/history/record_private.h"
#include "connectors/history/build.h"
#include "io/framing.h"
#include <transaction.pb-c.h>

enum { REGION_BYTES = 1 << 16, ALIGNMENT = 16 };

/* Unpacked records, one at a time. Grows by what did not fit, once the record is done with. */
struct region {
    char *bytes;
    size_t used, capacity;
    size_t outside; /* bytes of this record that lie on the heap */
};

struct protobuf_decoder {
    struct iso_decoder decoder;
    bool framed;
    struct region region;
    ProtobufCAllocator allocator;
};

static void *region_take(void *context, size_t size)
{
    struct region *region = context;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (size > region->capacity - region->used) {
        region->outside += size;
        return iso_allocate(size);
    }
    region->used += size;
    return region->bytes + region->used - size;
}

static void region_give_back(void *context, void *memory)
{
    struct region *region = context;
    char *bytes = memory;
    if (memory && (bytes < region->bytes || bytes >= region->bytes + region->capacity))
        iso_free(memory);
}

static void region_clear(struct region *region)
{
    region->used = 0;
    if (!region->outside)
        return;
    region->capacity += region->outside;
    region->outside = 0;
    iso_free(region->bytes);
    region->bytes = iso_allocate(region->capacity);
}

static struct iso_decoder *create(const struct iso_decoder_options *options, struct iso_error *error)
{
    (void)error;
    struct protobuf_decoder *protobuf = iso_allocate_zeroed(1, sizeof *protobuf);
    protobuf->decoder.class = &record_protobuf;
    protobuf->framed = options->framed;
    protobuf->region.capacity = REGION_BYTES;
    protobuf->region.bytes = iso_allocate(REGION_BYTES);
    protobuf->allocator = (ProtobufCAllocator){region_take, region_give_back, &protobuf->region};
    return &protobuf->decoder;
}

static void destroy(struct iso_decoder *decoder)
{
    struct protobuf_decoder *protobuf = (struct protobuf_decoder *)decoder;
    iso_free(protobuf->region.bytes);
    iso_free(protobuf);
}

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

static const char *take_stamp(struct iso_history *block, const Isochron__Timestamp *timestamp, struct iso_stamp *stamp)
{
    *stamp = (struct iso_stamp){timestamp->physical, timestamp->logical};
    return build_clock(block,
                       timestamp->pair_case == ISOCHRON__TIMESTAMP__PAIR_LOGICAL ? ISO_CLOCK_PAIR : ISO_CLOCK_SCALAR)
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

static const char *take_transaction(struct iso_history *block, const Isochron__Transaction *read, uint64_t origin)
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
    iso_history_begin(block, tid, sid, statuses[read->status], origin);
    if (read->position_case == ISOCHRON__TRANSACTION__POSITION_SNO)
        iso_history_set_sno(block, read->sno);
    if (read->sts && !(wrong = take_stamp(block, read->sts, &stamp)))
        iso_history_set_sts(block, stamp);
    if (!wrong && read->cts && !(wrong = take_stamp(block, read->cts, &stamp)))
        iso_history_set_cts(block, stamp);
    for (size_t i = 0; i < read->n_ops && !wrong; i++)
        wrong = take_operation(block, read->ops[i]);
    return wrong;
}

static const char *take_record(struct iso_events *events, const Isochron__Record *record,
                               const struct iso_message *message)
{
    struct iso_history_mark mark = iso_history_mark(&events->block);
    uint64_t origin = record_origin(message);
    const char *wrong;
    switch (record->record_case) {
    case ISOCHRON__RECORD__RECORD_WATERMARK:
        record_add_watermark(events, message, record->watermark);
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

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message, struct iso_events *events,
                              struct iso_error *error)
{
    struct protobuf_decoder *protobuf = (struct protobuf_decoder *)decoder;
    struct iso_frame frame = {.bytes = message->payload.data, .size = message->payload.size};
    const char *wrong;
    if (!message->payload.data) {
        record_add_tombstone(events, message);
        return ISO_OK;
    }
    if (protobuf->framed && !iso_frame_open(message, ISO_FRAME_PAYLOAD, true, &frame, &wrong))
        return iso_error_set(error, ISO_BAD_INPUT, "expected %s", wrong);
    Isochron__Record *record = isochron__record__unpack(&protobuf->allocator, frame.size, frame.bytes);
    wrong = record ? take_record(events, record, message) : "not a Protobuf message of isochron.Record";
    if (record)
        isochron__record__free_unpacked(record, &protobuf->allocator);
    region_clear(&protobuf->region);
    return wrong ? iso_error_set(error, ISO_BAD_INPUT, "%s", wrong) : ISO_OK;
}

const struct iso_decoder_class record_protobuf = {"history", create, decode, destroy};
