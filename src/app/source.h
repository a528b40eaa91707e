/* `--source KIND:TOPIC[,option=value...]`. */
#ifndef ISO_APP_SOURCE_H
#define ISO_APP_SOURCE_H

#include "app/stream.h"

/* What all sources together are. */
struct app_source_survey {
    const char *changes; /* kind of the change streams; NULL: none */
    bool history_topics;
};

/* Whether one of the first `count` sources reads the topic. */
bool app_source_reads(const struct app_texts *texts, uint32_t count, const char *topic, size_t length);

/* ISO_BAD_INPUT if one cannot be read, or change streams are of several databases. */
enum iso_status app_source_survey(const struct app_texts *texts, struct app_source_survey *survey,
                                  struct iso_error *error);

/* Makes the source's decoder and routes its topic. */
enum iso_status app_source_add(struct app_stream *stream, const char *text);

#endif
