#include "connectors/envelope/proto_schema.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { TYPE_BYTES = 512, NUMBER_MAX = 536870911 };

/* A token at a time; `at` is behind it. */
struct parser {
    const char *at, *end;
    const char *token;
    size_t length; /* 0: the end */
    struct proto_schema *schema;
    char package[TYPE_BYTES];
    struct iso_error *error;
    int depth;
};

static bool wrong(struct parser *parser, const char *expected)
{
    iso_error_set(parser->error, ISO_BAD_INPUT,
                  "not a Protobuf schema: found \"%.*s\", expected %s",
                  (int)(parser->length < 64 ? parser->length : 64), parser->token, expected);
    parser->at = parser->end;
    parser->length = 0;
    return false;
}

static void skip_space(struct parser *parser)
{
    while (parser->at < parser->end) {
        if (isspace((unsigned char)*parser->at)) {
            parser->at++;
        } else if (parser->end - parser->at > 1 && parser->at[0] == '/' && parser->at[1] == '/') {
            while (parser->at < parser->end && *parser->at != '\n')
                parser->at++;
        } else if (parser->end - parser->at > 1 && parser->at[0] == '/' && parser->at[1] == '*') {
            for (parser->at += 2; parser->at < parser->end; parser->at++)
                if (parser->at[0] == '*' && parser->end - parser->at > 1 && parser->at[1] == '/')
                    break;
            parser->at = parser->end - parser->at > 2 ? parser->at + 2 : parser->end;
        } else {
            return;
        }
    }
}

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '.' || byte == '-' || byte == '+';
}

static void next_token(struct parser *parser)
{
    skip_space(parser);
    parser->token = parser->at;
    if (parser->at < parser->end && (*parser->at == '"' || *parser->at == '\'')) {
        char quote = *parser->at++;
        while (parser->at < parser->end && *parser->at != quote)
            parser->at += *parser->at == '\\' && parser->end - parser->at > 1 ? 2 : 1;
        parser->at = parser->at < parser->end ? parser->at + 1 : parser->end;
    } else if (parser->at < parser->end && is_word(*parser->at)) {
        while (parser->at < parser->end && is_word(*parser->at))
            parser->at++;
    } else if (parser->at < parser->end) {
        parser->at++;
    }
    parser->length = (size_t)(parser->at - parser->token);
}

static bool is(const struct parser *parser, const char *word)
{
    return parser->length == strlen(word) && !memcmp(parser->token, word, parser->length);
}

static bool expect(struct parser *parser, const char *word)
{
    if (!is(parser, word))
        return wrong(parser, word);
    next_token(parser);
    return true;
}

/* Passes over everything up to the ';' that ends a statement, and what stands in brackets on the
 * way. */
static bool skip_statement(struct parser *parser)
{
    int open = 0;
    while (parser->length && !(is(parser, ";") && !open)) {
        open += is(parser, "{") || is(parser, "[");
        open -= is(parser, "}") || is(parser, "]");
        bool block = is(parser, "}") && !open;
        next_token(parser);
        if (block)
            return true;
    }
    return expect(parser, ";");
}

/* ---- fields ---- */

static bool scalar(const struct parser *parser, uint8_t *kind)
{
    static const char *const names[] = {"double",   "float",    "int32",  "int64",   "uint32",
                                        "uint64",   "sint32",   "sint64", "fixed32", "fixed64",
                                        "sfixed32", "sfixed64", "bool",   "string",  "bytes"};
    for (uint8_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(parser, names[i])) {
            *kind = i;
            return true;
        }
    return false;
}

static struct proto_field *add_field(struct proto_schema *schema)
{
    ISO_GROW(schema->fields, schema->field_count, schema->field_capacity);
    struct proto_field *field = &schema->fields[schema->field_count++];
    *field = (struct proto_field){.name = NULL};
    return field;
}

static void take_type(struct parser *parser, struct proto_field *field)
{
    if (!scalar(parser, &field->kind)) {
        field->kind = PROTO_MESSAGE;
        field->type = iso_copy_text(parser->token, parser->length);
    }
    next_token(parser);
}

/* [optional|repeated] TYPE NAME = NUMBER [options]; */
static bool take_field(struct parser *parser, struct proto_field *field, bool in_oneof)
{
    bool optional = is(parser, "optional");
    field->is_repeated = is(parser, "repeated");
    if (optional || field->is_repeated)
        next_token(parser);
    if (is(parser, "map")) {
        while (parser->length && !is(parser, ">"))
            next_token(parser);
        next_token(parser);
        field->is_map = field->is_repeated = true;
        field->kind = PROTO_BYTES;
    } else {
        take_type(parser, field);
    }
    if (!parser->length || !is_word(*parser->token))
        return wrong(parser, "a field's name");
    field->name = iso_copy_text(parser->token, parser->length);
    field->length = (uint32_t)parser->length;
    next_token(parser);
    if (!expect(parser, "="))
        return false;
    long number = parser->length && parser->length < 10 ? strtol(parser->token, NULL, 10) : 0;
    if (number < 1 || number > NUMBER_MAX)
        return wrong(parser, "a field's number");
    field->number = (uint32_t)number;
    field->has_presence =
        optional || in_oneof || field->is_repeated || field->kind == PROTO_MESSAGE;
    for (int scope = 0; scope < PROTO_SCOPES; scope++)
        field->member[scope] =
            (uint8_t)iso_member_find((enum iso_member_scope)scope, field->name, field->length);
    return skip_statement(parser);
}

