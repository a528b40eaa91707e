/* One record that is not honest, of every kind and at every place, beside honest streams.
 *
 * A stream is a few transactions of a few keys, many of them wrong. What is asked of each with the
 * forged record in it:
 *
 *  - what honest records alone show is told, certain or doubtful; where it is not, the run says
 *    that something is in doubt: it does not hold, and counts a contradiction, a record left out,
 *    or a read that it did not judge;
 *  - what is told as certain of honest transactions alone is what honest records alone show: no
 *    false alarm;
 *  - a record that contradicts none of them, and says nothing of what they read, takes nothing
 *    away.
 *
 * So it is where a watermark promises what is not true, and what comes below it is taken or not.
 *
 * What no checker can see is left out: a forged writer that gives a stale read the value it needs,
 * under a tid of its own.
 *
 * random_poison [--streams N] [--seed S]
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/history/record.h"
#include "pipeline/pipeline.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"

enum {
    DEFAULT_STREAMS = 2000,
    TRANSACTIONS = 9,
    KEYS = 3,
    SESSIONS = 3,
    RECORD = 400,
    FINDINGS = 200,
    REPORTS = 3
};

enum kind {
    GARBAGE,
    SQUAT_READ,    /* another read under an honest tid */
    SQUAT_WRITE,   /* another write */
    SQUAT_ABORTED, /* the same tid, aborted */
    SQUAT_UNKNOWN, /* the same tid, of unknown outcome */
    UNKNOWN,       /* a tid of its own, that may have written any value */
    ABORTED,
    APPEND,       /* to a key that others use as a register */
    FAR_PROMISE,  /* a watermark that nothing explains */
    FAR_WRITE,    /* a write in a far future */
    FRESH_WRITE,  /* a write of a value that nobody reads */
    SESSION_PART, /* a transaction of an honest session, behind all of it */
    PROMISE,      /* a watermark that others come below, of both partitions */
    PROMISE_KEPT, /* the same, with a retention that takes them */
    KINDS
};

static const char *const names[KINDS] = {"garbage",
                                         "another read",
                                         "another write",
                                         "aborted",
                                         "unknown",
                                         "fresh unknown",
                                         "fresh aborted",
                                         "append",
                                         "far watermark",
                                         "far write",
                                         "write of new value",
                                         "end of a session",
                                         "watermark",
                                         "watermark within the retention"};

static bool is_promise(enum kind kind)
{
    return kind == PROMISE || kind == PROMISE_KEPT;
}

/* Where it takes away what it may: what follows from it is in doubt. */
static bool contradicts(enum kind kind)
{
    return kind <= UNKNOWN || kind == APPEND || is_promise(kind);
}

struct stream {
    char records[TRANSACTIONS][RECORD];
    uint32_t session[TRANSACTIONS], place[SESSIONS];
};

struct finding {
    char name[160]; /* axiom, transactions and key */
    char id[20];
    bool doubtful, forged;
};

struct verdict {
    struct finding list[FINDINGS];
    uint32_t count;
    struct iso_text lines;
    enum iso_status outcome;
    struct iso_pipeline_stats stats;
};

/* ---- streams ---- */

static int put_operations(struct random *random, uint32_t values, char *text, size_t size)
{
    int used = 0, count = 1 + (int)random_below(random, 3);
    for (int i = 0; i < count; i++) {
        bool reads = random_percent(random, 55);
        used += snprintf(text + used, size - (size_t)used,
                         "%s{\"t\":\"%s\",\"k\":\"k%u\",\"v\":%u}", i ? "," : "", reads ? "r" : "w",
                         random_below(random, KEYS), 1 + random_below(random, values));
    }
    return used;
}

/* Of few values, so that one that was overwritten is written again. */
static void make_stream(struct random *random, uint32_t values, struct stream *stream)
{
    uint64_t time = 10;
    memset(stream->place, 0, sizeof stream->place);
    for (uint32_t t = 0; t < TRANSACTIONS; t++) {
        char operations[RECORD / 2];
        uint32_t session = random_below(random, SESSIONS);
        uint64_t start = time - random_below(random, 8), end = time + 1 + random_below(random, 4);
        time += 3;
        put_operations(random, values, operations, sizeof operations);
        stream->session[t] = session;
        snprintf(stream->records[t], RECORD,
                 "{\"tid\":%u,\"sid\":%u,\"sno\":%u,\"sts\":%" PRIu64 ",\"cts\":%" PRIu64
                 ",\"ops\":[%s]}",
                 t + 1, session, stream->place[session]++, start, end, operations);
    }
}

