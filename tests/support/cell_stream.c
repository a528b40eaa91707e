#include "tests/support/cell_world.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "connectors/debezium/debezium.h"
#include "connectors/dgraph/dgraph.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "tests/support/feed_dgraph.h"
#include "tests/support/feed_ticdc.h"
#include "tests/support/feed_yugabyte.h"

const struct cell_format cell_formats[] = {
    {.name = "debezium-json", .kind = "debezium"},
    {.name = "debezium-json-schemas", .kind = "debezium", .encoding = FEED_JSON_SCHEMAS},
    {.name = "debezium-avro", .kind = "debezium", .encoding = FEED_AVRO},
    {.name = "debezium-protobuf", .kind = "debezium", .encoding = FEED_PROTOBUF},
    {.name = "test-decoding", .kind = "debezium", .encoding = FEED_TEST_DECODING},
    {.name = "debezium-values", .kind = "debezium", .registers = true},
    {.name = "debezium-no-metadata", .kind = "debezium", .no_metadata = true},
    {.name = "debezium-in-band", .kind = "debezium", .registers = true, .in_band = true},
    {.name = "mariadb", .kind = "debezium", .binlog = true},
    {.name = "mariadb-values", .kind = "debezium", .binlog = true, .registers = true},
    {.name = "mariadb-no-metadata", .kind = "debezium", .binlog = true, .no_metadata = true},
    {.name = "mariadb-alone", .kind = "debezium", .alone = true, .binlog = true},
    {.name = "mariadb-avro-alone",
     .kind = "debezium",
     .encoding = FEED_AVRO,
     .alone = true,
     .binlog = true},
    {.name = "ticdc-canal-json", .kind = "ticdc", .protocol = "canal-json"},
    {.name = "ticdc-open-protocol", .kind = "ticdc", .protocol = "open-protocol"},
    {.name = "ticdc-simple", .kind = "ticdc", .protocol = "simple"},
    {.name = "ticdc-debezium", .kind = "ticdc", .protocol = "debezium"},
    {.name = "ticdc-values", .kind = "ticdc", .protocol = "canal-json", .registers = true},
    {.name = "ticdc-alone", .kind = "ticdc", .protocol = "canal-json", .alone = true},
    {.name = "yugabyte", .kind = "yugabyte"},
    {.name = "yugabyte-values", .kind = "yugabyte", .registers = true},
    {.name = "yugabyte-alone", .kind = "yugabyte", .alone = true},
    {.name = "dgraph", .kind = "dgraph", .registers = true},
    {.name = "dgraph-one-group", .kind = "dgraph", .registers = true, .one_group = true},
    {.name = NULL},
};

/* "V|W". */
static iso_atom row_text(const struct cell_world *world, struct iso_history *history,
                         const struct cells *cells)
{
    char text[CELL_TEXT], v[16] = "~", w[16] = "~";
    if (world->format->registers)
        return cell_atom_of(world, history, false, cells->v);
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
        const char *key =
            iso_atom_text(&history->atoms, history->keys.atom[tag->key], buffer, &length);
        snprintf(digits, sizeof digits, "%.*s", (int)length, key);
        tag->key = (uint32_t)strtoul(strchr(digits, '/') + 1, NULL, 0) - 1;
    }
}

bool cell_has_counts(const struct cell_world *world)
{
    return cell_is_of(world, "debezium") && !world->format->no_metadata;
}

bool cell_has_snapshots(const struct cell_world *world)
{
    return cell_is_of(world, "debezium") && !world->format->binlog && !world->format->in_band;
}

static bool write_debezium(struct cell_world *world, struct feed *feed,
                           const struct iso_history *history, const uint64_t *commits)
{
    struct random *random = &world->random;
    struct feed_debezium_options options = {.seed = random_bits(random),
                                            .format = world->format->encoding,
                                            .binlog = world->format->binlog,
                                            .cells = !world->format->registers,
                                            .metadata = !world->format->no_metadata,
                                            .in_band = world->format->in_band,
                                            .snapshot = true,
                                            .partitions = 1 + random_below(random, 3),
                                            .restarts = random_below(random, 3),
                                            .first_xid = CELL_FIRST_XID,
                                            .commits = commits};
    return feed_debezium_write(feed, history, &options);
}

