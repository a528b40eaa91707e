#define _GNU_SOURCE
#include "tests/support/join_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void join_bench_open(struct join_bench *bench, const struct iso_join_options *options)
{
    *bench = (struct join_bench){.join = iso_join_new(options)};
    iso_history_init(&bench->block);
    iso_native_init(&bench->native);
    bench->block.clock = ISO_CLOCK_SCALAR;
}

void join_bench_close(struct join_bench *bench)
{
    iso_join_free(bench->join);
    iso_history_release(&bench->block);
    iso_native_release(&bench->native);
    iso_text_release(&bench->text);
}

static iso_atom atom(struct join_bench *bench, const char *text)
{
    return text ? iso_atoms_text(&bench->block.atoms, text, strlen(text)) : ISO_ABSENT;
}

struct iso_event join_bench_row(struct join_bench *bench, const char *key, const char *before,
                                const char *after)
{
    bool knows_before = !before || strcmp(before, "-"), knows_after = !after || strcmp(after, "-");
    const char *slash = strchr(key, '/');
    struct iso_event event = {
        .type = ISO_EVENT_ROW,
        .operation = !after                    ? ISO_ROW_DELETE
                     : knows_before && !before ? ISO_ROW_INSERT
                                               : ISO_ROW_UPDATE,
        .flags = (uint16_t)((knows_before ? ISO_EVENT_HAS_BEFORE : 0) |
                            (knows_after ? ISO_EVENT_HAS_AFTER : 0)),
        .source = ISO_ABSENT,
        .table =
            slash ? iso_atoms_text(&bench->block.atoms, key, (size_t)(slash - key)) : ISO_ABSENT,
        .key = atom(bench, key),
        .before = knows_before ? atom(bench, before) : ISO_ABSENT,
        .after = knows_after ? atom(bench, after) : ISO_ABSENT,
        .transaction_id = ISO_ABSENT,
        .origin = iso_origin(bench->input, bench->offset++),
    };
    return event;
}

