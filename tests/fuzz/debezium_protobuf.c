/* Any bytes as a message of Debezium's in Protobuf under the schemas of
 * tests/support/feed_debezium. */
#include "connectors/debezium/debezium.h"
#include "tests/fuzz/debezium.h"

FUZZ_DEBEZIUM(FEED_PROTOBUF)
