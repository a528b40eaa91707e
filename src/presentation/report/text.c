#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/shown.h"
#include "explain/key_words.h"
#include "explain/names.h"
#include "report/report_private.h"

/* Long lists are cut in the middle of nowhere useful; what differs is mostly at their end. */
enum { LIST_SHOWN = 20 };

/* ---- pieces ---- */

void report_put_count(struct iso_output *output, uint64_t count, const char *singular,
                      const char *plural)
{
    iso_output_format(output, "%" PRIu64 " %s", count, count == 1 ? singular : plural);
}

/* An atom as a person writes it: control characters escaped as JSON does, quotes only where the
 * text needs them. */
static void put_atom(struct iso_output *output, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        iso_output_text(output, "nothing");
        return;
    }
    const char *text = iso_atom_text(atoms, atom, buffer, &length);
    bool plain = length > 0 && !(length == 7 && !memcmp(text, "nothing", 7));
    for (size_t i = 0; i < length && plain; i++)
        plain = (unsigned char)text[i] > 0x20 && text[i] != '"' && text[i] != '\\';
    struct iso_text words = {0};
    if (plain && iso_is_shown_as_it_is(text, length))
        iso_text_put_bytes(&words, text, length);
    else
        iso_text_put_shown_string(&words, text, length);
    iso_output_bytes(output, words.bytes, words.used);
    iso_text_release(&words);
}

void report_put_atom(struct iso_output *output, const struct iso_history *history, iso_atom atom)
{
    put_atom(output, &history->atoms, atom);
}

void report_put_value(struct iso_output *output, const struct iso_history *history,
                      const struct iso_value *value)
{
    if (!value->is_list) {
        put_atom(output, value->atoms ? value->atoms : &history->atoms, value->atom);
        return;
    }
    uint32_t first = value->count > LIST_SHOWN ? value->count - LIST_SHOWN : 0;
    iso_output_char(output, '[');
    if (first)
        iso_output_format(output, "... %" PRIu32 " more, ", first);
    for (uint32_t i = first; i < value->count; i++) {
        if (i > first)
            iso_output_text(output, ", ");
        report_put_atom(output, history, iso_value_element(value, i));
    }
    iso_output_char(output, ']');
}

static void put_stamp(struct iso_output *output, const struct iso_history *history,
                      const char *name, uint64_t timestamp)
{
    char text[ISO_STAMP_TEXT];
    iso_history_stamp_text(history, timestamp, text);
    iso_output_format(output, ", %s %s", name, text);
}

static void put_location(struct iso_output *output, const struct iso_history *history,
                         uint32_t transaction)
{
    uint64_t origin = history->txns.origin[transaction];
    uint32_t input = iso_origin_input(origin);
    const char *name = input < history->inputs.count ? history->inputs.names[input] : "?";
    struct iso_text shown = {0};
    iso_text_put_shown(&shown, name, strlen(name));
    iso_output_bytes(output, shown.bytes, shown.used);
    iso_text_release(&shown);
    iso_output_format(output, ":%" PRIu64, iso_origin_offset(origin));
}

/* "transaction 7 (session 2, h.jsonl:7, sts 41, cts 44)" */
void report_put_transaction(struct iso_output *output, const struct iso_history *history,
                            uint32_t transaction)
{
    uint8_t flags = history->txns.flags[transaction];
    iso_output_text(output, "transaction ");
    report_put_atom(output, history, history->txns.tid[transaction]);
    iso_output_text(output, " (session ");
    report_put_atom(output, history, history->sessions.atom[history->txns.session[transaction]]);
    iso_output_text(output, ", ");
    put_location(output, history, transaction);
    if (flags & ISO_HAS_STS)
        put_stamp(output, history, "sts", history->txns.sts[transaction]);
    if (flags & ISO_HAS_CTS)
        put_stamp(output, history, "cts", history->txns.cts[transaction]);
    if (iso_status_of(history, transaction) != ISO_COMMITTED)
        iso_output_text(output, iso_status_of(history, transaction) == ISO_ABORTED
                                    ? ", aborted"
                                    : ", outcome unknown");
    iso_output_char(output, ')');
}

void report_put_key(struct iso_output *output, const struct iso_history *history, uint32_t key)
{
    iso_output_text(output, "key ");
    report_put_atom(output, history, history->keys.atom[key]);
}

/* ---- one violation ---- */

static void put_writer(struct iso_output *output, const struct iso_history *history,
                       uint32_t writer, const char *nobody)
{
    if (writer == ISO_NONE) {
        iso_output_text(output, nobody);
    } else {
        iso_output_text(output, ", written by ");
        report_put_transaction(output, history, writer);
    }
}

