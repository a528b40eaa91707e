#include "observe/observed_private.h"

#include "base/memory.h"

enum { TAG_MOST = 64, PARAMETERS_MOST = 256 };

bool observed_server_takes(struct observed *observed, char type)
{
    const struct entry *entry = observed_head(observed);
    if (entry && entry->own)
        return !strchr("NAS", type);
    observed->question.is_withheld =
        observed->question.is_owed && !observed->conversation.is_lost && strchr("EC", type);
    return observed->question.is_withheld;
}

static bool read_fields(struct result_fields *fields, const struct wire_piece *piece)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    uint32_t count = wire_u16(&cursor);
    fields->count = 0;
    ISO_RESERVE(fields->list, count, fields->capacity);
    for (uint32_t i = 0; i < count && !cursor.bad; i++) {
        struct result_field *field = &fields->list[fields->count++];
        wire_text(&cursor);
        field->table = wire_u32(&cursor);
        field->column = (int16_t)wire_u16(&cursor);
        field->type = wire_u32(&cursor);
        wire_u16(&cursor);
        wire_u32(&cursor);
        field->is_binary = wire_u16(&cursor) == 1;
    }
    if (cursor.bad)
        fields->count = 0;
    return !cursor.bad;
}

static void copy_fields(struct result_fields *to, const struct result_fields *from)
{
    ISO_RESERVE(to->list, from->count, to->capacity);
    if (from->count)
        memcpy(to->list, from->list, from->count * sizeof *from->list);
    to->count = from->count;
}

static struct wire_cursor body_of(const struct entry *entry)
{
    return wire_cursor((const uint8_t *)entry->bytes.bytes,
                       entry->bytes.used ? (uint32_t)entry->bytes.used - 1 : 0);
}

static void end_parse(struct observed *observed, struct entry *entry)
{
    struct wire_cursor cursor = body_of(entry);
    const char *name = wire_text(&cursor);
    entry->text->is_misread |= entry->text->epoch != observed->doubt.epoch;
    observed_add_prepared(observed, name, entry->text);
}

static void bind_parameters(struct observed *observed, struct portal *portal,
                            struct wire_cursor *cursor)
{
    uint16_t formats[256], format_count = wire_u16(cursor);
    struct parameters *parameters = &portal->parameters;
    for (uint32_t i = 0; i < format_count; i++) {
        uint16_t format = wire_u16(cursor);
        if (i < sizeof formats / sizeof *formats)
            formats[i] = format;
    }
    uint32_t count = wire_u16(cursor);
    for (uint32_t i = 0; i < count && !cursor->bad; i++) {
        uint32_t size = wire_u32(cursor);
        const uint8_t *bytes = size == UINT32_MAX ? NULL : wire_bytes(cursor, size);
        ISO_GROW(parameters->list, parameters->count, parameters->capacity);
        struct parameter *parameter = &parameters->list[parameters->count++];
        *parameter =
            (struct parameter){.is_null = size == UINT32_MAX,
                               .type = i < portal->text->type_count ? portal->text->types[i] : 0,
                               .position = (uint32_t)parameters->values.used};
        bool is_binary = format_count == 1 ? formats[0]
                                           : i < format_count &&
                                                 i < sizeof formats / sizeof *formats && formats[i];
        if (parameter->type == 705) /* unknown: as if nothing was said */
            parameter->type = 0;
        parameter->is_known = bytes && size <= 8192 && !(is_binary && !parameter->type) &&
                              pg_value_text(parameter->type, is_binary, bytes, size,
                                            &observed->settings.spelling, &parameters->values);
    }
    portal->format_count = wire_u16(cursor);
    portal->formats = iso_allocate_zeroed(portal->format_count ? portal->format_count : 1,
                                          sizeof *portal->formats);
    for (uint32_t i = 0; i < portal->format_count; i++)
        portal->formats[i] = wire_u16(cursor);
}

/* What is run by a name that no message gave: PREPARE's, DECLARE's, a function's cursor. */
static struct text *made_by_sql(struct observed *observed)
{
    return observed_text_new(observed, "EXECUTE made_by_sql");
}

