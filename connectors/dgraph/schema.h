/* Which predicates hold one value and which hold several, out of a schema in Dgraph's own words:
 *
 *     # comment
 *     name: string @index(exact) .
 *     <http://example.com/tags>: [string] .        several
 *     title: string @lang .                        several: one a language, and the stream does not
 *                                                  say which
 *     [0x0] <age>: int .                           as exports write it, with the namespace
 *     type Person { name age }                     passed over
 */
#pragma once

#include "base/atom.h"
#include "base/error.h"

struct schema {
    bool given;
    struct iso_atoms single, several; /* predicates by name */
};

enum cardinality { SCHEMA_NOT_NAMED, SCHEMA_SINGLE, SCHEMA_SEVERAL };

/* `text` NULL: none was given. The schema is to be released either way. */
enum iso_status dgraph_schema_read(struct schema *schema, const char *text,
                                   struct iso_error *error);
void dgraph_schema_release(struct schema *schema);
enum cardinality dgraph_schema_cardinality(const struct schema *schema, const char *predicate,
                                           size_t length);
