/* Where rows, transactions and records live, and the texts that they refer to.
 *
 * Columns with free lists: nothing is allocated once the most that ever waited was reached. Texts
 * of values, ids and tids have a table that is built anew from what is referred to when most of it
 * is not.
 */
#include <assert.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cell_key.h"
#include "base/memory.h"
#include "join/join_private.h"

#ifdef ISO_VALIDATE
enum { REBUILD_FROM = 1 << 4, GROWN = 2 }; /* so that small streams do it, too, and often */
#else
enum { REBUILD_FROM = 1 << 16, GROWN = 4 };
#endif

/* ---- texts and keys ---- */

static void reserve_caches(struct iso_join *join, const struct iso_history *block)
{
    uint32_t count = block->atoms.count;
    if (join->scratch.cache.block != block) {
        join->scratch.cache.block = block;
        join->scratch.cache.count = 0;
        join->scratch.cache.connector = ISO_ABSENT;
    }
    if (count > join->scratch.cache.capacity) {
        join->scratch.cache.capacity =
            (uint32_t)iso_column_capacity(join->scratch.cache.capacity, count);
        join->scratch.cache.texts =
            iso_reallocate(join->scratch.cache.texts,
                           join->scratch.cache.capacity * sizeof *join->scratch.cache.texts);
        join->scratch.cache.keys =
            iso_reallocate(join->scratch.cache.keys,
                           join->scratch.cache.capacity * sizeof *join->scratch.cache.keys);
    }
    if (count > join->scratch.cache.count) {
        memset(join->scratch.cache.texts + join->scratch.cache.count, 0,
               (count - join->scratch.cache.count) * sizeof *join->scratch.cache.texts);
        memset(join->scratch.cache.keys + join->scratch.cache.count, 0,
               (count - join->scratch.cache.count) * sizeof *join->scratch.cache.keys);
        join->scratch.cache.count = count;
    }
}

static void reserve_keys(struct iso_join *join)
{
    if (join->keys.names.keys.count < join->keys.capacity)
        return;
    uint32_t old = join->keys.capacity;
    ISO_GROW_COLUMN(join->keys.list, join->keys.names.keys.count, join->keys.capacity);
    for (uint32_t i = old; i < join->keys.capacity; i++)
        join->keys.list[i] = join_key_new;
}

uint32_t join_key_number(struct iso_join *join, const struct iso_history *block, iso_atom key)
{
    uint32_t entry = key & ~ISO_ATOM_TABLE;
    bool cached = (key & ISO_ATOM_TABLE) != 0;
    if (cached) {
        reserve_caches(join, block);
        if (join->scratch.cache.keys[entry])
            return join->scratch.cache.keys[entry] - 1;
    }
    uint32_t number = join_key_find(join, &block->atoms, key);
    if (cached)
        join->scratch.cache.keys[entry] = number + 1;
    return number;
}

bool join_is_caseless(const struct iso_join *join, const struct iso_atoms *atoms, iso_atom key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!join->options.is_caseless || key == ISO_ABSENT)
        return false;
    const char *text = iso_atom_text(atoms, key, buffer, &length);
    return join->options.is_caseless(join->options.context, text, length);
}

/* Where the name of a cell's column begins. */
static size_t end_of_row(const struct iso_join *join, const char *text, const char *slash,
                         size_t length)
{
    bool has_cells = slash && join->options.has_cells &&
                     join->options.has_cells(join->options.context, text, (size_t)(slash - text));
    const char *mark = has_cells ? memchr(text, ISO_CELL_MARK, length) : NULL;
    return mark ? (size_t)(mark - text) : length;
}

/* The key in small letters, each of its columns without blanks at its end: one of those that are
 * equal to it. */