static bool is_nothing(const struct iso_value *value)
{
    return value->is_list ? value->count == 0 : value->atom == ISO_ABSENT;
}

/* Says of a value without a writer where it comes from, behind the value. */
static const char *put_nobody(const struct iso_violation *violation)
{
    if (violation->axiom == ISO_INT || is_nothing(&violation->actual))
        return "";
    return violation->kind == ISO_UNCOMMITTED ? ", which nobody wrote" : ", the initial value";
}

/* A column without a value is NULL. */
static void put_read_value(struct iso_output *output, const struct iso_history *history,
                           const struct iso_value *value, bool is_cell)
{
    if (is_cell && is_nothing(value))
        iso_output_text(output, "NULL");
    else
        report_put_value(output, history, value);
}

static void put_values(struct iso_output *output, const struct iso_history *history,
                       const struct iso_violation *violation)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text key;
    key.at =
        iso_atom_text(&history->atoms, history->keys.atom[violation->key], buffer, &key.length);
    bool is_cell = explain_is_cell(key);
    iso_output_text(output, "    expected: ");
    put_read_value(output, history, &violation->expected, is_cell);
    put_writer(output, history, violation->writer_expected,
               violation->axiom == ISO_INT ? ", what the transaction itself last read or wrote"
                                           : ", the initial value");
    iso_output_text(output, "\n    read:     ");
    put_read_value(output, history, &violation->actual, is_cell);
    put_writer(output, history, violation->writer_actual, put_nobody(violation));
    iso_output_char(output, '\n');
}

/* Levels at which a read has to know of writers, and no snapshot says which. */
static bool is_about_knowledge(enum iso_level level)
{
    return iso_level_row(level)->shape == ISO_SHAPE_ARBITRATION && level != ISO_RC;
}

/* One sentence: why the read is wrong at the level it was judged at. */
static const char *explain_read(const struct iso_violation *violation, enum iso_level level)
{
    switch (violation->kind) {
    case ISO_UNCOMMITTED:
        return violation->writer_actual == ISO_NONE
                   ? "No transaction here wrote it: an unrecorded writer, or a missing --initial-file?"
                   : "Its writer did not commit, so nobody may see what it wrote.";
    case ISO_INTERMEDIATE:
        return "Its writer wrote the key again before it committed; nobody else may see what it wrote first.";
    case ISO_FUTURE:
        return level == ISO_SER || is_about_knowledge(level)
                   ? "Its writer committed after this transaction, so it comes later in the order."
               : level == ISO_RC
                   ? "Its writer committed after the last moment that this read may have had."
                   : "Its writer committed after the snapshot that this read should come from.";
    case ISO_ABSENT_READ:
        return "The read found nothing, although a version was there.";
    case ISO_MISSING_ROW:
        return "The row was there and lies within the bounds of the row set, which does not contain it: a phantom.";
    case ISO_EXTRA_ROW:
        return "The row set contains a row that was not there, or that does not match.";
    case ISO_AGGREGATE:
        return "The rows that were there and match give another value.";
    default:
        return is_about_knowledge(level)
                   ? "An older version than one whose writer its transaction had to know of."
               : level == ISO_SER
                   ? "An older version: a newer one was committed before this transaction committed."
               : level == ISO_RC
                   ? "An older version: a newer one was committed before the first moment left to this read."
               : level == ISO_STALE_READS
                   ? "No moment up to its start has this version and all that the transaction read before it."
                   : "An older version: a newer one was committed before the snapshot of this read.";
    }
}

/* The moments that the read had to choose from. */
static void put_moments(struct iso_output *output, const struct iso_verdict *verdict,
                        const struct iso_violation *violation)
{
    char first[ISO_STAMP_TEXT], last[ISO_STAMP_TEXT];
    bool is_past = verdict->level == ISO_STALE_READS;
    iso_history_stamp_text(verdict->history, violation->first_moment, first);
    iso_history_stamp_text(verdict->history, violation->last_moment, last);
    if (is_past || violation->first_moment == violation->last_moment)
        iso_output_format(output, "    moments:  %s%s\n", is_past ? "up to " : "", first);
    else if (violation->last_moment == UINT64_MAX)
        iso_output_format(output, "    moments:  from %s on\n", first);
    else
        iso_output_format(output, "    moments:  from %s to %s\n", first, last);
}

