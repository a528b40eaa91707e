/* libisochron: does a database keep the isolation level it promises? What `isochron check` and
 * `isochron watch` judge, for programs that have their histories at hand. docs/library.md is the
 * way in; this is the reference.
 *
 *     struct iso_error error = ISO_NO_ERROR;
 *     struct iso_transactions *history = iso_transactions_new();
 *     struct iso_check *check = NULL;
 *     if (iso_transactions_load(history, "bank.jsonl", NULL, &error) == ISO_OK)
 *         check = iso_check_new(history, NULL, &error);
 *     if (!check)
 *         fprintf(stderr, "%s\n", error.text);
 *     for (size_t i = 0; check && i < iso_check_count(check); i++)
 *         puts(iso_check_report(check, i)->json);
 *     iso_check_free(check);
 *     iso_transactions_free(history);
 *
 * A set of *transactions* is read from files, from JSON, or built by calls. A *check* judges such a
 * set as one finished history; a *stream* judges sets as they arrive, in any order. What is wrong
 * is *reported*, as a struct and as the JSON that the program prints
 * (deploy/schemas/verdict.schema.json). What the levels ask for: docs/semantics.md.
 *
 * Texts are UTF-8 and end in NUL. Those passed in are copied, options too; those handed out belong
 * to the handle that handed them out and live as long as it, unless said otherwise. NULL may be
 * passed where a comment says so; a free of NULL does nothing.
 *
 * Keys, values, tids and sids are texts, and equal if they are equal byte by byte. A number in JSON
 * is its digits: 100 there and "100" here are one value, "0100" is another. A key is either a
 * register, which is written and read, or a list, which is appended to and read whole. Timestamps
 * are the database's, 64 bits without sign, in whatever unit it has: they are only compared.
 *
 * Errors. A call that can fail returns ISO_OK, or ISO_BAD_INPUT (yours to mend) or ISO_FAILED (the
 * machine's: a disk, a file), with a line of text in `error`. A violation is no error. The library
 * prints nothing, installs no signal handler and never ends the process, with two exceptions, which
 * abort it: an assertion, if the library itself is at fault, and memory that the system refuses
 * (iso_on_out_of_memory).
 *
 * Threads. A handle is one thread's at a time; different handles are independent. A set that was
 * checked once may be checked again by any number of threads at the same time. Threads of its own
 * the library has where the option `threads` asks for them; they are gone when the call, or the
 * stream, ends.
 *
 * Compatibility. Structs may get more members at their end, options and JSON members may be added:
 * read structs in place and pass over what you do not know. Functions, names and meanings stay for
 * as long as the library is libisochron.so.1.
 */
#ifndef ISO_ISOCHRON_H
#define ISO_ISOCHRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iso/status.h"
#include "iso/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ISO_VERSION and ISO_VERSION_NUMBER of the library that runs, which may be newer than the
 * header. */
ISO_API const char *iso_version(void);
ISO_API unsigned iso_version_number(void);

/* Called when memory is refused, with the bytes that were asked for; it must not return to the
 * library. If it does, and where there is none, the process is aborted. For all handles; set it
 * before other threads run. */
ISO_API void iso_on_out_of_memory(void (*handler)(size_t bytes));

/* ---- transactions ---- */

struct iso_transactions;

ISO_API struct iso_transactions *iso_transactions_new(void);
ISO_API void iso_transactions_free(struct iso_transactions *transactions);
/* empty, as new; keeps its memory */
ISO_API void iso_transactions_clear(struct iso_transactions *transactions);
/* A call that returned an error added nothing, so the set may lack what was meant to be in it:
 * neither a check nor a stream takes it then. This says that it is whole without what was refused
 * so far. A file that broke off remains. */
ISO_API void iso_transactions_forgive(struct iso_transactions *transactions);
ISO_API uint32_t iso_transactions_count(const struct iso_transactions *transactions);

/* Adds a file's (`.zst`: packed; "-": standard input). `format`: a name of `isochron check
 * --format`, or NULL: it is recognized by the content. Native files add to what is there; other
 * formats want an empty set, and may be a directory. */
ISO_API enum iso_status iso_transactions_load(struct iso_transactions *transactions,
                                              const char *path, const char *format,
                                              struct iso_error *error);

/* Adds one transaction: a JSON object of the native format (include/iso/FORMATS.md), which says all
 * there is to say, snapshots, locks and client clocks included. `text` needs no NUL. On error
 * nothing was added. */
ISO_API enum iso_status iso_transactions_add_json(struct iso_transactions *transactions,
                                                  const char *text, size_t length,
                                                  struct iso_error *error);

/* Builds one: begin, what it did in the order in which it did it, and how it ended. `tid` is unique
 * in a set; `sid` names its session, whose transactions are begun here in the order in which they
 * ran, each after the one before had ended. Timestamps may be given anywhere between begin and end;
 * what has none is judged without. The NULL value of a read or a write is absent: no such row (a
 * write of it is a delete); other texts are not NULL. What is wrong (no UTF-8, an operation outside
 * of a transaction) is the error of the call that ends the transaction, which is left out then; so
 * is one that is begun and not ended. */
