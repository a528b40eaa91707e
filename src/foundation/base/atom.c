#include "base/atom.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/index.h"

void iso_atoms_init(struct iso_atoms *atoms)
{
    memset(atoms, 0, sizeof *atoms);
}

void iso_atoms_release(struct iso_atoms *atoms)
{
    ISO_FREE_COLUMN(atoms->entries, atoms->capacity);
    iso_column_free(atoms->text, atoms->text_capacity);
    iso_index_release(&atoms->table);
    iso_atoms_init(atoms);
}

void iso_atoms_clear(struct iso_atoms *atoms)
{
    if (atoms->count)
        iso_index_clear(&atoms->table);
    atoms->count = 0;
    atoms->text_size = 0;
}

/* The atom that is looked up: an integer or a string, in the form that an entry would have. */
struct probe {
    uint32_t form;
    uint64_t payload; /* integers only */
    const char *text; /* strings only */
    uint32_t hash;
};

static struct probe probe_integer(uint64_t bits, bool negative)
{
    uint32_t form = negative ? ISO_FORM_NEGATIVE : ISO_FORM_UNSIGNED;
    return (struct probe){
        .form = form, .payload = bits, .hash = iso_atom_new_hash(form, bits, NULL)};
}

static struct probe probe_string(const char *text, size_t length)
{
    assert(length < ISO_FORM_NEGATIVE);
    uint32_t form = (uint32_t)length;
    return (struct probe){.form = form, .text = text, .hash = iso_atom_new_hash(form, 0, text)};
}

static bool entry_equals(const struct iso_atoms *atoms, uint32_t index, const struct probe *probe)
{
    if (atoms->entries[index].form != probe->form)
        return false;
    if (probe->form >= ISO_FORM_NEGATIVE)
        return atoms->entries[index].payload == probe->payload;
    return !probe->form ||
           memcmp(atoms->text + atoms->entries[index].payload, probe->text, probe->form) == 0;
}

/* The entry of the probe; false: there is none, and a new one's place in the table is `*at`. */
static bool find_entry(const struct iso_atoms *atoms, const struct probe *probe, uint32_t *at,
                       uint32_t *entry)
{
    for (*at = iso_index_home(probe->hash); iso_index_next(&atoms->table, at, probe->hash, entry);
         ++*at) {
        if (entry_equals(atoms, *entry, probe))
            return true;
    }
    return false;
}

bool iso_atom_rehash(struct iso_atoms *atoms, uint32_t index)
{
    struct iso_atom_entry *entry = &atoms->entries[index];
    bool is_text = entry->form < ISO_FORM_NEGATIVE;
    if (is_text &&
        (entry->payload > atoms->text_size || entry->form > atoms->text_size - entry->payload))
        return false;
    entry->hash = iso_atom_new_hash(entry->form, entry->payload,
                                    is_text ? atoms->text + entry->payload : NULL);
    return true;
}

/* The hashes of another process are in its slots. */
bool iso_atoms_refill(struct iso_atoms *atoms)
{
    if (!atoms->table.slots) /* of an engine, which has its own */
        return true;
    iso_index_clear(&atoms->table);
    for (uint32_t i = 0; i < atoms->count; i++) {
        if (!iso_atom_rehash(atoms, i))
            return false;
        iso_index_add(&atoms->table, atoms->entries[i].hash, i);
    }
    return true;
}

static void reserve_entry(struct iso_atoms *atoms)
{
    if (atoms->count < atoms->capacity)
        return;
    size_t old = atoms->capacity, next = iso_column_capacity(old, old + 1);
    if (next > ISO_ATOM_TABLE - 1)
        iso_out_of_memory(next * sizeof *atoms->entries);
    ISO_COLUMN_RESIZE(atoms->entries, old, next);
    atoms->capacity = (uint32_t)next;
}

static uint64_t store_text(struct iso_atoms *atoms, const char *text, size_t length)
{
    size_t need = atoms->text_size + length;
    ISO_GROW_COLUMN(
        atoms->text, need,
        atoms->text_capacity); /* also for the empty string: `text` is then never NULL */
    if (length)
        memcpy(atoms->text + atoms->text_size, text, length);
    atoms->text_size = need;
    return need - length;
}

static iso_atom intern(struct iso_atoms *atoms, const struct probe *probe)
{
    uint32_t at, index;
    iso_index_reserve(&atoms->table, 1);
    if (find_entry(atoms, probe, &at, &index))
        return index | ISO_ATOM_TABLE;
    reserve_entry(atoms);
    index = atoms->count++;
    atoms->entries[index] = (struct iso_atom_entry){
        probe->form >= ISO_FORM_NEGATIVE ? probe->payload
                                         : store_text(atoms, probe->text, probe->form),
        probe->form, probe->hash};
    iso_index_fill(&atoms->table, at, probe->hash, index);
    return index | ISO_ATOM_TABLE;
}

iso_atom iso_atoms_add_integer(struct iso_atoms *atoms, uint64_t bits, bool negative)
{
    if (!negative && bits < ISO_ATOM_TABLE)
        return (iso_atom)bits;
    struct probe probe = probe_integer(bits, negative);
    return intern(atoms, &probe);
}

iso_atom iso_atoms_add_string(struct iso_atoms *atoms, const char *text, size_t length)
{
    struct probe probe = probe_string(text, length);
    return intern(atoms, &probe);
}

