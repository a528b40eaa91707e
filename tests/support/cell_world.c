#include "tests/support/cell_world.h"

#include <string.h>

#include "base/memory.h"

struct cell_world *cell_world_new(const struct cell_format *format, uint32_t capacity)
{
    struct cell_world *world = iso_allocate_zeroed(1, sizeof *world);
    world->format = format;
    world->capacity = capacity;
    world->list = iso_allocate_zeroed(capacity, sizeof *world->list);
    return world;
}

void cell_world_free(struct cell_world *world)
{
    iso_free(world->list);
    iso_free(world);
}

bool cell_is_of(const struct cell_world *world, const char *kind)
{
    return !strcmp(world->format->kind, kind);
}

/* ---- the database ---- */

bool cell_writes(const struct cell_operation *operation)
{
    return operation->kind != CELL_READ && operation->kind != CELL_QUERY;
}

static int draw_value(struct cell_world *world)
{
    if (world->format->registers)
        return (int)random_below(&world->random, 6);
    return random_percent(&world->random, 15) ? CELL_NULL : (int)random_below(&world->random, 4);
}

/* Of the second column, where there is one. */
static int draw_second(struct cell_world *world)
{
    return world->format->registers ? 0 : draw_value(world);
}

static void begin(struct cell_world *world, uint32_t t)
{
    struct cell_transaction *transaction = &world->list[t];
    *transaction = (struct cell_transaction){.sts = ++world->now, .is_active = true};
    transaction->acted = world->now;
    transaction->xmin = transaction->xmax = CELL_FIRST_XID + t;
    for (uint32_t i = 0; i < t; i++)
        if (world->list[i].is_active) {
            transaction->xip[transaction->xip_count++] = CELL_FIRST_XID + i;
            transaction->xmin =
                CELL_FIRST_XID + i < transaction->xmin ? CELL_FIRST_XID + i : transaction->xmin;
        }
    memcpy(transaction->view, world->now_of, sizeof world->now_of);
}

static bool wrote_row(const struct cell_transaction *transaction, uint32_t row)
{
    return transaction->wrote[row];
}

bool cell_matches(const struct cell_world *world, const struct cell_operation *query, uint32_t row,
                  const struct cells *cells)
{
    return row % world->tables == query->row % world->tables && cells->exists &&
           (!query->least || (cells->v != CELL_NULL && cells->v >= query->least));
}

static void ask(struct cell_world *world, const struct cell_transaction *transaction,
                struct cell_operation *query)
{
    query->kind = CELL_QUERY;
    query->least = (int)random_below(&world->random, 4);
    for (uint32_t row = 0; row < world->rows; row++) {
        query->rows[row] = transaction->view[row];
        query->returned[row] = cell_matches(world, query, row, &query->rows[row]);
    }
}

static void operate(struct cell_world *world, struct cell_transaction *transaction)
{
    struct cell_operation *operation = &transaction->operations[transaction->operation_count++];
    struct random *random = &world->random;
    uint32_t row = random_below(random, world->rows);
    struct cells *view = &transaction->view[row];
    transaction->acted = world->now;
    *operation =
        (struct cell_operation){.row = row, .lists_v = random_percent(random, 70), .seen = *view};
    operation->lists_w = random_percent(random, 70);
    operation->lists_v |= world->format->registers;
    /* net changes: one write of a row for each transaction has its place */
    /* what came of YugabyteDB's second ones hides some faults: there they must only raise no alarm
     */
    bool net = cell_is_of(world, "yugabyte") ? world->lies || world->conflicts
                                             : !cell_is_of(world, "debezium");
    bool reads = random_percent(random, 45) || (net && wrote_row(transaction, row));
    if (reads && random_percent(random, 40) && !world->format->registers)
        ask(world, transaction, operation);
    if (reads)
        return;
    operation->kind = !view->exists                ? CELL_INSERT
                      : random_percent(random, 75) ? CELL_UPDATE
                                                   : CELL_DELETE;
    operation->before = *view;
    if (operation->kind == CELL_INSERT)
        *view = (struct cells){true, draw_value(world), draw_second(world)};
    operation->sets_v =
        operation->kind == CELL_INSERT || (operation->kind == CELL_UPDATE && operation->lists_v);
    /* what YugabyteDB shows of a second write may be as of before the first: the client's list of
     * the first one would be taken for the last word */
    bool is_told = !cell_is_of(world, "yugabyte") || !wrote_row(transaction, row);
    operation->sets_w = operation->kind == CELL_INSERT ||
                        (operation->kind == CELL_UPDATE &&
                         (operation->lists_w || (is_told && random_percent(random, 30))));
    if (operation->kind == CELL_UPDATE && operation->sets_v)
        view->v = draw_value(world);
    if (operation->kind == CELL_UPDATE && operation->sets_w)
        view->w = draw_second(world);
    if (operation->kind == CELL_DELETE)
        *view = (struct cells){false, CELL_NULL, CELL_NULL};
    operation->after = *view;
    transaction->wrote[row] = transaction->writes = true;
}

