/* What is doubtful, and why: doubt stays with the transactions, keys and inputs that it concerns.
 *
 * Two records that contradict each other are both judged, and whatever names either is doubtful:
 * which of them is right nobody knows, and it is not the one that arrived first. So it is with two
 * that use a key as a list and as a single value, and with a client's write of another value than
 * the change stream delivered.
 *
 * What was left out, or may still arrive below a watermark, are writes that nobody has seen: they
 * may explain a read of a value without a writer, and whatever rests on transactions of the same
 * input. So are records that were lost, where no change stream has their writes; of which input
 * nobody knows. A change stream's rows have values that were there before, of whatever input: where
 * some were left out, nobody who is known need have written what was read.
 *
 * Of a transaction that came below a watermark, or below what is kept, the keys are known: what
 * rests on versions of one of them may have been judged without it, and be of a value that had been
 * there before. Where no promise was broken, as memory was short, these keys are all.
 */
#include <assert.h>
#include <string.h>

#include "aion/structures/values.h"
#include "base/memory.h"
#include "pipeline/pipeline_private.h"

/* False: it was there. Once there is no room for more, everything is doubtful. */
static bool doubt(struct doubts *doubts, uint64_t digest)
{
    doubts->all |= doubts->doubted.count >= PIPELINE_DOUBTED_MOST;
    return !doubts->all && id_set_add(&doubts->doubted, digest);
}

static bool is_doubted(const struct doubts *doubts, uint64_t digest)
{
    return doubts->all || id_set_has(&doubts->doubted, digest);
}

void doubts_release(struct doubts *doubts)
{
    id_set_release(&doubts->doubted);
    iso_free(doubts->counted);
    *doubts = (struct doubts){0};
}

/* ---- names ---- */

enum salt { TID = 1, KEY, WRITE, UNWRITTEN, LATE, REFUSED };

static uint64_t name_of(enum salt salt, uint64_t one, uint64_t other)
{
    uint64_t digest = aion_mix(one + salt * 0x9e3779b97f4a7c15u) + aion_mix(other);
    return digest > ID_SET_REMOVED ? digest : digest + 2;
}

static uint64_t party(const struct iso_aion_party *party)
{
    return party->tid == ISO_ABSENT ? 0
                                    : name_of(TID, aion_atom_digest(party->atoms, party->tid), 0);
}

static uint64_t key_of(const struct iso_aion_event *event)
{
    return event->key_atoms && event->key != ISO_ABSENT
               ? aion_atom_digest(event->key_atoms, event->key)
               : 0;
}

/* ---- what a verdict rests on ---- */

/* A write that is not known may explain a read; a row that is not known, what a client wrote and no
 * row says. */
static bool rests_on_writes(const struct iso_pipeline *pipeline, enum iso_axiom axiom)
{
    /* reads within a transaction are its rows */
    bool alone = pipeline->join && !pipeline->options.join.clients;
    return axiom == ISO_EXT || axiom == ISO_CDC || (axiom == ISO_INT && alone);
}

static bool is_known(const struct iso_aion_party *party)
{
    return party->tid != ISO_ABSENT;
}

/* Whether it rests on a version of which nobody knows who wrote it. */
static bool lacks_writer(const struct iso_aion_event *event)
{
    return event->axiom != ISO_INT &&
           (event->expected.is_list || !is_known(&event->writer_expected) ||
            !is_known(&event->writer_actual));
}

struct pipeline_provenance pipeline_provenance_of(const struct iso_pipeline *pipeline,
                                                  const struct iso_aion_event *event)
{
    const struct iso_aion_party *parties[] = {&event->transaction, &event->other,
                                              &event->writer_expected, &event->writer_actual};
    struct pipeline_provenance provenance = {.key = key_of(event),
                                             .on_writes = rests_on_writes(pipeline, event->axiom)};
    provenance.anywhere = provenance.on_writes && (event->axiom == ISO_CDC || lacks_writer(event));
    for (int p = 0; p < PIPELINE_PARTIES; p++) {
        provenance.parties[p] = party(parties[p]);
        provenance.inputs[p] =
            is_known(parties[p]) ? iso_origin_input(parties[p]->origin) : ISO_NONE;
    }
    return provenance;
}

