/* Options from a file, the environment and the command line: which one counts, what is refused,
 * what is printed. */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/options.h"
#include "base/memory.h"
#include "tests/support/capture.h"

struct target {
    bool flag;
    const char *text;
    uint64_t number, share, duration, threads;
    int choice;
    struct cli_texts list;
};

#define PLACE(member) offsetof(struct target, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("All"),
    CLI_ROW_FLAG("flag", PLACE(flag), "F."),
    CLI_ROW_TEXT("a-text", "T", PLACE(text), "T."),
    CLI_ROW_NUMBER("number", "N", PLACE(number), 0, 5000000, "N."),
    CLI_ROW_NUMBER("threads", "N", PLACE(threads), 1, 64, "N."),
    CLI_ROW_SHARE("share", "S", PLACE(share), "S."),
    CLI_ROW_DURATION("duration", "D", PLACE(duration), "D."),
    CLI_ROW_CHOICE("choice", "red|green", PLACE(choice), "C."),
    CLI_ROW_TEXTS("list", "T", PLACE(list), "L."),
    {.type = CLI_END},
};

static const struct cli_command command = {
    .name = "watch", .usage = "", .intro = "", .examples = "", .options = options};

static const struct cli_option other_options[] = {
    CLI_ROW_CHOICE("level", "si|ser", 0, "L."),
    {.type = CLI_END},
};
static const struct cli_command other = {
    .name = "check", .usage = "", .intro = "", .examples = "", .options = other_options};

static const struct cli_command *const commands[] = {&other, &command, NULL};

struct parsed {
    struct app app;
    struct target target;
    char path[TEST_PATH];
    enum iso_status status;
    char *printed;
};

/* `environment`: NAME=value, NULL at its end. */
static void parse(struct parsed *parsed, const char *file, const char *const *environment,
                  char **arguments)
{
    char *all[16] = {0};
    int count = 0;
    struct cli_texts files = {0};
    bool done;
    *parsed = (struct parsed){.app = {.commands = commands, .command = &command},
                              .target = {.text = "as it was", .choice = 1}};
    if (file) {
        test_write_file(parsed->path, "test.conf", file, strlen(file));
        all[count++] = "--config";
        all[count++] = parsed->path;
    }
    while (*arguments)
        all[count++] = *arguments++;
    for (const char *const *variable = environment; variable && *variable; variable++)
        putenv((char *)*variable);
    test_capture_start(&parsed->app.out);
    parsed->status = cli_parse(&parsed->app, count, all, &parsed->target, &files, &done);
    parsed->printed = test_capture_end(&parsed->app.out);
    for (const char *const *variable = environment; variable && *variable; variable++) {
        char name[64] = "";
        memcpy(name, *variable, strcspn(*variable, "="));
        unsetenv(name);
    }
    cli_texts_release(&files);
    if (file)
        unlink(parsed->path);
}

static void parsed_end(struct parsed *parsed)
{
    cli_texts_release(&parsed->target.list);
    cli_release(&parsed->app);
    free(parsed->printed);
}

static void the_stronger_counts(void **state)
{
    (void)state;
    struct parsed parsed;
    const char *file =
        "number = 1\nshare = 0.5\nlist = general\nthreads = 2\n[watch]\nnumber = 2\nlist = a\nlist = b\n"
        "flag = true\n[check]\nlevel = si\n";
    parse(&parsed, file, NULL, (char *[]){NULL});
    assert_int_equal(parsed.status, ISO_OK);
    assert_int_equal(parsed.target.number, 2);
    assert_int_equal(parsed.target.share, 1ull << 31);
    assert_int_equal(parsed.target.threads, 2);
    assert_int_equal(parsed.target.choice, 1);
    assert_true(parsed.target.flag);
    assert_int_equal(parsed.target.list.count, 2);
    assert_string_equal(parsed.target.list.items[0], "a");
    assert_true(parsed.target.list.in_file);
    parsed_end(&parsed);

    const char *environment[] = {"ISOCHRON_NUMBER=3", "ISOCHRON_LIST=c\nd\n\ne",
                                 "ISOCHRON_A_TEXT=", NULL};
    parse(&parsed, file, environment, (char *[]){"--flag=false", NULL});
    assert_int_equal(parsed.target.number, 3);
    assert_int_equal(parsed.target.list.count, 3);
    assert_string_equal(parsed.target.list.items[2], "e");
    assert_string_equal(parsed.target.text, "as it was");
    assert_false(parsed.target.flag);
    parsed_end(&parsed);

    parse(&parsed, file, environment, (char *[]){"--number", "4", "--list=f", NULL});
    assert_int_equal(parsed.target.number, 4);
    assert_int_equal(parsed.target.list.count, 1);
    assert_string_equal(parsed.target.list.items[0], "f");
    assert_false(parsed.target.list.in_file);
    parsed_end(&parsed);
}

