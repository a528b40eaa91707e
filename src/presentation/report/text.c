/* A verdict for people: what can be said in numbers, and each violation in brief. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/shown.h"
#include "explain/brief.h"
#include "explain/words.h"
#include "report/report_private.h"

void report_put_count(struct iso_output *output, uint64_t count, const char *singular,
                      const char *plural)
{
    iso_output_format(output, "%" PRIu64 " %s", count, count == 1 ? singular : plural);
}

/* ---- one violation ---- */

/* "session 2, h.jsonl:7, aborted": what a report does not say of a transaction. */
static const char *words_of(const struct iso_history *history, uint32_t transaction)
{
    static const char *const statuses[] = {"", ", aborted", ", outcome unknown"};
    uint64_t origin = history->txns.origin[transaction];
    uint32_t input = iso_origin_input(origin);
    const char *name = input < history->inputs.count ? history->inputs.names[input] : "?";
    struct iso_text text = {0};
    iso_text_put(&text, "session ");
    argue_put_atom(&text, &history->atoms,
                   history->sessions.atom[history->txns.session[transaction]]);
    iso_text_put(&text, ", ");
    iso_text_put_shown(&text, name, strlen(name));
    iso_text_format(&text, ":%" PRIu64 "%s", iso_origin_offset(origin),
                    statuses[iso_status_of(history, transaction)]);
    iso_text_put_bytes(&text, "", 1);
    return text.bytes;
}

void report_put_words(void *context, const struct iso_reported *reported,
                      const uint32_t *transactions, uint32_t count)
{
    const struct report_words *words = context;
    struct iso_reported said = *reported;
    struct iso_reported_commit *commits = iso_allocate_zeroed(count, sizeof *commits);
    struct iso_brief brief;
    struct iso_text text = {0};
    for (uint32_t i = 0; i < count; i++)
        if (transactions[i] != ISO_NONE)
            commits[said.commit_count++] =
                (struct iso_reported_commit){.tid = report_tid(words->history, transactions[i]),
                                             .words = words_of(words->history, transactions[i])};
    said.commits = commits;
    said.head.level = words->level;
    if (iso_brief_of(&brief, &said))
        iso_brief_text(&brief, &text);
    report_write(words->output, &text);
    for (uint32_t i = 0; i < said.commit_count; i++)
        iso_free((void *)commits[i].words);
    iso_free(commits);
    iso_text_release(&text);
    iso_brief_release(&brief);
}

void report_put_unlisted(struct iso_output *output, uint64_t unlisted, const char *how)
{
    if (!unlisted)
        return;
    report_put_count(output, unlisted, "more violation is", "more violations are");
    iso_output_format(output, " not listed (--max-violations N%s, 0 for all)\n", how);
}

/* ---- the whole ---- */

static uint64_t found(const struct iso_verdict *verdict)
{
    uint64_t sum = 0;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        sum += verdict->counts[axiom];
    return sum;
}

static void put_counts(struct iso_output *output, const struct iso_verdict *verdict)
{
    const char *between = " (";
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        if (!verdict->counts[axiom])
            continue;
        iso_output_format(output, "%s%s %" PRIu64, between, iso_axiom_name((enum iso_axiom)axiom),
                          verdict->counts[axiom]);
        between = ", ";
    }
    iso_output_char(output, ')');
}

void report_put_size(struct iso_output *output, const struct iso_history *history,
                     const char *engine, double seconds)
{
    iso_output_text(output, "  judged ");
    report_put_count(output, history->totals.committed, "transaction", "transactions");
    if (history->totals.aborted)
        iso_output_format(output, " (besides %" PRIu32 " aborted)", history->totals.aborted);
    if (history->totals.unknown)
        iso_output_format(output, " (besides %" PRIu32 " of unknown outcome)",
                          history->totals.unknown);
    iso_output_text(output, ", ");
    report_put_count(output, history->ops.count, "operation", "operations");
    iso_output_text(output, ", ");
    report_put_count(output, history->sessions.count, "session", "sessions");
    iso_output_text(output, ", ");
    report_put_count(output, history->keys.count, "key", "keys");
    iso_output_format(output, "; engine %s, %.3f s\n", engine, seconds);
}

static void put_any_order(struct iso_output *output, const struct iso_verdict *verdict)
{
    if (!verdict->any_order)
        return;
    if (!strcmp(verdict->any_order, "holds"))
        iso_output_text(
            output,
            "  The claimed order is wrong: another order explains every read (any order: holds).\n");
    else if (!strcmp(verdict->any_order, "violated"))
        iso_output_text(output,
                        "  No order exists that explains every read (any order: violated).\n");
    else
        iso_output_text(
            output,
            "  Whether another order explains every read was not decided (any order: undecided).\n");
}

static void put_headline(struct iso_output *output, const struct iso_verdict *verdict)
{
    const char *level =
        iso_level_row(verdict->versions_by_commit ? ISO_SER : verdict->level)->title;
    switch (verdict->outcome) {
    case ISO_HOLDS:
        iso_output_format(output, "holds: the order that the timestamps claim gives %s\n", level);
        break;
    case ISO_IS_VIOLATED:
        iso_output_format(output, "violated: %s, ", level);
        report_put_count(output, found(verdict), "violation", "violations");
        put_counts(output, verdict);
        iso_output_char(output, '\n');
        break;
    case ISO_IS_UNDECIDED:
        iso_output_format(output, "undecided: %s (%s)\n", level, verdict->reason);
    }
    put_any_order(output, verdict);
    report_put_size(output, verdict->history, verdict->engine, verdict->seconds_total);
}

