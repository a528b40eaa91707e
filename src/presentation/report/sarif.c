#include <inttypes.h>
#include <string.h>

#include "iso/version.h"
#include "report/tools.h"

static void put_string(struct iso_text *text, const char *string)
{
    iso_text_put_string(text, string, strlen(string));
}

/* ---- rules: the kinds that were found, in the order of the table ---- */

static bool is_found(const struct iso_claims *claims, const struct iso_wrong *wrong)
{
    return iso_claims_count_of(claims, wrong) > 0;
}

static uint64_t index_of(const struct iso_claims *claims, const struct iso_wrong *wrong)
{
    uint64_t index = 0;
    for (size_t row = 0; iso_wrong_row(row) != wrong; row++)
        index += is_found(claims, iso_wrong_row(row));
    return index;
}

static void put_rule(const struct iso_wrong *wrong, struct iso_text *text)
{
    char id[ISO_WRONG_ID];
    iso_wrong_id(wrong, id);
    iso_text_put(text, "{\"id\":");
    put_string(text, id);
    iso_text_put(text, ",\"shortDescription\":{\"text\":");
    put_string(text, wrong->name);
    iso_text_put(text, "},\"fullDescription\":{\"text\":");
    put_string(text, wrong->meaning);
    iso_text_put(text, "},\"help\":{\"text\":");
    put_string(text, wrong->meaning);
    iso_text_put(text, "},\"defaultConfiguration\":{\"level\":\"error\"}}");
}

static void put_rules(const struct iso_claims *claims, struct iso_text *text)
{
    bool first = true;
    for (size_t row = 0; iso_wrong_row(row); row++) {
        if (!is_found(claims, iso_wrong_row(row)))
            continue;
        iso_text_put(text, first ? "" : ",");
        put_rule(iso_wrong_row(row), text);
        first = false;
    }
}

/* ---- results ---- */

/* A path as a URI reference (RFC 3986), an absolute one as a URI (RFC 8089): what has a meaning
 * there, and what is not ASCII, percent-encoded. */
static void put_uri(struct iso_text *text, const char *path, size_t length)
{
    static const char digits[] = "0123456789ABCDEF", plain[] = "-._~/";
    iso_text_put(text, *path == '/' ? "\"file://" : "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)path[i];
        bool is_letter =
            (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
        if (is_letter || (byte && strchr(plain, byte))) {
            iso_text_put_bytes(text, &path[i], 1);
        } else {
            char escape[] = {'%', digits[byte >> 4], digits[byte & 15]};
            iso_text_put_bytes(text, escape, sizeof escape);
        }
    }
    iso_text_put(text, "\"");
}

static void put_location(const struct iso_argument *argument, uint32_t party, struct iso_text *text)
{
    struct iso_argument_origin origin = iso_argument_origin(argument, party);
    struct iso_text name = {0};
    iso_argument_put_origin(argument, party, &name);
    if (origin.is_partition) {
        iso_text_put(text, "{\"logicalLocations\":[{\"fullyQualifiedName\":");
        iso_text_put_string(text, name.bytes, name.used);
        iso_text_put(text, "}]");
    } else {
        iso_text_put(text, "{\"physicalLocation\":{\"artifactLocation\":{\"uri\":");
        put_uri(text, origin.name, strlen(origin.name));
        iso_text_format(text, "},\"region\":{\"startLine\":%" PRIu64 "}}",
                        origin.offset ? origin.offset : 1);
    }
    name.used = 0;
    iso_argument_put_party(argument, party, &name);
    iso_text_put(text, ",\"message\":{\"text\":");
    iso_text_put_string(text, name.bytes, name.used);
    iso_text_put(text, "}}");
    iso_text_release(&name);
}

static void put_locations(const struct iso_argument *argument, struct iso_text *text)
{
    const char *before = ",\"locations\":[";
    bool any = false;
    for (uint32_t i = 0; i < argument->party_count; i++) {
        if (argument->parties[i].transaction == ISO_NONE)
            continue;
        iso_text_put(text, before);
        put_location(argument, i, text);
        before = any ? "," : "],\"relatedLocations\":[";
        any = true;
    }
    iso_text_put(text, any ? "]" : "");
}

static void put_result(const struct iso_argument *argument, struct iso_text *text)
{
    const struct iso_claim *claim = argument->claim;
    struct iso_text lines = {0};
    char id[ISO_WRONG_ID];
    iso_wrong_id(claim->wrong, id);
    iso_text_format(&lines, "%s\n", iso_argument_text(argument, argument->title));
    report_put_lines(argument, &lines);
    iso_text_put(text, "{\"ruleId\":");
    put_string(text, id);
    iso_text_format(text, ",\"ruleIndex\":%" PRIu64 "%s",
                    index_of(argument->facts->claims, claim->wrong),
                    claim->is_tentative ? ",\"level\":\"warning\",\"message\":{\"text\":"
                                        : ",\"level\":\"error\",\"message\":{\"text\":");
    iso_text_put_string(text, lines.bytes, lines.used - 1);
    iso_text_put(text, "}");
    put_locations(argument, text);
    iso_text_put(text, "}");
    iso_text_release(&lines);
}

void iso_report_sarif(const struct iso_facts *facts, enum iso_wall wall, struct iso_text *text)
{
    const struct iso_claims *claims = facts->claims;
    iso_text_put(
        text,
        "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"tool\":{"
        "\"driver\":{\"name\":\"Isochron\",\"version\":\"" ISO_VERSION "\",\"rules\":[");
    put_rules(claims, text);
    iso_text_put(text,
                 "]}},\"invocations\":[{\"executionSuccessful\":true}],\"properties\":{\"level\":");
    put_string(text, claims->level);
    iso_text_put(text, ",\"verdict\":");
    put_string(text, claims->outcome[0] ? claims->outcome : claims->count ? "violated" : "holds");
    iso_text_put(text, "},\"results\":[");
    for (uint32_t i = 0; i < claims->count; i++) {
        struct iso_argument argument;
        iso_argument_init(&argument, facts, &claims->list[i], wall);
        iso_text_put(text, i ? ",\n" : "\n");
        put_result(&argument, text);
        iso_argument_release(&argument);
    }
    iso_text_put(text, "]}]}\n");
}
