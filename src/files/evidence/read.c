#define _GNU_SOURCE
#include <string.h>

#include "base/json.h"
#include "base/number_map.h"
#include "history/index.h"
#include "evidence/evidence.h"
#include "evidence/evidence_private.h"
#include "bytes/whole_file.h"

struct evidence_reader {
    const char *path;
    struct iso_whole_file file;
    struct iso_json json;
    const struct iso_history *history;
    struct iso_evidence *evidence;
    struct iso_error *error;
    struct iso_number_map by_tid; /* transactions */
    bool header, last_is_lemma, last_is_choice;
};

/* Reports a token that is not the expected one ... */
static bool wrong(struct evidence_reader *reader, const char *expected)
{
    return iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at, expected);
}

/* ... and what the history does not have. */
static bool missing(struct evidence_reader *reader, const char *what,
                    const struct iso_json_text *name)
{
    iso_error_set(reader->error, ISO_VIOLATED,
                  "%s: the evidence names %s %.*s, which the history does not have", reader->path,
                  what, (int)(name->length < 100 ? name->length : 100), name->at);
    return wrong(reader, "evidence about this history");
}

static void index_tids(struct evidence_reader *reader)
{
    const struct iso_history *history = reader->history;
    for (uint32_t t = 0; t < history->txns.count; t++)
        iso_number_map_add(&reader->by_tid, history->txns.tid[t], t);
}

static bool find_transaction(struct evidence_reader *reader, const struct iso_json_text *name,
                             uint32_t *transaction)
{
    iso_atom atom;
    if (!iso_atoms_find(&reader->history->atoms, name->at, name->length, &atom))
        return missing(reader, "transaction", name);
    *transaction = iso_number_map_get(&reader->by_tid, atom);
    return *transaction != ISO_NONE || missing(reader, "transaction", name);
}

static bool read_transaction(struct evidence_reader *reader, bool null, uint32_t *transaction)
{
    struct iso_json_text text;
    if (null && iso_json_peek(&reader->json) == ISO_JSON_NULL) {
        *transaction = ISO_NONE;
        return iso_json_null(&reader->json);
    }
    return iso_json_string(&reader->json, &text) && find_transaction(reader, &text, transaction);
}

static bool read_key(struct evidence_reader *reader, uint32_t *key)
{
    struct iso_json_text text;
    iso_atom atom;
    if (!iso_json_string(&reader->json, &text))
        return false;
    *key = ISO_NONE;
    if (iso_atoms_find(&reader->history->atoms, text.at, text.length, &atom))
        *key = iso_atom_index_find(reader->history->keys.index, atom);
    if (*key != ISO_NONE)
        return true;
    return missing(reader, "key", &text);
}

static bool next_element(struct evidence_reader *reader)
{
    return iso_json_element(&reader->json) || wrong(reader, "one more element");
}

static bool end_array(struct evidence_reader *reader)
{
    return !iso_json_element(&reader->json) ? reader->json.code == ISO_JSON_FINE
                                            : wrong(reader, "']'");
}

/* ["begin",tid] */
static bool read_event(struct evidence_reader *reader, uint32_t *event)
{
    struct iso_json_text text;
    uint32_t transaction;
    if (!iso_json_enter_array(&reader->json) || !next_element(reader) ||
        !iso_json_string(&reader->json, &text))
        return false;
    bool commit = iso_json_is(&text, "commit");
    if (!commit && !iso_json_is(&text, "begin"))
        return wrong(reader, "\"begin\" or \"commit\"");
    if (!next_element(reader) || !read_transaction(reader, false, &transaction))
        return false;
    *event = 2 * transaction + commit;
    return end_array(reader);
}

static bool read_event_pair(struct evidence_reader *reader, uint32_t *a, uint32_t *b)
{
    return iso_json_enter_array(&reader->json) && next_element(reader) && read_event(reader, a) &&
           next_element(reader) && read_event(reader, b) && end_array(reader);
}

static bool read_transaction_pair(struct evidence_reader *reader, uint32_t *a, uint32_t *b)
{
    return iso_json_enter_array(&reader->json) && next_element(reader) &&
           read_transaction(reader, false, a) && next_element(reader) &&
           read_transaction(reader, true, b) && end_array(reader);
}

