/* Parses a condition of --fail-if: see condition.h. */
#include "condition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"

static int parse_bound(const char *text, struct condition *out)
{
    char *end;
    double value = strtod(text, &end);

    while (*end == ' ')
        end++;
    out->percent = strcmp(end, "%") == 0;
    double unit = out->percent ? 1 : human_time_unit(end);
    out->is_time = !out->percent && *end;
    out->bound = value * unit;
    return end != text && isfinite(value) && unit != 0;
}

int condition_parse(const char *text, const char *like, struct condition *out, struct error *err)
{
    const char *at = text + strspn(text, " "), *sign = strpbrk(at, "<>");

    *out = (struct condition){ .text = text };
    if (strncmp(at, "any ", 4) == 0) {
        out->any = 1;
        at += 4;
    }
    size_t length = sign && sign > at ? (size_t)(sign - at) : 0;
    while (length && at[length - 1] == ' ')
        length--;
    if (!length || length >= sizeof out->name || !parse_bound(sign + 1, out))
        return error_set(err, ERR_BAD_ARGUMENT, "--fail-if must be like %s, not '%s'", like, text);
    memcpy(out->name, at, length);
    out->sign = *sign;
    return 0;
}
