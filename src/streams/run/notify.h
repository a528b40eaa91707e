/* What a service manager learns: ready, still making progress, a line of status, stopping. systemd's protocol
 * (sd_notify(3)): datagrams of NAME=VALUE lines to the socket that NOTIFY_SOCKET names. Without that variable nothing
 * is reported.
 *
 * The watchdog (WATCHDOG_USEC) is fed by progress, not by being alive: see app_notify_progress. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct app_notify {
    int socket;             /* 0: nobody listens */
    uint64_t every;         /* milliseconds between two signs of life; 0: nobody waits for them */
    uint64_t fed, reported; /* when it last did so, and gave a line of status */
    uint64_t done;          /* progress when it last fed the watchdog */
};

/* Reads the environment and removes both variables from it. */
void app_notify_open(struct app_notify *notify);
void app_notify_close(struct app_notify *notify); /* says that the service stops */

void app_notify_ready(struct app_notify *notify);

/* Feeds the watchdog, if it is time and the run is not stuck: it got further (`done` has changed), or there is nothing
 * to be done, or the world is to blame, which a restart would not mend (`excused`). `now`: milliseconds. True: it is
 * time for a line of status too. */
bool app_notify_progress(struct app_notify *notify, uint64_t done, bool excused, uint64_t now);

void app_notify_status(struct app_notify *notify, const char *format, ...) __attribute__((format(printf, 2, 3)));
