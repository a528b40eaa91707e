#define _GNU_SOURCE
#include "explain/argument_private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "explain/words.h"
#include "history/snapshot.h"

/* ---- words ---- */

/* A column without a value is NULL, and never deleted. */
static bool is_null(const struct iso_history *history, uint32_t operation)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text key;
    key.at = iso_atom_text(&history->atoms, history->keys.atom[history->ops.key[operation]], buffer,
                           &key.length);
    return iso_kind_of(history, operation) != ISO_READ_LIST &&
           history->ops.value[operation] == ISO_ABSENT && explain_is_cell(key);
}

void argue_put_operation_value(struct iso_text *text, const struct iso_history *history,
                               uint32_t operation)
{
    uint32_t value = history->ops.value[operation];
    if (iso_kind_of(history, operation) == ISO_READ_LIST)
        argue_put_list(text, &history->atoms, history->lists.element + history->lists.first[value],
                       history->lists.first[value + 1] - history->lists.first[value]);
    else if (is_null(history, operation))
        iso_text_put(text, "NULL");
    else
        argue_put_atom(text, &history->atoms, value);
}

void argue_put_claim_value(struct iso_text *text, const struct iso_argument *argument,
                           const struct iso_claim_value *value)
{
    const struct iso_claims *claims = argument->facts->claims;
    if (value->is_list)
        argue_put_list(text, &claims->history->atoms, iso_claim_elements(claims, value),
                       value->count);
    else
        argue_put_atom(text, &claims->history->atoms,
                       value->count ? *iso_claim_elements(claims, value) : ISO_ABSENT);
}

void iso_argument_put_stamp(const struct iso_argument *argument, uint64_t timestamp,
                            struct iso_text *text)
{
    char raw[ISO_STAMP_TEXT], wall[ISO_WALL_TEXT];
    bool is_clock = iso_wall_text(argument->wall, argument->facts->history, timestamp, wall);
    if (!is_clock)
        iso_history_stamp_text(argument->facts->history, timestamp, raw);
    iso_text_put(text, is_clock ? wall : raw);
}

/* ", sts 41", with both forms: what is written elsewhere can be found here. */
static void put_named_stamp(struct iso_text *text, const struct iso_argument *argument,
                            const char *name, uint64_t timestamp)
{
    char raw[ISO_STAMP_TEXT], wall[ISO_WALL_TEXT];
    iso_history_stamp_text(argument->facts->history, timestamp, raw);
    iso_text_format(text, "%s%s", name, raw);
    if (iso_wall_text(argument->wall, argument->facts->history, timestamp, wall))
        iso_text_format(text, " = %s", wall);
}

/* "wrote x = 3", "wrote t/1#c = NULL", "deleted x", "appended 3 to x". */
static void put_write(struct iso_text *text, const struct iso_history *history, uint32_t operation)
{
    const struct iso_atoms *atoms = &history->atoms;
    iso_atom key = history->keys.atom[history->ops.key[operation]];
    switch (iso_kind_of(history, operation)) {
    case ISO_DELETE:
        iso_text_put(text, is_null(history, operation) ? "wrote " : "deleted ");
        argue_put_atom(text, atoms, key);
        iso_text_put(text, is_null(history, operation) ? " = NULL" : "");
        break;
    case ISO_APPEND:
        iso_text_put(text, "appended ");
        argue_put_operation_value(text, history, operation);
        iso_text_put(text, " to ");
        argue_put_atom(text, atoms, key);
        break;
    default:
        iso_text_put(text, iso_kind_writes(history->ops.kind[operation]) ? "wrote " : "read ");
        argue_put_atom(text, atoms, key);
        iso_text_put(text, " = ");
        argue_put_operation_value(text, history, operation);
    }
}

static void put_key(struct iso_text *text, const struct iso_history *history, uint32_t key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text name;
    name.at = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &name.length);
    explain_put_key(text, name);
}

static void put_number(struct iso_text *text, const char *before, uint64_t number)
{
    iso_text_format(text, "%s%" PRIu64, before, number);
}

/* The party's number, from 0. */
static uint32_t number_of(struct iso_argument *argument, struct iso_party party)
{
    for (uint32_t i = 0; i < argument->party_count; i++)
        if (argument->parties[i].tid == party.tid)
            return i;
    ISO_GROW(argument->parties, argument->party_count, argument->party_capacity);
    argument->parties[argument->party_count] = party;
    return argument->party_count++;
}

static void put_name(struct iso_argument *argument, struct iso_party party)
{
    put_number(&argument->text, "T", number_of(argument, party) + 1u);
}

static struct iso_party party_of(const struct iso_argument *argument, uint32_t transaction)
{
    return (struct iso_party){argument->facts->history->txns.tid[transaction], transaction};
}

