/* What a service manager learns: ready, still making progress, a line of status, stopping.
 * systemd's protocol (sd_notify(3)): datagrams of NAME=VALUE lines to the socket that NOTIFY_SOCKET
 * names. Without that variable nothing is reported.
 *
 * The watchdog (WATCHDOG_USEC) is fed by progress, not by being alive: see run_notify_progress.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run_notify {
    int socket;             /* 0: nobody listens */
    uint64_t every;         /* milliseconds between two signs of life; 0: nobody waits for them */
    uint64_t fed, reported; /* when it last did so, and gave a line of status */
    uint64_t done;          /* progress when it last fed the watchdog */
};

/* Reads the environment and removes both variables from it. */
void run_notify_open(struct run_notify *notify);
void run_notify_close(struct run_notify *notify); /* says that the service stops */

void run_notify_ready(struct run_notify *notify);

/* Feeds the watchdog, if it is time and the run is not stuck: it got further (`done` has changed),
 * or there is nothing to be done, or the world is to blame, which a restart would not mend
 * (`excused`). `now`: milliseconds. True: it is time for a line of status too. */
bool run_notify_progress(struct run_notify *notify, uint64_t done, bool excused, uint64_t now);

void run_notify_status(struct run_notify *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
