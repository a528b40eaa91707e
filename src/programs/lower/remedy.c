#include "lower/remedy.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/memory.h"
#include "prove/advice.h"
#include "lower/read.h"

enum {
    TOGETHER = 3,
    TRIES = 200,      /* of one kind at one level */
    MOST_COLUMNS = 4, /* of a key */
    ARRANGED = 12     /* ways to give it parameters */
};

static const double MOST_SECONDS = 20; /* of one kind at one level */

/* Those that change the least come first; of the first three one is enough. */
enum kind { LOCK_READ, LOCK_ROW, UPDATE_ROW, INDEX, KINDS };

struct change {
    enum kind kind;
    uint32_t location; /* a byte of the file: it goes in front of it */
    uint32_t template; /* ISO_NONE: an index */
    char *added, *words;
    char *kept; /* INDEX: the rule that says the same */
};

struct search {
    const struct iso_prove_program *program;
    const struct iso_prove_options *options;
    double deadline; /* 0: none */
    double until;    /* of the kind that is sought */
    ISO_LIST(struct change) changes;
    bool timeout;
};

/* ---- candidates ---- */

static void add(struct search *search, struct change change, struct iso_text *added,
                struct iso_text *words)
{
    change.added = iso_copy_text(added->bytes, added->used);
    change.words = iso_copy_text(words->bytes, words->used);
    ISO_APPEND(search->changes, change);
    iso_text_release(added);
    iso_text_release(words);
}

static void put_line(const struct search *search, uint32_t template, uint32_t location,
                     struct iso_text *text)
{
    uint32_t line, column;
    iso_prove_location(search->program, location, &line, &column);
    const struct iso_prove_template *of = &search->program->templates.list[template];
    bool inside = location >= of->span.begin && location < of->span.end; /* else of one it calls */
    iso_text_format(text, "line %u%s%s: ", line, inside ? ", in " : "", inside ? of->name : "");
}

static bool is_word(const struct search *search, uint32_t location, const char *word)
{
    size_t length = strlen(word), end = location + length;
    const char *source = search->program->source;
    return end < search->program->source_length && !strncasecmp(source + location, word, length) &&
           !isalnum((unsigned char)source[end]) && source[end] != '_' &&
           (!location ||
            (!isalnum((unsigned char)source[location - 1]) && source[location - 1] != '_'));
}

/* FOR UPDATE behind each SELECT: where SQL has none, for aggregates, reading will refuse it. */
static void lock_reads(struct search *search, uint32_t template, uint32_t step)
{
    const struct iso_prove_program *program = search->program;
    for (; step != ISO_NONE; step = program->steps.list[step].next) {
        const struct iso_prove_step *at = &program->steps.list[step];
        struct iso_text added = {0}, words = {0};
        lock_reads(search, template, at->block);
        lock_reads(search, template, at->otherwise);
        if (!at->span.end || (!is_word(search, at->span.begin, "SELECT") &&
                              !is_word(search, at->span.begin, "PERFORM")))
            continue;
        bool known = false;
        for (uint32_t i = 0; i < search->changes.count; i++)
            known = known || (search->changes.list[i].kind == LOCK_READ &&
                              search->changes.list[i].location == at->span.end);
        if (known)
            continue;
        iso_text_put(&added, " FOR UPDATE");
        put_line(search, template, at->span.begin, &words);
        iso_prove_put_span(program, &words, at->span);
        iso_text_put(&words, " FOR UPDATE");
        add(search,
            (struct change){.kind = LOCK_READ, .location = at->span.end, .template = template},
            &added, &words);
    }
}

/* Behind the BEGIN of a function. */
static uint32_t start_of(const struct search *search, uint32_t template)
{
    const struct iso_prove_program *program = search->program;
    uint32_t step = program->templates.list[template].block;
    while (step != ISO_NONE && !program->steps.list[step].span.end)
        step = program->steps.list[step].next;
    if (step == ISO_NONE)
        return ISO_NONE;
    for (uint32_t location = program->steps.list[step].span.begin; location-- > 0;)
        if (is_word(search, location, "BEGIN"))
            return location + 5;
    return ISO_NONE;
}

