#include "run/input/serial_order.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "run/input/kept.h"
#include "history/archive.h"
#include "history/copy.h"
#include "report/report.h"
#include "polygraph/polygraph.h"
#include "verdict/reported.h"
#include "verdict/unjudged.h"

/* Copies in memory at one time: the collected history, the one that is judged, and polygraph's
 * own form of it. */
enum { COPIES = 3 };

enum iso_status run_order_init(struct run_order *order, struct iso_error *error)
{
    assert(order->options && order->pipeline && order->output);
    iso_history_init(&order->collected);
    if (!order->sought)
        return ISO_OK;
    if (order->options->no_session_order)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--no-session-order: where an order of the transactions is sought, ser has sessions");
    return run_stream_initial(order->options, &order->collected, error);
}

void run_order_release(struct run_order *order)
{
    if (order->options)
        iso_history_release(&order->collected);
    order->options = NULL;
}

void run_order_archive(struct iso_archive *archive, struct run_order *order)
{
    ISO_ARCHIVE_VALUE(archive, order->full);
    if (!order->sought)
        return;
    if (archive->restoring) { /* its initial values come back too */
        iso_history_release(&order->collected);
        iso_history_init(&order->collected);
    }
    iso_history_archive(archive, &order->collected);
}

void run_order_keep(struct run_order *order, const struct iso_history *block)
{
    uint64_t memory = run_stream_memory(order->options);
    if (!order->sought || order->full)
        return;
    run_kept_add(&order->collected, block, 0, block->txns.count);
    order->full = memory && COPIES * iso_history_size(&order->collected) > memory;
    if (order->full)
        cli_log_warning(
            "--memory is used up: no more transactions are taken, and whether they have an order will be "
            "undecided");
}

/* ---- seeking ---- */

/* The position of each session's first transaction in the stream; UINT64_MAX: none. To be freed. */
static uint64_t *first_in_stream(const struct iso_history *all)
{
    uint64_t *first = iso_allocate((all->sessions.count + 1u) * sizeof *first);
    for (uint32_t s = 0; s < all->sessions.count; s++)
        first[s] = UINT64_MAX;
    for (uint32_t t = 0; t < all->txns.count; t++) {
        uint32_t session = all->txns.session[t];
        if (session != ISO_NONE && all->txns.flags[t] & ISO_HAS_CTS &&
            all->txns.sno[t] < first[session])
            first[session] = all->txns.sno[t];
    }
    return first;
}

/* Drops the reads of transactions that may have ended before the stream began: nothing says when
 * they were, and their session has nothing earlier in the stream. Before anything is finished. */
static uint64_t drop_maybe_before(struct iso_history *all)
{
    uint64_t *first = first_in_stream(all), dropped = 0;
    bool *drops = iso_allocate_zeroed(all->ops.count + 1u, sizeof *drops);
    for (uint32_t t = 0; t < all->txns.count; t++) {
        uint32_t session = all->txns.session[t];
        bool has_time = all->txns.flags[t] & (ISO_WRITES | ISO_HAS_STS | ISO_HAS_CTS) ||
                        (all->txns.snapshot && all->txns.snapshot[t] != ISO_NONE);
        if (has_time || (session != ISO_NONE && all->txns.sno[t] > first[session]))
            continue;
        ISO_EACH(o, all->txns.first_op, t) {
            drops[o] = !iso_kind_writes(all->ops.kind[o]);
            dropped += drops[o];
        }
    }
    if (dropped)
        iso_history_drop_operations(all, drops);
    ISO_FREE_ALL(drops, first);
    return dropped;
}

/* A finished copy: with --state what is collected is saved, and gone on with. `dropped`, unless
 * NULL: that many reads that may be of a time before the stream are left out. */
