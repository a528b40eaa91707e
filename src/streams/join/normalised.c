/* Clients' values as the stream spells them.
 *
 * What a driver makes of a value is another text than the stream's. By the schema of its column
 * both are made one (values/spelling.h): the stream's by its decoder, a client's here, when it
 * leaves or is compared. A record may arrive before any row of its table has, and then nothing is
 * known of its columns yet; what has left by then, the engine's contradictions are checked again by
 * whoever receives them.
 */
#include "values/spelling.h"
#include "join/join_private.h"

void iso_join_types_known(struct iso_join *join, uint32_t types)
{
    join->tables.types = types;
}

static struct iso_json_text name_of(const struct iso_join *join, const struct join_table *table,
                                    char buffer[ISO_ATOM_TEXT_MAX])
{
    struct iso_json_text name;
    name.at = iso_atom_text(&join->keys.names.atoms, table->name, buffer, &name.length);
    return name;
}

static struct iso_value_type type_of(struct iso_join *join, struct join_table *table)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    if (table->types != join->tables.types) {
        struct iso_json_text name, column = {NULL, 0};
        if (table->is_column)
            join_split_column(join, table, buffer, &name, &column);
        else
            name = name_of(join, table, buffer);
        table->value = join->options.value_type(join->options.context, name.at, name.length,
                                                column.at, column.length);
        table->types = join->tables.types;
    }
    return table->value;
}

struct columns {
    const struct iso_join *join;
    struct iso_json_text table;
};

static struct iso_value_type type_of_column(void *context, struct iso_json_text column)
{
    const struct columns *columns = context;
    const struct iso_join_options *options = &columns->join->options;
    return options->value_type(options->context, columns->table.at, columns->table.length,
                               column.at, column.length);
}

static bool spell_row(struct iso_join *join, const struct join_table *table,
                      struct iso_json_text text)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct columns columns = {join, name_of(join, table, buffer)};
    return iso_row_spell(&(struct iso_column_types){type_of_column, &columns}, text,
                         &join->scratch.normalised);
}

/* Whether the value stays as it is: its type has one spelling, or it is normalised already. */
static bool stays(struct iso_value_type type, const struct iso_atoms *atoms, iso_atom value)
{
    bool is_small = !(value & ISO_ATOM_TABLE);
    return type.kind <= ISO_VALUE_ANY || type.kind == ISO_VALUE_TEXT || value == ISO_ABSENT ||
           (is_small && (type.kind == ISO_VALUE_INTEGER || type.kind == ISO_VALUE_INTEGER_64)) ||
           iso_atom_is_unknown(atoms, value);
}

static iso_atom spell(struct iso_join *join, struct join_table *table, struct iso_atoms *atoms,
                      iso_atom value)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text text;
    struct iso_value_type type = type_of(join, table);
    if (stays(type, atoms, value))
        return value;
    text.at = iso_atom_text(atoms, value, buffer, &text.length);
    join->scratch.normalised.used = 0;
    bool normalised = type.kind == ISO_VALUE_ROW
                          ? spell_row(join, table, text)
                          : iso_value_spell(type, text, &join->scratch.normalised);
    return normalised
               ? iso_atoms_text(
                     atoms, join->scratch.normalised.bytes ? join->scratch.normalised.bytes : "",
                     join->scratch.normalised.used)
               : value;
}

static bool nothing_is_known(const struct iso_join *join)
{
    return !join->tables.types || !join->options.value_type;
}

static struct join_table *table_of(struct iso_join *join, uint32_t key)
{
    const struct join_key *state = &join->keys.list[key];
    return &join->tables.list[state->part == JOIN_PART_CELL ? state->of_column : state->of_table];
}

static void spell_operations(struct iso_join *join, struct iso_history *of, uint32_t transaction)
{
    if (nothing_is_known(join))
        return;
    uint32_t end =
        transaction + 1 < of->txns.count ? of->txns.first_op[transaction + 1] : of->ops.count;
    for (uint32_t o = of->txns.first_op[transaction]; o < end; o++) {
        uint8_t kind = iso_kind_of(of, o);
        if (kind != ISO_READ && kind != ISO_WRITE)
            continue;
        uint32_t key = of == &join->records.kept
                           ? join_key_kept(join, o)
                           : join_key_find(join, &of->atoms, of->keys.atom[of->ops.key[o]]);
        of->ops.value[o] = spell(join, table_of(join, key), &of->atoms, of->ops.value[o]);
    }
}

bool join_may_equal(struct iso_join *join, uint32_t key, iso_atom delivered, iso_atom said)
{
    char buffers[3][ISO_ATOM_TEXT_MAX];
    const struct iso_atoms *atoms = &join->texts.atoms;
    struct iso_json_text one, other;
    if (delivered == said || delivered == ISO_ABSENT || said == ISO_ABSENT)
        return delivered == said;
    if (iso_atom_is_unknown(atoms, delivered) || iso_atom_is_unknown(atoms, said))
        return true;
    one.at = iso_atom_text(atoms, delivered, buffers[0], &one.length);
    other.at = iso_atom_text(atoms, said, buffers[1], &other.length);
    struct join_table *table = table_of(join, key);
    struct iso_value_type type = {.kind = ISO_VALUE_UNKNOWN};
    struct iso_spellers spellers = {.client = true};
    if (!nothing_is_known(join))
        type = type_of(join, table);
    if (type.kind != ISO_VALUE_ROW)
        return iso_values_compare(type, one, other, spellers) != ISO_VALUES_DIFFER;
    struct columns columns = {join, name_of(join, table, buffers[2])};
    struct iso_row_difference difference;
    return iso_rows_compare(&(struct iso_column_types){type_of_column, &columns}, one, other,
                            spellers, &difference) != ISO_VALUES_DIFFER;
}

void join_spell_last(struct iso_join *join, struct iso_history *into)
{
    spell_operations(join, into, into->txns.count - 1);
}

void join_spell_kept(struct iso_join *join, const struct join_record *record)
{
    if (record->kept != ISO_NONE)
        spell_operations(join, &join->records.kept, record->kept);
}

void join_spell_writes(struct iso_join *join, const struct join_record *record)
{
    if (nothing_is_known(join))
        return;
    for (uint32_t i = 0, w = record->writes.first; i < record->writes.count;
         i++, w = join->rows.list[w].next) {
        iso_atom value = spell(join, table_of(join, join->rows.list[w].key), &join->texts.atoms,
                               join->rows.list[w].after);
        join->rows.list[w].after = value;
    }
}
