/* What came is whole, or the verdict says so: a true stream and true records of a small database
 * (tests/support/cell_world.h) come cut, thinned, delayed and out of order, and are judged as far
 * as they came.
 *
 * A dumb model knows what arrived, and nothing of joins and positions:
 *
 *   accusations   nobody is accused but who lies, and, of a row that was lost where its source
 *                 counts none, its key
 *   silence       nothing holds where a read rests on a row that did not come, or where a
 *                 transaction that a record or
 *                 an END tells of has not come whole
 *   lies          a read that everything contradicts that it may rest on, all of which has come, is
 *                 found
 *   whole         what came whole is judged whole
 *   forged        of snapshots that contradict each other, the owner of the one that contradicts
 *                 several is accused, and nobody else
 *
 * extent [--streams N] [--seed S] [--format F] [--damage NAME] [--pending 1] [--reports N]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tests/support/arguments.h"
#include "tests/support/cell_world.h"
#include "tests/support/feed_yugabyte.h"
#include "tests/support/restored.h"

enum {
    TRANSACTIONS = 24,
    MANY = 3000,
    MAX_REPORTS = 8,
    PARTITIONS = 24,
    BATCH = 8,
    FORGERIES = 16,
    CLIENT_PARTITIONS = 3
};

/* What becomes of a stream; several may. */
enum damage {
    CUT_PARTITIONS,
    CUT_RUN,
    CUT_STREAM,
    LOST_ROW,
    LOST_END,
    LOST_BEGIN,
    LOST_RECORDS,
    LAG,
    DAMAGES
};
static const char *const damage_names[] = {"cut-partitions", "cut-run",  "cut-stream",
                                           "lost-row",       "lost-end", "lost-begin",
                                           "lost-records",   "lag"};

/* What does not hold yet, by the beginning of a format's name: such damages are drawn only if
 * --damage or --pending asks for them. A line whose damages are all judged rightly goes. */
struct pending {
    const char *formats;
    uint32_t damages;
};
#define OF(damage) (1u << (damage))
static const struct pending pending[] = {
    /* Nothing counts their rows: a write without one may have changed nothing, and only the engine
     * knows whether it would have. So readers of what was lost are accused beside its writer. */
    {"debezium-no-metadata", OF(LOST_ROW)},
    {"mariadb-no-metadata", OF(LOST_ROW)},
    {"ticdc", OF(LOST_ROW)},
    {"yugabyte", OF(LOST_ROW)},
};

/* Streams that were judged wrongly once. */
static const struct {
    const char *format;
    uint64_t seed;
} judged_wrongly[] = {{"debezium-no-metadata", 40000096},
                      {"debezium-no-metadata", 40000765},
                      {"debezium-no-metadata", 3001366},
                      {"debezium-no-metadata", 3001979},
                      {"debezium-in-band", 60002261},
                      {"mariadb", 50000291},
                      {"mariadb", 60004358},
                      {"mariadb", 62001745},
                      {"mariadb-values", 90003235},
                      {"debezium-values", 90001928},
                      {"debezium-values", 90000479},
                      {"debezium-values", 90001383},
                      {"debezium-values", 95000111},
                      {"debezium-values", 701905},
                      {"debezium-no-metadata", 81010179},
                      {"debezium-no-metadata", 81016354}};

/* A message on its way. */
struct parcel {
    struct iso_message message;
    struct feed_tag tag;
    uint32_t partition; /* its own number among those of all topics */
    bool gone;
    bool cut; /* gone with all behind it in its partition */
};

/* What arrived of a transaction. */
struct arrived {
    bool record, end, has_end, begin, has_begin;
    uint32_t rows;                           /* came */
    uint32_t of[CELL_ROWS], sent[CELL_ROWS]; /* the same by row, and how many were sent */
    bool lost[CELL_ROWS]; /* a row of it went missing before others of its partition */
};

struct stream {
    struct cell_world *world;
    struct feed feed;
    uint32_t count, partitions;
    struct parcel *parcels;
    char **lines; /* clients', by transaction */
    bool damaged[DAMAGES];
    const char *only;
    bool all_of_them; /* what is pending, too */
    bool drained;
    uint32_t forger; /* whose snapshot is no transaction's; or ISO_NONE */
    struct arrived *arrived;
    bool initial[CELL_ROWS]; /* its snapshot row came */
    bool ended[CELL_ROWS];   /* by table: the last row of its snapshot came */
    uint64_t promised[PARTITIONS], farthest[PARTITIONS];
    bool is_stream[PARTITIONS];
    enum iso_status outcome;
    const char *reason;
    struct {
        uint64_t held, undecided, violated, lies, found, restored, doubted, forged, of[DAMAGES];
    } all;
};

/* ---- on the way ---- */

static uint32_t partition_of(struct stream *stream, const struct iso_message *message)
{
    for (uint32_t i = 0; i < stream->count; i++)
        if (stream->parcels[i].message.partition == message->partition &&
            !strcmp(stream->parcels[i].message.topic, message->topic))
            return stream->parcels[i].partition;
    if (stream->partitions == PARTITIONS)
        abort();
    stream->is_stream[stream->partitions] = strcmp(message->topic, "clients") != 0;
    return stream->partitions++;
}

static void add_parcel(struct stream *stream, const struct iso_message *message,
                       struct feed_tag tag)
{
    struct parcel parcel = {
        .message = *message, .tag = tag, .partition = partition_of(stream, message)};
    stream->parcels[stream->count++] = parcel;
}

/* Rows and records, each partition in its order; some partitions lag behind all others. */
static void load(struct stream *stream)
{
    struct cell_world *world = stream->world;
    struct random *random = &world->random;
    uint32_t partitions = 1 + random_below(random, CLIENT_PARTITIONS), row = 0, t = 0;
    uint32_t bias = random_below(random, 101);
    int64_t offsets[CLIENT_PARTITIONS] = {0};
    stream->count = stream->partitions = 0;
    stream->parcels =
        iso_allocate_zeroed(stream->feed.count + world->count + 1u, sizeof *stream->parcels);
    while (row < stream->feed.count || t < world->count) {
        if (row < stream->feed.count && (t == world->count || random_percent(random, bias))) {
            add_parcel(stream, &stream->feed.list[row], stream->feed.tags[row]);
            row++;
            continue;
        }
        if (world->list[t].withheld || world->format->alone || world->format->in_band) {
            t++;
            continue;
        }
        size_t size;
        FILE *file = open_memstream(&stream->lines[t], &size);
        cell_print_record(world, file, t);
        fclose(file);
        uint32_t partition = random_below(random, partitions);
        struct iso_message message = {
            .topic = "clients",
            .partition = (int32_t)partition,
            .broker = -1,
            .offset = offsets[partition]++,
            .payload = {(const uint8_t *)stream->lines[t], (uint32_t)size}};
        add_parcel(stream, &message,
                   (struct feed_tag){.part = FEED_RECORD, .transaction = t, .number = ISO_NONE});
        t++;
    }
}

