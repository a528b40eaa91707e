#include "connectors/dgraph/dgraph.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/archive.h"
#include "base/memory.h"
#include "base/text.h"
#include "connectors/dgraph/message.h"
#include "connectors/dgraph/schema.h"
#include "base/payload.h"

enum { PAYLOAD_MAX = 64 << 20, NAMESPACE_BYTES = 8 };

struct dgraph_decoder {
    struct iso_decoder decoder;
    struct iso_json json;
    struct iso_payload payload;
    struct schema schema;
    struct iso_atoms unjudged; /* predicates, as identities name them, that have shown that they
                                  cannot be judged */
    struct iso_text text;      /* a key, or a value, that is put together */
    char *tables;
    bool unreported; /* the option */
    char *marker;    /* the predicate whose values are clients' ids of transactions, or NULL */
};

/* ---- names ---- */

static void put_hexadecimal(struct iso_text *text, uint64_t number)
{
    char digits[19];
    char *at = digits + sizeof digits;
    do {
        *--at = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number);
    *--at = 'x';
    *--at = '0';
    iso_text_put_bytes(text, at, (size_t)(digits + sizeof digits - at));
}

/* The predicate as identities name it, in `text`: "name", in a namespace other than 0 "5.name". */
static void put_predicate(struct iso_text *text, uint64_t namespace, struct iso_json_text predicate)
{
    text->used = 0;
    if (namespace) {
        iso_text_put_unsigned(text, namespace);
        iso_text_put_bytes(text, ".", 1);
    }
    iso_text_put_escaped(text, predicate.at, predicate.length, "%/,");
}

/* The namespace of a message: its key, 8 bytes, high ones first, or the member that one version
 * had. */
static enum iso_status find_namespace(const struct iso_message *message, struct change *change,
                                      struct iso_error *error)
{
    if (message->key.data && message->key.size != NAMESPACE_BYTES)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "the message's key: %u bytes, expected the 8 of a namespace",
                             message->key.size);
    if (change->seen & NAMESPACE || !message->key.data)
        return ISO_OK;
    for (unsigned i = 0; i < NAMESPACE_BYTES; i++)
        change->namespace = change->namespace << 8 | message->key.data[i];
    return ISO_OK;
}

/* ---- values ---- */

enum conversion {
    AS_INTEGER,
    AS_NUMBER,
    AS_BOOLEAN,
    AS_TEXT,
    AS_JSON,
    AS_EDGE,
    HIDDEN /* the stream says "****" of every password, and {} of every bigfloat */
};

static const struct value_type {
    const char *name;
    enum conversion conversion;
    const char *expected;
} value_types[] = {
    {"int", AS_INTEGER, "an integer"},
    {"string", AS_TEXT, "a string"},
    {"default", AS_TEXT, "a string"},
    {"float", AS_NUMBER, "a number"},
    {"bool", AS_BOOLEAN, "true or false"},
    {"datetime", AS_TEXT, "a string"},
    {"uid", AS_EDGE, "an unsigned integer"},
    {"binary", AS_TEXT, "a string"},
    {"geo", AS_JSON, "an object"},
    {"float32vector", AS_JSON, "an array"},
    {"password", HIDDEN, ""},
    {"bigfloat", HIDDEN, ""},
};

static const struct value_type *find_value_type(struct iso_json_text name)
{
    for (size_t i = 0; i < sizeof value_types / sizeof *value_types; i++)
        if (iso_payload_is(name, value_types[i].name, strlen(value_types[i].name)))
            return &value_types[i];
    return NULL;
}

static bool is_unsigned(const struct iso_atoms *atoms, iso_atom atom)
{
    return !(atom & ISO_ATOM_TABLE) ||
           atoms->entries[atom & ~ISO_ATOM_TABLE].form == ISO_FORM_UNSIGNED;
}

