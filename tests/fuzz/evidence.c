/* Evidence from anywhere: reading it never crashes, and what can be read is confirmed or refused with a reason. The
 * first bytes, up to a line "---", are a history in one-operation-a-line text, the rest is the evidence. */
#define _GNU_SOURCE
#include "io/evidence.h"
#include "tests/fuzz/format.h"
#include "verify/verify.h"

static const uint8_t *find_rule(const uint8_t *data, size_t size)
{
    return size ? memmem(data, size, "\n---\n", 5) : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_history history;
    struct iso_evidence evidence;
    struct iso_error error = {.status = ISO_OK};
    char path[64], file[80];
    const uint8_t *rule = find_rule(data, size);
    if (!rule)
        return 0;
    iso_history_init(&history);
    iso_evidence_init(&evidence);
    fuzz_place(ISO_FORMAT_TEXT, "judged", path, file);
    fuzz_put(path, data, (size_t)(rule + 1 - data));
    if (iso_format_read(ISO_FORMAT_TEXT, path, &history, &error) == ISO_OK &&
        iso_history_finish(&history, &error) == ISO_OK) {
        fuzz_place(ISO_FORMAT_TEXT, "evidence", path, file);
        fuzz_put(path, rule + 5, (size_t)(data + size - rule - 5));
        if (iso_evidence_read(path, &history, &evidence, &error) == ISO_OK)
            iso_verify(&history, &evidence, &error);
        FUZZ_CHECK(error.status == ISO_OK || error.text[0]);
    }
    iso_evidence_release(&evidence);
    iso_history_release(&history);
    return 0;
}
