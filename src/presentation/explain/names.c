#include "explain/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct iso_wrong rows[] = {
    {"TIMESTAMP", "interval", "timestamps out of order",
     "What the database says of when this transaction ran cannot be true, so nothing that rests on its timestamps "
     "(snapshots, backups, change streams) can be trusted.",
     ISO_ARGUE_TIMES},
    {"TIMESTAMP", "snapshot-order", "snapshots without an order",
     "Two readers can each see a transaction that the other does not see, so there is no single history that all clients "
     "agree on.",
     ISO_ARGUE_TIMES},
    {"TIMESTAMP", "shared-cts", "two writers of a key with one commit timestamp",
     "Nothing says which of the two values is the newer one: replicas and readers may choose differently.",
     ISO_ARGUE_TIMES},
    {"TIMESTAMP", "cts-cycle", "equal commit timestamps that no order explains",
     "These transactions did not see each other although each had to come before another one: they are not serializable.",
     ISO_ARGUE_TIMES},
    {"SESSION", NULL, "session guarantee broken",
     "A client may not see what it wrote itself a moment ago, for example an order that it has just placed.",
     ISO_ARGUE_TIMES},
    {"INT", NULL, "non-repeatable read",
     "A transaction that reads twice sees two different answers, so what it checked before it acts may no longer be "
     "true when it acts.",
     ISO_ARGUE_OWN},
    {"EXT", "uncommitted", "aborted read",
     "The application acted on data that never existed, for example shipped what was never paid.",
     ISO_ARGUE_READ},
    {"EXT", "intermediate", "intermediate read",
     "The application saw another transaction half done, for example money that had left one account and reached no other.",
     ISO_ARGUE_READ},
    {"EXT", "future", "future read",
     "The transaction mixes states of different moments: what it read may contradict the rest of what it saw.",
     ISO_ARGUE_READ},
    {"EXT", "absent", "missing read",
     "What was committed was not found: the application may take it as deleted, or create it a second time.",
     ISO_ARGUE_READ},
    {"EXT", "stale", "stale read",
     "The application decides on data that had already been replaced; what it writes next may undo the newer value.",
     ISO_ARGUE_READ},
    {"EXT", "missing-row", "phantom read",
     "What was decided for all rows of a range was decided without one of them, for example a total, or a free seat.",
     ISO_ARGUE_READ},
    {"EXT", "extra-row", "read of an extra row",
     "What was decided for all rows of a range counted one that was not there, for example in a total.",
     ISO_ARGUE_READ},
    {"EXT", "aggregate", "wrong aggregate",
     "What was decided on a count or a sum was decided on another than that of the rows that were there.",
     ISO_ARGUE_READ},
    {"EXT", NULL, "read of another version than expected",
     "What was read does not fit what has arrived so far; what is still on its way may explain it.",
     ISO_ARGUE_READ},
    {"NOCONFLICT", NULL, "overlapping writes",
     "Nothing keeps two concurrent updates of one key apart: one may undo the other, for example one of two deposits.",
     ISO_ARGUE_TIMES},
    {"CDC", "missing", "row missing from the change stream",
     "Whatever is fed from the change stream (caches, search indexes, replicas) lacks a committed write.",
     ISO_ARGUE_CHANGES},
    {"CDC", "unwritten", "row that nobody wrote",
     "Whatever is fed from the change stream contains a write that its transaction never made.",
     ISO_ARGUE_CHANGES},
    {"CDC", "value", "row with another value",
     "Whatever is fed from the change stream contains another value than the one that was committed.",
     ISO_ARGUE_CHANGES},
    {"CDC", "aborted", "row of an aborted transaction",
     "Whatever is fed from the change stream contains what was rolled back.", ISO_ARGUE_CHANGES},
    {"CDC", "before-image", "before image of another version",
     "A change was lost, repeated or reordered on its way: whoever applies the stream ends up with another state.",
     ISO_ARGUE_CHANGES},
    {"CDC", "other-content", "one row twice, with different content",
     "The stream contradicts itself: what a consumer ends up with depends on which of the two it keeps.",
     ISO_ARGUE_CHANGES},
    {"CDC", "gap", "rows of a snapshot that changes do not lead to",
     "Part of the change stream is lost: whatever was fed from it misses what happened in between.",
     ISO_ARGUE_CHANGES},
    {"G1a", NULL, "aborted read",
     "The application acted on data that never existed, for example shipped what was never paid.",
     ISO_ARGUE_OWN},
    {"G1b", NULL, "intermediate read",
     "The application saw another transaction half done, for example money that had left one account and reached no other.",
     ISO_ARGUE_OWN},
    {"THINAIR", NULL, "read of a value that nobody wrote",
     "The data is corrupt, or a writer is missing from the history.", ISO_ARGUE_OWN},
    {"INCOMPATIBLE", NULL, "incompatible list reads",
     "Two readers saw the same appends in different orders, or some of them lost: no single state explains both.",
     ISO_ARGUE_OWN},
    {"LOSTUPDATE", NULL, "lost update",
     "Of two updates of one version the first is overwritten unseen, for example one of two deposits.",
     ISO_ARGUE_OWN},
    {"CYCLE", "G0", "dirty write",
     "Two transactions' writes are interleaved: the keys that they wrote may not fit together.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "G1c", "circular information flow",
     "Transactions saw each other's effects, so none of them can have come first: what each saw was not yet final.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "G-single", "read skew",
     "A transaction saw one effect of another one and missed an earlier effect: sums and references that it read may not "
     "add up.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "G-SIb", "reads that fit no snapshots",
     "Each transaction missed what another one wrote in a way that snapshots rule out: invariants that snapshot isolation "
     "keeps may break.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "G2-item", "anti-dependency cycle",
     "Each transaction decided on data that another one was changing: rules that every transaction keeps by itself may "
     "break together.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "lost-update", "lost update",
     "Of two updates of one version the first is overwritten unseen, for example one of two deposits.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "write-skew", "write skew",
     "Two transactions each checked what the other one was changing: a rule over both keys may break, for example that one "
     "doctor stays on call.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "long-fork", "long fork",
     "Two readers saw two writes in opposite orders: clients that talk to each other cannot agree on what happened first.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "non-monotonic-read", "non-monotonic read",
     "A transaction saw a transaction's effect and, in a later read, data older than that: a decision may rest on both.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "fractured-read", "fractured read",
     "A transaction saw one write of another one and missed a second one: sums and references that it read may not add up.",
     ISO_ARGUE_ORDER},
    {"CYCLE", "causality-violation", "causality violation",
     "A read missed what its session, or whoever wrote what it saw, had written or seen before: a reply may be there before "
     "what it answers.",
     ISO_ARGUE_ORDER},
    {"CYCLE", NULL, "no order explains the reads",
     "No order of the transactions explains what was read, so at least one client saw an impossible state.",
     ISO_ARGUE_ORDER},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static bool same(const char *left, const char *right)
{
    return left && right ? !strcmp(left, right) : left == right;
}

