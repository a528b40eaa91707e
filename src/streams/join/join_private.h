/* What the files of the join share: its parts, each in a header of its own, and what works on
 * several of them. */
#ifndef ISO_JOIN_PRIVATE_H
#define ISO_JOIN_PRIVATE_H

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "join/capability.h"
#include "join/dedup_state.h"
#include "join/extent.h"
#include "join/join.h"
#include "join/key_state.h"
#include "join/position_state.h"
#include "join/stream_state.h"
#include "join/waiting_state.h"

/* A key in what a record wrote and in what arrived of it (cell.c); counts of this `mark`. */
struct join_tally {
    uint32_t key;
    uint32_t writes;  /* how often the record writes it; 0: it does not list it */
    uint32_t changes; /* how many rows of it arrived; UINT32_MAX: not in their order */
    uint32_t change;  /* the next of them, as operations are gone through; at first the first */
    uint32_t last;    /* of them */
    uint32_t done;    /* how many of the writes were */
    uint32_t listed;  /* operation behind the one of its row, + 1 */
    uint32_t wrote;   /* the operation that wrote it last, + 1 */
    /* Rows whose changes have no position in the record (own.c): */
    uint32_t states; /* how many changes of it there are */
    uint32_t latest; /* of a key: the last thing that they left of it, + 1 */
    uint32_t bound;  /* no statement in front of the one at hand saw a newer state */
    uint32_t placed; /* how many of its changes were; what the next one left begins at ... */
    uint32_t next;   /* ... + 1 ... */
    uint32_t end;    /* ... and what the last one left ends at */
    uint32_t passed; /* of the record's writes of it */
    bool is_mixed;   /* somebody else says some of its changes */
    bool is_loose;
    bool is_unknown; /* of a key: what the stream's change left of it nobody knows */
};

/* The state of a key after a change of its row; and which state each operation of a record saw. */
struct join_own {
    struct join_own_change {
        uint32_t row, state;
        uint32_t previous; /* what the change before left of the key, + 1 */
        uint32_t next;     /* what this change or the next one left of the row, + 1 */
    } * changes;           /* by place in their transaction */
    uint32_t change_count, change_capacity;
    uint32_t *seen;
    uint32_t seen_capacity;
    bool has_snapshot; /* all reads of the record at hand are of one */
};

/* The block's atoms that are known to the join, and other scratch space. */
struct join_scratch {
    struct join_cache {
        const struct iso_history *block;
        iso_atom connector; /* the stream's, by its name in the block; ABSENT: not compared yet */
        iso_atom *texts;    /* by entry of the block's atoms; + 1 */
        uint32_t *keys;
        uint32_t count, capacity;
    } cache;
    struct join_numbers {
        uint32_t *list;
        uint32_t count, capacity;
    } of_kept;                  /* by key of `records.kept`: the join's, + 1 */
    struct iso_text normalised; /* a value, until it is an atom */
    struct iso_text column;     /* its name, without escapes */
    struct join_tally *tallies; /* of the keys of one transaction */
    uint32_t tally_count, tally_capacity, tally_mark;
    uint32_t *places; /* by key, in `tallies` */
    uint32_t place_capacity;
    struct join_own own;
};

struct iso_join {
    struct iso_join_options options;
    const struct join_capability *capability;
    struct iso_join_output out;
    struct iso_join_stats stats;

    struct join_keys keys;
    struct join_tables tables;
    struct join_texts texts;

    struct join_rows rows;
    struct join_open open;
    struct join_records records;
    struct join_dedup dedup;

    struct join_source source;
    struct join_partitions partitions;
    struct join_start start;
    struct join_begun begun;
    struct join_cells cells;
    struct join_end end;
    struct join_changes changes;
    struct join_carried carried;
    struct join_log log;
    struct join_positions positions;
    struct join_extent extent;
    struct join_progress progress;
    struct join_counters counters;

    struct join_scratch scratch;
};

/* carry.c */
void join_carry_table(struct iso_join *join, const struct join_change *change);
/* A row of the key arrived, of that commit timestamp, maybe behind the statement; `again`: it
 * stands behind others of that timestamp. It goes where statements carry its table's rows. */
