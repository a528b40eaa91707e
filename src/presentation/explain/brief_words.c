/* The parts of a reported violation as a person reads them. */
#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "explain/argument_private.h"
#include "explain/brief_private.h"

bool brief_is_named(const struct iso_reported_atom *name)
{
    return name->atoms && name->atom != ISO_ABSENT;
}

static void put_atom(struct iso_text *text, const struct iso_reported_atom *name)
{
    if (name->atoms)
        argue_put_atom(text, name->atoms, name->atom);
}

static void put_key(struct iso_text *text, const struct iso_reported_atom *key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text name;
    if (!key->atoms)
        return;
    name.at = iso_atom_text(key->atoms, key->atom, buffer, &name.length);
    explain_put_key(text, name);
}

/* A column without a value is NULL. */
static void put_value(struct iso_text *text, const struct iso_reported_value *value, bool is_cell)
{
    bool is_absent = !value->count || value->elements[0] == ISO_ABSENT;
    if (!value->is_given)
        return;
    if (value->is_list)
        argue_put_list(text, value->atoms, value->elements, value->count);
    else if (is_absent && is_cell)
        iso_text_put(text, "NULL");
    else
        argue_put_atom(text, value->atoms, is_absent ? ISO_ABSENT : value->elements[0]);
}

static void put_commit(struct iso_text *text, const struct iso_reported_commit *commit)
{
    const char *const texts[] = {commit->xid, commit->lsn, commit->time};
    static const char *const before[] = {"xid ", "LSN ", ""};
    bool any = commit->words;
    iso_text_format(text, "%s%s", any ? " (" : "", any ? commit->words : "");
    for (int i = 0; i < 3; i++) {
        if (!*texts[i])
            continue;
        iso_text_format(text, "%s%s", any ? ", " : " (", before[i]);
        argue_put_text(text, texts[i], strlen(texts[i]));
        any = true;
    }
    iso_text_put(text, any ? ")" : "");
}

static void put_commit_of(struct iso_text *text, const struct iso_reported *reported,
                          const struct iso_reported_atom *tid)
{
    for (uint32_t i = 0; i < reported->commit_count; i++)
        if (brief_is_named(tid) && reported->commits[i].tid.atom == tid->atom) {
            put_commit(text, &reported->commits[i]);
            return;
        }
}

static void put_directive(struct briefing *briefing, char directive, va_list *values)
{
    const struct iso_reported *reported = briefing->reported;
    struct iso_text *text = &briefing->brief->text;
    const char *string;
    switch (directive) {
    case 'a':
        put_atom(text, va_arg(*values, const struct iso_reported_atom *));
        break;
    case 'c':
        put_commit_of(text, reported, va_arg(*values, const struct iso_reported_atom *));
        break;
    case 'k':
        put_key(text, va_arg(*values, const struct iso_reported_atom *));
        break;
    case 'v':
        put_value(text, va_arg(*values, const struct iso_reported_value *), briefing->is_cell);
        break;
    case 't':
        string = va_arg(*values, const char *);
        argue_put_text(text, string, strlen(string));
        break;
    case 's':
        iso_text_put(text, va_arg(*values, const char *));
        break;
    case 'u':
        iso_text_put_unsigned(text, va_arg(*values, uint64_t));
        break;
    case 'B':
        iso_text_put(text, "transaction ");
        put_atom(text, &reported->tids[0]);
        break;
    case 'O':
        put_atom(text, &reported->tids[1]);
        break;
    case 'N':
        put_atom(text, &reported->key);
        break;
    default:
        assert(directive == 'E' || directive == 'F');
        put_value(text, directive == 'E' ? &reported->expected : &reported->actual,
                  briefing->is_cell);
    }
}

static void put(struct briefing *briefing, const char *format, va_list *values)
{
    for (; *format; format++) {
        if (*format == '%')
            put_directive(briefing, *++format, values);
        else
            iso_text_put_bytes(&briefing->brief->text, format, 1);
    }
}

void brief_put(struct briefing *briefing, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    put(briefing, format, &values);
    va_end(values);
}

uint32_t brief_end(struct briefing *briefing, uint32_t offset)
{
    iso_text_put_bytes(&briefing->brief->text, "", 1);
    return offset;
}

uint32_t brief_text(struct briefing *briefing, const char *format, ...)
{
    uint32_t offset = (uint32_t)briefing->brief->text.used;
    va_list values;
    va_start(values, format);
    put(briefing, format, &values);
    va_end(values);
    return brief_end(briefing, offset);
}
