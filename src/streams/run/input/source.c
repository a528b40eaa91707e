#define _GNU_SOURCE
#include "run/input/source.h"

#include <stddef.h>
#include <string.h>

#include "cli/nearest.h"
#include "base/memory.h"
#include "base/redact.h"
#include "base/text.h"
#include "connectors/debezium/debezium.h"
#include "connectors/dgraph/dgraph.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "bytes/input.h"

/* The kinds of sources. A new connector is its folder and its row here. */
static const struct iso_decoder_class *const kinds[] = {&iso_record_decoder, &iso_debezium_decoder,
                                                        &iso_dgraph_decoder, &iso_ticdc_decoder,
                                                        &iso_yugabyte_decoder};
enum { KINDS = sizeof kinds / sizeof *kinds };

enum { SCHEMA_MAX_BYTES = 1 << 20 };

struct source {
    char *copy;  /* of the argument, cut into the rest */
    char *shown; /* the argument without secrets, for messages */
    char *kind, *topic, *format, *registry, *login, *schema, *value, *tables, *key, *marker,
        *groups, *reported, *lossy, *zone, *xa, *collation, *cells, *compression, *delimiter,
        *quote, *null;
    enum iso_row_identity identity;
    bool framed, ranges;
    struct iso_text schema_text;
};

static void release_source(struct source *source)
{
    ISO_FREE_ALL(source->copy, source->shown);
}

/* Every option of a source: its name, what its value may be, and where that goes. */
static const struct source_option {
    const char *name, *value;
    size_t text; /* the place of a char *; 0: it has another form, see parse_option */
} source_options[] = {
#define TEXT(member) offsetof(struct source, member)
    {"format", "NAME", TEXT(format)},
    {"framed", "true|false", 0},
    {"registry", "URL", TEXT(registry)},
    {"login", "FILE", TEXT(login)},
    {"schema", "FILE", TEXT(schema)},
    {"value", "COLUMN", TEXT(value)},
    {"cells", "true|A;B", TEXT(cells)},
    {"ranges", "true|false", 0},
    {"identity", "full|default", 0},
    {"tables", "A;B", TEXT(tables)},
    {"key", "A;B", TEXT(key)},
    {"marker", "COLUMN", TEXT(marker)},
    {"reported", "yes|no", TEXT(reported)},
    {"lossy", "yes|no", TEXT(lossy)},
    {"xa", "yes|no", TEXT(xa)},
    {"collation", "ci|binary|C", TEXT(collation)},
    {"compression", "NAME", TEXT(compression)},
    {"zone", "same (of ticdc)", TEXT(zone)},
    {"groups", "N (of dgraph)", TEXT(groups)},
    {"delimiter", "TEXT (of csv, as quote and null)", TEXT(delimiter)},
    {"quote", "TEXT", TEXT(quote)},
    {"null", "TEXT", TEXT(null)},
#undef TEXT
};
enum { SOURCE_OPTIONS = sizeof source_options / sizeof *source_options };

/* Where an option's text goes; NULL: it is none of those that are texts. */
static char **place_of_option(struct source *source, const char *name)
{
    for (size_t i = 0; i < SOURCE_OPTIONS; i++)
        if (source_options[i].text && !strcmp(source_options[i].name, name))
            return (char **)((char *)source + source_options[i].text);
    return NULL;
}

static bool is_identity(const char *value, enum iso_row_identity *identity)
{
    if (strcmp(value, "full") && strcmp(value, "default"))
        return false;
    *identity = !strcmp(value, "full") ? ISO_IDENTITY_FULL : ISO_IDENTITY_DEFAULT;
    return true;
}