static bool write_ticdc(struct cell_world *world, struct feed *feed,
                        const struct iso_history *history, const uint64_t *commits)
{
    struct random *random = &world->random;
    struct feed_ticdc_options options = {.seed = random_bits(random),
                                         .format = world->format->protocol,
                                         .topic = "ticdc",
                                         .partitions = 1 + random_below(random, 3),
                                         .restarts = random_below(random, 3),
                                         .every = 1 + random_below(random, 4),
                                         .start_ts = true,
                                         .cells = !world->format->registers,
                                         .drops_unchanged = true,
                                         .commits = commits};
    return feed_ticdc_write(feed, history, &options);
}

static bool write_yugabyte(struct cell_world *world, struct feed *feed,
                           const struct iso_history *history, const uint64_t *commits)
{
    struct random *random = &world->random;
    struct feed_yugabyte_options options = {.seed = random_bits(random),
                                            .tablets = 1 + random_below(random, 3),
                                            .early = !world->lies && !world->conflicts &&
                                                     random_percent(random, 50),
                                            .restarts = random_below(random, 3),
                                            .commits = commits};
    return feed_yugabyte_write(feed, history, &options);
}

static bool write_dgraph(struct cell_world *world, struct feed *feed,
                         const struct iso_history *history, const uint64_t *commits)
{
    struct random *random = &world->random;
    struct feed_dgraph_options options = {
        .seed = random_bits(random),
        .topic = "dgraph-cdc",
        .groups = world->format->one_group ? 1 : 1 + random_below(random, 2),
        .restarts = random_below(random, 4),
        .commits = commits};
    return feed_dgraph_write(feed, history, &options);
}

static bool write(struct cell_world *world, struct feed *feed, const struct iso_history *history,
                  const uint64_t *commits)
{
    return cell_is_of(world, "debezium")   ? write_debezium(world, feed, history, commits)
           : cell_is_of(world, "ticdc")    ? write_ticdc(world, feed, history, commits)
           : cell_is_of(world, "yugabyte") ? write_yugabyte(world, feed, history, commits)
                                           : write_dgraph(world, feed, history, commits);
}

