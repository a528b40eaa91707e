/* What the broker's topics and their latest records say of the connector. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "connectors/kafka/survey.h"
#include "doctor/doctor_private.h"

enum { LOOKED_AT = 20, TABLES_LOOKED_AT = 30 };

/* Findings in the latest records of tables. */
struct seen {
    uint64_t records, envelopes, binary, with_transaction, changes;
    char connector[32];
};

/* The member of an object that is a text, into a small buffer. */
static void take_text(struct iso_json *json, char *into, size_t size)
{
    struct iso_json_text text;
    if (iso_json_peek(json) == ISO_JSON_STRING && iso_json_string(json, &text))
        snprintf(into, size, "%.*s", (int)(text.length < size ? text.length : size - 1), text.at);
    else
        iso_json_skip(json);
}

static void read_source(struct iso_json *json, struct seen *seen)
{
    struct iso_json_text name;
    if (!iso_json_enter_object(json))
        return;
    while (iso_json_member(json, &name)) {
        if (iso_json_is(&name, "connector"))
            take_text(json, seen->connector, sizeof seen->connector);
        else
            iso_json_skip(json);
    }
}

/* The envelope, {"before":..,"after":..,"source":{..},"op":"u","transaction":{..}}, or a part of
 * it. */
struct envelope {
    bool has_op, has_source, has_transaction, has_payload;
    char op[4], snapshot[8];
};

static bool is_there(struct iso_json *json)
{
    bool there = iso_json_peek(json) != ISO_JSON_NULL;
    iso_json_skip(json);
    return there;
}

static void read_envelope(struct iso_json *json, struct seen *seen, struct envelope *envelope)
{
    struct iso_json_text name;
    while (iso_json_member(json, &name)) {
        if (!envelope->has_payload && iso_json_is(&name, "payload") &&
            iso_json_peek(json) == ISO_JSON_OBJECT) {
            envelope->has_payload = true;
            iso_json_enter_object(json);
            read_envelope(json, seen, envelope);
        } else if (iso_json_is(&name, "op")) {
            envelope->has_op = true;
            take_text(json, envelope->op, sizeof envelope->op);
        } else if (iso_json_is(&name, "source") && iso_json_peek(json) == ISO_JSON_OBJECT) {
            envelope->has_source = true;
            read_source(json, seen);
        } else if (iso_json_is(&name, "transaction")) {
            envelope->has_transaction = is_there(json);
        } else {
            iso_json_skip(json);
        }
    }
}

static void take_record(void *context, const void *payload, size_t size)
{
    struct seen *seen = context;
    struct envelope envelope = {0};
    struct iso_json json = {0};
    if (!size)
        return;
    seen->records++;
    if (*(const unsigned char *)payload == 0) { /* a schema registry's framing */
        seen->binary++;
        return;
    }
    char *copy = iso_allocate_zeroed(1, size + ISO_JSON_PADDING);
    memcpy(copy, payload, size);
    iso_json_start(&json, copy, size);
    if (iso_json_peek(&json) == ISO_JSON_OBJECT && iso_json_enter_object(&json))
        read_envelope(&json, seen, &envelope);
    if (envelope.has_op && envelope.has_source) {
        bool is_change = *envelope.op == 'c' || *envelope.op == 'u' || *envelope.op == 'd';
        seen->envelopes++;
        seen->changes += is_change;
        seen->with_transaction += is_change && envelope.has_transaction;
    }
    iso_json_release(&json);
    iso_free(copy);
}

/* ---- names ---- */

/* How many of the database's tables have a topic of the prefix, and whether transactions have
 * one. */
static uint32_t count_topics(const struct doctor *doctor, const struct iso_kafka_survey *survey,
                             const char *prefix)
{
    char name[600];
    uint32_t count = 0;
    for (uint32_t t = 0; t < doctor->report->table_count; t++) {
        const struct iso_doctor_table *table = &doctor->report->tables[t];
        snprintf(name, sizeof name, "%s.%s.%s", prefix, table->schema, table->name);
        count += iso_kafka_survey_find(survey, name) != NULL;
    }
    snprintf(name, sizeof name, "%.500s.transaction", prefix);
    return count * 2 + (iso_kafka_survey_find(survey, name) != NULL);
}

/* A topic that ends in .SCHEMA.TABLE says a prefix; of several that of most tables. Where that does
 * not tell, it is said. */
static void learn_prefix(struct doctor *doctor, const struct iso_kafka_survey *survey)
{
    struct iso_doctor_report *report = doctor->report;
    char end[300], prefix[300], other[300] = "";
    uint32_t most = 0;
    if (report->prefix)
        return;
    for (uint32_t t = 0; t < report->table_count; t++) {
        size_t length = (size_t)snprintf(end, sizeof end, ".%.140s.%.140s",
                                         report->tables[t].schema, report->tables[t].name);
        for (uint32_t i = 0; i < survey->count; i++) {
            const char *topic = survey->topics[i].name;
            size_t size = strlen(topic);
            if (size <= length || strcmp(topic + size - length, end))
                continue;
            snprintf(prefix, sizeof prefix, "%.*s", (int)(size - length), topic);
            uint32_t count = count_topics(doctor, survey, prefix);
            if (count == most && strcmp(prefix, report->prefix) != 0)
                memcpy(other, prefix, sizeof other);
            if (count <= most)
                continue;
            most = count;
            *other = 0;
            iso_free(report->prefix);
            report->prefix = iso_copy_text(prefix, strlen(prefix));
        }
    }
    if (*other)
        doctor_add(doctor, ISO_DOCTOR_WEAK,
                   "one of them is another database's; the first one is looked at here",
                   "-- say which: --prefix with the connector's topic.prefix",
                   "tables of these names have topics of several prefixes: %s, %s", report->prefix,
                   other);
}

