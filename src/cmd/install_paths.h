/* Where the files are that come with the program. */
#ifndef TACHO_CMD_INSTALL_PATHS_H
#define TACHO_CMD_INSTALL_PATHS_H

/* The folder of the timeline's page, share/tacho/view beside bin, whether it is there or not;
 * TACHO_PAGE names another. Static. */
const char *install_page_folder(void);

#endif
