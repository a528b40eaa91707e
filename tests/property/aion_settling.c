/* aion with transactions that wait for those they overtook (aion/reorder/reorder_window.h), on
 * streams of some thousand.
 *
 * A simulated store that now and then lets through a stale read, an overlapping writer, a session
 * that looks back and transactions that did not commit; registers and lists, of small numbers and
 * of texts. Its transactions arrive with jitter, in blocks of random size that are wiped as soon as
 * they have been added, with watermarks as they become true and time that passes. What is final at
 * the end must be, id by id, what aion finds in the order of commits without waiting, and as many
 * of each axiom as chronos counts. Streams must differ in how many verdicts flip: where nothing
 * waits, where the disorder is learned, and where all wait for a given distance.
 *
 * aion_settling [--streams N] [--seed S]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aion/aion.h"
#include "chronos/chronos.h"
#include "history/copy.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"

enum { TRANSACTIONS = 3000, KEYS = 60, SESSIONS = 12, TICK = 10, MOST_FOUND = 200000 };

struct version {
    uint64_t cts;
    uint32_t value;
};

struct store {
    struct random random;
    struct iso_history history;
    struct version *versions[KEYS];
    uint32_t version_count[KEYS];
    uint64_t session_ended[SESSIONS];
    uint32_t next_value;
};

/* Keys are registers and lists by turns, of numbers and of texts. */
static bool is_list(uint32_t key)
{
    return key % 4 >= 2;
}

static iso_atom value_atom(struct store *store, uint32_t key, uint32_t value)
{
    char text[64];
    if (key % 2 == 0)
        return iso_atoms_unsigned(&store->history.atoms, value);
    int length = snprintf(text, sizeof text, "the value %u of key %u", value, key);
    return iso_atoms_text(&store->history.atoms, text, (size_t)length);
}

static uint32_t visible(const struct store *store, uint32_t key, uint64_t sts)
{
    uint32_t count = store->version_count[key];
    while (count && store->versions[key][count - 1].cts > sts)
        count--;
    return count;
}

static void read_key(struct store *store, uint32_t key, uint64_t sts)
{
    uint32_t count = visible(store, key, sts);
    if (count && random_below(&store->random, 300) == 0)
        count--;
    if (!is_list(key)) {
        iso_history_operation(&store->history, ISO_READ, key,
                              count ? value_atom(store, key, store->versions[key][count - 1].value)
                                    : ISO_ABSENT);
        return;
    }
    uint32_t list = iso_history_list(&store->history);
    for (uint32_t i = 0; i < count; i++)
        iso_history_element(&store->history, value_atom(store, key, store->versions[key][i].value));
    iso_history_operation(&store->history, ISO_READ_LIST, key, list);
}

static void write_key(struct store *store, uint32_t key, uint64_t cts, bool committed)
{
    uint32_t value = ++store->next_value;
    iso_history_operation(&store->history, is_list(key) ? ISO_APPEND : ISO_WRITE, key,
                          value_atom(store, key, value));
    if (!committed)
        return;
    uint32_t count = store->version_count[key]++;
    store->versions[key] =
        realloc(store->versions[key], (count + 1) * sizeof *store->versions[key]);
    store->versions[key][count] = (struct version){cts, value};
}

static void add_transaction(struct store *store, uint32_t number)
{
    uint32_t session = random_below(&store->random, SESSIONS),
             keys = 1 + random_below(&store->random, 4);
    uint64_t cts = (uint64_t)TICK * (number + 10),
             sts = cts - 1 - random_below(&store->random, 4 * TICK);
    uint8_t status = random_below(&store->random, 50)     ? ISO_COMMITTED
                     : random_percent(&store->random, 50) ? ISO_ABORTED
                                                          : ISO_UNKNOWN;
    bool looks_back = random_below(&store->random, 200) == 0;
    if (sts < store->session_ended[session] && !looks_back)
        sts = store->session_ended[session];
    iso_history_begin(&store->history, number, session, status, number);
    iso_history_set_sno(&store->history, number);
    iso_history_set_sts(&store->history, (struct iso_stamp){.physical = sts});
    if (status == ISO_COMMITTED)
        iso_history_set_cts(&store->history, (struct iso_stamp){.physical = cts});
    store->session_ended[session] = cts;
    for (uint32_t i = 0, key = random_below(&store->random, KEYS); i < keys;
         i++, key = (key + 7) % KEYS) {
        bool writes = random_percent(&store->random, is_list(key) ? 10 : 40);
        uint32_t seen = visible(store, key, sts);
        if (writes && seen < store->version_count[key] && random_below(&store->random, 100))
            writes = false; /* another one holds the key */
        if (!writes || random_percent(&store->random, 50))
            read_key(store, key, sts);
        if (writes)
            write_key(store, key, cts, status == ISO_COMMITTED);
    }
}

