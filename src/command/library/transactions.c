/* Sets of transactions: read from files and texts, or built by calls. */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "formats/format.h"
#include "library/library_private.h"
#include "native/read.h"

static const char unfiled_name[] = "transactions";

struct iso_transactions *iso_transactions_new(void)
{
    struct iso_transactions *transactions = iso_allocate_zeroed(1, sizeof *transactions);
    iso_history_init(&transactions->history);
    iso_native_init(&transactions->native);
    transactions->input = ISO_NONE;
    return transactions;
}

void iso_transactions_free(struct iso_transactions *transactions)
{
    if (!transactions)
        return;
    iso_history_release(&transactions->history);
    iso_native_release(&transactions->native);
    iso_text_release(&transactions->padded);
    iso_free(transactions);
}

void iso_transactions_clear(struct iso_transactions *transactions)
{
    iso_history_clear(&transactions->history);
    transactions->repeats = 0;
    transactions->input = ISO_NONE;
    transactions->unfiled = 0;
    transactions->broken.status = transactions->wrong.status = ISO_OK;
    iso_transactions_forgive(transactions);
    transactions->building.is_open = false;
}

uint32_t iso_transactions_count(const struct iso_transactions *transactions)
{
    const struct library_building *building = &transactions->building;
    return building->is_open ? building->mark.transactions : transactions->history.txns.count;
}

static enum iso_status pass_on(const struct iso_error *wrong, struct iso_error *error)
{
    return iso_error_set(error, wrong->status, "%s", wrong->text);
}

/* ---- what was refused ---- */

/* The status of a call that may fail: its error stays with the set, too, until the caller clears
 * it. */
static enum iso_status answer(struct iso_transactions *transactions, const struct iso_error *wrong,
                              struct iso_error *error)
{
    if (wrong->status == ISO_OK)
        return ISO_OK;
    transactions->refusals++;
    pass_on(wrong, &transactions->refused);
    pass_on(wrong, error);
    return wrong->status;
}

void iso_transactions_forgive(struct iso_transactions *transactions)
{
    transactions->refused.status = ISO_OK;
    transactions->refusals = 0;
    if (!transactions->building.is_open) /* else its end will tell */
        transactions->wrong.status = ISO_OK;
}

enum iso_status library_need_all(const struct iso_transactions *transactions,
                                 struct iso_error *error)
{
    /* of an operation outside of a transaction the end of none has told yet */
    bool untold = transactions->wrong.status != ISO_OK && !transactions->building.is_open;
    uint64_t refusals = transactions->refusals + untold;
    if (!refusals || transactions->broken.status != ISO_OK)
        return ISO_OK;
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "the set lacks what %u call%s could not add, first: %s; clear the set, or say with "
        "iso_transactions_forgive that it is whole without",
        (unsigned)refusals, refusals == 1 ? "" : "s",
        transactions->refusals ? transactions->refused.text : transactions->wrong.text);
}

/* One that was begun and not ended is left out. */
static void leave_open_out(struct iso_transactions *transactions)
{
    struct library_building *building = &transactions->building;
    if (building->is_open)
        iso_history_rewind(&transactions->history, &building->mark);
    building->is_open = false;
}

enum iso_status library_need_building(struct iso_transactions *transactions,
                                      struct iso_error *error)
{
    leave_open_out(transactions);
    if (transactions->broken.status != ISO_OK)
        return pass_on(&transactions->broken, error);
    if (transactions->history.finished)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "a set that was checked: clear it before it is added to");
    return ISO_OK;
}

/* ---- files ---- */

static enum iso_status format_of(const char *path, const char *name, enum iso_format *format,
                                 struct iso_error *error)
{
    if (!name)
        return iso_format_guess(path, format, error);
    for (int i = 0; i < ISO_FORMATS; i++) {
        *format = (enum iso_format)i;
        if (!strcmp(iso_format_name(*format), name))
            return ISO_OK;
    }
    return iso_error_set(error, ISO_BAD_INPUT, "format %.100s: expected one of %s", name,
                         ISO_FORMAT_NAMES);
}

static enum iso_status read_file(struct iso_history *history, const char *path,
                                 enum iso_format format, struct iso_error *error)
{
    struct iso_read_options options = {.threads = 1};
    if (iso_format_is_native(format))
        return iso_read_history(&path, 1, &options, history, error);
    if (history->txns.count || history->inputs.count)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: format %s, of which one file or directory is a whole history; only native files can "
            "be several",
            path, iso_format_name(format));
    return iso_format_read(format, path, history, error);
}

static enum iso_status load(struct iso_transactions *transactions, const char *path,
                            const char *format, struct iso_error *error)
{
    enum iso_format known;
    if (library_need_building(transactions, error) != ISO_OK ||
        format_of(path, format, &known, error) != ISO_OK)
        return error->status;
    transactions->broken.status = ISO_OK;
    if (read_file(&transactions->history, path, known, &transactions->broken) != ISO_OK)
        return pass_on(&transactions->broken, error);
    return ISO_OK;
}

