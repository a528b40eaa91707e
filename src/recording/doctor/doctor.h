/* Looks a database and its change stream's topics over before anything is attached: what is
 * missing, what each thing costs, the statement that mends it, and the `watch` command that fits.
 *
 * It only reads: catalogs and settings of the database, and of the broker the list of topics with
 * some of their latest messages. A finding is *wrong* if there would be no verdict, *weak* if
 * something is not judged because of it, a *note* if it is good to know. No finding says that all
 * is well for ever: it is a look at one moment.
 *
 * Ownership: the report owns its findings and texts. Threads: one at a time.
 */
#pragma once

#include "base/text.h"
#include "connectors/kafka/client.h"
#include "database/database.h"

enum iso_doctor_weight { ISO_DOCTOR_WRONG, ISO_DOCTOR_WEAK, ISO_DOCTOR_NOTE, ISO_DOCTOR_FINE };

struct iso_doctor_finding {
    enum iso_doctor_weight weight;
    char *about, *costs, *mend; /* mend: statements, or what to set; NULL where there is none */
};

/* A table that could be attached. */
struct iso_doctor_table {
    char *schema, *name;
    char *column;           /* the only one beside the key, or NULL */
    char *topic;            /* that has its rows, or NULL */
    bool has_key, is_whole; /* a primary key; updates carry the whole row before */
};

struct iso_doctor_report {
    struct iso_doctor_finding *findings;
    uint32_t count, capacity;
    struct iso_doctor_table *tables;
    uint32_t table_count, table_capacity;
    enum iso_database_product product;
    char *version, *prefix; /* of topics; NULL: none was found */
    bool is_avro;
    bool orders_by_bytes;  /* texts of all columns: collation=C */
    bool reads_committed;  /* a transaction that does not say otherwise: --level rc */
    struct iso_text watch; /* the command */
};

struct iso_doctor_options {
    const char *url;
    const char *const *tables; /* SCHEMA.TABLE, or only the table's name; none: all of people's */
    uint32_t table_count;
    const char *prefix, *publication, *slot;  /* or NULL: found, if there is one */
    const char *history;                      /* the topic of client records, or NULL */
    const struct iso_kafka_properties *kafka; /* NULL: no broker is asked */
};

/* ISO_FAILED, ISO_BAD_INPUT: it could not look. */
enum iso_status iso_doctor(const struct iso_doctor_options *options,
                           struct iso_doctor_report *report, struct iso_error *error);
void iso_doctor_report_release(struct iso_doctor_report *report);

const char *iso_doctor_weight_name(enum iso_doctor_weight weight);

/* How many findings have a weight. */
uint32_t iso_doctor_count(const struct iso_doctor_report *report, enum iso_doctor_weight weight);