void join_carry_row(struct iso_join *join, uint32_t key, uint64_t position, iso_atom value,
                    bool again);
bool join_is_carried(struct iso_join *join, const struct join_change *change, uint32_t key);
/* The key's value from a RENAME on that nobody knows: where rows of the old name may still come, it
 * leaves with theirs; false: it does not wait. */
bool join_carries_later(struct iso_join *join, const struct join_change *change, uint32_t to,
                        iso_atom value);
void join_emit_carried(struct iso_join *join, uint64_t watermark); /* of statements up to it */

/* Rows of a transaction in turns: all, or where they are net changes what went, and then what
 * came. */
static inline uint32_t join_turns(const struct iso_join *join, const struct join_chain *rows)
{
    return join->capability->net ? 2 * rows->count : rows->count;
}

static inline uint32_t join_next_turn(const struct iso_join *join, const struct join_chain *rows,
                                      uint32_t row)
{
    return row == rows->last ? rows->first : join->rows.list[row].next;
}

static inline bool join_is_turn(const struct iso_join *join, const struct join_chain *rows,
                                uint32_t turn, uint32_t row)
{
    return !join->capability->net ||
           (join->rows.list[row].operation == ISO_ROW_DELETE) == (turn < rows->count);
}

/* dedup.c */
enum join_repeat { JOIN_NEW, JOIN_REPEAT, JOIN_OTHER_CONTENT };

void join_dedup_add(struct iso_join *join, const struct join_transaction *transaction, iso_atom tid,
                    uint64_t cts);
/* Notes an identity that no row has. */
void join_dedup_note(struct iso_join *join, struct join_identity identity, iso_atom tid,
                     uint64_t cts);
struct join_dedup_entry *join_dedup_find(struct iso_join *join, struct join_identity identity);
enum join_repeat join_dedup_check(struct iso_join *join, struct join_dedup_entry *entry,
                                  uint32_t key, uint64_t ordinal, uint32_t content);
bool join_dedup_has_key(const struct iso_join *join, const struct join_dedup_entry *entry,
                        uint32_t key); /* of any row; where sources close with the record */
void join_dedup_index(struct join_dedup *dedup); /* identities have changed */
void join_dedup_release(struct join_dedup *dedup);

/* position.c */
void join_place_record(struct iso_join *join, uint32_t record);
void join_place_commit(struct iso_join *join, uint32_t record, uint32_t transaction);
void join_place(struct iso_join *join, bool ended);
/* Whether its commit has no position yet, which snapshots, its own or others', are to give. */
bool join_awaits_commit(const struct join_record *record);
/* The transaction's position is its LSN, not a count. */
void join_note_uncounted(struct iso_join *join, const struct join_transaction *transaction);
/* It has ended, nothing came of it, and it counts nothing that might. */
bool join_is_empty(const struct join_transaction *transaction);
/* Whether its commit gets a counted position. */
bool join_is_counted(const struct iso_join *join, const struct join_transaction *transaction);
void join_place_forget(struct iso_join *join, uint32_t record); /* it aborted */
bool join_may_write(const struct iso_join *join,
                    const struct join_record *record); /* what is covered */
bool join_has_commit(const struct iso_join *join, uint64_t xid);
/* Whether a commit arrived that the snapshot of a record that is kept does not see. */
bool join_came_behind(const struct iso_join *join, const struct iso_snapshot *snapshot);
const struct iso_snapshot *join_snapshot_of(const struct iso_join *join,
                                            const struct join_link *link);
uint64_t join_xid_of(const struct iso_join *join, uint64_t low);
void join_positions_release(struct join_positions *positions);

/* log.c */
/* An event that has a position. */
void join_log_note(struct iso_join *join, const struct iso_event *event);
/* BEGIN of a commit, or one that had no END: a statement of its own, which the schema topic may
 * report. */
void join_log_note_begun(struct iso_join *join, uint64_t number, bool without_end);
/* Whether the record waits for its position; it is copied. */
bool join_log_keep(struct iso_join *join, const struct iso_history *block, uint32_t transaction);
/* Whether a statement that commits by itself stands, or may stand, in front of this position of a
 * commit, and has not been delivered. */
