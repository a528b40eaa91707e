#define _GNU_SOURCE
#include "native/read.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/team.h"
#include "base/utf8.h"
#include "bytes/input.h"
#include "native/piece.h"
#include "native/recorders.h"

/* Large enough that locks do not matter, small enough that text and block stay in the cache. */
enum { CHUNK_SIZE = 512 << 10, MOST_THREADS = 256 };

struct native_reader {
    const char *const *paths;
    size_t path_count;
    size_t chunk_size;
    const struct iso_read_options *options;
    struct iso_history *history;
    uint64_t bytes_total;
    uint32_t first_input; /* the history's number of paths[0] */
    atomic_bool stop;     /* an error was found: read no more */

    /* the input; by input_lock */
    pthread_mutex_t input_lock;
    struct iso_input *input; /* the current file, NULL: open the next */
    size_t file;
    uint64_t bytes_before; /* of the files that are done */
    uint64_t next_index;
    bool at_end;   /* of the current file */
    bool starting; /* no piece of the current file yet */
    enum piece_layout layout;
    char *rest; /* what was read behind the last piece */
    size_t rest_length, rest_capacity;

    /* the output; by output_lock (taken inside input_lock or alone) */
    pthread_mutex_t output_lock;
    pthread_cond_t piece_freed;
    struct piece *pieces, **free_pieces,
        **waiting; /* waiting[index % piece_count]: parsed, not yet appended */
    size_t piece_count, free_count;
    uint64_t next_append;
    uint64_t lines, column; /* of the current file, behind what was appended */
    struct iso_error *error;
};

/* ---- input: under input_lock ---- */

static void keep_rest(struct native_reader *reader, const char *from, size_t length)
{
    if (reader->rest_capacity < length) {
        iso_free(reader->rest);
        reader->rest = iso_allocate(length);
        reader->rest_capacity = length;
    }
    if (length)
        memcpy(reader->rest, from, length);
    reader->rest_length = length;
}

/* The layout, by the first byte that is not white space. False: there is none yet. */
static bool find_layout(const struct piece *piece, enum piece_layout *layout)
{
    const char *at = piece->text, *end = at + piece->length;
    at += iso_utf8_mark(at, piece->length);
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    *layout = at < end && *at == '[' ? PIECE_ARRAY : PIECE_LINES;
    /* a mark that is not complete yet is not white space */
    return at < end && piece->length >= 3;
}

/* How far the piece's text consists of whole transactions; 0 if that is not known yet. `searched`:
 * where the last look at it ended. */
static size_t find_cut(const struct piece *piece, struct iso_split *split, size_t searched,
                       bool final)
{
    if (piece->layout == PIECE_ARRAY) {
        if (piece->first && !split->scanned)
            split->scanned =
                (size_t)((char *)memchr(piece->text, '[', piece->length) - piece->text) + 1;
        iso_split_scan(split, piece->text, piece->length, final);
        return split->last;
    }
    if (piece->layout == PIECE_AFTER)
        return piece->length;
    const char *newline = memrchr(piece->text + searched, '\n', piece->length - searched);
    return newline ? (size_t)(newline - piece->text) + 1 : 0;
}

static enum iso_status read_more(struct native_reader *reader, struct piece *piece)
{
    size_t want = piece->length < reader->chunk_size ? reader->chunk_size - piece->length
                                                     : piece->length,
           got = 0;
    if (want > ISO_TRANSACTION_LIMIT - piece->length)
        want = ISO_TRANSACTION_LIMIT - piece->length;
    piece_reserve(piece, piece->length + want);
    enum iso_status status =
        reader->at_end
            ? ISO_OK
            : iso_input_read(reader->input, piece->text + piece->length, want, &got, &piece->error);
    if (status != ISO_OK)
        return status;
    reader->at_end = reader->at_end || got < want;
    piece->length += got;
    return ISO_OK;
}

/* Fills the piece and cuts it. */
static enum iso_status fill(struct native_reader *reader, struct piece *piece)
{
    struct iso_split split = {0};
    size_t cut = 0, searched = 0;
    bool known = !reader->starting, final;
    piece->first = reader->starting;
    piece_reserve(piece, reader->rest_length);
    if (reader->rest_length)
        memcpy(piece->text, reader->rest, reader->rest_length);
    piece->length = reader->rest_length;
    do {
        enum iso_status status = read_more(reader, piece);
        if (status != ISO_OK)
            return status;
        piece->cut = !reader->at_end && piece->length >= ISO_TRANSACTION_LIMIT;
        final = reader->at_end || piece->cut;
        known = known || find_layout(piece, &reader->layout) || final;
        if (known) {
            piece->layout = reader->layout;
            cut = find_cut(piece, &split, searched, final);
            searched = piece->length;
        }
    } while (!cut && !final);
    piece->cut = piece->cut && !cut;
    if (split.closed)
        reader->layout = PIECE_AFTER;
    else if (reader->at_end || !cut)
        cut = piece->length;
    keep_rest(reader, piece->text + cut, piece->length - cut);
    piece->length = cut;
    return ISO_OK;
}

