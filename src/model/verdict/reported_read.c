/* From JSON back to reported violations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "verdict/level.h"
#include "verdict/reported.h"

/* A violation's words, which belong to the verdict's own vocabulary. */
enum { WORD = 20 };
struct words {
    char id[WORD], state[WORD], doubtful[WORD], axiom[WORD], kind[WORD], guarantee[WORD];
};

/* A text of a location or note, by where it stands in `text`: that moves while it grows. */
struct span {
    size_t first, length;
    bool given;
};

struct iso_reported_reader {
    struct iso_json json;
    struct iso_atoms *atoms;
    struct iso_reported_sink sink;
    struct iso_reported_object object;
    bool ended; /* by the sink */

    struct iso_reported reported;
    struct words words;
    struct iso_reported_atom *tids;
    iso_atom *elements; /* of both values */
    struct iso_reported_edge *edges;
    struct iso_reported_commit *commits;
    struct iso_reported_location *locations;
    struct span *names; /* of the locations */
    struct span note;
    struct iso_text text;
    size_t element_count, first_element[2]; /* of what was expected, and found */
    size_t tid_capacity, element_capacity, edge_capacity, commit_capacity, location_capacity,
        name_capacity;
};

struct iso_reported_reader *iso_reported_reader_new(struct iso_atoms *atoms,
                                                    const struct iso_reported_sink *sink)
{
    struct iso_reported_reader *reader = iso_allocate_zeroed(1, sizeof *reader);
    reader->atoms = atoms;
    reader->sink = *sink;
    iso_json_init(&reader->json);
    return reader;
}

void iso_reported_reader_free(struct iso_reported_reader *reader)
{
    iso_json_release(&reader->json);
    iso_text_release(&reader->text);
    ISO_FREE_ALL(reader->tids, reader->elements, reader->edges, reader->commits, reader->locations,
                 reader->names, reader);
}

struct iso_json *iso_reported_json(struct iso_reported_reader *reader)
{
    return &reader->json;
}

/* ---- pieces ---- */

static void refuse(struct iso_reported_reader *reader, const char *expected)
{
    iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at, expected);
}

/* null is the empty word. */
static void read_word(struct iso_reported_reader *reader, char *word, size_t size)
{
    struct iso_json_text text;
    word[0] = 0;
    if (iso_json_peek(&reader->json) == ISO_JSON_NULL) {
        iso_json_null(&reader->json);
        return;
    }
    if (!iso_json_string(&reader->json, &text))
        return;
    if (text.length >= size || memchr(text.at, 0, text.length))
        refuse(reader, "a word of the verdict's vocabulary");
    else
        snprintf(word, size, "%.*s", (int)text.length, text.at);
}

/* A word that is one of some, with bars between: it goes into names, classes and headlines as it
 * is. */
static void read_known_word(struct iso_reported_reader *reader, char *word, size_t size,
                            const char *known)
{
    read_word(reader, word, size);
    size_t length = strlen(word);
    while (length && *known && (strcspn(known, "|") != length || memcmp(known, word, length)))
        known += strcspn(known, "|") + (known[strcspn(known, "|")] == '|');
    if (length && !*known)
        refuse(reader, "a word of the verdict's vocabulary");
}

static iso_atom read_bare_atom(struct iso_reported_reader *reader)
{
    struct iso_json_text text;
    struct iso_json_number number;
    switch (iso_json_peek(&reader->json)) {
    case ISO_JSON_NULL:
        iso_json_null(&reader->json);
        return ISO_ABSENT;
    case ISO_JSON_DIGITS:
        return iso_json_integer(&reader->json, &number)
                   ? iso_atoms_add_integer(reader->atoms, number.bits, number.negative)
                   : ISO_ABSENT;
    default:
        return iso_json_string(&reader->json, &text)
                   ? iso_atoms_text(reader->atoms, text.at, text.length)
                   : ISO_ABSENT;
    }
}

/* Readers of one member, where it belongs. */

static void read_atom(struct iso_reported_reader *reader, void *at)
{
    *(struct iso_reported_atom *)at =
        (struct iso_reported_atom){reader->atoms, read_bare_atom(reader)};
}

/* Reads a member that nothing depends on: a value that is no string is passed over. */
static void read_loose_atom(struct iso_reported_reader *reader, void *at)
{
    if (iso_json_peek(&reader->json) == ISO_JSON_STRING)
        read_atom(reader, at);
    else
        iso_json_skip(&reader->json);
}

static void read_count(struct iso_reported_reader *reader, void *at)
{
    struct iso_json_number number = {0};
    iso_json_integer(&reader->json, &number);
    *(uint64_t *)at = number.bits;
}