/* Columns are locked, not rows, unless a row comes or goes. */
static bool may_commit(const struct cell_world *world, const struct cell_transaction *transaction)
{
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        const struct cell_operation *operation = &transaction->operations[i];
        const uint64_t *changed = world->changed[operation->row];
        bool by_column = cell_is_of(world, "yugabyte") && operation->kind == CELL_UPDATE &&
                         world->now_of[operation->row].exists;
        if (!cell_writes(operation))
            continue;
        if (by_column ? (operation->sets_v && changed[0] > transaction->sts) ||
                            (operation->sets_w && changed[1] > transaction->sts)
                      : changed[0] > transaction->sts || changed[1] > transaction->sts)
            return false;
    }
    return true;
}

/* Writes what it wrote on what is there; false: it cannot be. */
static bool apply(struct cell_world *world, struct cell_transaction *transaction)
{
    struct cells rows[CELL_ROWS];
    memcpy(rows, world->now_of, sizeof rows);
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        struct cell_operation *operation = &transaction->operations[i];
        struct cells *row = &rows[operation->row];
        if (!cell_writes(operation))
            continue;
        if (row->exists != (operation->kind != CELL_INSERT))
            return false;
        struct cells set = operation->after;
        operation->before = *row;
        row->exists = operation->kind != CELL_DELETE;
        row->v = operation->sets_v || operation->kind == CELL_DELETE ? set.v : row->v;
        row->w = operation->sets_w || operation->kind == CELL_DELETE ? set.w : row->w;
        operation->after = *row;
    }
    memcpy(world->now_of, rows, sizeof rows);
    return true;
}

static void commit(struct cell_world *world, struct cell_transaction *transaction)
{
    transaction->is_active = false;
    world->now++;
    transaction->log = 2 * world->now;
    if (!transaction->writes) {
        transaction->cts = world->now;
        return;
    }
    bool fits =
        may_commit(world, transaction) || (world->conflicts && random_percent(&world->random, 50));
    if (!fits || random_percent(&world->random, 5) || !apply(world, transaction))
        return;
    transaction->cts = world->now;
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        const struct cell_operation *operation = &transaction->operations[i];
        uint64_t *changed = world->changed[operation->row];
        bool all = operation->kind == CELL_INSERT || operation->kind == CELL_DELETE ||
                   !cell_is_of(world, "yugabyte");
        if (!cell_writes(operation))
            continue;
        changed[0] = all || operation->sets_v ? world->now : changed[0];
        changed[1] = all || operation->sets_w ? world->now : changed[1];
    }
    transaction->withheld = random_percent(&world->random, 15) && !cell_is_of(world, "yugabyte") &&
                            !world->format->in_band;
}

/* Nothing that came before in the parts of the stream that have these rows can be missing, once it
 * has come. */
static void close(struct cell_world *world, uint32_t first, uint32_t end)
{
    struct cell_transaction *transaction = &world->list[world->count];
    begin(world, world->count++);
    for (uint32_t row = first; row < end; row++) {
        struct cell_operation *operation = &transaction->operations[transaction->operation_count++];
        struct cells *view = &transaction->view[row];
        bool exists = view->exists;
        *operation = (struct cell_operation){
            .kind = exists ? CELL_UPDATE : CELL_INSERT, .row = row, .before = *view};
        operation->lists_v = operation->lists_w = operation->sets_v = operation->sets_w = true;
        *view = (struct cells){true, exists && view->v != CELL_NULL ? view->v + 1 : 0, 0};
        operation->after = *view;
    }
    transaction->writes = true;
    transaction->is_active = false;
    transaction->cts = ++world->now;
    transaction->log = 2 * world->now;
    apply(world, transaction);
}

enum { CLOSING = (CELL_ROWS + CELL_OPERATIONS - 1) / CELL_OPERATIONS };

void cell_execute(struct cell_world *world)
{
    uint32_t begun = 0, active = 0, wanted = 3 + random_below(&world->random, world->capacity - 4);
    if (world->closed && wanted + CLOSING > world->capacity)
        wanted = world->capacity - CLOSING;
    for (uint32_t row = 0; row < world->rows; row++) {
        /* one, so that there is a snapshot */
        bool exists = !row || random_percent(&world->random, 50);
        world->initial[row] = (struct cells){exists, exists ? draw_value(world) : CELL_NULL,
                                             exists ? draw_second(world) : CELL_NULL};
        world->now_of[row] = world->initial[row];
        world->changed[row][0] = world->changed[row][1] = 0;
    }
    world->count = wanted;
    while (begun < wanted || active) {
        uint32_t t = random_below(&world->random, begun + 1);
        if (t == begun) {
            if (begun == wanted || active == CELL_ACTIVE)
                continue;
            begin(world, begun++);
            active++;
        } else if (world->list[t].is_active) {
            if (world->list[t].operation_count < CELL_OPERATIONS &&
                random_percent(&world->random, 70))
                operate(world, &world->list[t]);
            else if (world->list[t].operation_count)
                active--, commit(world, &world->list[t]);
        }
    }
    uint32_t rows = cell_is_of(world, "yugabyte") ? world->rows : world->tables;
    for (uint32_t row = 0; world->closed && row < rows; row += CELL_OPERATIONS)
        close(world, row, row + CELL_OPERATIONS < rows ? row + CELL_OPERATIONS : rows);
}

