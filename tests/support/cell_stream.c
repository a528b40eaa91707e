#include "tests/support/cell_world.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "connectors/debezium/debezium.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "tests/support/feed_ticdc.h"
#include "tests/support/feed_yugabyte.h"

const struct cell_format cell_formats[] = {
    {"debezium-json", "debezium", NULL, FEED_JSON, false, false},
    {"debezium-json-schemas", "debezium", NULL, FEED_JSON_SCHEMAS, false, false},
    {"debezium-avro", "debezium", NULL, FEED_AVRO, false, false},
    {"debezium-protobuf", "debezium", NULL, FEED_PROTOBUF, false, false},
    {"mariadb-alone", "debezium", NULL, FEED_JSON, true, true},
    {"mariadb-avro-alone", "debezium", NULL, FEED_AVRO, true, true},
    {"ticdc-canal-json", "ticdc", "canal-json", FEED_JSON, false, false},
    {"ticdc-open-protocol", "ticdc", "open-protocol", FEED_JSON, false, false},
    {"ticdc-simple", "ticdc", "simple", FEED_JSON, false, false},
    {"ticdc-debezium", "ticdc", "debezium", FEED_JSON, false, false},
    {"ticdc-alone", "ticdc", "canal-json", FEED_JSON, true, false},
    {"yugabyte", "yugabyte", NULL, FEED_JSON, false, false},
    {"yugabyte-alone", "yugabyte", NULL, FEED_JSON, true, false},
    {NULL},
};

/* Rows as "V|W". */
static iso_atom row_text(struct iso_history *history, const struct cells *cells)
{
    char text[CELL_TEXT], v[16] = "~", w[16] = "~";
    if (cells->v != CELL_NULL)
        snprintf(v, sizeof v, "%d", cells->v);
    if (cells->w != CELL_NULL)
        snprintf(w, sizeof w, "%d", cells->w);
    snprintf(text, sizeof text, "%s|%s", v, w);
    return iso_atoms_add_string(&history->atoms, text, strlen(text));
}

/* Rows of the world for keys of the history. */
static void tell_rows(const struct iso_history *history, struct feed *feed)
{
    for (uint32_t i = 0; i < feed->count; i++) {
        char buffer[ISO_ATOM_TEXT_MAX], digits[CELL_TEXT];
        size_t length;
        struct feed_tag *tag = &feed->tags[i];
        if (tag->part != FEED_ROW && tag->part != FEED_SNAPSHOT_ROW)
            continue;
        const char *key = iso_atom_text(&history->atoms, history->key_atom[tag->key], buffer, &length);
        snprintf(digits, sizeof digits, "%.*s", (int)length, key);
        tag->key = (uint32_t)atoi(strchr(digits, '/') + 1) - 1;
    }
}