/* Integers beyond 64 bits are known by their atom: only canonical integers have no text. */
static bool take_value(struct dgraph_decoder *dgraph, struct iso_atoms *atoms,
                       enum conversion conversion, const struct value *value, iso_atom *atom)
{
    struct iso_json_text text = value->text;
    if (value->is_short && (conversion == AS_INTEGER || conversion == AS_NUMBER)) {
        *atom = iso_atoms_unsigned(atoms, value->number);
        return true;
    }
    switch (conversion) {
    case AS_INTEGER:
        *atom = iso_atoms_text(atoms, text.at, text.length);
        return value->type == ISO_JSON_DIGITS && !iso_atom_is_string(atoms, *atom);
    case AS_NUMBER:
        *atom = iso_atoms_text(atoms, text.at, text.length);
        return value->type == ISO_JSON_DIGITS;
    case AS_BOOLEAN:
        *atom = iso_atoms_text(atoms, text.at, text.length);
        return value->type == ISO_JSON_TRUE || value->type == ISO_JSON_FALSE;
    case AS_TEXT:
        *atom = iso_atoms_text(atoms, text.at, text.length);
        return value->type == ISO_JSON_STRING;
    case AS_JSON:
        dgraph->text.used = 0;
        iso_text_put_compact(&dgraph->text, text.at, text.length);
        *atom = iso_atoms_text(atoms, dgraph->text.bytes, dgraph->text.used);
        return value->type == ISO_JSON_OBJECT || value->type == ISO_JSON_ARRAY;
    case AS_EDGE:
        *atom = iso_atoms_text(atoms, text.at, text.length);
        if (value->type != ISO_JSON_DIGITS || !is_unsigned(atoms, *atom))
            return false;
        dgraph->text.used = 0;
        put_hexadecimal(&dgraph->text, *atom & ISO_ATOM_TABLE
                                           ? atoms->entries[*atom & ~ISO_ATOM_TABLE].payload
                                           : *atom);
        *atom = iso_atoms_text(atoms, dgraph->text.bytes, dgraph->text.used);
        return true;
    case HIDDEN:
        break;
    }
    return false;
}

/* ---- events ---- */

static struct iso_event new_event(enum iso_event_type type, const struct iso_message *message,
                                  const struct change *change)
{
    struct iso_event event = iso_event_of(message, type);
    event.flags = ISO_EVENT_HAS_CTS;
    event.cts.physical = change->commit_ts;
    return event;
}

static void ignore(struct iso_events *events, const struct iso_message *message,
                   const struct change *change, const char *reason)
{
    struct iso_event event = new_event(ISO_EVENT_IGNORED, message, change);
    event.reason = reason;
    event.flags = change->commit_ts ? ISO_EVENT_HAS_CTS : 0;
    iso_events_add(events, &event);
}

