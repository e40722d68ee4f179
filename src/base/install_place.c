/* Finds the program's own path: see install_place.h. */
#include "install_place.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* From /proc, or as we were started where /proc is not mounted. Empty: not known. */
static void find_self(char self[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", self, PATH_MAX - 1);
    const char *started = (const char *)getauxval(AT_EXECFN);

    self[length > 0 ? length : 0] = 0;
    if (length <= 0 && (!started || !realpath(started, self)))
        self[0] = 0;
}

char *install_place(char out[INSTALL_PLACE_BYTES], const char *place)
{
    char self[PATH_MAX];

    find_self(self);
    for (int levels = 0; levels < 2; levels++) { /* the program's name, then bin */
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = 0;
    }
    snprintf(out, INSTALL_PLACE_BYTES, "%s/%s", self, place);
    return out;
}