/* One that is too large for any transaction is behind all its operations. */
static void read_operation(struct iso_reported_reader *reader, void *at)
{
    uint64_t operation = 0;
    read_count(reader, &operation);
    *(uint32_t *)at = operation < ISO_NONE ? (uint32_t)operation : ISO_NONE - 1;
}

/* A timestamp: null, or what is longer than any, is none. */
static void read_stamp(struct iso_reported_reader *reader, void *at)
{
    struct iso_json_text text = {"", 0};
    char *stamp = at;
    stamp[0] = 0;
    switch (iso_json_peek(&reader->json)) {
    case ISO_JSON_STRING:
        iso_json_string(&reader->json, &text);
        break;
    case ISO_JSON_DIGITS:
        text.at = reader->json.at;
        if (iso_json_skip(&reader->json))
            text.length = (size_t)(reader->json.at - text.at);
        break;
    default:
        iso_json_skip(&reader->json);
    }
    if (text.length < ISO_REPORTED_STAMP)
        snprintf(stamp, ISO_REPORTED_STAMP, "%.*s", (int)text.length, text.at);
}

static void read_truth(struct iso_reported_reader *reader, void *at)
{
    *(bool *)at = iso_json_peek(&reader->json) == ISO_JSON_TRUE;
    iso_json_skip(&reader->json);
}

static void read_text(struct iso_reported_reader *reader, void *at)
{
    struct iso_json_text text;
    if (!iso_json_string(&reader->json, &text))
        return;
    *(struct span *)at = (struct span){reader->text.used, text.length, true};
    iso_text_put_bytes(&reader->text, text.at, text.length);
    iso_text_put_bytes(&reader->text, "", 1);
}

static void read_vocabulary(struct iso_reported_reader *reader, void *at)
{
    read_word(reader, at, WORD);
}

static void read_edge_type(struct iso_reported_reader *reader, void *at)
{
    read_known_word(reader, at, sizeof((struct iso_reported_edge *)NULL)->type,
                    "wr|ww|rw|so|rt|implied");
}

/* ---- objects by tables ---- */

struct member {
    const char *name;
    void (*read)(struct iso_reported_reader *reader, void *at);
    size_t offset; /* of what it fills in */
};

static bool next_member(struct iso_reported_reader *reader, struct iso_json_text *name)
{
    return !reader->json.code && !reader->ended && iso_json_member(&reader->json, name);
}

static bool next_element(struct iso_reported_reader *reader)
{
    return !reader->json.code && !reader->ended && iso_json_element(&reader->json);
}

/* A table ends with a member without a name. */
static void read_member(struct iso_reported_reader *reader, const struct member *table,
                        void *object, const struct iso_json_text *name)
{
    while (table->name && !iso_json_is(name, table->name))
        table++;
    if (table->name)
        table->read(reader, (char *)object + table->offset);
    else
        iso_json_skip(&reader->json);
}

static void read_members(struct iso_reported_reader *reader, const struct member *table,
                         void *object)
{
    struct iso_json_text name;
    iso_json_enter_object(&reader->json);
    while (next_member(reader, &name))
        read_member(reader, table, object, &name);
}

/* As read_members, but a value that is no object is passed over; false: it was. */
static bool read_loose_members(struct iso_reported_reader *reader, const struct member *table,
                               void *object)
{
    bool is_object = iso_json_peek(&reader->json) == ISO_JSON_OBJECT;
    if (is_object)
        read_members(reader, table, object);
    else
        iso_json_skip(&reader->json);
    return is_object;
}

#define AT(type, member) offsetof(struct type, member)

/* ---- members of a violation ---- */

static void read_tids(struct iso_reported_reader *reader, void *at)
{
    struct iso_reported *reported = at;
    reported->tid_count = 0;
    iso_json_enter_array(&reader->json);
    while (next_element(reader)) {
        ISO_GROW(reader->tids, reported->tid_count, reader->tid_capacity);
        read_atom(reader, &reader->tids[reported->tid_count++]);
    }
}

static void add_element(struct iso_reported_reader *reader)
{
    iso_atom atom = read_bare_atom(reader);
    ISO_PUSH(reader->elements, reader->element_count, reader->element_capacity, atom);
}

static void read_value(struct iso_reported_reader *reader, void *at)
{
    struct iso_reported_value *value = at;
    size_t first = reader->element_count;
    *value = (struct iso_reported_value){.atoms = reader->atoms, .is_given = true};
    value->is_list = iso_json_peek(&reader->json) == ISO_JSON_ARRAY;
    reader->first_element[value == &reader->reported.actual] = first;
    if (value->is_list) {
        iso_json_enter_array(&reader->json);
        while (next_element(reader))
            add_element(reader);
    } else {
        add_element(reader);
    }
    value->count = (uint32_t)(reader->element_count - first);
}

