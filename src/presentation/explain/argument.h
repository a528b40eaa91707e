/* A violation as an argument that a person can check: who is involved, why it is impossible, and
 * what it means.
 *
 * The form is that of Elle's explanations (Alvaro and Kingsbury, "Elle", VLDB 2020, section 5):
 * name the transactions, then one step after another, each with its reason, up to the
 * contradiction. Every fact in a step is looked up in the history; from the verdict comes only what
 * to look for. An argument has nothing that its steps do not need.
 *
 *     Let:
 *       T1 = transaction 9 (session 9, h.jsonl:9, sts 16, cts 18)
 *       T2 = ...
 *     Then:
 *       - T1 read key x in its operation 1, from its snapshot at 16.
 *       - ...
 *       - However, it read 2, the version that T3 had committed at 5: a contradiction.
 *
 * With it come a time line of what the steps name, as rows, and edges for a drawing. Lists print
 * the rows one under the other; pictures arrange them with the transactions (timeline.h). Texts are
 * UTF-8, end in NUL, and belong to the argument; keys and values in them are as hostile as they
 * arrived, except that control characters are escaped. Threads: one at a time.
 */
#pragma once

#include "base/text.h"
#include "explain/facts.h"
#include "explain/wall.h"

enum iso_mark {
    ISO_MARK_NONE,
    ISO_MARK_EXPECTED, /* what had to be read */
    ISO_MARK_ACTUAL,   /* what was read */
    ISO_MARK_READ,     /* the moment at which it was read */
    ISO_MARK_MORE      /* what was left out in between */
};

struct iso_argument_row {
    /* ISO_ROW_UNTIMED: no timestamp; such rows keep the order in which they were added */
    uint64_t when;
    int tie; /* order of rows at one moment: below 0 just before it, 2 just after all that happens
                at it */
    enum iso_mark mark;
    uint32_t transaction; /* whose it is; ISO_NONE: nobody's */
    /* offsets in `text`; when_text: of an empty text where there is no moment */
    uint32_t when_text;
    uint32_t what_text;
    uint32_t point;  /* the same in a few words, for a picture; 0: a picture does not have it */
    bool only_drawn; /* a picture has it, a list does not */
};
#define ISO_ROW_UNTIMED UINT64_MAX
enum { ISO_ROW_INITIAL = -100 }; /* the tie of a row that comes before all moments */

struct iso_argument_edge {
    uint32_t from, to; /* parties */
    char type[8];
    uint32_t label; /* an offset in `text` */
};

struct iso_argument {
    const struct iso_facts *facts;
    const struct iso_claim *claim;
    enum iso_wall wall; /* ISO_WALL_COUNTER: raw timestamps only */
    struct iso_text text;
    uint32_t title;
    uint32_t party_count, party_capacity;
    struct iso_party *parties; /* T1, T2, ... */
    uint32_t step_count, step_capacity;
    uint32_t *steps;
    uint32_t line_title; /* what the time line is of */
    uint32_t row_count, row_capacity;
    struct iso_argument_row *rows;
    uint64_t versions_left;            /* which stand between the rows, and are no rows */
    uint64_t overlap_from, overlap_to; /* two at work at once; equal: none */
    uint32_t inside, inside_text; /* what was read is no version: who wrote it, and the value; text
                                     0: it is one */
    uint32_t edge_count, edge_capacity;
    struct iso_argument_edge *edges;
};

/* Argues the claim. Release in any case. */
void iso_argument_init(struct iso_argument *argument, const struct iso_facts *facts,
                       const struct iso_claim *claim, enum iso_wall wall);
void iso_argument_release(struct iso_argument *argument);

static inline const char *iso_argument_text(const struct iso_argument *argument, uint32_t offset)
{
    return argument->text.bytes + offset;
}

/* Where a party that is in the history was recorded: line or offset of a file, or of a topic's
 * partition. */
struct iso_argument_origin {
    const char *name; /* a path, or topic[partition] */
    uint64_t offset;
    bool is_partition;
};
struct iso_argument_origin iso_argument_origin(const struct iso_argument *argument, uint32_t index);

/* "h.jsonl:7", "txns[2] offset 5". */
void iso_argument_put_origin(const struct iso_argument *argument, uint32_t index,
                             struct iso_text *text);

/* "transaction 9 (session 9, h.jsonl:9, sts 16, cts 18)": of party number `index`, of any. The same
 * as a short name: "9". */
void iso_argument_put_party(const struct iso_argument *argument, uint32_t index,
                            struct iso_text *text);
void iso_argument_put_transaction(const struct iso_argument *argument, struct iso_party party,
                                  struct iso_text *text);
void iso_argument_put_tid(const struct iso_argument *argument, uint32_t index,
                          struct iso_text *text);

/* Statements of a party that meant what it is about, where their texts are known: `before` each. */
void iso_argument_put_statements(const struct iso_argument *argument, uint32_t index,
                                 const char *before, struct iso_text *text);

/* A timestamp, as a wall-clock time where that was asked for. */
void iso_argument_put_stamp(const struct iso_argument *argument, uint64_t timestamp,
                            struct iso_text *text);

/* "expected", "found", or NULL where a mark needs no word. */
const char *iso_mark_word(enum iso_mark mark);
