/* Debezium in JSON: every kind of message, as PostgreSQL's, MySQL's and MariaDB's connectors write
 * it. */
#include "connectors/debezium/debezium.h"
#include "tests/support/archived.h"
#include "tests/support/decoder_case.h"

#define SOURCE(snapshot, sequence, xid, lsn)                                                                         \
    "\"source\":{\"version\":\"3.7.0.Final\",\"connector\":\"postgresql\",\"name\":\"dbz\",\"ts_ms\":1795252007426," \
    "\"snapshot\":" snapshot ",\"db\":\"bank\",\"sequence\":" sequence                                               \
    ",\"ts_us\":1795252007426130,"                                                                                   \
    "\"schema\":\"public\",\"table\":\"kv\",\"txId\":" xid ",\"lsn\":" lsn                                           \
    ",\"xmin\":null,\"origin\":null}"
#define STREAMED SOURCE("\"false\"", "\"[\\\"26673544\\\",\\\"26673992\\\"]\"", "749", "26673992")
#define TRANSACTION                                                                                \
    "\"transaction\":{\"id\":\"749:26673992\",\"total_order\":3,\"data_collection_order\":2}"
#define ENVELOPE(op, before, after)                                                                \
    "{\"before\":" before ",\"after\":" after "," STREAMED "," TRANSACTION ",\"op\":\"" op         \
    "\",\"ts_ms\":1795252007737}"

static const struct iso_decoder_options by_column = {.value = "v"},
                                        whole = {.value = "v", .identity = ISO_IDENTITY_FULL};

static void takes_rows(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, whole);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("c", "null", "{\"k\":2,\"v\":7,\"note\":\"w\"}")),
        "row c dbz public.kv public.kv/2 before - after 7 id 749 at 26673544,26673992 #3");
    assert_string_equal(
        case_decode(
            &test, "{\"k\":2}",
            ENVELOPE("u", "{\"k\":2,\"v\":7,\"note\":\"w\"}", "{\"k\":2,\"v\":8,\"note\":\"w\"}")),
        "row u dbz public.kv public.kv/2 before 7 after 8 id 749 at 26673544,26673992 #3");
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("d", "{\"k\":2,\"v\":8,\"note\":\"w\"}", "null")),
        "row d dbz public.kv public.kv/2 before 8 after - id 749 at 26673544,26673992 #3");
    assert_string_equal(case_decode(&test, "{\"k\":2}", NULL), "ignored: tombstone");
    case_close(&test);
}

/* With a schema: `v` of a type, `n` that may be null, `w` that may be, but has a default. */
#define FIELD(name, type, more) "{\"type\":\"" type "\",\"field\":\"" name "\"" more "}"
#define TYPED(op, before, type)                                                                                                                                 \
    "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"type\":\"struct\",\"field\":\"after\",\"fields\":[" FIELD(                                                 \
        "k", "int32",                                                                                                                                           \
        "") "," FIELD("v", type,                                                                                                                                \
                      ",\"optional\":false") "," FIELD("n", "int32",                                                                                            \
                                                       ",\"optional\":true") "," FIELD("w",                                                                     \
                                                                                       "int32",                                                                 \
                                                                                       ",\"optional\":true,\"default\":5") "]}]},\"payload\":" ENVELOPE(op,     \
                                                                                                                                                        before, \
                                                                                                                                                        "{\"k\":2,\"v\":8,\"n\":1,\"w\":5}") "}"

static void takes_whole_rows(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.identity = ISO_IDENTITY_FULL});
    assert_string_equal(
        case_decode(&test, "{\"b\":\"x/y\",\"a\":1}",
                    ENVELOPE("u", "{\"a\":1,\"b\":\"x/y\",\"v\":7,\"n\":1.50}",
                             "{\"a\":1,\"b\":\"x/y\",\"v\":18446744073709551615,\"n\":null}")),
        "row u dbz public.kv public.kv/x%2Fy,1 before {\"n\":1.5,\"v\":7} "
        "after {\"n\":null,\"v\":18446744073709551615} id 749 at 26673544,26673992 #3");
    case_close(&test);
}

/* Null, the empty text and 0 are three values; a row whose column is null has no value. */
static void tells_null_from_empty(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.value = "v", .identity = ISO_IDENTITY_FULL});
    assert_string_equal(
        case_decode(&test, "{\"k\":2}",
                    ENVELOPE("u", "{\"k\":2,\"v\":null}", "{\"k\":2,\"v\":\"\"}")),
        "row u dbz public.kv public.kv/2 before - after  id 749 at 26673544,26673992 #3");
    assert_string_equal(
        case_decode(&test, "{\"k\":2}",
                    ENVELOPE("u", "{\"k\":2,\"v\":\"\"}", "{\"k\":2,\"v\":\"0\"}")),
        "row u dbz public.kv public.kv/2 before  after 0 id 749 at 26673544,26673992 #3");
    case_close(&test);
}

