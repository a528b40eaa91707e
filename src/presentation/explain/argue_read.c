/* EXT: a read of another version than the newest visible one. */
#include "explain/argument_private.h"

#include <string.h>

#include "base/sorted.h"

/* The read that the argument is about, looked up once. */
struct read {
    const struct iso_history *history;
    const struct iso_claim *claim;
    uint32_t reader, operation, key;
    struct iso_moment moment;
    const char *visible; /* "at or before", "before" */
    uint64_t last;       /* the last moment that it may have had */
};

static struct read read_of(const struct iso_argument *argument)
{
    const struct iso_facts *facts = argument->facts;
    const struct iso_claim *claim = argument->claim;
    struct read read = {.history = facts->history, .claim = claim, .key = claim->key};
    read.reader = iso_claim_party(facts->claims, claim, 0)->transaction;
    read.operation = claim->operation;
    read.moment = iso_moment_of(read.history, read.reader, read.operation, claim->is_serial);
    read.last = read.moment.at;
    if (claim->has_moments) {
        read.moment = (struct iso_moment){.at = claim->first_moment, .inclusive = true};
        read.last = claim->last_moment;
    }
    read.visible = read.moment.inclusive ? "at or before" : "before";
    return read;
}

/* Between which moments it could choose. */
static void put_choice(struct iso_argument *argument, const struct read *read)
{
    uint64_t first = read->moment.at;
    if (read->claim->is_past)
        argue_step(
            argument,
            "All that it read at its snapshot has to be from one moment: what it read before leaves %M, "
            "and no later one.",
            first);
    else if (first == read->last)
        argue_step(argument, "The only moment left to it is %M.", first);
    else if (read->last == UINT64_MAX)
        argue_step(
            argument,
            "The moments left to it, after its start and what it read before, are those from %M on.",
            first);
    else
        argue_step(
            argument,
            "The moments left to it, between its start and its commit and not before those of what it "
            "read before, are those from %M to %M.",
            first, read->last);
}

static void put_moment(struct iso_argument *argument, const struct read *read)
{
    const char *where = read->claim->is_serial ? "; in commit order it is at"
                        : read->moment.own     ? ", from that operation's own snapshot at"
                        : read->moment.lock    ? " under a lock, so just below its commit at"
                                               : ", from its snapshot at";
    bool is_row, of_set = iso_history_in_range(read->history, read->operation, &is_row);
    if (read->claim->knowledge) {
        argue_step(
            argument,
            "%T read %s%K in its %O. At level %s commits have the order of their timestamps, and "
            "a read may be of no older version than those whose writers it has to know of.",
            read->reader, of_set ? "a range that covers " : "", read->key, read->reader,
            read->operation, read->claim->knowledge);
        return;
    }
    if (read->claim->has_moments) {
        argue_step(argument, "%T read %s%K in its %O.", read->reader,
                   of_set ? "a range that covers " : "", read->key, read->reader, read->operation);
        put_choice(argument, read);
        return;
    }
    argue_step(argument, "%T read %s%K in its %O%s %M.", read->reader,
               of_set ? "a range that covers " : "", read->key, read->reader, read->operation,
               where, read->moment.at);
}

static bool has_version(const struct read *read, const struct iso_party *writer)
{
    return writer->transaction != ISO_NONE &&
           (read->history->txns.flags[writer->transaction] & ISO_HAS_CTS) &&
           iso_status_of(read->history, writer->transaction) == ISO_COMMITTED;
}

/* How many versions of the key that the moment sees stand behind the writer's (behind none:
 * ISO_NONE). */
static uint32_t versions_after(const struct iso_argument *argument, const struct read *read,
                               uint32_t writer)
{
    uint32_t count, after = 0;
    const struct iso_key_version *versions = iso_facts_versions(argument->facts, read->key, &count);
    uint32_t number =
        writer == ISO_NONE ? ISO_NONE : iso_facts_version_of(argument->facts, read->key, writer);
    for (uint32_t i = number == ISO_NONE ? 0 : number + 1; i < count; i++)
        after += versions[i].transaction != read->reader &&
                 iso_moment_sees(&read->moment, read->history->txns.cts[versions[i].transaction]);
    return after;
}

