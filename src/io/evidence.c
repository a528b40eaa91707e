#define _GNU_SOURCE
#include "io/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const literal_names[] = {"order", "reads", "not-reads", "before"};
static const char *const edge_names[] = {"own", "session", "time", "wr", "ww", "rw", "before"};
static const char *const lemma_names[] = {"cycle", "list", "propagation"};

enum { LITERALS = 4, EDGES = 7, LEMMAS = 3, EVENTS_A_LINE = 16 };

/* ---- writing ---- */

static void write_number(FILE *file, uint32_t number)
{
    if (number == ISO_NONE)
        fputs(" -", file);
    else
        fprintf(file, " %u", number);
}

static void write_lemma(const struct iso_evidence *evidence, const struct iso_lemma *lemma, FILE *file)
{
    fprintf(file, "lemma %s", lemma_names[lemma->kind]);
    if (lemma->kind == ISO_LEMMA_LIST)
        write_number(file, lemma->operation);
    fputc('\n', file);
    for (uint32_t i = 0; i < lemma->literal_count; i++) {
        const struct iso_literal *literal = &evidence->literals[lemma->first_literal + i];
        fprintf(file, "literal %s", literal_names[literal->kind]);
        write_number(file, literal->a);
        write_number(file, literal->b);
        write_number(file, literal->key);
        fputc('\n', file);
    }
    for (uint32_t i = 0; i < lemma->edge_count; i++) {
        const struct iso_edge *edge = &evidence->edges[lemma->first_edge + i];
        fprintf(file, "edge %s", edge_names[edge->kind]);
        write_number(file, edge->from);
        write_number(file, edge->to);
        write_number(file, edge->key);
        write_number(file, edge->via);
        fputc('\n', file);
    }
}

enum iso_status iso_evidence_write(const struct iso_evidence *evidence, FILE *file, struct iso_error *error)
{
    fprintf(file, "isochron-evidence 1\nlevel %s\ndrift %llu\n", iso_model_name(evidence->model),
            (unsigned long long)evidence->drift);
    if (evidence->accepts) {
        fputs("accept\n", file);
    } else if (evidence->finding.kind != ISO_FINDING_NONE) {
        fprintf(file, "finding %s", iso_finding_name(evidence->finding.kind));
        write_number(file, evidence->finding.transaction);
        write_number(file, evidence->finding.operation);
        write_number(file, evidence->finding.other);
        fputc('\n', file);
    } else {
        fputs("reject\n", file);
    }
    for (uint32_t i = 0; i < evidence->event_count; i++) {
        if (i % EVENTS_A_LINE == 0)
            fputs("events", file);
        write_number(file, evidence->events[i]);
        if (i % EVENTS_A_LINE == EVENTS_A_LINE - 1 || i + 1 == evidence->event_count)
            fputc('\n', file);
    }
    for (uint32_t i = 0; i < evidence->lemma_count; i++)
        write_lemma(evidence, &evidence->lemmas[i], file);
    fputs("end\n", file);
    return ferror(file) ? iso_error_set(error, ISO_FAILED, "writing evidence: %s", strerror(errno)) : ISO_OK;
}

/* ---- reading ---- */

struct line {
    char *words; /* what is left of it */
};

static char *take_word(struct line *line)
{
    char *word = strtok_r(line->words, " \n", &line->words);
    return word ? word : "";
}

static bool take_number(struct line *line, uint32_t *number)
{
    char *word = take_word(line), *end;
    *number = ISO_NONE;
    if (strcmp(word, "-") == 0)
        return true;
    errno = 0;
    unsigned long value = strtoul(word, &end, 10);
    *number = (uint32_t)value;
    return *word >= '0' && *word <= '9' && !*end && !errno && value < ISO_NONE;
}

