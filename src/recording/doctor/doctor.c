#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "doctor/doctor_private.h"

static char *copy(const char *text)
{
    return text ? iso_copy_text(text, strlen(text)) : NULL;
}

const char *iso_doctor_weight_name(enum iso_doctor_weight weight)
{
    static const char *const names[] = {"wrong", "weak", "note", "fine"};
    return names[weight];
}

uint32_t iso_doctor_count(const struct iso_doctor_report *report, enum iso_doctor_weight weight)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->count; i++)
        count += report->findings[i].weight == weight;
    return count;
}

void iso_doctor_report_release(struct iso_doctor_report *report)
{
    for (uint32_t i = 0; i < report->count; i++)
        ISO_FREE_ALL(report->findings[i].about, report->findings[i].costs,
                     report->findings[i].mend);
    for (uint32_t i = 0; i < report->table_count; i++)
        ISO_FREE_ALL(report->tables[i].schema, report->tables[i].name, report->tables[i].column,
                     report->tables[i].topic);
    ISO_FREE_ALL(report->findings, report->tables, report->version, report->prefix);
    iso_text_release(&report->watch);
    *report = (struct iso_doctor_report){0};
}

void doctor_add(struct doctor *doctor, enum iso_doctor_weight weight, const char *costs,
                const char *mend, const char *about, ...)
{
    struct iso_doctor_report *report = doctor->report;
    char text[2048];
    va_list list;
    va_start(list, about);
    vsnprintf(text, sizeof text, about, list);
    va_end(list);
    ISO_GROW(report->findings, report->count, report->capacity);
    report->findings[report->count++] =
        (struct iso_doctor_finding){weight, copy(text), copy(costs), copy(mend)};
}

struct doctor_found doctor_find(struct doctor *doctor, const char *sql)
{
    struct doctor_found found = {0};
    size_t used = 0;
    if (iso_database_execute(doctor->database, sql) != ISO_SQL_DONE) {
        doctor_add(doctor, ISO_DOCTOR_NOTE, "what it would have said", NULL,
                   "the database did not answer: %s", iso_database_message(doctor->database));
        return found;
    }
    found.count = iso_database_rows(doctor->database);
    for (uint32_t i = 0; i < found.count; i++) {
        const char *name = iso_database_value(doctor->database, i, 0);
        name = name ? name : "";
        if (i == 0 &&
            strlen(name) < sizeof found.first) /* a part of a quoted name would be an open quote */
            memcpy(found.first, name, strlen(name) + 1);
        if (used + strlen(name) + 40 < sizeof found.names)
            used += (size_t)snprintf(found.names + used, sizeof found.names - used, "%s%s",
                                     i ? ", " : "", name);
        else {
            snprintf(found.names + used, sizeof found.names - used, " and %u more",
                     found.count - i);
            break;
        }
    }
    return found;
}

const char *doctor_ask(struct doctor *doctor, const char *sql, char *into, size_t size)
{
    const char *value = iso_database_ask(doctor->database, sql);
    snprintf(into, size, "%s", value ? value : "");
    return into;
}

/* TABLE or SCHEMA.TABLE. */
static bool is_called(const char *asked, const char *schema, const char *name)
{
    size_t length = strlen(schema);
    return !strcmp(asked, name) || (!strncmp(asked, schema, length) && asked[length] == '.' &&
                                    !strcmp(asked + length + 1, name));
}

/* Whatever standard_conforming_strings says. */
static void put_quoted(struct iso_text *sql, const char *text, bool is_mysql)
{
    iso_text_put(sql, is_mysql ? "'" : "E'");
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            iso_text_put_bytes(sql, text, 1);
        iso_text_put_bytes(sql, text, 1);
    }
    iso_text_put(sql, "'");
}

void doctor_quote(struct doctor *doctor, const char *function, const char *text,
                  char into[DOCTOR_NAME])
{
    struct iso_text sql = {0};
    iso_text_format(&sql, "SELECT pg_catalog.%s(", function);
    put_quoted(&sql, text, false);
    iso_text_put(&sql, ")");
    iso_text_put_bytes(&sql, "", 1);
    doctor_ask(doctor, sql.bytes, into, DOCTOR_NAME);
    iso_text_release(&sql);
}

