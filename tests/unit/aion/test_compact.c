/* Records that are cut in the store: what is left is what the key would be written as, had it been
 * trimmed in memory.
 */
#include "aion/memory/record.h"
#include "base/memory.h"
#include "tests/support/test.h"

enum { ROUNDS = 4000, WRITES = 12 };

struct fixture {
    struct iso_atoms atoms;
    struct iso_aion_shard *shard;
    struct aion_key *key;
    uint64_t random, time;
    bool list;
};

static uint32_t below(struct fixture *fixture, uint32_t visible_below)
{
    return (uint32_t)(test_random(&fixture->random) >> 16) % visible_below;
}

static void start(struct fixture *fixture, bool list)
{
    struct iso_aion_options options = {.level = ISO_SI};
    fixture->list = list;
    fixture->time = 1;
    iso_atoms_init(&fixture->atoms);
    fixture->shard = iso_aion_shard_new(&options);
    if (below(fixture, 2))
        iso_aion_shard_initial(fixture->shard, &fixture->atoms,
                               iso_atoms_add_string(&fixture->atoms, "initial", 7));
    iso_atom name = iso_atoms_add_string(&fixture->atoms, "table/row 1", 11);
    uint32_t number = iso_aion_shard_key(fixture->shard, &fixture->atoms, name, 1);
    iso_aion_shard_set_use(fixture->shard, number, list ? ISO_KEY_LIST : ISO_KEY_SCALAR);
    if (below(fixture, 4) == 0)
        iso_aion_shard_initial_key(fixture->shard, number, &fixture->atoms, 77, list);
    fixture->key = &fixture->shard->keys.list[number];
}

static void stop(struct fixture *fixture)
{
    iso_aion_shard_free(fixture->shard);
    iso_atoms_release(&fixture->atoms);
}

static iso_atom draw_value(struct fixture *fixture)
{
    uint32_t what = below(fixture, 3);
    if (what == 0)
        return iso_atoms_add_string(&fixture->atoms, "a value of some bytes", below(fixture, 22));
    return what == 1 ? iso_atoms_add_integer(&fixture->atoms, UINT64_MAX - below(fixture, 9), false)
                     : below(fixture, 1000000);
}

/* A version, or a write of a transaction that aborted. */
static void write_one(struct fixture *fixture)
{
    struct aion_batch batch = {.atoms = &fixture->atoms};
    struct aion_part *part = aion_batch_part(&batch);
    bool aborted = !fixture->list && below(fixture, 4) == 0;
    uint64_t sts = fixture->time, cts = fixture->time += 1 + below(fixture, 300);
    *part = (struct aion_part){.sts = sts,
                               .cts = cts,
                               .start_bound = sts,
                               .visible_below = sts,
                               .origin = below(fixture, 300),
                               .step_count = 1,
                               .tid = draw_value(fixture),
                               .flags = ISO_HAS_STS};
    part->flags |= aborted ? ISO_ABORTED : ISO_COMMITTED | ISO_HAS_CTS;
    iso_atom values[3] = {draw_value(fixture), draw_value(fixture), draw_value(fixture)};
    aion_batch_reserve(&batch, 1);
    struct aion_step *step = &batch.steps[batch.step_count++];
    *step = (struct aion_step){.value = *values, .kind = aborted ? AION_NONVERSION : AION_VERSION};
    if (fixture->list) {
        uint32_t count = 1 + below(fixture, 3);
        step->kind = AION_VERSION_LIST;
        step->value = aion_batch_elements(&batch, values, count);
        *aion_batch_detail(&batch, step) = (struct aion_detail){.time = sts, .count = count};
    }
    iso_aion_shard_apply(fixture->shard,
                         (struct aion_march){.batch = &batch, .count = batch.part_count});
    batch.atoms = NULL;
    aion_batch_release(&batch);
}

static struct iso_spill_record copy_of(const struct iso_spill_record *record, uint8_t *bytes)
{
    struct iso_spill_record copy = *record;
    memcpy(bytes, record->bytes, record->size);
    copy.bytes = bytes;
    return copy;
}

struct counts {
    uint32_t cut, folded;
};

