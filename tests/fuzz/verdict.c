/* Any bytes as a verdict of a small history: refused with a reason, or argued to the end. */
#include "explain/text.h"
#include "tests/fuzz/fuzz.h"

static void add(struct iso_history *history, iso_atom tid, enum iso_operation_kind kind, uint32_t value)
{
    iso_history_begin(history, tid, 1, ISO_COMMITTED, iso_origin(0, tid));
    iso_history_set_sts(history, (struct iso_stamp){.physical = 2 * tid});
    iso_history_set_cts(history, (struct iso_stamp){.physical = 2 * tid + 1});
    iso_history_operation(history, kind, iso_atoms_text(&history->atoms, "x", 1), value);
}

static void build(struct iso_history *history)
{
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(history);
    iso_history_input(history, "h");
    history->clock = ISO_CLOCK_SCALAR;
    add(history, 1, ISO_WRITE, 1);
    add(history, 2, ISO_WRITE, 2);
    add(history, 3, ISO_READ, 1);
    FUZZ_CHECK(iso_history_finish(history, &error) == ISO_OK);
}

static void argue_all(const struct iso_claims *claims)
{
    struct iso_facts facts;
    iso_facts_init(&facts, claims);
    for (uint32_t i = 0; i < claims->count; i++) {
        struct iso_argument argument;
        iso_argument_init(&argument, &facts, &claims->list[i], ISO_WALL_TSO);
        FUZZ_CHECK(argument.text.used);
        iso_argument_release(&argument);
    }
    iso_facts_release(&facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_history history;
    struct iso_claims claims;
    struct iso_error error = {.status = ISO_OK};
    char *text = fuzz_padded(data, size);
    build(&history);
    iso_claims_init(&claims, &history);
    if (iso_claims_read(&claims, text, size, "verdict", &error) == ISO_OK)
        argue_all(&claims);
    else
        FUZZ_CHECK(error.text[0]);
    iso_claims_release(&claims);
    iso_history_release(&history);
    free(text);
    return 0;
}
