/* All versions of all keys, in order: what the levels below pc look up where a sweep has one
 * frontier at a time.
 *
 * A read is *right* at an exclusive bound (chronos_private.h) if it returns what may be the newest
 * version below it, none of which is the reader's own. Of versions of one cts any may be the
 * newest: their order is not known where it matters (commits between the same two snapshots). Where
 * timestamps are positions among snapshots, commits of one position become visible one after the
 * other without a snapshot in between to tell; at the bound just above them a read is right that
 * saw none of them, too.
 *
 * A list's version is how many elements it has; its elements are the key's in `struct chronos`.
 *
 * Costs: 20 bytes a version; building sorts the versions of each key by value; each question is a
 * few searches. Read only once built. Threads: any number of readers.
 */
#pragma once

#include "chronos/chronos_private.h"

struct chronos_version {
    uint64_t cts;
    uint32_t writer, value;
};

struct chronos_index {
    const struct chronos *check;
    uint32_t *first;    /* by key: into `versions`, in their order; one more at the end */
    uint32_t *by_value; /* the same positions, by value and then in their order */
    struct chronos_version *versions;
    bool are_positions; /* timestamps are positions among snapshots */
    /* By version, or NULL (messages.c): a statement that was sent after the first sees it, or a
     * later one of its key; one that was answered before the second sees neither. */
    uint64_t *visible_by, *hidden_until;
};

struct chronos_index *chronos_index_new(struct chronos *check); /* fills the check's lists, too */
void chronos_index_free(struct chronos_index *index);

/* A read of a key: the value returned, and whose versions it does not see. */
struct chronos_look {
    uint32_t key, reader;
    uint32_t value;    /* a list: how many elements were others' */
    bool is_of_nobody; /* a list that never was: right nowhere */
};
struct chronos_look chronos_look_of(const struct chronos_index *index,
                                    const struct chronos_extra *read);

/* The position of the key's first version whose cts is not below the bound. */
uint32_t chronos_position_of(const struct chronos_index *index, uint32_t key, uint64_t bound);

/* Where in `by_value` the first version with the value that was read stands whose position is
 * `position` or above; or the end of the versions with that value. */
uint32_t chronos_find_value(const struct chronos_index *index, const struct chronos_look *look,
                            uint32_t position);

bool chronos_right_at(const struct chronos_index *index, const struct chronos_look *look,
                      uint64_t bound);

/* The first bound from `low` to `high`, or the last one, at which the read is right; 0: none. `low`
 * is not 0. */
uint64_t chronos_first_right(const struct chronos_index *index, const struct chronos_look *look,
                             uint64_t low, uint64_t high);
uint64_t chronos_last_right(const struct chronos_index *index, const struct chronos_look *look,
                            uint64_t high);

/* The first bound from `low` up to `high` at which nobody can say whether the read is right, since
 * a version that the operation may have seen cannot be compared with what was read: `*version`, or
 * ISO_NONE, the initial one. 0: none. */
uint64_t chronos_first_unsure(const struct chronos_index *index, const struct chronos_look *look,
                              uint32_t operation, uint64_t low, uint64_t high, uint32_t *version);

/* The newest version below the bound that is not the reader's: its position in `versions`, or
 * ISO_NONE: the initial one. */
uint32_t chronos_newest_below(const struct chronos_index *index, uint32_t key, uint32_t reader,
                              uint64_t bound);

/* The initial version: a value, or the number of elements. */
uint32_t chronos_initial_version(const struct chronos_index *index, uint32_t key);

/* Whether the read may be of the version `from` (ISO_NONE: the initial one), or of another one
 * before the position `end`; CHRONOS_UNCLEAR: of none but maybe `*unclear`, which cannot be
 * compared with what was read. */
enum chronos_sight { CHRONOS_UNSEEN, CHRONOS_UNCLEAR, CHRONOS_SEEN };
enum chronos_sight chronos_may_see(const struct chronos_index *index,
                                   const struct chronos_look *look, uint32_t from, uint32_t end,
                                   uint32_t *unclear);

void chronos_messages_add(struct chronos_index *index);
/* Whether what was read fits when messages went, as far as that is known: from `*expected` on (or
 * ISO_NONE, the initial version), which it had to see at least, up to `*last`. */
enum chronos_sight chronos_messages_allow(const struct chronos_index *index,
                                          const struct chronos_look *look, uint32_t operation,
                                          uint32_t *expected, uint32_t *last, uint32_t *unclear);
/* Whether it surely saw another one than this version. */
bool chronos_messages_exclude(const struct chronos_index *index, const struct chronos_look *look,
                              uint32_t operation, uint32_t version);

/* Whether two writers of a list share a position, so that nobody knows in which order they
 * appended. */
bool chronos_list_is_tied(const struct chronos_index *index, uint32_t key);
