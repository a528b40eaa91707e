/* SQL as PostgreSQL 15 reads it: a text in, its tokens or its tree out. A thin and safe skin of
 * libpg_query, which is PostgreSQL's own parser taken out of the server.
 *
 *     struct iso_sql_tree tree = {0};
 *     struct iso_sql_fault fault;
 *     if (!iso_sql_parse(&tree, text, length, &fault)) ... fault.line, fault.column, fault.text
 *     for (size_t i = 0; i < tree.count; i++)
 *         if (tree.statements[i]->stmt->node_case == PG_QUERY__NODE__NODE_SELECT_STMT) ...
 *     iso_sql_tree_release(&tree);
 *
 * The tree is what pg_query/pg_query.pb-c.h declares: C structs, one for each of PostgreSQL's
 * nodes. `location` of a node is a byte of the text from 0, -1 is none. A RawStmt's `stmt_location`
 * stands right behind the semicolon before it, so that its text begins with white space and
 * comments; `stmt_len` 0 means up to the end. iso_sql_statement gives the bytes. A function's body
 * is one string in the tree: iso_sql_check_functions lets PostgreSQL's PL/pgSQL compiler look at
 * it, and iso_sql_scan cuts it into tokens.
 *
 * Hostile texts. libpg_query recurses with the tree, and so does whoever reads it: left-deep chains
 * ("1+1+1+...") have no limit in PostgreSQL's grammar, and 100,000 of them overflow the stack. So a
 * text is cut into tokens first, and refused if a node could lie deeper than ISO_SQL_DEPTH: the
 * count is of operators, keywords and brackets that may nest, since the last comma or semicolon of
 * each open bracket. A tree is no deeper than two messages for each of them, which needs less than
 * 3 MB of stack here. Texts longer than ISO_SQL_LARGEST, with a NUL, or that are not UTF-8 are
 * refused.
 *
 * Ownership: a tree owns its nodes, and copies what it needs of the text. Threads: any; libpg_query
 * keeps what it has by thread, and gives it back when the thread ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pg_query/pg_query.pb-c.h>

enum { ISO_SQL_LARGEST = 1 << 20, ISO_SQL_DEPTH = 1000, ISO_SQL_FAULT_TEXT = 256 };

struct iso_sql_fault {
    size_t byte;           /* where, from 0; the text's length: at its end */
    uint32_t line, column; /* the same, from 1; columns are bytes */
    char text[ISO_SQL_FAULT_TEXT];
};

/* Line and column of a byte, from 1; columns are bytes. */
void iso_sql_location(const char *text, size_t byte, uint32_t *line, uint32_t *column);

/* ---- trees ---- */

struct iso_sql_arena; /* the memory of its nodes */

struct iso_sql_tree {
    PgQuery__RawStmt **statements;
    size_t count;
    struct iso_sql_arena *arena;
};

/* Parses statements; none is fine, too. False: `fault`, and the tree is empty. */
bool iso_sql_parse(struct iso_sql_tree *tree, const char *text, size_t length,
                   struct iso_sql_fault *fault);
void iso_sql_tree_release(struct iso_sql_tree *tree);       /* a zeroed one is empty */
size_t iso_sql_tree_bytes(const struct iso_sql_tree *tree); /* of memory */

/* The bytes of a statement of `text`, without white space and comments before it: [*begin,
 * *end). */
void iso_sql_statement(const char *text, size_t length, const PgQuery__RawStmt *statement,
                       size_t *begin, size_t *end);

/* Compiles the PL/pgSQL functions that the text creates, as CREATE FUNCTION does: syntax, declared
 * variables, labels. Locations are lines only, and of the first function that is wrong. */
bool iso_sql_check_functions(const char *text, size_t length, struct iso_sql_fault *fault);

/* ---- tokens ---- */

struct iso_sql_token {
    uint32_t begin, end; /* bytes of the text */
    PgQuery__Token token;
    bool keyword, reserved; /* a word of SQL; one that cannot name a column */
};

struct iso_sql_tokens {
    struct iso_sql_token *list;
    uint32_t count, capacity;
};

/* Cuts the text as PostgreSQL's scanner does; comments are left out. False: `fault`, and no
 * tokens. */
bool iso_sql_scan(struct iso_sql_tokens *tokens, const char *text, size_t length,
                  struct iso_sql_fault *fault);
void iso_sql_tokens_release(struct iso_sql_tokens *tokens); /* zeroed ones are empty */
