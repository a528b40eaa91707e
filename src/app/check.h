/* What the parts of `isochron check` share: its options. */
#ifndef ISO_APP_CHECK_H
#define ISO_APP_CHECK_H

#include "app/explanation.h"
#include "app/load.h"
#include "iso/polygraph.h"

enum app_engine { ENGINE_AUTO, ENGINE_CHRONOS, ENGINE_AION, ENGINE_POLYGRAPH };

struct app_check {
    int level;  /* enum iso_level; beyond those, polygraph's */
    int engine; /* enum app_engine */
    struct app_load load;
    struct app_explanation explanation;
    uint64_t max_violations, timeout, memory, drift;
    const char *evidence, *minimise;
    bool no_session_order, allow_unjudged, any_order, json;
    bool no_advice, no_saturation, no_meet, no_join, no_search, no_solver;
};

/* The level as polygraph names it. */
enum iso_model app_check_model(const struct app_check *check);

/* Judges by polygraph and reports. */
enum iso_status app_check_polygraph(struct app *app, const struct app_check *check, struct iso_history *history,
                                    double seconds_load, double started);

/* Asks polygraph whether any order explains what the claimed one does not: verdict->any_order. */
void app_check_any_order(struct app *app, const struct app_check *check, const struct iso_history *history,
                         struct iso_verdict *verdict);

/* Writes the smallest violated part of a violated history to the file that was asked for. */
enum iso_status app_check_minimise(struct app *app, const struct app_check *check,
                                   const struct iso_polygraph_options *options, const struct iso_history *history,
                                   const struct iso_polygraph_result *result);

#endif
