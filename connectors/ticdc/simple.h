/* The simple protocol's messages, whatever they were encoded in. */
#pragma once

#include "connectors/ticdc/tables.h"

enum { SIMPLE_VERSION = 1 };

enum simple_type {
    SIMPLE_NONE,
    SIMPLE_WATERMARK,
    SIMPLE_BOOTSTRAP,
    SIMPLE_DDL,   /* that drops nothing */
    SIMPLE_ERASE, /* or truncates */
    SIMPLE_INSERT,
    SIMPLE_UPDATE,
    SIMPLE_DELETE
};

/* A message; a row's columns are ticdc->now and ticdc->old, as their encoding has them. */
struct simple {
    struct ticdc *ticdc;
    struct ticdc_number version, commit_ts, start_ts, schema_version;
    bool keys_only, has_data, has_old;
    enum simple_type type;
    struct iso_json_text database, table, sql;
    struct ticdc_table *schema,
        *previous_schema; /* NULL: none; the message's, until it is finished */
};

/* A cell of a row, as its column's class says. False: it cannot be; the error says so. */
typedef enum iso_status simple_convert(struct ticdc *ticdc, struct iso_cell *cell,
                                       enum ticdc_class class, struct iso_error *error);

/* The message's events. Takes its schemas. */
enum iso_status simple_finish(struct ticdc *ticdc, struct simple *simple, simple_convert *convert,
                              struct iso_error *error);

enum iso_status simple_create(struct ticdc *ticdc, const struct iso_decoder_options *options,
                              struct iso_error *error);
