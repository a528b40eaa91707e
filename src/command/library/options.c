/* Options by name: one table says where each is kept. */
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "library/library_private.h"

enum option_type { OPTION_FLAG, OPTION_NUMBER, OPTION_SMALL, OPTION_CHOICE, OPTION_TEXT };

#define PLACE(member) offsetof(struct iso_options, member)

static const struct option {
    const char *name;
    /* bool, uint64_t, unsigned (to `most`), int (which of the choices), char * */
    enum option_type type;
    size_t offset;
    uint64_t most;
    const char *choices;
} table[] = {
    {"level", OPTION_CHOICE, PLACE(level), 0, ISO_LEVEL_WORDS},
    {"engine", OPTION_CHOICE, PLACE(engine), 0, "auto|chronos|aion|polygraph"},
    {"on-bad-record", OPTION_CHOICE, PLACE(on_bad_record), 0, "fail|skip"},
    {"evidence", OPTION_TEXT, PLACE(evidence), 0, NULL},
    {"spill", OPTION_TEXT, PLACE(spill), 0, NULL},
    {"no-session-order", OPTION_FLAG, PLACE(no_session_order), 1, NULL},
    {"allow-unjudged", OPTION_FLAG, PLACE(judge.allow_unjudged), 1, NULL},
    {"any-order", OPTION_FLAG, PLACE(judge.any_order), 1, NULL},
    {"midway", OPTION_FLAG, PLACE(midway), 1, NULL},
    {"ranges", OPTION_FLAG, PLACE(ranges), 1, NULL},
    {"final-only", OPTION_FLAG, PLACE(stream.final_only), 1, NULL},
    {"threads", OPTION_SMALL, PLACE(threads), 1024, NULL},
    {"max-violations", OPTION_SMALL, PLACE(judge.times.max_violations), UINT32_MAX, NULL},
    {"max-per-key", OPTION_SMALL, PLACE(judge.times.max_per_key), UINT32_MAX, NULL},
    {"scan-limit", OPTION_SMALL, PLACE(stream.scan_limit), UINT32_MAX, NULL},
    {"hlc-bits", OPTION_SMALL, PLACE(stream.hlc_bits), 63, NULL},
    {"timeout", OPTION_NUMBER, PLACE(timeout_ms), UINT64_MAX, NULL},
    {"drift", OPTION_NUMBER, PLACE(judge.order.drift), UINT64_MAX, NULL},
    {"memory", OPTION_NUMBER, PLACE(memory), UINT64_MAX, NULL},
    {"retention", OPTION_NUMBER, PLACE(stream.engine.retention), UINT64_MAX, NULL},
    {"max-ahead", OPTION_NUMBER, PLACE(stream.max_ahead), UINT64_MAX, NULL},
    {"finality-timeout", OPTION_NUMBER, PLACE(stream.engine.finality_timeout_ms), UINT64_MAX, NULL},
    {"idle-timeout", OPTION_NUMBER, PLACE(stream.idle_timeout_ms), UINT64_MAX, NULL},
    {"settle", OPTION_NUMBER, PLACE(stream.engine.settle_ms), UINT64_MAX, NULL},
};

void library_options_init(struct iso_options *options)
{
    *options = (struct iso_options){.threads = 1};
    iso_judge_options_init(&options->judge);
    iso_pipeline_options_init(&options->stream);
    options->stream.engine.retention = 0;
}

struct iso_options *iso_options_new(void)
{
    struct iso_options *options = iso_allocate(sizeof *options);
    library_options_init(options);
    return options;
}

void iso_options_free(struct iso_options *options)
{
    if (!options)
        return;
    ISO_FREE_ALL(options->evidence, options->spill, options);
}

void iso_options_clear(struct iso_options *options)
{
    ISO_FREE_ALL(options->evidence, options->spill);
    library_options_init(options);
}

static enum iso_status answer(struct iso_options *options, const struct iso_error *wrong,
                              struct iso_error *error)
{
    if (wrong->status != ISO_OK) {
        iso_error_set(&options->refused, wrong->status, "%s", wrong->text);
        iso_error_set(error, wrong->status, "%s", wrong->text);
    }
    return wrong->status;
}

enum iso_status library_options_need_all(const struct iso_options *options, struct iso_error *error)
{
    if (options->refused.status == ISO_OK)
        return ISO_OK;
    return iso_error_set(error, ISO_BAD_INPUT, "%s; iso_options_clear goes back to the defaults",
                         options->refused.text);
}