static void lag(struct stream *stream)
{
    struct random *random = &stream->world->random;
    bool behind[PARTITIONS];
    struct parcel *parcels = iso_allocate(stream->count * sizeof *parcels + 1);
    uint32_t count = 0;
    for (uint32_t p = 0; p < stream->partitions; p++)
        behind[p] = random_percent(random, 30);
    for (int late = 0; late < 2; late++)
        for (uint32_t i = 0; i < stream->count; i++)
            if (behind[stream->parcels[i].partition] == late)
                parcels[count++] = stream->parcels[i];
    iso_free(stream->parcels);
    stream->parcels = parcels;
}

static void cut_partitions(struct stream *stream)
{
    struct random *random = &stream->world->random;
    uint32_t count[PARTITIONS] = {0}, kept[PARTITIONS], seen[PARTITIONS] = {0};
    for (uint32_t i = 0; i < stream->count; i++)
        count[stream->parcels[i].partition]++;
    for (uint32_t p = 0; p < stream->partitions; p++)
        kept[p] = random_percent(random, 50) ? count[p] : random_below(random, count[p] + 1);
    for (uint32_t i = 0; i < stream->count; i++) {
        struct parcel *parcel = &stream->parcels[i];
        parcel->cut = parcel->gone |= seen[parcel->partition]++ >= kept[parcel->partition];
    }
}

static void cut_run(struct stream *stream)
{
    uint32_t kept = random_below(&stream->world->random, stream->count + 1);
    for (uint32_t i = kept; i < stream->count; i++)
        stream->parcels[i].cut = stream->parcels[i].gone = true;
}

static bool is_sent(const struct parcel *parcel)
{
    return parcel->tag.part == FEED_ROW || parcel->tag.part == FEED_BEGIN ||
           parcel->tag.part == FEED_END;
}

/* A commit that a snapshot sees, and not another one that stands before it in the log; where that
 * one is. */
static uint32_t find_overtaking(const struct cell_world *world, uint64_t *log)
{
    for (uint32_t w = 0; w < world->count; w++)
        for (uint32_t y = 0; y < world->count && world->list[w].cts && world->list[w].writes; y++)
            for (uint32_t s = 0; s < world->count && world->list[y].log > world->list[w].log; s++)
                if (world->list[y].cts && world->list[y].writes &&
                    world->list[s].sts > world->list[y].cts &&
                    world->list[s].sts < world->list[w].cts && world->list[s].cts && s != w) {
                    *log = world->list[w].log;
                    return y;
                }
    return ISO_NONE;
}

/* The connector died: nothing of what stands in the log behind a certain moment was sent, nor what
 * the client of such a commit said that others saw before one which was. */
static void cut_stream(struct stream *stream)
{
    struct cell_world *world = stream->world;
    uint64_t end = 2 * (uint64_t)random_below(&world->random, (uint32_t)world->now + 1);
    uint32_t overtaking = find_overtaking(world, &end);
    for (uint32_t i = 0; i < stream->count; i++) {
        struct parcel *parcel = &stream->parcels[i];
        bool behind = is_sent(parcel) && world->list[parcel->tag.transaction].log > end;
        behind |= parcel->tag.part == FEED_PROMISE && parcel->tag.promise > world->base + end / 2;
        behind |= parcel->tag.part == FEED_RECORD && parcel->tag.transaction == overtaking;
        if (behind)
            parcel->cut = parcel->gone = true;
    }
}

/* One message of that part is gone, whenever it was sent. */
static void lose(struct stream *stream, enum feed_part part)
{
    uint32_t chosen = ISO_NONE, seen = 0;
    for (uint32_t i = 0; i < stream->count; i++)
        if (stream->parcels[i].tag.part == part && !random_below(&stream->world->random, ++seen))
            chosen = i;
    if (chosen == ISO_NONE)
        return;
    struct feed_tag tag = stream->parcels[chosen].tag;
    for (uint32_t i = 0; i < stream->count; i++)
        stream->parcels[i].gone |= stream->parcels[i].tag.part == part &&
                                   stream->parcels[i].tag.number == tag.number &&
                                   stream->parcels[i].tag.transaction == tag.transaction;
}

static void lose_records(struct stream *stream)
{
    uint32_t percent = 1 + random_below(&stream->world->random, 60);
    for (uint32_t i = 0; i < stream->count; i++)
        stream->parcels[i].gone |= stream->parcels[i].tag.part == FEED_RECORD &&
                                   random_percent(&stream->world->random, percent);
}

static bool is_pending(const struct cell_format *format, enum damage damage)
{
    for (size_t i = 0; i < sizeof pending / sizeof *pending; i++)
        if (!strncmp(format->name, pending[i].formats, strlen(pending[i].formats)) &&
            pending[i].damages & OF(damage))
            return true;
    return false;
}

static void damage(struct stream *stream)
{
    struct random *random = &stream->world->random;
    for (int d = 0; d < DAMAGES && stream->forger == ISO_NONE; d++) {
        stream->damaged[d] =
            random_percent(random, d == LAG       ? 40
                                   : d < LOST_ROW ? 15
                                                  : 12) &&
            (stream->all_of_them || !is_pending(stream->world->format, (enum damage)d));
        if (stream->only)
            stream->damaged[d] = !strcmp(stream->only, damage_names[d]);
        stream->all.of[d] += stream->damaged[d];
    }
    uint64_t log;
    stream->damaged[CUT_STREAM] |= stream->forger == ISO_NONE && !stream->only &&
                                   find_overtaking(stream->world, &log) != ISO_NONE;
    if (stream->damaged[LAG])
        lag(stream);
    if (stream->damaged[LOST_ROW])
        lose(stream, FEED_ROW);
    if (stream->damaged[LOST_END])
        lose(stream, FEED_END);
    if (stream->damaged[LOST_BEGIN])
        lose(stream, FEED_BEGIN);
    if (stream->damaged[LOST_RECORDS])
        lose_records(stream);
    if (stream->damaged[CUT_STREAM])
        cut_stream(stream);
    if (stream->damaged[CUT_PARTITIONS])
        cut_partitions(stream);
    if (stream->damaged[CUT_RUN])
        cut_run(stream);
}

