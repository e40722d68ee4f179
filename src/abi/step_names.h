/* Names that count steps: "iteration 7", "Step_7", "iter7". For the agent, which times them, and for the analysis. */
#ifndef TACHO_ABI_STEP_NAMES_H
#define TACHO_ABI_STEP_NAMES_H

#include <stddef.h>

#define STEP_NAME_SEPARATORS " _-:#=" /* between the word and the number */

/* The length of a name without the digits at its end. */
static inline size_t step_name_without_number(const char *name, size_t length)
{
    while (length > 0 && (unsigned char)(name[length - 1] - '0') <= 9)
        length--;
    return length;
}

/* Whether this is the word before the number, in any case of letters. */
static inline int step_name_is_word(const char *name, size_t length)
{
    static const char *const words[] = { "iteration", "iter", "step" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t at = 0;
        while (at < length && words[i][at] && (name[at] | 0x20) == words[i][at])
            at++;
        if (at == length && !words[i][at])
            return 1;
    }
    return 0;
}

#endif
