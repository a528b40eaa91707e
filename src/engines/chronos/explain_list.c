/* EXT on lists: which element of the prefix that was read should not be there, or is missing. */

#include "base/sorted.h"
#include "chronos/explain_private.h"

/* The elements that the read saw of others. */
struct prefix {
    const struct chronos *check;
    const struct writers *writers;
    const struct chronos_suspect *suspect;
    uint32_t key, count;
    const iso_atom *elements;
    uint64_t *sorted;  /* the elements again, to be found in */
    uint64_t *initial; /* the elements of the initial list, sorted; NULL until somebody asks */
    uint32_t whole;    /* the writer looked at last whose appends are all there: its elements stand
                          together */
};

static struct prefix prefix_of(const struct chronos *check, const struct writers *writers,
                               const struct chronos_suspect *suspect)
{
    const struct iso_history *history = check->history;
    return (struct prefix){.check = check,
                           .writers = writers,
                           .suspect = suspect,
                           .key = history->ops.key[suspect->operation],
                           .count = suspect->prefix,
                           .whole = ISO_NONE,
                           .elements =
                               history->lists.element +
                               history->lists.first[history->ops.value[suspect->operation]]};
}

static struct writer_span span_of(const struct prefix *prefix, uint32_t i, enum writer_class class)
{
    return writers_of(prefix->writers, prefix->key, prefix->elements[i], class);
}

void explain_list_need(struct writers *writers, const struct chronos_suspect *suspect)
{
    const struct iso_history *history = writers->history;
    uint64_t first = history->lists.first[history->ops.value[suspect->operation]];
    for (uint32_t i = 0; i < suspect->prefix; i++)
        writers_need(writers, history->ops.key[suspect->operation],
                     history->lists.element[first + i]);
}

bool explain_list_is_excused(const struct chronos *check, const struct writers *writers,
                             const struct chronos_suspect *suspect)
{
    struct prefix prefix = prefix_of(check, writers, suspect);
    for (uint32_t i = 0; check->history->totals.unknown && i < prefix.count; i++) {
        if (explain_is_excused(check, suspect, span_of(&prefix, i, WRITER_UNKNOWN)))
            return true;
    }
    return false;
}

static bool list_contains(const uint64_t *sorted, uint32_t count, iso_atom element)
{
    uint32_t low = 0, high = count;
    ISO_BISECT(low, high, middle, sorted[middle] < element);
    return low < count && sorted[low] == element;
}

static uint64_t *sort_elements(const iso_atom *elements, uint32_t count)
{
    uint64_t *sorted = iso_allocate(((size_t)count + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = elements[i];
    chronos_sort_numbers(sorted, count);
    return sorted;
}

static bool is_initial(struct prefix *prefix, iso_atom element)
{
    const struct chronos_list *list = &prefix->check->lists[prefix->key];
    if (!prefix->initial)
        prefix->initial = sort_elements(list->elements, list->initial);
    return list_contains(prefix->initial, list->initial, element);
}

/* The prefix lacks some append of a writer that it holds another one of. */
static bool holds_in_part(struct prefix *prefix, uint32_t writer)
{
    const struct iso_history *history = prefix->check->history;
    if (prefix->whole == writer)
        return false;
    ISO_EACH(o, history->txns.first_op, writer) {
        if (history->ops.key[o] == prefix->key && iso_kind_of(history, o) == ISO_APPEND &&
            !list_contains(prefix->sorted, prefix->count, history->ops.value[o]))
            return true;
    }
    prefix->whole = writer;
    return false;
}

static bool list_fits(struct prefix *prefix, uint32_t writer, enum iso_violation_kind kind)
{
    if (kind == ISO_INTERMEDIATE)
        return holds_in_part(prefix, writer);
    return explain_is_visible(prefix->check, prefix->suspect, writer) == (kind == ISO_STALE);
}

/* The committed writer of an element, with the smallest tid, who makes it wrong in this way; not
 * the reader. */
static uint32_t committed_writer(struct prefix *prefix, uint32_t i, enum iso_violation_kind kind)
{
    struct writer_span span = span_of(prefix, i, WRITER_FINAL);
    uint32_t found = ISO_NONE;
    for (uint32_t w = 0; w < span.count; w++) {
        uint32_t writer = span.transactions[w];
        if (writer != prefix->suspect->transaction && list_fits(prefix, writer, kind))
            found = explain_smaller(prefix->check->history, found, writer);
    }
    return found;
}

/* An element that an aborted transaction appended, or that nobody did who committed. */
static bool find_uncommitted(struct prefix *prefix, uint32_t *writer)
{
    for (uint32_t i = 0; i < prefix->count; i++) {
        uint32_t aborted = explain_smallest(span_of(prefix, i, WRITER_ABORTED), ISO_NONE);
        uint32_t committed =
            explain_smallest(span_of(prefix, i, WRITER_FINAL), prefix->suspect->transaction);
        if (aborted == ISO_NONE &&
            (committed != ISO_NONE || is_initial(prefix, prefix->elements[i])))
            continue;
        *writer = aborted != ISO_NONE
                      ? aborted
                      : explain_smallest_unknown(prefix->writers, prefix->key, prefix->elements[i]);
        return true;
    }
    return false;
}

static void classify_list(struct prefix *prefix, struct iso_violation *violation)
{
    static const enum iso_violation_kind kinds[] = {ISO_INTERMEDIATE, ISO_FUTURE};
    violation->kind = ISO_UNCOMMITTED;
    if (find_uncommitted(prefix, &violation->writer_actual))
        return;
    for (int k = 0; k < 2; k++) {
        violation->kind = kinds[k];
        for (uint32_t i = 0; i < prefix->count; i++) {
            violation->writer_actual = committed_writer(prefix, i, kinds[k]);
            if (violation->writer_actual != ISO_NONE)
                return;
        }
    }
    violation->kind = prefix->count ? ISO_STALE : ISO_ABSENT_READ;
    if (prefix->count)
        violation->writer_actual = committed_writer(prefix, prefix->count - 1, ISO_STALE);
}

/* The list at the read's bound, and the reader's own appends, which end the read itself. */
static struct iso_value expected_of(struct chronos_shard *shard, const struct prefix *prefix)
{
    const struct iso_history *history = shard->history;
    uint32_t list = history->ops.value[prefix->suspect->operation],
             expected = prefix->suspect->expected;
    uint32_t own =
        (uint32_t)(history->lists.first[list + 1] - history->lists.first[list]) - prefix->count;
    return chronos_expected_list(shard, shard->check->lists[prefix->key].elements, expected,
                                 prefix->elements + prefix->count, own);
}

void explain_list(struct chronos_shard *shard, const struct writers *writers,
                  const struct chronos_suspect *suspect, struct iso_violation *violation)
{
    struct prefix prefix = prefix_of(shard->check, writers, suspect);
    prefix.sorted = sort_elements(prefix.elements, prefix.count);
    classify_list(&prefix, violation);
    violation->expected = expected_of(shard, &prefix);
    violation->actual =
        iso_value_of_list(shard->verdict->history, shard->history->ops.value[suspect->operation]);
    ISO_FREE_ALL(prefix.initial, prefix.sorted);
}
