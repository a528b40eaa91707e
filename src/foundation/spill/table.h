/* The spill's table: where the record of a digest begins. Private to the module.
 *
 * Digests are made of what others send, and last; so the table goes by a hash of them under a seed
 * of its own, drawn with the process's (base/hash.h) when the table is new and saved with it. 256
 * tables by bits of the hash, so that growing one is a small matter; in each, linear probing from
 * where 32 bits of the hash, the tag, fall. Tags of two digests may be equal: then the records must
 * say which is meant. Full to five sixths at most, and widened by a quarter: 9 to 12 bytes a
 * record.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/archive.h"

enum { SPILL_TABLES = 256 };

struct spill_slot {
    uint32_t tag, position; /* position: in units from the file's start, + 1; 0: empty */
};

/* `factor` is odd; 0: of a table that was saved when the digest itself was the hash. */
struct spill_seed {
    uint64_t number, factor;
};

struct spill_table {
    struct spill_seed seed;
    struct table {
        struct spill_slot *slots;
        uint32_t size, used;
    } tables[SPILL_TABLES];
    uint64_t used;
};

void spill_table_init(struct spill_table *table);
void spill_table_release(struct spill_table *table);
uint64_t spill_table_bytes(const struct spill_table *table);
void spill_table_add(struct spill_table *table, uint64_t digest, uint32_t position);

/* The next slot that may be of the digest; `after` NULL: the first. NULL: there are no more. Good
 * until the next add.
 */
struct spill_slot *spill_table_next(struct spill_table *table, uint64_t digest,
                                    struct spill_slot *after);

/* Where the search for a digest begins, or NULL. */
const struct spill_slot *spill_table_home(const struct spill_table *table, uint64_t digest);

void spill_table_remove(struct spill_table *table, uint64_t digest, struct spill_slot *slot);

/* Asserted where ISO_VALIDATE is defined: each slot is found from its home on, and counts agree. */
#ifdef ISO_VALIDATE
void spill_table_validate(const struct spill_table *table);
#endif

/* Saves it; restores it into an empty one. What positions mean is for the store to compare. */
void spill_table_archive(struct iso_archive *archive, struct spill_table *table);
