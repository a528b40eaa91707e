/* The workloads: short transactions, each of which some level forbids to go wrong. */
#include <string.h>

#include "probe/probe_private.h"

enum {
    REGISTERS = 6,
    COUNTERS = 3,
    LISTS = 3,
    ACCOUNTS = 5,
    FORKS = 4,
    DUTIES = 2,
    RANGE = 6,
    RANGE_MOST = 40,
    BALANCE = 100
};
#define EIGHTH (UINT32_MAX / 8)

/* Reads and writes of single rows, in the order of their keys so that few wait for each other. */
static bool run_registers(struct probe_session *session)
{
    uint64_t value;
    for (uint64_t key = 0; key < REGISTERS; key++) {
        uint64_t draw = session_draw(session, 6);
        if (draw < 2 && !session_read(session, session_key(session, key), &value))
            return false;
        if ((draw == 1 || draw == 2) &&
            !session_write(session, session_key(session, key), session_new_value(session)))
            return false;
        /* Twice: the second time at a level may lie about the first, or show an own write. */
        if ((draw == 1 || draw == 3) &&
            !session_read(session, session_key(session, session_draw(session, REGISTERS)), &value))
            return false;
    }
    return true;
}

/* The value read decides the value written: a lost update is a version that nobody read. */
static bool run_counter(struct probe_session *session)
{
    uint64_t key = session_key(session, session_draw(session, COUNTERS)), value;
    return session_read(session, key, &value) &&
           session_write(session, key, session_new_value(session));
}

static bool run_lists(struct probe_session *session)
{
    uint64_t first = session_draw(session, LISTS), second = first + 1 < LISTS ? first + 1 : 0;
    bool appends = session_draw(session, 2);
    if (session_draw(session, 2) && !session_read_list(session, session_key(session, first)))
        return false;
    if (appends && !session_append(session, session_key(session, first < second ? first : second)))
        return false;
    if (appends && session_draw(session, 3) == 0 &&
        !session_append(session, session_key(session, first < second ? second : first)))
        return false;
    return session_read_list(session, session_key(session, second));
}

static uint64_t with_balance(struct probe_session *session, uint64_t balance)
{
    return balance * PROBE_BALANCE_UNIT + session_new_value(session) % PROBE_BALANCE_UNIT;
}

static bool audit(struct probe_session *session)
{
    uint64_t value;
    for (uint64_t account = 0; account < ACCOUNTS; account++)
        if (!session_read(session, session_key(session, account), &value))
            return false;
    return true;
}

/* Moves an amount from one account to another, or adds all of them up. */
static bool run_bank(struct probe_session *session)
{
    uint64_t low = session_draw(session, ACCOUNTS - 1),
             high = low + 1 + session_draw(session, ACCOUNTS - 1 - low);
    uint64_t values[2], amount = 1 + session_draw(session, 9);
    if (session_draw(session, 3) == 0)
        return audit(session);
    uint64_t keys[2] = {session_key(session, low), session_key(session, high)};
    bool from_high = session_draw(session, 2);
    for (int i = 0; i < 2; i++)
        if (!session_read(session, keys[i], &values[i]))
            return false;
    uint64_t balances[2] = {values[0] / PROBE_BALANCE_UNIT, values[1] / PROBE_BALANCE_UNIT};
    if (balances[from_high] < amount)
        return true;
    balances[from_high] -= amount;
    balances[!from_high] += amount;
    for (int i = 0; i < 2; i++)
        if (!session_write(session, keys[i], with_balance(session, balances[i])))
            return false;
    return true;
}

/* Writers of one row each; readers must agree on who came first. */
static bool run_fork(struct probe_session *session)
{
    uint64_t value, first = session_draw(session, FORKS),
                    step = session_draw(session, 2) ? 1 : FORKS - 1;
    if (session_draw(session, 2))
        return session_write(session, session_key(session, first), session_new_value(session));
    for (uint64_t i = 0; i < FORKS; i++)
        if (!session_read(session, session_key(session, (first + i * step) % FORKS), &value))
            return false;
    return true;
}

/* Reads both, writes one: two of these must not pass each other. */
static bool run_skew(struct probe_session *session)
{
    uint64_t value, mine = session_draw(session, DUTIES);
    for (uint64_t i = 0; i < DUTIES; i++)
        if (!session_read(session, session_key(session, i), &value))
            return false;
    return session_write(session, session_key(session, mine), session_new_value(session));
}

static bool insert_row(struct probe_session *session, uint64_t drawn)
{
    uint64_t place = RANGE + (uint32_t)drawn;
    bool is_current = drawn >> 32 == session->group;
    return !is_current || place >= RANGE_MOST ||
           session_insert(session, session_key(session, place), session_new_value(session));
}

/* Ranges, with inserts, deletes and updates in them. No key is inserted twice: what was deleted
 * stays so. */
static bool run_ranges(struct probe_session *session)
{
    struct probe_group *group = &session->probe->groups[session->workload];
    uint32_t there = RANGE + (uint32_t)atomic_load(&group->inserted);
    uint64_t from = session_draw(session, RANGE_MOST),
             to = from + 4 + session_draw(session, RANGE_MOST);
    if (session_draw(session, 2)) {
        from = 0;
        to = PROBE_GROUP - 1;
    }
    to = to < PROBE_GROUP ? to : PROBE_GROUP - 1;
    if (!session_read_range(session, session_key(session, from), session_key(session, to)))
        return false;
    there = there < RANGE_MOST ? there : RANGE_MOST;
    uint64_t victim = session_key(session, session_draw(session, there));
    switch (session_draw(session, 4)) {
    case 0:
        return insert_row(session, atomic_fetch_add(&group->inserted, 1));
    case 1:
        return session_delete(session, victim);
    case 2:
        return session_write(session, victim, session_new_value(session));
    default:
        return session_read_range(session, session_key(session, from), session_key(session, to));
    }
}

const struct probe_workload probe_workloads[PROBE_WORKLOADS] = {
    {"registers", "reads and writes of single rows; some are rolled back", REGISTERS, 300, EIGHTH,
     false, true, run_registers},
    {"counter", "a row is read and then written: lost updates", COUNTERS, 200, EIGHTH, false, true,
     run_counter},
    {"lists", "texts that grow by an element: they show the order of writes", LISTS, 60, EIGHTH,
     true, false, run_lists},
    {"bank", "transfers between accounts, and sums of all", ACCOUNTS, 200, 0, false, true,
     run_bank},
    {"fork", "writers of one row each, readers of all: long forks", FORKS, 200, 0, false, true,
     run_fork},
    {"skew", "both rows are read and one is written: write skew", DUTIES, 100, 0, false, true,
     run_skew},
    {"ranges", "ranges of rows, with inserts, updates and deletes in them: phantoms", RANGE, 120, 0,
     false, false, run_ranges}};

const char *iso_probe_workload_name(uint32_t index)
{
    return index < PROBE_WORKLOADS ? probe_workloads[index].name : NULL;
}

const char *iso_probe_workload_about(uint32_t index)
{
    return index < PROBE_WORKLOADS ? probe_workloads[index].about : NULL;
}

bool iso_probe_workload_streams(uint32_t index)
{
    return probe_workloads[index].streams;
}
