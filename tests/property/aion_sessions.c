/* SESSION where sessions end, are forgotten and come back, against the definition.
 *
 * Each case is a stream with a short retention: transactions of a few names, each of which now and
 * then falls silent for much longer than the retention, and goes on or begins anew with its places;
 * with places given, as they arrive, or some of each; in order, overtaking each other, or much too
 * late; some start long before they commit, some are aborted, of unknown outcome or come twice;
 * some have the wrong order. In half of the cases the engine is saved and restored between calls.
 * What is asked, of all that was taken:
 *
 *  - what is told breaks the order of its session by the definition: no false alarm;
 *  - of two that break it the later one is told, unless one of them was counted as undecided when
 *    it came;
 *  - who is counted as undecided breaks the order by its start, or may come to stand before others,
 *    or started below the floor in a session that was not known: nobody else.
 *
 * With settling it cannot be seen who is counted: then nothing may be lacking where none is.
 *
 * aion_sessions [--histories N] [--seed S]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aion/archive.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"

enum { DEFAULT_HISTORIES = 1500, TRANSACTIONS = 160, NAMES = 6, MAX_REPORTS = 3, SILENT = 400 };

struct transaction {
    uint64_t sts, cts, sno; /* sno: once it was taken */
    uint32_t name, number;  /* number: in the order of acceptance; 0: not taken, or not yet */
    uint8_t status, sent;   /* as it is known; as it is sent */
    bool has_sno, point, undecided, told, returned;
    uint64_t begun; /* the floor when its session was begun */
};

struct name {
    uint64_t place, time, until; /* next sno; until: silent so long */
    uint64_t arrived, latest, floor;
    bool known;
    enum { GIVEN, ARRIVAL, MIXED } places;
};

struct statistics {
    uint64_t streams, returned, told, undecided, by_place, by_start, unknown, repeats, resolved,
        restored, refused;
};

struct stream {
    struct random random;
    struct iso_history block;
    struct iso_aion_options options;
    struct iso_aion *engine;
    struct transaction list[TRANSACTIONS];
    uint32_t order[TRANSACTIONS];
    struct name names[NAMES];
    uint64_t frontier, limit, floor, now;
    uint32_t accepted;
    bool settles, restores;
    struct statistics *statistics;
    const char *wrong;
    uint32_t first, second;
};

/* ---- the history ---- */

static void choose_times(struct stream *stream, struct transaction *transaction, uint64_t *clock)
{
    struct random *random = &stream->random;
    struct name *name = &stream->names[transaction->name];
    *clock += 1 + random_below(random, 6);
    uint64_t start = *clock;
    if (random_percent(random, 10)) /* long, or of an old snapshot */
        start = *clock - random_below(random, (uint32_t)(*clock < 300 ? *clock : 300));
    if (random_percent(random, 90) && start < name->time)
        start = *clock = name->time;
    transaction->point = random_percent(random, 20);
    transaction->sts = start;
    transaction->cts = transaction->point ? start : *clock + 1 + random_below(random, 5);
    *clock = *clock > transaction->cts ? *clock : transaction->cts;
    name->time = transaction->cts;
}

static void choose_place(struct stream *stream, struct transaction *transaction)
{
    struct random *random = &stream->random;
    struct name *name = &stream->names[transaction->name];
    if (random_percent(random, 3))
        name->place = random_below(random, 4); /* anew */
    if (random_percent(random, 5))
        name->place += random_below(random, 3);
    transaction->has_sno =
        name->places == GIVEN || (name->places == MIXED && random_percent(random, 50));
    transaction->sno = name->place;
    if (random_percent(random, 3) && name->place) /* one before those that came */
        transaction->sno = random_below(random, (uint32_t)name->place);
    name->place++;
}

static void write_history(struct stream *stream)
{
    struct random *random = &stream->random;
    uint64_t clock = 1;
    for (uint32_t n = 0; n < NAMES; n++)
        stream->names[n] =
            (struct name){.places = random_below(random, 3), .place = random_below(random, 2)};
    for (uint32_t t = 0; t < TRANSACTIONS; t++) {
        struct transaction *transaction = &stream->list[t];
        do
            transaction->name = random_below(random, NAMES);
        while (stream->names[transaction->name].until > clock && random_percent(random, 95));
        choose_times(stream, transaction, &clock);
        choose_place(stream, transaction);
        uint32_t status = random_below(random, 100);
        transaction->status = transaction->sent = status < 5    ? ISO_ABORTED
                                                  : status < 12 ? ISO_UNKNOWN
                                                                : ISO_COMMITTED;
        if (random_percent(random, 8))
            stream->names[transaction->name].until = clock + SILENT;
    }
}

