#include "rowsets/shards.h"

#include <assert.h>
#include <string.h>

#include "rowsets/rowsets_private.h"

enum { TEXTS = 6, NOTHING = -1 };

/* A finding, or what was not judged, until the shards are done. */
struct reported {
    bool is_finding;
    struct iso_rowsets_finding finding;
    struct iso_rowsets_unjudged unjudged;
    int64_t at[TEXTS]; /* where its texts stand, or NOTHING */
};

struct shard {
    struct iso_rowsets *engine;
    const struct iso_rowsets_options *options; /* the caller's */
    ISO_LIST(uint32_t) added;                  /* transactions that it has not been given */
    ISO_LIST(struct reported) reported;
    struct iso_text texts;
    struct iso_atoms values;
};

struct iso_rowsets_shards {
    struct iso_rowsets_options options;
    iso_rowsets_run run;
    void *runner;
    struct shard *list;
    uint32_t count;
    const struct iso_history *history;
    ISO_LIST(uint8_t) owners; /* by the block's keys: 1 + the shard; 0: not looked up; NOBODY */
    uint32_t pending;         /* transactions that not all have been given */
    uint64_t floor;
};

enum { NOBODY = 255, MOST = 64 };

/* ---- what shards tell ---- */

static struct iso_json_text *text_of(struct reported *reported, int number)
{
    struct iso_rowsets_finding *finding = &reported->finding;
    struct iso_json_text *of_finding[TEXTS] = {
        &finding->transaction.tid, &finding->table,  &finding->key,
        &finding->expected,        &finding->actual, &finding->writer};
    struct iso_json_text *of_unjudged[TEXTS] = {&reported->unjudged.transaction.tid,
                                                &reported->unjudged.table};
    return reported->is_finding ? of_finding[number] : of_unjudged[number];
}

static struct reported *keep(struct shard *shard, const struct reported *reported)
{
    ISO_GROW(shard->reported.list, shard->reported.count, shard->reported.capacity);
    struct reported *kept = &shard->reported.list[shard->reported.count++];
    *kept = *reported;
    for (int i = 0; i < TEXTS; i++) {
        const struct iso_json_text *text = text_of(kept, i);
        kept->at[i] = text && text->at ? (int64_t)shard->texts.used : NOTHING;
        if (text && text->at)
            iso_text_put_bytes(&shard->texts, text->at, text->length);
    }
    return kept;
}

static void keep_finding(void *context, const struct iso_rowsets_finding *finding)
{
    struct shard *shard = context;
    struct reported reported = {.is_finding = true, .finding = *finding};
    struct reported *kept = keep(shard, &reported);
    if (finding->value.atoms) {
        kept->finding.value.atom =
            iso_atoms_copy(&shard->values, finding->value.atoms, finding->value.atom);
        kept->finding.value.atoms = &shard->values;
    }
}

static void keep_unjudged(void *context, const struct iso_rowsets_unjudged *unjudged)
{
    struct reported reported = {.unjudged = *unjudged};
    keep(context, &reported);
}

static void tell(struct shard *shard, struct reported *reported)
{
    for (int i = 0; i < TEXTS; i++)
        if (reported->at[i] != NOTHING)
            text_of(reported, i)->at =
                shard->texts.bytes ? shard->texts.bytes + reported->at[i] : "";
    if (reported->is_finding)
        shard->options->on_finding(iso_rowsets_reports(shard->options), &reported->finding);
    else
        shard->options->on_unjudged(iso_rowsets_reports(shard->options), &reported->unjudged);
}

static void tell_all(struct iso_rowsets_shards *shards)
{
    for (uint32_t s = 0; shards->count > 1 && s < shards->count; s++) {
        struct shard *shard = &shards->list[s];
        for (uint32_t i = 0; i < shard->reported.count; i++)
            tell(shard, &shard->reported.list[i]);
        if (shard->reported.count)
            iso_atoms_clear(&shard->values);
        shard->reported.count = 0;
        shard->texts.used = 0;
    }
}

/* ---- from new to free ---- */

