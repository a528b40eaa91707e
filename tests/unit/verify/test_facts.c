/* What the verifier believes of a history: findings, lists, versions, edges, each on the smallest
 * history that tells them apart. A history is written in words: `wx1` writes 1 to x, `rx1` reads
 * it, `nx` reads nothing, `ax1` appends it, `lx1.2` reads the list; transactions are divided by
 * `|`; `!` aborts one, `@3-5` gives it timestamps, `^` puts the read before it under a lock, `=x1`
 * is an initial element. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

#include "verify/verify_private.h"

static void add_list(struct iso_history *history, iso_atom key, const char *word)
{
    uint32_t list = iso_history_list(history);
    for (char *end; *word; word = *end == '.' ? end + 1 : end)
        iso_history_element(history, (iso_atom)strtoul(word, &end, 10));
    iso_history_operation(history, ISO_READ_LIST, key, list);
}

static void add_word(struct iso_history *history, char *word)
{
    iso_atom key = word[1] ? (iso_atom)word[1] : 0;
    iso_atom value = word[1] ? (iso_atom)strtoul(word + 2, NULL, 10) : 0;
    char *end;
    if (*word == '=') {
        iso_history_initial(history, key, value, true);
    } else if (*word == '@') {
        iso_history_set_sts(history, (struct iso_stamp){strtoul(word + 1, &end, 10), 0});
        iso_history_set_cts(history, (struct iso_stamp){strtoul(end + 1, NULL, 10), 0});
    } else if (*word == '^') {
        iso_history_set_lock(history);
    } else if (*word == 'n') {
        iso_history_operation(history, ISO_READ, key, ISO_ABSENT);
    } else if (*word == 'l') {
        add_list(history, key, word + 2);
    } else {
        iso_history_operation(history,
                              *word == 'w'   ? ISO_WRITE
                              : *word == 'a' ? ISO_APPEND
                                             : ISO_READ,
                              key, value);
    }
}

static void make_history(struct iso_history *history, const char *words)
{
    struct iso_error error = {.status = ISO_OK};
    char text[256], *rest = text;
    uint32_t count = 0;
    snprintf(text, sizeof text, "%s", words);
    iso_history_init(history);
    iso_history_input(history, "test");
    for (char *part; (part = strsep(&rest, "|")); count++) {
        uint8_t status = strchr(part, '!') ? ISO_ABORTED : ISO_COMMITTED;
        iso_history_begin(history, 100 + count, 100 + count, status, iso_origin(0, count));
        for (char *word; (word = strsep(&part, " "));)
            if (word += *word == '!', *word)
                add_word(history, word);
    }
    assert_int_equal(iso_history_finish(history, &error), ISO_OK);
}

/* ---- findings ---- */

