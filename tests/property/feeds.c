/* Change streams against files: what happened in a database is written as the feed of a connector
 * (tests/support/feed_*.h), and the pipeline must find in feed and client records what chronos
 * finds in the history itself, as (axiom, transactions, key).
 *
 * Of random histories each row is a value (tests/support/carriage.h). Senders restart and repeat,
 * cut transactions, interleave groups, topics and partitions; records come before, between and
 * after rows, from a topic or a file; some clients publish nothing (their transactions are versions
 * and nothing else), some do not know their outcome. Some feeds tell something else than the
 * clients wrote: a write left out, altered, or one too many. What the join must make of all that is
 * worked out here from the rules alone, by looking at everything. Of a small table the columns are
 * registers (tests/support/cell_world.h). Where a stream comes alone, it must fit together.
 *
 * Between batches the pipeline is saved and restored at times, and it is asked what it would say if
 * the run were cut off there (tests/support/feeder.h).
 *
 * feeds [--values N] [--cells N] [--seed S] [--format F] [--restores PERCENT]: so many histories
 * of each format, 400 where neither is given
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chronos/chronos.h"
#include "tests/support/arguments.h"
#include "tests/support/carriage.h"
#include "tests/support/cell_world.h"
#include "tests/support/feed_yugabyte.h"
#include "tests/support/random_history.h"

enum {
    DEFAULT_HISTORIES = 400,
    DEFAULT_RESTORES = 15,
    MAX_REPORTS = 3,
    CELL_TRANSACTIONS = 24,
    CELL_OF_TABLES = 4,
    CELL_TABLES = 2
};

/* ---- what was found ---- */

static int compare_found(const void *left, const void *right)
{
    return strcmp(left, right);
}

static void sort_found(struct found *found)
{
    qsort(found->list, found->count, FOUND_TEXT, compare_found);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < found->count; i++)
        if (!kept || strcmp(found->list[kept - 1], found->list[i]))
            memmove(found->list[kept++], found->list[i], FOUND_TEXT);
    found->count = kept;
}

/* Both are sorted. Reads that differ beyond what surely came wait: so many of the expected may
 * lack; all of them, where records wait whose own outcome lies there. */
static bool same_found(const struct found *expected, const struct found *found, uint64_t beyond)
{
    uint64_t lacking = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < expected->count; i++) {
        bool is_there = next < found->count && !strcmp(expected->list[i], found->list[next]);
        next += is_there;
        lacking += !is_there;
        bool of_read =
            !strncmp(expected->list[i], "EXT ", 4) || !strncmp(expected->list[i], "INT ", 4);
        if (!is_there && !of_read && beyond != UINT64_MAX)
            return false;
    }
    return next == found->count && lacking <= beyond;
}

static void print_found(const char *name, const struct found *found)
{
    printf("# %s:", name);
    for (uint32_t i = 0; i < found->count; i++)
        printf(" [%s]", found->list[i]);
    printf("\n");
}

static void chronos_found(struct carriage *carriage, const struct plain_history *plain,
                          struct found *found)
{
    struct iso_check_options options = {
        .level = carriage->level, .session_order = true, .threads = 1};
    struct iso_history history;
    struct iso_verdict verdict;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    if (plain_history_build(plain, &history, &error) != ISO_OK)
        abort();
    iso_verdict_init(&verdict, &history, carriage->level, 0);
    if (iso_chronos_check(&history, &options, &verdict, &error) != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    for (uint32_t i = 0; i < verdict.violation_count; i++) {
        const struct iso_violation *violation = &verdict.violations[i];
        char text[FOUND_TEXT];
        snprintf(text, sizeof text, "%s ", iso_axiom_name(violation->axiom));
        carriage_put_atom(text, sizeof text, &history, history.txns.tid[violation->transaction]);
        if (violation->axiom == ISO_NOCONFLICT) {
            strcat(text, ",");
            carriage_put_atom(text, sizeof text, &history, history.txns.tid[violation->other]);
        }
        strcat(text, " ");
        if (violation->key != ISO_NONE)
            carriage_put_atom(text, sizeof text, &history, history.keys.atom[violation->key]);
        const char *rest = strchr(text, ' ');
        char change[FOUND_TEXT];
        snprintf(change, sizeof change, "CDC%s", rest);
        /* reads are its */
        carriage_add_found(found, carriage->format->mode == BY_BEFORE_IMAGES ? change : text);
    }
    iso_verdict_release(&verdict);
    iso_history_release(&history);
}

/* ---- one history whose rows are values ---- */

static bool prepare_by_timestamps(struct carriage *carriage)
{
    uint32_t added = 0;
    carriage_spread_times(&carriage->client);
    carriage_spread_places(carriage);
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        struct plain_transaction *transaction = &carriage->client.transactions[t];
        transaction->xid =
            plain_transaction_writes(transaction) && carriage->format->identity == BY_XID
                ? carriage->first_xid + t
                : 0;
        transaction->snapshot.given = false;
        added += transaction->status == ISO_UNKNOWN;
        if (carriage->format->marker && transaction->status == ISO_UNKNOWN &&
            !transaction->sts.given)
            return false; /* chronos asks a committed one for it */
    }
    if (carriage->client.transaction_count + added > PLAIN_TRANSACTIONS)
        return false;
    carriage_draw_outcomes(carriage);
    if (random_percent(&carriage->random, 20) && carriage->client.transaction_count)
        carriage_alter(carriage);
    carriage_expect_by_timestamps(carriage);
    return true;
}

