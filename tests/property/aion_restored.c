/* An engine that was saved and restored goes on as if nothing had happened.
 *
 * Each case is a script of calls (transactions in a random order, watermarks, deadlines, outcomes
 * told later, repeats) that runs twice: once in one engine; once in one that is saved and restored
 * between calls, up to a few times. What both tell, event by event and with every member, and what
 * they count in the end, memory in use included, must be equal. Small random histories of every
 * kind, and large ones of a simulated store, whose runs have directories.
 *
 * Half of them have a store on disk, into which everything goes that can, or what is over a limit
 * of memory. Then the other engine is often killed, too: it is given up some calls behind the point
 * where it was saved, and its files, in which it has written meanwhile, are what the restored one
 * gets. That does the calls again.
 *
 * aion_restored [--histories N] [--large N] [--seed S]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aion/archive.h"
#include "base/text.h"
#include "generate/generate.h"
#include "spill/spill.h"
#include "tests/support/arguments.h"
#include "tests/support/plain_history.h"
#include "tests/support/random.h"
#include "tests/support/random_history.h"
#include "tests/support/temporary.h"

/* FULL_SEED: from it on a few large ones have everything. */
enum { FULL_SEED = 11, DEFAULT_HISTORIES = 6000, DEFAULT_LARGE = 4, LARGE = 3000, MAX_REPORTS = 3 };

/* Calls since the state was saved, to be done again. */
struct call {
    enum { ADD, RESOLVE, TICK, WATERMARK, MEMORY } what;
    uint64_t a, b, c, now;
};

struct run {
    const struct iso_history *history;
    struct iso_aion_options options;
    struct iso_aion *engine;
    struct random script, kills; /* what is called; when it is saved and restored */
    uint32_t save_percent;
    bool restores;
    struct iso_text log;
    uint64_t now, restored, again, events, evicted, expired;
    char folder[256]; /* of the store; "": none */
    struct saved {
        int file; /* 0: none */
        uint32_t call;
        size_t log;
        uint64_t events;
    } pending, committed; /* an archive that may be given up; the one to restore */
    struct call *calls;
    uint32_t call_count, call_capacity;
};

/* ---- what is told ---- */

static void put_atom(struct iso_text *log, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    iso_text_put(log, " ");
    if (!atoms || atom == ISO_ABSENT) {
        iso_text_put(log, "null");
        return;
    }
    const char *text = iso_atom_text(atoms, atom, buffer, &length);
    iso_text_put_bytes(log, text, length);
}

static void put_number(struct iso_text *log, uint64_t number)
{
    iso_text_put(log, " ");
    iso_text_put_unsigned(log, number);
}

static void put_party(struct iso_text *log, const struct iso_aion_party *party)
{
    put_atom(log, party->atoms, party->tid);
    put_number(log, party->origin);
    put_number(log, party->sts);
    put_number(log, party->cts);
}

static void put_value(struct iso_text *log, const struct iso_aion_value *value)
{
    put_number(log, value->count);
    for (uint32_t i = 0; i < value->count; i++)
        put_atom(log, value->atoms, value->elements[i]);
}

static void write_event(void *context, const struct iso_aion_event *event)
{
    struct run *run = context;
    const uint64_t numbers[] = {event->id,          event->state, event->axiom,    event->kind,
                                event->by_deadline, event->level, event->operation};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_number(&run->log, numbers[i]);
    put_atom(&run->log, event->key_atoms, event->key);
    put_party(&run->log, &event->transaction);
    put_party(&run->log, &event->other);
    put_party(&run->log, &event->writer_expected);
    put_party(&run->log, &event->writer_actual);
    put_party(&run->log, &event->cause);
    put_value(&run->log, &event->expected);
    put_value(&run->log, &event->actual);
    iso_text_put(&run->log, "\n");
    run->events++;
}

static void write_stats(struct run *run)
{
    struct iso_aion_stats stats;
    const uint64_t *numbers = (const uint64_t *)(const void *)&stats;
    memset(&stats, 0, sizeof stats);
    iso_aion_stats(run->engine, &stats);
    run->evicted = stats.spilt.evicted;
    run->expired = stats.spilt.compacted;
    /* where records are may differ */
    stats.spilt.disk = stats.spilt.archived = stats.spilt.read = stats.spilt.written = 0;
    stats.steps = 0; /* so may slots be that are looked at */
    for (size_t i = 0; i < sizeof stats / sizeof *numbers; i++)
        put_number(&run->log, numbers[i]);
    iso_text_put(&run->log, "\n");
}

/* ---- calls ---- */