static bool names_party(const struct pipeline_provenance *provenance, uint64_t digest)
{
    for (int p = 0; p < PIPELINE_PARTIES; p++)
        if (provenance->parties[p] == digest)
            return true;
    return false;
}

static bool names_input(const struct pipeline_provenance *provenance, uint32_t input)
{
    for (int p = 0; p < PIPELINE_PARTIES; p++)
        if (provenance->inputs[p] == input)
            return true;
    return false;
}

/* ---- what becomes doubtful ---- */

bool pipeline_is_doubted(void *context, const struct iso_atoms *atoms, iso_atom tid)
{
    const struct iso_pipeline *pipeline = context;
    return is_doubted(&pipeline->doubts, name_of(TID, aion_atom_digest(atoms, tid), 0));
}

static bool is_key_doubted(const struct iso_pipeline *pipeline, uint64_t key)
{
    return pipeline->doubts.doubted.count && is_doubted(&pipeline->doubts, name_of(KEY, key, 0));
}

/* All pairs of the key that one of its writers makes doubtful, those that are listed among them. */
void pipeline_doubted_pairs(void *context, const struct iso_atoms *atoms, iso_atom key,
                            uint64_t pairs)
{
    struct iso_pipeline *pipeline = context;
    struct doubts *doubts = &pipeline->doubts;
    struct iso_aion_event event = {.state = ISO_AION_TENTATIVE, .key_atoms = atoms, .key = key};
    uint64_t digest = aion_atom_digest(atoms, key);
    if (is_key_doubted(pipeline, digest) ||
        (pipeline->join && pipeline_is_left_out(pipeline, &event)))
        return;
    assert(pairs && digest);
    ISO_GROW(doubts->counted, doubts->counted_count, doubts->counted_capacity);
    doubts->counted[doubts->counted_count++] = digest;
    pipeline->stats.doubted[ISO_NOCONFLICT] += pairs;
}

static bool was_counted(const struct iso_pipeline *pipeline, const struct finding *finding)
{
    const struct doubts *doubts = &pipeline->doubts;
    if (finding->axiom != ISO_NOCONFLICT || !doubts->counted_count)
        return false;
    uint64_t key = aion_atom_digest(&pipeline->reports.findings.atoms, finding->key);
    for (size_t i = 0; i < doubts->counted_count; i++)
        if (doubts->counted[i] == key)
            return true;
    return false;
}

/* What has become doubtful: a transaction, versions of a key, or the writes of an input. */
struct doubted {
    uint64_t tid, key; /* digests; 0: none */
    uint32_t input;    /* ISO_NONE: of which nobody knows */
    enum pipeline_doubt why;
};

static bool rests_on(const struct finding *finding, const struct doubted *doubted)
{
    const struct pipeline_provenance *provenance = &finding->provenance;
    if (doubted->tid)
        return names_party(provenance, doubted->tid);
    if (doubted->key)
        return provenance->on_writes && provenance->key == doubted->key;
    return provenance->on_writes && (provenance->anywhere || doubted->input == ISO_NONE ||
                                     names_input(provenance, doubted->input));
}

/* Reports certain verdicts again that rest on it. */
static void doubt_again(struct iso_pipeline *pipeline, struct doubted doubted)
{
    struct findings *findings = &pipeline->reports.findings;
    assert(doubted.why != PIPELINE_CERTAIN);
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->list[i];
        if (!finding->text || finding->doubt || !rests_on(finding, &doubted))
            continue;
        pipeline->stats.doubted[finding->axiom] += !was_counted(pipeline, finding);
        pipeline_report_again(pipeline, finding, doubted.why);
    }
}

static void doubt_input(struct iso_pipeline *pipeline, uint32_t input, enum pipeline_doubt why)
{
    doubt_again(pipeline, (struct doubted){.input = input, .why = why});
}

