#include "observe/observed_private.h"

#include "base/memory.h"

void observed_text_release(struct text *text)
{
    if (!text || --text->references)
        return;
    plan_release(text->plan);
    constants_release(&text->constants);
    iso_free(text->types);
    iso_free(text->fields.list);
    iso_free(text);
}

struct text *observed_text_new(struct observed *observed, const char *sql)
{
    struct text *text = iso_allocate_zeroed(1, sizeof *text);
    text->references = 1;
    text->plan = observe_plan(observed->world, sql, strlen(sql), observed->backslashes, &text->constants, &text->shape);
    return text;
}

struct text *observed_text_share(struct text *text)
{
    text->references++;
    return text;
}

static void portal_release(struct portal *portal)
{
    iso_free(portal->name);
    observed_text_release(portal->text);
    iso_free(portal->parameters.list);
    iso_text_release(&portal->parameters.values);
    iso_free(portal->formats);
    iso_free(portal->fields.list);
    *portal = (struct portal){0};
}

struct prepared *observed_find_prepared(struct observed *observed, const char *name)
{
    for (uint32_t i = 0; i < observed->prepared_count; i++)
        if (!strcmp(observed->prepared[i].name, name))
            return &observed->prepared[i];
    return NULL;
}

struct portal *observed_find_portal(struct observed *observed, const char *name)
{
    for (uint32_t i = 0; i < observed->portal_count; i++)
        if (!strcmp(observed->portals[i].name, name))
            return &observed->portals[i];
    return NULL;
}

void observed_drop_prepared(struct observed *observed, struct prepared *prepared)
{
    iso_free(prepared->name);
    observed_text_release(prepared->text);
    *prepared = observed->prepared[--observed->prepared_count];
}

void observed_drop_portal(struct observed *observed, struct portal *portal)
{
    observed->portal = NULL;
    portal_release(portal);
    *portal = observed->portals[--observed->portal_count];
    observed->portals[observed->portal_count] = (struct portal){0};
}

void observed_drop_portals(struct observed *observed)
{
    while (observed->portal_count)
        observed_drop_portal(observed, &observed->portals[observed->portal_count - 1]);
}

struct portal *observed_open_portal(struct observed *observed, const char *name)
{
    struct portal *portal = observed_find_portal(observed, name);
    if (portal)
        observed_drop_portal(observed, portal);
    if (observed->portal_count == NAMES_MOST)
        observed_drop_portals(observed);
    ISO_GROW(observed->portals, observed->portal_count, observed->portal_capacity);
    portal = &observed->portals[observed->portal_count++];
    *portal = (struct portal){.name = iso_copy_text(name, strlen(name)),
                              .writes = observed->transaction.writes,
                              .serial = observed->transaction.serial};
    return portal;
}
