/* The log (base/log.h), in a unit that is built with it: the engine's front. */
#define _GNU_SOURCE
#ifndef ISO_LOGGING
#define ISO_LOGGING
#endif
#include "aion/front/front.c" /* in place of the archive's */

#include <stdlib.h>
#include <unistd.h>

#include "aion/aion.h"
#include "tests/support/test.h"

enum { TRANSACTIONS = 3, TEXT_BYTES = 4096 };

/* What the engine logs of transactions 1 to TRANSACTIONS, of which the first comes twice. */
static void log_of(const char *modules, const char *tid, char text[TEXT_BYTES])
{
    struct iso_history block;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_aion_options options;
    FILE *file = tmpfile();
    int terminal = dup(STDERR_FILENO);
    iso_aion_options_init(&options);
    iso_history_init(&block);
    for (uint32_t t = 1; t <= TRANSACTIONS + 1; t++) {
        uint32_t number = t > TRANSACTIONS ? 1 : t;
        iso_history_begin(&block, number, 1, ISO_COMMITTED, iso_origin(0, number));
        iso_history_set_sts(&block, (struct iso_stamp){.physical = 10 * number});
        iso_history_set_cts(&block, (struct iso_stamp){.physical = 10 * number + 5});
        iso_history_operation(&block, ISO_WRITE, 7, number);
    }
    struct iso_aion *engine = iso_aion_new(&options);
    iso_aion_block(engine, &block);
    setenv("ISOCHRON_LOG", modules, 1);
    if (tid)
        setenv("ISOCHRON_LOG_TID", tid, 1);
    dup2(fileno(file), STDERR_FILENO);
    enum iso_status status = iso_aion_add(engine, 0, TRANSACTIONS + 1, 0, NULL, &error);
    dup2(terminal, STDERR_FILENO);
    unsetenv("ISOCHRON_LOG");
    unsetenv("ISOCHRON_LOG_TID");
    close(terminal);
    rewind(file);
    text[fread(text, 1, TEXT_BYTES - 1, file)] = '\0';
    fclose(file);
    iso_aion_free(engine);
    iso_history_release(&block);
    assert_int_equal(status, ISO_OK);
}

static void says_what_became_of_one_transaction(void **state)
{
    char text[TEXT_BYTES];
    (void)state;
    log_of("join,aion", "1", text);
    assert_non_null(strstr(text, "aion 1: accepted: committed, sts 10, cts 15, watermark 0\n"));
    assert_non_null(strstr(text, "aion 1: not taken: a repeat"));
    assert_null(strstr(text, "aion 2: "));
}

static void says_it_of_all_where_none_is_named(void **state)
{
    char text[TEXT_BYTES];
    (void)state;
    log_of("all", NULL, text);
    for (uint32_t t = 1; t <= TRANSACTIONS; t++) {
        char line[64];
        snprintf(line, sizeof line, "aion %u: accepted", t);
        assert_non_null(strstr(text, line));
    }
}

static void says_nothing_of_other_modules(void **state)
{
    char text[TEXT_BYTES];
    (void)state;
    log_of("join,chronos,aio", NULL, text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_became_of_one_transaction),
        cmocka_unit_test(says_it_of_all_where_none_is_named),
        cmocka_unit_test(says_nothing_of_other_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
