/* One record's bytes under a plan, walked side by side. */
#include "connectors/history/avro_record.h"

#include "connectors/history/build.h"
#include "connectors/history/record_private.h"

/* ---- values ---- */

/* A record being read: the writer's plan, the place in the message, and where it goes. */
struct reading {
    const struct plan *plan;
    struct plan_cursor cursor;
    struct iso_history *block;
};

static const char malformed[] = "not one Avro value of its schema";

enum found {
    MISSING,
    FOUND,
    OTHER,
    BROKEN
}; /* null or not there; as expected; of another type; no value of the schema */

static inline const struct plan_node *child(const struct reading *reading, const struct plan_node *node, uint32_t index)
{
    return &reading->plan->nodes[reading->plan->children[node->first + index].node];
}

/* Passes over a value that is not wanted; `node` is no union. */
static inline enum found pass(struct reading *reading, const struct plan_node *node)
{
    if (node->type == AVRO_NULL)
        return MISSING;
    return !plan_skip(reading->plan, node, &reading->cursor) ? BROKEN : OTHER;
}

static enum found take_integer(struct reading *reading, const struct plan_node *node, int64_t *number)
{
    if (node->type != AVRO_INT64 && node->type != AVRO_INT32)
        return pass(reading, node);
    if (!plan_take_long(&reading->cursor, number))
        return BROKEN;
    return node->type == AVRO_INT32 && (*number < INT32_MIN || *number > INT32_MAX) ? BROKEN : FOUND;
}

static enum found take_atom(struct reading *reading, const struct plan_node *node, iso_atom *atom)
{
    const char *text;
    size_t size;
    int64_t number;
    if (node->type == AVRO_STRING) {
        if (!plan_take_text(&reading->cursor, &text, &size))
            return BROKEN;
        return build_text(reading->block, text, size, atom) ? FOUND : OTHER;
    }
    enum found found = take_integer(reading, node, &number);
    if (found == FOUND)
        *atom = build_number(reading->block, number);
    return found;
}

/* A number that is not negative. */
static enum found take_unsigned(struct reading *reading, const struct plan_node *node, uint64_t *number)
{
    int64_t read = 0;
    enum found found = take_integer(reading, node, &read);
    *number = (uint64_t)read;
    return found == FOUND && read < 0 ? OTHER : found;
}

/* What an enumeration or a string says. */
static enum found take_word(struct reading *reading, const struct plan_node *node, struct plan_symbol *word)
{
    int64_t symbol;
    const char *text;
    size_t size;
    if (node->type == AVRO_STRING) {
        if (!plan_take_text(&reading->cursor, &text, &size))
            return BROKEN;
        *word = plan_word(text, size);
        return FOUND;
    }
    if (node->type != AVRO_ENUM)
        return pass(reading, node);
    if (!plan_take_long(&reading->cursor, &symbol) || symbol < 0 || symbol >= node->count)
        return BROKEN;
    *word = reading->plan->symbols[node->first + symbol];
    return FOUND;
}

/* ---- operations ---- */

static const char *take_list(struct reading *reading, const struct plan_node *node, uint32_t *list)
{
    const struct plan_node *items = child(reading, node, 0), *item;
    int64_t count;
    iso_atom atom;
    *list = iso_history_list(reading->block);
    for (;;) {
        if (!plan_take_block(&reading->cursor, &count))
            return malformed;
        if (!count)
            return NULL;
        for (; count > 0; count--) {
            item = plan_inside(reading->plan, items, &reading->cursor);
            enum found found = item ? take_atom(reading, item, &atom) : BROKEN;
            if (found != FOUND)
                return found == BROKEN ? malformed : "an element of v: expected a long or a UTF-8 string";
            iso_history_element(reading->block, atom);
        }
    }
}

static const char *take_content(struct reading *reading, const struct plan_node *node,
                                struct build_operation *operation)
{
    if (node->type == AVRO_ARRAY) {
        operation->is_list = true;
        return take_list(reading, node, &operation->list);
    }
    enum found found = take_atom(reading, node, &operation->value);
    return found == BROKEN ? malformed : found == OTHER ? "v: expected null, a long, a UTF-8 string or an array" : NULL;
}

static const char *take_ots(struct reading *reading, const struct plan_node *node, struct build_operation *operation)
{
    enum found found = take_unsigned(reading, node, &operation->ots.physical);
    if (found == BROKEN)
        return malformed;
    operation->has_ots = found == FOUND;
    return found == OTHER || (found == FOUND && !build_clock(reading->block, ISO_CLOCK_SCALAR))
               ? "ots: expected an unsigned long"
               : NULL;
}

