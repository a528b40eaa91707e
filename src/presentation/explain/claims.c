#include "explain/claims.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "verdict/level.h"
#include "verdict/reported.h"

void iso_claims_init(struct iso_claims *claims, struct iso_history *finished)
{
    *claims = (struct iso_claims){.history = finished, .by_tid = iso_atom_index_new()};
    for (uint32_t t = 0; t < finished->txns.count; t++)
        iso_atom_index_get(claims->by_tid, finished->txns.tid[t], t);
}

void iso_claims_release(struct iso_claims *claims)
{
    if (claims->by_tid)
        iso_atom_index_free(claims->by_tid);
    ISO_FREE_ALL(claims->list, claims->parties, claims->elements, claims->edges, claims->locations);
    iso_text_release(&claims->location_text);
    *claims = (struct iso_claims){.history = NULL};
}

/* ---- one violation, as it was reported ---- */

/* A verdict being read: the violation at hand is looked up in the history. */
struct reading {
    struct iso_claims *claims;
    const char *name;
    struct iso_error *error;
    const struct iso_reported *reported;
    struct iso_reported_object object; /* what is known of the whole */
    struct iso_claim claim;
};

static struct iso_party party_of(const struct iso_claims *claims,
                                 const struct iso_reported_atom *tid)
{
    bool is_known = tid->atoms && tid->atom != ISO_ABSENT;
    return (struct iso_party){is_known ? tid->atom : ISO_ABSENT,
                              is_known ? iso_atom_index_find(claims->by_tid, tid->atom) : ISO_NONE};
}

static void add_parties(struct iso_claims *claims, const struct iso_reported *reported)
{
    for (uint32_t i = 0; i < reported->tid_count; i++) {
        ISO_PUSH(claims->parties, claims->party_count, claims->party_capacity,
                 party_of(claims, &reported->tids[i]));
    }
}

static struct iso_claim_value add_value(struct iso_claims *claims,
                                        const struct iso_reported_value *value)
{
    struct iso_claim_value added = {value->is_given, value->is_list, claims->element_count,
                                    value->count};
    if (!value->count)
        return added;
    ISO_RESERVE(claims->elements, (size_t)claims->element_count + value->count,
                claims->element_capacity);
    memcpy(claims->elements + claims->element_count, value->elements,
           value->count * sizeof *value->elements);
    claims->element_count += value->count;
    return added;
}

static void add_edges(struct iso_claims *claims, const struct iso_reported *reported)
{
    for (uint32_t i = 0; i < reported->edge_count; i++) {
        const struct iso_reported_edge *from = &reported->edges[i];
        struct iso_claim_edge edge = {
            party_of(claims, &from->from).transaction, party_of(claims, &from->to).transaction, "",
            from->key.atoms ? iso_atom_index_find(claims->history->keys.index, from->key.atom)
                            : ISO_NONE};
        snprintf(edge.type, sizeof edge.type, "%s", from->type);
        ISO_PUSH(claims->edges, claims->edge_count, claims->edge_capacity, edge);
    }
}

/* "h.jsonl:7" or "txns[2] offset 944". */
static void add_locations(struct iso_claims *claims, const struct iso_reported *reported)
{
    char numbers[64];
    for (uint32_t i = 0; i < reported->location_count; i++) {
        const struct iso_reported_location *location = &reported->locations[i];
        ISO_PUSH(claims->locations, claims->location_count, claims->location_capacity,
                 (uint32_t)claims->location_text.used);
        iso_text_put_bytes(&claims->location_text, location->name, location->length);
        if (location->is_message)
            snprintf(numbers, sizeof numbers, "[%" PRIu64 "] offset %" PRIu64, location->partition,
                     location->position);
        else
            snprintf(numbers, sizeof numbers, ":%" PRIu64, location->position);
        iso_text_put_bytes(&claims->location_text, numbers, strlen(numbers) + 1);
    }
}

static void start_claim(struct reading *reading, const struct iso_reported *reported)
{
    struct iso_claims *claims = reading->claims;
    reading->reported = reported;
    reading->claim =
        (struct iso_claim){.first_party = claims->party_count,
                           .party_count = reported->tid_count,
                           .writer_expected = party_of(claims, &reported->writer_expected),
                           .writer_actual = party_of(claims, &reported->writer_actual),
                           .key_atom = reported->key.atoms ? reported->key.atom : ISO_ABSENT,
                           .key = ISO_NONE,
                           .operation = ISO_NONE,
                           .first_edge = claims->edge_count,
                           .edge_count = reported->edge_count,
                           .lemmas = (uint32_t)reported->lemmas,
                           .first_location = claims->location_count,
                           .location_count = reported->location_count};
    add_parties(claims, reported);
    reading->claim.expected = add_value(claims, &reported->expected);
    reading->claim.actual = add_value(claims, &reported->actual);
    add_edges(claims, reported);
    add_locations(claims, reported);
}