static void read_edges(struct iso_reported_reader *reader, void *at)
{
    static const struct member members[] = {{"from", read_atom, AT(iso_reported_edge, from)},
                                            {"to", read_atom, AT(iso_reported_edge, to)},
                                            {"type", read_edge_type, AT(iso_reported_edge, type)},
                                            {"key", read_atom, AT(iso_reported_edge, key)},
                                            {0}};
    struct iso_reported *reported = at;
    reported->edge_count = 0;
    reported->is_cycle = true;
    iso_json_enter_array(&reader->json);
    while (next_element(reader)) {
        ISO_GROW(reader->edges, reported->edge_count, reader->edge_capacity);
        reader->edges[reported->edge_count] = (struct iso_reported_edge){.type = ""};
        read_members(reader, members, &reader->edges[reported->edge_count++]);
    }
}

/* A location as it is read: which of its members count is known when all were. */
struct raw_location {
    struct span file, topic;
    uint64_t line, partition, offset;
    uint32_t operation;
};

static void read_location(struct iso_reported_reader *reader,
                          struct iso_reported_location *location, struct span *name)
{
    static const struct member members[] = {{"file", read_text, AT(raw_location, file)},
                                            {"topic", read_text, AT(raw_location, topic)},
                                            {"line", read_count, AT(raw_location, line)},
                                            {"partition", read_count, AT(raw_location, partition)},
                                            {"offset", read_count, AT(raw_location, offset)},
                                            {"op", read_operation, AT(raw_location, operation)},
                                            {0}};
    struct raw_location raw = {.operation = ISO_NONE};
    read_members(reader, members, &raw);
    bool is_message = raw.topic.given;
    *name = is_message ? raw.topic : raw.file;
    *location = (struct iso_reported_location){.is_message = is_message,
                                               .partition = raw.partition,
                                               .position = is_message ? raw.offset : raw.line,
                                               .operation = raw.operation};
}

static void read_locations(struct iso_reported_reader *reader, void *at)
{
    struct iso_reported *reported = at;
    reported->location_count = 0;
    iso_json_enter_array(&reader->json);
    while (next_element(reader)) {
        uint32_t index = reported->location_count++;
        ISO_GROW(reader->locations, index, reader->location_capacity);
        ISO_GROW(reader->names, index, reader->name_capacity);
        read_location(reader, &reader->locations[index], &reader->names[index]);
    }
}

static void read_commits(struct iso_reported_reader *reader, void *at)
{
    static const struct member members[] = {{"tid", read_loose_atom, AT(iso_reported_commit, tid)},
                                            {"xid", read_stamp, AT(iso_reported_commit, xid)},
                                            {"lsn", read_stamp, AT(iso_reported_commit, lsn)},
                                            {"time", read_stamp, AT(iso_reported_commit, time)},
                                            {0}};
    struct iso_reported *reported = at;
    reported->commit_count = 0;
    if (iso_json_peek(&reader->json) != ISO_JSON_ARRAY) {
        iso_json_skip(&reader->json);
        return;
    }
    iso_json_enter_array(&reader->json);
    while (next_element(reader)) {
        uint32_t index = reported->commit_count++;
        ISO_GROW(reader->commits, index, reader->commit_capacity);
        reader->commits[index] = (struct iso_reported_commit){.tid = {reader->atoms, ISO_ABSENT}};
        read_loose_members(reader, members, &reader->commits[index]);
    }
}

static void read_times(struct iso_reported_reader *reader, void *at)
{
    static const struct member members[] = {{"sts", read_stamp, AT(iso_reported_times, sts)},
                                            {"cts", read_stamp, AT(iso_reported_times, cts)},
                                            {0}};
    struct iso_reported_times *times = at;
    times->is_given = read_loose_members(reader, members, times);
}

static void read_until(struct iso_reported_reader *reader, void *at)
{
    struct iso_reported_moments *moments = at;
    moments->has_until = true;
    read_stamp(reader, moments->until);
}

static void read_moments(struct iso_reported_reader *reader, void *at)
{
    static const struct member members[] = {
        {"look", read_stamp, AT(iso_reported_moments, read_at)},
        {"inclusive", read_truth, AT(iso_reported_moments, inclusive)},
        {"until", read_until, 0},
        {"expected", read_times, AT(iso_reported_moments, expected)},
        {"actual", read_times, AT(iso_reported_moments, actual)},
        {"other", read_times, AT(iso_reported_moments, other)},
        {0}};
    read_loose_members(reader, members, at);
}

