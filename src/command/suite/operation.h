/* An operation of a record, as far as `isochron run` looks into it. */
#pragma once

#include "base/json.h"

struct suite_operation {
    struct iso_json_text kind, name, sql;
    bool is_query, is_own;
    uint64_t sent, answered;
};

struct suite_operation suite_operation_take(struct iso_json *json);
uint64_t suite_take_number(struct iso_json *json);

static inline bool suite_operation_reads(const struct suite_operation *operation)
{
    return iso_json_is(&operation->kind, "r") || iso_json_is(&operation->kind, "q");
}
