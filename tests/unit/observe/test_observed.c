/* Conversations with a server that is played here: what is recorded of them, and what is asked. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "observe/observed_private.h"
#include "tests/support/temporary.h"
#include "tests/support/test.h"
#include "wire/put.h"

struct talk {
    char path[TEST_PATH];
    struct iso_recorder *recorder;
    struct observe_shared shared;
    struct observe_world *world;
    struct observed *observed;
    const char *check; /* what the last question finds of the catalog */
    char asked[16];    /* types of the messages of the last questions */
    char passed[32];   /* the last message that was sent on, if it is short */
};

/* Q a statement (CCPBECC), S a Sync. */
static void note_question(struct talk *talk, const struct iso_text *question)
{
    size_t count = 0;
    for (size_t i = 0; i < question->used && count < sizeof talk->asked - 1;) {
        const uint8_t *at = (const uint8_t *)question->bytes + i;
        if (*at == 'P' || *at == 'S')
            talk->asked[count++] = *at == 'P' ? 'Q' : 'S';
        i += wire_length(at, at + WIRE_HEADER);
    }
    talk->asked[count] = 0;
}

static void client(struct talk *talk, char type, const char *body, size_t size)
{
    struct iso_text before = {0};
    const struct wire_piece piece = {type, true, true, (const uint8_t *)body, (uint32_t)size};
    observed_client(talk->observed, &piece, &before);
    note_question(talk, &before);
    iso_text_release(&before);
}

static void asks(struct talk *talk, const char *text)
{
    client(talk, 'Q', text, strlen(text) + 1);
}

/* A message of the server: strings as they stand, and whether it is sent on. */
static bool server(struct talk *talk, char type, const void *body, size_t size)
{
    struct iso_text question = {0};
    struct wire_piece piece = {type, true, true, body, (uint32_t)size};
    bool takes = observed_server_takes(talk->observed, type),
         passes = observed_server(talk->observed, &piece) || !takes;
    if (passes)
        snprintf(talk->passed, sizeof talk->passed, "%c %.*s", piece.type, (int)piece.size,
                 (const char *)piece.body);
    if (observed_asks(talk->observed, OBSERVED_IDLE, &question))
        note_question(talk, &question);
    iso_text_release(&question);
    return passes;
}

static void row(struct talk *talk, uint16_t count, const char *const *values)
{
    struct iso_text body = {0};
    wire_put_u16(&body, count);
    for (uint16_t i = 0; i < count; i++) {
        wire_put_u32(&body, values[i] ? (uint32_t)strlen(values[i]) : UINT32_MAX);
        iso_text_put(&body, values[i] ? values[i] : "");
    }
    server(talk, 'D', body.bytes, body.used);
    iso_text_release(&body);
}

struct described {
    uint32_t table;
    uint16_t column;
    uint32_t type;
};

static void describes(struct talk *talk, uint16_t count, const struct described *fields)
{
    struct iso_text body = {0};
    wire_put_u16(&body, count);
    for (uint16_t i = 0; i < count; i++) {
        wire_put_text(&body, "any");
        wire_put_u32(&body, fields[i].table);
        wire_put_u16(&body, fields[i].column);
        wire_put_u32(&body, fields[i].type);
        wire_put_u16(&body, 4);
        wire_put_u32(&body, UINT32_MAX);
        wire_put_u16(&body, 0);
    }
    server(talk, 'T', body.bytes, body.used);
    iso_text_release(&body);
}

static void completes(struct talk *talk, const char *tag, const char *status)
{
    server(talk, 'C', tag, strlen(tag) + 1);
    if (status)
        server(talk, 'Z', status, 1);
}

/* A portal and a statement. */
static void closed(struct talk *talk)
{
    assert_false(server(talk, '3', "", 0));
    assert_false(server(talk, '3', "", 0));
}

static void own(struct talk *talk, uint16_t count, const char *const *values)
{
    closed(talk);
    assert_false(server(talk, '1', "", 0));
    assert_true(server(talk, 'N', "", 0)); /* a notice is the client's */
    assert_false(server(talk, '2', "", 0));
    if (values)
        row(talk, count, values);
    assert_false(server(talk, 'C', "SELECT 1", 9));
    closed(talk);
}

/* A question alone: without a timeout of the client's. */
static void answers(struct talk *talk, uint16_t count, const char *const *values)
{
    assert_string_equal(talk->asked, "QQS");
    *talk->asked = 0;
    own(talk, 1, (const char *const[]){"0"});
    own(talk, count, values);
}

static void fails_own(struct talk *talk, const char *error)
{
    assert_false(server(talk, 'E', error, strlen(error) + 1));
    assert_false(server(talk, 'Z', "E", 1));
}

/* Questions within a transaction: in a savepoint. */
static void guards(struct talk *talk)
{
    assert_string_equal(talk->asked, "QQSQQS");
    *talk->asked = 0;
    own(talk, 0, NULL);
}

static void ends_guard(struct talk *talk)
{
    own(talk, 0, NULL);
    own(talk, 0, NULL);
    assert_false(server(talk, 'Z', "T", 1));
}

static void answers_within(struct talk *talk, uint16_t count, const char *const *values)
{
    guards(talk);
    own(talk, count, values);
    assert_false(server(talk, 'Z', "T", 1));
    ends_guard(talk);
}

/* Of relations 100 and 200, of what is none 3. */
static const char *generation_of(const char *oid)
{
    return !strcmp(oid, "20000") ? "100" : "200";
}

static void generation(struct talk *talk)
{
    row(talk, 16,
        (const char *const[]){"0", "g", "", "f", "f", "0", "", "0", "", "f", "f", "f", "", "0", "f",
                              "3"});
}

