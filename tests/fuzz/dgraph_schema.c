/* Any text as a Dgraph schema: read or refused, and never read past its end. */
#include <stdlib.h>
#include <string.h>

#include "connectors/dgraph/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schema schema;
    struct iso_error error = {0};
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    if ((dgraph_schema_read(&schema, text, &error) == ISO_OK) != !error.text[0])
        abort();
    dgraph_schema_release(&schema);
    free(text);
    return 0;
}
