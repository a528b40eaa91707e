/* Queries at READ COMMITTED between messages (engines/rowsets/judge_between.c), against the
 * definition: writers that commit at moments of which only their messages tell, if these do; a
 * statement whose messages say when it ran; what it returned is right at some moment, or something
 * is left out, added or counted wrongly. The oracle tries, row by row, each number of the row's
 * commits.
 *
 *     between_messages [--histories N] [--seed N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "judge/judge.h"
#include "native/native.h"
#include "rowsets/rowsets.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

enum { ROWS = 4, WRITERS = 6, GONE = -1, ASK_ROWS = 0, ASK_COUNT, ASK_BAG, ASK_SOME, ASKED };

struct write {
    int row, value; /* or GONE */
};

struct writer {
    struct write writes[2];
    uint64_t at, sent, answered; /* 0: not known */
    bool is_unknown;             /* its outcome */
};

struct story {
    struct writer writers[WRITERS];
    uint64_t at, sent, answered; /* the statement */
    int own_row, own_value;      /* written before it by its transaction; own_row < 0: none */
    int most;                    /* WHERE v > most; below 0: all rows */
    int asked;
    bool is_told;            /* when it ran */
    bool returned[ROWS];     /* of ASK_ROWS; */
    int values[ROWS], count; /* and of a bag, or how many */
};

static struct {
    uint64_t judged, undecided, wrong, by_unknown, own;
} statistics;

/* ---- random stories ---- */

static int below(struct random *random, uint32_t bound)
{
    return (int)random_below(random, bound);
}

/* The row as of that many nanoseconds. */
static int value_at(const struct story *story, int row, uint64_t at)
{
    int value = GONE;
    for (int w = 0; w < WRITERS; w++)
        for (int i = 0; i < 2; i++)
            if (!story->writers[w].is_unknown && story->writers[w].at <= at &&
                story->writers[w].writes[i].row == row)
                value = story->writers[w].writes[i].value;
    return row == story->own_row ? story->own_value : value;
}

static bool is_in(const struct story *story, int value)
{
    return value != GONE && value > story->most;
}

static void draw_writer(struct random *random, struct writer *writer, uint64_t at)
{
    for (int i = 0; i < 2; i++)
        writer->writes[i] = (struct write){below(random, ROWS), below(random, 5) - 1};
    writer->at = at;
    writer->sent = random_percent(random, 80) ? at - 1 - random_below(random, 12) : 0;
    writer->answered = random_percent(random, 80) ? at + 1 + random_below(random, 12) : 0;
    writer->is_unknown = random_percent(random, 4);
}

/* What it returned as of a moment, which need not be one of the statement's; or not that. */
static void draw_answer(struct random *random, struct story *story)
{
    uint64_t at = random_percent(random, 60) ? story->at : 20 + random_below(random, 100);
    int changed = random_percent(random, 30) ? below(random, ROWS) : -1;
    for (int row = 0; row < ROWS; row++) {
        story->values[row] = value_at(story, row, at);
        if (row == changed)
            story->values[row] = is_in(story, story->values[row]) ? GONE : 3;
        story->returned[row] = is_in(story, story->values[row]);
        story->count += story->returned[row];
    }
}

static void draw(struct random *random, struct story *story)
{
    uint64_t at = 20;
    memset(story, 0, sizeof *story);
    for (int w = 0; w < WRITERS; w++)
        draw_writer(random, &story->writers[w], at += 1 + random_below(random, 20));
    story->at = 20 + random_below(random, 100);
    story->sent = story->at - random_below(random, 15);
    story->answered = story->at + random_below(random, 15);
    story->is_told = random_percent(random, 97);
    story->own_row = random_percent(random, 15) ? below(random, ROWS) : -1;
    story->own_value = below(random, 5) - 1;
    story->most = below(random, 4) - 1;
    story->asked = below(random, ASKED);
    draw_answer(random, story);
}

/* ---- as a history ---- */

