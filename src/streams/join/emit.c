/* What leaves the join: transactions for the engine, and for the joined history the same as any
 * engine can read them.
 *
 * In the engine's block a transaction that no client recorded has no start timestamp and no
 * session: it is a version and nothing else. A file has no such thing; there it starts right below
 * its commit, in a session of its own, and writes under a lock, which says the same.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "history/copy.h"
#include "join/join_private.h"
#include "verdict/unjudged.h"

#define PROBE '\x01' /* begins the tids of probes; no client's JSON or database's id does */

/* ---- steps ---- */

static struct iso_join_step *add_step(struct iso_join *join, enum iso_join_step_type type)
{
    struct iso_join_output *out = &join->out;
    ISO_GROW(out->steps, out->count, out->capacity);
    struct iso_join_step *step = &out->steps[out->count++];
    memset(step, 0, sizeof *step);
    step->type = type;
    return step;
}

/* The transaction of the block that was added last. */
static void add_transaction(struct iso_join *join)
{
    struct iso_join_output *out = &join->out;
    struct iso_join_step *last = out->count ? &out->steps[out->count - 1] : NULL;
    uint32_t number = out->block.txns.count - 1;
    ISO_LOG(join, &out->block.atoms, out->block.txns.tid[number], "whole, and given to the engine");
    if (last && last->type == ISO_JOIN_ADD && last->first + last->count == number) {
        last->count++;
        return;
    }
    last = add_step(join, ISO_JOIN_ADD);
    last->first = number;
    last->count = 1;
}

iso_atom join_out(struct iso_join *join, iso_atom text)
{
    return iso_atoms_copy(&join->out.block.atoms, &join->texts.atoms, text);
}

/* A key of the output's block is looked up once in it. */
static iso_atom key_atom(struct iso_join *join, struct iso_history *into, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    if (into != &join->out.block)
        return iso_atoms_copy(&into->atoms, &join->keys.names.atoms,
                              join->keys.names.keys.atom[key]);
    if (state->out_block != join->counters.out_blocks) {
        state->out =
            iso_atoms_copy(&into->atoms, &join->keys.names.atoms, join->keys.names.keys.atom[key]);
        state->out_block = join->counters.out_blocks;
    }
    return state->out;
}

/* ---- names ---- */

static char *put_digits(char *at, uint64_t number)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    memcpy(at, digits + first, sizeof digits - first);
    return at + sizeof digits - first;
}

size_t join_put_name(const struct iso_join *join, struct join_identity identity,
                     char name[JOIN_NAME_BYTES])
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    memcpy(name, "cdc:", 4);
    if (identity.tag != JOIN_BY_TEXT)
        return (size_t)(put_digits(name + 4, identity.number) - name);
    const char *text =
        iso_atom_text(&join->texts.atoms, (iso_atom)identity.number, buffer, &length);
    length = length < JOIN_NAME_BYTES - 5 ? length : JOIN_NAME_BYTES - 5;
    memcpy(name + 4, text, length);
    return length + 4;
}

iso_atom join_name_of(struct iso_join *join, struct join_identity identity)
{
    char name[JOIN_NAME_BYTES];
    size_t length = join_put_name(join, identity, name);
    return iso_atoms_add_string(&join->texts.atoms, name, length);
}

iso_atom join_name(struct iso_join *join, const struct join_transaction *transaction)
{
    return join_name_of(join, transaction->identity);
}

/* ---- clients' transactions ---- */

/* A record's position in its session, where it does not say one: that of its arrival. Records leave
 * in another order than they arrived. */
uint64_t join_position_of(const struct iso_join *join, const struct iso_history *block,
                          uint32_t transaction)
{
    return block->finished && block->txns.sno ? block->txns.sno[transaction] : join->counters.taken;
}

/* The transaction that was added last says all that it wrote, and where it stands in its session.
 * That the order of its own writes is not known stays with it. */
static void end_joined(struct iso_history *into, uint32_t transaction, uint64_t position)
{
    assert(transaction < into->txns.count);
    if (into->txns.marks)
        into->txns.marks[transaction] &= ISO_MARK_CDC_WRITES;
    if (!(into->txns.flags[transaction] & ISO_HAS_SNO))
        iso_history_set_sno(into, position);
}

