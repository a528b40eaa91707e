/* AWDIT's test text: `w KEY VALUE` or `r KEY VALUE` a line; a line of dashes ends a transaction,
 * one of equals signs a session. Empty pieces do not count. Every key starts at 0 unless somebody
 * writes 0 to it.
 */

#include "formats/format_private.h"

struct awdit_reader {
    const char *path;
    const struct iso_whole_file *file;
    struct iso_history *history;
    struct iso_error *error;
    struct format_line line;
    uint32_t session;         /* of the next transaction */
    bool open, session_begun; /* a transaction; a transaction of this session */
};

static bool consists_of(const char *at, const char *end, char byte)
{
    while (at < end && *at == byte)
        at++;
    return at == end;
}

static bool take_blanks(const char **at, const char *end)
{
    const char *first = *at;
    while (*at < end && (**at == ' ' || **at == '\t'))
        (*at)++;
    return *at > first;
}

static enum iso_status read_operation(struct awdit_reader *reader, const char *at, const char *end)
{
    struct iso_history *history = reader->history;
    const char *line = at;
    uint64_t key, value;
    bool write = *at == 'w', fine = write || *at == 'r';
    at++;
    fine = fine && take_blanks(&at, end) && iso_bytes_take_decimal(&at, end, &key) &&
           take_blanks(&at, end) && iso_bytes_take_decimal(&at, end, &value) && at == end;
    if (!fine)
        return iso_whole_file_fail(
            reader->path, reader->file, line, reader->error,
            "found '%.*s', expected 'r KEY VALUE' or 'w KEY VALUE', numbers of 64 bits, or a line of - or =",
            (int)(end - line < 60 ? end - line : 60), line);
    if (!reader->open)
        iso_history_begin(history, history->txns.count, reader->session, ISO_COMMITTED,
                          iso_origin(0, format_line_of(&reader->line, reader->file, line)));
    reader->open = reader->session_begun = true;
    iso_history_operation(history, write ? ISO_WRITE : ISO_READ,
                          iso_atoms_unsigned(&history->atoms, key),
                          iso_atoms_unsigned(&history->atoms, value));
    return ISO_OK;
}

static enum iso_status read_line(struct awdit_reader *reader, const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    if (at == end)
        return ISO_OK;
    bool ends_session = consists_of(at, end, '=');
    if (!ends_session && !consists_of(at, end, '-'))
        return read_operation(reader, at, end);
    reader->open = false;
    if (ends_session && reader->session_begun) {
        reader->session++;
        reader->session_begun = false;
    }
    return ISO_OK;
}

enum iso_status format_awdit_read(const char *path, const struct iso_whole_file *file,
                                  struct iso_history *history, struct iso_error *error)
{
    struct awdit_reader reader = {.path = path, .file = file, .history = history, .error = error};
    const char *at = file->bytes, *end = at + file->length;
    enum iso_status status = ISO_OK;
    while (status == ISO_OK && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        status = read_line(&reader, at, stop ? stop : end);
        at = stop ? stop + 1 : end;
    }
    if (status == ISO_OK)
        format_set_initial_zero(history);
    return status;
}
