/* Any bytes as a client record in protobuf. See decoder.h. */
#include "connectors/history/record.h"
#include "tests/fuzz/decoder.h"

FUZZ_DECODER(iso_record_decoder, .format = "protobuf")
