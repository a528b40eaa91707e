/* A verdict of timestamps as JSON. */
#include <stdio.h>
#include <string.h>

#include "history/moment.h"
#include "history/snapshot.h"
#include "report/report_private.h"

struct iso_reported_atom report_atom(const struct iso_history *history, iso_atom atom)
{
    return (struct iso_reported_atom){&history->atoms, atom};
}

struct iso_reported_atom report_tid(const struct iso_history *history, uint32_t transaction)
{
    return report_atom(history,
                       transaction == ISO_NONE ? ISO_ABSENT : history->txns.tid[transaction]);
}

struct iso_reported_value report_value(const struct iso_history *history,
                                       const struct iso_value *value)
{
    return (struct iso_reported_value){.atoms = value->atoms ? value->atoms : &history->atoms,
                                       .elements = !value->is_list ? &value->atom
                                                   : value->count  ? *value->elements + value->first
                                                                   : NULL,
                                       .count = value->is_list ? value->count : 1,
                                       .is_given = true,
                                       .is_list = value->is_list};
}

struct iso_reported_location report_location(const struct iso_history *history,
                                             uint32_t transaction, uint32_t operation)
{
    uint64_t origin = history->txns.origin[transaction];
    uint32_t input = iso_origin_input(origin);
    const char *name = input < history->inputs.count ? history->inputs.names[input] : NULL;
    return (struct iso_reported_location){
        .name = name,
        .length = name ? strlen(name) : 0,
        .position = iso_origin_offset(origin),
        .operation =
            operation == ISO_NONE ? ISO_NONE : iso_history_step(history, transaction, operation)};
}

/* The timestamps of a transaction; none where it is ISO_NONE. */
static struct iso_reported_times times_of(const struct iso_history *history, uint32_t transaction)
{
    struct iso_reported_times times = {.is_given = transaction != ISO_NONE};
    if (times.is_given && history->txns.flags[transaction] & ISO_HAS_STS)
        iso_history_stamp_text(history, history->txns.sts[transaction], times.sts);
    if (times.is_given && history->txns.flags[transaction] & ISO_HAS_CTS)
        iso_history_stamp_text(history, history->txns.cts[transaction], times.cts);
    return times;
}

/* When the others that the verdict names stood where, and at which moment the read saw. */
static struct iso_reported_moments moments_of(const struct iso_verdict *verdict,
                                              const struct iso_violation *violation)
{
    const struct iso_history *history = verdict->history;
    struct iso_reported_moments moments = {.read_at = ""};
    if (violation->axiom == ISO_EXT) {
        struct iso_moment moment = iso_moment_of(history, violation->transaction,
                                                 violation->operation, verdict->level == ISO_SER);
        moments.inclusive = moment.inclusive || violation->has_moments;
        moments.has_until = violation->has_moments;
        iso_history_stamp_text(
            history, violation->has_moments ? violation->first_moment : moment.at, moments.read_at);
        if (violation->has_moments && violation->last_moment != UINT64_MAX)
            iso_history_stamp_text(history, violation->last_moment, moments.until);
        moments.expected = times_of(history, violation->writer_expected);
        moments.actual = times_of(history, violation->writer_actual);
    } else if (violation->axiom != ISO_INT) {
        moments.other = times_of(history, violation->other);
    }
    return moments;
}

enum { NOTE = 1024 };

/* A snapshot with thousands of transactions in progress is cut; its ends distinguish it. */
enum { SNAPSHOT_TEXT = 240 };

static void snapshot_text(const struct iso_history *history, uint32_t snapshot,
                          char text[SNAPSHOT_TEXT])
{
    iso_snapshot_text(history, &history->snapshots.list[snapshot], text, SNAPSHOT_TEXT);
}

/* Why two snapshots have no order. */
static void describe_order(const struct iso_verdict *verdict, const struct iso_violation *violation,
                           char *text, size_t size)
{
    const struct iso_history *history = verdict->history;
    const struct iso_snapshot_violation *snapshot_violation =
        &history->snapshots.violations[violation->snapshot_violation];
    char right[SNAPSHOT_TEXT], wrong[SNAPSHOT_TEXT];
    snapshot_text(history, snapshot_violation->right, right);
    snapshot_text(history, snapshot_violation->wrong, wrong);
    snprintf(text, size,
             "snapshot %s does not see xid %llu, which snapshot %s sees; xid %llu is the other way "
             "round",
             wrong, (unsigned long long)snapshot_violation->only_right, right,
             (unsigned long long)snapshot_violation->only_wrong);
}