struct iso_rowsets_shards *iso_rowsets_shards_new(const struct iso_rowsets_options *options,
                                                  iso_rowsets_run run, void *runner)
{
    struct iso_rowsets_shards *shards = iso_allocate_zeroed(1, sizeof *shards);
    shards->options = *options;
    shards->run = run;
    shards->runner = runner;
    shards->count = options->shards > MOST ? MOST : options->shards ? options->shards : 1;
    shards->list = iso_allocate_zeroed(shards->count, sizeof *shards->list);
    for (uint32_t s = 0; s < shards->count; s++) {
        struct shard *shard = &shards->list[s];
        struct iso_rowsets_options own = *options;
        shard->options = &shards->options;
        iso_atoms_init(&shard->values);
        own.shards = shards->count;
        own.shard = s;
        if (shards->count > 1) {
            own.on_finding = keep_finding;
            own.on_unjudged = options->on_unjudged ? keep_unjudged : NULL;
            own.reports = shard;
            own.ranges &= rowsets_shard_of("", 0, shards->count) == s;
        }
        shard->engine = iso_rowsets_new(&own);
    }
    return shards;
}

void iso_rowsets_shards_free(struct iso_rowsets_shards *shards)
{
    for (uint32_t s = 0; shards && s < shards->count; s++) {
        struct shard *shard = &shards->list[s];
        iso_rowsets_free(shard->engine);
        ISO_FREE_ALL(shard->added.list, shard->reported.list);
        iso_text_release(&shard->texts);
        iso_atoms_release(&shard->values);
    }
    if (!shards)
        return;
    ISO_FREE_ALL(shards->list, shards->owners.list, shards);
}

/* ---- work of all shards ---- */

struct work {
    struct iso_rowsets_shards *shards;
    enum { ADD_ONLY, WATERMARK, CLOCK, FORGET, END } step;
    uint64_t time, patience;
};

/* Gives a shard the transactions that it has not had yet, and then the step. */
static void work_of_shard(void *argument, uint32_t number)
{
    const struct work *work = argument;
    struct shard *shard = &work->shards->list[number];
    rowsets_add_all(shard->engine, shard->added.list, shard->added.count);
    shard->added.count = 0;
    if (work->step == WATERMARK)
        iso_rowsets_watermark(shard->engine, work->time);
    else if (work->step == CLOCK)
        iso_rowsets_clock(shard->engine, work->time, work->patience);
    else if (work->step == FORGET)
        iso_rowsets_forget(shard->engine, work->time);
    else if (work->step == END)
        iso_rowsets_end(shard->engine);
}

/* Enough to be worth other threads. */
static bool is_much(const struct iso_rowsets_shards *shards)
{
    enum { FEW = 32 };
    uint64_t much = shards->pending;
    for (uint32_t s = 0; s < shards->count; s++)
        much += shards->list[s].engine->waiting.queue.count;
    return shards->options.of_few || much >= FEW;
}

static void run(struct iso_rowsets_shards *shards, struct work work)
{
    work.shards = shards;
    if (shards->run && shards->count > 1 && is_much(shards))
        shards->run(shards->runner, work_of_shard, &work, shards->count);
    else
        for (uint32_t s = 0; s < shards->count; s++)
            work_of_shard(&work, s);
    shards->pending = 0;
    tell_all(shards);
}

void iso_rowsets_shards_flush(struct iso_rowsets_shards *shards)
{
    if (shards->pending)
        run(shards, (struct work){.step = ADD_ONLY});
}

void iso_rowsets_shards_watermark(struct iso_rowsets_shards *shards, uint64_t timestamp)
{
    run(shards, (struct work){.step = WATERMARK, .time = timestamp});
}

void iso_rowsets_shards_clock(struct iso_rowsets_shards *shards, uint64_t now, uint64_t patience)
{
    run(shards, (struct work){.step = CLOCK, .time = now, .patience = patience});
}

void iso_rowsets_shards_forget(struct iso_rowsets_shards *shards, uint64_t floor)
{
    if (floor <= shards->floor)
        return;
    shards->floor = floor;
    run(shards, (struct work){.step = FORGET, .time = floor});
}

void iso_rowsets_shards_end(struct iso_rowsets_shards *shards)
{
    run(shards, (struct work){.step = END});
}

/* ---- transactions ---- */

