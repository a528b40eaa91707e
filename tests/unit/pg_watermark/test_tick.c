/* Watermarks against a simulated server: no record that arrives later has a snapshot below one. */
#include <stdio.h>

#include "tests/support/test.h"

#include "pg_watermark/tick.h"

enum { SERVERS = 60, STEPS = 400, OPEN = 6, GRACE = 50 };

struct open_transaction {
    bool is_open, is_prepared;
    uint64_t began, xmin; /* when, and of its oldest snapshot */
    uint64_t xid;         /* 0: none yet */
    char name[16];
};

struct record {
    uint64_t at, xmin; /* published then */
};

struct server {
    struct open_transaction open[OPEN];
    struct record records[STEPS * 4];
    uint32_t record_count;
    uint64_t now, next_xid, random;
    uint32_t names;
};

static uint64_t draw(struct server *server, uint64_t bound)
{
    return test_random(&server->random) % bound;
}

static uint64_t oldest_xid(const struct server *server)
{
    uint64_t oldest = server->next_xid;
    for (int i = 0; i < OPEN; i++)
        if (server->open[i].is_open && server->open[i].xid && server->open[i].xid < oldest)
            oldest = server->open[i].xid;
    return oldest;
}

/* Begins, writes, is prepared, or ends and publishes a little later, but within the grace. */
static void act(struct server *server)
{
    struct open_transaction *one = &server->open[draw(server, OPEN)];
    if (!one->is_open) {
        *one = (struct open_transaction){true, false, server->now, oldest_xid(server), 0, ""};
    } else if (!one->xid) {
        one->xid = server->next_xid++;
    } else if (!one->is_prepared && draw(server, 4) == 0) {
        one->is_prepared = true;
        snprintf(one->name, sizeof one->name, "p%u", server->names++);
    } else if (draw(server, 3) == 0) {
        server->records[server->record_count++] =
            (struct record){server->now + draw(server, GRACE), one->xmin};
        one->is_open = false;
    }
}

static void ask(struct server *server, struct iso_tick *tick)
{
    const char *prepared[OPEN];
    uint32_t count = 0;
    uint64_t oldest = 0, xmin = oldest_xid(server);
    for (int i = 0; i < OPEN; i++) {
        const struct open_transaction *one = &server->open[i];
        if (one->is_open && one->is_prepared)
            prepared[count++] = one->name;
        else if (one->is_open && (!oldest || one->began < oldest))
            oldest = one->began;
    }
    iso_tick_note(tick, server->now, xmin, oldest, prepared, count);
    iso_tick_validate(tick);
}

static void test_no_watermark_is_untrue(void **state)
{
    (void)state;
    uint64_t sent = 0;
    for (uint64_t seed = 1; seed <= SERVERS; seed++) {
        struct server server = {.now = 1000, .next_xid = 700, .random = seed * 7919};
        struct {
            uint64_t at, watermark;
        } said[STEPS];
        uint32_t said_count = 0;
        struct iso_tick tick;
        iso_tick_init(&tick, GRACE);
        for (int step = 0; step < STEPS; step++) {
            server.now += 1 + draw(&server, 20);
            for (uint64_t i = draw(&server, 4); i > 0 && server.record_count + 1 < STEPS * 4; i--)
                act(&server);
            if (draw(&server, 3))
                ask(&server, &tick);
            if (draw(&server, 200) == 0)
                iso_tick_forget(&tick);
            if (iso_tick_due(&tick, server.now, &said[said_count].watermark))
                said[said_count++].at = server.now;
        }
        /* Those that are open still publish later than all. */
        for (int i = 0; i < OPEN; i++)
            if (server.open[i].is_open)
                server.records[server.record_count++] =
                    (struct record){UINT64_MAX, server.open[i].xmin};
        for (uint32_t w = 0; w < said_count; w++) {
            assert_true(w == 0 || said[w].watermark > said[w - 1].watermark);
            for (uint32_t r = 0; r < server.record_count; r++)
                assert_true(server.records[r].at < said[w].at ||
                            server.records[r].xmin >= said[w].watermark);
        }
        sent += said_count;
        iso_tick_release(&tick);
    }
    assert_true(sent > SERVERS * 5);
}

