/* Which calls come from the program's own code and not from a library: for what is loaded before a
 * program (LD_PRELOAD) and answers in the system's place. */
#ifndef TESTS_WORLD_OWN_CODE_H
#define TESTS_WORLD_OWN_CODE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Where it stands; all zero: not known yet. */
struct own_code {
    uintptr_t begin, end;
};

static int own_code_visit(struct dl_phdr_info *object, size_t size, void *context)
{
    struct own_code *code = context;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_X) {
            code->begin = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
            code->end = code->begin + object->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the program itself is the first object that is listed */
}

static void own_code_find(struct own_code *code)
{
    dl_iterate_phdr(own_code_visit, code);
}

static bool own_code_has(const struct own_code *code, const void *caller)
{
    return (uintptr_t)caller >= code->begin && (uintptr_t)caller < code->end;
}

#endif
