/* Helpers that readers of history formats share. */
#include <stdio.h>

#include "base/memory.h"
#include "formats/format_private.h"

/* ---- places in errors ---- */

uint64_t format_line_of(struct format_line *cursor, const struct iso_whole_file *file,
                        const char *at)
{
    if (!cursor->at)
        *cursor = (struct format_line){file->bytes, 1};
    for (const char *c = cursor->at; (c = memchr(c, '\n', (size_t)(at - c))); c++)
        cursor->line++;
    cursor->at = at;
    return cursor->line;
}

bool format_json_atom(struct iso_json *json, struct iso_history *history, bool nil,
                      const char *expected, iso_atom *atom)
{
    struct iso_json_number number;
    struct iso_json_text text;
    enum iso_json_type type = iso_json_peek(json);
    const char *at = json->at;
    *atom = ISO_ABSENT;
    if (type == ISO_JSON_DIGITS) {
        if (!iso_json_integer(json, &number))
            return false;
        bool negative = number.negative && number.bits;
        *atom = negative ? iso_atoms_add_integer(&history->atoms, number.bits, true)
                         : iso_atoms_unsigned(&history->atoms, number.bits);
        return true;
    }
    if (type == ISO_JSON_NULL && nil)
        return iso_json_null(json);
    if (type != ISO_JSON_STRING)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, at, expected);
    if (!iso_json_string(json, &text))
        return false;
    if (!nil || !iso_json_is(&text, "nil"))
        *atom = iso_atoms_text(&history->atoms, text.at, text.length);
    return true;
}

/* ---- initial values ---- */

void format_set_initial_zero(struct iso_history *history)
{
    uint8_t *done = iso_allocate_zeroed((size_t)history->keys.count + 1, 1);
    history->initial.other_value = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (iso_status_of(history, t) == ISO_ABORTED)
            continue;
        ISO_EACH(o, history->txns.first_op, t) {
            uint32_t key = history->ops.key[o];
            if (iso_kind_of(history, o) != ISO_WRITE || history->ops.value[o] != 0 || done[key])
                continue;
            done[key] = 1;
            iso_history_initial(history, history->keys.atom[key], ISO_ABSENT, false);
        }
    }
    iso_free(done);
}

/* ---- operations that wait ---- */

void format_mops_release(struct format_mops *mops)
{
    ISO_FREE_ALL(mops->items, mops->elements);
    *mops = (struct format_mops){0};
}

void format_mops_add(struct format_mops *mops, struct format_mop mop)
{
    ISO_GROW(mops->items, mops->count, mops->capacity);
    mop.first = mops->element_count;
    mop.count = 0;
    mops->items[mops->count++] = mop;
}

void format_mops_element(struct format_mops *mops, iso_atom element)
{
    ISO_PUSH(mops->elements, mops->element_count, mops->element_capacity, element);
    mops->items[mops->count - 1].count++;
}

static void emit(const struct format_mops *mops, const struct format_mop *mop,
                 struct iso_history *history)
{
    uint32_t value = mop->value;
    if (mop->kind == ISO_READ_LIST) {
        value = iso_history_list(history);
        for (uint32_t i = 0; i < mop->count; i++)
            iso_history_element(history, mops->elements[mop->first + i]);
    }
    iso_history_operation(history, (enum iso_operation_kind)mop->kind, mop->key, value);
}

void format_mops_emit(const struct format_mops *mops, struct iso_history *history, iso_atom tid,
                      iso_atom session, uint8_t status, uint64_t origin)
{
    bool failed = false;
    iso_history_begin(history, tid, session, status, origin);
    for (uint32_t i = 0; i < mops->count; i++) {
        const struct format_mop *mop = &mops->items[i];
        failed |= mop->failed;
        if (!mop->failed && (status == ISO_COMMITTED || iso_kind_writes(mop->kind)))
            emit(mops, mop, history);
    }
    if (!failed)
        return;
    char name[600], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&history->atoms, tid, buffer, &length);
    int used = snprintf(name, sizeof name, "%.*s.failed", (int)(length < 500 ? length : 500), text);
    iso_history_begin(history, iso_atoms_add_string(&history->atoms, name, (size_t)used), session,
                      ISO_ABORTED, origin);
    for (uint32_t i = 0; i < mops->count; i++) {
        if (mops->items[i].failed)
            emit(mops, &mops->items[i], history);
    }
}