/* ["7",3]: a transaction and a place in a list. */
static bool read_placed(struct evidence_reader *reader, uint32_t *transaction, uint32_t *place)
{
    struct iso_json_number number;
    if (!iso_json_enter_array(&reader->json) || !next_element(reader) ||
        !read_transaction(reader, false, transaction) || !next_element(reader) ||
        !iso_json_integer(&reader->json, &number))
        return false;
    if (number.negative || number.bits >= ISO_NONE)
        return wrong(reader, "a place in a list");
    *place = (uint32_t)number.bits;
    return end_array(reader);
}

static bool read_terms(struct evidence_reader *reader, struct iso_literal *literal)
{
    switch (literal->kind) {
    case ISO_LITERAL_BEFORE:
        return read_event_pair(reader, &literal->a, &literal->b);
    case ISO_LITERAL_PLACED:
    case ISO_LITERAL_NOT_PLACED:
        return read_placed(reader, &literal->a, &literal->b);
    default:
        return read_transaction_pair(reader, &literal->a, &literal->b);
    }
}

/* ["7",2]: an operation of a transaction. */
static bool read_operation(struct evidence_reader *reader, uint32_t *transaction,
                           uint32_t *operation)
{
    struct iso_json_number number;
    const struct iso_history *history = reader->history;
    if (!iso_json_enter_array(&reader->json) || !next_element(reader) ||
        !read_transaction(reader, false, transaction) || !next_element(reader) ||
        !iso_json_integer(&reader->json, &number))
        return false;
    uint32_t first = history->txns.first_op[*transaction],
             end = history->txns.first_op[*transaction + 1];
    if (number.negative || number.bits >= end - first) {
        struct iso_json_text text = {"beyond its transaction's last", 29};
        return missing(reader, "an operation", &text);
    }
    *operation = first + (uint32_t)number.bits;
    return end_array(reader);
}

/* The number of an operation in its transaction, which may be known only later: 1 + the number. */
static bool read_op(struct evidence_reader *reader, uint32_t *op)
{
    struct iso_json_number number;
    if (!iso_json_integer(&reader->json, &number))
        return false;
    if (number.negative || number.bits >= ISO_NONE - 1)
        return wrong(reader, "an operation's number");
    *op = (uint32_t)number.bits + 1;
    return true;
}

/* From the number to 1 + the operation. */
static bool find_op(struct evidence_reader *reader, uint32_t transaction, uint32_t *op)
{
    const struct iso_history *history = reader->history;
    if (!*op || transaction >= history->txns.count)
        return true;
    uint32_t first = history->txns.first_op[transaction],
             end = history->txns.first_op[transaction + 1];
    if (*op > end - first) {
        struct iso_json_text text = {"beyond its transaction's last", 29};
        return missing(reader, "an operation", &text);
    }
    *op += first;
    return true;
}

static int find_name(const char *const *names, int count, const struct iso_json_text *text)
{
    for (int i = 0; i < count; i++) {
        if (iso_json_is(text, names[i]))
            return i;
    }
    return -1;
}

/* A member is to be there once: sets the bit that says so. Others than those of the list have
 * none. */
static bool mark(struct evidence_reader *reader, const char *const *members, int count,
                 const struct iso_json_text *name, unsigned *seen)
{
    int found = find_name(members, count, name);
    unsigned member = found < 0 ? 0 : 1u << found;
    if (*seen & member)
        return wrong(reader, "no member twice");
    *seen |= member;
    return true;
}

