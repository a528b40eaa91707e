#include "connectors/history/avro_record.h"

#include "connectors/avro/cursor.h"
#include "connectors/history/avro_schema.h"
#include "connectors/history/build.h"
#include "connectors/history/record_private.h"

/* A record being read: the place in the message, and where it goes. */
struct reading {
    struct iso_avro_cursor cursor;
    struct iso_history *block;
};

/* Reported where the bytes are no value of the schema; the cursor knows the details. */
static const char malformed[] = "not one Avro value of its schema";

/* null or not there, as expected, of another type. After a failure of the cursor it does not matter
 * which. */
enum found { MISSING, FOUND, OTHER };

/* ---- values, whose types are no unions ---- */

static enum found skip_value(struct reading *reading, const struct iso_avro_type *type)
{
    iso_avro_skip(type, &reading->cursor);
    return type->shape == ISO_AVRO_NULL ? MISSING : OTHER;
}

static inline enum found take_integer(struct reading *reading, const struct iso_avro_type *type,
                                      int64_t *number)
{
    if (type->shape == ISO_AVRO_LONG)
        *number = iso_avro_long(&reading->cursor);
    else if (type->shape == ISO_AVRO_INT)
        *number = iso_avro_int(&reading->cursor);
    else
        return skip_value(reading, type);
    return FOUND;
}

static enum found take_atom(struct reading *reading, const struct iso_avro_type *type,
                            iso_atom *atom)
{
    int64_t number;
    if (type->shape == ISO_AVRO_STRING) {
        struct iso_json_text text = iso_avro_run(&reading->cursor);
        return build_text(reading->block, text.at, text.length, atom) ? FOUND : OTHER;
    }
    enum found found = take_integer(reading, type, &number);
    if (found == FOUND)
        *atom = build_number(reading->block, number);
    return found;
}

/* A number that is not negative. */
static inline enum found take_unsigned(struct reading *reading, const struct iso_avro_type *type,
                                       uint64_t *number)
{
    int64_t read = 0;
    enum found found = take_integer(reading, type, &read);
    *number = (uint64_t)read;
    return found == FOUND && read < 0 ? OTHER : found;
}

/* Reads an enumeration or a string as a word: a kind, a status, or whose writes are listed. */
static inline enum found take_word(struct reading *reading, const struct iso_avro_type *type,
                                   int use, uint8_t *word)
{
    if (type->shape == ISO_AVRO_ENUM) {
        uint32_t symbol = iso_avro_choice(&reading->cursor, type->count);
        *word = type->count ? type->fields[symbol].use[use] : AVRO_NO_WORD;
        return FOUND;
    }
    if (type->shape != ISO_AVRO_STRING)
        return skip_value(reading, type);
    struct iso_json_text text = iso_avro_string(&reading->cursor);
    *word = (use == USE_KIND     ? avro_kind_of
             : use == USE_STATUS ? avro_status_of
                                 : avro_writes_of)(text.at, text.length);
    return FOUND;
}

/* ---- operations ---- */

static const char *take_list(struct reading *reading, const struct iso_avro_type *array,
                             uint32_t *list)
{
    iso_atom atom;
    *list = iso_history_list(reading->block);
    for (uint64_t count; (count = iso_avro_block(&reading->cursor));)
        for (; count && !reading->cursor.expected; count--) {
            if (take_atom(reading, iso_avro_inside(array->items, &reading->cursor), &atom) != FOUND)
                return "an element of v: expected a long or a UTF-8 string";
            iso_history_element(reading->block, atom);
        }
    return NULL;
}

static const char *take_content(struct reading *reading, const struct iso_avro_type *type,
                                struct build_operation *operation)
{
    if (type->shape == ISO_AVRO_ARRAY) {
        operation->is_list = true;
        return take_list(reading, type, &operation->list);
    }
    return take_atom(reading, type, &operation->value) == OTHER
               ? "v: expected null, a long, a UTF-8 string or an array"
               : NULL;
}

