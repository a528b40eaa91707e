#include "tests/support/cell_world.h"

#include <inttypes.h>
#include <string.h>

#include "base/base64.h"
#include "tests/support/feed_yugabyte.h"

const char *cell_key_of(const struct cell_world *world, uint32_t row, char key[CELL_TEXT])
{
    snprintf(key, CELL_TEXT,
             cell_is_of(world, "ticdc")    ? "test.t%u/%u"
             : cell_is_of(world, "dgraph") ? "p%u/0x%x"
                                           : "public.t%u/%u",
             row % world->tables, row + 1);
    return key;
}

const char *cell_second_column(const struct cell_world *world)
{
    return cell_is_of(world, "debezium") ? "amt" : "w";
}

/* As the stream has it. `w` of Debezium's feed is a decimal, which only schemas tell. */
const char *cell_text_of(const struct cell_world *world, bool is_w, int value, char text[CELL_TEXT])
{
    const char bytes[] = {0, (char)value};
    if (!is_w || !cell_is_of(world, "debezium"))
        snprintf(text, CELL_TEXT, "%d", value);
    else if (world->format->encoding == FEED_JSON) {
        iso_base64_encode((const uint8_t *)bytes, 2, text);
        text[4] = 0;
    } else
        snprintf(text, CELL_TEXT, "%d.%02d", value / 100, value % 100);
    return text;
}

iso_atom cell_atom_of(const struct cell_world *world, struct iso_history *history, bool is_w,
                      int value)
{
    char text[CELL_TEXT];
    if (value == CELL_NULL)
        return ISO_ABSENT;
    cell_text_of(world, is_w, value, text);
    return iso_atoms_text(&history->atoms, text, strlen(text));
}

iso_atom cell_atom(struct iso_history *history, const char *text)
{
    return iso_atoms_text(&history->atoms, text, strlen(text));
}

void cell_name_of(const struct cell_world *world, uint32_t t, char name[CELL_TEXT])
{
    if (cell_is_of(world, "yugabyte"))
        feed_yugabyte_id(t, name);
    else if (world->format->binlog && world->list[t].cts && world->list[t].writes)
        snprintf(name, CELL_TEXT, "0-1-%" PRIu64, world->base + world->list[t].cts);
    else
        snprintf(name, CELL_TEXT, "%u", t + 1);
}
static void print_value(const struct cell_world *world, FILE *file, const char *column, bool is_w,
                        int value, const char *before)
{
    char text[CELL_TEXT];
    fprintf(file, "%s\"%s\":", before, column);
    if (value == CELL_NULL)
        fprintf(file, "null");
    else
        fprintf(file, "\"%s\"", cell_text_of(world, is_w, value, text));
}

static void print_cells(const struct cell_world *world, FILE *file, const struct cells *cells,
                        bool lists_v, bool lists_w)
{
    fprintf(file, ",\"cells\":{");
    if (lists_v)
        print_value(world, file, "v", false, cells->v, "");
    if (lists_w)
        print_value(world, file, cell_second_column(world), true, cells->w, lists_v ? "," : "");
    fprintf(file, "}");
}

static void print_query(const struct cell_world *world, FILE *file,
                        const struct cell_operation *query)
{
    char key[CELL_TEXT];
    const char *between = "";
    cell_key_of(world, query->row, key);
    fprintf(file, "{\"t\":\"q\",\"table\":\"%.*s\"", (int)strcspn(key, "/"), key);
    if (query->least)
        fprintf(file, ",\"where\":\"v >= %d\"", query->least);
    fprintf(file, ",\"rows\":{");
    for (uint32_t row = 0; row < world->rows; row++) {
        if (!query->returned[row])
            continue;
        fprintf(file, "%s\"%u\":{", between, row + 1);
        if (query->lists_v)
            print_value(world, file, "v", false, query->rows[row].v, "");
        fprintf(file, "}");
        between = ",";
    }
    fprintf(file, "}}");
}