static void end_bind(struct observed *observed, struct entry *entry)
{
    struct wire_cursor cursor = body_of(entry);
    const char *name = wire_text(&cursor);
    const struct prepared *prepared = observed_find_prepared(observed, wire_text(&cursor));
    struct portal *portal = observed_open_portal(observed, name);
    portal->text = prepared ? observed_text_share(prepared->text) : made_by_sql(observed);
    portal->sent = entry->sent;
    bind_parameters(observed, portal, &cursor);
    observed_weigh_portal(observed, portal);
    if (!portal->text->is_described)
        return;
    copy_fields(&portal->fields, &portal->text->fields);
    for (uint32_t i = 0; i < portal->fields.count; i++)
        portal->fields.list[i].is_binary =
            portal->format_count == 1 ? portal->formats[0] == 1
                                      : i < portal->format_count && portal->formats[i] == 1;
    portal->is_described = true;
}

static void end_describe(struct observed *observed, struct entry *entry,
                         const struct wire_piece *piece)
{
    struct wire_cursor cursor = body_of(entry);
    wire_u8(&cursor);
    const char *name = wire_text(&cursor);
    if (entry->kind == ENTRY_DESCRIBE_STATEMENT) {
        struct prepared *prepared = observed_find_prepared(observed, name);
        if (prepared && piece->body) {
            prepared->text->is_described = read_fields(&prepared->text->fields, piece);
            prepared->text->described = observed->doubt.epoch;
        }
    } else {
        struct portal *portal = observed_find_portal(observed, name);
        if (portal && piece->body)
            portal->is_told = portal->is_described = read_fields(&portal->fields, piece);
    }
}

/* What the server made of parameters whose types Parse did not declare: a value of an unknown type
 * in binary form could not be read. */
static void take_parameter_types(struct observed *observed, const struct entry *entry,
                                 const struct wire_piece *piece)
{
    struct wire_cursor described = body_of(entry),
                       cursor = wire_cursor(piece->body, piece->body ? piece->size : 0);
    wire_u8(&described);
    struct prepared *prepared = observed_find_prepared(observed, wire_text(&described));
    uint32_t count = wire_u16(&cursor);
    if (!prepared || cursor.bad || count > PARAMETERS_MOST)
        return;
    struct text *text = prepared->text;
    uint32_t *types = iso_allocate_zeroed(count + 1, sizeof *types);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t type = wire_u32(&cursor);
        types[i] = i < text->type_count && text->types[i] ? text->types[i] : type;
    }
    if (cursor.bad) {
        iso_free(types);
        return;
    }
    iso_free(text->types);
    text->types = types;
    text->type_count = count;
}

static void end_close(struct observed *observed, struct entry *entry)
{
    struct wire_cursor cursor = body_of(entry);
    char what = (char)wire_u8(&cursor);
    const char *name = wire_text(&cursor);
    if (what == 'S') {
        struct prepared *prepared = observed_find_prepared(observed, name);
        if (prepared)
            observed_drop_prepared(observed, prepared);
    } else {
        struct portal *portal = observed_find_portal(observed, name);
        if (portal)
            observed_drop_portal(observed, portal);
    }
}

/* The statement of the message that is answered has begun. */
static void start(struct observed *observed, struct entry *entry)
{
    if (observed->running.runs)
        return;
    if (entry->kind == ENTRY_QUERY) {
        observed->running.sent = entry->sent;
        entry->text->is_misread |= !entry->position && entry->text->epoch != observed->doubt.epoch;
        observed_begin_statement(observed, entry->text, entry->position, NULL);
        return;
    }
    struct wire_cursor cursor = body_of(entry);
    struct portal *portal = observed_find_portal(observed, wire_text(&cursor));
    if (portal && portal->is_cursor)
        portal = NULL;
    observed->running.sent = portal ? portal->sent : 0;
    struct text *text = portal ? observed_text_share(portal->text) : made_by_sql(observed);
    observed_begin_statement(observed, text, 0, portal);
    observed_text_release(text);
    if (portal && portal->is_described)
        observed_begin_rows(observed, &portal->fields,
                            portal->is_told || portal->text->described == observed->doubt.epoch);
}

static void take_description(struct observed *observed, struct entry *entry,
                             const struct wire_piece *piece)
{
    if (entry->kind != ENTRY_QUERY) {
        end_describe(observed, entry, piece);
        observed_pop(observed);
        return;
    }
    start(observed, entry);
    if (piece->body && read_fields(&observed->running.fields, piece))
        observed_begin_rows(observed, &observed->running.fields, true);
}

static void take_row(struct observed *observed, struct entry *entry, const struct wire_piece *piece)
{
    start(observed, entry);
    if (observed->running.reading.mode == READING_NOTHING)
        return;
    observed_tell_moment(observed);
    reading_row(&observed->running.reading, wire_cursor(piece->body, piece->size),
                observed->session);
}

