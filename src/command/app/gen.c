/* `isochron gen`: histories with known verdicts. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/commands.h"
#include "app/feed.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "app/publish.h"
#include "base/memory.h"
#include "generate/generate.h"
#include "formats/write_history.h"

struct gen {
    struct iso_generate_options generate;
    int store; /* which level it keeps: index into levels */
    uint64_t threads;
    int format;
    bool quiet;
    struct cli_texts anomalies;
    const char *output, *expected, *to;
    struct app_publish_options publish;
};

#define PLACE(member) offsetof(struct gen, member)

/* The levels of simulated stores, in the order of the option's words. */
static const enum iso_level levels[] = {ISO_SI, ISO_SER, ISO_RC, ISO_PSI, ISO_CC};

static const struct cli_option options[] = {
    CLI_ROW_GROUP("How much"),
    CLI_ROW_COUNT("sessions", "N", PLACE(generate.sessions), 1, 1000000,
                  "Sessions that run at the same time (50)."),
    CLI_ROW_COUNT("txns", "N", PLACE(generate.transactions), 1, 1000000000,
                  "Transactions, besides those of anomalies (100k). Numbers may end in\n"
                  "k, M, G."),
    CLI_ROW_COUNT("ops", "N", PLACE(generate.operations), 1, 10000, "Operations in each (15)."),
    CLI_ROW_COUNT("keys", "N", PLACE(generate.keys), 1, 100000000, "Keys in use (1000)."),
    CLI_ROW_GROUP("What kind"),
    CLI_ROW_CHOICE("workload", "mixed|range-b|range-rqh|range-idh", PLACE(generate.workload),
                   "mixed (the default) as the other options say. range-...: 8 operations\n"
                   "(--ops) of one kind in each transaction, on one table (--tables), without\n"
                   "timestamps: queries of a range of keys, insertions, deletions, reads and\n"
                   "updates of a row. b: a fifth each; rqh: half of them queries; idh: 35% each\n"
                   "of insertions and deletions."),
    CLI_ROW_SHARE("reads", "SHARE", PLACE(generate.read_share),
                  "Share of reads among operations (0.5). A write to a key that another\n"
                  "open transaction has written moves to another key or becomes a read."),
    CLI_ROW_CHOICE("dist", "uniform|zipf|hotspot", PLACE(generate.distribution),
                   "Which keys: all equally often (the default), the i-th in proportion to\n"
                   "1/i, or 80% of operations on 20% of the keys."),
    CLI_ROW_FLAG("lists", PLACE(generate.lists), "Appends to lists and reads of whole lists."),
    CLI_ROW_COUNT("tables", "N", PLACE(generate.tables), 1, 1000000,
                  "Rows with columns instead of keys with one value: --keys is the number of\n"
                  "rows, in N tables. Writes insert rows and change some of their columns."),
    CLI_ROW_COUNT("columns", "N", PLACE(generate.columns), 1, 30,
                  "Columns of each table (3): c1 has few values, c2 unique ones, c3 amounts\n"
                  "and NULL, and so on."),
    CLI_ROW_FLAG("texts", PLACE(generate.texts),
                 "Texts in place of numbers in c1, c4, c7 and so on."),
    CLI_ROW_SHARE("deletes", "SHARE", PLACE(generate.delete_share),
                  "Share of writes that delete a row (0.2)."),
    CLI_ROW_SHARE("ranges", "SHARE", PLACE(generate.range_share),
                  "Share of reads that ask for a range of keys (0.2). The others that these\n"
                  "four options do not name read some columns of one row."),
    CLI_ROW_COUNT("span", "N", PLACE(generate.span), 1, 10000, "Keys that a range covers (20)."),
    CLI_ROW_SHARE("conditions", "SHARE", PLACE(generate.condition_share),
                  "Share of reads that ask for rows by a condition on a column (0.1)."),
    CLI_ROW_SHARE("aggregates", "SHARE", PLACE(generate.aggregate_share),
                  "Share of reads that ask for a count and a sum (0.1)."),
    CLI_ROW_SHARE("bags", "SHARE", PLACE(generate.bag_share),
                  "Share of reads that ask for rows without their keys (0)."),
    CLI_ROW_SHARE("aborted", "SHARE", PLACE(generate.aborted_share),
                  "Share of transactions that abort (0)."),
    CLI_ROW_SHARE("unknown", "SHARE", PLACE(generate.unknown_share),
                  "Share whose outcome the client never learns (0); half of them take\n"
                  "effect. With --tables they change c2 of rows that are there, and what\n"
                  "must be found is known at --level only."),
    CLI_ROW_CHOICE("level", "si|ser|rc|psi|cc", PLACE(store),
                   "The level of the simulated store. si (the default): reads come from the\n"
                   "snapshot at the start; ser: from what is there at the commit; rc: two\n"
                   "statements, each with a snapshot of its own. Without timestamps: psi:\n"
                   "sites that hear of one another's commits later, and lock what they write\n"
                   "everywhere; cc: the same without locks, so that updates are lost."),
    CLI_ROW_COUNT("sites", "N", PLACE(generate.sites), 1, ISO_GENERATE_SITES,
                  "Sites of a store at psi or cc (3); sessions go round them."),
    CLI_ROW_COUNT("behind", "N", PLACE(generate.behind), 1, 1000000,
                  "Commits of others that a site lacks at most (100)."),
    CLI_ROW_NUMBER("seed", "N", PLACE(generate.seed), 0, UINT64_MAX,
                   "The same seed gives the same bytes on every machine (1)."),
    CLI_ROW_GROUP("What goes wrong"),
    CLI_ROW_TEXTS("anomaly", "NAME[:COUNT][@PLACE]", PLACE(anomalies),
                  "Plant COUNT anomalies (1), spread over the run, or at PLACE: a share of\n"
                  "the run such as 0.5, or a number of transactions. May be given often.\n"
                  "stale-read, future-read, lost-update, long-fork, write-skew,\n"
                  "aborted-read, intermediate-read, non-repeatable-read, session-break,\n"
                  "timestamp-inversion, non-monotonic-read, fractured-read,\n"
                  "read-your-writes, monotonic-reads, monotonic-writes,\n"
                  "causality-violation; on rows of a table: stale-cell, missing-row,\n"
                  "extra-row, wrong-aggregate, phantom, lost-row, resurrected-row,\n"
                  "predicate-skew."),
    CLI_ROW_GROUP("Output"),
    CLI_ROW_TEXT("output", "FILE", PLACE(output),
                 "Write the history to FILE, compressed if it ends in .zst, instead of\n"
                 "standard output.",
                 .letter = 'o'),
    CLI_ROW_TEXT("expected", "FILE", PLACE(expected),
                 "Write what a checker must find by timestamps, at si and at ser, and what it\n"
                 "must say of all orders, at each level, as JSON. With -o FILE the default\n"
                 "is FILE.expected.json."),
    CLI_ROW_CHOICE("format", "native|timekiller", PLACE(format),
                   "JSON Lines (the default) or TimeKiller's array."),
    CLI_ROW_CHOICE("order", "commit|start|random", PLACE(generate.order),
                   "The order of transactions in the file; random moves each by up to some\n"
                   "thousands and writes sno."),
    CLI_ROW_GROUP("To a Kafka topic"),
    CLI_ROW_TEXT("to", "kafka:TOPIC", PLACE(to),
                 "Publish the transactions, one in each message, to the partition of their\n"
                 "session. With FILE... these recorded histories are published instead\n"
                 "(JSON Lines; -: as they arrive)."),
    CLI_ROW_NUMBER("partitions", "N", PLACE(publish.partitions), 1, 10000,
                   "Partitions of the topic, if it does not exist yet (1)."),
    CLI_ROW_NUMBER("rate", "N", PLACE(publish.rate), 0, 100000000,
                   "Transactions a second. 0, the default: as fast as possible; delays\n"
                   "then only reorder, as at a million a second."),
    CLI_ROW_NUMBER("delay", "MS", PLACE(publish.delay), 0, 3600000,
                   "How long transactions take to arrive, on average (0 ms) ..."),
    CLI_ROW_NUMBER("deviation", "MS", PLACE(publish.deviation), 0, 3600000,
                   "... and its standard deviation (0 ms)."),
    CLI_ROW_SHARE("repeats", "SHARE", PLACE(publish.repeats),
                  "Share of transactions that arrive twice (0)."),
    CLI_ROW_NUMBER("watermarks", "N", PLACE(publish.watermarks), 0, 1000000000,
                   "A watermark to every partition after each N transactions (0: none)."),
    CLI_ROW_PROPERTIES(PLACE(publish.properties)),
    CLI_ROW_GROUP("How to run"),
    CLI_ROW_ONE_THREAD("gen", PLACE(threads)),
    CLI_ROW_FLAG("quiet", PLACE(quiet), "Print no progress line."),
    {.type = CLI_END},
};