static uint8_t owner_of_text(const struct iso_rowsets_shards *shards, struct iso_json_text key)
{
    const char *slash = key.at && key.length ? memchr(key.at, '/', key.length) : NULL;
    return slash ? (uint8_t)(1 + rowsets_shard_of(key.at, (size_t)(slash - key.at), shards->count))
                 : NOBODY;
}

static uint8_t owner_of_key(struct iso_rowsets_shards *shards, uint32_t key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    const struct iso_history *history = shards->history;
    if (key >= shards->owners.count) {
        ISO_RESERVE(shards->owners.list, history->keys.count, shards->owners.capacity);
        memset(shards->owners.list + shards->owners.count, 0,
               history->keys.count - shards->owners.count);
        shards->owners.count = history->keys.count;
    }
    if (!shards->owners.list[key])
        shards->owners.list[key] =
            owner_of_text(shards, rowsets_text(&history->atoms, history->keys.atom[key], buffer));
    return shards->owners.list[key];
}

/* Which shards' tables it writes or asks, bits by number. */
static uint64_t concerned_by(struct iso_rowsets_shards *shards, uint32_t transaction)
{
    const struct iso_history *history = shards->history;
    uint64_t all = UINT64_MAX, concerned = 0;
    uint32_t end, next = iso_history_sets_of(history, transaction, &end);
    if (iso_status_of(history, transaction) != ISO_COMMITTED)
        return all;
    if (shards->options.ranges)
        concerned |= (uint64_t)1 << rowsets_shard_of("", 0, shards->count);
    ISO_EACH(o, history->txns.first_op, transaction) {
        uint8_t owner = iso_kind_writes(history->ops.kind[o])
                            ? owner_of_key(shards, history->ops.key[o])
                            : NOBODY;
        if (owner != NOBODY)
            concerned |= (uint64_t)1 << (owner - 1);
    }
    for (; next < end; next++) {
        char buffer[ISO_ATOM_TEXT_MAX];
        struct iso_json_text table =
            rowsets_text(&history->atoms, history->ranges.list[next].table, buffer);
        if (table.at)
            concerned |= (uint64_t)1 << rowsets_shard_of(table.at, table.length, shards->count);
    }
    return concerned;
}

void iso_rowsets_shards_add(struct iso_rowsets_shards *shards, uint32_t transaction)
{
    uint64_t concerned = 1; /* the first counts them all */
    if (shards->count > 1)
        concerned |= concerned_by(shards, transaction);
    for (uint32_t s = 0; s < shards->count; s++) {
        struct shard *shard = &shards->list[s];
        if (!(concerned >> s & 1))
            continue;
        ISO_APPEND(shard->added, transaction);
    }
    shards->pending++;
}

/* ---- what is said to each ---- */

void iso_rowsets_shards_block(struct iso_rowsets_shards *shards, const struct iso_history *history)
{
    assert(!shards->pending);
    shards->history = history;
    shards->owners.count = 0;
    for (uint32_t s = 0; s < shards->count; s++)
        iso_rowsets_block(shards->list[s].engine, history);
}

bool iso_rowsets_shards_initial(struct iso_rowsets_shards *shards, iso_atom key, iso_atom value,
                                bool is_list)
{
    bool is_row = false;
    iso_rowsets_shards_flush(shards);
    for (uint32_t s = 0; s < shards->count; s++)
        is_row |= iso_rowsets_initial(shards->list[s].engine, key, value, is_list);
    return is_row;
}

void iso_rowsets_shards_unknown_keys(struct iso_rowsets_shards *shards)
{
    iso_rowsets_shards_flush(shards);
    iso_rowsets_unknown_keys(shards->list[rowsets_shard_of("", 0, shards->count)].engine);
}

void iso_rowsets_shards_whole(struct iso_rowsets_shards *shards)
{
    iso_rowsets_shards_flush(shards);
    for (uint32_t s = 0; s < shards->count; s++)
        iso_rowsets_whole(shards->list[s].engine);
}

void iso_rowsets_shards_altered(struct iso_rowsets_shards *shards, struct iso_json_text table,
                                uint64_t cts)
{
    iso_rowsets_shards_flush(shards);
    iso_rowsets_altered(
        shards->list[rowsets_shard_of(table.at, table.length, shards->count)].engine, table, cts);
}

