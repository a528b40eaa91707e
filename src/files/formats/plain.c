#include "formats/plain.h"

#include "base/memory.h"

static bool is_number(const struct iso_history *history, iso_atom atom, uint64_t *number)
{
    if (atom == ISO_ABSENT)
        return false;
    *number = atom;
    if (!(atom & ISO_ATOM_TABLE))
        return true;
    *number = history->atoms.entries[atom & ~ISO_ATOM_TABLE].payload;
    return history->atoms.entries[atom & ~ISO_ATOM_TABLE].form == ISO_FORM_UNSIGNED;
}

iso_atom *plain_initial_values(const struct iso_history *history)
{
    iso_atom *initial = iso_allocate(((size_t)history->keys.count + 1) * sizeof *initial);
    for (uint32_t key = 0; key < history->keys.count; key++)
        initial[key] = iso_key_is_list(history, key) ? ISO_ABSENT : history->initial.other_value;
    for (uint32_t i = 0; i < history->initial.count; i++)
        initial[history->initial.key[i]] = history->initial.value[i];
    return initial;
}

bool plain_says(const struct plain *plain, uint32_t transaction, uint32_t operation)
{
    return iso_status_of(plain->history, transaction) == ISO_COMMITTED ||
           iso_kind_writes(plain->history->ops.kind[operation]);
}

enum iso_status plain_refuse(const struct iso_history *history, uint32_t transaction,
                             enum iso_format format, const char *what, struct iso_error *error)
{
    char location[512];
    iso_history_location_text(history, transaction, location, sizeof location);
    return iso_error_set(error, ISO_BAD_INPUT, "%s: %s, which format %s cannot say", location, what,
                         iso_format_name(format));
}

enum iso_status plain_check_known(const struct iso_history *history, enum iso_format format,
                                  struct iso_error *error)
{
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (iso_marks_of(history, t) & ISO_MARK_CDC_WRITES)
            return plain_refuse(history, t, format,
                                "only a change stream knows all that the transaction wrote", error);
        ISO_EACH(o, history->txns.first_op, t)
            if (iso_kind_of(history, o) == ISO_WRITE &&
                iso_atom_is_unknown(&history->atoms, history->ops.value[o]))
                return plain_refuse(history, t, format,
                                    "the transaction writes a value that nobody knows", error);
    }
    return ISO_OK;
}

static enum iso_status number_values(struct plain *plain, enum iso_format format,
                                     unsigned abilities, struct iso_error *error)
{
    const struct iso_history *history = plain->history;
    uint64_t number;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        ISO_EACH(o, history->txns.first_op, t) {
            uint32_t key = history->ops.key[o], value = history->ops.value[o];
            if (iso_key_is_list(history, key))
                return plain_refuse(history, t, format, "the history has lists", error);
            if (!plain_says(plain, t, o))
                continue;
            if (value != plain->initial[key]) {
                plain->rename_values |= !is_number(history, value, &number) || number == 0 ||
                                        (number > INT64_MAX && (abilities & PLAIN_SIGNED));
                plain->value_count += iso_atom_index_get(plain->values, value,
                                                         plain->value_count) == plain->value_count;
            } else if (iso_kind_writes(history->ops.kind[o]) &&
                       !(abilities & PLAIN_REWRITES_INITIAL)) {
                return plain_refuse(history, t, format,
                                    "the transaction writes the value that the key starts with",
                                    error);
            }
        }
    }
    return ISO_OK;
}

static void check_names(struct plain *plain, unsigned abilities)
{
    const struct iso_history *history = plain->history;
    uint64_t number;
    for (uint32_t key = 0; key < history->keys.count; key++)
        plain->rename_keys |= !is_number(history, history->keys.atom[key], &number) ||
                              (number > INT64_MAX && (abilities & PLAIN_SIGNED));
    for (uint32_t t = 0; t < history->txns.count; t++)
        plain->rename_tids |= !is_number(history, history->txns.tid[t], &number);
}

static void add_position(struct plain *plain, uint32_t transaction, uint32_t session)
{
    plain->positions[plain->position_count++] = (struct plain_position){transaction, session};
    plain->session_count = session + 1;
}

