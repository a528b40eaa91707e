#include "tests/unit/chronos_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "chronos/chronos.h"
#include "tests/oracle/timestamp_oracle.h"
#include "tests/support/brief_history.h"

/* The oracle's verdict of a history, if that is as small as its histories are. */
struct opinion {
    bool fits, judged, refused[PLAIN_TRANSACTIONS];
    struct plain_history plain;
    struct instances found, of_chronos;
};

static struct opinion *ask_oracle(enum iso_level level, const char *lines)
{
    struct opinion *opinion = iso_allocate_zeroed(1, sizeof *opinion);
    opinion->fits = brief_plain(&opinion->plain, lines);
    opinion->judged = opinion->fits && timestamp_oracle(&opinion->plain, level, true,
                                                        &opinion->found, opinion->refused);
    return opinion;
}

/* Both say the same, with kinds, values, writers and counts. */
static void agree(struct opinion *opinion, const struct iso_verdict *verdict)
{
    if (!opinion->fits)
        return;
    assert_true(opinion->judged);
    instances_of_verdict(&opinion->of_chronos, verdict);
    if (instances_equal(&opinion->found, &opinion->of_chronos))
        return;
    instances_print(&opinion->found, &opinion->plain, stderr, "the oracle: ");
    instances_print(&opinion->of_chronos, &opinion->plain, stderr, "chronos: ");
    fail();
}

static struct chronos_counts check(const struct iso_history *history, enum iso_level level,
                                   unsigned threads, struct opinion *opinion, const char *wanted)
{
    struct iso_check_options options = {.level = level, .session_order = true, .threads = threads};
    struct iso_error error = {.status = ISO_OK};
    struct iso_verdict verdict;
    iso_verdict_init(&verdict, history, level, 0);
    if (iso_chronos_check(history, &options, &verdict, &error) != ISO_OK)
        fail_msg("refused: %s", error.text);
    iso_verdict_conclude(&verdict, false);
    agree(opinion, &verdict);
    char *said = brief_verdict(&verdict);
    assert_string_equal(said, wanted);
    assert_string_equal(verdict.engine, "chronos");
    struct chronos_counts counts = {verdict.reads_judged, verdict.reads_unjudged,
                                    verdict.writes_unjudged, verdict.per_operation,
                                    verdict.outcome};
    free(said);
    iso_verdict_release(&verdict);
    return counts;
}

struct chronos_counts chronos_expect(enum iso_level level, const char *lines, const char *wanted)
{
    struct iso_history history;
    brief_history(&history, lines);
    struct opinion *opinion = ask_oracle(level, lines);
    struct chronos_counts one = check(&history, level, 1, opinion, wanted),
                          three = check(&history, level, 3, opinion, wanted);
    iso_free(opinion);
    assert_int_equal(one.judged, three.judged);
    assert_int_equal(one.unjudged, three.unjudged);
    assert_int_equal(one.writes_unjudged, three.writes_unjudged);
    assert_int_equal(one.per_operation, three.per_operation);
    assert_int_equal(one.outcome, three.outcome);
    iso_history_release(&history);
    return one;
}

void chronos_expect_refusal(enum iso_level level, const char *lines, const char *wanted)
{
    struct iso_check_options options = {.level = level, .session_order = true, .threads = 2};
    struct iso_error error = {.status = ISO_OK};
    struct iso_history history;
    struct iso_verdict verdict;
    brief_history(&history, lines);
    iso_verdict_init(&verdict, &history, level, 0);
    assert_int_equal(iso_chronos_check(&history, &options, &verdict, &error), ISO_BAD_INPUT);
    assert_string_equal(error.text, wanted);
    struct opinion *opinion = ask_oracle(level, lines);
    assert_false(opinion->judged);
    iso_free(opinion);
    iso_verdict_release(&verdict);
    iso_history_release(&history);
}
