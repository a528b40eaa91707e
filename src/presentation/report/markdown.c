/* Markdown. What others wrote stands in blocks of HTML without an empty line, which Markdown passes
 * on untouched, inside <code> or <pre>, where reviewing tools look for no names of users and no
 * links. */
#include <inttypes.h>
#include <string.h>

#include "draw/escape.h"
#include "explain/text.h"
#include "report/tools.h"

static void put_violation(const struct iso_argument *argument, uint32_t number,
                          struct iso_text *text)
{
    struct iso_text lines = {0};
    char id[ISO_WRONG_ID];
    const char *title = iso_argument_text(argument, argument->title);
    iso_wrong_id(argument->claim->wrong, id);
    report_put_lines(argument, &lines);
    iso_text_format(text, "\n<details><summary>%" PRIu32 ". <b>%s</b> <code>", number, id);
    iso_escape_xml(text, title, strlen(title));
    iso_text_put(text, "</code></summary>\n<pre>");
    iso_escape_xml(text, lines.bytes, lines.used - 1);
    iso_text_put(text, "</pre>\n<p>");
    iso_escape_xml(text, argument->claim->wrong->meaning, strlen(argument->claim->wrong->meaning));
    iso_text_put(text, "</p>\n</details>\n");
    iso_text_release(&lines);
}

static void put_counts(const struct iso_claims *claims, struct iso_text *text)
{
    char id[ISO_WRONG_ID];
    iso_text_put(text, "\n| kind | | violations |\n|---|---|---:|\n");
    for (size_t row = 0; iso_wrong_row(row); row++) {
        uint32_t count = iso_claims_count_of(claims, iso_wrong_row(row));
        if (!count)
            continue;
        iso_wrong_id(iso_wrong_row(row), id);
        iso_text_format(text, "| %s | %s | %" PRIu32 " |\n", id, iso_wrong_row(row)->name, count);
    }
}

void iso_report_markdown(const struct iso_facts *facts, enum iso_wall wall, struct iso_text *text)
{
    const struct iso_claims *claims = facts->claims;
    enum { END_BYTES = 200 };
    size_t start = text->used;
    uint32_t i = 0;
    iso_text_put(text, "### Isochron: ");
    iso_explain_headline(claims, text);
    iso_text_put(text, "\n");
    if (claims->count)
        put_counts(claims, text);
    for (; i < claims->count; i++) {
        struct iso_argument argument;
        size_t before = text->used;
        iso_argument_init(&argument, facts, &claims->list[i], wall);
        put_violation(&argument, i + 1, text);
        iso_argument_release(&argument);
        if (text->used - start > ISO_MARKDOWN_BYTES - END_BYTES) {
            text->used = before;
            break;
        }
    }
    uint64_t left = claims->count - i + iso_explain_unlisted(claims);
    if (left) {
        iso_text_format(text, "\n%" PRIu64 "%s", left,
                        left == 1 ? " more is not shown.\n" : " more are not shown.\n");
    }
}