/* ---- messages ---- */

/* Fields of one message stand together, so they wait here until nested messages are done with. */
struct pending {
    struct proto_field *list;
    uint32_t count, capacity;
};

static struct proto_field *add_pending(struct pending *pending)
{
    ISO_GROW(pending->list, pending->count, pending->capacity);
    struct proto_field *field = &pending->list[pending->count++];
    *field = (struct proto_field){.name = NULL};
    return field;
}

static uint32_t add_message(struct proto_schema *schema, const char *name)
{
    ISO_GROW(schema->messages, schema->message_count, schema->message_capacity);
    schema->messages[schema->message_count] =
        (struct proto_message){.name = iso_copy_text(name, strlen(name))};
    iso_names_add(&schema->names, schema->messages[schema->message_count].name,
                  schema->message_count);
    return schema->message_count++;
}

static bool take_message(struct parser *parser, const char *outer);

/* Its name is a type, and its values are numbers. */
static bool take_enumeration(struct parser *parser, const char *outer)
{
    char name[TYPE_BYTES];
    next_token(parser);
    int length = snprintf(name, sizeof name, "%s%s%.*s", outer, *outer ? "." : "",
                          (int)parser->length, parser->token);
    if (length >= TYPE_BYTES)
        return wrong(parser, "a shorter name");
    uint32_t number = add_message(parser->schema, name);
    parser->schema->messages[number].meaning = PROTO_ENUMERATION;
    return skip_statement(parser);
}

static bool take_element(struct parser *parser, const char *name, struct pending *pending)
{
    if (is(parser, "message"))
        return take_message(parser, name);
    if (is(parser, "enum"))
        return take_enumeration(parser, name);
    if (is(parser, "option") || is(parser, "reserved") || is(parser, "extensions"))
        return skip_statement(parser);
    if (is(parser, ";")) {
        next_token(parser);
        return true;
    }
    if (!is(parser, "oneof"))
        return take_field(parser, add_pending(pending), false);
    next_token(parser);
    next_token(parser);
    if (!expect(parser, "{"))
        return false;
    while (parser->length && !is(parser, "}"))
        if (is(parser, "option") ? !skip_statement(parser)
                                 : !take_field(parser, add_pending(pending), true))
            return false;
    return expect(parser, "}");
}

static bool has_field(const struct proto_schema *schema, const struct proto_message *message,
                      const char *name)
{
    for (uint32_t i = 0; i < message->count; i++)
        if (!strcmp(schema->fields[message->first + i].name, name))
            return true;
    return false;
}

static uint64_t identity_of(const struct proto_message *message, uint32_t number)
{
    return (uint64_t)message->first << 32 | number;
}

uint32_t proto_field_find(const struct proto_schema *schema, const struct proto_message *message,
                          uint32_t number)
{
    uint32_t index = iso_number_map_get(&schema->numbers, identity_of(message, number));
    return index == ISO_NUMBER_NONE ? message->count : index;
}

/* The fields get their owner, also those of a message that is none. */
static void close_message(struct proto_schema *schema, uint32_t number,
                          const struct pending *pending)
{
    struct proto_message *message = &schema->messages[number];
    message->first = schema->field_count;
    message->count = pending->count;
    for (uint32_t i = 0; i < pending->count; i++) {
        *add_field(schema) = pending->list[i];
        iso_number_map_put(&schema->numbers, identity_of(message, pending->list[i].number), i);
    }
}

static void give_meaning(const struct proto_schema *schema, struct proto_message *message)
{
    const char *dot = strrchr(message->name, '.');
    const char *own = dot ? dot + 1 : message->name;
    if (message->count == 2 && has_field(schema, message, "scale") &&
        has_field(schema, message, "value") && !strncmp(own, "VariableScaleDecimal", 20))
        message->meaning = PROTO_VARIABLE_DECIMAL;
    else if (message->count == 2 && has_field(schema, message, "value") &&
             has_field(schema, message, "set"))
        message->meaning = PROTO_CELL;
}

static bool take_message(struct parser *parser, const char *outer)
{
    struct pending pending = {0};
    char name[TYPE_BYTES];
    next_token(parser);
    int length = snprintf(name, sizeof name, "%s%s%.*s", outer, *outer ? "." : "",
                          (int)parser->length, parser->token);
    if (length >= TYPE_BYTES || ++parser->depth == PROTO_DEPTH_MAX)
        return wrong(parser, "a shorter name, and fewer levels");
    next_token(parser);
    uint32_t number = add_message(parser->schema, name);
    bool fine = expect(parser, "{");
    while (fine && parser->length && !is(parser, "}"))
        fine = take_element(parser, name, &pending);
    fine = fine && expect(parser, "}");
    close_message(parser->schema, number, &pending);
    if (fine)
        give_meaning(parser->schema, &parser->schema->messages[number]);
    iso_free(pending.list);
    parser->depth--;
    return fine;
}

