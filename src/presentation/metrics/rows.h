/* The metrics, in the order in which they are rendered. For whoever defines ROW(member, type, name,
 * help, labels...) before: metrics.h makes the members of enum iso_metric of it, metrics.c the
 * table. */
ROW(BUILD_INFO, ISO_GAUGE, "isochron_build_info", "Always 1; what runs, and what it checks.",
    "version", "level")
ROW(START_TIME, ISO_GAUGE, "isochron_start_time_seconds", "When this process began to watch.")
ROW(READY, ISO_GAUGE, "isochron_ready", "1 while the run is ready; 0: /readyz says why it is not.")
ROW(MESSAGES, ISO_COUNTER, "isochron_messages_total", "Messages that were read.")
ROW(MESSAGE_BYTES, ISO_COUNTER, "isochron_message_bytes_total", "Bytes of their payloads.")
ROW(BAD_RECORDS, ISO_COUNTER, "isochron_bad_records_total",
    "Records that could not be taken and were left out.")
ROW(CONTRADICTIONS, ISO_COUNTER, "isochron_contradictions_total",
    "Records that contradict an earlier one: both are judged, and doubtful.")
ROW(UNKEPT, ISO_COUNTER, "isochron_dead_letters_dropped_total",
    "Bad records that the file of dead letters did not take: it is full.")
ROW(UNSAID, ISO_COUNTER, "isochron_log_lines_dropped_total",
    "Lines of the log that were counted and not written (--log-limit).")
ROW(UNROUTED, ISO_COUNTER, "isochron_unrouted_messages_total",
    "Messages of topics that no source names.")
ROW(TRANSACTIONS, ISO_COUNTER, "isochron_transactions_total",
    "Committed transactions that were taken.")
ROW(REPEATS, ISO_COUNTER, "isochron_repeats_total",
    "Transactions that arrived again with equal content, and were ignored.")
ROW(LATE, ISO_COUNTER, "isochron_late_transactions_total",
    "Transactions that arrived below the watermark: a sender broke its promise.")
ROW(BOOKS, ISO_GAUGE, "isochron_books",
    "What became of all that arrived: each thing is in one class, and class came counts all of them.",
    "unit", "class")
ROW(BOOKS_BALANCED, ISO_GAUGE, "isochron_books_balanced",
    "1 while the classes add up to what arrived; 0 is a defect of the program.")
ROW(WAITING, ISO_GAUGE, "isochron_waiting",
    "What waits now: records and rows for their other half, reads for a watermark, and others.",
    "class")
ROW(WAITING_OLDEST, ISO_GAUGE, "isochron_waiting_oldest_seconds",
    "For how long the oldest of the class has waited.", "class")
ROW(UNSETTLED, ISO_GAUGE, "isochron_unsettled_seconds",
    "For how long input has arrived while nothing that waits was decided.")
ROW(UNSETTLED_BOUND, ISO_GAUGE, "isochron_unsettled_bound_seconds",
    "The longest of that which timeouts and the grace explain; beyond it /readyz fails.")
ROW(UNCOVERED, ISO_COUNTER, "isochron_uncovered_operations_total",
    "Operations of clients on tables without a source, which are not judged; the ten tables with the most.",
    "table")
ROW(TABLES_CHANGED, ISO_COUNTER, "isochron_tables_changed_total",
    "What happened to whole tables since the process began, as often as the change stream said so: other columns, emptied (truncated, dropped, renamed away), partly emptied, rewritten, left out, lossy; absent without change streams, as the next two.",
    "kind")
ROW(SNAPSHOTS_AGAIN, ISO_COUNTER, "isochron_snapshots_again_total",
    "Times that a snapshot began behind changes in a partition: the connector lost its position.")
ROW(SNAPSHOT_GAPS, ISO_COUNTER, "isochron_snapshot_gaps_total",
    "Rows of snapshots that contradict the changes before them: changes are missing.")
