#include "base/error.h"

#include <errno.h>
#include <errno.h>
#include <stdio.h>

enum iso_status iso_error_set(struct iso_error *error, enum iso_status status, const char *format,
                              ...)
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

enum iso_status iso_error_of_open(int error_number)
{
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO:
        return ISO_BAD_INPUT;
    default:
        return ISO_FAILED;
    }
}