/* A column of SQL, by its name: names of NULL flags have a blank or a dot, which no column has that
 * needs no quotes. */
static bool is_column(const char *name)
{
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '_')
            return false;
    return *name;
}

/* Which parameter a column of the key is compared with, for each of the first `count` of them;
 * none: all rows. */
struct rows {
    const struct iso_prove_table *table;
    uint32_t count, columns[MOST_COLUMNS], parameters[MOST_COLUMNS];
    uint32_t score; /* how likely it is that these rows are meant */
};

static void claim_rows(struct search *search, uint32_t template, const struct rows *rows)
{
    const struct iso_prove_table *table = rows->table;
    char **parameters = search->program->templates.list[template].local_names;
    uint32_t location = start_of(search, template), changed = 1;
    for (bool known = true; known && changed < table->columns;
         changed += known) { /* no column of the key, if it can be */
        known = !is_column(table->column_names[changed]);
        for (uint32_t i = 0; i < table->key_count; i++)
            known = known || table->key[i] == changed;
    }
    changed = changed < table->columns ? changed : 1;
    for (int update = 0; update < 2 && location != ISO_NONE; update++) {
        struct iso_text added = {0}, words = {0};
        const char *column = table->column_names[changed];
        iso_text_put(&added, " ");
        if (update)
            iso_text_format(&added, "UPDATE %s SET %s = %s", table->name, column, column);
        else
            iso_text_format(&added, "PERFORM 1 FROM %s", table->name);
        for (uint32_t i = 0; i < rows->count; i++)
            iso_text_format(&added, "%s%s = %s", i ? " AND " : " WHERE ",
                            table->column_names[rows->columns[i]], parameters[rows->parameters[i]]);
        iso_text_put(&added, update ? ";" : " FOR UPDATE;");
        put_line(search, template, location, &words);
        iso_text_put_bytes(&words, added.bytes + 1, added.used - 2);
        iso_text_put(&words, " behind BEGIN");
        add(search,
            (struct change){
                .kind = update ? UPDATE_ROW : LOCK_ROW, .location = location, .template = template},
            &added, &words);
    }
}

static uint32_t skip_blanks(const char *source, uint32_t at, uint32_t end)
{
    while (at < end && isspace((unsigned char)source[at]))
        at++;
    return at;
}

/* `a = b` stands somewhere in the function. */
static bool compares(const struct search *search, struct iso_prove_span span, const char *a,
                     const char *b)
{
    const char *source = search->program->source;
    for (uint32_t at = span.begin; at < span.end; at++) {
        if (!is_word(search, at, a))
            continue;
        uint32_t sign = skip_blanks(source, at + (uint32_t)strlen(a), span.end);
        if (sign < span.end && source[sign] == '=' &&
            is_word(search, skip_blanks(source, sign + 1, span.end), b))
            return true;
    }
    return false;
}

/* Many calls have equal arguments, so that a proof alone does not tell which parameter is meant. */
static uint32_t score_of(const struct search *search, uint32_t template, const char *column,
                         const char *parameter)
{
    struct iso_prove_span span = search->program->templates.list[template].span;
    size_t length = strlen(column);
    if (compares(search, span, column, parameter) || compares(search, span, parameter, column))
        return 4;
    if (!strcmp(column, parameter) || (strlen(parameter) > length && strstr(parameter, column)))
        return 3;
    return column[0] == parameter[0];
}

/* The parameters that may stand for the columns from `at` on, each once; the likely ones are kept
 * in front. */
