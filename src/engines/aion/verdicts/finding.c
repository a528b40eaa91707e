/* Findings: what a shard has to report. They refer to the texts that they name. */
#include <assert.h>

#include "aion/shard/shard_private.h"
#include "base/memory.h"

struct aion_finding *aion_finding_new(struct iso_aion_shard *shard, enum aion_finding_what what,
                                      uint32_t key)
{
    assert(key < shard->keys.count);
    ISO_GROW(shard->findings.list, shard->findings.count, shard->findings.capacity);
    struct aion_finding *finding = &shard->findings.list[shard->findings.count++];
    struct aion_party nobody = {.tid = ISO_ABSENT};
    *finding = (struct aion_finding){.what = what,
                                     .key = key,
                                     .operation = ISO_NONE,
                                     .transaction = nobody,
                                     .other = nobody,
                                     .writer_expected = nobody,
                                     .writer_actual = nobody,
                                     .cause = nobody};
    return finding;
}

bool aion_list_is_full(const struct iso_aion_shard *shard, const struct aion_key *key)
{
    return shard->options.max_per_key && key->cold &&
           shard->cold.list[key->cold].listed >= shard->options.max_per_key;
}

bool aion_list(struct iso_aion_shard *shard, struct aion_key *key, uint32_t weight)
{
    struct aion_cold *cold = aion_cold_of(shard, key);
    if (aion_list_is_full(shard, key))
        return false;
    cold->listed = weight > UINT32_MAX - cold->listed ? UINT32_MAX : cold->listed + weight;
    key->flags |= AION_KEY_CHANGED;
    return true;
}

struct aion_party aion_party_of(struct iso_aion_shard *shard, uint32_t number)
{
    if (number == ISO_NONE)
        return (struct aion_party){.tid = ISO_ABSENT};
    const struct aion_transaction *transaction = &shard->transactions.list[number];
    return (struct aion_party){.tid = aion_values_reference(&shard->values, transaction->tid),
                               .origin = transaction->origin,
                               .sts = transaction->sts,
                               .cts = transaction->cts};
}

static void drop_words(struct iso_aion_shard *shard, struct aion_words *words)
{
    if (!words->is_list) {
        if (words->count)
            aion_values_drop(&shard->values, words->atom);
        return;
    }
    for (uint32_t i = 0; i < words->count; i++)
        aion_values_drop(&shard->values, words->elements[i]);
    iso_free(words->elements);
}

const struct aion_finding *iso_aion_shard_findings(const struct iso_aion_shard *shard,
                                                   uint32_t *count)
{
    *count = shard->findings.count;
    return shard->findings.list;
}

void iso_aion_shard_clear(struct iso_aion_shard *shard)
{
    for (uint32_t i = 0; i < shard->findings.count; i++) {
        struct aion_finding *finding = &shard->findings.list[i];
        aion_values_drop(&shard->values, finding->transaction.tid);
        aion_values_drop(&shard->values, finding->other.tid);
        aion_values_drop(&shard->values, finding->writer_expected.tid);
        aion_values_drop(&shard->values, finding->writer_actual.tid);
        aion_values_drop(&shard->values, finding->cause.tid);
        drop_words(shard, &finding->expected);
        drop_words(shard, &finding->actual);
    }
    shard->findings.count = 0;
}
