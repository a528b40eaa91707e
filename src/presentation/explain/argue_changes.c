/* CDC: the client's word against the change stream's. */
#include "explain/argument_private.h"

#include <string.h>

/* "..., recorded at h.jsonl:7": where the verdict says that it stands. */
static void put_at(struct iso_argument *argument, const char *what, uint32_t index)
{
    const struct iso_claim *claim = argument->claim;
    if (index < claim->location_count)
        argue_step(argument, "%s: %s.", what,
                   iso_claim_location(argument->facts->claims, claim, index));
}

static void put_kind(struct iso_argument *argument, const char *kind, const struct iso_party *party,
                     iso_atom key)
{
    const struct iso_claim *claim = argument->claim;
    if (!strcmp(kind, "missing")) {
        argue_step(argument, "The client of %P says that it wrote %A = %C.", party, key,
                   &claim->expected);
        argue_step(argument,
                   "However, the change stream brought the whole of %P, and no row for %A in it: a "
                   "contradiction.",
                   party, key);
    } else if (!strcmp(kind, "unwritten")) {
        argue_step(argument, "The change stream brought a row of %P: %A = %C.", party, key,
                   &claim->actual);
        argue_step(argument,
                   "However, by its client's record %P did not write %A: a contradiction.", party,
                   key);
    } else if (!strcmp(kind, "value")) {
        argue_step(argument, "The client of %P says that it wrote %A = %C.", party, key,
                   &claim->expected);
        argue_step(argument, "However, the change stream brought %A = %C: a contradiction.", key,
                   &claim->actual);
    } else if (!strcmp(kind, "aborted")) {
        argue_step(argument, "By its client's record %P aborted.", party);
        argue_step(argument,
                   "However, the change stream brought a row of it, %A = %C: a contradiction.", key,
                   &claim->actual);
    } else if (!strcmp(kind, "before-image")) {
        argue_step(argument,
                   "The row of %P replaced the newest version of %A below its commit, which is %C.",
                   party, key, &claim->expected);
        argue_step(argument, "However, its before image says %C: a contradiction.", &claim->actual);
    } else if (!strcmp(kind, "gap")) {
        argue_step(argument,
                   "The stream says that %A was %C, by a row of a snapshot or a before image.", key,
                   &claim->actual);
        argue_step(
            argument,
            "However, the changes before it say otherwise: a contradiction; changes between the two "
            "are lost.");
    } else {
        argue_step(argument, "The change stream brought a row of %P: %A = %C.", party, key,
                   &claim->expected);
        argue_step(argument, "However, the same row came again and says %C: a contradiction.",
                   &claim->actual);
    }
}

/* A row of the time line for what one side says, at the commit where the history has it. */
static void put_row(struct iso_argument *argument, const struct iso_party *party,
                    enum iso_mark mark, const char *format, const struct iso_claim_value *value)
{
    const struct iso_history *history = argument->facts->history;
    bool is_timed =
        party->transaction != ISO_NONE && (history->txns.flags[party->transaction] & ISO_HAS_CTS);
    argue_row(argument,
              (struct iso_argument_row){.when = is_timed ? history->txns.cts[party->transaction]
                                                         : ISO_ROW_UNTIMED,
                                        .tie = mark == ISO_MARK_ACTUAL,
                                        .mark = mark,
                                        .transaction = party->transaction,
                                        .when_text = argue_text(argument, "time not known"),
                                        .point = argue_text(argument, format, value)},
              format, value);
}

/* By kind, what was expected and what was found, in terms of the two values. */
static const struct {
    const char *kind, *expected, *actual;
} words[] = {
    {"missing", "the client wrote %C", "the stream has no row"},
    {"unwritten", "the client did not write it", "the stream has %C"},
    {"value", "the client wrote %C", "the stream has %C"},
    {"aborted", "the client aborted", "the stream has %C"},
    {"before-image", "the version was %C", "the before image says %C"},
    {"gap", "the changes left %C", "the stream says %C"},
    {"other-content", "the row says %C", "its repeat says %C"},
};

static void add_rows(struct iso_argument *argument, const struct iso_party *party)
{
    const struct iso_claim *claim = argument->claim;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].kind, claim->wrong->kind))
            continue;
        argument->line_title = argue_text(argument, "%A as the two say it", claim->key_atom);
        put_row(argument, party, ISO_MARK_EXPECTED, words[i].expected, &claim->expected);
        put_row(argument, party, ISO_MARK_ACTUAL, words[i].actual, &claim->actual);
    }
}

void argue_changes(struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    const struct iso_party *party = iso_claim_party(argument->facts->claims, claim, 0);
    argue_title(argument, "%s: key %A of transaction %A", claim->wrong->name, claim->key_atom,
                party->tid);
    put_at(argument, "The record that speaks first", 0);
    put_at(argument, "The record that contradicts it", 1);
    put_kind(argument, claim->wrong->kind, party, claim->key_atom);
    add_rows(argument, party);
}
