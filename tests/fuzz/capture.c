/* Any bytes as a capture's line: refused with a place, or a message inside its bounds. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "capture/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = iso_allocate(size), *storage = iso_allocate(size);
    struct iso_capture_line parsed = {0};
    memcpy(line, data, size);
    if (iso_capture_parse(line, size, storage, &parsed)) {
        bool has_place = parsed.kind != ISO_CAPTURE_REACHES && parsed.kind != ISO_CAPTURE_RECORDING;
        if (parsed.used > size || (has_place && parsed.topic.size == 0) || parsed.message.offset < 0)
            abort();
    } else if (!parsed.fault || parsed.fault_at > size) {
        abort();
    }
    iso_free(parsed.headers);
    iso_free(storage);
    iso_free(line);
    return 0;
}
