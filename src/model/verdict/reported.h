/* A violation as verdicts report it in JSON, with one writer and one reader, whoever found it.
 *
 * The object that `check --json` prints, the lines that `watch` prints, and what a search for an
 * order adds to either share these members (include/iso/FORMATS.md). An engine fills in what it
 * knows, and the rest is left out; the reader takes the members in any order and passes over those
 * that it does not know. Timestamps are strings, "41" or "{41,2}", since numbers beyond 2^53 do not
 * survive every JSON reader.
 *
 * Ownership: a reported violation borrows all that it points to; the reader owns what it read,
 * until it reads on. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "verdict/verdict.h"

/* A name in a table of atoms, ISO_ABSENT is null; without a table it is not said at all. */
struct iso_reported_atom {
    const struct iso_atoms *atoms;
    iso_atom atom;
};

struct iso_reported_value {
    const struct iso_atoms *atoms;
    const iso_atom *elements;
    uint32_t count; /* where it is no list: 1, or 0 of null */
    bool is_given, is_list;
};

/* A timestamp as text; empty: null. */
enum { ISO_REPORTED_STAMP = ISO_STAMP_TEXT };
struct iso_reported_times {
    bool is_given;
    char sts[ISO_REPORTED_STAMP], cts[ISO_REPORTED_STAMP];
};

/* When the others that the violation names stood where, and at which moment the read saw. */
struct iso_reported_moments {
    bool inclusive;
    char read_at[ISO_REPORTED_STAMP]; /* empty: not said */
    bool has_until; /* it had a choice of moments, from that one on (stale: up to that one) */
    char until[ISO_REPORTED_STAMP]; /* the last one; empty: without an end */
    struct iso_reported_times expected, actual, other;
};

/* A line of a file, or a message. */
struct iso_reported_location {
    const char *name; /* NULL: null */
    size_t length;
    bool is_message;
    uint64_t partition, position; /* of a message; its offset, or the line */
    uint32_t operation;           /* ISO_NONE: not said */
};

/* The database's name of a transaction's commit; empty members are not printed. `words`, or NULL:
 * what else is known of the transaction, for a person; they are in no JSON. */
struct iso_reported_commit {
    struct iso_reported_atom tid;
    const char *words;
    char xid[ISO_REPORTED_STAMP], lsn[ISO_REPORTED_STAMP], time[ISO_REPORTED_STAMP];
};

struct iso_reported_edge {
    struct iso_reported_atom from, to, key;
    char type[8]; /* "wr", "ww", "rw", "so", "rt", "implied" */
};

/* The members of a line before its violation; NULL: not printed. */
struct iso_reported_head {
    const char *id, *state, *doubtful, *level;
    bool by_deadline; /* final because its time was up */
};

struct iso_reported {
    struct iso_reported_head head;
    const char *axiom, *kind; /* NULL: not said; a cycle's kind is its "anomaly" */
    const char
        *guarantee; /* of a cycle: the session guarantee that alone is broken; NULL: not said */
    const struct iso_reported_atom *tids;
    struct iso_reported_atom key, session;
    struct iso_reported_value expected, actual;
    struct iso_reported_atom writer_expected, writer_actual, cause;
    const struct iso_reported_edge *edges;
    struct iso_reported_times own; /* of the transaction that is blamed */
    struct iso_reported_moments moments;
    const struct iso_reported_commit *commits;
    const struct iso_reported_location *locations;
    const char *note;
    uint64_t lemmas; /* of a cycle: the conclusions that it rests on */
    uint64_t count;  /* not 0: so many that are not listed, of which nothing but axiom and key or
                        session is said */
    uint32_t tid_count, edge_count, commit_count, location_count;
    bool is_cycle;
    bool versions_by_commit; /* as read: its verdict takes the order of versions from the commits */
};

/* `{"id":"…",…,"level":"si",`: the beginning of a line. */
void iso_reported_put_head(struct iso_text *text, const struct iso_reported_head *head);

/* The members from "axiom" on, and the closing brace. */
void iso_reported_put_members(struct iso_text *text, const struct iso_reported *reported);

/* ---- a whole verdict ---- */

/* The members of a verdict before all others; NULL: not printed. */
struct iso_reported_verdict {
    const char *level, *order, *engine, *outcome, *reason,
        *any_order; /* a reason that is not said is null */
    bool versions_by_commit;
};

/* The members that all engines count. */
struct iso_reported_totals {
    uint64_t transactions, aborted, unknown, operations, sessions, keys;
    uint64_t reads_judged, reads_unjudged;
    const uint64_t *unjudged;          /* by reason */
    uint64_t repeats, writes_unjudged; /* where they are not 0 */
    bool per_operation;
};

/* Whether a verdict's object may have a member of that name: of one table, by which the reader
 * tells them from a violation's. A writer's members are held against it
 * (tests/property/reported.c). */
bool iso_reported_is_of_verdict(const struct iso_json_text *name);

/* `,"doubtful":{"EXT":7}`: of the counts those that are doubtful; nothing where none is. */
void iso_reported_put_doubtful(struct iso_text *text, const uint64_t doubtful[ISO_AXIOMS]);

/* From "isochron" on, without a brace. */
void iso_reported_put_verdict(struct iso_text *text, const struct iso_reported_verdict *verdict);
void iso_reported_put_totals(struct iso_text *text, const struct iso_reported_totals *totals);

/* `,"counts":{` and a member for each axiom, without the closing brace. */
void iso_reported_put_counts(struct iso_text *text, const uint64_t counts[ISO_AXIOMS]);

/* `,"name":17` */
void iso_reported_put_count(struct iso_text *text, const char *name, uint64_t count);

/* ---- reading ---- */

struct iso_reported_reader;

/* Called for each violation that was read whole; false ends the reading. `started`: a verdict's
 * list begins. */
struct iso_reported_sink {
    bool (*violation)(void *context, const struct iso_reported *reported);
    void (*started)(void *context);
    void *context;
};

/* The verdict as a whole, by the objects read so far; the last of several counts. */
struct iso_reported_object {
    char level[12], engine[12], outcome[12]; /* empty: not said */
    uint64_t found, doubtful; /* the sum of the counts, and of those that are doubtful */
    bool has_counts, versions_by_commit;
    bool is_verdict, is_violation; /* the last object; the violations of a verdict's list went to
                                      the sink before */
};

/* Names and values are added to `atoms`. */
struct iso_reported_reader *iso_reported_reader_new(struct iso_atoms *atoms,
                                                    const struct iso_reported_sink *sink);
void iso_reported_reader_free(struct iso_reported_reader *reader);

/* The cursor over the text, with the error, if there is one; the caller starts it. */
struct iso_json *iso_reported_json(struct iso_reported_reader *reader);

/* The object at the cursor, a verdict or one violation by itself. False: an error, or the sink
 * ended it. */
bool iso_reported_read(struct iso_reported_reader *reader, struct iso_reported_object *object);