enum { NOBODY = -1 };
static const struct finding_row {
    const char *history;
    enum iso_finding_kind kind;
    uint32_t transaction, operation;
    int other;
    bool confirmed;
} findings[] = {
    {"wx1 rx2", ISO_FINDING_INT, 0, 1, NOBODY, true},
    {"wx1 rx2", ISO_FINDING_INT, 0, 1, 0, false},
    {"wx1 rx1", ISO_FINDING_INT, 0, 1, NOBODY, false},
    {"wx1 rx2", ISO_FINDING_THINAIR, 0, 1, NOBODY, false}, /* its own affair */
    {"wx1 | rx2", ISO_FINDING_THINAIR, 1, 1, NOBODY, true},
    {"wx1 | rx2", ISO_FINDING_THINAIR, 1, 1, 0, false},
    {"wx1 | rx1", ISO_FINDING_THINAIR, 1, 1, NOBODY, false},
    {"!wx1 | rx1", ISO_FINDING_THINAIR, 1, 1, NOBODY, false}, /* somebody wrote it */
    {"wx1 wx2 | rx1", ISO_FINDING_THINAIR, 1, 2, NOBODY, false},
    {"!wx1 | rx1", ISO_FINDING_G1A, 1, 1, 0, true},
    {"!wx1 | rx1", ISO_FINDING_G1A, 1, 1, NOBODY, false},
    {"!wx1 | wx1 | rx1", ISO_FINDING_G1A, 2, 2, 0, false},
    {"!wx1 wx2 | rx1", ISO_FINDING_G1B, 1, 2, 0, false},
    {"wx1 wx2 | rx1", ISO_FINDING_G1B, 1, 2, 0, true},
    {"wx1 wx2 | wx3 | rx1", ISO_FINDING_G1B, 2, 3, 1, false},
    {"wx1 wx2 | wx1 | rx1", ISO_FINDING_G1B, 2, 3, 0, false},
    {"wx1 | rx1 wx2 | rx1 wx3", ISO_FINDING_LOSTUPDATE, 1, 1, 2, true},
    {"wx1 | rx1 wx2 | rx1 wx3", ISO_FINDING_LOSTUPDATE, 1, 1, 0, false},
    {"wx1 | rx1 wx2 | rx2 wx3", ISO_FINDING_LOSTUPDATE, 1, 1, 2, false},
    {"wx1 | rx1 wx2 | rx1", ISO_FINDING_LOSTUPDATE, 1, 1, 2, false},
    {"nx wx2 | nx wx3", ISO_FINDING_LOSTUPDATE, 0, 0, 1, true},
    {"nx wx2 | rx2 wx3", ISO_FINDING_LOSTUPDATE, 0, 0, 1, false},
    {"rx1 wx1 | rx1 wx1", ISO_FINDING_LOSTUPDATE, 0, 0, 1,
     false}, /* each may have read the other's */
    {"wx1 | wx1 | rx1 wx2 | rx1 wx3", ISO_FINDING_LOSTUPDATE, 2, 2, 3,
     false}, /* two versions of one value */
    /* lists */
    {"!ax1 | lx1", ISO_FINDING_G1A, 1, 1, 0, true},
    {"!ax1 | ax1 | lx1", ISO_FINDING_G1A, 2, 2, 0, false},
    {"!ax1 | lx1", ISO_FINDING_THINAIR, 1, 1, NOBODY, false},
    {"ax1 | lx2", ISO_FINDING_THINAIR, 1, 1, NOBODY, true},
    {"ax1 | lx1", ISO_FINDING_THINAIR, 1, 1, NOBODY, false},
    {"=x2 ax1 | lx2.1", ISO_FINDING_THINAIR, 1, 1, NOBODY, false},
    {"ax1 ax2 | lx1", ISO_FINDING_G1B, 1, 2, 0, true},
    {"ax1 ax2 | lx2", ISO_FINDING_G1B, 1, 2, 0, true},
    {"ax1 ax2 | lx1.2", ISO_FINDING_G1B, 1, 2, 0, false},
    {"wy1 ax1 ry1 ax2 | lx1", ISO_FINDING_G1B, 1, 4, 0, true},
    {"ax1 ax2 | lx1 ax1", ISO_FINDING_G1B, 1, 2, 0, true},
    {"ax1 ax2 | ax3 | lx1.3.2", ISO_FINDING_G1B, 2, 3, 0, true},
    {"ax1 ax2 | ax3 | lx1.3.2", ISO_FINDING_G1B, 2, 3, 1, false},
    {"ax1 ax2 | ax1 ax2 | lx1.1.2", ISO_FINDING_G1B, 2, 4, 0,
     true}, /* the first is nobody's whole */
    {"ax1 ax2 | wy5 | ax1 ax2 | lx1.1.2", ISO_FINDING_G1B, 3, 5, 0, true},
    {"ax1 ax2 | ax1 ax2 | lx1.2.1.2", ISO_FINDING_G1B, 2, 4, 0, false},
    {"=x9 ax1 | lx", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, true},
    {"=x9 ax1 | lx9", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, false},
    {"=x9 ax1 | lx9.1", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, false},
    {"=x9 ax1 | lx1", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, true},
    {"=x9 ax9 | lx9.9", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, false},
    {"=x9 ax9 | lx9.9.9", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, true},
    {"ax1 | lx1.1", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, true},
    {"ax1 | ax1 | lx1.1", ISO_FINDING_INCOMPATIBLE, 2, 2, NOBODY, false},
    {"ax1 | lx1.1 ax1", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, true}, /* its own comes later */
    {"ax1 | ax2 | lx1.2 | lx2.1", ISO_FINDING_INCOMPATIBLE, 2, 2, 3, true},
    {"ax1 | ax2 | lx1.2 | lx1", ISO_FINDING_INCOMPATIBLE, 2, 2, 3, false},
    {"ax1 | ax2 | lx1.2 | !lx2.1", ISO_FINDING_INCOMPATIBLE, 2, 2, 3, false},
    {"ax1 | lx1 ax2 | lx1 ax3", ISO_FINDING_LOSTUPDATE, 1, 1, 2, true},
    {"ax1 | lx1 ax2 | lx1.2 ax3", ISO_FINDING_LOSTUPDATE, 1, 1, 2, false},
};