static void put_unjudged(struct iso_output *output, const struct iso_verdict *verdict)
{
    if (verdict->unjudged[ISO_UNJUDGED_NO_STREAM] == verdict->reads_unjudged) {
        iso_output_text(output,
                        " not judged: nothing here says what they had to find (no-stream).\n");
        return;
    }
    if (verdict->unjudged[ISO_UNJUDGED_UNKNOWN_WRITER] == verdict->reads_unjudged) {
        iso_output_format(output,
                          " not judged: the value may come from a transaction of unknown outcome.\n"
                          "  Record whether those committed (\"status\")%s.\n",
                          verdict->reads_judged
                              ? ", or accept such reads with --allow-unjudged"
                              : ": no read was judged, so nothing is known of the level");
        return;
    }
    iso_output_text(output, " not judged:");
    for (int reason = 0, parts = 0; reason < ISO_UNJUDGED_REASONS; reason++)
        if (verdict->unjudged[reason])
            iso_output_format(output, "%s %s %" PRIu64, parts++ ? "," : "",
                              iso_unjudged_name((enum iso_unjudged)reason),
                              verdict->unjudged[reason]);
    iso_output_format(output, "\n  docs/verdicts.md says what each means; %s.\n",
                      verdict->reads_judged
                          ? "--allow-unjudged accepts such reads"
                          : "no read was judged, so nothing is known of the level");
}

void report_put_stream(struct iso_output *output, const struct iso_history *history)
{
    char location[512];
    if (history->streamed.writer == ISO_NONE)
        return;
    iso_history_location_text(history, history->streamed.writer, location, sizeof location);
    iso_output_format(
        output,
        "  %s: %s stands in the change stream. Join them:\n"
        "  isochron replay --source KIND:TOPIC,cells=true ... --history FILE CAPTURE\n",
        location,
        history->streamed.is_needed ? "what rows had before, and what was written,"
                                    : "the record says which rows it wrote and not what: that");
}

void report_put_lost(struct iso_output *output, const struct iso_history *history)
{
    const struct iso_history_lost *lost = &history->lost;
    uint32_t input = iso_origin_input(lost->origin);
    if (!iso_history_lacks(history))
        return;
    iso_output_format(output, "  %s:%" PRIu64 ": ", history->inputs.names[input],
                      iso_origin_offset(lost->origin));
    if (lost->records)
        report_put_count(output, lost->records, "record that its recorder counted is",
                         "records that their recorder counted are");
    else
        iso_output_text(output, "nobody says how many records of this recorder are");
    iso_output_text(output,
                    lost->recorders
                        ? " missing; it did not end: was it killed, or does it still write?\n"
                        : " missing: too large, or dropped since a buffer or the disk was full.\n");
}

/* Paragraphs: what stayed unjudged, and what a person can do about it. */
static void put_gaps(struct iso_output *output, const struct iso_verdict *verdict)
{
    if (!verdict->history->totals.committed && verdict->outcome == ISO_IS_UNDECIDED)
        iso_output_text(
            output,
            "  The input has no committed transaction, so there was nothing to judge. Is it the "
            "right file, and was it recorded to its end?\n");
    report_put_stream(output, verdict->history);
    report_put_lost(output, verdict->history);
    if (verdict->reads_unjudged) {
        iso_output_text(output, "  ");
        report_put_count(output, verdict->reads_unjudged, "read was", "reads were");
        put_unjudged(output, verdict);
    }
    if (verdict->repeats) {
        iso_output_text(output, "  ");
        report_put_count(output, verdict->repeats, "transaction occurred", "transactions occurred");
        iso_output_text(output, " again with the same content, ignored.\n");
    }
    if (verdict->writes_unjudged) {
        iso_output_text(output, "  ");
        report_put_count(output, verdict->writes_unjudged, "write was", "writes were");
        iso_output_text(
            output,
            " not judged for NOCONFLICT: made under a lock, without a timestamp of their own "
            "(\"ots\").\n");
    }
    if (verdict->per_operation && verdict->level == ISO_SI)
        iso_output_text(output,
                        "  Operations have timestamps of their own: this is a statement about each "
                        "operation's snapshot, weaker than snapshot isolation.\n");
}

void iso_report_text(struct iso_output *output, const struct iso_verdict *verdict, bool quiet)
{
    put_headline(output, verdict);
    if (quiet)
        return;
    put_gaps(output, verdict);
    struct report_words words = {output, verdict->history, iso_level_name(verdict->level)};
    bool is_cut = verdict->limit && verdict->violation_count == verdict->limit;
    iso_output_text(output, verdict->violation_count ? "\n" : "");
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        report_violation(verdict, &verdict->violations[i], report_put_words, &words);
    report_put_unlisted(output, found(verdict) - verdict->violation_count,
                        is_cut ? "" : ", --max-per-key N");
}
