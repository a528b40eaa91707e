#define _GNU_SOURCE
#include "tests/support/brief_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static _Noreturn void malformed(const char *what, const char *text)
{
    fprintf(stderr, "not ok - malformed test history: %s at \"%s\"\n", what, text);
    abort();
}

/* ---- histories ---- */

static uint64_t number_of(const char *text)
{
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    if (*end || end == text)
        malformed("a number was expected", text);
    return number;
}

static struct iso_stamp stamp_of(struct iso_history *history, char *text)
{
    char *point = strchr(text, '.');
    struct iso_stamp stamp = {0};
    if (point) {
        *point = 0;
        stamp.logical = number_of(point + 1);
        history->clock = ISO_CLOCK_PAIR;
    }
    stamp.physical = number_of(text);
    return stamp;
}

static iso_atom atom_of(struct iso_history *history, const char *text)
{
    if (!text)
        malformed("a word is missing", "the end of an operation");
    return strcmp(text, "null") == 0 ? ISO_ABSENT
                                     : iso_atoms_text(&history->atoms, text, strlen(text));
}

static uint32_t snapshot_of(struct iso_history *history, const char *text)
{
    uint32_t snapshot;
    if (!iso_history_snapshot(history, text, strlen(text), &snapshot))
        malformed("a snapshot was expected", text);
    return snapshot;
}

static uint32_t list_of(struct iso_history *history, char *text)
{
    uint32_t list = iso_history_list(history);
    char *rest = NULL;
    for (char *element = strtok_r(text, "[],", &rest); element;
         element = strtok_r(NULL, "[],", &rest))
        iso_history_element(history, atom_of(history, element));
    return list;
}

static void add_read(struct iso_history *history, iso_atom key, char *value)
{
    if (value && *value == '[')
        iso_history_operation(history, ISO_READ_LIST, key, list_of(history, value));
    else
        iso_history_operation(history, ISO_READ, key, atom_of(history, value));
}

