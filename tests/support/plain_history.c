#include "tests/support/plain_history.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

/* Sign, magnitude: false unless the text is a canonical decimal integer of 64 bits, signed or
 * unsigned. */
static bool parse_integer(const char *text, bool *negative, uint64_t *magnitude)
{
    const char *digits = text + (*text == '-');
    *negative = digits != text;
    *magnitude = 0;
    if (!*digits || (digits[0] == '0' && (digits[1] || *negative)))
        return false;
    for (; *digits; digits++) {
        if (*digits < '0' || *digits > '9' || __builtin_mul_overflow(*magnitude, 10u, magnitude) ||
            __builtin_add_overflow(*magnitude, (unsigned)(*digits - '0'), magnitude))
            return false;
    }
    return !*negative || *magnitude <= (uint64_t)1 << 63;
}

bool plain_is_integer(const char *text)
{
    bool negative;
    uint64_t magnitude;
    return parse_integer(text, &negative, &magnitude);
}

struct plain_text plain_text(const char *text)
{
    struct plain_text plain = {.absent = !text};
    if (!text)
        return plain;
    assert(strlen(text) < PLAIN_TEXT);
    strcpy(plain.text, text);
    plain.quoted = !plain_is_integer(text);
    return plain;
}

struct plain_text plain_number(uint64_t number)
{
    struct plain_text plain = {0};
    snprintf(plain.text, sizeof plain.text, "%" PRIu64, number);
    return plain;
}

struct plain_stamp plain_stamp(uint64_t number)
{
    return (struct plain_stamp){.given = true, .physical = number};
}

bool plain_equal(const struct plain_text *left, const struct plain_text *right)
{
    if (left->absent || right->absent)
        return left->absent && right->absent;
    return strcmp(left->text, right->text) == 0;
}

int plain_compare(const struct plain_text *left, const struct plain_text *right)
{
    bool left_negative, right_negative;
    uint64_t left_size, right_size;
    bool left_number = parse_integer(left->text, &left_negative, &left_size);
    bool right_number = parse_integer(right->text, &right_negative, &right_size);
    if (!left_number || !right_number)
        return left_number != right_number ? (left_number ? -1 : 1)
                                           : strcmp(left->text, right->text);
    if (left_negative != right_negative)
        return left_negative ? -1 : 1;
    if (left_size == right_size)
        return 0;
    return (left_size < right_size) != left_negative ? -1 : 1;
}

/* ---- building one by hand ---- */

void plain_history_clear(struct plain_history *history)
{
    history->pairs = false;
    history->transaction_count = history->initial_count = 0;
    history->initial_value = plain_text(NULL);
}

struct plain_transaction *plain_history_begin(struct plain_history *history, const char *tid,
                                              const char *session)
{
    assert(history->transaction_count < PLAIN_TRANSACTIONS);
    struct plain_transaction *transaction = &history->transactions[history->transaction_count++];
    memset(transaction, 0, offsetof(struct plain_transaction, operations));
    transaction->tid = plain_text(tid);
    transaction->session = plain_text(session);
    return transaction;
}

struct plain_operation *plain_history_operation(struct plain_transaction *transaction,
                                                enum iso_operation_kind kind, const char *key,
                                                const char *value)
{
    assert(transaction->operation_count < PLAIN_OPERATIONS);
    struct plain_operation *operation = &transaction->operations[transaction->operation_count++];
    memset(operation, 0, sizeof *operation);
    operation->kind = kind;
    operation->key = plain_text(key);
    operation->value = plain_text(kind == ISO_DELETE || kind == ISO_READ_LIST ? NULL : value);
    return operation;
}

/* ---- what it says ---- */

bool plain_writes(const struct plain_operation *operation)
{
    return operation->kind == ISO_WRITE || operation->kind == ISO_DELETE ||
           operation->kind == ISO_APPEND;
}

bool plain_transaction_writes(const struct plain_transaction *transaction)
{
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        if (plain_writes(&transaction->operations[i]))
            return true;
    }
    return false;
}

bool plain_key_is_list(const struct plain_history *history, const struct plain_text *key)
{
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (history->initials[i].is_append && plain_equal(&history->initials[i].key, key))
            return true;
    }
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct plain_operation *operation = &transaction->operations[i];
            if ((operation->kind == ISO_APPEND || operation->kind == ISO_READ_LIST) &&
                plain_equal(&operation->key, key))
                return true;
        }
    }
    return false;
}

enum iso_clock plain_clock(const struct plain_history *history)
{
    bool snapshots = false;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        bool stamps = transaction->sts.given || transaction->cts.given;
        snapshots |= transaction->xid || transaction->snapshot.given;
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            stamps |= transaction->operations[i].ots.given;
            snapshots |= transaction->operations[i].snapshot.given;
        }
        if (stamps)
            return history->pairs ? ISO_CLOCK_PAIR : ISO_CLOCK_SCALAR;
    }
    return snapshots ? ISO_CLOCK_SNAPSHOT : ISO_CLOCK_NONE;
}

