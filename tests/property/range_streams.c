/* Ranges of plain keys through streams of client records: random small histories with row sets
 * among their operations arrive in any order, from one to three partitions with watermarks as they
 * become true; between batches the pipeline is saved and restored at times, of some streams as
 * little is retained as may be, and in some deadlines pass, by which what is found may be
 * retracted. What stands in the end must be what chronos says of the file, as (axiom, transactions,
 * key), and what a set lacks, or has too much, must be called that.
 *
 * range_streams [--histories N] [--seed S]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chronos/chronos.h"
#include "connectors/history/record.h"
#include "formats/write_history.h"
#include "pipeline/pipeline.h"
#include "tests/support/arguments.h"
#include "tests/support/capture.h"
#include "tests/support/random_history.h"
#include "tests/support/random_sets.h"
#include "tests/support/restored.h"

enum { FOUND = 512, TEXT = 3 * PLAIN_TEXT + 64, PARTITIONS = 3, MAX_REPORTS = 3 };

struct found {
    uint32_t count;
    char list[FOUND][TEXT], id[FOUND][24];
};

struct trial {
    struct random_sets drawing;
    struct plain_history shorter;
    struct iso_history history; /* finished: what the file says */
    char *text;                 /* its lines */
    char *lines[PLAIN_TRANSACTIONS];
    uint32_t line_count;
    enum iso_level level;
    uint32_t shards;        /* 1, 2 or 4 */
    uint64_t retention;     /* UINT64_MAX: everything */
    uint64_t deadline, now; /* deadline 0: none */
    struct found expected, found;
    bool shares_commits; /* at ser, ranges met writes of their own commit timestamps: which order
                            follows is not judged */
    char failure[ISO_ERROR_TEXT];
};

static struct {
    uint64_t streams, restored, deadlines, retracted, retained, watermarks, missing, extra,
        unjudged;
} statistics;

/* ---- what chronos says ---- */

/* Several reads of one key are one instance, and it is named after any that is wrong. */
static bool is_read_once(const struct trial *trial, const char *tid, const char *key)
{
    const struct plain_history *plain = &trial->drawing.plain;
    uint32_t count = 0;
    for (uint32_t t = 0; t < plain->transaction_count; t++)
        for (uint32_t i = 0; i < plain->transactions[t].operation_count; i++)
            count += !strcmp(plain->transactions[t].tid.text, tid) &&
                     !strcmp(plain->transactions[t].operations[i].key.text, key);
    return count == 1;
}

static bool is_of_set(const char *kind)
{
    return kind && (!strcmp(kind, "missing-row") || !strcmp(kind, "extra-row"));
}

static void add_found(const struct trial *trial, struct found *found, const char *axiom,
                      const char *key, const char *tid, const char *other, const char *kind)
{
    bool matters = !trial->deadline && key && /* by a deadline a read is named by what had come */
                   is_of_set(kind) && is_read_once(trial, tid, key);
    if (found->count == FOUND)
        abort();
    snprintf(found->list[found->count++], TEXT, "%s %s %s %s %s", axiom, key ? key : "-", tid,
             other ? other : "-", matters ? kind : "");
}

static void take_back(struct found *found, const char *id)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < found->count; i++) {
        if (!strcmp(found->id[i], id))
            continue;
        memmove(found->list[kept], found->list[i], TEXT);
        memmove(found->id[kept++], found->id[i], sizeof found->id[i]);
    }
    found->count = kept;
}

static const char *text_of(const struct iso_history *history, iso_atom atom,
                           char buffer[PLAIN_TEXT])
{
    char room[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&history->atoms, atom, room, &length);
    snprintf(buffer, PLAIN_TEXT, "%.*s", (int)length, text);
    return buffer;
}