static void put_of_claim(struct iso_argument *argument, char directive)
{
    const struct iso_claim *claim = argument->claim;
    const struct iso_history *history = argument->facts->history;
    switch (directive) {
    case 'B':
        put_name(argument, *iso_claim_party(argument->facts->claims, claim, 0));
        break;
    case 'N':
        argue_put_atom(&argument->text, &history->atoms, claim->key_atom);
        break;
    case 'E':
        argue_put_claim_value(&argument->text, argument, &claim->expected);
        break;
    case 'F':
        argue_put_claim_value(&argument->text, argument, &claim->actual);
        break;
    case 'G':
        put_name(argument, claim->writer_actual);
        break;
    default:
        assert(directive == 'H');
        iso_argument_put_stamp(argument, history->txns.cts[claim->writer_actual.transaction],
                               &argument->text);
    }
}

static void put_directive(struct iso_argument *argument, char directive, va_list *values)
{
    const struct iso_history *history = argument->facts->history;
    struct iso_text *text = &argument->text;
    uint32_t transaction;
    switch (directive) {
    case 'T':
        put_name(argument, party_of(argument, va_arg(*values, uint32_t)));
        break;
    case 'P':
        put_name(argument, *va_arg(*values, const struct iso_party *));
        break;
    case 'K':
        put_key(text, history, va_arg(*values, uint32_t));
        break;
    case 'k':
        argue_put_atom(text, &history->atoms, history->keys.atom[va_arg(*values, uint32_t)]);
        break;
    case 'A':
        argue_put_atom(text, &history->atoms, va_arg(*values, iso_atom));
        break;
    case 'V':
        argue_put_operation_value(text, history, va_arg(*values, uint32_t));
        break;
    case 'C':
        argue_put_claim_value(text, argument, va_arg(*values, const struct iso_claim_value *));
        break;
    case 'M':
        iso_argument_put_stamp(argument, va_arg(*values, uint64_t), text);
        break;
    case 'O':
        transaction = va_arg(*values, uint32_t);
        put_number(text, "operation ",
                   iso_history_step(history, transaction, va_arg(*values, uint32_t)) + 1);
        break;
    case 'W':
        put_write(text, history, va_arg(*values, uint32_t));
        break;
    case 's':
        iso_text_put(text, va_arg(*values, const char *));
        break;
    case 'u':
        iso_text_put_unsigned(text, va_arg(*values, uint64_t));
        break;
    default:
        put_of_claim(argument, directive);
    }
}

static uint32_t add_text(struct iso_argument *argument, const char *format, va_list *values)
{
    uint32_t offset = (uint32_t)argument->text.used;
    while (*format) {
        size_t plain = strcspn(format, "%");
        iso_text_put_bytes(&argument->text, format, plain);
        format += plain;
        if (!*format)
            break;
        put_directive(argument, format[1], values);
        format += 2;
    }
    iso_text_put_bytes(&argument->text, "", 1);
    return offset;
}

/* ---- parts ---- */

uint32_t argue_text(struct iso_argument *argument, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    uint32_t offset = add_text(argument, format, &values);
    va_end(values);
    return offset;
}

void argue_title(struct iso_argument *argument, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    argument->title = add_text(argument, format, &values);
    va_end(values);
}

void argue_step(struct iso_argument *argument, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    uint32_t offset = add_text(argument, format, &values);
    va_end(values);
    ISO_PUSH(argument->steps, argument->step_count, argument->step_capacity, offset);
}

static void insert_row(struct iso_argument *argument, struct iso_argument_row row)
{
    ISO_GROW(argument->rows, argument->row_count, argument->row_capacity);
    uint32_t at = argument->row_count++;
    for (; at > 0; at--) {
        const struct iso_argument_row *before = &argument->rows[at - 1];
        if (before->when < row.when || (before->when == row.when && before->tie <= row.tie))
            break;
        argument->rows[at] = *before;
    }
    argument->rows[at] = row;
}

void argue_row(struct iso_argument *argument, struct iso_argument_row row, const char *format, ...)
{
    va_list values;
    if (row.mark == ISO_MARK_MORE)
        row.when_text = argue_text(argument, "");
    else if (row.tie == ISO_ROW_INITIAL)
        row.when_text = argue_text(argument, "at first");
    else if (row.when != ISO_ROW_UNTIMED)
        row.when_text = argue_text(argument, "%M", row.when);
    va_start(values, format);
    row.what_text = add_text(argument, format, &values);
    va_end(values);
    insert_row(argument, row);
}

uint32_t argue_written(struct iso_argument *argument, uint32_t write)
{
    uint8_t kind = iso_kind_of(argument->facts->history, write);
    if (kind == ISO_DELETE)
        return argue_text(argument, is_null(argument->facts->history, write) ? "NULL" : "deleted");
    return argue_text(argument, kind == ISO_APPEND ? "+ %V" : "%V", write);
}