/* ---- what must be found ---- */

static void write_number(struct iso_output *output, const char *member, uint64_t number)
{
    iso_output_format(output, "%s%" PRIu64, member, number);
}

static void write_planted(struct iso_output *output, const struct iso_planted *planted,
                          enum iso_level level, const char **between)
{
    for (int i = 0; i < ISO_SCRIPT_FINDINGS; i++) {
        const struct iso_script_finding *finding = &planted->anomaly->findings[level][i];
        if (!finding->used)
            continue;
        iso_output_format(output, "%s{\"anomaly\":\"%s\",\"axiom\":\"%s\"", *between,
                          planted->anomaly->name, iso_axiom_name(finding->axiom));
        *between = ",\n    ";
        if (finding->kind != ISO_KIND_NONE)
            iso_output_format(output, ",\"kind\":\"%s\"", iso_violation_kind_name(finding->kind));
        iso_output_format(output, ",\"tids\":[\"%" PRIu64 "\"",
                          planted->first_tid + finding->transaction);
        if (finding->other != ISO_SCRIPT_NOBODY)
            iso_output_format(output, ",\"%" PRIu64 "\"", planted->first_tid + finding->other);
        iso_output_char(output, ']');
        if (finding->key) {
            char key[ISO_PLANTED_KEY];
            iso_planted_key(planted, finding, key);
            iso_output_format(output, ",\"key\":\"%s\"", key);
        }
        iso_output_char(output, '}');
    }
}

