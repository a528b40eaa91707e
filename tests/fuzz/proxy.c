/* What clients and servers send to the proxy: both readers in any pieces, and what is observed of a
 * session. The input is a series of pieces, each with a byte that says from whom and how long.
 * Bytes that are passed on are all that came but answers to questions, and a session that is given
 * up has nothing of its own on its way. */
#include "observe/observed.h"
#include "tests/fuzz/fuzz.h"
#include "wire/offer.h"
#include "wire/reader.h"

struct side {
    struct wire_reader reader;
    bool is_bad, strips;
};

static void take(struct observed *observed, struct side *side, bool is_client, const uint8_t *bytes,
                 size_t size, struct iso_text *question)
{
    uint8_t *copy = malloc(size ? size : 1); /* so that nothing behind it can be read */
    FUZZ_CHECK(copy);
    memcpy(copy, bytes, size);
    for (const uint8_t *at = copy, *end = copy + size; at < end && !side->is_bad;) {
        const uint8_t *start = at;
        struct wire_piece piece;
        side->is_bad = wire_read(&side->reader, &at, end, &piece) == WIRE_BAD;
        if (side->is_bad)
            break;
        FUZZ_CHECK(at > start && at <= end);
        question->used = 0;
        if (!is_client && piece.begins)
            side->strips = observed_server_takes(observed, piece.type);
        if (piece.ends && is_client)
            observed_client(observed, &piece, question);
        else if (piece.ends)
            observed_server(observed, &piece);
        FUZZ_CHECK(!question->used || piece.begins);
        FUZZ_CHECK(!side->strips || !strchr("NAS", piece.type));
    }
    free(copy);
}

/* An offer that is taken out leaves the messages before and behind it. */
static void hide(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    bool looks = true;
    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    size_t left = wire_hide_binding(copy, size, &looks);
    FUZZ_CHECK(left == size || left + sizeof "SCRAM-SHA-256-PLUS" == size);
    FUZZ_CHECK(left < size || !memcmp(copy, data, size));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hide(data, size);
    struct observe_shared shared;
    struct iso_error error = {0};
    struct iso_recorder *recorder = iso_recorder_new_in_band(NULL, &error);
    static const uint8_t startup[] = "user\0me\0database\0shop\0";
    FUZZ_CHECK(recorder);
    observe_shared_init(&shared, recorder, "f");
    struct observe_world *world = observe_world_new(&shared);
    struct observed *observed = observed_new(world, 1, startup, sizeof startup);
    struct side sides[2] = {0};
    struct iso_text question = {0};
    wire_reader_init(&sides[0].reader, OBSERVE_CLIENT_MOST);
    wire_reader_init(&sides[1].reader, OBSERVE_SERVER_MOST);
    while (size && !observed_is_over(observed)) {
        bool is_server = *data & 1;
        size_t length = *data >> 1;
        data++, size--;
        length = length < size ? length : size;
        take(observed, &sides[is_server], !is_server, data, length, &question);
        data += length, size -= length;
        question.used = 0;
        if (wire_is_between(&sides[0].reader) && wire_is_between(&sides[1].reader))
            observed_asks(observed, (size & 3) == 3 ? OBSERVED_END : OBSERVED_IDLE, &question);
    }
    observed_free(observed);
    wire_reader_release(&sides[0].reader);
    wire_reader_release(&sides[1].reader);
    iso_text_release(&question);
    observe_world_free(world);
    iso_recorder_free(recorder);
    observe_shared_release(&shared);
    return 0;
}
