/* A row of a command's table of options. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_option_type {
    CLI_END,
    CLI_GROUP,  /* a heading for those that follow: `help` */
    CLI_FLAG,   /* bool */
    CLI_TEXT,   /* const char * */
    CLI_TEXTS,  /* struct cli_texts: every time it stands */
    CLI_COUNT,  /* uint32_t, else as CLI_NUMBER; `most` is one that fits */
    CLI_NUMBER, /* uint64_t, from `least` to `most`; `k`, `M`, `G` after it are thousands, millions,
                   ... */
    CLI_DURATION, /* uint64_t: nanoseconds; `ns`, `us`, `ms`, `s`, `m` after it: 10ms, 0.2s */
    CLI_SECONDS,  /* uint64_t: milliseconds; seconds, or as a duration; `least` and `most` are
                     seconds */
    CLI_SHARE,    /* uint64_t: parts of 2^32 of a number from 0 to 1 */
    CLI_CHOICE    /* int: which of `choices`, words with bars between */
};

struct cli_option {
    enum cli_option_type type;
    const char *name;
    char letter;
    const char *argument; /* its value's name in help */
    size_t offset;
    uint64_t least, most;
    const char *choices;
    const char *(*refusal)(const char *word); /* of a choice: why a well-known word is none of them,
                                                 or NULL; optional */
    const char *help;                         /* lines with \n between */
    bool argument_only;                       /* neither in files nor in the environment */
    size_t given; /* of a flag: a bool that says whether it was said at all; 0: nobody asks */
};

/* Rows. `place` is the offset in the command's struct; what else a row says follows its help:
 * .letter = 'o'. */
#define CLI_ROW_GROUP(about)                                                                       \
    {                                                                                              \
        .type = CLI_GROUP, .help = about                                                           \
    }
#define CLI_ROW(kind, title, place, ...)                                                           \
    {                                                                                              \
        .type = kind, .name = title, .offset = place, __VA_ARGS__                                  \
    }
#define CLI_ROW_FLAG(title, place, ...) CLI_ROW(CLI_FLAG, title, place, .help = __VA_ARGS__)
#define CLI_ROW_CHOICE(title, words, place, ...)                                                   \
    CLI_ROW(CLI_CHOICE, title, place, .choices = words, .help = __VA_ARGS__)
#define CLI_ROW_VALUE(kind, title, value, place, ...)                                              \
    CLI_ROW(kind, title, place, .argument = value, .help = __VA_ARGS__)
#define CLI_ROW_TEXT(title, value, place, ...)                                                     \
    CLI_ROW_VALUE(CLI_TEXT, title, value, place, __VA_ARGS__)
#define CLI_ROW_TEXTS(title, value, place, ...)                                                    \
    CLI_ROW_VALUE(CLI_TEXTS, title, value, place, __VA_ARGS__)
#define CLI_ROW_DURATION(title, value, place, ...)                                                 \
    CLI_ROW_VALUE(CLI_DURATION, title, value, place, __VA_ARGS__)
#define CLI_ROW_SHARE(title, value, place, ...)                                                    \
    CLI_ROW_VALUE(CLI_SHARE, title, value, place, __VA_ARGS__)
#define CLI_ROW_RANGE(kind, title, value, place, low, high, ...)                                   \
    CLI_ROW(kind, title, place, .argument = value, .least = low, .most = high, .help = __VA_ARGS__)
#define CLI_ROW_COUNT(title, value, place, low, high, ...)                                         \
    CLI_ROW_RANGE(CLI_COUNT, title, value, place, low, high, __VA_ARGS__)
#define CLI_ROW_NUMBER(title, value, place, low, high, ...)                                        \
    CLI_ROW_RANGE(CLI_NUMBER, title, value, place, low, high, __VA_ARGS__)
#define CLI_ROW_SECONDS(title, value, place, low, high, ...)                                       \
    CLI_ROW_RANGE(CLI_SECONDS, title, value, place, low, high, __VA_ARGS__)
/* --threads of a command that has no use for it. */
#define CLI_ROW_ONE_THREAD(command, place)                                                         \
    CLI_ROW_NUMBER("threads", "N", place, 1, 1024,                                                 \
                   "Accepted by every command; " command " uses one thread.")
/* librdkafka's properties, of every command that has to do with Kafka. */
#define CLI_ROW_PROPERTIES(place)                                                                  \
    CLI_ROW_TEXTS("property", "NAME=VALUE", place,                                                 \
                  "A property of librdkafka, or the name of a file of them. Secrets go\n"          \
                  "into a file.",                                                                  \
                  .letter = 'X')