bool join_log_lacks_statement(const struct iso_join *join, uint64_t position);
void join_log_release(struct iso_join *join, bool ended); /* those whose position is known now */
/* Takes a statement from the schema topic, whatever it does. */
void join_log_note_told(struct iso_join *join, const struct iso_event *event);
/* Whether a statement that commits by itself may stand behind `after`, up to this position: of
 * which that topic has not told yet, and of which nothing says that it is another commit. */
bool join_log_may_lack(const struct iso_join *join, uint64_t after, uint64_t position);

/* lost.c: rows that END counts and that did not come, and what follows (extent.h) */
void join_count_collection(struct iso_join *join, const struct join_table *table,
                           uint64_t count); /* of the next END */
void join_note_collections(struct iso_join *join,
                           uint32_t transaction); /* END: those are its own */
void join_count_other(struct iso_join *join, uint32_t transaction, const struct join_table *table);
void join_count_uncovered(struct iso_join *join,
                          uint32_t table); /* between events: it was covered until now */
/* Which tables it lacks rows of, as far as nothing more comes; false: of none. Until the next one
 * is asked for. */
bool join_mark_lacking(struct iso_join *join, const struct join_transaction *transaction);
bool join_is_table_lacking(const struct iso_join *join, uint32_t table);
bool join_is_lacking(const struct iso_join *join, uint32_t key);
/* finish.c: net changes without rows before: an update of the rows may have moved one of the key's
 * table, and then nothing shows that it is gone from its old key. */
bool join_may_have_moved(const struct iso_join *join, const struct join_chain *rows, uint32_t key);
/* lost.c: the transaction, and its record, or ISO_NONE, stand at `cts`: what it lacks is of unknown
 * value from there on. */
void join_lose(struct iso_join *join, uint32_t transaction, uint32_t record, uint64_t cts);
/* Counts, and where they stand; `transaction` NULL: nothing came. */
void join_tell_lost(const struct iso_join *join, const struct join_transaction *transaction,
                    uint32_t table, struct iso_join_lost *lost);
/* Nothing of the record's transaction came, and nothing will. */
void join_lose_whole(struct iso_join *join, uint32_t record, uint64_t cts);
void join_lose_columns(struct iso_join *join);
/* The record's transaction committed at `from` or later, 0: at any time: nobody says when. */
void join_lose_moment(struct iso_join *join, uint32_t record, uint64_t from);
/* Its rows, and what its record says, have their place. */
void join_find_again(struct iso_join *join, const struct join_transaction *transaction,
                     uint32_t record);

/* commit_name.c: a position is given to an xid; `transaction`: its rows, or ISO_NONE. 0: to
 * none. */
void join_commit_name_note(struct iso_join *join, uint64_t cts, uint64_t xid, uint32_t transaction);
void join_commit_names_start(struct join_commit_names *names, uint64_t base); /* counted from it */

/* validate.c: with ISO_VALIDATE all that is true between two batches is asserted; else it does
 * nothing. As long as going over all that waits. */
void join_validate(const struct iso_join *join);

/* Whether its number can be one of those that order commits: rows of another domain are refused. */
static inline bool join_is_of_domain(const struct iso_join *join, const struct iso_event *event)
{
    return !event->commit || !join->source.numbered || event->domain == join->source.domain;
}

/* The engine has the record's reads: from now on they are its affair. */
static inline void join_emit_reads(struct iso_join *join, struct join_record *record)
{
    join->stats.reads_given += record->reads;
    record->reads = 0;
}

/* table.c */
uint32_t join_table_of_key(struct iso_join *join, iso_atom key); /* atom of `keys` */
struct join_table *join_table_named(struct iso_join *join, const struct iso_atoms *atoms,
                                    iso_atom name);
bool join_is_covered(struct iso_join *join, struct join_table *table);
void join_note_rows(struct iso_join *join, struct join_table *table); /* one has arrived */
/* Whether an operation of a client is to be judged ... */
bool join_is_judged(struct iso_join *join, uint32_t key);
void join_leave_out(struct iso_join *join,
                    uint32_t key); /* ... and if not, it is counted with its table, or column */