static void confirms_findings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
        const struct finding_row *row = &findings[i];
        struct iso_history history;
        struct iso_error error = {.status = ISO_OK};
        struct iso_finding finding = {row->kind, row->transaction, row->operation,
                                      (uint32_t)row->other};
        make_history(&history, row->history);
        struct iso_evidence evidence = {.model = ISO_MODEL_SI, .finding = finding};
        if ((verify_finding(&history, &evidence, &error) == ISO_CONFIRMED) != row->confirmed)
            fail_msg("row %zu: %s: %s", i, row->history, error.text);
        iso_history_release(&history);
    }
}

/* ---- versions by commit ---- */

static const struct version_row {
    const char *history;
    uint32_t reader, operation;
    bool said;
    int writer;
} versions[] = {
    {"wx1 @1-5 | rx1 @6-7", 1, 1, true, 0},
    {"wx1 @1-5 | rx1 @5-7", 1, 1, true, 0},
    {"wx1 @1-5 | rx1 @4-7", 1, 1, false, NOBODY},
    {"wx1 @1-5 | wx2 @1-6 | rx2 @6-7", 2, 2, true, 1},
    {"wx2 @1-6 | wx1 @1-5 | rx2 @6-7", 2, 2, true, 0},
    {"wx1 @1-5 | wx2 @1-6 | rx1 @6-7", 2, 2, false, 1},
    {"wx1 @1-5 | wx1 @1-5 | rx1 @6-7", 2, 2, false, 1}, /* whose it was, nobody knows */
    {"wx1 @1-5 | rx1 ^ @1-7 | wx2 @1-8", 1, 1, true,
     0}, /* a lock shows what stands just below its commit */
    {"wx1 @1-5 | rx1 ^ @1-6 | wx2 @1-6", 1, 1, true, 0},
    {"wx1 @1-5 | rx1 ^ @1-5", 1, 1, false, NOBODY},
    {"wx1 | rx1 @6-7", 1, 1, false, NOBODY},
    {"wx1 @1-5 | rx1", 1, 1, false, NOBODY},
};

static void sees_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        const struct version_row *row = &versions[i];
        struct iso_history history;
        struct finals finals;
        uint32_t writer;
        make_history(&history, row->history);
        finals_init(&finals, &history);
        if (versions_seen(&finals, row->reader, row->operation, &writer) != row->said ||
            writer != (uint32_t)row->writer)
            fail_msg("row %zu: %s: %d", i, row->history, (int)writer);
        finals_release(&finals);
        iso_history_release(&history);
    }
}

/* ---- what a list says ---- */

