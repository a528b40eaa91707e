/* What a run may say when it is cut off: never that all holds while something that came was not
 * judged. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/carriage.h"

void carriage_count_line(struct carriage *carriage, const char *line, uint32_t length)
{
    struct came *came = &carriage->came;
    char text[4096];
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    if (strstr(text, "\"watermark\""))
        return;
    came->records++;
    came->tids_end += (size_t)snprintf(came->tids + came->tids_end,
                                       sizeof came->tids - came->tids_end, "%s", "\n");
    const char *tid = strstr(text, "\"tid\":") + strlen("\"tid\":");
    size_t digits = strcspn(tid, ",") - 2u * (*tid == '"');
    came->tids_end +=
        (size_t)snprintf(came->tids + came->tids_end, sizeof came->tids - came->tids_end, "%.*s",
                         (int)digits, tid + (*tid == '"'));
    bool committed = !strstr(text, "\"status\":");
    for (const char *at = text; (at = strstr(at, "\"t\":\"r\"")); at++) {
        came->reads++;
        came->committed_reads += committed;
    }
}

bool carriage_was_judged(const struct carriage *carriage, const char *tid)
{
    char wanted[80];
    const char *at = carriage->came.tids, *end = at + carriage->came.tids_held;
    size_t length = (size_t)snprintf(wanted, sizeof wanted, "\n%s", tid);
    for (; (at = strstr(at, wanted)) && at < end; at++)
        if (at[length] == '\n' || !at[length])
            return true;
    return false;
}

void carriage_check_books(struct carriage *carriage, const struct iso_pipeline *pipeline)
{
    struct came *came = &carriage->came;
    struct iso_accounting books;
    struct iso_text text = {0};
    const char *reason;
    iso_pipeline_accounting(pipeline, &books);
    if (!books.balanced) {
        iso_accounting_imbalance_text(&books, &text);
        snprintf(carriage->failure, sizeof carriage->failure, "books: %.*s", (int)text.used,
                 text.bytes);
    }
    iso_text_release(&text);
    bool alone = carriage->format->mode != BY_TIMESTAMPS && carriage->format->mode != BY_SNAPSHOTS;
    if (alone || carriage->came.from_file ||
        iso_pipeline_outcome(pipeline, false, &reason) != ISO_OK)
        return;
    carriage->statistics->held++;
    came->tids_held = came->tids_end;
    if (books.came[ISO_UNIT_RECORDS] != came->records ||
        books.came[ISO_UNIT_READS] != came->reads ||
        books.of[ISO_UNIT_READS][ISO_BOOK_JUDGED] <
            came->committed_reads) /* more: of those that turned out committed */
        snprintf(carriage->failure, sizeof carriage->failure,
                 "holds, and of %" PRIu64 " reads in %" PRIu64 " records %" PRIu64 " are judged",
                 came->committed_reads, came->records, books.of[ISO_UNIT_READS][ISO_BOOK_JUDGED]);
}
