/* A verdict event as one line of JSON, for the sink. */
#define _GNU_SOURCE
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "verdict/verdict.h"
#include "pipeline/pipeline_private.h"
#include "verdict/reported.h"

/* The blamed transaction, another one, the writers of what was expected and found, and the
 * cause. */
enum { PARTIES = 5 };

/* Commits and locations that a violation's line points to. */
struct grounds {
    struct iso_reported_commit commits[PARTIES];
    struct iso_reported_location locations[PARTIES];
    uint32_t commit_count, location_count;
};

static struct iso_reported_value value_of(const struct iso_aion_value *value)
{
    return (struct iso_reported_value){value->atoms, value->elements, value->count, true,
                                       value->is_list};
}

/* The engine has 0 where there is no timestamp; no source's clock shows it. */
static void put_stamp(char stamp[ISO_REPORTED_STAMP], uint64_t timestamp)
{
    if (timestamp)
        snprintf(stamp, ISO_REPORTED_STAMP, "%" PRIu64, timestamp);
}

static bool is_known(const struct iso_aion_party *party)
{
    return party->atoms && party->tid != ISO_ABSENT;
}

/* Nobody, or null, where the party is not known. */
static struct iso_reported_atom atom_of(const struct iso_aion_party *party)
{
    static const struct iso_atoms none;
    return is_known(party) ? (struct iso_reported_atom){party->atoms, party->tid}
                           : (struct iso_reported_atom){&none, ISO_ABSENT};
}

static void add_location(struct grounds *grounds, const struct iso_inputs *inputs,
                         const struct iso_aion_party *party, uint32_t operation)
{
    uint32_t input = iso_origin_input(party->origin);
    if (input >= inputs->count)
        return;
    const struct iso_inputs_entry *from = &inputs->list[input];
    bool is_message = from->partition != ISO_PIPELINE_FILE;
    grounds->locations[grounds->location_count++] =
        (struct iso_reported_location){.name = from->topic,
                                       .length = strlen(from->topic),
                                       .is_message = is_message,
                                       .partition = is_message ? (uint64_t)from->partition : 0,
                                       .position = iso_origin_offset(party->origin),
                                       .operation = operation};
}

/* Every record that the verdict rests on, the blamed transaction's first. */
static void add_locations(struct grounds *grounds, const struct iso_inputs *inputs,
                          const struct iso_aion_event *event)
{
    const struct iso_aion_party *others[] = {&event->other, &event->writer_expected,
                                             &event->writer_actual, &event->cause};
    add_location(grounds, inputs, &event->transaction, event->operation);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bool repeated = !is_known(others[i]) || others[i]->origin == event->transaction.origin;
        for (size_t j = 0; j < i && !repeated; j++)
            repeated = is_known(others[j]) && others[j]->origin == others[i]->origin;
        if (!repeated)
            add_location(grounds, inputs, others[i], ISO_NONE);
    }
}

static void put_head(const struct iso_pipeline *pipeline, struct iso_text *line,
                     const struct iso_aion_event *event, const char *doubtful)
{
    static const char *const states[] = {"tentative", "final", "retracted"};
    /* what the engine finds then contradicts si already */
    bool as_si = pipeline->options.seeks_order;
    char id[32];
    snprintf(id, sizeof id, "%016" PRIx64, event->id);
    struct iso_reported_head head = {
        .id = id,
        .state = states[event->state],
        .by_deadline = event->by_deadline && event->state == ISO_AION_FINAL,
        .doubtful = doubtful,
        .level = as_si ? iso_level_name(ISO_SI) : iso_pipeline_level_name(pipeline)};
    iso_reported_put_head(line, &head);
}

static struct iso_reported_times times_of(const struct iso_aion_party *party)
{
    struct iso_reported_times times = {.is_given = is_known(party)};
    put_stamp(times.sts, party->sts);
    put_stamp(times.cts, party->cts);
    return times;
}

/* Whether the read saw what was committed at its moment itself: from a snapshot, but not just below
 * its own commit. */
static bool is_inclusive(const struct iso_aion_event *event)
{
    const struct iso_aion_party *reader = &event->transaction;
    return event->visible_below != reader->cts ||
           (event->level == ISO_SI && event->visible_below == reader->sts + 1);
}

/* When the others that the verdict names stood where, and at which moment the read saw. */
static struct iso_reported_moments moments_of(const struct iso_aion_event *event)
{
    struct iso_reported_moments moments = {.read_at = ""};
    if (event->axiom == ISO_CDC)
        return moments;
    moments.other = times_of(&event->other);
    if (event->axiom != ISO_EXT)
        return moments;
    moments.inclusive = is_inclusive(event);
    if (event->visible_below) /* below SI a read may have had to see nobody's */
        put_stamp(moments.read_at,
                  moments.inclusive ? event->visible_below - 1 : event->visible_below);
    moments.expected = times_of(&event->writer_expected);
    moments.actual = times_of(&event->writer_actual);
    return moments;
}