static void forge(struct random *random, enum kind kind, const struct stream *stream,
                  uint32_t place, char *text)
{
    uint32_t tid = 1 + random_below(random, TRANSACTIONS), key = random_below(random, KEYS);
    uint32_t value = 1 + random_below(random, 5), session = random_below(random, SESSIONS);
    unsigned time = 10 + random_below(random, 30);
    switch (kind) {
    case GARBAGE:
        snprintf(text, RECORD, "{\"tid\":%u,", tid);
        break;
    case SQUAT_READ:
        snprintf(
            text, RECORD,
            "{\"tid\":%u,\"sid\":\"z\",\"sts\":%u,\"cts\":%u,\"ops\":[{\"t\":\"r\",\"k\":\"k%u\",\"v\":%u}]}",
            tid, time, time, key, value);
        break;
    case SQUAT_WRITE:
        snprintf(
            text, RECORD,
            "{\"tid\":%u,\"sid\":\"z\",\"sts\":%u,\"cts\":%u,\"ops\":[{\"t\":\"w\",\"k\":\"k%u\",\"v\":%u}]}",
            tid, time, time + 1, key, value);
        break;
    case SQUAT_ABORTED:
    case SQUAT_UNKNOWN:
        snprintf(
            text, RECORD,
            "{\"tid\":%u,\"sid\":%u,\"status\":\"%s\",\"sts\":%u,\"ops\":[{\"t\":\"w\",\"k\":\"k%u\",\"v\":%u}]}",
            tid, session, kind == SQUAT_ABORTED ? "aborted" : "unknown", time, key, value);
        break;
    case UNKNOWN:
    case ABORTED:
        snprintf(
            text, RECORD,
            "{\"tid\":\"f\",\"sid\":\"z\",\"status\":\"%s\",\"sts\":%u,\"ops\":[{\"t\":\"w\",\"k\":\"k%u\",\"v\":%u}]}",
            kind == ABORTED ? "aborted" : "unknown", time, key, value);
        break;
    case APPEND:
        snprintf(
            text, RECORD,
            "{\"tid\":\"f\",\"sid\":\"z\",\"sts\":%u,\"cts\":%u,\"ops\":[{\"t\":\"append\",\"k\":\"k%u\",\"v\":%u}]}",
            time, time + 1, key, value);
        break;
    case FAR_PROMISE:
        snprintf(text, RECORD, "{\"watermark\":\"%" PRIu64 "\"}",
                 UINT64_MAX - random_below(random, 3));
        break;
    case PROMISE:
    case PROMISE_KEPT:
        snprintf(text, RECORD, "{\"watermark\":%u}", 10 + 3 * place);
        break;
    case FAR_WRITE:
        snprintf(
            text, RECORD,
            "{\"tid\":\"f\",\"sid\":\"z\",\"sts\":\"18446744073709551000\",\"cts\":\"18446744073709551600\","
            "\"ops\":[{\"t\":\"w\",\"k\":\"k%u\",\"v\":%u}]}",
            key, value);
        break;
    case FRESH_WRITE:
        snprintf(
            text, RECORD,
            "{\"tid\":\"f\",\"sid\":\"z\",\"sts\":%u,\"cts\":%u,\"ops\":[{\"t\":\"w\",\"k\":\"k%u\",\"v\":77}]}",
            time, time + 1, key);
        break;
    default:
        snprintf(text, RECORD,
                 "{\"tid\":\"f\",\"sid\":%u,\"sno\":%u,\"sts\":90,\"cts\":91,\"ops\":[]}", session,
                 stream->place[session]);
    }
}

/* ---- a run ---- */

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    (void)error;
    iso_text_put_bytes(context, line, length);
    return ISO_OK;
}

static void feed(struct iso_pipeline *pipeline, int32_t partition, int64_t *offsets,
                 const char *record)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_message message = {.topic = "t",
                                  .partition = partition,
                                  .input = (uint32_t)partition,
                                  .offset = offsets[partition]++,
                                  .payload = {(const uint8_t *)record, (uint32_t)strlen(record)}};
    if (iso_pipeline_feed(pipeline, &message, 1, 0, &error) != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
}