uint64_t plain_sno(const struct plain_history *history, uint32_t transaction)
{
    const struct plain_transaction *one = &history->transactions[transaction];
    uint64_t before = 0;
    if (one->has_sno)
        return one->sno;
    for (uint32_t t = 0; t < transaction; t++)
        before += plain_equal(&history->transactions[t].session, &one->session);
    return before;
}

void plain_history_permute(struct plain_history *history, const uint32_t *order)
{
    /* equal snos were told apart by the old place in the file */
    static const uint64_t ROOM = PLAIN_TRANSACTIONS;
    struct plain_history *old = malloc(sizeof *old);
    assert(old);
    *old = *history;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        history->transactions[t] = old->transactions[order[t]];
        history->transactions[t].has_sno = true;
        history->transactions[t].sno = plain_sno(old, order[t]) * ROOM + order[t];
    }
    free(old);
}

/* ---- to an iso_history ---- */

static iso_atom atom_of(struct iso_history *into, const struct plain_text *text)
{
    bool negative;
    uint64_t magnitude;
    if (text->absent)
        return ISO_ABSENT;
    if (text->quoted)
        return iso_atoms_text(&into->atoms, text->text, strlen(text->text));
    bool integer = parse_integer(text->text, &negative, &magnitude);
    assert(integer);
    return integer
               ? iso_atoms_add_integer(&into->atoms, negative ? 0 - magnitude : magnitude, negative)
               : ISO_ABSENT;
}

static void snapshot_text(const struct plain_snapshot *snapshot, char *text, size_t size)
{
    int used = snprintf(text, size, "%" PRIu64 ":%" PRIu64 ":", snapshot->xmin, snapshot->xmax);
    for (uint32_t i = 0; i < snapshot->xip_count; i++)
        used += snprintf(text + used, size - (size_t)used, i ? ",%" PRIu64 : "%" PRIu64,
                         snapshot->xip[i]);
    assert((size_t)used < size);
}

enum { SNAPSHOT_TEXT = 22 * (PLAIN_XIPS + 2) };

static uint32_t fill_snapshot(struct iso_history *into, const struct plain_snapshot *snapshot)
{
    char text[SNAPSHOT_TEXT];
    uint32_t index = ISO_NONE;
    snapshot_text(snapshot, text, sizeof text);
    bool good = iso_history_snapshot(into, text, strlen(text), &index);
    assert(good);
    (void)good;
    return index;
}

static void fill_operation(struct iso_history *into, const struct plain_operation *operation)
{
    uint32_t value = ISO_ABSENT;
    if (operation->kind == ISO_READ_LIST) {
        value = iso_history_list(into);
        for (uint32_t i = 0; i < operation->list_count; i++)
            iso_history_element(into, atom_of(into, &operation->list[i]));
    } else if (operation->kind != ISO_DELETE) {
        value = atom_of(into, &operation->value);
    }
    iso_history_operation(into, operation->kind, atom_of(into, &operation->key), value);
    if (operation->ots.given)
        iso_history_set_ots(into,
                            (struct iso_stamp){operation->ots.physical, operation->ots.logical});
    else if (operation->snapshot.given)
        iso_history_set_operation_snapshot(into, fill_snapshot(into, &operation->snapshot));
    if (operation->lock && !operation->ots.given)
        iso_history_set_lock(into);
}

static void fill_transaction(struct iso_history *into, const struct plain_transaction *transaction,
                             uint64_t line)
{
    iso_history_begin(into, atom_of(into, &transaction->tid), atom_of(into, &transaction->session),
                      transaction->status, iso_origin(0, line));
    if (transaction->sts.given)
        iso_history_set_sts(
            into, (struct iso_stamp){transaction->sts.physical, transaction->sts.logical});
    if (transaction->cts.given)
        iso_history_set_cts(
            into, (struct iso_stamp){transaction->cts.physical, transaction->cts.logical});
    if (transaction->has_sno)
        iso_history_set_sno(into, transaction->sno);
    if (transaction->xid)
        iso_history_set_xid(into, transaction->xid);
    if (transaction->snapshot.given)
        iso_history_set_snapshot(into, fill_snapshot(into, &transaction->snapshot));
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        fill_operation(into, &transaction->operations[i]);
}

void plain_history_fill(const struct plain_history *history, struct iso_history *into)
{
    enum iso_clock clock = plain_clock(history);
    /* finish finds the snapshots by itself */
    into->clock = clock == ISO_CLOCK_SNAPSHOT ? ISO_CLOCK_NONE : clock;
    iso_history_input(into, PLAIN_INPUT);
    into->initial.other_value = atom_of(into, &history->initial_value);
    for (uint32_t t = 0; t < history->transaction_count; t++)
        fill_transaction(into, &history->transactions[t], t + 1);
    for (uint32_t i = 0; i < history->initial_count; i++) {
        const struct plain_initial *initial = &history->initials[i];
        iso_history_initial(into, atom_of(into, &initial->key), atom_of(into, &initial->value),
                            initial->is_append);
    }
}

