/* What must not change a verdict: other names for keys, values, transactions and sessions; another
 * order of the input; several files; another format. Random small histories with duplicates,
 * deletes, lists, aborted and unknown transactions, through all of that and every format, at both
 * levels, each verdict's evidence confirmed. A change is shrunk and printed.
 *
 * polygraph_invariance [--histories N] [--seed S]
 */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native/read.h"
#include "formats/write_history.h"
#include "tests/property/judge.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"
#include "tests/support/random_history.h"
#include "tests/support/shrink.h"
#include "tests/support/temporary.h"

enum { LEVELS = 2, RELABELLED = ISO_FORMATS, PERMUTED, SPLIT, CHANGES };
enum { FOLDER = 512, PATH = 768 };

static const enum iso_level levels[LEVELS] = {ISO_SER, ISO_SI};

struct run {
    char folder[FOLDER];
    uint64_t seed; /* of the history at hand */
    int change;    /* a format, RELABELLED, ... */
    int before[LEVELS], after[LEVELS];
    struct iso_history_loss loss;        /* of writing it */
    char what[2 * ISO_ERROR_TEXT + 128]; /* is wrong */
    uint64_t judged, violated, compared[CHANGES], refused[CHANGES];
};

static const char *change_name(int change)
{
    static const char *const names[] = {"relabelled", "permuted", "split into files"};
    return change < ISO_FORMATS ? iso_format_name((enum iso_format)change)
                                : names[change - RELABELLED];
}

static void place(const struct run *run, const char *name, char path[PATH])
{
    snprintf(path, PATH, "%s/%s", run->folder, name);
}

/* ---- other names ---- */

struct names {
    struct random random;
    uint32_t count;
    struct plain_text from[400], to[400];
};

static void fresh_name(struct names *names, struct plain_text *text)
{
    static const char *const forms[] = {"%u", "name %u", "-%u", "%u0000000000", "\xc3\xa4/%u"};
    char made[PLAIN_TEXT];
    /* numbers of different forms end in different counts, so no two are equal */
    snprintf(made, sizeof made, forms[random_below(&names->random, 5)], 1000 + names->count);
    *text = plain_text(made);
}

static void rename_text(struct names *names, struct plain_text *text)
{
    uint32_t at = 0;
    if (text->absent)
        return;
    while (at < names->count && !plain_equal(&names->from[at], text))
        at++;
    if (at == names->count) {
        names->from[at] = *text;
        fresh_name(names, &names->to[at]);
        names->count++;
    }
    *text = names->to[at];
}

static void relabel(struct plain_history *history, uint64_t seed)
{
    static struct names keys, values, tids, sessions;
    keys = values = tids = sessions = (struct names){.random = {seed}};
    rename_text(&values, &history->initial_value);
    for (uint32_t i = 0; i < history->initial_count; i++) {
        rename_text(&keys, &history->initials[i].key);
        rename_text(&values, &history->initials[i].value);
    }
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        struct plain_transaction *transaction = &history->transactions[t];
        rename_text(&tids, &transaction->tid);
        rename_text(&sessions, &transaction->session);
        for (uint32_t o = 0; o < transaction->operation_count; o++) {
            struct plain_operation *operation = &transaction->operations[o];
            rename_text(&keys, &operation->key);
            rename_text(&values, &operation->value);
            for (uint32_t i = 0; i < operation->list_count; i++)
                rename_text(&values, &operation->list[i]);
        }
    }
}

static void permute(struct plain_history *history, uint64_t seed)
{
    struct random random = {seed};
    uint32_t order[PLAIN_TRANSACTIONS];
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        uint32_t other = random_below(&random, t + 1);
        order[t] = order[other];
        order[other] = t;
    }
    plain_history_permute(history, order);
}

/* ---- other files; each of these reads `into` and finishes it ---- */

static enum iso_status write_file(const char *path, const struct iso_history *history,
                                  enum iso_format format, struct iso_history_loss *loss,
                                  struct iso_error *error)
{
    struct iso_output output;
    struct iso_history_writer writer;
    if (iso_output_open(&output, path, error) != ISO_OK)
        return error->status;
    iso_history_writer_init(&writer, &output, format);
    enum iso_status status = iso_history_writer_add(&writer, history, error);
    iso_history_writer_end(&writer);
    *loss = writer.loss;
    if (status == ISO_OK)
        return iso_output_close(&output, error);
    iso_output_discard(&output);
    return status;
}

