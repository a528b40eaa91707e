#include "doctor/changefeed.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "doctor/doctor_private.h"

enum { NAME = 64, VALUE = 200, OPTIONS = 128, TOPIC = 128 };

/* Options in the order of the text; what comes later counts, and a URI's more than a
 * configuration's. */
struct changefeed {
    struct option {
        char name[NAME], value[VALUE];
        bool of_uri;
    } options[OPTIONS];
    unsigned count;
    char scheme[NAME], topic[TOPIC];
};

static bool is(const char *one, const char *other)
{
    return !strcasecmp(one, other);
}

/* ---- reading ---- */

/* A piece of the text without blanks and quotes around it. */
static void take(char *into, size_t size, const char *from, size_t length)
{
    while (length && strchr(" \t\r'\"", from[0])) {
        from++;
        length--;
    }
    while (length && strchr(" \t\r'\",", from[length - 1]))
        length--;
    length = length < size ? length : size - 1;
    memcpy(into, from, length);
    into[length] = 0;
}

static void add(struct changefeed *feed, const char *name, size_t name_length, const char *value,
                size_t length, bool of_uri)
{
    if (feed->count == OPTIONS)
        return;
    struct option *option = &feed->options[feed->count++];
    take(option->name, sizeof option->name, name, name_length);
    take(option->value, sizeof option->value, value, length);
    option->of_uri = of_uri;
}

/* "kafka://HOST:PORT/TOPIC?a=b&c=d", up to a quote or the line's end; returns how long it is. */
static size_t take_uri(struct changefeed *feed, const char *text)
{
    size_t length = strcspn(text, "\"' \t\r\n"), path = strcspn(text, "?#\"' \t\r\n");
    const char *colon = strstr(text, "://"), *slash = colon ? strchr(colon + 3, '/') : NULL;
    if (colon)
        take(feed->scheme, sizeof feed->scheme, text, (size_t)(colon - text));
    if (slash && slash < text + path)
        take(feed->topic, sizeof feed->topic, slash + 1, (size_t)(text + path - slash - 1));
    for (const char *at = text + path; at < text + length;) {
        at++;
        size_t pair = strcspn(at, "&#\"' \t\r\n"), name = strcspn(at, "=&#");
        if (name < pair)
            add(feed, at, name, at + name + 1, pair - name - 1, true);
        at += pair;
    }
    return length;
}

static void take_line(struct changefeed *feed, const char *line, size_t length)
{
    char copy[4096];
    take(copy, sizeof copy, line, length);
    char *uri = strstr(copy, "://"), *equals = strchr(copy, '=');
    if (!copy[0] || copy[0] == '#' || copy[0] == '[')
        return;
    if (uri &&
        (!equals || equals > uri || is(copy, "sink-uri") || !strncasecmp(copy, "sink-uri", 8))) {
        while (uri > copy && ((uri[-1] | 0x20) >= 'a' && (uri[-1] | 0x20) <= 'z'
                                  ? true
                                  : uri[-1] >= '0' && uri[-1] <= '9'))
            uri--;
        take_uri(feed, uri);
        return;
    }
    if (!equals)
        return;
    const char *value = equals + 1 + strspn(equals + 1, " \t"), *comment = strchr(value, '#');
    if (*value == '\'' || *value == '"')
        comment = NULL;
    add(feed, copy, (size_t)(equals - copy), value,
        comment ? (size_t)(comment - value) : strlen(value), false);
}

static void read_text(struct changefeed *feed, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        take_line(feed, text, length);
        text += length + (text[length] != 0);
    }
}

static const char *value_of(const struct changefeed *feed, const char *name)
{
    const char *found = NULL;
    bool of_uri = false;
    for (unsigned i = 0; i < feed->count; i++)
        if (is(feed->options[i].name, name) && (!of_uri || feed->options[i].of_uri)) {
            found = feed->options[i].value;
            of_uri = feed->options[i].of_uri;
        }
    return found;
}