static void make_history(struct store *store, uint64_t seed)
{
    memset(store, 0, sizeof *store);
    store->random.state = seed;
    iso_history_init(&store->history);
    store->history.clock = ISO_CLOCK_SCALAR;
    for (uint32_t t = 0; t < TRANSACTIONS; t++)
        add_transaction(store, t);
    for (uint32_t k = 0; k < KEYS; k++)
        free(store->versions[k]);
}

static void copy_transaction(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    iso_history_begin(
        into, iso_atoms_copy(&into->atoms, &from->atoms, from->txns.tid[t]),
        iso_atoms_copy(&into->atoms, &from->atoms, from->sessions.atom[from->txns.session[t]]),
        iso_status_of(from, t), from->txns.origin[t]);
    iso_history_set_sno(into, from->txns.sno[t]);
    iso_history_set_sts(into, (struct iso_stamp){.physical = from->txns.sts[t]});
    if (from->txns.flags[t] & ISO_HAS_CTS)
        iso_history_set_cts(into, (struct iso_stamp){.physical = from->txns.cts[t]});
    iso_history_copy_operations(into, from, t, true);
}

/* ---- what was found ---- */

struct found {
    uint64_t ids[MOST_FOUND];
    uint32_t count;
};

static void collect(void *context, const struct iso_aion_event *event)
{
    struct found *found = context;
    uint32_t at = 0;
    if (event->state == ISO_AION_TENTATIVE)
        return;
    while (at < found->count && found->ids[at] != event->id)
        at++;
    if (event->state == ISO_AION_RETRACTED && at < found->count)
        found->ids[at] = found->ids[--found->count];
    else if (event->state == ISO_AION_FINAL && at == found->count && found->count < MOST_FOUND)
        found->ids[found->count++] = event->id;
}

static int compare_ids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* ---- streams ---- */

struct plan {
    enum iso_level level;
    uint64_t settle_ms, settle_distance;
    uint32_t shards, jitter, block;
    bool watermarks, deadlines, untimed, clock; /* does time pass? */
};

struct arrival {
    uint64_t at;
    uint32_t transaction;
};

static int compare_arrivals(const void *left, const void *right)
{
    const struct arrival *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->transaction < b->transaction ? -1 : 1;
}

/* What is the least that may still come behind each arrival. */
static void draw_arrivals(const struct iso_history *history, const struct plan *plan,
                          struct random *random, struct arrival *arrivals, uint64_t *least)
{
    for (uint32_t t = 0; t < TRANSACTIONS; t++)
        arrivals[t] =
            (struct arrival){t + (plan->jitter ? random_below(random, plan->jitter) : 0), t};
    qsort(arrivals, TRANSACTIONS, sizeof *arrivals, compare_arrivals);
    least[TRANSACTIONS] = UINT64_MAX;
    for (uint32_t i = TRANSACTIONS; i-- > 0;) {
        uint32_t t = arrivals[i].transaction;
        uint64_t time = iso_status_of(history, t) == ISO_COMMITTED ? history->txns.cts[t]
                                                                   : history->txns.sts[t];
        least[i] = time < least[i + 1] ? time : least[i + 1];
    }
}

