/* What the files of doctor share. */
#pragma once

#include "doctor/doctor.h"

struct doctor {
    const struct iso_doctor_options *options;
    struct iso_doctor_report *report;
    struct iso_database *database;
};

/* Adds a finding. `mend` may be NULL; `about` is printf's. */
__attribute__((format(printf, 5, 6))) void doctor_add(struct doctor *doctor,
                                                      enum iso_doctor_weight weight,
                                                      const char *costs, const char *mend,
                                                      const char *about, ...);

/* A query for findings: its rows have a first column each, of which up to some are named. Returns
 * their number; `names` is "a, b and 3 more", `first` the first, "" if it is too long to be whole.
 * 0 too if the server refuses it: then a note says so. */
enum {
    DOCTOR_NAMES = 1200,
    DOCTOR_NAME = 520
}; /* DOCTOR_NAME: schema and table, quoted, with all quotes doubled */
struct doctor_found {
    uint32_t count;
    char names[DOCTOR_NAMES], first[DOCTOR_NAME];
};
struct doctor_found doctor_find(struct doctor *doctor, const char *sql);

/* PostgreSQL's own quoting of a text: `function` is quote_ident or quote_literal. */
void doctor_quote(struct doctor *doctor, const char *function, const char *text,
                  char into[DOCTOR_NAME]);

/* The first value as a copy in `into`; "" if there is none. */
const char *doctor_ask(struct doctor *doctor, const char *sql, char *into, size_t size);

/* A condition on columns for a schema and a table: those that were asked for, of people's own
 * schemas. */
void doctor_condition(const struct doctor *doctor, const char *schema, const char *table,
                      struct iso_text *sql);

void doctor_postgres(struct doctor *doctor);
void doctor_mysql(struct doctor *doctor);
enum iso_status doctor_topics(struct doctor *doctor, struct iso_error *error);
void doctor_command(struct doctor *doctor);