/* A row of the catalog: a column of a table, as catalog_query has it. */
static void column(struct talk *talk, const char *oid, const char *table, const char *taken,
                   const char *number, const char *name, const char *key)
{
    row(talk, 16,
        (const char *const[]){oid, "public", table, taken, "f", number, name, "23", key, "t", "t",
                              "t", "", "0", "t", generation_of(oid)});
}

static void opens(struct talk *talk)
{
    struct iso_error error = {0};
    snprintf(talk->path, sizeof talk->path, "%s/observed.%d", temporary_folder(), (int)getpid());
    unlink(talk->path);
    talk->recorder = iso_recorder_new_file(talk->path, NULL, &error);
    assert_non_null(talk->recorder);
    observe_shared_init(&talk->shared, talk->recorder, "t");
    talk->world = observe_world_new(&talk->shared);
}

static void logs_in(struct talk *talk)
{
    static const char startup[] = "user\0me\0database\0shop\0";
    talk->observed = observed_new(talk->world, 1, (const uint8_t *)startup, sizeof startup);
    talk->check = "103";
    *talk->asked = 0;
    assert_true(server(talk, 'R', "\0\0\0\0", 4));
    assert_true(server(talk, 'S', "client_encoding\0UTF8\0", 21));
    assert_true(server(talk, 'S', "standard_conforming_strings\0on\0", 31));
    assert_true(server(talk, 'Z', "I", 1));
}

static void begin(struct talk *talk)
{
    opens(talk);
    logs_in(talk);
    /* public.kv (k int primary key, v int), and the same table once more under another name */
    assert_string_equal(talk->asked, "QQS");
    own(talk, 1, (const char *const[]){"0"});
    closed(talk);
    assert_false(server(talk, '1', "", 0));
    assert_false(server(talk, '2', "", 0));
    generation(talk);
    column(talk, "20000", "kv", "t", "1", "k", "1");
    column(talk, "20000", "kv", "t", "2", "v", "1");
    column(talk, "20001", "seen", "f", "1", "k", "");
    assert_false(server(talk, 'C', "SELECT 3", 9));
    closed(talk);
    *talk->asked = 0;
    assert_false(server(talk, 'Z', "I", 1));
    assert_string_equal(talk->asked, "");
}

/* The last question, before the session's end, finds the catalog as it was. */
static void stays(struct talk *talk)
{
    client(talk, 'X', "", 0);
    if (!*talk->asked)
        return;
    answers(talk, 6, (const char *const[]){talk->check, "f", "1", "hex", "f", "f"});
    assert_false(server(talk, 'Z', "I", 1));
}

/* What was recorded, after the session's end. */
static void end(struct talk *talk, const char *expected)
{
    stays(talk);
    observed_free(talk->observed);
    iso_recorder_free(talk->recorder);
    observe_world_free(talk->world);
    observe_shared_release(&talk->shared);
    size_t length;
    char *text = test_read_file(talk->path, &length), *kept = text;
    assert_non_null(text);
    for (char *at = text; *at; at++) /* blank lines fill pages */
        if (*at != '\n' || (kept > text && kept[-1] != '\n'))
            *kept++ = *at;
    *kept = 0;
    assert_string_equal(text, expected);
    free(text);
    unlink(talk->path);
}

static const struct described both[] = {{20000, 1, 23}, {20000, 2, 23}};

static void selects(struct talk *talk, const char *text, const char *key, const char *value,
                    const char *status)
{
    asks(talk, text);
    describes(talk, 2, both);
    if (key)
        row(talk, 2, (const char *const[]){key, value});
    completes(talk, key ? "SELECT 1" : "SELECT 0", status);
}

