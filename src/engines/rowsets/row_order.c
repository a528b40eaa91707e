/* The rows of a table in the order of their keys: a list of chunks, each full chunk of which
 * becomes two.
 *
 *     | 3 7 8 |  | 12 15 |  | 20 b x |        integers by size, before texts by bytes; part by part
 *
 * That order is a type's own only where the parts at one position are of one sort: all integers, or
 * all texts. As far as that is so, bounds are found by bisection; else all rows are looked at. */
#include <assert.h>
#include <string.h>

#include "base/sorted.h"
#include "rowsets/rowsets_private.h"

static int compare_numbers(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

int rowsets_compare_rows(const struct iso_rowsets *engine, const struct rowsets_row *left,
                         const struct rowsets_row *right)
{
    assert(left->table == right->table);
    char buffers[2][ISO_ATOM_TEXT_MAX];
    if (engine->store.tables[left->table].is_plain)
        return iso_atom_compare(&engine->atoms, left->parts, right->parts);
    if (left->is_number && right->is_number)
        return compare_numbers(left->number, right->number);
    return iso_key_compare(rowsets_text(&engine->atoms, left->parts, buffers[0]),
                           rowsets_text(&engine->atoms, right->parts, buffers[1]));
}

/* ---- which sorts of parts there are ---- */

static void count_parts(struct iso_rowsets *engine, const struct rowsets_row *row, uint32_t by)
{
    struct rowsets_table *table = &engine->store.tables[row->table];
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text rest = rowsets_text(&engine->atoms, row->parts, buffer), part;
    uint32_t count = 0;
    int64_t number;
    for (; !table->is_plain && iso_key_take_part(&rest, &part); count++) {
        if (count >= ISO_KEY_PARTS)
            continue;
        struct rowsets_part *sorts = &table->parts[count];
        bool is_number = iso_key_read_integer(part, &number);
        sorts->integers += is_number ? by : 0;
        sorts->texts += is_number ? 0 : by;
        sorts->negatives += is_number && number < 0 ? by : 0;
    }
    if (!table->part_count)
        table->part_count = count;
    table->odd_keys += count != table->part_count ? by : 0;
}

/* ---- the list ---- */

static const struct rowsets_row *row_at(const struct iso_rowsets *engine,
                                        const struct rowsets_table *table, uint32_t chunk,
                                        uint32_t at)
{
    return &engine->store.rows[table->chunks[chunk].rows[at]];
}

/* The first cursor whose row `comes_before`, an expression in `row_`, is not true of: in the last
 * chunk that begins with one of which it `begins_before`. */
#define FIND_PLACE(engine, table, begins_before, comes_before)                                     \
    ({                                                                                             \
        const struct rowsets_row *row_;                                                            \
        uint32_t low_ = 0, high_ = (table)->chunk_count, chunk_, at_ = 0;                          \
        ISO_BISECT(low_, high_, middle_,                                                           \
                   (row_ = row_at(engine, table, middle_, 0), begins_before));                     \
        chunk_ = low_ ? low_ - 1 : 0;                                                              \
        high_ = (table)->chunk_count ? (table)->chunks[chunk_].count : 0;                          \
        ISO_BISECT(at_, high_, middle_,                                                            \
                   (row_ = row_at(engine, table, chunk_, middle_), comes_before));                 \
        (struct rowsets_cursor){chunk_, at_};                                                      \
    })

/* Where the row stands, or would: in the last chunk that begins at or before it. */
static struct rowsets_cursor cursor_of(const struct iso_rowsets *engine,
                                       const struct rowsets_table *table,
                                       const struct rowsets_row *row)
{
    return FIND_PLACE(engine, table, rowsets_compare_rows(engine, row_, row) <= 0,
                      rowsets_compare_rows(engine, row_, row) < 0);
}

static void insert_chunk(struct rowsets_table *table, uint32_t at)
{
    assert(at <= table->chunk_count);
    ISO_GROW(table->chunks, table->chunk_count, table->chunk_capacity);
    memmove(table->chunks + at + 1, table->chunks + at,
            (table->chunk_count - at) * sizeof *table->chunks);
    table->chunks[at].count = 0;
    table->chunk_count++;
}

/* The upper half goes to a chunk behind it; where rows come in order, only what is behind the
 * cursor does. */
static void split_chunk(struct rowsets_table *table, struct rowsets_cursor *cursor)
{
    assert(table->chunks[cursor->chunk].count == ROWSETS_CHUNK);
    insert_chunk(table, cursor->chunk + 1);
    struct rowsets_chunk *full = &table->chunks[cursor->chunk], *next = full + 1;
    uint32_t kept = cursor->at == full->count ? full->count - 1 : full->count / 2;
    next->count = full->count - kept;
    memcpy(next->rows, full->rows + kept, next->count * sizeof *next->rows);
    full->count = kept;
    if (cursor->at > kept) {
        cursor->chunk++;
        cursor->at -= kept;
    }
}

void rowsets_order_add(struct iso_rowsets *engine, uint32_t number)
{
    const struct rowsets_row *row = &engine->store.rows[number];
    struct rowsets_table *table = &engine->store.tables[row->table];
    struct rowsets_cursor cursor = cursor_of(engine, table, row);
    if (!table->chunk_count)
        insert_chunk(table, 0);
    if (table->chunks[cursor.chunk].count == ROWSETS_CHUNK)
        split_chunk(table, &cursor);
    struct rowsets_chunk *chunk = &table->chunks[cursor.chunk];
    assert(cursor.at <= chunk->count && chunk->count < ROWSETS_CHUNK);
    memmove(chunk->rows + cursor.at + 1, chunk->rows + cursor.at,
            (chunk->count - cursor.at) * sizeof *chunk->rows);
    chunk->rows[cursor.at] = number;
    chunk->count++;
    table->row_count++;
    count_parts(engine, row, 1);
}

void rowsets_order_remove(struct iso_rowsets *engine, uint32_t number)
{
    const struct rowsets_row *row = &engine->store.rows[number];
    struct rowsets_table *table = &engine->store.tables[row->table];
    struct rowsets_cursor cursor = cursor_of(engine, table, row);
    struct rowsets_chunk *chunk = &table->chunks[cursor.chunk];
    assert(cursor.at < chunk->count && chunk->rows[cursor.at] == number && table->row_count);
    chunk->count--;
    memmove(chunk->rows + cursor.at, chunk->rows + cursor.at + 1,
            (chunk->count - cursor.at) * sizeof *chunk->rows);
    if (!chunk->count) {
        table->chunk_count--;
        memmove(chunk, chunk + 1, (table->chunk_count - cursor.chunk) * sizeof *chunk);
    }
    table->row_count--;
    count_parts(engine, row, ISO_NONE);
    if (!table->row_count)
        table->part_count = 0;
}

/* ---- bounds ---- */

static bool is_count_type(uint8_t kind)
{
    return kind == ISO_VALUE_DATE || kind == ISO_VALUE_TIMESTAMP || kind == ISO_VALUE_TIME;
}

/* Whether all integers at this position are in the order of the type. */
static bool orders_integers(const struct iso_scalar_type *type, const struct rowsets_part *sorts)
{
    uint8_t kind = type->value.kind;
    if (kind == ISO_VALUE_INTEGER_64)
        return type->is_signed || !sorts->negatives;
    return kind == ISO_VALUE_UNKNOWN || kind == ISO_VALUE_ANY || kind == ISO_VALUE_INTEGER ||
           kind == ISO_VALUE_DECIMAL || kind == ISO_VALUE_NUMERIC || is_count_type(kind);
}

/* How many parts of the bound the index has in its order. */
static uint32_t ordered_parts(const struct rowsets_table *table, const struct iso_bounds *bounds,
                              const struct iso_bound *bound)
{
    uint32_t count = 0;
    if (table->odd_keys || bounds->part_count != table->part_count)
        return 0;
    for (; count < bound->count; count++) {
        const struct rowsets_part *sorts = &table->parts[count];
        const struct iso_scalar *part = &bound->parts[count];
        bool is_number = part->kind == ISO_SCALAR_INTEGER || part->kind == ISO_SCALAR_COUNT;
        bool is_text = part->kind == ISO_SCALAR_TEXT && part->text_order == ISO_TEXT_ORDERED;
        if (!(is_number && !sorts->texts && orders_integers(&bounds->types[count], sorts)) &&
            !(is_text && !sorts->integers))
            break;
    }
    return count;
}

static int compare_text(struct iso_json_text part, const struct iso_scalar *other)
{
    bool is_damaged = false;
    for (size_t i = 0;; i++) {
        int byte = iso_key_next_byte(&part, &is_damaged),
            bound = i < other->length ? (unsigned char)other->text[i] : -1;
        if (byte != bound || byte < 0)
            return byte - bound;
    }
}

static int compare_with(const struct iso_rowsets *engine, const struct rowsets_row *row,
                        const struct iso_bound *bound, uint32_t count)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text rest, part;
    if (row->is_number && bound->parts[0].kind != ISO_SCALAR_TEXT)
        return compare_numbers(row->number, bound->parts[0].number);
    rest = rowsets_text(&engine->atoms, row->parts, buffer);
    for (uint32_t i = 0; i < count && iso_key_take_part(&rest, &part); i++) {
        const struct iso_scalar *other = &bound->parts[i];
        int64_t number = 0;
        int order;
        if (other->kind == ISO_SCALAR_TEXT) {
            order = compare_text(part, other);
        } else {
            iso_key_read_integer(part, &number);
            order = compare_numbers(number, other->number);
        }
        if (order)
            return order;
    }
    return 0;
}

