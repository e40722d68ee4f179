/* Errors: fills a struct error, and knows each code's general text. Never allocates, never prints. */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "array.h"

int error_set(struct error *err, int code, const char *format, ...)
{
    int saved = errno;
    if (err) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(err->text, sizeof err->text, format, arguments);
        va_end(arguments);
        err->code = code;
    }
    errno = saved;
    return code;
}

static const struct {
    int number, code;
} errno_codes[] = {
    { ENOMEM, ERR_NO_MEMORY },       { ENOSPC, ERR_NO_SPACE },   { EDQUOT, ERR_NO_SPACE }, { EFBIG, ERR_NO_SPACE },
    { ENOENT, ERR_NOT_FOUND },       { ENOTDIR, ERR_NOT_FOUND }, { EEXIST, ERR_EXISTS },   { EINVAL, ERR_BAD_ARGUMENT },
    { EACCES, ERR_DENIED },          { EPERM, ERR_DENIED },      { EROFS, ERR_DENIED },    { ENOSYS, ERR_UNSUPPORTED },
    { EOPNOTSUPP, ERR_UNSUPPORTED },
};

static int code_of_errno(int number)
{
    for (size_t i = 0; i < COUNT_OF(errno_codes); i++)
        if (errno_codes[i].number == number)
            return errno_codes[i].code;
    return ERR_IO;
}

int error_set_errno(struct error *err, const char *format, ...)
{
    int saved = errno;
    int code = code_of_errno(saved);
    if (err) {
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf(err->text, sizeof err->text, format, arguments);
        va_end(arguments);
        size_t used = length < 0 ? 0 : (size_t)length;
        char buffer[128];
        if (used < sizeof err->text)
            snprintf(err->text + used, sizeof err->text - used, ": %s", strerror_r(saved, buffer, sizeof buffer));
        err->code = code;
    }
    errno = saved;
    return code;
}

const char *error_name(int code)
{
    switch (code) {
    case ERR_OK: return "no error";
#define ERROR_CASE(name, number, text)                                                                              \
    case name:                                                                                                      \
        return text;
        ERROR_TABLE(ERROR_CASE)
#undef ERROR_CASE
    }
    return "unknown error";
}
