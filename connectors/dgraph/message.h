/* The members of a message of Dgraph's change stream, whatever its kind:
 *
 *     {"meta":{"commit_ts":9},"type":"mutation","event":{"operation":"set","uid":2,"attr":"name","value":"Bob","value_type":"string"}}
 *     {"meta":{"commit_ts":9},"type":"drop","event":{"operation":"predicate","type":"","pred":"name"}}
 *
 * Only the form is judged here: members in any order, each once, unknown ones passed over. Texts
 * are the scanner's.
 */
#pragma once

#include "base/json.h"

/* What a member of the message is, and the bit that says it was there. */
enum member {
    COMMIT_TS = 1,
    NAMESPACE = 2,
    TYPE = 4,
    OPERATION = 8,
    UID = 16,
    ATTR = 32,
    VALUE = 64,
    VALUE_TYPE = 128,
    PRED = 256,
    META = 512,
    EVENT = 1024
};

struct value {
    enum iso_json_type type;
    struct iso_json_text text; /* of a string: its content; else as it stands in the message */
    bool is_short;             /* a number of at most 19 digits, no more: `number` */
    uint64_t number;
};

struct change {
    uint32_t seen; /* enum member */
    uint64_t commit_ts, namespace, uid;
    struct iso_json_text type, operation, attr, value_type, pred;
    struct value value;
};

/* False: the scanner's error. */
bool dgraph_read(struct iso_json *json, struct change *change);
