/* A decoder that went through an archive: what it has learned, in a new one. */
#ifndef TESTS_SUPPORT_ARCHIVED_H
#define TESTS_SUPPORT_ARCHIVED_H

#include <stdio.h>
#include <unistd.h>

#include "base/archive.h"
#include "values/source.h"
#include "tests/support/test.h"

/* Gives the new one; the old one is gone. */
static inline struct iso_decoder *decoder_archived(struct iso_decoder *decoder,
                                                   const struct iso_decoder_options *options)
{
    const struct iso_decoder_class *class = decoder->class;
    struct iso_archive archive;
    struct iso_error error = {0};
    FILE *file = tmpfile();
    assert_non_null(file);
    iso_archive_save(&archive, fileno(file), "test", &error);
    class->archive(decoder, &archive);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    class->destroy(decoder);
    decoder = class->create(options, &error);
    assert_non_null(decoder);
    assert_int_equal(lseek(fileno(file), 0, SEEK_SET), 0);
    iso_archive_restore(&archive, fileno(file), "test", &error);
    class->archive(decoder, &archive);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    assert_string_equal(error.text, "");
    fclose(file);
    return decoder;
}

#endif
