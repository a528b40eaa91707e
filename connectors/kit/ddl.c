#define _GNU_SOURCE
#include "connectors/kit/ddl.h"

#include <string.h>
#include <strings.h>

#include "base/payload.h"

enum { WORD_MAX = 16 };

/* The word that stands at `*at`, in small letters; passes over it. */
static struct iso_json_text take_word(struct iso_json_text sql, size_t *at, char word[WORD_MAX])
{
    size_t length = 0;
    while (*at < sql.length && sql.at[*at] && strchr(" \t\r\n", sql.at[*at]))
        ++*at;
    for (; *at < sql.length && length < WORD_MAX && (sql.at[*at] | 0x20) >= 'a' && (sql.at[*at] | 0x20) <= 'z'; ++*at)
        word[length++] = (char)(sql.at[*at] | 0x20);
    return (struct iso_json_text){word, length};
}

bool iso_ddl_drops_rows(struct iso_json_text sql)
{
    char first[WORD_MAX], second[WORD_MAX];
    size_t at = 0;
    struct iso_json_text verb = take_word(sql, &at, first), object = take_word(sql, &at, second);
    return ISO_PAYLOAD_IS(verb, "truncate") || (ISO_PAYLOAD_IS(verb, "drop") && ISO_PAYLOAD_IS(object, "table"));
}

/* ---- MySQL and MariaDB ---- */

struct scanner {
    const char *at, *end;
    struct iso_json_text token; /* a name without its quotes, or one other character */
    bool quoted;
};

static bool is_name(char byte)
{
    return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') || byte == '_' ||
           byte == '$' || (byte & 0x80);
}

static void skip_blanks(struct scanner *scanner)
{
    while (scanner->at < scanner->end) {
        bool comment = scanner->end - scanner->at > 1 && !memcmp(scanner->at, "/*", 2);
        if (comment) {
            const char *close = memmem(scanner->at + 2, (size_t)(scanner->end - scanner->at - 2), "*/", 2);
            scanner->at = close ? close + 2 : scanner->end;
        } else if (*scanner->at && strchr(" \t\r\n", *scanner->at)) {
            scanner->at++;
        } else {
            return;
        }
    }
}

static bool next_word(struct scanner *scanner)
{
    skip_blanks(scanner);
    const char *from = scanner->at;
    if (from == scanner->end)
        return false;
    scanner->quoted = *from && strchr("`\"'", *from);
    if (scanner->quoted) {
        const char *close = memchr(from + 1, *from, (size_t)(scanner->end - from - 1));
        close = close ? close : scanner->end;
        scanner->token = (struct iso_json_text){from + 1, (size_t)(close - from - 1)};
        scanner->at = close < scanner->end ? close + 1 : close;
        return true;
    }
    do
        scanner->at++;
    while (is_name(*from) && scanner->at < scanner->end && is_name(*scanner->at));
    scanner->token = (struct iso_json_text){from, (size_t)(scanner->at - from)};
    return true;
}

static bool is_word(const struct scanner *scanner, const char *word)
{
    return !scanner->quoted && scanner->token.length == strlen(word) &&
           !strncasecmp(scanner->token.at, word, scanner->token.length);
}

/* Passes over the word if it is next. */
static bool pass_word(struct scanner *scanner, const char *word)
{
    struct scanner before = *scanner;
    if (next_word(scanner) && is_word(scanner, word))
        return true;
    *scanner = before;
    return false;
}

static bool take_name(struct scanner *scanner, struct iso_ddl_effect *effect)
{
    effect->schema = effect->table = (struct iso_json_text){"", 0};
    if (!next_word(scanner))
        return false;
    effect->table = scanner->token;
    if (pass_word(scanner, ".") && next_word(scanner)) {
        effect->schema = effect->table;
        effect->table = scanner->token;
    }
    return true;
}

static bool is_same(struct iso_json_text left, struct iso_json_text right)
{
    return left.length == right.length && !memcmp(left.at, right.at, left.length);
}

/* What is done to a table last is what counts: in "a TO b, c TO a" the name a stands for what was c. */
static uint32_t add_effect(struct iso_ddl_effect *effects, uint32_t count, struct iso_ddl_effect effect,
                           enum iso_table_change change)
{
    uint32_t i = 0;
    while (i < count && !(is_same(effects[i].schema, effect.schema) && is_same(effects[i].table, effect.table)))
        i++;
    if (i == ISO_DDL_EFFECTS_MAX)
        return count;
    effects[i] = effect;
    effects[i].change = change;
    return i == count ? count + 1 : count;
}

