/* What the parts of `isochron check` share: its options. */
#pragma once

#include "app/explanation.h"
#include "app/load.h"
#include "judge/judge.h"

/* Values of --level that are no level. */
enum { APP_STRONGEST = ISO_LEVELS, APP_ALL };

struct app_check {
    int level;    /* which word of the option's choices: enum iso_level, APP_STRONGEST, APP_ALL */
    int at_least; /* enum iso_level, or ISO_LEVELS: not asked for */
    struct iso_judge_options judge;
    struct app_load load;
    struct app_explanation explanation;
    uint64_t timeout;
    double started;
    const char *evidence, *minimise;
    bool no_session_order, json, stats;
};

/* check_levels.c: whether --level or --at-least asks for several levels; whether the other options
 * go with that; and what holds. */
bool app_check_asks_levels(const struct app_check *check);
enum iso_status app_check_levels_options(struct app *app, const struct app_check *check);
enum iso_status app_check_levels(struct app *app, const struct app_check *check,
                                 const struct iso_history *history, double started, double loaded);

/* check_report.c: as text or JSON, and what explains it. */
enum iso_status app_check_report(struct app *app, const struct app_check *check,
                                 struct iso_history *history, const struct iso_judgement *judgement,
                                 double seconds_load, double seconds_total);

/* Writes polygraph's evidence to the file that was asked for. */
enum iso_status app_check_evidence(struct app *app, const struct app_check *check,
                                   const struct iso_judgement *judgement);

/* check_minimise.c: writes the smallest violated part of a history that polygraph says is violated
 * to the file that was asked for. */
enum iso_status app_check_minimise(struct app *app, const struct app_check *check,
                                   const struct iso_judgement *judgement);