static enum iso_status write_initial(const char *path, const struct plain_history *plain,
                                     struct iso_error *error)
{
    struct iso_history finished;
    struct iso_output output;
    iso_history_init(&finished);
    enum iso_status status = plain_history_build(plain, &finished, error);
    if (status == ISO_OK)
        status = iso_output_open(&output, path, error);
    if (status == ISO_OK) {
        iso_history_write_initial(&output, &finished);
        status = iso_output_close(&output, error);
    }
    iso_history_release(&finished);
    return status;
}

/* Cuts a file of lines in up to three, with empty ones among them. */
static uint32_t split(const struct run *run, const char *path, char parts[3][PATH])
{
    struct random random = {run->seed};
    FILE *whole = fopen(path, "r"), *part[3];
    char *line = NULL;
    size_t size = 0;
    uint32_t at = 0;
    for (int i = 0; i < 3; i++) {
        char name[8] = {(char)('a' + i), 0};
        place(run, name, parts[i]);
        part[i] = fopen(parts[i], "w");
    }
    while (whole && getline(&line, &size, whole) > 0) {
        at += at < 2 && random_below(&random, 4) == 0;
        fputs(line, part[at]);
    }
    free(line);
    if (whole)
        fclose(whole);
    for (int i = 0; i < 3; i++)
        fclose(part[i]);
    return 3;
}

static enum iso_status through_native(struct run *run, const struct plain_history *plain,
                                      struct iso_history *into, struct iso_error *error)
{
    char path[PATH], initial[PATH], parts[3][PATH];
    const char *paths[3] = {path};
    struct iso_history building;
    struct iso_read_options options = {.threads = 1};
    uint32_t count = 1;
    place(run, "native", path);
    place(run, "initial", initial);
    iso_history_init(&building);
    plain_history_fill(plain, &building);
    enum iso_status status = write_file(path, &building, ISO_FORMAT_NATIVE, &run->loss, error);
    iso_history_release(&building);
    if (status == ISO_OK && run->change == SPLIT) {
        count = split(run, path, parts);
        for (uint32_t i = 0; i < count; i++)
            paths[i] = parts[i];
    }
    if (status == ISO_OK)
        status = write_initial(initial, plain, error);
    if (status == ISO_OK)
        status = iso_read_history(paths, count, &options, into, error);
    if (status == ISO_OK)
        status = iso_read_initial(initial, into, error);
    return status == ISO_OK ? iso_history_finish(into, error) : status;
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about, (void)type, (void)where;
    return remove(path);
}

static void remove_folder(const char *path)
{
    if (nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0)
        printf("# %s could not be removed\n", path);
}

static enum iso_status through_format(struct run *run, const struct plain_history *plain,
                                      struct iso_history *into, struct iso_error *error)
{
    char path[PATH];
    struct iso_history finished;
    enum iso_format format = (enum iso_format)run->change, guessed;
    place(run, iso_format_name(format), path);
    iso_history_init(&finished);
    bool directory = iso_format_is_directory(format);
    enum iso_status status = plain_history_build(plain, &finished, error);
    if (status == ISO_OK)
        status = directory ? iso_history_write_directory(path, format, &finished, &run->loss, error)
                           : write_file(path, &finished, format, &run->loss, error);
    bool written = status == ISO_OK;
    if (status == ISO_OK)
        status = iso_format_guess(path, &guessed, error);
    if (status == ISO_OK && guessed != format)
        status = iso_error_set(error, ISO_FAILED, "guessed %s", iso_format_name(guessed));
    if (status == ISO_OK)
        status = iso_format_read(format, path, into, error);
    if (status == ISO_OK)
        status = iso_history_finish(into, error);
    if (directory && written)
        remove_folder(path);
    iso_history_release(&finished);
    /* what cannot be written is refused; what was written must be read */
    return status == ISO_BAD_INPUT && written ? ISO_FAILED : status;
}

/* ---- comparing ---- */

static enum iso_status apply(struct run *run, const struct plain_history *plain,
                             struct iso_history *into, struct iso_error *error)
{
    static struct plain_history other;
    other = *plain;
    if (run->change == RELABELLED)
        relabel(&other, run->seed);
    else if (run->change == PERMUTED)
        permute(&other, run->seed);
    else
        return run->change == SPLIT || run->change == ISO_FORMAT_NATIVE
                   ? through_native(run, plain, into, error)
                   : through_format(run, plain, into, error);
    return plain_history_build(&other, into, error);
}