enum iso_status plain_history_build(const struct plain_history *history, struct iso_history *into,
                                    struct iso_error *error)
{
    iso_history_clear(into);
    plain_history_fill(history, into);
    return iso_history_finish(into, error);
}

/* ---- to JSON Lines ---- */

static void print_text(FILE *file, const struct plain_text *text)
{
    if (text->absent)
        fputs("null", file);
    else
        fprintf(file, text->quoted ? "\"%s\"" : "%s", text->text);
}

static void print_stamp(const struct plain_history *history, FILE *file, const char *name,
                        const struct plain_stamp *stamp)
{
    if (!stamp->given)
        return;
    if (history->pairs)
        fprintf(file, ",\"%s\":{\"p\":%" PRIu64 ",\"l\":%" PRIu64 "}", name, stamp->physical,
                stamp->logical);
    else
        fprintf(file, ",\"%s\":\"%" PRIu64 "\"", name, stamp->physical);
}

static void print_snapshot(FILE *file, const struct plain_snapshot *snapshot)
{
    char text[SNAPSHOT_TEXT];
    if (!snapshot->given)
        return;
    snapshot_text(snapshot, text, sizeof text);
    fprintf(file, ",\"snapshot\":\"%s\"", text);
}

static void print_operation(const struct plain_history *history, FILE *file,
                            const struct plain_operation *operation)
{
    static const char *const names[] = {[ISO_READ] = "r",
                                        [ISO_WRITE] = "w",
                                        [ISO_DELETE] = "d",
                                        [ISO_APPEND] = "a",
                                        [ISO_READ_LIST] = "r"};
    fprintf(file, "{\"t\":\"%s\",\"k\":", names[operation->kind]);
    print_text(file, &operation->key);
    if (operation->kind == ISO_READ_LIST) {
        fputs(",\"v\":[", file);
        for (uint32_t i = 0; i < operation->list_count; i++) {
            fputs(i ? "," : "", file);
            print_text(file, &operation->list[i]);
        }
        fputc(']', file);
    } else if (operation->kind != ISO_DELETE) {
        fputs(",\"v\":", file);
        print_text(file, &operation->value);
    }
    print_stamp(history, file, "ots", &operation->ots);
    print_snapshot(file, &operation->snapshot);
    fputs(operation->lock ? ",\"lock\":true}" : "}", file);
}

static void print_transaction(const struct plain_history *history, FILE *file,
                              const struct plain_transaction *transaction)
{
    fputs("{\"tid\":", file);
    print_text(file, &transaction->tid);
    fputs(",\"sid\":", file);
    print_text(file, &transaction->session);
    if (transaction->has_sno)
        fprintf(file, ",\"sno\":%" PRIu64, transaction->sno);
    print_stamp(history, file, "sts", &transaction->sts);
    print_stamp(history, file, "cts", &transaction->cts);
    if (transaction->xid)
        fprintf(file, ",\"xid\":%" PRIu64, transaction->xid);
    print_snapshot(file, &transaction->snapshot);
    if (transaction->status != ISO_COMMITTED)
        fprintf(file, ",\"status\":\"%s\"",
                transaction->status == ISO_ABORTED ? "aborted" : "unknown");
    fputs(",\"ops\":[", file);
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        fputs(i ? "," : "", file);
        print_operation(history, file, &transaction->operations[i]);
    }
    fputs("]}\n", file);
}

static void print_initials(const struct plain_history *history, FILE *file, const char *prefix)
{
    fprintf(file, "%s--initial-file: {\"ops\":[", prefix);
    for (uint32_t i = 0; i < history->initial_count; i++) {
        const struct plain_initial *initial = &history->initials[i];
        fprintf(file, "%s{\"t\":\"%s\",\"k\":", i ? "," : "", initial->is_append ? "a" : "w");
        print_text(file, &initial->key);
        fputs(",\"v\":", file);
        print_text(file, &initial->value);
        fputc('}', file);
    }
    fputs("]}\n", file);
}

void plain_history_print(const struct plain_history *history, FILE *file, const char *prefix)
{
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        fputs(prefix, file);
        print_transaction(history, file, &history->transactions[t]);
    }
    if (!history->initial_value.absent) {
        fprintf(file, "%s--initial ", prefix);
        print_text(file, &history->initial_value);
        fputc('\n', file);
    }
    if (history->initial_count)
        print_initials(history, file, prefix);
}

bool plain_history_is_streamable(const struct plain_history *plain)
{
    bool lacks = plain->pairs;
    for (uint32_t t = 0; t < plain->transaction_count; t++) {
        const struct plain_transaction *transaction = &plain->transactions[t];
        lacks |= transaction->sts.physical == UINT64_MAX || transaction->cts.physical == UINT64_MAX;
        lacks |= transaction->snapshot.given || transaction->xid;
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct plain_operation *operation = &transaction->operations[i];
            lacks |= operation->ots.physical == UINT64_MAX || operation->snapshot.given;
        }
    }
    return !lacks;
}
