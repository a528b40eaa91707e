/* Stopping on a signal. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* From now on SIGINT, SIGTERM and (unless it is ignored) SIGHUP set the flag; one that comes half a
 * second later, or more, ends the process. From the first one on the process may judge as long as
 * it likes, and says so from time to time unless it is to be quiet. Where it does next to nothing
 * for `seconds`, it waits for somebody else: then it ends, undecided (status 3). */
volatile sig_atomic_t *run_catch_signals(uint64_t seconds, bool is_quiet);

/* The run has done something again: `seconds` begin anew. */
void run_signals_note_step(void);