void argue_edge(struct iso_argument *argument, uint32_t from, uint32_t to, const char *type,
                const char *format, ...)
{
    struct iso_argument_edge edge = {.from = number_of(argument, party_of(argument, from)),
                                     .to = number_of(argument, party_of(argument, to))};
    va_list values;
    va_start(values, format);
    edge.label = add_text(argument, format, &values);
    va_end(values);
    snprintf(edge.type, sizeof edge.type, "%s", type);
    ISO_PUSH(argument->edges, argument->edge_count, argument->edge_capacity, edge);
}

const char *iso_mark_word(enum iso_mark mark)
{
    return mark == ISO_MARK_EXPECTED ? "expected" : mark == ISO_MARK_ACTUAL ? "found" : NULL;
}

/* ---- lookups ---- */

static bool found(const struct iso_history *history, uint32_t read, iso_atom written)
{
    uint32_t value = history->ops.value[read];
    if (iso_kind_of(history, read) != ISO_READ_LIST)
        return value == written;
    for (uint64_t i = history->lists.first[value]; i < history->lists.first[value + 1]; i++)
        if (history->lists.element[i] == written)
            return true;
    return false;
}

uint32_t argue_write_found(const struct iso_history *history, uint32_t read, uint32_t writer)
{
    for (uint32_t o = history->txns.first_op[writer]; o < history->txns.first_op[writer + 1]; o++)
        if (history->ops.key[o] == history->ops.key[read] &&
            iso_kind_writes(history->ops.kind[o]) && found(history, read, history->ops.value[o]))
            return o;
    return ISO_NONE;
}

/* ---- the whole ---- */

static bool is_text(const struct iso_claims *claims, const struct iso_claim_value *value)
{
    return value->given && !value->is_list && value->count == 1 &&
           *iso_claim_elements(claims, value) != ISO_ABSENT;
}

/* Says where two long texts begin to differ, since values are shown by their beginnings alone. */
static void argue_difference(struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    const struct iso_claims *claims = argument->facts->claims;
    char buffers[2][ISO_ATOM_TEXT_MAX];
    size_t lengths[2];
    struct iso_text text = {0};
    if (!is_text(claims, &claim->expected) || !is_text(claims, &claim->actual))
        return;
    const char *expected =
        iso_atom_text(&claims->history->atoms, *iso_claim_elements(claims, &claim->expected),
                      buffers[0], &lengths[0]);
    const char *actual =
        iso_atom_text(&claims->history->atoms, *iso_claim_elements(claims, &claim->actual),
                      buffers[1], &lengths[1]);
    if (explain_put_difference(&text, expected, lengths[0], actual, lengths[1])) {
        *iso_text_reserve(&text, 1) = 0;
        argue_step(argument, "%s", text.bytes);
    }
    iso_text_release(&text);
}

/* ---- statements ---- */

static void put_statement(const struct iso_argument *argument, uint32_t index, uint32_t key,
                          const char *before, struct iso_text *text)
{
    const struct iso_history_told *told = argument->facts->history->told;
    uint32_t transaction = argument->parties[index].transaction;
    struct iso_text statement = {0};
    if (told && key != ISO_NONE && transaction != ISO_NONE)
        told->put(told->context, argument->facts->history, transaction, key, &statement);
    if (statement.used &&
        (!text->used || !memmem(text->bytes, text->used, statement.bytes, statement.used)))
        iso_text_format(text, "%s%.*s", before, (int)statement.used, statement.bytes);
    iso_text_release(&statement);
}

void iso_argument_put_statements(const struct iso_argument *argument, uint32_t index,
                                 const char *before, struct iso_text *text)
{
    const struct iso_claim *claim = argument->claim;
    const struct iso_claim_edge *edges = argument->facts->claims->edges;
    put_statement(argument, index, claim->key, before, text);
    for (uint32_t i = 0; i < claim->edge_count; i++)
        put_statement(argument, index, edges[claim->first_edge + i].key, before, text);
}

static void argue_statements(struct iso_argument *argument)
{
    for (uint32_t i = 0; i < argument->party_count; i++) {
        struct iso_text text = {0};
        iso_argument_put_statements(argument, i, "\n", &text);
        *iso_text_reserve(&text, 1) = 0;
        for (char *at = text.used ? text.bytes + 1 : NULL, *end; at; at = end) {
            end = strchr(at, '\n');
            if (end)
                *end++ = 0;
            argue_step(argument, "%P ran: %s", &argument->parties[i], at);
        }
        iso_text_release(&text);
    }
}

