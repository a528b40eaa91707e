#include "sql/sql.h"

#include <stdlib.h>
#include <string.h>

#include <pg_query.h>

#include "base/memory.h"
#include "base/utf8.h"

/* ---- faults ---- */

void iso_sql_location(const char *text, size_t byte, uint32_t *line, uint32_t *column)
{
    const char *at = text, *end = text + byte, *found;
    *line = 1;
    while ((found = memchr(at, '\n', (size_t)(end - at)))) {
        at = found + 1;
        ++*line;
    }
    *column = (uint32_t)(end - at) + 1;
}

static bool fail(struct iso_sql_fault *fault, const char *text, size_t length, size_t byte,
                 const char *message)
{
    fault->byte = byte < length ? byte : length;
    iso_sql_location(text, fault->byte, &fault->line, &fault->column);
    size_t used = 0;
    /* One line, whatever the text quotes. */
    for (; message[used] && used < ISO_SQL_FAULT_TEXT - 1; used++)
        fault->text[used] = (unsigned char)message[used] < ' ' ? ' ' : message[used];
    while (message[used] && used && ((unsigned char)message[used] & 0xc0) == 0x80)
        used--; /* no half of a character at its end */
    fault->text[used] = 0;
    return false;
}

/* PostgreSQL counts characters, from 1; 0 is none. */
static size_t byte_of_character(const char *text, size_t length, int character)
{
    size_t byte = 0;
    if (character <= 0)
        return length;
    for (int i = 1; i < character && byte < length; i++)
        do
            byte++;
        while (byte < length && ((unsigned char)text[byte] & 0xc0) == 0x80);
    return byte;
}

static bool fail_as_told(struct iso_sql_fault *fault, const char *text, size_t length,
                         const PgQueryError *error)
{
    return fail(fault, text, length, byte_of_character(text, length, error->cursorpos),
                error->message);
}

static bool acceptable(const char *text, size_t length, struct iso_sql_fault *fault)
{
    if (length > ISO_SQL_LARGEST)
        return fail(fault, text, length, ISO_SQL_LARGEST, "the text is longer than 1 MiB");
    const char *nul = length ? memchr(text, 0, length) : NULL;
    if (nul)
        return fail(fault, text, length, (size_t)(nul - text), "a NUL");
    if (!iso_utf8_valid((const uint8_t *)text, length)) {
        size_t byte = 0;
        for (size_t size = 1; size <= 4 && byte + size <= length;) {
            bool whole = iso_utf8_valid((const uint8_t *)text + byte, size);
            byte += whole ? size : 0;
            size = whole ? 1 : size + 1;
        }
        return fail(fault, text, length, byte, "not UTF-8");
    }
    return true;
}

/* ---- tokens ---- */

void iso_sql_tokens_release(struct iso_sql_tokens *tokens)
{
    iso_free(tokens->list);
    *tokens = (struct iso_sql_tokens){0};
}

static void take_tokens(struct iso_sql_tokens *tokens, const PgQuery__ScanResult *result)
{
    for (size_t i = 0; i < result->n_tokens; i++) {
        const PgQuery__ScanToken *token = result->tokens[i];
        if (token->token == PG_QUERY__TOKEN__SQL_COMMENT ||
            token->token == PG_QUERY__TOKEN__C_COMMENT)
            continue;
        ISO_APPEND(*tokens, (struct iso_sql_token){
                                (uint32_t)token->start, (uint32_t)token->end, token->token,
                                token->keyword_kind != PG_QUERY__KEYWORD_KIND__NO_KEYWORD,
                                token->keyword_kind == PG_QUERY__KEYWORD_KIND__RESERVED_KEYWORD});
    }
}

static bool scan(struct iso_sql_tokens *tokens, const char *text, size_t length,
                 struct iso_sql_fault *fault)
{
    PgQueryScanResult result = pg_query_scan(text);
    bool fine = !result.error;
    if (fine) {
        PgQuery__ScanResult *scanned =
            pg_query__scan_result__unpack(NULL, result.pbuf.len, (const uint8_t *)result.pbuf.data);
        if (!scanned)
            iso_out_of_memory(result.pbuf.len);
        take_tokens(tokens, scanned);
        pg_query__scan_result__free_unpacked(scanned, NULL);
    } else {
        fail_as_told(fault, text, length, result.error);
    }
    pg_query_free_scan_result(result);
    return fine;
}

bool iso_sql_scan(struct iso_sql_tokens *tokens, const char *text, size_t length,
                  struct iso_sql_fault *fault)
{
    *tokens = (struct iso_sql_tokens){0};
    if (!acceptable(text, length, fault))
        return false;
    char *copy = iso_copy_text(text, length);
    bool fine = scan(tokens, copy, length, fault);
    iso_free(copy);
    return fine;
}

/* ---- depth ---- */