static const struct option *find_option(const char *name, bool is_text, struct iso_error *error)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        bool takes_text = table[i].type == OPTION_TEXT || table[i].type == OPTION_CHOICE;
        if (strcmp(table[i].name, name))
            continue;
        if (takes_text == is_text)
            return &table[i];
        iso_error_set(error, ISO_BAD_INPUT, "option %s: expected a %s", name,
                      takes_text ? "text" : "number");
        return NULL;
    }
    iso_error_set(error, ISO_BAD_INPUT, "option %s: there is none of that name", name);
    return NULL;
}

/* Which of the words, which have bars between them; -1: none. */
static int choice_of(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (int number = 0;; number++) {
        size_t end = strcspn(choices, "|");
        if (end == length && !memcmp(choices, word, length))
            return number;
        if (!choices[end])
            return -1;
        choices += end + 1;
    }
}

static enum iso_status set_text(struct iso_options *options, const char *name, const char *value,
                                struct iso_error *error)
{
    const struct option *option = find_option(name, true, error);
    if (!option)
        return ISO_BAD_INPUT;
    void *offset = (char *)options + option->offset;
    if (option->type == OPTION_TEXT) {
        char **text = offset;
        iso_free(*text);
        *text = iso_copy_text(value, strlen(value));
        return ISO_OK;
    }
    int choice = choice_of(option->choices, value);
    if (choice < 0)
        return iso_error_set(error, ISO_BAD_INPUT, "option %s: %.100s, expected one of %s", name,
                             value, option->choices);
    *(int *)offset = choice;
    return ISO_OK;
}

enum iso_status iso_options_set_text(struct iso_options *options, const char *name,
                                     const char *value, struct iso_error *error)
{
    struct iso_error wrong = ISO_NO_ERROR;
    set_text(options, name, value, &wrong);
    return answer(options, &wrong, error);
}

static enum iso_status set_number(struct iso_options *options, const char *name, uint64_t value,
                                  struct iso_error *error)
{
    const struct option *option = find_option(name, false, error);
    if (!option)
        return ISO_BAD_INPUT;
    if (value > option->most)
        return iso_error_set(error, ISO_BAD_INPUT, "option %s: %llu, expected at most %llu", name,
                             (unsigned long long)value, (unsigned long long)option->most);
    void *offset = (char *)options + option->offset;
    if (option->type == OPTION_FLAG)
        *(bool *)offset = value;
    else if (option->type == OPTION_SMALL)
        *(uint32_t *)offset = (uint32_t)value;
    else
        *(uint64_t *)offset = value;
    return ISO_OK;
}

enum iso_status iso_options_set_number(struct iso_options *options, const char *name,
                                       uint64_t value, struct iso_error *error)
{
    struct iso_error wrong = ISO_NO_ERROR;
    set_number(options, name, value, &wrong);
    return answer(options, &wrong, error);
}

/* ---- what engines take ---- */

static unsigned library_threads(const struct iso_options *options)
{
    long processors = options->threads ? (long)options->threads : sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? (unsigned)processors : 1;
}

struct iso_judge_options library_judge_options(const struct iso_options *options)
{
    struct iso_judge_options judge = options->judge;
    judge.engine = (enum iso_judge_engine)options->engine;
    judge.times.session_order = !options->no_session_order;
    judge.times.threads = library_threads(options);
    judge.order.level = (enum iso_level)options->level;
    judge.order.timeout = (double)options->timeout_ms / 1000;
    judge.order.memory = options->memory;
    judge.order.max_findings = judge.times.max_violations;
    return judge;
}

struct iso_pipeline_options library_stream_options(const struct iso_options *options)
{
    struct iso_pipeline_options stream = options->stream;
    unsigned threads = library_threads(options);
    stream.engine.level = (enum iso_level)options->level;
    stream.engine.session_order = !options->no_session_order;
    stream.on_bad_record = options->on_bad_record ? ISO_BAD_SKIP : ISO_BAD_FAIL;
    stream.engine.shards = threads < ISO_AION_SHARDS ? threads : ISO_AION_SHARDS;
    stream.max_violations = options->judge.times.max_violations;
    stream.engine.max_per_key = options->judge.times.max_per_key;
    stream.engine.memory_limit = options->memory;
    stream.engine.retention = stream.engine.retention ? stream.engine.retention : ISO_AION_FOREVER;
    stream.engine.spill = options->spill;
    return stream;
}
