#include "run/input/left_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "base/cell_key.h"
#include "base/memory.h"

static int by_operations(const void *left, const void *right)
{
    const struct iso_join_left_out *a = left, *b = right;
    if (a->operations != b->operations)
        return a->operations < b->operations ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

struct iso_join_left_out *run_left_out(const struct iso_pipeline *pipeline, uint32_t *count)
{
    struct iso_join_left_out *list = NULL, table;
    *count = 0;
    for (uint32_t i = 0; iso_pipeline_left_out(pipeline, i, &table); i = table.number + 1) {
        list = iso_reallocate(list, (*count + 1) * sizeof *list);
        list[(*count)++] = table;
    }
    if (*count)
        qsort(list, *count, sizeof *list, by_operations);
    return list;
}

/* ", public.acct (901)"; a column as "public.acct.note" */
static void put_table(struct iso_text *text, const struct iso_join_left_out *table)
{
    iso_text_put(text, text->used ? ", " : "");
    size_t start = text->used;
    iso_text_put_bytes(text, table->name, table->length < 200 ? table->length : 200);
    char *mark =
        table->is_column ? memchr(text->bytes + start, ISO_CELL_MARK, text->used - start) : NULL;
    if (mark)
        *mark = '.';
    iso_text_format(text, " (%" PRIu64 ")", table->operations);
}

enum kind { UNCOVERED, UNKNOWN, WITH_ROWS, COLUMN };

static enum kind kind_of(const struct iso_join_left_out *table)
{
    return table->is_column    ? COLUMN
           : table->has_rows   ? WITH_ROWS
           : table->is_unknown ? UNKNOWN
                               : UNCOVERED;
}

static void log_tables(const struct iso_join_left_out *list, uint32_t count, enum kind kind,
                       const char *what)
{
    struct iso_text text = {0};
    uint64_t operations = 0;
    uint32_t tables = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kind_of(&list[i]) != kind)
            continue;
        operations += list[i].operations;
        if (tables++ < RUN_TABLES_NAMED)
            put_table(&text, &list[i]);
    }
    if (tables > RUN_TABLES_NAMED)
        iso_text_put(&text, ", ...");
    *iso_text_reserve(&text, 1) = 0;
    if (tables)
        cli_log("%" PRIu64 " operation%s on %" PRIu32 " %s%s %s: %s", operations,
                cli_plural(operations), tables, kind == COLUMN ? "column" : "table",
                cli_plural(tables), what, text.bytes);
    iso_text_release(&text);
}

/* Groups of a binlog of which the connector made nothing. */
static void log_empty(uint64_t count)
{
    if (count)
        cli_log(
            "%" PRIu64
            " transaction%s of the binlog ended without a row: what %s changed is not captured, or its "
            "rows are lost to the connector (binlog_format of a session or server that is not ROW, "
            "log_bin_compress=ON)",
            count, cli_plural(count), count == 1 ? "it" : "they");
}

/* A connector that stops behind its snapshot says so nowhere but in its own log. */
static void log_unstreamed(const struct iso_join_stats *join)
{
    if (join->snapshot_rows && !join->rows && !join->transactions)
        cli_log(
            "no change arrived behind the %" PRIu64
            " row%s of the connector's snapshot: nothing was written, or the "
            "connector has stopped; its status and its log say so (MySQL, MariaDB: a row logged with "
            "binlog_row_image=MINIMAL or NOBLOB, in one session too, stops it or lacks columns)",
            join->snapshot_rows, cli_plural(join->snapshot_rows));
}

static void log_stream(const struct iso_pipeline *pipeline)
{
    struct iso_pipeline_stats stats;
    iso_pipeline_stats(pipeline, &stats);
    if (!stats.has_join)
        return;
    log_empty(stats.join.empty_ends);
    log_unstreamed(&stats.join);
}

void run_log_left_out(const struct iso_pipeline *pipeline)
{
    uint32_t count;
    log_stream(pipeline);
    struct iso_join_left_out *list = run_left_out(pipeline, &count);
    log_tables(list, count, UNCOVERED, "that no source covers were not judged");
    log_tables(list, count, UNKNOWN,
               "that neither a source nor the stream knows were not judged (are keys misspelt?)");
    log_tables(
        list, count, WITH_ROWS,
        "whose rows arrive through a topic of another name were not judged (add tables=A;B to that --source)");
    log_tables(list, count, COLUMN,
               "that cells= does not list, or that the stream has not shown, were not judged");
    iso_free(list);
}
