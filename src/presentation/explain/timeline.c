#include "explain/timeline.h"

#include <inttypes.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "explain/words.h"

/* While a time line is put together, instants have the numbers in which they were found. */
struct building {
    struct iso_timeline *timeline;
    const struct iso_argument *argument;
    const struct iso_history *history;
    uint32_t untimed;                         /* rows without a timestamp so far */
    uint32_t untimed_text;                    /* what the last one says instead, in the argument */
    uint32_t sequence[ISO_TIMELINE_INSTANTS]; /* order at one timestamp */
    uint32_t transactions_left, points_left;
    char common[ISO_WALL_TEXT]; /* what all timestamps begin with, where labels leave it out */
};
enum { AT_FIRST, AT_TIME, UNTIMED, LONG_LETTERS = 8 };
#define AT_LAST UINT32_MAX

/* ---- texts ---- */

static uint32_t start_text(const struct building *building)
{
    return (uint32_t)building->timeline->text.used;
}

static void end_text(const struct building *building)
{
    iso_text_put_bytes(&building->timeline->text, "", 1);
}

static uint32_t copy_text(const struct building *building, uint32_t from)
{
    uint32_t start = start_text(building);
    iso_text_put(&building->timeline->text, iso_argument_text(building->argument, from));
    end_text(building);
    return start;
}

/* ---- instants ---- */

static bool is_at(const struct building *building, uint32_t i, uint64_t when, uint32_t sequence)
{
    return building->timeline->instants[i].when == when && building->sequence[i] == sequence;
}

/* The instant of that place in the order; its label comes from the argument, or is the timestamp
 * (label 0). */
static uint32_t instant_of(struct building *building, uint64_t when, uint32_t sequence,
                           uint32_t label)
{
    struct iso_timeline *timeline = building->timeline;
    for (uint32_t i = 0; i < timeline->instant_count; i++)
        if (is_at(building, i, when, sequence))
            return i;
    uint32_t at = timeline->instant_count++;
    assert(at < ISO_TIMELINE_INSTANTS);
    building->sequence[at] = sequence;
    timeline->instants[at] = (struct iso_timeline_instant){.when = when, .is_timed = !label};
    if (label) {
        timeline->instants[at].label = copy_text(building, label);
        return at;
    }
    timeline->instants[at].label = start_text(building);
    iso_argument_put_stamp(building->argument, when, &timeline->text);
    end_text(building);
    return at;
}

static bool comes_before(const struct building *building, uint32_t left, uint32_t right)
{
    uint64_t a = building->timeline->instants[left].when,
             b = building->timeline->instants[right].when;
    return a != b ? a < b : building->sequence[left] < building->sequence[right];
}

/* From the order of finding to that of time. */
static void sort_instants(struct building *building)
{
    struct iso_timeline *timeline = building->timeline;
    struct iso_timeline_instant sorted[ISO_TIMELINE_INSTANTS];
    uint32_t rank[ISO_TIMELINE_INSTANTS] = {0};
    for (uint32_t i = 0; i < timeline->instant_count; i++)
        for (uint32_t j = 0; j < timeline->instant_count; j++)
            rank[i] += comes_before(building, j, i);
    for (uint32_t i = 0; i < timeline->instant_count; i++)
        sorted[rank[i]] = timeline->instants[i];
    memcpy(timeline->instants, sorted, timeline->instant_count * sizeof *sorted);
    for (uint32_t i = 0; i < timeline->bar_count; i++) {
        struct iso_timeline_bar *bar = &timeline->bars[i];
        bar->from = bar->from == ISO_NONE ? ISO_NONE : rank[bar->from];
        bar->to = bar->to == ISO_NONE ? ISO_NONE : rank[bar->to];
    }
    for (uint32_t i = 0; i < timeline->point_count; i++)
        timeline->points[i].instant = rank[timeline->points[i].instant];
    timeline->overlap_from = rank[timeline->overlap_from];
    timeline->overlap_to = rank[timeline->overlap_to];
}

/* How many letters all timestamps begin with, if they are long; 0: they are to be shown whole. Of a
 * wall-clock time at most up to a mark between its numbers; numbers of unequal length have none in
 * common. */
