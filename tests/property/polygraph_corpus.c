/* Real histories with known verdicts: every line of VERDICTS.tsv, at `ser` and `si`, each verdict's
 * evidence verified. The format is detected and must be the one in the table. Argument: the
 * corpus's folder (default ../shared/corpus). Prints the slowest ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "polygraph/polygraph.h"
#include "verify/verify.h"

struct slow {
    double seconds;
    char what[600];
};

static struct slow slowest[5];

static void note_time(double seconds, const char *path, const char *level)
{
    for (int i = 0; i < 5; i++) {
        if (seconds <= slowest[i].seconds)
            continue;
        memmove(&slowest[i + 1], &slowest[i], (size_t)(4 - i) * sizeof slowest[0]);
        slowest[i].seconds = seconds;
        snprintf(slowest[i].what, sizeof slowest[i].what, "%s %s", level, path);
        return;
    }
}

/* What the engine says, "unverified" if its evidence is not confirmed. */
static const char *judge(const char *path, const char *format, enum iso_level level,
                         const char *name)
{
    struct iso_history history;
    struct iso_error error = {0};
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    const char *said = "refuse";
    enum iso_format guessed = ISO_FORMAT_NATIVE;
    iso_history_init(&history);
    iso_polygraph_result_init(&result);
    iso_polygraph_options_init(&options);
    options.level = level;
    options.timeout = 500;
    enum iso_status status = iso_format_guess(path, &guessed, &error);
    if (!strcmp(format, "viper") && guessed == ISO_FORMAT_COBRA)
        format = "cobra"; /* Viper's clients write Cobra's logs too */
    if (status != ISO_OK || strcmp(iso_format_name(guessed), format) != 0) {
        printf("# %s: guessed %s\n", name, iso_format_name(guessed));
        said = "wrong-format";
    } else if (iso_format_read(guessed, path, &history, &error) == ISO_OK &&
               iso_history_finish(&history, &error) == ISO_OK) {
        iso_polygraph_check(&history, &options, &result, &error);
        said = iso_outcome_name(result.outcome);
        note_time(result.counters.seconds_total, name, iso_level_name(level));
        if (result.outcome != ISO_IS_UNDECIDED &&
            iso_verify(&history, &result.evidence, &error) != ISO_CONFIRMED)
            said = "unverified";
    }
    if (error.status && error.status != ISO_BAD_INPUT)
        printf("# %s: %s\n", name, error.text);
    iso_polygraph_result_release(&result);
    iso_history_release(&history);
    return said;
}

int main(int argc, char **argv)
{
    const char *corpus = argc > 1 ? argv[1] : "../shared/corpus";
    char path[1024], line[1024], name[512], format[32], expected[2][32];
    unsigned judged = 0, wrong = 0;
    snprintf(path, sizeof path, "%s/VERDICTS.tsv", corpus);
    FILE *table = fopen(path, "r");
    if (!table) {
        printf("1..0 # SKIP no corpus at %s\n", corpus);
        return 0;
    }
    printf("1..1\n");
    while (fgets(line, sizeof line, table)) {
        if (sscanf(line, "%511s %31s %31s %31s", name, format, expected[0], expected[1]) != 4 ||
            !strcmp(name, "path") || !strcmp(format, "timekiller"))
            continue;
        snprintf(path, sizeof path, "%s/%s", corpus, name);
        for (int level = 0; level < 2; level++) {
            const char *said = judge(path, format, level ? ISO_SI : ISO_SER, name);
            bool known = strcmp(expected[level], "-") != 0;
            bool fine = known ? strcmp(said, expected[level]) == 0
                              : strcmp(said, "holds") == 0 || strcmp(said, "violated") == 0;
            judged++;
            wrong += !fine;
            if (!fine)
                printf("# %s at %s: %s, expected %s\n", name, level ? "si" : "ser", said,
                       expected[level]);
        }
    }
    fclose(table);
    for (int i = 0; i < 5; i++)
        printf("# %.3f s %s\n", slowest[i].seconds, slowest[i].what);
    printf("%s 1 - %u verdicts of the corpus, %u wrong\n", wrong || !judged ? "not ok" : "ok",
           judged, wrong);
    return wrong || !judged;
}