const struct iso_wrong *iso_wrong_find(const char *axiom, const char *kind)
{
    for (size_t i = 0; i < ROWS; i++)
        if (same(rows[i].axiom, axiom) && same(rows[i].kind, kind))
            return &rows[i];
    return NULL;
}

const char *iso_wrong_name(const struct iso_wrong *wrong, bool has_writer)
{
    bool is_nobodys = !has_writer && same(wrong->kind, "uncommitted");
    return is_nobodys ? "read of a value nobody wrote" : wrong->name;
}

const struct iso_wrong *iso_wrong_row(size_t index)
{
    return index < ROWS ? &rows[index] : NULL;
}

void iso_wrong_id(const struct iso_wrong *wrong, char id[ISO_WRONG_ID])
{
    snprintf(id, ISO_WRONG_ID, "%s%s%s", wrong->axiom, wrong->kind ? "/" : "",
             wrong->kind ? wrong->kind : "");
}

const char *iso_doubt(const char *word)
{
    if (!strcmp(word, "skipped-records"))
        return "records were left out before, and one of them may explain the read.";
    if (!strcmp(word, "contradiction"))
        return "two records contradict each other in what it rests on, and nobody knows which of them is right.";
    if (!strcmp(word, "below-watermark"))
        return "a transaction arrived that a watermark had excluded, and another one may explain the read.";
    if (!strcmp(word, "before-start"))
        return "the stream was not read from its beginning, and what was written before may explain the read.";
    if (!strcmp(word, "records-lost"))
        return "records that somebody counted did not come, and one of them may explain the read.";
    if (!strcmp(word, "memory"))
        return "memory was short, so that it was made final before a watermark promised that nothing else will arrive.";
    return "the run that reported it says so.";
}