static void feed(struct iso_aion *engine, const struct iso_history *history,
                 const struct plan *plan, struct random *random)
{
    struct arrival *arrivals = malloc(TRANSACTIONS * sizeof *arrivals);
    uint64_t *least = malloc((TRANSACTIONS + 1) * sizeof *least), now = 0;
    struct iso_error error = {.status = ISO_OK};
    struct iso_history block;
    iso_history_init(&block);
    draw_arrivals(history, plan, random, arrivals, least);
    for (uint32_t first = 0, count; first < TRANSACTIONS; first += count) {
        count = 1 + random_below(random, plan->block);
        count = count < TRANSACTIONS - first ? count : TRANSACTIONS - first;
        iso_history_release(&block);
        iso_history_init(&block);
        block.clock = ISO_CLOCK_SCALAR;
        for (uint32_t i = first; i < first + count; i++)
            copy_transaction(&block, history, arrivals[i].transaction);
        iso_aion_block(engine, &block);
        if (iso_aion_add(engine, 0, count, now, NULL, &error) != ISO_OK)
            printf("# %s\n", error.text);
        now += plan->clock ? random_below(random, 3 * count / 2 + 2) : 0;
        if (plan->watermarks && random_percent(random, 50) && least[first + count] != UINT64_MAX)
            iso_aion_watermark(engine, least[first + count] - 1, now);
        if (plan->deadlines || random_percent(random, 50))
            iso_aion_tick(engine, now);
    }
    iso_aion_end(engine, now);
    iso_history_release(&block);
    free(arrivals);
    free(least);
}

static struct iso_aion_stats judge(const struct iso_history *history, const struct plan *plan,
                                   uint64_t seed, struct found *found)
{
    struct random random = {seed};
    struct iso_aion_options options;
    struct iso_aion_stats stats;
    iso_aion_options_init(&options);
    options.level = plan->level;
    options.shards = plan->shards;
    options.finality_timeout_ms = plan->deadlines ? 100 : 0;
    options.settle_ms = plan->settle_ms;
    options.forced.settle_distance = plan->settle_distance;
    options.host.settle_untimed = plan->untimed;
    options.host.emit = collect;
    options.host.context = found;
    found->count = 0;
    struct iso_aion *engine = iso_aion_new(&options);
    feed(engine, history, plan, &random);
    iso_aion_stats(engine, &stats);
    iso_aion_free(engine);
    qsort(found->ids, found->count, sizeof found->ids[0], compare_ids);
    return stats;
}

static bool chronos_counts_same(const struct iso_history *history, enum iso_level level,
                                const struct iso_aion_stats *stats)
{
    struct iso_check_options options = {.level = level, .session_order = true, .threads = 1};
    struct iso_error error = {.status = ISO_OK};
    struct iso_verdict verdict;
    iso_verdict_init(&verdict, history, level, 1);
    bool same = iso_chronos_check(history, &options, &verdict, &error) == ISO_OK &&
                memcmp(verdict.counts, stats->counts, sizeof stats->counts) == 0 &&
                verdict.reads_unjudged == stats->reads_unjudged;
    for (int a = 0; a < ISO_AXIOMS && !same; a++)
        printf("# %s: %" PRIu64 ", chronos %" PRIu64 "\n", iso_axiom_name((enum iso_axiom)a),
               stats->counts[a], verdict.counts[a]);
    if (!same)
        printf("# unjudged: %" PRIu64 ", chronos %" PRIu64 "\n", stats->reads_unjudged,
               verdict.reads_unjudged);
    iso_verdict_release(&verdict);
    return same;
}

/* ---- many ---- */

struct total {
    uint64_t found, flipped[3], streams[3]; /* nothing waits, learned, at a distance */
};

static struct plan draw_plan(struct random *random, enum iso_level level, uint32_t jitter)
{
    struct plan plan = {.level = level, .jitter = jitter};
    uint32_t how = random_below(random, 3);
    plan.settle_ms = how ? 1 + random_below(random, 2000) : 0;
    plan.settle_distance = how == 2 ? TICK * (1 + random_below(random, 600)) : 0;
    plan.shards = 1 + random_below(random, 3);
    plan.block = random_percent(random, 30) ? 4 : random_percent(random, 50) ? 150 : 900;
    plan.watermarks = random_percent(random, 60);
    plan.deadlines = random_percent(random, 30);
    plan.clock = random_percent(random, 70);
    plan.untimed = random_percent(random, 20);
    return plan;
}

