/* A reader of history formats never crashes, says what is wrong of what it refuses, and what it accepts can be finished
 * (or is refused with a reason), written in every format (or refused) and read back. */
#ifndef TESTS_FUZZ_FORMAT_H
#define TESTS_FUZZ_FORMAT_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/write_history.h"
#include "tests/fuzz/fuzz.h"

/* A name of our own below /tmp; Cobra's are directories with one log. */
static inline void fuzz_place(enum iso_format format, const char *use, char path[64], char file[80])
{
    snprintf(path, 64, "/tmp/fuzz-%s-%s-%d", iso_format_name(format), use, (int)getpid());
    if (format == ISO_FORMAT_COBRA) {
        mkdir(path, 0700);
        snprintf(file, 80, "%s/T1.log", path);
    } else {
        snprintf(file, 80, "%s", path);
    }
}

static inline void fuzz_put(const char *path, const uint8_t *data, size_t size)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_CHECK(descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size);
    close(descriptor);
}

static inline void fuzz_write(const struct iso_history *history, int index)
{
    struct iso_output output;
    struct iso_history_writer writer;
    struct iso_history again;
    struct iso_error error = {.status = ISO_OK};
    char path[64], file[80];
    enum iso_format format = iso_written_format(index);
    fuzz_place(format, "written", path, file);
    FUZZ_CHECK(iso_output_open(&output, file, &error) == ISO_OK);
    iso_history_writer_init(&writer, &output, format);
    enum iso_status status = iso_history_writer_add(&writer, history, &error);
    iso_history_writer_end(&writer);
    if (status != ISO_OK) {
        FUZZ_CHECK(error.status == ISO_BAD_INPUT && error.text[0]);
        iso_output_discard(&output);
        return;
    }
    FUZZ_CHECK(iso_output_close(&output, &error) == ISO_OK);
    iso_history_init(&again);
    if (!iso_format_is_native(format) && iso_format_read(format, path, &again, &error) != ISO_OK)
        FUZZ_CHECK(strstr(error.text, "no transaction here"));
    iso_history_release(&again);
}

static inline void fuzz_format(enum iso_format format, const uint8_t *data, size_t size)
{
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    char path[64], file[80];
    fuzz_place(format, "read", path, file);
    fuzz_put(file, data, size);
    iso_format_of_text((const char *)data, size);
    iso_history_init(&history);
    if (iso_format_read(format, path, &history, &error) == ISO_OK && iso_history_finish(&history, &error) == ISO_OK) {
        FUZZ_CHECK(history.transaction_count > 0);
        for (int index = 2; index < 9; index++) /* native and TimeKiller's stand before */
            fuzz_write(&history, index);
    } else {
        FUZZ_CHECK(error.status == ISO_BAD_INPUT && error.text[0]);
    }
    iso_history_release(&history);
}

#define FUZZ_FORMAT(format)                                                                                               \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                                          \
    {                                                                                                                     \
        fuzz_format(format, data, size);                                                                                  \
        return 0;                                                                                                         \
    }

#endif
