/* Rows whose columns are registers, through change streams: what transactions did on a small table
 * (tests/support/cell_world.h) comes as a feed and as clients' records; and the pipeline must find
 * what chronos finds in a file that has every cell. Between batches the pipeline is saved and
 * restored at times. Where a stream comes alone, it must fit together.
 *
 * cell_feeds [--histories N] [--seed S] [--format F]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arguments.h"
#include "tests/support/cell_world.h"
#include "tests/support/feed_yugabyte.h"
#include "tests/support/restored.h"

enum { TRANSACTIONS = 24, ROWS = 4, TABLES = 2, MAX_REPORTS = 3 };

static uint32_t print_records(struct cell_world *world, char *lines[TRANSACTIONS])
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < world->count && !world->format->alone && !world->format->in_band;
         t++) {
        size_t size;
        if (world->list[t].withheld)
            continue;
        FILE *file = open_memstream(&lines[count++], &size);
        cell_print_record(world, file, t);
        fclose(file);
    }
    return count;
}

static void check_books(struct cell_world *world, const struct iso_pipeline *pipeline)
{
    struct iso_accounting books;
    struct iso_text text = {0};
    iso_pipeline_accounting(pipeline, &books);
    if (!books.balanced) {
        iso_accounting_imbalance_text(&books, &text);
        snprintf(world->failure, sizeof world->failure, "books: %.*s", (int)text.used, text.bytes);
    }
    iso_text_release(&text);
}

static struct iso_pipeline *open_again(void *context)
{
    return cell_open_pipeline(context);
}

static void give_messages(struct cell_world *world, struct iso_pipeline **place,
                          const struct feed *feed, char *const *lines, uint32_t line_count,
                          struct iso_error *error)
{
    struct iso_pipeline *pipeline = *place;
    struct random saves = {world->random.state + 1};
    struct iso_message batch[8];
    uint32_t row = 0, record = 0, count = 0, bias = random_below(&world->random, 101);
    for (uint32_t i = 0; i < feed->count; i++) {
        struct iso_message *message = &feed->list[i];
        message->input = iso_inputs_number(iso_pipeline_inputs(pipeline), message->topic,
                                           strlen(message->topic), message->partition);
        iso_pipeline_declare(pipeline, message->input, 0);
        if (getenv("SHOW_FEED"))
            printf("# %s %.*s\n", message->topic, (int)message->payload.size,
                   (const char *)message->payload.data);
    }
    uint32_t client = iso_inputs_number(iso_pipeline_inputs(pipeline), "clients", 7, 0);
    if (line_count)
        iso_pipeline_declare(pipeline, client, 0);
    while ((row < feed->count || record < line_count) && error->status == ISO_OK) {
        if (row < feed->count && (record == line_count || random_percent(&world->random, bias))) {
            batch[count++] = feed->list[row++];
        } else {
            batch[count++] = (struct iso_message){
                .topic = "clients",
                .input = client,
                .offset = record,
                .payload = {(const uint8_t *)lines[record], (uint32_t)strlen(lines[record])}};
            record++;
        }
        if (count == 8 || random_percent(&world->random, 25) ||
            (row == feed->count && record == line_count)) {
            iso_pipeline_feed(*place, batch, count, 0, error);
            count = 0;
            if (error->status == ISO_OK)
                check_books(world, *place);
            if (error->status == ISO_OK && random_percent(&saves, 5))
                *place = test_restored(*place, open_again, world, error);
        }
    }
}

static void check_stream(struct cell_world *world)
{
    struct feed feed;
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline_stats stats;
    char *lines[TRANSACTIONS] = {NULL};
    feed_init(&feed);
    if (!cell_write_feed(world, &feed))
        snprintf(world->failure, sizeof world->failure, "the feed cannot carry it");
    struct iso_pipeline *pipeline = cell_open_pipeline(world);
    cell_set_initial(world, pipeline);
    uint32_t line_count = print_records(world, lines);
    give_messages(world, &pipeline, &feed, lines, line_count, &error);
    if (error.status == ISO_OK)
        iso_pipeline_end(pipeline, 0, &error);
    if (error.status == ISO_OK)
        check_books(world, pipeline);
    else
        snprintf(world->failure, sizeof world->failure, "%s", error.text);
    iso_pipeline_stats(pipeline, &stats);
    world->repeats += stats.join.repeats;
    iso_pipeline_free(pipeline);
    feed_release(&feed);
    for (uint32_t i = 0; i < line_count; i++)
        free(lines[i]);
}

static void report(struct cell_world *world, uint64_t seed)
{
    printf("not ok - %s, seed %" PRIu64 ": %s\n", world->format->name, seed, world->failure);
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

static bool carry(struct cell_world *world, uint64_t seed)
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
    check_stream(world);
    world->violated += world->expected.count > 0;
    return !world->failure[0] && cell_same_found(&world->expected, &world->found);
}

static bool run_format(const struct cell_format *format, uint64_t histories, uint64_t seed)
{
    struct cell_world *world = cell_world_new(format, TRANSACTIONS);
    uint32_t failed = 0;
    world->tables = TABLES;
    world->rows = ROWS;
    world->closed = true;
    for (uint64_t i = 0; i < histories && failed < MAX_REPORTS; i++)
        if (!carry(world, seed + i)) {
            report(world, seed + i);
            failed++;
        }
    bool occurred = (format->alone || world->violated) &&
                    (format->alone || format->registers || (world->adopted && world->of_queries)) &&
                    world->repeats;
    printf("# %s: %" PRIu64 " violated, %" PRIu64 " writes left to the stream, %" PRIu64
           " queries, %" PRIu64 " of them lies, %" PRIu64 " repeats\n",
           format->name, world->violated, world->adopted, world->queries, world->of_queries,
           world->repeats);
    printf("%s - %s: what chronos finds in %" PRIu64 " histories\n",
           !failed && occurred ? "ok" : "not ok", format->name, histories);
    cell_world_free(world);
    return !failed && occurred;
}

int main(int argc, char **argv)
{
    uint64_t histories = 400, seed = 1;
    const char *only = NULL;
    bool good = true;
    const struct argument known[] = {{"--histories", .number = &histories},
                                     {"--seed", .number = &seed},
                                     {"--format", .text = &only},
                                     {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    for (const struct cell_format *format = cell_formats; format->name; format++)
        if (!format->no_metadata &&
            (!only || !strcmp(only, format->name))) /* their last ones are beyond what is whole */
            good &= run_format(format, histories, seed);
    return good ? 0 : 1;
}