static void takes_snapshots(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
#define SNAPSHOT(mark, op)                                                                         \
    "{\"before\":null,\"after\":{\"k\":1,\"v\":-1}," SOURCE(                                       \
        mark, "\"[null,\\\"26392688\\\"]\"", "732",                                                \
        "26392688") ",\"transaction\":null,\"op\":\"" op "\",\"ts_ms\":1}"
#define ROW "row r dbz public.kv public.kv/1 after -1"
    assert_string_equal(case_decode(&test, "{\"k\":1}", SNAPSHOT("\"first\"", "r")), ROW " by 732");
    assert_string_equal(
        case_decode(&test, "{\"k\":1}", SNAPSHOT("\"first_in_data_collection\"", "r")),
        ROW " by 732");
    assert_string_equal(
        case_decode(&test, "{\"k\":1}", SNAPSHOT("\"last_in_data_collection\"", "r")),
        ROW " ends-table by 732");
    assert_string_equal(case_decode(&test, "{\"k\":1}", SNAPSHOT("\"last\"", "r")),
                        ROW " ends-table ends-snapshot by 732");
    assert_string_equal(case_decode(&test, "{\"k\":1}", SNAPSHOT("true", "c")), ROW " by 732");
    assert_string_equal(case_decode(&test, "{\"k\":1}", SNAPSHOT("\"incremental\"", "r")),
                        ROW " incremental at 0,26392688");
    /* the first transaction of a slot has no previous one; what is no snapshot is said in several
     * ways */
    const char *inserted = "row c dbz public.kv public.kv/1 before - after -1 id 732 at 0,26392688";
    assert_string_equal(case_decode(&test, "{\"k\":1}", SNAPSHOT("null", "c")), inserted);
    assert_string_equal(case_decode(&test, "{\"k\":1}", SNAPSHOT("false", "c")), inserted);
    assert_string_equal(case_decode(&test, "{\"k\":1}", SNAPSHOT("\"false\"", "c")), inserted);
    case_close(&test);
}

/* A key that changes comes as a delete and an insert; headers say more than anyone needs. */
static void takes_changes_of_keys(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, whole);
    struct iso_header header = {.name = case_text("__debezium.newkey"),
                                .value = case_text("{\"k\":3}")};
    const char *deleted = ENVELOPE("d", "{\"k\":2,\"v\":8}", "null");
    struct iso_message message = {.topic = "dbz.public.kv",
                                  .headers = &header,
                                  .header_count = 1,
                                  .key = case_text("{\"k\":2}"),
                                  .payload = case_text(deleted)};
    assert_int_equal(iso_debezium_decoder.decode(test.decoder, &message, &test.events, &test.error),
                     ISO_OK);
    event_text(&test.events, test.text, sizeof test.text);
    assert_string_equal(
        test.text,
        "row d dbz public.kv public.kv/2 before 8 after - id 749 at 26673544,26673992 #3");
    assert_string_equal(
        case_decode(&test, "{\"k\":3}", ENVELOPE("c", "null", "{\"k\":3,\"v\":8}")),
        "row c dbz public.kv public.kv/3 before - after 8 id 749 at 26673544,26673992 #3");
    case_close(&test);
}

static void trusts_before_images_by_identity(void **state)
{
    (void)state;
    struct decoder_case test;
#define AT " id 749 at 26673544,26673992 #3"
    /* learned by an update that shows a value where null has been seen, and for as long as updates
     * have a row before */
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("u", "null", "{\"k\":2,\"v\":8,\"w\":null}")),
        "row u dbz public.kv public.kv/2 after 8" AT);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("d", "{\"k\":2,\"v\":8,\"w\":\"x\"}", "null")),
        "row d dbz public.kv public.kv/2 after -" AT);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}",
                    ENVELOPE("u", "{\"k\":2,\"v\":8,\"w\":null}", "{\"k\":2,\"v\":9,\"w\":null}")),
        "row u dbz public.kv public.kv/2 after 9" AT);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}",
                    ENVELOPE("u", "{\"k\":2,\"v\":9,\"w\":\"__debezium_unavailable_value\"}",
                             "{\"k\":2,\"v\":8,\"w\":\"x\"}")),
        "row u dbz public.kv public.kv/2 after 8" AT);
    assert_string_equal(case_decode(&test, "{\"k\":2}",
                                    ENVELOPE("u", "{\"k\":2,\"v\":8,\"w\":\"x\"}",
                                             "{\"k\":2,\"v\":9,\"w\":\"x\"}")),
                        "row u dbz public.kv public.kv/2 before 8 after 9" AT);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("d", "{\"k\":2,\"v\":null,\"w\":\"x\"}", "null")),
        "row d dbz public.kv public.kv/2 before - after -" AT);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("u", "null", "{\"k\":2,\"v\":8,\"w\":\"x\"}")),
        "row u dbz public.kv public.kv/2 after 8" AT);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("d", "{\"k\":2,\"v\":8,\"w\":\"x\"}", "null")),
        "row d dbz public.kv public.kv/2 after -" AT);
    case_close(&test);
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.value = "v", .identity = ISO_IDENTITY_DEFAULT});
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("u", "{\"k\":1,\"v\":7}", "{\"k\":2,\"v\":8}")),
        "row u dbz public.kv public.kv/2 after 8" AT);
    case_close(&test);
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.value = "v", .identity = ISO_IDENTITY_FULL});
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", ENVELOPE("d", "{\"k\":2,\"v\":null}", "null")),
        "row d dbz public.kv public.kv/2 before - after -" AT);
    assert_string_equal(case_decode(&test, "{\"k\":2}", ENVELOPE("u", "null", "{\"k\":2,\"v\":8}")),
                        "before: null, expected the whole row because of identity=full");
    case_close(&test);
    /* by a schema that says which columns may be null, and have no default that would stand there
     * instead */
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", TYPED("u", "{\"k\":2,\"v\":1,\"w\":5}", "int32")),
        "row u dbz public.kv public.kv/2 after 8" AT);
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", TYPED("u", "{\"k\":2,\"v\":1,\"n\":5}", "int32")),
        "row u dbz public.kv public.kv/2 before 1 after 8" AT);
    case_close(&test);
}

