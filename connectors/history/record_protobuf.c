/* History records as Protobuf, after deploy/schemas/transaction.proto.
 *
 * Read from the wire as it stands: a library's tree of a record costs several times what is in it.
 * As the format wants it, fields may come in any order and more than once, of single values the
 * last one counts, parts of a message that come apart are one, and unknown fields are passed over.
 * Operations come last as every serializer writes them; in any case they are read when the rest is
 * known, in a second pass over the fields, which costs little, since the first one passes over them
 * by their lengths. */
#include "base/memory.h"
#include "connectors/history/build.h"
#include "connectors/history/record_private.h"
#include "connectors/protobuf/wire.h"
#include "connectors/cdc_common/framing.h"
#include "connectors/history/record_fields.h"

struct protobuf_decoder {
    struct iso_decoder decoder;
    bool framed;
};

/* A record being read. Texts that say what is wrong with it are static; of the wire's, also the
 * place is known. */
struct reading {
    struct iso_history *block;
    const uint8_t *faulty;
};

static inline const char *fault(struct reading *reading, const struct iso_wire_span *span,
                                const char *expected)
{
    reading->faulty = span->at;
    return expected;
}

/* The next field of `span`, which is not at its end; what is wrong, or NULL. */
static inline const char *take_field(struct reading *reading, struct iso_wire_span *span,
                                     struct iso_wire_field *field)
{
    const char *expected = iso_wire_take(span, field);
    return expected ? fault(reading, span, expected) : NULL;
}

/* Whether the field is encoded as the schema says. */
static inline const char *check(struct reading *reading, const struct iso_wire_span *span,
                                const struct iso_wire_field *field, uint32_t encoding)
{
    return field->encoding == encoding ? NULL
                                       : fault(reading, span, "fields encoded as the schema says");
}

/* ---- values ---- */

struct value {
    uint32_t holds; /* VALUE_NUMBER, VALUE_TEXT; 0: nothing */
    int64_t number;
    struct iso_wire_span text;
};

static const char *read_value(struct reading *reading, struct iso_wire_span span,
                              struct value *value)
{
    struct iso_wire_field field;
    const char *wrong;
    while (span.at < span.end) {
        if ((wrong = take_field(reading, &span, &field)))
            return wrong;
        if (field.number == VALUE_NUMBER) {
            if ((wrong = check(reading, &span, &field, ISO_WIRE_VARINT)))
                return wrong;
            value->number = iso_varint_signed(field.bits);
        } else if (field.number == VALUE_TEXT) {
            if ((wrong = check(reading, &span, &field, ISO_WIRE_SIZED)))
                return wrong;
            value->text = field.bytes;
        } else {
            continue;
        }
        value->holds = field.number;
    }
    return NULL;
}

/* False: it holds nothing, or no UTF-8. */
static inline bool take_value(struct iso_history *block, const struct value *value, iso_atom *atom)
{
    if (value->holds == VALUE_NUMBER) {
        *atom = build_number(block, value->number);
        return true;
    }
    return value->holds &&
           build_text(block, value->text.at, (size_t)(value->text.end - value->text.at), atom);
}

struct timestamp {
    bool is_there, is_pair;
    struct iso_stamp stamp;
};

static const char *read_timestamp(struct reading *reading, struct iso_wire_span span,
                                  struct timestamp *timestamp)
{
    struct iso_wire_field field;
    const char *wrong;
    timestamp->is_there = true;
    while (span.at < span.end) {
        if ((wrong = take_field(reading, &span, &field)))
            return wrong;
        if (field.number != TIMESTAMP_PHYSICAL && field.number != TIMESTAMP_LOGICAL)
            continue;
        if ((wrong = check(reading, &span, &field, ISO_WIRE_VARINT)))
            return wrong;
        timestamp->is_pair |= field.number == TIMESTAMP_LOGICAL;
        *(field.number == TIMESTAMP_LOGICAL ? &timestamp->stamp.logical
                                            : &timestamp->stamp.physical) = field.bits;
    }
    return NULL;
}

