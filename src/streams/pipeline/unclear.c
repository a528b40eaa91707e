/* Reads of a finished run whose value nobody wrote, but perhaps in another spelling.
 *
 * Where an order of the transactions is sought, a read is an edge from who wrote its value. What is
 * the same value in another text is made the same; what may be is no edge, and no violation either.
 * Bounded: after COMPARISONS_MAX comparisons what is left is taken for unclear.
 */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "pipeline/pipeline_private.h"

enum { COMPARISONS_MAX = 4 << 20 };

/* The writes of a history, by key. */
struct writes {
    uint32_t *first, *list; /* of key k: operations list[first[k]] to list[first[k + 1] - 1] */
    struct iso_number_map values; /* of keys and values that are written: an operation */
};

static bool is_write(const struct iso_history *history, uint32_t operation)
{
    return iso_kind_of(history, operation) == ISO_WRITE &&
           history->ops.value[operation] != ISO_ABSENT &&
           !iso_atom_is_unknown(&history->atoms, history->ops.value[operation]);
}

static void index_writes(struct writes *writes, const struct iso_history *history)
{
    uint32_t count = 0;
    *writes = (struct writes){0};
    writes->first = iso_allocate_zeroed(history->keys.count + 2u, sizeof *writes->first);
    for (uint32_t o = 0; o < history->ops.count; o++)
        if (is_write(history, o)) {
            writes->first[history->ops.key[o] + 2]++;
            count++;
        }
    for (uint32_t key = 0; key < history->keys.count; key++)
        writes->first[key + 2] += key ? writes->first[key + 1] : 0;
    writes->list = iso_allocate((count + 1u) * sizeof *writes->list);
    iso_number_map_reserve(&writes->values, count);
    for (uint32_t o = 0; o < history->ops.count; o++)
        if (is_write(history, o)) {
            writes->list[writes->first[history->ops.key[o] + 1]++] = o;
            iso_number_map_put(&writes->values,
                               iso_number_pair(history->ops.key[o], history->ops.value[o]), o);
        }
    assert(writes->first[history->keys.count] == count);
}

static void release(struct writes *writes)
{
    iso_free(writes->first);
    iso_free(writes->list);
    iso_number_map_release(&writes->values);
}

static struct iso_json_text text_of(const struct iso_history *history, iso_atom atom,
                                    char buffer[ISO_ATOM_TEXT_MAX])
{
    struct iso_json_text text;
    text.at = iso_atom_text(&history->atoms, atom, buffer, &text.length);
    return text;
}

/* Likeness of a value that nobody wrote to a version; EQUAL replaces it by the version's. */
static enum iso_likeness find_likeness(struct iso_pipeline *pipeline, const struct writes *writes,
                                       struct iso_history *history, uint32_t read, uint32_t *left)
{
    char buffers[3][ISO_ATOM_TEXT_MAX];
    uint32_t key = history->ops.key[read];
    struct iso_json_text name = text_of(history, history->keys.atom[key], buffers[0]),
                         value = text_of(history, history->ops.value[read], buffers[1]);
    enum iso_likeness best = ISO_VALUES_DIFFER;
    ISO_EACH(i, writes->first, key) {
        if (!*left)
            return ISO_VALUES_UNCLEAR;
        --*left;
        iso_atom version = history->ops.value[writes->list[i]];
        enum iso_likeness likeness =
            pipeline_compare_read(pipeline, name, text_of(history, version, buffers[2]), value);
        if (likeness == ISO_VALUES_EQUAL) {
            history->ops.value[read] = version;
            return likeness;
        }
        best = likeness < best ? likeness : best;
    }
    return best;
}

uint64_t iso_pipeline_drop_unclear(struct iso_pipeline *pipeline, struct iso_history *history)
{
    struct writes writes;
    uint32_t left = COMPARISONS_MAX;
    uint64_t dropped = 0;
    iso_pipeline_spell(pipeline, history);
    index_writes(&writes, history);
    bool *drops = iso_allocate_zeroed(history->ops.count + 1u, sizeof *drops);
    for (uint32_t o = 0; o < history->ops.count; o++) {
        iso_atom value = history->ops.value[o];
        if (iso_kind_of(history, o) != ISO_READ || value == ISO_ABSENT ||
            iso_atom_is_unknown(&history->atoms, value) ||
            iso_number_map_get(&writes.values, iso_number_pair(history->ops.key[o], value)) !=
                ISO_NUMBER_NONE)
            continue;
        drops[o] = find_likeness(pipeline, &writes, history, o, &left) == ISO_VALUES_UNCLEAR;
        dropped += drops[o];
    }
    if (dropped)
        iso_history_drop_operations(history, drops);
    iso_free(drops);
    release(&writes);
    return dropped;
}