static enum iso_status missing(const struct change *change, uint32_t need, struct iso_error *error)
{
    static const struct {
        enum member member;
        const char *name;
    } names[] = {{OPERATION, "operation"},   {UID, "uid"},  {ATTR, "attr"}, {VALUE, "value"},
                 {VALUE_TYPE, "value_type"}, {PRED, "pred"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (need & ~change->seen & names[i].member)
            return iso_error_set(error, ISO_BAD_INPUT, "event lacks its member \"%s\"",
                                 names[i].name);
    return ISO_OK;
}

static enum iso_status refuse_text(struct iso_error *error, const char *member,
                                   struct iso_json_text text, const char *expected)
{
    int shown = text.length < 100 ? (int)text.length : 100;
    return iso_error_set(error, ISO_BAD_INPUT, "%s \"%.*s\": expected %s", member, shown, text.at,
                         expected);
}

/* Why the predicate cannot be judged, or NULL: the stream does not say to which of several values a
 * set adds, or what a delete leaves. */
static const char *why_unjudged(const struct dgraph_decoder *dgraph, struct iso_json_text predicate,
                                bool edge)
{
    enum cardinality cardinality =
        dgraph->schema.given
            ? dgraph_schema_cardinality(&dgraph->schema, predicate.at, predicate.length)
            : SCHEMA_NOT_NAMED;
    if (cardinality == SCHEMA_SEVERAL)
        return "a predicate of several values, or one a language";
    return edge && cardinality == SCHEMA_NOT_NAMED
               ? "an edge without a schema that says whether there is one or several"
               : NULL;
}

/* True: the stream does not say which value was written: null where Dgraph could not convert it,
 * {} of a shape, whose members its encoder does not see. */
static bool is_hidden(enum conversion conversion, const struct value *value)
{
    bool is_empty = value->type == ISO_JSON_OBJECT && value->text.length == 2;
    return conversion == HIDDEN || value->type == ISO_JSON_NULL ||
           (conversion == AS_JSON && is_empty);
}

/* From here on nothing covers the predicate. */
static void add_unjudged(struct dgraph_decoder *dgraph, const struct iso_message *message,
                         const struct change *change, const char *reason, struct iso_events *events)
{
    put_predicate(&dgraph->text, change->namespace, change->attr);
    iso_atoms_add_string(&dgraph->unjudged, dgraph->text.bytes, dgraph->text.used);
    ignore(events, message, change, reason);
    events->list[events->count - 1].table =
        iso_atoms_add_string(&events->block.atoms, dgraph->text.bytes, dgraph->text.used);
}

/* A set (`writes`), or a delete of one value or all. */
static enum iso_status add_mutation(struct dgraph_decoder *dgraph,
                                    const struct iso_message *message, const struct change *change,
                                    bool writes, struct iso_events *events, struct iso_error *error)
{
    struct iso_atoms *atoms = &events->block.atoms;
    const struct value_type *type = find_value_type(change->value_type);
    bool star = !writes && change->value.type == ISO_JSON_STRING &&
                ISO_PAYLOAD_IS(change->value.text, "_STAR_ALL");
    struct iso_event event;
    iso_atom value = ISO_ABSENT;
    if (!type)
        return refuse_text(error, "event.value_type", change->value_type, "a type of Dgraph's");
    const char *reason = why_unjudged(dgraph, change->attr, type->conversion == AS_EDGE);
    if (reason) {
        add_unjudged(dgraph, message, change, reason, events);
        return ISO_OK;
    }
    bool hidden = !star && is_hidden(type->conversion, &change->value);
    if (!star && !hidden && !take_value(dgraph, atoms, type->conversion, &change->value, &value))
        return refuse_text(error, "event.value of type", change->value_type, type->expected);
    put_predicate(&dgraph->text, change->namespace, change->attr);
    event =
        new_event(writes || star || hidden ? ISO_EVENT_ROW : ISO_EVENT_DELETE_IF, message, change);
    event.table = iso_atoms_text(atoms, dgraph->text.bytes, dgraph->text.used);
    iso_text_put_bytes(&dgraph->text, "/", 1);
    put_hexadecimal(&dgraph->text, change->uid);
    event.key = iso_atoms_add_string(atoms, dgraph->text.bytes, dgraph->text.used);
    if (event.type == ISO_EVENT_ROW) {
        event.operation = star ? ISO_ROW_DELETE : ISO_ROW_UPDATE;
        event.flags |= hidden ? 0 : ISO_EVENT_HAS_AFTER;
        event.after = value;
    } else {
        event.before = value;
    }
    iso_events_add(events, &event);
    return ISO_OK;
}

/* Whether the predicate is to be looked at; if not, that is its event. */
static bool wanted(struct dgraph_decoder *dgraph, const struct iso_message *message,
                   const struct change *change, struct iso_json_text predicate,
                   struct iso_events *events)
{
    if (!dgraph->tables)
        return true;
    put_predicate(&dgraph->text, change->namespace, predicate);
    if (iso_table_listed(dgraph->tables, dgraph->text.bytes, dgraph->text.used))
        return true;
    ignore(events, message, change, "a predicate that is not in tables=");
    return false;
}

static bool is_marker(struct dgraph_decoder *dgraph, const struct change *change)
{
    if (!dgraph->marker)
        return false;
    put_predicate(&dgraph->text, change->namespace, change->attr);
    return strlen(dgraph->marker) == dgraph->text.used &&
           !memcmp(dgraph->marker, dgraph->text.bytes, dgraph->text.used);
}

/* Whose transaction it is; nothing else counts of it. */
static enum iso_status add_marker(struct dgraph_decoder *dgraph, const struct iso_message *message,
                                  const struct change *change, bool writes,
                                  struct iso_events *events, struct iso_error *error)
{
    const struct value_type *type = find_value_type(change->value_type);
    struct iso_event event = new_event(ISO_EVENT_IGNORED, message, change);
    event.reason = "a value that says whose transaction it is";
    if (writes && (!type || (type->conversion != AS_TEXT && type->conversion != AS_INTEGER) ||
                   !take_value(dgraph, &events->block.atoms, type->conversion, &change->value,
                               &event.marker)))
        return refuse_text(error, "event.value of the marker", change->value.text,
                           "a string or an integer");
    event.flags |= writes ? ISO_EVENT_HAS_MARKER : 0;
    iso_events_add(events, &event);
    return ISO_OK;
}

static enum iso_status decode_mutation(struct dgraph_decoder *dgraph,
                                       const struct iso_message *message,
                                       const struct change *change, struct iso_events *events,
                                       struct iso_error *error)
{
    if (missing(change, OPERATION | UID | ATTR | VALUE | VALUE_TYPE, error) != ISO_OK)
        return error->status;
    if (!change->uid || !change->attr.length)
        return iso_error_set(error, ISO_BAD_INPUT, "event: expected a uid above 0 and an attr");
    bool deletes = ISO_PAYLOAD_IS(change->operation, "del");
    if (!deletes && !ISO_PAYLOAD_IS(change->operation, "set") &&
        !ISO_PAYLOAD_IS(change->operation, "ovr"))
        return refuse_text(error, "event.operation", change->operation, "set, del or ovr");
    if (is_marker(dgraph, change))
        return add_marker(dgraph, message, change, !deletes, events, error);
    if (!wanted(dgraph, message, change, change->attr, events))
        return ISO_OK;
    return add_mutation(dgraph, message, change, !deletes, events, error);
}

static enum iso_status decode_drop(struct dgraph_decoder *dgraph, const struct iso_message *message,
                                   const struct change *change, struct iso_events *events,
                                   struct iso_error *error)
{
    struct iso_event event = new_event(ISO_EVENT_DROP, message, change);
    bool of_data = ISO_PAYLOAD_IS(change->operation, "data"),
         of_one = ISO_PAYLOAD_IS(change->operation, "predicate");
    if (missing(change, OPERATION, error) != ISO_OK)
        return error->status;
    if (ISO_PAYLOAD_IS(change->operation, "type")) {
        ignore(events, message, change, "a drop of a type, which holds no data");
        return ISO_OK;
    }
    if (!of_data && !of_one && !ISO_PAYLOAD_IS(change->operation, "all"))
        return refuse_text(error, "event.operation of a drop", change->operation,
                           "all, data, type or predicate");
    if (of_one && !change->pred.length)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "a drop of a predicate: expected its name in event.pred");
    if (of_one) {
        if (!wanted(dgraph, message, change, change->pred, events))
            return ISO_OK;
        put_predicate(&dgraph->text, change->namespace, change->pred);
    } else if (of_data) { /* the namespace's predicates begin so, but for those of 0 */
        dgraph->text.used = 0;
        iso_text_put_unsigned(&dgraph->text, change->namespace);
        iso_text_put(&dgraph->text, ".");
    }
    if (of_one || of_data)
        event.table = iso_atoms_text(&events->block.atoms, dgraph->text.bytes, dgraph->text.used);
    iso_events_add(events, &event);
    return ISO_OK;
}

/* ---- the class ---- */

static void destroy(struct iso_decoder *decoder)
{
    struct dgraph_decoder *dgraph = (struct dgraph_decoder *)decoder;
    if (!dgraph)
        return;
    iso_json_release(&dgraph->json);
    iso_payload_release(&dgraph->payload);
    iso_text_release(&dgraph->text);
    dgraph_schema_release(&dgraph->schema);
    iso_atoms_release(&dgraph->unjudged);
    iso_free(dgraph->tables);
    iso_free(dgraph->marker);
    iso_free(dgraph);
}

static enum iso_status check_options(const struct iso_decoder_options *options,
                                     struct iso_error *error)
{
    if (options->format && strcmp(options->format, "json"))
        return iso_error_set(error, ISO_BAD_INPUT, "format=%s of a dgraph source: expected json",
                             options->format);
    if (options->framed || options->registry)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "a dgraph source with framing or a registry: expected plain JSON");
    if (options->value)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "value=%s of a dgraph source: expected none, a predicate is its "
                             "own value",
                             options->value);
    if (options->compression && strcmp(options->compression, "none"))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "compression=%s of a dgraph source: expected none",
                             options->compression);
    return ISO_OK;
}

