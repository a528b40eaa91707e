#include "tests/oracle/table_spelling.h"

#include <string.h>

enum { LESS = 1, EQUAL = 2, GREATER = 4, LEAST = -1, MOST = 3, VALUES = MOST - LEAST + 1 };

static const struct {
    const char *name, *cast; /* one that loses nothing */
    const char *constants[VALUES];
} known[] = {
    [TABLE_INTEGERS] = {"bigint", "numeric(9,2)", {"-1", "0", "1", "2", "3"}},
    [TABLE_DECIMALS] = {"numeric", "bigint", {"-1.0", "0.00", "'1'", "2", "3.0"}},
    [TABLE_DAYS] = {"date",
                    "timestamp",
                    {"'1969-12-31'", "'1970-01-01'", "'1970-01-02'", "'1970-01-03'",
                     "'1970-01-04'"}},
    [TABLE_TEXTS] = {"text", "varchar(2)", {"'a'", "'b'", "'ba'", "'c'", "'d'"}},
    [TABLE_TRUTHS] = {"boolean", "boolean", {"FALSE", "FALSE", "TRUE", "TRUE", "TRUE"}},
};

struct spelling {
    struct iso_text *text;
    const struct table_node *nodes;
    const enum table_family *families;
    const char *const *columns;
};

static const char *constant_of(enum table_family family, int value)
{
    int within = value < LEAST ? LEAST : value < MOST ? value : MOST; /* sums lie beyond them */
    return known[family].constants[within - LEAST];
}

void table_put_value(struct iso_text *text, enum table_family family, int value)
{
    const char *constant = constant_of(family, value);
    if (family == TABLE_TEXTS)
        iso_text_put_bytes(text, constant + 1, strlen(constant) - 2);
    else if (family == TABLE_TRUTHS)
        iso_text_put(text, value > 0 ? "true" : "false");
    else
        iso_text_format(text, family == TABLE_DECIMALS ? "%d.00" : "%d", value);
}

void table_put_told(struct iso_text *text, enum table_family family, const struct table_cell *cell)
{
    bool is_text = family == TABLE_TEXTS || family == TABLE_DAYS;
    iso_text_put(text, is_text && !cell->is_null ? "\"" : "");
    if (cell->is_null)
        iso_text_put(text, "null");
    else if (family == TABLE_DAYS)
        iso_text_put_bytes(text, constant_of(family, cell->value) + 1, strlen("1970-01-01"));
    else
        table_put_value(text, family, cell->value);
    iso_text_put(text, is_text && !cell->is_null ? "\"" : "");
}

/* ---- conditions ---- */

static const char *relation_of(uint32_t relation)
{
    static const char *const relations[] = {"", "<", "=", "<=", ">", "<>", ">="};
    return relations[relation];
}

static uint32_t turned(uint32_t relation)
{
    return (relation & EQUAL) | (relation & LESS ? GREATER : 0) | (relation & GREATER ? LESS : 0);
}

/* As `x IN (c)`, `x LIKE c`, and others that there are of some relations only. */
static bool put_special(struct iso_text *text, const char *column, enum table_family family,
                        uint32_t relation, int value, uint32_t spelling)
{
    const char *constant = constant_of(family, value);
    if (family == TABLE_TRUTHS && relation == EQUAL && spelling < 2)
        iso_text_format(text, value > 0 ? "%s" : "NOT %s", column);
    else if (family == TABLE_TEXTS && relation == EQUAL && spelling < 2)
        iso_text_format(text, spelling ? "lower(upper(%s)) LIKE %s" : "%s LIKE %s", column,
                        constant);
    else if (family == TABLE_TEXTS && value == LEAST && relation == GREATER)
        iso_text_format(text, "%s NOT LIKE 'a%%'", column);
    else if (relation == EQUAL && spelling == 2)
        iso_text_format(text, "%s IN (%s, %s)", column, constant_of(family, value), constant);
    else if (relation == EQUAL)
        iso_text_format(text, "%s BETWEEN %s AND %s", column, constant, constant);
    else if (relation == (LESS | EQUAL))
        iso_text_format(text, "(%s < %s OR %s = %s)", column, constant, column, constant);
    else if (relation == (GREATER | EQUAL))
        iso_text_format(text, "%s BETWEEN %s AND %s", column, constant, constant_of(family, MOST));
    else if (relation == (LESS | GREATER))
        iso_text_format(text, "%s NOT IN (%s, %s)", column, constant, constant);
    else
        return false;
    return true;
}

