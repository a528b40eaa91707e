/* `isochron probe`: a live database provoked, recorded, judged. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/check.h"
#include "app/commands.h"
#include "base/memory.h"
#include "cli/nearest.h"
#include "cli/progress.h"
#include "connectors/kafka/producer.h"
#include "database/database.h"
#include "probe/probe.h"
#include "run/input/consume.h"
#include "run/shown/signals.h"

enum { SHOWN_VIOLATIONS = 3, LISTED_FINDINGS = 100000, FLUSH_SECONDS = 30, SEARCH_SECONDS = 300 };

struct probe {
    struct app_check check;
    struct iso_probe_options options;
    struct cli_texts workloads, properties;
    const char *record, *to;
    uint64_t partitions, seconds_ms;
    uint32_t explained;
    bool list, drop_leftovers, quiet;

    /* while it runs */
    struct iso_output recording;
    bool is_recording, can_draw;
    struct iso_kafka_properties kafka;
    struct iso_kafka_producer *producer;
    struct iso_error sinks; /* of the record's file and topic */
};

#define PLACE(member) offsetof(struct probe, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("What to provoke"),
    CLI_ROW_TEXT("isolation", "NAME", PLACE(options.isolation),
                 "At which level the sessions run: 'read uncommitted', 'read committed',\n"
                 "'repeatable read' or serializable. By default the server's own default."),
    CLI_ROW_TEXTS("workload", "NAME", PLACE(workloads),
                  "Only this workload; may be given often (--list names them)."),
    CLI_ROW_COUNT("sessions", "N", PLACE(options.sessions), 1, 1000,
                  "Sessions, each with a connection (8)."),
    CLI_ROW_SECONDS("seconds", "SECONDS", PLACE(seconds_ms), 0, 86400,
                    "How long (10). Ctrl-C ends it before, with a verdict."),
    CLI_ROW_FLAG("chaos", PLACE(options.chaos),
                 "Kill own connections, also in the middle of COMMIT, so that outcomes are\n"
                 "unknown. Nobody else's are touched."),
    CLI_ROW_NUMBER("seed", "N", PLACE(options.seed), 0, UINT64_MAX,
                   "What sessions draw (1). Who meets whom the machine decides: no two runs\n"
                   "are the same."),
    CLI_ROW_GROUP("What is judged"),
    CLI_ROW_CHOICE("level", ISO_LEVEL_WORDS "|strongest|all", PLACE(check.level),
                   "What must hold: as of check. By default si. strongest: the strongest\n"
                   "levels at which the run was; all: each level.",
                   .refusal = iso_level_refusal),
    CLI_ROW_CHOICE("at-least", ISO_LEVEL_WORDS, PLACE(check.at_least),
                   "With strongest or all: the exit status is that of this level.",
                   .refusal = iso_level_refusal),
    CLI_ROW_GROUP("Records"),
    CLI_ROW_TEXT("record", "FILE", PLACE(record),
                 "Write what was recorded to FILE, for check; compressed if it ends in\n"
                 ".zst."),
    CLI_ROW_TEXT("to", "kafka:TOPIC", PLACE(to),
                 "Publish each record to TOPIC, for a watch that joins them with the\n"
                 "database's change stream. Without the workloads lists and ranges."),
    CLI_ROW_TEXT("name", "NAME", PLACE(options.name),
                 "Call the tables isochron_probe_NAME_*, so that a change stream's topics\n"
                 "are known beforehand; by default six random digits."),
    CLI_ROW_NUMBER("partitions", "N", PLACE(partitions), 1, 10000,
                   "Partitions of TOPIC, if it does not exist yet (1)."),
    CLI_ROW_PROPERTIES(PLACE(properties)),
    CLI_ROW_GROUP("The report"),
    CLI_ROW_COUNT("explain-most", "N", PLACE(explained), 1, UINT32_MAX,
                  "Explain at most N violations (3). Counts are always exact."),
    CLI_ROW_FLAG("json", PLACE(check.json), "One JSON object, as of check, instead of text."),
    CLI_ROW_FLAG("quiet", PLACE(quiet), "Print only the headline, and no progress."),
    CLI_ROW_GROUP("Beside a run"),
    CLI_ROW_FLAG("list", PLACE(list),
                 "Name the workloads, and with a URL tables that crashed runs left there."),
    CLI_ROW_FLAG("drop-leftovers", PLACE(drop_leftovers),
                 "Drop these tables, and do nothing else."),
    CLI_ROW_NUMBER("threads", "N", PLACE(check.load.threads), 1, 1024,
                   "Threads that judge; by default one for each processor."),
    {.type = CLI_END},
};

