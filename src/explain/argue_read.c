/* EXT: a read of another version than the newest visible one. */
#include "explain/argument_private.h"

#include <string.h>

/* What the argument is about, looked up once. */
struct read {
    const struct iso_history *history;
    const struct iso_claim *claim;
    uint32_t reader, operation, key;
    struct iso_moment moment;
    const char *visible; /* "at or before", "before" */
};

static struct read read_of(const struct iso_argument *argument)
{
    const struct iso_facts *facts = argument->facts;
    const struct iso_claim *claim = argument->claim;
    struct read read = {.history = facts->history, .claim = claim, .key = claim->key};
    read.reader = iso_claim_party(facts->claims, claim, 0)->transaction;
    read.operation = claim->operation;
    read.moment = iso_moment_of(read.history, read.reader, read.operation, claim->is_serial);
    read.visible = read.moment.inclusive ? "at or before" : "before";
    return read;
}

static void put_moment(struct iso_argument *argument, const struct read *read)
{
    const char *where = read->claim->is_serial ? "; in commit order it is at"
                        : read->moment.own     ? ", from that operation's own snapshot at"
                        : read->moment.lock    ? " under a lock, so just below its commit at"
                                               : ", from its snapshot at";
    bool is_row, of_set = iso_history_in_range(read->history, read->operation, &is_row);
    argue_step(argument, "%T read %s%K in its %O%s %M.", read->reader, of_set ? "a range that covers " : "", read->key,
               read->reader, read->operation, where, read->moment.at);
}

static bool has_version(const struct read *read, const struct iso_party *writer)
{
    return writer->transaction != ISO_NONE && (read->history->flags[writer->transaction] & ISO_HAS_CTS) &&
           iso_status_of(read->history, writer->transaction) == ISO_COMMITTED;
}

/* How many versions of the key that the moment sees stand behind the writer's (behind none: ISO_NONE). */
static uint32_t versions_after(const struct iso_argument *argument, const struct read *read, uint32_t writer)
{
    uint32_t count, after = 0;
    const struct iso_key_version *versions = iso_facts_versions(argument->facts, read->key, &count);
    uint32_t number = writer == ISO_NONE ? ISO_NONE : iso_facts_version_of(argument->facts, read->key, writer);
    for (uint32_t i = number == ISO_NONE ? 0 : number + 1; i < count; i++)
        after += versions[i].transaction != read->reader &&
                 iso_moment_sees(&read->moment, read->history->cts[versions[i].transaction]);
    return after;
}

static void put_expected(struct iso_argument *argument, const struct read *read)
{
    const struct iso_party *writer = &read->claim->writer_expected;
    if (!read->claim->wrong->kind && !has_version(read, writer)) {
        argue_step(argument, "By all that had arrived until then, %T had to read %C.", read->reader,
                   &read->claim->expected);
        return;
    }
    if (!has_version(read, writer)) {
        argue_step(argument, "No version of %k was committed %s %M: %T had to read %C, the initial value of %k.",
                   read->key, read->visible, read->moment.at, read->reader, &read->claim->expected, read->key);
        return;
    }
    uint32_t write = argue_last_write(read->history, writer->transaction, read->key);
    uint64_t cts = read->history->cts[writer->transaction];
    if (write == ISO_NONE)
        return;
    argue_step(argument, "%T %W and committed at %M, %s %M: %T sees it.", writer->transaction, write, cts,
               read->visible, read->moment.at, read->reader);
    if (!versions_after(argument, read, writer->transaction))
        argue_step(argument, "No other version of %k was committed after that and %s %M: %T had to read %C.", read->key,
                   read->visible, read->moment.at, read->reader, &read->claim->expected);
}