static iso_atom fold_key(struct iso_join *join, const struct iso_atoms *atoms, iso_atom key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length, used;
    const char *text = iso_atom_text(atoms, key, buffer, &length);
    const char *slash = memchr(text, '/', length);
    size_t end = end_of_row(join, text, slash, length);
    char *folded = iso_allocate(length + 1);
    used = slash ? (size_t)(slash - text) + 1 : length;
    memcpy(folded, text, used);
    size_t column = used;
    for (size_t i = used; i < end; i++) {
        bool is_capital = text[i] >= 'A' && text[i] <= 'Z';
        while (text[i] == ',' && used > column && folded[used - 1] == ' ')
            used--;
        folded[used++] = (char)(is_capital ? text[i] | 0x20 : text[i]);
        column = text[i] == ',' ? used : column;
    }
    while (used > column && folded[used - 1] == ' ')
        used--;
    memcpy(folded + used, text + end, length - end);
    used += length - end;
    iso_atom atom = iso_atoms_text(&join->keys.names.atoms, folded, used);
    iso_free(folded);
    return atom;
}

static bool is_header(const struct iso_join *join, uint32_t key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text =
        iso_atom_text(&join->keys.names.atoms, join->keys.names.keys.atom[key], buffer, &length);
    return iso_history_is_header(text, length);
}

uint32_t join_key_of(struct iso_join *join, iso_atom own)
{
    uint32_t number = iso_history_key(&join->keys.names, own);
    reserve_keys(join);
    if (join->keys.list[number].of_table == ISO_NONE) {
        join->keys.list[number].of_table =
            join_table_of_key(join, join->keys.names.keys.atom[number]);
        join->keys.list[number].is_header = is_header(join, number);
        join_note_part(join, number);
    }
    return number;
}

uint32_t join_key_find(struct iso_join *join, const struct iso_atoms *atoms, iso_atom key)
{
    return join_key_of(join, join_is_caseless(join, atoms, key)
                                 ? fold_key(join, atoms, key)
                                 : iso_atoms_copy(&join->keys.names.atoms, atoms, key));
}

uint32_t join_key_kept(struct iso_join *join, uint32_t o)
{
    const struct iso_history *kept = &join->records.kept;
    struct join_numbers *numbers = &join->scratch.of_kept;
    uint32_t key = kept->ops.key[o];
    if (key >= numbers->count) {
        ISO_RESERVE(numbers->list, kept->keys.count, numbers->capacity);
        memset(numbers->list + numbers->count, 0,
               (kept->keys.count - numbers->count) * sizeof *numbers->list);
        numbers->count = kept->keys.count;
    }
    if (!numbers->list[key])
        numbers->list[key] = 1 + join_key_find(join, &kept->atoms, kept->keys.atom[key]);
    return numbers->list[key] - 1;
}

iso_atom join_text(struct iso_join *join, const struct iso_history *block, iso_atom text)
{
    uint32_t entry = text & ~ISO_ATOM_TABLE;
    if (!(text & ISO_ATOM_TABLE) || text == ISO_ABSENT)
        return text;
    reserve_caches(join, block);
    if (!join->scratch.cache.texts[entry])
        join->scratch.cache.texts[entry] = iso_atoms_copy(&join->texts.atoms, &block->atoms, text);
    return join->scratch.cache.texts[entry];
}

/* Digest of the atom's text: the same in every process. */
uint32_t join_digest(const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!(atom & ISO_ATOM_TABLE) || atom == ISO_ABSENT)
        return (uint32_t)(((uint64_t)atom + 1) * 0x9e3779b97f4a7c15u >> 32);
    const char *text = iso_atom_text(atoms, atom, buffer, &length);
    return (uint32_t)XXH3_64bits(text, length);
}

/* ---- rows ---- */

uint32_t join_new_row(struct iso_join *join, struct join_chain *chain)
{
    uint32_t row = join->rows.free;
    if (row != ISO_NONE) {
        join->rows.free = join->rows.list[row].next;
    } else {
        ISO_GROW_COLUMN(join->rows.list, join->rows.count, join->rows.capacity);
        row = join->rows.count++;
    }
    join->rows.list[row] =
        (struct join_row){.next = ISO_NONE, .before = ISO_ABSENT, .after = ISO_ABSENT};
    if (chain->count++)
        join->rows.list[chain->last].next = row;
    else
        chain->first = row;
    chain->last = row;
    join->rows.in_use++;
    return row;
}