static void read_axiom(struct iso_reported_reader *reader, void *at)
{
    read_word(reader, reader->words.axiom, WORD);
    *(const char **)at = reader->words.axiom;
}

static void read_by(struct iso_reported_reader *reader, void *at)
{
    char by[ISO_REPORTED_STAMP];
    read_stamp(reader, by);
    *(bool *)at = !strcmp(by, "deadline");
}

static void read_unlisted(struct iso_reported_reader *reader, void *at)
{
    char count[ISO_REPORTED_STAMP];
    read_stamp(reader, count);
    *(uint64_t *)at = strtoull(count, NULL, 10);
}

static void read_note(struct iso_reported_reader *reader, void *at)
{
    if (iso_json_peek(&reader->json) == ISO_JSON_STRING)
        read_text(reader, at);
    else
        iso_json_skip(&reader->json);
}

#define OF_READER(member) AT(iso_reported_reader, member)

/* Reads `doubtful`: a violation's is the reason, a word; a whole verdict's are counts by axiom,
 * which are passed over. */
static void read_doubt(struct iso_reported_reader *reader, void *at)
{
    if (iso_json_peek(&reader->json) == ISO_JSON_STRING)
        read_vocabulary(reader, at);
    else
        iso_json_skip(&reader->json);
}

static const struct member violation_members[] = {
    {"axiom", read_axiom, OF_READER(reported.axiom)},
    {"kind", read_vocabulary, OF_READER(words.kind)},
    {"anomaly", read_vocabulary, OF_READER(words.kind)},
    {"guarantee", read_vocabulary, OF_READER(words.guarantee)},
    {"id", read_vocabulary, OF_READER(words.id)},
    {"state", read_vocabulary, OF_READER(words.state)},
    {"by", read_by, OF_READER(reported.head.by_deadline)},
    {"doubtful", read_doubt, OF_READER(words.doubtful)},
    {"tids", read_tids, OF_READER(reported)},
    {"key", read_atom, OF_READER(reported.key)},
    {"session", read_loose_atom, OF_READER(reported.session)},
    {"count", read_unlisted, OF_READER(reported.count)},
    {"expected", read_value, OF_READER(reported.expected)},
    {"actual", read_value, OF_READER(reported.actual)},
    {"writer_expected", read_atom, OF_READER(reported.writer_expected)},
    {"writer_actual", read_atom, OF_READER(reported.writer_actual)},
    {"edges", read_edges, OF_READER(reported)},
    {"lemmas", read_count, OF_READER(reported.lemmas)},
    {"sts", read_stamp, OF_READER(reported.own.sts)},
    {"cts", read_stamp, OF_READER(reported.own.cts)},
    {"times", read_moments, OF_READER(reported.moments)},
    {"commits", read_commits, OF_READER(reported)},
    {"cause", read_loose_atom, OF_READER(reported.cause)},
    {"at", read_locations, OF_READER(reported)},
    {"note", read_note, OF_READER(note)},
    {0}};

/* ---- a violation ---- */

static void start_violation(struct iso_reported_reader *reader)
{
    reader->reported = (struct iso_reported){.note = NULL};
    reader->words = (struct words){.id = ""};
    reader->note = (struct span){0};
    reader->text.used = 0;
    reader->element_count = 0;
}

static const char *word_or_null(const char *word)
{
    return *word ? word : NULL;
}

/* The violation that was read stays where it is from here on. */
static const struct iso_reported *whole_violation(struct iso_reported_reader *reader)
{
    struct iso_reported *reported = &reader->reported;
    const struct words *words = &reader->words;
    reported->head.id = word_or_null(words->id);
    reported->head.state = word_or_null(words->state);
    reported->head.doubtful = word_or_null(words->doubtful);
    reported->head.level = word_or_null(reader->object.level);
    reported->versions_by_commit = reader->object.versions_by_commit;
    reported->kind = word_or_null(words->kind);
    reported->guarantee = word_or_null(words->guarantee);
    reported->tids = reader->tids;
    reported->edges = reader->edges;
    reported->commits = reader->commits;
    reported->locations = reader->locations;
    if (reader->element_count) {
        reported->expected.elements = reader->elements + reader->first_element[0];
        reported->actual.elements = reader->elements + reader->first_element[1];
    }
    reported->note = reader->note.given ? reader->text.bytes + reader->note.first : NULL;
    for (uint32_t i = 0; i < reported->location_count; i++) {
        const struct span *name = &reader->names[i];
        reader->locations[i].name = name->given ? reader->text.bytes + name->first : NULL;
        reader->locations[i].length = name->length;
    }
    return reported;
}