static void write_transaction(struct stream *stream, uint32_t t)
{
    struct iso_history *block = &stream->block;
    const struct transaction *transaction = &stream->list[t];
    char text[32];
    int length = snprintf(text, sizeof text, transaction->name % 2 ? "%" PRIu32 : "client %" PRIu32,
                          transaction->name);
    iso_history_clear(block);
    block->clock = ISO_CLOCK_SCALAR;
    iso_history_begin(block, t, iso_atoms_text(&block->atoms, text, (size_t)length),
                      transaction->sent, iso_origin(0, t));
    iso_history_set_sts(block, (struct iso_stamp){.physical = transaction->sts});
    if (transaction->sent == ISO_COMMITTED)
        iso_history_set_cts(block, (struct iso_stamp){.physical = transaction->cts});
    if (transaction->has_sno)
        iso_history_set_sno(block, transaction->sno);
    iso_history_operation(block, transaction->point ? ISO_READ : ISO_WRITE, t,
                          transaction->point ? ISO_ABSENT : t);
    iso_aion_block(stream->engine, block);
}

/* Overtaking each other by a little, a few by much. */
static void choose_order(struct stream *stream)
{
    uint64_t arrival[TRANSACTIONS];
    uint32_t reach =
        random_percent(&stream->random, 30) ? 1 : 1 + random_below(&stream->random, 60);
    for (uint32_t t = 0; t < TRANSACTIONS; t++) {
        arrival[t] = stream->list[t].cts + random_below(&stream->random, reach);
        if (random_percent(&stream->random, 3))
            arrival[t] += random_below(&stream->random, 2 * SILENT);
        uint32_t at = t;
        for (; at && arrival[stream->order[at - 1]] > arrival[t]; at--)
            stream->order[at] = stream->order[at - 1];
        stream->order[at] = t;
    }
}

/* ---- the stream ---- */

static void note(void *context, const struct iso_aion_event *event)
{
    struct stream *stream = context;
    if (event->axiom == ISO_SESSION && event->state == ISO_AION_FINAL)
        stream->list[event->transaction.tid].told = true;
}

static struct iso_aion_stats stats_of(const struct stream *stream)
{
    struct iso_aion_stats stats;
    iso_aion_stats(stream->engine, &stats);
    return stats;
}

static void restore(struct stream *stream)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_archive archive;
    int file = memfd_create("state", MFD_CLOEXEC);
    iso_archive_save(&archive, file, "state", &error);
    iso_aion_archive(&archive, stream->engine);
    if (iso_archive_close(&archive) != ISO_OK || lseek(file, 0, SEEK_SET) < 0)
        abort();
    iso_aion_free(stream->engine);
    stream->engine = iso_aion_new(&stream->options);
    iso_archive_restore(&archive, file, "state", &error);
    iso_aion_archive(&archive, stream->engine);
    if (iso_archive_close(&archive) != ISO_OK)
        abort();
    close(file);
    stream->statistics->restored++;
}

/* It came, or its outcome did. */
static void taken(struct stream *stream, struct transaction *transaction, bool resolved,
                  uint64_t undecided_before)
{
    struct name *name = &stream->names[transaction->name];
    uint64_t moment = transaction->cts > transaction->sts ? transaction->cts : transaction->sts;
    if (transaction->status == ISO_UNKNOWN && !resolved)
        moment = transaction->sts;
    if (!name->known)
        name->floor = stream->floor;
    name->known = true;
    transaction->returned = name->arrived && name->latest < stream->floor;
    transaction->begun = name->floor;
    if (!resolved && !transaction->has_sno)
        transaction->sno = name->arrived;
    name->arrived += !resolved;
    name->latest = moment > name->latest ? moment : name->latest;
    transaction->undecided = stats_of(stream).sessions_undecided > undecided_before;
    stream->statistics->returned += transaction->returned;
}

static void arrive(struct stream *stream, uint32_t t)
{
    struct transaction *transaction = &stream->list[t];
    struct iso_error error = {.status = ISO_OK};
    struct iso_aion_stats before = stats_of(stream), after;
    write_transaction(stream, t);
    if (iso_aion_add(stream->engine, 0, 1, stream->now, NULL, &error) != ISO_OK) {
        stream->wrong = "refused with an error";
        stream->first = stream->second = t;
        return;
    }
    after = stats_of(stream);
    bool ignored =
        after.repeats + after.beyond_retention > before.repeats + before.beyond_retention;
    stream->statistics->repeats += after.repeats > before.repeats;
    stream->statistics->refused += after.beyond_retention > before.beyond_retention;
    if (ignored)
        return;
    taken(stream, transaction, false, before.sessions_undecided);
    if (transaction->status == ISO_COMMITTED)
        transaction->number = ++stream->accepted;
}

