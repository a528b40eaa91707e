/* The process and the machine that it runs on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* The number of processors that this process may use. */
unsigned cli_processors(void);
unsigned cli_threads(uint64_t asked); /* as many as were asked for; 0: one a processor */

/* The most memory that this process has had, in bytes. */
uint64_t cli_peak_memory(void);

/* Memory in use, apart from mapped files. 0: not known. */
uint64_t cli_memory_in_use(void);
/* bytes that the machine has, or that the control group may use */
uint64_t cli_machine_memory(void);

/* Whether a crash leaves a core dump, which holds people's data, and other processes of this user
 * may look in. */
void cli_allow_core(bool allow);

/* TMPDIR, or /tmp. */
const char *cli_temporary_folder(void);
