/* Looks up functions by file and name: see slow_calls.h. */
#include "slow_calls.h"

#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "base/text.h"

const struct slow_call slow_calls[] = {
#define SLOW_CALL(file, function, what, faster) { file, function, what, faster },
#include "slow_calls.def"
};
const size_t slow_call_count = COUNT_OF(slow_calls);

/* "DataFrame.apply" is a method that "apply" names, "_apply" is not. */
static int slow_call_is_named(const char *function, const char *name)
{
    size_t length = strlen(function), own = strlen(name);

    return text_ends_with(function, name) && (length == own || function[length - own - 1] == '.');
}

int slow_call_find(const char *file, size_t length, const char *function)
{
    for (size_t i = 0; i < COUNT_OF(slow_calls); i++)
        if (slow_call_is_named(function, slow_calls[i].function) && path_after(file, length, slow_calls[i].file))
            return (int)i;
    return NO_SLOW_CALL;
}