/* By the clock, to the millisecond, in UTC. */
static void put_clock(char text[ISO_REPORTED_STAMP], uint64_t ms)
{
    enum { YEARS_9999 = 253402300800 };
    time_t seconds = (time_t)(ms / 1000);
    struct tm day;
    if (ms / 1000 >= YEARS_9999 || !gmtime_r(&seconds, &day))
        return;
    size_t length = strftime(text, ISO_REPORTED_STAMP, "%Y-%m-%dT%H:%M:%S", &day);
    snprintf(text + length, ISO_REPORTED_STAMP - length, ".%03uZ", (unsigned)(ms % 1000));
}

static struct iso_reported_commit commit_of(const struct iso_aion_party *party,
                                            const struct iso_join_commit *from)
{
    struct iso_reported_commit commit = {.tid = atom_of(party)};
    put_stamp(commit.xid, from->xid);
    if (from->lsn)
        snprintf(commit.lsn, sizeof commit.lsn, "%" PRIX64 "/%" PRIX64, from->lsn >> 32,
                 from->lsn & 0xffffffff);
    if (from->time)
        put_clock(commit.time, from->time);
    return commit;
}

/* Adds PostgreSQL's names of the commits, whose timestamps here only count. */
static void add_commits(const struct iso_pipeline *pipeline, struct grounds *grounds,
                        const struct iso_aion_event *event)
{
    const struct iso_aion_party *parties[] = {&event->transaction, &event->other,
                                              &event->writer_expected, &event->writer_actual,
                                              &event->cause};
    struct iso_join_commit commit;
    for (size_t i = 0; pipeline->join && i < sizeof parties / sizeof *parties; i++) {
        bool repeated = !is_known(parties[i]);
        for (size_t j = 0; j < i && !repeated; j++)
            repeated = is_known(parties[j]) && parties[j]->cts == parties[i]->cts;
        if (!repeated && iso_join_commit(pipeline->join, parties[i]->cts, &commit))
            grounds->commits[grounds->commit_count++] = commit_of(parties[i], &commit);
    }
}

/* From the axiom on: what the summary lists too, without its opening brace. */
static void put_violation(const struct iso_pipeline *pipeline, struct iso_text *line,
                          const struct iso_aion_event *event)
{
    struct iso_reported_atom tids[] = {atom_of(&event->transaction), atom_of(&event->other)};
    struct grounds grounds = {.commit_count = 0};
    add_commits(pipeline, &grounds, event);
    add_locations(&grounds, &pipeline->inputs.names, event);
    struct iso_reported reported = {
        .axiom = iso_axiom_name(event->axiom),
        .kind = iso_violation_kind_name(event->kind),
        .tids = tids,
        .tid_count = is_known(&event->other) ? 2 : 1,
        .key = {event->key == ISO_ABSENT ? NULL : event->key_atoms, event->key},
        .moments = moments_of(event),
        .commits = grounds.commits,
        .commit_count = grounds.commit_count,
        .locations = grounds.locations,
        .location_count = grounds.location_count};
    if (event->axiom == ISO_EXT || event->axiom == ISO_INT || event->axiom == ISO_CDC) {
        reported.expected = value_of(&event->expected);
        reported.actual = value_of(&event->actual);
    }
    if (event->axiom == ISO_EXT || event->axiom == ISO_INT) {
        reported.writer_expected = atom_of(&event->writer_expected);
        reported.writer_actual = atom_of(&event->writer_actual);
    }
    if (is_known(&event->cause))
        reported.cause = atom_of(&event->cause);
    reported.own = times_of(&event->transaction);
    reported.own.is_given = true;
    iso_reported_put_members(line, &reported);
}

/* ---- what is reported ---- */

void reports_init(struct reports *reports, uint32_t max_violations)
{
    *reports = (struct reports){.findings.limit = max_violations};
    iso_atoms_init(&reports->findings.atoms);
    iso_atoms_init(&reports->unlisted.atoms);
    iso_atoms_init(&reports->probe_names);
}

void reports_release(struct reports *reports)
{
    id_set_release(&reports->cdc.ids);
    id_set_release(&reports->snapshots.ids);
    findings_release(&reports->findings);
    iso_atoms_release(&reports->unlisted.atoms);
    iso_free(reports->unlisted.list);
    iso_number_map_release(&reports->unlisted.by_name);
    iso_atoms_release(&reports->probe_names);
    iso_text_release(&reports->line);
}

static void count(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    struct iso_pipeline_stats *stats = &pipeline->stats;
    uint64_t count = event->unlisted ? event->unlisted : 1;
    stats->final += event->state == ISO_AION_FINAL ? count : 0;
    stats->tentative += event->state == ISO_AION_TENTATIVE;
    stats->retracted += event->state == ISO_AION_RETRACTED;
}

