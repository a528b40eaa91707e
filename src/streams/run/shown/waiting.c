#include "run/shown/waiting.h"

void run_waiting_init(struct run_waiting *waiting, uint64_t now)
{
    *waiting = (struct run_waiting){.input = now, .changed_at = now};
    for (int kind = 0; kind < RUN_WAITING_KINDS; kind++)
        waiting->since[kind] = now;
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* For how long input has come while a kind stood still. `age`: of the oldest of it. */
static uint64_t stood_still(const struct run_waiting *waiting, enum run_waiting_kind kind,
                            uint64_t age, uint64_t now)
{
    uint64_t since = waiting->since[kind];
    return waiting->input > since ? least(age, least(now - since, waiting->input - since)) : 0;
}

void run_waiting_look(struct run_waiting *waiting, const struct iso_accounting *books,
                      uint64_t watermark, uint64_t messages, uint64_t now)
{
    const uint64_t *came = books->came;
    const struct iso_accounting_waiting *what = &books->waiting;
    uint64_t progress[] = {
        came[ISO_UNIT_ROWS] - books->of[ISO_UNIT_ROWS][ISO_ACCOUNTED_WAITING],
        came[ISO_UNIT_RECORDS] - books->of[ISO_UNIT_RECORDS][ISO_ACCOUNTED_WAITING], watermark};
    uint64_t count[] = {what->rows, what->records, what->reads};
    uint64_t age[] = {what->row.ms, what->record.ms, what->read.ms};
    if (messages != waiting->messages)
        waiting->input = now;
    waiting->messages = messages;
    waiting->unsettled = 0;
    for (int kind = 0; kind < RUN_WAITING_KINDS; kind++) {
        if (!count[kind] || progress[kind] != waiting->progress[kind])
            waiting->since[kind] = now;
        waiting->progress[kind] = progress[kind];
        uint64_t vain = stood_still(waiting, (enum run_waiting_kind)kind, age[kind], now);
        waiting->unsettled = vain > waiting->unsettled ? vain : waiting->unsettled;
    }
}

void run_waiting_note_changes(struct run_waiting *waiting, uint64_t changes, uint64_t now)
{
    if (changes != waiting->changes)
        waiting->changed_at = now;
    waiting->changes = changes;
}

bool run_waiting_class(const struct iso_accounting *books, unsigned number,
                       struct run_waiting_class *class)
{
    static const char in_time[] =
        "when the watermark has passed it: within --grace, --idle-timeout or --finality-timeout";
    const struct iso_accounting_waiting *what = &books->waiting;
    const struct iso_accounting_oldest unknown = {UINT64_MAX, UINT64_MAX};
    const struct run_waiting_class classes[] = {
        {"records", what->records, what->record, "rows of the change stream, or a watermark",
         "once the change stream was read past its commit; without rows after --grace"},
        {"rows", what->rows, what->row, "the rest of the transaction, or its client's record",
         "with both; without a record after --grace"},
        {"reads", what->reads, what->read, "a watermark", in_time},
        {"overtaken", what->overtaken, what->overtaking, "transactions that it overtook",
         "within --settle"},
        {"outcome", what->for_outcome, what->outcome,
         "the outcome of a transaction that may have written what it saw",
         "when a record or the change stream says what became of that one, else at the end"},
        {"snapshot", what->for_snapshot, what->snapshot,
         "the end of the connector's first snapshot",
         "once that has ended, and each partition was read to where it stood then"},
        {"order", what->for_order, what->first, "an order of all transactions", "at the end"},
        {"schema", what->for_schema, what->absent, "word that its table was not truncated",
         "once the change stream was read past its snapshot"},
        {"queries", what->queries, what->query, "a watermark, or the outcome of a transaction",
         in_time},
        {"tables", what->tables, unknown, "the rest of the connector's first snapshot",
         "with its last row"},
        {"beyond", what->beyond, what->differing, "changes that may be on their way, or were lost",
         "once the change stream was read past them, else at the end"},
    };
    if (number >= sizeof classes / sizeof *classes)
        return false;
    *class = classes[number];
    return true;
}

uint64_t run_waiting_on_inputs(const struct iso_accounting *books)
{
    return books->waiting.rows + books->waiting.records + books->waiting.reads;
}

uint64_t run_waiting_oldest(const struct iso_accounting *books)
{
    const struct iso_accounting_waiting *what = &books->waiting;
    uint64_t most = what->row.ms > what->record.ms ? what->row.ms : what->record.ms;
    return what->read.ms > most ? what->read.ms : most;
}
