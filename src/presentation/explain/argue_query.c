/* EXT and INT of a query: what it did not return, or should not have (rowsets/rowsets.h).
 *
 * The verdict names the row, or of an aggregate the table's header; the operation is the query's
 * header, which has its moment.
 */
#include <string.h>

#include "explain/argument_private.h"

struct query {
    const struct iso_history *history;
    const struct iso_claims *claims;
    const struct iso_claim *claim;
    const struct iso_range *set;
    uint32_t reader;
    struct iso_moment moment;
};

static bool is_header(const struct iso_history *history, uint32_t key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &length);
    return iso_history_is_header(text, length);
}

bool argue_is_query(const struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    const struct iso_history *history = argument->facts->history;
    const struct iso_range *set =
        claim->operation == ISO_NONE ? NULL : iso_history_set_of(history, claim->operation);
    return set && set->form == ISO_SET_QUERY && claim->key != ISO_NONE &&
           is_header(history, history->ops.key[claim->operation]);
}

static struct query query_of(const struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    struct query query = {
        .history = argument->facts->history, .claims = argument->facts->claims, .claim = claim};
    query.reader = iso_claim_party(argument->facts->claims, claim, 0)->transaction;
    query.set = iso_history_set_of(query.history, claim->operation);
    query.moment = iso_moment_of(query.history, query.reader, claim->operation, claim->is_serial);
    return query;
}

static const char *moment_words(const struct query *query)
{
    return query->claim->is_serial ? "; in commit order it is at"
           : query->moment.own     ? ", from that operation's own snapshot at"
           : query->moment.lock    ? " under a lock, so just below its commit at"
                                   : ", from its snapshot at";
}

/* "rows of public.acct from 5 to 9 where balance > 5" */
static void put_question(struct iso_argument *argument, const struct query *query)
{
    const struct iso_range *set = query->set;
    uint32_t from = set->from == ISO_ABSENT ? 0 : argue_text(argument, " from %A", set->from);
    uint32_t to = set->to == ISO_ABSENT ? 0 : argue_text(argument, " to %A", set->to);
    uint32_t where = set->where == ISO_ABSENT ? 0 : argue_text(argument, " where %A", set->where);
    char words[3][200];
    const uint32_t parts[] = {from, to, where};
    for (int i = 0; i < 3; i++) { /* the text moves when it grows */
        words[i][0] = 0;
        if (parts[i])
            strncat(words[i], argument->text.bytes + parts[i], sizeof words[i] - 1);
    }
    argue_step(argument, "%T asked for rows of %A%s%s%s in its %O%s %M.", query->reader, set->table,
               words[0], words[1], words[2], query->reader, query->claim->operation,
               moment_words(query), query->moment.at);
}

static bool is_null(const struct query *query, const struct iso_claim_value *value)
{
    return !value->count || *iso_claim_elements(query->claims, value) == ISO_ABSENT;
}

/* The fault of a query whose rows have no keys: a wrong aggregate has both values, else a row is
 * missing or too many. */
static void put_fault_of_table(struct iso_argument *argument, const struct query *query)
{
    const struct iso_claim *claim = query->claim;
    if (is_null(query, &claim->actual)) {
        argue_step(argument, "A row with %C was there then, and belongs to what was asked for.",
                   &claim->expected);
        argue_step(argument, "However, it is not among the rows that %T got: a contradiction.",
                   query->reader);
    } else if (is_null(query, &claim->expected)) {
        argue_step(
            argument,
            "However, %T got a row with %C, which none of the rows that belong to it had: a contradiction.",
            query->reader, &claim->actual);
    } else {
        argue_step(argument, "Of the rows that were there and match, %T had to get %C.",
                   query->reader, &claim->expected);
        argue_step(argument, "However, it got %C: a contradiction.", &claim->actual);
    }
}

static void put_fault(struct iso_argument *argument, const struct query *query)
{
    const struct iso_claim *claim = query->claim;
    bool is_missing = is_null(query, &claim->actual);
    if (is_header(query->history, claim->key)) {
        put_fault_of_table(argument, query);
        return;
    }
    argue_step(argument, "%K was there then, with %C, and %s to what was asked for.", claim->key,
               &claim->expected, is_missing ? "belongs" : "does not belong");
    argue_step(argument, "However, it is %s the rows that %T got: a contradiction.",
               is_missing ? "not among" : "among", query->reader);
}

static void put_writer(struct iso_argument *argument, const struct query *query)
{
    const struct iso_party *writer = &query->claim->writer_expected;
    if (writer->transaction == ISO_NONE || writer->transaction == query->reader ||
        !(query->history->txns.flags[writer->transaction] & ISO_HAS_CTS))
        return;
    argue_row(argument,
              argue_at(query->history->txns.cts[writer->transaction], 0, ISO_MARK_EXPECTED,
                       writer->transaction, argue_text(argument, "%C", &query->claim->expected)),
              "%T commits", writer->transaction);
    argue_step(argument, "%T wrote it last, and committed at %M: %T sees it.", writer->transaction,
               query->history->txns.cts[writer->transaction], query->reader);
}

void argue_query(struct iso_argument *argument)
{
    enum { READS_AFTER = 2, READS_BEFORE = -1 };
    struct query query = query_of(argument);
    if (is_header(query.history, query.claim->key))
        argue_title(argument, "%s of table %A by transaction %A", argument->claim->wrong->name,
                    query.set->table, query.history->txns.tid[query.reader]);
    else
        argue_title(argument, "%s of %K by transaction %A", argument->claim->wrong->name,
                    query.claim->key, query.history->txns.tid[query.reader]);
    put_question(argument, &query);
    argument->line_title = argue_text(argument, "%A over time", query.set->table);
    put_writer(argument, &query);
    put_fault(argument, &query);
    argue_row(argument,
              argue_at(query.moment.at, query.moment.inclusive ? READS_AFTER : READS_BEFORE,
                       ISO_MARK_READ, query.reader,
                       argue_text(argument, "found %C", &query.claim->actual)),
              query.claim->is_serial ? "%T commits; it found %C" : "%T asks; it finds %C",
              query.reader, &query.claim->actual);
}
