/* Records what sessions of a real WiredTiger store did: native history, JSON Lines.
 *
 * Every session is a thread that runs transactions of random reads and writes as fast as the store
 * lets it, and writes down what it read, what it wrote, and the timestamps that it used. Keys are
 * absent at first; every value is written once. The store and what can be wrong with its use:
 * store.h.
 */
#define _GNU_SOURCE /* nftw, mkdtemp */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/wiredtiger/store.h"
#include "bench/wiredtiger/writer.h"

static const char usage[] =
    "usage: record-wiredtiger [options] -o FILE\n"
    "  --mode MODE         correct, all-durable, snapshot-holes, read-committed, no-read-timestamp,\n"
    "                      commit-out-of-order, missing-commit-timestamp (correct)\n"
    "  --sessions N        threads (12)\n"
    "  --transactions N    stop after so many, aborted ones counted (100000; 0: no end)\n"
    "  --seconds N         stop after so long (0: no end)\n"
    "  --keys N            (1000)\n"
    "  --ops N             operations a transaction (8)\n"
    "  --reads PERCENT     share of reads (50)\n"
    "  --seed N            of the workload; interleaving stays the machine's (1)\n"
    "  -o FILE             the history; -: to standard output, line by line as sessions go on\n";

struct options {
    enum store_mode mode;
    unsigned long sessions, transactions, seconds, keys, ops, reads, seed;
    const char *output;
};

struct recording {
    const struct options *options;
    struct store store;
    struct shared_file file;
    atomic_uint_fast64_t started; /* transactions */
    atomic_bool stop;
    atomic_int error; /* the first error of any thread */
};

struct client {
    pthread_t thread;
    struct recording *recording;
    uint64_t sid, sno, random, values, committed, aborted;
    struct store_session session;
    struct writer writer;
};

/* xorshift64*: the workload need not be better than that. */
static uint64_t next_random(struct client *client)
{
    client->random ^= client->random >> 12;
    client->random ^= client->random << 25;
    client->random ^= client->random >> 27;
    return client->random * 0x2545f4914f6cdd1dull >> 16;
}

static int run_operation(struct client *client, bool *wrote)
{
    const struct options *options = client->recording->options;
    uint64_t key = next_random(client) % options->keys, value;
    bool found;
    int error;

    if (next_random(client) % 100 < options->reads) {
        if (!(error = store_read(&client->session, key, &found, &value)))
            writer_read(&client->writer, key, found, value);
        return error;
    }
    value = ++client->values * options->sessions + client->sid;
    if ((error = store_write(&client->session, key, value)))
        return error;
    writer_write(&client->writer, key, value);
    *wrote = true;
    return 0;
}

/* One transaction, from begin to its line in the history. 0, or an error that ends the
 * recording. */
