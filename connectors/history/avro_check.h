/* Whether bytes are one Avro value of a schema, without allocating anything.
 *
 * libavro 1.11 trusts the lengths in a message: it asks for whatever memory a string claims, leaks what is cut off, and
 * takes negative lengths. So nothing reaches it that this has not passed.
 */
#ifndef ISO_HISTORY_AVRO_CHECK_H
#define ISO_HISTORY_AVRO_CHECK_H

#include <avro.h>
#include <stdbool.h>
#include <stdint.h>

bool record_avro_check(avro_schema_t schema, const uint8_t *bytes, size_t size);

#endif
