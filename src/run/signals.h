/* Stopping on a signal. */
#ifndef ISO_RUN_SIGNALS_H
#define ISO_RUN_SIGNALS_H

#include <signal.h>
#include <stdint.h>

/* From now on SIGINT, SIGTERM and (unless it is ignored) SIGHUP set the flag, a second one ends the process; so does
 * one, with status 4, if the process has not ended by itself `seconds` later (0: it takes the time that it takes). */
volatile sig_atomic_t *app_catch_signals(uint64_t seconds);

#endif
