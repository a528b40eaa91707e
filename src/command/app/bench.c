/* `isochron bench`: how fast it is on this machine, with this workload. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "benchmark/sweep.h"
#include "cli/nearest.h"
#include "base/memory.h"

/* A new kind is its file and its row here. */
static const struct bench_kind *const kinds[] = {&bench_chronos, &bench_aion, &bench_spill,
                                                 &bench_decode, &bench_kafka};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
#define KIND_NAMES "chronos|aion|spill|decode|kafka"

/* In the order of the choices of --sweep. */
static const char *const sweep_names[] = {"all",  "none", "sessions", "txns",  "ops",
                                          "keys", "dist", "reads",    "delay", "deviation"};

enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_SVG, FORMAT_BY_NAME };

struct command {
    struct bench bench; /* the first, so that values of a sweep can be stored into a bench alone */
    int sweep, format;
    const char *values, *output, *baseline;
    uint64_t repeats, tolerance;
    bool quiet;
    const struct bench_kind *kind;  /* what is measured: the first argument, not an option */
    const struct command *defaults; /* of all that options name */
};
_Static_assert(offsetof(struct command, bench) == 0, "options of a bench have its offsets");

#define PLACE(member) offsetof(struct command, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("What to vary"),
    CLI_ROW_CHOICE("sweep", "all|none|sessions|txns|ops|keys|dist|reads|delay|deviation",
                   PLACE(sweep),
                   "The parameter to vary, by the name of its option below; the others keep\n"
                   "their values. all (the default): each in turn; none: a single run."),
    CLI_ROW_TEXT("values", "A,B,C", PLACE(values),
                 "The values that it takes. The default for txns: from a twentieth of\n"
                 "--txns to ten times as many."),
    CLI_ROW_GROUP("The workload (defaults: chronos / the others)"),
    CLI_ROW_COUNT("sessions", "N", PLACE(bench.generate.sessions), 1, 1000000,
                  "Sessions that run at the same time (50 / 24)."),
    CLI_ROW_COUNT("txns", "N", PLACE(bench.generate.transactions), 1, 1000000000,
                  "Transactions (100k; spill: 1M). Numbers may end in k, M, G."),
    CLI_ROW_COUNT("ops", "N", PLACE(bench.generate.operations), 1, 10000,
                  "Operations in each (15 / 8)."),
    CLI_ROW_COUNT("keys", "N", PLACE(bench.generate.keys), 1, 100000000,
                  "Keys in use (1000; spill: 1M)."),
    CLI_ROW_SHARE("reads", "SHARE", PLACE(bench.generate.read_share),
                  "Share of reads among operations (0.5)."),
    CLI_ROW_CHOICE("dist", "uniform|zipf|hotspot", PLACE(bench.generate.distribution),
                   "Which keys: all equally often, the i-th in proportion to 1/i (the\n"
                   "default), or 80% of operations on 20% of the keys."),
    CLI_ROW_CHOICE("level", "si|ser", PLACE(bench.generate.level),
                   "The level of the simulated store, which is also checked (si)."),
    CLI_ROW_NUMBER("seed", "N", PLACE(bench.generate.seed), 0, UINT64_MAX,
                   "The same seed gives the same workload on every machine (1)."),
    CLI_ROW_GROUP("Arrivals (aion; batch and retention: spill, too; rate: kafka, too)"),
    CLI_ROW_NUMBER("rate", "N", PLACE(bench.rate), 1, 1000000000,
                   "Transactions that arrive in a second, for latencies and reordering\n"
                   "(25k)."),
    CLI_ROW_COUNT("delay", "MS", PLACE(bench.delay), 0, 3600000,
                  "Mean of the arrival delay, normally distributed (100)."),
    CLI_ROW_COUNT("deviation", "MS", PLACE(bench.deviation), 0, 3600000,
                  "Its standard deviation (10)."),
    CLI_ROW_NUMBER("batch", "N", PLACE(bench.batch), 1, 1000000,
                   "The most transactions that the engine gets in one call (500)."),
    CLI_ROW_NUMBER("settle", "MS", PLACE(bench.settle), 0, 60000,
                   "The longest time in the reorder window, so that transactions which\n"
                   "overtook each other are judged in the order of their commits; 0: off\n"
                   "(50)."),
    CLI_ROW_NUMBER("retention", "N", PLACE(bench.retention), 0, UINT64_MAX,
                   "Keep state for transactions that start up to N ticks below the\n"
                   "watermark; 0, the default: keep everything."),
    CLI_ROW_GROUP("What does not fit into memory (spill)"),
    CLI_ROW_NUMBER("memory", "BYTES", PLACE(bench.memory), 1 << 24, UINT64_MAX,
                   "Limit of the process's anonymous memory (128M)."),
    CLI_ROW_TEXT("spill", "DIR", PLACE(bench.spill),
                 "The folder of the spill file (TMPDIR, or /tmp)."),
    CLI_ROW_NUMBER("every", "SECONDS", PLACE(bench.every), 0, 86400,
                   "Print a row to standard error so often: rates, hits, memory and disk\n"
                   "since the last one; 0, the default: none."),
    CLI_ROW_NUMBER("duration", "SECONDS", PLACE(bench.duration), 0, 86400 * 7,
                   "Each run ends after so long, even if transactions are left; 0, the\n"
                   "default: when all are done."),
    CLI_ROW_GROUP("Messages (decode, kafka)"),
    CLI_ROW_CHOICE("encoding", "all|json|avro|protobuf|debezium|dgraph|ticdc|yugabyte",
                   PLACE(bench.encoding),
                   "Which decoder: all for client records (the default), or the one that a\n"
                   "capture needs (json). A database's capture is repeated."),
    CLI_ROW_NUMBER("partitions", "N", PLACE(bench.partitions), 1, 1000,
                   "Partitions of the new topic (4); mock brokers get more where records\n"
                   "need them."),
    CLI_ROW_PROPERTIES(PLACE(bench.properties)),
    CLI_ROW_GROUP("How to measure"),
    CLI_ROW_NUMBER("repeat", "N", PLACE(repeats), 1, 1000,
                   "Runs of each point; the median is reported (3)."),
    CLI_ROW_NUMBER("threads", "N", PLACE(bench.threads), 1, 64,
                   "chronos: number of threads, by default one for each processor; aion,\n"
                   "spill: number of shards (1)."),
    CLI_ROW_GROUP("The report"),
    CLI_ROW_CHOICE("format", "table|csv|json|svg", PLACE(format),
                   "The default depends on the end of FILE's name: .csv, .json, .svg, else\n"
                   "table."),
    CLI_ROW_TEXT("output", "FILE", PLACE(output),
                 "Write the report to FILE instead of standard output.", .letter = 'o'),
    CLI_ROW_TEXT("baseline", "FILE", PLACE(baseline),
                 "The JSON of an earlier run with the same settings. Prints what changed;\n"
                 "the exit status is 1 if anything got worse by more than the tolerance."),
    CLI_ROW_SHARE("tolerance", "SHARE", PLACE(tolerance),
                  "How much worse still counts as the same (0.1)."),
    CLI_ROW_FLAG("quiet", PLACE(quiet), "Print no progress line."),
    {.type = CLI_END},
};