static void a_transaction_has_its_position_and_its_xid(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    asks(&talk, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    completes(&talk, "BEGIN", "T");
    assert_string_equal(talk.asked, ""); /* no snapshot yet */
    selects(&talk, "SELECT k, v FROM kv WHERE k = 7", "7", "5", "T");
    assert_string_equal(talk.asked, ""); /* but with the next message */
    asks(&talk, "UPDATE kv SET v = 6 WHERE k = 7");
    answers_within(&talk, 2, (const char *const[]){"10:12:11", "repeatable read"});
    completes(&talk, "UPDATE 1", "T");
    selects(&talk, "SELECT k, v FROM kv WHERE k = 8", NULL, NULL, "T");
    assert_string_equal(talk.asked, ""); /* once */
    asks(&talk, "COMMIT");
    answers_within(&talk, 2, (const char *const[]){NULL, " 15"});
    completes(&talk, "COMMIT", "I");
    end(&talk,
        "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"public.kv/7\",\"cells\":{\"v\":\"5\"}},"
        "{\"t\":\"w\",\"row\":\"public.kv/7\"},{\"t\":\"r\",\"row\":\"public.kv/8\",\"v\":null}],\"xid\":\"15\","
        "\"snapshot\":\"10:12:11\",\"status\":\"committed\"}\n");
}

/* Behind a question that the server answered the next one needs no savepoint, until something may
 * have changed who may ask. */
static void what_was_allowed_once_is_asked_without_a_savepoint(void **state)
{
    (void)state;
    struct talk talk;
    struct iso_text expected = {0};
    begin(&talk);
    for (int i = 0; i < 4; i++) {
        if (i == 2) {
            asks(&talk, "SET ROLE another");
            completes(&talk, "SET", "I");
        }
        asks(&talk, "BEGIN ISOLATION LEVEL SERIALIZABLE");
        if (*talk.asked) { /* whether the catalog is what it was */
            answers(&talk, 6, (const char *const[]){"103", "f", "1", "hex", "f", "f"});
            assert_false(server(&talk, 'Z', "I", 1));
        }
        completes(&talk, "BEGIN", "T");
        asks(&talk, "UPDATE kv SET v = 6 WHERE k = 7");
        completes(&talk, "UPDATE 1", "T");
        asks(&talk, i == 3 ? "ROLLBACK" : "COMMIT");
        assert_string_equal(talk.asked, i % 2 ? "QS" : "QQSQQS");
        *talk.asked = 0;
        if (i % 2 == 0)
            own(&talk, 0, NULL);
        own(&talk, 2, (const char *const[]){"10:12:11", "serializable 15"});
        assert_false(server(&talk, 'Z', "T", 1));
        if (i % 2 == 0)
            ends_guard(&talk);
        completes(&talk, i == 3 ? "ROLLBACK" : "COMMIT", "I");
        iso_text_format(
            &expected,
            "{\"sid\":\"t/1\",\"tid\":\"t/1.%d\",\"sno\":%d,\"ops\":[{\"t\":\"w\",\"row\":\"public.kv/7\"}]%s,"
            "\"snapshot\":\"10:12:11\",\"status\":\"%s\"}\n",
            i, i, i == 3 ? "" : ",\"xid\":\"15\"", i == 3 ? "aborted" : "committed");
    }
    iso_text_put_bytes(&expected, "", 1);
    end(&talk, expected.bytes);
    iso_text_release(&expected);
}

static void at_read_committed_nothing_is_asked_of_a_reader(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
    completes(&talk, "BEGIN", "T");
    selects(&talk, "SELECT k, v FROM kv WHERE k = 7", "7", "5", "T");
    assert_string_equal(talk.asked, "");
    asks(&talk, "COMMIT");
    assert_string_equal(talk.asked, "");
    completes(&talk, "COMMIT", "I");
    asks(&talk,
         "SELECT k, v FROM kv WHERE v > 4"); /* and before it, whether the catalog is what it was */
    answers(&talk, 6, (const char *const[]){"103", "f", "1", "hex", "f", "f"});
    assert_false(server(&talk, 'Z', "I", 1));
    describes(&talk, 2, both);
    row(&talk, 2, (const char *const[]){"7", "5"});
    completes(&talk, "SELECT 1", "I");
    end(&talk,
        "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"public.kv/7\",\"cells\":{\"v\":\"5\"}}],"
        "\"status\":\"committed\"}\n"
        "{\"sid\":\"t/1\",\"tid\":\"t/1.1\",\"sno\":1,\"ops\":[{\"t\":\"q\",\"table\":\"public.kv\",\"where\":\"\\\"v\\\" > 4\","
        "\"rows\":{\"7\":{\"v\":\"5\"}}}],\"status\":\"committed\"}\n");
}

static void tests_are_recorded_in_one_form_each(void **state)
{
    static const char *const tests[][2] = {
        {"v = ANY (ARRAY[5, 6])", "\\\"v\\\" IN (5, 6)"},
        {"v IN (5)", "\\\"v\\\" IN (5)"},
        {"v IS DISTINCT FROM 4", "\\\"v\\\" IS DISTINCT FROM 4"},
        {"v IS NOT DISTINCT FROM NULL", "\\\"v\\\" IS NOT DISTINCT FROM NULL"}};
    struct iso_text expected = {0};
    struct talk talk;
    (void)state;
    begin(&talk);
    asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
    completes(&talk, "BEGIN", "T");
    iso_text_put(&expected, "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT k, v FROM kv WHERE %s", tests[i][0]);
        selects(&talk, sql, "7", "5", "T");
        iso_text_format(&expected,
                        "%s{\"t\":\"q\",\"table\":\"public.kv\",\"where\":\"%s\","
                        "\"rows\":{\"7\":{\"v\":\"5\"}}}",
                        i ? "," : "", tests[i][1]);
    }
    asks(&talk, "COMMIT");
    completes(&talk, "COMMIT", "I");
    iso_text_put(&expected, "],\"status\":\"committed\"}\n");
    iso_text_put_bytes(&expected, "", 1);
    end(&talk, expected.bytes);
    iso_text_release(&expected);
}

/* The client cancelled, or its timeout was over: its transaction goes on, and what was asked is not
 * known. */
