/* A row of a command's table of options. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum app_option_type {
    APP_END,
    APP_GROUP,    /* a heading for those that follow: `help` */
    APP_FLAG,     /* bool */
    APP_TEXT,     /* const char * */
    APP_TEXTS,    /* struct app_texts: every time it stands */
    APP_COUNT,    /* uint32_t, else as APP_NUMBER; `most` is one that fits */
    APP_NUMBER,   /* uint64_t, from `least` to `most`; `k`, `M`, `G` after it are thousands, millions, ... */
    APP_DURATION, /* uint64_t: nanoseconds; `ns`, `us`, `ms`, `s`, `m` after it: 10ms, 0.2s */
    APP_SECONDS,  /* uint64_t: milliseconds; seconds, or as a duration; `least` and `most` are seconds */
    APP_SHARE,    /* uint64_t: parts of 2^32 of a number from 0 to 1 */
    APP_CHOICE    /* int: which of `choices`, words with bars between */
};

struct app_option {
    enum app_option_type type;
    const char *name;
    char letter;
    const char *argument; /* its value's name in help */
    size_t offset;
    uint64_t least, most;
    const char *choices;
    const char *(*refusal)(
        const char *word); /* of a choice: why a well-known word is none of them, or NULL; optional */
    const char *help;      /* lines with \n between */
    bool argument_only;    /* neither in files nor in the environment */
    size_t given;          /* of a flag: a bool that says whether it was said at all; 0: nobody asks */
};

/* Rows. `place` is the offset in the command's struct; what else a row says follows its help: .letter = 'o'. */
#define APP_ROW_GROUP(about)                                                                                           \
    {                                                                                                                  \
        .type = APP_GROUP, .help = about                                                                               \
    }
#define APP_ROW(kind, title, place, ...)                                                                               \
    {                                                                                                                  \
        .type = kind, .name = title, .offset = place, __VA_ARGS__                                                      \
    }
#define APP_ROW_FLAG(title, place, ...) APP_ROW(APP_FLAG, title, place, .help = __VA_ARGS__)
#define APP_ROW_CHOICE(title, words, place, ...)                                                                       \
    APP_ROW(APP_CHOICE, title, place, .choices = words, .help = __VA_ARGS__)
#define APP_ROW_VALUE(kind, title, value, place, ...)                                                                  \
    APP_ROW(kind, title, place, .argument = value, .help = __VA_ARGS__)
#define APP_ROW_TEXT(title, value, place, ...) APP_ROW_VALUE(APP_TEXT, title, value, place, __VA_ARGS__)
#define APP_ROW_TEXTS(title, value, place, ...) APP_ROW_VALUE(APP_TEXTS, title, value, place, __VA_ARGS__)
#define APP_ROW_DURATION(title, value, place, ...) APP_ROW_VALUE(APP_DURATION, title, value, place, __VA_ARGS__)
#define APP_ROW_SHARE(title, value, place, ...) APP_ROW_VALUE(APP_SHARE, title, value, place, __VA_ARGS__)
#define APP_ROW_RANGE(kind, title, value, place, low, high, ...)                                                       \
    APP_ROW(kind, title, place, .argument = value, .least = low, .most = high, .help = __VA_ARGS__)
#define APP_ROW_COUNT(title, value, place, low, high, ...)                                                             \
    APP_ROW_RANGE(APP_COUNT, title, value, place, low, high, __VA_ARGS__)
#define APP_ROW_NUMBER(title, value, place, low, high, ...)                                                            \
    APP_ROW_RANGE(APP_NUMBER, title, value, place, low, high, __VA_ARGS__)
#define APP_ROW_SECONDS(title, value, place, low, high, ...)                                                           \
    APP_ROW_RANGE(APP_SECONDS, title, value, place, low, high, __VA_ARGS__)
