/* Places are numbered by xids (PostgreSQL), by commits of a binlog (MariaDB, MySQL) or by
 * timestamps of TiDB. A place of another scale than the source's says nothing of this source: its
 * record is a bad one, and not a place that happens to have the same number, or one that no stream
 * reaches.
 *
 * Beside xids and binlogs clients may have timestamps of any clock, as long as an id says which
 * transactions theirs are: so only a writer without one is out of scale.
 */
#include "history/gtid.h"
#include "join/join_private.h"

enum join_scale { JOIN_XIDS, JOIN_BINLOG, JOIN_TSO, JOIN_NUMBERS, JOIN_NO_SCALE };

/* Whether the physical part, milliseconds in front of 18 bits, is of the years 2000 to 2100. */
static bool is_tso(uint64_t timestamp)
{
    return timestamp >> 18 > 946684800000 && timestamp >> 18 < 4102444800000;
}

void join_note_scale(struct iso_join *join, const struct iso_history *block,
                     const struct iso_event *event)
{
    struct join_identity identity;
    if (!join->capability->positions)
        join->source.scales |=
            iso_join_has_watermarks(join) && is_tso(event->cts.physical) ? 1u << JOIN_TSO : 0;
    else if (join_identity_of(join, block, event, &identity))
        join->source.scales |= identity.tag == JOIN_BY_XID    ? 1u << JOIN_XIDS
                               : identity.tag == JOIN_BY_TEXT ? 1u << JOIN_BINLOG
                                                              : 0;
}

static bool has_id(const struct iso_join *join, const struct iso_history *block,
                   uint32_t transaction)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_gtid gtid;
    size_t length;
    const char *tid = iso_atom_text(&block->atoms, block->txns.tid[transaction], buffer, &length);
    return (block->txns.xid && block->txns.xid[transaction]) || join->options.markers ||
           iso_gtid_read(tid, length, &gtid);
}

/* By what the record says where it stands. */
static enum join_scale scale_of(const struct iso_join *join, const struct iso_history *block,
                                uint32_t transaction)
{
    uint8_t flags = block->txns.flags[transaction];
    uint64_t timestamp = flags & ISO_HAS_CTS   ? block->txns.cts[transaction]
                         : flags & ISO_HAS_STS ? block->txns.sts[transaction]
                                               : 0;
    if (block->txns.snapshot && block->txns.snapshot[transaction] != ISO_NONE)
        return JOIN_XIDS;
    if (iso_marks_of(block, transaction) & (ISO_MARK_LOG_START | ISO_MARK_GTID_START))
        return JOIN_BINLOG;
    if (!timestamp || !is_tso(timestamp))
        return timestamp ? JOIN_NUMBERS : JOIN_NO_SCALE;
    bool is_out = flags & ISO_WRITES && !has_id(join, block, transaction) &&
                  !join->source.in_band && !join->source.expects_in_band;
    return is_out ? JOIN_TSO : JOIN_NO_SCALE;
}

/* What is wrong with a place of the scale; NULL: nothing that is known. */
static const char *wrong_with(const struct iso_join *join, enum join_scale scale)
{
    static const char *const words[3][JOIN_NO_SCALE] = {
        [JOIN_XIDS] =
            {[JOIN_BINLOG] =
                 "snapshot is MariaDB's or MySQL's and the change stream PostgreSQL's, expected what pg_current_snapshot() gives",
             [JOIN_TSO] =
                 "sts and cts are timestamps of TiDB and the change stream is PostgreSQL's, expected snapshot and xid"},
        [JOIN_BINLOG] =
            {[JOIN_XIDS] =
                 "snapshot is PostgreSQL's and the change stream is not, expected a GTID or a place in the binlog",
             [JOIN_TSO] =
                 "sts and cts are timestamps of TiDB and the change stream is of a binlog, expected GTIDs, or a place in it"},
        [JOIN_TSO] = {
            [JOIN_XIDS] =
                "snapshot is PostgreSQL's and the change stream TiCDC's, expected sts and cts as TiDB gives them",
            [JOIN_BINLOG] =
                "snapshot is MariaDB's or MySQL's and the change stream TiCDC's, expected sts and cts as TiDB gives them",
            [JOIN_NUMBERS] =
                "sts and cts are no timestamps of TiDB, which the change stream has, expected those that TiDB gives"}};
    for (int source = JOIN_XIDS; source <= JOIN_TSO && scale < JOIN_NO_SCALE; source++)
        if (join->source.scales == 1u << source)
            return words[source][scale];
    return NULL;
}

enum iso_status iso_join_check_record(struct iso_join *join, const struct iso_history *block,
                                      uint32_t transaction, struct iso_error *error)
{
    enum join_scale scale = scale_of(join, block, transaction);
    const char *wrong = wrong_with(join, scale);
    if (wrong)
        return iso_error_set(error, ISO_BAD_INPUT, "%s", wrong);
    if (!join->source.scales && scale < JOIN_NO_SCALE && !join->source.early[scale]++)
        join->source.first_early[scale] = block->txns.origin[transaction];
    return ISO_OK;
}

uint64_t iso_join_early_foreign(struct iso_join *join, uint64_t *origin, struct iso_error *error)
{
    struct join_source *source = &join->source;
    for (int scale = 0; scale < JOIN_NO_SCALE; scale++) {
        const char *wrong = source->early[scale] ? wrong_with(join, (enum join_scale)scale) : NULL;
        uint64_t count = source->early[scale];
        if (!wrong)
            continue;
        iso_error_set(error, ISO_BAD_INPUT, "%s", wrong);
        *origin = source->first_early[scale];
        source->early[scale] = 0;
        return count;
    }
    return 0;
}
