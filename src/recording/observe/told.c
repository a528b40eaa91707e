/* What people are told of a record: the test that it belongs to, as the framework or the client
 * says it, and the texts of its statements.
 *
 * A comment of a statement says it as `test: tests/test_cart.py::test_total`, up to its end, or as
 * sqlcommenter does: `test='test_cart.py%3A%3Atest_total'`. Else application_name does.
 *
 * Values are `?` in texts, unless they are asked for. Nothing of this is judged.
 */
#define _GNU_SOURCE
#include "observe/observed_private.h"

#include <stdlib.h>

#include "base/memory.h"

enum { TEST_MOST = 400 };

static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | (c & 0x40 ? 0x20 : 0)) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* %3A is a colon. */
static void decode(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        int high = *at == '%' ? digit_of(at[1]) : -1, low = high < 0 ? -1 : digit_of(at[2]);
        *to++ = low < 0 ? *at : (char)(high << 4 | low);
        at += low < 0 ? 0 : 2;
    }
    *to = 0;
}

static char *test_of(const char *at, const char *end)
{
    bool is_quoted = at < end && *at == '=' && at + 1 < end && at[1] == '\'';
    if (!is_quoted && (at >= end || *at != ':'))
        return NULL;
    at += is_quoted ? 2 : 1;
    const char *quote = is_quoted ? memchr(at, '\'', (size_t)(end - at)) : NULL;
    end = quote ? quote : end;
    while (at < end && *at == ' ')
        at++;
    while (at < end && end[-1] == ' ')
        end--;
    if (at == end || end - at > TEST_MOST)
        return NULL;
    char *test = iso_copy_text(at, (size_t)(end - at));
    if (is_quoted)
        decode(test);
    return test;
}

char *told_test(const char *sql)
{
    static const char word[] = "test";
    char *test = NULL;
    for (const char *at = strstr(sql, "/*"), *end; at && !test; at = strstr(end, "/*")) {
        end = strstr(at, "*/");
        end = end ? end : at + strlen(at);
        while (!test && (at = memmem(at, (size_t)(end - at), word, sizeof word - 1))) {
            bool is_word = strchr("*, ", at[-1]) != NULL;
            at += sizeof word - 1;
            test = is_word ? test_of(at, end) : NULL;
        }
    }
    return test;
}

void observed_name_application(struct observed *observed, const char *name)
{
    iso_free(observed->settings.application);
    observed->settings.application = *name ? iso_copy_text(name, strlen(name)) : NULL;
}

/* ---- texts ---- */

static void put_constant(const struct running *running, uint32_t number, struct iso_text *text)
{
    const struct constants *constants = &running->text->constants;
    const struct parameters *parameters = running->portal ? &running->portal->parameters : NULL;
    const char *value = NULL;
    if (number >= TEMPLATE_FIRST && number - TEMPLATE_FIRST < constants->count) {
        const struct constant *constant = &constants->list[number - TEMPLATE_FIRST];
        if (constant->kind == CONSTANT_NUMBER) {
            iso_text_put(text, constants->values.bytes + constant->position);
            return;
        }
        if (constant->kind == CONSTANT_TEXT)
            value = constants->values.bytes + constant->position;
    } else if (parameters && number && number <= parameters->count &&
               parameters->list[number - 1].is_known) {
        value = parameters->values.bytes + parameters->list[number - 1].position;
    }
    iso_text_format(text, value ? "'%s'" : "?", value);
}

/* The shape, which has $30001 for the first constant and $1 for the first parameter. */
static void put_statement(const struct observed *observed, struct iso_text *text)
{
    const struct running *running = &observed->running;
    for (const char *at = running->text->plan->shape, *end; *at; at = end) {
        size_t plain = strcspn(at, "$");
        iso_text_put_bytes(text, at, plain);
        end = at + plain;
        if (!*end)
            break;
        uint32_t number = (uint32_t)strtoul(end + 1, (char **)&end, 10);
        if (observed->world->shared->shows_values)
            put_constant(running, number, text);
        else
            iso_text_put(text, "?");
    }
    *iso_text_reserve(text, 1) = 0;
}

void observed_tell_statement(struct observed *observed)
{
    const char *test = observed->running.text->test;
    struct iso_text *text = &observed->world->told;
    if (!observed->world->shared->tells_moments)
        return;
    if (test || !observed->transaction.is_named)
        iso_recorder_test(observed->session, test ? test : observed->settings.application);
    observed->transaction.is_named |= test != NULL;
    text->used = 0;
    put_statement(observed, text);
    iso_recorder_statement_text(observed->session, text->bytes);
}
