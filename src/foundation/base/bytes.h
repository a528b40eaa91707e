/* Small tricks on bytes in memory, eight or sixteen at a time: the inner loops of the JSON scanner.
 *
 * Most of them may read up to 16 bytes from `at`, whatever stands there: callers keep readable
 * padding after their text and check the result against its end. Digits are converted by three
 * multiplications (SIMD within a register).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "base/bytes.h takes the first byte in memory for the lowest of a word"
#endif

static inline uint64_t iso_bytes_load8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The first `count` bytes (1 to 8) at `at` as a word, to be compared with a constant of the same
 * kind. */
static inline uint64_t iso_bytes_load(const char *at, unsigned count)
{
    return iso_bytes_load8(at) & ~(uint64_t)0 >> (64 - 8 * count);
}

static inline uint32_t iso_bytes_load4(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Loads at most 8 bytes without reading behind them; 0 for none. */
static inline uint64_t iso_bytes_load_short(const char *at, size_t count)
{
    if (count >= 8)
        return iso_bytes_load8(at);
    if (count >= 4)
        return iso_bytes_load4(at) | (uint64_t)iso_bytes_load4(at + count - 4) << 8 * (count - 4);
    if (!count)
        return 0;
    return (unsigned char)at[0] | (uint64_t)(unsigned char)at[count / 2] << 8 * (count / 2) |
           (uint64_t)(unsigned char)at[count - 1] << 8 * (count - 1);
}

/* Copies a run of bytes that mostly is short. Reads and writes nothing else. */
static inline void iso_bytes_copy(char *to, const char *from, size_t count)
{
    if (count > 16) {
        memcpy(to, from, count);
    } else if (count >= 8) {
        uint64_t first = iso_bytes_load8(from), last = iso_bytes_load8(from + count - 8);
        memcpy(to, &first, 8);
        memcpy(to + count - 8, &last, 8);
    } else if (count >= 4) {
        uint32_t first = iso_bytes_load4(from), last = iso_bytes_load4(from + count - 4);
        memcpy(to, &first, 4);
        memcpy(to + count - 4, &last, 4);
    } else {
        for (size_t i = 0; i < count; i++)
            to[i] = from[i];
    }
}

/* Whether two runs of bytes are the same: names and the like, which are short. Reads nothing
 * else. */
static inline bool iso_bytes_equal(const char *left, const char *right, size_t count)
{
    if (count > 16)
        return !memcmp(left, right, count);
    if (count >= 8)
        return !((iso_bytes_load8(left) ^ iso_bytes_load8(right)) |
                 (iso_bytes_load8(left + count - 8) ^ iso_bytes_load8(right + count - 8)));
    return iso_bytes_load_short(left, count) == iso_bytes_load_short(right, count);
}

/* The number of leading decimal digits among the 8 bytes at `at` (of the word), and what they
 * say. */
static inline unsigned iso_bytes_digits_of(uint64_t word, uint64_t *number)
{
    word ^= 0x3030303030303030u;
    uint64_t others =
        (((word & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | word) & 0x8080808080808080u;
    unsigned count = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    word = count ? word << (64 - 8 * count) : 0; /* as if there were zeros in front */
    word = word * 10 + (word >> 8);
    *number = ((word & 0x000000ff000000ffu) * 0x000f424000000064u +
               ((word >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
              32;
    return count;
}

static inline unsigned iso_bytes_digits(const char *at, uint64_t *number)
{
    return iso_bytes_digits_of(iso_bytes_load8(at), number);
}

/* The decimal digits of a whole text of at most 19, whose number then fits 64 bits: false if there
 * are other bytes in it, none at all, or more. Reads nothing else. Leading zeros are digits
 * here. */
static inline bool iso_bytes_number(const char *at, size_t length, uint64_t *number)
{
    uint64_t part;
    size_t first = length % 8 ? length % 8 : 8; /* so that the rest is whole words */
    if (length - 1 > 18 || iso_bytes_digits_of(iso_bytes_load_short(at, first), number) != first)
        return false;
    for (size_t i = first; i < length; i += 8) {
        if (iso_bytes_digits(at + i, &part) != 8)
            return false;
        *number = *number * 100000000 + part;
    }
    return true;
}

/* Passes over the decimal digits up to `end`: false if there are none, or the number needs more
 * than 64 bits. */
static inline bool iso_bytes_take_decimal(const char **at, const char *end, uint64_t *number)
{
    const char *first = *at;
    *number = 0;
    for (; *at < end && (unsigned char)(**at - '0') <= 9; ++*at)
        if (__builtin_mul_overflow(*number, 10u, number) ||
            __builtin_add_overflow(*number, (unsigned)(**at - '0'), number))
            return false;
    return *at > first;
}

/* As iso_bytes_number, of a text of any length. */
static inline bool iso_bytes_decimal(const char *at, size_t length, uint64_t *number)
{
    const char *end = at + length;
    if (length < 20)
        return iso_bytes_number(at, length, number);
    return iso_bytes_take_decimal(&at, end, number) && at == end;
}

/* The first of 16 bytes that a JSON string cannot simply contain: a quote, a backslash, a control
 * character, or a byte above 127, which starts or breaks UTF-8. 16: none of them. */
static inline unsigned iso_bytes_special_portable(const char *at)
{
    for (unsigned i = 0; i < 16; i += 8) {
        const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
        uint64_t word = iso_bytes_load8(at + i);
        uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        /* The lowest bit set is exact; higher ones may be borrowed. Bytes above 127 are special
         * themselves.
         */
        uint64_t found =
            ((word - ones * 0x20) | (quote - ones) | (backslash - ones) | word) & highs;
        if (found)
            return i + (unsigned)__builtin_ctzll(found) / 8;
    }
    return 16;
}

static inline unsigned iso_bytes_special(const char *at)
{
#if defined(__SSE2__)
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                 _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes));
    /* the top bit of a byte is what counts */
    unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(found, bytes));
    return mask ? (unsigned)__builtin_ctz(mask) : 16;
#else
    return iso_bytes_special_portable(at);
#endif
}

/* Bit i: byte i of the 16 at `left` is that at `right`. */
static inline uint32_t iso_bytes_same_portable(const char *left, const char *right)
{
    uint32_t same = 0;
    for (unsigned i = 0; i < 16; i++)
        same |= (uint32_t)(left[i] == right[i]) << i;
    return same;
}

static inline uint32_t iso_bytes_same(const char *left, const char *right)
{
#if defined(__SSE2__)
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)left);
    __m128i others = _mm_loadu_si128((const __m128i *)(const void *)right);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, others));
