/* INT and EXT: which reads are external, what they should have seen. */
#include <string.h>

#include "tests/oracle/timestamp_oracle_private.h"

#define NONE ISO_NONE

static const struct plain_operation_times *times_of(const struct oracle *oracle,
                                                    const struct external_read *read)
{
    return &oracle->times.transactions[read->t].operations[read->operation];
}

bool has_version(const struct oracle *oracle, const struct external_read *read, uint32_t w)
{
    return w != read->t && is_committed(oracle, w) && first_write(oracle, w, read->key) != NONE;
}

bool is_visible(const struct oracle *oracle, const struct external_read *read, uint32_t w)
{
    const struct plain_transaction_times *reader = &oracle->times.transactions[read->t];
    uint64_t cts = oracle->times.transactions[w].cts;
    if (has_moments(oracle) || has_knowledge(oracle))
        return cts <= oracle->limit;
    if (oracle->level != ISO_SER)
        return cts <= times_of(oracle, read)->ots;
    return reader->point ? cts <= reader->cts : cts < reader->cts;
}

bool version_below(const struct oracle *oracle, const struct plain_text *key, uint32_t left,
                   uint32_t right)
{
    const struct plain_transaction_times *a = &oracle->times.transactions[left];
    const struct plain_transaction_times *b = &oracle->times.transactions[right];
    if (a->cts != b->cts)
        return a->cts < b->cts;
    if (oracle->has_log && a->log_place != b->log_place)
        return a->log_place < b->log_place;
    uint64_t left_ots = a->operations[first_write(oracle, left, key)].ots;
    uint64_t right_ots = b->operations[first_write(oracle, right, key)].ots;
    if (left_ots != right_ots)
        return left_ots < right_ots;
    return plain_compare(&oracle->history->transactions[left].tid,
                         &oracle->history->transactions[right].tid) < 0;
}

uint32_t expected_writer(const struct oracle *oracle, const struct external_read *read)
{
    uint32_t newest = NONE;
    if (has_knowledge(oracle))
        return oracle->expected_writer;
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        bool visible = has_moments(oracle)
                           ? oracle->times.transactions[w].cts <= oracle->expected_at
                           : is_visible(oracle, read, w);
        if (has_version(oracle, read, w) && visible &&
            (newest == NONE || version_below(oracle, read->key, newest, w)))
            newest = w;
    }
    return newest;
}

bool may_be_visible(const struct oracle *oracle, const struct external_read *read, uint32_t u)
{
    const struct plain_transaction_times *reader = &oracle->times.transactions[read->t];
    const struct plain_transaction_times *unknown = &oracle->times.transactions[u];
    if (oracle->history->transactions[u].status != ISO_UNKNOWN)
        return false;
    if (!unknown->has_sts)
        return true;
    if (has_moments(oracle) || has_knowledge(oracle))
        return unknown->sts < oracle->limit;
    bool by_commit = oracle->level == ISO_SER || times_of(oracle, read)->lock;
    return unknown->sts < (by_commit ? reader->cts : times_of(oracle, read)->ots);
}

/* ---- one key of one transaction ---- */

/* What is wrong with T's reads of a key so far: one INT and one EXT at most. */
struct findings {
    bool has_internal, has_external, has_unjudged;
    struct instance internal, external;
    bool is_cell;
    struct plain_text row;                  /* is_cell: the key of its row */
    uint32_t wrong_count;                   /* external reads that are wrong, */
    uint32_t wrong[PLAIN_OPERATIONS];       /* by operation, */
    struct instance what[PLAIN_OPERATIONS]; /* and how */
};

static const struct plain_operation *operation_at(const struct oracle *oracle, uint32_t t,
                                                  uint32_t i)
{
    return &oracle->history->transactions[t].operations[i];
}