static const char *check_clock(struct iso_history *block, const struct timestamp *timestamp)
{
    return build_clock(block, timestamp->is_pair ? ISO_CLOCK_PAIR : ISO_CLOCK_SCALAR)
               ? NULL
               : "timestamps of two kinds, expected single numbers or pairs throughout";
}

/* ---- operations ---- */

struct operation {
    uint64_t kind;
    struct value key, value;
    bool has_value, lock;
    struct timestamp ots;
    struct build_operation built;
};

static const char *read_list(struct reading *reading, struct iso_wire_span span,
                             struct build_operation *built)
{
    struct iso_wire_field field;
    const char *wrong;
    iso_atom atom;
    if (!built->is_list)
        built->list = iso_history_list(reading->block);
    built->is_list = true;
    while (span.at < span.end) {
        struct value element = {.holds = 0};
        if ((wrong = take_field(reading, &span, &field)))
            return wrong;
        if (field.number != LIST_ELEMENTS)
            continue;
        if ((wrong = check(reading, &span, &field, ISO_WIRE_SIZED)) ||
            (wrong = read_value(reading, field.bytes, &element)))
            return wrong;
        if (!take_value(reading->block, &element, &atom))
            return "an element of list: expected a number or UTF-8 text";
        iso_history_element(reading->block, atom);
    }
    return NULL;
}

static const char *read_member(struct reading *reading, const struct iso_wire_span *span,
                               const struct iso_wire_field *field, struct operation *operation)
{
    bool is_number = field->number == OPERATION_KIND || field->number == OPERATION_LOCK;
    const char *wrong;
    if (field->number > OPERATION_LOCK)
        return NULL;
    if ((wrong = check(reading, span, field, is_number ? ISO_WIRE_VARINT : ISO_WIRE_SIZED)))
        return wrong;
    switch (field->number) {
    case OPERATION_KIND:
        operation->kind = (uint32_t)field->bits;
        return NULL;
    case OPERATION_KEY:
        return read_value(reading, field->bytes, &operation->key);
    case OPERATION_VALUE:
        operation->has_value = true;
        return read_value(reading, field->bytes, &operation->value);
    case OPERATION_LIST:
        return read_list(reading, field->bytes, &operation->built);
    case OPERATION_OTS:
        return read_timestamp(reading, field->bytes, &operation->ots);
    default:
        operation->lock = field->bits != 0;
        return NULL;
    }
}

static const char *add_operation(struct iso_history *block, struct operation *operation)
{
    static const enum iso_operation_kind kinds[] = {ISO_READ, ISO_WRITE, ISO_DELETE, ISO_APPEND};
    struct build_operation *built = &operation->built;
    const char *wrong;
    if (operation->kind >= sizeof kinds / sizeof *kinds)
        return "kind of an operation: expected READ, WRITE, DELETE or APPEND";
    built->kind = kinds[operation->kind];
    if (!take_value(block, &operation->key, &built->key))
        return "key: expected a number or UTF-8 text";
    if (operation->has_value && built->is_list)
        return "value and list in one operation, expected one of them";
    if (operation->value.holds && !take_value(block, &operation->value, &built->value))
        return "value: expected a number or UTF-8 text";
    if (operation->ots.is_there && (wrong = check_clock(block, &operation->ots)))
        return wrong;
    built->has_ots = operation->ots.is_there;
    built->ots = operation->ots.stamp;
    built->lock = operation->lock;
    return build_add_operation(block, built);
}

static const char *read_operation(struct reading *reading, struct iso_wire_span span)
{
    struct operation operation;
    struct iso_wire_field field;
    const char *wrong;
    operation.kind = 0;
    operation.key.holds = operation.value.holds = 0;
    operation.has_value = operation.lock = false;
    operation.ots = (struct timestamp){.is_there = false};
    operation.built.value = ISO_ABSENT;
    operation.built.is_list = false;
    while (span.at < span.end)
        if ((wrong = take_field(reading, &span, &field)) ||
            (wrong = read_member(reading, &span, &field, &operation)))
            return wrong;
    return add_operation(reading->block, &operation);
}

