#include "formats/elle.h"

#include <stdio.h>

#include "base/memory.h"

/* A process and its invocation that has not completed. */
struct elle_process {
    iso_atom process;
    bool pending;
    iso_atom tid;
    uint64_t line, time;
    struct format_mops mops;
};

void elle_release(struct elle *elle)
{
    for (uint32_t i = 0; i < elle->process_count; i++)
        format_mops_release(&elle->processes[i].mops);
    iso_free(elle->processes);
    iso_number_map_release(&elle->by_process);
    format_mops_release(&elle->mops);
}

void elle_start(struct elle *elle)
{
    elle->mops.count = elle->mops.element_count = 0;
    elle->count++;
}

void elle_other(struct elle *elle, const char *name, size_t length)
{
    if (!elle->other[0])
        snprintf(elle->other, sizeof elle->other, "%.*s", (int)(length < 60 ? length : 60), name);
}

static bool is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && !memcmp(text, word, length);
}

enum elle_type elle_type_of(const char *text, size_t length)
{
    static const char *const names[] = {"invoke", "ok", "fail", "info"};
    for (int i = 0; i < 4; i++) {
        if (is(text, length, names[i]))
            return (enum elle_type)(ELLE_INVOKE + i);
    }
    return ELLE_NO_TYPE;
}

bool elle_kind_of(const char *text, size_t length, uint8_t *kind)
{
    if (is(text, length, "r"))
        *kind = ISO_READ;
    else if (is(text, length, "append"))
        *kind = ISO_APPEND;
    else if (is(text, length, "w"))
        *kind = ISO_WRITE;
    else
        return false;
    return true;
}

static struct elle_process *find_process(struct elle *elle, iso_atom process)
{
    uint32_t number = iso_number_map_add(&elle->by_process, process, elle->process_count);
    if (number == elle->process_count) {
        ISO_PUSH(elle->processes, elle->process_count, elle->process_capacity,
                 (struct elle_process){.process = process});
    }
    return &elle->processes[number];
}

/* Its index in the history; where there is none, its line among the operations, as a text no index
 * looks like. */
static iso_atom tid_of(struct elle *elle, const struct elle_operation *operation)
{
    char text[32];
    if (operation->index != ISO_ABSENT)
        return operation->index;
    int length = snprintf(text, sizeof text, "#%llu", (unsigned long long)elle->count);
    return iso_atoms_add_string(&elle->history->atoms, text, (size_t)length);
}

static void swap_mops(struct format_mops *left, struct format_mops *right)
{
    struct format_mops kept = *left;
    *left = *right;
    *right = kept;
}

static enum iso_status refuse(struct elle *elle, const struct elle_operation *operation,
                              const char *what)
{
    return iso_error_set(elle->error, ISO_BAD_INPUT, "%s:%llu: %s", elle->path,
                         (unsigned long long)operation->line, what);
}

static void emit(struct elle *elle, const struct format_mops *mops, iso_atom tid, iso_atom session,
                 uint8_t status, uint64_t line)
{
    format_mops_emit(mops, elle->history, tid, session, status, iso_origin(0, line));
}

/* When the transaction added last began and ended. Only :ok says that it had ended. */
static void set_times(struct elle *elle, uint64_t begun, uint64_t ended)
{
    if (begun && (!ended || begun <= ended))
        iso_history_set_begun(elle->history, begun - 1);
    if (ended && (!begun || begun <= ended))
        iso_history_set_ended(elle->history, ended - 1);
}

static void take_without_process(struct elle *elle, const struct elle_operation *operation)
{
    static const uint8_t statuses[] = {
        [ELLE_OK] = ISO_COMMITTED, [ELLE_FAIL] = ISO_ABORTED, [ELLE_INFO] = ISO_UNKNOWN};
    iso_atom tid = tid_of(elle, operation);
    if (operation->type != ELLE_INVOKE)
        emit(elle, &elle->mops, tid, tid, statuses[operation->type], operation->line);
}

static enum iso_status take_of_process(struct elle *elle, const struct elle_operation *operation)
{
    struct elle_process *process = find_process(elle, operation->process);
    iso_atom tid = tid_of(elle, operation);
    if (operation->type == ELLE_INVOKE) {
        if (process->pending)
            return refuse(elle, operation,
                          "a process invokes before its last operation has completed");
        process->pending = true;
        process->tid = tid;
        process->line = operation->line;
        process->time = operation->time;
        swap_mops(&process->mops, &elle->mops);
        return ISO_OK;
    }
    /* A completion without a value is about what was invoked. */
    const struct format_mops *mops = operation->has_value ? &elle->mops : &process->mops;
    if (operation->type == ELLE_OK && !operation->has_value)
        return refuse(
            elle, operation,
            "an :ok transaction without a :value, expected its operations and what they read");
    if (operation->has_value || process->pending)
        emit(elle, mops, tid, process->process,
             operation->type == ELLE_OK     ? ISO_COMMITTED
             : operation->type == ELLE_FAIL ? ISO_ABORTED
                                            : ISO_UNKNOWN,
             operation->line);
    if (operation->has_value || process->pending)
        set_times(elle, process->pending ? process->time : 0,
                  operation->type == ELLE_OK ? operation->time : 0);
    process->pending = false;
    return ISO_OK;
}

enum iso_status elle_take(struct elle *elle, const struct elle_operation *operation)
{
    if (operation->type == ELLE_NO_TYPE)
        return refuse(elle, operation,
                      "an operation without a :type, expected :invoke, :ok, :fail or :info");
    if (operation->has_process && !operation->is_client)
        return ISO_OK;
    bool transaction =
        operation->has_function ? operation->is_transaction : !operation->other_value;
    if (!transaction) {
        elle->others += operation->type == ELLE_OK;
        return ISO_OK;
    }
    if (operation->other_value)
        return refuse(elle, operation,
                      "the :value of a transaction is no vector of operations [:r key value]");
    if (operation->has_process)
        return take_of_process(elle, operation);
    take_without_process(elle, operation);
    return ISO_OK;
}

enum iso_status elle_end(struct elle *elle)
{
    for (uint32_t i = 0; i < elle->process_count; i++) {
        struct elle_process *process = &elle->processes[i];
        if (!process->pending)
            continue;
        emit(elle, &process->mops, process->tid, process->process, ISO_UNKNOWN, process->line);
        set_times(elle, process->time, 0);
    }
    if (elle->history->txns.count)
        return ISO_OK;
    if (elle->others)
        return iso_error_set(
            elle->error, ISO_BAD_INPUT,
            "%s: not a read/write history: %llu operations (the first is %s%s), none is a transaction "
            "(:f :txn, :value [[:r key value] [:w key value] [:append key element] ...])",
            elle->path, (unsigned long long)elle->others, elle->other[0] ? ":" : "",
            elle->other[0] ? elle->other : "without :f");
    return ISO_OK;
}
