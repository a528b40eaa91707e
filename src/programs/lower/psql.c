/* Scripts for psql: one for each statement, and a counterexample as a script of several psql. See
 * psql.h. */
#define _GNU_SOURCE
#include "lower/psql.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/shown.h"
#include "prove/schedule.h"
#include "lower/lower_private.h"

/* ---- scripts of statements, while they are lowered ---- */

void lower_begin_script(struct lowering *lowering)
{
    struct iso_prove_program *program = lowering->program;
    lowering->at.tag = program->scripts.count;
    ISO_APPEND(program->scripts, NULL);
    lowering->at.uses.count = 0;
}

/* The name, or two with a dot between them, that begins at a byte. */
static uint32_t end_of_name(const struct lowering *lowering, uint32_t at)
{
    const char *text = lowering->file.text;
    for (;;) {
        bool quoted = text[at] == '"';
        at += quoted;
        while (at < lowering->file.length &&
               (quoted ? text[at] != '"'
                       : text[at] == '_' || text[at] == '$' || (unsigned char)text[at] >= 0x80 ||
                             (text[at] >= '0' && text[at] <= '9') ||
                             ((text[at] | 32) >= 'a' && (text[at] | 32) <= 'z')))
            at++;
        at += quoted;
        if (at >= lowering->file.length || text[at] != '.')
            return at;
        at++;
    }
}

void lower_note_use(struct lowering *lowering, size_t location, uint32_t variable)
{
    for (uint32_t i = 0; i < lowering->at.uses.count; i++)
        if (lowering->at.uses.list[i].begin == location)
            return;
    ISO_APPEND(
        lowering->at.uses,
        (struct use){(uint32_t)location, end_of_name(lowering, (uint32_t)location), variable});
}

static void put_value(struct lowering *lowering, struct iso_text *text, uint32_t variable)
{
    assert(variable < lowering->body.variables.count);
    if (variable == lowering->body.found)
        iso_text_put(text, ":found");
    else
        iso_text_format(text, "(:%s::%s)", lowering->body.variables.list[variable].told,
                        lower_type_name(lowering->body.variables.list[variable].type));
}

/* Bytes of the file, with values for variables and spaces for a part that is not for the server. */
static void put_bytes(struct lowering *lowering, struct iso_text *text, uint32_t first,
                      uint32_t last, uint32_t blank_begin, uint32_t blank_end)
{
    assert(first <= last && last <= lowering->file.length);
    for (uint32_t at = first; at < last;) {
        const struct use *use = NULL;
        for (uint32_t i = 0; i < lowering->at.uses.count; i++)
            if (lowering->at.uses.list[i].begin == at)
                use = &lowering->at.uses.list[i];
        if (at == blank_begin && blank_end > blank_begin) {
            at = blank_end;
        } else if (use) {
            put_value(lowering, text, use->variable);
            at = use->end;
        } else {
            iso_text_put_bytes(text, lowering->file.text + at++, 1);
        }
    }
}

static void end_script(struct lowering *lowering, struct iso_text *text)
{
    assert(lowering->at.tag < lowering->program->scripts.count);
    char **script = &lowering->program->scripts.list[lowering->at.tag];
    struct iso_text whole = {0};
    if (*script)
        iso_text_put(&whole, *script);
    iso_text_put_bytes(&whole, text->bytes, text->used);
    iso_free(*script);
    *script = iso_copy_text(whole.bytes, whole.used);
    iso_text_release(&whole);
    iso_text_release(text);
}

void lower_put_assignment(struct lowering *lowering, uint32_t variable, uint32_t first,
                          uint32_t last)
{
    struct iso_text text = {0};
    const struct variable *assigned = &lowering->body.variables.list[variable];
    if (failed(lowering))
        return;
    iso_text_put(&text, "SELECT quote_nullable((");
    put_bytes(lowering, &text, first, last, 0, 0);
    iso_text_format(&text, ")::%s) AS \"%s\" \\gset\n", lower_type_name(assigned->type),
                    assigned->told);
    end_script(lowering, &text);
}

void lower_put_condition(struct lowering *lowering, uint32_t first, uint32_t last, const char *what)
{
    struct iso_text text = {0};
    if (failed(lowering))
        return;
    iso_text_put(&text, "SELECT (");
    put_bytes(lowering, &text, first, last, 0, 0);
    iso_text_format(&text, ") AS %s;\n", what);
    end_script(lowering, &text);
}

