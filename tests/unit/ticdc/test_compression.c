/* Compressed messages: of each protocol that compresses, damaged ones, and ones that grow too
 * large. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "connectors/ticdc/ticdc.h"
#include "tests/support/decoding.h"
#include "tests/support/pack.h"
#include "tests/support/test.h"

static const char canal[] =
    "{\"database\":\"db\",\"table\":\"t\",\"pkNames\":[\"id\"],\"type\":\"INSERT\",\"data\":[{\"id\":\"1\",\"v\":\"1\"}],"
    "\"_tidb\":{\"commitTs\":9}}";

static void start(struct decoding *decoding, const char *format, const char *compression)
{
    decoding_start(
        decoding, &iso_ticdc_decoder,
        &(struct iso_decoder_options){.format = format, .compression = compression, .value = "v"});
}

static void payloads(void **state)
{
    (void)state;
    static const char *const kinds[] = {"lz4", "snappy"};
    for (int k = 0; k < 2; k++) {
        struct decoding decoding;
        struct iso_text packed = {0};
        start(&decoding, "canal-json", kinds[k]);
        pack(&packed, kinds[k], canal, sizeof canal - 1);
        for (int twice = 0; twice < 2; twice++)
            assert_string_equal(decoding_of(&decoding, NULL, 0, packed.bytes, packed.used),
                                "ROW insert db.t/1: - -> 1 cts 9\n");
        for (size_t length = 0; length < packed.used; length++)
            assert_memory_equal(decoding_of(&decoding, NULL, 0, packed.bytes, length), "ERROR ", 6);
        assert_memory_equal(decoding_of(&decoding, NULL, 0, canal, sizeof canal - 1), "ERROR ", 6);
        assert_string_equal(decoding_of_text(&decoding, NULL), "IGNORED tombstone\n");
        iso_text_release(&packed);
        decoding_end(&decoding);
    }
}

static void keys_of_debezium(void **state)
{
    (void)state;
    static const char key
        [] = "{\"payload\":{\"id\":1}}",
     value[] =
         "{\"payload\":{\"source\":{\"commit_ts\":9,\"db\":\"db\",\"table\":\"t\"},\"op\":\"c\",\"after\":{\"id\":1,\"v\":1}},"
         "\"schema\":{\"fields\":[{\"field\":\"after\",\"fields\":[{\"field\":\"v\"}]}]}}";
    struct decoding decoding;
    struct iso_text packed = {0}, packed_key = {0};
    start(&decoding, "debezium", "snappy");
    pack(&packed_key, "snappy", key, sizeof key - 1);
    pack(&packed, "snappy", value, sizeof value - 1);
    assert_string_equal(
        decoding_of(&decoding, packed_key.bytes, packed_key.used, packed.bytes, packed.used),
        "ROW insert db.t/1: - -> 1 cts 9\n");
    assert_string_equal(decoding_of(&decoding, NULL, 0, packed.bytes, packed.used),
                        "ERROR a row without a key\n");
    iso_text_release(&packed);
    iso_text_release(&packed_key);
    decoding_end(&decoding);
}

/* open-protocol compresses each value, not the batch; a watermark has none. */
static void values_of_open(void **state)
{
    (void)state;
    static const char key
        [] =
            "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\x29{\"ts\":9,\"scm\":\"db\",\"tbl\":\"t\",\"t\":1,\"r\":0}",
     resolved[] = "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\x0e{\"ts\":9,\"t\":3}",
     row[] =
         "{\"u\":{\"id\":{\"t\":3,\"h\":true,\"f\":11,\"v\":1},\"v\":{\"t\":3,\"f\":0,\"v\":1}}}";
    struct decoding decoding;
    struct iso_text packed = {0}, value = {0};
    start(&decoding, "open-protocol", "lz4");
    pack(&packed, "lz4", row, sizeof row - 1);
    iso_text_put_bytes(&value, "\0\0\0\0\0\0\0", 7);
    iso_text_put_bytes(&value, &(uint8_t){(uint8_t)packed.used}, 1);
    iso_text_put_bytes(&value, packed.bytes, packed.used);
    assert_string_equal(decoding_of(&decoding, key, sizeof key - 1, value.bytes, value.used),
                        "ROW update db.t/1: ? -> 1 cts 9\n");
    assert_string_equal(decoding_of(&decoding, resolved, sizeof resolved - 1, "\0\0\0\0\0\0\0", 8),
                        "WATERMARK 9\n");
    iso_text_release(&packed);
    iso_text_release(&value);
    decoding_end(&decoding);
}

/* Sixty-four mebibytes of spaces are a few hundred kilobytes when packed. */
static void what_grows_too_large(void **state)
{
    (void)state;
    static const char *const kinds[] = {"lz4", "snappy"};
    size_t size = (64 << 20) + 1;
    char *spaces = malloc(size);
    assert_non_null(spaces);
    memset(spaces, ' ', size);
    for (int k = 0; k < 2; k++) {
        struct decoding decoding;
        struct iso_text packed = {0};
        start(&decoding, "canal-json", kinds[k]);
        pack(&packed, kinds[k], spaces, size);
        assert_string_equal(decoding_of(&decoding, NULL, 0, packed.bytes, packed.used),
                            "ERROR a payload of more than 67108864 bytes when unpacked\n");
        iso_text_release(&packed);
        decoding_end(&decoding);
    }
    free(spaces);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payloads), cmocka_unit_test(keys_of_debezium),
        cmocka_unit_test(values_of_open), cmocka_unit_test(what_grows_too_large)};
    return cmocka_run_group_tests_name("ticdc compression", tests, NULL, NULL);
}
