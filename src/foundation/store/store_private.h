/* The state of a store, for its own files. */
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include "store/journal.h"
#include "store/store.h"
#include "store/syncer.h"

enum { STORE_NAME = 40 };

struct iso_store {
    struct iso_store_options options;
    char *path;
    int directory, lock;
    uint64_t base;            /* generation of the committed snapshot; 0: none */
    uint64_t base_bytes;      /* of its file */
    uint64_t generation;      /* of the journal at hand */
    struct journal_in in;     /* when reading */
    uint64_t read_generation; /* which it is */
    bool at_end;              /* the last record of the last journal was read */
    int out;                  /* the journal that is appended to; -1: none */
    uint64_t number;          /* of the next record */
    uint64_t appended;        /* bytes of records in journals since the latest snapshot */
    uint64_t torn;            /* bytes at the end of the last journal that are no record */
    bool is_altered;          /* and which no crash has left so */
    uint8_t *scratch;         /* a record that is being put together */
    size_t scratch_size;
    struct syncer syncer;
    pid_t child; /* writes a snapshot; 0: none */
    enum iso_store_progress progress;
    uint64_t pending;       /* generation of the snapshot under way */
    _Atomic bool is_ending; /* the syncer is not to begin anything that can be left out */
};

/* store.c */
void store_name(char name[STORE_NAME], const char *kind, uint64_t generation);
enum iso_status store_failed(const struct iso_store *store, const char *name, const char *what,
                             struct iso_error *error);
bool store_write(int file, const void *bytes, size_t size); /* false: errno says why */
/* Syncs a file of the store before it returns. */
enum iso_status store_sync(struct iso_store *store, int file, const char *name,
                           struct iso_error *error);
bool store_has(const struct iso_store *store, const char *kind, uint64_t generation);

uint64_t store_generation_in(const char *name,
                             const char *kind); /* as in snapshot-7; 0: it is another name */
DIR *store_list(const struct iso_store *store, struct iso_error *error);
/* The name of its next entry; NULL: there is none, or an error. */
const char *store_list_next(const struct iso_store *store, DIR *listing, struct iso_error *error);

/* validate.c: asserted where ISO_VALIDATE is defined, after each step that succeeded. */
#ifdef ISO_VALIDATE
void store_validate(const struct iso_store *store);
#else
static inline void store_validate(const struct iso_store *store)
{
    (void)store;
}
#endif

/* compact.c: removes what the committed snapshot has replaced, and what was never committed. */
enum iso_status store_clean(struct iso_store *store, iso_store_freed freed, void *context,
                            struct iso_error *error);

/* huge.c: what a snapshot's child has made of large pages is put together again, unless it is to
 * stop. */
void store_collapse(const _Atomic bool *stop);

/* append.c: a new, empty journal, the one that is appended to from now on. */
enum iso_status store_new_journal(struct iso_store *store, uint64_t generation,
                                  struct iso_error *error);
