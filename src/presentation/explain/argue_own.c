/* A read that is wrong by itself, whatever the order: INT, G1a, G1b, THINAIR, INCOMPATIBLE,
 * LOSTUPDATE. */
#include "explain/argument_private.h"

#include <string.h>

struct own {
    const struct iso_history *history;
    uint32_t reader, other, operation, key;
};

static void add_row(struct iso_argument *argument, const struct own *own, uint32_t operation,
                    enum iso_mark mark)
{
    bool writes = iso_kind_writes(own->history->ops.kind[operation]);
    argue_row(
        argument,
        (struct iso_argument_row){.when = ISO_ROW_UNTIMED,
                                  .mark = mark,
                                  .transaction = own->reader,
                                  .when_text = argue_text(argument, "%O", own->reader, operation),
                                  .point = writes ? argue_written(argument, operation)
                                                  : argue_text(argument, "read %V", operation)},
        "%T %W", own->reader, operation);
}

/* ---- INT ---- */

/* Where the part of the transaction starts that the read has to agree with: the last earlier write
 * or read of a register; of a list the last earlier read, or else the first append. */
static uint32_t start_of(const struct own *own)
{
    uint32_t found = ISO_NONE;
    for (uint32_t o = own->history->txns.first_op[own->reader]; o < own->operation; o++) {
        bool appends = iso_kind_of(own->history, o) == ISO_APPEND;
        if (own->history->ops.key[o] == own->key && (!appends || found == ISO_NONE))
            found = o;
    }
    return found;
}

static void argue_internal(struct iso_argument *argument, const struct own *own)
{
    const struct iso_history *history = own->history;
    uint32_t start = start_of(own);
    bool is_list = iso_key_is_list(history, own->key);
    argument->line_title =
        argue_text(argument, "%K within transaction %A", own->key, history->txns.tid[own->reader]);
    for (uint32_t o = start; o < own->operation && start != ISO_NONE; o++) {
        if (history->ops.key[o] != own->key)
            continue;
        argue_step(argument, "%T %W in its %O.", own->reader, o, own->reader, o);
        add_row(argument, own, o, ISO_MARK_EXPECTED);
    }
    if (argument->claim->expected.given && !is_list)
        argue_step(argument, "Nothing that it did after that changed %k: it had to read %C.",
                   own->key, &argument->claim->expected);
    else
        argue_step(
            argument,
            is_list
                ? "Every later read of %T must contain what it read of %k before and what it appended."
                : "Nothing that %T did after that changed %k: it had to read that again.",
            own->reader, own->key);
    argue_step(argument, "However, in its %O it read %V: a contradiction.", own->reader,
               own->operation, own->operation);
    add_row(argument, own, own->operation, ISO_MARK_ACTUAL);
}

/* ---- writers that nobody may read ---- */

static void put_read(struct iso_argument *argument, const struct own *own)
{
    argue_step(argument, "%T %W in its %O, and committed.", own->reader, own->operation,
               own->reader, own->operation);
}

static void argue_aborted(struct iso_argument *argument, const struct own *own)
{
    uint32_t write = argue_write_found(own->history, own->operation, own->other);
    put_read(argument, own);
    if (write != ISO_NONE)
        argue_step(argument, "%T %W in its %O.", own->other, write, own->other, write);
    argue_step(argument, "However, %T aborted, so nobody may see what it wrote: a contradiction.",
               own->other);
    argue_edge(argument, own->other, own->reader, "wr", "%k: aborted", own->key);
}

static void argue_intermediate(struct iso_argument *argument, const struct own *own)
{
    uint32_t write = argue_write_found(own->history, own->operation, own->other);
    uint32_t last = iso_history_last_write(own->history, own->other, own->key);
    put_read(argument, own);
    if (write != ISO_NONE)
        argue_step(argument, "%T %W in its %O.", own->other, write, own->other, write);
    if (last != ISO_NONE && last != write)
        argue_step(argument, "Later, in its %O, it %W: only that may be seen of it.", own->other,
                   last, last);
    argue_step(argument, "However, %T saw the value in between: a contradiction.", own->reader);
    argue_edge(argument, own->other, own->reader, "wr", "%k: not its last", own->key);
}

static void argue_thin_air(struct iso_argument *argument, const struct own *own)
{
    put_read(argument, own);
    argue_step(
        argument,
        "However, no transaction of the history wrote %s to %k, and it did not start so: a contradiction.",
        iso_kind_of(own->history, own->operation) == ISO_READ_LIST ? "some element of that"
                                                                   : "that value",
        own->key);
}

/* ---- two readers ---- */