static uint32_t take_list(struct scanner *scanner, struct iso_ddl_effect *effects)
{
    struct iso_ddl_effect effect;
    uint32_t count = 0;
    if (pass_word(scanner, "if"))
        pass_word(scanner, "exists");
    while (take_name(scanner, &effect)) {
        count = add_effect(effects, count, effect, ISO_TABLE_EMPTIED);
        if (!pass_word(scanner, ","))
            break;
    }
    return count;
}

/* All tables of a database: one without a name. */
static uint32_t take_database(struct scanner *scanner, struct iso_ddl_effect *effects)
{
    struct iso_ddl_effect effect = {.table = {"", 0}};
    if (pass_word(scanner, "if"))
        pass_word(scanner, "exists");
    if (!next_word(scanner))
        return 0;
    effect.schema = scanner->token;
    return add_effect(effects, 0, effect, ISO_TABLE_EMPTIED);
}

static uint32_t take_renames(struct scanner *scanner, struct iso_ddl_effect *effects)
{
    struct iso_ddl_effect from, to;
    uint32_t count = 0;
    if (pass_word(scanner, "if"))
        pass_word(scanner, "exists");
    while (take_name(scanner, &from) && pass_word(scanner, "to") && take_name(scanner, &to)) {
        count = add_effect(effects, count, from, ISO_TABLE_EMPTIED);
        count = add_effect(effects, count, to, ISO_TABLE_REPLACED);
        if (!pass_word(scanner, ","))
            break;
    }
    return count;
}

/* A column of another type holds other values; an added one, and an index, change none that was there. */
static enum iso_table_change take_alterations(struct scanner *scanner, const struct iso_ddl_effect *of,
                                              struct iso_ddl_effect *to)
{
    enum iso_table_change change = ISO_TABLE_SAME;
    bool removes = false;
    while (next_word(scanner)) {
        if (is_word(scanner, "modify") || is_word(scanner, "change") || is_word(scanner, "convert"))
            return ISO_TABLE_RESPELT;
        if (is_word(scanner, "primary")) { /* rows have other names now */
            *to = *of;
            return ISO_TABLE_REPLACED;
        }
        removes |= is_word(scanner, "drop") || is_word(scanner, "truncate") || is_word(scanner, "exchange") ||
                   is_word(scanner, "discard");
        if (removes && is_word(scanner, "partition"))
            change = ISO_TABLE_PARTLY_EMPTIED;
        if (!is_word(scanner, "rename") || pass_word(scanner, "column") || pass_word(scanner, "index") ||
            pass_word(scanner, "key"))
            continue;
        if (!pass_word(scanner, "to"))
            pass_word(scanner, "as");
        return take_name(scanner, to) ? ISO_TABLE_REPLACED : change;
    }
    return change;
}

static uint32_t take_alter(struct scanner *scanner, struct iso_ddl_effect *effects)
{
    struct iso_ddl_effect of, to;
    if (pass_word(scanner, "if"))
        pass_word(scanner, "exists");
    if (!take_name(scanner, &of))
        return 0;
    enum iso_table_change change = take_alterations(scanner, &of, &to);
    if (change == ISO_TABLE_SAME)
        return 0;
    uint32_t count = add_effect(effects, 0, of, change == ISO_TABLE_REPLACED ? ISO_TABLE_EMPTIED : change);
    return change == ISO_TABLE_REPLACED ? add_effect(effects, count, to, change) : count;
}

uint32_t iso_ddl_effects(struct iso_json_text sql, struct iso_ddl_effect effects[ISO_DDL_EFFECTS_MAX])
{
    struct scanner scanner = {.at = sql.at, .end = sql.at + sql.length};
    if (pass_word(&scanner, "truncate")) {
        pass_word(&scanner, "table");
        return take_list(&scanner, effects);
    }
    if (pass_word(&scanner, "drop")) {
        if (pass_word(&scanner, "database") || pass_word(&scanner, "schema"))
            return take_database(&scanner, effects);
        return pass_word(&scanner, "table") ? take_list(&scanner, effects) : 0;
    }
    if (pass_word(&scanner, "rename"))
        return pass_word(&scanner, "table") ? take_renames(&scanner, effects) : 0;
    if (pass_word(&scanner, "create"))
        return pass_word(&scanner, "or") && pass_word(&scanner, "replace") && pass_word(&scanner, "table")
                   ? take_list(&scanner, effects)
                   : 0;
    if (pass_word(&scanner, "alter")) {
        pass_word(&scanner, "online");
        pass_word(&scanner, "ignore");
        return pass_word(&scanner, "table") ? take_alter(&scanner, effects) : 0;
    }
    return 0;
}
