/* Anomalies as data: a script of transactions, and what a checker must find in it at si and at ser.
 *
 * Timestamps of a script count from its own beginning. Keys are x and y; `wx2` writes the second version of
 * x, `rx1` reads the first, `ry0` the initial value. In list mode `wx2` appends the second element and `rx2`
 * reads the first two. Transactions of one session stand in session order. The tables were derived by hand
 * from the axioms.
 */
#ifndef ISO_GENERATE_ANOMALY_H
#define ISO_GENERATE_ANOMALY_H

#include "iso/history.h"
#include "iso/verdict.h"

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
    char key;                   /* 0: none */
};
#define ISO_SCRIPT_NOBODY 0xffu

struct iso_anomaly_script {
    const char *name, *summary;
    struct iso_script_transaction transactions[ISO_SCRIPT_TRANSACTIONS];
    struct iso_script_finding findings[2][ISO_SCRIPT_FINDINGS]; /* by enum iso_level */
};

/* All of them; `*count` tells how many. */
const struct iso_anomaly_script *iso_anomalies(uint32_t *count);

#endif