/* Also of writes, where what they replaced may be compared with what was there. */
static void ask_of(struct iso_join *join, const struct iso_history *block, uint32_t from,
                   uint32_t end)
{
    for (uint32_t o = from; o < end; o++) {
        bool writes = iso_kind_writes(block->ops.kind[o]);
        if (writes && !join->tables.varies)
            continue;
        uint32_t key = join_key_find(join, &block->atoms, block->keys.atom[block->ops.key[o]]);
        if (!writes)
            join_ask_initial(join, key);
        else if (key != ISO_NONE)
            join_start_unknown(join, key);
    }
}

void join_emit_joined(struct iso_join *join, const struct iso_history *from, uint32_t transaction,
                      uint64_t position)
{
    struct iso_history *into = &join->out.joined;
    if (!join->options.keep_joined)
        return;
    uint32_t copy = from == &join->records.kept
                        ? join_copy_whole(into, from, transaction)
                        : join_copy_transaction(join, into, from, transaction);
    join_spell_last(join, into);
    end_joined(into, copy, position);
    if (join->tables.varies) /* the engine does not ask for those that it is not given */
        ask_of(join, from, from->txns.first_op[transaction], from->txns.first_op[transaction + 1]);
}

/* Asks for initial values that the engine needs before the block's last transaction, which reads
 * these keys. */
static void ask_initial(struct iso_join *join)
{
    const struct iso_history *block = &join->out.block;
    uint32_t t = block->txns.count - 1;
    bool known = (join->start.complete && join->start.snapshots) || join->options.initial_known ||
                 !join->capability->positions;
    if (known && !join->tables.varies)
        return;
    ask_of(join, block, block->txns.first_op[t], block->ops.count);
}

void join_emit_block(struct iso_join *join, const struct iso_history *block, uint32_t transaction)
{
    assert(transaction < block->txns.count);
    uint64_t position = join_position_of(join, block, transaction);
    join_copy_transaction(join, &join->out.block, block, transaction);
    join_spell_last(join, &join->out.block);
    join_set_position(&join->out.block, position);
    ask_initial(join);
    add_transaction(join);
    if (iso_status_of(block, transaction) != ISO_UNKNOWN)
        join_emit_joined(join, block, transaction, position);
}

/* Whatever it was placed by stays with it in the joined history; to the engine its timestamps are
 * all there is. */
void join_emit_kept(struct iso_join *join, uint32_t record)
{
    assert(join->records.list[record].kept != ISO_NONE);
    struct iso_history *kept = &join->records.kept;
    uint32_t transaction = join->records.list[record].kept;
    join_emit_reads(join, &join->records.list[record]);
    join_spell_kept(join, &join->records.list[record]);
    join_copy_whole(&join->out.block, kept, transaction);
    ask_initial(join);
    add_transaction(join);
    join_emit_joined(join, kept, transaction, kept->txns.sno[transaction]);
}

/* A transaction without its reads. */
static uint32_t copy_writes(struct iso_history *into, const struct iso_history *from,
                            uint32_t transaction)
{
    uint32_t copy = join_copy_head(into, from, transaction);
    for (uint32_t o = from->txns.first_op[transaction]; o < from->txns.first_op[transaction + 1];
         o++)
        if (iso_kind_writes(from->ops.kind[o]))
            iso_history_copy_operation(into, from, o, true);
    return copy;
}

/* The transaction of a record whose snapshots have their positions. In the block these stand for
 * xid and snapshot; the joined history keeps both. What it read before the stream's start is not
 * judged: others may have written in between, of whom the stream says nothing. */
void join_emit_placed(struct iso_join *join, uint32_t number)
{
    struct iso_history *kept = &join->records.kept, *block = &join->out.block,
                       *joined = &join->out.joined;
    struct join_record *record = &join->records.list[number];
    uint32_t t = record->kept;
    bool before = record->flags & (JOIN_RECORD_BEFORE | JOIN_RECORD_UNSURE);
    assert(record->kept != ISO_NONE);
    join_spell_kept(join, record);
    if (record->flags & JOIN_RECORD_UNSURE && record->flags & JOIN_RECORD_CTS)
        kept->txns.flags[t] &= (uint8_t)~ISO_HAS_STS;
    if (join->options.keep_joined)
        end_joined(joined, before ? copy_writes(joined, kept, t) : join_copy_whole(joined, kept, t),
                   kept->txns.sno[t]);
    if (before) {
        bool is_unsure = record->flags & JOIN_RECORD_UNSURE;
        join->stats.unplaced += is_unsure;
        join->stats.reads_gone[is_unsure ? (int)ISO_RECORDS_UNPLACED : (int)ISO_READS_BEFORE] +=
            record->reads;
        record->reads = 0;
    }
    join_emit_reads(join, record);
    if (kept->txns.snapshot)
        kept->txns.snapshot[t] = ISO_NONE;
    if (kept->txns.xid)
        kept->txns.xid[t] = 0;
    if (before)
        copy_writes(block, kept, t);
    else
        join_copy_whole(block, kept, t);
    ask_initial(join);
    add_transaction(join);
}