static void call_engine(struct run *run, const struct call *call)
{
    const struct iso_history *history = run->history;
    struct iso_error error = {.status = ISO_OK};
    uint32_t taken;
    switch (call->what) {
    case ADD:
        iso_aion_block(run->engine, history);
        iso_aion_add(run->engine, (uint32_t)call->a, (uint32_t)call->b, call->now, &taken, &error);
        put_number(&run->log, taken);
        iso_text_put(&run->log, error.text);
        iso_text_put(&run->log, "\n");
        break;
    case RESOLVE:
        put_number(&run->log,
                   iso_aion_resolve(run->engine, &history->atoms, history->txns.tid[call->a],
                                    call->b, call->c, call->now));
        break;
    case TICK:
        iso_aion_tick(run->engine, call->now);
        break;
    case WATERMARK:
        iso_aion_watermark(run->engine, call->a, call->now);
        break;
    case MEMORY:
        iso_aion_memory(run->engine, call->a, call->b, call->c);
        break;
    }
}

/* ---- saving and restoring ---- */

static void forget(struct saved *saved)
{
    if (saved->file)
        close(saved->file);
    *saved = (struct saved){0};
}

static void save(struct run *run)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_archive archive;
    forget(&run->pending);
    run->pending = (struct saved){memfd_create("state", MFD_CLOEXEC), run->call_count,
                                  run->log.used, run->events};
    iso_archive_save(&archive, run->pending.file, "state", &error);
    iso_aion_archive(&archive, run->engine);
    if (iso_archive_close(&archive) != ISO_OK)
        abort();
}

static void commit(struct run *run)
{
    if (!run->pending.file)
        return;
    forget(&run->committed);
    run->committed = run->pending;
    run->pending = (struct saved){0};
    iso_aion_commit(run->engine);
}

/* What was done since the archive is lost, and done again. */
static void restore(struct run *run)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_archive archive;
    const struct saved *saved = &run->committed;
    if (!saved->file)
        return;
    iso_aion_free(run->engine);
    forget(&run->pending);
    run->engine = iso_aion_new(&run->options);
    if (random_percent(&run->kills, 50))
        iso_aion_initial(run->engine, run->history); /* what is restored takes its place */
    if (lseek(saved->file, 0, SEEK_SET) < 0)
        abort();
    iso_archive_restore(&archive, saved->file, "state", &error);
    iso_aion_archive(&archive, run->engine);
    if (iso_archive_close(&archive) != ISO_OK) {
        printf("not ok - %s\n", error.text);
        exit(1);
    }
    iso_aion_block(run->engine, run->history);
    run->log.used = saved->log;
    run->events = saved->events;
    for (uint32_t i = saved->call; i < run->call_count; i++)
        call_engine(run, &run->calls[i]);
    run->restored++;
    run->again += run->call_count - saved->call;
}

/* Between two calls. */
static void maybe_restore(struct run *run)
{
    if (!run->restores)
        return;
    if (random_percent(&run->kills, run->save_percent)) {
        iso_aion_fork(run->engine);
        save(run);
    }
    if (run->pending.file && random_percent(&run->kills, 60))
        commit(run);
    if (random_percent(&run->kills, run->save_percent))
        restore(run);
}

/* ---- the script ---- */

static void perform(struct run *run, struct call call)
{
    maybe_restore(run);
    call.now = run->now;
    if (run->call_count == run->call_capacity) {
        run->call_capacity = run->call_capacity ? run->call_capacity * 2 : 64;
        run->calls = realloc(run->calls, run->call_capacity * sizeof *run->calls);
    }
    run->calls[run->call_count++] = call;
    call_engine(run, &call);
}

static void resolve_some(struct run *run)
{
    const struct iso_history *history = run->history;
    uint32_t t = random_below(&run->script, history->txns.count);
    bool committed = random_percent(&run->script, 50);
    if (iso_status_of(history, t) != ISO_UNKNOWN || !(history->txns.flags[t] & ISO_HAS_STS))
        return;
    uint64_t cts = history->txns.sts[t] + 1 + random_below(&run->script, 9);
    perform(run, (struct call){.what = RESOLVE, .a = t, .b = committed, .c = cts});
}

static void let_time_pass(struct run *run, uint64_t time)
{
    run->now += random_below(&run->script, 20);
    uint32_t back = random_below(&run->script, 20);
    if (random_percent(&run->script, 50))
        perform(run, (struct call){.what = TICK});
    if (random_percent(&run->script, 30) && time > back)
        perform(run, (struct call){.what = WATERMARK, .a = time - back});
}