static void put_compare(struct iso_text *text, const char *column, enum table_family family,
                        uint32_t relation, int value, uint32_t spelling)
{
    const char *constant = constant_of(family, value), *sign = relation_of(relation);
    switch (spelling % 8) {
    case 0:
        iso_text_format(text, "%s %s %s", constant, relation_of(turned(relation)), column);
        break;
    case 1:
        iso_text_format(text, "NOT (%s %s %s)", column, relation_of(7 - relation), constant);
        break;
    case 2:
        iso_text_format(text, "%s %s ANY (ARRAY[%s]::%s[])", column, sign, constant,
                        known[family].name);
        break;
    case 3:
        iso_text_format(text, "%s %s ALL (ARRAY[%s, %s])", column, sign, constant, constant);
        break;
    case 4:
        iso_text_format(text, "%s::%s %s %s", column, known[family].cast, sign, constant);
        break;
    case 5:
    case 6:
        if (put_special(text, column, family, relation, value, spelling / 8 % 4))
            break;
        /* fall through */
    default:
        iso_text_format(text, "%s %s %s", column, sign, constant);
        break;
    }
}

static void put_null(struct iso_text *text, const char *column, uint32_t spelling)
{
    switch (spelling % 4) {
    case 0:
        iso_text_format(text, "(%s = %s) IS UNKNOWN", column, column);
        break;
    case 1:
        iso_text_format(text, "%s IS NOT DISTINCT FROM NULL", column);
        break;
    case 2:
        iso_text_format(text, "NOT %s IS NOT NULL", column);
        break;
    default:
        iso_text_format(text, "%s IS NULL", column);
        break;
    }
}

static void put_same(struct iso_text *text, const char *column, const char *constant,
                     uint32_t spelling)
{
    static const char *const before[] = {"", "NOT ", "("},
                             *const between[] = {"IS NOT DISTINCT FROM", "IS DISTINCT FROM", "="},
                             *const behind[] = {"", "", ") IS TRUE"};
    iso_text_format(text, "%s%s %s %s%s", before[spelling % 3], column, between[spelling % 3],
                    constant, behind[spelling % 3]);
}

static void put_node(const struct spelling *spelling, uint32_t number)
{
    const struct table_node *node = &spelling->nodes[number];
    struct iso_text *text = spelling->text;
    const char *column = spelling->columns[node->column];
    enum table_family family = spelling->families[node->column];
    switch (node->kind) {
    case TABLE_COMPARE:
        put_compare(text, column, family, node->relation, node->constant, node->spelling);
        return;
    case TABLE_IS_NULL:
        put_null(text, column, node->spelling);
        return;
    case TABLE_SAME:
        put_same(text, column, constant_of(family, node->constant), node->spelling);
        return;
    case TABLE_AGAINST:
        iso_text_format(text, "%s %s %s", column, relation_of(node->relation),
                        spelling->columns[node->other]);
        return;
    default:
        break;
    }
    iso_text_put(text, node->kind == TABLE_NOT ? "not (" : "(");
    put_node(spelling, node->left);
    if (node->kind >= TABLE_AND) {
        iso_text_put(text, node->kind == TABLE_AND ? " and " : " or ");
        put_node(spelling, node->right);
    }
    iso_text_put(text, node->kind == TABLE_UNKNOWN ? ") is unknown" : ")");
}

void table_put_where(struct iso_text *text, const struct table_query *query,
                     const enum table_family *families, const char *const *columns)
{
    struct spelling spelling = {text, query->nodes, families, columns};
    put_node(&spelling, 0);
}
