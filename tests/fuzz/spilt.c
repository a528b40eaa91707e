/* The records of keys and segments in the store of what has no room in memory: whatever stands in one, reading it ends,
 * and in no more than an error. Checksums come before it: this is what would be left if they failed.
 *
 * An input's first byte says what it is. Even: a record. Odd: changes, of three bytes each (a place in two, a value),
 * to one that was written. Its other bits: of a key or of a segment, a register or a list. */
#include "aion/record.h"
#include "tests/fuzz/fuzz.h"

enum { VERSIONS = 20, SERIAL = 3, LARGEST = 4096 };
enum what { SEGMENT = 2, LIST = 4 }; /* bits of the first byte */

struct record {
    uint8_t bytes[LARGEST];
    uint32_t size;
};

struct target {
    struct iso_atoms atoms;
    iso_atom name;
    struct iso_aion_shard *shard;
    struct aion_key *key;
};

static void open_target(struct target *target, bool list)
{
    struct aion_shard_options options = {.level = ISO_SI};
    iso_atoms_init(&target->atoms);
    target->name = iso_atoms_add_string(&target->atoms, "table/row 1", 11);
    target->shard = iso_aion_shard_new(&options);
    uint32_t number = iso_aion_shard_key(target->shard, &target->atoms, target->name, 1);
    iso_aion_shard_set_use(target->shard, number, list ? ISO_KEY_LIST : ISO_KEY_REGISTER);
    target->key = &target->shard->keys[number];
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
                                   .opened = 10 * i,
                                   .bound = 10 * i,
                                   .origin = i,
                                   .first_step = batch.step_count,
                                   .step_count = 1,
                                   .tid = (iso_atom)i,
                                   .flags = ISO_COMMITTED | ISO_HAS_STS | ISO_HAS_CTS};
        iso_atom value = i % 3 == 0   ? iso_atoms_add_string(&target->atoms, "a value of some bytes", 20 - i % 7)
                         : i % 3 == 1 ? iso_atoms_add_unsigned(&target->atoms, UINT64_MAX - i)
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
    iso_aion_shard_apply(target->shard, &batch);
    batch.atoms = NULL;
    aion_batch_release(&batch);
}
