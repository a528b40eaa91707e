#include "iso/error.h"

#include <stdio.h>

enum iso_status iso_error_set(struct iso_error *error, enum iso_status status, const char *format, ...)
{
    va_list arguments;
    if (error->status != ISO_OK)
        return error->status;
    error->status = status;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}
