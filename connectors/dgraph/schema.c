#include "connectors/dgraph/schema.h"

#include <string.h>

/* The schema's text and where we stand in it. */
struct cursor {
    const char *at;
    unsigned line;
};

/* Passes over white space and comments; the byte that follows. */
static char space(struct cursor *cursor)
{
    for (; *cursor->at; cursor->at++) {
        if (*cursor->at == '#')
            cursor->at += strcspn(cursor->at, "\n");
        if (*cursor->at == '\n')
            cursor->line++;
        else if (!strchr(" \t\r", *cursor->at) || !*cursor->at)
            break;
    }
    return *cursor->at;
}

/* Passes over what ends with `last`, comments included. */
static bool pass_to(struct cursor *cursor, char last)
{
    while (space(cursor) != last) {
        if (!*cursor->at)
            return false;
        cursor->at++;
    }
    cursor->at++;
    return true;
}

/* A predicate's name, bare or between angle brackets. */
static bool read_name(struct cursor *cursor, const char **name, size_t *length)
{
    bool bracketed = space(cursor) == '<';
    *name = cursor->at + bracketed;
    *length = strcspn(*name, bracketed ? ">\n" : " \t\r\n:{}<>[]()#");
    cursor->at = *name + *length;
    if (bracketed && *cursor->at++ != '>')
        return false;
    return *length > 0;
}

/* From behind the name to the point that ends the definition, and whether the predicate holds
 * several values. */
static bool read_definition(struct cursor *cursor, bool *several)
{
    unsigned depth = 0; /* of parentheses: a point in there ends nothing */
    if (space(cursor) != ':')
        return false;
    cursor->at++;
    *several = space(cursor) == '[';
    for (char byte; (byte = space(cursor)) != '.' || depth; cursor->at++) {
        if (!byte || byte == '{' || byte == '}' || (byte == ')' && !depth))
            return false;
        depth += (byte == '(') - (byte == ')');
        *several |= byte == '@' && !strncmp(cursor->at, "@lang", 5);
    }
    cursor->at++;
    return true;
}

static bool is_type(const char *name, size_t length)
{
    return length == 4 && !memcmp(name, "type", 4);
}

/* A definition or a type; NULL, or what was expected. */
static const char *read_entry(struct schema *schema, struct cursor *cursor)
{
    const char *name;
    size_t length;
    bool several;
    if (*cursor->at == '[' && !pass_to(cursor, ']'))
        return "']' behind a namespace";
    if (!read_name(cursor, &name, &length))
        return "a predicate's name";
    if (is_type(name, length) && space(cursor) != ':')
        return pass_to(cursor, '}') ? NULL : "'}' at the end of a type";
    if (!read_definition(cursor, &several))
        return "\"predicate: type @directives .\"";
    iso_atoms_add_string(several ? &schema->several : &schema->single, name, length);
    return NULL;
}

enum iso_status dgraph_schema_read(struct schema *schema, const char *text, struct iso_error *error)
{
    struct cursor cursor = {text ? text : "", 1};
    schema->given = text;
    iso_atoms_init(&schema->single);
    iso_atoms_init(&schema->several);
    while (space(&cursor)) {
        unsigned line = cursor.line;
        const char *expected = read_entry(schema, &cursor);
        if (expected)
            return iso_error_set(error, ISO_BAD_INPUT, "Dgraph schema, line %u: expected %s", line,
                                 expected);
    }
    return ISO_OK;
}

void dgraph_schema_release(struct schema *schema)
{
    iso_atoms_release(&schema->single);
    iso_atoms_release(&schema->several);
}

enum cardinality dgraph_schema_cardinality(const struct schema *schema, const char *predicate,
                                           size_t length)
{
    iso_atom atom;
    if (iso_atoms_find(&schema->several, predicate, length, &atom) && (atom & ISO_ATOM_TABLE))
        return SCHEMA_SEVERAL;
    if (iso_atoms_find(&schema->single, predicate, length, &atom) && (atom & ISO_ATOM_TABLE))
        return SCHEMA_SINGLE;
    return SCHEMA_NOT_NAMED;
}
