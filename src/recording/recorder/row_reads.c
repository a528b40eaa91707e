/* Rows with their cells, and queries: what several columns or several rows say in one operation. */

#include "recorder/session.h"

/* {"column":value,..} ; readers refuse a column without a name. */
static void put_cells(struct recorder_text *record, const char *const *columns,
                      const char *const *values, size_t count)
{
    recorder_put(record, "{");
    for (size_t i = 0; i < count; i++) {
        if (!*columns[i])
            record->failed = true;
        recorder_put(record, i ? "," : "");
        recorder_put_string(record, columns[i]);
        recorder_put(record, ":");
        recorder_put_value(record, values[i]);
    }
    recorder_put(record, "}");
}

void iso_recorder_read_row(struct iso_recorder_session *session, const char *row,
                           const char *const *columns, const char *const *values, size_t count)
{
    struct recorder_text *record = recorder_start(session, 'r', "row", row);
    if (!record)
        return;
    recorder_put(record, ",\"cells\":");
    put_cells(record, columns, values, count);
    recorder_end_operation(session);
}

void iso_recorder_read_no_row(struct iso_recorder_session *session, const char *row)
{
    struct recorder_text *record = recorder_start(session, 'r', "row", row);
    if (!record)
        return;
    recorder_put(record, ",\"v\":null");
    recorder_end_operation(session);
}

void iso_recorder_write_row(struct iso_recorder_session *session, const char *row,
                            const char *const *columns, const char *const *values, size_t count)
{
    struct recorder_text *record = recorder_start(session, 'w', "row", row);
    if (!record)
        return;
    if (count) {
        recorder_put(record, ",\"cells\":");
        put_cells(record, columns, values, count);
    }
    recorder_end_operation(session);
}

/* ---- queries ---- */

static void put_text(struct recorder_text *record, const char *member, const char *text)
{
    if (!text)
        return;
    recorder_put(record, member);
    recorder_put_string(record, text);
}

void iso_recorder_query_begin(struct iso_recorder_session *session, const char *table,
                              const char *from, const char *to, const char *where)
{
    if (!session || !session->open)
        return;
    recorder_drop_query(session);
    struct recorder_text *record = &session->record;
    struct recorder_query query = {.first = record->used, .had_failed = record->failed};
    recorder_start(session, 'q', "table", table);
    put_text(record, ",\"from\":", from);
    put_text(record, ",\"to\":", to);
    put_text(record, ",\"where\":", where);
    session->query = query;
}

/* The record, to which the open query adds one more of `shape`, the first one behind `start`; NULL:
 * no query is open. What it returned is of one shape: a mixture is refused. */
static struct recorder_text *return_one(struct iso_recorder_session *session,
                                        enum recorder_shape shape, const char *start)
{
    if (!session || !session->open || !session->query.first)
        return NULL;
    struct recorder_text *record = &session->record;
    struct recorder_query *query = &session->query;
    if (query->shape == RECORDER_NOTHING && start)
        recorder_put(record, start);
    else if (query->shape != shape)
        record->failed = true;
    query->shape = shape;
    recorder_put(record, query->count++ ? "," : "");
    return record;
}

void iso_recorder_query_row(struct iso_recorder_session *session, const char *key,
                            const char *const *columns, const char *const *values, size_t count)
{
    struct recorder_text *record = return_one(session, RECORDER_ROWS, ",\"rows\":{");
    if (!record)
        return;
    recorder_put_string(record, key);
    recorder_put(record, ":");
    put_cells(record, columns, values, count);
}

void iso_recorder_query_aggregate(struct iso_recorder_session *session, const char *name,
                                  const char *value)
{
    struct recorder_text *record = return_one(session, RECORDER_AGGREGATES, ",\"agg\":{");
    if (!record)
        return;
    recorder_put_string(record, name);
    recorder_put(record, ":");
    recorder_put_value(record, value);
}

void iso_recorder_query_columns(struct iso_recorder_session *session, const char *const *columns,
                                size_t count)
{
    struct recorder_text *record = return_one(session, RECORDER_BAG, ",\"columns\":[");
    if (!record)
        return;
    if (session->query.columns)
        record->failed = true;
    for (size_t i = 0; i < count; i++) {
        recorder_put(record, i ? "," : "");
        recorder_put_string(record, columns[i]);
    }
    recorder_put(record, "],\"bag\":[");
    session->query.columns = count;
    session->query.count = 0;
}

void iso_recorder_query_values(struct iso_recorder_session *session, const char *const *values)
{
    struct recorder_text *record = return_one(session, RECORDER_BAG, NULL);
    if (!record)
        return;
    recorder_put(record, "[");
    for (size_t i = 0; i < session->query.columns; i++) {
        recorder_put(record, i ? "," : "");
        recorder_put_value(record, values[i]);
    }
    recorder_put(record, "]");
}

void iso_recorder_query_partial(struct iso_recorder_session *session)
{
    if (session)
        session->query.is_partial = true;
}

void iso_recorder_query_end(struct iso_recorder_session *session)
{
    static const char *const ends[] = {",\"rows\":{}", "}", "}", "]"}; /* by enum recorder_shape */
    if (!session || !session->open || !session->query.first)
        return;
    struct recorder_text *record = &session->record;
    recorder_put(record, ends[session->query.shape]);
    if (session->query.is_partial)
        recorder_put(record, ",\"partial\":true");
    recorder_end_operation(session);
    session->query = (struct recorder_query){0};
}