static void write_level(struct iso_output *output, const struct iso_generated *generated,
                        enum iso_level level)
{
    const struct iso_expectation *expected = &generated->levels[level];
    const char *between = "\n    ";
    iso_output_format(
        output, "  \"%s\":{\"verdict\":\"%s\",\"reads_unjudged\":%" PRIu64 ",\"counts\":{",
        iso_level_name(level), iso_outcome_name(iso_generated_outcome(generated, level)),
        expected->reads_unjudged);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        iso_output_format(output, "%s\"%s\":%" PRIu64, axiom ? "," : "",
                          iso_axiom_name((enum iso_axiom)axiom), expected->counts[axiom]);
    iso_output_text(output, "},\n   \"planted\":[");
    for (uint32_t i = 0; i < generated->planted_count; i++)
        write_planted(output, &generated->planted[i], level, &between);
    iso_output_text(output, "]}");
}

/* Nothing is put beside standard output or a device. */
static bool has_place_beside(const char *path)
{
    struct stat status;
    return strcmp(path, "-") && (stat(path, &status) != 0 || S_ISREG(status.st_mode));
}

/* {"si":"holds", ...}: undecided levels, which depend on what the store did, are left out. */
static void write_any_order(struct iso_output *output, const struct gen *gen,
                            const struct iso_generated *generated)
{
    const char *between = "";
    iso_output_text(output, "  \"any_order\":{");
    for (int i = 0; i < ISO_LEVELS; i++) {
        enum iso_level level = (enum iso_level)i;
        const struct iso_level_row *row = iso_level_row(level);
        enum iso_outcome outcome = iso_generated_any_order(&gen->generate, generated, level);
        if (!row->is_ranked || row->needs_times || outcome == ISO_IS_UNDECIDED)
            continue;
        iso_output_format(output, "%s\"%s\":\"%s\"", between, row->name, iso_outcome_name(outcome));
        between = ",";
    }
    iso_output_text(output, "}");
}

