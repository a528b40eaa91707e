/* Judges transactions as they arrive on standard input, one JSON object a line; a line
 * {"watermark":N} promises that none follows that commits at or below N. Prints each report as a
 * line of JSON, and at the end what became of it all.
 *
 *     cc watch_stream.c $(pkg-config --cflags --libs isochron) -o watch_stream
 *     ./watch_stream <bank.jsonl
 */
#include <inttypes.h>
#include <iso/isochron.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void print(void *context, const struct iso_report *report)
{
    unsigned *retracted = (unsigned *)context;
    *retracted += report->state == ISO_REPORT_RETRACTED;
    puts(report->json);
}

static uint64_t now(void)
{
    return (uint64_t)time(NULL) * 1000;
}

static enum iso_status take(struct iso_stream *stream, uint32_t source,
                            struct iso_transactions *batch, const char *line, size_t length,
                            struct iso_error *error)
{
    uint64_t watermark;
    if (sscanf(line, "{\"watermark\":%" SCNu64 "}", &watermark) == 1)
        return iso_stream_watermark(stream, source, watermark, now(), error);
    if (iso_transactions_add_json(batch, line, length, error) != ISO_OK)
        return error->status;
    return iso_stream_push(stream, source, batch, now(),
                           error); /* a busy stream pushes many at once */
}

int main(void)
{
    static char line[1 << 20];
    struct iso_error error = ISO_NO_ERROR;
    unsigned retracted = 0;
    struct iso_stream *stream =
        iso_stream_new(NULL, NULL, print, &retracted, &error); /* the defaults: never NULL */
    struct iso_transactions *batch = iso_transactions_new();
    uint32_t source = iso_stream_source(stream, "stdin", now());
    enum iso_status status = ISO_OK;
    while (status == ISO_OK && fgets(line, sizeof line, stdin))
        status = take(stream, source, batch, line, strlen(line), &error);
    if (status == ISO_OK)
        status = iso_stream_end(stream, now(), &error);
    if (status == ISO_OK) {
        puts(iso_stream_json(stream, NULL));
        fprintf(stderr, "watch_stream: %u verdicts were taken back\n", retracted);
    } else {
        fprintf(stderr, "watch_stream: %s\n", error.text);
    }
    if (status == ISO_OK) {
        static const enum iso_status exits[] = {ISO_OK, ISO_VIOLATED, ISO_UNDECIDED};
        status = exits[iso_stream_outcome(stream, NULL)];
    }
    iso_transactions_free(batch);
    iso_stream_free(stream);
    return status;
}