static void print_operation(const struct cell_world *world, FILE *file,
                            const struct cell_operation *operation)
{
    char key[CELL_TEXT];
    if (operation->kind == CELL_QUERY) {
        print_query(world, file, operation);
        return;
    }
    static const char letters[] = "rwwd";
    cell_key_of(world, operation->row, key);
    if (world->format->registers) {
        const struct cells *cells =
            operation->kind == CELL_READ ? &operation->seen : &operation->after;
        fprintf(file, "{\"t\":\"%c\",\"k\":\"%s\"", letters[operation->kind], key);
        if (operation->kind != CELL_DELETE)
            fprintf(file, cells->exists ? ",\"v\":%d" : ",\"v\":null", cells->v);
        fprintf(file, "}");
        return;
    }
    fprintf(file, "{\"t\":\"%c\",\"row\":\"%s\"", letters[operation->kind], key);
    if (operation->kind == CELL_READ && !operation->seen.exists)
        fprintf(file, ",\"v\":null");
    else if (operation->kind == CELL_READ)
        print_cells(world, file, &operation->seen, operation->lists_v, operation->lists_w);
    else if (operation->kind != CELL_DELETE && ((operation->lists_v && operation->sets_v) ||
                                                (operation->lists_w && operation->sets_w)))
        print_cells(world, file, &operation->after, operation->lists_v && operation->sets_v,
                    operation->lists_w && operation->sets_w);
    fprintf(file, "}");
}

static void print_snapshot(FILE *file, const struct cell_transaction *transaction)
{
    fprintf(file, ",\"snapshot\":\"%" PRIu64 ":%" PRIu64 ":", transaction->xmin, transaction->xmax);
    for (uint32_t i = 0; i < transaction->xip_count; i++)
        fprintf(file, i ? ",%" PRIu64 : "%" PRIu64, transaction->xip[i]);
    fprintf(file, "\"");
}

/* A statement of its own, as drivers send it: nobody asked for its snapshot. One that reads needs
 * it, to be judged. */
bool cell_omits_snapshot(const struct cell_world *world, uint32_t t)
{
    const struct cell_transaction *transaction = &world->list[t];
    bool is_counted =
        world->omits_snapshots && cell_is_of(world, "debezium") && !world->format->binlog;
    bool reads = !transaction->writes || !transaction->cts;
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        reads |= transaction->operations[i].kind == CELL_READ ||
                 transaction->operations[i].kind == CELL_QUERY;
    return is_counted && !reads && (world->base + t) % 3 == 1;
}

void cell_print_record(const struct cell_world *world, FILE *file, uint32_t t)
{
    const struct cell_transaction *transaction = &world->list[t];
    char name[CELL_TEXT];
    cell_name_of(world, t, name);
    fprintf(file, "{\"tid\":\"%s\",\"sid\":\"%s\"", name, name);
    if (world->format->binlog) {
        uint64_t seen = world->base;
        for (uint32_t other = 0; other < world->count; other++)
            if (world->list[other].writes && world->list[other].cts < transaction->sts &&
                world->base + world->list[other].cts > seen)
                seen = world->base + world->list[other].cts;
        fprintf(file, ",\"snapshot\":\"0-1-%" PRIu64 "\"", seen);
    } else if (cell_is_of(world, "debezium")) {
        if (transaction->writes)
            fprintf(file, ",\"xid\":%u", CELL_FIRST_XID + t);
        if (!cell_omits_snapshot(world, t))
            print_snapshot(file, transaction);
    } else {
        fprintf(file, ",\"sts\":%" PRIu64, world->base + transaction->sts);
        if (transaction->cts)
            fprintf(file, ",\"cts\":%" PRIu64, world->base + transaction->cts);
    }
    if (!transaction->cts)
        fprintf(file, ",\"status\":\"aborted\"");
    if (transaction->leaves)
        fprintf(file, ",\"writes\":\"cdc\"");
    fprintf(file, ",\"ops\":[");
    const char *between = "";
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        if (transaction->leaves && cell_writes(&transaction->operations[i]))
            continue;
        fprintf(file, "%s", between);
        print_operation(world, file, &transaction->operations[i]);
        between = ",";
    }
    fprintf(file, "]}");
}
