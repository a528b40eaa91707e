#define _GNU_SOURCE
#include "connectors/registry/registry.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number_map.h"
#include "base/redact.h"
#include "base/shared_library.h"
#include "base/text.h"

enum { CONNECT_MS = 3000, ANSWER_MS = 8000, TRIES = 3, RETRY_MS = 250, ANSWER_MAX_BYTES = 1 << 20 };
enum { CREDENTIALS_MOST = 1024, MESSAGE_MOST = 200 };

/* An id that the registry does not have is waited for, since its sender may have been quicker than
 * the registry; but not for each of many: after one that never came, the next ones are asked for
 * once. */
enum { REFUSED = 256, REFUSED_MS = 30000, HURRY_MS = 10000 };

/* An id that was lately asked for, of which no patience makes a schema. */
struct refusal {
    uint32_t id;
    int64_t until; /* milliseconds */
    char *reason;  /* NULL: none yet */
};

/* The functions of libcurl that are called. */
/* clang-format off */
#define FUNCTIONS(X) \
    X(easy_cleanup) X(easy_getinfo) X(easy_init) X(easy_perform) X(easy_setopt) X(easy_strerror) \
    X(slist_append) X(slist_free_all)
/* clang-format on */
#define MEMBER(name) __typeof__(curl_##name) *name;
#define NAME(name) {"curl_" #name, offsetof(struct curl, name)},
struct curl {
    FUNCTIONS(MEMBER)
};
static const struct iso_shared_function functions[] = {FUNCTIONS(NAME)};
static const struct iso_shared_library libcurl = {"libcurl.so.4", "libcurl4", "a schema registry",
                                                  functions, sizeof functions / sizeof *functions};

struct iso_registry {
    char *url; /* without a slash at its end */
    struct curl curl;
    CURL *connection;
    struct curl_slist *headers;
    struct iso_text answer; /* of the request at hand */
    char *text;             /* of the schema that was found last */
    uint32_t next_refused;
    struct refusal refused[REFUSED]; /* the latest */
    struct iso_number_map by_id;     /* places in it */
    int64_t refused_ms, hurry_until;
    struct iso_schema_provider provider;
};

static size_t on_answer(char *bytes, size_t size, size_t count, void *context)
{
    struct iso_text *answer = context;
    if (answer->used + size * count > ANSWER_MAX_BYTES)
        return 0;
    iso_text_put_bytes(answer, bytes, size * count);
    return size * count;
}

/* Whether it is worth asking again: the registry is in trouble, or may not have heard of the schema
 * yet. */
static bool may_mend(const struct iso_registry *registry, CURLcode result, long code)
{
    if (result != CURLE_OK)
        return result != CURLE_OPERATION_TIMEDOUT && result != CURLE_WRITE_ERROR;
    return code >= 500 || (code == 404 && iso_clock_ms() >= registry->hurry_until);
}

static enum iso_status request_schema(struct iso_registry *registry, uint32_t id, long *code,
                                      struct iso_error *error)
{
    char url[2048], reason[CURL_ERROR_SIZE] = "";
    CURLcode result = CURLE_OK;
    snprintf(url, sizeof url, "%s/schemas/ids/%u", registry->url, id);
    registry->curl.easy_setopt(registry->connection, CURLOPT_URL, url);
    registry->curl.easy_setopt(registry->connection, CURLOPT_ERRORBUFFER, reason);
    for (int i = 0; i < TRIES; i++) {
        struct timespec pause = {0, (long)i * RETRY_MS * 1000000};
        nanosleep(&pause, NULL);
        registry->answer.used = 0;
        result = registry->curl.easy_perform(registry->connection);
        registry->curl.easy_getinfo(registry->connection, CURLINFO_RESPONSE_CODE, code);
        if (!may_mend(registry, result, *code))
            break;
    }
    registry->curl.easy_setopt(registry->connection, CURLOPT_ERRORBUFFER, NULL);
    if (result == CURLE_WRITE_ERROR && *code == 200)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "schema registry %s: schema %u: too long, expected at most %d MiB",
                             registry->url, id, ANSWER_MAX_BYTES >> 20);
    if (result != CURLE_OK)
        return iso_error_set(error, ISO_FAILED, "schema registry %s: schema %u: %s", registry->url,
                             id, *reason ? reason : registry->curl.easy_strerror(result));
    memset(iso_text_reserve(&registry->answer, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    return ISO_OK;
}

struct answer {
    char *schema, *type, *message; /* own copies, NULL: not there */
    bool references;
};

static void keep_string(struct iso_json *json, char **into)
{
    struct iso_json_text text;
    if (iso_json_peek(json) != ISO_JSON_STRING) {
        iso_json_skip(json);
    } else if (iso_json_string(json, &text)) {
        iso_free(*into);
        *into = iso_copy_text(text.at, text.length);
    }
}

/* The answer's members; false if it is not such an object. */
static bool read_answer(struct iso_json *json, const struct iso_text *text, struct answer *answer)
{
    struct iso_json_text name;
    iso_json_start(json, text->bytes, text->used);
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        if (iso_json_is(&name, "schema"))
            keep_string(json, &answer->schema);
        else if (iso_json_is(&name, "schemaType"))
            keep_string(json, &answer->type);
        else if (iso_json_is(&name, "message"))
            keep_string(json, &answer->message);
        else if (iso_json_is(&name, "references") && iso_json_peek(json) == ISO_JSON_ARRAY &&
                 iso_json_enter_array(json))
            while (iso_json_element(json)) {
                answer->references = true;
                iso_json_skip(json);
            }
        else
            iso_json_skip(json);
    }
    return iso_json_finish(json);
}

