#include "io/report.h"

#include <string.h>

#include "history/moment.h"
#include "io/report_private.h"
#include "iso/version.h"

#define LITERAL(output, text) iso_output_bytes(output, text, sizeof text - 1)

void report_json_text(struct iso_output *output, const char *text)
{
    if (text)
        iso_output_string(output, text, strlen(text));
    else
        LITERAL(output, "null");
}

void report_json_count(struct iso_output *output, const char *member, uint64_t count)
{
    iso_output_text(output, member);
    iso_output_number(output, count);
}

void report_json_value(struct iso_output *output, const struct iso_history *history, const struct iso_value *value)
{
    if (!value->is_list) {
        iso_output_atom_string(output, &history->atoms, value->atom);
        return;
    }
    iso_output_char(output, '[');
    for (uint32_t i = 0; i < value->count; i++) {
        if (i)
            iso_output_char(output, ',');
        iso_output_atom_string(output, &history->atoms, iso_value_element(value, i));
    }
    iso_output_char(output, ']');
}

void report_json_tid(struct iso_output *output, const struct iso_history *history, uint32_t transaction)
{
    iso_output_atom_string(output, &history->atoms, transaction == ISO_NONE ? ISO_ABSENT : history->tid[transaction]);
}

static void write_stamp(struct iso_output *output, const struct iso_history *history, bool known, uint64_t timestamp)
{
    char text[ISO_STAMP_TEXT];
    if (known)
        iso_history_stamp_text(history, timestamp, text);
    report_json_text(output, known ? text : NULL);
}

void report_json_place(struct iso_output *output, const struct iso_history *history, uint32_t transaction,
                       uint32_t operation)
{
    uint64_t origin = history->origin[transaction];
    uint32_t input = iso_origin_input(origin);
    LITERAL(output, "{\"file\":");
    report_json_text(output, input < history->input_count ? history->inputs[input] : NULL);
    report_json_count(output, ",\"line\":", iso_origin_place(origin));
    if (operation != ISO_NONE)
        report_json_count(output, ",\"op\":", iso_report_operation_index(history, transaction, operation));
    iso_output_char(output, '}');
}

static void write_places(struct iso_output *output, const struct iso_history *history,
                         const struct iso_violation *violation)
{
    LITERAL(output, ",\"at\":[");
    report_json_place(output, history, violation->transaction, violation->operation);
    if (violation->other != ISO_NONE) {
        iso_output_char(output, ',');
        report_json_place(output, history, violation->other,
                          violation->axiom == ISO_NOCONFLICT
                              ? iso_report_first_write(history, violation->other, violation->key)
                              : ISO_NONE);
    }
    iso_output_char(output, ']');
}

static void write_values(struct iso_output *output, const struct iso_history *history,
                         const struct iso_violation *violation)
{
    LITERAL(output, ",\"expected\":");
    report_json_value(output, history, &violation->expected);
    LITERAL(output, ",\"actual\":");
    report_json_value(output, history, &violation->actual);
    LITERAL(output, ",\"writer_expected\":");
    report_json_tid(output, history, violation->writer_expected);
    LITERAL(output, ",\"writer_actual\":");
    report_json_tid(output, history, violation->writer_actual);
}

static void write_stamps(struct iso_output *output, const struct iso_history *history, uint32_t transaction)
{
    LITERAL(output, "\"sts\":");
    write_stamp(output, history, history->flags[transaction] & ISO_HAS_STS, history->sts[transaction]);
    LITERAL(output, ",\"cts\":");
    write_stamp(output, history, history->flags[transaction] & ISO_HAS_CTS, history->cts[transaction]);
}

static void write_times_of(struct iso_output *output, const struct iso_history *history, const char *member,
                           uint32_t transaction)
{
    if (transaction == ISO_NONE)
        return;
    iso_output_text(output, member);
    write_stamps(output, history, transaction);
    iso_output_char(output, '}');
}

/* When the others that the verdict names stood where, and at which moment the read looked. */
static void write_times(struct iso_output *output, const struct iso_verdict *verdict,
                        const struct iso_violation *violation)
{
    const struct iso_history *history = verdict->history;
    if (violation->axiom == ISO_EXT) {
        struct iso_moment moment =
            iso_moment_of(history, violation->transaction, violation->operation, verdict->level == ISO_SER);
        LITERAL(output, ",\"times\":{\"look\":");
        write_stamp(output, history, true, moment.at);
        iso_output_text(output, moment.inclusive ? ",\"inclusive\":true" : ",\"inclusive\":false");
        write_times_of(output, history, ",\"expected\":{", violation->writer_expected);
        write_times_of(output, history, ",\"actual\":{", violation->writer_actual);
        iso_output_char(output, '}');
    } else if (violation->axiom != ISO_INT && violation->other != ISO_NONE) {
        write_times_of(output, history, ",\"times\":{\"other\":{", violation->other);
        iso_output_char(output, '}');
    }
}

