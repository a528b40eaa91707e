/* What the files of a session share: the session, and what each file does for the others.
 *
 * A text is counted: who keeps one has a reference to it (observed_text_share), and gives it back
 * (observed_text_release). Pointers to prepared statements, portals and entries hold until one is
 * added or taken away.
 */
#pragma once

#include "observe/observed.h"
#include "observe/reading.h"

enum { NAMES_MOST = 4096, NAMES_BYTES = 1 << 24, ANSWERS = 6 };
enum {
    ANSWER_CHECK,
    ANSWER_TEMPORARY,
    ANSWER_FLOATS,
    ANSWER_BYTES,
    ANSWER_PREPARED,
    ANSWER_CHANGED
}; /* of QUESTION_VIEW */

/* A statement's text with its constants, as a simple query or a prepared statement has it. */
struct text {
    uint32_t references;
    struct plan *plan;
    struct observe_shape *shape;
    struct constants constants;
    uint32_t *types; /* of parameters, as declared, or as the server said since */
    uint32_t type_count;
    struct result_fields fields;
    bool is_described;
    uint64_t epoch, described; /* the session's, when it was looked at, and when it was described */
    bool is_misread;           /* by the server, with settings that were not known then */
    char *test;                /* that a comment in it names; NULL: none does */
};

struct prepared {
    char *name;
    size_t bytes; /* in names_bytes */
    struct text *text;
};

struct portal {
    char *name;
    struct text *text;
    struct parameters parameters;
    uint16_t *formats; /* of the result */
    uint32_t format_count;
    struct result_fields fields;
    size_t bytes; /* in names_bytes */
    bool is_described, has_run, is_pure, is_admitted;
    int64_t sent;            /* its Bind, or DECLARE: with that it sees what it sees */
    bool is_told;            /* described itself, behind its Bind */
    uint64_t writes, serial; /* of the transaction, when it was opened or last read from */
    bool is_cursor;          /* of DECLARE: by FETCH */
};

/* Kinds of answers that the server still owes. */
enum entry_kind {
    ENTRY_QUERY,
    ENTRY_PARSE,
    ENTRY_BIND,
    ENTRY_DESCRIBE_STATEMENT,
    ENTRY_DESCRIBE_PORTAL,
    ENTRY_EXECUTE,
    ENTRY_CLOSE,
    ENTRY_SYNC,
    ENTRY_FUNCTION,
    ENTRY_COPIED /* answered by nothing: the end of COPY FROM's data, or a Sync before it */
};

enum question { QUESTION_NONE, QUESTION_CATALOG, QUESTION_POSITION, QUESTION_VIEW, QUESTION_GUARD };

struct entry {
    enum entry_kind kind;
    enum question own; /* a message of ours */
    uint32_t position; /* of a simple query: which of its statements */
    struct text *text; /* QUERY, PARSE */
    /* the message's body, of those that are looked at when they are answered */
    struct iso_text bytes;
    size_t cost;  /* in queue_bytes */
    int64_t sent; /* when; 0: nobody asks */
};

enum transaction_state { TRANSACTION_NONE, TRANSACTION_IMPLICIT, TRANSACTION_OPEN };

/* Tables that the transaction wrote, or may have written. */
struct soiled {
    bool all;
    uint32_t count, oids[16];
};

/* Relations that the transaction made, which nobody else sees: hashes of their names. */
struct made {
    uint32_t count;
    uint64_t names[16];
};

struct savepoint {
    char *name;
    size_t mark;
    struct soiled soiled;
    struct made made;
};

struct transaction {
    enum transaction_state state;
    bool has_failed, takes_default, position_asked, saw_snapshot, may_write, xid_known;
    bool sets;      /* settings, or may have */
    bool has_meant; /* names of it were looked up: by the catalog that it keeps to its end */
    bool is_named;  /* by a comment: which test it belongs to */
    bool has_position, writes_more; /* than the record lists */
    bool is_left_out; /* its snapshot may be an older one, or where it begins is not known */
    enum isolation isolation;
    bool may_have_changed; /* the catalog: it has to be asked whether what was used of it is what it
                              was */
    uint64_t writes, serial, statements, operations;
    uint64_t reads;  /* statements that were counted as recorded */
    int64_t held_at; /* nanoseconds: behind the last statement of which something was recorded */
    struct soiled soiled;
    struct made made;
};