/* ---- the report ---- */

typedef void write_figures(const struct iso_figures *figures, FILE *out);

static enum format format_of(const struct command *command)
{
    static const struct {
        const char *end;
        enum format format;
    } ends[] = {{".csv", FORMAT_CSV}, {".json", FORMAT_JSON}, {".svg", FORMAT_SVG}};
    if (command->format != FORMAT_BY_NAME)
        return (enum format)command->format;
    size_t length = strlen(command->output);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i].end);
        if (length > end && !strcmp(command->output + length - end, ends[i].end))
            return ends[i].format;
    }
    return FORMAT_TABLE;
}

static void write_table(const struct iso_figures *figures, FILE *out)
{
    fprintf(out, "isochron bench %s\n\n", figures->settings);
    iso_figures_write_text(figures, out);
}

/* Opens a FILE whose bytes become a text. */
static FILE *open_text(char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);
    if (!out)
        iso_out_of_memory(BUFSIZ);
    return out;
}

static enum iso_status print_figures(struct app *app, const struct command *command,
                                     const struct iso_figures *figures)
{
    static write_figures *const writers[] = {write_table, iso_figures_write_csv,
                                             iso_figures_write_json, iso_figures_write_svg};
    struct iso_output file, *output = &app->out;
    char *text = NULL;
    size_t size = 0;
    bool to_file = strcmp(command->output, "-");
    FILE *out = open_text(&text, &size);
    writers[format_of(command)](figures, out);
    fclose(out);
    if (to_file)
        iso_output_open(output = &file, command->output, &app->error);
    if (app->error.status == ISO_OK) {
        iso_output_bytes(output, text, size);
        if (to_file)
            iso_output_close(&file, &app->error);
    }
    free(text);
    return app->error.status;
}

