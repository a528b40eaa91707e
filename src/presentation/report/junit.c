#include <inttypes.h>
#include <string.h>

#include "draw/escape.h"
#include "report/tools.h"

static void put_attribute(struct iso_text *text, const char *name, const char *value)
{
    iso_text_format(text, " %s=\"", name);
    iso_escape_xml(text, value, strlen(value));
    iso_text_put(text, "\"");
}

static void put_count(struct iso_text *text, const char *name, uint64_t count)
{
    iso_text_format(text, " %s=\"%" PRIu64 "\"", name, count);
}

static void put_case(const struct iso_argument *argument, struct iso_text *text)
{
    struct iso_text lines = {0};
    char id[ISO_WRONG_ID];
    const char *title = iso_argument_text(argument, argument->title);
    iso_wrong_id(argument->claim->wrong, id);
    report_put_lines(argument, &lines);
    iso_text_put(text, "    <testcase classname=\"isochron\"");
    put_attribute(text, "name", title);
    iso_text_put(text, ">\n      <failure");
    put_attribute(text, "type", id);
    put_attribute(text, "message", argument->claim->wrong->name);
    iso_text_put(text, ">");
    iso_escape_xml(text, lines.bytes, lines.used);
    iso_text_put(text, "</failure>\n    </testcase>\n");
    iso_text_release(&lines);
}

/* There is always a case, so that a report without violations is not taken for one that did not
 * run. */
static void put_whole(const struct iso_claims *claims, bool is_undecided, struct iso_text *text)
{
    iso_text_put(text, "    <testcase classname=\"isochron\"");
    put_attribute(text, "name", claims->level);
    iso_text_put(text, is_undecided ? "><skipped message=\"undecided\"/></testcase>\n" : "/>\n");
}

void iso_report_junit(const struct iso_facts *facts, enum iso_wall wall, struct iso_text *text)
{
    const struct iso_claims *claims = facts->claims;
    bool is_undecided = !claims->count && !strcmp(claims->outcome, "undecided");
    iso_text_put(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    put_attribute(text, "name", "isochron");
    put_count(text, "tests", claims->count ? claims->count : 1);
    put_count(text, "failures", claims->count);
    put_count(text, "errors", 0);
    put_count(text, "skipped", is_undecided);
    iso_text_put(text, ">\n");
    if (!claims->count)
        put_whole(claims, is_undecided, text);
    for (uint32_t i = 0; i < claims->count; i++) {
        struct iso_argument argument;
        iso_argument_init(&argument, facts, &claims->list[i], wall);
        put_case(&argument, text);
        iso_argument_release(&argument);
    }
    iso_text_put(text, "  </testsuite>\n</testsuites>\n");
}
