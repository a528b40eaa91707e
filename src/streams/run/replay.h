/* Captures through a stream, as their messages came once. */
#pragma once

#include "run/stream.h"

/* Feeds captures through a stream that is open, to their end. */
enum iso_status run_replay_files(struct run_stream *stream, const struct cli_texts *files,
                                 struct iso_error *error);

/* The finished history of captures, which an empty `history` becomes. What they are judged to be is
 * not reported. */
enum iso_status run_replay_history(struct run_stream_options *options, struct iso_output *standard,
                                   const struct cli_texts *files, struct iso_history *history,
                                   struct iso_error *error);