static size_t common_letters(const struct iso_timeline *timeline)
{
    const char *first = NULL;
    size_t common = 0;
    for (uint32_t i = 0; i < timeline->instant_count; i++) {
        const char *label = iso_timeline_text(timeline, timeline->instants[i].label);
        if (!timeline->instants[i].is_timed)
            continue;
        if (!first) {
            first = label;
            common = strlen(label);
        }
        if (!strchr(first, ':') && strlen(label) != strlen(first))
            return 0;
        for (size_t at = 0; at < common; at++)
            if (label[at] != first[at])
                common = at;
    }
    while (common && strchr(first, ':') && first[common - 1] >= '0' && first[common - 1] <= '9')
        common--;
    return common >= LONG_LETTERS && first[common] ? common : 0;
}

/* Cuts off the part that all labels have in common; the note says it. (A text that moves when it
 * grows is not copied from itself.) */
static void shorten_labels(struct building *building)
{
    struct iso_timeline *timeline = building->timeline;
    char label[ISO_WALL_TEXT];
    size_t common = common_letters(timeline);
    for (uint32_t i = 0; i < timeline->instant_count && common; i++) {
        struct iso_timeline_instant *instant = &timeline->instants[i];
        if (!instant->is_timed)
            continue;
        snprintf(label, sizeof label, "%s", iso_timeline_text(timeline, instant->label));
        instant->label = start_text(building);
        iso_text_format(&timeline->text, "...%s", label + common);
        end_text(building);
        snprintf(building->common, sizeof building->common, "%.*s", (int)common, label);
    }
}

/* ---- bars ---- */

static uint32_t add_lane(struct building *building, uint32_t session)
{
    struct iso_timeline *timeline = building->timeline;
    const struct iso_history *history = building->history;
    for (uint32_t i = 0; i < timeline->bar_count; i++) {
        uint32_t other = timeline->bars[i].transaction;
        if ((other == ISO_NONE ? ISO_NONE : history->txns.session[other]) == session)
            return timeline->bars[i].lane;
    }
    timeline->lanes[timeline->lane_count] = start_text(building);
    iso_text_put(&timeline->text, session == ISO_NONE ? "not recorded" : "session ");
    if (session != ISO_NONE)
        argue_put_atom(&timeline->text, &history->atoms, history->sessions.atom[session]);
    end_text(building);
    return timeline->lane_count++;
}

static bool has_untimed_rows(const struct iso_argument *argument)
{
    return argument->row_count && argument->rows[argument->row_count - 1].when == ISO_ROW_UNTIMED;
}

static uint64_t begin_of(const struct building *building, uint32_t transaction)
{
    uint8_t flags = transaction == ISO_NONE ? 0 : building->history->txns.flags[transaction];
    return flags & ISO_HAS_STS   ? building->history->txns.sts[transaction]
           : flags & ISO_HAS_CTS ? building->history->txns.cts[transaction]
                                 : 0;
}

static void place_bar(struct building *building, struct iso_timeline_bar *bar)
{
    const struct iso_history *history = building->history;
    uint8_t flags = bar->transaction == ISO_NONE ? 0 : history->txns.flags[bar->transaction];
    bar->from = bar->to = ISO_NONE;
    if (flags & ISO_HAS_STS)
        bar->from = instant_of(building, history->txns.sts[bar->transaction], AT_TIME, 0);
    if (!(flags & ISO_HAS_CTS))
        return;
    /* what it did stands between its beginning and its end, also where these are one moment */
    uint64_t cts = history->txns.cts[bar->transaction];
    bool is_behind =
        has_untimed_rows(building->argument) && cts == begin_of(building, bar->transaction);
    bar->to = instant_of(building, cts, is_behind ? AT_LAST : AT_TIME, 0);
}

static const char *status_words(uint8_t status)
{
    return status == ISO_ABORTED ? ", aborted" : status == ISO_UNKNOWN ? ", outcome unknown" : "";
}

