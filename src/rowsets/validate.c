#include "rowsets/rowsets_private.h"

void iso_rowsets_validate(const struct iso_rowsets *engine)
{
    (void)engine;
}
