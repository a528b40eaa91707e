#include "run/input/spelling.h"

#include <inttypes.h>

#include "cli/command.h"
#include "base/text.h"

enum { NAMED = 20 };

/* Advice on how to make the spelling clear. */
static const char *advice_for(const struct iso_pipeline_spelling *spelling)
{
    if (!spelling->may_have_schema)
        return "record values as the stream spells them";
    switch (spelling->kind) {
    case ISO_VALUE_UNKNOWN:
    case ISO_VALUE_ROW:
        return spelling->of_client
                   ? "no schema says what the column holds: let the connector send schemas "
                     "(value.converter.schemas.enable=true, or Avro), or record values as the stream spells them"
                   : "no schema says what the column holds: let the connector send schemas "
                     "(value.converter.schemas.enable=true, or Avro)";
    case ISO_VALUE_ANY:
        return "its schema says text, which may be anything: column.propagate.source.type=.* on the connector says what "
               "it is, or record values as the stream spells them";
    case ISO_VALUE_FLOAT:
        return "a FLOAT is printed with six digits or with all of them: make it a DOUBLE, or judge other columns";
    case ISO_VALUE_TIMESTAMP:
    case ISO_VALUE_INSTANT:
    case ISO_VALUE_ZONED_TIME:
        return "one of them has a time zone, and the other in none that is known: record times with an offset where the "
               "column has a zone (2024-02-29T11:34:56Z), and without where it has none";
    default:
        return "record values as the stream spells them";
    }
}

void run_log_spelling(const struct iso_pipeline_spelling *spelling)
{
    cli_log_warning(
        "%s: the stream has \"%s\" and %s \"%s\", which may be one value, so it is not judged (spelling): %s",
        spelling->column, spelling->stream, spelling->of_client ? "a client" : "again",
        spelling->other, advice_for(spelling));
}

void run_log_spellings(const struct iso_pipeline *pipeline)
{
    struct iso_text text = {0};
    uint64_t total = 0;
    uint32_t count;
    const struct iso_pipeline_spelling *list = iso_pipeline_spellings(pipeline, &count);
    for (uint32_t i = 0; i < count; i++) {
        total += list[i].count;
        if (i >= NAMED)
            continue;
        iso_text_format(&text, "%s%s (%" PRIu64 ")", i ? ", " : "", list[i].column, list[i].count);
    }
    if (count > NAMED)
        iso_text_put(&text, ", ...");
    *iso_text_reserve(&text, 1) = 0;
    if (count)
        cli_log("%" PRIu64 " contradiction%s of values that may be one, in %" PRIu32
                " column%s, %s not judged: %s",
                total, cli_plural(total), count, cli_plural(count), total == 1 ? "was" : "were",
                text.bytes);
    iso_text_release(&text);
}