/* ---- what arrived ---- */

static void count_arrived(struct stream *stream)
{
    struct cell_world *world = stream->world;
    uint32_t last[PARTITIONS] = {0};
    uint32_t numbers = 0;
    for (uint32_t i = 0; i < stream->feed.count; i++)
        numbers = stream->feed.tags[i].number < numbers ? numbers : stream->feed.tags[i].number + 1;
    bool *sent = iso_allocate_zeroed(numbers + 1u, sizeof *sent);
    memset(stream->arrived, 0, world->count * sizeof *stream->arrived);
    memset(stream->initial, 0, sizeof stream->initial);
    memset(stream->ended, 0, sizeof stream->ended);
    memset(stream->promised, 0, sizeof stream->promised);
    memset(stream->farthest, 0, sizeof stream->farthest);
    for (uint32_t i = 0; i < stream->count; i++)
        if (!stream->parcels[i].gone)
            last[stream->parcels[i].partition] = i + 1;
    for (int gone = 0; gone < 2;
         gone++) /* what came first, then what did not and is no copy of that */
        for (uint32_t i = 0; i < stream->count; i++) {
            const struct parcel *parcel = &stream->parcels[i];
            const struct feed_tag *tag = &parcel->tag;
            struct arrived *arrived =
                &stream
                     ->arrived[is_sent(parcel) || tag->part == FEED_RECORD ? tag->transaction : 0];
            uint64_t *promised = &stream->promised[parcel->partition];
            if (parcel->gone != gone)
                continue;
            if (tag->part == FEED_RECORD)
                arrived->record |= !gone;
            if (tag->part == FEED_SNAPSHOT_ROW)
                stream->initial[tag->key] |= !gone,
                    stream->ended[tag->key % world->tables] |= tag->ends && !gone;
            if (tag->part == FEED_PROMISE && !gone && tag->promise > *promised)
                *promised = tag->promise;
            arrived->end |= tag->part == FEED_END && !gone;
            arrived->has_end |= tag->part == FEED_END;
            arrived->begin |= tag->part == FEED_BEGIN && !gone;
            arrived->has_begin |= tag->part == FEED_BEGIN;
            if (is_sent(parcel) && !gone &&
                world->list[tag->transaction].cts > stream->farthest[parcel->partition])
                stream->farthest[parcel->partition] = world->list[tag->transaction].cts;
            if (tag->part != FEED_ROW)
                continue;
            uint32_t number = tag->number;
            if (sent[number])
                continue;
            sent[number] = true;
            arrived->sent[tag->key]++;
            if (!gone) {
                arrived->rows++;
                arrived->of[tag->key]++;
            } else
                arrived->lost[tag->key] |= last[parcel->partition] > i;
        }
    iso_free(sent);
}

/* ---- the model ---- */

static bool is_writer(const struct stream *stream, uint32_t t)
{
    return stream->world->list[t].cts && stream->world->list[t].writes;
}

static bool left_the_same(const struct parcel *one, const struct parcel *other)
{
    const struct iso_bytes sides[] = {one->message.payload, other->message.payload};
    const uint8_t *at[2], *end[2];
    for (int i = 0; i < 2; i++) {
        at[i] = memmem(sides[i].data, sides[i].size, "\"after\":", 8);
        end[i] = memmem(sides[i].data, sides[i].size, ",\"source\":", 10);
    }
    return end[0] - at[0] == end[1] - at[1] && !memcmp(at[0], at[1], (size_t)(end[0] - at[0]));
}

/* Final writes are compared, not statements: of a register that YugabyteDB's client wrote several
 * times, one that came and left what the last one did is all. */
static bool shows_final(const struct stream *stream, uint32_t t, uint32_t row)
{
    const struct parcel *last = NULL;
    bool shown = false;
    if (!cell_is_of(stream->world, "yugabyte") || !stream->world->format->registers)
        return false;
    for (int found = 0; found < 2; found++)
        for (uint32_t i = 0; i < stream->count; i++) {
            const struct parcel *parcel = &stream->parcels[i];
            if (parcel->tag.part != FEED_ROW || parcel->tag.transaction != t ||
                parcel->tag.key != row)
                continue;
            if (!found)
                last = !last || parcel->tag.number > last->tag.number ? parcel : last;
            else
                shown |= !parcel->gone && left_the_same(parcel, last);
        }
    return shown;
}

static bool is_whole_row(const struct stream *stream, uint32_t t, uint32_t row)
{
    const struct arrived *arrived = &stream->arrived[t];
    return arrived->of[row] == arrived->sent[row] || shows_final(stream, t, row);
}

static bool is_whole(const struct stream *stream, uint32_t t)
{
    bool whole = true;
    for (uint32_t row = 0; row < stream->world->rows; row++)
        whole &= is_whole_row(stream, t, row);
    return whole;
}

/* Whether a record that came says which rows it wrote. */
static bool is_listed(const struct stream *stream, uint32_t t)
{
    return stream->arrived[t].record && !stream->world->list[t].leaves;
}

/* Whether nothing that came tells of the row that transaction t wrote, and that did not. Where
 * nothing counts rows, others of the transaction do not, nor does a record that leaves them to the
 * stream. */
static bool is_without_trace(const struct stream *stream, uint32_t t, uint32_t row)
{
    const struct arrived *arrived = &stream->arrived[t];
    bool counts = cell_has_counts(stream->world),
         may_be_all = arrived->lost[row] || !arrived->rows || !counts;
    return may_be_all && !arrived->end && !is_listed(stream, t) && !(counts && arrived->record);
}

static bool lacks_initial(const struct stream *stream, uint32_t row)
{
    const struct cell_world *world = stream->world;
    return cell_is_of(world, "debezium") && world->initial[row].exists && !stream->initial[row];
}

