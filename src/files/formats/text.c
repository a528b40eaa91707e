/* One operation a line: `w(key,value,session,txn)`. PolySI, Plume, IsoVista and AWDIT write it.
 *
 * Operations of a transaction need not stand together; transactions of a session come in the order
 * of their first lines. `txn` -1 is an aborted operation: each write becomes an aborted transaction
 * of its own, reads are dropped. Every key starts at 0 unless somebody writes 0 to it: then no read
 * of 0 is initial.
 *
 * The file is read in rounds: a piece for each thread, which ends behind a whole line and becomes a
 * block of its own. There, and in the history that blocks are appended to, a *run* of lines that
 * name one transaction stands as a transaction. Mostly that is what they are, but for a run that a
 * piece's end has cut; else the history is put together anew at the end.
 */
#include <stdio.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/number_map.h"
#include "base/numbers.h"
#include "base/team.h"
#include "bytes/input.h"
#include "formats/format_private.h"
#include "history/index.h"

enum { PIECE = 1 << 20, SHORTEST_LINE = 11, MOST_THREADS = 64 };

/* ---- lines ---- */

struct line {
    uint64_t key, value, session, transaction;
    bool write, aborted;
};

static bool take_number(const char **at, const char *end, char stop, uint64_t *number)
{
    if (!iso_bytes_take_decimal(at, end, number) || *at == end || **at != stop)
        return false;
    (*at)++;
    return true;
}

/* Any line; `end`: its own. */
static bool parse_line(const char *at, const char *end, struct line *line)
{
    if (end - at < 2 || (at[0] != 'r' && at[0] != 'w') || at[1] != '(')
        return false;
    line->write = at[0] == 'w';
    at += 2;
    if (!take_number(&at, end, ',', &line->key) || !take_number(&at, end, ',', &line->value) ||
        !take_number(&at, end, ',', &line->session))
        return false;
    line->aborted = end - at == 3 && memcmp(at, "-1)", 3) == 0;
    return line->aborted || (take_number(&at, end, ')', &line->transaction) && at == end);
}

/* A number of one to eight digits. Reads 8 bytes from `*at` on. */
static inline bool short_number(const char **at, char stop, uint64_t *number)
{
    unsigned digits = iso_bytes_digits(*at, number);
    *at += digits + 1;
    return digits && (*at)[-1] == stop;
}

/* Most lines, with what follows them; NULL: parse_line() is to say. Zero bytes or other lines stand
 * behind the piece. */
static inline const char *parse_short_line(const char *at, const char *end, struct line *line)
{
    if (end - at < SHORTEST_LINE || (at[0] != 'r' && at[0] != 'w') || at[1] != '(')
        return NULL;
    line->write = at[0] == 'w';
    line->aborted = false;
    at += 2;
    if (!short_number(&at, ',', &line->key) || !short_number(&at, ',', &line->value) ||
        !short_number(&at, ',', &line->session) || !short_number(&at, ')', &line->transaction))
        return NULL;
    return *at == '\n' && at < end ? at + 1 : NULL;
}

/* ---- pieces ---- */

struct piece {
    const char *at, *end;
    struct iso_history block; /* origins: lines, from 1 */
    uint32_t lines;           /* parsed */
    const char *fault;        /* the line behind them, which cannot be, or NULL */
};

struct run {
    uint64_t transaction, session;
    bool open;
};

static void end_run(struct piece *piece, struct run *run)
{
    if (run->open)
        iso_history_close(&piece->block);
    run->open = false;
}

static void start_run(struct piece *piece, struct run *run, const struct line *line)
{
    struct iso_atoms *atoms = &piece->block.atoms;
    end_run(piece, run);
    iso_history_begin(&piece->block,
                      line->aborted ? ISO_ABSENT : iso_atoms_unsigned(atoms, line->transaction),
                      iso_atoms_unsigned(atoms, line->session),
                      line->aborted ? ISO_ABORTED : ISO_COMMITTED, iso_origin(0, piece->lines));
    *run = (struct run){line->transaction, line->session, true};
}

