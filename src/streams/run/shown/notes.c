#include "run/shown/notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* REPORTED_MS: for how long what is over is reported; STRETCH_MS: over which speed is measured;
 * LEAST, WORK_S: messages, and seconds of work in them, below which it is not behind; SILENT_S: of
 * clients, while the database is written to. */
enum {
    REPORTED_MS = 3600000,
    STRETCH_MS = 5000,
    LEAST = 1024,
    WORK_S = 10,
    SILENT_S = 30,
    SHOWN = 700
};

/* In the order in which they are reported. `what` is of one and of many; `then`: what it means, and
 * what to do. */
static const struct {
    const char *one, *many, *then;
} words[RUN_HAPPENINGS] = {
    [ISO_NEWS_COLUMNS] =
        {"time a table changed its columns", "times tables changed their columns",
         "values of whole rows from before and after are not compared (reason schema); name one column "
         "by value=COLUMN to compare that; with cells=true columns are compared one by one"},
    [ISO_NEWS_EMPTIED] =
        {"table was truncated, dropped or renamed away",
         "tables were truncated, dropped or renamed away",
         "if nobody meant to, restore it; reads by snapshots from before are not judged (reason ddl)"},
    [ISO_NEWS_PARTLY] =
        {"table lost a part of its rows to a statement",
         "times tables lost a part of their rows to a "
         "statement",
         "nobody knows which ones: their keys are not judged (reason ddl) until they are written again"},
    [ISO_NEWS_REWRITTEN] = {"table was rewritten or replaced", "tables were rewritten or replaced",
                            "its keys are not judged (reason schema) until they are written again"},
    [ISO_NEWS_LEFT_OUT] = {"table cannot be judged any more", "tables cannot be judged any more",
                           "the log says why; operations on it are left out"},
    [ISO_NEWS_LOSSY] =
        {"column is not always said by the stream", "columns are not always said by the stream",
         "the log says why, and what to set; those values are not judged (reason lossy)"},
    [RUN_BAD_RECORDS] =
        {"message could not be read and was left out",
         "messages could not be read and were left out",
         "the log says why, one by one; repair the sender, and replay --dead-letter"},
    [RUN_LATE_TRANSACTIONS] =
        {"transaction arrived below the watermark", "transactions arrived below the watermark",
         "verdicts are doubtful; let clients send watermarks later, or give a longer --grace"},
    [RUN_MISSING_OFFSETS] =
        {"message is missing in Kafka", "messages are missing in Kafka",
         "what was there was not judged; if the topic is neither compacted nor written in "
         "transactions, its retention is too short"},
    [RUN_SNAPSHOTS_AGAIN] =
        {"time a snapshot arrived behind changes", "times a snapshot arrived behind changes",
         "the connector lost its position (its slot, its offset in the binlog) and read the tables "
         "again: changes between may be missing; look at its log, and keep the slot or the binlog "
         "for longer"},
};

void run_notes_init(struct run_notes *notes, const struct run_notes_facts *before, uint64_t now)
{
    *notes = (struct run_notes){.looked = now, .messages = before->messages};
    for (int what = 0; what < RUN_HAPPENINGS; what++)
        notes->happened[what].count = before->count[what];
}

void run_notes_release(struct run_notes *notes)
{
    iso_text_release(&notes->text);
}

static void add_note(struct run_notes *notes, const char *format, ...)
{
    char line[SHOWN];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    iso_text_format(&notes->text, "%s\n", line);
}

static void note_happening(struct run_notes *notes, const struct run_notes_facts *facts, int what,
                           uint64_t now)
{
    uint64_t count = facts->count[what], since = now - notes->happened[what].time;
    const char *latest = what < ISO_TABLE_NEWS ? facts->latest[what] : NULL;
    if (!count || !notes->happened[what].time || since > REPORTED_MS)
        return;
    add_note(notes, "%" PRIu64 " %s (%s%s%s%" PRIu64 " s ago): %s.", count,
             count == 1 ? words[what].one : words[what].many, latest ? latest : "",
             latest ? ", " : "", count == 1 ? "" : "the last ", since / 1000, words[what].then);
}

static void note_awaited(struct run_notes *notes, const struct run_notes_facts *facts)
{
    if (facts->awaited)
        add_note(
            notes,
            "Topic %.200s does not exist yet: no deadline passes until it does, and little becomes final. A table "
            "that stays empty is better taken up by its prefix: --source debezium:PREFIX.*",
            facts->awaited);
}

static void note_clients(struct run_notes *notes, const struct run_notes_facts *facts, uint64_t now)
{
    double seconds = (double)now / 1000, silent = seconds - facts->clients_time;
    if (facts->clients_time < 0 || facts->changes_time < 0 || silent < SILENT_S ||
        seconds - facts->changes_time >= SILENT_S)
        return;
    add_note(
        notes,
        "No client has sent a record for %.0f s, and the database is written to: what nobody records is not judged; look "
        "at the recorders, and at their topic.",
        silent);
}

/* More than a burst: seconds of work, and more of it than before. */
static void note_behind(struct run_notes *notes, const struct run_notes_facts *facts, uint64_t now)
{
    uint64_t passed = now - notes->looked;
    if (passed >= STRETCH_MS) {
        uint64_t taken = facts->messages > notes->messages ? facts->messages - notes->messages : 0;
        notes->rate = taken * 1000 / passed;
        notes->grows = facts->behind > notes->behind;
        notes->looked = now;
        notes->messages = facts->messages;
        notes->behind = facts->behind;
    }
    uint64_t work = facts->behind / (notes->rate ? notes->rate : 1);
    if (!notes->grows || facts->behind < LEAST || work < WORK_S)
        return;
    add_note(
        notes,
        "Behind: %" PRIu64 " messages wait in Kafka, %" PRIu64 " s of work at %" PRIu64
        " a second, and they become more; give it a faster processor, more --threads or fewer sources an instance before "
        "the topic's retention removes what was not checked.",
        facts->behind, work, notes->rate);
}

static void note_memory(struct run_notes *notes, const struct run_notes_facts *facts)
{
    if (!facts->limit || facts->needed <= facts->limit || facts->in_use <= facts->limit)
        return;
    add_note(
        notes,
        "Memory is short: --memory %" PRIu64 " is not enough, the process has %" PRIu64
        " bytes, and everything possible went to the spill file; the input needs %" PRIu64
        " at least, or a smaller --retention; reads that need what is forgotten are undecided.",
        facts->limit, facts->in_use, facts->needed > facts->in_use ? facts->needed : facts->in_use);
}

void run_notes_look(struct run_notes *notes, const struct run_notes_facts *facts, uint64_t now)
{
    notes->text.used = 0;
    note_awaited(notes, facts);
    note_clients(notes, facts, now);
    note_behind(notes, facts, now);
    note_memory(notes, facts);
    for (int what = 0; what < RUN_HAPPENINGS; what++) {
        if (facts->count[what] > notes->happened[what].count)
            notes->happened[what].time = now;
        notes->happened[what].count = facts->count[what];
        note_happening(notes, facts, what, now);
    }
    iso_text_put_bytes(&notes->text, "", 1);
    notes->text.used--;
}