static const char *take_ots(struct reading *reading, const struct iso_avro_type *type,
                            struct build_operation *operation)
{
    enum found found = take_unsigned(reading, type, &operation->ots.physical);
    operation->has_ots = found == FOUND;
    return found == OTHER || (found == FOUND && !build_clock(reading->block, ISO_CLOCK_SCALAR))
               ? "ots: expected an unsigned long"
               : NULL;
}

/* `found` notes the roles that are needed. */
static inline const char *take_member(struct reading *reading, enum avro_role role,
                                      const struct iso_avro_type *type,
                                      struct build_operation *operation, uint32_t *found)
{
    uint8_t word = AVRO_NO_WORD;
    switch (role) {
    case ROLE_KIND:
        take_word(reading, type, USE_KIND, &word);
        if (word != AVRO_NO_WORD) {
            operation->kind = (enum iso_operation_kind)word;
            *found |= 1u << ROLE_KIND;
        }
        return NULL;
    case ROLE_KEY:
        *found |= take_atom(reading, type, &operation->key) == FOUND ? 1u << ROLE_KEY : 0;
        return NULL;
    case ROLE_CONTENT:
        return take_content(reading, type, operation);
    case ROLE_OTS:
        return take_ots(reading, type, operation);
    case ROLE_LOCK:
        if (type->shape == ISO_AVRO_BOOLEAN)
            operation->lock = iso_avro_boolean(&reading->cursor);
        else
            skip_value(reading, type);
        return NULL;
    default:
        skip_value(reading, type);
        return NULL;
    }
}

static const char *take_operation(struct reading *reading, const struct iso_avro_type *type)
{
    struct build_operation operation = {.value = ISO_ABSENT};
    const char *wrong = NULL;
    uint32_t found = 0;
    if (type->shape != ISO_AVRO_RECORD)
        return "t of an operation: expected READ, WRITE, DELETE or APPEND";
    for (uint32_t i = 0; i < type->count && !wrong; i++) {
        const struct iso_avro_field *field = &type->fields[i];
        wrong = take_member(reading, (enum avro_role)field->use[USE_ROLE],
                            iso_avro_inside(field->type, &reading->cursor), &operation, &found);
    }
    if (wrong)
        return wrong;
    if (!(found & 1u << ROLE_KIND))
        return "t of an operation: expected READ, WRITE, DELETE or APPEND";
    if (!(found & 1u << ROLE_KEY))
        return "k: expected a long or a UTF-8 string";
    return build_add_operation(reading->block, &operation);
}

static const char *take_operations(struct reading *reading, const struct iso_avro_type *array)
{
    const char *wrong = NULL;
    for (uint64_t count; (count = iso_avro_block(&reading->cursor));)
        for (; count && !reading->cursor.expected; count--)
            if ((wrong = take_operation(reading, iso_avro_inside(array->items, &reading->cursor))))
                return wrong;
    return NULL;
}

/* ---- transactions ---- */

/* The members beside the operations, in whatever order they come. */
struct head {
    iso_atom tid, sid;
    uint64_t numbers[ROLES]; /* sno, sts, cts */
    uint32_t found;          /* bits of roles */
    uint8_t status, marks;
    struct iso_json_text snapshot;
    const struct iso_avro_type *operations;
    struct iso_avro_cursor operations_at;
};

static const char *expected_of(enum avro_role role)
{
    switch (role) {
    case ROLE_TID:
        return "tid: expected a long or a UTF-8 string";
    case ROLE_SID:
        return "sid: expected a long or a UTF-8 string";
    case ROLE_SNO:
        return "sno: expected an unsigned long";
    case ROLE_STS:
        return "sts: expected an unsigned long";
    case ROLE_CTS:
        return "cts: expected an unsigned long";
    case ROLE_STATUS:
        return "status: expected COMMITTED, ABORTED or UNKNOWN";
    case ROLE_WRITES:
        return "writes: expected null, \"all\" or \"cdc\"";
    case ROLE_SNAPSHOT:
        return "snapshot: expected null or a string";
    default:
        return "ops: expected an array of operations";
    }
}

