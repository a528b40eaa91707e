#define _GNU_SOURCE
#include "proxy/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"

enum { MARK_OWN = 0x4000000 }; /* in ai_flags: of a Unix socket, made here */

static bool is_directory(const char *path)
{
    struct stat found;
    return !stat(path, &found) && S_ISDIR(found.st_mode);
}

static struct addrinfo *unix_address(const char *path, const char *option, struct iso_error *error)
{
    if (is_directory(path)) {
        iso_error_set(
            error, ISO_BAD_INPUT,
            "%s %s: a directory; expected the path of a socket in it, as %s/.s.PGSQL.5432", option,
            path, path);
        return NULL;
    }
    struct sockaddr_un *address = iso_allocate_zeroed(1, sizeof *address);
    struct addrinfo *info = iso_allocate_zeroed(1, sizeof *info);
    *info = (struct addrinfo){.ai_flags = MARK_OWN,
                              .ai_family = AF_UNIX,
                              .ai_socktype = SOCK_STREAM,
                              .ai_addr = (struct sockaddr *)address,
                              .ai_addrlen = sizeof *address};
    address->sun_family = AF_UNIX;
    if (strlen(path) < sizeof address->sun_path) {
        memcpy(address->sun_path, path, strlen(path) + 1);
        return info;
    }
    iso_error_set(error, ISO_BAD_INPUT, "%s %s: a path of a socket has at most %zu bytes", option,
                  path, sizeof address->sun_path - 1);
    address_free(info);
    return NULL;
}

void address_host(const char *text, char host[ADDRESS_HOST_MOST])
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    bool is_bracketed = length > 1 && *text == '[' && colon[-1] == ']';
    if (*text == '/' || length >= ADDRESS_HOST_MOST) {
        *host = 0;
    } else if (!length) {
        memcpy(host, "127.0.0.1", 10);
    } else {
        memcpy(host, text + is_bracketed, length - 2 * is_bracketed);
        host[length - 2 * is_bracketed] = 0;
    }
}

struct addrinfo *address_resolve(const char *text, const char *option, bool listens,
                                 struct iso_error *error)
{
    char host[ADDRESS_HOST_MOST];
    if (*text == '/')
        return unix_address(text, option, error);
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    address_host(text, host);
    bool is_fine = colon != text && *host && *port && strlen(port) < 6 &&
                   strspn(port, "0123456789") == strlen(port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = (listens ? AI_PASSIVE : 0) | AI_NUMERICSERV},
                    *found = NULL;
    int failed = is_fine ? getaddrinfo(host, port, &hints, &found) : 0;
    if (!is_fine)
        iso_error_set(error, ISO_BAD_INPUT,
                      "%s %s: no address; expected HOST:PORT, PORT or the path of a socket", option,
                      text);
    else if (failed)
        iso_error_set(error, ISO_FAILED, "%s %s: %s", option, text, gai_strerror(failed));
    return found;
}

void address_free(struct addrinfo *address)
{
    if (address && address->ai_flags & MARK_OWN) {
        iso_free(address->ai_addr);
        iso_free(address);
    } else if (address) {
        freeaddrinfo(address);
    }
}

static const char *path_of(const struct addrinfo *address)
{
    return ((const struct sockaddr_un *)(const void *)address->ai_addr)->sun_path;
}

/* Removes the socket of a process that was killed. */
static void remove_stale(const struct addrinfo *address)
{
    struct stat found;
    if (lstat(path_of(address), &found) || !S_ISSOCK(found.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect(fd, address->ai_addr, address->ai_addrlen) && errno == ECONNREFUSED)
        unlink(path_of(address));
    close(fd);
}

/* Whoever may reach the folder may connect, as with PostgreSQL's own sockets. */
static bool bind_to(int fd, const struct addrinfo *address)
{
    int one = 1;
    if (address->ai_family != AF_UNIX) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        return !bind(fd, address->ai_addr, address->ai_addrlen);
    }
    remove_stale(address);
    return !bind(fd, address->ai_addr, address->ai_addrlen) && !chmod(path_of(address), 0777);
}

void address_remove(const struct addrinfo *address)
{
    if (address->ai_family == AF_UNIX)
        unlink(path_of(address));
}

int address_listen(const struct addrinfo *address, const char *text, const char *option,
                   int backlog, struct iso_error *error)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind_to(fd, address) && !listen(fd, backlog))
        return fd;
    iso_error_set(error, ISO_FAILED, "%s %s: %s", option, text, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

unsigned address_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    socklen_t size = sizeof address;
    if (getsockname(fd, &address.any, &size))
        return 0;
    return address.any.sa_family == AF_INET    ? ntohs(address.v4.sin_port)
           : address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port)
                                               : 0;
}