/* ---- rules ---- */

/* An option that loses something: where it has this value, or, with `unless`, where it has not. */
static const struct rule {
    const char *protocols; /* "canal-json|avro"; NULL: of all */
    const char *option, *value;
    bool unless;
    enum iso_doctor_weight weight;
    const char *costs, *mend;
} rules[] = {
    {"canal-json", "enable-tidb-extension", "true", true, ISO_DOCTOR_WRONG,
     "Messages have no commit timestamps and no watermarks: no row can be placed.",
     "enable-tidb-extension=true"},
    {"debezium", "enable-tidb-extension", "true", true, ISO_DOCTOR_WRONG,
     "There are no watermarks: nothing becomes final.", "enable-tidb-extension=true"},
    {"avro", "enable-tidb-extension", "true", true, ISO_DOCTOR_WRONG,
     "Messages have no commit timestamps: no row can be placed.", "enable-tidb-extension=true"},
    {"avro", "avro-include-before-value", "true", true, ISO_DOCTOR_WRONG,
     "A delete has no commit timestamp and is refused; rows before are not compared, and a row that moved to another key "
     "leaves no trace.",
     "avro-include-before-value=true (new architecture), or another protocol"},
    {"avro", "avro-enable-watermark", "true", true, ISO_DOCTOR_WRONG,
     "There are no watermarks: nothing becomes final.",
     "another protocol: canal-json, simple, open-protocol"},
    {"avro", "avro-decimal-handling-mode", "double", false, ISO_DOCTOR_WEAK,
     "Decimals are rounded.", "avro-decimal-handling-mode=string"},
    {"simple", "simple-include-start-ts", "true", true, ISO_DOCTOR_NOTE,
     "Rows do not say when their transaction began: unknown outcomes are resolved by what was written.",
     "simple-include-start-ts=true (v8.5.8)"},
    {"debezium", "debezium-include-start-ts", "true", true, ISO_DOCTOR_NOTE,
     "Rows do not say when their transaction began: unknown outcomes are resolved by what was written.",
     "debezium-include-start-ts=true (v8.5.8)"},
    {"debezium", "debezium-disable-schema", "true", false, ISO_DOCTOR_WEAK,
     "Nothing says which columns may be null, or what they hold, but a CREATE TABLE in the stream: other values are "
     "lossy and not judged.",
     "debezium-disable-schema=false"},
    {"debezium", "output-old-value", "false", false, ISO_DOCTOR_WEAK,
     "Rows before are not sent, and not compared; deletes cannot be read.",
     "output-old-value = true"},
    {"open-protocol", "output-old-value", "false", false, ISO_DOCTOR_WEAK,
     "Rows before are not sent, and not compared.", "output-old-value = true"},
    {"open-protocol", "only-output-updated-columns", "true", false, ISO_DOCTOR_WRONG,
     "In the new architecture rows before have wrong values with it.",
     "only-output-updated-columns=false"},
    {"csv", "include-commit-ts", "true", true, ISO_DOCTOR_WRONG,
     "Rows have no commit timestamps and cannot be placed.", "include-commit-ts = true"},
    {"csv", "output-old-value", "true", true, ISO_DOCTOR_WEAK,
     "Rows before are not sent, and not compared.", "output-old-value = true"},
    {"csv", "output-handle-key", "true", false, ISO_DOCTOR_WRONG,
     "Lines with the handle beside the columns are refused.", "output-handle-key = false"},
    {"csv", "binary-encoding-method", "hex", false, ISO_DOCTOR_WEAK,
     "Nothing in a file says that bytes are hexadecimal: they are not judged.",
     "binary-encoding-method = 'base64'"},
    {NULL, "delete-only-output-handle-key-columns", "true", false, ISO_DOCTOR_NOTE,
     "Deletes do not have the row before: it is not compared.",
     "delete-only-output-handle-key-columns=false"},
    {NULL, "large-message-handle-option", "handle-key-only", false, ISO_DOCTOR_WEAK,
     "Values of large rows are not sent, and not judged.",
     "large-message-handle-option=none, and a larger max-message-bytes"},
    {NULL, "large-message-handle-option", "claim-check", false, ISO_DOCTOR_WEAK,
     "Values of large rows lie elsewhere, and are not judged.",
     "large-message-handle-option=none, and a larger max-message-bytes"},
    {NULL, "force-replicate", "true", false, ISO_DOCTOR_WEAK,
     "Tables without a key are sent, too: their rows cannot be told apart and are passed over.",
     NULL},
};

