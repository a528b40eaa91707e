/* AWDIT's test text: `r key value` or `w key value` a line, `---` between transactions, `===` between
 * sessions. The initial transaction is explicit, an ordinary one; nothing else has a value at first. */
#include <string.h>

#include "io/format_private.h"
#include "io/whole_file.h"

struct place {
    struct iso_history *history;
    uint32_t session;
    bool open; /* a transaction has begun, and no rule of dashes came since */
};

static bool is_rule(const char *at, const char *end, char byte)
{
    if (at == end)
        return false;
    while (at < end && *at == byte)
        at++;
    return at == end;
}

/* A word up to the next blank. */
static bool take_word(const char **at, const char *end, const char **word, size_t *length)
{
    while (*at < end && (**at == ' ' || **at == '\t'))
        (*at)++;
    *word = *at;
    while (*at < end && **at != ' ' && **at != '\t')
        (*at)++;
    *length = (size_t)(*at - *word);
    return *length > 0;
}

static bool add_operation(struct place *place, const char *at, const char *end, uint32_t line)
{
    struct iso_history *history = place->history;
    const char *kind, *key, *value, *rest;
    size_t kind_length, key_length, value_length, rest_length;
    if (!take_word(&at, end, &kind, &kind_length) || !take_word(&at, end, &key, &key_length) ||
        !take_word(&at, end, &value, &value_length) || take_word(&at, end, &rest, &rest_length) ||
        kind_length != 1 || (*kind != 'r' && *kind != 'w'))
        return false;
    if (!place->open)
        iso_history_begin(history, history->transaction_count, place->session, ISO_COMMITTED,
                          iso_origin(0, line));
    place->open = true;
    iso_history_operation(history, *kind == 'w' ? ISO_WRITE : ISO_READ,
                          iso_atoms_text(&history->atoms, key, key_length),
                          iso_atoms_text(&history->atoms, value, value_length));
    return true;
}

enum iso_status format_awdit_read(const char *path, struct iso_history *history, struct iso_error *error)
{
    struct iso_whole_file file;
    struct place place = {.history = history};
    enum iso_status status = iso_whole_file_read(&file, path, error);
    if (status != ISO_OK)
        return status;
    iso_history_input(history, path);
    const char *at = file.bytes, *end = at + file.length;
    for (uint32_t line = 1; at < end && status == ISO_OK; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        while (stop > at && (stop[-1] == '\r' || stop[-1] == ' '))
            stop--;
        if (is_rule(at, stop, '=')) {
            place.session++;
            place.open = false;
        } else if (is_rule(at, stop, '-')) {
            place.open = false;
        } else if (at < stop && !add_operation(&place, at, stop, line)) {
            status = iso_error_set(error, ISO_BAD_INPUT,
                                   "%s:%u: found '%.*s', expected 'r KEY VALUE', 'w KEY VALUE', ==== or ----",
                                   path, line, (int)(stop - at < 60 ? stop - at : 60), at);
        }
        at = next;
    }
    iso_whole_file_release(&file);
    return status;
}
