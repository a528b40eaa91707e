#include "native/split.h"

#include "base/bytes.h"

enum { BLOCK = 64 };

struct masks {
    uint64_t quote, backslash, open, close;
};

#if defined(__SSE2__)
static struct masks find_masks(const char *text)
{
    struct masks masks = {0, 0, 0, 0};
    for (unsigned i = 0; i < BLOCK; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + i));
        /* [ and { differ in this bit, as ] and } do */
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        __m128i open = _mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                close = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
        masks.quote |= (uint64_t)(unsigned)_mm_movemask_epi8(quote) << i;
        masks.backslash |= (uint64_t)(unsigned)_mm_movemask_epi8(backslash) << i;
        masks.open |= (uint64_t)(unsigned)_mm_movemask_epi8(open) << i;
        masks.close |= (uint64_t)(unsigned)_mm_movemask_epi8(close) << i;
    }
    return masks;
}
#else
static struct masks find_masks(const char *text)
{
    struct masks masks = {0, 0, 0, 0};
    for (unsigned i = 0; i < BLOCK; i++) {
        uint64_t bit = (uint64_t)1 << i;
        masks.quote |= text[i] == '"' ? bit : 0;
        masks.backslash |= text[i] == '\\' ? bit : 0;
        masks.open |= (text[i] | 0x20) == '{' ? bit : 0;
        masks.close |= (text[i] | 0x20) == '}' ? bit : 0;
    }
    return masks;
}
#endif

/* The bytes that a backslash before them escapes; `*carry`: the first byte is, then the first of
 * the next block. */
static uint64_t find_escaped(uint64_t backslash, uint64_t *carry)
{
    uint64_t escaped = *carry;
    backslash &= ~escaped;
    *carry = 0;
    while (backslash) {
        uint64_t lowest = backslash & (0 - backslash), next = lowest << 1;
        escaped |= next;
        *carry = !next;
        backslash &= ~(lowest | next);
    }
    return escaped;
}

/* Bit i: the parity of bits 0 to i. */
static uint64_t prefix_parity(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* The block's brackets one by one. False: the array's end was among them. */
static bool walk(struct iso_split *split, uint64_t open, uint64_t close)
{
    for (uint64_t brackets = open | close; brackets; brackets &= brackets - 1) {
        size_t behind = split->scanned + (unsigned)__builtin_ctzll(brackets) + 1;
        if (brackets & (0 - brackets) & open) {
            split->depth++;
            continue;
        }
        split->closed = split->depth == 0;
        if (split->depth <= 1)
            split->last = behind;
        if (split->closed)
            return false;
        split->depth--;
    }
    return true;
}

void iso_split_scan(struct iso_split *split, const char *text, size_t length, bool final)
{
    while (!split->closed && split->scanned < length) {
        size_t left = length - split->scanned;
        if (left < BLOCK && !final)
            return;
        struct masks masks = find_masks(text + split->scanned);
        uint64_t within = left < BLOCK ? ~(uint64_t)0 >> (BLOCK - left) : ~(uint64_t)0;
        uint64_t quote =
            masks.quote & ~find_escaped(masks.backslash & within, &split->escape) & within;
        uint64_t string = prefix_parity(quote) ^ split->in_string;
        split->in_string = string >> 63 ? ~(uint64_t)0 : 0;
        uint64_t open = masks.open & ~string & within, close = masks.close & ~string & within;
        unsigned closing = (unsigned)__builtin_popcountll(close);
        if (split->depth > closing) {
            split->depth += (unsigned)__builtin_popcountll(open) - (uint64_t)closing;
        } else if (!walk(split, open, close)) {
            return;
        }
        split->scanned += left < BLOCK ? left : BLOCK;
    }
}
