/* aion on real histories: in the order of their files, and in shuffled orders with watermarks on
 * the way, each at both levels. The counts must be those that the recordings are known to have
 * (TIMESTAMPED.tsv), or chronos's.
 *
 * To be run from the repository's root. aion_recordings [--shuffles N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aion/aion.h"
#include "chronos/chronos.h"
#include "native/read.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"

#define RECORDINGS "tests/data/recordings/"

struct counts {
    uint64_t of[ISO_AXIOMS];
};

static bool load(const char *path, const char *initial_value, const char *initial_file,
                 struct iso_history *history)
{
    struct iso_read_options options = {.threads = 2};
    struct iso_error error = {.status = ISO_OK};
    enum iso_status status = iso_read_history(&path, 1, &options, history, &error);
    if (status == ISO_OK && initial_file)
        status = iso_read_initial(initial_file, history, &error);
    if (initial_value)
        history->initial.other_value =
            iso_atoms_text(&history->atoms, initial_value, strlen(initial_value));
    if (status == ISO_OK)
        status = iso_history_finish(history, &error);
    if (status != ISO_OK)
        printf("# %s\n", error.text);
    return status == ISO_OK;
}

/* "holds", or "SESSION=452 EXT=3". */
static struct counts parse_counts(const char *text)
{
    struct counts counts = {{0}};
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        const char *name = iso_axiom_name(axiom), *at = strstr(text, name);
        if (at && at[strlen(name)] == '=')
            counts.of[axiom] = strtoull(at + strlen(name) + 1, NULL, 10);
    }
    return counts;
}

static struct counts check(const struct iso_history *history, enum iso_level level, bool aion)
{
    struct iso_check_options options = {.level = level, .session_order = true, .threads = 1};
    struct iso_error error = {.status = ISO_OK};
    struct iso_verdict verdict;
    struct counts counts = {{0}};
    iso_verdict_init(&verdict, history, level, 1);
    enum iso_status status = aion ? iso_aion_check(history, &options, &verdict, &error)
                                  : iso_chronos_check(history, &options, &verdict, &error);
    if (status == ISO_OK)
        memcpy(counts.of, verdict.counts, sizeof counts.of);
    else
        counts.of[0] = UINT64_MAX, printf("# %s\n", error.text);
    iso_verdict_release(&verdict);
    return counts;
}

/* One by one in a random order; a watermark now and then, as high as what is still to come
 * allows. */
static struct counts stream(const struct iso_history *history, enum iso_level level, uint64_t seed)
{
    struct random random = {seed};
    struct iso_aion_options options;
    struct iso_aion_stats stats;
    struct iso_error error = {.status = ISO_OK};
    struct counts counts;
    uint32_t count = history->txns.count, *order = malloc((count + 1) * sizeof *order);
    uint64_t *least = malloc((count + 1) * sizeof *least);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = 1; i < count; i++) { /* within some thousand places */
        uint32_t reach = i < 3000 ? i : 3000, other = i - random_below(&random, reach + 1),
                 held = order[i];
        order[i] = order[other];
        order[other] = held;
    }
    least[count] = UINT64_MAX;
    for (uint32_t i = count; i-- > 0;) {
        uint8_t flags = history->txns.flags[order[i]];
        bool committed = (flags & ISO_STATUS_MASK) == ISO_COMMITTED;
        uint64_t time = committed             ? history->txns.cts[order[i]]
                        : flags & ISO_HAS_STS ? history->txns.sts[order[i]]
                                              : 0;
        least[i] = time < least[i + 1] ? time : least[i + 1];
    }
    iso_aion_options_init(&options);
    options.level = level;
    options.finality_timeout_ms = 0;
    options.shards = 1 + (uint32_t)(seed % 3);
    struct iso_aion *engine = iso_aion_new(&options);
    iso_aion_initial(engine, history);
    iso_aion_block(engine, history);
    for (uint32_t i = 0; i < count; i++) {
        if (iso_aion_add(engine, order[i], 1, i, NULL, &error) != ISO_OK)
            printf("# %s\n", error.text);
        if (i % 100 == 99 && least[i + 1])
            iso_aion_watermark(engine, least[i + 1] - 1, i);
    }
    iso_aion_end(engine, count);
    iso_aion_stats(engine, &stats);
    memcpy(counts.of, stats.counts, sizeof counts.of);
    iso_aion_free(engine);
    free(order);
    free(least);
    return counts;
}

