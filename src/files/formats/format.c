#define _GNU_SOURCE

#include <sys/stat.h>

#include "base/utf8.h"
#include "formats/format_private.h"
#include "bytes/input.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static const char *skip_blank(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

static bool starts(const char *at, const char *end, const char *with)
{
    size_t length = strlen(with);
    return (size_t)(end - at) >= length && !memcmp(at, with, length);
}

/* ---- JSON: by the first name of a member that a format owns ---- */

static const struct {
    const char *member;
    enum iso_format format;
} members[] = {
    {"tid", ISO_FORMAT_NATIVE},        {"sid", ISO_FORMAT_NATIVE},
    {"sts", ISO_FORMAT_NATIVE},        {"cts", ISO_FORMAT_NATIVE},
    {"ops", ISO_FORMAT_NATIVE},        {"type", ISO_FORMAT_ELLE_JSON},
    {"process", ISO_FORMAT_ELLE_JSON}, {"f", ISO_FORMAT_ELLE_JSON},
    {"params", ISO_FORMAT_DBCOP_JSON}, {"events", ISO_FORMAT_DBCOP_JSON},
    {"data", ISO_FORMAT_DBCOP_JSON},   {"isInitial", ISO_FORMAT_VIPER},
};

static bool find_member(const char *name, size_t length, enum iso_format *format)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strlen(members[i].member) == length && !memcmp(members[i].member, name, length)) {
            *format = members[i].format;
            return true;
        }
    }
    return false;
}

/* `value` alone is Viper's: Elle's operations have it too, but beside a `type`. */
static bool json_format(const char *at, const char *end, enum iso_format *format)
{
    bool value = false;
    while (at < end && (at = memchr(at, '"', (size_t)(end - at)))) {
        const char *name = ++at;
        while (at < end && *at != '"')
            at += *at == '\\' ? 2 : 1;
        if (at >= end)
            break;
        size_t length = (size_t)(at++ - name);
        at = skip_blank(at, end);
        if (at >= end || *at != ':')
            continue;
        if (find_member(name, length, format))
            return true;
        value |= length == 5 && !memcmp(name, "value", 5);
    }
    *format = ISO_FORMAT_VIPER;
    return value;
}

/* ---- text ---- */

/* `[x:=1`, `[y==2`, and what follows an empty transaction: .hist; JSON and EDN have neither. */
static bool is_hist(const char *at, const char *end)
{
    if (starts(at, end, "//"))
        return true;
    if (at == end || *at != '[')
        return false;
    at = skip_blank(at + 1, end);
    while (at < end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || *at == '_'))
        at++;
    if (starts(at, end, "]")) {
        at = skip_blank(at + 1, end);
        return starts(at, end, "!") || starts(at, end, "-") || starts(at, end, "[");
    }
    return starts(at, end, ":=") || starts(at, end, "==");
}

static bool is_edn(const char *at, const char *end)
{
    if (at < end && (*at == ';' || *at == '#'))
        return true;
    if (at < end && *at == '[')
        at = skip_blank(at + 1, end);
    if (at < end && *at == '#')
        return true;
    return at < end && *at == '{' && starts(skip_blank(at + 1, end), end, ":");
}

static bool is_binary(const char *text, size_t length)
{
    return length >= 40 && memchr(text, 0, 40);
}

enum iso_format iso_format_of_text(const char *text, size_t length)
{
    enum iso_format format = ISO_FORMAT_NATIVE;
    const char *end = text + length, *at = text;
    if (is_binary(text, length))
        return ISO_FORMAT_DBCOP;
    at = skip_blank(at + iso_utf8_mark(at, length), end);
    if (starts(at, end, "r(") || starts(at, end, "w("))
        return ISO_FORMAT_TEXT;
    if (starts(at, end, "r ") || starts(at, end, "w ") || starts(at, end, "=") ||
        starts(at, end, "-"))
        return ISO_FORMAT_AWDIT;
    if (is_hist(at, end))
        return ISO_FORMAT_HIST;
    if (is_edn(at, end))
        return ISO_FORMAT_ELLE_EDN;
    if (at < end && (*at == '{' || *at == '[') && json_format(at, end, &format))
        return format;
    return ISO_FORMAT_NATIVE;
}

