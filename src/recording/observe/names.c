#include "observe/observed_private.h"

#include "base/memory.h"

void observed_text_release(struct text *text)
{
    if (!text || --text->references)
        return;
    plan_release(text->plan);
    constants_release(&text->constants);
    ISO_FREE_ALL(text->test, text->types, text->fields.list, text);
}

struct text *observed_text_new(struct observed *observed, const char *sql)
{
    struct text *text = iso_allocate_zeroed(1, sizeof *text);
    text->references = 1;
    text->epoch = observed->doubt.epoch;
    text->test = observed->world->shared->tells_moments ? told_test(sql) : NULL;
    text->plan = observe_plan(observed->world, sql, strlen(sql), observed->settings.backslashes,
                              &text->constants, &text->shape);
    return text;
}

struct text *observed_text_share(struct text *text)
{
    text->references++;
    return text;
}

size_t observed_text_bytes(const struct text *text)
{
    return sizeof *text + text->constants.values.used +
           text->constants.count * sizeof *text->constants.list +
           text->type_count * sizeof *text->types;
}

/* Memory kept for one client's statements is bounded. */
static void weigh(struct observed *observed, size_t *bytes, size_t many)
{
    *bytes += many;
    observed->named.bytes += many;
    if (observed->named.bytes > NAMES_BYTES)
        observed_lose(observed);
}

static void portal_release(struct portal *portal)
{
    observed_text_release(portal->text);
    iso_text_release(&portal->parameters.values);
    ISO_FREE_ALL(portal->name, portal->parameters.list, portal->formats, portal->fields.list);
    *portal = (struct portal){0};
}

struct prepared *observed_find_prepared(struct observed *observed, const char *name)
{
    for (uint32_t i = 0; i < observed->named.prepared_count; i++)
        if (!strcmp(observed->named.prepared[i].name, name))
            return &observed->named.prepared[i];
    return NULL;
}

struct portal *observed_find_portal(struct observed *observed, const char *name)
{
    for (uint32_t i = 0; i < observed->named.portal_count; i++)
        if (!strcmp(observed->named.portals[i].name, name))
            return &observed->named.portals[i];
    return NULL;
}

void observed_drop_prepared(struct observed *observed, struct prepared *prepared)
{
    observed->named.bytes -= prepared->bytes;
    iso_free(prepared->name);
    observed_text_release(prepared->text);
    *prepared = observed->named.prepared[--observed->named.prepared_count];
}

void observed_add_prepared(struct observed *observed, const char *name, struct text *text)
{
    struct prepared *prepared = observed_find_prepared(observed, name);
    if (prepared)
        observed_drop_prepared(observed, prepared);
    if (observed->named.prepared_count == NAMES_MOST) {
        observed_lose(observed);
        return;
    }
    ISO_GROW(observed->named.prepared, observed->named.prepared_count,
             observed->named.prepared_capacity);
    prepared = &observed->named.prepared[observed->named.prepared_count++];
    *prepared = (struct prepared){.name = iso_copy_text(name, strlen(name)),
                                  .text = observed_text_share(text)};
    weigh(observed, &prepared->bytes, sizeof *prepared + strlen(name) + observed_text_bytes(text));
}

void observed_weigh_portal(struct observed *observed, struct portal *portal)
{
    weigh(observed, &portal->bytes,
          sizeof *portal + strlen(portal->name) + observed_text_bytes(portal->text) +
              portal->parameters.values.used +
              portal->parameters.count * sizeof *portal->parameters.list +
              portal->format_count * sizeof *portal->formats +
              portal->fields.count * sizeof *portal->fields.list);
}

void observed_drop_portal(struct observed *observed, struct portal *portal)
{
    observed->running.portal = NULL;
    observed->named.bytes -= portal->bytes;
    portal_release(portal);
    *portal = observed->named.portals[--observed->named.portal_count];
    observed->named.portals[observed->named.portal_count] = (struct portal){0};
}

void observed_drop_portals(struct observed *observed)
{
    while (observed->named.portal_count)
        observed_drop_portal(observed, &observed->named.portals[observed->named.portal_count - 1]);
}

struct portal *observed_open_portal(struct observed *observed, const char *name)
{
    struct portal *portal = observed_find_portal(observed, name);
    if (portal)
        observed_drop_portal(observed, portal);
    if (observed->named.portal_count == NAMES_MOST)
        observed_drop_portals(observed);
    ISO_GROW(observed->named.portals, observed->named.portal_count,
             observed->named.portal_capacity);
    portal = &observed->named.portals[observed->named.portal_count++];
    *portal = (struct portal){.name = iso_copy_text(name, strlen(name)),
                              .writes = observed->transaction.writes,
                              .serial = observed->transaction.serial};
    return portal;
}
