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

static const struct explain_change changes[] = {
    {"missing", "The client of %B says that it wrote %N = %E.",
     "However, the change stream brought the whole of %B, and no row for %N in it: a "
     "contradiction.",
     "the client wrote %E", "the stream has no row"},
    {"unwritten", "The change stream brought a row of %B: %N = %F.",
     "However, by its client's record %B did not write %N: a contradiction.",
     "the client did not write it", "the stream has %F"},
    {"value", "The client of %B says that it wrote %N = %E.",
     "However, the change stream brought %N = %F: a contradiction.", "the client wrote %E",
     "the stream has %F"},
    {"aborted", "By its client's record %B aborted.",
     "However, the change stream brought a row of it, %N = %F: a contradiction.",
     "the client aborted", "the stream has %F"},
    {"before-image",
     "The row of %B replaced the newest version of %N below its commit, which is %E.",
     "However, its before image says %F: a contradiction.", "the version was %E",
     "the before image says %F"},
    {"gap", "The stream says that %N was %F, by a row of a snapshot or a before image.",
     "However, the changes before it say otherwise: a contradiction; changes between the two "
     "are lost.",
     "the changes left %E", "the stream says %F"},
    {"other-content", "The change stream brought a row of %B: %N = %E.",
     "However, the same row came again and says %F: a contradiction.", "the row says %E",
     "its repeat says %F"},
};

const struct explain_change *explain_change_of(const char *kind)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (!strcmp(changes[i].kind, kind))
            return &changes[i];
    return NULL;
}

/* A row of the time line for what one side says, at the commit where the history has it. */
static void put_row(struct iso_argument *argument, const struct iso_party *party,
                    enum iso_mark mark, const char *format)
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
                                        .point = argue_text(argument, format)},
              format);
}

void argue_changes(struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    const struct iso_party *party = iso_claim_party(argument->facts->claims, claim, 0);
    const struct explain_change *change = explain_change_of(claim->wrong->kind);
    argue_title(argument, "%s: key %A of transaction %A", claim->wrong->name, claim->key_atom,
                party->tid);
    put_at(argument, "The record that speaks first", 0);
    put_at(argument, "The record that contradicts it", 1);
    argue_step(argument, change->first);
    argue_step(argument, change->second);
    argument->line_title = argue_text(argument, "%A as the two say it", claim->key_atom);
    put_row(argument, party, ISO_MARK_EXPECTED, change->expected);
    put_row(argument, party, ISO_MARK_ACTUAL, change->actual);
}
