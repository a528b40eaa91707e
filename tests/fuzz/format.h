/* A reader of history formats never crashes, says what is wrong of what it refuses, and what it
 * accepts can be finished (or is refused with a reason), written in every format (or refused) and
 * read back. */
#ifndef TESTS_FUZZ_FORMAT_H
#define TESTS_FUZZ_FORMAT_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/write_history.h"
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

/* Directories are written as such. */
static inline void fuzz_write_directory(const struct iso_history *history, enum iso_format format)
{
    struct iso_history again;
    struct iso_history_loss loss;
    struct iso_error error = {.status = ISO_OK};
    char path[64], command[80];
    snprintf(path, sizeof path, "/tmp/fuzz-%s-directory-%d", iso_format_name(format),
             (int)getpid());
    if (iso_history_write_directory(path, format, history, &loss, &error) != ISO_OK) {
        FUZZ_CHECK(error.status == ISO_BAD_INPUT && error.text[0]);
        return;
    }
    iso_history_init(&again);
    if (iso_format_read(format, path, &again, &error) != ISO_OK)
        FUZZ_CHECK(strstr(error.text, "no transaction here") || strstr(error.text, "log file"));
    iso_history_release(&again);
    snprintf(command, sizeof command, "rm -r %s", path);
    FUZZ_CHECK(system(command) == 0);
}

static inline void fuzz_write(const struct iso_history *history, enum iso_format format)
{
    struct iso_output output;
    struct iso_history_writer writer;
    struct iso_history again;
    struct iso_error error = {.status = ISO_OK};
    char path[64], file[80];
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
    if (iso_format_read(format, path, &history, &error) == ISO_OK &&
        iso_history_finish(&history, &error) == ISO_OK) {
        FUZZ_CHECK(history.txns.count > 0);
        for (int to = ISO_FORMAT_DBCOP; to < ISO_FORMATS; to++)
            iso_format_is_directory((enum iso_format)to)
                ? fuzz_write_directory(&history, (enum iso_format)to)
                : fuzz_write(&history, (enum iso_format)to);
    } else {
        FUZZ_CHECK(error.status == ISO_BAD_INPUT && error.text[0]);
    }
    iso_history_release(&history);
}

#define FUZZ_FORMAT(format)                                                                        \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        fuzz_format(format, data, size);                                                           \
        return 0;                                                                                  \
    }

#endif
