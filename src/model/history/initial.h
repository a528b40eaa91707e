/* The values that keys had before anything was written. */
#pragma once

#include "history/history.h"

/* By key; of lists their last initial element. The caller frees them. */
iso_atom *iso_history_initial_values(const struct iso_history *history);
