#include "proxy/gate.h"

#include <assert.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proxy/address.h"

enum { DESCRIPTORS_KEPT = 256, DESCRIPTORS_MOST = 1 << 21, BACKLOG = 4096 };

void gate_init(struct gate *gate, const char *sid)
{
    *gate = (struct gate){.listener = -1};
    observe_shared_init(&gate->shared, NULL, sid);
}

/* A session has two descriptors; the rest is for the status, the broker, files. */
uint32_t gate_sessions_most(void)
{
    struct rlimit limit = {.rlim_cur = 1024};
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit))
            limit.rlim_cur = before;
    }
    rlim_t many = limit.rlim_cur < DESCRIPTORS_MOST ? limit.rlim_cur : DESCRIPTORS_MOST;
    rlim_t kept = many / 2 < DESCRIPTORS_KEPT ? many / 2 : DESCRIPTORS_KEPT;
    return many - kept < 2 ? 1 : (uint32_t)(many - kept) / 2;
}

static enum iso_status open_sockets(struct gate *gate, const struct gate_settings *settings,
                                    struct iso_error *error)
{
    gate->own_address = address_resolve(settings->bind, "--bind", true, error);
    if (gate->own_address)
        gate->listener =
            address_listen(gate->own_address, settings->bind, "--bind", BACKLOG, error);
    if (error->status == ISO_OK)
        gate->server_address = address_resolve(settings->server, "--server", false, error);
    return error->status;
}

enum iso_status gate_open(struct gate *gate, const struct gate_settings *settings,
                          struct iso_error *error)
{
    assert(settings->threads <= GATE_LOOPS_MOST);
    if (open_sockets(gate, settings, error) != ISO_OK)
        return error->status;
    gate->shared.recorder = settings->recorder;
    struct loop_settings loop = {.listener = gate->listener,
                                 .server = gate->server_address,
                                 .server_name = settings->server,
                                 .tls = settings->tls,
                                 .own = settings->own,
                                 .to_server = settings->to_server,
                                 .shared = &gate->shared,
                                 .sessions_most = settings->sessions_most};
    for (uint32_t i = 0; i < settings->threads; i++) {
        gate->loops[i] = loop_new(&loop, error);
        if (!gate->loops[i])
            return error->status;
        gate->loop_count++;
    }
    for (uint32_t i = 0; i < settings->threads; i++)
        if (!loop_start(gate->loops[i]))
            return iso_error_set(error, ISO_FAILED, "no thread could be started");
    return ISO_OK;
}

void gate_stop(struct gate *gate)
{
    for (uint32_t i = 0; i < gate->loop_count; i++)
        loop_stop(gate->loops[i]);
}

void gate_release(struct gate *gate)
{
    for (uint32_t i = 0; i < gate->loop_count; i++)
        loop_free(gate->loops[i]);
    if (gate->listener >= 0) {
        close(gate->listener);
        address_remove(gate->own_address);
    }
    address_free(gate->own_address);
    address_free(gate->server_address);
    observe_shared_release(&gate->shared);
}