/* Why the reader has to know of a writer: the shortest reason that can be seen. */
static void put_knowledge(struct iso_argument *argument, const struct read *read, uint32_t writer,
                          uint32_t write)
{
    const struct iso_history *history = read->history;
    bool is_read = false;
    for (uint32_t o = history->txns.first_op[read->reader];
         o < history->txns.first_op[read->reader + 1]; o++) {
        for (uint32_t w = history->txns.first_op[writer]; w < history->txns.first_op[writer + 1];
             w++)
            is_read |= history->ops.key[o] == history->ops.key[w] &&
                       !iso_kind_writes(history->ops.kind[o]) &&
                       iso_kind_of(history, w) == ISO_WRITE &&
                       history->ops.value[o] == history->ops.value[w];
    }
    argue_step(argument, "%T %W and committed at %M. %T has to know of it: %s.", writer, write,
               history->txns.cts[writer], read->reader,
               history->txns.session[writer] == history->txns.session[read->reader]
                   ? "it is of the same session, and came before"
               : is_read ? "it read what that wrote"
                         : "its session, or what it had read, knew of it");
}

static void put_expected(struct iso_argument *argument, const struct read *read)
{
    const struct iso_party *writer = &read->claim->writer_expected;
    if (!read->claim->wrong->kind && !has_version(read, writer)) {
        argue_step(argument, "By all that had arrived until then, %T had to read %C.", read->reader,
                   &read->claim->expected);
        return;
    }
    if (read->claim->knowledge && !has_version(read, writer))
        return;
    if (!has_version(read, writer)) {
        argue_step(
            argument,
            "No version of %k was committed %s %M: %T had to read %C, the initial value of %k.",
            read->key, read->visible, read->moment.at, read->reader, &read->claim->expected,
            read->key);
        return;
    }
    uint32_t write = iso_history_last_write(read->history, writer->transaction, read->key);
    uint64_t cts = read->history->txns.cts[writer->transaction];
    if (write == ISO_NONE)
        return;
    if (read->claim->knowledge) {
        put_knowledge(argument, read, writer->transaction, write);
        return;
    }
    argue_step(argument, "%T %W and committed at %M, %s %M: %T sees it.", writer->transaction,
               write, cts, read->visible, read->moment.at, read->reader);
    if (versions_after(argument, read, writer->transaction))
        return;
    const struct iso_claim_value *expected = &read->claim->expected;
    const struct iso_claims *claims = argument->facts->claims;
    bool is_absent = !expected->is_list &&
                     (!expected->count || *iso_claim_elements(claims, expected) == ISO_ABSENT);
    if (!is_absent)
        argue_step(argument,
                   "No other version of %k was committed after that and %s %M: %T had to read %C.",
                   read->key, read->visible, read->moment.at, read->reader, expected);
    else /* NULL, or a row that is gone */
        argue_step(argument,
                   "No other version of %k was committed after that and %s %M: %T had to read %V.",
                   read->key, read->visible, read->moment.at, read->reader, write);
}

/* Why the value that was read is wrong, by kind of violation; the writer is known, and committed a
 * version. */
static const char *words_of_version(const struct read *read, bool is_stale)
{
    if (read->claim->knowledge)
        return is_stale
                   ? "However, it read %F, the version that %G had committed at %H, which is "
                     "older: a contradiction."
                   : "It read %F, which %G committed only at %H, after %B, or after its session's "
                     "next commit: a contradiction.";
    return is_stale ? "However, it read %F, the version that %G had committed at %H, which was "
                      "replaced by then: a contradiction."
                    : "However, it read %F, which %G committed only at %H, not %s %M: a "
                      "contradiction.";
}

