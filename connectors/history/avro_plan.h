/* A writer's Avro schema as a plan: nodes in an array, members known by what they mean.
 *
 * libavro parses the schema; but its values are trees, filled by some ten calls for each number in a record, which made
 * Avro 13 times slower than JSON. The encoding itself is simple: a plan and the bytes are walked side by side, and what
 * is read goes where it belongs. Everything is checked on the way: sizes, indexes and ends (a record may come from
 * anywhere). Ownership: a plan owns its nodes. Threads: a plan may be read by many.
 */
#ifndef ISO_AVRO_PLAN_H
#define ISO_AVRO_PLAN_H

#include <avro.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a record's field of that name holds. The names differ between a transaction, an operation and a watermark. */
enum plan_role {
    PLAN_NONE,
    PLAN_TID,
    PLAN_SID,
    PLAN_SNO,
    PLAN_STS,
    PLAN_CTS,
    PLAN_STATUS,
    PLAN_OPS,
    PLAN_WATERMARK,
    PLAN_KIND,
    PLAN_KEY,
    PLAN_CONTENT,
    PLAN_OTS,
    PLAN_LOCK,
    PLAN_ROLES
};

struct plan_node {
    uint8_t type;   /* avro_type_t, never AVRO_LINK */
    uint32_t first; /* record: fields, union: branches, array and map: the items, all in `children`; enum: `symbols` */
    uint32_t count; /* how many of them */
    int64_t size;   /* fixed: bytes */
    uint32_t roles; /* record: bit r: has a field of role r */
    avro_schema_t named; /* record, enum, fixed: what links refer to; borrowed from the schema */
};

struct plan_child {
    uint32_t node;
    enum plan_role role;
};

/* A symbol of an enumeration. */
struct plan_symbol {
    uint8_t kind;   /* enum iso_operation_kind, or PLAN_NO_WORD */
    uint8_t status; /* ISO_COMMITTED, ..., or PLAN_NO_WORD */
};
enum { PLAN_NO_WORD = 0xff };

struct plan {
    uint32_t node_count, child_count, symbol_count;
    struct plan_node *nodes; /* the schema itself is 0 */
    struct plan_child *children;
    struct plan_symbol *symbols;
};

/* What a word means, in any case of letters: READ, WRITE, DELETE, APPEND or their first letters; COMMITTED, ABORTED,
 * UNKNOWN. */
struct plan_symbol plan_word(const char *word, size_t size);

/* False: nested too deeply, or of a type that is not known. The schema outlives the plan; release it in any case. */
bool plan_init(struct plan *plan, avro_schema_t schema);
void plan_release(struct plan *plan);

struct plan_cursor {
    const uint8_t *at, *end;
    uint64_t items; /* that arrays may still have: no more than the message has bytes, also where items are empty */
};

bool plan_take_long_slow(struct plan_cursor *cursor, int64_t *value);

/* A zig-zag number: seven bits a byte, the lowest first, the last byte without its high bit. Up to eight bytes at once:
 * their groups of seven are pushed together in pairs, then pairs of pairs. */
static inline bool plan_take_long(struct plan_cursor *cursor, int64_t *value)
{
    uint64_t bits, ends;
    if (cursor->end - cursor->at < 8)
        return plan_take_long_slow(cursor, value);
    memcpy(&bits, cursor->at, sizeof bits); /* little-endian machines */
    ends = ~bits & UINT64_C(0x8080808080808080);
    if (!ends)
        return plan_take_long_slow(cursor, value);
    cursor->at += ((unsigned)__builtin_ctzll(ends) >> 3) + 1;
    bits &= (ends ^ (ends - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    bits = (bits & UINT64_C(0x007f007f007f007f)) | (bits & UINT64_C(0x7f007f007f007f00)) >> 1;
    bits = (bits & UINT64_C(0x00003fff00003fff)) | (bits & UINT64_C(0x3fff00003fff0000)) >> 2;
    bits = (bits & UINT64_C(0x000000000fffffff)) | (bits & UINT64_C(0x0fffffff00000000)) >> 4;
    *value = (int64_t)(bits >> 1 ^ (0u - (bits & 1)));
    return true;
}

/* Bytes behind their number, `*size` of them, in the message. */
bool plan_take_text(struct plan_cursor *cursor, const char **text, size_t *size);

/* What a value that may be a union is: its branch, not a union itself; NULL: there is no such branch. */
static inline const struct plan_node *plan_inside(const struct plan *plan, const struct plan_node *node,
                                                  struct plan_cursor *cursor)
{
    int64_t branch;
    while (node->type == AVRO_UNION) {
        if (!plan_take_long(cursor, &branch) || branch < 0 || branch >= node->count)
            return NULL;
        node = &plan->nodes[plan->children[node->first + branch].node];
    }
    return node;
}

/* The next block of an array or map: `*count` items, 0 at its end. False: no block, or more items than a message of
 * this size can have. */
bool plan_take_block(struct plan_cursor *cursor, int64_t *count);

bool plan_skip(const struct plan *plan, const struct plan_node *node, struct plan_cursor *cursor);

#endif
