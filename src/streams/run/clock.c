#include "run/clock.h"

#include <assert.h>

#include "cli/log.h"

/* STEP_MOST_MS: the pipeline's time that may pass between two looks at the clock; JUMP_MS: more is
 * not work but a jump.
 */
enum { STEP_MOST_MS = 1000, JUMP_MS = 10000, SILENCE_MS = 3000, SILENCE_AT_FIRST_MS = 10000 };

void run_clock_init(struct run_clock *clock, int64_t now)
{
    *clock = (struct run_clock){.looked = now};
}

void run_clock_resume(struct run_clock *clock, uint64_t time, int64_t now)
{
    clock->looked = now;
    clock->skew = (int64_t)time - now;
}

void run_clock_skip(struct run_clock *clock, int64_t now)
{
    clock->skew -= now - clock->looked;
    clock->looked = now;
}

/* When deadlines begin to wait for a broker, if it takes a while, and when they go on. */
static void report_silence(struct run_clock *clock, struct iso_kafka_consumer *consumer,
                           bool silent, int64_t now)
{
    char trouble[200];
    int64_t patience = clock->was_known ? SILENCE_MS : SILENCE_AT_FIRST_MS;
    clock->was_known |= !silent;
    if (silent && !clock->silent_since) {
        clock->silent_since = now;
        clock->reported_silence = false;
    } else if (silent && !clock->reported_silence && now - clock->silent_since >= patience) {
        bool known = iso_kafka_consumer_trouble(consumer, trouble, sizeof trouble);
        cli_log("a broker does not answer: no deadline passes until it does%s%.100s",
                known ? ": " : "", known ? trouble : "");
        clock->reported_silence = true;
    } else if (!silent) {
        if (clock->silent_since && clock->reported_silence)
            cli_log("the brokers answer again, after %.0f s: deadlines go on",
                    (double)(now - clock->silent_since) / 1000);
        clock->silent_since = 0;
    }
}

uint64_t run_clock_silence(const struct run_clock *clock, int64_t now)
{
    bool reported = clock->silent_since && clock->reported_silence;
    return reported && now > clock->silent_since ? (uint64_t)(now - clock->silent_since) : 0;
}

/* A clock that jumped, or a process that was stopped (or its machine): nobody listened meanwhile,
 * and what was written is still to be read. */
static bool has_jumped(struct run_clock *clock, struct iso_kafka_consumer *consumer, int64_t now)
{
    int64_t passed = now - clock->looked;
    if (passed >= 0 && passed < JUMP_MS)
        return false;
    cli_log(
        "the clock went %s by %.0f s at once, or this process was stopped: no deadline passes because of that",
        passed < 0 ? "back" : "on", (double)(passed < 0 ? -passed : passed) / 1000);
    iso_kafka_consumer_doubt(consumer);
    if (clock->silent_since)
        clock->silent_since += passed;
    return true;
}

uint64_t run_clock_time(struct run_clock *clock, struct iso_kafka_consumer *consumer, int64_t now)
{
    assert(clock->looked);
    /* after which it is not known what the topics hold */
    clock->jumped = has_jumped(clock, consumer, now);
    bool silent = !iso_kafka_consumer_is_live(consumer);
    report_silence(clock, consumer, silent, now);
    int64_t passed = now - clock->looked, counted = passed < STEP_MOST_MS ? passed : STEP_MOST_MS;
    if (clock->jumped || silent || iso_kafka_consumer_awaited_topic(consumer))
        counted = 0;
    clock->skew -= passed - counted;
    clock->looked = now;
    return (uint64_t)(now + clock->skew);
}