/* `number`: among the parties; ISO_NONE: it is none. */
static void add_bar(struct building *building, struct iso_party party, uint32_t number)
{
    struct iso_timeline *timeline = building->timeline;
    bool is_known = party.transaction != ISO_NONE;
    if (timeline->bar_count == ISO_TIMELINE_BARS) {
        building->transactions_left++;
        return;
    }
    uint32_t lane = add_lane(building, is_known ? building->history->txns.session[party.transaction]
                                                : ISO_NONE);
    struct iso_timeline_bar *bar = &timeline->bars[timeline->bar_count++];
    *bar = (struct iso_timeline_bar){
        .transaction = party.transaction,
        .lane = lane,
        .status = is_known ? iso_status_of(building->history, party.transaction) : ISO_COMMITTED,
        .is_blamed =
            party.tid ==
            iso_claim_party(building->argument->facts->claims, building->argument->claim, 0)->tid,
        .name = start_text(building)};
    if (number != ISO_NONE)
        iso_text_format(&timeline->text, "T%u = ", number + 1);
    argue_put_atom(&timeline->text, &building->history->atoms, party.tid);
    iso_text_put(&timeline->text, status_words(bar->status));
    bar->is_found = is_known && building->argument->inside_text &&
                    party.transaction == building->argument->inside;
    if (bar->is_found) {
        iso_text_format(&timeline->text, ", wrote %s",
                        iso_argument_text(building->argument, building->argument->inside_text));
    }
    end_text(building);
    bar->words = start_text(building);
    iso_argument_put_transaction(building->argument, party, &timeline->text);
    end_text(building);
    place_bar(building, bar);
}

static uint32_t find_bar(const struct iso_timeline *timeline, uint32_t transaction)
{
    for (uint32_t i = 0; i < timeline->bar_count && transaction != ISO_NONE; i++)
        if (timeline->bars[i].transaction == transaction)
            return i;
    return ISO_NONE;
}

static void add_bars(struct building *building)
{
    const struct iso_argument *argument = building->argument;
    for (uint32_t i = 0; i < argument->party_count; i++)
        add_bar(building, argument->parties[i], i);
    for (uint32_t i = argument->row_count; i-- > 0;) {
        uint32_t transaction = argument->rows[i].transaction;
        bool is_party = transaction == ISO_NONE;
        for (uint32_t p = 0; p < argument->party_count; p++)
            is_party = is_party || argument->parties[p].transaction == transaction;
        if (!is_party && find_bar(building->timeline, transaction) == ISO_NONE)
            add_bar(building,
                    (struct iso_party){building->history->txns.tid[transaction], transaction},
                    ISO_NONE);
    }
}

/* ---- points ---- */

static uint32_t instant_of_row(struct building *building, const struct iso_argument_row *row)
{
    if (row->tie == ISO_ROW_INITIAL)
        return instant_of(building, 0, AT_FIRST, row->when_text);
    if (row->when != ISO_ROW_UNTIMED)
        return instant_of(building, row->when, AT_TIME, 0);
    const char *says = iso_argument_text(building->argument, row->when_text);
    if (!building->untimed ||
        strcmp(says, iso_argument_text(building->argument, building->untimed_text)) != 0)
        building->untimed++;
    building->untimed_text = row->when_text;
    return instant_of(building, begin_of(building, row->transaction), UNTIMED + building->untimed,
                      row->when_text);
}

static void put_name(const struct building *building, const struct iso_argument_row *row)
{
    struct iso_text *text = &building->timeline->text;
    const struct iso_argument *argument = building->argument;
    for (uint32_t i = 0; i < argument->party_count && row->transaction != ISO_NONE; i++)
        if (argument->parties[i].transaction == row->transaction)
            iso_text_format(text, "T%u: ", i + 1);
    iso_text_put(text, iso_argument_text(argument, row->point));
    end_text(building);
}

static void put_words(const struct building *building, const struct iso_argument_row *row)
{
    struct iso_text *text = &building->timeline->text;
    const char *mark = iso_mark_word(row->mark);
    iso_text_format(text, "%s: %s", iso_argument_text(building->argument, row->when_text),
                    iso_argument_text(building->argument, row->what_text));
    if (mark)
        iso_text_format(text, ", %s", mark);
    end_text(building);
}

