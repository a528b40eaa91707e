/* What is shown of any text: redacted it stays as it is when it is redacted again; as a URL's
 * password it is never shown; and nothing of it is left that a terminal obeys. */
#include "base/memory.h"
#include "base/redact.h"
#include "base/shown.h"
#include "tests/fuzz/fuzz.h"

static void check_shown(const char *bytes, size_t size)
{
    struct iso_text shown = {0};
    iso_text_put_shown(&shown, bytes, size);
    FUZZ_CHECK(iso_is_shown_as_it_is(shown.bytes, shown.used));
    FUZZ_CHECK(iso_is_shown_as_it_is(bytes, size) == (shown.used == size));
    FUZZ_CHECK(iso_shown_rest(bytes, size) < 4);
    iso_text_release(&shown);
}

static void check_redacted(const char *string)
{
    char *once = iso_redacted(string), *twice = iso_redacted(once);
    FUZZ_CHECK(!strcmp(once, twice));
    FUZZ_CHECK(!strstr(once, "s3cret"));
    iso_free(twice);
    iso_free(once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_text url = {0};
    check_shown((const char *)data, size);
    iso_text_put(&url, "a https://");
    for (size_t i = 0; i < size; i++) /* what ends no URL */
        if (data[i] && !strchr(" \t\r\n", data[i]))
            iso_text_put_bytes(&url, data + i, 1);
    iso_text_put(&url, ":s3cret@host\nb");
    iso_text_put_bytes(&url, "", 1);
    check_redacted(url.bytes);
    iso_text_release(&url);
    return 0;
}