static enum iso_status write_expected(struct app *app, const struct gen *gen,
                                      const struct iso_generated *generated)
{
    struct iso_output output;
    size_t size = strlen(gen->output) + sizeof ".expected.json";
    char *beside = iso_allocate(size);
    snprintf(beside, size, "%s.expected.json", gen->output);
    enum iso_status status =
        iso_output_open(&output, gen->expected ? gen->expected : beside, &app->error);
    iso_free(beside);
    if (status != ISO_OK)
        return status;
    iso_output_format(&output, "{\"generated_at\":\"%s\"", iso_level_name(gen->generate.level));
    write_number(&output, ",\"seed\":", gen->generate.seed);
    write_number(&output, ",\"transactions\":", generated->committed);
    write_number(&output, ",\"aborted\":", generated->aborted);
    write_number(&output, ",\"unknown\":", generated->unknown);
    write_number(&output, ",\"operations\":", generated->operations);
    iso_output_text(&output, ",\n");
    bool is_timeless = iso_generate_is_timeless(&gen->generate);
    if (!is_timeless) {
        bool si = iso_generate_knows(&gen->generate, ISO_SI),
             ser = iso_generate_knows(&gen->generate, ISO_SER);
        if (si)
            write_level(&output, generated, ISO_SI);
        iso_output_text(&output, si && ser ? ",\n" : "");
        if (ser)
            write_level(&output, generated, ISO_SER);
        iso_output_text(&output, gen->generate.tables ? "}\n" : ",\n");
    }
    if (!gen->generate.tables || is_timeless) {
        write_any_order(&output, gen, generated);
        iso_output_text(&output, "}\n");
    }
    return iso_output_close(&output, &app->error);
}

/* ---- the history ---- */

struct sink {
    struct iso_history_writer writer;
    struct cli_progress progress;
    struct app *app;
    uint64_t transactions; /* that will come, about */
};

static bool take_block(void *context, const struct iso_history *block)
{
    struct sink *sink = context;
    struct iso_output *output = sink->writer.output;
    enum iso_status status = iso_history_writer_add(&sink->writer, block, &sink->app->error);
    uint64_t count = sink->writer.count ? sink->writer.count : 1;
    uint64_t total =
        (uint64_t)((double)output->written * (double)sink->transactions / (double)count);
    cli_progress_update(&sink->progress, output->written,
                        total > output->written ? total : output->written);
    return status == ISO_OK && !output->error;
}

static enum iso_status write_history(struct app *app, const struct gen *gen,
                                     const struct iso_generate_options *generate,
                                     struct iso_generated *generated)
{
    struct iso_output output;
    struct sink sink = {.app = app, .transactions = gen->generate.transactions};
    enum iso_status status = iso_output_open(&output, gen->output, &app->error);
    if (status != ISO_OK)
        return status;
    cli_progress_init(&sink.progress, "writing", gen->quiet);
    iso_history_writer_init(&sink.writer, &output, (enum iso_format)gen->format);
    iso_generate(generate, take_block, &sink, generated);
    iso_history_writer_end(&sink.writer);
    cli_progress_end(&sink.progress);
    if (app->error.status != ISO_OK)
        iso_output_discard(&output);
    else
        iso_output_close(&output, &app->error);
    return app->error.status;
}

/* ---- to a topic ---- */

struct outlet {
    struct app_publisher *publisher;
    struct iso_error *error;
};