static const char *text_of(const json_t *line, const char *member)
{
    const char *text = json_string_value(json_object_get(line, member));
    return text ? text : "";
}

static void name_finding(const json_t *line, struct finding *finding)
{
    const json_t *tids = json_object_get(line, "tids");
    const char *one = json_string_value(json_array_get(tids, 0)),
               *other = json_string_value(json_array_get(tids, 1));
    const char *axiom = text_of(line, "axiom"), *key = text_of(line, "key");
    bool is_pair = !strcmp(axiom, "NOCONFLICT");
    if (is_pair && other && strcmp(one, other) > 0) {
        const char *swapped = one;
        one = other;
        other = swapped;
    }
    snprintf(finding->name, sizeof finding->name, "%s %s %s %.2s", axiom, one, is_pair ? other : "",
             key);
    finding->doubtful = json_object_get(line, "doubtful");
    char *all = json_dumps(line, JSON_ENCODE_ANY);
    finding->forged = strstr(all, "\"f\"");
    free(all);
}

static void take_line(struct verdict *verdict, const char *text, size_t length)
{
    json_t *line = json_loadb(text, length, 0, NULL);
    const char *id = text_of(line, "id");
    struct finding *finding = verdict->list;
    while (finding < verdict->list + verdict->count && strcmp(finding->id, id))
        finding++;
    if (finding == verdict->list + FINDINGS)
        abort();
    verdict->count += finding == verdict->list + verdict->count;
    snprintf(finding->id, sizeof finding->id, "%s", id);
    name_finding(line, finding);
    json_decref(line);
}

static void feed_both(struct iso_pipeline *pipeline, int64_t *offsets, const char *record)
{
    feed(pipeline, 0, offsets, record);
    feed(pipeline, 1, offsets, record);
}

/* A promise that one session breaks, by a partition of its own: what it wrote before comes then. */
static void feed_promise(struct iso_pipeline *pipeline, const struct stream *stream,
                         const char *promise, uint32_t place, int64_t *offsets)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        for (uint32_t t = 0; t < place; t++)
            if ((stream->session[t] == 1) == is_late)
                feed(pipeline, is_late, offsets, stream->records[t]);
        if (!is_late && promise)
            feed_both(pipeline, offsets, promise);
    }
    for (uint32_t t = place; t < TRANSACTIONS; t++)
        feed(pipeline, stream->session[t] == 1, offsets, stream->records[t]);
}

static void feed_all(struct iso_pipeline *pipeline, const struct stream *stream, enum kind kind,
                     const char *forged, uint32_t place)
{
    int64_t offsets[2] = {0};
    if (is_promise(kind))
        feed_promise(pipeline, stream, forged, place, offsets);
    for (uint32_t t = 0; t <= TRANSACTIONS && !is_promise(kind); t++) {
        if (forged && t == place)
            feed(pipeline, 1, offsets, forged);
        if (t < TRANSACTIONS)
            feed(pipeline, 0, offsets, stream->records[t]);
    }
    feed_both(pipeline, offsets, "{\"watermark\":1000}");
}

/* `forged`: the record that comes before honest record `place`, or NULL. */
static void judge(const struct stream *stream, enum kind kind, const char *forged, uint32_t place,
                  struct verdict *verdict)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    const char *reason;
    iso_pipeline_options_init(&options);
    options.on_bad_record = ISO_BAD_SKIP;
    options.final_only = true;
    if (forged && kind == PROMISE)
        options.engine.retention = 1 + place % 4;
    options.sink = sink;
    options.sink_context = &verdict->lines;
    options.context = verdict;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    iso_pipeline_route(
        pipeline, "t",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error), false);
    for (int32_t partition = 0; partition < 2; partition++)
        iso_pipeline_declare(
            pipeline, iso_inputs_number(iso_pipeline_inputs(pipeline), "t", 1, partition), 0);
    feed_all(pipeline, stream, kind, forged, place);
    if (iso_pipeline_end(pipeline, 0, &error) != ISO_OK)
        abort();
    verdict->outcome = iso_pipeline_outcome(pipeline, false, &reason);
    iso_pipeline_stats(pipeline, &verdict->stats);
    iso_pipeline_free(pipeline);
    verdict->count = 0;
    for (size_t at = 0, end; at < verdict->lines.used; at = end + 1) {
        for (end = at; verdict->lines.bytes[end] != '\n'; end++)
            continue;
        take_line(verdict, verdict->lines.bytes + at, end - at);
    }
    verdict->lines.used = 0;
}

