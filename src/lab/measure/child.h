/* A measured run in a process of its own, so that its peak memory and the state of its allocator
 * are its own.
 *
 * The process is forked: the run sees what the caller has, and gives back numbers and an error,
 * nothing else. Numbers that it leaves alone are NAN. A process that dies without an answer is
 * ISO_FAILED, with what it died of. The caller has one thread when it forks; a run may start
 * threads. The run ends when its caller dies.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum iso_status iso_child_run(void *context, double *numbers, struct iso_error *error);

enum { ISO_CHILD_NUMBERS = 32 };

/* Runs `run(context, ...)` in a child and waits for it; `count` is at most ISO_CHILD_NUMBERS.
 * `peak_bytes` (may be NULL) is the most memory that the process had resident. */
enum iso_status iso_child_measure(iso_child_run *run, void *context, double *numbers, size_t count,
                                  uint64_t *peak_bytes, struct iso_error *error);
