/* A set of digests: open addressing, by the process's seed (base/hash.h). Digests are above
 * ID_SET_REMOVED: smaller numbers mark slots. Zeroed, a set is empty. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ID_SET_FREE, ID_SET_REMOVED };

struct id_set {
    uint64_t *slots;
    uint32_t mask, used; /* used: slots that are not free */
    uint64_t count;
};

bool id_set_has(const struct id_set *set, uint64_t id);
bool id_set_add(struct id_set *set, uint64_t id);    /* false: it was there */
bool id_set_remove(struct id_set *set, uint64_t id); /* false: it was not */
/* into room for more; or after slots of another process were read */
void id_set_refill(struct id_set *set);
void id_set_release(struct id_set *set);
