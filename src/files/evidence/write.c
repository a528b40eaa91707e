#include <inttypes.h>

#include "evidence/evidence.h"
#include "evidence/evidence_private.h"

#define LITERAL(output, text) iso_output_bytes(output, text, sizeof text - 1)

enum { EVENTS_A_LINE = 64 };

struct writer {
    struct iso_output *output;
    const struct iso_history *history;
    const struct iso_evidence *evidence;
};

static void write_tid(struct writer *writer, uint32_t transaction)
{
    iso_output_atom_string(writer->output, &writer->history->atoms,
                           transaction == ISO_NONE ? ISO_ABSENT
                                                   : writer->history->txns.tid[transaction]);
}

static void write_event(struct writer *writer, uint32_t event)
{
    iso_output_text(writer->output, event & 1 ? "[\"commit\"," : "[\"begin\",");
    write_tid(writer, event / 2);
    iso_output_char(writer->output, ']');
}

static void write_key(struct writer *writer, uint32_t key)
{
    LITERAL(writer->output, ",\"key\":");
    iso_output_atom_string(writer->output, &writer->history->atoms,
                           writer->history->keys.atom[key]);
}

static void write_read(struct writer *writer, uint32_t transaction, uint32_t operation)
{
    LITERAL(writer->output, ",\"read\":[");
    write_tid(writer, transaction);
    iso_output_format(writer->output, ",%" PRIu32 "]",
                      operation - writer->history->txns.first_op[transaction]);
}

/* Writes the transaction that reads, where each read counts as one of its own. */
static void write_op(struct writer *writer, uint32_t transaction, uint32_t read)
{
    iso_output_format(writer->output, ",\"op\":%" PRIu32,
                      read - 1 - writer->history->txns.first_op[transaction]);
}

static void write_order(struct writer *writer)
{
    const struct iso_evidence *evidence = writer->evidence;
    for (uint32_t i = 0; i < evidence->event_count; i++) {
        iso_output_text(writer->output, i % EVENTS_A_LINE ? "," : "{\"order\":[");
        write_event(writer, evidence->events[i]);
        if ((i + 1) % EVENTS_A_LINE == 0 || i + 1 == evidence->event_count)
            LITERAL(writer->output, "]}\n");
    }
}

static void write_choice(struct writer *writer, const struct iso_choice *choice)
{
    uint32_t transaction = iso_history_owner(writer->history, choice->operation);
    LITERAL(writer->output, "{\"saw\":");
    write_tid(writer, choice->writer);
    write_read(writer, transaction, choice->operation);
    LITERAL(writer->output, "}\n");
}

static void write_literal(struct writer *writer, const struct iso_literal *literal)
{
    bool events = literal->kind == ISO_LITERAL_BEFORE;
    iso_output_format(writer->output, "{\"%s\":[", evidence_literal_names[literal->kind]);
    events ? write_event(writer, literal->a) : write_tid(writer, literal->a);
    iso_output_char(writer->output, ',');
    if (literal->kind == ISO_LITERAL_PLACED || literal->kind == ISO_LITERAL_NOT_PLACED)
        iso_output_format(writer->output, "%" PRIu32, literal->b);
    else
        events ? write_event(writer, literal->b) : write_tid(writer, literal->b);
    iso_output_char(writer->output, ']');
    if (literal->key != ISO_NONE)
        write_key(writer, literal->key);
    if (literal->read)
        write_op(writer, literal->a, literal->read);
    iso_output_char(writer->output, '}');
}

static void write_edge(struct writer *writer, const struct iso_edge *edge)
{
    iso_output_format(writer->output,
                      "{\"type\":\"%s\",\"from\":", evidence_edge_names[edge->kind]);
    write_event(writer, edge->from);
    LITERAL(writer->output, ",\"to\":");
    write_event(writer, edge->to);
    if (edge->key != ISO_NONE)
        write_key(writer, edge->key);
    if (edge->kind == ISO_EDGE_RW) {
        LITERAL(writer->output, ",\"via\":");
        write_tid(writer, edge->via);
    }
    if (edge->read)
        write_op(writer, (edge->kind == ISO_EDGE_RW ? edge->from : edge->to) / 2, edge->read);
    iso_output_char(writer->output, '}');
}

static void write_lemma(struct writer *writer, const struct iso_lemma *lemma)
{
    iso_output_format(writer->output, "{\"lemma\":\"%s\",\"literals\":[",
                      evidence_lemma_names[lemma->kind]);
    for (uint32_t i = 0; i < lemma->literal_count; i++) {
        if (i)
            iso_output_char(writer->output, ',');
        write_literal(writer, &writer->evidence->literals[lemma->first_literal + i]);
    }
    iso_output_char(writer->output, ']');
    if (lemma->edge_count) {
        LITERAL(writer->output, ",\"edges\":[");
        for (uint32_t i = 0; i < lemma->edge_count; i++) {
            if (i)
                iso_output_char(writer->output, ',');
            write_edge(writer, &writer->evidence->edges[lemma->first_edge + i]);
        }
        iso_output_char(writer->output, ']');
    }
    if (lemma->kind == ISO_LEMMA_LIST)
        write_read(writer, iso_history_owner(writer->history, lemma->operation), lemma->operation);
    LITERAL(writer->output, "}\n");
}

static void write_finding(struct writer *writer, const struct iso_finding *finding)
{
    iso_output_format(writer->output, "{\"finding\":\"%s\"", iso_finding_name(finding->kind));
    write_read(writer, finding->transaction, finding->operation);
    LITERAL(writer->output, ",\"other\":");
    write_tid(writer, finding->other);
    LITERAL(writer->output, "}\n");
}

void iso_evidence_write(struct iso_output *output, const struct iso_history *history,
                        const struct iso_evidence *evidence)
{
    struct writer writer = {output, history, evidence};
    iso_output_format(output,
                      "{\"isochron_evidence\":%d,\"level\":\"%s\",\"drift\":%" PRIu64
                      "%s,\"verdict\":\"%s\"}\n",
                      ISO_EVIDENCE_VERSION, iso_level_name(evidence->level), evidence->drift,
                      evidence->versions_by_commit ? ",\"versions\":\"commits\"" : "",
                      evidence->accepts ? "holds" : "violated");
    if (evidence->accepts)
        write_order(&writer);
    else if (evidence->finding.kind != ISO_FINDING_NONE)
        write_finding(&writer, &evidence->finding);
    for (uint32_t i = 0; evidence->accepts && i < evidence->choice_count; i++)
        write_choice(&writer, &evidence->choices[i]);
    for (uint32_t i = 0; !evidence->accepts && i < evidence->lemma_count; i++)
        write_lemma(&writer, &evidence->lemmas[i]);
}