static const char *words_of_actual(const struct read *read)
{
    static const struct {
        const char *kind, *text, *of_writer;
    } rows[] = {
        {"stale", "However, it read %F, the initial value of %N: a contradiction.", NULL},
        {"absent", "However, it read %F, as if there were no version: a contradiction.", NULL},
        {"missing-row",
         "However, %N is not among the rows that it found in that range: a contradiction.", NULL},
        {"extra-row", "However, it found %N there, with %F: a contradiction.", NULL},
        {"intermediate", NULL,
         "However, it read %F, a state of %N in the midst of %G, which went on to change it: a "
         "contradiction."},
        {"uncommitted",
         "However, it read %F, which no transaction of the history wrote (an unrecorded writer, "
         "or a missing --initial-file?): a contradiction.",
         "However, it read %F, which %G wrote, and %G %s: a contradiction."},
    };
    const struct iso_party *writer = &read->claim->writer_actual;
    const char *kind = read->claim->wrong->kind ? read->claim->wrong->kind : "", *words = NULL;
    bool is_stale = !strcmp(kind, "stale");
    if ((is_stale || !strcmp(kind, "future")) && has_version(read, writer))
        return words_of_version(read, is_stale);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !words; i++)
        if (!strcmp(rows[i].kind, kind))
            words = writer->transaction != ISO_NONE && rows[i].of_writer ? rows[i].of_writer
                                                                         : rows[i].text;
    return words ? words : "However, it read %F: a contradiction.";
}

/* The last step. */
static void put_actual(struct iso_argument *argument, const struct read *read)
{
    uint32_t by = read->claim->writer_actual.transaction;
    bool is_aborted = by != ISO_NONE && iso_status_of(read->history, by) == ISO_ABORTED,
         is_uncommitted =
             read->claim->wrong->kind && !strcmp(read->claim->wrong->kind, "uncommitted");
    if (read->claim->has_moments && !read->claim->is_past && read->last != read->moment.at)
        argue_step(
            argument,
            "Nor is what it read, %F, the newest version at any later one of these moments.");
    if (read->claim->is_past)
        argue_step(argument, "No earlier moment has all that it read before, and %F.");
    /* of these two arguments a sentence has the first, both or none */
    argue_step(argument, words_of_actual(read),
               !is_uncommitted ? read->visible
               : is_aborted    ? "aborted"
                               : "did not commit",
               read->last);
}

/* ---- the time line ---- */

enum { TIE_MORE = 1, TIE_READ_AFTER = 2, TIE_READ_BEFORE = -1, MOST_AROUND = 5 };

static void add_version(struct iso_argument *argument, const struct read *read, uint32_t writer,
                        enum iso_mark mark)
{
    uint32_t write = iso_history_last_write(read->history, writer, read->key);
    if (write != ISO_NONE)
        argue_row(argument,
                  argue_at(read->history->txns.cts[writer], 0, mark, writer,
                           argue_written(argument, write)),
                  "%T %W", writer, write);
}

/* The initial value, where it is what was expected or found. */
static void add_initial(struct iso_argument *argument, const struct read *read,
                        const struct iso_claim_value *value, enum iso_mark mark)
{
    argue_row(argument,
              (struct iso_argument_row){.tie = ISO_ROW_INITIAL,
                                        .mark = mark,
                                        .transaction = ISO_NONE,
                                        .point = argue_text(argument, "%C", value),
                                        .only_drawn = true},
              "%k starts with %C", read->key, value);
}

/* The versions between those that matter, with one before and one after them: a picture has room
 * for some, the newest. */
