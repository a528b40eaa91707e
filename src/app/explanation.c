#include "app/explanation.h"

#include <string.h>

#include "base/json.h"
#include "explain/text.h"

bool app_explanation_wanted(const struct app_explanation *explanation)
{
    return explanation->explain;
}

enum iso_status app_explanation_check(struct app *app, const struct app_explanation *explanation, bool json)
{
    if (json && explanation->explain)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--json and --explain: standard output is for one of the two");
    return ISO_OK;
}

static enum iso_status choose_wall(struct app *app, const struct app_explanation *explanation, enum iso_wall of_source,
                                   enum iso_wall *wall)
{
    *wall = explanation->clock ? (enum iso_wall)explanation->clock : of_source;
    if (!explanation->time)
        *wall = ISO_WALL_COUNTER;
    else if (*wall == ISO_WALL_UNKNOWN)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--ts time: what these timestamps count is not known; expected --clock tso, hybrid, s, ms, "
            "us or ns");
    else if (*wall == ISO_WALL_COUNTER)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--ts time: timestamps of this source are no clock's");
    return ISO_OK;
}

static enum iso_status status_of(const struct iso_claims *claims)
{
    if (!strcmp(claims->outcome, "undecided"))
        return ISO_UNDECIDED;
    for (uint32_t i = 0; i < claims->count; i++)
        if (!claims->list[i].is_tentative)
            return ISO_VIOLATED;
    return claims->count ? ISO_UNDECIDED : ISO_OK;
}

enum iso_status app_explain(struct app *app, const struct app_explanation *explanation, struct iso_history *history,
                            enum iso_wall of_source, const char *name, struct iso_text *verdict)
{
    struct iso_claims claims;
    struct iso_facts facts;
    enum iso_wall wall;
    size_t length = verdict->used;
    if (choose_wall(app, explanation, of_source, &wall) != ISO_OK)
        return ISO_BAD_INPUT;
    memset(iso_text_reserve(verdict, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    iso_claims_init(&claims, history);
    enum iso_status status = iso_claims_read(&claims, verdict->bytes, length, name, &app->error);
    if (status == ISO_OK) {
        iso_facts_init(&facts, &claims);
        if (explanation->explain)
            iso_explain_text(&app->out, &facts, wall);
        status = status_of(&claims);
        iso_facts_release(&facts);
    }
    iso_claims_release(&claims);
    return status;
}
