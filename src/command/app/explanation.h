/* What `check`, `replay` and `explain` share: verdicts explained, drawn, and written for other
 * tools. */
#pragma once

#include "cli/command.h"
#include "cli/options.h"
#include "explain/argument.h"
#include "report/report.h"

struct app_explanation {
    bool explain;
    int time;                     /* 0: raw timestamps, 1: wall-clock times beside them */
    int clock;                    /* enum iso_wall */
    struct cli_texts reports;     /* FORMAT[:FILE] */
    const char *dot, *svg, *html; /* files, or NULL */
};

/* The rows of a command whose options struct has a `struct app_explanation` named `explanation`. */
#define APP_EXPLANATION_PLACE(owner, member)                                                       \
    (offsetof(owner, explanation) + offsetof(struct app_explanation, member))
/* clang-format off */
#define APP_EXPLAIN_ROW(owner) \
    CLI_ROW_FLAG("explain", APP_EXPLANATION_PLACE(owner, explain), \
        "Print each violation as an argument: who, why it is impossible, a time\n" \
        "line, and what it means.")
#define APP_EXPLANATION_ROWS(owner) \
    CLI_ROW_CHOICE("ts", "raw|time", APP_EXPLANATION_PLACE(owner, time), \
        "In explanations: timestamps as they are (the default), or as\n" \
        "wall-clock times, with the former beside each transaction."), \
    CLI_ROW_TEXT("dot", "FILE", APP_EXPLANATION_PLACE(owner, dot), \
        "The transactions of all violations as a graph for graphviz, cycles\n" \
        "first, at most 200. FILE may be -."), \
    CLI_ROW_TEXT("svg", "FILE", APP_EXPLANATION_PLACE(owner, svg), "The same graph as a drawing."), \
    CLI_ROW_TEXT("html", "FILE", APP_EXPLANATION_PLACE(owner, html), \
        "A page for a browser, of one file: list with filters, pictures of time\n" \
        "lines and cycles, what a range contained, raw records."), \
    CLI_ROW_TEXTS("report", "FORMAT[:FILE]", APP_EXPLANATION_PLACE(owner, reports), \
        "The verdict for another tool, to FILE or standard output: json, sarif\n" \
        "(2.1.0), junit, markdown, edn (as Elle prints). May be given often."), \
    CLI_ROW_CHOICE("clock", "auto|none|tso|hybrid|s|ms|us|ns", APP_EXPLANATION_PLACE(owner, clock), \
        "The meaning of timestamps: tso (TiDB), hybrid (YugabyteDB), or a unit\n" \
        "since 1970. auto: by the kind of source.")
/* clang-format on */

/* True if anything was asked for that needs the verdict again. */
bool app_explanation_wanted(const struct app_explanation *explanation);

/* True if one of the files is standard output. */
bool app_explanation_takes_stdout(const struct app_explanation *explanation);

/* Refuses what cannot go together, before anything is read or printed; `json`: standard output is
 * the object's. `of_source`: as of app_explain. */
enum iso_status app_explanation_check(struct app *app, const struct app_explanation *explanation,
                                      bool json, enum iso_wall of_source);

/* Explains a verdict (JSON, of `name`) of a finished history. `of_source`: what its source's
 * timestamps are. The text goes to standard output, drawings and reports to their files. The
 * status: of the verdict's outcome, or an error. */
enum iso_status app_explain(struct app *app, const struct app_explanation *explanation,
                            struct iso_history *history, enum iso_wall of_source, const char *name,
                            struct iso_text *verdict);

/* What an engine said: of the timestamps, or, where `order` is not NULL, of any order. */
struct app_said {
    const struct iso_verdict *verdict;
    const struct iso_polygraph_report *order;
};

/* As JSON. */
void app_print_said(struct iso_output *output, const struct app_said *said);

/* Logs what was found, at most so many: each in a line, and behind it who took part in it, and the
 * statements of each. `verdict`: JSON. */
void app_explain_briefly(struct app *app, struct iso_history *history, struct iso_text *verdict,
                         uint32_t most);

/* As the two above, straight from an engine. */
void app_explain_said_briefly(struct app *app, struct iso_history *history,
                              const struct app_said *said, uint32_t most);
enum iso_status app_explain_said(struct app *app, const struct app_explanation *explanation,
                                 struct iso_history *history, const struct app_said *said);