bool cell_write_feed(struct cell_world *world, struct feed *feed)
{
    struct iso_history history;
    uint64_t *commits = iso_allocate_zeroed(world->capacity, sizeof *commits);
    char key[CELL_TEXT];
    iso_history_init(&history);
    iso_history_input(&history, "feed");
    history.clock = ISO_CLOCK_SCALAR;
    for (uint32_t row = 0; row < world->rows; row++)
        if (world->initial[row].exists)
            iso_history_initial(&history, cell_atom(&history, cell_key_of(world, row, key)),
                                row_text(world, &history, &world->initial[row]), false);
    for (uint32_t t = 0; t < world->count; t++) {
        const struct cell_transaction *transaction = &world->list[t];
        char name[CELL_TEXT];
        cell_name_of(world, t, name);
        bool committed = transaction->cts && (transaction->writes || world->format->in_band);
        uint64_t offset = cell_is_of(world, "yugabyte") ? 0 : world->base;
        commits[t] = committed ? offset + transaction->cts : 0;
        if (committed && cell_has_snapshots(world))
            commits[t] = transaction->log * world->capacity + t;
        iso_history_begin(&history, cell_atom(&history, name), cell_atom(&history, name),
                          committed ? ISO_COMMITTED : ISO_ABORTED, iso_origin(0, t + 1));
        iso_history_set_sts(&history, (struct iso_stamp){.physical = offset + transaction->sts});
        if (world->format->in_band)
            iso_history_set_cts(&history,
                                (struct iso_stamp){.physical = offset + transaction->cts});
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct cell_operation *operation = &transaction->operations[i];
            if (cell_writes(operation))
                iso_history_operation(
                    &history, operation->kind == CELL_DELETE ? ISO_DELETE : ISO_WRITE,
                    cell_atom(&history, cell_key_of(world, operation->row, key)),
                    operation->kind == CELL_DELETE ? ISO_ABSENT
                                                   : row_text(world, &history, &operation->after));
            else if (world->format->in_band)
                iso_history_operation(&history, ISO_READ,
                                      cell_atom(&history, cell_key_of(world, operation->row, key)),
                                      operation->seen.exists
                                          ? row_text(world, &history, &operation->seen)
                                          : ISO_ABSENT);
        }
    }
    bool fits = write(world, feed, &history, commits);
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
    if (world->said)
        iso_text_put_bytes(world->said, line, length);
    bool retracted = strstr(copy, "\"state\":\"retracted\"");
    if (!retracted && !strstr(copy, "\"state\":\"final\""))
        return ISO_OK;
    next_string(&at, "\"axiom\":\"", axiom, sizeof axiom);
    next_string(&at, "\"tids\":[\"", tid, sizeof tid);
    bool pair = !strcmp(axiom, "NOCONFLICT") && next_string(&at, ",\"", other, sizeof other);
    at = copy;
    next_string(&at, "\"key\":\"", key, sizeof key);
    snprintf(text, sizeof text, pair ? "%s %s,%s %s" : "%s %s%.0s %s", axiom, tid,
             pair ? other : "", key);
    bool is_doubtful = strstr(copy, "\"doubtful\":");
    if (retracted)
        cell_drop_found(&world->found, text);
    else
        cell_add_found(is_doubtful ? &world->doubted : &world->found, text);
    return ISO_OK;
}
static void add_routes(struct cell_world *world, struct iso_pipeline *pipeline,
                       struct iso_error *error)
{
    static const char *const topics[][7] = {
        {"dbz.public.t0", "dbz.public.t1", "dbz.public.t2", "dbz.public.t3", "dbz.transaction",
         "dbz.message"},
        {"yb.public.t0", "yb.public.t1", "yb.public.t2", "yb.public.t3", "yb.transaction"},
        {"ticdc"},
        {"dgraph-cdc"},
    };
    static const struct iso_decoder_class *const classes[] = {
        &iso_debezium_decoder, &iso_yugabyte_decoder, &iso_ticdc_decoder, &iso_dgraph_decoder};
    struct iso_decoder_options options = {.identity = ISO_IDENTITY_FULL};
    int kind = cell_is_of(world, "debezium")   ? 0
               : cell_is_of(world, "yugabyte") ? 1
               : cell_is_of(world, "ticdc")    ? 2
                                               : 3;
    if (kind == 0)
        options = feed_debezium_decoding(world->format->encoding);
    if (kind == 2)
        feed_ticdc_decoder_options(world->format->protocol, &options);
    options.value = world->format->registers && kind != 3 ? "v" : NULL;
    options.cells = world->format->registers ? NULL : "true";
    options.identity = ISO_IDENTITY_FULL;
    for (const char *const *topic = topics[kind]; *topic; topic++)
        if ((world->format->in_band || strcmp(*topic, "dbz.message")) &&
            (!world->format->no_metadata || strcmp(*topic, "dbz.transaction")))
            iso_pipeline_route(pipeline, *topic, classes[kind]->create(&options, error), false);
    iso_pipeline_route(
        pipeline, "clients",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, error), false);
}

struct iso_pipeline *cell_open_pipeline(struct cell_world *world)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    iso_pipeline_options_init(&options);
    options.engine.level = ISO_SI;
    options.join.kind = world->format->kind;
    options.join.clients = !world->format->alone && !world->format->in_band;
    options.join.one_group = world->format->one_group;
    options.join.initial_known = !cell_is_of(world, "debezium");
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

void cell_tell_initial(const struct cell_world *world, struct iso_history *history)
{
    for (uint32_t row = 0; row < world->rows; row++) {
        const struct cells *cells = &world->initial[row];
        char key[CELL_TEXT], cell[CELL_TEXT * 2];
        iso_atom value = cell_atom_of(world, history, false, cells->v);
        if (!cells->exists)
            continue;
        cell_key_of(world, row, key);
        iso_history_initial(history, cell_atom(history, key),
                            world->format->registers ? value : cell_atom(history, "true"), false);
        if (world->format->registers)
            continue;
        snprintf(cell, sizeof cell, "%s#v", key);
        iso_history_initial(history, cell_atom(history, cell), value, false);
        snprintf(cell, sizeof cell, "%s#%s", key, cell_second_column(world));
        iso_history_initial(history, cell_atom(history, cell),
                            cell_atom_of(world, history, true, cells->w), false);
    }
}

void cell_set_initial(struct cell_world *world, struct iso_pipeline *pipeline)
{
    struct iso_history history;
    iso_history_init(&history);
    if (!cell_is_of(world, "debezium"))
        cell_tell_initial(world, &history);
    iso_pipeline_initial(pipeline, &history);
    iso_history_release(&history);
}
