#include "explain/record.h"

#include <string.h>

void iso_explain_atom(const struct iso_atoms *atoms, iso_atom atom, const char *nothing,
                      struct iso_text *text)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        iso_text_put(text, nothing);
        return;
    }
    const char *bytes = iso_atom_text(atoms, atom, buffer, &length);
    if (iso_atom_is_string(atoms, atom))
        iso_text_put_string(text, bytes, length);
    else
        iso_text_put_bytes(text, bytes, length);
}

static void put_atom(struct iso_text *text, const struct iso_history *history, iso_atom atom)
{
    iso_explain_atom(&history->atoms, atom, "null", text);
}

static void put_stamp(struct iso_text *text, const struct iso_history *history, const char *member,
                      uint64_t timestamp)
{
    char stamp[ISO_STAMP_TEXT];
    iso_history_stamp_text(history, timestamp, stamp);
    iso_text_put(text, member);
    iso_text_put_string(text, stamp, strlen(stamp));
}

static void put_value(struct iso_text *text, const struct iso_history *history, uint32_t operation)
{
    uint32_t value = history->ops.value[operation];
    if (iso_kind_of(history, operation) != ISO_READ_LIST) {
        put_atom(text, history, value);
        return;
    }
    iso_text_put(text, "[");
    for (uint64_t i = history->lists.first[value]; i < history->lists.first[value + 1]; i++) {
        iso_text_put(text, i > history->lists.first[value] ? "," : "");
        put_atom(text, history, history->lists.element[i]);
    }
    iso_text_put(text, "]");
}

static const char *letter_of(uint8_t kind)
{
    switch (kind & ISO_KIND_MASK) {
    case ISO_WRITE:
        return "w";
    case ISO_DELETE:
        return "d";
    case ISO_APPEND:
        return "a";
    default:
        return "r";
    }
}

static void put_operation(struct iso_text *text, const struct iso_history *history,
                          uint32_t operation)
{
    uint8_t kind = history->ops.kind[operation];
    iso_text_format(text, "{\"t\":\"%s\",\"k\":", letter_of(kind));
    put_atom(text, history, history->keys.atom[history->ops.key[operation]]);
    if (iso_kind_of(history, operation) != ISO_DELETE) {
        iso_text_put(text, ",\"v\":");
        put_value(text, history, operation);
    }
    if (kind & ISO_OPERATION_OTS)
        put_stamp(text, history, ",\"ots\":", history->ops.ots[operation]);
    if (kind & ISO_OPERATION_LOCK)
        iso_text_put(text, ",\"lock\":true");
    iso_text_put(text, "}");
}

void iso_explain_record(const struct iso_history *history, uint32_t transaction,
                        struct iso_text *text)
{
    static const char *const statuses[] = {"", ",\"status\":\"aborted\"",
                                           ",\"status\":\"unknown\""};
    uint32_t first = history->txns.first_op[transaction],
             end = history->txns.first_op[transaction + 1];
    uint32_t shown = end - first < ISO_RECORD_OPERATIONS ? end - first : ISO_RECORD_OPERATIONS;
    iso_text_put(text, "{\"tid\":");
    put_atom(text, history, history->txns.tid[transaction]);
    iso_text_put(text, ",\"sid\":");
    put_atom(text, history, history->sessions.atom[history->txns.session[transaction]]);
    if (history->txns.flags[transaction] & ISO_HAS_STS)
        put_stamp(text, history, ",\"sts\":", history->txns.sts[transaction]);
    if (history->txns.flags[transaction] & ISO_HAS_CTS)
        put_stamp(text, history, ",\"cts\":", history->txns.cts[transaction]);
    iso_text_format(text, "%s,\"ops\":[", statuses[iso_status_of(history, transaction)]);
    for (uint32_t o = first; o < first + shown; o++) {
        iso_text_put(text, o > first ? "," : "");
        put_operation(text, history, o);
    }
    iso_text_put(text, "]");
    if (shown < end - first)
        iso_text_format(text, ",\"more\":%u", end - first - shown);
    iso_text_put(text, "}");
}
