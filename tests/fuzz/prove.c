/* Any bytes as a program of the core language: refused with file, line and column, or decided, or
 * undecided within its time; what is violated has been run again. */
#include "prove/report.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_prove_program program;
    struct iso_prove_result result;
    struct iso_prove_options options = {.seconds = 0.2, .unroll = size % 3};
    struct iso_error error = ISO_NO_ERROR;
    struct iso_text text = {0};
    iso_prove_program_init(&program);
    iso_prove_result_init(&result);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        options.levels[i] = true;
    enum iso_status status =
        iso_prove_read_core(&program, "fuzz", (const char *)data, size, 1 + size % 2, &error);
    if (status == ISO_OK) {
        iso_prove_program_validate(&program);
        status = iso_prove(&program, &options, &result, &error);
    }
    FUZZ_CHECK(status == ISO_OK || (status == ISO_BAD_INPUT && !strncmp(error.text, "fuzz:", 5)));
    for (uint32_t i = 0; status == ISO_OK && i < ISO_PROVE_LEVELS; i++) {
        const struct iso_prove_answer *answer = &result.answers[i];
        FUZZ_CHECK(answer->shown == (answer->outcome == ISO_IS_VIOLATED));
        FUZZ_CHECK(answer->outcome != ISO_IS_UNDECIDED || answer->reason);
    }
    if (status == ISO_OK) {
        iso_prove_report_text(&program, &result, &text);
        iso_prove_report_json(&program, &result, &text);
    }
    iso_text_release(&text);
    iso_prove_result_release(&result);
    iso_prove_program_release(&program);
    return 0;
}
