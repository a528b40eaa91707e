/* Any bytes as a capture's line: refused with a place, or a message inside its bounds. */
#include <stdlib.h>

#include "base/memory.h"
#include "capture/parse.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = fuzz_padded(data, size), *storage = iso_allocate(size);
    struct iso_capture_line parsed = {0};
    if (iso_capture_parse(line, size, storage, &parsed)) {
        bool has_place = parsed.kind != ISO_CAPTURE_REACHES && parsed.kind != ISO_CAPTURE_RECORDING;
        FUZZ_CHECK(parsed.used <= size && (!has_place || parsed.topic.size) &&
                   parsed.message.offset >= 0);
    } else {
        FUZZ_CHECK(parsed.json.code != ISO_JSON_FINE && parsed.json.position <= size);
    }
    iso_json_release(&parsed.json);
    iso_free(parsed.headers);
    iso_free(storage);
    free(line);
    return 0;
}
