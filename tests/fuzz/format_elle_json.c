/* See format.h. */
#define _GNU_SOURCE
#include "tests/fuzz/format.h"

FUZZ_FORMAT(ISO_FORMAT_ELLE_JSON)
