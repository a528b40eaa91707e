/* Opening the books: from what the pipeline, the join and the engine counted, each by itself. */
#include "pipeline/pipeline_private.h"
#include "rowsets/rowsets.h"

/* The sources of the figures. */
struct opening {
    const struct iso_pipeline *pipeline;
    const struct iso_pipeline_intake *intake;
    const struct iso_aion_stats *engine; /* with the join's own transactions */
    const struct iso_join_stats *join;   /* zero without change streams */
    bool has_join;
    struct iso_accounting *accounting;
    struct iso_rowsets_stats sets;
};

/* ---- units ---- */

static void open_messages(const struct opening *opening)
{
    const struct iso_pipeline_intake *intake = opening->intake;
    uint64_t *of = opening->accounting->of[ISO_UNIT_MESSAGES];
    opening->accounting->came[ISO_UNIT_MESSAGES] = intake->messages;
    of[ISO_ACCOUNTED_JUDGED] = intake->with_content;
    of[ISO_ACCOUNTED_PROTOCOL] = intake->protocol;
    of[ISO_ACCOUNTED_IGNORED] = intake->empty;
    of[ISO_ACCOUNTED_BAD] = intake->undecodable;
    of[ISO_ACCOUNTED_UNROUTED] = opening->pipeline->stats.unrouted;
}

static void open_rows(const struct opening *opening)
{
    const uint64_t *gone = opening->join->rows_gone;
    uint64_t *of = opening->accounting->of[ISO_UNIT_ROWS];
    opening->accounting->came[ISO_UNIT_ROWS] = opening->intake->rows;
    of[ISO_ACCOUNTED_JUDGED] = gone[ISO_ROWS_JUDGED];
    of[ISO_ACCOUNTED_FOREIGN] = gone[ISO_ROWS_FOREIGN];
    of[ISO_ACCOUNTED_REPEATED] = gone[ISO_ROWS_REPEATED];
    of[ISO_ACCOUNTED_INITIAL] = gone[ISO_ROWS_INITIAL];
    of[ISO_ACCOUNTED_ABORTED] = gone[ISO_ROWS_ABORTED];
    of[ISO_ACCOUNTED_UNJUDGED] = gone[ISO_ROWS_XA];
    of[ISO_ACCOUNTED_UNPLACED] = gone[ISO_ROWS_UNPLACED];
    of[ISO_ACCOUNTED_LATE] = gone[ISO_ROWS_LATE];
    of[ISO_ACCOUNTED_BAD] = gone[ISO_ROWS_BAD];
    of[ISO_ACCOUNTED_WAITING] = opening->join->waiting_row_events;
}

/* Transactions of the engine, as it took them. */
static void open_taken(const struct opening *opening, uint64_t *of)
{
    const struct iso_aion_stats *engine = opening->engine;
    uint64_t initial = opening->join->initial_transactions, foreign = engine->foreign - initial;
    uint64_t no_start =
        opening->join->without_start < foreign ? opening->join->without_start : foreign;
    if (iso_aion_needs_no_start(opening->pipeline->options.engine.level))
        no_start = 0;
    uint64_t rest = engine->transactions - initial - opening->join->probes - foreign;
    of[ISO_ACCOUNTED_FOREIGN] = foreign - no_start;
    of[ISO_ACCOUNTED_UNPLACED] = no_start;
    of[ISO_ACCOUNTED_WAITING] = opening->accounting->waiting.overtaken < rest
                                    ? opening->accounting->waiting.overtaken
                                    : rest;
    rest -= of[ISO_ACCOUNTED_WAITING];
    of[ISO_ACCOUNTED_LATE] = engine->below_watermark < rest ? engine->below_watermark : rest;
    of[ISO_ACCOUNTED_JUDGED] = rest - of[ISO_ACCOUNTED_LATE];
    of[ISO_ACCOUNTED_ABORTED] = engine->aborted;
    of[ISO_ACCOUNTED_UNKNOWN] = engine->unknown;
    of[ISO_ACCOUNTED_REPEATED] = engine->repeats;
    of[ISO_ACCOUNTED_FORGOTTEN] = engine->beyond_retention;
    of[ISO_ACCOUNTED_BAD] = opening->intake->refused;
}

static void open_transactions(const struct opening *opening)
{
    uint64_t ours = opening->join->probes + opening->join->initial_transactions;
    opening->accounting->came[ISO_UNIT_TRANSACTIONS] = opening->intake->given - ours;
    open_taken(opening, opening->accounting->of[ISO_UNIT_TRANSACTIONS]);
}