/* ---- files and directories ---- */

size_t format_head(const char *path, char head[FORMAT_HEAD])
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_input *input;
    struct stat status;
    size_t length = 0;
    if (stat(path, &status) || !S_ISREG(status.st_mode) ||
        iso_input_open(&input, path, &error) != ISO_OK)
        return 0;
    if (iso_input_read(input, head, FORMAT_HEAD, &length, &error) != ISO_OK)
        length = 0;
    iso_input_free(input);
    return length;
}

enum iso_status iso_format_guess(const char *path, enum iso_format *format, struct iso_error *error)
{
    char head[FORMAT_HEAD];
    bool is_directory;
    if (iso_path_look(path, &is_directory, error) != ISO_OK)
        return error->status;
    if (is_directory)
        return format_directory_guess(path, format, error);
    size_t length = format_head(path, head);
    *format = iso_format_of_text(head, length);
    return ISO_OK;
}

/* ---- the table ---- */

typedef enum iso_status reader(const char *path, struct iso_history *history,
                               struct iso_error *error);
typedef enum iso_status threads_reader(const char *path, unsigned threads,
                                       struct iso_history *history, struct iso_error *error);

static const struct {
    const char *name;
    reader *read; /* NULL: native/read.h reads it, or one of these */
    threads_reader *read_on;
    format_text_reader *read_text;
} formats[ISO_FORMATS] = {
    [ISO_FORMAT_NATIVE] = {"native", NULL, NULL, NULL},
    [ISO_FORMAT_TIMEKILLER] = {"timekiller", NULL, NULL, NULL},
    [ISO_FORMAT_DBCOP] = {"dbcop", format_dbcop_read, NULL, NULL},
    [ISO_FORMAT_COBRA] = {"cobra", format_cobra_read, NULL, NULL},
    [ISO_FORMAT_VIPER] = {"viper", format_viper_read, NULL, NULL},
    [ISO_FORMAT_TEXT] = {"text", NULL, format_text_read, NULL},
    [ISO_FORMAT_AWDIT] = {"awdit", NULL, NULL, format_awdit_read},
    [ISO_FORMAT_ELLE_EDN] = {"elle-edn", NULL, NULL, format_elle_edn_read},
    [ISO_FORMAT_ELLE_JSON] = {"elle-json", NULL, NULL, format_elle_json_read},
    [ISO_FORMAT_DBCOP_JSON] = {"dbcop-json", NULL, NULL, format_dbcop_json_read},
    [ISO_FORMAT_HIST] = {"hist", NULL, NULL, format_hist_read},
};

const char *iso_format_name(enum iso_format format)
{
    return formats[format].name;
}

static enum iso_status read_text(format_text_reader *read, const char *path,
                                 struct iso_history *history, struct iso_error *error)
{
    struct iso_whole_file file;
    enum iso_status status = iso_whole_file_read(&file, path, error);
    if (status != ISO_OK)
        return status;
    iso_history_input(history, path);
    status = read(path, &file, history, error);
    iso_whole_file_release(&file);
    return status;
}

enum iso_status iso_format_read_on(unsigned threads, enum iso_format format, const char *path,
                                   struct iso_history *history, struct iso_error *error)
{
    enum iso_status status =
        formats[format].read_on     ? formats[format].read_on(path, threads, history, error)
        : formats[format].read_text ? read_text(formats[format].read_text, path, history, error)
                                    : formats[format].read(path, history, error);
    if (status == ISO_OK && history->txns.count == 0)
        status = iso_error_set(error, ISO_BAD_INPUT,
                               "%s: no transaction here; expected a history of format %s", path,
                               formats[format].name);
    return status;
}

enum iso_status iso_format_read(enum iso_format format, const char *path,
                                struct iso_history *history, struct iso_error *error)
{
    return iso_format_read_on(1, format, path, history, error);
}
