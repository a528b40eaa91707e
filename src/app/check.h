/* What the parts of `isochron check` share: its options. */
#ifndef ISO_APP_CHECK_H
#define ISO_APP_CHECK_H

#include "app/explanation.h"
#include "app/load.h"
#include "judge/judge.h"

struct app_check {
    int level; /* which word of the option's choices */
    struct iso_judge_options judge;
    struct app_load load;
    struct app_explanation explanation;
    uint64_t timeout;
    const char *evidence, *minimise;
    bool no_session_order, json;
};

/* check_report.c: as text or JSON, and what explains it. */
enum iso_status app_check_report(struct app *app, const struct app_check *check, struct iso_history *history,
                                 const struct iso_judgement *judgement, double seconds_load, double seconds_total);

/* Writes polygraph's evidence to the file that was asked for. */
enum iso_status app_check_evidence(struct app *app, const struct app_check *check,
                                   const struct iso_judgement *judgement);

/* Writes the smallest violated part of a history that polygraph says is violated to the file that was asked for. */
enum iso_status app_check_minimise(struct app *app, const struct app_check *check,
                                   const struct iso_judgement *judgement);

#endif