static void test_idle_transaction(void **state)
{
    (void)state;
    struct iso_tick tick;
    uint64_t watermark = 0;
    iso_tick_init(&tick, 10);
    iso_tick_note(&tick, 100, 740, 0, NULL, 0);
    assert_false(iso_tick_due(&tick, 109, &watermark));
    assert_true(iso_tick_due(&tick, 110, &watermark));
    assert_int_equal(watermark, 740);
    iso_tick_note(&tick, 120, 760, 115, NULL, 0); /* one is open since 115 */
    iso_tick_note(&tick, 130, 790, 115, NULL, 0);
    assert_false(iso_tick_due(&tick, 1000, &watermark));
    iso_tick_note(&tick, 1000, 795, 0, NULL, 0);
    assert_false(iso_tick_due(&tick, 1009, &watermark));
    assert_true(iso_tick_due(&tick, 1010, &watermark));
    assert_int_equal(watermark, 795);
    assert_false(iso_tick_due(&tick, 2000, &watermark));
    iso_tick_release(&tick);
}

static void test_prepared(void **state)
{
    (void)state;
    struct iso_tick tick;
    uint64_t watermark = 0;
    const char *const one[] = {"a"};
    iso_tick_init(&tick, 0);
    iso_tick_note(&tick, 100, 740, 0, one, 1); /* nobody knows how old it is */
    assert_false(iso_tick_due(&tick, 100, &watermark));
    iso_tick_note(&tick, 110, 750, 0, NULL, 0);
    assert_true(iso_tick_due(&tick, 110, &watermark));
    iso_tick_note(&tick, 120, 760, 115, NULL, 0);
    iso_tick_note(&tick, 130, 770, 0, one, 1); /* that which was open */
    assert_false(iso_tick_due(&tick, 130, &watermark));
    iso_tick_note(&tick, 140, 780, 0, NULL, 0);
    assert_true(iso_tick_due(&tick, 140, &watermark));
    assert_int_equal(watermark, 780);
    iso_tick_release(&tick);
}

static void test_many_rounds(void **state)
{
    (void)state;
    struct iso_tick tick;
    uint64_t watermark = 0;
    iso_tick_init(&tick, 0);
    for (uint64_t i = 0; i < TICK_ROUNDS * 2ul; i++)
        iso_tick_note(&tick, 1000 + i, 700 + i, 1001, NULL, 0);
    iso_tick_validate(&tick);
    assert_true(tick.noted_count <= TICK_ROUNDS);
    assert_true(iso_tick_due(&tick, 1000000, &watermark));
    assert_int_equal(watermark, 700);
    iso_tick_note(&tick, 200000, 900000, 1001 + 5000, NULL, 0);
    assert_true(iso_tick_due(&tick, 1000000, &watermark));
    assert_true(watermark > 700 && watermark <= 700 + 5000);
    iso_tick_release(&tick);
}

static void test_clock_goes_back(void **state)
{
    (void)state;
    struct iso_tick tick;
    uint64_t watermark = 0;
    iso_tick_init(&tick, 10);
    iso_tick_note(&tick, 500, 740, 0, NULL, 0);
    iso_tick_note(&tick, 100, 750, 0, NULL, 0);
    assert_false(iso_tick_due(&tick, 105, &watermark));
    assert_true(iso_tick_due(&tick, 110, &watermark));
    assert_int_equal(watermark, 750);
    iso_tick_release(&tick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_watermark_is_untrue), cmocka_unit_test(test_idle_transaction),
        cmocka_unit_test(test_prepared), cmocka_unit_test(test_many_rounds),
        cmocka_unit_test(test_clock_goes_back)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
