#include "metrics/metrics.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

static const struct iso_metric_row rows[ISO_METRICS] = {
    [ISO_METRIC_BUILD_INFO] = {"isochron_build_info",
                               ISO_GAUGE,
                               {"version", "level"},
                               "Always 1; what runs, and what it checks."},
    [ISO_METRIC_START_TIME] = {"isochron_start_time_seconds", ISO_GAUGE, {NULL}, "When this process began to watch."},
    [ISO_METRIC_READY] = {"isochron_ready",
                          ISO_GAUGE,
                          {NULL},
                          "1 while the run is ready; 0: /readyz says why it is not."},
    [ISO_METRIC_MESSAGES] = {"isochron_messages_total", ISO_COUNTER, {NULL}, "Messages that were read."},
    [ISO_METRIC_MESSAGE_BYTES] = {"isochron_message_bytes_total", ISO_COUNTER, {NULL}, "Bytes of their payloads."},
    [ISO_METRIC_BAD_RECORDS] = {"isochron_bad_records_total",
                                ISO_COUNTER,
                                {NULL},
                                "Records that could not be taken and were left out."},
    [ISO_METRIC_CONTRADICTIONS] = {"isochron_contradictions_total",
                                   ISO_COUNTER,
                                   {NULL},
                                   "Records that contradict an earlier one: both are judged, and doubtful."},
    [ISO_METRIC_UNKEPT] = {"isochron_dead_letters_dropped_total",
                           ISO_COUNTER,
                           {NULL},
                           "Bad records that the file of dead letters did not take: it is full."},
    [ISO_METRIC_UNSAID] = {"isochron_log_lines_dropped_total",
                           ISO_COUNTER,
                           {NULL},
                           "Lines of the log that were counted and not written (--log-limit)."},
    [ISO_METRIC_UNROUTED] = {"isochron_unrouted_messages_total",
                             ISO_COUNTER,
                             {NULL},
                             "Messages of topics that no source names."},
    [ISO_METRIC_TRANSACTIONS] = {"isochron_transactions_total",
                                 ISO_COUNTER,
                                 {NULL},
                                 "Committed transactions that were taken."},
    [ISO_METRIC_REPEATS] = {"isochron_repeats_total",
                            ISO_COUNTER,
                            {NULL},
                            "Transactions that arrived again with equal content, and were ignored."},
    [ISO_METRIC_LATE] = {"isochron_late_transactions_total",
                         ISO_COUNTER,
                         {NULL},
                         "Transactions that arrived below the watermark: a sender broke its promise."},
    [ISO_METRIC_BOOKS] = {"isochron_books",
                          ISO_GAUGE,
                          {"unit", "class"},
                          "What became of all that arrived: each thing is in one class, and class came counts all of "
                          "them."},
    [ISO_METRIC_BOOKS_BALANCED] = {"isochron_books_balanced",
                                   ISO_GAUGE,
                                   {NULL},
                                   "1 while the classes add up to what arrived; 0 is a defect of the program."},
    [ISO_METRIC_WAITING] =
        {"isochron_waiting",
         ISO_GAUGE,
         {"class"},
         "What waits now: records and rows for their other half, reads for a watermark, and others."},
    [ISO_METRIC_WAITING_OLDEST] = {"isochron_waiting_oldest_seconds",
                                   ISO_GAUGE,
                                   {"class"},
                                   "For how long the oldest of the class has waited."},
    [ISO_METRIC_UNSETTLED] = {"isochron_unsettled_seconds",
                              ISO_GAUGE,
                              {NULL},
                              "For how long input has arrived while nothing that waits was decided."},
    [ISO_METRIC_UNSETTLED_BOUND] = {"isochron_unsettled_bound_seconds",
                                    ISO_GAUGE,
                                    {NULL},
                                    "The longest of that which timeouts and the grace explain; beyond it /readyz "
                                    "fails."},
    [ISO_METRIC_UNCOVERED] = {"isochron_uncovered_operations_total",
                              ISO_COUNTER,
                              {"table"},
                              "Operations of clients on tables without a source, which are not judged; the ten tables "
                              "with the most."},
    [ISO_METRIC_TABLES_CHANGED] =
        {"isochron_tables_changed_total",
         ISO_COUNTER,
         {"kind"},
         "What happened to whole tables since the process began, as often as the change stream said so: other "
         "columns, emptied (truncated, dropped, renamed away), partly emptied, rewritten, left out, lossy; absent without "
         "change streams, as the next two."},
    [ISO_METRIC_SNAPSHOTS_AGAIN] =
        {"isochron_snapshots_again_total",
         ISO_COUNTER,
         {NULL},
         "Times that a snapshot began behind changes in a partition: the connector lost its position."},
    [ISO_METRIC_SNAPSHOT_GAPS] = {"isochron_snapshot_gaps_total",
                                  ISO_COUNTER,
                                  {NULL},
                                  "Rows of snapshots that contradict the changes before them: changes are missing."},
    [ISO_METRIC_READS_JUDGED] = {"isochron_reads_judged_total", ISO_COUNTER, {NULL}, "Reads that were judged."},
    [ISO_METRIC_READS_UNJUDGED] = {"isochron_reads_unjudged_total",
                                   ISO_COUNTER,
                                   {NULL},
                                   "Reads that could not be judged, since something they rest on is not known."},
    [ISO_METRIC_SESSIONS_UNDECIDED] =
        {"isochron_sessions_undecided_total",
         ISO_COUNTER,
         {NULL},
         "Transactions whose position in their session could not be judged, since what it rests on "
         "had been forgotten."},
    [ISO_METRIC_VIOLATIONS] = {"isochron_violations_total",
                               ISO_COUNTER,
                               {"axiom"},
                               "Violations found, those apart that are tentative or doubtful."},
    [ISO_METRIC_DOUBTFUL] = {"isochron_doubtful_violations_total",
                             ISO_COUNTER,
                             {"axiom"},
                             "Violations found that something which was not seen, or contradicts itself, may explain."},
    [ISO_METRIC_VERDICTS] = {"isochron_verdicts_total",
                             ISO_COUNTER,
                             {"state"},
                             "Verdict lines emitted, by their state; doubtful final ones are counted apart."},
    [ISO_METRIC_STANDING] = {"isochron_tentative_violations",
                             ISO_GAUGE,
                             {NULL},
                             "Violations that later data may still set right."},
    [ISO_METRIC_OPEN_READS] = {"isochron_open_reads", ISO_GAUGE, {NULL}, "Reads whose verdict is not final yet."},
    [ISO_METRIC_FLIPS] = {"isochron_flips_total",
                          ISO_COUNTER,
                          {NULL},
                          "Times that a verdict changed before it was final."},
    [ISO_METRIC_WATERMARK] = {"isochron_watermark",
                              ISO_GAUGE,
                              {NULL},
                              "The pipeline's watermark, in the database's own timestamps; absent until there is one."},
    [ISO_METRIC_WATERMARK_TIME] = {"isochron_watermark_time_seconds",
                                   ISO_GAUGE,
                                   {NULL},
                                   "When the watermark last moved; absent until there is one."},
    [ISO_METRIC_PROGRESS_TIME] = {"isochron_progress_time_seconds",
                                  ISO_GAUGE,
                                  {NULL},
                                  "When a message was last taken."},
    [ISO_METRIC_CHANGES_TIME] = {"isochron_changes_time_seconds",
                                 ISO_GAUGE,
                                 {NULL},
                                 "When a message of a change stream was last taken, or the watch began; absent "
                                 "without change streams."},
    [ISO_METRIC_CLIENTS_TIME] = {"isochron_clients_time_seconds",
                                 ISO_GAUGE,
                                 {NULL},
                                 "The same of clients' records; absent without a topic of them."},
    [ISO_METRIC_EXPECT_MESSAGES] = {"isochron_expect_messages_seconds",
                                    ISO_GAUGE,
                                    {NULL},
                                    "--expect-messages; 0: change streams may be silent for any time."},
    [ISO_METRIC_FINALITY_TIMEOUT] = {"isochron_finality_timeout_seconds",
                                     ISO_GAUGE,
                                     {NULL},
                                     "--finality-timeout; 0: only watermarks make final."},
    [ISO_METRIC_IDLE_TIMEOUT] = {"isochron_idle_timeout_seconds",
                                 ISO_GAUGE,
                                 {NULL},
                                 "--idle-timeout; 0: silent partitions are waited for."},
    [ISO_METRIC_RETENTION] = {"isochron_retention",
                              ISO_GAUGE,
                              {NULL},
                              "--retention, in the database's own timestamps; 0: nothing is dropped."},
    [ISO_METRIC_OFFSET] = {"isochron_partition_offset",
                           ISO_GAUGE,
                           {"topic", "partition"},
                           "The offset that is read next."},
    [ISO_METRIC_END] = {"isochron_partition_end_offset",
                        ISO_GAUGE,
                        {"topic", "partition"},
                        "The offset behind the partition's last message, as the broker last reported it."},
    [ISO_METRIC_LAG] = {"isochron_partition_lag",
                        ISO_GAUGE,
                        {"topic", "partition"},
                        "Messages of the partition not yet read."},
    [ISO_METRIC_PARTITION_WATERMARK] = {"isochron_partition_watermark",
                                        ISO_GAUGE,
                                        {"topic", "partition"},
                                        "Its own watermark, in the database's timestamps; absent until there is one."},
    [ISO_METRIC_IDLE] = {"isochron_partition_idle",
                         ISO_GAUGE,
                         {"topic", "partition"},
                         "1 where the watermark no longer waits for the partition, which has been silent."},
    [ISO_METRIC_AWAITED] = {"isochron_partition_awaited",
                            ISO_GAUGE,
                            {"topic", "partition"},
                            "1 for the partition that is furthest behind: what waits for a watermark waits for it."},
    [ISO_METRIC_PARTITION_TIME] = {"isochron_partition_time_seconds",
                                   ISO_GAUGE,
                                   {"topic", "partition"},
                                   "When a message of the partition was last taken, or the watch began."},
    [ISO_METRIC_GAPS] = {"isochron_missing_offsets_total",
                         ISO_COUNTER,
                         {NULL},
                         "Offsets that the broker does not have: compacted, or of aborted producers."},
    [ISO_METRIC_SEEKS] = {"isochron_gap_seeks_total",
                          ISO_COUNTER,
                          {NULL},
                          "Times that skipped offsets were asked for again."},
    [ISO_METRIC_PAUSES] = {"isochron_pauses_total",
                           ISO_COUNTER,
                           {NULL},
                           "Times that reading stopped for what was behind it."},
    [ISO_METRIC_MEMORY] = {"isochron_memory_bytes", ISO_GAUGE, {NULL}, "Memory of the engine's state."},
    [ISO_METRIC_MEMORY_IN_USE] = {"isochron_memory_in_use_bytes",
                                  ISO_GAUGE,
                                  {NULL},
                                  "Anonymous memory of the process, the engine's state among it."},
    [ISO_METRIC_MEMORY_LIMIT] = {"isochron_memory_limit_bytes", ISO_GAUGE, {NULL}, "--memory; absent without it."},
    [ISO_METRIC_MEMORY_NEEDED] =
        {"isochron_memory_needed_bytes",
         ISO_GAUGE,
         {NULL},
         "The least that the run needs, after everything possible went to the spill file; 0 while "
         "--memory is enough; absent without it."},
    [ISO_METRIC_SPILL_HITS] = {"isochron_spill_hits_total", ISO_COUNTER, {NULL}, "Keys asked for that were in memory."},
    [ISO_METRIC_SPILL_MISSES] = {"isochron_spill_misses_total",
                                 ISO_COUNTER,
                                 {NULL},
                                 "Keys asked for that were brought back from the store."},
    [ISO_METRIC_SPILL_EVICTIONS] = {"isochron_spill_evictions_total",
                                    ISO_COUNTER,
                                    {NULL},
                                    "Keys that went to the store, for want of memory."},
    [ISO_METRIC_SPILL_KEYS] = {"isochron_spill_keys", ISO_GAUGE, {NULL}, "Records in the store."},
    [ISO_METRIC_SPILL_DISK] = {"isochron_spill_disk_bytes", ISO_GAUGE, {NULL}, "Size of the store's files."},
    [ISO_METRIC_SPILL_LIVING] = {"isochron_spill_living_bytes",
                                 ISO_GAUGE,
                                 {NULL},
                                 "Of these, bytes of records that are still needed; the rest is garbage, or free."},
    [ISO_METRIC_SPILL_HELD] = {"isochron_spill_held_bytes",
                               ISO_GAUGE,
                               {NULL},
                               "Of the files, bytes that are free once the next snapshot is committed."},
    [ISO_METRIC_SPILL_READ] = {"isochron_spill_read_bytes_total", ISO_COUNTER, {NULL}, "Read from the store."},
    [ISO_METRIC_SPILL_WRITTEN] = {"isochron_spill_written_bytes_total", ISO_COUNTER, {NULL}, "Written to the store."},
    [ISO_METRIC_CHECKPOINT_INTERVAL] = {"isochron_checkpoint_interval_seconds",
                                        ISO_GAUGE,
                                        {NULL},
                                        "--checkpoint-interval; absent without --state, as all that follow."},
    [ISO_METRIC_CHECKPOINT_AGE] = {"isochron_checkpoint_age_seconds",
                                   ISO_GAUGE,
                                   {NULL},
                                   "How long ago the last checkpoint that is on the device was begun."},
    [ISO_METRIC_CHECKPOINT_DURATION] = {"isochron_checkpoint_duration_seconds",
                                        ISO_GAUGE,
                                        {NULL},
                                        "How long the device took for it; absent until there is one."},
    [ISO_METRIC_JOURNAL_BYTES] = {"isochron_journal_bytes",
                                  ISO_GAUGE,
                                  {NULL},
                                  "Length of the journal since the last snapshot was begun."},
    [ISO_METRIC_SNAPSHOTS] = {"isochron_snapshots_total", ISO_COUNTER, {NULL}, "Snapshots that this process began."},
    [ISO_METRIC_SNAPSHOT_INTERVAL] = {"isochron_snapshot_interval_seconds",
                                      ISO_GAUGE,
                                      {NULL},
                                      "The most between two snapshots while input arrives."},
    [ISO_METRIC_SNAPSHOT_AGE] = {"isochron_snapshot_age_seconds",
                                 ISO_GAUGE,
                                 {NULL},
                                 "How long ago the snapshot from which a restart begins was begun; absent while it is "
                                 "that of an earlier process."},
    [ISO_METRIC_SNAPSHOT_DURATION] = {"isochron_snapshot_duration_seconds",
                                      ISO_GAUGE,
                                      {NULL},
                                      "How long it took to write it, beside the stream; absent as its age is."},
    [ISO_METRIC_SNAPSHOT_BYTES] = {"isochron_snapshot_bytes", ISO_GAUGE, {NULL}, "Size of that snapshot."},
    [ISO_METRIC_SNAPSHOT_PAUSE] = {"isochron_snapshot_pause_seconds",
                                   ISO_GAUGE,
                                   {NULL},
                                   "The longest time for which the stream stopped for a snapshot or a checkpoint."},
};

