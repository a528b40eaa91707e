/* Any text as a schema of Avro (even first byte) or Protobuf (odd), and any bytes as a message of
 * it: two bytes of length, the schema, the message. Whatever a schema says, reading ends, and
 * within bounds. */
#include "connectors/yugabyte/yugabyte.h"
#include "tests/fuzz/debezium.h"

static enum iso_status find(void *context, uint32_t id, struct iso_schema *schema,
                            struct iso_error *error)
{
    (void)id;
    (void)error;
    *schema = *(const struct iso_schema *)context;
    return ISO_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_error error = {0};
    struct iso_events events;
    if (size < 3)
        return 0;
    bool protobuf = data[0] & 1;
    size_t length = (size_t)data[1] << 8 | data[2];
    length = length < size - 3 ? length : size - 3;
    char *text = malloc(length + 1);
    uint8_t *framed = malloc(size - length + 8);
    FUZZ_CHECK(text && framed);
    memcpy(text, data + 3, length);
    text[length] = 0;
    struct iso_schema schema = {protobuf ? ISO_SCHEMA_PROTOBUF : ISO_SCHEMA_AVRO, text, length};
    struct iso_schema_provider registry = {find, &schema};
    struct iso_decoder_options options = {
        .format = protobuf ? "protobuf" : "avro", .framed = true, .registry = &registry};
    struct iso_decoder *decoder = iso_yugabyte_decoder.create(&options, &error);
    FUZZ_CHECK(decoder);
    /* no key, then the frame of schema 1 (Protobuf: its first message) */
    memcpy(framed, "\xff\0\0\0\0\1\0", 7);
    size_t head = protobuf ? 7 : 6;
    memcpy(framed + head, data + 3 + length, size - 3 - length);
    iso_events_init(&events);
    fuzz_decode(decoder, &events, framed, head + size - 3 - length);
    iso_events_release(&events);
    iso_yugabyte_decoder.destroy(decoder);
    free(framed);
    free(text);
    return 0;
}