/* The last row of its table's snapshot came, through another partition: nothing tells that there
 * are more. */
static bool is_secretly_lost(const struct stream *stream, uint32_t row)
{
    return lacks_initial(stream, row) && stream->ended[row % stream->world->tables];
}

/* Where no row of a first snapshot came, nothing tells that there is one: what was there is what
 * the first read says. */
static bool shows_snapshot(const struct stream *stream)
{
    bool any = false;
    for (uint32_t row = 0; row < stream->world->rows; row++)
        any |= stream->initial[row];
    return any;
}

/* Whether the newest version of the row that operation `i` of transaction t sees has come. */
static bool saw_what_came(const struct stream *stream, uint32_t t, uint32_t i, uint32_t row)
{
    const struct cell_world *world = stream->world;
    uint32_t newest = ISO_NONE;
    for (uint32_t own = 0; own < i; own++)
        if (cell_writes(&world->list[t].operations[own]) &&
            world->list[t].operations[own].row == row)
            return true;
    for (uint32_t w = 0; w < world->count; w++)
        if (is_writer(stream, w) && stream->arrived[w].sent[row] &&
            world->list[w].cts < world->list[t].sts &&
            (newest == ISO_NONE || world->list[w].cts > world->list[newest].cts))
            newest = w;
    if (newest == ISO_NONE)
        return !lacks_initial(stream, row) || is_secretly_lost(stream, row) ||
               !shows_snapshot(stream) ||
               (world->list[t].operations[i].kind == CELL_QUERY &&
                !world->list[t].operations[i].returned[row]);
    return is_whole_row(stream, newest, row) || is_without_trace(stream, newest, row);
}

/* With the metadata that it had. */
static bool is_told(const struct stream *stream, uint32_t t)
{
    const struct arrived *arrived = &stream->arrived[t];
    return is_whole(stream, t) && arrived->end == arrived->has_end &&
           arrived->begin == arrived->has_begin;
}

/* Own writes are the reader's, where its record lists them; else the stream has to tell them. */
static const char *cannot_hold(const struct stream *stream)
{
    const struct cell_world *world = stream->world;
    for (uint32_t t = 0; t < world->count; t++) {
        const struct cell_transaction *transaction = &world->list[t];
        const struct arrived *arrived = &stream->arrived[t];
        if (!transaction->cts)
            continue;
        if (arrived->end && !is_whole(stream, t))
            return "an END counts rows that did not come";
        if (!arrived->record)
            continue;
        /* nothing tells of what a record leaves to a stream without ENDs */
        if (!is_whole(stream, t) && (is_listed(stream, t) || cell_has_counts(world)))
            return "a record tells of writes that did not come";
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct cell_operation *operation = &transaction->operations[i];
            if (cell_writes(operation))
                continue;
            for (uint32_t row = 0; row < world->rows; row++)
                if ((operation->kind == CELL_QUERY
                         ? row % world->tables == operation->row % world->tables
                         : row == operation->row) &&
                    !saw_what_came(stream, t, i, row))
                    return "a read rests on a row that did not come";
        }
    }
    return NULL;
}

static uint32_t transaction_of(const struct stream *stream, const char *finding)
{
    char name[CELL_TEXT], tid[CELL_TEXT];
    if (sscanf(finding, "%*s %119s", tid) != 1)
        return ISO_NONE;
    for (uint32_t t = 0; t < stream->world->count; t++) {
        cell_name_of(stream->world, t, name);
        if (!strcmp(name, tid))
            return t;
    }
    return ISO_NONE;
}

static bool is_of_row(const struct stream *stream, const char *finding, uint32_t row)
{
    char key[CELL_TEXT];
    const char *at = strrchr(finding, ' ');
    size_t length = strlen(cell_key_of(stream->world, row, key));
    return at && !strncmp(at + 1, key, length) && (!at[1 + length] || at[1 + length] == '#');
}

static bool is_accused(const struct stream *stream, uint32_t t)
{
    for (uint32_t i = 0; i < stream->world->expected.count; i++)
        if (transaction_of(stream, stream->world->expected.list[i]) == t)
            return true;
    return false;
}

static bool has(const struct cell_found *found, const char *text)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (!strcmp(found->list[i], text))
            return true;
    return false;
}

/* Whether nothing counts rows in what came: no END of a source that has them did, and no BEGIN
 * tells that there are any. That is a stream without metadata (`pending`). */
static bool lacks_metadata(const struct stream *stream)
{
    bool any = false;
    for (uint32_t t = 0; t < stream->world->count; t++)
        any |= stream->arrived[t].begin || stream->arrived[t].end;
    return stream->world->format->binlog && !any;
}

/* A BEGIN of a binlog's stream alone, behind which the log goes on: a statement that changes a
 * table has no more than that, and what it changed is its own affair. */
static bool is_like_statement(const struct stream *stream, uint32_t t)
{
    const struct arrived *arrived = &stream->arrived[t];
    return stream->world->format->binlog && arrived->begin && arrived->has_end && !arrived->end &&
           !arrived->record && !arrived->rows;
}

/* Nothing counts the rows of some sources; then a row that was lost is what its record and the rows
 * behind it say, and without a record it is as if it had never been. */
static bool is_of_lost_row(const struct stream *stream, const char *finding)
{
    for (uint32_t row = 0; row < stream->world->rows; row++)
        if (is_secretly_lost(stream, row) && is_of_row(stream, finding, row))
            return true;
    for (uint32_t t = 0; t < stream->world->count; t++)
        for (uint32_t row = 0; row < stream->world->rows; row++) {
            const struct arrived *arrived = &stream->arrived[t];
            bool is_lost =
                arrived->lost[row] || (is_like_statement(stream, t) && arrived->sent[row]);
            if (!is_lost || arrived->end || !is_of_row(stream, finding, row))
                continue;
            if (!strncmp(finding, "CDC ", 4) || !is_listed(stream, t) || lacks_metadata(stream))
                return true;
        }
    return false;
}

/* Whether every partition has shown a change: then none will show a row of the first snapshot. */
static bool is_past_snapshot(const struct stream *stream)
{
    for (uint32_t p = 0; p < stream->partitions; p++)
        if (stream->is_stream[p] && !stream->farthest[p])
            return false;
    return true;
}

/* Whether an initial row of it came: of a table without any, nothing tells that it was empty before
 * the snapshot is over. */