static void close_input(struct native_reader *reader)
{
    reader->bytes_before += iso_input_consumed(reader->input);
    iso_input_free(reader->input);
    reader->input = NULL;
    reader->file++;
}

/* The next piece of the input, also if it is an error: then it is the last. False: there is
 * none. */
static bool read_piece(struct native_reader *reader, struct piece *piece)
{
    enum iso_status status = ISO_OK;
    if (reader->file == reader->path_count || atomic_load(&reader->stop))
        return false;
    piece->index = reader->next_index++;
    piece->file = (uint32_t)reader->file;
    if (!reader->input) {
        status = iso_input_open(&reader->input, reader->paths[reader->file], &piece->error);
        reader->at_end = false;
        reader->starting = true;
        reader->rest_length = 0;
    }
    if (status == ISO_OK)
        status = fill(reader, piece);
    if (status != ISO_OK) {
        piece->length = 0;
        piece->layout = PIECE_AFTER;
        atomic_store(&reader->stop, true);
        return true;
    }
    reader->starting = false;
    piece->consumed = reader->bytes_before + iso_input_consumed(reader->input);
    piece->last = reader->at_end && !reader->rest_length;
    if (piece->last)
        close_input(reader);
    return true;
}

/* ---- output: under output_lock ---- */

static bool has_stamp(const struct iso_history *history, uint32_t transaction)
{
    if (history->txns.flags[transaction] & (ISO_HAS_STS | ISO_HAS_CTS))
        return true;
    ISO_EACH(o, history->txns.first_op, transaction) {
        if (history->ops.kind[o] & ISO_OPERATION_OTS)
            return true;
    }
    return false;
}

/* The first transaction with a timestamp. There is one. */
static uint32_t first_stamped(const struct iso_history *history)
{
    uint32_t transaction = 0;
    while (!has_stamp(history, transaction))
        transaction++;
    return transaction;
}

static void mixed_clocks(struct native_reader *reader, const struct piece *piece, uint64_t line)
{
    char first[512];
    bool pairs = reader->history->clock == ISO_CLOCK_PAIR;
    iso_history_location_text(reader->history, first_stamped(reader->history), first, sizeof first);
    iso_error_set(reader->error, ISO_BAD_INPUT, "%s:%llu: timestamps are %s, expected %s as at %s",
                  iso_input_name(reader->paths[piece->file]), (unsigned long long)line,
                  pairs ? "single numbers" : "pairs {p,l}",
                  pairs ? "pairs {p,l}" : "single numbers", first);
}

static void report_fault(struct native_reader *reader, const struct piece *piece)
{
    uint64_t column = piece->fault_column + (piece->fault_line == 1 ? reader->column : 0);
    if (piece->fault.kind == ISO_FAULT_CLOCK)
        mixed_clocks(reader, piece, reader->lines + piece->fault_line);
    else
        iso_error_set(reader->error, ISO_BAD_INPUT, "%s:%llu: byte %llu: %s",
                      iso_input_name(reader->paths[piece->file]),
                      (unsigned long long)(reader->lines + piece->fault_line),
                      (unsigned long long)column, piece->fault.text);
}

/* Appends what the piece holds. False: there was an error. */
static bool append(struct native_reader *reader, struct piece *piece)
{
    struct iso_history *history = reader->history;
    const struct iso_history *block = &piece->block;
    if (piece->first)
        reader->lines = reader->column = 0;
    if (block->clock != ISO_CLOCK_NONE && history->clock != ISO_CLOCK_NONE &&
        block->clock != history->clock) {
        mixed_clocks(reader, piece,
                     reader->lines + iso_origin_offset(block->txns.origin[first_stamped(block)]));
        return false;
    }
    iso_history_append(history, block, reader->first_input + piece->file, reader->lines);
    if (piece->fault.kind != ISO_FAULT_NONE)
        report_fault(reader, piece);
    else if (piece->error.status != ISO_OK)
        *reader->error = piece->error;
    reader->column = piece->lines ? piece->tail : reader->column + piece->tail;
    reader->lines += piece->lines;
    if (reader->options->progress)
        reader->options->progress(reader->options->progress_context, piece->consumed,
                                  reader->bytes_total);
    return reader->error->status == ISO_OK;
}

/* Hands in a parsed piece, and appends all whose turn it is. */
static void hand_in(struct native_reader *reader, struct piece *piece)
{
    pthread_mutex_lock(&reader->output_lock);
    reader->waiting[piece->index % reader->piece_count] = piece;
    while (reader->error->status == ISO_OK) {
        struct piece **next = &reader->waiting[reader->next_append % reader->piece_count],
                     *ready = *next;
        if (!ready)
            break;
        if (!append(reader, ready))
            atomic_store(&reader->stop, true);
        *next = NULL;
        reader->next_append++;
        piece_clear(ready);
        reader->free_pieces[reader->free_count++] = ready;
    }
    pthread_cond_broadcast(&reader->piece_freed);
    pthread_mutex_unlock(&reader->output_lock);
}

