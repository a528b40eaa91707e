/* Points at which a test has the process die: ISOCHRON_CRASH=POINT or POINT:N, the N-th time that it comes there.
 *
 * Threads: any.
 */
#ifndef ISO_RUN_CRASH_H
#define ISO_RUN_CRASH_H

#include <stdint.h>
#include <sys/types.h>

struct app_crash {
    const char *point;     /* NULL: it lives */
    _Atomic uint64_t left; /* times that it still passes, and the one at which it dies */
    pid_t process;         /* a snapshot's child has its parent die, and dies of that too */
};

/* As the environment says. */
void app_crash_init(struct app_crash *crash);
void app_crash_at(struct app_crash *crash, const char *point);

#endif
