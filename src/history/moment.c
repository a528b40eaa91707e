#include "history/moment.h"

struct iso_moment iso_moment_of(const struct iso_history *history, uint32_t transaction, uint32_t operation,
                                bool is_serial)
{
    uint8_t kind = history->kind[operation];
    bool is_point = history->flags[transaction] & ISO_POINT;
    if (is_serial)
        return (struct iso_moment){.at = history->cts[transaction], .inclusive = is_point};
    if (kind & ISO_OPERATION_OTS)
        return (struct iso_moment){.at = history->ots[operation], .inclusive = true, .own = true};
    if (kind & ISO_OPERATION_LOCK)
        return (struct iso_moment){.at = history->cts[transaction], .inclusive = is_point, .lock = true};
    return (struct iso_moment){.at = history->sts[transaction], .inclusive = true};
}
