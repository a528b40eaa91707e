#include "connectors/registry/registry.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

enum { CONNECT_MS = 3000, ANSWER_MS = 8000, TRIES = 3, RETRY_MS = 250, ANSWER_MAX_BYTES = 16 << 20 };

struct entry {
    uint32_t id;
    struct iso_schema schema;
};

struct iso_registry {
    char *url;   /* without a slash at its end */
    char *shown; /* without user and password */
    CURL *curl;
    struct curl_slist *headers;
    struct iso_text answer; /* of the request at hand */
    uint32_t count;
    struct entry *entries;
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

static enum iso_status request(struct iso_registry *registry, uint32_t id, long *code, struct iso_error *error)
{
    char url[2048], reason[CURL_ERROR_SIZE] = "";
    CURLcode result = CURLE_OK;
    snprintf(url, sizeof url, "%s/schemas/ids/%u", registry->url, id);
    curl_easy_setopt(registry->curl, CURLOPT_URL, url);
    curl_easy_setopt(registry->curl, CURLOPT_ERRORBUFFER, reason);
    for (int i = 0; i < TRIES; i++) {
        struct timespec pause = {0, (long)i * RETRY_MS * 1000000};
        nanosleep(&pause, NULL);
        registry->answer.used = 0;
        result = curl_easy_perform(registry->curl);
        curl_easy_getinfo(registry->curl, CURLINFO_RESPONSE_CODE, code);
        if ((result == CURLE_OK && *code < 500) || result == CURLE_OPERATION_TIMEDOUT)
            break;
    }
    curl_easy_setopt(registry->curl, CURLOPT_ERRORBUFFER, NULL);
    if (result != CURLE_OK)
        return iso_error_set(error, ISO_FAILED, "schema registry %s: schema %u: %s", registry->shown, id,
                             *reason ? reason : curl_easy_strerror(result));
    memset(iso_text_reserve(&registry->answer, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    return ISO_OK;
}

struct answer {
    char *schema, *type, *message; /* own copies, NULL: not there */
    bool references;
};

static void release_answer(struct answer *answer)
{
    iso_free(answer->schema);
    iso_free(answer->type);
    iso_free(answer->message);
}

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

static enum iso_status add(struct iso_registry *registry, uint32_t id, struct answer *answer, struct iso_schema *schema,
                           struct iso_error *error)
{
    const char *type = answer->type ? answer->type : "AVRO";
    if (answer->references)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "schema registry %s: schema %u refers to other schemas, expected one "
                             "that stands alone",
                             registry->shown, id);
    *schema = (struct iso_schema){.type = !strcmp(type, "AVRO")       ? ISO_SCHEMA_AVRO
                                          : !strcmp(type, "PROTOBUF") ? ISO_SCHEMA_PROTOBUF
                                                                      : ISO_SCHEMA_JSON,
                                  .text = answer->schema,
                                  .length = strlen(answer->schema)};
    registry->entries = iso_reallocate(registry->entries, (registry->count + 1) * sizeof *registry->entries);
    registry->entries[registry->count++] = (struct entry){id, *schema};
    answer->schema = NULL; /* the cache's now */
    return ISO_OK;
}

static enum iso_status find(void *context, uint32_t id, struct iso_schema *schema, struct iso_error *error)
{
    struct iso_registry *registry = context;
    struct answer answer = {0};
    struct iso_json json;
    long code = 0;
    for (uint32_t i = 0; i < registry->count; i++)
        if (registry->entries[i].id == id) {
            *schema = registry->entries[i].schema;
            return ISO_OK;
        }
    if (request(registry, id, &code, error) != ISO_OK)
        return error->status;
    iso_json_init(&json);
    bool readable = read_answer(&json, &registry->answer, &answer);
    if (code != 200)
        iso_error_set(error, ISO_FAILED, "schema registry %s: schema %u: HTTP %ld%s%s", registry->shown, id, code,
                      answer.message ? ": " : "", answer.message ? answer.message : "");
    else if (!readable || !answer.schema)
        iso_error_set(error, ISO_FAILED, "schema registry %s: schema %u: not an answer of a schema registry",
                      registry->shown, id);
    else
        add(registry, id, &answer, schema, error);
    release_answer(&answer);
    iso_json_release(&json);
    return error->status;
}

/* The URL without its user and password. */
static char *without_secrets(const char *url)
{
    const char *scheme = strstr(url, "://"), *at = strrchr(url, '@');
    if (!scheme || !at || at < scheme)
        return iso_copy_text(url, strlen(url));
    size_t size = strlen(url) + 1;
    char *shown = iso_allocate(size);
    snprintf(shown, size, "%.*s%s", (int)(scheme + 3 - url), url, at + 1);
    return shown;
}

struct iso_registry *iso_registry_new(const char *url, struct iso_error *error)
{
    size_t length = strlen(url);
    if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8)) {
        iso_error_set(error, ISO_BAD_INPUT, "schema registry %s: expected http://HOST:PORT or https://HOST:PORT", url);
        return NULL;
    }
    struct iso_registry *registry = iso_allocate_zeroed(1, sizeof *registry);
    registry->url = iso_copy_text(url, length - (url[length - 1] == '/'));
    registry->shown = without_secrets(registry->url);
    registry->provider = (struct iso_schema_provider){find, registry};
    registry->curl = curl_easy_init();
    if (!registry->curl)
        iso_out_of_memory(0);
    registry->headers = curl_slist_append(NULL, "Accept: application/vnd.schemaregistry.v1+json, "
                                                "application/vnd.schemaregistry+json, application/json");
    curl_easy_setopt(registry->curl, CURLOPT_HTTPHEADER, registry->headers);
    curl_easy_setopt(registry->curl, CURLOPT_WRITEFUNCTION, on_answer);
    curl_easy_setopt(registry->curl, CURLOPT_WRITEDATA, &registry->answer);
    curl_easy_setopt(registry->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(registry->curl, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
    curl_easy_setopt(registry->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(registry->curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(registry->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    return registry;
}

void iso_registry_patience(struct iso_registry *registry, long milliseconds)
{
    curl_easy_setopt(registry->curl, CURLOPT_TIMEOUT_MS, milliseconds);
}

void iso_registry_free(struct iso_registry *registry)
{
    if (!registry)
        return;
    for (uint32_t i = 0; i < registry->count; i++)
        iso_free((char *)registry->entries[i].schema.text);
    iso_free(registry->entries);
    curl_easy_cleanup(registry->curl);
    curl_slist_free_all(registry->headers);
    iso_text_release(&registry->answer);
    iso_free(registry->url);
    iso_free(registry->shown);
    iso_free(registry);
}

const struct iso_schema_provider *iso_registry_provider(struct iso_registry *registry)
{
    return &registry->provider;
}
