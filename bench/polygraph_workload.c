/* A black-box workload (tests/support/blackbox_workload.h), judged in memory: a figure for the
 * engine alone. Or, with FILE, written there in the native format (values start with 0), to measure
 * the whole program with.
 *
 *   polygraph_workload NAME LEVEL [TRANSACTIONS [KEYS [SESSIONS [SEED [OPERATIONS [FILE]]]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/write_history.h"
#include "polygraph/polygraph.h"
#include "tests/support/blackbox_workload.h"
#include "verify/verify.h"

static void print_result(const struct iso_polygraph_result *result)
{
    const struct iso_polygraph_counters *c = &result->counters;
    printf(
        "%s%s%s  %.3f s: prepare %.3f saturate %.3f windows %.3f search %.3f solve %.3f explain %.3f\n",
        iso_outcome_name(result->outcome), result->reason ? " " : "",
        result->reason ? result->reason : "", c->seconds_total, c->seconds_prepare,
        c->seconds_saturate, c->seconds_windows, c->seconds_search, c->seconds_solve,
        c->seconds_explain);
    printf(
        "  reads %llu, open %llu -> %llu, open pairs %llu, passes %llu, edges %llu known, %llu version, "
        "%llu anti, "
        "%llu meet, %llu join\n",
        (unsigned long long)c->reads, (unsigned long long)c->open_reads_first,
        (unsigned long long)c->open_reads_after, (unsigned long long)c->open_pairs_after,
        (unsigned long long)c->passes, (unsigned long long)c->known_edges,
        (unsigned long long)c->edges_version, (unsigned long long)c->edges_anti,
        (unsigned long long)c->edges_meet, (unsigned long long)c->edges_join);
    printf("  SCCs %llu windows %llu grown %llu rounds %llu cycles %llu\n",
           (unsigned long long)c->sccs, (unsigned long long)c->windows,
           (unsigned long long)c->windows_grown, (unsigned long long)c->window_rounds,
           (unsigned long long)c->window_cycles);
    printf(
        "  search free %llu decisions %llu dead ends %llu; solver calls %llu variables %llu cycles %llu\n",
        (unsigned long long)c->search_free, (unsigned long long)c->search_decisions,
        (unsigned long long)c->search_dead_ends, (unsigned long long)c->solver_calls,
        (unsigned long long)c->solver_variables, (unsigned long long)c->solver_cycles);
}

static int write_file(const struct iso_history *history, const char *path)
{
    struct iso_history_writer writer;
    struct iso_output output;
    struct iso_error error = {0};
    if (iso_output_open(&output, path, &error) == ISO_OK) {
        iso_history_writer_init(&writer, &output, ISO_FORMAT_NATIVE);
        iso_history_writer_add(&writer, history, &error);
        iso_history_writer_end(&writer);
        iso_output_close(&output, &error);
    }
    if (error.status)
        fprintf(stderr, "%s\n", error.text);
    return error.status;
}

int main(int argc, char **argv)
{
    struct blackbox_workload workload = {.name = argc > 1 ? argv[1] : "",
                                         .transactions = argc > 3 ? (uint32_t)atoi(argv[3]) : 10000,
                                         .keys = argc > 4 ? (uint32_t)atoi(argv[4]) : 5000,
                                         .sessions = argc > 5 ? (uint32_t)atoi(argv[5]) : 20,
                                         .seed = argc > 6 ? strtoull(argv[6], NULL, 10) : 0,
                                         .operations = argc > 7 ? (uint32_t)atoi(argv[7]) : 8};
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    struct iso_history history;
    struct iso_error error = {0};
    iso_polygraph_options_init(&options);
    options.level = ISO_LEVELS;
    options.timeout = 60;
    options.no_advice = true; /* these histories come in the order of their commits */
    for (int level = 0; argc > 2 && level < ISO_LEVELS; level++) {
        if (strcmp(argv[2], iso_level_name((enum iso_level)level)) == 0)
            options.level = (enum iso_level)level;
    }
    workload.serial = options.level != ISO_LEVELS && iso_level_is_serial(options.level);
    iso_history_init(&history);
    if (options.level == ISO_LEVELS || !blackbox_workload_make(&workload, &history)) {
        fprintf(
            stderr,
            "usage: %s blindw|bl|rh|wh|hd|rmw LEVEL [TRANSACTIONS [KEYS [SESSIONS [SEED [OPERATIONS "
            "[FILE]]]]]]\n",
            argv[0]);
        return 2;
    }
    if (argc > 8) {
        int status = write_file(&history, argv[8]);
        iso_history_release(&history);
        return status;
    }
    if (iso_history_finish(&history, &error) != ISO_OK)
        return 4;
    iso_polygraph_result_init(&result);
    iso_polygraph_check(&history, &options, &result, &error);
    print_result(&result);
    int status =
        result.outcome == ISO_IS_UNDECIDED ? 3 : iso_verify(&history, &result.evidence, &error);
    if (error.status)
        printf("evidence is not confirmed: %s\n", error.text);
    iso_polygraph_result_release(&result);
    iso_history_release(&history);
    return status;
}
