/* Whom a request is for: the names under which the server may be asked.
 *
 * A page of somebody else's may let its name resolve to this server, and read what it answers as if
 * it were its own; the browser then sends that name as Host. So a name must be known: localhost,
 * the one that --listen has, and those that are given. Addresses are all well, for no page can make
 * one mean another machine: probes of Kubernetes ask by the pod's. So is a request without Host,
 * which no browser sends. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct iso_web_names {
    char **list; /* owned; without port and brackets */
    uint32_t count;
};

void iso_web_names_add(struct iso_web_names *names, const char *name);
void iso_web_names_release(struct iso_web_names *names);

/* `host`: the header's value, NAME or ADDRESS, with or without port; NULL: none was sent. */
bool iso_web_names_allow(const struct iso_web_names *names, const char *host);
