/* `isochron tick`: watermarks from a PostgreSQL database. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/commands.h"
#include "base/redact.h"
#include "connectors/kafka/producer.h"
#include "database/database.h"
#include "run/input/consume.h"
#include "run/shown/signals.h"
#include "pg_watermark/server.h"

enum { RETRY_MS = 500, FLUSH_SECONDS = 10 };

struct tick_command {
    struct cli_texts properties;
    const char *to;
    uint64_t grace_ms, every_ms, seconds_ms, threads;
    bool quiet;

    struct iso_kafka_properties kafka;
    struct iso_kafka_producer *producer;
    struct iso_output file;
    int descriptor; /* of the file */
    bool has_file;
};

#define PLACE(member) offsetof(struct tick_command, member)

static const struct cli_option options[] = {
    CLI_ROW_TEXT("to", "in-band|kafka:TOPIC|FILE", PLACE(to),
                 "Where watermarks go: into the database's log, from where the connector\n"
                 "brings them (in-band, the default); to every partition of the topic to\n"
                 "which clients publish; or to a file, - being standard output."),
    CLI_ROW_SECONDS("grace", "SECONDS", PLACE(grace_ms), 0, 86400,
                    "How long after its end a transaction's record may still be published\n"
                    "(10). 0 where all records are in-band: they are part of it."),
    CLI_ROW_SECONDS("every", "SECONDS", PLACE(every_ms), 0, 3600,
                    "How often the database is asked (1)."),
    CLI_ROW_SECONDS("seconds", "SECONDS", PLACE(seconds_ms), 0, 1000000000,
                    "End after so long. 0, the default: on Ctrl-C or SIGTERM."),
    CLI_ROW_PROPERTIES(PLACE(properties)),
    CLI_ROW_FLAG("quiet", PLACE(quiet), "Print no closing line."),
    CLI_ROW_ONE_THREAD("tick", PLACE(threads)),
    {.type = CLI_END},
};

static bool is_in_band(const struct tick_command *command)
{
    return !strcmp(command->to, "in-band");
}

/* Whoever follows the file has each line at once: it is no result that appears whole. */
static enum iso_status open_file(struct app *app, struct tick_command *command)
{
    bool is_stdout = !strcmp(command->to, "-");
    command->descriptor = is_stdout
                              ? STDOUT_FILENO
                              : open(command->to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (command->descriptor < 0)
        return iso_error_set(&app->error, iso_error_of_open(errno), "%s: cannot be opened: %s",
                             command->to, strerror(errno));
    iso_output_to(&command->file, command->descriptor, command->to);
    command->has_file = true;
    return ISO_OK;
}

static enum iso_status open_sink(struct app *app, struct tick_command *command)
{
    if (is_in_band(command))
        return ISO_OK;
    if (strncmp(command->to, "kafka:", 6))
        return open_file(app, command);
    if (!command->to[6])
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--to %s: expected kafka:TOPIC",
                             command->to);
    if (run_properties(&command->kafka, &command->properties, &app->error) == ISO_OK)
        command->producer =
            iso_kafka_producer_new(&command->kafka, command->to + 6, 0, &app->error);
    return app->error.status;
}

static void close_sink(struct tick_command *command, struct iso_error *error)
{
    if (command->producer && error->status == ISO_OK)
        iso_kafka_producer_flush(command->producer, FLUSH_SECONDS, error);
    iso_kafka_producer_free(command->producer);
    iso_kafka_properties_release(&command->kafka);
    if (command->has_file)
        iso_output_close(&command->file, error);
    if (command->has_file && command->descriptor != STDOUT_FILENO)
        close(command->descriptor);
}

static enum iso_status send_watermark(struct tick_command *command, struct iso_database *database,
                                      uint64_t watermark, struct iso_error *error)
{
    char text[64];
    int length = snprintf(text, sizeof text, "{\"watermark\":\"%" PRIu64 "\"}", watermark);
    if (is_in_band(command))
        return iso_tick_emit(database, watermark, error);
    if (command->has_file) {
        iso_output_format(&command->file, "%s\n", text);
        iso_output_flush(&command->file);
        return command->file.error ? iso_error_set(error, ISO_FAILED, "%s: cannot be written: %s",
                                                   command->to, strerror(command->file.error))
                                   : ISO_OK;
    }
    for (int32_t partition = 0; partition < iso_kafka_producer_partitions(command->producer);
         partition++) {
        struct iso_message message = {.partition = partition,
                                      .payload = {(const uint8_t *)text, (uint32_t)length}};
        if (iso_kafka_producer_send(command->producer, &message, error) != ISO_OK)
            return error->status;
    }
    return iso_kafka_producer_poll(command->producer, error);
}

static void pause_ms(uint64_t milliseconds)
{
    struct timespec pause = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000 * 1000000)};
    nanosleep(&pause, NULL);
}

