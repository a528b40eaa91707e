/* What the verifier believes of a history: findings, lists, versions, edges, each on the smallest
 * history that tells them apart. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/brief_history.h"
#include "tests/support/test.h"

#include "verify/verify_private.h"

/* ---- findings ---- */

enum { NOBODY = -1 };
static const struct finding_row {
    const char *history;
    enum iso_finding_kind kind;
    uint32_t transaction, operation;
    int other;
    bool confirmed;
} findings[] = {
    {"| w x 1 | r x 2", ISO_FINDING_INT, 0, 1, NOBODY, true},
    {"| w x 1 | r x 2", ISO_FINDING_INT, 0, 1, 0, false},
    {"| w x 1 | r x 1", ISO_FINDING_INT, 0, 1, NOBODY, false},
    {"| w x 1 | r x 2", ISO_FINDING_THINAIR, 0, 1, NOBODY, false}, /* its own affair */
    {"| w x 1\n| r x 2", ISO_FINDING_THINAIR, 1, 1, NOBODY, true},
    {"| w x 1\n| r x 2", ISO_FINDING_THINAIR, 1, 1, 0, false},
    {"| w x 1\n| r x 1", ISO_FINDING_THINAIR, 1, 1, NOBODY, false},
    {"aborted | w x 1\n| r x 1", ISO_FINDING_THINAIR, 1, 1, NOBODY, false}, /* somebody wrote it */
    {"| w x 1 | w x 2\n| r x 1", ISO_FINDING_THINAIR, 1, 2, NOBODY, false},
    {"aborted | w x 1\n| r x 1", ISO_FINDING_G1A, 1, 1, 0, true},
    {"aborted | w x 1\n| r x 1", ISO_FINDING_G1A, 1, 1, NOBODY, false},
    {"aborted | w x 1\n| w x 1\n| r x 1", ISO_FINDING_G1A, 2, 2, 0, false},
    {"aborted | w x 1 | w x 2\n| r x 1", ISO_FINDING_G1B, 1, 2, 0, false},
    {"| w x 1 | w x 2\n| r x 1", ISO_FINDING_G1B, 1, 2, 0, true},
    {"| w x 1 | w x 2\n| w x 3\n| r x 1", ISO_FINDING_G1B, 2, 3, 1, false},
    {"| w x 1 | w x 2\n| w x 1\n| r x 1", ISO_FINDING_G1B, 2, 3, 0, false},
    {"| w x 1\n| r x 1 | w x 2\n| r x 1 | w x 3", ISO_FINDING_LOSTUPDATE, 1, 1, 2, true},
    {"| w x 1\n| r x 1 | w x 2\n| r x 1 | w x 3", ISO_FINDING_LOSTUPDATE, 1, 1, 0, false},
    {"| w x 1\n| r x 1 | w x 2\n| r x 2 | w x 3", ISO_FINDING_LOSTUPDATE, 1, 1, 2, false},
    {"| w x 1\n| r x 1 | w x 2\n| r x 1", ISO_FINDING_LOSTUPDATE, 1, 1, 2, false},
    {"| r x null | w x 2\n| r x null | w x 3", ISO_FINDING_LOSTUPDATE, 0, 0, 1, true},
    {"| r x null | w x 2\n| r x 2 | w x 3", ISO_FINDING_LOSTUPDATE, 0, 0, 1, false},
    {"| r x 1 | w x 1\n| r x 1 | w x 1", ISO_FINDING_LOSTUPDATE, 0, 0, 1,
     false}, /* each may have read the other's */
    {"| w x 1\n| w x 1\n| r x 1 | w x 2\n| r x 1 | w x 3", ISO_FINDING_LOSTUPDATE, 2, 2, 3,
     false}, /* two versions of one value */
    /* lists */
    {"aborted | a x 1\n| r x [1]", ISO_FINDING_G1A, 1, 1, 0, true},
    {"aborted | a x 1\n| a x 1\n| r x [1]", ISO_FINDING_G1A, 2, 2, 0, false},
    {"aborted | a x 1\n| r x [1]", ISO_FINDING_THINAIR, 1, 1, NOBODY, false},
    {"| a x 1\n| r x [2]", ISO_FINDING_THINAIR, 1, 1, NOBODY, true},
    {"| a x 1\n| r x [1]", ISO_FINDING_THINAIR, 1, 1, NOBODY, false},
    {"initial | a x 2\n| a x 1\n| r x [2,1]", ISO_FINDING_THINAIR, 1, 1, NOBODY, false},
    {"| a x 1 | a x 2\n| r x [1]", ISO_FINDING_G1B, 1, 2, 0, true},
    {"| a x 1 | a x 2\n| r x [2]", ISO_FINDING_G1B, 1, 2, 0, true},
    {"| a x 1 | a x 2\n| r x [1,2]", ISO_FINDING_G1B, 1, 2, 0, false},
    {"| w y 1 | a x 1 | r y 1 | a x 2\n| r x [1]", ISO_FINDING_G1B, 1, 4, 0, true},
    {"| a x 1 | a x 2\n| r x [1] | a x 1", ISO_FINDING_G1B, 1, 2, 0, true},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,3,2]", ISO_FINDING_G1B, 2, 3, 0, true},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,3,2]", ISO_FINDING_G1B, 2, 3, 1, false},
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,1,2]", ISO_FINDING_G1B, 2, 4, 0,
     true}, /* the first is nobody's whole */
    {"| a x 1 | a x 2\n| w y 5\n| a x 1 | a x 2\n| r x [1,1,2]", ISO_FINDING_G1B, 3, 5, 0, true},
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,2,1,2]", ISO_FINDING_G1B, 2, 4, 0, false},
    {"initial | a x 9\n| a x 1\n| r x []", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, true},
    {"initial | a x 9\n| a x 1\n| r x [9]", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, false},
    {"initial | a x 9\n| a x 1\n| r x [9,1]", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, false},
    {"initial | a x 9\n| a x 1\n| r x [1]", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, true},
    {"initial | a x 9\n| a x 9\n| r x [9,9]", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, false},
    {"initial | a x 9\n| a x 9\n| r x [9,9,9]", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, true},
    {"| a x 1\n| r x [1,1]", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY, true},
    {"| a x 1\n| a x 1\n| r x [1,1]", ISO_FINDING_INCOMPATIBLE, 2, 2, NOBODY, false},
    {"| a x 1\n| r x [1,1] | a x 1", ISO_FINDING_INCOMPATIBLE, 1, 1, NOBODY,
     true}, /* its own comes later */
    {"| a x 1\n| a x 2\n| r x [1,2]\n| r x [2,1]", ISO_FINDING_INCOMPATIBLE, 2, 2, 3, true},
    {"| a x 1\n| a x 2\n| r x [1,2]\n| r x [1]", ISO_FINDING_INCOMPATIBLE, 2, 2, 3, false},
    {"| a x 1\n| a x 2\n| r x [1,2]\naborted | r x [2,1]", ISO_FINDING_INCOMPATIBLE, 2, 2, 3,
     false},
    {"| a x 1\n| r x [1] | a x 2\n| r x [1] | a x 3", ISO_FINDING_LOSTUPDATE, 1, 1, 2, true},
    {"| a x 1\n| r x [1] | a x 2\n| r x [1,2] | a x 3", ISO_FINDING_LOSTUPDATE, 1, 1, 2, false},
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
        brief_history(&history, row->history);
        struct iso_evidence evidence = {.level = ISO_SI, .finding = finding};
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
    {"1 a 1 5 | w x 1\n2 b 6 7 | r x 1", 1, 1, true, 0},
    {"1 a 1 5 | w x 1\n2 b 5 7 | r x 1", 1, 1, true, 0},
    {"1 a 1 5 | w x 1\n2 b 4 7 | r x 1", 1, 1, false, NOBODY},
    {"1 a 1 5 | w x 1\n2 b 1 6 | w x 2\n3 c 6 7 | r x 2", 2, 2, true, 1},
    {"1 a 1 6 | w x 2\n2 b 1 5 | w x 1\n3 c 6 7 | r x 2", 2, 2, true, 0},
    {"1 a 1 5 | w x 1\n2 b 1 6 | w x 2\n3 c 6 7 | r x 1", 2, 2, false, 1},
    {"1 a 1 5 | w x 1\n2 b 1 5 | w x 1\n3 c 6 7 | r x 1", 2, 2, false,
     1}, /* whose it was, nobody knows */
    {"1 a 1 5 | w x 1\n2 b 1 7 | r x 1 lock\n3 c 1 8 | w x 2", 1, 1, true,
     0}, /* a lock shows what stands just below its commit */
    {"1 a 1 5 | w x 1\n2 b 1 6 | r x 1 lock\n3 c 1 6 | w x 2", 1, 1, true, 0},
    {"1 a 1 5 | w x 1\n2 b 1 5 | r x 1 lock", 1, 1, false, NOBODY},
    {"| w x 1\n2 b 6 7 | r x 1", 1, 1, false, NOBODY},
    {"1 a 1 5 | w x 1\n| r x 1", 1, 1, false, NOBODY},
};

