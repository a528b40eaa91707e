#include "pipeline/accounting.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const char *const unit_names[ISO_UNITS] = {"message", "row", "record", "transaction",
                                                  "read"};

static const char *const class_names[ISO_ACCOUNTED_CLASSES] = {
    [ISO_ACCOUNTED_JUDGED] = "judged",     [ISO_ACCOUNTED_REPEATED] = "repeated",
    [ISO_ACCOUNTED_FOREIGN] = "foreign",   [ISO_ACCOUNTED_ABORTED] = "aborted",
    [ISO_ACCOUNTED_UNKNOWN] = "unknown",   [ISO_ACCOUNTED_UNCOVERED] = "uncovered",
    [ISO_ACCOUNTED_INITIAL] = "initial",   [ISO_ACCOUNTED_BEFORE] = "before-start",
    [ISO_ACCOUNTED_PROTOCOL] = "protocol", [ISO_ACCOUNTED_IGNORED] = "ignored",
    [ISO_ACCOUNTED_WAITING] = "waiting",   [ISO_ACCOUNTED_LATE] = "late",
    [ISO_ACCOUNTED_BAD] = "bad",           [ISO_ACCOUNTED_UNROUTED] = "unrouted",
    [ISO_ACCOUNTED_UNPLACED] = "unplaced", [ISO_ACCOUNTED_UNJUDGED] = "unjudged",
    [ISO_ACCOUNTED_DOUBTFUL] = "doubtful", [ISO_ACCOUNTED_FORGOTTEN] = "forgotten",
};

const char *iso_unit_name(enum iso_unit unit)
{
    return unit_names[unit];
}

const char *iso_accounted_class_name(enum iso_accounted_class accounted_class)
{
    return class_names[accounted_class];
}

uint64_t iso_accounting_sum(const struct iso_accounting *accounting, enum iso_unit unit)
{
    assert(unit < ISO_UNITS);
    uint64_t all = 0;
    for (int i = 0; i < ISO_ACCOUNTED_CLASSES; i++)
        all += accounting->of[unit][i];
    return all;
}

/* ---- words ---- */

static void put_waiting(struct iso_text *text, uint64_t count, const char *one, const char *many,
                        const char *what)
{
    if (!count)
        return;
    if (text->used)
        iso_text_put(text, ", ");
    iso_text_put_unsigned(text, count);
    iso_text_put(text, count == 1 ? one : many);
    iso_text_put(text, what);
}

void iso_accounting_waiting_text(const struct iso_accounting *accounting, struct iso_text *text)
{
    const struct iso_accounting_waiting *waiting = &accounting->waiting;
    put_waiting(text, waiting->records, " client record", " client records",
                " for rows of the change stream or for a watermark");
    put_waiting(text, waiting->rows, " row", " rows",
                " for the rest of the transaction or for its client's record");
    put_waiting(text, waiting->overtaken, " transaction", " transactions",
                " held back until earlier ones arrive");
    put_waiting(text, waiting->for_order, " transaction", " transactions",
                " for an order of all, sought at the end");
    put_waiting(text, waiting->reads, " read", " reads", " for a watermark");
    put_waiting(text, waiting->for_outcome, " read", " reads", " for the outcome of a transaction");
    put_waiting(text, waiting->for_snapshot, " read", " reads",
                " for the end of the connector's first snapshot");
    put_waiting(text, waiting->for_schema, " read", " reads",
                " for word that the table was not truncated");
    put_waiting(text, waiting->queries, " query", " queries",
                " for a watermark or for the outcome of a transaction");
    put_waiting(text, waiting->tables, " table", " tables", " for the rest of the first snapshot");
    put_waiting(text, waiting->beyond, " read that differs", " reads that differ",
                " for changes that may still have been on their way");
    put_waiting(text, waiting->lines, " verdict line", " verdict lines",
                " for the topic of --out to take");
}

void iso_accounting_imbalance_text(const struct iso_accounting *accounting, struct iso_text *text)
{
    for (int unit = 0; unit < ISO_UNITS; unit++) {
        char line[160];
        if (iso_accounting_sum(accounting, (enum iso_unit)unit) == accounting->came[unit])
            continue;
        snprintf(line, sizeof line, "%s%ss: %" PRIu64 " arrived, %" PRIu64 " are accounted for",
                 text->used ? "; " : "", unit_names[unit], accounting->came[unit],
                 iso_accounting_sum(accounting, (enum iso_unit)unit));
        iso_text_put(text, line);
    }
    if (!text->used && !accounting->balanced)
        iso_text_put(text, "what one part gave is not what the next one got");
}

void iso_accounting_json(const struct iso_accounting *accounting, struct iso_text *text)
{
    iso_text_put(text, ",\"books\":{");
    for (int unit = 0; unit < ISO_UNITS; unit++) {
        iso_text_put(text, unit ? ",\"" : "\"");
        iso_text_put(text, unit_names[unit]);
        iso_text_put(text, "\":{\"came\":");
        iso_text_put_unsigned(text, accounting->came[unit]);
        for (int i = 0; i < ISO_ACCOUNTED_CLASSES; i++) {
            if (!accounting->of[unit][i])
                continue;
            iso_text_put(text, ",\"");
            iso_text_put(text, class_names[i]);
            iso_text_put(text, "\":");
            iso_text_put_unsigned(text, accounting->of[unit][i]);
        }
        iso_text_put(text, "}");
    }
    iso_text_put(text, "}");
}