/* The index of a name; `count` if it is none. */
static int find(const char *name, const char *const *names, int count)
{
    int i = 0;
    while (i < count && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

static bool read_events(struct iso_evidence *evidence, struct line *line)
{
    while (line->words && line->words[strspn(line->words, " \n")]) {
        uint32_t event;
        if (!take_number(line, &event))
            return false;
        iso_evidence_event(evidence, event);
    }
    return true;
}

static bool read_lemma(struct iso_evidence *evidence, struct line *line)
{
    int kind = find(take_word(line), lemma_names, LEMMAS);
    uint32_t operation = ISO_NONE;
    if (kind == LEMMAS || (kind == ISO_LEMMA_LIST && !take_number(line, &operation)))
        return false;
    iso_evidence_lemma(evidence, (enum iso_lemma_kind)kind, operation);
    return true;
}

static bool read_literal(struct iso_evidence *evidence, struct line *line)
{
    struct iso_literal literal;
    int kind = find(take_word(line), literal_names, LITERALS);
    literal.kind = (enum iso_literal_kind)kind;
    if (kind == LITERALS || !evidence->lemma_count || !take_number(line, &literal.a) ||
        !take_number(line, &literal.b) || !take_number(line, &literal.key))
        return false;
    iso_evidence_literal(evidence, literal);
    return true;
}

static bool read_edge(struct iso_evidence *evidence, struct line *line)
{
    struct iso_edge edge;
    int kind = find(take_word(line), edge_names, EDGES);
    edge.kind = (enum iso_edge_kind)kind;
    if (kind == EDGES || !evidence->lemma_count || !take_number(line, &edge.from) ||
        !take_number(line, &edge.to) || !take_number(line, &edge.key) || !take_number(line, &edge.via))
        return false;
    iso_evidence_edge(evidence, edge);
    return true;
}

static bool read_finding(struct iso_evidence *evidence, struct line *line)
{
    const char *name = take_word(line);
    struct iso_finding *finding = &evidence->finding;
    for (int kind = 1; kind < ISO_FINDINGS; kind++) {
        if (strcmp(name, iso_finding_name((enum iso_finding_kind)kind)) == 0)
            finding->kind = (enum iso_finding_kind)kind;
    }
    return finding->kind != ISO_FINDING_NONE && take_number(line, &finding->transaction) &&
           take_number(line, &finding->operation) && take_number(line, &finding->other);
}

static bool read_level(struct iso_evidence *evidence, struct line *line)
{
    const char *name = take_word(line);
    int model = 0;
    while (model < ISO_MODELS && strcmp(name, iso_model_name((enum iso_model)model)) != 0)
        model++;
    evidence->model = (enum iso_model)(model < ISO_MODELS ? model : 0);
    return model < ISO_MODELS;
}

static bool read_line(struct iso_evidence *evidence, struct line *line, bool *ended)
{
    const char *word = take_word(line);
    if (*ended)
        return false;
    if (!strcmp(word, "edge"))
        return read_edge(evidence, line);
    if (!strcmp(word, "literal"))
        return read_literal(evidence, line);
    if (!strcmp(word, "lemma"))
        return read_lemma(evidence, line);
    if (!strcmp(word, "events"))
        return read_events(evidence, line);
    if (!strcmp(word, "finding"))
        return read_finding(evidence, line);
    if (!strcmp(word, "level"))
        return read_level(evidence, line);
    if (!strcmp(word, "drift")) {
        evidence->drift = strtoull(take_word(line), NULL, 10);
        return true;
    }
    evidence->accepts |= !strcmp(word, "accept");
    *ended = !strcmp(word, "end");
    return *ended || !strcmp(word, "accept") || !strcmp(word, "reject");
}

enum iso_status iso_evidence_read(struct iso_evidence *evidence, const char *path, struct iso_error *error)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: %s", path, strerror(errno));
    char *text = NULL;
    size_t capacity = 0;
    bool ended = false;
    enum iso_status status = ISO_OK;
    for (unsigned number = 1; status == ISO_OK && getline(&text, &capacity, file) >= 0; number++) {
        struct line line = {text};
        bool fine =
            number == 1 ? strcmp(text, "isochron-evidence 1\n") == 0 : read_line(evidence, &line, &ended);
        if (!fine)
            status = iso_error_set(error, ISO_BAD_INPUT, "%s:%u: expected %s", path, number,
                                   number == 1 ? "'isochron-evidence 1'" : "a line of evidence");
    }
    if (status == ISO_OK && !ended)
        status = iso_error_set(error, ISO_BAD_INPUT, "%s: expected a last line 'end'", path);
    free(text);
    fclose(file);
    return status;
}
