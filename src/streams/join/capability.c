/* What each kind of source promises; docs/semantics.md, "What a source promises", says where each
 * comes from. */
#include <string.h>

#include "join/capability.h"

static const struct join_capability capabilities[] = {
    /* One counter hands out all timestamps, so that they are unique; no end marker, no watermark,
     * no identity of rows.
     */
    {.kind = "dgraph",
     .closing = JOIN_CLOSES_BY_LARGER,
     .commit_order = true,
     .unique_cts = true,
     .sends_unchanged = true,
     .spans = true},
    /* Async commit and 1PC: transactions share commit timestamps. Net changes only. */
    {.kind = "ticdc", .closing = JOIN_CLOSES_AT_WATERMARK, .commit_order = true, .net = true},
    /* END and its count, where the transaction topic is read; else later positions close. MySQL
     * leaves out rows that a statement did not change. PostgreSQL's serializable transactions have
     * an order, which need not be that of their commits, and no source here promises more of MySQL
     * and MariaDB. */
    {.kind = "debezium", .closing = JOIN_CLOSES_AT_END, .by_id = true, .positions = true},
    /* BEGIN and END arrive for each tablet, and nothing says how many there are: completeness only
     * shows in what the client wrote, or at the end. Transactions that update different columns of
     * a row do not conflict. */
    {.kind = "yugabyte",
     .closing = JOIN_CLOSES_WITH_RECORD,
     .by_id = true,
     .commit_order = true,
     .locks_columns = true,
     .early_images = true},
};

const struct join_capability *join_capability_of(const char *kind)
{
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
        if (!strcmp(capabilities[i].kind, kind))
            return &capabilities[i];
    return NULL;
}

bool iso_join_has_positions(const char *kind)
{
    const struct join_capability *capability = join_capability_of(kind);
    return capability && capability->positions;
}

bool iso_join_promises_order(const char *kind)
{
    const struct join_capability *capability = join_capability_of(kind);
    return capability && capability->commit_order;
}

bool iso_join_knows(const char *kind)
{
    return join_capability_of(kind) != NULL;
}
