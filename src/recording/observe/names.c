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
    text->epoch = observed->epoch;
    text->plan = observe_plan(observed->world, sql, strlen(sql), observed->backslashes,
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

/* What a client may have kept for it is bounded. */
static void weigh(struct observed *observed, size_t *bytes, size_t many)
{
    *bytes += many;
    observed->names_bytes += many;
    if (observed->names_bytes > NAMES_BYTES)
        observed_lose(observed);
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
    observed->names_bytes -= prepared->bytes;
    iso_free(prepared->name);
    observed_text_release(prepared->text);
    *prepared = observed->prepared[--observed->prepared_count];
}

void observed_add_prepared(struct observed *observed, const char *name, struct text *text)
{
    struct prepared *prepared = observed_find_prepared(observed, name);
    if (prepared)
        observed_drop_prepared(observed, prepared);
    if (observed->prepared_count == NAMES_MOST) {
        observed_lose(observed);
        return;
    }
    ISO_GROW(observed->prepared, observed->prepared_count, observed->prepared_capacity);
    prepared = &observed->prepared[observed->prepared_count++];
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
    observed->portal = NULL;
    observed->names_bytes -= portal->bytes;
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