static enum iso_status unknown_option(const struct source *source, const char *option,
                                      struct iso_error *error)
{
    const char *names[SOURCE_OPTIONS];
    struct iso_text all = {0};
    for (size_t i = 0; i < SOURCE_OPTIONS; i++) {
        names[i] = source_options[i].name;
        iso_text_format(&all, "%s%s=%s", i ? ", " : "", names[i], source_options[i].value);
    }
    const char *nearest = cli_nearest(option, names, SOURCE_OPTIONS);
    if (nearest)
        iso_error_set(error, ISO_BAD_INPUT, "--source %s: no such option: %s; did you mean %s=?",
                      source->shown, option, nearest);
    else
        iso_error_set(error, ISO_BAD_INPUT, "--source %s: no such option: %s; expected %.*s",
                      source->shown, option, (int)all.used, all.bytes);
    iso_text_release(&all);
    return ISO_BAD_INPUT;
}

static enum iso_status parse_option(struct source *source, char *option, struct iso_error *error)
{
    char *value = strchr(option, '=');
    if (!value)
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: option \"%s\" lacks its value",
                             source->shown, option);
    *value++ = 0;
    char **into = place_of_option(source, option);
    if (into && *into)
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: %s= is given twice", source->shown,
                             option);
    bool *flag = !strcmp(option, "framed")   ? &source->framed
                 : !strcmp(option, "ranges") ? &source->ranges
                                             : NULL;
    if (into) {
        *into = value;
    } else if (flag) {
        *flag = !strcmp(value, "true");
        if (!*flag && strcmp(value, "false"))
            return iso_error_set(error, ISO_BAD_INPUT, "--source %s: %s=%s, expected true or false",
                                 source->shown, option, value);
    } else if (!strcmp(option, "identity")) {
        if (!is_identity(value, &source->identity))
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "--source %s: identity=%s, expected full or default",
                                 source->shown, value);
    } else {
        return unknown_option(source, option, error);
    }
    return ISO_OK;
}

/* An option of change streams that is yes or no; NULL: not given. `why`: what it has to do with
 * them. */
static enum iso_status check_choice(const struct source *source, const char *name,
                                    const char *value, const char *why, struct iso_error *error)
{
    if (!value || error->status != ISO_OK)
        return error->status;
    if (strcmp(value, "yes") && strcmp(value, "no"))
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: %s=%s, expected yes or no",
                             source->shown, name, value);
    if (!iso_join_knows(source->kind))
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: %s= belongs to a change stream%s",
                             source->shown, name, why);
    return ISO_OK;
}

/* Columns as values of their own. */
static enum iso_status check_cells(const struct source *source, struct iso_error *error)
{
    const char *cells = source->cells;
    if (!cells || error->status != ISO_OK)
        return error->status;
    if (!strcmp(source->kind, "dgraph"))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: cells= belongs to rows; Dgraph's predicates are values of their own already",
            source->shown);
    if (!iso_join_knows(source->kind))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: cells= belongs to a change stream; clients record cells as "
            "{\"t\":\"r\",\"row\":KEY,\"cells\":{\"COLUMN\":VALUE}}",
            source->shown);
    if (!*cells || !strcmp(cells, "false"))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--source %s: cells=%s, expected true, or columns as A;B",
                             source->shown, cells);
    if (source->value)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: cells= and value= exclude one another: a row's value is all of its columns, "
            "or one",
            source->shown);
    return ISO_OK;
}

/* All topics of a connector that has one for each table. */
static enum iso_status check_prefix(const struct source *source, struct iso_error *error)
{
    if (error->status != ISO_OK || !strchr(source->topic, '*'))
        return error->status;
    bool is_prefix = iso_topic_is_prefix(source->topic) && !strchr(source->topic, '*')[1];
    if (!is_prefix || (strcmp(source->kind, "debezium") && strcmp(source->kind, "yugabyte")))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: expected a topic, or of debezium and yugabyte PREFIX.*: all topics whose names "
            "begin with the connector's topic.prefix",
            source->shown);
    if (source->tables)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: tables= belongs to one topic; with PREFIX.* the topics' names say which "
            "tables they carry",
            source->shown);
    return ISO_OK;
}

static bool is_word(const char *value, const char *word)
{
    return value && !strcmp(value, word);
}

static bool is_yes(const char *value)
{
    return value && !strcmp(value, "yes");
}

