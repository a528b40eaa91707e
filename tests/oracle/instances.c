#include "tests/oracle/instances.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct instance instance_of(enum iso_axiom axiom, enum iso_violation_kind kind,
                            uint32_t transaction)
{
    struct instance instance;
    instance.axiom = axiom;
    instance.kind = kind;
    instance.transaction = transaction;
    instance.other = instance.operation = ISO_NONE;
    instance.writer_expected = instance.writer_actual = ISO_NONE;
    instance.key[0] = instance.expected[0] = instance.actual[0] = 0;
    return instance;
}

void instances_clear(struct instances *instances)
{
    memset(instances, 0, offsetof(struct instances, rows));
}

void instances_add(struct instances *instances, const struct instance *instance)
{
    assert(instances->count < INSTANCES_MAX);
    instances->rows[instances->count++] = *instance;
    instances->counts[instance->axiom]++;
}

static int compare_rows(const void *left, const void *right)
{
    const struct instance *a = left, *b = right;
    if (a->transaction != b->transaction)
        return a->transaction < b->transaction ? -1 : 1;
    if (a->axiom != b->axiom)
        return a->axiom < b->axiom ? -1 : 1;
    int order = strcmp(a->key, b->key);
    return order ? order : a->other < b->other ? -1 : a->other > b->other;
}

void instances_sort(struct instances *instances)
{
    qsort(instances->rows, instances->count, sizeof instances->rows[0], compare_rows);
}

/* ---- values ---- */

void value_text(const struct plain_text *value, char text[INSTANCE_TEXT])
{
    strcpy(text, value->absent ? "null" : value->text);
}

void list_text(const struct plain_text *elements, uint32_t count, char text[INSTANCE_TEXT])
{
    size_t used = 0;
    text[used++] = '[';
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(elements[i].text);
        assert(used + length + 3 < INSTANCE_TEXT);
        if (i)
            text[used++] = ',';
        memcpy(text + used, elements[i].text, length);
        used += length;
    }
    text[used++] = ']';
    text[used] = 0;
}

static size_t put_atom(const struct iso_history *history, iso_atom atom, char *text, size_t room)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *from = iso_atom_text(&history->atoms, atom, buffer, &length);
    assert(length < room);
    memcpy(text, from, length);
    text[length] = 0;
    return length;
}

static void put_value(const struct iso_history *history, const struct iso_value *value,
                      char text[INSTANCE_TEXT])
{
    size_t used = 0;
    if (!value->is_list) {
        if (value->atom == ISO_ABSENT)
            strcpy(text, "null");
        else
            put_atom(history, value->atom, text, INSTANCE_TEXT);
        return;
    }
    text[used++] = '[';
    for (uint32_t i = 0; i < value->count; i++) {
        if (i)
            text[used++] = ',';
        used +=
            put_atom(history, iso_value_element(value, i), text + used, INSTANCE_TEXT - 2 - used);
    }
    strcpy(text + used, "]");
}

/* ---- verdicts ---- */

static struct instance row_of(const struct iso_verdict *verdict,
                              const struct iso_violation *violation)
{
    const struct iso_history *history = verdict->history;
    struct instance row = instance_of(violation->axiom, violation->kind, violation->transaction);
    row.other = violation->other;
    if (violation->key != ISO_NONE)
        put_atom(history, history->keys.atom[violation->key], row.key, sizeof row.key);
    if (violation->axiom == ISO_INT || violation->axiom == ISO_EXT) {
        row.operation = violation->operation;
        row.writer_expected = violation->writer_expected;
        row.writer_actual = violation->writer_actual;
        put_value(history, &violation->expected, row.expected);
        put_value(history, &violation->actual, row.actual);
    }
    return row;
}

void instances_of_verdict(struct instances *instances, const struct iso_verdict *verdict)
{
    instances_clear(instances);
    instances->reads_judged = verdict->reads_judged;
    instances->reads_unjudged = verdict->reads_unjudged;
    instances->writes_unjudged = verdict->writes_unjudged;
    instances->per_operation = verdict->per_operation;
    for (uint32_t i = 0; i < verdict->violation_count; i++) {
        struct instance row = row_of(verdict, &verdict->violations[i]);
        instances_add(instances, &row);
    }
    memcpy(instances->counts, verdict->counts, sizeof instances->counts);
    instances_sort(instances);
}

static bool rows_equal(const struct instance *a, const struct instance *b)
{
    return compare_rows(a, b) == 0 && a->kind == b->kind && a->operation == b->operation &&
           a->writer_expected == b->writer_expected && a->writer_actual == b->writer_actual &&
           strcmp(a->expected, b->expected) == 0 && strcmp(a->actual, b->actual) == 0;
}

bool instances_equal(const struct instances *left, const struct instances *right)
{
    if (left->count != right->count || left->reads_judged != right->reads_judged ||
        left->reads_unjudged != right->reads_unjudged ||
        left->writes_unjudged != right->writes_unjudged ||
        left->per_operation != right->per_operation ||
        memcmp(left->counts, right->counts, sizeof left->counts) != 0)
        return false;
    for (uint32_t i = 0; i < left->count; i++) {
        if (!rows_equal(&left->rows[i], &right->rows[i]))
            return false;
    }
    return true;
}

static void print_tid(const struct plain_history *history, FILE *file, const char *name,
                      uint32_t transaction)
{
    if (transaction < history->transaction_count)
        fprintf(file, " %s=%s", name, history->transactions[transaction].tid.text);
}

void instances_print(const struct instances *instances, const struct plain_history *history,
                     FILE *file, const char *prefix)
{
    fprintf(file,
            "%sreads_judged=%" PRIu64 " reads_unjudged=%" PRIu64 " writes_unjudged=%" PRIu64
            " per_operation=%d\n",
            prefix, instances->reads_judged, instances->reads_unjudged, instances->writes_unjudged,
            instances->per_operation);
    for (uint32_t i = 0; i < instances->count; i++) {
        const struct instance *row = &instances->rows[i];
        const char *kind = iso_violation_kind_name(row->kind);
        fprintf(file, "%s%s", prefix, iso_axiom_name(row->axiom));
        if (kind)
            fprintf(file, " %s", kind);
        print_tid(history, file, "tid", row->transaction);
        print_tid(history, file, "other", row->other);
        if (row->key[0])
            fprintf(file, " key=%s", row->key);
        if (row->operation != ISO_NONE)
            fprintf(file, " operation=%u expected=%s actual=%s", row->operation, row->expected,
                    row->actual);
        print_tid(history, file, "writer_expected", row->writer_expected);
        print_tid(history, file, "writer_actual", row->writer_actual);
        fputc('\n', file);
    }
}