static void note_internal(const struct oracle *oracle, struct findings *findings, uint32_t t,
                          uint32_t i, const char *expected, const char *actual)
{
    if (findings->has_internal)
        return;
    findings->has_internal = true;
    findings->internal = instance_of(ISO_INT, ISO_KIND_NONE, t);
    findings->internal.operation = operation_number(oracle, t, i);
    strcpy(findings->internal.key, operation_at(oracle, t, i)->key.text);
    strcpy(findings->internal.expected, expected);
    strcpy(findings->internal.actual, actual);
}

static void note_external(struct oracle *oracle, struct findings *findings,
                          enum read_verdict verdict, uint32_t operation,
                          const struct instance *wrong)
{
    if (verdict == READ_UNJUDGED) {
        findings->has_unjudged = true;
        return;
    }
    oracle->instances->reads_judged++;
    if (verdict == READ_WRONG) {
        findings->wrong[findings->wrong_count] = operation;
        findings->what[findings->wrong_count++] = *wrong;
    }
}

/* The operation on the same key before operation i, or NONE. */
static uint32_t previous_operation(const struct oracle *oracle, uint32_t t, uint32_t i)
{
    for (uint32_t before = i; before-- > 0;) {
        if (plain_equal(&operation_at(oracle, t, before)->key, &operation_at(oracle, t, i)->key))
            return before;
    }
    return NONE;
}

static void judge_register_read(struct oracle *oracle, struct findings *findings, uint32_t t,
                                uint32_t i)
{
    const struct plain_operation *operation = operation_at(oracle, t, i);
    const struct plain_operation_times *times = oracle->times.transactions[t].operations;
    uint32_t before = previous_operation(oracle, t, i);
    bool written = first_write(oracle, t, &operation->key) < i;
    bool apart = oracle->level == ISO_RC || (before != NONE && times[before].ots != times[i].ots);
    if (before == NONE || (!written && apart)) {
        struct external_read read = {t, i, &operation->key};
        struct instance wrong;
        oracle->reads_externally[t][i] = true;
        if (oracle->visit) {
            oracle->visit(oracle, &read, NONE);
            return;
        }
        enum read_verdict verdict =
            has_moments(oracle)     ? judge_by_moments(oracle, &read, NONE, &wrong)
            : has_knowledge(oracle) ? judge_by_knowledge(oracle, &read, NONE, &wrong)
                                    : judge_register(oracle, &read, &wrong);
        note_external(oracle, findings, verdict, i, &wrong);
        return;
    }
    oracle->instances->reads_judged++;
    const struct plain_operation *last = operation_at(oracle, t, before);
    if (!plain_equal(&last->value, &operation->value)) {
        char expected[INSTANCE_TEXT], actual[INSTANCE_TEXT];
        value_text(&last->value, expected);
        value_text(&operation->value, actual);
        note_internal(oracle, findings, t, i, expected, actual);
    }
}

/* ---- lists: a read ends with T's own appends so far; what stands before them is the prefix
 * ---- */

static uint32_t own_appends(const struct oracle *oracle, uint32_t t, uint32_t i,
                            struct plain_text *own)
{
    uint32_t count = 0;
    for (uint32_t before = 0; before < i; before++) {
        const struct plain_operation *operation = operation_at(oracle, t, before);
        if (operation->kind == ISO_APPEND &&
            plain_equal(&operation->key, &operation_at(oracle, t, i)->key))
            own[count++] = operation->value;
    }
    return count;
}

static bool same_elements(const struct plain_text *left, const struct plain_text *right,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!plain_equal(&left[i], &right[i]))
            return false;
    }
    return true;
}

/* The length of the read's prefix, or NONE if it does not end with T's own appends. */
static uint32_t prefix_length(const struct oracle *oracle, uint32_t t, uint32_t i)
{
    const struct plain_operation *read = operation_at(oracle, t, i);
    struct plain_text own[PLAIN_OPERATIONS];
    uint32_t count = own_appends(oracle, t, i, own);
    if (read->list_count < count ||
        !same_elements(read->list + read->list_count - count, own, count))
        return NONE;
    return read->list_count - count;
}