enum iso_status iso_transactions_load(struct iso_transactions *transactions, const char *path,
                                      const char *format, struct iso_error *error)
{
    struct iso_error wrong = ISO_NO_ERROR;
    load(transactions, path, format, &wrong);
    return answer(transactions, &wrong, error);
}

static enum iso_status set_initial(struct iso_transactions *transactions, const char *value,
                                   struct iso_error *error)
{
    struct iso_history *history = &transactions->history;
    if (library_need_building(transactions, error) != ISO_OK)
        return error->status;
    if (value && !iso_utf8_valid((const uint8_t *)value, strlen(value)))
        return iso_error_set(error, ISO_BAD_INPUT, "the initial value is not UTF-8");
    history->initial.other_value =
        value ? iso_atoms_text(&history->atoms, value, strlen(value)) : ISO_ABSENT;
    return ISO_OK;
}

enum iso_status iso_transactions_initial(struct iso_transactions *transactions, const char *value,
                                         struct iso_error *error)
{
    struct iso_error wrong = ISO_NO_ERROR;
    set_initial(transactions, value, &wrong);
    return answer(transactions, &wrong, error);
}

static enum iso_status load_initial(struct iso_transactions *transactions, const char *path,
                                    struct iso_error *error)
{
    if (library_need_building(transactions, error) != ISO_OK)
        return error->status;
    return iso_read_initial(path, &transactions->history, error);
}

enum iso_status iso_transactions_load_initial(struct iso_transactions *transactions,
                                              const char *path, struct iso_error *error)
{
    struct iso_error wrong = ISO_NO_ERROR;
    load_initial(transactions, path, &wrong);
    return answer(transactions, &wrong, error);
}

/* ---- texts ---- */

static uint64_t next_origin(struct iso_transactions *transactions)
{
    if (transactions->input == ISO_NONE)
        transactions->input = iso_history_input(&transactions->history, unfiled_name);
    return iso_origin(transactions->input, transactions->unfiled + 1);
}