static void hand_over(struct iso_reported_reader *reader)
{
    reader->ended = !reader->sink.violation(reader->sink.context, whole_violation(reader));
}

/* ---- a verdict ---- */

static void read_violations(struct iso_reported_reader *reader)
{
    if (reader->sink.started)
        reader->sink.started(reader->sink.context);
    iso_json_enter_array(&reader->json);
    while (next_element(reader)) {
        start_violation(reader);
        read_members(reader, violation_members, reader);
        if (!reader->json.code)
            hand_over(reader);
    }
}

/* The sum of an object's numbers. */
static uint64_t read_sum(struct iso_reported_reader *reader)
{
    struct iso_json_text name;
    uint64_t sum = 0, count;
    iso_json_enter_object(&reader->json);
    while (next_member(reader, &name)) {
        read_count(reader, &count);
        sum += count;
    }
    return sum;
}

static void read_counts(struct iso_reported_reader *reader)
{
    reader->object.has_counts = true;
    reader->object.found = read_sum(reader);
}

/* A violation's is a word: why. */
static void read_doubtful(struct iso_reported_reader *reader)
{
    if (iso_json_peek(&reader->json) == ISO_JSON_OBJECT)
        reader->object.doubtful = read_sum(reader);
    else
        read_vocabulary(reader, reader->words.doubtful);
}

static void read_level(struct iso_reported_reader *reader)
{
    read_known_word(reader, reader->object.level, sizeof reader->object.level,
                    ISO_LEVEL_WORDS "|cdc");
}

static void read_versions(struct iso_reported_reader *reader)
{
    reader->object.versions_by_commit = true;
    iso_json_skip(&reader->json);
}

static void read_outcome(struct iso_reported_reader *reader)
{
    reader->object.is_verdict = true;
    read_known_word(reader, reader->object.outcome, sizeof reader->object.outcome,
                    "holds|violated|undecided");
}

static void read_engine(struct iso_reported_reader *reader)
{
    read_known_word(reader, reader->object.engine, sizeof reader->object.engine,
                    "chronos|aion|polygraph|weak");
}

/* Without a reader: passed over. Members of the level come before the list, as they are printed. */
static const struct verdict_member {
    const char *name;
    void (*read)(struct iso_reported_reader *reader);
} verdict_members[] = {
    {"isochron", NULL},
    {"level", read_level},
    {"versions", read_versions},
    {"order", NULL},
    {"engine", read_engine},
    {"verdict", read_outcome},
    {"reason", NULL},
    {"any_order", NULL},
    {"transactions", NULL},
    {"aborted", NULL},
    {"unknown", NULL},
    {"operations", NULL},
    {"sessions", NULL},
    {"keys", NULL},
    {"reads_judged", NULL},
    {"reads_unjudged", NULL},
    {"unjudged", NULL},
    {"repeats", NULL},
    {"writes_unjudged", NULL},
    {"per_operation", NULL},
    {"counts", read_counts},
    {"doubtful", read_doubtful},
    {"violations", read_violations},
    {"stream", NULL},
    {"join", NULL},
    {"books", NULL},
    {"uncovered", NULL},
    {"spellings", NULL},
    {"steps", NULL},
    {"seconds", NULL},
    {"peak_rss_bytes", NULL},
};

static const struct verdict_member *verdict_member(const struct iso_json_text *name)
{
    for (size_t i = 0; i < sizeof verdict_members / sizeof *verdict_members; i++)
        if (iso_json_is(name, verdict_members[i].name))
            return &verdict_members[i];
    return NULL;
}

bool iso_reported_is_of_verdict(const struct iso_json_text *name)
{
    return verdict_member(name);
}

static void read_object_member(struct iso_reported_reader *reader, const struct iso_json_text *name)
{
    const struct verdict_member *member = verdict_member(name);
    if (!member)
        read_member(reader, violation_members, reader, name);
    else if (member->read)
        member->read(reader);
    else
        iso_json_skip(&reader->json);
}

bool iso_reported_read(struct iso_reported_reader *reader, struct iso_reported_object *object)
{
    struct iso_json_text name;
    reader->object.is_verdict = false;
    reader->object.doubtful = 0;
    start_violation(reader);
    iso_json_enter_object(&reader->json);
    while (next_member(reader, &name))
        read_object_member(reader, &name);
    reader->object.is_violation = reader->reported.axiom && !reader->object.is_verdict;
    if (!reader->json.code && !reader->ended && reader->object.is_violation)
        hand_over(reader);
    *object = reader->object;
    return !reader->json.code && !reader->ended;
}
