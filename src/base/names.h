/* Names to numbers, for what is read once and has as many names as others like: open addressing. The names are
 * borrowed. Of two equal names the first counts.
 */
#ifndef ISO_BASE_NAMES_H
#define ISO_BASE_NAMES_H

#include <stdint.h>

struct iso_names {
    struct iso_name {
        const char *name; /* NULL: empty */
        uint32_t number;
    } * slots;
    uint32_t mask, count;
};

enum { ISO_NAMES_NONE = -1 };

void iso_names_add(struct iso_names *names, const char *name, uint32_t number);
int64_t iso_names_find(const struct iso_names *names, const char *name); /* ISO_NAMES_NONE: it is not there */
void iso_names_release(struct iso_names *names);

#endif
