#include "rowsets/rowsets_private.h"

void rowsets_collect_atoms(struct iso_rowsets *engine)
{
    (void)engine;
}
