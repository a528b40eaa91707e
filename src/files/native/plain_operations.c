/* Operations in the shapes that nearly all have: no blanks or one behind each comma and colon,
 * members in the order t, k, v, plain values. What is of any other shape is left to operation.c.
 *
 * Integers of up to eight digits come in runs and have the fastest way: where an operation ends is
 * found first, with one comparison of all its bytes. So the next one can be started before this
 * one's numbers are known, and what takes time is not a chain of lengths through the whole text.
 *
 * Nothing else of the project reads JSON but base/json.h. This does for its speed: without it a
 * check by timestamps takes 1.45 times as long as a whole (500,000 transactions of 8 operations,
 * one thread).
 */
#include "history/index.h"
#include "native/native_private.h"

/* The shape is a constant wherever it is used, and must be one for the compiler too. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Where things stand; the text of a letter or a digit does not count. */
struct shape {
    const char *kind, *key, *value; /* before the kind's letter, the key, the value */
    unsigned kind_length, key_length, value_length,
        window;    /* window: the most bytes of an operation in a run */
    unsigned next; /* from a closing brace to the next opening one */
};

static const struct shape tight = {"{\"t\":\"  ", "\",\"k\":  ", ",\"v\":   ", 6, 6, 5, 32, 2};
static const struct shape loose = {"{\"t\": \" ", "\", \"k\": ", ", \"v\":  ", 7, 8, 7, 48, 3};

/* The first `length` bytes of a literal of 8; the compiler makes a constant of it. */
static inline bool starts_with(const char *at, const char *literal, unsigned length)
{
    return iso_bytes_load(at, length) == iso_bytes_load(literal, length);
}

/* A letter's kind of operation; false: none, or one that is not plain. */
static inline bool kind_of(char letter, uint8_t *kind)
{
    static const char letters[8] = {
        [0] = 'a', [1] = 'a', [2] = 'r', [7] = 'w'}; /* [0]: none ends in 0, NUL does */
    static const uint8_t kinds[8] = {[1] = ISO_APPEND, [2] = ISO_READ, [7] = ISO_WRITE};
    *kind = kinds[letter & 7];
    return letters[letter & 7] == letter;
}

/* The kind of the operation at `at`; `*key`: where its key stands. False: another shape. */
static ALWAYS_INLINE bool start(const struct shape *shape, const char *at, uint8_t *kind,
                                const char **key)
{
    *key = at + shape->kind_length + 1 + shape->key_length;
    return starts_with(at, shape->kind, shape->kind_length) &&
           starts_with(at + shape->kind_length + 1, shape->key, shape->key_length) &&
           kind_of(at[shape->kind_length], kind);
}

static inline void add_operation(struct iso_history *history, uint8_t kind, iso_atom key,
                                 iso_atom value)
{
    uint32_t operation = history->ops.count++,
             known = iso_atom_index_known(history->keys.index, key);
    history->ops.kind[operation] = kind;
    history->ops.value[operation] = value;
    history->ops.key[operation] = known != ISO_NONE ? known : iso_history_key(history, key);
}

/* ---- runs of integers ---- */

/* One to eight digits without a leading zero, else 0. */
static inline unsigned short_number(const char *at, uint64_t *number)
{
    unsigned count = iso_bytes_digits(at, number);
    return *at == '0' && count > 1 ? 0 : count;
}

/* Adds operations from `at` on, as long as they are of this shape; returns the byte behind the last
 * one, NULL if there was none. */
static ALWAYS_INLINE const char *read_run(const struct shape *shape, const char *at,
                                          const char *end, struct iso_history *history)
{
    const char *behind = NULL, *key_at;
    for (;; at = behind - 1 + shape->next) {
        const char *close = at + iso_bytes_find(at, '}', shape->window);
        uint64_t key, value;
        uint8_t kind;
        if (close >= end || !start(shape, at, &kind, &key_at))
            return behind;
        unsigned key_digits = short_number(key_at, &key);
        const char *value_at = key_at + key_digits;
        if (!key_digits || !starts_with(value_at, shape->value, shape->value_length))
            return behind;
        value_at += shape->value_length;
        unsigned value_digits = short_number(value_at, &value);
        if (!value_digits && kind != ISO_APPEND && starts_with(value_at, "null    ", 4)) {
            value_digits = 4;
            value = ISO_ABSENT;
        }
        if (!value_digits || value_at + value_digits != close)
            return behind;
        if (history->ops.count == history->ops.capacity)
            iso_history_reserve_operations(history, 1);
        add_operation(history, kind, (iso_atom)key, (iso_atom)value);
        behind = close + 1;
        if (close[shape->next] != '{' || close[1] != ',')
            return behind;
    }
}

/* ---- one operation ---- */

/* A key or a value that is a plain number, or a string of ASCII without escapes. Returns the byte
 * behind it, or NULL: something else, and nothing was taken. Reads at most 32 bytes from `at`, or
 * to `end` + 16. */
static inline const char *plain_atom(const char *at, const char *end, struct iso_atoms *atoms,
                                     iso_atom *atom)
{
    uint64_t number;
    unsigned digits = iso_json_digits(at, &number), plain;
    if (digits) {
        *atom = iso_atoms_unsigned(atoms, number);
        return at + digits;
    }
    if (*at++ != '"')
        return NULL;
    const char *first = at;
    do {
        plain = iso_bytes_special(at);
        at += plain;
    } while (plain == 16 && at < end);
    if (at >= end || *at != '"')
        return NULL;
    *atom = iso_atoms_text(atoms, first, (size_t)(at - first));
    return at + 1;
}

/* A read or write of any plain value or null, an append of any plain value. Returns the byte behind
 * it, or NULL, having added nothing, if it is anything else. */
static ALWAYS_INLINE const char *read_one(const struct shape *shape, const char *at,
                                          const char *end, struct iso_history *history)
{
    iso_atom key, value = ISO_ABSENT;
    uint8_t kind;
    if (!start(shape, at, &kind, &at))
        return NULL;
    at = plain_atom(at, end, &history->atoms, &key);
    if (!at || at >= end || !starts_with(at, shape->value, shape->value_length))
        return NULL;
    at += shape->value_length;
    if (kind != ISO_APPEND && starts_with(at, "null    ", 4))
        at += 4;
    else
        at = plain_atom(at, end, &history->atoms, &value);
    if (!at || at >= end || *at != '}')
        return NULL;
    if (history->ops.count == history->ops.capacity)
        iso_history_reserve_operations(history, 1);
    add_operation(history, kind, key, value);
    return at + 1;
}

/* ---- both ---- */

bool native_read_plain(struct iso_json *json, struct iso_history *history)
{
    bool is_loose = json->at[5] == ' ';
    const char *behind = is_loose ? read_run(&loose, json->at, json->end, history)
                                  : read_run(&tight, json->at, json->end, history);
    if (!behind)
        behind = is_loose ? read_one(&loose, json->at, json->end, history)
                          : read_one(&tight, json->at, json->end, history);
    if (behind)
        json->at = behind;
    return behind;
}