/* False: it cannot be judged by its timestamps. */
static bool expect(struct trial *trial)
{
    struct iso_check_options options = {.level = trial->level, .session_order = true, .threads = 1};
    const struct iso_history *history = &trial->history;
    struct iso_verdict verdict;
    struct iso_error error = ISO_NO_ERROR;
    char tid[PLAIN_TEXT], other[PLAIN_TEXT], key[PLAIN_TEXT];
    iso_verdict_init(&verdict, history, trial->level, 0);
    bool judged = iso_chronos_check(history, &options, &verdict, &error) == ISO_OK;
    if (judged)
        iso_verdict_conclude(&verdict, false);
    for (uint32_t i = 0; judged && i < verdict.violation_count; i++) {
        const struct iso_violation *violation = &verdict.violations[i];
        bool pair = violation->axiom == ISO_NOCONFLICT;
        add_found(trial, &trial->expected, iso_axiom_name(violation->axiom),
                  violation->key == ISO_NONE
                      ? NULL
                      : text_of(history, history->keys.atom[violation->key], key),
                  text_of(history, history->txns.tid[violation->transaction], tid),
                  pair ? text_of(history, history->txns.tid[violation->other], other) : NULL,
                  iso_violation_kind_name(violation->kind));
        statistics.missing += violation->kind == ISO_MISSING_ROW;
        statistics.extra += violation->kind == ISO_EXTRA_ROW;
    }
    statistics.unjudged += judged && verdict.reads_unjudged > 0;
    iso_verdict_release(&verdict);
    return judged;
}

/* ---- the stream ---- */

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct trial *trial = context;
    (void)error;
    json_t *said = json_loadb(line, length, 0, NULL);
    const char *state = json_string_value(json_object_get(said, "state"));
    const char *axiom = json_string_value(json_object_get(said, "axiom"));
    json_t *tids = json_object_get(said, "tids");
    bool pair = !strcmp(axiom, "NOCONFLICT");
    if (getenv("SHOW_LINES"))
        printf("# %.*s", (int)length, line);
    const char *id = json_string_value(json_object_get(said, "id"));
    bool is_final = !strcmp(state, "final");
    take_back(&trial->found, id);
    statistics.retracted += !is_final;
    if (!is_final && !trial->deadline)
        snprintf(trial->failure, sizeof trial->failure, "a line that is %s", state);
    if (is_final)
        snprintf(trial->found.id[trial->found.count], sizeof *trial->found.id, "%s", id);
    if (is_final)
        add_found(trial, &trial->found, axiom, json_string_value(json_object_get(said, "key")),
                  json_string_value(json_array_get(tids, 0)),
                  pair ? json_string_value(json_array_get(tids, 1)) : NULL,
                  json_string_value(json_object_get(said, "kind")));
    json_decref(said);
    return ISO_OK;
}

static struct iso_pipeline *open_pipeline(struct trial *trial)
{
    const struct iso_decoder_options decoding = {.format = "json", .ranges = true};
    struct iso_pipeline_options options;
    struct iso_error error = ISO_NO_ERROR;
    iso_pipeline_options_init(&options);
    options.engine.level = trial->level;
    options.engine.retention = trial->retention;
    options.engine.shards = trial->shards;
    options.engine.finality_timeout_ms = trial->deadline;
    options.engine.max_per_key = 0;
    options.max_violations = 0;
    options.max_ahead = UINT64_MAX;
    options.final_only = true;
    options.sink = sink;
    options.sink_context = options.context = trial;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    iso_pipeline_route(pipeline, "txns", iso_record_decoder.create(&decoding, &error), false);
    iso_pipeline_initial(pipeline, &trial->history);
    return pipeline;
}

static struct iso_pipeline *open_again(void *context)
{
    return open_pipeline(context);
}

/* When it may still change something: committed ones by their commit, others as soon as they
 * start. */
static uint64_t time_of(const struct plain_transaction *transaction)
{
    if (transaction->status != ISO_COMMITTED || !transaction->cts.given)
        return transaction->sts.given ? transaction->sts.physical : 0;
    return transaction->cts.physical;
}