/* ---- what was asked for ---- */

static enum iso_status choose_workloads(struct app *app, struct probe *probe)
{
    const char *names[64];
    uint32_t count = 0;
    while ((names[count] = iso_probe_workload_name(count)))
        count++;
    for (uint32_t i = 0; i < probe->workloads.count; i++) {
        const char *asked = probe->workloads.items[i];
        uint32_t which = 0;
        while (which < count && strcmp(names[which], asked))
            which++;
        if (which < count) {
            probe->options.workloads |= 1ull << which;
            continue;
        }
        const char *nearest = cli_nearest(asked, names, count);
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--workload %s: no such workload%s%s; --list names them", asked,
                             nearest ? ": did you mean " : "", nearest ? nearest : "");
    }
    for (uint32_t i = 0; probe->to && i < count; i++) {
        bool is_named = probe->options.workloads >> i & 1;
        if (is_named && !iso_probe_workload_streams(i))
            return iso_error_set(
                &app->error, ISO_BAD_INPUT,
                "--workload %s: a change stream has other values of its rows than clients record; "
                "leave it out of --to",
                names[i]);
        if (!probe->workloads.count && iso_probe_workload_streams(i))
            probe->options.workloads |= 1ull << i;
    }
    return ISO_OK;
}

static enum iso_status check_wishes(struct app *app, struct probe *probe,
                                    const struct cli_texts *urls)
{
    struct iso_error *error = &app->error;
    const char *name = probe->options.name;
    if (urls->count > 1 || (!urls->count && !probe->list))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "expected one URL: postgresql://HOST:PORT/DATABASE or mysql://HOST:PORT/DATABASE");
    if (urls->count)
        probe->options.url = urls->items[0];
    if (probe->options.isolation && !iso_probe_isolation(probe->options.isolation))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--isolation %s: no such level, expected 'read uncommitted', 'read committed', "
            "'repeatable read' or serializable",
            probe->options.isolation);
    if (name && (!*name || strlen(name) > 32 ||
                 name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")]))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--name %s: expected up to 32 of a to z, 0 to 9 and _", name);
    if (probe->to && (strncmp(probe->to, "kafka:", 6) || !probe->to[6]))
        return iso_error_set(error, ISO_BAD_INPUT, "--to %s: expected kafka:TOPIC", probe->to);
    probe->options.for_stream = probe->to != NULL;
    probe->options.milliseconds = probe->seconds_ms;
    probe->options.record = probe->record ? probe->record : "probe";
    struct iso_judge_options *judge = &probe->check.judge;
    bool asks_levels = app_check_asks_levels(&probe->check);
    judge->times.threads = cli_threads(probe->check.load.threads);
    judge->times.max_violations = probe->explained;
    judge->order.max_findings = LISTED_FINDINGS;
    judge->order.level = asks_levels ? ISO_SI : (enum iso_level)probe->check.level;
    judge->order.timeout = SEARCH_SECONDS;
    judge->order.memory_in_use = cli_memory_in_use;
    probe->check.load.quiet = probe->quiet;
    probe->check.explanation.explain = !probe->check.json && !probe->quiet && !asks_levels;
    if (choose_workloads(app, probe) != ISO_OK ||
        (asks_levels && app_check_levels_options(app, &probe->check) != ISO_OK))
        return error->status;
    return app_explanation_check(app, &probe->check.explanation, probe->check.json,
                                 ISO_WALL_UNKNOWN);
}

/* ---- beside a run ---- */

static enum iso_status list_leftovers(struct app *app, const struct probe *probe)
{
    struct iso_text names = {0};
    struct iso_database *database = iso_database_connect(probe->options.url, &app->error);
    if (!database)
        return app->error.status;
    iso_probe_leftovers(database, probe->drop_leftovers, &names, &app->error);
    if (names.used)
        iso_output_format(&app->out, "%s:\n%.*s",
                          probe->drop_leftovers ? "dropped" : "left by runs that are over",
                          (int)names.used, names.bytes);
    else
        iso_output_text(&app->out, "no tables of earlier runs are left\n");
    iso_text_release(&names);
    iso_database_close(database);
    return app->error.status;
}

static enum iso_status list_workloads(struct app *app, const struct probe *probe)
{
    for (uint32_t i = 0; iso_probe_workload_name(i); i++)
        iso_output_format(&app->out, "%-10s %s\n", iso_probe_workload_name(i),
                          iso_probe_workload_about(i));
    return probe->options.url ? list_leftovers(app, probe) : ISO_OK;
}

