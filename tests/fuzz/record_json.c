/* Any bytes as a client record in json. See decoder.h. */
#include "connectors/history/record.h"
#include "tests/fuzz/decoder.h"

FUZZ_DECODER(iso_record_decoder, .format = "json")
