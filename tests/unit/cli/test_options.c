/* The option table: spellings, values, errors; and the line of progress. */
#include "tests/support/test.h"

#include <stdlib.h>

#include "cli/options.h"
#include "cli/progress.h"
#include "tests/support/capture.h"

struct target {
    bool flag;
    const char *text;
    uint64_t number, share;
    int choice;
    struct cli_texts texts;
};

#define PLACE(member) offsetof(struct target, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("All of them"),
    CLI_ROW_FLAG("flag", PLACE(flag), "A flag."),
    CLI_ROW_TEXT("output", "FILE", PLACE(text),
                 "A text\n"
                 "in two lines.",
                 .letter = 'o'),
    CLI_ROW_NUMBER("number", "N", PLACE(number), 2, 5000000, "A number."),
    CLI_ROW_SHARE("share", "SHARE", PLACE(share), "A share."),
    CLI_ROW_CHOICE("choice", "red|green|blue", PLACE(choice), "A choice."),
    CLI_ROW_TEXTS("more", "TEXT", PLACE(texts), "Texts."),
    {.type = CLI_END},
};

static const struct cli_command command = {.name = "try",
                                           .usage = "FILE",
                                           .intro = "Tries.",
                                           .examples = "  isochron try x\n",
                                           .options = options};

static const struct cli_command *const commands[] = {&command, NULL};

struct parsed {
    struct app app;
    struct target target;
    struct cli_texts files;
    bool done;
    enum iso_status status;
};

static void parse(struct parsed *parsed, char **arguments)
{
    int count = 0;
    while (arguments[count])
        count++;
    *parsed = (struct parsed){.app = {.commands = commands, .command = &command}};
    test_capture_start(&parsed->app.out);
    parsed->status =
        cli_parse(&parsed->app, count, arguments, &parsed->target, &parsed->files, &parsed->done);
}

/* What was printed; the caller frees it. */
static char *parsed_end(struct parsed *parsed)
{
    cli_texts_release(&parsed->files);
    cli_texts_release(&parsed->target.texts);
    return test_capture_end(&parsed->app.out);
}

static void all_spellings(void **state)
{
    (void)state;
    struct parsed parsed;
    parse(&parsed, (char *[]){"--flag", "a", "--number=3k", "-o", "x", "--share", "0.25", "-",
                              "--choice=blue", "--more", "1", "--more=2", "--", "--flag", NULL});
    assert_int_equal(parsed.status, ISO_OK);
    assert_true(parsed.target.flag);
    assert_int_equal(parsed.target.number, 3000);
    assert_string_equal(parsed.target.text, "x");
    assert_int_equal(parsed.target.share, 1u << 30);
    assert_int_equal(parsed.target.choice, 2);
    assert_int_equal(parsed.target.texts.count, 2);
    assert_string_equal(parsed.target.texts.items[1], "2");
    assert_int_equal(parsed.files.count, 3);
    assert_string_equal(parsed.files.items[1], "-");
    assert_string_equal(parsed.files.items[2], "--flag");
    free(parsed_end(&parsed));
    parse(&parsed, (char *[]){"-oy", "--output=", "--number", "2", "--number", "5M", NULL});
    assert_string_equal(parsed.target.text, "");
    assert_int_equal(parsed.target.number, 5000000);
    free(parsed_end(&parsed));
}