static void a_question_that_fails_is_nobodys_trouble(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    asks(&talk, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    completes(&talk, "BEGIN", "T");
    selects(&talk, "SELECT k, v FROM kv WHERE k = 7", "7", "5", "T");
    asks(&talk, "SELECT k, v FROM kv WHERE k = 8");
    guards(&talk);
    closed(&talk);
    assert_false(server(&talk, '1', "", 0));
    assert_false(server(&talk, '2', "", 0));
    assert_false(server(&talk, 'E', "SERROR\0C57014\0\0", 15));
    assert_false(server(&talk, 'Z', "E", 1));
    ends_guard(&talk);
    describes(&talk, 2, both);
    completes(&talk, "SELECT 0", "T");
    asks(&talk, "COMMIT");
    assert_string_equal(talk.asked, "");
    completes(&talk, "COMMIT", "I");
    assert_int_equal(talk.world->counts.questions_failed, 1);
    end(&talk,
        "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"public.kv/7\",\"cells\":{\"v\":\"5\"}},"
        "{\"t\":\"r\",\"row\":\"public.kv/8\",\"v\":null}],\"status\":\"committed\"}\n");
}

/* The savepoint itself fails, and with it the client's transaction: the statement that it stood
 * before has that error, a COMMIT, too; what goes on without one does. */
static void a_savepoint_that_fails_fails_the_statement(void **state)
{
    static const struct {
        const char *sql;
        char type;
        const char *answer, *passed, *status;
    } cases[] = {{"SELECT k, v FROM kv WHERE k = 8", 'E', "C25P02", "E C57014", "E"},
                 {"COMMIT", 'C', "ROLLBACK", "E C57014", "I"},
                 {"COMMIT; SELECT 1", 'C', "ROLLBACK", "C ROLLBACK", "I"},
                 {"COMMIT AND CHAIN", 'C', "ROLLBACK", "C ROLLBACK", "T"},
                 {"ROLLBACK", 'C', "ROLLBACK", "C ROLLBACK", "I"},
                 {"nonsense", 'E', "C42601", "E C42601", "E"}};
    static const char record[] =
        "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"public.kv/7\",\"cells\":{\"v\":\"5\"}}],"
        "\"status\":\"aborted\"}\n";
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct talk talk;
        begin(&talk);
        asks(&talk, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        completes(&talk, "BEGIN", "T");
        selects(&talk, "SELECT k, v FROM kv WHERE k = 7", "7", "5", "T");
        asks(&talk, cases[i].sql);
        fails_own(&talk, "C57014");
        fails_own(&talk, "C3B001"); /* there is no savepoint to go back to */
        assert_true(server(&talk, cases[i].type, cases[i].answer, strlen(cases[i].answer) + 1));
        assert_string_equal(talk.passed, cases[i].passed);
        server(&talk, 'Z', cases[i].status, 1);
        end(&talk,
            *cases[i].status == 'I' ? record : ""); /* else nobody was asked if it is right */
    }
}

/* What failed, what was rolled back, what may be old, what stands twice, and what another
 * connection may mean. */
static void what_is_not_certain_is_left_out(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
    completes(&talk, "BEGIN", "T");
    asks(&talk, "SAVEPOINT a");
    completes(&talk, "SAVEPOINT", "T");
    selects(&talk, "SELECT k, v FROM kv WHERE k = 1", "1", "1", "T");
    asks(&talk, "SELECT k, v FROM kv WHERE k = 2");
    describes(&talk, 2, both);
    row(&talk, 2, (const char *const[]){"2", "2"});
    server(&talk, 'E', "SERROR\0\0", 9);
    server(&talk, 'Z', "E", 1);
    asks(&talk, "ROLLBACK TO a");
    completes(&talk, "ROLLBACK", "T");
    selects(&talk, "SELECT a.k, a.v FROM kv a, kv b WHERE a.k = b.k", "3", "3", "T");
    selects(&talk, "SELECT k, v FROM kv GROUP BY ROLLUP (k, v)", "5", "5", "T");
    selects(&talk, "SELECT k, v FROM kv WHERE k ~ 1", NULL, NULL,
            "T"); /* an operator that is no bound */
    asks(&talk, "DECLARE c CURSOR FOR SELECT k, v FROM kv");
    completes(&talk, "DECLARE CURSOR", "T");
    asks(&talk, "UPDATE kv SET v = 9 WHERE k = 6");
    completes(&talk, "UPDATE 1", "T");
    asks(&talk, "FETCH 1 FROM c");
    describes(&talk, 2, both);
    row(&talk, 2, (const char *const[]){"6", "6"});
    completes(&talk, "FETCH 1", "T");
    selects(&talk, "SELECT k, v FROM kv WHERE k = 7", "7", "7", "T");
    selects(&talk, "WITH x AS (UPDATE kv SET v = 4 RETURNING k, v) SELECT k, v FROM x", "4", "4",
            "T");
    asks(&talk, "ROLLBACK");
    completes(&talk, "ROLLBACK", "I");
    end(&talk,
        "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[{\"t\":\"w\",\"row\":\"public.kv/6\"},"
        "{\"t\":\"r\",\"row\":\"public.kv/7\",\"cells\":{\"v\":\"7\"}}],\"status\":\"aborted\"}\n");
}

/* What a reader lists waits for what is asked behind its end, and not for what was asked before. It
 * is left out where that is not as it was, and with it the record, whose number is the next one's:
 * none is missing. */
static void a_reader_that_is_not_confirmed_has_no_record(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct talk talk;
        begin(&talk);
        asks(&talk, "CREATE TABLE another (k int)"); /* what a session made is asked for before its
                                                        next statement */
        completes(&talk, "CREATE TABLE", "I");
        talk.observed->database->is_stale = false;
        asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
        answers(&talk, 6,
                (const char *const[]){"3", "f", "1", "hex", "f",
                                      "f"}); /* nothing was used but what is no table's */
        assert_false(server(&talk, 'Z', "I", 1));
        completes(&talk, "BEGIN", "T");
        selects(&talk, "SELECT k, v FROM kv WHERE k = 7", "7", "5", "T");
        asks(&talk, "COMMIT");
        completes(&talk, "COMMIT", "I");
        const struct observe_held *held = &talk.observed->waiting;
        assert_non_null(held->catalog);
        assert_true(held->at > held->catalog->confirmed_at);
        assert_true(held->catalog->confirmed_at > 0);
        talk.check = i ? "4" : talk.check; /* the table is another one by now */
        end(&talk,
            i ? ""
              : "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"public.kv/7\","
                "\"cells\":{\"v\":\"5\"}}],\"status\":\"committed\"}\n");
    }
}

static void a_connection_that_is_lost_in_commit_leaves_it_unknown(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
    completes(&talk, "BEGIN", "T");
    asks(&talk, "DELETE FROM kv WHERE k = 6");
    completes(&talk, "DELETE 1", "T");
    asks(&talk, "COMMIT");
    answers_within(&talk, 2, (const char *const[]){NULL, " 15"});
    end(&talk,
        "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[],\"xid\":\"15\",\"writes\":\"cdc\","
        "\"status\":\"unknown\"}\n"); /* nobody could be asked whether the catalog is what it was */
}

static void a_transaction_that_is_no_longer_observed_has_no_record(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
    completes(&talk, "BEGIN", "T");
    asks(&talk, "DELETE FROM kv WHERE k = 6");
    completes(&talk, "DELETE 1", "T");
    observed_stop(talk.observed);
    assert_true(observed_is_over(talk.observed));
    end(&talk, ""); /* it may commit yet: nobody knows */
}