static void take_completion(struct observed *observed, struct entry *entry,
                            const struct wire_piece *piece)
{
    char tag[TAG_MOST] = "";
    start(observed, entry);
    if (piece->body && piece->type == 'C')
        for (uint32_t i = 0; i < piece->size && i < TAG_MOST - 1 && piece->body[i]; i++)
            tag[i] = (char)piece->body[i], tag[i + 1] = 0;
    observed_end_statement(observed, tag, piece->type == 'C');
    if (entry->kind == ENTRY_QUERY)
        entry->position++;
    else
        observed_pop(observed);
}

static void take_error(struct observed *observed, struct entry *entry)
{
    if (entry->kind == ENTRY_QUERY || entry->kind == ENTRY_EXECUTE)
        start(observed, entry);
    observed_fail_statement(observed);
    /* behind these two a ReadyForQuery of their own follows */
    if (entry->kind != ENTRY_QUERY && entry->kind != ENTRY_FUNCTION)
        observed_pop_to_sync(observed);
}

static void become_idle(struct observed *observed, const struct wire_piece *piece)
{
    struct transaction *transaction = &observed->transaction;
    observed->conversation.status = piece->body && piece->size ? (char)*piece->body : 0;
    observed->conversation.copies = observed->doubt.is_unsettled = observed->question.is_owed =
        false;
    if (observed->conversation.status == 'I' && transaction->state == TRANSACTION_OPEN) {
        /* It ended without its COMMIT being understood. */
        observed_end_transaction(observed,
                                 transaction->has_failed ? OUTCOME_ABORTED : OUTCOME_UNKNOWN);
    } else if (observed->conversation.status == 'I' && transaction->state == TRANSACTION_IMPLICIT) {
        observed_end_transaction(observed,
                                 transaction->has_failed ? OUTCOME_ABORTED : OUTCOME_COMMITTED);
    } else if (observed->conversation.status != 'I' && transaction->state != TRANSACTION_OPEN) {
        observed_lose(observed); /* a transaction whose beginning was not seen */
    }
    if (observed->conversation.status == 'I' && observed->doubt.defines) {
        observed->doubt.defines = false;
        observe_is_defined(observed->database);
    }
}

static void take_setting(struct observed *observed, const struct wire_piece *piece)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    const char *name = wire_text(&cursor), *value = wire_text(&cursor);
    if (!strcmp(name, "standard_conforming_strings"))
        observed->settings.backslashes = strcmp(value, "on") != 0;
    else if (!strcmp(name, "application_name"))
        observed_name_application(observed, value);
    else if (!strcmp(name, "client_encoding"))
        observed->settings.spelling.is_utf8 = !strcmp(value, "UTF8");
    else if (!strcmp(name, "DateStyle"))
        observed->settings.spelling.is_iso = !strncmp(value, "ISO", 3);
    else if (!strcmp(name, "TimeZone"))
        observed->settings.spelling.is_utc =
            !strcmp(value, "UTC") || !strcmp(value, "Etc/UTC") || !strcmp(value, "GMT");
    else if (!strcmp(name, "default_transaction_read_only"))
        observed->settings.reads_only = !strcmp(value, "on");
    else if (!strcmp(name, "in_hot_standby"))
        observed->settings.is_standby = !strcmp(value, "on");
}

static void take_ready(struct observed *observed, const struct wire_piece *piece)
{
    struct entry *entry = observed_head(observed);
    if (!observed->conversation.is_ready) {
        observed->conversation.is_ready = true;
        observed->database = observe_database(observed->world->shared, observed->name);
        observed->conversation.status = 'I';
        return;
    }
    if (!entry || (entry->kind != ENTRY_QUERY && entry->kind != ENTRY_SYNC &&
                   entry->kind != ENTRY_FUNCTION)) {
        observed_lose(observed);
        return;
    }
    if (entry->kind == ENTRY_FUNCTION)
        observed_may_do_anything(observed);
    observed_pop(observed);
    become_idle(observed, piece);
}

/* Whether a message of the server can answer what it has to answer now: those that answer something
 * in particular. */