void join_bench_take(struct join_bench *bench, const struct iso_event *event)
{
    struct iso_error error = {.status = ISO_OK};
    if (iso_join_take(bench->join, &bench->block, event, bench->now, &error) != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
}

void join_bench_row_of_cells(struct join_bench *bench, struct iso_event row, char operation,
                             const char *cells)
{
    char text[128], *rest = text, column[2] = "", key[64], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *name = iso_atom_text(&bench->block.atoms, row.key, buffer, &length);
    snprintf(key, sizeof key, "%.*s", (int)length, name);
    snprintf(text, sizeof text, "%s", cells);
    iso_atom there = iso_atoms_text(&bench->block.atoms, "true", 4);
    row.operation = operation == 'c'   ? ISO_ROW_INSERT
                    : operation == 'd' ? ISO_ROW_DELETE
                                       : ISO_ROW_UPDATE;
    row.flags |= ISO_EVENT_HAS_AFTER | (operation == 'U' ? 0 : ISO_EVENT_HAS_BEFORE);
    row.before = strchr("cU", operation) ? ISO_ABSENT : there;
    row.after = operation == 'd' ? ISO_ABSENT : there;
    for (const char *at = cells; *at; at++)
        row.count += *at == '>';
    row.first = row.count * 7; /* as a digest */
    for (const char *at = cells; *at; at++)
        row.first = row.first * 31 + (unsigned char)*at;
    join_bench_take(bench, &row);
    row.type = ISO_EVENT_CELL;
    row.count = row.first = 0;
    for (char *cell = strsep(&rest, " "); cell && *cell; cell = strsep(&rest, " ")) {
        char *before = cell + 2, *after = strchr(before, '>'), cell_key[80];
        struct iso_event event = row;
        *after++ = 0;
        *column = *cell;
        snprintf(cell_key, sizeof cell_key, "%s#%s", key, column);
        event.key = iso_atoms_text(&bench->block.atoms, cell_key, strlen(cell_key));
        event.flags &= (uint16_t) ~(ISO_EVENT_HAS_BEFORE | ISO_EVENT_HAS_AFTER);
        event.flags |=
            (*before != '?' ? ISO_EVENT_HAS_BEFORE : 0) | (*after != '?' ? ISO_EVENT_HAS_AFTER : 0);
        event.before = strchr("?-", *before)
                           ? ISO_ABSENT
                           : iso_atoms_text(&bench->block.atoms, before, strlen(before));
        event.after = strchr("?-", *after)
                          ? ISO_ABSENT
                          : iso_atoms_text(&bench->block.atoms, after, strlen(after));
        join_bench_take(bench, &event);
    }
}

void join_bench_by_cts(struct join_bench *bench, uint64_t cts, const char *key, const char *after)
{
    struct iso_event event = join_bench_row(bench, key, "-", after);
    event.flags |= ISO_EVENT_HAS_CTS;
    event.cts.physical = cts;
    join_bench_take(bench, &event);
}

static void set_xid(struct join_bench *bench, struct iso_event *event, uint32_t xid)
{
    char text[16];
    snprintf(text, sizeof text, "%u", xid);
    event->transaction_id = atom(bench, text);
    event->flags |= ISO_EVENT_HAS_ID | ISO_EVENT_HAS_POSITION;
}

void join_bench_by_xid(struct join_bench *bench, uint32_t xid, uint64_t previous, uint64_t lsn,
                       const char *key, const char *before, const char *after)
{
    struct iso_event event = join_bench_row(bench, key, before, after);
    set_xid(bench, &event, xid);
    event.position[0] = previous;
    event.position[1] = lsn;
    join_bench_take(bench, &event);
}

void join_bench_end(struct join_bench *bench, uint32_t xid, uint32_t count, uint64_t lsn)
{
    struct iso_event event = {.type = ISO_EVENT_END,
                              .flags = ISO_EVENT_HAS_COUNT,
                              .count = count,
                              .position = {0, lsn},
                              .time = bench->time,
                              .source = ISO_ABSENT,
                              .table = ISO_ABSENT,
                              .key = ISO_ABSENT};
    set_xid(bench, &event, xid);
    event.origin = iso_origin(bench->input, bench->offset++);
    join_bench_take(bench, &event);
}

/* Reads it into the block; returns its number there. */
static uint32_t read_record(struct join_bench *bench, const char *json)
{
    struct iso_native_fault fault = {.kind = ISO_FAULT_NONE};
    size_t length = strlen(json);
    char *text = iso_allocate_zeroed(1, length + ISO_JSON_PADDING);
    uint32_t number = bench->block.txns.count;
    for (size_t i = 0; i < length; i++)
        text[i] = json[i] == '\'' ? '"' : json[i];
    if (iso_native_read_transaction(&bench->native, text, length,
                                    iso_origin(bench->input, bench->offset++), &bench->block,
                                    &fault) != ISO_OK) {
        fprintf(stderr, "%s: %s\n", json, fault.text);
        abort();
    }
    iso_free(text);
    return number;
}

void join_bench_record(struct join_bench *bench, const char *json)
{
    uint32_t number = read_record(bench, json);
    iso_join_take_records(bench->join, &bench->block, number, 1, bench->now);
}

void join_bench_in_band(struct join_bench *bench, uint32_t xid, uint64_t previous, uint64_t lsn,
                        const char *json)
{
    struct iso_event event = {.type = ISO_EVENT_TRANSACTIONS,
                              .flags = ISO_EVENT_IN_BAND,
                              .count = 1,
                              .position = {previous, lsn},
                              .source = ISO_ABSENT,
                              .table = ISO_ABSENT,
                              .key = ISO_ABSENT};
    event.first = read_record(bench, json);
    event.origin = bench->block.txns.origin[event.first];
    set_xid(bench, &event, xid);
    join_bench_take(bench, &event);
}

/* ---- steps as text ---- */

static void put_atom(struct iso_text *text, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        iso_text_put(text, "-");
        return;
    }
    const char *bytes = iso_atom_text(atoms, atom, buffer, &length);
    iso_text_put_bytes(text, bytes, length);
}

static void put_operations(struct iso_text *text, const struct iso_history *block, uint32_t t)
{
    static const char letters[] = "rwdal";
    for (uint32_t o = block->txns.first_op[t]; o < block->txns.first_op[t + 1]; o++) {
        uint8_t kind = iso_kind_of(block, o);
        char head[4] = {letters[kind], ':', 0, 0};
        if (o > block->txns.first_op[t])
            iso_text_put(text, ",");
        iso_text_put(text, head);
        put_atom(text, &block->atoms, block->keys.atom[block->ops.key[o]]);
        if (kind != ISO_DELETE) {
            iso_text_put(text, "=");
            put_atom(text, &block->atoms, block->ops.value[o]);
        }
        if (block->ops.kind[o] & ISO_OPERATION_LOCK)
            iso_text_put(text, "^");
    }
}