static void mistakes_have_their_place(void **state)
{
    (void)state;
    /* What is said ends so, after the name of the file. */
    static const struct {
        const char *file, *variable, *said;
    } cases[] = {
        {"numbr = 1", NULL, ":1: numbr: no such option; did you mean number?"},
        {"[watch]\nentirely-else = 1", NULL,
         ":2: entirely-else: no such option; isochron watch --help lists them"},
        {"[wach]\nnumber = 1", NULL, ":2: [wach] is no command; did you mean [watch]?"},
        {"[check]\nlevle = si", NULL, ":2: levle: no such option; did you mean level?"},
        {"number = 9M", NULL, ":1: number = 9M: expected a number from 0 to 5000000"},
        {"number = 1\nnumber = 2", NULL, "test.conf:1"},
        {"choice = gren", NULL,
         ":1: choice = gren: expected one of red|green; did you mean green?"},
        {"flag = yes", NULL, ":1: flag = yes: a flag takes true or false, or no value"},
        {"config = other", NULL, ":1: config: only on the command line"},
        {"number", NULL, ":1: expected name = value, [section] or # comment"},
        {NULL, "ISOCHRON_NUMBER=x", "ISOCHRON_NUMBER=x: expected a number from 0 to 5000000"},
        {NULL, "ISOCHRON_CONFIG=/nowhere/at/all",
         "/nowhere/at/all: cannot be opened: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed parsed;
        parse(&parsed, cases[i].file, (const char *[]){cases[i].variable, NULL}, (char *[]){NULL});
        assert_int_equal(parsed.status, ISO_BAD_INPUT);
        size_t length = strlen(parsed.app.error.text), tail = strlen(cases[i].said);
        assert_true(length >= tail);
        assert_string_equal(parsed.app.error.text + length - tail, cases[i].said);
        parsed_end(&parsed);
    }
}

static void printed_values_are_read_back(void **state)
{
    (void)state;
    struct parsed parsed, again;
    const char *environment[] = {"ISOCHRON_DURATION=1500us", NULL};
    parse(&parsed, "a-text = \" # \\n\"\nshare = 0.3\n", environment,
          (char *[]){"--list", "sasl.password=x", "--list", "b,registry=https://me:word@host/x?a",
                     "--print-config", NULL});
    assert_int_equal(parsed.status, ISO_OK);
    char expected[1000];
    snprintf(
        expected, sizeof expected,
        "[watch]\nflag = false  # default\na-text = \" # \\x0a\"  # %s:1\nnumber = 0  # default\n"
        "# threads is not set\nshare = 0.3  # %s:2\nduration = 1500us  # environment ISOCHRON_DURATION\n"
        "choice = green  # default\nlist = sasl.password=[redacted]  # flag\n"
        "list = b,registry=https://[redacted]@host/x?a  # flag\nlog-format = text  # default\n"
        "log-limit = 10000000  # default\ncore = false  # default\n",
        parsed.path, parsed.path);
    assert_string_equal(parsed.printed, expected);
    parse(&again, parsed.printed, NULL, (char *[]){NULL});
    assert_int_equal(again.status, ISO_OK);
    assert_string_equal(again.target.text, parsed.target.text);
    assert_int_equal(again.target.share, parsed.target.share);
    assert_int_equal(again.target.duration, 1500000);
    assert_int_equal(again.target.list.count, 2);
    parsed_end(&again);
    parsed_end(&parsed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stronger_counts),
        cmocka_unit_test(mistakes_have_their_place),
        cmocka_unit_test(printed_values_are_read_back),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
