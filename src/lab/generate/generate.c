#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "generate/generate_private.h"

/* ---- when anomalies are due ---- */

struct due {
    uint64_t place;
    uint32_t order; /* ties: as they were asked for */
    const struct iso_anomaly_script *anomaly;
};

ISO_ORDER_BY_TWO(compare_due, struct due, place, order)

static struct due *plan(const struct iso_generate_options *options, uint32_t *count)
{
    uint32_t total = 0, at = 0;
    for (uint32_t i = 0; i < options->plant_count; i++)
        total += options->plants[i].count;
    struct due *due = iso_allocate((total + 1u) * sizeof *due);
    for (uint32_t i = 0; i < options->plant_count; i++) {
        const struct iso_plant *plant = &options->plants[i];
        for (uint32_t n = 0; n < plant->count; n++, at++) {
            uint64_t spread = (uint64_t)options->transactions * (n + 1) / (plant->count + 1u);
            due[at] = (struct due){plant->everywhere ? spread : plant->place, at, plant->anomaly};
        }
    }
    qsort(due, total, sizeof *due, compare_due);
    *count = total;
    return due;
}

/* ---- the run ---- */

static void store_init(struct store *store, const struct iso_generate_options *options,
                       struct iso_generated *generated)
{
    *store =
        (struct store){.options = options, .generated = generated, .next_value = 1, .next_tid = 1};
    iso_rng_seed(&store->rng, options->seed);
    iso_draw_init(&store->draw, options->distribution, options->keys);
    store->slots = iso_allocate_zeroed(options->keys, sizeof *store->slots);
    store->snos = iso_allocate_zeroed(options->sessions, sizeof *store->snos);
    for (uint32_t i = 0; i < options->keys; i++) {
        store->slots[i].key = i;
        store->slots[i].taint = NEVER;
    }
    if (options->tables)
        tables_init(&store->tables, options->tables, options->columns, options->keys);
    if (iso_generate_has_sites(options))
        sites_init(&store->sites, options->sites, options->keys, options->behind,
                   options->level == ISO_PSI);
    store->next_key = options->keys;
    store->next_session = options->sessions + 1;
}

static void store_release(struct store *store)
{
    for (uint32_t i = 0; i < store->options->keys; i++)
        iso_free(store->slots[i].elements);
    iso_free(store->slots);
    sites_release(&store->sites);
    tables_release(&store->tables);
    iso_free(store->snos);
    iso_draw_release(&store->draw);
}

/* Sessions in random order begin what they have not open, and commit what they have; points do both
 * at once.
 */
static void take_turns(struct store *store, struct transaction **open)
{
    const struct iso_generate_options *options = store->options;
    uint32_t begun = 0, due_count, next_due = 0;
    struct due *due = plan(options, &due_count);
    while (!store->outlet.ended) {
        for (; next_due < due_count && due[next_due].place <= begun; next_due++)
            store_plant(store, due[next_due].anomaly);
        if (begun == options->transactions)
            break;
        uint32_t session = (uint32_t)iso_rng_below(&store->rng, options->sessions);
        if (store->sites.count)
            sites_deliver(&store->sites, &store->rng);
        if (open[session]) {
            store_commit(store, open[session]);
            open[session] = NULL;
        } else {
            open[session] = store_begin(store, session);
            begun++;
            if (store_is_point(store, open[session])) {
                store_commit(store, open[session]);
                open[session] = NULL;
            }
        }
    }
    iso_free(due);
}

void iso_generate(const struct iso_generate_options *options, iso_generate_sink *sink,
                  void *context, struct iso_generated *generated)
{
    struct store store;
    struct transaction **open =
        iso_allocate_zeroed(options->sessions, sizeof(struct transaction *));
    memset(generated, 0, sizeof *generated);
    store_init(&store, options, generated);
    store.open = open;
    outlet_init(&store.outlet, options->order, sink, context);
    store.outlet.timeless = iso_generate_is_timeless(options);
    take_turns(&store, open);
    for (uint32_t session = 0; session < options->sessions; session++) {
        if (open[session])
            store_commit(&store, open[session]);
    }
    outlet_finish(&store.outlet, &store.rng);
    outlet_release(&store.outlet);
    store_release(&store);
    iso_free(open);
}

void iso_generated_table(char name[ISO_TABLE_NAME], bool is_planted, uint64_t number)
{
    snprintf(name, ISO_TABLE_NAME, "%c%" PRIu64, is_planted ? 'p' : 't',
             is_planted ? number : number + 1);
}

void iso_planted_key(const struct iso_planted *planted, const struct iso_script_finding *finding,
                     char key[ISO_PLANTED_KEY])
{
    char table[ISO_TABLE_NAME];
    bool is_cell = finding->key == 'X' || finding->key == 'Y';
    iso_generated_table(table, true, planted->first_key);
    if (!iso_script_of_rows(planted->anomaly))
        snprintf(key, ISO_PLANTED_KEY, "%" PRIu64,
                 planted->first_key + (uint64_t)(finding->key - 'x'));
    else if (finding->key == 'T')
        snprintf(key, ISO_PLANTED_KEY, "%s#", table);
    else
        snprintf(key, ISO_PLANTED_KEY, "%s/%d%s", table, 1 + (finding->key | 0x20) - 'x',
                 is_cell ? "#c2" : "");
}

void iso_generated_release(struct iso_generated *generated)
{
    iso_free(generated->planted);
    memset(generated, 0, sizeof *generated);
}

enum iso_outcome iso_generated_outcome(const struct iso_generated *generated, enum iso_level level)
{
    const struct iso_expectation *expected = &generated->levels[level];
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        if (expected->counts[axiom])
            return ISO_IS_VIOLATED;
    }
    return !generated->committed || expected->reads_unjudged ? ISO_IS_UNDECIDED : ISO_HOLDS;
}

static bool breaks(const struct iso_anomaly_script *anomaly, enum iso_level level)
{
    for (int weak = 0; weak < ISO_LEVELS; weak++) {
        if (anomaly->breaks >> weak & 1 && iso_level_implies(level, (enum iso_level)weak))
            return true;
    }
    return false;
}

/* Rows that come and go are values that repeat, of which the weaker levels know little; of what an
 * aggregate says nothing follows for an order. */
static bool is_known_of_rows(const struct iso_generated *generated, enum iso_level level)
{
    for (uint32_t i = 0; i < generated->planted_count; i++)
        if (strstr(generated->planted[i].anomaly->transactions[2].operations, "s1"))
            return false;
    return level == ISO_SI || level == ISO_SER;
}

enum iso_outcome iso_generated_any_order(const struct iso_generate_options *options,
                                         const struct iso_generated *generated,
                                         enum iso_level level)
{
    if (options->tables && !is_known_of_rows(generated, level))
        return ISO_IS_UNDECIDED;
    for (uint32_t i = 0; i < generated->planted_count; i++) {
        if (breaks(generated->planted[i].anomaly, level))
            return ISO_IS_VIOLATED;
    }
    return generated->committed && iso_level_implies(options->level, level) ? ISO_HOLDS
                                                                            : ISO_IS_UNDECIDED;
}