static void open_records(const struct opening *opening)
{
    const uint64_t *gone = opening->join->records_gone;
    uint64_t *of = opening->accounting->of[ISO_UNIT_RECORDS];
    opening->accounting->came[ISO_UNIT_RECORDS] = opening->intake->records;
    if (!opening->has_join) {
        open_taken(opening, of);
        of[ISO_ACCOUNTED_JUDGED] += opening->intake->elsewhere;
        return;
    }
    of[ISO_ACCOUNTED_JUDGED] = gone[ISO_RECORDS_GIVEN];
    of[ISO_ACCOUNTED_REPEATED] = gone[ISO_RECORDS_REPEATED];
    of[ISO_ACCOUNTED_ABORTED] = gone[ISO_RECORDS_ABORTED] + opening->join->waiting_aborted;
    of[ISO_ACCOUNTED_UNKNOWN] = gone[ISO_RECORDS_UNKNOWN];
    of[ISO_ACCOUNTED_BEFORE] = gone[ISO_RECORDS_BEFORE];
    of[ISO_ACCOUNTED_UNPLACED] = gone[ISO_RECORDS_UNPLACED];
    of[ISO_ACCOUNTED_LATE] = gone[ISO_RECORDS_LATE];
    of[ISO_ACCOUNTED_UNJUDGED] = gone[ISO_RECORDS_XA];
    of[ISO_ACCOUNTED_WAITING] = opening->join->waiting_records - opening->join->waiting_aborted;
}

static void take_count(uint64_t *from, uint64_t *of, uint64_t count)
{
    count = count < *from ? count : *from;
    *from -= count;
    *of += count;
}

static void open_reads(const struct opening *opening)
{
    const struct iso_aion_stats *engine = opening->engine;
    const struct iso_join_stats *join = opening->join;
    const struct iso_pipeline_stats *stats = &opening->pipeline->stats;
    const struct iso_accounting_waiting *waiting = &opening->accounting->waiting;
    const uint64_t *gone = join->reads_gone;
    /* Probes are reads as well, and may be among those that were not judged. */
    uint64_t rest = engine->reads_judged + engine->reads_left - join->probe_reads;
    uint64_t unjudged = engine->reads_left < rest ? engine->reads_left : rest,
             *of = opening->accounting->of[ISO_UNIT_READS];
    rest -= unjudged;
    opening->accounting->came[ISO_UNIT_READS] = opening->intake->reads + join->before_reads;
    take_count(&rest, &of[ISO_ACCOUNTED_WAITING],
               waiting->reads + waiting->for_outcome + waiting->for_snapshot + waiting->for_schema);
    take_count(&rest, &of[ISO_ACCOUNTED_WAITING], waiting->queries + stats->beyond);
    take_count(&rest, &of[ISO_ACCOUNTED_UNJUDGED],
               opening->sets.unjudged - opening->sets.unjudged_ranges);
    take_count(&rest, &of[ISO_ACCOUNTED_FORGOTTEN], engine->reads_undecided);
    take_count(&rest, &of[ISO_ACCOUNTED_UNJUDGED], stats->absent_altered + stats->suppressed_reads);
    take_count(&rest, &of[ISO_ACCOUNTED_UNCOVERED], stats->left_out_reads);
    take_count(&rest, &of[ISO_ACCOUNTED_DOUBTFUL], stats->doubted[ISO_EXT]);
    if (iso_pipeline_lacks_stream(opening->pipeline))
        take_count(&rest, &of[ISO_ACCOUNTED_UNJUDGED], rest);
    of[ISO_ACCOUNTED_JUDGED] = rest + opening->intake->elsewhere_reads;
    of[ISO_ACCOUNTED_UNJUDGED] +=
        unjudged + gone[ISO_READS_OWN_ORDER] + gone[ISO_READS_INCOMPLETE] + gone[ISO_RECORDS_XA];
    of[ISO_ACCOUNTED_WAITING] += join->waiting_reads;
    of[ISO_ACCOUNTED_REPEATED] =
        engine->reads_of[ISO_AION_READS_REPEATED] + gone[ISO_RECORDS_REPEATED];
    of[ISO_ACCOUNTED_ABORTED] =
        engine->reads_of[ISO_AION_READS_ABORTED] + gone[ISO_RECORDS_ABORTED];
    of[ISO_ACCOUNTED_UNKNOWN] =
        engine->reads_of[ISO_AION_READS_UNKNOWN] + gone[ISO_RECORDS_UNKNOWN];
    of[ISO_ACCOUNTED_UNPLACED] =
        engine->reads_of[ISO_AION_READS_NO_START] + gone[ISO_RECORDS_UNPLACED];
    of[ISO_ACCOUNTED_FORGOTTEN] += engine->reads_of[ISO_AION_READS_BEYOND_RETENTION];
    of[ISO_ACCOUNTED_BAD] = opening->intake->refused_reads;
    of[ISO_ACCOUNTED_UNCOVERED] += gone[ISO_READS_UNCOVERED];
    of[ISO_ACCOUNTED_BEFORE] = gone[ISO_RECORDS_BEFORE] + gone[ISO_READS_BEFORE];
    of[ISO_ACCOUNTED_LATE] = gone[ISO_RECORDS_LATE];
}

/* ---- what waits ---- */