/* Two's complement; false if it does not fit 64 bits. */
static inline bool signed_number(uint64_t value, bool negative, uint64_t *bits)
{
    *bits = negative ? 0 - value : value;
    return !negative || value <= (uint64_t)1 << 63;
}

/* Canonical decimal: no sign but a leading '-', no leading zero, no "-0", and the value fits in 64
 * bits. */
static bool parse_canonical(const char *text, size_t length, uint64_t *bits, bool *negative)
{
    size_t i = 0;
    *negative = length > 1 && text[0] == '-';
    if (*negative)
        i = 1;
    size_t digits = length - i;
    if (digits == 0 || digits > 20 || (text[i] == '0' && (digits > 1 || *negative)))
        return false;
    uint64_t value;
    return iso_bytes_decimal(text + i, digits, &value) && signed_number(value, *negative, bits);
}

iso_atom iso_atoms_text(struct iso_atoms *atoms, const char *text, size_t length)
{
    uint64_t bits;
    bool negative;
    if (length - 1 < 10 && ((unsigned char)(*text - '1') < 9 || length == 1) &&
        iso_bytes_number(text, length, &bits) && bits < ISO_ATOM_TABLE) /* as most numbers are */
        return (iso_atom)bits;
    if (parse_canonical(text, length, &bits, &negative))
        return iso_atoms_add_integer(atoms, bits, negative);
    return iso_atoms_add_string(atoms, text, length);
}

bool iso_atoms_find(const struct iso_atoms *atoms, const char *text, size_t length, iso_atom *found)
{
    uint64_t bits;
    bool negative;
    struct probe probe;
    if (parse_canonical(text, length, &bits, &negative)) {
        if (!negative && bits < ISO_ATOM_TABLE) {
            *found = (iso_atom)bits;
            return true;
        }
        probe = probe_integer(bits, negative);
    } else {
        probe = probe_string(text, length);
    }
    uint32_t at, index;
    if (!find_entry(atoms, &probe, &at, &index))
        return false;
    *found = index | ISO_ATOM_TABLE;
    return true;
}

iso_atom iso_atoms_copy(struct iso_atoms *into, const struct iso_atoms *from, iso_atom atom)
{
    if (!(atom & ISO_ATOM_TABLE) || atom == ISO_ABSENT || into == from)
        return atom;
    const struct iso_atom_entry *entry = &from->entries[atom & ~ISO_ATOM_TABLE];
    struct probe probe = {entry->form, entry->payload,
                          entry->form < ISO_FORM_NEGATIVE ? from->text + entry->payload : NULL,
                          entry->hash};
    return intern(into, &probe);
}

static const char *integer_text(uint64_t bits, bool negative, char buffer[ISO_ATOM_TEXT_MAX],
                                size_t *length)
{
    char *end = buffer + ISO_ATOM_TEXT_MAX - 1, *at = end;
    uint64_t magnitude = negative ? 0 - bits : bits;
    *end = 0;
    do {
        *--at = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude);
    if (negative)
        *--at = '-';
    *length = (size_t)(end - at);
    return at;
}

const char *iso_atom_text(const struct iso_atoms *atoms, iso_atom atom,
                          char buffer[ISO_ATOM_TEXT_MAX], size_t *length)
{
    assert(atom != ISO_ABSENT);
    if (!(atom & ISO_ATOM_TABLE))
        return integer_text(atom, false, buffer, length);
    uint32_t index = atom & ~ISO_ATOM_TABLE, form = atoms->entries[index].form;
    if (form >= ISO_FORM_NEGATIVE)
        return integer_text(atoms->entries[index].payload, form == ISO_FORM_NEGATIVE, buffer,
                            length);
    *length = form;
    return atoms->text + atoms->entries[index].payload;
}

/* 0 negative integer, 1 other integer, 2 string, 3 absent; integers also give their 64 bits. */
static int rank_of(const struct iso_atoms *atoms, iso_atom atom, uint64_t *bits)
{
    *bits = atom;
    if (atom == ISO_ABSENT)
        return 3;
    if (!(atom & ISO_ATOM_TABLE))
        return 1;
    uint32_t form = atoms->entries[atom & ~ISO_ATOM_TABLE].form;
    *bits = atoms->entries[atom & ~ISO_ATOM_TABLE].payload;
    return form == ISO_FORM_NEGATIVE ? 0 : form == ISO_FORM_UNSIGNED ? 1 : 2;
}

int iso_atom_compare(const struct iso_atoms *atoms, iso_atom left, iso_atom right)
{
    uint64_t left_bits, right_bits;
    if (left == right)
        return 0;
    int left_rank = rank_of(atoms, left, &left_bits),
        right_rank = rank_of(atoms, right, &right_bits);
    if (left_rank != right_rank)
        return left_rank < right_rank ? -1 : 1;
    if (left_rank < 2)
        return left_bits < right_bits ? -1 : left_bits > right_bits;
    uint32_t left_length = atoms->entries[left & ~ISO_ATOM_TABLE].form,
             right_length = atoms->entries[right & ~ISO_ATOM_TABLE].form;
    uint32_t common = left_length < right_length ? left_length : right_length;
    int order = memcmp(atoms->text + left_bits, atoms->text + right_bits, common);
    return order ? order : left_length < right_length ? -1 : 1;
}