/* The schema of an answer; its text is the registry's until the next. */
static enum iso_status take_schema(struct iso_registry *registry, uint32_t id,
                                   struct answer *answer, struct iso_schema *schema,
                                   struct iso_error *error)
{
    const char *type = answer->type ? answer->type : "AVRO";
    if (answer->references)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "schema registry %s: schema %u refers to other schemas, expected one without references",
            registry->url, id);
    registry->text = answer->schema;
    answer->schema = NULL;
    *schema = (struct iso_schema){.type = !strcmp(type, "AVRO")       ? ISO_SCHEMA_AVRO
                                          : !strcmp(type, "PROTOBUF") ? ISO_SCHEMA_PROTOBUF
                                                                      : ISO_SCHEMA_JSON,
                                  .text = registry->text,
                                  .length = strlen(registry->text)};
    return ISO_OK;
}

/* ---- ids that are refused ---- */

/* NULL: it is to be asked for. */
static const struct refusal *find_refusal(struct iso_registry *registry, uint32_t id)
{
    uint32_t place = iso_number_map_get(&registry->by_id, id);
    return place != ISO_NUMBER_NONE && iso_clock_ms() < registry->refused[place].until
               ? &registry->refused[place]
               : NULL;
}

static void note_refusal(struct iso_registry *registry, uint32_t id, const char *reason)
{
    uint32_t place = iso_number_map_get(&registry->by_id, id);
    if (place == ISO_NUMBER_NONE)
        place = registry->next_refused++ % REFUSED;
    struct refusal *refusal = &registry->refused[place];
    if (refusal->reason)
        iso_number_map_remove(&registry->by_id, refusal->id);
    iso_free(refusal->reason);
    *refusal = (struct refusal){id, iso_clock_ms() + registry->refused_ms,
                                iso_copy_text(reason, strlen(reason))};
    iso_number_map_put(&registry->by_id, id, place);
}

/* ---- finding ---- */

/* Reads the registry's answer about an id. */
static enum iso_status judge_answer(struct iso_registry *registry, uint32_t id, long code,
                                    struct iso_schema *schema, struct iso_error *error)
{
    struct answer answer = {0};
    struct iso_json json;
    iso_json_init(&json);
    bool readable = read_answer(&json, &registry->answer, &answer);
    const char *message = answer.message ? answer.message : "", *colon = *message ? ": " : "";
    if (code == 404) {
        registry->hurry_until = iso_clock_ms() + HURRY_MS;
        iso_error_set(error, ISO_BAD_INPUT, "schema registry %s: schema %u: HTTP 404%s%.*s",
                      registry->url, id, colon, MESSAGE_MOST, message);
    } else if (code != 200) {
        iso_error_set(error, ISO_FAILED, "schema registry %s: schema %u: HTTP %ld%s%s",
                      registry->url, id, code, colon, message);
    } else if (!readable || !answer.schema) {
        iso_error_set(error, ISO_FAILED,
                      "schema registry %s: schema %u: not an answer of a schema registry",
                      registry->url, id);
    } else {
        take_schema(registry, id, &answer, schema, error);
    }
    ISO_FREE_ALL(answer.schema, answer.type, answer.message);
    iso_json_release(&json);
    return error->status;
}

static void forget_text(struct iso_registry *registry)
{
    iso_free(registry->text);
    registry->text = NULL;
}