static void sees_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        const struct version_row *row = &versions[i];
        struct iso_history history;
        struct finals finals;
        uint32_t writer;
        brief_history(&history, row->history);
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
    {"| a x 1\n| a x 2\n| r x [1,2]", 2, 1, {{ORDER, 0, 1}}, true},
    {"| a x 1\n| a x 2\n| r x [1,2]", 2, 1, {{ORDER, 1, 0}}, false},
    {"| a x 1\n| a x 2\n| r x [1]", 2, 1, {{ORDER, 0, 1}}, true},
    {"| a x 1\n| a x 2\n| r x []", 2, 1, {{ORDER, 0, 1}}, false},
    {"| a x 1\n| a x 1\n| r x [1]", 2, 1, {{ORDER, 0, 1}}, false},
    {"| a x 2\n| a x 1\n| a x 1\n| r x [2,1]",
     3,
     1,
     {{ORDER, 0, 1}},
     false}, /* it may be the other's */
    {"| a x 2\n| a x 1\n| a x 1\n| r x [2]", 3, 1, {{ORDER, 0, 1}}, true},
    {"| a x 1\n| a x 2\naborted | r x [1,2]", 2, 1, {{ORDER, 0, 1}}, false},
    {"| a x 1\n| a x 2\n| r x [1,2]", 2, 1, {{PLACED, 0, 1}}, false},
    /* places of what repeats */
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,2]", 4, 2, {{PLACED, 0, 0}, {PLACED, 1, 0}}, true},
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,2]", 4, 1, {{PLACED, 0, 0}}, false},
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,2,1,2]", 4, 2, {{NOT, 0, 0}, {NOT, 0, 2}}, true},
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,2,1,2]", 4, 2, {{NOT, 0, 0}, {NOT, 1, 1}}, true},
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,2,1,2]", 4, 2, {{NOT, 0, 0}, {NOT, 1, 2}}, false},
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,2,1,2]",
     4,
     2,
     {{PLACED, 0, 0}, {NOT, 1, 2}},
     false},
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,2,1,2]",
     4,
     3,
     {{ORDER, 0, 1}, {NOT, 0, 0}, {NOT, 1, 2}},
     true},
    {"| a x 1 | a x 2\n| a x 1 | a x 2\n| r x [1,2,1,2]",
     4,
     3,
     {{ORDER, 1, 0}, {NOT, 0, 0}, {NOT, 1, 2}},
     false},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,2,3]",
     3,
     3,
     {{NOT, 0, 0}, {ORDER, 0, 1}, {PLACED, 1, 2}},
     true},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,2,3]", 3, 2, {{NOT, 0, 0}, {ORDER, 0, 1}}, false},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,2]", 3, 2, {{NOT, 0, 0}, {ORDER, 0, 1}}, true},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,2]", 3, 2, {{NOT, 0, 1}, {ORDER, 0, 1}}, false},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,2]", 3, 2, {{PLACED, 1, 0}, {ORDER, 0, 1}}, false},
    {"| a x 1 | a x 2\n| r x [1,2]", 2, 2, {{NOT, 0, 0}, {OTHERS, 1, 0}}, false},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,2,3]", 3, 2, {{PLACED, 1, 2}, {OTHERS, 2, 1}}, true},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,2,3]", 3, 2, {{PLACED, 0, 1}, {OTHERS, 2, 0}}, true},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,2,3]", 3, 2, {{PLACED, 0, 3}, {OTHERS, 2, 0}}, false},
    {"| a x 1 | a x 2\n| a x 3\n| r x [1,2,3]", 3, 2, {{PLACED, 0, 1}, {OTHERS, 2, 1}}, false},
};