static enum iso_status parse_source(struct source *source, const char *text,
                                    struct iso_error *error)
{
    source->copy = iso_copy_text(text, strlen(text));
    source->shown = iso_redacted(text);
    char *rest = source->copy;
    source->kind = strsep(&rest, ":");
    source->topic = rest ? strsep(&rest, ",") : NULL;
    if (!source->topic || !*source->topic)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--source %s: expected KIND:TOPIC[,option=value...]", source->shown);
    for (char *option = strsep(&rest, ","); option && error->status == ISO_OK;
         option = strsep(&rest, ","))
        parse_option(source, option, error);
    source->framed |= source->registry != NULL;
    if (error->status == ISO_OK && source->login && !source->registry)
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: login= belongs to registry=URL",
                             source->shown);
    if (error->status == ISO_OK && source->groups &&
        (strcmp(source->kind, "dgraph") || !*source->groups ||
         strspn(source->groups, "0123456789") != strlen(source->groups)))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: groups=%s, expected the number of groups of a dgraph source",
            source->shown, source->groups);
    if (error->status == ISO_OK && source->key && strcmp(source->kind, "ticdc"))
        iso_error_set(error, ISO_BAD_INPUT,
                      "--source %s: key= belongs to ticdc; other sources say what their keys are",
                      source->shown);
    if (error->status == ISO_OK && source->marker && !iso_join_knows(source->kind))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: marker= belongs to a change stream; here it is the record's tid",
            source->shown);
    if (error->status == ISO_OK && source->ranges && strcmp(source->kind, "history"))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: ranges= belongs to history: it is about row sets that clients record",
            source->shown);
    if (error->status == ISO_OK && source->zone &&
        (strcmp(source->kind, "ticdc") || strcmp(source->zone, "same")))
        iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: zone=%s, expected same, of a ticdc source: the changefeed's time zone is that of the "
            "clients' sessions",
            source->shown, source->zone);
    check_prefix(source, error);
    check_choice(source, "reported", source->reported, "; here clients are who reports", error);
    check_choice(source, "lossy", source->lossy, "", error);
    check_choice(source, "xa", source->xa, "", error);
    check_cells(source, error);
    if (error->status == ISO_OK && source->collation &&
        ((!is_word(source->collation, "ci") && !is_word(source->collation, "binary") &&
          !is_word(source->collation, "C")) ||
         !iso_join_knows(source->kind)))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--source %s: collation=%s, expected ci, binary or C, of a change stream",
            source->shown, source->collation);
    return error->status;
}

static enum iso_status read_schema(struct source *source, struct iso_error *error)
{
    struct iso_input *input;
    size_t length;
    if (iso_input_open(&input, source->schema, error) != ISO_OK)
        return error->status;
    char *room = iso_text_reserve(&source->schema_text, SCHEMA_MAX_BYTES);
    if (iso_input_read(input, room, SCHEMA_MAX_BYTES - 1, &length, error) == ISO_OK) {
        room[length] = 0;
        source->schema_text.used = length;
    }
    iso_input_free(input);
    return error->status;
}

static const struct iso_schema_provider *
open_registry(struct run_sources *sources, const struct source *source, struct iso_error *error)
{
    if (!source->registry)
        return NULL;
    struct iso_registry *registry = iso_registry_new(source->registry, source->login, error);
    if (!registry)
        return NULL;
    sources->registries = iso_reallocate(sources->registries, (sources->registry_count + 1) *
                                                                  sizeof *sources->registries);
    sources->registries[sources->registry_count++] = registry;
    return iso_registry_provider(registry);
}

const struct iso_decoder_class *run_source_class(const char *kind)
{
    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i]->kind, kind))
            return kinds[i];
    return NULL;
}