/* False: nothing to compare, since no order is sought, or there is nothing to tell a format by. */
static bool judge_levels(const struct iso_history *history, int said[LEVELS],
                         struct iso_error *error)
{
    for (int i = 0; i < LEVELS; i++)
        said[i] = judge(history, levels[i], error);
    bool says = false;
    for (uint32_t t = 0; t < history->txns.count; t++)
        says |= iso_status_of(history, t) == ISO_COMMITTED &&
                history->txns.first_op[t] < history->txns.first_op[t + 1];
    return says && said[0] != ISO_IS_UNDECIDED;
}

/* What a transaction of unknown outcome comes after may be lost, and is said to be: then a
 * violation may go.
 */
static bool is_allowed(const struct run *run, int level)
{
    return run->before[level] == run->after[level] ||
           (run->loss.unknown_moved && run->before[level] == ISO_IS_VIOLATED &&
            run->after[level] == ISO_HOLDS);
}

static bool changes(const struct plain_history *plain, void *context)
{
    struct run *run = context;
    struct iso_history before, after;
    struct iso_error error = {.status = ISO_OK}, refusal = {.status = ISO_OK};
    bool differs = false;
    iso_history_init(&before);
    iso_history_init(&after);
    if (plain_history_build(plain, &before, &error) != ISO_OK ||
        !judge_levels(&before, run->before, &error))
        goto out;
    memset(&run->loss, 0, sizeof run->loss);
    enum iso_status status = apply(run, plain, &after, &refusal);
    run->refused[run->change] += status == ISO_BAD_INPUT;
    if (status == ISO_OK) {
        run->compared[run->change]++;
        judge_levels(&after, run->after, &error);
        for (int i = 0; i < LEVELS; i++)
            differs |= !is_allowed(run, i);
        differs |= error.status != ISO_OK;
    }
    differs |= status == ISO_FAILED;
    snprintf(run->what, sizeof run->what, "%s%s; ser %s, then %s; si %s, then %s", refusal.text,
             error.text, judge_name(run->before[0]), judge_name(run->after[0]),
             judge_name(run->before[1]), judge_name(run->after[1]));
out:
    iso_history_release(&after);
    iso_history_release(&before);
    return differs;
}

static void report(struct run *run, struct plain_history *plain)
{
    shrink_history(plain, changes, run);
    changes(plain, run);
    printf("not ok - %s, seed %llu: %s\n", change_name(run->change), (unsigned long long)run->seed,
           run->what);
    plain_history_print(plain, stdout, "#   ");
    fflush(stdout);
}

static unsigned run_all(struct run *run, unsigned histories, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    static struct plain_history plain;
    unsigned failed = 0;
    options.timestamps = false;
    for (unsigned i = 0; i < histories && failed < 3; i++) {
        random_history(run->seed = seed + i, &options, &plain);
        for (run->change = 0; run->change < CHANGES; run->change++) {
            if (run->change == ISO_FORMAT_TIMEKILLER) /* has timestamps or is nothing */
                continue;
            if (changes(&plain, run)) {
                report(run, &plain);
                failed++;
                break;
            }
        }
        run->judged += run->before[0] == ISO_HOLDS;
        run->violated += run->before[0] == ISO_IS_VIOLATED;
    }
    return failed;
}

int main(int argc, char **argv)
{
    uint64_t number = 1000, seed = 1;
    const struct argument known[] = {
        {"--histories", .number = &number}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    unsigned histories = (unsigned)number;
    struct run run = {0};
    snprintf(run.folder, sizeof run.folder, "%s/polygraph-invariance-XXXXXX",
             temporary_folder_in_memory());
    if (!mkdtemp(run.folder))
        return 4;
    bool good = run_all(&run, histories, seed) == 0;
    remove_folder(run.folder);
    printf("# %llu hold at ser, %llu do not\n", (unsigned long long)run.judged,
           (unsigned long long)run.violated);
    good &= run.judged > histories / 5 && run.violated > histories / 5;
    for (int change = 0; change < CHANGES; change++) {
        bool enough = run.compared[change] >= histories / 20;
        if (change == ISO_FORMAT_TIMEKILLER)
            continue;
        printf("%s - %s: %llu compared, %llu refused\n", good && enough ? "ok" : "not ok",
               change_name(change), (unsigned long long)run.compared[change],
               (unsigned long long)run.refused[change]);
        good &= enough;
    }
    return !good;
}