static void arrange(struct search *search, uint32_t template, struct rows *rows, uint32_t at,
                    struct rows *list, uint32_t *count)
{
    assert(at <= rows->count && rows->count <= MOST_COLUMNS && *count <= ARRANGED);
    const struct iso_prove_template *of = &search->program->templates.list[template];
    if (at == rows->count) {
        uint32_t location = *count;
        while (location > 0 && list[location - 1].score < rows->score)
            location--;
        if (location == ARRANGED)
            return;
        *count += *count < ARRANGED;
        memmove(list + location + 1, list + location, (*count - location - 1) * sizeof *list);
        list[location] = *rows;
        return;
    }
    for (uint32_t i = 0; i < of->parameters; i++) {
        bool used = !is_column(of->local_names[i]);
        for (uint32_t j = 0; j < at; j++)
            used = used || rows->parameters[j] == i;
        if (used)
            continue;
        struct rows longer = *rows;
        longer.parameters[at] = i;
        longer.score += score_of(search, template, rows->table->column_names[rows->columns[at]],
                                 of->local_names[i]);
        arrange(search, template, &longer, at + 1, list, count);
    }
}

/* The rows of one table to claim: those that all of its key fixes, or one column of it does, or all
 * rows. */
enum width { ONE_ROW, SOME_ROWS, ALL_ROWS, WIDTHS };

static void claim_some(struct search *search, uint32_t template,
                       const struct iso_prove_table *table, enum width width)
{
    static const uint32_t first_column = 1;
    const uint32_t *key = table->key_count ? table->key : &first_column;
    uint32_t columns = table->key_count ? table->key_count : 1;
    struct rows list[ARRANGED], rows = {.table = table};
    if (width == ALL_ROWS)
        claim_rows(search, template, &rows);
    if (width == ALL_ROWS || (width == ONE_ROW && columns > MOST_COLUMNS) ||
        (width == SOME_ROWS && columns == 1))
        return;
    for (uint32_t i = 0; i < (width == ONE_ROW ? 1 : columns); i++) {
        uint32_t count = 0;
        rows.count = width == ONE_ROW ? columns : 1;
        for (uint32_t j = 0; j < rows.count; j++)
            rows.columns[j] = key[i + j];
        arrange(search, template, &rows, 0, list, &count);
        for (uint32_t j = 0; j < count; j++)
            claim_rows(search, template, &list[j]);
    }
}

static bool is_called(const struct iso_prove_program *program, uint32_t template)
{
    for (uint32_t i = 0; i < program->instances.count; i++)
        if (program->instances.list[i].template == template)
            return true;
    return false;
}

static void add_index(struct search *search, const struct iso_prove_table *table, const char *first,
                      const char *second)
{
    const struct iso_prove_program *program = search->program;
    struct iso_text added = {0}, words = {0}, rule = {0};
    struct change change = {.kind = INDEX, .location = table->span.end, .template = ISO_NONE};
    uint32_t line, column;
    while (change.location && change.location < program->source_length &&
           program->source[change.location - 1] != ';')
        change.location++;
    iso_prove_location(program, table->span.begin, &line, &column);
    iso_text_format(&added, " CREATE UNIQUE INDEX ON %s (%s%s%s);", table->name, first,
                    second ? ", " : "", second ? second : "");
    iso_text_format(&words, "line %u: %.*s behind CREATE TABLE", line, (int)added.used - 2,
                    added.bytes + 1);
    iso_text_format(
        &rule,
        "\n--@ invariant: NOT EXISTS (SELECT 1 FROM %s one WHERE (SELECT count(*) FROM %s other WHERE "
        "other.%s = one.%s",
        table->name, table->name, first, first);
    if (second)
        iso_text_format(&rule, " AND other.%s = one.%s", second, second);
    iso_text_put(&rule, ") > 1)\n");
    change.kept = iso_copy_text(rule.bytes, rule.used);
    iso_text_release(&rule);
    add(search, change, &added, &words);
}

