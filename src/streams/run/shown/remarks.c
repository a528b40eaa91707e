#include "run/shown/remarks.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/log.h"
#include "cli/system.h"
#include "run/input/spelling.h"

/* ---- records ---- */

static void note_record(struct run_remarks *remarks, const char *location, const char *what,
                        const char *reason)
{
    char text[ISO_ERROR_TEXT + 64];
    if (remarks->muted)
        return;
    snprintf(text, sizeof text, "%s: %s", what, reason);
    run_bad_records_note(&remarks->bad_records, location, text, iso_clock_seconds());
}

static void keep_record(struct run_remarks *remarks, struct run_recording *recording,
                        const struct iso_message *message, const char *location)
{
    struct iso_error error = {.status = ISO_OK};
    if (!recording->dead_letter)
        return;
    if (!message)
        note_record(remarks, location, "not in --dead-letter",
                    "the record that it contradicts arrived later");
    else if (!run_recording_keep(recording, message, &error) && error.status != ISO_OK)
        note_record(remarks, location, "not in --dead-letter", error.text);
}

void run_remarks_bad(struct run_remarks *remarks, struct run_recording *recording,
                     const struct iso_message *message, const char *location, const char *reason)
{
    note_record(remarks, location, "left out", reason);
    keep_record(remarks, recording, message, location);
}

void run_remarks_doubtful(struct run_remarks *remarks, struct run_recording *recording,
                          const struct iso_message *message, const char *location,
                          const char *reason)
{
    note_record(remarks, location, "doubtful", reason);
    keep_record(remarks, recording, message, location);
}

void run_remarks_conclude(struct run_remarks *remarks, const struct run_recording *recording)
{
    run_bad_records_sum_up(&remarks->bad_records, iso_clock_seconds(), true);
    if (recording->unkept)
        cli_log_warning("%" PRIu64 " bad record%s not kept in --dead-letter", recording->unkept,
                        recording->unkept == 1 ? " was" : "s were");
}

/* ---- tables and inputs ---- */

/* As much of it as there is room for, in whole characters, on one line. */
static void copy_name(char *to, size_t size, const char *name, size_t length)
{
    assert(size);
    size_t end = length < size ? length : size - 1;
    while (end && end < length && ((uint8_t)name[end] & 0xc0) == 0x80)
        end--;
    for (size_t i = 0; i < end; i++)
        to[i] = (uint8_t)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i];
    to[end] = 0;
}

void run_remarks_table(struct run_remarks *remarks, const char *location, const char *table,
                       size_t length, enum iso_table_news news, const char *reason)
{
    struct run_tables *tables = &remarks->tables;
    int shown = length < 200 ? (int)length : 200;
    if (remarks->muted)
        return;
    tables->count[news]++;
    copy_name(tables->latest[news], sizeof tables->latest[news], length ? table : "all",
              length ? length : 3);
    if (news == ISO_NEWS_LEFT_OUT)
        cli_log("%.*s cannot be judged, operations on it are left out: %s (%s)", shown, table,
                reason, location);
    else if (news == ISO_NEWS_LOSSY)
        cli_log("%.*s: what the stream does not say of it is not judged (lossy): %s (%s)", shown,
                table, reason, location);
    else if (news == ISO_NEWS_COLUMNS)
        cli_log("table %.*s changed at %s: whole rows from before and after are not compared",
                shown, table, location);
}

void run_remarks_spelling(struct run_remarks *remarks, const struct iso_pipeline_spelling *spelling)
{
    if (!remarks->muted)
        run_log_spelling(spelling);
}

void run_remarks_timeless(struct run_remarks *remarks, const struct iso_inputs_entry *input)
{
    if (!remarks->muted)
        cli_log_warning("topic %s partition %" PRId32
                        ": its messages have no time, so that --grace makes no verdict final",
                        input->topic, input->partition);
}

void run_remarks_far_ahead(struct run_remarks *remarks, const struct iso_inputs_entry *input,
                           uint64_t offset, uint64_t timestamp, uint64_t watermark)
{
    if (!remarks->muted)
        cli_log_warning("topic %s partition %" PRId32 " offset %" PRIu64 ": timestamp %" PRIu64
                        " is a year or more above the watermark, %" PRIu64,
                        input->topic, input->partition, offset, timestamp, watermark);
}

void run_remarks_closed_early(struct run_remarks *remarks, uint64_t memory, uint64_t timestamp)
{
    if (!remarks->muted)
        cli_log_warning(
            "memory: what arrived does not fit into %" PRIu64
            " bytes, and no watermark releases it: everything below %" PRIu64
            ", and more later, is final from now on, and doubtful; what still arrives from there is not "
            "judged. A larger --memory, or watermarks, avoid that",
            memory, timestamp);
}

void run_remarks_given_up(struct run_remarks *remarks, uint64_t memory, uint64_t transactions)
{
    if (!remarks->muted)
        cli_log_warning(
            "memory: what arrived does not fit into %" PRIu64 " bytes: %" PRIu64
            " transactions of unknown outcome that do not say when they started are given up, and more "
            "later; reads of their keys that nothing else explains are not judged. A larger --memory, or "
            "their outcomes, avoid that",
            memory, transactions);
}

void run_remarks_scans(const struct iso_scans *scans)
{
    uint32_t count;
    struct iso_scan *list = iso_scans_list(scans, &count);
    for (uint32_t i = 0; i < count; i++)
        cli_log("no index serves %.*s: %" PRIu64 " quer%s, %" PRIu64 " rows looked at",
                (int)list[i].shape.length, list[i].shape.at, list[i].queries,
                list[i].queries == 1 ? "y" : "ies", list[i].rows);
    iso_free(list);
}
