/* Debezium's messages as CloudEvents in JSON: what stands in the envelope and in `source` otherwise
 * is attributes, as strings, and before and after are inside `data`.
 *
 *     {"id":"name:srv;lsn:29274832;txId:565","source":"/debezium/postgresql/srv","specversion":"1.0",..,
 *      "iodebeziumop":"u","iodebeziumconnector":"postgresql","iodebeziumlsn":"29274832",..,
 *      "iodebeziumtxid":"565","iodebeziumtxtotalorder":"1","data":{"before":{..},"after":{..}}}
 */
#pragma once

#include "connectors/envelope/envelope.h"

/* The meaning of an attribute's name; ISO_MEMBER_DATA: `data`, if the message is a CloudEvent. */
enum iso_member envelope_cloud_member(const char *name, size_t length);

/* A CloudEvent is known by its source, which is a string, and stands before its data. */
static inline bool envelope_is_cloud_event(const struct iso_envelope *envelope)
{
    return iso_envelope_saw(envelope, ISO_MEMBER_SOURCE) &&
           envelope->member[ISO_MEMBER_SOURCE].kind == ISO_CELL_TEXT;
}
