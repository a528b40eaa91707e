/* The reader of transactions never crashes, takes back what it refuses, and accepts only what
 * jansson takes for JSON; and the same text read as lines, or as an array in pieces of any size,
 * says the same.
 *
 * As a libFuzzer target: clang -fsanitize=fuzzer,address,undefined. With -DISO_FUZZ_MAIN: runs over
 * files.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "native/native.h"
#include "native/split.h"
#include "tests/fuzz/fuzz.h"

static void accepted_is_json(const char *text, size_t size)
{
    json_error_t error;
    json_t *theirs = json_loadb(text, size, JSON_ALLOW_NUL, &error);
    if (!theirs) {
        enum json_error_code code = json_error_code(&error);
        FUZZ_CHECK(code == json_error_numeric_overflow || code == json_error_null_byte_in_key);
    } else {
        FUZZ_CHECK(json_is_object(theirs) && json_object_get(theirs, "tid") &&
                   json_is_array(json_object_get(theirs, "ops")));
    }
    json_decref(theirs);
}

/* As an element of an array the text ends where the splitter says. */
static void split_agrees(const char *text, size_t size)
{
    struct iso_split split = {0};
    char *element = malloc(size + 2 + ISO_JSON_PADDING);
    memcpy(element, text, size);
    memcpy(element + size, ",", 1);
    iso_split_scan(&split, element, size + 1, true);
    while (size && strchr(" \t\r\n", text[size - 1]))
        size--;
    FUZZ_CHECK(split.last == size && !split.closed);
    free(element);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_native native;
    struct iso_native_fault fault;
    struct iso_history history;
    char *text = fuzz_padded(data, size);
    iso_native_init(&native);
    native.of_file = true;
    iso_history_init(&history);
    for (uint32_t round = 0; round < 2; round++) {
        if (iso_native_read_transaction(&native, text, size, 1, &history, &fault) == ISO_OK) {
            FUZZ_CHECK(history.txns.count == round + 1);
            accepted_is_json(text, size);
            split_agrees(text, size);
        } else {
            FUZZ_CHECK(history.txns.count == 0 && history.ops.count == 0 &&
                       history.clock == ISO_CLOCK_NONE && !history.whole_rows);
            FUZZ_CHECK(fault.kind != ISO_FAULT_NONE && fault.position <= size && fault.text[0]);
        }
    }
    if (iso_native_read_initial(&native, text, size, &history, &fault) != ISO_OK)
        FUZZ_CHECK(fault.position <= size && fault.text[0]);
    iso_history_release(&history);
    iso_native_release(&native);
    free(text);
    return 0;
}