static void remark_leftovers(const struct probe *probe)
{
    struct iso_text names = {0};
    struct iso_error error = {0};
    struct iso_database *database = iso_database_connect(probe->options.url, &error);
    uint32_t count = 0;
    if (database)
        iso_probe_leftovers(database, false, &names, &error);
    for (size_t i = 0; i < names.used; i++)
        count += names.bytes[i] == '\n';
    if (count)
        cli_log(
            "%u table%s of runs that were not ended in order: probe URL --drop-leftovers drops them",
            count, cli_plural(count));
    iso_text_release(&names);
    iso_database_close(database);
}

/* ---- records on their way ---- */

static bool take_record(void *context, const char *line, size_t length, uint32_t session)
{
    struct probe *probe = context;
    if (probe->is_recording) {
        iso_output_bytes(&probe->recording, line, length);
        iso_output_char(&probe->recording, '\n');
    }
    if (probe->producer) {
        int32_t partitions = iso_kafka_producer_partitions(probe->producer);
        struct iso_message message = {.partition = (int32_t)(session % (uint32_t)partitions),
                                      .payload = {(const uint8_t *)line, length}};
        iso_kafka_producer_send(probe->producer, &message, &probe->sinks);
    }
    return probe->sinks.status == ISO_OK && !(probe->is_recording && probe->recording.error);
}

static enum iso_status open_sinks(struct app *app, struct probe *probe)
{
    if (probe->record && iso_output_open(&probe->recording, probe->record, &app->error) != ISO_OK)
        return app->error.status;
    probe->recording.mode = 0600; /* that of a file which it replaces is for something else */
    probe->is_recording = probe->record != NULL;
    if (!probe->to || run_properties(&probe->kafka, &probe->properties, &app->error) != ISO_OK)
        return app->error.status;
    probe->producer = iso_kafka_producer_new(&probe->kafka, probe->to + 6,
                                             (int32_t)probe->partitions, &app->error);
    return app->error.status;
}

static void close_sinks(struct probe *probe)
{
    struct iso_error closing = {0};
    if (probe->producer && probe->sinks.status == ISO_OK)
        iso_kafka_producer_flush(probe->producer, FLUSH_SECONDS, &probe->sinks);
    iso_kafka_producer_free(probe->producer);
    iso_kafka_properties_release(&probe->kafka);
    if (probe->is_recording && iso_output_close(&probe->recording, &closing) != ISO_OK)
        iso_error_set(&probe->sinks, closing.status, "%s", closing.text);
    probe->producer = NULL;
    probe->is_recording = false;
}

static void show_progress(void *context, uint64_t done_ms, uint64_t of_ms,
                          const struct iso_probe_tally *tally)
{
    const struct probe *probe = context;
    char text[160];
    if (!probe->can_draw)
        return;
    snprintf(text, sizeof text,
             "probing  %.1f of %.0f s  %" PRIu64 " committed, %" PRIu64 " aborted, %" PRIu64
             " unknown",
             (double)done_ms / 1000, (double)of_ms / 1000, tally->committed, tally->aborted,
             tally->unknown);
    cli_progress_line(text);
}

/* ---- the verdict ---- */

static enum iso_status judge_as(const struct probe *probe, enum iso_judge_engine engine,
                                const struct iso_history *history, struct iso_judgement *judgement,
                                struct iso_error *error)
{
    struct iso_judge_options options = probe->check.judge;
    options.engine = engine;
    return iso_judge(history, &options, judgement, error);
}

/* A read that only a transaction of unknown outcome explains is open by positions; the search
 * answers it. */
static enum iso_outcome both(const struct iso_judgement *times, const struct iso_judgement *order)
{
    enum iso_outcome a = times->outcome, b = order->outcome;
    if (a == ISO_IS_UNDECIDED && times->reason && !strcmp(times->reason, "unknown-writer"))
        return b;
    if (a == ISO_IS_VIOLATED || b == ISO_IS_VIOLATED)
        return ISO_IS_VIOLATED;
    return a == ISO_IS_UNDECIDED || b == ISO_IS_UNDECIDED ? ISO_IS_UNDECIDED : ISO_HOLDS;
}