static void add_versions_around(struct iso_argument *argument, const struct read *read,
                                uint32_t expected, uint32_t actual)
{
    const struct iso_facts *facts = argument->facts;
    uint32_t count, seen = 0;
    const struct iso_key_version *versions = iso_facts_versions(facts, read->key, &count);
    uint32_t unseen = count;
    ISO_BISECT(
        seen, unseen, middle,
        iso_moment_sees(&read->moment, read->history->txns.cts[versions[middle].transaction]));
    uint32_t low = seen ? seen - 1 : 0, end = seen, drawn = 0;
    const uint32_t writers[] = {expected, actual};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        uint32_t at =
            writers[i] == ISO_NONE ? ISO_NONE : iso_facts_version_of(facts, read->key, writers[i]);
        low = at < low ? at : low;
        end = at != ISO_NONE && at >= end ? at + 1 : end;
    }
    for (uint32_t i = end < count ? end + 1 : count; i-- > (low ? low - 1 : 0);) {
        uint32_t writer = versions[i].transaction;
        if (writer == expected || writer == actual)
            continue;
        if (drawn == MOST_AROUND && i >= low) {
            argument->versions_left++;
            continue;
        }
        drawn += i >= low;
        argue_row(
            argument,
            (struct iso_argument_row){.when = read->history->txns.cts[writer],
                                      .transaction = writer,
                                      .point = argue_written(argument, versions[i].last_write),
                                      .only_drawn = true},
            "%A %W", read->history->txns.tid[writer], versions[i].last_write);
    }
}

static void add_rows(struct iso_argument *argument, const struct read *read)
{
    const struct iso_claim *claim = read->claim;
    uint32_t expected =
        has_version(read, &claim->writer_expected) ? claim->writer_expected.transaction : ISO_NONE;
    uint32_t actual =
        has_version(read, &claim->writer_actual) ? claim->writer_actual.transaction : ISO_NONE;
    const char *kind = claim->wrong->kind ? claim->wrong->kind : "";
    argument->line_title = argue_text(argument, "%K over time", read->key);
    if (expected != ISO_NONE)
        add_version(argument, read, expected, ISO_MARK_EXPECTED);
    else if (*kind && claim->expected.given)
        add_initial(argument, read, &claim->expected, ISO_MARK_EXPECTED);
    if (actual != ISO_NONE && actual != expected)
        add_version(argument, read, actual, ISO_MARK_ACTUAL);
    else if (!strcmp(kind, "stale"))
        add_initial(argument, read, &claim->actual, ISO_MARK_ACTUAL);
    if (actual == ISO_NONE || !strcmp(kind, "intermediate")) {
        argument->inside = claim->writer_actual.transaction;
        argument->inside_text =
            argument->inside == ISO_NONE ? 0 : argue_text(argument, "%C", &claim->actual);
    }
    bool is_older = actual != ISO_NONE && expected != ISO_NONE && actual != expected &&
                    iso_facts_version_of(argument->facts, read->key, actual) <
                        iso_facts_version_of(argument->facts, read->key, expected);
    uint32_t behind_actual = is_older ? versions_after(argument, read, actual) : 0;
    uint32_t behind_expected = is_older ? versions_after(argument, read, expected) : 0;
    if (behind_actual > behind_expected + 1)
        argue_row(argument,
                  argue_at(read->history->txns.cts[actual], TIE_MORE, ISO_MARK_MORE, ISO_NONE, 0),
                  "%u more versions", (uint64_t)(behind_actual - behind_expected - 1));
    argue_row(
        argument,
        argue_at(read->moment.at, read->moment.inclusive ? TIE_READ_AFTER : TIE_READ_BEFORE,
                 ISO_MARK_READ, read->reader,
                 argue_text(argument, claim->expected.given ? "found %C, expected %C" : "found %C",
                            &claim->actual, &claim->expected)),
        claim->is_serial ? "%T commits; it found %C" : "%T reads %C", read->reader, &claim->actual);
    add_versions_around(argument, read, expected, actual);
}

static void add_edges(struct iso_argument *argument, const struct read *read)
{
    const struct iso_claim *claim = read->claim;
    uint32_t expected = claim->writer_expected.transaction,
             actual = claim->writer_actual.transaction;
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
    bool has_writer = read.claim->writer_actual.tid != ISO_ABSENT;
    const char *name = iso_wrong_name(read.claim->wrong, has_writer);
    argue_title(argument,
                name == read.claim->wrong->name ? "%s of %K by transaction %A"
                                                : "%s: %K by transaction %A",
                name, read.key, read.history->txns.tid[read.reader]);
    put_moment(argument, &read);
    put_expected(argument, &read);
    put_actual(argument, &read);
    add_rows(argument, &read);
    add_edges(argument, &read);
}
