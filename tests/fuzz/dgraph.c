/* Any bytes as a message of Dgraph's. See decoder.h. */
#include "connectors/dgraph/dgraph.h"
#include "tests/fuzz/decoder.h"

FUZZ_DECODER(iso_dgraph_decoder, .schema = "friend: uid . tags: [int] .")
