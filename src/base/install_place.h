/* Files that are installed with the program: an installation may lie anywhere, so they are found from its own place. */
#ifndef TACHO_BASE_INSTALL_PLACE_H
#define TACHO_BASE_INSTALL_PLACE_H

enum { INSTALL_PLACE_BYTES = 4096 + 64 };

/* Sets out to a path that is given from the folder above bin ("lib/tacho/tacho-gpu"), whether or not it exists. Returns
 * out. */
char *install_place(char out[INSTALL_PLACE_BYTES], const char *place);

#endif