static enum found take_status(struct reading *reading, const struct iso_avro_type *type,
                              uint8_t *status)
{
    uint8_t word;
    if (take_word(reading, type, USE_STATUS, &word) != FOUND)
        return MISSING;
    *status = word;
    return word == AVRO_NO_WORD ? OTHER : FOUND;
}

static enum found take_writes(struct reading *reading, const struct iso_avro_type *type,
                              uint8_t *marks)
{
    uint8_t word;
    enum found found = take_word(reading, type, USE_WRITES, &word);
    if (found != FOUND || word == AVRO_NO_WORD)
        return found == MISSING ? MISSING : OTHER;
    *marks = word;
    return FOUND;
}

static enum found take_snapshot(struct reading *reading, const struct iso_avro_type *type,
                                struct iso_json_text *text)
{
    if (type->shape != ISO_AVRO_STRING)
        return skip_value(reading, type);
    *text = iso_avro_string(&reading->cursor);
    return FOUND;
}

/* Operations are passed over, and read later. */
static enum found note_operations(struct reading *reading, const struct iso_avro_type *type,
                                  struct head *head)
{
    head->operations = type;
    head->operations_at = reading->cursor;
    skip_value(reading, type);
    return type->shape == ISO_AVRO_ARRAY ? FOUND : OTHER;
}

/* One member of a transaction. */
static const char *take_head_member(struct reading *reading, enum avro_role role,
                                    const struct iso_avro_type *type, struct head *head)
{
    enum found found;
    switch (role) {
    case ROLE_TID:
    case ROLE_SID:
        found = take_atom(reading, type, role == ROLE_TID ? &head->tid : &head->sid);
        found = found == MISSING ? OTHER : found;
        break;
    case ROLE_SNO:
    case ROLE_STS:
    case ROLE_CTS:
        found = take_unsigned(reading, type, &head->numbers[role]);
        break;
    case ROLE_STATUS:
        found = take_status(reading, type, &head->status);
        break;
    case ROLE_WRITES:
        found = take_writes(reading, type, &head->marks);
        break;
    case ROLE_SNAPSHOT:
        found = take_snapshot(reading, type, &head->snapshot);
        break;
    case ROLE_OPS:
        found = note_operations(reading, type, head);
        break;
    default:
        skip_value(reading, type);
        found = MISSING;
    }
    head->found |= found == FOUND ? 1u << role : 0;
    return found == OTHER ? expected_of(role) : NULL;
}

static const char *begin_transaction(struct iso_history *block, const struct head *head,
                                     uint64_t origin)
{
    for (enum avro_role role = ROLE_TID; role <= ROLE_SID; role++)
        if (!(head->found & 1u << role))
            return expected_of(role);
    iso_history_begin(block, head->tid, head->sid, head->status, origin);
    if (head->found & 1u << ROLE_SNO)
        iso_history_set_sno(block, head->numbers[ROLE_SNO]);
    if (head->marks)
        iso_history_set_marks(block, head->marks);
    for (enum avro_role role = ROLE_STS; role <= ROLE_CTS; role++) {
        if (!(head->found & 1u << role))
            continue;
        if (!build_clock(block, ISO_CLOCK_SCALAR))
            return expected_of(role);
        (role == ROLE_STS ? iso_history_set_sts
                          : iso_history_set_cts)(block, (struct iso_stamp){head->numbers[role], 0});
    }
    if (head->found & 1u << ROLE_SNAPSHOT)
        return build_snapshot(block, head->snapshot.at, head->snapshot.length,
                              head->found & 1u << ROLE_STS);
    return NULL;
}

/* Operations that stand behind everything that a transaction begins with are read as they come;
 * others when the rest is known. */
