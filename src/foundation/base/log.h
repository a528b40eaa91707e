/* A log for who works on the code: what became of one transaction, step by step.
 *
 *     ISO_LOG(aion, &history->atoms, history->tid[t], "refused: %s", why);
 *     ISO_LOG_TEXT(recorder, session->tid, strlen(session->tid), "full");
 *     ISO_LOG_ALL(weak, "round %u: %u constraints", round, count);       // of no transaction
 *
 * Compiled out, arguments and all, but in a build with `make LOG=1 BUILD=build-log`. There
 * ISOCHRON_LOG names the modules that speak, with commas between (`all`: each does; nobody does
 * without it), and ISOCHRON_LOG_TID one transaction: lines of others, and those of none, are left
 * out. A line on stderr is `module tid: what happened`. Formats are checked in every build.
 *
 * The first form is for who includes base/atom.h. Threads: any; a line is written at once.
 */
#pragma once

#include <inttypes.h> /* for who logs numbers */
#include <stdbool.h>
#include <stddef.h>

#ifdef ISO_LOGGING
enum { ISO_LOG_IS_ON = 1 };
#else
enum { ISO_LOG_IS_ON = 0 };
#endif

/* `tid` NULL: of no transaction. */
bool iso_log_wants(const char *module, const char *tid, size_t length);
void iso_log_line(const char *module, const char *tid, size_t length, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define ISO_LOG_TEXT(module, tid, length, ...)                                                     \
    do {                                                                                           \
        if (ISO_LOG_IS_ON && iso_log_wants(#module, tid, length))                                  \
            iso_log_line(#module, tid, length, __VA_ARGS__);                                       \
    } while (0)

#define ISO_LOG_ALL(module, ...) ISO_LOG_TEXT(module, NULL, 0, __VA_ARGS__)

#define ISO_LOG(module, atoms, tid, ...)                                                           \
    do {                                                                                           \
        if (ISO_LOG_IS_ON) {                                                                       \
            char log_buffer_[ISO_ATOM_TEXT_MAX];                                                   \
            size_t log_length_ = 0;                                                                \
            const char *log_tid_ = iso_atom_text(atoms, tid, log_buffer_, &log_length_);           \
            ISO_LOG_TEXT(module, log_tid_, log_length_, __VA_ARGS__);                              \
        }                                                                                          \
    } while (0)