static void put_read(struct iso_output *output, const struct iso_verdict *verdict,
                     const struct iso_violation *violation)
{
    const struct iso_history *history = verdict->history;
    bool external = violation->axiom == ISO_EXT;
    report_put_transaction(output, history, violation->transaction);
    iso_output_text(output, " read ");
    report_put_key(output, history, violation->key);
    if (violation->operation != ISO_NONE)
        iso_output_format(
            output, " in its operation %" PRIu32,
            iso_report_operation_index(history, violation->transaction, violation->operation) + 1);
    iso_output_char(output, '\n');
    put_values(output, history, violation);
    if (violation->has_moments)
        put_moments(output, verdict, violation);
    iso_output_format(output, "    %s\n",
                      external
                          ? explain_read(violation, verdict->level)
                          : "A transaction must read again what it last read or wrote of a key.");
}

static void put_conflict(struct iso_output *output, const struct iso_history *history,
                         const struct iso_violation *violation)
{
    report_put_transaction(output, history, violation->transaction);
    iso_output_text(output, " and\n    ");
    report_put_transaction(output, history, violation->other);
    iso_output_text(output, " both wrote ");
    report_put_key(output, history, violation->key);
    iso_output_text(
        output,
        "\n    Both committed: one of the two updates may be lost. --explain says what each had read.\n");
}

static void put_session(struct iso_output *output, const struct iso_verdict *verdict,
                        const struct iso_violation *violation)
{
    const struct iso_history *history = verdict->history;
    report_put_transaction(output, history, violation->transaction);
    iso_output_text(output, verdict->level == ISO_SER || is_about_knowledge(verdict->level)
                                ? " stands in the commit order before\n    "
                                : " starts before the commit of\n    ");
    report_put_transaction(output, history, violation->other);
    iso_output_text(output, ", an earlier one of the same session\n");
}

static void put_timestamp(struct iso_output *output, const struct iso_verdict *verdict,
                          const struct iso_violation *violation)
{
    const struct iso_history *history = verdict->history;
    char note[1024];
    switch (violation->kind) {
    case ISO_SNAPSHOT_ORDER:
        report_put_transaction(output, history, violation->transaction);
        iso_report_snapshot_order(verdict, violation, note, sizeof note);
        iso_output_format(output, " owns the later one\n    %s\n", note);
        break;
    case ISO_SHARED_CTS:
        report_put_transaction(output, history, violation->transaction);
        iso_output_text(output, " and\n    ");
        report_put_transaction(output, history, violation->other);
        iso_output_text(output, "\n    Nothing says which of them comes first.\n");
        break;
    case ISO_CTS_CYCLE:
        report_put_transaction(output, history, violation->transaction);
        iso_output_text(output, "\n    It must come before and after others with the same cts.\n");
        break;
    default:
        report_put_transaction(output, history, violation->transaction);
        iso_output_text(
            output,
            "\n    The rule is sts <= ots <= cts, and sts < cts where something is written.\n");
    }
}

static void put_violation(struct iso_output *output, const struct iso_verdict *verdict,
                          const struct iso_violation *violation)
{
    const char *axiom = iso_axiom_name(violation->axiom);
    bool has_kinds = violation->axiom == ISO_EXT || violation->axiom == ISO_TIMESTAMP;
    const struct iso_wrong *wrong =
        iso_wrong_find(axiom, has_kinds ? iso_violation_kind_name(violation->kind) : NULL);
    assert(wrong);
    iso_output_format(output, "\n%s: %s\n    ", axiom,
                      iso_wrong_name(wrong, violation->writer_actual != ISO_NONE));
    switch (violation->axiom) {
    case ISO_TIMESTAMP:
        put_timestamp(output, verdict, violation);
        break;
    case ISO_SESSION:
        put_session(output, verdict, violation);
        break;
    case ISO_NOCONFLICT:
        put_conflict(output, verdict->history, violation);
        break;
    default:
        put_read(output, verdict, violation);
    }
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
    char place[512];
    if (history->streamed.writer == ISO_NONE)
        return;
    iso_history_location_text(history, history->streamed.writer, place, sizeof place);
    iso_output_format(
        output,
        "  %s: %s stands in the change stream. Join them:\n"
        "  isochron replay --source KIND:TOPIC,cells=true ... --history FILE CAPTURE\n",
        place,
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
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        put_violation(output, verdict, &verdict->violations[i]);
    uint64_t unlisted = found(verdict) - verdict->violation_count;
    if (unlisted) {
        iso_output_char(output, '\n');
        report_put_count(output, unlisted, "more violation is", "more violations are");
        iso_output_text(output,
                        verdict->limit && verdict->violation_count == verdict->limit
                            ? " not listed (--max-violations N, 0 for all)\n"
                            : " not listed (--max-violations N, --max-per-key N, 0 for all)\n");
    }
}
