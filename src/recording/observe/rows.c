#include "observe/reading_private.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

enum { CELL_UNKNOWN, CELL_NULL, CELL_TEXT };

struct cell {
    int kind;
    size_t position;
};

static bool read_cells(struct reading *reading, struct wire_cursor row, struct cell *cells)
{
    uint32_t count = wire_u16(&row);
    reading->values.used = 0;
    if (count != reading->fields->count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = wire_u32(&row);
        const uint8_t *bytes = size == UINT32_MAX ? NULL : wire_bytes(&row, size);
        if (row.bad)
            return false;
        if (i >= READING_FIELDS)
            continue;
        const struct result_field *field = &reading->fields->list[i];
        cells[i] = (struct cell){bytes ? CELL_UNKNOWN : CELL_NULL, reading->values.used};
        if (bytes && pg_value_text(field->type, field->is_binary, bytes, size, &reading->spelling,
                                   &reading->values))
            cells[i].kind = CELL_TEXT;
    }
    return true;
}

/* `key` gets the row's key, behind the table's name if `full`. False: it is not known, or there is
 * no row (an outer join). */
static bool put_key(const struct reading *reading, const struct reading_source *source,
                    const struct cell *cells, bool full, char *key, bool *is_absent)
{
    const char *parts[CATALOG_KEY_MOST];
    const struct catalog_table *table = source->table;
    *is_absent = false;
    for (uint32_t i = 0; i < table->key_count; i++) {
        const struct reading_part *part = &source->parts[i];
        if (part->field < 0) {
            parts[i] = reading->texts.bytes + part->position;
            continue;
        }
        const struct cell *cell = &cells[part->field];
        *is_absent |= cell->kind == CELL_NULL;
        parts[i] = reading->values.bytes ? reading->values.bytes + cell->position : "";
        if (cell->kind != CELL_TEXT || !pg_key_part(part->type, parts[i]))
            return false;
    }
    return iso_recorder_row_key(key, KEY_MOST, full ? table->full : NULL, parts, table->key_count);
}

static size_t gather_cells(const struct reading *reading, const struct reading_source *source,
                           const struct cell *cells, const char **names, const char **values)
{
    size_t count = 0;
    for (uint32_t i = 0; i < source->cell_count; i++) {
        const struct cell *cell = &cells[source->cells[i].field];
        if (cell->kind == CELL_UNKNOWN)
            continue;
        names[count] = source->cells[i].name;
        values[count++] = cell->kind == CELL_NULL ? NULL : reading->values.bytes + cell->position;
    }
    return count;
}

static void begin_query(struct reading *reading, struct iso_recorder_session *session)
{
    char table[KEY_MOST];
    assert(reading->sources[0].table);
    reading->has_begun = true;
    const struct catalog_table *asked = reading->sources[0].table;
    if (!iso_recorder_row_key(table, sizeof table, asked->full, NULL, 0)) {
        reading->failed = true;
        return;
    }
    iso_recorder_query_begin(session, table, reading->from, reading->to,
                             *reading->condition.bytes ? reading->condition.bytes : NULL);
    if (reading->mode == READING_BAG) {
        const char *names[READING_FIELDS];
        for (uint32_t i = 0; i < reading->sources[0].cell_count; i++)
            names[i] = reading->sources[0].cells[i].name;
        iso_recorder_query_columns(session, names, reading->sources[0].cell_count);
    }
}

static bool record_aggregates(struct reading *reading, const struct cell *cells,
                              struct iso_recorder_session *session)
{
    const char *name = reading->texts.bytes;
    for (uint32_t i = 0; i < reading->fields->count; i++, name += strlen(name) + 1) {
        const char *earlier = reading->texts.bytes;
        while (earlier < name && strcmp(earlier, name))
            earlier += strlen(earlier) + 1;
        if (earlier < name)
            continue;
        if (cells[i].kind == CELL_UNKNOWN)
            return false;
        iso_recorder_query_aggregate(
            session, name,
            cells[i].kind == CELL_NULL ? NULL : reading->values.bytes + cells[i].position);
    }
    return true;
}

/* The key that the row has is one of those that were asked for. */
static void note_found(struct reading *reading, const struct cell *cells)
{
    const struct reading_part *part = &reading->sources[0].parts[0];
    assert(part->field >= 0);
    for (uint32_t i = 0; i < reading->point_count; i++)
        if (!strcmp(reading->texts.bytes + reading->points[i],
                    reading->values.bytes + cells[part->field].position))
            reading->found[i] = true;
}

