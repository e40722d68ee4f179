/* The names of kernels against the rows of tensor_names.def. */
#include <stddef.h>

#include "tensor_cores.h"

struct name_row {
    const char *pattern;
    enum tensor_use use;
    int is_matrix;
};
static const struct name_row kernels[] = {
#define KERNEL(pattern, use, is_matrix) { pattern, TENSOR_##use, is_matrix },
#include "tensor_names.def"
};

struct type_row {
    const char *pattern, *type;
};
static const struct type_row tensor_names_types[] = {
#define TYPE(pattern, type) { pattern, type },
#include "tensor_names.def"
};

static int tensor_names_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int continues_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Whether a pattern without ^ matches at the start of the text. */
static int matches_here(const char *pattern, const char *text)
{
    for (; *pattern; pattern++) {
        if (*pattern == '*') {
            for (; *text; text++)
                if (matches_here(pattern + 1, text))
                    return 1;
            return matches_here(pattern + 1, text);
        }
        if (*pattern == '#') {
            if (!tensor_names_is_digit(*text))
                return 0;
            while (tensor_names_is_digit(*text))
                text++;
        } else if (*text && (*pattern == *text || *pattern == '?')) {
            text++;
        } else {
            return 0;
        }
    }
    return 1;
}

static int tensor_names_matches(const char *pattern, const char *name)
{
    int at_word = *pattern == '^';

    pattern += at_word;
    for (const char *at = name; *at; at++) {
        if (*at != *pattern)
            continue; /* no pattern begins with a wildcard */
        if (at_word && at > name && continues_word(at[-1]))
            continue;
        if (matches_here(pattern, at))
            return 1;
    }
    return 0;
}

static const char *tensor_names_type_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(tensor_names_types); i++)
        if (tensor_names_matches(tensor_names_types[i].pattern, name))
            return tensor_names_types[i].type;
    return NULL;
}

struct tensor_cores tensor_cores_by_name(const char *name)
{
    struct tensor_cores found = { .use = TENSOR_UNKNOWN };

    for (size_t i = 0; name && i < COUNT_OF(kernels); i++) {
        if (!tensor_names_matches(kernels[i].pattern, name))
            continue;
        found.use = kernels[i].use;
        found.is_matrix = kernels[i].is_matrix;
        if (found.is_matrix && found.use != TENSOR_UNKNOWN)
            found.type = tensor_names_type_of(name);
        break;
    }
    return found;
}