ISO_API void iso_transactions_begin(struct iso_transactions *transactions, const char *tid,
                                    const char *sid);
ISO_API void iso_transactions_start_timestamp(struct iso_transactions *transactions, uint64_t sts);
ISO_API void iso_transactions_commit_timestamp(struct iso_transactions *transactions, uint64_t cts);
ISO_API void iso_transactions_read(struct iso_transactions *transactions, const char *key,
                                   const char *value);
ISO_API void iso_transactions_write(struct iso_transactions *transactions, const char *key,
                                    const char *value);
ISO_API void iso_transactions_delete(struct iso_transactions *transactions, const char *key);
ISO_API void iso_transactions_append(struct iso_transactions *transactions, const char *key,
                                     const char *element);
ISO_API void iso_transactions_read_list(struct iso_transactions *transactions, const char *key,
                                        const char *const *elements, size_t count);
ISO_API enum iso_status iso_transactions_commit(struct iso_transactions *transactions,
                                                struct iso_error *error);
ISO_API enum iso_status iso_transactions_abort(struct iso_transactions *transactions,
                                               struct iso_error *error);
/* The connection was lost while COMMIT was on its way. */
ISO_API enum iso_status iso_transactions_unknown(struct iso_transactions *transactions,
                                                 struct iso_error *error);

/* Sets the value that every key holds before the first write (NULL: none, the default but where
 * the format says otherwise), and values by key, from a file with an object
 * {"ops":[{"t":"w","k":1,"v":2},...]}. */
ISO_API enum iso_status iso_transactions_initial(struct iso_transactions *transactions,
                                                 const char *value, struct iso_error *error);
ISO_API enum iso_status iso_transactions_load_initial(struct iso_transactions *transactions,
                                                      const char *path, struct iso_error *error);

/* ---- options, by the names that they have on the command line (docs/options.md) ----
 *
 * texts:    level              si (default), ser; of a check also adya-si, gsi, strong-si,
 *                              strict-ser
 *           engine             check: auto (default), chronos, aion, polygraph
 *           evidence           check: file for polygraph's evidence, which `isochron verify`
 *                              confirms
 *           spill              stream, with memory: folder for what does not fit
 *           on-bad-record      stream: fail (default), skip
 * numbers:  threads            1; 0: as many as there are processors
 *           max-violations     1000 are listed, max-per-key 1000 of these of one key or session; 0:
 *                              all
 *           no-session-order, allow-unjudged, any-order                    0 or 1
 *           final-only, midway (there was something before)                stream; 0 or 1
 *           ranges (row sets without "table" may come)                     stream; 0 or 1
 *           scan-limit (rows)                                              stream; 0: 10000
 *           timeout (ms), drift (ns), memory (bytes)                       check: polygraph's; 0:
 *                                                                          none, none, 16 GiB
 *           memory (bytes), retention, max-ahead (timestamps)              stream; 0: no limit,
 *                                                                          everything, guessed
 *           finality-timeout, idle-timeout, settle (ms), hlc-bits          stream; 0: none
 */
struct iso_options;

ISO_API struct iso_options *iso_options_new(void);
ISO_API void iso_options_free(struct iso_options *options);
ISO_API void iso_options_clear(struct iso_options *options); /* the defaults, as new */
/* ISO_BAD_INPUT: no such option, or not that value. Nothing is checked by these options then, until
 * they are cleared. */
ISO_API enum iso_status iso_options_set_text(struct iso_options *options, const char *name,
                                             const char *value, struct iso_error *error);
ISO_API enum iso_status iso_options_set_number(struct iso_options *options, const char *name,
                                               uint64_t value, struct iso_error *error);

/* ---- reports ---- */

enum iso_report_state {
    ISO_REPORT_FINAL, /* nothing that still arrives can change it; with `by_deadline`: it is taken
                         as final */
    ISO_REPORT_TENTATIVE, /* of a stream: with what has arrived so far it is wrong */
    ISO_REPORT_RETRACTED, /* a later transaction set it right */
    ISO_REPORT_UNLISTED   /* of a key or session there are `count` more, which are not listed */
};

/* A value: null (no elements, no list), one element, or a list. */
struct iso_report_value {
    const char *const *elements;
    size_t count;
    bool is_list;
};

/* Where a record that the report rests on was read: line of a file, or number of a source's
 * transaction, from 1. */
struct iso_report_place {
    const char *input;
    uint64_t number;
    int64_t operation; /* in the transaction, from 0; -1: the whole */
};

struct iso_report_edge {
    const char *from, *to; /* tids */
    const char *type;      /* "wr", "ww", "rw", "so", "rt", "implied" */
    const char *key;       /* NULL: the type has none */
};

