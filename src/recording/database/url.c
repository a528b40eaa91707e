/* A database's URL taken apart. libpq reads its own; MySQL's has no library that does. */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "base/redact.h"
#include "database/database_private.h"

static const struct {
    const char *scheme;
    const struct database_driver *driver;
} schemes[] = {{"postgresql://", &database_postgres},
               {"postgres://", &database_postgres},
               {"mysql://", &database_mysql},
               {"mariadb://", &database_mysql},
               {"tidb://", &database_mysql}};

static const struct database_driver *driver_of(const char *url, size_t *length)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        *length = strlen(schemes[i].scheme);
        if (!strncmp(url, schemes[i].scheme, *length))
            return schemes[i].driver;
    }
    return NULL;
}

bool iso_database_is_url(const char *text, enum iso_database_protocol *protocol)
{
    size_t length;
    const struct database_driver *driver = driver_of(text, &length);
    if (driver && protocol)
        *protocol = driver->protocol;
    return driver != NULL;
}

void database_address_release(struct database_address *address)
{
    char *texts[] = {address->url,      address->host, address->user,
                     address->password, address->name, address->socket};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        iso_free(texts[i]);
    *address = (struct database_address){0};
}

/* `%41` is A. NULL: a percent sign without its two digits, or a NUL. */
static char *decoded(const char *text, size_t length)
{
    char *copy = iso_copy_text(text, length), *to = copy;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            *to++ = text[i];
            continue;
        }
        int high = i + 2 < length ? iso_hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? iso_hex_digit(text[i + 2]) : -1;
        if (low < 0 || high * 16 + low == 0) {
            iso_free(copy);
            return NULL;
        }
        *to++ = (char)(high * 16 + low);
        i += 2;
    }
    *to = 0;
    return copy;
}

/* Takes a part, if it is there; false: it cannot be read. */
static bool take(const char *from, const char *to, char **into)
{
    if (from == to)
        return true;
    iso_free(*into);
    *into = decoded(from, (size_t)(to - from));
    return *into != NULL;
}

static bool take_port(const char *from, const char *to, unsigned *port)
{
    char *end;
    unsigned long number = strtoul(from, &end, 10);
    *port = (unsigned)number;
    return end == to && *from >= '0' && *from <= '9' && number && number < 65536;
}

static bool take_host(const char *from, const char *to, struct database_address *address)
{
    const char *colon = memchr(from, ':', (size_t)(to - from));
    if (*from == '[') { /* an address of IPv6 */
        const char *bracket = memchr(from, ']', (size_t)(to - from));
        if (!bracket || (bracket + 1 != to && bracket[1] != ':'))
            return false;
        colon = bracket + 1 == to ? NULL : bracket + 1;
        return take(from + 1, bracket, &address->host) &&
               (!colon || take_port(colon + 1, to, &address->port));
    }
    return take(from, colon ? colon : to, &address->host) &&
           (!colon || take_port(colon + 1, to, &address->port));
}

static bool take_user(const char *from, const char *to, struct database_address *address)
{
    const char *colon = memchr(from, ':', (size_t)(to - from));
    return take(from, colon ? colon : to, &address->user) &&
           (!colon || take(colon + 1, to, &address->password));
}

/* [USER[:PASSWORD]@]HOST[:PORT][/DATABASE][?socket=PATH] */
static bool take_parts(const char *text, struct database_address *address)
{
    static const char socket[] = "socket=";
    const char *query = text + strcspn(text, "?"), *at = NULL;
    const char *slash = memchr(text, '/', (size_t)(query - text)),
               *authority_end = slash ? slash : query;
    for (const char *c = text; c < authority_end; c++)
        at = *c == '@' ? c : at;
    if ((at && !take_user(text, at, address)) ||
        !take_host(at ? at + 1 : text, authority_end, address))
        return false;
    if (slash && !take(slash + 1, query, &address->name))
        return false;
    if (!*query)
        return true;
    query++;
    return !strncmp(query, socket, sizeof socket - 1) && !strchr(query, '&') &&
           take(query + sizeof socket - 1, query + strlen(query), &address->socket);
}

enum iso_status database_parse(const char *url, struct database_address *address,
                               const struct database_driver **driver, struct iso_error *error)
{
    size_t length;
    *driver = driver_of(url, &length);
    address->url = iso_copy_text(url, strlen(url));
    bool is_fine = *driver && ((*driver)->protocol == ISO_PROTOCOL_POSTGRES ||
                               take_parts(url + length, address));
    if (is_fine)
        return ISO_OK;
    char *shown = iso_redacted(url);
    if (!*driver)
        iso_error_set(error, ISO_BAD_INPUT,
                      "%s: not the URL of a database, expected postgresql://HOST:PORT/DATABASE or "
                      "mysql://HOST:PORT/DATABASE",
                      shown);
    else
        iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: cannot be read, expected mysql://HOST:PORT/DATABASE?socket=PATH, with a user and a password before an @, "
            "and special characters as %%41",
            shown);
    iso_free(shown);
    return error->status;
}