/* ---- what must be true ---- */

static const struct finding *find(const struct verdict *verdict, const char *name)
{
    for (uint32_t i = 0; i < verdict->count; i++)
        if (!strcmp(verdict->list[i].name, name))
            return &verdict->list[i];
    return NULL;
}

static bool is_in_doubt(const struct verdict *verdict)
{
    const struct iso_pipeline_stats *stats = &verdict->stats;
    const struct iso_aion_stats *engine = &stats->engine;
    uint64_t not_kept = engine->below_watermark + engine->beyond_retention +
                        engine->reads_undecided + engine->writes_undecided +
                        engine->sessions_undecided;
    return verdict->outcome != ISO_OK &&
           stats->contradictions + stats->bad_records + engine->reads_unjudged + not_kept;
}

/* NULL: all is as it must be. */
static const char *wrong_with(enum kind kind, const struct verdict *honest,
                              const struct verdict *poisoned, uint64_t *doubted, uint64_t *hidden)
{
    for (uint32_t i = 0; i < honest->count; i++) {
        const struct finding *told = find(poisoned, honest->list[i].name);
        *doubted += told && told->doubtful;
        *hidden += !told;
        if (!told && !contradicts(kind))
            return honest->list[i].name;
        if (!told && !is_in_doubt(poisoned))
            return honest->list[i].name;
    }
    for (uint32_t i = 0; i < poisoned->count; i++) {
        const struct finding *told = &poisoned->list[i];
        if (!told->doubtful && !told->forged && !find(honest, told->name))
            return told->name;
    }
    if (honest->outcome == ISO_VIOLATED && poisoned->outcome == ISO_OK)
        return "the verdict";
    return NULL;
}

struct tally {
    uint64_t runs, found, doubted, hidden;
};

static bool poison(uint64_t seed, enum kind kind, struct tally *tally)
{
    static struct verdict honest, poisoned;
    struct random random = {seed};
    struct stream stream;
    char forged[RECORD];
    make_stream(&random, is_promise(kind) ? 2 : 5, &stream);
    judge(&stream, kind, NULL, 0, &honest);
    for (uint32_t place = 0; place <= TRANSACTIONS; place++) {
        forge(&random, kind, &stream, place, forged);
        judge(&stream, kind, forged, place, &poisoned);
        tally->runs++;
        tally->found += honest.count;
        const char *wrong = wrong_with(kind, &honest, &poisoned, &tally->doubted, &tally->hidden);
        if (!wrong)
            continue;
        printf("# seed %" PRIu64 ", %s before record %u: %s\n# %s\n", seed, names[kind], place,
               wrong, forged);
        for (uint32_t t = 0; t < TRANSACTIONS; t++)
            printf("# %s\n", stream.records[t]);
        return false;
    }
    return true;
}

int main(int count, char **words)
{
    uint64_t streams = DEFAULT_STREAMS, seed = 1;
    const struct argument known[] = {
        {"--streams", .number = &streams}, {"--seed", .number = &seed}, {0}};
    int failed = 0;
    if (!arguments_read(known, count, words))
        return 2;
    uint64_t each = (streams + KINDS * (TRANSACTIONS + 1) - 1) / (KINDS * (TRANSACTIONS + 1));
    printf("1..%d\n", KINDS);
    for (int kind = 0; kind < KINDS; kind++) {
        struct tally tally = {0};
        uint32_t bad = 0;
        for (uint64_t i = 0; i < each && bad < REPORTS; i++)
            bad += !poison((seed + i) * KINDS + (uint64_t)kind, (enum kind)kind, &tally);
        printf("%s %d - %s: in %" PRIu64
               " streams no finding of honest records disappears unseen\n",
               bad ? "not ok" : "ok", kind + 1, names[kind], tally.runs);
        printf("# %" PRIu64 " findings: %" PRIu64 " told as doubtful, %" PRIu64
               " in doubt and not told\n",
               tally.found, tally.doubted, tally.hidden);
        failed |= bad || !tally.found;
    }
    return failed;
}