static bool publish_block(void *context, const struct iso_history *block)
{
    struct outlet *outlet = context;
    return app_publisher_add(outlet->publisher, block, outlet->error) == ISO_OK;
}

/* `files`: recorded histories to publish in place of a generated one. */
static enum iso_status publish_history(struct app *app, const struct gen *gen,
                                       const struct cli_texts *files,
                                       const struct iso_generate_options *generate,
                                       struct iso_generated *generated)
{
    struct app_publish_options options = gen->publish;
    uint64_t sent;
    options.topic = gen->to + strlen("kafka:");
    options.seed = gen->generate.seed;
    struct outlet outlet = {app_publisher_new(&options, &app->error), &app->error};
    if (!outlet.publisher)
        return app->error.status;
    if (files->count)
        app_feed(outlet.publisher, files, &app->error);
    else
        iso_generate(generate, publish_block, &outlet, generated);
    if (app_publisher_close(outlet.publisher, &sent, &app->error) == ISO_OK && !gen->quiet)
        cli_log("%" PRIu64 " messages sent to topic %s", sent, options.topic);
    return app->error.status;
}

/* ---- the command line ---- */

#define TENTH (((uint64_t)1 << 32) / 10)

static const struct gen defaults = {.generate = {.sessions = 50,
                                                 .transactions = 100000,
                                                 .operations = 15,
                                                 .keys = 1000,
                                                 .sites = 3,
                                                 .behind = 100,
                                                 .read_share = (uint64_t)1 << 31,
                                                 .columns = 3,
                                                 .span = 20,
                                                 .range_share = TENTH * 2,
                                                 .condition_share = TENTH,
                                                 .aggregate_share = TENTH,
                                                 .delete_share = TENTH * 2,
                                                 .seed = 1},
                                    .output = "-"};

/* Refuses what would change nothing: options of rows without rows, of sites and of publishing
 * likewise. */
static enum iso_status check_effects(struct app *app, const struct gen *gen)
{
    const struct iso_generate_options *is = &gen->generate, *was = &defaults.generate;
    const bool rows = is->tables, sites = iso_generate_has_sites(is), publishes = gen->to,
               mixes = is->workload == ISO_WORKLOAD_MIXED;
    const struct {
        const char *option, *needs;
        bool is_given, has_effect;
    } parts[] = {
        {"deletes", "--workload mixed", is->delete_share != was->delete_share, mixes},
        {"ranges", "--workload mixed", is->range_share != was->range_share, mixes},
        {"conditions", "--workload mixed", is->condition_share != was->condition_share, mixes},
        {"aggregates", "--workload mixed", is->aggregate_share != was->aggregate_share, mixes},
        {"bags", "--workload mixed", is->bag_share, mixes},
        {"reads", "--workload mixed", is->read_share != was->read_share, mixes},
        {"columns", "--tables", is->columns != was->columns, rows},
        {"texts", "--tables", is->texts, rows},
        {"deletes", "--tables", is->delete_share != was->delete_share, rows},
        {"ranges", "--tables", is->range_share != was->range_share, rows},
        {"span", "--tables", is->span != was->span, rows},
        {"conditions", "--tables", is->condition_share != was->condition_share, rows},
        {"aggregates", "--tables", is->aggregate_share != was->aggregate_share, rows},
        {"bags", "--tables", is->bag_share, rows},
        {"sites", "--level psi or cc", is->sites != was->sites, sites},
        {"behind", "--level psi or cc", is->behind != was->behind, sites},
        {"partitions", "--to", gen->publish.partitions, publishes},
        {"rate", "--to", gen->publish.rate, publishes},
        {"delay", "--to", gen->publish.delay, publishes},
        {"deviation", "--to", gen->publish.deviation, publishes},
        {"repeats", "--to", gen->publish.repeats, publishes},
        {"watermarks", "--to", gen->publish.watermarks, publishes},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].is_given && !parts[i].has_effect)
            return iso_error_set(&app->error, ISO_BAD_INPUT,
                                 "--%s goes with %s: without it nothing changes", parts[i].option,
                                 parts[i].needs);
    return ISO_OK;
}