#else
    return iso_bytes_same_portable(left, right);
#endif
}

/* Where `byte` first stands among the `count` bytes at `at`, a multiple of 16 up to 64, all of
 * which are read; `count` if it does not. */
static inline unsigned iso_bytes_find_portable(const char *at, char byte, unsigned count)
{
    for (unsigned i = 0; i < count; i += 8) {
        const uint64_t ones = 0x0101010101010101u;
        uint64_t word = iso_bytes_load8(at + i) ^ ones * (unsigned char)byte;
        uint64_t found = (word - ones) & ~word & ones << 7; /* the lowest bit set is exact */
        if (found)
            return i + (unsigned)__builtin_ctzll(found) / 8;
    }
    return count;
}

static inline unsigned iso_bytes_find(const char *at, char byte, unsigned count)
{
#if defined(__SSE2__)
    uint64_t found = 0;
    for (unsigned i = 0; i < count; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        found |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte)))
                 << i;
    }
    return found ? (unsigned)__builtin_ctzll(found) : count;
#else
    return iso_bytes_find_portable(at, byte, count);
#endif
}

/* How often `byte` stands in [at, end). Reads nothing else. */
static inline uint64_t iso_bytes_count(const char *at, const char *end, char byte)
{
    const uint64_t ones = 0x0101010101010101u, lows = 0x7f7f7f7f7f7f7f7fu;
    uint64_t count = 0;
    while (end - at >= 8) {
        uint64_t sums = 0; /* eight counters of a byte each */
        for (unsigned i = 0; i < 255 && end - at >= 8; i++, at += 8) {
            uint64_t word = iso_bytes_load8(at) ^ ones * (unsigned char)byte;
            sums += ~(((word & lows) + lows) | word) >> 7 & ones;
        }
        sums = (sums & 0x00ff00ff00ff00ffu) + (sums >> 8 & 0x00ff00ff00ff00ffu);
        count += sums * 0x0001000100010001u >> 48;
    }
    for (; at < end; at++)
        count += *at == byte;
    return count;
}