/* The promise that is true once `first` of them have arrived. 0: none. */
static uint64_t promise_at(const struct trial *trial, const uint32_t *partition_of,
                           uint32_t partition, uint32_t first)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t t = first; t < trial->line_count; t++) {
        uint64_t time = time_of(&trial->shorter.transactions[t]);
        if ((partition == PARTITIONS || partition_of[t] == partition) && time < least)
            least = time;
    }
    return least && least != UINT64_MAX ? least - 1 : 0;
}

static uint64_t start_of(const struct plain_transaction *transaction)
{
    uint64_t start = transaction->sts.given ? transaction->sts.physical : 0;
    if (transaction->cts.given && transaction->cts.physical < start)
        start = transaction->cts.physical;
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        if (transaction->operations[i].ots.given && transaction->operations[i].ots.physical < start)
            start = transaction->operations[i].ots.physical;
    return start;
}

/* The least that everybody who arrives needs. */
static uint64_t least_retention(const struct trial *trial)
{
    uint64_t most = 0;
    for (uint32_t t = 0; t < trial->line_count; t++) {
        uint64_t watermark = promise_at(trial, NULL, PARTITIONS, t),
                 start = start_of(&trial->shorter.transactions[t]);
        if (watermark >= start && watermark - start + 1 > most)
            most = watermark - start + 1;
    }
    return most;
}

struct sending {
    struct iso_pipeline *pipeline;
    uint32_t inputs[PARTITIONS];
    int64_t offsets[PARTITIONS];
    struct iso_message batch[8];
    char room[8][64];
    uint32_t count;
    const uint64_t *now;
};

static void send(struct sending *sending, struct iso_error *error)
{
    if (sending->count && error->status == ISO_OK)
        iso_pipeline_feed(sending->pipeline, sending->batch, sending->count, *sending->now, error);
    sending->count = 0;
}

/* Time passes. */
static void wait_some(struct trial *trial, struct sending *sending, struct iso_error *error)
{
    send(sending, error);
    trial->now += random_below(&trial->drawing.random, 4);
    if (error->status == ISO_OK)
        iso_pipeline_tick(sending->pipeline, trial->now, error);
    statistics.deadlines++;
}

static void add_message(struct sending *sending, uint32_t partition, const char *text,
                        struct iso_error *error)
{
    if (sending->count == 8)
        send(sending, error);
    sending->batch[sending->count++] =
        (struct iso_message){.topic = "txns",
                             .partition = (int32_t)partition,
                             .input = sending->inputs[partition],
                             .offset = sending->offsets[partition]++,
                             .payload = {(const uint8_t *)text, (uint32_t)strlen(text)}};
}

static void give_messages(struct trial *trial, struct sending *sending, struct iso_error *error)
{
    struct random *random = &trial->drawing.random;
    uint32_t partitions = 1 + random_below(random, PARTITIONS), partition_of[PLAIN_TRANSACTIONS];
    for (uint32_t i = 0; i < partitions; i++) {
        sending->inputs[i] =
            iso_inputs_number(iso_pipeline_inputs(sending->pipeline), "txns", 4, (int32_t)i);
        iso_pipeline_declare(sending->pipeline, sending->inputs[i], 0);
    }
    for (uint32_t t = 0; t < trial->line_count; t++)
        partition_of[t] = random_below(random, partitions);
    for (uint32_t t = 0; t < trial->line_count && error->status == ISO_OK; t++) {
        add_message(sending, partition_of[t], trial->lines[t], error);
        if (sending->count == 8 || random_percent(random, 60))
            send(sending, error);
        for (uint32_t i = 0; i < partitions && random_percent(random, 60); i++) {
            uint64_t promise = promise_at(trial, partition_of, i, t + 1);
            if (!promise)
                continue;
            if (sending->count == 8)
                send(sending, error);
            snprintf(sending->room[sending->count], 64, "{\"watermark\":%" PRIu64 "}", promise);
            add_message(sending, i, sending->room[sending->count], error);
            statistics.watermarks++;
        }
        if (trial->deadline && random_percent(random, 70))
            wait_some(trial, sending, error);
        if (random_percent(random, 10)) {
            send(sending, error);
            if (error->status == ISO_OK)
                sending->pipeline = test_restored(sending->pipeline, open_again, trial, error);
            statistics.restored++;
        }
    }
    send(sending, error);
}