void doctor_condition(const struct doctor *doctor, const char *schema, const char *table,
                      struct iso_text *sql)
{
    bool is_mysql = iso_database_protocol(doctor->database) == ISO_PROTOCOL_MYSQL;
    if (is_mysql)
        iso_text_format(sql, "%s = DATABASE()", schema);
    else
        iso_text_format(
            sql,
            "%s NOT IN ('pg_catalog', 'information_schema') AND %s NOT LIKE 'pg_toast%%' AND %s NOT LIKE "
            "'pg_temp%%'",
            schema, schema, schema);
    iso_text_format(sql, " AND %s NOT LIKE 'isochron!_probe!_%%' ESCAPE '!'", table);
    for (uint32_t i = 0; i < doctor->options->table_count; i++) {
        iso_text_format(sql, "%s%s IN (", i ? " OR " : " AND (", table);
        put_quoted(sql, doctor->options->tables[i], is_mysql);
        iso_text_format(sql,
                        is_mysql ? ") OR CONCAT(%s, '.', %s) IN (" : ") OR %s || '.' || %s IN (",
                        schema, table);
        put_quoted(sql, doctor->options->tables[i], is_mysql);
        iso_text_put(sql, ")");
    }
    iso_text_put(sql, doctor->options->table_count ? ")" : "");
}

/* ---- the command that fits ---- */

/* An argument as the shell reads it. */
static void put_argument(struct iso_text *text, const struct iso_text *argument)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=@%+";
    bool is_plain = argument->used;
    for (size_t i = 0; i < argument->used; i++)
        is_plain &= argument->bytes[i] && strchr(plain, argument->bytes[i]);
    if (is_plain) {
        iso_text_put_bytes(text, argument->bytes, argument->used);
        return;
    }
    iso_text_put(text, "'");
    for (size_t i = 0; i < argument->used; i++)
        if (argument->bytes[i] == '\'')
            iso_text_put(text, "'\\''");
        else
            iso_text_put_bytes(text, argument->bytes + i, 1);
    iso_text_put(text, "'");
}