void lower_put_number(struct lowering *lowering, uint32_t variable, const char *value)
{
    struct iso_text text = {0};
    if (failed(lowering))
        return;
    iso_text_format(&text, "\\set %s %s\n", lowering->body.variables.list[variable].told, value);
    end_script(lowering, &text);
}

void lower_put_sql(struct lowering *lowering, uint32_t first, uint32_t last,
                   const struct target *target, const char *before, uint32_t blank_begin,
                   uint32_t blank_end, bool select)
{
    struct iso_text text = {0};
    if (failed(lowering))
        return;
    for (uint32_t i = 0; i < target->count; i++)
        iso_text_format(&text, "\\set %s NULL\n",
                        lowering->body.variables.list[target->variables[i]].told);
    struct iso_text row = {0}, picked = {0};
    for (uint32_t i = 0; i < target->count; i++) {
        iso_text_format(&row, "%sc%u", i ? ", " : "", i + 1);
        iso_text_format(&picked, "%squote_nullable(c%u) AS \"%s\"", i ? ", " : "", i + 1,
                        lowering->body.variables.list[target->variables[i]].told);
    }
    iso_text_put_bytes(&row, "", 1);
    iso_text_put_bytes(&picked, "", 1);
    if (target->given && !select)
        iso_text_format(&text, "WITH found_row(%s) AS (", row.bytes);
    else if (target->given)
        iso_text_format(&text, "SELECT %s FROM (", picked.bytes);
    iso_text_put(&text, before);
    put_bytes(lowering, &text, first, last, blank_begin, blank_end);
    if (target->given && !select)
        iso_text_format(&text, ") SELECT %s FROM found_row \\gset\n", picked.bytes);
    else if (target->given)
        iso_text_format(&text, ") AS found_row(%s) \\gset\n", row.bytes);
    else
        iso_text_put(&text, ";\n");
    iso_text_put(&text, "\\set row_count :ROW_COUNT\n\\set found '(' :ROW_COUNT ' > 0)'\n");
    iso_text_release(&row);
    iso_text_release(&picked);
    end_script(lowering, &text);
}

/* Where an argument is an input, its number stands between two marks, for which its value comes
 * later. */
enum { MARK = 1 };

void lower_put_prologue(struct lowering *lowering, const struct function *function,
                        const struct call *call, uint32_t first_value)
{
    struct iso_prove_program *program = lowering->program;
    struct iso_text text = {0};
    for (uint32_t i = 0; i < function->parameters.count; i++) {
        const struct argument *argument = &lowering->runs.arguments.list[call->first_argument + i];
        const struct iso_prove_expression *value =
            &program->expressions.list[program->values.list[first_value + i]];
        iso_text_format(&text, "\\set %s ", function->parameters.list[i].name);
        if (argument->null)
            iso_text_put(&text, "NULL");
        else if (value->op == ISO_PROVE_INPUT)
            iso_text_format(&text, "%c%u%c", MARK, value->a, MARK);
        else if (argument->type == TYPE_BOOLEAN)
            iso_text_put(&text, argument->low ? "true" : "false");
        else if (argument->type != TYPE_TEXT)
            iso_text_format(&text, "'''%lld'''", (long long)argument->low);
        else { /* a literal of SQL in one of psql */
            assert((uint64_t)argument->low < lowering->texts.count);
            iso_text_put(&text, "'''");
            for (const char *at = lowering->texts.list[argument->low]; *at; at++)
                iso_text_format(&text, *at == '\'' ? "''''" : *at == '\\' ? "\\\\" : "%c", *at);
            iso_text_put(&text, "'''");
        }
        iso_text_put(&text, "\n");
    }
    for (const char *name = function->names; *name; name += strlen(name) + 1)
        if (*name != '$')
            iso_text_format(&text, "\\set %s %s\n", name,
                            strcmp(name, "found") != 0 ? "NULL" : "false");
    ISO_APPEND(program->prologues, iso_copy_text(text.bytes, text.used));
    iso_text_release(&text);
}

/* ---- the script of an execution ---- */

