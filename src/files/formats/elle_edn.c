/* Elle's and Jepsen's EDN: a vector of operations, or one after another; formats/elle.h says what
 * they mean. Viper's EDN logs are the same, with a fourth member in the operations of a
 * transaction.
 */
#include "base/memory.h"
#include "formats/edn.h"
#include "formats/elle.h"

struct elle_edn_reader {
    struct elle elle;
    const struct iso_whole_file *file;
    struct edn edn;
    struct format_line line;
};

/* A string with backslashes: \" \\ \n \t \r; others stand as they are. */
static iso_atom unescape(struct elle_edn_reader *reader)
{
    const struct edn *edn = &reader->edn;
    char *text = iso_allocate(edn->length);
    size_t length = 0;
    for (size_t i = 0; i < edn->length; i++) {
        char byte = edn->text[i], next = i + 1 < edn->length ? edn->text[i + 1] : 0;
        bool escape = byte == '\\' && next && strchr("\"\\ntr", next);
        if (escape)
            byte = next == 'n' ? '\n' : next == 't' ? '\t' : next == 'r' ? '\r' : next;
        text[length++] = byte;
        i += escape;
    }
    iso_atom atom = iso_atoms_text(&reader->elle.history->atoms, text, length);
    iso_free(text);
    return atom;
}

/* The token read last as an atom: integers, keywords and strings; nil if allowed. */
static bool take_atom(struct elle_edn_reader *reader, bool nil, iso_atom *atom)
{
    struct edn *edn = &reader->edn;
    struct iso_atoms *atoms = &reader->elle.history->atoms;
    *atom = ISO_ABSENT;
    if (edn->type == EDN_INTEGER)
        *atom = edn->negative ? iso_atoms_add_integer(atoms, edn->bits, true)
                              : iso_atoms_unsigned(atoms, edn->bits);
    else if (edn->type == EDN_STRING && memchr(edn->text, '\\', edn->length))
        *atom = unescape(reader);
    else if (edn->type == EDN_KEYWORD || edn->type == EDN_STRING)
        *atom = iso_atoms_text(atoms, edn->text, edn->length);
    else if (!nil || !edn_is(edn, EDN_SYMBOL, "nil"))
        return edn_fail(edn, nil ? "an integer, a keyword, a string or nil"
                                 : "an integer, a keyword or a string");
    return true;
}

/* Behind the '['. */
static bool read_list(struct elle_edn_reader *reader)
{
    iso_atom element;
    while (edn_next(&reader->edn) != EDN_CLOSE) {
        if (!take_atom(reader, false, &element))
            return false;
        format_mops_element(&reader->elle.mops, element);
    }
    return true;
}

/* Behind what matters; `false` as the fourth member of a write says that it failed (Viper). */
static bool read_rest(struct elle_edn_reader *reader, struct format_mop *mop)
{
    while (edn_next(&reader->edn) != EDN_CLOSE) {
        if (edn_is(&reader->edn, EDN_SYMBOL, "false"))
            mop->failed = iso_kind_writes(mop->kind);
        if (!edn_skip(&reader->edn))
            return false;
    }
    return true;
}

/* [:r key value], [:w key value], [:append key element]; behind the '['. */
static bool read_mop(struct elle_edn_reader *reader)
{
    struct edn *edn = &reader->edn;
    struct format_mop mop = {.value = ISO_ABSENT};
    edn_next(edn);
    if ((edn->type != EDN_KEYWORD && edn->type != EDN_STRING) ||
        !elle_kind_of(edn->text, edn->length, &mop.kind))
        return edn_fail(edn, "an operation of a transaction: :r, :w or :append");
    edn_next(edn);
    if (!take_atom(reader, false, &mop.key))
        return false;
    bool list = edn_next(edn) == EDN_OPEN;
    if (list && (mop.kind != ISO_READ || (*edn->token != '[' && *edn->token != '(')))
        return edn_fail(edn, "one value, or the list that was read");
    if (!list && !take_atom(reader, mop.kind == ISO_READ, &mop.value))
        return false;
    mop.kind = list ? ISO_READ_LIST : mop.kind;
    format_mops_add(&reader->elle.mops, mop);
    if (list && !read_list(reader))
        return false;
    return read_rest(reader, &reader->elle.mops.items[reader->elle.mops.count - 1]);
}

/* Behind the '[' of a vector: its operations, if it is one of vectors. */
static bool read_value(struct elle_edn_reader *reader, struct elle_operation *operation)
{
    struct edn *edn = &reader->edn;
    edn_next(edn);
    if (edn->type != EDN_CLOSE &&
        (!edn_opens(edn, '[') || (operation->has_function && !operation->is_transaction))) {
        operation->other_value = true;
        while (edn->type != EDN_CLOSE) {
            if (!edn_skip(edn))
                return false;
            edn_next(edn);
        }
        return true;
    }
    operation->has_value = true;
    while (edn->type != EDN_CLOSE) {
        if (!edn_opens(edn, '['))
            return edn_fail(edn, "an operation [:r key value]");
        if (!read_mop(reader))
            return false;
        edn_next(edn);
    }
    return true;
}

