/* What a pipeline is given when it begins, and what it reports beside verdicts. */
#pragma once

#include <string.h>

#include "aion/aion.h"
#include "base/inputs.h"
#include "values/source.h"
#include "join/join.h"
#include "values/spelling.h"

enum iso_on_bad_record { ISO_BAD_FAIL, ISO_BAD_SKIP, ISO_BAD_DEAD_LETTER };

/* Events of a table in its own stream. */
enum iso_table_news {
    ISO_NEWS_COLUMNS,   /* its rows have other columns */
    ISO_NEWS_EMPTIED,   /* truncated, dropped, or renamed away */
    ISO_NEWS_PARTLY,    /* a part of it was */
    ISO_NEWS_REWRITTEN, /* its values are spelt otherwise, or its rows are those of another */
    ISO_NEWS_LEFT_OUT,  /* nothing covers it from now on, for a reason */
    ISO_NEWS_LOSSY,     /* the stream does not always say what a column of it holds, for a reason */
    ISO_TABLE_NEWS
};

/* Whether a source's topic is "PREFIX.*": all topics whose names begin so, those that appear later,
 * too. */
static inline bool iso_topic_is_prefix(const char *topic)
{
    size_t length = strlen(topic);
    return length > 2 && !strcmp(topic + length - 2, ".*");
}

/* Takes a line (with its newline). ISO_FAILED stops the pipeline. */
typedef enum iso_status (*iso_pipeline_sink)(void *context, const char *line, size_t length,
                                             struct iso_error *error);

enum { ISO_SPELLINGS_MAX = 256 };

/* A column of which contradictions are not judged, since their texts may be one value. */
struct iso_pipeline_spelling {
    char column[ISO_SPELLING_NAME];                           /* "public.acct.balance" */
    char stream[ISO_SPELLING_TEXT], other[ISO_SPELLING_TEXT]; /* of the first; cut to that */
    uint64_t count;
    uint8_t kind;         /* enum iso_value_kind: what a schema says of the column */
    bool of_client;       /* a client's text; else the stream has both */
    bool may_have_schema; /* messages of its source can bring one */
};

struct iso_pipeline_options {
    /* The engine's, which the pipeline gives its callbacks and what follows from other options.
     * With deadlines, beside change streams and clients, these begin with the end of the grace; and
     * the reorder window, if it is on, also keeps tentative verdicts back until the grace has
     * passed and half of it. */
    struct iso_aion_options engine;
    /* The join's, which the pipeline gives its routes. `kind` NULL: there are no change streams and
     * no join. Without one `initial_known` counts, too. */
    struct iso_join_options join;
    bool seeks_order;         /* SER, where commits give the order of versions only: order.h */
    uint64_t idle_timeout_ms; /* 0: every input is waited for */
    uint64_t grace_ms;        /* of message time; 0: nothing follows from message times */
    void (*on_joined)(
        void *context,
        struct iso_history *block); /* the joined history, block by block; it may be changed */
    uint64_t max_ahead; /* a watermark that lies further above all before it is a bad record; 0:
                           far_ahead.c says */
    unsigned hlc_bits;  /* timestamps {p,l} become p << hlc_bits | l; 0: pairs are refused */
    enum iso_on_bad_record on_bad_record;
    uint32_t max_violations; /* in the summary; 0: all */
    uint32_t scan_limit; /* rows that one query looks at, or keys of a range; 0: ISO_SCAN_LIMIT */
    struct iso_scans *scans; /* counts conditions that no index serves; borrowed; or NULL */
    bool strict_coverage;    /* operations on tables without a source make the verdict undecided */
    bool level_given;        /* the level was asked for, and is not just the default */
    bool final_only;         /* no tentative and no retracted lines but for what had been final */
    /* Sees transactions of the block before the engine does; true: it takes them, and the engine is
     * not to. Or NULL. */
    bool (*on_transactions)(void *context, const struct iso_history *block, uint32_t first,
                            uint32_t count, struct iso_error *error);
    iso_pipeline_sink sink; /* verdict lines; NULL: only the summary */
    void *sink_context;
    /* `message` NULL: it arrived earlier than what is being fed. */
    void (*on_bad)(void *context, const struct iso_message *message, const char *location,
                   const char *reason);
    /* As on_bad, of a record that is judged and contradicts another, which arrived earlier. */
    void (*on_doubtful)(void *context, const struct iso_message *message, const char *location,
                        const char *reason);
    /* As often as the stream says it. `reason`: of the last two, else NULL; no name: all tables. */
    void (*on_table)(void *context, const char *location, const char *table, size_t length,
                     enum iso_table_news news, const char *reason);
    void (*on_idle)(void *context, const struct iso_inputs_entry *input, bool idle);
    /* Once for each column: two texts may be one value, and nothing says whether they are. */
    void (*on_spelling)(void *context, const struct iso_pipeline_spelling *spelling);
    /* Once for each input of clients: its messages have no time, so that nothing follows from
     * theirs. */
    void (*on_timeless)(void *context, const struct iso_inputs_entry *input);
    /* Once for each input: a timestamp in it lies a year or more above the watermark. */
    void (*on_far_ahead)(void *context, const struct iso_inputs_entry *input, uint64_t offset,
                         uint64_t timestamp, uint64_t watermark);
    /* Once: memory was short, and all below `timestamp` was made final without a watermark
     * (memory/fit.c). */
    void (*on_closed_early)(void *context, uint64_t timestamp);
    /* Once: memory was short, and so many transactions were given up as in iso_aion_given_up. */
    void (*on_given_up)(void *context, uint64_t transactions);
    void *context; /* of those above */
};

/* A source's promises about its tables. */
/* How texts of its columns compare. */
enum iso_collation {
    ISO_COLLATION_UNKNOWN,
    ISO_COLLATION_BINARY, /* other bytes are another text */
    ISO_COLLATION_C       /* and texts are in the order of their bytes */
};

struct iso_route_traits {
    enum iso_collation collation;
    bool lossy;      /* the log lacks changes of them: contradictions of their rows are unjudged */
    bool caseless;   /* keys are equal whatever their case and the blanks behind them */
    bool unreported; /* clients do not say what they write there, or in another transaction than the
                        log has it */
};