static const char head[] =
    "set -u\n"
    "psql=(psql -X -q -v ON_ERROR_STOP=0 \"$@\")\n"
    "export PGOPTIONS='-c search_path=isochron_replay -c client_min_messages=warning'\n"
    "work=$(mktemp -d)\n"
    "trap 'exec 2>/dev/null; kill $(jobs -p); rm -rf \"$work\"' EXIT\n"
    "declare -A into last\n"
    "said=0\n"
    "\n"
    "open() { # a session\n"
    "    mkfifo \"$work/$1\"\n"
    "    \"${psql[@]}\" <\"$work/$1\" 2>&1 | sed -u \"s/^/T$1: /\" &\n"
    "    exec {file}>\"$work/$1\"\n"
    "    into[$1]=$file last[$1]=0\n"
    "}\n"
    "\n"
    "wait_for() { # a session: until all that it was told is done\n"
    "    local tries=0\n"
    "    until [ \"${last[$1]}\" = 0 ] || [ -e \"$work/done.${last[$1]}\" ]; do\n"
    "        [ $((tries += 1)) -lt 3000 ] || { echo \"T$1 waits for too long\" >&2; exit 2; }\n"
    "        sleep 0.01\n"
    "    done\n"
    "}\n"
    "\n"
    "tell() { # a session: the statements on standard input; with `waits` they are left waiting for a lock\n"
    "    wait_for \"$1\"\n"
    "    said=$((said + 1))\n"
    "    last[$1]=$said\n"
    "    { cat; echo \"\\\\! : >'$work/done.$said'\"; } >&\"${into[$1]}\"\n"
    "    if [ \"${2:-}\" = waits ]; then sleep 0.5; else wait_for \"$1\"; fi\n"
    "}\n"
    "\n";

static void put_prologue(const struct iso_prove_execution *execution, struct iso_text *text,
                         const char *prologue)
{
    for (const char *at = prologue; *at; at++) {
        if (*at != MARK) {
            iso_text_put_bytes(text, at, 1);
            continue;
        }
        unsigned input = 0;
        for (at++; *at != MARK; at++)
            input = input * 10 + (unsigned)(*at - '0');
        assert(input < execution->program->inputs.count);
        iso_text_format(text, "'''%lld'''", (long long)execution->inputs[input]);
    }
}

/* A command of the shell that reads `input`, behind whose last line its end stands: a word that is
 * no line of it. */
static void put_reading(struct iso_text *text, const char *command, const struct iso_text *input,
                        const char *behind)
{
    char end[40] = "ISOCHRON_END";
    for (size_t used = strlen(end);
         input->used && used < sizeof end - 1 && memmem(input->bytes, input->used, end, used);
         end[++used] = 0)
        end[used] = 'X';
    iso_text_format(text, "%s <<'%s'%s\n", command, end, behind);
    iso_text_put_bytes(text, input->bytes, input->used);
    iso_text_format(text, "%s%s\n",
                    input->used && input->bytes[input->used - 1] != '\n' ? "\n" : "", end);
}

/* A name in a comment: what ends a line, and what a terminal obeys, stands escaped. */
static void put_commented(struct iso_text *text, const char *name)
{
    if (!strpbrk(name, "\n\r\t") && iso_is_shown_as_it_is(name, strlen(name)))
        iso_text_put(text, name);
    else
        iso_text_put_shown_string(text, name, strlen(name));
}

static void put_check(const struct iso_prove_execution *execution, struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    const struct iso_prove_rule *rule = &program->rules.list[execution->rule];
    struct iso_text asked = {0};
    iso_text_put(&asked, "SELECT (");
    iso_text_put_bytes(&asked, program->source + rule->span.begin,
                       rule->span.end - rule->span.begin);
    iso_text_put(&asked, ") IS NOT FALSE;\n");
    put_reading(text, "wait_all\nrule=$(\"${psql[@]}\" -A -t", &asked, "");
    iso_text_put(text, ")\n");
    iso_text_release(&asked);
}

/* The last commit that the rule's reader sees: behind it the rule is asked. */
static uint32_t last_seen(const struct iso_prove_execution *execution)
{
    uint32_t last = ISO_NONE;
    bool all = execution->program->rules.list[execution->rule].kind == ISO_PROVE_ASSERT;
    for (uint32_t i = 0; i < execution->count; i++) {
        uint32_t instance = execution->order[i];
        if ((all || execution->moment[instance]) && !execution->aborted[instance])
            last = instance;
    }
    return last;
}

