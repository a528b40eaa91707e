/* Any bytes as a settings file: refused with file and line, or settings inside its bounds, each of
 * which is read back as it is once it has been written. */
#include "base/settings.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

static void read_back(const struct iso_setting *setting)
{
    struct iso_text text = {0};
    struct iso_settings settings;
    struct iso_setting again;
    struct iso_error error = {0};
    iso_text_put(&text, "name = ");
    iso_settings_put_value(&text, setting->value);
    iso_text_put(&text, "  # origin\n");
    size_t length = text.used - 1;
    iso_settings_init(&settings, "copy", text.bytes, length);
    FUZZ_CHECK(iso_settings_next(&settings, &again, &error));
    FUZZ_CHECK(!strcmp(again.name, "name") && !strcmp(again.value, setting->value) &&
               again.line == 1);
    iso_text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_settings settings;
    struct iso_setting setting;
    struct iso_error error = {0};
    char *text = iso_allocate(size + 1);
    unsigned line = 0;
    memcpy(text, data, size);
    iso_settings_init(&settings, "fuzz", text, size);
    while (iso_settings_next(&settings, &setting, &error)) {
        FUZZ_CHECK(setting.line > line && *setting.name);
        line = setting.line;
        FUZZ_CHECK(setting.value >= text && setting.value + strlen(setting.value) <= text + size);
        read_back(&setting);
    }
    FUZZ_CHECK(error.status == ISO_OK ||
               (error.status == ISO_BAD_INPUT && !strncmp(error.text, "fuzz:", 5)));
    iso_free(text);
    return 0;
}
