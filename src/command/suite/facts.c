#include "suite/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bytes/whole_file.h"

void suite_facts_release(struct suite_facts *facts)
{
    for (uint32_t i = 0; i < facts->unjudged_of.count; i++)
        iso_free(facts->unjudged_of.list[i].table);
    ISO_FREE_ALL(facts->name, facts->failure, facts->path, facts->tables, facts->unjudged_of.list);
}

void suite_result_release(struct suite_result *result)
{
    for (uint32_t i = 0; i < result->bases.count; i++)
        suite_facts_release(&result->bases.list[i]);
    iso_free(result->bases.list);
}

static void put_path(struct iso_text *path, const char *folder)
{
    iso_text_format(path, "%s/run.json", folder);
    *iso_text_reserve(path, 1) = 0;
}

/* ---- writing ---- */

static void put_string(struct iso_text *text, const char *name, const char *value)
{
    if (!value)
        return;
    iso_text_format(text, "\"%s\":", name);
    iso_text_put_string(text, value, strlen(value));
    iso_text_put(text, ",");
}

static void put_facts(struct iso_text *text, const struct suite_facts *facts)
{
    const char *file = facts->path ? strrchr(facts->path, '/') : NULL;
    iso_text_put(text, "{");
    put_string(text, "database", facts->name);
    put_string(text, "failure", facts->failure);
    put_string(text, "capture", file ? file + 1 : facts->path);
    put_string(text, "tables", facts->tables);
    iso_text_put(text, "\"unjudged_of\":[");
    for (uint32_t i = 0; i < facts->unjudged_of.count; i++) {
        iso_text_put(text, i ? ",{" : "{");
        put_string(text, "table", facts->unjudged_of.list[i].table);
        iso_text_format(text, "\"reads\":%" PRIu64 "}", facts->unjudged_of.list[i].reads);
    }
    iso_text_format(text,
                    "],\"left_out\":%s,\"alone\":%s,\"covered\":%" PRIu64 ",\"late\":%" PRIu64
                    ",\"unjudged\":%" PRIu64 "}",
                    facts->is_left_out ? "true" : "false", facts->is_alone ? "true" : "false",
                    facts->covered, facts->late, facts->unjudged);
}

enum iso_status suite_result_write(const struct suite_result *result, const char *folder,
                                   struct iso_error *error)
{
    struct iso_text path = {0}, text = {0};
    put_path(&path, folder);
    iso_text_format(&text,
                    "{\"reads\":%" PRIu64 ",\"recorded\":%" PRIu64 ",\"lost\":%" PRIu64
                    ",\"lost_server\":%s,\"databases\":[",
                    result->reads, result->recorded, result->lost,
                    result->lost_server ? "true" : "false");
    for (uint32_t i = 0; i < result->bases.count; i++) {
        iso_text_put(&text, i ? ",\n" : "\n");
        put_facts(&text, &result->bases.list[i]);
    }
    iso_text_put(&text, "]}\n");
    FILE *file = fopen(path.bytes, "we");
    bool is_written = file && fwrite(text.bytes, 1, text.used, file) == text.used;
    if (!file || fclose(file) || !is_written)
        iso_error_set(error, ISO_FAILED, "%s: %s", path.bytes, strerror(errno));
    iso_text_release(&path);
    iso_text_release(&text);
    return error->status;
}

/* ---- reading ---- */

static char *take_string(struct iso_json *json)
{
    struct iso_json_text text;
    return iso_json_string(json, &text) ? iso_copy_text(text.at, text.length) : NULL;
}

static uint64_t take_number(struct iso_json *json)
{
    struct iso_json_number number = {0};
    iso_json_integer(json, &number);
    return number.bits;
}

static void take_unjudged(struct iso_json *json, struct suite_facts *facts)
{
    struct iso_json_text member;
    iso_json_enter_array(json);
    while (iso_json_element(json)) {
        struct suite_unjudged unjudged = {.reads = 0};
        iso_json_enter_object(json);
        while (iso_json_member(json, &member))
            if (iso_json_is(&member, "table") && !unjudged.table)
                unjudged.table = take_string(json);
            else
                unjudged.reads = take_number(json);
        ISO_APPEND(facts->unjudged_of, unjudged);
    }
}

/* The member's place in the facts, if it is a text. */
static char **text_of(struct suite_facts *facts, const struct iso_json_text *member)
{
    return iso_json_is(member, "database")  ? &facts->name
           : iso_json_is(member, "failure") ? &facts->failure
           : iso_json_is(member, "capture") ? &facts->path
           : iso_json_is(member, "tables")  ? &facts->tables
                                            : NULL;
}

static uint64_t *number_of(struct suite_facts *facts, const struct iso_json_text *member)
{
    return iso_json_is(member, "covered") ? &facts->covered
           : iso_json_is(member, "late")  ? &facts->late
                                          : &facts->unjudged;
}

static void take_facts(struct iso_json *json, struct suite_facts *facts, const char *folder)
{
    struct iso_json_text member;
    struct iso_text path = {0};
    iso_json_enter_object(json);
    while (iso_json_member(json, &member)) {
        char **text = text_of(facts, &member);
        if (text && !*text)
            *text = take_string(json);
        else if (iso_json_is(&member, "unjudged_of"))
            take_unjudged(json, facts);
        else if (iso_json_is(&member, "left_out"))
            iso_json_boolean(json, &facts->is_left_out);
        else if (iso_json_is(&member, "alone"))
            iso_json_boolean(json, &facts->is_alone);
        else
            *number_of(facts, &member) = take_number(json);
    }
    if (!facts->path)
        return;
    iso_text_format(&path, "%s/%s", folder, facts->path);
    iso_free(facts->path);
    *iso_text_reserve(&path, 1) = 0;
    facts->path = path.bytes;
}

static void take_result(struct iso_json *json, struct suite_result *result, const char *folder)
{
    struct iso_json_text member;
    iso_json_enter_object(json);
    while (iso_json_member(json, &member)) {
        if (iso_json_is(&member, "databases")) {
            iso_json_enter_array(json);
            while (iso_json_element(json)) {
                struct suite_facts facts = {.name = NULL};
                take_facts(json, &facts, folder);
                ISO_APPEND(result->bases, facts);
            }
        } else if (iso_json_is(&member, "lost_server")) {
            iso_json_boolean(json, &result->lost_server);
        } else {
            *(iso_json_is(&member, "reads")      ? &result->reads
              : iso_json_is(&member, "recorded") ? &result->recorded
                                                 : &result->lost) = take_number(json);
        }
    }
    iso_json_finish(json);
}

enum iso_status suite_result_read(struct suite_result *result, const char *folder,
                                  struct iso_error *error)
{
    struct iso_text path = {0};
    struct iso_whole_file file = {.bytes = NULL};
    struct iso_json json = {.at = NULL};
    put_path(&path, folder);
    if (iso_whole_file_read(&file, path.bytes, error) == ISO_OK) {
        iso_json_start(&json, file.bytes, file.length);
        take_result(&json, result, folder);
        if (json.code != ISO_JSON_FINE)
            iso_whole_file_json_fail(path.bytes, &file, &json, error);
    }
    iso_json_release(&json);
    iso_whole_file_release(&file);
    iso_text_release(&path);
    return error->status;
}
