/* Shared by suspects.c and explain_list.c. */
#pragma once

#include "chronos/writers.h"

/* True if the version that `writer` committed is visible to the read. */
bool explain_is_visible(const struct chronos *check, const struct chronos_suspect *suspect,
                        uint32_t writer);

/* True if one of these may have committed in time for the read. */
bool explain_is_excused(const struct chronos *check, const struct chronos_suspect *suspect,
                        struct writer_span unknown);

/* The first of the span other than `but`, or ISO_NONE. */
uint32_t explain_smallest(struct writer_span span, uint32_t but);

/* The one with the smaller tid; ISO_NONE is none. */
uint32_t explain_smaller(const struct iso_history *history, uint32_t left, uint32_t right);
uint32_t explain_smallest_unknown(const struct writers *writers, uint32_t key, iso_atom value);

void explain_list_need(struct writers *writers, const struct chronos_suspect *suspect);
bool explain_list_is_excused(const struct chronos *check, const struct writers *writers,
                             const struct chronos_suspect *suspect);
void explain_list(struct chronos_shard *shard, const struct writers *writers,
                  const struct chronos_suspect *suspect, struct iso_violation *violation);
