/* The records of keys and segments in the store of what has no room in memory: whatever stands in
 * one, reading it ends, and in no more than an error. Checksums come before it: this is what would
 * be left if they failed.
 *
 * An input's first byte says what it is. Even: a record. Odd: changes, of three bytes each (a place
 * in two, a value), to one that was written. Its other bits: of a key or of a segment, a register
 * or a list; only registers have segments. */
#include <stddef.h>

#include "aion/memory/record.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

enum { VERSIONS = 20, SERIAL = 3, MOST_INPUT = 4096, LARGEST = 1 << 17 };
enum what { SEGMENT = 2, LIST = 4 }; /* bits of the first byte */

struct record {
    uint32_t size;
    uint8_t bytes[LARGEST];
};

struct target {
    struct iso_atoms atoms;
    iso_atom name;
    struct iso_aion_shard *shard;
    struct aion_key *key;
};

static void open_target(struct target *target, bool list)
{
    struct iso_aion_options options = {.level = ISO_SI};
    iso_atoms_init(&target->atoms);
    target->name = iso_atoms_add_string(&target->atoms, "table/row 1", 11);
    target->shard = iso_aion_shard_new(&options);
    uint32_t number = iso_aion_shard_key(target->shard, &target->atoms, target->name, 1);
    iso_aion_shard_set_use(target->shard, number, list ? ISO_KEY_LIST : ISO_KEY_SCALAR);
    target->key = &target->shard->keys.list[number];
}

static void close_target(struct target *target)
{
    iso_aion_shard_free(target->shard);
    iso_atoms_release(&target->atoms);
}

/* Writes of every kind of value, each at its own time. */
static void write_versions(struct target *target, bool list)
{
    struct aion_batch batch = {.atoms = &target->atoms};
    for (uint64_t i = 1; i <= VERSIONS; i++) {
        struct aion_part *part = aion_batch_part(&batch);
        *part = (struct aion_part){.sts = 10 * i,
                                   .cts = 10 * i + 5,
                                   .start_bound = 10 * i,
                                   .visible_below = 10 * i,
                                   .origin = i,
                                   .first_step = batch.step_count,
                                   .step_count = 1,
                                   .tid = (iso_atom)i,
                                   .flags = ISO_COMMITTED | ISO_HAS_STS | ISO_HAS_CTS};
        iso_atom value =
            i % 3 == 0   ? iso_atoms_add_string(&target->atoms, "a value of some bytes", 20 - i % 7)
            : i % 3 == 1 ? iso_atoms_add_integer(&target->atoms, UINT64_MAX - i, false)
                         : (iso_atom)i;
        aion_batch_reserve(&batch, 1);
        struct aion_step *step = &batch.steps[batch.step_count++];
        *step = (struct aion_step){.value = value, .kind = AION_VERSION};
        if (list) {
            step->kind = AION_VERSION_LIST;
            step->value = aion_batch_elements(&batch, &value, 1);
            aion_batch_detail(&batch, step)->count = 1;
            batch.details[step->detail - 1].time = 10 * i;
        }
    }
    iso_aion_shard_apply(target->shard,
                         (struct aion_march){.batch = &batch, .count = batch.part_count});
    batch.atoms = NULL;
    aion_batch_release(&batch);
}

/* ---- what was written ---- */

static void keep(struct record *record, const struct aion_bytes *bytes)
{
    FUZZ_CHECK(bytes->size <= LARGEST);
    memcpy(record->bytes, bytes->bytes, bytes->size);
    record->size = (uint32_t)bytes->size;
}

static void write_record(const struct target *target, bool segment, struct record *record)
{
    struct aion_bytes bytes = {0};
    uint32_t count = 0;
    if (segment) {
        const struct aion_entry *versions =
            aion_chunks_chunk(&target->shard->pool, &target->key->versions, 0, &count);
        aion_segment_write(target->shard, target->key, SERIAL, versions, count,
                           versions[count - 1].time, &bytes);
    } else {
        aion_record_write(target->shard, target->key, &bytes);
    }
    keep(record, &bytes);
    iso_free(bytes.bytes);
}