/* ---- transactions ---- */

/* The members beside the operations. */
struct head {
    struct value tid, sid;
    struct timestamp sts, cts;
    uint64_t sno;
    uint32_t status, writes;
    bool has_sno;
    struct iso_wire_span snapshot; /* empty: none */
};

static const char *read_head_member(struct reading *reading, const struct iso_wire_span *span,
                                    const struct iso_wire_field *field, struct head *head)
{
    bool is_number = field->number == TRANSACTION_SNO || field->number == TRANSACTION_STATUS ||
                     field->number == TRANSACTION_WRITES;
    const char *wrong;
    if (field->number > TRANSACTION_SNAPSHOT)
        return NULL;
    if ((wrong = check(reading, span, field, is_number ? ISO_WIRE_VARINT : ISO_WIRE_SIZED)))
        return wrong;
    switch (field->number) {
    case TRANSACTION_TID:
        return read_value(reading, field->bytes, &head->tid);
    case TRANSACTION_SID:
        return read_value(reading, field->bytes, &head->sid);
    case TRANSACTION_SNO:
        head->sno = field->bits;
        head->has_sno = true;
        return NULL;
    case TRANSACTION_STS:
        return read_timestamp(reading, field->bytes, &head->sts);
    case TRANSACTION_CTS:
        return read_timestamp(reading, field->bytes, &head->cts);
    case TRANSACTION_STATUS:
        head->status = (uint32_t)field->bits;
        return NULL;
    case TRANSACTION_WRITES:
        head->writes = (uint32_t)field->bits;
        return NULL;
    case TRANSACTION_SNAPSHOT:
        head->snapshot = field->bytes;
        return NULL;
    default:
        return NULL;
    }
}

static const char *begin_transaction(struct iso_history *block, const struct head *head,
                                     uint64_t origin)
{
    static const uint8_t statuses[] = {ISO_COMMITTED, ISO_ABORTED, ISO_UNKNOWN},
                         marks[] = {0, ISO_MARK_CDC_WRITES};
    iso_atom tid, sid;
    const char *wrong;
    if (!take_value(block, &head->tid, &tid))
        return "tid: expected a number or UTF-8 text";
    if (!take_value(block, &head->sid, &sid))
        return "sid: expected a number or UTF-8 text";
    if (head->status >= sizeof statuses)
        return "status: expected COMMITTED, ABORTED or UNKNOWN";
    if (head->writes >= sizeof marks)
        return "writes: expected ALL or CDC";
    iso_history_begin(block, tid, sid, statuses[head->status], origin);
    if (marks[head->writes])
        iso_history_set_marks(block, marks[head->writes]);
    if (head->has_sno)
        iso_history_set_sno(block, head->sno);
    if ((head->sts.is_there && (wrong = check_clock(block, &head->sts))) ||
        (head->cts.is_there && (wrong = check_clock(block, &head->cts))))
        return wrong;
    if (head->sts.is_there)
        iso_history_set_sts(block, head->sts.stamp);
    if (head->cts.is_there)
        iso_history_set_cts(block, head->cts.stamp);
    size_t length = (size_t)(head->snapshot.end - head->snapshot.at);
    return length
               ? build_snapshot(block, (const char *)head->snapshot.at, length, head->sts.is_there)
               : NULL;
}

/* One pass over a part of a transaction: its head, or its operations. */
static const char *read_part(struct reading *reading, struct iso_wire_span span, struct head *head)
{
    struct iso_wire_field field;
    const char *wrong = NULL;
    while (span.at < span.end && !wrong) {
        if ((wrong = take_field(reading, &span, &field)))
            return wrong;
        if (head)
            wrong = read_head_member(reading, &span, &field, head);
        else if (field.number == TRANSACTION_OPS)
            wrong = read_operation(reading, field.bytes);
    }
    return wrong;
}

