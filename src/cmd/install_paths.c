/* Where the files of commands lie: see install_paths.h. */
#include "install_paths.h"

#include <stdlib.h>

#include "base/install_place.h"

#define PAGE_PLACE "share/tacho/view" /* from the folder above bin */
#define MEASURE_PLACE "lib/tacho/python/tacho/_measure.py"

const char *install_page_folder(void)
{
    static char folder[INSTALL_PLACE_BYTES];
    const char *chosen = getenv("TACHO_PAGE");

    return chosen && *chosen ? chosen : install_place(folder, PAGE_PLACE);
}

const char *install_measure_program(void)
{
    static char path[INSTALL_PLACE_BYTES];

    return install_place(path, MEASURE_PLACE);
}