void iso_rowsets_shards_lost(struct iso_rowsets_shards *shards, struct iso_json_text table,
                             uint64_t cts)
{
    iso_rowsets_shards_flush(shards);
    iso_rowsets_lost(shards->list[rowsets_shard_of(table.at, table.length, shards->count)].engine,
                     table, cts);
}

bool iso_rowsets_shards_resolve(struct iso_rowsets_shards *shards, const struct iso_atoms *atoms,
                                iso_atom tid, bool committed, uint64_t cts)
{
    bool was_open = false;
    iso_rowsets_shards_flush(shards);
    for (uint32_t s = 0; s < shards->count; s++)
        was_open |= iso_rowsets_resolve(shards->list[s].engine, atoms, tid, committed, cts);
    tell_all(shards);
    return was_open;
}

/* ---- figures ---- */

static uint64_t needed(const struct iso_rowsets_shards *shards)
{
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < shards->count; s++)
        bytes += rowsets_needed(shards->list[s].engine);
    return bytes;
}

uint64_t iso_rowsets_shards_bytes(struct iso_rowsets_shards *shards)
{
    iso_rowsets_shards_flush(shards);
    return needed(shards);
}

/* Pages have what `most` leaves, and half of it at least. */
static void page(struct iso_rowsets_shards *shards, uint64_t most)
{
    for (uint32_t s = 0; s < shards->count; s++)
        rowsets_page(shards->list[s].engine);
    uint64_t bytes = needed(shards);
    iso_columns_fit(bytes < most / 2 ? most - bytes : most / 2);
}

/* The largest table of all goes first. */
uint32_t iso_rowsets_shards_fit(struct iso_rowsets_shards *shards, uint64_t most)
{
    uint32_t given_up = 0, owner = 0;
    iso_rowsets_shards_flush(shards);
    if (shards->list[0].engine->store.is_paged || needed(shards) > most)
        page(shards, most);
    for (uint32_t s = 0; needed(shards) > most && s < shards->count; s++)
        rowsets_tidy(shards->list[s].engine);
    while (needed(shards) > most && owner != ISO_NONE) {
        uint64_t largest = 0;
        owner = ISO_NONE;
        for (uint32_t s = 0; s < shards->count; s++) {
            uint64_t bytes = rowsets_largest(shards->list[s].engine, NULL);
            owner = bytes > largest ? s : owner;
            largest = bytes > largest ? bytes : largest;
        }
        if (owner != ISO_NONE)
            rowsets_give_up_largest(shards->list[owner].engine);
    }
    for (uint32_t s = 0; s < shards->count; s++)
        given_up += (uint32_t)shards->list[s].engine->stats.given_up;
    tell_all(shards);
    return given_up;
}

/* Transactions, also those of unknown outcome, are the first shard's to count: it is given all of
 * them. */
void iso_rowsets_shards_stats(struct iso_rowsets_shards *shards, struct iso_rowsets_stats *stats)
{
    iso_rowsets_shards_flush(shards);
    iso_rowsets_stats(shards->list[0].engine, stats);
    for (uint32_t s = 1; s < shards->count; s++) {
        struct iso_rowsets_stats more;
        iso_rowsets_stats(shards->list[s].engine, &more);
        rowsets_add_stats(stats, &more);
    }
}

void iso_rowsets_shards_archive(struct iso_archive *archive, struct iso_rowsets_shards *shards)
{
    uint32_t count = shards->count;
    iso_rowsets_shards_flush(shards);
    iso_archive_value(archive, "row set shards", &count, sizeof count);
    iso_archive_expect(archive, count == shards->count);
    for (uint32_t s = 0; s < shards->count; s++)
        iso_rowsets_archive(archive, shards->list[s].engine);
    ISO_ARCHIVE_AS(archive, "row set floor", shards->floor);
}

void iso_rowsets_shards_validate(struct iso_rowsets_shards *shards)
{
    iso_rowsets_shards_flush(shards);
    for (uint32_t s = 0; s < shards->count; s++)
        iso_rowsets_validate(shards->list[s].engine);
}