void join_free_rows(struct iso_join *join, struct join_chain *chain)
{
    if (chain->count) {
        join->rows.list[chain->last].next = join->rows.free;
        join->rows.free = chain->first;
        join->rows.in_use -= chain->count;
    }
    *chain = (struct join_chain){ISO_NONE, ISO_NONE, 0};
}

/* ---- transactions ---- */

uint32_t join_new_transaction(struct iso_join *join, struct join_identity identity)
{
    uint32_t number = join->open.free;
    assert(identity.tag && join_map_get(&join->open.by_identity, identity) == ISO_NONE);
    if (number != ISO_NONE) {
        join->open.free = join->open.list[number].newer;
    } else {
        ISO_GROW_COLUMN(join->open.list, join->open.count, join->open.capacity);
        number = join->open.count++;
    }
    join->open.list[number] = (struct join_transaction){.identity = identity,
                                                        .rows = {ISO_NONE, ISO_NONE, 0},
                                                        .markers = {ISO_NONE, ISO_NONE, 0},
                                                        .last_others = {ISO_NONE, ISO_NONE, 0},
                                                        .counted = {ISO_NONE, ISO_NONE, 0},
                                                        .altered = {ISO_NONE, ISO_NONE, 0},
                                                        .older = join->open.newest,
                                                        .newer = ISO_NONE,
                                                        .stamp = ++join->open.stamps,
                                                        .cursor = ISO_NONE,
                                                        .origin = UINT64_MAX,
                                                        .arrived = join->progress.now};
    if (join->open.newest != ISO_NONE)
        join->open.list[join->open.newest].newer = number;
    else
        join->open.oldest = number;
    join->open.newest = number;
    join->open.waiting++;
    join_map_put(&join->open.by_identity, identity, number);
    return number;
}

void join_leave_open(struct iso_join *join, uint32_t number)
{
    struct join_transaction *transaction = &join->open.list[number];
    assert(number < join->open.count && transaction->identity.tag);
    if (transaction->flags & JOIN_PLACING)
        return;
    if (transaction->older != ISO_NONE)
        join->open.list[transaction->older].newer = transaction->newer;
    else
        join->open.oldest = transaction->newer;
    if (transaction->newer != ISO_NONE)
        join->open.list[transaction->newer].older = transaction->older;
    else
        join->open.newest = transaction->older;
    join->open.waiting--;
    join_map_remove(&join->open.by_identity, transaction->identity);
    join_forget_markers(join, transaction);
}

void join_forget_transaction(struct iso_join *join, uint32_t number, enum iso_row_class class)
{
    struct join_transaction *transaction = &join->open.list[number];
    assert(number < join->open.count && transaction->identity.tag);
    assert(transaction->dropped + transaction->cells <= transaction->rows.count);
    join->stats.rows_gone[class] += join_messages_of(transaction);
    join_free_rows(join, &transaction->rows);
    join_free_rows(join, &transaction->markers);
    join_free_rows(join, &transaction->last_others);
    join_free_rows(join, &transaction->counted);
    join_free_rows(join, &transaction->altered);
    transaction->identity.tag = 0;
    transaction->newer = join->open.free;
    join->open.free = number;
}

/* ---- records ---- */

uint32_t join_new_record(struct iso_join *join)
{
    uint32_t number = join->records.free;
    if (number != ISO_NONE) {
        join->records.free = join->records.list[number].newer;
    } else {
        ISO_GROW_COLUMN(join->records.list, join->records.count, join->records.capacity);
        number = join->records.count++;
    }
    join->records.list[number] = (struct join_record){.tid = ISO_ABSENT,
                                                      .writes = {ISO_NONE, ISO_NONE, 0},
                                                      .next_equal = ISO_NONE,
                                                      .older = join->records.newest,
                                                      .newer = ISO_NONE,
                                                      .kept = ISO_NONE,
                                                      .arrived = join->progress.now};
    if (join->records.newest != ISO_NONE)
        join->records.list[join->records.newest].newer = number;
    else
        join->records.oldest = number;
    join->records.newest = number;
    join->records.waiting++;
    return number;
}