static struct iso_decoder *create(const struct iso_decoder_options *options,
                                  struct iso_error *error)
{
    if (check_options(options, error) != ISO_OK)
        return NULL;
    struct dgraph_decoder *dgraph = iso_allocate_zeroed(1, sizeof *dgraph);
    dgraph->decoder.class = &iso_dgraph_decoder;
    dgraph->decoder.only_signed = true;
    dgraph->tables =
        options->tables ? iso_copy_text(options->tables, strlen(options->tables)) : NULL;
    dgraph->marker =
        options->marker ? iso_copy_text(options->marker, strlen(options->marker)) : NULL;
    dgraph->unreported = options->unreported;
    iso_json_init(&dgraph->json);
    iso_atoms_init(&dgraph->unjudged);
    if (dgraph_schema_read(&dgraph->schema, options->schema, error) == ISO_OK)
        return &dgraph->decoder;
    destroy(&dgraph->decoder);
    return NULL;
}

static enum iso_status decode_message(struct dgraph_decoder *dgraph,
                                      const struct iso_message *message, struct iso_events *events,
                                      struct iso_error *error)
{
    struct change change = {0};
    if (!message->payload.data) {
        ignore(events, message, &change, "tombstone");
        return ISO_OK;
    }
    if (message->payload.size > PAYLOAD_MAX)
        return iso_error_set(error, ISO_BAD_INPUT, "a payload of %u bytes, expected at most %d",
                             message->payload.size, PAYLOAD_MAX);
    const char *text =
        iso_payload_copy(&dgraph->payload, message->payload.data, message->payload.size);
    iso_json_start(&dgraph->json, text, message->payload.size);
    if (!dgraph_read(&dgraph->json, &change))
        return iso_payload_fault(&dgraph->json, error);
    if (!(change.seen & TYPE) || !(change.seen & EVENT) || !change.commit_ts)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "expected the members meta with a commit_ts above 0, type and event");
    if (find_namespace(message, &change, error) != ISO_OK)
        return error->status;
    if (ISO_PAYLOAD_IS(change.type, "mutation"))
        return decode_mutation(dgraph, message, &change, events, error);
    if (ISO_PAYLOAD_IS(change.type, "drop"))
        return decode_drop(dgraph, message, &change, events, error);
    return refuse_text(error, "type", change.type, "mutation or drop");
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message,
                              struct iso_events *events, struct iso_error *error)
{
    struct dgraph_decoder *dgraph = (struct dgraph_decoder *)decoder;
    uint32_t first = events->count;
    if (decode_message(dgraph, message, events, error) == ISO_OK && dgraph->unreported)
        iso_events_unreported(events, first);
    return error->status;
}

