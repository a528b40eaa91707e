#include "benchmark/arrivals.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"

/* ---- the order of commits ---- */

struct place {
    uint64_t time;
    uint32_t transaction;
};

ISO_ORDER_BY_TWO(compare_arrivals, struct place, time, transaction)

/* When a transaction ended, as far as its timestamps say. */
static uint64_t end_of(const struct iso_history *history, uint32_t t)
{
    return history->txns.flags[t] & ISO_HAS_CTS   ? history->txns.cts[t]
           : history->txns.flags[t] & ISO_HAS_STS ? history->txns.sts[t]
                                                  : 0;
}

static struct place *order_commits(const struct iso_history *history)
{
    struct place *places = iso_allocate(((size_t)history->txns.count + 1) * sizeof *places);
    for (uint32_t t = 0; t < history->txns.count; t++)
        places[t] = (struct place){end_of(history, t), t};
    qsort(places, history->txns.count, sizeof *places, compare_arrivals);
    return places;
}

/* ---- copying transactions into another order ---- */

struct copier {
    const struct iso_history *from;
    struct iso_history *to;
    uint64_t *sno; /* by transaction of `from` */
};

static iso_atom copy_atom(const struct copier *copier, iso_atom atom)
{
    return atom & ISO_ATOM_TABLE && atom != ISO_ABSENT
               ? iso_atoms_copy(&copier->to->atoms, &copier->from->atoms, atom)
               : atom;
}

static void copy_operation(const struct copier *copier, uint32_t o)
{
    const struct iso_history *from = copier->from;
    enum iso_operation_kind kind = (enum iso_operation_kind)iso_kind_of(from, o);
    uint32_t value = from->ops.value[o];
    if (kind == ISO_READ_LIST) {
        uint32_t list = value;
        value = iso_history_list(copier->to);
        for (uint64_t i = from->lists.first[list]; i < from->lists.first[list + 1]; i++)
            iso_history_element(copier->to, copy_atom(copier, from->lists.element[i]));
    } else {
        value = copy_atom(copier, value);
    }
    iso_history_operation(copier->to, kind, copy_atom(copier, from->keys.atom[from->ops.key[o]]),
                          value);
    if (from->ops.kind[o] & ISO_OPERATION_OTS)
        iso_history_set_ots(copier->to, (struct iso_stamp){.physical = from->ops.ots[o]});
    if (from->ops.kind[o] & ISO_OPERATION_LOCK)
        iso_history_set_lock(copier->to);
}

static void copy_transaction(const struct copier *copier, uint32_t t)
{
    const struct iso_history *from = copier->from;
    iso_history_begin(copier->to, copy_atom(copier, from->txns.tid[t]),
                      copy_atom(copier, from->sessions.atom[from->txns.session[t]]),
                      iso_status_of(from, t), from->txns.origin[t]);
    iso_history_set_sno(copier->to, copier->sno[t]);
    if (from->txns.flags[t] & ISO_HAS_STS)
        iso_history_set_sts(copier->to, (struct iso_stamp){.physical = from->txns.sts[t]});
    if (from->txns.flags[t] & ISO_HAS_CTS)
        iso_history_set_cts(copier->to, (struct iso_stamp){.physical = from->txns.cts[t]});
    ISO_EACH(o, from->txns.first_op, t)
        copy_operation(copier, o);
}

static uint64_t *place_in_sessions(const struct iso_history *history)
{
    uint64_t *sno = iso_allocate(((size_t)history->txns.count + 1) * sizeof *sno);
    for (uint32_t s = 0; s < history->sessions.count; s++) {
        ISO_EACH(i, history->sessions.first, s)
            sno[history->sessions.order[i]] = i - history->sessions.first[s];
    }
    return sno;
}

static void copy_in_order(struct bench_arrivals *arrivals, const struct iso_history *from)
{
    struct place *commits = order_commits(from);
    struct copier copier = {from, &arrivals->history, place_in_sessions(from)};
    for (uint32_t i = 0; i < from->inputs.count; i++)
        iso_history_input(&arrivals->history, from->inputs.names[i]);
    arrivals->history.clock = ISO_CLOCK_SCALAR;
    for (uint32_t i = 0; i < from->txns.count; i++)
        copy_transaction(&copier, commits[arrivals->arrivals[i].number].transaction);
    ISO_FREE_ALL(copier.sno, commits);
}

/* ---- what is known of the future ---- */

static uint64_t settled_by(const struct iso_history *history, uint32_t t, enum iso_level level)
{
    bool at_start = level == ISO_SI && !(history->txns.flags[t] & ISO_OWN_TIMES) &&
                    history->txns.flags[t] & ISO_HAS_STS;
    return at_start ? history->txns.sts[t] : end_of(history, t);
}

static void look_ahead(struct bench_arrivals *arrivals, enum iso_level level)
{
    const struct iso_history *history = &arrivals->history;
    uint64_t least = UINT64_MAX;
    for (uint32_t t = history->txns.count; t-- > 0;) {
        arrivals->watermark[t] = least ? least - 1 : 0;
        arrivals->settled[t] = settled_by(history, t, level);
        if (history->txns.flags[t] & ISO_HAS_CTS && history->txns.cts[t] < least)
            least = history->txns.cts[t];
    }
}

static enum iso_status make_history(const struct bench_point *point, struct iso_history *history,
                                    struct iso_error *error)
{
    if (!point->file)
        return bench_generate(&point->bench, history, error);
    if (bench_load(point, cli_processors(), history, error) == ISO_OK)
        iso_history_finish(history, error);
    return error->status;
}

enum iso_status bench_arrivals_init(struct bench_arrivals *arrivals,
                                    const struct bench_point *point, bool delayed,
                                    struct iso_error *error)
{
    struct iso_history history;
    const struct bench *bench = &point->bench;
    struct iso_arrival_options options = {.rate = (double)bench->rate,
                                          .delay = delayed ? (double)bench->delay : 0,
                                          .deviation = delayed ? (double)bench->deviation : 0,
                                          .seed = bench->generate.seed};
    *arrivals = (struct bench_arrivals){0};
    iso_history_init(&arrivals->history);
    iso_history_init(&history);
    if (make_history(point, &history, error) == ISO_OK) {
        size_t count = history.txns.count;
        arrivals->arrivals = iso_allocate((count + 1) * sizeof *arrivals->arrivals);
        arrivals->watermark = iso_allocate((count + 1) * sizeof *arrivals->watermark);
        arrivals->settled = iso_allocate((count + 1) * sizeof *arrivals->settled);
        iso_arrivals_draw(&options, arrivals->arrivals, count);
        copy_in_order(arrivals, &history);
        look_ahead(arrivals, bench->generate.level);
    }
    iso_history_release(&history);
    return error->status;
}

void bench_arrivals_release(struct bench_arrivals *arrivals)
{
    ISO_FREE_ALL(arrivals->arrivals, arrivals->watermark, arrivals->settled);
    iso_history_release(&arrivals->history);
}