/* A server that is away is waited for; one that refuses is not. */
static struct iso_database *connect_again(struct iso_database *database, const char *url,
                                          struct iso_tick *tick, volatile sig_atomic_t *stopped,
                                          const char *trouble, struct iso_error *error)
{
    struct iso_error away = {0};
    cli_log_warning("the database does not answer, watermarks stand: %s", trouble);
    iso_database_close(database);
    iso_tick_forget(tick);
    for (database = NULL; !database && !*stopped; away = (struct iso_error){0}) {
        database = iso_database_connect(url, &away);
        if (!database)
            pause_ms(RETRY_MS);
    }
    if (!database)
        return NULL;
    if (iso_tick_check(database, error) == ISO_OK) {
        cli_log("the database answers again");
        return database;
    }
    iso_database_close(database);
    return NULL;
}

static enum iso_status run_rounds(struct app *app, struct tick_command *command, const char *url)
{
    volatile sig_atomic_t *stopped = run_catch_signals(0, false);
    struct iso_tick tick;
    uint64_t clock_us = 0, watermark = 0, sent = 0;
    double until =
        command->seconds_ms ? iso_clock_seconds() + (double)command->seconds_ms / 1000 : 0;
    struct iso_database *database = iso_database_connect(url, &app->error);
    iso_tick_init(&tick, command->grace_ms * 1000);
    if (database)
        iso_tick_check(database, &app->error);
    while (app->error.status == ISO_OK && !*stopped &&
           (until == 0 || iso_clock_seconds() < until)) {
        struct iso_error trouble = {0};
        if (iso_tick_ask(&tick, database, &clock_us, &trouble) == ISO_OK &&
            iso_tick_due(&tick, clock_us, &watermark) &&
            send_watermark(command, database, watermark, &trouble) == ISO_OK)
            sent++;
        if (trouble.status != ISO_OK && iso_database_is_lost(database)) {
            database = connect_again(database, url, &tick, stopped, trouble.text, &app->error);
            if (!database)
                break;
            continue;
        }
        if (trouble.status != ISO_OK)
            iso_error_set(&app->error, trouble.status, "%s", trouble.text);
        pause_ms(command->every_ms);
    }
    if (app->error.status == ISO_OK && !command->quiet)
        cli_log("%" PRIu64 " watermark%s sent, the last one %" PRIu64, sent, cli_plural(sent),
                watermark);
    iso_database_close(database);
    iso_tick_release(&tick);
    return app->error.status;
}

/* Every user of the machine sees the arguments of a process, and this one runs for years. */
static bool has_password(const char *url)
{
    const char *at = iso_url_user_end(url), *user = strstr(url, "://"), *query = strchr(url, '?');
    return (at && user && memchr(user + 3, ':', (size_t)(at - user) - 3)) ||
           (query && strstr(query, "password"));
}

static enum iso_status send_watermarks(struct app *app, void *target, const struct cli_texts *urls)
{
    struct tick_command *command = target;
    enum iso_database_protocol protocol;
    if (urls->count != 1 || !iso_database_is_url(urls->items[0], &protocol) ||
        protocol != ISO_PROTOCOL_POSTGRES)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "expected one URL: postgresql://HOST:PORT/DATABASE");
    if (has_password(urls->items[0]))
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "the URL has a password, which every user of the machine could read; expected it in "
            "~/.pgpass, a PGPASSFILE, or PGPASSWORD");
    if (open_sink(app, command) == ISO_OK)
        run_rounds(app, command, urls->items[0]);
    close_sink(command, &app->error);
    return app->error.status;
}

static enum iso_status run_tick(struct app *app, int count, char **arguments)
{
    struct tick_command command = {.to = "in-band", .grace_ms = 10000, .every_ms = 1000};
    return cli_run(app, count, arguments, &command, send_watermarks);
}

const struct cli_command app_tick = {
    .name = "tick",
    .summary = "watermarks from a PostgreSQL database, for watch",
    .usage = "[OPTIONS] URL",
    .intro = "Asks a PostgreSQL database once a second which snapshots are over, and says so as\n"
             "watermarks, so that verdicts of watch become final without the clients' help and\n"
             "without message times. It goes by xact_start of open transactions, also of those\n"
             "that are idle at READ COMMITTED, and by prepared ones; a transaction that stays\n"
             "open keeps all watermarks back. It needs the role pg_read_all_stats. A password\n"
             "comes from ~/.pgpass, PGPASSFILE or PGPASSWORD, never from the URL. Several may\n"
             "run. Exit status: 0 ended, 2 bad usage or rights, 4 runtime failure.",
    .examples =
        "  isochron tick --grace 5 postgresql://localhost/shop\n"
        "      In-band; clients publish their records within 5 seconds.\n"
        "  isochron tick --to kafka:clients postgresql://localhost/shop -X bootstrap.servers=localhost:9092\n"
        "      Into each partition of the clients' topic.\n",
    .options = options,
    .run = run_tick,
};