void iso_argument_init(struct iso_argument *argument, const struct iso_facts *facts,
                       const struct iso_claim *claim, enum iso_wall wall)
{
    static void (*const ways[])(struct iso_argument *) = {[ISO_ARGUE_READ] = argue_read,
                                                          [ISO_ARGUE_OWN] = argue_own,
                                                          [ISO_ARGUE_TIMES] = argue_times,
                                                          [ISO_ARGUE_CHANGES] = argue_changes,
                                                          [ISO_ARGUE_ORDER] = argue_order};
    *argument = (struct iso_argument){.facts = facts, .claim = claim, .wall = wall};
    argue_title(argument, "%s", claim->wrong->name);
    ways[claim->wrong->argument](argument);
    argue_difference(argument);
    argue_statements(argument);
    if (!argument->step_count)
        argue_step(argument, ISO_CLAIMS_NO_MORE);
    if (claim->doubt)
        argue_step(argument, "This is doubtful: %s", claim->doubt);
}

void iso_argument_release(struct iso_argument *argument)
{
    iso_text_release(&argument->text);
    ISO_FREE_ALL(argument->parties, argument->steps, argument->rows, argument->edges);
    *argument = (struct iso_argument){.facts = NULL};
}

void iso_argument_put_tid(const struct iso_argument *argument, uint32_t index,
                          struct iso_text *text)
{
    argue_put_atom(text, &argument->facts->history->atoms, argument->parties[index].tid);
}

static struct iso_argument_origin origin_of(const struct iso_history *history, uint32_t transaction)
{
    uint64_t origin = history->txns.origin[transaction];
    uint32_t input = iso_origin_input(origin);
    const char *name = input < history->inputs.count ? history->inputs.names[input] : "?",
               *bracket = strrchr(name, '[');
    size_t digits = bracket ? strspn(bracket + 1, "0123456789") : 0;
    return (struct iso_argument_origin){.name = name,
                                        .offset = iso_origin_offset(origin),
                                        .is_partition =
                                            digits && !strcmp(bracket + 1 + digits, "]")};
}

struct iso_argument_origin iso_argument_origin(const struct iso_argument *argument, uint32_t index)
{
    return origin_of(argument->facts->history, argument->parties[index].transaction);
}

static void put_origin(struct iso_text *text, const struct iso_history *history,
                       uint32_t transaction)
{
    struct iso_argument_origin origin = origin_of(history, transaction);
    iso_text_put(text, origin.name);
    put_number(text, origin.is_partition ? " offset " : ":", origin.offset);
}

void iso_argument_put_origin(const struct iso_argument *argument, uint32_t index,
                             struct iso_text *text)
{
    put_origin(text, argument->facts->history, argument->parties[index].transaction);
}

/* Adds PostgreSQL's own names of the transaction (xid, snapshot), since its positions in time are
 * numbers that Isochron made. */
static void put_postgres_names(struct iso_text *text, const struct iso_history *history,
                               uint32_t transaction)
{
    char snapshot[200];
    if (history->txns.xid && history->txns.xid[transaction])
        put_number(text, ", xid ", history->txns.xid[transaction]);
    if (history->txns.snapshot && history->txns.snapshot[transaction] != ISO_NONE) {
        iso_snapshot_text(history, &history->snapshots.list[history->txns.snapshot[transaction]],
                          snapshot, sizeof snapshot);
        iso_text_format(text, ", snapshot %s", snapshot);
    }
}

void iso_argument_put_party(const struct iso_argument *argument, uint32_t index,
                            struct iso_text *text)
{
    iso_argument_put_transaction(argument, argument->parties[index], text);
}

void iso_argument_put_transaction(const struct iso_argument *argument, struct iso_party party,
                                  struct iso_text *text)
{
    static const char *const statuses[] = {"", ", aborted", ", outcome unknown"};
    const struct iso_history *history = argument->facts->history;
    uint32_t transaction = party.transaction;
    iso_text_put(text, "transaction ");
    argue_put_atom(text, &history->atoms, party.tid);
    if (transaction == ISO_NONE) {
        iso_text_put(text, " (not in the history)");
        return;
    }
    uint8_t flags = history->txns.flags[transaction];
    iso_text_put(text, " (session ");
    argue_put_atom(text, &history->atoms,
                   history->sessions.atom[history->txns.session[transaction]]);
    iso_text_put(text, ", ");
    put_origin(text, history, transaction);
    if (flags & ISO_HAS_STS)
        put_named_stamp(text, argument, ", sts ", history->txns.sts[transaction]);
    if (flags & ISO_HAS_CTS)
        put_named_stamp(text, argument, ", cts ", history->txns.cts[transaction]);
    put_postgres_names(text, history, transaction);
    iso_text_format(text, "%s)", statuses[iso_status_of(history, transaction)]);
}