/* Parse declares the parameter's type, or the server says it. */
static void prepared_statements_have_parameters_and_portals(void **state)
{
    (void)state;
    for (int declares = 0; declares < 2; declares++) {
        struct talk talk;
        begin(&talk);
        static const char parse[] = "s\0SELECT k, v FROM kv WHERE k = $1\0\0\1\0\0\0\x17",
                          silent[] = "s\0SELECT k, v FROM kv WHERE k = $1\0\0",
                          bind[] = "\0s\0\0\1\0\1\0\1\0\0\0\4\0\0\0\7\0\0", describe[] = "P\0",
                          execute[] = "\0\0\0\0\0";
        client(&talk, 'P', declares ? parse : silent,
               declares ? sizeof parse - 1 : sizeof silent - 1);
        if (!declares)
            client(&talk, 'D', "Ss", 3);
        client(&talk, 'B', bind, sizeof bind - 1);
        client(&talk, 'D', describe, sizeof describe - 1);
        client(&talk, 'E', execute, sizeof execute - 1);
        client(&talk, 'S', "", 0);
        assert_true(server(&talk, '1', "", 0));
        if (!declares) {
            assert_true(server(&talk, 't', "\0\1\0\0\0\x17", 6));
            describes(&talk, 1, both + 1);
        }
        assert_true(server(&talk, '2', "", 0));
        describes(&talk, 1, both + 1); /* the key is not in the result: WHERE has it */
        row(&talk, 1, (const char *const[]){"5"});
        completes(&talk, "SELECT 1", "I");
        assert_false(observed_is_over(talk.observed));
        end(&talk,
            "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"row\":\"public.kv/7\",\"cells\":{\"v\":\"5\"}}],"
            "\"status\":\"committed\"}\n");
    }
}

static void a_read_whose_record_does_not_go_out_is_counted_as_withdrawn(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        struct talk talk;
        begin(&talk);
        asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
        completes(&talk, "BEGIN", "T");
        selects(&talk, "SELECT k, v FROM kv WHERE k = 7", "7", "5", "T");
        if (writes) {
            asks(&talk, "UPDATE kv SET v = 5");
            completes(&talk, "UPDATE 3", "T");
        }
        asks(&talk, "PREPARE TRANSACTION 'x'");
        completes(&talk, "PREPARE TRANSACTION", "I");
        assert_int_equal(talk.world->counts.recorded, 1);
        assert_int_equal(talk.world->counts.withdrawn, writes);
        end(&talk, writes ? ""
                          : "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[{\"t\":\"r\","
                            "\"row\":\"public.kv/7\",\"cells\":{\"v\":\"5\"}}],"
                            "\"status\":\"unknown\"}\n");
    }
}

/* At READ COMMITTED a row that FOR UPDATE waited for is newer than what stands beside it. */
static void locked_rows_beside_others_are_of_one_moment_only_in_a_snapshot(void **state)
{
    (void)state;
    static const char *const locking[] = {
        "SELECT kv.k, kv.v FROM kv JOIN seen USING (k) FOR UPDATE OF kv",
        "SELECT k, v FROM kv FOR KEY SHARE"}; /* which does not keep others from writing them */
    static const char *const begins[] = {"BEGIN ISOLATION LEVEL READ COMMITTED", "BEGIN",
                                         "BEGIN ISOLATION LEVEL REPEATABLE READ",
                                         "BEGIN ISOLATION LEVEL REPEATABLE READ"};
    for (int i = 0; i < 8; i++) {
        struct talk talk;
        bool is_snapshot = i % 4 == 3;
        begin(&talk);
        if (i % 4 == 1) { /* a default that is undone */
            asks(&talk, "BEGIN");
            completes(&talk, "BEGIN", "T");
            asks(&talk, "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE");
            completes(&talk, "SET", "T");
            asks(&talk, "ROLLBACK");
            completes(&talk, "ROLLBACK", "I");
        }
        asks(&talk, begins[i % 4]);
        completes(&talk, "BEGIN", "T");
        if (i % 4 == 2) {
            asks(&talk, "SET transaction_isolation = 'read committed'");
            completes(&talk, "SET", "T");
        }
        selects(&talk, locking[i / 4], "7", "5", "T");
        assert_int_equal(talk.world->counts.recorded, is_snapshot);
        observed_stop(talk.observed);
        *talk.asked = 0;
        observed_free(talk.observed);
        iso_recorder_free(talk.recorder);
        observe_world_free(talk.world);
        observe_shared_release(&talk.shared);
        unlink(talk.path);
    }
}

/* A portal that was bound to COMMIT before the transaction failed cannot run in it, which goes on.
 */
static void a_commit_that_is_refused_has_ended_nothing_yet(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    static const char parse[] = "\0COMMIT\0\0\0", bind[] = "a\0\0\0\0\0\0\0\0",
                      execute[] = "a\0\0\0\0\0";
    asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
    completes(&talk, "BEGIN", "T");
    client(&talk, 'P', parse, sizeof parse - 1);
    client(&talk, 'B', bind, sizeof bind - 1);
    client(&talk, 'S', "", 0);
    assert_true(server(&talk, '1', "", 0));
    assert_true(server(&talk, '2', "", 0));
    assert_true(server(&talk, 'Z', "T", 1));
    static const char *const refused[] = {"SELECT 1 / 0", NULL};
    for (int i = 0; i < 2; i++) {
        if (refused[i]) {
            asks(&talk, refused[i]);
        } else {
            client(&talk, 'E', execute, sizeof execute - 1);
            client(&talk, 'S', "", 0);
        }
        assert_true(server(&talk, 'E', "SERROR\0C55000\0\0", 15));
        assert_true(server(&talk, 'Z', "E", 1));
    }
    asks(&talk, "ROLLBACK");
    completes(&talk, "ROLLBACK", "I");
    assert_false(observed_is_over(talk.observed));
    assert_int_equal(talk.world->counts.aborted, 1);
    end(&talk, "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[],\"status\":\"aborted\"}\n");
}