static inline void add_operation(struct iso_history *block, const struct line *line)
{
    iso_atom key = iso_atoms_unsigned(&block->atoms, line->key);
    uint32_t operation = block->ops.count++, known = iso_atom_index_known(block->keys.index, key);
    block->ops.kind[operation] = line->write ? ISO_WRITE : ISO_READ;
    block->ops.value[operation] = iso_atoms_unsigned(&block->atoms, line->value);
    block->ops.key[operation] = known != ISO_NONE ? known : iso_history_key(block, key);
}

static inline void add_line(struct piece *piece, struct run *run, const struct line *line)
{
    if (line->aborted) {
        if (line->write) {
            start_run(piece, run, line);
            add_operation(&piece->block, line);
        }
        end_run(piece, run);
        return;
    }
    if (!run->open || run->transaction != line->transaction || run->session != line->session)
        start_run(piece, run, line);
    add_operation(&piece->block, line);
}

static void parse_piece(void *context, unsigned part)
{
    struct piece *piece = (struct piece *)context + part;
    struct run run = {.open = false};
    struct line line = {0};
    iso_history_clear(&piece->block);
    iso_history_reserve_operations(&piece->block,
                                   (uint32_t)((piece->end - piece->at) / SHORTEST_LINE) + 1);
    piece->lines = 0;
    piece->fault = NULL;
    for (const char *at = piece->at, *next; at < piece->end; at = next) {
        next = parse_short_line(at, piece->end, &line);
        if (!next) {
            const char *stop = memchr(at, '\n', (size_t)(piece->end - at));
            next = stop ? stop + 1 : piece->end;
            stop = stop ? stop : piece->end;
            stop -= stop > at && stop[-1] == '\r';
            if (!parse_line(at, stop, &line)) {
                piece->fault = at;
                break;
            }
        }
        piece->lines++;
        add_line(piece, &run, &line);
    }
    end_run(piece, &run);
}

/* ---- the file ---- */

struct text_reader {
    const char *path;
    struct iso_history *history;
    struct iso_input *input;
    char *bytes;
    size_t length, capacity;
    bool at_end;
    uint64_t lines; /* of the pieces before */
    unsigned threads;
    struct piece pieces[MOST_THREADS];
};

/* Until a line ends in it, or the file. `*whole`: how far its lines are. */
static enum iso_status fill(struct text_reader *reader, size_t *whole, struct iso_error *error)
{
    size_t want = (size_t)PIECE * reader->threads, got;
    for (;;) {
        ISO_RESERVE(reader->bytes, reader->length + want + ISO_WHOLE_FILE_PADDING,
                    reader->capacity);
        if (iso_input_read(reader->input, reader->bytes + reader->length, want, &got, error) !=
            ISO_OK)
            return error->status;
        reader->at_end = got < want;
        reader->length += got;
        memset(reader->bytes + reader->length, 0, ISO_WHOLE_FILE_PADDING);
        *whole = reader->length;
        while (!reader->at_end && *whole && reader->bytes[*whole - 1] != '\n')
            --*whole;
        if (reader->at_end || *whole)
            return ISO_OK;
        want = reader->length;
    }
}

static void cut(struct text_reader *reader, size_t whole)
{
    const char *at = reader->bytes, *end = at + whole;
    for (unsigned i = 0; i < reader->threads; i++) {
        const char *stop = at + (end - at) / (reader->threads - i);
        stop = stop < end ? memchr(stop, '\n', (size_t)(end - stop)) : NULL;
        reader->pieces[i].at = at;
        reader->pieces[i].end = at = stop ? stop + 1 : end;
    }
}

static enum iso_status append(struct text_reader *reader, const struct piece *piece,
                              struct iso_error *error)
{
    iso_history_append(reader->history, &piece->block, 0, reader->lines);
    reader->lines += piece->lines;
    if (!piece->fault)
        return ISO_OK;
    const char *at = piece->fault, *stop = memchr(at, '\n', (size_t)(piece->end - at));
    stop = stop ? stop : piece->end;
    stop -= stop > at && stop[-1] == '\r';
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "%s:%llu: found '%.*s', expected r(key,value,session,txn) or w(...), all of 64 bits",
        reader->path, (unsigned long long)reader->lines + 1, (int)(stop - at < 60 ? stop - at : 60),
        at);
}