void join_emit_resolution(struct iso_join *join, iso_atom tid, bool committed, uint64_t cts)
{
    struct iso_join_step *step = add_step(join, ISO_JOIN_RESOLVE);
    step->tid = join_out(join, tid);
    step->committed = committed;
    step->cts = cts;
}

void join_emit_watermark(struct iso_join *join, uint64_t timestamp)
{
    add_step(join, ISO_JOIN_WATERMARK)->cts = timestamp;
}

/* ---- transactions that only the source has ---- */

struct target {
    struct iso_history *history;
    bool file; /* the joined history */
};

static void begin(const struct target *target, const char *tid, size_t length, uint64_t cts,
                  uint64_t origin)
{
    struct iso_history *into = target->history;
    iso_atom name = iso_atoms_add_string(&into->atoms, tid, length);
    uint32_t t = iso_history_begin(into, name, target->file ? name : 0, ISO_COMMITTED, origin);
    iso_history_set_cts(into, (struct iso_stamp){.physical = cts});
    if (target->file)
        iso_history_set_sts(into, (struct iso_stamp){.physical = cts - 1});
    else
        into->txns.session[t] = ISO_NONE;
}

static void operate(struct iso_join *join, const struct target *target,
                    enum iso_operation_kind kind, uint32_t key, iso_atom value)
{
    struct iso_history *into = target->history;
    iso_history_operation(into, kind, key_atom(join, into, key),
                          iso_atoms_copy(&into->atoms, &join->texts.atoms, value));
    if (target->file || kind == ISO_READ)
        iso_history_set_lock(into);
}

static void write_row(struct iso_join *join, const struct target *target,
                      const struct join_row *row)
{
    if (row->flags & (JOIN_ROW_WITHOUT | JOIN_ROW_UNTOUCHED))
        return;
    operate(join, target, row->after == ISO_ABSENT ? ISO_DELETE : ISO_WRITE, row->key, row->after);
}

/* For who seeks an order: it may have committed anywhere in it, as a whole. Sent again, it is the
 * same. */
static void emit_unknown_joined(struct iso_join *join, const struct join_transaction *transaction)
{
    struct target target = {&join->out.joined, true};
    struct iso_history *into = target.history;
    char text[JOIN_NAME_BYTES];
    size_t length = join_put_name(join, transaction->identity, text);
    iso_atom name = iso_atoms_add_string(&into->atoms, text, length);
    iso_history_begin(into, name, name, ISO_UNKNOWN, transaction->origin);
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next)
        write_row(join, &target, &join->rows.list[r]);
}

/* One of unknown outcome for each row, since rows of one transaction arrive one by one. It may have
 * committed at any time after its position in the log. */
void join_emit_unknown(struct iso_join *join, const struct join_transaction *transaction)
{
    struct target target = {&join->out.block, false};
    struct iso_history *into = target.history;
    char name[JOIN_NAME_BYTES];
    if (join->options.keep_joined && transaction->rows.count &&
        !join_dedup_find(join, transaction->identity))
        emit_unknown_joined(join, transaction);
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next) {
        size_t length = join_put_name(join, transaction->identity, name);
        length = length < JOIN_NAME_BYTES - 40 ? length : JOIN_NAME_BYTES - 40;
        length += (size_t)snprintf(name + length, JOIN_NAME_BYTES - length, "/%" PRIu32 "/%" PRIu64,
                                   join->rows.list[r].key, join->rows.list[r].ordinal);
        iso_atom tid = iso_atoms_add_string(&into->atoms, name, length);
        uint32_t t = iso_history_begin(into, tid, 0, ISO_UNKNOWN, transaction->origin);
        into->txns.session[t] = ISO_NONE;
        if (transaction->position)
            iso_history_set_sts(into, (struct iso_stamp){.physical = transaction->position - 1});
        write_row(join, &target, &join->rows.list[r]);
        add_transaction(join);
        join->stats.xa_unknown++;
    }
}

