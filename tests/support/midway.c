#include "tests/support/midway.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/dgraph/dgraph.h"
#include "connectors/history/record.h"

enum { TRANSACTIONS = 80, KEYS = 7, LINE = 512 };

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    (void)context, (void)line, (void)length, (void)error;
    return ISO_OK;
}

struct iso_pipeline *midway_new(void)
{
    struct iso_pipeline_options options;
    struct iso_decoder_options json = {.format = "json"};
    struct iso_error error = {.status = ISO_OK};
    iso_pipeline_options_init(&options);
    options.engine.shards = 2;
    options.join.kind = "dgraph";
    options.join.clients = true;
    options.sink = sink;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    iso_pipeline_route(pipeline, "cdc",
                       iso_dgraph_decoder.create(&(struct iso_decoder_options){0}, &error), false);
    iso_pipeline_route(pipeline, "clients", iso_record_decoder.create(&json, &error), false);
    return pipeline;
}

static void feed(struct iso_pipeline *pipeline, const char *topic, int64_t offset, const char *line)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_message message = {
        .topic = topic,
        .offset = offset,
        .input = iso_inputs_number(iso_pipeline_inputs(pipeline), topic, strlen(topic), 0),
        .payload = {(const uint8_t *)line, (uint32_t)strlen(line)}};
    if (iso_pipeline_feed(pipeline, &message, 1, (uint64_t)offset, &error) != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
}

/* Each overlaps its neighbours and meets the writer of its key seven before it; some read what is
 * old. */
void midway_fill(struct iso_pipeline *pipeline)
{
    char line[LINE];
    int64_t rows = 0, records = 0;
    for (unsigned i = 1; i <= TRANSACTIONS; i++) {
        unsigned key = i % KEYS + 1, started = 10 * i, committed = 10 * i + (i % 9 == 0 ? 105 : 15),
                 stale = i % 11 == 0;
        if (i % 10 != 0) { /* the others' clients have nothing to say, or not yet */
            snprintf(
                line, sizeof line,
                "{\"tid\":%u,\"sid\":%u,\"sts\":%u,\"cts\":%u,\"ops\":[{\"t\":\"r\",\"k\":\"v/0x%x\",\"v\":%u},"
                "{\"t\":\"w\",\"k\":\"v/0x%x\",\"v\":%u}]}",
                i, i % 4, started, committed, key, stale || i <= KEYS ? 1 : 1000 + i - KEYS, key,
                1000 + i);
            feed(pipeline, "clients", records++, line);
        }
        if (i % 8 != 0 && i < TRANSACTIONS - 10) { /* rows come later than records */
            snprintf(
                line, sizeof line,
                "{\"meta\":{\"commit_ts\":%u},\"type\":\"mutation\",\"event\":{\"operation\":\"set\",\"uid\":%u,"
                "\"attr\":\"v\",\"value\":%u,\"value_type\":\"int\"}}",
                committed, key, 1000 + i);
            feed(pipeline, "cdc", rows++, line);
        }
        if (i == TRANSACTIONS / 2)
            feed(pipeline, "clients", records++, "{\"watermark\":300}");
    }
}
