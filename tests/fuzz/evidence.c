/* Evidence from anywhere: reading it never crashes, and what can be read is confirmed or refused
 * with a reason. The first bytes, up to a line "---", are a history in one-operation-a-line text,
 * or in the native format if they start with '{'; the rest is the evidence. */
#define _GNU_SOURCE
#include "evidence/evidence.h"
#include "native/read.h"
#include "tests/fuzz/format.h"
#include "verify/verify.h"

static const uint8_t *find_rule(const uint8_t *data, size_t size)
{
    return size ? memmem(data, size, "\n---\n", 5) : NULL;
}

static bool read_history(enum iso_format format, const char *path, struct iso_history *history,
                         struct iso_error *error)
{
    const struct iso_read_options options = {.threads = 1};
    enum iso_status status = format == ISO_FORMAT_NATIVE
                                 ? iso_read_history(&path, 1, &options, history, error)
                                 : iso_format_read(format, path, history, error);
    return status == ISO_OK && iso_history_finish(history, error) == ISO_OK;
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
    enum iso_format format = data[0] == '{' ? ISO_FORMAT_NATIVE : ISO_FORMAT_TEXT;
    iso_history_init(&history);
    iso_evidence_init(&evidence);
    fuzz_place(format, "judged", path, file);
    fuzz_put(path, data, (size_t)(rule + 1 - data));
    if (read_history(format, path, &history, &error)) {
        fuzz_place(format, "evidence", path, file);
        fuzz_put(path, rule + 5, (size_t)(data + size - rule - 5));
        if (iso_evidence_read(path, &history, &evidence, &error) == ISO_OK)
            iso_verify(&history, &evidence, &error);
        FUZZ_CHECK(error.status == ISO_OK || error.text[0]);
    }
    iso_evidence_release(&evidence);
    iso_history_release(&history);
    return 0;
}