/* The first cursor whose row is not before the bound; `behind`: that is behind it. */
static struct rowsets_cursor cursor_at(const struct iso_rowsets *engine,
                                       const struct rowsets_table *table,
                                       const struct iso_bound *bound, uint32_t count, bool behind)
{
    return FIND_PLACE(engine, table, compare_with(engine, row_, bound, count) < (int)behind,
                      compare_with(engine, row_, bound, count) < (int)behind);
}

void rowsets_order_narrow(const struct iso_rowsets *engine, const struct rowsets_table *table,
                          const struct iso_bounds *bounds, struct rowsets_cursor *from,
                          struct rowsets_cursor *to)
{
    *from = (struct rowsets_cursor){0, 0};
    *to = (struct rowsets_cursor){table->chunk_count, 0};
    uint32_t count = bounds ? ordered_parts(table, bounds, &bounds->from) : 0;
    if (count)
        *from = cursor_at(engine, table, &bounds->from, count, false);
    count = bounds ? ordered_parts(table, bounds, &bounds->to) : 0;
    if (count)
        *to = cursor_at(engine, table, &bounds->to, count, true);
}

/* How the row's key stands to the bound of a range. */
static int compare_plain(const struct iso_rowsets *engine, const struct rowsets_row *row,
                         iso_atom bound)
{
    return iso_atom_compare(&engine->atoms, row->parts, bound);
}

static struct rowsets_cursor plain_cursor(const struct iso_rowsets *engine,
                                          const struct rowsets_table *table, iso_atom bound,
                                          bool behind)
{
    return FIND_PLACE(engine, table, compare_plain(engine, row_, bound) < (int)behind,
                      compare_plain(engine, row_, bound) < (int)behind);
}

void rowsets_order_narrow_plain(const struct iso_rowsets *engine, const struct rowsets_table *table,
                                iso_atom from, iso_atom to, struct rowsets_cursor *first,
                                struct rowsets_cursor *end)
{
    *first = from == ISO_ABSENT ? (struct rowsets_cursor){0, 0}
                                : plain_cursor(engine, table, from, false);
    *end = to == ISO_ABSENT ? (struct rowsets_cursor){table->chunk_count, 0}
                            : plain_cursor(engine, table, to, true);
}
