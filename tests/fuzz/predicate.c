/* Any text as a condition, an aggregate or a bound, over cells that may be anything. Errors have a
 * place; NOT turns a truth round; whatever stands in an unknown cell, the answer is one of those
 * that were given; orders can be turned round and follow from one another; equal values have equal
 * hashes; a bound covers itself; sums do not depend on the order.
 *
 * Eight bytes of columns' types, then texts with NULs between them: condition, aggregate, from, to,
 * key, cells. */
#include "predicate/aggregate.h"
#include "predicate/bounds.h"
#include "predicate/condition.h"
#include "predicate/place.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/condition_paths.h"

enum { TYPES = 8, TEXTS = 5, CELLS = 6 };

struct input {
    struct iso_scalar_type types[TYPES];
    struct iso_json_text texts[TEXTS];
    struct iso_json_text cells[CELLS];
    uint32_t cell_count;
};

enum { CONDITION, AGGREGATE, FROM, TO, KEY };

static struct iso_scalar_type type_of(uint8_t byte)
{
    return (struct iso_scalar_type){
        .value = {.kind = (byte & 31) % ISO_VALUE_KINDS, .detail = byte >> 5},
        .text = (uint8_t)(byte >> 6) % (ISO_TEXT_ORDERED + 1),
        .is_signed = byte & 32};
}

static struct iso_json_text take_text(const char **at, const char *end)
{
    const char *gap = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
    struct iso_json_text text = {*at, (size_t)((gap ? gap : end) - *at)};
    *at = gap ? gap + 1 : end;
    return text;
}

static void split(struct input *input, const char *at, const char *end)
{
    for (int i = 0; i < TEXTS; i++)
        input->texts[i] = take_text(&at, end);
    for (input->cell_count = 0; input->cell_count < CELLS && at < end; input->cell_count++)
        input->cells[input->cell_count] = take_text(&at, end);
}

static struct iso_scalar cell_of(const struct input *input, uint32_t column, uint32_t which)
{
    if (which >= input->cell_count)
        return iso_scalar_of_kind(which % 2 ? ISO_SCALAR_UNKNOWN : ISO_SCALAR_NULL);
    return iso_scalar_read(input->types[column % TYPES], input->cells[which]);
}

static void check_error(const struct iso_error *error, const char *begins)
{
    FUZZ_CHECK(error->status == ISO_BAD_INPUT && !strncmp(error->text, begins, strlen(begins)));
    FUZZ_CHECK(!strchr(error->text, '\n'));
}

/* ---- conditions ---- */

static void check_unknown(const struct iso_condition *condition, struct iso_scalar *cells,
                          iso_truth truth)
{
    for (uint32_t i = 0; i < condition->column_count; i++) {
        struct iso_scalar cell = cells[i];
        cells[i] = iso_scalar_of_kind(ISO_SCALAR_UNKNOWN);
        iso_truth unknown = iso_condition_judge(condition, cells);
        FUZZ_CHECK(!(iso_truth_outcomes(truth) & ~iso_truth_outcomes(unknown)));
        cells[i] = cell;
    }
}

static void check_not(struct iso_json_text text, const struct iso_scalar_type *types,
                      const struct iso_scalar *cells, iso_truth truth)
{
    struct iso_condition condition;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_text negated = {0};
    iso_text_put(&negated, "not(");
    iso_text_put_bytes(&negated, text.at, text.length);
    iso_text_put(&negated, ")");
    if (iso_condition_parse(&condition, negated.bytes, negated.used, &error) == ISO_OK) {
        iso_condition_bind(&condition, types);
        FUZZ_CHECK(iso_condition_judge(&condition, cells) == iso_truth_not(truth));
        FUZZ_CHECK(!condition.path_count);
        iso_condition_release(&condition);
    } else {
        check_error(&error, "byte ");
    }
    iso_text_release(&negated);
}

static void check_condition(const struct input *input)
{
    static struct iso_scalar_type types[ISO_CONDITION_COLUMNS];
    static struct iso_scalar cells[ISO_CONDITION_COLUMNS];
    struct iso_condition condition;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_json_text text = input->texts[CONDITION];
    if (iso_condition_parse(&condition, text.at, text.length, &error) != ISO_OK) {
        check_error(&error, "byte ");
        return;
    }
    for (uint32_t i = 0; i < condition.column_count; i++) {
        types[i] = input->types[i % TYPES];
        cells[i] = cell_of(input, i, i);
    }
    iso_condition_bind(&condition, types);
    iso_truth truth = iso_condition_judge(&condition, cells);
    FUZZ_CHECK(iso_truth_outcomes(truth));
    iso_condition_bind(&condition, types);
    FUZZ_CHECK(iso_condition_judge(&condition, cells) == truth);
    FUZZ_CHECK(!(truth & ISO_TRUTH_TRUE) || condition_paths_find(&condition, types, cells));
    check_unknown(&condition, cells, truth);
    check_not(text, types, cells, truth);
    iso_condition_release(&condition);
}