static bool same(const struct counts *found, const struct counts *wanted, const char *path,
                 enum iso_level level, const char *how)
{
    if (memcmp(found, wanted, sizeof *found) == 0)
        return true;
    printf("# %s %s %s:", path, iso_level_name(level), how);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        printf(" %s %llu, expected %llu;", iso_axiom_name(axiom),
               (unsigned long long)found->of[axiom], (unsigned long long)wanted->of[axiom]);
    printf("\n");
    return false;
}

static bool compare(const char *path, const struct iso_history *history, enum iso_level level,
                    const struct counts *wanted, uint32_t shuffles)
{
    struct counts found = check(history, level, true);
    bool good = same(&found, wanted, path, level, "in file order");
    for (uint32_t i = 0; i < shuffles; i++) {
        found = stream(history, level, 100 + i);
        good &= same(&found, wanted, path, level, "shuffled");
    }
    printf("%s - %s %s: counts are exact in file order and in %u shuffled ones\n",
           good ? "ok" : "not ok", path, iso_level_name(level), shuffles);
    return good;
}

static bool compare_known(uint32_t shuffles)
{
    char line[512], name[256], initial[32], path[512];
    FILE *file = fopen(RECORDINGS "TIMESTAMPED.tsv", "r");
    uint32_t rows = 0;
    bool good = file && fgets(line, sizeof line, file);
    while (good && fgets(line, sizeof line, file)) {
        struct iso_history history;
        int end = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%255[^\t]\t%*[^\t]\t%31[^\t]\t%n", name, initial, &end) != 2)
            continue;
        char *ser = strchr(line + end, '\t');
        *ser++ = 0;
        struct counts at_si = parse_counts(line + end), at_ser = parse_counts(ser);
        snprintf(path, sizeof path, RECORDINGS "%s", name);
        iso_history_init(&history);
        good = load(path, initial, NULL, &history);
        good = good && compare(name, &history, ISO_SI, &at_si, shuffles);
        good = good && compare(name, &history, ISO_SER, &at_ser, shuffles);
        iso_history_release(&history);
        rows++;
    }
    if (file)
        fclose(file);
    printf("%s - all rows of TIMESTAMPED.tsv\n", good && rows >= 8 ? "ok" : "not ok");
    return good && rows >= 8;
}

static bool compare_captured(const char *name, const char *initial_file, uint32_t shuffles)
{
    struct iso_history history;
    char path[512];
    snprintf(path, sizeof path, RECORDINGS "%s", name);
    iso_history_init(&history);
    bool good = load(path, NULL, initial_file, &history);
    if (!good)
        printf("not ok - %s\n", name);
    for (int level = ISO_SI; good && level <= ISO_SER; level++) {
        struct counts wanted = check(&history, level, false);
        if (wanted.of[0] == UINT64_MAX)
            continue; /* refused: chronos cannot judge it either */
        good = compare(name, &history, level, &wanted, shuffles);
    }
    iso_history_release(&history);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t number = 2;
    const struct argument known[] = {{"--shuffles", .number = &number}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    uint32_t shuffles = (uint32_t)number;
    bool good = compare_known(shuffles);
    good &= compare_captured("dgraph/clean.history.jsonl.zst", NULL, shuffles);
    good &= compare_captured("dgraph/best-effort.history.jsonl.zst", NULL, shuffles);
    good &= compare_captured("dgraph/noconflict.history.jsonl.zst", NULL, shuffles);
    good &= compare_captured("dgraph/kill.history.jsonl.zst", NULL, shuffles);
    good &= compare_captured("dgraph/kill-20k.history.jsonl.zst", NULL, shuffles);
    good &= compare_captured("tikv/optimistic.history.jsonl.zst", NULL, shuffles);
    good &= compare_captured("tikv/pessimistic.history.jsonl.zst", NULL, shuffles);
    good &= compare_captured("debezium-postgres/bank.history.jsonl.zst",
                             RECORDINGS "debezium-postgres/bank.initial.json", shuffles);
    good &= compare_captured("debezium-postgres/bank.derived.history.jsonl.zst",
                             RECORDINGS "debezium-postgres/bank.initial.json", shuffles);
    return good ? 0 : 1;
}
