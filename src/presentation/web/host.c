#define _GNU_SOURCE
#include "web/host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

enum { HOST_BYTES = 256 };

void iso_web_names_add(struct iso_web_names *names, const char *name)
{
    names->list = iso_reallocate(names->list, (names->count + 1) * sizeof *names->list);
    names->list[names->count++] = iso_copy_text(name, strlen(name));
}

void iso_web_names_release(struct iso_web_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        iso_free(names->list[i]);
    iso_free(names->list);
    *names = (struct iso_web_names){0};
}

/* Without port, brackets and the dot that a full name may end with; false: it is none. */
static bool take_name(const char *host, char name[HOST_BYTES])
{
    bool bracketed = *host == '[';
    const char *from = host + bracketed,
               *end = bracketed ? strchr(from, ']') : from + strcspn(from, ":");
    size_t length = end ? (size_t)(end - from) : 0;
    const char *port = end ? end + bracketed : "?";
    if (!length || length >= HOST_BYTES || (*port && *port != ':') ||
        (*port && port[1 + strspn(port + 1, "0123456789")]))
        return false;
    memcpy(name, from, length);
    name[length] = 0;
    if (!bracketed && length > 1 && name[length - 1] == '.')
        name[length - 1] = 0;
    return true;
}

static bool is_address(const char *name)
{
    struct in6_addr address;
    return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1;
}

bool iso_web_names_allow(const struct iso_web_names *names, const char *host)
{
    char name[HOST_BYTES];
    if (!host)
        return true;
    if (!take_name(host, name))
        return false;
    if (!strcasecmp(name, "localhost") || is_address(name))
        return true;
    for (uint32_t i = 0; i < names->count; i++)
        if (!strcasecmp(name, names->list[i]))
            return true;
    return false;
}
