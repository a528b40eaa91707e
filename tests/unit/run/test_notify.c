/* What a service manager is told, and when the watchdog is not fed. */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "run/shown/notify.h"

/* A manager that listens on an abstract socket, and the process's side of it. */
struct manager {
    int socket;
    struct run_notify notify;
    char said[200];
};

static void manager_start(struct manager *manager, const char *watchdog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    int length = snprintf(name, sizeof name, "@isochron-test-%d", (int)getpid());
    memcpy(address.sun_path, name, (size_t)length);
    address.sun_path[0] = 0;
    manager->socket = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(manager->socket, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)),
                     0);
    setenv("NOTIFY_SOCKET", name, 1);
    if (watchdog)
        setenv("WATCHDOG_USEC", watchdog, 1);
    run_notify_open(&manager->notify);
    assert_null(getenv("NOTIFY_SOCKET"));
}

/* The next datagram, or "". */
static const char *heard(struct manager *manager)
{
    ssize_t length = recv(manager->socket, manager->said, sizeof manager->said - 1, MSG_DONTWAIT);
    manager->said[length > 0 ? length : 0] = 0;
    return manager->said;
}

static void manager_end(struct manager *manager)
{
    run_notify_close(&manager->notify);
    assert_string_equal(heard(manager), "STOPPING=1");
    close(manager->socket);
}

static void progress_feeds_the_watchdog(void **state)
{
    (void)state;
    struct manager manager;
    manager_start(&manager, "4000000"); /* 4 s: a sign of life each second */
    run_notify_ready(&manager.notify);
    assert_string_equal(heard(&manager), "READY=1");
    assert_true(run_notify_progress(&manager.notify, 7, false, 10000));
    assert_string_equal(heard(&manager), "WATCHDOG=1");
    assert_false(run_notify_progress(&manager.notify, 8, false, 10500)); /* too early */
    assert_string_equal(heard(&manager), "");
    run_notify_progress(&manager.notify, 8, false, 11000);
    assert_string_equal(heard(&manager), "WATCHDOG=1");
    run_notify_progress(&manager.notify, 8, false, 13000); /* stuck */
    assert_string_equal(heard(&manager), "");
    run_notify_progress(&manager.notify, 8, true, 13001); /* nothing to do, or the broker is away */
    assert_string_equal(heard(&manager), "WATCHDOG=1");
    assert_true(run_notify_progress(&manager.notify, 8, false, 15000));
    run_notify_status(&manager.notify, "%d messages", 3);
    assert_string_equal(heard(&manager), "STATUS=3 messages");
    manager_end(&manager);
}

static void without_a_watchdog_nothing_is_fed(void **state)
{
    (void)state;
    struct manager manager;
    manager_start(&manager, NULL);
    run_notify_progress(&manager.notify, 1, true, 100000);
    assert_string_equal(heard(&manager), "");
    manager_end(&manager);
}

static void without_a_manager_nothing_is_told(void **state)
{
    (void)state;
    static const char *const sockets[] = {NULL, "", "relative", "/nowhere/at/all"};
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++) {
        struct run_notify notify;
        if (sockets[i])
            setenv("NOTIFY_SOCKET", sockets[i], 1);
        run_notify_open(&notify);
        assert_int_equal(notify.socket, 0);
        assert_false(run_notify_progress(&notify, 1, true, 100000));
        run_notify_ready(&notify);
        run_notify_close(&notify);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_feeds_the_watchdog),
        cmocka_unit_test(without_a_watchdog_nothing_is_fed),
        cmocka_unit_test(without_a_manager_nothing_is_told),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