/* Each row as a read, where its before image is known, and a write. Where rows have no identity
 * their order is no more than the order in which they arrived last: then only the final ones. */
static void fill(struct iso_join *join, const struct target *target,
                 const struct join_transaction *transaction, uint64_t cts, bool reads)
{
    uint32_t mark = join_mark_finals(join, transaction);
    char name[JOIN_NAME_BYTES];
    begin(target, name, join_put_name(join, transaction->identity, name), cts, transaction->origin);
    const struct join_chain *rows = &transaction->rows;
    for (uint32_t i = 0, r = rows->first; i < join_turns(join, rows);
         i++, r = join_next_turn(join, rows, r)) {
        const struct join_row *row = &join->rows.list[r];
        if (!join_is_turn(join, rows, i, r) ||
            (join->capability->spans && !join_is_final(join, r, mark)))
            continue;
        if (reads && row->flags & JOIN_ROW_BEFORE && !join_is_lacking(join, row->key)) {
            operate(join, target, ISO_READ, row->key, row->before);
            join->stats.before_reads += !target->file;
        }
        write_row(join, target, row);
    }
}

static bool writes_anything(const struct iso_join *join, const struct join_transaction *transaction)
{
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next)
        if (!(join->rows.list[r].flags & (JOIN_ROW_WITHOUT | JOIN_ROW_UNTOUCHED)))
            return true;
    return false;
}

static void emit_transaction(struct iso_join *join, const struct join_transaction *transaction,
                             uint64_t cts, bool reads)
{
    if (!writes_anything(join, transaction))
        return;
    fill(join, &(struct target){&join->out.block, false}, transaction, cts, reads);
    if (reads && !join->capability->positions)
        ask_initial(join);
    add_transaction(join);
    if (join->options.keep_joined)
        fill(join, &(struct target){&join->out.joined, true}, transaction, cts, reads);
}

void join_emit_foreign(struct iso_join *join, const struct join_transaction *transaction,
                       uint64_t cts)
{
    emit_transaction(join, transaction, cts, false);
}

void join_emit_changes(struct iso_join *join, const struct join_transaction *transaction,
                       uint64_t cts)
{
    emit_transaction(join, transaction, cts, true);
}

/* ---- what was there before ---- */

/* A row and its cells, which one message said, are one transaction, if nothing came between
 * them. */
static bool adds_to_last(const struct join_started *last, const struct iso_history *history,
                         uint64_t origin, int which)
{
    return last->origin == origin && history->txns.count &&
           last->transaction[which] == history->txns.count;
}

static void emit_version(struct iso_join *join, const char *what, uint32_t key, iso_atom value,
                         uint64_t cts, uint64_t origin)
{
    struct target targets[] = {{&join->out.block, false}, {&join->out.joined, true}};
    struct join_started *last = &join->start.last;
    char name[JOIN_NAME_BYTES], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text =
        iso_atom_text(&join->keys.names.atoms, join->keys.names.keys.atom[key], buffer, &length);
    if (length < JOIN_NAME_BYTES - 48)
        snprintf(name, sizeof name, "cdc:%s:%.*s", what, (int)length, text);
    else
        snprintf(name, sizeof name, "cdc:%s:%u", what, key);
    join->stats.initial_versions++;
    for (int i = 0; i < (join->options.keep_joined ? 2 : 1); i++) {
        bool is_new = cts != ISO_JOIN_START || !adds_to_last(last, targets[i].history, origin, i);
        if (is_new)
            begin(&targets[i], name, strlen(name), cts, origin);
        operate(join, &targets[i], value == ISO_ABSENT ? ISO_DELETE : ISO_WRITE, key, value);
        last->transaction[i] = targets[i].history->txns.count;
        if (i || !is_new)
            continue;
        join->stats.initial_transactions++;
        add_transaction(join);
    }
    last->origin = origin;
}

void join_emit_initial(struct iso_join *join, uint32_t key, iso_atom value, uint64_t origin,
                       bool delivered)
{
    emit_version(join, delivered ? "snapshot" : "before", key, value, ISO_JOIN_START, origin);
}

void join_emit_table_version(struct iso_join *join, uint32_t key, iso_atom value, uint64_t position,
                             uint64_t origin)
{
    char what[32];
    snprintf(what, sizeof what, "table:%" PRIu64, position);
    emit_version(join, what, key, value, position, origin);
}