static void stream(struct trial *trial)
{
    struct iso_error error = ISO_NO_ERROR;
    struct sending sending = {.pipeline = open_pipeline(trial), .now = &trial->now};
    struct iso_accounting books;
    struct iso_pipeline_stats stats;
    statistics.streams++;
    give_messages(trial, &sending, &error);
    if (error.status == ISO_OK)
        iso_pipeline_end(sending.pipeline, trial->now, &error);
    if (error.status != ISO_OK)
        snprintf(trial->failure, sizeof trial->failure, "%s", error.text);
    iso_pipeline_stats(sending.pipeline, &stats);
    trial->shares_commits = stats.unjudged[ISO_UNJUDGED_ROW_SETS] > 0;
    iso_pipeline_accounting(sending.pipeline, &books);
    if (error.status == ISO_OK && !books.balanced)
        snprintf(trial->failure, sizeof trial->failure, "the books are not balanced");
    iso_pipeline_free(sending.pipeline);
}

/* ---- one history ---- */

static void write_lines(struct trial *trial)
{
    struct iso_history building;
    struct iso_history_writer writer;
    struct iso_output output;
    struct iso_error error = ISO_NO_ERROR;
    iso_history_init(&building);
    plain_history_fill(&trial->shorter, &building);
    random_sets_add(&trial->drawing, &building);
    test_capture_start(&output);
    iso_history_writer_init(&writer, &output, ISO_FORMAT_NATIVE);
    if (iso_history_writer_add(&writer, &building, &error) != ISO_OK)
        abort();
    iso_history_writer_end(&writer);
    trial->text = test_capture_end(&output);
    trial->line_count = 0;
    for (char *rest = trial->text, *line; (line = strsep(&rest, "\n"));)
        if (*line)
            trial->lines[trial->line_count++] = line;
    iso_history_finish(&building, &error);
    trial->history = building;
}

static int compare_found(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* With little retained a session may be undecided. */
static bool is_compared(const struct trial *trial, const char *text)
{
    return !(trial->shares_commits && !strncmp(text, "TIMESTAMP", 9)) &&
           !(trial->retention != UINT64_MAX && !strncmp(text, "SESSION", 7));
}

static void leave_out(const struct trial *trial, struct found *found)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < found->count; i++)
        if (is_compared(trial, found->list[i]))
            memmove(found->list[kept++], found->list[i], TEXT);
    found->count = kept;
}

static bool same_found(struct trial *trial)
{
    leave_out(trial, &trial->expected);
    leave_out(trial, &trial->found);
    qsort(trial->expected.list, trial->expected.count, TEXT, compare_found);
    qsort(trial->found.list, trial->found.count, TEXT, compare_found);
    bool same = trial->expected.count == trial->found.count;
    for (uint32_t i = 0; same && i < trial->found.count; i++)
        same = !strcmp(trial->expected.list[i], trial->found.list[i]);
    return same;
}

static void report(const struct trial *trial, uint64_t seed)
{
    printf("not ok - seed %" PRIu64 ", %s, retention %" PRIu64 ": %s\n", seed,
           iso_level_name(trial->level), trial->retention, trial->failure);
    for (uint32_t i = 0; i < trial->expected.count; i++)
        printf("# expected: %s\n", trial->expected.list[i]);
    for (uint32_t i = 0; i < trial->found.count; i++)
        printf("# found: %s\n", trial->found.list[i]);
    for (uint32_t i = 0; i < trial->line_count; i++)
        printf("# %s\n", trial->lines[i]);
}