/* Reports go to standard output, unless a report for programs goes there: then to stderr. */
static enum iso_status compare_with_baseline(struct app *app, const struct command *command,
                                             const struct iso_figures *figures,
                                             const struct iso_figures *baseline)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_text(&text, &size);
    size_t worse =
        iso_figures_compare(figures, baseline, (double)command->tolerance / 4294967296.0, out);
    fprintf(out, "%zu worse than %s by more than %.4g\n", worse, command->baseline,
            (double)command->tolerance / 4294967296.0);
    fclose(out);
    if (strcmp(command->output, "-") || format_of(command) == FORMAT_TABLE)
        iso_output_format(&app->out, "\n%s", text);
    else
        fputs(text, stderr);
    free(text);
    return worse ? ISO_VIOLATED : ISO_OK;
}

/* ---- the command line ---- */

static enum iso_status read_baseline(struct app *app, const struct command *command,
                                     const struct iso_figures *figures,
                                     struct iso_figures *baseline)
{
    if (iso_figures_read(baseline, command->baseline, &app->error) != ISO_OK)
        return app->error.status;
    if (!baseline->settings || strcmp(baseline->settings, figures->settings))
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "%s: measured with \"%s\", and now it is \"%s\"", command->baseline,
                             baseline->settings ? baseline->settings : "unknown settings",
                             figures->settings);
    return ISO_OK;
}

static enum iso_status measure_and_report(struct app *app, const struct bench_kind *kind,
                                          const struct command *command,
                                          const struct cli_texts *files)
{
    struct iso_figures figures, baseline;
    char settings[512];
    struct bench_run run = {.app = app,
                            .kind = kind,
                            .bench = &command->bench,
                            .sweep = sweep_names[command->sweep],
                            .values = command->values,
                            .files = files,
                            .repeats = command->repeats,
                            .quiet = command->quiet,
                            .figures = &figures};
    iso_figures_init(&figures, kind->columns, kind->column_count);
    iso_figures_init(&baseline, kind->columns, kind->column_count);
    enum iso_status status = bench_check(&run);
    bench_settings(&run, settings, sizeof settings);
    iso_figures_set_settings(&figures, settings);
    if (status == ISO_OK && command->baseline)
        status = read_baseline(app, command, &figures, &baseline);
    if (status == ISO_OK)
        status = bench_measure(&run);
    if (status == ISO_OK)
        status = print_figures(app, command, &figures);
    if (status == ISO_OK && command->baseline)
        status = compare_with_baseline(app, command, &figures, &baseline);
    iso_figures_release(&figures);
    iso_figures_release(&baseline);
    return status;
}

/* The kind is the first argument, since defaults depend on it. */
static const struct bench_kind *find_kind(const char *name)
{
    for (int i = 0; i < KINDS; i++) {
        if (!strcmp(kinds[i]->name, name))
            return kinds[i];
    }
    return NULL;
}

static bool is_among(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name))
        names++;
    return *names;
}

/* Whether an option has another value than it has by itself. */
static bool is_changed(const struct cli_option *option, const struct command *command,
                       const struct command *defaults)
{
    size_t size = option->type == CLI_TEXTS ? sizeof(struct cli_texts)
                  : option->type == CLI_COUNT || option->type == CLI_CHOICE ? sizeof(uint32_t)
                  : option->type == CLI_FLAG                                ? sizeof(bool)
                                                                            : sizeof(uint64_t);
    return memcmp((const char *)command + option->offset, (const char *)defaults + option->offset,
                  size);
}

/* Refuses options that would have no effect: those of other kinds, and of a workload that is not
 * generated. */