static void put_write(struct iso_text *text, struct write write, bool is_first)
{
    iso_text_put(text, is_first ? "" : ",");
    if (write.value == GONE)
        iso_text_format(text, "{\"t\":\"d\",\"row\":\"t/%d\"}", write.row);
    else
        iso_text_format(text, "{\"t\":\"w\",\"row\":\"t/%d\",\"cells\":{\"v\":%d}}", write.row,
                        write.value);
}

static void put_answer(const struct story *story, struct iso_text *text)
{
    const char *separator = "";
    if (story->asked == ASK_COUNT) {
        iso_text_format(text, "\"agg\":{\"count\":%d}", story->count);
        return;
    }
    iso_text_put(text, story->asked == ASK_ROWS  ? "\"rows\":{"
                       : story->asked == ASK_BAG ? "\"columns\":[\"v\"],\"bag\":["
                                                 : "\"columns\":[],\"bag\":[");
    for (int row = 0; row < ROWS; row++) {
        if (!story->returned[row])
            continue;
        iso_text_put(text, separator);
        if (story->asked == ASK_ROWS)
            iso_text_format(text, "\"%d\":{\"v\":%d}", row, story->values[row]);
        else if (story->asked == ASK_BAG)
            iso_text_format(text, "[%d]", story->values[row]);
        else
            iso_text_put(text, "[]");
        separator = ",";
    }
    iso_text_put(text, story->asked == ASK_ROWS ? "}" : "]");
}

static void put_transaction(const struct story *story, int t, struct iso_text *text)
{
    text->used = 0;
    iso_text_format(text, "{\"sid\":\"s%d\",\"tid\":\"t%d\",", t, t);
    if (t < WRITERS) {
        const struct writer *writer = &story->writers[t];
        iso_text_format(text, "\"sts\":%d,\"cts\":%d,\"status\":\"%s\",\"ops\":[", 10 * t + 1,
                        10 * t + 9, writer->is_unknown ? "unknown" : "committed");
        put_write(text, writer->writes[0], true);
        put_write(text, writer->writes[1], false);
    } else {
        if (story->own_row >= 0)
            iso_text_format(text, "\"cts\":%d,", 10 * WRITERS + 9);
        iso_text_put(text, "\"status\":\"committed\",\"ops\":[");
        if (story->own_row >= 0)
            put_write(text, (struct write){story->own_row, story->own_value}, true);
        iso_text_put(text, story->own_row >= 0 ? ",{\"t\":\"q\",\"table\":\"t\","
                                               : "{\"t\":\"q\",\"table\":\"t\",");
        if (story->most >= 0)
            iso_text_format(text, "\"where\":\"v > %d\",", story->most);
        put_answer(story, text);
        iso_text_put(text, "}");
    }
    iso_text_put(text, "]}");
}

static bool read_story(const struct story *story, struct iso_history *history)
{
    struct iso_text text = {0};
    struct iso_native native;
    struct iso_native_fault fault;
    struct iso_error error = {.status = ISO_OK};
    bool fine = true;
    iso_native_init(&native);
    for (int t = 0; t <= WRITERS && fine; t++) {
        put_transaction(story, t, &text);
        char *padded = test_padded(text.bytes, text.used, '}');
        fine = iso_native_read_transaction(&native, padded, text.used, (uint64_t)t + 1, history,
                                           &fault) == ISO_OK;
        free(padded);
    }
    iso_native_release(&native);
    iso_text_release(&text);
    return fine && iso_judge_finish(history, NULL, &error) == ISO_OK;
}

/* ---- what the engine says ---- */

struct said {
    bool missing[ROWS], extra[ROWS], other; /* of rows without keys, or their number */
    bool is_undecided;
};

static void take_finding(void *context, const struct iso_rowsets_finding *finding)
{
    struct said *said = context;
    int row = finding->key.length == 3 ? finding->key.at[2] - '0' : -1;
    if (row < 0 || finding->key.at[1] != '/')
        said->other = true;
    else
        *(finding->kind == ISO_MISSING_ROW ? &said->missing[row] : &said->extra[row]) = true;
}