/* A row that is sent again says what it said before something was learned. */
static void learns_by_position(void **state)
{
    (void)state;
    struct decoder_case test;
#define AT_PLACE(op, before, after, place)                                                         \
    "{\"before\":" before ",\"after\":" after                                                      \
    "," SOURCE("\"false\"", "\"[\\\"100\\\",\\\"" place "\\\"]\"", "7", place) ",\"op\":\"" op     \
                                                                               "\",\"ts_ms\":1}"
#define KNOWN "{\"k\":2,\"v\":8,\"w\":1}"
    const char *first = AT_PLACE("d", KNOWN, "null", "110"),
               *ahead = AT_PLACE("d", KNOWN, "null", "130"),
               *later = AT_PLACE("d", KNOWN, "null", "150");
    const char *teaches = AT_PLACE("u", KNOWN, "{\"k\":2,\"v\":9,\"w\":null}", "120");
    const char *ends = AT_PLACE("u", "null", "{\"k\":2,\"v\":9,\"w\":1}", "160");
    static const char *const unknown = "row d dbz public.kv public.kv/2 after - id 7 at 100,";
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(case_decode(&test, "{\"k\":1}",
                                    AT_PLACE("c", "null", "{\"k\":1,\"v\":1,\"w\":null}", "101")),
                        "row c dbz public.kv public.kv/1 before - after 1 id 7 at 100,101");
    assert_memory_equal(case_decode(&test, "{\"k\":2}", first), unknown, strlen(unknown));
    assert_memory_equal(case_decode(&test, "{\"k\":2}", ahead), unknown,
                        strlen(unknown)); /* another partition */
    for (int round = 0; round < 2; round++) {
        assert_string_equal(case_decode(&test, "{\"k\":2}", teaches),
                            "row u dbz public.kv public.kv/2 after 9 id 7 at 100,120");
        assert_memory_equal(case_decode(&test, "{\"k\":2}", first), unknown, strlen(unknown));
        assert_string_equal(case_decode(&test, "{\"k\":2}", later),
                            "row d dbz public.kv public.kv/2 before 8 after - id 7 at 100,150");
        assert_string_equal(case_decode(&test, "{\"k\":2}", ends),
                            "row u dbz public.kv public.kv/2 after 9 id 7 at 100,160");
        assert_memory_equal(case_decode(&test, "{\"k\":2}", AT_PLACE("d", KNOWN, "null", "170")),
                            unknown, strlen(unknown));
        test.decoder = decoder_archived(test.decoder, &by_column);
    }
    case_close(&test);
}

/* What Debezium 3.7 sends for a DELETE of a table of identity DEFAULT. */
static void takes_placeholders_for_nothing(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){.value = "status"});
    assert_string_equal(
        case_decode(&test, "{\"id\":39}",
                    ENVELOPE("d",
                             "{\"id\":39,\"account_id\":0,\"amount\":\"0.00\",\"status\":\"new\","
                             "\"coupon\":null,\"placed_at\":\"1970-01-01T00:00:00.000000Z\"}",
                             "null")),
        "row d dbz public.kv public.kv/39 after -" AT);
    case_close(&test);
}

/* ---- schemas ---- */