static void shuffle(struct trial *trial)
{
    uint32_t order[PLAIN_TRANSACTIONS], count = trial->drawing.plain.transaction_count;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = random_below(&trial->drawing.random, i), held = order[i - 1];
        order[i - 1] = order[other];
        order[other] = held;
    }
    plain_history_permute(&trial->drawing.plain, order);
}

/* With a value that every key begins with, of what nobody writes it is not known that it was
 * there. */
static bool is_streamable(const struct plain_history *plain)
{
    return plain->initial_value.absent && plain_history_is_streamable(plain);
}

/* Of an outcome that is unknown still when little is retained aion knows only that it was there. */
static bool has_unknown(const struct plain_history *plain)
{
    for (uint32_t t = 0; t < plain->transaction_count; t++)
        if (plain->transactions[t].status == ISO_UNKNOWN)
            return true;
    return false;
}

static bool carry(struct trial *trial, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    options.complete = true;
    options.max_operations = 3;
    random_history(seed, &options, &trial->drawing.plain);
    trial->drawing.random = (struct random){seed};
    if (!is_streamable(&trial->drawing.plain))
        return true;
    shuffle(trial);
    random_sets_draw(&trial->drawing);
    random_sets_take_back(&trial->drawing, &trial->shorter);
    write_lines(trial);
    trial->expected.count = trial->found.count = 0;
    trial->failure[0] = 0;
    trial->level = random_percent(&trial->drawing.random, 50) ? ISO_SER : ISO_SI;
    bool retains =
        random_percent(&trial->drawing.random, 50) && !has_unknown(&trial->drawing.plain);
    trial->retention = retains ? least_retention(trial) : UINT64_MAX;
    trial->shards = 1u << seed % 3;
    trial->now = 1;
    trial->deadline = !retains && random_percent(&trial->drawing.random, 50)
                          ? 1 + random_below(&trial->drawing.random, 4)
                          : 0;
    statistics.retained += retains;
    if (expect(trial))
        stream(trial);
    bool same = !trial->failure[0] && same_found(trial);
    if (!same)
        report(trial, seed);
    free(trial->text);
    iso_history_release(&trial->history);
    return same;
}

int main(int argc, char **argv)
{
    struct trial *trial = iso_allocate_zeroed(1, sizeof *trial);
    uint64_t histories = 2000, seed = 1;
    uint32_t failed = 0;
    const struct argument known[] = {
        {"--histories", &histories, NULL}, {"--seed", &seed, NULL}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    for (uint64_t i = 0; i < histories && failed < MAX_REPORTS; i++)
        failed += !carry(trial, seed + i);
    printf("# %" PRIu64 " streams of %" PRIu64 " histories: %" PRIu64 " sets, %" PRIu64
           " of them empty, %" PRIu64 " partial; %" PRIu64 " rows missing, %" PRIu64
           " too many, %" PRIu64 " with unjudged reads; %" PRIu64 " watermarks, %" PRIu64
           " restored, %" PRIu64 " with the least retention, %" PRIu64
           " moments at which deadlines passed, %" PRIu64 " verdicts retracted\n",
           statistics.streams, histories, trial->drawing.drawn.sets, trial->drawing.drawn.empty,
           trial->drawing.drawn.partial, statistics.missing, statistics.extra, statistics.unjudged,
           statistics.watermarks, statistics.restored, statistics.retained, statistics.deadlines,
           statistics.retracted);
    bool enough = statistics.missing > histories / 10 && statistics.extra > histories / 100 &&
                  statistics.restored && statistics.unjudged && statistics.retained &&
                  statistics.retracted;
    printf("%s 1 - ranges in streams are judged as in files\n1..1\n",
           !failed && enough ? "ok" : "not ok");
    iso_free(trial);
    return failed || !enough;
}
