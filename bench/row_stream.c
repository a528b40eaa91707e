/* A stream of transactions on rows, some by key and some by condition, into the engines: aion
 * judges what was read, rowsets what queries did not find, as the pipeline feeds them.
 *
 * usage: row_stream TRANSACTIONS [ROWS [DELAY DEVIATION [MEGABYTES FOLDER]]]
 *
 * 20 tables of ROWS (100000) rows, of which five have one owner. Each transaction reads four rows
 * by key, asks for the rows of two owners, and writes two rows; it arrives DELAY ms late, give or
 * take DEVIATION, of 150,000 a second. With MEGABYTES the engines are kept within them, and the
 * spill file is in FOLDER. Prints transactions a second of processor time in the engines, rows that
 * a query looked at, and what the engines hold after each tenth.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aion/aion.h"
#include "base/memory.h"
#include "base/rng.h"
#include "measure/arrival.h"
#include "rowsets/shards.h"

enum { TABLES = 20, OWNED = 5, READS = 4, QUERIES = 2, WRITES = 2, BATCH = 512, WINDOW = 1 << 16 };
enum { RATE = 150000, RETENTION = 1 << 15, INSERTS = 50, SESSIONS = 64 };

struct place {
    uint32_t table, row, value;
};

/* Transaction n starts at 2n and commits at 2n + 1. */
struct transaction {
    struct place reads[READS], writes[WRITES], returned[QUERIES * OWNED];
};