enum {
    ORDER = ISO_LITERAL_ORDER,
    PLACED = ISO_LITERAL_PLACED,
    NOT = ISO_LITERAL_NOT_PLACED,
    OTHERS = ISO_LITERAL_NOT_READS
};
static const struct list_row {
    const char *history;
    uint32_t operation, count;
    struct {
        int kind;
        uint32_t a, b;
    } clause[3];
    bool said;
} lists[] = {
    /* what is nobody else's */
    {"ax1 | ax2 | lx1.2", 2, 1, {{ORDER, 0, 1}}, true},
    {"ax1 | ax2 | lx1.2", 2, 1, {{ORDER, 1, 0}}, false},
    {"ax1 | ax2 | lx1", 2, 1, {{ORDER, 0, 1}}, true},
    {"ax1 | ax2 | lx", 2, 1, {{ORDER, 0, 1}}, false},
    {"ax1 | ax1 | lx1", 2, 1, {{ORDER, 0, 1}}, false},
    {"ax2 | ax1 | ax1 | lx2.1", 3, 1, {{ORDER, 0, 1}}, false}, /* it may be the other's */
    {"ax2 | ax1 | ax1 | lx2", 3, 1, {{ORDER, 0, 1}}, true},
    {"ax1 | ax2 | !lx1.2", 2, 1, {{ORDER, 0, 1}}, false},
    {"ax1 | ax2 | lx1.2", 2, 1, {{PLACED, 0, 1}}, false},
    /* places of what repeats */
    {"ax1 ax2 | ax1 ax2 | lx1.2", 4, 2, {{PLACED, 0, 0}, {PLACED, 1, 0}}, true},
    {"ax1 ax2 | ax1 ax2 | lx1.2", 4, 1, {{PLACED, 0, 0}}, false},
    {"ax1 ax2 | ax1 ax2 | lx1.2.1.2", 4, 2, {{NOT, 0, 0}, {NOT, 0, 2}}, true},
    {"ax1 ax2 | ax1 ax2 | lx1.2.1.2", 4, 2, {{NOT, 0, 0}, {NOT, 1, 1}}, true},
    {"ax1 ax2 | ax1 ax2 | lx1.2.1.2", 4, 2, {{NOT, 0, 0}, {NOT, 1, 2}}, false},
    {"ax1 ax2 | ax1 ax2 | lx1.2.1.2", 4, 2, {{PLACED, 0, 0}, {NOT, 1, 2}}, false},
    {"ax1 ax2 | ax1 ax2 | lx1.2.1.2", 4, 3, {{ORDER, 0, 1}, {NOT, 0, 0}, {NOT, 1, 2}}, true},
    {"ax1 ax2 | ax1 ax2 | lx1.2.1.2", 4, 3, {{ORDER, 1, 0}, {NOT, 0, 0}, {NOT, 1, 2}}, false},
    {"ax1 ax2 | ax3 | lx1.2.3", 3, 3, {{NOT, 0, 0}, {ORDER, 0, 1}, {PLACED, 1, 2}}, true},
    {"ax1 ax2 | ax3 | lx1.2.3", 3, 2, {{NOT, 0, 0}, {ORDER, 0, 1}}, false},
    {"ax1 ax2 | ax3 | lx1.2", 3, 2, {{NOT, 0, 0}, {ORDER, 0, 1}}, true},
    {"ax1 ax2 | ax3 | lx1.2", 3, 2, {{NOT, 0, 1}, {ORDER, 0, 1}}, false},
    {"ax1 ax2 | ax3 | lx1.2", 3, 2, {{PLACED, 1, 0}, {ORDER, 0, 1}}, false},
    {"ax1 ax2 | lx1.2", 2, 2, {{NOT, 0, 0}, {OTHERS, 1, 0}}, false},
    {"ax1 ax2 | ax3 | lx1.2.3", 3, 2, {{PLACED, 1, 2}, {OTHERS, 2, 1}}, true},
    {"ax1 ax2 | ax3 | lx1.2.3", 3, 2, {{PLACED, 0, 1}, {OTHERS, 2, 0}}, true},
    {"ax1 ax2 | ax3 | lx1.2.3", 3, 2, {{PLACED, 0, 3}, {OTHERS, 2, 0}}, false},
    {"ax1 ax2 | ax3 | lx1.2.3", 3, 2, {{PLACED, 0, 1}, {OTHERS, 2, 1}}, false},
};