/* ---- types ---- */

/* A type of another file that is known by its name: decimals and the wrappers. */
static int64_t well_known(struct proto_schema *schema, const char *name)
{
    static const struct {
        const char *name;
        uint8_t meaning, wrapped;
    } known[] = {
        {"confluent.type.Decimal", PROTO_DECIMAL, 0},
        {"google.protobuf.DoubleValue", PROTO_WRAPPER, PROTO_DOUBLE},
        {"google.protobuf.FloatValue", PROTO_WRAPPER, PROTO_FLOAT},
        {"google.protobuf.Int64Value", PROTO_WRAPPER, PROTO_INT64},
        {"google.protobuf.UInt64Value", PROTO_WRAPPER, PROTO_UINT64},
        {"google.protobuf.Int32Value", PROTO_WRAPPER, PROTO_INT32},
        {"google.protobuf.UInt32Value", PROTO_WRAPPER, PROTO_UINT32},
        {"google.protobuf.BoolValue", PROTO_WRAPPER, PROTO_BOOL},
        {"google.protobuf.StringValue", PROTO_WRAPPER, PROTO_STRING},
        {"google.protobuf.BytesValue", PROTO_WRAPPER, PROTO_BYTES},
    };
    name += *name == '.';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name))
            continue;
        int64_t found = iso_names_find(&schema->names, name);
        uint32_t number = found < 0 ? add_message(schema, name) : (uint32_t)found;
        schema->messages[number].meaning = known[i].meaning;
        schema->messages[number].wrapped = known[i].wrapped;
        return number;
    }
    return -1;
}

/* From the inside out: in Envelope.Value "X" is Envelope.Value.X, Envelope.X, or X. */
static int64_t resolve_name(struct proto_schema *schema, const char *package, const char *scope,
                            const char *type)
{
    char name[2 * TYPE_BYTES], outer[TYPE_BYTES];
    int64_t found = well_known(schema, type);
    size_t prefix = strlen(package);
    if (found >= 0)
        return found;
    type += *type == '.';
    if (prefix && !strncmp(type, package, prefix) && type[prefix] == '.')
        type += prefix + 1;
    snprintf(outer, sizeof outer, "%s", scope);
    for (;;) {
        snprintf(name, sizeof name, "%s%s%s", outer, *outer ? "." : "", type);
        if ((found = iso_names_find(&schema->names, name)) >= 0 || !*outer)
            return found;
        char *dot = strrchr(outer, '.');
        *(dot ? dot : outer) = 0;
    }
}

static bool resolve(struct parser *parser)
{
    struct proto_schema *schema = parser->schema;
    for (uint32_t m = 0; m < schema->message_count; m++)
        for (uint32_t i = 0; i < schema->messages[m].count; i++) {
            struct proto_field *field = &schema->fields[schema->messages[m].first + i];
            if (!field->type)
                continue;
            int64_t found =
                resolve_name(schema, parser->package, schema->messages[m].name, field->type);
            if (found < 0)
                return !iso_error_set(parser->error, ISO_BAD_INPUT,
                                      "not a Protobuf schema: no type is named %s", field->type);
            field->message = (uint32_t)found;
            if (schema->messages[found].meaning == PROTO_ENUMERATION) {
                field->kind = PROTO_INT32;
                field->has_presence = field->is_repeated;
            }
        }
    return true;
}

static bool take_file(struct parser *parser)
{
    bool has_root = false;
    for (next_token(parser); parser->length;) {
        if (is(parser, "message")) {
            if (!has_root)
                parser->schema->root = parser->schema->message_count;
            has_root = true;
            if (!take_message(parser, ""))
                return false;
        } else if (is(parser, "enum")) {
            if (!take_enumeration(parser, ""))
                return false;
        } else if (is(parser, "package")) {
            next_token(parser);
            snprintf(parser->package, sizeof parser->package, "%.*s", (int)parser->length,
                     parser->token);
            if (!skip_statement(parser))
                return false;
        } else if (!skip_statement(parser)) {
            return false;
        }
    }
    if (!has_root)
        return wrong(parser, "a message");
    return resolve(parser);
}

void *proto_schema_parse(const char *text, size_t length, struct iso_error *error)
{
    struct proto_schema *schema = iso_allocate_zeroed(1, sizeof *schema);
    struct parser parser = {
        .at = text, .end = text + length, .token = "", .schema = schema, .error = error};
    bool fine = take_file(&parser);
    iso_names_release(&schema->names);
    if (fine)
        return schema;
    proto_schema_forget(schema);
    return NULL;
}

void proto_schema_forget(void *forgotten)
{
    struct proto_schema *schema = forgotten;
    for (uint32_t i = 0; i < schema->message_count; i++)
        iso_free(schema->messages[i].name);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        iso_free(schema->fields[i].name);
        iso_free(schema->fields[i].type);
    }
    iso_number_map_release(&schema->numbers);
    ISO_FREE_ALL(schema->messages, schema->fields, schema);
}