static void tells_new_schemas(void **state)
{
    (void)state;
    struct decoder_case test;
#define MADE(key, after, place)                                                                    \
    case_decode(&test, "{\"k\":" key "}", AT_PLACE("c", "null", after, place))
#define IS(key, place) "row c dbz public.kv public.kv/" key " before - after 1 id 7 at 100," place
#define EPOCH(place) "schema public.kv epoch id 7 at 100," place "\n"
#define RESPELT(column, place)                                                                     \
    "schema public.kv epoch of public.kv#" column " id 7 at 100," place "\n"
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(MADE("1", "{\"k\":1,\"v\":1,\"w\":null}", "110"), IS("1", "110"));
    assert_string_equal(MADE("2", "{\"w\":\"x\",\"k\":2,\"v\":1}", "120"),
                        IS("2", "120")); /* another order */
    assert_string_equal(MADE("3", "{\"k\":3,\"v\":1,\"w\":null}", "130"), IS("3", "130"));
    /* added, renamed, gone, of another type */
    assert_string_equal(MADE("4", "{\"k\":4,\"v\":1,\"w\":\"x\",\"z\":1}", "140"),
                        EPOCH("140") IS("4", "140"));
    assert_string_equal(MADE("5", "{\"k\":5,\"v\":1,\"y\":\"x\",\"z\":1}", "150"),
                        RESPELT("w", "150") EPOCH("150") IS("5", "150"));
    assert_string_equal(MADE("6", "{\"k\":6,\"v\":1,\"z\":1}", "160"),
                        RESPELT("y", "160") EPOCH("160") IS("6", "160"));
    assert_string_equal(MADE("7", "{\"k\":7,\"v\":1,\"z\":1.5}", "170"), IS("7", "170"));
    assert_string_equal(MADE("8", "{\"k\":8,\"v\":1,\"z\":\"NaN\"}", "180"), IS("8", "180"));
    assert_string_equal(MADE("9", "{\"k\":9,\"v\":1,\"z\":\"x\"}", "190"),
                        RESPELT("z", "190") EPOCH("190") IS("9", "190"));
    /* rows of before, out of another partition or sent again */
    assert_string_equal(MADE("4", "{\"k\":4,\"v\":1,\"w\":\"x\",\"z\":1}", "145"), IS("4", "145"));
    assert_string_equal(MADE("9", "{\"k\":9,\"v\":1,\"z\":\"x\"}", "191"), IS("9", "191"));
    test.decoder = decoder_archived(test.decoder, &by_column);
    assert_string_equal(MADE("9", "{\"k\":9,\"v\":1,\"z\":\"x\"}", "192"), IS("9", "192"));
    /* a row that is gone shows it as well, if there is more than its key */
    assert_string_equal(case_decode(&test, "{\"k\":2}", AT_PLACE("d", "{\"k\":2}", "null", "200")),
                        "row d dbz public.kv public.kv/2 after - id 7 at 100,200");
    assert_string_equal(
        case_decode(&test, "{\"k\":2}", AT_PLACE("d", "{\"k\":2,\"v\":1}", "null", "210")),
        RESPELT("z", "210") EPOCH("210") "row d dbz public.kv public.kv/2 after - id 7 at 100,210");
    case_close(&test);
}

static void tells_new_types_by_schemas(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.value = "v", .identity = ISO_IDENTITY_DEFAULT});
    const char *row = "row u dbz public.kv public.kv/2 after 8" AT;
    assert_string_equal(case_decode(&test, "{\"k\":2}", TYPED("u", "null", "int32")), row);
    assert_string_equal(case_decode(&test, "{\"k\":2}", TYPED("u", "null", "int32")), row);
    assert_string_equal(case_decode(&test, "{\"k\":2}", TYPED("u", "null", "int64")),
                        "schema public.kv epoch of public.kv#v id 749 at 26673544,26673992\n"
                        "schema public.kv epoch id 749 at 26673544,26673992\n"
                        "row u dbz public.kv public.kv/2 after 8" AT);
    /* without a schema nothing is known of types */
    assert_string_equal(case_decode(&test, "{\"k\":2}",
                                    ENVELOPE("u", "null", "{\"k\":2,\"v\":8,\"n\":null,\"w\":1}")),
                        row);
    case_close(&test);
}

/* A large column that did not change is not in PostgreSQL's log. */
static void knows_unchanged_columns(void **state)
{
    (void)state;
    struct decoder_case test;
#define UNCHANGED(big) ENVELOPE("u", "null", "{\"k\":2,\"v\":8,\"big\":" big "}")
    const char *changed = UNCHANGED("\"__debezium_unavailable_value\"");
    const char *unchanged =
        ENVELOPE("u", "null", "{\"k\":2,\"v\":\"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==\"}");
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(case_decode(&test, "{\"k\":2}", changed),
                        "row u dbz public.kv public.kv/2 after 8" AT);
    case_close(&test);
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(case_decode(&test, "{\"k\":2}", unchanged),
                        "row u dbz public.kv public.kv/2 after ?" AT);
    case_close(&test);
    const char *forms[] = {
        changed,
        UNCHANGED("[\"__debezium_unavailable_value\"]"),
        UNCHANGED("[ \"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==\" ]"),
        UNCHANGED("{\"__debezium_unavailable_value\": \"__debezium_unavailable_value\"}"),
        UNCHANGED("\"5f5f646562657a69756d5f756e617661696c61626c655f76616c7565\""),
        UNCHANGED(
            "[95, 95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]")};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        case_open(&test, &iso_debezium_decoder, (struct iso_decoder_options){0});
        assert_string_equal(case_decode(&test, "{\"k\":2}", forms[i]),
                            "row u dbz public.kv public.kv/2 after ?" AT);
        case_close(&test);
    }
    case_open(&test, &iso_debezium_decoder, whole);
    assert_string_equal(
        case_decode(
            &test, "{\"k\":2}",
            ENVELOPE("u", "{\"k\":2,\"v\":\"__debezium_unavailable_value\"}", "{\"k\":2,\"v\":8}")),
        "row u dbz public.kv public.kv/2 after 8" AT);
    case_close(&test);
}