static enum iso_status find_schema(void *context, uint32_t id, struct iso_schema *schema,
                                   struct iso_error *error)
{
    struct iso_registry *registry = context;
    const struct refusal *refusal = find_refusal(registry, id);
    long code = 0;
    forget_text(registry);
    if (refusal)
        return iso_error_set(error, ISO_BAD_INPUT, "%s", refusal->reason);
    if (request_schema(registry, id, &code, error) == ISO_OK)
        judge_answer(registry, id, code, schema, error);
    iso_text_release(&registry->answer);
    if (error->status == ISO_BAD_INPUT)
        note_refusal(registry, id, error->text);
    return error->status;
}

/* USER:PASSWORD, the first line of a file. */
static enum iso_status read_credentials(struct iso_registry *registry, const char *path,
                                        struct iso_error *error)
{
    char line[CREDENTIALS_MOST + 2] = "";
    FILE *file = fopen(path, "re");
    if (!file)
        return iso_error_set(error, iso_error_of_open(errno), "%s: %s", path, strerror(errno));
    bool is_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    line[strcspn(line, "\r\n")] = 0;
    if (!is_read || !strchr(line, ':') || strlen(line) > CREDENTIALS_MOST)
        iso_error_set(error, ISO_BAD_INPUT, "%s: expected USER:PASSWORD on its first line", path);
    else
        registry->curl.easy_setopt(registry->connection, CURLOPT_USERPWD, line);
    explicit_bzero(line, sizeof line);
    return error->status;
}

static enum iso_status check_url(const char *url, struct iso_error *error)
{
    char *shown = iso_redacted(url);
    if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8))
        iso_error_set(error, ISO_BAD_INPUT,
                      "schema registry %s: expected http://HOST:PORT or https://HOST:PORT", shown);
    else if (iso_url_user_end(url))
        iso_error_set(
            error, ISO_BAD_INPUT,
            "schema registry %s: user and password in a URL are seen by every user of this machine and in every "
            "log; put USER:PASSWORD into a file and give login=FILE",
            shown);
    iso_free(shown);
    return error->status;
}

struct iso_registry *iso_registry_new(const char *url, const char *credentials,
                                      struct iso_error *error)
{
    size_t length = strlen(url);
    if (check_url(url, error) != ISO_OK)
        return NULL;
    struct iso_registry *registry = iso_allocate_zeroed(1, sizeof *registry);
    registry->url = iso_copy_text(url, length - (url[length - 1] == '/'));
    registry->refused_ms = REFUSED_MS;
    registry->provider = (struct iso_schema_provider){find_schema, registry};
    if (iso_shared_library_load(&libcurl, &registry->curl, error) != ISO_OK) {
        iso_registry_free(registry);
        return NULL;
    }
    registry->connection = registry->curl.easy_init();
    if (!registry->connection)
        iso_out_of_memory(0);
    registry->headers =
        registry->curl.slist_append(NULL, "Accept: application/vnd.schemaregistry.v1+json, "
                                          "application/vnd.schemaregistry+json, application/json");
    registry->curl.easy_setopt(registry->connection, CURLOPT_HTTPHEADER, registry->headers);
    registry->curl.easy_setopt(registry->connection, CURLOPT_WRITEFUNCTION, on_answer);
    registry->curl.easy_setopt(registry->connection, CURLOPT_WRITEDATA, &registry->answer);
    registry->curl.easy_setopt(registry->connection, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    registry->curl.easy_setopt(registry->connection, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
    registry->curl.easy_setopt(registry->connection, CURLOPT_NOSIGNAL, 1L);
    registry->curl.easy_setopt(registry->connection, CURLOPT_FOLLOWLOCATION, 0L);
    registry->curl.easy_setopt(registry->connection, CURLOPT_PROTOCOLS_STR, "http,https");
    if (!credentials || read_credentials(registry, credentials, error) == ISO_OK)
        return registry;
    iso_registry_free(registry);
    return NULL;
}

void iso_registry_patience(struct iso_registry *registry, long milliseconds)
{
    registry->curl.easy_setopt(registry->connection, CURLOPT_TIMEOUT_MS, milliseconds);
}

void iso_registry_missing(struct iso_registry *registry, long milliseconds)
{
    registry->refused_ms = milliseconds;
}

void iso_registry_free(struct iso_registry *registry)
{
    if (!registry)
        return;
    for (uint32_t i = 0; i < REFUSED; i++)
        iso_free(registry->refused[i].reason);
    iso_number_map_release(&registry->by_id);
    forget_text(registry);
    if (registry->connection) {
        registry->curl.easy_cleanup(registry->connection);
        registry->curl.slist_free_all(registry->headers);
    }
    iso_text_release(&registry->answer);
    iso_free(registry->url);
    iso_free(registry);
}

const struct iso_schema_provider *iso_registry_provider(struct iso_registry *registry)
{
    return &registry->provider;
}
