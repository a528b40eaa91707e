/* The unit tests of all modules as one program. The build gives the `main` of each
 * tests/unit/MODULE/test_FILE.c a name of its own and lists them (unit_files).
 *
 *   unit [--list] [--no-threads] [MODULE[/FILE[/TEST]]]...
 *
 * Without names all run. TEST may hold * and ?. Each file runs in a process of its own, so that one
 * that crashes ends none but itself. --no-threads: a file that starts a thread has failed
 * (tests/programs.txt says which are not run under the thread sanitizer). Prints TAP. Exit status
 * 0, 1 if any failed, 2 if a name fits nothing.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tests/unit/unit.h"

static struct {
    bool list, no_threads;
    const struct unit_file *file; /* the one that runs */
    const char *test;             /* of its tests; NULL: all */
} unit;

/* ---- one file ---- */

int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down);

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    (void)name;
    for (size_t i = 0; unit.list && i < count; i++)
        if (!unit.test || !fnmatch(unit.test, tests[i].name, 0))
            printf("%s/%s\n", unit.file->name, tests[i].name);
    if (unit.list)
        return 0;
    cmocka_set_test_filter(unit.test);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return __real__cmocka_run_group_tests(unit.file->name, tests, count, set_up, tear_down);
}

static int run_here(void)
{
    int failed = unit.file->run();
    if (unit.no_threads && unit_threads_started()) {
        printf("not ok - %s starts threads\n", unit.file->name);
        failed++;
    }
    fflush(stdout);
    return failed ? 1 : 0;
}

static int run_apart(void)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        exit(run_here());
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    if (WIFSIGNALED(status))
        printf("not ok - %s: killed by signal %d\n", unit.file->name, WTERMSIG(status));
    return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : 1;
}

/* ---- which ---- */

/* Whether `name` stands for the file, or for tests of it, which `*test` then is. */
static bool names(const char *name, const char *file, const char **test)
{
    size_t length = strlen(name), module = (size_t)(strchr(file, '/') - file), whole = strlen(file);
    *test = NULL;
    if ((length == module || length == whole) && !strncmp(name, file, length))
        return true;
    if (length <= whole || strncmp(name, file, whole) != 0 || name[whole] != '/')
        return false;
    *test = name + whole + 1;
    return true;
}

static uint32_t count_named(const char *name)
{
    const char *test;
    uint32_t count = 0;
    for (uint32_t i = 0; i < unit_file_count; i++)
        count += names(name, unit_files[i].name, &test);
    return count;
}

static int run_named(const char *name, bool alone)
{
    int status = 0;
    for (uint32_t i = 0; i < unit_file_count; i++) {
        unit.file = &unit_files[i];
        unit.test = NULL;
        if (!name || names(name, unit.file->name, &unit.test))
            status |= alone ? run_here() : run_apart();
    }
    return status;
}

int main(int argc, char **words)
{
    int status = 0, first = 1;
    uint32_t files = 0;
    for (; first < argc && words[first][0] == '-'; first++) {
        unit.list |= !strcmp(words[first], "--list");
        unit.no_threads |= !strcmp(words[first], "--no-threads");
        if (strcmp(words[first], "--list") != 0 && strcmp(words[first], "--no-threads") != 0) {
            fprintf(stderr, "usage: unit [--list] [--no-threads] [MODULE[/FILE[/TEST]]]...\n");
            return 2;
        }
    }
    for (int i = first; i < argc; i++) {
        uint32_t found = count_named(words[i]);
        if (!found) {
            fprintf(stderr, "unit: no file is named like %s; --list names all\n", words[i]);
            return 2;
        }
        files += found;
    }
    for (int i = first; i < argc; i++)
        status |= run_named(words[i], unit.list || files == 1);
    return first < argc ? status : run_named(NULL, unit.list);
}