/* One violation: the JSON object taken apart. Names as there; NULL, 0 and no elements for what it
 * does not have. */
struct iso_report {
    const char *json; /* one line without its newline */
    size_t json_length;
    enum iso_report_state state;
    uint64_t id;          /* of a stream: the same in every run and every state */
    const char *level;    /* "si", ... */
    const char *axiom;    /* "EXT", "CYCLE", ... */
    const char *kind;     /* of TIMESTAMP, EXT: "stale", ... */
    const char *anomaly;  /* of CYCLE: "G-single", ... */
    const char *doubtful; /* of a stream: why it may be wrong though final */
    bool by_deadline;     /* of a stream: no watermark vouches for it, it may be retracted */
    size_t tid_count;
    const char *const *tids; /* the one that is blamed first */
    const char *key, *session;
    struct iso_report_value expected, actual;    /* of INT, EXT */
    const char *writer_expected, *writer_actual; /* tids */
    const char *cause;                           /* of a stream: the tid that changed the verdict */
    const char *sts, *cts;                       /* of tids[0], as given: "41" or "{41,2}" */
    const char *note;
    size_t place_count;
    const struct iso_report_place *places;
    size_t edge_count;
    const struct iso_report_edge *edges; /* of CYCLE */
    uint64_t count;                      /* of ISO_REPORT_UNLISTED */
};

/* ---- a finished history ---- */

struct iso_check;

/* Judges the set as one history. `options` NULL: the defaults. NULL on error: an option or a
 * transaction was refused before, the set contradicts itself (a tid twice), or lacks what the level
 * needs. From then on the set can be checked again and cleared, but not added to. */
ISO_API struct iso_check *iso_check_new(struct iso_transactions *transactions,
                                        const struct iso_options *options, struct iso_error *error);
ISO_API void iso_check_free(struct iso_check *check);
ISO_API enum iso_outcome iso_check_outcome(const struct iso_check *check);
ISO_API const char *iso_check_reason(const struct iso_check *check); /* of undecided; else NULL */
/* all, also those that are not listed */
ISO_API uint64_t iso_check_violations(const struct iso_check *check);
ISO_API size_t iso_check_count(const struct iso_check *check); /* those listed */
ISO_API const struct iso_report *iso_check_report(const struct iso_check *check, size_t index);
/* The object of `isochron check --json`, one line without its newline. `length` may be NULL. */
ISO_API const char *iso_check_json(const struct iso_check *check, size_t *length);

/* ---- a stream ---- */

struct iso_stream;

/* The report and all in it live until the function returns. It is called inside the call that
 * caused it, on its thread, and must not call the stream. */
typedef void (*iso_on_report)(void *context, const struct iso_report *report);

/* NULL on error: an option that only a check has, or that was refused (`options` NULL: the
 * defaults, and no error). `initial`: a set whose initial values, not transactions, are taken;
 * NULL: keys begin with nothing. `on_report` may be NULL. */
ISO_API struct iso_stream *iso_stream_new(const struct iso_options *options,
                                          const struct iso_transactions *initial,
                                          iso_on_report on_report, void *context,
                                          struct iso_error *error);
ISO_API void iso_stream_free(struct iso_stream *stream);

/* A source: transactions that share a watermark. Returns its number, from 0; the same name, the
 * same number. Declare those that are to be waited for before the first push. At most 65,535;
 * beyond that the number is 65,535, and a push to it is an error. `now`, here and below:
 * milliseconds from any origin, never going back; without timeouts it does not matter. */
ISO_API uint32_t iso_stream_source(struct iso_stream *stream, const char *name, uint64_t now);

/* Takes the transactions of a set, which is empty then. The more a set holds, the less it costs. An
 * error stops the stream: what came before is judged, every later call returns the error again. */
ISO_API enum iso_status iso_stream_push(struct iso_stream *stream, uint32_t source,
                                        struct iso_transactions *transactions, uint64_t now,
                                        struct iso_error *error);
/* No later transaction of the source commits at or below `timestamp`. What all sources have passed
 * becomes final. */
ISO_API enum iso_status iso_stream_watermark(struct iso_stream *stream, uint32_t source,
                                             uint64_t timestamp, uint64_t now,
                                             struct iso_error *error);
/* Lets timeouts pass; some times a second, where there are any. */
ISO_API enum iso_status iso_stream_tick(struct iso_stream *stream, uint64_t now,
                                        struct iso_error *error);
/* Nothing more comes: all becomes final. */
ISO_API enum iso_status iso_stream_end(struct iso_stream *stream, uint64_t now,
                                       struct iso_error *error);

/* What is known so far; `reason` (may be NULL) is set as by iso_check_reason. Before the end a
 * stream in which something waits is undecided. */
ISO_API enum iso_outcome iso_stream_outcome(const struct iso_stream *stream, const char **reason);
/* The object of `isochron replay --json`, as above; until the next call of the stream. */
ISO_API const char *iso_stream_json(struct iso_stream *stream, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