/* The record as it was, cut at a floor of now, against the key's own after trimming. */
static void compare(struct fixture *fixture, const struct iso_spill_record *before,
                    struct counts *counts)
{
    struct aion_bytes bytes = {0}, cut_bytes = {0};
    struct iso_aion_shard *shard = fixture->shard;
    struct iso_spill_record cut = *before;
    bool was_cut = aion_record_compact(shard, &cut, &cut_bytes);
    shard->time.thorough = true;
    aion_trim(shard, fixture->key);
    shard->time.thorough = false;
    struct iso_spill_record trimmed = aion_record_write(shard, fixture->key, &bytes);
    if (!was_cut && trimmed.size >= before->size) {
        assert_memory_equal(cut.bytes, before->bytes, cut.size);
    } else {
        assert_int_equal(cut.size, trimmed.size);
        assert_memory_equal(cut.bytes, trimmed.bytes, cut.size);
        assert_int_equal(cut.expiring, trimmed.expiring);
        assert_int_equal(cut.until, trimmed.until);
    }
    if (before->expiring && before->until < shard->time.floor &&
        !fixture->list) /* all went that was said to */
        assert_in_range(before->size - cut.size, before->expiring, before->expiring + 2);
    counts->cut += was_cut;
    counts->folded += was_cut && fixture->list;
    iso_free(bytes.bytes);
    iso_free(cut_bytes.bytes);
}

static void cut_is_trimmed(void **state)
{
    static uint8_t bytes[1 << 16];
    struct counts counts = {0};
    struct fixture fixture = {.random = 4711};
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct aion_bytes written = {0};
        start(&fixture, round % 2);
        for (uint32_t left = below(&fixture, WRITES); left; left--)
            write_one(&fixture);
        uint64_t passed = below(&fixture, (uint32_t)fixture.time + 100),
                 floor = below(&fixture, (uint32_t)passed + 1);
        iso_aion_shard_advance(fixture.shard, passed, passed, floor / 2, 0);
        struct iso_spill_record record = aion_record_write(fixture.shard, fixture.key, &written),
                                early, late;
        assert_in_range(record.size, 1, sizeof bytes);
        early = copy_of(&record, bytes);
        compare(&fixture, &early, &counts);
        record = aion_record_write(fixture.shard, fixture.key, &written);
        late = copy_of(&record, bytes);
        iso_aion_shard_advance(fixture.shard, passed, passed, floor, 0);
        compare(&fixture, &late, &counts);
        iso_free(written.bytes);
        stop(&fixture);
    }
    assert_true(counts.cut > ROUNDS / 3 && counts.folded > ROUNDS / 10);
}

/* A segment of older versions goes as a whole, once what stands behind it is below the floor. */
static void segments_go_as_a_whole(void **state)
{
    struct aion_bytes written = {0}, cut_bytes = {0};
    struct fixture fixture = {.random = 4712};
    uint32_t count;
    (void)state;
    start(&fixture, false);
    while (fixture.key->versions.count < 20)
        write_one(&fixture);
    const struct aion_entry *versions =
        aion_chunks_chunk(&fixture.shard->pool, &fixture.key->versions, 0, &count);
    uint64_t behind = versions[10].time;
    struct iso_spill_record record =
        aion_segment_write(fixture.shard, fixture.key, 3, versions, 10, behind, &written);
    assert_int_equal(record.expiring, record.size);
    assert_int_equal(record.until, behind);
    iso_aion_shard_advance(fixture.shard, fixture.time, fixture.time, behind, 0);
    struct iso_spill_record cut = record;
    assert_false(aion_record_compact(fixture.shard, &cut, &cut_bytes));
    assert_memory_equal(&cut, &record, sizeof cut);
    iso_aion_shard_advance(fixture.shard, fixture.time, fixture.time, behind + 1, 0);
    assert_true(aion_record_compact(fixture.shard, &cut, &cut_bytes));
    assert_int_equal(cut.size, 0);
    iso_free(written.bytes);
    iso_free(cut_bytes.bytes);
    stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_is_trimmed),
        cmocka_unit_test(segments_go_as_a_whole),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