/* Several records may have one commit timestamp, or one identity that markers gave. */
static bool is_chained(const struct join_record *record, uint32_t i)
{
    return record->identity[i].tag == JOIN_BY_CTS || (!i && (record->flags & JOIN_RECORD_BOUND));
}

/* Rows of its identities will find it. */
void join_enter_claim(struct iso_join *join, uint32_t number)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    for (uint32_t i = 0; i < record->identity_count; i++) {
        uint32_t first = join_map_get(&join->records.by_claim, record->identity[i]);
        if (first != ISO_NONE && is_chained(record, i))
            record->next_equal = first;
        join_map_put(&join->records.by_claim, record->identity[i], number);
    }
}

void join_leave_claim(struct iso_join *join, uint32_t number)
{
    assert(number < join->records.count);
    const struct join_record *record = &join->records.list[number];
    for (uint32_t i = 0; i < record->identity_count; i++) {
        uint32_t first = join_map_get(&join->records.by_claim, record->identity[i]);
        if (first == number && record->next_equal != ISO_NONE && is_chained(record, i)) {
            join_map_put(&join->records.by_claim, record->identity[i], record->next_equal);
        } else if (first == number) {
            join_map_remove(&join->records.by_claim, record->identity[i]);
        } else if (is_chained(record, i)) {
            while (first != ISO_NONE && join->records.list[first].next_equal != number)
                first = join->records.list[first].next_equal;
            if (first != ISO_NONE)
                join->records.list[first].next_equal = record->next_equal;
        }
    }
}

/* The kept transactions that are still needed move to a new history once most are not. */
static void rebuild_kept(struct iso_join *join)
{
    struct iso_history kept;
    if (join->records.kept.txns.count < REBUILD_FROM / 16 ||
        join->records.kept_open > join->records.kept.txns.count / 4)
        return;
    iso_history_init(&kept);
    kept.txns.are_numbered = true;
    for (uint32_t i = 0; i < join->records.count; i++) {
        struct join_record *record = &join->records.list[i];
        if (!(record->flags & JOIN_RECORD_FREE) && record->kept != ISO_NONE)
            record->kept = join_copy_whole(&kept, &join->records.kept, record->kept);
    }
    iso_history_release(&join->records.kept);
    join->records.kept = kept;
    join->scratch.of_kept.count = 0;
    join->records.kept.clock = ISO_CLOCK_SCALAR;
}

static enum iso_record_class class_of(const struct join_record *record)
{
    if (record->status == ISO_ABORTED)
        return ISO_RECORDS_ABORTED;
    if (record->status == ISO_UNKNOWN)
        return ISO_RECORDS_UNKNOWN;
    return record->flags & JOIN_RECORD_GIVEN ? ISO_RECORDS_GIVEN : ISO_RECORDS_UNPLACED;
}

void join_forget_record(struct iso_join *join, uint32_t number)
{
    join_forget_record_as(join, number, class_of(&join->records.list[number]));
}

void join_forget_record_as(struct iso_join *join, uint32_t number, enum iso_record_class class)
{
    struct join_record *record = &join->records.list[number];
    assert(number < join->records.count && !(record->flags & JOIN_RECORD_FREE));
    join->stats.records_gone[class]++;
    join->stats.reads_gone[class] += record->reads;
    join_leave_claim(join, number);
    join_free_rows(join, &record->writes);
    if (record->kept != ISO_NONE)
        join->records.kept_open--;
    if (record->older != ISO_NONE)
        join->records.list[record->older].newer = record->newer;
    else
        join->records.oldest = record->newer;
    if (record->newer != ISO_NONE)
        join->records.list[record->newer].older = record->older;
    else
        join->records.newest = record->older;
    record->flags = JOIN_RECORD_FREE;
    record->kept = ISO_NONE;
    record->newer = join->records.free;
    join->records.free = number;
    join->records.waiting--;
}

/* ---- texts that nothing refers to any more ---- */

static void keep_atom(struct iso_atoms *kept, const struct iso_atoms *all, iso_atom *atom)
{
    if ((*atom & ISO_ATOM_TABLE) && *atom != ISO_ABSENT)
        *atom = iso_atoms_copy(kept, all, *atom);
}