static void find_candidates(struct search *search)
{
    const struct iso_prove_program *program = search->program;
    for (uint32_t i = 0; i < program->templates.count; i++) {
        const struct iso_prove_template *template = &program->templates.list[i];
        if (!is_called(program, i))
            continue;
        lock_reads(search, i, template->block);
    }
    for (enum width width = 0; width < WIDTHS; width++)
        for (uint32_t i = 0; i < program->templates.count; i++)
            for (uint32_t j = 0; j < program->tables.count; j++)
                if (is_called(program, i) && !program->tables.list[j].hidden &&
                    program->tables.list[j].columns > 1)
                    claim_some(search, i, &program->tables.list[j], width);
    for (uint32_t i = 0; i < program->tables.count; i++) {
        const struct iso_prove_table *table = &program->tables.list[i];
        for (uint32_t j = 1; j < table->columns && !table->hidden; j++) {
            if (!is_column(table->column_names[j]))
                continue;
            add_index(search, table, table->column_names[j], NULL);
            for (uint32_t k = j + 1; k < table->columns; k++)
                if (is_column(table->column_names[k]))
                    add_index(search, table, table->column_names[j], table->column_names[k]);
        }
    }
}

/* ---- trying ---- */

/* Whether this text holds at the level, in the time that is left. */
static bool holds(struct search *search, const struct iso_text *source, enum iso_prove_level level)
{
    const struct iso_prove_program *program = search->program;
    struct iso_prove_options options = *search->options;
    struct iso_prove_program changed;
    struct iso_prove_result result;
    struct iso_error error = ISO_NO_ERROR;
    options.seconds = search->until - iso_clock_seconds();
    options.any_number = false;
    search->timeout = search->timeout || options.seconds <= 0;
    if (search->timeout)
        return false;
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        options.levels[i] = i == level;
    iso_prove_program_init(&changed);
    changed.stop = iso_prove_stop_at(&search->until);
    iso_prove_result_init(&result);
    bool yes = iso_prove_read_sql(&changed, program->file, source->bytes, source->used,
                                  program->repeats, 0, &error) == ISO_OK &&
               iso_prove(&changed, &options, &result, &error) == ISO_OK &&
               result.answers[level].outcome == ISO_HOLDS;
    iso_prove_result_release(&result);
    iso_prove_program_release(&changed);
    return yes;
}

/* The text with these changes; those at one location in their order. */
static void change_text(const struct search *search, const uint32_t *chosen, uint32_t count,
                        struct iso_text *source)
{
    const struct iso_prove_program *program = search->program;
    uint32_t from = 0;
    source->used = 0;
    for (uint32_t to = 0; to <= program->source_length; to++)
        for (uint32_t i = 0; i < count; i++) {
            const struct change *change = &search->changes.list[chosen[i]];
            if (change->location != to)
                continue;
            iso_text_put_bytes(source, program->source + from, to - from);
            iso_text_put(source, change->added);
            from = to;
        }
    iso_text_put_bytes(source, program->source + from, program->source_length - from);
}

static bool helps(struct search *search, const uint32_t *chosen, uint32_t count,
                  enum iso_prove_level level)
{
    const struct iso_prove_program *program = search->program;
    struct iso_text source = {0};
    change_text(search, chosen, count, &source);
    bool yes = holds(search, &source, level);
    for (uint32_t i = 0; i < count && yes; i++) {
        const struct change *change = &search->changes.list[chosen[i]];
        if (change->kind != INDEX)
            continue;
        source.used = 0;
        iso_text_put_bytes(&source, program->source, program->source_length);
        iso_text_put(&source, change->kept);
        yes = holds(search, &source, ISO_PROVE_SER);
    }
    iso_text_release(&source);
    return yes;
}