/* Keeps the findings that are shown where there are thousands: first one of each kind. */
static void keep_varied(struct iso_judgement *judgement, uint32_t most)
{
    struct iso_polygraph_result *result = &judgement->result;
    uint32_t kept = 0, first[ISO_FINDINGS];
    for (uint32_t kind = 0; kind < ISO_FINDINGS; kind++)
        first[kind] = ISO_NONE;
    for (uint32_t i = result->finding_count; i-- > 0;)
        first[result->findings[i].kind] = i;
    struct iso_finding *all = iso_allocate((result->finding_count + 1u) * sizeof *all);
    if (result->finding_count)
        memcpy(all, result->findings, result->finding_count * sizeof *all);
    for (int firsts = 1; firsts >= 0; firsts--)
        for (uint32_t i = 0; i < result->finding_count && kept < most; i++)
            if ((first[all[i].kind] == i) == firsts)
                result->findings[kept++] = all[i];
    iso_free(all);
    result->finding_count = kept;
    judgement->order.max_findings = most;
}

/* The counts, then the arguments. */
static void report(struct app *app, struct probe *probe, struct iso_history *history,
                   struct iso_judgement *judgement, double seconds)
{
    struct app_check headline = probe->check;
    headline.explanation = (struct app_explanation){0};
    headline.load.quiet = true;
    keep_varied(judgement, probe->explained);
    if (probe->check.explanation.explain)
        app_check_report(app, &headline, history, judgement, 0, seconds);
    app_check_report(app, &probe->check, history, judgement, 0, seconds);
}

/* By positions where there are some, and by any order beside it: each may find what the other
 * cannot. */
static enum iso_status judge_history(struct app *app, struct probe *probe,
                                     struct iso_history *history)
{
    struct iso_judgement first = {0}, second = {0};
    double started = iso_clock_seconds();
    if (iso_judge_finish(history, NULL, &app->error) != ISO_OK)
        return app->error.status;
    if (app_check_asks_levels(&probe->check))
        return app_check_levels(app, &probe->check, history, started, started);
    bool is_both = iso_judge_route(&probe->check.judge, history) != ISO_JUDGE_ORDER;
    struct iso_judgement *shown = &first;
    if (judge_as(probe, ISO_JUDGE_AUTO, history, &first, &app->error) == ISO_OK && is_both)
        judge_as(probe, ISO_JUDGE_POLYGRAPH, history, &second, &app->error);
    enum iso_outcome outcome = is_both ? both(&first, &second) : first.outcome;
    if (is_both && first.outcome != outcome)
        shown = &second;
    double seconds = iso_clock_seconds() - started;
    if (outcome != ISO_IS_VIOLATED) /* there is nothing to argue */
        probe->check.explanation.explain = false;
    if (app->error.status == ISO_OK)
        report(app, probe, history, shown, seconds);
    if (app->error.status == ISO_OK && is_both && !probe->check.json && !probe->quiet)
        cli_log(
            "by the snapshots and timestamps that it recorded: %s; by any order of the transactions: %s",
            iso_outcome_name(first.outcome), iso_outcome_name(second.outcome));
    iso_judgement_release(&first);
    iso_judgement_release(&second);
    return app->error.status == ISO_OK ? iso_outcome_status(outcome) : app->error.status;
}

static void say_what_ran(const struct probe *probe, const struct iso_probe *running,
                         const struct iso_probe_tally *tally, double seconds)
{
    struct iso_probe_facts facts = iso_probe_facts(running);
    if (probe->quiet)
        return;
    cli_log("%s %s at %s: %u sessions, %.1f s, %" PRIu64 " transactions committed, %" PRIu64
            " aborted, %" PRIu64 " unknown%s",
            iso_database_product_name(iso_database_product(facts.database)),
            iso_database_version(facts.database), facts.level, probe->options.sessions, seconds,
            tally->committed, tally->aborted, tally->unknown,
            facts.has_positions ? "" : "; without positions: any order is sought");
    if (tally->never_connected)
        cli_log_warning("%u of %u sessions got no connection: %s", tally->never_connected,
                        probe->options.sessions, tally->refusal);
    if (tally->connections_lost)
        cli_log("%" PRIu64 " connections were lost and made again", tally->connections_lost);
}

static void say_what_watches(const struct probe *probe, const struct iso_probe *running)
{
    struct iso_probe_facts facts = iso_probe_facts(running);
    if (!probe->to || probe->quiet)
        return;
    cli_log(
        "beside it: isochron watch --source debezium:PREFIX.%s.%s_NAME,value=v,identity=full ... --source "
        "debezium:PREFIX.transaction --source history:%s",
        facts.schema, facts.prefix, probe->to + 6);
}