static enum iso_status check_kind(struct app *app, struct command *command,
                                  const struct cli_texts *files)
{
    const struct bench_kind *kind = command->kind;
    static const char *const of_some[] = {
        "rate",  "delay",    "deviation", "batch",      "settle",   "retention", "memory", "spill",
        "every", "duration", "encoding",  "partitions", "property", "threads",   NULL};
    static const char *const of_workloads[] = {"sessions", "txns", "ops",  "keys",
                                               "reads",    "dist", "seed", NULL};
    enum { FIRST = 1 }; /* json */
    for (const struct cli_option *option = options; option->type != CLI_END; option++) {
        if (option->type == CLI_GROUP || !is_changed(option, command, command->defaults) ||
            is_among(kind->takes, option->name))
            continue;
        if (is_among(of_some, option->name))
            return iso_error_set(&app->error, ISO_BAD_INPUT, "--%s: bench %s has no such parameter",
                                 option->name, kind->name);
        if (files->count && is_among(of_workloads, option->name))
            return iso_error_set(&app->error, ISO_BAD_INPUT,
                                 "--%s: a file is what it is; it is for generated workloads",
                                 option->name);
        if (!strcmp(option->name, "tolerance") && !command->baseline)
            return iso_error_set(&app->error, ISO_BAD_INPUT,
                                 "--tolerance needs --baseline, what it is worse than");
    }
    if (is_among(kind->takes, "encoding") && files->count && !command->bench.encoding)
        command->bench.encoding = FIRST;
    return ISO_OK;
}

static enum iso_status bench_as_asked(struct app *app, void *target, const struct cli_texts *files)
{
    struct command *command = target;
    if (!command->kind)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "bench: what to measure comes first: " KIND_NAMES);
    enum iso_status status = check_kind(app, command, files);
    return status == ISO_OK ? measure_and_report(app, command->kind, command, files) : status;
}

static enum iso_status run_bench(struct app *app, int count, char **arguments)
{
    struct command command = {.bench = {.generate = {.sessions = 24,
                                                     .transactions = 100000,
                                                     .operations = 8,
                                                     .keys = 1000,
                                                     .read_share = (uint64_t)1 << 31,
                                                     .distribution = ISO_ZIPF,
                                                     .seed = 1},
                                        .rate = 25000,
                                        .delay = 100,
                                        .deviation = 10,
                                        .batch = 500,
                                        .settle = 50,
                                        .partitions = 4},
                              .format = FORMAT_BY_NAME,
                              .output = "-",
                              .repeats = 3,
                              .tolerance = (uint64_t)(0.1 * 4294967296.0)};
    bool named = count > 0 && arguments[0][0] != '-';
    command.kind = named ? find_kind(arguments[0]) : NULL;
    if (named && !command.kind) {
        char location[128];
        snprintf(location, sizeof location, "bench %s", arguments[0]);
        return cli_wrong_choice(app, location, arguments[0], KIND_NAMES);
    }
    if (command.kind && command.kind->set_defaults)
        command.kind->set_defaults(&command.bench);
    const struct command defaults = command;
    command.defaults = &defaults;
    return cli_run(app, count - named, arguments + named, &command, bench_as_asked);
}

const struct cli_command app_bench = {
    .name = "bench",
    .summary = "throughput, latency and memory on this machine",
    .usage = KIND_NAMES " [OPTIONS] [FILE...]",
    .intro = "Measures generated workloads, of which one parameter after the other varies\n"
             "around its default, or your own files. Every run is a process of its own, so\n"
             "that its peak memory is its own.\n\n"
             "chronos   a whole offline check, from a history file to the verdict\n"
             "aion      the online engine alone: transactions in the order of their commits,\n"
             "          and as they arrive when each is delayed on its own way; microseconds\n"
             "          from arrival to the first verdict, milliseconds to the final one\n"
             "spill     the online engine with a working set that --memory does not hold;\n"
             "          values of 8 to 200 bytes, now and then a read of what has long been\n"
             "          overwritten\n"
             "decode    decoders of history topics alone, on generated messages or on a\n"
             "          capture\n"
             "kafka     records into a new topic and out of it: of the broker that -X or the\n"
             "          variable BOOTSTRAP names, else of mock brokers in the same process\n\n"
             "Exit status: 0, or with --baseline 1 if something got worse; 2 bad usage or\n"
             "input; 4 runtime failure.",
    .examples =
        "  isochron bench chronos --sweep txns\n"
        "      How time and memory grow with the number of transactions.\n"
        "  isochron bench chronos --sweep ops --values 8,16 --repeat 5 -o now.json --baseline before.json\n"
        "      What changed since, as text, and the new figures beside it.\n"
        "  isochron bench chronos mine.jsonl.zst\n"
        "      Your own history.\n"
        "  isochron bench aion --sweep deviation --level ser -o late.svg\n"
        "      What late arrivals cost the online engine, as charts.\n",
    .words = KIND_NAMES,
    .options = options,
    .run = run_bench,
};