struct run {
    struct iso_aion *aion;
    struct iso_rowsets_shards *rowsets;
    struct iso_history block;
    struct transaction *window; /* by number, the newest ones */
    struct iso_arrival *arrivals;
    uint32_t *values, rows, made, arrived, least; /* all below `least` have arrived */
    bool *came;
    uint64_t memory, faults;
    struct iso_rng rng;
    double seconds;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- transactions ---- */

static struct place place_of(const struct run *run, uint32_t table, uint32_t row)
{
    return (struct place){table, row, run->values[(size_t)table * run->rows + row]};
}

static struct place draw(struct run *run)
{
    uint32_t table = (uint32_t)(iso_rng_next(&run->rng) % TABLES);
    return place_of(run, table, (uint32_t)(iso_rng_next(&run->rng) % run->rows));
}

static void make(struct run *run)
{
    struct transaction *made = &run->window[run->made % WINDOW];
    uint32_t owners = run->rows / OWNED;
    for (int i = 0; i < READS; i++)
        made->reads[i] = draw(run);
    for (int i = 0; i < QUERIES; i++) {
        struct place first = draw(run);
        for (uint32_t j = 0; j < OWNED; j++)
            made->returned[i * OWNED + (int)j] =
                place_of(run, first.table, first.row % owners + j * owners);
    }
    for (int i = 0; i < WRITES; i++) {
        do
            made->writes[i] = draw(run);
        while (i && made->writes[0].row == made->writes[i].row);
        made->writes[i].value = run->made;
    }
    for (int i = 0; i < WRITES; i++)
        run->values[(size_t)made->writes[i].table * run->rows + made->writes[i].row] = run->made;
    run->made++;
}

static iso_atom text(struct run *run, const char *format, uint32_t table, uint32_t number)
{
    char buffer[64];
    int length = snprintf(buffer, sizeof buffer, format, table, number);
    return iso_atoms_text(&run->block.atoms, buffer, (size_t)length);
}

static void put_row(struct run *run, enum iso_operation_kind kind, struct place place)
{
    iso_history_operation(&run->block, kind, text(run, "t%u/%u", place.table, place.row),
                          text(run, "true", 0, 0));
    iso_history_operation(&run->block, kind, text(run, "t%u/%u#amount", place.table, place.row),
                          place.value);
}

static const struct iso_range nothing = {.from = ISO_ABSENT,
                                         .to = ISO_ABSENT,
                                         .table = ISO_ABSENT,
                                         .where = ISO_ABSENT,
                                         .returned = ISO_ABSENT,
                                         .form = ISO_SET_ROW};

static void put_one(struct run *run, enum iso_operation_kind kind, struct place place)
{
    struct iso_range set = nothing;
    put_row(run, kind, place);
    iso_history_range(&run->block, &set, 2);
}

static void put_query(struct run *run, const struct place *returned)
{
    struct iso_range set = nothing;
    uint32_t owner = returned->row % (run->rows / OWNED);
    set.form = ISO_SET_QUERY;
    set.table = text(run, "t%u", returned->table, 0);
    set.where = text(run, "owner = %u", owner, 0);
    iso_history_operation(&run->block, ISO_READ, text(run, "t%u#", returned->table, 0), ISO_ABSENT);
    for (int i = 0; i < OWNED; i++)
        put_row(run, ISO_READ, returned[i]);
    iso_history_range(&run->block, &set, 1 + 2 * OWNED);
}

static void begin(struct run *run, const char *tid, uint32_t number, uint64_t sts)
{
    iso_history_begin(&run->block, text(run, tid, number, 0), *tid * SESSIONS + number % SESSIONS,
                      ISO_COMMITTED, number);
    iso_history_set_sno(&run->block, number / SESSIONS);
    iso_history_set_sts(&run->block, (struct iso_stamp){sts, 0});
    iso_history_set_cts(&run->block, (struct iso_stamp){sts + 1, 0});
}

static void put(struct run *run, uint32_t number)
{
    const struct transaction *made = &run->window[number % WINDOW];
    begin(run, "x%u", number, 2ull * TABLES * run->rows + 2ull * number);
    for (int i = 0; i < READS; i++)
        put_one(run, ISO_READ, made->reads[i]);
    for (int i = 0; i < QUERIES; i++)
        put_query(run, &made->returned[i * OWNED]);
    for (int i = 0; i < WRITES; i++)
        put_one(run, ISO_WRITE, made->writes[i]);
}

static void put_inserts(struct run *run, uint32_t number)
{
    begin(run, "i%u", number, 2ull * number + 2);
    for (uint32_t i = number * INSERTS; i < (number + 1) * INSERTS && i < TABLES * run->rows; i++) {
        struct place place = {i / run->rows, i % run->rows, 0};
        struct iso_range set = nothing;
        put_row(run, ISO_WRITE, place);
        iso_history_operation(&run->block, ISO_WRITE,
                              text(run, "t%u/%u#owner", place.table, place.row),
                              place.row % (run->rows / OWNED));
        iso_history_range(&run->block, &set, 3);
    }
}

/* ---- the engines ---- */

static void on_taken(void *context, const struct iso_history *block, uint32_t transaction)
{
    struct run *run = context;
    (void)block;
    iso_rowsets_shards_add(run->rowsets, transaction);
}

static uint64_t bytes_beside(void *context)
{
    return iso_rowsets_shards_bytes(((struct run *)context)->rowsets);
}

static uint64_t memory_in_use(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void on_floor(void *context, uint64_t floor)
{
    if (floor > 1)
        iso_rowsets_shards_forget(((struct run *)context)->rowsets, floor - 1);
}

static void on_event(void *context, const struct iso_aion_event *event)
{
    ((struct run *)context)->faults += event->state == ISO_AION_FINAL;
}

static void on_finding(void *context, const struct iso_rowsets_finding *finding)
{
    (void)finding;
    ((struct run *)context)->faults++;
}

static struct iso_scalar_type type_of(void *context, struct iso_json_text table,
                                      struct iso_json_text column)
{
    (void)context;
    (void)table;
    (void)column;
    return (struct iso_scalar_type){.value = {.kind = ISO_VALUE_INTEGER}, .is_signed = true};
}

static void open_engines(struct run *run, const char *folder)
{
    struct iso_aion_options options;
    struct iso_rowsets_options sets;
    struct iso_history initial;
    iso_aion_options_init(&options);
    options.retention = RETENTION;
    options.settle_ms = 200;
    options.memory_limit = run->memory;
    options.spill = folder;
    options.host.on_taken = on_taken;
    options.host.bytes_beside = bytes_beside;
    options.host.memory_in_use = memory_in_use;
    options.host.on_floor = on_floor;
    options.host.emit = on_event;
    options.host.context = run;
    iso_rowsets_options_init(&sets);
    sets.retention = RETENTION;
    sets.type_of = type_of;
    sets.spill = folder;
    sets.on_finding = on_finding;
    sets.context = run;
    run->aion = iso_aion_new(&options);
    run->rowsets = iso_rowsets_shards_new(&sets, NULL, NULL);
    iso_rowsets_shards_whole(run->rowsets);
    iso_history_init(&initial);
    iso_aion_initial(run->aion, &initial);
    iso_history_release(&initial);
}

static void feed(struct run *run, uint64_t watermark, uint64_t now)
{
    struct iso_error error = ISO_NO_ERROR;
    double before = seconds();
    iso_aion_block(run->aion, &run->block);
    iso_rowsets_shards_block(run->rowsets, &run->block);
    iso_aion_add(run->aion, 0, run->block.txns.count, now, NULL, &error);
    iso_rowsets_shards_flush(run->rowsets);
    iso_aion_watermark(run->aion, watermark, now);
    iso_rowsets_shards_watermark(run->rowsets, watermark);
    if (run->memory)
        iso_rowsets_shards_fit(run->rowsets, run->memory / 2);
    run->seconds += seconds() - before;
    iso_history_clear(&run->block);
    if (error.status == ISO_OK)
        return;
    fprintf(stderr, "row_stream: %s\n", error.text);
    exit(2);
}

/* ---- the run ---- */

static void insert_all(struct run *run)
{
    uint32_t count = (TABLES * run->rows + INSERTS - 1) / INSERTS;
    for (uint32_t i = 0; i < count; i++) {
        put_inserts(run, i);
        if ((i + 1) % BATCH == 0 || i + 1 == count)
            feed(run, 2ull * i + 3, 0);
    }
    run->seconds = 0;
}

static void report(struct run *run)
{
    struct iso_rowsets_stats sets;
    struct iso_aion_stats stats;
    iso_rowsets_shards_stats(run->rowsets, &sets);
    iso_aion_stats(run->aion, &stats);
    printf("%u transactions: %.0f/s; %.2f rows a query, aion %" PRIu64 " MB, rowsets %" PRIu64
           " MB, faults %" PRIu64 ", unjudged %" PRIu64 "\n",
           run->arrived, run->arrived / run->seconds,
           (double)sets.looked_at / (double)(sets.queries ? sets.queries : 1), stats.bytes >> 20,
           sets.bytes >> 20, run->faults, sets.unjudged + stats.reads_unjudged);
    fflush(stdout);
}

static void take(struct run *run, uint32_t count)
{
    uint32_t number = run->arrivals[run->arrived++].number;
    while (run->made <= number)
        make(run);
    put(run, number);
    run->came[number] = true;
    while (run->least < count && run->came[run->least])
        run->least++;
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    struct iso_arrival_options late = {.rate = RATE,
                                       .delay = argc > 4 ? strtod(argv[3], NULL) : 0,
                                       .deviation = argc > 4 ? strtod(argv[4], NULL) : 0,
                                       .seed = 1};
    struct run *run = iso_allocate_zeroed(1, sizeof *run);
    run->rows = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100000;
    run->memory = argc > 6 ? strtoull(argv[5], NULL, 10) << 20 : 0;
    if (!count || run->rows < OWNED || run->rows % OWNED || argc == 4 || argc == 6) {
        fputs("usage: row_stream TRANSACTIONS [ROWS [DELAY DEVIATION [MEGABYTES FOLDER]]]\n",
              stderr);
        return 2;
    }
    run->values = iso_allocate_zeroed((size_t)TABLES * run->rows, sizeof *run->values);
    run->window = iso_allocate_zeroed(WINDOW, sizeof *run->window);
    run->arrivals = iso_allocate_zeroed(count, sizeof *run->arrivals);
    run->came = iso_allocate_zeroed(count + 1, sizeof *run->came);
    iso_arrivals_draw(&late, run->arrivals, count);
    iso_rng_seed(&run->rng, 1);
    iso_history_init(&run->block);
    open_engines(run, argc > 6 ? argv[6] : NULL);
    insert_all(run);
    while (run->arrived < count) {
        take(run, count);
        if (run->arrived % BATCH && run->arrived < count)
            continue;
        feed(run, 2ull * TABLES * run->rows + 2ull * run->least - 1,
             run->arrivals[run->arrived - 1].microseconds / 1000);
        if (run->arrived % ((count + 9) / 10) < BATCH)
            report(run);
    }
    double before = seconds();
    iso_aion_end(run->aion, run->arrivals[count - 1].microseconds / 1000);
    iso_rowsets_shards_end(run->rowsets);
    run->seconds += seconds() - before;
    report(run);
    bool holds = !run->faults;
    iso_rowsets_shards_free(run->rowsets);
    iso_aion_free(run->aion);
    iso_history_release(&run->block);
    ISO_FREE_ALL(run->values, run->window, run->arrivals, run->came, run);
    return holds ? 0 : 1;
}
