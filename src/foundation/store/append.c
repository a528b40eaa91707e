/* Appending to a journal, and beginning new ones. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/memory.h"
#include "base/own.h"
#include "store/store_private.h"

static enum iso_status write_out(struct iso_store *store, const void *bytes, size_t size,
                                 struct iso_error *error)
{
    char name[STORE_NAME];
    store_name(name, "journal", store->generation);
    return store_write(store->out, bytes, size)
               ? ISO_OK
               : store_failed(store, name, "cannot be written", error);
}

enum iso_status store_new_journal(struct iso_store *store, uint64_t generation,
                                  struct iso_error *error)
{
    char name[STORE_NAME];
    struct journal_head head = journal_head_of(generation);
    store_name(name, "journal", generation);
    if (store->out >= 0)
        close(store->out);
    ISO_FAULT(iso_fault_point("before-journal-created"));
    store->out = iso_own_open_in(store->directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    if (store->out < 0)
        return store_failed(store, name, "cannot be created", error);
    ISO_FAULT(iso_fault_point("after-journal-created"));
    store->generation = generation;
    store->number = 0;
    write_out(store, &head, sizeof head, error);
    ISO_FAULT(iso_fault_point("after-journal-headed"));
    return error->status;
}

/* Journals behind a torn one: the last record of that may name one again, and mean another. */
static enum iso_status remove_later(struct iso_store *store, uint64_t generation,
                                    struct iso_error *error)
{
    char name[STORE_NAME];
    while (error->status == ISO_OK && store_has(store, "journal", ++generation)) {
        store_name(name, "journal", generation);
        if (unlinkat(store->directory, name, 0))
            store_failed(store, name, "cannot be removed", error);
        ISO_FAULT(iso_fault_point("after-later-journal-removed"));
    }
    return error->status;
}

enum iso_status iso_store_resume(struct iso_store *store, uint64_t *torn, struct iso_error *error)
{
    char name[STORE_NAME];
    assert(store->at_end && store->out < 0);
    bool rolled = store->in.rolled, headless = store->in.size < sizeof(struct journal_head);
    uint64_t number = store->in.number, whole = store->in.at;
    *torn = store->torn;
    iso_free(store->in.bytes);
    store->in = (struct journal_in){0};
    if (remove_later(store, store->read_generation, error) != ISO_OK)
        return error->status;
    if (rolled || headless)
        return store_new_journal(store, store->read_generation + rolled, error);
    store->generation = store->read_generation;
    store->number = number;
    store_name(name, "journal", store->generation);
    store->out = iso_own_open_in(store->directory, name, O_WRONLY | O_APPEND);
    if (store->out < 0)
        return store_failed(store, name, "cannot be opened", error);
    ISO_FAULT(iso_fault_point("before-torn-cut"));
    if (ftruncate(store->out, (off_t)whole))
        return store_failed(store, name, "cannot be cut", error);
    ISO_FAULT(iso_fault_point("after-torn-cut"));
    store_validate(store);
    return ISO_OK;
}

/* Head and content in one write, so that the process cannot die between them. */
enum iso_status iso_store_append(struct iso_store *store, uint32_t type, const void *bytes,
                                 size_t size, struct iso_error *error)
{
    assert(size <= ISO_STORE_RECORD_MAX && store->out >= 0);
    struct journal_record head =
        journal_record_of(store->generation, type, store->number, bytes, (uint32_t)size);
    if (store->scratch_size < sizeof head + size) {
        store->scratch_size = iso_column_capacity(store->scratch_size, sizeof head + size);
        store->scratch = iso_reallocate(store->scratch, store->scratch_size);
    }
    memcpy(store->scratch, &head, sizeof head);
    if (size)
        memcpy(store->scratch + sizeof head, bytes, size);
    ISO_FAULT(iso_fault_point("before-append"));
    if (write_out(store, store->scratch, sizeof head + size, error) != ISO_OK)
        return error->status;
    ISO_FAULT(iso_fault_point("after-append"));
    store->number++;
    store->appended += sizeof head + size;
    store_validate(store);
    return ISO_OK;
}

enum iso_status iso_store_sync(struct iso_store *store, bool wait, struct iso_error *error)
{
    char name[STORE_NAME];
    assert(store->out >= 0);
    store_name(name, "journal", store->generation);
    errno = syncer_failure(&store->syncer);
    if (errno)
        return store_failed(store, name, "cannot be synced", error);
    if (wait)
        return store_sync(store, store->out, name, error);
    if (syncer_busy(&store->syncer))
        return ISO_OK;
    ISO_FAULT(iso_fault_point("before-background-sync"));
    if (!syncer_start(&store->syncer, store->out, NULL, NULL))
        return store_failed(store, name, "cannot be synced", error);
    ISO_FAULT(iso_fault_point("after-background-sync"));
    return ISO_OK;
}

bool iso_store_synced(struct iso_store *store, uint64_t *began, uint64_t *took)
{
    return syncer_last(&store->syncer, began, took);
}