static enum iso_status unknown_kind(const struct source *source, struct iso_error *error)
{
    const char *names[KINDS];
    struct iso_text all = {0};
    for (size_t i = 0; i < KINDS; i++) {
        names[i] = kinds[i]->kind;
        iso_text_format(&all, "%s%s", i + 1 == KINDS ? " and " : i ? ", " : "", names[i]);
    }
    const char *nearest = cli_nearest(source->kind, names, KINDS);
    iso_error_set(error, ISO_BAD_INPUT, "--source %s:%s: expected a kind among %.*s%s%s%s",
                  source->kind, source->topic, (int)all.used, all.bytes,
                  nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    iso_text_release(&all);
    return ISO_BAD_INPUT;
}

static enum iso_status add_source(struct run_sources *sources, struct iso_pipeline *pipeline,
                                  struct source *source, struct iso_error *error)
{
    const struct iso_decoder_class *class = run_source_class(source->kind);
    if (!class)
        return unknown_kind(source, error);
    if (source->schema && read_schema(source, error) != ISO_OK)
        return error->status;
    struct iso_decoder_options options = {
        .format = source->format,
        .registry = open_registry(sources, source, error),
        .schema = source->schema ? source->schema_text.bytes : NULL,
        .framed = source->framed,
        .ranges = source->ranges,
        .value = source->value,
        .cells = source->cells,
        .identity = source->identity,
        .tables = source->tables,
        .key = source->key,
        .unreported = source->reported && !strcmp(source->reported, "no"),
        .one_zone = source->zone != NULL,
        .caseless = is_word(source->collation, "ci"),
        .marker = source->marker,
        .compression = source->compression,
        .delimiter = source->delimiter,
        .quote = source->quote,
        .null = source->null,
    };
    struct iso_decoder *decoder = error->status == ISO_OK ? class->create(&options, error) : NULL;
    if (!decoder)
        return error->status;
    bool whole_rows = iso_join_knows(class->kind) && !source->value && !source->cells;
    iso_pipeline_route(pipeline, source->topic, decoder, whole_rows);
    iso_pipeline_route_traits(
        pipeline, &(struct iso_route_traits){
                      .lossy = is_yes(source->lossy),
                      .caseless = options.caseless,
                      .collation = is_word(source->collation, "C")        ? ISO_COLLATION_C
                                   : is_word(source->collation, "binary") ? ISO_COLLATION_BINARY
                                                                          : ISO_COLLATION_UNKNOWN,
                      .unreported = options.unreported});
    bool is_prefix = iso_topic_is_prefix(source->topic);
    char ***names = is_prefix ? &sources->prefixes : &sources->topics;
    uint32_t *count = is_prefix ? &sources->prefix_count : &sources->topic_count;
    *names = iso_reallocate(*names, (*count + 1) * sizeof **names);
    (*names)[(*count)++] = iso_copy_text(source->topic, strlen(source->topic) - is_prefix);
    return ISO_OK;
}

/* Debezium's and YugabyteDB's topics begin with their connector's prefix; what shares it is one
 * feed. Other kinds have one feed a cluster. */
static bool is_one_feed(const struct source *one, const struct source *other)
{
    size_t length = strcspn(one->topic, ".");
    bool prefixed = !strcmp(one->kind, "debezium") || !strcmp(one->kind, "yugabyte");
    return !strcmp(one->kind, other->kind) &&
           (!prefixed ||
            (length == strcspn(other->topic, ".") && !strncmp(one->topic, other->topic, length)));
}

/* Where one source says markers stand; what is weaker holds for all. */
static void note_markers(struct run_source_survey *survey, const struct source *source)
{
    if (!source->marker)
        return;
    bool rows = strchr(source->marker, '.') || !strcmp(source->kind, "dgraph");
    if (!rows || survey->markers == ISO_JOIN_NO_MARKERS)
        survey->markers = rows ? ISO_JOIN_MARKER_ROWS : ISO_JOIN_MARKER_COLUMN;
}

/* The topic in KIND:TOPIC[,OPTION=VALUE...]. */
static const char *topic_of(const char *text, size_t *length)
{
    const char *colon = strchr(text, ':');
    *length = colon ? strcspn(colon + 1, ",") : 0;
    return colon ? colon + 1 : text;
}

static bool is_read(const struct cli_texts *texts, uint32_t count, const char *topic, size_t length,
                    bool prefixes)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t other_length;
        const char *other = topic_of(texts->items[i], &other_length);
        if (length && other_length == length && !memcmp(other, topic, length))
            return true;
        bool is_prefix = other_length > 2 && !memcmp(other + other_length - 2, ".*", 2);
        if (prefixes && is_prefix && length >= other_length &&
            !memcmp(other, topic, other_length - 1))
            return true;
    }
    return false;
}

