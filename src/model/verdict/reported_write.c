/* From a reported violation, and what a verdict says beside its list, to JSON. */
#include <string.h>

#include "iso/version.h"
#include "verdict/reported.h"

static void put_string(struct iso_text *text, const char *member, const char *string)
{
    iso_text_put(text, member);
    if (string)
        iso_text_put_string(text, string, strlen(string));
    else
        iso_text_put(text, "null");
}

static void put_if_given(struct iso_text *text, const char *member, const char *string)
{
    if (string)
        put_string(text, member, string);
}

void iso_reported_put_count(struct iso_text *text, const char *name, uint64_t count)
{
    iso_text_put(text, ",\"");
    iso_text_put(text, name);
    iso_text_put(text, "\":");
    iso_text_put_unsigned(text, count);
}

static void put_atom_of(struct iso_text *text, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        iso_text_put(text, "null");
        return;
    }
    const char *bytes = iso_atom_text(atoms, atom, buffer, &length);
    iso_text_put_string(text, bytes, length);
}

static void put_atom(struct iso_text *text, const char *member,
                     const struct iso_reported_atom *atom)
{
    if (!atom->atoms)
        return;
    iso_text_put(text, member);
    put_atom_of(text, atom->atoms, atom->atom);
}

static void put_value(struct iso_text *text, const char *member,
                      const struct iso_reported_value *value)
{
    if (!value->is_given)
        return;
    iso_text_put(text, member);
    if (!value->is_list) {
        put_atom_of(text, value->atoms, value->count ? value->elements[0] : ISO_ABSENT);
        return;
    }
    iso_text_put(text, "[");
    for (uint32_t i = 0; i < value->count; i++) {
        iso_text_put(text, i ? "," : "");
        put_atom_of(text, value->atoms, value->elements[i]);
    }
    iso_text_put(text, "]");
}

/* ---- times ---- */

static void put_stamp(struct iso_text *text, const char *member, const char *stamp)
{
    put_string(text, member, *stamp ? stamp : NULL);
}

static void put_times(struct iso_text *text, const char *member,
                      const struct iso_reported_times *times)
{
    if (!times->is_given)
        return;
    if (text->bytes[text->used - 1] != '{')
        iso_text_put(text, ",");
    iso_text_put(text, member);
    put_stamp(text, "{\"sts\":", times->sts);
    put_stamp(text, ",\"cts\":", times->cts);
    iso_text_put(text, "}");
}

static void put_moments(struct iso_text *text, const struct iso_reported_moments *moments)
{
    bool has_read_at = *moments->read_at;
    if (!has_read_at && !moments->other.is_given)
        return;
    iso_text_put(text, ",\"times\":{");
    if (has_read_at) {
        put_stamp(text, "\"look\":", moments->read_at);
        iso_text_put(text, moments->inclusive ? ",\"inclusive\":true" : ",\"inclusive\":false");
        if (moments->has_until)
            put_stamp(text, ",\"until\":", moments->until);
    }
    put_times(text, "\"expected\":", &moments->expected);
    put_times(text, "\"actual\":", &moments->actual);
    put_times(text, "\"other\":", &moments->other);
    iso_text_put(text, "}");
}

/* ---- lists ---- */

static void put_tids(struct iso_text *text, const struct iso_reported *reported)
{
    iso_text_put(text, ",\"tids\":[");
    for (uint32_t i = 0; i < reported->tid_count; i++)
        put_atom(text, i ? "," : "", &reported->tids[i]);
    iso_text_put(text, "]");
}

static void put_edges(struct iso_text *text, const struct iso_reported *reported)
{
    iso_text_put(text, ",\"edges\":[");
    for (uint32_t i = 0; i < reported->edge_count; i++) {
        const struct iso_reported_edge *edge = &reported->edges[i];
        put_atom(text, i ? ",{\"from\":" : "{\"from\":", &edge->from);
        put_atom(text, ",\"to\":", &edge->to);
        put_string(text, ",\"type\":", edge->type);
        put_atom(text, ",\"key\":", &edge->key);
        iso_text_put(text, "}");
    }
    iso_text_put(text, "]");
    iso_reported_put_count(text, "lemmas", reported->lemmas);
}

static void put_commits(struct iso_text *text, const struct iso_reported *reported)
{
    for (uint32_t i = 0; i < reported->commit_count; i++) {
        const struct iso_reported_commit *commit = &reported->commits[i];
        put_atom(text, i ? ",{\"tid\":" : ",\"commits\":[{\"tid\":", &commit->tid);
        put_if_given(text, ",\"xid\":", *commit->xid ? commit->xid : NULL);
        put_if_given(text, ",\"lsn\":", *commit->lsn ? commit->lsn : NULL);
        put_if_given(text, ",\"time\":", *commit->time ? commit->time : NULL);
        iso_text_put(text, "}");
    }
    iso_text_put(text, reported->commit_count ? "]" : "");
}

static void put_locations(struct iso_text *text, const struct iso_reported *reported)
{
    iso_text_put(text, ",\"at\":[");
    for (uint32_t i = 0; i < reported->location_count; i++) {
        const struct iso_reported_location *location = &reported->locations[i];
        iso_text_put(text, i ? ",{" : "{");
        iso_text_put(text, location->is_message ? "\"topic\":" : "\"file\":");
        if (location->name)
            iso_text_put_string(text, location->name, location->length);
        else
            iso_text_put(text, "null");
        if (location->is_message)
            iso_reported_put_count(text, "partition", location->partition);
        iso_reported_put_count(text, location->is_message ? "offset" : "line", location->position);
        if (location->operation != ISO_NONE)
            iso_reported_put_count(text, "op", location->operation);
        iso_text_put(text, "}");
    }
    iso_text_put(text, "]");
}

