/* Places are numbered by xids (PostgreSQL) or by commits of a binlog (MariaDB, MySQL). A snapshot
 * of the other kind than the source says nothing of this source: its record is a bad one, and not a
 * place that happens to have the same number. */
#include "join/join_private.h"

enum join_scale { JOIN_XIDS = 1, JOIN_BINLOG = 2 };

static const char *const database_of[] = {NULL, "PostgreSQL", "MariaDB"};
static const char *const snapshot_of[] = {NULL, "what pg_current_snapshot() gives",
                                          "a GTID or a place in the binlog"};

static enum join_scale other_of(enum join_scale scale)
{
    return scale == JOIN_XIDS ? JOIN_BINLOG : JOIN_XIDS;
}

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
    enum join_scale source = other_of(scale);
    return iso_error_set(error, ISO_BAD_INPUT,
                         "snapshot is %s's and the change stream %s's, expected %s",
                         database_of[scale], database_of[source], snapshot_of[source]);
}

enum iso_status join_check_scale(struct iso_join *join, const struct iso_history *block,
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

bool iso_join_early_foreign(struct iso_join *join, uint64_t *origin, struct iso_error *error)
{
    struct join_source *source = &join->source;
    if (source->scales != JOIN_XIDS && source->scales != JOIN_BINLOG)
        return false;
    enum join_scale scale = other_of((enum join_scale)source->scales);
    if (!source->early[scale - 1])
        return false;
    *origin = source->first_early[scale - 1];
    refuse(scale, error);
    source->early[scale - 1] = 0;
    return true;
}