/* A failure around the run (a lost server) counts only where no violation was found. */
static enum iso_status run_and_judge(struct app *app, struct probe *probe,
                                     struct iso_probe *running)
{
    struct iso_history history;
    struct iso_probe_tally tally = {0};
    struct iso_error failed = {0};
    double started = iso_clock_seconds();
    iso_history_init(&history);
    say_what_watches(probe, running);
    iso_probe_run(running, &history, &tally, &failed);
    if (probe->can_draw)
        cli_progress_line("");
    close_sinks(probe);
    if (failed.status == ISO_OK && probe->sinks.status != ISO_OK)
        failed = probe->sinks;
    say_what_ran(probe, running, &tally, iso_clock_seconds() - started);
    enum iso_status status = ISO_OK;
    if (tally.committed + tally.unknown || failed.status == ISO_OK)
        status = judge_history(app, probe, &history);
    if (failed.status != ISO_OK && status == ISO_VIOLATED)
        cli_log_error("%s", failed.text);
    else if (failed.status != ISO_OK)
        status = iso_error_set(&app->error, failed.status, "%s", failed.text);
    iso_history_release(&history);
    return status;
}

static enum iso_status probe_database(struct app *app, struct probe *probe)
{
    struct iso_text left = {0};
    enum iso_status status = open_sinks(app, probe);
    struct iso_probe *running =
        status == ISO_OK ? iso_probe_prepare(&probe->options, &app->error) : NULL;
    if (!running) {
        iso_output_discard(&probe->recording);
        probe->is_recording = false;
        close_sinks(probe);
        return app->error.status;
    }
    if (!probe->quiet)
        remark_leftovers(probe);
    status = run_and_judge(app, probe, running);
    iso_probe_free(running, &left);
    if (left.used)
        cli_log_warning("left behind: %.*s; probe URL --drop-leftovers drops them", (int)left.used,
                        left.bytes);
    iso_text_release(&left);
    return status;
}

static enum iso_status probe_as_asked(struct app *app, void *target, const struct cli_texts *urls)
{
    struct probe *probe = target;
    enum iso_status status = check_wishes(app, probe, urls);
    if (status != ISO_OK)
        return status;
    probe->can_draw = !probe->quiet && cli_log_can_draw();
    probe->options.stopped = run_catch_signals(0, false);
    return probe->drop_leftovers ? list_leftovers(app, probe)
           : probe->list         ? list_workloads(app, probe)
                                 : probe_database(app, probe);
}

static enum iso_status run_probe(struct app *app, int count, char **arguments)
{
    struct probe probe = {.options = {.sessions = 8, .seed = 1},
                          .seconds_ms = 10000,
                          .explained = SHOWN_VIOLATIONS,
                          .partitions = 1};
    iso_judge_options_init(&probe.check.judge);
    probe.check.level = ISO_SI;
    probe.check.at_least = ISO_LEVELS;
    probe.options.take = take_record;
    probe.options.show = show_progress;
    probe.options.context = &probe;
    return cli_run(app, count, arguments, &probe, probe_as_asked);
}

const struct cli_command app_probe = {
    .name = "probe",
    .summary = "provoke a live database, and judge what it did",
    .usage = "[OPTIONS] URL",
    .intro = "Opens sessions on a live database, with tables of their own that are dropped at\n"
             "the end, and runs workloads that go wrong where a level allows it. What was read\n"
             "and written is recorded, judged as by check, and explained. PostgreSQL's and\n"
             "MySQL's protocols: postgresql://USER@HOST:PORT/DATABASE, mysql://... (MariaDB,\n"
             "TiDB). Passwords: PGPASSWORD, ~/.pgpass, MYSQL_PWD, ~/.my.cnf. It is judged by\n"
             "snapshots or timestamps, where PostgreSQL and TiDB tell them, and by a search for\n"
             "any order of the transactions.\n"
             "Exit status: 0 holds, 1 violated, 2 bad usage, 3 undecided, 4 runtime failure.",
    .examples =
        "  isochron probe --level si --isolation 'repeatable read' postgresql://localhost/test\n"
        "      Whether PostgreSQL's REPEATABLE READ is snapshot isolation.\n"
        "  isochron probe --level ser --isolation serializable --chaos mysql://root@localhost:4000/test\n"
        "      Serializability, while connections die.\n"
        "  isochron probe --level strongest --isolation 'read committed' mysql://root@localhost/test\n"
        "      What this level is worth.\n"
        "  isochron probe --list\n"
        "      What the workloads are.\n",
    .options = options,
    .run = run_probe,
};