static const struct record *written(uint8_t what)
{
    static struct record records[4];
    struct record *record = &records[what / 2 % 4];
    if (!record->size) {
        struct target target;
        open_target(&target, what & LIST);
        write_versions(&target, what & LIST);
        write_record(&target, what & SEGMENT, record);
        close_target(&target);
    }
    return record;
}

/* ---- reading ---- */

/* Whether it was taken. What was is written again, and that must be taken too and come out the
 * same. */
static bool read_key(const struct record *record, bool list, struct record *again)
{
    struct target target;
    open_target(&target, list);
    aion_record_is_of(record->bytes, record->size, &target.atoms, target.name);
    bool taken = aion_record_read(target.shard, target.key, record->bytes, record->size);
    if (taken)
        write_record(&target, false, again);
    close_target(&target);
    return taken;
}

/* What compaction leaves of a record that is one is one, too. */
static void compact(const struct record *record, bool list, bool is_one)
{
    static struct record rest, again;
    for (uint64_t floor = 0; floor <= 10 * (VERSIONS + 1); floor += 35) {
        struct target target;
        struct aion_bytes bytes = {0};
        struct iso_spill_record left = {.bytes = record->bytes, .size = record->size};
        open_target(&target, list);
        iso_aion_shard_advance(target.shard, floor + 40, floor + 40, floor, 0);
        bool was_compacted = aion_record_compact(target.shard, &left, &bytes);
        FUZZ_CHECK(left.size <= record->size && (!left.expiring || left.until >= floor));
        if (was_compacted && left.size && is_one) {
            memcpy(rest.bytes, left.bytes, left.size);
            rest.size = left.size;
            FUZZ_CHECK(read_key(&rest, list, &again));
        }
        iso_free(bytes.bytes);
        close_target(&target);
    }
}

static bool read_segment(const struct record *record)
{
    struct target target;
    struct aion_sorted_chunks run = {0};
    open_target(&target, false);
    aion_segment_agrees(record->bytes, record->size, 100, &target.atoms, 7);
    bool taken =
        aion_segment_read(target.shard, target.key, SERIAL, record->bytes, record->size, &run);
    aion_chunks_release(&target.shard->pool, &run);
    close_target(&target);
    return taken;
}

static void read_back(const struct record *record, uint8_t what, bool unaltered)
{
    static struct record first, second;
    compact(record, what & LIST, false);
    if (what & SEGMENT) {
        FUZZ_CHECK(read_segment(record) || !unaltered);
    } else if (read_key(record, what & LIST, &first)) {
        FUZZ_CHECK(read_key(&first, what & LIST, &second));
        compact(&first, what & LIST, true);
        FUZZ_CHECK(first.size == second.size && !memcmp(first.bytes, second.bytes, first.size));
        FUZZ_CHECK(!unaltered ||
                   (first.size == record->size && !memcmp(first.bytes, record->bytes, first.size)));
    } else {
        FUZZ_CHECK(!unaltered);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct record record;
    if (!size || size > MOST_INPUT)
        return 0;
    uint8_t what = *data++;
    if (what & SEGMENT)
        what &= (uint8_t)~LIST;
    size--;
    if (what % 2) {
        record.size = written(what)->size;
        memcpy(record.bytes, written(what)->bytes, record.size);
        for (; size >= 3; data += 3, size -= 3)
            record.bytes[(data[0] | (size_t)data[1] << 8) % record.size] = data[2];
    } else {
        memcpy(record.bytes, data, size);
        record.size = (uint32_t)size;
    }
    bool unaltered = what % 2 && !memcmp(record.bytes, written(what)->bytes, record.size);
    /* One of exactly its size, so that reading past its end shows. */
    struct record *exact = malloc(offsetof(struct record, bytes) + record.size);
    FUZZ_CHECK(exact);
    memcpy(exact, &record, offsetof(struct record, bytes) + record.size);
    read_back(exact, what, unaltered);
    free(exact);
    return 0;
}