/* What PREPARE made a message of the protocol can run, and the cursor of a DECLARE: it may be
 * anything. */
static void what_sql_made_is_run_unseen(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    static const char parse[] = "s\0BEGIN\0\0\0", bind[] = "\0s\0\0\0\0\0\0\0",
                      execute[] = "\0\0\0\0\0", of_cursor[] = "c\0\0\0\0\1";
    client(&talk, 'P', parse, sizeof parse - 1);
    client(&talk, 'S', "", 0);
    assert_true(server(&talk, '1', "", 0));
    assert_true(server(&talk, 'Z', "I", 1));
    asks(&talk, "DEALLOCATE s");
    completes(&talk, "DEALLOCATE", "I");
    asks(&talk, "PREPARE s AS SELECT k, v FROM kv");
    completes(&talk, "PREPARE", "I");
    client(&talk, 'B', bind, sizeof bind - 1);
    client(&talk, 'E', execute, sizeof execute - 1);
    client(&talk, 'S', "", 0);
    assert_true(server(&talk, '2', "", 0));
    row(&talk, 2, (const char *const[]){"7", "5"});
    completes(&talk, "SELECT 1", "I");
    asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
    answers(&talk, 6, (const char *const[]){NULL, "f", "1", "hex", "t", "f"});
    assert_false(server(&talk, 'Z', "I", 1));
    completes(&talk, "BEGIN", "T");
    asks(&talk, "DECLARE c CURSOR FOR SELECT k, v FROM kv");
    completes(&talk, "DECLARE CURSOR", "T");
    client(&talk, 'E', of_cursor, sizeof of_cursor - 1);
    client(&talk, 'S', "", 0);
    row(&talk, 2, (const char *const[]){"7", "5"});
    assert_true(server(&talk, 's', "", 0));
    assert_true(server(&talk, 'Z', "T", 1));
    selects(&talk, "FETCH FROM c", "8", "5", "T");
    asks(&talk, "ROLLBACK");
    completes(&talk, "ROLLBACK", "I");
    assert_false(observed_is_over(talk.observed));
    end(&talk, "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[],\"status\":\"aborted\"}\n");
}

/* What was sent before the client knew of the error, and behind it, has no answers. */
static void behind_an_error_all_is_skipped_until_sync(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    static const char parse[] = "\0SELECT k, v FROM kv WHERE k = 7\0\0\0",
                      bind[] = "\0\0\0\0\0\0\0\0", execute[] = "\0\0\0\0\0";
    for (int fails = 1; fails >= 0; fails--) {
        client(&talk, 'P', parse, sizeof parse - 1);
        if (fails)
            assert_true(server(&talk, 'E', "SERROR\0C42601\0\0", 15));
        client(&talk, 'B', bind, sizeof bind - 1);
        client(&talk, 'E', execute, sizeof execute - 1);
        client(&talk, 'S', "", 0);
        if (!fails) {
            assert_true(server(&talk, '1', "", 0));
            assert_true(server(&talk, '2', "", 0));
            server(&talk, 'C', "SELECT 0", 9);
        }
        assert_true(server(&talk, 'Z', "I", 1));
    }
    assert_int_equal(talk.world->counts.statements, 1);
    assert_false(observed_is_over(talk.observed));
    end(&talk, "");
}

static void an_answer_that_does_not_fit_ends_the_observing(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    asks(&talk, "SELECT 1");
    assert_true(server(&talk, '2', "", 0));
    assert_true(observed_is_over(talk.observed));
    end(&talk, "");
}

/* A server that is ready in the middle of an answer to the observer, and then goes on with it. */
static void an_answer_that_ends_too_early_ends_the_observing(void **state)
{
    (void)state;
    struct talk talk;
    opens(&talk);
    logs_in(&talk);
    assert_string_equal(talk.asked, "QQS");
    own(&talk, 1, (const char *const[]){"0"});
    closed(&talk);
    assert_false(server(&talk, '1', "", 0));
    assert_false(server(&talk, '2', "", 0));
    assert_false(server(&talk, 'Z', "I", 1));
    assert_false(server(&talk, 'X', "", 0));
    column(&talk, "20000", "kv", "t", "1", "k", "1");
    assert_int_equal(talk.world->counts.lost, 1);
    end(&talk, "");
}

/* A transaction that may be committed behind what its session does next, or that sees less than what its session did before. */
static void what_does_not_follow_in_its_session_has_no_record(void **state)
{
    static const char *const statements[][2] = {
        {"SELECT k, v FROM kv WHERE k = 7", "SELECT 0"},
        {"UPDATE kv SET v = 5", "UPDATE 3"},
        {"SET TRANSACTION SNAPSHOT '00000003-0000001B-1'", "SET"}};
    (void)state;
    for (int writes = 0; writes < 3; writes++) {
        struct talk talk;
        begin(&talk);
        asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
        completes(&talk, "BEGIN", "T");
        asks(&talk, statements[writes][0]);
        completes(&talk, statements[writes][1], "T");
        asks(&talk, "PREPARE TRANSACTION 'x'");
        assert_string_equal(talk.asked, "");
        completes(&talk, "PREPARE TRANSACTION", "I");
        assert_int_equal(talk.world->counts.unidentified, writes > 0);
        end(&talk,
            writes
                ? ""
                : "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[],\"status\":\"unknown\"}\n");
    }
}