static enum iso_status read_pieces(struct text_reader *reader, struct iso_error *error)
{
    size_t whole = 0;
    while (!reader->at_end) {
        if (fill(reader, &whole, error) != ISO_OK)
            return error->status;
        cut(reader, whole);
        iso_parallel(reader->threads, parse_piece, reader->pieces);
        for (unsigned i = 0; i < reader->threads; i++) {
            if (append(reader, &reader->pieces[i], error) != ISO_OK)
                return error->status;
        }
        memmove(reader->bytes, reader->bytes + whole, reader->length - whole);
        reader->length -= whole;
    }
    return ISO_OK;
}

/* ---- runs to transactions ---- */

/* Those that stand side by side become one. */
static void join_neighbours(struct iso_history *history)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (count && history->txns.tid[t] != ISO_ABSENT &&
            history->txns.tid[count - 1] == history->txns.tid[t] &&
            history->txns.session[count - 1] == history->txns.session[t]) {
            history->txns.flags[count - 1] |= history->txns.flags[t];
        } else {
            history->txns.flags[count] = history->txns.flags[t];
            history->txns.tid[count] = history->txns.tid[t];
            history->txns.session[count] = history->txns.session[t];
            history->txns.origin[count] = history->txns.origin[t];
            count++;
        }
        history->txns.first_op[count] = history->txns.first_op[t + 1];
    }
    history->txns.count = count;
}

/* The runs of each transaction: run[first[g]] to run[first[g + 1] - 1]; of those that aborted
 * none. */
struct groups {
    uint32_t count, *first, *run;
};

static void group(struct groups *groups, const struct iso_history *history)
{
    uint32_t n = history->txns.count, *of = iso_numbers(n), count = 0;
    struct iso_number_map by_tid = {0};
    groups->first = iso_numbers_zero((size_t)n + 2);
    groups->run = iso_numbers(n);
    for (uint32_t t = 0; t < n; t++) {
        if (history->txns.tid[t] == ISO_ABSENT)
            continue;
        of[t] = iso_number_map_add(&by_tid, history->txns.tid[t], count);
        count += of[t] == count;
        groups->first[of[t] + 2]++;
    }
    groups->count = count;
    for (uint32_t g = 0; g < count; g++)
        groups->first[g + 2] += groups->first[g + 1];
    for (uint32_t t = 0; t < n; t++) {
        if (history->txns.tid[t] != ISO_ABSENT)
            groups->run[groups->first[of[t] + 1]++] = t;
    }
    iso_number_map_release(&by_tid);
    iso_free(of);
}

/* Whether each run is a committed transaction. One bit a number: they are dense as a rule; false of
 * others. */
static bool are_transactions(const struct iso_history *history)
{
    uint32_t n = history->txns.count;
    iso_atom largest = 0;
    for (uint32_t t = 0; t < n; t++)
        largest = history->txns.tid[t] > largest ? history->txns.tid[t] : largest;
    if (largest / 32 > n)
        return false;
    uint64_t *seen = iso_allocate_zeroed((size_t)largest / 64 + 1, sizeof *seen);
    bool unique = true;
    for (uint32_t t = 0; t < n && unique; t++) {
        uint64_t bit = (uint64_t)1 << (history->txns.tid[t] & 63),
                 *word = &seen[history->txns.tid[t] >> 6];
        unique = !(*word & bit);
        *word |= bit;
    }
    iso_free(seen);
    return unique;
}

static void add_run(struct iso_history *to, const struct iso_history *from, uint32_t run)
{
    ISO_EACH(o, from->txns.first_op, run)
        iso_history_operation(to, iso_kind_of(from, o), from->keys.atom[from->ops.key[o]],
                              from->ops.value[o]);
}

static unsigned long long line_of(const struct iso_history *history, uint32_t run)
{
    return (unsigned long long)iso_origin_offset(history->txns.origin[run]);
}