static const char *take_member(struct reading *reading, enum plan_role role, const struct plan_node *node,
                               struct build_operation *operation, uint32_t *found)
{
    struct plan_symbol word;
    enum found kind;
    node = plan_inside(reading->plan, node, &reading->cursor);
    if (!node)
        return malformed;
    switch (role) {
    case PLAN_KIND:
        kind = take_word(reading, node, &word);
        if (kind == FOUND && word.kind != PLAN_NO_WORD) {
            operation->kind = (enum iso_operation_kind)word.kind;
            *found |= 1u << PLAN_KIND;
        }
        return kind == BROKEN ? malformed : NULL;
    case PLAN_KEY:
        kind = take_atom(reading, node, &operation->key);
        *found |= kind == FOUND ? 1u << PLAN_KEY : 0;
        return kind == BROKEN ? malformed : NULL;
    case PLAN_CONTENT:
        return take_content(reading, node, operation);
    case PLAN_OTS:
        return take_ots(reading, node, operation);
    case PLAN_LOCK:
        if (node->type != AVRO_BOOLEAN)
            return pass(reading, node) == BROKEN ? malformed : NULL;
        if (reading->cursor.at == reading->cursor.end || *reading->cursor.at > 1)
            return malformed;
        operation->lock = *reading->cursor.at++;
        return NULL;
    default:
        return pass(reading, node) == BROKEN ? malformed : NULL;
    }
}

static const char *take_operation(struct reading *reading, const struct plan_node *items)
{
    struct build_operation operation = {.value = ISO_ABSENT};
    const struct plan_node *node = plan_inside(reading->plan, items, &reading->cursor);
    const char *wrong = NULL;
    uint32_t found = 0;
    if (!node)
        return malformed;
    if (node->type != AVRO_RECORD)
        return "t of an operation: expected READ, WRITE, DELETE or APPEND";
    for (uint32_t i = 0; i < node->count && !wrong; i++)
        wrong = take_member(reading, reading->plan->children[node->first + i].role, child(reading, node, i), &operation,
                            &found);
    if (wrong)
        return wrong;
    if (!(found & 1u << PLAN_KIND))
        return "t of an operation: expected READ, WRITE, DELETE or APPEND";
    if (!(found & 1u << PLAN_KEY))
        return "k: expected a long or a UTF-8 string";
    return build_add_operation(reading->block, &operation);
}

static const char *take_operations(struct reading *reading, const struct plan_node *node)
{
    const struct plan_node *items = child(reading, node, 0);
    const char *wrong = NULL;
    int64_t count;
    for (;;) {
        if (!plan_take_block(&reading->cursor, &count))
            return malformed;
        if (!count)
            return NULL;
        for (; count > 0; count--)
            if ((wrong = take_operation(reading, items)))
                return wrong;
    }
}

/* ---- transactions ---- */

/* What stands beside the operations, in whatever order. */
struct head {
    iso_atom tid, sid;
    uint64_t numbers[PLAN_ROLES]; /* sno, sts, cts */
    uint32_t found;               /* bits of roles */
    uint8_t status;
    const struct plan_node *operations;
    struct plan_cursor operations_at;
};

static const char *expected_of(enum plan_role role)
{
    switch (role) {
    case PLAN_TID:
        return "tid: expected a long or a UTF-8 string";
    case PLAN_SID:
        return "sid: expected a long or a UTF-8 string";
    case PLAN_SNO:
        return "sno: expected an unsigned long";
    case PLAN_STS:
        return "sts: expected an unsigned long";
    case PLAN_CTS:
        return "cts: expected an unsigned long";
    case PLAN_STATUS:
        return "status: expected COMMITTED, ABORTED or UNKNOWN";
    default:
        return "ops: expected an array of operations";
    }
}

/* One member of a transaction; operations are passed over, and read later. */
static const char *take_head_member(struct reading *reading, enum plan_role role, const struct plan_node *node,
                                    struct head *head)
{
    struct plan_symbol word;
    enum found found;
    node = plan_inside(reading->plan, node, &reading->cursor);
    if (!node)
        return malformed;
    switch (role) {
    case PLAN_TID:
    case PLAN_SID:
        found = take_atom(reading, node, role == PLAN_TID ? &head->tid : &head->sid);
        found = found == MISSING ? OTHER : found;
        break;
    case PLAN_SNO:
    case PLAN_STS:
    case PLAN_CTS:
        found = take_unsigned(reading, node, &head->numbers[role]);
        break;
    case PLAN_STATUS:
        found = take_word(reading, node, &word);
        found = found == OTHER ? MISSING : found;
        if (found == FOUND && word.status == PLAN_NO_WORD)
            return expected_of(role);
        head->status = found == FOUND ? word.status : head->status;
        break;
    case PLAN_OPS:
        if (node->type != AVRO_ARRAY)
            return pass(reading, node) == BROKEN ? malformed : expected_of(role);
        head->operations = node;
        head->operations_at = reading->cursor;
        found = pass(reading, node) == BROKEN ? BROKEN : FOUND;
        break;
    default:
        found = pass(reading, node) == BROKEN ? BROKEN : MISSING;
    }
    head->found |= found == FOUND ? 1u << role : 0;
    return found == BROKEN ? malformed : found == OTHER ? expected_of(role) : NULL;
}