static void mistakes(void **state)
{
    (void)state;
    static const struct {
        char *arguments[3];
        const char *said;
    } cases[] = {
        {{"--flga"}, "--flga: no such option; did you mean --flag?"},
        {{"--numbr=3"}, "--numbr=3: no such option; did you mean --number?"},
        {{"--hlep"}, "--hlep: no such option; did you mean --help?"},
        {{"--entirely-else"}, "--entirely-else: no such option; isochron try --help lists them"},
        {{"-x"}, "-x: no such option; isochron try --help lists them"},
        {{"--fla"}, "--fla: no such option; did you mean --flag?"},
        {{"--flag=1"}, "--flag 1: a flag takes true or false, or no value"},
        {{"--choice"}, "--choice needs a value: red|green|blue"},
        {{"-o"}, "--output needs a value: FILE"},
        {{"--number", "1"}, "--number 1: expected a number from 2 to 5000000"},
        {{"--number", "6M"}, "--number 6M: expected a number from 2 to 5000000"},
        {{"--number", "18446744073709551617"},
         "--number 18446744073709551617: expected a number from 2 to 5000000"},
        {{"--number", "18446744073709552k"},
         "--number 18446744073709552k: expected a number from 2 to 5000000"},
        {{"--number", "-3"}, "--number -3: expected a number from 2 to 5000000"},
        {{"--number", " 3"}, "--number  3: expected a number from 2 to 5000000"},
        {{"--number", "3x"}, "--number 3x: expected a number from 2 to 5000000"},
        {{"--share", "1.01"}, "--share 1.01: expected a number from 0 to 1, such as 0.5"},
        {{"--share", "nan"}, "--share nan: expected a number from 0 to 1, such as 0.5"},
        {{"--choice", "gree"},
         "--choice gree: expected one of red|green|blue; did you mean green?"},
        {{"--choice", ""}, "--choice : expected one of red|green|blue"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct parsed parsed;
        parse(&parsed, (char **)cases[i].arguments);
        assert_int_equal(parsed.status, ISO_BAD_INPUT);
        assert_string_equal(parsed.app.error.text, cases[i].said);
        free(parsed_end(&parsed));
    }
}

struct durations {
    uint64_t first, seconds, duration;
    bool flag, given;
};

static const struct cli_option of_durations[] = {
    CLI_ROW_SECONDS("seconds", "S", offsetof(struct durations, seconds), 1, 86400, "S."),
    CLI_ROW_SECONDS("wait", "S", offsetof(struct durations, first), 0, 86400, "S."),
    CLI_ROW_DURATION("duration", "D", offsetof(struct durations, duration), "D."),
    CLI_ROW_FLAG("flag", offsetof(struct durations, flag), "F.",
                 .given = offsetof(struct durations, given)),
    {.type = CLI_END},
};

static const struct cli_command durations_command = {
    .name = "try", .usage = "", .intro = "Tries.", .examples = "", .options = of_durations};

/* Parses one argument; false: refused. */
static bool parse_duration(char *argument, struct durations *durations)
{
    struct app app = {.commands = commands, .command = &durations_command};
    struct cli_texts files = {0};
    bool done;
    *durations = (struct durations){.seconds = 7};
    enum iso_status status =
        cli_parse(&app, 1, (char *[]){argument, NULL}, durations, &files, &done);
    cli_texts_release(&files);
    return status == ISO_OK;
}

static void durations_have_units_and_decimals(void **state)
{
    (void)state;
    static const struct {
        char *argument;
        uint64_t milliseconds; /* UINT64_MAX: refused */
    } seconds[] = {{"--seconds=1", 1000},
                   {"--seconds=1.5", 1500},
                   {"--seconds=1500ms", 1500},
                   {"--seconds=86400", 86400000},
                   {"--seconds=1m", 60000},
                   {"--seconds=0.25m", 15000},
                   {"--seconds=0.9", UINT64_MAX},
                   {"--seconds=86401", UINT64_MAX},
                   {"--seconds=1.0005", UINT64_MAX}, /* no whole milliseconds */
                   {"--seconds=1.", UINT64_MAX},
                   {"--seconds=.5", UINT64_MAX},
                   {"--seconds=1.5.5", UINT64_MAX},
                   {"--seconds=1h", UINT64_MAX},
                   {"--seconds=-1", UINT64_MAX},
                   {"--seconds=99999999999999999999", UINT64_MAX},
                   {"--seconds=1.0000000000", UINT64_MAX}};
    struct durations durations;
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        bool fine = parse_duration(seconds[i].argument, &durations);
        assert_int_equal(fine, seconds[i].milliseconds != UINT64_MAX);
        assert_int_equal(durations.seconds, fine ? seconds[i].milliseconds : 7);
    }
    assert_true(parse_duration("--wait=0.2s", &durations));
    assert_int_equal(durations.first, 200);
    assert_true(parse_duration("--wait=0", &durations));
    assert_true(parse_duration("--duration=0.2s", &durations));
    assert_int_equal(durations.duration, 200000000);
    assert_true(parse_duration("--duration=1.5us", &durations));
    assert_int_equal(durations.duration, 1500);
    assert_false(parse_duration("--duration=0.5ns", &durations));
    assert_false(parse_duration("--duration=0.2", &durations));
}

static void a_flag_tells_whether_it_was_given(void **state)
{
    (void)state;
    struct durations durations;
    assert_true(parse_duration("--wait=1", &durations));
    assert_false(durations.given);
    assert_true(parse_duration("--flag=false", &durations));
    assert_true(durations.given && !durations.flag);
    assert_true(parse_duration("--flag", &durations));
    assert_true(durations.given && durations.flag);
}

static void help_is_made_from_the_table(void **state)
{
    (void)state;
    struct parsed parsed;
    parse(&parsed, (char *[]){"--number", "3", "--help", "--nonsense", NULL});
    assert_int_equal(parsed.status, ISO_OK);
    assert_true(parsed.done);
    char *text = parsed_end(&parsed);
    assert_string_equal(
        text,
        "usage: isochron try FILE\n\nTries.\n\nAll of them\n"
        "  --flag                  A flag.\n"
        "  -o, --output FILE       A text\n"
        "                          in two lines.\n"
        "  --number N              A number.\n"
        "  --share SHARE           A share.\n"
        "  --choice red|green|blue A choice.\n"
        "  --more TEXT             Texts.\n"
        "\nOf every command\n"
        "  --config FILE           Take options from FILE, lines of name = value. Environment variables\n"
        "                          such as ISOCHRON_MAX_VIOLATIONS override the file; arguments override\n"
        "                          both.\n"
        "  --print-config          Print each option's value and where it comes from, without secrets,\n"
        "                          and do nothing else.\n"
        "  --log-format text|json  The form of messages on standard error (text).\n"
        "  --log-limit BYTES       The most bytes of remarks and warnings in an hour (10M). Further lines\n"
        "                          are dropped, and their number is reported. 0: no limit. Errors are\n"
        "                          always printed.\n"
        "  --core                  Let a crash leave a core dump, which contains data, and let debuggers\n"
        "                          attach.\n"
        "  -h, --help              Print this.\n"
        "  --version               Print the version.\n"
        "\nExamples\n  isochron try x\n");
    free(text);
}

static void progress_lines(void **state)
{
    (void)state;
    char text[160];
    cli_progress_text("reading", 12000000, 48000000, 0.5, text, sizeof text);
    assert_string_equal(text, "reading  12.0 MB of 48.0 MB  25%  24.0 MB/s  2 s left");
    cli_progress_text("reading", 999, 0, 1, text, sizeof text);
    assert_string_equal(text, "reading  999 B  999 B/s");
    cli_progress_text("reading", 0, 100, 0, text, sizeof text);
    assert_string_equal(text, "reading  0 B  0 B/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_spellings),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(durations_have_units_and_decimals),
        cmocka_unit_test(a_flag_tells_whether_it_was_given),
        cmocka_unit_test(help_is_made_from_the_table),
        cmocka_unit_test(progress_lines),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