void cell_delay(struct cell_world *world, struct random *random)
{
    for (uint32_t t = 0; t < world->count; t++) {
        struct cell_transaction *transaction = &world->list[t];
        uint64_t span = 2 * (transaction->cts - transaction->acted);
        if (transaction->cts && transaction->writes)
            transaction->log -=
                random_percent(random, 50) ? span - 1 : random_below(random, (uint32_t)span);
    }
}

/* Reads of what was not there, or is not what a client reads. */
void cell_lie(struct cell_world *world, uint32_t percent)
{
    for (uint32_t t = 0; world->lies && t < world->count; t++)
        for (uint32_t i = 0; i < world->list[t].operation_count; i++) {
            struct cell_operation *operation = &world->list[t].operations[i];
            if (cell_writes(operation) || !random_percent(&world->random, percent))
                continue;
            if (operation->kind == CELL_QUERY) {
                uint32_t row =
                    operation->row % world->tables +
                    world->tables * random_below(&world->random, world->rows / world->tables);
                operation->returned[row] = !operation->returned[row];
                operation->rows[row].exists = true;
                continue;
            }
            operation->seen.exists |= random_percent(&world->random, 30);
            if (operation->seen.exists) {
                operation->seen.v = draw_value(world);
                operation->seen.w =
                    random_percent(&world->random, 50) ? draw_second(world) : operation->seen.w;
            }
        }
}

/* ---- snapshots ---- */

bool cell_sees(const struct cell_transaction *by, uint64_t xid)
{
    bool seen = xid < by->xmax;
    for (uint32_t i = 0; i < by->xip_count; i++)
        seen &= by->xip[i] != xid;
    return seen;
}

static bool sees_commits_of(const struct cell_world *world, const struct cell_transaction *one,
                            const struct cell_transaction *other)
{
    for (uint32_t t = 0; t < world->count; t++)
        if (world->list[t].cts && world->list[t].writes && cell_sees(other, CELL_FIRST_XID + t) &&
            !cell_sees(one, CELL_FIRST_XID + t))
            return false;
    return true;
}

static bool has_link(const struct cell_world *world, uint32_t t)
{
    return world->list[t].cts && !world->list[t].withheld && !cell_omits_snapshot(world, t);
}

/* One more, or one less, is seen. False: it has no room for that. */
static bool flip(const struct cell_world *world, struct cell_transaction *transaction, uint32_t of)
{
    struct cell_transaction was = *transaction;
    transaction->xmax = CELL_FIRST_XID;
    for (uint32_t t = 0; t < world->count; t++)
        if (cell_sees(&was, CELL_FIRST_XID + t) != (t == of))
            transaction->xmax = CELL_FIRST_XID + t + 1;
    transaction->xmin = transaction->xmax;
    transaction->xip_count = 0;
    for (uint32_t t = 0; CELL_FIRST_XID + t < transaction->xmax; t++) {
        if (cell_sees(&was, CELL_FIRST_XID + t) != (t == of))
            continue;
        if (transaction->xip_count == CELL_XIPS)
            return false;
        transaction->xmin = transaction->xip_count ? transaction->xmin : CELL_FIRST_XID + t;
        transaction->xip[transaction->xip_count++] = CELL_FIRST_XID + t;
    }
    return true;
}

static uint32_t contradicted(const struct cell_world *world, uint32_t t)
{
    uint32_t count = 0;
    for (uint32_t other = 0; other < world->count; other++)
        count += other != t && has_link(world, other) &&
                 !sees_commits_of(world, &world->list[t], &world->list[other]) &&
                 !sees_commits_of(world, &world->list[other], &world->list[t]);
    return count;
}

uint32_t cell_forge(struct cell_world *world, struct random *random)
{
    uint32_t t = random_below(random, world->count), of = random_below(random, world->count);
    struct cell_transaction was = world->list[t];
    bool forged = has_link(world, t) && of != t && world->list[of].writes && world->list[of].cts &&
                  flip(world, &world->list[t], of);
    if (forged && contradicted(world, t) > 1)
        return t;
    world->list[t] = was;
    return ISO_NONE;
}