static struct iso_accounting_oldest oldest_of(const struct iso_aion_waiting *engine,
                                              const struct iso_aion_oldest *oldest)
{
    if (oldest->since == UINT64_MAX)
        return (struct iso_accounting_oldest){0, UINT64_MAX};
    return (struct iso_accounting_oldest){
        engine->now > oldest->since ? engine->now - oldest->since : 0, oldest->origin};
}

/* The first one still waiting after others have gone: its location is known, not how long it has
 * waited. */
static struct iso_accounting_oldest first_at(bool any, uint64_t origin)
{
    return (struct iso_accounting_oldest){UINT64_MAX, any ? origin : UINT64_MAX};
}

static void open_waiting(const struct opening *opening)
{
    struct iso_accounting_waiting *waiting = &opening->accounting->waiting;
    const struct altered *altered = &opening->pipeline->altered;
    struct iso_aion_waiting engine;
    iso_aion_count_waiting(opening->pipeline->engine, &engine);
    *waiting = (struct iso_accounting_waiting){
        .records = opening->join->waiting_records - opening->join->waiting_aborted,
        .rows = opening->join->waiting_row_events,
        .overtaken = engine.transactions,
        .reads = engine.reads,
        .for_outcome = engine.for_outcome,
        .for_snapshot = engine.for_initial,
        .for_schema = opening->pipeline->altered.absent_count,
        .queries = opening->sets.waiting + opening->sets.held - opening->sets.open_ranges,
        .tables = opening->join->open_tables,
        .beyond = opening->pipeline->stats.beyond + opening->pipeline->stats.probes_beyond,
        .of_records = opening->join->waiting_reads,
        .record = {opening->join->oldest_record_ms, opening->join->oldest_record},
        .row = {opening->join->oldest_ms, opening->join->oldest_row},
        .read = oldest_of(&engine, &engine.read),
        .outcome = oldest_of(&engine, &engine.outcome),
        .snapshot = oldest_of(&engine, &engine.initial),
        .overtaking = oldest_of(&engine, &engine.overtaken),
        .query = oldest_of(
            &engine, &(struct iso_aion_oldest){opening->sets.oldest, opening->sets.oldest_origin}),
        .absent = first_at(altered->absent_count,
                           altered->absent_count ? altered->deferred_missing->origin : 0),
        .differing =
            first_at(opening->pipeline->stats.beyond || opening->pipeline->stats.probes_beyond,
                     opening->pipeline->lost.first),
        .first = first_at(opening->intake->records, opening->intake->first_record),
    };
    if (waiting->tables)
        iso_join_open_table(opening->pipeline->join, waiting->table, sizeof waiting->table);
    waiting->total = waiting->records + waiting->rows + waiting->overtaken + waiting->reads +
                     waiting->for_outcome + waiting->for_snapshot + waiting->for_schema +
                     waiting->queries + waiting->beyond + waiting->tables;
}

/* ---- whether they balance ---- */

/* Whether each part's output is the next part's input. */
static bool is_passed_on(const struct opening *opening)
{
    const struct iso_pipeline_intake *intake = opening->intake;
    const struct iso_join_stats *join = opening->join;
    const struct iso_aion_stats *engine = opening->engine;
    uint64_t reads = 0;
    for (int i = 0; i < ISO_AION_READS_CLASSES; i++)
        reads += engine->reads_of[i];
    bool to_join =
        !opening->has_join || (join->row_events == intake->rows &&
                               join->records == intake->records && join->reads == intake->reads);
    uint64_t from_join = join->reads_given + join->probe_reads + join->before_reads;
    bool to_engine = !opening->has_join || from_join == intake->given_reads;
    return to_join && to_engine && reads + intake->refused_reads == intake->given_reads &&
           engine->reads_of[ISO_AION_READS_COMMITTED] == engine->reads_judged + engine->reads_left;
}

void iso_pipeline_accounting(const struct iso_pipeline *pipeline, struct iso_accounting *accounting)
{
    struct iso_aion_stats engine;
    struct iso_join_stats join = {0};
    struct opening opening = {
        pipeline,   &pipeline->stats.intake, &engine, &join, pipeline->join != NULL,
        accounting, {.oldest = UINT64_MAX}};
    *accounting = (struct iso_accounting){.balanced = true};
    iso_aion_stats(pipeline->engine, &engine);
    if (pipeline->join) {
        iso_join_stats(pipeline->join, &join);
        iso_join_count_waiting(pipeline->join, &join);
    }
    pipeline_queries_open(pipeline, &opening.sets);
    open_waiting(&opening);
    open_messages(&opening);
    open_rows(&opening);
    open_records(&opening);
    open_transactions(&opening);
    open_reads(&opening);
    pipeline_order_open(pipeline, &(struct iso_pipeline_stats){.engine = engine, .join = join},
                        accounting);
    for (int unit = 0; unit < ISO_UNITS; unit++)
        accounting->balanced &=
            iso_accounting_sum(accounting, (enum iso_unit)unit) == accounting->came[unit];
    accounting->balanced &= is_passed_on(&opening);
}
