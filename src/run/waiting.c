#include "run/waiting.h"

void app_waiting_init(struct app_waiting *waiting, uint64_t now)
{
    *waiting = (struct app_waiting){.input = now, .changed_at = now};
    for (int kind = 0; kind < APP_WAITING_KINDS; kind++)
        waiting->since[kind] = now;
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* For how long input has come while a kind stood still. `age`: of the oldest of it. */
static uint64_t stood_still(const struct app_waiting *waiting, enum app_waiting_kind kind, uint64_t age, uint64_t now)
{
    uint64_t since = waiting->since[kind];
    return waiting->input > since ? least(age, least(now - since, waiting->input - since)) : 0;
}

void app_waiting_look(struct app_waiting *waiting, const struct iso_books *books, uint64_t watermark, uint64_t messages,
                      uint64_t now)
{
    const uint64_t *came = books->came;
    const struct iso_books_waiting *what = &books->waiting;
    uint64_t progress[] = {came[ISO_UNIT_ROWS] - books->of[ISO_UNIT_ROWS][ISO_BOOK_WAITING],
                           came[ISO_UNIT_RECORDS] - books->of[ISO_UNIT_RECORDS][ISO_BOOK_WAITING], watermark};
    uint64_t count[] = {what->rows, what->records, what->reads};
    uint64_t age[] = {what->rows_ms, what->records_ms, what->reads_ms};
    if (messages != waiting->messages)
        waiting->input = now;
    waiting->messages = messages;
    waiting->unsettled = 0;
    for (int kind = 0; kind < APP_WAITING_KINDS; kind++) {
        if (!count[kind] || progress[kind] != waiting->progress[kind])
            waiting->since[kind] = now;
        waiting->progress[kind] = progress[kind];
        uint64_t vain = stood_still(waiting, (enum app_waiting_kind)kind, age[kind], now);
        waiting->unsettled = vain > waiting->unsettled ? vain : waiting->unsettled;
    }
}

void app_waiting_note_changes(struct app_waiting *waiting, uint64_t changes, uint64_t now)
{
    if (changes != waiting->changes)
        waiting->changed_at = now;
    waiting->changes = changes;
}

bool app_waiting_class(const struct iso_books *books, unsigned number, const char **name, uint64_t *count,
                       uint64_t *oldest_ms)
{
    const struct iso_books_waiting *what = &books->waiting;
    const struct {
        const char *name;
        uint64_t count, oldest_ms;
    } classes[] = {
        {"records", what->records, what->records_ms}, {"rows", what->rows, what->rows_ms},
        {"reads", what->reads, what->reads_ms},       {"overtaken", what->overtaken, UINT64_MAX},
        {"outcome", what->for_outcome, UINT64_MAX},   {"snapshot", what->for_snapshot, UINT64_MAX},
        {"order", what->for_order, UINT64_MAX},       {"schema", what->for_schema, UINT64_MAX},
    };
    if (number >= sizeof classes / sizeof *classes)
        return false;
    *name = classes[number].name;
    *count = classes[number].count;
    *oldest_ms = classes[number].oldest_ms;
    return true;
}

uint64_t app_waiting_on_inputs(const struct iso_books *books)
{
    return books->waiting.rows + books->waiting.records + books->waiting.reads;
}

uint64_t app_waiting_oldest(const struct iso_books *books)
{
    const struct iso_books_waiting *what = &books->waiting;
    uint64_t most = what->rows_ms > what->records_ms ? what->rows_ms : what->records_ms;
    return what->reads_ms > most ? what->reads_ms : most;
}