static void match_tables(struct doctor *doctor, const struct iso_kafka_survey *survey)
{
    struct iso_doctor_report *report = doctor->report;
    char name[600], names[DOCTOR_NAMES] = "";
    uint32_t missing = 0;
    size_t used = 0;
    for (uint32_t t = 0; t < report->table_count; t++) {
        struct iso_doctor_table *table = &report->tables[t];
        snprintf(name, sizeof name, "%s.%s.%s", report->prefix, table->schema, table->name);
        if (iso_kafka_survey_find(survey, name)) {
            table->topic = iso_copy_text(name, strlen(name));
            continue;
        }
        if (used + strlen(table->schema) + strlen(table->name) + 40 < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s.%s",
                                     missing ? ", " : "", table->schema, table->name);
        missing++;
    }
    if (missing)
        doctor_add(
            doctor, ISO_DOCTOR_NOTE,
            "until its first row a table has no topic: watch with --wait-for-topics; a table that has rows is not "
            "among the connector's (table.include.list)",
            NULL, "tables without topics: %s%s", names,
            missing > 1 && used + 40 >= sizeof names ? " and more" : "");
}

/* ---- what is wrong ---- */

static void check_records(struct doctor *doctor, const struct seen *seen)
{
    struct iso_doctor_report *report = doctor->report;
    report->is_avro = seen->binary && seen->binary == seen->records;
    if (!seen->records)
        doctor_add(doctor, ISO_DOCTOR_NOTE, "nothing can be said of the connector's options", NULL,
                   "the tables' topics have no records yet");
    if (seen->records > seen->binary && !seen->envelopes)
        doctor_add(doctor, ISO_DOCTOR_WRONG,
                   "without the envelope there is no row before, no transaction, no position",
                   "transforms=  -- take unwrapping and routing out of the connector's properties",
                   "the records are not Debezium's envelope");
    if (seen->changes && !seen->with_transaction)
        doctor_add(doctor, ISO_DOCTOR_WRONG,
                   "transactions have no ends: each waits for the next one, or for ever",
                   "provide.transaction.metadata=true  -- in the connector's properties",
                   "the records say nothing of transactions");
    bool is_postgres = iso_database_protocol(doctor->database) == ISO_PROTOCOL_POSTGRES;
    bool is_other = *seen->connector && (!strcmp(seen->connector, "postgresql") != is_postgres);
    if (is_other)
        doctor_add(doctor, ISO_DOCTOR_WRONG, "the topics are of another database",
                   "-- the right --prefix, or the right URL", "the records are of the connector %s",
                   seen->connector);
}

static void check_transactions(struct doctor *doctor, const struct iso_kafka_survey *survey,
                               const struct seen *seen)
{
    char name[300];
    snprintf(name, sizeof name, "%.250s.transaction", doctor->report->prefix);
    const struct iso_kafka_surveyed *topic = iso_kafka_survey_find(survey, name);
    if (!topic && !(seen->changes && !seen->with_transaction)) /* which is said already */
        doctor_add(doctor, seen->changes ? ISO_DOCTOR_WRONG : ISO_DOCTOR_NOTE,
                   "transactions have no ends: each waits for the next one, or for ever",
                   "provide.transaction.metadata=true  -- in the connector's properties",
                   "there is no topic %s", name);
    if (topic && topic->partitions > 1)
        doctor_add(doctor, ISO_DOCTOR_WEAK,
                   "BEGIN and END of transactions come in any order: more waits, and longer",
                   "-- a topic with one partition", "topic %s has %d partitions", name,
                   topic->partitions);
}

static void check_history(struct doctor *doctor, const struct iso_kafka_survey *survey)
{
    const char *history = doctor->options->history;
    if (!history)
        doctor_add(
            doctor, ISO_DOCTOR_NOTE,
            "without client records only the stream itself is checked (level cdc): nothing is said of isolation",
            NULL, "no topic of client records was named (--history TOPIC)");
    else if (!iso_kafka_survey_find(survey, history))
        doctor_add(doctor, ISO_DOCTOR_WEAK, "reads are not judged before clients publish there",
                   NULL, "there is no topic %s yet", history);
}

enum iso_status doctor_topics(struct doctor *doctor, struct iso_error *error)
{
    struct iso_kafka_survey survey;
    struct seen seen = {0};
    if (iso_kafka_survey(&survey, doctor->options->kafka, error) != ISO_OK)
        goto out;
    learn_prefix(doctor, &survey);
    if (!doctor->report->prefix) {
        doctor_add(
            doctor, ISO_DOCTOR_WRONG,
            "nothing arrives: the connector does not run, or publishes elsewhere",
            "-- start the connector: deploy/debezium/connect.sh start DIR BROKER connector.properties; --prefix names "
            "its topic.prefix",
            "no topic has rows of a table of this database");
        check_history(doctor, &survey);
        goto out;
    }
    match_tables(doctor, &survey);
    for (uint32_t t = 0, looked = 0; t < doctor->report->table_count && looked < TABLES_LOOKED_AT;
         t++) {
        const struct iso_doctor_table *table = &doctor->report->tables[t];
        if (!table->topic)
            continue;
        iso_kafka_survey_last(&survey, iso_kafka_survey_find(&survey, table->topic), LOOKED_AT,
                              take_record, &seen);
        looked++;
    }
    check_records(doctor, &seen);
    check_transactions(doctor, &survey, &seen);
    check_history(doctor, &survey);
out:
    iso_kafka_survey_release(&survey);
    return error->status;
}
