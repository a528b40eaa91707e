#include "suite/operation.h"

uint64_t suite_take_number(struct iso_json *json)
{
    struct iso_json_number number = {0};
    iso_json_integer(json, &number);
    return number.bits;
}

struct suite_operation suite_operation_take(struct iso_json *json)
{
    struct suite_operation operation = {.is_own = false};
    struct iso_json_text member;
    iso_json_enter_object(json);
    while (iso_json_member(json, &member)) {
        bool is_table = iso_json_is(&member, "table");
        if (iso_json_is(&member, "t"))
            iso_json_string(json, &operation.kind);
        else if (is_table || iso_json_is(&member, "row"))
            operation.is_query = is_table, iso_json_string(json, &operation.name);
        else if (iso_json_is(&member, "sent"))
            operation.sent = suite_take_number(json);
        else if (iso_json_is(&member, "answered"))
            operation.answered = suite_take_number(json);
        else if (iso_json_is(&member, "sql"))
            iso_json_string(json, &operation.sql);
        else if (iso_json_is(&member, "own"))
            iso_json_boolean(json, &operation.is_own);
        else
            iso_json_skip(json);
    }
    return operation;
}