bool join_is_key_covered(struct iso_join *join, uint32_t key);
uint32_t join_add_table(struct iso_join *join, iso_atom name); /* of `keys`; or the known one */
void join_tables_release(struct join_tables *tables);

/* cell.c */
bool join_has_cells(struct iso_join *join, struct join_table *table);
void join_note_part(struct iso_join *join, uint32_t key); /* of a new key, whose table is known */
bool join_column_is_covered(struct iso_join *join, struct join_table *column);
void join_note_unseen(struct iso_join *join,
                      uint32_t key);          /* a client's operation on it is judged for now */
void join_end_columns(struct iso_join *join); /* those that never came were not covered */
/* Table and column of a column's name; the column is the join's until the next one. */
void join_split_column(struct iso_join *join, const struct join_table *column,
                       char buffer[ISO_ATOM_TEXT_MAX], struct iso_json_text *table,
                       struct iso_json_text *name);
void join_take_column(struct iso_join *join, const struct iso_history *block,
                      const struct iso_event *event);
/* image.c */
/* Forgets what images of rows that came before say, before the transaction's rows are used. */
void join_weigh_images(struct iso_join *join, struct join_transaction *transaction);

/* assemble.c: a cell of the row that arrived last. */
void join_take_cell(struct iso_join *join, const struct iso_history *block,
                    const struct iso_event *event);
/* Number of the transaction's rows that messages were about. */
static inline uint32_t join_messages_of(const struct join_transaction *transaction)
{
    return transaction->rows.count - transaction->dropped - transaction->cells;
}
/* cell.c: counts both sides by key. */
void join_tally(struct iso_join *join, const struct join_record *record,
                const struct join_transaction *transaction);
struct join_tally *join_tally_of(struct iso_join *join, uint32_t key); /* until the next one */
/* Whether reads of the client's transaction may be of cells that it wrote and does not list: then,
 * operation by operation from join->counters.tallies + 1 on, which of them may. */
bool join_hides_own(const struct iso_join *join, const struct iso_history *block,
                    uint32_t transaction);
bool join_may_be_own(struct iso_join *join, uint32_t key, bool is_write);
/* Whether the key is a cell's whose row `mark` has as one that a client says it wrote. */
bool join_is_of_claimed(const struct iso_join *join, uint32_t key, uint32_t mark);

/* initial.c */
void join_take_initial(struct iso_join *join, const struct iso_history *block,
                       const struct iso_event *event, uint32_t key);
/* Where nobody knows what the key's table or column held at first: says so, once. */
bool join_start_unknown(struct iso_join *join, uint32_t key);
/* A client reads the key: the engine must know whether its initial value is known. */
void join_ask_initial(struct iso_join *join, uint32_t key);
/* The first change of the key that arrived. */
void join_learn_initial(struct iso_join *join, uint32_t key, const struct iso_event *event,
                        const struct join_row *row);
void join_note_start(struct iso_join *join, uint32_t input, const struct iso_event *event);
/* Nothing said that all rows that the table had at first have come. */
bool join_start_is_open(const struct iso_join *join, uint32_t table);
/* Takes back the conclusion about a key's initial value that came from the transaction's before
 * image. */
void join_unlearn(struct iso_join *join, uint32_t key);
/* Takes back, for cells of rows of which that was taken back, that they had no initial value. */
void join_miss_cells(struct iso_join *join);
void join_check_start(struct iso_join *join, bool ended); /* whether it is complete now */

/* adopt.c: what a client wrote without listing it */
bool join_takes_writes(const struct iso_history *block, uint32_t transaction);
/* Adds the rows of the transaction to the record that is kept; returns how many. */
uint32_t join_adopt(struct iso_join *join, uint32_t record, uint32_t transaction);

/* pool.c */
/* Whether another spelling stands for the key among the join's. */
bool join_is_caseless(const struct iso_join *join, const struct iso_atoms *atoms, iso_atom key);
uint32_t join_key_number(struct iso_join *join, const struct iso_history *block, iso_atom key);
iso_atom join_text(struct iso_join *join, const struct iso_history *block, iso_atom text);
uint32_t join_digest(const struct iso_atoms *atoms, iso_atom atom);
uint32_t join_key_find(struct iso_join *join, const struct iso_atoms *atoms,
                       iso_atom key); /* not of the batch's block */
