/* Errors: a small negative code from one table, and one sentence in the caller's words.
 *
 * A function that can fail returns 0 or an ERR_ code and fills the struct error it was given. Libraries only
 * report; commands decide whether to print and end. Nothing here allocates, so it works when memory is short. */
#ifndef TACHO_BASE_ERROR_H
#define TACHO_BASE_ERROR_H

#define ERROR_TABLE(X)                                                                                              \
    X(ERR_NO_MEMORY, -1, "out of memory")                                                                           \
    X(ERR_IO, -2, "input or output failed")                                                                         \
    X(ERR_NO_SPACE, -3, "no space left on the device")                                                              \
    X(ERR_NOT_FOUND, -4, "not found")                                                                               \
    X(ERR_EXISTS, -5, "already exists")                                                                             \
    X(ERR_BAD_ARGUMENT, -6, "not a valid argument")                                                                 \
    X(ERR_BAD_FORMAT, -7, "not a file that Tacho can read")                                                         \
    X(ERR_CORRUPT, -8, "the file is damaged")                                                                       \
    X(ERR_VERSION, -9, "made by a version that this one does not understand")                                       \
    X(ERR_DENIED, -10, "permission denied")                                                                         \
    X(ERR_UNSUPPORTED, -11, "not supported here")                                                                   \
    X(ERR_NO_DATA, -12, "the report holds no such data")                                                            \
    X(ERR_CANCELLED, -13, "cancelled")

enum error_code {
    ERR_OK = 0,
#define ERROR_CODE(name, number, text) name = number,
    ERROR_TABLE(ERROR_CODE)
#undef ERROR_CODE
};

struct error {
    int code;
    char text[512]; /* one sentence, no newline, always terminated */
};

/* Fills err (which may be NULL) and returns code, so that "return error_set(…)" reads well. Preserves errno. */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for short memory: "out of memory", or a sentence whose end the caller gives, such as "for the steps". The
 * compiler sees that they do not return 0, so a condition can set the code of a goto:
 *     if (!list && (code = error_no_memory(err)) != 0)
 *         goto done; */
static inline int error_no_memory(struct error *err)
{
    error_set(err, ERR_NO_MEMORY, "out of memory");
    return ERR_NO_MEMORY;
}

static inline int error_short_memory(struct error *err, const char *end)
{
    error_set(err, ERR_NO_MEMORY, "not enough memory %s", end);
    return ERR_NO_MEMORY;
}

/* The same, choosing the code from errno and ending the sentence with ": <strerror>". */
int error_set_errno(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The table's general text for a code: never NULL. */
const char *error_name(int code);

#endif