static const char *take_transaction(struct reading *reading, const struct iso_avro_type *type,
                                    uint64_t origin)
{
    struct head head;
    const char *wrong = NULL;
    head.found = 0;
    head.status = ISO_COMMITTED;
    head.marks = 0;
    head.operations = NULL;
    for (uint32_t i = 0; i < type->count && !wrong; i++) {
        const struct iso_avro_field *field = &type->fields[i];
        const struct iso_avro_type *member = field->type;
        enum avro_role role = (enum avro_role)field->use[USE_ROLE];
        if (i + 1 == type->count && role == ROLE_OPS && member->shape == ISO_AVRO_ARRAY) {
            wrong = begin_transaction(reading->block, &head, origin);
            return wrong ? wrong : take_operations(reading, member);
        }
        wrong =
            take_head_member(reading, role, iso_avro_inside(field->type, &reading->cursor), &head);
    }
    if (!wrong)
        wrong = begin_transaction(reading->block, &head, origin);
    if (wrong || !head.operations || reading->cursor.expected)
        return wrong ? wrong : expected_of(ROLE_OPS);
    struct iso_avro_cursor behind = reading->cursor;
    reading->cursor = head.operations_at;
    wrong = take_operations(reading, head.operations);
    if (!reading->cursor.expected)
        reading->cursor = behind;
    return wrong;
}

/* ---- records ---- */

/* A record with a member `watermark` that is not null is one. */
static const char *take_watermark(struct reading *reading, const struct iso_avro_type *type,
                                  bool *is_watermark, uint64_t *watermark)
{
    for (uint32_t i = 0; i < type->count; i++) {
        const struct iso_avro_field *field = &type->fields[i];
        const struct iso_avro_type *member = iso_avro_inside(field->type, &reading->cursor);
        if (field->use[USE_ROLE] != ROLE_WATERMARK) {
            skip_value(reading, member);
            continue;
        }
        enum found found = take_unsigned(reading, member, watermark);
        if (found == OTHER)
            return "watermark: expected an unsigned long";
        *is_watermark |= found == FOUND;
    }
    return NULL;
}

static const char *take_record(struct reading *reading, const struct iso_avro_type *type,
                               const struct iso_message *message, bool *is_watermark,
                               uint64_t *watermark)
{
    type = iso_avro_inside(type, &reading->cursor);
    struct iso_avro_cursor start = reading->cursor;
    const char *wrong = NULL;
    if (type->shape != ISO_AVRO_RECORD)
        return "expected a record, Transaction or Watermark";
    if (type->use == AVRO_MAY_BE_WATERMARK) {
        wrong = take_watermark(reading, type, is_watermark, watermark);
        if (wrong || *is_watermark || reading->cursor.expected)
            return wrong;
        reading->cursor = start;
    }
    return take_transaction(reading, type, record_origin(message));
}

enum iso_status record_avro_read(const struct iso_avro_type *root, const uint8_t *bytes,
                                 size_t size, const struct iso_message *message,
                                 struct iso_events *events, struct iso_error *error)
{
    struct iso_history_mark mark = iso_history_mark(&events->block);
    struct reading reading = {.block = &events->block};
    bool is_watermark = false;
    uint64_t watermark = 0;
    iso_avro_start(&reading.cursor, bytes, size);
    const char *wrong = take_record(&reading, root, message, &is_watermark, &watermark);
    if (!wrong)
        iso_avro_finish(&reading.cursor);
    if (wrong || reading.cursor.expected) {
        iso_history_rewind(&events->block, &mark);
        return reading.cursor.expected
                   ? iso_error_set(error, ISO_BAD_INPUT, "%s: byte %zu: expected %s", malformed,
                                   reading.cursor.position + 1, reading.cursor.expected)
                   : iso_error_set(error, ISO_BAD_INPUT, "%s", wrong);
    }
    if (is_watermark) {
        record_add_watermark(events, message, watermark);
        return ISO_OK;
    }
    iso_history_close(&events->block);
    iso_events_add_transaction(events, mark.transactions, record_origin(message));
    return ISO_OK;
}
