/* Any bytes as a verdict of a small history: refused with a reason, or argued, shown and reported
 * to the end. */
#include "draw/page.h"
#include "explain/brief.h"
#include "report/tools.h"
#include "tests/fuzz/fuzz.h"

static void add(struct iso_history *history, iso_atom tid, enum iso_operation_kind kind,
                uint32_t value)
{
    iso_history_begin(history, tid, 1, ISO_COMMITTED, iso_origin(0, tid));
    iso_history_set_sts(history, (struct iso_stamp){.physical = 2 * tid});
    iso_history_set_cts(history, (struct iso_stamp){.physical = 2 * tid + 1});
    iso_history_operation(history, kind, iso_atoms_text(&history->atoms, "x", 1), value);
}

/* 5 appends to l, having read it. */
static void add_list(struct iso_history *history)
{
    iso_atom key = iso_atoms_text(&history->atoms, "l", 1);
    add(history, 5, ISO_READ, 2);
    uint32_t list = iso_history_list(history);
    iso_history_element(history, 7);
    iso_history_operation(history, ISO_READ_LIST, key, list);
    iso_history_operation(history, ISO_APPEND, key, 8);
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
    add(history, 4, ISO_DELETE, ISO_ABSENT);
    add_list(history);
    iso_history_begin(history, 6, 2, ISO_COMMITTED, iso_origin(0, 6)); /* nothing at all */
    add(history, 7, ISO_READ, 4);
    iso_history_range(history, &(struct iso_range){.from = ISO_ABSENT, .to = ISO_ABSENT}, 1);
    FUZZ_CHECK(iso_history_finish(history, &error) == ISO_OK);
}

/* As a page and for Elle: every part of every argument. */
static void write_all(const struct iso_claims *claims)
{
    struct iso_facts facts;
    struct iso_text text = {0};
    iso_facts_init(&facts, claims);
    iso_page_write(&facts, ISO_WALL_TSO, &text);
    iso_report_edn(&facts, ISO_WALL_COUNTER, &text);
    iso_report_sarif(&facts, ISO_WALL_COUNTER, &text);
    FUZZ_CHECK(text.used);
    iso_text_release(&text);
    iso_facts_release(&facts);
}

/* The same bytes as one line, in words. */
static void brief(const char *text, size_t size)
{
    struct iso_brief brief;
    struct iso_text words = {0};
    if (iso_brief_init(&brief, text, size)) {
        FUZZ_CHECK(brief.step_count);
        iso_brief_text(&brief, &words);
        iso_brief_json(&brief, &words);
    }
    iso_text_release(&words);
    iso_brief_release(&brief);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_history history;
    struct iso_claims claims;
    struct iso_error error = {.status = ISO_OK};
    char *text = fuzz_padded(data, size);
    brief(text, size);
    build(&history);
    iso_claims_init(&claims, &history);
    if (iso_claims_read(&claims, text, size, "verdict", &error) == ISO_OK)
        write_all(&claims);
    else
        FUZZ_CHECK(error.text[0]);
    iso_claims_release(&claims);
    iso_history_release(&history);
    free(text);
    return 0;
}