/* What is wrong with what was read, by kind. */
static void put_actual(struct iso_argument *argument, const struct read *read)
{
    const struct iso_claim *claim = read->claim;
    const struct iso_party *writer = &claim->writer_actual;
    const char *kind = claim->wrong->kind ? claim->wrong->kind : "";
    uint32_t by = writer->transaction;
    uint64_t cts = has_version(read, writer) ? read->history->cts[by] : 0;
    if (!strcmp(kind, "stale") && has_version(read, writer))
        argue_step(argument,
                   "However, it read %C, the version that %T had committed at %M, which was replaced by then: "
                   "a contradiction.",
                   &claim->actual, by, cts);
    else if (!strcmp(kind, "stale"))
        argue_step(argument, "However, it read %C, the initial value of %k: a contradiction.", &claim->actual,
                   read->key);
    else if (!strcmp(kind, "future") && has_version(read, writer))
        argue_step(argument, "However, it read %C, which %T committed only at %M, not %s %M: a contradiction.",
                   &claim->actual, by, cts, read->visible, read->moment.at);
    else if (!strcmp(kind, "absent"))
        argue_step(argument, "However, it read %C, as if there were no version: a contradiction.", &claim->actual);
    else if (!strcmp(kind, "missing-row"))
        argue_step(argument, "However, %k is not among the rows that it found in that range: a contradiction.",
                   read->key);
    else if (!strcmp(kind, "extra-row"))
        argue_step(argument, "However, it found %k there, with %C: a contradiction.", read->key, &claim->actual);
    else if (!strcmp(kind, "intermediate") && by != ISO_NONE)
        argue_step(argument,
                   "However, it read %C, a state of %k in the midst of %T, which went on to change it: a "
                   "contradiction.",
                   &claim->actual, read->key, by);
    else if (!strcmp(kind, "uncommitted") && by != ISO_NONE)
        argue_step(argument, "However, it read %C, which %T wrote, and %T %s: a contradiction.", &claim->actual, by, by,
                   iso_status_of(read->history, by) == ISO_ABORTED ? "aborted" : "did not commit");
    else if (!strcmp(kind, "uncommitted"))
        argue_step(argument, "However, it read %C, which no transaction of the history wrote: a contradiction.",
                   &claim->actual);
    else
        argue_step(argument, "However, it read %C: a contradiction.", &claim->actual);
}

/* ---- the time line ---- */

enum { TIE_VERSION = 0, TIE_MORE = 1, TIE_READ_AFTER = 2, TIE_READ_BEFORE = -1 };

static void add_version(struct iso_argument *argument, const struct read *read, uint32_t writer, enum iso_mark mark)
{
    uint32_t write = argue_last_write(read->history, writer, read->key);
    if (write != ISO_NONE)
        argue_row(argument, read->history->cts[writer], TIE_VERSION, mark, "%T %W", writer, write);
}

static void add_rows(struct iso_argument *argument, const struct read *read)
{
    const struct iso_claim *claim = read->claim;
    uint32_t expected = has_version(read, &claim->writer_expected) ? claim->writer_expected.transaction : ISO_NONE;
    uint32_t actual = has_version(read, &claim->writer_actual) ? claim->writer_actual.transaction : ISO_NONE;
    argument->line_title = argue_text(argument, "%K over time", read->key);
    if (expected != ISO_NONE)
        add_version(argument, read, expected, ISO_MARK_EXPECTED);
    if (actual != ISO_NONE && actual != expected)
        add_version(argument, read, actual, ISO_MARK_ACTUAL);
    bool is_older = actual != ISO_NONE && expected != ISO_NONE && actual != expected &&
                    iso_facts_version_of(argument->facts, read->key, actual) <
                        iso_facts_version_of(argument->facts, read->key, expected);
    uint32_t behind_actual = is_older ? versions_after(argument, read, actual) : 0;
    uint32_t behind_expected = is_older ? versions_after(argument, read, expected) : 0;
    if (behind_actual > behind_expected + 1)
        argue_row(argument, read->history->cts[actual], TIE_MORE, ISO_MARK_MORE, "%u more versions",
                  (uint64_t)(behind_actual - behind_expected - 1));
    argue_row(argument, read->moment.at, read->moment.inclusive ? TIE_READ_AFTER : TIE_READ_BEFORE, ISO_MARK_READ,
              claim->is_serial ? "%T commits; it found %C" : "%T reads %C", read->reader, &claim->actual);
}

static void add_edges(struct iso_argument *argument, const struct read *read)
{
    const struct iso_claim *claim = read->claim;
    uint32_t expected = claim->writer_expected.transaction, actual = claim->writer_actual.transaction;
    if (actual != ISO_NONE && actual != read->reader)
        argue_edge(argument, actual, read->reader, "wr", "%k: read", read->key);
    if (expected != ISO_NONE && expected != read->reader && expected != actual)
        argue_edge(argument, expected, read->reader, "missed", "%k: expected", read->key);
}

void argue_read(struct iso_argument *argument)
{
    if (argue_is_query(argument)) {
        argue_query(argument);
        return;
    }
    struct read read = read_of(argument);
    argue_title(argument, "%s of %K by transaction %A", argument->claim->wrong->name, read.key,
                read.history->tid[read.reader]);
    put_moment(argument, &read);
    put_expected(argument, &read);
    put_actual(argument, &read);
    add_rows(argument, &read);
    add_edges(argument, &read);
}