static void add_operation(struct iso_history *history, char *text)
{
    char *rest = NULL, *kind = strtok_r(text, " ", &rest), *key = strtok_r(NULL, " ", &rest);
    iso_atom key_atom = atom_of(history, key);
    char *value = *kind == 'd' ? NULL : strtok_r(NULL, " ", &rest);
    if (*kind == 'r')
        add_read(history, key_atom, value);
    else if (*kind == 'd')
        iso_history_operation(history, ISO_DELETE, key_atom, ISO_ABSENT);
    else if (*kind == 'w' || *kind == 'a')
        iso_history_operation(history, *kind == 'w' ? ISO_WRITE : ISO_APPEND, key_atom,
                              atom_of(history, value));
    else
        malformed("w, r, d or a was expected", kind);
    for (char *word = strtok_r(NULL, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (*word == '@')
            iso_history_set_ots(history, stamp_of(history, word + 1));
        else if (strcmp(word, "lock") == 0)
            iso_history_set_lock(history);
        else if (strncmp(word, "snapshot=", 9) == 0)
            iso_history_set_operation_snapshot(history, snapshot_of(history, word + 9));
        else
            malformed("@N, lock or snapshot= was expected", word);
    }
}

static void add_initial(struct iso_history *history, char *text)
{
    char *rest = NULL, *kind = strtok_r(text, " ", &rest), *key = strtok_r(NULL, " ", &rest);
    iso_history_initial(history, atom_of(history, key),
                        atom_of(history, strtok_r(NULL, " ", &rest)), *kind == 'a');
}

static void add_word(struct iso_history *history, const char *word)
{
    if (strcmp(word, "aborted") == 0)
        history->txns.flags[history->txns.count - 1] |= ISO_ABORTED;
    else if (strcmp(word, "unknown") == 0)
        history->txns.flags[history->txns.count - 1] |= ISO_UNKNOWN;
    else if (strncmp(word, "sno=", 4) == 0)
        iso_history_set_sno(history, number_of(word + 4));
    else if (strncmp(word, "xid=", 4) == 0)
        iso_history_set_xid(history, number_of(word + 4));
    else if (strncmp(word, "snapshot=", 9) == 0)
        iso_history_set_snapshot(history, snapshot_of(history, word + 9));
    else if (strncmp(word, "begun=", 6) == 0)
        iso_history_set_begun(history, number_of(word + 6));
    else if (strncmp(word, "ended=", 6) == 0)
        iso_history_set_ended(history, number_of(word + 6));
    else
        malformed("a status, sno=, xid=, snapshot=, begun= or ended= was expected", word);
}

static void begin(struct iso_history *history, char *tid, char **rest)
{
    uint64_t line = history->txns.count + 1;
    char *session = strtok_r(NULL, " ", rest), *sts = strtok_r(NULL, " ", rest),
         *cts = strtok_r(NULL, " ", rest);
    if (!cts)
        malformed("tid, session, sts and cts were expected", tid);
    iso_history_begin(history, atom_of(history, tid), atom_of(history, session), ISO_COMMITTED,
                      iso_origin(0, line));
    if ((*sts != '-' || *cts != '-') && history->clock != ISO_CLOCK_PAIR)
        history->clock = ISO_CLOCK_SCALAR;
    if (*sts != '-')
        iso_history_set_sts(history, stamp_of(history, sts));
    if (*cts != '-')
        iso_history_set_cts(history, stamp_of(history, cts));
    for (char *word = strtok_r(NULL, " ", rest); word; word = strtok_r(NULL, " ", rest))
        add_word(history, word);
}

/* A transaction with no head, or only a status: known by the number of its line, alone in its
 * session, at no time. */
static void begin_short(struct iso_history *history, const char *status)
{
    iso_atom number = history->txns.count + 1;
    iso_history_begin(history, number, number, ISO_COMMITTED, iso_origin(0, number));
    if (*status)
        add_word(history, status);
}

static void add_line(struct iso_history *history, char *line)
{
    char *rest = line, *words = NULL, *head = strsep(&rest, "|"),
         *first = strtok_r(head, " ", &words);
    bool initial = first && strcmp(first, "initial") == 0;
    if (first && strcmp(first, "initially") == 0) {
        history->initial.other_value = atom_of(history, strtok_r(NULL, " ", &words));
        return;
    }
    if (!first || strcmp(first, "aborted") == 0 || strcmp(first, "unknown") == 0)
        begin_short(history, first ? first : "");
    else if (!initial)
        begin(history, first, &words);
    for (char *operation; (operation = strsep(&rest, "|"));) {
        if (initial)
            add_initial(history, operation);
        else
            add_operation(history, operation);
    }
}

void brief_history_add(struct iso_history *history, const char *lines)
{
    char *copy = iso_copy_text(lines, strlen(lines)), *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        add_line(history, line);
    iso_free(copy);
}

void brief_history(struct iso_history *history, const char *lines)
{
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(history);
    iso_history_input(history, "test");
    brief_history_add(history, lines);
    if (iso_history_finish(history, &error) != ISO_OK)
        malformed(error.text, lines);
}

/* ---- for the oracles ---- */

static void put_text(struct plain_text *text, const struct iso_history *history, iso_atom atom,
                     bool *fits)
{
    char buffer[ISO_ATOM_TEXT_MAX], copy[PLAIN_TEXT];
    size_t length;
    if (atom == ISO_ABSENT) {
        *text = plain_text(NULL);
        return;
    }
    const char *bytes = iso_atom_text(&history->atoms, atom, buffer, &length);
    *fits &= length < sizeof copy;
    snprintf(copy, sizeof copy, "%.*s", (int)length, bytes);
    *text = plain_text(copy);
}

static struct plain_stamp plain_of(const uint64_t *physical, const uint64_t *logical, uint32_t at)
{
    return (struct plain_stamp){true, physical[at], logical ? logical[at] : 0};
}

static struct plain_snapshot plain_snapshot_of(const struct iso_history *history, uint32_t number,
                                               bool *fits)
{
    const struct iso_snapshot *from = &history->snapshots.list[number];
    struct plain_snapshot snapshot = {.given = true, .xmin = from->xmin, .xmax = from->xmax};
    *fits &= from->xip_count <= PLAIN_XIPS;
    for (uint32_t i = 0; *fits && i < from->xip_count; i++)
        snapshot.xip[snapshot.xip_count++] = history->snapshots.xips[from->first_xip + i];
    return snapshot;
}

static void put_operation(struct plain_operation *to, const struct iso_history *history, uint32_t o,
                          bool *fits)
{
    const struct iso_history_ops *ops = &history->ops;
    memset(to, 0, sizeof *to);
    to->kind = iso_kind_of(history, o);
    to->value = plain_text(NULL);
    to->lock = ops->kind[o] & ISO_OPERATION_LOCK;
    put_text(&to->key, history, history->keys.atom[ops->key[o]], fits);
    if (to->kind == ISO_READ_LIST) {
        const uint64_t *list = &history->lists.first[ops->value[o]];
        *fits &= list[1] - list[0] <= PLAIN_LIST;
        for (uint64_t e = list[0]; *fits && e < list[1]; e++)
            put_text(&to->list[to->list_count++], history, history->lists.element[e], fits);
    } else if (to->kind != ISO_DELETE) {
        put_text(&to->value, history, ops->value[o], fits);
    }
    if (ops->kind[o] & ISO_OPERATION_SNAPSHOT)
        to->snapshot = plain_snapshot_of(history, (uint32_t)ops->ots[o], fits);
    else if (ops->kind[o] & ISO_OPERATION_OTS)
        to->ots = plain_of(ops->ots, ops->ots_logical, o);
}

static void put_transaction(struct plain_transaction *to, const struct iso_history *history,
                            uint32_t t, bool *fits)
{
    const struct iso_history_txns *txns = &history->txns;
    memset(to, 0, sizeof *to);
    put_text(&to->tid, history, txns->tid[t], fits);
    put_text(&to->session, history, history->sessions.atom[txns->session[t]], fits);
    to->status = txns->flags[t] & (ISO_ABORTED | ISO_UNKNOWN);
    if (txns->flags[t] & ISO_HAS_STS)
        to->sts = plain_of(txns->sts, txns->sts_logical, t);
    if (txns->flags[t] & ISO_HAS_CTS)
        to->cts = plain_of(txns->cts, txns->cts_logical, t);
    to->has_sno = txns->flags[t] & ISO_HAS_SNO;
    to->sno = to->has_sno ? txns->sno[t] : 0;
    to->xid = txns->xid ? txns->xid[t] : 0;
    if (txns->snapshot && txns->snapshot[t] != ISO_NONE)
        to->snapshot = plain_snapshot_of(history, txns->snapshot[t], fits);
    uint32_t end = t + 1 < txns->count ? txns->first_op[t + 1] : history->ops.count;
    for (uint32_t o = txns->first_op[t]; *fits && o < end; o++) {
        *fits &= to->operation_count < PLAIN_OPERATIONS;
        if (*fits)
            put_operation(&to->operations[to->operation_count++], history, o, fits);
    }
}

bool brief_plain(struct plain_history *plain, const char *lines)
{
    struct iso_history history;
    iso_history_init(&history);
    brief_history_add(&history, lines);
    bool fits = history.txns.count <= PLAIN_TRANSACTIONS && history.initial.count <= PLAIN_INITIALS;
    plain_history_clear(plain);
    plain->pairs = history.clock == ISO_CLOCK_PAIR;
    put_text(&plain->initial_value, &history, history.initial.other_value, &fits);
    for (uint32_t i = 0; fits && i < history.initial.count; i++) {
        struct plain_initial *initial = &plain->initials[plain->initial_count++];
        put_text(&initial->key, &history, history.keys.atom[history.initial.key[i]], &fits);
        put_text(&initial->value, &history, history.initial.value[i], &fits);
        initial->is_append = history.initial.is_append[i];
    }
    for (uint32_t t = 0; fits && t < history.txns.count; t++)
        put_transaction(&plain->transactions[plain->transaction_count++], &history, t, &fits);
    iso_history_release(&history);
    return fits;
}

/* ---- verdicts ---- */

static void print_atom(FILE *file, const struct iso_history *history, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length = 4;
    const char *text =
        atom == ISO_ABSENT ? "null" : iso_atom_text(&history->atoms, atom, buffer, &length);
    fprintf(file, "%.*s", (int)length, text);
}

static void print_value(FILE *file, const struct iso_history *history,
                        const struct iso_value *value)
{
    if (!value->is_list) {
        print_atom(file, history, value->atom);
        return;
    }
    fprintf(file, "[");
    for (uint32_t i = 0; i < value->count; i++) {
        fprintf(file, i ? "," : "");
        print_atom(file, history, iso_value_element(value, i));
    }
    fprintf(file, "]");
}

static void print_writer(FILE *file, const struct iso_history *history, uint32_t writer)
{
    fprintf(file, " of ");
    if (writer == ISO_NONE)
        fprintf(file, "-");
    else
        print_atom(file, history, history->txns.tid[writer]);
}

static void print_read(FILE *file, const struct iso_history *history,
                       const struct iso_violation *violation)
{
    fprintf(file, ": ");
    print_value(file, history, &violation->actual);
    if (violation->axiom == ISO_EXT)
        print_writer(file, history, violation->writer_actual);
    fprintf(file, ", not ");
    print_value(file, history, &violation->expected);
    if (violation->axiom == ISO_EXT)
        print_writer(file, history, violation->writer_expected);
}

static void print_violation(FILE *file, const struct iso_history *history,
                            const struct iso_violation *violation)
{
    fprintf(file, "%s ", iso_axiom_name(violation->axiom));
    if (violation->kind != ISO_KIND_NONE)
        fprintf(file, "%s ", iso_violation_kind_name(violation->kind));
    print_atom(file, history, history->txns.tid[violation->transaction]);
    if (violation->other != ISO_NONE) {
        fprintf(file, " ");
        print_atom(file, history, history->txns.tid[violation->other]);
    }
    if (violation->key != ISO_NONE) {
        fprintf(file, " ");
        print_atom(file, history, history->keys.atom[violation->key]);
    }
    if (violation->axiom == ISO_INT || violation->axiom == ISO_EXT)
        print_read(file, history, violation);
    fprintf(file, "\n");
}

char *brief_verdict(const struct iso_verdict *verdict)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        print_violation(file, verdict->history, &verdict->violations[i]);
    fclose(file);
    return text;
}
