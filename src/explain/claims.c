#include "explain/claims.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

void iso_claims_init(struct iso_claims *claims, struct iso_history *finished)
{
    *claims = (struct iso_claims){.history = finished, .by_tid = iso_atom_index_new()};
    for (uint32_t t = 0; t < finished->transaction_count; t++)
        iso_atom_index_get(claims->by_tid, finished->tid[t], t);
}

void iso_claims_release(struct iso_claims *claims)
{
    if (claims->by_tid)
        iso_atom_index_free(claims->by_tid);
    iso_free(claims->list);
    iso_free(claims->parties);
    iso_free(claims->elements);
    iso_free(claims->edges);
    iso_free(claims->places);
    iso_text_release(&claims->place_text);
    *claims = (struct iso_claims){.history = NULL};
}

/* Room for one more in a column. */
static void *room(void *column, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity)
        return column;
    *capacity = (uint32_t)iso_column_capacity(*capacity, (size_t)count + 1);
    return iso_reallocate(column, *capacity * size);
}

/* ---- one violation, as it stands in the text ---- */

enum { OP_NONE = -1 };

/* What is read before it can be looked up: members come in any order. */
struct reading {
    struct iso_claims *claims;
    struct iso_json json;
    const char *name;
    struct iso_error *error;
    char level[12], axiom[16], kind[20], state[12], id[20], doubtful[20];
    struct iso_claim claim;
    int64_t operation; /* of the first place */
    iso_atom key;
    bool has_key, has_axiom;
};

static void wrong(struct reading *reading, const char *expected)
{
    iso_json_fail(&reading->json, ISO_JSON_UNEXPECTED, reading->json.at, expected);
}

/* A word of the verdict's own vocabulary; null is none. */
static void read_word(struct reading *reading, char *word, size_t size)
{
    struct iso_json_text text;
    word[0] = 0;
    if (iso_json_peek(&reading->json) == ISO_JSON_NULL) {
        iso_json_null(&reading->json);
        return;
    }
    if (!iso_json_string(&reading->json, &text))
        return;
    if (text.length >= size || memchr(text.at, 0, text.length))
        wrong(reading, "a word of the verdict's vocabulary");
    else
        snprintf(word, size, "%.*s", (int)text.length, text.at);
}

/* A word that is one of some, with bars between: it goes into names, classes and headlines as it is. */
static void read_known_word(struct reading *reading, char *word, size_t size, const char *known)
{
    read_word(reading, word, size);
    size_t length = strlen(word);
    while (length && *known && (strcspn(known, "|") != length || memcmp(known, word, length)))
        known += strcspn(known, "|") + (known[strcspn(known, "|")] == '|');
    if (length && !*known)
        wrong(reading, "a word of the verdict's vocabulary");
}

static iso_atom read_atom(struct reading *reading)
{
    struct iso_atoms *atoms = &reading->claims->history->atoms;
    struct iso_json_text text;
    struct iso_json_number number;
    switch (iso_json_peek(&reading->json)) {
    case ISO_JSON_NULL:
        iso_json_null(&reading->json);
        return ISO_ABSENT;
    case ISO_JSON_DIGITS:
        return iso_json_integer(&reading->json, &number) ? iso_atoms_add_integer(atoms, number.bits, number.negative)
                                                         : ISO_ABSENT;
    default:
        return iso_json_string(&reading->json, &text) ? iso_atoms_text(atoms, text.at, text.length) : ISO_ABSENT;
    }
}

static uint64_t read_count(struct reading *reading)
{
    struct iso_json_number number = {0};
    iso_json_integer(&reading->json, &number);
    return number.bits;
}

static struct iso_party party_of(const struct iso_claims *claims, iso_atom tid)
{
    uint32_t transaction = tid == ISO_ABSENT ? ISO_NONE : iso_atom_index_find(claims->by_tid, tid);
    return (struct iso_party){tid, transaction};
}