static bool is_of(const char *protocols, const char *protocol)
{
    size_t length = strlen(protocol);
    for (const char *at = protocols; at && (at = strstr(at, protocol)); at += length)
        if ((at == protocols || at[-1] == '|') && (!at[length] || at[length] == '|'))
            return true;
    return !protocols;
}

static void check(struct doctor *doctor, const struct changefeed *feed, const char *protocol)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *rule = &rules[i];
        const char *value = value_of(feed, rule->option);
        bool has = value && is(value, rule->value);
        if (!is_of(rule->protocols, protocol) || has == rule->unless)
            continue;
        doctor_add(doctor, rule->weight, rule->costs, rule->mend, "%s: %s %s%s", protocol,
                   rule->option, rule->unless ? "is not " : "is ", rule->value);
    }
}

/* The protocol as a source's format= calls it; NULL: none that is read. */
static const char *format_of(const struct changefeed *feed, const char *protocol)
{
    const char *encoding = value_of(feed, "encoding-format");
    if (is(protocol, "simple"))
        return encoding && is(encoding, "avro") ? "simple-avro" : "simple";
    if (is(protocol, "default") || is(protocol, "open-protocol"))
        return "open-protocol";
    if (is(protocol, "flat-avro"))
        return "avro";
    static const char *const formats[] = {"canal-json", "avro", "debezium", "csv"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (is(protocol, formats[i]))
            return formats[i];
    return NULL;
}

static void suggest(const struct changefeed *feed, const char *format, struct iso_text *watch)
{
    const char *compression = value_of(feed, "large-message-handle-compression");
    iso_text_format(watch, "isochron watch --source ticdc:%s,format=%s",
                    feed->topic[0] ? feed->topic : "TOPIC", format);
    if (compression && !is(compression, "none"))
        iso_text_format(watch, ",compression=%s", compression);
    if (is(format, "avro"))
        iso_text_put(watch, ",registry=URL");
    if (is(format, "csv"))
        iso_text_put(watch, ",schema=FILE");
    iso_text_put(watch, " --source history:CLIENTS");
}

bool iso_doctor_changefeed(const char *text, struct iso_doctor_report *report)
{
    struct changefeed *feed = iso_allocate_zeroed(1, sizeof *feed);
    struct doctor doctor = {.report = report};
    read_text(feed, text);
    const char *protocol = value_of(feed, "protocol"),
               *format = protocol ? format_of(feed, protocol) : NULL;
    bool said = protocol || feed->scheme[0];
    report->product = ISO_PRODUCT_TIDB;
    report->version = iso_copy_text("changefeed", strlen("changefeed"));
    if (!said) {
        iso_free(feed);
        return false;
    }
    if (!protocol)
        doctor_add(
            &doctor, ISO_DOCTOR_WRONG, "What its messages are is not known.",
            "protocol=canal-json&enable-tidb-extension=true in the sink's URI, or protocol=simple (v8.5.8)",
            "no protocol is set");
    else if (!format)
        doctor_add(
            &doctor, ISO_DOCTOR_WRONG, "No source reads it.",
            "protocol=canal-json&enable-tidb-extension=true, or simple, open-protocol, debezium",
            "protocol=%s", protocol);
    if (format) {
        check(&doctor, feed, is(format, "simple-avro") ? "simple" : format);
        suggest(feed, format, &report->watch);
    }
    iso_free(feed);
    return true;
}
