/* polygraph on histories of a toy database, large enough for every step of the route: at the level
 * that the database keeps they hold, and what is said at any level is verified.
 *
 * polygraph_workloads [--rounds N] [--seed S]
 */
#include <stdio.h>
#include <stdlib.h>

#include "polygraph/polygraph.h"
#include "tests/support/arguments.h"
#include "tests/support/blackbox_workload.h"
#include "verify/verify.h"

/* NULL if all is well. */
static const char *judge(const struct blackbox_workload *workload, enum iso_level level)
{
    struct iso_history history;
    struct iso_error error = {0};
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    const char *wrong = NULL;
    iso_history_init(&history);
    iso_polygraph_options_init(&options);
    iso_polygraph_result_init(&result);
    options.level = level;
    options.no_advice = true; /* these histories come in the order of their commits */
    bool must_hold = workload->serial || !iso_level_is_serial(level);
    /* Without sessions, few values on few keys can take forever. */
    bool must_decide = must_hold && level != ISO_ADYA_SI;
    options.timeout = must_decide ? 500 : 1;
    if (!blackbox_workload_make(workload, &history) ||
        iso_history_finish(&history, &error) != ISO_OK)
        wrong = "no history";
    else if (iso_polygraph_check(&history, &options, &result, &error) != ISO_OK)
        wrong = "no verdict";
    else if (result.outcome == ISO_IS_UNDECIDED)
        wrong = must_decide ? "undecided" : NULL;
    else if (must_hold && result.outcome != ISO_HOLDS)
        wrong = "false alarm";
    else if (iso_verify(&history, &result.evidence, &error) != ISO_CONFIRMED)
        wrong = "evidence is not confirmed";
    iso_polygraph_result_release(&result);
    iso_history_release(&history);
    return wrong;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"blindw", "bl", "rh", "wh", "hd", "rmw"};
    static const enum iso_level models[] = {ISO_SER, ISO_SI, ISO_ADYA_SI};
    uint64_t asked = 4, seed = 1;
    const struct argument known[] = {
        {"--rounds", .number = &asked}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    unsigned rounds = (unsigned)asked, number = 0;
    bool fine = true;
    printf("1..%u\n", 18 * rounds);
    for (unsigned round = 0; round < rounds; round++) {
        for (int name = 0; name < 6; name++) {
            for (int m = 0; m < 3; m++) {
                struct blackbox_workload workload = {.name = names[name],
                                                     .transactions = 300 + 300 * round,
                                                     .keys = 60 + 100 * round,
                                                     .sessions = 4 + 6 * round,
                                                     .operations = 6,
                                                     .seed = seed - 1 + round,
                                                     .serial = round % 2 == 0};
                const char *wrong = judge(&workload, models[m]);
                fine &= !wrong;
                printf("%s %u - %s at %s, %u transactions%s%s\n", wrong ? "not ok" : "ok", ++number,
                       names[name], iso_level_name(models[m]), workload.transactions,
                       wrong ? ": " : "", wrong ? wrong : "");
            }
        }
    }
    return !fine;
}