__attribute__((format(printf, 3, 4))) static void
put_option(struct iso_text *text, const char *option, const char *format, ...)
{
    char value[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(value, sizeof value, format, list);
    va_end(list);
    struct iso_text argument = {.bytes = value, .used = strlen(value)};
    iso_text_format(text, " %s ", option);
    put_argument(text, &argument);
}

/* Where there are so many tables, one source is for all of which it is true. */
enum { MANY_TABLES = 8 };

/* Writes a source's options for its table, or for all the connector's other tables. */
static void put_source(struct iso_text *text, const struct iso_doctor_report *report,
                       const struct iso_doctor_table *table, bool is_prefix)
{
    bool is_yugabyte = report->product == ISO_PRODUCT_YUGABYTE;
    char table_name[512];
    snprintf(table_name, sizeof table_name, "%s.%s", table->schema, table->name);
    put_option(text, "--source", "%s:%s.%s%s%s%s%s%s", is_yugabyte ? "yugabyte" : "debezium",
               report->prefix ? report->prefix : "PREFIX", is_prefix ? "*" : table_name,
               table->column ? ",value=" : ",cells=true", table->column ? table->column : "",
               table->is_whole ? ",identity=full" : "",
               report->orders_by_bytes ? ",collation=C" : "",
               report->is_avro ? ",registry=URL" : "");
}

static bool is_alike(const struct iso_doctor_table *one, const struct iso_doctor_table *other)
{
    return !one->column && !other->column && one->is_whole == other->is_whole;
}

/* One table that most are like, of so many that a source for each would be long; NULL: there are
 * few, or only some of the database's were asked about. */
static const struct iso_doctor_table *model_of(const struct doctor *doctor)
{
    const struct iso_doctor_report *report = doctor->report;
    const struct iso_doctor_table *best = NULL;
    uint32_t most = 0;
    for (uint32_t i = 0; i < report->table_count && !doctor->options->table_count; i++) {
        uint32_t alike = 0;
        for (uint32_t other = 0; other < report->table_count && report->tables[i].has_key; other++)
            alike += report->tables[other].has_key &&
                     is_alike(&report->tables[i], &report->tables[other]);
        if (alike <= most)
            continue;
        most = alike;
        best = &report->tables[i];
    }
    return most >= MANY_TABLES ? best : NULL;
}

void doctor_command(struct doctor *doctor)
{
    struct iso_doctor_report *report = doctor->report;
    struct iso_text *text = &report->watch;
    const char *brokers = doctor->options->kafka ? iso_kafka_properties_get(doctor->options->kafka,
                                                                            "bootstrap.servers")
                                                 : NULL;
    iso_text_put(text, "isochron watch");
    const char *history = doctor->options->history ? doctor->options->history : "CLIENTS";
    bool is_tidb = report->product == ISO_PRODUCT_TIDB;
    const struct iso_doctor_table *model = is_tidb ? NULL : model_of(doctor);
    if (is_tidb)
        put_option(text, "--source", "ticdc:TOPIC");
    for (uint32_t i = 0; i < report->table_count && !is_tidb; i++)
        if (report->tables[i].has_key && !(model && is_alike(model, &report->tables[i])))
            put_source(text, report, &report->tables[i], false);
    if (model)
        put_source(text, report, model, true);
    if (!is_tidb && (!model || report->product == ISO_PRODUCT_YUGABYTE))
        put_option(text, "--source", "debezium:%s.transaction%s",
                   report->prefix ? report->prefix : "PREFIX",
                   report->is_avro ? ",registry=URL" : "");
    put_option(text, "--source", "history:%s", history);
    iso_text_put(text, report->reads_committed ? " --level rc" : "");
    iso_text_put(text, " --wait-for-topics");
    put_option(text, "-X", "bootstrap.servers=%s", brokers ? brokers : "HOST:PORT");
}

/* ---- */

static void check_wanted(struct doctor *doctor)
{
    const struct iso_doctor_options *options = doctor->options;
    for (uint32_t i = 0; i < options->table_count; i++) {
        bool is_there = false;
        for (uint32_t t = 0; t < doctor->report->table_count; t++) {
            const struct iso_doctor_table *table = &doctor->report->tables[t];
            is_there = is_there || is_called(options->tables[i], table->schema, table->name);
        }
        if (!is_there)
            doctor_add(doctor, ISO_DOCTOR_WRONG, "nothing of it can be attached", NULL,
                       "table %s is not there, or this user does not see it", options->tables[i]);
    }
    if (!doctor->report->table_count && !options->table_count)
        doctor_add(doctor, ISO_DOCTOR_WRONG, "there is nothing to attach", NULL,
                   "the database has no tables of its own");
}

enum iso_status iso_doctor(const struct iso_doctor_options *options,
                           struct iso_doctor_report *report, struct iso_error *error)
{
    struct doctor doctor = {.options = options, .report = report};
    *report = (struct iso_doctor_report){0};
    doctor.database = iso_database_connect(options->url, error);
    if (!doctor.database)
        return error->status;
    report->product = iso_database_product(doctor.database);
    report->version = copy(iso_database_version(doctor.database));
    report->prefix = copy(options->prefix);
    if (iso_database_protocol(doctor.database) == ISO_PROTOCOL_POSTGRES)
        doctor_postgres(&doctor);
    else
        doctor_mysql(&doctor);
    if (iso_database_is_lost(doctor.database))
        iso_error_set(error, ISO_FAILED, "the connection to the database was lost: %s",
                      iso_database_message(doctor.database));
    check_wanted(&doctor);
    if (error->status == ISO_OK && options->kafka)
        doctor_topics(&doctor, error);
    doctor_command(&doctor);
    iso_database_close(doctor.database);
    return error->status;
}
