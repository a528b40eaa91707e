#define _GNU_SOURCE
#include "tests/support/feeder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/restored.h"

enum { BATCH = 8 };

void feeder_open(struct feeder *feeder)
{
    feeder->pipeline = feeder->open(feeder->context);
}

static uint32_t input_of(struct feeder *feeder, const char *topic, int32_t partition)
{
    return iso_inputs_number(iso_pipeline_inputs(feeder->pipeline), topic, strlen(topic),
                             partition);
}

/* What came, by an account of its own. */
static void count_record(struct feeder *feeder, struct iso_bytes record)
{
    char *text = strndup((const char *)record.data, record.size);
    const char *tid = strstr(text, "\"tid\":");
    if (tid) { /* else a watermark */
        bool committed = !strstr(text, "\"status\":");
        tid += strlen("\"tid\":");
        bool is_text = *tid == '"';
        size_t room = sizeof feeder->tids - feeder->tids_end;
        size_t used = (size_t)snprintf(feeder->tids + feeder->tids_end, room, "\n%.*s",
                                       (int)strcspn(tid + is_text, ",\"}"), tid + is_text);
        if (used >= room)
            abort();
        feeder->tids_end += used;
        feeder->records++;
        for (const char *at = text; (at = strstr(at, "\"t\":\"r\"")); at++) {
            feeder->reads++;
            feeder->committed_reads += committed;
        }
    }
    free(text);
}

static struct iso_message record_message(struct feeder *feeder, struct iso_bytes record)
{
    count_record(feeder, record);
    return (struct iso_message){.topic = "clients",
                                .input = feeder->clients,
                                .offset = feeder->next_offset++,
                                .payload = record};
}

void feeder_give_record(struct feeder *feeder, struct iso_bytes record, struct iso_error *error)
{
    struct iso_message message = record_message(feeder, record);
    iso_pipeline_feed(feeder->pipeline, &message, 1, 0, error);
}

bool feeder_was_judged(const struct feeder *feeder, const char *tid)
{
    char wanted[80];
    const char *at = feeder->tids, *end = at + feeder->tids_held;
    size_t length = (size_t)snprintf(wanted, sizeof wanted, "\n%s", tid);
    for (; (at = strstr(at, wanted)) && at < end; at++)
        if (at[length] == '\n' || !at[length])
            return true;
    return false;
}

/* Whether a record, or a row, stands there: one that was given. */
static bool was_given(struct feeder *feeder, uint64_t origin)
{
    return iso_origin_input(origin) < iso_pipeline_inputs(feeder->pipeline)->count;
}

/* What waits is the sum of what waits for each thing, and the first of each is named while there is
 * one. */
static void check_waiting(struct feeder *feeder, const struct iso_accounting *books)
{
    const struct iso_accounting_waiting *waiting = &books->waiting;
    const struct {
        const char *name;
        uint64_t count, origin;
    } parts[] = {{"records", waiting->records, waiting->record.origin},
                 {"rows", waiting->rows, waiting->row.origin},
                 {"overtaken", waiting->overtaken, waiting->overtaking.origin},
                 {"reads", waiting->reads, waiting->read.origin},
                 {"for an outcome", waiting->for_outcome, waiting->outcome.origin},
                 {"for a snapshot", waiting->for_snapshot, waiting->snapshot.origin},
                 {"for a schema", waiting->for_schema, waiting->absent.origin},
                 {"queries", waiting->queries, waiting->query.origin},
                 {"beyond", waiting->beyond, waiting->differing.origin}};
    uint64_t total = waiting->tables;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool is_named = parts[i].origin != UINT64_MAX;
        total += parts[i].count;
        if (is_named != (parts[i].count > 0) || (is_named && !was_given(feeder, parts[i].origin)))
            snprintf(feeder->failure, sizeof feeder->failure,
                     "%" PRIu64 " wait (%s), the first at %" PRIx64, parts[i].count, parts[i].name,
                     parts[i].origin);
    }
    if (total != waiting->total)
        snprintf(feeder->failure, sizeof feeder->failure,
                 "%" PRIu64 " wait, and %" PRIu64 " are counted", total, waiting->total);
    if (waiting->records != books->of[ISO_UNIT_RECORDS][ISO_ACCOUNTED_WAITING] ||
        waiting->rows != books->of[ISO_UNIT_ROWS][ISO_ACCOUNTED_WAITING])
        snprintf(feeder->failure, sizeof feeder->failure,
                 "%" PRIu64 " records and %" PRIu64 " rows wait, others in the books",
                 waiting->records, waiting->rows);
}