/* Which predicates cannot be judged, as length and text each. */
static void archive(struct iso_decoder *decoder, struct iso_archive *archive)
{
    struct dgraph_decoder *dgraph = (struct dgraph_decoder *)decoder;
    struct iso_text names = {0};
    for (uint32_t i = 0; i < dgraph->unjudged.count && !archive->restoring; i++) {
        char buffer[ISO_ATOM_TEXT_MAX];
        size_t length = 0;
        const char *text = iso_atom_text(&dgraph->unjudged, ISO_ATOM_TABLE | i, buffer, &length);
        uint32_t size = (uint32_t)length;
        iso_text_put_bytes(&names, &size, sizeof size);
        iso_text_put_bytes(&names, text, length);
    }
    ISO_ARCHIVE_ANY(archive, "unjudged predicates", ISO_ARCHIVE_HEAP, names.bytes, names.used,
                    names.capacity);
    for (size_t at = 0;
         archive->restoring && archive->error->status == ISO_OK && at < names.used;) {
        uint32_t size = 0;
        bool whole = names.used - at >= sizeof size;
        if (whole) {
            memcpy(&size, names.bytes + at, sizeof size);
            whole = size <= names.used - at - sizeof size;
        }
        iso_archive_expect(archive, whole);
        if (whole)
            iso_atoms_add_string(&dgraph->unjudged, names.bytes + at + sizeof size, size);
        at += sizeof size + size;
    }
    iso_text_release(&names);
}