enum {
    /* more than a checker looks at for one query would not be judged */
    TABLE_ROWS = ISO_SCAN_LIMIT
};

static enum iso_status check_rows(struct app *app, const struct gen *gen)
{
    const struct iso_generate_options *generate = &gen->generate;
    if (!generate->tables)
        return ISO_OK;
    if (generate->lists || gen->format == ISO_FORMAT_TIMEKILLER)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--tables cannot be combined with --lists or --format timekiller");
    if (generate->unknown_share && generate->columns < 2)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--unknown with --tables needs --columns 2 or more: transactions of unknown outcome write c2");
    if (generate->level == ISO_RC)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--tables needs --level si or ser");
    if (generate->tables > generate->keys ||
        (generate->keys - 1) / generate->tables + 1 > TABLE_ROWS)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--tables %" PRIu32 " of --keys %" PRIu32
                             " rows: expected 1 to %d rows in each table",
                             generate->tables, generate->keys, TABLE_ROWS);
    if (generate->range_share + generate->condition_share + generate->aggregate_share +
            generate->bag_share >
        (uint64_t)1 << 32)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--ranges, --conditions, --aggregates and --bags together must stay below 1");
    return ISO_OK;
}

/* Refuses options that a replicated store has not. */
static enum iso_status check_sites(struct app *app, const struct gen *gen)
{
    const struct iso_generate_options *generate = &gen->generate;
    const char *name = iso_level_name(generate->level);
    if (!iso_generate_has_sites(generate))
        return ISO_OK;
    if (generate->lists || generate->tables || gen->format == ISO_FORMAT_TIMEKILLER)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--level %s cannot be combined with --lists, --tables or --format timekiller", name);
    if (gen->publish.watermarks)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--watermarks needs timestamps: --level %s has none", name);
    return ISO_OK;
}

static enum iso_status check_options(struct app *app, const struct gen *gen,
                                     const struct cli_texts *files)
{
    bool timekiller = gen->format == ISO_FORMAT_TIMEKILLER;
    if (files->count && !gen->to)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "%s: gen reads a recorded history only to publish it, with --to; -o names its output",
            files->items[0]);
    if (files->count && gen->publish.watermarks)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--watermarks needs a generated history: a recorded one may be in any order");
    if (gen->expected && !strcmp(gen->expected, gen->output))
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--expected %s: the history goes there, expected another file",
                             gen->expected);
    if (timekiller && gen->generate.order == ISO_ORDER_RANDOM)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--order random needs --format native: in TimeKiller's the order is the sessions' order");
    if (timekiller && gen->generate.unknown_share)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--unknown needs --format native: TimeKiller's has committed transactions only");
    if (gen->to && (strncmp(gen->to, "kafka:", 6) || !gen->to[6]))
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--to %s: expected kafka:TOPIC", gen->to);
    if (gen->to && (timekiller || strcmp(gen->output, "-")))
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--to takes the native format and no -o");
    if (gen->publish.watermarks && gen->generate.order != ISO_ORDER_COMMIT)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--watermarks needs --order commit: else they could be wrong");
    if (gen->publish.watermarks && gen->generate.workload != ISO_WORKLOAD_MIXED)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--watermarks needs timestamps: workloads of ranges have none");
    if (check_effects(app, gen) != ISO_OK || check_rows(app, gen) != ISO_OK ||
        check_sites(app, gen) != ISO_OK)
        return app->error.status;
    if ((uint64_t)gen->generate.transactions * gen->generate.operations > UINT32_MAX)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--txns times --ops must stay below 2^32");
    if (gen->generate.aborted_share + gen->generate.unknown_share > (uint64_t)1 << 32)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--aborted and --unknown together must stay below 1");
    return ISO_OK;
}

