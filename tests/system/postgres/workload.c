/* A workload for the end-to-end tests: concurrent sessions on PostgreSQL, recorded by the
 * recorder. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/postgres/client.h"

static const char usage[] =
    "usage: postgres-workload --connect STRING [options] --create | -o FILE | --topic TOPIC | --in-band\n"
    "  --connect STRING       libpq's connection string\n"
    "  --application          a shop's tables and transactions, in place of plain registers\n"
    "  --ledger               entries of accounts, recorded as rows with cells and results of queries\n"
    "  --rows N               rows of the shop's accounts (40)\n"
    "  --event NAME           in the middle of the shop's first session: bulk (a transaction of 20,000 rows), column\n"
    "                         (ADD COLUMN), truncate (which an older snapshot sees), lie (a read of what nobody wrote),\n"
    "                         skew (two transactions at repeatable read, each of which goes by what the other changes)\n"
    "  --create               create and fill the tables, and nothing else\n"
    "  -o FILE                append client records to a file\n"
    "  --kafka HOST:PORT      broker of --topic\n"
    "  --topic TOPIC          send client records to a topic\n"
    "  --no-watermarks        send records to the topic, and nothing else: it has other recorders, too\n"
    "  --in-band              send each record within its transaction\n"
    "  --isolation LEVEL      repeatable read, read committed, serializable (repeatable read)\n"
    "  --statement-snapshots  record each statement's own snapshot\n"
    "  --sid TEXT             what session ids start with (s)\n"
    "  --sessions N           threads (8)\n"
    "  --transactions N       of all sessions (1000)\n"
    "  --keys N               rows a table (40)\n"
    "  --ops N                operations a transaction, on average (4)\n"
    "  --deletes PERCENT      of writes (0)\n"
    "  --transfers PERCENT    of transactions: read two balances, write both (20)\n"
    "  --savepoints PERCENT   of operations: taken back by ROLLBACK TO (5)\n"
    "  --aborts PERCENT       of transactions (5)\n"
    "  --lost PERCENT         of transactions: the connection goes away around COMMIT (0)\n"
    "  --pause MICROSECONDS   between statements, on average (0)\n"
    "  --seed N               of the workload; interleaving stays the machine's (1)\n";

struct run {
    struct workload workload;
    struct iso_recorder *recorder;
    const char *output, *kafka, *topic;
    bool create, no_watermarks;
};

/* Tells watermarks while sessions run. */
struct ticker {
    pthread_t thread;
    const struct workload *workload;
    _Atomic bool ended;
};

static void *tick(void *argument)
{
    struct ticker *ticker = argument;
    workload_tick(ticker->workload, &ticker->ended);
    return NULL;
}

struct thread {
    pthread_t thread;
    const struct run *run;
    unsigned number;
    unsigned long count;
    struct tally tally;
    bool good;
};

static void *run_session(void *argument)
{
    struct thread *thread = argument;
    thread->good = client_run(&thread->run->workload, thread->run->recorder, thread->number,
                              thread->count, &thread->tally);
    return NULL;
}

static int run_sessions(const struct run *run)
{
    unsigned long sessions = run->workload.sessions;
    struct thread *threads = calloc(sessions, sizeof *threads);
    struct tally sum = {0};
    bool good = threads != NULL;
    for (unsigned i = 0; good && i < sessions; i++) {
        unsigned long each = run->workload.transactions / sessions;
        threads[i] = (struct thread){
            .run = run, .number = i, .count = each + (i < run->workload.transactions % sessions)};
        if (pthread_create(&threads[i].thread, NULL, run_session, &threads[i]) != 0)
            abort();
    }
    for (unsigned i = 0; good && i < sessions; i++) {
        pthread_join(threads[i].thread, NULL);
        sum.committed += threads[i].tally.committed;
        sum.aborted += threads[i].tally.aborted;
        sum.unknown += threads[i].tally.unknown;
    }
    for (unsigned i = 0; good && i < sessions; i++)
        good = threads[i].good;
    free(threads);
    printf("committed %" PRIu64 " aborted %" PRIu64 " unknown %" PRIu64 "\n", sum.committed,
           sum.aborted, sum.unknown);
    return good ? 0 : 4;
}

static int finish_recorder(struct iso_recorder *recorder)
{
    struct iso_recorder_statistics statistics;
    bool flushed = iso_recorder_flush(recorder, 30);
    iso_recorder_statistics(recorder, &statistics);
    iso_recorder_free(recorder);
    uint64_t missing = statistics.dropped_full + statistics.dropped_refused + statistics.lost;
    if (flushed && missing == 0)
        return 0;
    fprintf(stderr, "postgres-workload: %" PRIu64 " records are missing (%s)\n", missing,
            statistics.trouble);
    return 4;
}

static struct iso_recorder *open_recorder(const struct run *run, struct iso_error *error)
{
    const char *properties[] = {"bootstrap.servers", run->kafka, NULL};
    const struct iso_recorder_options options = {.watermark_ms = run->no_watermarks ? 0 : 100};
    if (run->output)
        return iso_recorder_new_file(run->output, NULL, error);
    if (run->topic)
        return iso_recorder_new_kafka(run->topic, properties, &options, error);
    return iso_recorder_new_in_band(NULL, error);
}

static unsigned long number(const char *text)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || end == text) {
        fprintf(stderr, "postgres-workload: %s is no number\n%s", text, usage);
        exit(2);
    }
    return value;
}

