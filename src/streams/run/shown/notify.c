#define _GNU_SOURCE
#include "run/shown/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { STATUS_MS = 5000 };

/* A lost datagram is not worth a word: the manager will miss it by itself. */
static void send_to_manager(const struct run_notify *notify, const char *text)
{
    if (notify->socket)
        send(notify->socket, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path || (*path != '/' && *path != '@'))
        return 0;
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = 0; /* an abstract one */
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return 0;
    if (connect(descriptor, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0)
        return descriptor;
    close(descriptor);
    return 0;
}

void run_notify_open(struct run_notify *notify)
{
    const char *path = getenv("NOTIFY_SOCKET"), *watchdog = getenv("WATCHDOG_USEC"),
               *pid = getenv("WATCHDOG_PID");
    *notify = (struct run_notify){0};
    if (path)
        notify->socket = connect_to(path);
    if (notify->socket && watchdog && (!pid || strtoll(pid, NULL, 10) == getpid()))
        notify->every = strtoull(watchdog, NULL, 10) / 1000 / 4; /* well before it would bite */
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
}

void run_notify_close(struct run_notify *notify)
{
    send_to_manager(notify, "STOPPING=1");
    if (notify->socket)
        close(notify->socket);
    *notify = (struct run_notify){0};
}

void run_notify_ready(struct run_notify *notify)
{
    send_to_manager(notify, "READY=1");
}

bool run_notify_progress(struct run_notify *notify, uint64_t done, bool excused, uint64_t now)
{
    if (!notify->socket)
        return false;
    if (notify->every && now - notify->fed >= notify->every && (done != notify->done || excused)) {
        send_to_manager(notify, "WATCHDOG=1");
        notify->fed = now;
        notify->done = done;
    }
    if (now - notify->reported < STATUS_MS)
        return false;
    notify->reported = now;
    return true;
}

void run_notify_status(struct run_notify *notify, const char *format, ...)
{
    char text[400] = "STATUS=";
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    send_to_manager(notify, text);
}
