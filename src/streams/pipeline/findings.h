/* Final violations for the summary. */
#pragma once

#include "aion/aion.h"
#include "base/number_map.h"

/* Provenance of a verdict (doubt.c): the transactions that it names, which are its own, the
 * other one, the writer of the expected version, and that of the version read. */
enum { PIPELINE_PARTIES = 4 };

struct finding {
    uint64_t id;
    struct pipeline_provenance {
        uint64_t parties[PIPELINE_PARTIES]; /* digests; 0: nobody */
        uint64_t key;                       /* digest; 0: none */
        uint32_t inputs[PIPELINE_PARTIES];  /* of nobody: ISO_NONE */
        bool on_writes;                     /* a write that is not known may make it wrong */
        bool anywhere; /* wherever that came from: nobody knows who wrote a version */
    } provenance;
    bool by_deadline;
    uint8_t doubt;         /* enum pipeline_doubt */
    iso_atom tids[2], key; /* in `atoms` of the findings */
    enum iso_axiom axiom;
    char *text; /* its JSON object; NULL: removed */
    size_t length;
};

struct findings {
    struct iso_atoms atoms;
    struct finding *list;
    size_t count, capacity;
    struct iso_number_map by_id; /* its location in `list` */
    uint32_t limit;              /* 0: none */
};

struct finding *findings_add(struct findings *findings, const struct iso_aion_event *event,
                             const char *text, size_t length);
void findings_trim(struct findings *findings); /* those above the limit go, if they are many */
/* False: it is not among them. */
bool findings_remove(struct findings *findings, uint64_t id, bool *doubtful);
void findings_index(struct findings *findings); /* makes `by_id` anew */
/* With ISO_VALIDATE asserts that each finding that stands is found by its id; else it does
 * nothing. */
void findings_validate(const struct findings *findings);
void findings_sort(struct findings *findings); /* into the order of reports, cut to the limit */
void findings_release(struct findings *findings);