/* Initial values that a connector's snapshot may hold: one row a key. */
static bool has_snapshot(const struct plain_history *history)
{
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (history->initials[i].value.absent)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (plain_equal(&history->initials[i].key, &history->initials[j].key))
                return false;
    }
    return history->initial_value.absent;
}

static bool (*const prepare[])(struct carriage *carriage) = {
    [BY_TIMESTAMPS] = prepare_by_timestamps,
    [BY_SNAPSHOTS] = carriage_by_snapshots,
    [IN_BAND] = carriage_in_band,
    [BY_BEFORE_IMAGES] = carriage_by_before_images,
};

/* Of isolation a stream alone says nothing. */
static bool tells_of_changes_only(const struct found *found)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (strncmp(found->list[i], "CDC ", 4))
            return false;
    return true;
}

/* A run that is restored on its way says what one that is not does. */
static void run_values(struct carriage *carriage)
{
    static struct carriage straight;
    static struct statistics uncounted;
    straight = *carriage;
    straight.restores = 0;
    straight.statistics = &uncounted;
    carriage_run(carriage);
    if (carriage->feeder.restored && !carriage->failure[0]) {
        carriage_run(&straight);
        if (!feeder_said_the_same(&carriage->feeder, &straight.feeder))
            snprintf(carriage->failure, sizeof carriage->failure, "%s", carriage->feeder.failure);
        feeder_release(&straight.feeder);
    }
    feeder_release(&carriage->feeder);
}

static bool carry_values(struct carriage *carriage, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    options.complete = true;
    /* Debezium's source is known to have no unsigned integers by its first message: what is found
     * before is unclear. */
    options.unsigned_streams = !carriage_is_of(carriage->format, "yugabyte") &&
                               !carriage_is_of(carriage->format, "dgraph");
    carriage->random = (struct random){seed * 7919 + 17};
    carriage->expected.count = carriage->found.count = 0;
    carriage->failure[0] = 0;
    carriage->from_file = false;
    carriage->first_xid = random_percent(&carriage->random, 20) ? 0xfffffffa : 700;
    carriage->online = carriage->lost = false;
    carriage->beyond = 0;
    carriage->places_left_out =
        carriage->format->mode != IN_BAND && random_percent(&carriage->random, 50);
    carriage->drops =
        random_percent(&carriage->random, 50) && carriage->format->marker != MARKER_COLUMN;
    random_history(seed, &options, &carriage->client);
    if (!carriage_can_carry(carriage, &carriage->client))
        return true;
    carriage_rename_keys(carriage, &carriage->client);
    carriage->snapshot_rows = carriage_is_of(carriage->format, "debezium") &&
                              has_snapshot(&carriage->client) &&
                              random_percent(&carriage->random, 50);
    if (!prepare[carriage->format->mode](carriage))
        return true;
    chronos_found(carriage, &carriage->told, &carriage->expected);
    carriage_strip(carriage);
    run_values(carriage);
    if (carriage->lost) {
        carriage->statistics->carried++;
        carriage->statistics->altered++;
        return !carriage->failure[0] && carriage->outcome != ISO_OK &&
               tells_of_changes_only(&carriage->found);
    }
    sort_found(&carriage->expected);
    sort_found(&carriage->found);
    carriage->statistics->carried++;
    carriage->statistics->violated += carriage->expected.count > 0;
    return !carriage->failure[0] &&
           same_found(&carriage->expected, &carriage->found, carriage->beyond);
}

static void report_values(const struct carriage *carriage, uint64_t seed)
{
    printf("not ok - %s, seed %" PRIu64 ", %s: %s\n", carriage->format->name, seed,
           iso_level_name(carriage->level), carriage->failure);
    print_found("expected", &carriage->expected);
    print_found("found", &carriage->found);
    printf("# clients:\n");
    plain_history_print(&carriage->client, stdout, "#   ");
    printf("# source (commits:");
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        printf(" %" PRIu64 "%s", carriage->commits[t], carriage->withheld[t] ? "w" : "");
    printf("):\n");
    plain_history_print(&carriage->source, stdout, "#   ");
    printf("# told:\n");
    plain_history_print(&carriage->told, stdout, "#   ");
}

