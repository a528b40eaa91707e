#define _GNU_SOURCE
#include "app/explanation.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "draw/drawing.h"
#include "draw/page.h"
#include "explain/text.h"
#include "report/tools.h"

/* json is the verdict as it came. */
static const struct report_format {
    const char *name;
    iso_report_writer *write;
} formats[] = {{"json", NULL},
               {"sarif", iso_report_sarif},
               {"junit", iso_report_junit},
               {"markdown", iso_report_markdown},
               {"edn", iso_report_edn}};
enum { FORMATS = sizeof formats / sizeof *formats };

/* NULL: no such format. `*path`: where it goes. */
static const struct report_format *format_of(const char *text, const char **path)
{
    size_t length = strcspn(text, ":");
    *path = text[length] ? text + length + 1 : "-";
    for (int i = 0; i < FORMATS; i++)
        if (strlen(formats[i].name) == length && !memcmp(formats[i].name, text, length) && **path)
            return &formats[i];
    return NULL;
}

bool app_explanation_wanted(const struct app_explanation *explanation)
{
    return explanation->explain || explanation->reports.count || explanation->dot ||
           explanation->svg || explanation->html;
}

static bool is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

static unsigned count_stdout(const struct app_explanation *explanation)
{
    const char *path;
    unsigned count =
        is_stdout(explanation->dot) + is_stdout(explanation->svg) + is_stdout(explanation->html);
    for (uint32_t i = 0; i < explanation->reports.count; i++)
        count += format_of(explanation->reports.items[i], &path) && is_stdout(path);
    return count;
}

bool app_explanation_takes_stdout(const struct app_explanation *explanation)
{
    return count_stdout(explanation) > 0;
}

static bool goes_to_files(const struct app_explanation *explanation)
{
    const char *path;
    unsigned count =
        (explanation->dot != NULL) + (explanation->svg != NULL) + (explanation->html != NULL);
    for (uint32_t i = 0; i < explanation->reports.count; i++)
        count += format_of(explanation->reports.items[i], &path) != NULL;
    return count > count_stdout(explanation);
}

/* With standard output closed, a command that was asked for files still writes them; its text
 * goes nowhere. */
static void speak_to_nobody(void)
{
    int nobody = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nobody < 0)
        return;
    dup2(nobody, STDOUT_FILENO);
    close(nobody);
}

static enum iso_wall wall_of(const struct app_explanation *explanation, enum iso_wall of_source)
{
    if (!explanation->time)
        return ISO_WALL_COUNTER;
    return explanation->clock ? (enum iso_wall)explanation->clock : of_source;
}

static enum iso_status check_wall(struct app *app, const struct app_explanation *explanation,
                                  enum iso_wall of_source)
{
    enum iso_wall wall = wall_of(explanation, of_source);
    if (explanation->clock && !explanation->time)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--clock: only wall-clock times need to know it; expected --ts time, too");
    if (!explanation->time)
        return ISO_OK;
    if (!app_explanation_wanted(explanation))
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--ts time: nothing here shows times; expected --explain, --html FILE, --report FORMAT, "
            "--svg FILE or --dot FILE, too");
    if (wall == ISO_WALL_UNKNOWN)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--ts time: what these timestamps count is not known; expected --clock tso, hybrid, s, ms, "
            "us or ns");
    if (wall == ISO_WALL_COUNTER)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--ts time: timestamps of this source are no clock's");
    return ISO_OK;
}

enum iso_status app_explanation_check(struct app *app, const struct app_explanation *explanation,
                                      bool json, enum iso_wall of_source)
{
    const char *path;
    for (uint32_t i = 0; i < explanation->reports.count; i++)
        if (!format_of(explanation->reports.items[i], &path))
            return iso_error_set(
                &app->error, ISO_BAD_INPUT,
                "--report %s: expected json, sarif, junit, markdown or edn, and :FILE behind it if it "
                "goes to a file",
                explanation->reports.items[i]);
    if (json + explanation->explain + count_stdout(explanation) > 1)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--json, --explain, and files and reports that go to -: standard output is for one of them");
    if (app->stdout_closed && goes_to_files(explanation) &&
        !app_explanation_takes_stdout(explanation))
        speak_to_nobody();
    return check_wall(app, explanation, of_source);
}

static enum iso_status status_of(const struct iso_claims *claims)
{
    if (!strcmp(claims->outcome, "undecided"))
        return ISO_UNDECIDED;
    for (uint32_t i = 0; i < claims->count; i++)
        if (!claims->list[i].is_tentative && !claims->list[i].doubt)
            return ISO_VIOLATED;
    return claims->count ? ISO_UNDECIDED : ISO_OK;
}

/* ---- files ---- */

static enum iso_status write_file(struct app *app, const char *path, const struct iso_text *text)
{
    struct iso_output output;
    if (is_stdout(path)) {
        iso_output_bytes(&app->out, text->bytes, text->used);
        return ISO_OK;
    }
    if (iso_output_open(&output, path, &app->error) != ISO_OK)
        return app->error.status;
    iso_output_bytes(&output, text->bytes, text->used);
    return iso_output_close(&output, &app->error);
}