static void put_probe(struct iso_text *text, const struct iso_history *block, uint32_t t,
                      enum iso_violation_kind kind, const char *tid, size_t length)
{
    iso_text_put(text, "probe ");
    iso_text_put(text, iso_violation_kind_name(kind));
    iso_text_put(text, " ");
    iso_text_put_bytes(text, tid, length);
    iso_text_put(text, " ");
    uint32_t o = block->txns.first_op[t];
    put_atom(text, &block->atoms, block->keys.atom[block->ops.key[o]]);
    iso_text_put(text, "=");
    put_atom(text, &block->atoms, block->ops.value[o]);
    iso_text_put(text, "@");
    iso_text_put_unsigned(text, block->txns.sts[t]);
    iso_text_put(text, " ");
}

static void put_transaction(struct iso_text *text, const struct iso_history *block, uint32_t t)
{
    static const char *const statuses[] = {"add ", "add aborted ", "add unknown "};
    enum iso_violation_kind kind;
    const char *tid;
    size_t length;
    if (iso_join_probe_of(&block->atoms, block->txns.tid[t], &kind, &tid, &length)) {
        put_probe(text, block, t, kind, tid, length);
        return;
    }
    iso_text_put(text, statuses[iso_status_of(block, t)]);
    put_atom(text, &block->atoms, block->txns.tid[t]);
    iso_text_put(text, "[");
    if (block->txns.flags[t] & ISO_HAS_STS)
        iso_text_put_unsigned(text, block->txns.sts[t]);
    iso_text_put(text, ",");
    if (block->txns.flags[t] & ISO_HAS_CTS)
        iso_text_put_unsigned(text, block->txns.cts[t]);
    iso_text_put(text, "]{");
    put_operations(text, block, t);
    iso_text_put(text, "} ");
}

static void put_finding(struct iso_text *text, const struct iso_atoms *atoms,
                        const struct iso_join_finding *finding)
{
    iso_text_put(text, iso_violation_kind_name(finding->kind));
    iso_text_put(text, " ");
    put_atom(text, atoms, finding->tid);
    if (finding->key != ISO_ABSENT) {
        iso_text_put(text, " ");
        put_atom(text, atoms, finding->key);
        iso_text_put(text, " ");
        put_atom(text, atoms, finding->expected);
        iso_text_put(text, ">");
        put_atom(text, atoms, finding->actual);
    }
    iso_text_put(text, " ");
}

static void put_step(struct iso_text *text, const struct iso_join_output *out,
                     const struct iso_join_step *step)
{
    switch (step->type) {
    case ISO_JOIN_ADD:
        for (uint32_t t = step->first; t < step->first + step->count; t++)
            put_transaction(text, &out->block, t);
        break;
    case ISO_JOIN_INITIAL:
        iso_text_put(text, "initial ");
        put_atom(text, &out->block.atoms, out->block.keys.atom[step->first]);
        iso_text_put(text, " ");
        put_atom(text, &out->block.atoms, step->tid);
        iso_text_put(text, " ");
        break;
    case ISO_JOIN_ALTERED:
        iso_text_put(text, "altered ");
        put_atom(text, &out->block.atoms, step->tid);
        iso_text_put(text, " ");
        break;
    case ISO_JOIN_LAST: /* of the last record of every session */
        break;
    case ISO_JOIN_BEYOND:
        iso_text_put(text, "beyond ");
        put_atom(text, &out->block.atoms, step->tid);
        iso_text_put(text, " ");
        break;
    case ISO_JOIN_LOST:
        iso_text_put(text, "lost ");
        put_atom(text, &out->block.atoms, step->lost.table);
        iso_text_put(text, " ");
        break;
    case ISO_JOIN_RESOLVE:
        iso_text_put(text, "resolve ");
        put_atom(text, &out->block.atoms, step->tid);
        iso_text_put(text, " ");
        if (step->committed)
            iso_text_put_unsigned(text, step->cts);
        else
            iso_text_put(text, "aborted");
        iso_text_put(text, " ");
        break;
    case ISO_JOIN_WATERMARK:
        iso_text_put(text, "watermark ");
        iso_text_put_unsigned(text, step->cts);
        iso_text_put(text, " ");
        break;
    case ISO_JOIN_FINDING:
        put_finding(text, &out->block.atoms, &step->finding);
        break;
    }
}

const char *join_bench_steps(struct join_bench *bench)
{
    struct iso_text *text = &bench->text;
    iso_join_end_batch(bench->join);
    struct iso_join_output *out = iso_join_output(bench->join);
    text->used = 0;
    for (uint32_t i = 0; i < out->count; i++)
        put_step(text, out, &out->steps[i]);
    iso_join_drained(bench->join);
    if (text->used)
        text->used--; /* the last blank */
    *iso_text_reserve(text, 1) = 0;
    return text->bytes;
}