/* Each statement on a temporary table leaves it unknown what the session sees: who asked before each of them would double them. */
static void only_what_could_be_recorded_asks_what_is_seen(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    for (int i = 0; i < 3; i++) {
        asks(&talk, "INSERT INTO temporary VALUES (1)");
        completes(&talk, "INSERT 0 1", "I");
        assert_string_equal(talk.asked, "");
    }
    asks(&talk, "SELECT k, v FROM kv WHERE k = 7");
    answers(&talk, 6, (const char *const[]){"103", "t", "1", "hex", "f", "f"});
    assert_false(server(&talk, 'Z', "I", 1));
    completes(&talk, "SELECT 0", "I");
    end(&talk, "");
}

/* The one that BEGIN opens behind it has seen nothing, and a question would take its snapshot. */
static void rollback_ends_what_stood_before_it_in_a_string(void **state)
{
    (void)state;
    struct talk talk;
    begin(&talk);
    asks(&talk, "SELECT k, v FROM kv; ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE");
    describes(&talk, 2, both);
    completes(&talk, "SELECT 0", NULL);
    completes(&talk, "ROLLBACK", NULL);
    completes(&talk, "BEGIN", "T");
    asks(&talk, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    assert_string_equal(talk.asked, "");
    completes(&talk, "SET", "T");
    asks(&talk, "ROLLBACK");
    completes(&talk, "ROLLBACK", "I");
    end(&talk, "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[],\"status\":\"aborted\"}\n");
}

/* What a client makes the proxy keep has bounds, beyond which it is passed on unseen: messages that
 * wait, their bytes, names. */
/* Nothing says which rows they are, nor what they hold. */
static void of_rows_that_are_made_of_columns_there_is_a_number(void **state)
{
    static const struct described one = {0, 0, 23};
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"SELECT v + 1 FROM kv", "\"columns\":[],\"bag\":[[],[]]"},
        {"SELECT v + 1 FROM kv LIMIT 2", "\"columns\":[],\"bag\":[[],[]],\"partial\":true"},
        {"SELECT DISTINCT v + 1 FROM kv", NULL},
        {"SELECT max(v) + 1 FROM kv", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct talk talk;
        char expected[200] = "";
        begin(&talk);
        asks(&talk, cases[i].text);
        describes(&talk, 1, &one);
        row(&talk, 1, (const char *const[]){"5"});
        row(&talk, 1, (const char *const[]){NULL});
        completes(&talk, "SELECT 2", "I");
        if (cases[i].expected)
            snprintf(expected, sizeof expected,
                     "{\"sid\":\"t/1\",\"tid\":\"t/1.0\",\"sno\":0,\"ops\":[{\"t\":\"q\",\"table\":"
                     "\"public.kv\",%s}],\"status\":\"committed\"}\n",
                     cases[i].expected);
        end(&talk, expected);
    }
}

/* ---- beside a host that has a connection of its own ---- */

struct host {
    int looks[OBSERVE_LOOK_SEVERAL + 1];
    bool is_dropped;
};

static int admit(void *context, const char *database)
{
    (void)context, (void)database;
    return 0;
}

static void look(void *context, const char *database, enum observe_look what,
                 const struct observe_given *given)
{
    (void)database, (void)given;
    ((struct host *)context)->looks[what]++;
}

static bool tell(void *context, const char *database, const struct observe_asked *asked)
{
    static const char *const rows[][16] = {
        {"0", "g", "", "f", "f", "0", "", "0", "", "f", "f", "f", "", "0", "f", "3"},
        {"20000", "public", "kv", "t", "f", "1", "k", "23", "1", "t", "t", "t", "", "0", "t", "9"},
        {"20000", "public", "kv", "t", "f", "2", "v", "23", "1", "t", "t", "t", "", "0", "t", "9"}};
    (void)database;
    for (int i = 0; i < (((struct host *)context)->is_dropped ? 1 : 3); i++)
        asked->take(asked->context, rows[i]);
    return true;
}

static void begin_beside(struct talk *talk, struct host *host)
{
    *host = (struct host){.is_dropped = false};
    opens(talk);
    talk->shared.host = (struct observe_host){admit, NULL, look, tell, host};
    logs_in(talk);
}

/* A session may end within a transaction, and the table be dropped right behind it: by its last
 * message, or by its connection's end, the host confirms what it read. */
static void what_a_session_read_last_is_confirmed(void **state)
{
    (void)state;
    for (int is_dropped = 0; is_dropped < 2; is_dropped++) {
        struct talk talk;
        struct host host;
        begin_beside(&talk, &host);
        asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
        completes(&talk, "BEGIN", "T");
        selects(&talk, "SELECT k, v FROM kv WHERE k = 7", "7", "5", "T");
        host.is_dropped = is_dropped;
        end(&talk, is_dropped ? ""
                              : "{\"sid\":\"t/0/1\",\"tid\":\"t/0/1.0\",\"sno\":0,\"ops\":[{\"t\":"
                                "\"r\",\"row\":\"public.kv/7\",\"cells\":{\"v\":\"5\"}}],"
                                "\"status\":\"aborted\"}\n");
    }
}

/* What was read is confirmed before a definition goes, also where that was prepared and its
 * transaction is not over. */
