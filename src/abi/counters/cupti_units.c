/* Looks the parts of a unit up in the table. */
#include "cupti_units.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

static const struct {
    const char *theirs, *ncu;
} units[] = {
#define CUPTI_UNIT(theirs, ncu) { theirs, ncu },
#include "cupti_units.def"
#undef CUPTI_UNIT
};

#define CYCLE "_cycle"

/* One side of the slash, in upper or lower case (12.6 writes L2_sector); `known` is cleared if the table lacks it. */
static const char *cupti_units_part(const char *theirs, int length, char *own, size_t bytes, int *known)
{
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strlen(units[i].theirs) == (size_t)length && strncasecmp(units[i].theirs, theirs, (size_t)length) == 0)
            return units[i].ncu;
    int clock = (int)strlen(CYCLE); /* of whatever clock domain */
    if (length > clock && memcmp(theirs + length - clock, CYCLE, (size_t)clock) == 0)
        return "cycle";
    if (length > 0)
        *known = 0;
    snprintf(own, bytes, "%.*s", length, theirs);
    return own;
}

int cupti_unit(const char *theirs, char *unit, size_t bytes)
{
    char own[2][64];
    int known = 1, length = (int)strcspn(theirs, "/");
    const char *above = cupti_units_part(theirs, length, own[0], sizeof own[0], &known), *below = "";

    if (theirs[length])
        below = cupti_units_part(theirs + length + 1, (int)strlen(theirs + length + 1), own[1], sizeof own[1], &known);
    if (strcmp(above, "cycle") == 0 && strcmp(below, "s") == 0)
        snprintf(unit, bytes, "hz");
    else if (strcmp(above, below) == 0)
        snprintf(unit, bytes, "%s", ""); /* cycles of one clock per cycle of another */
    else if (*below)
        snprintf(unit, bytes, "%s/%s", *above ? above : "1", below);
    else
        snprintf(unit, bytes, "%s", above);
    return known;
}
