/* Any bytes as a line of test_decoding. */
#include "connectors/debezium/debezium.h"
#include "tests/fuzz/debezium.h"

FUZZ_DEBEZIUM(FEED_TEST_DECODING)