/* NULL: there was an error. */
static struct piece *take_piece(struct native_reader *reader)
{
    struct piece *piece = NULL;
    pthread_mutex_lock(&reader->output_lock);
    while (!reader->free_count && reader->error->status == ISO_OK)
        pthread_cond_wait(&reader->piece_freed, &reader->output_lock);
    if (reader->error->status == ISO_OK)
        piece = reader->free_pieces[--reader->free_count];
    pthread_mutex_unlock(&reader->output_lock);
    return piece;
}

static void give_back(struct native_reader *reader, struct piece *piece)
{
    pthread_mutex_lock(&reader->output_lock);
    reader->free_pieces[reader->free_count++] = piece;
    pthread_mutex_unlock(&reader->output_lock);
}

/* ---- workers ---- */

/* Each thread does the same; one that cannot be had is done without. */
static void work(void *context, uint32_t part)
{
    struct native_reader *reader = context;
    (void)part;
    for (bool more = true; more;) {
        pthread_mutex_lock(&reader->input_lock);
        struct piece *piece = take_piece(reader);
        more = piece && read_piece(reader, piece);
        pthread_mutex_unlock(&reader->input_lock);
        if (more) {
            piece_parse(piece);
            hand_in(reader, piece);
        } else if (piece) {
            give_back(reader, piece);
        }
    }
}

static void reader_init(struct native_reader *reader, unsigned threads)
{
    pthread_mutex_init(&reader->input_lock, NULL);
    pthread_mutex_init(&reader->output_lock, NULL);
    pthread_cond_init(&reader->piece_freed, NULL);
    /* Those beyond one a thread let the others run on while one thread is not scheduled. */
    reader->piece_count = threads == 1 ? 1 : 4 * (size_t)threads;
    reader->pieces = iso_allocate_zeroed(reader->piece_count, sizeof *reader->pieces);
    reader->free_pieces = iso_allocate_zeroed(reader->piece_count, sizeof *reader->free_pieces);
    reader->waiting = iso_allocate_zeroed(reader->piece_count, sizeof *reader->waiting);
    for (size_t i = 0; i < reader->piece_count; i++) {
        piece_init(&reader->pieces[i]);
        reader->free_pieces[reader->free_count++] = &reader->pieces[i];
    }
    for (size_t i = 0; i < reader->path_count; i++) {
        uint32_t input = iso_history_input(reader->history, iso_input_name(reader->paths[i]));
        reader->first_input = i ? reader->first_input : input;
        reader->bytes_total += iso_input_size(reader->paths[i]);
    }
}

static void reader_release(struct native_reader *reader)
{
    for (size_t i = 0; i < reader->piece_count; i++)
        piece_release(&reader->pieces[i]);
    ISO_FREE_ALL(reader->pieces, reader->free_pieces, reader->waiting, reader->rest);
    iso_input_free(reader->input);
    pthread_cond_destroy(&reader->piece_freed);
    pthread_mutex_destroy(&reader->output_lock);
    pthread_mutex_destroy(&reader->input_lock);
}

enum iso_status iso_read_history(const char *const *paths, size_t count,
                                 const struct iso_read_options *options,
                                 struct iso_history *history, struct iso_error *error)
{
    unsigned threads = options->threads ? options->threads : 1;
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    struct native_reader reader = {
        .paths = paths,
        .path_count = count,
        .chunk_size = options->chunk_size ? options->chunk_size : CHUNK_SIZE,
        .options = options,
        .history = history,
        .error = error,
    };
    if (history->inputs.count + count > ISO_INPUTS_LIMIT)
        return iso_error_set(error, ISO_BAD_INPUT, "%zu files, expected at most %d", count,
                             ISO_INPUTS_LIMIT);
    struct iso_whole_file *beside = iso_allocate_zeroed(count + 1, sizeof *beside);
    for (size_t i = 0; i < count && error->status == ISO_OK; i++)
        iso_recorders_read(paths[i], &beside[i], error);
    reader_init(&reader, threads);
    if (error->status == ISO_OK)
        iso_parallel(threads, work, &reader);
    for (size_t i = 0; i < count; i++) {
        if (error->status == ISO_OK)
            iso_recorders_compare(&beside[i], reader.first_input + (uint32_t)i, history);
        iso_whole_file_release(&beside[i]);
    }
    iso_free(beside);
    reader_release(&reader);
    return error->status;
}

/* ---- the initial transaction ---- */

enum iso_status iso_read_initial(const char *path, struct iso_history *history,
                                 struct iso_error *error)
{
    struct iso_whole_file file;
    struct iso_native native;
    struct iso_native_fault fault = {.kind = ISO_FAULT_NONE};
    if (iso_whole_file_read(&file, path, error) != ISO_OK)
        return error->status;
    iso_native_init(&native);
    const char *at = file.bytes + iso_utf8_mark(file.bytes, file.length);
    size_t length = file.length - (size_t)(at - file.bytes);
    if (iso_native_read_initial(&native, at, length, history, &fault) != ISO_OK)
        iso_whole_file_fail(iso_input_name(path), &file, at + fault.position, error, "%s",
                            fault.text);
    iso_native_release(&native);
    iso_whole_file_release(&file);
    return error->status;
}