/* Answers that the server still owes: a ring (queue.c). */
struct pending {
    struct entry *entries;
    uint32_t first, count, capacity;
    size_t bytes; /* that the entries keep */
};

/* Prepared statements, portals and cursors (names.c). */
struct named {
    struct prepared *prepared;
    uint32_t prepared_count, prepared_capacity;
    struct portal *portals;
    uint32_t portal_count, portal_capacity;
    size_t bytes; /* that they keep of what the client sent */
};

/* Savepoints of the transaction (transaction.c). */
struct savepoints {
    struct savepoint *list;
    uint32_t count, capacity;
};

/* Where the conversation is (client.c, server.c). */
struct conversation {
    bool is_ready; /* the server has said so once */
    bool is_lost, stops, is_quiet;
    bool copies, in_sequence;
    bool skips;  /* the server, behind an error, all that comes before a Sync */
    char status; /* of the last ReadyForQuery */
};

/* Settings that the server reports (server.c), and others that were found. */
struct settings {
    struct spelling spelling;
    enum isolation by_default;
    bool reads_only; /* by default: what is asked outside of a transaction might wait for a safe
                        snapshot (DEFERRABLE) */
    bool backslashes, is_standby;
    char *application; /* its name; NULL: it has none */
};

/* Events in the session that may have changed the meaning of names and values (statement.c). */
struct doubt {
    /* Temporary relations, prepared statements or the catalog may be others: nothing is recorded
     * until the server was asked (QUESTION_VIEW). */
    bool is_dirty;
    bool is_unsettled; /* until it is ready, settings may be others than were reported */
    bool has_temporary;
    bool defines;   /* something ran that may have changed the catalog for everybody */
    uint64_t epoch; /* how often what names mean may have changed */
};

/* The statement that runs (statement.c). */
struct running {
    bool runs, fails, starts, has_fields;
    bool is_admitted, is_pure; /* by its shape and the catalog */
    enum plan_reason passed;   /* why it is passed on, found before its result */
    struct plan_statement *statement;
    struct observe_shape *shape;
    struct text *text;     /* a reference: what the input points to */
    struct portal *portal; /* of extended execution, or of FETCH; NULL */
    struct statement_input input;
    struct written written;
    struct reading reading;
    struct result_fields fields;
    size_t mark;
    int64_t sent;    /* when it was; 0: not known */
    bool may_be_own; /* what it returns may have been written by its transaction */
};

/* A question of the observer's own (question.c). */
struct asked {
    bool was_asked;  /* whether a question for the catalog is due */
    bool is_guarded; /* a question's savepoint was sent, and its end was not */
    bool has_failed;
    int64_t at; /* nanoseconds: when a question was put; and what confirms the catalog */
    char expected[CATALOG_EXPECTED];
    struct catalog *catalog; /* that is being read */
    enum observed_way way;   /* its question's */
    unsigned parts, allowed; /* of the position: asked for, and known to be allowed ... */
    uint64_t allowed_epoch;  /* ... in this epoch of the session's doubts */
    struct iso_text failure; /* with which one failed within the client's transaction */
    bool is_owed;            /* to the client, whose transaction failed with it */
    bool is_withheld;        /* a message that may have to say so */
};

struct observed {
    struct observe_world *world;
    char *name;                        /* of the database */
    struct observe_database *database; /* a reference; NULL before the login */
    struct catalog *catalog;
    struct iso_recorder_session *session;
    struct conversation conversation;
    struct pending pending;
    struct named named;
    struct settings settings;
    struct doubt doubt;
    struct transaction transaction;
    struct savepoints savepoints;
    struct observe_held waiting;
    struct running running;
    struct asked question;
    bool has_defined;  /* a statement may have changed the catalog, and nobody has looked since */
    bool just_defined; /* the last text that means something is a definition, and was looked at */
    bool will_define;  /* the text at hand may */
};

/* observed.c */
/* Nothing more of the session is understood, or recorded. */
void observed_lose(struct observed *observed);

