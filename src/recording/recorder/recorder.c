#define _GNU_SOURCE
#include "recorder/recorder_private.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 16 << 20, RECORD_BYTES = 1 << 20 };

size_t recorder_buffer_bytes(const struct iso_recorder_options *options)
{
    return options && options->buffer_bytes ? options->buffer_bytes : BUFFER_BYTES;
}

struct iso_recorder *recorder_new(const struct iso_recorder_options *options,
                                  struct iso_error *error)
{
    struct iso_recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder) {
        iso_error_set(error, ISO_FAILED, "no memory for a recorder");
        return NULL;
    }
    size_t buffer = recorder_buffer_bytes(options);
    recorder->record_bytes =
        options && options->record_bytes ? options->record_bytes : RECORD_BYTES;
    recorder->from_stream = options && options->from_stream;
    if (recorder->record_bytes > buffer)
        recorder->record_bytes = buffer;
    pthread_mutex_init(&recorder->lock, NULL);
    pthread_mutex_init(&recorder->floors.lock, NULL);
    return recorder;
}

/* No other recorder has the name, on no machine. */
void recorder_name(struct iso_recorder *recorder)
{
    char host[64] = "";
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    gethostname(host, sizeof host - 1);
    for (char *at = host; *at; at++)
        *at = *at > ' ' && *at < 0x7f && *at != '"' && *at != '\\' ? *at : '?';
    snprintf(recorder->id, sizeof recorder->id, "%s-%d-%" PRId64 "%09ld", host, (int)getpid(),
             (int64_t)now.tv_sec, now.tv_nsec);
}

int recorder_put_count(const struct iso_recorder *recorder, enum recorder_word word, uint64_t line,
                       char text[RECORDER_COUNT_BYTES])
{
    bool alive = recorder->sink && recorder->sink->tells_sessions && word != RECORDER_ENDS;
    char of_line[40] = "", promise[40] = "";
    if (line)
        snprintf(of_line, sizeof of_line, ",\"line\":%" PRIu64, line);
    if (alive)
        snprintf(promise, sizeof promise, ",\"alive_ms\":%d", RECORDER_ALIVE_MS);
    return snprintf(text, RECORDER_COUNT_BYTES,
                    "{\"recorder\":\"%s\",\"records\":%" PRIu64 "%s%s%s%s}\n", recorder->id,
                    word == RECORDER_BEGINS ? 0 : (uint64_t)atomic_load(&recorder->ended), of_line,
                    promise,
                    recorder->from_stream && word == RECORDER_BEGINS ? ",\"writes\":\"cdc\"" : "",
                    word == RECORDER_ENDS ? ",\"ended\":true" : "");
}

bool recorder_tell(struct iso_recorder *recorder, enum recorder_word word)
{
    char text[RECORDER_COUNT_BYTES];
    int size = recorder_put_count(recorder, word, 0, text);
    return recorder->sink->tell(recorder->context, recorder->id, text, (size_t)size);
}

bool recorder_begin(struct iso_recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->has_begun = recorder->has_begun || recorder_tell(recorder, RECORDER_BEGINS);
    bool has_begun = recorder->has_begun;
    pthread_mutex_unlock(&recorder->lock);
    return has_begun;
}

struct iso_recorder *iso_recorder_new_in_band(const struct iso_recorder_options *options,
                                              struct iso_error *error)
{
    return recorder_new(options, error);
}

void recorder_count(struct iso_recorder *recorder, enum recorder_fate fate)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->counts[fate]++;
    pthread_mutex_unlock(&recorder->lock);
}

bool iso_recorder_flush(struct iso_recorder *recorder, unsigned seconds)
{
    return !recorder || !recorder->sink || recorder->sink->flush(recorder->context, seconds);
}

void iso_recorder_free(struct iso_recorder *recorder)
{
    if (!recorder)
        return;
    if (recorder->sink)
        recorder->sink->free(recorder->context);
    pthread_mutex_destroy(&recorder->floors.lock);
    pthread_mutex_destroy(&recorder->lock);
    free(recorder);
}

void iso_recorder_progress(struct iso_recorder *recorder, const char *snapshot)
{
    if (recorder)
        recorder_floors_saw(&recorder->floors, snapshot, NULL);
}

void iso_recorder_statistics(struct iso_recorder *recorder,
                             struct iso_recorder_statistics *statistics)
{
    memset(statistics, 0, sizeof *statistics);
    if (!recorder)
        return;
    pthread_mutex_lock(&recorder->lock);
    statistics->recorded = recorder->counts[RECORDER_TAKEN];
    statistics->dropped_full = recorder->counts[RECORDER_FULL];
    statistics->dropped_refused = recorder->counts[RECORDER_REFUSED];
    pthread_mutex_unlock(&recorder->lock);
    if (recorder->sink)
        recorder->sink->count(recorder->context, statistics);
}

bool recorder_start_thread(pthread_t *thread, void *(*run)(void *), void *context,
                           struct iso_error *error)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int status = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (status != 0)
        iso_error_set(error, ISO_FAILED, "a recorder's thread could not be started");
    return status == 0;
}

struct timespec recorder_deadline(unsigned seconds)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += seconds;
    return time;
}

/* Adds the text with each character of `special` as its escape. */
static bool put_escaped(char *key, size_t size, size_t *used, const char *text, const char *special)
{
    for (;; text++) {
        size_t plain = strcspn(text, special);
        if (plain >= size - *used)
            return false;
        memcpy(key + *used, text, plain);
        *used += plain;
        text += plain;
        if (!*text)
            return true;
        const char *escape = *text == '%'   ? "%25"
                             : *text == '/' ? "%2F"
                             : *text == ',' ? "%2C"
                                            : "%23";
        if (size - *used <= 3)
            return false;
        memcpy(key + *used, escape, 3);
        *used += 3;
    }
}

static bool put_mark(char *key, size_t size, size_t *used, char mark)
{
    if (size - *used < 2)
        return false;
    key[(*used)++] = mark;
    return true;
}

/* In keys of rows `#` is special, since behind it stands a cell's column. */
static bool put_key(char *key, size_t size, const char *table, const char *const *parts,
                    size_t count, bool is_row)
{
    size_t used = 0;
    if (size == 0 || (table && !put_escaped(key, size, &used, table, is_row ? "#" : "")))
        return false;
    for (size_t i = 0; i < count; i++) {
        if ((i > 0 || table) && !put_mark(key, size, &used, i > 0 ? ',' : '/'))
            return false;
        if (!put_escaped(key, size, &used, parts[i], is_row ? "%/,#" : "%/,"))
            return false;
    }
    key[used] = '\0';
    return true;
}

bool iso_recorder_key(char *key, size_t size, const char *table, const char *const *parts,
                      size_t count)
{
    return put_key(key, size, table, parts, count, false);
}

bool iso_recorder_row_key(char *key, size_t size, const char *table, const char *const *parts,
                          size_t count)
{
    return put_key(key, size, table, parts, count, true);
}
