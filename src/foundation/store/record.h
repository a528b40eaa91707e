/* A record of a journal, as the caller of a store sees it. */
#pragma once

#include <stdint.h>

struct iso_store_record {
    uint32_t type; /* the caller's, below ISO_STORE_TYPES */
    uint32_t size;
    const uint8_t *bytes;
};
enum { ISO_STORE_TYPES = 1 << 16, ISO_STORE_RECORD_MAX = 1 << 24 };