/* An outcome that was not known is told; sometimes long after. */
static void resolve_some(struct stream *stream)
{
    uint32_t t = random_below(&stream->random, TRANSACTIONS);
    struct transaction *transaction = &stream->list[t];
    bool committed = random_percent(&stream->random, 70);
    uint64_t before = stats_of(stream).sessions_undecided;
    if (transaction->status != ISO_UNKNOWN || transaction->number ||
        !iso_aion_resolve(stream->engine, &stream->block.atoms, t, committed, transaction->cts,
                          stream->now))
        return;
    stream->statistics->resolved++;
    taken(stream, transaction, true, before);
    transaction->status = committed ? ISO_COMMITTED : ISO_ABORTED;
    if (committed)
        transaction->number = ++stream->accepted;
}

static void let_time_pass(struct stream *stream, uint64_t cts)
{
    uint32_t back = random_below(&stream->random, 30);
    stream->now += random_below(&stream->random, 20);
    stream->frontier = cts > stream->frontier ? cts : stream->frontier;
    if (stream->options.finality_timeout_ms) {
        iso_aion_tick(stream->engine, stream->now);
        return;
    }
    if (random_percent(&stream->random, 40) || stream->frontier <= back)
        return;
    iso_aion_watermark(stream->engine, stream->frontier - back, stream->now);
    uint64_t limit = stream->frontier - back + 1;
    stream->limit = limit > stream->limit ? limit : stream->limit;
    stream->floor =
        stream->limit > stream->options.retention ? stream->limit - stream->options.retention : 0;
}

static void run(struct stream *stream)
{
    stream->engine = iso_aion_new(&stream->options);
    for (uint32_t i = 0; i < TRANSACTIONS && !stream->wrong; i++) {
        uint32_t t = stream->order[i];
        arrive(stream, t);
        if (random_percent(&stream->random, 10))
            arrive(stream, stream->order[random_below(&stream->random, i + 1)]);
        if (random_percent(&stream->random, 30))
            resolve_some(stream);
        let_time_pass(stream, stream->list[t].cts);
        if (stream->restores && random_percent(&stream->random, 10))
            restore(stream);
    }
    iso_aion_end(stream->engine, stream->now);
}

/* ---- the definition ---- */

static bool is_earlier(const struct transaction *one, const struct transaction *other)
{
    if (one->name != other->name || one == other || !one->number || !other->number)
        return false;
    return one->sno != other->sno ? one->sno < other->sno : one->number < other->number;
}

static bool breaks(const struct stream *stream, const struct transaction *later,
                   const struct transaction *earlier)
{
    if (!is_earlier(earlier, later))
        return false;
    if (stream->options.level == ISO_SI)
        return later->sts < earlier->cts;
    return later->cts != earlier->cts ? later->cts < earlier->cts : !later->point;
}

static void check_told(struct stream *stream, uint32_t t)
{
    const struct transaction *transaction = &stream->list[t], *other;
    bool wrong = false;
    for (uint32_t u = 0; u < TRANSACTIONS; u++) {
        other = &stream->list[u];
        if (!breaks(stream, transaction, other))
            continue;
        wrong = true;
        bool undecided = stream->settles ? stats_of(stream).sessions_undecided > 0
                                         : transaction->undecided || other->undecided;
        if (transaction->told || undecided)
            continue;
        stream->wrong = "not told";
        stream->first = t;
        stream->second = u;
    }
    if (!transaction->told || wrong)
        return;
    stream->wrong = "told, and right";
    stream->first = stream->second = t;
}

/* Had it a reason to be undecided? Only with watermarks it is known where the floor was. */
static void check_undecided(struct stream *stream, uint32_t t)
{
    const struct transaction *transaction = &stream->list[t];
    uint64_t start = stream->options.level == ISO_SI ? transaction->sts : transaction->cts;
    bool by_place = false, by_start = false;
    if (!transaction->undecided || stream->settles)
        return;
    for (uint32_t u = 0; u < TRANSACTIONS; u++) {
        const struct transaction *other = &stream->list[u];
        by_place |= other->number && other->number < transaction->number &&
                    other->name == transaction->name && other->sno > transaction->sno;
        by_start |= breaks(stream, transaction, other);
    }
    bool unknown = start < transaction->begun || stream->options.finality_timeout_ms;
    stream->statistics->by_place += by_place;
    stream->statistics->by_start += by_start && !by_place;
    stream->statistics->unknown += unknown && !by_place && !by_start;
    if (by_place || by_start || unknown)
        return;
    stream->wrong = "undecided without a reason";
    stream->first = stream->second = t;
}

static void check(struct stream *stream)
{
    for (uint32_t t = 0; t < TRANSACTIONS && !stream->wrong; t++) {
        stream->statistics->told += stream->list[t].told;
        check_told(stream, t);
        check_undecided(stream, t);
    }
    stream->statistics->undecided += stats_of(stream).sessions_undecided;
}

/* ---- many ---- */