const struct iso_metric_row *iso_metric_row(enum iso_metric metric)
{
    return &rows[metric];
}

void iso_metrics_release(struct iso_metrics *metrics)
{
    iso_free(metrics->samples);
    iso_text_release(&metrics->texts);
    memset(metrics, 0, sizeof *metrics);
}

void iso_metrics_clear(struct iso_metrics *metrics)
{
    metrics->count = 0;
    metrics->texts.used = 0;
}

static uint32_t keep_text(struct iso_metrics *metrics, const char *text)
{
    uint32_t place = (uint32_t)metrics->texts.used;
    iso_text_put_bytes(&metrics->texts, text, strlen(text) + 1);
    return place;
}

static struct iso_sample *add_sample(struct iso_metrics *metrics, enum iso_metric metric, const char *first,
                                     const char *second)
{
    const struct iso_metric_row *row = &rows[metric];
    assert(!row->labels[0] == !first && !row->labels[1] == !second);
    assert(!metrics->count || metrics->samples[metrics->count - 1].metric <= metric);
    ISO_GROW(metrics->samples, metrics->count, metrics->capacity);
    struct iso_sample *sample = &metrics->samples[metrics->count++];
    *sample = (struct iso_sample){.metric = metric};
    sample->labels[0] = first ? keep_text(metrics, first) : 0;
    sample->labels[1] = second ? keep_text(metrics, second) : 0;
    return sample;
}

void iso_metrics_count(struct iso_metrics *metrics, enum iso_metric metric, const char *first, const char *second,
                       uint64_t value)
{
    add_sample(metrics, metric, first, second)->count = value;
}

void iso_metrics_real(struct iso_metrics *metrics, enum iso_metric metric, const char *first, const char *second,
                      double value)
{
    struct iso_sample *sample = add_sample(metrics, metric, first, second);
    sample->is_real = true;
    sample->real = value;
}

uint64_t iso_metrics_sum(const struct iso_metrics *metrics, enum iso_metric metric)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->count; i++)
        sum += metrics->samples[i].metric == metric && !metrics->samples[i].is_real ? metrics->samples[i].count : 0;
    return sum;
}
