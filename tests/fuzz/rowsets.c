/* What queries returned, as records say it: aggregates, rows without keys, conditions, bounds,
 * whatever they are. Judged by their moments, each query is judged, or is not with a reason, and so
 * is the same history a second time; and what they mean for an order can be said.
 *
 * A byte of what columns are; then records, a line each, behind some of a small table.
 */
#include <stdlib.h>
#include <string.h>

#include "native/native.h"
#include "rowsets/rowsets.h"
#include "tests/fuzz/fuzz.h"

enum { RECORDS = 64 };

static const char *const first[] = {
    "{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":2,\"ops\":[{\"t\":\"w\",\"row\":\"t/1\",\"cells\":{\"a\":1,\"b\":\"x\"}}]}",
    "{\"tid\":2,\"sid\":2,\"sts\":2,\"cts\":3,\"ops\":[{\"t\":\"w\",\"row\":\"t/2\",\"cells\":{\"a\":2.5,\"b\":null}}]}",
    "{\"tid\":3,\"sid\":3,\"sts\":3,\"cts\":4,\"ops\":[{\"t\":\"w\",\"row\":\"t/3\",\"cells\":{\"b\":\"y\"}}]}",
    "{\"tid\":4,\"sid\":4,\"sts\":6,\"cts\":7,\"ops\":[{\"t\":\"d\",\"row\":\"t/1\"}]}",
    "{\"tid\":5,\"sid\":5,\"cts\":90,\"ops\":[{\"t\":\"w\",\"row\":\"t/2\",\"cells\":{\"a\":7}}]}", /* of a log */
};

struct asked {
    struct iso_scalar_type type;
    uint64_t findings;
};

static struct iso_scalar_type type_of(void *context, struct iso_json_text table,
                                      struct iso_json_text column)
{
    (void)table;
    (void)column;
    return ((const struct asked *)context)->type;
}

static void key_of(void *context, struct iso_json_text table, struct iso_rowsets_key *key)
{
    (void)table;
    *key = (struct iso_rowsets_key){
        .parts = 1, .columns = {{"id", 2}}, .types = {((const struct asked *)context)->type}};
}

static void on_finding(void *context, const struct iso_rowsets_finding *finding)
{
    FUZZ_CHECK(finding->key.length && finding->table.length < finding->key.length);
    ((struct asked *)context)->findings++;
}

static struct iso_rowsets_options options_for(struct asked *asked, enum iso_level level,
                                              uint8_t byte)
{
    struct iso_rowsets_options options;
    iso_rowsets_options_init(&options);
    asked->type = (struct iso_scalar_type){.value = {.kind = (byte & 31) % ISO_VALUE_KINDS},
                                           .text = (byte >> 5) % 3};
    asked->findings = 0;
    options.level = level;
    options.type_of = type_of;
    options.key_of = byte & 128 ? key_of : NULL;
    options.on_finding = on_finding;
    options.context = asked;
    return options;
}

static void judge(const struct iso_history *history, enum iso_level level, uint8_t byte)
{
    struct asked asked, again;
    struct iso_rowsets_stats stats, same;
    struct iso_rowsets_options options = options_for(&asked, level, byte);
    iso_rowsets_check(history, &options, &stats);
    FUZZ_CHECK(stats.judged + stats.unjudged == stats.queries);
    options = options_for(&again, level, byte);
    iso_rowsets_check(history, &options, &same);
    FUZZ_CHECK(asked.findings == again.findings && stats.judged == same.judged &&
               stats.looked_at == same.looked_at);
}

static void read_record(struct iso_native *native, struct iso_history *history, const char *at,
                        size_t size)
{
    struct iso_native_fault fault;
    char *text = fuzz_padded((const uint8_t *)at, size);
    (void)iso_native_read_transaction(native, text, size, history->txns.count + 1, history, &fault);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_native native;
    struct iso_history history;
    struct iso_error error = ISO_NO_ERROR;
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    if (!size)
        return 0;
    iso_native_init(&native);
    native.of_file = true;
    iso_history_init(&history);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        read_record(&native, &history, first[i], strlen(first[i]));
    for (uint32_t i = 0; i < RECORDS && at < end; i++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        read_record(&native, &history, at, (size_t)((line ? line : end) - at));
        at = line ? line + 1 : end;
    }
    if (iso_history_finish(&history, &error) == ISO_OK) {
        struct asked asked;
        struct iso_rowsets_options options = options_for(&asked, ISO_SI, data[0]);
        judge(&history, ISO_SI, data[0]);
        judge(&history, ISO_SER, data[0]);
        if (data[0] & 0x80)
            history.clock = ISO_CLOCK_NONE;
        iso_rowsets_imply(&history, &options);
        FUZZ_CHECK(!iso_history_has_queries(&history) || history.ranges.are_implied);
    }
    iso_history_release(&history);
    iso_native_release(&native);
    return 0;
}
