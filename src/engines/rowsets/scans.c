#include "rowsets/scans.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atom.h"
#include "base/memory.h"
#include "base/number_map.h"
#include "predicate/condition.h"

struct iso_scans {
    pthread_mutex_t adding;
    struct iso_atoms shapes;
    struct iso_number_map by_shape;
    struct iso_scan *list;
    uint32_t count, capacity;
};

struct iso_scans *iso_scans_new(void)
{
    struct iso_scans *scans = iso_allocate_zeroed(1, sizeof *scans);
    pthread_mutex_init(&scans->adding, NULL);
    iso_atoms_init(&scans->shapes);
    return scans;
}

void iso_scans_free(struct iso_scans *scans)
{
    if (!scans)
        return;
    pthread_mutex_destroy(&scans->adding);
    iso_atoms_release(&scans->shapes);
    iso_number_map_release(&scans->by_shape);
    ISO_FREE_ALL(scans->list, scans);
}

static void add(struct iso_scans *scans, struct iso_json_text shape, uint64_t rows)
{
    uint32_t number = iso_number_map_add(
        &scans->by_shape, iso_atoms_text(&scans->shapes, shape.at, shape.length), scans->count);
    if (number == scans->count)
        ISO_PUSH(scans->list, scans->count, scans->capacity, (struct iso_scan){0});
    scans->list[number].queries++;
    scans->list[number].rows += rows;
}

void iso_scans_note(struct iso_scans *scans, struct iso_json_text table, struct iso_json_text where,
                    uint64_t rows)
{
    struct iso_text text = {0};
    iso_text_put_bytes(&text, table.at, table.length);
    iso_text_put(&text, " where ");
    iso_condition_shape(&text, where);
    pthread_mutex_lock(&scans->adding);
    add(scans, (struct iso_json_text){text.bytes, text.used}, rows);
    pthread_mutex_unlock(&scans->adding);
    iso_text_release(&text);
}

static int compare_scans(const void *left, const void *right)
{
    const struct iso_scan *one = left, *other = right;
    size_t least =
        one->shape.length < other->shape.length ? one->shape.length : other->shape.length;
    int order = memcmp(one->shape.at, other->shape.at, least);
    if (one->rows != other->rows)
        return one->rows < other->rows ? 1 : -1;
    return order ? order : one->shape.length < other->shape.length ? -1 : 1;
}

struct iso_scan *iso_scans_list(const struct iso_scans *scans, uint32_t *count)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    *count = scans ? scans->count : 0;
    struct iso_scan *list = iso_allocate(((size_t)*count + 1) * sizeof *list);
    for (uint32_t i = 0; i < *count; i++) { /* shapes are atoms of the table, in this order */
        list[i] = scans->list[i];
        list[i].shape.at =
            iso_atom_text(&scans->shapes, ISO_ATOM_TABLE | i, buffer, &list[i].shape.length);
    }
    qsort(list, *count, sizeof *list, compare_scans);
    return list;
}
