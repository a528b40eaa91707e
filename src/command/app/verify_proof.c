/* Proofs of `isochron prove` confirmed: the question made again of the program, each step checked
 * by src/engines/verify. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "base/memory.h"
#include "bytes/whole_file.h"
#include "prove/proof.h"
#include "verify/proof.h"

enum { LEVEL_NAME = 8 };

struct proof_file {
    const char *name, *at;
    unsigned line;
    uint32_t transactions, unroll;
};

static enum iso_status refuse(struct app *app, const struct proof_file *file, const char *what)
{
    return iso_error_set(&app->error, ISO_VIOLATED, "%s:%u: %s", file->name, file->line, what);
}

/* One line at a time, without its end; false: there is none. */
static bool next_line(struct proof_file *file, const char **line, size_t *length)
{
    const char *end = strchr(file->at, '\n');
    if (!end)
        return false;
    *line = file->at;
    *length = (size_t)(end - file->at);
    file->at = end + 1;
    file->line++;
    return true;
}

/* Numbers up to a 0. */
static bool read_clause(const char *line, int **list, uint32_t *count, uint32_t *capacity)
{
    char *end;
    for (*count = 0;; line = end) {
        long number = strtol(line, &end, 10);
        if (end == line || number > INT32_MAX || number < -INT32_MAX)
            return false;
        if (!number)
            return *end == '\n';
        ISO_GROW(*list, *count, *capacity);
        (*list)[(*count)++] = (int)number;
    }
}

static enum iso_status check_steps(struct app *app, struct proof_file *file,
                                   struct iso_proof *proof)
{
    const char *line;
    size_t length;
    int *list = NULL;
    uint32_t count = 0, capacity = 0;
    enum iso_status status = ISO_OK;
    while (status == ISO_OK) {
        if (!next_line(file, &line, &length))
            status = refuse(app, file, "the file ends before the proof does");
        else if (length == 3 && !memcmp(line, "end", 3))
            break;
        else if (!read_clause(line, &list, &count, &capacity))
            status = refuse(app, file, "expected a clause or 'end'");
        else if (!iso_proof_learn(proof, list, count))
            status = refuse(app, file, "this clause does not follow from those before it");
    }
    if (status == ISO_OK && !iso_proof_is_closed(proof))
        status = refuse(app, file, "the proof ends without a contradiction");
    iso_free(list);
    return status;
}

static enum iso_status check_level(struct app *app, struct proof_file *file,
                                   const struct iso_prove_program *program, const char *line)
{
    char name[LEVEL_NAME] = "";
    int variables = 0;
    uint32_t stated = 0, level = 0;
    if (sscanf(line, "level %7s variables %d clauses %" SCNu32, name, &variables, &stated) != 3)
        return refuse(app, file, "expected 'level NAME variables N clauses N'");
    while (level < ISO_PROVE_LEVELS && strcmp(iso_prove_level_name(level), name))
        level++;
    if (level == ISO_PROVE_LEVELS)
        return refuse(app, file, "unknown level");
    struct iso_prove_clauses clauses;
    enum iso_status status = iso_prove_clauses_make(
        &clauses, program, level, file->unroll, (struct iso_prove_stop){.ask = NULL}, &app->error);
    if (status == ISO_OK && (clauses.variables != variables || clauses.clauses != stated))
        status = refuse(app, file,
                        "this proof is about another program, or of another version of isochron");
    struct iso_proof *proof = iso_proof_new(status == ISO_OK ? clauses.variables : 1);
    size_t first = 0;
    for (size_t i = 0; status == ISO_OK && i < clauses.count; i++)
        if (!clauses.list[i]) {
            iso_proof_give(proof, clauses.list + first, (uint32_t)(i - first));
            first = i + 1;
        }
    if (status == ISO_OK)
        status = check_steps(app, file, proof);
    if (status == ISO_OK)
        iso_output_format(&app->out, "confirmed: %s holds for %u transactions\n", name,
                          program->instances.count);
    iso_proof_free(proof);
    iso_prove_clauses_release(&clauses);
    return status;
}

/* Runs the file's calls as often as the proof's transactions say. */
static enum iso_status read_program(struct app *app, const char *name, struct proof_file *proof,
                                    struct iso_prove_program *program)
{
    struct iso_whole_file file = {0};
    enum iso_status status = iso_whole_file_read(&file, name, &app->error);
    for (uint32_t repeats = 1; status == ISO_OK; repeats++) {
        iso_prove_program_init(program);
        status = app_prove_read(app, program, name, file.bytes, file.length, repeats);
        if (status != ISO_OK || program->instances.count == proof->transactions)
            break;
        if (program->instances.count > proof->transactions)
            status =
                refuse(app, proof, "this proof is about other transactions than the program's");
        iso_prove_program_release(program);
    }
    iso_whole_file_release(&file);
    return status;
}

enum iso_status app_verify_proof(struct app *app, const struct cli_texts *files)
{
    struct proof_file file = {.name = files->items[files->count - 1]};
    struct iso_whole_file bytes = {0};
    struct iso_prove_program program = {0};
    const char *line;
    size_t length;
    int version = 0;
    uint32_t levels = 0;
    if (files->count != 2)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "verify: expected one program and, last, its proof");
    enum iso_status status = iso_whole_file_read(&bytes, file.name, &app->error);
    file.at = bytes.bytes;
    if (status == ISO_OK &&
        (!next_line(&file, &line, &length) || sscanf(line, "isochron-proof %d", &version) != 1 ||
         version != ISO_PROVE_PROOF_VERSION))
        status = refuse(app, &file, "expected 'isochron-proof 1'");
    if (status == ISO_OK && (!next_line(&file, &line, &length) ||
                             sscanf(line, "transactions %" SCNu32 " unroll %" SCNu32,
                                    &file.transactions, &file.unroll) != 2 ||
                             file.unroll > 1000))
        status = refuse(app, &file, "expected 'transactions N unroll N'");
    if (status == ISO_OK)
        status = read_program(app, files->items[0], &file, &program);
    for (; status == ISO_OK && next_line(&file, &line, &length); levels++)
        status = check_level(app, &file, &program, line);
    if (status == ISO_OK && !levels)
        status = refuse(app, &file, "there is no level that it proves");
    if (status == ISO_VIOLATED) {
        iso_output_format(&app->out, "not confirmed: %s\n", app->error.text);
        app->error.status = ISO_OK;
    }
    iso_prove_program_release(&program);
    iso_whole_file_release(&bytes);
    return status;
}
