/* Judges the histories named on the command line, and one that is built by calls where there is
 * none.
 *
 *     cc check_history.c $(pkg-config --cflags --libs isochron) -o check_history
 *     ./check_history [--level ser] bank.jsonl
 */
#include <iso/isochron.h>
#include <stdio.h>
#include <string.h>

static enum iso_status write_balance(struct iso_transactions *history, const char *tid,
                                     uint64_t sts, uint64_t cts, const char *found,
                                     const char *left, struct iso_error *error)
{
    iso_transactions_begin(history, tid, tid); /* each in a session of its own */
    iso_transactions_start_timestamp(history, sts);
    iso_transactions_commit_timestamp(history, cts);
    if (found)
        iso_transactions_read(history, "balance", found);
    iso_transactions_write(history, "balance", left);
    return iso_transactions_commit(history, error);
}

/* Alice and Bob both read 100 and write what they make of it: one of the two deposits is lost. */
static enum iso_status build(struct iso_transactions *history, struct iso_error *error)
{
    if (write_balance(history, "open", 1, 2, NULL, "100", error) != ISO_OK ||
        write_balance(history, "alice", 3, 6, "100", "150", error) != ISO_OK)
        return error->status;
    return write_balance(history, "bob", 4, 7, "100", "130", error);
}

static void print(const struct iso_check *check)
{
    static const char *const words[] = {"holds", "violated", "undecided"};
    const char *reason = iso_check_reason(check);
    size_t i, j;
    printf("%s%s%s\n", words[iso_check_outcome(check)], reason ? ": " : "", reason ? reason : "");
    for (i = 0; i < iso_check_count(check); i++) {
        const struct iso_report *report = iso_check_report(check, i);
        printf("%s", report->axiom);
        for (j = 0; j < report->tid_count; j++)
            printf(" %s", report->tids[j]);
        if (report->place_count) /* where the first of them was read: a file's line, or its number
                                    in what was built */
            printf(" (%s:%llu)", report->places[0].input,
                   (unsigned long long)report->places[0].number);
        puts("");
    }
}

int main(int count, char **arguments)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_options *options = iso_options_new();
    struct iso_transactions *history = iso_transactions_new();
    struct iso_check *check = NULL;
    int first = 1, status = ISO_FAILED;
    int is_ready = 1;
    if (count > 2 && !strcmp(arguments[1], "--level")) {
        is_ready = iso_options_set_text(options, "level", arguments[2], &error) == ISO_OK;
        first = 3;
    }
    if (first == count)
        is_ready = is_ready && build(history, &error) == ISO_OK;
    for (; is_ready && first < count; first++)
        is_ready = iso_transactions_load(history, arguments[first], NULL, &error) == ISO_OK;
    if (is_ready)
        check = iso_check_new(history, options, &error);
    if (check) {
        static const int exits[] = {ISO_OK, ISO_VIOLATED, ISO_UNDECIDED};
        print(check);
        status = exits[iso_check_outcome(check)];
    } else {
        fprintf(stderr, "check_history: %s\n", error.text);
        status = error.status;
    }
    iso_check_free(check);
    iso_transactions_free(history);
    iso_options_free(options);
    return status;
}