static void add_point(struct building *building, const struct iso_argument_row *row)
{
    struct iso_timeline *timeline = building->timeline;
    uint32_t bar = find_bar(timeline, row->transaction);
    if (row->transaction != ISO_NONE && bar == ISO_NONE)
        return; /* counted with its transaction */
    struct iso_timeline_point *point = &timeline->points[timeline->point_count++];
    *point = (struct iso_timeline_point){.instant = instant_of_row(building, row),
                                         .bar = bar,
                                         .side = (row->tie > 1) -
                                                 (row->tie < 0 && row->tie != ISO_ROW_INITIAL),
                                         .mark = row->mark};
    point->name = start_text(building);
    put_name(building, row);
    point->words = start_text(building);
    put_words(building, row);
}

/* Adds the rows that are drawn as points: where there are more than a picture has room for, the
 * first and the last of them. */
static void add_points(struct building *building)
{
    const struct iso_argument *argument = building->argument;
    uint32_t count = 0, at = 0;
    for (uint32_t i = 0; i < argument->row_count; i++)
        count += argument->rows[i].point != 0;
    for (uint32_t i = 0; i < argument->row_count; i++) {
        if (!argument->rows[i].point)
            continue;
        if (at < ISO_TIMELINE_POINTS / 2 || at + ISO_TIMELINE_POINTS / 2 >= count)
            add_point(building, &argument->rows[i]);
        else
            building->points_left++;
        at++;
    }
}

/* ---- the whole ---- */

static void put_track(const struct building *building)
{
    const struct iso_claim *claim = building->argument->claim;
    struct iso_text *text = &building->timeline->text;
    if (claim->key_atom != ISO_ABSENT) {
        char buffer[ISO_ATOM_TEXT_MAX];
        size_t length;
        const char *key =
            iso_atom_text(&building->history->atoms, claim->key_atom, buffer, &length);
        bool is_table = iso_history_is_header(key, length);
        iso_text_put(text, is_table ? "table " : "key ");
        argue_put_text(text, key, length - is_table);
    } else {
        iso_text_put(text,
                     !strcmp(claim->wrong->axiom, "SESSION") ? "session order" : "timestamps");
    }
    end_text(building);
}

static void put_left(struct iso_text *text, uint64_t count, const char *one, const char *several)
{
    if (!count)
        return;
    iso_text_format(text, "and %" PRIu64 "%s", count, count == 1 ? one : several);
}

static void put_note(const struct building *building)
{
    struct iso_text *text = &building->timeline->text;
    put_left(text, building->transactions_left, " more transaction; ", " more transactions; ");
    put_left(text, building->argument->versions_left, " more version; ", " more versions; ");
    put_left(text, building->points_left, " more operation; ", " more operations; ");
    if (building->common[0])
        iso_text_format(text, "times begin with %s; ", building->common);
    iso_text_put(text, "the order of time, not to scale");
    end_text(building);
}

static bool is_by_timestamps(const struct iso_claim *claim)
{
    return claim->wrong->argument != ISO_ARGUE_ORDER &&
           (claim->wrong->argument != ISO_ARGUE_OWN || !strcmp(claim->wrong->axiom, "INT"));
}

static void arrange_parts(struct building *building)
{
    struct iso_timeline *timeline = building->timeline;
    const struct iso_argument *argument = building->argument;
    timeline->title = copy_text(building, argument->title);
    timeline->track = start_text(building);
    put_track(building);
    add_bars(building);
    add_points(building);
    if (argument->overlap_from < argument->overlap_to) {
        timeline->overlap_from = instant_of(building, argument->overlap_from, AT_TIME, 0);
        timeline->overlap_to = instant_of(building, argument->overlap_to, AT_TIME, 0);
    }
    shorten_labels(building);
    timeline->note = start_text(building);
    put_note(building);
    sort_instants(building);
}

bool iso_timeline_init(struct iso_timeline *timeline, const struct iso_argument *argument)
{
    struct building building = {
        .timeline = timeline, .argument = argument, .history = argument->facts->history};
    *timeline = (struct iso_timeline){.bar_count = 0};
    if (!is_by_timestamps(argument->claim) || !argument->claim->party_count)
        return false;
    arrange_parts(&building);
    return timeline->instant_count > 0;
}

void iso_timeline_release(struct iso_timeline *timeline)
{
    iso_text_release(&timeline->text);
}
