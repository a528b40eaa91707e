#include <stdio.h>

#include "iso/version.h"

int main(void)
{
    printf("isochron %s\n", ISO_VERSION);
    return 0;
}
