/* Recorded histories to a publisher: files of JSON Lines, or a recorder's output while it runs.
 *
 * Lines are taken as they come, some hundreds at a time, so that a pipe's transactions reach the
 * topic soon after they were recorded.
 */
#pragma once

#include "cli/options.h"
#include "app/publish.h"

/* Publishes all transactions of the files, in their order. */
enum iso_status app_feed(struct app_publisher *publisher, const struct cli_texts *files,
                         struct iso_error *error);
