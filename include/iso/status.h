/* What a call says of itself, and what a check says of a history. Part of both libraries'
 * interface.
 *
 * The first error wins: a call that fails leaves an error that is already set as it is. Start with
 * ISO_NO_ERROR; to go on after an error set `status` to ISO_OK again.
 */
#ifndef ISO_STATUS_H
#define ISO_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what the shared libraries export; everything else in them is hidden. */
#if defined __GNUC__
#define ISO_API __attribute__((visibility("default")))
#else
#define ISO_API
#endif

/* The numbers are the program's exit codes. Calls of the libraries return ISO_OK, ISO_BAD_INPUT or
 * ISO_FAILED. */
enum iso_status {
    ISO_OK = 0,        /* judged, nothing wrong */
    ISO_VIOLATED = 1,  /* a final violation */
    ISO_BAD_INPUT = 2, /* usage, configuration or input error */
    ISO_UNDECIDED = 3, /* nothing judged, unjudged reads, a limit, a gap */
    ISO_FAILED = 4     /* runtime failure: I/O, broker */
};

enum iso_outcome { ISO_HOLDS, ISO_IS_VIOLATED, ISO_IS_UNDECIDED };

enum { ISO_ERROR_TEXT = 1024 };

struct iso_error {
    enum iso_status status;    /* ISO_OK: no error */
    char text[ISO_ERROR_TEXT]; /* one line, no newline at its end: where, what was wrong, what was
                                  expected */
};

/* struct iso_error error = ISO_NO_ERROR; */
#define ISO_NO_ERROR                                                                               \
    {                                                                                              \
        ISO_OK, ""                                                                                 \
    }

#ifdef __cplusplus
}
#endif

#endif
