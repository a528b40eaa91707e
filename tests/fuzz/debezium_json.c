/* Any bytes as a message of Debezium's in JSON, with and without schemas. */
#include "connectors/debezium/debezium.h"
#include "tests/fuzz/debezium.h"

FUZZ_DEBEZIUM(FEED_JSON)
