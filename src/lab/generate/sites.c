#include "generate/sites.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

enum { LOOK_AHEAD = 8 }; /* commits among which the next one to arrive is chosen */

void sites_init(struct sites *sites, uint32_t count, uint32_t keys, uint32_t behind, bool locks)
{
    assert(count >= 1 && count <= ISO_GENERATE_SITES && behind >= 1);
    memset(sites, 0, sizeof *sites);
    sites->count = count;
    sites->keys = keys;
    sites->behind = behind;
    sites->locks = locks;
    sites->versions = iso_allocate_zeroed((size_t)count * keys, sizeof *sites->versions);
    sites->newest = iso_allocate_zeroed(keys, sizeof *sites->newest);
}

void sites_release(struct sites *sites)
{
    for (uint32_t i = 0; i < sites->log_count; i++)
        iso_free(sites->log[i].writes);
    ISO_FREE_ALL(sites->log, sites->versions, sites->newest);
}

static struct site_version *version_at(const struct sites *sites, uint32_t site, uint32_t slot)
{
    assert(site < sites->count && slot < sites->keys);
    return &sites->versions[(size_t)site * sites->keys + slot];
}

const struct site_version *sites_version(const struct sites *sites, uint32_t site, uint32_t slot)
{
    return version_at(sites, site, slot);
}

bool sites_may_write(const struct sites *sites, uint32_t site, uint32_t slot)
{
    return !sites->locks || version_at(sites, site, slot)->time == sites->newest[slot];
}

/* ---- what arrives ---- */

static bool has_taken(const struct sites *sites, uint32_t site, const struct site_commit *commit)
{
    return sites->taken[site][commit->site] >= commit->had[commit->site];
}

/* Its site had nothing that this one lacks, but for the commit itself. */
static bool is_due(const struct sites *sites, uint32_t site, const struct site_commit *commit)
{
    for (uint32_t other = 0; other < sites->count; other++) {
        if (sites->taken[site][other] + (other == commit->site) < commit->had[other])
            return false;
    }
    return !has_taken(sites, site, commit);
}

static void take(struct sites *sites, uint32_t site, const struct site_commit *commit)
{
    for (uint32_t i = 0; i < commit->write_count; i++) {
        struct site_version *version = version_at(sites, site, commit->writes[i].slot);
        if (version->time > commit->time ||
            (version->time == commit->time && version->site > commit->site))
            continue;
        *version = (struct site_version){commit->writes[i].value, commit->time, commit->site};
    }
    sites->taken[site][commit->site]++;
    sites->time[site] = commit->time > sites->time[site] ? commit->time : sites->time[site];
}

static void skip_taken(struct sites *sites, uint32_t site)
{
    while (sites->next[site] < sites->log_count &&
           has_taken(sites, site, &sites->log[sites->next[site]]))
        sites->next[site]++;
}

/* The order of the log keeps causes before effects, so its first commit that a site lacks is
 * due. */
static void take_first(struct sites *sites, uint32_t site)
{
    assert(is_due(sites, site, &sites->log[sites->next[site]]));
    take(sites, site, &sites->log[sites->next[site]]);
    skip_taken(sites, site);
}

/* Forgets the part of the log that all sites have, once it is half of it. */
static void shorten(struct sites *sites)
{
    uint32_t least = sites->log_count;
    for (uint32_t site = 0; site < sites->count; site++)
        least = sites->next[site] < least ? sites->next[site] : least;
    if (2 * least < sites->log_count || !least)
        return;
    for (uint32_t i = 0; i < least; i++)
        iso_free(sites->log[i].writes);
    sites->log_count -= least;
    memmove(sites->log, sites->log + least, sites->log_count * sizeof *sites->log);
    for (uint32_t site = 0; site < sites->count; site++)
        sites->next[site] -= least;
}

void sites_deliver(struct sites *sites, struct iso_rng *rng)
{
    for (uint32_t tries = 0; tries < sites->count; tries++) {
        uint32_t site = (uint32_t)iso_rng_below(rng, sites->count);
        uint32_t at = sites->next[site] + (uint32_t)iso_rng_below(rng, LOOK_AHEAD);
        if (at < sites->log_count && is_due(sites, site, &sites->log[at])) {
            take(sites, site, &sites->log[at]);
            skip_taken(sites, site);
        }
    }
    for (uint32_t site = 0; site < sites->count; site++) {
        while (sites->log_count - sites->next[site] > sites->behind)
            take_first(sites, site);
    }
    shorten(sites);
}

/* ---- committing ---- */

void sites_commit(struct sites *sites, uint32_t site, struct site_write *writes,
                  uint32_t write_count)
{
    ISO_GROW(sites->log, sites->log_count, sites->log_capacity);
    struct site_commit *commit = &sites->log[sites->log_count++];
    *commit = (struct site_commit){
        .site = site, .write_count = write_count, .time = sites->time[site] + 1, .writes = writes};
    memcpy(commit->had, sites->taken[site], sites->count * sizeof *commit->had);
    commit->had[site]++;
    for (uint32_t i = 0; i < write_count; i++) {
        assert(sites_may_write(sites, site, writes[i].slot));
        sites->newest[writes[i].slot] = commit->time;
    }
    take(sites, site, commit);
    skip_taken(sites, site);
}
