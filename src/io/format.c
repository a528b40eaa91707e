#include "io/format.h"

#include <stdio.h>
#include <string.h>

#include "io/format_private.h"
#include "io/whole_file.h"

enum { HEAD = 4096 };

/* The first bytes of a file, NUL-terminated, without leading white space. */
struct head {
    const char *path;
    bool is_directory;
    char bytes[HEAD + 1];
    size_t length;
};

static bool read_head(struct head *head, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    head->length = fread(head->bytes, 1, HEAD, file);
    fclose(file);
    head->bytes[head->length] = 0;
    return true;
}

/* The first bytes of the first file with this suffix in a directory. */
static bool read_head_of(struct head *head, const char *suffix)
{
    struct iso_paths paths;
    struct iso_error ignored = {0};
    struct head inner = {0};
    if (iso_paths_list(&paths, head->path, suffix, &ignored) != ISO_OK)
        return false;
    bool fine = paths.count && read_head(&inner, paths.paths[0]);
    memcpy(head->bytes, inner.bytes, sizeof inner.bytes);
    head->length = inner.length;
    iso_paths_release(&paths);
    return fine;
}

static bool is_cobra(struct head *head)
{
    return head->is_directory && read_head_of(head, ".log") && head->bytes[0] == 'S';
}

static bool is_viper(struct head *head)
{
    return head->is_directory && read_head_of(head, ".log") && head->bytes[0] == '{';
}

static bool is_dbcop(struct head *head)
{
    if (head->is_directory)
        return read_head_of(head, "history.bincode");
    return head->length >= 48 && memchr(head->bytes, 0, 40) && !memcmp(head->bytes + 6, "\0\0", 2);
}

static const char *start_of(const struct head *head)
{
    return head->bytes + strspn(head->bytes, " \t\r\n");
}

static bool is_text(struct head *head)
{
    return !head->is_directory && (!strncmp(start_of(head), "r(", 2) || !strncmp(start_of(head), "w(", 2));
}

static bool is_awdit(struct head *head)
{
    const char *start = start_of(head);
    return !head->is_directory &&
           (!strncmp(start, "r ", 2) || !strncmp(start, "w ", 2) || !strncmp(start, "===", 3));
}

static bool is_elle_edn(struct head *head)
{
    const char *start = start_of(head);
    if (head->is_directory)
        return false;
    start += *start == '[';
    start += strspn(start, " \t\r\n");
    return !strncmp(start, "{:", 2) || *start == ';' || *start == '#';
}

static bool is_elle_json(struct head *head)
{
    const char *start = start_of(head);
    return !head->is_directory && (*start == '[' || *start == '{') && strstr(start, "\"type\"");
}

static const struct format {
    const char *name;
    bool (*detect)(struct head *head);
    enum iso_status (*read)(const char *path, struct iso_history *history, struct iso_error *error);
} formats[] = {
    {"cobra", is_cobra, format_cobra_read},
    {"viper", is_viper, format_viper_read},
    {"dbcop", is_dbcop, format_dbcop_read},
    {"text", is_text, format_text_read},
    {"awdit", is_awdit, format_awdit_read},
    {"elle-edn", is_elle_edn, format_elle_edn_read},
    {"elle-json", is_elle_json, format_elle_json_read},
};

enum { FORMATS = sizeof formats / sizeof formats[0] };

const char *iso_format_name(unsigned index)
{
    return index < FORMATS ? formats[index].name : NULL;
}

const char *iso_format_detect(const char *path)
{
    struct head head = {.path = path, .is_directory = iso_path_is_directory(path)};
    if (!head.is_directory && !read_head(&head, path))
        return NULL;
    for (unsigned i = 0; i < FORMATS; i++) {
        if (formats[i].detect(&head))
            return formats[i].name;
    }
    return NULL;
}

enum iso_status iso_format_read(const char *name, const char *path, struct iso_history *history,
                                struct iso_error *error)
{
    for (unsigned i = 0; i < FORMATS; i++) {
        if (strcmp(name, formats[i].name) == 0)
            return formats[i].read(path, history, error);
    }
    return iso_error_set(error, ISO_BAD_INPUT, "no history format is named '%s'", name);
}