/* The predicate that identities name so: without escapes, and in `text` until the next. */
static struct iso_json_text predicate_of(struct iso_text *text, const char *name, size_t length)
{
    text->used = 0;
    iso_text_reserve(text, length + 1);
    for (size_t i = 0; i < length; i++) {
        bool escaped = name[i] == '%' && i + 2 < length;
        char byte = !escaped ? name[i] : name[i + 2] == '5' ? '%' : name[i + 2] == 'F' ? '/' : ',';
        iso_text_put_bytes(text, &byte, 1);
        i += escaped ? 2 : 0;
    }
    return (struct iso_json_text){text->bytes, text->used};
}

/* Dgraph's own predicates (dgraph.type) are never sent, nor are the reverse edges that it keeps of
 * others (~friend). */
static bool is_sent(struct iso_json_text predicate)
{
    return !(predicate.length && *predicate.at == '~') &&
           !(predicate.length >= 7 && !strncasecmp(predicate.at, "dgraph.", 7));
}

static bool may_be_judged_as(const struct dgraph_decoder *dgraph, struct iso_json_text predicate)
{
    return is_sent(predicate) && !why_unjudged(dgraph, predicate, false);
}

/* By the schema, with and without the namespace in front. */
static bool may_be_judged(const struct dgraph_decoder *dgraph, const char *name, size_t length)
{
    struct iso_text text = {0};
    struct iso_json_text predicate = predicate_of(&text, name, length);
    size_t digits = 0;
    while (digits < predicate.length && predicate.at[digits] >= '0' && predicate.at[digits] <= '9')
        digits++;
    bool judged = may_be_judged_as(dgraph, predicate);
    if (judged && digits && digits + 1 < predicate.length && predicate.at[digits] == '.') {
        predicate.at += digits + 1;
        predicate.length -= digits + 1;
        judged = may_be_judged_as(dgraph, predicate);
    }
    iso_text_release(&text);
    return judged;
}

static bool covers(const struct iso_decoder *decoder, const char *topic, const char *table,
                   size_t length)
{
    const struct dgraph_decoder *dgraph = (const struct dgraph_decoder *)decoder;
    iso_atom atom;
    (void)topic;
    bool marks = dgraph->marker && strlen(dgraph->marker) == length &&
                 !memcmp(dgraph->marker, table, length);
    return !marks && iso_table_listed(dgraph->tables, table, length) &&
           !(iso_atoms_find(&dgraph->unjudged, table, length, &atom) && (atom & ISO_ATOM_TABLE)) &&
           may_be_judged(dgraph, table, length);
}

const struct iso_decoder_class iso_dgraph_decoder = {.kind = "dgraph",
                                                     .create = create,
                                                     .decode = decode,
                                                     .destroy = destroy,
                                                     .archive = archive,
                                                     .covers = covers};