static void put_item(const struct iso_prove_execution *execution, const struct iso_prove_item *item,
                     const char *level, bool *begun, struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    uint32_t instance = item->instance;
    struct iso_text told = {0};
    if (!begun[instance]) {
        put_prologue(execution, &told, program->prologues.list[instance]);
        iso_text_format(&told, "BEGIN ISOLATION LEVEL %s;\n", level);
        if (execution->level != ISO_PROVE_RC)
            iso_text_put(&told, "SELECT 'has its snapshot' AS t;\n");
        begun[instance] = true;
    }
    if (item->kind == ISO_PROVE_STATEMENT) {
        uint32_t tag = program->steps.list[execution->events.list[item->first].step].tag;
        const char *script =
            tag == ISO_NONE || tag >= program->scripts.count ? NULL : program->scripts.list[tag];
        iso_text_put(&told, script ? script : "");
    } else {
        iso_text_put(&told, item->kind == ISO_PROVE_COMMITS ? "COMMIT;\n" : "ROLLBACK;\n");
    }
    if (told.used) {
        char command[40];
        snprintf(command, sizeof command, "tell %u%s", instance + 1,
                 item->waits_for != ISO_NONE ? " waits" : "");
        put_reading(text, command, &told, "");
    }
    iso_text_release(&told);
}

bool iso_prove_put_psql(const struct iso_prove_result *result, struct iso_text *text)
{
    static const enum iso_prove_level levels[] = {ISO_PROVE_SER, ISO_PROVE_SI, ISO_PROVE_RC};
    const struct iso_prove_execution *execution = NULL;
    const char *level = NULL;
    for (size_t i = 0; i < sizeof levels / sizeof *levels && !execution; i++) {
        if (!result->asked[levels[i]] || !result->answers[levels[i]].shown)
            continue;
        execution = &result->answers[levels[i]].execution;
        level = iso_prove_level_at_postgresql(levels[i]);
    }
    if (!execution || !execution->program->sql || execution->program->has_odd_names)
        return false;
    const struct iso_prove_program *program = execution->program;
    struct iso_prove_schedule schedule;
    iso_text_put(text, "#!/bin/bash\n# How ");
    put_commented(text, program->file);
    iso_text_format(text, " breaks at %s, replayed on PostgreSQL: one psql for each transaction.\n",
                    level);
    iso_text_put(
        text,
        "#\n#   bash SCRIPT [OPTIONS OF PSQL]       -d DATABASE, for example\n#\n"
        "# All is done in the schema isochron_replay, which is dropped before and after. Exit status: 0 it breaks "
        "there, too;\n# 1 it does not; 2 something failed.\n");
    iso_text_put(text, head);
    iso_text_put(
        text,
        "wait_all() {\n    for session in \"${!into[@]}\"; do wait_for \"$session\"; done\n}\n\n");
    struct iso_text made = {0};
    iso_text_put(
        &made, "DROP SCHEMA IF EXISTS isochron_replay CASCADE;\nCREATE SCHEMA isochron_replay;\n");
    iso_text_put_bytes(&made, program->source, program->source_length);
    iso_text_put(&made, "\n");
    put_reading(text, "\"${psql[@]}\" -v ON_ERROR_STOP=1", &made, " || exit 2");
    iso_text_release(&made);
    iso_text_put(text, "rule=\n\n");
    for (uint32_t i = 0; i < execution->count; i++) {
        iso_text_format(text, "open %u # ", i + 1);
        put_commented(text, program->instances.list[i].name);
        iso_text_put(text, "\n");
    }
    iso_text_put(text, "\n");
    bool *begun = iso_allocate_zeroed(execution->count + 1, sizeof *begun);
    uint32_t last = last_seen(execution);
    iso_prove_schedule_init(&schedule, execution);
    for (uint32_t i = 0; i < schedule.count; i++) {
        put_item(execution, &schedule.list[i], level, begun, text);
        if (schedule.list[i].kind == ISO_PROVE_COMMITS && schedule.list[i].instance == last)
            put_check(execution, text);
    }
    iso_prove_schedule_release(&schedule);
    iso_free(begun);
    iso_text_put(
        text,
        "wait_all\n\"${psql[@]}\" -c 'DROP SCHEMA isochron_replay CASCADE'\n"
        "case $rule in\nf) echo \"the rule is broken\" ;;\nt) echo \"the rule holds\"; exit 1 ;;\n"
        "*) exit 2 ;;\nesac\n");
    return true;
}