static void hears_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct list_row *row = &lists[i];
        struct iso_history history;
        struct finals finals;
        struct iso_literal clause[3] = {{.kind = ISO_LITERAL_ORDER}};
        brief_history(&history, row->history);
        finals_init(&finals, &history);
        for (uint32_t l = 0; l < row->count; l++)
            clause[l] = (struct iso_literal){(enum iso_literal_kind)row->clause[l].kind,
                                             row->clause[l].a, row->clause[l].b, 0, 0};
        bool said = (row->count == 1 && lists_order(&finals, clause, row->operation)) ||
                    list_positions_imply(&finals, clause, row->count, row->operation);
        if (said != row->said)
            fail_msg("row %zu: %s", i, row->history);
        finals_release(&finals);
        iso_history_release(&history);
    }
}

/* ---- cycles ---- */

/* Two that read what the other wrote; begins are 0 and 2, commits 1 and 3. */
static const struct cycle_row {
    enum iso_level level;
    uint32_t count;
    struct iso_edge edges[4];
    bool confirmed;
} cycles[] = {
    {ISO_SI,
     4,
     {{ISO_EDGE_WR, 1, 2, 0, 0, 0},
      {ISO_EDGE_OWN, 2, 3, 0, 0, 0},
      {ISO_EDGE_WR, 3, 0, 1, 0, 0},
      {ISO_EDGE_OWN, 0, 1, 0, 0, 0}},
     true},
    {ISO_SI, 2, {{ISO_EDGE_WR, 0, 2, 0, 0, 0}, {ISO_EDGE_WR, 2, 0, 1, 0, 0}}, false},
    {ISO_SI, 2, {{ISO_EDGE_WR, 1, 3, 0, 0, 0}, {ISO_EDGE_WR, 3, 1, 1, 0, 0}}, false},
    {ISO_SI, 2, {{ISO_EDGE_WR, 1, 2, 0, 0, 0}, {ISO_EDGE_WR, 2, 1, 1, 0, 0}}, false},
    {ISO_SER, 2, {{ISO_EDGE_WR, 0, 2, 0, 0, 0}, {ISO_EDGE_WR, 2, 0, 1, 0, 0}}, true},
    {ISO_SER, 2, {{ISO_EDGE_WR, 0, 2, 1, 0, 0}, {ISO_EDGE_WR, 2, 0, 0, 0, 0}}, false},
    {ISO_SER, 1, {{ISO_EDGE_WR, 0, 2, 0, 0, 0}}, false},
};

static void follows_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cycles / sizeof *cycles; i++) {
        const struct cycle_row *row = &cycles[i];
        struct iso_history history;
        struct iso_evidence evidence;
        struct iso_error error = {.status = ISO_OK};
        brief_history(&history, "| w x 1 | r y 2\n| r x 1 | w y 2");
        iso_evidence_init(&evidence);
        evidence.level = row->level;
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