static enum iso_status copy_all(struct run_order *order, struct iso_history *all, uint64_t *dropped,
                                struct iso_error *error)
{
    run_kept_add(all, &order->collected, 0, order->collected.txns.count);
    if (dropped)
        *dropped = drop_maybe_before(all);
    order->unclear = iso_pipeline_drop_unclear(order->pipeline, all);
    iso_history_copy_initial(all, &order->collected);
    run_kept_name_inputs(iso_pipeline_inputs(order->pipeline), all);
    iso_history_drop_repeats(all); /* streams repeat themselves */
    if (iso_history_finish(all, error) == ISO_OK) {
        iso_pipeline_imply_queries(order->pipeline, all);
        iso_history_read_touches(all);
    }
    return error->status;
}

/* A reason why transactions outside of the joined history may explain a cycle in it. */
static const char *missing_reason(const struct run_order *order)
{
    struct iso_pipeline_stats stats;
    iso_pipeline_stats(order->pipeline, &stats);
    const struct iso_join_stats *join = &stats.join;
    if (order->full)
        return "memory";
    if (stats.bad_records)
        return "skipped-records";
    if (iso_join_has_xa(join))
        return iso_unjudged_name(ISO_UNJUDGED_XA);
    return join->unplaced || join->forced || join->incomplete || join->late_records
               ? "unplaced-transactions"
               : NULL;
}

/* Takes back a violation. */
static void set_undecided(struct iso_polygraph_result *result, const char *reason)
{
    memset(result->counts, 0, sizeof result->counts);
    result->finding_count = 0;
    result->cycles = 0;
    result->outcome = ISO_IS_UNDECIDED;
    result->reason = reason;
}

static enum iso_status judge_order(struct run_order *order, const struct iso_history *all,
                                   struct iso_polygraph_result *result, struct iso_error *error)
{
    const struct run_stream_options *options = order->options;
    struct iso_polygraph_options settings = run_stream_polygraph(options);
    const char *lack = missing_reason(order);
    settings.level = ISO_SER;
    settings.versions_by_commit = true;
    if (iso_polygraph_check(all, &settings, result, error) != ISO_OK)
        return error->status;
    if (lack && result->outcome != ISO_IS_UNDECIDED)
        set_undecided(result, lack);
    else if (result->outcome == ISO_HOLDS && order->unclear && !options->allow_unjudged)
        set_undecided(result, iso_unjudged_name(ISO_UNJUDGED_SPELLING));
    else if (result->outcome == ISO_HOLDS && iso_history_leaves_queries(all) &&
             !options->allow_unjudged)
        set_undecided(result, iso_unjudged_name(ISO_UNJUDGED_ROW_SETS));
    else if (result->outcome == ISO_HOLDS && result->reads_left_out && !options->allow_unjudged)
        set_undecided(result, "reads-left-out");
    else if (result->outcome == ISO_IS_UNDECIDED && !strcmp(result->reason, "nothing-judged"))
        result->outcome = ISO_HOLDS; /* nothing to be put in order: the pipeline knows whether that
                                        is too little */
    return ISO_OK;
}

/* ---- emitting ---- */

/* Id from the text: the same in every run. */
static uint64_t id_of(const char *text, size_t length)
{
    uint64_t id = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        id = (id ^ (uint8_t)text[i]) * 0x100000001b3u;
    return id;
}

static void emit_order(const struct run_order *order, const char *object, size_t length,
                       struct iso_error *error)
{
    struct iso_text line = {0};
    char id[32];
    if (order->options->json || order->options->silent)
        return;
    snprintf(id, sizeof id, "%016" PRIx64, id_of(object, length));
    struct iso_reported_head head = {.id = id, .state = "final", .level = iso_level_name(ISO_SER)};
    iso_reported_put_head(&line, &head);
    iso_text_put_bytes(&line, object + 1, length - 1);
    iso_text_put(&line, "\n");
    run_output_emit(order->output, line.bytes, line.used, error);
    iso_text_release(&line);
}

/* The engine has reported what a transaction itself contradicts, where its reads have a time. */
static void leave_out_reported(const struct iso_history *all, struct iso_polygraph_result *result)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const struct iso_finding *finding = &result->findings[i];
        bool reported = finding->kind == ISO_FINDING_INT &&
                        (all->txns.flags[finding->transaction] & ISO_HAS_STS);
        result->counts[ISO_FINDING_INT] -= reported;
        result->findings[kept] = *finding;
        kept += !reported;
    }
    result->finding_count = kept;
}