/* The read of the same list before operation i that had a prefix, or NONE. */
static uint32_t previous_list_read(const struct oracle *oracle, uint32_t t, uint32_t i)
{
    uint32_t before = i;
    while ((before = previous_operation(oracle, t, before)) != NONE) {
        if (!plain_writes(operation_at(oracle, t, before)) &&
            prefix_length(oracle, t, before) != NONE)
            return before;
    }
    return NONE;
}

static void note_wrong_end(const struct oracle *oracle, struct findings *findings, uint32_t t,
                           uint32_t i)
{
    const struct plain_operation *operation = operation_at(oracle, t, i);
    struct plain_text own[PLAIN_OPERATIONS];
    char expected[INSTANCE_TEXT], actual[INSTANCE_TEXT];
    list_text(own, own_appends(oracle, t, i, own), expected);
    list_text(operation->list, operation->list_count, actual);
    note_internal(oracle, findings, t, i, expected, actual);
}

static void note_other_prefix(const struct oracle *oracle, struct findings *findings, uint32_t t,
                              uint32_t i, uint32_t before)
{
    const struct plain_operation *operation = operation_at(oracle, t, i);
    struct plain_text wanted[PLAIN_LIST + PLAIN_OPERATIONS];
    char expected[INSTANCE_TEXT], actual[INSTANCE_TEXT];
    uint32_t prefix = prefix_length(oracle, t, before);
    memcpy(wanted, operation_at(oracle, t, before)->list, prefix * sizeof *wanted);
    list_text(wanted, prefix + own_appends(oracle, t, i, wanted + prefix), expected);
    list_text(operation->list, operation->list_count, actual);
    note_internal(oracle, findings, t, i, expected, actual);
}

static void judge_list_read(struct oracle *oracle, struct findings *findings, uint32_t t,
                            uint32_t i)
{
    const struct plain_operation *operation = operation_at(oracle, t, i);
    const struct plain_operation_times *times = oracle->times.transactions[t].operations;
    uint32_t prefix = prefix_length(oracle, t, i), before = previous_list_read(oracle, t, i);
    bool apart = oracle->level == ISO_RC || (before != NONE && times[before].ots != times[i].ots);
    if (prefix != NONE && (before == NONE || apart)) {
        struct external_read read = {t, i, &operation->key};
        struct instance wrong;
        oracle->reads_externally[t][i] = true;
        if (oracle->visit) {
            oracle->visit(oracle, &read, prefix);
            return;
        }
        enum read_verdict verdict =
            has_moments(oracle)     ? judge_by_moments(oracle, &read, prefix, &wrong)
            : has_knowledge(oracle) ? judge_by_knowledge(oracle, &read, prefix, &wrong)
                                    : judge_list(oracle, &read, prefix, &wrong);
        note_external(oracle, findings, verdict, i, &wrong);
        return;
    }
    oracle->instances->reads_judged++;
    if (prefix == NONE)
        note_wrong_end(oracle, findings, t, i);
    else if (prefix != prefix_length(oracle, t, before) ||
             !same_elements(operation->list, operation_at(oracle, t, before)->list, prefix))
        note_other_prefix(oracle, findings, t, i, before);
}

/* ---- all ---- */

static uint32_t find_key(const struct plain_text keys[PLAIN_OPERATIONS], uint32_t count,
                         const struct plain_text *key)
{
    uint32_t i = 0;
    while (i < count && !plain_equal(&keys[i], key))
        i++;
    return i;
}

/* ---- rows and cells: TABLE/KEY#COLUMN is a cell of the row TABLE/KEY ---- */

static void find_row(const struct plain_text *key, struct findings *findings)
{
    const char *mark = strchr(key->text, '#');
    const char *slash = strchr(key->text, '/');
    findings->is_cell = mark && slash && slash < mark && mark[1];
    findings->row = *key;
    if (findings->is_cell)
        findings->row.text[mark - key->text] = 0;
}