/* The smallest set of one kind of at most so many; how many they are, or 0. */
static uint32_t find(struct search *search, enum kind kind, uint32_t most,
                     enum iso_prove_level level, uint32_t *found)
{
    assert(most <= TOGETHER);
    uint32_t *of = iso_allocate((search->changes.count + 1) * sizeof *of), all = 0, tried = 0, size;
    bool yes = false;
    search->until = iso_clock_seconds() + MOST_SECONDS;
    if (search->deadline > 0 && search->deadline < search->until)
        search->until = search->deadline;
    for (uint32_t i = 0; i < search->changes.count; i++)
        if (search->changes.list[i].kind == kind)
            of[all++] = i;
    for (size = 1; size <= most && size <= all && !yes && !search->timeout; size++) {
        uint32_t locations[TOGETHER] = {0, 1, 2};
        do {
            for (uint32_t i = 0; i < size; i++)
                found[i] = of[locations[i]];
            yes = helps(search, found, size, level);
        } while (!yes && ++tried < TRIES && !search->timeout &&
                 iso_prove_next_choice(locations, size, all));
    }
    iso_free(of);
    return yes ? size - 1 : 0;
}

/* ---- in words ---- */

static void put_set(const struct search *search, const uint32_t *found, uint32_t count, bool json,
                    struct iso_text *text)
{
    struct iso_text words = {0};
    for (uint32_t i = 0; i < count; i++)
        iso_text_format(&words, "%s%s", i ? "; and " : "", search->changes.list[found[i]].words);
    if (json)
        iso_text_put_string(text, words.bytes, words.used);
    else
        iso_text_put_bytes(text, words.bytes, words.used);
    iso_text_release(&words);
}

static void advise_level(struct search *search, enum iso_prove_level level, bool json,
                         struct iso_text *text)
{
    const char *name = iso_prove_level_name(level);
    uint32_t found[TOGETHER], count, answers = 0;
    bool late = false;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        if (answers && kind != INDEX)
            continue;
        search->timeout = false;
        count = find(search, kind, answers ? 1 : kind == INDEX ? 2 : TOGETHER, level, found);
        late = late || search->timeout;
        if (!count)
            continue;
        if (json)
            iso_text_put(text, answers ? "," : "");
        else
            iso_text_format(text, "  %s %s: ", answers ? "or at" : "at", name);
        put_set(search, found, count, json, text);
        iso_text_put(text, json ? "" : "\n");
        answers++;
    }
    if (!answers && !json)
        iso_text_format(text, "  at %s: %s\n", name,
                        late ? "nothing was found in the time"
                             : "no lock, update of rows or unique index that was tried is enough");
}

void iso_prove_sql_advise(const struct iso_prove_program *program,
                          const struct iso_prove_options *options,
                          const struct iso_prove_result *result, bool json, struct iso_text *text)
{
    static const enum iso_prove_level levels[] = {ISO_PROVE_RC, ISO_PROVE_SI};
    struct search search = {.program = program, .options = options};
    bool wrong = result->asked[ISO_PROVE_SER] &&
                 result->answers[ISO_PROVE_SER].outcome == ISO_IS_VIOLATED,
         any = false;
    if (options->seconds > 0)
        search.deadline = iso_clock_seconds() + options->seconds;
    find_candidates(&search);
    iso_text_put(text, json ? ",\"advice\":{" : "\nadvice, each proved for these transactions:\n");
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && !json; i++)
        if (result->sufficient[i]) {
            iso_text_format(text, "  run at %s: %s\n", iso_prove_level_name(i),
                            iso_prove_level_words(i));
            any = true;
        }
    for (size_t i = 0; i < 2 && !wrong; i++) { /* what breaks one after another, no lock mends */
        if (!result->asked[levels[i]] || result->answers[levels[i]].outcome != ISO_IS_VIOLATED)
            continue;
        if (json)
            iso_text_format(text, "%s\"%s\":[", any ? "," : "", iso_prove_level_name(levels[i]));
        advise_level(&search, levels[i], json, text);
        iso_text_put(text, json ? "]" : "");
        any = true;
    }
    if (!any && !json)
        iso_text_put(
            text,
            "  none: nothing that was asked is violated, or the program is wrong by itself\n");
    iso_text_put(text, json ? "}" : "");
    for (uint32_t i = 0; i < search.changes.count; i++)
        ISO_FREE_ALL(search.changes.list[i].added, search.changes.list[i].words,
                     search.changes.list[i].kept);
    iso_free(search.changes.list);
}