/* ---- scalars ---- */

static unsigned turned(iso_order order)
{
    return (order & ISO_ORDER_EQUAL) | (order & ISO_ORDER_LESS ? ISO_ORDER_GREATER : 0u) |
           (order & ISO_ORDER_GREATER ? ISO_ORDER_LESS : 0u);
}

static void check_pair(const struct iso_scalar *one, const struct iso_scalar *other)
{
    iso_order order = iso_scalar_compare(one, other), back = iso_scalar_compare(other, one);
    FUZZ_CHECK(iso_order_outcomes(order) && turned(order) == iso_order_outcomes(back));
}

/* An index finds each value that may equal a constant of its type. */
static void check_place(struct iso_scalar_type type, const struct iso_scalar *value,
                        const struct iso_scalar *constant)
{
    struct iso_scalar_place place, seek;
    if (iso_scalar_compare(value, constant) & ISO_ORDER_EQUAL && iso_scalar_place(value, &place) &&
        iso_scalar_seek(type, constant, &seek))
        FUZZ_CHECK(iso_places_meet(&place, &seek));
}

static void check_scalars(const struct input *input)
{
    for (uint32_t a = 0; a < input->cell_count; a++)
        for (uint32_t b = 0; b < input->cell_count; b++)
            for (uint32_t type = 0; type < 2; type++) {
                struct iso_scalar one = cell_of(input, 0, a), other = cell_of(input, type, b);
                struct iso_scalar third = cell_of(input, 0, (b + 1) % input->cell_count);
                check_pair(&one, &other);
                if (!type)
                    check_place(input->types[0], &one, &other);
                if (!type && iso_scalar_compare(&one, &other) == ISO_ORDER_LESS &&
                    iso_scalar_compare(&other, &third) == ISO_ORDER_LESS)
                    FUZZ_CHECK(iso_scalar_compare(&one, &third) & ISO_ORDER_LESS);
            }
}

/* ---- bounds and aggregates ---- */

static void check_bounds(const struct input *input)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_bounds bounds;
    struct iso_text room = {0};
    uint32_t parts = input->texts[KEY].length % 4;
    struct iso_json_text open = {NULL, 0}, from = input->texts[FROM];
    const struct iso_scalar_type *types = parts ? input->types : NULL;
    if (iso_bounds_read(&bounds, types, parts, from, input->texts[TO], &error) == ISO_OK) {
        iso_truth truth = iso_bounds_cover(&bounds, iso_key_parts(input->texts[KEY]), &room);
        FUZZ_CHECK(truth & (ISO_TRUTH_TRUE | ISO_TRUTH_FALSE) && !(truth & ISO_TRUTH_NULL));
        iso_bounds_release(&bounds);
    } else {
        check_error(&error, *error.text == 'f' ? "from: byte " : "to: byte ");
    }
    error.status = ISO_OK;
    if (iso_bounds_read(&bounds, types, parts, from, open, &error) == ISO_OK) {
        FUZZ_CHECK(iso_bounds_cover(&bounds, from, &room) & ISO_TRUTH_TRUE);
        iso_bounds_release(&bounds);
    }
    iso_text_release(&room);
}

static void total(const struct input *input, const struct iso_aggregate *aggregate, bool backwards,
                  struct iso_text *text)
{
    struct iso_aggregation total;
    iso_aggregation_init(&total, aggregate, input->types[0]);
    for (uint32_t i = 0; i < input->cell_count; i++) {
        struct iso_scalar cell = cell_of(input, 0, backwards ? input->cell_count - 1 - i : i);
        iso_aggregation_add(&total, &cell);
    }
    iso_aggregation_put(&total, text);
    iso_aggregation_is(&total, input->texts[KEY]);
    iso_aggregation_release(&total);
}

static void check_aggregate(const struct input *input)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_aggregate aggregate;
    struct iso_text one = {0}, other = {0};
    struct iso_json_text text = input->texts[AGGREGATE];
    if (iso_aggregate_parse(&aggregate, text.at, text.length, &error) != ISO_OK) {
        check_error(&error, "byte ");
        return;
    }
    total(input, &aggregate, false, &one);
    total(input, &aggregate, true, &other);
    if (aggregate.kind == ISO_AGGREGATE_SUM)
        FUZZ_CHECK(one.used == other.used &&
                   (!one.used || !memcmp(one.bytes, other.bytes, one.used)));
    iso_text_release(&one);
    iso_text_release(&other);
    iso_aggregate_release(&aggregate);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    if (size < TYPES)
        return 0;
    for (int i = 0; i < TYPES; i++)
        input.types[i] = type_of(data[i]);
    char *texts = malloc(size - TYPES + 1);
    FUZZ_CHECK(texts);
    memcpy(texts, data + TYPES, size - TYPES);
    split(&input, texts, texts + (size - TYPES));
    check_condition(&input);
    check_scalars(&input);
    check_bounds(&input);
    check_aggregate(&input);
    free(texts);
    return 0;
}