void pipeline_contradiction(void *context, const struct iso_history *history, uint32_t t,
                            uint64_t first)
{
    struct iso_pipeline *pipeline = context;
    pipeline->stats.contradictions++;
    uint64_t tid = name_of(TID, aion_atom_digest(&history->atoms, history->txns.tid[t]), 0);
    if (doubt(&pipeline->doubts, tid))
        doubt_again(pipeline, (struct doubted){.tid = tid, .why = PIPELINE_CONTRADICTION});
    pipeline->doubts.counted_count = 0;
    pipeline_report_contradiction(pipeline, history, t, first);
}

static void doubt_late(struct iso_pipeline *pipeline, uint64_t digest, enum pipeline_doubt why)
{
    enum salt salt = why == PIPELINE_LATE ? LATE : REFUSED;
    if (doubt(&pipeline->doubts, name_of(salt, digest, 0)) || pipeline->doubts.all)
        doubt_again(pipeline, (struct doubted){.key = digest, .why = why});
}

/* A key, the row that it is a cell of, and what is counted of its table. */
static void doubt_late_key(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                           iso_atom key, enum pipeline_doubt why)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(atoms, key, buffer, &length);
    uint64_t digest = aion_atom_digest(atoms, key);
    doubt_late(pipeline, digest, why);
    doubt_late(pipeline, aion_row_digest(atoms, key, digest), why);
    const char *slash = memchr(text, '/', length);
    if (!slash)
        return;
    struct iso_text table = {0};
    iso_text_put_bytes(&table, text, (size_t)(slash - text));
    iso_text_put(&table, "#");
    doubt_late(pipeline, aion_text_digest(table.bytes, table.used), why);
    iso_text_release(&table);
}

/* Who has broken a promise may do it again: whatever rests on its input is doubtful, too. */
void pipeline_late(void *context, const struct iso_history *block, uint32_t transaction,
                   bool was_promised)
{
    struct iso_pipeline *pipeline = context;
    assert(transaction < block->txns.count);
    uint32_t number = iso_origin_input(block->txns.origin[transaction]);
    struct input *input = pipeline_input(pipeline, number);
    ISO_EACH(o, block->txns.first_op, transaction)
        if (iso_kind_writes(iso_kind_of(block, o)))
            doubt_late_key(pipeline, &block->atoms, block->keys.atom[block->ops.key[o]],
                           was_promised ? PIPELINE_LATE : PIPELINE_MEMORY);
    if (!was_promised)
        return;
    if (!input->late)
        doubt_input(pipeline, number, PIPELINE_LATE);
    input->late = pipeline->doubts.late = true;
}

void pipeline_lacks(struct iso_pipeline *pipeline, uint32_t number)
{
    assert(number < pipeline->inputs.names.count);
    struct input *input = pipeline_input(pipeline, number);
    bool lacks_rows = pipeline_is_change_stream(pipeline, number);
    if (!input->lacks)
        doubt_input(pipeline, lacks_rows ? ISO_NONE : number, PIPELINE_SKIPPED);
    input->lacks = pipeline->doubts.lacks = true;
    pipeline->doubts.lacks_rows |= lacks_rows;
}

void pipeline_doubt_lost(struct iso_pipeline *pipeline)
{
    struct doubts *doubts = &pipeline->doubts;
    struct counted_loss loss = counted_loss(&pipeline->counted);
    doubts->loses = !pipeline->join && (loss.records || loss.silent);
    if (doubts->loses)
        doubt_input(pipeline, ISO_NONE, PIPELINE_LOST);
}

void pipeline_doubt_key(struct iso_pipeline *pipeline, const struct iso_atoms *atoms, iso_atom key)
{
    doubt(&pipeline->doubts, name_of(KEY, aion_atom_digest(atoms, key), 0));
}

void pipeline_doubt_write(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    uint64_t tid = aion_atom_digest(event->transaction.atoms, event->transaction.tid);
    doubt(&pipeline->doubts, name_of(WRITE, tid, key_of(event)));
    if (event->kind == ISO_UNWRITTEN) /* its row is no version, and may be what somebody read */
        doubt(&pipeline->doubts, name_of(UNWRITTEN, key_of(event), 0));
}

/* ---- what is doubtful ---- */

