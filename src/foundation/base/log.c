#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512 };

static bool is_named(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !strncmp(at, name, length))
            return true;
    return false;
}

bool iso_log_wants(const char *module, const char *tid, size_t length)
{
    const char *modules = getenv("ISOCHRON_LOG"), *only = getenv("ISOCHRON_LOG_TID");
    if (!modules || !(is_named(modules, module) || is_named(modules, "all")))
        return false;
    return !only || (tid && strlen(only) == length && !memcmp(only, tid, length));
}

void iso_log_line(const char *module, const char *tid, size_t length, const char *format, ...)
{
    char what[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s %.*s: %s\n", module, (int)length, tid ? tid : "", what);
}
