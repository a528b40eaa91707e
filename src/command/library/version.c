#include "base/memory.h"
#include "iso/isochron.h"

const char *iso_version(void)
{
    return ISO_VERSION;
}

unsigned iso_version_number(void)
{
    return ISO_VERSION_NUMBER;
}

void iso_on_out_of_memory(void (*handler)(size_t bytes))
{
    iso_memory_on_exhaustion(handler);
}
