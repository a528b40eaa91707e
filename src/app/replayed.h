/* A stream's transactions kept as a history, to look things up in: of a replay that explains, or of captures whose
 * verdict is explained.
 *
 * Memory: all transactions. Repeats are dropped at the end, as the engine drops them.
 */
#ifndef ISO_APP_REPLAYED_H
#define ISO_APP_REPLAYED_H

#include "app/stream.h"
#include "explain/wall.h"

/* Keeps transactions `first` to `first + count - 1` of a block. */
void app_replayed_keep(struct iso_history *kept, const struct iso_history *block, uint32_t first, uint32_t count);

/* Ends keeping: initial values, no repeats, finished. */
enum iso_status app_replayed_finish(struct app_stream *stream);

/* What the timestamps of these sources are. */
enum iso_wall app_replayed_wall(const struct app_stream_options *options);

/* Feeds captures through a stream that is open, to their end. */
enum iso_status app_replay_files(struct app_stream *stream, const struct app_texts *files);

/* The finished history of captures, which an empty `history` becomes. */
enum iso_status app_replayed_history(struct app *app, struct app_stream_options *options, const struct app_texts *files,
                                     struct iso_history *history, enum iso_wall *wall);

#endif
