/* `--source KIND:TOPIC[,option=value...]`: what is read, and how it is decoded. */
#pragma once

#include "cli/command.h"
#include "connectors/registry/registry.h"
#include "explain/wall.h"
#include "pipeline/pipeline.h"

/* The decoders of a kind; NULL: there is no such kind. */
const struct iso_decoder_class *run_source_class(const char *kind);

/* Properties of all sources together. */
struct run_source_survey {
    const char *changes; /* kind of the change streams; NULL: none */
    bool history_topics;
    enum iso_join_markers markers;
    bool one_group, xa, ranges;
};

/* Whether one of the first `count` sources reads the topic. */
bool run_source_reads(const struct cli_texts *texts, uint32_t count, const char *topic,
                      size_t length);

/* ISO_BAD_INPUT if one cannot be read, or change streams are of several databases. */
enum iso_status run_source_survey(const struct cli_texts *texts, struct run_source_survey *survey,
                                  struct iso_error *error);

/* Meaning of these sources' timestamps. */
enum iso_wall run_source_wall(const struct cli_texts *texts);

/* Open resources of a run's sources. */
struct run_sources {
    uint32_t topic_count;
    char **topics;
    uint32_t prefix_count;
    char **prefixes; /* of topics that are read, too */
    uint32_t registry_count;
    struct iso_registry **registries;
};

/* Makes a source's decoder and routes its topic. */
enum iso_status run_sources_add(struct run_sources *sources, struct iso_pipeline *pipeline,
                                const char *text, struct iso_error *error);
/* Whether one of them is of the topic. */
bool run_sources_read(const struct run_sources *sources, const char *topic);
/* After the pipeline, whose decoders ask the registries. */
void run_sources_release(struct run_sources *sources);