static void put_counts(const struct iso_polygraph_result *result,
                       struct iso_pipeline_order *outcome)
{
    outcome->found = result->counts[ISO_FINDING_INT];
    for (int kind = ISO_FINDING_G1A; kind < ISO_FINDINGS; kind++) {
        outcome->found += result->counts[kind];
        iso_text_format(&outcome->counts, ",\"%s\":%" PRIu64,
                        iso_finding_name((enum iso_finding_kind)kind), result->counts[kind]);
    }
    outcome->found += result->cycles;
    iso_text_format(&outcome->counts, ",\"CYCLE\":%" PRIu64, result->cycles);
}

static void put_violations(const struct run_order *order, const struct iso_polygraph_report *report,
                           struct iso_pipeline_order *outcome, struct iso_error *error)
{
    for (uint32_t i = 0; i < iso_report_polygraph_listed(report); i++) {
        iso_text_put(&outcome->violations, i ? "," : "");
        size_t start = outcome->violations.used;
        iso_report_polygraph_violation(&outcome->violations, report, i);
        emit_order(order, outcome->violations.bytes + start, outcome->violations.used - start,
                   error);
    }
}

/* The violation may rest on reads from before the stream: if so, nothing is certain. */
static enum iso_status seek_without_earlier(struct run_order *order, struct iso_history *all,
                                            struct iso_polygraph_result *result,
                                            struct iso_error *error)
{
    struct iso_history rest;
    struct iso_polygraph_result second;
    uint64_t dropped = 0;
    iso_history_init(&rest);
    rest.ranges.limit = all->ranges.limit;
    iso_polygraph_result_init(&second);
    enum iso_status status = copy_all(order, &rest, &dropped, error);
    if (status == ISO_OK && dropped)
        status = judge_order(order, &rest, &second, error);
    if (status == ISO_OK && dropped) {
        struct iso_history found = *all;
        struct iso_polygraph_result first = *result;
        *all = rest;
        *result = second;
        rest = found;
        second = first;
        if (result->outcome == ISO_HOLDS)
            set_undecided(result, "before-start");
    }
    iso_polygraph_result_release(&second);
    iso_history_release(&rest);
    return status;
}

static enum iso_status seek(struct run_order *order, struct iso_history *all,
                            struct iso_polygraph_result *result, struct iso_error *error)
{
    const struct run_stream_options *options = order->options;
    bool initial_known = options->initial || options->initial_file;
    if (copy_all(order, all, NULL, error) != ISO_OK ||
        judge_order(order, all, result, error) != ISO_OK)
        return error->status;
    return result->outcome == ISO_IS_VIOLATED && !initial_known
               ? seek_without_earlier(order, all, result, error)
               : ISO_OK;
}

enum iso_status run_order_seek(struct run_order *order, struct iso_error *error)
{
    struct iso_polygraph_result result;
    struct iso_history all;
    if (!order->sought)
        return ISO_OK;
    iso_history_init(&all);
    all.ranges.limit = order->options->pipeline.scan_limit;
    iso_polygraph_result_init(&result);
    if (seek(order, &all, &result, error) == ISO_OK) {
        struct iso_pipeline_order outcome = {.outcome = result.outcome, .reason = result.reason};
        struct iso_polygraph_report report = {.history = &all,
                                              .result = &result,
                                              .level = ISO_SER,
                                              .max_findings =
                                                  order->options->pipeline.max_violations,
                                              .is_stream = true};
        leave_out_reported(&all, &result);
        put_counts(&result, &outcome);
        put_violations(order, &report, &outcome, error);
        iso_pipeline_set_order(order->pipeline, &outcome);
    }
    iso_polygraph_result_release(&result);
    iso_history_release(&all);
    return error->status;
}
