/* Who may have written what a read saw: from writes (problem/writers.c) to versions, once these are
 * sorted. */
#include <stdlib.h>

#include "base/order.h"
#include "polygraph/engine_private.h"

/* Sets of lists share members, so each is sorted by itself: there are few. False: it is none. */
static bool sort_set_of_list(struct engine *engine, uint32_t set)
{
    uint32_t first = engine->writer_sets.first[set],
             count = engine->writer_sets.first[set + 1] - first;
    uint32_t *members = engine->writer_sets.member + first;
    if (members[0] == INITIAL || !iso_key_is_list(engine->history, engine->writes.key[members[0]]))
        return false;
    for (uint32_t i = 0; i < count; i++)
        members[i] = engine->writes.version[members[i]];
    qsort(members, count, sizeof *members, iso_order_u32);
    return true;
}

/* Sets from writes to versions, in their order: one walk over the versions puts each into its
 * set. */
static void sort_sets(struct engine *engine)
{
    uint32_t *next = iso_numbers(engine->writer_sets.count);
    uint32_t *set_of_version = iso_numbers_none(engine->versions.count);
    for (uint32_t set = 0; set < engine->writer_sets.count; set++) {
        next[set] = engine->writer_sets.first[set];
        if (sort_set_of_list(engine, set))
            continue;
        ISO_EACH(i, engine->writer_sets.first, set) {
            if (engine->writer_sets.member[i] != INITIAL)
                set_of_version[engine->writes.version[engine->writer_sets.member[i]]] = set;
        }
    }
    for (uint32_t version = 0; version < engine->versions.count; version++) {
        if (set_of_version[version] != ISO_NONE)
            engine->writer_sets.member[next[set_of_version[version]]++] = version;
    }
    ISO_FREE_ALL(next, set_of_version);
}

void read_from_to_versions(struct engine *engine)
{
    sort_sets(engine);
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t write = engine->reads.writer[read];
        if (write == OPEN || write == INITIAL)
            continue;
        uint32_t version = engine->reads.writer[read] = engine->writes.version[write];
        engine->reads.next[read] = engine->versions.reader[version];
        engine->versions.reader[version] = read;
    }
}

uint32_t *reads_count_readers(const struct engine *engine)
{
    size_t slots = (size_t)engine->versions.count + engine->history->keys.count;
    uint32_t *count = iso_allocate_zeroed(slots + 1, sizeof *count);
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        if (engine->reads.writer[read] != OPEN)
            count[version_slot(engine, engine->reads.writer[read], engine->reads.key[read])]++;
    }
    return count;
}
