/* Final violations for the summary: at most twice the limit are kept, then the last of the order
 * go. */
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "pipeline/findings.h"

enum { SLACK = 2 };

static iso_atom copy_atom(struct findings *findings, const struct iso_atoms *atoms, iso_atom atom)
{
    return atoms && atom != ISO_ABSENT ? iso_atoms_copy(&findings->atoms, atoms, atom) : ISO_ABSENT;
}

void findings_index(struct findings *findings)
{
    iso_number_map_clear(&findings->by_id);
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].text)
            iso_number_map_put(&findings->by_id, findings->list[i].id, (uint32_t)i);
}

struct finding *findings_add(struct findings *findings, const struct iso_aion_event *event,
                             const char *text, size_t length)
{
    ISO_APPEND(*findings,
               (struct finding){
                   .id = event->id,
                   .tids = {copy_atom(findings, event->transaction.atoms, event->transaction.tid),
                            copy_atom(findings, event->other.atoms, event->other.tid)},
                   .key = copy_atom(findings, event->key_atoms, event->key),
                   .axiom = event->axiom,
                   .by_deadline = event->by_deadline,
                   .text = iso_copy_text(text, length),
                   .length = length,
               });
    assert(findings->count <= UINT32_MAX);
    iso_number_map_put(&findings->by_id, event->id, (uint32_t)findings->count - 1);
    return &findings->list[findings->count - 1];
}

void findings_trim(struct findings *findings)
{
    if (findings->limit && findings->count >= (size_t)SLACK * findings->limit)
        findings_sort(findings);
}

bool findings_remove(struct findings *findings, uint64_t id, bool *doubtful)
{
    uint32_t number = iso_number_map_get(&findings->by_id, id);
    if (number == ISO_NUMBER_NONE || !findings->list[number].text)
        return false;
    assert(number < findings->count && findings->list[number].id == id);
    *doubtful = findings->list[number].doubt;
    iso_free(findings->list[number].text);
    findings->list[number].text = NULL;
    return true;
}

static void drop_removed(struct findings *findings)
{
    size_t left = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].text)
            findings->list[left++] = findings->list[i];
    assert(left <= findings->count);
    findings->count = left;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct iso_atoms *atoms = context;
    const struct finding *a = left, *b = right;
    int order = iso_atom_compare(atoms, a->tids[0], b->tids[0]);
    order = order ? order : (int)a->axiom - (int)b->axiom;
    order = order ? order : iso_atom_compare(atoms, a->key, b->key);
    return order ? order : iso_atom_compare(atoms, a->tids[1], b->tids[1]);
}

/* Only the atoms of what is left. */
static void forget_unused_atoms(struct findings *findings)
{
    struct iso_atoms all = findings->atoms;
    iso_atoms_init(&findings->atoms);
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->list[i];
        finding->tids[0] = copy_atom(findings, &all, finding->tids[0]);
        finding->tids[1] = copy_atom(findings, &all, finding->tids[1]);
        finding->key = copy_atom(findings, &all, finding->key);
    }
    iso_atoms_release(&all);
}

void findings_sort(struct findings *findings)
{
    drop_removed(findings);
    if (findings->count)
        qsort_r(findings->list, findings->count, sizeof *findings->list, compare, &findings->atoms);
    if (findings->limit && findings->count > findings->limit) {
        while (findings->count > findings->limit)
            iso_free(findings->list[--findings->count].text);
        forget_unused_atoms(findings);
    }
    assert(!findings->limit || findings->count <= findings->limit);
    findings_index(findings);
}

void findings_release(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        iso_free(findings->list[i].text);
    iso_free(findings->list);
    iso_number_map_release(&findings->by_id);
    iso_atoms_release(&findings->atoms);
}

#ifdef ISO_VALIDATE
void findings_validate(const struct findings *findings)
{
    assert(findings->count <= findings->capacity);
    assert(!findings->limit || findings->count <= (size_t)SLACK * findings->limit);
    for (size_t i = 0; i < findings->count; i++)
        assert(!findings->list[i].text ||
               iso_number_map_get(&findings->by_id, findings->list[i].id) != ISO_NUMBER_NONE);
}
#else
void findings_validate(const struct findings *findings)
{
    (void)findings;
}
#endif