bool run_source_reads(const struct cli_texts *texts, uint32_t count, const char *topic,
                      size_t length)
{
    return is_read(texts, count, topic, length, true);
}

enum iso_status run_source_survey(const struct cli_texts *texts, struct run_source_survey *survey,
                                  struct iso_error *error)
{
    struct source first = {0};
    *survey = (struct run_source_survey){0};
    for (uint32_t i = 0; i < texts->count && error->status == ISO_OK; i++) {
        struct source source = {0};
        const struct iso_decoder_class *class = NULL;
        size_t length;
        const char *topic = topic_of(texts->items[i], &length);
        if (is_read(texts, i, topic, length, false)) {
            iso_error_set(error, ISO_BAD_INPUT,
                          "--source %s: an earlier --source reads this topic already",
                          texts->items[i]);
            break;
        }
        if (parse_source(&source, texts->items[i], error) == ISO_OK)
            class = run_source_class(source.kind);
        if (class)
            note_markers(survey, &source);
        survey->xa |= is_yes(source.xa);
        survey->ranges |= source.ranges;
        survey->one_group |= source.groups && !strcmp(source.groups, "1");
        if (class && !iso_join_knows(class->kind)) {
            survey->history_topics = true;
        } else if (class && !first.copy) {
            survey->changes = class->kind;
            first = source;
            continue;
        } else if (class && !is_one_feed(&first, &source)) {
            iso_error_set(error, ISO_BAD_INPUT,
                          "--source %s: another database than %s:%s; a run checks one",
                          source.shown, first.kind, first.topic);
        }
        release_source(&source);
    }
    release_source(&first);
    if (error->status == ISO_OK && survey->ranges && survey->changes)
        iso_error_set(
            error, ISO_BAD_INPUT,
            "--source: ranges=true is for clients without a change stream; beside one expected row sets with "
            "\"table\", and cells=true on its source");
    return error->status;
}

enum iso_wall run_source_wall(const struct cli_texts *texts)
{
    struct run_source_survey survey;
    struct iso_error error = {.status = ISO_OK};
    if (run_source_survey(texts, &survey, &error) != ISO_OK)
        return ISO_WALL_UNKNOWN;
    return iso_wall_of_source(survey.changes ? survey.changes : "history");
}

enum iso_status run_sources_add(struct run_sources *sources, struct iso_pipeline *pipeline,
                                const char *text, struct iso_error *error)
{
    struct source source = {0};
    if (parse_source(&source, text, error) == ISO_OK)
        add_source(sources, pipeline, &source, error);
    iso_text_release(&source.schema_text);
    release_source(&source);
    return error->status;
}

bool run_sources_read(const struct run_sources *sources, const char *topic)
{
    for (uint32_t i = 0; i < sources->topic_count; i++)
        if (!strcmp(sources->topics[i], topic))
            return true;
    for (uint32_t i = 0; i < sources->prefix_count; i++)
        if (!strncmp(sources->prefixes[i], topic, strlen(sources->prefixes[i])))
            return true;
    return false;
}

void run_sources_release(struct run_sources *sources)
{
    for (uint32_t i = 0; i < sources->prefix_count; i++)
        iso_free(sources->prefixes[i]);
    iso_free(sources->prefixes);
    for (uint32_t i = 0; i < sources->registry_count; i++)
        iso_registry_free(sources->registries[i]);
    for (uint32_t i = 0; i < sources->topic_count; i++)
        iso_free(sources->topics[i]);
    ISO_FREE_ALL(sources->registries, sources->topics);
    *sources = (struct run_sources){0};
}
