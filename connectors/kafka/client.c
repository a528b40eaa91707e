#define _GNU_SOURCE
#include "connectors/kafka/client.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static void remember_trouble(struct iso_kafka_client *client, const char *text)
{
    pthread_mutex_lock(&client->lock);
    snprintf(client->trouble, sizeof client->trouble, "%s", text);
    pthread_mutex_unlock(&client->lock);
}

/* Warnings that nothing stands in the way of: an old broker may make a topic that it is asked
 * for. */
static bool is_advice(const char *facility)
{
    static const char *const facilities[] = {"TERMINATE", "CONFWARN", "AUTOCREATE"};
    for (size_t i = 0; i < sizeof facilities / sizeof *facilities; i++)
        if (!strcmp(facility, facilities[i]))
            return true;
    return false;
}

/* Called from librdkafka's threads. Its log says what its error codes leave out ("Connection
 * refused"). */
static void on_log(const rd_kafka_t *handle, int level, const char *facility, const char *text)
{
    if (level <= 4 && !is_advice(facility))
        remember_trouble(rd_kafka_opaque(handle), text);
}

/* Called inside polls, on the owner's thread. */
static void on_error(rd_kafka_t *handle, int code, const char *reason, void *opaque)
{
    struct iso_kafka_client *client = opaque;
    char text[sizeof client->fatal_text];
    rd_kafka_resp_err_t failure = (rd_kafka_resp_err_t)code;
    client->errors++;
    if (failure == RD_KAFKA_RESP_ERR__FATAL)
        failure = rd_kafka_fatal_error(handle, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s", reason);
    bool permanent = code == RD_KAFKA_RESP_ERR__FATAL ||
                     code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL;
    if (permanent && !client->fatal) {
        client->fatal = failure;
        memcpy(client->fatal_text, text, sizeof text);
    }
    if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        remember_trouble(client, text);
}

static enum iso_status set_property(rd_kafka_conf_t *conf, const char *name, const char *value,
                                    struct iso_error *error)
{
    char text[512];
    if (rd_kafka_conf_set(conf, name, value, text, sizeof text) != RD_KAFKA_CONF_OK)
        return iso_error_set(error, ISO_BAD_INPUT, "Kafka property %s: %s", name, text);
    return ISO_OK;
}

static enum iso_status configure_all(rd_kafka_conf_t *conf,
                                     const struct iso_kafka_properties *properties,
                                     const char *const *defaults, struct iso_error *error)
{
    for (; *defaults && error->status == ISO_OK; defaults += 2)
        set_property(conf, defaults[0], defaults[1], error);
    for (uint32_t i = 0; i < properties->count && error->status == ISO_OK; i++)
        set_property(conf, properties->list[i].name, properties->list[i].value, error);
    return error->status;
}

enum iso_status iso_kafka_client_open(struct iso_kafka_client *client, rd_kafka_type_t type,
                                      const struct iso_kafka_properties *properties,
                                      const char *const *defaults,
                                      void (*configure)(rd_kafka_conf_t *conf),
                                      struct iso_error *error)
{
    char text[512];
    const char *brokers = iso_kafka_properties_get(properties, "bootstrap.servers");
    *client = (struct iso_kafka_client){.lock = PTHREAD_MUTEX_INITIALIZER};
    if (!brokers)
        brokers = iso_kafka_properties_get(properties, "metadata.broker.list");
    if (!brokers && !iso_kafka_properties_get(properties, "test.mock.num.brokers"))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "no broker is named: expected -X bootstrap.servers=HOST:PORT,...");
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (configure_all(conf, properties, defaults, error) != ISO_OK) {
        rd_kafka_conf_destroy(conf);
        return error->status;
    }
    rd_kafka_conf_set_opaque(conf, client);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_error_cb(conf, on_error);
    if (configure)
        configure(conf);
    client->handle = rd_kafka_new(type, conf, text, sizeof text);
    if (!client->handle) {
        rd_kafka_conf_destroy(conf);
        return iso_error_set(error, ISO_BAD_INPUT, "Kafka client: %s", text);
    }
    client->brokers = iso_copy_text(brokers ? brokers : "mock", strlen(brokers ? brokers : "mock"));
    return ISO_OK;
}

void iso_kafka_client_close(struct iso_kafka_client *client)
{
    if (client->handle)
        rd_kafka_destroy(client->handle);
    client->handle = NULL;
    iso_free(client->brokers);
    client->brokers = NULL;
}

void iso_kafka_client_forget_trouble(struct iso_kafka_client *client)
{
    pthread_mutex_lock(&client->lock);
    client->trouble[0] = 0;
    pthread_mutex_unlock(&client->lock);
}

bool iso_kafka_client_trouble(struct iso_kafka_client *client, char *text, size_t size)
{
    pthread_mutex_lock(&client->lock);
    snprintf(text, size, "%s", client->trouble);
    pthread_mutex_unlock(&client->lock);
    return *text;
}

enum iso_status iso_kafka_client_no_answer(struct iso_kafka_client *client, unsigned seconds,
                                           struct iso_error *error)
{
    char text[sizeof client->trouble];
    iso_kafka_client_trouble(client, text, sizeof text);
    return iso_error_set(error, ISO_FAILED, "Kafka broker %s did not answer within %u s%s%s",
                         client->brokers, seconds, *text ? ": " : "", text);
}
