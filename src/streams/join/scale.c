/* Places are numbered by xids (PostgreSQL) or by commits of a binlog (MariaDB, MySQL). A snapshot
 * of the other kind than the source says nothing of this source: its record is a bad one, and not a
 * place that happens to have the same number. */
#include "join/join_private.h"

enum join_scale { JOIN_XIDS = 1, JOIN_BINLOG = 2 };

void join_note_scale(struct iso_join *join, struct join_identity identity)
{
    if (join->capability->positions && identity.tag == JOIN_BY_XID)
        join->source.scales |= JOIN_XIDS;
    else if (join->capability->positions && identity.tag == JOIN_BY_TEXT)
        join->source.scales |= JOIN_BINLOG;
}

/* 0: it says no such place. */
static unsigned scale_of(const struct iso_history *block, uint32_t transaction)
{
    if (block->txns.snapshot && block->txns.snapshot[transaction] != ISO_NONE)
        return JOIN_XIDS;
    return iso_marks_of(block, transaction) & (ISO_MARK_LOG_START | ISO_MARK_GTID_START)
               ? JOIN_BINLOG
               : 0;
}

static enum iso_status refuse(enum join_scale scale, struct iso_error *error)
{
    return iso_error_set(
        error, ISO_BAD_INPUT,
        scale == JOIN_XIDS
            ? "snapshot is PostgreSQL's and the change stream is not, expected a GTID or a place in the binlog"
            : "snapshot is MariaDB's or MySQL's and the change stream PostgreSQL's, expected what pg_current_snapshot() gives");
}

enum iso_status iso_join_check_record(struct iso_join *join, const struct iso_history *block,
                                      uint32_t transaction, struct iso_error *error)
{
    unsigned scale = join->capability->positions ? scale_of(block, transaction) : 0;
    if (!scale || join->source.scales & scale)
        return ISO_OK;
    if (join->source.scales)
        return refuse((enum join_scale)scale, error);
    if (!join->source.early[scale - 1]++)
        join->source.first_early[scale - 1] = block->txns.origin[transaction];
    return ISO_OK;
}

uint64_t iso_join_early_foreign(struct iso_join *join, uint64_t *origin, struct iso_error *error)
{
    struct join_source *source = &join->source;
    if (source->scales != JOIN_XIDS && source->scales != JOIN_BINLOG)
        return 0;
    enum join_scale scale = source->scales == JOIN_XIDS ? JOIN_BINLOG : JOIN_XIDS;
    uint64_t count = source->early[scale - 1];
    if (count)
        refuse(scale, error);
    *origin = source->first_early[scale - 1];
    source->early[scale - 1] = 0;
    return count;
}