static void take_unjudged(void *context, const struct iso_rowsets_unjudged *unjudged)
{
    (void)unjudged;
    ((struct said *)context)->is_undecided = true;
}

static struct iso_scalar_type type_of(void *context, struct iso_json_text table,
                                      struct iso_json_text column)
{
    (void)context, (void)table, (void)column;
    return (struct iso_scalar_type){.value = {.kind = ISO_VALUE_INTEGER}};
}

static void ask(const struct story *story, struct iso_history *history, struct said *said)
{
    uint64_t *sent = iso_allocate_zeroed(history->ops.count + (size_t)1, sizeof *sent),
             *answered = iso_allocate_zeroed(history->ops.count + (size_t)1, sizeof *answered);
    uint64_t commit_sent[WRITERS + 1] = {0}, commit_answered[WRITERS + 1] = {0};
    struct iso_history_messages messages = {sent, answered, commit_sent, commit_answered};
    struct iso_rowsets_options options;
    struct iso_rowsets_stats stats;
    for (int w = 0; w < WRITERS; w++) {
        commit_sent[w] = story->writers[w].sent;
        commit_answered[w] = story->writers[w].answered;
    }
    ISO_EACH(o, history->txns.first_op, WRITERS)
        if (story->is_told) {
            sent[o] = story->sent;
            answered[o] = story->answered;
        }
    history->messages = &messages;
    iso_rowsets_options_init(&options);
    options.level = ISO_RC;
    options.type_of = type_of;
    options.on_finding = take_finding;
    options.on_unjudged = take_unjudged;
    options.context = said;
    *said = (struct said){.other = false};
    iso_rowsets_check(history, &options, &stats);
    history->messages = NULL;
    ISO_FREE_ALL(sent, answered);
}

/* ---- the definition ---- */

/* Values that the row may have had, bits by value + 1. */
static unsigned states_of(const struct story *story, int row, bool *by_unknown)
{
    unsigned states = 0;
    if (row == story->own_row)
        return 1u << (story->own_value + 1);
    for (int seen = 0; seen <= WRITERS; seen++) { /* the commits before this one, and no other */
        bool fits = true;
        int value = GONE;
        for (int w = 0; w < WRITERS; w++) {
            const struct writer *writer = &story->writers[w];
            bool writes = !writer->is_unknown &&
                          (writer->writes[0].row == row || writer->writes[1].row == row);
            if (!writes)
                continue;
            fits &= w < seen ? writer->sent <= story->answered
                             : !writer->answered || writer->answered >= story->sent;
            for (int i = 0; i < 2 && w < seen; i++)
                value = writer->writes[i].row == row ? writer->writes[i].value : value;
        }
        states |= fits ? 1u << (value + 1) : 0;
    }
    for (int w = 0; w < WRITERS; w++)
        for (int i = 0; i < 2; i++)
            if (story->writers[w].is_unknown && story->writers[w].writes[i].row == row)
                *by_unknown = true;
    return states;
}

struct possible {
    unsigned states[ROWS];
    bool may_be_in[ROWS], may_be_out[ROWS], may_be_there[ROWS], by_unknown;
    int least, most;
};

static void find_possible(const struct story *story, struct possible *possible)
{
    *possible = (struct possible){.least = 0};
    for (int row = 0; row < ROWS; row++) {
        possible->states[row] = states_of(story, row, &possible->by_unknown);
        for (int value = GONE; value < 4; value++) {
            bool may = possible->states[row] & 1u << (value + 1);
            possible->may_be_in[row] |= may && is_in(story, value);
            possible->may_be_out[row] |= may && !is_in(story, value);
            possible->may_be_there[row] |= may && value != GONE;
        }
        possible->least += !possible->may_be_out[row];
        possible->most += possible->may_be_in[row];
    }
}

