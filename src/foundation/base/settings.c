#include "base/settings.h"

#include <stdio.h>
#include <string.h>

void iso_settings_init(struct iso_settings *settings, const char *path, char *text, size_t length)
{
    *settings =
        (struct iso_settings){.path = path, .at = text, .end = text + length, .section = ""};
    *settings->end = 0;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static char *skip_blanks(char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

/* Cuts blanks off the end of what lies before `end`. */
static void cut(const char *start, char *end)
{
    while (end > start && is_blank(end[-1]))
        end--;
    *end = 0;
}

static bool wrong(const struct iso_settings *settings, struct iso_error *error,
                  const char *expected)
{
    iso_error_set(error, ISO_BAD_INPUT, "%s:%u: %s", settings->path, settings->line, expected);
    return false;
}

/* The next line, without its end, as a string; NULL: there is none, or `error` is set. */
static char *take_line(struct iso_settings *settings, struct iso_error *error)
{
    char *line = settings->at;
    if (line == settings->end)
        return NULL;
    settings->line++;
    char *end = memchr(line, '\n', (size_t)(settings->end - line));
    settings->at = end ? end + 1 : settings->end;
    end = end ? end : settings->end;
    if (end > line && end[-1] == '\r')
        end--;
    *end = 0;
    for (const char *byte = line; byte < end; byte++) {
        if ((unsigned char)*byte < 0x20 && *byte != '\t') {
            wrong(settings, error, "a control character; expected text");
            return NULL;
        }
    }
    return line;
}

static int hexadecimal(char byte)
{
    const char *digits = "0123456789abcdef",
               *found = byte ? strchr(digits, byte | ('A' <= byte && byte <= 'F' ? 32 : 0)) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* The byte that the escape after a backslash stands for, or -1; moves `at` behind it. */
static int take_escape(char **at)
{
    static const char names[] = "\"\\nrt", bytes[] = "\"\\\n\r\t";
    char name = *(*at)++;
    const char *found = name ? strchr(names, name) : NULL;
    if (found)
        return bytes[found - names];
    if (name != 'x' || hexadecimal(**at) < 0 || hexadecimal((*at)[1]) < 0)
        return -1;
    int byte = hexadecimal(**at) << 4 | hexadecimal((*at)[1]);
    *at += 2;
    return byte ? byte : -1; /* texts end at a NUL */
}

/* The text in quotes at `at`, unescaped where it stands. */
static const char *take_quoted(const struct iso_settings *settings, char *at,
                               struct iso_error *error)
{
    char *start = ++at, *into = start;
    while (*at != '"') {
        int byte = (unsigned char)*at++;
        if (byte == '\\')
            byte = take_escape(&at);
        if (byte <= 0) {
            wrong(settings, error,
                  byte ? "an unknown escape; expected \\\" \\\\ \\n \\r \\t or \\xNN"
                       : "a value in quotes that does not end; expected \"");
            return NULL;
        }
        *into++ = (char)byte;
    }
    at = skip_blanks(at + 1);
    if (*at && *at != '#') {
        wrong(settings, error, "text after a value in quotes; expected the end of the line");
        return NULL;
    }
    *into = 0;
    return start;
}

/* A value without quotes ends at a comment or with the line. */
static const char *take_plain(char *at)
{
    char *end = at;
    while (*end && !(*end == '#' && (end == at || is_blank(end[-1]))))
        end++;
    cut(at, end);
    return at;
}

static bool take_section(struct iso_settings *settings, char *line, struct iso_error *error)
{
    char *name = skip_blanks(line + 1), *end = strchr(name, ']');
    if (!end || end == name)
        return wrong(settings, error, "expected [section]");
    char *rest = skip_blanks(end + 1);
    if (*rest && *rest != '#')
        return wrong(settings, error, "text after a section's name; expected the end of the line");
    cut(name, end);
    settings->section = name;
    return true;
}

static bool take_setting(struct iso_settings *settings, char *line, struct iso_setting *setting,
                         struct iso_error *error)
{
    char *equals = strchr(line, '=');
    if (!equals || equals == line || *line == '"')
        return wrong(settings, error, "expected name = value, [section] or # comment");
    cut(line, equals);
    char *value = skip_blanks(equals + 1);
    *setting =
        (struct iso_setting){.section = settings->section, .name = line, .line = settings->line};
    setting->value = *value == '"' ? take_quoted(settings, value, error) : take_plain(value);
    return setting->value != NULL;
}

bool iso_settings_next(struct iso_settings *settings, struct iso_setting *setting,
                       struct iso_error *error)
{
    for (char *line; (line = take_line(settings, error));) {
        line = skip_blanks(line);
        if (!*line || *line == '#')
            continue;
        if (*line != '[')
            return take_setting(settings, line, setting, error);
        if (!take_section(settings, line, error))
            return false;
    }
    return false;
}

static bool needs_quotes(const char *value)
{
    size_t length = strlen(value);
    if (!length || *value == '"' || *value == '#' || is_blank(*value) ||
        is_blank(value[length - 1]))
        return true;
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at < 0x20 || (*at == '#' && is_blank(at[-1])))
            return true;
    return false;
}

void iso_settings_put_value(struct iso_text *text, const char *value)
{
    char escape[8];
    if (!needs_quotes(value)) {
        iso_text_put(text, value);
        return;
    }
    iso_text_put(text, "\"");
    for (; *value; value++) {
        unsigned char byte = (unsigned char)*value;
        if (byte == '"' || byte == '\\')
            snprintf(escape, sizeof escape, "\\%c", byte);
        else
            snprintf(escape, sizeof escape, byte < 0x20 ? "\\x%02x" : "%c", byte);
        iso_text_put(text, escape);
    }
    iso_text_put(text, "\"");
}
