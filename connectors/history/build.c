#include "connectors/history/build.h"

#include "base/utf8.h"
#include "history/index.h"
#include "history/gtid.h"

bool build_text(struct iso_history *history, const void *bytes, size_t size, iso_atom *atom)
{
    if (!iso_utf8_valid(bytes, size))
        return false;
    *atom = iso_atoms_text(&history->atoms, size ? bytes : "", size);
    return true;
}

iso_atom build_number(struct iso_history *history, int64_t number)
{
    if (number >= 0)
        return iso_atoms_unsigned(&history->atoms, (uint64_t)number);
    return iso_atoms_add_integer(&history->atoms, (uint64_t)number, true);
}

static bool is_reserved(const struct iso_history *history, const struct build_operation *operation)
{
    const struct iso_atoms *atoms = &history->atoms;
    bool reserved = !operation->is_list && iso_atom_is_unknown(atoms, operation->value);
    for (uint64_t i = operation->is_list ? history->lists.first[operation->list] : 1;
         operation->is_list && i < history->lists.first[operation->list + 1]; i++)
        reserved |= iso_atom_is_unknown(atoms, history->lists.element[i]);
    return reserved;
}

static void add_operation(struct iso_history *history, enum iso_operation_kind kind, iso_atom key,
                          uint32_t value)
{
    if (history->ops.count == history->ops.capacity)
        iso_history_reserve_operations(history, 1);
    uint32_t operation = history->ops.count++,
             known = iso_atom_index_known(history->keys.index, key);
    history->ops.kind[operation] = (uint8_t)kind;
    history->ops.value[operation] = value;
    history->ops.key[operation] = known != ISO_NONE ? known : iso_history_key(history, key);
}

const char *build_add_operation(struct iso_history *history,
                                const struct build_operation *operation)
{
    enum iso_operation_kind kind = operation->kind;
    if (kind == ISO_DELETE && (operation->is_list || operation->value != ISO_ABSENT))
        return "a delete with a value, expected none";
    if (kind == ISO_APPEND && (operation->is_list || operation->value == ISO_ABSENT))
        return "an append of a list or of nothing, expected one element";
    if (kind == ISO_WRITE && operation->is_list)
        return "a write of a list, expected one value";
    if (is_reserved(history, operation))
        return "a value begins with U+0002, which is reserved";
    if (kind == ISO_READ && operation->is_list)
        kind = ISO_READ_LIST;
    add_operation(history, kind, operation->key,
                  operation->is_list ? operation->list : operation->value);
    if (operation->has_ots)
        iso_history_set_ots(history, operation->ots);
    else if (operation->lock)
        iso_history_set_lock(history);
    return NULL;
}

bool build_clock(struct iso_history *history, enum iso_clock clock)
{
    if (history->clock == ISO_CLOCK_NONE)
        history->clock = clock;
    return history->clock == clock;
}

const char *build_snapshot(struct iso_history *history, const char *text, size_t length,
                           bool has_start)
{
    static const char expected[] =
        "snapshot: expected \"xmin:xmax:xip,...\", or of MariaDB a GTID or FILE.NUMBER:OFFSET";
    uint64_t start;
    uint8_t marks;
    uint32_t snapshot;
    if (!iso_gtid_snapshot_read(text, length, &start, &marks)) {
        if (!iso_history_snapshot(history, text, length, &snapshot))
            return expected;
        iso_history_set_snapshot(history, snapshot);
        return NULL;
    }
    if (has_start)
        return NULL;
    if (!build_clock(history, ISO_CLOCK_SCALAR))
        return "snapshot: MariaDB's, and other timestamps are pairs";
    iso_history_set_sts(history, (struct iso_stamp){.physical = start});
    if (marks)
        iso_history_set_marks(history, iso_marks_of(history, history->txns.count - 1) | marks);
    return NULL;
}