static void hears_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct list_row *row = &lists[i];
        struct iso_history history;
        struct finals finals;
        struct iso_literal clause[3] = {{.kind = ISO_LITERAL_ORDER}};
        make_history(&history, row->history);
        finals_init(&finals, &history);
        for (uint32_t l = 0; l < row->count; l++)
            clause[l] = (struct iso_literal){(enum iso_literal_kind)row->clause[l].kind,
                                             row->clause[l].a, row->clause[l].b, 0, 0};
        bool said = (row->count == 1 && lists_order(&finals, clause, row->operation)) ||
                    places_imply(&finals, clause, row->count, row->operation);
        if (said != row->said)
            fail_msg("row %zu: %s", i, row->history);
        finals_release(&finals);
        iso_history_release(&history);
    }
}

/* ---- cycles ---- */

/* Two that read what the other wrote; begins are 0 and 2, commits 1 and 3. */
static const struct cycle_row {
    enum iso_model model;
    uint32_t count;
    struct iso_edge edges[4];
    bool confirmed;
} cycles[] = {
    {ISO_MODEL_SI,
     4,
     {{ISO_EDGE_WR, 1, 2, 0, 0, 0},
      {ISO_EDGE_OWN, 2, 3, 0, 0, 0},
      {ISO_EDGE_WR, 3, 0, 1, 0, 0},
      {ISO_EDGE_OWN, 0, 1, 0, 0, 0}},
     true},
    {ISO_MODEL_SI, 2, {{ISO_EDGE_WR, 0, 2, 0, 0, 0}, {ISO_EDGE_WR, 2, 0, 1, 0, 0}}, false},
    {ISO_MODEL_SI, 2, {{ISO_EDGE_WR, 1, 3, 0, 0, 0}, {ISO_EDGE_WR, 3, 1, 1, 0, 0}}, false},
    {ISO_MODEL_SI, 2, {{ISO_EDGE_WR, 1, 2, 0, 0, 0}, {ISO_EDGE_WR, 2, 1, 1, 0, 0}}, false},
    {ISO_MODEL_SER, 2, {{ISO_EDGE_WR, 0, 2, 0, 0, 0}, {ISO_EDGE_WR, 2, 0, 1, 0, 0}}, true},
    {ISO_MODEL_SER, 2, {{ISO_EDGE_WR, 0, 2, 1, 0, 0}, {ISO_EDGE_WR, 2, 0, 0, 0, 0}}, false},
    {ISO_MODEL_SER, 1, {{ISO_EDGE_WR, 0, 2, 0, 0, 0}}, false},
};

static void follows_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cycles / sizeof *cycles; i++) {
        const struct cycle_row *row = &cycles[i];
        struct iso_history history;
        struct iso_evidence evidence;
        struct iso_error error = {.status = ISO_OK};
        make_history(&history, "wx1 ry2 | rx1 wy2");
        iso_evidence_init(&evidence);
        evidence.model = row->model;
        iso_evidence_lemma(&evidence, ISO_LEMMA_CYCLE, ISO_NONE);
        for (uint32_t e = 0; e < row->count; e++)
            iso_evidence_edge(&evidence, row->edges[e]);
        if ((iso_verify(&history, &evidence, &error) == ISO_CONFIRMED) != row->confirmed)
            fail_msg("row %zu: %s", i, error.text);
        iso_evidence_release(&evidence);
        iso_history_release(&history);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(confirms_findings),
        cmocka_unit_test(sees_versions),
        cmocka_unit_test(hears_lists),
        cmocka_unit_test(follows_edges),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
