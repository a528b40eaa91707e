/* Removes files of a state directory that nothing needs any more. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "store/store_private.h"

static bool is_needless(const struct iso_store *store, const char *name)
{
    size_t length = strlen(name);
    uint64_t snapshot = store_generation_in(name, "snapshot"),
             journal = store_generation_in(name, "journal");
    bool unfinished =
        !strncmp(name, "snapshot-", 9) && length > 4 && !strcmp(name + length - 4, ".new");
    return unfinished || (snapshot && snapshot < store->base) || (journal && journal < store->base);
}

enum iso_status store_clean(struct iso_store *store, iso_store_freed freed, void *context,
                            struct iso_error *error)
{
    const char *entry;
    struct stat status;
    DIR *listing = store_list(store, error);
    while (listing && error->status == ISO_OK && (entry = store_list_next(store, listing, error))) {
        if (!is_needless(store, entry))
            continue;
        if (freed && fstatat(store->directory, entry, &status, 0))
            store_failed(store, entry, "cannot be examined", error);
        else if (unlinkat(store->directory, entry, 0) && errno != ENOENT)
            store_failed(store, entry, "cannot be removed", error);
        else if (freed)
            freed(context, entry, (uint64_t)status.st_size);
        ISO_FAULT(iso_fault_point("after-needless-removed"));
    }
    if (listing)
        closedir(listing);
    return error->status;
}

enum iso_status iso_store_compact(struct iso_store *store, iso_store_freed freed, void *context,
                                  struct iso_error *error)
{
    char name[STORE_NAME];
    uint64_t torn;
    assert(store->at_end && store->base);
    store_name(name, "journal", store->read_generation);
    if (store_clean(store, freed, context, error) != ISO_OK ||
        iso_store_resume(store, &torn, error) != ISO_OK)
        return error->status;
    if (torn)
        freed(context, name, torn);
    return store_sync(store, store->directory, "", error);
}