static void takes_truncates(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(case_decode(&test, NULL, ENVELOPE("t", "null", "null")),
                        "drop public.kv" AT);
    case_close(&test);
}

static void marks_what_nobody_reports(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.value = "v", .unreported = true});
    assert_string_equal(case_decode(&test, "{\"k\":2}", ENVELOPE("c", "null", "{\"k\":2,\"v\":7}")),
                        "row c dbz public.kv public.kv/2 before - after 7 unreported" AT);
    assert_string_equal(case_decode(&test, NULL, ENVELOPE("t", "null", "null")),
                        "drop public.kv unreported" AT);
    assert_string_equal(case_decode(&test, "{\"k\":2}", NULL), "ignored: tombstone");
    case_close(&test);
}

static void passes_over_rows_without_a_key(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(case_decode(&test, NULL, ENVELOPE("c", "null", "{\"v\":1}")),
                        "ignored: row without a key" AT);
    assert_string_equal(case_decode(&test, "{\"schema\":null,\"payload\":null}",
                                    ENVELOPE("c", "null", "{\"v\":1}")),
                        "ignored: row without a key" AT);
    case_close(&test);
}

static const char *metadata(struct decoder_case *test, const char *payload)
{
    return case_bytes(test, "my.dbz.transaction", case_text("{\"id\":\"571:53195829\"}"),
                      case_text(payload));
}