enum {
    CONNECT = 1,
    CREATE,
    APPLICATION,
    LEDGER,
    ROWS,
    EVENT,
    KAFKA,
    TOPIC,
    NO_WATERMARKS,
    IN_BAND,
    ISOLATION,
    SNAPSHOTS,
    SID,
    SESSIONS,
    TRANSACTIONS,
    KEYS,
    OPS,
    DELETES,
    TRANSFERS,
    SAVEPOINTS,
    ABORTS,
    LOST,
    PAUSE,
    SEED
};

static const struct option names[] = {
    {"connect", 1, NULL, CONNECT},
    {"create", 0, NULL, CREATE},
    {"application", 0, NULL, APPLICATION},
    {"ledger", 0, NULL, LEDGER},
    {"rows", 1, NULL, ROWS},
    {"event", 1, NULL, EVENT},
    {"kafka", 1, NULL, KAFKA},
    {"topic", 1, NULL, TOPIC},
    {"no-watermarks", 0, NULL, NO_WATERMARKS},
    {"in-band", 0, NULL, IN_BAND},
    {"isolation", 1, NULL, ISOLATION},
    {"statement-snapshots", 0, NULL, SNAPSHOTS},
    {"sid", 1, NULL, SID},
    {"sessions", 1, NULL, SESSIONS},
    {"transactions", 1, NULL, TRANSACTIONS},
    {"keys", 1, NULL, KEYS},
    {"ops", 1, NULL, OPS},
    {"deletes", 1, NULL, DELETES},
    {"transfers", 1, NULL, TRANSFERS},
    {"savepoints", 1, NULL, SAVEPOINTS},
    {"aborts", 1, NULL, ABORTS},
    {"lost", 1, NULL, LOST},
    {"pause", 1, NULL, PAUSE},
    {"seed", 1, NULL, SEED},
    {NULL, 0, NULL, 0},
};

static bool parse(struct run *run, int count, char **arguments)
{
    struct workload *workload = &run->workload;
    int option;
    while ((option = getopt_long(count, arguments, "o:", names, NULL)) != -1) {
        switch (option) {
        case CONNECT:
            workload->connection = optarg;
            break;
        case CREATE:
            run->create = true;
            break;
        case APPLICATION:
            workload->tables = &application;
            break;
        case LEDGER:
            workload->tables = &ledger;
            break;
        case ROWS:
            workload->rows = number(optarg);
            break;
        case EVENT:
            if (!application_has_event(optarg))
                return false;
            workload->event = optarg;
            break;
        case KAFKA:
            run->kafka = optarg;
            break;
        case TOPIC:
            run->topic = optarg;
            break;
        case NO_WATERMARKS:
            run->no_watermarks = true;
            break;
        case IN_BAND:
            workload->in_band = true;
            break;
        case ISOLATION:
            workload->isolation = optarg;
            break;
        case SNAPSHOTS:
            workload->statement_snapshots = true;
            break;
        case SID:
            workload->sid = optarg;
            break;
        case SESSIONS:
            workload->sessions = number(optarg);
            break;
        case TRANSACTIONS:
            workload->transactions = number(optarg);
            break;
        case KEYS:
            workload->keys = number(optarg);
            break;
        case OPS:
            workload->ops = number(optarg);
            break;
        case DELETES:
            workload->deletes = number(optarg);
            break;
        case TRANSFERS:
            workload->transfers = number(optarg);
            break;
        case SAVEPOINTS:
            workload->savepoints = number(optarg);
            break;
        case ABORTS:
            workload->aborts = number(optarg);
            break;
        case LOST:
            workload->lost = number(optarg);
            break;
        case PAUSE:
            workload->pause = number(optarg);
            break;
        case SEED:
            workload->seed = number(optarg);
            break;
        case 'o':
            run->output = optarg;
            break;
        default:
            return false;
        }
    }
    bool out = run->create || run->output || (run->topic && run->kafka) || workload->in_band;
    return optind == count && workload->connection && out && workload->sessions && workload->keys &&
           workload->ops;
}

int main(int count, char **arguments)
{
    struct run run = {.workload = {.tables = &registers,
                                   .isolation = "repeatable read",
                                   .sid = "s",
                                   .sessions = 8,
                                   .transactions = 1000,
                                   .keys = 40,
                                   .rows = 40,
                                   .ops = 4,
                                   .transfers = 20,
                                   .savepoints = 5,
                                   .aborts = 5,
                                   .seed = 1}};
    struct iso_error error = {0};
    if (!parse(&run, count, arguments)) {
        fputs(usage, stderr);
        return 2;
    }
    if (run.create)
        return workload_create(&run.workload) ? 0 : 4;
    run.recorder = open_recorder(&run, &error);
    if (!run.recorder) {
        fprintf(stderr, "postgres-workload: %s\n", error.text);
        return error.status;
    }
    struct ticker ticker = {.workload = &run.workload};
    if (run.workload.in_band && pthread_create(&ticker.thread, NULL, tick, &ticker) != 0)
        abort();
    int status = run_sessions(&run);
    ticker.ended = true;
    if (run.workload.in_band)
        pthread_join(ticker.thread, NULL);
    workload_finish(&run.workload, run.recorder);
    int recorded = finish_recorder(run.recorder);
    return status ? status : recorded;
}