enum member { OTHER, TYPE, FUNCTION, PROCESS, INDEX, VALUE, TIME };

static enum member member_of(const struct edn *edn)
{
    static const char *const names[] = {"type", "f", "process", "index", "value", "time"};
    for (int i = 0; i < 6; i++) {
        if (edn_is(edn, EDN_KEYWORD, names[i]) || edn_is(edn, EDN_STRING, names[i]))
            return (enum member)(TYPE + i);
    }
    return OTHER;
}

/* The value's first token was read. */
static bool read_member(struct elle_edn_reader *reader, enum member member,
                        struct elle_operation *operation)
{
    struct edn *edn = &reader->edn;
    bool word = edn->type == EDN_KEYWORD || edn->type == EDN_STRING;
    if (member == TYPE && word) {
        operation->type = elle_type_of(edn->text, edn->length);
    } else if (member == FUNCTION && word) {
        operation->has_function = true;
        operation->is_transaction = edn->length == 3 && !memcmp(edn->text, "txn", 3);
        if (!operation->is_transaction)
            elle_other(&reader->elle, edn->text, edn->length);
    } else if (member == PROCESS && !edn_is(edn, EDN_SYMBOL, "nil")) {
        operation->has_process = true;
        operation->is_client = edn->type == EDN_INTEGER;
        if (operation->is_client)
            return take_atom(reader, false, &operation->process);
    } else if (member == INDEX && edn->type == EDN_INTEGER) {
        return take_atom(reader, false, &operation->index);
    } else if (member == VALUE && (edn_opens(edn, '[') || edn_opens(edn, '('))) {
        return read_value(reader, operation);
    } else if (member == TIME && edn->type == EDN_INTEGER && !edn->negative &&
               edn->bits < UINT64_MAX) {
        operation->time = edn->bits + 1;
    } else if (member == VALUE) {
        operation->other_value = !edn_is(edn, EDN_SYMBOL, "nil");
    }
    return edn_skip(edn);
}

static enum iso_status scanner_fault(struct elle_edn_reader *reader)
{
    const struct edn *edn = &reader->edn;
    const char *stop = edn->at > edn->token ? edn->at : edn->token;
    int shown = (int)(stop - edn->token < 40 ? stop - edn->token : 40);
    if (edn->token >= edn->end)
        return iso_whole_file_fail(reader->elle.path, reader->file, edn->end, reader->elle.error,
                                   "the text ends here, expected %s", edn->expected);
    return iso_whole_file_fail(reader->elle.path, reader->file, edn->token, reader->elle.error,
                               "found '%.*s', expected %s", shown, edn->token, edn->expected);
}

/* Behind the '{'. */
static enum iso_status read_operation(struct elle_edn_reader *reader)
{
    struct edn *edn = &reader->edn;
    struct elle_operation operation = {.index = ISO_ABSENT};
    operation.line = format_line_of(&reader->line, reader->file, edn->token);
    elle_start(&reader->elle);
    bool fine = true;
    while (fine && edn_next(edn) != EDN_CLOSE) {
        enum member member = member_of(edn);
        fine = edn->type != EDN_ERROR && edn_skip(edn);
        if (fine && edn_next(edn) == EDN_CLOSE)
            fine = edn_fail(edn, "a value for each key of the map");
        fine = fine && edn->type != EDN_ERROR && read_member(reader, member, &operation);
    }
    return fine && edn->type != EDN_ERROR ? elle_take(&reader->elle, &operation)
                                          : scanner_fault(reader);
}

static enum iso_status read_all(struct elle_edn_reader *reader)
{
    struct edn *edn = &reader->edn;
    enum iso_status status = ISO_OK;
    bool vector = false, done = false;
    while (status == ISO_OK && edn_next(edn) != EDN_END) {
        if (edn_opens(edn, '{') && !done) {
            status = read_operation(reader);
        } else if (edn->type == EDN_OPEN && (*edn->token == '[' || *edn->token == '(') &&
                   edn->depth == 1 && reader->elle.count == 0 && !vector) {
            vector = true;
        } else if (edn->type == EDN_CLOSE && vector) {
            done = true;
        } else {
            edn_fail(edn,
                     done ? "the end of the text behind the vector" : "an operation, {:type ...}");
            status = scanner_fault(reader);
        }
    }
    return status;
}

enum iso_status format_elle_edn_read(const char *path, const struct iso_whole_file *file,
                                     struct iso_history *history, struct iso_error *error)
{
    struct elle_edn_reader reader = {.elle = {.path = path, .history = history, .error = error},
                                     .file = file};
    edn_start(&reader.edn, file->bytes, file->length);
    enum iso_status status = read_all(&reader);
    if (status == ISO_OK)
        status = elle_end(&reader.elle);
    elle_release(&reader.elle);
    return status;
}
