/* `--source KIND:TOPIC[,option=value...]`. */
#ifndef ISO_APP_SOURCE_H
#define ISO_APP_SOURCE_H

#include "app/stream.h"

/* Makes the source's decoder and routes its topic. */
enum iso_status app_source_add(struct app_stream *stream, const char *text);

#endif
