/* .hist text: transactions in brackets, sessions with a line of dashes between.
 *
 *     [x:=1 y:=2] [y==2 x:=3]   // writes are :=, reads ==
 *     ---
 *     [x==1 y:=4]!              // ! marks an aborted one
 *     [z==?]                    // a read of the initial state: absent
 */
#include "formats/format_private.h"

struct hist_reader {
    const char *path;
    const struct iso_whole_file *file;
    const char *at, *end;
    struct iso_history *history;
    struct iso_error *error;
    struct format_mops mops;
    struct format_line line;
    uint32_t session;
};

static enum iso_status fail(struct hist_reader *reader, const char *expected)
{
    if (reader->at < reader->end)
        return iso_whole_file_fail(
            reader->path, reader->file, reader->at, reader->error, "found '%c', expected %s",
            *reader->at >= ' ' && *reader->at < 0x7f ? *reader->at : '?', expected);
    return iso_whole_file_fail(reader->path, reader->file, reader->at, reader->error,
                               "the text ends here, expected %s", expected);
}

static bool at_text(const struct hist_reader *reader, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(reader->end - reader->at) >= length && !memcmp(reader->at, text, length);
}

static void skip_blank(struct hist_reader *reader)
{
    while (reader->at < reader->end) {
        char byte = *reader->at;
        if (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n') {
            reader->at++;
        } else if (at_text(reader, "//")) {
            while (reader->at < reader->end && *reader->at != '\n')
                reader->at++;
        } else {
            return;
        }
    }
}

static bool is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

static bool take_word(struct hist_reader *reader, iso_atom *atom)
{
    const char *first = reader->at;
    while (reader->at < reader->end && is_word(*reader->at))
        reader->at++;
    *atom = iso_atoms_text(&reader->history->atoms, first, (size_t)(reader->at - first));
    return reader->at > first;
}

static enum iso_status read_operation(struct hist_reader *reader)
{
    struct format_mop mop = {.value = ISO_ABSENT};
    if (!take_word(reader, &mop.key))
        return fail(reader, "a variable's name or ']'");
    bool write = at_text(reader, ":=");
    if (!write && !at_text(reader, "=="))
        return fail(reader, "':=' or '=='");
    reader->at += 2;
    mop.kind = write ? ISO_WRITE : ISO_READ;
    if (!write && at_text(reader, "?"))
        reader->at++;
    else if (!take_word(reader, &mop.value))
        return fail(reader, write ? "a value" : "a value or '?'");
    format_mops_add(&reader->mops, mop);
    return ISO_OK;
}

static enum iso_status read_transaction(struct hist_reader *reader)
{
    struct iso_history *history = reader->history;
    uint64_t origin = iso_origin(0, format_line_of(&reader->line, reader->file, reader->at));
    reader->mops.count = 0;
    reader->at++;
    for (skip_blank(reader); !at_text(reader, "]"); skip_blank(reader)) {
        enum iso_status status = read_operation(reader);
        if (status != ISO_OK)
            return status;
    }
    reader->at++;
    bool aborted = at_text(reader, "!");
    reader->at += aborted;
    format_mops_emit(&reader->mops, history, history->txns.count, reader->session,
                     aborted ? ISO_ABORTED : ISO_COMMITTED, origin);
    return ISO_OK;
}

static enum iso_status read_all(struct hist_reader *reader)
{
    enum iso_status status = ISO_OK;
    for (skip_blank(reader); status == ISO_OK && reader->at < reader->end; skip_blank(reader)) {
        if (*reader->at == '[') {
            status = read_transaction(reader);
        } else if (at_text(reader, "--")) {
            while (reader->at < reader->end && *reader->at == '-')
                reader->at++;
            reader->session++;
        } else {
            status = fail(reader, "'[' or a line of dashes");
        }
    }
    return status;
}

enum iso_status format_hist_read(const char *path, const struct iso_whole_file *file,
                                 struct iso_history *history, struct iso_error *error)
{
    struct hist_reader reader = {.path = path, .file = file, .history = history, .error = error};
    reader.at = file->bytes;
    reader.end = file->bytes + file->length;
    enum iso_status status = read_all(&reader);
    format_mops_release(&reader.mops);
    return status;
}
