#include "tests/support/chronos_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "chronos/chronos.h"
#include "tests/support/brief_history.h"

static struct chronos_counts check(const struct iso_history *history, enum iso_level level,
                                   unsigned threads, const char *wanted)
{
    struct iso_check_options options = {.level = level, .session_order = true, .threads = threads};
    struct iso_error error = {.status = ISO_OK};
    struct iso_verdict verdict;
    iso_verdict_init(&verdict, history, level, 0);
    if (iso_chronos_check(history, &options, &verdict, &error) != ISO_OK)
        fail_msg("refused: %s", error.text);
    iso_verdict_conclude(&verdict, false);
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
    struct chronos_counts one = check(&history, level, 1, wanted),
                          three = check(&history, level, 3, wanted);
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
    iso_verdict_release(&verdict);
    iso_history_release(&history);
}