static bool shows_table(const struct stream *stream, uint32_t table)
{
    for (uint32_t row = table; row < stream->world->rows; row += stream->world->tables)
        if (stream->initial[row])
            return true;
    return !cell_is_of(stream->world, "debezium") ||
           (stream->world->format->binlog && is_past_snapshot(stream));
}

/* PostgreSQL: whether a snapshot sees everything that another one does. */
static bool sees_all_of(const struct cell_transaction *one, const struct cell_transaction *other)
{
    for (uint64_t xid = CELL_FIRST_XID; xid < other->xmax; xid++)
        if (cell_sees(other, xid) && !cell_sees(one, xid))
            return false;
    return true;
}

/* PostgreSQL: whether all that came tells what became of the xid: it came whole, its record says
 * that it aborted, or who had seen it end came. */
static bool is_over(const struct stream *stream, uint64_t xid)
{
    const struct cell_world *world = stream->world;
    uint32_t of = (uint32_t)(xid - CELL_FIRST_XID);
    bool over = is_writer(stream, of) ? stream->arrived[of].end && is_told(stream, of)
                                      : stream->arrived[of].record && !world->list[of].cts;
    for (uint32_t w = 0; w < world->count && !over; w++)
        over = is_writer(stream, w) && stream->arrived[w].record && stream->arrived[w].end &&
               is_told(stream, w) && cell_sees(&world->list[w], xid);
    return over;
}

static bool sees_only_what_is_over(const struct stream *stream, const struct cell_transaction *by)
{
    bool over = true;
    for (uint64_t xid = CELL_FIRST_XID; xid < by->xmax && over; xid++)
        over = !cell_sees(by, xid) || is_over(stream, xid);
    return over;
}

/* Dgraph: nothing says which predicates one group sends in their order, unless there is one
 * group. */
static bool has_passed_predicate(const struct stream *stream, const char *finding, uint64_t moment)
{
    const struct cell_world *world = stream->world;
    for (uint32_t w = 0; w < world->count; w++)
        for (uint32_t row = 0; row < world->rows; row++)
            for (uint32_t of = 0; of < world->rows; of++)
                if (world->list[w].cts > moment && stream->arrived[w].of[row] &&
                    of % world->tables == row % world->tables && is_of_row(stream, finding, of))
                    return true;
    return !cell_is_of(world, "dgraph") || world->format->one_group;
}

/* Whether a partition begins with what did not come: then it may have been read from the midst. */
static bool begins_midway(const struct stream *stream)
{
    bool seen[PARTITIONS] = {false}, lacks[PARTITIONS] = {false}, midway = false;
    for (uint32_t i = 0; i < stream->count; i++) {
        const struct parcel *parcel = &stream->parcels[i];
        lacks[parcel->partition] |= parcel->gone && !seen[parcel->partition];
        midway |= !parcel->gone && lacks[parcel->partition] && stream->is_stream[parcel->partition];
        seen[parcel->partition] = true;
    }
    return midway;
}

/* PostgreSQL: whether a commit that the transaction does not see may stand at its LSN, since no
 * snapshot had come before it: what the transaction read is then not judged. */
static bool may_be_unplaced(const struct stream *stream, uint32_t t)
{
    const struct cell_world *world = stream->world;
    bool unplaced = false;
    for (uint32_t w = 0; w < world->count; w++)
        unplaced |= cell_omits_snapshot(world, w) && world->list[w].cts > world->list[t].sts;
    return unplaced;
}

static bool is_unplaced(const struct stream *stream)
{
    bool unplaced = false;
    for (uint32_t t = 0; t < stream->world->count; t++)
        unplaced |= may_be_unplaced(stream, t);
    return unplaced && !strcmp(stream->reason, "unplaced-transactions");
}

/* Whether the row's first change was lost: what the next one found there may also have been lost
 * with its initial row. */
static bool begins_with_lost(const struct stream *stream, uint32_t row)
{
    uint32_t first = ISO_NONE;
    for (uint32_t w = 0; w < stream->world->count; w++)
        if (stream->arrived[w].sent[row] &&
            (first == ISO_NONE || stream->world->list[w].cts < stream->world->list[first].cts))
            first = w;
    return first != ISO_NONE && stream->arrived[first].lost[row];
}

/* PostgreSQL: whether rows of its table were lost that no record lists: they may have shown that
 * columns are others since the last change. */
static bool may_be_altered(const struct stream *stream, uint32_t row)
{
    const struct cell_world *world = stream->world;
    bool altered = false;
    for (uint32_t w = 0; w < world->count; w++)
        for (uint32_t of = row % world->tables; of < world->rows; of += world->tables)
            altered |=
                stream->arrived[w].of[of] < stream->arrived[w].sent[of] && !is_listed(stream, w);
    return altered && cell_is_of(world, "debezium") && !world->format->binlog;
}

/* Whether every row came that the lie may be measured by, and what shows that no other comes. */
static bool must_find(const struct stream *stream, const char *finding)
{
    const struct cell_world *world = stream->world;
    uint32_t t = transaction_of(stream, finding);
    bool by_partition =
        cell_is_of(world, "debezium") && world->format->no_metadata && !world->format->binlog;
    if (t == ISO_NONE || !stream->arrived[t].record || !stream->drained || by_partition ||
        begins_midway(stream) || may_be_unplaced(stream, t))
        return false;
    const struct cell_transaction *liar = &world->list[t];
    bool passed = world->format->binlog && world->format->no_metadata,
         counts = cell_has_counts(world),
         all_over = !cell_has_snapshots(world) || sees_only_what_is_over(stream, liar);
    passed |= world->format->in_band;
    /* Before its first END nothing tells which commits the connector's snapshot has. */
    for (uint32_t w = 0; w < world->count && world->format->binlog; w++)
        passed |= stream->arrived[w].end;
    /* Beyond TiCDC's watermark a transaction waits as a whole. */
    uint64_t promise = liar->writes && liar->cts > liar->sts ? liar->cts : liar->sts;
    if (((liar->writes || world->format->in_band) && !is_told(stream, t)) ||
        !has_passed_predicate(stream, finding, liar->sts))
        return false;
    for (uint32_t row = 0; row < world->rows; row++)
        if (lacks_initial(stream, row) ||
            (is_of_row(stream, finding, row) &&
             (!shows_table(stream, row % world->tables) || begins_with_lost(stream, row) ||
              may_be_altered(stream, row))))
            return false;
    for (uint32_t w = 0; w < world->count; w++) {
        bool whole = is_told(stream, w);
        /* its rows have no moment; END counts the message of one that only read as one of them */
        if (world->format->in_band && world->list[w].cts && !stream->arrived[w].record)
            return false;
        if (!is_writer(stream, w))
            continue;
        if (world->list[w].cts < liar->sts && !whole)
            return false;
        bool before = world->list[w].cts < liar->cts || world->list[w].log < liar->log;
        if (before && !whole) /* its own place is behind them */
            return false;
        if (stream->arrived[w].begin !=
            stream->arrived[w].has_begin) /* perhaps the stream began behind it */
            return false;
        /* Behind the liar's snapshot in the log is whoever took its own behind it; a larger xid
         * alone is no proof, as what is seen first may stand later in the log. */
        bool behind = (CELL_FIRST_XID + w >= liar->xmax && all_over) ||
                      (stream->arrived[w].record && sees_all_of(&world->list[w], liar));
        passed |= behind && stream->arrived[w].end && whole;
    }
    for (uint32_t p = 0; p < stream->partitions && !counts; p++)
        if (stream->is_stream[p] &&
            (cell_is_of(world, "ticdc") ? stream->promised[p] < world->base + promise
                                        : stream->farthest[p] <= liar->sts))
            return false;
    return passed || !counts;
}