static inline uint32_t join_content(const struct iso_atoms *atoms, iso_atom value) /* never 0 */
{
    uint32_t digest = join_digest(atoms, value);
    return digest ? digest : 1;
}
/* The key of an operation of `records.kept`. */
uint32_t join_key_kept(struct iso_join *join, uint32_t o);
uint32_t join_key_of(struct iso_join *join, iso_atom own); /* an atom of `keys` */
uint32_t join_new_row(struct iso_join *join, struct join_chain *chain);
void join_free_rows(struct iso_join *join, struct join_chain *chain);
uint32_t join_new_transaction(struct iso_join *join, struct join_identity identity);
/* Frees it and its rows, which are counted as of `class`. */
void join_forget_transaction(struct iso_join *join, uint32_t transaction, enum iso_row_class class);
void join_leave_open(struct iso_join *join, uint32_t transaction); /* out of the map and the list */
uint32_t join_new_record(struct iso_join *join);
void join_forget_record(struct iso_join *join, uint32_t record); /* counted as it stands ... */
void join_forget_record_as(struct iso_join *join, uint32_t record,
                           enum iso_record_class class); /* ... or so */
void join_enter_claim(struct iso_join *join, uint32_t record);
void join_leave_claim(struct iso_join *join, uint32_t record);
void join_rebuild_texts(struct iso_join *join); /* if it is worth it */

/* assemble.c */
enum iso_status join_take_row(struct iso_join *join, const struct iso_history *block,
                              const struct iso_event *event, struct iso_error *error);
/* open.c */
void join_take_end(struct iso_join *join, const struct iso_history *block,
                   const struct iso_event *event);
void join_take_other(struct iso_join *join, const struct iso_history *block,
                     const struct iso_event *event);
/* assemble.c */
void join_take_drop(struct iso_join *join, const struct iso_history *block,
                    const struct iso_event *event);
/* open.c */
void join_take_collection(struct iso_join *join, const struct iso_history *block,
                          const struct iso_event *event);
void join_take_schema(struct iso_join *join, const struct iso_history *block,
                      const struct iso_event *event);
/* assemble.c */
void join_note_value(struct iso_join *join, const struct iso_history *block, iso_atom table,
                     uint32_t key, iso_atom value);
/* scale.c: what places are numbered by */
void join_note_scale(struct iso_join *join, const struct iso_history *block,
                     const struct iso_event *event);
/* open.c */
bool join_counts_other(struct iso_join *join, uint32_t number, const struct iso_history *block,
                       const struct iso_event *event);
struct join_input *join_input_of(struct iso_join *join, uint64_t origin);
uint32_t join_table_in(struct iso_join *join, const struct iso_history *block, iso_atom name);
void join_follow_span(struct iso_join *join, struct join_input *partition,
                      struct join_identity identity, uint64_t cts);
void join_note_times(struct iso_join *join, struct join_transaction *transaction,
                     const struct iso_event *event);
void join_note_reached(struct join_input *partition, struct join_identity identity,
                       const struct iso_event *event);
void join_note_altered(struct iso_join *join, uint32_t number, uint32_t table, uint32_t column);
bool join_identity_of(struct iso_join *join, const struct iso_history *block,
                      const struct iso_event *event, struct join_identity *identity);
uint32_t join_open(struct iso_join *join, struct join_identity identity,
                   const struct iso_event *event); /* or known */
void join_check_complete(struct iso_join *join, uint32_t transaction);
uint64_t join_events_of(const struct join_transaction *transaction);
struct join_input *join_input(struct iso_join *join, uint32_t input);
void join_close_passed(struct iso_join *join);
/* the place in the log that all inputs have reached */
uint64_t join_all_have_passed(const struct iso_join *join);
/* Where in the log the event's transaction commits, as far as it says. */
uint64_t join_commit_position(struct join_identity identity, const struct iso_event *event);
void join_promise(struct iso_join *join); /* cdc mode: a watermark of positions */

/* record.c */
void join_take_record(struct iso_join *join, const struct iso_history *block, uint32_t transaction,
                      const struct join_identity *in_band);