/* One pass over the transaction's parts in a record, of which there mostly is one. */
static const char *read_parts(struct reading *reading, struct iso_wire_span record,
                              struct head *head)
{
    struct iso_wire_field field;
    const char *wrong = NULL;
    while (record.at < record.end && !wrong) {
        wrong = take_field(reading, &record, &field);
        if (!wrong && field.number == RECORD_TRANSACTION)
            wrong = read_part(reading, field.bytes, head);
    }
    return wrong;
}

static const char *read_transaction(struct reading *reading, struct iso_wire_span record,
                                    uint64_t origin)
{
    struct head head = {.status = 0};
    const char *wrong = read_parts(reading, record, &head);
    if (!wrong)
        wrong = begin_transaction(reading->block, &head, origin);
    return wrong ? wrong : read_parts(reading, record, NULL);
}

/* ---- records ---- */

/* Which of the two the record is; both is refused, though the format would let the last one
 * count. */
static const char *find_kind(struct reading *reading, struct iso_wire_span record, uint32_t *which,
                             uint64_t *watermark)
{
    struct iso_wire_field field;
    const char *wrong;
    *which = 0;
    while (record.at < record.end) {
        if ((wrong = take_field(reading, &record, &field)))
            return wrong;
        if (field.number != RECORD_TRANSACTION && field.number != RECORD_WATERMARK)
            continue;
        bool is_watermark = field.number == RECORD_WATERMARK;
        if ((wrong =
                 check(reading, &record, &field, is_watermark ? ISO_WIRE_VARINT : ISO_WIRE_SIZED)))
            return wrong;
        if (*which && *which != field.number)
            return "a transaction and a watermark in one record, expected one of them";
        *which = field.number;
        *watermark = field.bits;
    }
    return NULL;
}

static const char *take_record(struct reading *reading, struct iso_wire_span record,
                               struct iso_events *events, const struct iso_message *message)
{
    struct iso_history_mark mark = iso_history_mark(&events->block);
    uint64_t origin = record_origin(message), watermark;
    uint32_t which;
    const char *wrong = find_kind(reading, record, &which, &watermark);
    if (wrong)
        return wrong;
    if (which == RECORD_WATERMARK) {
        record_add_watermark(events, message, watermark);
        return NULL;
    }
    if (which != RECORD_TRANSACTION)
        return "a record without a transaction or a watermark";
    if ((wrong = read_transaction(reading, record, origin))) {
        iso_history_rewind(&events->block, &mark);
        return wrong;
    }
    iso_history_close(&events->block);
    iso_events_add_transaction(events, mark.transactions, origin);
    return NULL;
}

/* ---- messages ---- */

static struct iso_decoder *create(const struct iso_decoder_options *options,
                                  struct iso_error *error)
{
    (void)error;
    struct protobuf_decoder *protobuf = iso_allocate_zeroed(1, sizeof *protobuf);
    protobuf->decoder.class = &record_protobuf;
    protobuf->framed = options->framed;
    return &protobuf->decoder;
}

static void destroy(struct iso_decoder *decoder)
{
    iso_free(decoder);
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message,
                              struct iso_events *events, struct iso_error *error)
{
    struct protobuf_decoder *protobuf = (struct protobuf_decoder *)decoder;
    struct iso_frame frame = {.bytes = message->payload.data, .size = message->payload.size};
    struct reading reading = {&events->block, NULL};
    const char *wrong;
    if (!message->payload.data) {
        record_add_tombstone(events, message);
        return ISO_OK;
    }
    if (protobuf->framed && !iso_frame_open(message, ISO_FRAME_PAYLOAD, true, &frame, &wrong))
        return iso_error_set(error, ISO_BAD_INPUT, "expected %s", wrong);
    wrong = take_record(&reading, (struct iso_wire_span){frame.bytes, frame.bytes + frame.size},
                        events, message);
    if (reading.faulty)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "not a Protobuf message of isochron.Record: byte %zu: expected %s",
                             (size_t)(reading.faulty - frame.bytes) + 1, wrong);
    return wrong ? iso_error_set(error, ISO_BAD_INPUT, "%s", wrong) : ISO_OK;
}

const struct iso_decoder_class record_protobuf = {
    .kind = "history", .create = create, .decode = decode, .destroy = destroy};
