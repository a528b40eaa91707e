#include "tests/support/feed_ticdc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tests/support/random.h"

/* What a partition is sent, in order. */
struct item {
    bool is_watermark, is_bootstrap;
    struct feed_ticdc_row row;
    uint64_t cts;
    struct feed_tag tag;
};

struct lane {
    struct item *items;
    uint32_t count, capacity, next;
};

struct run {
    struct feed *feed;
    const struct iso_history *history;
    const struct feed_ticdc_options *options;
    struct random random;
    struct commit {
        uint64_t cts;
        uint32_t transaction;
    } * order;
    uint32_t count;
    iso_atom *current; /* a key's value now */
    struct lane *lanes;
    uint32_t restarts;
    struct iso_text names; /* texts of atoms, for as long as the run lasts */
};

iso_atom feed_ticdc_name(void *context, struct iso_history *history, uint32_t index)
{
    char text[64];
    uint32_t tables = *(const uint32_t *)context;
    int length = snprintf(text, sizeof text, "test.t%u/%u", index % tables, index + 1);
    return iso_atoms_text(&history->atoms, text, (size_t)length);
}

/* The text of an atom at a place that stays; null for ISO_ABSENT. */
static struct iso_bytes text_of(struct run *run, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT)
        return (struct iso_bytes){NULL, 0};
    const char *text = iso_atom_text(&run->history->atoms, atom, buffer, &length);
    char *copy = iso_allocate(length + 1);
    memcpy(copy, text, length);
    iso_text_put_bytes(&run->names, &copy, sizeof copy);
    return (struct iso_bytes){(uint8_t *)copy, (uint32_t)length};
}

/* "db.table/id" in its parts. */
static bool split_key(struct run *run, uint32_t key, struct feed_ticdc_row *row)
{
    struct iso_bytes text = text_of(run, run->history->keys.atom[key]);
    const uint8_t *dot = memchr(text.data, '.', text.size),
                  *slash = memchr(text.data, '/', text.size);
    if (!dot || !slash || dot > slash || memchr(text.data, '%', text.size))
        return false;
    row->database = (struct iso_bytes){text.data, (uint32_t)(dot - text.data)};
    row->table = (struct iso_bytes){dot + 1, (uint32_t)(slash - dot - 1)};
    row->id = (struct iso_bytes){slash + 1, (uint32_t)(text.data + text.size - slash - 1)};
    return true;
}

static struct item *add_item(struct lane *lane)
{
    if (lane->count == lane->capacity) {
        lane->capacity = (uint32_t)iso_column_capacity(lane->capacity, lane->count + 1);
        lane->items = iso_reallocate(lane->items, lane->capacity * sizeof *lane->items);
    }
    lane->items[lane->count] = (struct item){0};
    return &lane->items[lane->count++];
}

static void add_to_all(struct run *run, struct item item)
{
    for (uint32_t l = 0; l < run->options->partitions; l++)
        *add_item(&run->lanes[l]) = item;
}

/* ---- from transactions to rows ---- */

/* The key's change by its last write in the transaction, unless a later operation writes it. */
static bool add_row(struct run *run, const struct commit *commit, uint32_t operation)
{
    const struct iso_history *history = run->history;
    uint32_t t = commit->transaction, key = history->ops.key[operation];
    for (uint32_t o = operation + 1; o < history->txns.first_op[t + 1]; o++)
        if (history->ops.key[o] == key && iso_kind_writes(history->ops.kind[o]))
            return true;
    iso_atom before = run->current[key];
    iso_atom after =
        iso_kind_of(history, operation) == ISO_DELETE ? ISO_ABSENT : history->ops.value[operation];
    run->current[key] = after;
    if (before == after && (after == ISO_ABSENT || run->options->drops_unchanged))
        return true;
    struct item *item = add_item(&run->lanes[key * 7919 % run->options->partitions]);
    if (!split_key(run, key, &item->row))
        return false;
    item->cts = item->row.cts = commit->cts;
    item->tag =
        (struct feed_tag){.part = FEED_ROW, .transaction = t, .key = key, .number = operation};
    item->row.sts =
        run->options->start_ts && history->txns.flags[t] & ISO_HAS_STS ? history->txns.sts[t] : 0;
    item->row.cells = run->options->cells;
    item->row.before = text_of(run, before);
    item->row.after = text_of(run, after);
    if (run->options->marker_column)
        item->row.marker = text_of(run, history->txns.tid[t]);
    return true;
}

/* A row that only says whose transaction it is: at any place in any partition. */
static void add_marker(struct run *run, const struct commit *commit)
{
    static const uint8_t database[] = "test", table[] = "tx";
    struct item *item = add_item(&run->lanes[random_below(&run->random, run->options->partitions)]);
    item->row.database = (struct iso_bytes){database, sizeof database - 1};
    item->row.table = (struct iso_bytes){table, sizeof table - 1};
    item->row.id = item->row.after = text_of(run, run->history->txns.tid[commit->transaction]);
    item->tag = (struct feed_tag){.part = FEED_ROW,
                                  .transaction = commit->transaction,
                                  .key = ISO_NONE,
                                  .number = run->history->ops.count + commit->transaction};
    item->cts = item->row.cts = commit->cts;
}

static bool add_rows(struct run *run, const struct commit *commit)
{
    const struct iso_history *history = run->history;
    uint32_t t = commit->transaction;
    if (run->options->marker_rows)
        add_marker(run, commit);
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
        if (iso_kind_writes(history->ops.kind[o]) &&
            (iso_kind_of(history, o) == ISO_APPEND || !add_row(run, commit, o)))
            return false;
    return true;
}