bool join_reads_at_start(const struct iso_history *history,
                         uint32_t transaction); /* a read has no time of its own */
void join_note_timeless(struct iso_join *join,
                        uint32_t record); /* it only read, and nothing tells when */

/* finish.c */
uint32_t join_mark_finals(struct iso_join *join, const struct join_transaction *transaction);
bool join_is_final(const struct iso_join *join, uint32_t row, uint32_t mark);
/* Whether a row that was delivered is what the record's write says. */
bool join_agrees(const struct iso_join *join, const struct join_row *row,
                 const struct join_row *write);
#define JOIN_ROWS_FINAL 0x01u    /* no row will be added */
#define JOIN_RECORDS_FINAL 0x02u /* no record will claim it */
void join_finish(struct iso_join *join, uint32_t transaction, uint32_t final);
void join_finish_undelivered(struct iso_join *join,
                             uint32_t record); /* no row of it arrived, and none will */
void join_resolve(struct iso_join *join, uint32_t record, bool committed, uint64_t cts);
void join_finish_placed(struct iso_join *join, uint32_t record, uint32_t transaction, uint64_t cts);
bool join_commit_timestamp(const struct join_transaction *transaction, uint64_t *cts);

/* normalised.c: clients' values as the stream spells them, as far as it is known by now */
void join_spell_last(struct iso_join *join, struct iso_history *into); /* of the last transaction */
void join_spell_kept(struct iso_join *join, const struct join_record *record);
void join_spell_writes(struct iso_join *join, const struct join_record *record);
/* Whether a client's value of the key may be the stream's, in another spelling; atoms of
 * `texts`. */
bool join_may_equal(struct iso_join *join, uint32_t key, iso_atom delivered, iso_atom said);

/* marker.c */
void join_note_marker(struct iso_join *join, uint32_t transaction,
                      iso_atom tid);                            /* the stream gives it */
void join_await_marker(struct iso_join *join, uint32_t record); /* an identity of a new record */
void join_forget_markers(struct iso_join *join, struct join_transaction *transaction);
void join_enter_markers(struct iso_join *join, uint32_t transaction);
/* Ends the transaction's markers that no record has claimed. */
void join_finish_markers(struct iso_join *join, const struct join_transaction *transaction,
                         uint64_t cts);
bool join_has_all_records(const struct iso_join *join, const struct join_transaction *transaction,
                          uint32_t first);
/* Whether a committed transaction would have been delivered. */
bool join_leaves_marker(const struct iso_join *join, const struct join_record *record);

/* change.c */
void join_take_table_change(struct iso_join *join, const struct iso_history *block,
                            const struct iso_event *event);
/* The key has a version at that position; `found_some`: one that replaced another. */
void join_note_version(struct iso_join *join, uint32_t key, uint64_t position, bool found_some);
void join_add_lost(struct iso_join *join, uint32_t table, uint64_t position, uint64_t origin);
bool join_was_replaced(const struct iso_join *join,
                       uint32_t key); /* by another table, before its first version */
/* Whether a statement changed what the key has between these positions. */
bool join_is_altered_between(const struct iso_join *join, uint32_t key, uint64_t after,
                             uint64_t before);
void join_note_asked(struct iso_join *join,
                     uint32_t key); /* a client reads it for the first time */

/* aborted.c */
void join_take_begin(struct iso_join *join, const struct iso_history *block,
                     const struct iso_event *event);
void join_note_ended(struct iso_join *join, struct join_identity identity,
                     const struct iso_event *event);
/* PostgreSQL: no END of the transaction that began last will come, or none did so far. It is open,
 * behind the last END, though no row of it came. */
void join_open_begun(struct iso_join *join);
void join_undo_marker(struct iso_join *join, iso_atom tid); /* a row of what was undone has it */
/* The record's transaction committed behind its rows, at `from`; 0: nobody knows where. */
void join_forget_without_position(struct iso_join *join, uint32_t record, uint64_t from);

/* match.c */
void join_match_unknown(struct iso_join *join);

/* emit.c */
uint64_t join_position_of(const struct iso_join *join, const struct iso_history *block,
                          uint32_t transaction);
