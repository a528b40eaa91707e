#include "run/input/bad_records.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "cli/command.h"

void run_bad_records_cause(const char *reason, char cause[RUN_BAD_CAUSE_BYTES])
{
    size_t used = 0;
    while (*reason && used + 4 < RUN_BAD_CAUSE_BYTES) {
        const char *end = *reason == '"' ? strchr(reason + 1, '"') : NULL;
        if (isdigit((unsigned char)*reason)) {
            cause[used++] = 'N';
            reason += strspn(reason, "0123456789");
        } else if (end) {
            memcpy(cause + used, "\"..\"", 4);
            used += 4;
            reason = end + 1;
        } else {
            cause[used++] = *reason++;
        }
    }
    cause[used] = 0;
}

/* NULL: there is no place for it any more. */
static struct run_bad_cause *find_cause(struct run_bad_records *bad, const char *text, bool *is_new)
{
    for (uint32_t i = 0; i < bad->cause_count; i++)
        if (!strcmp(bad->causes[i].text, text))
            return &bad->causes[i];
    if (bad->cause_count == RUN_BAD_CAUSES)
        return NULL;
    *is_new = true;
    struct run_bad_cause *added = &bad->causes[bad->cause_count++];
    *added = (struct run_bad_cause){.unlogged = 0};
    memcpy(added->text, text, RUN_BAD_CAUSE_BYTES);
    return added;
}

void run_bad_records_note(struct run_bad_records *bad, const char *place, const char *reason,
                          double now)
{
    char text[RUN_BAD_CAUSE_BYTES] = "";
    bool is_new = false;
    run_bad_records_cause(reason, text);
    struct run_bad_cause *cause = find_cause(bad, text, &is_new);
    if (bad->lines < RUN_BAD_LINES || is_new) {
        cli_log_warning("%s: %s", place, reason);
        if (++bad->lines == RUN_BAD_LINES)
            cli_log_warning(
                "%d records were remarked on: from here on they are summed up by cause, every %d s",
                RUN_BAD_LINES, RUN_BAD_SECONDS);
        bad->summed = now;
        return;
    }
    bad->unlogged++;
    *(cause ? &cause->unlogged : &bad->other_unlogged) += 1;
    run_bad_records_sum_up(bad, now, false);
}

void run_bad_records_sum_up(struct run_bad_records *bad, double now, bool now_or_never)
{
    if (!bad->unlogged || (!now_or_never && now - bad->summed < RUN_BAD_SECONDS))
        return;
    cli_log_warning("%" PRIu64 " more record%s, by cause:", bad->unlogged,
                    cli_plural(bad->unlogged));
    for (uint32_t i = 0; i < bad->cause_count; i++) {
        if (bad->causes[i].unlogged)
            cli_log_warning("  %" PRIu64 " %s", bad->causes[i].unlogged, bad->causes[i].text);
        bad->causes[i].unlogged = 0;
    }
    if (bad->other_unlogged)
        cli_log_warning("  %" PRIu64 " of other causes", bad->other_unlogged);
    bad->unlogged = bad->other_unlogged = 0;
    bad->summed = now;
}