static bool run_values_of(const struct format *format, uint64_t histories, uint64_t seed,
                          uint32_t restores, struct statistics *all)
{
    struct statistics statistics = {0};
    struct carriage *carriage = iso_allocate_zeroed(1, sizeof *carriage);
    uint32_t failed = 0;
    uint64_t tried = 0;
    carriage->format = format;
    carriage->restores = restores;
    carriage->statistics = &statistics;
    for (; statistics.carried < histories && failed < MAX_REPORTS && tried < histories * 100;
         tried++) {
        carriage->level = tried % 3 ? ISO_SI : ISO_SER;
        if (carry_values(carriage, seed + tried))
            continue;
        report_values(carriage, seed + tried);
        failed++;
    }
    printf("# %s: %" PRIu64 " carried of %" PRIu64 ", %" PRIu64 " violated, %" PRIu64
           " altered, %" PRIu64 " foreign, %" PRIu64 " committed, %" PRIu64 " aborted and %" PRIu64
           " unresolved of unknown outcome, %" PRIu64 " repeats, said to hold %" PRIu64 " times\n",
           format->name, statistics.carried, tried, statistics.violated, statistics.altered,
           statistics.foreign, statistics.committed, statistics.aborted, statistics.unresolved,
           statistics.repeats, statistics.held);
    if (!failed)
        printf("ok - %s: what chronos finds in %" PRIu64 " histories\n", format->name,
               statistics.carried);
    iso_free(carriage);
    const uint64_t *own = (const uint64_t *)&statistics;
    for (size_t i = 0; i < sizeof *all / sizeof *own; i++)
        ((uint64_t *)all)[i] += own[i];
    return !failed && statistics.carried == histories;
}

static bool covers(const struct statistics *all)
{
    bool covered = all->foreign && all->committed && all->aborted && all->unresolved &&
                   all->altered && all->repeats && all->violated && all->online && all->restored &&
                   all->held && all->timeless;
    printf("%s - everything occurred\n", covered ? "ok" : "not ok");
    return covered;
}

/* ---- one history whose rows have columns ---- */

static uint32_t print_records(const struct cell_world *world,
                              struct iso_bytes records[CELL_TRANSACTIONS])
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < world->count && !world->format->alone && !world->format->in_band;
         t++) {
        char *line;
        size_t size;
        if (world->list[t].withheld)
            continue;
        FILE *file = open_memstream(&line, &size);
        cell_print_record(world, file, t);
        fclose(file);
        records[count++] = (struct iso_bytes){(const uint8_t *)line, (uint32_t)size};
    }
    return count;
}

static struct iso_pipeline *open_cells(void *context)
{
    return cell_open_pipeline(context);
}

static void give_cells(struct cell_world *world, struct feeder *feeder, uint32_t restores)
{
    struct feed feed;
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline_stats stats;
    struct iso_bytes records[CELL_TRANSACTIONS];
    *feeder = (struct feeder){.open = open_cells, .context = world, .restores = restores};
    feeder->counts_records = !world->format->alone && !world->format->in_band;
    feeder->has_columns = !world->format->registers;
    feed_init(&feed);
    if (!cell_write_feed(world, &feed))
        snprintf(world->failure, sizeof world->failure, "the feed cannot carry it");
    world->said = &feeder->said;
    feeder_open(feeder);
    cell_set_initial(world, feeder->pipeline);
    uint32_t count = print_records(world, records);
    feeder_give(feeder, &world->random, &feed, records, count, &error);
    if (error.status == ISO_OK)
        feeder_end(feeder, &error);
    const char *failure = error.status == ISO_OK ? feeder->failure : error.text;
    if (*failure)
        snprintf(world->failure, sizeof world->failure, "%s", failure);
    iso_pipeline_stats(feeder->pipeline, &stats);
    world->repeats += stats.join.repeats;
    feed_release(&feed);
    for (uint32_t i = 0; i < count; i++)
        free((void *)(uintptr_t)records[i].data);
}

/* All came, so that it holds where nothing is found. A run that is restored on its way says what
 * one that is not does. */