static bool is_contradicted(const struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                            const struct pipeline_provenance *provenance)
{
    const struct doubts *doubts = &pipeline->doubts;
    const struct iso_aion_party *writers[] = {&event->writer_expected, &event->writer_actual};
    uint64_t key = key_of(event);
    if (!doubts->doubted.count)
        return false;
    if (is_doubted(doubts, name_of(KEY, key, 0)) ||
        (event->expected.is_list && pipeline->stats.contradictions))
        return true;
    for (int p = 0; p < PIPELINE_PARTIES; p++)
        if (provenance->parties[p] && is_doubted(doubts, provenance->parties[p]))
            return true;
    bool reads = event->axiom == ISO_EXT || event->kind == ISO_BEFORE_IMAGE;
    if (reads && !is_known(&event->writer_actual) && is_doubted(doubts, name_of(UNWRITTEN, key, 0)))
        return true;
    for (int w = 0; w < 2 && reads; w++)
        if (is_known(writers[w]) &&
            is_doubted(doubts,
                       name_of(WRITE, aion_atom_digest(writers[w]->atoms, writers[w]->tid), key)))
            return true;
    return false;
}

/* Whether writes that lack, or may still arrive late, may explain it. Who wrote what a read saw is
 * known with the final verdict only. */
static bool may_be_explained(const struct iso_pipeline *pipeline,
                             const struct iso_aion_event *event,
                             const struct pipeline_provenance *provenance, bool late)
{
    if (event->state != ISO_AION_FINAL || provenance->anywhere)
        return true;
    for (int p = 0; p < PIPELINE_PARTIES; p++) {
        uint32_t input = provenance->inputs[p];
        if (input < pipeline->inputs.count &&
            (late ? pipeline->inputs.list[input].late : pipeline->inputs.list[input].lacks))
            return true;
    }
    return false;
}

enum pipeline_doubt pipeline_doubt_of(const struct iso_pipeline *pipeline,
                                      const struct iso_aion_event *event)
{
    struct pipeline_provenance provenance = pipeline_provenance_of(pipeline, event);
    if (is_contradicted(pipeline, event, &provenance))
        return PIPELINE_CONTRADICTION;
    if (event->unpromised)
        return PIPELINE_MEMORY;
    if (!provenance.on_writes)
        return PIPELINE_CERTAIN;
    if (pipeline->doubts.lacks_rows ||
        (pipeline->doubts.lacks && may_be_explained(pipeline, event, &provenance, false)))
        return PIPELINE_SKIPPED;
    if (pipeline->doubts.loses)
        return PIPELINE_LOST;
    if (is_doubted(&pipeline->doubts, name_of(REFUSED, provenance.key, 0)))
        return PIPELINE_MEMORY;
    if (is_doubted(&pipeline->doubts, name_of(LATE, provenance.key, 0)))
        return PIPELINE_LATE;
    if (pipeline->doubts.late && may_be_explained(pipeline, event, &provenance, true))
        return PIPELINE_LATE;
    if (event->assumed)
        return PIPELINE_BEFORE_START;
    bool before = pipeline->doubts.midway && event->state == ISO_AION_FINAL && lacks_writer(event);
    return before ? PIPELINE_BEFORE_START : PIPELINE_CERTAIN;
}

uint64_t pipeline_doubtful_unlisted(const struct iso_pipeline *pipeline,
                                    const struct iso_aion_event *event, enum pipeline_doubt doubt)
{
    if (event->state != ISO_AION_FINAL)
        return 0;
    if (event->axiom == ISO_NOCONFLICT && !is_key_doubted(pipeline, key_of(event)))
        return event->doubtful;
    return doubt ? event->unlisted : 0;
}

const char *pipeline_doubt_name(enum pipeline_doubt doubt)
{
    static const char *const names[] = {[PIPELINE_CERTAIN] = NULL,
                                        [PIPELINE_CONTRADICTION] = "contradiction",
                                        [PIPELINE_SKIPPED] = "skipped-records",
                                        [PIPELINE_LATE] = "below-watermark",
                                        [PIPELINE_BEFORE_START] = "before-start",
                                        [PIPELINE_MEMORY] = "memory",
                                        [PIPELINE_LOST] = ISO_RECORDS_LOST};
    assert((size_t)doubt < sizeof names / sizeof *names);
    return names[doubt];
}
