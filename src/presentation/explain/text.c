#include "explain/text.h"

#include <inttypes.h>
#include <string.h>

static const char *const marks[] = {[ISO_MARK_NONE] = "",
                                    [ISO_MARK_EXPECTED] = "  <- expected",
                                    [ISO_MARK_ACTUAL] = "  <- found",
                                    [ISO_MARK_READ] = "",
                                    [ISO_MARK_MORE] = ""};

uint64_t iso_explain_unlisted(const struct iso_claims *claims)
{
    return claims->has_counts && claims->found > claims->count ? claims->found - claims->count : 0;
}

static uint64_t listed_doubtful(const struct iso_claims *claims)
{
    uint64_t doubtful = 0;
    for (uint32_t i = 0; i < claims->count; i++)
        doubtful += claims->list[i].doubt != NULL;
    return doubtful;
}

void iso_explain_headline(const struct iso_claims *claims, struct iso_text *text)
{
    uint64_t doubtful = claims->has_counts ? claims->doubtful : listed_doubtful(claims);
    uint64_t found = claims->count + iso_explain_unlisted(claims) - doubtful;
    iso_text_put(text, claims->outcome[0] ? claims->outcome
                       : found            ? "violated"
                       : doubtful         ? "undecided"
                                          : "no violation");
    if (claims->level[0])
        iso_text_format(text, " at %s", claims->level);
    iso_text_format(text, ": %" PRIu64 "%s", found, found == 1 ? " violation" : " violations");
    if (doubtful)
        iso_text_format(text, ", besides %" PRIu64 " doubtful", doubtful);
    if (claims->retracted)
        iso_text_format(text, ", besides %" PRIu64 " retracted", claims->retracted);
}

static size_t widest(const struct iso_argument *argument)
{
    size_t width = 0;
    for (uint32_t i = 0; i < argument->row_count; i++) {
        size_t length = strlen(iso_argument_text(argument, argument->rows[i].when_text));
        width = length > width && !argument->rows[i].only_drawn ? length : width;
    }
    return width;
}

static void put_rows(struct iso_output *output, const struct iso_argument *argument)
{
    int width = (int)widest(argument);
    if (!argument->row_count)
        return;
    iso_output_text(output, "    ");
    iso_output_text(output, iso_argument_text(argument, argument->line_title));
    iso_output_text(output, ":\n");
    for (uint32_t i = 0; i < argument->row_count; i++) {
        const struct iso_argument_row *row = &argument->rows[i];
        if (row->only_drawn)
            continue;
        iso_output_text(output, "      ");
        for (int pad = width - (int)strlen(iso_argument_text(argument, row->when_text)); pad > 0;
             pad--)
            iso_output_char(output, ' ');
        iso_output_text(output, iso_argument_text(argument, row->when_text));
        iso_output_text(output, row->mark == ISO_MARK_MORE ? "  : " : "  | ");
        iso_output_text(output, iso_argument_text(argument, row->what_text));
        iso_output_text(output, marks[row->mark]);
        iso_output_char(output, '\n');
    }
}

static void put_parties(struct iso_output *output, const struct iso_argument *argument)
{
    struct iso_text text = {0};
    iso_output_text(output, argument->party_count ? "    Let:\n" : "");
    for (uint32_t i = 0; i < argument->party_count; i++) {
        text.used = 0;
        iso_argument_put_party(argument, i, &text);
        iso_output_format(output, "      T%" PRIu32 " = ", i + 1);
        iso_output_bytes(output, text.bytes, text.used);
        iso_output_char(output, '\n');
    }
    iso_text_release(&text);
}

static void put_argument(struct iso_output *output, const struct iso_argument *argument,
                         uint32_t number)
{
    char id[ISO_WRONG_ID];
    const struct iso_claim *claim = argument->claim;
    iso_wrong_id(claim->wrong, id);
    iso_output_format(output, "\n%" PRIu32 ". %s: ", number, id);
    iso_output_text(output, iso_argument_text(argument, argument->title));
    iso_output_text(output, claim->is_tentative ? " (tentative)\n" : "\n");
    put_parties(output, argument);
    iso_output_text(output, "    Then:\n");
    for (uint32_t i = 0; i < argument->step_count; i++) {
        iso_output_text(output, "      - ");
        iso_output_text(output, iso_argument_text(argument, argument->steps[i]));
        iso_output_char(output, '\n');
    }
    put_rows(output, argument);
    iso_output_text(output, "    For an application: ");
    iso_output_text(output, claim->wrong->meaning);
    iso_output_char(output, '\n');
}

void iso_explain_text(struct iso_output *output, const struct iso_facts *facts, enum iso_wall wall)
{
    const struct iso_claims *claims = facts->claims;
    uint64_t unlisted = iso_explain_unlisted(claims);
    struct iso_text headline = {0};
    iso_explain_headline(claims, &headline);
    iso_output_bytes(output, headline.bytes, headline.used);
    iso_output_char(output, '\n');
    iso_text_release(&headline);
    for (uint32_t i = 0; i < claims->count; i++) {
        struct iso_argument argument;
        iso_argument_init(&argument, facts, &claims->list[i], wall);
        put_argument(output, &argument, i + 1);
        iso_argument_release(&argument);
    }
    if (unlisted)
        iso_output_format(
            output, "\n%" PRIu64 " more %s in the verdict's list (--max-violations N, 0 for all)\n",
            unlisted, unlisted == 1 ? "violation is not" : "violations are not");
}