static void takes_transaction_metadata(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(
        metadata(&test, "{\"status\":\"BEGIN\",\"id\":\"571:53195829\",\"event_count\":null,"
                        "\"data_collections\":null,\"ts_ms\":1486500577125}"),
        "begin id 571 at 0,53195829");
    char digits[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *source =
        iso_atom_text(&test.events.block.atoms, test.events.list[0].source, digits, &length);
    assert_int_equal(length, 6);
    assert_memory_equal(source, "my.dbz", 6);
    assert_string_equal(
        metadata(
            &test,
            "{\"status\":\"END\",\"id\":\"571:53195832\",\"event_count\":2,"
            "\"data_collections\":[{\"data_collection\":\"s1.a\",\"event_count\":2}],\"ts_ms\":1}"),
        "collection s1.a id 571 count 2 at 0,53195832\nend id 571 count 2 at 0,53195832");
    assert_string_equal(
        metadata(&test,
                 "{\"status\":\"END\",\"id\":\"5:7\",\"event_count\":3,\"data_collections\":["
                 "{\"event_count\":1,\"data_collection\":\"s1.a/b\",\"x\":[]}, "
                 "{\"data_collection\":\"a.Monitor$1@1d03\",\"event_count\":2}]}"),
        "collection s1.a%2Fb id 5 count 1 at 0,7\ncollection a.Monitor$1@1d03 id 5 count 2 at 0,7\n"
        "end id 5 count 3 at 0,7");
    static const char *const wrong[] = {"{}",
                                        "7",
                                        "[7]",
                                        "[{\"data_collection\":\"a.b\"},null]",
                                        "[{\"event_count\":1}]",
                                        "[{\"data_collection\":\"a\",\"event_count\":-1}]",
                                        "[{\"data_collection\":\"a\",\"event_count\":4294967296}]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char payload[200];
        snprintf(payload, sizeof payload,
                 "{\"status\":\"END\",\"id\":\"5:7\",\"event_count\":3,\"data_collections\":%s}",
                 wrong[i]);
        assert_string_equal(
            metadata(&test, payload),
            "data_collections: expected [{\"data_collection\":\"SCHEMA.TABLE\",\"event_count\":N},...]");
    }
    assert_string_equal(
        metadata(
            &test,
            "{\"status\":\"END\",\"id\":\"3E11FA47-71CA-11E1-9E33-C80AA9429562:23\",\"event_count\":0}"),
        "end id 3E11FA47-71CA-11E1-9E33-C80AA9429562:23 count 0");
    assert_string_equal(
        metadata(&test, "{\"status\":\"BEGIN\",\"id\":\"file=binlog.000002,pos=197\"}"),
        "begin id file=binlog.000002,pos=197");
    assert_string_equal(metadata(&test, "{\"status\":\"MAYBE\",\"id\":\"1:2\"}"),
                        "status: \"MAYBE\", expected BEGIN or END");
    assert_string_equal(metadata(&test, "{\"status\":\"END\",\"id\":null}"),
                        "id: expected the transaction's id");
    assert_string_equal(metadata(&test, "{\"status\":\"END\",\"id\":\"1:2\",\"event_count\":-1}"),
                        "event_count: expected an unsigned integer");
    assert_string_equal(
        metadata(&test, "{\"status\":\"END\",\"id\":\"1:2\",\"event_count\":4294967296}"),
        "event_count: more than 2^32 - 1");
    case_close(&test);
}

/* {"tid":5,"sid":1,"ops":[{"t":"w","k":"public.kv/2","v":8}]} */
#define RECORD "eyJ0aWQiOjUsInNpZCI6MSwib3BzIjpbeyJ0IjoidyIsImsiOiJwdWJsaWMua3YvMiIsInYiOjh9XX0"
#define RECORD_HEX "7b22746964223a352c22736964223a312c226f7073223a5b5d7d"

static const char *logical(struct decoder_case *test, const char *prefix, const char *content,
                           const char *xid)
{
    static char payload[2048];
    snprintf(
        payload, sizeof payload,
        "{\"op\":\"m\",\"ts_ms\":1,\"source\":{\"version\":\"3.7.0.Final\",\"connector\":\"postgresql\",\"name\":\"dbz\","
        "\"snapshot\":\"false\",\"db\":\"bank\",\"sequence\":\"[\\\"28570624\\\",\\\"28589448\\\"]\",\"schema\":\"\","
        "\"table\":\"\",\"txId\":%s,\"lsn\":28589448},\"transaction\":{\"id\":\"4078:28589448\",\"total_order\":2,"
        "\"data_collection_order\":1},\"message\":{\"prefix\":%s,\"content\":%s}}",
        xid, prefix, content);
    return case_decode(test, "{\"prefix\":\"x\"}", payload);
}

static void takes_logical_messages(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
    const char *taken = "transactions 0+1 in-band id 4078 at 28570624,28589448 #2";
    assert_string_equal(logical(&test, "\"isochron\"", "\"" RECORD "=\"", "4078"), taken);
    assert_int_equal(test.events.block.txns.count, 1);
    assert_int_equal(test.events.block.txns.tid[0], 5);
    assert_int_equal(test.events.block.ops.count, 1);
    assert_int_equal(test.events.block.ops.value[0], 8);
    assert_string_equal(logical(&test, "\"isochron\"", "\"" RECORD "\"", "4078"), taken);
    assert_string_equal(logical(&test, "\"isochron\"", "\"" RECORD_HEX "\"", "4078"), taken);
    assert_string_equal(
        logical(&test, "\"isochron\"", "\"{\\\"tid\\\":5,\\\"sid\\\":1,\\\"ops\\\":[]}\"", "4078"),
        taken);
    assert_string_equal(
        logical(&test, "\"si\"", "\"AAAA\"", "4078"),
        "ignored: logical message of another prefix than isochron id 4078 at 28570624,28589448 #2");
    assert_string_equal(logical(&test, "\"isochron\"", "\"AAAA\"", "4078"),
                        "message.content: expected a transaction in JSON, as bytes, base64 or hex");
    assert_string_equal(logical(&test, "\"isochron\"", "null", "4078"),
                        "message.content: expected a transaction in JSON, as bytes, base64 or hex");
    assert_string_equal(logical(&test, "\"isochron\"", "17", "4078"),
                        "message.content: expected a transaction in JSON, as bytes, base64 or hex");
    assert_string_equal(
        logical(&test, "\"isochron\"", "\"e30=\"", "4078"),
        "message.content, byte 1: a transaction lacks \"tid\", expected tid, sid and ops");
    assert_string_equal(logical(&test, "7", "\"e30=\"", "4078"),
                        "message.prefix: expected a string");
    case_close(&test);
}

static void refuses_records_outside_of_transactions(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(
        case_decode(
            &test, NULL,
            "{\"op\":\"m\",\"source\":{\"connector\":\"postgresql\",\"name\":\"dbz\",\"txId\":null},"
            "\"transaction\":null,\"message\":{\"prefix\":\"isochron\",\"content\":\"" RECORD
            "\"}}"),
        "a record outside of any transaction: expected pg_logical_emit_message(true, 'isochron', record)");
    assert_string_equal(
        case_decode(&test, NULL, "{\"op\":\"m\",\"source\":{\"connector\":\"postgresql\"}}"),
        "op m without message, expected {prefix, content}");
    case_close(&test);
}

static void takes_watermarks_in_band(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
    const char *outside =
        "{\"op\":\"m\",\"source\":{\"connector\":\"postgresql\",\"name\":\"dbz\",\"txId\":null},"
        "\"transaction\":null,\"message\":{\"prefix\":\"isochron\",\"content\":\"%s\"}}";
    char payload[512];
    snprintf(payload, sizeof payload, outside,
             "eyJ3YXRlcm1hcmsiOiIxMjMifQ=="); /* {"watermark":"123"} */
    assert_string_equal(case_decode(&test, NULL, payload), "watermark cts 123");
    snprintf(payload, sizeof payload, outside, "{\\\"watermark\\\":18446744073709551615}");
    assert_string_equal(case_decode(&test, NULL, payload), "watermark cts 18446744073709551615");
    snprintf(payload, sizeof payload, outside, "{\\\"watermark\\\":-1}");
    assert_string_equal(case_decode(&test, NULL, payload),
                        "byte 13: watermark is negative, expected an integer from 0 to 2^64-1");
    snprintf(payload, sizeof payload, outside, "{\\\"watermark\\\":\\\"1x\\\"}");
    assert_string_equal(
        case_decode(&test, NULL, payload),
        "byte 13: watermark is \"1x\", expected decimal digits for a number from 0 to 2^64-1");
    snprintf(payload, sizeof payload, outside, "{\\\"watermark\\\":1");
    assert_memory_equal(case_decode(&test, NULL, payload), "byte 14: ", 9);
    case_close(&test);
}

static void takes_heartbeats_and_schema_changes(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(case_decode(&test, "{\"serverName\":\"dbz\"}", "{\"ts_ms\":1700000000000}"),
                        "heartbeat");
    assert_string_equal(
        case_decode(
            &test, "{\"databaseName\":\"bank\"}",
            "{\"source\":{\"connector\":\"mysql\",\"name\":\"dbz\",\"db\":\"bank\",\"table\":\"kv\","
            "\"file\":\"binlog.000003\",\"pos\":911,\"row\":0},\"ts_ms\":1,\"databaseName\":\"bank\","
            "\"schemaName\":null,\"ddl\":\"ALTER TABLE kv ADD w INT\",\"tableChanges\":[]}"),
        "schema bank.kv at 3,15284043776");
    case_close(&test);
}

#define BINLOG(gtid)                                                                                                 \
    "{\"before\":{\"k\":2,\"v\":null},\"after\":{\"k\":2,\"v\":8},\"source\":{\"version\":\"3.0.0.Final\","          \
    "\"connector\":\"mariadb\",\"name\":\"m\",\"ts_ms\":1,\"snapshot\":\"false\",\"db\":\"bank\",\"sequence\":null," \
    "\"table\":\"kv\",\"server_id\":223344,\"gtid\":" gtid                                                           \
    ",\"file\":\"binlog.000003\",\"pos\":911,\"row\":2,"                                                             \
    "\"thread\":7,\"query\":null},\"op\":\"u\",\"ts_ms\":1,\"transaction\":"

static void takes_binlog_rows(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(case_decode(&test, "{\"k\":2}",
                                    BINLOG("\"0-1-23\"") "{\"id\":\"0-1-23\",\"total_order\":1}}"),
                        "row u m bank.kv bank.kv/2 before - after 8 id 0-1-23 at 3,15284043778 #1");
    assert_string_equal(case_decode(&test, "{\"k\":2}", BINLOG("\"0-1-23\"") "null}"),
                        "row u m bank.kv bank.kv/2 before - after 8 id 0-1-23 at 3,15284043778");
    assert_string_equal(
        case_decode(&test, "{\"k\":2}",
                    BINLOG("null") "{\"id\":\"file=binlog.000003,pos=700\",\"total_order\":1}}"),
        "row u m bank.kv bank.kv/2 before - after 8 id file=binlog.000003,pos=700 at 3,15284043778 #1");
    assert_string_equal(case_decode(&test, "{\"k\":2}", BINLOG("null") "null}"),
                        "row u m bank.kv bank.kv/2 before - after 8 at 3,15284043778");
    case_close(&test);
}

#define SCHEMA_CHANGE(snapshot, gtid, table, ddl)                                                                   \
    "{\"source\":{\"connector\":\"mysql\",\"name\":\"m\",\"snapshot\":\"" snapshot                                  \
    "\",\"db\":\"bank\",\"table\":\"" table "\",\"gtid\":" gtid                                                     \
    ",\"file\":\"binlog.000003\",\"pos\":911,\"row\":0},\"ts_ms\":1,\"databaseName\":\"bank\",\"schemaName\":null," \
    "\"ddl\":" ddl ",\"tableChanges\":[]}"

/* A table that is dropped or truncated by a statement: its keys go with it, in a transaction of the
 * statement's own. */
static void takes_dropped_tables(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.value = "v", .tables = "bank.kv;bank.x"});
    assert_string_equal(
        case_decode(&test, "{}", SCHEMA_CHANGE("false", "null", "kv", "\"DROP TABLE `kv`\"")),
        "drop bank.kv alone id binlog.000003:911 bank.kv at 3,15284043776");
    assert_string_equal(
        case_decode(&test, "{}",
                    SCHEMA_CHANGE("false", "\"0-1-23\"", "x", "\"drop table if exists x, kv\"")),
        "drop bank.x alone id 0-1-23:911 bank.x at 3,15284043776\n"
        "drop bank.kv alone id 0-1-23:911 bank.kv at 3,15284043776");
    assert_string_equal(
        case_decode(&test, "{}",
                    SCHEMA_CHANGE("false", "\"0-1-23\"", "y", "\"RENAME TABLE kv TO y\"")),
        "drop bank.kv alone id 0-1-23:911 bank.kv at 3,15284043776");
    assert_string_equal(case_decode(&test, "{}",
                                    SCHEMA_CHANGE("false", "\"0-1-23\"", "x",
                                                  "\"ALTER TABLE x MODIFY v DECIMAL(9,3)\"")),
                        "schema bank.x alone id 0-1-23:911 bank.x at 3,15284043776");
    assert_string_equal(
        case_decode(&test, "{}", SCHEMA_CHANGE("false", "null", "kv", "\"TRUNCATE kv\"")),
        "drop bank.kv alone id binlog.000003:911 bank.kv at 3,15284043776");
    /* A snapshot begins with such statements, other tables are not looked at, other statements
     * leave the rows. */
    assert_string_equal(
        case_decode(&test, "{}",
                    SCHEMA_CHANGE("true", "null", "kv", "\"DROP TABLE IF EXISTS `bank`.`kv`\"")),
        "schema bank.kv at 3,15284043776");
    assert_string_equal(
        case_decode(&test, "{}", SCHEMA_CHANGE("false", "null", "other", "\"DROP TABLE other\"")),
        "schema bank.other at 3,15284043776");
    assert_string_equal(
        case_decode(&test, "{}", SCHEMA_CHANGE("false", "null", "kv", "\"DROP INDEX i ON kv\"")),
        "schema bank.kv at 3,15284043776");
    assert_string_equal(
        case_decode(&test, "{}", SCHEMA_CHANGE("false", "null", "", "\"DROP DATABASE bank\"")),
        "schema - at 3,15284043776");
    assert_string_equal(case_decode(&test, "{}", SCHEMA_CHANGE("false", "null", "kv", "null")),
                        "schema bank.kv at 3,15284043776");
    assert_string_equal(case_decode(&test, "{}", SCHEMA_CHANGE("false", "null", "kv", "7")),
                        "ddl: expected a string");
    assert_string_equal(
        case_decode(
            &test, "{}",
            "{\"source\":{\"connector\":\"mysql\",\"name\":\"m\",\"db\":\"bank\",\"table\":\"kv\"},"
            "\"databaseName\":\"bank\",\"ddl\":\"DROP TABLE kv\"}"),
        "schema bank.kv");
    assert_string_equal(
        case_decode(
            &test, NULL,
            "{\"before\":null,\"after\":null,\"source\":{\"connector\":\"mariadb\",\"name\":\"m\","
            "\"db\":\"bank\",\"table\":\"kv\",\"gtid\":\"0-1-24\",\"file\":\"binlog.000003\","
            "\"pos\":911,\"row\":0},\"op\":\"t\",\"transaction\":null}"),
        "drop bank.kv alone id 0-1-24:911 bank.kv at 3,15284043776");
    case_close(&test);
}

