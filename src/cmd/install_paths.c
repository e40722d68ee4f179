/* An installation may lie anywhere: files are found from the program's own place. */
#include "install_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_PLACE "share/tacho/view" /* from the folder above bin */

const char *install_page_folder(void)
{
    static char folder[4096 + sizeof PAGE_PLACE];
    const char *chosen = getenv("TACHO_PAGE");
    char self[4096];

    if (chosen && *chosen)
        return chosen;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    for (int levels = 0; levels < 2; levels++) { /* the program's name, then bin */
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = 0;
    }
    snprintf(folder, sizeof folder, "%s/%s", self, PAGE_PLACE);
    return folder;
}
