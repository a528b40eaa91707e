/* Any bytes as a client record in avro. See decoder.h. */
#include "connectors/history/record.h"
#include "tests/fuzz/decoder.h"

FUZZ_DECODER(iso_record_decoder, .format = "avro")