static bool takes_part(const struct plain *plain, uint32_t t, unsigned abilities)
{
    uint8_t status = iso_status_of(plain->history, t);
    if (status == ISO_UNKNOWN)
        return plain->history->txns.flags[t] & ISO_WRITES;
    return status == ISO_COMMITTED || (abilities & PLAIN_ABORTED);
}

/* Nobody waits for a transaction of unknown outcome; so it stays in its session only behind all
 * that committed. */
static void set_session(struct plain *plain, uint32_t session, unsigned abilities,
                        struct iso_history_loss *loss)
{
    const struct iso_history *history = plain->history;
    uint32_t first = history->sessions.first[session], end = history->sessions.first[session + 1];
    uint32_t number = plain->session_count, last = first;
    for (uint32_t i = first; i < end; i++) {
        if (iso_status_of(history, history->sessions.order[i]) == ISO_COMMITTED)
            last = i;
    }
    bool stays = false; /* one did: the next ones would wait for it */
    for (uint32_t i = first; i < end; i++) {
        uint32_t t = history->sessions.order[i];
        bool unknown = iso_status_of(history, t) == ISO_UNKNOWN;
        loss->aborted += iso_status_of(history, t) == ISO_ABORTED && !(abilities & PLAIN_ABORTED);
        if (!takes_part(plain, t, abilities) || (unknown && (i < last || stays)))
            continue;
        stays |= unknown;
        add_position(plain, t, number);
    }
}

static void set_positions(struct plain *plain, unsigned abilities, struct iso_history_loss *loss)
{
    const struct iso_history *history = plain->history;
    bool *placed = iso_allocate_zeroed((size_t)history->txns.count + 1, sizeof *placed);
    plain->positions = iso_allocate(((size_t)history->txns.count + 1) * sizeof *plain->positions);
    for (uint32_t s = 0; s < history->sessions.count; s++)
        set_session(plain, s, abilities, loss);
    for (uint32_t i = 0; i < plain->position_count; i++)
        placed[plain->positions[i].transaction] = true;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        bool unknown = iso_status_of(history, t) == ISO_UNKNOWN;
        loss->unknown += unknown && !takes_part(plain, t, abilities);
        if (!unknown || !takes_part(plain, t, abilities))
            continue;
        loss->unknown_as_committed++;
        if (placed[t])
            continue;
        add_position(plain, t, plain->session_count);
        loss->unknown_moved++;
    }
    iso_free(placed);
}

enum iso_status plain_init(struct plain *plain, const struct iso_history *history,
                           enum iso_format format, unsigned abilities,
                           struct iso_history_loss *loss, struct iso_error *error)
{
    *plain = (struct plain){.history = history, .values = iso_atom_index_new()};
    plain->initial = plain_initial_values(history);
    check_names(plain, abilities);
    enum iso_status status = number_values(plain, format, abilities, error);
    if (status != ISO_OK)
        return status;
    set_positions(plain, abilities, loss);
    loss->renamed_keys = plain->rename_keys ? history->keys.count : 0;
    loss->renamed_values = plain->rename_values ? plain->value_count : 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        loss->timestamps += (history->txns.flags[t] & ISO_HAS_STS) != 0;
        loss->clocks += (history->txns.begun && history->txns.begun[t]) ||
                        (history->txns.ended && history->txns.ended[t]);
    }
    return ISO_OK;
}

void plain_release(struct plain *plain)
{
    ISO_FREE_ALL(plain->initial, plain->positions);
    iso_atom_index_free(plain->values);
}

uint64_t plain_key(const struct plain *plain, uint32_t operation)
{
    uint64_t number = 0;
    uint32_t key = plain->history->ops.key[operation];
    if (plain->rename_keys)
        return key + 1u;
    is_number(plain->history, plain->history->keys.atom[key], &number);
    return number;
}

uint64_t plain_tid(const struct plain *plain, uint32_t transaction)
{
    uint64_t number = 0;
    if (plain->rename_tids)
        return transaction + 1u;
    is_number(plain->history, plain->history->txns.tid[transaction], &number);
    return number;
}

bool plain_value(const struct plain *plain, uint32_t operation, uint64_t *number)
{
    iso_atom value = plain->history->ops.value[operation];
    *number = 0;
    if (value == plain->initial[plain->history->ops.key[operation]])
        return false;
    if (plain->rename_values)
        *number = iso_atom_index_find(plain->values, value) + 1u;
    else
        is_number(plain->history, value, number);
    return true;
}