static enum iso_status draw_graphs(struct app *app, const struct app_explanation *explanation,
                                   const struct iso_facts *facts, enum iso_wall wall)
{
    struct iso_text text = {0};
    if (!explanation->dot && !explanation->svg)
        return ISO_OK;
    struct iso_drawing *drawing = iso_allocate(sizeof *drawing);
    iso_drawing_init(drawing);
    iso_drawing_add_all(drawing, facts, wall);
    if (explanation->dot) {
        iso_drawing_dot(drawing, &text);
        write_file(app, explanation->dot, &text);
    }
    text.used = 0;
    if (explanation->svg && app->error.status == ISO_OK) {
        iso_drawing_svg(drawing, true, &text);
        write_file(app, explanation->svg, &text);
    }
    iso_text_release(&text);
    iso_drawing_release(drawing);
    iso_free(drawing);
    return app->error.status;
}

static enum iso_status write_page(struct app *app, const struct app_explanation *explanation,
                                  const struct iso_facts *facts, enum iso_wall wall)
{
    struct iso_text text = {0};
    if (!explanation->html)
        return ISO_OK;
    iso_page_write(facts, wall, &text);
    write_file(app, explanation->html, &text);
    iso_text_release(&text);
    return app->error.status;
}

static enum iso_status write_reports(struct app *app, const struct app_explanation *explanation,
                                     const struct iso_facts *facts, enum iso_wall wall,
                                     const struct iso_text *verdict)
{
    const char *path;
    for (uint32_t i = 0; i < explanation->reports.count && app->error.status == ISO_OK; i++) {
        const struct report_format *format = format_of(explanation->reports.items[i], &path);
        struct iso_text text = {0};
        if (format->write)
            format->write(facts, wall, &text);
        write_file(app, path, format->write ? &text : verdict);
        iso_text_release(&text);
    }
    return app->error.status;
}

/* ---- the whole ---- */

static enum iso_status print_explanation(struct app *app, const struct app_explanation *explanation,
                                         const struct iso_claims *claims, enum iso_wall wall,
                                         const struct iso_text *verdict)
{
    struct iso_facts facts;
    iso_facts_init(&facts, claims);
    if (explanation->explain)
        iso_explain_text(&app->out, &facts, wall);
    enum iso_status status = draw_graphs(app, explanation, &facts, wall);
    if (status == ISO_OK)
        status = write_page(app, explanation, &facts, wall);
    if (status == ISO_OK)
        status = write_reports(app, explanation, &facts, wall, verdict);
    iso_facts_release(&facts);
    return status == ISO_OK ? status_of(claims) : status;
}

enum iso_status app_explain(struct app *app, const struct app_explanation *explanation,
                            struct iso_history *history, enum iso_wall of_source, const char *name,
                            struct iso_text *verdict)
{
    struct iso_claims claims;
    size_t length = verdict->used;
    memset(iso_text_reserve(verdict, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    iso_claims_init(&claims, history);
    enum iso_status status = iso_claims_read(&claims, verdict->bytes, length, name, &app->error);
    if (status == ISO_OK)
        status =
            print_explanation(app, explanation, &claims, wall_of(explanation, of_source), verdict);
    iso_claims_release(&claims);
    return status;
}

static void log_argument(const struct iso_argument *argument)
{
    const struct iso_history *history = argument->facts->history;
    struct iso_text text = {0};
    cli_log("  %s", iso_argument_text(argument, argument->title));
    for (uint32_t i = 0; i < argument->party_count; i++) {
        text.used = 0;
        iso_argument_put_tid(argument, i, &text);
        iso_argument_put_statements(argument, i, ": ", &text);
        if (history->told)
            cli_log("    %.*s", (int)text.used, text.bytes);
    }
    iso_text_release(&text);
}

void app_print_said(struct iso_output *output, const struct app_said *said)
{
    if (said->order)
        iso_report_polygraph_json(output, said->order, cli_peak_memory());
    else
        iso_report_json(output, said->verdict, cli_peak_memory());
}

void app_explain_briefly(struct app *app, struct iso_history *history, struct iso_text *verdict,
                         uint32_t most)
{
    struct iso_claims claims;
    struct iso_facts facts;
    memset(iso_text_reserve(verdict, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    iso_claims_init(&claims, history);
    iso_claims_read(&claims, verdict->bytes, verdict->used, "the verdict", &app->error);
    iso_facts_init(&facts, &claims);
    for (uint32_t i = 0; i < claims.count && i < most && app->error.status == ISO_OK; i++) {
        struct iso_argument argument;
        iso_argument_init(&argument, &facts, &claims.list[i], ISO_WALL_COUNTER);
        log_argument(&argument);
        iso_argument_release(&argument);
    }
    iso_facts_release(&facts);
    iso_claims_release(&claims);
}

void app_explain_said_briefly(struct app *app, struct iso_history *history,
                              const struct app_said *said, uint32_t most)
{
    struct iso_output output;
    struct iso_text text = {0};
    iso_output_to_text(&output, &text);
    app_print_said(&output, said);
    if (iso_output_close(&output, &app->error) == ISO_OK)
        app_explain_briefly(app, history, &text, most);
    iso_text_release(&text);
}

enum iso_status app_explain_said(struct app *app, const struct app_explanation *explanation,
                                 struct iso_history *history, const struct app_said *said)
{
    struct iso_output output;
    struct iso_text text = {0};
    if (!app_explanation_wanted(explanation))
        return ISO_OK;
    iso_output_to_text(&output, &text);
    app_print_said(&output, said);
    if (iso_output_close(&output, &app->error) == ISO_OK)
        app_explain(app, explanation, history, ISO_WALL_UNKNOWN, "the verdict", &text);
    iso_text_release(&text);
    return app->error.status;
}
