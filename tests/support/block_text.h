#ifndef TESTS_SUPPORT_BLOCK_TEXT_H
#define TESTS_SUPPORT_BLOCK_TEXT_H

#include <stdio.h>

#include "history/history.h"

/* The block as text, so that two can be compared. */
static inline void block_text(const struct iso_history *block, char *text, size_t size)
{
    size_t used = 0;
#define PUT(...) (used += (size_t)snprintf(text + used, used < size ? size - used : 0, __VA_ARGS__))
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    for (uint32_t t = 0; t < block->txns.count; t++) {
        const char *tid = iso_atom_text(&block->atoms, block->txns.tid[t], buffer, &length);
        PUT("T%.*s ", (int)length, tid);
        const char *sid = iso_atom_text(&block->atoms, block->sessions.atom[block->txns.session[t]],
                                        buffer, &length);
        PUT("S%.*s f%02x %llu %llu #%llu o%llx%s\n", (int)length, sid, block->txns.flags[t],
            (unsigned long long)block->txns.sts[t], (unsigned long long)block->txns.cts[t],
            (unsigned long long)(block->txns.sno ? block->txns.sno[t] : 0),
            (unsigned long long)block->txns.origin[t],
            iso_marks_of(block, t) & ISO_MARK_CDC_WRITES ? " cdc" : "");
        for (uint32_t o = block->txns.first_op[t]; o < block->txns.first_op[t + 1]; o++) {
            const char *key =
                iso_atom_text(&block->atoms, block->keys.atom[block->ops.key[o]], buffer, &length);
            PUT(" %02x %.*s ots %llu", block->ops.kind[o], (int)length, key,
                (unsigned long long)(block->ops.kind[o] & ISO_OPERATION_OTS ? block->ops.ots[o]
                                                                            : 0));
            if (iso_kind_of(block, o) == ISO_READ_LIST) {
                for (uint64_t e = block->lists.first[block->ops.value[o]];
                     e < block->lists.first[block->ops.value[o] + 1]; e++) {
                    const char *element =
                        iso_atom_text(&block->atoms, block->lists.element[e], buffer, &length);
                    PUT(" [%.*s]", (int)length, element);
                }
            } else if (block->ops.value[o] != ISO_ABSENT) {
                const char *value =
                    iso_atom_text(&block->atoms, block->ops.value[o], buffer, &length);
                PUT(" = %.*s", (int)length, value);
            }
            PUT("\n");
        }
    }
#undef PUT
    text[used < size ? used : size - 1] = 0;
}

#endif
