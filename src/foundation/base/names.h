/* Names to numbers, for what is read once and has as many names as others like. The names are
 * borrowed. Of two equal names the first counts.
 */
#pragma once

#include "base/index.h"

struct iso_names {
    struct iso_index table; /* of positions in `list` */
    struct iso_name {
        const char *name;
        uint32_t number;
    } * list;
    uint32_t count, capacity;
};

enum { ISO_NAMES_NONE = -1 };

void iso_names_add(struct iso_names *names, const char *name, uint32_t number);
int64_t iso_names_find(const struct iso_names *names,
                       const char *name); /* ISO_NAMES_NONE: it is not there */
void iso_names_release(struct iso_names *names);