static enum iso_status two_sessions(const struct iso_history *history,
                                    const struct iso_atoms *atoms, uint32_t run, uint32_t other,
                                    struct iso_error *error)
{
    char tid[ISO_ATOM_TEXT_MAX], here[ISO_ATOM_TEXT_MAX], there[ISO_ATOM_TEXT_MAX];
    size_t tid_length, here_length, there_length;
    const char *tid_text = iso_atom_text(atoms, history->txns.tid[run], tid, &tid_length);
    const char *here_text = iso_atom_text(atoms, history->sessions.atom[history->txns.session[run]],
                                          here, &here_length);
    const char *there_text = iso_atom_text(
        atoms, history->sessions.atom[history->txns.session[other]], there, &there_length);
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "%s:%llu: transaction %.*s is of session %.*s here and of session %.*s on line %llu",
        history->inputs.names[0], line_of(history, run), (int)tid_length, tid_text,
        (int)here_length, here_text, (int)there_length, there_text, line_of(history, other));
}

/* Groups the operations by transaction, in an empty history that takes the atoms. */
static enum iso_status regroup(struct iso_history *to, const struct iso_history *from,
                               const struct groups *groups, struct iso_error *error)
{
    iso_history_input(to, from->inputs.names[0]);
    for (uint32_t g = 0; g < groups->count && error->status == ISO_OK; g++) {
        uint32_t first = groups->run[groups->first[g]];
        iso_history_begin(to, from->txns.tid[first], from->sessions.atom[from->txns.session[first]],
                          ISO_COMMITTED, from->txns.origin[first]);
        for (uint32_t i = groups->first[g]; i < groups->first[g + 1] && error->status == ISO_OK;
             i++) {
            add_run(to, from, groups->run[i]);
            if (from->txns.session[groups->run[i]] != from->txns.session[first])
                two_sessions(from, &to->atoms, groups->run[i], first, error);
        }
    }
    for (uint32_t t = 0; t < from->txns.count; t++) {
        if (from->txns.tid[t] != ISO_ABSENT)
            continue;
        char text[40];
        int length = snprintf(text, sizeof text, "aborted:%llu", line_of(from, t));
        iso_history_begin(to, iso_atoms_add_string(&to->atoms, text, (size_t)length),
                          from->sessions.atom[from->txns.session[t]], ISO_ABORTED,
                          from->txns.origin[t]);
        add_run(to, from, t);
    }
    return error->status;
}

static void swap_atoms(struct iso_history *one, struct iso_history *other)
{
    struct iso_atoms atoms = one->atoms;
    one->atoms = other->atoms;
    other->atoms = atoms;
}

static enum iso_status make_transactions(struct iso_history *history, struct iso_error *error)
{
    join_neighbours(history);
    if (are_transactions(history))
        return ISO_OK;
    struct groups groups;
    group(&groups, history);
    if (groups.count < history->txns.count) {
        struct iso_history grouped;
        iso_history_init(&grouped);
        swap_atoms(&grouped, history);
        regroup(&grouped, history, &groups, error);
        iso_history_release(history);
        *history = grouped;
    }
    ISO_FREE_ALL(groups.first, groups.run);
    return error->status;
}

enum iso_status format_text_read(const char *path, unsigned threads, struct iso_history *history,
                                 struct iso_error *error)
{
    struct text_reader *reader = iso_allocate_zeroed(1, sizeof *reader);
    reader->path = path;
    reader->history = history;
    reader->threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    for (unsigned i = 0; i < reader->threads; i++)
        iso_history_init(&reader->pieces[i].block);
    iso_history_input(history, path);
    if (iso_input_open(&reader->input, path, error) == ISO_OK)
        read_pieces(reader, error);
    iso_input_free(reader->input);
    iso_free(reader->bytes);
    for (unsigned i = 0; i < reader->threads; i++)
        iso_history_release(&reader->pieces[i].block);
    iso_free(reader);
    if (error->status == ISO_OK && make_transactions(history, error) == ISO_OK)
        format_set_initial_zero(history);
    return error->status;
}
