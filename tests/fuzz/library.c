/* A set that is read and built in any way is judged at every level and as a stream, and each report
 * says what its JSON says, whatever stands in keys and values.
 *
 * The input is lines. One that begins with a brace is a transaction as JSON; of others the first
 * byte is a call, and what follows is its text, up to a tab, and behind the tab its value.
 *
 * As a libFuzzer target: clang -fsanitize=fuzzer,address,undefined. With -DISO_FUZZ_MAIN: runs over
 * files.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "iso/isochron.h"
#include "tests/fuzz/fuzz.h"

static void end(struct iso_transactions *set, char how)
{
    struct iso_error error = ISO_NO_ERROR;
    uint32_t before = iso_transactions_count(set);
    enum iso_status status = how == 'c'   ? iso_transactions_commit(set, &error)
                             : how == 'x' ? iso_transactions_abort(set, &error)
                                          : iso_transactions_unknown(set, &error);
    FUZZ_CHECK(iso_transactions_count(set) == before + (status == ISO_OK));
    FUZZ_CHECK((status == ISO_OK) == !error.text[0]);
}

static void call(struct iso_transactions *set, char name, const char *text, const char *value)
{
    switch (name) {
    case 'b':
        iso_transactions_begin(set, text, value ? value : text);
        break;
    case 's':
        iso_transactions_start_timestamp(set, strtoull(text, NULL, 10));
        break;
    case 't':
        iso_transactions_commit_timestamp(set, strtoull(text, NULL, 10));
        break;
    case 'r':
        iso_transactions_read(set, text, value);
        break;
    case 'w':
        iso_transactions_write(set, text, value);
        break;
    case 'd':
        iso_transactions_delete(set, text);
        break;
    case 'a':
        iso_transactions_append(set, text, value);
        break;
    case 'l':
        iso_transactions_read_list(set, text, &value, value ? 1 : 0);
        break;
    default:
        end(set, name);
    }
}

static struct iso_transactions *set_of(const char *text, size_t size)
{
    struct iso_transactions *set = iso_transactions_new();
    struct iso_error error = ISO_NO_ERROR;
    for (const char *end = text + size; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        char *line = malloc(length + 1);
        memcpy(line, text, length);
        line[length] = 0;
        char *tab = strchr(line, '\t');
        if (tab)
            *tab++ = 0;
        if (*line == '{')
            iso_transactions_add_json(set, text, length, &error);
        else if (length)
            call(set, *line, line + 1, tab);
        error.status = ISO_OK;
        free(line);
        text += length + (newline != NULL);
    }
    return set;
}

/* A text of the report is the JSON's up to its first NUL. */
static void is_text(const json_t *object, const char *member, const char *text)
{
    const char *said = json_string_value(json_object_get(object, member));
    FUZZ_CHECK(said && text ? !strcmp(said, text) : !said && !text);
}

static void look(void *context, const struct iso_report *report)
{
    json_t *object = json_loadb(report->json, report->json_length, JSON_ALLOW_NUL, NULL);
    (void)context;
    FUZZ_CHECK(object && report->axiom && report->level);
    is_text(object, "axiom", report->axiom);
    is_text(object, "kind", report->kind);
    is_text(object, "key", report->key);
    is_text(object, "writer_expected", report->writer_expected);
    is_text(object, "writer_actual", report->writer_actual);
    FUZZ_CHECK(json_array_size(json_object_get(object, "tids")) == report->tid_count);
    FUZZ_CHECK(json_array_size(json_object_get(object, "at")) == report->place_count);
    FUZZ_CHECK(json_array_size(json_object_get(object, "edges")) == report->edge_count);
    for (size_t i = 0; i < report->tid_count; i++)
        FUZZ_CHECK(!strcmp(json_string_value(json_array_get(json_object_get(object, "tids"), i)),
                           report->tids[i]));
    json_decref(object);
}

static void check(const char *text, size_t size, const char *level, const char *engine)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = set_of(text, size);
    struct iso_options *options = iso_options_new();
    iso_options_set_text(options, "level", level, &error);
    iso_options_set_text(options, "engine", engine, &error);
    iso_options_set_number(options, "timeout", 1000, &error);
    struct iso_check *said = iso_check_new(set, options, &error);
    FUZZ_CHECK(!said == (error.status != ISO_OK));
    for (size_t i = 0; said && i < iso_check_count(said); i++)
        look(NULL, iso_check_report(said, i));
    iso_check_free(said);
    iso_options_free(options);
    iso_transactions_free(set);
}

static void stream(const char *text, size_t size)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = set_of(text, size);
    struct iso_stream *stream = iso_stream_new(NULL, NULL, look, NULL, &error);
    uint32_t source = iso_stream_source(stream, "fuzz", 0);
    iso_stream_push(stream, source, set, 0, &error);
    iso_stream_end(stream, 0, &error);
    size_t length;
    const char *summary = iso_stream_json(stream, &length);
    json_t *object = json_loadb(summary, length, JSON_ALLOW_NUL, NULL);
    FUZZ_CHECK(object);
    json_decref(object);
    iso_stream_free(stream);
    iso_transactions_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    check(text, size, "si", "chronos");
    check(text, size, "ser", "aion");
    check(text, size, "si", "polygraph");
    stream(text, size);
    return 0;
}