/* ---- what it names ---- */

static enum iso_status misfit(struct reading *reading, const char *what, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length = 4;
    const char *text = "null";
    if (atom != ISO_ABSENT)
        text = iso_atom_text(&reading->claims->history->atoms, atom, buffer, &length);
    return iso_error_set(reading->error, ISO_BAD_INPUT,
                         "%s: it names %s %.*s, which the history does not have%s", reading->name,
                         what, (int)(length < 200 ? length : 200), text,
                         ": expected the verdict of this history");
}

static enum iso_status check_writer(struct reading *reading, const struct iso_party *writer)
{
    return writer->tid != ISO_ABSENT && writer->transaction == ISO_NONE
               ? misfit(reading, "transaction", writer->tid)
               : ISO_OK;
}

static enum iso_status check_edges(struct reading *reading)
{
    const struct iso_claims *claims = reading->claims;
    for (uint32_t i = 0; i < reading->claim.edge_count; i++) {
        const struct iso_claim_edge *edge = &claims->edges[reading->claim.first_edge + i];
        if (edge->from == ISO_NONE || edge->to == ISO_NONE)
            return misfit(reading, "an edge between transactions,", ISO_ABSENT);
    }
    return ISO_OK;
}

/* The operation of the blamed transaction, whose location is the violation's first. */
static uint32_t given_operation(const struct reading *reading)
{
    return reading->reported->location_count ? reading->reported->locations[0].operation : ISO_NONE;
}

/* The operation that the location gives is a query, which as a whole did not return what it should:
 * its header. */
static bool is_of_query(const struct reading *reading, uint32_t operation)
{
    const struct iso_range *set = iso_history_set_of(reading->claims->history, operation);
    return set && set->form == ISO_SET_QUERY;
}

/* Whether it says what a query as a whole did not return, or should not have: engines that judge
 * reads find the row that was returned and is not there, as `true`. */
static bool says_of_query(const struct reading *reading)
{
    static const char *const kinds[] = {"missing-row", "extra-row", "aggregate"};
    const struct iso_reported_value *actual = &reading->reported->actual,
                                    *expected = &reading->reported->expected;
    bool was_there = expected->count && expected->elements[0] != ISO_ABSENT;
    const char *kind = reading->reported->kind ? reading->reported->kind : "";
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length = 0;
    const char *text = actual->count && actual->elements[0] != ISO_ABSENT
                           ? iso_atom_text(actual->atoms, actual->elements[0], buffer, &length)
                           : "";
    bool is_kind = false;
    for (int i = 0; i < 3; i++)
        is_kind |= !strcmp(kind, kinds[i]);
    return is_kind && (was_there || !(length == 4 && !memcmp(text, "true", 4)));
}

static uint32_t find_query(const struct reading *reading, uint32_t transaction)
{
    const struct iso_history *history = reading->claims->history;
    uint32_t said = given_operation(reading);
    for (uint32_t o = history->txns.first_op[transaction];
         history->ranges.count && o < history->txns.first_op[transaction + 1]; o++)
        if (said == iso_history_step(history, transaction, o) && is_of_query(reading, o))
            return o;
    return ISO_NONE;
}

/* The blamed transaction's operation; of a read that is given without its location the first one of
 * the key. */
static enum iso_status find_operation(struct reading *reading)
{
    const struct iso_history *history = reading->claims->history;
    struct iso_claim *claim = &reading->claim;
    const struct iso_party *party = iso_claim_party(reading->claims, claim, 0);
    bool is_read =
        claim->wrong->argument == ISO_ARGUE_READ || claim->wrong->argument == ISO_ARGUE_OWN;
    uint32_t first = history->txns.first_op[party->transaction];
    uint32_t count = history->txns.first_op[party->transaction + 1] - first,
             said = given_operation(reading);
    for (uint32_t i = 0; i < count; i++) {
        bool is_it = said == ISO_NONE
                         ? is_read && history->ops.key[first + i] == claim->key &&
                               !iso_kind_writes(history->ops.kind[first + i])
                         : said == iso_history_step(history, party->transaction, first + i) &&
                               (!history->ranges.count || claim->key == ISO_NONE ||
                                history->ops.key[first + i] == claim->key);
        if (is_it && claim->operation == ISO_NONE)
            claim->operation = first + i;
    }
    uint32_t query = says_of_query(reading) ? find_query(reading, party->transaction) : ISO_NONE;
    if (query != ISO_NONE) {
        claim->operation = query;
        return ISO_OK;
    }
    uint32_t found = claim->operation;
    bool is_missing =
        found == ISO_NONE
            ? is_read || said != ISO_NONE
            : (reading->reported->key.atoms && history->ops.key[found] != claim->key) ||
                  (is_read && iso_kind_writes(history->ops.kind[found]));
    return is_missing ? misfit(reading,
                               is_read ? "a read of the key by transaction"
                                       : "an operation on the key of transaction",
                               party->tid)
                      : ISO_OK;
}