static void run_cells(struct cell_world *world, uint32_t restores)
{
    static struct feeder feeder, straight;
    static struct cell_found found;
    struct random random = world->random;
    const char *reason = NULL;
    give_cells(world, &feeder, restores);
    enum iso_status outcome = iso_pipeline_outcome(feeder.pipeline, false, &reason),
                    wanted = world->expected.count ? ISO_VIOLATED : ISO_OK;
    /* An insert of YugabyteDB's may replace a row, and one may come too late to say. */
    bool may_be_unclear = cell_is_of(world, "yugabyte") && outcome == ISO_UNDECIDED && reason &&
                          (!strcmp(reason, "lossy") || !strcmp(reason, "late-rows"));
    if (outcome != wanted && !may_be_unclear && !world->failure[0])
        snprintf(world->failure, sizeof world->failure, "ends with status %d, not %d: %s", outcome,
                 wanted, reason ? reason : "");
    if (feeder.restored && !world->failure[0]) {
        found = world->found;
        world->random = random;
        world->found.count = 0;
        give_cells(world, &straight, 0);
        world->found = found;
        if (!feeder_said_the_same(&feeder, &straight))
            snprintf(world->failure, sizeof world->failure, "%s", feeder.failure);
        feeder_release(&straight);
    }
    feeder_release(&feeder);
}

static void report_cells(struct cell_world *world, uint64_t seed)
{
    printf("not ok - cells of %s, seed %" PRIu64 ": %s\n", world->format->name, seed,
           world->failure);
    for (uint32_t i = 0; i < world->expected.count; i++)
        printf("# expected: %s\n", world->expected.list[i]);
    for (uint32_t i = 0; i < world->found.count; i++)
        printf("# found: %s\n", world->found.list[i]);
    for (uint32_t t = 0; t < world->count; t++) {
        printf("# %s[%" PRIu64 ",%" PRIu64 "] ", world->list[t].withheld ? "withheld " : "",
               world->list[t].sts, world->list[t].cts);
        fflush(stdout);
        cell_print_record(world, stdout, t);
        printf("\n");
    }
}

static bool carry_cells(struct cell_world *world, uint64_t seed, uint32_t restores)
{
    world->random = (struct random){seed * 7919 + 17};
    world->expected.count = world->found.count = 0;
    world->failure[0] = 0;
    world->now = 10;
    world->lies = !world->format->alone && random_percent(&world->random, 50);
    world->conflicts = !world->format->alone && random_percent(&world->random, 30);
    world->base = cell_is_of(world, "yugabyte") ? FEED_YUGABYTE_TIME : 1000;
    cell_execute(world);
    cell_lie(world, 15);
    if (!world->format->alone)
        cell_expect(world);
    run_cells(world, restores);
    world->violated += world->expected.count > 0;
    return !world->failure[0] && cell_same_found(&world->expected, &world->found);
}

static bool run_cells_of(const struct cell_format *format, uint64_t histories, uint64_t seed,
                         uint32_t restores)
{
    struct cell_world *world = cell_world_new(format, CELL_TRANSACTIONS);
    uint32_t failed = 0;
    world->tables = CELL_TABLES;
    world->rows = CELL_OF_TABLES;
    world->closed = true;
    for (uint64_t i = 0; i < histories && failed < MAX_REPORTS; i++)
        if (!carry_cells(world, seed + i, restores)) {
            report_cells(world, seed + i);
            failed++;
        }
    bool occurred = (format->alone || world->violated) &&
                    (format->alone || format->registers || (world->adopted && world->of_queries)) &&
                    world->repeats;
    printf("# cells of %s: %" PRIu64 " violated, %" PRIu64 " writes left to the stream, %" PRIu64
           " queries, %" PRIu64 " of them lies, %" PRIu64 " repeats\n",
           format->name, world->violated, world->adopted, world->queries, world->of_queries,
           world->repeats);
    printf("%s - cells of %s: what chronos finds in %" PRIu64 " histories\n",
           !failed && occurred ? "ok" : "not ok", format->name, histories);
    cell_world_free(world);
    return !failed && occurred;
}

int main(int argc, char **argv)
{
    uint64_t values = 0, cells = 0, seed = 1, restores = DEFAULT_RESTORES;
    const char *only = NULL;
    bool good = true;
    struct statistics all = {0};
    const struct argument known[] = {
        {"--values", .number = &values},     {"--cells", .number = &cells},
        {"--seed", .number = &seed},         {"--format", .text = &only},
        {"--restores", .number = &restores}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    if (!values && !cells)
        values = cells = DEFAULT_HISTORIES;
    for (const struct format *format = carriage_formats; format->name && values; format++)
        if (!only || !strcmp(only, format->name))
            good &= run_values_of(format, values, seed, (uint32_t)restores, &all);
    if (!only && values)
        good &= covers(&all);
    for (const struct cell_format *format = cell_formats; format->name && cells; format++)
        if (!format->no_metadata && /* their last ones are beyond what is whole */
            (!only || !strcmp(only, format->name)))
            good &= run_cells_of(format, cells, seed, (uint32_t)restores);
    return good ? 0 : 1;
}
