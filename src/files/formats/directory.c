/* Histories that are directories: which files they are, and whether those are what they seem to
 * be. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "formats/format_private.h"

static bool has_file(const char *directory, const char *name)
{
    char path[PATH_MAX + 64];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* How many folders of a directory hold a dbcop history. */
static unsigned count_histories(const char *directory)
{
    unsigned count = 0;
    DIR *stream = opendir(directory);
    if (!stream)
        return 0;
    for (struct dirent *entry; (entry = readdir(stream));) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        count += entry->d_name[0] != '.' && has_file(path, "history.bincode");
    }
    closedir(stream);
    return count;
}

/* ---- logs: programs of every kind write *.log ---- */

/* A start, and behind it, with or without a clock, the next record. */
static bool is_cobra(const char *head, size_t length)
{
    static const char tags[] = "SCWR";
    return *head == 'S' && length >= 9 &&
           (length == 9 || memchr(tags, head[9], 4) || (length > 17 && memchr(tags, head[17], 4)));
}

/* Guesses the format from the log's first bytes; false: neither. An empty log is a session that
 * did nothing, in either format. */
static bool guess_log(const char *path, bool *is_empty, enum iso_format *format)
{
    char head[FORMAT_HEAD];
    size_t length = format_head(path, head), at = 0;
    while (at < length &&
           (head[at] == ' ' || head[at] == '\t' || head[at] == '\r' || head[at] == '\n'))
        at++;
    *is_empty = at == length;
    if (*is_empty)
        return true;
    *format = head[at] == '{' ? iso_format_of_text(head, length) : ISO_FORMAT_COBRA;
    return head[at] == '{' ? *format == ISO_FORMAT_VIPER : is_cobra(head, length);
}

static enum iso_status guess_logs(const struct iso_paths *logs, enum iso_format *format,
                                  struct iso_error *error)
{
    const char *first = NULL;
    *format = ISO_FORMAT_COBRA;
    for (uint32_t i = 0; i < logs->count; i++) {
        enum iso_format guessed;
        bool is_empty;
        if (!guess_log(logs->paths[i], &is_empty, &guessed))
            return iso_error_set(
                error, ISO_BAD_INPUT,
                "%s: no log of Cobra or Viper, as which *.log of a directory are read; expected those "
                "of one history and no others, or the name of a file",
                logs->paths[i]);
        if (is_empty)
            continue;
        if (first && guessed != *format)
            return iso_error_set(
                error, ISO_BAD_INPUT,
                "%s: a log of %s, beside %s of %s; expected those of one history and no others",
                logs->paths[i], iso_format_name(guessed), first, iso_format_name(*format));
        first = logs->paths[i];
        *format = guessed;
    }
    return ISO_OK;
}

enum iso_status format_directory_guess(const char *path, enum iso_format *format,
                                       struct iso_error *error)
{
    struct iso_paths logs;
    unsigned several;
    if (iso_paths_list(&logs, path, ".log", error) != ISO_OK)
        return error->status;
    if (has_file(path, "history.bincode"))
        *format = ISO_FORMAT_DBCOP;
    else if (logs.count)
        guess_logs(&logs, format, error);
    else if ((several = count_histories(path)))
        iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: %u folders here hold a history.bincode each; expected one history: name its folder",
            path, several);
    else
        iso_error_set(error, ISO_BAD_INPUT,
                      "%s: a directory without a history; expected *.log files (Cobra, Viper) or "
                      "history.bincode (dbcop)",
                      path);
    iso_paths_release(&logs);
    return error->status;
}

/* ---- what was taken ---- */

void iso_format_files(const char *path, enum iso_format format, struct iso_text *text)
{
    enum { NAMED = 8 };
    struct iso_error error = {.status = ISO_OK};
    struct iso_paths all, taken = {0};
    const char *suffix = format == ISO_FORMAT_DBCOP ? "history.bincode" : ".log";
    iso_paths_list(&all, path, "", &error);
    if (error.status == ISO_OK)
        iso_paths_list(&taken, path, suffix, &error); /* where it fails, reading it says why */
    for (uint32_t i = 0; i < taken.count && i < NAMED; i++) {
        iso_text_format(text, "%s%s", i ? ", " : "", strrchr(taken.paths[i], '/') + 1);
    }
    if (taken.count > NAMED) {
        iso_text_format(text, " and %" PRIu32 " more", taken.count - NAMED);
    }
    uint32_t others = all.count > taken.count ? all.count - taken.count : 0;
    if (others) {
        iso_text_format(text, "; %" PRIu32 "%s", others,
                        others == 1 ? " other file is left out" : " other files are left out");
    }
    iso_paths_release(&all);
    iso_paths_release(&taken);
}