static bool agrees(const struct iso_history *history, const struct plan *plan, uint64_t seed,
                   const struct found *wanted, struct found *found, struct total *total)
{
    uint32_t how = !plan->settle_ms ? 0 : plan->settle_distance ? 2 : 1;
    struct iso_aion_stats stats = judge(history, plan, seed, found);
    total->flipped[how] += stats.flipped;
    total->streams[how]++;
    if (found->count == wanted->count &&
        !memcmp(found->ids, wanted->ids, found->count * sizeof found->ids[0]) && !stats.waiting)
        return true;
    printf("not ok - %s, seed %" PRIu64 ", jitter %u, blocks to %u, %u shards, settling %" PRIu64
           " ms %" PRIu64 "%s%s%s: %u found, expected %u\n",
           iso_level_name(plan->level), seed, plan->jitter, plan->block, plan->shards,
           plan->settle_ms, plan->settle_distance, plan->watermarks ? ", watermarks" : "",
           plan->deadlines ? ", deadlines" : "", plan->clock ? ", clock" : "", found->count,
           wanted->count);
    return false;
}

static bool judge_store(uint64_t seed, enum iso_level level, struct found *wanted,
                        struct found *found, struct total *total)
{
    enum { STREAMS = 4 };
    struct plan in_order = {.level = level, .shards = 1, .block = 700};
    struct random random = {seed * 77 + level};
    struct iso_history finished;
    struct iso_error error = {.status = ISO_OK};
    struct store store;
    make_history(&store, seed);
    iso_history_init(&finished);
    finished.clock = ISO_CLOCK_SCALAR;
    for (uint32_t t = 0; t < TRANSACTIONS; t++)
        copy_transaction(&finished, &store.history, t);
    struct iso_aion_stats stats = judge(&store.history, &in_order, seed, wanted);
    bool good = iso_history_finish(&finished, &error) == ISO_OK &&
                chronos_counts_same(&finished, level, &stats);
    if (!good)
        printf("not ok - %s, seed %" PRIu64 ": in order not as chronos\n", iso_level_name(level),
               seed);
    total->found += wanted->count;
    for (uint32_t i = 0; good && i < STREAMS; i++) {
        uint32_t jitter = random_percent(&random, 20) ? 0 : 1 + random_below(&random, 600);
        struct plan plan = draw_plan(&random, level, jitter);
        good = agrees(&store.history, &plan, seed * STREAMS + i, wanted, found, total);
    }
    iso_history_release(&finished);
    iso_history_release(&store.history);
    return good;
}

/* Streams differ in their disorder: only the averages of so many can be compared. */
enum { MANY = 12 };

static bool report(const struct total *total)
{
    double share[3];
    printf("# %" PRIu64 " violations\n", total->found);
    for (int how = 0; how < 3; how++) {
        static const char *const names[] = {"nothing waits", "learned", "at a distance"};
        share[how] = (double)total->flipped[how] / ((double)total->streams[how] * TRANSACTIONS + 1);
        printf("# %s: %" PRIu64 " streams, %.2f%% flipped\n", names[how], total->streams[how],
               100 * share[how]);
    }
    bool many = total->streams[0] >= MANY && total->streams[1] >= MANY && total->streams[2] >= MANY;
    bool good = total->found && total->flipped[0] &&
                (!many || (share[1] < share[0] && share[2] < share[0]));
    printf("%s - what waits flips less%s\n", good ? "ok" : "not ok",
           many ? "" : ", for which these streams are too few");
    return good;
}

int main(int argc, char **argv)
{
    uint64_t streams = 12, seed = 1;
    const struct argument known[] = {
        {"--streams", .number = &streams}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    struct found *wanted = malloc(sizeof *wanted), *found = malloc(sizeof *found);
    bool good = true;
    for (int level = ISO_SI; level <= ISO_SER; level++) {
        struct total total = {0};
        bool all = true;
        for (uint64_t i = 0; all && i < streams; i++)
            all = judge_store(seed + i, (enum iso_level)level, wanted, found, &total);
        if (all)
            printf("ok - %s: %" PRIu64 " stores, the same however they arrive and wait\n",
                   iso_level_name((enum iso_level)level), streams);
        good &= all && report(&total);
    }
    free(wanted);
    free(found);
    return good ? 0 : 1;
}