static const char *begin_transaction(struct iso_history *block, const struct head *head, uint64_t origin)
{
    for (enum plan_role role = PLAN_TID; role <= PLAN_SID; role++)
        if (!(head->found & 1u << role))
            return expected_of(role);
    iso_history_begin(block, head->tid, head->sid, head->status, origin);
    if (head->found & 1u << PLAN_SNO)
        iso_history_set_sno(block, head->numbers[PLAN_SNO]);
    for (enum plan_role role = PLAN_STS; role <= PLAN_CTS; role++) {
        if (!(head->found & 1u << role))
            continue;
        if (!build_clock(block, ISO_CLOCK_SCALAR))
            return expected_of(role);
        (role == PLAN_STS ? iso_history_set_sts : iso_history_set_cts)(block,
                                                                       (struct iso_stamp){head->numbers[role], 0});
    }
    return NULL;
}

/* Operations that stand behind everything that a transaction begins with are read as they come; others when the rest is
 * known. */
static const char *take_transaction(struct reading *reading, const struct plan_node *node, uint64_t origin)
{
    struct head head = {.status = ISO_COMMITTED};
    const char *wrong = NULL;
    uint32_t last = node->count - (node->count > 0);
    for (uint32_t i = 0; i < node->count && !wrong; i++) {
        enum plan_role role = reading->plan->children[node->first + i].role;
        const struct plan_node *array = i == last && role == PLAN_OPS ? child(reading, node, i) : NULL;
        if (array && array->type == AVRO_ARRAY) {
            wrong = begin_transaction(reading->block, &head, origin);
            return wrong ? wrong : take_operations(reading, array);
        }
        wrong = take_head_member(reading, role, child(reading, node, i), &head);
    }
    if (!wrong)
        wrong = begin_transaction(reading->block, &head, origin);
    if (wrong || !head.operations)
        return wrong ? wrong : expected_of(PLAN_OPS);
    struct plan_cursor behind = reading->cursor;
    reading->cursor = head.operations_at;
    wrong = take_operations(reading, head.operations);
    reading->cursor = behind;
    return wrong;
}

/* A record with a member `watermark` that is not null is one. */
static const char *take_watermark(struct reading *reading, const struct plan_node *node, bool *is_watermark,
                                  uint64_t *watermark)
{
    *is_watermark = false;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct plan_node *inside = plan_inside(reading->plan, child(reading, node, i), &reading->cursor);
        bool wanted = reading->plan->children[node->first + i].role == PLAN_WATERMARK;
        enum found found = !inside  ? BROKEN
                           : wanted ? take_unsigned(reading, inside, watermark)
                                    : pass(reading, inside);
        if (found == BROKEN)
            return malformed;
        if (wanted && found == OTHER)
            return "watermark: expected an unsigned long";
        *is_watermark |= wanted && found == FOUND;
    }
    return NULL;
}

static const char *take_record(struct reading *reading, struct iso_events *events, const struct iso_message *message)
{
    const struct plan_node *node = plan_inside(reading->plan, &reading->plan->nodes[0], &reading->cursor);
    struct plan_cursor start = reading->cursor;
    bool is_watermark = false;
    uint64_t watermark;
    const char *wrong = NULL;
    if (!node)
        return malformed;
    if (node->type != AVRO_RECORD)
        return "expected a record, Transaction or Watermark";
    if (node->roles & 1u << PLAN_WATERMARK) {
        wrong = take_watermark(reading, node, &is_watermark, &watermark);
        if (!wrong && !is_watermark)
            reading->cursor = start;
    }
    if (!wrong && !is_watermark)
        wrong = take_transaction(reading, node, record_origin(message));
    if (!wrong && reading->cursor.at != reading->cursor.end)
        wrong = malformed;
    if (!wrong && is_watermark)
        record_add_watermark(events, message, watermark);
    return wrong;
}

const char *record_avro_read(const struct plan *plan, const uint8_t *bytes, size_t size,
                             const struct iso_message *message, struct iso_events *events)
{
    struct iso_history_mark mark = iso_history_mark(&events->block);
    struct reading reading = {plan, {bytes, bytes + size, size}, &events->block};
    const char *wrong = take_record(&reading, events, message);
    if (wrong) {
        iso_history_rewind(&events->block, &mark);
    } else if (events->block.transaction_count > mark.transactions) {
        iso_history_close(&events->block);
        iso_events_add_transaction(events, mark.transactions, record_origin(message));
    }
    return wrong;
}