static const char *or_empty(const char *word)
{
    return word ? word : "";
}

static enum iso_status resolve(struct reading *reading)
{
    struct iso_claims *claims = reading->claims;
    struct iso_claim *claim = &reading->claim;
    const struct iso_reported *reported = reading->reported;
    const char *axiom = or_empty(reported->axiom);
    bool is_own = !strcmp(
        axiom, "INT"); /* whose kinds only queries have, and their arguments find them out */
    claim->wrong = iso_wrong_find(axiom, is_own ? NULL : reported->kind);
    if (!claim->wrong || (!claim->party_count && !claim->edge_count && strcmp(axiom, "CYCLE")))
        return iso_error_set(
            reading->error, ISO_BAD_INPUT,
            "%s: axiom \"%s\", kind \"%s\": expected a violation as check --json prints it",
            reading->name, axiom, or_empty(reported->kind));
    bool rows = claim->wrong->argument == ISO_ARGUE_CHANGES;
    for (uint32_t i = 0; i < claim->party_count && !rows; i++)
        if (iso_claim_party(claims, claim, i)->transaction == ISO_NONE)
            return misfit(reading, "transaction", iso_claim_party(claims, claim, i)->tid);
    if (reported->key.atoms)
        claim->key = iso_atom_index_find(claims->history->keys.index, claim->key_atom);
    bool needs_key =
        claim->wrong->argument == ISO_ARGUE_READ || claim->wrong->argument == ISO_ARGUE_OWN;
    if (claim->key == ISO_NONE && !rows && (reported->key.atoms || needs_key))
        return misfit(reading, "key", claim->key_atom);
    if (check_writer(reading, &claim->writer_expected) != ISO_OK ||
        check_edges(reading) != ISO_OK || check_writer(reading, &claim->writer_actual) != ISO_OK)
        return ISO_BAD_INPUT;
    return claim->party_count && !rows ? find_operation(reading) : ISO_OK;
}

static bool is_serial(const char *level)
{
    enum iso_level known;
    return iso_level_parse(level, strlen(level), &known) &&
           iso_level_row(known)->shape == ISO_SHAPE_ONE_EVENT;
}

/* The timestamp of a text that iso_history_stamp_text wrote. */
static uint64_t stamp_of(const struct iso_history *history, const char *text)
{
    char here[ISO_STAMP_TEXT];
    for (uint64_t rank = 1; history->ranks.physical && rank <= history->ranks.count; rank++) {
        iso_history_stamp_text(history, rank, here);
        if (!strcmp(here, text))
            return rank;
    }
    return history->ranks.physical ? 0 : strtoull(text, NULL, 10);
}

static void take_moments(struct reading *reading, const struct iso_reported *reported)
{
    const struct iso_history *history = reading->claims->history;
    const char *level = or_empty(reported->head.level);
    enum iso_level known;
    if (iso_level_parse(level, strlen(level), &known) &&
        iso_level_row(known)->shape == ISO_SHAPE_ARBITRATION) {
        reading->claim.visibility = iso_level_name(known);
        reading->claim.knowledge = known == ISO_RC ? NULL : reading->claim.visibility;
    }
    reading->claim.has_moments = reported->moments.has_until;
    reading->claim.is_past = !strcmp(level, iso_level_name(ISO_STALE_READS));
    if (!reported->moments.has_until)
        return;
    reading->claim.first_moment = stamp_of(history, reported->moments.read_at);
    reading->claim.last_moment =
        *reported->moments.until ? stamp_of(history, reported->moments.until) : UINT64_MAX;
}

/* ---- the whole ---- */