/* Keys that were asked for and have no row. */
static void record_absent(struct reading *reading, struct iso_recorder_session *session)
{
    char key[KEY_MOST];
    for (uint32_t i = 0; i < reading->point_count; i++) {
        const char *part = reading->texts.bytes + reading->points[i];
        if (reading->found[i] ||
            !iso_recorder_row_key(key, sizeof key, reading->sources[0].table->full, &part, 1))
            continue;
        iso_recorder_read_no_row(session, key);
        reading->operations++;
        for (uint32_t j = i + 1; j < reading->point_count; j++)
            reading->found[j] |= !strcmp(reading->texts.bytes + reading->points[j], part);
    }
}

static void put_written(struct reading *reading, const char *key,
                        struct iso_recorder_session *session)
{
    if (reading->deletes)
        iso_recorder_delete(session, key);
    else
        iso_recorder_write_row(session, key, NULL, NULL, 0);
    reading->operations++;
}

/* As many rows as matched, of which nothing is known. */
static void record_some(struct reading *reading, struct iso_recorder_session *session)
{
    if (reading->rows)
        iso_recorder_query_columns(session, NULL, 0);
    for (uint64_t i = 0; i < reading->rows && i < READING_ROWS; i++)
        iso_recorder_query_values(session, NULL);
}

static void put_set_row(struct reading *reading, const struct cell *cells,
                        struct iso_recorder_session *session)
{
    const char *names[READING_FIELDS], *values[READING_FIELDS];
    char key[KEY_MOST];
    bool is_absent;
    if (put_key(reading, &reading->sources[0], cells, false, key, &is_absent))
        iso_recorder_query_row(session, key, names, values,
                               gather_cells(reading, &reading->sources[0], cells, names, values));
    else
        reading->failed = true;
}

/* ---- the first rows of an order ---- */

static void hold(struct reading *reading, struct wire_cursor row)
{
    uint32_t size = (uint32_t)(row.end - row.at);
    iso_text_put_bytes(&reading->held, &size, sizeof size);
    iso_text_put_bytes(&reading->held, row.at, size);
}

/* The cells of the row that begins there; where the next one does. 0: it is not understood. */
static uint32_t read_held(struct reading *reading, uint32_t at, struct cell *cells)
{
    uint32_t size;
    const uint8_t *row = (const uint8_t *)reading->held.bytes + at;
    memcpy(&size, row, sizeof size);
    if (!read_cells(reading, wire_cursor(row + sizeof size, size), cells))
        return 0;
    return at + (uint32_t)sizeof size + size;
}

static const char *order_value(const struct reading *reading, uint32_t number,
                               const struct cell *cells)
{
    const struct cell *cell = &cells[reading->orders[number].field];
    return cell->kind == CELL_NULL ? NULL : reading->values.bytes + cell->position;
}

static bool knows_place(const struct reading *reading, const struct cell *cells)
{
    for (uint32_t i = 0; i < reading->order_count; i++)
        if (cells[reading->orders[i].field].kind == CELL_UNKNOWN)
            return false;
    return true;
}

static bool is_as_last(const struct reading *reading, const struct cell *cells)
{
    for (uint32_t i = 0; i < reading->order_count; i++)
        if (!first_is_last(reading, i, order_value(reading, i, cells)))
            return false;
    return true;
}

/* Those of the rows that are before the last one, those that are as far as it, or all. */
enum held { HELD_BEFORE, HELD_AS_LAST, HELD_ALL };

static void put_held(struct reading *reading, enum held which, struct iso_recorder_session *session)
{
    struct cell cells[READING_FIELDS];
    for (uint32_t at = 0; at < reading->held.used && !reading->failed;) {
        at = read_held(reading, at, cells);
        if (!at)
            reading->failed = true;
        else if (which == HELD_ALL || is_as_last(reading, cells) == (which == HELD_AS_LAST))
            put_set_row(reading, cells, session);
        if (!at)
            return;
    }
}

/* As a set of which nothing is known of an order. */
static void let_go(struct reading *reading, struct iso_recorder_session *session)
{
    reading->is_held = false;
    if (!reading->held.used)
        return;
    begin_query(reading, session);
    put_held(reading, HELD_ALL, session);
}

/* False: it can't be told. `key` gets the last row's. */
static bool find_last(struct reading *reading, char key[KEY_MOST])
{
    struct cell cells[READING_FIELDS];
    bool is_absent;
    for (uint32_t at = 0; at < reading->held.used;) {
        at = read_held(reading, at, cells);
        if (!at || !knows_place(reading, cells))
            return false;
    }
    if (!put_key(reading, &reading->sources[0], cells, false, key, &is_absent))
        return false;
    for (uint32_t i = 0; i < reading->order_count; i++)
        if (!first_put_last(reading, i, order_value(reading, i, cells)))
            return false;
    return true;
}

static void record_part(struct reading *reading, enum held which,
                        struct iso_recorder_session *session)
{
    struct iso_text where = reading->condition, part = {0};
    first_put_condition(reading, &part, which == HELD_BEFORE);
    reading->condition = part;
    begin_query(reading, session);
    reading->condition = where;
    iso_text_release(&part);
    put_held(reading, which, session);
    if (which == HELD_AS_LAST && !reading->key_order)
        iso_recorder_query_partial(session);
    iso_recorder_query_end(session);
    reading->operations++;
}