void feeder_check(struct feeder *feeder)
{
    struct iso_accounting books;
    struct iso_text text = {0};
    const char *reason;
    iso_pipeline_accounting(feeder->pipeline, &books);
    if (!books.balanced) {
        iso_accounting_imbalance_text(&books, &text);
        snprintf(feeder->failure, sizeof feeder->failure, "books: %.*s", (int)text.used,
                 text.bytes);
    }
    iso_text_release(&text);
    check_waiting(feeder, &books);
    if (!feeder->counts_records || iso_pipeline_outcome(feeder->pipeline, false, &reason) != ISO_OK)
        return;
    feeder->held++;
    feeder->tids_held = feeder->tids_end;
    bool all_came = feeder->has_columns ? books.came[ISO_UNIT_READS] >= feeder->reads
                                        : books.came[ISO_UNIT_READS] == feeder->reads;
    if (books.came[ISO_UNIT_RECORDS] != feeder->records || !all_came ||
        books.of[ISO_UNIT_READS][ISO_ACCOUNTED_JUDGED] <
            feeder->committed_reads) /* more: of those that turned out committed */
        snprintf(feeder->failure, sizeof feeder->failure,
                 "holds, and of %" PRIu64 " reads in %" PRIu64 " records %" PRIu64 " are judged",
                 feeder->committed_reads, feeder->records,
                 books.of[ISO_UNIT_READS][ISO_ACCOUNTED_JUDGED]);
}

static void declare_inputs(struct feeder *feeder, struct feed *feed, bool has_records)
{
    for (uint32_t i = 0; i < feed->count; i++) {
        struct iso_message *message = &feed->list[i];
        message->input = input_of(feeder, message->topic, message->partition);
        iso_pipeline_declare(feeder->pipeline, message->input, 0);
    }
    feeder->clients = input_of(feeder, "clients", 0);
    if (has_records)
        iso_pipeline_declare(feeder->pipeline, feeder->clients, 0);
}

static void put_line(void *context, const char *line, size_t length)
{
    iso_text_put_bytes(context, line, length);
}

/* Its books, and what stands, are as before. */
static void restore(struct feeder *feeder, struct iso_error *error)
{
    struct iso_accounting before, after;
    struct iso_text stood = {0}, stands = {0};
    iso_pipeline_accounting(feeder->pipeline, &before);
    iso_pipeline_standing(feeder->pipeline, put_line, &stood);
    feeder->pipeline = test_restored(feeder->pipeline, feeder->open, feeder->context, error);
    feeder->restored++;
    feeder_check(feeder);
    iso_pipeline_accounting(feeder->pipeline, &after);
    iso_pipeline_standing(feeder->pipeline, put_line, &stands);
    if (memcmp(&before, &after, sizeof before) != 0)
        snprintf(feeder->failure, sizeof feeder->failure,
                 "the books are others once they were saved and restored");
    if (stood.used != stands.used ||
        (stood.used && memcmp(stood.bytes, stands.bytes, stood.used) != 0))
        snprintf(feeder->failure, sizeof feeder->failure,
                 "other findings stand once they were saved and restored");
    iso_text_release(&stood);
    iso_text_release(&stands);
}

static void give_batch(struct feeder *feeder, const struct iso_message *batch, uint32_t count,
                       struct iso_error *error)
{
    for (uint32_t i = 0; i < count && getenv("SHOW_FEED"); i++)
        printf("# %s/%d %.*s\n", batch[i].topic, (int)batch[i].partition,
               (int)batch[i].payload.size, (const char *)batch[i].payload.data);
    iso_pipeline_feed(feeder->pipeline, batch, count, 0, error);
    if (error->status == ISO_OK && feeder->after_batch)
        feeder->after_batch(feeder, error);
    if (error->status != ISO_OK)
        return;
    feeder_check(feeder);
    if (random_percent(&feeder->saves, feeder->restores))
        restore(feeder, error);
}

