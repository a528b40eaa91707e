/* A finished history through the online engine, in the order of its file. */
#include <assert.h>

#include "aion/levels/deferred.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/team.h"
#include "history/index.h"

struct collector {
    const struct iso_history *history;
    struct iso_verdict *verdict;
    bool *breaks_session; /* by transaction */
    /* rc: among snapshots two commits may have one position */
    struct iso_boundaries boundaries;
};

/* ---- from texts of the engine to numbers of the history ---- */

static iso_atom atom_of(const struct iso_history *history, const struct iso_atoms *atoms,
                        iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atoms == &history->atoms || atom == ISO_ABSENT)
        return atom;
    const char *text = iso_atom_text(atoms, atom, buffer, &length);
    bool found = iso_atoms_find(&history->atoms, text, length, &atom);
    assert(found);
    (void)found;
    return atom;
}

static uint32_t key_of(const struct iso_history *history, const struct iso_aion_event *event)
{
    if (event->key == ISO_ABSENT)
        return ISO_NONE;
    return iso_atom_index_find(history->keys.index, atom_of(history, event->key_atoms, event->key));
}

static uint32_t transaction_of(const struct iso_aion_party *party)
{
    return party->tid == ISO_ABSENT ? ISO_NONE : (uint32_t)party->origin;
}

static struct iso_value value_of(const struct collector *collector,
                                 const struct iso_aion_value *value)
{
    if (!value->is_list)
        return iso_value_atom(value->count
                                  ? atom_of(collector->history, value->atoms, value->elements[0])
                                  : ISO_ABSENT);
    iso_atom *elements = iso_allocate(((size_t)value->count + 1) * sizeof *elements);
    for (uint32_t i = 0; i < value->count; i++)
        elements[i] = atom_of(collector->history, value->atoms, value->elements[i]);
    struct iso_value list = iso_verdict_list(collector->verdict, elements, value->count);
    iso_free(elements);
    return list;
}

/* ---- collecting ---- */

static void collect_event(void *context, const struct iso_aion_event *event)
{
    struct collector *collector = context;
    const struct iso_history *history = collector->history;
    uint32_t t = transaction_of(&event->transaction);
    if (event->state != ISO_AION_FINAL)
        return;
    if (event->unlisted && event->axiom != ISO_SESSION) {
        collector->verdict->counts[event->axiom] += event->unlisted;
        return;
    }
    if (event->axiom == ISO_SESSION) {
        collector->breaks_session[t] = true;
        return;
    }
    struct iso_violation violation = {.axiom = event->axiom,
                                      .kind = event->kind,
                                      .transaction = t,
                                      .other = transaction_of(&event->other),
                                      .key = key_of(history, event),
                                      .operation = ISO_NONE,
                                      .writer_expected = transaction_of(&event->writer_expected),
                                      .writer_actual = transaction_of(&event->writer_actual),
                                      .snapshot_violation = event->snapshot_violation};
    if (event->operation != ISO_NONE)
        violation.operation = history->txns.first_op[t] + event->operation;
    if (iso_verdict_keeps(collector->verdict, &violation) &&
        (event->axiom == ISO_INT || event->axiom == ISO_EXT)) {
        violation.expected = value_of(collector, &event->expected);
        violation.actual = value_of(collector, &event->actual);
    }
    iso_verdict_add(collector->verdict, &violation);
}

static uint64_t position_of(const struct collector *collector, uint32_t t)
{
    const struct iso_history *history = collector->history;
    if (history->txns.flags[t] & ISO_POINT &&
        (history->txns.flags[t] & ISO_HAS_STS || history->txns.cts[t]))
        return iso_boundaries_snapshot(&collector->boundaries, history->txns.cts[t]);
    return history->txns.flags[t] & ISO_POINT
               ? 0
               : iso_boundaries_commit(&collector->boundaries, history->txns.cts[t]);
}