void report_violation(const struct iso_verdict *verdict, const struct iso_violation *violation,
                      report_take *take, void *context)
{
    const struct iso_history *history = verdict->history;
    bool has_values = violation->axiom == ISO_EXT || violation->axiom == ISO_INT,
         has_other = violation->other != ISO_NONE;
    struct iso_reported_atom tids[] = {report_tid(history, violation->transaction),
                                       report_tid(history, violation->other)};
    struct iso_reported_location locations[2] = {
        report_location(history, violation->transaction, violation->operation)};
    struct iso_reported reported = {.axiom = iso_axiom_name(violation->axiom),
                                    .kind = iso_violation_kind_name(violation->kind),
                                    .tids = tids,
                                    .tid_count = has_other ? 2 : 1,
                                    .own = times_of(history, violation->transaction),
                                    .moments = moments_of(verdict, violation),
                                    .locations = locations,
                                    .location_count = has_other ? 2 : 1};
    char note[NOTE];
    if (violation->key != ISO_NONE)
        reported.key = report_atom(history, history->keys.atom[violation->key]);
    if (has_values) {
        reported.expected = report_value(history, &violation->expected);
        reported.actual = report_value(history, &violation->actual);
        reported.writer_expected = report_tid(history, violation->writer_expected);
        reported.writer_actual = report_tid(history, violation->writer_actual);
    }
    if (has_other)
        locations[1] =
            report_location(history, violation->other,
                            violation->axiom == ISO_NOCONFLICT
                                ? iso_history_first_write(history, violation->other, violation->key)
                                : ISO_NONE);
    if (violation->kind == ISO_SNAPSHOT_ORDER) {
        describe_order(verdict, violation, note, sizeof note);
        reported.note = note;
    }
    const uint32_t transactions[] = {violation->transaction, violation->other,
                                     has_values ? violation->writer_expected : ISO_NONE,
                                     has_values ? violation->writer_actual : ISO_NONE};
    take(context, &reported, transactions, sizeof transactions / sizeof *transactions);
}

void report_put_object(void *context, const struct iso_reported *reported,
                       const uint32_t *transactions, uint32_t count)
{
    struct iso_text *text = context;
    (void)transactions;
    (void)count;
    iso_text_put(text, "{");
    iso_reported_put_members(text, reported);
}

struct iso_reported_totals report_totals(const struct iso_history *history,
                                         const struct iso_verdict *reads)
{
    return (struct iso_reported_totals){.transactions = history->totals.committed,
                                        .aborted = history->totals.aborted,
                                        .unknown = history->totals.unknown,
                                        .operations = history->ops.count,
                                        .sessions = history->sessions.count,
                                        .keys = history->keys.count,
                                        .reads_judged = reads->reads_judged,
                                        .reads_unjudged = reads->reads_unjudged,
                                        .unjudged = reads->unjudged,
                                        .per_operation = reads->per_operation};
}

void report_write(struct iso_output *output, struct iso_text *text)
{
    iso_output_bytes(output, text->bytes, text->used);
    text->used = 0;
}

static void put_beginning(struct iso_text *text, const struct iso_verdict *verdict)
{
    struct iso_reported_totals totals = report_totals(verdict->history, verdict);
    struct iso_reported_verdict head = {
        .level = iso_level_name(verdict->versions_by_commit ? ISO_SER : verdict->level),
        .versions_by_commit = verdict->versions_by_commit,
        .engine = verdict->engine,
        .outcome = iso_outcome_name(verdict->outcome),
        .reason = verdict->reason,
        .any_order = verdict->any_order,
    };
    totals.repeats = verdict->repeats;
    totals.writes_unjudged = verdict->writes_unjudged;
    iso_text_put(text, "{");
    iso_reported_put_verdict(text, &head);
    iso_reported_put_totals(text, &totals);
    iso_reported_put_counts(text, verdict->counts);
    iso_text_put(text, "},\"violations\":[");
}

void iso_report_json(struct iso_output *output, const struct iso_verdict *verdict,
                     uint64_t peak_rss_bytes)
{
    struct iso_text text = {0};
    put_beginning(&text, verdict);
    for (uint32_t i = 0; i < verdict->violation_count; i++) {
        iso_text_put(&text, i ? "," : "");
        report_violation(verdict, &verdict->violations[i], report_put_object, &text);
        report_write(output, &text);
    }
    report_write(output, &text);
    iso_output_format(output,
                      "],\"seconds\":{\"load\":%.3f,\"sort\":%.3f,\"check\":%.3f,\"total\":%.3f}",
                      verdict->seconds_load, verdict->seconds_sort, verdict->seconds_check,
                      verdict->seconds_total);
    iso_reported_put_count(&text, "peak_rss_bytes", peak_rss_bytes);
    iso_text_put(&text, "}\n");
    report_write(output, &text);
    iso_text_release(&text);
}
