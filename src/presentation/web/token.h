/* What a request has to carry: a token that a file holds, as `Authorization: Bearer TOKEN`. Without
 * one a server listens on the loopback interface alone. Threads: any.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct sockaddr;

/* The caller's; NULL: there is none, or it is none. */
char *iso_web_token(const char *path, struct iso_error *error);
/* `authorization`: the header's value, or NULL. How long it takes does not depend on where they
 * differ. */
bool iso_web_token_is(const char *token, const char *authorization);

/* Whether a server may listen there: else `error` says what is expected. `token` may be NULL. */
bool iso_web_may_listen(const struct sockaddr *address, const char *token, const char *listen,
                        struct iso_error *error);