/* Whether two reads of the transaction look at one moment. */
static bool at_one_moment(const struct oracle *oracle, uint32_t t, uint32_t left, uint32_t right)
{
    const struct plain_operation_times *times = oracle->times.transactions[t].operations;
    return oracle->level == ISO_SER || has_moments(oracle) || has_knowledge(oracle) ||
           times[left].ots == times[right].ots;
}

/* Where the transaction read wrongly that the row is there, its cells are not judged. */
static bool row_is_wrong(const struct oracle *oracle, uint32_t t, const struct findings *row,
                         uint32_t operation)
{
    bool is_wrong = false;
    for (uint32_t i = 0; row && i < row->wrong_count; i++)
        is_wrong |= at_one_moment(oracle, t, row->wrong[i], operation);
    return is_wrong;
}

/* Of the wrong reads of a key the first that counts. `row`: of a cell, what was found of its row;
 * or NULL. */
static void choose_external(struct oracle *oracle, uint32_t t, struct findings *findings,
                            const struct findings *row)
{
    for (uint32_t i = 0; i < findings->wrong_count; i++) {
        if (row_is_wrong(oracle, t, row, findings->wrong[i])) {
            findings->has_unjudged = true;
            oracle->instances->reads_judged--;
        } else if (!findings->has_external) {
            findings->has_external = true;
            findings->external = findings->what[i];
        }
    }
}

/* All reads of a transaction, in their order; what is found of each key. */
static void judge_transaction(struct oracle *oracle, uint32_t t)
{
    struct findings findings[PLAIN_OPERATIONS] = {{.has_internal = false}};
    struct plain_text keys[PLAIN_OPERATIONS];
    uint32_t key_count = 0;
    if (has_moments(oracle))
        begin_moments(oracle, t);
    for (uint32_t i = 0; i < oracle->history->transactions[t].operation_count; i++) {
        const struct plain_operation *operation = operation_at(oracle, t, i);
        uint32_t key = find_key(keys, key_count, &operation->key);
        if (key == key_count)
            keys[key_count++] = operation->key;
        if (plain_writes(operation))
            continue;
        if (plain_key_is_list(oracle->history, &operation->key))
            judge_list_read(oracle, &findings[key], t, i);
        else
            judge_register_read(oracle, &findings[key], t, i);
    }
    for (uint32_t key = 0; key < key_count; key++) {
        find_row(&keys[key], &findings[key]);
        uint32_t row =
            findings[key].is_cell ? find_key(keys, key_count, &findings[key].row) : key_count;
        choose_external(oracle, t, &findings[key], row < key_count ? &findings[row] : NULL);
    }
    for (uint32_t key = 0; key < key_count && !oracle->visit; key++) {
        if (findings[key].has_internal)
            instances_add(oracle->instances, &findings[key].internal);
        if (findings[key].has_external)
            instances_add(oracle->instances, &findings[key].external);
        oracle->instances->reads_unjudged +=
            findings[key].has_unjudged && !findings[key].has_external;
    }
}

void for_each_external_read(struct oracle *oracle,
                            void (*visit)(struct oracle *oracle, const struct external_read *read,
                                          uint32_t prefix))
{
    uint64_t judged = oracle->instances->reads_judged;
    oracle->visit = visit;
    for (uint32_t t = 0; t < oracle->history->transaction_count; t++) {
        if (is_committed(oracle, t))
            judge_transaction(oracle, t);
    }
    oracle->visit = NULL;
    oracle->instances->reads_judged = judged;
}

void judge_reads(struct oracle *oracle)
{
    if (has_knowledge(oracle))
        find_knowledge(oracle);
    for (uint32_t t = 0; t < oracle->history->transaction_count; t++) {
        if (is_committed(oracle, t))
            judge_transaction(oracle, t);
    }
}