static void takes_listed_tables_only(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.value = "v", .tables = "public.kv;public.x"});
    assert_string_equal(case_decode(&test, "{\"k\":2}", ENVELOPE("c", "null", "{\"k\":2,\"v\":7}")),
                        "row c dbz public.kv public.kv/2 before - after 7" AT);
    case_close(&test);
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.value = "v", .tables = "public.k;kv"});
    assert_string_equal(case_decode(&test, "{\"k\":2}", ENVELOPE("c", "null", "{\"k\":2,\"v\":7}")),
                        "ignored: a table that is not in tables=" AT);
    assert_string_equal(case_decode(&test, NULL, ENVELOPE("t", "null", "null")),
                        "ignored: a table that is not in tables=" AT);
    case_close(&test);
}

static void ignores_unknown_members(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, by_column);
    assert_string_equal(
        case_decode(
            &test, " {\"k\":2}",
            "{\"new\":[{}],\"op\":\"c\",\"ts_ns\":1,\"after\":{\"k\":2,\"v\":7},"
            "\"source\":{\"connector\":\"postgresql\",\"table\":\"kv\",\"lsn\":5,\"more\":{\"a\":[1]}}}"),
        "row c  kv kv/2 before - after 7");
    case_close(&test);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_rows),
        cmocka_unit_test(takes_whole_rows),
        cmocka_unit_test(tells_null_from_empty),
        cmocka_unit_test(takes_snapshots),
        cmocka_unit_test(takes_changes_of_keys),
        cmocka_unit_test(trusts_before_images_by_identity),
        cmocka_unit_test(knows_unchanged_columns),
        cmocka_unit_test(learns_by_position),
        cmocka_unit_test(takes_placeholders_for_nothing),
        cmocka_unit_test(tells_new_schemas),
        cmocka_unit_test(tells_new_types_by_schemas),
        cmocka_unit_test(takes_truncates),
        cmocka_unit_test(marks_what_nobody_reports),
        cmocka_unit_test(takes_dropped_tables),
        cmocka_unit_test(passes_over_rows_without_a_key),
        cmocka_unit_test(takes_transaction_metadata),
        cmocka_unit_test(takes_logical_messages),
        cmocka_unit_test(refuses_records_outside_of_transactions),
        cmocka_unit_test(takes_watermarks_in_band),
        cmocka_unit_test(takes_heartbeats_and_schema_changes),
        cmocka_unit_test(takes_binlog_rows),
        cmocka_unit_test(takes_listed_tables_only),
        cmocka_unit_test(ignores_unknown_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