static bool read_literal(struct evidence_reader *reader)
{
    struct iso_json_text name;
    struct iso_literal literal = {.key = ISO_NONE};
    int kind = -1;
    if (!iso_json_enter_object(&reader->json))
        return false;
    while (iso_json_member(&reader->json, &name)) {
        if (iso_json_is(&name, "key") && literal.key == ISO_NONE) {
            if (!read_key(reader, &literal.key))
                return false;
            continue;
        }
        if (iso_json_is(&name, "op") && !literal.read) {
            if (!read_op(reader, &literal.read))
                return false;
            continue;
        }
        int found = find_name(evidence_literal_names, EVIDENCE_LITERALS, &name);
        if (found < 0 || kind >= 0)
            return wrong(
                reader,
                "one of \"order\", \"reads\", \"not_reads\", \"before\", \"placed\", \"not_placed\", and "
                "\"key\", \"op\"");
        kind = found;
        literal.kind = (enum iso_literal_kind)kind;
        if (!read_terms(reader, &literal))
            return false;
    }
    bool reads = literal.kind == ISO_LITERAL_READS || literal.kind == ISO_LITERAL_NOT_READS;
    if (reader->json.code == ISO_JSON_FINE &&
        (kind < 0 || (literal.b == ISO_NONE && !reads) ||
         (literal.key == ISO_NONE) != (literal.kind == ISO_LITERAL_BEFORE) ||
         (literal.read && !reads)))
        return wrong(reader, "a whole literal");
    if (reader->json.code == ISO_JSON_FINE && !find_op(reader, literal.a, &literal.read))
        return false;
    iso_evidence_literal(reader->evidence, literal);
    return reader->json.code == ISO_JSON_FINE;
}

enum { TYPE = 1, FROM = 2, TO = 4, KEY = 8, VIA = 16, OP = 32 };

static const char *const edge_members[] = {"type", "from", "to", "key", "via", "op"};

static bool read_edge(struct evidence_reader *reader)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text name, text;
    struct iso_edge edge = {.from = ISO_NONE, .to = ISO_NONE, .key = ISO_NONE, .via = ISO_NONE};
    unsigned seen = 0;
    int kind = -1;
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        bool fine;
        if (!mark(reader, edge_members, 6, &name, &seen)) {
            fine = false;
        } else if (iso_json_is(&name, "type")) {
            fine = iso_json_string(json, &text) &&
                   (kind = find_name(evidence_edge_names, EVIDENCE_EDGES, &text)) >= 0;
            fine = fine ||
                   wrong(reader, "\"own\", \"so\", \"rt\", \"wr\", \"ww\", \"rw\" or \"before\"");
        } else if (iso_json_is(&name, "from")) {
            fine = read_event(reader, &edge.from);
        } else if (iso_json_is(&name, "to")) {
            fine = read_event(reader, &edge.to);
        } else if (iso_json_is(&name, "key")) {
            fine = read_key(reader, &edge.key);
        } else if (iso_json_is(&name, "op")) {
            fine = read_op(reader, &edge.read);
        } else {
            fine = iso_json_is(&name, "via") ? read_transaction(reader, true, &edge.via)
                                             : wrong(reader, "type, from, to, key, via or op");
        }
        if (!fine)
            return false;
    }
    unsigned expected = TYPE | FROM | TO;
    if (kind == ISO_EDGE_WR || kind == ISO_EDGE_WW || kind == ISO_EDGE_RW)
        expected |= KEY | (kind == ISO_EDGE_RW ? VIA : 0);
    if (kind == ISO_EDGE_WR || kind == ISO_EDGE_RW)
        expected |= seen & OP;
    if (json->code == ISO_JSON_FINE && (kind < 0 || seen != expected))
        return wrong(reader, "a whole edge");
    if (json->code == ISO_JSON_FINE &&
        !find_op(reader, (kind == ISO_EDGE_RW ? edge.from : edge.to) / 2, &edge.read))
        return false;
    edge.kind = (enum iso_edge_kind)(kind < 0 ? 0 : kind);
    iso_evidence_edge(reader->evidence, edge);
    return json->code == ISO_JSON_FINE;
}

static bool add_event(struct evidence_reader *reader)
{
    uint32_t event;
    if (!read_event(reader, &event))
        return false;
    iso_evidence_event(reader->evidence, event);
    return true;
}

static bool start_lemma(struct evidence_reader *reader)
{
    struct iso_json_text text;
    if (!iso_json_string(&reader->json, &text))
        return false;
    int kind = find_name(evidence_lemma_names, EVIDENCE_LEMMAS, &text);
    if (kind < 0)
        return wrong(reader, "\"cycle\", \"list\", \"propagation\" or \"versions\"");
    iso_evidence_lemma(reader->evidence, (enum iso_lemma_kind)kind, ISO_NONE);
    reader->last_is_lemma = true;
    return true;
}