void join_emit_block(struct iso_join *join, const struct iso_history *block, uint32_t transaction);
void join_emit_kept(struct iso_join *join, uint32_t record);
void join_emit_placed(struct iso_join *join, uint32_t record);
void join_emit_joined(struct iso_join *join, const struct iso_history *from, uint32_t transaction,
                      uint64_t position);
void join_emit_foreign(struct iso_join *join, const struct join_transaction *transaction,
                       uint64_t cts);
void join_emit_unknown(struct iso_join *join,
                       const struct join_transaction *transaction); /* its outcome is not known */
void join_emit_changes(struct iso_join *join, const struct join_transaction *transaction,
                       uint64_t cts);
/* A version before all others; `delivered`: by a row of a snapshot, else by a change's before
 * image. */
void join_emit_initial(struct iso_join *join, uint32_t key, iso_atom value, uint64_t origin,
                       bool delivered);
/* A version of the key that its whole table got at `position`. */
void join_emit_table_version(struct iso_join *join, uint32_t key, iso_atom value, uint64_t position,
                             uint64_t origin);
/* Gives the engine the initial value of a key that has no such version. */
void join_emit_start(struct iso_join *join, uint32_t key, iso_atom value);
/* A row of a snapshot contradicts what was streamed (or, without an origin, was not sent): changes
 * are missing. */
void join_report_gap(struct iso_join *join, uint32_t key, iso_atom value, uint64_t origin);
void join_emit_altered(struct iso_join *join, const struct join_transaction *transaction,
                       uint64_t cts);
/* Emits respelt values of a transaction that has its position: before its own versions ... */
void join_emit_respelt(struct iso_join *join, const struct join_transaction *transaction);
/* ... and behind them. */
void join_note_newest(struct iso_join *join, const struct join_transaction *transaction,
                      uint64_t cts);
void join_emit_beyond(struct iso_join *join,
                      iso_atom tid); /* what it reads otherwise than it came waits */
void join_emit_last(struct iso_join *join, iso_atom tid); /* ISO_JOIN_LAST */
void join_emit_lost(struct iso_join *join, const struct join_transaction *transaction, iso_atom tid,
                    uint32_t table, uint64_t cts, bool is_named);
void join_emit_probe(struct iso_join *join, enum iso_violation_kind kind, iso_atom tid,
                     uint32_t key, iso_atom value, uint64_t cts, uint64_t origin);
void join_emit_resolution(struct iso_join *join, iso_atom tid, bool committed, uint64_t cts);
void join_emit_watermark(struct iso_join *join, uint64_t timestamp);
struct iso_join_finding *join_find(struct iso_join *join, enum iso_violation_kind kind,
                                   iso_atom tid, uint32_t key);
iso_atom join_name(struct iso_join *join,
                   const struct join_transaction *transaction); /* atom of `texts` */
iso_atom join_name_of(struct iso_join *join, struct join_identity identity);
iso_atom join_out(struct iso_join *join, iso_atom text); /* the same in the output's block */
enum { JOIN_NAME_BYTES = 320 };
size_t join_put_name(const struct iso_join *join, struct join_identity identity,
                     char name[JOIN_NAME_BYTES]);

/* One line of the log (base/log.h), of a transaction by its identity. */
#define JOIN_LOG(owner, identity, ...)                                                             \
    do {                                                                                           \
        char name_[JOIN_NAME_BYTES];                                                               \
        if (ISO_LOG_IS_ON)                                                                         \
            ISO_LOG_TEXT(join, name_, join_put_name(owner, identity, name_), __VA_ARGS__);         \
    } while (0)

/* copy.c */
uint32_t join_copy_head(struct iso_history *into, const struct iso_history *from,
                        uint32_t transaction);
uint32_t join_copy_whole(struct iso_history *into, const struct iso_history *from,
                         uint32_t transaction);
/* Copies a client's transaction of the batch's block, without operations that are not judged. */
uint32_t join_copy_transaction(struct iso_join *join, struct iso_history *into,
                               const struct iso_history *from, uint32_t transaction);
/* The last transaction's position in its session, where it does not say one itself. */
void join_set_position(struct iso_history *into, uint64_t position);

#endif
