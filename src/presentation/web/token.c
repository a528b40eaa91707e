#include "web/token.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { TOKEN_LEAST = 16, TOKEN_MOST = 1024 };

char *iso_web_token(const char *path, struct iso_error *error)
{
    char text[TOKEN_MOST + 2];
    FILE *file = fopen(path, "re");
    if (!file) {
        iso_error_set(error, iso_error_of_open(errno), "%s: %s", path, strerror(errno));
        return NULL;
    }
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    while (length && strchr("\r\n \t", text[length - 1]))
        length--;
    bool plain = length >= TOKEN_LEAST && length <= TOKEN_MOST;
    for (size_t i = 0; i < length && plain; i++)
        plain = text[i] > ' ' && text[i] < 0x7f;
    if (plain)
        return iso_copy_text(text, length);
    iso_error_set(error, ISO_BAD_INPUT,
                  "%s: no token; expected %d to %d printable characters without spaces", path,
                  TOKEN_LEAST, TOKEN_MOST);
    return NULL;
}

bool iso_web_token_is(const char *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (!authorization || strncmp(authorization, scheme, sizeof scheme - 1))
        return false;
    authorization += sizeof scheme - 1;
    size_t length = strlen(authorization), expected = strlen(token);
    unsigned char difference = length != expected;
    for (size_t i = 0; i < length && expected; i++)
        difference |= (unsigned char)(authorization[i] ^ token[i % expected]);
    return !difference;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
               127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

bool iso_web_may_listen(const struct sockaddr *address, const char *token, const char *listen,
                        struct iso_error *error)
{
    if (token || is_loopback(address))
        return true;
    iso_error_set(error, ISO_BAD_INPUT,
                  "--listen %s: beyond the loopback interface; expected --listen-token FILE too",
                  listen);
    return false;
}