/* How deep nodes may lie inside one open bracket. */
struct level {
    uint32_t chain;  /* what may nest since the last comma */
    uint32_t joined; /* set operations, which go on behind commas */
    uint32_t inner;  /* the deepest bracket since the last comma */
    uint32_t most;   /* of all before it */
};

static bool may_nest(const struct iso_sql_token *token)
{
    switch ((int)token->token) {
    case PG_QUERY__TOKEN__IDENT:
    case PG_QUERY__TOKEN__UIDENT:
    case PG_QUERY__TOKEN__ICONST:
    case PG_QUERY__TOKEN__FCONST:
    case PG_QUERY__TOKEN__SCONST:
    case PG_QUERY__TOKEN__USCONST:
    case PG_QUERY__TOKEN__BCONST:
    case PG_QUERY__TOKEN__XCONST:
    case PG_QUERY__TOKEN__PARAM:
    case PG_QUERY__TOKEN__ASCII_46: /* . */
    case PG_QUERY__TOKEN__NULL_P:
    case PG_QUERY__TOKEN__TRUE_P:
    case PG_QUERY__TOKEN__FALSE_P:
    case PG_QUERY__TOKEN__AND: /* chains of them are one node */
    case PG_QUERY__TOKEN__OR:
        return false;
    default:
        return true;
    }
}

static uint32_t depth_of(const struct level *level)
{
    uint32_t now = level->chain + level->inner;
    return level->joined + (now > level->most ? now : level->most);
}

/* The first token at which a node may lie deeper than ISO_SQL_DEPTH, or the count. */
static uint32_t too_deep(const struct iso_sql_tokens *tokens)
{
    struct level levels[ISO_SQL_DEPTH + 1] = {{0}};
    uint32_t open = 0;
    for (uint32_t i = 0; i < tokens->count; i++) {
        struct level *level = &levels[open];
        int token = (int)tokens->list[i].token;
        if (token == PG_QUERY__TOKEN__ASCII_41 || token == PG_QUERY__TOKEN__ASCII_93) {
            if (!open)
                continue; /* the parser refuses it */
            uint32_t depth = depth_of(level);
            level = &levels[--open];
            level->inner = depth > level->inner ? depth : level->inner;
        } else if (token == PG_QUERY__TOKEN__ASCII_44 ||
                   (token == PG_QUERY__TOKEN__ASCII_59 && open)) {
            uint32_t now = level->chain + level->inner;
            level->most = now > level->most ? now : level->most;
            level->chain = level->inner = 0;
        } else if (token == PG_QUERY__TOKEN__ASCII_59) {
            *level = (struct level){0};
        } else if (token == PG_QUERY__TOKEN__UNION || token == PG_QUERY__TOKEN__INTERSECT ||
                   token == PG_QUERY__TOKEN__EXCEPT) {
            level->joined++;
        } else if (may_nest(&tokens->list[i])) {
            level->chain++;
        }
        if (depth_of(level) + open > ISO_SQL_DEPTH)
            return i;
        if (token == PG_QUERY__TOKEN__ASCII_40 || token == PG_QUERY__TOKEN__ASCII_91)
            levels[++open] = (struct level){0};
    }
    while (open) { /* the parser refuses it, but from the left */
        uint32_t depth = depth_of(&levels[open--]);
        levels[open].inner = depth > levels[open].inner ? depth : levels[open].inner;
        if (depth_of(&levels[open]) > ISO_SQL_DEPTH)
            return tokens->count - 1;
    }
    return tokens->count;
}

/* Each level needs a byte at least: what is short need not be looked at. */
static bool shallow(const char *text, size_t length, struct iso_sql_fault *fault)
{
    struct iso_sql_tokens tokens = {0};
    if (length <= ISO_SQL_DEPTH)
        return true;
    bool fine = scan(&tokens, text, length, fault);
    if (fine) {
        uint32_t location = too_deep(&tokens);
        if (location < tokens.count)
            fine = fail(fault, text, length, tokens.list[location].begin, "nested too deeply");
    }
    iso_sql_tokens_release(&tokens);
    return fine;
}

/* ---- the memory of a tree ---- */

enum { ARENA_BLOCK = 16 << 10, ARENA_ALIGNED = 16 };

struct iso_sql_arena {
    struct iso_sql_arena *before;
    size_t used, capacity;
    _Alignas(ARENA_ALIGNED) char bytes[];
};

static void *arena_take(void *owner, size_t size)
{
    struct iso_sql_arena **last = owner, *arena = *last;
    size_t need = (size + ARENA_ALIGNED - 1) / ARENA_ALIGNED * ARENA_ALIGNED;
    if (!arena || arena->capacity - arena->used < need) {
        size_t capacity = need > ARENA_BLOCK ? need : ARENA_BLOCK;
        arena = iso_allocate(sizeof *arena + capacity);
        *arena = (struct iso_sql_arena){.before = *last, .capacity = capacity};
        *last = arena;
    }
    arena->used += need;
    return arena->bytes + arena->used - need;
}

