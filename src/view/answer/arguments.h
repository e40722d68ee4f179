/* The arguments of a request, NAME?a=1&b=x%20y, decoded. */
#ifndef TACHO_VIEW_ANSWER_ARGUMENTS_H
#define TACHO_VIEW_ANSWER_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { MOST_ARGUMENTS = 32 };

/* Decoded. A NUL, which length does not count, follows the value. */
struct argument {
    const char *name, *value;
    size_t length;
};

struct arguments {
    char *bytes;         /* owned; the request, decoded in place */
    const char *request; /* its name */
    struct argument list[MOST_ARGUMENTS];
    size_t count;
    const char *body;    /* the caller's; NULL without one */
    size_t body_length;
};

/* ERR_BAD_ARGUMENT for a % without two hexadecimal digits or for too many arguments; ERR_NO_MEMORY. */
int arguments_parse(struct arguments *arguments, const char *request, const char *body, size_t body_length,
                    struct error *err);
void arguments_free(struct arguments *arguments);

/* The value, or NULL. */
const char *argument_text(const struct arguments *arguments, const char *name, size_t *length);
/* Leaves *out as it is if there is no argument of that name; ERR_BAD_ARGUMENT if its value is no whole number from
 * least to most. */
int argument_int(const struct arguments *arguments, const char *name, int64_t least, int64_t most, int64_t *out,
                 struct error *err);
/* The same for an argument that must be there. */
int argument_int_needed(const struct arguments *arguments, const char *name, int64_t least, int64_t most, int64_t *out,
                        struct error *err);

/* Numbers of a list "3,4,7", one after another: 1 with one in *out, 0 at the end, else
 * ERR_BAD_ARGUMENT. *at begins as the text. */
int argument_list_next(const char **at, int64_t least, int64_t most, int64_t *out, struct error *err);

#endif