ROW(READS_JUDGED, ISO_COUNTER, "isochron_reads_judged_total", "Reads that were judged.")
ROW(READS_UNJUDGED, ISO_COUNTER, "isochron_reads_unjudged_total",
    "Reads that could not be judged, since something they rest on is not known.")
ROW(SESSIONS_UNDECIDED, ISO_COUNTER, "isochron_sessions_undecided_total",
    "Transactions whose position in their session could not be judged, since what it rests on had been forgotten.")
ROW(VIOLATIONS, ISO_COUNTER, "isochron_violations_total",
    "Violations found, those apart that are tentative or doubtful.", "axiom")
ROW(DOUBTFUL, ISO_COUNTER, "isochron_doubtful_violations_total",
    "Violations found that something which was not seen, or contradicts itself, may explain.",
    "axiom")
ROW(VERDICTS, ISO_COUNTER, "isochron_verdicts_total",
    "Verdict lines emitted, by their state; doubtful final ones are counted apart.", "state")
ROW(STANDING, ISO_GAUGE, "isochron_tentative_violations",
    "Violations that later data may still set right.")
ROW(OPEN_READS, ISO_GAUGE, "isochron_open_reads", "Reads whose verdict is not final yet.")
ROW(FLIPS, ISO_COUNTER, "isochron_flips_total", "Times that a verdict changed before it was final.")
ROW(WATERMARK, ISO_GAUGE, "isochron_watermark",
    "The pipeline's watermark, in the database's own timestamps; absent until there is one.")
ROW(WATERMARK_TIME, ISO_GAUGE, "isochron_watermark_time_seconds",
    "When the watermark last moved; absent until there is one.")
ROW(PROGRESS_TIME, ISO_GAUGE, "isochron_progress_time_seconds", "When a message was last taken.")
ROW(CHANGES_TIME, ISO_GAUGE, "isochron_changes_time_seconds",
    "When a message of a change stream was last taken, or the watch began; absent without change streams.")
ROW(CLIENTS_TIME, ISO_GAUGE, "isochron_clients_time_seconds",
    "The same of clients' records; absent without a topic of them.")
ROW(EXPECT_MESSAGES, ISO_GAUGE, "isochron_expect_messages_seconds",
    "--expect-messages; 0: change streams may be silent for any time.")
ROW(FINALITY_TIMEOUT, ISO_GAUGE, "isochron_finality_timeout_seconds",
    "--finality-timeout; 0: only watermarks make final.")
ROW(IDLE_TIMEOUT, ISO_GAUGE, "isochron_idle_timeout_seconds",
    "--idle-timeout; 0: silent partitions are waited for.")
ROW(RETENTION, ISO_GAUGE, "isochron_retention",
    "--retention, in the database's own timestamps; 0: nothing is dropped.")
ROW(OFFSET, ISO_GAUGE, "isochron_partition_offset", "The offset that is read next.", "topic",
    "partition")
ROW(END, ISO_GAUGE, "isochron_partition_end_offset",
    "The offset behind the partition's last message, as the broker last reported it.", "topic",
    "partition")
ROW(LAG, ISO_GAUGE, "isochron_partition_lag", "Messages of the partition not yet read.", "topic",
    "partition")
ROW(PARTITION_WATERMARK, ISO_GAUGE, "isochron_partition_watermark",
    "Its own watermark, in the database's timestamps; absent until there is one.", "topic",
    "partition")
ROW(IDLE, ISO_GAUGE, "isochron_partition_idle",
    "1 where the watermark no longer waits for the partition, which has been silent.", "topic",
    "partition")
ROW(AWAITED, ISO_GAUGE, "isochron_partition_awaited",
    "1 for the partition that is furthest behind: what waits for a watermark waits for it.",
    "topic", "partition")
ROW(PARTITION_TIME, ISO_GAUGE, "isochron_partition_time_seconds",
    "When a message of the partition was last taken, or the watch began.", "topic", "partition")