/* Two sets; where the order ends in a key, the last row's is a bound of the second. False: nothing
 * is recorded. */
static bool record_first(struct reading *reading, struct iso_recorder_session *session)
{
    char key[KEY_MOST], **bound = reading->key_order == KEY_ASCENDS ? &reading->to : &reading->from;
    if (!find_last(reading, key))
        return false;
    if (reading->order_count)
        record_part(reading, HELD_BEFORE, session);
    if (reading->key_order) {
        iso_free(*bound);
        *bound = iso_copy_text(key, strlen(key));
    }
    record_part(reading, HELD_AS_LAST, session);
    return true;
}

/* ---- row by row ---- */

void reading_row(struct reading *reading, struct wire_cursor row,
                 struct iso_recorder_session *session)
{
    struct cell cells[READING_FIELDS];
    const char *names[READING_FIELDS], *values[READING_FIELDS];
    char key[KEY_MOST];
    bool is_set = reading->mode >= READING_SET, is_absent;
    if (reading->mode == READING_NOTHING || reading->failed || reading->rows++ >= READING_ROWS)
        return;
    if (reading->is_held && !row.bad && reading->held.used < READING_HELD) {
        hold(reading, row);
        return;
    }
    if (reading->is_held)
        let_go(reading, session);
    if (reading->mode == READING_SOME && !reading->is_exists)
        return; /* whatever it says */
    if (row.bad || !read_cells(reading, row, cells)) {
        reading->failed = true;
        return;
    }
    if (reading->mode == READING_SOME) { /* at least one, or none */
        bool is_true =
            cells[0].kind == CELL_TEXT && !strcmp(reading->values.bytes + cells[0].position, "t");
        reading->failed = cells[0].kind != CELL_TEXT;
        reading->rows = is_true;
        reading->is_partial |= is_true;
        return;
    }
    if (is_set && !reading->has_begun)
        begin_query(reading, session);
    if (reading->mode == READING_AGGREGATES) {
        reading->failed |= !record_aggregates(reading, cells, session);
        return;
    }
    if (reading->mode == READING_SET) {
        put_set_row(reading, cells, session);
        return;
    }
    for (uint32_t i = 0; i < (is_set ? 1 : reading->source_count); i++) {
        const struct reading_source *source = &reading->sources[i];
        size_t count = gather_cells(reading, source, cells, names, values);
        if (reading->mode == READING_BAG) {
            reading->failed |= count < source->cell_count;
            if (!reading->failed)
                iso_recorder_query_values(session, values);
        } else if (!put_key(reading, source, cells, true, key, &is_absent)) {
            reading->failed |= !is_absent;
        } else if (reading->is_writing) {
            put_written(reading, key, session);
        } else {
            iso_recorder_read_row(session, key, names, values, count);
            reading->operations++;
            if (reading->mode == READING_POINTS)
                note_found(reading, cells);
        }
        if (reading->failed)
            return;
    }
}

void reading_end(struct reading *reading, bool whole, struct iso_recorder_session *session)
{
    char key[KEY_MOST];
    bool is_absent;
    if (reading->mode == READING_NOTHING)
        return;
    if (reading->is_held && whole && reading->rows == reading->limit &&
        record_first(reading, session) && !reading->failed)
        return;
    if (reading->is_held && !reading->failed)
        let_go(reading, session);
    if (reading->failed) {
        reading->reason = REASON_VALUE;
        reading->operations = 0; /* the caller takes back what there was */
        return;
    }
    if (reading->rows < reading->limit)
        reading->is_partial = false;
    if (reading->mode == READING_POINT && !reading->rows && whole && !reading->is_partial) {
        if (put_key(reading, &reading->sources[0], NULL, true, key, &is_absent)) {
            iso_recorder_read_no_row(session, key);
            reading->operations++;
        }
    } else if (reading->mode == READING_POINTS && whole) {
        record_absent(reading, session);
    } else if (reading->mode >= READING_SET) {
        bool cut = !whole || reading->rows > READING_ROWS;
        if (!reading->has_begun)
            begin_query(reading, session);
        if (cut && reading->mode != READING_SET && reading->mode != READING_SOME) {
            reading->reason = REASON_VALUE;
            return;
        }
        if (reading->mode == READING_SOME)
            record_some(reading, session);
        if (cut || reading->is_partial)
            iso_recorder_query_partial(session);
        if (reading->mode == READING_SOME && (cut || reading->is_partial) && !reading->rows)
            return; /* no row, and there may be some: nothing is said, and what has begun is left
                       out */
        iso_recorder_query_end(session);
        reading->operations++;
    }
}
