/* What a writer's schema means to a history: members known by their names, once a schema, and
 * enumerations' symbols by what they say.
 */
#pragma once

#include "connectors/avro/schema.h"

/* Roles of a record's fields by their names, which differ between a transaction, an operation
 * and a watermark. */
enum avro_role {
    ROLE_NONE,
    ROLE_TID,
    ROLE_SID,
    ROLE_SNO,
    ROLE_STS,
    ROLE_CTS,
    ROLE_STATUS,
    ROLE_WRITES,
    ROLE_SNAPSHOT,
    ROLE_OPS,
    ROLE_WATERMARK,
    ROLE_KIND,
    ROLE_KEY,
    ROLE_CONTENT,
    ROLE_OTS,
    ROLE_LOCK,
    ROLES
};

/* The uses of a field or symbol: a field's role, and what a symbol is, or AVRO_NO_WORD. */
enum { USE_ROLE, USE_KIND, USE_STATUS, USE_WRITES };
enum { AVRO_NO_WORD = 0xff };

/* The use of a record: it has a field of the role ROLE_WATERMARK. */
enum { AVRO_MAY_BE_WATERMARK = 1 };

/* READ, WRITE, DELETE, APPEND or their first letters, in any case of letters, as enum
 * iso_operation_kind; COMMITTED, ABORTED, UNKNOWN as ISO_COMMITTED, ...; ALL as 0, CDC as
 * ISO_MARK_CDC_WRITES; or AVRO_NO_WORD. */
uint8_t avro_kind_of(const char *word, size_t size);
uint8_t avro_status_of(const char *word, size_t size);
uint8_t avro_writes_of(const char *word, size_t size);

/* An iso_schema_parse and its iso_schema_forget. */
void *history_avro_parse(const char *text, size_t length, struct iso_error *error);