/* names.c. What is not found is NULL. */
struct text *observed_text_new(struct observed *observed, const char *sql);
struct text *observed_text_share(struct text *text);
void observed_text_release(struct text *text); /* NULL is allowed */
size_t observed_text_bytes(const struct text *text);
struct prepared *observed_find_prepared(struct observed *observed, const char *name);
void observed_drop_prepared(struct observed *observed, struct prepared *prepared);
void observed_add_prepared(struct observed *observed, const char *name,
                           struct text *text); /* in place of one of that name */
struct portal *observed_find_portal(struct observed *observed, const char *name);
/* A portal without anything, in place of one of that name. */
struct portal *observed_open_portal(struct observed *observed, const char *name);
void observed_weigh_portal(struct observed *observed,
                           struct portal *portal); /* its parameters are all there */
void observed_drop_portal(struct observed *observed, struct portal *portal);
void observed_drop_portals(struct observed *observed);

/* client.c */
/* At a session's end: the catalog behind its last definition. */
void observed_look_behind(struct observed *observed);

/* queue.c */
struct entry *observed_head(const struct observed *observed); /* NULL: nothing is to be answered */
struct entry *observed_at(const struct observed *observed, uint32_t position);
struct entry *observed_push(struct observed *observed, enum entry_kind kind, enum question own);
void observed_keep_body(struct observed *observed, struct entry *entry,
                        const struct wire_piece *piece);
void observed_weigh(struct observed *observed, struct entry *entry,
                    size_t bytes); /* that it keeps */
void observed_pop(struct observed *observed);
/* After an error the server reads on to the next Sync. */
void observed_pop_to_sync(struct observed *observed);
/* Syncs that the server takes for nothing while it copies, up to the end of the data. */
void observed_begin_copy(struct observed *observed);

/* transaction.c */
/* PREPARED: whoever commits it may do so behind what the session does next, which does not see it;
 * but records of a session follow each other. What it wrote, the stream alone knows. */
enum outcome { OUTCOME_COMMITTED, OUTCOME_ABORTED, OUTCOME_UNKNOWN, OUTCOME_PREPARED };

void observed_begin_transaction(struct observed *observed, enum transaction_state state,
                                enum isolation isolation);
void observed_end_transaction(struct observed *observed, enum outcome outcome);
/* Records that wait are let go once the catalog was asked for again, without what they list if it
 * is another; `at_once`: they wait no longer. */
void observed_settle(struct observed *observed, bool at_once);
void observed_set_savepoint(struct observed *observed, const char *name);
void observed_return_to_savepoint(struct observed *observed, const char *name, bool releases);
/* What the statement that ended made; whether the transaction made all that the query reads. */
void observed_note_made(struct observed *observed);
bool observed_made_all(const struct observed *observed, const struct plan_statement *query);
void observed_forget_savepoints(struct observed *observed, uint32_t from);

/* statement.c */
/* A statement begins: its first answer is there. */
void observed_begin_statement(struct observed *observed, struct text *text, uint32_t position,
                              struct portal *portal);
/* `is_told`: they were described for this execution, so that tables' numbers are what its names
 * mean. */
void observed_begin_rows(struct observed *observed, const struct result_fields *fields,
                         bool is_told);
void observed_refresh_catalog(struct observed *observed);
/* The statement ended well; `whole`: there are no more rows. */
void observed_end_statement(struct observed *observed, const char *tag, bool whole);
void observed_fail_statement(struct observed *observed);
/* What is recorded from here on belongs to the statement that runs, answered as far as now. */
void observed_tell_moment(struct observed *observed);
/* Something opaque ran: it may have written, set, made and changed whatever it liked. */
void observed_may_do_anything(struct observed *observed);

/* told.c: what people are told of a record. */
/* The test that a comment in a statement names, to be freed; NULL: none. */
char *told_test(const char *sql);
void observed_name_application(struct observed *observed, const char *name);
/* The statement that runs: its text, and the test that it or the session belongs to. */
void observed_tell_statement(struct observed *observed);

/* question.c. `before` gets what is to be asked before the client's message with this text (NULL:
 * none). */
void observed_ask_before(struct observed *observed, const struct text *text,
                         struct iso_text *before);
void observed_ask_at_end(struct observed *observed, struct iso_text *before); /* before Terminate */
/* Once its connection is gone: a host can still say whether what waits was right. */
void observed_settle_at_end(struct observed *observed);
void observed_answer_own(struct observed *observed, const struct wire_piece *piece);