void feeder_give(struct feeder *feeder, struct random *random, struct feed *feed,
                 const struct iso_bytes *records, uint32_t record_count, struct iso_error *error)
{
    struct iso_message batch[BATCH];
    uint32_t row = 0, record = 0, count = 0, bias = random_below(random, 101);
    feeder->saves = (struct random){random->state + 1};
    declare_inputs(feeder, feed, record_count > 0);
    while ((row < feed->count || record < record_count) && error->status == ISO_OK) {
        if (row < feed->count && (record == record_count || random_percent(random, bias)))
            batch[count++] = feed->list[row++];
        else
            batch[count++] = record_message(feeder, records[record++]);
        if (count == BATCH || random_percent(random, 25) ||
            (row == feed->count && record == record_count)) {
            give_batch(feeder, batch, count, error);
            count = 0;
        }
    }
}

/* Where the last line with the id of this one stands; NULL: nowhere. */
static const char *last_of_id(const char *said, const char *line)
{
    char id[40];
    const char *at = strstr(line, "\"id\":\""), *last = NULL;
    if (!at || at > line + strcspn(line, "\n"))
        return NULL;
    snprintf(id, sizeof id, "%.*s", 24, at); /* "id":" and 16 digits, and what ends them */
    for (at = said; (at = strstr(at, id)); at++)
        last = at;
    return last;
}

static bool is_final(const char *line)
{
    const char *state = strstr(line, "\"state\":\"final\"");
    return state && state < line + strcspn(line, "\n");
}

/* What stands is what was said to be final, and not taken back since. */
static void check_standing(struct feeder *feeder)
{
    struct iso_text stands = {0};
    uint32_t standing = 0, said = 0;
    iso_pipeline_standing(feeder->pipeline, put_line, &stands);
    iso_text_put_bytes(&feeder->said, "", 1); /* NUL */
    iso_text_put_bytes(&stands, "", 1);
    for (const char *line = stands.bytes; line && *line; line = strchr(line, '\n') + 1, standing++)
        if (!is_final(last_of_id(feeder->said.bytes, line) ? line : ""))
            snprintf(feeder->failure, sizeof feeder->failure, "stands, and was not said: %.200s",
                     line);
    for (const char *line = feeder->said.bytes; line && *line; line = strchr(line, '\n') + 1) {
        const char *last = last_of_id(feeder->said.bytes, line);
        said += last && last < line + strcspn(line, "\n") && last > line && is_final(line);
    }
    if (standing != said)
        snprintf(feeder->failure, sizeof feeder->failure,
                 "%" PRIu32 " findings stand, and %" PRIu32 " were said", standing, said);
    feeder->said.used--;
    iso_text_release(&stands);
}

void feeder_end(struct feeder *feeder, struct iso_error *error)
{
    struct iso_accounting books;
    iso_pipeline_end(feeder->pipeline, 0, error);
    if (error->status != ISO_OK)
        return;
    feeder_check(feeder);
    check_standing(feeder);
    iso_pipeline_accounting(feeder->pipeline, &books);
    iso_pipeline_summary(feeder->pipeline, &books, false, NULL, &feeder->said);
}

void feeder_release(struct feeder *feeder)
{
    iso_pipeline_free(feeder->pipeline);
    iso_text_release(&feeder->said);
}

bool feeder_said_the_same(struct feeder *restored, const struct feeder *straight)
{
    const struct iso_text *left = &restored->said, *right = &straight->said;
    size_t at = 0;
    while (at < left->used && at < right->used && left->bytes[at] == right->bytes[at])
        at++;
    if (at == left->used && at == right->used)
        return true;
    size_t from = at > 80 ? at - 80 : 0;
    snprintf(restored->failure, sizeof restored->failure, "restored: ...%.*s, not ...%.*s",
             (int)(left->used - from < 160 ? left->used - from : 160), left->bytes + from,
             (int)(right->used - from < 160 ? right->used - from : 160), right->bytes + from);
    return false;
}
