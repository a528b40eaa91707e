/* Elle's histories as elle-cli reads JSON: an array of operations (or one a line); formats/elle.h
 * says what they mean.
 */
#include "formats/elle.h"

struct elle_json_reader {
    struct elle elle;
    const struct iso_whole_file *file;
    struct iso_json json;
    struct format_line line;
};

static bool read_list(struct elle_json_reader *reader)
{
    struct iso_json *json = &reader->json;
    iso_atom element;
    if (!iso_json_enter_array(json))
        return false;
    while (iso_json_element(json)) {
        if (!format_json_atom(json, reader->elle.history, false, "an integer or a string",
                              &element))
            return false;
        format_mops_element(&reader->elle.mops, element);
    }
    return json->code == ISO_JSON_FINE;
}

/* ["r",key,value], ["w",key,value], ["append",key,element] */
static bool read_mop(struct elle_json_reader *reader)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text name;
    struct format_mop mop = {.value = ISO_ABSENT};
    const char *shape = "an operation [\"r\" or \"w\" or \"append\",key,value]";
    iso_json_space(json);
    const char *at = json->at;
    if (!iso_json_enter_array(json) || !iso_json_element(json) || !iso_json_string(json, &name))
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, at, shape);
    name.length -= name.length && *name.at == ':';
    name.at += name.at[0] == ':';
    bool known = elle_kind_of(name.at, name.length, &mop.kind);
    if (!known || !iso_json_element(json) ||
        !format_json_atom(json, reader->elle.history, false, "a key, an integer or a string",
                          &mop.key) ||
        !iso_json_element(json))
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, at, shape);
    bool list = iso_json_peek(json) == ISO_JSON_ARRAY;
    if (list && mop.kind != ISO_READ)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "one value to write, not a list");
    mop.kind = list ? ISO_READ_LIST : mop.kind;
    if (!list && !format_json_atom(json, reader->elle.history, mop.kind == ISO_READ,
                                   "an integer or a string", &mop.value))
        return false;
    format_mops_add(&reader->elle.mops, mop);
    if (list && !read_list(reader))
        return false;
    while (iso_json_element(json)) {
        if (!iso_json_skip(json))
            return false;
    }
    return json->code == ISO_JSON_FINE;
}

/* True if the array at the cursor has arrays in it, or nothing. */
static bool holds_arrays(const struct iso_json *json)
{
    struct iso_json ahead = *json;
    return iso_json_enter_array(&ahead) &&
           (iso_json_space(&ahead) == ']' || iso_json_space(&ahead) == '[');
}

static bool read_value(struct elle_json_reader *reader, struct elle_operation *operation)
{
    struct iso_json *json = &reader->json;
    if (iso_json_peek(json) == ISO_JSON_NULL)
        return iso_json_null(json);
    if (iso_json_peek(json) != ISO_JSON_ARRAY || !holds_arrays(json) ||
        (operation->has_function && !operation->is_transaction)) {
        operation->other_value = true;
        return iso_json_skip(json);
    }
    operation->has_value = true;
    iso_json_enter_array(json);
    while (iso_json_element(json)) {
        if (!read_mop(reader))
            return false;
    }
    return json->code == ISO_JSON_FINE;
}

static bool read_keyword(struct elle_json_reader *reader, struct iso_json_text *text)
{
    if (!iso_json_string(&reader->json, text))
        return false;
    if (text->length && *text->at == ':')
        *text = (struct iso_json_text){text->at + 1, text->length - 1};
    return true;
}

static bool read_process(struct elle_json_reader *reader, struct elle_operation *operation)
{
    if (iso_json_peek(&reader->json) == ISO_JSON_NULL)
        return iso_json_null(&reader->json);
    operation->has_process = true;
    operation->is_client = iso_json_peek(&reader->json) == ISO_JSON_DIGITS;
    return operation->is_client ? format_json_atom(&reader->json, reader->elle.history, false,
                                                   "an integer", &operation->process)
                                : iso_json_skip(&reader->json);
}

/* elle-cli's own files may have fractions or exponents here: those say nothing exact. */
static bool read_time(struct iso_json *json, struct elle_operation *operation)
{
    struct iso_json ahead = *json;
    struct iso_json_number number;
    if (!iso_json_integer(&ahead, &number))
        return iso_json_skip(json);
    *json = ahead;
    operation->time = number.negative || number.bits == UINT64_MAX ? 0 : number.bits + 1;
    return true;
}

static bool read_member(struct elle_json_reader *reader, const struct iso_json_text *name,
                        struct elle_operation *operation)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text text;
    if (iso_json_is(name, "type")) {
        if (!read_keyword(reader, &text))
            return false;
        operation->type = elle_type_of(text.at, text.length);
        return true;
    }
    if (iso_json_is(name, "f") && iso_json_peek(json) == ISO_JSON_STRING) {
        if (!read_keyword(reader, &text))
            return false;
        operation->has_function = true;
        operation->is_transaction = iso_json_is(&text, "txn");
        if (!operation->is_transaction)
            elle_other(&reader->elle, text.at, text.length);
        return true;
    }
    if (iso_json_is(name, "index") && iso_json_peek(json) == ISO_JSON_DIGITS)
        return format_json_atom(json, reader->elle.history, false, "an integer", &operation->index);
    if (iso_json_is(name, "time") && iso_json_peek(json) == ISO_JSON_DIGITS)
        return read_time(json, operation);
    if (iso_json_is(name, "process"))
        return read_process(reader, operation);
    return iso_json_is(name, "value") ? read_value(reader, operation) : iso_json_skip(json);
}

static enum iso_status read_operation(struct elle_json_reader *reader)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text name;
    struct elle_operation operation = {.index = ISO_ABSENT};
    iso_json_space(json);
    operation.line = format_line_of(&reader->line, reader->file, json->at);
    elle_start(&reader->elle);
    if (iso_json_enter_object(json)) {
        while (iso_json_member(json, &name) && read_member(reader, &name, &operation)) {
        }
    }
    if (json->code != ISO_JSON_FINE)
        return iso_whole_file_json_fail(reader->elle.path, reader->file, json, reader->elle.error);
    return elle_take(&reader->elle, &operation);
}

static enum iso_status read_all(struct elle_json_reader *reader)
{
    struct iso_json *json = &reader->json;
    enum iso_status status = ISO_OK;
    if (iso_json_peek(json) == ISO_JSON_ARRAY) {
        iso_json_enter_array(json);
        while (status == ISO_OK && iso_json_element(json))
            status = read_operation(reader);
        if (status == ISO_OK && !iso_json_finish(json))
            status =
                iso_whole_file_json_fail(reader->elle.path, reader->file, json, reader->elle.error);
        return status;
    }
    while (status == ISO_OK && iso_json_space(json))
        status = read_operation(reader);
    return status;
}

enum iso_status format_elle_json_read(const char *path, const struct iso_whole_file *file,
                                      struct iso_history *history, struct iso_error *error)
{
    struct elle_json_reader reader = {.elle = {.path = path, .history = history, .error = error},
                                      .file = file};
    iso_json_init(&reader.json);
    iso_json_start(&reader.json, file->bytes, file->length);
    enum iso_status status = read_all(&reader);
    if (status == ISO_OK)
        status = elle_end(&reader.elle);
    iso_json_release(&reader.json);
    elle_release(&reader.elle);
    return status;
}