static bool anything_gone(const struct stream *stream)
{
    for (uint32_t i = 0; i < stream->count; i++)
        if (stream->parcels[i].gone)
            return true;
    return false;
}

/* A stream of TiCDC in which no watermark has ever come is judged as if all of it had: CSV never
 * has one. */
static bool is_without_promises(const struct stream *stream)
{
    for (uint32_t p = 0; p < stream->partitions; p++)
        if (stream->promised[p])
            return false;
    return cell_is_of(stream->world, "ticdc");
}

static bool leaves_any(const struct stream *stream)
{
    bool any = false;
    for (uint32_t t = 0; t < stream->world->count; t++)
        any |= stream->world->list[t].leaves;
    return any;
}

static void fail(struct stream *stream, const char *what, const char *which)
{
    if (!stream->world->failure[0])
        snprintf(stream->world->failure, sizeof stream->world->failure, "%s: %.900s", what, which);
}

static bool has_nothing_to_judge(const struct stream *stream)
{
    const struct cell_world *world = stream->world;
    for (uint32_t t = 0; t < world->count; t++) {
        for (uint32_t i = 0; i < world->list[t].operation_count && world->list[t].cts; i++) {
            const struct cell_operation *operation = &world->list[t].operations[i];
            bool replaces = cell_writes(operation) && operation->kind != CELL_INSERT &&
                            (operation->before.v != operation->after.v ||
                             operation->before.w != operation->after.w);
            if (world->format->alone ? replaces
                                     : stream->arrived[t].record && !cell_writes(operation))
                return false;
        }
    }
    return true;
}

/* Of whom nothing is right. */
static bool is_of_forger(const struct stream *stream, const char *finding)
{
    char name[CELL_TEXT], tids[CELL_TEXT];
    if (stream->forger == ISO_NONE || sscanf(finding, "%*s %119s", tids) != 1)
        return false;
    cell_name_of(stream->world, stream->forger, name);
    bool is_one = false;
    for (char *rest = tids, *tid; (tid = strsep(&rest, ","));)
        is_one |= !strcmp(tid, name);
    return is_one;
}

static void check_forger(struct stream *stream)
{
    char wanted[CELL_TEXT + 16], name[CELL_TEXT];
    if (stream->forger == ISO_NONE || !stream->drained)
        return;
    cell_name_of(stream->world, stream->forger, name);
    snprintf(wanted, sizeof wanted, "TIMESTAMP %s ", name);
    if (!has(&stream->world->found, wanted))
        fail(stream, "snapshot not found that contradicts others", name);
}

static void compare(struct stream *stream)
{
    const struct cell_world *world = stream->world;
    check_forger(stream);
    for (uint32_t i = 0; i < world->found.count && !is_without_promises(stream); i++)
        if (!has(&world->expected, world->found.list[i]) &&
            !is_of_forger(stream, world->found.list[i]) &&
            !is_of_lost_row(stream, world->found.list[i]))
            fail(stream, "accusation", world->found.list[i]);
    for (uint32_t i = 0; i < world->expected.count; i++) {
        bool found = has(&world->found, world->expected.list[i]);
        stream->all.lies++;
        stream->all.found += found;
        if (!found && !is_of_forger(stream, world->expected.list[i]) &&
            must_find(stream, world->expected.list[i]))
            fail(stream, "lie not found", world->expected.list[i]);
    }
    const char *why = cannot_hold(stream);
    if (stream->outcome == ISO_OK && why && !is_without_promises(stream))
        fail(stream, "silence", why);
    bool nothing =
        stream->reason &&
        (!strcmp(stream->reason, "nothing-judged") || !strcmp(stream->reason, "no-reads")) &&
        has_nothing_to_judge(stream);
    /* MariaDB's last writer may have changed nothing, which has no row; only an END would tell. */
    nothing |= world->format->binlog && world->format->no_metadata && stream->reason &&
               !strcmp(stream->reason, "waiting");
    /* An insert of YugabyteDB's may replace a row, and the order of writes within may be lost. */
    nothing |= cell_is_of(world, "yugabyte") && stream->reason &&
               (!strcmp(stream->reason, "lossy") || !strcmp(stream->reason, "own-order") ||
                !strcmp(stream->reason, "late-rows"));
    nothing |= stream->reason && is_unplaced(stream);
    nothing |= stream->reason && !strcmp(stream->reason, "own-order") && leaves_any(stream);
    if (stream->drained && !anything_gone(stream) && !world->expected.count &&
        stream->forger == ISO_NONE && stream->outcome != ISO_OK && !nothing)
        fail(stream, "whole, and not judged", stream->reason ? stream->reason : "?");
    stream->all.doubted += world->doubted.count;
    stream->all.held += stream->outcome == ISO_OK;
    stream->all.violated += stream->outcome == ISO_VIOLATED;
    stream->all.undecided += stream->outcome == ISO_UNDECIDED;
}

