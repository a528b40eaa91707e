/* `isochron doctor`: whether a database and its change stream are ready to be watched. */
#include <string.h>

#include "app/commands.h"
#include "base/memory.h"
#include "base/shown.h"
#include "bytes/input.h"
#include "database/database.h"
#include "doctor/changefeed.h"
#include "doctor/doctor.h"
#include "iso/version.h"
#include "run/input/consume.h"

struct doctor_command {
    struct cli_texts tables, properties;
    const char *prefix, *publication, *slot, *history, *changefeed;
    bool json, quiet;
    uint64_t threads;
};

#define PLACE(member) offsetof(struct doctor_command, member)

static const struct cli_option options[] = {
    CLI_ROW_TEXTS("table", "SCHEMA.TABLE", PLACE(tables),
                  "Only this table, which is to be attached; may be given often. By default\n"
                  "all tables of the database."),
    CLI_ROW_TEXT("prefix", "PREFIX", PLACE(prefix),
                 "The connector's topic.prefix; by default that of a topic that ends in\n"
                 ".SCHEMA.TABLE."),
    CLI_ROW_TEXT("history", "TOPIC", PLACE(history),
                 "The topic to which clients publish their records."),
    CLI_ROW_TEXT("publication", "NAME", PLACE(publication),
                 "PostgreSQL: the connector's publication; by default dbz_publication, or\n"
                 "the one that there is."),
    CLI_ROW_TEXT("slot", "NAME", PLACE(slot),
                 "PostgreSQL: its replication slot; by default the one that is in use."),
    CLI_ROW_TEXT("changefeed", "FILE", PLACE(changefeed),
                 "TiDB: instead of a URL, a file with TiCDC's sink URI or the changefeed's\n"
                 "configuration: which of its options lose what a check needs."),
    CLI_ROW_TEXTS("property", "NAME=VALUE", PLACE(properties),
                  "A property of librdkafka, or the name of a file of them, as\n"
                  "bootstrap.servers=HOST:PORT: topics and records are looked at, too.",
                  .letter = 'X'),
    CLI_ROW_FLAG("json", PLACE(json), "One JSON object instead of text."),
    CLI_ROW_FLAG("quiet", PLACE(quiet), "Print only what is to be mended."),
    CLI_ROW_ONE_THREAD("doctor", PLACE(threads)),
    {.type = CLI_END},
};

/* A line of its own, whatever names stand in it: they are other people's. */
static void put_line(struct app *app, const char *label, const char *text)
{
    struct iso_text shown = {0};
    iso_output_text(&app->out, label);
    for (const char *part = text, *end = text; *part; part = end) {
        end += strcspn(part, "\n\t");
        shown.used = 0;
        iso_text_put_shown(&shown, part, (size_t)(end - part));
        iso_output_bytes(&app->out, shown.bytes, shown.used);
        for (; *end && strchr("\n\t", *end); end++)
            iso_output_format(&app->out, "\\u%04x", (unsigned)*end);
    }
    iso_output_text(&app->out, "\n");
    iso_text_release(&shown);
}

static void print_text(struct app *app, const struct doctor_command *command,
                       const struct iso_doctor_report *report)
{
    uint32_t shown = 0;
    for (enum iso_doctor_weight weight = ISO_DOCTOR_WRONG; weight <= ISO_DOCTOR_NOTE; weight++) {
        for (uint32_t i = 0; i < report->count; i++) {
            const struct iso_doctor_finding *finding = &report->findings[i];
            if (finding->weight != weight || (command->quiet && weight == ISO_DOCTOR_NOTE))
                continue;
            shown++;
            iso_output_format(&app->out, "%-7s", iso_doctor_weight_name(weight));
            put_line(app, "", finding->about);
            put_line(app, "       costs: ", finding->costs);
            if (finding->mend)
                put_line(app, "       mend:  ", finding->mend);
        }
    }
    uint32_t wrong = iso_doctor_count(report, ISO_DOCTOR_WRONG),
             weak = iso_doctor_count(report, ISO_DOCTOR_WEAK);
    iso_output_format(&app->out, "%s%s %s, %u table%s: ", shown ? "\n" : "",
                      iso_database_product_name(report->product), report->version,
                      report->table_count, cli_plural(report->table_count));
    if (wrong + weak)
        iso_output_format(&app->out, "%u wrong, %u weak\n", wrong, weak);
    else
        iso_output_text(&app->out, "ready to be watched\n");
    if (!command->quiet) {
        char *watch = iso_copy_text(report->watch.bytes, report->watch.used);
        put_line(app, "", watch);
        iso_free(watch);
    }
}

static void put_member(struct app *app, const char *name, const char *text)
{
    iso_output_format(&app->out, ",\"%s\":", name);
    if (text)
        iso_output_string(&app->out, text, strlen(text));
    else
        iso_output_text(&app->out, "null");
}