static void read_parties(struct reading *reading)
{
    struct iso_claims *claims = reading->claims;
    reading->claim.first_party = claims->party_count;
    iso_json_enter_array(&reading->json);
    while (!reading->json.code && iso_json_element(&reading->json)) {
        struct iso_party party = party_of(claims, read_atom(reading));
        claims->parties = room(claims->parties, claims->party_count, &claims->party_capacity, sizeof *claims->parties);
        claims->parties[claims->party_count++] = party;
    }
    reading->claim.party_count = claims->party_count - reading->claim.first_party;
}

static void add_element(struct reading *reading, iso_atom atom)
{
    struct iso_claims *claims = reading->claims;
    claims->elements =
        room(claims->elements, claims->element_count, &claims->element_capacity, sizeof *claims->elements);
    claims->elements[claims->element_count++] = atom;
}

static void read_value(struct reading *reading, struct iso_claim_value *value)
{
    *value = (struct iso_claim_value){.given = true, .first = reading->claims->element_count};
    value->is_list = iso_json_peek(&reading->json) == ISO_JSON_ARRAY;
    if (value->is_list) {
        iso_json_enter_array(&reading->json);
        while (!reading->json.code && iso_json_element(&reading->json))
            add_element(reading, read_atom(reading));
    } else {
        add_element(reading, read_atom(reading));
    }
    value->count = reading->claims->element_count - value->first;
}

static void read_edge(struct reading *reading)
{
    struct iso_claims *claims = reading->claims;
    struct iso_claim_edge edge = {ISO_NONE, ISO_NONE, "", ISO_NONE};
    struct iso_json_text name;
    iso_json_enter_object(&reading->json);
    while (!reading->json.code && iso_json_member(&reading->json, &name)) {
        if (iso_json_is(&name, "from"))
            edge.from = party_of(claims, read_atom(reading)).transaction;
        else if (iso_json_is(&name, "to"))
            edge.to = party_of(claims, read_atom(reading)).transaction;
        else if (iso_json_is(&name, "type"))
            read_known_word(reading, edge.type, sizeof edge.type, "wr|ww|rw|so|rt|implied");
        else if (iso_json_is(&name, "key"))
            edge.key = iso_atom_index_find(claims->history->key_index, read_atom(reading));
        else
            iso_json_skip(&reading->json);
    }
    claims->edges = room(claims->edges, claims->edge_count, &claims->edge_capacity, sizeof *claims->edges);
    claims->edges[claims->edge_count++] = edge;
}

static void read_edges(struct reading *reading)
{
    reading->claim.first_edge = reading->claims->edge_count;
    iso_json_enter_array(&reading->json);
    while (!reading->json.code && iso_json_element(&reading->json))
        read_edge(reading);
    reading->claim.edge_count = reading->claims->edge_count - reading->claim.first_edge;
}

/* "h.jsonl:7" or "txns[2] offset 944". */
static void read_place(struct reading *reading, bool is_first)
{
    struct iso_claims *claims = reading->claims;
    struct iso_json_text name, file = {"", 0}, topic = {NULL, 0};
    uint64_t line = 0, partition = 0, offset = 0;
    char numbers[64];
    iso_json_enter_object(&reading->json);
    while (!reading->json.code && iso_json_member(&reading->json, &name)) {
        if (iso_json_is(&name, "file"))
            iso_json_string(&reading->json, &file);
        else if (iso_json_is(&name, "topic"))
            iso_json_string(&reading->json, &topic);
        else if (iso_json_is(&name, "line"))
            line = read_count(reading);
        else if (iso_json_is(&name, "partition"))
            partition = read_count(reading);
        else if (iso_json_is(&name, "offset"))
            offset = read_count(reading);
        else if (iso_json_is(&name, "op") && is_first)
            reading->operation = (int64_t)read_count(reading);
        else
            iso_json_skip(&reading->json);
    }
    claims->places = room(claims->places, claims->place_count, &claims->place_capacity, sizeof *claims->places);
    claims->places[claims->place_count++] = (uint32_t)claims->place_text.used;
    iso_text_put_bytes(&claims->place_text, topic.at ? topic.at : file.at, topic.at ? topic.length : file.length);
    if (topic.at)
        snprintf(numbers, sizeof numbers, "[%" PRIu64 "] offset %" PRIu64, partition, offset);
    else
        snprintf(numbers, sizeof numbers, ":%" PRIu64, line);
    iso_text_put_bytes(&claims->place_text, numbers, strlen(numbers) + 1);
}