/* ---- the run ---- */

static struct iso_pipeline *open_again(void *context)
{
    return cell_open_pipeline(context);
}

static void give(struct stream *stream, struct iso_pipeline **pipeline, struct iso_error *error)
{
    struct cell_world *world = stream->world;
    struct random *random = &world->random;
    struct iso_message batch[BATCH];
    uint32_t count = 0;
    for (uint32_t i = 0; i < stream->count; i++) {
        struct iso_message *message = &stream->parcels[i].message;
        message->input = iso_inputs_number(iso_pipeline_inputs(*pipeline), message->topic,
                                           strlen(message->topic), message->partition);
        iso_pipeline_declare(*pipeline, message->input, 0);
    }
    for (uint32_t i = 0; i <= stream->count && error->status == ISO_OK; i++) {
        if (i < stream->count && !stream->parcels[i].gone) {
            const struct iso_message *message = &stream->parcels[i].message;
            if (getenv("SHOW_FEED"))
                printf("# %s/%d %.*s\n", message->topic, (int)message->partition,
                       (int)message->payload.size, (const char *)message->payload.data);
            batch[count++] = *message;
        }
        if (!count || (count < BATCH && i < stream->count && !random_percent(random, 25)))
            continue;
        iso_pipeline_feed(*pipeline, batch, count, 0, error);
        count = 0;
        if (error->status == ISO_OK && random_percent(random, 4)) {
            *pipeline = test_restored(*pipeline, open_again, world, error);
            stream->all.restored++;
        }
    }
}

static void check_books(struct stream *stream, const struct iso_pipeline *pipeline)
{
    struct iso_accounting books;
    struct iso_text text = {0};
    iso_pipeline_accounting(pipeline, &books);
    if (!books.balanced) {
        iso_accounting_imbalance_text(&books, &text);
        iso_text_put_bytes(&text, "", 1);
        fail(stream, "books", text.bytes);
    }
    iso_text_release(&text);
}

static void judge(struct stream *stream)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline *pipeline = cell_open_pipeline(stream->world);
    cell_set_initial(stream->world, pipeline);
    give(stream, &pipeline, &error);
    stream->drained = random_percent(&stream->world->random, 75);
    if (error.status == ISO_OK && stream->drained)
        iso_pipeline_end(pipeline, 0, &error);
    if (error.status != ISO_OK) {
        fail(stream, "error", error.text);
        stream->outcome = error.status;
    } else {
        check_books(stream, pipeline);
        stream->outcome = iso_pipeline_outcome(pipeline, false, &stream->reason);
    }
    iso_pipeline_free(pipeline);
}

/* The smallest stream of each kind of failure. */
struct worst {
    uint32_t count;
    struct {
        char what[CELL_TEXT];
        uint32_t parcels;
        uint64_t seed, count;
    } list[32];
};

/* "accusation: CDC" of "accusation: CDC 3 public.t0/1". */
static void kind_of(const char *failure, char what[CELL_TEXT])
{
    const char *colon = strchr(failure, ':');
    bool names = colon && (!strncmp(failure, "acc", 3) || !strncmp(failure, "lie", 3));
    snprintf(what, CELL_TEXT, "%.*s",
             names ? (int)(colon + 2 - failure + (long)strcspn(colon + 2, " ")) : CELL_TEXT - 1,
             failure);
}

static void note(struct worst *worst, const struct stream *stream, uint64_t seed)
{
    char what[CELL_TEXT];
    uint32_t i = 0;
    kind_of(stream->world->failure, what);
    while (i < worst->count && strcmp(worst->list[i].what, what))
        i++;
    if (i == sizeof worst->list / sizeof *worst->list)
        return;
    if (i == worst->count) {
        worst->count++;
        strcpy(worst->list[i].what, what);
        worst->list[i].parcels = UINT32_MAX;
    }
    worst->list[i].count++;
    if (stream->count < worst->list[i].parcels) {
        worst->list[i].parcels = stream->count;
        worst->list[i].seed = seed;
    }
}

static void report(const struct stream *stream, uint64_t seed, uint64_t alike)
{
    static const char *const parts[] = {"other", "initial", "row",    "BEGIN",
                                        "END",   "record",  "promise"};
    const struct cell_world *world = stream->world;
    printf("not ok - %s, seed %" PRIu64 ": %s (%" PRIu64 " like it)\n", world->format->name, seed,
           world->failure, alike);
    printf(
        "# again: SHOW_LINES=1 SHOW_FEED=1 build/tests/property/extent --format %s --streams 1 --seed %" PRIu64
        "%s%s\n",
        world->format->name, seed, stream->only ? " --damage " : "",
        stream->only ? stream->only : "");
    for (int d = 0; d < DAMAGES; d++)
        if (stream->damaged[d])
            printf("# %s\n", damage_names[d]);
    if (stream->forger != ISO_NONE)
        printf("# T%u's snapshot contradicts others\n", stream->forger + 1);
    for (uint32_t i = 0; i < world->doubted.count; i++)
        printf("# doubtful: %s\n", world->doubted.list[i]);
    printf("# %s, outcome %d, %s\n", stream->drained ? "drained" : "interrupted",
           (int)stream->outcome, stream->reason ? stream->reason : "-");
    for (uint32_t i = 0; i < world->expected.count; i++)
        printf("# lie: %s\n", world->expected.list[i]);
    for (uint32_t i = 0; i < world->found.count; i++)
        printf("# found: %s\n", world->found.list[i]);
    for (uint32_t row = 0; row < world->rows; row++)
        printf("# row %u: %s\n", row + 1, world->initial[row].exists ? "initial" : "-");
    for (uint32_t i = 0; i < stream->count; i++) {
        const struct parcel *parcel = &stream->parcels[i];
        const struct feed_tag *tag = &parcel->tag;
        printf("# %s %s/%d %s", parcel->gone ? parcel->cut ? "CUT " : "GONE" : "    ",
               parcel->message.topic, (int)parcel->message.partition, parts[tag->part]);
        if (is_sent(parcel) || tag->part == FEED_RECORD)
            printf(" T%u[%" PRIu64 ",%" PRIu64 "]", tag->transaction + 1,
                   world->list[tag->transaction].sts, world->list[tag->transaction].cts);
        if (tag->part == FEED_ROW || tag->part == FEED_SNAPSHOT_ROW)
            printf(" row %u", tag->key + 1);
        if (tag->part == FEED_PROMISE)
            printf(" %" PRIu64, tag->promise - world->base);
        if (tag->part == FEED_RECORD)
            printf(" %s", stream->lines[tag->transaction]);
        printf("\n");
    }
}