static int by_cts(const void *left, const void *right)
{
    const struct commit *a = left, *b = right;
    return a->cts != b->cts ? (a->cts > b->cts) - (a->cts < b->cts)
                            : (a->transaction > b->transaction) - (a->transaction < b->transaction);
}

static void collect(struct run *run)
{
    const struct iso_history *history = run->history;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        bool committed =
            iso_status_of(history, t) == ISO_COMMITTED && history->txns.flags[t] & ISO_HAS_CTS;
        uint64_t cts = run->options->commits ? run->options->commits[t]
                       : committed           ? history->txns.cts[t]
                                             : 0;
        if (cts)
            run->order[run->count++] = (struct commit){cts, t};
    }
    qsort(run->order, run->count, sizeof *run->order, by_cts);
}

/* What says what each table is into each partition. */
static bool add_bootstraps(struct run *run)
{
    for (uint32_t k = 0; k < run->history->keys.count; k++) {
        struct item item = {
            .is_bootstrap = true, .tag.transaction = ISO_NONE, .row.cells = run->options->cells};
        if (!split_key(run, k, &item.row))
            return false;
        add_to_all(run, item);
    }
    return true;
}

/* Behind all that the history tells of, as time goes on. */
static uint64_t latest(const struct run *run)
{
    uint64_t latest = run->count ? run->order[run->count - 1].cts : 0;
    for (uint32_t t = 0; t < run->history->txns.count; t++)
        if (run->history->txns.flags[t] & ISO_HAS_CTS && run->history->txns.cts[t] > latest)
            latest = run->history->txns.cts[t];
    return latest;
}

static bool fill_lanes(struct run *run)
{
    const struct feed_ticdc_options *options = run->options;
    bool says = strcmp(options->format, "avro") && strcmp(options->format, "csv");
    if (says && !add_bootstraps(run))
        return false;
    for (uint32_t k = 0; k < run->history->keys.count; k++)
        run->current[k] = run->history->initial.other_value;
    for (uint32_t i = 0; i < run->history->initial.count; i++)
        run->current[run->history->initial.key[i]] = run->history->initial.value[i];
    for (uint32_t i = 0; i < run->count; i++) {
        bool tie = i + 1 < run->count && run->order[i + 1].cts == run->order[i].cts;
        if (!add_rows(run, &run->order[i]))
            return false;
        if (options->every && !tie && ((i + 1) % options->every == 0 || i + 1 == run->count))
            add_to_all(run, (struct item){.is_watermark = true,
                                          .cts = run->order[i].cts,
                                          .tag = feed_promise(run->order[i].cts)});
    }
    uint64_t end = latest(run);
    if (run->options->every && run->count && end > run->order[run->count - 1].cts)
        add_to_all(run, (struct item){.is_watermark = true, .cts = end, .tag = feed_promise(end)});
    return true;
}

/* ---- from rows to messages ---- */

static void send(struct run *run, uint32_t partition, const struct item *item)
{
    struct feed_ticdc_message message = {.has_key = false};
    run->feed->tag = item->tag;
    if (feed_ticdc_encode(run->options->format, run->options->compression,
                          item->is_watermark ? NULL : &item->row, item->cts, item->is_bootstrap,
                          &message))
        feed_add(run->feed, run->options->topic, (int32_t)partition,
                 (struct iso_bytes){message.has_key ? (const uint8_t *)message.key.bytes : NULL,
                                    (uint32_t)message.key.used},
                 (struct iso_bytes){(const uint8_t *)message.payload.bytes,
                                    (uint32_t)message.payload.used});
    iso_text_release(&message.key);
    iso_text_release(&message.payload);
}

/* Partitions are read at random paces; now and then one goes back to an earlier place, as after a
 * restart. */
static void interleave(struct run *run)
{
    uint32_t partitions = run->options->partitions, open = 0;
    for (uint32_t l = 0; l < partitions; l++)
        open += run->lanes[l].count > 0;
    while (open) {
        uint32_t l = random_below(&run->random, partitions);
        struct lane *lane = &run->lanes[l];
        if (lane->next == lane->count)
            continue;
        send(run, l, &lane->items[lane->next++]);
        if (run->restarts && random_percent(&run->random, 25)) {
            run->restarts--;
            lane->next -= random_below(&run->random, lane->next + 1);
        }
        open -= lane->next == lane->count;
    }
}

static void release(struct run *run)
{
    for (size_t at = 0; at < run->names.used; at += sizeof(char *)) {
        char *name;
        memcpy(&name, run->names.bytes + at, sizeof name);
        iso_free(name);
    }
    for (uint32_t l = 0; l < run->options->partitions; l++)
        iso_free(run->lanes[l].items);
    iso_text_release(&run->names);
    iso_free(run->lanes);
    iso_free(run->order);
    iso_free(run->current);
}

bool feed_ticdc_write(struct feed *feed, const struct iso_history *history,
                      const struct feed_ticdc_options *options)
{
    struct run run = {.feed = feed,
                      .history = history,
                      .options = options,
                      .random = {options->seed},
                      .restarts = options->restarts};
    run.order = iso_allocate((history->txns.count + 1u) * sizeof *run.order);
    run.current = iso_allocate((history->keys.count + 1u) * sizeof *run.current);
    run.lanes = iso_allocate_zeroed(options->partitions, sizeof *run.lanes);
    collect(&run);
    bool fits = fill_lanes(&run);
    if (fits)
        interleave(&run);
    release(&run);
    return fits;
}
