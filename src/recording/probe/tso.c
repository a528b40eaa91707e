#include "probe/tso.h"

#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/payload.h"

enum { LOGICAL_BITS = 18 };
/* Milliseconds of 2001 and 2101. */
static const uint64_t earliest = UINT64_C(978307200000), latest = UINT64_C(4133980800000);

static bool is_timestamp(uint64_t number)
{
    return number >> LOGICAL_BITS >= earliest && number >> LOGICAL_BITS < latest;
}

enum tso_answer tso_current(const char *answer, uint64_t *timestamp)
{
    if (!answer || !iso_bytes_number(answer, strlen(answer), timestamp))
        return TSO_WRONG;
    return !*timestamp ? TSO_OTHER : is_timestamp(*timestamp) ? TSO_SAID : TSO_WRONG;
}

/* Both members, unsigned integers; TSO_OTHER: the text is empty. */
static enum tso_answer read_two(const char *answer, const char *first, uint64_t *one,
                                const char *second, uint64_t *other)
{
    struct iso_payload padded = {0};
    struct iso_json json;
    struct iso_json_text name;
    unsigned found = 0;
    size_t length = answer ? strlen(answer) : 0;
    if (!length)
        return answer ? TSO_OTHER : TSO_WRONG;
    iso_json_init(&json);
    iso_json_start(&json, iso_payload_copy(&padded, answer, length), length);
    iso_json_enter_object(&json);
    while (json.code == ISO_JSON_FINE && iso_json_member(&json, &name)) {
        struct iso_json_number number;
        bool is_first = iso_payload_is(name, first, strlen(first));
        if (!is_first && !iso_payload_is(name, second, strlen(second))) {
            iso_json_skip(&json);
            continue;
        }
        if (!iso_json_integer(&json, &number) || number.negative)
            break;
        *(is_first ? one : other) = number.bits;
        found |= is_first ? 1 : 2;
    }
    bool fine = iso_json_finish(&json) && found == 3;
    iso_json_release(&json);
    iso_payload_release(&padded);
    return fine ? TSO_SAID : TSO_WRONG;
}

enum tso_answer tso_commit(const char *answer, uint64_t start, uint64_t *commit)
{
    uint64_t began = 0;
    enum tso_answer read = read_two(answer, "start_ts", &began, "commit_ts", commit);
    if (read != TSO_SAID)
        return read;
    if (!is_timestamp(began) || (*commit && (!is_timestamp(*commit) || *commit <= began)))
        return TSO_WRONG;
    return began == start && *commit ? TSO_SAID : TSO_OTHER;
}

enum tso_answer tso_for_update(const char *answer, uint64_t *timestamp)
{
    uint64_t began = 0;
    enum tso_answer read = read_two(answer, "start_ts", &began, "for_update_ts", timestamp);
    if (read != TSO_SAID)
        return read;
    return !*timestamp                                       ? TSO_OTHER
           : is_timestamp(*timestamp) && *timestamp >= began ? TSO_SAID
                                                             : TSO_WRONG;
}