static bool start_finding(struct evidence_reader *reader)
{
    struct iso_json_text text;
    if (reader->evidence->finding.kind != ISO_FINDING_NONE)
        return wrong(reader, "one finding");
    if (!iso_json_string(&reader->json, &text))
        return false;
    for (int kind = ISO_FINDING_INT; kind < ISO_FINDINGS; kind++) {
        if (iso_json_is(&text, iso_finding_name((enum iso_finding_kind)kind))) {
            reader->evidence->finding = (struct iso_finding){.kind = (enum iso_finding_kind)kind,
                                                             .transaction = ISO_NONE,
                                                             .operation = ISO_NONE,
                                                             .other = ISO_NONE};
            return true;
        }
    }
    return wrong(reader, "the name of a finding");
}

static bool read_subject(struct evidence_reader *reader)
{
    uint32_t transaction = ISO_NONE, operation = ISO_NONE;
    if (!read_operation(reader, &transaction, &operation))
        return false;
    struct iso_evidence *evidence = reader->evidence;
    if (reader->last_is_choice) {
        evidence->choices[evidence->choice_count - 1].operation = operation;
    } else if (reader->last_is_lemma) {
        evidence->lemmas[evidence->lemma_count - 1].operation = operation;
    } else {
        evidence->finding.transaction = transaction;
        evidence->finding.operation = operation;
    }
    return true;
}

/* {"saw":tid,"read":[tid,op]} */
static bool start_choice(struct evidence_reader *reader)
{
    struct iso_choice choice = {.operation = ISO_NONE, .writer = ISO_NONE};
    if (!read_transaction(reader, true, &choice.writer))
        return false;
    iso_evidence_add_choice(reader->evidence, choice);
    reader->last_is_choice = true;
    return true;
}

enum {
    ORDER = 1,
    FINDING = 2,
    LEMMA = 4,
    LITERALS = 8,
    EDGES = 16,
    READ = 32,
    OTHER = 64,
    SAW = 128
};

static const char *const body_members[] = {"order", "finding", "lemma", "literals",
                                           "edges", "read",    "other", "saw"};

/* Which members a line has: all that its kind has, and no other. */
static bool is_whole(const struct evidence_reader *reader, unsigned seen)
{
    const struct iso_evidence *evidence = reader->evidence;
    if (reader->last_is_choice)
        return seen == (SAW | READ);
    if (!reader->last_is_lemma)
        return seen == ORDER || seen == (FINDING | READ | OTHER);
    const struct iso_lemma *lemma = &evidence->lemmas[evidence->lemma_count - 1];
    static const unsigned expected[EVIDENCE_LEMMAS] = {
        LEMMA | LITERALS | EDGES, LEMMA | LITERALS | READ, LEMMA | LITERALS, LEMMA | LITERALS};
    return seen == expected[lemma->kind];
}

/* A line of the body: "order", "finding" or "lemma" comes first and says what the rest belongs
 * to. */
static bool read_body(struct evidence_reader *reader)
{
    struct iso_json_text name;
    unsigned seen = 0;
    bool begun = false;
    reader->last_is_lemma = reader->last_is_choice = false;
    if (!iso_json_enter_object(&reader->json))
        return false;
    while (iso_json_member(&reader->json, &name)) {
        bool fine;
        if (!mark(reader, body_members, 8, &name, &seen))
            fine = false;
        else if (!begun && iso_json_is(&name, "order"))
            fine = ISO_JSON_EACH(&reader->json, add_event(reader));
        else if (!begun && iso_json_is(&name, "finding"))
            fine = start_finding(reader);
        else if (!begun && iso_json_is(&name, "lemma"))
            fine = start_lemma(reader);
        else if (!begun && iso_json_is(&name, "saw"))
            fine = start_choice(reader);
        else if (reader->last_is_lemma && iso_json_is(&name, "literals"))
            fine = ISO_JSON_EACH(&reader->json, read_literal(reader));
        else if (reader->last_is_lemma && iso_json_is(&name, "edges"))
            fine = ISO_JSON_EACH(&reader->json, read_edge(reader));
        else if (begun && iso_json_is(&name, "read"))
            fine = read_subject(reader);
        else if (begun && iso_json_is(&name, "other"))
            fine = read_transaction(reader, true, &reader->evidence->finding.other);
        else
            fine = wrong(
                reader,
                "\"order\", \"saw\", \"finding\" or \"lemma\" first, and then what belongs to it");
        if (!fine)
            return false;
        begun = true;
    }
    if (reader->json.code == ISO_JSON_FINE && !is_whole(reader, seen))
        return wrong(
            reader,
            "a whole order, choice (saw, read), finding (read, other) or lemma (literals, and edges or read)");
    return reader->json.code == ISO_JSON_FINE;
}

