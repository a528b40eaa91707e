/* Running an anomaly's script: at once, on keys and sessions of its own. */
#include <string.h>

#include "generate/generate_private.h"

/* The value of version `version` of key x (0) or y (1): found from the script's first. */
struct play {
    struct store *store;
    uint64_t first_key, first_value;
    bool of_rows;
};

enum { VERSIONS = 8 }; /* of a key, at most */

static uint64_t value_of(const struct play *play, uint64_t key, uint32_t version)
{
    return version ? play->first_value + key * VERSIONS + version - 1 : 0;
}

static void add_operation(const struct play *play, struct transaction *transaction,
                          const char text[3])
{
    bool lists = play->store->options->lists, reads = text[0] == 'r';
    uint64_t key = (uint64_t)(text[1] - 'x');
    uint32_t version = (uint32_t)(text[2] - '0');
    uint8_t kind = reads ? (lists ? ISO_READ_LIST : ISO_READ) : (lists ? ISO_APPEND : ISO_WRITE);
    struct operation *operation = transaction_add(transaction, kind, play->first_key + key);
    operation->value = value_of(play, key, version);
    if (kind != ISO_READ_LIST)
        return;
    operation->first = transaction->element_count;
    operation->count = version;
    for (uint32_t i = 1; i <= version; i++)
        transaction_element(transaction, value_of(play, key, i));
}

/* ---- rows ---- */

enum { C1 = 1, C2 = 2 }; /* columns, as bits */

static void add_query(const struct play *play, struct transaction *transaction, const char text[3])
{
    bool sums = text[0] == 's';
    struct row_step *step =
        transaction_step(transaction, sums ? STEP_AGGREGATES : STEP_QUERY, play->first_key);
    uint64_t sum = 0, count = 0;
    step->is_planted = true;
    step->columns = C2;
    step->first = transaction->element_count;
    if (text[0] == 'q') {
        step->from = 1;
        step->to = 2;
    } else if (text[0] == 'm') {
        step->where = (struct condition){.form = CONDITION_EQUAL, .column = 0, .low = 1};
    }
    for (uint64_t key = 0; key < 2; key++) {
        uint64_t value = value_of(play, key, (uint32_t)(text[1 + key] - '0'));
        count += value != 0;
        sum += value;
        if (sums || !value)
            continue;
        transaction_element(transaction, key + 1);
        transaction_element(transaction, value);
        step->rows++;
    }
    if (sums) {
        transaction_element(transaction, count);
        transaction_element(transaction, sum);
    }
}

static void add_row(const struct play *play, struct transaction *transaction, const char text[3])
{
    uint64_t key = (uint64_t)(text[1] - 'x');
    uint32_t version = (uint32_t)(text[2] - '0');
    bool reads = text[0] == 'g';
    struct row_step *step =
        transaction_step(transaction, reads ? STEP_READ : STEP_WRITE, play->first_key);
    step->is_planted = true;
    step->is_there = version != 0;
    step->key = key + 1;
    step->columns = text[0] == 'u' ? C2 : text[0] == 'v' ? C1 : C1 | C2;
    if (text[0] == 'd') {
        step->kind = STEP_DELETE;
        step->columns = 0;
    }
    step->first = transaction->element_count;
    if (step->columns & C1)
        transaction_element(transaction, reads ? 1 : version);
    if (step->columns & C2)
        transaction_element(transaction, value_of(play, key, version));
}

static void add_step(const struct play *play, struct transaction *transaction, const char text[3])
{
    if (strchr("qms", text[0]))
        add_query(play, transaction, text);
    else
        add_row(play, transaction, text);
}

static void run_transaction(const struct play *play, const struct iso_script_transaction *script,
                            uint32_t session, uint32_t sno)
{
    struct store *store = play->store;
    struct iso_generated *generated = store->generated;
    struct transaction *transaction = outlet_new(&store->outlet);
    transaction->tid = store->next_tid++;
    transaction->session = session;
    transaction->sno = sno;
    transaction->status = script->status;
    transaction->sts = store->clock + 1 + script->sts;
    transaction->cts = store->clock + 1 + script->cts;
    transaction->has_cts = script->status == ISO_COMMITTED;
    for (const char *at = script->operations; *at; at += at[3] ? 4 : 3)
        (play->of_rows ? add_step : add_operation)(play, transaction, at);
    generated->operations += transaction->operation_count + rows_operations(transaction);
    generated->committed += script->status == ISO_COMMITTED;
    generated->aborted += script->status == ISO_ABORTED;
    outlet_close(&store->outlet, transaction, &store->rng);
}

static void expect(struct store *store, const struct iso_anomaly_script *anomaly)
{
    struct iso_generated *generated = store->generated;
    for (int level = 0; level < 2; level++) {
        for (uint32_t i = 0; i < ISO_SCRIPT_FINDINGS; i++) {
            const struct iso_script_finding *finding = &anomaly->findings[level][i];
            generated->levels[level].counts[finding->axiom] += finding->used;
            generated->levels[level].of_queries += finding->of_query;
            /* the cell in c2 of a row that was never there */
            generated->levels[level].reads_unjudged +=
                finding->kind == ISO_EXTRA_ROW && !finding->of_query &&
                !strstr(anomaly->transactions[1].operations, "d");
        }
    }
    ISO_PUSH(generated->planted, generated->planted_count, generated->planted_capacity,
             (struct iso_planted){
                 .anomaly = anomaly, .first_tid = store->next_tid, .first_key = store->next_key});
}

void store_plant(struct store *store, const struct iso_anomaly_script *anomaly)
{
    struct play play = {.store = store,
                        .first_key = store->next_key,
                        .first_value = store->next_value,
                        .of_rows = iso_script_of_rows(anomaly)};
    uint8_t last = 0, sessions = 0;
    expect(store, anomaly);
    store->next_key += 2;
    store->next_value += 2 * VERSIONS;
    for (uint32_t i = 0; i < ISO_SCRIPT_TRANSACTIONS && anomaly->transactions[i].operations; i++) {
        const struct iso_script_transaction *script = &anomaly->transactions[i];
        run_transaction(&play, script, store->next_session + script->session, i);
        last = script->sts > last ? script->sts : last;
        last = script->cts > last ? script->cts : last;
        sessions = script->session >= sessions ? script->session + 1 : sessions;
    }
    store->clock += 1u + last;
    store->next_session += sessions;
}