/* The process has so much more than the engine's own, or another limit. */
static void look_at_memory(struct run *run)
{
    uint64_t limit = run->options.memory_limit;
    if (!limit || !random_percent(&run->script, 2))
        return;
    bool anew = random_percent(&run->script, 20);
    if (anew)
        limit += random_below(&run->script, (uint32_t)limit / 4);
    perform(run, (struct call){.what = MEMORY,
                               .a = limit,
                               .b = limit - random_below(&run->script, 400000),
                               .c = anew});
}

static void run_script(struct run *run)
{
    const struct iso_history *history = run->history;
    uint32_t count = history->txns.count, reach = 1 + random_below(&run->script, 40), group;
    uint32_t *order = malloc((count + 1) * sizeof *order);
    bool grouped = random_percent(&run->script, 40);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = 1; i < count && !grouped; i++) { /* some places away */
        uint32_t other = i - random_below(&run->script, i < reach ? i + 1 : reach), held = order[i];
        order[i] = order[other];
        order[other] = held;
    }
    run->engine = iso_aion_new(&run->options);
    iso_aion_initial(run->engine, history);
    iso_aion_block(run->engine, history);
    for (uint32_t i = 0; i < count; i += group) {
        uint32_t most = count - i < 200 ? count - i : 200;
        group = grouped ? 1 + random_below(&run->script, most) : 1;
        perform(run, (struct call){.what = ADD, .a = order[i], .b = group});
        if (random_percent(&run->script, 10))
            perform(run, (struct call){
                             .what = ADD, .a = order[random_below(&run->script, i + 1)], .b = 1});
        look_at_memory(run);
        if (random_percent(&run->script, 30))
            resolve_some(run);
        let_time_pass(run, history->txns.flags[order[i]] & ISO_HAS_CTS ? history->txns.cts[order[i]]
                                                                       : 0);
    }
    maybe_restore(run);
    iso_aion_end(run->engine, run->now);
    write_stats(run);
    iso_aion_free(run->engine);
    forget(&run->pending);
    forget(&run->committed);
    free(run->calls);
    free(order);
}

/* ---- cases ---- */

struct total {
    uint64_t cases, restored, again, events, evicted, expired;
    uint32_t failed;
};

static struct iso_aion_options draw_options(struct random *random, enum iso_level level, bool large)
{
    struct iso_aion_options options;
    iso_aion_options_init(&options);
    options.level = level;
    options.session_order = random_percent(random, 80);
    options.shards = 1 + random_below(random, 3);
    options.finality_timeout_ms = random_percent(random, 50) ? 1 + random_below(random, 100) : 0;
    options.retention =
        random_percent(random, 50) ? ISO_AION_FOREVER : random_below(random, large ? 2000 : 6);
    options.memory_limit =
        large && random_percent(random, 50) ? 300000 + random_below(random, 300000) : 0;
    options.settle_ms = random_percent(random, 60) ? 1 + random_below(random, 200) : 0;
    options.forced.settle_distance = random_percent(random, 30) ? random_below(random, 50) : 0;
    options.host.settle_untimed = random_percent(random, 30);
    options.host.foreign = random_percent(random, 30);
    options.host.emit = write_event;
    options.forced.throttles_soon = random_percent(random, 30);
    return options;
}

/* The one that is restored has files with names. */
static void draw_store(struct random *random, struct run *run, bool large)
{
    if (!random_percent(random, large ? 70 : 20))
        return;
    snprintf(run->folder, sizeof run->folder, "%s/iso-restored-XXXXXX",
             temporary_folder_in_memory());
    if (!mkdtemp(run->folder))
        abort();
    run->options.spill = run->folder;
    run->options.host.spill_stays = run->restores;
    run->options.forced.spill_segment_bits = 12; /* so that there are many, and some are cleaned */
    run->options.forced.spill_all = random_percent(random, large ? 40 : 80);
    if (run->options.memory_limit)
        run->options.memory_limit += (uint64_t)run->options.shards * ISO_SPILL_BUFFERS;
}

static void remove_folder(struct run *run)
{
    char path[sizeof run->folder + 32];
    if (!*run->folder)
        return;
    for (uint32_t s = 0; s < run->options.shards; s++) {
        snprintf(path, sizeof path, "%s/spill-%u", run->folder, s);
        unlink(path);
    }
    if (rmdir(run->folder))
        abort();
}

