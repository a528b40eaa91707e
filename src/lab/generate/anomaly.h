/* Anomalies as data: a script of transactions, and what a checker must find in it at si and at ser.
 *
 * Timestamps of a script count from its own beginning. Keys are x and y; `wx2` writes the second
 * version of x, `rx1` reads the first, `ry0` the initial value. In list mode `wx2` appends the
 * second element and `rx2` reads the first two.
 *
 * Scripts of rows have a table of their own instead, rows 1 (x) and 2 (y), columns c1 and c2:
 *
 *     ix1    inserts x with c1 = 1 and the first version of c2
 *     ux2    changes c2 to its second version               vx2    changes c1 to 2
 *     gx1    reads x, with the first version of c2          gx0    there is no x
 *     q10    asks for rows 1 to 2: finds x with the first version of c2, and not y
 *     m10    asks where c1 = 1, finds the same
 *     s11    asks for the count and the sum of c2: what it is of these versions
 *
 * `breaks` is what black-box judging finds, which knows no timestamps: of the session guarantees,
 * rc, ra, cc, psi, pc, si, ser the least that are broken.
 *
 * Transactions of one session stand in session order. The tables were derived by hand
 * from the axioms.
 */
#pragma once

#include "history/history.h"
#include "verdict/verdict.h"

enum { ISO_SCRIPT_TRANSACTIONS = 5, ISO_SCRIPT_FINDINGS = 2 };

struct iso_script_transaction {
    const char *operations; /* separated by spaces; NULL ends the script */
    uint8_t session, sts, cts;
    uint8_t status; /* ISO_COMMITTED or ISO_ABORTED */
};

struct iso_script_finding {
    bool used;
    enum iso_axiom axiom;
    enum iso_violation_kind kind;
    uint8_t transaction, other; /* of the script; other ISO_SCRIPT_NOBODY: none */
    /* reads do not show it: a row that a query lacks or has too much, an aggregate */
    bool of_query;
    char key; /* 0: none; of rows also X and Y, their cells in c2, and T, the table */
};
#define ISO_SCRIPT_NOBODY 0xffu

struct iso_anomaly_script {
    const char *name, *summary;
    struct iso_script_transaction transactions[ISO_SCRIPT_TRANSACTIONS];
    struct iso_script_finding findings[2][ISO_SCRIPT_FINDINGS]; /* by timestamps: ISO_SI, ISO_SER */
    /* The weakest levels at which no order explains it, as bits; those that imply one of them
     * break, too. */
    uint32_t breaks;
};

/* On rows of a table; else on keys. */
static inline bool iso_script_of_rows(const struct iso_anomaly_script *script)
{
    return script->transactions[0].operations[0] == 'i';
}

/* All of them; `*count` tells how many. */
const struct iso_anomaly_script *iso_anomalies(uint32_t *count);