static void arena_give(void *owner, void *memory)
{
    (void)owner, (void)memory; /* all of it goes with the tree */
}

size_t iso_sql_tree_bytes(const struct iso_sql_tree *tree)
{
    size_t bytes = 0;
    for (const struct iso_sql_arena *arena = tree->arena; arena; arena = arena->before)
        bytes += sizeof *arena + arena->capacity;
    return bytes;
}

void iso_sql_tree_release(struct iso_sql_tree *tree)
{
    while (tree->arena) {
        struct iso_sql_arena *before = tree->arena->before;
        iso_free(tree->arena);
        tree->arena = before;
    }
    *tree = (struct iso_sql_tree){0};
}

/* ---- trees ---- */

static bool parse(struct iso_sql_tree *tree, const char *text, size_t length,
                  struct iso_sql_fault *fault)
{
    if (!shallow(text, length, fault))
        return false;
    PgQueryProtobufParseResult result = pg_query_parse_protobuf(text);
    bool fine = !result.error;
    if (fine) {
        ProtobufCAllocator allocator = {arena_take, arena_give, &tree->arena};
        PgQuery__ParseResult *parsed = pg_query__parse_result__unpack(
            &allocator, result.parse_tree.len, (const uint8_t *)result.parse_tree.data);
        fine = parsed || fail(fault, text, length, 0, "the parser's own tree cannot be read");
        if (parsed) {
            tree->statements = parsed->stmts;
            tree->count = parsed->n_stmts;
        }
    } else {
        fail_as_told(fault, text, length, result.error);
    }
    pg_query_free_protobuf_parse_result(result);
    if (!fine)
        iso_sql_tree_release(tree);
    return fine;
}

bool iso_sql_parse(struct iso_sql_tree *tree, const char *text, size_t length,
                   struct iso_sql_fault *fault)
{
    *tree = (struct iso_sql_tree){0};
    if (!acceptable(text, length, fault))
        return false;
    char *copy = iso_copy_text(text, length);
    bool fine = parse(tree, copy, length, fault);
    iso_free(copy);
    return fine;
}

void iso_sql_statement(const char *text, size_t length, const PgQuery__RawStmt *statement,
                       size_t *begin, size_t *end)
{
    size_t at = (size_t)statement->stmt_location;
    *end = statement->stmt_len ? at + (size_t)statement->stmt_len : length;
    for (uint32_t open = 0; at < *end;) {
        bool pair = at + 1 < *end;
        if (pair && text[at] == '/' && text[at + 1] == '*') { /* they nest */
            open++;
            at += 2;
        } else if (open && pair && text[at] == '*' && text[at + 1] == '/') {
            open--;
            at += 2;
        } else if (open || strchr(" \t\n\r\f\v", text[at])) {
            at++;
        } else if (pair && text[at] == '-' && text[at + 1] == '-') {
            while (at < *end && text[at] != '\n' && text[at] != '\r')
                at++;
        } else {
            break;
        }
    }
    *begin = at;
}

/* ---- functions ---- */

/* "compilation of PL/pgSQL function "f" near line 3": a line of the body; where the body begins, is
 * not told. */
static size_t byte_of_context(const char *text, size_t length, const char *context)
{
    const char *said = context ? strstr(context, "near line ") : NULL;
    const char *body = strstr(text, "$$");
    long line = said ? strtol(said + strlen("near line "), NULL, 10) : 0;
    size_t byte = body ? (size_t)(body - text) : 0;
    for (; line > 1 && byte < length; byte++)
        line -= text[byte] == '\n';
    return byte;
}

/* libpg_query 15-4.0.0 forgets a text of one byte in each such call, and the leak sanitizer is not
 * to blame us for it. */
#if defined __has_feature
#if __has_feature(address_sanitizer)
#define WATCHED
#endif
#elif defined __SANITIZE_ADDRESS__
#define WATCHED
#endif
#ifdef WATCHED
#include <sanitizer/lsan_interface.h>
#else
static void __lsan_disable(void) {}
static void __lsan_enable(void) {}
#endif

static bool check_functions(const char *text, size_t length, struct iso_sql_fault *fault)
{
    if (!shallow(text, length, fault))
        return false;
    __lsan_disable();
    PgQueryPlpgsqlParseResult result = pg_query_parse_plpgsql(text);
    __lsan_enable();
    bool fine = !result.error;
    if (!fine && result.error->cursorpos)
        fail_as_told(fault, text, length, result.error);
    else if (!fine)
        fail(fault, text, length, byte_of_context(text, length, result.error->context),
             result.error->message);
    pg_query_free_plpgsql_parse_result(result);
    return fine;
}

bool iso_sql_check_functions(const char *text, size_t length, struct iso_sql_fault *fault)
{
    if (!acceptable(text, length, fault))
        return false;
    char *copy = iso_copy_text(text, length);
    bool fine = check_functions(copy, length, fault);
    iso_free(copy);
    return fine;
}