static void compare(const struct iso_history *history, enum iso_level level, uint64_t seed,
                    struct total *total)
{
    bool large = history->txns.count > PLAIN_TRANSACTIONS;
    struct random random = {seed};
    struct run runs[2];
    struct iso_aion_options options = draw_options(&random, level, large);
    for (int i = 0; i < 2; i++) {
        struct random store = {seed + 3};
        runs[i] = (struct run){.history = history,
                               .options = options,
                               .script = random,
                               .kills = {seed + 9},
                               .restores = i};
        runs[i].options.host.context = &runs[i];
        runs[i].save_percent = large ? 2 : 20;
        draw_store(&store, &runs[i], large);
        run_script(&runs[i]);
        remove_folder(&runs[i]);
    }
    bool same = runs[0].log.used == runs[1].log.used &&
                !memcmp(runs[0].log.bytes, runs[1].log.bytes, runs[0].log.used);
    total->cases++;
    total->restored += runs[1].restored;
    total->again += runs[1].again;
    total->evicted += runs[1].evicted;
    total->expired += runs[1].expired;
    total->events += runs[0].events;
    if (!same && total->failed++ < MAX_REPORTS)
        printf("not ok - %s: a restored engine goes on differently, seed %" PRIu64 "%s\n",
               iso_level_name(level), seed, large ? ", large" : "");
    for (int i = 0; i < 2; i++)
        iso_text_release(&runs[i].log);
}

static void small_cases(enum iso_level level, uint64_t count, uint64_t seed, struct total *total)
{
    struct random_history_options options = random_history_defaults();
    options.cells = true;
    struct plain_history *plain = calloc(1, sizeof *plain);
    struct iso_history history;
    iso_history_init(&history);
    for (uint64_t i = seed; i < seed + count; i++) {
        struct iso_error error = {.status = ISO_OK};
        random_history(i, &options, plain);
        if (plain_history_build(plain, &history, &error) == ISO_OK && history.txns.count)
            compare(&history, level, i, total);
    }
    iso_history_release(&history);
    free(plain);
}

static bool append_block(void *context, const struct iso_history *block)
{
    iso_history_append(context, block, 0, 0);
    return true;
}

static void large_cases(enum iso_level level, uint64_t count, uint64_t seed, struct total *total)
{
    for (uint64_t i = seed; i < seed + count; i++) {
        struct iso_generate_options options = {.sessions = 20,
                                               .transactions = LARGE,
                                               .operations = 6,
                                               .keys = 5 + (uint32_t)(i % 3) * 60,
                                               .read_share = UINT32_MAX / 2,
                                               .aborted_share = UINT32_MAX / 50,
                                               .unknown_share = UINT32_MAX / 50,
                                               .level = i % 2 ? ISO_SI : ISO_SER,
                                               .order = ISO_ORDER_START,
                                               .lists = i % 4 == 3,
                                               .seed = i};
        struct iso_generated generated;
        struct iso_history history;
        struct iso_error error = {.status = ISO_OK};
        iso_history_init(&history);
        iso_history_input(&history, "generated");
        iso_generate(&options, append_block, &history, &generated);
        if (iso_history_finish(&history, &error) != ISO_OK)
            printf("# %s\n", error.text), total->failed++;
        else
            compare(&history, level, i, total);
        iso_generated_release(&generated);
        iso_history_release(&history);
    }
}

int main(int argc, char **argv)
{
    uint64_t histories = DEFAULT_HISTORIES, large = DEFAULT_LARGE, seed = FULL_SEED;
    struct total total = {0};
    const struct argument known[] = {{"--histories", .number = &histories},
                                     {"--large", .number = &large},
                                     {"--seed", .number = &seed},
                                     {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    printf("# seed %" PRIu64 "\n", seed);
    for (int level = ISO_SI; level < ISO_LEVELS; level++) {
        if (!iso_level_judged_by(level, ISO_BY_AION) || level == ISO_PC)
            continue;
        small_cases(level, histories, seed, &total);
        large_cases(level, level > ISO_SER ? large / 2 : large, seed, &total);
    }
    printf("# %" PRIu64 " cases, restored %" PRIu64 " times, %" PRIu64 " calls done again, %" PRIu64
           " events, %" PRIu64 " keys went to a store, %" PRIu64 " records were cut there\n",
           total.cases, total.restored, total.again, total.events, total.evicted, total.expired);
    if (!total.failed)
        printf("ok - a restored engine goes on as the saved one would have\n");
    bool covered = total.restored > total.cases && total.again > total.cases &&
                   total.events > total.cases && total.evicted > total.cases && total.expired;
    printf("%s - everything occurred\n", covered ? "ok" : "not ok");
    return total.failed || !covered;
}