static enum iso_status add_json(struct iso_transactions *transactions, const char *text,
                                size_t length, struct iso_error *error)
{
    struct iso_text *padded = &transactions->padded;
    struct iso_native_fault fault;
    if (library_need_building(transactions, error) != ISO_OK)
        return error->status;
    padded->used = 0;
    iso_text_put_bytes(padded, text, length);
    memset(iso_text_reserve(padded, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    if (iso_native_read_transaction(&transactions->native, padded->bytes, length,
                                    next_origin(transactions), &transactions->history,
                                    &fault) != ISO_OK)
        return iso_error_set(error, ISO_BAD_INPUT, "byte %zu: %s", fault.position + 1, fault.text);
    transactions->unfiled++;
    return ISO_OK;
}

enum iso_status iso_transactions_add_json(struct iso_transactions *transactions, const char *text,
                                          size_t length, struct iso_error *error)
{
    struct iso_error wrong = ISO_NO_ERROR;
    add_json(transactions, text, length, &wrong);
    return answer(transactions, &wrong, error);
}

/* ---- calls ---- */

static void refuse(struct iso_transactions *transactions, const char *why)
{
    iso_error_set(&transactions->wrong, ISO_BAD_INPUT, "%s:%llu: %s", unfiled_name,
                  (unsigned long long)transactions->unfiled + 1, why);
}

/* The atom of a text; ISO_ABSENT, and the transaction is refused, if it is none. */
static iso_atom atom_of_text(struct iso_transactions *transactions, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (!text)
        refuse(transactions, "a text is NULL");
    else if (!iso_utf8_valid((const uint8_t *)text, length))
        refuse(transactions, "a text is not UTF-8");
    else if (*text == ISO_ATOM_UNKNOWN)
        refuse(transactions, "a text begins with U+0002, which the format reserves");
    else
        return iso_atoms_text(&transactions->history.atoms, text, length);
    return ISO_ABSENT;
}

void iso_transactions_begin(struct iso_transactions *transactions, const char *tid, const char *sid)
{
    struct library_building *building = &transactions->building;
    if (building->is_open)
        transactions->wrong.status = ISO_OK; /* it goes with the transaction that is left out */
    enum iso_status status = library_need_building(transactions, &transactions->wrong);
    *building = (struct library_building){.is_open = status == ISO_OK};
    if (status != ISO_OK)
        return;
    building->mark = iso_history_mark(&transactions->history);
    building->tid = atom_of_text(transactions, tid);
    building->sid = atom_of_text(transactions, sid);
    iso_history_open(&transactions->history, next_origin(transactions));
}

void iso_transactions_start_timestamp(struct iso_transactions *transactions, uint64_t sts)
{
    transactions->building.has_sts = true;
    transactions->building.sts = sts;
}

void iso_transactions_commit_timestamp(struct iso_transactions *transactions, uint64_t cts)
{
    transactions->building.has_cts = true;
    transactions->building.cts = cts;
}

/* Into the columns; iso_history_close takes it as the transaction's. */
static void add_operation(struct iso_transactions *transactions, enum iso_operation_kind kind,
                          const char *key, uint32_t value)
{
    struct iso_history *history = &transactions->history;
    if (!transactions->building.is_open) {
        refuse(transactions, "an operation outside of a transaction");
        return;
    }
    iso_atom name = atom_of_text(transactions, key);
    if (name == ISO_ABSENT)
        return;
    iso_history_reserve_operations(history, 1);
    uint32_t operation = history->ops.count++;
    history->ops.kind[operation] = (uint8_t)kind;
    history->ops.key[operation] = iso_history_key(history, name);
    history->ops.value[operation] = value;
}

static iso_atom value_of(struct iso_transactions *transactions, const char *value)
{
    return value ? atom_of_text(transactions, value) : ISO_ABSENT;
}

void iso_transactions_read(struct iso_transactions *transactions, const char *key,
                           const char *value)
{
    add_operation(transactions, ISO_READ, key, value_of(transactions, value));
}

void iso_transactions_write(struct iso_transactions *transactions, const char *key,
                            const char *value)
{
    if (value)
        add_operation(transactions, ISO_WRITE, key, atom_of_text(transactions, value));
    else
        iso_transactions_delete(transactions, key);
}

void iso_transactions_delete(struct iso_transactions *transactions, const char *key)
{
    add_operation(transactions, ISO_DELETE, key, ISO_ABSENT);
}

void iso_transactions_append(struct iso_transactions *transactions, const char *key,
                             const char *element)
{
    add_operation(transactions, ISO_APPEND, key, atom_of_text(transactions, element));
}

void iso_transactions_read_list(struct iso_transactions *transactions, const char *key,
                                const char *const *elements, size_t count)
{
    struct iso_history *history = &transactions->history;
    uint32_t list = 0;
    if (transactions->building.is_open) {
        list = iso_history_list(history);
        for (size_t i = 0; i < count; i++)
            iso_history_element(history, atom_of_text(transactions, elements[i]));
    }
    add_operation(transactions, ISO_READ_LIST, key, list);
}

static enum iso_status end(struct iso_transactions *transactions, uint8_t outcome,
                           struct iso_error *error)
{
    struct iso_error wrong;
    struct library_building *building = &transactions->building;
    struct iso_history *history = &transactions->history;
    bool is_timed = building->has_sts || building->has_cts;
    if (!building->is_open)
        refuse(transactions, "the end of a transaction that was not begun");
    if (is_timed && history->clock != ISO_CLOCK_NONE && history->clock != ISO_CLOCK_SCALAR)
        refuse(transactions, "timestamps are single numbers, expected one kind in a history");
    if (transactions->wrong.status != ISO_OK) {
        leave_open_out(transactions);
        wrong = transactions->wrong;
        transactions->wrong.status = ISO_OK;
        return answer(transactions, &wrong, error);
    }
    uint32_t t = history->txns.count - 1;
    history->txns.tid[t] = building->tid;
    history->txns.session[t] = iso_history_session(history, building->sid);
    history->txns.flags[t] |= outcome;
    history->clock = is_timed ? ISO_CLOCK_SCALAR : history->clock;
    if (building->has_sts)
        iso_history_set_sts(history, (struct iso_stamp){.physical = building->sts});
    if (building->has_cts)
        iso_history_set_cts(history, (struct iso_stamp){.physical = building->cts});
    iso_history_close(history);
    building->is_open = false;
    transactions->unfiled++;
    return ISO_OK;
}

enum iso_status iso_transactions_commit(struct iso_transactions *transactions,
                                        struct iso_error *error)
{
    return end(transactions, ISO_COMMITTED, error);
}

enum iso_status iso_transactions_abort(struct iso_transactions *transactions,
                                       struct iso_error *error)
{
    return end(transactions, ISO_ABORTED, error);
}

enum iso_status iso_transactions_unknown(struct iso_transactions *transactions,
                                         struct iso_error *error)
{
    return end(transactions, ISO_UNKNOWN, error);
}

/* ---- the end ---- */

enum iso_status library_finish(struct iso_transactions *transactions, bool drops_repeats,
                               struct iso_error *error)
{
    if (library_need_all(transactions, error) != ISO_OK)
        return error->status;
    if (transactions->history.finished && transactions->broken.status == ISO_OK)
        return ISO_OK;
    if (library_need_building(transactions, error) != ISO_OK)
        return error->status;
    if (iso_judge_finish(&transactions->history, drops_repeats ? &transactions->repeats : NULL,
                         &transactions->broken) != ISO_OK)
        return pass_on(&transactions->broken, error);
    return ISO_OK;
}