static bool is_later(const struct collector *collector, uint32_t t, uint32_t latest)
{
    const struct iso_history *history = collector->history;
    if (latest == ISO_NONE || position_of(collector, t) != position_of(collector, latest))
        return latest == ISO_NONE || position_of(collector, t) > position_of(collector, latest);
    return collector->verdict->level == ISO_SER && (history->txns.flags[t] & ISO_POINT) &&
           !(history->txns.flags[latest] & ISO_POINT);
}

/* The engine reports the predecessor that came first; of a finished history the latest is known. */
static void add_session(const struct collector *collector, uint32_t session)
{
    const struct iso_history *history = collector->history;
    uint32_t latest = ISO_NONE;
    bool writers = iso_aion_is_about_sessions(collector->verdict->level);
    ISO_EACH(i, history->sessions.first, session) {
        uint32_t t = history->sessions.order[i];
        if (iso_status_of(history, t) != ISO_COMMITTED)
            continue;
        if (collector->breaks_session[t]) {
            struct iso_violation violation = iso_violation_of(ISO_SESSION, t);
            violation.other = latest;
            iso_verdict_add(collector->verdict, &violation);
        }
        if ((!writers || history->txns.flags[t] & ISO_WRITES) && is_later(collector, t, latest))
            latest = t;
    }
}

static bool always_kept(void *context, const char *key, size_t length)
{
    (void)context, (void)key, (void)length;
    return true;
}

enum iso_status iso_aion_check(const struct iso_history *history,
                               const struct iso_check_options *options, struct iso_verdict *verdict,
                               struct iso_error *error)
{
    struct collector collector = {.history = history, .verdict = verdict};
    struct iso_aion_options settings;
    struct iso_aion_stats stats;
    double start = iso_clock_seconds();
    assert(history->finished && verdict->level == options->level);
    verdict->engine = "aion";
    if (!options->session_order && iso_aion_is_about_sessions(options->level))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--no-session-order: --level %s is about sessions",
                             iso_level_name(options->level));
    iso_aion_options_init(&settings);
    settings.level = options->level;
    settings.host.are_positions = history->clock == ISO_CLOCK_SNAPSHOT;
    settings.host.has_snapshot_boundaries = iso_history_has_boundaries(history);
    settings.overlaps = options->overlaps;
    settings.session_order = options->session_order;
    settings.finality_timeout_ms = 0;
    settings.shards = options->threads < ISO_AION_SHARDS ? options->threads : ISO_AION_SHARDS;
    settings.host.origin_is_index = true;
    settings.host.is_whole_row = history->whole_rows ? always_kept : NULL;
    settings.max_per_key = options->max_per_key;
    settings.host.emit = collect_event;
    settings.host.context = &collector;
    struct iso_team *team = iso_team_new(settings.shards);
    settings.host.run_shards = iso_team_run;
    settings.host.runner = team;
    collector.breaks_session =
        iso_allocate_zeroed((size_t)history->txns.count + 1, sizeof *collector.breaks_session);

    struct iso_aion *engine = iso_aion_new(&settings);
    iso_aion_initial(engine, history);
    iso_aion_block(engine, history);
    enum iso_status status = iso_aion_add(engine, 0, history->txns.count, 0, NULL, error);
    if (status == ISO_OK) {
        iso_aion_end(engine, 0);
        collector.boundaries.is_on =
            settings.host.has_snapshot_boundaries && options->level == ISO_RC;
        iso_boundaries_add_all(&collector.boundaries, history);
        for (uint32_t s = 0; s < history->sessions.count; s++)
            add_session(&collector, s);
        iso_aion_stats(engine, &stats);
        verdict->reads_judged += stats.reads_judged;
        verdict->reads_unjudged += stats.reads_unjudged;
        for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++)
            verdict->unjudged[reason] += stats.unjudged[reason];
        verdict->writes_unjudged += stats.writes_unjudged;
        verdict->per_operation |= stats.per_operation;
    }
    iso_aion_free(engine);
    iso_team_free(team);
    ISO_FREE_ALL(collector.breaks_session, collector.boundaries.list);
    verdict->seconds_check = iso_clock_seconds() - start;
    return status;
}
