/* Any text as what options->schema may be: tables of simple and csv, and Avro records. */
#include <stdlib.h>
#include <string.h>

#include "connectors/ticdc/ticdc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"simple", "csv", "avro"};
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    for (int f = 0; f < 3; f++) {
        struct iso_error error = {0};
        struct iso_decoder *decoder = iso_ticdc_decoder.create(
            &(struct iso_decoder_options){.format = formats[f], .schema = text}, &error);
        if (!decoder != (error.text[0] != 0))
            abort();
        iso_ticdc_decoder.destroy(decoder);
    }
    free(text);
    return 0;
}
