/* An installation may lie anywhere: files are found from the program's own place. */
#include "install_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_PLACE "share/tacho/view" /* from the folder above bin */

#define MEASURE_PLACE "lib/tacho/python/tacho/_measure.py"

enum { LONGEST = 4096 + 64 };

/* Sets out to a place below the folder above bin. */
static const char *place_beside(char out[LONGEST], const char *place)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    self[length > 0 ? length : 0] = 0;
    for (int levels = 0; levels < 2; levels++) { /* the program's name, then bin */
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = 0;
    }
    snprintf(out, LONGEST, "%s/%s", self, place);
    return out;
}

const char *install_page_folder(void)
{
    static char folder[LONGEST];
    const char *chosen = getenv("TACHO_PAGE");

    return chosen && *chosen ? chosen : place_beside(folder, PAGE_PLACE);
}

const char *install_measure_program(void)
{
    static char path[LONGEST];

    return place_beside(path, MEASURE_PLACE);
}