static void a_definition_that_was_prepared_is_one(void **state)
{
    static const char parse[] = "s\0DROP TABLE kv\0\0", bind[] = "\0s\0\0\0\0\0\0\0";
    struct talk talk;
    struct host host;
    (void)state;
    begin_beside(&talk, &host);
    client(&talk, 'P', parse, sizeof parse - 1);
    client(&talk, 'S', "", 0);
    assert_true(server(&talk, '1', "", 0));
    assert_true(server(&talk, 'Z', "I", 1));
    asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
    completes(&talk, "BEGIN", "T");
    selects(&talk, "SELECT k, v FROM kv WHERE k = 7", "7", "5", "T");
    const struct catalog *catalog = talk.observed->catalog;
    assert_true(catalog->held_at > catalog->confirmed_at);
    int looks = host.looks[OBSERVE_LOOK_DEFINITION];
    client(&talk, 'B', bind, sizeof bind - 1);
    assert_int_equal(host.looks[OBSERVE_LOOK_DEFINITION], looks + 1);
    assert_true(catalog->held_at < catalog->confirmed_at);
    observed_lose(talk.observed);
    end(&talk, "");
}

/* Nobody else sees them: they are not among the reads that could have been recorded. */
static void reads_of_tables_that_the_transaction_made_are_not_counted(void **state)
{
    static const struct {
        const char *made, *tag, *reads;
        int counted;
    } cases[] = {
        {"CREATE TABLE own (k int)", "CREATE TABLE", "SELECT k FROM own", 0},
        {"CREATE TABLE own AS SELECT 1 k", "SELECT 1", "SELECT k FROM own", 0},
        {"CREATE TABLE own (k int)", "CREATE TABLE", "SELECT k FROM kv", 1},
        {"CREATE TABLE own (k int)", "CREATE TABLE", "SELECT 1 FROM own, kv", 1},
        {"CREATE TABLE own (k int)", "CREATE TABLE", "SELECT own.f FROM own WHERE f(own.k)", 1},
        {"CREATE TABLE IF NOT EXISTS own (k int)", "CREATE TABLE", "SELECT k FROM own", 1},
        {"DECLARE c CURSOR FOR SELECT generate_series(1, 2)", "DECLARE CURSOR", "FETCH 1 FROM c",
         0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct talk talk;
        begin(&talk);
        asks(&talk, "BEGIN ISOLATION LEVEL READ COMMITTED");
        completes(&talk, "BEGIN", "T");
        asks(&talk, cases[i].made);
        completes(&talk, cases[i].tag, "T");
        client(&talk, 'Q', cases[i].reads, strlen(cases[i].reads) + 1);
        while (talk.observed->pending.count && observed_head(talk.observed)->own)
            observed_pop(talk.observed);
        completes(&talk, "SELECT 0", "T");
        assert_int_equal(talk.world->counts.reads, cases[i].counted);
        observed_lose(talk.observed);
        end(&talk, "");
    }
}

static void what_a_client_makes_it_keep_is_bounded(void **state)
{
    static char large[1 << 16], named[32];
    static const struct {
        char type;
        const char *body;
        size_t size;
        int most;
    } cases[] = {
        {'S', "", 0, 1 << 14}, {'B', large, sizeof large, 1 << 8}, {'P', named, 20, 1 << 12}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct talk talk;
        int count = 0;
        begin(&talk);
        for (; !talk.observed->conversation.is_lost && count <= 2 * cases[i].most; count++) {
            size_t length = (size_t)snprintf(named, sizeof named, "%07d", count);
            memcpy(named + length + 1, "SELECT 1\0\0", 11);
            client(&talk, cases[i].type, cases[i].body, cases[i].size);
            if (cases[i].type == 'P') {
                assert_true(server(&talk, '1', "", 0));
                client(&talk, 'S', "", 0);
                assert_true(server(&talk, 'Z', "I", 1));
            }
        }
        assert_in_range(count, cases[i].most / 2, cases[i].most + 1);
        assert_true(talk.observed->pending.bytes <= (1 << 24) + sizeof large + 1);
        end(&talk, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transaction_has_its_position_and_its_xid),
        cmocka_unit_test(what_was_allowed_once_is_asked_without_a_savepoint),
        cmocka_unit_test(at_read_committed_nothing_is_asked_of_a_reader),
        cmocka_unit_test(tests_are_recorded_in_one_form_each),
        cmocka_unit_test(a_question_that_fails_is_nobodys_trouble),
        cmocka_unit_test(a_savepoint_that_fails_fails_the_statement),
        cmocka_unit_test(what_is_not_certain_is_left_out),
        cmocka_unit_test(a_reader_that_is_not_confirmed_has_no_record),
        cmocka_unit_test(a_connection_that_is_lost_in_commit_leaves_it_unknown),
        cmocka_unit_test(a_transaction_that_is_no_longer_observed_has_no_record),
        cmocka_unit_test(prepared_statements_have_parameters_and_portals),
        cmocka_unit_test(a_read_whose_record_does_not_go_out_is_counted_as_withdrawn),
        cmocka_unit_test(locked_rows_beside_others_are_of_one_moment_only_in_a_snapshot),
        cmocka_unit_test(a_commit_that_is_refused_has_ended_nothing_yet),
        cmocka_unit_test(what_sql_made_is_run_unseen),
        cmocka_unit_test(behind_an_error_all_is_skipped_until_sync),
        cmocka_unit_test(an_answer_that_does_not_fit_ends_the_observing),
        cmocka_unit_test(an_answer_that_ends_too_early_ends_the_observing),
        cmocka_unit_test(what_does_not_follow_in_its_session_has_no_record),
        cmocka_unit_test(only_what_could_be_recorded_asks_what_is_seen),
        cmocka_unit_test(rollback_ends_what_stood_before_it_in_a_string),
        cmocka_unit_test(of_rows_that_are_made_of_columns_there_is_a_number),
        cmocka_unit_test(what_a_session_read_last_is_confirmed),
        cmocka_unit_test(a_definition_that_was_prepared_is_one),
        cmocka_unit_test(reads_of_tables_that_the_transaction_made_are_not_counted),
        cmocka_unit_test(what_a_client_makes_it_keep_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