/* Whether some values of rows from `row` on are all that is left of the bag. */
static bool fits_bag(const struct story *story, const struct possible *possible, int row, int *left)
{
    if (row == ROWS)
        return !left[0] && !left[1] && !left[2] && !left[3];
    bool fits = possible->may_be_out[row] && fits_bag(story, possible, row + 1, left);
    for (int value = 0; value < 4 && !fits; value++) {
        if (!(possible->states[row] & 1u << (value + 1)) || !is_in(story, value) || !left[value])
            continue;
        left[value]--;
        fits = fits_bag(story, possible, row + 1, left);
        left[value]++;
    }
    return fits;
}

static bool is_wrong_as_a_whole(const struct story *story, const struct possible *possible)
{
    int left[4] = {0};
    if (story->asked != ASK_BAG)
        return story->count < possible->least || story->count > possible->most;
    for (int row = 0; row < ROWS; row++)
        if (story->returned[row])
            left[story->values[row]]++;
    return !fits_bag(story, possible, 0, left);
}

/* False: it says what is not so, or does not say what is. */
static bool is_right(const struct story *story, const struct possible *possible,
                     const struct said *said)
{
    bool must = !said->is_undecided && !possible->by_unknown;
    if (!story->is_told)
        return said->is_undecided && !said->other;
    if (story->asked != ASK_ROWS) {
        bool is_wrong = is_wrong_as_a_whole(story, possible);
        return said->other ? is_wrong : !must || !is_wrong;
    }
    for (int row = 0; row < ROWS; row++) {
        bool missing = !story->returned[row] && !possible->may_be_out[row],
             extra =
                 story->returned[row] && !possible->may_be_in[row] && possible->may_be_there[row];
        if ((said->missing[row] && !missing) || (said->extra[row] && !extra) ||
            (must && (said->missing[row] != missing || said->extra[row] != extra)))
            return false;
    }
    return true;
}

static bool is_said_right(const struct story *story)
{
    struct iso_history history;
    struct possible possible;
    struct said said;
    iso_history_init(&history);
    bool fine = read_story(story, &history);
    if (fine) {
        ask(story, &history, &said);
        find_possible(story, &possible);
        fine = is_right(story, &possible, &said);
        bool is_wrong = said.other;
        for (int row = 0; row < ROWS; row++)
            is_wrong |= said.missing[row] || said.extra[row];
        statistics.judged += !said.is_undecided;
        statistics.undecided += said.is_undecided;
        statistics.wrong += is_wrong;
        statistics.by_unknown += possible.by_unknown;
        statistics.own += story->own_row >= 0;
    }
    iso_history_release(&history);
    return fine;
}

static void show(const struct story *story)
{
    struct iso_text text = {0};
    for (int t = 0; t <= WRITERS; t++) {
        put_transaction(story, t, &text);
        bool is_writer = t < WRITERS;
        printf("# %.*s between %" PRIu64 " and %" PRIu64 "\n", (int)text.used, text.bytes,
               is_writer ? story->writers[t].sent : story->sent,
               is_writer ? story->writers[t].answered : story->answered);
    }
    iso_text_release(&text);
}

int main(int argc, char **argv)
{
    uint64_t histories = 20000, seed = 1;
    const struct argument known[] = {
        {"--histories", &histories, NULL}, {"--seed", &seed, NULL}, {NULL, NULL, NULL}};
    if (!arguments_read(known, argc, argv))
        return 2;
    struct random random = {seed};
    struct story story;
    for (uint64_t i = 0; i < histories; i++) {
        draw(&random, &story);
        if (is_said_right(&story))
            continue;
        show(&story);
        printf("not ok - history %" PRIu64 " of seed %" PRIu64 "\n", i, seed);
        return 1;
    }
    printf("ok - %" PRIu64 " histories: %" PRIu64 " judged, %" PRIu64 " wrong, %" PRIu64
           " undecided; %" PRIu64 " with an unknown outcome, %" PRIu64
           " with writes of their own\n",
           histories, statistics.judged, statistics.wrong, statistics.undecided,
           statistics.by_unknown, statistics.own);
    return 0;
}
