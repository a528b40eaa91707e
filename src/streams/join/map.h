/* Identities of transactions, and maps from them to numbers (open addressing, base/slots.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "history/history.h"

enum join_tag { JOIN_BY_CTS = 1, JOIN_BY_STS, JOIN_BY_XID, JOIN_BY_TEXT, JOIN_BY_MARKER };

struct join_identity {
    uint64_t number; /* a timestamp, the low 32 bits of an xid, an atom of `texts` */
    uint32_t tag;
};

struct join_map {
    struct join_entry {
        uint64_t number;
        uint32_t tag; /* 0: free */
        uint32_t value;
    } * slots;
    uint32_t mask, used;
};

uint32_t join_map_get(const struct join_map *map,
                      struct join_identity identity); /* ISO_NONE: not there */
void join_map_put(struct join_map *map, struct join_identity identity, uint32_t value);
void join_map_remove(struct join_map *map, struct join_identity identity);
void join_map_release(struct join_map *map);
/* after slots of another process were read; false: too many are full */
bool join_map_refill(struct join_map *map);
