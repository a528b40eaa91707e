/* What the files of the status share. */
#pragma once

#include "run/shown/status.h"

/* status.c */
/* When the last message of the change streams came, or of clients, in seconds since 1970; below 0:
 * none is read. */
double status_last_message(const struct run_status *status, bool of_changes);

/* status_metrics.c: all of them, as things stand. */
void status_fill_metrics(struct run_status *status, bool is_ready);

/* status_words.c */
/* The longest that nothing may become final while input comes, in milliseconds. */
uint64_t status_unsettled_bound(const struct run_status *status);
/* Describes what waits, since when, and for whom: into status->words. */
void status_put_words(struct run_status *status);
/* Each class of it, for what it waits, its oldest, and when it will be final, as a JSON list: into
 * status->waits. */
void status_put_waits(struct run_status *status);
/* Describes a problem in `text`, beside brokers and of brokers; NULL: none. `silence`: a
 * broker's. */
const char *status_find_trouble(const struct run_status *status, uint64_t now, char *text,
                                size_t size);
const char *status_find_broker_trouble(const struct run_status *status, uint64_t silence,
                                       char *text, size_t size);