static bool fits(char type, enum entry_kind kind)
{
    static const char *const answers[] = {[ENTRY_QUERY] = "TDCIGHWdcZ",
                                          [ENTRY_PARSE] = "1",
                                          [ENTRY_BIND] = "2",
                                          [ENTRY_DESCRIBE_STATEMENT] = "tnT",
                                          [ENTRY_DESCRIBE_PORTAL] = "nT",
                                          [ENTRY_EXECUTE] = "sDCIGHWdc",
                                          [ENTRY_CLOSE] = "3",
                                          [ENTRY_SYNC] = "Z",
                                          [ENTRY_FUNCTION] = "VZ",
                                          [ENTRY_COPIED] = ""};
    return !strchr("123tnTsVZDCIGHWdc", type) || strchr(answers[kind], type);
}

static void answer(struct observed *observed, struct entry *entry, const struct wire_piece *piece)
{
    switch (piece->type) {
    case '1':
        end_parse(observed, entry);
        observed_pop(observed);
        break;
    case '2':
        end_bind(observed, entry);
        observed_pop(observed);
        break;
    case '3':
        end_close(observed, entry);
        observed_pop(observed);
        break;
    case 'n':
        observed_pop(observed);
        break;
    case 't':
        take_parameter_types(observed, entry, piece);
        break;
    case 'T':
        take_description(observed, entry, piece);
        break;
    case 'D':
        take_row(observed, entry, piece);
        break;
    case 'C':
    case 's':
        take_completion(observed, entry, piece);
        break;
    case 'I':
        if (entry->kind == ENTRY_EXECUTE)
            observed_pop(observed);
        break;
    case 'G':
        start(observed, entry);
        if (entry->kind == ENTRY_EXECUTE)
            observed_begin_copy(observed);
        break;
    case 'E':
        take_error(observed, entry);
        break;
    case 'V': /* of a function call, which took one */
        observed->transaction.saw_snapshot = true;
        break;
    default:
        break;
    }
}

/* Whether an error has one of these values in a field. */
static bool has_field(const struct wire_piece *piece, char wanted, const char *values)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    for (char field; (field = (char)wire_u8(&cursor));) {
        const char *value = wire_text(&cursor);
        if (field == wanted && *value && strstr(values, value))
            return true;
    }
    return false;
}

static bool is_fatal(const struct wire_piece *piece)
{
    return has_field(piece, 'V', "FATAL PANIC") || has_field(piece, 'S', "FATAL PANIC");
}

static bool take(struct observed *observed, const struct wire_piece *piece)
{
    struct entry *entry = observed_head(observed);
    if (piece->type == 'S' && piece->body) {
        take_setting(observed, piece);
        return false;
    }
    if (strchr("NARKSv", piece->type))
        return false;
    if (entry && entry->own) {
        bool is_last = piece->type == 'E' && is_fatal(piece);
        if (fits(piece->type, entry->kind) || piece->type == 'E')
            observed_answer_own(observed, piece);
        else
            observed_lose(observed);
        return is_last;
    }
    if (observed->conversation.is_lost)
        return false;
    while (entry && entry->kind == ENTRY_COPIED) {
        observed_pop(observed);
        entry = observed_head(observed);
    }
    if (piece->type == 'Z') {
        take_ready(observed, piece);
    } else if (!entry) {
        if (piece->type != 'E' &&
            observed->conversation.is_ready) /* a connection that is ended from outside says why */
            observed_lose(observed);
    } else if (!fits(piece->type, entry->kind)) {
        observed_lose(observed);
    } else {
        answer(observed, entry, piece);
    }
    return false;
}

/* Whether this message, which was taken, is the client's first to show that its transaction failed
 * with a question of ours. A COMMIT that was alone is refused by it. */
static bool tells_failure(struct observed *observed, const struct wire_piece *piece)
{
    const struct running *running = &observed->running;
    const struct entry *next = observed_head(observed);
    if (piece->type == 'E')
        return has_field(piece, 'C', "25P02");
    return (running->statement->kind == PLAN_COMMIT || running->statement->kind == PLAN_PREPARE) &&
           !running->statement->chains && piece->body &&
           !strncmp((const char *)piece->body, "ROLLBACK", piece->size) && next &&
           (next->kind == ENTRY_SYNC ||
            (next->kind == ENTRY_QUERY && running->text->plan->count == 1));
}

bool observed_server(struct observed *observed, struct wire_piece *piece)
{
    bool is_withheld = observed->question.is_withheld, is_last = take(observed, piece);
    observed->question.is_withheld = false;
    if (!is_withheld)
        return is_last;
    const struct iso_text *failure = &observed->question.failure;
    if (tells_failure(observed, piece))
        *piece = (struct wire_piece){'E', true, true, (const uint8_t *)failure->bytes,
                                     (uint32_t)failure->used};
    observed->question.is_owed = false;
    return true;
}
