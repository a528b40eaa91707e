#include "suite/alone.h"

#include <string.h>

#include "base/memory.h"
#include "suite/changes.h"
#include "suite/operation.h"

enum { SNAPSHOT_MOST = 8192 };

void suite_alone_release(struct suite_alone *alone)
{
    suite_snapshots_release(&alone->snapshots);
    suite_snapshots_release(&alone->scratch);
    iso_number_map_release(&alone->texts_by_hash);
    iso_text_release(&alone->texts);
    iso_json_release(&alone->json);
    iso_json_release(&alone->cells);
    ISO_FREE_ALL(alone->reads.list, alone->own.list);
}

/* ---- a record ---- */

static uint32_t text_of(struct suite_alone *alone, struct iso_json_text text)
{
    uint64_t hash = iso_hash_text(text.at, text.length);
    uint32_t next = (uint32_t)alone->texts.used,
             number = iso_number_map_add(&alone->texts_by_hash, hash, next);
    if (number == next) {
        iso_text_put_bytes(&alone->texts, text.at, text.length);
        iso_text_put_bytes(&alone->texts, "", 1);
    }
    return number;
}

/* The value at hand as it stands there: names and values are compared as JSON has them. */
static struct iso_json_text take_raw(struct iso_json *json)
{
    iso_json_space(json);
    const char *at = json->at;
    iso_json_skip(json);
    return (struct iso_json_text){at, (size_t)(json->at - at)};
}

static bool is_own(const struct suite_alone *alone, uint64_t row)
{
    for (uint32_t i = 0; i < alone->own.count; i++)
        if (alone->own.list[i] == row)
            return true;
    return false;
}

/* The columns of a row that was there: {"v":"1",...}. */
static void take_cells(struct suite_alone *alone, struct iso_json_text row,
                       struct iso_json_text cells, struct suite_alone_read read)
{
    struct iso_json *json = &alone->cells;
    struct iso_json_text column;
    uint64_t hash = iso_hash_number(iso_hash_text(row.at, row.length));
    read.row = text_of(alone, row);
    iso_json_start(json, cells.at, cells.length);
    iso_json_enter_object(json);
    while (iso_json_member(json, &column)) {
        read.cell = hash + iso_hash_text(column.at, column.length);
        read.column = text_of(alone, column);
        read.value = text_of(alone, take_raw(json));
        ISO_APPEND(alone->reads, read);
    }
}

static void take_operation(struct suite_alone *alone)
{
    struct iso_json *json = &alone->json;
    struct iso_json_text member, kind = {"", 0}, row = {"", 0}, cells = {"", 0};
    struct suite_alone_read read = {.cell = 0};
    bool is_its_own = false;
    iso_json_enter_object(json);
    while (iso_json_member(json, &member))
        if (iso_json_is(&member, "t"))
            kind = take_raw(json);
        else if (iso_json_is(&member, "row"))
            row = take_raw(json);
        else if (iso_json_is(&member, "cells"))
            cells = take_raw(json);
        else if (iso_json_is(&member, "own"))
            iso_json_boolean(json, &is_its_own);
        else if (iso_json_is(&member, "sent"))
            read.sent = suite_take_number(json);
        else if (iso_json_is(&member, "answered"))
            read.answered = suite_take_number(json);
        else
            iso_json_skip(json);
    uint64_t hash = iso_hash_text(row.at, row.length);
    bool reads = iso_json_is(&kind, "\"r\"");
    if (!reads && !iso_json_is(&kind, "\"q\""))
        ISO_APPEND(alone->own, hash);
    else if (reads && !is_its_own && !is_own(alone, hash) && cells.length && *cells.at == '{')
        take_cells(alone, row, cells, read);
    else
        ISO_APPEND(alone->reads, read);
}

static uint64_t snapshot_of(struct suite_alone *alone, const struct iso_json_text *text)
{
    char copy[SNAPSHOT_MOST];
    if (text->length >= sizeof copy)
        return 0;
    memcpy(copy, text->at, text->length);
    copy[text->length] = 0;
    alone->scratch.count = alone->scratch.running_count = 0;
    suite_snapshots_take(&alone->scratch, copy, 0, 0);
    return alone->scratch.count ? suite_snapshots_hash(&alone->scratch, 0) : 0;
}