void pipeline_emit(void *context, const struct iso_aion_event *event)
{
    struct iso_pipeline *pipeline = context;
    struct iso_aion_event translated = *event;
    pipeline_queries_name(&translated);
    if (iso_pipeline_lacks_stream(pipeline) &&
        (translated.axiom == ISO_EXT || translated.axiom == ISO_INT))
        return;
    if (pipeline->join && (pipeline_is_left_out(pipeline, &translated) ||
                           pipeline_suppresses(pipeline, &translated, true)))
        return;
    if (!pipeline->join || pipeline_translate(pipeline, &translated))
        pipeline_report(pipeline, &translated);
}

bool pipeline_writes(const struct iso_pipeline *pipeline)
{
    return pipeline->options.sink && pipeline->reports.failure.status == ISO_OK &&
           iso_aion_failure(pipeline->engine)->status == ISO_OK;
}

/* Whether the event is printed. With `final_only`, of verdicts that are not final only the
 * retraction of one that was reported as final. */
static bool is_reported(const struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                        bool was_final)
{
    bool matters =
        event->state == ISO_AION_FINAL || (event->state == ISO_AION_RETRACTED && was_final);
    return pipeline_writes(pipeline) && (matters || !pipeline->options.final_only);
}

void pipeline_list(struct iso_pipeline *pipeline, const struct iso_aion_event *event, uint8_t doubt,
                   const char *object, size_t length)
{
    assert(length && object[length - 1] == '\n');
    count(pipeline, event);
    if (event->state != ISO_AION_FINAL)
        return;
    pipeline->stats.doubted[event->axiom] += doubt != PIPELINE_CERTAIN;
    pipeline->stats.final_doubtful += doubt != PIPELINE_CERTAIN;
    struct finding *finding = findings_add(&pipeline->reports.findings, event, object, length - 1);
    finding->provenance = pipeline_provenance_of(pipeline, event);
    finding->doubt = doubt;
    findings_trim(&pipeline->reports.findings);
}

void pipeline_report_unlisted(struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                              enum pipeline_doubt doubt)
{
    uint64_t doubtful = pipeline_doubtful_unlisted(pipeline, event, doubt);
    pipeline->stats.doubted[event->axiom] += doubtful;
    pipeline->stats.final_doubtful += doubtful;
    count(pipeline, event);
    pipeline_count_unlisted(pipeline, event);
}

void pipeline_report(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    struct iso_text *line = &pipeline->reports.line;
    bool was_doubtful = false;
    bool was_final = event->state != ISO_AION_TENTATIVE &&
                     findings_remove(&pipeline->reports.findings, event->id, &was_doubtful);
    bool reported = is_reported(pipeline, event, was_final);
    pipeline->stats.doubted[event->axiom] -= was_doubtful;
    if (!reported && event->state != ISO_AION_FINAL && !event->unlisted) {
        count(pipeline, event);
        return;
    }
    line->used = 0;
    enum pipeline_doubt doubt = pipeline_doubt_of(pipeline, event);
    pipeline->stats.before_start += doubt == PIPELINE_BEFORE_START;
    if (event->unlisted && !pipeline_may_be_altered(pipeline, event)) {
        pipeline_report_unlisted(pipeline, event, doubt);
        return;
    }
    put_head(pipeline, line, event, pipeline_doubt_name(doubt));
    size_t start = line->used;
    put_violation(pipeline, line, event);
    iso_text_put(line, "\n");
    if (pipeline_may_be_altered(pipeline, event)) {
        pipeline_defer_absent(pipeline, event, (uint8_t)doubt, line->bytes, line->used, start);
        return;
    }
    pipeline_list(pipeline, event, (uint8_t)doubt, line->bytes + start, line->used - start);
    if (reported)
        pipeline->options.sink(pipeline->options.sink_context, line->bytes, line->used,
                               &pipeline->reports.failure);
}

/* The line of one that was reported as final, once more. */
static void put_finding(const struct iso_pipeline *pipeline, struct iso_text *line,
                        const struct finding *finding)
{
    struct iso_aion_event event = {
        .state = ISO_AION_FINAL, .id = finding->id, .by_deadline = finding->by_deadline};
    line->used = 0;
    put_head(pipeline, line, &event, pipeline_doubt_name((enum pipeline_doubt)finding->doubt));
    iso_text_put_bytes(line, finding->text, finding->length);
    iso_text_put(line, "\n");
}

void pipeline_report_again(struct iso_pipeline *pipeline, struct finding *finding,
                           enum pipeline_doubt doubt)
{
    struct iso_text *line = &pipeline->reports.line;
    finding->doubt = (uint8_t)doubt;
    put_finding(pipeline, line, finding);
    if (pipeline_writes(pipeline))
        pipeline->options.sink(pipeline->options.sink_context, line->bytes, line->used,
                               &pipeline->reports.failure);
}

void iso_pipeline_standing(struct iso_pipeline *pipeline,
                           void (*report)(void *context, const char *line, size_t length),
                           void *context)
{
    for (size_t i = 0; i < pipeline->reports.findings.count; i++) {
        if (!pipeline->reports.findings.list[i].text)
            continue;
        put_finding(pipeline, &pipeline->reports.line, &pipeline->reports.findings.list[i]);
        report(context, pipeline->reports.line.bytes, pipeline->reports.line.used);
    }
}