static void read_places(struct reading *reading)
{
    reading->claim.first_place = reading->claims->place_count;
    iso_json_enter_array(&reading->json);
    while (!reading->json.code && iso_json_element(&reading->json))
        read_place(reading, reading->claims->place_count == reading->claim.first_place);
    reading->claim.place_count = reading->claims->place_count - reading->claim.first_place;
}

/* True if the member is one of a violation. */
static bool read_member(struct reading *reading, const struct iso_json_text *name)
{
    struct iso_claim *claim = &reading->claim;
    if (iso_json_is(name, "axiom")) {
        reading->has_axiom = true;
        read_word(reading, reading->axiom, sizeof reading->axiom);
    } else if (iso_json_is(name, "kind") || iso_json_is(name, "anomaly")) {
        read_word(reading, reading->kind, sizeof reading->kind);
    } else if (iso_json_is(name, "id")) {
        read_word(reading, reading->id, sizeof reading->id);
    } else if (iso_json_is(name, "state")) {
        read_word(reading, reading->state, sizeof reading->state);
    } else if (iso_json_is(name, "doubtful")) {
        read_word(reading, reading->doubtful, sizeof reading->doubtful);
    } else if (iso_json_is(name, "tids")) {
        read_parties(reading);
    } else if (iso_json_is(name, "key")) {
        reading->has_key = true;
        reading->key = read_atom(reading);
    } else if (iso_json_is(name, "expected")) {
        read_value(reading, &claim->expected);
    } else if (iso_json_is(name, "actual")) {
        read_value(reading, &claim->actual);
    } else if (iso_json_is(name, "writer_expected")) {
        claim->writer_expected = party_of(reading->claims, read_atom(reading));
    } else if (iso_json_is(name, "writer_actual")) {
        claim->writer_actual = party_of(reading->claims, read_atom(reading));
    } else if (iso_json_is(name, "edges")) {
        read_edges(reading);
    } else if (iso_json_is(name, "lemmas")) {
        claim->lemmas = (uint32_t)read_count(reading);
    } else if (iso_json_is(name, "at")) {
        read_places(reading);
    } else {
        return false;
    }
    return true;
}

static void start_claim(struct reading *reading)
{
    reading->claim = (struct iso_claim){.writer_expected = {ISO_ABSENT, ISO_NONE},
                                        .writer_actual = {ISO_ABSENT, ISO_NONE},
                                        .key = ISO_NONE,
                                        .operation = ISO_NONE};
    reading->operation = OP_NONE;
    reading->has_key = reading->has_axiom = false;
    reading->axiom[0] = reading->kind[0] = reading->state[0] = reading->id[0] = 0;
    reading->doubtful[0] = 0;
}

/* ---- what it names ---- */

static enum iso_status misfit(struct reading *reading, const char *what, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length = 4;
    const char *text = "null";
    if (atom != ISO_ABSENT)
        text = iso_atom_text(&reading->claims->history->atoms, atom, buffer, &length);
    return iso_error_set(reading->error, ISO_BAD_INPUT, "%s: it names %s %.*s, which the history does not have%s",
                         reading->name, what, (int)(length < 200 ? length : 200), text,
                         ": expected the verdict of this history");
}

