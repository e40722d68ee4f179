/* Names and sizes of kernels in texts of other profilers. */
#include "kernel_text.h"

#include <string.h>

struct json_slice kernel_short_name(struct json_slice name)
{
    static const char *const nameless = "(anonymous namespace)";
    size_t first = 0, end = 0, depth = 0, behind = strlen(nameless);

    for (size_t i = 0; i < name.length; i++) {
        char c = name.bytes[i];
        if (depth == 0 && name.length - i >= behind && memcmp(name.bytes + i, nameless, behind) == 0) {
            i += behind - 1;
        } else if (c == '<' || c == '(' || c == '[' || c == '{') {
            if (depth++ == 0 && !end)
                end = i;
            if (depth == 1 && c == '(')
                break; /* the parameters are no part of the name */
        } else if ((c == '>' || c == ')' || c == ']' || c == '}') && depth) {
            depth--;
        } else if (depth == 0 && (c == ':' || c == ' ')) {
            first = i + 1;
            end = 0;
        }
    }
    end = end > first ? end : name.length;
    return (struct json_slice){ name.bytes + first, end - first };
}

void kernel_dimensions(struct json_slice slice, int64_t out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (size_t i = 0, d = 0; i < slice.length && d < 3; i++) {
        size_t first = i;
        while (i < slice.length && (unsigned char)(slice.bytes[i] - '0') < 10)
            i++;
        if (i > first && json_slice_integer((struct json_slice){ slice.bytes + first, i - first }, &out[d]))
            d++;
    }
}