ROW(GAPS, ISO_COUNTER, "isochron_missing_offsets_total",
    "Offsets that the broker does not have: compacted, or of aborted producers.")
ROW(SEEKS, ISO_COUNTER, "isochron_gap_seeks_total",
    "Times that skipped offsets were asked for again.")
ROW(PAUSES, ISO_COUNTER, "isochron_pauses_total",
    "Times that reading stopped for what was behind it.")
ROW(MEMORY, ISO_GAUGE, "isochron_memory_bytes", "Memory of the engine's state.")
ROW(MEMORY_IN_USE, ISO_GAUGE, "isochron_memory_in_use_bytes",
    "Anonymous memory of the process, the engine's state among it.")
ROW(MEMORY_LIMIT, ISO_GAUGE, "isochron_memory_limit_bytes", "--memory; absent without it.")
ROW(MEMORY_NEEDED, ISO_GAUGE, "isochron_memory_needed_bytes",
    "The least that the run needs, after everything possible went to the spill file; 0 while --memory is enough; absent without it.")
ROW(SPILL_HITS, ISO_COUNTER, "isochron_spill_hits_total", "Keys asked for that were in memory.")
ROW(SPILL_MISSES, ISO_COUNTER, "isochron_spill_misses_total",
    "Keys asked for that were brought back from the store.")
ROW(SPILL_EVICTIONS, ISO_COUNTER, "isochron_spill_evictions_total",
    "Keys that went to the store, for want of memory.")
ROW(SPILL_KEYS, ISO_GAUGE, "isochron_spill_keys", "Records in the store.")
ROW(SPILL_DISK, ISO_GAUGE, "isochron_spill_disk_bytes", "Size of the store's files.")
ROW(SPILL_LIVING, ISO_GAUGE, "isochron_spill_living_bytes",
    "Of these, bytes of records that are still needed; the rest is garbage, or free.")
ROW(SPILL_HELD, ISO_GAUGE, "isochron_spill_held_bytes",
    "Of the files, bytes that are free once the next snapshot is committed.")
ROW(SPILL_READ, ISO_COUNTER, "isochron_spill_read_bytes_total", "Read from the store.")
ROW(SPILL_WRITTEN, ISO_COUNTER, "isochron_spill_written_bytes_total", "Written to the store.")
ROW(CHECKPOINT_INTERVAL, ISO_GAUGE, "isochron_checkpoint_interval_seconds",
    "--checkpoint-interval; absent without --state, as all that follow.")
ROW(CHECKPOINT_AGE, ISO_GAUGE, "isochron_checkpoint_age_seconds",
    "How long ago the last checkpoint that is on the device was begun.")
ROW(CHECKPOINT_DURATION, ISO_GAUGE, "isochron_checkpoint_duration_seconds",
    "How long the device took for it; absent until there is one.")
ROW(JOURNAL_BYTES, ISO_GAUGE, "isochron_journal_bytes",
    "Length of the journal since the last snapshot was begun.")
ROW(SNAPSHOTS, ISO_COUNTER, "isochron_snapshots_total", "Snapshots that this process began.")
ROW(SNAPSHOT_INTERVAL, ISO_GAUGE, "isochron_snapshot_interval_seconds",
    "The most between two snapshots while input arrives.")
ROW(SNAPSHOT_AGE, ISO_GAUGE, "isochron_snapshot_age_seconds",
    "How long ago the snapshot from which a restart begins was begun; absent while it is that of an earlier process.")
ROW(SNAPSHOT_DURATION, ISO_GAUGE, "isochron_snapshot_duration_seconds",
    "How long it took to write it, beside the stream; absent as its age is.")
ROW(SNAPSHOT_BYTES, ISO_GAUGE, "isochron_snapshot_bytes", "Size of that snapshot.")
ROW(SNAPSHOT_PAUSE, ISO_GAUGE, "isochron_snapshot_pause_seconds",
    "The longest time for which the stream stopped for a snapshot or a checkpoint.")