static enum iso_status check_writer(struct reading *reading, const struct iso_party *writer)
{
    return writer->tid != ISO_ABSENT && writer->transaction == ISO_NONE ? misfit(reading, "transaction", writer->tid)
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

/* The blamed transaction's operation; of a read that is told without its place the first one of the key. */
static enum iso_status find_operation(struct reading *reading)
{
    const struct iso_history *history = reading->claims->history;
    struct iso_claim *claim = &reading->claim;
    const struct iso_party *party = iso_claim_party(reading->claims, claim, 0);
    bool is_read = claim->wrong->argument == ISO_ARGUE_READ || claim->wrong->argument == ISO_ARGUE_OWN;
    uint32_t first = history->first_operation[party->transaction];
    uint32_t count = history->first_operation[party->transaction + 1] - first;
    for (uint32_t i = 0; i < count; i++) {
        bool is_it = reading->operation == OP_NONE ? is_read && history->key[first + i] == claim->key &&
                                                         !iso_kind_writes(history->kind[first + i])
                                                   : reading->operation == (int64_t)i;
        if (is_it && claim->operation == ISO_NONE)
            claim->operation = first + i;
    }
    uint32_t found = claim->operation;
    bool is_missing = found == ISO_NONE ? is_read || reading->operation != OP_NONE
                                        : (reading->has_key && history->key[found] != claim->key) ||
                                              (is_read && iso_kind_writes(history->kind[found]));
    return is_missing ? misfit(reading,
                               is_read ? "a read of the key by transaction" : "an operation on the key of transaction",
                               party->tid)
                      : ISO_OK;
}

static enum iso_status resolve(struct reading *reading)
{
    struct iso_claims *claims = reading->claims;
    struct iso_claim *claim = &reading->claim;
    claim->wrong = iso_wrong_find(reading->axiom, reading->kind[0] ? reading->kind : NULL);
    if (!claim->wrong || (!claim->party_count && !claim->edge_count && strcmp(reading->axiom, "CYCLE")))
        return iso_error_set(reading->error, ISO_BAD_INPUT,
                             "%s: axiom \"%s\", kind \"%s\": expected a violation as check --json prints it",
                             reading->name, reading->axiom, reading->kind);
    bool rows = claim->wrong->argument == ISO_ARGUE_CHANGES;
    for (uint32_t i = 0; i < claim->party_count && !rows; i++)
        if (iso_claim_party(claims, claim, i)->transaction == ISO_NONE)
            return misfit(reading, "transaction", iso_claim_party(claims, claim, i)->tid);
    if (reading->has_key)
        claim->key = iso_atom_index_find(claims->history->key_index, reading->key);
    claim->key_atom = reading->has_key ? reading->key : ISO_ABSENT;
    bool needs_key = claim->wrong->argument == ISO_ARGUE_READ || claim->wrong->argument == ISO_ARGUE_OWN;
    if (claim->key == ISO_NONE && !rows && (reading->has_key || needs_key))
        return misfit(reading, "key", claim->key_atom);
    if (check_writer(reading, &claim->writer_expected) != ISO_OK || check_edges(reading) != ISO_OK ||
        check_writer(reading, &claim->writer_actual) != ISO_OK)
        return ISO_BAD_INPUT;
    return claim->party_count && !rows ? find_operation(reading) : ISO_OK;
}

static bool is_serial(const char *level)
{
    return !strcmp(level, "ser") || !strcmp(level, "strict-ser");
}

static enum iso_status keep_claim(struct reading *reading)
{
    struct iso_claims *claims = reading->claims;
    if (resolve(reading) != ISO_OK)
        return ISO_BAD_INPUT;
    reading->claim.is_serial = is_serial(reading->level);
    reading->claim.is_tentative = !strcmp(reading->state, "tentative");
    reading->claim.doubt = reading->doubtful[0] ? iso_doubt(reading->doubtful) : NULL;
    reading->claim.id = strtoull(reading->id, NULL, 16);
    if (!strcmp(reading->state, "retracted"))
        reading->claim.wrong = NULL; /* told when all lines are known */
    claims->list = room(claims->list, claims->count, &claims->capacity, sizeof *claims->list);
    claims->list[claims->count++] = reading->claim;
    return ISO_OK;
}

/* ---- the whole ---- */

static void read_violations(struct reading *reading)
{
    struct iso_json_text name;
    reading->claims->count = 0; /* a later round's verdict is about all that an earlier one was about */
    iso_json_enter_array(&reading->json);
    while (!reading->json.code && iso_json_element(&reading->json)) {
        start_claim(reading);
        iso_json_enter_object(&reading->json);
        while (!reading->json.code && iso_json_member(&reading->json, &name))
            if (!read_member(reading, &name))
                iso_json_skip(&reading->json);
        if (reading->json.code || keep_claim(reading) != ISO_OK)
            return;
    }
}

static void read_counts(struct reading *reading)
{
    struct iso_json_text name;
    reading->claims->found = 0;
    reading->claims->has_counts = true;
    iso_json_enter_object(&reading->json);
    while (!reading->json.code && iso_json_member(&reading->json, &name))
        reading->claims->found += read_count(reading);
}

/* A verdict, or one violation of its own. Members of the level come before the list, as they are printed. */
static void read_object(struct reading *reading)
{
    struct iso_claims *claims = reading->claims;
    struct iso_json_text name;
    bool is_verdict = false;
    start_claim(reading);
    iso_json_enter_object(&reading->json);
    while (!reading->json.code && reading->error->status == ISO_OK && iso_json_member(&reading->json, &name)) {
        if (iso_json_is(&name, "level")) {
            read_known_word(reading, reading->level, sizeof reading->level, "si|ser|adya-si|gsi|strong-si|strict-ser");
        } else if (iso_json_is(&name, "verdict")) {
            is_verdict = true;
            read_known_word(reading, claims->outcome, sizeof claims->outcome, "holds|violated|undecided");
        } else if (iso_json_is(&name, "engine")) {
            read_known_word(reading, claims->engine, sizeof claims->engine, "chronos|aion|polygraph");
        } else if (iso_json_is(&name, "counts")) {
            read_counts(reading);
        } else if (iso_json_is(&name, "violations")) {
            read_violations(reading);
        } else if (!read_member(reading, &name)) {
            iso_json_skip(&reading->json);
        }
    }
    snprintf(claims->level, sizeof claims->level, "%s", reading->level);
    if (reading->json.code || reading->error->status != ISO_OK)
        return;
    if (reading->has_axiom && !is_verdict)
        keep_claim(reading);
    else if (!is_verdict)
        iso_error_set(reading->error, ISO_BAD_INPUT,
                      "%s: expected the object of check --json or replay --json, or the lines of watch", reading->name);
}

/* Of the claims with one id the last; none that was retracted. */
static void keep_last(struct iso_claims *claims)
{
    struct iso_atom_index *last = iso_atom_index_new();
    struct iso_atoms ids;
    uint32_t kept = 0;
    iso_atoms_init(&ids);
    for (uint32_t i = claims->count; i-- > 0;) {
        struct iso_claim *claim = &claims->list[i];
        if (claim->id && iso_atom_index_get(last, iso_atoms_add_integer(&ids, claim->id, false), i) != i)
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

enum iso_status iso_claims_read(struct iso_claims *claims, const char *text, size_t length, const char *name,
                                struct iso_error *error)
{
    struct reading reading = {.claims = claims, .name = name, .error = error};
    char what[256];
    iso_json_init(&reading.json);
    iso_json_start(&reading.json, text, length);
    do
        read_object(&reading);
    while (!reading.json.code && error->status == ISO_OK && iso_json_space(&reading.json));
    if (!reading.json.code && error->status == ISO_OK)
        iso_json_finish(&reading.json);
    if (reading.json.code) {
        iso_json_describe(&reading.json, what, sizeof what);
        iso_error_set(error, ISO_BAD_INPUT, "%s: byte %zu: %s", name, reading.json.position + 1, what);
    }
    iso_json_release(&reading.json);
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
