/* The program `tacho`: everything is in the command table. It leaves signals as it found them, since a program that it
 * starts inherits them. */
#include <malloc.h>

#include "command.h"

enum { LARGE_BYTES = 4 << 20 };

extern const char tacho_commit[], tacho_commit_date[]; /* of a file that cmake/commit.cmake writes */

int main(int argc, char **argv)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* fixed: what is larger goes back to the system when it is freed */
#endif
    return command_main(argc, argv, &(struct command_origin){ tacho_commit, tacho_commit_date });
}
