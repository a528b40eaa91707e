/* Records that recorders count: whatever is lost of them is known, and of what was not lost nothing
 * is. */
#include <stdio.h>

#include "pipeline/counted.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

enum { RECORDERS = 3, SESSIONS = 4, RECORDS_MOST = 6, RUNS = 3000 };

/* What a session, or a recorder, sends, in this order: a count, records, a count. */
struct sender {
    uint32_t recorder, session; /* session SESSIONS: the recorder itself */
    uint32_t records, sent;     /* messages so far */
    bool began, ended, lost[RECORDS_MOST];
};

struct world {
    struct iso_history block;
    struct counted counted;
    struct sender senders[RECORDERS * (SESSIONS + 1)];
    uint64_t offset;
};

static iso_atom name_of(struct world *world, char kind, uint32_t recorder, uint32_t session)
{
    char name[20];
    int length = snprintf(name, sizeof name, "%c%u.%u", kind, recorder, session);
    return iso_atoms_text(&world->block.atoms, name, (size_t)length);
}

static void tell(struct world *world, const struct sender *sender, uint64_t records, bool is_last)
{
    bool of_recorder = sender->session == SESSIONS;
    struct iso_event event = {.type = ISO_EVENT_COUNTED,
                              .operation = is_last,
                              .key = ISO_ABSENT,
                              .source = ISO_ABSENT,
                              .cts = {.physical = records},
                              .order = 10,
                              .time = 1000,
                              .origin = world->offset};
    if (!of_recorder)
        event.key = name_of(world, 's', sender->recorder, sender->session);
    if (of_recorder || !is_last)
        event.source = name_of(world, 'r', sender->recorder, 0);
    counted_note_total(&world->counted, &world->block, &event);
}

static void give_record(struct world *world, const struct sender *sender, uint64_t number)
{
    struct iso_history *block = &world->block;
    iso_atom sid = name_of(world, 's', sender->recorder, sender->session);
    uint32_t session = iso_history_session(block, sid);
    uint8_t flags = ISO_HAS_SNO;
    uint64_t origin = world->offset;
    struct iso_history one = *block; /* of which it is the only transaction */
    one.txns.flags = &flags;
    one.txns.session = &session;
    one.txns.sno = &number;
    one.txns.origin = &origin;
    counted_note_record(&world->counted, &one, 0);
}

static uint64_t records_of(const struct world *world, uint32_t recorder)
{
    uint64_t records = 0;
    for (uint32_t s = 0; s < SESSIONS; s++)
        records += world->senders[recorder * (SESSIONS + 1) + s].records;
    return records;
}

static void send_next(struct world *world, struct sender *sender, bool is_lost)
{
    uint32_t number = sender->sent++;
    bool is_first = !number, is_last = number > sender->records;
    uint64_t total =
        sender->session == SESSIONS ? records_of(world, sender->recorder) : sender->records;
    world->offset++;
    if (!is_first && !is_last)
        sender->lost[number - 1] = is_lost;
    sender->began |= is_first && !is_lost;
    sender->ended |= is_last && !is_lost;
    if (is_lost)
        return;
    if (is_first || is_last)
        tell(world, sender, is_last ? total : 0, is_last);
    else
        give_record(world, sender, number - 1);
}

/* Sessions run in any order beside one another, and lie in any partition; a recorder's last word
 * comes last or early. */
static void run(struct world *world, struct random *random, uint32_t loss_percent)
{
    uint32_t left = RECORDERS * (SESSIONS + 1);
    for (uint32_t i = 0; i < left; i++)
        world->senders[i] = (struct sender){
            .recorder = i / (SESSIONS + 1),
            .session = i % (SESSIONS + 1),
            .records = i % (SESSIONS + 1) == SESSIONS ? 0 : 1 + random_below(random, RECORDS_MOST)};
    while (left) {
        struct sender *sender = &world->senders[random_below(random, RECORDERS * (SESSIONS + 1))];
        if (sender->sent > sender->records + 1)
            continue;
        send_next(world, sender, random_percent(random, loss_percent));
        left -= sender->sent > sender->records + 1;
    }
}