/* Tells the joined history that the key's initial value is not known. */
static void emit_unknown(struct iso_join *join, uint32_t key, iso_atom value)
{
    struct target target = {&join->out.joined, true};
    char name[JOIN_NAME_BYTES];
    begin(&target, name, (size_t)snprintf(name, sizeof name, "cdc:unknown:%u", key), ISO_JOIN_START,
          UINT64_MAX);
    operate(join, &target, ISO_WRITE, key, value);
}

void join_emit_start(struct iso_join *join, uint32_t key, iso_atom value)
{
    struct iso_history *block = &join->out.block;
    uint32_t number = iso_history_key(block, key_atom(join, block, key));
    struct iso_join_step *step = add_step(join, ISO_JOIN_INITIAL);
    step->first = number;
    step->tid = join_out(join, value);
    if (join->options.keep_joined && iso_value_is_unknown(&join->texts.atoms, value) &&
        !iso_value_waits(&join->texts.atoms, value))
        emit_unknown(join, key, value);
}

void join_emit_altered(struct iso_join *join, const struct join_transaction *transaction,
                       uint64_t cts)
{
    const struct join_chain *altered = &transaction->altered;
    for (uint32_t i = 0, r = altered->first; i < altered->count; i++, r = join->rows.list[r].next) {
        const struct join_table *table = &join->tables.list[join->rows.list[r].key];
        if (table->is_column)
            continue;
        struct iso_join_step *step = add_step(join, ISO_JOIN_ALTERED);
        step->tid = iso_atoms_copy(&join->out.block.atoms, &join->keys.names.atoms, table->name);
        step->cts = cts;
    }
}

/* Whether what the key has is a value of the column, or a row with it. */
static bool has_column(const struct iso_join *join, uint32_t key, uint32_t table, uint32_t column)
{
    const struct join_key *state = &join->keys.list[key];
    return state->part == JOIN_PART_CELL ? state->of_column == column
                                         : state->part == JOIN_PART_ALL && state->of_table == table;
}

static void emit_respelt_column(struct iso_join *join, uint32_t table, uint32_t column,
                                uint64_t origin)
{
    iso_atom unknown = iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_SCHEMA);
    uint64_t newest = join->tables.list[table].newest,
             position = (newest ? newest : ISO_JOIN_START) + 1;
    join->tables.list[join_has_cells(join, &join->tables.list[table]) ? column : table].respelt =
        position;
    for (uint32_t key = 0; key < join->keys.names.keys.count; key++)
        if (has_column(join, key, table, column))
            join_emit_table_version(join, key, unknown, position, origin);
}

/* PostgreSQL tells nobody of ALTER TABLE: its rows show columns of other types, or none, some time
 * after it. What older rows have in such a column may have been rewritten at any moment since the
 * last change of the table. */
void join_emit_respelt(struct iso_join *join, const struct join_transaction *transaction)
{
    const struct join_chain *altered = &transaction->altered;
    for (uint32_t i = 0, r = altered->first; i < altered->count; i++, r = join->rows.list[r].next) {
        const struct join_row *row = &join->rows.list[r];
        if (join->tables.list[row->key].is_column)
            emit_respelt_column(join, row->content, row->key, transaction->origin);
    }
}

void join_note_newest(struct iso_join *join, const struct join_transaction *transaction,
                      uint64_t cts)
{
    if (transaction->identity.tag != JOIN_BY_XID)
        return;
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next) {
        uint32_t table = join->keys.list[join->rows.list[r].key].of_table;
        if (table != ISO_NONE && join->tables.list[table].newest < cts)
            join->tables.list[table].newest = cts;
    }
}

void join_emit_beyond(struct iso_join *join, iso_atom tid)
{
    add_step(join, ISO_JOIN_BEYOND)->tid = join_out(join, tid);
}

void join_emit_last(struct iso_join *join, iso_atom tid)
{
    add_step(join, ISO_JOIN_LAST)->tid = join_out(join, tid);
}