static void print_json(struct app *app, const struct iso_doctor_report *report)
{
    iso_output_text(&app->out, "{\"isochron\":\"" ISO_VERSION "\"");
    put_member(app, "database", iso_database_product_name(report->product));
    put_member(app, "version", report->version);
    iso_output_text(&app->out, ",\"findings\":[");
    for (uint32_t i = 0; i < report->count; i++) {
        const struct iso_doctor_finding *finding = &report->findings[i];
        iso_output_format(&app->out, "%s{\"weight\":\"%s\"", i ? "," : "",
                          iso_doctor_weight_name(finding->weight));
        put_member(app, "about", finding->about);
        put_member(app, "costs", finding->costs);
        put_member(app, "mend", finding->mend);
        iso_output_text(&app->out, "}");
    }
    iso_output_text(&app->out, "],\"watch\":");
    iso_output_string(&app->out, report->watch.bytes, report->watch.used);
    iso_output_text(&app->out, "}\n");
}

static enum iso_status finish(struct app *app, const struct doctor_command *command,
                              struct iso_doctor_report *report)
{
    if (command->json)
        print_json(app, report);
    else
        print_text(app, command, report);
    return iso_doctor_count(report, ISO_DOCTOR_WRONG) + iso_doctor_count(report, ISO_DOCTOR_WEAK)
               ? ISO_UNDECIDED
               : ISO_OK;
}

static enum iso_status examine(struct app *app, const struct doctor_command *command,
                               const char *url)
{
    struct iso_kafka_properties properties = {0};
    struct iso_doctor_report report = {0};
    struct iso_doctor_options looked = {.url = url,
                                        .tables = command->tables.items,
                                        .table_count = command->tables.count,
                                        .prefix = command->prefix,
                                        .publication = command->publication,
                                        .slot = command->slot,
                                        .history = command->history,
                                        .kafka = command->properties.count ? &properties : NULL};
    enum iso_status status = run_properties(&properties, &command->properties, &app->error);
    if (status == ISO_OK)
        status = iso_doctor(&looked, &report, &app->error);
    if (status == ISO_OK)
        status = finish(app, command, &report);
    iso_doctor_report_release(&report);
    iso_kafka_properties_release(&properties);
    return status;
}

static enum iso_status examine_changefeed(struct app *app, const struct doctor_command *command)
{
    enum { MOST = 1 << 20 };
    struct iso_doctor_report report = {0};
    struct iso_text text = {0};
    struct iso_input *input;
    size_t length = 0;
    if (iso_input_open(&input, command->changefeed, &app->error) != ISO_OK)
        return app->error.status;
    enum iso_status status =
        iso_input_read(input, iso_text_reserve(&text, MOST), MOST - 1, &length, &app->error);
    iso_input_free(input);
    if (status == ISO_OK) {
        text.bytes[length] = 0;
        status =
            iso_doctor_changefeed(text.bytes, &report)
                ? finish(app, command, &report)
                : iso_error_set(
                      &app->error, ISO_BAD_INPUT,
                      "%s: expected a sink URI as kafka://HOST:PORT/TOPIC?protocol=.., or a changefeed's "
                      "configuration with a protocol",
                      command->changefeed);
    }
    iso_text_release(&text);
    iso_doctor_report_release(&report);
    return status;
}

static enum iso_status look_over(struct app *app, void *target, const struct cli_texts *urls)
{
    const struct doctor_command *command = target;
    if (urls->count != (command->changefeed ? 0 : 1))
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "expected one URL: postgresql://HOST:PORT/DATABASE or mysql://HOST:PORT/DATABASE (or "
            "--changefeed FILE alone)");
    return command->changefeed ? examine_changefeed(app, command)
                               : examine(app, command, urls->items[0]);
}

static enum iso_status run_doctor(struct app *app, int count, char **arguments)
{
    struct doctor_command command = {0};
    return cli_run(app, count, arguments, &command, look_over);
}

const struct cli_command app_doctor = {
    .name = "doctor",
    .summary = "look over a database and its change stream, before watch",
    .usage = "[OPTIONS] URL [-X bootstrap.servers=HOST:PORT]",
    .intro = "Reads settings and catalogs of a database and, with -X, topics and their latest\n"
             "records: what is missing for watch, what each thing costs, the statement that\n"
             "mends it, and the watch command that fits. It changes nothing. wrong: there would\n"
             "be no verdict, or a false one; weak: something is not judged; note: good to know.\n"
             "Exit status: 0 ready, 2 bad usage, 3 something is wrong or weak, 4 it could not\n"
             "look.",
    .examples =
        "  isochron doctor postgresql://localhost/shop -X bootstrap.servers=localhost:9092\n"
        "      All tables of shop, its publication and slot, and the connector's topics.\n"
        "  isochron doctor --table accounts --quiet mysql://root@localhost/shop\n"
        "      Only what is to be mended for one table.\n",
    .options = options,
    .run = run_doctor,
};