/* What is surely known to be lost, and at most taken for lost. */
static void expect(const struct world *world, uint64_t *least, uint64_t *most)
{
    *least = *most = 0;
    for (uint32_t i = 0; i < RECORDERS * (SESSIONS + 1); i++) {
        const struct sender *sender = &world->senders[i],
                            *recorder =
                                &world->senders[sender->recorder * (SESSIONS + 1) + SESSIONS];
        uint64_t lost = 0;
        for (uint32_t r = 0; r < sender->records; r++)
            lost += sender->lost[r];
        *most += sender->began && sender->ended ? lost : sender->records;
        *least +=
            (sender->began && sender->ended) || (recorder->began && recorder->ended) ? lost : 0;
    }
}

static void what_is_lost_is_known(void **state)
{
    (void)state;
    uint64_t found = 0;
    for (uint32_t seed = 0; seed < RUNS; seed++) {
        struct random random = {.state = seed};
        struct world world = {.offset = 0};
        uint64_t least, most;
        iso_history_init(&world.block);
        run(&world, &random, seed % 3 * 10);
        expect(&world, &least, &most);
        struct counted_loss loss = counted_loss(&world.counted);
        if (loss.records < least || loss.records > most)
            print_message("seed %u: %llu records lost, expected %llu to %llu\n", seed,
                          (unsigned long long)loss.records, (unsigned long long)least,
                          (unsigned long long)most);
        assert_in_range(loss.records, least, most);
        assert_int_equal(loss.silent, 0);
        if (seed % 3 == 0) {
            assert_int_equal(world.counted.in_use, 0);
            assert_int_equal(world.counted.recorder_count, 0);
        }
        found += loss.records;
        counted_release(&world.counted);
        iso_history_release(&world.block);
    }
    assert_true(found > RUNS);
}

static void who_is_silent_was_killed(void **state)
{
    (void)state;
    struct world world = {.offset = 1};
    const struct sender recorder = {.session = SESSIONS};
    iso_history_init(&world.block);
    tell(&world, &recorder, 0, false);
    counted_note_time(&world.counted, 1000 + COUNTED_SILENCE_MS);
    assert_int_equal(counted_loss(&world.counted).silent, 0);
    counted_note_time(&world.counted, 1001 + COUNTED_SILENCE_MS);
    struct counted_loss loss = counted_loss(&world.counted);
    assert_int_equal(loss.silent, 1);
    assert_int_equal(loss.since, 1000);
    assert_string_equal(loss.name, "r0.0");
    tell(&world, &recorder, 0, true); /* it was slow */
    assert_int_equal(counted_loss(&world.counted).silent, 0);
    assert_int_equal(world.counted.recorder_count, 0);
    counted_release(&world.counted);
    iso_history_release(&world.block);
}

/* Once nothing more arrives, one that did not end is whole up to its last word. */
static void who_does_not_end_is_whole_up_to_its_word(void **state)
{
    (void)state;
    struct world world = {.offset = 1};
    const struct sender recorder = {.session = SESSIONS};
    iso_history_init(&world.block);
    tell(&world, &recorder, 0, false);
    counted_note_moved(&world.counted, 1000);
    assert_int_equal(counted_awaited(&world.counted), 0);
    world.counted.is_closed = true;
    assert_int_equal(counted_loss(&world.counted).silent, 0);
    counted_note_moved(&world.counted, 1001);
    assert_int_equal(counted_awaited(&world.counted), 10);
    assert_int_equal(counted_loss(&world.counted).silent, 1);
    world.counted.is_closed = false;
    assert_int_equal(counted_loss(&world.counted).silent, 0);
    tell(&world, &recorder, 2, false); /* two that are on their way */
    assert_int_equal(counted_loss(&world.counted).records, 0);
    world.counted.is_closed = true;
    assert_int_equal(counted_loss(&world.counted).records, 2);
    tell(&world, &recorder, 2, true);
    assert_int_equal(counted_loss(&world.counted).silent, 0);
    assert_int_equal(counted_awaited(&world.counted), 0);
    counted_release(&world.counted);
    iso_history_release(&world.block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lost_is_known),
        cmocka_unit_test(who_is_silent_was_killed),
        cmocka_unit_test(who_does_not_end_is_whole_up_to_its_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
