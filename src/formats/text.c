/* One operation a line: `w(key,value,session,txn)`. PolySI, Plume, IsoVista and AWDIT write it.
 *
 * Operations of a transaction need not stand together; transactions of a session come in the order of their
 * first lines. `txn` -1 is an aborted operation: each write becomes an aborted transaction of its own, reads
 * are dropped. Every key starts at 0 unless somebody writes 0 to it: then no read of 0 is initial.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number_map.h"
#include "formats/format_private.h"
#include "bytes/whole_file.h"

struct line {
    uint64_t key, value, session, transaction;
    uint32_t place; /* line number */
    bool write, aborted;
};

struct lines {
    struct line *lines;
    uint32_t count, capacity;
};

static bool take_number(const char **at, const char *end, char stop, uint64_t *number)
{
    const char *first = *at;
    *number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        unsigned digit = (unsigned)(**at - '0');
        if (__builtin_mul_overflow(*number, 10u, number) || __builtin_add_overflow(*number, digit, number))
            return false;
    }
    if (*at == first || *at == end || **at != stop)
        return false;
    (*at)++;
    return true;
}

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

static enum iso_status parse(struct lines *lines, const char *path, const struct iso_whole_file *file,
                             struct iso_error *error)
{
    const char *at = file->bytes, *end = at + file->length;
    for (uint32_t number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        stop -= stop > at && stop[-1] == '\r';
        struct line line = {.place = number};
        if (!parse_line(at, stop, &line))
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "%s:%u: found '%.*s', expected r(key,value,session,txn) or w(...), all of 64 bits",
                                 path, number, (int)(stop - at < 60 ? stop - at : 60), at);
        ISO_GROW_COLUMN(lines->lines, lines->count, lines->capacity);
        lines->lines[lines->count++] = line;
        at = next;
    }
    return ISO_OK;
}

/* Numbers transactions by their first lines; `number_of_line`, and how many lines each has. */
struct grouping {
    struct iso_number_map by_id;
    uint32_t *first_line, *number_of_line, *start, *order;
    uint32_t count;
};

static uint32_t find_group(struct grouping *grouping, uint64_t id, uint32_t line)
{
    uint32_t group = iso_number_map_add(&grouping->by_id, id, grouping->count);
    if (group == grouping->count)
        grouping->first_line[grouping->count++] = line;
    return group;
}

static void group(struct grouping *grouping, const struct lines *lines)
{
    size_t count = (size_t)lines->count + 1;
    *grouping = (struct grouping){0};
    grouping->first_line = iso_allocate(count * sizeof *grouping->first_line);
    grouping->number_of_line = iso_allocate(count * sizeof *grouping->number_of_line);
    grouping->start = iso_allocate_zeroed(count + 2, sizeof *grouping->start);
    grouping->order = iso_allocate(count * sizeof *grouping->order);
    for (uint32_t i = 0; i < lines->count; i++) {
        if (!lines->lines[i].aborted)
            grouping->start[2 + (grouping->number_of_line[i] = find_group(grouping, lines->lines[i].transaction, i))]++;
    }
    for (uint32_t g = 0; g < grouping->count; g++)
        grouping->start[g + 2] += grouping->start[g + 1];
    for (uint32_t i = 0; i < lines->count; i++) {
        if (!lines->lines[i].aborted)
            grouping->order[grouping->start[grouping->number_of_line[i] + 1]++] = i;
    }
}

static void release_grouping(struct grouping *grouping)
{
    iso_number_map_release(&grouping->by_id);
    iso_free(grouping->first_line);
    iso_free(grouping->number_of_line);
    iso_free(grouping->start);
    iso_free(grouping->order);
}

static void add_operation(struct iso_history *history, const struct line *line)
{
    iso_history_operation(history, line->write ? ISO_WRITE : ISO_READ, iso_atoms_unsigned(&history->atoms, line->key),
                          iso_atoms_unsigned(&history->atoms, line->value));
}

static void add_aborted(struct iso_history *history, const struct line *line)
{
    char text[32];
    int length = snprintf(text, sizeof text, "aborted:%u", line->place);
    iso_history_begin(history, iso_atoms_add_string(&history->atoms, text, (size_t)length),
                      iso_atoms_unsigned(&history->atoms, line->session), ISO_ABORTED, iso_origin(0, line->place));
    add_operation(history, line);
}

static enum iso_status build(struct iso_history *history, const struct lines *lines, const struct grouping *grouping,
                             struct iso_error *error)
{
    for (uint32_t g = 0; g < grouping->count; g++) {
        const struct line *first = &lines->lines[grouping->first_line[g]];
        iso_history_begin(history, iso_atoms_unsigned(&history->atoms, first->transaction),
                          iso_atoms_unsigned(&history->atoms, first->session), ISO_COMMITTED,
                          iso_origin(0, first->place));
        for (uint32_t i = grouping->start[g]; i < grouping->start[g + 1]; i++) {
            const struct line *line = &lines->lines[grouping->order[i]];
            if (line->session != first->session)
                return iso_error_set(error, ISO_BAD_INPUT,
                                     "%s:%u: transaction %llu is of session %llu here and of session %llu on line %u",
                                     history->inputs[0], line->place, (unsigned long long)line->transaction,
                                     (unsigned long long)line->session, (unsigned long long)first->session,
                                     first->place);
            add_operation(history, line);
        }
    }
    for (uint32_t i = 0; i < lines->count; i++) {
        if (lines->lines[i].aborted && lines->lines[i].write)
            add_aborted(history, &lines->lines[i]);
    }
    return ISO_OK;
}

enum iso_status format_text_read(const char *path, struct iso_history *history, struct iso_error *error)
{
    struct iso_whole_file file;
    struct lines lines = {0};
    enum iso_status status = iso_whole_file_read(&file, path, error);
    if (status != ISO_OK)
        return status;
    iso_history_input(history, path);
    status = parse(&lines, path, &file, error);
    if (status == ISO_OK) {
        struct grouping grouping;
        group(&grouping, &lines);
        status = build(history, &lines, &grouping, error);
        if (status == ISO_OK)
            format_set_initial_zero(history);
        release_grouping(&grouping);
    }
    iso_column_free(lines.lines, lines.capacity * sizeof *lines.lines);
    iso_whole_file_release(&file);
    return status;
}