static void write_note(struct iso_output *output, const struct iso_verdict *verdict,
                       const struct iso_violation *violation)
{
    char note[1024];
    iso_report_breach(verdict, violation, note, sizeof note);
    LITERAL(output, ",\"note\":");
    report_json_text(output, note);
}

static void write_violation(struct iso_output *output, const struct iso_verdict *verdict,
                            const struct iso_violation *violation)
{
    const struct iso_history *history = verdict->history;
    uint32_t transaction = violation->transaction;
    LITERAL(output, "{\"axiom\":");
    report_json_text(output, iso_axiom_name(violation->axiom));
    if (violation->kind != ISO_KIND_NONE) {
        LITERAL(output, ",\"kind\":");
        report_json_text(output, iso_violation_kind_name(violation->kind));
    }
    LITERAL(output, ",\"tids\":[");
    report_json_tid(output, history, transaction);
    if (violation->other != ISO_NONE) {
        iso_output_char(output, ',');
        report_json_tid(output, history, violation->other);
    }
    iso_output_char(output, ']');
    if (violation->key != ISO_NONE) {
        LITERAL(output, ",\"key\":");
        iso_output_atom_string(output, &history->atoms, history->key_atom[violation->key]);
    }
    if (violation->axiom == ISO_EXT || violation->axiom == ISO_INT)
        write_values(output, history, violation);
    iso_output_char(output, ',');
    write_stamps(output, history, transaction);
    write_times(output, verdict, violation);
    write_places(output, history, violation);
    if (violation->kind == ISO_SNAPSHOT_ORDER)
        write_note(output, verdict, violation);
    iso_output_char(output, '}');
}

void report_json_history(struct iso_output *output, const struct iso_history *history)
{
    report_json_count(output, ",\"transactions\":", history->committed_count);
    report_json_count(output, ",\"aborted\":", history->aborted_count);
    report_json_count(output, ",\"unknown\":", history->unknown_count);
    report_json_count(output, ",\"operations\":", history->operation_count);
    report_json_count(output, ",\"sessions\":", history->session_count);
    report_json_count(output, ",\"keys\":", history->key_count);
}

static void write_totals(struct iso_output *output, const struct iso_verdict *verdict)
{
    report_json_history(output, verdict->history);
    report_json_count(output, ",\"reads_judged\":", verdict->reads_judged);
    report_json_count(output, ",\"reads_unjudged\":", verdict->reads_unjudged);
    report_json_count(output, ",\"unjudged\":{\"unknown-writer\":", verdict->reads_unjudged);
    iso_output_char(output, '}');
    if (verdict->repeats)
        report_json_count(output, ",\"repeats\":", verdict->repeats);
    if (verdict->writes_unjudged)
        report_json_count(output, ",\"writes_unjudged\":", verdict->writes_unjudged);
    LITERAL(output, ",\"per_operation\":");
    iso_output_text(output, verdict->per_operation ? "true" : "false");
    LITERAL(output, ",\"counts\":{");
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        if (axiom)
            iso_output_char(output, ',');
        report_json_text(output, iso_axiom_name((enum iso_axiom)axiom));
        report_json_count(output, ":", verdict->counts[axiom]);
    }
    iso_output_char(output, '}');
}

void iso_report_json(struct iso_output *output, const struct iso_verdict *verdict, uint64_t peak_rss_bytes)
{
    LITERAL(output, "{\"isochron\":\"" ISO_VERSION "\",\"level\":");
    report_json_text(output, iso_level_name(verdict->level));
    LITERAL(output, ",\"engine\":");
    report_json_text(output, verdict->engine);
    LITERAL(output, ",\"verdict\":");
    report_json_text(output, iso_outcome_name(verdict->outcome));
    LITERAL(output, ",\"reason\":");
    report_json_text(output, verdict->reason);
    if (verdict->any_order) {
        LITERAL(output, ",\"any_order\":");
        report_json_text(output, verdict->any_order);
    }
    write_totals(output, verdict);
    LITERAL(output, ",\"violations\":[");
    for (uint32_t i = 0; i < verdict->violation_count; i++) {
        if (i)
            iso_output_char(output, ',');
        write_violation(output, verdict, &verdict->violations[i]);
    }
    iso_output_format(output, "],\"seconds\":{\"load\":%.3f,\"sort\":%.3f,\"check\":%.3f,\"total\":%.3f}",
                      verdict->seconds_load, verdict->seconds_sort, verdict->seconds_check, verdict->seconds_total);
    report_json_count(output, ",\"peak_rss_bytes\":", peak_rss_bytes);
    LITERAL(output, "}\n");
}