static enum iso_status parse_plants(struct app *app, const struct gen *gen,
                                    struct iso_plant *plants)
{
    enum iso_status status = ISO_OK;
    for (uint32_t i = 0; i < gen->anomalies.count && status == ISO_OK; i++) {
        status = iso_plant_parse(gen->anomalies.items[i], gen->generate.transactions, &plants[i],
                                 &app->error);
        if (status == ISO_OK && gen->format == ISO_FORMAT_TIMEKILLER &&
            iso_script_of_rows(plants[i].anomaly))
            status = iso_error_set(
                &app->error, ISO_BAD_INPUT,
                "--anomaly %s needs --format native: TimeKiller's has no rows with columns",
                gen->anomalies.items[i]);
    }
    return status;
}

static enum iso_status generate_history(struct app *app, const struct gen *gen,
                                        const struct cli_texts *files)
{
    struct iso_generated generated = {0};
    struct iso_plant *plants = iso_allocate((gen->anomalies.count + 1u) * sizeof *plants);
    struct iso_generate_options settings = gen->generate;
    settings.plants = plants;
    settings.plant_count = gen->anomalies.count;
    enum iso_status status = parse_plants(app, gen, plants);
    if (status == ISO_OK)
        status = gen->to ? publish_history(app, gen, files, &settings, &generated)
                         : write_history(app, gen, &settings, &generated);
    if (status == ISO_OK && !files->count && (gen->expected || has_place_beside(gen->output)))
        status = write_expected(app, gen, &generated);
    iso_generated_release(&generated);
    iso_free(plants);
    return status;
}

static enum iso_status generate_as_asked(struct app *app, void *target,
                                         const struct cli_texts *files)
{
    struct gen *gen = target;
    struct iso_generate_options *generate = &gen->generate;
    generate->level = levels[gen->store];
    if (generate->workload != ISO_WORKLOAD_MIXED && !generate->tables)
        generate->tables = 1;
    if (generate->workload != ISO_WORKLOAD_MIXED &&
        generate->operations == defaults.generate.operations)
        generate->operations = 8;
    enum iso_status status = check_options(app, gen, files);
    return status == ISO_OK ? generate_history(app, gen, files) : status;
}

static enum iso_status run_gen(struct app *app, int count, char **arguments)
{
    struct gen gen = defaults;
    return cli_run(app, count, arguments, &gen, generate_as_asked);
}

const struct cli_command app_gen = {
    .name = "gen",
    .summary = "make a history with a known verdict",
    .usage = "[OPTIONS] [-o FILE | --to kafka:TOPIC [FILE...]]",
    .intro = "Simulates sessions that run transactions against a multi-version store, plants\n"
             "the anomalies that you ask for, and writes the history and what a checker must\n"
             "find in it.",
    .examples =
        "  isochron gen --txns 1M -o big.jsonl.zst\n"
        "      A million transactions that keep snapshot isolation.\n"
        "  isochron gen --txns 10k --anomaly lost-update:3 --anomaly stale-read@0.9 -o bad.jsonl\n"
        "      Three lost updates spread over the run, a stale read near its end;\n"
        "      bad.jsonl.expected.json names them.\n"
        "  isochron gen --tables 3 --keys 600 --anomaly missing-row -o shop.jsonl\n"
        "      Rows with columns, ranges, conditions and sums; a range lacks a row.\n"
        "  isochron gen --level ser --dist zipf --lists | isochron check --level ser -\n"
        "      Straight into a checker.\n"
        "  isochron gen --level psi --anomaly long-fork -o sites.jsonl\n"
        "      Three replicas that keep parallel snapshot isolation; a long fork shows\n"
        "      that it is not snapshot isolation.\n"
        "  isochron gen --workload range-b --keys 5k --anomaly phantom -o ranges.jsonl\n"
        "      Queries of ranges without timestamps; check finds the phantom in any order.\n"
        "  recorder | isochron gen --to kafka:txns -X bootstrap.servers=localhost:9092 -\n"
        "      Publish what a recorder prints, while it runs.\n",
    .options = options,
    .run = run_gen,
};
