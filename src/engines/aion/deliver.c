/* From the shards' findings to the caller's events. */
#include "aion/state_private.h"
#include "base/log.h"

static const struct iso_aion_party nobody = {.tid = ISO_ABSENT};

struct iso_aion_event aion_event_of(const struct iso_aion *engine, enum iso_axiom axiom)
{
    return (struct iso_aion_event){.state = ISO_AION_FINAL,
                                   .level = aion_versions_level(engine),
                                   .axiom = axiom,
                                   .transaction = nobody,
                                   .other = nobody,
                                   .key = ISO_ABSENT,
                                   .session = ISO_ABSENT,
                                   .operation = ISO_NONE,
                                   .snapshot_violation = ISO_NONE,
                                   .writer_expected = nobody,
                                   .writer_actual = nobody,
                                   .cause = nobody};
}

struct iso_aion_party aion_party_in(const struct iso_aion *engine,
                                    const struct aion_key_cache *cache, uint32_t t)
{
    const struct iso_history *history = cache->history;
    return (struct iso_aion_party){&history->atoms, history->txns.tid[t],
                                   engine->options.host.origin_is_index ? t
                                                                        : history->txns.origin[t],
                                   history->txns.sts[t], history->txns.cts[t]};
}

/* No watermark vouches for it, and no deadline: memory was short. */
static bool is_unpromised(const struct iso_aion *engine, const struct iso_aion_event *event)
{
    if (event->state != ISO_AION_FINAL || event->by_deadline ||
        engine->time.limit == engine->time.promised)
        return false;
    if (event->axiom == ISO_TIMESTAMP && event->level == ISO_SER)
        return event->transaction.cts >= engine->time.promised;
    return event->axiom == ISO_EXT && event->visible_below > engine->time.promised;
}

/* Where the spill file has failed the engine knows less than it should, and reports nothing more:
 * the same stream, judged again once the file is mended, would report something else in its place.
 */
void aion_emit(struct iso_aion *engine, struct iso_aion_event *event)
{
    if (engine->budget.failure.status != ISO_OK)
        return;
    event->id = iso_aion_event_id(event);
    event->unpromised = is_unpromised(engine, event);
    if (event->transaction.tid != ISO_ABSENT)
        ISO_LOG(aion, event->transaction.atoms, event->transaction.tid, "event %s: %s%s",
                iso_axiom_name(event->axiom),
                event->state == ISO_AION_TENTATIVE ? "tentative"
                : event->state == ISO_AION_FINAL   ? "final"
                                                   : "retracted",
                event->by_deadline ? " by deadline" : "");
    if (engine->options.host.emit)
        engine->options.host.emit(engine->options.host.context, event);
}

static struct iso_aion_party party_of(const struct iso_atoms *atoms, const struct aion_party *party)
{
    return (struct iso_aion_party){atoms, party->tid, party->origin, party->sts, party->cts};
}

static struct iso_aion_value value_of(const struct iso_atoms *atoms, const struct aion_words *words)
{
    return (struct iso_aion_value){atoms, words->is_list ? words->elements : &words->atom,
                                   words->count, words->is_list};
}

static struct iso_aion_event event_of(const struct iso_aion *engine,
                                      const struct iso_aion_shard *shard,
                                      const struct aion_finding *finding)
{
    const struct iso_atoms *atoms = iso_aion_shard_atoms(shard);
    return (struct iso_aion_event){.state = finding->state,
                                   .level = aion_versions_level(engine),
                                   .axiom =
                                       finding->what == AION_FOUND_EXT ? ISO_EXT : ISO_NOCONFLICT,
                                   .kind = finding->kind,
                                   .by_deadline = finding->by_deadline,
                                   .assumed = finding->assumed,
                                   .is_first = finding->is_first,
                                   .transaction = party_of(atoms, &finding->transaction),
                                   .other = party_of(atoms, &finding->other),
                                   .key_atoms = atoms,
                                   .key = iso_aion_shard_key_atom(shard, finding->key),
                                   .operation = finding->operation,
                                   .visible_below = finding->visible_below,
                                   .unlisted = finding->unlisted.count,
                                   .excused = finding->unlisted.excused,
                                   .doubtful = finding->unlisted.doubtful,
                                   .session = ISO_ABSENT,
                                   .snapshot_violation = ISO_NONE,
                                   .expected = value_of(atoms, &finding->expected),
                                   .actual = value_of(atoms, &finding->actual),
                                   .writer_expected = party_of(atoms, &finding->writer_expected),
                                   .writer_actual = party_of(atoms, &finding->writer_actual),
                                   .cause = party_of(atoms, &finding->cause)};
}

static void deliver_tie(struct iso_aion *engine, uint32_t number,
                        const struct aion_finding *finding)
{
    struct aion_tie tie = {.cts = finding->transaction.cts,
                           .sts = finding->transaction.sts,
                           .origin = finding->transaction.origin,
                           .shard = number,
                           .key = finding->key,
                           .snapshot_violation = ISO_NONE,
                           .what = (uint8_t)finding->what};
    aion_tie_add(engine, &tie, iso_aion_shard_atoms(engine->shards.list[number]),
                 finding->transaction.tid);
}

void aion_deliver(struct iso_aion *engine)
{
    for (uint32_t s = 0; s < engine->shards.count; s++)
        aion_note_failure(engine, s);
    for (uint32_t s = 0; s < engine->shards.count; s++) {
        uint32_t count;
        const struct aion_finding *findings =
            iso_aion_shard_findings(engine->shards.list[s], &count);
        for (uint32_t i = 0; i < count; i++) {
            if (findings[i].what == AION_FOUND_READER || findings[i].what == AION_FOUND_WRITER) {
                deliver_tie(engine, s, &findings[i]);
                continue;
            }
            struct iso_aion_event event = event_of(engine, engine->shards.list[s], &findings[i]);
            aion_emit(engine, &event);
        }
        if (count)
            iso_aion_shard_clear(engine->shards.list[s]);
    }
}