void join_emit_lost(struct iso_join *join, const struct join_transaction *transaction, iso_atom tid,
                    uint32_t table, uint64_t cts, bool is_named)
{
    struct iso_join_step *step = add_step(join, ISO_JOIN_LOST);
    step->cts = cts;
    step->lost = (struct iso_join_lost){.first = UINT64_MAX, .last = UINT64_MAX, .end = UINT64_MAX};
    step->lost.name = transaction ? join_out(join, join_name(join, transaction)) : ISO_ABSENT;
    step->lost.tid = tid == ISO_ABSENT ? ISO_ABSENT : join_out(join, tid);
    step->lost.table = iso_atoms_copy(&join->out.block.atoms, &join->keys.names.atoms,
                                      join->tables.list[table].name);
    step->lost.is_named = is_named;
    step->lost.may_empty = !join->source.numbered; /* a binlog's is no row, and no END counts it */
    join_tell_lost(join, transaction, table, &step->lost);
}

/* ---- probes ---- */

/* Reads `value` just below `cts`; an EXT violation of it is a CDC violation of `kind` of `tid`. */
void join_emit_probe(struct iso_join *join, enum iso_violation_kind kind, iso_atom tid,
                     uint32_t key, iso_atom value, uint64_t cts, uint64_t origin)
{
    struct iso_history *into = &join->out.block;
    char name[JOIN_NAME_BYTES + 64], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!cts)
        return;
    const char *text = iso_atom_text(&join->texts.atoms, tid, buffer, &length);
    length = length < JOIN_NAME_BYTES ? length : JOIN_NAME_BYTES;
    name[0] = PROBE;
    name[1] = (char)('A' + (int)kind);
    memcpy(name + 2, text, length);
    name[2 + length] = PROBE;
    char *end = put_digits(name + 3 + length, key);
    *end = '/';
    size_t used = (size_t)(put_digits(end + 1, cts) - name);
    uint32_t t = iso_history_begin(into, iso_atoms_add_string(&into->atoms, name, used), 0,
                                   ISO_COMMITTED, origin);
    into->txns.session[t] = ISO_NONE;
    iso_history_set_sts(into, (struct iso_stamp){.physical = cts - 1});
    iso_history_operation(into, ISO_READ, key_atom(join, into, key), join_out(join, value));
    if (!join->capability->positions) /* else a write has a row, whatever was there */
        ask_initial(join);
    add_transaction(join);
    join->stats.probes++;
    join->stats.probe_reads++;
}

bool iso_join_probe_of(const struct iso_atoms *atoms, iso_atom tid, enum iso_violation_kind *kind,
                       const char **text, size_t *length)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    if (tid == ISO_ABSENT || !iso_atom_is_string(atoms, tid))
        return false;
    const char *name = iso_atom_text(atoms, tid, buffer, length);
    if (*length < 3 || name[0] != PROBE)
        return false;
    const char *end = memchr(name + 2, PROBE, *length - 2);
    if (!end)
        return false;
    *kind = (enum iso_violation_kind)(name[1] - 'A');
    *text = name + 2;
    *length = (size_t)(end - *text);
    return true;
}

/* ---- findings ---- */

struct iso_join_finding *join_find(struct iso_join *join, enum iso_violation_kind kind,
                                   iso_atom tid, uint32_t key)
{
    struct iso_join_step *step = add_step(join, ISO_JOIN_FINDING);
    step->finding = (struct iso_join_finding){
        .axiom = kind == ISO_SNAPSHOT_ORDER ? ISO_TIMESTAMP : ISO_CDC,
        .kind = kind,
        .tid = join_out(join, tid),
        .key = key == ISO_NONE ? ISO_ABSENT : key_atom(join, &join->out.block, key),
        .expected = ISO_ABSENT,
        .actual = ISO_ABSENT,
        .client = UINT64_MAX,
        .delivered = UINT64_MAX,
    };
    return &step->finding;
}

void join_report_gap(struct iso_join *join, uint32_t key, iso_atom value, uint64_t origin)
{
    char name[JOIN_NAME_BYTES], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text =
        iso_atom_text(&join->keys.names.atoms, join->keys.names.keys.atom[key], buffer, &length);
    length = length < JOIN_NAME_BYTES - 16 ? length : JOIN_NAME_BYTES - 16;
    int used = snprintf(name, sizeof name, "cdc:%s:%.*s",
                        origin == UINT64_MAX ? "before" : "snapshot", (int)length, text);
    struct iso_join_finding *finding =
        join_find(join, ISO_GAP, iso_atoms_add_string(&join->texts.atoms, name, (size_t)used), key);
    finding->actual = value == ISO_ABSENT ? ISO_ABSENT : join_out(join, value);
    finding->delivered = origin;
    join->stats.gaps++;
}