static void print_transaction(const struct stream *stream, uint32_t t)
{
    const struct transaction *transaction = &stream->list[t];
    printf("#   %" PRIu32 ": name %" PRIu32 ", sno %" PRIu64 "%s, %" PRIu64 " to %" PRIu64
           ", status %d, accepted as %" PRIu32 "%s%s%s\n",
           t, transaction->name, transaction->sno, transaction->has_sno ? "" : " by arrival",
           transaction->sts, transaction->cts, transaction->status, transaction->number,
           transaction->undecided ? ", undecided" : "", transaction->told ? ", told" : "",
           transaction->returned ? ", returned" : "");
}

static void print(const struct stream *stream, uint64_t seed)
{
    printf("not ok - %s: seed %" PRIu64 "\n# %s; retention %" PRIu64 ", deadline %" PRIu64
           " ms, %s\n",
           iso_level_name(stream->options.level), seed, stream->wrong, stream->options.retention,
           stream->options.finality_timeout_ms, stream->settles ? "settling" : "at once");
    print_transaction(stream, stream->first);
    print_transaction(stream, stream->second);
    printf("# of the same name, as they arrived:\n");
    for (uint32_t i = 0; i < TRANSACTIONS; i++) {
        if (stream->list[stream->order[i]].name == stream->list[stream->first].name)
            print_transaction(stream, stream->order[i]);
    }
}

static bool stream_agrees(enum iso_level level, uint64_t seed, struct statistics *statistics)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        abort();
    stream->random = (struct random){seed * 2 + (level == ISO_SER)};
    stream->statistics = statistics;
    iso_history_init(&stream->block);
    iso_history_input(&stream->block, "topic[0]");
    iso_aion_options_init(&stream->options);
    stream->settles = random_percent(&stream->random, 25);
    stream->restores = random_percent(&stream->random, 50);
    stream->options.level = level;
    stream->options.forced.throttles_soon = seed % 2;
    stream->options.shards = 1 + random_below(&stream->random, 3);
    stream->options.retention =
        random_percent(&stream->random, 10) ? ISO_AION_FOREVER : random_below(&stream->random, 150);
    stream->options.finality_timeout_ms =
        random_percent(&stream->random, 20) ? 1 + random_below(&stream->random, 40) : 0;
    stream->options.settle_ms = stream->settles ? 1 + random_below(&stream->random, 200) : 0;
    stream->options.host.emit = note;
    stream->options.host.context = stream;
    write_history(stream);
    choose_order(stream);
    run(stream);
    check(stream);
    if (stream->wrong)
        print(stream, seed);
    bool good = !stream->wrong;
    statistics->streams++;
    iso_aion_free(stream->engine);
    iso_history_release(&stream->block);
    free(stream);
    return good;
}

static bool occurred(uint64_t times, uint64_t streams, const char *what)
{
    bool enough = times >= streams / 100;
    printf("# %s: %" PRIu64 "%s\n", what, times, enough ? "" : ": too few");
    return enough;
}

static bool covers(const struct statistics *statistics, enum iso_level level)
{
    uint64_t streams = statistics->streams;
    bool good = occurred(statistics->returned, streams, "in a session that had ended");
    good &= occurred(statistics->told, streams, "told");
    good &= occurred(statistics->undecided, streams, "undecided");
    good &= occurred(statistics->by_place, streams, "undecided by their place");
    if (level == ISO_SI) {
        good &= occurred(statistics->by_start, streams, "undecided by their start alone");
        good &= occurred(statistics->unknown, streams, "undecided in a session that was not known");
    }
    good &= occurred(statistics->repeats, streams, "repeats");
    good &= occurred(statistics->refused, streams, "beyond the retention");
    good &= occurred(statistics->resolved, streams, "outcomes told later");
    return occurred(statistics->restored, streams, "restored") && good;
}

static bool run_level(enum iso_level level, uint64_t histories, uint64_t seed)
{
    struct statistics statistics = {0};
    uint32_t failed = 0;
    for (uint64_t i = 0; i < histories && failed < MAX_REPORTS; i++)
        failed += !stream_agrees(level, seed + i, &statistics);
    if (!failed)
        printf("ok - %s: sessions that ended are judged right or counted as undecided in %" PRIu64
               " streams\n",
               iso_level_name(level), histories);
    bool covered = covers(&statistics, level);
    printf("%s - %s: everything occurred\n", covered ? "ok" : "not ok", iso_level_name(level));
    return !failed && covered;
}

int main(int argc, char **argv)
{
    uint64_t histories = DEFAULT_HISTORIES, seed = 1;
    const struct argument known[] = {
        {"--histories", .number = &histories}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    printf("# seed %" PRIu64 ", %" PRIu64 " streams a level\n", seed, histories);
    bool good = run_level(ISO_SI, histories, seed);
    return run_level(ISO_SER, histories, seed) && good ? 0 : 1;
}