/* Some records of some of PostgreSQL's streams leave to the stream what was written; none that lies:
 * of that the order of its own writes may be the truth. */
static void leave_writes(struct stream *stream, uint64_t seed)
{
    struct cell_world *world = stream->world;
    struct random random = {seed};
    for (uint32_t t = 0; t < world->count && seed / 2 % 2 && cell_has_snapshots(world); t++)
        world->list[t].leaves = world->list[t].writes && world->list[t].cts &&
                                random_percent(&random, 40) && !is_accused(stream, t);
}

/* One of some streams of which all comes. */
static void forge(struct stream *stream, uint64_t seed)
{
    struct cell_world *world = stream->world;
    struct random random = {seed};
    stream->forger = ISO_NONE;
    memset(stream->damaged, 0, sizeof stream->damaged);
    bool wanted = seed % 4 == 3 && cell_has_snapshots(world) && !stream->only;
    for (uint32_t i = 0; i < FORGERIES && wanted && stream->forger == ISO_NONE; i++)
        stream->forger = cell_forge(world, &random);
    stream->all.forged += stream->forger != ISO_NONE;
}

/* In some of PostgreSQL's streams commits stand in the log in another order than snapshots see
 * them. */
static void delay(struct stream *stream, uint64_t seed)
{
    struct random random = {seed};
    if (cell_has_snapshots(stream->world) && seed / 4 % 3 == 2)
        cell_delay(stream->world, &random);
}

static bool run(struct stream *stream, uint64_t seed)
{
    stream->world->omits_snapshots = seed % 2;
    struct cell_world *world = stream->world;
    world->random = (struct random){seed * 7919 + 17};
    world->expected.count = world->found.count = world->doubted.count = 0;
    world->failure[0] = 0;
    world->now = 10;
    world->tables = 1 + random_below(&world->random, 3);
    world->rows = world->tables * (1 + random_below(&world->random, CELL_ROWS / world->tables));
    world->base = cell_is_of(world, "yugabyte") ? FEED_YUGABYTE_TIME : 1000;
    world->lies = !world->format->alone && random_percent(&world->random, 30);
    feed_init(&stream->feed);
    stream->reason = NULL;
    cell_execute(world);
    delay(stream, seed);
    cell_lie(world, 3);
    if (!world->format->alone)
        cell_expect(world);
    leave_writes(stream, seed);
    forge(stream, seed);
    stream->lines = iso_allocate_zeroed(world->count + 1u, sizeof *stream->lines);
    stream->arrived = iso_allocate_zeroed(world->count + 1u, sizeof *stream->arrived);
    if (!cell_write_feed(world, &stream->feed))
        fail(stream, "feed", "it cannot carry this");
    load(stream);
    damage(stream);
    count_arrived(stream);
    judge(stream);
    compare(stream);
    return !world->failure[0];
}

static void release(struct stream *stream)
{
    for (uint32_t t = 0; t < stream->world->count; t++)
        free(stream->lines[t]);
    iso_free(stream->lines);
    iso_free(stream->arrived);
    iso_free(stream->parcels);
    feed_release(&stream->feed);
}

static void tell_pending(const struct cell_format *format)
{
    for (int d = 0; d < DAMAGES; d++)
        if (is_pending(format, (enum damage)d))
            printf("# skipped: TODO %s: %s\n", format->name, damage_names[d]);
}

static bool try(struct stream *stream, struct worst *worst, uint64_t seed)
{
    bool good = run(stream, seed);
    if (!good)
        note(worst, stream, seed);
    release(stream);
    return good;
}

static bool run_format(const struct cell_format *format, const char *only, bool all_of_them,
                       uint64_t streams, uint64_t seed, uint64_t reports)
{
    struct stream *stream = iso_allocate_zeroed(1, sizeof *stream);
    struct worst worst = {0};
    uint64_t failed = 0;
    stream->world = cell_world_new(format, TRANSACTIONS);
    stream->only = only;
    stream->all_of_them = all_of_them;
    if (!all_of_them && !only)
        tell_pending(format);
    for (size_t i = 0; i < sizeof judged_wrongly / sizeof *judged_wrongly; i++)
        if (!only && !strcmp(format->name, judged_wrongly[i].format))
            failed += !try(stream, &worst, judged_wrongly[i].seed);
    for (uint64_t i = 0; i < streams; i++)
        failed += !try(stream, &worst, seed + i);
    for (uint32_t i = 0; i < worst.count && i < reports; i++) {
        run(stream, worst.list[i].seed);
        report(stream, worst.list[i].seed, worst.list[i].count);
        release(stream);
    }
    printf("# %s: %" PRIu64 " hold, %" PRIu64 " undecided, %" PRIu64 " violated; %" PRIu64
           " of %" PRIu64 " lies found; %" PRIu64 " doubtful; %" PRIu64 " restored; %" PRIu64
           " forged snapshots\n",
           format->name, stream->all.held, stream->all.undecided, stream->all.violated,
           stream->all.found, stream->all.lies, stream->all.doubted, stream->all.restored,
           stream->all.forged);
    printf("%s - %s: %" PRIu64 " of %" PRIu64 " streams are judged as far as they came\n",
           failed ? "not ok" : "ok", format->name, streams - failed, streams);
    cell_world_free(stream->world);
    iso_free(stream);
    return !failed;
}

int main(int argc, char **argv)
{
    uint64_t streams = 400, seed = 1, reports = MAX_REPORTS, all_of_them = 0;
    const char *only = NULL, *damages = NULL;
    bool good = true;
    const struct argument known[] = {{"--streams", .number = &streams},
                                     {"--seed", .number = &seed},
                                     {"--format", .text = &only},
                                     {"--damage", .text = &damages},
                                     {"--reports", .number = &reports},
                                     {"--pending", .number = &all_of_them},
                                     {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    for (const struct cell_format *format = cell_formats; format->name; format++)
        if (!only || !strcmp(only, format->name))
            good &= run_format(format, damages, all_of_them, streams, seed, reports);
    return good ? 0 : 1;
}
