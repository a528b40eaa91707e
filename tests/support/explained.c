#define _GNU_SOURCE
#include "tests/support/explained.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "native/read.h"
#include "bytes/whole_file.h"
#include "tests/support/test.h"

enum { PATH = 512 };

static bool read_history(struct explained *explained, const char *name, struct iso_error *error)
{
    static const char suffix[] = "-initial";
    char path[PATH];
    const char *paths[] = {path};
    size_t length = strlen(name);
    snprintf(path, sizeof path, EXPLAINED_CASES "/%s/history.jsonl", name);
    if (iso_read_history(paths, 1, &(struct iso_read_options){.threads = 1}, &explained->history,
                         error) != ISO_OK)
        return false;
    if (length >= sizeof suffix && !strcmp(name + length - (sizeof suffix - 1), suffix))
        explained->history.initial.other_value = 0;
    return iso_history_finish(&explained->history, error) == ISO_OK;
}

bool explained_open(struct explained *explained, const char *name)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_whole_file file = {0};
    char path[PATH];
    *explained = (struct explained){.claims.history = NULL};
    iso_history_init(&explained->history);
    snprintf(path, sizeof path, EXPLAINED_CASES "/%s/verdict.json", name);
    if (read_history(explained, name, &error) &&
        iso_whole_file_read(&file, path, &error) == ISO_OK) {
        iso_claims_init(&explained->claims, &explained->history);
        if (iso_claims_read(&explained->claims, file.bytes, file.length, path, &error) == ISO_OK)
            iso_facts_init(&explained->facts, &explained->claims);
    }
    iso_whole_file_release(&file);
    if (error.status != ISO_OK)
        fprintf(stderr, "%s: %s\n", name, error.text);
    return error.status == ISO_OK;
}

void explained_release(struct explained *explained)
{
    iso_facts_release(&explained->facts);
    iso_claims_release(&explained->claims);
    iso_history_release(&explained->history);
}

char *explained_written(const struct explained *explained,
                        void (*write)(const struct iso_facts *facts, enum iso_wall wall,
                                      struct iso_text *text))
{
    struct iso_text text = {0};
    write(&explained->facts, ISO_WALL_COUNTER, &text);
    iso_text_put_bytes(&text, "", 1);
    return text.bytes;
}

static int is_case(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

char **explained_cases(size_t *count)
{
    struct dirent **entries;
    int found = scandir(EXPLAINED_CASES, &entries, is_case, alphasort);
    char **names = calloc(found > 0 ? (size_t)found : 1, sizeof *names);
    *count = found > 0 ? (size_t)found : 0;
    for (size_t i = 0; i < *count; i++) {
        names[i] = strdup(entries[i]->d_name);
        free(entries[i]);
    }
    if (found >= 0)
        free(entries);
    return names;
}

bool explained_same(const char *name, const char *file, const char *text)
{
    char path[PATH];
    size_t length;
    snprintf(path, sizeof path, EXPLAINED_CASES "/%s/%s", name, file);
    if (getenv("ISOCHRON_UPDATE")) {
        FILE *into = fopen(path, "w");
        return into && fputs(text, into) >= 0 && !fclose(into);
    }
    char *expected = test_read_file(path, &length);
    bool same = expected && !strcmp(expected, text);
    if (!same)
        fprintf(stderr, "%s: expected\n%s\nactual\n%s\n", path,
                expected ? expected : "(no such file)", text);
    free(expected);
    return same;
}