static int run_transaction(struct client *client)
{
    const struct options *options = client->recording->options;
    bool wrote = false, committed = false;
    int error;

    writer_begin(&client->writer);
    if ((error = store_begin(&client->session)))
        return error;
    for (unsigned long i = 0; i < options->ops && !error; i++)
        error = run_operation(client, &wrote);
    if (!error)
        error = store_commit(&client->session, wrote, &committed);
    else if (error == WT_ROLLBACK)
        error = store_rollback(&client->session);
    if (error)
        return error;

    struct finished_transaction finished = {
        .tid = client->sno * options->sessions + client->sid + 1,
        .sid = client->sid,
        .sno = client->sno++,
        .sts = client->session.sts,
        .cts = committed ? client->session.cts : 0,
        .committed = committed,
    };
    writer_finish(&client->writer, &finished);
    client->committed += committed;
    client->aborted += !committed;
    return 0;
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    struct recording *recording = client->recording;
    unsigned long limit = recording->options->transactions;
    int error = 0, none = 0;

    while (!error && !atomic_load_explicit(&recording->stop, memory_order_relaxed)) {
        if (limit && atomic_fetch_add(&recording->started, 1) >= limit)
            break;
        error = run_transaction(client);
    }
    writer_flush(&client->writer);
    if (error) {
        atomic_compare_exchange_strong(&recording->error, &none, error);
        atomic_store(&recording->stop, true);
    }
    return NULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Waits for the end: the time's, or (the threads see to that themselves) the transactions'. */
static void wait_for_clients(struct recording *recording, struct client *clients,
                             unsigned long count)
{
    const struct options *options = recording->options;

    if (options->seconds) {
        double end = now() + (double)options->seconds;
        while (now() < end && !atomic_load(&recording->stop) &&
               (!options->transactions || atomic_load(&recording->started) < options->transactions))
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        atomic_store(&recording->stop, true);
    }
    for (unsigned long i = 0; i < count; i++)
        pthread_join(clients[i].thread, NULL);
}

static int open_client(struct client *client, struct recording *recording, uint64_t sid)
{
    client->recording = recording;
    client->sid = sid;
    client->random =
        (recording->options->seed * 0x9e3779b97f4a7c15ull) ^ ((sid + 1) * 0xbf58476d1ce4e5b9ull);
    if (!client->random)
        client->random = 1;
    if (!writer_init(&client->writer, &recording->file, (unsigned)recording->options->ops))
        return ENOMEM;
    return store_session_open(&client->session, &recording->store);
}

static int record(struct recording *recording, struct client *clients)
{
    unsigned long count = recording->options->sessions, running = 0;
    int error = 0;

    for (unsigned long i = 0; i < count && !error; i++)
        error = open_client(&clients[i], recording, i);
    while (!error && running < count) {
        error = pthread_create(&clients[running].thread, NULL, run_client, &clients[running]);
        running += !error;
    }
    if (error)
        atomic_store(&recording->stop, true);
    wait_for_clients(recording, clients, running);
    return error ? error : atomic_load(&recording->error);
}

static bool is_stdout(const struct options *options)
{
    return !strcmp(options->output, "-");
}

static void print_summary(const struct options *options, const struct client *clients,
                          double seconds)
{
    uint64_t committed = 0, aborted = 0;

    for (unsigned long i = 0; i < options->sessions; i++) {
        committed += clients[i].committed;
        aborted += clients[i].aborted;
    }
    fprintf(
        is_stdout(options) ? stderr : stdout,
        "%s: %llu transactions committed, %llu aborted, %lu sessions, %.2f s, %.0f transactions/s\n",
        store_mode_names[options->mode], (unsigned long long)committed, (unsigned long long)aborted,
        options->sessions, seconds, (double)(committed + aborted) / seconds);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

static int run(const struct options *options)
{
    struct recording recording = {.options = options};
    struct client *clients = calloc(options->sessions, sizeof *clients);
    char home[] = "/tmp/isochron-store-XXXXXX";
    int error = ENOMEM;

    if (!clients)
        goto out;
    recording.file.flush_size = is_stdout(options) ? 4 << 10 : 1 << 20;
    recording.file.descriptor =
        is_stdout(options) ? dup(STDOUT_FILENO)
                           : open(options->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (recording.file.descriptor < 0 || !mkdtemp(home)) {
        error = errno;
        goto out;
    }
    if (!(error = store_open(&recording.store, home, options->mode))) {
        double start = now();
        error = record(&recording, clients);
        if (!error)
            error = recording.file.write_error;
        if (!error)
            print_summary(options, clients, now() - start);
    }
    store_close(&recording.store);
    nftw(home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (close(recording.file.descriptor) && !error)
        error = errno;
    for (unsigned long i = 0; i < options->sessions; i++)
        writer_release(&clients[i].writer);
out:
    if (error)
        fprintf(stderr, "record-wiredtiger: %s: %s\n", options->output, wiredtiger_strerror(error));
    free(clients);
    return error ? 4 : 0;
}

static bool parse_mode(const char *name, enum store_mode *mode)
{
    for (int i = 0; i < STORE_MODES; i++)
        if (!strcmp(name, store_mode_names[i])) {
            *mode = (enum store_mode)i;
            return true;
        }
    return false;
}

static bool parse_number(const char *text, unsigned long low, unsigned long high,
                         unsigned long *number)
{
    char *end;

    errno = 0;
    *number = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *number >= low && *number <= high;
}

static bool parse_option(struct options *options, int option)
{
    switch (option) {
    case 'm':
        return parse_mode(optarg, &options->mode);
    case 's':
        return parse_number(optarg, 1, 256, &options->sessions);
    case 't':
        return parse_number(optarg, 0, 1000000000, &options->transactions);
    case 'S':
        return parse_number(optarg, 0, 86400, &options->seconds);
    case 'k':
        return parse_number(optarg, 1, 1000000000, &options->keys);
    case 'n':
        return parse_number(optarg, 1, 100000, &options->ops);
    case 'r':
        return parse_number(optarg, 0, 100, &options->reads);
    case 'e':
        return parse_number(optarg, 0, (unsigned long)-1, &options->seed);
    case 'o':
        options->output = optarg;
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"mode", required_argument, NULL, 'm'},
                                          {"sessions", required_argument, NULL, 's'},
                                          {"transactions", required_argument, NULL, 't'},
                                          {"seconds", required_argument, NULL, 'S'},
                                          {"keys", required_argument, NULL, 'k'},
                                          {"ops", required_argument, NULL, 'n'},
                                          {"reads", required_argument, NULL, 'r'},
                                          {"seed", required_argument, NULL, 'e'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.mode = MODE_CORRECT,
                              .sessions = 12,
                              .transactions = 100000,
                              .keys = 1000,
                              .ops = 8,
                              .reads = 50,
                              .seed = 1};
    int option;

    while ((option = getopt_long(argc, argv, "o:h", names, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (!parse_option(&options, option)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (!options.output || optind != argc || (!options.transactions && !options.seconds)) {
        fputs(usage, stderr);
        return 2;
    }
    return run(&options);
}
