/* `isochron run --no-stream`: what records alone say, per level. */
#include <inttypes.h>
#include <string.h>

#include "app/levels.h"
#include "suite/alone.h"

enum { WRONG_SHOWN = 5 };

static void put_wrong(struct iso_text *json, const struct suite_alone *alone,
                      const struct suite_alone_wrong *wrong, bool is_first)
{
    const struct suite_alone_read *one = &alone->reads.list[wrong->one],
                                  *other = &alone->reads.list[wrong->other];
    const char *texts = alone->texts.bytes;
    iso_text_format(json, "%s{\"row\":%s,\"column\":", is_first ? "" : ",", texts + one->row);
    iso_text_put_string(json, texts + one->column, strlen(texts + one->column));
    iso_text_format(json, ",\"transactions\":[%s,%s],\"values\":[%s,%s]}", texts + one->tid,
                    texts + other->tid, texts + one->value, texts + other->value);
}

static void print_level(struct app *app, const struct levels *levels,
                        const struct suite_alone *alone, const struct suite_alone_verdict *verdict,
                        unsigned level)
{
    struct iso_text json = {0};
    uint32_t count = 0;
    iso_text_put(&json, "{\"database\":");
    iso_text_put_string(&json, levels->facts->name, strlen(levels->facts->name));
    iso_text_format(&json,
                    ",\"level\":\"%s\",\"verdict\":\"%s\",\"reason\":%s,\"reads_judged\":%" PRIu64
                    ",\"reads_unjudged\":%" PRIu64 ",\"violations\":[",
                    suite_level_names[level], verdict->wrong[level] ? "violated" : "undecided",
                    verdict->wrong[level] ? "null" : "\"no-stream\"", verdict->judged[level],
                    verdict->unjudged[level]);
    for (uint32_t i = 0; i < verdict->wrongs.count; i++)
        if (alone->reads.list[verdict->wrongs.list[i].other].level == level)
            put_wrong(&json, alone, &verdict->wrongs.list[i], !count++);
    iso_text_put(&json, "]}\n");
    iso_output_bytes(&app->out, json.bytes, json.used);
    iso_text_release(&json);
}

static void say_level(const struct levels *levels, const struct suite_alone_verdict *verdict,
                      unsigned level)
{
    struct iso_text text = {0};
    uint64_t wrong = verdict->wrong[level], unjudged = verdict->unjudged[level];
    iso_text_format(&text, "%s, %s: %" PRIu64 " of %" PRIu64 " reads compared, ",
                    levels->facts->name, suite_level_names[level], verdict->judged[level],
                    verdict->judged[level] + unjudged);
    if (wrong)
        iso_text_format(&text, "%" PRIu64 " wrong", wrong);
    else
        iso_text_put(&text, "none wrong");
    if (unjudged)
        iso_text_format(&text, "; undecided: %" PRIu64 " (%" PRIu64 " no-stream)", unjudged,
                        unjudged);
    cli_log("%.*s", (int)text.used, text.bytes);
    iso_text_release(&text);
}

static void say_wrong(const struct suite_alone *alone, const struct suite_alone_wrong *wrong)
{
    const struct suite_alone_read *one = &alone->reads.list[wrong->one],
                                  *other = &alone->reads.list[wrong->other];
    const char *texts = alone->texts.bytes;
    cli_log("  column %s of row %s has two values for transactions %s and %s, which saw the same",
            texts + one->column, texts + one->row, texts + one->tid, texts + other->tid);
}

static void conclude(struct app *app, struct levels *levels, const struct suite_alone *alone,
                     const struct suite_alone_verdict *verdict)
{
    for (unsigned level = 0; level < SUITE_LEVELS; level++) {
        if (!verdict->judged[level] && !verdict->unjudged[level])
            continue;
        levels->judged += verdict->judged[level];
        levels->unjudged += verdict->unjudged[level];
        levels->is_violated |= verdict->wrong[level] > 0;
        if (!levels->quiet)
            say_level(levels, verdict, level);
        if (levels->json)
            print_level(app, levels, alone, verdict, level);
    }
    for (uint32_t i = 0; !levels->quiet && i < verdict->wrongs.count && i < WRONG_SHOWN; i++)
        say_wrong(alone, &verdict->wrongs.list[i]);
    if (!levels->allow_unjudged)
        levels->reason = "no-stream";
}

enum iso_status levels_judge_alone(struct app *app, struct levels *levels)
{
    struct suite_alone alone = {.reads = {0}};
    struct suite_alone_verdict verdict = {.wrongs = {0}};
    if (suite_alone_read(&alone, levels->facts->path, &app->error) == ISO_OK) {
        suite_alone_judge(&alone, &verdict);
        conclude(app, levels, &alone, &verdict);
    }
    iso_free(verdict.wrongs.list);
    suite_alone_release(&alone);
    return app->error.status;
}
