/* A forwarder of bytes: forwarder PORT SERVER-PORT. What any program between two others costs, and
 * nothing else; isochron-proxy is compared with it. One epoll loop a processor, sockets of the
 * loopback interface, each read written on at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 1 << 16, EVENTS = 64 };

struct end {
    int fd;
    struct end *other;
    char *waiting;
    size_t waits, capacity;
    bool is_closed;
};

static struct sockaddr_in address_of(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listener, server_port;

static void watch_end(int epoll, struct end *end, int operation)
{
    struct epoll_event event = {.events = (end->other->waits ? 0u : EPOLLIN) |
                                          (end->waits ? EPOLLOUT : 0u),
                                .data.ptr = end};
    epoll_ctl(epoll, operation, end->fd, &event);
}

static void close_both(struct end *end)
{
    end->is_closed = end->other->is_closed = true;
    close(end->fd);
    close(end->other->fd);
}

static bool write_end(struct end *end, const char *bytes, size_t size)
{
    ssize_t put = end->waits ? 0 : send(end->fd, bytes, size, MSG_NOSIGNAL);
    if (put < 0 && errno != EAGAIN)
        return false;
    size_t left = size - (put > 0 ? (size_t)put : 0);
    if (left) {
        if (end->waits + left > end->capacity)
            end->waiting = realloc(end->waiting, end->capacity = 2 * (end->waits + left));
        __builtin_memcpy(end->waiting + end->waits, bytes + size - left, left);
        end->waits += left;
    }
    return true;
}

static void on_event(int epoll, struct end *end, uint32_t events)
{
    static _Thread_local char bytes[ROOM];
    if (events & EPOLLOUT && end->waits) {
        ssize_t put = send(end->fd, end->waiting, end->waits, MSG_NOSIGNAL);
        if (put > 0)
            __builtin_memmove(end->waiting, end->waiting + put, end->waits -= (size_t)put);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !end->other->waits) {
        ssize_t got = recv(end->fd, bytes, ROOM, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN) ||
            (got > 0 && !write_end(end->other, bytes, (size_t)got))) {
            close_both(end);
            return;
        }
    }
    watch_end(epoll, end, EPOLL_CTL_MOD);
    watch_end(epoll, end->other, EPOLL_CTL_MOD);
}

static void accept_one(int epoll)
{
    int one = 1, client = accept4(listener, NULL, NULL, SOCK_NONBLOCK),
        server = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = address_of(server_port);
    if (client < 0 || server < 0 || connect(server, (struct sockaddr *)&address, sizeof address)) {
        close(client);
        close(server);
        return;
    }
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct end *ends = calloc(2, sizeof *ends); /* never freed: a run opens few */
    ends[0] = (struct end){.fd = client, .other = &ends[1]};
    ends[1] = (struct end){.fd = server, .other = &ends[0]};
    watch_end(epoll, &ends[0], EPOLL_CTL_ADD);
    watch_end(epoll, &ends[1], EPOLL_CTL_ADD);
}

static void *run(void *context)
{
    struct epoll_event events[EVENTS],
        event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = NULL};
    int epoll = epoll_create1(0);
    (void)context;
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int many = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < many; i++) {
            struct end *end = events[i].data.ptr;
            if (!end)
                accept_one(epoll);
            else if (!end->is_closed)
                on_event(epoll, end, events[i].events);
        }
    }
    return NULL;
}

int main(int count, char **arguments)
{
    int one = 1;
    if (count != 3) {
        fprintf(stderr, "usage: forwarder PORT SERVER-PORT\n");
        return 2;
    }
    struct sockaddr_in address = address_of(atoi(arguments[1]));
    server_port = atoi(arguments[2]);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) {
        perror("forwarder");
        return 4;
    }
    pthread_t thread;
    for (long i = 1; i < sysconf(_SC_NPROCESSORS_ONLN); i++)
        pthread_create(&thread, NULL, run, NULL);
    run(NULL);
}