static bool read_level(struct evidence_reader *reader)
{
    struct iso_json_text text;
    if (!iso_json_string(&reader->json, &text))
        return false;
    return iso_level_parse(text.at, text.length, &reader->evidence->level) ||
           wrong(reader, "the name of a level");
}

static const char *const header_members[] = {"isochron_evidence", "level", "drift", "verdict",
                                             "versions"};
enum { HEADER = 15 }; /* what it has to have: all but the last */

static bool read_header_member(struct evidence_reader *reader, const struct iso_json_text *name)
{
    struct iso_json_number number;
    struct iso_json_text text;
    if (iso_json_is(name, "isochron_evidence"))
        return iso_json_integer(&reader->json, &number) &&
               (number.bits == ISO_EVIDENCE_VERSION || wrong(reader, "evidence of version 1"));
    if (iso_json_is(name, "level"))
        return read_level(reader);
    if (iso_json_is(name, "drift")) {
        bool fine = iso_json_integer(&reader->json, &number);
        reader->evidence->drift = fine ? number.bits : 0;
        return fine && (!number.negative || wrong(reader, "no negative drift"));
    }
    if (iso_json_is(name, "versions")) {
        bool fine = iso_json_string(&reader->json, &text);
        reader->evidence->versions_by_commit = fine;
        return fine && (iso_json_is(&text, "commits") || wrong(reader, "\"commits\""));
    }
    if (!iso_json_is(name, "verdict"))
        return wrong(reader, "isochron_evidence, level, drift, versions or verdict");
    if (!iso_json_string(&reader->json, &text))
        return false;
    reader->evidence->accepts = iso_json_is(&text, "holds");
    return reader->evidence->accepts || iso_json_is(&text, "violated") ||
           wrong(reader, "\"holds\" or \"violated\"");
}

static bool read_header(struct evidence_reader *reader)
{
    struct iso_json_text name;
    unsigned seen = 0;
    if (!iso_json_enter_object(&reader->json))
        return false;
    while (iso_json_member(&reader->json, &name)) {
        if (!mark(reader, header_members, 5, &name, &seen) || !read_header_member(reader, &name))
            return false;
    }
    reader->header = true;
    if (reader->json.code == ISO_JSON_FINE && (seen & HEADER) != HEADER)
        return wrong(reader, "a header with isochron_evidence, level, drift and verdict");
    return reader->json.code == ISO_JSON_FINE;
}

static enum iso_status read_lines(struct evidence_reader *reader)
{
    struct iso_json *json = &reader->json;
    iso_json_start(json, reader->file.bytes, reader->file.length);
    while (iso_json_space(json)) {
        if (!(reader->header ? read_body(reader) : read_header(reader))) {
            if (reader->error->status != ISO_OK)
                return reader->error->status;
            return iso_whole_file_json_fail(reader->path, &reader->file, json, reader->error);
        }
    }
    if (!reader->header)
        return iso_error_set(reader->error, ISO_BAD_INPUT, "%s: empty, expected evidence",
                             reader->path);
    return ISO_OK;
}

enum iso_status iso_evidence_read(const char *path, const struct iso_history *history,
                                  struct iso_evidence *evidence, struct iso_error *error)
{
    struct evidence_reader reader = {
        .path = path, .history = history, .evidence = evidence, .error = error};
    enum iso_status status = iso_whole_file_read(&reader.file, path, error);
    if (status != ISO_OK)
        return status;
    index_tids(&reader);
    iso_json_init(&reader.json);
    status = read_lines(&reader);
    /* A broken file that begins as evidence confirms nothing. */
    if (status == ISO_BAD_INPUT &&
        memmem(reader.file.bytes, reader.file.length, "\"isochron_evidence\"", 19))
        status = error->status = ISO_VIOLATED;
    iso_json_release(&reader.json);
    iso_number_map_release(&reader.by_tid);
    iso_whole_file_release(&reader.file);
    return status;
}