static uint32_t list_read_of(const struct own *own, uint32_t transaction)
{
    const struct iso_history *history = own->history;
    uint32_t end = history->txns.first_op[transaction + 1];
    for (uint32_t o = history->txns.first_op[transaction]; o < end; o++)
        if (history->ops.key[o] == own->key && o != own->operation &&
            iso_kind_of(history, o) == ISO_READ_LIST)
            return o;
    return ISO_NONE;
}

/* The first index, from 0, at which two lists differ; the shorter one's length if it is the other's
 * beginning. */
static uint64_t first_difference(const struct iso_history *history, uint32_t left, uint32_t right)
{
    const iso_atom *a = history->lists.element + history->lists.first[left],
                   *b = history->lists.element + history->lists.first[right];
    uint64_t a_count = history->lists.first[left + 1] - history->lists.first[left];
    uint64_t b_count = history->lists.first[right + 1] - history->lists.first[right], i = 0;
    while (i < a_count && i < b_count && a[i] == b[i])
        i++;
    return i;
}

static void argue_incompatible(struct iso_argument *argument, const struct own *own)
{
    const struct iso_history *history = own->history;
    bool is_list = iso_kind_of(history, own->operation) == ISO_READ_LIST;
    uint32_t theirs = own->other == ISO_NONE || !is_list ? ISO_NONE : list_read_of(own, own->other);
    argue_step(argument, "%T %W in its %O.", own->reader, own->operation, own->reader,
               own->operation);
    if (theirs == ISO_NONE) {
        argue_step(
            argument,
            "However, no sequence of the appends to %k gives that list: it does not begin as %k started, or "
            "contains an element more often than it was appended. A contradiction.",
            own->key, own->key);
        return;
    }
    argue_step(argument, "%T %W in its %O.", own->other, theirs, own->other, theirs);
    argue_step(
        argument,
        "A list only grows at its end, so one of the two has to be the beginning of the other.");
    argue_step(
        argument, "However, they differ at index %u (from 0): a contradiction.",
        first_difference(history, history->ops.value[own->operation], history->ops.value[theirs]));
}

static void argue_update(struct iso_argument *argument, const struct own *own)
{
    const struct iso_history *history = own->history;
    uint32_t parties[] = {own->reader, own->other};
    for (size_t i = 0; i < sizeof parties / sizeof *parties; i++) {
        uint32_t read = iso_history_external_read(history, parties[i], own->key);
        uint32_t write = iso_history_last_write(history, parties[i], own->key);
        if (read == ISO_NONE || write == ISO_NONE)
            continue;
        argue_step(argument, "%T %W in its %O, and then %W.", parties[i], read, parties[i], read,
                   write);
    }
    uint32_t theirs = iso_history_external_read(history, own->other, own->key);
    if (theirs != ISO_NONE && history->ops.value[theirs] == history->ops.value[own->operation]) {
        argue_step(argument, "Both read the same version, so each replaced that one.");
        argue_step(
            argument,
            "However, whichever of the two came second replaced the other's version, which it had not read: a "
            "contradiction.");
    } else {
        argue_step(
            argument,
            "However, by their commits %T replaced the version that %T had written, which it had not read: a contradiction.",
            own->reader, own->other);
    }
    argue_edge(argument, own->reader, own->other, "rw", "%k", own->key);
    argue_edge(argument, own->other, own->reader, "rw", "%k", own->key);
}

void argue_own(struct iso_argument *argument)
{
    const struct iso_claims *claims = argument->facts->claims;
    const struct iso_claim *claim = argument->claim;
    const char *axiom = claim->wrong->axiom;
    if (argue_is_query(argument)) {
        argue_query(argument);
        return;
    }
    struct own own = {
        .history = argument->facts->history,
        .reader = iso_claim_party(claims, claim, 0)->transaction,
        .other = claim->party_count > 1 ? iso_claim_party(claims, claim, 1)->transaction : ISO_NONE,
        .operation = claim->operation,
        .key = claim->key};
    argue_title(argument, "%s of %K by transaction %A", claim->wrong->name, own.key,
                own.history->txns.tid[own.reader]);
    if (!strcmp(axiom, "INT"))
        argue_internal(argument, &own);
    else if (!strcmp(axiom, "THINAIR"))
        argue_thin_air(argument, &own);
    else if (!strcmp(axiom, "INCOMPATIBLE"))
        argue_incompatible(argument, &own);
    else if (own.other == ISO_NONE)
        put_read(argument, &own);
    else if (!strcmp(axiom, "G1a"))
        argue_aborted(argument, &own);
    else if (!strcmp(axiom, "G1b"))
        argue_intermediate(argument, &own);
    else
        argue_update(argument, &own);
}
