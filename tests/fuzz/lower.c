/* Any text as SQL to be proved: what is refused has a place in the file, and what is not makes a
 * sound program. */
#include "lower/read.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_padded(data, size);
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_program program;
    unsigned line, column;
    iso_prove_program_init(&program);
    iso_prove_is_sql(text, size);
    if (iso_prove_read_sql(&program, "file", text, size, 1 + size % 2, 4, &error) == ISO_OK)
        iso_prove_program_validate(&program);
    else
        FUZZ_CHECK(error.status == ISO_BAD_INPUT &&
                   sscanf(error.text, "file:%u:%u: ", &line, &column) == 2);
    iso_prove_program_release(&program);
    free(text);
    return 0;
}
