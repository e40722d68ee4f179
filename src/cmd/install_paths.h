/* Paths of files that are installed with the program. */
#ifndef TACHO_CMD_INSTALL_PATHS_H
#define TACHO_CMD_INSTALL_PATHS_H

/* The directory of the timeline's page: share/tacho/view beside bin, whether or not it exists. TACHO_PAGE overrides
 * it. In a static buffer. */
const char *install_page_folder(void);

/* The Python program of `analyze --measure`: lib/tacho/python/tacho/_measure.py. In a static buffer. */
const char *install_measure_program(void);

#endif
