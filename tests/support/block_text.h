#ifndef TESTS_SUPPORT_BLOCK_TEXT_H
#define TESTS_SUPPORT_BLOCK_TEXT_H

#include <stdio.h>

#include "iso/history.h"

/* The block as text, so that two can be compared. */
static inline void block_text(const struct iso_history *block, char *text, size_t size)
{
    size_t used = 0;
#define PUT(...) (used += (size_t)snprintf(text + used, used < size ? size - used : 0, __VA_ARGS__))
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    for (uint32_t t = 0; t < block->transaction_count; t++) {
        const char *tid = iso_atom_text(&block->atoms, block->tid[t], buffer, &length);
        PUT("T%.*s ", (int)length, tid);
        const char *sid =
            iso_atom_text(&block->atoms, block->session_atom[block->session[t]], buffer, &length);
        PUT("S%.*s f%02x %llu %llu #%llu o%llx%s\n", (int)length, sid, block->flags[t],
            (unsigned long long)block->sts[t], (unsigned long long)block->cts[t],
            (unsigned long long)(block->sno ? block->sno[t] : 0),
            (unsigned long long)block->origin[t],
            iso_marks_of(block, t) & ISO_MARK_CDC_WRITES ? " cdc" : "");
        for (uint32_t o = block->first_operation[t]; o < block->first_operation[t + 1]; o++) {
            const char *key =
                iso_atom_text(&block->atoms, block->key_atom[block->key[o]], buffer, &length);
            PUT(" %02x %.*s ots %llu", block->kind[o], (int)length, key,
                (unsigned long long)(block->kind[o] & ISO_OPERATION_OTS ? block->ots[o] : 0));
            if (iso_kind_of(block, o) == ISO_READ_LIST) {
                for (uint64_t e = block->list_first[block->value[o]];
                     e < block->list_first[block->value[o] + 1]; e++) {
                    const char *element =
                        iso_atom_text(&block->atoms, block->element[e], buffer, &length);
                    PUT(" [%.*s]", (int)length, element);
                }
            } else if (block->value[o] != ISO_ABSENT) {
                const char *value = iso_atom_text(&block->atoms, block->value[o], buffer, &length);
                PUT(" = %.*s", (int)length, value);
            }
            PUT("\n");
        }
    }
#undef PUT
    text[used < size ? used : size - 1] = 0;
}

#endif