static bool keep_claim(void *context, const struct iso_reported *reported)
{
    struct reading *reading = context;
    struct iso_claims *claims = reading->claims;
    const struct iso_reported_head *head = &reported->head;
    const char *state = or_empty(head->state);
    if (!strcmp(state, "unlisted")) /* that is only a number */
        return true;
    start_claim(reading, reported);
    if (resolve(reading) != ISO_OK)
        return false;
    reading->claim.is_serial = is_serial(or_empty(head->level)) && !reported->versions_by_commit;
    take_moments(reading, reported);
    reading->claim.is_tentative = !strcmp(state, "tentative");
    reading->claim.doubt = head->doubtful ? iso_doubt(head->doubtful) : NULL;
    reading->claim.id = strtoull(or_empty(head->id), NULL, 16);
    if (!strcmp(state, "retracted"))
        reading->claim.wrong = NULL; /* counted when all lines are known */
    ISO_APPEND(*claims, reading->claim);
    return true;
}

/* A later round's verdict is about all that an earlier one was about. */
static void start_list(void *context)
{
    struct reading *reading = context;
    reading->claims->count = 0;
}

/* A verdict, or one violation of its own. */
static bool read_object(struct reading *reading, struct iso_reported_reader *reader)
{
    struct iso_claims *claims = reading->claims;
    struct iso_reported_object *object = &reading->object;
    bool is_read = iso_reported_read(reader, object);
    snprintf(claims->level, sizeof claims->level, "%s", object->level);
    snprintf(claims->engine, sizeof claims->engine, "%s", object->engine);
    snprintf(claims->outcome, sizeof claims->outcome, "%s", object->outcome);
    claims->found = object->found;
    claims->doubtful = object->doubtful;
    claims->has_counts = object->has_counts;
    return is_read;
}

/* Lines that are no objects: what stands on the same terminal or in the same log. */
static void pass_over_text(struct iso_json *json)
{
    while (iso_json_space(json) && iso_json_peek(json) != ISO_JSON_OBJECT) {
        const char *newline = memchr(json->at, '\n', (size_t)(json->end - json->at));
        json->at = newline ? newline + 1 : json->end;
    }
}

static void read_all(struct reading *reading, struct iso_reported_reader *reader)
{
    struct iso_json *json = iso_reported_json(reader);
    bool any = false;
    for (pass_over_text(json); iso_json_space(json); pass_over_text(json)) {
        if (!read_object(reading, reader))
            return;
        any = any || reading->object.is_verdict || reading->object.is_violation;
    }
    if (!any)
        iso_error_set(
            reading->error, ISO_BAD_INPUT,
            "%s: expected the object of check --json or replay --json, or the lines of watch",
            reading->name);
}

/* Keeps of the claims with one id the last, and none that was retracted. */
static void keep_last(struct iso_claims *claims)
{
    struct iso_atom_index *last = iso_atom_index_new();
    struct iso_atoms ids;
    uint32_t kept = 0;
    iso_atoms_init(&ids);
    for (uint32_t i = claims->count; i-- > 0;) {
        struct iso_claim *claim = &claims->list[i];
        if (claim->id &&
            iso_atom_index_get(last, iso_atoms_add_integer(&ids, claim->id, false), i) != i)
            claim->wrong = NULL;
        else if (!claim->wrong)
            claims->retracted++;
    }
    for (uint32_t i = 0; i < claims->count; i++)
        if (claims->list[i].wrong)
            claims->list[kept++] = claims->list[i];
    claims->count = kept;
    iso_atoms_release(&ids);
    iso_atom_index_free(last);
}

enum iso_status iso_claims_read(struct iso_claims *claims, const char *text, size_t length,
                                const char *name, struct iso_error *error)
{
    struct reading reading = {.claims = claims, .name = name, .error = error};
    struct iso_reported_sink sink = {keep_claim, start_list, &reading};
    struct iso_reported_reader *reader = iso_reported_reader_new(&claims->history->atoms, &sink);
    struct iso_json *json = iso_reported_json(reader);
    char what[256];
    iso_json_start(json, text, length);
    read_all(&reading, reader);
    if (json->code) {
        iso_json_describe(json, what, sizeof what);
        iso_error_set(error, ISO_BAD_INPUT, "%s: byte %zu: %s", name, json->position + 1, what);
    }
    iso_reported_reader_free(reader);
    if (error->status == ISO_OK)
        keep_last(claims);
    return error->status;
}

uint32_t iso_claims_count_of(const struct iso_claims *claims, const struct iso_wrong *wrong)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < claims->count; i++)
        count += claims->list[i].wrong == wrong;
    return count;
}