/* ---- a violation ---- */

void iso_reported_put_head(struct iso_text *text, const struct iso_reported_head *head)
{
    put_string(text, "{\"id\":", head->id);
    put_string(text, ",\"state\":", head->state);
    iso_text_put(text, head->by_deadline ? ",\"by\":\"deadline\"" : "");
    put_if_given(text, ",\"doubtful\":", head->doubtful);
    put_string(text, ",\"level\":", head->level);
    iso_text_put(text, ",");
}

/* Writes the grounds of one violation; a count of many has none. */
static void put_grounds(struct iso_text *text, const struct iso_reported *reported)
{
    put_value(text, ",\"expected\":", &reported->expected);
    put_value(text, ",\"actual\":", &reported->actual);
    put_atom(text, ",\"writer_expected\":", &reported->writer_expected);
    put_atom(text, ",\"writer_actual\":", &reported->writer_actual);
    if (reported->is_cycle)
        put_edges(text, reported);
    if (reported->own.is_given) {
        put_stamp(text, ",\"sts\":", reported->own.sts);
        put_stamp(text, ",\"cts\":", reported->own.cts);
    }
    put_moments(text, &reported->moments);
    put_commits(text, reported);
    put_atom(text, ",\"cause\":", &reported->cause);
    put_locations(text, reported);
    put_if_given(text, ",\"note\":", reported->note);
}

void iso_reported_put_members(struct iso_text *text, const struct iso_reported *reported)
{
    put_string(text, "\"axiom\":", reported->axiom);
    if (reported->is_cycle)
        put_string(text, ",\"anomaly\":", reported->kind);
    else
        put_if_given(text, ",\"kind\":", reported->kind);
    put_if_given(text, ",\"guarantee\":", reported->guarantee);
    if (!reported->count)
        put_tids(text, reported);
    put_atom(text, ",\"key\":", &reported->key);
    put_atom(text, ",\"session\":", &reported->session);
    if (reported->count)
        iso_reported_put_count(text, "count", reported->count);
    else
        put_grounds(text, reported);
    iso_text_put(text, "}");
}

/* ---- a verdict ---- */

void iso_reported_put_verdict(struct iso_text *text, const struct iso_reported_verdict *verdict)
{
    put_string(text, "\"isochron\":", ISO_VERSION);
    put_string(text, ",\"level\":", verdict->level);
    put_if_given(text, ",\"versions\":", verdict->versions_by_commit ? "commits" : NULL);
    put_if_given(text, ",\"order\":", verdict->order);
    put_string(text, ",\"engine\":", verdict->engine);
    put_string(text, ",\"verdict\":", verdict->outcome);
    put_string(text, ",\"reason\":", verdict->reason);
    put_if_given(text, ",\"any_order\":", verdict->any_order);
}

/* The first reason is always there; the others where there is one. */
static void put_unjudged(struct iso_text *text, const uint64_t *unjudged)
{
    for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++) {
        if (reason && !unjudged[reason])
            continue;
        iso_text_put(text, reason ? ",\"" : ",\"unjudged\":{\"");
        iso_text_put(text, iso_unjudged_name((enum iso_unjudged)reason));
        iso_text_put(text, "\":");
        iso_text_put_unsigned(text, unjudged[reason]);
    }
    iso_text_put(text, "}");
}

void iso_reported_put_totals(struct iso_text *text, const struct iso_reported_totals *totals)
{
    iso_reported_put_count(text, "transactions", totals->transactions);
    iso_reported_put_count(text, "aborted", totals->aborted);
    iso_reported_put_count(text, "unknown", totals->unknown);
    iso_reported_put_count(text, "operations", totals->operations);
    iso_reported_put_count(text, "sessions", totals->sessions);
    iso_reported_put_count(text, "keys", totals->keys);
    iso_reported_put_count(text, "reads_judged", totals->reads_judged);
    iso_reported_put_count(text, "reads_unjudged", totals->reads_unjudged);
    put_unjudged(text, totals->unjudged);
    if (totals->repeats)
        iso_reported_put_count(text, "repeats", totals->repeats);
    if (totals->writes_unjudged)
        iso_reported_put_count(text, "writes_unjudged", totals->writes_unjudged);
    iso_text_put(text,
                 totals->per_operation ? ",\"per_operation\":true" : ",\"per_operation\":false");
}

void iso_reported_put_doubtful(struct iso_text *text, const uint64_t doubtful[ISO_AXIOMS])
{
    bool some = false;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        if (!doubtful[axiom])
            continue;
        put_string(text, some ? "," : ",\"doubtful\":{", iso_axiom_name((enum iso_axiom)axiom));
        iso_text_put(text, ":");
        iso_text_put_unsigned(text, doubtful[axiom]);
        some = true;
    }
    iso_text_put(text, some ? "}" : "");
}

void iso_reported_put_counts(struct iso_text *text, const uint64_t counts[ISO_AXIOMS])
{
    iso_text_put(text, ",\"counts\":{");
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        put_string(text, axiom ? "," : "", iso_axiom_name((enum iso_axiom)axiom));
        iso_text_put(text, ":");
        iso_text_put_unsigned(text, counts[axiom]);
    }
}