static void keep_rows(struct iso_join *join, struct iso_atoms *kept, const struct join_chain *chain)
{
    for (uint32_t i = 0, row = chain->first; i < chain->count;
         i++, row = join->rows.list[row].next) {
        keep_atom(kept, &join->texts.atoms, &join->rows.list[row].before);
        keep_atom(kept, &join->texts.atoms, &join->rows.list[row].after);
    }
}

static void keep_identity(struct iso_atoms *kept, const struct iso_atoms *all,
                          struct join_identity *identity)
{
    iso_atom atom = (iso_atom)identity->number;
    if (identity->tag != JOIN_BY_TEXT && identity->tag != JOIN_BY_MARKER)
        return;
    keep_atom(kept, all, &atom);
    identity->number = atom;
}

static void keep_transactions(struct iso_join *join, struct iso_atoms *kept)
{
    join_map_release(&join->open.by_identity);
    for (uint32_t i = 0; i < join->open.count; i++) {
        struct join_transaction *transaction = &join->open.list[i];
        if (!transaction->identity.tag)
            continue;
        keep_rows(join, kept, &transaction->rows);
        keep_rows(join, kept, &transaction->markers);
        keep_identity(kept, &join->texts.atoms, &transaction->identity);
        if (transaction->flags & JOIN_PLACING)
            continue;
        join_map_put(&join->open.by_identity, transaction->identity, i);
        join_enter_markers(join, i);
    }
}

static void keep_records(struct iso_join *join, struct iso_atoms *kept)
{
    join_map_release(&join->records.by_claim);
    for (uint32_t i = join->records.oldest; i != ISO_NONE; i = join->records.list[i].newer) {
        struct join_record *record = &join->records.list[i];
        keep_atom(kept, &join->texts.atoms, &record->tid);
        keep_rows(join, kept, &record->writes);
        for (uint32_t j = 0; j < record->identity_count; j++)
            keep_identity(kept, &join->texts.atoms, &record->identity[j]);
        record->next_equal = ISO_NONE;
        join_enter_claim(join, i);
    }
}

static void keep_finished(struct iso_join *join, struct iso_atoms *kept)
{
    struct join_dedup *dedup = &join->dedup;
    uint64_t count =
        dedup->next_entry < JOIN_DEDUP_ENTRIES ? dedup->next_entry : JOIN_DEDUP_ENTRIES;
    if (!dedup->has_texts) /* a million entries to go through */
        return;
    for (uint64_t i = 0; i < count; i++) {
        struct join_dedup_entry *entry = &dedup->entries[i];
        keep_atom(kept, &join->texts.atoms, &entry->tid);
        keep_identity(kept, &join->texts.atoms, &entry->identity);
    }
    join_dedup_index(dedup);
}

void join_rebuild_texts(struct iso_join *join)
{
    struct iso_atoms kept;
    rebuild_kept(join);
    if (join->texts.atoms.count < REBUILD_FROM ||
        join->texts.atoms.count / GROWN < join->texts.kept)
        return;
    iso_atoms_init(&kept);
    keep_transactions(join, &kept);
    keep_records(join, &kept);
    keep_finished(join, &kept);
    for (uint32_t i = 0; i < join->keys.names.keys.count; i++)
        keep_atom(&kept, &join->texts.atoms, &join->keys.list[i].value);
    for (uint32_t i = 0; i < join->carried.count; i++) {
        keep_atom(&kept, &join->texts.atoms, &join->carried.list[i].value);
        keep_atom(&kept, &join->texts.atoms, &join->carried.list[i].was);
    }
    for (uint32_t i = 0; i < join->partitions.count; i++)
        keep_identity(&kept, &join->texts.atoms, &join->partitions.list[i].current);
    keep_identity(&kept, &join->texts.atoms, &join->begun.identity);
    keep_identity(&kept, &join->texts.atoms, &join->end.of);
    iso_atoms_release(&join->texts.atoms);
    join->texts.atoms = kept;
    join->texts.kept = kept.count;
}