bool cell_write_feed(struct cell_world *world, struct feed *feed)
{
    struct iso_history history;
    uint64_t *commits = iso_allocate_zeroed(world->capacity, sizeof *commits);
    struct random *random = &world->random;
    char key[CELL_TEXT];
    iso_history_init(&history);
    iso_history_input(&history, "feed");
    history.clock = ISO_CLOCK_SCALAR;
    for (uint32_t row = 0; row < world->rows; row++)
        if (world->initial[row].exists)
            iso_history_initial(&history, cell_atom(&history, cell_key_of(world, row, key)),
                                row_text(&history, &world->initial[row]), false);
    for (uint32_t t = 0; t < world->count; t++) {
        const struct cell_transaction *transaction = &world->list[t];
        char name[CELL_TEXT];
        cell_name_of(world, t, name);
        bool committed = transaction->cts && transaction->writes;
        uint64_t offset = cell_is_of(world, "yugabyte") ? 0 : world->base;
        commits[t] = committed ? offset + transaction->cts : 0;
        iso_history_begin(&history, cell_atom(&history, name), cell_atom(&history, name),
                          committed ? ISO_COMMITTED : ISO_ABORTED, iso_origin(0, t + 1));
        iso_history_set_sts(&history, (struct iso_stamp){.physical = offset + transaction->sts});
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct cell_operation *operation = &transaction->operations[i];
            if (cell_writes(operation))
                iso_history_operation(&history, operation->kind == CELL_DELETE ? ISO_DELETE : ISO_WRITE,
                                      cell_atom(&history, cell_key_of(world, operation->row, key)),
                                      operation->kind == CELL_DELETE ? ISO_ABSENT
                                                                     : row_text(&history, &operation->after));
        }
    }
    uint64_t seed = random_bits(random);
    uint32_t lanes = 1 + random_below(random, 3), restarts = random_below(random, 3);
    bool fits =
        cell_is_of(world, "debezium")
            ? feed_debezium_write(feed, &history,
                                  &(struct feed_debezium_options){.seed = seed,
                                                                  .format = world->format->encoding,
                                                                  .binlog = world->format->binlog,
                                                                  .cells = true,
                                                                  .metadata = true,
                                                                  .snapshot = true,
                                                                  .partitions = lanes,
                                                                  .restarts = restarts,
                                                                  .first_xid = CELL_FIRST_XID,
                                                                  .commits = commits})
        : cell_is_of(world, "ticdc")
            ? feed_ticdc_write(feed, &history,
                               &(struct feed_ticdc_options){.seed = seed,
                                                            .format = world->format->protocol,
                                                            .topic = "ticdc",
                                                            .partitions = lanes,
                                                            .restarts = restarts,
                                                            .every = 1 + random_below(random, 4),
                                                            .start_ts = true,
                                                            .cells = true,
                                                            .drops_unchanged = true,
                                                            .commits = commits})
            : feed_yugabyte_write(feed, &history,
                                  &(struct feed_yugabyte_options){
                                      .seed = seed, .tablets = lanes, .restarts = restarts, .commits = commits});
    feed_finish(feed);
    tell_rows(&history, feed);
    iso_free(commits);
    iso_history_release(&history);
    return fits;
}
static bool next_string(const char **at, const char *before, char *text, size_t size)
{
    const char *start = strstr(*at, before);
    if (!start)
        return false;
    start += strlen(before);
    const char *end = strchr(start, '"');
    snprintf(text, size, "%.*s", (int)(end - start), start);
    *at = end;
    return true;
}

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct cell_world *world = context;
    char copy[4096], axiom[32], tid[64], other[64], key[64] = "", text[CELL_TEXT * 2];
    const char *at = copy;
    (void)error;
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    if (getenv("SHOW_LINES"))
        printf("# %s", copy);
    bool retracted = strstr(copy, "\"state\":\"retracted\"");
    if (!retracted && !strstr(copy, "\"state\":\"final\""))
        return ISO_OK;
    next_string(&at, "\"axiom\":\"", axiom, sizeof axiom);
    next_string(&at, "\"tids\":[\"", tid, sizeof tid);
    bool pair = !strcmp(axiom, "NOCONFLICT") && next_string(&at, ",\"", other, sizeof other);
    at = copy;
    next_string(&at, "\"key\":\"", key, sizeof key);
    snprintf(text, sizeof text, pair ? "%s %s,%s %s" : "%s %s%.0s %s", axiom, tid, pair ? other : "", key);
    bool is_doubtful = strstr(copy, "\"doubtful\":");
    if (retracted)
        cell_drop_found(&world->found, text);
    else
        cell_add_found(is_doubtful ? &world->doubted : &world->found, text);
    return ISO_OK;
}
static void add_routes(struct cell_world *world, struct iso_pipeline *pipeline, struct iso_error *error)
{
    static const char *const debezium[] = {"dbz.public.t0", "dbz.public.t1",   "dbz.public.t2",
                                           "dbz.public.t3", "dbz.transaction", NULL};
    static const char *const yugabyte[] = {"yb.public.t0", "yb.public.t1",   "yb.public.t2",
                                           "yb.public.t3", "yb.transaction", NULL};
    struct iso_decoder_options options = {.cells = "true", .identity = ISO_IDENTITY_FULL};
    if (cell_is_of(world, "debezium"))
        options = feed_debezium_decoding(world->format->encoding);
    if (cell_is_of(world, "ticdc"))
        feed_ticdc_decoder_options(world->format->protocol, &options);
    options.value = NULL;
    options.cells = "true";
    options.identity = ISO_IDENTITY_FULL;
    const char *const *topics = cell_is_of(world, "debezium") ? debezium : yugabyte;
    const struct iso_decoder_class *class =
        cell_is_of(world, "debezium") ? &iso_debezium_decoder : &iso_yugabyte_decoder;
    if (cell_is_of(world, "ticdc"))
        iso_pipeline_route(pipeline, "ticdc", iso_ticdc_decoder.create(&options, error), false);
    for (; !cell_is_of(world, "ticdc") && *topics; topics++)
        iso_pipeline_route(pipeline, *topics, class->create(&options, error), false);
    iso_pipeline_route(pipeline, "clients",
                       iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, error), false);
}

struct iso_pipeline *cell_open_pipeline(struct cell_world *world)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    iso_pipeline_options_init(&options);
    options.engine.level = ISO_SI;
    options.join.kind = world->format->kind;
    options.join.clients = !world->format->alone;
    options.join.initial_known = !cell_is_of(world, "debezium") || world->format->binlog;
    options.sink = sink;
    options.sink_context = options.context = world;
    options.final_only = true;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    add_routes(world, pipeline, &error);
    if (error.status != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    return pipeline;
}

/* Where no snapshot says it. */
void cell_set_initial(struct cell_world *world, struct iso_pipeline *pipeline)
{
    struct iso_history history;
    char key[CELL_TEXT], cell[CELL_TEXT * 2];
    iso_history_init(&history);
    for (uint32_t row = 0; row < world->rows && !cell_is_of(world, "debezium"); row++) {
        if (!world->initial[row].exists)
            continue;
        iso_history_initial(&history, cell_atom(&history, cell_key_of(world, row, key)), cell_atom(&history, "true"),
                            false);
        for (int is_w = 0; is_w < 2; is_w++) {
            snprintf(cell, sizeof cell, "%s#%s", key, is_w ? cell_second_column(world) : "v");
            iso_history_initial(
                &history, cell_atom(&history, cell),
                cell_atom_of(world, &history, is_w, is_w ? world->initial[row].w : world->initial[row].v), false);
        }
    }
    iso_pipeline_initial(pipeline, &history);
    iso_history_release(&history);
}
