/* Records of a batch by their origin: the first of those that came twice, none of another batch,
 * and a few looks each however many there are. */
#include "tests/support/test.h"

#include "base/memory.h"
#include "pipeline/batch.h"

enum { FEW = 20000 };

static struct iso_message *messages_of(uint32_t count)
{
    struct iso_message *messages = iso_allocate_zeroed(count, sizeof *messages);
    for (uint32_t i = 0; i < count; i++)
        messages[i] = (struct iso_message){.topic = "t", .input = i % 3, .offset = i / 3};
    return messages;
}

/* Every record of the batch is a bad one, reported from the last to the first; and so are as many
 * of another batch. */
static uint64_t looks_among(uint32_t count)
{
    struct iso_message *messages = messages_of(count);
    struct pipeline_batch batch = {0};
    pipeline_batch_start(&batch, messages, count);
    for (uint32_t i = count; i--;) {
        assert_ptr_equal(pipeline_batch_find(&batch, pipeline_origin_of(&messages[i])),
                         &messages[i]);
        assert_null(pipeline_batch_find(&batch, iso_origin(5, i)));
    }
    uint64_t looks = iso_number_map_cost(&batch.numbers);
    pipeline_batch_end(&batch);
    assert_null(pipeline_batch_find(&batch, pipeline_origin_of(&messages[0])));
    iso_number_map_release(&batch.numbers);
    iso_free(messages);
    return looks;
}

static void twice_as_many_bad_records_take_twice_the_looks(void **state)
{
    (void)state;
    uint64_t few = looks_among(FEW), many = looks_among(2 * FEW);
    assert_true(few >= FEW);
    assert_true(many < 3 * few);
}

static void the_first_of_two_counts(void **state)
{
    (void)state;
    struct iso_message messages[] = {
        {.input = 1, .offset = 7}, {.input = 1, .offset = 8}, {.input = 1, .offset = 7}};
    struct pipeline_batch batch = {0};
    for (int round = 0; round < 2; round++) {
        pipeline_batch_start(&batch, messages, 3);
        assert_ptr_equal(pipeline_batch_find(&batch, iso_origin(1, 7)), &messages[0]);
        assert_ptr_equal(pipeline_batch_find(&batch, iso_origin(1, 8)), &messages[1]);
        assert_null(pipeline_batch_find(&batch, iso_origin(2, 7)));
        pipeline_batch_end(&batch);
    }
    iso_number_map_release(&batch.numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twice_as_many_bad_records_take_twice_the_looks),
        cmocka_unit_test(the_first_of_two_counts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
