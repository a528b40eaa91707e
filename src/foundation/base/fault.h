/* What only tests may do to a program: have it die at a named point, or keep nothing in memory that
 * can leave it.
 *
 *     ISO_FAULT(iso_fault_point("before-commit"));
 *
 * ISO_FAULT is its argument in a build for tests (-DISO_FAULTS: build/tests/isochron, and sanitized
 * builds), and nothing in the program that people get: no code, no name of a point, no variable of
 * the environment. tests/test_hardening.sh looks. Threads: any.
 */
#pragma once

#ifdef ISO_FAULTS
#include <stdbool.h>
#define ISO_FAULT(...) __VA_ARGS__

/* ISOCHRON_CRASH=POINT or POINT:N: the N-th time that it comes to that point the process dies, as
 * by kill -9. Its children come to points too, and have it die with them. */
void iso_fault_point(const char *point);

/* ISOCHRON_SPILL_ALL=12: every key leaves memory as soon as it can, into segments of 2^12 bytes, so
 * that little data goes through all that much does. `bits` is then 12, or 0 where the variable says
 * no size that there can be. */
bool iso_fault_spills_all(unsigned *bits);
#else
#define ISO_FAULT(...)
#endif