/* Which transactions the record's reads saw, and who they are. */
struct reader {
    uint32_t tid;
    struct suite_record record;
    uint64_t snapshot;
};

static void take_members(struct suite_alone *alone, struct reader *reader)
{
    struct iso_json *json = &alone->json;
    struct iso_json_text member, text;
    iso_json_enter_object(json);
    while (iso_json_member(json, &member))
        if (iso_json_is(&member, "ops")) {
            iso_json_enter_array(json);
            while (iso_json_element(json))
                take_operation(alone);
        } else if (iso_json_is(&member, "tid")) {
            reader->tid = text_of(alone, take_raw(json));
        } else if (iso_json_is(&member, "level")) {
            suite_take_level(json, &reader->record);
        } else if (iso_json_is(&member, "snapshot") && iso_json_string(json, &text)) {
            reader->snapshot = snapshot_of(alone, &text);
        } else {
            iso_json_skip(json);
        }
}

static void take_record(struct suite_alone *alone, const char *line, size_t length)
{
    struct reader reader = {.tid = 0};
    uint32_t first = alone->reads.count;
    alone->own.count = 0;
    iso_json_start(&alone->json, line, length);
    take_members(alone, &reader);
    if (alone->json.code != ISO_JSON_FINE)
        alone->reads.count = first;
    bool is_weak =
        reader.record.is_known ? reader.record.level == SUITE_READ_COMMITTED : !reader.snapshot;
    for (uint32_t i = first; i < alone->reads.count; i++) {
        struct suite_alone_read *read = &alone->reads.list[i];
        read->tid = reader.tid;
        read->level = is_weak                  ? SUITE_READ_COMMITTED
                      : reader.record.is_known ? reader.record.level
                                               : SUITE_REPEATABLE_READ;
        read->snapshot = is_weak ? 0 : reader.snapshot;
    }
}

static void take_line(void *context, const char *topic, const char *line, size_t length)
{
    struct suite_alone *alone = context;
    if (!strcmp(topic, SUITE_RECORDS))
        take_record(alone, line, length);
    else if (!strcmp(topic, SUITE_SNAPSHOTS))
        suite_snapshots_read(&alone->snapshots, line);
}

enum iso_status suite_alone_read(struct suite_alone *alone, const char *path,
                                 struct iso_error *error)
{
    return suite_capture_read(path, take_line, alone, error);
}

/* ---- together ---- */

/* With the first one of those that saw the same; UINT32_MAX: with none. */
static uint32_t find_first(struct suite_alone *alone, struct iso_number_map *firsts, uint32_t i)
{
    struct suite_alone_read *read = &alone->reads.list[i];
    if (read->level == SUITE_READ_COMMITTED)
        read->snapshot = suite_snapshots_around(&alone->snapshots, read->sent, read->answered);
    return read->cell && read->snapshot
               ? iso_number_map_add(firsts, iso_hash_number(read->cell) + read->snapshot, i)
               : UINT32_MAX;
}

void suite_alone_judge(struct suite_alone *alone, struct suite_alone_verdict *verdict)
{
    struct iso_number_map firsts = {0};
    struct suite_alone_read *reads = alone->reads.list;
    *verdict = (struct suite_alone_verdict){0};
    for (uint32_t i = 0; i < alone->reads.count; i++) {
        uint32_t first = find_first(alone, &firsts, i);
        if (first == UINT32_MAX || first == i)
            continue;
        reads[i].is_compared = reads[first].is_compared = true;
        if (reads[i].value == reads[first].value)
            continue;
        verdict->wrong[reads[i].level]++;
        ISO_APPEND(verdict->wrongs, ((struct suite_alone_wrong){first, i}));
    }
    for (uint32_t i = 0; i < alone->reads.count; i++)
        (reads[i].is_compared ? verdict->judged : verdict->unjudged)[reads[i].level]++;
    iso_number_map_release(&firsts);
}
